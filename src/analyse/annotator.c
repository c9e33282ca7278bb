/* SPDX-License-Identifier: MIT */
#include "analyse/annotator.h"
#include "analyse/calls.h"
#include "analyse/sims.h"

void pm_annotator_add(struct pm_annotator *a, struct pm_pipeline *p, uint32_t facts, bool calls)
{
	struct pm_err err = { 0 };

	*a = (struct pm_annotator){ .book = pm_sink_code_book.create("", &err) };
	pm_pipeline_sink(p, &pm_sink_code_book, a->book);
	if (calls && (facts & pm_sim_calls.needs) == pm_sim_calls.needs) {
		a->calls_sink = pm_sim_calls.create("", &err);
		pm_pipeline_sink(p, &pm_sim_calls, a->calls_sink);
	}
}

struct pm_listing *pm_annotator_listing(struct pm_annotator *a, struct pm_pipeline *p)
{
	const struct pm_sink_ops *ops;
	bool any = false;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		any |= pm_sim_costs(ops, self, &a->costs);
	if (any && a->costs.ncolumn)
		a->listing = pm_listing_new(&a->costs, &a->book->names, a->book);
	return a->listing;
}

const struct pm_calls *pm_annotator_calls(const struct pm_annotator *a)
{
	return a->calls_sink ? pm_sim_calls_graph(a->calls_sink) : NULL;
}

struct pm_names *pm_annotator_names(struct pm_annotator *a)
{
	return &a->book->names;
}

void pm_annotator_release(struct pm_annotator *a)
{
	pm_listing_free(a->listing);
	pm_costs_release(&a->costs);
	*a = (struct pm_annotator){ 0 };
}
