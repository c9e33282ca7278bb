# bus.t - what the monitor sees in BYU formats: everything with the caches disabled, else what they let through
# needs: mipsel-linux-gnu-gcc
# caches disabled: the bus has every fetch, read and write, in order
$ pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/bare.elf -n 150000 --bus b.byu --exec-trace b.din
$ pugmark convert b.byu bus.din 2>/dev/null; sed 's/ ffffffff[8a]0*/ /' b.din >insns; sed 's/ 0*/ /' bus.din | cmp - insns && grep -c '^2 ' insns
> 150000
$ awk '{ n[$1]++ } END { print "type=0", n[2]; print "type=1", n[0]; print "type=2", n[1] }' b.din >kinds; pugmark dump b.byu | awk '$2 == "bus" { n[$5]++ } END { for (i in n) print i, n[i] }' | sort | diff kinds - && awk '{ print $1, ($2 > 10000) }' kinds
> type=0 1
> type=1 1
> type=2 1
# formats of references, as if the bus trace were converted: none is empty, and time passes in those that tell it
$ for t in din lackey byu12 ref; do pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/bare.elf -n 20000 --bus b.$t; done; pugmark convert -q b.byu12 c.din; pugmark convert -q b.byu12 c.lackey; pugmark convert -q b.byu12 c.ref; for t in din lackey ref; do cmp b.$t c.$t; done; grep -c '^2 ' b.din; head -n $(wc -l <b.din) insns >begin; sed 's/ 0*/ /' b.din | cmp - begin
> 20000
# caches enabled: the bus has what pugmark's own cache simulator lets through
$ pugmark machine run -q --elf $TOP/build/guest/bare.elf -n 1000000 --bus f.byu --exec-trace f.pug
$ pugmark dump f.byu | awk '$2 == "line" || $2 == "read" { n[$2 " " $4]++ } END { for (i in n) print i, n[i] }' | sort
> line 8 66
> read 8 81
$ pugmark sim --cache 'l1i=16k,1way,32;l1d=16k,1way,32,wb' --csv - f.pug | grep '1[id].misses,'
> cache.l1i.misses,66,lookups
> cache.l1d.misses,81,lookups
# cacheable is what is filled, noncacheable only what truly is, and what leaves a cache is a write-back: in every form
$ for o in '--bus c.byu' '--bus c.byu12' '--sideband --cat c.cat'; do pugmark machine run -q --elf $TOP/build/guest/nano.elf --ram 1M $o; done; pugmark convert -q c.byu12 d.byu; cmp c.byu d.byu; pugmark convert -q c.cat e.byu; for f in c e; do pugmark convert -q -t byu-text $f.byu - | awk '{ n[$3]++ } END { for (i in n) print i, n[i] }' | sort >kinds.$f; done; sed 's/ .*//' kinds.c
+ awk 'NR == FNR { n[$1] = $2; next } $1 == "IO_WRITE" { $2-- } $1 == "NC_D_READ" { $1 = "NC_I_FETCH" } n[$1] != $2 { print "differs:", $0 }' kinds.c kinds.e
+ pugmark dump c.byu | awk '$2 == "bus" { n[$5]++ } END { print n["type=1"], n["type=2"], n["type=5"], n["type=6"], n["type=0"], n["type=3"] }' >types; awk '{ n[$1] = $2 } END { print n["D_READ"], n["D_WRITE"], n["IO_READ"], n["IO_WRITE"], n["I_FETCH"] + n["NC_I_FETCH"], n["WRITE_BACK"] }' kinds.c | cmp - types
> D_READ
> D_WRITE
> IO_READ
> IO_WRITE
> I_FETCH
> NC_I_FETCH
> WRITE_BACK
# twelve bytes: sizes, agents (the disk is 1), clocks that add up to the run's cycles
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --bus n.byu12 --stats 2>&1 | tr -d , | awk '{ print $5; print $1 + $3 == $5, ($1 > 900000) }' >stats; sed 1d stats
> 1 1
$ pugmark convert n.byu12 n.byu.txt 2>/dev/null; awk -v cycles=$(head -n 1 stats) '{ t += $6; n[$2 " " $3 " " $5]++ } END { print cycles - t - 1, "cycles behind the last"; for (i in n) print i, n[i] }' n.byu.txt | sort >seen
+ pugmark dump n.byu12 | awk 'BEGIN { split("FETCH MEMREAD MEMWRITE MEMWRITE - IOREAD IOWRITE", k) } $2 == "bus" { n[k[substr($5, 6) + 1] " " $4 " " substr($8, 7)]++ } END { for (i in n) print i, n[i] }' | sort >want; grep -v cycles seen | diff want -; sed 's/^\([A-Z].*\) .*/\1/' seen
> 4 cycles behind the last
> FETCH 32 0
> FETCH 4 0
> IOREAD 4 0
> IOWRITE 4 0
> MEMREAD 2 0
> MEMREAD 2 1
> MEMREAD 32 0
> MEMREAD 4 1
> MEMWRITE 1 1
> MEMWRITE 2 0
> MEMWRITE 2 1
> MEMWRITE 32 0
> MEMWRITE 4 0
> MEMWRITE 4 1
# the same from a .cat, which is a trace like any other (but does not tell an uncached fetch from a read)
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --bus both.byu; pugmark convert n.cat n.byu 2>note; cat note; for f in n both; do pugmark dump $f.byu | awk '$2 == "bus" { print $3, $4, $6 }' >$f.txt; done; cmp n.txt both.txt && awk 'END { print (NR > 20000) }' n.txt; env -u PUGMARK_COLUMNS pugmark info n.cat | sed -n '2p;4p'
> pugmark: note: events discarded: 74 marker
> 1
> format          cat
> contents        data addresses, access sizes, physical addresses, byte enables, bus transactions
$ pugmark dump n.cat | head -3; pugmark dump n.cat | grep -m 1 ' line ' | sed 's/ 32$/ 4/' >line; pugmark dump -f cat:words n.cat | grep -m 8 ' line ' | tee words | head -n 1 | cmp - line
+ awk 'function hex(s,  v, i) { for (i = 3; i <= length(s); i++) v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } NR == 1 { line = hex($3) } { print hex($3) - line, $4 }' words
> 0 marker 0x0 0 name="begin"
> 0 bus 0x1f030020 4 type=6 lanes=0xf0 attr=0 agent=0 raw=00000000 data=0x0
> 0 device 0x1f030020 4 flags=write
> 0 4
> 4 4
> 8 4
> 12 4
> 16 4
> 20 4
> 24 4
> 28 4
$ pugmark dump n.cat | awk '{ n[$2]++ } END { for (k in n) { print "count.kinds." k "," n[k] ",events"; print "count.streams[0].kinds." k "," n[k] ",events" } }' | sort >kinds; pugmark sim --sim count --csv - n.cat | grep kinds >seen; sort seen | diff kinds -; sed 's/,.*//' seen
> count.kinds.read
> count.kinds.write
> count.kinds.line
> count.kinds.bus
> count.kinds.dma
> count.kinds.device
> count.kinds.marker
> count.streams[0].kinds.read
> count.streams[0].kinds.write
> count.streams[0].kinds.line
> count.streams[0].kinds.bus
> count.streams[0].kinds.dma
> count.streams[0].kinds.device
> count.streams[0].kinds.marker
# a 32-bit kernel's addresses are sign-extended on this processor: formats of 32 bits take their lower half
$ most() { sort | uniq -c | sort -n | tail -1; }; pugmark machine run -q --elf $TOP/build/guest/nano.elf -n 300000 --exec-trace k.pug; pugmark dump k.pug | awk '$2 == "insn" { print "i", substr($3, 3) }' | most >most
+ for f in ref byu; do pugmark convert -q k.pug k.$f; pugmark convert -q k.$f - -t laplace-text | awk '{ print $1, $5 }' | most | sed "s/ i / i ffffffff/" | diff most -; done; pugmark convert -q -t laplace-text k.pug - | awk '{ print $1, $5 }' | most | diff most -; sed 's/ffffffff8000[0-9a-f]*/IN THE KERNEL/; s/^ *//' most
> 25600 i IN THE KERNEL
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

# A gem5 trace has no field for the instruction set. What is written as one says it nevertheless; of others the user does.
$ for e in '' -be; do pugmark machine run -q --elf $TOP/build/guest/nano$e.elf ${e:+--cpu r4400,endian=big} -n 3000 --exec-trace g$e.pug; pugmark convert -q g$e.pug g$e.gem5; for f in pug gem5; do pugmark sim -s insns:top=5 g$e.$f | sed -n '/blocks distinct/,/^$/p; /by class/,/^$/p' >i$e.$f; done; cmp i$e.pug i$e.gem5; grep -c -w addiu i$e.gem5; pugmark convert -q g$e.gem5 h$e.gem5; cmp g$e.gem5 h$e.gem5; done
> 1
> 1
$ sed 's/pugmark mips/pugmark MIPS/' g.gem5 >u.gem5; pugmark sim -s insns:top=5 -f gem5:isa=mips u.gem5 | sed -n '/blocks distinct/,/^$/p; /by class/,/^$/p' | cmp - i.gem5; pugmark sim -s insns:top=5 u.gem5 | grep -c -w addiu; pugmark info -f gem5:isa=mipz u.gem5
> 0
! pugmark: u.gem5: expected x86-64, i386, mips, mips-be, riscv or other as isa, found 'mipz'
? 1
