# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer tells of faults itself'; false; }
# A program of several threads goes on when pugmark has been killed: no thread is in translated code any more when its text
# may be executed again. Its threads compute, and keep calling functions that none has called before.
# timeout: 300
$ cat >killed <<'E'
+ # killed PROGRAM OPTION...: pugmark is killed after some hundredths of a second, three times
+ p=$1; shift
+ for after in 0.05 0.15 0.3; do
+ 	rm -f out; pugmark run -q "$@" -- $p 15000000 >out 2>err </dev/null & pid=$!
+ 	until [ -s out ]; do sleep 0.02; done
+ 	sleep $after; kill -KILL $pid; wait $pid 2>/dev/null
+ 	for i in $(seq 1000); do grep -q sum out && break; sleep 0.1; done
+ 	sed 1d out; cat err
+ done
+ E
$ "$PROGRAMS/finds" 15000000 | sed 1d; for how in "" "--exec --discard" "--folded t"; do sh killed "$PROGRAMS/finds" $how 2>/dev/null; done | uniq -c | sed 's/^ *//'
> sum 62d58f05
> 9 sum 62d58f05
$ if "$TESTS/can-32-bit" >/dev/null; then for how in "" "--branch --discard"; do sh killed "$PROGRAMS/i386/finds" $how 2>/dev/null; done; else for i in 1 2 3 4 5 6; do echo sum 62d58f05; done; fi | uniq -c | sed 's/^ *//'
> 6 sum 62d58f05
