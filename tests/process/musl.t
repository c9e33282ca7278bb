# musl, dynamic and static.
# needs: $PROGRAMS/threads-musl
$ "$TESTS/process/both" threads-musl
> equal: status 0, 6 lines
$ "$TESTS/process/both" segv-musl
> equal: status 0, 5 lines
$ "$TESTS/process/both" forks-musl-static
> equal: status 0, 10 lines
$ "$TESTS/process/both" signals-musl
> equal: status 0, 15 lines
