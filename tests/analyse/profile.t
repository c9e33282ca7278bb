# Blocks, locality, reads and writes against what an independent single-stepper saw, instruction for
# instruction: with faults in the middle of blocks, handlers that resume and that jump away, a fork.
# Cold, then with the cache that the first run left: the way in which code was found makes no difference.
$ export GLIBC_TUNABLES=glibc.pthread.rseq=0; "$BUILD/tests/oracle/singlestep" -r -f -s s -d d -o sum -- "$PROGRAMS/cuts" > out; "$BUILD/tests/oracle/blocks" "$PROGRAMS/cuts" s.*.* -d d.*.* > want; cat out
> 1144 30 23
$ wc -l < want
> 7
$ export GLIBC_TUNABLES=glibc.pthread.rseq=0; pugmark run -q --fix-random --json p.json -- "$PROGRAMS/cuts" > out; head -n 40 p.json | sed -n 's/^  "\([a-z_0-9]*\)": \([0-9]*\),$/\1 \2/p' > got; grep -vE '^(unknown|blocks_cover_90_percent) ' got | diff want -
$ export GLIBC_TUNABLES=glibc.pthread.rseq=0; pugmark run -q --fix-random --json p.json -- "$PROGRAMS/cuts" > out; head -n 40 p.json | sed -n 's/^  "\([a-z_0-9]*\)": \([0-9]*\),$/\1 \2/p' > got; grep -vE '^(unknown|blocks_cover_90_percent) ' got | diff want -
# - is standard input
$ echo 1 main 10 1 main 20 0 7 > one; pugmark profile merge -o two - one < one; cat two; pugmark profile merge -o - - < one | cmp - one; echo bad | pugmark profile merge -o three -; ls three 2>/dev/null
> 1 main 10 1 main 20 0 14
! pugmark: standard input:0x0: expected a branch profile: bolt, fdata, autofdo or llvm-sample
? 2
