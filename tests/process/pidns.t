# Processes that have other numbers among themselves than the controller sees: they, too, are followed, and called
# what the controller sees.
# needs: unshare
# if: unshare -p -f true
# timeout: 120
$ echo 'echo $$; "$PROGRAMS/forks" > forks.out; "$PROGRAMS/threads" > threads.out; unshare -p -f sh -c "echo \$\$; /bin/true; true"' > inside
$ unshare -p -f sh inside; sort forks.out threads.out > native
> 1
> 1
$ pugmark run -q --json j -- unshare -p -f sh inside && sort forks.out threads.out | cmp - native
+ grep -c '"incomplete": true' j; sed -n 's,.*"program": "[^"]*/\([^/"]*\)".*,\1,p' j | grep -x 'true\|forks\|threads' | sort -u
> 1
> 1
> 0
> forks
> threads
> true
$ pugmark run -q --exec -t pug -o t.pug -- unshare -p -f sh inside && sort forks.out threads.out | cmp - native
+ pugmark dump t.pug | awk '$2 == "process" { n++; own += / pid=1 / } END { print (n > 30), own + 0 }'
> 1
> 1
> 1 0
# What cannot be traced is said, and goes on.
$ pugmark run -q --json j -- unshare -p -f --mount-proc sh -c 'echo $$; ls -d /proc/[0-9]*' 2>&1 | sed 's/[0-9][0-9]*/N/g' | sort -u; grep -c '"pid": 0,' j
> /proc/N
> N
> pugmark: process N goes on untraced: it cannot open /proc/N/fd/N: No such file or directory
> 0
? 1
