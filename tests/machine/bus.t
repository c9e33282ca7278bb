# bus.t - what the monitor sees in BYU formats: everything with the caches disabled, else what they let through
# needs: mipsel-linux-gnu-gcc
# caches disabled: the bus has every fetch, read and write, in order
$ pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/bare.elf -n 150000 --bus b.byu --exec-trace b.din
$ pugmark convert b.byu bus.din 2>/dev/null; sed 's/ ffffffff[8a]0*/ /' b.din >insns; sed 's/ 0*/ /' bus.din | cmp - insns && wc -l <insns
> 187121
$ pugmark dump b.byu | awk '$2 == "bus" { n[$5]++ } END { for (i in n) print i, n[i] }' | sort
> type=0 150000
> type=1 18540
> type=2 18581
# formats of references, as if the bus trace were converted: none is empty, and time passes in those that tell it
$ for t in din lackey byu12 ref; do pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/bare.elf -n 20000 --bus b.$t; done; pugmark convert -q b.byu12 c.din; pugmark convert -q b.byu12 c.lackey; pugmark convert -q b.byu12 c.ref; for t in din lackey ref; do cmp b.$t c.$t; done; wc -l <b.din
> 24752
# caches enabled: the bus has what pugmark's own cache simulator lets through
$ pugmark machine run -q --elf $TOP/build/guest/bare.elf -n 1000000 --bus f.byu --exec-trace f.pug
$ pugmark dump f.byu | awk '$2 == "line" || $2 == "read" { n[$2 " " $4]++ } END { for (i in n) print i, n[i] }' | sort
> line 8 66
> read 8 81
$ pugmark sim --cache 'l1i=16k,1way,32;l1d=16k,1way,32,wb' --csv - f.pug | grep '1[id].misses,'
> cache.l1i.misses,66,lookups
> cache.l1d.misses,81,lookups
# cacheable is what is filled, noncacheable only what truly is, and what leaves a cache is a write-back: in every form
$ for o in '--bus c.byu' '--bus c.byu12' '--sideband --cat c.cat'; do pugmark machine run -q --elf $TOP/build/guest/nano.elf --ram 1M $o; done; pugmark convert -q c.byu12 d.byu; cmp c.byu d.byu; pugmark convert -q c.cat e.byu; for f in c e; do pugmark convert -q -t byu-text $f.byu - | awk '{ n[$3]++ } END { for (i in n) print i, n[i] }' | sort; done
> D_READ 57036
> D_WRITE 33
> IO_READ 117
> IO_WRITE 5695
> I_FETCH 429
> NC_I_FETCH 6806
> WRITE_BACK 30240
> D_READ 57036
> D_WRITE 33
> IO_READ 117
> IO_WRITE 5696
> I_FETCH 429
> NC_D_READ 6806
> WRITE_BACK 30240
# twelve bytes: sizes, agents (the disk is 1), clocks that add up to the run's cycles
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --bus n.byu12 --stats 2>&1 | sed 's/.*exceptions, \(.*\) cycles.*/\1 cycles/'
> 1198355 cycles
$ pugmark convert n.byu12 n.byu.txt 2>/dev/null; awk '{ t += $6; n[$2 " " $3 " " $5]++ } END { print t + 1, "cycles"; for (i in n) print i, n[i] }' n.byu.txt | sort
> 1198351 cycles
> FETCH 32 0 453
> FETCH 4 0 6806
> IOREAD 4 0 153
> IOWRITE 4 0 6457
> MEMREAD 2 0 72
> MEMREAD 2 1 108
> MEMREAD 32 0 57665
> MEMREAD 4 1 2112
> MEMWRITE 1 1 36
> MEMWRITE 2 0 288
> MEMWRITE 2 1 36
> MEMWRITE 32 0 30726
> MEMWRITE 4 0 501
> MEMWRITE 4 1 3144
# the same from a .cat, which is a trace like any other (but does not tell an uncached fetch from a read)
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --bus both.byu; pugmark convert n.cat n.byu 2>note; cat note; for f in n both; do pugmark dump $f.byu | awk '$2 == "bus" { print $3, $4, $6 }' >$f.txt; done; cmp n.txt both.txt && wc -l <n.txt; pugmark info n.cat | sed -n '2p;4p'
> pugmark: note: events discarded: 74 marker
> 31152
> format          cat
> contents        data addresses, access sizes, physical addresses, byte enables, bus transactions
$ pugmark dump n.cat | head -3; pugmark dump -f cat:words n.cat | grep -m 2 ' line '
> 0 marker 0x0 0 name="begin"
> 0 bus 0x1f030020 4 type=6 lanes=0xf0 attr=0 agent=0 raw=00000000 data=0x0
> 0 device 0x1f030020 4 flags=write
> 0 line 0x2fe0 4
> 0 line 0x2fe4 4
$ pugmark sim --sim count --csv - n.cat | grep kinds
> count.kinds.read,13134,events
> count.kinds.write,5691,events
> count.kinds.line,409,events
> count.kinds.bus,31152,events
> count.kinds.dma,5436,events
> count.kinds.device,6482,events
> count.kinds.marker,74,events
> count.streams[0].kinds.read,13134,events
> count.streams[0].kinds.write,5691,events
> count.streams[0].kinds.line,409,events
> count.streams[0].kinds.bus,31152,events
> count.streams[0].kinds.dma,5436,events
> count.streams[0].kinds.device,6482,events
> count.streams[0].kinds.marker,74,events
# a 32-bit kernel's addresses are sign-extended on this processor: formats of 32 bits take their lower half
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf -n 300000 --exec-trace k.pug; for f in ref byu; do pugmark convert -q k.pug k.$f; pugmark convert -q k.$f - -t laplace-text | awk '{ print $1, $5 }' | sort | uniq -c | sort -n | tail -1; done; pugmark convert -q -t laplace-text k.pug - | awk '{ print $1, $5 }' | sort | uniq -c | sort -n | tail -1
>   25600 i 800025fc
>   25600 i 800025fc
>   25600 i ffffffff800025fc
# part of a register goes to memory in one transaction, whose byte enables say which part; the .cat has a record for each word of it
$ printf '.globl __start\n.set noreorder\n__start: lui $8, 0xa020\nli $9, 0x11223344\nswl $9, 2($8)\nswr $9, 5($8)\nsdr $9, 11($8)\nlui $8, 0xbf02\nli $9, 0x5555\nsw $9, 0($8)\n1: b 1b\nnop\n' >part.S; mipsel-linux-gnu-gcc -mips3 -mabi=32 -mno-abicalls -fno-pic -nostdlib -static -Wl,-Ttext=0x80100000 -Wl,--build-id=none -o part.elf part.S; pugmark machine run -q --elf part.elf --bus part.byu; pugmark convert -q -t byu-text part.byu - | grep WRITE
> 00200000 f8 D_WRITE
> 00200000 1f D_WRITE
> 00200008 07 D_WRITE
> 1f020000 f0 IO_WRITE
$ pugmark machine run -q --elf part.elf --sideband --cat part.cat; pugmark dump part.cat | grep ' write '; pugmark citcat verify part.cat | sed 's/ in .*//'
> 0 write 0x200000 3 value=0x112233 flags=uncached
> 0 write 0x200005 3 value=0x223344 flags=uncached
> 0 write 0x20000b 1 value=0x44 flags=uncached
> 0 write 0x20000c 4 value=0x112233 flags=uncached
> 0 differences
