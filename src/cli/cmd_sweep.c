/* SPDX-License-Identifier: MIT */
/* cmd_sweep.c - pugmark sweep plan | run | status | collect */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/elapsed.h"
#include "base/result.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "report/out.h"
#include "sweep/plots.h"
#include "sweep/sweep_state.h"
#include "trace/sinks.h"

struct open_sweep {
	struct sweep_dir d;
	struct sweep_plan p;
	struct sweep_trace_ids ids;
	char *folder;			/* of a plan that was named instead; errors have it */
};

static void release(struct open_sweep *s)
{
	sweep_trace_ids_release(&s->ids);
	sweep_plan_release(&s->p);
	sweep_dir_close(&s->d);
	free(s->folder);
}

/* caches.plan: caches.sweep */
static char *default_folder(const char *plan)
{
	const size_t n = strlen(plan);
	struct pm_buf b = { 0 };

	pm_buf_printf(&b, "%.*s.sweep", (int)(n > 5 && !strcmp(plan + n - 5, ".plan") ? n - 5 : n),
		      plan);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

/* The folder @path, or that of the plan @path. */
static enum pm_status sweep_open(struct open_sweep *s, const char *path, struct pm_err *err)
{
	char *traces;
	struct stat is;
	enum pm_status st;

	*s = (struct open_sweep){ .d = { NULL, -1, -1, -1 } };
	if (!stat(path, &is) && S_ISREG(is.st_mode))
		path = s->folder = default_folder(path);
	st = sweep_dir_open(&s->d, path, &s->p, err);
	if (st)
		return st;
	traces = sweep_dir_file(&s->d, "traces");
	err->file = NULL;
	st = sweep_trace_ids_get(&s->ids, &s->p, traces, err);
	free(traces);
	return st;
}

/* ---- plan ----------------------------------------------------------------------------------- */

struct trying { struct progress progress; uint64_t all; };

static void tried(void *arg, uint64_t n)
{
	struct trying *t = arg;

	progress_count(&t->progress, n, (double)n / (double)t->all);
}

/* Each configuration once: a wrong one is said before anything is computed. */
static enum pm_status try_all(const struct sweep_plan *p, struct pm_err *err)
{
	struct trying t = { .all = p->nconfig };
	enum pm_status s;

	progress_begin_count(&t.progress, "configurations");
	s = sweep_plan_try(p, tried, &t, err);
	progress_end(&t.progress);
	return s;
}

/* A parameter whose simulator is commented out may stay; one that was forgotten makes a sweep of
 * less than was meant. */
static void tell_unused(const char *file, const struct sweep_plan *p)
{
	for (size_t i = 0; i < p->nlet; i++)
		if (!p->param[i].used)
			manners_note("%s:%u: no simulator uses $%s", file, p->param[i].line,
				     p->param[i].name);
}

/* From the plan in @file to the folder @dir, of which no more is asked. The folder comes last: what
 * is wrong with the plan or its traces leaves none behind, and one that is there as it is. */
static int make_plan(const char *file, const char *dir, struct open_sweep *s)
{
	const struct sweep_dir d = { .path = (char *)dir };
	char *traces = sweep_dir_file(&d, "traces");
	struct sweep_trace_ids ids = { 0 };
	struct pm_err err = { 0 };
	struct sweep_plan p;
	enum pm_status st = sweep_plan_read(&p, file, &err);
	int status;

	if (!st)
		st = try_all(&p, &err);
	err.file = st ? file : NULL;
	if (!st)
		st = sweep_trace_ids_get(&ids, &p, traces, &err);
	if (!st)
		st = sweep_dir_make(dir, &p, &err);
	if (!st) {
		sweep_trace_ids_keep(&ids, &p, traces);
		tell_unused(file, &p);
		err.file = NULL;
		st = sweep_open(s, dir, &err);
	}
	status = st ? traces_fail(&err) : 0;	/* names what is released now */
	sweep_trace_ids_release(&ids);
	sweep_plan_release(&p);
	free(traces);
	return status;
}

static const char *plural(uint64_t n, const char *what, char buf[static 64])
{
	char number[32];

	snprintf(buf, 64, "%s %s%s", pm_report_number(n, number), what, n == 1 ? "" : "s");
	return buf;
}

static int cmd_sweep_plan(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark sweep plan [options] PLAN [FOLDER]",
		"Reads the text file PLAN, tries each configuration in it, and makes FOLDER "
		"(default: PLAN's name with\n"
		".sweep in place of .plan). Nothing is simulated. Of a FOLDER that is there the "
		"plan is replaced;\n"
		"results stay.",
		"A plan:\n"
		"  trace gzip = traces/gzip.pug\n"
		"  traces = traces/c*.pug\n"
		"  region middle = 10m..20m\n"
		"  let size = 16k..64k*2\n"
		"  sim l2 = cache:l1d=$size,8way;l2=256k..4m*2,8|16way\n"
		"  sim bp = bpred:gshare=10..16\n"
		"See docs/sweep.md."
	};
	bool list = false;
	const struct pm_opt opts[] = {
		OPT_FLAG('l', "list", &list, "list the jobs: key, trace, region, configuration"),
		OPT_END
	};
	char a[64], b[64], c[64], e[64], key[SWEEP_KEY + 1];
	struct pm_buf spec = { 0 }, canonical = { 0 };
	struct open_sweep s = { .d = { NULL, -1, -1, -1 } };
	int n = pm_opt_parse(argc, argv, opts, &help, false), status;
	struct pm_err err = { 0 };
	char *dir;

	if (n < 1 || n > 2)
		pm_opt_usage(&help, n ? "only one PLAN and one FOLDER" : "missing PLAN");
	dir = n > 1 ? pm_strdup(argv[1]) : default_folder(argv[0]);
	status = make_plan(argv[0], dir, &s);
	for (uint64_t i = 0; !status && list && i < s.p.njob; i++) {
		struct sweep_job j = sweep_plan_job(&s.p, i);

		sweep_plan_spec(&s.p, j.config, &spec);
		if (sweep_key(s.ids.id + j.trace, s.p.region + j.region, (const char *)spec.p,
			      &canonical, key, &err) != PM_OK)
			status = traces_fail(&err);
		else
			printf("%s %s %s %s\n", key, s.p.trace[j.trace].name,
			       s.p.region[j.region].name, (const char *)spec.p);
	}
	if (!status && !list && !manners.quiet)
		printf("%s: %s = %s x %s x %s\n", dir, plural(s.p.njob, "job", a),
		       plural(s.p.ntrace, "trace", b), plural(s.p.nregion, "region", c),
		       plural(s.p.nconfig, "configuration", e));
	release(&s);
	pm_buf_release(&spec);
	pm_buf_release(&canonical);
	free(dir);
	return status;
}

/* ---- run ------------------------------------------------------------------------------------ */

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	stopped = sig;
}

struct show { bool on; double shown; };

static void tell(void *arg, const struct sweep_progress *p)
{
	struct show *s = arg;
	uint64_t seen = p->computed + p->failed + p->there;
	char left[32] = "", a[32], b[32];
	double rate = p->seconds > 0 ? (double)(p->computed + p->failed) / p->seconds : 0;

	if (!s->on || p->seconds < 1 || p->seconds - s->shown < 0.5)
		return;
	s->shown = p->seconds;
	fprintf(stderr, "\r\033[K%s of %s jobs, %llu failed, %u gangs run, %.1f/s",
		pm_report_number(seen < p->jobs ? seen : p->jobs, a),
		pm_report_number(p->jobs, b), (unsigned long long)p->failed, p->running, rate);
	if (rate > 0 && seen < p->jobs)
		fprintf(stderr, ", %s to go",
			pm_time_text((double)(p->jobs - seen) / rate, left));
	fflush(stderr);
}

static void note(void *arg, const char *text)
{
	const struct show *s = arg;

	if (s->on && s->shown > 0)
		fprintf(stderr, "\r\033[K");
	manners_note("%s", text);
}

/* What the sweep has come to, in a line; the status. */
static int end_of_run(struct open_sweep *s, const struct sweep_launch *l)
{
	const struct sweep_progress *p = &l->progress;
	char a[64], b[32], c[64], e[32], f[32], was_failed[64] = "";

	if (p->there_failed)
		snprintf(was_failed, sizeof was_failed, ", %s of them failed",
			 pm_report_number(p->there_failed, f));
	if (stopped)
		fprintf(stderr, "pugmark: stopped by signal %d; `pugmark sweep run %s` goes on\n",
			(int)stopped, s->d.path);
	else if (!manners.quiet && !l->only)
		printf("%s: %s computed, %s failed, %s there before%s, in %s\n", s->d.path,
		       plural(p->computed, "result", a), pm_report_number(p->failed, b),
		       plural(p->jobs - p->computed - p->failed, "result", c), was_failed,
		       pm_time_text(p->seconds, e));
	return stopped ? 128 + (int)stopped : p->failed || p->there_failed ? 3 : 0;
}

static const struct pm_opt_help run_help = {
	"pugmark sweep run [options] FOLDER|PLAN",
	"Computes what has no result yet, and nothing else. Of a PLAN the folder is made first, as "
	"`pugmark sweep\n"
	"plan` does. Any number of these may work in one folder at a time.",
	"  pugmark sweep run caches.plan\n"
	"  pugmark sweep run --launcher slurm --partition long --mem 4g caches.sweep\n"
	"  pugmark sweep run --retry caches.sweep      what failed, once more\n\n"
	"Exit status: 0 if all jobs have results; 3 if some of them are failures; 1 if it had to "
	"stop."
};

struct run_opts {
	const char *launcher, *stage, *batch;
	uint64_t workers, gang, mem, mem_most, throttle, seconds, cpus;
	bool retry, no_wait;
	struct sweep_slurm slurm;
};

static enum pm_status batch_of(const char *where, struct open_sweep *s, struct sweep_launch *l,
			       struct sweep_gang **gangs, struct pm_err *err)
{
	const char *colon = strrchr(where, ':');
	char *path = colon ? pm_strndup(where, (size_t)(colon - where)) : NULL;
	uint64_t line;
	enum pm_status st;

	if (!path || !pm_parse_u64(colon + 1, &line))
		pm_opt_usage(&run_help, "--batch expects FILE:LINE, not '%s'", where);
	st = sweep_batch_read(path, line, &s->p, gangs, &l->nonly, err);
	l->only = *gangs;
	l->skip_busy = true;
	if (st)
		err->file = NULL;
	free(path);
	return st;
}

static int run_sweep(struct open_sweep *s, struct run_opts *o)
{
	struct show show = { isatty(STDERR_FILENO) && !manners.quiet, 0 };
	struct sweep_launch l = {
		.d = &s->d, .p = &s->p, .ids = &s->ids, .workers = (unsigned)o->workers,
		.gang = (unsigned)o->gang, .mem = o->mem,
		.mem_most = o->mem_most, .retry = o->retry,
		.stage = o->stage, .stop = &stopped, .tell = tell, .note = note, .arg = &show,
	};
	struct sigaction sa = { .sa_handler = stop };
	struct sweep_gang *gangs = NULL;
	struct pm_err err = { 0 };
	enum pm_status st = o->batch ? batch_of(o->batch, s, &l, &gangs, &err) : PM_OK;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (!st)
		st = sweep_dir_work(&s->d, &err);
	if (!st && o->launcher && strcmp(o->launcher, "local"))
		st = sweep_run_slurm(&l, &o->slurm, &err);
	else if (!st)
		st = sweep_run_local(&l, &err);
	if (show.on && show.shown > 0)
		fprintf(stderr, "\r\033[K");
	free(gangs);
	if (st)
		return traces_fail(&err);
	if (o->slurm.print || o->slurm.no_wait)
		return 0;
	return end_of_run(s, &l);
}

static int cmd_sweep_run(int argc, char **argv)
{
	struct run_opts o = { .seconds = 600, .cpus = 1 };
	const struct pm_opt opts[] = {
		OPT_RANGE('j', "jobs", &o.workers, "N", 1, 4096,
			  "gangs at a time (default: processors)"),
		OPT_RANGE(0, "gang", &o.gang, "N", 1, 65536,
			"configurations that one decoding serves, at most (default: up to 256)"),
		OPT_SIZE(0, "mem", &o.mem, "BYTES", 1 << 20,
			"memory of a gang; twice as much after it ran out (default: its share)"),
		OPT_SIZE(0, "mem-most", &o.mem_most, "BYTES", 1 << 20,
			"no gang may have more (default: the machine's)"),
		OPT_FLAG(0, "retry", &o.retry, "failures are computed again"),
		OPT_STR(0, "stage", &o.stage, "DIR",
			"read traces from copies there: the node's own disk"),
		OPT_HEAD("Clusters"),
		OPT_STR(0, "launcher", &o.launcher, "local|slurm|print",
			"where; `print` shows what slurm would be given"),
		OPT_STR(0, "partition", &o.slurm.partition, "NAME", "of the cluster"),
		OPT_STR(0, "account", &o.slurm.account, "NAME", "that is charged"),
		OPT_STR(0, "time", &o.slurm.time, "TIME", "limit of a batch, as sbatch takes it"),
		OPT_RANGE(0, "throttle", &o.throttle, "N", 1, INT_MAX,
			  "batches at a time (default: no limit)"),
		OPT_RANGE(0, "batch-seconds", &o.seconds, "N", 1, INT_MAX,
			  "what a batch should take (600)"),
		OPT_RANGE(0, "cpus", &o.cpus, "N", 1, INT_MAX, "processors of a batch (1)"),
		OPT_FLAG(0, "no-wait", &o.no_wait, "submit once, and do not wait"),
		OPT_STR(0, "batch", &o.batch, "FILE:LINE", "gangs of a batch; used on nodes"),
		OPT_END
	};
	struct open_sweep s = { .d = { NULL, -1, -1, -1 } };
	struct pm_err err = { 0 };
	struct stat st;
	int status = 0;
	char *dir, *self;

	argc = pm_opt_parse(argc, argv, opts, &run_help, false);
	if (argc != 1)
		pm_opt_usage(&run_help, argc ? "only one FOLDER or PLAN" :
			     "missing FOLDER or PLAN");
	o.slurm.throttle = (unsigned)o.throttle;
	o.slurm.seconds = (unsigned)o.seconds;
	o.slurm.cpus = (unsigned)o.cpus;
	o.slurm.no_wait = o.no_wait;
	o.slurm.program = self = realpath("/proc/self/exe", NULL);
	o.slurm.print = o.launcher && !strcmp(o.launcher, "print");
	if (!stat(argv[0], &st) && S_ISREG(st.st_mode)) {
		dir = default_folder(argv[0]);
		status = make_plan(argv[0], dir, &s);
		free(dir);
	} else if (sweep_open(&s, argv[0], &err) != PM_OK) {
		status = traces_fail(&err);
	}
	if (!status)
		status = run_sweep(&s, &o);
	free(self);
	release(&s);
	return status;
}

/* ---- status --------------------------------------------------------------------------------- */

static void seen(void *arg, uint64_t n)
{
	struct progress *p = arg;

	progress_count(p, n, 0);
}

static enum pm_status show_state(const struct sweep_state *t, const struct open_sweep *s, bool live,
				 struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status st;

	if (live)
		pm_buf_printf(&b, "\033[H\033[J");
	sweep_state_text(t, &s->d, &s->p, 10, &b);
	st = pm_file_save("-", &b, err);
	pm_buf_release(&b);
	return st;
}

static int cmd_sweep_status(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark sweep status [options] FOLDER|PLAN",
		"Says how far a sweep is: what is done, what failed and why, how fast it goes, and "
		"how long yet.",
		"On a terminal --watch shows it again until all is done. Exit status 0, whatever "
		"it says."
	};
	const char *json = NULL, *html = NULL;
	bool watch = false, live;
	const struct pm_opt opts[] = {
		OPT_FLAG('w', "watch", &watch, "again every two seconds, until nothing is missing"),
		OPT_STR(0, "json", &json, "FILE", "the same as JSON; '-' is standard output"),
		OPT_STR(0, "html", &html, "FILE", "the same as a page"),
		OPT_END
	};
	struct progress progress;
	struct sweep_state t;
	struct pm_err err = { 0 };
	struct pm_result *r;
	struct open_sweep s;
	bool over = false;
	int status = 0;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FOLDER or PLAN" : "missing FOLDER or PLAN");
	NAMED_FILES_CHECK(&help, { "PLAN", argv[0], false }, { "--json", json, true },
			  { "--html", html, true });
	live = watch && isatty(STDOUT_FILENO);
	if (sweep_open(&s, argv[0], &err) != PM_OK)
		status = traces_fail(&err);
	while (!status && !over) {
		progress_begin_count(&progress, "jobs");
		if (sweep_state_read(&t, &s.d, &s.p, &s.ids, live ? NULL : seen, &progress, &err))
			status = traces_fail(&err);
		progress_end(&progress);
		over = !watch || t.done + t.failed == t.jobs;
		if (!status && json) {
			r = pm_result_for("sweep-status");
			sweep_state_result(&t, &s.d, &s.p, r);
			status = traces_json(r, json);
			pm_result_free(r);
		}
		if (!status && html && sweep_state_html(&t, &s.d, &s.p, html, &err))
			status = traces_fail(&err);
		if (!status && !(json && !strcmp(json, "-")) && show_state(&t, &s, live, &err))
			status = traces_fail(&err);
		sweep_state_release(&t);
		if (!status && !over)
			sleep(2);
	}
	release(&s);
	return status;
}

/* ---- collect -------------------------------------------------------------------------------- */

/* Which of the page's options is there? NULL: none. */
static const char *of_page(const struct sweep_plots *o)
{
	return o->simulator ? "--sim" : o->value ? "--value" : o->x ? "-x" : o->y ? "-y" :
	       o->cost ? "--cost" : o->baseline ? "--baseline" :
	       o->more ? "--more-is-better" : NULL;
}

static int cmd_sweep_collect(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark sweep collect [options] FOLDER|PLAN",
		"Writes the results of a sweep as one table, a row for each job, and as a page "
		"with plots. Without an\n"
		"option: CSV on standard output.",
		"  pugmark sweep collect --parquet all.parquet --html all.html caches.sweep\n"
		"  pugmark sweep collect --html l2.html --value l2.mpki --baseline l2=256k "
		"caches.sweep"
	};
	const char *csv = NULL, *json = NULL, *parquet = NULL, *html = NULL;
	struct sweep_plots o = { 0 };
	const struct pm_opt opts[] = {
		OPT_STR(0, "csv", &csv, "FILE", "the table as CSV; '-' is standard output"),
		OPT_STR(0, "json", &json, "FILE", "... as JSON"),
		OPT_STR(0, "parquet", &parquet, "FILE", "... as Parquet"),
		OPT_STR(0, "html", &html, "FILE", "a page: heat maps, Pareto front, speed-ups"),
		OPT_HEAD("The page"),
		OPT_STR(0, "sim", &o.simulator, "NAME", "the plan's (default: its first)"),
		OPT_STR(0, "value", &o.value, "NAME", "the number that is shown, as l2.mpki"),
		OPT_STR('x', "x", &o.x, "PARAMETER", "across a heat map (default: the first)"),
		OPT_STR('y', "y", &o.y, "PARAMETER", "up a heat map (default: the second)"),
		OPT_STR(0, "cost", &o.cost, "NAME",
			"parameter or number, along the front (default: bytes of all caches)"),
		OPT_STR(0, "baseline", &o.baseline, "PARAMETER=VALUE,...",
			"speed-ups are against this one (default: the first)"),
		OPT_FLAG(0, "more-is-better", &o.more, "of the value"),
		OPT_END
	};
	struct progress progress;
	struct sweep_table t = { 0 };
	struct pm_err err = { 0 };
	enum pm_status st;
	struct open_sweep s;
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FOLDER or PLAN" : "missing FOLDER or PLAN");
	NAMED_FILES_CHECK(&help, { "PLAN", argv[0], false }, { "--csv", csv, true },
			  { "--json", json, true }, { "--parquet", parquet, true },
			  { "--html", html, true });
	if (!html && of_page(&o))
		pm_opt_usage(&help, "%s needs --html: the table has all", of_page(&o));
	if (o.x && o.y && !strcmp(o.x, o.y))
		pm_opt_usage(&help, "-x and -y are two parameters, not '%s' twice", o.x);
	st = pm_report_can_save((const char *const []){ csv, json, parquet, html }, 4, &err);
	if (!csv && !json && !parquet && !html)
		csv = "-";
	if (!st)
		st = sweep_open(&s, argv[0], &err);
	else
		s = (struct open_sweep){ .d = { NULL, -1, -1, -1 } };
	progress_begin_count(&progress, "jobs");
	if (!st)
		st = sweep_table_open(&t, &s.d, &s.p, &s.ids, seen, &progress, &err);
	progress_end(&progress);
	if (!st)
		st = sweep_table_write(&t, csv, json, parquet, &err);
	if (!st && html)
		st = sweep_plots_html(&t, &o, html, &err);
	if (!st && t.done < t.rows)
		manners_note("of %llu jobs %llu have no result, %llu failed",
			     (unsigned long long)t.rows,
			     (unsigned long long)(t.rows - t.done - t.failed),
			     (unsigned long long)t.failed);
	status = st ? traces_fail(&err) : 0;	/* names what is released now */
	sweep_table_release(&t);
	release(&s);
	return status;
}

int cmd_sweep(int argc, char **argv)
{
	static const struct pm_opt_command commands_of[] = {
		{ "plan", cmd_sweep_plan, "read a plan, try its configurations, make the folder" },
		{ "run", cmd_sweep_run, "compute what has no result yet" },
		{ "status", cmd_sweep_status, "say how far it is" },
		{ "collect", cmd_sweep_collect, "write one table of all results, and plots" },
		{ NULL, NULL, NULL }
	};
	static const struct pm_opt_help help = {
		"pugmark sweep plan|run|status|collect [options]",
		"Many simulations of many traces: a plan says which; results are kept, each under "
		"a key of all that it\n"
		"depends on; what is missing is computed, on this machine or on a Slurm cluster.",
		NULL, commands_of
	};

	return pm_opt_run(argc, argv, &help);
}
