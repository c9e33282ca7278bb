# KT's records of mappings are `frame` events, and are written of these: byte by byte what the format is.
$ cp $TESTS/data/formats/ex-sample.kt .; pugmark dump ex-sample.kt | grep -v opaque | head -n 3; pugmark convert -q ex-sample.kt s.kt64 && od -An -tx1 s.kt64
> 0 switch 0x0 - space=0x4d
> 0 frame 0x8048000 4096 frame=0x1a2
> 0 insn 0x8048100 2 bytes=8b03
>  4d 00 00 00 00 00 00 00 80 00 00 00 00 00 00 00
>  a2 01 00 00 00 00 00 00 81 80 04 08 00 00 00 00
>  00 81 04 08 00 00 00 00 12 8b 03 00 00 00 00 00
>  f0 9f 04 08 00 00 00 00 02 81 04 08 00 00 00 00
>  22 f3 a4 00 00 00 00 00 00 90 04 08 00 00 00 00
>  00 a0 04 08 00 00 00 00 04 81 04 08 00 00 00 00
>  25 e8 f7 02 00 00 00 00 00 84 04 08 00 00 00 00
>  fc f7 ff bf 00 00 00 00
# One inside of an instruction: between a branch and where it goes, between iterations, behind the last record. The branch is
# still known, the rep instruction is one, and the record stands where it stood.
$ b() { for x; do printf "\\$(printf %o 0x$x)"; done; }; { b 07 00 00 00 80 00 00 00 23 01 00 00 81 10 00 00  00 10 00 00 12 74 0e 00 10 10 00 00  24 01 00 00 81 20 00 00  10 10 00 00 22 f3 a4 00 ff 2f 00 00 ff 3f 00 00  05 00 00 00 81 30 00 00 06 00 00 00 81 40 00 00  10 10 00 00 22 f3 a4 00 00 30 00 00 00 40 00 00  12 10 00 00 01 90 00 00  ff ff ff ff 81 f0 ff ff; } >in.kt; pugmark dump in.kt | grep -v opaque
> 0 switch 0x0 - space=0x7
> 0 frame 0x1000 4096 frame=0x123
> 0 insn 0x1000 2 bytes=740e
> 0 frame 0x2000 4096 frame=0x124
> 0 branch 0x1000 2 target=0x1010 flags=taken,cond
> 0 insn 0x1010 2 bytes=f3a4
> 0 rep-iter 0x1010 -
> 0 read 0x2fff 1
> 0 write 0x3fff 1
> 0 frame 0x3000 4096 frame=0x5
> 0 frame 0x4000 4096 frame=0x6
> 0 rep-iter 0x1010 -
> 0 read 0x3000 1
> 0 write 0x4000 1
> 0 rep-end 0x1010 - n=2
> 0 insn 0x1012 1 bytes=90
> 0 frame 0xfffff000 4096 frame=0xffffffff
$ pugmark convert -q in.kt in.kt64 && od -An -tx1 in.kt64; pugmark convert -q in.kt same.kt && cmp in.kt same.kt
>  07 00 00 00 00 00 00 00 80 00 00 00 00 00 00 00
>  23 01 00 00 00 00 00 00 81 10 00 00 00 00 00 00
>  00 10 00 00 00 00 00 00 12 74 0e 00 00 00 00 00
>  10 10 00 00 00 00 00 00 24 01 00 00 00 00 00 00
>  81 20 00 00 00 00 00 00 10 10 00 00 00 00 00 00
>  22 f3 a4 00 00 00 00 00 ff 2f 00 00 00 00 00 00
>  ff 3f 00 00 00 00 00 00 05 00 00 00 00 00 00 00
>  81 30 00 00 00 00 00 00 06 00 00 00 00 00 00 00
>  81 40 00 00 00 00 00 00 10 10 00 00 00 00 00 00
>  22 f3 a4 00 00 00 00 00 00 30 00 00 00 00 00 00
>  00 40 00 00 00 00 00 00 12 10 00 00 00 00 00 00
>  01 90 00 00 00 00 00 00 ff ff ff ff 00 00 00 00
>  81 f0 ff ff 00 00 00 00
# By way of a .pug, there and back.
$ pugmark convert -q in.kt64 a.pug && pugmark convert -q -t kt64 a.pug b.kt64 && cmp in.kt64 b.kt64; pugmark convert -q in.kt c.pug && pugmark convert -q c.pug d.kt64 && cmp in.kt64 d.kt64 && pugmark convert -q d.kt64 d.pug && for t in c d; do pugmark dump $t.pug | grep -v opaque >$t; done; cmp c d && grep -c frame d
> 5
$ pugmark verify in.kt64 | tail -n 1
> in.kt64: good
# What is kept behind caches, and what other formats say.
$ pugmark convert -q --filter l1d=1k,2way,64 a.pug f.pug && pugmark dump f.pug | grep -c frame; pugmark convert a.pug a.din 2>&1 | grep -o '[0-9]* frame[a-z]*'; pugmark convert -q -t ctf a.pug ctf && grep -c 'name = "frame"' ctf/metadata
> 5
> 5 frame
> 1
# No page; more than 32 bits.
$ b() { for x; do printf "\\$(printf %o 0x$x)"; done; }; b 23 01 00 00 81 11 00 00 >no.kt; pugmark dump -f kt no.kt; b 00 00 00 00 01 00 00 00  81 10 00 00 00 00 00 00 >far.kt64; pugmark dump -f kt64 far.kt64 | grep frame; pugmark convert -f kt64 far.kt64 far.kt
> 0 opaque - 3 flags=write value=0x3 bytes=6b7400
> 0 frame 0x1000 4096 frame=0x100000000
! pugmark: no.kt:0x4: expected the address of a page of 4096 bytes, found one that ends in 0x1100
! pugmark: far.kt: address 0x100000000 needs more than 32 bits; write kt64, whose records are 64 bits wide
? 1
