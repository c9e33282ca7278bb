# musl, dynamic and static.
# needs: $PROGRAMS/threads-musl
# not yet: signals-musl differs in "deaths, stop and continue" (waitpid is interrupted)
$ "$TESTS/process/both" threads-musl
> equal: status 0, 6 lines
$ "$TESTS/process/both" segv-musl
> equal: status 0, 5 lines
$ "$TESTS/process/both" forks-musl-static
> equal: status 0, 10 lines
