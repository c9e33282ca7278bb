/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyse/annotator.h"
#include "analyse/cachegrind.h"
#include "analyse/calls.h"
#include "analyse/sims.h"

void pm_annotator_add(struct pm_annotator *a, struct pm_pipeline *p, uint32_t facts, bool calls)
{
	const struct pm_sink_ops *ops;
	struct pm_err err = { 0 };
	void *self;

	*a = (struct pm_annotator){ .book = pm_sink_code_book.create("", &err) };
	pm_pipeline_sink(p, &pm_sink_code_book, a->book);
	if (calls && (facts & pm_sim_calls.needs) == pm_sim_calls.needs) {
		a->calls_sink = pm_sim_calls.create("", &err);
		for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)) && !a->twin; i++)
			if (ops == &pm_sim_cachegrind) {
				a->twin = pm_cachegrind_twin(self);
				a->metered = self;
				pm_sim_calls_charge(a->calls_sink,
					&(struct pm_calls_meter){ PM_CG_COUNT, a->twin, pm_cg_charge });
			}
		pm_pipeline_sink(p, &pm_sim_calls, a->calls_sink);
	}
}

struct pm_listing *pm_annotator_listing(struct pm_annotator *a, struct pm_pipeline *p)
{
	const struct pm_sink_ops *ops;
	bool any = false;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		if (self == a->metered)
			a->column = a->costs.ncolumn + (pm_costs_find(&a->costs, "Ir") < 0);
		any |= pm_sim_costs(ops, self, &a->costs);
	}
	if (any && a->costs.ncolumn)
		a->listing = pm_listing_new(&a->costs, &a->book->names, a->book);
	return a->listing;
}

const struct pm_calls *pm_annotator_calls(const struct pm_annotator *a)
{
	return a->calls_sink ? pm_sim_calls_graph(a->calls_sink) : NULL;
}

void pm_annotator_edge(const struct pm_annotator *a, const struct pm_edge_count *e, uint64_t *v)
{
	const uint64_t *cost = a->twin ? pm_calls_edge_costs(pm_annotator_calls(a), e) : NULL;

	int ir = pm_costs_find(&a->costs, "Ir");

	memset(v, 0, a->costs.ncolumn * sizeof *v);
	if (ir >= 0)
		v[ir] = e->inclusive;
	for (unsigned k = 1; cost && k < PM_CG_COUNT && a->column + k - 1 < a->costs.ncolumn; k++)
		v[a->column + k - 1] = cost[k];
}

struct pm_names *pm_annotator_names(struct pm_annotator *a)
{
	return &a->book->names;
}

void pm_annotator_release(struct pm_annotator *a)
{
	pm_listing_free(a->listing);
	pm_costs_release(&a->costs);
	pm_cg_free(a->twin);
	*a = (struct pm_annotator){ 0 };
}
