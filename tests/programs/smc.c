/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* smc.c - code that is written while the program runs, in every way that there is */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include "self_check.h"

#ifdef __i386__			/* the argument is in eax */
typedef int (*func)(int) __attribute__((regparm(1)));
#define CODE_MOV 0xba			/* mov $value, %edx; add %edx, %eax; ret */
#define CODE_ADD "\x01\xd0\xc3"
#define CODE_LEA 0x80			/* lea disp32(%eax), %eax; mov %eax, %eax; ret */
#define CODE_RET "\x89\xc0\xc3"
#else
typedef int (*func)(int);
#define CODE_MOV 0xb8			/* mov $value, %eax; add %edi, %eax; ret */
#define CODE_ADD "\x01\xf8\xc3"
#define CODE_LEA 0xbf			/* lea disp32(%rdi), %edi; mov %edi, %eax; ret */
#define CODE_RET "\x89\xf8\xc3"
#endif

static size_t emit(unsigned char *p, int value)
{
	p[0] = CODE_MOV;
	memcpy(p + 1, &value, 4);
	memcpy(p + 5, CODE_ADD, 3);
	return 8;
}

static unsigned char *map(int prot)
{
	void *p = mmap(NULL, 65536, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Patches the instruction right behind the store, in the same straight run of code. */
extern char patched_insn[], patch_begin[], patch_end[];
__asm__(".text\n.globl patch_begin, patched_insn, patch_end\n"
	"patch_begin:\n\t"
#ifdef __i386__
	"call 1f\n1:\tpop %edx\n\tmov %eax, 3f+1-1b(%edx)\n"
#else
	"mov %edi, 3f+1(%rip)\n"
#endif
	"\tnop\n"
	"patched_insn:\n3:\tmov $0, %eax\n\t"
	"ret\n"
	"patch_end:\n");

static volatile int stop, turns;
static func shared_func;
static void *caller(void *arg)
{
	while (!stop) {
		int v = shared_func(1);

		CHECK(v == 101 || v == 201);
		turns++;
	}
	return arg;
}

/* One memory, two mappings: written here, executed there. */
static void two_mappings(void)
{
	int fd = memfd_create("code", 0);
	unsigned char *w, *x;

	CHECK(fd >= 0 && ftruncate(fd, 65536) == 0);
	w = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(w != MAP_FAILED && x != MAP_FAILED);
	for (int i = 0; i < 200; i++) {
		emit(w, i);
		CHECK(((func)x)(3) == i + 3);
	}
	SECTION("written through another mapping: 200");
	/* by the kernel, into the file that is mapped */
	for (int i = 0; i < 50; i++) {
		unsigned char code[8];

		emit(code, i + 1000);
		CHECK(pwrite(fd, code, 8, 0) == 8);
		CHECK(((func)x)(0) == i + 1000);
	}
	SECTION("written by a system call into the file: 50");
}

/* By the kernel, into writable code at @p. */
static void read_into_code(unsigned char *p)
{
	func f = (func)p;

	for (int i = 0; i < 50; i++) {
		unsigned char code[8];
		int pfd[2];
		struct iovec from = { code, 8 }, to = { p, 8 };

		emit(code, i + 5);
		CHECK(pipe(pfd) == 0 && write(pfd[1], code, 8) == 8 && read(pfd[0], p, 8) == 8);
		close(pfd[0]);
		close(pfd[1]);
		CHECK(f(1) == i + 6);
		emit(code, i + 50);
		CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 8);
		CHECK(f(1) == i + 51);
	}
	SECTION("read() into code: 50");
}

/* ... that runs, into several pages of it, by address and by vector. */
static void read_into_running_code(void)
{
	unsigned char *q;

	for (int i = 0; i < 20; i++) {
		static unsigned char code[3 * 4096];
		struct iovec to[2];
		int data = memfd_create("data", 0);

		q = map(PROT_READ | PROT_WRITE | PROT_EXEC);
		for (int k = 0; k < 3; k++) {
			emit(q + 4096 * k, k);
			CHECK(((func)(q + 4096 * k))(1) == k + 1);
			emit(code + 4096 * k, 100 * i + k);
		}
		to[0] = (struct iovec){ q, 4096 };
		to[1] = (struct iovec){ q + 4096, 8192 };
		CHECK(write(data, code, sizeof code) == sizeof code);
		if (i & 1)
			CHECK(pread(data, q, sizeof code, 0) == sizeof code);
		else
			CHECK(preadv(data, to, 2, 0) == sizeof code);
		for (int k = 0; k < 3; k++)
			CHECK(((func)(q + 4096 * k))(1) == 100 * i + k + 1);
		errno = 0;
		CHECK(pread(data, (void *)16, 8, 0) == -1 && errno == EFAULT);
		CHECK(pread(data, map(PROT_READ), 8, 0) == -1 && errno == EFAULT);
		close(data);
	}
	SECTION("read() into code that runs: 20");
}

/* A generator: thousands of functions that call each other, some rewritten. */
static void generator(void)
{
	unsigned char *p;
	int sum = 0;

	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	for (int i = 0; i < 4000; i++) {
		unsigned char *c = p + i * 32;
		int32_t d;

		/* add i to the argument; jmp to the one before, or return it */
		c[0] = 0x8d; c[1] = CODE_LEA;
		d = i % 7;
		memcpy(c + 2, &d, 4);
		if (i % 16) {
			c[6] = 0xe9;
			d = (int32_t)(c - 32 - (c + 11));
			memcpy(c + 7, &d, 4);
		} else {
			memcpy(c + 6, CODE_RET, 3);
		}
	}
	for (int i = 0; i < 4000; i++)
		sum += ((func)(p + i * 32))(i);
	for (int i = 0; i < 4000; i += 16) {
		p[i * 32 + 2] = 100;
		sum += ((func)(p + (i + 3) % 4000 * 32))(i);
	}
	SECTION("4000 generated functions: %d", sum);
}

/* One thread calls while another rewrites (an aligned operand: old or new, nothing else). */
static void rewritten_under_a_thread(void)
{
	unsigned char *p;
	pthread_t t;

	p = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	memset(p, 0x90, 64);
	emit(p + 3, 100);			/* operand at p + 4: aligned */
	shared_func = (func)p;
	CHECK(pthread_create(&t, NULL, caller, NULL) == 0);
	for (int i = 0; i < 2000; i++) {
		*(volatile int *)(p + 4) = i & 1 ? 100 : 200;
		if (i % 100 == 0)
			usleep(500);
	}
	*(volatile int *)(p + 4) = 200;
	usleep(1000);
	stop = 1;
	pthread_join(t, NULL);
	CHECK(shared_func(1) == 201);
	SECTION("rewritten under a running thread: good");
}

int main(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE | PROT_EXEC), *q;
	func f = (func)p;

	for (int i = 0; i < 1000; i++) {
		emit(p, i);
		CHECK(f(5) == i + 5);
	}
	SECTION("rewritten and called: 1000");

	for (int i = 0; i < 100; i++) {
		emit(p, i);
		CHECK(f(1) == i + 1 && f(2) == i + 2);
		p[1] = 77;				/* one byte of an operand */
		p[2] = p[3] = p[4] = 0;
		CHECK(f(1) == 78);
	}
	SECTION("patched in place: 100");

	q = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(q, patch_begin, (size_t)(patch_end - patch_begin));
	for (int i = 0; i < 200; i++)
		CHECK(((func)q)(i) == i);
	SECTION("the next instruction patched: 200");

	for (int i = 0; i < 100; i++) {
		CHECK(mprotect(p, 65536, PROT_READ | PROT_WRITE) == 0);
		emit(p, i * 3);
		CHECK(mprotect(p, 65536, PROT_READ | PROT_EXEC) == 0);
		CHECK(f(4) == i * 3 + 4);
	}
	SECTION("mprotect to and fro: 100");

	for (int i = 0; i < 50; i++) {
		CHECK(munmap(p, 65536) == 0);
		CHECK(mmap(p, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		emit(p, i * 7);
		CHECK(f(0) == i * 7);
		/* mapped over without munmap */
		CHECK(mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		emit(p, i * 9);
		CHECK(f(0) == i * 9);
	}
	SECTION("unmapped and mapped again: 50");

	two_mappings();
	read_into_code(p);
	read_into_running_code();

	/* mremap moves code */
	q = mremap(p, 65536, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, map(PROT_NONE));
	CHECK(q != MAP_FAILED && q != p && ((func)q)(1) == 100);
	SECTION("moved: good");

	generator();
	rewritten_under_a_thread();
	return 0;
}
