# tests/trace/chrome.t - timelines: Perfetto's importer takes all of them
# needs: python3
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.json && $TESTS/oracle/chrome-trace k.json
> M:2 X:1 i:11
$ pugmark convert -q -t chrome:every=100 $TESTS/data/formats/steps.drmemtrace s.json && $TESTS/oracle/chrome-trace s.json
> C:12 M:2
# system calls, those that never return as well; signals; several processes
$ pugmark run -q -t chrome -o r.json -- sh -c 'trap : USR1; kill -USR1 $$; (sleep 0.01; exit 3) & wait; echo "\"\\" | cat >/dev/null; exec true' ; $TESTS/oracle/chrome-trace r.json | sed 's/[0-9][0-9]*/N/g'
> C:N M:N X:N i:N
# what it is that would be seen
$ sed 's/"dur":[0-9.]*/"dur":-1/' k.json >bad.json; $TESTS/oracle/chrome-trace bad.json | cut -c1-40
> event 13: no duration: {"name": "task 10
> M:2 X:1 i:11
