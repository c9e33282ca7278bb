/* SPDX-License-Identifier: MIT */
/* real_trace.h - what a real program did, for tests that otherwise use made-up references: 200000
 * instructions of cc1 -O2 (tests/data/real.pug, single-stepped), or any trace that PM_TRACE
 * names */
#ifndef PM_TEST_REAL_TRACE_H
#define PM_TEST_REAL_TRACE_H

#include <stdlib.h>

#include "analyse/bpred.h"
#include "base/mem.h"
#include "trace/expand.h"
#include "trace/format.h"
#include "trace/pipeline.h"

struct real_events { struct pm_event *v; size_t n, cap, max; };

static enum pm_status real_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct real_events *r = self;

	(void)err;
	for (size_t i = 0; i < b->n && r->n < r->max; i++) {
		pm_grow(r->v, r->n, r->cap);
		r->v[r->n++] = b->ev[i];
	}
	return PM_OK;
}

static bool real_full(const void *arg)
{
	const struct real_events *r = arg;

	return r->n >= r->max;
}

/* Instructions, references, branches in program order; free() them. */
static inline struct pm_event *real_events(size_t max, size_t *n)
{
	static const struct pm_sink_ops ops = { .abi = PM_ABI, .needs = PM_HAS_INSNS,
		.name = "real",
		.consume = real_consume };
	const char *path = getenv("PM_TRACE"), *tests = getenv("TESTS");
	struct real_events r = { .max = max };
	struct pm_pipeline *p = pm_pipeline_new();
	char name[4096];
	struct pm_source src;
	struct pm_err err = { 0 };

	snprintf(name, sizeof name, "%s/data/real.pug", tests ? tests : "tests");
	pm_pipeline_sink(p, &ops, &r);
	if (pm_trace_open(path ? path : name, NULL, &src, NULL, &err) ||
	    pm_pipeline_run_until(p, &src, NULL, real_full, &r, &err)) {
		fprintf(stderr, "%s: %s\n", path ? path : name, err.msg);
		exit(1);
	}
	src.ops->close(src.self);
	pm_pipeline_free(p);
	*n = r.n;
	return r.v;
}

static inline size_t real_branches(struct pm_br *b, size_t max)
{
	size_t n, k = 0;
	struct pm_event *ev = real_events(SIZE_MAX, &n);

	for (size_t i = 0; i < n && k < max; i++)
		if (ev[i].kind == PM_EV_BRANCH)
			b[k++] = (struct pm_br){ ev[i].addr, ev[i].value, ev[i].flags,
						 (uint8_t)ev[i].size };
	free(ev);
	return k;
}

#endif
