# an execution trace holds no instruction bytes: they are found in the program beside it, or the user is told
$ D=$TESTS/data/formats; cp $D/ex-idt-exec.trc ex.trc; cp $D/ex-idt-exec.blk ex.blk; pugmark sim -s i486 ex.trc >none; cat none
> i486
>   without bytes  3 instructions of one cycle, since the trace does not hold their bytes
>
> i486 configurations
>     configuration  cycles  instructions  reads  read misses  instr misses  stall
>   16B, 4-way, 4wb      21             3      2            2             1     15
>   ... and 4 columns: writes, prefetches, memory prefetches, full
! pugmark: note: ex.trc holds no instruction bytes: to 'i486' each instruction takes one cycle (-f idt-exec:binary=PROGRAM says where they are)
$ head -c 256 /dev/zero >ex; printf '\213\003\363\244\350\367\002\000\000' >>ex; pugmark sim -s i486 ex.trc >found; cat found; pugmark sim -s i486 -f idt-exec:binary=ex ex.trc | cmp - found
> i486
>
> i486 configurations
>     configuration  cycles  instructions  reads  read misses  instr misses  stall
>   16B, 4-way, 4wb      29             3      2            2             1     15
>   ... and 4 columns: writes, prefetches, memory prefetches, full
# another program of that name is not what ran
$ printf 'not what ran, but long enough' | dd of=ex bs=1 seek=256 conv=notrunc 2>/dev/null; pugmark sim -s i486 ex.trc 2>/dev/null | cmp - none
# bytes of some instructions only: the module file names one that is there
$ head -c 256 /dev/zero >lib; printf '\213\003\363\244\350\367\002\000\000' >>lib; printf '0x8048100-0x8048104 0x100 - %s/lib\n' "$PWD" >ex.mod; rm ex; pugmark sim -s i486 --json - ex.trc | grep without_bytes
>     "without_bytes": 1,
