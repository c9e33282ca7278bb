/* SPDX-License-Identifier: MIT */
/* flags: -no-pie -fno-pie -pthread -fomit-frame-pointer
 *
 * cursor.c - ../cursor.c for 32-bit programs, whose traces keep their cursor in ebp.
 * Every way of using it: see cursor.h. */
#include "cursor.h"

typedef __attribute__((regparm(1))) long in_eax(long v);

__attribute__((noinline, regparm(1))) static long thrice(long v)
{
	return v * 3;
}

__attribute__((used)) static in_eax *const table[4] = { thrice, thrice, thrice, thrice };

/* @set finds i in eax, the table in esi. */
#define CALL(set, how) ({ long r_; asm volatile("push %%ebp; " set "; call *" how "; pop %%ebp" \
	: "=a"(r_) : "0"(i), "S"(table) : "ecx", "edx", "memory", "cc"); r_; })

static long round_of(long i)
{
	long r, sum = 0;

	asm volatile("push %%ebp; mov %1, %%ebp; lea 5(%%ebp), %%ebp; push %%ebp; xor %%ebp, "
		     "%%ebp; pop %%ebp; "
		     "mov %%ebp, %0; pop %%ebp"
		     : "=a"(r)
		     : "c"(i)
		     : "memory", "cc");
	sum += r;
	sum += CALL("mov %%esi, %%ebp; mov $1, %%edx", "(%%ebp,%%edx,4)");
	sum += CALL("mov %%esi, %%ebp; mov $1, %%ecx", "4(%%ebp,%%ecx,4)");
	sum += CALL("mov %%esi, %%edx; mov $2, %%ebp", "(%%edx,%%ebp,4)");
	sum += CALL("mov %%esi, %%ecx; mov $-2, %%ebp", "0x10(%%ecx,%%ebp,4)");
	sum += CALL("mov %%esi, %%ebp", "8(%%ebp)");
	sum += CALL("mov %%esi, %%ebp; mov (%%ebp), %%ebp", "%%ebp");
	sum += CALL("mov %%esi, %%ebp; shr $2, %%ebp", "0(,%%ebp,4)");
	sum += CALL("mov $3, %%ebp", "table(,%%ebp,4)");
	sum += CALL("mov $1, %%ecx; mov $77, %%ebp", "table(,%%ecx,4)");
	/* the vDSO, through the thread pointer */
	asm volatile("push %%ebp; mov $0x10, %%ebp; call *%%gs:(%%ebp); pop %%ebp"
		     : "=a"(r)
		     : "0"(20)
		     : "memory", "cc");
	sum += r == getpid();
	/* a system call with an argument in it: mmap2() of no bytes */
	asm volatile("push %%ebp; mov $5, %%ebp; int $0x80; add %%ebp, %%eax; pop %%ebp"
		     : "=a"(r)
		     : "0"(192), "b"(0), "c"(0), "d"(0), "S"(0x22), "D"(-1)
		     : "memory", "cc");
	sum += r;
	asm volatile("push %%ebp; mov $77, %%ebp; call 1f; jmp 2f; 1: ret; 2: add %%ebp, %0; jc "
		     "3f; add %%ebp, %0; 3: "
		     "pop %%ebp"
		     : "+a"(sum)
		     :
		     : "memory", "cc");
	asm volatile("push %%ebp; enter $16, $0; mov %0, -4(%%ebp); enter $8, $1; mov (%%ebp), "
		     "%%ebp; add -4(%%ebp), %0; "
		     "lea -8(%%ebp), %%esp; leave; pop %%ebp"
		     : "+a"(sum)
		     :
		     : "memory", "cc");
	if (!(i & 63))				/* executed in place, which takes long */
		asm volatile("pusha; mov %0, %%ebp; add %%ebp, 28(%%esp); pusha; xor %%ebp, %%ebp; "
			     "popa; add %%ebp, 28(%%esp); popa"
			     : "+a"(sum)
			     :
			     : "memory", "cc");
	/* a range in which every other register is used, too */
	asm volatile("push %%ebx; push %%ebp; mov %0, %%ebp; lea 1(%%ebp), %%ecx; lea 2(%%ebp), "
		     "%%edx; lea 3(%%ebp), %%ebx; "
		     "lea 4(%%ebp), %%esi; lea 5(%%ebp), %%edi; add %%eax, %%ebp; add %%ecx, "
		     "%%ebp; add %%edx, %%ebp; "
		     "add %%ebx, %%ebp; add %%esi, %%ebp; add %%edi, %%ebp; mov %%ebp, %0; pop "
		     "%%ebp; pop %%ebx"
		     : "+a"(sum)
		     :
		     : "ecx", "edx", "esi", "edi", "memory", "cc");
	return sum;
}

int main(int argc, char **argv)
{
	return cursor_main(argc, argv, 1000, 5000);
}
