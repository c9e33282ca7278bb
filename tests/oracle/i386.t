# 32-bit programs: every instruction as often as the single-stepper sees it; signals, faults that are
# repaired or left, a fork, the vDSO's way into the kernel, a dynamic linker.
# needs: $PROGRAMS/i386/cuts
# if: "$TESTS/can-32-bit"
# timeout: 240
$ "$TESTS/oracle/compare" "$PROGRAMS/i386/old" | sed 's,^/.*/,,'
> old: equal: 71 instructions at 59 addresses
$ "$TESTS/oracle/compare" -f "$PROGRAMS/i386/cuts" | sed 's,^/.*/,,; s/equal: .*/equal/'
> cuts: equal
> cuts: equal
$ "$TESTS/oracle/compare" "$PROGRAMS/i386/odd" | sed 's,^/.*/,,; s/equal: .*/equal/'
> odd: equal
