/* SPDX-License-Identifier: MIT */
/* ring.h - the plug-in's side of the ring (collect/qemu/stream.h)
 *
 * Threads    the virtual processor's, and at the end the one that leaves QEMU. */
#ifndef PUGMARK_QEMU_RING_H
#define PUGMARK_QEMU_RING_H

#include <stdbool.h>

#include "collect/qemu/stream.h"

struct ring {
	uint64_t *w, *end;		/* in the buffer that is being filled; NULL: there is none */
	uint64_t *first;
	struct qs_ring *shared;
};
extern struct ring ring;
/* Called once, when pugmark has had enough and as many words again have been written as it may not
 * have read yet. */
extern void (*ring_enough)(void);

/* Map the memory file @fd. False: it is none of pugmark's. */
bool ring_open(int fd);
void ring_next(void);			/* this buffer is pugmark's, the next one is ours */
void ring_close(void);

/* HOT: once per block and reference. */
static inline void ring_put(uint64_t word)
{
	if (__builtin_expect(ring.w == ring.end, 0))
		ring_next();
	*ring.w++ = word;
}

void ring_put_first(uint64_t word);	/* into the next buffer */

/* The same, as the last thing that a function does: then it needs no frame. */
static inline void ring_put_last(uint64_t word)
{
	if (__builtin_expect(ring.w == ring.end, 0)) {
		ring_put_first(word);
		return;
	}
	*ring.w++ = word;
}

/* Room for a record of @n words. */
static inline void ring_room(unsigned n)
{
	if ((uint64_t)(ring.end - ring.w) < n)
		ring_next();
}

#endif
