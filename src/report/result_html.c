/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "report/html.h"
#include "report/out.h"
#include "report/result_view.h"

#define MAX_ROWS	2000
#define MAX_COLUMNS	24
#define MAX_DEPTH	16

static bool scalar(const struct pm_result_node *n)
{
	return n->kind != PM_RESULT_OBJECT && n->kind != PM_RESULT_LIST;
}

static bool numeric(const struct pm_result_node *n)
{
	return n->kind == PM_RESULT_U64 || n->kind == PM_RESULT_F64;
}

static double number(const struct pm_result_node *n)
{
	return n->kind == PM_RESULT_U64 ? (double)n->u64 : n->f64;
}

static const char *words(const char *name, char buf[static 64])
{
	snprintf(buf, 64, "%s", name ? name : "");
	for (char *s = buf; *s; s++)
		if (*s == '_')
			*s = ' ';
	return buf;
}

static const char *value(const struct pm_result_node *n, char buf[static 64])
{
	switch (n->kind) {
	case PM_RESULT_U64: return pm_report_number(n->u64, buf);
	case PM_RESULT_F64: snprintf(buf, 64, "%.6g", n->f64); return buf;
	case PM_RESULT_HEX: snprintf(buf, 64, "0x%" PRIx64, n->u64); return buf;
	case PM_RESULT_STR: return n->str;
	case PM_RESULT_BOOL: return n->u64 ? "yes" : "no";
	default: return "-";
	}
}

/* A value by itself: "wall_s" in seconds is "wall: 1.2 s". */
static void card(struct pm_html *h, const struct pm_result_node *n)
{
	const bool seconds = n->unit && !strcmp(n->unit, "s");
	char buf[64], name[64], with[80];
	size_t len = strlen(words(n->name, name));

	if (seconds && len > 2 && !strcmp(name + len - 2, " s"))
		name[len - 2] = 0;
	if (seconds)
		snprintf(with, sizeof with, "%.4g s", number(n));
	pm_html_card(h, name, seconds ? with : value(n, buf), seconds ? NULL : n->unit);
}

static void percent_card(struct pm_html *h, const char *label, double share, const char *of)
{
	char buf[32];

	snprintf(buf, sizeof buf, "%.3g %%", 100 * share);
	pm_html_card(h, label, buf, of);
}

static const struct pm_result_node *at(const struct pm_result_node *o, const char *first,
				       const char *second)
{
	const struct pm_result_node *n = o ? pm_result_find(o, first) : NULL;

	return n && second ? pm_result_find(n, second) : n;
}

/* Of predictors of the same branches the one that is wrong least often. */
static void best_predictor(struct pm_html *h, const struct pm_result_node *bpred)
{
	const struct pm_result_node *best = NULL,
				    *first = bpred ? at(bpred->first, "branches", NULL) : NULL;
	char label[100];

	for (const struct pm_result_node *p = first ? bpred->first : NULL; p; p = p->next) {
		const struct pm_result_node *n = at(p, "branches", NULL),
					    *a = at(p, "accuracy", NULL);

		if (n && a && n->u64 == first->u64 && (!best || a->f64 > best->f64))
			best = a;
	}
	if (!best)
		return;
	snprintf(label, sizeof label, "%s mispredicts", best->parent->name);
	percent_card(h, label, 1 - best->f64, "of conditional branches, the least of all");
}

/* What one wants to know first: how it ended, and a number or two of each simulator. */
static void summary(struct pm_html *h, const struct pm_result_node *root)
{
	static const char *const headline[][2] = {
		{ "insns", "instructions" },	{ "insns", "reads" },	  { "insns", "writes" },
		{ "insns", "blocks_cover_90" }, { "phases", "clusters" }, { "memory", "pages" },
		{ "objects", "allocations" },	{ "core", "ipc" },
	};
	const struct pm_result_node *cache = at(root, "cache", NULL),
				    *program = at(root, "program", NULL);
	const struct pm_result_node *end = at(root, "exit", NULL);
	char label[64], buf[64];

	if (!root->first)
		return;
	pm_html_section(h, "Summary", NULL);
	if (program && program->first) {
		struct pm_buf command = { 0 };

		for (const struct pm_result_node *a = program->first; a; a = a->next)
			pm_buf_printf(&command, "%s%s", command.n ? " " : "",
				      scalar(a) ? value(a, buf) : "");
		pm_buf_add(&command, "", 1);
		pm_html_command(h, (const char *)command.p);
		pm_buf_release(&command);
	}
	pm_html_cards_begin(h);
	for (const struct pm_result_node *c = root->first; c; c = c->next)
		if (scalar(c) && c->name)
			card(h, c);
	for (const struct pm_result_node *c = end ? end->first : NULL; c; c = c->next)
		if (scalar(c) && c->kind != PM_RESULT_NULL) {
			snprintf(label, sizeof label, "exit %.40s", c->name);
			pm_html_card(h, label, value(c, buf), NULL);
		}
	for (size_t i = 0; i < NR(headline); i++) {
		const struct pm_result_node *n = at(root, headline[i][0], headline[i][1]);

		if (n)
			card(h, n);
	}
	for (const struct pm_result_node *l = cache ? cache->first : NULL; l; l = l->next) {
		const struct pm_result_node *ratio = scalar(l) ? NULL : at(l, "miss_ratio", NULL);

		if (!ratio)
			continue;
		snprintf(label, sizeof label, "%.40s misses", l->name);
		percent_card(h, label, ratio->f64, "of what reaches it");
	}
	best_predictor(h, at(root, "bpred", NULL));
	pm_html_cards_end(h);
}

/* The columns of a list of objects: the names of scalars, in the order in which they appear. */
static unsigned columns_of(const struct pm_result_node *list, const struct pm_result_node **col)
{
	unsigned n = 0;

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		for (const struct pm_result_node *c = row->first; c && n < MAX_COLUMNS;
		     c = c->next) {
			unsigned k = 0;

			if (!scalar(c) || !c->name)
				continue;
			while (k < n && strcmp(col[k]->name, c->name))
				k++;
			if (k == n)
				col[n++] = c;
			else if (!numeric(col[k]) && numeric(c))
				col[k] = c;
		}
	return n;
}

static void line_over(struct pm_html *h, const struct pm_result_node *list,
		      const struct pm_result_node *x_col, const struct pm_result_node *y_col)
{
	double *x, *y, last = 0;
	size_t n = 0, k = 0;
	char xn[64], yn[64], title[140];

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		n++;
	x = pm_alloc(n * sizeof *x);
	y = pm_alloc(n * sizeof *y);
	for (const struct pm_result_node *row = list->first; row; row = row->next) {
		const struct pm_result_node *a = pm_result_find(row, x_col->name);
		const struct pm_result_node *b = pm_result_find(row, y_col->name);

		if (!a || !b || !numeric(a) || !numeric(b) || (k && number(a) <= last))
			break;			/* several runs over it, or gaps: the table has
						 * to do */
		last = x[k] = number(a);
		y[k++] = number(b);
	}
	snprintf(title, sizeof title, "%s over %s", words(y_col->name, yn), words(x_col->name, xn));
	if (k == n && n > 2)
		pm_html_line(h, title, xn, yn, x, y, n,
			     (x[0] > 0 && x[n - 1] / x[0] > 50 ? PM_HTML_LOG : 0) |
			     (y_col->kind == PM_RESULT_U64 && !y_col->unit ? PM_HTML_STEP : 0));
	free(x);
	free(y);
}

/* Shares of something named are bars. */
static void bars_of(struct pm_html *h, const struct pm_result_node *list, const char *name,
		    const char *share)
{
	struct pm_html_bar bar[14];
	char title[64];
	size_t n = 0;

	for (const struct pm_result_node *row = list->first; row && n < NR(bar); row = row->next) {
		const struct pm_result_node *a = pm_result_find(row, name),
					    *b = pm_result_find(row, share);

		if (a && b && a->kind == PM_RESULT_STR && numeric(b))
			bar[n++] = (struct pm_html_bar){ a->str, 100 * number(b) };
	}
	snprintf(title, sizeof title, "%.20s by %.30s, %%", share, name);
	pm_html_bars(h, title, "%", bar, n);
}

static void table(struct pm_html *h, const struct pm_result_node *list)
{
	const struct pm_result_node *col[MAX_COLUMNS], *y = NULL;
	unsigned n = columns_of(list, col), rows = 0;
	struct pm_buf head = { 0 };
	char buf[64];

	if (!n)
		return;
	for (unsigned i = 0; i < n; i++)
		pm_buf_printf(&head, "%s%s%s", i ? "|" : "", numeric(col[i]) ? "#" : "",
			      words(col[i]->name, buf));
	pm_buf_add(&head, "", 1);
	/* over a number: the first fraction, or the last of nothing but numbers */
	for (unsigned i = 1; i < n && !y; i++)
		if (col[i]->kind == PM_RESULT_F64 ||
		    (i == n - 1 && numeric(col[i]) && numeric(col[1])))
			y = col[i];
	if (y && numeric(col[0]))
		line_over(h, list, col[0], y);
	else if (y && !strcmp(y->name, "share") && col[0]->kind == PM_RESULT_STR)
		bars_of(h, list, col[0]->name, y->name);
	pm_html_table_begin(h, (const char *)head.p, list->first && list->first->next);
	for (const struct pm_result_node *row = list->first; row && rows < MAX_ROWS;
	     row = row->next, rows++)
		for (unsigned i = 0; i < n; i++) {
			const struct pm_result_node *c = pm_result_find(row, col[i]->name);

			if (c && c->kind == PM_RESULT_U64)
				pm_html_cell_u64(h, c->u64);
			else
				pm_html_cell(h, c && scalar(c) ? value(c, buf) : "");
		}
	pm_html_table_end(h);
	if (rows == MAX_ROWS)
		pm_html_warning(h, "only the first 2000 rows are shown");
	pm_buf_release(&head);
}

static size_t length(const struct pm_result_node *l)
{
	size_t n = 0;

	for (const struct pm_result_node *c = l->first; c; c = c->next)
		n++;
	return n;
}

/* The list of numbers in a row, NULL if it has none. */
static const struct pm_result_node *numbers_in(const struct pm_result_node *row)
{
	for (const struct pm_result_node *c = row->first; c; c = c->next)
		if (c->kind == PM_RESULT_LIST && c->first && numeric(c->first))
			return c;
	return NULL;
}

/* Rows that hold lists of numbers are a heat map, labelled by the rows' first values. */
static void heat(struct pm_html *h, const struct pm_result_node *list)
{
	const struct pm_result_node *first = list->first ? numbers_in(list->first) : NULL;
	size_t rows = length(list), columns = first ? length(first) : 0, i = 0;
	const char **label;
	char buf[64], x[64];
	double *v;

	if (!first || rows * columns > 1u << 16)
		return;
	label = pm_alloc(rows * sizeof *label);
	v = pm_alloc(rows * columns * sizeof *v);
	for (const struct pm_result_node *row = list->first; row; row = row->next, i++) {
		const struct pm_result_node *l = numbers_in(row);
		size_t k = 0;

		label[i] = pm_strdup(row->first && scalar(row->first) ? value(row->first, buf)
								      : "");
		for (const struct pm_result_node *c = l ? l->first : NULL; c && k < columns;
		     c = c->next, k++)
			v[i * columns + k] = numeric(c) ? number(c) : 0;
	}
	pm_html_heat(h, "Heat: address (upwards) against time", words(first->name, x), "references",
		     label, v, rows, columns);
	for (i = 0; i < rows; i++)
		free((char *)(uintptr_t)label[i]);
	free(label);
	free(v);
}

/* What objects side by side - predictors, cache levels - are compared by. */
static const struct pm_result_node *measure_of(const struct pm_result_node *o)
{
	const struct pm_result_node *best = pm_result_find(o, "mpki");

	for (const struct pm_result_node *c = o->first; c && !best; c = c->next)
		if (c->kind == PM_RESULT_F64)
			best = c;
	return best;
}

/* Is @c in the table that compare() makes of @o? */
static bool compared(const struct pm_result_node *c, const char *measure)
{
	return c->kind == PM_RESULT_OBJECT && pm_result_find(c, measure);
}

/* The objects in @o that have the measure of the first of them, as one table; its name, NULL if
 * there are no two of them. */
static const char *compare(struct pm_html *h, const struct pm_result_node *o, bool chart)
{
	const struct pm_result_node *col[MAX_COLUMNS], *m = NULL;
	struct pm_html_bar bar[64];
	struct pm_buf head = { 0 };
	unsigned n = 0, ncol = 0;
	char buf[64], title[160];

	for (const struct pm_result_node *c = o->first; c && !m; c = c->next)
		if (c->kind == PM_RESULT_OBJECT)
			m = measure_of(c);
	for (const struct pm_result_node *p = m ? o->first : NULL; p; p = p->next) {
		if (!compared(p, m->name) || n == NR(bar))
			continue;
		bar[n++] = (struct pm_html_bar){ p->name, number(pm_result_find(p, m->name)) };
		for (const struct pm_result_node *c = p->first; c && ncol < MAX_COLUMNS;
		     c = c->next) {
			unsigned k = 0;

			while (k < ncol && strcmp(col[k]->name, c->name))
				k++;
			if (scalar(c) && k == ncol)
				col[ncol++] = c;
		}
	}
	if (n < 2)
		return NULL;
	snprintf(title, sizeof title, "%.60s: %.60s", words(o->name, buf),
		 m->unit ? m->unit : m->name);
	if (chart)
		pm_html_bars(h, title, m->unit ? m->unit : m->name, bar, n);
	pm_buf_printf(&head, "name");
	for (unsigned k = 0; k < ncol; k++)
		pm_buf_printf(&head, "|%s%s", numeric(col[k]) ? "#" : "", words(col[k]->name, buf));
	pm_buf_add(&head, "", 1);
	pm_html_table_begin(h, (const char *)head.p, false);
	for (const struct pm_result_node *p = o->first; p; p = p->next) {
		if (!compared(p, m->name))
			continue;
		pm_html_cell(h, p->name);
		for (unsigned k = 0; k < ncol; k++) {
			const struct pm_result_node *c = pm_result_find(p, col[k]->name);

			if (c && c->kind == PM_RESULT_U64)
				pm_html_cell_u64(h, c->u64);
			else
				pm_html_cell(h, c && scalar(c) ? value(c, buf) : "");
		}
	}
	pm_html_table_end(h);
	pm_buf_release(&head);
	return m->name;
}

/* Does anything below it still have to be shown, when its scalars are in a table above? */
static bool deeper(const struct pm_result_node *o)
{
	for (const struct pm_result_node *c = o->first; c; c = c->next)
		if (!scalar(c) && c->first)
			return true;
	return false;
}

/* Shown by summary() instead. */
static bool summarised(const struct pm_result_node *c, unsigned depth)
{
	return !depth && c->name &&
	       (scalar(c) || !strcmp(c->name, "program") || !strcmp(c->name, "exit"));
}

static void node(struct pm_html *h, const struct pm_result_node *o, const char *path,
		 unsigned depth, bool in_table)
{
	char buf[64], name[64], below[256];
	bool cards = false;
	const char *by;

	for (const struct pm_result_node *c = in_table ? NULL : o->first; c; c = c->next)
		if (scalar(c) && c->name && !summarised(c, depth)) {
			if (!cards)
				pm_html_cards_begin(h);
			cards = true;
			card(h, c);
		}
	if (cards)
		pm_html_cards_end(h);
	by = depth ? compare(h, o, depth == 1) : NULL;
	for (const struct pm_result_node *c = o->first; c && depth < MAX_DEPTH; c = c->next) {
		bool folded = by && compared(c, by);

		if (scalar(c) || !c->first || (folded && !deeper(c)) || summarised(c, depth))
			continue;
		snprintf(below, sizeof below, "%s%s%s", path, *path ? ": " : "",
			 words(c->name, name));
		if (folded) {
			pm_html_details_begin(h, below);
			node(h, c, below, depth + 1, true);
			pm_html_details_end(h);
			continue;
		}
		pm_html_section(h, below, NULL);
		if (c->kind == PM_RESULT_OBJECT) {
			node(h, c, below, depth + 1, false);
		} else if (c->first && scalar(c->first)) {
			pm_html_table_begin(h, words(c->name, name), false);
			for (const struct pm_result_node *e = c->first; e; e = e->next)
				pm_html_cell(h, scalar(e) ? value(e, buf) : "");
			pm_html_table_end(h);
		} else {
			heat(h, c);
			table(h, c);
		}
	}
}

void pm_result_html_summary(const struct pm_result *r, struct pm_html *h)
{
	summary(h, pm_result_root(r));
}

void pm_result_html_into(const struct pm_result *r, struct pm_html *h)
{
	node(h, pm_result_root(r), "", 0, false);
}

enum pm_status pm_result_html(const struct pm_result *r, const char *title, const char *subtitle,
			      const char *path, struct pm_err *err)
{
	struct pm_html h;
	enum pm_status st;

	pm_html_begin(&h, title, subtitle);
	pm_result_html_summary(r, &h);
	pm_result_html_into(r, &h);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	return st;
}
