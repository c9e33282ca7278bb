/* SPDX-License-Identifier: MIT */
/* save_counters.c - the numbers of counters in cache files: those that count lie side by side */
#include <stdlib.h>
#include <string.h>

#include "collect/cache/save.h"

uint32_t save_counter_of(const struct saving *v, uint32_t block)
{
	return v->counter ? v->counter[block] : block;
}

#define DERIVED (NOT_SEEN_RUN + 1)			/* of a counter that nothing counts in */

/* How much block @i of the space, @k of unit @u, number @no of the file, has run, in this
 * process or in one that wrote the file. */
static unsigned how_often(const struct saving *v, const struct unit *u, uint32_t k, uint32_t no)
{
	const struct cache_file *was = v->was;
	const uint32_t *counter = was->ncounter ? AT(was, counters) : NULL;
	unsigned often = block_how_often(v->sp, u->block + k);

	for (unsigned t = 0; counter && no < was->ncounter && t < often; t++)
		if (counter[no] < was->how_often_end[t])
			often = t;
	return often == NOT_SEEN_RUN && xl_derived(&v->sp->flow[u->block + k], k) ? DERIVED : often;
}

/* Counters of a table's entries stay side by side: as often as one of them has run all have. That
 * of a XL_FIRST is no counter, and is used as often as the next one. @often is of the blocks of
 * @u. */
static void join_entries(const struct saving *v, const struct unit *u, uint8_t *often)
{
	const struct blk *b = &v->sp->block[u->block];
	uint32_t end;

	for (uint32_t k = 0; k < u->nblock; k = end) {
		uint8_t least = often[k];

		for (end = k + 1; end < u->nblock && b[k].n == XL_ENTRY && b[k].flags & XL_EDGE &&
				  b[end].record == b[k].record; end++)
			least = often[end] < least ? often[end] : least;
		if (b[k].n == XL_FIRST && b[k].flags & XL_EDGE && end < u->nblock)
			least = often[end];
		memset(often + k, least, end - k);
	}
}

void save_number_counters(struct saving *v)
{
	struct cache_file *f = v->f;
	uint8_t *often;
	uint32_t next = 0;

	if (v->s->records || v->sp->i386)
		return;
	often = pm_alloc(f->nblock + 1);
	v->counter = pm_alloc((f->nblock + 1) * sizeof *v->counter);
	memset(often, DERIVED, f->nblock);
	for (size_t i = 0; i < v->m->nunit; i++) {
		const struct unit *u = &v->sp->unit[v->m->unit[i]];
		const uint32_t old = u->block - v->m->stored.first_block;
		const uint32_t no = old < v->was->nblock ? old : v->unit0[u - v->sp->unit];

		for (uint32_t k = 0; no != XL_NONE && k < u->nblock; k++)
			often[no + k] = (uint8_t)how_often(v, u, k, no + k);
		if (no != XL_NONE)
			join_entries(v, u, often + no);
	}
	for (unsigned k = 0; k <= DERIVED; k++) {
		for (uint32_t no = 0; no < f->nblock; no++)
			if (often[no] == k)
				v->counter[no] = next++;
		if (k < RAN_SETS)
			f->how_often_end[k] = next;
	}
	f->ncounter = f->nblock;
	free(often);
}

void save_counters(struct saving *v)
{
	struct cache_file *f = v->f;
	uint32_t *counted = pm_alloc((f->ncounter + 1) * sizeof *counted);

	for (uint32_t i = 0; i < f->ncounter; i++)
		counted[v->counter[i]] = i;
	f->counters = out_begin(&v->out, 8);
	out_write(&v->out, v->counter, f->ncounter * sizeof *v->counter);
	f->counted = out_begin(&v->out, 8);
	out_write(&v->out, counted, f->ncounter * sizeof *counted);
	free(counted);
}

/* Of each counter in the file's old code which it will be; the caller free()s it. NULL: none
 * changes. */
uint32_t *save_counters_now(const struct saving *v)
{
	const uint32_t n = v->was->nblock,
		       *counter = v->was->ncounter ? AT(v->was, counters) : NULL;
	uint32_t *now;

	if (!n || (v->f->block0 == v->was->block0 && !v->counter))
		return NULL;
	now = pm_alloc(n * sizeof *now);
	for (uint32_t i = 0; i < n; i++)
		if (!counter || counter[i] < n)
			now[counter ? counter[i] : i] = save_counter_of(v, i);
	return now;
}

/* Of @all places in new code those that hold a number of something that is in the file. */
struct pm_buf save_new_counters(struct saving *v)
{
	const uint32_t each = xl_counter_size(v->sp->i386),
		       *at = (const uint32_t *)v->m->code.rel_counter.p;
	const struct module *last = NULL;
	struct pm_buf kept = { 0 };

	for (size_t i = 0; i < v->m->code.rel_counter.n / 4; i++) {
		const uint32_t was = save_field(v, at[i]);
		const uint32_t block =
			v->s->records ? save_traced_block(v->sp, v->m, RT_RECORD_NUMBER(was)) :
					counter_block(v->sp, (was - RT_COUNTERS) / each, &last);
		const uint32_t no = block < v->sp->nblock ? save_file_block(v, block) : XL_NONE;

		if (no == XL_NONE)
			continue;
		save_set(v, SET_COUNTERS, at[i],
			 v->s->records ?
				 RT_RECORD(no, v->sp->block[block].record) :
				 RT_COUNTERS + each * (v->f->block0 + save_counter_of(v, no)));
		pm_buf_add(&kept, &at[i], 4);
	}
	return kept;
}
