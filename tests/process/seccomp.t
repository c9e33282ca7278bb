# A program that forbids itself most system calls.
$ "$TESTS/process/both" seccomp
> equal: status 0, 3 lines
