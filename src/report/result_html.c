/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "report/html.h"
#include "report/out.h"
#include "report/result_facts.h"
#include "report/overview.h"
#include "report/result_view.h"

#define MAX_ROWS	2000
#define MAX_COLUMNS	24
#define MAX_DEPTH	16

static const char *value(const struct pm_result_node *n, char buf[static 64])
{
	if (pm_result_percent_text(n, buf))
		return buf;
	switch (n->kind) {
	case PM_RESULT_U64: return pm_report_number(n->u64, buf);
	case PM_RESULT_F64:
		snprintf(buf, 64, n->f64 != 0 && fabs(n->f64) < 0.001 ? "%.2g" : "%.3f", n->f64);
		return buf;
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
	size_t len = strlen(pm_result_words(n->name, name));

	if (seconds && len > 2 && !strcmp(name + len - 2, " s"))
		name[len - 2] = 0;
	if (seconds)
		snprintf(with, sizeof with, "%.4g s", pm_result_number(n));
	pm_html_card(h, name, seconds ? with : value(n, buf), seconds || !strcmp(n->name,
		n->unit ? n->unit : "") ? NULL : n->unit);
}

/* The columns of a list of objects: the names of scalars, in the order in which they appear. */
static unsigned columns_of(const struct pm_result_node *list, const struct pm_result_node **col)
{
	unsigned n = 0;

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		for (const struct pm_result_node *c = row->first; c && n < MAX_COLUMNS;
		     c = c->next) {
			unsigned k = 0;

			if (!pm_result_scalar(c) || !c->name)
				continue;
			while (k < n && strcmp(col[k]->name, c->name))
				k++;
			if (k == n)
				col[n++] = c;
			else if (!pm_result_numeric(col[k]) && pm_result_numeric(c))
				col[k] = c;
		}
	return n;
}

/* Doubling a size is one step. Time is not like that. */
static bool is_size(const struct pm_result_node *x)
{
	return (x->unit && !strcmp(x->unit, "bytes")) || !strcmp(x->name, "size");
}

static void line_over(struct pm_html *h, const struct pm_result_node *list,
		      const struct pm_result_node *x_col, const struct pm_result_node *y_col)
{
	double *x, *y, last = 0;
	bool percent = false;
	size_t n = 0, k = 0;
	char xn[64], yn[64], title[140];

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		n++;
	x = pm_alloc(n * sizeof *x);
	y = pm_alloc(n * sizeof *y);
	for (const struct pm_result_node *row = list->first; row; row = row->next) {
		const struct pm_result_node *a = pm_result_find(row, x_col->name);
		const struct pm_result_node *b = pm_result_find(row, y_col->name);

		if (!a || !b || !pm_result_numeric(a) || !pm_result_numeric(b) || (k &&
			pm_result_number(a) <= last))
			break;			/* several runs over it, or gaps: the table has
						 * to do */
		last = x[k] = pm_result_number(a);
		percent = pm_result_percent(b, y + k);
		if (!percent)
			y[k] = pm_result_number(b);
		k++;
	}
	snprintf(title, sizeof title, "%s over %s", pm_result_words(y_col->name, yn),
		pm_result_words(x_col->name, xn));
	if (k == n && n > 2)
		pm_html_line(h, title, xn, yn, x, y, n,
			     (is_size(x_col) && x[n - 1] > 50 * (x[0] > 1 ? x[0] : 1) ?
				PM_HTML_LOG : 0) |
			     (percent ? PM_HTML_PERCENT : 0) |
			     (y_col->kind == PM_RESULT_U64 && !y_col->unit ? PM_HTML_STEP : 0));
	free(x);
	free(y);
}

/* Names in front, whatever the order of the values: that column stays when the others move. */
static void names_first(const struct pm_result_node **col, unsigned n)
{
	unsigned at = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct pm_result_node *c = col[i];

		if (c->kind != PM_RESULT_STR)
			continue;
		memmove(col + at + 1, col + at, (i - at) * sizeof *col);
		col[at++] = c;
	}
}

static void cell(struct pm_html *h, const struct pm_result_node *c)
{
	double percent;
	char buf[64];

	if (!c || !pm_result_scalar(c))
		pm_html_cell(h, "");
	else if (c->kind == PM_RESULT_U64)
		pm_html_cell_u64(h, c->u64);
	else if (pm_result_percent(c, &percent) && !strcmp(c->name, "share"))
		pm_html_cell_share(h, percent);
	else if (c->kind == PM_RESULT_F64)
		pm_html_cell_number(h, c->f64, value(c, buf));
	else
		pm_html_cell(h, value(c, buf));
}

static size_t length(const struct pm_result_node *l)
{
	size_t n = 0;

	for (const struct pm_result_node *c = l->first; c; c = c->next)
		n++;
	return n;
}

/* Which cluster each interval belongs to. */
static void strip(struct pm_html *h, const struct pm_result_node *l)
{
	const size_t n = length(l);
	double *from = pm_alloc((n + 1) * sizeof *from), end = 0;
	unsigned *kind = pm_alloc((n + 1) * sizeof *kind);
	size_t k = 0;

	for (const struct pm_result_node *row = l->first; row; row = row->next) {
		const struct pm_result_node *a = pm_result_find(row, "from"),
			*b = pm_result_find(row, "intervals"), *c = pm_result_find(row, "cluster");

		if (!a || !b || !c)
			break;
		from[k] = pm_result_number(a);
		end = from[k] + pm_result_number(b);
		kind[k++] = (unsigned)c->u64;
	}
	if (k == n)
		pm_html_strip(h, "Phases over time: like intervals have one colour", "interval",
			from,
			      kind, n, end);
	free(from);
	free(kind);
}

static void rows_of(struct pm_html *h, const char *name, const struct pm_result_node *list,
		    const struct pm_result_node **col, unsigned n)
{
	bool rising = false;
	const char *by = pm_result_sorted_by(list, &rising);
	struct pm_buf head = { 0 };
	unsigned rows = 0;
	int sorted = -1;
	char buf[64];

	for (unsigned i = 0; i < n; i++) {
		pm_buf_printf(&head, "%s%s%s", i ? "|" : "", pm_result_numeric(col[i]) ? "#" : "",
			      pm_result_words(col[i]->name, buf));
		if (by && !strcmp(col[i]->name, by))
			sorted = (int)i;
	}
	pm_buf_add(&head, "", 1);
	pm_html_table_begin(h, name, (const char *)head.p, sorted,
			    rising ? PM_HTML_RISING : PM_HTML_FALLING);
	for (const struct pm_result_node *row = list->first; row && rows < MAX_ROWS;
	     row = row->next, rows++)
		for (unsigned i = 0; i < n; i++)
			cell(h, pm_result_find(row, col[i]->name));
	pm_html_table_end(h, rows == MAX_ROWS ? "only the first 2000 rows are shown" : NULL);
	pm_buf_release(&head);
}

static void table(struct pm_html *h, const char *name, const struct pm_result_node *list)
{
	const struct pm_result_node *col[MAX_COLUMNS], *y = NULL;
	unsigned n = columns_of(list, col);

	if (!n)
		return;
	/* over a number: the first fraction, or the last of nothing but numbers */
	for (unsigned i = 1; i < n && !y; i++)
		if (col[i]->kind == PM_RESULT_F64 ||
		    (i == n - 1 && pm_result_numeric(col[i]) && pm_result_numeric(col[1])))
			y = col[i];
	if (y && pm_result_numeric(col[0]))
		line_over(h, list, col[0], y);
	names_first(col, n);
	rows_of(h, name, list, col, n);
}

/* The list of numbers in a row, NULL if it has none. */
static const struct pm_result_node *numbers_in(const struct pm_result_node *row)
{
	for (const struct pm_result_node *c = row->first; c; c = c->next)
		if (c->kind == PM_RESULT_LIST && c->first && pm_result_numeric(c->first))
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

		label[i] = pm_strdup(row->first && pm_result_scalar(row->first) ?
			value(row->first, buf)
								      : "");
		for (const struct pm_result_node *c = l ? l->first : NULL; c && k < columns;
		     c = c->next, k++)
			v[i * columns + k] = pm_result_numeric(c) ? pm_result_number(c) : 0;
	}
	pm_html_heat(h, "Heat: address (upwards) against time", pm_result_words(first->name, x),
		"references",
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
static const char *compare(struct pm_html *h, const struct pm_result_node *o)
{
	const struct pm_result_node *col[MAX_COLUMNS], *m = NULL;
	struct pm_buf head = { 0 };
	unsigned n = 0, ncol = 0;
	char buf[64];

	for (const struct pm_result_node *c = o->first; c && !m; c = c->next)
		if (c->kind == PM_RESULT_OBJECT)
			m = measure_of(c);
	for (const struct pm_result_node *p = m ? o->first : NULL; p; p = p->next) {
		if (!compared(p, m->name))
			continue;
		n++;
		for (const struct pm_result_node *c = p->first; c && ncol < MAX_COLUMNS;
		     c = c->next) {
			unsigned k = 0;

			while (k < ncol && strcmp(col[k]->name, c->name))
				k++;
			if (pm_result_scalar(c) && k == ncol)
				col[ncol++] = c;
		}
	}
	if (n < 2)
		return NULL;
	pm_buf_printf(&head, "name");
	for (unsigned k = 0; k < ncol; k++)
		pm_buf_printf(&head, "|%s%s", pm_result_numeric(col[k]) ? "#" : "",
			pm_result_words(col[k]->name, buf));
	pm_buf_add(&head, "", 1);
	pm_html_table_begin(h, pm_result_words(o->name, buf), (const char *)head.p, -1,
			    PM_HTML_FALLING);
	for (const struct pm_result_node *p = o->first; p; p = p->next) {
		if (!compared(p, m->name))
			continue;
		pm_html_cell(h, p->name);
		for (unsigned k = 0; k < ncol; k++)
			cell(h, pm_result_find(p, col[k]->name));
	}
	pm_html_table_end(h, NULL);
	pm_buf_release(&head);
	return m->name;
}

/* Does anything below it still have to be shown, when its scalars are in a table above? */
static bool deeper(const struct pm_result_node *o)
{
	for (const struct pm_result_node *c = o->first; c; c = c->next)
		if (!pm_result_scalar(c) && c->first)
			return true;
	return false;
}

/* A list: as a table, a chart or both. */
static void list(struct pm_html *h, const char *name, const struct pm_result_node *l)
{
	char buf[64];

	if (!pm_result_scalar(l->first)) {
		heat(h, l);
		if (l->name && !strcmp(l->name, "over_time"))
			strip(h, l);
		table(h, name, l);
		return;
	}
	pm_html_table_begin(h, name, pm_result_words(l->name, buf), -1, PM_HTML_FALLING);
	for (const struct pm_result_node *e = l->first; e; e = e->next)
		pm_html_cell(h, pm_result_scalar(e) ? value(e, buf) : "");
	pm_html_table_end(h, NULL);
}

static void cards(struct pm_html *h, const struct pm_result_node *o)
{
	bool any = false;

	for (const struct pm_result_node *c = o->first; c; c = c->next) {
		if (!pm_result_scalar(c) || !c->name || c->kind == PM_RESULT_NULL)
			continue;
		if (!any)
			pm_html_cards_begin(h);
		any = true;
		card(h, c);
	}
	if (any)
		pm_html_cards_end(h);
}

/* What is in @o, each part under its path below the view. */
static void node(struct pm_html *h, const struct pm_result_node *o, const char *path,
		 unsigned depth, bool in_table)
{
	char name[64], below[256];
	const char *by;

	if (!in_table)
		cards(h, o);
	by = compare(h, o);
	for (const struct pm_result_node *c = o->first; c && depth < MAX_DEPTH; c = c->next) {
		const bool folded = by && compared(c, by);

		if (pm_result_scalar(c) || !c->first || (folded && !deeper(c)))
			continue;
		snprintf(below, sizeof below, "%s%s%s", path, *path ? ": " : "",
			 pm_result_words(c->name, name));
		if (folded && !h->details) {
			pm_html_details_begin(h, below);
			node(h, c, below, depth + 1, true);
			pm_html_details_end(h);
			continue;
		}
		if (*below >= 'a' && *below <= 'z')
			*below = (char)(*below - 'a' + 'A');
		pm_html_section(h, below, NULL);
		if (c->kind == PM_RESULT_OBJECT)
			node(h, c, below, depth + 1, folded);
		else
			list(h, below, c);
	}
}

/* What the results are called on a page, and where they stand; others have their own names. */
static const struct { const char *name, *title, *group; } known[] = {
	{ "insns", "Instruction mix", "Instructions" },
	{ "mix", "Loads, stores, branches", "Instructions" },
	{ "uops", "Micro-ops", "Instructions" },
	{ "isize", "Instruction sizes", "Instructions" },
	{ "fusion", "Fusion", "Instructions" },
	{ "brdist", "Branch offsets", "Instructions" },
	{ "cachegrind", "Cachegrind", "Memory" },
	{ "cache", "Caches", "Memory" },
	{ "tlb", "TLBs", "Memory" },
	{ "allcache", "All cache sizes", "Memory" },
	{ "reuse", "Reuse distances", "Memory" },
	{ "objects", "Data objects", "Memory" },
	{ "memory", "Memory over time", "Memory" },
	{ "bpred", "Branch predictors", "Control flow" },
	{ "calls", "Calls and loops", "Control flow" },
	{ "phases", "Phases", "Control flow" },
	{ "core", "Out-of-order core", "Time" },
	{ "ooo", "Out-of-order core", "Time" },
	{ "inorder", "In-order pipeline", "Time" },
	{ "i486", "i486", "Time" },
};

static void top_level(struct pm_html *h, const struct pm_result_node *c, unsigned number)
{
	char id[96], title[64];
	const char *group = "More";

	pm_result_words(c->name, title);
	if (title[0] >= 'a' && title[0] <= 'z')
		title[0] = (char)(title[0] - 'a' + 'A');
	for (size_t i = 0; i < NR(known); i++)
		if (!strcmp(known[i].name, c->name)) {
			snprintf(title, sizeof title, "%s", known[i].title);
			group = known[i].group;
		}
	snprintf(id, sizeof id, "result-%u", number);
	pm_html_view(h, id, title, group);
	if (c->kind == PM_RESULT_OBJECT)
		node(h, c, "", 1, false);
	else
		list(h, title, c);
}

void pm_result_html_into(const struct pm_result *r, struct pm_html *h)
{
	static const char *const group[] = { "Instructions", "Memory", "Control flow", "Time",
		"More" };

	/* in the order of the navigation, which is that of the page */
	for (size_t g = 0; g < NR(group); g++) {
		unsigned number = 0;

		for (const struct pm_result_node *c = pm_result_root(r)->first; c; c = c->next) {
			const char *at = "More";

			number++;
			for (size_t i = 0; i < NR(known); i++)
				if (c->name && !strcmp(known[i].name, c->name))
					at = known[i].group;
			if (c->name && !pm_result_scalar(c) && c->first && strcmp(c->name,
				"program") &&
			    strcmp(c->name, "exit") && !strcmp(at, group[g]))
				top_level(h, c, number);
		}
	}
}

enum pm_status pm_result_html(const struct pm_result *r, const char *title, const char *subtitle,
			      const char *path, struct pm_err *err)
{
	struct pm_overview o = { 0 };
	struct pm_html h;
	enum pm_status st;

	pm_result_overview(r, subtitle, &o);
	pm_html_begin(&h, title, subtitle);
	pm_overview_html(&o, &h);
	pm_result_html_into(r, &h);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	pm_overview_release(&o);
	return st;
}
