# Calling-context trees that grow in the traced process are those that a trace gives, file for file: what the consumer walks with
# PUGMARK_NO_GROWING=1 is the oracle. The variable is the program's, too, so it has one length. Two runs of a program may
# differ by themselves, by when a signal comes, how much a pipe has, or whether a thread has ended before it is waited for: then
# another two are compared. $options are pugmark's.
# needs: gcc g++
$ cat >both <<'END'
+ name=$1; shift
+ for try in 1 2 3 4 5; do
+ 	for never in 1 0; do
+ 		PUGMARK_NO_GROWING=$never pugmark run -q $options --fix-random --no-vdso --folded f$never --json j$never -- "$@" >out$never 2>/dev/null
+ 		echo $? >s$never
+ 	done
+ 	cmp -s s0 s1 && cmp -s f0 f1 && break
+ done
+ cmp s0 s1 && cmp f0 f1 && echo "$name same, $(awk 'END { print (NR > 20 ? "many" : NR) }' f0) contexts"
+ END
# Calls, linkage stubs, tail calls, jumps by tables; C++ exceptions and longjmp() have their own programs below.
$ for i in 1 2 3 4 5 6 7 8 9; do cat "$TESTS/analyse/tree.t"; done >in; sh both gzip gzip -9c in; sh both shell sh -c '(true); cat in; (ls both); exec true'
> gzip same, many contexts
> shell same, many contexts
# Programs that check themselves: faults and handlers, instructions that the decoder does not know, libraries that come and go,
# code in odd places, signals that wait, jumps of all kinds.
$ for p in dl faults jumps odd unknown signals pending names flags given; do [ ! -x "$PROGRAMS/$p" ] || sh both $p "$PROGRAMS/$p"; done
> dl same, many contexts
> faults same, many contexts
> jumps same, many contexts
> odd same, many contexts
> unknown same, many contexts
> signals same, many contexts
> pending same, many contexts
> names same, many contexts
> flags same, many contexts
> given same, many contexts
# Recursion that is deeper than contexts go (500), than frames are remembered, and through a linkage stub; mutual tail calls;
# indirect calls of more targets than a context has slots; threads; exceptions; generated code.
$ cat >m.cc <<'END'
+ #include <setjmp.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <thread>
+ #include <unistd.h>
+ #define F __attribute__((noinline, noipa))
+ static volatile long sum; static jmp_buf env;
+ F void leaf(long n) { sum += n; }
+ F long deep(long n) { if (!n) return 1; long r = deep(n - 1); leaf(n); return r + 1; }
+ F void odd(long n); F void even(long n) { sum++; if (n) odd(n - 1); } F void odd(long n) { leaf(1); if (n) even(n - 1); }
+ template <int N> F void one(long n) { leaf(n + N); if (N % 3 == 0) even(N); }
+ static void (*const table[])(long) = { one<0>, one<1>, one<2>, one<3>, one<4>, one<5>, one<6>, one<7>, one<8>, one<9> };
+ F void many(long n) { one<10>(n); one<11>(n); one<12>(n); one<13>(n); one<14>(n); one<15>(n); one<16>(n); one<17>(n); }
+ F void throws(long n) { leaf(n); if (n > 3) throw n; throws(n + 1); sum++; }
+ F void catches(long n) { try { throws(n); } catch (long) { leaf(2); } leaf(3); }
+ F void jumps(long n) { if (n) jumps(n - 1); else longjmp(env, 1); sum++; }
+ F void lands(long n) { if (!setjmp(env)) jumps(n); leaf(4); }
+ F void work(long n) { for (long i = 0; i < n; i++) { table[i % 10](i); many(i); catches(i % 4); lands(i % 5); } }
+ int main()
+ {
+ 	unsigned char *p = (unsigned char *)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	memcpy(p, "\xff\xd7\xc3", 3); memcpy(p + 64, "\xff\xe7", 2);	// call *%rdi; ret -- jmp *%rdi
+ 	mprotect(p, 4096, PROT_READ | PROT_EXEC);
+ 	deep(90000); work(50);
+ 	for (int i = 0; i < 9; i++) { ((void (*)(void (*)()))p)([] { leaf(7); }); ((void (*)(void (*)()))(p + 64))([] { leaf(8); }); }
+ 	for (int i = 0; i < 3; i++) std::thread([i] { usleep(50000); work(10 + i); }).join();	// join() always waits
+ }
+ END
$ g++ -O2 -pthread -o m m.cc 2>/dev/null; sh both made ./m; awk -F';' 'NF == 500 { n++ } END { print (n > 0) }' f0
> made same, many contexts
> 1
# Code without names.
$ strip -o bare m; sh both stripped ./bare; grep -c '\[bare\]' f0 | awk '{ print ($1 > 0) }'
> stripped same, many contexts
> 1
# Threads have other numbers in each run.
$ for never in 1 0; do PUGMARK_NO_GROWING=$never pugmark run -q --fix-random --no-vdso --by-thread --folded - -- ./m | sed 's/^thread [0-9]*;/thread N;/' | sort >t$never; done; cmp t0 t1 && grep -c '^thread N;.*;work(long) ' t0; awk -F';' 'NF == 500 { n++ } END { print (n > 0) }' t0
> 4
> 1
$ g++ -O0 -fno-plt -pthread -o n m.cc 2>/dev/null; sh both unoptimised ./n; options=--strict-flags sh both strict ./m
> unoptimised same, many contexts
> strict same, many contexts
# Calls through the linkage table of the library itself: at its own functions, and at one that the program has put in its place.
# A function of more calls than its contexts have slots. A part of a function that goes back to it.
$ cat >lib.c <<'END'
+ #define F __attribute__((noinline, noipa))
+ static volatile long sum;
+ F void lib_leaf(long n) { sum += n; }
+ F void lib_mid(long n) { lib_leaf(n); if (n % 3) lib_leaf(n + 1); }
+ F long lib_deep(long n) { if (n) lib_deep(n - 1); lib_mid(n); return sum; }
+ #define A(n) lib_leaf(n); if (n % 7 == 3) lib_mid(n);
+ #define B(n) A(n) A(n + 1) A(n + 2) A(n + 3) A(n + 4) A(n + 5) A(n + 6) A(n + 7)
+ F void lib_large(long n) { B(n) B(n + 8) B(n + 16) B(n + 24) B(n + 32) B(n + 40) B(n + 48) B(n + 56) }
+ F void lib_cold(long n) { if (__builtin_expect(n & 1, 0)) { sum = sum / (n | 1) * n; __builtin_ia32_pause(); } sum++; }
+ END
$ cat >user.c <<'END'
+ #include <stdio.h>
+ long lib_deep(long n), lib_large(long n), lib_cold(long n);
+ #ifdef OWN
+ static volatile long count;
+ void lib_leaf(long n) { count += n; }
+ #endif
+ int main(void) { for (long i = 0; i < 30; i++) { lib_deep(i * 20); lib_large(i); lib_cold(i); } printf("%ld\n", lib_deep(3)); }
+ END
$ gcc -O2 -fPIC -shared -o libu.so lib.c; gcc -O1 -o user user.c ./libu.so; gcc -O1 -rdynamic -DOWN -o own user.c ./libu.so; sh both linked ./user; awk '/lib_mid;lib_leaf@plt / { n++ } END { print (n > 100) }' f0; sh both replaced ./own
> linked same, many contexts
> 1
> replaced same, many contexts
# Loops that execute more instructions than half a register counts, flags live in one of them.
$ cat >loop.c <<'END'
+ __attribute__((noinline, noipa)) unsigned long spin(unsigned long n, unsigned long s) { while (n--) s = s * 3 + (s >> 7); return s; }
+ __attribute__((noinline, noipa)) unsigned long carry(unsigned long n)
+ {
+ 	unsigned long r;
+ 	__asm__ volatile("xor %%eax, %%eax; clc; 1: adc $1, %%rax; dec %1; jnz 1b" : "=&a"(r), "+r"(n) :: "cc");
+ 	return r;
+ }
+ int main(void) { return spin(900000000, 1) == 1 || carry(1500000000) != 1500000000; }
+ END
$ gcc -O2 -o loop loop.c && pugmark run -q --folded loop.folded -- ./loop && awk '/;spin / { print ($NF > 4400000000 && $NF < 5500000000) } /;carry / { print $NF - 4500000000 }' loop.folded
> 3
> 1
# Calls from code that an earlier run has kept, of functions that that one did not come to.
$ cat >late.c <<'END'
+ #define F __attribute__((noinline, noipa))
+ static volatile long sum;
+ F void late(long n) { sum += n; }
+ F void early(long n) { if (n & 1) late(n); sum++; }
+ int main(int n, char **v) { for (long i = 0; i < 300; i++) early(n > 1 ? i : 2 * i); return 0; }
+ END
$ gcc -O1 -o late late.c && pugmark run -q --folded early.folded -- ./late && grep -c ';late ' early.folded; sh both late ./late x; grep -c ';early;late ' f0
> 0
> late same, many contexts
> 1
# speedscope's and pprof's files come from the same tree, and both agree with the folded stacks on what there is in all.
$ pugmark run -q --fix-random --folded f --speedscope s.json --pprof p.gz -- ./m && python3 - <<'END'
+ import json
+ total = sum(int(l.rsplit(" ", 1)[1]) for l in open("f"))
+ print(sum(json.load(open("s.json"))["profiles"][0]["weights"]) == total)
+ END
> True
# Who is killed keeps what it has counted.
$ cat >k.c <<'END'
+ #include <signal.h>
+ #include <unistd.h>
+ __attribute__((noinline, noipa)) int spin(int n) { while (n) n--; return n; }
+ int main(void) { spin(100000); kill(getpid(), SIGKILL); }
+ END
$ gcc -O1 -o k k.c && { pugmark run -q --folded k.folded -- ./k; sed -n 's/.*;spin //p' k.folded; } 2>/dev/null | awk '{ print ($1 > 200000) }'
> 1
