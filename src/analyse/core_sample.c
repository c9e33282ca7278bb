/* SPDX-License-Identifier: MIT */
#include "analyse/core_sample.h"
#include "analyse/core_work.h"

void pm_core_time(void *core, bool on)
{
	struct core_sink *s = core;

	core_submit(s);
	s->timeless = !on;
}

void pm_core_warm(void *core, uint64_t addr, bool fetched, bool written)
{
	struct core_sink *s = core;

	pm_cache_warm(s->cache, fetched ? PM_OP_FETCH : written ? PM_OP_WRITE : PM_OP_READ, addr);
	s->fetch_line = UINT64_MAX;
}

void pm_core_counted(void *core, struct pm_core_stats *to)
{
	struct core_sink *s = core;

	core_submit(s);
	*to = *pm_core_stats(s->k);
	to->branches = s->branches;
}
