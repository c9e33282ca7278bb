# 32-bit programs: odd instructions, faults, threads, processes, what they see of themselves.
# needs: $PROGRAMS/i386/odd
# if: "$TESTS/can-32-bit"
$ env -i PATH="$PATH" PROGRAMS="$PROGRAMS" XDG_CACHE_HOME="$XDG_CACHE_HOME" "$TESTS/process/both" i386/args a b
> equal: status 0, 7 lines
$ "$TESTS/process/both" i386/odd
> equal: status 0, 8 lines
$ "$TESTS/process/both" i386/faults
> equal: status 0, 66 lines
$ "$TESTS/process/both" i386/holes
> equal: status 0, 2 lines
$ "$TESTS/process/both" i386/jumps
> equal: status 0, 6 lines
$ "$TESTS/process/both" i386/jumps-stripped
> equal: status 0, 6 lines
$ "$TESTS/process/both" i386/smc
> equal: status 0, 12 lines
$ "$TESTS/process/both" i386/dl
> equal: status 0, 1 lines
$ "$TESTS/process/both" i386/self
> equal: status 0, 10 lines
$ "$TESTS/process/both" i386/seccomp
> equal: status 0, 3 lines
$ "$TESTS/process/both" i386/segv
> equal: status 0, 5 lines
$ "$TESTS/process/both" i386/segv-nopie
> equal: status 0, 5 lines
$ "$TESTS/process/both" i386/forks
> equal: status 0, 10 lines
$ "$TESTS/process/both" i386/forks-nopie
> equal: status 0, 10 lines
$ "$TESTS/process/both" i386/threads
> equal: status 0, 6 lines
$ "$TESTS/process/both" i386/threads-static
> equal: status 0, 6 lines
$ "$TESTS/process/both" i386/many
> equal: status 0, 1 lines
$ "$TESTS/process/both" i386/old
> equal: status 0, 1 lines
# From 64-bit programs to 32-bit ones and back.
$ pugmark run -q --counts c -- /bin/sh -c '"$PROGRAMS/i386/old" && exec "$PROGRAMS/bare"'
+ awk '{ n[FILENAME] += $2 } END { for (f in n) print n[f] }' c.* | sort -n | grep -x -e 5 -e 71 -e 3056
> good
> good
> 5
> 71
> 3056
