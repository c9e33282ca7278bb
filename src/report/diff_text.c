/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/diff_report.h"
#include "report/out.h"

struct diff_text {
	const struct pm_diff_report *o;
	struct pm_buf *to;
	size_t width;
};

/* ---- numbers ------------------------------------------------------------------------------- */

const char *pm_diff_number(struct pm_diff_value v, char buf[static 32])
{
	if (!v.there)
		return "-";
	if (v.whole)
		return pm_report_number(v.u64, buf);
	snprintf(buf, 32, "%.6g", v.f64);
	return buf;
}

const char *pm_diff_change(struct pm_diff_value a, struct pm_diff_value b, char buf[static 40])
{
	char num[32];

	if (a.whole && b.whole)
		snprintf(buf, 40, "%s%s", b.u64 > a.u64 ? "+" : b.u64 < a.u64 ? "-" : "",
			 pm_report_number(b.u64 > a.u64 ? b.u64 - a.u64 : a.u64 - b.u64, num));
	else
		snprintf(buf, 40, "%+.6g", b.f64 - a.f64);
	return buf;
}

const char *pm_diff_percent(struct pm_diff_value a, struct pm_diff_value b, char buf[static 24])
{
	double p;

	if (a.f64 == 0)
		return b.f64 == 0 ? "" : "new";
	p = 100 * (b.f64 - a.f64) / fabs(a.f64);
	if (p != 0 && fabs(p) < 0.05)
		snprintf(buf, 24, "%+.1g %%", p);
	else if (fabs(p) < 99999.5)
		snprintf(buf, 24, "%+.1f %%", p);
	else
		snprintf(buf, 24, "%+.3g %%", p);
	return buf;
}

void pm_diff_gate_text(const struct pm_diff_gate *g, struct pm_buf *to)
{
	char a[32], b[32], change[40], percent[24];

	if (g->any) {
		pm_buf_printf(to, "%s", g->broken ? "something differs" : "nothing differs");
		return;
	}
	if (g->matched > 1)
		pm_buf_printf(to, "%llu of %llu, ", (unsigned long long)g->nbroken,
			      (unsigned long long)g->matched);
	pm_report_text_of(to, g->worst, SIZE_MAX, 0);
	pm_buf_printf(to, ": %s to %s", pm_diff_number(g->a, a), pm_diff_number(g->b, b));
	if (pm_diff_same(g->a, g->b))
		return;
	pm_buf_printf(to, ", %s, %s", pm_diff_change(g->a, g->b, change),
		      pm_diff_percent(g->a, g->b, percent));
}

/* ---- parts --------------------------------------------------------------------------------- */

static void head(struct diff_text *t, const char *title, const char *hint)
{
	pm_buf_printf(t->to, "\n%s%s%s%s\n", title, *hint ? "  (" : "", hint, *hint ? ")" : "");
}

static void facts(struct diff_text *t)
{
	const struct pm_diff *d = t->o->d;

	for (size_t i = 0; i < d->nother; i++) {
		const struct pm_diff_other *f = d->other + i;
		const char *v[2] = { f->a, f->b };

		for (unsigned s = 0; s < 2; s++) {
			size_t from = t->to->n;

			pm_buf_printf(t->to, "  ");
			pm_report_text_of(t->to, s ? "" : f->name, 24, 1);
			while (t->to->n - from < 28)
				pm_buf_add(t->to, " ", 1);
			pm_buf_printf(t->to, "%c  ", "AB"[s]);
			pm_report_text_of(t->to, v[s] ? v[s] : "-", t->width - 31, 0);
			pm_buf_add(t->to, "\n", 1);
		}
	}
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

struct diff_cells { char a[40], b[40], change[40], percent[40]; };

static struct diff_cells cells_of(const struct pm_diff_both *t, const struct pm_diff_pair *p,
				  unsigned column)
{
	const struct pm_diff_value a = pm_diff_get(t, p, column, 0);
	const struct pm_diff_value b = pm_diff_get(t, p, column, 1);
	struct diff_cells c;
	char buf[40];

	snprintf(c.a, sizeof c.a, "%s", pm_diff_number(a, buf));
	snprintf(c.b, sizeof c.b, "%s", pm_diff_number(b, buf));
	snprintf(c.change, sizeof c.change, "%s", pm_diff_change(a, b, buf));
	snprintf(c.percent, sizeof c.percent, "%s", pm_diff_percent(a, b, buf));
	return c;
}

static int wider(int w, const char *s)
{
	int n = (int)strlen(s);

	return n > w ? n : w;
}

static void row_name(struct diff_text *t, const struct pm_diff_both *table,
		     const struct pm_diff_pair *p, size_t room)
{
	const bool object = table->shape == PM_DIFF_NAMES && p->place && strcmp(p->place, p->key);
	const char *place = object ? base_of(p->place) : "";
	size_t tail = object ? strlen(place) + 2 : 0;
	struct pm_buf name = { 0 };

	if (tail > room / 2 || p->key[0] == '[')
		tail = 0;
	pm_diff_name(table, p, &name);
	pm_buf_add(&name, "", 1);
	pm_report_text_of(t->to, (const char *)name.p, room - tail, 0);
	if (tail) {
		pm_buf_add(t->to, "  ", 2);
		pm_report_text_of(t->to, place, room, 0);
	}
	pm_buf_release(&name);
}

static void print_rows(struct diff_text *t, const struct pm_diff_both *table, unsigned column,
		       const uint32_t *order, size_t n)
{
	int wa = 1, wb = 1, wc = 6, wp = 0;
	size_t used;

	for (size_t i = 0; i < n; i++) {
		const struct diff_cells c = cells_of(table, table->pair + order[i], column);

		wa = wider(wa, c.a);
		wb = wider(wb, c.b);
		wc = wider(wc, c.change);
		wp = wider(wp, c.percent);
	}
	pm_buf_printf(t->to, "  %*s  %*s  %*s\n", wa, "A", wb, "B", wc, "change");
	used = (size_t)(wa + wb + wc + wp) + 10;
	for (size_t i = 0; i < n; i++) {
		const struct pm_diff_pair *p = table->pair + order[i];
		const struct diff_cells c = cells_of(table, p, column);

		pm_buf_printf(t->to, "  %*s  %*s  %*s  %*s  ", wa, c.a, wb, c.b, wc, c.change,
			      wp, c.percent);
		row_name(t, table, p, t->width > used + 16 ? t->width - used : 16);
		pm_buf_add(t->to, "\n", 1);
	}
}

static void table(struct diff_text *t, const struct pm_diff_both *both)
{
	int column = t->o->measure ? pm_diff_measure(both, t->o->measure) : -1;
	char title[64], hint[200];
	uint32_t *order;
	size_t n, shown;

	/* the JSON and the page have these */
	if (!both->ndiffer || both->noise || !strcmp(both->name, "classes") ||
	    (both->n == 1 && (!strcmp(both->name, "threads") || !strcmp(both->name, "processes"))))
		return;
	if (column < 0)
		column = pm_diff_measure(both, NULL);
	if (column < 0)
		return;
	n = pm_diff_order(both, (unsigned)column, &order);
	shown = n < t->o->rows ? n : t->o->rows;
	snprintf(title, sizeof title, "%.60s", both->name);
	if (title[0] >= 'a' && title[0] <= 'z')
		title[0] = (char)(title[0] - 'a' + 'A');
	snprintf(hint, sizeof hint, "%zu of %zu that differ%s%.40s, largest change first", shown,
		 n, both->ncolumn > 1 ? " in " : "",
		 both->ncolumn > 1 ? both->column[column] : "");
	head(t, title, hint);
	print_rows(t, both, (unsigned)column, order, shown);
	free(order);
}

/* ---- traces -------------------------------------------------------------------------------- */

static void moments(struct diff_text *t, const char *who, const struct pm_diff_moment *m, size_t n)
{
	char number[32];

	for (size_t i = 0; i < n; i++) {
		size_t from = t->to->n, room;

		pm_buf_printf(t->to, "    %-4s %12s  ", who,
			      m[i].is_insn ? pm_report_number(m[i].insn, number) : "");
		pm_report_text_of(t->to, m[i].text, t->width - 23, 0);
		if (m[i].code || m[i].place)
			pm_buf_printf(t->to, "\n%23s", "");
		from = t->to->n;
		room = t->width - 23;
		if (m[i].code)
			pm_report_text_of(t->to, m[i].code, room, 0);
		if (m[i].place) {
			do
				pm_buf_add(t->to, " ", 1);
			while (m[i].code && t->to->n - from < 30);
			if (t->to->n - from + 8 < room)
				pm_report_text_of(t->to, m[i].place, room - (t->to->n - from), 0);
		}
		pm_buf_add(t->to, "\n", 1);
	}
}

static void thread(struct diff_text *t, const struct pm_diff_thread *th)
{
	char a[32], b[32];
	unsigned side;

	if (!th->of[0].there && !th->of[1].there)
		return;
	if (!th->of[0].there || !th->of[1].there) {
		side = th->of[1].there;
		pm_buf_printf(t->to, "\nThread %u is only in %c: %s instructions\n", th->index,
			      "AB"[side], pm_report_number(th->of[side].insns, a));
		return;
	}
	if (!th->diverged)
		return;
	pm_buf_printf(t->to, "\nThread %u", th->index);
	if (th->of[0].tid || th->of[1].tid)
		pm_buf_printf(t->to, "  (tid %u in A, %u in B)", th->of[0].tid, th->of[1].tid);
	pm_buf_printf(t->to, ": the first difference is event %s",
		      pm_report_number(th->events, a));
	if (th->insns)
		pm_buf_printf(t->to, ", instruction %s", pm_report_number(th->insns, b));
	pm_buf_add(t->to, "\n", 1);
	moments(t, "both", th->before, th->nbefore);
	for (side = 0; side < 2; side++) {
		const char who[2] = { "AB"[side], 0 };

		if (th->nafter[side])
			moments(t, who, th->after[side], th->nafter[side]);
		else
			pm_buf_printf(t->to, "    %-4s %12s  ends here\n", who, "");
	}
}

/* ---- all of it ----------------------------------------------------------------------------- */

bool pm_diff_differs(const struct pm_diff_report *o)
{
	return o->d->differing || (o->threads && o->threads->differ);
}

static void conditions(struct diff_text *t)
{
	if (t->o->ngate)
		head(t, "Conditions", "");
	for (size_t i = 0; i < t->o->ngate; i++) {
		const struct pm_diff_gate *g = t->o->gate + i;
		struct pm_buf text = { 0 };

		pm_buf_printf(t->to, "  %-7s ", g->broken ? "BROKEN" : "holds");
		pm_report_text_of(t->to, g->text, t->width - 10, 0);
		pm_buf_printf(t->to, "\n          ");
		pm_diff_gate_text(g, &text);
		pm_buf_add(&text, "", 1);
		pm_report_text_of(t->to, (const char *)text.p, t->width - 10, 0);
		pm_buf_add(t->to, "\n", 1);
		pm_buf_release(&text);
	}
}

void pm_diff_text(const struct pm_diff_report *o, size_t width, struct pm_buf *to)
{
	struct diff_text t = { .o = o, .to = to, .width = width };
	uint64_t events = 0;
	char n[32];

	pm_buf_printf(to, "pugmark: differences of two %ss\n  A  ", o->d->side[0]->kind);
	pm_report_text_of(to, o->d->side[0]->file, width - 5, 1);
	pm_buf_printf(to, "\n  B  ");
	pm_report_text_of(to, o->d->side[1]->file, width - 5, 1);
	pm_buf_add(to, "\n", 1);
	for (size_t i = 0; o->threads && i < o->threads->n; i++)
		events += o->threads->v[i].events;
	if (!pm_diff_differs(o))
		pm_buf_printf(to, "\nNo difference: %s %s are the same.\n",
			      pm_report_number(o->threads ? events : o->d->compared, n),
			      o->threads ? "events" : "numbers");
	if (o->d->nother) {
		head(&t, "About the runs", "");
		facts(&t);
	}
	for (size_t i = 0; i < o->d->nboth; i++)
		table(&t, o->d->both[i]);
	for (size_t i = 0; o->threads && i < o->threads->n; i++)
		thread(&t, o->threads->v + i);
	conditions(&t);
}
