/* SPDX-License-Identifier: MIT */
/* flags: -pthread -msse2 -no-pie -fno-pie */
/* odd.c - i386 instructions that compilers hardly ever emit; segments; system calls in all ways */
#include <asm/ldt.h>
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "self_check.h"

static char buf[256] __attribute__((aligned(64)));
static volatile int hits, sig_seen, code_seen;
static sigjmp_buf back;

static void count(int sig)
{
	hits++;
	(void)sig;
}

static void leave(int sig, siginfo_t *si, void *context)
{
	sig_seen = sig;
	code_seen = si->si_code;
	siglongjmp(back, 1);
	(void)context;
}

/* All eight registers through pusha, changed on the stack, and back through popa. */
static unsigned pusha_popa(void)
{
	unsigned r;

	__asm__ volatile("pushl %%ebx\n\tpushl %%ebp\n\t"
			 "movl $1, %%eax; movl $2, %%ecx; movl $3, %%edx; movl $4, %%ebx\n\t"
			 "movl $6, %%ebp; movl $7, %%esi; movl $8, %%edi\n\t"
			 "pusha\n\taddl $0x100, 28(%%esp)\n\tmovl 12(%%esp), %%eax\n\tsubl %%esp, "
			 "%%eax\n\t"
			 "movl %%eax, 24(%%esp)\n\tpopa\n\t"
			 "addl %%ecx, %%eax; addl %%edx, %%eax; addl %%ebx, %%eax; addl %%ebp, "
			 "%%eax\n\t"
			 "addl %%esi, %%eax; addl %%edi, %%eax\n\tpopl %%ebp\n\tpopl %%ebx"
			 : "=a"(r)::"ecx", "edx", "esi", "edi", "memory", "cc");
	return r;
}

/* Enter with nested frames, as Pascal compilers used it. */
static unsigned nested_enter(void)
{
	unsigned r;

	__asm__ volatile("enter $16, $0\n\tmovl $11, -4(%%ebp)\n\t"
			 "enter $8, $1\n\tenter $8, $2\n\tmovl -8(%%ebp), %%eax\n\tsubl %%ebp, "
			 "%%eax\n\t"
			 "leave\n\tleave\n\taddl -4(%%ebp), %%eax\n\tleave"
			 : "=a"(r)::"memory", "cc");
	return r;
}

/* 16-bit addresses reach only the lowest 64 KiB, where nothing is mapped: lea shows how they
 * wrap. */
static unsigned address16(unsigned ebx, unsigned esi)
{
	unsigned r;

	__asm__ volatile("addr16 leal 0x1234(%%bx,%%si), %0" : "=r"(r) : "b"(ebx), "S"(esi));
	return r;
}

static long vsyscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;
	long args[] = { a, f, nr };

	__asm__ volatile("pushl %%ebp\n\tpushl %%ebx\n\tmovl 4(%%eax), %%ebp\n\tmovl (%%eax), "
			 "%%ebx\n\t"
			 "movl 8(%%eax), %%eax\n\tcall *%%gs:0x10\n\tpopl %%ebx\n\tpopl %%ebp"
			 : "=a"(r)
			 : "0"(args), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return r;
}

static void faults(void)
{
	struct sigaction sa = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO };
	static const int bounds[2] = { 10, 20 };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGTRAP, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
	__asm__ volatile("bound %0, %1" :: "r"(15), "m"(bounds));
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("bound %0, %1" :: "r"(21), "m"(bounds));
		CHECK(0);
	}
	CHECK(sig_seen == SIGSEGV);
	__asm__ volatile("xorl %%eax, %%eax\n\tinto" ::: "eax", "cc");
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("movl $0x7fffffff, %%eax\n\taddl $1, %%eax\n\tinto" ::
					 : "eax", "cc");
		CHECK(0);
	}
	CHECK(sig_seen == SIGSEGV);
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("int3");
		CHECK(0);
	}
	CHECK(sig_seen == SIGTRAP && code_seen == SI_KERNEL);
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("aam $0" ::: "eax", "cc");
		CHECK(0);
	}
	CHECK(sig_seen == SIGFPE);
	if (!sigsetjmp(back, 1)) {
		__asm__ volatile("ud2");
		CHECK(0);
	}
	CHECK(sig_seen == SIGILL);
	signal(SIGSEGV, SIG_DFL);
	SECTION("bound, into, int3, aam 0: signals");
}

int main(void)
{
	unsigned r, s, t, a, b, c, d;
	unsigned short w;

	CHECK(pusha_popa() == 0x101 + 32 + 3 + 4 + 6 + 7 + 8);
	CHECK(nested_enter() == 11);
	__asm__ volatile("movl %%esp, %0\n\tpushl %%esp\n\tpopl %1\n\tpushl %%esp\n\tpopl "
			 "%%esp\n\tmovl %%esp, %2"
			 : "=&r"(r), "=&r"(s), "=&r"(t)::"memory");
	CHECK(r == s && r == t);
	__asm__ volatile("pushl $5\n\tpushl $6\n\tpopl 0(%%esp)\n\tpopl %0" : "=r"(r) :: "memory");
	CHECK(r == 6);
	__asm__ volatile("pushw $0x1234\n\tpushw $0x5678\n\tpopw %w0\n\tpopw %w1"
			 : "=&r"(r), "=&r"(s)::"memory");
	CHECK((uint16_t)r == 0x5678 && (uint16_t)s == 0x1234);
	__asm__ volatile("pusha\n\tpushaw\n\tpopaw\n\tpopa" ::: "memory");
	SECTION("stack instructions: good");

	/* decimal arithmetic */
	__asm__ volatile("movl $0x19, %%eax\n\taddb $0x28, %%al\n\tdaa" : "=a"(r) :: "cc");
	CHECK((r & 0xff) == 0x47);
	__asm__ volatile("movl $0x42, %%eax\n\tsubb $0x13, %%al\n\tdas" : "=a"(r) :: "cc");
	CHECK((r & 0xff) == 0x29);
	__asm__ volatile("movl $0x0105, %%eax\n\taddb $8, %%al\n\taaa" : "=a"(r) :: "cc");
	CHECK(r == 0x0203);
	__asm__ volatile("movl $0x0203, %%eax\n\tsubb $5, %%al\n\taas" : "=a"(r) :: "cc");
	CHECK(r == 0x0108);
	__asm__ volatile("movl $73, %%eax\n\taam\n\tmovl %%eax, %1\n\taad"
			 : "=&a"(r), "=&r"(s)::"cc");
	CHECK(s == 0x0703 && r == 73);
	__asm__ volatile("stc\n\t.byte 0xd6" : "=a"(r) : "0"(0) : "cc");		/* salc */
	CHECK((r & 0xff) == 0xff);
	__asm__ volatile(".byte 0x82, 0xc0, 5" : "=a"(r) : "0"(3) : "cc"); /* add $5, %al again */
	CHECK(r == 8);
	SECTION("decimal arithmetic: good");

	CHECK(address16(0xffff, 0x10) == ((0x1234 + 0xffff + 0x10) & 0xffff));
	__asm__ volatile("movl $0x10003, %%ecx\n\txorl %0, %0\n1:\tincl %0\n\tloopw 1b\n\t"
			 "jcxz 2f\n\tud2\n2:" : "=&r"(r) :: "ecx", "cc");
	CHECK(r == 3);
	__asm__ volatile("movw $0x8001, %w0\n\trolw $4, %w0\n\tbswapl %0"
			 : "=&r"(r)
			 : "0"(0)
			 : "cc");
	CHECK(r == 0x18000000);
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
	SECTION("16-bit addresses and operands, strings: good");

	__asm__ volatile("stc\n\tlahf\n\tclc\n\tsahf\n\tsetc %b0" : "=q"(r) :: "eax", "cc");
	CHECK((r & 1) == 1);
	__asm__ volatile("pushfl\n\tpopl %0\n\torl $0x400, %0\n\tpushl "
			 "%0\n\tpopfl\n\tpushfl\n\tpopl %1\n\tcld"
			 : "=&r"(r), "=&r"(s)::"memory", "cc");
	CHECK(s & 0x400 && !(s & 0x100));
	memset(buf, 0, sizeof buf);
	__asm__ volatile("movl $0, %%eax\n\tmovl $0, %%edx\n\tmovl $9, %%ecx\n\tcmpxchg8b "
			 "(%%esi)\n\t"
			 "setz %%al\n\tmovzbl %%al, %%eax"
			 : "=a"(r)
			 : "S"(buf + 64), "b"(7)
			 : "ecx", "edx", "memory", "cc");
	CHECK(r == 1 && buf[64] == 7 && buf[68] == 9);
	w = 0x10;
	__asm__ volatile("arpl %w2, %w0\n\tsetz %b1" : "+r"(w), "=q"(r) : "r"(3) : "cc");
	CHECK((r & 1) == 1 && w == 0x13);
	memcpy(buf, "hello world, hello", 19);
	__cpuid(0, a, b, c, d);
	CHECK(a >= 1);
	__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
	CHECK(a | d);
	SECTION("flags, cpuid: good");

	/* far pointers: into segment registers, jumps, calls, returns within the same segment */
	{
		struct { uint32_t off; uint16_t sel; } __attribute__((packed)) p;
		uint16_t cs, ds, es;

		__asm__ volatile("movw %%cs, %0\n\tmovw %%ds, %1\n\tmovw %%es, %2"
				 : "=r"(cs), "=r"(ds), "=r"(es));
		CHECK(ds == es);
		p.off = 0x1234;
		p.sel = ds;
		__asm__ volatile("les %2, %0\n\tlds %2, %1" : "=&r"(r), "=&r"(s) : "m"(p));
		CHECK(r == 0x1234 && s == 0x1234);
		__asm__ volatile("movl %%es:(%2), %0\n\tmovl %%cs:(%2), %1"
				 : "=&r"(r), "=&r"(t) : "r"(buf));
		CHECK(r == 0x6c6c6568 && t == r);
		__asm__ volatile("movl $1f, %%eax\n\tpushl %1\n\tpushl %%eax\n\tlret\n\tud2\n1:\t"
				 "pushfl\n\tpushl %1\n\tpushl $2f\n\tiret\n\tud2\n2:\tmovl $12, %0"
				 : "=&r"(r) : "r"((unsigned)cs) : "eax", "memory", "cc");
		CHECK(r == 12);
		__asm__ volatile("jmp 1f\n2:\taddl $3, %0\n\tlret\n1:\tmovl $4, %0\n\tpushl "
				 "%1\n\tpushl $2b\n\t"
				 "lcall *(%%esp)\n\taddl $8, %%esp"
				 : "=&r"(r)
				 : "r"((unsigned)cs)
				 : "memory", "cc");
		CHECK(r == 7);
	}
	SECTION("far pointers and transfers: good");

	/* segments of the program's own: gs is libc's and comes back, fs is free */
	{
		static unsigned words[4] = { 11, 22, 33, 44 };
		struct user_desc u = { .entry_number = -1, .base_addr = (uintptr_t)words,
			.limit = 15,
				       .seg_32bit = 1, .useable = 1 };
		struct user_desc l = { .entry_number = 1, .base_addr = (uintptr_t)(words + 1),
			.limit = 11,
				       .seg_32bit = 1, .useable = 1 };
		unsigned short was, sel;
		int status;

		CHECK(syscall(SYS_set_thread_area, &u) == 0 && u.entry_number < 15);
		sel = (unsigned short)(u.entry_number * 8 + 3);
		__asm__ volatile("movw %%gs, %w1\n\tmovw %w3, %%gs\n\tmovl %%gs:8, %0\n\tmovw %w1, "
				 "%%gs"
				 : "=&r"(r), "=&r"(s), "=m"(was)
				 : "r"(sel));
		CHECK(r == 33);
		__asm__ volatile("movw %%fs, %w0\n\tmovw %w2, %%fs\n\tmovl %%fs:4, %1\n\taddl $5, "
				 "%%fs:12"
				 : "=&r"(was), "=&r"(r)
				 : "r"(sel)
				 : "memory", "cc");
		CHECK(r == 22 && words[3] == 49);
		signal(SIGUSR1, count);
		raise(SIGUSR1);
		getpid();
		__asm__ volatile("movl %%fs:0, %0\n\tmovw %%fs, %w1" : "=&r"(r), "=&r"(s));
		CHECK(r == 11 && (uint16_t)s == sel && hits == 1);
		if (!fork()) {			/* the child has it, too */
			__asm__ volatile("movl %%fs:4, %0" : "=r"(r));
			_exit(r == 22 ? 7 : 1);
		}
		CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 7);
		if (syscall(SYS_modify_ldt, 1, &l, sizeof l) == 0) {
			__asm__ volatile("pushl %1\n\tpopl %%fs\n\tmovl %%fs:0, %0"
					 : "=&r"(r)
					 : "r"(1 * 8 + 7));
			CHECK(r == 22);
		}
		__asm__ volatile("pushl %%fs\n\tpopl %0" : "=r"(r));
		__asm__ volatile("movw %w0, %%fs" :: "r"(was));
		SECTION("segments: good");
	}
	faults();

	/* system calls: int $0x80 and the vDSO's way, six arguments, the old ones, signals of the
	 * old kind */
	{
		struct { long addr, len, prot, flags, fd, off; } old = { 0, 8192, 3, 0x22, -1, 0 };
		struct {
			void (*handler)(int); unsigned long mask, flags; void (*restorer)(void);
		} sa = { count, 0, 0, 0 };
		unsigned long mask = 1ul << (SIGUSR1 - 1), was = 0;
		char *m;

		__asm__ volatile("int $0x80" : "=a"(r) : "0"(20));
		CHECK((int)r == getpid() && vsyscall(20, 0, 0, 0, 0, 0, 0) == getpid());
		m = (char *)vsyscall(192, 0, 8192, 3, 0x22, -1, 0);
		CHECK((uintptr_t)m < 0xfffff000 && !m[8191]);
		m[0] = 1;
		CHECK(vsyscall(91, (long)m, 8192, 0, 0, 0, 0) == 0);
		m = (char *)syscall(90, &old);
		CHECK(m != MAP_FAILED && !m[4096]);
		old.off = 1;
		CHECK(syscall(90, &old) == -1 && errno == EINVAL);
		CHECK(syscall(9999) == -1 && errno == ENOSYS);
		__asm__ volatile("stc\n\tint $0x80\n\tsetc %b0" : "=a"(r) : "0"(20) : "cc");
		CHECK((r & 0xff) == 1);				/* flags survive */

		hits = 0;
		CHECK(syscall(SYS_sigaction, SIGUSR1, &sa, NULL) == 0);
		raise(SIGUSR1);
		CHECK(hits == 1);
		CHECK(syscall(SYS_sigprocmask, SIG_BLOCK, &mask, &was) == 0);
		raise(SIGUSR1);
		CHECK(hits == 1);
		CHECK(syscall(SYS_sigprocmask, SIG_SETMASK, &was, NULL) == 0 && hits == 2);
		CHECK(syscall(SYS_signal, SIGUSR1, count) == (long)count);
		raise(SIGUSR1);
		CHECK(hits == 3);
		/* one shot */
		CHECK(syscall(SYS_sigaction, SIGUSR1, NULL, &sa) == 0 && !sa.handler);
		CHECK(syscall(SYS_ssetmask, mask) == (long)was &&
		      syscall(SYS_sgetmask) == (long)mask);
		syscall(SYS_ssetmask, 0);
	}
	SECTION("system calls: good");
	return 0;
}
