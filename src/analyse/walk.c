/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/walk.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/mix.h"
#include "trace/expand.h"
#include "trace/format.h"
#include "trace/pug_file.h"

struct walk {
	const struct pm_walk_ops *ops;
	void *ctx;
	struct pm_source src;
	void *expander;			/* NULL: the trace has no blocks */
	uint64_t at, next;		/* instructions delivered or skipped; where to stop */
	uint64_t chunk;			/* instructions of one, on average */
	bool wanted;
	bool *begun;			/* by stream: a block or an instruction has come since the
					 * last seek */
	size_t cap_begun;
};

enum pm_status pm_walk_facts(const char *path, struct pm_walk_facts *f, const char **why,
			     struct pm_err *err)
{
	const struct pm_format *which = NULL;
	struct pug_totals totals = { 0 };
	struct pm_source src = { 0 };
	struct stat is;
	enum pm_status st;

	*why = NULL;
	*f = (struct pm_walk_facts){ 0 };
	if (!strcmp(path, "-") ||
	    (!stat(path, &is) && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode))) {
		*why = "it can be read only once";
		return PM_END;
	}
	st = pm_trace_open(path, NULL, &src, &which, err);
	if (st)
		return st;
	f->plural = which->plural;
	f->facts = src.facts;
	if (strcmp(which->name, "pug"))
		*why = "only .pug files can be read in parts";
	else
		st = pug_read_totals(pm_trace_reader(&src), &totals, err);
	if (!*why && !st && !totals.whole)
		*why = "it has no index";
	f->insns = totals.tally.insns;
	f->chunks = totals.chunks;
	f->identity = pm_mix(&totals.tally, sizeof totals.tally, totals.events);
	src.ops->close(src.self);
	return *why ? PM_END : st;
}

static bool starts(const struct pm_event *e)
{
	return e->kind == PM_EV_INSN || e->kind == PM_EV_BLOCK;
}

/* Behind a seek, what belongs to a block that began before it is left out. */
static size_t leftover(struct walk *w, const struct pm_batch *b)
{
	const uint32_t i = b->stream->index;
	size_t n = 0;

	if (i >= w->cap_begun) {
		const size_t cap = (size_t)i * 2 + 8;

		w->begun = pm_realloc(w->begun, cap * sizeof *w->begun);
		memset(w->begun + w->cap_begun, 0, (cap - w->cap_begun) * sizeof *w->begun);
		w->cap_begun = cap;
	}
	if (w->begun[i])
		return 0;
	while (n < b->n && !starts(b->ev + n))
		n++;
	w->begun[i] = n < b->n;
	return n;
}

/* HOT: once per event of what is read, wanted or not. */
static enum pm_status expanded(void *to, const struct pm_batch *b, struct pm_err *err)
{
	struct walk *w = to;
	struct pm_batch part = *b;
	size_t from = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->ev[i].kind != PM_EV_INSN)
			continue;
		if (w->at == w->next) {
			part.ev = b->ev + from;
			part.n = i - from;
			if (w->wanted && part.n && w->ops->part(w->ctx, &part, err) != PM_OK)
				return PM_ERR;
			from = i;
			w->next = w->ops->stop(w->ctx, w->at, &w->wanted);
		}
		w->at++;
	}
	part.ev = b->ev + from;
	part.n = b->n - from;
	return w->wanted && part.n ? w->ops->part(w->ctx, &part, err) : PM_OK;
}

static enum pm_status seek(struct walk *w, struct pm_err *err)
{
	uint64_t first;

	if (!pm_trace_seek(&w->src, w->next, &first, err))
		return PM_ERR;
	w->at = first;
	memset(w->begun, 0, w->cap_begun * sizeof *w->begun);
	if (!w->expander)
		return PM_OK;
	pm_expand_ops.destroy(w->expander);
	w->expander = pm_expand_new();
	return PM_OK;
}

static enum pm_status walk_on(struct walk *w, struct pm_err *err)
{
	const struct pm_emit to = { expanded, w };
	const struct pm_batch *b;
	struct pm_batch rest;
	enum pm_status st;
	size_t skip;

	for (;;) {
		if (!w->wanted && w->next == UINT64_MAX)
			return PM_OK;
		if (!w->wanted && w->next - w->at > w->chunk + w->chunk / 2 &&
		    seek(w, err) != PM_OK)
			return PM_ERR;
		st = w->src.ops->next(w->src.self, &b, err);
		if (st)
			break;
		rest = *b;
		skip = leftover(w, b);
		rest.ev += skip;
		rest.n -= skip;
		st = w->expander ? pm_expand_ops.consume(w->expander, &rest, &to, err)
				 : expanded(w, &rest, err);
		if (st)
			return PM_ERR;
	}
	if (st == PM_END && w->expander)
		st = pm_expand_ops.finish(w->expander, &to, err);
	return st == PM_ERR ? PM_ERR : PM_OK;
}

enum pm_status pm_walk(const char *path, const struct pm_walk_ops *ops, void *ctx,
		       struct pm_err *err)
{
	struct walk w = { .ops = ops, .ctx = ctx };
	struct pm_walk_facts f;
	const char *why;
	enum pm_status st = pm_walk_facts(path, &f, &why, err);

	if (st == PM_END)
		return pm_fail_file(err, "%s", why);
	if (!st)
		st = pm_trace_open(path, "pug", &w.src, NULL, err);
	if (st)
		return st;
	w.chunk = f.chunks ? f.insns / f.chunks : 0;
	w.expander = w.src.facts & PM_HAS_BLOCKS ? pm_expand_new() : NULL;
	w.next = ops->stop(ctx, 0, &w.wanted);
	st = walk_on(&w, err);
	if (w.expander)
		pm_expand_ops.destroy(w.expander);
	w.src.ops->close(w.src.self);
	free(w.begun);
	return st;
}
