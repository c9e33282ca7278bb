/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "report/out.h"
#include "report/profile_report.h"
#include "report/width.h"

#define MAX_SHOWN	16		/* instructions of a hot block */
#define MAX_PROCESSES	40

struct text_report {
	struct pm_buf b;
	struct pm_profile *p;
	const struct pm_report_opts *o;
	bool colour;
	size_t width;
};

static void head(struct text_report *t, const char *s, const char *hint)
{
	pm_buf_printf(&t->b, "\n%s%s%s", t->colour ? "\033[1m" : "", s, t->colour ? "\033[0m" : "");
	if (hint && hint[0])
		pm_buf_printf(&t->b, "%s  (%s)%s", t->colour ? "\033[2m" : "", hint,
			      t->colour ? "\033[0m" : "");
	pm_buf_add(&t->b, "\n", 1);
}

__attribute__((format(printf, 4, 5)))
static void row(struct text_report *t, const char *what, uint64_t v, const char *fmt, ...)
{
	char n[32], tail[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(tail, sizeof tail, fmt, ap);
	va_end(ap);
	pm_buf_printf(&t->b, "  %-24s %20s%s%s\n", what, pm_report_number(v, n),
		      tail[0] ? "  " : "", tail);
}

static void exit_of(struct pm_buf *b, int status, int sig)
{
	if (sig >= 0) {
		const char *s = sigabbrev_np(sig);

		if (s)
			pm_buf_printf(b, "SIG%s", s);
		else
			pm_buf_printf(b, "signal %d", sig);
	} else if (status >= 0) {
		pm_buf_printf(b, "status %d", status);
	} else {
		pm_buf_printf(b, "not seen");
	}
}

static void totals(struct text_report *t)
{
	const struct pm_profile *p = t->p;
	const struct pm_counts *c = p->counts;
	const struct pm_profile_sum *s = &p->sum;
	double n = s->insns ? (double)s->insns : 1;

	row(t, "instructions", s->insns, "%s", "");
	row(t, "blocks executed", s->blocks, "%.1f instructions each",
	    s->blocks ? (double)(s->insns - s->unknown) / (double)s->blocks : 0);
	row(t, "blocks, distinct", s->blocks_distinct, "%s", "");
	row(t, "... that cover 90 %", s->locality_90, "%.1f %% of them",
	    pm_percent(s->locality_90, s->blocks_distinct));
	row(t, "reads", s->reads, "%.3f per instruction", (double)s->reads / n);
	row(t, "writes", s->writes, "%.3f per instruction", (double)s->writes / n);
	if (s->reps)
		row(t, "rep instructions", s->reps, "iterations are not known");
	if (s->unknown)
		row(t, "unknown instructions", s->unknown, "executed, not decoded");
	pm_buf_printf(&t->b, "  %-24s ", "exit");
	exit_of(&t->b, c->status, c->signal);
	pm_buf_printf(&t->b, "\n  %-24s %.2f s wall, %.2f s user, %.2f s system\n", "time",
		      c->wall_s, c->user_s, c->sys_s);
	if (c->own_s > 0)
		pm_buf_printf(&t->b, "  %-24s %.2f s\n", "pugmark's CPU time", c->own_s);
	pm_buf_printf(&t->b, "  %-24s %llu cached, %llu ahead, %llu on demand\n",
		      "blocks translated", (unsigned long long)c->cached,
		      (unsigned long long)c->ahead, (unsigned long long)c->demand);
}

/* Table 2 of the IDtrace report: two columns, the second going on where the first ends. */
static void mix(struct text_report *t, const char *title, const char *hint,
		const struct pm_profile_mix *v, size_t nv)
{
	size_t max = t->o->top_mix ? t->o->top_mix : 14, n = nv < max ? nv : max,
	       rows = (n + 1) / 2;
	uint64_t total = t->p->sum.insns, rest = 0;
	char num[32], others[32], share[16];

	for (size_t i = n; i < nv; i++)
		rest += v[i].count;
	head(t, title, hint);
	for (size_t i = 0; i < rows; i++) {
		for (size_t k = i; k < n; k += rows)
			pm_buf_printf(&t->b, "%s%-13.13s %7s %15s", k == i ? "  " : "    ",
				      v[k].name, pm_report_share(pm_percent(v[k].count, total),
					share),
				      pm_report_number(v[k].count, num));
		pm_buf_add(&t->b, "\n", 1);
	}
	if (nv > n) {
		snprintf(others, sizeof others, "%zu others", nv - n);
		pm_buf_printf(&t->b, "  %-13s %7s %15s\n", others,
			      pm_report_share(pm_percent(rest, total), share),
			      pm_report_number(rest, num));
	}
}

static const char *base_of(const char *path)
{
	const char *s = strrchr(path, '/');

	return s && s[1] ? s + 1 : path;
}

static void objects(struct text_report *t)
{
	const struct pm_profile *p = t->p;
	uint32_t *order;
	size_t n = pm_profile_top_objects(p, &order);
	char num[32];

	head(t, "Objects", "most instructions first");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_object *o = &p->object[order[i]];

		pm_buf_printf(&t->b, "  %17s %5.1f %%  ", pm_report_number(o->insns, num),
			      pm_percent(o->insns, p->sum.insns));
		pm_report_text_of(&t->b, o->path, t->width - 29, 1);
		pm_buf_add(&t->b, "\n", 1);
	}
	free(order);
}

/* @name, what is @behind it, and the object: in @room characters, or as few as there can be. */
static void name_in_object(struct text_report *t, const char *name, const char *behind,
			   const char *object, size_t room)
{
	struct pm_buf b = { 0 };
	size_t tail = 2 + pm_report_text_of(&b, object, room, 0);

	room = room > strlen(behind) + 4 ? room - strlen(behind) : 4;
	if (name[0] == '[' || tail > room / 2)
		tail = 0;
	pm_report_text_of(&t->b, name, room - tail, 0);
	pm_buf_add(&t->b, behind, strlen(behind));
	if (tail) {
		pm_buf_add(&t->b, "  ", 2);
		pm_buf_add(&t->b, b.p, b.n);
	}
	pm_buf_release(&b);
}

static void functions(struct text_report *t)
{
	struct pm_profile *p = t->p;
	uint32_t *order;
	size_t n = pm_profile_top_functions(p, t->o->top_functions ? t->o->top_functions : 20,
					    &order);
	char hint[96] = "", num[32];

	if (n < p->nfunction)
		snprintf(hint, sizeof hint, "%zu of %zu, most instructions first", n, p->nfunction);
	head(t, "Functions", hint[0] ? hint : "most instructions first");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_function *f = &p->function[order[i]];

		pm_buf_printf(&t->b, "  %17s %5.1f %%  ", pm_report_number(f->insns, num),
			      pm_percent(f->insns, p->sum.insns));
		name_in_object(t, pm_profile_name(p, order[i]), "",
			       base_of(p->object[f->object].path), t->width - 29);
		pm_buf_add(&t->b, "\n", 1);
	}
	free(order);
}

#define SUM_ROW	60			/* characters */

static void sum_row(struct text_report *t, const char *id, const struct pm_profile_sum *s)
{
	char a[32], b[32], c[32];

	pm_buf_printf(&t->b, "  %-12s %17s %15s %9s  ", id, pm_report_number(s->insns, a),
		      pm_report_number(s->blocks, b), pm_report_number(s->blocks_distinct, c));
}

static void processes(struct text_report *t)
{
	const struct pm_profile *p = t->p;
	size_t shown = p->nprocess < MAX_PROCESSES ? p->nprocess : MAX_PROCESSES;
	char hint[64] = "", id[32];
	struct pm_buf end = { 0 };

	if (p->nprocess < 2 && (!p->nprocess || p->process[0].nthread < 2) && !p->incomplete)
		return;
	if (shown < p->nprocess)
		snprintf(hint, sizeof hint, "the first %zu of %zu", shown, p->nprocess);
	head(t, "Processes and threads", hint);
	pm_buf_printf(&t->b, "  %-12s %17s %15s %9s  %s\n", "pid", "instructions", "blocks",
		      "distinct", "program");
	for (size_t i = 0; i < shown; i++) {
		const struct pm_profile_process *pr = &p->process[i];

		snprintf(id, sizeof id, "%u", pr->from->pid);
		sum_row(t, id, &pr->sum);
		end.n = 0;
		if (pr->from->execed) {
			pm_buf_printf(&end, ", exec");
		} else if (pr->from->signal >= 0 || pr->from->status > 0) {
			pm_buf_printf(&end, ", ");
			exit_of(&end, pr->from->status, pr->from->signal);
		}
		pm_report_text_of(&t->b, base_of(pr->from->program),
				  t->width > SUM_ROW + end.n + 4 ? t->width - SUM_ROW - end.n
								 : 4, 0);
		pm_buf_add(&t->b, end.p, end.n);
		pm_buf_add(&t->b, "\n", 1);
		if (pr->from->incomplete)
			pm_buf_printf(&t->b, "  %-12s incomplete: %s\n", "",
				      pm_counts_cut(t->p->counts, pr->from) ?
				      "the replay ended" :
				      "killed; its last block may be missing");
		for (size_t k = 0; k < pr->nthread && pr->nthread > 1; k++) {
			if (k == MAX_PROCESSES) {
				pm_buf_printf(&t->b, "    ... and %zu more threads\n",
					      pr->nthread - k);
				break;
			}
			snprintf(id, sizeof id, "  tid %u", pr->thread[k].tid);
			sum_row(t, id, &pr->thread[k].sum);
			while (t->b.n && t->b.p[t->b.n - 1] == ' ')
				t->b.n--;
			pm_buf_add(&t->b, "\n", 1);
		}
	}
	pm_buf_release(&end);
}

static void blocks(struct text_report *t)
{
	struct pm_profile *p = t->p;
	uint32_t *order;
	size_t n = pm_profile_top_blocks(p, t->o->top_blocks ? t->o->top_blocks : 5, &order);
	char num[32], line[256], at_offset[32];

	head(t, "Hottest blocks", "most instructions first; addresses as in the file");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_block b = pm_profile_block(p, order[i]);
		const uint32_t function = pm_profile_function_of(p, order[i], 0);
		const struct pm_profile_function *f = &p->function[function];
		const char *file, *last = NULL;
		unsigned no, last_no = 0;
		size_t from;

		if (i)
			pm_buf_add(&t->b, "\n", 1);
		from = t->b.n;
		pm_buf_printf(&t->b, "%5.1f %%  %s x %u  ", pm_percent(b.insns, p->sum.insns),
			      pm_report_number(b.entries, num), b.n);
		at_offset[0] = 0;
		if (f->lo && b.addr > f->lo)
			snprintf(at_offset, sizeof at_offset, "+0x%llx",
				 (unsigned long long)(b.addr - f->lo));
		name_in_object(t, pm_profile_name(p, function), at_offset,
			       base_of(p->object[b.object].path), t->width - (t->b.n - from));
		pm_buf_add(&t->b, "\n", 1);
		for (uint32_t k = 0, at = 0; k < b.n && at < b.size; k++) {
			if (k == MAX_SHOWN && b.n > MAX_SHOWN + 1) {
				pm_buf_printf(&t->b, "    ... and %u more\n", b.n - k);
				break;
			}
			pm_buf_printf(&t->b, "    %8llx  ", (unsigned long long)(b.addr + at));
			if (!pm_profile_line(p, b.object, b.addr + at, t->o->all_lines, &file,
					     &no))
				file = NULL;
			at += pm_profile_disasm(p, &b, at, t->o->syntax, line, sizeof line);
			if (file && (!last || no != last_no || strcmp(file, last))) {
				from = t->b.n;
				pm_report_text_of(&t->b, line, t->width - 38, 0);
				while (t->b.n - from < 43)
					pm_buf_add(&t->b, " ", 1);
				pm_buf_add(&t->b, " ", t->b.n > from + 43);
				pm_report_text_of(&t->b, base_of(file), t->width > 80 ?
					t->width - 64 : 16, 1);
				pm_buf_printf(&t->b, ":%u", no);
				last = file;
				last_no = no;
			} else {
				pm_report_text_of(&t->b, line, t->width - 14, 0);
			}
			pm_buf_add(&t->b, "\n", 1);
		}
	}
	free(order);
}

static void render(struct text_report *t)
{
	const struct pm_counts *c = t->p->counts;

	if (t->colour)
		pm_buf_printf(&t->b, "\033[1m");
	pm_buf_printf(&t->b, "pugmark: profile of ");
	for (size_t i = 0, room = t->width - 21; c->argv && c->argv[i] && room > 4; i++) {
		size_t from = t->b.n;

		if (i)
			pm_buf_add(&t->b, " ", 1);
		pm_report_text_of(&t->b, c->argv[i], room - 1, 0);
		room -= t->b.n - from < room ? t->b.n - from : room;
	}
	if (t->colour)
		pm_buf_printf(&t->b, "\033[0m");
	pm_buf_printf(&t->b, "\n");
	if (t->p->incomplete || c->cut)
		pm_buf_printf(&t->b, "%s  INCOMPLETE: %s%s\n", t->colour ? "\033[31m" : "",
			      c->cut ? c->cut : "a process was killed; what it had executed until "
			      "then is counted", t->colour ? "\033[0m" : "");
	totals(t);
	if (t->o->summary_only || !t->p->nblock)
		return;
	pm_profile_functions(t->p);
	mix(t, "Instruction mix by class", "most first; conditions left out: jcc, cmovcc, setcc",
	    t->p->class, t->p->nclass);
	mix(t, "Instruction mix by mnemonic", "most first", t->p->mnemonic, t->p->nmnemonic);
	objects(t);
	functions(t);
	processes(t);
	blocks(t);
}

static bool want_colour(const struct pm_report_opts *o, FILE *to)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (o->colour != PM_COLOUR_AUTO)
		return o->colour == PM_COLOUR_ALWAYS;
	return isatty(fileno(to)) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

enum pm_status pm_report_text(struct pm_profile *p, const struct pm_report_opts *o, FILE *to,
			      struct pm_err *err)
{
	struct text_report t = { .p = p, .o = o, .colour = want_colour(o, to),
		.width = pm_report_width(fileno(to)) };

	render(&t);
	if (fwrite(t.b.p, 1, t.b.n, to) != t.b.n || fflush(to))
		pm_fail_errno(err, "cannot write the report");
	pm_buf_release(&t.b);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status pm_report_text_file(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err)
{
	struct text_report t = { .p = p, .o = o, .colour = o->colour == PM_COLOUR_ALWAYS,
		.width = pm_report_width_of(path) };
	enum pm_status st;

	render(&t);
	st = pm_file_save(path, &t.b, err);
	pm_buf_release(&t.b);
	return st;
}
