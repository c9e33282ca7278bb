# Instructions that raise a signal by themselves.
$ "$TESTS/process/both" faults
> equal: status 0, 51 lines
$ "$TESTS/process/both" faults beyond; "$TESTS/process/both" -o '-t pug --exec' faults beyond
> equal: status 0, 44 lines
> equal: status 0, 44 lines
