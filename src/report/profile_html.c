/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/out.h"
#include "report/profile_report.h"

#define MAX_ROWS	500		/* of a table: a browser on a phone has to hold it */

static void cards(struct pm_html *h, const struct pm_profile *p)
{
	const struct pm_profile_sum *s = &p->sum;
	const struct pm_counts *c = p->counts;
	char n[32], hint[96];

	pm_html_cards_begin(h);
	pm_html_card(h, "instructions", pm_report_number(s->insns, n), NULL);
	snprintf(hint, sizeof hint, "%.1f instructions each",
		 s->blocks ? (double)(s->insns - s->unknown) / (double)s->blocks : 0);
	pm_html_card(h, "blocks executed", pm_report_number(s->blocks, n), hint);
	pm_html_card(h, "distinct blocks", pm_report_number(s->blocks_distinct, n), NULL);
	snprintf(hint, sizeof hint, "%.1f %% of the distinct ones",
		 pm_percent(s->locality_90, s->blocks_distinct));
	pm_html_card(h, "blocks that cover 90 %", pm_report_number(s->locality_90, n), hint);
	snprintf(hint, sizeof hint, "%.3f per instruction", s->insns ?
		 (double)s->reads / (double)s->insns : 0);
	pm_html_card(h, "reads", pm_report_number(s->reads, n), hint);
	snprintf(hint, sizeof hint, "%.3f per instruction", s->insns ?
		 (double)s->writes / (double)s->insns : 0);
	pm_html_card(h, "writes", pm_report_number(s->writes, n), hint);
	snprintf(hint, sizeof hint, "%.2f s user, %.2f s system", c->user_s, c->sys_s);
	snprintf(n, sizeof n, "%.2f s", c->wall_s);
	pm_html_card(h, "time", n, hint);
	if (s->reps)
		pm_html_card(h, "rep instructions", pm_report_number(s->reps, n),
			     "each counted once, as its references");
	if (s->unknown)
		pm_html_card(h, "unknown instructions", pm_report_number(s->unknown, n),
			     "executed, not decoded");
	pm_html_cards_end(h);
}

static void functions(struct pm_html *h, struct pm_profile *p)
{
	struct pm_html_bar bar[15];
	char hint[64] = "", address[32];
	uint32_t *order;
	size_t n = pm_profile_top_functions(p, MAX_ROWS, &order), bars = n < NR(bar) ? n : NR(bar);

	if (n < p->nfunction)
		snprintf(hint, sizeof hint, "the first %zu of %zu", n, p->nfunction);
	pm_html_section(h, "Functions", hint[0] ? hint : NULL);
	for (size_t i = 0; i < bars; i++)
		bar[i] = (struct pm_html_bar){ pm_profile_name(p, order[i]),
					       pm_percent(p->function[order[i]].insns,
					       	p->sum.insns) };
	pm_html_bars(h, "The functions with the most instructions", "% of all instructions", bar,
		     bars);
	pm_html_table_begin(h, "#instructions|#share|function|object|address", true);
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_function *f = &p->function[order[i]];

		pm_html_cell_u64(h, f->insns);
		pm_html_cell_percent(h, pm_percent(f->insns, p->sum.insns));
		pm_html_cell(h, pm_profile_name(p, order[i]));
		pm_html_cell(h, p->object[f->object].path);
		snprintf(address, sizeof address, "0x%llx", (unsigned long long)f->lo);
		pm_html_cell(h, f->lo ? address : "");
	}
	pm_html_table_end(h);
	free(order);
}

static void mix(struct pm_html *h, const struct pm_profile *p)
{
	struct pm_html_bar bar[14];
	size_t n = p->nclass < NR(bar) ? p->nclass : NR(bar);

	pm_html_section(h, "Instruction mix by class",
			"conditions are one class: jcc, cmovcc, setcc");
	for (size_t i = 0; i < n; i++)
		bar[i] = (struct pm_html_bar){ p->class[i].name,
					       pm_percent(p->class[i].count, p->sum.insns) };
	pm_html_bars(h, "Classes of instructions", "% of all instructions", bar, n);
	pm_html_table_begin(h, "class|#instructions|#share", false);
	for (size_t i = 0; i < p->nclass; i++) {
		pm_html_cell(h, p->class[i].name);
		pm_html_cell_u64(h, p->class[i].count);
		pm_html_cell_percent(h, pm_percent(p->class[i].count, p->sum.insns));
	}
	pm_html_table_end(h);
	pm_html_section(h, "Instruction mix by mnemonic", NULL);
	pm_html_table_begin(h, "mnemonic|#instructions|#share", true);
	for (size_t i = 0; i < p->nmnemonic; i++) {
		pm_html_cell(h, p->mnemonic[i].name);
		pm_html_cell_u64(h, p->mnemonic[i].count);
		pm_html_cell_percent(h, pm_percent(p->mnemonic[i].count, p->sum.insns));
	}
	pm_html_table_end(h);
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
	pm_html_section(h, "Code locality", hint);
	for (size_t i = 0; i < n; i++) {
		sum += pm_profile_block(p, order[i]).insns;
		if ((i + 1 < next && i + 1 < n) || points == NR(x))
			continue;
		x[points] = (double)(i + 1);
		y[points++] = pm_percent(sum, p->sum.insns);
		next = next + 1 + next / 12;
	}
	pm_html_line(h, "Instructions executed in the hottest blocks", "blocks, hottest first",
		     "% of all instructions", x, y, points, PM_HTML_LOG);
}

static void blocks(struct pm_html *h, struct pm_profile *p, const struct pm_report_opts *o,
		   const uint32_t *order, size_t n)
{
	char num[32], line[256], where[64];

	pm_html_section(h, "Hottest blocks", "addresses as in the file");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_block b = pm_profile_block(p, order[i]);

		pm_buf_printf(&h->b,
			      "<details%s><summary>%.2f&nbsp;%% &middot; %s &times; %u &middot; ",
			      i ? "" : " open", pm_percent(b.insns, p->sum.insns),
			      pm_report_number(b.entries, num), b.n);
		pm_report_html_text(&h->b,
				    pm_profile_name(p, pm_profile_function_of(p, order[i], 0)));
		pm_buf_printf(&h->b, " <span class=\"dim\">");
		pm_report_html_text(&h->b, p->object[b.object].path);
		pm_buf_printf(&h->b, "</span></summary>\n<pre>");
		for (uint32_t at = 0; at < b.size; ) {
			const char *file;
			unsigned no;

			snprintf(where, sizeof where, "%12llx  ",
				 (unsigned long long)(b.addr + at));
			pm_report_html_text(&h->b, where);
			if (!pm_profile_line(p, b.object, b.addr + at, true, &file, &no))
				file = NULL;
			at += pm_profile_disasm(p, &b, at, o->syntax, line, sizeof line);
			pm_report_html_text(&h->b, line);
			if (file) {
				pm_buf_printf(&h->b, "   <span class=\"dim\">");
				pm_report_html_text(&h->b, file);
				pm_buf_printf(&h->b, ":%u</span>", no);
			}
			pm_buf_add(&h->b, "\n", 1);
		}
		pm_buf_printf(&h->b, "</pre></details>\n");
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

	pm_html_section(h, "Processes and threads", NULL);
	pm_html_table_begin(h,
			    "pid|thread|program|end|#instructions|#blocks|#distinct|#reads|#writes",
			    false);
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
			else
				snprintf(id, sizeof id, "status %d", pr->from->status);
			pm_html_cell(h, pr->from->incomplete ? "incomplete: killed" :
				     pr->from->execed ? "exec" : id);
			sum_cells(h, t ? &pr->thread[t - 1].sum : &pr->sum);
		}
	}
	pm_html_table_end(h);
	if (rows == MAX_ROWS)
		pm_html_warning(h, "only the first 500 rows are shown");
}

enum pm_status pm_report_html(struct pm_profile *p, const struct pm_report_opts *o,
			      const char *path, struct pm_err *err)
{
	const struct pm_counts *c = p->counts;
	struct pm_buf command = { 0 };
	unsigned top = o->top_blocks ? o->top_blocks : 10;
	struct pm_html h;
	enum pm_status st;
	uint32_t *order;
	size_t n;

	pm_profile_functions(p);
	for (size_t i = 0; c->argv && c->argv[i]; i++)
		pm_buf_printf(&command, "%s%s", i ? " " : "", c->argv[i]);
	pm_buf_add(&command, "", 1);
	pm_html_begin(&h, "Profile", (const char *)command.p);
	if (p->incomplete)
		pm_html_warning(&h, "Incomplete: a process was killed; what it had executed until "
				    "then is "
				    "counted.");
	n = pm_profile_top_blocks(p, 0, &order);
	cards(&h, p);
	functions(&h, p);
	blocks(&h, p, o, order, n < top ? n : top);
	mix(&h, p);
	locality(&h, p, order, n);
	pm_html_section(&h, "Objects", NULL);
	pm_html_table_begin(&h, "#instructions|#share|object|build id", false);
	free(order);
	n = pm_profile_top_objects(p, &order);
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_object *ob = &p->object[order[i]];

		pm_html_cell_u64(&h, ob->insns);
		pm_html_cell_percent(&h, pm_percent(ob->insns, p->sum.insns));
		pm_html_cell(&h, ob->path);
		pm_html_cell(&h, ob->build_id ? ob->build_id : "");
	}
	pm_html_table_end(&h);
	processes(&h, p);
	free(order);
	pm_buf_release(&command);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	return st;
}
