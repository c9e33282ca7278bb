# The victims are sound: each passes natively, and a second run prints the same.
$ export LD_BIND_NOW=
+ for p in bare dl faults forks jumps odd seccomp segv self signals smc threads timer vector; do
+ 	"$PROGRAMS/$p" > $p.1 2> $p.err || echo "$p: status $?"
+ 	"$PROGRAMS/$p" > $p.2 2>> $p.err || echo "$p: status $?"
+ 	[ -s $p.1 ] && cmp $p.1 $p.2
+ 	cat $p.err
+ done
$ for p in threads-static signals-static-pie forks-nopie jumps-stripped signals-O0 vector-static segv-nopie; do
+ 	"$PROGRAMS/$p" > out || echo "$p: status $?"
+ done
$ "$PROGRAMS/exceptions"; "$PROGRAMS/exceptions-static" | tail -n 1
> depth 1: from the library 2
> depth 10: from the library 11
> depth 100: from the library 101
> depth 1000: from the library 1001
> caught by type: 2400800
> rethrown: 3
> in threads: good
> backtrace: every frame is there
> terminate
> terminate
$ "$PROGRAMS/exits" thread; echo $?; "$PROGRAMS/exits" last; echo $?
> about to end: thread
> 23
> about to end: last
> atexit
> 0
$ exec "$PROGRAMS/exits" kill
> about to end: kill
? 137
