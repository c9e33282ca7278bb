/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/profile_costs.h"
#include "base/printable.h"
#include "base/whole_file.h"
#include "report/listing_report.h"
#include "report/listing_view.h"
#include "report/out.h"
#include "report/profile_report.h"
#include "report/width.h"

/* ---- text ----------------------------------------------------------------------------------- */

static int cell_width(const struct pm_view *v, unsigned k)
{
	char num[32];
	size_t n = strlen(pm_report_number(v->total[k], num)),
	       m = strlen(v->l->costs->column[k].name);

	n = n > m ? n : m;
	return n < 7 ? 8 : (int)n + 1;
}

static size_t put_cells(struct pm_buf *to, const struct pm_view *v, const uint64_t *x)
{
	size_t at = to->n;
	char num[32];

	for (unsigned k = 0; k < v->ncol; k++)
		pm_buf_printf(to, "%*s", cell_width(v, v->col[k]),
			      x[v->col[k]] ? pm_report_number(x[v->col[k]], num) : ".");
	return to->n - at;
}

static void put_head(struct pm_buf *to, const struct pm_view *v, const char *what)
{
	for (unsigned k = 0; k < v->ncol; k++)
		pm_buf_printf(to, "%*s", cell_width(v, v->col[k]),
			      v->l->costs->column[v->col[k]].name);
	pm_buf_printf(to, "%s%s\n", *what ? "  " : "", what);
}

static void put_rest(struct pm_buf *to, const struct pm_view *v, size_t used, const char *text)
{
	size_t room = used + 2 < v->width - 16 ? v->width - 2 - used : 16;
	char *line = pm_strdup(text);

	for (char *p = line; *p; p++)		/* of source text */
		if (*p == '\t')
			*p = ' ';
	pm_buf_printf(to, "  ");
	pm_report_text_of(to, line, room, 0);
	free(line);
	pm_buf_add(to, "\n", 1);
}

static void print_function(struct pm_view *v, const struct pm_listing_function *f,
	struct pm_buf *to)
{
	const struct pm_listing *l = v->l;
	uint64_t x[PM_COSTS_MAX];
	char text[300], where[700];
	uint32_t file = 0;
	unsigned line = 0;

	pm_buf_printf(to, "\n");
	pm_report_text_of(to, f->name, v->width - 20, 0);
	pm_buf_printf(to, "%s", *f->object ? "  " : "");
	pm_printable_add(to, pm_view_base_name(f->object));
	pm_buf_add(to, "\n", 1);
	put_head(to, v, "");
	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct pm_listing_insn *in = l->insn + i;

		if (in->file && (in->file != file || in->line != line)) {
			const char *source = pm_source_line(&v->files, l->file[in->file], in->line);
			size_t n = i;

			file = in->file;
			line = in->line;
			while (n < f->first + f->n && l->insn[n].file == file &&
			       l->insn[n].line == line)
				n++;
			pm_listing_sum(l, i, n - i, x);
			snprintf(where, sizeof where, "%s:%u%s%s",
				pm_view_base_name(l->file[file]), line,
				 source ? "  " : "", source ? source : "");
			put_rest(to, v, put_cells(to, v, x), where);
		}
		pm_view_costs(v, in, x);
		pm_listing_text(in, v->o->intel, text, sizeof text);
		snprintf(where, sizeof where, "%s%8" PRIx64 "  %s", in->file ? "  " : "",
			 PM_LISTING_ADDRESS(in->pc), text);
		put_rest(to, v, put_cells(to, v, x), where);
	}
}

static void print_functions(struct pm_view *v, struct pm_buf *to)
{
	uint64_t x[PM_COSTS_MAX];
	size_t rows = v->top > 15 ? v->top : 15;
	char name[500];

	put_cells(to, v, v->total);
	pm_buf_printf(to, "  total\n");
	for (size_t i = 0; i < v->norder && i < rows; i++) {
		const struct pm_listing_function *f = v->l->function + v->order[i];

		pm_listing_sum(v->l, f->first, f->n, x);
		snprintf(name, sizeof name, "%.400s%s%.60s", f->name,
			 *f->object && f->name[0] != '[' ? "  " : "",
			 f->name[0] != '[' ? pm_view_base_name(f->object) : "");
		put_rest(to, v, put_cells(to, v, x), name);
	}
	if (v->norder > rows)
		pm_buf_printf(to, "  ... and %zu more functions\n", v->norder - rows);
}

/* Source files with what their lines cost, lines without cost left out but for two around each. */
static void print_files(struct pm_view *v, struct pm_buf *to)
{
	struct pm_listing_line *line;
	size_t n = pm_listing_lines(v->l, &line);
	static const uint64_t none[PM_COSTS_MAX];
	char text[400];

	for (size_t i = 0; i < n; ) {
		uint32_t file = line[i].file;
		unsigned shown = 0;

		pm_buf_add(to, "\n", 1);
		pm_printable_add(to, v->l->file[file]);
		pm_buf_add(to, "\n", 1);
		put_head(to, v, "");
		for (; i < n && line[i].file == file; i++) {
			unsigned from = line[i].line > 2 ? line[i].line - 2 : 1;
			unsigned upto = line[i].line + 2;

			if (from <= shown)
				from = shown + 1;
			else if (shown && from > shown + 1)
				put_rest(to, v, put_cells(to, v, none), "...");
			if (i + 1 < n && line[i + 1].file == file && line[i + 1].line <= upto)
				upto = line[i + 1].line - 1;
			for (unsigned k = from; k <= upto; k++) {
				const char *source = pm_source_line(&v->files, v->l->file[file], k);

				if (k != line[i].line && !source)
					continue;
				snprintf(text, sizeof text, "%4u  %.380s", k, source ? source : "");
				put_rest(to, v, put_cells(to, v, k == line[i].line ?
					line[i].v : none),
					 text);
			}
			shown = upto;
		}
	}
	free(line);
}

enum pm_status pm_listing_print(struct pm_listing *l, const struct pm_listing_opts *o,
				struct pm_buf *to, struct pm_err *err)
{
	struct pm_view v;
	char head[64];

	if (pm_view_init(&v, l, o, err))
		return PM_ERR;
	snprintf(head, sizeof head, "function (most %s first)", l->costs->column[v.sort].name);
	put_head(to, &v, head);
	print_functions(&v, to);
	if (o->lines)
		print_files(&v, to);
	for (size_t i = 0; !o->lines && i < v.norder && i < v.top; i++)
		print_function(&v, l->function + v.order[i], to);
	pm_view_release(&v);
	return PM_OK;
}

/* ---- results -------------------------------------------------------------------------------- */

static void put_events(const struct pm_listing *l, struct pm_result *r, const uint64_t *x)
{
	for (unsigned k = 0; k < l->costs->ncolumn; k++)
		pm_result_u64(r, l->costs->column[k].name, x[k], NULL);
}

enum pm_status pm_listing_result(struct pm_listing *l, const struct pm_listing_opts *o,
				 struct pm_result *r, struct pm_err *err)
{
	struct pm_listing_line *line;
	uint64_t x[PM_COSTS_MAX];
	char text[300];
	struct pm_view v;
	size_t n;

	if (pm_view_init(&v, l, o, err))
		return PM_ERR;
	n = pm_listing_lines(l, &line);
	pm_result_begin(r, "annotate");
	pm_result_begin(r, "total");
	put_events(l, r, v.total);
	pm_result_end(r);
	pm_result_begin_list(r, "functions");
	for (size_t i = 0; i < v.norder; i++) {
		const struct pm_listing_function *f = l->function + v.order[i];

		pm_listing_sum(l, f->first, f->n, x);
		pm_result_begin(r, NULL);
		put_events(l, r, x);
		pm_result_str(r, "function", f->name);
		pm_result_str(r, "object", f->object);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "lines");
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		put_events(l, r, line[i].v);
		pm_result_str(r, "file", l->file[line[i].file]);
		pm_result_u64(r, "line", line[i].line, NULL);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "instructions");
	for (size_t i = 0; i < v.norder && i < v.top; i++) {
		const struct pm_listing_function *f = l->function + v.order[i];

		for (size_t k = f->first; k < f->first + f->n; k++) {
			pm_view_costs(&v, l->insn + k, x);
			pm_listing_text(l->insn + k, o->intel, text, sizeof text);
			pm_result_begin(r, NULL);
			pm_result_hex(r, "pc", PM_LISTING_ADDRESS(l->insn[k].pc));
			put_events(l, r, x);
			pm_result_str(r, "function", f->name);
			pm_result_str(r, "text", text);
			pm_result_end(r);
		}
	}
	pm_result_end(r);
	pm_result_end(r);
	free(line);
	pm_view_release(&v);
	return PM_OK;
}

/* ---- callgrind ------------------------------------------------------------------------------ */

static int by_caller(const void *a, const void *b)
{
	const struct pm_edge_count *x = a, *y = b;

	return x->from != y->from ? (x->from < y->from ? -1 : 1)
	       : x->to < y->to	  ? -1
				  : x->to > y->to;
}

/* A line KEYNAME, whatever the name holds. */
static void put_key(struct pm_buf *to, const char *key, const char *name)
{
	pm_buf_printf(to, "%s", key);
	pm_printable_add(to, name);
	pm_buf_add(to, "\n", 1);
}

/* Events that only instructions have would be wrong beside a call. */
static void put_values(const struct pm_costs *c, const uint64_t *v, struct pm_buf *to)
{
	for (unsigned k = 0; k < c->ncolumn; k++)
		if (!c->column[k].own)
			pm_buf_printf(to, " %" PRIu64, v[k]);
}

/* What the function called, at the line of its entry: what is counted are pairs of functions, not
 * call sites. */
static void put_call(struct pm_annotator *a, const struct pm_edge_count *e, uint64_t base,
		     unsigned line, struct pm_buf *to)
{
	uint64_t v[PM_COSTS_MAX];
	struct pm_name n;

	pm_names_at(pm_annotator_names(a), e->to, true, &n);
	put_key(to, "cob=", n.object ? n.object : "???");
	put_key(to, "cfi=", n.file ? n.file : "???");
	if (n.function || !n.object) {
		put_key(to, "cfn=", n.function ? n.function : "???");
	} else {
		pm_buf_printf(to, "cfn=[");
		pm_printable_add(to, pm_view_base_name(n.object));
		pm_buf_printf(to, "]\n");
	}
	pm_buf_printf(to, "calls=%" PRIu64 " 0x%" PRIx64 " %u\n0x%" PRIx64 " %u", e->calls,
		      e->to - n.base, n.file ? n.line : 0, e->from - base, line);
	pm_annotator_edge(a, e, v);
	put_values(&a->costs, v, to);
	pm_buf_printf(to, "\n");
}

void pm_listing_callgrind(struct pm_annotator *a, struct pm_buf *to)
{
	const struct pm_calls *calls = pm_annotator_calls(a);
	const struct pm_listing *l = a->listing;
	const struct pm_costs *c = l->costs;
	const struct pm_names *names = pm_annotator_names(a);
	struct pm_edge_count *edge = NULL;
	uint64_t x[PM_COSTS_MAX];
	size_t nedge = 0, at = 0;

	if (calls) {
		const struct pm_edge_count *e = pm_calls_edges(calls, &nedge);

		edge = pm_alloc((nedge + 1) * sizeof *edge);
		if (nedge)
			memcpy(edge, e, nedge * sizeof *edge);
		qsort(edge, nedge, sizeof *edge, by_caller);
	}
	pm_buf_printf(to, "# callgrind format\n");
	for (size_t i = 0; i < names->n; i++)
		if (names->object[i].path && names->object[i].build_id) {
			pm_buf_printf(to, "# object %s ", names->object[i].build_id);
			put_key(to, "", names->object[i].path);
		}
	pm_buf_printf(to, "version: 1\ncreator: pugmark %s\npositions: instr line\n", PM_VERSION);
	for (unsigned k = 0; k < c->ncolumn; k++)
		if (!c->column[k].own)
			pm_buf_printf(to, "event: %s : %s\n", c->column[k].name,
				      c->column[k].about);
	pm_buf_printf(to, "events:");
	for (unsigned k = 0; k < c->ncolumn; k++)
		if (!c->column[k].own)
			pm_buf_printf(to, " %s", c->column[k].name);
	pm_buf_printf(to, "\n");
	for (size_t i = 0; i < l->nfunction; i++) {
		const struct pm_listing_function *f = l->function + i;
		uint32_t file = l->insn[f->first].file;

		put_key(to, "\nob=", *f->object ? f->object : "???");
		put_key(to, "fl=", l->file[file]);
		put_key(to, "fn=", f->name);
		for (size_t n = f->first; n < f->first + f->n; n++) {
			const struct pm_listing_insn *in = l->insn + n;

			if (in->file != file)
				put_key(to, "fi=", l->file[in->file]);
			file = in->file;
			pm_buf_printf(to, "0x%" PRIx64 " %u", in->pc - f->base, in->line);
			for (unsigned k = 0; k < c->ncolumn; k++)
				x[k] = c->v[k][in->row];
			put_values(c, x, to);
			pm_buf_printf(to, "\n");
		}
		if (at < nedge && file != l->insn[f->first].file)
			put_key(to, "fe=", l->file[l->insn[f->first].file]);
		for (; at < nedge && edge[at].from <= l->insn[f->first + f->n - 1].pc; at++)
			put_call(a, edge + at, f->base, l->insn[f->first].line, to);
	}
	free(edge);
	pm_listing_sum(l, 0, l->ninsn, x);
	pm_buf_printf(to, "\ntotals:");
	put_values(c, x, to);
	pm_buf_printf(to, "\n");
}

enum pm_status pm_report_annotated(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err)
{
	struct pm_listing_opts lo = { .intel = o->syntax == PM_SYNTAX_INTEL,
		.top = o->top_functions, .width = pm_report_width_of(path) };
	struct pm_code_book book = { 0 };
	struct pm_costs c = { 0 };
	struct pm_buf out = { 0 };
	struct pm_listing *l;
	enum pm_status s;

	lo.events = "Ir,Dr,Dw";
	pm_profile_costs(p, &c, &book);
	l = pm_listing_new(&c, &book.names, &book);
	s = pm_listing_print(l, &lo, &out, err);
	if (!s)
		s = pm_file_save(path, &out, err);
	pm_buf_release(&out);
	pm_listing_free(l);
	pm_costs_release(&c);
	pm_code_book_release(&book);
	return s;
}
