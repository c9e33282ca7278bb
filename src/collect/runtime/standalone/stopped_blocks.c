/* SPDX-License-Identifier: MIT */
/* stopped_blocks.c - traces: blocks that a fault stops
 *
 * Such a block is written as far as it came, and counted as executed. If a handler comes back to
 * it, the rest is written when it has been executed. */
#include "drain.h"

static void note_state(struct rt_block *b, u64 rsp)
{
	const struct drain *d = rt_drain_of(b);
	const u64 v[3] = { rsp, d->fs, d->gs };

	rt_trace_note(b, RT_N_STATE, v, 3);
}

static rt_count *counter(struct rt_block *b, u32 number)
{
	return (rt_count *)((uint8_t *)b + COUNTERS_AT) + number;
}

/* A place for one more. Of those that are left for good, one that stopped at the same place with
 * the same stack is certain. */
static struct kept *new_kept(struct drain *d, const struct rt_stop *stop)
{
	u32 i = 0;

	while (i < d->nkept &&
	       (d->kept[i].stop.word != stop->word || d->kept[i].stop.insn != stop->insn ||
		d->kept[i].stop.sp != stop->sp))
		i++;
	if (i == d->nkept && i < MAX_KEPT)
		return &d->kept[d->nkept++];
	if (i == d->nkept)
		i = 0;
	for (; i + 1 < d->nkept; i++)
		rt_memcpy(&d->kept[i], &d->kept[i + 1], sizeof d->kept[i]);
	return &d->kept[i];
}

/* It is counted as what has begun: the block itself, or the one before. */
static void count_kept(struct rt_block *b, const struct rt_stop *s, int more)
{
	const u32 id = s->insn || s->complete ? s->word : s->before;

	if (id)
		*counter(b, id) += (rt_count)more;
	*counter(b, s->word) -= (rt_count)(more * (int)s->counted);
}

void rt_image_save_record(struct rt_block *b, const struct rt_stop *stop)
{
	const u64 v[3] = { stop->insn, stop->rsi, stop->rdi };
	struct drain *d = rt_drain_of(b);
	const int begun = stop->insn || stop->complete;
	const u32 id = begun ? stop->word : stop->before;
	struct kept *k = new_kept(d, stop);

	k->stop = *stop;
	if (stop->complete)
		b->cursor -= stop->size;
	rt_memcpy(k->record, PTR(b->cursor), stop->size);
	rt_empty_chunk(b);
	k->rsp = d->rsp;
	count_kept(b, stop, 1);
	if (id && (begun || d->told != stop->word)) {
		rt_memcpy(PTR(b->cursor), k->record, stop->size);
		*(u32 *)PTR(b->cursor) = id;
		b->cursor += stop->size;
		if (begun)
			rt_trace_note(b, RT_N_CUT, v, 3);
		rt_empty_chunk(b);
	}
	d->told = 0;
}

int rt_image_has_record_of(const struct rt_block *b, u32 id, u32 insn)
{
	const struct drain *d = rt_drain_of((struct rt_block *)b);

	for (u32 i = d->nkept; b->tracing && i--; )
		if (d->kept[i].stop.word == id && (insn || !d->kept[i].stop.insn))
			return 1;
	return 0;
}

int rt_image_has_record(const struct rt_block *b)
{
	return b->tracing && rt_drain_of((struct rt_block *)b)->nkept;
}

void rt_image_restore(struct rt_block *b, u32 id, u32 insn, u32 complete, u32 counted)
{
	struct drain *d = rt_drain_of(b);
	const struct kept *k;
	u32 i = d->nkept - 1;

	while (d->kept[i].stop.word != id)
		i--;
	d->nkept = i;			/* handlers above it will not come back */
	k = &d->kept[i];
	rt_empty_chunk(b);
	note_state(b, k->rsp);
	rt_empty_chunk(b);
	d->told = id;
	d->told_insn = insn;
	rt_memcpy(PTR(b->cursor), k->record, k->stop.size);
	if (complete) {
		*(u32 *)PTR(b->cursor) = id;
		b->cursor += k->stop.size;
	}
	count_kept(b, &k->stop, -1);
	*counter(b, id) += (rt_count)counted - k->stop.counted;
}
