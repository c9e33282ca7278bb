/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "trace/pug_file.h"
#include "transform/adapt.h"
#include "transform/to_uops.h"

struct pm_pipeline *pm_adapt_pipeline(struct pm_source *src, const struct pm_format *which)
{
	struct pm_pipeline *p = pm_pipeline_new();

	pm_pipeline_threads(p, PM_THREADS_AUTO);
	if (strcmp(which->name, "pug")) {
		pm_pipeline_info(p, "source", which->name);
		return p;
	}
	for (const char *s = pug_read_info(pm_trace_reader(src)); *s; s += strlen(s) + 1) {
		const char *eq = strchr(s, '=');
		char name[64];

		/* the tool and the level are those that write now */
		if (!eq || (size_t)(eq - s) >= sizeof name || !strncmp(s, "tool=", 5) ||
		    !strncmp(s, "level=", 6))
			continue;
		memcpy(name, s, (size_t)(eq - s));
		name[eq - s] = 0;
		pm_pipeline_info(p, name, eq + 1);
	}
	return p;
}

uint32_t pm_adapt(struct pm_pipeline *p, uint32_t facts, uint32_t needs, const void **cracker)
{
	void *self;

	if (cracker)
		*cracker = NULL;
	if (!(needs & ~facts & PM_HAS_UOPS) || (facts & pm_crack_ops.needs) != pm_crack_ops.needs)
		return facts;
	self = pm_crack_new();
	pm_pipeline_transform(p, &pm_crack_ops, self);
	if (cracker)
		*cracker = self;
	return (facts | pm_crack_ops.adds) & ~PM_HAS_BLOCKS;
}

void pm_adapt_result(struct pm_result *r, const void *cracker)
{
	const struct pm_crack_stats *c;
	uint64_t count[16];
	char name[16][12];
	unsigned n;

	if (!cracker)
		return;
	c = pm_crack_stats(cracker);
	n = pm_crack_generic(cracker, name, count, NR(count));
	pm_result_begin(r, "cracked");
	pm_result_u64(r, "instructions", c->insns, "instructions");
	pm_result_u64(r, "uops", c->uops, "micro-ops");
	pm_result_u64(r, "integer", c->integer, "instructions");
	pm_result_u64(r, "integer_specific", c->integer_specific, "instructions");
	pm_result_u64(r, "other", c->other, "instructions");
	pm_result_u64(r, "other_specific", c->other_specific, "instructions");
	pm_result_u64(r, "unknown", c->unknown, "instructions");
	pm_result_u64(r, "without_address", c->missing, "micro-ops");
	pm_result_begin(r, "generic");
	for (unsigned i = 0; i < n; i++)
		pm_result_u64(r, name[i], count[i], "instructions");
	pm_result_end(r);
	pm_result_end(r);
}
