/* SPDX-License-Identifier: MIT */
/* drain.c - the trace buffer of a thread goes to its file
 *
 * Runs in the thread whose buffer is full, or ends. Each thread has a file of its own and a buffer
 * for it in its block. */
#include "drain.h"

void rt_image_drain(struct rt_block *b, u64 from, u64 to)
{
	struct drain *d = rt_drain_of(b);
	u32 text = 0;

	if (MAN->no_trace)
		return;
	__atomic_store_n(&d->busy, 1, __ATOMIC_RELEASE);
	for (u64 p = from; p < to; ) {
		const u32 head = *(const u32 *)PTR(p), number = head - IMG_RESERVED;
		struct drain_record r = { .b = b, .d = d, .value = PTR(p + 4) };
		u32 i, n = 255, chain[MAX_CHAIN], nchain = 0;
		const u64 *cut = 0;
		u64 rsp = 0;

		if (head >> 31) {
			rt_note_entries(d, RT_NOTE_TYPE(head), PTR(p + 4));
			p += 4 + RT_NOTE_SIZE(head);
			continue;
		}
		if (!head)
			return;			/* cannot be: the cursor is behind whole records */
		if (number - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(number);
		i = number - TEXTS[text].first;
		p += rt_image_record(text, i);
		if (p < to && *(const u32 *)PTR(p) == RT_NOTE(RT_N_CUT, 24)) {
			cut = PTR(p + 4);
			n = (u32)cut[0];
		}
		for (u32 back = 1; back && nchain < MAX_CHAIN; i -= back) {
			chain[nchain++] = i;
			back = ((const u32 *)TABLE(text, back))[i];
		}
		while (nchain--) {
			if (d->told && IMG_RESERVED + TEXTS[text].first + chain[nchain] != d->told)
				continue;
			r.from = d->told ? d->told_insn : 0;
			d->told = 0;
			r.n = nchain ? 255 : n;
			r.cut = nchain ? 0 : cut;
			rsp = rt_block_entries(&r, text, chain[nchain]);
		}
		if (MAN->kind != IMG_BRANCH)
			d->rsp = rsp;
	}
	if (d->alone && !d->hold)
		rt_trace_write(b, 0, 0);
	__atomic_store_n(&d->busy, 0, __ATOMIC_RELEASE);
}

int rt_image_drains(const struct rt_block *b)
{
	return __atomic_load_n(&rt_drain_of((struct rt_block *)b)->busy, __ATOMIC_ACQUIRE) != 0;
}

void rt_empty_chunk(struct rt_block *b)
{
	const u64 chunk = (word)b + TRACE_AT;

	rt_image_drain(b, chunk, b->cursor);
	rt_image_clear(b, chunk, b->cursor);
	b->cursor = chunk;
}

/* How far another thread has come: its cursor may be in a register. What is behind it is zero, and
 * a record's number is written last. */
static u64 end_of(const struct rt_block *b)
{
	const u64 end = (word)b + TRACE_AT + TRACE_CHUNK;
	u64 p = b->cursor;

	while (p < end - 4) {
		const u32 head = __atomic_load_n((const u32 *)PTR(p), __ATOMIC_ACQUIRE),
			  number = head - IMG_RESERVED;

		if (!head)
			break;
		if (!(head >> 31) && number >= rt_later_blocks())
			break;
		p += head >> 31 ? 4 + RT_NOTE_SIZE(head) : rt_image_record_of(number);
	}
	return p < end ? p : end;
}

void rt_image_clear(struct rt_block *b, u64 from, u64 to)
{
	if (rt_image_threads)
		memset(PTR(from), 0, to - from);
}

/* Everything up to the cursor, and all of it into the file. */
void rt_image_drain_all(struct rt_block *b, int mine)
{
	if (!b->tracing)
		return;
	if (!mine)
		b->cursor = end_of(b);
	rt_empty_chunk(b);
	rt_trace_write(b, 1, 0);
}

void rt_image_order(struct rt_block *b)
{
	if (!MAN->merge || !b->tracing || !rt_image_threads)
		return;
	rt_empty_chunk(b);
	rt_trace_write(b, 0, 0);
}

void rt_trace_begin(struct rt_block *b)
{
	struct drain *d = rt_drain_of(b);

	if (b->pid != b->tid)
		rt_sys(NR_madvise, (uint8_t *)b + TRACE_AT, TRACE_CHUNK, 9 /* MADV_REMOVE */);
	if (b->tid == b->pid)
		rt_merge_forked();
	b->tracing = MAN->kind != IMG_PROFILE;
	b->drop = 0;
	b->chunk = 0;
	b->cursor = (word)b + TRACE_AT;
	d->n = d->hold = d->opened = d->failed = d->nkept = d->begun = d->alone = d->busy =
		d->told = 0;
	rt_trace_file_begin(b, &d->opened);
}
