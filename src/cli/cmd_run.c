/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/counts_text.h"
#include "base/guard.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/run_ends.h"
#include "cli/run_parts.h"
#include "cli/run_trace.h"
#include "cli/traces.h"
#include "collect/control/process.h"
#include "collect/query/trace_parts.h"
#include "collect/record/recording.h"
#include "report/out.h"
#include "report/profile_report.h"
#include "trace/each_process.h"

static const struct pm_opt_help help = {
	"pugmark run [options] -- PROGRAM [ARG...]\n"
	"       pugmark run [options] --pid PID",
	"Run PROGRAM, unchanged, and report what it executed, or trace it. Its input, output and "
	"exit status\n"
	"are its own; the report goes to standard error or to a file. Children and threads are "
	"followed.\n"
	"With --pid a process that runs already is traced, until it ends, or until ctrl-C, "
	"--detach-after, or the\n"
	"end of what --for wants; then it goes on, as if it had not been traced.",
	"  pugmark run -- gzip -9 FILE              profile of one program on standard error\n"
	"  pugmark run --json p.json -- make -j2    everything it started, for scripts\n"
	"  pugmark run --exec --count -- ls         how many instructions, reads, writes...\n"
	"  pugmark run -o ls.pug -t pug -- ls       everything it did, in a file\n"
	"  pugmark run --sim cache -- ls            through a cache while it runs\n"
	"  pugmark run --usual --html p.html -- ls  what there is to say about it, as a page\n"
	"  pugmark run --annotate hot.txt -- ls     the hottest code, counted\n"
	"  pugmark run --sim cachegrind --callgrind cg.out -- ls    calls and their costs\n"
	"  pugmark run --pid 1234 --detach-after 10  what process 1234 does for ten seconds\n\n"
	"Exit status: the program's own. If a signal kills the program, the same signal kills "
	"pugmark. 1 if\n"
	"the program cannot run or the trace cannot be made, 2 for a usage error. SIGTERM and "
	"SIGHUP are\n"
	"passed on to the program.",
};

static const struct pm_opt_help replay_help = {
	"pugmark replay [options] RECORDING",
	"Run the program of RECORDING, made by `pugmark record`, again, as it ran then, and report "
	"what it\n"
	"executed, or trace it: everything that `pugmark run` does. The program does nothing "
	"outside: it reads and\n"
	"writes no files, and needs none of those that it read. What it wrote to its standard "
	"output and standard\n"
	"error is written there again. A replay that differs from its recording stops there. With "
	"-q and no file\n"
	"for a result nothing is counted: the replay takes as long as the recording did.",
	"  pugmark record -o gz.pugrec -- gzip -9 FILE\n"
	"  pugmark replay gz.pugrec                     the profile\n"
	"  pugmark replay -o gz.pug gz.pugrec           its trace\n"
	"  pugmark replay --no-output --sim cache gz.pugrec\n\n"
	"Exit status: the recorded program's own, or 0 with --own-status. 1 if the recording "
	"cannot be\n"
	"replayed to its end, 2 for a usage error.",
};
static const struct pm_opt_help *used_help = &help;

struct outputs {
	const char *out, *report, *json, *csv, *parquet, *html, *callgrind, *counts, *syntax,
		*annotate;
	bool quiet;
	bool own_status;		/* the program's status is not ours */
};

static enum pm_status can_write(const struct outputs *f, struct pm_err *err)
{
	static struct pm_buf counts;	/* its first file; @err may name it: not released */
	const char *const to[] = { f->out, f->report, f->json, f->csv, f->parquet, f->html,
		f->callgrind, f->annotate };
	const char *first;

	if (pm_report_can_save(to, NR(to), err) != PM_OK)
		return PM_ERR;
	if (!f->counts)
		return PM_OK;
	pm_buf_printf(&counts, "%s.1", f->counts);
	pm_buf_add(&counts, "", 1);
	first = (const char *)counts.p;
	return pm_report_can_save(&first, 1, err);
}

/* Does a report need how often blocks ran? */
static bool wants_profile(const struct outputs *f)
{
	return !f->quiet || f->report || f->out || f->json || f->csv || f->parquet || f->html ||
	       f->callgrind || f->annotate;
}

static enum pm_status write_reports(const struct outputs *f, struct pm_counts *c,
				    struct pm_err *err)
{
	struct pm_report_opts ro = { 0 }, seen;		/* seen: on a terminal, perhaps */
	/* not released: the end of the process gives all back at once, which is faster */
	static struct pm_profile *p;
	const char *text = f->report ? f->report : f->out;
	enum pm_status st = PM_OK;

	if (wants_profile(f))
		p = pm_profile_new(c);
	if (f->syntax && !strcmp(f->syntax, "intel"))
		ro.syntax = PM_SYNTAX_INTEL;
	seen = ro;
	seen.colour = manners_color(stderr) ? PM_COLOUR_ALWAYS : PM_COLOUR_NEVER;
	if (text)
		st = pm_report_text_file(p, &ro, text, err);
	if (st == PM_OK && f->json)
		st = pm_report_json(p, &ro, f->json, err);
	if (st == PM_OK && f->csv)
		st = pm_report_csv(p, &ro, f->csv, err);
	if (st == PM_OK && f->parquet)
		st = pm_report_parquet(p, f->parquet, err);
	if (st == PM_OK && f->html)
		st = pm_report_html(p, &ro, f->html, err);
	if (st == PM_OK && f->callgrind)
		st = pm_report_callgrind(p, &ro, f->callgrind, err);
	if (st == PM_OK && f->annotate)
		st = pm_report_annotated(p, &ro, f->annotate, err);
	if (st == PM_OK && f->counts)
		st = pm_counts_write(c, f->counts, err);
	if (st == PM_OK && !text && !f->quiet)	/* last: it may be closed, and files are wanted */
		st = pm_report_text(p, &seen, stderr, err);
	return st;
}

/* How often each block ran, and each edge if that is wanted: run it, and report. The exit
 * status. */
static int run_counted(struct pm_run_opts *o, const struct outputs *f, const struct run_trace *t)
{
	struct pm_branches all = { 0 };
	struct pm_err err = { 0 }, cut = { 0 };
	struct pm_counts *counts = NULL;
	enum pm_status st = can_write(f, &err);
	int status = 0, sig = 0;

	o->edges = run_edges_suffice(t, o);
	o->bare = !o->edges && !wants_profile(f) && !f->counts;
	if (st == PM_OK)
		st = run_can_write(t, &err);
	if (st == PM_OK)
		st = pm_run(o, &counts, &err);
	st = run_cut(counts, st, &err, &cut);
	if (st == PM_OK)
		st = write_reports(f, counts, &err);
	if (st == PM_OK && o->edges)
		st = run_write_edges(t, counts, &all, &err);
	if (st != PM_OK || pm_failed(&cut)) {
		status = run_tell(st, &err, &cut);
	} else if (!o->pid && !f->own_status) {
		status = counts->status;
		sig = counts->signal;
	}
	pm_branches_release(&all);
	pm_counts_free(counts);
	return run_end_like(status, sig);
}

/* Results of a trace go where those of a profile would. */
static void pass_outputs(const struct outputs *f, struct results *to)
{
	to->json = f->json;
	to->csv = f->csv;
	to->parquet = f->parquet;
	to->html = f->html;
	to->callgrind = f->callgrind;
	to->annotate_to = f->annotate;
	to->text = f->report;
	to->to_stderr = !f->report;
	to->quiet = f->quiet && !f->report;
	to->listing.intel = f->syntax && f->syntax[0] == 'i';
}

/* ---- a process that runs already ------------------------------------------------------------- */
#define COMMAND_MAX 65536u

/* Its arguments; the first is its program. Lives to the end. */
static char **command_of(int pid)
{
	static char text[COMMAND_MAX + 1], exe[4096], *argv[COMMAND_MAX / 2 + 2];
	char path[64];
	size_t n = 0, got;
	ssize_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	len = readlink(path, exe, sizeof exe - 1);
	exe[len > 0 ? len : 0] = 0;
	argv[n++] = exe;
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return argv;
	got = fread(text, 1, COMMAND_MAX, f);
	fclose(f);
	for (size_t i = strnlen(text, got) + 1; i < got && n < NR(argv) - 1;
	     i += strlen(text + i) + 1)
		argv[n++] = text + i;
	return argv;
}

/* What is traced: the program @argv, or the process @pid. */
static void choose_process(char **argv, uint64_t pid, struct pm_run_opts *o)
{
	if (!argv && !pid)
		pm_opt_usage(used_help, "no program given");
	if (argv && pid)
		pm_opt_usage(used_help, "--pid and a program: one of them can be traced");
	o->pid = (int)pid;
	if (o->follow_only && o->no_follow)
		pm_opt_usage(used_help, "--follow-only and --no-follow exclude each other");
	o->argv = pid ? command_of(o->pid) : argv;
}

/* Reports have all processes together: none is made for each. */
static void refuse_each(const struct outputs *f, const struct run_trace *t, bool trace)
{
	const char *const to[] = { trace ? NULL : f->out, f->report, f->json, f->csv, f->parquet,
		f->html, f->callgrind, f->counts, f->annotate, t->lcov, t->cobertura, t->drcov,
		t->results.tree.folded, t->results.tree.speedscope, t->results.tree.pprof,
		t->branches.to[PM_BRANCH_BOLT], t->branches.to[PM_BRANCH_FDATA],
		t->branches.to[PM_BRANCH_AUTOFDO], t->branches.to[PM_BRANCH_LLVM_SAMPLE],
		t->branches.to[BRANCH_PROPELLER], t->branches.to[BRANCH_PERF] };

	for (size_t i = 0; i < NR(to); i++)
		if (to[i] && pm_path_has_process(to[i]))
			pm_opt_usage(used_help,
				     "'%s': a file for each process (%%p) is for traces: "
				     "-o x.%%p.pug", to[i]);
}

/* No file is written twice, nor over @in: the recording, or a program that is named by a path. */
static void check_files(const struct outputs *f, const struct run_trace *t, const char *what,
			const char *in)
{
	const struct named_file files[] = {
		{ what, in, false },
		{ "-o", f->out, true }, { "--report", f->report, true },
		{ "--json", f->json, true }, { "--csv", f->csv, true },
		{ "--parquet", f->parquet, true }, { "--html", f->html, true },
		{ "--callgrind", f->callgrind, true }, { "--counts", f->counts, true },
		{ "--annotate", f->annotate, true }, { "--lcov", t->lcov, true },
		{ "--cobertura", t->cobertura, true }, { "--drcov", t->drcov, true },
		{ "--folded", t->results.tree.folded, true },
		{ "--speedscope", t->results.tree.speedscope, true },
		{ "--pprof", t->results.tree.pprof, true },
		{ "--bolt", t->branches.to[PM_BRANCH_BOLT], true },
		{ "--fdata", t->branches.to[PM_BRANCH_FDATA], true },
		{ "--autofdo", t->branches.to[PM_BRANCH_AUTOFDO], true },
		{ "--llvm-sample", t->branches.to[PM_BRANCH_LLVM_SAMPLE], true },
		{ "--propeller", t->branches.to[BRANCH_PROPELLER], true },
		{ "--perf-data", t->branches.to[BRANCH_PERF], true },
	};

	named_files_check(used_help, files, NR(files));
}

/* The report in -o FILE is text, whatever the name promises. */
static void refuse_misnamed(const char *out)
{
	static const struct { const char *suffix, *option, *what; } other[] = {
		{ ".json", "--json", "JSON" }, { ".csv", "--csv", "CSV" },
		{ ".html", "--html", "a page" },
	};
	const size_t n = strlen(out);

	for (size_t i = 0; i < NR(other); i++) {
		const size_t k = strlen(other[i].suffix);

		if (n > k && !strcmp(out + n - k, other[i].suffix))
			pm_opt_usage(used_help, "-o FILE would be the report as text: %s '%s' "
				     "writes %s", other[i].option, out, other[i].what);
	}
}

/* All options are known: a trace, or a profile. The exit status. */
static int run_wanted(struct run_trace *t, struct pm_run_opts *o, struct outputs *f)
{
	const char *wrong;
	int done, status, sig;
	bool to_file;

	t->out = f->out;
	if ((wrong = run_trace_wrong(t)))
		pm_opt_usage(used_help, "%s", wrong);
	to_file = run_trace_wanted(t) && (t->dump || run_trace_to_file(t));
	refuse_each(f, t, to_file && !t->dump);
	if (t->format && (!f->out || t->dump))
		pm_opt_usage(used_help, t->dump ? "--dump writes text: no -t FORMAT"
					: "-t %s, but no -o FILE: where does the trace go?",
			     t->format);
	if (f->out && !to_file && f->report)
		pm_opt_usage(used_help, "-o and --report are both for the report");
	if (f->out && !to_file)
		refuse_misnamed(f->out);
	if (!run_trace_wanted(t))
		return run_counted(o, f, t);
	if (run_edges_suffice(t, o)) {
		f->quiet = true;	/* who asks for branches gets a report if asked for, too */
		return run_counted(o, f, t);
	}
	if (f->counts)
		pm_opt_usage(used_help, "--counts is for profiles, in a run without a trace; "
			     "--sim cachegrind --callgrind FILE has a trace's");
	if (f->out && !to_file)
		f->report = f->out;
	pass_outputs(f, &t->results);
	done = run_traced(t, o, &status, &sig);
	return done >= 0 ? done : o->pid || f->own_status ? 0 : run_end_like(status, sig);
}

#define TRACE_DEFAULTS { .results = { .rows = 20, .top = 5, .to_stderr = true } }

/* What `run` and `replay` do with what is executed. */
#define WHAT_OPTIONS(f, t) \
		OPT_HEAD("what to trace (default: a profile, how often each block ran)"), \
		OPT_FLAG(0, "branch", &(t).branch, "blocks in order, and so every branch"), \
		OPT_OPTSTR(0, "cache", &(t).cache, "LINE", \
			   "instruction lines of LINE (64) bytes, and data"), \
		OPT_FLAG(0, "exec", &(t).exec, \
			 "instructions and data references (implied by the options below)"), \
		OPT_HEAD("where the trace goes, any of them"), \
		OPT_STR('t', "to", &(t).format, "FORMAT", \
			"-o FILE is the trace in FORMAT (default: by its name)"), \
		OPT_FLAG(0, "count", &(t).count, "count events by kind"), \
		OPT_FLAG(0, "dump", &(t).dump, "as text, to -o FILE or standard output"), \
		OPT_LIST('s', "sim", &(t).sims, "NAME:CONFIG", \
			 "a simulator, see `pugmark sim --list`"), \
		OPT_FLAG(0, "usual", &(t).usual, \
			 "the usual simulators: mix, hot code, caches, predictors, heat..."), \
		OPT_LIST(0, "sink", &(t).sinks, "SPEC", \
			 "a sink by name or ./plugin.so, with :CONFIG"), \
		OPT_FLAG(0, "discard", &(t).discard, "nowhere: to measure what tracing costs"), \
		OPT_HEAD("which part of the run; instructions count for all threads together"), \
		OPT_STR(0, "start-at", &(t).start_at, "POINT", \
			"a function, 0xADDRESS, instruction number or SIGNAME"), \
		OPT_STR(0, "stop-at", &(t).stop_at, "POINT", \
			"likewise; what starts again later is traced again"), \
		OPT_U64(0, "after", &(t).after, "N", "leave out the first N instructions"), \
		OPT_COUNT(0, "for", &(t).length, "N", "then trace N instructions"), \
		OPT_COUNT(0, "every", &(t).every, "N", "and do so again every N instructions"), \
		OPT_LIST(0, "exclude-lib", &(t).exclude, "NAME", \
			 "leave out what happens in NAME (libc, libz...)"), \
		OPT_HEAD("which threads and processes"), \
		OPT_LIST(0, "thread", &(t).threads, "NAME|TID", \
			 "trace only this thread; * and ? in NAME as in a shell"), \
		OPT_HEAD("branch profiles for compilers and linkers; see `pugmark profile`"), \
		BRANCH_OPTIONS((t).branches), \
		OPT_HEAD("results"), \
		OPT_STR('o', "output", &(f).out, "FILE", \
			"the trace, if its name or -t FORMAT says so (%p: one per process); else " \
			"the report"), \
		OPT_STR(0, "report", &(f).report, "FILE", "the report"), \
		OPT_STR(0, "json", &(f).json, "FILE", "all of it as JSON (- is standard output)"), \
		OPT_STR(0, "csv", &(f).csv, "FILE", "functions as CSV"), \
		OPT_STR(0, "parquet", &(f).parquet, "FILE", "the same as a Parquet table"), \
		OPT_STR(0, "html", &(f).html, "FILE", "a self-contained page"), \
		OPT_STR(0, "callgrind", &(f).callgrind, "FILE", \
			"for KCachegrind; with --sim cachegrind also who called whom"), \
		OPT_STR(0, "annotate", &(f).annotate, "FILE", \
			"the hottest code with its costs beside it"), \
		TREE_OPTIONS((t).results.tree), \
		OPT_STR(0, "lcov", &(t).lcov, "FILE", \
			"which lines, functions and branches ran, for genhtml and lcov"), \
		OPT_STR(0, "cobertura", &(t).cobertura, "FILE", "the same as Cobertura's XML"), \
		OPT_STR(0, "drcov", &(t).drcov, "FILE", "which blocks ran, as drcov's file"), \
		OPT_STR(0, "counts", &(f).counts, "PREFIX", \
			"PREFIX.N: executions per instruction address"), \
		OPT_STR(0, "syntax", &(f).syntax, "att|intel", "of disassembly (default: att)"), \
		OPT_FLAG('q', "quiet", &(f).quiet, "no report on standard error")

#define CACHE_OPTIONS(o) \
		OPT_STR(0, "cache-dir", &(o).cache_dir, "DIR", \
			"keep translations in DIR ($XDG_CACHE_HOME/pugmark)"), \
		OPT_SIZE(0, "cache-limit", &(o).cache_limit, "SIZE", 0, \
			"delete the oldest beyond SIZE (default: 1G)"), \
		OPT_FLAG(0, "no-cache", &(o).no_cache, "neither use nor keep translations")

int cmd_run(int argc, char **argv)
{
	struct pm_run_opts o = { RUN_DEFAULTS };
	struct outputs f = { 0 };
	struct run_trace t = TRACE_DEFAULTS;
	uint64_t pid = 0;
	const struct pm_opt opts[] = {
		WHAT_OPTIONS(f, t),
		OPT_HEAD("the run"),
		OPT_RANGE('p', "pid", &pid, "PID", 1, INT_MAX,
			  "trace this running process, all its threads"),
		OPT_REAL(0, "detach-after", &o.detach_after, "SECONDS", 0.001, 1e9,
			"then processes go on untraced, and the report is made"),
		OPT_STR(0, "follow-only", &o.follow_only, "PATTERN",
			"trace only programs of this file name; others run natively"),
		OPT_FLAG(0, "no-follow", &o.no_follow, "report the first process only"),
		OPT_FLAG(0, "aslr", &o.aslr, "keep address-space randomisation"),
		OPT_FLAG(0, "strict-flags", &o.strict_flags,
			 "keep flags across calls and returns: slower"),
		OPT_FLAG(0, "fix-random", &o.fix_random,
			 "AT_RANDOM bytes fixed, for comparable runs"),
		OPT_FLAG(0, "no-vdso", &o.no_vdso,
			 "hide the kernel's vDSO, as instrumented programs do"),
		CACHE_OPTIONS(o),
		OPT_END
	};

	pm_guard_last(PM_GUARD_COMMAND, run_say_death, NULL);
	if (!pm_opt_parse(argc, argv, opts, &help, true))
		argv = NULL;
	choose_process(argv, pid, &o);
	check_files(&f, &t, "PROGRAM", argv && strchr(argv[0], '/') ? argv[0] : NULL);
	return run_wanted(&t, &o, &f);
}

/* Only a .pug is put together of parts, and nothing else is made meanwhile. */
static bool is_pug_alone(struct run_trace *t, const struct outputs *f)
{
	const char *const other[] = { f->report, f->csv, f->parquet, f->html, f->callgrind,
		f->counts, f->annotate, t->cache, t->lcov, t->cobertura, t->drcov, t->start_at,
		t->stop_at };

	t->out = f->out;
	for (size_t i = 0; i < NR(other); i++)
		if (other[i])
			return false;
	if (!run_trace_wanted(t) || t->dump || t->count || t->usual || t->discard || t->sinks.n ||
	    t->sims.n || t->after || t->length || t->every || t->exclude.n || t->threads.n ||
	    branch_outputs_wanted(&t->branches) || tree_outputs_wanted(&t->results.tree) ||
	    !run_trace_to_file(t) || pm_path_has_process(f->out))
		return false;
	return run_writes_pug(f->out, t->format);
}

static int replay_wanted(const char *recording, uint64_t jobs, struct run_trace *t,
			 struct pm_run_opts *o, struct outputs *f)
{
	int status, sig, done;

	if (jobs == 1)
		return run_wanted(t, o, f);
	if (!is_pug_alone(t, f))
		pm_opt_usage(used_help, "-j is for a trace in a .pug: -o FILE.pug, and no part of "
					"it");
	if (t->branch && t->exec)
		pm_opt_usage(used_help, "%s", run_trace_wrong(t));
	if (!run_parts_possible(o))
		return run_wanted(t, o, f);
	o->kind = t->branch ? XL_BRANCH : XL_EXEC;
	pass_outputs(f, &t->results);
	done = run_parts(recording, jobs, o, t, &status, &sig);
	return done >= 0 ? done : f->own_status ? 0 : run_end_like(status, sig);
}

int cmd_replay(int argc, char **argv)
{
	struct pm_run_opts o = { RUN_DEFAULTS };
	struct outputs f = { 0 };
	struct run_trace t = TRACE_DEFAULTS;
	uint64_t jobs = 1;
	bool silent = false;
	const struct pm_opt opts[] = {
		WHAT_OPTIONS(f, t),
		OPT_HEAD("the replay"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, PARTS_WORKERS,
			"N replays at once, each of which traces parts of a .pug (1)"),
		OPT_FLAG(0, "no-output", &silent, "do not show what the program wrote"),
		OPT_FLAG(0, "own-status", &f.own_status,
			 "exit with 0 if the replay was good, whatever the program's status"),
		OPT_FLAG(0, "strict-flags", &o.strict_flags,
			 "keep flags across calls and returns: slower"),
		CACHE_OPTIONS(o),
		OPT_END
	};
	struct pm_err err = { 0 };
	int status;

	used_help = &replay_help;
	pm_guard_last(PM_GUARD_COMMAND, run_say_death, NULL);
	if (pm_opt_parse(argc, argv, opts, used_help, false) != 1)
		pm_opt_usage(used_help, "expected one recording");
	check_files(&f, &t, "RECORDING", argv[0]);
	o.echo = !silent;
	t.silent = silent;
	t.progress = silent && !f.quiet;
	if (rec_open(argv[0], &o.replay, &err) != PM_OK)
		return traces_fail(&err);
	o.argv = (char **)(uintptr_t)rec_start_of(o.replay, 0)->argv;
	status = replay_wanted(argv[0], jobs, &t, &o, &f);
	rec_close(o.replay);
	return status;
}
