/* SPDX-License-Identifier: MIT */
/* cache_regions.c - which part of a program an address belongs to: setting regions */
#include <string.h>

#include "analyse/cache_state.h"

#define BRK_X86_64	12		/* the number of the system call */

enum cache_region pm_cache_region_of(const struct pm_cache *c, uint64_t addr)
{
	for (size_t i = c->nrange; i-- > 0; )	/* newest first: it covers what it overlaps */
		if (addr - c->range[i].lo < c->range[i].hi - c->range[i].lo)
			return c->range[i].region;
	return REGION_OTHER;
}

static void map_region(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b)
{
	const char *name = b && e->id < b->nrare ? b->rare[e->id].name : NULL;
	enum cache_region r = !name || !*name || !strcmp(name, "[heap]") ? REGION_HEAP
		: !strcmp(name, "[stack]") ? REGION_STACK : REGION_GLOBAL;

	if (e->kind == PM_EV_MUNMAP)
		r = REGION_OTHER;
	/* what nobody names right behind a file's data is its zeroed data */
	else if (r == REGION_HEAP && !(name && *name) && c->nrange &&
		 c->range[c->nrange - 1].hi == e->addr &&
		 c->range[c->nrange - 1].region == REGION_GLOBAL)
		r = REGION_GLOBAL;
	pm_grow(c->range, c->nrange, c->cap_range);
	c->range[c->nrange++] = (struct cache_range){ e->addr, e->addr + e->value, r };
}

/* brk() tells its end of the heap each time; the first answer is the beginning. */
static void brk_region(struct pm_cache *c, const struct pm_event *e)
{
	if (e->kind == PM_EV_SYSCALL) {
		c->in_brk = e->value == BRK_X86_64;
		return;
	}
	if (c->in_brk && !c->brk) {
		c->brk = e->value;
	} else if (c->in_brk && e->value > c->brk) {
		pm_grow(c->range, c->nrange, c->cap_range);
		c->range[c->nrange++] = (struct cache_range){ c->brk, e->value, REGION_HEAP };
	}
	c->in_brk = false;
}

void pm_cache_region_event(struct pm_cache *c, const struct pm_event *e, const struct pm_batch *b)
{
	switch (e->kind) {
	case PM_EV_EXEC:
		c->brk = 0;
		break;
	case PM_EV_SYSCALL:
	case PM_EV_SYSRET:
		brk_region(c, e);
		break;
	case PM_EV_MMAP:
	case PM_EV_MUNMAP:
		map_region(c, e, b);
		break;
	default:
		break;
	}
}
