/* SPDX-License-Identifier: MIT */
/* core_rules.c - one copy of each rule
 *
 * A program executes ten thousands of instructions, and most of them have their registers, class
 * and ports in common with others. Once each, all of them are in the caches of the processor that
 * simulates. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/core_work.h"
#include "base/mem.h"
#include "base/mix.h"

/* All that a rule says, without holes. */
#define RULE_BYTES	(offsetof(struct core_rule, rob) + 1)
_Static_assert(RULE_BYTES == 50, "a rule has holes, or more fields: they are compared as bytes");

/* Where @r is in @t, or NULL is instead. */
static struct core_rule **place(const struct core_rules *t, const struct core_rule *r)
{
	size_t i = pm_mix(r, RULE_BYTES, 0);

	while (t->slot[i & (t->cap - 1)] && memcmp(t->slot[i & (t->cap - 1)], r, RULE_BYTES))
		i++;
	return t->slot + (i & (t->cap - 1));
}

static void grow(struct core_rules *t)
{
	const struct core_rules was = *t;

	t->cap = was.cap ? was.cap * 2 : 256;
	t->slot = pm_alloc(t->cap * sizeof *t->slot);
	for (size_t i = 0; i < was.cap; i++)
		if (was.slot[i])
			*place(t, was.slot[i]) = was.slot[i];
	free(was.slot);
}

const struct core_rule *core_rule_kept(struct core_rules *t, const struct core_rule *r)
{
	struct core_rule **at;

	if (t->n * 2 >= t->cap)
		grow(t);
	at = place(t, r);
	if (!*at) {
		*at = pm_alloc_lines(sizeof **at);
		**at = *r;
		t->n++;
	}
	return *at;
}

void core_rules_free(struct core_rules *t)
{
	for (size_t i = 0; i < t->cap; i++)
		free(t->slot[i]);
	free(t->slot);
}
