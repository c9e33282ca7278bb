/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "sweep/table.h"

const char *const sweep_status_names[] = { "missing", "done", "failed" };

/* ---- columns -------------------------------------------------------------------------------- */

int sweep_table_number(const struct sweep_table *t, const char *name)
{
	const uint32_t column = pm_string_find(&t->number, name);

	return column == PM_NO_STRING ? -1 : (int)column;
}

int sweep_table_param(const struct sweep_table *t, const char *name)
{
	for (size_t i = 0; i < t->nparam; i++)
		if (!strcmp(t->param[i], name))
			return (int)i;
	return -1;
}

static void add_number(struct sweep_table *t, const char *name, bool whole)
{
	const uint32_t known = t->number.n, column = pm_string_add(&t->number, name);

	if (column < known) {
		t->whole[column] &= whole;
		return;
	}
	pm_grow(t->whole, column, t->cap_whole);
	t->whole[column] = whole;
}

static void add_params(struct sweep_table *t)
{
	for (size_t s = 0; s < t->p->nsim; s++)
		for (size_t i = 0; i < t->p->sim[s].nparam; i++) {
			const char *name = t->p->param[t->p->sim[s].param[i]].name;

			if (sweep_table_param(t, name) >= 0)
				continue;
			pm_grow(t->param, t->nparam, t->cap_param);
			t->param[t->nparam++] = name;
		}
}

/* ---- results -------------------------------------------------------------------------------- */

typedef void take_number(void *to, const char *name, const struct pm_result_node *n);

/* All numbers below @n, but what is in lists. @path: what they are called up to there. */
static void walk(const struct pm_result_node *n, struct pm_buf *path, take_number *take, void *to)
{
	const size_t was = path->n;

	for (const struct pm_result_node *c = n->first; c; c = c->next) {
		if (!c->name)
			continue;
		pm_buf_printf(path, "%s%s", was ? "." : "", c->name);
		if (c->kind == PM_RESULT_OBJECT) {
			walk(c, path, take, to);
		} else if (c->kind == PM_RESULT_U64 || c->kind == PM_RESULT_F64) {
			pm_buf_add(path, "", 1);
			take(to, (const char *)path->p, c);
		}
		path->n = was;
	}
}

static void walk_result(const struct pm_result *r, take_number *take, void *to)
{
	const struct pm_result_node *n = pm_result_find(pm_result_root(r), "result");
	struct pm_buf path = { 0 };

	/* the simulator's name is a column of its own; that of its only predictor would make a
	 * column of each parameter's value */
	while (n && n->first && n->first == n->last && n->first->kind == PM_RESULT_OBJECT)
		n = n->first;
	if (n)
		walk(n, &path, take, to);
	pm_buf_release(&path);
}

struct walk_jobs {
	struct sweep_table *t;
	struct pm_buf spec, canonical;
};

static enum pm_status job_key(struct walk_jobs *w, const struct sweep_job *j, char *key,
			      struct pm_err *err)
{
	sweep_plan_spec(w->t->p, j->config, &w->spec);
	return sweep_key(w->t->ids->id + j->trace, w->t->p->region + j->region,
			 (const char *)w->spec.p, &w->canonical, key, err);
}

static void walk_release(struct walk_jobs *w)
{
	pm_buf_release(&w->spec);
	pm_buf_release(&w->canonical);
}

static void note_column(void *to, const char *name, const struct pm_result_node *n)
{
	add_number(to, name, n->kind == PM_RESULT_U64);
}

enum pm_status sweep_table_open(struct sweep_table *t, const struct sweep_dir *d,
				const struct sweep_plan *p, const struct sweep_trace_ids *ids,
				void (*seen)(void *arg, uint64_t n), void *arg, struct pm_err *err)
{
	struct walk_jobs w = { .t = t };
	enum pm_status s = PM_OK;
	char key[SWEEP_KEY + 1];

	*t = (struct sweep_table){ .d = d, .p = p, .ids = ids, .rows = p->njob };
	add_params(t);
	for (uint64_t i = 0; i < p->njob && !s; i++) {
		struct sweep_job j = sweep_plan_job(p, i);
		struct pm_result *r;

		if (seen && i % 256 == 0)
			seen(arg, i);
		s = job_key(&w, &j, key, err);
		r = s ? NULL : sweep_result_read(d, key);
		if (!r)
			continue;
		if (pm_result_find(pm_result_root(r), "failure")) {
			t->failed++;
		} else {
			t->done++;
			walk_result(r, note_column, t);
		}
		pm_result_free(r);
	}
	walk_release(&w);
	return s;
}

void sweep_table_release(struct sweep_table *t)
{
	free(t->param);
	free(t->whole);
	pm_string_table_release(&t->number);
	pm_arena_release(&t->mem);
	*t = (struct sweep_table){ 0 };
}

struct row_filler { struct sweep_table *t; struct sweep_row *row; };

static void fill_number(void *to, const char *name, const struct pm_result_node *n)
{
	struct row_filler *f = to;
	int c = sweep_table_number(f->t, name);

	if (c < 0)
		return;			/* it came after the columns were looked for */
	f->row->number_value[c] = n->kind == PM_RESULT_U64 ? (double)n->u64 : n->f64;
	f->row->whole_value[c] = n->kind == PM_RESULT_U64 ? n->u64 : 0;
}

static void fill_row(struct sweep_table *t, struct sweep_row *row, const struct pm_result *r)
{
	const struct pm_result_node *failure;

	row->status = r ? SWEEP_DONE : SWEEP_MISSING;
	row->cause = "";
	for (size_t i = 0; i < t->nparam; i++)
		row->param[i] = NULL;
	for (size_t i = 0; i < row->sim->nparam; i++) {
		const struct sweep_param *p = t->p->param + row->sim->param[i];

		row->param[sweep_table_param(t, p->name)] =
			p->values.v[sweep_plan_value(t->p, row->sim, i, row->job.config)];
	}
	for (size_t i = 0; i < t->number.n; i++)
		row->number_value[i] = NAN;
	if (!r)
		return;
	failure = pm_result_find(pm_result_root(r), "failure");
	if (failure) {
		row->status = SWEEP_FAILED;
		row->cause = pm_result_find_text(failure, "cause");
		row->cause = row->cause ? row->cause : "";
	} else {
		walk_result(r, fill_number, &(struct row_filler){ t, row });
	}
}

enum pm_status sweep_table_each(struct sweep_table *t,
				enum pm_status (*take)(void *to, const struct sweep_row *r,
						       struct pm_err *err),
				void *to, struct pm_err *err)
{
	struct walk_jobs w = { .t = t };
	struct sweep_row row = {
		.param = pm_alloc((t->nparam + 1) * sizeof *row.param),
		.number_value = pm_alloc((t->number.n + 1) * sizeof *row.number_value),
		.whole_value = pm_alloc((t->number.n + 1) * sizeof *row.whole_value),
	};
	enum pm_status s = PM_OK;

	for (uint64_t i = 0; i < t->p->njob && !s; i++) {
		struct pm_result *r = NULL;

		row.number = i;
		row.job = sweep_plan_job(t->p, i);
		row.sim = sweep_plan_sim(t->p, row.job.config);
		s = job_key(&w, &row.job, row.key, err);
		if (!s) {
			r = sweep_result_read(t->d, row.key);
			fill_row(t, &row, r);
			s = take(to, &row, err);
		}
		pm_result_free(r);
	}
	walk_release(&w);
	free(row.param);
	free(row.number_value);
	free(row.whole_value);
	return s;
}
