# nano.t - CITCAT from end to end: what a monitor saw becomes the whole instruction trace again
# needs: mipsel-linux-gnu-gcc
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --exec-trace truth.pug
$ pugmark citcat verify n.cat
> 0 differences in 74599 bus records; 1004057 instructions, 427 interrupts
$ pugmark citcat extract n.cat
> 6964 words of memory; 427 interrupts, 395 Count reads, 1107 Cause reads in 254 runs, 326 I/O words, 5436 DMA records
# the regenerated trace is the one that the machine wrote itself
$ pugmark citcat replay n.ims -o again.pug 2>/dev/null; pugmark dump truth.pug >truth.txt; pugmark dump again.pug | cmp - truth.txt; tail -1 truth.txt
> 0 write 0xffffffffbf030028 4
# replay knows nothing but the two files
$ mkdir alone; cp n.ims n.aes alone; cd alone; pugmark citcat replay n.ims n.aes -o a.din 2>/dev/null; ls
> a.din
> n.aes
> n.ims
# the processor reports beside the bus: an unmodified guest, from power-on
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat s.cat --sideband --exec-trace truth.pug; pugmark citcat verify s.cat | sed 's/ in .*;/;/'
> 0 differences; 1189761 instructions, 427 interrupts
$ pugmark citcat extract s.cat >/dev/null; pugmark citcat replay s.ims -o again.pug 2>/dev/null; pugmark dump truth.pug >truth.txt; pugmark dump again.pug | cmp - truth.txt
# big-endian, with 16-byte lines too; verify writes the same trace
$ pugmark machine run -q --cpu r4400,endian=big --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat --exec-trace truth.pug; pugmark citcat verify be.cat -o again.pug; pugmark dump truth.pug >truth.txt; pugmark dump again.pug | cmp - truth.txt
> 0 differences in 76597 bus records; 1013648 instructions, 432 interrupts
$ pugmark machine run -q --cpu r4400,endian=big,line=16,l2=256k --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat; pugmark citcat verify be.cat | sed 's/ in .*;/;/'
> 0 differences; 1014811 instructions, 432 interrupts
# caches disabled: everything is on the bus
$ pugmark machine run -q --cpu r4400,caches=off --elf $TOP/build/guest/nano.elf --disk disk.img --cat off.cat; pugmark citcat verify off.cat
> 0 differences in 1203003 bus records; 1004057 instructions, 427 interrupts
# simulators take the events as they are regenerated, or live from the machine; address spaces are told apart
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --sim count | tail -n +10
>
> count
>   instructions  1,004,057 instructions
>   events        1,330,928 events
>
>                     kinds
>   insn          1,004,057
>   read            106,366
>   write            87,047
>   branch          132,189
>   interrupt           867
>   switch              402
>
> count streams
>   stream  name  instructions     events
>        0   cpu     1,004,057  1,330,928
$ pugmark citcat extract n.cat >/dev/null; pugmark citcat replay n.ims --sim count 2>/dev/null | tail -n +9
>
> count
>   instructions  1,004,057 instructions
>   events        1,330,928 events
>
>                     kinds
>   insn          1,004,057
>   read            106,366
>   write            87,047
>   branch          132,189
>   interrupt           867
>   switch              402
>
> count streams
>   stream  name  instructions     events
>        0   cpu     1,004,057  1,330,928
$ pugmark citcat replay n.ims -t text:x 2>&1 | head -1; pugmark citcat replay n.ims -o warm.pug --warmup 1000000 2>/dev/null; pugmark dump warm.pug | head -2; pugmark dump warm.pug | grep -c insn
> pugmark: 'text' is not a format (see `pugmark formats`)
> 0 switch 0x0 - space=0x1
> 0 insn 0x10228 4 bytes=2138e900
> 4057
$ pugmark citcat verify n.cat --json - | head -3; pugmark citcat extract n.cat --json - | head -4
> {
>   "differences": 0,
>   "compared": 74599,
> {
>   "memory": 6964,
>   "interrupts": 427,
>   "count_reads": 395,
# 16-byte lines; a secondary cache
$ pugmark machine run -q --cpu r4400,line=16 --elf $TOP/build/guest/nano.elf --disk disk.img --cat l.cat; pugmark citcat verify l.cat | sed 's/ in .*;/;/'
> 0 differences; 1004057 instructions, 427 interrupts
$ pugmark machine run -q --cpu r4400,l2=128k --elf $TOP/build/guest/nano.elf --disk disk.img --cat l2.cat; pugmark citcat verify l2.cat | sed 's/ in .*//'
> 0 differences
# a trace that was cut off replays up to the cut
$ head -c 100000 n.cat >cut.cat; pugmark citcat verify cut.cat | sed 's/ in .*//'
> 0 differences
# one word of the initial memory is wrong, in the state or in memory
$ pugmark citcat extract n.cat >/dev/null; cp n.ims bad.ims; printf '\125' | dd of=bad.ims bs=1 seek=1007 conv=notrunc 2>/dev/null; pugmark citcat verify --ims bad.ims --aes n.aes n.cat
! pugmark: n.cat: record 10322 differs: the trace has instruction fetch of 4 bytes, 0x00002374 = 0x24070001 at branch count 41408; replay has instruction fetch of 4 bytes, 0x00002374 = 0x24070055 at branch count 41408
? 1
$ pugmark citcat verify --state --ims bad.ims --aes n.aes n.cat 2>&1 | sed -n '2,5p'
> replay stood at instruction 6317, branch 428:
> pc            ffffffff80002364
> in_delay      0000000000000000
> tgt           ffffffff8000232c
# what is no trace, or none with a begin
$ pugmark citcat verify n.aes
! pugmark: n.aes:0x0: expected the magic "PMCAT1", found something else
? 1
$ head -c 64 n.cat >empty.cat; pugmark citcat verify empty.cat
! pugmark: empty.cat:0x40: expected a begin record, found none
? 1
$ pugmark citcat replay n.aes n.ims
! pugmark: n.aes:0x0: expected the magic "PMIMS1", found something else
? 1
$ head -c 1000 n.aes >cut.aes; pugmark citcat replay n.ims cut.aes
! pugmark: cut.aes:0x14: expected 10248 bytes of records, found 980
? 1
