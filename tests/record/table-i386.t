# What the kernel writes in system calls of 32-bit programs: as many bytes as their table has.
# needs: $PROGRAMS/i386/written
# if: "$TESTS/can-32-bit"
$ "$PROGRAMS/i386/written"
> 71 calls
