/* SPDX-License-Identifier: MIT */
/* gather.c - from counters in shared memory to a pm_counts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/control/gather.h"
#include "collect/control/session.h"
#include "pugmark/pugmark.h"

static void list_resize(struct counts_of *c, size_t n)
{
	c->cap = n ? n : 1;
	c->block = pm_realloc(c->block, c->cap * sizeof *c->block);
	c->count = pm_realloc(c->count, c->cap * sizeof *c->count);
}

static void list_release(struct counts_of *c)
{
	free(c->block);
	free(c->count);
	c->block = NULL;
	c->count = NULL;
}

/* Callers make room for as many as there will probably be, and give back what was too much: memory
 * that is used for the first time, as a list's that moves when it grows, takes longer than what is
 * done here with it. */
static inline void add_count(struct counts_of *c, uint32_t block, uint64_t count)
{
	if (!count)
		return;
	if (c->n == c->cap)
		list_resize(c, c->n + c->n / 2 + 256);
	c->block[c->n] = block;
	c->count[c->n++] = count;
}

/* The next piece of a thread's @nblock counters that was ever touched, from *at on, as bytes of the
 * data file. False: no more. */
static bool next_piece(const struct session *s, uint32_t block, uint64_t bytes, off_t *at,
		       off_t *stop)
{
	const off_t base = (off_t)(block * RT_BLOCK_SIZE + RT_COUNTERS);

	return gather_next_data(s, base, base + (off_t)bytes, at, stop);
}

/* ---- 32-bit counters ------------------------------------------------------------------------- */
/* A counter of a 32-bit program wraps: what it has counted since it was last looked at is the
 * difference, provided that it cannot have gone round meanwhile. One increment takes a cycle at
 * least, so that 2^32 of them take 0.7 s of processor time at 6 GHz. The counter of a block without
 * one of its own is moved by detours only, in both directions, and is signed. */
#define WRAP_SECONDS 0.7

static void sample(const struct session *s, const struct space *sp, struct thread *t)
{
	const uint32_t *v = (const uint32_t *)(s->data + t->block * RT_BLOCK_SIZE + RT_COUNTERS);
	const off_t base = (const uint8_t *)v - s->data;
	off_t at = 0, stop;

	if (t->nseen < sp->nblock) {
		const size_t n = sp->nblock + sp->nblock / 2;

		t->seen = pm_realloc(t->seen, n * sizeof *t->seen);
		t->total = pm_realloc(t->total, n * sizeof *t->total);
		memset(t->seen + t->nseen, 0, (n - t->nseen) * sizeof *t->seen);
		memset(t->total + t->nseen, 0, (n - t->nseen) * sizeof *t->total);
		t->nseen = n;
	}
	for (; next_piece(s, t->block, sp->nblock * sizeof *v, &at, &stop); at = stop)
		for (size_t k = (size_t)(at - base) / 4; k < (size_t)(stop - base) / 4; k++) {
			const uint32_t now = __atomic_load_n(&v[k], __ATOMIC_RELAXED);
			const uint32_t more = now - t->seen[k];
			const struct unit *u;

			if (!more)
				continue;
			t->seen[k] = now;
			u = unit_of(sp, (uint32_t)k);
			t->total[k] += xl_derived(&sp->flow[k], (uint32_t)k - u->block) ?
				(uint64_t)(int64_t)(int32_t)more : more;
		}
}

/* Processor time that @pid has used; it is over: none. */
static double used_time(uint32_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void gather_sample(struct session *s)
{
	const double gap = pm_now() - s->sampled;

	if (s->tracer)			/* buffers are where counters would be */
		return;
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];
		const struct space *sp = p->mm->user.space;
		double used;

		if (p->gone || !p->pid || !sp || !sp->i386)
			continue;
		used = used_time(p->pid);
		if (gap > WRAP_SECONDS && used > p->sampled + WRAP_SECONDS && !s->sampled_late) {
			pm_warn(&s->spaces.warn,
				"process %u ran on for %.1f s while pugmark was kept from "
				"running: counts may be too low",
				p->pid, used - p->sampled);
			s->sampled_late = true;
		}
		p->sampled = used;
		for (size_t k = 0; k < p->nthread; k++)
			if (p->thread[k].live)
				sample(s, sp, &p->thread[k]);
	}
	s->sampled = pm_now();
}

/* ---- threads --------------------------------------------------------------------------------- */
static void mark(uint64_t *set, uint32_t i)
{
	set[i / 64] |= 1ull << i % 64;
}

/* @c becomes what the 64-bit counters of @t say, ascending by block. Only pages that were ever
 * touched are looked at. */
static void read_counters(const struct session *s, struct space *sp, const struct thread *t,
			  struct counts_of *c, bool clear)
{
	const size_t words = sp->nblock / 64 + 1;
	const off_t base = (off_t)(t->block * RT_BLOCK_SIZE + RT_COUNTERS);
	const uint64_t *count = (const uint64_t *)(s->data + base);
	const struct module *last = NULL;
	uint64_t *set = pm_alloc(words * sizeof *set);
	off_t at = 0, stop;
	size_t n = 0;

	for (; next_piece(s, t->block, sp->nblock * 8, &at, &stop); at = stop)
		for (size_t k = (size_t)(at - base) / 8; k < (size_t)(stop - base) / 8; k++)
			if (count[k]) {
				mark(set, counter_block(sp, (uint32_t)k, &last));
				n++;
			}
	list_resize(c, n);
	for (size_t i = 0; i < words; i++)
		for (uint64_t left = set[i]; left; left &= left - 1) {
			const uint32_t block = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left);
			const uint64_t v = count[block_counter(sp, block, &last)];

			if (s->spaces.store)
				block_note_run(sp, block, v);
			add_count(c, block, v);
		}
	free(set);
	for (at = 0; clear && next_piece(s, t->block, sp->nblock * 8, &at, &stop); at = stop)
		memset(s->data + at, 0, (size_t)(stop - at));
}

static void drop_samples(struct thread *t)
{
	free(t->seen);
	free(t->total);
	t->seen = NULL;
	t->total = NULL;
	t->nseen = 0;
}

/* A thread is over (or the session is): add its counters to the process and clear them. */
void gather_thread(struct session *s, struct proc *p, struct thread *t)
{
	struct space *sp = p->user.space;
	struct counts_of *c;
	off_t at = 0, stop;

	if (!t->live)
		return;
	t->live = false;
	if (s->kept) {			/* what it executes again has been counted already */
		drop_samples(t);
		return;
	}
	pm_grow(p->counts, p->ncounts, p->cap_counts);
	c = &p->counts[p->ncounts++];
	*c = (struct counts_of){ .tid = t->tid };
	if (s->tracer)			/* counts nothing */
		return;
	if (!sp->i386) {
		read_counters(s, sp, t, c, true);
		if (s->spaces.edges)
			gather_targets(s, p, t);
		return;
	}
	sample(s, sp, t);
	for (uint32_t k = 0; k < sp->nblock; k++)
		add_count(c, k, t->total[k]);
	list_resize(c, c->n);
	drop_samples(t);
	for (; next_piece(s, t->block, sp->nblock * 4, &at, &stop); at = stop)
		memset(s->data + at, 0, (size_t)(stop - at));
}

/* ---- counts that are derived ----------------------------------------------------------------- */
static int by_block(const void *a, const void *b)
{
	const struct pm_cut_at *x = a, *y = b;

	return x->block < y->block ? -1 : x->block > y->block;
}

/* Room for what is counted of @n blocks of a unit; all zero between units. */
static void scratch(struct session *s, size_t n)
{
	if (n <= s->cap_scratch)
		return;
	gather_release(s);
	s->cap_scratch = n + n / 2 + 64;
	s->count = pm_alloc(s->cap_scratch * sizeof *s->count);
	s->cut = pm_alloc(s->cap_scratch * sizeof *s->cut);
}

void gather_release(struct session *s)
{
	free(s->count);
	free(s->cut);
	s->count = s->cut = NULL;
	s->cap_scratch = 0;
}

/* unit_of() a block that is not in front of unit @from: mostly the next one, or one near. */
static const struct unit *unit_from(const struct space *sp, uint32_t block, const struct unit *from)
{
	const struct unit *end = sp->unit + sp->nunit;
	size_t step = 1;

	while (step < (size_t)(end - from) && from[step].block <= block) {
		from += step;
		step *= 2;
	}
	for (; step; step /= 2)
		if (step < (size_t)(end - from) && from[step].block <= block)
			from += step;
	return from;
}

/* A thread's counters, ascending by block, become entries of each block: of those that have one,
 * and of the others, unit by unit. An entry that was cut off before the first instruction is none.
 */
static void derive(struct session *s, const struct proc *p, const struct space *sp,
		   struct counts_of *c)
{
	struct counts_of out = { .tid = c->tid };
	const struct unit *at = sp->unit;
	struct pm_cut_at *cut = NULL;
	size_t ncut = 0, cap = 0;

	for (size_t i = 0; i < p->ncut; i++)
		if (p->cut[i].tid == c->tid) {
			pm_grow(cut, ncut, cap);
			cut[ncut++] = p->cut[i];
		}
	if (ncut)
		qsort(cut, ncut, sizeof *cut, by_block);
	list_resize(&out, 2 * c->n);
	for (size_t j = 0, k = 0; j < c->n || k < ncut; ) {
		const bool counted = k == ncut || (j < c->n && c->block[j] < cut[k].block);
		const uint32_t first = counted ? c->block[j] : cut[k].block;
		const struct unit *u = unit_from(sp, first, at);
		const struct xl_flow *flow = sp->flow + u->block;
		const uint32_t end = u->block + u->nblock;
		const size_t k0 = k;
		uint32_t n = u->nblock;

		if (first < u->block || first >= end) { /* of no unit: nobody counts there */
			j += counted;
			k += !counted;
			continue;
		}
		at = u;
		if (s->spaces.edges)
			n = gather_flow_blocks(sp, u);
		scratch(s, n);
		for (; j < c->n && c->block[j] < u->block + n; j++)
			s->count[c->block[j] - u->block] = c->count[j];
		for (; k < ncut && cut[k].block < end; k++) {
			const uint32_t i = cut[k].block - u->block;

			s->cut[i] += cut[k].times;
			if (cut[k].uncounted && !xl_derived(&flow[i], i))
				s->count[i] += cut[k].times;
		}
		xl_solve(flow, n, s->count, s->cut);
		for (size_t i = k0; i < k; i++)
			if (!cut[i].done)
				s->count[cut[i].block - u->block] -= cut[i].times;
		for (uint32_t i = 0; i < n; i++) {
			const uint64_t v = s->count[i];

			s->count[i] = s->cut[i] = 0;
			if (v && !(v >> 63))	/* below zero: the thread was killed on its way */
				add_count(&out, u->block + i, v);
		}
		for (; j < c->n && c->block[j] < end; j++)
			add_count(&out, c->block[j], c->count[j]);
	}
	free(cut);
	list_release(c);
	list_resize(&out, out.n);
	*c = out;
}

/* Nobody is left, and so no file's text will be unmapped any more (session_unmap()), nor changed by
 * the programs. */
static bool is_last(const struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i] != p && !s->proc[i]->gone)
			return false;
	return !p->execed;
}

/* Where the code of block @number of @t's cache file is noted, of @n. */
static struct copied *copied(struct text *t, uint32_t number, size_t n)
{
	if (t->ncopied < n) {
		t->copied = pm_realloc(t->copied, n * sizeof *t->copied);
		memset(t->copied + t->ncopied, 0, (n - t->ncopied) * sizeof *t->copied);
		t->ncopied = n;
	}
	return &t->copied[number];
}

/* The code of block @i for what is returned: of the file (@stays), or in it, mostly once for all
 * processes that have the file. */
static const uint8_t *code_of(struct session *s, const struct space *sp, uint32_t i, bool stays)
{
	const struct blk *b = &sp->block[i];
	const struct module *m = &sp->module[b->module];
	const uint8_t *bytes = block_bytes(sp, i);
	const uint64_t what = (b->pc - m->text.lo) << 16 | b->size;
	struct copied *known = NULL;
	uint8_t *copy;

	if (!bytes || (stays && m->text.bytes))
		return bytes;
	if (m->text.shared && s->nproc > 1 && i - m->stored.first_block < m->stored.nblock)
		known = copied(&s->spaces.text[m->text.shared - 1], i - m->stored.first_block,
			       m->stored.nblock);
	if (known && known->what == what)
		return known->at;
	copy = memcpy(pm_arena_alloc(&s->out->mem, b->size), bytes, b->size);
	if (known)
		*known = (struct copied){ what, copy };
	return copy;
}

void gather_used(struct session *s, struct space *sp)
{
	if (sp->i386 || s->tracer)		/* shadows of another kind; nothing is counted */
		return;
	for (size_t i = 0; i < s->nproc; i++) {
		const struct proc *p = s->proc[i];

		for (size_t k = 0; !p->gone && p->mm->user.space == sp && k < p->nthread; k++) {
			const struct thread *t = &p->thread[k];
			struct counts_of c = { .tid = t->tid };

			if (!t->live)
				continue;
			read_counters(s, sp, t, &c, false);
			derive(s, p, sp, &c);
			for (size_t j = 0; j < c.n; j++) {
				const struct blk *b = &sp->block[c.block[j]];

				if (b->indirect != XL_NONE)
					shadow_note_used(&sp->module[b->module], b->pc);
			}
			list_release(&c);
		}
	}
}

static uint32_t object_of(struct pm_counts *out, struct pm_counts_process *q,
			  const struct module *m)
{
	struct pm_counts_object *o;

	for (size_t i = 0; i < q->nobject; i++)
		if (!strcmp(q->object[i].path, m->text.path) && q->object[i].bias == m->text.bias)
			return (uint32_t)i;
	pm_grow(q->object, q->nobject, q->cap_object);
	o = &q->object[q->nobject];
	*o = (struct pm_counts_object){ .path = pm_arena_strdup(&out->mem, m->text.path),
					.bias = m->text.bias,
					.lo = m->text.lo,
					.hi = m->text.hi };
	return (uint32_t)q->nobject++;
}

static bool is_cut_short(const struct space *sp, const struct pm_cut_at *c)
{
	return c->done && c->done < sp->block[c->block].n;
}

/* The numbers of all blocks of @p that ran, or began to, ascending; the caller's to free(). A list
 * that is these has none any more. */
static uint32_t *blocks_that_ran(const struct proc *p, const struct space *sp, size_t *n)
{
	const size_t words = sp->nblock / 64 + 1;
	uint64_t *set = pm_alloc(words * sizeof *set);
	uint32_t *v = NULL;

	for (size_t i = 0; i < p->ncounts; i++)
		for (size_t j = 0; j < p->counts[i].n; j++)
			mark(set, p->counts[i].block[j]);
	for (size_t i = 0; i < p->ncut; i++)
		if (is_cut_short(sp, &p->cut[i]))
			mark(set, p->cut[i].block);
	*n = 0;
	for (size_t i = 0; i < words; i++)
		*n += (size_t)__builtin_popcountll(set[i]);
	for (size_t i = 0; i < p->ncounts && !v; i++)
		if (p->counts[i].n == *n) {
			v = p->counts[i].block;
			p->counts[i].block = NULL;
		}
	if (v) {
		free(set);
		return v;
	}
	v = pm_alloc_unset(*n * sizeof *v);
	*n = 0;
	for (size_t i = 0; i < words; i++)
		for (uint64_t left = set[i]; left; left &= left - 1)
			v[(*n)++] = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left);
	free(set);
	return v;
}

static void drop_cuts(struct proc *p)
{
	free(p->cut);
	p->cut = NULL;
	p->ncut = p->cap_cut = 0;
}

/* Everything that is counted in @p, while its space still exists. */
void gather_process(struct session *s, struct proc *p)
{
	struct pm_counts *out = s->out;
	struct space *sp = p->user.space;
	struct pm_counts_process *q = &p->result;
	const bool stays = is_last(s, p);
	struct pm_map edge = { 0 };
	uint32_t *ran, *object;

	*q = (struct pm_counts_process){
		.pid = p->pid,
		.parent = p->parent,
		.program = pm_arena_strdup(&out->mem, p->user.program ? p->user.program : "?"),
		.status = p->status,
		.signal = p->signal,
		.execed = p->execed,
		.incomplete = !p->execed && !p->clean_exit,
		.unknown_at = p->unknown_at,
		.nunknown = p->nunknown,
		.isa = sp->i386 ? PM_ISA_X86_32 : PM_ISA_X86_64,
	};
	p->unknown_at = NULL;
	if (s->kept) {
		drop_cuts(p);
		return;
	}
	for (size_t i = 0; i < p->nunknown; i++)
		q->unknown += q->unknown_at[i].count;
	p->nunknown = p->cap_unknown = 0;
	for (size_t i = 0; i < p->ncounts; i++) {
		derive(s, p, sp, &p->counts[i]);
		if (s->spaces.edges)
			gather_split_edges(sp, p, &p->counts[i], &edge);
	}
	ran = blocks_that_ran(p, sp, &q->npiece);
	q->cap_piece = q->npiece;
	q->piece = pm_alloc_unset(q->npiece * sizeof *q->piece);
	object = pm_alloc((sp->nmodule + 1) * sizeof *object);
	for (size_t i = 0; i < q->npiece; i++) {
		const struct blk *b = &sp->block[ran[i]];
		struct module *m = &sp->module[b->module];
		struct pm_piece *x = &q->piece[i];

		if (b->indirect != XL_NONE)
			shadow_note_used(m, b->pc);
		if (!object[b->module])
			object[b->module] = object_of(out, q, m) + 1;
		*x = (struct pm_piece){
			.pc = b->pc,
			.bytes = code_of(s, sp, ran[i], stays),
			.size = b->size,
			.n = b->n,
			.object = (uint16_t)(object[b->module] - 1),
			.falls = b->flags & XL_FALLS,
		};
	}
	for (size_t i = 0; i < p->ncounts; i++) {
		struct counts_of *c = &p->counts[i];
		struct pm_counts_thread *t;
		size_t at = 0;

		pm_grow(q->thread, q->nthread, q->cap_thread);
		t = &q->thread[q->nthread++];
		*t = (struct pm_counts_thread){ .tid = c->tid };
		if (c->n == q->npiece) {		/* they all are in it */
			t->count = c->count;
			c->count = NULL;
		} else {
			t->count = pm_alloc((q->npiece + 1) * sizeof *t->count);
			for (size_t j = 0; j < c->n; j++) {
				while (ran[at] != c->block[j])
					at++;
				t->count[at] = c->count[j];
			}
		}
		list_release(c);
		for (size_t j = 0; j < p->ncut; j++) {
			const struct pm_cut_at *k = &p->cut[j];

			if (k->tid != t->tid || !is_cut_short(sp, k))
				continue;
			pm_grow(t->cut, t->ncut, t->cap_cut);
			t->cut[t->ncut++] = (struct pm_cut){
				(uint32_t)gather_index_of(ran, q->npiece, k->block),
				k->done, k->times,
			};
		}
	}
	if (s->spaces.edges)
		gather_edges(sp, p, ran, &edge);
	pm_map_release(&edge);
	free(ran);
	free(object);
	free(p->counts);
	p->counts = NULL;
	p->ncounts = 0;
	drop_cuts(p);
}

struct pm_counts *gather_counts(struct session *s)
{
	struct pm_counts *out = s->out;

	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (!p->pid || (s->opts->no_follow && p->parent)) {
			pm_counts_release_process(&p->result);
			continue;
		}
		/* known only after its space was gathered */
		p->result.status = p->status;
		p->result.signal = p->signal;
		pm_grow(out->process, out->nprocess, out->cap_process);
		out->process[out->nprocess++] = p->result;
	}
	out->argv = s->opts->argv;
	out->cached = s->spaces.cached;
	out->ahead = s->spaces.ahead;
	out->demand = s->spaces.demand;
	return out;
}
