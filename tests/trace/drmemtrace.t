# tests/trace/drmemtrace.t - DynamoRIO's traces as they are found: versions, widths, directories, made-up instructions
# entries: WIDTH TYPE SIZE ADDRESS...
$ cat >entries <<'E'
+ #!/usr/bin/perl
+ my $w = shift; print pack $w == 12 ? "(v v Q<)*" : "(v v V)*", map { hex } @ARGV;
+ E
+ chmod +x entries; cat >insns <<'E'
+ pugmark dump $1 | awk '$2 != "opaque" && $2 != "time"' | sed '/ insn /s/ flags=[a-z,]*//'
+ E
+ chmod +x insns
# version 1, also under a name of another format; a header of which there is no such version
$ ./entries 12 19 0 1 16 4 5 18 4 5 a 2 1000 0 8 7000 a 1 1002 17 4 5 1a 0 0 >v1.trace; pugmark info v1.trace | grep format; sh insns v1.trace
> format          drmemtrace
> 0 insn 0x1000 2
> 0 read 0x7000 8
> 0 insn 0x1002 1
$ ./entries 12 19 0 8 1c c 8 16 4 5 18 4 5 >v8; pugmark info -f drmemtrace v8
! pugmark: v8:0x4: expected version 1..7, found 8
? 1
# entries of 8 bytes, from a 32-bit DynamoRIO: bytes in fours, inc is no prefix; it comes back byte for byte
$ ./entries 8 19 0 7 1c c 7 1c 9 220 16 4 5 18 4 5 1c a 40 1c 12 1000 1c 2 100 1c 3 0 2f 4 04244483 2f 1 1 a 5 8000 0 4 7004 1 4 7004 2f 1 40 a 1 8005 17 4 5 1a 0 0 >n; sh insns n; pugmark convert -q -t drmemtrace n o && cmp n o
> 0 insn 0x8000 5 bytes=8344240401
> 0 read 0x7004 4
> 0 write 0x7004 4 value=0x1
> 0 insn 0x8005 1 bytes=40
# prefetches of newer versions are references; a branch before a signal led to where the signal came, and the handler returns there
$ ./entries 12 19 0 7 1c c 7 1c 9 40 16 4 5 18 4 5 a 4 1000 20 1 9000 30 2 1004 1c 0 1010 a 1 5000 1c 1d 6000 10 1 5001 0 8 7000 a 2 6000 1c 19 f 1c 1 6002 a 1 1010 17 4 5 1a 0 0 >s; sh insns s
> 0 insn 0x1000 4
> 0 read 0x9000 1 value=0x20 flags=prefetch
> 0 insn 0x1004 2
> 0 branch 0x1004 2 target=0x1010 flags=taken,cond
> 0 signal 0x1010 - signal=0
> 0 insn 0x5000 1
> 0 insn 0x5001 1
> 0 read 0x7000 8
> 0 branch 0x5001 1 target=0x6000 flags=taken,indirect,ret
> 0 insn 0x6000 2
> 0 syscall 0x0 - number=15
> 0 sigreturn 0x1010 -
> 0 insn 0x1010 1
# a filtered trace has holes: nothing is said of branches
$ ./entries 12 19 0 7 1c c 7 1c 9 c0 16 4 5 18 4 5 d 2 1000 a 2 9000 17 4 5 1a 0 0 >f; sh insns f; env -u PUGMARK_COLUMNS pugmark info f | grep contents
> 0 insn 0x1000 2
> 0 insn 0x9000 2
> contents        instruction boundaries, data addresses, access sizes, timestamps, threads
# bundles of instructions are in traces that go straight to a simulator
$ ./entries 12 19 0 7 1c c 7 1c 9 40 16 4 5 18 4 5 a 2 1000 11 2 0201 17 4 5 1a 0 0 >b; pugmark convert -q b x.pug
! pugmark: b:0x48: entry type 17 is only in traces on the way to a simulator, not in off-line traces
? 1
# REGDEPS: registers instead of bytes, which are another number than the instruction has. The two encodings are
# DynamoRIO's own examples: mov, and a lock cmpxchg
$ ./entries 12 19 0 7 1c c 7 1c 9 20200 16 4 5 18 4 5 2f 8 0006090600010011 a 3 1000 2f 8 0402020400001931 2f 4 26 a 5 1003 0 4 7000 1 4 7000 a 3 1000 17 4 5 1a 0 0 >r; sh insns r; env -u PUGMARK_COLUMNS pugmark info r | grep contents; pugmark convert -q -t drmemtrace r o && cmp r o
> 0 insn 0x1000 3
> 0 reg-read - 0 reg=774
> 0 reg-write - 0 reg=777
> 0 insn 0x1003 5
> 0 reg-read - 0 reg=770
> 0 reg-read - 0 reg=772
> 0 reg-read - 0 reg=806
> 0 reg-write - 0 reg=770
> 0 read 0x7000 4
> 0 write 0x7000 4 value=0x1
> 0 insn 0x1000 3
> 0 reg-read - 0 reg=774
> 0 reg-write - 0 reg=777
> contents        instruction boundaries, data addresses, access sizes, branch outcomes, register numbers, timestamps, threads
$ ./entries 12 19 0 7 1c c 7 1c 9 20200 16 4 5 18 4 5 2f 4 11 a 3 1000 17 4 5 1a 0 0 >r2; pugmark convert -q r2 x.pug
! pugmark: r2:0x48: an encoding of registers that makes no sense
? 1
# a directory, with DynamoRIO's own files beside it: a file for each thread, taking turns by their times; packed or not. Two
# processes have other code at one address.
$ mkdir -p D/trace D/raw; echo x >D/raw/modules.log; echo x >D/trace/serial_schedule.bin
+ ./entries 12 19 0 7 1c c 7 1c 9 240 16 4 5 18 4 5 1c 2 100 1c 3 0 2f 1 90 a 1 1000 1c 2 300 1c 3 0 a 1 1000 17 4 5 1a 0 0 >D/trace/drmemtrace.a.5.1.trace
+ ./entries 12 19 0 7 1c c 7 1c 9 240 16 4 6 18 4 6 1c 2 200 1c 3 0 2f 2 d231 a 2 1000 1c 2 400 1c 3 0 a 2 1000 17 4 6 1a 0 0 | gzip >D/trace/drmemtrace.b.6.1.trace.gz
+ for d in D D/trace; do sh insns $d; done; pugmark info D | grep -E '^ +(stream|[pt]id|instructions)'
> 0 insn 0x1000 1 bytes=90
> 1 insn 0x1000 2 bytes=31d2
> 0 insn 0x1000 1 bytes=90
> 1 insn 0x1000 2 bytes=31d2
> 0 insn 0x1000 1 bytes=90
> 1 insn 0x1000 2 bytes=31d2
> 0 insn 0x1000 1 bytes=90
> 1 insn 0x1000 2 bytes=31d2
>   instructions  4
>   streams:
>     stream      0
>     pid         5
>     tid         5
>     instructions 2
>     stream      1
>     pid         6
>     tid         6
>     instructions 2
# from a directory to a directory it comes back byte for byte; into one file it does not go with another thread's header
$ gunzip D/trace/*.gz; pugmark convert -q D -t drmemtrace:dir E && diff -r D/trace E; pugmark convert -q D o.drmemtrace; sh insns o.drmemtrace
> Only in D/trace: serial_schedule.bin
> 0 insn 0x1000 1 bytes=90
> 0 insn 0x1000 1 bytes=90
> 1 insn 0x1000 2 bytes=31d2
> 1 insn 0x1000 2 bytes=31d2
# a name that ends in / is a directory, too; what is there already is not mixed with it; a directory without traces is none
$ pugmark convert -q D F/ -t drmemtrace && ls F; pugmark convert -q D -t drmemtrace F/
> drmemtrace.a.5.1.trace
> drmemtrace.b.6.1.trace
! pugmark: F/: this directory has a drmemtrace trace already, whose files would be mixed with the new ones
? 1
$ mkdir G; pugmark info G; pugmark info -f drmemtrace G
! pugmark: G: is a directory
! pugmark: G: no drmemtrace files are in this directory
? 1
# damage in one of the files
$ head -c 130 D/trace/drmemtrace.b.6.1.trace >G/x; pugmark convert -q G x.pug
! pugmark: G:0x78: x: expected 12 bytes of entry, found 10
? 1
$ test -e x.pug || echo none
> none
# one file per core: threads change in it
$ ./entries 12 19 0 7 1c c 7 1c 9 10040 16 4 5 18 4 5 1c 2 100 1c 3 0 a 1 1000 16 4 6 18 4 6 a 2 2000 16 4 5 18 4 5 a 1 1001 17 4 5 1a 0 0 >c; sh insns c
> 0 insn 0x1000 1
> 1 insn 0x2000 2
> 0 insn 0x1001 1
