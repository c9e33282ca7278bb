# Instructions that compilers hardly ever emit, segment bases, odd system calls.
$ "$TESTS/process/both" odd
> equal: status 0, 7 lines
