# Signals: alternate stacks, siglongjmp, masks, queues, restarts, groups, deaths, stops.
$ "$TESTS/process/both" signals
> equal: status 0, 15 lines
$ "$TESTS/process/both" signals-O0
> equal: status 0, 15 lines
$ "$TESTS/process/both" signals-static-pie
> equal: status 0, 15 lines
# Blocked when the program starts: it stays so, whatever tracing needs.
$ env --block-signal=TRAP,USR1 pugmark run -q -- sh -c 'kill -TRAP $$; kill -USR1 $$; echo survived'
> survived
# A core file holds what is the program's: not the terabytes that tracing reserves.
$ sh -c 'ulimit -c 200000; pugmark run -q -- sh -c "kill -SEGV \$\$"; true' 2>said; find . -name 'core*' -size +50000k
