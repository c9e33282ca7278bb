/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* persona.c - personality(): READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE, and who inherits it
 *
 *   persona show     print what has come with the exec */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include "self_check.h"

static unsigned char in_data[3 * 4096] = { 1 };
static unsigned old;

/* A function of four arguments: what it is called with has to be whole however it is reached. */
#ifdef __i386__
typedef int (*func)(int, int, int, int) __attribute__((regparm(3)));
static const unsigned char code[] = {
	0x8d, 0x04, 0x48,			/* lea (%eax,%ecx,2), %eax */
	0x8d, 0x04, 0x90,			/* lea (%eax,%edx,4), %eax */
	0x03, 0x44, 0x24, 0x04,			/* add 4(%esp), %eax */
	0x05, 0, 0, 0, 0, 0xc3,			/* add $0, %eax; ret */
};
#define VALUE 11
#define EXPECTED(v) (1 + 2 * 3 + 4 * 2 + 4 + (v))
#else
typedef int (*func)(int, int, int, int);
static const unsigned char code[] = {
	0x8d, 0x04, 0x4f,			/* lea (%rdi,%rcx,2), %eax */
	0x8d, 0x04, 0xb0,			/* lea (%rax,%rsi,4), %eax */
	0x01, 0xd0,				/* add %edx, %eax */
	0x05, 0, 0, 0, 0, 0xc3,			/* add $0, %eax; ret */
};
#define VALUE 9
#define EXPECTED(v) (1 + 4 * 2 + 3 + 2 * 4 + (v))
#endif

static void emit(void *p, int value)
{
	memcpy(p, code, sizeof code);
	memcpy((char *)p + VALUE, &value, 4);
}

/* Twice with other code: is the second seen? */
static void runs(void *p)
{
	const func f = (func)p;

	for (int i = 0; i < 1000; i++) {
		emit(p, i);
		CHECK(f(1, 2, 3, 4) == EXPECTED(i));
	}
}

static sigjmp_buf out;
static void on_segv(int sig)
{
	siglongjmp(out, sig);
}

static int faults(void *p)
{
	const func f = (func)p;

	if (sigsetjmp(out, 1))
		return 1;
	f(1, 2, 3, 4);
	return 0;
}

static void *map(int prot)
{
	void *p = mmap(NULL, 65536, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static unsigned now(void)
{
	return (unsigned)personality(0xffffffff);
}

static void *in_thread(void *p)
{
	CHECK(now() == (old | READ_IMPLIES_EXEC));
	CHECK((unsigned)personality(old) == (old | READ_IMPLIES_EXEC));
	emit(p = map(PROT_READ | PROT_WRITE), 1);
	CHECK(faults(p));
	return NULL;
}

static void wait_ok(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void show(const char *what, unsigned persona)
{
	printf("%s:%s%s\n", what, persona & ADDR_NO_RANDOMIZE ? " addresses stay" : "",
	       persona & READ_IMPLIES_EXEC ? " readable is executable" : "");
	fflush(stdout);
}

static void inherits(char *self, unsigned persona)
{
	const pid_t pid = fork();

	if (!pid) {
		CHECK(personality(persona) >= 0 && now() == persona);
		execl(self, self, "show", NULL);
		_exit(3);
	}
	wait_ok(pid);
}

int main(int argc, char **argv)
{
	unsigned char *early, *p;
	pthread_t t;
	pid_t pid;
	int fd;

	old = now() & ~(unsigned)(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE);
	if (argc > 1) {
		show("after exec", now());
		return 0;
	}
	CHECK(personality(old) >= 0);
	signal(SIGSEGV, on_segv);
	emit(early = map(PROT_READ | PROT_WRITE), 1);
	CHECK(faults(early));
	CHECK((unsigned)personality(old | READ_IMPLIES_EXEC) == old);
	CHECK(now() == (old | READ_IMPLIES_EXEC));
	SECTION("asked for, and so it says");

	CHECK(faults(early));
	p = map(PROT_READ | PROT_WRITE);
	runs(p);
	runs(p + 5000);
	SECTION("mapped: what is readable, from then on");
	p = map(PROT_NONE);
	CHECK(!mprotect(p, 8192, PROT_READ | PROT_WRITE));
	runs(p);
	CHECK(!mprotect(early, 4096, PROT_READ | PROT_WRITE));
	runs(early);
	CHECK(faults(early + 4096));
	p = (unsigned char *)(((uintptr_t)in_data + 4095) & ~4095ul);
	CHECK(!mprotect(p, 4096, PROT_READ | PROT_WRITE));
	runs(p);
	SECTION("protected: new, old, and the program's data");
	p = sbrk(0);
	CHECK(sbrk(3 << 20) == p);
	runs((unsigned char *)(((uintptr_t)p + 4095) & ~4095ul));
	runs(p + (2 << 20));
	CHECK(sbrk(-(2 << 20)) != (void *)-1);
	CHECK(sbrk(2 << 20) != (void *)-1);
	runs(p + (2 << 20));
	SECTION("the heap, given back and taken again");
	fd = open("persona.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && !unlink("persona.tmp"));
	CHECK(write(fd, code, sizeof code) == sizeof code && !ftruncate(fd, 4096));
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED && ((func)p)(1, 2, 3, 4) == EXPECTED(0));
	p = mremap(p, 4096, 8192, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED && ((func)p)(1, 2, 3, 4) == EXPECTED(0));
	SECTION("a file");

	CHECK(!pthread_create(&t, NULL, in_thread, NULL) && !pthread_join(t, NULL));
	CHECK(now() == (old | READ_IMPLIES_EXEC));
	SECTION("each thread has its own");
	pid = fork();
	if (!pid) {
		CHECK(now() == (old | READ_IMPLIES_EXEC));
		runs(map(PROT_READ | PROT_WRITE));
		_exit(0);
	}
	wait_ok(pid);
	SECTION("so has a child");
	inherits(argv[0], old);
	inherits(argv[0], old | ADDR_NO_RANDOMIZE);
	inherits(argv[0], old | READ_IMPLIES_EXEC);
	CHECK((unsigned)personality(old) == (old | READ_IMPLIES_EXEC) && now() == old);
	emit(p = map(PROT_READ | PROT_WRITE), 1);
	CHECK(faults(p));
	SECTION("and no more");
	return 0;
}
