/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring ring;
void (*ring_enough)(void);

static uint64_t *buffer(uint32_t number)
{
	return (uint64_t *)((char *)ring.shared + QS_HEADER + number % QS_BUFFERS * QS_BYTES);
}

static void begin_buffer(void)
{
	struct qs_ring *s = ring.shared;
	uint32_t emptied;

	/* pugmark may be killed: then so is QEMU, so there is an end to this */
	while (s->filled - (emptied = __atomic_load_n(&s->emptied, __ATOMIC_ACQUIRE)) >= QS_BUFFERS)
		syscall(SYS_futex, &s->emptied, FUTEX_WAIT, emptied, NULL, NULL, 0);
	ring.w = ring.first = buffer(s->filled);
	ring.end = ring.w + QS_WORDS;
}

bool ring_open(int fd)
{
	void *p = mmap(NULL, QS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return false;
	ring.shared = p;
	if (ring.shared->magic != QS_MAGIC)
		return false;
	begin_buffer();
	return true;
}

static void pass_buffer(void)
{
	struct qs_ring *s = ring.shared;

	s->used[s->filled % QS_BUFFERS] = (uint32_t)(ring.w - ring.first);
	__atomic_store_n(&s->filled, s->filled + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->filled, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void ring_next(void)
{
	static unsigned more;

	pass_buffer();
	if (__atomic_load_n(&ring.shared->enough, __ATOMIC_RELAXED) && more++ == QS_BUFFERS &&
	    ring_enough)
		ring_enough();
	begin_buffer();
}

void ring_put_first(uint64_t word)
{
	ring_next();
	*ring.w++ = word;
}

void ring_close(void)
{
	if (!ring.w)
		return;
	ring_put(qs_record(QS_END, 0, 0));
	__atomic_store_n(&ring.shared->ended, 1, __ATOMIC_RELEASE);
	pass_buffer();
	ring.w = ring.end = NULL;
}
