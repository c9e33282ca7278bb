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
>          call  4,294,967,300   33.3 %
>           mov  4,294,967,300   33.3 %
>         movsb  4,294,967,300   33.3 %
$ pugmark vcount --json - ex | tr -d ' \n' | cut -c1-180
> {"schema":{"name":"pugmark.vcount","version":1},"instructions":12884901900,"blocks":4294967300,"instructions_per_block":3,"blocks_in_the_program":1,"different_blocks_executed":1,"b
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
>- {"schema":{"name":"pugmark.rtrace","version":1},"block_accesses":1,"of_no_bytes":0,"references":2,"bytes_read":4,"bytes_written":4,"read":[{"bytes":4,"accesses":1}],"written":[{"bytes":4,"accesses":1}]}
# the program: its bytes at the places that the block table names, whose magic number is the program's CRC-32
$ head -c 256 /dev/zero >ex; printf '\213\003\363\244\350\367\002\000\000' >>ex; pugmark idt2kt ex
! pugmark: ex: this is another program: expected the magic number 0x11223344 of 'ex.blk', found 0xb9dbb005
? 1
$ ls ex.kt 2>/dev/null; printf '\005\260\333\271' | dd of=ex.blk bs=1 seek=8 conv=notrunc status=none; pugmark idt2kt ex; tail -c +17 $TESTS/data/formats/ex-sample.kt | cmp - ex.kt
# ... or a module file
$ printf '# a comment\n0x8048100-0x8048109 0x100 - %s/ex\n' "$PWD" >ex.mod; rm ex.kt; pugmark idt2kt ex; tail -c +17 $TESTS/data/formats/ex-sample.kt | cmp - ex.kt
$ pugmark convert -f idt-exec:blk=ex.blk,modules=ex.mod -t idt-exec:blk=back.blk ex.trc back.trc; cmp back.trc ex.trc; cmp back.blk ex.blk
$ printf '\1' | dd of=ex bs=1 conv=notrunc status=none; pugmark idt2kt ex 2>&1 | sed "s|$PWD/||"
> pugmark: ex: this is another program: expected the magic number 0xb9dbb005 of 'ex.blk', found 0x51da7c95
$ cp ex.trc kept; : >ex.trc; pugmark idt2kt -o - ex; mv kept ex.trc
! pugmark: ex.trc: the input is empty
$ rm ex; cp $TESTS/data/formats/ex-idt-exec.blk ex.blk; pugmark idtinfo ex
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
# ... and opened once: whoever opens and closes it first takes the writer away, in some of these
$ for i in $(seq 40); do cat br.trc >br.otr & timeout 10 pugmark vtrace br >said || echo "$i: $?"; kill $! 2>/dev/null; wait; done
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
$ pugmark idtinfo ex
! pugmark: ex.cnt:0xb: 3 bytes of counters are no whole number of sets of 1 blocks
? 1
$ : >ex.cnt; pugmark idtinfo ex
! pugmark: ex.cnt:0x0: expected 8 bytes of counter header, found 0
? 1
$ rm ex.cnt; pugmark vcount ex
! pugmark: ex.cnt: cannot open: No such file or directory
? 1
$ head -c 33 $TESTS/data/formats/ex-idt-exec.trc >ex.trc; pugmark vtrace ex >/dev/null
! pugmark: ex.trc:0x1e: expected an entry of 5 bytes, found 3
? 1
$ echo '0x10-0x8 0 - x' >ex.mod; pugmark idt2kt ex
! pugmark: ex.mod:1: expected a range of addresses LO-HI, found '0x10-0x8'
? 1
$ echo '0x8-0x10 0 - none' >ex.mod; pugmark idt2kt ex; ls ex.kt*
> ex.kt
! pugmark: ex.trc: its program or library 'none': cannot open: No such file or directory
$ rm ex.mod; pugmark idt2kt ex
! pugmark: ex: the original program is needed for its instructions' bytes
? 1
# what was looked for; and the files themselves are names, too
$ pugmark vcount nope; pugmark idtinfo nope; pugmark idt2kt nope; pugmark vtrace nope; pugmark rtrace nope.trc64
! pugmark: nope: expected its block table, 'nope.blk64' or 'nope.blk', found neither
! pugmark: nope: expected its block table, 'nope.blk64' or 'nope.blk', found neither
! pugmark: nope: expected its block table, 'nope.blk64' or 'nope.blk', found neither
! pugmark: nope: expected its trace, 'nope.trc64' or 'nope.trc', or a FIFO 'nope.otr', found none
! pugmark: nope.trc64: cannot open: No such file or directory
? 1
$ pugmark vtrace br.trc | wc -l; cp br.trc br.trc.12; pugmark vtrace br.trc.12 | wc -l; cp $TESTS/data/formats/ex-idt.cnt ex.cnt.12; pugmark vcount ex.cnt.12 | head -n 1; rm br.otr; pugmark vtrace br | wc -l; pugmark vtrace -q br | wc -l
> 4
> 4
> instructions: 12,884,901,900 instructions
> 4
> 4
! pugmark: note: 'br.trc' is one trace of several: 'br.trc.NUMBER' beside it are of other threads or processes (1)
$ pugmark rtrace br.trc
! pugmark: IDtrace traces (idt-branch) hold no data addresses or access sizes; 'rtrace' needs them (`pugmark instrument -c -r` traces them)
? 1
$ pugmark rtrace
! pugmark: missing PROGRAM (see `pugmark rtrace --help`)
? 2
# pusha, popa and far calls have one entry, of what is pushed or popped first; in KT, too, and there far calls have the target
# first, and pop to memory one address. All comes back as it was, and read with its bytes it is all that was referred to.
$ cat >calls.S <<'END'
+ 	.text
+ 	.globl _start
+ _start:	pusha
+ 	popa
+ 	pushaw
+ 	push 0x3000
+ 	pop 0x3000
+ 	lcall $0x23, $0x1020
+ 	.org 0x20
+ 	lcall *(%eax)
+ 	.org 0x40
+ 	nop
+ END
$ as --32 -o calls.o calls.S && ld -m elf_i386 -Ttext=0x1000 -o calls calls.o
$ cat >make-calls <<'END'
+ w() { for v; do for i in 0 8 16 24; do printf "\\$(printf %o $((v >> i & 255)))"; done; done; }
+ w 0x1000; printf '\021\140\000\000'; w 0xbffffffc
+ w 0x1001; printf '\021\141\000\000'; w 0xbfffffe0
+ w 0x1002; printf '\022\146\140\000'; w 0xbffffffe
+ w 0x1004; printf '\046\377\065\000\060\000\000\000'; w 0xbffffffc 0x3000
+ w 0x100a; printf '\026\217\005\000\060\000\000\000'; w 0x3000
+ w 0x1010; printf '\047\232\040\020\000\000\043\000'; w 0x1020 0xbffffffc
+ w 0x1020; printf '\042\377\030\000'; w 0x1040 0xbffffff4
+ w 0x1040; printf '\001\220\000\000'
+ END
$ sh make-calls >calls.kt; pugmark dump calls.kt | grep ' read \| write 0'
> 0 write 0xbfffffe0 32 flags=stack
> 0 read 0xbfffffe0 32 flags=stack
> 0 write 0xbffffff0 16 flags=stack
> 0 write 0xbffffffc 4 flags=stack
> 0 read 0x3000 4
> 0 write 0x3000 4
> 0 write 0xbffffff8 8 flags=stack
> 0 write 0xbffffff0 8 flags=stack
$ pugmark convert -q -t idt-exec calls.kt calls.trc; od -An -tx1 -w5 calls.trc
>  80 10 00 00 00
>  23 fc ff ff bf
>  13 e0 ff ff bf
>  22 fe ff ff bf
>  23 fc ff ff bf
>  13 00 30 00 00
>  23 00 30 00 00
>  90 20 10 00 00
>  23 fc ff ff bf
>  80 30 00 00 00
>  90 40 10 00 00
>  23 f4 ff ff bf
>  80 3c 00 00 00
$ pugmark convert -q calls.kt a.pug; pugmark convert -q a.pug b.kt; cmp b.kt calls.kt; pugmark convert -q -f idt-exec:binary=calls calls.trc c.pug; pugmark convert -q c.pug d.kt; cmp d.kt calls.kt; pugmark convert -q -t idt-exec c.pug d.trc; cmp d.trc calls.trc; pugmark dump c.pug | grep ' read \| write 0'
> 0 write 0xbfffffe0 32
> 0 read 0xbfffffe0 32
> 0 write 0xbffffff0 16
> 0 write 0xbffffffc 4
> 0 read 0x3000 4
> 0 write 0x3000 4
> 0 write 0xbffffff8 8
> 0 read 0x1040 4
> 0 write 0xbffffff0 8
# No entry has a mark of its own: some bytes, numbers or words in lines are not taken for a cache trace. Who knows names it.
$ head -c 5 "$TOP/README.md" >five; printf '1000\n2000\n3000\n4000\n5000\n' >numbers; printf '# \303\274b' >letters; printf '\042\001\002\003\004' >one
+ for f in five numbers letters one; do pugmark info $f 2>&1 | head -n 2; done; pugmark info -f idt-cache numbers | grep format
> pugmark: five: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
> pugmark: numbers: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
> pugmark: letters: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
> file            one
> format          idt-cache
> format          idt-cache
