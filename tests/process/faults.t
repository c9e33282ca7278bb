# Instructions that raise a signal by themselves.
$ "$TESTS/process/both" faults
> equal: status 0, 51 lines
