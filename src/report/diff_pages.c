/* SPDX-License-Identifier: MIT */
/* diff_pages.c - differences as JSON and as a page */
#include <stdio.h>
#include <stdlib.h>

#include "base/result.h"
#include "pugmark/pugmark.h"
#include "report/diff_report.h"
#include "report/flame_html.h"
#include "report/html.h"
#include "report/out.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

static void str_or_null(struct pm_result *r, const char *name, const char *v)
{
	if (v)
		pm_result_str(r, name, v);
	else
		pm_result_null(r, name);
}

static void put_value(struct pm_result *r, const char *name, struct pm_diff_value v)
{
	if (!v.there)
		pm_result_null(r, name);
	else if (v.whole)
		pm_result_u64(r, name, v.u64, NULL);
	else
		pm_result_f64(r, name, v.f64, NULL);
}

static void put_change(struct pm_result *r, struct pm_diff_value a, struct pm_diff_value b)
{
	put_value(r, "a", a);
	put_value(r, "b", b);
	if (!a.there || !b.there) {
		pm_result_null(r, "change");
		pm_result_null(r, "percent");
		return;
	}
	if (a.whole && b.whole && b.u64 >= a.u64)
		pm_result_u64(r, "change", b.u64 - a.u64, NULL);
	else
		pm_result_f64(r, "change", a.whole && b.whole ? -(double)(a.u64 - b.u64) :
			b.f64 - a.f64, NULL);
	if (a.f64 == 0)
		pm_result_null(r, "percent");
	else
		pm_result_f64(r, "percent", 100 * (b.f64 - a.f64) / (a.f64 < 0 ? -a.f64 : a.f64),
			      "%");
}

static void put_row(struct pm_result *r, const struct pm_diff_both *t,
		    const struct pm_diff_pair *p)
{
	struct pm_buf name = { 0 };

	pm_diff_name(t, p, &name);
	pm_buf_add(&name, "", 1);
	pm_result_begin(r, NULL);
	pm_result_str(r, "name", (const char *)name.p);
	str_or_null(r, "place", p->place);
	pm_result_str(r, "in", !p->row[0] ? "b" : !p->row[1] ? "a" : "both");
	pm_result_begin_list(r, "measures");
	for (unsigned k = 0; k < t->ncolumn; k++) {
		const struct pm_diff_value a = pm_diff_get(t, p, k, 0);
		const struct pm_diff_value b = pm_diff_get(t, p, k, 1);

		if (pm_diff_same(a, b) || (!t->complete && (!a.there || !b.there)))
			continue;
		pm_result_begin(r, NULL);
		pm_result_str(r, "measure", t->column[k]);
		put_change(r, a, b);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	pm_buf_release(&name);
}

static void put_table(struct pm_result *r, const struct pm_diff_both *t)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "table", t->name);
	pm_result_bool(r, "complete", t->complete);
	pm_result_u64(r, "rows", t->n, "rows");
	pm_result_u64(r, "rows_differ", t->ndiffer, "rows");
	pm_result_begin_list(r, "differ");
	for (size_t i = 0; i < t->n; i++)
		if (t->pair[i].differs)
			put_row(r, t, t->pair + i);
	pm_result_end(r);
	pm_result_end(r);
}

static void put_moments(struct pm_result *r, const char *name, const struct pm_diff_moment *m,
			size_t n)
{
	pm_result_begin_list(r, name);
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "event", m[i].event, NULL);
		pm_result_u64(r, "instruction", m[i].insn, NULL);
		pm_result_str(r, "text", m[i].text);
		str_or_null(r, "code", m[i].code);
		str_or_null(r, "place", m[i].place);
		pm_result_end(r);
	}
	pm_result_end(r);
}

static void put_thread(struct pm_result *r, const struct pm_diff_thread *th)
{
	pm_result_begin(r, NULL);
	pm_result_u64(r, "thread", th->index, NULL);
	for (unsigned s = 0; s < 2; s++) {
		if (!th->of[s].there) {
			pm_result_null(r, s ? "b" : "a");
			continue;
		}
		pm_result_begin(r, s ? "b" : "a");
		pm_result_u64(r, "pid", th->of[s].pid, NULL);
		pm_result_u64(r, "tid", th->of[s].tid, NULL);
		pm_result_u64(r, "instructions", th->of[s].insns, "instructions");
		pm_result_u64(r, "events", th->of[s].events, "events");
		pm_result_end(r);
	}
	pm_result_u64(r, "same_events", th->events, "events");
	pm_result_u64(r, "same_instructions", th->insns, "instructions");
	pm_result_bool(r, "different", th->diverged || th->of[0].there != th->of[1].there);
	if (th->diverged) {
		put_moments(r, "before", th->before, th->nbefore);
		put_moments(r, "in_a", th->after[0], th->nafter[0]);
		put_moments(r, "in_b", th->after[1], th->nafter[1]);
	}
	pm_result_end(r);
}

static void put_gate(struct pm_result *r, const struct pm_diff_gate *g)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "condition", g->text);
	pm_result_bool(r, "broken", g->broken);
	pm_result_u64(r, "values", g->matched, "values");
	pm_result_u64(r, "values_beyond", g->nbroken, "values");
	if (!g->any) {
		pm_result_str(r, "worst", g->worst);
		put_change(r, g->a, g->b);
	}
	pm_result_end(r);
}

void pm_diff_result(const struct pm_diff_report *o, struct pm_result *r)
{
	const struct pm_diff *d = o->d;

	pm_result_str(r, "pugmark", PM_VERSION);
	pm_result_str(r, "kind", d->side[0]->kind);
	pm_result_str(r, "a", d->side[0]->file);
	pm_result_str(r, "b", d->side[1]->file);
	pm_result_bool(r, "different", pm_diff_differs(o));
	pm_result_u64(r, "compared", d->compared, "values");
	pm_result_u64(r, "differing", d->differing, "values");
	pm_result_begin_list(r, "about");
	for (size_t i = 0; i < d->nother; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "name", d->other[i].name);
		str_or_null(r, "a", d->other[i].a);
		str_or_null(r, "b", d->other[i].b);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "tables");
	for (size_t i = 0; i < d->nboth; i++)
		put_table(r, d->both[i]);
	pm_result_end(r);
	if (o->threads) {
		pm_result_begin_list(r, "threads");
		for (size_t i = 0; i < o->threads->n; i++)
			if (o->threads->v[i].of[0].there || o->threads->v[i].of[1].there)
				put_thread(r, o->threads->v + i);
		pm_result_end(r);
	}
	pm_result_begin_list(r, "conditions");
	for (size_t i = 0; i < o->ngate; i++)
		put_gate(r, o->gate + i);
	pm_result_end(r);
}

/* ---- a page -------------------------------------------------------------------------------- */

#define PAGE_ROWS	2000
#define PAGE_MEASURES	8

static void change_cell(struct pm_html *h, struct pm_diff_value a, struct pm_diff_value b)
{
	char text[40];

	if (!a.there || !b.there)
		pm_html_cell(h, "");
	else
		pm_html_cell_number(h, b.f64 - a.f64, pm_diff_change(a, b, text));
}

static void value_cell(struct pm_html *h, struct pm_diff_value v)
{
	char text[32];

	pm_html_cell_number(h, v.f64, pm_diff_number(v, text));
}

/* The measures that differ anywhere, the first ones. */
static unsigned measures_of(const struct pm_diff_both *t, unsigned column[PAGE_MEASURES])
{
	unsigned n = 0;

	for (unsigned k = 0; k < t->ncolumn && n < PAGE_MEASURES; k++) {
		uint32_t *order;

		if (pm_diff_order(t, k, &order))
			column[n++] = k;
		free(order);
	}
	return n;
}

static void table_view(struct pm_html *h, const struct pm_diff_both *t, unsigned number)
{
	const bool places = t->n && t->shape == PM_DIFF_NAMES && t->pair[0].place;
	unsigned column[PAGE_MEASURES], n = measures_of(t, column);
	struct pm_buf names = { 0 };
	char id[32], title[64], percent[24], total[64];
	uint32_t *order;
	size_t rows;

	if (!n || t->noise)
		return;
	snprintf(id, sizeof id, "table-%u", number);
	snprintf(title, sizeof title, "%.60s", t->name);
	if (title[0] >= 'a' && title[0] <= 'z')
		title[0] = (char)(title[0] - 'a' + 'A');
	pm_html_view(h, id, title, "What differs");
	pm_html_section(h, title, "rows that differ; the largest change first");
	pm_buf_printf(&names, "Name%s", places ? "|In" : "");
	for (unsigned k = 0; k < n; k++)
		pm_buf_printf(&names, "|#A: %s|#B|#change|#%%", t->column[column[k]]);
	pm_buf_add(&names, "", 1);
	pm_html_table_begin(h, title, (const char *)names.p, -1, PM_HTML_FALLING);
	rows = pm_diff_order(t, column[0], &order);
	for (size_t i = 0; i < rows && i < PAGE_ROWS; i++) {
		const struct pm_diff_pair *p = t->pair + order[i];
		struct pm_buf name = { 0 };

		pm_diff_name(t, p, &name);
		pm_buf_add(&name, "", 1);
		pm_html_cell(h, (const char *)name.p);
		pm_buf_release(&name);
		if (places)
			pm_html_cell(h, p->place ? p->place : "");
		for (unsigned k = 0; k < n; k++) {
			const struct pm_diff_value a = pm_diff_get(t, p, column[k], 0);
			const struct pm_diff_value b = pm_diff_get(t, p, column[k], 1);

			value_cell(h, a);
			value_cell(h, b);
			change_cell(h, a, b);
			pm_html_cell_number(h, a.f64 ? (b.f64 - a.f64) / a.f64 : 1e9,
					    pm_diff_percent(a, b, percent));
		}
	}
	snprintf(total, sizeof total, "of %zu", rows);
	pm_html_table_end(h, rows > PAGE_ROWS ? total : NULL);
	pm_buf_release(&names);
	free(order);
}

static void moment_rows(struct pm_html *h, const char *who, const struct pm_diff_moment *m,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pm_html_cell(h, who);
		pm_html_cell_u64(h, m[i].event);
		pm_html_cell_u64(h, m[i].insn);
		pm_html_cell(h, m[i].text);
		pm_html_cell(h, m[i].code ? m[i].code : "");
		pm_html_cell(h, m[i].place ? m[i].place : "");
	}
}

static void threads_view(struct pm_html *h, const struct pm_diff_threads *t)
{
	char title[64], a[32], b[32];

	pm_html_view(h, "parting", "Where they part", "What differs");
	for (size_t i = 0; i < t->n; i++) {
		const struct pm_diff_thread *th = t->v + i;
		char hint[160];

		if (!th->diverged && th->of[0].there == th->of[1].there)
			continue;
		snprintf(title, sizeof title, "Thread %u", th->index);
		if (!th->diverged) {
			pm_html_section(h, title, th->of[0].there ? "only in A" : "only in B");
			pm_html_note(h, th->of[0].there ? "B has no such thread." :
				"A has no such thread.");
			continue;
		}
		snprintf(hint, sizeof hint, "%s events and %s instructions are the same",
			 pm_report_number(th->events, a), pm_report_number(th->insns, b));
		pm_html_section(h, title, hint);
		pm_html_table_begin(h, title, "In|#Event|#Instruction|What|Code|Where", -1,
				    PM_HTML_RISING);
		moment_rows(h, "both", th->before, th->nbefore);
		moment_rows(h, "A", th->after[0], th->nafter[0]);
		moment_rows(h, "B", th->after[1], th->nafter[1]);
		pm_html_table_end(h, NULL);
	}
}

static void overview(struct pm_html *h, const struct pm_diff_report *o)
{
	const struct pm_diff *d = o->d;
	char n[32];

	pm_html_view(h, "overview", "Overview", "Overview");
	pm_html_section(h, pm_diff_differs(o) ? "What differs" : "No difference", d->side[0]->kind);
	pm_html_cards_begin(h);
	pm_html_card(h, "numbers compared", pm_report_number(d->compared, n), NULL);
	pm_html_card(h, "that differ", pm_report_number(d->differing, n), NULL);
	pm_html_cards_end(h);
	pm_html_table_begin(h, "Files", "Side|File", -1, PM_HTML_RISING);
	for (unsigned s = 0; s < 2; s++) {
		pm_html_cell(h, s ? "B" : "A");
		pm_html_cell(h, d->side[s]->file);
	}
	pm_html_table_end(h, NULL);
	if (o->ngate) {
		pm_html_section(h, "Conditions", NULL);
		pm_html_table_begin(h, "Conditions", "Condition|Answer|Found", -1, PM_HTML_RISING);
		for (size_t i = 0; i < o->ngate; i++) {
			struct pm_buf text = { 0 };

			pm_diff_gate_text(o->gate + i, &text);
			pm_buf_add(&text, "", 1);
			pm_html_cell(h, o->gate[i].text);
			pm_html_cell(h, o->gate[i].broken ? "broken" : "holds");
			pm_html_cell(h, (const char *)text.p);
			pm_buf_release(&text);
		}
		pm_html_table_end(h, NULL);
	}
	if (d->nother) {
		pm_html_section(h, "About the runs", NULL);
		pm_html_table_begin(h, "About the runs", "What|A|B", -1, PM_HTML_RISING);
		for (size_t i = 0; i < d->nother; i++) {
			pm_html_cell(h, d->other[i].name);
			pm_html_cell(h, d->other[i].a ? d->other[i].a : "");
			pm_html_cell(h, d->other[i].b ? d->other[i].b : "");
		}
		pm_html_table_end(h, NULL);
	}
}

enum pm_status pm_diff_html(const struct pm_diff_report *o, const char *path, struct pm_err *err)
{
	struct pm_buf about = { 0 };
	struct pm_html h;
	enum pm_status st;

	pm_buf_printf(&about, "%s and %s", o->d->side[0]->file, o->d->side[1]->file);
	pm_buf_add(&about, "", 1);
	pm_html_begin(&h, "pugmark diff", (const char *)about.p);
	overview(&h, o);
	if (o->threads && o->threads->differ)
		threads_view(&h, o->threads);
	if (o->tree[0] && o->tree[1])
		pm_flame_diff_html(&h, o->tree[0], o->tree[1]);
	for (size_t i = 0; i < o->d->nboth; i++)
		table_view(&h, o->d->both[i], (unsigned)i);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	pm_buf_release(&about);
	return st;
}
