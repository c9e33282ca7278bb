/* SPDX-License-Identifier: MIT */
/* same_results.h - do two simulators say the same, to the last letter? And what they are fed */
#ifndef PM_UNIT_SAME_RESULTS_H
#define PM_UNIT_SAME_RESULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "base/mem.h"
#include "base/result.h"
#include "pugmark/pugmark.h"

/* What the sink says when it ends, terminated. */
static inline void text_of(const struct pm_sink_ops *ops, void *self, struct pm_buf *to)
{
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };

	assert_int_equal(ops->finish(self, r, &err), PM_OK);
	to->n = 0;
	pm_result_json(r, to);
	pm_buf_add(to, "", 1);
	pm_result_free(r);
}

/* Fails with the lines where they begin to differ, if they do. */
static inline void same_text(const char *config, const char *one_is, const char *one,
			     const char *other_is, const char *other)
{
	size_t k = 0;

	while (one[k] && one[k] == other[k])
		k++;
	while (k && one[k] != '\n')
		k--;
	if (strcmp(one, other))
		fail_msg("%s: %s%.80s, %s%.80s", config, one_is, one + k, other_is, other + k);
}

/* free() them. */
static inline struct pm_event *random_events(uint64_t seed, uint64_t span, size_t n)
{
	struct pm_event *ev = malloc(n * sizeof *ev);
	struct o_random r = o_random_init(seed);

	for (size_t i = 0; i < n; i++)
		ev[i] = o_random_ref(&r, span);
	return ev;
}

#endif
