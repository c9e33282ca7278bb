/* SPDX-License-Identifier: MIT */
/* cmd_simpoint.c - pugmark simpoint cut | sim */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/names.h"
#include "analyse/points.h"
#include "analyse/sims.h"
#include "base/json.h"
#include "base/thread.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/result_view.h"
#include "report/width.h"
#include "sweep/points_run.h"
#include "trace/sinks.h"
#include "transform/parts.h"

extern char **environ;

static char *inside(const char *dir, const char *name)
{
	struct pm_buf b = { 0 };

	pm_buf_printf(&b, "%s/%s", dir, name);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

/* ---- cut ------------------------------------------------------------------------------------ */

static const struct pm_opt_help cut_help = {
	"pugmark simpoint cut [options] -o FOLDER FILE|-- PROGRAM [ARG...]",
	"Finds the phases of a trace, and writes the intervals that stand for them, with what "
	"warms up before each,\n"
	"as .pug files to the new FOLDER, with their weights.",
	"  pugmark simpoint cut -o gzip.points -- gzip -k file\n"
	"  pugmark simpoint cut -o gzip.points --interval 1m --warmup 10m gzip.pug\n"
	"  pugmark simpoint sim -s core gzip.points\n\n"
	"A trace is read twice: for the phases, and to cut. So is a recording, which is replayed "
	"twice. A PROGRAM is\n"
	"recorded and replayed, so it runs once and may do something else each time it runs. What "
	"cannot be\n"
	"recorded is traced to the disk with --trace."
};

struct cut_opts {
	const char *out, *from;
	uint64_t interval, warmup, k, each;
	bool trace, loops;
};

/* A folder that becomes FOLDER once it is complete. */
static char *begin_folder(const char *to, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	struct stat st;

	if (!lstat(to, &st)) {
		pm_fail_file(err, "cannot make '%s': it is there already", to);
		return NULL;
	}
	pm_buf_printf(&b, "%s.part%d", to, (int)getpid());
	pm_buf_add(&b, "", 1);
	if (!mkdir((const char *)b.p, 0777))
		return (char *)b.p;
	pm_fail_errno(err, "cannot make '%s'", to);
	pm_buf_release(&b);
	return NULL;
}

/* A signal's handler may call it. */
static void remove_folder(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	union { struct dirent64 e; char bytes[4096]; } buf;
	long n = 0;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, &buf, sizeof buf)) > 0)
		for (long at = 0; at < n; ) {
			const struct dirent64 *e = (const void *)(buf.bytes + at);

			unlinkat(fd, e->d_name, 0);
			at += e->d_reclen;
		}
	if (fd >= 0)
		close(fd);
	rmdir(dir);
}

static const char *being_made;		/* a folder, until it has its name */

static void on_signal(int sig)
{
	remove_folder(being_made);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Who ends us leaves no part of a folder behind; NULL: it is whole. */
static void remove_on_signals(const char *dir)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	if (dir)
		being_made = dir;
	for (size_t i = 0; i < NR(signals); i++) {
		struct sigaction act;

		if (!sigaction(signals[i], NULL, &act) && act.sa_handler != SIG_IGN)
			signal(signals[i], dir ? on_signal : SIG_DFL);
	}
}

/* Another pugmark runs the program; the status, and what it wrote is in the folder. */
static int run_program(const struct cut_opts *o, const char *to, int argc, char **argv)
{
	static const char *const record[] = { "pugmark", "record", "-q", "-o" },
				*const trace[] = { "pugmark", "run", "-q", "--exec", "-t",
						   "pug:level=fast", "-o" };
	const char *const *how = o->trace ? trace : record;
	const size_t n = o->trace ? NR(trace) : NR(record);
	const char **v = pm_alloc((n + (size_t)argc + 3) * sizeof *v);
	int status = 127;
	pid_t pid;

	memcpy(v, how, n * sizeof *v);
	v[n] = to;
	v[n + 1] = "--";
	memcpy(v + n + 2, argv, (size_t)argc * sizeof *v);
	if (!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char **)v, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	free(v);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Phases of the trace at @path. */
static enum pm_status find_phases(const struct cut_opts *o, const char *path,
				  struct pm_points *points, struct pm_err *err)
{
	const struct pm_format *which = NULL;
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_source src = { 0 };
	struct pm_buf spec = { 0 };
	enum pm_status s;
	void *self = NULL;

	pm_buf_printf(&spec, "phases:interval=%llu;k=%llu%s", (unsigned long long)o->interval,
		      (unsigned long long)o->k, o->loops ? ";loops" : "");
	pm_buf_add(&spec, "", 1);
	err->file = path;
	s = pm_sink_add(p, (const char *)spec.p, pm_sims, err);
	pm_buf_release(&spec);
	if (!s)
		s = replayed_open_whole(1, path, o->from, &src, &which, err);
	if (!s)
		s = progress_whole(p, &src, which->plural, NULL, err);
	if (!s && pm_pipeline_sink_at(p, 0, &self)) {
		const struct pm_phases found = pm_phases_found(self);

		if (found.n)
			pm_points_choose(&found, (unsigned)o->each, o->warmup, points);
		else
			s = pm_fail_file(err, "the trace has no instructions");
	}
	pm_pipeline_free(p);
	if (src.ops)
		src.ops->close(src.self);
	return s;
}

static enum pm_status cut_points(const struct cut_opts *o, const char *path,
				 const struct pm_points *points, const char *dir,
				 struct pm_err *err)
{
	struct pm_part *cut = pm_alloc(points->n * sizeof *cut);
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_pipeline *p;
	enum pm_status s;
	void *cuts = NULL;

	for (size_t i = 0; i < points->n; i++) {
		const struct pm_point_of_phase *v = points->v + i;
		char name[32];

		cut[i] = (struct pm_part){ v->first - v->warmup, v->warmup + v->insns,
					  inside(dir, pm_point_file(points, i, name)) };
	}
	err->file = path;
	s = replayed_open(path, o->from, &src, &which, err);
	p = s ? pm_pipeline_new() : pm_adapt_pipeline(&src, which);
	if (!s) {
		cuts = pm_parts_new(cut, points->n, src.facts, which->plural, p);
		pm_names_for_sinks(p);
		pm_pipeline_sink(p, &pm_parts_ops, cuts);
		s = pm_pipeline_start(p, src.facts, which->plural, err);
	}
	if (!s)
		s = progress_run(p, &src, NULL, pm_parts_done, cuts, err);
	if (!s && !pm_parts_done(cuts) && pm_parts_insns(cuts) != points->insns)
		s = pm_fail_file(err, "it had %llu instructions at first and %llu when it was cut",
				 (unsigned long long)points->insns,
				 (unsigned long long)pm_parts_insns(cuts));
	pm_pipeline_free(p);
	if (src.ops)
		src.ops->close(src.self);
	for (size_t i = 0; i < points->n; i++) {
		if (err->file == cut[i].path)	/* it goes, with its folder */
			err->file = o->out;
		free((char *)cut[i].path);
	}
	free(cut);
	return s;
}

/* A recording stays, since it is small; a whole trace does not. */
static void remove_trace(const char *dir)
{
	char *path = inside(dir, "run.pug");

	unlink(path);
	free(path);
}

static enum pm_status save(const char *dir, const char *name, struct pm_buf *b, struct pm_err *err)
{
	char *path = inside(dir, name);
	enum pm_status s = pm_file_save(path, b, err);

	b->n = 0;
	if (err->file == path)
		err->file = name;
	free(path);
	return s;
}

/* points.json, and the two files that SimPoint itself writes: of representatives alone. */
static enum pm_status write_tables(const char *dir, const struct pm_points *p,
				   const struct pm_result *r, struct pm_err *err)
{
	struct pm_buf simpoints = { 0 }, weights = { 0 }, json = { 0 };
	enum pm_status s;

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].representative) {
			pm_buf_printf(&simpoints, "%llu %u\n",
				      (unsigned long long)p->v[i].interval, p->v[i].phase);
			pm_buf_printf(&weights, "%.6f %u\n", p->share[p->v[i].phase],
				      p->v[i].phase);
		}
	pm_result_json(r, &json);
	err->file = NULL;
	s = save(dir, "simpoints", &simpoints, err);
	if (!s)
		s = save(dir, "weights", &weights, err);
	if (!s)
		s = save(dir, "points.json", &json, err);
	pm_buf_release(&simpoints);
	pm_buf_release(&weights);
	pm_buf_release(&json);
	return s;
}

static enum pm_status cut_into(const struct cut_opts *o, const char *path, const char *dir,
			       const char *json, struct pm_err *err)
{
	struct pm_result *r = pm_result_for("simpoint");
	struct pm_points points = { 0 };
	enum pm_status s = find_phases(o, path, &points, err);

	if (!s)
		s = cut_points(o, path, &points, dir, err);
	if (!s) {
		pm_points_put(&points, r);
		s = write_tables(dir, &points, r, err);
	}
	if (!s && rename(dir, o->out))
		s = pm_fail_errno(err, "cannot make '%s'", o->out);
	if (!s)
		s = pm_result_show(r, 40, json, err);
	pm_points_release(&points);
	pm_result_free(r);
	return s;
}

static int cmd_simpoint_cut(int argc, char **argv)
{
	struct cut_opts o = { .interval = 1000000, .warmup = 10000000, .k = 10, .each = 2 };
	const char *json = NULL;
	const struct pm_opt opts[] = {
		OPT_HEAD("Phases"),
		OPT_COUNT(0, "interval", &o.interval, "N", "instructions of an interval (1M)"),
		OPT_RANGE('k', "phases", &o.k, "N", 1, 100, "phases at most (10)"),
		OPT_RANGE(0, "each", &o.each, "N", 1, 1000,
			"intervals of each phase; from 2 on there is a bound of the error (2)"),
		OPT_U64(0, "warmup", &o.warmup, "N", "instructions before each interval (10M)"),
		OPT_FLAG(0, "loops", &o.loops,
			 "intervals begin at loop entries, and waiting is no work (LoopPoint)"),
		OPT_HEAD("Input and output"),
		OPT_STR('o', "output", &o.out, "FOLDER", "is made, and must not be there"),
		OPT_STR('f', "from", &o.from, "FORMAT", "input format (default: guess)"),
		OPT_FLAG(0, "trace", &o.trace,
			 "trace PROGRAM to the disk in place of recording it"),
		OPT_STR(0, "json", &json, "FILE", "the points as JSON; '-' is standard output"),
		OPT_END
	};
	char *dir, *path = NULL;
	struct pm_err err = { 0 };
	bool program = false;
	enum pm_status s = PM_OK;
	int status = 0;

	for (int i = 1; i < argc; i++)
		program = program || !strcmp(argv[i], "--");
	argc = pm_opt_parse(argc, argv, opts, &cut_help, false);
	if (!argc)
		pm_opt_usage(&cut_help, "missing FILE or -- PROGRAM");
	if (!program && argc != 1)
		pm_opt_usage(&cut_help, "only one FILE; a program stands behind --");
	if (!o.out)
		pm_opt_usage(&cut_help, "missing -o FOLDER");
	if (!program && !strcmp(argv[0], "-"))
		pm_opt_usage(&cut_help, "a trace is read twice; standard input cannot be");
	NAMED_FILES_CHECK(&cut_help, { "FILE", program ? NULL : argv[0], false },
			  { "-o", o.out, true }, { "--json", json, true });
	dir = begin_folder(o.out, &err);
	if (!dir)
		return traces_fail(&err);
	remove_on_signals(dir);
	if (program) {
		path = inside(dir, o.trace ? "run.pug" : "run.pugrec");
		status = run_program(&o, path, argc, argv);
		if (access(path, F_OK))
			s = PM_ERR;		/* it said why */
		else if (status)
			manners_note("the program ended with status %d", status);
	}
	if (!s) {
		s = cut_into(&o, program ? path : argv[0], dir, json, &err);
		status = s ? traces_fail(&err) : 0;
	}
	if (!s && program && o.trace)
		remove_trace(o.out);
	remove_on_signals(NULL);
	if (s)
		remove_folder(dir);
	free(dir);
	free(path);
	return status;
}

/* ---- sim ------------------------------------------------------------------------------------ */

static const struct pm_opt_help sim_help = {
	"pugmark simpoint sim [options] FOLDER",
	"Simulates the intervals in FOLDER, each behind its warm-up, and prints what follows for "
	"the whole trace:\n"
	"each counter per instruction, and between what it lies.",
	"  pugmark simpoint sim -s core gzip.points\n"
	"  pugmark simpoint sim -s 'cache:l1d=32k,8way;l2=1m,16way' -s bpred:tagescl "
	"gzip.points\n\n"
	"What is counted in the warm-up is taken away. The bound holds what chance does in "
	"choosing intervals; what\n"
	"is missing of a warm-up is not in it."
};

static enum pm_status points_of(const char *folder, struct pm_points *p, struct pm_err *err)
{
	char *path = inside(folder, "points.json");
	struct pm_result *r = pm_result_new();
	struct pm_buf text = { 0 }, schema = { 0 };
	enum pm_status s = pm_json_load(path, &text, err);

	if (!s)
		s = pm_json_read_named((const char *)text.p, text.n - 1, r, &schema, err);
	if (!s && (!schema.n || strcmp((const char *)schema.p, "pugmark.simpoint")))
		s = pm_fail_file(err, "not what `pugmark simpoint cut` writes");
	if (!s)
		s = pm_points_get(pm_result_root(r), p, err);
	pm_buf_release(&text);
	pm_buf_release(&schema);
	pm_result_free(r);
	if (s) {
		pm_keep(path);
		err->file = path;
	} else {
		free(path);
	}
	return s;
}

static void tell(void *ctx, size_t done)
{
	struct { struct progress p; size_t n; } *t = ctx;

	progress_count(&t->p, done, (double)done / (double)t->n);
}

static int cmd_simpoint_sim(int argc, char **argv)
{
	struct pm_opt_list sims = { 0 };
	const char *json = NULL;
	double confidence = 95;
	uint64_t jobs = pm_processors();
	const struct pm_opt opts[] = {
		OPT_LIST('s', "sim", &sims, "NAME:CONFIG",
			 "a simulator, as `pugmark sim` takes it"),
		OPT_REAL(0, "confidence", &confidence, "PERCENT", 50, 99.99,
			"that the truth is inside the bound (95%)"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, 256, "threads (default: processors)"),
		OPT_STR(0, "json", &json, "FILE", "results as JSON; '-' is standard output"),
		OPT_END
	};
	struct { struct progress p; size_t n; } t = { .n = 0 };
	struct points_options o = { .tell = tell, .ctx = &t };
	struct pm_points p = { 0 };
	struct pm_err err = { 0 };
	const char **spec;
	enum pm_status s = PM_OK;

	argc = pm_opt_parse(argc, argv, opts, &sim_help, false);
	if (argc != 1)
		pm_opt_usage(&sim_help, argc ? "only one FOLDER" : "missing FOLDER");
	if (!sims.n)
		pm_opt_usage(&sim_help, "no simulator given; try -s core");
	spec = pm_alloc((sims.n + 1) * sizeof *spec);
	for (unsigned i = 0; i < sims.n; i++) {
		spec[i] = sims.v[i];
		if (!s)
			s = pm_sim_try(spec[i], &err);
	}
	o.spec = spec;
	o.threads = (unsigned)jobs;
	o.confidence = confidence / 100;
	if (!s)
		s = points_of(argv[0], &p, &err);
	if (!s) {
		struct pm_result *r = pm_result_for("simpoint-sim");

		t.n = p.n;
		pm_result_u64(r, "instructions", p.insns, "instructions");
		pm_result_u64(r, "points", p.n, "points");
		pm_result_u64(r, "phases", p.phases, "phases");
		pm_result_f64(r, "confidence", o.confidence, NULL);
		err.file = argv[0];
		progress_begin_count(&t.p, "points");
		s = points_run(argv[0], &p, &o, r, &err);
		progress_end(&t.p);
		err.file = s ? err.file : NULL;
		if (!s)
			s = pm_result_show(r, 40, json, &err);
		pm_result_free(r);
	}
	pm_points_release(&p);
	free(spec);
	return s ? traces_fail(&err) : 0;
}

int cmd_simpoint(int argc, char **argv)
{
	static const struct pm_opt_command subcommands[] = {
		{ "cut", cmd_simpoint_cut, "find phases, and cut what stands for them" },
		{ "sim", cmd_simpoint_sim, "simulate that, and weight what is counted" },
		{ 0 }
	};
	static const struct pm_opt_help help = {
		"pugmark simpoint cut|sim [options] ...",
		"Simulation points: a few short parts of a trace that stand for all of it.",
		NULL, subcommands
	};

	return pm_opt_run(argc, argv, &help);
}
