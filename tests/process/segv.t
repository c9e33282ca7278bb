# Faults that a handler repairs, skips or leaves, with an exact context.
$ "$TESTS/process/both" segv
> equal: status 0, 5 lines
$ "$TESTS/process/both" segv-nopie
> equal: status 0, 5 lines
