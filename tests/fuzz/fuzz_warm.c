/* SPDX-License-Identifier: MIT */
/* fuzz_warm.c - stores of lines: what is accepted is written back with the same lines; a first byte
 * that is odd has the checksums put right, so that what is behind them is reached */
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/thousands.h"
#include "analyse/warm.h"
#include "base/mem.h"
#include "fuzz.h"
#include "trace/pug.h"

static void count(void *ctx, uint64_t line, bool fetched, bool written)
{
	if (line % PM_WARM_LINE)
		abort();
	++*(uint64_t *)ctx;
}

static void count_branches(void *ctx, const struct pm_br *b, size_t n)
{
	*(uint64_t *)ctx += n + (b[n - 1].flags & 1);
}

/* All counts of a store. */
static uint64_t count_counts(const struct pm_warm *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->n; i++) {
		const size_t n = pm_warm_thousands(w, i) * PM_THOUSAND_COUNTS;
		uint32_t *row = pm_alloc((n + 1) * sizeof *row);

		pm_warm_counts(w, i, row);
		for (size_t k = 0; k < n; k++)
			sum += row[k];
		free(row);
	}
	return sum;
}

static void read_store(const uint8_t *p, size_t n)
{
	struct pm_warm w, back;
	struct pm_err err = { 0 };
	struct pm_buf b = { 0 };
	uint64_t lines = 0, again = 0;

	if (pm_warm_get(p, n, &w, &err) != PM_OK) {
		if (!err.msg[0] || w.n || w.part)
			abort();
		return;
	}
	for (size_t i = 0; i < w.n; i++) {
		pm_warm_each(&w, i, count, &lines);
		pm_warm_each_branch(&w, i, count_branches, &lines);
	}
	pm_warm_put(&w, &b);
	if (pm_warm_get(b.p, b.n, &back, &err) != PM_OK || back.n != w.n)
		abort();
	for (size_t i = 0; i < back.n; i++) {
		pm_warm_each(&back, i, count, &again);
		pm_warm_each_branch(&back, i, count_branches, &again);
	}
	if (lines != again || w.counted != back.counted || count_counts(&w) != count_counts(&back))
		abort();
	pm_warm_release(&back);
	pm_warm_release(&w);
	pm_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p;

	if (!size || !(*data & 1) || size < 73) {
		read_store(data + (size > 0), size - (size > 0));
		return 0;
	}
	p = pm_alloc_unset(size);
	memcpy(p, data + 1, size - 1);
	memcpy(p, "PUGWARM\n\3\0\0\0\100\0\0\0", 16);
	pug_put64(p + 48, size - 1 - 72);
	/* counts that this reader knows, if there are any */
	pug_put32(p + 60, pug_get32(p + 56) == PM_THOUSAND ? PM_THOUSAND_COUNTS : 0);
	pug_put32(p + 64, pug_crc(p + 72, size - 1 - 72));
	pug_put32(p + 68, pug_crc(p, 68));
	read_store(p, size - 1);
	free(p);
	return 0;
}
