/* SPDX-License-Identifier: MIT */
/* publish.c - the controller's side: what translated code writes records of */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/consume/trace_state.h"

const struct layout trace_layouts[2] = {
	{ RT32_BLOCK_SIZE, RT32_TRACE, RT32_CHUNK, RT32_CHUNK_STRIDE, UINT32_MAX, false },
	{ RT_BLOCK_SIZE, RT_TRACE, RT_CHUNK, RT_CHUNK_STRIDE, UINT64_MAX, true },
};

uint32_t trace_next(const struct tracer *t)
{
	return t->nsource;
}

/* Number of the object that @m's text is from, PM_NONE: of none, or there are too many. */
static uint32_t object_of(struct tracer *t, const struct module *m)
{
	uint32_t i = t->nobject;

	while (i-- > 0)
		if (t->object[i].lo == m->text.lo && t->object[i].hi == m->text.hi &&
		    !strcmp(t->object[i].path, m->text.path))
			return i;
	if (t->nobject == MAX_OBJECTS || m->generated.may_change)
		return PM_NONE;
	i = t->nobject;
	t->object[i] = (struct pm_object){ .path = pm_arena_strdup(t->o.mem, m->text.path),
					   .base = m->text.bias,
					   .lo = m->text.lo,
					   .hi = m->text.hi };
	__atomic_store_n(&t->nobject, i + 1, __ATOMIC_RELEASE);
	return i;
}

void trace_numbers(struct tracer *t, const struct space *sp, uint32_t first, uint32_t n)
{
	const struct module *m = &sp->module[sp->block[first].module];
	const uint32_t base = t->nsource;
	uint32_t object;

	if (n > MAX_BLOCKS - base) {
		__atomic_store_n(&t->too_many, true, __ATOMIC_RELAXED);
		__atomic_store_n(&t->nsource, base, __ATOMIC_RELEASE);
		return;
	}
	object = object_of(t, m);
	for (uint32_t i = 0; i < n; i++) {
		const struct blk *b = &sp->block[first + i];

		t->source[base + i] = (struct source){
			.pc = b->pc,
			.bytes = block_bytes(sp, first + i),
			.size = b->size,
			.object = object,
			.prev = block_continues(t->o.spaces, sp, first + i)
					? base + sp->flow[first + i].out
					: 0,
			.record = b->record,
			.n = (uint8_t)b->n,
			.wide = !sp->i386,
		};
	}
	PM_INVARIANT(1, t->nsource == base && base + n <= MAX_BLOCKS);
	__atomic_store_n(&t->nsource, base + n, __ATOMIC_RELEASE);
}

void trace_points(const struct tracer *t, const char *path, uint64_t base, struct pm_buf *to)
{
	t->feed.points(t->feed.self, path, base, to);
}

bool trace_counts(struct tracer *t, uint32_t i)
{
	return t->o.spaces->counts && trace_block(t, i)->r11_use == RT_R11_BUDGET;
}

void trace_thread(struct tracer *t, uint32_t i, bool i386)
{
	struct rt_block *b = trace_block(t, i);
	struct stream *st = &t->stream[i];

	PM_INVARIANT(2, !trace_busy(t, i));
	/* all but `busy`, at which consumers look */
	st->s = pm_arena_alloc(t->o.mem, sizeof *st->s);
	memset(st->known, 0, sizeof st->known);
	st->insns = st->unsent = st->status = st->ended = 0;
	st->next = st->from = st->over = 0;
	st->flags = 0;
	st->former = 0;
	st->begun = st->unknown = st->left = false;
	*st->s = (struct pm_stream){ .index = t->nstream++ };
	b->tracing = 1;
	b->drop = !t->o.pipeline;
	b->chunk = 0;
	b->cursor = i386 ? RT32_TRACE : RT_DATA_VAULT + (uint64_t)i * RT_BLOCK_SIZE + RT_TRACE;
	st->layout = trace_layouts[!i386];
	if (t->o.spaces->counts && !i386 && !st->s->index) {
		b->told = b->budget = budget_of(t->consumer[0]->idle);
		b->r11_use = b->budget ? RT_R11_BUDGET : RT_R11_PROGRAM;
	}
	if (t->o.grow && !i386)
		grow_begin(t, b);
	__atomic_store_n(&st->busy,
			 t->o.pipeline ? 1 + st->s->index % t->nconsumer : 0, __ATOMIC_RELEASE);
}

void trace_ring(const struct tracer *t)
{
	__atomic_fetch_add(&t->o.head->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->o.head->bell_asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &t->o.head->bell, FUTEX_WAKE, INT_MAX);
}

void trace_over(struct tracer *t, uint32_t i, uint64_t status, uint8_t flags)
{
	struct stream *st = &t->stream[i];

	if (!trace_busy(t, i) || st->over)
		return;
	grow_end(t, i);
	st->status = status;
	st->ended = __builtin_ia32_rdtsc();
	st->flags = flags;
	__atomic_store_n(&st->over, 1, __ATOMIC_RELEASE);
	trace_ring(t);
}

void trace_left(struct tracer *t, uint32_t i)
{
	if (!trace_busy(t, i) || t->stream[i].over)
		return;
	t->stream[i].left = true;
	trace_over(t, i, 0, 0);
}

void trace_follows(struct tracer *t, uint32_t i, uint32_t former)
{
	if (!trace_busy(t, former))
		return;
	t->stream[i].former_s = t->stream[former].s;
	__atomic_store_n(&t->stream[i].former, former, __ATOMIC_RELEASE);
}

bool trace_busy(const struct tracer *t, uint32_t i)
{
	return t && __atomic_load_n(&t->stream[i].busy, __ATOMIC_ACQUIRE);
}

void trace_note(struct tracer *t, uint32_t i, enum rt_note type, const uint64_t *arg, uint32_t narg,
		const char *text)
{
	struct rt_block *b = trace_block(t, i);
	const struct layout *l = &t->stream[i].layout;
	uint64_t off = cursor_of(t, i),
		 chunk = l->trace + (uint64_t)(b->chunk % RT_CHUNKS) * l->stride;
	size_t len = text ? strlen(text) : 0, size = 8 * narg + ((len + 3) & ~(size_t)3);
	uint32_t head = RT_NOTE(type, (uint32_t)size);
	uint8_t *to;

	if (b->tree && type == RT_N_UNKNOWN) {
		b->tree_unknown = arg[0];
		return;
	}
	/* the guard pages are not guarded here, and serve as overflow */
	if (!b->tracing || off < chunk || off > chunk + l->stride - size - 4 || off % 4)
		return;
	pm_acquired_from_process(b);
	to = (uint8_t *)b + off;
	memcpy(to, &head, 4);
	memcpy(to + 4, arg, 8 * narg);
	memset(to + 4 + 8 * narg, 0, size - 8 * narg);
	if (len)
		memcpy(to + 4 + 8 * narg, text, len);
	b->cursor += 4 + size;
	pm_released_to_process(b);
}

/* Instructions of the chain of counting copy @block that @at is behind, less those that have been
 * counted there. */
static uint64_t counted_before(const struct space *sp, uint32_t block, const struct xl_map *at)
{
	const struct unit *u = unit_of(sp, block);
	uint64_t before = 0;
	uint32_t k = block;

	if (at->flags & XL_RECORDED)
		return (uint64_t)at->insn - sp->block[block].n;
	/* bounded: a file that has been cut short says anything */
	for (uint32_t i = 0; i < u->nblock && sp->flow[k].out < u->nblock; i++) {
		k = u->block + sp->flow[k].out;
		before += sp->block[k].n;
	}
	return before + at->insn;
}

void trace_cut(struct tracer *t, const struct space *sp, uint32_t i, uint32_t block,
	       const struct xl_map *at, uint64_t rsi, uint64_t rdi)
{
	struct rt_block *b = trace_block(t, i);
	const struct unit *u = unit_of(sp, block);
	const uint32_t own = u->number + (block - u->block);
	uint32_t number = own, word;
	const struct layout *l = &t->stream[i].layout;
	uint64_t off;
	const uint64_t arg[3] = { at->insn | (at->flags & XL_STORED ? 1ull << 32 : 0), rsi, rdi };

	if (b->tree) {
		b->tree_state += (uint64_t)counted_before(sp, block, at);
		return;
	}
	if (sp->block[block].flags & XL_COUNTS) {
		b->budget -= counted_before(sp, block, at);
		return;
	}
	/* registers as the signal met them */
	b->cursor = b->ctx.gpr[at->tmp & XL_RESTORED ? at->tmp & 15 : xl_cursor_register(sp->i386)];
	off = cursor_of(t, i);
	if (!b->tracing || number >= t->nsource || off < l->trace ||
	    off > l->trace + RT_CHUNKS * l->stride - 65536)
		return;
	if (!(at->flags & XL_RECORDED)) {
		/* it did not begin, but those before it in the chain happened */
		const bool before = !at->insn && !(at->flags & XL_STORED);

		if (before)
			number = t->source[number].prev;
		if (!number)
			return;
		/* what the block has stored in front of its first instruction is no record: one
		 * begins where a word is not zero */
		for (uint32_t k = t->source[number].record; before && k < t->source[own].record;
		     k++)
			((uint8_t *)b)[off + k] = 0;
		word = RT_RECORD(number, t->source[number].record);
		pm_acquired_from_process(b);
		/* a consumer that looks whether there is more may look here */
		__atomic_store_n((uint32_t *)(void *)((uint8_t *)b + off), word,
				 __ATOMIC_RELAXED);
		pm_released_to_process(b);
		b->cursor += t->source[number].record;
		if (before)
			return;
	}
	if (at->insn < sp->block[block].n || !(at->flags & (XL_STORED | XL_RECORDED)))
		trace_note(t, i, RT_N_CUT, arg, 3, NULL);
}
