/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/sims.h"
#include "analyse/tree_sink.h"
#include "cli/manners.h"
#include "base/whole_file.h"
#include "cli/tree_outputs.h"
#include "report/out.h"
#include "report/tree_files.h"

bool tree_outputs_wanted(const struct tree_outputs *t)
{
	return t->folded || t->speedscope || t->pprof;
}

bool tree_outputs_described(const struct tree_outputs *t)
{
	return t->event || t->by_thread || t->recursion || t->depth || t->contexts;
}

static bool is_instructions(const char *event)
{
	return !event || !strcmp(event, "instructions") || !strcmp(event, "Ir");
}

bool tree_outputs_need_blocks_only(const struct tree_outputs *t)
{
	return tree_outputs_wanted(t) && is_instructions(t->event);
}

/* What a simulator blames instructions for, by the names of its columns. */
static void charge(struct tree_outputs *t, void *sink, const struct pm_sink_ops *ops, void *self)
{
	const struct pm_tree_event *names[PM_COSTS_MAX] = { NULL };
	struct pm_tree_event event[PM_COSTS_MAX];
	struct tree_meter_of m = { .ops = ops };
	const unsigned skip = pm_sim_tells_executions(ops);	/* Ir: instructions, as they are */
	unsigned first = t->columns.ncolumn;

	if (!pm_sim_meter(ops, self, &m.m))
		return;
	first += skip && pm_costs_find(&t->columns, "Ir") < 0;
	pm_sim_costs(ops, self, &t->columns);
	for (unsigned k = skip; k < m.m.n && first + k - skip < t->columns.ncolumn; k++) {
		const struct pm_costs_column *c = t->columns.column + first + k - skip;

		event[k].about = c->about;
		memcpy(event[k].name, c->name, sizeof event[k].name);
		names[k] = event + k;
	}
	pm_grow(t->meter, t->nmeter, t->cap_meter);
	t->meter[t->nmeter++] = m;
	pm_sim_tree_charge(sink, &m.m, names);
}

static void charge_all(struct tree_outputs *t, struct pm_pipeline *p, void *sink)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		charge(t, sink, ops, self);
}

static bool has_blaming(const struct pm_pipeline *p)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		if (pm_sim_tells(ops))
			return true;
	return false;
}

enum pm_status tree_outputs_begin(struct tree_outputs *t, struct pm_pipeline *p, uint32_t facts,
				  bool page, struct pm_err *err)
{
	const char *const to[] = { t->folded, t->speedscope, t->pprof };
	const bool all = t->speedscope || t->pprof || !is_instructions(t->event);
	const bool costs = (all && has_blaming(p)) || !(facts & PM_HAS_BLOCKS);
	const struct pm_sink_ops *ops = costs ? &pm_sim_tree_costs : &pm_sim_tree.ops;
	struct pm_buf config = { 0 };
	void *sink;

	if (!page && !tree_outputs_wanted(t))
		return tree_outputs_described(t) ? pm_fail_request(err, "--event, --by-thread, "
				"--fold-recursion, --max-depth and --max-contexts are for "
				"--folded, --speedscope, --pprof and --html") : PM_OK;
	if (pm_report_can_save(to, NR(to), err) != PM_OK)
		return PM_ERR;
	pm_buf_printf(&config, "top=20%s%s%s", t->by_thread ? ";threads" : "",
		      t->recursion ? ";recursion" : "",
		      t->speedscope || t->pprof ? ";lines" : "");
	if (t->depth)
		pm_buf_printf(&config, ";depth=%llu", (unsigned long long)t->depth);
	if (t->contexts)
		pm_buf_printf(&config, ";contexts=%llu", (unsigned long long)t->contexts);
	pm_buf_add(&config, "", 1);
	sink = ops->create((char *)config.p, err);
	pm_buf_release(&config);
	if (!sink)
		return PM_ERR;
	if (costs && all)
		charge_all(t, p, sink);
	pm_pipeline_sink(p, ops, sink);
	t->sink = sink;
	if (!is_instructions(t->event)) {
		struct pm_err wrong = { 0 };
		unsigned event;

		if (pm_tree_event(pm_sim_tree_growing(sink), t->event, &event, &wrong) != PM_OK) {
			*err = wrong;
			return PM_ERR;
		}
	}
	return PM_OK;
}

void tree_outputs_growing(const struct tree_outputs *t, struct pm_growing *g)
{
	pm_tree_growing((void *)(uintptr_t)t->sink, g);
}

const struct pm_tree *tree_outputs_tree(const struct tree_outputs *t, unsigned *event)
{
	const struct pm_tree *tree = t->sink ? pm_sim_tree_of(t->sink) : NULL;
	struct pm_err ignored = { 0 };

	*event = 0;
	if (tree && t->event)
		pm_tree_event(tree, t->event, event, &ignored);
	return tree;
}

static enum pm_status save(const char *path, struct pm_buf *b, struct pm_err *err)
{
	enum pm_status st;

	st = pm_file_save(path, b, err);
	b->n = 0;
	return st;
}

static enum pm_status save_folded(const char *path, const struct pm_tree *t, unsigned event,
				  struct pm_err *err)
{
	struct pm_folded *f = pm_tree_folded_begin(t, event);
	const struct pm_file_pieces p = { pm_tree_folded_next, f };
	enum pm_status st;

	st = pm_file_save_pieces(path, &p, err);
	pm_tree_folded_end(f);
	return st;
}

enum pm_status tree_outputs_end(const struct tree_outputs *t, const char *title,
				struct pm_err *err)
{
	unsigned event;
	const struct pm_tree *tree = tree_outputs_tree(t, &event);
	struct pm_buf b = { 0 };
	enum pm_status st = PM_OK;

	if (!tree)
		return PM_OK;
	if (tree->overflow)
		manners_note("there was no room for more calling contexts: later ones are in "
			     "'[other contexts]' (--max-contexts)");
	if (t->folded) {
		st = save_folded(t->folded, tree, event, err);
	}
	if (!st && t->speedscope) {
		pm_tree_speedscope(tree, event, t->event, title, &b);
		st = save(t->speedscope, &b, err);
	}
	if (!st && t->pprof) {
		st = pm_tree_pprof(tree, event, t->event, title, &b, err);
		if (!st)
			st = save(t->pprof, &b, err);
	}
	pm_buf_release(&b);
	return st;
}

void tree_outputs_release(struct tree_outputs *t)
{
	for (size_t i = 0; i < t->nmeter; i++)
		pm_sim_meter_free(t->meter[i].ops, &t->meter[i].m);
	free(t->meter);
	pm_costs_release(&t->columns);
	t->meter = NULL;
	t->nmeter = t->cap_meter = 0;
}
