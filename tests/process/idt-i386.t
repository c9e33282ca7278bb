# Instrumented executables of 32-bit programs do what their originals do, count it, and trace it as `pugmark run` does.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
# timeout: 240
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for p in refs cuts gathers stolen vector jumps-stripped faults signals signals-static-pie seccomp; do "$I" $p; done
> equal: status 0, 0 lines
> equal: status 3, 1 lines
> equal: status 0, 0 lines
> equal: status 0, 1 lines
> equal: status 0, 8 lines
> equal: status 0, 6 lines
> equal: status 0, 66 lines
> equal: status 0, 14 lines
> equal: status 0, 14 lines
> equal: status 0, 3 lines
$ ls refs.*; pugmark idtinfo refs | grep -c good; pugmark vcount --json - refs | grep '"instructions"' | tr -dc 0-9; echo
> refs.blk
> refs.cnt
> refs.idt
> refs.mod
> refs.trc
> 4
> 265
# The events are those of `pugmark run`.
$ cp $PROGRAMS/i386/refs run.refs; pugmark idt -e refs; ./refs.idt; pugmark run --no-cache --no-vdso --fix-random -q --exec -t idt-exec -o run.trc -- ./run.refs; for t in refs run; do pugmark dump -f idt-exec:modules=refs.mod $t.trc | grep -v opaque >$t.events; done; cmp refs.events run.events; grep -c ' insn ' refs.events
> 265
# Blocks that a fault stops: as far as they came, then the handler, then the rest.
$ cp $PROGRAMS/i386/stops run.stops; cp run.stops stops; pugmark idt -e stops; env -i ./stops.idt >/dev/null; env -i "$(command -v pugmark)" run --no-cache --no-vdso --fix-random -q --exec -t idt-exec -o run.trc -- ./run.stops >/dev/null; for t in stops run; do pugmark dump -f idt-exec:modules=stops.mod $t.trc | grep -v opaque >$t.events; done; cmp stops.events run.events; grep -c ' insn ' stops.events | awk '{ print ($1 > 10000) }'
> 1
# What the processor executes is what is in the trace, and in the counts: ld.so, libc, and a program of its own.
$ "$TESTS/oracle/compare-idt" "$PROGRAMS/i386/refs"; "$TESTS/oracle/compare-idt" -l "$PROGRAMS/i386/args" | sed 's/[0-9][0-9]* ins.*/and more/'
> equal: 265 instructions, 316 references
> equal: and more
# A process ends while its threads run: each stops between two blocks, and what it did is in its trace and counted.
$ gcc -m32 -O1 -static -pthread -o hot "$TESTS/process/hot.c" && pugmark idt -e hot && "$TESTS/process/ends"; pugmark idt -e --merge hot && "$TESTS/process/ends"
> 7 5
> 134 5
> 7 1
> 134 1
# Threads that take turns, in one file in the order of execution.
$ gcc -m32 -w -O1 -static -pthread -o turns "$TESTS/process/turns.c"; at=$(nm turns | awk '$3 == "log" { print $1 }'); for k in '-e --merge' '-c --merge'; do rm -f turns.trc*; pugmark idt $k turns; ./turns.idt; printf '%s %s\n' "$k" $(ls turns.trc* | wc -l); pugmark dump turns.trc >text; awk -v lo=$((0x$at)) 'function hex(s,  v, i) { for (i = 3; i <= length(s); i++) v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } / write / { for (i = 1; i <= NF && $i != "write"; i++) ; a = hex($(i + 1)); if (a >= lo && a < lo + 1600) { n++; wrong += a != lo + 4 * k++ } } END { print n + 0, wrong + 0 }' text; done
> -e --merge 1
> 400 0
> -c --merge 1
> 400 0
