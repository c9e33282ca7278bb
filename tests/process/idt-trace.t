# Traces of instrumented executables: the events are those of `pugmark run`, on the same program, with the
# same arguments and environment. (The names are equally long, as they are on the stack. What xsave and
# xrstor refer to is left out: instrumented programs tell of its legacy region and header only.)
$ cat >same <<'END'
+ # PROGRAM [ARG...]: is its execution trace the one that run writes, instruction by instruction? What a shell does with
+ # its process's number and the time of day takes more or fewer instructions: then another two runs are compared.
+ name=$1; shift; from=$PROGRAMS/$name; [ -x "$from" ] || from=$(command -v $name)
+ cp "$from" $name; cp $name $name.run; pugmark idt -e $name
+ for try in 1 2 3 4 5 6; do
+ 	env -i ./$name.idt "$@" >/dev/null 2>&1 </dev/null
+ 	env -i "$(command -v pugmark)" run --no-cache --no-follow --no-vdso --fix-random -q --exec -t idt-exec64 -o run.trc64 -- ./$name.run "$@" >/dev/null 2>&1 </dev/null
+ 	for t in $name run; do pugmark dump -f idt-exec64:modules=$name.mod $t.trc64 | grep -v opaque | awk '/ insn /{ x = /bytes=(4.)?0f(c7|ae)[2367ab]/; sub(/ bytes=.*/, "") } / insn / || !x' >$t.events; done
+ 	cmp -s $name.events run.events && break
+ done
+ cmp $name.events run.events && echo "$name: same events"
+ grep -c ' insn ' $name.events | awk '{ print ($1 > 1000 ? "thousands" : $1) }'
+ END
$ sh same exits 3
> exits: same events
> thousands
$ sh same args a b
> args: same events
> thousands
$ seq 1 300 | awk '{ print $1 * 7919 % 311 }' >in; sh same sort -S 1M -n in; sh same gzip -9c in; sh same bash -c 'for i in 1 2 3; do echo $((i * i)); done; f() { echo "${1/b/c}"; }; f abc'
> sort: same events
> thousands
> gzip: same events
> thousands
> bash: same events
> thousands
# Blocks that a fault stops: as far as they came, then the handler, then the rest.
$ sh same touches; sh same faults; sh same stops
> touches: same events
> thousands
> faults: same events
> thousands
> stops: same events
> thousands
$ for n in touches faults stops; do pugmark verify $n.trc64 | tail -n 1; done
> touches.trc64: good
> faults.trc64: good
> stops.trc64: good
$ pugmark convert -q -f idt-exec64 -t idt-exec64 stops.trc64 again.trc64 && cmp stops.trc64 again.trc64
# The other kinds have it in that order, too.
$ pugmark dump -f idt-exec64:modules=stops.mod stops.trc64 | awk '$2 == "read" || $2 == "write" { print $2, $3, $4 } $2 == "modify" { print "read", $3, $4; print "write", $3, $4 }' >want; pugmark idt -c -r stops; env -i ./stops.idt >/dev/null 2>&1 </dev/null; pugmark dump stops.trc64 | awk '$2 == "read" || $2 == "write" { print $2, $3, $4 }' | cmp - want
$ pugmark convert -q -f idt-exec64:modules=stops.mod -t idt-branch64 run.trc64 run.b; pugmark idt -b stops; env -i ./stops.idt >/dev/null 2>&1 </dev/null; for t in stops.trc64 run.b; do pugmark dump $t | awk '$2 == "branch" { print $3, $4 }' >$t.branches; done; cmp stops.trc64.branches run.b.branches
# Gathers and scatters: a reference for each element that the mask has.
$ if grep -q avx512f /proc/cpuinfo; then mkdir -p own && gcc -O1 -static -o own/lanes "$TESTS/process/lanes.c" && PATH=$PWD/own:$PATH sh same lanes; else printf 'lanes: same events\nthousands\n'; fi
> lanes: same events
> thousands
# Formats made from a .trc64 are those written live. (Without the lazy binding of functions: it uses xsave.) (And without a look at how much memory is free.)
$ env -i LD_BIND_NOW=1 ./sort.idt -S 1M -n in >/dev/null; for t in champsim din penn; do env -i LD_BIND_NOW=1 "$(command -v pugmark)" run --no-cache --no-follow --no-vdso --fix-random -q --exec -t $t -o live -- ./sort.run -S 1M -n in >/dev/null 2>&1; pugmark convert -q -f idt-exec64:modules=sort.mod -t $t sort.trc64 made; cmp live made && [ -s made ] && echo $t; done
> champsim
> din
> penn
# The other kinds hold parts of it.
$ cp $PROGRAMS/bare .; for k in -e -b '-c -r' -c '-l 64' '-e -t'; do rm -f bare.trc64 bare.cnt64; pugmark idt $k bare; ./bare.idt; pugmark vcount --json - bare | grep -c '"instructions": 30'; pugmark idtinfo bare | head -n 1; wc -c <bare.trc64; mv bare.trc64 "bare$k.trc64"; done
> good
> 1
> options: -e
> 19215
> good
> 1
> options: -b
> 19194
> good
> 1
> options: -c -r
> 10278
> good
> 1
> options: -c
> 10251
> good
> 1
> options: -l 64
> 10188
> good
> 1
> options: -e -t
> 0
$ pugmark dump 'bare-c -r.trc64' | grep -c ' line '; pugmark dump 'bare-c.trc64' | grep -c ' line '; pugmark dump 'bare-l 64.trc64' | grep -c ' line '
> 1027
> 1027
> 1020
$ pugmark dump 'bare-c -r.trc64' | grep -E ' (read|write) ' | sed 's/ flags=rep//' >c; pugmark dump 'bare-c.trc64' | grep -E ' (read|write) ' | cmp - c; grep -c . c
> 112
$ mv 'bare-c -r.trc64' rep.trc64; cp bare.blk64 rep.blk64; pugmark rtrace rep | tail -n 4
> written  (by bytes)
>   bytes  accesses
>      12         1
>     100         1
# The line size of -l is that of the trace, in the text and for simulators; the option has the last word, and another
# program's block table none.
$ pugmark idt -l 64 bare && ./bare.idt && pugmark vtrace -q bare | head -n 1; pugmark dump bare.trc64 | grep -m 1 line; pugmark dump -f idt-cache64:line=32 bare.trc64 | grep -m 1 line; mkfifo bare.otr; ./bare.idt & pugmark vtrace bare | head -n 1; wait; rm bare.otr; printf 1 | dd of=bare.blk64 bs=1 seek=20 conv=notrunc status=none; pugmark vtrace -q bare | head -n 1
> good
> 0 line 0x401000 64
> 0 line 0x401000 64
> 0 line 0x401000 32
> good
> 0 line 0x401000 64
> 0 line 0x401000 16
# Without -r nothing tells references of rep instructions apart; -r means nothing in other kinds.
$ pugmark idt -c bare && ./bare.idt >/dev/null; pugmark rtrace -q bare
! pugmark: bare.trc64: this cache trace was made without -r: it does not tell references of rep instructions apart
? 1
$ pugmark idt -p -r bare && pugmark idtinfo bare | head -n 1
> options: -p
! pugmark: -r means nothing without -c, -l or -e
# KT of an execution trace is KT of what run writes.
$ pugmark idt -e bare; ./bare.idt; pugmark idt2kt bare; pugmark convert -q -f idt-exec64:modules=bare.mod -t kt64 bare.trc64 x.kt64; cmp bare.kt64 x.kt64; pugmark dump bare.kt64 | grep -c ' insn '
> good
> 3056
! pugmark: note: 'bare.trc64' is one trace of several: 'bare.trc64.NUMBER' beside it are of other threads or processes (1)
# ... and so is what it leaves out. Bytes of a program that has changed since are refused, as are those of a library.
$ cat >saves.S <<'END'
+ 	.globl _start
+ _start:	sub $1024, %rsp
+ 	and $-64, %rsp
+ 	fxsave (%rsp)
+ 	mov $60, %eax
+ 	xor %edi, %edi
+ 	syscall
+ END
$ gcc -nostdlib -static -Wl,--build-id=none -o saves saves.S && pugmark idt -e saves && ./saves.idt; pugmark idt2kt saves; rm saves.kt64; printf '\220\220' | dd of=saves bs=1 seek=4096 conv=notrunc status=none; pugmark idt2kt saves 2>&1 | sed "s|$PWD/||; s/0x[0-9a-f]*/N/g"; ls saves.kt64 2>/dev/null; sed "s| - $PWD/saves| 12 $(command -v pugmark)|" saves.mod >x; mv x saves.mod; pugmark idt2kt saves 2>&1 | sed 's/.*: this/this/; s/found .*/found N/'
> pugmark: saves: this is another program: expected the magic number N of 'saves.blk64', found N
> this is another program or library: expected the build id 12 of 'saves.mod', found N
! pugmark: note: events discarded: 7 write
# Killed on its way: what was executed is there. (The first write is in the trace.)
$ cp $PROGRAMS/exits .; pugmark idt -e exits; for how in 0 abort term segv; do rm -f exits.trc64 exits.cnt64 n; ./exits.idt $how >/dev/null 2>&1; test -s exits.trc64 && test -s exits.cnt64 && pugmark dump -f idt-exec64 exits.trc64 | grep -c ' insn ' >n; awk '{ print ($1 > 50000 ? "many" : $1) }' n; done
> many
> many
> many
> many
# Threads have files of their own, with all that they did.
$ cp $PROGRAMS/threads-static .; pugmark idt -b threads-static; ./threads-static.idt >/dev/null; ls threads-static.trc64* | wc -l | awk '{ print ($1 > 300 ? "hundreds" : $1) }'; for f in threads-static.trc64.*; do pugmark dump -b -f idt-branch64 $f >/dev/null || { echo bad $f; break; }; done
> hundreds
$ f=$(ls threads-static.trc64.* | head -n 1); pugmark vtrace $f | grep -c -m 1 block; pugmark vtrace threads-static 2>&1 >/dev/null | sed 's/([0-9]*)/(N)/'; pugmark idt -e threads-static; ./threads-static.idt >/dev/null; f=$(ls -t threads-static.trc64.* | head -n 1); pugmark rtrace $f | grep -c accesses:; pugmark idt2kt -q $f; pugmark dump ${f%.trc64.*}.kt64.${f##*.} | grep -c -m 1 insn
> 1
> pugmark: note: 'threads-static.trc64' is one trace of several: 'threads-static.trc64.NUMBER' beside it are of other threads or processes (N)
> 1
> 1
# One file for all threads, in order of execution: they take turns, and what each does in its turn is a store
# to the next place of an array.
$ gcc -w -O1 -static -pthread -o turns "$TESTS/process/turns.c"; at=$(nm turns | awk '$3 == "log" { print $1 }'); for k in '-e --merge' '-c --merge' -e; do rm -f turns.trc64*; pugmark idt $k turns; ./turns.idt; printf '%s %s\n' "$k" $(ls turns.trc64* | wc -l); pugmark dump turns.trc64 >text; awk -v lo=$((0x$at)) 'function hex(s,  v, i) { for (i = 3; i <= length(s); i++) v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } / write / { for (i = 1; i <= NF && $i != "write"; i++) ; a = hex($(i + 1)); if (a >= lo && a < lo + 3200) { n++; wrong += a != lo + 8 * k++ } } END { print n + 0, wrong + 0 }' text; done
> -e --merge 1
> 400 0
> -c --merge 1
> 400 0
> -e 5
> 0 0
# A process ends while its threads run: each stops between two blocks, and what it did is in its trace and counted.
$ gcc -O1 -static -pthread -o hot "$TESTS/process/hot.c" && pugmark idt -e hot && "$TESTS/process/ends" 64; pugmark idt -e --merge hot && "$TESTS/process/ends" 64
> 7 5
> 134 5
> 0 5
> 7 1
> 134 1
> 0 1
# Through a FIFO.
$ cp $PROGRAMS/bare .; pugmark idt -b bare; mkfifo bare.otr; ./bare.idt >/dev/null & pugmark vtrace bare | grep -c block; wait; rm bare.otr
> 1016
$ pugmark idt -e --merge bare; mkfifo bare.otr; ./bare.idt >/dev/null & pugmark vtrace bare | grep -c block; wait; rm bare.otr
> 1016
