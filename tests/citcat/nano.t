# nano.t - CITCAT from end to end: what a monitor saw becomes the whole instruction trace again
# needs: mipsel-linux-gnu-gcc
# But for those from snapshots they have little memory: a replay that looks at 64 MB of it spends its time with that.
# How many of what there are depends on the compiler that made the guest: counted here from what the machine itself wrote.
$ cat >expect <<'END'
+ # expect CAT TRUTH: what verify says if all is equal. The bus records are those behind the store that begins the trace.
+ records=$(pugmark dump -f cat:words $1 | awk '$2 == "bus" { n += on; if ($3 == "0x1f030024") on = 1 } END { print n + 0 }')
+ pugmark dump $2 | awk -v records=$records '$2 == "insn" { n++ } $2 == "interrupt" && $5 == "vector=0" { i++ }
+ 	END { printf "0 differences in %d bus records; %d instructions, %d interrupts\n", records, n, i; if (n < 900000 || i < 300) print "few" }'
+ END
$ cat >verify <<'END'
+ # verify CAT TRUTH [OPTION...]
+ sh expect $1 $2 >want; cat=$1; shift 2
+ pugmark citcat verify $cat "$@" | diff want - && echo as expected
+ END
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --exec-trace truth.pug
$ sh verify n.cat truth.pug
> as expected
# Words of memory: what the bus has seen read before it was written. Reads of the processor's registers: mfc0. I/O: what is not
# the monitor's window. DMA: the disk's.
$ pugmark dump -f cat:words n.cat | awk 'on && $2 == "bus" { if (!seen[$3]++ && $5 ~ /=[01]$/) words++; if ($5 == "type=5" || ($5 == "type=6" && $3 !~ /^0x1f03/)) io++; if ($8 == "agent=1") dma++ } $2 == "bus" && $3 == "0x1f030024" { on = 1 } END { print words, io, dma }' >counts
+ pugmark dump truth.pug | awk '$2 == "interrupt" && $5 == "vector=0" { i++ } $NF ~ /^bytes=0048[01].40$/ { count++ } $NF ~ /^bytes=0068[01].40$/ { cause++ } END { print i, count, cause }' >>counts
+ echo $(cat counts) | { read words io dma interrupts count cause; echo "$words words of memory; $interrupts interrupts, $count Count reads, $cause Cause reads in N runs, $io I/O words, $dma DMA records"; } >extracts
+ pugmark citcat extract n.cat | sed 's/ in [0-9]* runs/ in N runs/' | diff extracts - && echo as expected
> as expected
# the regenerated trace is the one that the machine wrote itself
$ pugmark citcat replay n.ims -o again.pug 2>/dev/null; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt; tail -1 truth.txt
> 0 write 0xffffffffbf030028 4
# both in one packed file, which is a trace wherever one is read
$ pugmark citcat extract n.cat -o n.cit >/dev/null; pugmark citcat replay n.cit -o again.pug 2>/dev/null; pugmark dump again.pug | cmp - truth.txt; pugmark dump n.cit | cmp - truth.txt; pugmark sim -q -s cache n.cit >a; pugmark sim -q -s cache again.pug | diff a - && test $(wc -c <n.cit) -lt $(($(wc -c <again.pug) / 2)) && pugmark info n.cit 2>/dev/null | grep -c '^    insn '
> 1
$ head -c 3000 n.cit >cut.cit; pugmark citcat replay cut.cit
! pugmark: cut.cit:0x10: zstd data is damaged: Src size is incorrect
? 1
$ pugmark citcat extract n.cat -o n.cit --ims x 2>&1 | tail -1
> pugmark: -o has both in one file: it excludes --ims and --aes (see `pugmark citcat extract --help`)
# replay knows nothing but the two files
$ mkdir alone; cp n.ims n.aes alone; cd alone; pugmark citcat replay n.ims n.aes -o a.din 2>/dev/null; ls
> a.din
> n.aes
> n.ims
# the processor reports beside the bus: an unmodified guest, from power-on
$ pugmark machine run -q --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat s.cat --sideband --exec-trace truth.pug; sh expect s.cat truth.pug | sed 's/ in .*;/;/' >want; pugmark citcat verify s.cat | sed 's/ in .*;/;/' | diff want - && echo as expected
> as expected
$ pugmark citcat extract s.cat >/dev/null; pugmark citcat replay s.ims -o again.pug 2>/dev/null; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt
# from a snapshot in the middle, where the caches were warm; the saved branch count and registers are not those of power-on
$ for cpu in r4400 r4400,line=16,l2=128k; do pugmark machine run -q --cpu $cpu --elf $TOP/build/guest/nano.elf --disk disk.img --limit 500001 --save at.snap; pugmark machine run -q --disk disk.img --load at.snap --cat w.cat --sideband --exec-trace truth.pug; pugmark citcat verify w.cat | sed 's/ in .*//'; pugmark citcat extract w.cat >/dev/null; pugmark citcat replay w.ims -o again.pug 2>/dev/null; pugmark dump truth.pug | grep -v " time " >truth.txt; grep -c ' insn ' truth.txt | awk '{ print ($1 > 500000) }'; pugmark dump again.pug | cmp - truth.txt; done
> 0 differences
> 1
> 0 differences
> 1
# big-endian, with 16-byte lines too; verify writes the same trace
$ pugmark machine run -q --cpu r4400,endian=big --ram 1M --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat --exec-trace truth.pug; sh verify be.cat truth.pug -o again.pug; pugmark dump truth.pug | grep -v " time " >truth.txt; pugmark dump again.pug | cmp - truth.txt
> as expected
$ pugmark machine run -q --cpu r4400,endian=big,line=16,l2=256k --ram 1M --elf $TOP/build/guest/nano-be.elf --disk disk.img --cat be.cat --exec-trace truth.pug; sh verify be.cat truth.pug
> as expected
# caches disabled: everything is on the bus
$ pugmark machine run -q --cpu r4400,caches=off --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat off.cat --exec-trace truth.pug; sh verify off.cat truth.pug
> as expected
# simulators take the events as they are regenerated, or live from the machine; address spaces are told apart
$ pugmark machine run -q --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --sim count >live; pugmark machine run -q --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --exec-trace truth.pug
+ pugmark dump truth.pug >truth.all; grep -v " time " truth.all >truth.txt
+ kinds() { awk '{ n[$2]++ } END { printf "instructions %d instructions\nevents %d events\n", n["insn"], NR; for (k in n) print k, n[k]; print "0 cpu", n["insn"], NR }' | sort; }
+ told() { tr -d , | awk 'on && /[0-9]/ { $1 = $1; print } $1 == "count" { on = 1 }' | sort; }
+ kinds <truth.all >want; told <live | diff want - && grep -c . want; sed -n '/^count/p; / kinds$/p' live
> 10
> count
>                     kinds
> count streams
$ pugmark citcat extract n.cat >/dev/null; pugmark citcat replay n.ims --sim count 2>/dev/null >replayed; kinds() { awk '{ n[$2]++ } END { printf "instructions %d instructions\nevents %d events\n", n["insn"], NR; for (k in n) print k, n[k]; print "0 cpu", n["insn"], NR }' | sort; }
+ told() { tr -d , | awk 'on && /[0-9]/ { $1 = $1; print } $1 == "count" { on = 1 }' | sort; }
+ kinds <truth.txt >want; told <replayed | diff want - && grep -c . want
> 9
# Numbers alone are the processor's own; beside a sink that wants events they are those of the events. Both, of all variants of the processor.
$ counted() { pugmark "$@" --json - | grep -v -e cpu_seconds -e mips -e schema; }
+ both() { counted "$@" -s count >numbers; counted "$@" -s count -s discard >events; cmp numbers events && sed -n 's/^ *"\(insn\|read\|write\|branch\|interrupt\|time\)": [1-9].*/\1/p' numbers | sort -u | tr '\n' ' '; echo; }
+ both citcat replay n.ims; both citcat replay n.ims -n 654321
+ for cpu in r4400 r4400,line=16 r4400,caches=off r4400,l2=128k; do both machine run -q --cpu $cpu --elf $TOP/build/guest/nano.elf --disk disk.img; done
+ both machine run -q --cpu r4400,endian=big --elf $TOP/build/guest/nano-be.elf --disk disk.img -n 777777; both machine run -q --disk disk.img --load at.snap
> branch insn interrupt read write 
> branch insn interrupt read write 
> branch insn interrupt read time write 
> branch insn interrupt read time write 
> branch insn interrupt read time write 
> branch insn interrupt read time write 
> branch insn interrupt read time write 
> branch insn interrupt read time write 
$ pugmark citcat replay n.ims -t text:x 2>&1 | head -1; pugmark citcat replay n.ims -o warm.pug --warmup 900000 2>/dev/null; pugmark dump warm.pug | head -1; grep ' insn ' truth.txt | tail -n +900001 >rest; pugmark dump warm.pug | grep ' insn ' | cmp - rest && awk 'END { print (NR > 10000) }' rest
> pugmark: 'text' is not a format (see `pugmark formats`)
> 0 switch 0x0 - space=0x1
> 1
$ sh expect n.cat truth.pug | { read no differences in records rest; pugmark citcat verify n.cat --json - | head -4 | sed "s/: $records,/: RECORDS,/"; }
> {
>   "schema": {"name": "pugmark.citcat-verify", "version": 1},
>   "differences": 0,
>   "compared": RECORDS,
$ tr ',;' '\n\n' <extracts | awk '{ print $1 }' | sort >numbers; pugmark citcat extract n.cat --json - | sed -n 's/^  "\([a-z_]*\)": \([0-9]*\),*$/\1 \2/p' >json; awk '{ print $2 }' json | sort | comm -23 numbers -; head -n 3 json | sed 's/ .*//'
> memory
> interrupts
> count_reads
# 16-byte lines; a secondary cache
$ pugmark machine run -q --cpu r4400,line=16 --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat l.cat --exec-trace l.pug; sh verify l.cat l.pug
> as expected
$ pugmark machine run -q --cpu r4400,l2=128k --ram 1M --elf $TOP/build/guest/nano.elf --disk disk.img --cat l2.cat; pugmark citcat verify l2.cat | sed 's/ in .*//'
> 0 differences
# a trace that was cut off replays up to the cut, also where it is in a report of an interrupt, or between it and the interrupt
$ head -c 100000 n.cat >cut.cat; pugmark citcat verify cut.cat | sed 's/ in .*//'
> 0 differences
$ cat >cuts <<'END'
+ # cuts CAT: around the beginning of the 20th report
+ head -c 64 $1 >head; tail -c +65 $1 | zstd -dcq >records
+ at=$(od -An -v -tx1 -w16 records | awk '($1 == "05" || $1 == "0a") && $9 $10 $11 $12 == "1f030024" { go = 1 } go && $9 $10 $11 $12 == "1f030000" && ++n == 20 { print NR - 1; exit }')
+ for n in $(seq $((at - 20)) $((at + 12))); do { cat head; head -c $((16 * n)) records | zstd -cq1 --check; } >cut.cat; pugmark citcat verify cut.cat; done 2>&1 | sed 's/ in .*//' | sort | uniq -c | tr -s ' '
+ END
$ sh cuts n.cat; sh cuts s.cat
>  33 0 differences
>  33 0 differences
# a flipped bit anywhere is one error
$ pugmark citcat extract n.cat >/dev/null; cat >flip <<'END'
+ # flip FILE BYTE: its lowest bit
+ v=$(od -An -tu1 -j $2 -N 1 $1); printf "\\$(printf %o $((v ^ 1)))" | dd of=$1 bs=1 seek=$2 conv=notrunc 2>/dev/null
+ END
$ for f in ims aes; do n=$(stat -c %s n.$f); for i in $(seq 0 14); do cp n.ims f.ims; cp n.aes f.aes; sh flip f.$f $((i * (n - 1) / 14)); pugmark citcat replay f.ims f.aes 2>&1 | grep -c '^pugmark: f'; done; done | sort | uniq -c
>      30 1
$ n=$(stat -c %s n.cat); for i in $(seq 0 14); do cp n.cat f.cat; sh flip f.cat $((i * (n - 1) / 14)); pugmark citcat verify f.cat 2>&1 | grep -c '0 differences'; done | sort | uniq -c
>      15 0
$ end() { printf 'f.%s:0x%x:' $1 $(($(stat -c %s n.$1) - 8)); }; cp n.ims f.ims; sh flip f.ims 1007; pugmark citcat replay f.ims n.aes 2>&1 | sed "s/$(end ims)/f.ims:SUM:/" >&2; cp n.aes f.aes; sh flip f.aes 1000; pugmark citcat replay n.ims f.aes 2>&1 | sed "s/$(end aes)/f.aes:SUM:/" >&2; cp n.cat f.cat; sh flip f.cat 50; pugmark citcat verify f.cat
! pugmark: f.ims:SUM: the checksum is wrong: the file is damaged or cut off
! pugmark: f.aes:SUM: the checksum is wrong: the file is damaged or cut off
! pugmark: f.cat:0x32: expected 0 in a reserved byte, found 0x01
? 1
# the state, the schedule and the bus trace are of one run
$ cat >identities <<'END'
+ id() { od -An -tx8 --endian=big -j $2 -N 8 $1 | tr -d ' '; }
+ "$@" 2>said; status=$?; sed "s/$(id s.ims 44)/S/; s/$(id n.aes 4)/N/" said >&2; exit $status
+ END
$ sh identities pugmark citcat replay s.ims n.aes
! pugmark: n.aes:0x4: it is not from the .cat that the .ims is from: its identity is N, that of the .ims is S
? 1
$ sh identities pugmark citcat verify --ims s.ims --aes s.aes n.cat
! pugmark: s.ims: it is not from this .cat: its identity is S, that of n.cat is N
? 1
# version 1 of .ims had neither sum nor identity: it is read, and a wrong word in it is found by what happens
$ (head -c 5 n.ims; printf 1; head -c 44 n.ims | tail -c +7; head -c 8 /dev/zero; head -c -392 n.ims | tail -c +53) >old.ims; sh verify n.cat truth.pug --ims old.ims --aes n.aes
> as expected
$ cp old.ims bad.ims; printf '\125' | dd of=bad.ims bs=1 seek=1007 conv=notrunc 2>/dev/null; word() { od -An -tx4 --endian=big -j $2 -N 4 $1 | tr -d ' '; }
+ record=$(pugmark dump -f cat:words n.cat | awk -v at=$((0x$(word n.ims 1000))) '$2 == "bus" { if ($3 == sprintf("0x%x", at)) { print n + 1; exit } n++ }')
+ pugmark citcat verify --ims bad.ims --aes n.aes n.cat 2>said; status=$?; sed "s/record $record /record N /; s/0x$(word n.ims 1000)/ADDRESS/g; s/0x$(word n.ims 1004)/RIGHT/; s/0x$(word bad.ims 1004)/WRONG/; s/branch count \([0-9]*\)\(;.*\) \1$/branch count B\2 B/" said >&2; exit $status
! pugmark: n.cat: record N differs: the trace has instruction fetch of 4 bytes, ADDRESS = RIGHT at branch count B; replay has instruction fetch of 4 bytes, ADDRESS = WRONG at branch count B
? 1
# ... the replay stands at an instruction of the machine's own trace
$ pugmark citcat verify --state --ims bad.ims --aes n.aes n.cat 2>&1 | sed -n '2,5p' >state; n=$(sed -n 's/replay stood at instruction \([0-9]*\), branch [0-9]*:/\1/p' state); pc=$(awk '$1 == "pc" { print $2 }' state); grep ' insn ' truth.txt | sed -n "$((n + 1))p" | awk -v pc="0x$pc" '{ print $3 == pc }'; awk '{ print $1 }' state
> 1
> replay
> pc
> in_delay
> tgt
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
! pugmark: n.aes:0x0: expected the magic "PMIMS2" or "PMCIT1", found something else
? 1
$ head -c 1000 n.aes >cut.aes; pugmark citcat replay n.ims cut.aes
! pugmark: cut.aes:0x3e0: the checksum is wrong: the file is damaged or cut off
? 1
# ... and a bus trace is said to be one, before a schedule of its name is looked for
$ pugmark citcat replay n.cat
! pugmark: n.cat: a bus trace: `pugmark citcat extract` makes the state and the schedule of it that are replayed
? 1
# no output is the input or another output, whatever it is called
$ mkdir same; cp n.cat same/w.cat; cd same; ln -s w.cat link; for o in '-o w.cat' '--ims ./w.cat' '--aes link' '--ims q --aes ./q' '--ims w.aes' '-o - --json -'; do pugmark citcat extract w.cat $o; echo $?; done; cmp w.cat ../n.cat; ls; pugmark citcat extract -q w.cat -o w.cit >/dev/null; pugmark citcat replay w.cit -o w.cit; pugmark citcat verify w.cat --json x -o x -t din; pugmark citcat stat w.cat --csv w.cat
> 2
> 2
> 2
> 2
> 2
> 2
> link
> w.cat
! pugmark: 'w.cat' is also the input: FILE.cat and --output (see `pugmark citcat extract --help`)
! pugmark: './w.cat' is also the input: FILE.cat and --ims (see `pugmark citcat extract --help`)
! pugmark: 'link' is also the input: FILE.cat and --aes (see `pugmark citcat extract --help`)
! pugmark: './q' is given twice: --ims and --aes (see `pugmark citcat extract --help`)
! pugmark: 'w.aes' is given twice: --ims and --aes (see `pugmark citcat extract --help`)
! pugmark: standard output is given twice: --output and --json (see `pugmark citcat extract --help`)
! pugmark: 'w.cit' is also the input: FILE and --output (see `pugmark citcat replay --help`)
! pugmark: 'x' is given twice: --output and --json (see `pugmark citcat verify --help`)
! pugmark: 'w.cat' is also the input: FILE.cat and --csv (see `pugmark citcat stat --help`)
? 2
# nothing else goes where the file goes; what comes from standard input has no name to begin with
$ pugmark citcat extract -q n.cat -o n.cit >/dev/null; pugmark citcat extract n.cat -o - 2>said | cmp - n.cit; grep -c 'words of memory' said; pugmark citcat extract -q n.cat -o - | cmp - n.cit; pugmark citcat extract -q -o - - <n.cat | cmp - n.cit; pugmark citcat replay n.ims -o - -t din -s count 2>said | awk '!/^[012] /'; grep -c '^count' said; pugmark citcat extract - <n.cat
> 1
> 2
! pugmark: standard input has no name that the files could have: give -o, or --ims and --aes (see `pugmark citcat extract --help`)
? 2
# a trace without an end is said to have none
$ head -c 100000 n.cat >cut.cat; for c in cut n; do pugmark citcat verify $c.cat | sed 's/.*interrupts//'; pugmark citcat verify $c.cat --json - | grep cut; pugmark citcat stat $c.cat | grep cut; done
> ; the trace has no end
>   "cut": true,
>   cut                        yes
>
>   "cut": false,
>   cut                        no
