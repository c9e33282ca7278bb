/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* odd.c - instructions that compilers hardly ever emit; segment bases; system calls in odd ways */
#include <asm/prctl.h>
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "self_check.h"

static char buf[256] __attribute__((aligned(64)));
static volatile int hits;

static void count(int sig)
{
	hits++;
	(void)sig;
}

static unsigned long gs_base;
static void *other(void *arg)
{
	unsigned long base = 1;

	syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
	CHECK(base == gs_base);		/* inherited */
	return arg;
}

/* A kernel without 32-bit system calls answers with SIGSEGV. */
static int has_int80(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		int r;

		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "0"(20)
				 : "r8", "r9", "r10", "r11", "memory");
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status);
}

int main(void)
{
	uint64_t r, s, t;
	unsigned a, b, c, d;
	pthread_t th;

	/* enter, leave, push and pop of the stack pointer */
	__asm__ volatile("enter $64, $0\n\tmovq $7, -8(%%rbp)\n\tmov -8(%%rbp), %0\n\tleave"
			 : "=r"(r) :: "memory");
	CHECK(r == 7);
	__asm__ volatile("mov %%rsp, %0\n\tpush %%rsp\n\tpop %1\n\tpush %%rsp\n\tpop %%rsp\n\tmov "
			 "%%rsp, %2"
			 : "=&r"(r), "=&r"(s), "=&r"(t)::"memory");
	CHECK(r == s && r == t);
	__asm__ volatile("pushq $5\n\tpushq $6\n\tpopq 0(%%rsp)\n\tpop %0" : "=r"(r) :: "memory");
	CHECK(r == 6);
	__asm__ volatile("pushw $0x1234\n\tpushw $0x5678\n\tpopw %w0\n\tpopw %w1"
			 : "=&r"(r), "=&r"(s)::"memory");
	CHECK((uint16_t)r == 0x5678 && (uint16_t)s == 0x1234);
	SECTION("stack instructions: good");

	/* loop, jrcxz, xlat, string operations in both directions */
	__asm__ volatile("xor %0, %0\n\tmov $100, %%ecx\n1:\tinc %0\n\tloop 1b\n\tjrcxz "
			 "2f\n\tud2\n2:\t"
			 "mov $3, %%ecx\n3:\tinc %0\n\tcmp %0, %0\n\tloope 3b\n\tjecxz "
			 "4f\n\tud2\n4:"
			 : "=&r"(r)::"rcx", "cc");
	CHECK(r == 103);
	for (int i = 0; i < 256; i++)
		buf[i] = (char)(255 - i);
	__asm__ volatile("xlatb" : "=a"(r) : "a"(0x1200u + 10), "b"(buf));
	CHECK(r == 0x1200 + 245);
	__asm__ volatile("std\n\trep movsb\n\tcld" : "=S"(r), "=D"(s), "=c"(t)
			 : "0"(buf + 99), "1"(buf + 100), "2"(100) : "memory", "cc");
	CHECK(t == 0 && s == (uintptr_t)buf && (uint8_t)buf[1] == 255 &&
	      (uint8_t)buf[100] == 255 - 99);
	memcpy(buf, "hello world, hello", 19);
	__asm__ volatile("repne scasb"
			 : "=D"(r), "=c"(t)
			 : "0"(buf), "1"(100), "a"('w')
			 : "cc", "memory");
	CHECK(r == (uintptr_t)buf + 7 && t == 93);
	__asm__ volatile("repe cmpsb"
			 : "=S"(r), "=D"(s), "=c"(t)
			 : "0"(buf), "1"(buf + 13), "2"(10)
			 : "cc", "memory");
	CHECK(t == 4);
	__asm__ volatile("lodsw\n\tlodsl" : "=S"(r), "=a"(s) : "0"(buf) : "memory");
	CHECK(r == (uintptr_t)buf + 6 && (uint32_t)s == 0x206f6c6c);
	SECTION("loops and strings: good");

	/* flags */
	__asm__ volatile("stc\n\tlahf\n\tclc\n\tsahf\n\tsetc %b0" : "=q"(r) :: "rax", "cc");
	CHECK((r & 1) == 1);
	__asm__ volatile("pushfq\n\tpop %0\n\torq $0x400, %0\n\tpush %0\n\tpopfq\n\tpushfq\n\tpop "
			 "%1\n\tcld"
			 : "=&r"(r), "=&r"(s)::"memory", "cc");
	CHECK(s & 0x400 && !(s & 0x100));
	__asm__ volatile("pushfq\n\torq $0x200000, (%%rsp)\n\tpopfq\n\tpushfq\n\tpop %0"
			 : "=r"(r)::"memory", "cc");
	CHECK(r & 0x200000);
	SECTION("flags: good");

	/* bits, wide arithmetic */
	memset(buf, 0, sizeof buf);
	__asm__ volatile("bts %1, (%0)\n\tbts %2, (%0)" ::"r"(buf + 64), "r"(777ll), "r"(-300ll)
			 : "memory", "cc");
	CHECK(buf[64 + 97] == 2 && buf[64 - 38] == 16);
	__asm__ volatile("mov $0x1234567890abcdef, %0\n\tbswap %0\n\trol $8, %0\n\trcr $1, %0"
			 : "=&r"(r)::"cc");
	__asm__ volatile("shld $12, %1, %0" : "+r"(r) : "r"(0xabcdefull << 40) : "cc");
	CHECK(r != 0);
	__asm__ volatile("mulq %3" : "=a"(r), "=d"(s) : "0"(~0ull), "r"(~0ull) : "cc");
	CHECK(r == 1 && s == ~1ull);
	__asm__ volatile("divq %4" : "=a"(r), "=d"(t) : "0"(1ull), "1"(~1ull), "r"(~0ull) : "cc");
	CHECK(r == ~0ull && t == 0);
	__asm__ volatile("mov $0x80, %%al\n\tcbw\n\tcwde\n\tcdqe\n\tcqo\n\tmov %%rdx, %0"
			 : "=r"(r)::"rax", "rdx");
	CHECK(r == ~0ull);
	__cpuid(0, a, b, c, d);
	CHECK(a >= 1);
	__cpuid(1, a, b, c, d);
	if (c & bit_POPCNT) {
		__asm__("popcnt %1, %0" : "=r"(r) : "r"(0xff00ffull) : "cc");
		CHECK(r == 16);
	}
	if (c & bit_SSE4_2) {
		__asm__("crc32q %1, %0" : "=r"(r) : "r"(0x1234ull), "0"(0ull));
		CHECK(r != 0);
	}
	__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
	__asm__ volatile("rdtscp" : "=a"(r), "=d"(s), "=c"(c));
	CHECK((s << 32 | (uint32_t)r) > ((uint64_t)d << 32 | a));
	__asm__ volatile(
		"lfence; mfence; sfence; pause; nopw 0(%%rax,%%rax); .byte 0x66, 0x66, 0x90" ::
			: "memory");
	__asm__ volatile("prefetcht0 (%0); prefetchnta 64(%0); prefetcht0 (%1); clflush (%0)" ::"r"(
				 buf),
			 "r"(0ul));
	__asm__ volatile("movnti %1, (%0)\n\tsfence" :: "r"(buf), "r"(0x55ull) : "memory");
	CHECK(buf[0] == 0x55);
	SECTION("arithmetic, fences, hints: good");

	/* repeated and useless prefixes; branches with hints; an endless nop */
	__asm__ volatile(
		".byte 0x2e, 0x3e, 0x26, 0x36, 0x66, 0x66, 0x66, 0x0f, 0x1f, 0x80, 0, 0, 0, 0");
	__asm__ volatile("xor %%eax, %%eax\n\t.byte 0x3e, 0x74, 2\n\tud2\n\t.byte 0x2e, 0x75, "
			 "2\n\tjmp 1f\n\tud2\n1:" ::
				 : "rax", "cc");
	__asm__ volatile(".byte 0xf3\n\tnop\n\t.byte 0x48, 0x66, 0x90" ::: "memory");
	SECTION("prefixes: good");

	/* segment bases: gs is the program's, fs stays libc's */
	{
		static uint64_t words[4] = { 11, 22, 33, 44 };
		unsigned long base = 0;

		gs_base = (unsigned long)words;
		CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, words) == 0);
		CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 &&
		      base == (unsigned long)words);
		__asm__ volatile("mov %%gs:8, %0\n\tmov %%gs:(%2), %1"
				 : "=&r"(r), "=&r"(s)
				 : "r"(16ull));
		CHECK(r == 22 && s == 33);
		__asm__ volatile("addq $5, %%gs:24\n\tlea %%gs:8, %0" : "=r"(r) :: "memory", "cc");
		CHECK(words[3] == 49 && r == 8);
		signal(SIGUSR1, count);
		raise(SIGUSR1);
		getpid();
		__asm__ volatile("mov %%gs:0, %0" : "=r"(r));
		CHECK(r == 11 && hits == 1);
		CHECK(pthread_create(&th, NULL, other, NULL) == 0 && pthread_join(th, NULL) == 0);
		__asm__ volatile("mov %%gs:0, %0" : "=r"(r));
		CHECK(r == 11);
		/* fork keeps it */
		if (!fork()) {
			__asm__ volatile("mov %%gs:8, %0" : "=r"(r));
			_exit(r == 22 ? 0 : 1);
		}
		CHECK(syscall(SYS_wait4, -1, &c, 0, 0) > 0 && c == 0);
#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE 2
#endif
		if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) {
			__asm__ volatile("rdgsbase %0" : "=r"(r));
			CHECK(r == (uintptr_t)words);
			__asm__ volatile("wrgsbase %1\n\tmov %%gs:0, %0"
					 : "=r"(r)
					 : "r"(words + 1));
			CHECK(r == 22);
			__asm__ volatile("rdfsbase %0" : "=r"(r));
			CHECK(r == (uintptr_t)__builtin_thread_pointer());
		}
		CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0) == 0);
	}
	SECTION("segment bases: good");

	/* system calls: which registers survive, the 32-bit way in, one that does not exist */
	__asm__ volatile("mov $39, %%eax\n\tmov $1, %%ecx\n\tmov $2, %%r11d\n\tsyscall\n1:\tlea "
			 "1b(%%rip), %%rdx\n\t"
			 "sub %%rdx, %%rcx\n\tmov %%rcx, %0"
			 : "=r"(r), "=a"(s)::"rcx", "rdx", "r11", "memory", "cc");
	CHECK(r == 0 && (pid_t)s == getpid());		/* rcx: the address behind the syscall */
	__asm__ volatile("mov $39, %%eax\n\tstc\n\tsyscall\n\tsetc %b0\n\tand $1, %%r11d\n\tmov "
			 "%%r11, %1"
			 : "=&r"(r), "=&r"(s)::"rax", "rcx", "r11", "memory", "cc");
	CHECK((r & 1) == 1 && s == 1);			/* r11: the flags, and they stay */
	if (has_int80()) {
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "0"(20)
				 : "r8", "r9", "r10", "r11", "memory");
		CHECK((int)r == getpid() || (int)r == -ENOSYS);	/* kernels may refuse it */
	}
	CHECK(syscall(9999) == -1 && errno == ENOSYS);
	CHECK(syscall(SYS_read, -1, NULL, 0) == -1 && errno == EBADF);
	SECTION("system calls: good");
	return 0;
}
