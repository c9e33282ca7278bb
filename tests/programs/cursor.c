/* SPDX-License-Identifier: MIT */
/* cursor.c - what a trace must get right that keeps its cursor in r11: every way of using that
 * register. See cursor.h */
#include "cursor.h"

#define LOST "r11", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "memory", "cc"

__attribute__((noinline)) static long thrice(long v)
{
	return v * 3;
}

static long (*const table[4])(long) = { thrice, thrice, thrice, thrice };

/* The compiler may keep things below the stack pointer, where calls would write. */
#define CALL(set, how)                                                                         \
	({                                                                                     \
		long r_;                                                                       \
		asm volatile("sub $256, %%rsp; mov %2, %%rdi; " set "; call *" how             \
			     "; add $256, %%rsp"                                               \
			     : "=a"(r_)                                                        \
			     : "r"(table), "r"(i)                                              \
			     : "r11", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "memory", \
			       "cc");                                                          \
		r_;                                                                            \
	})

static long round_of(long i)
{
	long r, sum = 0;

	asm volatile("mov %1, %%r11; lea 5(%%r11), %%r11; sub $256, %%rsp; push %%r11; xor %%r11d, "
		     "%%r11d; pop %%r11; "
		     "add $256, %%rsp; mov %%r11, %0"
		     : "=r"(r)
		     : "r"(i)
		     : "r11", "memory", "cc");
	sum += r;
	sum += CALL("mov %1, %%r11; mov $1, %%edx", "(%%r11,%%rdx,8)");
	sum += CALL("mov %1, %%r11; mov $1, %%ecx", "8(%%r11,%%rcx,8)");
	sum += CALL("mov %1, %%rdx; mov $2, %%r11d", "(%%rdx,%%r11,8)");
	sum += CALL("mov %1, %%rcx; mov $-2, %%r11", "0x10(%%rcx,%%r11,8)");
	sum += CALL("mov %1, %%r11", "16(%%r11)");
	sum += CALL("mov %1, %%r11; mov (%%r11), %%r11", "%%r11");
	asm volatile("mov $77, %%r11d; sub $256, %%rsp; call 1f; jmp 2f; 1: ret; 2: add $256, "
		     "%%rsp; add %%r11, %0; "
		     "jc 3f; add %%r11, %0; 3:"
		     : "+r"(sum)
		     :
		     : LOST);
	asm volatile("mov %1, %%r11; mov %%rsp, %%r10; mov (%%r10,%%r11,8), %%rcx; sub $256, "
		     "%%rsp; mov %%r11, (%%rsp,%%r11,8); "
		     "add %%r11, (%%rsp,%%r11,8); add (%%rsp,%%r11,8), %0; add $256, %%rsp"
		     : "+r"(sum)
		     : "r"(i & 3)
		     : LOST);
	/* a range in which every other register is used, too */
	asm volatile(
		"mov %0, %%r11; push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push "
		"%%r15;"
		"lea 1(%%r11), %%rax; lea 2(%%r11), %%rcx; lea 3(%%r11), %%rdx; lea 4(%%r11), "
		"%%rbx; lea 5(%%r11), %%rbp;"
		"lea 6(%%r11), %%rsi; lea 7(%%r11), %%rdi; lea 8(%%r11), %%r8; lea 9(%%r11), %%r9; "
		"lea 10(%%r11), %%r10;"
		"lea 12(%%r11), %%r12; lea 13(%%r11), %%r13; lea 14(%%r11), %%r14; lea 15(%%r11), "
		"%%r15;"
		"add %%rax, %%r11; add %%rcx, %%r11; add %%rdx, %%r11; add %%rbx, %%r11; add "
		"%%rbp, %%r11; add %%rsi, %%r11;"
		"add %%rdi, %%r11; add %%r8, %%r11; add %%r9, %%r11; add %%r10, %%r11; add %%r12, "
		"%%r11; add %%r13, %%r11;"
		"add %%r14, %%r11; add %%r15, %%r11; mov %%r11, %%rax;"
		"pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx; mov %%rax, %0"
		: "+r"(sum)
		:
		: LOST);
	return sum;
}

int main(int argc, char **argv)
{
	return cursor_main(argc, argv, 300000, 50000);
}
