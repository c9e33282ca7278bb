# Where indirect jumps and calls lead is counted exactly, however it is counted: by the index of a constant table, by
# where they led first, or in the thread's table. The program counts, too: threads, a handler between any two of its
# instructions, a table that changes, one with more entries than the comparison says, a call of nothing.
# needs: gcc objdump
# timeout: 120
$ cat >targets.c <<'X'
+ #include <pthread.h>
+ #include <setjmp.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/time.h>
+ enum { OPS = 6, THREADS = 3, N = 30000 };
+ struct counts {
+ 	unsigned long go[OPS][OPS], change[OPS][OPS], pick[8], call[3], cases[8];
+ };
+ static struct counts all;
+ static volatile sig_atomic_t rings;
+ /* Which jump goes where is counted here, too: a row is a jump of its own, for gcc keeps one behind each label. */
+ #define RUN(name, ...)								\
+ __attribute__((noipa)) static void name(struct counts *c, const unsigned char *p)	\
+ {											\
+ 	__VA_ARGS__;									\
+ 	unsigned last = 0;								\
+ 	EXTRA										\
+ 	NEXT(name);									\
+ a:	last = 1; __asm__ volatile("nop" : : "r"(1)); NEXT(name);			\
+ b:	last = 2; __asm__ volatile("nop" : : "r"(2)); NEXT(name);			\
+ c:	last = 3; __asm__ volatile("nop" : : "r"(3)); NEXT(name);			\
+ d:	last = 4; __asm__ volatile("nop" : : "r"(4)); NEXT(name);			\
+ e:	(void)last;									\
+ }
+ #define NEXT(name) do { const unsigned char op = *p++; c->name[last][name##_leads_to[op]]++; __asm__ volatile("" : : : "memory"); goto *t[op]; } while (0)
+ static unsigned char go_leads_to[256] = { [0 ... 255] = 4, [1] = 1, [2] = 2, [3] = 3, [5] = 5 },
+ 		     change_leads_to[256] = { [0 ... 255] = 4, [1] = 1, [2] = 2, [3] = 3, [5] = 5 };
+ #define EXTRA
+ RUN(go, static const void *const t[256] = { [0 ... 255] = &&d, [1] = &&a, [2] = &&b, [3] = &&c, [5] = &&e })
+ #undef EXTRA
+ #define EXTRA if (*p == 9) { t[1] = &&d; t[4] = &&a; change_leads_to[1] = 4; change_leads_to[4] = 1; return; }
+ RUN(change, static void *t[256] = { [0 ... 255] = &&d, [1] = &&a, [2] = &&b, [3] = &&c, [5] = &&e })
+ /* pick: how many entries the table has the comparison says; who comes in behind it knows of more. */
+ long pick(long), pick_more(long);
+ #ifndef __PIE__
+ __asm__(".text; .globl pick, pick_more; .type pick, @function\n"
+ 	"pick: cmp $3, %rdi; ja 1f\n"
+ 	"pick_more: jmp *table(,%rdi,8)\n"
+ 	"1: mov $-1, %eax; ret\n"
+ 	"2: mov $0, %eax; ret\n 3: mov $1, %eax; ret\n 4: mov $2, %eax; ret\n 5: mov $3, %eax; ret\n"
+ 	"6: mov $4, %eax; ret\n 7: mov $5, %eax; ret\n"
+ 	".size pick, . - pick\n"
+ 	".section .rodata; .balign 8; table: .quad 2b, 3b, 4b, 5b, 6b, 7b; .text");
+ #endif
+ #ifdef __PIE__
+ #define pick(i) 0			/* the table's addresses would have to be relocated */
+ #define pick_more(i) 0
+ #endif
+ __attribute__((noipa)) static long cases(struct counts *c, unsigned char op)
+ {
+ 	c->cases[op &= 7]++;
+ 	switch (op) {
+ #define CASE(i) case i: __asm__ volatile("nop" : : "r"(i)); return i * 7;
+ 	CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
+ 	}
+ 	__builtin_unreachable();
+ }
+ static long one(void) { return 1; }
+ static long two(void) { return 2; }
+ __attribute__((noipa)) static long call(struct counts *c, long (*f)(void))
+ {
+ 	c->call[f == one ? 0 : f == two ? 1 : 2]++;
+ 	return f() + 1;
+ }
+ static sigjmp_buf back;
+ static void fault(int s) { (void)s; siglongjmp(back, 1); }
+ static void ring(int s)
+ {
+ 	static const unsigned char code[] = { 1, 2, 5 };
+ 	(void)s;
+ 	rings++;
+ 	go(&all, code);
+ }
+ static void *thread(void *arg)
+ {
+ 	static unsigned char code[N];
+ 	struct counts *c = arg;
+ 	unsigned x = 1;
+ 	for (int i = 0; i < N - 1; i++) {
+ 		x = x * 1103515245 + 12345;
+ 		code[i] = (unsigned char)((x >> 16) % 5 + (x >> 26 & 1) * 100);
+ 		if (code[i] == 5 || code[i] == 9)
+ 			code[i] = 4;
+ 	}
+ 	code[N - 1] = 5;
+ 	for (int k = 0; k < 40; k++) {
+ 		go(c, code);
+ 		for (int i = 0; i < 1000; i++)
+ 			cases(c, code[i]);
+ 		for (long i = 0; i < 4; i++)
+ 			c->pick[i + 1]++, pick(i);
+ 		c->pick[5]++, pick_more(4);
+ 		c->pick[6]++, pick_more(5);
+ 		call(c, k % 3 ? one : two);
+ 	}
+ 	return arg;
+ }
+ static void add(const struct counts *c)
+ {
+ 	const unsigned long *v = (const unsigned long *)c;
+ 	unsigned long *to = (unsigned long *)&all;
+ 	for (size_t i = 0; i < sizeof *c / sizeof *v; i++)
+ 		to[i] += v[i];
+ }
+ static void print(const char *name, const unsigned long *v, size_t n)
+ {
+ 	for (size_t i = 0; i < n; i++)
+ 		if (v[i])
+ 			printf("%s %lu\n", name, v[i]);
+ }
+ int main(void)
+ {
+ 	static struct counts c[THREADS + 1];
+ 	static const unsigned char code[] = { 1, 4, 2, 1, 3, 5 };
+ 	pthread_t t[THREADS];
+ 	sigset_t set;
+ 	sigemptyset(&set);
+ 	sigaddset(&set, SIGALRM);
+ 	signal(SIGSEGV, fault);
+ 	if (!sigsetjmp(back, 1))
+ 		call(&c[THREADS], NULL);
+ 	pthread_sigmask(SIG_BLOCK, &set, NULL);		/* the handler counts in all, which one thread may */
+ 	for (int i = 0; i < THREADS; i++)
+ 		pthread_create(&t[i], NULL, thread, &c[i]);
+ 	for (int i = 0; i < THREADS; i++)
+ 		pthread_join(t[i], NULL);
+ 	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
+ 	signal(SIGALRM, ring);
+ 	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 1000 }, { 0, 1000 } }, NULL);
+ 	thread(&c[THREADS]);
+ 	change(&c[THREADS], code);
+ 	change(&c[THREADS], (const unsigned char []){ 9 });
+ 	change(&c[THREADS], code);
+ 	while (rings < 20)
+ 		thread(&c[THREADS]);
+ 	signal(SIGALRM, SIG_IGN);
+ 	for (int i = 0; i <= THREADS; i++)
+ 		add(&c[i]);
+ 	print("go", all.go[0], OPS * OPS);
+ 	print("change", all.change[0], OPS * OPS);
+ #ifndef __PIE__
+ 	print("pick", all.pick, 8);
+ #endif
+ 	print("cases", all.cases, 8);
+ 	print("call", all.call, 3);
+ 	return 0;
+ }
+ X
+ cat >compare <<'X'
+ pugmark run -q --cache-dir cache --bolt t.pa -- ./targets >said || exit
+ objdump -d --no-show-raw-insn targets | awk '/^[0-9a-f]+ <.*>:/ { f = $2; gsub(/[<>:]|_more/, "", f) } /(jmp|call) +\*/ && f ~ /^(go|change|pick|call|cases)$/ { sub(":", "", $1); print $1, f }' >sites
+ awk 'NR == FNR { f[$1] = $2; next } $1 == "B" && $2 in f { print f[$2], $4 }' sites t.pa | sort >profile
+ sort said | diff - profile && wc -l <profile
+ X
+ for how in '-fno-pie -no-pie' '-fPIE -pie'; do gcc -O2 -w $how -o targets targets.c -lpthread; for k in 1 2; do sh ./compare; done; done
> 48
> 48
> 42
> 42
