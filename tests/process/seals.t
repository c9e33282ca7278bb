# A program that cuts off, or writes to, the memory that it shares with pugmark and with others.
$ "$TESTS/process/both" seals
> equal: status 0, 1 lines
$ pugmark run -q --exec --count -- "$PROGRAMS/seals"
> whole
