# Instrumented executables of 32-bit programs do what their originals do, count it, and trace it as `pugmark run` does.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
# timeout: 240
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for p in refs cuts gathers cursor vector jumps-stripped faults signals signals-static-pie seccomp; do "$I" $p; done
> equal: status 0, 0 lines
> equal: status 3, 1 lines
> equal: status 0, 0 lines
> equal: status 0, 1 lines
> equal: status 0, 8 lines
> equal: status 0, 6 lines
> equal: status 0, 66 lines
> equal: status 0, 15 lines
> equal: status 0, 15 lines
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
# Gathers and scatters: a reference for each element that the mask has, the block counted once.
$ if grep -q avx512f /proc/cpuinfo; then gcc -m32 -O1 -static -o lanes "$TESTS/process/lanes.c" && "$TESTS/process/same" lanes | sed 's/^[0-9]*$/some/' && [ $(pugmark vcount --json - lanes | grep '"instructions"' | tr -dc 0-9) = $(grep -c ' insn ' lanes.events) ] && echo as many; else printf 'same output\nlanes: same events\nsome\nsome\nas many\n'; fi
> same output
> lanes: same events
> some
> some
> as many
# What the processor executes is what is in the trace, and in the counts: ld.so, libc, and a program of its own.
$ "$TESTS/oracle/compare-idt" "$PROGRAMS/i386/refs"; "$TESTS/oracle/compare-idt" -l "$PROGRAMS/i386/args" | sed 's/[0-9][0-9]* ins.*/and more/'
> equal: 265 instructions, 316 references
> equal: and more
# A process ends while its threads run: each stops between two blocks, and what it did is in its trace and counted.
$ gcc -m32 -O1 -static -pthread -o hot "$TESTS/process/hot.c" && pugmark idt -e hot && "$TESTS/process/ends"; pugmark idt -e --merge hot && "$TESTS/process/ends"
> 7 5
> 134 5
> 0 5
> 7 1
> 134 1
> 0 1
# Threads that take turns, in one file in the order of execution.
$ gcc -m32 -w -O1 -static -pthread -o turns "$TESTS/process/turns.c"; at=$(nm turns | awk '$3 == "log" { print $1 }'); for k in '-e --merge' '-c --merge'; do rm -f turns.trc*; pugmark idt $k turns; ./turns.idt; printf '%s %s\n' "$k" $(ls turns.trc* | wc -l); pugmark dump turns.trc >text; awk -v lo=$((0x$at)) 'function hex(s,  v, i) { for (i = 3; i <= length(s); i++) v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } / write / { for (i = 1; i <= NF && $i != "write"; i++) ; a = hex($(i + 1)); if (a >= lo && a < lo + 1600) { n++; wrong += a != lo + 4 * k++ } } END { print n + 0, wrong + 0 }' text; done
> -e --merge 1
> 400 0
> -c --merge 1
> 400 0
# Each process has files of its own, with -s, too, whose counts are the same; the first one's trace goes through a FIFO.
$ cat >kids.c <<'E'
+ #include <stdio.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	int s, sum = 0;
+ 	for (int i = 1; i < 4; i++) {
+ 		if (!fork()) {
+ 			for (volatile int k = 0; k < 1000 * i; k++)
+ 				;
+ 			_exit(i);
+ 		}
+ 		wait(&s);
+ 		sum += WEXITSTATUS(s);
+ 	}
+ 	return printf("%d\n", sum) < 0;
+ }
+ E
$ gcc -m32 -O1 -static -o kids kids.c; for k in -p '-s -p' -e '-s -e'; do rm -f kids.trc* kids.cnt*; pugmark idt $k kids; ./kids.idt; for c in kids.cnt*; do cp $c one.cnt; cp kids.blk one.blk; pugmark vcount --json - one | grep '"instructions"'; done | sort >"counts$k"; cmp "counts$k" counts-p; ls kids.cnt.* | wc -l; ls kids.trc.* | wc -l; done; grep -c . counts-p
> 6
> 3
> 3
> 6
> 3
> 3
> 6
> 3
> 3
> 6
> 3
> 3
> 4
$ rm -f kids.trc*; mkfifo kids.otr; ./kids.idt >/dev/null & pugmark vtrace -q kids | grep -c block | awk '{ print ($1 > 1000) }'; wait; rm kids.otr; ls kids.trc*  | wc -l; for t in kids.trc*; do pugmark info -f idt-exec:blk=kids.blk $t >/dev/null || echo bad; done
> 1
> 3
# What is damaged, or something else, is refused.
$ for n in 30 60 2000; do head -c $n $PROGRAMS/i386/args >cut; pugmark idt cut >said 2>&1; echo $? $(sed 's/0x[0-9a-f]*/N/g; s/[0-9][0-9]*/N/g' said); done
> 1 pugmark: cut:N: expected N bytes of program header offset, found N
> 1 pugmark: cut:N: expected N bytes of program headers, found N: the file is cut off
> 1 pugmark: cut:N: expected a segment within the file's N bytes, found N bytes at N: the file is cut off
$ cp kids arm; printf '\050' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null; pugmark idt arm; echo $?; gcc -m32 -c -o kids.o kids.c; pugmark idt kids.o; echo $?; pugmark idt kids.idt; echo $?
> 1
> 1
> 1
! pugmark: arm: it is a program for Arm; x86-64 and i386 programs can be instrumented
! pugmark: kids.o:0x10: expected an executable (type 2 or 3), found type 1 (a relocatable object)
! pugmark: kids.idt: it is an instrumented program already
$ cp $PROGRAMS/i386/args lost; at=$(printf 0x%x $(readelf -lW lost | awk '$1 == "INTERP" { print $2 }')); printf '/lib/nowhere\0' | dd of=lost bs=1 seek=$((at)) conv=notrunc 2>/dev/null; pugmark idt lost 2>said; echo $?; sed "s/:$at:/:AT:/" said >&2
> 1
! pugmark: lost:AT: expected the interpreter '/lib/nowhere' to exist: No such file or directory
$ ./kids.idt >/dev/null; n=$((($(stat -c %s kids.cnt) - 8) / 4)); for f in cnt blk trc; do cp kids.$f whole; head -c 21 whole >kids.$f; [ $f = trc ] || { pugmark vcount kids 2>&1; echo $?; }; pugmark vtrace -q kids 2>&1 >/dev/null; echo $?; mv whole kids.$f; done | sed "s/ $n blocks/ N blocks/"
> pugmark: kids.cnt:0x15: 13 bytes of counters are no whole number of sets of N blocks
> 1
> 0
> pugmark: kids.blk:0x0: N blocks do not fit into 21 bytes
> 1
> pugmark: kids.trc: its block table 'kids.blk': 0x0: N blocks do not fit into 21 bytes
> 1
> pugmark: kids.trc:0x14: expected an entry of 5 bytes, found 1
> 1
# A process that is copied while its counters are looked at: nobody holds the copy's locks.
$ printf '#include <sys/wait.h>\n#include <unistd.h>\nint main(void) { int s, n = 0; for (int i = 0; i < 2000; i++) { if (!fork()) _exit(1); wait(&s); n += s == 256; } return n != 2000; }\n' | gcc -m32 -O1 -static -xc -o many -; pugmark idt many; timeout 200 ./many.idt; echo $?; rm -f many.cnt.*
> 0
# The instructions that the report leaves out: each is in the trace, with what it refers to; those that are the kernel's
# are refused, and not in it.
$ cat >left-out.c <<'E'
+ #include <signal.h>
+ #include <stdint.h>
+ #include <stdio.h>
+ #include <ucontext.h>
+ static uint8_t area[512];
+ static int refused;
+ /* lgdt, lidt and lldt are the kernel's: three bytes with (%ecx). */
+ static void on_fault(int sig, siginfo_t *si, void *context)
+ {
+ 	refused++;
+ 	((ucontext_t *)context)->uc_mcontext.gregs[REG_EIP] += 3;
+ }
+ int main(void)
+ {
+ 	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
+ 	sigaction(SIGSEGV, &sa, NULL);
+ 	sigaction(SIGILL, &sa, NULL);
+ 	__asm__ volatile("enter $16, $0; leave; fld1; fnsave (%0); frstor (%0); fsave (%0); fninit\n\t"
+ 			 "sgdt (%0); sidt (%0); sldt (%0); verr (%0); verw (%0)" :: "c"(area) : "memory", "cc");
+ 	__asm__ volatile("lgdt (%0)" :: "c"(area) : "memory");
+ 	__asm__ volatile("lidt (%0)" :: "c"(area) : "memory");
+ 	__asm__ volatile("lldt (%0)" :: "c"(area) : "memory");
+ 	return printf("%d\n", refused) < 0;
+ }
+ E
$ gcc -m32 -w -O1 -static -D_GNU_SOURCE -o left-out left-out.c; pugmark idt -e left-out; ./left-out.idt; pugmark dump -f idt-exec:modules=left-out.mod left-out.trc | awk '$2 == "insn" { sub("bytes=", "", $NF); in_it = $NF ~ /^(c8100000|dd31|dd21|0f0101|0f0109|0f0001|0f0021|0f0029|0f0111|0f0119|0f0011)$/; if (in_it && !n[$NF]++) { if (line) print line; line = $NF } else if (in_it) in_it = 0; next } in_it && $2 ~ /read|write/ { line = line " " $2 $4 } END { print line }'
> 3
> c8100000 write4
> dd31 write8 write8 write8 write8 write8 write8 write8 write8 write8 write8 write8 write8 write8 write4
> dd21 read8 read8 read8 read8 read8 read8 read8 read8 read8 read8 read8 read8 read8 read4
> 0f0101 write4 write2
> 0f0109 write4 write2
> 0f0001 write2
> 0f0021 read2
> 0f0029 read2
