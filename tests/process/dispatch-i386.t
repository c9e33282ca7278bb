# System calls that come back to a 32-bit program as signals.
# needs: $PROGRAMS/i386/dispatch
# if: "$TESTS/can-32-bit" && "$PROGRAMS/i386/dispatch" dispatch-i386.t
$ "$TESTS/process/both" i386/dispatch
> equal: status 0, 5 lines
