/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "report/findings.h"
#include "report/html.h"
#include "report/listing_page.h"
#include "report/listing_view.h"
#include "report/out.h"

#define MAX_CODE	(640u << 10)	/* bytes of code in a page, beyond the first function's */
#define MAX_FUNCTIONS	60		/* that are shown with their code */
#define MAX_INSNS	2500		/* of one function: the hottest */
#define MAX_ROWS	1000		/* of a table */
#define AROUND		3		/* source lines around each that was executed */

struct pm_listing_page {
	struct pm_view v;
	struct pm_html code;		/* the functions, a script element each */
	size_t ncode;
	struct pm_map shown;		/* file << 32 | line -> function in @code + 1 */
	struct pm_listing_line *line;	/* most of the sorted event first */
	size_t nline;
};

static uint64_t line_key(uint32_t file, unsigned line)
{
	return (uint64_t)file << 32 | line;
}

/* ---- the code of a function ----------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int falling(const void *a, const void *b)
{
	return by_number(b, a);
}

/* Instructions that cost less than this are left out of @f, so that MAX_INSNS are left. */
static uint64_t least_cost(const struct pm_view *v, const struct pm_listing_function *f)
{
	uint64_t *cost, least;

	if (f->n <= MAX_INSNS)
		return 0;
	cost = pm_alloc(f->n * sizeof *cost);
	for (size_t i = 0; i < f->n; i++)
		cost[i] = v->l->costs->v[v->sort][v->l->insn[f->first + i].row];
	qsort(cost, f->n, sizeof *cost, falling);
	least = cost[MAX_INSNS];
	free(cost);
	return least + 1;
}

static void put_insns(struct pm_listing_page *p, const struct pm_listing_function *f,
		      uint64_t least, uint64_t *key, size_t *nkey)
{
	const struct pm_listing *l = p->v.l;
	struct pm_html *h = &p->code;
	uint64_t x[PM_COSTS_MAX];
	size_t left_out = 0;
	char text[300];
	bool comma = false;

	pm_buf_printf(&h->b, ",\"insns\":[");
	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct pm_listing_insn *in = l->insn + i;
		unsigned n = l->costs->ncolumn;

		pm_view_costs(&p->v, in, x);
		if (x[p->v.sort] < least) {
			left_out++;
			continue;
		}
		if (left_out)
			pm_buf_printf(&h->b, "%s%zu", comma ? "," : "", left_out);
		comma |= left_out;
		left_out = 0;
		pm_listing_text(in, p->v.o->intel, text, sizeof text);
		pm_buf_printf(&h->b, "%s[\"%" PRIx64 "\",", comma ? "," : "",
			      PM_LISTING_ADDRESS(in->pc));
		comma = true;
		pm_html_json(h, text);
		pm_buf_printf(&h->b, ",%u,%u", in->file, in->file ? in->line : 0);
		while (n && !x[n - 1])
			n--;
		for (unsigned k = 0; k < n; k++)
			pm_buf_printf(&h->b, ",%" PRIu64, x[k]);
		pm_buf_printf(&h->b, "]");
		if (in->file)
			key[(*nkey)++] = line_key(in->file, in->line);
	}
	if (left_out)
		pm_buf_printf(&h->b, "%s%zu", comma ? "," : "", left_out);
	pm_buf_printf(&h->b, "]");
}

/* The source files that the instructions come from, each with the lines around those. @key: file
 * and line of every instruction. */
static void put_source(struct pm_listing_page *p, uint64_t *key, size_t n)
{
	struct pm_html *h = &p->code;
	uint32_t file = 0;
	unsigned upto = 0;

	qsort(key, n, sizeof *key, by_number);
	pm_buf_printf(&h->b, ",\"files\":[");
	for (size_t i = 0; i < n; i++) {
		const uint32_t f = (uint32_t)(key[i] >> 32);
		const unsigned line = (unsigned)key[i];
		unsigned from = line > AROUND ? line - AROUND : 1;

		if (i && key[i] == key[i - 1])
			continue;
		if (f != file) {
			pm_buf_printf(&h->b, "%s{\"id\":%u,\"path\":", file ? "]}," : "", f);
			pm_html_json(h, p->v.l->file[f]);
			pm_buf_printf(&h->b, ",\"lines\":[");
			upto = 0;
		}
		file = f;
		if (from <= upto)
			from = upto + 1;
		for (unsigned k = from; k <= line + AROUND; k++) {
			const char *s = pm_source_line(&p->v.files, p->v.l->file[f], k);
			char cut[200];

			if (k != line && !s)
				continue;
			pm_buf_printf(&h->b, "%s[%u", upto ? "," : "", k);
			if (s) {
				snprintf(cut, sizeof cut, "%s", s);
				pm_buf_printf(&h->b, ",");
				pm_html_json(h, cut);
			}
			pm_buf_printf(&h->b, "]");
			upto = k;
		}
	}
	pm_buf_printf(&h->b, "%s]", file ? "]}" : "");
}

static void put_function(struct pm_listing_page *p, const struct pm_listing_function *f)
{
	struct pm_html *h = &p->code;
	uint64_t *key = pm_alloc((f->n + 1) * sizeof *key);
	size_t nkey = 0;

	pm_buf_printf(&h->b, "<script type=\"application/json\" class=\"code-data\">{\"name\":");
	pm_html_json(h, f->name);
	pm_buf_printf(&h->b, ",\"object\":");
	pm_html_json(h, f->object);
	put_insns(p, f, least_cost(&p->v, f), key, &nkey);
	put_source(p, key, nkey);
	pm_buf_printf(&h->b, "}</script>\n");
	p->ncode++;
	for (size_t i = 0; i < nkey; i++) {
		bool fresh;
		uint64_t *at = pm_map_put(&p->shown, key[i], &fresh);

		if (fresh)
			*at = p->ncode;
	}
	free(key);
}

/* ---- links ---------------------------------------------------------------------------------- */

/* To the function that stands at @rank of the order; NULL: its code is not shown. */
static const char *function_link(const struct pm_listing_page *p, size_t rank, char buf[static 64])
{
	if (rank >= p->ncode)
		return NULL;
	snprintf(buf, 64, "#code/%zu", rank);
	return buf;
}

static const char *line_link(struct pm_listing_page *p, uint32_t file, unsigned line,
			     char buf[static 64])
{
	const uint64_t *at = pm_map_get(&p->shown, line_key(file, line));

	if (!at)
		return NULL;
	snprintf(buf, 64, "#code/%" PRIu64 "/%u:%u", *at - 1, file, line);
	return buf;
}

/* ---- making one ----------------------------------------------------------------------------- */

static unsigned sorted_by;

static int by_cost(const void *a, const void *b)
{
	const struct pm_listing_line *x = a, *y = b;
	const uint64_t v = x->v[sorted_by], w = y->v[sorted_by];

	return v != w ? (v < w ? 1 : -1) : by_number(&(uint64_t){ line_key(x->file, x->line) },
						     &(uint64_t){ line_key(y->file, y->line) });
}

struct pm_listing_page *pm_listing_page_new(struct pm_listing *l, const struct pm_listing_opts *o,
					    struct pm_err *err)
{
	struct pm_listing_page *p = pm_alloc(sizeof *p);

	if (pm_view_init(&p->v, l, o, err)) {
		free(p);
		return NULL;
	}
	for (size_t i = 0; i < p->v.norder; i++) {
		if (i >= p->v.top && (i >= MAX_FUNCTIONS || p->code.b.n > MAX_CODE))
			break;
		put_function(p, l->function + p->v.order[i]);
	}
	p->nline = pm_listing_lines(l, &p->line);
	sorted_by = p->v.sort;
	if (p->nline)
		qsort(p->line, p->nline, sizeof *p->line, by_cost);
	return p;
}

void pm_listing_page_free(struct pm_listing_page *p)
{
	if (!p)
		return;
	pm_html_release(&p->code);
	pm_map_release(&p->shown);
	free(p->line);
	pm_view_release(&p->v);
	free(p);
}

/* ---- the first screen ----------------------------------------------------------------------- */

static const char *measure_of(const struct pm_listing_page *p)
{
	const char *name = p->v.l->costs->column[p->v.sort].name;

	return strcmp(name, "Ir") ? name : "instructions";
}

/* "m.c:4" */
static const char *line_name(const struct pm_listing_page *p, const struct pm_listing_line *n,
			     char buf[static 256])
{
	snprintf(buf, 256, "%.200s:%u", pm_view_base_name(p->v.l->file[n->file]), n->line);
	return buf;
}

/* Its source without the blanks in front; "" if it is not there. */
static const char *source_of(struct pm_listing_page *p, const struct pm_listing_line *n)
{
	const char *s = pm_source_line(&p->v.files, p->v.l->file[n->file], n->line);

	return s ? s + strspn(s, " ") : "";
}

struct pm_object_sum { const char *name; uint64_t v[PM_COSTS_MAX]; };

static int by_object_cost(const void *a, const void *b)
{
	const struct pm_object_sum *x = a, *y = b;
	const uint64_t v = x->v[sorted_by], w = y->v[sorted_by];

	return v != w ? (v < w ? 1 : -1) : strcmp(x->name, y->name);
}

static size_t objects_of(const struct pm_listing_page *p, struct pm_object_sum **sum)
{
	const struct pm_listing *l = p->v.l;
	struct pm_object_sum *v = NULL;
	uint64_t x[PM_COSTS_MAX];
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < l->nfunction; i++) {
		const struct pm_listing_function *f = l->function + i;
		size_t k = 0;

		while (k < n && strcmp(v[k].name, f->object))
			k++;
		if (k == n) {
			pm_grow(v, n, cap);
			v[n++] = (struct pm_object_sum){ .name = f->object };
		}
		pm_listing_sum(l, f->first, f->n, x);
		for (unsigned c = 0; c < l->costs->ncolumn; c++)
			v[k].v[c] += x[c];
	}
	sorted_by = p->v.sort;
	if (n)
		qsort(v, n, sizeof *v, by_object_cost);
	*sum = v;
	return n;
}

static const char *object_name(const char *path)
{
	return *path ? pm_view_base_name(path) : "(no file)";
}

void pm_listing_page_overview(struct pm_listing_page *p, struct pm_overview *o)
{
	const struct pm_listing *l = p->v.l;
	const unsigned by = p->v.sort;
	struct pm_object_sum *object;
	uint64_t x[PM_COSTS_MAX];
	char buf[64], name[256];
	struct pm_findings_listing f = { .l = l, .v = &p->v, .line = p->line, .nline = p->nline,
		.page = p, .line_link = line_link, .function_link = function_link };
	size_t n;

	o->measure = measure_of(p);
	for (size_t i = 0; i < p->v.norder && i < PM_TOP_ROWS; i++) {
		const struct pm_listing_function *fn = l->function + p->v.order[i];

		pm_listing_sum(l, fn->first, fn->n, x);
		if (x[by])
			pm_overview_top(o, PM_TOP_FUNCTIONS, fn->name,
					fn->name[0] == '[' ? NULL : object_name(fn->object),
					function_link(p, i, buf), pm_percent(x[by],
						p->v.total[by]));
	}
	for (size_t i = 0; i < p->nline && i < PM_TOP_ROWS; i++)
		if (p->line[i].v[by])
			pm_overview_top(o, PM_TOP_LINES, line_name(p, p->line + i, name),
					source_of(p, p->line + i),
					line_link(p, p->line[i].file, p->line[i].line, buf),
					pm_percent(p->line[i].v[by], p->v.total[by]));
	n = objects_of(p, &object);
	for (size_t i = 0; i < n && i < PM_TOP_ROWS; i++)
		if (object[i].v[by])
			pm_overview_top(o, PM_TOP_OBJECTS, object_name(object[i].name), NULL, NULL,
					pm_percent(object[i].v[by], p->v.total[by]));
	free(object);
	pm_findings_listing(o, &f);
}

/* ---- the views ------------------------------------------------------------------------------ */

static void begin_table(struct pm_html *h, const struct pm_listing_page *p, const char *name,
			const char *first, const char *last)
{
	const struct pm_costs *c = p->v.l->costs;
	struct pm_buf head = { 0 };

	pm_buf_printf(&head, "%s|#share of %s", first, measure_of(p));
	for (unsigned k = 0; k < c->ncolumn; k++)
		pm_buf_printf(&head, "|#%s", c->column[k].name);
	pm_buf_printf(&head, "%s", last);
	pm_buf_add(&head, "", 1);
	pm_html_table_begin(h, name, (const char *)head.p, 1, PM_HTML_FALLING);
	pm_buf_release(&head);
}

static void event_cells(struct pm_html *h, const struct pm_listing_page *p, const uint64_t *x)
{
	pm_html_cell_share(h, pm_percent(x[p->v.sort], p->v.total[p->v.sort]));
	for (unsigned k = 0; k < p->v.l->costs->ncolumn; k++)
		pm_html_cell_u64(h, x[k]);
}

static const char *of_all(size_t shown, size_t all, char buf[static 80])
{
	char a[32], b[32];

	buf[0] = 0;
	if (shown < all)
		snprintf(buf, 80, "the first %s of %s", pm_report_number(shown, a),
			 pm_report_number(all, b));
	return buf;
}

static void functions(struct pm_listing_page *p, struct pm_html *h)
{
	const size_t n = p->v.norder < MAX_ROWS ? p->v.norder : MAX_ROWS;
	uint64_t x[PM_COSTS_MAX];
	char buf[80];

	pm_html_view(h, "functions", "Functions", "Code");
	if (!n)
		return;
	begin_table(h, p, "functions", "function", "|object");
	for (size_t i = 0; i < n; i++) {
		const struct pm_listing_function *f = p->v.l->function + p->v.order[i];

		pm_listing_sum(p->v.l, f->first, f->n, x);
		pm_html_cell_link(h, f->name, function_link(p, i, buf));
		event_cells(h, p, x);
		pm_html_cell(h, f->object);
	}
	pm_html_table_end(h, of_all(n, p->v.norder, buf));
}

static void lines(struct pm_listing_page *p, struct pm_html *h)
{
	const size_t n = p->nline < MAX_ROWS / 2 ? p->nline : MAX_ROWS / 2;
	char buf[80], name[256], cut[121];

	pm_html_view(h, "lines", "Source lines", "Code");
	if (!n)
		return;
	begin_table(h, p, "source lines", "line", "|source|file");
	for (size_t i = 0; i < n; i++) {
		const struct pm_listing_line *at = p->line + i;

		pm_html_cell_link(h, line_name(p, at, name), line_link(p, at->file, at->line, buf));
		event_cells(h, p, at->v);
		snprintf(cut, sizeof cut, "%s", source_of(p, at));
		pm_html_cell(h, cut);
		pm_html_cell(h, p->v.l->file[at->file]);
	}
	pm_html_table_end(h, of_all(n, p->nline, buf));
}

static void objects(struct pm_listing_page *p, struct pm_html *h)
{
	struct pm_object_sum *object;
	const size_t n = objects_of(p, &object);

	pm_html_view(h, "objects", "Objects", "Code");
	if (n) {
		begin_table(h, p, "objects", "object", "|path");
		for (size_t i = 0; i < n; i++) {
			pm_html_cell(h, object_name(object[i].name));
			event_cells(h, p, object[i].v);
			pm_html_cell(h, object[i].name);
		}
		pm_html_table_end(h, NULL);
	}
	free(object);
}

void pm_listing_page_html(struct pm_listing_page *p, struct pm_html *h)
{
	const struct pm_costs *c = p->v.l->costs;
	char buf[80];

	functions(p, h);
	lines(p, h);
	objects(p, h);
	pm_html_view(h, "code", "Source and instructions", "Code");
	if (!p->ncode)
		return;
	pm_buf_printf(&h->b, "<script type=\"application/json\" id=\"events\">{\"sort\":%u,"
		      "\"total\":[", p->v.sort);
	for (unsigned k = 0; k < c->ncolumn; k++)
		pm_buf_printf(&h->b, "%s%" PRIu64, k ? "," : "", p->v.total[k]);
	pm_buf_printf(&h->b, "],\"events\":[");
	for (unsigned k = 0; k < c->ncolumn; k++) {
		pm_buf_printf(&h->b, "%s[", k ? "," : "");
		pm_html_json(h, c->column[k].name);
		pm_buf_printf(&h->b, ",");
		pm_html_json(h, c->column[k].about);
		pm_buf_printf(&h->b, ",%d]", c->column[k].trouble);
	}
	pm_buf_printf(&h->b, "]}</script>\n<div id=\"codebox\"><p class=\"dim\">%s "
		      "The code needs the script of this page.</p></div>\n",
		      p->ncode < p->v.norder ? of_all(p->ncode, p->v.norder, buf) : "");
	pm_buf_add(&h->b, p->code.b.p, p->code.b.n);
	pm_html_view(h, "events-view", "What the events are", "Code");
	pm_html_table_begin(h, "events", "event|what it counts|#total", -1, PM_HTML_FALLING);
	for (unsigned k = 0; k < c->ncolumn; k++) {
		pm_html_cell(h, c->column[k].name);
		pm_html_cell(h, c->column[k].about);
		pm_html_cell_u64(h, p->v.total[k]);
	}
	pm_html_table_end(h, NULL);
}
