/* SPDX-License-Identifier: MIT */
/* gather.c - from counters in shared memory to a pm_counts */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/session.h"

/* A thread is over (or the session is): add its counters to the process and clear them. Only pages
 * that were ever touched are looked at. */
void gather_thread(struct session *s, struct proc *p, struct thread *t)
{
	off_t base = (off_t)((uint64_t)t->block * RT_BLOCK_SIZE + RT_COUNTERS);
	off_t end = base + (off_t)(p->space->nblock * 8), at, stop;
	struct counts_of *c;

	if (!t->live)
		return;
	t->live = false;
	pm_grow(p->counts, p->ncounts, p->cap_counts);
	c = &p->counts[p->ncounts++];
	*c = (struct counts_of){ .tid = t->tid };
	for (at = base; (at = lseek(s->data_fd, at, SEEK_DATA)) >= 0 && at < end; at = stop) {
		stop = lseek(s->data_fd, at, SEEK_HOLE);
		if (stop < 0 || stop > end)
			stop = end;
		if (at < base)
			at = base;
		for (uint64_t *v = (uint64_t *)(s->data + at); (uint8_t *)v < s->data + stop; v++) {
			if (!*v)
				continue;
			if (c->n == c->cap) {
				c->cap = c->cap ? c->cap * 2 : 1024;
				c->block = pm_realloc(c->block, c->cap * sizeof *c->block);
				c->count = pm_realloc(c->count, c->cap * sizeof *c->count);
			}
			c->block[c->n] = (uint32_t)(((uint8_t *)v - s->data - base) / 8);
			c->count[c->n++] = *v;
			*v = 0;
		}
	}
}

/* ---- counts that are derived ----------------------------------------------------------------------- */
static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t unit_index(const struct space *sp, uint32_t block)
{
	size_t a = 0, z = sp->nunit;

	while (z - a > 1) {
		size_t mid = (a + z) / 2;

		if (sp->unit[mid].block <= block)
			a = mid;
		else
			z = mid;
	}
	return (uint32_t)a;
}

static void add_unit(struct pm_buf *v, uint32_t unit)
{
	const uint32_t *last = (const uint32_t *)(v->p + v->n) - 1;

	if (!v->n || *last != unit)
		pm_buf_add(v, &unit, sizeof unit);
}

/* A thread's counters become entries of each block: of those that have one, and of the others. An
 * entry that was cut off before the first instruction is none. @count and @cut: zero, of all blocks,
 * and left so. */
static void derive(const struct proc *p, struct counts_of *c, uint64_t *count, uint64_t *cut)
{
	const struct space *sp = p->space;
	struct pm_buf units = { 0 };
	struct counts_of out = { .tid = c->tid };
	const uint32_t *u;
	size_t n;

	for (size_t j = 0; j < c->n; j++) {
		count[c->block[j]] = c->count[j];
		add_unit(&units, unit_index(sp, c->block[j]));
	}
	for (size_t j = 0; j < p->ncut; j++) {
		const struct pm_cut_at *k = &p->cut[j];
		const uint32_t unit = unit_index(sp, k->block);

		if (k->tid != c->tid)
			continue;
		add_unit(&units, unit);
		cut[k->block] += k->times;
		if (k->uncounted && !xl_derived(&sp->flow[k->block], k->block - sp->unit[unit].block))
			count[k->block] += k->times;
	}
	u = (const uint32_t *)units.p;
	n = units.n / sizeof *u;
	if (n)
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
			if (out.n == out.cap) {
				out.cap = out.cap ? out.cap * 2 : 1024;
				out.block = pm_realloc(out.block, out.cap * sizeof *out.block);
				out.count = pm_realloc(out.count, out.cap * sizeof *out.count);
			}
			out.block[out.n] = k;
			out.count[out.n++] = v;
		}
	}
	pm_buf_release(&units);
	free(c->block);
	free(c->count);
	*c = out;
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
	uint64_t *count, *cut;

	*q = (struct pm_counts_process){
		.pid = p->pid, .parent = p->parent,
		.program = pm_arena_strdup(&out->mem, p->program ? p->program : "?"),
		.status = p->status, .signal = p->signal, .execed = p->execed,
		.incomplete = !p->execed && !p->clean_exit, .unknown = p->unknown,
	};
	count = pm_alloc((sp->nblock + 1) * sizeof *count);
	cut = pm_alloc((sp->nblock + 1) * sizeof *cut);
	for (size_t i = 0; i < p->ncounts; i++)
		derive(p, &p->counts[i], count, cut);
	free(count);
	free(cut);
	piece = pm_alloc((sp->nblock + 1) * sizeof *piece);
	object = pm_alloc((sp->nmodule + 1) * sizeof *object);
	for (size_t i = 0; i < p->ncounts; i++)
		for (size_t j = 0; j < p->counts[i].n; j++)
			piece[p->counts[i].block[j]] = 1;
	for (size_t i = 0; i < p->ncut; i++)
		if (p->cut[i].done && p->cut[i].done < sp->block[p->cut[i].block].n)
			piece[p->cut[i].block] = 1;
	for (uint32_t i = 0; i < sp->nblock; i++) {
		const struct blk *b = &sp->block[i];
		const struct module *m = &sp->module[b->module];
		struct pm_piece *x;

		if (!piece[i])
			continue;
		if (!object[b->module])
			object[b->module] = object_of(out, q, m) + 1;
		pm_grow(q->piece, q->npiece, q->cap_piece);
		x = &q->piece[q->npiece];
		*x = (struct pm_piece){
			.pc = b->pc, .size = b->size, .n = b->n, .object = object[b->module] - 1,
			.falls = b->flags & XL_FALLS,
		};
		if (block_bytes(sp, i))
			x->bytes = memcpy(pm_arena_alloc(&out->mem, b->size), block_bytes(sp, i), b->size);
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
	free(piece);
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
