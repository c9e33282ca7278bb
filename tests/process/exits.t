# Ways to end.
$ "$TESTS/process/both" exits 0
> equal: status 0, 2 lines
$ "$TESTS/process/both" exits 3
> equal: status 3, 2 lines
$ "$TESTS/process/both" exits _exit
> equal: status 12, 1 lines
$ "$TESTS/process/both" exits abort
> equal: status 134, 2 lines
$ "$TESTS/process/both" exits kill
> equal: status 137, 2 lines
$ "$TESTS/process/both" exits term
> equal: status 143, 2 lines
$ "$TESTS/process/both" exits segv
> equal: status 139, 2 lines
$ "$TESTS/process/both" exits jump
> equal: status 139, 2 lines
$ "$TESTS/process/both" exits fpe
> equal: status 136, 2 lines
$ "$TESTS/process/both" exits ill
> equal: status 132, 2 lines
$ "$TESTS/process/both" exits thread
> equal: status 23, 1 lines
$ "$TESTS/process/both" exits spinning
> equal: status 14, 2 lines
$ "$TESTS/process/both" exits last
> equal: status 0, 2 lines
$ "$TESTS/process/both" exits unmapped
> equal: status 15, 1 lines
