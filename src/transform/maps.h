/* SPDX-License-Identifier: MIT */
/* maps.h - which memory each traced process has, from the events that change it
 *
 * Mapped is what PM_EV_MMAP said, without what PM_EV_MUNMAP took away, the heap up to what brk
 * returned, what mremap made, and a stack that grows down. Streams are ordered only within
 * themselves. So each stream that begins with PM_EV_PROCESS or PM_EV_EXEC has a memory of its own:
 * the number of a process is also that of what it executed before, and may come again. Nothing is
 * taken from a process that has several streams. What a child has from its parent may come later in
 * the trace than the child. */
#ifndef PM_TRANSFORM_MAPS_H
#define PM_TRANSFORM_MAPS_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_maps;
struct pm_maps *pm_maps_new(void);
/* Any event of @b; only those that change memory do anything. */
void pm_maps_event(struct pm_maps *m, const struct pm_batch *b, const struct pm_event *ev);

enum pm_mapped {
	PM_MAPPED_UNKNOWN,		/* nothing is known about the process's memory */
	PM_MAPPED_NO,			/* unless its memory is shared: ask pm_maps_shared() at the
					 * end, and if so, pm_maps_had() */
	PM_MAPPED_NOT_YET,		/* no, but another stream may have mapped it: ask
					 * pm_maps_had() at the end */
	PM_MAPPED_YES,
};
enum pm_mapped pm_maps_has(struct pm_maps *m, const struct pm_stream *s, uint64_t addr,
			   uint64_t size);
/* The number of the memory that @s has now. At the end: did several streams have it? */
uint32_t pm_maps_memory(struct pm_maps *m, const struct pm_stream *s);
bool pm_maps_shared(const struct pm_maps *m, uint32_t memory);
/* At the end: has any process of that number, or an ancestor, ever had it, as far as is known? */
bool pm_maps_had(struct pm_maps *m, const struct pm_stream *s, uint64_t addr, uint64_t size);
void pm_maps_free(struct pm_maps *m);

#endif
