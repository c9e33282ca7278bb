/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "report/out.h"
#include "report/result_facts.h"

bool pm_result_scalar(const struct pm_result_node *n)
{
	return n->kind != PM_RESULT_OBJECT && n->kind != PM_RESULT_LIST;
}

bool pm_result_numeric(const struct pm_result_node *n)
{
	return n->kind == PM_RESULT_U64 || n->kind == PM_RESULT_F64;
}

double pm_result_number(const struct pm_result_node *n)
{
	return n->kind == PM_RESULT_U64 ? (double)n->u64 : n->f64;
}

/* Of events, not of a whole that is divided: two decimals. */
static bool is_rate(const struct pm_result_node *n)
{
	return !strcmp(n->name, "miss_ratio") || !strcmp(n->name, "accuracy");
}

bool pm_result_percent(const struct pm_result_node *n, double *percent)
{
	const bool part = n->name && (is_rate(n) || !strcmp(n->name, "share") ||
				      !strcmp(n->name, "weight") || !strcmp(n->name, "fraction"));

	if (n->kind != PM_RESULT_F64)
		return false;
	if (n->unit && !strcmp(n->unit, "%")) {
		*percent = n->f64;
		return true;
	}
	*percent = 100 * n->f64;
	return part;
}

const char *pm_result_percent_text(const struct pm_result_node *n, char buf[static 16])
{
	double percent;

	if (!pm_result_percent(n, &percent))
		return NULL;
	return n->name && is_rate(n) ? pm_report_rate(percent, buf) : pm_report_share(percent, buf);
}

const char *pm_result_words(const char *name, char buf[static 64])
{
	snprintf(buf, 64, "%s", name ? name : "");
	for (char *s = buf; *s; s++)
		if (*s == '_')
			*s = ' ';
	return buf;
}

/* Are all in one order by @name, and not all equal? *@sign: -1 falling, 1 rising. */
static bool sorted(const struct pm_result_node *list, const char *name, int *sign)
{
	double last = 0;

	*sign = 0;
	for (const struct pm_result_node *row = list->first; row; row = row->next) {
		const struct pm_result_node *c = pm_result_find(row, name);
		const double v = c && pm_result_numeric(c) ? pm_result_number(c) : 0;
		const int now = v > last ? 1 : v < last ? -1 : 0;

		if (!c || !pm_result_numeric(c))
			return false;
		if (row != list->first && now) {
			if (*sign && now != *sign)
				return false;
			*sign = now;
		}
		last = v;
	}
	return *sign != 0;
}

const char *pm_result_sorted_by(const struct pm_result_node *list, bool *rising)
{
	int sign;

	if (!list->first || list->first->kind != PM_RESULT_OBJECT)
		return NULL;
	for (const struct pm_result_node *c = list->first->first; c; c = c->next)
		if (c->name && pm_result_numeric(c) && sorted(list, c->name, &sign)) {
			*rising = sign > 0;
			return c->name;
		}
	return NULL;
}
