/* SPDX-License-Identifier: MIT */
/* hostile.c SEED - a program, one of whose processes asks the controller for anything, on behalf of
 * all of its threads, while the others do what needs answers; until it is ended
 * hostile.c PID claim - ... that says that process PID is a child of its, about to execute another
 * program; what the kernel says of that process then
 *
 * Without a tracer there is nobody to ask: it says so, and ends. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/collect/runtime/abi.h"

#define BLOCK(n) (RT_DATA_VAULT + (uint64_t)(n) * RT_BLOCK_SIZE)
#define BLOCKS 12u

static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t argument(void)
{
	switch (any() % 6) {
	case 0: return any() % 8;
	case 1: return (uint64_t)getpid() - any() % 3;
	case 2: return (uint64_t)(uintptr_t)&any + any() % 4096;
	case 3: return RT_CODE_VAULT + any() % (1 << 24);
	case 4: return ~0ull >> any() % 64;
	default: return any();
	}
}

/* One request of a thread; and what it was told, and a little of what all share. */
static void ask(void)
{
	struct rt_session *head = (struct rt_session *)BLOCK(0);
	struct rt_block *b = (struct rt_block *)BLOCK(1 + any() % BLOCKS);

	b->mail.op = any() % (RQ_LAST + 3);
	for (unsigned i = 0; i < 6; i++)
		b->mail.a[i] = argument();
	b->mail.failed = any() % 3;
	b->mail.ncmd = any() % 60;
	b->mail.cmd[any() % RT_MAX_CMDS].a[any() % 5] = argument();
	if (any() % 8 == 0)
		b->seen_pid = b->seen_tid = (uint32_t)argument();
	if (any() % 8 == 0)
		b->state = any() % 5;
	if (any() % 64 == 0)
		head->pid = head->no_aslr = (uint32_t)any();
	b->mail.state = any() % 4 ? MAIL_REQUEST : any() % 5;
	__atomic_fetch_add(&head->doorbell, 1, __ATOMIC_SEQ_CST);
}

/* What the thread with block @n asks; its answer. */
static uint64_t ask_for(unsigned n, uint32_t op, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct rt_session *head = (struct rt_session *)BLOCK(0);
	struct rt_mail *m = &((struct rt_block *)BLOCK(n))->mail;

	m->op = op;
	m->a[0] = a0;
	m->a[1] = a1;
	m->a[2] = a2;
	m->a[5] = m->failed = 0;
	m->state = MAIL_REQUEST;
	__atomic_fetch_add(&head->doorbell, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < 300; i++) {
		if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == MAIL_REPLY)
			break;
		usleep(1000);
	}
	return m->r[0];
}

/* Several times: what is executed for the first time is asked for by the same mailbox. */
static void claim(uint64_t pid)
{
	char line[256];
	FILE *f;

	for (unsigned i = 0; i < 5; i++) {
		const uint64_t n = ask_for(1, RQ_BLOCK, BLK_FORKED, 0, 0);

		if (!n || n >= RT_BLOCKS)
			continue;
		ask_for((unsigned)n, RQ_HELLO, pid, pid, 1);
		ask_for((unsigned)n, RQ_EXEC, 0, 0, 0);
	}
	snprintf(line, sizeof line, "/proc/%llu/status", (unsigned long long)pid);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "State", 5) || !strncmp(line, "TracerPid", 9))
			fputs(line, stdout);
	if (f)
		fclose(f);
}

static void work(void)
{
	static const uint8_t code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };	/* mov $1, %eax; ret */
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (p == MAP_FAILED)
		return;
	memcpy(p, code, sizeof code);
	((int (*)(void))(uintptr_t)p)();
	munmap(p, 4096);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	void *own = mmap((void *)BLOCK(0), 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | 0x100000, -1, 0);
	const pid_t parent = getpid();

	if (own == (void *)BLOCK(0)) {
		puts("nobody to ask");
		return 0;
	}
	if (own != MAP_FAILED)
		munmap(own, 4096);
	if (argc > 2) {
		claim(strtoull(argv[1], NULL, 0));
		return 0;
	}
	state = strtoull(argc > 1 ? argv[1] : "1", NULL, 0) * 0x9e3779b97f4a7c15u + 1;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			ask();
		_exit(0);
	}
	for (;;)
		work();
}
