/* SPDX-License-Identifier: MIT */
/* warm_make.c - the store of a whole trace: threads make parts of it, then one makes far counts */
#include <stdlib.h>
#include <string.h>

#include "analyse/thousands.h"
#include "analyse/walk.h"
#include "analyse/warm_work.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "trace/pug.h"

struct making {
	const char *path;
	struct pm_warm *to;
	struct pm_buf *first;		/* by interval: warm_work.h */
	struct pm_warm_maker *maker;
	struct thousands *thousands;	/* NULL: no counts */
	size_t stretch;			/* intervals, then near counts begin anew */
	size_t from, end, at;		/* intervals: of this thread; the one that comes next */
	bool begun;
	enum pm_status st;
	struct pm_err err;
};

static void end_interval(struct making *m)
{
	struct pm_warm_part *part = m->to->part + m->at;

	*part = warm_maker_end_first(m->maker, m->thousands ? m->first + m->at : NULL);
	if (m->thousands) {
		struct pm_buf count;
		size_t n;

		thousands_end(m->thousands);
		count = thousands_take(m->thousands, &n);
		part->count = count.p;
		part->ncount = count.n;
		if ((m->at + 1) % m->stretch == 0)
			thousands_forget(m->thousands);
	}
	m->at++;
}

/* Walks stop at each thousand, if there are counts, so that no batch has two. */
static uint64_t next_stop(void *ctx, uint64_t at, bool *wanted)
{
	struct making *m = ctx;
	const uint64_t every = m->to->every;

	*wanted = false;
	if (!m->begun && at < m->from * every)
		return m->from * every;
	if (m->begun && at % every == 0)
		end_interval(m);
	else if (m->begun)
		thousands_end(m->thousands);
	m->begun = true;
	if (m->at == m->end)
		return UINT64_MAX;
	*wanted = true;
	if (m->thousands) {
		warm_maker_thousand(m->maker, (uint32_t)(at % every / PM_THOUSAND));
		return at + PM_THOUSAND;
	}
	return m->at + 1 == m->to->n ? UINT64_MAX : (m->at + 1) * every;
}

static enum pm_status add_part(void *ctx, const struct pm_batch *b, struct pm_err *err)
{
	struct making *m = ctx;

	pm_warm_maker_events(m->maker, b);
	if (m->thousands)
		thousands_events(m->thousands, b);
	return PM_OK;
}

static void *make(void *arg)
{
	static const struct pm_walk_ops ops = { next_stop, add_part };
	struct making *m = arg;

	m->maker = pm_warm_maker_new();
	m->thousands = m->to->counted ? thousands_new() : NULL;
	m->at = m->from;
	m->st = pm_walk(m->path, &ops, m, &m->err);
	if (!m->st && m->begun && m->at < m->end)	/* the last one ends with the trace */
		end_interval(m);
	pm_warm_maker_free(m->maker);
	thousands_free(m->thousands);
	return NULL;
}

/* ---- far counts: all intervals, one behind the other ----------------------------------------- */

struct passing { struct far_counts *far; struct pug_span first; };

static void pass_line(void *ctx, uint64_t line, bool fetched, bool written)
{
	struct passing *p = ctx;
	uint64_t first = 0;

	pug_get_varint(&p->first, &first);
	far_counts_line(p->far, line, fetched, written, (uint32_t)first);
}

static void add_far_counts(struct pm_warm *w, const struct pm_buf *first)
{
	struct passing p = { .far = far_counts_new() };

	for (size_t i = 0; i < w->n; i++) {
		struct pm_warm_part *part = w->part + i;
		struct pm_buf b = { .p = part->count, .n = part->ncount, .cap = part->ncount };

		p.first = (struct pug_span){ first[i].p, first[i].p + first[i].n };
		pm_warm_each(w, i, pass_line, &p);
		far_counts_end(p.far, pm_warm_thousands(w, i), &b);
		part->count = b.p;
		part->ncount = b.n;
	}
	far_counts_free(p.far);
}

static enum pm_status make_parts(struct making all, unsigned threads, struct pm_err *err)
{
	/* whole stretches for each thread, so that near counts do not depend on their number */
	const size_t stretches = (all.to->n + all.stretch - 1) / all.stretch;
	enum pm_status st = PM_OK;
	struct making *m;

	threads = stretches < threads ? (stretches ? (unsigned)stretches : 1) : threads;
	m = pm_alloc(threads * sizeof *m);
	for (unsigned k = 0; k < threads; k++) {
		m[k] = all;
		m[k].from = stretches * k / threads * all.stretch;
		m[k].end = k + 1 == threads ? all.to->n
					    : stretches * (k + 1) / threads * all.stretch;
	}
	pm_threads_run(make, m, sizeof *m, threads);
	for (unsigned k = 0; k < threads; k++)
		if (m[k].st && !st) {
			st = m[k].st;
			*err = m[k].err;
		}
	free(m);
	return st;
}

enum pm_status pm_warm_make(const char *path, uint64_t every, unsigned threads,
			    struct pm_warm *to, struct pm_err *err)
{
	struct pm_walk_facts f;
	const char *why;
	struct making all = { .path = path, .to = to };
	enum pm_status st = pm_walk_facts(path, &f, &why, err);

	*to = (struct pm_warm){ .every = every, .insns = f.insns, .identity = f.identity };
	if (st)
		return st == PM_END ? pm_fail_file(err, "%s", why) : st;
	to->counted = every % PM_THOUSAND == 0;
	to->n = (size_t)((f.insns + every - 1) / every);
	to->part = pm_alloc((to->n + 1) * sizeof *to->part);
	all.first = pm_alloc((to->n + 1) * sizeof *all.first);
	all.stretch = every < THOUSANDS_STRETCH ? (THOUSANDS_STRETCH + every - 1) / every : 1;
	if (!to->counted)
		all.stretch = 1;
	st = make_parts(all, threads, err);
	if (!st && to->counted)
		add_far_counts(to, all.first);
	for (size_t i = 0; i < to->n; i++)
		pm_buf_release(all.first + i);
	free(all.first);
	if (st)
		pm_warm_release(to);
	return st;
}
