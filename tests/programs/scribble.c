/* SPDX-License-Identifier: MIT */
/* scribble.c [WHAT SEED] - a program that writes over what tracing keeps in its memory: with WHAT
 * over these
 *
 *   bytes      all trace buffers of its first thread, any bytes
 *   records    ... records of blocks that are likely to exist
 *   places     ... a thousand places in them
 *   full       how full they are
 *   mail       its own request
 *   requests   requests of threads that there are not
 *   header     what all processes share
 *   threads    two threads, buffers of the first three threads and how full they are, while the
 *              first one works; with a third argument until a signal ends it
 *
 * and without, over the beginning of one buffer. Without a tracer the addresses are its own to
 * use. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/collect/runtime/abi.h"

#define BLOCK(n) (RT_DATA_VAULT + (uint64_t)(n) * RT_BLOCK_SIZE)
#define BUFFER(n) ((char *)BLOCK(1) + RT_TRACE + (n) * RT_CHUNK_STRIDE)
#define OTHERS 8u			/* thread blocks */

#define ENOUGH 1000000u			/* words of each thread before the first one ends */

static uint64_t state;
static unsigned words[2];

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void fill(void *at, size_t n)
{
	uint32_t *p = at;

	for (size_t i = 0; i < n / 4; i++)
		p[i] = (uint32_t)any();
}

static void records(void)
{
	for (unsigned k = 0; k < RT_CHUNKS; k++)
		for (size_t i = 0; i < RT_CHUNK; i += 4)
			*(uint32_t *)(BUFFER(k) + i) = (uint32_t)RT_RECORD(any() % 3000,
									   4 * (1 + any() % 4));
}

static void requests(void)
{
	struct rt_session *head = (struct rt_session *)BLOCK(0);

	for (unsigned k = 0; k < 200; k++) {
		struct rt_block *b = (struct rt_block *)BLOCK(2 + k % OTHERS);

		for (unsigned i = 0; i < 6; i++)
			b->mail.a[i] = any() >> any() % 64;
		b->mail.op = any() % (RQ_LAST + 3);
		b->mail.failed = any() % 3;
		b->mail.ncmd = any() % 100;
		b->mail.state = MAIL_REQUEST;
		__atomic_fetch_add(&head->doorbell, 1, __ATOMIC_SEQ_CST);
		usleep(100);
	}
}

static void scribble(const char *what)
{
	struct rt_block *b = (struct rt_block *)BLOCK(1);

	if (!strcmp(what, "bytes")) {
		for (unsigned k = 0; k < RT_CHUNKS; k++)
			fill(BUFFER(k), RT_CHUNK);
	} else if (!strcmp(what, "records")) {
		records();
	} else if (!strcmp(what, "places")) {
		for (unsigned i = 0; i < 1000; i++)
			fill(BUFFER(any() % RT_CHUNKS) + any() % RT_CHUNK / 4 * 4, 4);
	} else if (!strcmp(what, "full")) {
		fill(b->full, sizeof b->full);
	} else if (!strcmp(what, "mail")) {
		fill(&b->mail, sizeof b->mail);
	} else if (!strcmp(what, "requests")) {
		requests();
	} else if (!strcmp(what, "header")) {
		fill((uint32_t *)BLOCK(0) + 1, sizeof(struct rt_session) - 4);
	}
}

/* Words that may be records, and any, in buffers of all threads; how full these are. */
static void *scribble_on(void *arg)
{
	unsigned *const n = arg;
	uint64_t x = (state + 1 + (uintptr_t)(n - words)) * 0x9e3779b97f4a7c15u | 1;

	for (;;) {
		struct rt_block *b = (struct rt_block *)BLOCK(1 + (x >> 60) % 3);
		char *at = (char *)b + RT_TRACE + (x >> 40) % RT_CHUNKS * RT_CHUNK_STRIDE;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x % 4096 == 0)
			b->full[(x >> 32) % RT_CHUNKS] = (uint32_t)(x >> 44);
		else
			*(volatile uint32_t *)(at + (x >> 12) % RT_CHUNK / 4 * 4) =
				x & 1 ? (uint32_t)x : (uint32_t)RT_RECORD((x >> 8) % 3000, 8);
		__atomic_store_n(n, *n + (*n < ENOUGH), __ATOMIC_RELAXED);
	}
	return NULL;
}

static void start_threads(void)
{
	pthread_t t;

	for (unsigned i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, scribble_on, &words[i]))
			exit(2);
	for (unsigned i = 0; i < 2; i++)
		while (__atomic_load_n(&words[i], __ATOMIC_RELAXED) < ENOUGH)
			;
}

int main(int argc, char **argv)
{
	void *own = mmap((void *)BLOCK(0), BLOCK(2 + OTHERS) - BLOCK(0), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | 0x100000, -1, 0);
	static volatile int sum;

	if (own != (void *)BLOCK(0) && own != MAP_FAILED)	/* taken: it is pugmark's */
		munmap(own, BLOCK(2 + OTHERS) - BLOCK(0));
	if (argc > 2) {
		state = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15u + 1;
		if (!strcmp(argv[1], "threads"))
			start_threads();
		scribble(argv[1]);
	} else {
		memset(BUFFER(0), 0x5a, 4096);
	}
	for (int i = 0; i < 3000000; i++)
		sum += i;
	puts("done");
	fflush(stdout);
	while (argc > 3)
		sum++;
	return 0;
}
