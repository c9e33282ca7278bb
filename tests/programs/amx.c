/* SPDX-License-Identifier: MIT */
/* amx.c - loads and stores of tiles: every shape and stride, stopped by faults half of their way,
 * in signal handlers; what the kernel says of signal stacks when there are tiles. "fast": without
 * what takes a single-stepper long; "first": a handler is the first to use tiles, which Linux lets
 * return without ASLR only if the stack is deep */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include "self_check.h"

#define PAGE 4096
enum { GET_PERM = 0x1022, REQ_PERM = 0x1023, TILES = 18 };	/* arch_prctl() */

struct config {
	uint8_t palette, start_row, reserved[14];
	uint16_t colsb[16];
	uint8_t rows[16];
} __attribute__((aligned(64)));

static uint8_t from[8 * 1024] __attribute__((aligned(64))),
	to[16 * 1024] __attribute__((aligned(64)));
static __thread uint8_t own[1024];
static uint8_t *pages;			/* three, the second is what faults */
static sigjmp_buf back;
static volatile int faults, hits;
static volatile uintptr_t fault_at;

static void configure(const struct config *c)
{
	__asm__ volatile("ldtilecfg %0" :: "m"(*c));
}

#define LOAD(tile, base, stride)                                                               \
	__asm__ volatile("tileloadd (%0, %1, 1), %%tmm" #tile ::"r"(base), "r"((long)(stride)) \
			 : "memory")
#define STORE(tile, base, stride)                                                                  \
	__asm__ volatile("tilestored %%tmm" #tile ", (%0, %1, 1)" ::"r"(base), "r"((long)(stride)) \
			 : "memory")

static void fill(uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i += 8) {
		const uint64_t v = (i + 1) * 0x9e3779b97f4a7c15u;

		memcpy(p + i, &v, 8);
	}
}

static void shapes(unsigned step)
{
	struct config c = { .palette = 1 };

	fill(from, sizeof from);
	for (unsigned rows = 1; rows <= 16; rows += step)
		for (unsigned n = 4; n <= 64; n += n < 16 ? 4 : 20) {
			c.rows[0] = (uint8_t)rows;
			c.colsb[0] = (uint16_t)n;
			c.rows[7] = (uint8_t)(17 - rows);
			c.colsb[7] = (uint16_t)(68 - n);
			configure(&c);
			memset(to, 0, 4096);
			LOAD(0, from + 5, 100);
			STORE(0, to, 64);
			for (unsigned i = 0; i < 16; i++) {
				CHECK(i >= rows || !memcmp(to + 64 * i, from + 5 + 100 * i, n));
				CHECK(i < rows && n == 64 ? 1 : !to[64 * i + (i < rows ? n : 0)]);
			}
			LOAD(7, from + 4096, -64);
			STORE(7, to + 8192, -80);
			CHECK(!memcmp(to + 8192 - 80 * (16 - rows), from + 4096 - 64 * (16 - rows),
				      68 - n));
		}
	__asm__ volatile("tilerelease");
}

static void addresses(void)
{
	struct config c = { .palette = 1, .rows = { 16, 3, 4 }, .colsb = { 64, 12, 60 } };
	uint8_t *const low = mmap((void *)0x10000000, PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint8_t *volatile const mine = own;
	const uintptr_t here = (uintptr_t)mine + 512;
	uintptr_t fs;

	CHECK(low != MAP_FAILED);
	memcpy(low, from, PAGE);
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	configure(&c);
	for (unsigned round = 0; round < 2; round++) {
		__asm__ volatile("mov $20, %%ecx\n\t"
				 "tileloadd 0x40(%0, %%rcx, 8), %%tmm0\n\t"
				 "lea 4(%%rcx), %%rdx\n\t"
				 "tilestored %%tmm0, -0x40(%1, %%rdx, 2)\n\t"
				 "tileloaddt1 (%0), %%tmm1\n\t"	/* every row is the same */
				 "tilestored %%tmm1, 0x800(%1, %%rdx, 1)"
				 :: "r"(from), "r"(to + 64) : "rcx", "rdx", "memory");
		for (unsigned i = 0; i < 16; i++)
			CHECK(!memcmp(to + 48 * i, from + 0x40 + 160 * i, i < 15 ? 48 : 64));
		for (unsigned i = 0; i < 3; i++)
			CHECK(!memcmp(to + 64 + 0x800 + 24 * i, from, 12));
		/* 32-bit addresses; a segment */
		__asm__ volatile("tileloadd (%k0, %k1, 4), %%tmm2\n\ttilestored %%tmm2, (%2, %3, 1)"
				 :: "r"(low + 512), "r"(-16l), "r"(to), "r"(60l) : "memory");
		for (unsigned i = 0; i < 4; i++)
			CHECK(!memcmp(to + 60 * i, from + 512 - 64 * i, 60));
		__asm__ volatile("tilestored %%tmm2, %%fs:(%0, %1, 1)" ::"r"(here - fs), "r"(-60l)
				 : "memory");
		for (unsigned i = 0; i < 4; i++)
			CHECK(!memcmp(own + 512 - 60 * i, from + 512 - 64 * i, 60));
		/* other registers, the one that translated code has for itself among them */
		__asm__ volatile("mov %0, %%r11\n\tmov $64, %%r12d\n\t"
				 "tileloadd (%%r11, %%r12, 1), %%tmm0\n\t"
				 "mov %1, %%r13\n\tmov $32, %%r11d\n\t"
				 "tilestored %%tmm0, (%%r13, %%r11, 2)"
				 :: "r"(from + 77), "r"(to) : "r11", "r12", "r13", "memory");
		CHECK(!memcmp(to, from + 77, 1024));
	}
	__asm__ volatile("tilerelease");
	munmap(low, PAGE);
}

static void repair(int sig, siginfo_t *si, void *context)
{
	CHECK(sig == SIGSEGV && (uint8_t *)si->si_addr >= pages + PAGE &&
	      (uint8_t *)si->si_addr < pages + 2 * PAGE);
	faults++;
	fault_at = (uintptr_t)si->si_addr - (uintptr_t)pages;
	CHECK(!mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE));
	(void)context;
}

static void leave(int sig, siginfo_t *si, void *context)
{
	faults++;
	(void)si;
	(void)context;
	siglongjmp(back, sig);
}

static void set(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&sa.sa_mask);
	CHECK(!sigaction(sig, &sa, NULL));
}

/* Rows of 256 bytes, of which some are on the page that faults, first ones, middle ones, or last
 * ones. */
static void stops(void)
{
	const struct config c = { .palette = 1, .rows = { 16, 16 }, .colsb = { 64, 64 } };

	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	fill(pages, 3 * PAGE);
	for (unsigned at = 256; at <= 2 * PAGE - 256; at += 512 - 32) {
		configure(&c);
		set(SIGSEGV, repair, 0);
		CHECK(!mprotect(pages + PAGE, PAGE, PROT_NONE));
		LOAD(0, pages + at, 256);
		CHECK(!mprotect(pages + PAGE, PAGE, PROT_READ));
		STORE(0, pages + at, 256);
		STORE(0, to, 64);
		for (unsigned i = 0; i < 16; i++)
			CHECK(!memcmp(to + 64 * i, pages + at + 256 * i, 64));
		set(SIGSEGV, leave, 0);
		CHECK(!mprotect(pages + PAGE, PAGE, PROT_NONE));
		if (!sigsetjmp(back, 1)) {
			LOAD(1, pages + at, 256);
			CHECK(!"no fault");
		}
		CHECK(!mprotect(pages + PAGE, PAGE, PROT_READ));
		configure(&c);
		if (!sigsetjmp(back, 1)) {
			STORE(1, pages + at, 256);
			CHECK(!"no fault");
		}
		CHECK(!mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE));
	}
	__asm__ volatile("tilerelease");
	set(SIGSEGV, NULL, 0);
	munmap(pages, 3 * PAGE);
}

/* The program's tiles are not the handler's. */
static void handler(int sig, siginfo_t *si, void *context)
{
	const struct config c = { .palette = 1, .rows = { 8, 8, 8 }, .colsb = { 64, 64, 64 } };
	struct config now;

	__asm__ volatile("sttilecfg %0" : "=m"(now));
	CHECK(!now.palette);
	configure(&c);
	LOAD(0, from + 1000, 64);
	LOAD(1, from + 1000, 64);
	LOAD(2, from + 1000, 64);
	hits++;
	(void)sig;
	(void)si;
	(void)context;
}

static void *work(void *arg)
{
	const struct config c = { .palette = 1, .rows = { 16, 16, 16 }, .colsb = { 64, 64, 64 } };
	static const int stride = 64;
	int sum[256];
	sigset_t timer;

	configure(&c);
	LOAD(0, from, 64);
	/* the first signal comes when there are tiles: see "first" */
	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &timer, NULL);
	for (unsigned i = 0; i < 1000 || hits < 50; i++) {
		__asm__ volatile("tilezero %%tmm0\n\t"
				 "tileloadd (%0, %3, 1), %%tmm1\n\t"
				 "tileloadd (%1, %3, 1), %%tmm2\n\t"
				 "tilestored %%tmm1, (%2, %3, 1)" ::"r"(from),
				 "r"(from + 1024), "r"(sum), "r"((long)stride)
				 : "memory");
		CHECK(!memcmp(sum, from, sizeof sum));
		for (volatile int k = 0; k < 100; k++)
			;
		STORE(2, sum, stride);
		CHECK(!memcmp(sum, from + 1024, sizeof sum));
		STORE(0, sum, stride);
		for (unsigned k = 0; k < 256; k++)
			CHECK(!sum[k]);
	}
	__asm__ volatile("tilerelease");
	return arg;
}

static void signals(void)
{
	struct itimerval tick = { { 0, 1000 }, { 0, 1000 } }, none = { 0 };
	pthread_t t;
	sigset_t timer;

	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	sigprocmask(SIG_BLOCK, &timer, NULL);
	set(SIGALRM, handler, SA_RESTART);
	CHECK(!pthread_create(&t, NULL, work, NULL));
	setitimer(ITIMER_REAL, &tick, NULL);
	work(NULL);
	CHECK(!pthread_join(t, NULL));
	setitimer(ITIMER_REAL, &none, NULL);
}

static long altstack(void *p, size_t size)
{
	const stack_t s = { .ss_sp = p, .ss_size = size };

	return sigaltstack(&s, NULL) ? -errno : 0;
}

static void nothing(int sig, siginfo_t *si, void *context)
{
	hits++;
	(void)sig;
	(void)si;
	(void)context;
}

/* A signal stack has to have room for tiles from when there may be some. */
static void stacks(void)
{
	const size_t least = getauxval(AT_MINSIGSTKSZ);
	uint8_t *const stack = malloc(8 * least);
	const stack_t off = { .ss_flags = SS_DISABLE };
	uint64_t may = 0;

	CHECK(least > 8192);
	CHECK(!altstack(stack, 4096));
	printf("permission with a small stack: %d",
	       syscall(SYS_arch_prctl, REQ_PERM, TILES) ? errno : 0);
	CHECK(!sigaltstack(&off, NULL));
	printf(", without one: %d\n", syscall(SYS_arch_prctl, REQ_PERM, TILES) ? errno : 0);
	CHECK(!syscall(SYS_arch_prctl, GET_PERM, &may) && may >> TILES & 1);
	CHECK(altstack(stack, 2047) == -ENOMEM);
	CHECK(altstack(stack, 4096) == -ENOMEM);
	CHECK(altstack(stack, least / 2) == -ENOMEM);
	CHECK(!altstack(stack, least + 64));
	CHECK(!altstack(stack, 8 * least));
	set(SIGUSR1, nothing, SA_ONSTACK);
	hits = 0;
	raise(SIGUSR1);
	CHECK(hits == 1);
	CHECK(!sigaltstack(&off, NULL));
	hits = 0;
	free(stack);
	SECTION("signal stacks: good");
}

int main(int argc, char **argv)
{
	stacks();
	if (argc > 1 && !strcmp(argv[1], "first")) {
		set(SIGUSR1, handler, 0);
		CHECK(!raise(SIGUSR1) && hits == 1);
		SECTION("first: good");
		return 0;
	}
	shapes(argc == 1 ? 1 : 5);
	SECTION("shapes: good");
	addresses();
	SECTION("addresses: good");
	stops();
	SECTION("faults: %d, of which the last at %#lx", faults, (long)fault_at);
	if (argc == 1) {
		signals();
		SECTION("signals: good");
	}
	return argc > 2 ? argv[2][0] : 0;
}
