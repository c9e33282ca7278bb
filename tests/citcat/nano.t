# nano.t - CITCAT from end to end: what a monitor saw becomes the whole instruction trace again
# needs: mipsel-linux-gnu-gcc
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --exec-trace truth.pug
$ pugmark citcat verify n.cat
> 0 differences in 105065 bus records; 1011726 instructions, 430 interrupts
$ pugmark citcat extract n.cat
> 6988 words of memory; 430 interrupts, 397 Count reads, 1113 Cause reads in 250 runs, 326 I/O words, 5436 DMA records
# the regenerated trace is the one that the machine wrote itself
$ pugmark citcat replay n.ims -o again.pug 2>/dev/null; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt; tail -1 truth.txt
> 0 write 0xffffffffbf030028 4
# replay knows nothing but the two files
$ mkdir alone; cp n.ims n.aes alone; cd alone; pugmark citcat replay n.ims n.aes -o a.din 2>/dev/null; ls
> a.din
> n.aes
> n.ims
# the processor reports beside the bus: an unmodified guest, from power-on
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat s.cat --sideband --exec-trace truth.pug; pugmark citcat verify s.cat | sed 's/ in .*;/;/'
> 0 differences; 1197721 instructions, 430 interrupts
$ pugmark citcat extract s.cat >/dev/null; pugmark citcat replay s.ims -o again.pug 2>/dev/null; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt
# big-endian, with 16-byte lines too; verify writes the same trace
$ pugmark machine run -q --cpu r4400,endian=big --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat --exec-trace truth.pug; pugmark citcat verify be.cat -o again.pug; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt
> 0 differences in 107251 bus records; 1021015 instructions, 433 interrupts
$ pugmark machine run -q --cpu r4400,endian=big,line=16,l2=256k --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat; pugmark citcat verify be.cat | sed 's/ in .*;/;/'
> 0 differences; 1022220 instructions, 434 interrupts
# caches disabled: everything is on the bus
$ pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/nano.elf --disk disk.img --cat off.cat; pugmark citcat verify off.cat
> 0 differences in 1215883 bus records; 1011726 instructions, 430 interrupts
# simulators take the events as they are regenerated, or live from the machine; address spaces are told apart
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --sim count | tail -n +10
>
> count
>   instructions  1,011,726 instructions
>   events        1,346,362 events
>
>                     kinds
>   insn          1,011,726
>   read            108,594
>   write            90,023
>   branch          133,368
>   interrupt           886
>   switch              402
>   time              1,363
>
> count streams
>   stream  name  instructions     events
>        0   cpu     1,011,726  1,346,362
$ pugmark citcat extract n.cat >/dev/null; pugmark citcat replay n.ims --sim count 2>/dev/null | tail -n +9
>
> count
>   instructions  1,011,726 instructions
>   events        1,344,999 events
>
>                     kinds
>   insn          1,011,726
>   read            108,594
>   write            90,023
>   branch          133,368
>   interrupt           886
>   switch              402
>
> count streams
>   stream  name  instructions     events
>        0   cpu     1,011,726  1,344,999
$ pugmark citcat replay n.ims -t text:x 2>&1 | head -1; pugmark citcat replay n.ims -o warm.pug --warmup 1000000 2>/dev/null; pugmark dump warm.pug | head -2; pugmark dump warm.pug | grep -c insn
> pugmark: 'text' is not a format (see `pugmark formats`)
> 0 switch 0x0 - space=0x1
> 0 insn 0x10218 4 bytes=21180301
> 11726
$ pugmark citcat verify n.cat --json - | head -4; pugmark citcat extract n.cat --json - | head -5
> {
>   "schema": {"name": "pugmark.citcat-verify", "version": 1},
>   "differences": 0,
>   "compared": 105065,
> {
>   "schema": {"name": "pugmark.citcat-extract", "version": 1},
>   "memory": 6988,
>   "interrupts": 430,
>   "count_reads": 397,
# 16-byte lines; a secondary cache
$ pugmark machine run -q --cpu r4400,line=16 --elf $TOP/build/guest/nano.elf --disk disk.img --cat l.cat; pugmark citcat verify l.cat | sed 's/ in .*;/;/'
> 0 differences; 1011726 instructions, 430 interrupts
$ pugmark machine run -q --cpu r4400,l2=128k --elf $TOP/build/guest/nano.elf --disk disk.img --cat l2.cat; pugmark citcat verify l2.cat | sed 's/ in .*//'
> 0 differences
# a trace that was cut off replays up to the cut
$ head -c 100000 n.cat >cut.cat; pugmark citcat verify cut.cat | sed 's/ in .*//'
> 0 differences
# a flipped bit anywhere is one error
$ pugmark citcat extract n.cat >/dev/null; cat >flip <<'END'
+ # flip FILE BYTE: its lowest bit
+ v=$(od -An -tu1 -j $2 -N 1 $1); printf "\\$(printf %o $((v ^ 1)))" | dd of=$1 bs=1 seek=$2 conv=notrunc 2>/dev/null
+ END
$ for f in ims aes; do n=$(stat -c %s n.$f); for i in $(seq 0 29); do cp n.ims f.ims; cp n.aes f.aes; sh flip f.$f $((i * (n - 1) / 29)); pugmark citcat replay f.ims f.aes 2>&1 | grep -c '^pugmark: f'; done; done | sort | uniq -c
>      60 1
$ n=$(stat -c %s n.cat); for i in $(seq 0 29); do cp n.cat f.cat; sh flip f.cat $((i * (n - 1) / 29)); pugmark citcat verify f.cat 2>&1 | grep -c '0 differences'; done | sort | uniq -c
>      30 0
$ cp n.ims f.ims; sh flip f.ims 1007; pugmark citcat replay f.ims n.aes; cp n.aes f.aes; sh flip f.aes 1000; pugmark citcat replay n.ims f.aes; cp n.cat f.cat; sh flip f.cat 50; pugmark citcat verify f.cat
! pugmark: f.ims:0xe870: the checksum is wrong: the file is damaged or cut off
! pugmark: f.aes:0xa988: the checksum is wrong: the file is damaged or cut off
! pugmark: f.cat:0x32: expected 0 in a reserved byte, found 0x01
? 1
# the state, the schedule and the bus trace are of one run
$ pugmark citcat replay s.ims n.aes
! pugmark: n.aes:0x4: it is not from the .cat that the .ims is from: its identity is f67569f3a8e90908, that of the .ims is d131b83c74c180a5
? 1
$ pugmark citcat verify --ims s.ims --aes s.aes n.cat
! pugmark: s.ims: it is not from this .cat: its identity is d131b83c74c180a5, that of n.cat is f67569f3a8e90908
? 1
# version 1 of .ims had neither sum nor identity: it is read, and a wrong word in it is found by what happens
$ (head -c 5 n.ims; printf 1; head -c 44 n.ims | tail -c +7; head -c 8 /dev/zero; head -c -392 n.ims | tail -c +53) >old.ims; pugmark citcat verify --ims old.ims --aes n.aes n.cat | sed 's/ in .*;/;/'
> 0 differences; 1011726 instructions, 430 interrupts
$ cp old.ims bad.ims; printf '\125' | dd of=bad.ims bs=1 seek=1007 conv=notrunc 2>/dev/null; pugmark citcat verify --ims bad.ims --aes n.aes n.cat
! pugmark: n.cat: record 10543 differs: the trace has instruction fetch of 4 bytes, 0x00002354 = 0xafa20008 at branch count 41349; replay has instruction fetch of 4 bytes, 0x00002354 = 0xafa20055 at branch count 41349
? 1
$ pugmark citcat verify --state --ims bad.ims --aes n.aes n.cat 2>&1 | sed -n '2,5p'
> replay stood at instruction 6104, branch 366:
> pc            ffffffff80002348
> in_delay      0000000000000000
> tgt           ffffffff80002330
# DMA is written in runs: less than five bytes for four
$ pugmark citcat stat n.cat --json - | grep -A 2 '"DMA"'
>       "record": "DMA",
>       "records": 5436,
>       "raw": 28080,
# what is no trace, or none with a begin
$ pugmark citcat verify n.aes
! pugmark: n.aes:0x0: expected the magic "PMCAT1", found something else
? 1
$ head -c 64 n.cat >empty.cat; pugmark citcat verify empty.cat
! pugmark: empty.cat:0x40: expected a begin record, found none
? 1
$ pugmark citcat replay n.aes n.ims
! pugmark: n.aes:0x0: expected the magic "PMIMS2", found something else
? 1
$ head -c 1000 n.aes >cut.aes; pugmark citcat replay n.ims cut.aes
! pugmark: cut.aes:0x3e0: the checksum is wrong: the file is damaged or cut off
? 1
