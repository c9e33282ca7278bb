/* SPDX-License-Identifier: MIT */
/* ranges.c - what the program may execute */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

static void append_range(struct space *sp, struct range r)
{
	pm_grow(sp->range, sp->nrange, sp->cap_range);
	sp->range[sp->nrange++] = r;
}

void space_range_add(struct space *sp, uint64_t lo, uint64_t hi, uint32_t prot, bool shared,
		     bool patched)
{
	for (size_t i = 0; i < sp->nrange && !shared; i++) {	/* a heap grows by small steps */
		const struct range r = sp->range[i];

		if (r.shared || r.prot != prot || r.patched != patched ||
		    (r.hi != lo && r.lo != hi))
			continue;
		lo = r.lo < lo ? r.lo : lo;
		hi = r.hi > hi ? r.hi : hi;
		sp->range[i--] = sp->range[--sp->nrange];
	}
	append_range(sp, (struct range){ lo, hi, prot, shared, patched });
}

struct range *space_range(const struct space *sp, uint64_t pc)
{
	for (size_t i = 0; i < sp->nrange; i++)
		if (sp->range[i].lo <= pc && pc < sp->range[i].hi)
			return &sp->range[i];
	return NULL;
}

void space_range_del(struct space *sp, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < sp->nrange; i++) {
		struct range r = sp->range[i];

		if (r.hi <= lo || hi <= r.lo)
			continue;
		sp->range[i--] = sp->range[--sp->nrange];
		if (r.lo < lo)
			append_range(sp, (struct range){ r.lo, lo, r.prot, r.shared, r.patched });
		if (hi < r.hi)
			append_range(sp, (struct range){ hi, r.hi, r.prot, r.shared, r.patched });
	}
}
