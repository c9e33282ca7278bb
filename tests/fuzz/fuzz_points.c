/* SPDX-License-Identifier: MIT */
/* fuzz_points.c - simulation points from a points.json: what is accepted makes sense, and is
 * written back the same */
#include <stdlib.h>

#include "analyse/points.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/result.h"
#include "fuzz.h"

static bool get(const char *text, size_t n, struct pm_points *p)
{
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };
	bool ok = pm_json_read(text, n, r, &err) == PM_OK &&
		  pm_points_get(pm_result_root(r), p, &err) == PM_OK;

	if (!ok && !err.msg[0])
		abort();
	pm_result_free(r);
	return ok;
}

static void look(const struct pm_points *p)
{
	double *value = pm_alloc(p->n * sizeof *value);
	struct pm_estimate e;

	for (size_t i = 0; i < p->n; i++) {
		if (p->v[i].phase >= p->phases || p->v[i].warmup > p->v[i].first || !p->v[i].work)
			abort();
		value[i] = (double)i;
	}
	e = pm_points_estimate(p, value, 0.95);
	if (!(e.half >= 0))
		abort();
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = pm_strndup((const char *)data, size);
	struct pm_result *r;
	struct pm_buf b = { 0 };
	struct pm_points p, back;

	if (get(text, strlen(text), &p)) {
		look(&p);
		r = pm_result_new();
		pm_points_put(&p, r);
		pm_result_json(r, &b);
		pm_buf_add(&b, "", 1);
		if (!get((const char *)b.p, b.n - 1, &back) || back.n != p.n ||
		    back.phases != p.phases)
			abort();
		pm_points_release(&back);
		pm_points_release(&p);
		pm_result_free(r);
		pm_buf_release(&b);
	}
	free(text);
	return 0;
}
