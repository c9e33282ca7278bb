# Threads that write code into pages which hold other threads' code: each executes what it has written, whoever else makes those
# pages writable, or translates what is in them, at that moment.
$ cat > slots.c <<'end'
+ #include <pthread.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ static unsigned char *text;
+ static int rounds;
+ static void *work(void *arg)
+ {
+ 	const long me = (long)arg;
+ 	unsigned seed = me * 7919 + 1;
+ 	for (int i = 0; i < rounds; i++) {
+ 		seed = seed * 1103515245 + 12345;
+ 		unsigned char *at = text + (seed >> 16) % 64 * 256 + me * 64;
+ 		const int v = seed >> 8;
+ 		unsigned char code[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };
+ 		memcpy(code + 1, &v, 4);
+ 		memcpy(at, code, 6);
+ 		const int got = ((int (*)(void))(void *)at)();
+ 		if (got != v) { printf("thread %ld round %d: %x for %x\n", me, i, got, v); exit(1); }
+ 	}
+ 	return 0;
+ }
+ int main(int argc, char **argv)
+ {
+ 	pthread_t t[4];
+ 	rounds = argc > 1 ? atoi(argv[1]) : 1000;
+ 	text = mmap(0, 16384, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void *)i);
+ 	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
+ 	puts("good");
+ 	return 0;
+ }
+ end
$ gcc -O1 -pthread -o slots slots.c; for i in 1 2 3 4; do pugmark run -q -- ./slots 1500; done
> good
> good
> good
> good
$ pugmark run -q -o slots.pug -- ./slots 200; pugmark verify slots.pug | tail -n 1; pugmark record -q -o slots.pugrec -- ./slots 200; pugmark replay -q slots.pugrec
> good
> slots.pug: good
> good
> good
