# Code that is written while the program runs.
$ "$TESTS/process/both" smc
> equal: status 0, 12 lines
# ... more often than there is room for: on pages that are writable and executable, or by turns.
$ cat > j.c <<'E'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ int main(int argc, char **argv)
+ {
+ 	const int turns = argv[1][0] == 't';
+ 	unsigned char *p = mmap(0, 65536, turns ? 3 : 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	long sum = 0;
+
+ 	for (int i = 0; i < 15000; i++) {
+ 		unsigned char *q = p + i % 16 * 4096;
+
+ 		if (turns)
+ 			mprotect(p, 65536, 3);
+ 		q[0] = 0xb8;			/* mov $i, %eax; ret */
+ 		memcpy(q + 1, &i, 4);
+ 		q[5] = 0xc3;
+ 		if (turns)
+ 			mprotect(p, 65536, 5);
+ 		sum += ((int (*)(void))q)();
+ 	}
+ 	printf("%ld\n", sum);
+ }
+ E
+ gcc j.c -o j && for how in turns both; do pugmark run -q -- ./j $how; done
+ "$TESTS/can-32-bit" >/dev/null || exec printf '112492500\n112492500\n'
+ gcc -m32 j.c -o j && for how in turns both; do pugmark run -q -- ./j $how; done
> 112492500
> 112492500
> 112492500
> 112492500
# Translations stay where a call has addresses of code in registers that it does not write through.
$ cat > s.c <<'E'
+ #define _GNU_SOURCE
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/syscall.h>
+ #include <time.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	static const unsigned char code[] = { 0xb8, 7, 0, 0, 0, 0xc3 };	/* mov $7, %eax; ret */
+ 	char *p = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	struct timespec now;
+ 	long sum = 0;
+
+ 	memcpy(p, code, sizeof code);
+ 	for (int i = 0; i < 300; i++) {
+ 		sum += ((int (*)(void))p)();
+ 		sum += syscall(SYS_clock_gettime, CLOCK_REALTIME, &now, p, p, p, p);
+ 	}
+ 	printf("%ld\n", sum);
+ }
+ E
+ gcc s.c -o s; for how in 'run -q -o /dev/null' 'record -o s.pugrec'; do PUGMARK_STATS=1 pugmark $how -- ./s 2>stats; awk '/^requests open/ { n++ } END { print n + 0 }' stats; done
> 2100
> 0
> 2100
> 0
