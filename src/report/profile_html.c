/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile_costs.h"
#include "pugmark/pugmark.h"
#include "report/findings.h"
#include "report/html.h"
#include "report/listing_page.h"
#include "report/out.h"
#include "report/overview.h"
#include "report/profile_report.h"

#define MAX_ROWS	500		/* of a table: a browser on a phone has to hold it */
#define MAX_BLOCK	64		/* instructions of a block */

static void facts(struct pm_overview *o, const struct pm_profile *p)
{
	const struct pm_profile_sum *s = &p->sum;
	const struct pm_counts *c = p->counts;
	size_t threads = 0;
	char n[32];

	for (size_t i = 0; i < p->nprocess; i++)
		threads += p->process[i].nthread;
	pm_overview_when(o, "started", time(NULL) - (time_t)c->wall_s);
	pm_overview_fact(o, "time", pm_overview_text(o, "%.2f s", c->wall_s),
			 pm_overview_text(o, "%.2f s user, %.2f s system", c->user_s, c->sys_s));
	pm_overview_fact(o, "instructions", pm_report_number(s->insns, n), NULL);
	pm_overview_fact(o, "processes", pm_report_number(p->nprocess, n), NULL);
	pm_overview_fact(o, "threads", pm_report_number(threads, n), NULL);
	pm_overview_fact(o, "reads", pm_report_number(s->reads, n),
			 pm_overview_text(o, "%.2f per instruction",
					  s->insns ? (double)s->reads / (double)s->insns : 0));
	pm_overview_fact(o, "writes", pm_report_number(s->writes, n),
			 pm_overview_text(o, "%.2f per instruction",
					  s->insns ? (double)s->writes / (double)s->insns : 0));
	if (c->signal > 0)
		pm_overview_fact(o, "ended by", pm_overview_text(o, "signal %d", c->signal), NULL);
	else if (c->status >= 0)
		pm_overview_fact(o, "exit status", pm_overview_text(o, "%d", c->status), NULL);
}

static void mix_table(struct pm_html *h, const struct pm_profile *p, const char *title,
		      const char *hint, const char *columns, const struct pm_profile_mix *v,
		      size_t n)
{
	pm_html_section(h, title, hint);
	if (!n)
		return;
	pm_html_table_begin(h, title, columns, 2, PM_HTML_FALLING);
	for (size_t i = 0; i < n; i++) {
		pm_html_cell(h, v[i].name);
		pm_html_cell_share(h, pm_percent(v[i].count, p->sum.insns));
		pm_html_cell_u64(h, v[i].count);
	}
	pm_html_table_end(h, NULL);
}

static void mix(struct pm_html *h, const struct pm_profile *p)
{
	pm_html_view(h, "mix", "Instruction mix", "Instructions");
	mix_table(h, p, "By class", "jcc, cmovcc and setcc are one class each, whatever the "
		"condition",
		  "class|#share|#instructions", p->class, p->nclass);
	mix_table(h, p, "By mnemonic", NULL, "mnemonic|#share|#instructions", p->mnemonic,
		  p->nmnemonic);
}

/* ---- direct calls --------------------------------------------------------------------------- */

struct call_count { uint32_t from, object; uint64_t to, n; };

static int by_calls(const void *a, const void *b)
{
	const struct call_count *x = a, *y = b;

	return x->n != y->n	  ? (x->n < y->n ? 1 : -1)
	       : x->from != y->from ? (x->from < y->from ? -1 : 1)
	       : x->to < y->to	  ? -1
				  : x->to > y->to;
}

static size_t count_calls(struct pm_profile *p, struct call_count **call)
{
	struct pm_profile_insn *v = NULL;
	struct call_count *c = NULL;
	struct pm_map at = { 0 };
	size_t n = 0, cap = 0, room = 0;

	for (size_t i = 0; i < p->nblock; i++) {
		const struct pm_profile_block b = pm_profile_block(p, i);

		if (b.n > room) {
			room = b.n;
			v = pm_realloc(v, room * sizeof *v);
		}
		pm_profile_insns(p, (uint32_t)i, v);
		for (uint32_t k = 0; k < b.n; k++) {
			const uint32_t from = pm_profile_function_of(p, (uint32_t)i, k);
			uint64_t *where;
			bool fresh;

			if (v[k].flow != PM_CLASS_CALL || !v[k].target || !v[k].count)
				continue;
			where = pm_map_put(&at, (uint64_t)from << 44 ^ v[k].target, &fresh);
			if (fresh) {
				*where = n;
				pm_grow(c, n, cap);
				c[n++] = (struct call_count){ from, b.object, v[k].target, 0 };
			}
			c[*where].n += v[k].count;
		}
	}
	pm_map_release(&at);
	free(v);
	if (n)
		qsort(c, n, sizeof *c, by_calls);
	*call = c;
	return n;
}

static void calls(struct pm_html *h, struct pm_profile *p)
{
	struct call_count *c;
	const size_t n = count_calls(p, &c);
	char hex[32], total[64];

	pm_html_view(h, "calls", "Direct calls", "Control flow");
	if (n) {
		pm_html_note(h, "Exact numbers of calls from each function to each it calls "
			"directly. A "
				"profile has no calling contexts, so there is no flame graph of "
				"it; the "
				"first screen names the command that draws one.");
		pm_html_table_begin(h, "direct calls", "caller|callee|#calls", 2, PM_HTML_FALLING);
	}
	for (size_t i = 0; i < n && i < MAX_ROWS; i++) {
		const char *to = pm_profile_function_at(p, c[i].object, c[i].to);

		pm_html_cell(h, pm_profile_name(p, c[i].from));
		snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)c[i].to);
		pm_html_cell(h, to ? to : hex);
		pm_html_cell_u64(h, c[i].n);
	}
	total[0] = 0;
	if (n > MAX_ROWS)
		snprintf(total, sizeof total, "the first %d of %zu", MAX_ROWS, n);
	if (n)
		pm_html_table_end(h, total);
	free(c);
}

static void locality(struct pm_html *h, const struct pm_profile *p, const uint32_t *order, size_t n)
{
	double x[256], y[256];
	size_t points = 0, next = 1;
	uint64_t sum = 0;
	char hint[96];

	snprintf(hint, sizeof hint, "%llu of %llu blocks cover 90 %% of the instructions",
		 (unsigned long long)p->sum.locality_90,
		 (unsigned long long)p->sum.blocks_distinct);
	pm_html_view(h, "locality", "Code locality", "Control flow");
	if (!n)
		return;
	pm_html_note(h, hint);
	for (size_t i = 0; i < n; i++) {
		sum += pm_profile_block(p, order[i]).insns;
		if ((i + 1 < next && i + 1 < n) || points == NR(x))
			continue;
		x[points] = (double)(i + 1);
		y[points++] = pm_percent(sum, p->sum.insns);
		next = next + 1 + next / 12;
	}
	pm_html_line(h, "Instructions executed in the hottest blocks", "blocks, hottest first",
		     "% of all instructions", x, y, points,
		     PM_HTML_LOG | PM_HTML_PERCENT);
}

static void block(struct pm_html *h, struct pm_profile *p, const struct pm_report_opts *o,
		  const struct pm_profile_block *b, const char *function, bool open)
{
	char num[32], line[256], share[16];

	pm_buf_printf(&h->b, "<details%s><summary><b>", open ? " open" : "");
	pm_html_text(h, pm_report_share(pm_percent(b->insns, p->sum.insns), share));
	pm_buf_printf(&h->b, "</b> ");
	pm_html_text_cut(h, function, 200);
	pm_buf_printf(&h->b, " <span class=\"dim\">%s &times; %u instructions, ",
		      pm_report_number(b->entries, num), b->n);
	pm_html_text_cut(h, p->object[b->object].path, 200);
	pm_buf_printf(&h->b, "</span></summary>\n<pre tabindex=\"0\">");
	for (uint32_t at = 0, k = 0; at < b->size && k < MAX_BLOCK; k++) {
		const char *file;
		unsigned no;

		pm_buf_printf(&h->b, "%12llx  ", (unsigned long long)(b->addr + at));
		if (!pm_profile_line(p, b->object, b->addr + at, true, &file, &no))
			file = NULL;
		at += pm_profile_disasm(p, b, at, o->syntax, line, sizeof line);
		pm_html_text(h, line);
		if (file) {
			pm_buf_printf(&h->b, "   <span class=\"dim\">");
			pm_html_text_cut(h, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, 80);
			pm_buf_printf(&h->b, ":%u</span>", no);
		}
		pm_buf_add(&h->b, "\n", 1);
	}
	pm_buf_printf(&h->b, "</pre></details>\n");
}

static void blocks(struct pm_html *h, struct pm_profile *p, const struct pm_report_opts *o,
		   const uint32_t *order, size_t n)
{
	pm_html_view(h, "blocks", "Hottest blocks", "Code");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_block b = pm_profile_block(p, order[i]);

		if (!i)
			pm_html_note(h, "Sorted by instructions, most first. Addresses are "
				"those in the file.");
		block(h, p, o, &b, pm_profile_name(p, pm_profile_function_of(p, order[i], 0)), !i);
	}
}

static void sum_cells(struct pm_html *h, const struct pm_profile_sum *s)
{
	pm_html_cell_u64(h, s->insns);
	pm_html_cell_u64(h, s->blocks);
	pm_html_cell_u64(h, s->blocks_distinct);
	pm_html_cell_u64(h, s->reads);
	pm_html_cell_u64(h, s->writes);
}

static void processes(struct pm_html *h, const struct pm_profile *p)
{
	size_t rows = 0;
	char id[32];

	pm_html_view(h, "processes", "Processes and threads", "Run");
	pm_html_table_begin(h, "processes and threads",
			    "pid|thread|program|end|#instructions|#blocks|#distinct|#reads|#writes",
			    -1, PM_HTML_FALLING);
	for (size_t i = 0; i < p->nprocess; i++) {
		const struct pm_profile_process *pr = &p->process[i];

		for (size_t t = 0; t <= (pr->nthread > 1 ? pr->nthread : 0) && rows < MAX_ROWS;
		     t++, rows++) {
			snprintf(id, sizeof id, "%u", pr->from->pid);
			pm_html_cell(h, id);
			snprintf(id, sizeof id, "%u", t ? pr->thread[t - 1].tid : 0);
			pm_html_cell(h, t ? id : "all");
			pm_html_cell(h, pr->from->program ? pr->from->program : "");
			if (pr->from->signal >= 0)
				snprintf(id, sizeof id, "signal %d", pr->from->signal);
			else if (pr->from->status >= 0)
				snprintf(id, sizeof id, "status %d", pr->from->status);
			else
				snprintf(id, sizeof id, "ended");
			pm_html_cell(h, pm_counts_cut(p->counts, pr->from) ?
				     "incomplete: the replay ended" :
				     pr->from->incomplete ? "incomplete: killed" :
				     pr->from->execed ? "exec" : id);
			sum_cells(h, t ? &pr->thread[t - 1].sum : &pr->sum);
		}
	}
	pm_html_table_end(h, rows == MAX_ROWS ? "only the first 500 rows are shown" : NULL);
}

static void files(struct pm_html *h, const struct pm_profile *p)
{
	uint32_t *order;
	const size_t n = pm_profile_top_objects(p, &order);

	pm_html_view(h, "files", "Files and build ids", "Run");
	if (n)
		pm_html_table_begin(h, "files", "file|#instructions|build id", 1, PM_HTML_FALLING);
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_object *ob = &p->object[order[i]];

		pm_html_cell(h, ob->path);
		pm_html_cell_u64(h, ob->insns);
		pm_html_cell(h, ob->build_id ? ob->build_id : "");
	}
	if (n)
		pm_html_table_end(h, NULL);
	free(order);
}

static void totals(struct pm_html *h, const struct pm_profile *p)
{
	const struct pm_profile_sum *s = &p->sum;
	const struct pm_counts *c = p->counts;
	char n[32], hint[96];

	pm_html_view(h, "totals", "Totals", "Run");
	pm_html_cards_begin(h);
	pm_html_card(h, "instructions", pm_report_number(s->insns, n), NULL);
	snprintf(hint, sizeof hint, "%.1f instructions each",
		 s->blocks ? (double)(s->insns - s->unknown) / (double)s->blocks : 0);
	pm_html_card(h, "blocks executed", pm_report_number(s->blocks, n), hint);
	pm_html_card(h, "distinct blocks", pm_report_number(s->blocks_distinct, n), NULL);
	pm_html_card(h, "blocks that cover 90 %", pm_report_number(s->locality_90, n), NULL);
	pm_html_card(h, "reads", pm_report_number(s->reads, n), NULL);
	pm_html_card(h, "writes", pm_report_number(s->writes, n), NULL);
	pm_html_card(h, "rep instructions", pm_report_number(s->reps, n),
		     "each counted once, as its references");
	pm_html_card(h, "unknown instructions", pm_report_number(s->unknown, n),
		     "executed, not decoded");
	snprintf(hint, sizeof hint, "%llu cached, %llu ahead, %llu on demand",
		 (unsigned long long)c->cached, (unsigned long long)c->ahead,
		 (unsigned long long)c->demand);
	pm_html_card(h, "blocks translated",
		     pm_report_number(c->cached + c->ahead + c->demand, n), hint);
	snprintf(n, sizeof n, "%.2f s", c->own_s);
	pm_html_card(h, "pugmark's CPU time", n, NULL);
	pm_html_cards_end(h);
}

/* The first screen, and the listing that the code is shown from. */
static void first_screen(struct pm_overview *o, struct pm_profile *p, struct pm_listing_page *code)
{
	struct pm_result *none = pm_result_new();

	o->what = "Program";
	o->command = pm_overview_command(o, p->counts->argv);
	facts(o, p);
	pm_listing_page_overview(code, o);
	pm_findings_profile(o, p);
	pm_overview_asks(o, pm_result_root(none), o->command, NULL);
	pm_result_free(none);
}

enum pm_status pm_report_html(struct pm_profile *p, const struct pm_report_opts *o,
			      const char *path, struct pm_err *err)
{
	const struct pm_listing_opts lo = { .intel = o->syntax == PM_SYNTAX_INTEL,
		.events = "Ir,Dr,Dw" };
	const unsigned top = o->top_blocks ? o->top_blocks : 20;
	struct pm_overview first = { 0 };
	struct pm_code_book book = { 0 };
	struct pm_costs costs = { 0 };
	struct pm_listing_page *code;
	struct pm_listing *l;
	struct pm_html h;
	enum pm_status st;
	uint32_t *order;
	size_t n;

	pm_profile_functions(p);
	pm_profile_costs(p, &costs, &book);
	l = pm_listing_new(&costs, &book.names, &book);
	code = pm_listing_page_new(l, &lo, err);
	first_screen(&first, p, code);
	pm_html_begin(&h, first.command, first.command);
	pm_overview_html(&first, &h);
	n = pm_profile_top_blocks(p, 0, &order);
	pm_listing_page_html(code, &h);
	blocks(&h, p, o, order, n < top ? n : top);
	mix(&h, p);
	calls(&h, p);
	locality(&h, p, order, n);
	processes(&h, p);
	files(&h, p);
	totals(&h, p);
	free(order);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	pm_overview_release(&first);
	pm_listing_page_free(code);
	pm_listing_free(l);
	pm_costs_release(&costs);
	pm_code_book_release(&book);
	return st;
}
