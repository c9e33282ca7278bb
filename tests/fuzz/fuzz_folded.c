/* SPDX-License-Identifier: MIT */
/* fuzz_folded.c - folded stacks: read, or refused with a message; what is read keeps its total when
 * it is written, and what was written once is written the same again */
#include <stdlib.h>
#include <string.h>

#include "analyse/tree_read.h"
#include "report/tree_files.h"
#include "fuzz.h"
#include "fuzz_file.h"

static uint64_t total(const struct pm_tree *t)
{
	uint64_t *inclusive = pm_tree_inclusive(t, 0), sum = inclusive[0];

	free(inclusive);
	return sum;
}

/* What is in @from, written again, into @to; its total. */
static uint64_t again(const struct pm_buf *from, struct pm_buf *to)
{
	struct pm_err err = { 0 };
	struct pm_tree t;
	uint64_t sum;

	pm_tree_init(&t, UINT32_MAX, UINT32_MAX);
	if (pm_tree_read_folded(&t, fuzz_file(from->p, from->n), &err) != PM_OK)
		abort();
	pm_tree_folded(&t, 0, to);
	sum = total(&t);
	pm_tree_release(&t);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_buf once = { 0 }, twice = { 0 }, thrice = { 0 };
	struct pm_err err = { 0 };
	struct pm_tree t;

	pm_tree_is_folded(fuzz_file(data, size));
	pm_tree_init(&t, UINT32_MAX, UINT32_MAX);
	if (pm_tree_read_folded(&t, fuzz_file(data, size), &err) != PM_OK) {
		if (!err.msg[0])
			abort();
	} else {
		free(pm_tree_functions(&t));
		pm_tree_folded(&t, 0, &once);
		/* characters that are not printable become alike the first time */
		if (again(&once, &twice) != total(&t) || again(&twice, &thrice) != total(&t) ||
		    twice.n != thrice.n || (twice.n && memcmp(twice.p, thrice.p, twice.n)))
			abort();
	}
	pm_tree_release(&t);
	pm_buf_release(&once);
	pm_buf_release(&twice);
	pm_buf_release(&thrice);
	return 0;
}
