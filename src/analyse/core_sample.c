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

	const enum pm_cache_op op = fetched ? PM_OP_FETCH : written ? PM_OP_WRITE : PM_OP_READ;

	pm_cache_warm(s->cache, op, addr);
	if (s->paging)
		paging_warm(s->paging, op, addr);
	s->fetch_line = UINT64_MAX;
}

void pm_core_warm_branches(void *core, const struct pm_br *b, size_t n)
{
	struct core_sink *s = core;
	uint8_t missed[CORE_GATHER];

	core_submit(s);
	for (size_t k; n; b += k, n -= k) {
		k = n < CORE_GATHER ? n : CORE_GATHER;
		s->bp->run(s->dir, b, k, missed);
		pm_bp_btb.run(s->btb, b, k, missed);
		pm_bp_ras.run(s->ras, b, k, missed);
		pm_bp_ittage.run(s->ittage, b, k, missed);
	}
}

void pm_core_counted(void *core, struct pm_core_stats *to)
{
	struct core_sink *s = core;

	core_submit(s);
	*to = *pm_core_stats(s->k);
	to->branches = s->branches;
	to->instructions -= s->continued;
}
