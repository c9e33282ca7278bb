# A thousand signals a second into integer, floating-point and string code.
$ "$TESTS/process/both" timer
> equal: status 0, 1 lines
