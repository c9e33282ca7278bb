/* SPDX-License-Identifier: MIT */
/* annotator.h - from the simulators of a pipeline to one listing of the code with all their costs
 *
 *	pm_annotator_add(&a, p, facts, false);		before pm_pipeline_start()
 *	... the pipeline runs ...
 *	l = pm_annotator_listing(&a, p);		before pm_pipeline_free(); NULL: nobody
 *                                                      blames anybody
 *	pm_annotator_release(&a); */
#ifndef PM_ANALYSE_ANNOTATOR_H
#define PM_ANALYSE_ANNOTATOR_H

#include "analyse/calls.h"
#include "analyse/listing.h"
#include "base/err.h"
#include "trace/pipeline.h"

struct pm_annotator {
	struct pm_code_book *book;	/* the pipeline's, unless... */
	bool own_book;
	void *calls_sink;
	/* what calls cost comes from a second simulator beside each that tells instructions
	 * apart */
	struct pm_annotator_meter {
		const struct pm_sink_ops *ops;
		const void *sink;	/* that it is the second one of */
		struct pm_calls_meter m;
		unsigned column, skip;	/* of its costs, but for the first @skip: the listing's
					 * column */
	} *meter;
	size_t nmeter, cap_meter;
	struct pm_costs costs;
	struct pm_listing *listing;
};

/* @calls: the call graph, too, where @facts (of what reaches the sinks) allow. */
void pm_annotator_add(struct pm_annotator *a, struct pm_pipeline *p, uint32_t facts, bool calls);
/* Instead of a pipeline's, the costs in the file @path (stored.h); names of objects are added
 * before the listing is asked for. */
enum pm_status pm_annotator_stored(struct pm_annotator *a, const char *path, struct pm_err *err);
struct pm_listing *pm_annotator_listing(struct pm_annotator *a, struct pm_pipeline *p);
const struct pm_calls *pm_annotator_calls(const struct pm_annotator *a);	/* NULL: none */
/* The inclusive costs of @e by column of the listing. */
void pm_annotator_edge(const struct pm_annotator *a, const struct pm_edge_count *e, uint64_t *v);
struct pm_names *pm_annotator_names(struct pm_annotator *a);
void pm_annotator_release(struct pm_annotator *a);

#endif
