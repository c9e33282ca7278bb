# No libc at all.
$ "$TESTS/process/both" bare
> equal: status 0, 1 lines
