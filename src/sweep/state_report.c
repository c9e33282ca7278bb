/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/elapsed.h"
#include "base/result.h"
#include "report/html.h"
#include "report/out.h"
#include "sweep/sweep_state.h"

static uint64_t missing(const struct sweep_state *s)
{
	return s->jobs - s->done - s->failed;
}

void sweep_state_result(const struct sweep_state *s, const struct sweep_dir *d,
			const struct sweep_plan *p, struct pm_result *r)
{
	pm_result_str(r, "folder", d->path);
	pm_result_u64(r, "jobs", s->jobs, "jobs");
	pm_result_u64(r, "done", s->done, "jobs");
	pm_result_u64(r, "failed", s->failed, "jobs");
	pm_result_u64(r, "missing", missing(s), "jobs");
	pm_result_bool(r, "working", s->working);
	pm_result_f64(r, "rate", s->rate, "results/s");
	if (s->seconds > 0)
		pm_result_f64(r, "seconds_left", s->seconds, "s");
	else
		pm_result_null(r, "seconds_left");
	pm_result_u64(r, "gangs", s->gangs, "gangs");
	pm_result_f64(r, "gang_seconds", s->cpu, "s");
	pm_result_begin_list(r, "causes");
	for (size_t i = 0; i < s->ncause; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "cause", s->cause[i].text);
		pm_result_u64(r, "jobs", s->cause[i].n, "jobs");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "traces");
	for (size_t i = 0; i < s->npart; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "trace", p->trace[i].name);
		pm_result_u64(r, "jobs", s->part[i].jobs, "jobs");
		pm_result_u64(r, "done", s->part[i].done, "jobs");
		pm_result_u64(r, "failed", s->part[i].failed, "jobs");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static void bar(struct pm_buf *to, const struct sweep_state *s)
{
	const unsigned width = 40;
	unsigned done = s->jobs ? (unsigned)(width * s->done / s->jobs) : 0;
	unsigned failed = s->jobs ? (unsigned)(width * (s->done + s->failed) / s->jobs) - done : 0;

	pm_buf_printf(to, "  [");
	for (unsigned i = 0; i < width; i++)
		pm_buf_printf(to, "%c", i < done ? '#' : i < done + failed ? 'x' : '.');
	pm_buf_printf(to, "]\n");
}

void sweep_state_text(const struct sweep_state *s, const struct sweep_dir *d,
		      const struct sweep_plan *p, size_t rows, struct pm_buf *to)
{
	char a[32], b[32], c[32], e[32], share[16];
	size_t shown = 0;

	pm_report_text_of(to, d->path, 60, 1);
	pm_buf_printf(to, ": %s jobs: %s done (%s), %s failed, %s missing%s\n",
		      pm_report_number(s->jobs, a), pm_report_number(s->done, b),
		      pm_report_share(pm_percent(s->done, s->jobs), share),
		      pm_report_number(s->failed, c), pm_report_number(missing(s), e),
		      s->working ? "; somebody is working" : "");
	bar(to, s);
	if (missing(s) && s->rate > 0)
		pm_buf_printf(to, "  %.1f results/s of late, %s to go\n", s->rate,
			      pm_time_text(s->seconds, a));
	if (s->gangs)
		pm_buf_printf(to, "  %s gangs have taken %s of processor time\n",
			      pm_report_number(s->gangs, a), pm_time_text(s->cpu, b));
	if (s->ncause)
		pm_buf_printf(to, "Failures by cause\n");
	for (size_t i = 0; i < s->ncause && i < rows; i++) {
		pm_buf_printf(to, "  %8s  ", pm_report_number(s->cause[i].n, a));
		pm_report_text_of(to, s->cause[i].text, 68, 0);
		pm_buf_printf(to, "\n");
	}
	for (size_t i = 0; i < s->npart; i++) {
		const struct sweep_part *t = s->part + i;

		if (t->done == t->jobs || shown++ >= rows)
			continue;
		if (shown == 1)
			pm_buf_printf(to, "Traces that are not done\n");
		pm_buf_printf(to, "  %8s of %8s  ", pm_report_number(t->done, a),
			      pm_report_number(t->jobs, b));
		pm_report_text_of(to, p->trace[i].name, 50, 0);
		if (t->failed)
			pm_buf_printf(to, ", %s failed", pm_report_number(t->failed, a));
		pm_buf_printf(to, "\n");
	}
	if (shown > rows)
		pm_buf_printf(to, "  and %zu more\n", shown - rows);
}

enum pm_status sweep_state_html(const struct sweep_state *s, const struct sweep_dir *d,
				const struct sweep_plan *p, const char *path, struct pm_err *err)
{
	char a[32];
	struct pm_html h;
	enum pm_status st;

	pm_html_begin(&h, "Sweep", d->path);
	pm_html_view(&h, "overview", "Overview", "Sweep");
	pm_html_cards_begin(&h);
	pm_html_card(&h, "Jobs", pm_report_number(s->jobs, a), NULL);
	pm_html_card(&h, "Done", pm_report_number(s->done, a), NULL);
	pm_html_card(&h, "Failed", pm_report_number(s->failed, a), NULL);
	pm_html_card(&h, "Missing", pm_report_number(missing(s), a),
		     s->working ? "somebody is working" : NULL);
	if (missing(s) && s->rate > 0)
		pm_html_card(&h, "To go", pm_time_text(s->seconds, a), "at the present rate");
	pm_html_cards_end(&h);
	if (s->ncause) {
		pm_html_section(&h, "Failures by cause", NULL);
		pm_html_table_begin(&h, "causes", "Cause|#Jobs", 1, PM_HTML_FALLING);
		for (size_t i = 0; i < s->ncause; i++) {
			pm_html_cell(&h, s->cause[i].text);
			pm_html_cell_u64(&h, s->cause[i].n);
		}
		pm_html_table_end(&h, NULL);
	}
	pm_html_section(&h, "Traces", NULL);
	pm_html_table_begin(&h, "traces", "Trace|#Jobs|#Done|#Failed|#Share done", -1,
			    PM_HTML_FALLING);
	for (size_t i = 0; i < s->npart; i++) {
		pm_html_cell(&h, p->trace[i].name);
		pm_html_cell_u64(&h, s->part[i].jobs);
		pm_html_cell_u64(&h, s->part[i].done);
		pm_html_cell_u64(&h, s->part[i].failed);
		pm_html_cell_share(&h, pm_percent(s->part[i].done, s->part[i].jobs));
	}
	pm_html_table_end(&h, NULL);
	st = pm_html_finish(&h, path, err);
	pm_html_release(&h);
	return st;
}
