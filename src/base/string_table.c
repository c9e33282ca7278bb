/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "base/string_table.h"

/* Strings with the same hash stand one behind the other. */
static uint32_t find(const struct pm_string_table *t, const char *s, uint64_t *key)
{
	const uint64_t *at;

	for (*key = pm_mix(s, strlen(s), 0); (at = pm_map_get(&t->at, *key)); ++*key)
		if (!strcmp(t->v[*at - 1], s))
			return (uint32_t)*at - 1;
	return PM_NO_STRING;
}

uint32_t pm_string_find(const struct pm_string_table *t, const char *s)
{
	uint64_t key;

	return find(t, s, &key);
}

uint32_t pm_string_add(struct pm_string_table *t, const char *s)
{
	uint64_t key;
	const uint32_t known = find(t, s, &key);

	if (known != PM_NO_STRING)
		return known;
	pm_grow(t->v, t->n, t->cap);
	t->v[t->n++] = pm_arena_strdup(&t->mem, s);
	*pm_map_put(&t->at, key, NULL) = t->n;
	return t->n - 1;
}

void pm_string_table_release(struct pm_string_table *t)
{
	pm_map_release(&t->at);
	pm_arena_release(&t->mem);
	free(t->v);
	*t = (struct pm_string_table){ 0 };
}
