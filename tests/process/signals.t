# Signals: alternate stacks, siglongjmp, masks, queues, restarts, groups, deaths, stops.
$ "$TESTS/process/both" signals
> equal: status 0, 15 lines
$ "$TESTS/process/both" signals-O0
> equal: status 0, 15 lines
$ "$TESTS/process/both" signals-static-pie
> equal: status 0, 15 lines
# Another thread has a signal ignored while it is on its way to a handler: the program does not die of it.
$ more=$(for i in $(seq 60); do echo exec:4; done); for i in 1 2 3 4 5 6 7 8; do (pugmark run -q -- "$PROGRAMS/medley" $i storm:1 $more > /dev/null || echo "$i: $?") & done; wait
# Blocked when the program starts: it stays so, whatever tracing needs.
$ env --block-signal=TRAP,USR1 pugmark run -q -- sh -c 'kill -TRAP $$; kill -USR1 $$; echo survived'
> survived
# A core file holds what is the program's: not the terabytes that tracing reserves.
$ sh -c 'ulimit -c 200000; pugmark run -q -- sh -c "kill -SEGV \$\$"; true' 2>said; find . -name 'core*' -size +50000k
