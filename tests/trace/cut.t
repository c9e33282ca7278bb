# tests/trace/cut.t - a .pug that is cut, damaged, newer, or something else
$ head -c 700 $TESTS/data/blocks.pug >cut.pug; pugmark info cut.pug
> file            cut.pug
> format          pug
> bytes           700
> contents        instruction boundaries, data addresses, access sizes, branch
>                 outcomes, basic blocks
> traced:
>   tool          pugmark 0.1.0
>   level         default
> complete        no
> reason          the trace is cut here, after 400 instructions
> count:
>   instructions  400
>   events        132
>   kinds:
>     block       48
>     read        84
>   streams:
>     stream      0
>     pid         1
>     tid         1
>     name        x
>     instructions 400
>     events      132
>     kinds:
>       block     48
>       read      84
> bits_per_insn   14.000
! pugmark: cut.pug:0x292: the trace is cut here, after 400 instructions
? 1
$ head -c -10 $TESTS/data/blocks.pug >cut.pug; pugmark verify cut.pug
> of a part of the trace: what stands before an error
> 400 instructions
>   flow     not applicable
>   block    good: 48 looked at
>   slot     good: 84 looked at
>   size     good: 84 looked at
>   map      not applicable
>   rep      not applicable
>   code     not applicable
>   branch   not applicable
>   calls    not applicable
>   time     not applicable
>   exit     not applicable
>   bus      not applicable
>   uop      not applicable
! pugmark: cut.pug:0x342: the trace is cut here, after 400 instructions
? 1
$ pugmark dump cut.pug | wc -l
> 531
! pugmark: cut.pug:0x342: the trace is cut here, after 400 instructions
$ head -c 20 $TESTS/data/blocks.pug >cut.pug; pugmark dump cut.pug
! pugmark: cut.pug:0x14: the trace is cut here, inside its header
? 1
$ printf '' >empty.pug; pugmark dump empty.pug
! pugmark: empty.pug: the input is empty
? 1
$ printf 'certainly no trace at all\n' >other.pug; pugmark dump -f pug other.pug
! pugmark: other.pug:0x0: not a .pug trace
? 1
$ cp $TESTS/data/blocks.pug bad.pug; printf X | dd of=bad.pug bs=1 seek=600 conv=notrunc status=none; pugmark verify bad.pug
! pugmark: bad.pug:0x16a: the record here has a wrong checksum
? 1
$ gzip -c $TESTS/data/blocks.pug | head -c 500 >cut.gz; pugmark dump cut.gz | wc -l
> 531
! pugmark: cut.gz:0x1f4: gzip data is cut here
# files of other formats that are cut inside a record or line are what they were; where says their reader
$ D=$TESTS/data/formats; check() { for n in 203 517 1003 2221; do head -c $n x >cut; [ $(wc -c <cut) = $n ] || echo short
+ pugmark info cut 2>/dev/null | grep -q "^format *$1$" || echo "$1 at $n"; done; }
+ for f in xdin lackey laplace-text laplace64 champsim cloudsuite drmemtrace gem5 kt64 idt-branch64 idt-cache64 \
+ oraclegeneral dramsim3 pinatrace; do pugmark convert -q -t $f $D/steps.drmemtrace x && check $f; done
+ for s in ex-byu6.tr:byu ex-byu12.tr:byu12 ex-dinero-b.bin:dinero-binary ex-cvp1.bin:cvp1 ex-sample.kt:kt; do
+ for i in $(seq 200); do cat $D/${s%:*}; done >x; check ${s#*:}; done
$ pugmark convert -q -t champsim $TESTS/data/formats/steps.drmemtrace x; head -c 1000 x >cut; pugmark convert -t xdin cut y
! pugmark: cut:0x3c0: expected 64 bytes of record, found 40
? 1
# a format that is only written: also where that is a directory
$ mkdir d; pugmark info -f ctf d
! pugmark: CTF traces can be written but not read
? 2
# Who passes over what was wanted by nobody finds the same cut, in front of the chunk that is not whole.
$ for n in 600 100000 105300; do head -c $n $TESTS/data/real.pug >cut.pug; pugmark info cut.pug 2>a >o; pugmark slice -t pug --from 1000M cut.pug part.pug 2>b; cmp a b && sed 's/.*after/after/' b; done
> after 0 instructions
> after 0 instructions
> after 200000 instructions
# A report of a trace that is cut says so; where there is nothing to report the error comes alone.
$ head -c 700 $TESTS/data/blocks.pug >cut.pug; for c in 'sim --cache l1d=1k' mix annotate verify; do pugmark $c cut.pug 2>&1 | sed -n '1p;$p'; done
> of a part of the trace: what stands before an error
> pugmark: cut.pug:0x292: the trace is cut here, after 400 instructions
> of a part of the trace: what stands before an error
> pugmark: cut.pug:0x292: the trace is cut here, after 400 instructions
> of a part of the trace: what stands before an error
> pugmark: cut.pug:0x292: the trace is cut here, after 400 instructions
> of a part of the trace: what stands before an error
> pugmark: cut.pug:0x292: the trace is cut here, after 400 instructions
$ head -c 600 $TESTS/data/real.pug >cut.pug; for c in 'sim --cache l1d=1k' 'sim -s objects' mix annotate verify; do pugmark $c cut.pug 2>&1; done
> pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
> pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
> pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
> pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
> pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
? 1
$ pugmark convert -q -t champsim $TESTS/data/formats/steps.drmemtrace x; head -c 1000 x >cut; pugmark info cut 2>/dev/null | grep complete
> complete        no
# So do its other forms: a member, a row, a line.
$ head -c 700 $TESTS/data/blocks.pug >cut.pug; for c in 'sim --cache l1d=1k' mix annotate; do pugmark $c -q --json j --csv c --html h cut.pug >/dev/null 2>&1; grep -E '"(complete|reason)"' j; sed -n 2,3p c; grep -o 'of a part of the trace: what stands before an error<' h; grep -o 'All numbers are of that part: [^<]*' h; done; pugmark verify --json - cut.pug 2>&1 | grep -E '"(complete|reason)"'; pugmark sim -q --cache l1d=1k --json - $TESTS/data/blocks.pug | grep -c '"complete"'
>   "complete": false,
>   "reason": "the trace is cut here, after 400 instructions",
> complete,false,
> reason,"the trace is cut here, after 400 instructions",
> of a part of the trace: what stands before an error<
> All numbers are of that part: the trace is cut here, after 400 instructions.
>   "complete": false,
>   "reason": "the trace is cut here, after 400 instructions",
> complete,false,
> reason,"the trace is cut here, after 400 instructions",
> of a part of the trace: what stands before an error<
> All numbers are of that part: the trace is cut here, after 400 instructions.
>   "complete": false,
>   "reason": "the trace is cut here, after 400 instructions",
> complete,false,
> reason,"the trace is cut here, after 400 instructions",
> of a part of the trace: what stands before an error<
> All numbers are of that part: the trace is cut here, after 400 instructions.
>   "complete": false,
>   "reason": "the trace is cut here, after 400 instructions",
> 0
? 1
