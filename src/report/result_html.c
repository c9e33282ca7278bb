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

/* The columns of a list of objects: the names of scalars, in the order in which they appear. */
static unsigned columns_of(const struct pm_result_node *list, const struct pm_result_node **col)
{
	unsigned n = 0;

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		for (const struct pm_result_node *c = row->first; c && n < MAX_COLUMNS; c = c->next) {
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
	char xn[64], yn[64];

	for (const struct pm_result_node *row = list->first; row; row = row->next)
		n++;
	x = pm_alloc(n * sizeof *x);
	y = pm_alloc(n * sizeof *y);
	for (const struct pm_result_node *row = list->first; row; row = row->next) {
		const struct pm_result_node *a = pm_result_find(row, x_col->name);
		const struct pm_result_node *b = pm_result_find(row, y_col->name);

		if (!a || !b || !numeric(a) || !numeric(b) || (k && number(a) <= last))
			break;			/* several runs over it, or gaps: the table has to do */
		last = x[k] = number(a);
		y[k++] = number(b);
	}
	if (k == n && n > 2)
		pm_html_line(h, words(y_col->name, yn), words(x_col->name, xn), yn, x, y, n,
			     x[0] > 0 && x[n - 1] / x[0] > 50);
	free(x);
	free(y);
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
	for (unsigned i = 1; i < n && !y; i++)
		if (col[i]->kind == PM_RESULT_F64)
			y = col[i];
	if (y && numeric(col[0]))
		line_over(h, list, col[0], y);
	pm_html_table_begin(h, (const char *)head.p, list->first && list->first->next);
	for (const struct pm_result_node *row = list->first; row && rows < MAX_ROWS; row = row->next, rows++)
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

static void node(struct pm_html *h, const struct pm_result_node *o, const char *path, unsigned depth)
{
	char buf[64], name[64], below[256];
	bool cards = false;

	for (const struct pm_result_node *c = o->first; c; c = c->next)
		if (scalar(c) && c->name) {
			if (!cards)
				pm_html_cards_begin(h);
			cards = true;
			pm_html_card(h, words(c->name, name), value(c, buf), c->unit);
		}
	if (cards)
		pm_html_cards_end(h);
	for (const struct pm_result_node *c = o->first; c && depth < MAX_DEPTH; c = c->next) {
		if (scalar(c))
			continue;
		snprintf(below, sizeof below, "%s%s%s", path, *path ? ": " : "", words(c->name, name));
		pm_html_section(h, below, NULL);
		if (c->kind == PM_RESULT_OBJECT) {
			node(h, c, below, depth + 1);
		} else if (c->first && scalar(c->first)) {
			pm_html_table_begin(h, words(c->name, name), false);
			for (const struct pm_result_node *e = c->first; e; e = e->next)
				pm_html_cell(h, scalar(e) ? value(e, buf) : "");
			pm_html_table_end(h);
		} else {
			table(h, c);
		}
	}
}

void pm_result_html_into(const struct pm_result *r, struct pm_html *h)
{
	node(h, pm_result_root(r), "", 0);
}

enum pm_status pm_result_html(const struct pm_result *r, const char *title, const char *subtitle,
			      const char *path, struct pm_err *err)
{
	struct pm_html h;
	enum pm_status st;

	pm_html_begin(&h, title, subtitle);
	pm_result_html_into(r, &h);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	return st;
}
