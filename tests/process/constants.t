# Jumps through a constant table are counted by its index: until the program has the table made writable, or maps something
# over it, and changes it. The program counts, too; a child of fork() changes what its parent does not.
# needs: gcc objdump
# timeout: 120
$ cat >constants.c <<'X'
+ #define _GNU_SOURCE
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ enum { N = 50000 };
+ static unsigned long *went;
+ /* By an index that is in bounds whatever it is. */
+ long pick(unsigned char);
+ extern void *table[256], *to[4];
+ __asm__(".text; .globl pick; .type pick, @function\n"
+ 	"pick: movzbl %dil, %edi; jmp *table(,%rdi,8)\n"
+ 	"2: mov $0, %eax; ret\n 3: mov $1, %eax; ret\n 4: mov $2, %eax; ret\n 5: mov $3, %eax; ret\n"
+ 	".size pick, . - pick\n"
+ 	".section .rodata; .balign 4096; .globl table, to; table: .rept 64; .quad 2b, 3b, 4b, 5b; .endr; .fill 2048; to: .quad 2b, 3b, 4b, 5b; .text");
+ static void run(void)
+ {
+ 	for (unsigned i = 0; i < N; i++)
+ 		went[pick((unsigned char)(i * i >> 3))]++;
+ }
+ static void change(int from)
+ {
+ 	for (int i = 0; i < 256; i++)
+ 		table[i] = to[(i * 3 + from) / 5 % 4];
+ }
+ int main(int argc, char **argv)
+ {
+ 	static char was[4096];
+ 	int status;
+ 	went = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
+ 	run();
+ 	if (!fork()) {
+ 		run();
+ 		mprotect(table, 4096, PROT_READ | PROT_WRITE);
+ 		for (int k = 0; k < 3; k++) {
+ 			change(k);
+ 			run();
+ 		}
+ 		_exit(0);
+ 	}
+ 	wait(&status);
+ 	run();
+ 	memcpy(was, table, sizeof was);
+ 	if (strcmp(argv[1], "map")) {
+ 		mprotect(table, 4096, PROT_READ | PROT_WRITE);
+ 	} else {
+ 		char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 		memcpy(at, was, sizeof was);
+ 		argc > 2 ? mremap(at, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, table) :
+ 			mmap(table, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
+ 		memcpy(table, was, sizeof was);
+ 	}
+ 	run();
+ 	change(7);
+ 	run();
+ 	for (int i = 0; i < 4; i++)
+ 		printf("%lu\n", went[i]);
+ 	return 0;
+ }
+ X
$ gcc -O2 -w -fno-pie -no-pie -o constants constants.c && objdump -d --no-show-raw-insn constants | awk '/jmp +\*0x.*,%rdi,8/ { sub(":", "", $1); print $1 }' >site; grep -c . site
> 1
$ for how in protect map 'map again'; do for k in 1 2; do pugmark run -q --cache-dir cache --bolt t.pa -- ./constants $how >said && awk -v site="$(cat site)" '$1 == "B" && $2 == site { print $3, $4 }' t.pa | sort | cut -d' ' -f2 | diff - said && grep -c . said; done; done
> 4
> 4
> 4
> 4
> 4
> 4
