# Instrumented executables of 32-bit programs do what their originals do, count it, and trace it as `pugmark run` does.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
# timeout: 240
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for p in refs cuts gathers stolen vector jumps-stripped faults signals signals-static-pie seccomp; do "$I" $p; done
> equal: status 0, 0 lines
> equal: status 3, 1 lines
> equal: status 0, 0 lines
> equal: status 0, 1 lines
> equal: status 0, 8 lines
> equal: status 0, 6 lines
> equal: status 0, 66 lines
> equal: status 0, 14 lines
> equal: status 0, 14 lines
> equal: status 0, 3 lines
$ ls refs.*; pugmark idtinfo refs | grep -c good; pugmark vcount --json - refs | grep '"instructions"' | tr -dc 0-9; echo
> refs.blk
> refs.cnt
> refs.idt
> refs.mod
> refs.trc
> 4
> 265
# The events are those of `pugmark run`.
$ cp $PROGRAMS/i386/refs run.refs; pugmark idt -e refs; ./refs.idt; pugmark run --no-cache --no-vdso --fix-random -q --exec -t idt-exec -o run.trc -- ./run.refs; for t in refs run; do pugmark dump -f idt-exec:modules=refs.mod $t.trc | grep -v opaque >$t.events; done; cmp refs.events run.events; grep -c ' insn ' refs.events
> 265
# Generated code is not known ahead of time, and nothing of it is passed over in silence.
$ cp $PROGRAMS/i386/old .; pugmark idt old; ./old.idt 2>&1 | sed 's/0x[0-9a-f]*/0xN/'
> pugmark: control reaches 0xN, which is not in the instrumented program and could not be known ahead of time
# What cannot be done.
$ pugmark idt -b --merge refs
! pugmark: refs: the threads of 32-bit programs cannot write one trace
? 1
