/* SPDX-License-Identifier: MIT */
/* string_table.h - different strings, numbered from 0 as they come
 *
 * Owner      the table has copies of all strings.
 * Threads    one table, one thread. */
#ifndef PM_BASE_STRING_TABLE_H
#define PM_BASE_STRING_TABLE_H

#include "base/mem.h"

#define PM_NO_STRING	UINT32_MAX

struct pm_string_table {		/* all 0: an empty one */
	const char **v;			/* by number */
	uint32_t n;
	size_t cap;
	struct pm_map at;		/* by hash: number + 1 */
	struct pm_arena mem;
};

/* The number of @s; that is the last one, n - 1, if it is new. */
uint32_t pm_string_add(struct pm_string_table *t, const char *s);
/* Its number, or PM_NO_STRING. */
uint32_t pm_string_find(const struct pm_string_table *t, const char *s);
void pm_string_table_release(struct pm_string_table *t);

#endif
