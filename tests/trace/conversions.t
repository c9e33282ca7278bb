# tests/trace/conversions.t - what becomes of a trace in another format, and how a refusal reads
$ cp -r $TESTS/data/formats d; pugmark convert -q -t xdin d/ex-byu6.tr -
> i 9fc38 8
> r a1234 4
> w a1230 1
$ pugmark convert -q -t byu-text d/xdin.xdin -
! pugmark: standard output: address 0x7fffe7ff048 needs more than 32 bits; BYU traces hold physical addresses of 32 bits, xdin, lackey or drmemtrace any
? 1
$ pugmark convert -q -t byu-text d/laplace.ref -
> 9a8b7c68 1f NC_D_READ
> 9a8b7c70 fe NC_D_READ
> 08048000 f8 NC_I_FETCH
$ pugmark convert -q -t lackey d/penn-compact.trace - | head -6
> I  0048d1de,4
> I  0048d1e2,7
>  L 7fffe7ff048,4
> I  0048d1e9,7
>  L 7fffe7ff088,4
> I  0048d1f0,3
$ pugmark convert d/penn-compact.trace c.champsim
! pugmark: note: ChampSim traces hold no micro-ops
$ od -An -tx1 -w16 -N64 c.champsim
>  de d1 48 00 00 00 00 00 00 00 10 00 19 00 00 00
>  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
> *
$ pugmark convert -q -t xdin d/ex-idt-exec.trc -
> i 8048100 2
> r 8049ff0 4
> i 8048102 2
> r 8049000 1
> w 804a000 1
> i 8048104 5
> w bffff7fc 4
$ pugmark convert -q -t lackey d/ex-idt-exec.trc -
> I  08048100,2
>  L 08049ff0,4
> I  08048102,2
>  L 08049000,1
>  S 0804a000,1
> I  08048104,5
>  S bffff7fc,4
$ pugmark convert -q -t idt-exec:blk=x.blk d/ex-idt-exec.trc x.trc && cmp x.trc d/ex-idt-exec.trc && cmp x.blk d/ex-idt-exec.blk
$ pugmark convert -q -t idt-exec d/ex-sample.kt k.trc && od -An -tx1 -w5 k.trc && od -An -tx1 k.blk
>  80 10 00 00 00
>  13 f0 9f 04 08
>  31 00 90 04 08
>  41 00 a0 04 08
>  50 00 00 00 00
>  90 00 84 04 08
>  23 fc f7 ff bf
>  01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
>  00 81 04 08 03 00 8b 00 02 01 a4 80 02 fe e8 00
>  05 02 00 00
$ pugmark convert -q -t idt-branch d/ex-sample.kt - | od -An -tx1
>  70 00 81 04 08 a0 e8 08 81 04 08
$ pugmark convert -q -t idt-cache:rep,line=32 d/ex-sample.kt - | od -An -tx1 -w5
>  60 00 81 04 08
>  13 f0 9f 04 08
>  31 00 90 04 08
>  41 00 a0 04 08
>  50 00 00 00 00
>  23 fc f7 ff bf
$ pugmark convert -q -t idt-cache d/ex-sample.kt - | od -An -tx1 -w5
>  60 00 81 04 08
>  13 f0 9f 04 08
>  11 00 90 04 08
>  21 00 a0 04 08
>  23 fc f7 ff bf
$ pugmark convert -q -t simpoint:interval=200 d/steps.drmemtrace - | cut -c1-40
> T:1:2 :2:26 :3:6 :4:36 :5:75 :6:16 :7:5 
> T:4:4 :5:10 :12:5 :13:3 :14:4 :15:4 :16:
> T:45:2 :46:13 :47:2 :48:3 :49:18 :50:2 :
> T:50:2 :57:3 :60:2 :61:9 :62:9 :63:4 :64
> T:73:3 :74:132 :75:42 :76:30 
$ pugmark convert -q -t dramsim3 d/lackey-34.txt - | head -3
> 0x1FFF000600 WRITE 0
> 0x1FFF000600 WRITE 1
> 0x1FFF000600 WRITE 2
$ pugmark convert -q -t ramulator:cpu d/ramulator.ramulator -
> 0 305419904 1287476928
> 0 903114496
$ pugmark convert -q -t oraclegeneral d/ramulator.ramulator - | od -An -tx1 -w24
>  00 00 00 00 5a d1 48 00 00 00 00 00 40 00 00 00 ff ff ff ff ff ff ff ff
>  01 00 00 00 5b f5 32 01 00 00 00 00 40 00 00 00 ff ff ff ff ff ff ff ff
>  02 00 00 00 bc 51 d7 00 00 00 00 00 40 00 00 00 ff ff ff ff ff ff ff ff
# address vectors: digits of the transaction's number
$ pugmark convert -q -f ramulator2:vector=2/2/8/65536/1024 -t xdin d/vector.ramulator2 -
! pugmark: d/vector.ramulator2:3: expected 'R N,N,N,N,N' or W, five or six numbers below their levels' sizes, found 'R 1,15,63,1048575,4095'
? 1
$ head -2 d/vector.ramulator2 >v2; pugmark convert -q -f ramulator2:vector=2/2/8/65536/1024 -t xdin v2 -
> r a00640800 40
> w 7ffffffc0 40
$ pugmark convert -q -f ramulator2:vector=2/2/8/65536/1024 v2 v.xdin && pugmark convert -q -t ramulator2:vector=2/2/8/65536/1024 v.xdin - | cmp - v2
$ pugmark convert -q -t ramulator2:vector=1/1/4/4/65536/1024 d/laplace.ref -
> R 0,0,0,0,39563,497
$ pugmark convert -q -t ramulator2:vector=1/2 d/laplace.ref -
! pugmark: vector=1/2: expected the sizes of 5 or 6 levels, as in 1/2/8/65536/1024
? 2
$ pugmark convert -q -t byu-text:b2a d/ex-byu12.tr -
> 0041f760 FETCH		 8	00	0	-1
> 05e78900 MEMREAD	 8	00	0	313
$ pugmark convert -q -t xdin d/ex-pixie32.bin - | head -3
> i 130 4
> r ff2f80 4
> i 134 4
# an execution trace with its program has instruction bytes and becomes micro-ops
$ (head -c 256 /dev/zero; printf '\213\003\363\244\350\367\002\000\000') >prog; pugmark convert -q -f idt-exec:binary=prog -t penn d/ex-idt-exec.trc -
> 1 8048100 -1 3 0 - - L 0 8049ff0 8048102 0 MOV LOAD
> 1 8048102 -1 6 44 - - L 0 8049000 8048104 0 MOVS LOAD
> 2 8048102 44 7 -1 - - S 0 804a000 8048104 0 MOVS STORE
> 3 8048102 6 -1 6 R - - 1 0 8048104 0 MOVS ADD_IMM
> 4 8048102 7 -1 7 R - - 1 0 8048104 0 MOVS ADD_IMM
> 5 8048102 1 -1 1 - - - 1 0 8048104 0 MOVS SUB_IMM
> 1 8048104 -1 -1 44 - - - 0 0 8048109 0 CALL SAVE_PC
> 2 8048104 4 -1 4 - - - 4 0 8048109 0 CALL SUB_IMM
> 3 8048104 44 4 -1 - - S 0 bffff7fc 8048109 0 CALL STORE
> 4 8048104 -1 -1 -1 - T - 759 0 8048109 8048400 CALL JMP_IMM
$ pugmark convert -q -t penn d/ex-idt-exec.trc -
! pugmark: IDtrace traces (idt-exec) hold no micro-ops; writing Penn traces needs them (`pugmark run --exec` traces them)
? 1
# the same trace in 64 bits and back
$ pugmark convert -q -f idt-exec:binary=prog -t kt d/ex-idt-exec.trc e.kt && od -An -tx1 e.kt
>  00 81 04 08 12 8b 03 00 f0 9f 04 08 02 81 04 08
>  22 f3 a4 00 00 90 04 08 00 a0 04 08 04 81 04 08
>  25 e8 f7 02 00 00 00 00 00 84 04 08 fc f7 ff bf
$ pugmark convert -q -f idt-exec:binary=prog -t idt-exec64 d/ex-idt-exec.trc e.trc64 && od -An -tx1 -w9 e.trc64 && od -An -tx1 e.blk64
>  80 20 00 00 00 00 00 00 00
>  13 f0 9f 04 08 00 00 00 00
>  31 00 90 04 08 00 00 00 00
>  41 00 a0 04 08 00 00 00 00
>  50 00 00 00 00 00 00 00 00
>  90 00 84 04 08 00 00 00 00
>  23 fc f7 ff bf 00 00 00 00
>  01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
>  00 00 00 00 00 00 00 00 49 44 54 36 34 00 00 00
>  00 81 04 08 00 00 00 00 03 00 8b 00 02 01 a4 80
>  02 fe e8 00 05 02 00 00
# what a trace does not say itself can stand beside it: the line size here
$ pugmark convert -q -t idt-cache:line=64,info d/ex-sample.kt i.trc && cat i.trc.info
> kind=cache
> line_size=64
> word=4
> rep=0
> tool=pugmark
$ gzip -k i.trc; pugmark dump i.trc.gz | grep line; pugmark dump -f idt-cache:line=32 i.trc | grep line
> 0 line 0x8048100 64
> 0 line 0x8048100 32
$ echo kind=branch >i.trc.info; pugmark dump i.trc
! pugmark: i.trc: its description 'i.trc.info' says that it is a trace of kind branch, not cache
? 1
$ echo line_size=48 >i.trc.info; pugmark dump i.trc
! pugmark: i.trc: its description 'i.trc.info': 1: expected kind=branch|cache|execution|profile, line_size=a power of two, word=4|8, rep=0|1, found 'line_size=48'
? 1
$ pugmark convert -q -t idt-cache:info d/ex-sample.kt -
! pugmark: standard output: info: a trace without a name has nothing beside it
? 1
# refusals
$ pugmark convert d/lackey-34.txt y.trace
! pugmark: lackey traces hold no micro-ops; writing Penn traces needs them (`pugmark run --exec` traces them)
? 1
$ pugmark convert -t champsim d/ex-byu6.tr x
! pugmark: x: writing ChampSim traces needs register numbers or instruction bytes, and the input holds neither (`pugmark run --exec` traces the bytes)
? 1
$ pugmark convert -t idt-branch d/lackey-34.txt x
! pugmark: x: writing IDtrace branch traces needs the branches' opcodes, and the input holds no instruction bytes (`pugmark run --exec` traces them)
? 1
$ pugmark convert -t cvp1 d/steps.drmemtrace x
! pugmark: drmemtrace traces hold no register numbers or register values; writing CVP-1 traces needs them (Spike logs hold them)
? 1
$ pugmark convert -t laplace-basic d/laplace.ref x
! pugmark: Laplace traces hold no canonical pages; writing Laplace basic merges needs them (`pugmark merge` makes them)
? 1
# a run's own events (mmap, exec...) are not those of Laplace's kernel
$ pugmark run -q --exec -o r.pug -- "$PROGRAMS/bare" >r.out; for o in 'run -t laplace-events -o y.kev -- /bin/true' 'convert r.pug y.kev' 'merge d/laplace.ref r.pug y.bm'; do pugmark $o || echo $?; done; test -e y.kev || echo none
> 1
> 1
> 1
> none
! pugmark: y.kev: a traced process's system calls and mappings are no kernel events of Laplace; those come from a kernel that is traced as a whole
! pugmark: y.kev: a traced process's system calls and mappings are no kernel events of Laplace; those come from a kernel that is traced as a whole
! pugmark: r.pug: pug traces hold no kernel events; EVENTS come second
$ pugmark convert -t laplace d/penn-compact.trace y.ref
! pugmark: y.ref: address 0x7fffe7ff048 needs more than 32 bits; write laplace64, whose records are 26 bytes, or laplace-text
? 1
$ pugmark convert -t idt-cache d/steps.drmemtrace y.trc
! pugmark: y.trc: address 0x7fffffffe798 needs more than 32 bits; write idt-cache64, whose entries are 64 bits wide
? 1
$ pugmark convert -t penn:wide d/penn-compact.trace y.trace
! pugmark: unknown format option 'wide', expected dialect compact aligned
? 2
$ test -e y.trace || test -e y.ref || test -e y.trc || echo nothing half-written is left
> nothing half-written is left
# what is dropped is said
$ pugmark convert d/penn-compact.trace x.din
! pugmark: note: din traces hold no branch outcomes, register numbers and micro-ops
! pugmark: note: events discarded: 2 branch, 15 uop
# compressed in and out
$ pugmark convert d/lackey-34.txt l.lackey.gz && pugmark convert l.lackey.gz l.lackey.zst && pugmark convert l.lackey.zst l.lackey && cmp l.lackey d/lackey-34.txt
# behind a cache there are lines, which are cacheable, and write-backs; what a store sends on is a write of its own size
$ printf 'I  00001000,4\n S 00002004,4\nI  00001004,4\n L 00003004,4\n L 00003018,4\nI  00001100,2\n' >c.lackey; for c in 'l1i=64,1way,32;l1d=64,1way,32,wb' 'l1i=64,1way,32;l1d=64,1way,32,wt'; do pugmark convert -q --filter "$c" -t byu-text c.lackey -; pugmark convert -q --filter "$c" -t byu12 c.lackey - | pugmark convert -q -f byu12 -t byu - - | pugmark convert -q -f byu -t byu-text - -; done
> 00001000 00 I_FETCH
> 00002000 00 D_READ
> 00003000 00 D_READ
> 00002000 00 WRITE_BACK
> 00001100 00 I_FETCH
> 00001000 00 I_FETCH
> 00002000 00 D_READ
> 00003000 00 D_READ
> 00002000 00 WRITE_BACK
> 00001100 00 I_FETCH
> 00001000 00 I_FETCH
> 00002000 00 D_READ
> 00002000 0f D_WRITE
> 00003000 00 D_READ
> 00001100 00 I_FETCH
> 00001000 00 I_FETCH
> 00002000 00 D_READ
> 00002000 0f D_WRITE
> 00003000 00 D_READ
> 00001100 00 I_FETCH
# Dinero IV reads words of a din trace: the addresses without their last two bits
$ printf '2 1001 x\n0 2003\n1 2ffe\n5 1003\n' >w.din; pugmark convert -q -f din:words -t xdin w.din - 2>&1; pugmark convert -q -t xdin w.din - | awk '{ print $2 }'; pugmark info -f xdin:words w.din
> i 1000 4
> r 2000 4
> w 2ffc 4
> v 1000 4
> 1001
> 2003
> 2ffe
> 1003
! pugmark: unknown format option 'words', expected none
? 2
# What a format needs may be in the trace, and not behind caches: no advice to trace it.
$ pugmark convert --filter l1d=1k,1way,64 -t gem5 $TESTS/data/real.pug o.gem5 || ls o.gem5 2>/dev/null
! pugmark: --filter lets references through, without instruction boundaries, which writing gem5 traces needs
? 2
