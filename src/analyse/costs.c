/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/costs.h"

int pm_costs_find(const struct pm_costs *c, const char *name)
{
	for (unsigned k = 0; k < c->ncolumn; k++)
		if (!strcmp(c->column[k].name, name))
			return (int)k;
	return -1;
}

int pm_costs_column(struct pm_costs *c, const char *name, const char *about, bool trouble)
{
	int old = pm_costs_find(c, name);
	struct pm_costs_column *col = c->column + c->ncolumn;

	if (old >= 0 && !strcmp(name, "Ir"))
		return old;
	if (c->ncolumn == PM_COSTS_MAX)
		return -1;
	col->about = about;
	col->trouble = trouble;
	snprintf(col->name, sizeof col->name, "%.20s", name);
	for (unsigned i = 2; old >= 0; i++) {
		char other[24];

		snprintf(other, sizeof other, "%.20s%u", name, i % 1000);
		old = pm_costs_find(c, other);
		memcpy(col->name, other, sizeof other);
	}
	c->v[c->ncolumn] = pm_alloc((c->cap ? c->cap : 1) * sizeof *c->v[0]);
	return (int)c->ncolumn++;
}

size_t pm_costs_row(struct pm_costs *c, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&c->at, pc, &fresh);

	if (!fresh)
		return *at;
	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 1024;

		c->pc = pm_realloc(c->pc, cap * sizeof *c->pc);
		for (unsigned k = 0; k < c->ncolumn; k++) {
			c->v[k] = pm_realloc(c->v[k], cap * sizeof *c->v[k]);
			memset(c->v[k] + c->n, 0, (cap - c->n) * sizeof *c->v[k]);
		}
		c->cap = cap;
	}
	c->pc[c->n] = pc;
	return *at = c->n++;
}

uint64_t pm_costs_total(const struct pm_costs *c, unsigned column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += c->v[column][i];
	return sum;
}

void pm_costs_release(struct pm_costs *c)
{
	pm_map_release(&c->at);
	free(c->pc);
	for (unsigned k = 0; k < c->ncolumn; k++)
		free(c->v[k]);
	*c = (struct pm_costs){ 0 };
}
