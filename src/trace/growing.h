/* SPDX-License-Identifier: MIT */
/* growing.h - calling-context trees that grow in traced processes: what a collector and who wants
 * the tree tell each other
 *
 * Units      addresses are those in an object's file: address in memory minus load bias
 * Ownership  the caller free()s *@v; all else is lent during the call
 * Threads    one thread calls them, beside those of a pipeline */
#ifndef PM_TRACE_GROWING_H
#define PM_TRACE_GROWING_H

#include <stddef.h>
#include <stdint.h>

struct pm_stream;

struct pm_growing_row {			/* from @at on, up to the next one's */
	uint64_t at, lo;		/* lo: where the function begins */
	uint32_t function;		/* a number */
};

struct pm_growing_about {		/* a function */
	uint32_t flags;			/* enum rt_tree_flag */
	uint32_t name, part;		/* hash of its name; of that which this is a part of */
};

#define PM_GROWN_MADE 2u		/* the function of generated code */
struct pm_grown {			/* a context; parents come first, [0] is all the thread */
	uint64_t self, calls, pc;	/* pc: where a function of generated code begins */
	uint32_t parent, function;
};

struct pm_growing {
	void *self;
	uint32_t depth;			/* contexts; what would be deeper stands there */
	uint32_t most;			/* contexts of a thread, [0] among them */
	/* Of [lo, hi) in the file @path. */
	size_t (*rows)(void *self, const char *path, uint64_t lo, uint64_t hi,
		       struct pm_growing_row **v);
	void (*about)(void *self, uint32_t function, struct pm_growing_about *a);
	/* Thread @s, of process @s->pid, is over. */
	void (*grown)(void *self, const struct pm_stream *s, const struct pm_grown *node,
		      size_t n);
};

#endif
