/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/parcel.h"

static void *keep(struct pm_parcel *p, unsigned k, const void *from, size_t n)
{
	if (p->cap[k] < n) {
		free(p->room[k]);
		p->room[k] = pm_realloc(NULL, n);
		p->cap[k] = n;
	}
	if (n)
		memcpy(p->room[k], from, n);
	return p->room[k];
}

void pm_parcel_fill(struct pm_parcel *p, const struct pm_batch *b, const struct pm_packed *k)
{
	struct pm_rare *rare;

	p->b = *b;
	p->b.ev = keep(p, 0, b->ev, b->n * sizeof *b->ev);
	p->b.uop = keep(p, 1, b->uop, b->nuop * sizeof *b->uop);
	p->b.bus = keep(p, 2, b->bus, b->nbus * sizeof *b->bus);
	p->b.rare = rare = keep(p, 3, b->rare, b->nrare * sizeof *b->rare);
	p->b.arena = keep(p, 4, b->arena, b->narena);
	p->is_packed = k;
	if (k) {
		p->packed = *k;
		p->packed.id = keep(p, 5, k->id, k->n * sizeof *k->id);
		p->packed.addr = keep(p, 6, k->addr, k->nref * sizeof *k->addr);
	}
	for (size_t i = 0; i < b->nrare; i++) {
		uintptr_t at = (uintptr_t)rare[i].name - (uintptr_t)b->arena;

		/* names are in the arena by contract; one that is not lives as long as the producer
		 * says */
		if (rare[i].name && b->narena && at < b->narena)
			rare[i].name = (const char *)p->b.arena + at;
	}
}

void pm_parcel_join(struct pm_parcel *p, const struct pm_batch *b)
{
	const size_t have = p->b.n * sizeof *b->ev, more = b->n * sizeof *b->ev;

	if (p->cap[0] - have < more) {
		p->cap[0] = (have + more) * 2;
		p->room[0] = pm_realloc(p->room[0], p->cap[0]);
	}
	memcpy((char *)p->room[0] + have, b->ev, more);
	p->b.ev = p->room[0];
	p->b.n += b->n;
}

void pm_parcel_release(struct pm_parcel *p)
{
	for (unsigned k = 0; k < NR(p->room); k++)
		free(p->room[k]);
}
