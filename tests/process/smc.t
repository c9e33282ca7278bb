# Code that is written while the program runs.
$ "$TESTS/process/both" smc
> equal: status 0, 12 lines
