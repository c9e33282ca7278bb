# Signals in 32-bit programs, whose frames have two shapes; vector state; ways to end.
# needs: $PROGRAMS/i386/signals
# if: "$TESTS/can-32-bit"
$ "$TESTS/process/both" i386/signals
> equal: status 0, 15 lines
$ "$TESTS/process/both" i386/signals-O0
> equal: status 0, 15 lines
$ "$TESTS/process/both" i386/signals-static
> equal: status 0, 15 lines
$ "$TESTS/process/both" i386/signals-static-pie
> equal: status 0, 15 lines
$ "$TESTS/process/both" i386/timer
> equal: status 0, 1 lines
$ "$TESTS/process/both" i386/vector
> equal: status 0, 8 lines
$ "$TESTS/process/both" i386/exits abort
> equal: status 134, 2 lines
$ "$TESTS/process/both" i386/exits kill
> equal: status 137, 2 lines
$ "$TESTS/process/both" i386/exits jump
> equal: status 139, 2 lines
$ "$TESTS/process/both" i386/exits fpe
> equal: status 136, 2 lines
$ "$TESTS/process/both" i386/exits thread
> equal: status 23, 1 lines
$ "$TESTS/process/both" i386/exits last
> equal: status 0, 2 lines
$ "$TESTS/process/both" i386/exits unmapped
> equal: status 15, 1 lines
