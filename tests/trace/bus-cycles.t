# tests/trace/bus-cycles.t - special cycles and kernel events have names; what no bus does is no good trace
$ b() { printf '%s\n' "$@"; }; b '00000000 fe SPECIAL' '00000000 fd SPECIAL' '00000000 fb SPECIAL' '00000010 fb SPECIAL' '00000000 f7 SPECIAL' '00000000 ef SPECIAL' '00000000 df SPECIAL' '00000020 fb SPECIAL' '0000a000 00 D_READ' >s.byu.txt; pugmark dump s.byu.txt | grep ' bus ' | sed 's/.*raw/raw/'
> raw=30000000 data=0x0 cycle=shutdown
> raw=30000000 data=0x0 cycle=invalidate
> raw=30000000 data=0x0 cycle=halt
> raw=30000000 data=0x0 cycle=stop-grant
> raw=30000000 data=0x0 cycle=write-back-invalidate
> raw=30000000 data=0x0 cycle=flush-ack
> raw=30000000 data=0x0 cycle=branch-trace
> raw=30000000 data=0x0
> raw=c0000000 data=0x0
$ pugmark convert -q -t byu s.byu.txt s.byu; pugmark dump s.byu | grep -o 'cycle=.*'
> cycle=shutdown
> cycle=invalidate
> cycle=halt
> cycle=stop-grant
> cycle=write-back-invalidate
> cycle=flush-ack
> cycle=branch-trace
$ for r in SHUTDOWN FLUSH HALT SYNC FLUSHACK STOPCLKAK SMIACK DEFERREPLY; do printf '00000000 %s\t\t 0\t00\t0\t-1\n' $r; done >t.byu.txt; pugmark convert -q -t byu12 t.byu.txt t.byu12; pugmark dump -f byu12 t.byu12 | grep -o 'cycle=.*'
> cycle=shutdown
> cycle=flush
> cycle=halt
> cycle=sync
> cycle=flush-ack
> cycle=stop-clock-ack
> cycle=smi-ack
> cycle=deferred-reply
# From six bytes to twelve and back they stay what they are.
$ head -c 42 s.byu >seven.byu; pugmark convert -q seven.byu s.byu12; pugmark dump -f byu12 s.byu12 | grep -o 'cycle=.*'; pugmark convert -q -f byu12 s.byu12 t.byu; cmp t.byu seven.byu
> cycle=shutdown
> cycle=flush
> cycle=halt
> cycle=stop-clock-ack
> cycle=sync
> cycle=flush-ack
> cycle=branch-trace
$ pugmark dump $TESTS/data/formats/laplace.kev | head -n 4
> 0 opaque - 22 flags=write value=0x16 bytes=6c61706c6163652d6576656e7473006c61706c616365
> 0 time 0x0 - time=16
> 0 kernel 0x0 - code=65 event=context args=0x100,0x9f8e7
> 0 time 0x0 - time=32
# Thirty cycles that there are not.
$ for i in $(seq 30); do echo '0000a000 00 INVALID'; done >bad.byu.txt; pugmark verify bad.byu.txt | grep -vE 'not applicable' | head -n 4
> 0 instructions
>   bus      30 of 30 wrong: bus cycles are valid, and transfers have bytes
> findings:
> bus: stream 0, instruction 0: an invalid cycle at 0xa000: 0x00
$ pugmark verify s.byu.txt | grep -e bus -e good
>   size     good: 1 looked at
>   bus      good: 9 looked at
> s.byu.txt: good
# Zeros are no trace, however many and whatever the name.
$ head -c 65536 /dev/zero >zeros; cp zeros zeros.pug; for f in zeros zeros.pug; do pugmark info $f; done; pugmark verify -f byu12 zeros | grep 'bus '
>   bus      5461 of 5461 wrong: bus cycles are valid, and transfers have bytes
! pugmark: zeros: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
! pugmark: zeros.pug:0x0: not a .pug trace
# A magic number that is not there is missed at once.
$ truncate -s 5G sparse.pug; timeout 2 pugmark info sparse.pug; timeout 2 pugmark verify -f pug sparse.pug
! pugmark: sparse.pug:0x0: not a .pug trace
! pugmark: sparse.pug:0x0: not a .pug trace
? 1
