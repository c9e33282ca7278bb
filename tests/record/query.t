# Questions about a recording. What is in an answer: the replay is compared with its trace at each, and stores follow from each
# other: what one has left the next one finds.
# timeout: 300
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/asks"
> 40800 fxxxxx pipe
$ nm "$PROGRAMS/asks" | awk '$3 == "total" || $3 == "text" { print $3 "=0x" $1 }' > at; . ./at; pugmark query r.pugrec "writes $total+8" > w; wc -l < w; awk '{ if (NR > 1 && $(NF-2) != last) print "anew:", $(NF-2), $NF; last = $NF } END { print "at last:", last }' w
> 403
> anew: 0x0 0x7
> at last: 0x7
# Three threads, a child, and what that executes, which has the same number.
$ cut -d@ -f1 w | sort -u | wc -l; cut -d' ' -f3 w | sort -u | sed 's/add+.*/add/' | sort -u
> 4
> add
# A system call, and a string instruction, which is one store.
$ . ./at; pugmark query r.pugrec "writes $text+32" | cut -d' ' -f3- | sed 's/^main[^ ]* [^ ]* /main /; s/0x40[^ ]*: /AT: /'
> read() AT: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 -> 66 72 6f 6d 20 61 20 70 69 70 65 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
> main AT: 72 6f 6d 20 61 -> 78 78 78 78 78
$ . ./at; pugmark query -n 1 --json r.pugrec "writes $text+16" | grep -o '"call.*' | sed 's/0x40[0-9a-f]*/AT/'
> "call": "read", "address": "AT", "size": 16, "old": "00000000000000000000000000000000", "new": "66726f6d206120706970650000000000"}
# Calls, with arguments: of threads, of a signal handler, of the other program.
$ pugmark query r.pugrec 'calls add' | sed 's/.* rdi=\([^ ]*\) rsi=\([^ ]*\) .*/\1 \2/' | tail -n 3
> 0x3e8 0xa
> 0x5 0x5
> 0x7 0x23
$ pugmark query r.pugrec 'calls handler' | grep -o 'rdi=[^ ]*'
> rdi=0xa
# As many calls as the whole trace has executions of that instruction; and as many stores there.
$ pugmark convert r.pugrec r.pug; a=0x$(nm "$PROGRAMS/asks" | awk '$3 == "add" { sub(/^0*/, "", $1); print $1 }'); t=0x$(nm "$PROGRAMS/asks" | awk '$3 == "total" { sub(/^0*/, "", $1); print $1 }'); pugmark dump r.pug > text; q=$(pugmark query r.pugrec "calls $a" | wc -l); [ "$q" = "$(grep -c " insn $a" text)" ] && echo "calls: equal"; q=$(pugmark query r.pugrec "writes $t+8" | wc -l); [ "$q" = "$(grep -c -E " (write|modify) $t" text)" ] && echo "writes: equal"
> calls: equal
> writes: equal
# The same numbers from registers and memory there.
$ . ./at; p=$(pugmark query -n 1 r.pugrec 'calls handler' | cut -d' ' -f1); echo "p=$p" >> at; pugmark query r.pugrec "value rdi at $p" "value edi at $p" "value dil at $p" "memory $total+8 at $p" "last-write $total before $p" | sed 's/^0x40[^ ]*: //; s/^[0-9]*@.*: 0x/0x/'
> rdi 0xa
> edi 0xa
> dil 0xa
> 78 9b 00 00 00 00 00 00
> 0xb1 -> 0x78
# An instruction further, and another one.
$ . ./at; for n in 0 1 2 3; do pugmark query r.pugrec "value rip at ${p%+*}+$n"; done | uniq | wc -l
> 4
# Without traces of earlier runs, and with them.
$ . ./at; for how in --no-cache '' ''; do pugmark query $how r.pugrec "value all at $p"; done | sort | uniq -c | awk '{ print $1 }' | uniq
> 3
# What cannot be asked, or is not there.
$ pugmark query r.pugrec 'value rax'
! pugmark: expected 'value REGISTER at POSITION', found 'value rax'
? 2
$ pugmark query r.pugrec 'value ray at @0'
! pugmark: there is no register 'ray'
? 2
$ pugmark query r.pugrec 'value rax at here'
! pugmark: 'here' is no position: THREAD@CLOCK+INSTRUCTIONS, such as 4711@57+12
? 2
$ pugmark query r.pugrec 'memory 5..5 at @0'
! pugmark: '5..5' are no addresses: LO..HI, LO+BYTES or one
? 2
$ pugmark query r.pugrec 'memory 0..0x10000 at @0'
! pugmark: '0..0x10000' are 65536 bytes: at most 4096
? 2
$ pugmark query r.pugrec 'memory 0x10 at @0' 2>&1 | sed 's/[0-9]*@/T@/'
> pugmark: not all of that memory is mapped at T@0
$ pugmark query r.pugrec 'value rax at 1@0'
! pugmark: the recording does not get to 1@0
? 2
$ pugmark query r.pugrec 'value rax at @99999999' 2>&1 | sed 's/[0-9]*@/T@/'
> pugmark: the recording does not get to T@99999999
$ pugmark query r.pugrec 'calls nobody'
! pugmark: no code that was executed has a function 'nobody'
? 2
# A C++ name has blanks; quotes are not part of a name.
$ cat > area.cc <<'end'
+ namespace shape {
+ struct box {
+ 	int w;
+ 	__attribute__((noinline)) int area(int h, char c) { return w * h + c; }
+ };
+ }
+ int main(int argc, char **)
+ {
+ 	shape::box b{ argc };
+ 	return b.area(2, 'x') + b.area(3, 'y') == 0;
+ }
+ end
$ g++ -O1 -o area area.cc; pugmark record -q -o area.pugrec -- ./area; for q in 'calls shape::box::area(int, char)' "calls 'shape::box::area(int, char)' " 'calls "_ZN5shape3box4areaEic"' "calls 'main'"; do pugmark query area.pugrec "$q" | grep -o 'rsi=0x[23]' | tr '\n' ' '; pugmark query area.pugrec "$q" | wc -l; done
> rsi=0x2 rsi=0x3 2
> rsi=0x2 rsi=0x3 2
> rsi=0x2 rsi=0x3 2
> 1
$ pugmark query area.pugrec 'calls'
! pugmark: expected 'calls FUNCTION', found 'calls'
? 2
$ pugmark query r.pugrec 'where is it'
! pugmark: 'where is it' is no question: value, memory, calls, writes or last-write
? 2
$ echo no >x; pugmark query x 'value rax at @0'
! pugmark: x:0x0: not a recording
? 1
$ pugmark query r.pugrec
! pugmark: missing QUESTION (see `pugmark query --help`)
? 2
# String instructions that fault between two iterations: the stores before that are of the instruction that faulted, as are those behind it. One of 64 M iterations is passed at once. A range may go on behind what is mapped.
$ pugmark record -q -o reps -- "$PROGRAMS/reps"; at=0x$(nm "$PROGRAMS/reps" | awk '$3 == "seen" { print $1 }'); for range in "$at+8" 0x10000fff+2 0x10001fff+2 0x10002fff+9 0x10000100+1; do pugmark query reps "writes $range" | sed 's/^[0-9]*@[0-9]*+[0-9]* 0x[0-9a-f]* //; s/+0x[^ ]* [^ ]*//; s/0x40[0-9a-f]*/SEEN/'; done
> y 67108864
> main SEEN: 0x0 -> 0x3000
> main SEEN: 0x3000 -> 0x0
> main SEEN: 0x0 -> 0x60
> main SEEN: 0x60 -> 0x4000000
> main 0x10000fff: 0x0 -> 0x79
> main 0x10001000: 0x0 -> 0x79
> main 0x10000fff: 0x7979 -> 0x7a7a
> main 0x10001fff: 0x0 -> 0x79
> main 0x10002000: 0x0 -> 0x79
> main 0x10002fff: 0x0 -> 0x79
> main 0x10000100: 0x0 -> 0x79
> main 0x10000100: 0x79 -> 0x7a
# The first ones alone are those that all begin with, of one thread and of several.
$ at=0x$(nm "$PROGRAMS/reps" | awk '$3 == "seen" { print $1 }'); . ./at; for n in 1 3 9; do for q in "reps writes $at+8" "r.pugrec writes $total+8"; do set -- $q; pugmark query $1 "$2 $3" | head -n $n > all; pugmark query -n $n $1 "$2 $3" | cmp - all; done; done; pugmark query -n 2 --json r.pugrec 'calls add' | wc -l
> 2
# Several replays, a share of the answers each: the same ones, in the same order. Of one that dies the others' are there, and it is said.
$ . ./at; for j in 1 2 5; do { pugmark query -j $j r.pugrec "writes $total+8"; pugmark query -j $j r.pugrec 'calls add'; pugmark query -j $j -n 200 --json r.pugrec "writes $total+8"; } > by$j; cmp by1 by$j; done; wc -l < by5
> 1006
$ . ./at; for try in 1 2 3 4 5; do pugmark query -j 2 r.pugrec "writes $total+8" > killed 2> why & q=$!; for i in $(seq 500); do p=$(for c in $(pgrep -P $q -f 'query -j 2'); do pgrep -P $c >/dev/null && echo $c; done | tail -n 1); [ "$p" ] && break; sleep 0.01; done; kill -9 $p 2>/dev/null && break; wait $q; done; wait $q; echo $?; tail -n 1 why; grep -vxFf by1 killed || echo all are right
> 1
> pugmark: a replay that answers has died
> all are right
$ pugmark query -j 65 r.pugrec 'calls add'
! pugmark: --jobs expects a number from 1 to 64, not '65' (see `pugmark query --help`)
? 2
# A position counts instructions up to the next safepoint: the one behind the last of them is that one.
$ pugmark query r.pugrec 'value rip at @0+100000000' 2>&1 | sed -E 's/[0-9]+@/T@/; s/only [0-9]+/only N/'
> pugmark: there is no position T@0+100000000: only N instructions are behind that safepoint
$ pugmark query r.pugrec "memory 0x10 at @300+4000000000" 2> err; echo $?; sed -E "s/[0-9]+@/T@/; s/only [0-9]+/only N/" err; n=$(pugmark query r.pugrec 'value rip at @300+1000000' 2>&1 | sed 's/.*only //; s/ .*//'); pugmark query r.pugrec "value all at @300+$n" > a; pugmark query r.pugrec 'value all at @301' | cmp - a && pugmark query r.pugrec "value rip at @300+$((n - 1))" | wc -l; pugmark query r.pugrec "value rip at @300+$((n + 1))" 2>&1 | sed -E 's/[0-9]+@300.[0-9]+/T/; s/only [0-9]+/only N/'
> 2
> pugmark: there is no position T@300+4000000000: only N instructions are behind that safepoint
> 1
> pugmark: there is no position T: only N instructions are behind that safepoint
# A loop that passes none: what is far behind its beginning is there. A signal ends the search, and nothing is left.
$ cat > long.c <<'end'
+ int main(void)
+ {
+ 	long n = 30000000;
+ 	static void *slot;
+ 	__asm__ volatile(".globl again\nagain:\tlea 1f(%%rip), %%rdx\n\tlea again(%%rip), %%rax\n\tdec %0\n"
+ 			 "\tcmovz %%rdx, %%rax\n\tmov %%rax, %1\n\tjmp *%1\n1:"
+ 			 : "+r"(n), "+m"(slot) :: "rax", "rdx", "cc", "memory");
+ 	return 0;
+ }
+ end
$ gcc -O1 -no-pie -o long long.c && pugmark record -q -o long.pugrec -- ./long; again=0x$(nm long | awk '$3 == "again" { print $1 }'); p=$(pugmark query -n 1 long.pugrec "calls $again" | cut -d' ' -f1); echo "p=$p" > long.at; pugmark query long.pugrec "value rip at ${p%+*}+$((${p#*+} + 6 * 2000))" | sed "s/$(printf %x $again)/again/"
> rip 0xagain
$ cat > interrupt <<'end'
+ . ./long.at
+ pugmark query long.pugrec "value rip at ${p%+*}+100000000" > out 2> err &
+ for i in $(seq 500); do
+ 	kids=$(cat /proc/$!/task/*/children 2>/dev/null)
+ 	[ "$kids" ] && break
+ 	sleep 0.01
+ done
+ sleep 0.3
+ kill -s $1 $!
+ wait $!
+ echo $?
+ cat out err
+ for k in $kids; do [ -e /proc/$k ] && echo "$k is left"; done
+ :
+ end
$ timeout 60 bash interrupt TERM 2>/dev/null; timeout 60 bash interrupt INT
> 143
> 1
> pugmark: long.pugrec: interrupted by signal 2
