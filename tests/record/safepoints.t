# A thousand signals a second into code of every shape that goes round: a replay gives each where it came, whatever it
# makes of the program, and counts as many instructions. The program prints what depends on all of them.
# timeout: 300
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/preempted" 200 > out; cut -d' ' -f2 out
> signals:
$ for k in '' --branch --cache --exec --strict-flags '--exec --strict-flags' '--lcov l' '--bolt b' '--exec --after 1000000 --for 100000 --every 900000'; do timeout 120 pugmark replay -q $k --discard r.pugrec > o; cmp o out && echo "${k%% *} the same"; done
>  the same
> --branch the same
> --cache the same
> --exec the same
> --strict-flags the same
> --exec the same
> --lcov the same
> --bolt the same
> --exec the same
$ for k in '' --strict-flags '--lcov l' '--bolt b' '--exec --discard' '--branch --discard'; do timeout 120 pugmark replay --no-output --count $k r.pugrec 2>&1 | grep -m1 -o '[0-9,]* instructions'; done | uniq | wc -l
> 1
# Cold, recorded and replayed; and what was recorded in one cache replays with another.
$ XDG_CACHE_HOME=$PWD/c1 pugmark record -q -o r.pugrec -- "$PROGRAMS/preempted" 50 > out; XDG_CACHE_HOME=$PWD/c2 pugmark replay -q r.pugrec | cmp - out; XDG_CACHE_HOME=$PWD/c3 pugmark replay -q --exec --discard r.pugrec | cmp - out
$ "$TESTS/record/again" "$PROGRAMS/timer"
> status 0, 1 lines again
# A trace has two turns of a small loop in one record, and there is a safepoint between them: of loops of one block and of
# several, entered in their middle, with flags that pass the jump back. A replay that leaves at each safepoint has the registers of
# the recording there, and its trace is that of a replay that leaves at none; whose records have hardly more bytes than a live run's.
$ cat > loops.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ int main(int argc, char **argv)
+ {
+ 	unsigned long a = 1, v[64] = { 3, 1, 4, 1, 5 }, times = argc > 1 ? strtoul(argv[1], 0, 0) : 1;
+ 
+ 	for (unsigned long t = 0; t < times; t++)
+ 		__asm__ volatile(
+ 			"	xor %%r11d, %%r11d; xor %%ecx, %%ecx; mov $33, %%rdx\n"
+ 			"1:	add (%[v], %%rdx, 8), %[a]; rol $5, %[a]; dec %%rdx; jnz 1b\n"
+ 			"	mov $32, %%rdx; xor %%esi, %%esi\n"
+ 			"2:	setz %%cl; sets %%ch; add %%rcx, %[a]; sub $1, %%rdx; jnz 2b\n"
+ 			"	mov $31, %%rdx; clc\n"
+ 			"3:	adc %[a], (%[v], %%rdx, 8); dec %%rdx; jnz 3b\n"
+ 			"	mov $30, %%rdx; jmp 5f\n"
+ 			"4:	imul $7, %[a]; test $2, %%dl; jz 5f; xor %%rdx, %[a]; mov %%rdx, %%r11\n"
+ 			"5:	test $1, %%dl; jz 6f; add (%[v], %%rdx, 8), %[a]; xor %%r11, %[a]\n"
+ 			"6:	dec %%rdx; jnz 4b\n"
+ 			"	mov $29, %%rdx\n"
+ 			"7:	test %%edx, %%edx; jz 8f; add %%rdx, %[a]; dec %%rdx; jmp 7b\n"
+ 			"8:	mov $60, %%rdx\n"
+ 			"9:	dec %%rdx; jz 10f; test $3, %%dl; jnz 9b; add (%[v], %%rdx, 8), %[a]; cmp $9, %%rdx; ja 9b\n"
+ 			"10:\n"
+ 			: [a] "+r"(a) : [v] "r"(v) : "rcx", "rdx", "rsi", "r11", "cc", "memory");
+ 	printf("%lx %lx\n", a, v[9]);
+ 	return 0;
+ }
+ end
$ gcc -O2 -o loops loops.c && ./loops 100 > out; for n in 1 0; do pugmark record -q --checks $n -o r$n.pugrec -- ./loops 100 | cmp - out; for k in --exec --branch '--exec --strict-flags'; do pugmark replay -q $k -o $n.pug r$n.pugrec | cmp - out; pugmark dump $n.pug | grep -E '^[0-9]+ (insn|read|write|modify) ' >> $n.txt; done; done; cmp 0.txt 1.txt && wc -l < 0.txt | grep -c ......
> 1
$ pugmark record -q -o r.pugrec -- ./loops 2000 > out
$ bytes() { pugmark "$@" | cmp - out; grep -o '"trace_bytes": [0-9]*' j | cut -d' ' -f2; }; for k in --exec --branch; do l=$(bytes run -q $k -o x.pug --json j -- ./loops 2000) r=$(bytes replay -q $k -o x.pug --json j r.pugrec); [ $((r * 10)) -lt $((l * 11)) ] || echo "$k: $r bytes, live $l"; done
# A library that calls its own function through its procedure linkage table, and jumps back there as well. Registers are
# compared at every safepoint, by a replay that has no copies of such stubs.
$ cat > lib.c <<'end'
+ int odd(int n) { return n & 1; }
+ int both(int n) { int k = odd(n); return k ? odd(n >> 1) : n; }
+ end
$ cat > main.c <<'end'
+ #include <stdio.h>
+ int both(int n);
+ int main(void) { int n = 0; for (int i = 0; i < 1000; i++) n += both(i); printf("%d\n", n); return 0; }
+ end
$ gcc -O2 -fPIC -shared -fno-inline -fno-ipa-cp -fcf-protection=none -o libboth.so lib.c && gcc -O1 -o both main.c -L. -lboth -Wl,-rpath,$PWD && pugmark record -q --checks 1 -o r.pugrec -- ./both > out; for k in '' '--exec --discard' --strict-flags; do timeout 60 pugmark replay -q $k r.pugrec | cmp out - && echo the same; done
> the same
> the same
> the same
# Handlers that interrupt each other, jump out, have a stack of their own; in several processes.
$ for i in 1 2 3; do pugmark record -q -o r.pugrec -- "$PROGRAMS/interrupted" | sort > out; for k in '' --exec; do timeout 60 pugmark replay -q --discard $k r.pugrec | sort | cmp - out; done; done; wc -l < out
> 4
