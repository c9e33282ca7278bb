# tests/trace/chrome.t - timelines: Perfetto's importer takes all of them
# needs: python3
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.json && $TESTS/oracle/chrome-trace k.json
> M:2 X:1 i:11
$ pugmark convert -q -t chrome:every=100 $TESTS/data/formats/steps.drmemtrace s.json && $TESTS/oracle/chrome-trace s.json
> C:12 M:2
# system calls, those that never return as well; signals; several processes
$ pugmark run -q -t chrome -o r.json -- sh -c 'trap : USR1; kill -USR1 $$; (sleep 0.01; exit 3) & wait; echo "\"\\" | cat >/dev/null; exec true' ; $TESTS/oracle/chrome-trace r.json | sed 's/[0-9][0-9]*/N/g'
> C:N M:N X:N i:N
# processes have their programs' names, and system calls theirs
$ pugmark run -q -t chrome -o n.json -- sh -c 'ls / | sort >/dev/null'; sed -n 's/.*process_name.*"name":"\([a-z]*\) [0-9]*".*/\1/p' n.json | sort -u; grep -c '"name":"syscall' n.json; grep -o '"name":"[a-z0-9_]*","cat":"syscall"' n.json | grep -e execve -e pipe2 -e wait4 | sort -u; grep -c 'thread_name.*stream' n.json
> dash
> ls
> sh
> sort
> 0
> "name":"execve","cat":"syscall"
> "name":"pipe2","cat":"syscall"
> "name":"wait4","cat":"syscall"
> 0
? 1
# what it is that would be seen
$ sed 's/"dur":[0-9.]*/"dur":-1/' k.json >bad.json; $TESTS/oracle/chrome-trace bad.json | cut -c1-40
> event 13: no duration: {"name": "task 10
> M:2 X:1 i:11
