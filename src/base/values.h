/* SPDX-License-Identifier: MIT */
/* values.h - what a parameter may be where it has many values: lists and ranges, written out
 *
 *	256k..4m*2	256k, 512k, 1m, 2m, 4m: each is the one before times 2
 *	1..9+2		1, 3, 5, 7, 9; without a step, 1
 *	lru|fifo	one or the other; each may be a range
 *	8|16way		8way, 16way: letters behind the last number belong to plain numbers, too
 *	{a,b|c}		what holds , ; or = stands in braces
 * Suffixes k, m, g are powers of 1024. */
#ifndef PM_BASE_VALUES_H
#define PM_BASE_VALUES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

#define PM_VALUES 100000u			/* of one parameter, at most */

struct pm_values {
	char **v;			/* in the arena */
	size_t n, cap;
};

/* Does @text say more than one value? */
bool pm_is_list(const char *text);
/* All values of @text, in order. A single one is a list of one. Errors are requests. */
enum pm_status pm_values_parse(struct pm_values *to, struct pm_arena *mem, const char *text,
				  struct pm_err *err);
void pm_values_release(struct pm_values *v);
/* The letters that all of the list's numbers have behind them ("way"), into @to; "": none. */
void pm_values_unit(const struct pm_values *v, char to[static 16]);

#endif
