# IDtrace's tools on the worked examples of its files
$ D=$TESTS/data/formats; cp $D/ex-idt-exec.trc ex.trc; cp $D/ex-idt-exec.blk ex.blk; cp $D/ex-idt.cnt ex.cnt; cp $D/ex-idt-branch.trc br.trc; cp $D/ex-idt-cache-r.trc rep.trc; pugmark vcount ex
> instructions: 12,884,901,900 instructions
> blocks: 4,294,967,300 blocks
> instructions per block: 3.0000
> blocks in the program: 1 blocks
> different blocks executed: 1 blocks
> blocks making 90 percent: 1 blocks
>
> mix
>   instruction       executed  percent
>          call  4,294,967,300  33.3333
>           mov  4,294,967,300  33.3333
>         movsb  4,294,967,300  33.3333
$ pugmark vcount --json - ex | tr -d ' \n' | cut -c1-180
> {"instructions":12884901900,"blocks":4294967300,"instructions_per_block":3,"blocks_in_the_program":1,"different_blocks_executed":1,"blocks_making_90_percent":1,"mix":[{"instruction
$ pugmark vtrace ex
> 0 block 0x8048100 - n=3
> 0 read 0x8049ff0 4
> 0 rep-iter 0x8048102 -
> 0 read 0x8049000 1 flags=rep
> 0 write 0x804a000 1 flags=rep
> 0 rep-end 0x8048102 - n=1
> 0 write 0xbffff7fc 4
> 0 target 0x8048400
$ pugmark vtrace br
> 0 block 0x8048100 - n=0
> 0 branch 0x8048109 2 target=0x804810b flags=cond
> 0 block 0x804810b - n=0
> 0 branch 0x804811b 6 target=0x0 flags=cond
$ pugmark vtrace -o out rep && cat out
> 0 line 0x8048100 16
> 0 read 0x8049ff0 4
> 0 write 0x8049ff7 1
> 0 read 0x8049000 4 flags=rep
> 0 write 0x804a000 4 flags=rep
> 0 rep-end 0x0 - n=0
$ pugmark rtrace ex
> block accesses: 1 instructions
> of no bytes: 0 instructions
> references: 2 references
> bytes read: 1 bytes
> bytes written: 1 bytes
>
> read
>   bytes  accesses
>       1         1
>
> written
>   bytes  accesses
>       1         1
$ pugmark rtrace --json - rep | tr -d ' \n'
>- {"block_accesses":1,"of_no_bytes":0,"references":2,"bytes_read":4,"bytes_written":4,"read":[{"bytes":4,"accesses":1}],"written":[{"bytes":4,"accesses":1}]}
# the program: its bytes at the places that the block table names
$ head -c 256 /dev/zero >ex; printf '\213\003\363\244\350\367\002\000\000' >>ex; pugmark idt2kt ex; tail -c +17 $TESTS/data/formats/ex-sample.kt | cmp - ex.kt
# ... or a module file
$ printf '# a comment\n0x8048100-0x8048109 0x100 - %s/ex\n' "$PWD" >ex.mod; rm ex.kt; pugmark idt2kt ex; tail -c +17 $TESTS/data/formats/ex-sample.kt | cmp - ex.kt
$ pugmark convert -f idt-exec:blk=ex.blk,modules=ex.mod -t idt-exec:blk=back.blk ex.trc back.trc; cmp back.trc ex.trc; cmp back.blk ex.blk
$ rm ex; pugmark idtinfo ex
> blocks: 1 blocks
>
> files
>     file         is  bytes    original  instrumented
>   ex.idt  not there      -           -             -
>       ex  not there      -           -             -
>   ex.blk       good     36  0x11223344    0x55667788
>   ex.cnt       good     16  0x11223344    0x55667788
# a FIFO is followed
$ mkfifo br.otr; cat br.trc >br.otr & pugmark vtrace br | wc -l; wait
> 4
# called by their names
$ ln -s "$(command -v pugmark)" vcount; ./vcount ex | head -n 1
> instructions: 12,884,901,900 instructions
# what does not belong together, or makes no sense
$ printf '\1' | dd of=ex.cnt conv=notrunc status=none; pugmark vcount ex
! pugmark: ex.cnt:0x0: these are the counts of another program: expected the magic numbers 0x11223344 0x55667788 of 'ex.blk', found 0x11223301 0x55667788
? 1
$ pugmark idtinfo ex | grep cnt; pugmark idtinfo ex >/dev/null
>   ex.cnt  of another program     16  0x11223301    0x55667788
? 1
$ head -c 11 $TESTS/data/formats/ex-idt.cnt >ex.cnt; pugmark vcount ex
! pugmark: ex.cnt:0xb: 3 bytes of counters are no whole number of sets of 1 blocks
? 1
$ rm ex.cnt; pugmark vcount ex
! pugmark: ex.cnt: cannot open: No such file or directory
? 1
$ head -c 33 $TESTS/data/formats/ex-idt-exec.trc >ex.trc; pugmark vtrace ex >/dev/null
! pugmark: ex.trc:0x1e: expected an entry of 5 bytes, found 3
? 1
$ echo '0x10-0x8 0 - x' >ex.mod; pugmark idt2kt ex
! pugmark: ex.trc: its module file 'ex.mod': 1: expected a range of addresses LO-HI, found '0x10-0x8'
? 1
$ echo '0x8-0x10 0 - none' >ex.mod; pugmark idt2kt ex; ls ex.kt*
> ex.kt
! pugmark: ex.trc: its program or library 'none': cannot open: No such file or directory
$ rm ex.mod; pugmark idt2kt ex
! pugmark: ex: the original program is needed for its instructions' bytes
? 1
$ pugmark rtrace
! pugmark: missing PROGRAM (see `pugmark rtrace --help`)
? 2
