/* SPDX-License-Identifier: MIT */
/* gather.c - from counters in shared memory to a pm_counts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/process/session.h"
#include "pugmark/pugmark.h"

static void add_count(struct counts_of *c, uint32_t block, uint64_t count)
{
	if (!count)
		return;
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 1024;
		c->block = pm_realloc(c->block, c->cap * sizeof *c->block);
		c->count = pm_realloc(c->count, c->cap * sizeof *c->count);
	}
	c->block[c->n] = block;
	c->count[c->n++] = count;
}

/* The next piece of a thread's @nblock counters that was ever touched, from *at on, as bytes of the
 * data file. False: no more. */
static bool next_piece(const struct session *s, uint32_t block, uint64_t bytes, off_t *at, off_t *stop)
{
	const off_t base = (off_t)(block * RT_BLOCK_SIZE + RT_COUNTERS), end = base + (off_t)bytes;

	*at = lseek(s->data_fd, *at < base ? base : *at, SEEK_DATA);
	if (*at < 0 || *at >= end)
		return false;
	*stop = lseek(s->data_fd, *at, SEEK_HOLE);
	if (*stop < 0 || *stop > end)
		*stop = end;
	return true;
}

/* ---- 32-bit counters -------------------------------------------------------------------------------
 * A counter of a 32-bit program wraps: what it has counted since it was last looked at is the
 * difference, provided that it cannot have gone round meanwhile. One increment takes a cycle at least,
 * so that 2^32 of them take 0.7 s of processor time at 6 GHz. The counter of a block without one of
 * its own is moved by detours only, in both directions, and is signed. */
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
	const double gap = session_now() - s->sampled;

	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];
		const struct space *sp = p->mm->space;
		double used;

		if (p->gone || !p->pid || !sp || !sp->i386)
			continue;
		used = used_time(p->pid);
		if (gap > WRAP_SECONDS && used > p->sampled + WRAP_SECONDS && !s->sampled_late) {
			fprintf(stderr, "pugmark: process %u ran on for %.1f s while pugmark was kept from "
				"running: counts may be too low\n", p->pid, used - p->sampled);
			s->sampled_late = true;
		}
		p->sampled = used;
		for (size_t k = 0; k < p->nthread; k++)
			if (p->thread[k].live)
				sample(s, sp, &p->thread[k]);
	}
	s->sampled = session_now();
}

/* ---- threads --------------------------------------------------------------------------------------- */
/* Append the 64-bit counters of @t. Only pages that were ever touched are looked at. */
static void read_counters(const struct session *s, const struct space *sp, const struct thread *t,
			  struct counts_of *c, bool clear)
{
	const off_t base = (off_t)(t->block * RT_BLOCK_SIZE + RT_COUNTERS);
	off_t at = 0, stop;

	for (; next_piece(s, t->block, sp->nblock * 8, &at, &stop); at = stop) {
		for (const uint64_t *v = (uint64_t *)(s->data + at); (const uint8_t *)v < s->data + stop; v++)
			add_count(c, (uint32_t)(((const uint8_t *)v - s->data - base) / 8), *v);
		if (clear)
			memset(s->data + at, 0, (size_t)(stop - at));
	}
}

/* A thread is over (or the session is): add its counters to the process and clear them. */
void gather_thread(struct session *s, struct proc *p, struct thread *t)
{
	const struct space *sp = p->space;
	struct counts_of *c;
	off_t at = 0, stop;

	if (!t->live)
		return;
	t->live = false;
	pm_grow(p->counts, p->ncounts, p->cap_counts);
	c = &p->counts[p->ncounts++];
	*c = (struct counts_of){ .tid = t->tid };
	if (s->tracer)			/* counts nothing; i386: buffers are where counters would be */
		return;
	if (!sp->i386) {
		read_counters(s, sp, t, c, true);
		return;
	}
	sample(s, sp, t);
	for (uint32_t k = 0; k < sp->nblock; k++)
		add_count(c, k, t->total[k]);
	free(t->seen);
	free(t->total);
	t->seen = NULL;
	t->total = NULL;
	for (; next_piece(s, t->block, sp->nblock * 4, &at, &stop); at = stop)
		memset(s->data + at, 0, (size_t)(stop - at));
}

/* ---- counts that are derived ----------------------------------------------------------------------- */
static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_unit(struct pm_buf *v, uint32_t unit)
{
	const uint32_t *u = (const uint32_t *)v->p;

	if (!v->n || u[v->n / sizeof *u - 1] != unit)
		pm_buf_add(v, &unit, sizeof unit);
}

/* A thread's counters become entries of each block: of those that have one, and of the others. An
 * entry that was cut off before the first instruction is none. @count and @cut: zero, of all blocks,
 * and left so. */
static void derive(const struct proc *p, const struct space *sp, struct counts_of *c, uint64_t *count,
		   uint64_t *cut)
{
	struct pm_buf units = { 0 };
	struct counts_of out = { .tid = c->tid };
	const struct unit *of = NULL;
	bool sorted = true;
	const uint32_t *u;
	size_t n;

	for (size_t j = 0; j < c->n; j++) {
		count[c->block[j]] = c->count[j];
		if (of && c->block[j] - of->block < of->nblock)
			continue;
		of = unit_of(sp, c->block[j]);
		add_unit(&units, (uint32_t)(of - sp->unit));
	}
	for (size_t j = 0; j < p->ncut; j++) {
		const struct pm_cut_at *k = &p->cut[j];
		const uint32_t unit = (uint32_t)(unit_of(sp, k->block) - sp->unit);

		if (k->tid != c->tid)
			continue;
		add_unit(&units, unit);
		cut[k->block] += k->times;
		if (k->uncounted && !xl_derived(&sp->flow[k->block], k->block - sp->unit[unit].block))
			count[k->block] += k->times;
	}
	u = (const uint32_t *)units.p;
	n = units.n / sizeof *u;
	for (size_t i = 1; i < n; i++)
		sorted &= u[i - 1] <= u[i];
	if (!sorted)
		qsort(units.p, n, sizeof *u, by_number);
	for (size_t i = 0; i < n; i++) {
		const struct unit *x = &sp->unit[u[i]];

		if (i && u[i] == u[i - 1])
			continue;
		xl_solve(sp->flow + x->block, x->nblock, count + x->block, cut + x->block);
	}
	for (size_t j = 0; j < p->ncut; j++)
		if (p->cut[j].tid == c->tid && !p->cut[j].done)
			count[p->cut[j].block] -= p->cut[j].times;
	for (size_t i = 0; i < n; i++) {
		const struct unit *x = &sp->unit[u[i]];

		for (uint32_t k = x->block; k < x->block + x->nblock; k++) {
			uint64_t v = count[k];

			count[k] = cut[k] = 0;
			if (!v || v >> 63)	/* below zero: the thread was killed on its way */
				continue;
			add_count(&out, k, v);
		}
	}
	pm_buf_release(&units);
	free(c->block);
	free(c->count);
	*c = out;
}

/* Room for what is counted by block of @sp; of it no more is touched than blocks that ran. */
static void scratch(struct session *s, const struct space *sp)
{
	const size_t each = sizeof *s->count + sizeof *s->cut + sizeof *s->piece;
	void *p;

	if (sp->nblock < s->cap_scratch)
		return;
	gather_release(s);
	s->cap_scratch = sp->nblock + sp->nblock / 4 + 1024;
	p = mmap(NULL, s->cap_scratch * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "pugmark: out of memory\n");
		abort();
	}
	s->count = p;
	s->cut = s->count + s->cap_scratch;
	s->piece = (uint32_t *)(s->cut + s->cap_scratch);
}

void gather_release(struct session *s)
{
	if (s->count)
		munmap(s->count, s->cap_scratch * (sizeof *s->count + sizeof *s->cut + sizeof *s->piece));
	s->count = NULL;
}

/* Where the code of @b of @m belongs in what is returned: the same place in every process. */
static uint8_t *copy_of(struct session *s, const struct module *m, const struct blk *b)
{
	struct text *t = m->shared ? &s->text[m->shared - 1] : NULL;
	struct pm_counts *out = s->out;

	if (t && !t->copy) {
		void *p = mmap(NULL, t->len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p != MAP_FAILED) {
			t->copy = p;
			pm_grow(out->copy, out->ncopy, out->cap_copy);
			out->copy[out->ncopy++] = (struct pm_counts_copy){ p, t->len };
		}
	}
	return t && t->copy ? t->copy + (b->pc - m->lo) : pm_arena_alloc(&out->mem, b->size);
}

void gather_used(struct session *s, struct space *sp)
{
	if (sp->i386 || s->tracer)		/* shadows of another kind; all of it is foreseen */
		return;
	scratch(s, sp);
	for (size_t i = 0; i < s->nproc; i++) {
		const struct proc *p = s->proc[i];

		for (size_t k = 0; !p->gone && p->mm->space == sp && k < p->nthread; k++) {
			const struct thread *t = &p->thread[k];
			struct counts_of c = { .tid = t->tid };

			if (!t->live)
				continue;
			read_counters(s, sp, t, &c, false);
			derive(p, sp, &c, s->count, s->cut);
			for (size_t j = 0; j < c.n; j++) {
				const struct blk *b = &sp->block[c.block[j]];

				if (b->indirect != XL_NONE)
					cache_used(&sp->module[b->module], b->pc);
			}
			free(c.block);
			free(c.count);
		}
	}
}

static uint32_t object_of(struct pm_counts *out, struct pm_counts_process *q, const struct module *m)
{
	struct pm_counts_object *o;

	for (size_t i = 0; i < q->nobject; i++)
		if (!strcmp(q->object[i].path, m->path) && q->object[i].bias == m->bias)
			return (uint32_t)i;
	pm_grow(q->object, q->nobject, q->cap_object);
	o = &q->object[q->nobject];
	*o = (struct pm_counts_object){ .path = pm_arena_strdup(&out->mem, m->path), .bias = m->bias,
					.lo = m->lo, .hi = m->hi };
	return (uint32_t)q->nobject++;
}

/* Everything that is counted in @p, while its space still exists. */
void gather_process(struct session *s, struct proc *p)
{
	struct pm_counts *out = s->out;
	struct space *sp = p->space;
	struct pm_counts_process *q = &p->result;
	uint32_t *piece, *object;

	*q = (struct pm_counts_process){
		.pid = p->pid, .parent = p->parent,
		.program = pm_arena_strdup(&out->mem, p->program ? p->program : "?"),
		.status = p->status, .signal = p->signal, .execed = p->execed,
		.incomplete = !p->execed && !p->clean_exit, .unknown_at = p->unknown_at, .nunknown = p->nunknown,
		.isa = sp->i386 ? PM_ISA_X86_32 : PM_ISA_X86_64,
	};
	p->unknown_at = NULL;
	for (size_t i = 0; i < p->nunknown; i++)
		q->unknown += q->unknown_at[i].count;
	p->nunknown = p->cap_unknown = 0;
	scratch(s, sp);
	for (size_t i = 0; i < p->ncounts; i++)
		derive(p, sp, &p->counts[i], s->count, s->cut);
	piece = s->piece;
	object = pm_alloc((sp->nmodule + 1) * sizeof *object);
	for (size_t i = 0; i < p->ncounts; i++)
		for (size_t j = 0; j < p->counts[i].n; j++)
			piece[p->counts[i].block[j]] = 1;
	for (size_t i = 0; i < p->ncut; i++)
		if (p->cut[i].done && p->cut[i].done < sp->block[p->cut[i].block].n)
			piece[p->cut[i].block] = 1;
	for (uint32_t i = 0; i < sp->nblock; i++) {
		const struct blk *b = &sp->block[i];
		struct pm_piece *x;
		struct module *m;

		if (!piece[i])
			continue;
		m = &sp->module[b->module];
		if (b->indirect != XL_NONE)
			cache_used(m, b->pc);
		if (!object[b->module])
			object[b->module] = object_of(out, q, m) + 1;
		pm_grow(q->piece, q->npiece, q->cap_piece);
		x = &q->piece[q->npiece];
		*x = (struct pm_piece){
			.pc = b->pc, .size = b->size, .n = b->n, .object = object[b->module] - 1,
			.falls = b->flags & XL_FALLS,
		};
		if (block_bytes(sp, i))
			x->bytes = memcpy(copy_of(s, m, b), block_bytes(sp, i), b->size);
		piece[i] = (uint32_t)++q->npiece;
	}
	for (size_t i = 0; i < p->ncounts; i++) {
		struct pm_counts_thread *t;

		pm_grow(q->thread, q->nthread, q->cap_thread);
		t = &q->thread[q->nthread++];
		*t = (struct pm_counts_thread){ .tid = p->counts[i].tid };
		t->count = pm_alloc((q->npiece + 1) * sizeof *t->count);
		for (size_t j = 0; j < p->counts[i].n; j++)
			t->count[piece[p->counts[i].block[j]] - 1] += p->counts[i].count[j];
		for (size_t j = 0; j < p->ncut; j++)
			if (p->cut[j].tid == t->tid && p->cut[j].done &&
			    p->cut[j].done < sp->block[p->cut[j].block].n) {
				uint32_t k = piece[p->cut[j].block] - 1;

				pm_grow(t->cut, t->ncut, t->cap_cut);
				t->cut[t->ncut++] = (struct pm_cut){ k, p->cut[j].done,
								     p->cut[j].times };
			}
	}
	for (size_t i = 0; i < p->ncounts; i++)
		for (size_t j = 0; j < p->counts[i].n; j++)
			piece[p->counts[i].block[j]] = 0;
	for (size_t i = 0; i < p->ncut; i++)
		piece[p->cut[i].block] = 0;
	free(object);
	for (size_t i = 0; i < p->ncounts; i++) {
		free(p->counts[i].block);
		free(p->counts[i].count);
	}
	free(p->counts);
	free(p->cut);
	p->counts = NULL;
	p->cut = NULL;
	p->ncounts = p->ncut = 0;
}

struct pm_counts *gather_counts(struct session *s)
{
	struct pm_counts *out = s->out;

	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (!p->pid || (s->opts->no_follow && p->parent))
			continue;
		/* known only after its space was gathered */
		p->result.status = p->status;
		p->result.signal = p->signal;
		pm_grow(out->process, out->nprocess, out->cap_process);
		out->process[out->nprocess++] = p->result;
	}
	out->argv = s->opts->argv;
	out->cached = s->cached;
	out->ahead = s->ahead;
	out->demand = s->demand;
	return out;
}
