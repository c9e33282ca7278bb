/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/result.h"
#include "base/whole_file.h"
#include "report/out.h"
#include "report/result_facts.h"
#include "report/result_view.h"
#include "report/width.h"

static void value(const struct pm_result_node *n, char *buf, size_t size)
{
	char num[32];

	if (pm_result_percent_text(n, num)) {
		snprintf(buf, size, "%s", num);
		return;
	}
	switch (n->kind) {
	case PM_RESULT_U64:
		snprintf(buf, size, "%s", pm_report_number(n->u64, num));
		break;
	case PM_RESULT_F64:
		snprintf(buf, size,
			 n->f64 != 0 && (n->f64 < 0.001 && n->f64 > -0.001) ? "%.3g" : "%.4f",
			 n->f64);
		break;
	case PM_RESULT_STR:
		pm_printable(n->str, buf, size);
		break;
	case PM_RESULT_HEX:
		snprintf(buf, size, "0x%" PRIx64, n->u64);
		break;
	case PM_RESULT_BOOL:
		snprintf(buf, size, "%s", n->u64 ? "yes" : "no");
		break;
	default:
		snprintf(buf, size, "-");
		break;
	}
}

/* The largest place up to @at where no character of @text is cut. */
static size_t whole(const char *text, size_t at)
{
	while (at && (text[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* What stands behind the value; a share has its own sign. */
static const char *unit(const struct pm_result_node *n)
{
	double percent;

	if (!n->unit || (pm_result_percent(n, &percent) && strncmp(n->unit, "of ", 3)))
		return NULL;
	return n->unit;
}

static void words(const char *name, char *buf, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		buf[i] = name[i] == '_' ? ' ' : name[i];
	buf[i] = 0;
}

/* ---- objects side by side ------------------------------------------------------------------- */

/* The scalars of an object and of the objects in it, under dotted names. */
struct flat { struct { char name[64]; const struct pm_result_node *n; } *v; size_t n, cap; };

static void flatten(struct flat *f, const struct pm_result_node *o, const char *prefix)
{
	for (const struct pm_result_node *c = o->first; c; c = c->next) {
		char name[64];

		snprintf(name, sizeof name, "%.30s%s%.30s", prefix, *prefix ? " " : "",
			 c->name ? c->name : "");
		if (c->kind == PM_RESULT_OBJECT) {
			flatten(f, c, name);
		} else if (pm_result_scalar(c)) {
			pm_grow(f->v, f->n, f->cap);
			memcpy(f->v[f->n].name, name, sizeof name);
			f->v[f->n++].n = c;
		}
	}
}

static const struct pm_result_node *flat_get(const struct flat *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return f->v[i].n;
	return NULL;
}

/* Rows of all columns, in the order of the first that has them. */
static void side_by_side(const struct pm_result_node **o, size_t n, size_t wide, struct pm_buf *to)
{
	struct flat *col = pm_alloc(n * sizeof *col);
	char head[64], val[256];
	size_t name_w = 0;

	for (size_t i = 0; i < n; i++)
		flatten(col + i, o[i], "");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < col[i].n; k++)
			if (strlen(col[i].v[k].name) > name_w)
				name_w = strlen(col[i].v[k].name);
	for (size_t from = 0; from < n; ) {
		size_t w[16], width = 2 + name_w, upto = from;

		/* as many columns as fit, one at least */
		while (upto < n && upto - from < 16) {
			size_t cw = strlen(o[upto]->name ? o[upto]->name : "") + 2;

			for (size_t k = 0; k < col[upto].n; k++) {
				value(col[upto].v[k].n, val, sizeof val);
				if (strlen(val) + 2 > cw && col[upto].v[k].n->kind != PM_RESULT_STR)
					cw = strlen(val) + 2;
			}
			cw = cw < 14 ? 14 : cw;
			if (upto > from && width + cw > wide)
				break;
			w[upto - from] = cw;
			width += cw;
			upto++;
		}
		pm_buf_printf(to, "  %-*s", (int)name_w, "");
		for (size_t i = from; i < upto; i++)
			pm_buf_printf(to, "%*s", (int)w[i - from], o[i]->name ? o[i]->name : "");
		pm_buf_printf(to, "\n");
		for (size_t i = from; i < upto; i++)
			for (size_t k = 0; k < col[i].n; k++) {
				const char *name = col[i].v[k].name;
				bool done = false;

				for (size_t j = from; j < i; j++)
					done |= flat_get(col + j, name) != NULL;
				if (done)
					continue;
				words(name, head, sizeof head);
				pm_buf_printf(to, "  %-*s", (int)name_w, head);
				for (size_t j = from; j < upto; j++) {
					const struct pm_result_node *x = flat_get(col + j, name);

					if (x)
						value(x, val, sizeof val);
					/* long words would push the columns apart */
					if (x && strlen(val) >= w[j - from])
						strcpy(val + whole(val, w[j - from] - 5), "...");
					pm_buf_printf(to, "%*s", (int)w[j - from], x ? val : "-");
				}
				pm_buf_printf(to, "\n");
			}
		from = upto;
		if (from < n)
			pm_buf_printf(to, "\n");
	}
	for (size_t i = 0; i < n; i++)
		free(col[i].v);
	free(col);
}

/* ---- lists ---------------------------------------------------------------------------------- */

#define COLUMNS 24
#define NARROW 16			/* a column of words is not cut shorter */

struct columns {
	const char *name[COLUMNS];
	size_t w[COLUMNS], n, hidden;
	bool hide[COLUMNS], words[COLUMNS], some[COLUMNS];
};

/* The column of @name, a new one behind @last if there is none; COLUMNS: no room. */
static size_t column_of(struct columns *c, const char *name, size_t last)
{
	size_t k = 0, at = c->n ? last + 1 : 0;

	while (k < c->n && strcmp(c->name[k], name))
		k++;
	if (k < c->n || c->n == COLUMNS)
		return k < c->n ? k : COLUMNS;
	for (k = c->n++; k > at; k--) {
		c->name[k] = c->name[k - 1];
		c->w[k] = c->w[k - 1];
		c->words[k] = c->words[k - 1];
		c->some[k] = c->some[k - 1];
	}
	c->name[at] = name;
	c->w[at] = strlen(name);
	c->words[at] = c->some[at] = false;
	return at;
}

static size_t width_of(const struct columns *c)
{
	size_t sum = 0;

	for (size_t k = 0; k < c->n; k++)
		sum += c->hide[k] ? 0 : 2 + c->w[k];
	return sum;
}

static void hide(struct columns *c, size_t k)
{
	c->hide[k] = true;
	c->hidden++;
}

/* What one comes for: misses, mispredictions, stalls, shares. Callgrind's names of such events end
 * so: D1mr, DLmw, Bcm. */
static bool is_trouble(const char *name)
{
	const size_t n = strlen(name);
	const bool event = name[0] >= 'A' && name[0] <= 'Z' && n > 2 &&
			   (!strcmp(name + n - 2, "mr") || !strcmp(name + n - 2, "mw") ||
			    name[n - 1] == 'm');

	return event || strstr(name, "miss") || strstr(name, "stall") || strstr(name, "share") ||
	       strstr(name, "mispred");
}

/* What does not fit into a line of @wide: columns of nothing but 0 go first, then words are cut,
 * then columns of numbers go, last ones first, those that tell of trouble after all others, then
 * those of words; words get back what is left. The first column stays: rows are usually sorted by
 * it. */
static void fit(struct columns *c, size_t wide)
{
	size_t full[COLUMNS];

	memcpy(full, c->w, sizeof full);
	for (size_t k = c->n; k-- > 1 && width_of(c) > wide; )
		if (!c->some[k])
			hide(c, k);
	for (size_t k = c->n; k-- > 0 && width_of(c) > wide; ) {
		size_t over = width_of(c) - wide;

		if (c->words[k] && c->w[k] > NARROW)
			c->w[k] = c->w[k] > NARROW + over ? c->w[k] - over : NARROW;
	}
	for (unsigned trouble = 0; trouble < 2; trouble++)
		for (size_t k = c->n; k-- > 1 && width_of(c) > wide; )
			if (!c->hide[k] && !c->words[k] && is_trouble(c->name[k]) <= trouble)
				hide(c, k);
	for (size_t k = c->n; k-- > 1 && width_of(c) > wide; )
		if (!c->hide[k])
			hide(c, k);
	for (size_t k = c->n; k-- > 0; ) {
		size_t room = wide > width_of(c) ? wide - width_of(c) : 0;

		if (!c->hide[k] && c->w[k] < full[k])
			c->w[k] = full[k] - c->w[k] < room ? full[k] : c->w[k] + room;
	}
}

static void put_field(const struct columns *c, size_t k, char *text, struct pm_buf *to)
{
	if (c->hide[k])
		return;
	if (strlen(text) > c->w[k]) {	/* names differ at their ends, where the line is, too */
		size_t head = whole(text, (c->w[k] - 3) / 3);
		size_t tail = whole(text, strlen(text) - (c->w[k] - 3 - head));

		memcpy(text + head, "...", 3);
		memmove(text + head + 3, text + tail, strlen(text + tail) + 1);
	}
	pm_buf_printf(to, "  %*s", (int)c->w[k], text);
}

/* What is not shown: so many rows, and columns. */
static void put_rest(const struct columns *c, size_t rows, size_t width, struct pm_buf *to)
{
	struct pm_buf text = { 0 };
	char head[64];

	pm_buf_printf(&text, "... and ");
	if (rows)
		pm_buf_printf(&text, "%zu more%s", rows, c->hidden ? ", " : "");
	if (c->hidden)
		pm_buf_printf(&text, "%zu column%s:", c->hidden, c->hidden > 1 ? "s" : "");
	for (size_t k = 0, some = 0; k < c->n; k++)
		if (c->hide[k])
			pm_buf_printf(&text, "%s%s", some++ ? ", " : " ",
				      pm_result_words(c->name[k], head));
	pm_buf_add(&text, "", 1);
	pm_buf_printf(to, "  ");
	pm_report_wrapped(to, (const char *)text.p, 2, 6, width);
	pm_buf_release(&text);
}

static void list(const struct pm_result_node *l, unsigned rows, size_t width, struct pm_buf *to)
{
	const struct pm_result_node *first = l->first;
	struct columns col = { .n = 0 };
	char buf[256];
	size_t n = 0;

	if (!first)
		return;
	if (first->kind != PM_RESULT_OBJECT) {
		for (const struct pm_result_node *e = first; e && n < rows; e = e->next, n++) {
			value(e, buf, sizeof buf);
			pm_buf_printf(to, "  %s\n", buf);
		}
		return;
	}
	for (const struct pm_result_node *e = first; e && n < rows; e = e->next, n++) {
		size_t last = 0;

		for (const struct pm_result_node *c = e->first; c; c = c->next) {
			size_t k = pm_result_scalar(c) && c->name ? column_of(&col, c->name,
				last) : COLUMNS;

			if (k == COLUMNS)
				continue;
			last = k;
			value(c, buf, sizeof buf);
			col.w[k] = strlen(buf) > col.w[k] ? strlen(buf) : col.w[k];
			col.words[k] |= c->kind == PM_RESULT_STR;
			col.some[k] |= c->kind != PM_RESULT_U64 || c->u64;
		}
	}
	fit(&col, width);
	for (size_t k = 0; k < col.n; k++) {
		words(col.name[k], buf, sizeof buf);
		put_field(&col, k, buf, to);
	}
	pm_buf_printf(to, "\n");
	n = 0;
	for (const struct pm_result_node *e = first; e; e = e->next, n++) {
		if (n >= rows)
			continue;
		for (size_t k = 0; k < col.n; k++) {
			const struct pm_result_node *c = pm_result_find(e, col.name[k]);

			buf[0] = 0;
			if (c && pm_result_scalar(c))
				value(c, buf, sizeof buf);
			put_field(&col, k, buf, to);
		}
		while (to->n && to->p[to->n - 1] == ' ')
			to->n--;
		pm_buf_printf(to, "\n");
	}
	if (n > rows || col.hidden)
		put_rest(&col, n > rows ? n - rows : 0, width, to);
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* " (most misses first)", " (by size)"; ranges need no word. */
static void put_order(const struct pm_result_node *l, struct pm_buf *to)
{
	bool rising = false;
	const char *by = pm_result_sorted_by(l, &rising);
	char name[64];

	if (by && !(rising && !strcmp(by, "from")))
		pm_buf_printf(to, rising ? "  (by %s)" : "  (most %s first)", pm_result_words(by,
			name));
	pm_buf_printf(to, "\n");
}

static void lists_below(const struct pm_result_node *o, const char *path, unsigned rows,
			size_t width, struct pm_buf *to)
{
	for (const struct pm_result_node *c = o->first; c; c = c->next) {
		char name[128];

		snprintf(name, sizeof name, "%.60s%s%.60s", path, *path ? " " : "",
			 c->name ? c->name : "");
		if (c->kind == PM_RESULT_OBJECT) {
			lists_below(c, name, rows, width, to);
		} else if (c->kind == PM_RESULT_LIST && c->first) {
			char head[128];

			words(name, head, sizeof head);
			pm_buf_printf(to, "\n%s", head);
			put_order(c, to);
			list(c, rows, width, to);
		}
	}
}

/* Who shows text of a part of a trace says so on the first line, and the error comes last. */
static bool is_about_part(const struct pm_result_node *root, const struct pm_result_node *n)
{
	const struct pm_result_node *c = pm_result_find(root, "complete");

	return c && c->kind == PM_RESULT_BOOL && !c->u64 && n->name &&
		(n == c || !strcmp(n->name, "reason"));
}

void pm_result_text(const struct pm_result *r, unsigned rows, size_t width, struct pm_buf *to)
{
	const struct pm_result_node *root = pm_result_root(r);
	bool blank = false;

	for (const struct pm_result_node *top = root->first; top; top = top->next) {
		const struct pm_result_node **o = NULL;
		size_t n = 0, cap = 0, name_w = 0;
		char buf[256], head[64];

		if (is_about_part(root, top))
			continue;
		if (top->kind == PM_RESULT_LIST) {
			words(top->name, head, sizeof head);
			pm_buf_printf(to, "%s%s", blank ? "\n" : "", head);
			put_order(top, to);
			list(top, rows, width, to);
			blank = true;
			continue;
		}
		if (pm_result_scalar(top)) {
			value(top, buf, sizeof buf);
			words(top->name, head, sizeof head);
			pm_buf_printf(to, "%s: %s%s%s\n", head, buf, unit(top) ? " " : "",
				      unit(top) ? unit(top) : "");
			blank = true;
			continue;
		}
		words(top->name, head, sizeof head);
		pm_buf_printf(to, "%s%s\n", blank ? "\n" : "", head);
		blank = true;
		for (const struct pm_result_node *c = top->first; c; c = c->next)
			if (pm_result_scalar(c) && strlen(c->name) > name_w)
				name_w = strlen(c->name);
		for (const struct pm_result_node *c = top->first; c; c = c->next) {
			if (pm_result_scalar(c)) {
				value(c, buf, sizeof buf);
				words(c->name, head, sizeof head);
				pm_buf_printf(to, "  %-*s  %s%s%s\n", (int)name_w, head, buf,
					      unit(c) ? " " : "", unit(c) ? unit(c) : "");
			} else if (c->kind == PM_RESULT_OBJECT) {
				pm_grow(o, n, cap);
				o[n++] = c;
			}
		}
		if (n) {
			if (name_w)
				pm_buf_printf(to, "\n");
			side_by_side(o, n, width, to);
		}
		free(o);
		lists_below(top, top->name ? top->name : "", rows, width, to);
	}
}

enum pm_status pm_result_print(const struct pm_result *r, unsigned rows, struct pm_err *err)
{
	struct pm_buf text = { 0 };
	enum pm_status st;

	pm_result_text(r, rows, pm_report_width(STDOUT_FILENO), &text);
	st = pm_file_save("-", &text, err);
	pm_buf_release(&text);
	return st;
}

enum pm_status pm_result_show(const struct pm_result *r, unsigned rows, const char *json,
			      struct pm_err *err)
{
	struct pm_buf out = { 0 };
	enum pm_status st = PM_OK;

	if (json) {
		pm_result_json(r, &out);
		st = pm_file_save(json, &out, err);
		pm_buf_release(&out);
	}
	return st == PM_OK && !(json && !strcmp(json, "-")) ? pm_result_print(r, rows, err) : st;
}

/* ---- CSV ------------------------------------------------------------------------------------ */

void pm_result_path(struct pm_buf *to, const struct pm_result_node *in, const char *path,
		    const struct pm_result_node *c, size_t i)
{
	if (in->kind == PM_RESULT_LIST)
		pm_buf_printf(to, "%s[%zu]", path, i);
	else
		pm_buf_printf(to, "%s%s%s", path, *path ? "." : "", c->name ? c->name : "");
	pm_buf_add(to, "", 1);
}

static void csv(const struct pm_result_node *n, const char *path, struct pm_buf *to)
{
	size_t i = 0;

	if (pm_result_scalar(n)) {
		pm_report_csv_field(to, path);
		pm_buf_printf(to, ",");
		switch (n->kind) {
		case PM_RESULT_U64:
			pm_buf_printf(to, "%" PRIu64, n->u64);
			break;
		case PM_RESULT_F64:
			pm_buf_printf(to, "%.10g", n->f64);
			break;
		case PM_RESULT_HEX:
			pm_buf_printf(to, "0x%" PRIx64, n->u64);
			break;
		case PM_RESULT_STR:
			pm_report_csv_field(to, n->str);
			break;
		case PM_RESULT_BOOL:
			pm_buf_printf(to, n->u64 ? "true" : "false");
			break;
		default:
			break;
		}
		pm_buf_printf(to, ",");
		pm_report_csv_field(to, n->unit ? n->unit : "");
		pm_buf_printf(to, "\n");
		return;
	}
	for (const struct pm_result_node *c = n->first; c; c = c->next, i++) {
		struct pm_buf sub = { 0 };

		pm_result_path(&sub, n, path, c, i);
		csv(c, (const char *)sub.p, to);
		pm_buf_release(&sub);
	}
}

void pm_result_csv(const struct pm_result *r, struct pm_buf *to)
{
	pm_buf_printf(to, "path,value,unit\n");
	csv(pm_result_root(r), "", to);
}
