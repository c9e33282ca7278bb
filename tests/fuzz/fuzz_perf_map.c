/* SPDX-License-Identifier: MIT */
/* fuzz_perf_map.c - perf's map files: whatever stands there, ranges are sorted, none is empty, and
 * the name at an address is of a range around it */
#include <stdlib.h>

#include "analyse/perf_map.h"
#include "fuzz.h"

static void look_up(const struct pm_perf_map *m, uint64_t addr)
{
	const char *name = pm_perf_map_name(m, addr);
	size_t k = 0;

	if (!name)
		return;
	while (k < m->n && !(m->v[k].name == name && m->v[k].lo <= addr && addr < m->v[k].hi))
		k++;
	if (k == m->n || !*name)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_perf_map m;

	pm_perf_map_parse(&m, (const char *)data, size);
	for (size_t i = 0; i < m.n; i++) {
		if (m.v[i].lo >= m.v[i].hi || (i && m.v[i].lo < m.v[i - 1].lo))
			abort();
		look_up(&m, m.v[i].lo);
		look_up(&m, m.v[i].hi - 1);
		look_up(&m, m.v[i].hi);
	}
	look_up(&m, 0);
	look_up(&m, UINT64_MAX);
	pm_perf_map_release(&m);
	return 0;
}
