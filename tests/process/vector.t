# x87, MMX, SSE, AVX, AVX-512 state across signals, system calls and faults.
$ "$TESTS/process/both" vector
> equal: status 0, 7 lines
$ "$TESTS/process/both" vector-static
> equal: status 0, 7 lines
