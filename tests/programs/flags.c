/* SPDX-License-Identifier: MIT */
/* flags.c - flags as arguments and results, which no compiler makes
 *
 *   flags WHAT     return: a carry out of a function; call: into one; through: out of one, through
 *                  two returns; jump: out of one, and read behind a jump; tail: ... behind one to
 *                  another function; pointer: out of one that is called by its address; beyond:
 *                  read where a jump through memory leads to; table: ... through a table of a
 *                  switch; anything else: nothing of that. */
/* flags: -pthread */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

long half(long);			/* its argument / 2; carry: the rest */
long count_odd(long n), count_call(long n), count_through(long n), count_jump(long n),
	count_tail(long n), count_pointer(long n), count_beyond(long n), count_table(long n);
extern long (*half_pointer)(long);

__asm__(".text\n"
	/* n numbers, each looked at by half() */
	".macro	odd name, how\n"
	".globl	\\name\n"
	"\\name:	push	%rbx\n"
	"	push	%rbp\n"
	"	mov	%rdi, %rbx\n"
	"	xor	%ebp, %ebp\n"
	"1:	mov	%rbx, %rdi\n"
	"	\\how\n"
	"	dec	%rbx\n"
	"	jnz	1b\n"
	"	mov	%rbp, %rax\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	ret\n"
	".endm\n"
	"half:	mov	%rdi, %rax\n"
	"	shr	%rax\n"
	"	ret\n"
	"through: push	%rcx\n"
	"	call	half\n"
	"	pop	%rcx\n"
	"	ret\n"
	"	.p2align 4\n"
	"	.type	reader, @function\n"
	"reader: adc	$0, %rbp\n"
	"	ret\n"
	"	.p2align 4\n"
	"	.type	tail, @function\n"
	"tail:	call	half\n"
	"	jmp	reader\n"
	"add:	adc	$0, %rbp\n" /* the caller's flags */
	"	ret\n"
	"	odd	count_odd, \"call half; adc $0, %rbp\"\n"
	"	odd	count_through, \"call through; adc $0, %rbp\"\n"
	"	odd	count_pointer, \"call *half_pointer(%rip); adc $0, %rbp\"\n"
	"	odd	count_tail, \"call tail\"\n"
	"	odd	count_call, \"bt $0, %rbx; call add\"\n"
	"	odd	count_jump, \"jmp 4f; 2: adc $0, %rbp; jmp 3f; 4: call half; jmp 2b; 3:\"\n"
	"beyond: bt	$0, %rbx\n"
	"	jmp	*add_pointer(%rip)\n"
	"	odd	count_beyond, \"call beyond\"\n"
	"	odd	count_table, \"mov %rbx, %rax; and $3, %eax; cmp $3, %eax; ja 9f; lea "
	"table(%rip), %rdx;"
	" bt $0, %rbx; jmp *(%rdx,%rax,8);"
	" adds: adc $0, %rbp; jmp 9f; jumps: jnc 9f; inc %rbp; jmp 9f;"
	" moves: setc %al; movzbl %al, %eax; add %rax, %rbp; 9:\"\n"
	".data\n"
	"	.p2align 3\n"
	"table: .quad	adds, jumps, moves, adds\n"
	"half_pointer: .quad half\n"
	"add_pointer: .quad add\n"
	".text\n");

static long (*which)(long);

static void *thread(void *arg)
{
	return (void *)which((long)arg);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; long (*run)(long); } all[] = {
		{ "return", count_odd }, { "call", count_call }, { "through", count_through },
		{ "jump", count_jump },
		{ "tail", count_tail },
		{ "pointer", count_pointer },
		{ "beyond", count_beyond }, { "table", count_table },
	};
	pthread_t t;
	void *got;
	int status;

	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (argc > 1 && !strcmp(argv[1], all[k].name))
			which = all[k].run;
	if (!which)
		return puts("none") < 0;
	printf("%ld\n", which(1000));
	fflush(stdout);
	if (!fork()) {
		printf("%ld in a child\n", which(2000));
		fflush(stdout);
		_exit(7);
	}
	wait(&status);
	pthread_create(&t, NULL, thread, (void *)3000);
	pthread_join(t, &got);
	printf("%ld in a thread, %d\n", (long)got, WEXITSTATUS(status));
	return 0;
}
