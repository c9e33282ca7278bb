/* SPDX-License-Identifier: MIT */
/* result_facts.h - what renderers of results have to know about a value beyond its kind */
#ifndef PM_REPORT_RESULT_FACTS_H
#define PM_REPORT_RESULT_FACTS_H

#include <stdbool.h>

#include "base/result.h"

bool pm_result_scalar(const struct pm_result_node *n);
bool pm_result_numeric(const struct pm_result_node *n);
double pm_result_number(const struct pm_result_node *n);
/* Is it a part of a whole? Then *@percent: results hold 0.208, people read 20.8 %. */
bool pm_result_percent(const struct pm_result_node *n, double *percent);
/* ... as text (out.h), into @buf, which is returned; NULL: it is none. */
const char *pm_result_percent_text(const struct pm_result_node *n, char buf[static 16]);
/* "miss_ratio" as "miss ratio", into @buf, which is returned. */
const char *pm_result_words(const char *name, char buf[static 64]);

/* The numbers by which the objects of @list come sorted, the first such in order of names in the
 * first object; NULL: none. *@rising: smallest first. */
const char *pm_result_sorted_by(const struct pm_result_node *list, bool *rising);

#endif
