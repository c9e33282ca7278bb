# setjmp, contexts, stack overflow, transfers of control of every shape.
$ "$TESTS/process/both" jumps
> equal: status 0, 6 lines
$ "$TESTS/process/both" jumps-stripped
> equal: status 0, 6 lines
