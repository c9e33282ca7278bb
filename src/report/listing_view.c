/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/listing_view.h"
#include "report/width.h"

static void unknown_event(const struct pm_costs *c, const char *name, size_t n, struct pm_err *err)
{
	char all[160];
	size_t at = 0;

	all[0] = 0;
	for (unsigned k = 0; k < c->ncolumn && at < sizeof all; k++)
		at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", k ? ", " : "",
				       c->column[k].name);
	pm_fail_file(err, "'%.*s' is not an event; there are: %s", (int)n, name, all);
}

/* The columns of @c that @names, separated by commas, stand for: *ncol of them. */
static enum pm_status columns_named(const struct pm_costs *c, const char *names,
				    unsigned col[PM_COSTS_MAX], unsigned *ncol,
				    struct pm_err *err)
{
	*ncol = 0;
	while (*names) {
		size_t n = strcspn(names, ",");
		char one[24];
		int k = -1;

		snprintf(one, sizeof one, "%.*s", (int)n, names);
		if (n < sizeof one)
			k = pm_costs_find(c, one);
		if (k < 0 || *ncol == PM_COSTS_MAX) {
			unknown_event(c, names, n, err);
			return PM_ERR;
		}
		col[(*ncol)++] = (unsigned)k;
		names += n + (names[n] == ',');
	}
	return PM_OK;
}

enum pm_status pm_listing_check(const struct pm_costs *c, const struct pm_listing_opts *o,
				struct pm_err *err)
{
	unsigned col[PM_COSTS_MAX], n;

	if (o->events && columns_named(c, o->events, col, &n, err) != PM_OK)
		return PM_ERR;
	if (o->sort && pm_costs_find(c, o->sort) < 0) {
		unknown_event(c, o->sort, strlen(o->sort), err);
		return PM_ERR;
	}
	return PM_OK;
}

/* Events of data, of branches, of fetches: what they are about is their first letter. */
static bool same_family(const struct pm_costs *c, unsigned a, unsigned b)
{
	return c->column[a].name[0] == c->column[b].name[0];
}

/* The first event and the worst ones: of each family its worst, then whatever is the worst of the
 * rest; as many as leave @width room for code, three at least. Others where nothing is trouble. */
static void columns_worst(struct pm_view *v, size_t width)
{
	const struct pm_costs *c = v->l->costs;
	const size_t room = width > 80 ? (width - 80) / 9 + 3 : 3;
	bool shown[PM_COSTS_MAX] = { true }, any = false;

	for (unsigned pass = 0, n = 0; pass < 2; pass++)
		for (unsigned best = 1; best && n < room; n += best > 0) {
			best = 0;
			for (unsigned k = 1; k < c->ncolumn; k++) {
				bool taken = shown[k] || !v->total[k] || !c->column[k].trouble;

				for (unsigned i = 1; !pass && i < c->ncolumn; i++)
					taken |= shown[i] && same_family(c, i, k);
				if (!taken && (!best || v->total[k] > v->total[best]))
					best = k;
			}
			shown[best] = true;
			any |= best > 0;
		}
	for (unsigned k = 1, n = 0; k < c->ncolumn && !any && n < room; k++)
		n += shown[k] = v->total[k];
	for (unsigned k = 0; k < c->ncolumn; k++)
		if (shown[k])
			v->col[v->ncol++] = k;
}

void pm_view_release(struct pm_view *v)
{
	pm_source_release(&v->files);
	free(v->order);
}

enum pm_status pm_view_init(struct pm_view *v, struct pm_listing *l,
			    const struct pm_listing_opts *o, struct pm_err *err)
{
	const struct pm_costs *c = l->costs;
	const int sort = o->sort ? pm_costs_find(c, o->sort) : 0;
	size_t kept = 0;

	*v = (struct pm_view){ .l = l, .o = o, .top = o->top ? o->top : 5,
		.width = o->width ? o->width : PM_ANY_WIDTH, .sort = sort > 0 ? (unsigned)sort : 0,
		.files = { .folder = o->source } };
	if (pm_listing_check(c, o, err) != PM_OK ||
	    (o->events && columns_named(c, o->events, v->col, &v->ncol, err) != PM_OK))
		return PM_ERR;
	pm_listing_sum(l, 0, l->ninsn, v->total);
	if (!o->events)
		columns_worst(v, v->width);
	v->norder = pm_listing_top(l, v->sort, &v->order);
	if (!o->function)
		return PM_OK;
	for (size_t i = 0; i < v->norder; i++)
		if (!strcmp(l->function[v->order[i]].name, o->function))
			v->order[kept++] = v->order[i];
	if (!kept) {
		pm_view_release(v);
		return pm_fail_file(err, "no function '%s' was executed", o->function);
	}
	v->norder = kept;
	v->top = kept;
	return PM_OK;
}

const char *pm_view_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}


void pm_view_costs(const struct pm_view *v, const struct pm_listing_insn *i, uint64_t *x)
{
	for (unsigned k = 0; k < v->l->costs->ncolumn; k++)
		x[k] = v->l->costs->v[k][i->row];
}
