/* SPDX-License-Identifier: MIT */
/* ranges.c - what the program may execute */
#include <stdlib.h>
#include <string.h>

#include "collect/space/internal.h"

void space_range_add(struct space *sp, uint64_t lo, uint64_t hi, uint32_t prot, bool shared,
		     bool patched)
{
	pm_grow(sp->range, sp->nrange, sp->cap_range);
	sp->range[sp->nrange++] = (struct range){ lo, hi, prot, shared, patched };
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
			space_range_add(sp, r.lo, lo, r.prot, r.shared, r.patched);
		if (hi < r.hi)
			space_range_add(sp, hi, r.hi, r.prot, r.shared, r.patched);
	}
}
