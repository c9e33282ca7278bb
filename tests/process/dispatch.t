# System calls that come back to the program as signals.
# needs: $PROGRAMS/dispatch
# if: "$PROGRAMS/dispatch" dispatch.t
$ "$TESTS/process/both" dispatch; pugmark run -q --exec --discard -- "$PROGRAMS/dispatch"
> equal: status 0, 5 lines
> everywhere: 3 calls
> but in a range: 5 calls
> a thread: free
> killed by 31, 11, 31, 31
> off
$ "$TESTS/process/instrumented" dispatch
> equal: status 0, 5 lines
