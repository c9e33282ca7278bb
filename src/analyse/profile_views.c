/* SPDX-License-Identifier: MIT */
/* profile_views.c - the figures of one process, of one thread, and of all */
#include <stdlib.h>

#include "analyse/profile_work.h"

/* The fewest of the numbers that make 90 % of their sum. Only numbers of one power of two need
 * sorting: those among which the sum is reached. */
static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* Of all blocks, or of the blocks @index in a view, which are spread as @s. */
static uint64_t locality(const struct pm_profile *p, const struct profile_spread *s,
			 const uint32_t *index, size_t n)
{
	uint64_t total = 0, want, got = 0, blocks = 0, *some;
	size_t k = 0;
	int b = 63;

	for (unsigned i = 0; i < NR(s->sum); i++)
		total += s->sum[i];
	if (!total)
		return 0;
	want = total - total / 10;		/* got >= 0.9 total, in whole numbers */
	for (; got + s->sum[b] < want; b--) {
		got += s->sum[b];
		blocks += s->count[b];
	}
	some = pm_alloc_unset(s->count[b] * sizeof *some);
	for (size_t i = 0; i < n; i++) {
		uint64_t x = index ? p->work->insns[index[i]] : block_insns(p, i);

		if (x && 63 - __builtin_clzll(x) == b)
			some[k++] = x;
	}
	qsort(some, k, sizeof *some, descending);
	for (size_t i = 0; i < k && got < want; i++, blocks++)
		got += some[i];
	free(some);
	return blocks;
}

static uint64_t view_done(const struct pm_profile *p, const struct profile_unit *u, size_t thread,
			  uint32_t i)
{
	return thread == ALL_THREADS ? done(p, u, i) : done_by(p, u, thread, i);
}

/* The last run that begins at or in front of @pos of @block. */
static const struct profile_run *run_at(const struct pm_profile_work *w, uint32_t block,
					uint32_t pos)
{
	size_t lo = 0, hi = w->nrun;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		const struct profile_run *r = &w->run[mid];

		if (r->block < block || (r->block == block && r->pos <= pos))
			lo = mid;
		else
			hi = mid;
	}
	return &w->run[lo];
}

static bool run_has(const struct pm_profile_work *w, const struct profile_run *r, uint32_t block,
		    uint32_t pos)
{
	return r + 1 == w->run + w->nrun || r[1].block > block ||
	       (r[1].block == block && r[1].pos > pos);
}

uint32_t pm_profile_function_of(const struct pm_profile *p, uint32_t block, uint32_t pos)
{
	return run_at(p->work, block, pos)->function;
}

/* The instructions of a unit one by one, for the few for which products will not do. */
static void slow_unit(const struct pm_profile *p, const struct profile_unit *u, size_t thread,
		      struct pm_profile_sum *s)
{
	const struct pm_piece *pc = piece_of(p, u);

	for (uint32_t i = 0, at = 0; i < pc->n && at < pc->size; i++) {
		const struct pm_form *m = pm_form_at(forms_of(p, u->object), pc->bytes + at,
						     pc->size - at);
		uint64_t k = view_done(p, u, thread, i);

		s->reads += k * m->reads;
		s->writes += k * m->writes;
		s->reps += k * m->rep;
		at += m->len;
	}
}

void pm_profile_view(struct pm_profile *p, size_t process, size_t thread, struct pm_profile_sum *s,
		 uint64_t *by_function)
{
	const struct pm_counts_process *pr = &p->counts->process[process];
	struct pm_profile_work *w = p->work;
	size_t n = 0;

	for (size_t i = 0; i < pr->npiece; i++) {
		const struct profile_cover *c = &w->cover[w->first_piece[process] + i];
		uint64_t count = !c->nseg		 ? 0
				 : thread == ALL_THREADS ? total(pr, i)
							 : pr->thread[thread].count[i];
		struct profile_unit u;

		if (!count)
			continue;
		if (c->slow) {
			u = unit_of(p, w->first_piece[process] + (uint32_t)i);
			u.cut = is_cut(p, &u);
			slow_unit(p, &u, thread, s);
		} else {
			s->reads += count * c->reads;
			s->writes += count * c->writes;
			s->reps += count * c->reps;
		}
		for (uint32_t g = 0; g < c->nseg; g++) {
			const struct profile_seg *sg = &w->seg[c->seg + g];
			uint32_t end = g + 1 < c->nseg ? sg[1].start : pr->piece[i].n;
			uint64_t insns = count * (end - sg->start);
			const struct profile_run *r;

			if (sg->block == PM_NONE)
				continue;
			if (c->slow) {
				insns = 0;
				for (uint32_t k = sg->start; k < end; k++)
					insns += view_done(p, &u, thread, k);
			}
			if (!insns)
				continue;
			if (!w->insns[sg->block])
				w->touched[n++] = sg->block;
			w->insns[sg->block] += insns;
			if (!sg->pos)
				w->entries[sg->block] += c->slow ? view_done(p, &u, thread,
									     sg->start)
								 : count;
			s->insns += insns;
			if (!by_function)
				continue;
			r = run_at(w, sg->block, sg->pos);
			if (run_has(w, r, sg->block, sg->pos + end - sg->start - 1)) {
				by_function[r->function] += insns;
				continue;
			}
			for (uint32_t k = sg->start; k < end; k++) {
				while (!run_has(w, r, sg->block, sg->pos + k - sg->start))
					r++;
				by_function[r->function] += c->slow ? view_done(p, &u, thread, k)
								    : count;
			}
		}
	}
	if (!by_function) {
		struct profile_spread spread = { 0 };

		for (size_t i = 0; i < n; i++)
			spread_add(&spread, w->insns[w->touched[i]]);
		s->locality_90 = locality(p, &spread, w->touched, n);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t b = w->touched[i];

		s->blocks += w->entries[b];
		s->blocks_distinct += w->entries[b] > 0;
		w->entries[b] = w->insns[b] = 0;
	}
}

/* Does anybody want the figures of less than all? */
bool pm_profile_has_views(const struct pm_counts *c)
{
	for (size_t i = 0; i < c->nprocess; i++)
		if (c->nprocess > 1 || c->process[i].nthread > 1)
			return true;
	return false;
}

void pm_profile_views(struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	struct pm_profile_work *w = p->work;

	p->sum.locality_90 = locality(p, &w->spread, NULL, p->nblock);
	if (w->cover) {
		w->entries = pm_alloc(p->nblock * sizeof *w->entries);
		w->insns = pm_alloc(p->nblock * sizeof *w->insns);
		w->touched = pm_alloc_unset(p->nblock * sizeof *w->touched);
	}
	p->nprocess = c->nprocess;
	p->process = pm_alloc(p->nprocess * sizeof *p->process);
	for (size_t i = 0; i < p->nprocess; i++) {
		struct pm_profile_process *pr = &p->process[i];

		pr->from = &c->process[i];
		p->incomplete |= pr->from->incomplete;
		pr->nthread = pr->from->nthread;
		pr->thread = pm_arena_alloc(&p->mem, pr->nthread * sizeof *pr->thread);
		if (p->nprocess == 1) {
			pr->sum = p->sum;
		} else {
			pm_profile_view(p, i, ALL_THREADS, &pr->sum, NULL);
		}
		for (size_t t = 0; t < pr->nthread; t++) {
			pr->thread[t].tid = pr->from->thread[t].tid;
			if (pr->nthread == 1)
				pr->thread[t].sum = pr->sum;
			else
				pm_profile_view(p, i, t, &pr->thread[t].sum, NULL);
		}
		/* nobody knows which thread ran them unless there is but one */
		for (size_t t = 0; pr->nthread == 1 && t < 1; t++) {
			pr->thread[t].sum.insns += pr->from->unknown;
			pr->thread[t].sum.unknown = pr->from->unknown;
		}
		pr->sum.insns += pr->from->unknown;
		pr->sum.unknown = pr->from->unknown;
	}
	for (size_t i = 0; i < p->nprocess; i++)
		p->sum.unknown += c->process[i].unknown;
	p->sum.insns += p->sum.unknown;
	w->mnemonic[0] += p->sum.unknown;
}
