/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/annotator.h"
#include "analyse/sims.h"
#include "analyse/stored.h"

void pm_annotator_add(struct pm_annotator *a, struct pm_pipeline *p, uint32_t facts, bool calls)
{
	const struct pm_sink_ops *ops;
	struct pm_err err = { 0 };
	void *self;

	*a = (struct pm_annotator){ .book = pm_sink_code_book.create("", &err) };
	pm_pipeline_sink(p, &pm_sink_code_book, a->book);
	if (!calls || (facts & pm_sim_calls.needs) != pm_sim_calls.needs)
		return;
	a->calls_sink = pm_sim_calls.create("", &err);
	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		struct pm_annotator_meter m = { .ops = ops, .sink = self };

		if (!pm_sim_meter(ops, self, &m.m))
			continue;
		pm_sim_calls_charge(a->calls_sink, &m.m);
		pm_grow(a->meter, a->nmeter, a->cap_meter);
		a->meter[a->nmeter++] = m;
	}
	pm_pipeline_sink(p, &pm_sim_calls, a->calls_sink);
}

enum pm_status pm_annotator_stored(struct pm_annotator *a, const char *path, struct pm_err *err)
{
	*a = (struct pm_annotator){ .book = pm_alloc(sizeof *a->book), .own_book = true };
	return pm_stored_read(path, &a->costs, a->book, NULL, err);
}

struct pm_listing *pm_annotator_listing(struct pm_annotator *a, struct pm_pipeline *p)
{
	const struct pm_sink_ops *ops;
	bool any = false;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		for (size_t k = 0; k < a->nmeter; k++)
			if (a->meter[k].sink == self) {
				a->meter[k].column = a->costs.ncolumn;
				/* executions stand first, and are one column for all */
				a->meter[k].skip = pm_costs_find(&a->costs, "Ir") >= 0 &&
						   pm_sim_tells_executions(ops);
			}
		any |= pm_sim_costs(ops, self, &a->costs);
	}
	if (a->own_book)
		pm_stored_code(&a->costs, a->book);
	if ((any || a->own_book) && a->costs.ncolumn)
		a->listing = pm_listing_new(&a->costs, &a->book->names, a->book);
	return a->listing;
}

const struct pm_calls *pm_annotator_calls(const struct pm_annotator *a)
{
	return a->calls_sink ? pm_sim_calls_graph(a->calls_sink) : NULL;
}

void pm_annotator_edge(const struct pm_annotator *a, const struct pm_edge_count *e, uint64_t *v)
{
	const uint64_t *cost = pm_calls_edge_costs(pm_annotator_calls(a), e);
	int ir = pm_costs_find(&a->costs, "Ir");

	memset(v, 0, a->costs.ncolumn * sizeof *v);
	for (size_t i = 0; i < a->nmeter; cost += a->meter[i++].m.n) {
		const struct pm_annotator_meter *m = a->meter + i;

		for (unsigned k = m->skip; k < m->m.n && m->column + k - m->skip < a->costs.ncolumn;
		     k++)
			v[m->column + k - m->skip] = cost[k];
	}
	if (ir >= 0)
		v[ir] = e->inclusive;
}

struct pm_names *pm_annotator_names(struct pm_annotator *a)
{
	return &a->book->names;
}

void pm_annotator_release(struct pm_annotator *a)
{
	pm_listing_free(a->listing);
	if (a->own_book) {
		pm_code_book_release(a->book);
		free(a->book);
	}
	pm_costs_release(&a->costs);
	for (size_t i = 0; i < a->nmeter; i++)
		pm_sim_meter_free(a->meter[i].ops, &a->meter[i].m);
	free(a->meter);
	*a = (struct pm_annotator){ 0 };
}
