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
