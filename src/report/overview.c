/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/out.h"
#include "report/overview.h"

#define FIRST_FINDINGS	6		/* the others are folded away */

static const char *copy(struct pm_overview *o, const char *s)
{
	return s ? pm_arena_strdup(&o->mem, s) : NULL;
}

const char *pm_overview_text(struct pm_overview *o, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = pm_arena_alloc(&o->mem, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

const char *pm_overview_command(struct pm_overview *o, char *const *argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./=+:,@%";
	struct pm_buf b = { 0 };
	const char *s;

	for (size_t i = 0; argv && argv[i]; i++) {
		const char *a = argv[i];
		bool quote = !*a || a[strspn(a, plain)];

		pm_buf_printf(&b, "%s%s", i ? " " : "", quote ? "'" : "");
		for (; *a; a++)
			if (*a == '\'')
				pm_buf_printf(&b, "'\\''");
			else
				pm_buf_add(&b, a, 1);
		pm_buf_printf(&b, "%s", quote ? "'" : "");
	}
	pm_buf_add(&b, "", 1);
	s = copy(o, (const char *)b.p);
	pm_buf_release(&b);
	return s;
}

void pm_overview_fact(struct pm_overview *o, const char *label, const char *value,
		      const char *hint)
{
	pm_grow(o->fact, o->nfact, o->cap_fact);
	o->fact[o->nfact++] = (struct pm_shown_fact){ copy(o, label), copy(o, value), copy(o,
		hint) };
}

void pm_overview_when(struct pm_overview *o, const char *label, time_t t)
{
	char day[32], hour[48];
	struct tm tm;

	if (!localtime_r(&t, &tm))
		return;
	strftime(day, sizeof day, "%Y-%m-%d", &tm);
	strftime(hour, sizeof hour, "%H:%M:%S %Z", &tm);
	pm_overview_fact(o, label, day, hour);
}

void pm_overview_top(struct pm_overview *o, enum pm_overview_top which, const char *name,
		     const char *place, const char *link, double percent)
{
	if (o->ntop[which] < PM_TOP_ROWS)
		o->top[which][o->ntop[which]++] = (struct pm_top){
			copy(o, name), copy(o, place), copy(o, link), percent,
		};
}

void pm_overview_find(struct pm_overview *o, struct pm_finding f)
{
	size_t i;

	f.id = copy(o, f.id);
	f.number = copy(o, f.number);
	f.title = copy(o, f.title);
	f.text = copy(o, f.text);
	f.link = copy(o, f.link);
	pm_grow(o->finding, o->nfinding, o->cap_finding);
	for (i = o->nfinding++; i; i--) {
		const struct pm_finding *before = o->finding + i - 1;

		if (before->kind < f.kind ||
		    (before->kind == f.kind && before->weight >= f.weight))
			break;
		o->finding[i] = *before;
	}
	o->finding[i] = f;
}

void pm_overview_try(struct pm_overview *o, const char *question, const char *command)
{
	for (size_t i = 0; i < o->ntry; i++)
		if (!strcmp(o->try[i].command, command))
			return;
	pm_grow(o->try, o->ntry, o->cap_try);
	o->try[o->ntry++] = (struct pm_try){ copy(o, question), copy(o, command) };
}

/* ---- the page ------------------------------------------------------------------------------- */

static void link_to(struct pm_html *h, const char *text, const char *link, size_t max)
{
	if (link) {
		pm_html_markup(h, "<a href=\"");
		pm_html_text(h, link);
		pm_html_markup(h, "\">");
	}
	pm_html_text_cut(h, text, max);
	if (link)
		pm_html_markup(h, "</a>");
}

static void what_ran(const struct pm_overview *o, struct pm_html *h)
{
	if (o->command) {
		pm_html_markup(h, "<p class=\"command\"><span class=\"dim\">");
		pm_html_text(h, o->what ? o->what : "");
		pm_html_markup(h, "</span> <code>");
		pm_html_text_cut(h, o->command, 2000);
		pm_html_markup(h, "</code></p>\n");
	}
	if (!o->nfact)
		return;
	pm_html_markup(h, "<dl class=\"facts\">\n");
	for (size_t i = 0; i < o->nfact; i++) {
		pm_html_markup(h, "<div><dt>");
		pm_html_text(h, o->fact[i].label);
		pm_html_markup(h, "</dt><dd>");
		pm_html_text_cut(h, o->fact[i].value, 100);
		if (o->fact[i].hint) {
			pm_html_markup(h, "<small>");
			pm_html_text_cut(h, o->fact[i].hint, 120);
			pm_html_markup(h, "</small>");
		}
		pm_html_markup(h, "</dd></div>\n");
	}
	pm_html_markup(h, "</dl>\n");
}

static void where_it_went(const struct pm_overview *o, struct pm_html *h)
{
	static const char *const title[PM_TOPS] = { "Functions", "Source lines", "Objects" },
				*const id[PM_TOPS] = { "functions", "lines", "objects" };
	bool any = false;
	char share[16];

	for (unsigned k = 0; k < PM_TOPS; k++)
		any |= o->ntop[k];
	if (!any) {
		pm_html_markup(h, "<section class=\"where\"><h3>Where it went</h3>\n<p "
			"class=\"dim\">Nothing was "
		       "counted by function here. The simulators cachegrind and core:byinsn do."
		       "</p></section>\n");
		return;
	}
	pm_html_markup(h, "<section class=\"where\"><h3>Where it went "
		       "<small>share of <span id=\"measure\">");
	pm_html_text(h, o->measure ? o->measure : "instructions");
	pm_html_markup(h, "</span></small></h3>\n<div class=\"tops\">\n");
	for (unsigned k = 0; k < PM_TOPS; k++) {
		if (!o->ntop[k])
			continue;
		pm_buf_printf(&h->b,
			      "<div data-top=\"%s\"><h4><a href=\"#%s\">%s</a></h4>\n"
			      "<ol class=\"top\">\n", id[k], id[k], title[k]);
		for (unsigned i = 0; i < o->ntop[k]; i++) {
			const struct pm_top *t = o->top[k] + i;

			pm_buf_printf(&h->b, "<li data-v=\"%.4g\"><span class=\"name\">",
				      t->percent);
			link_to(h, t->name, t->link, 200);
			if (t->place && *t->place) {
				pm_html_markup(h, " <small>");
				pm_html_text_cut(h, t->place, 80);
				pm_html_markup(h, "</small>");
			}
			pm_html_markup(h, "</span><span class=\"share\">");
			pm_html_text(h, pm_report_share(t->percent, share));
			pm_html_markup(h, "</span></li>\n");
		}
		pm_html_markup(h, "</ol></div>\n");
	}
	pm_html_markup(h, "</div></section>\n");
}

static void one_finding(struct pm_html *h, const struct pm_finding *f)
{
	pm_buf_printf(&h->b, "<li class=\"%s\" data-finding=\"%s\"><b>",
		      f->kind == PM_FIND_CAUTION ? "caution" : "note", f->id);
	pm_html_text(h, f->number ? f->number : "");
	pm_html_markup(h, "</b><div><p>");
	link_to(h, f->title, f->link, 300);
	pm_html_markup(h, "</p><p class=\"dim\">");
	pm_html_text_cut(h, f->text, 600);
	pm_html_markup(h, "</p></div></li>\n");
}

static void what_is_odd(const struct pm_overview *o, struct pm_html *h)
{
	pm_html_markup(h, "<section class=\"odd\"><h3>What is odd</h3>\n");
	if (!o->nfinding)
		pm_html_markup(h, "<p class=\"dim\">Nothing crosses a threshold.</p>\n");
	for (size_t i = 0; i < o->nfinding; i++) {
		if (i == FIRST_FINDINGS && o->nfinding > FIRST_FINDINGS + 1)
			pm_buf_printf(&h->b, "</ul><details class=\"more\"><summary>%zu more"
				      "</summary>\n<ul class=\"findings\">\n", o->nfinding - i);
		else if (!i)
			pm_html_markup(h, "<ul class=\"findings\">\n");
		one_finding(h, o->finding + i);
	}
	if (o->nfinding)
		pm_html_markup(h, o->nfinding > FIRST_FINDINGS + 1
			       ? "</ul></details>\n" : "</ul>\n");
	pm_html_markup(h, "</section>\n");
}

static void what_to_try(const struct pm_overview *o, struct pm_html *h)
{
	if (!o->ntry)
		return;
	pm_html_markup(h, "<section class=\"next\"><h3>What to try next</h3>\n"
		       "<dl class=\"try\">\n");
	for (size_t i = 0; i < o->ntry; i++) {
		pm_html_markup(h, "<div><dt>");
		pm_html_text(h, o->try[i].question);
		pm_html_markup(h, "</dt><dd><code>");
		pm_html_text_cut(h, o->try[i].command, 2000);
		pm_html_markup(h, "</code></dd></div>\n");
	}
	pm_html_markup(h, "</dl></section>\n");
}

void pm_overview_html(const struct pm_overview *o, struct pm_html *h)
{
	pm_html_view(h, "overview", "Overview", "");
	what_ran(o, h);
	pm_html_markup(h, "<div class=\"first\">\n");
	where_it_went(o, h);
	pm_html_markup(h, "<div>\n");
	what_is_odd(o, h);
	what_to_try(o, h);
	pm_html_markup(h, "</div>\n</div>\n");
}

void pm_overview_release(struct pm_overview *o)
{
	free(o->fact);
	free(o->finding);
	free(o->try);
	pm_arena_release(&o->mem);
	*o = (struct pm_overview){ 0 };
}
