# Processes that have other numbers among themselves than the controller sees: they, too, are followed, and called
# what the controller sees. Also where /proc is another one, and where the controller's files are not theirs to open.
# needs: unshare
# if: unshare -U -r -p -f --mount-proc true
$ echo 'echo $$; "$PROGRAMS/forks" > forks.out; "$PROGRAMS/threads" > threads.out; unshare -p -f sh -c "echo \$\$; ls /proc/self/fd; true"' > inside
$ unshare -U -r -p -f --mount-proc sh inside > out; sort forks.out threads.out > native; head -n 2 out
> 1
> 1
$ pugmark run -q --json j -- unshare -U -r -p -f --mount-proc sh inside | cmp - out; sort forks.out threads.out | cmp - native
+ grep -c '"incomplete": true' j; sed -n 's,.*"program": "[^"]*/\([^/"]*\)".*,\1,p' j | grep -x 'ls\|forks\|threads' | sort -u
> 0
> forks
> ls
> threads
$ pugmark run -q --exec -t pug -o t.pug -- unshare -U -r -p -f --mount-proc sh inside | cmp - out; sort forks.out threads.out | cmp - native
+ pugmark dump t.pug | grep ' process ' | awk '$2 == "process" { n++; own += / pid=1 / } END { print (n > 30), own + 0 }'
> 1 0
# The PID namespace alone: /proc tells their numbers outside, but nothing of themselves.
$ unshare -p -f sh -c 'echo $$; "$PROGRAMS/forks" 2>&1' > native 2> /dev/null; grep -q . native || exit 0
+ pugmark run -q --json j -- unshare -p -f sh -c 'echo $$; "$PROGRAMS/forks" 2>&1' | cmp - native; ! grep '"incomplete": true' j
# Another namespace has the same numbers: a process is told from that one's also where its parent is not who forked it.
$ cat > twin.c <<'E'
+ #include <sched.h>
+ #include <signal.h>
+ #include <sys/syscall.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	if (!fork()) {
+ 		syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
+ 		_exit(0);
+ 	}
+ 	return wait(0) < 2 || wait(0) < 2;
+ }
+ E
+ gcc -D_GNU_SOURCE -o twin twin.c; mkfifo up down
+ unshare -U -r -p -f --mount-proc sh -c 'for i in $(seq 20); do read x < down & done; echo > up; wait' & read x < up
+ ls /proc > before; pugmark run -q --json j -- unshare -U -r -p -f --mount-proc ./twin; echo $?
+ sed -n 's/.*"pid": \([0-9]*\).*/\1/p' j | grep -cxFf before; grep -c '"parent": 0' j
+ exec 3<>down; for i in $(seq 20); do echo; done >&3; wait	# itself a reader, too: some may be late
> 0
> 0
> 1
