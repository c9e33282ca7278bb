/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "analyse/thread_counts.h"
#include "report/html.h"
#include "report/overview.h"
#include "report/threads_html.h"

#define MAX_ROWS	500		/* of a table: a browser on a phone has to hold it */

static bool are_known(const struct pm_thread *v, size_t n)
{
	return n > 1 || (n && v->pid);
}

void pm_threads_overview(const struct pm_threads *t, struct pm_overview *o)
{
	size_t n;
	const struct pm_thread *v = pm_threads_of(t, &n);

	if (o->threads || !are_known(v, n))
		return;
	o->threads = n;
	if (v[n - 1].pid)
		o->processes = v[n - 1].process + 1;
}

/* How a child ended is known to its parent: in a live trace 0 may mean that nobody has asked. */
static void end_cell(struct pm_html *h, const struct pm_thread *v, bool execed)
{
	char text[32] = "";

	if (v->end == PM_THREAD_KILLED)
		snprintf(text, sizeof text, "signal %d", v->status);
	else if (v->end == PM_THREAD_EXITED && (v->status || !v->process))
		snprintf(text, sizeof text, "status %d", v->status);
	else if (v->end == PM_THREAD_EXITED)
		snprintf(text, sizeof text, "ended");
	pm_html_cell(h, execed ? "exec" : text);
}

static void row(struct pm_html *h, const struct pm_thread *v, const char *thread, bool execed,
		const struct pm_tally *sum)
{
	char id[32];

	snprintf(id, sizeof id, "%u", v->pid);
	pm_html_cell(h, v->pid ? id : "");
	pm_html_cell(h, thread);
	pm_html_cell(h, v->program ? v->program : "");
	end_cell(h, v, execed);
	pm_html_cell_u64(h, sum->insns);
	pm_html_cell_u64(h, sum->kind[PM_EV_READ] + sum->kind[PM_EV_MODIFY]);
	pm_html_cell_u64(h, sum->kind[PM_EV_WRITE] + sum->kind[PM_EV_MODIFY]);
}

static void thread_row(struct pm_html *h, const struct pm_thread *v)
{
	char name[128];

	snprintf(name, sizeof name, v->name ? "%u %s" : "%u", v->tid ? v->tid : v->stream, v->name);
	row(h, v, name, false, &v->tally);
}

void pm_threads_html(struct pm_html *h, const struct pm_threads *t)
{
	size_t n, rows = 0;
	const struct pm_thread *v = pm_threads_of(t, &n), *last = v + n, *next;

	if (!are_known(v, n))
		return;
	pm_html_view(h, "processes", "Processes and threads", "Run");
	pm_html_table_begin(h, "processes and threads",
			    "pid|thread|program|end|#instructions|#reads|#writes", -1,
			    PM_HTML_FALLING);
	for (; v < last && rows < MAX_ROWS; v = next) {
		struct pm_tally sum = { 0 };
		bool execed = false;

		for (next = v; next < last && next->process == v->process; next++) {
			sum.insns += next->tally.insns;
			for (unsigned k = 0; k < PM_EV_COUNT; k++)
				sum.kind[k] += next->tally.kind[k];
		}
		/* it is over only if another program has its number from then on */
		for (const struct pm_thread *x = next; v->pid && x < last; x++)
			execed |= x->pid == v->pid;
		if (v->pid && ++rows)
			row(h, v, "all", execed, &sum);
		for (const struct pm_thread *x = v; x < next && rows < MAX_ROWS; x++)
			if ((next - v > 1 || !v->pid) && ++rows)
				thread_row(h, x);
	}
	pm_html_table_end(h, rows == MAX_ROWS ? "only the first 500 rows are shown" : NULL);
}
