/* SPDX-License-Identifier: MIT */
/* holes.c [look] - a program that unmaps, protects, asks about and maps parts of its address space
 * where it has nothing; who traces it may have something there. With `look` it maps nothing. */
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "self_check.h"

#define MIB (1ul << 20)
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Far from everything that a program has, but not from it for a displacement of 32 bits. */
static const struct part {
	unsigned long lo, hi;
} parts[] = {
#ifdef __i386__
	{ 0x30000000, 0x50000000 },
#else
	{ 0x555500000000, 0x555554000000 },
	{ 0x7fff00000000, 0x7ffff0000000 },
	{ 0x70000000, 0x470000000 },
	{ 0x2c0000000000, 0x400000000000 },
#endif
};

static int twice(int x)
{
	return 2 * x;
}

static int (*volatile call)(int) = twice;

static void work(void)
{
	char text[64];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "%d", call(i));
		CHECK(atoi(text) == 2 * i);
	}
}

static void look(const struct part *p)
{
	unsigned char in[8];
	void *at = (void *)p->lo;
	const size_t n = p->hi - p->lo;

	CHECK(mprotect(at, n, PROT_READ) < 0 && errno == ENOMEM);
	CHECK(mprotect(at, n, 0x12340) < 0 && errno == EINVAL);
	CHECK(madvise(at, n, MADV_DONTNEED) < 0 && errno == ENOMEM);
	CHECK(madvise(at, n, 4711) < 0 && errno == EINVAL);
	CHECK(msync(at, n, MS_ASYNC) < 0 && errno == ENOMEM);
	CHECK(mincore(at, 4096, in) < 0 && errno == ENOMEM);
	CHECK(mlock(at, 4096) < 0 && errno == ENOMEM);
	CHECK(munlock(at, n) < 0 && errno == ENOMEM);
	CHECK(mremap(at, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(!munmap(at, n));
	CHECK(munmap((char *)at + 1, n) < 0 && errno == EINVAL);
	work();
}

/* A page at both ends of what is not there. */
static void edges(const struct part *p)
{
	char *lo = mmap((void *)(p->lo - 4096), 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	char *hi = mmap((void *)p->hi, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	const size_t n = p->hi - p->lo + 8192;
	unsigned char in[2];

	CHECK(lo != MAP_FAILED && hi != MAP_FAILED);
	*lo = *hi = 1;
	CHECK(madvise(lo, n, MADV_DONTNEED) < 0 && errno == ENOMEM);
	CHECK(!*lo && !*hi);
	CHECK(mprotect(lo, n, PROT_READ) < 0 && errno == ENOMEM);
	*hi = 1;
	CHECK(syscall(SYS_read, -1, hi, 1) < 0 && !mprotect(lo, 4096, PROT_READ | PROT_WRITE));
	*lo = 1;
	CHECK(!munmap(lo, n));
	CHECK(mincore(lo, 4096, in) < 0 && mincore(hi, 4096, in) < 0);
	work();
}

static void map_over(const struct part *p, int flags)
{
	char *at = mmap((void *)p->lo, p->hi - p->lo, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	CHECK(at == (char *)p->lo);
	for (size_t i = 0; i < p->hi - p->lo; i += MIB)
		CHECK(!at[i]);
	work();
	for (size_t i = 0; i < p->hi - p->lo; i += 64 * MIB)
		at[i] = 1;
	work();
	CHECK(at[0] == 1 && !munmap(at, p->hi - p->lo));
	work();
}

/* ... in another process than that which has been translated for. */
static void child(void)
{
	int status;
	const pid_t pid = fork();

	if (!pid) {
		map_over(&parts[0], MAP_FIXED);
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void move_over(const struct part *p)
{
	const size_t n = p->hi - p->lo;
	char *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	at[n / 2] = 3;
	CHECK(mremap(at, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)p->lo) == (void *)p->lo);
	CHECK(((char *)p->lo)[n / 2] == 3);
	work();
	CHECK(!munmap((void *)p->lo, n));
}

static void attach_over(const struct part *p)
{
	const size_t n = p->hi - p->lo;
	const int id = shmget(IPC_PRIVATE, n, 0600 | SHM_NORESERVE);
	char *at;

	if (id < 0)				/* not here */
		return;
	at = shmat(id, (void *)p->lo, 0);
	shmctl(id, IPC_RMID, NULL);
	CHECK(at == (char *)p->lo);
	work();
	CHECK(!shmdt(at));
}

/* Without randomization it is where it says. */
static void stay(char **argv)
{
	const int now = personality(0xffffffff);

	if (!getenv("STAYS") && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0 &&
	    !setenv("STAYS", "1", 1))
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	const int maps = argc == 1 && sizeof(void *) == 8;

	stay(argv);

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		look(&parts[i]);
	SECTION("looked");
	if (maps) {
		edges(&parts[0]);
		edges(&parts[1]);
		SECTION("around");
	}
	for (int i = 0; i < 3 * maps; i++) {
		map_over(&parts[0], MAP_FIXED);
		map_over(&parts[1], MAP_FIXED_NOREPLACE);
	}
	if (maps) {
		child();
		map_over(&parts[0], MAP_FIXED);
		move_over(&parts[0]);
		attach_over(&parts[0]);
		map_over(&parts[1], MAP_FIXED);
		SECTION("over");
	}
	CHECK(!mlockall(MCL_CURRENT) || errno == ENOMEM || errno == EPERM);
	work();
	SECTION("locked");
	return 0;
}
