# A child that outlives the program is let go after a second, wherever it is: it goes on natively, and its trace ends
# between two instructions. 32-bit programs cannot be left like that: their traces lack what is not complete.
# needs: python3
# timeout: 120
$ cat > on.py <<'end'
+ import os
+ while not os.path.exists('stop'):
+     sum(range(20000))
+ print('went on')
+ end
$ cat >traced <<'end'
+ rm -f stop done
+ pugmark run -q "$@" -- sh -c 'python3 -I on.py >done & sleep 0.2'
+ echo $?
+ touch stop
+ for i in $(seq 100); do [ -s done ] && break; sleep 0.1; done
+ cat done
+ end
$ sh traced --exec -o x.pug; pugmark verify -q x.pug >out && echo sound
> 0
> went on
> sound
$ sh traced --branch -o x.pug; pugmark verify -q x.pug >out && echo sound
> 0
> went on
> sound
$ sh traced --cache --count | grep -v '^ \|^pugmark\|^$\|^count'
> 0
> went on
# It is traced no more: it has no tracer, and none of pugmark's memory.
$ rm -f stop done; pugmark run -q --exec --discard -- sh -c 'python3 -I on.py >done & echo $! >pid; sleep 0.2'; p=$(cat pid); grep -c pugmark /proc/$p/maps; grep TracerPid /proc/$p/status | tr -d '\t'; touch stop; for i in $(seq 100); do [ -s done ] && break; sleep 0.1; done; cat done
> 0
> TracerPid:0
> went on
# The program is killed, its child goes on.
$ rm -f stop done; pugmark run -q --exec -o x.pug -- sh -c 'python3 -I on.py >done & wait' & p=$!; for i in $(seq 100); do [ -e done ] && break; sleep 0.1; done; sleep 0.3; kill -TERM $p; wait $p 2>/dev/null; echo $?; touch stop; for i in $(seq 100); do [ -s done ] && break; sleep 0.1; done; cat done; pugmark verify -q x.pug >out && echo sound
> 143
> went on
> sound
$ "$TESTS/can-32-bit" >/dev/null || { for k in 1 2 3 4; do echo 0; echo sound; done; exit; }; for k in 1 2 3 4; do pugmark run -q --cache -o x.pug -- sh -c '"$PROGRAMS/i386/medley" 1 work:1000000 >/dev/null & echo $! >pid; sleep 0.1'; echo $?; kill -9 $(cat pid); pugmark verify -q x.pug >out && echo sound; done
> 0
> sound
> 0
> sound
> 0
> sound
> 0
> sound
