# A library that calls its own functions through its procedure linkage table, where another one may stand in for them.
$ cat > l.c <<'X'
+ #include <stdint.h>
+ #include <string.h>
+
+ long step(long x) { return x * 3 + 1; }
+ long other(long x) { return x ^ 0x55; }
+ /* four arguments, so that rcx matters, and calls in a loop, one behind the other, and as the last thing */
+ long four(long a, long b, long c, long d) { return a + 2 * b + 3 * c + 5 * d + step(d); }
+ long walk(long n)
+ {
+ 	long x = 1;
+
+ 	for (long i = 0; i < n; i++) {
+ 		x = step(x) + step(i);
+ 		if (i % 3)
+ 			x += four(x, i, 7, n);
+ 	}
+ 	return step(x);
+ }
+ long down(long n) { return n ? down(n - 1) + 1 : 0; }
+ /* what the pointer behind step's stub is from now on */
+ void redirect(long (*to)(long))
+ {
+ 	uint8_t *p;
+ 	int32_t disp;
+
+ 	__asm__("lea step@PLT(%%rip), %0" : "=r"(p));
+ 	while (p[0] != 0xff || p[1] != 0x25)
+ 		p++;
+ 	memcpy(&disp, p + 2, 4);
+ 	*(uint64_t *)(p + 6 + disp) = (uint64_t)to;
+ }
+ X
+ cat > m.c <<'X'
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/time.h>
+
+ long walk(long), down(long), other(long);
+ void redirect(long (*)(long));
+ static volatile int ticks;
+ static void tick(int sig) { ticks += walk(3) != 0; }
+ static void *thread(void *n) { return (void *)walk((long)n); }
+
+ int main(int argc, char **argv)
+ {
+ 	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
+ 	pthread_t t[2];
+ 	void *got[2] = { 0 };
+
+ 	if (argc > 1 && strchr(argv[1], 's')) {
+ 		signal(SIGALRM, tick);
+ 		setitimer(ITIMER_REAL, &every, NULL);
+ 		while (ticks < 20)
+ 			walk(1000);
+ 	}
+ 	for (int i = 0; i < 2 && argc > 1 && strchr(argv[1], 't'); i++)
+ 		pthread_create(&t[i], NULL, thread, (void *)(1000l + i));
+ 	for (int i = 0; i < 2 && argc > 1 && strchr(argv[1], 't'); i++)
+ 		pthread_join(t[i], &got[i]);
+ 	printf("%ld %ld %ld %ld\n", walk(1000), down(100), (long)got[0], (long)got[1]);
+ 	if (argc > 1 && strchr(argv[1], 'r')) {
+ 		redirect(other);
+ 		printf("%ld\n", walk(1000));
+ 	}
+ }
+ X
+ echo 'long step(long x) { return x * 7; } long down(long n) { return -n; }' > p.c
+ gcc -O1 -fno-inline -fno-optimize-sibling-calls -shared -fPIC -Wl,-z,lazy,-z,norelro l.c -o libl.so && gcc -O1 m.c -o m -L. -ll -Wl,-rpath,"$PWD" -pthread && gcc -shared -fPIC p.c -o p.so
$ gcc -O1 -fcf-protection -fno-inline -shared -fPIC -Wl,-z,ibtplt,-z,now,-z,norelro l.c -o ibt.so; for a in x r ts rts; do ./m $a > want; for i in cold warm warm; do pugmark run -q -- ./m $a | cmp - want; done; for k in --branch --exec; do pugmark run -q $k --discard -- ./m $a | cmp - want; done; done
# Somebody stands in; all is bound at once; endbr64 in front of each jump.
$ for v in LD_PRELOAD=./p.so LD_BIND_NOW=1 LD_PRELOAD=./ibt.so; do env $v ./m r > want; for i in cold warm; do pugmark run -q -- env $v ./m r | cmp - want; done; done
# How often each instruction ran, whether calls go through the stubs or not.
$ for v in A=1 LD_PRELOAD=./p.so LD_PRELOAD=./ibt.so; do for o in -q --strict-flags; do pugmark run $o -o report --counts c$o -- env $v ./m r > out; sed '/^#/d' c$o.* | sort > counts$o; rm c$o.*; done; cmp counts-q counts--strict-flags && [ $(wc -l < counts-q) -gt 1000 ] && echo same; done
> same
> same
> same
# Where the stubs' jumps led, by counters of edges and by a branch trace: also lazily bound, redirected, interposed.
$ jumps() { grep '^B' "$1" | sed 's/^B [0-9a-f]*:/B /' | while read b from to n rest; do case " $(cat stubs) " in *" $from "*) echo $from $to $n;; esac; done | sort; }
+ objdump -d -j .plt -j .plt.sec libl.so 2>/dev/null | grep 'jmp .*rip' | sed 's/^ *//; s/:.*//' | tr '\n' ' ' > stubs
+ for v in A=1 LD_PRELOAD=./p.so LD_BIND_NOW=1; do for k in 1 2; do for o in -q --branch; do pugmark run -q $o --bolt "b$o.%n" -- env $v ./m r > out; jumps b$o.libl.so > j$o; done; cmp j-q j--branch && [ $(wc -l < j-q) -ge 3 ] && echo same; done; done
> same
> same
> same
> same
> same
> same
