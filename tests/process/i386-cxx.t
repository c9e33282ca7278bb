# C++ exceptions in 32-bit programs.
# needs: $PROGRAMS/i386/exceptions
# if: "$TESTS/can-32-bit"
$ "$TESTS/process/both" i386/exceptions
> equal: status 21, 9 lines
$ "$TESTS/process/both" i386/exceptions-static
> equal: status 21, 9 lines
