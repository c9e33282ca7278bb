/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/insn_mix.h"
#include "analyse/sims.h"
#include "cli/named_files.h"
#include "cli/results.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "trace/champsim.h"
#include "trace/sinks.h"
#include "transform/schedule.h"

/* `--cache CONFIG` is `--sim cache:CONFIG`. */
static enum pm_status add_all(struct pm_pipeline *p, const char *name, const struct pm_opt_list *l,
			      unsigned *n, struct pm_err *err)
{
	for (unsigned i = 0; i < l->n; i++) {
		struct pm_buf spec = { 0 };
		enum pm_status s;

		pm_buf_printf(&spec, "%s%s%s", name, *name ? ":" : "", l->v[i]);
		pm_buf_add(&spec, "", 1);
		s = pm_sink_add(p, (const char *)spec.p, pm_sims, err);
		pm_buf_release(&spec);
		if (s)
			return s;
		++*n;
	}
	return PM_OK;
}

static int list_sims(void)
{
	for (unsigned i = 0; pm_sims[i]; i++)
		printf("%-10s %s\n", pm_sims[i]->name, pm_sims[i]->about);
	return 0;
}

/* Threads of all @files, scheduled. */
static enum pm_status schedule_open(const struct pm_schedule_conf *sched, char **files, int n,
				    const char *format, struct pm_source *src,
				    const struct pm_format **which, struct pm_err *err)
{
	struct pm_schedule *s = pm_schedule_new(sched);
	enum pm_status st = PM_OK;

	for (int i = 0; !st && i < n; i++)
		st = pm_schedule_add(s, files[i], format, which, err);
	if (st) {
		pm_schedule_free(s);
		return st;
	}
	return pm_schedule_source(s, src, err);
}

static enum pm_status trace_open(const struct pm_schedule_conf *sched, char **files, int n,
				 const char *format, uint64_t jobs, struct pm_source *src,
				 const struct pm_format **which, struct pm_err *err)
{
	if (sched->cores || sched->from)
		return schedule_open(sched, files, n, format, src, which, err);
	return (pm_champsim_any() ? replayed_open_by : replayed_open_whole)
		(jobs, files[0], format, src, which, err);
}

static void check_schedule(const struct pm_schedule_conf *sched, uint64_t cores, int files,
			   uint64_t jobs, const struct pm_opt_help *help)
{
	const bool scheduled = cores || sched->from;

	if (files < 1 || (files > 1 && !scheduled))
		pm_opt_usage(help, files ? "several FILEs need --cores" : "missing FILE");
	if (cores && sched->from)
		pm_opt_usage(help, "--schedule says how many cores there are; no --cores");
	if ((sched->quantum || sched->step || sched->wait || sched->pinned || sched->to) && !cores)
		pm_opt_usage(help, "--quantum, --step, --wait, --pinned and --save-schedule need "
				   "--cores");
	if (scheduled && jobs > 1)
		pm_opt_usage(help, "-j cuts a trace in time; it does not go with a schedule");
}

static enum pm_status load_modules(const struct pm_opt_list *l, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	for (unsigned i = 0; i < l->n && !s; i++)
		s = pm_champsim_load(l->v[i], err);
	return s;
}

/* Modules of ChampSim belong to one thread. */
static struct pm_pipeline *new_pipeline(uint64_t jobs)
{
	struct pm_pipeline *p = pm_pipeline_new();
	const unsigned threads = !jobs ? PM_THREADS_AUTO : jobs > 1 ? (unsigned)jobs : 0;

	pm_pipeline_threads(p, pm_champsim_any() ? 0 : threads);
	return p;
}

static void check_outputs(const struct results *o, const struct pm_schedule_conf *sched,
			  char *const *argv, int argc, const struct pm_opt_help *help)
{
	results_check_files(o, help, argv, (size_t)argc);
	for (int i = 0; i < argc; i++)
		NAMED_FILES_CHECK(help, { "FILE", argv[i], false },
				  { "--schedule", sched->from, false },
				  { "--save-schedule", sched->to, true },
				  { "--json", o->json, true }, { "--csv", o->csv, true },
				  { "--html", o->html, true });
}

int cmd_sim(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark sim [options] FILE...",
		"Simulate caches, TLBs, branch predictors and pipelines on the trace in FILE, and "
		"print what they\n"
		"counted. FILE - is standard input. Options may be repeated and combined: the "
		"trace is read once.",
		"Examples:\n"
		"  pugmark sim --cache 'l1i=32k,8way;l1d=32k,8way,64,lru,wb;l2=1m,16way' "
		"prog.pug\n"
		"  pugmark sim --bpred 'gshare=14;tagescl' --tlb '' prog.pug\n"
		"  pugmark sim --usual --html report.html prog.pug    everything, as a page\n"
		"  pugmark sim --sim core:topdown prog.pug    what keeps a core waiting: top-down\n"
		"  pugmark sim --sim 'reuse:line=64;sample=100' --json - prog.pug\n"
		"  pugmark sim --cores 4 --sim coherence:cores=4 prog.pug    who shares lines with "
		"whom\n"
		"Several FILEs are scheduled together: --cores.\n"
		"An empty CONFIG is the default. The error for a wrong one says what is allowed.\n"
		"Many caches of one command share their work: a hundred sizes and ways take little "
		"longer than one."
	};
	struct { const char *name; struct pm_opt_list list; } by[] = {
		{ .name = "cache" }, { .name = "tlb" }, { .name = "bpred" }, { .name = "allcache" },
		{ .name = "reuse" }, { .name = "" },
	};
	struct pm_opt_list modules = { 0 };
	const char *format = NULL;
	struct results o = { .rows = 20, .top = 5 };
	struct pm_schedule_conf sched = { 0 };
	uint64_t cores = 0;
	bool list = false, usual = false;
	const struct pm_opt opts[] = {
		OPT_HEAD("Simulators"),
		OPT_LIST(0, "cache", &by[0].list, "CONFIG", "a hierarchy of caches"),
		OPT_LIST(0, "tlb", &by[1].list, "CONFIG", "a hierarchy of TLBs"),
		OPT_LIST(0, "bpred", &by[2].list, "CONFIG", "branch predictors"),
		OPT_LIST(0, "allcache", &by[3].list, "CONFIG",
			"all LRU caches of a line size at once"),
		OPT_LIST(0, "reuse", &by[4].list, "CONFIG",
			"reuse distances, miss-ratio curve, working set"),
		OPT_LIST('s', "sim", &by[5].list, "NAME:CONFIG",
			"any simulator or sink by its name"),
		OPT_LIST(0, "champsim-module", &modules, "FILE",
			"compile X.cc, a module of ChampSim: a word of --bpred, --cache, core"),
		OPT_FLAG(0, "usual", &usual,
			"mix, hot code, caches, predictors, curves, heat, phases, calls"),
		OPT_LIST(0, "object", &o.object, "PATH@ADDRESS",
			"FILE's trace had this file loaded at ADDRESS"),
		OPT_FLAG(0, "list", &list, "list the simulators"),
		OPT_HEAD("Threads on simulated cores (default: the trace's own order)"),
		OPT_RANGE(0, "cores", &cores, "N", 1, 4096,
			  "schedule all threads of all FILEs on N cores"),
		OPT_COUNT(0, "quantum", &sched.quantum, "N",
			"instructions before a thread makes room for another (100000)"),
		OPT_COUNT(0, "step", &sched.step, "N",
			"instructions by which cores may differ in time (100)"),
		OPT_COUNT(0, "wait", &sched.wait, "N",
			"instructions that a call which waits takes, if no time is known (10000)"),
		OPT_FLAG(0, "pinned", &sched.pinned, "thread i stays on core i mod N"),
		OPT_STR(0, "schedule", &sched.from, "FILE",
			"as this file says, which --save-schedule has written"),
		OPT_STR(0, "save-schedule", &sched.to, "FILE", "write what ran where, and when"),
		OPT_HEAD("Input and output"),
		OPT_STR('f', "from", &format, "FORMAT", "input format (default: guess)"),
		OPT_RANGE('j', "jobs", &o.jobs, "N", 1, 256,
			"threads (default: processors, one for each simulator); "
			"above 1, slices of a .pug are simulated at once where that is exact; of "
			"a recording N replays trace parts"),
		RESULTS_OPTIONS(o),
		OPT_ROWS(o.rows),
		OPT_END
	};
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	uint32_t facts = 0, nsim = 0;
	enum pm_status s;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (list)
		return list_sims();
	check_schedule(&sched, cores, argc, o.jobs, &help);
	check_outputs(&o, &sched, argv, argc, &help);
	sched.cores = (uint32_t)cores;
	s = load_modules(&modules, &err);
	p = new_pipeline(o.jobs);
	for (size_t i = 0; i < NR(by) && !s; i++)
		s = add_all(p, by[i].name, &by[i].list, &nsim, &err);
	if (!s && !nsim && !usual && !tree_outputs_wanted(&o.tree))
		pm_opt_usage(&help, "no simulator given; try --usual");
	if (!s)
		s = trace_open(&sched, argv, argc, format, o.jobs, &src, &which, &err);
	if (!s && usual)
		s = traces_add_usual(p, src.facts, &err);
	if (!s)
		facts = pm_adapt(p, src.facts, pm_pipeline_needs(p), NULL);
	return results_run(&o, s, p, &src, which, facts, "pugmark sim", argv[0], &err);
}

int cmd_mix(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark mix [options] FILE",
		"Count the instructions of the trace in FILE: by class, by mnemonic, memory "
		"operands, and operands'\n"
		"sizes. FILE - is standard input. It is `pugmark sim --sim insns`.",
		"A trace without instruction bytes has no mnemonics; of one with micro-ops "
		"`pugmark uop-mix` counts\n"
		"these."
	};
	const char *format = NULL;
	struct results o = { .rows = 20, .top = 5 };
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &format, "FORMAT", "input format (default: guess)"),
		RESULTS_OPTIONS(o),
		OPT_ROWS(o.rows),
		OPT_END
	};
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	enum pm_status s;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FILE" : "missing FILE");
	results_check_files(&o, &help, argv, 1);
	p = pm_pipeline_new();
	pm_pipeline_threads(p, PM_THREADS_AUTO);
	s = pm_sink_add(p, pm_sim_insns.name, pm_sims, &err);
	if (!s)
		s = replayed_open_whole(1, argv[0], format, &src, &which, &err);
	if (!s && src.facts & PM_HAS_UOPS && !(src.facts & PM_HAS_BYTES))
		s = pm_fail_file(&err, "%s hold micro-ops, not instructions; `pugmark uop-mix` "
				       "counts these", which->plural);
	return results_run(&o, s, p, &src, which, src.facts, "Instruction mix", argv[0], &err);
}
