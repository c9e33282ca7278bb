# C++ exceptions through many frames, across a library, in threads.
$ "$TESTS/process/both" exceptions
> equal: status 21, 9 lines
$ "$TESTS/process/both" exceptions-static
> equal: status 21, 9 lines
