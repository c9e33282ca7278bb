# Futexes, thread-local storage, cancellation, short threads.
$ "$TESTS/process/both" threads
> equal: status 0, 6 lines
$ "$TESTS/process/both" threads-static
> equal: status 0, 6 lines
