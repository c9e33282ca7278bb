/* SPDX-License-Identifier: MIT */
/* diff_gate.c - conditions on a difference: the grammar is in diff.h */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/diff.h"
#include "base/near.h"

static enum pm_status wrong(struct pm_err *err, const char *text, const char *what)
{
	return pm_fail_request(err, "condition '%.100s': expected %s, as in 'instructions>+1%%' "
				    "or 'function main instructions>+1000'", text, what);
}

/* The part of @from..@to without blanks around it; NULL: nothing is left. */
static char *trimmed(const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	return from < to ? pm_strndup(from, (size_t)(to - from)) : NULL;
}

/* "[TABLE PATTERN] MEASURE" */
static bool read_names(struct pm_diff_gate *g, const char *from, const char *to)
{
	char *all = trimmed(from, to), *first, *last;

	if (!all)
		return false;
	first = strchr(all, ' ');
	last = strrchr(all, ' ');
	if (!first) {
		g->measure = all;
		return true;
	}
	g->table = trimmed(all, first);
	g->pattern = trimmed(first, last);
	g->measure = pm_strdup(last + 1);
	free(all);
	return g->pattern;
}

/* "+1%", "-100", "2.5M" */
static bool read_bound(struct pm_diff_gate *g, const char *s)
{
	static const char suffix[] = "kMG";
	bool minus;
	char *end;

	while (*s == ' ')
		s++;
	minus = *s == '-';
	g->change = *s == '+' || minus;
	s += g->change;
	/* no "inf", no "nan", no second sign */
	if (!*s || !strchr("0123456789.", *s) || (s[0] == '0' && (s[1] | 32) == 'x'))
		return false;
	g->bound = strtod(s, &end);
	if (end == s || !isfinite(g->bound))
		return false;
	if (*end && strchr(suffix, *end))
		g->bound *= pow(1000, (double)(strchr(suffix, *end++) - suffix + 1));
	g->percent = *end == '%';
	end += g->percent;
	while (*end == ' ')
		end++;
	if (minus)
		g->bound = -g->bound;
	return !*end && (g->change || !g->percent);
}

enum pm_status pm_diff_gate_read(struct pm_diff_gate *g, const char *text, struct pm_err *err)
{
	const char *op;

	*g = (struct pm_diff_gate){ .text = text };
	if (!strcmp(text, "different")) {
		g->any = true;
		return PM_OK;
	}
	/* names may hold < and > (templates): the last one is meant */
	op = text + strlen(text);
	while (op > text && *op != '<' && *op != '>')
		op--;
	if (*op != '<' && *op != '>')
		return wrong(err, text, "'different', or a measure, '<' or '>', and a bound");
	g->op = *op == '>' ? (op[1] == '=' ? PM_DIFF_MORE_EQ : PM_DIFF_MORE) :
		op[1] == '=' ? PM_DIFF_LESS_EQ : PM_DIFF_LESS;
	if (!read_names(g, text, op))
		return wrong(err, text, "MEASURE, or TABLE PATTERN MEASURE, in front of it");
	if (!read_bound(g, op + 1 + (op[1] == '=')))
		return wrong(err, text, "a bound: [+|-]NUMBER, and % only behind a change");
	return PM_OK;
}

void pm_diff_gate_release(struct pm_diff_gate *g)
{
	free(g->table);
	free(g->pattern);
	free(g->measure);
	free(g->worst);
}

/* ---- asking -------------------------------------------------------------------------------- */

/* Exact where both are whole numbers: @over is by how much the bound is exceeded. */
static bool beyond(const struct pm_diff_gate *g, struct pm_diff_value a, struct pm_diff_value b,
		   long double *over)
{
	long double x = a.whole ? (long double)a.u64 : (long double)a.f64;
	long double y = b.whole ? (long double)b.u64 : (long double)b.f64;
	long double seen = g->change ? y - x : y, bound = g->bound;

	/* y - x > x * bound / 100, without a division: exact up to 2^57 */
	if (g->percent) {
		bound *= fabsl(x);
		seen *= 100;
	}
	*over = g->op <= PM_DIFF_MORE_EQ ? seen - bound : bound - seen;
	return g->op == PM_DIFF_MORE || g->op == PM_DIFF_LESS ? *over > 0 : *over >= 0;
}

static void ask_pair(struct pm_diff_gate *g, const struct pm_diff_both *t,
		     const struct pm_diff_pair *p, unsigned column, long double *worst)
{
	const struct pm_diff_value a = pm_diff_get(t, p, column, 0);
	const struct pm_diff_value b = pm_diff_get(t, p, column, 1);
	struct pm_buf name = { 0 };
	long double over;
	bool is;

	if (!a.there || !b.there)
		return;
	is = beyond(g, a, b, &over);
	g->nbroken += is;
	if (g->matched++ && (is < g->broken || (is == g->broken && over <= *worst)))
		return;
	*worst = over;
	g->broken |= is;
	g->a = a;
	g->b = b;
	pm_diff_name(t, p, &name);
	pm_buf_add(&name, "", 1);
	free(g->worst);
	g->worst = (char *)name.p;
}

/* "function" and "functions" are cachegrind.functions. */
static bool is_table(const struct pm_diff_both *t, const char *name)
{
	const char *last = pm_diff_last(t->name);
	size_t n = strlen(name);

	if (!strcmp(t->name, name) || !strcmp(last, name))
		return true;
	return !strncmp(last, name, n) && (!strcmp(last + n, "s") || !strcmp(last + n, "es"));
}

/* "misses" is cache.l1d.misses */
static bool is_total(const char *path, const char *name)
{
	size_t n = strlen(path), k = strlen(name);

	return n == k ? !strcmp(path, name) :
			n > k && path[n - k - 1] == '.' && !strcmp(path + n - k, name);
}

static bool is_row(const struct pm_diff_both *t, const struct pm_diff_pair *p, const char *pattern)
{
	struct pm_buf name = { 0 };
	bool is;

	pm_diff_name(t, p, &name);
	pm_buf_add(&name, "", 1);
	is = !strcmp((const char *)name.p, pattern) || !strcmp(p->key, pattern) ||
	     !fnmatch(pattern, (const char *)name.p, 0) || !fnmatch(pattern, p->key, 0);
	pm_buf_release(&name);
	return is;
}

static enum pm_status no_table(const struct pm_diff_gate *g, const struct pm_diff *d,
			       struct pm_err *err)
{
	struct pm_buf all = { 0 };

	for (size_t i = 0; i < d->nboth; i++)
		if (strcmp(d->both[i]->name, PM_DIFF_TOTALS))
			pm_buf_printf(&all, "%s%s", all.n ? ", " : "", d->both[i]->name);
	pm_fail_request(err, "condition '%.80s': there is no table '%.40s'; there are: %.*s",
			g->text, g->table, (int)(all.n < 100 ? all.n : 100),
			all.n ? (const char *)all.p : "");
	pm_buf_release(&all);
	return PM_ERR;
}

static enum pm_status ask_rows(struct pm_diff_gate *g, const struct pm_diff *d, struct pm_err *err)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];
	bool table = false, row = false;
	long double worst = 0;

	for (size_t i = 0; i < d->nboth; i++) {
		const struct pm_diff_both *t = d->both[i];
		const int column = pm_diff_measure(t, g->measure);

		if (!is_table(t, g->table))
			continue;
		table = true;
		for (size_t k = 0; k < t->n; k++) {
			if (!is_row(t, t->pair + k, g->pattern))
				continue;
			row = true;
			if (column >= 0)
				ask_pair(g, t, t->pair + k, (unsigned)column, &worst);
		}
		for (unsigned k = 0; k < t->ncolumn; k++)
			pm_nearest_try(&near, g->measure, t->column[k]);
	}
	if (g->matched) {
		pm_nearest_release(&near);
		return PM_OK;
	}
	if (!table) {
		pm_nearest_release(&near);
		return no_table(g, d, err);
	}
	if (!row) {
		pm_nearest_release(&near);
		return pm_fail_request(err, "condition '%.100s': no %.40s is called '%.80s'",
				       g->text, g->table, g->pattern);
	}
	return pm_fail_request(err, "condition '%.100s': '%.40s' is no measure of these rows%s",
			       g->text, g->measure, pm_nearest_hint(&near, hint));
}

static enum pm_status ask_totals(struct pm_diff_gate *g, const struct pm_diff *d,
				 struct pm_err *err)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];
	long double worst = 0;

	for (size_t i = 0; i < d->nboth; i++) {
		const struct pm_diff_both *t = d->both[i];

		if (strcmp(t->name, PM_DIFF_TOTALS) && !t->noise)
			continue;
		for (size_t k = 0; k < t->n && t->ncolumn; k++) {
			if (is_total(t->pair[k].key, g->measure))
				ask_pair(g, t, t->pair + k, 0, &worst);
			pm_nearest_try(&near, g->measure, pm_diff_last(t->pair[k].key));
		}
	}
	if (g->matched) {
		pm_nearest_release(&near);
		return PM_OK;
	}
	return pm_fail_request(err, "condition '%.100s': there is no total '%.40s' on both sides%s",
			       g->text, g->measure, pm_nearest_hint(&near, hint));
}

enum pm_status pm_diff_gate_ask(struct pm_diff_gate *g, const struct pm_diff *d, bool more,
				struct pm_err *err)
{
	if (g->any) {
		g->broken = d->differing || more;
		g->nbroken = d->differing;
		g->matched = d->compared;
		return PM_OK;
	}
	return g->table ? ask_rows(g, d, err) : ask_totals(g, d, err);
}
