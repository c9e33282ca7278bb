/* SPDX-License-Identifier: MIT */
/* split.h - one simulator over one trace, by several threads, with the result of one
 *
 * The trace is cut in time, into slices of whole chunks; if the last slices are fewer than threads,
 * they are cut further. Each thread simulates slices without knowing what came before; what is
 * uncertain then is settled when the slice before has been (join), in the slices' order. Levels of
 * caches are stages: what leaves a level is certain only then.
 *
 * What can be split so: .pug files (chunks can be read by themselves) of one thread, or without
 * blocks; caches and TLBs whose levels are all lru, wb, wa and nothing else (pm_cache_split()), or
 * whose sets have nothing in common (set_split.h); reuse distances without sample= and window=
 * (pm_reuse_split()).
 *
 * Threads    a part belongs to one thread; join() is never called by two at once. */
#ifndef PM_ANALYSE_SPLIT_H
#define PM_ANALYSE_SPLIT_H

#include "pugmark/pugmark.h"

struct pm_split_ops {
	unsigned (*stages)(const void *whole);
	void *(*part_new)(void *whole);
	void (*begin)(void *part);		/* a slice */
	/* PM_END: what happens here can only be simulated in order. */
	enum pm_status (*consume)(void *part, const struct pm_batch *b, struct pm_err *err);
	void (*join)(void *part, unsigned stage);	/* in the slices' order */
	void (*proceed)(void *part, unsigned stage);	/* join() of the stage allows this */
	void (*part_end)(void *part);	/* one by one: what it counted is the whole's; frees it */
	void (*end)(void *whole);	/* into the simulator; frees it */
	void (*give_up)(void *whole);	/* frees it; the simulator is as it was */
	uint64_t slice_most;		/* instructions; 0: as many as others want */
};
struct pm_split { const struct pm_split_ops *ops; void *whole; };

struct pm_cache;
/* NULL whole: it cannot be split. */
struct pm_split pm_cache_split(struct pm_cache *c);
struct pm_split pm_reuse_split(void *sink);

/* Simulate the trace at @path with @threads threads. Ends or gives up all of @s. PM_END: the trace
 * is none that can be split, @why says in which way; nothing has been simulated. */
enum pm_status pm_split_run(const char *path, unsigned threads, const struct pm_split *s, size_t n,
			    const char **why, struct pm_err *err);

#endif
