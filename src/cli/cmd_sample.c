/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/sample.h"
#include "analyse/walk.h"
#include "base/thread.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/result_view.h"
#include "report/width.h"
#include "trace/idt_files.h"

static const struct pm_opt_help help = {
	"pugmark sample [options] FILE",
	"Estimates how long the trace in FILE (a .pug) takes on out-of-order cores, from short "
	"windows of it, and says\n"
	"how far the estimate may be off.",
	"Examples:\n"
	"  pugmark sample prog.pug\n"
	"  pugmark sample --core preset=big --core 'preset=big;l2=512k,8way' prog.pug\n"
	"  pugmark sample --error 1% --most 5% --store prog.warm -j 4 prog.pug\n"
	"The store holds the lines of the trace in the order of their last use, and its "
	"branches, and counts of\n"
	"each 1000 instructions, by which windows are chosen and judged. It serves caches of any "
	"size and associativity,\n"
	"and any predictor: make it once, and use it for all cores. See docs/simulators.md."
};

#define EVERY 100000u
#define SAMPLE_PART_MOST 1000000000u	/* instructions */

/* The store in @file, or a new one that goes there, if samples for @o can be had of it. NULL: none
 * is kept. @every: instructions of an interval; UINT64_MAX: as it is, or EVERY. */
static enum pm_status store_of(const char *file, const char *trace, uint64_t every,
			       const struct pm_sample_opts *o, struct pm_warm *w,
			       struct pm_err *err)
{
	struct pm_walk_facts f;
	struct pm_buf b = { 0 };
	struct stat st;
	uint64_t period;
	const char *why;
	enum pm_status s;

	if (!file || access(file, F_OK)) {
		err->file = trace;
		s = pm_warm_make(trace, every == UINT64_MAX ? EVERY : every, o->threads, w, err);
		if (!s)
			s = pm_sample_period(w, o, &period, err);
		if (s || !file)
			return s;
		err->file = NULL;
		pm_warm_put(w, &b);
		s = pm_file_save(file, &b, err);
		pm_buf_release(&b);
		return s;
	}
	err->file = file;
	if (!stat(file, &st) && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return pm_fail_file(err, "a store is a file, and this is not one");
	s = idt_slurp(file, &b, err);
	if (!s)
		s = pm_warm_get(b.p, b.n, w, err);
	pm_buf_release(&b);
	if (!s && pm_walk_facts(trace, &f, &why, err) == PM_OK &&
	    (f.insns != w->insns || f.identity != w->identity))
		s = pm_fail_file(err, "it was made of another trace than %s", trace);
	if (!s && every != UINT64_MAX && every != w->every)
		s = pm_fail_file(err, "its intervals are %llu instructions, not %llu",
				 (unsigned long long)w->every, (unsigned long long)every);
	return s;
}

/* Everything that the core needs must be there before hours are spent. */
static enum pm_status check(const char *trace, const char *from, const char *const *config,
			    struct pm_err *err)
{
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	struct pm_walk_facts f;
	char names[120];
	const char *why;
	uint32_t missing;
	enum pm_status s;

	for (size_t k = 0; config[k]; k++) {
		void *core = pm_sim_core.create(config[k], err);

		if (!core)
			return PM_ERR;
		pm_sim_core.destroy(core);
	}
	err->file = trace;
	if (from) {
		if (pm_trace_open(trace, from, &src, &which, err) != PM_OK)
			return PM_ERR;
		src.ops->close(src.self);
		if (strcmp(which->name, "pug"))
			return pm_fail_file(err, "only .pug files can be read in parts; `pugmark "
					    "convert -f %s` makes one of it", from);
	}
	s = pm_walk_facts(trace, &f, &why, err);
	if (s == PM_END)
		return pm_fail_file(err, "%s; `pugmark convert` makes a .pug of it", why);
	missing = pm_sim_core.needs & ~f.facts & ~(f.facts & PM_HAS_BLOCKS ? PM_HAS_BRANCHES : 0u);
	if (s || !missing)
		return s;
	pm_fact_names(missing, names, sizeof names);
	return pm_fail_file(err, "%s hold no %s; samples of a core need them (`pugmark run --exec` "
			    "traces them)", f.plural, names);
}

/* Which estimates are not as sure as they should be. */
static void note_missed(const struct pm_sample_result *r, const char *const *config,
			const struct pm_sample_opts *o)
{
	for (size_t k = 0; config[k]; k++)
		if (!r->core[k].reached)
			manners_note("%s: an error of %g %% takes about %llu windows; there is "
				     "room for %llu with %g %% of the instructions in time "
				     "(--most)", *config[k] ? config[k] : "default core",
				     100 * o->error, (unsigned long long)r->core[k].needed,
				     (unsigned long long)r->core[k].windows, 100 * o->most);
}

int cmd_sample(int argc, char **argv)
{
	struct pm_sample_opts o = PM_SAMPLE_DEFAULTS;
	const char *store = NULL, *json = NULL, *from = NULL;
	double error = 100 * o.error, confidence = 100 * o.confidence, most = 100 * o.most;
	struct pm_opt_list cores = { 0 };
	uint64_t every = UINT64_MAX, jobs = pm_processors();
	const struct pm_opt opts[] = {
		OPT_HEAD("What is simulated"),
		OPT_LIST('c', "core", &cores, "CONFIG",
			 "a core, as `--sim core:CONFIG` of `pugmark sim`; may be repeated"),
		OPT_HEAD("How sure"),
		OPT_REAL(0, "error", &error, "PERCENT", 0, 100,
			"stop once the estimate is that sure (2%); 0: use all windows"),
		OPT_REAL(0, "confidence", &confidence, "PERCENT", 50, 99.99,
			"that the truth is inside the interval (95%)"),
		OPT_REAL(0, "most", &most, "PERCENT", 0.0001, 100,
			"of all instructions, so many in time at most (1%)"),
		OPT_HEAD("Windows"),
		OPT_RANGE(0, "window", &o.window, "N", 1, SAMPLE_PART_MOST,
			"instructions measured in one (1000); only "
			"for multiples of 1000 the store's counts serve"),
		OPT_RANGE(0, "warmup", &o.warmup, "N", 0, SAMPLE_PART_MOST,
			"... in time before it, not measured (2000)"),
		OPT_U64(0, "training", &o.training, "N",
			"... before these, for predictors and prefetchers (200k)"),
		OPT_U64(0, "branches", &o.branches, "N",
			"branches before these, of which predictors are told (100k)"),
		OPT_COUNT(0, "period", &o.period, "N",
			"instructions for each window, on average (default: as --most allows)"),
		OPT_U64(0, "seed", &o.seed, "N", "of the windows' places in their periods (1)"),
		OPT_HEAD("Store"),
		OPT_STR(0, "store", &store, "FILE", "use the store in FILE, or make it"),
		OPT_RANGE(0, "every", &every, "N", 1, PM_WARM_EVERY_MAX,
			"instructions of an interval of it (100k); only "
			"multiples of 1000 have counts"),
		OPT_HEAD("Input and output"),
		OPT_STR('f', "from", &from, "FORMAT", "input format: pug (default: guess)"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, 256, "threads (default: processors)"),
		OPT_STR(0, "json", &json, "FILE", "results as JSON; '-' is standard output"),
		OPT_END
	};
	struct pm_sample_result got = { 0 };
	struct pm_warm warm = { 0 };
	struct pm_err err = { 0 };
	const char **config;
	enum pm_status s;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1)
		pm_opt_usage(&help, argc ? "only one FILE" : "missing FILE");
	NAMED_FILES_CHECK(&help, { "FILE", argv[0], false }, { "--store", store, true },
			  { "--json", json, true });
	o.threads = (unsigned)jobs;
	o.error = error / 100;
	o.confidence = confidence / 100;
	o.most = most / 100;
	config = pm_alloc((cores.n + 2) * sizeof *config);
	config[0] = "";
	for (unsigned i = 0; i < cores.n; i++)
		config[i] = cores.v[i];
	s = check(argv[0], from, config, &err);
	if (!s)
		s = store_of(store, argv[0], every, &o, &warm, &err);
	if (!s) {
		err.file = argv[0];
		s = pm_sample_run(argv[0], &warm, config, &o, &got, &err);
	}
	if (!s) {
		struct pm_result *r = pm_result_for("sample");

		pm_sample_put(&got, config, &o, &warm, r);
		note_missed(&got, config, &o);
		err.file = NULL;
		s = pm_result_show(r, 20, json, &err);
		pm_result_free(r);
	}
	pm_sample_release(&got);
	pm_warm_release(&warm);
	free(config);
	return s ? traces_fail(&err) : 0;
}
