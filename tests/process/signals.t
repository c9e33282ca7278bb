# Signals: alternate stacks, siglongjmp, masks, queues, restarts, groups, deaths, stops.
$ "$TESTS/process/both" signals
> equal: status 0, 14 lines
$ "$TESTS/process/both" signals-O0
> equal: status 0, 14 lines
$ "$TESTS/process/both" signals-static-pie
> equal: status 0, 14 lines
