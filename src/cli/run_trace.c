/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/counted_moves.h"
#include "analyse/coverage.h"
#include "analyse/names.h"
#include "analyse/sims.h"
#include "base/mem.h"
#include "base/result.h"
#include "cli/run_trace.h"
#include "cli/manners.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "report/coverage_report.h"
#include "trace/each_process.h"
#include "report/out.h"
#include "trace/format.h"
#include "trace/sinks.h"
#include "elf/find.h"
#include "transform/lines.h"
#include "transform/only_threads.h"
#include "transform/region.h"

static bool has_region(const struct run_trace *t)
{
	return t->start_at || t->stop_at || t->after || t->length || t->every || t->exclude.n;
}

const char *run_trace_wrong(const struct run_trace *t)
{
	struct pm_point p;
	uint64_t line;

	if (t->branch + t->exec + !!t->cache > 1)
		return "--branch, --cache and --exec exclude each other";
	if (t->cache && *t->cache &&
	    (!pm_parse_size(t->cache, &line) || line & (line - 1) || line < 4 || line > 32768))
		return "--cache expects a line size that is a power of two from 4 to 32768";
	if ((t->start_at && !pm_point_parse(t->start_at, &p)) ||
	    (t->stop_at && !pm_point_parse(t->stop_at, &p)))
		return "--start-at and --stop-at want a function, 0xADDRESS, a number of "
		       "instructions or SIGNAME";
	if (run_trace_wanted(t) && run_trace_to_file(t) && !t->silent && !strcmp(t->out, "-"))
		return "-o - would mix the trace with what the program prints; a FIFO or bash's "
		       "-o >(pugmark sim ... -) does not";
	if (t->every && t->length > t->every)
		return "--for cannot be more than --every";
	if (has_region(t) && !run_trace_wanted(t))
		return "regions are for traces: --branch, --cache or --exec";
	if (t->threads.n && !run_trace_wanted(t))
		return "--thread is for traces: --branch, --cache or --exec";
	return NULL;
}

/* Does the name of @out alone ask for a trace? A report may be called .json. */
static bool names_a_trace(const char *out)
{
	const struct pm_format *f = pm_format_by_name(out);

	return f && f->write && strcmp(f->name, "chrome");
}

bool run_writes_pug(const char *out, const char *format)
{
	struct pm_err none = { 0 };
	const struct pm_format *f = format ? pm_format_find(format, &none) : pm_format_by_name(out);

	return f && !strcmp(f->name, "pug");
}

static bool wants_coverage(const struct run_trace *t)
{
	return t->lcov || t->cobertura || t->drcov;
}

/* What is shown, and not only written. */
static bool has_shown_results(const struct run_trace *t)
{
	return t->count || t->sinks.n || t->sims.n || t->usual;
}

static bool wants_tree(const struct run_trace *t)
{
	const struct tree_outputs *o = &t->results.tree;

	return tree_outputs_wanted(o) || tree_outputs_described(o);
}

static bool has_results(const struct run_trace *t)
{
	return has_shown_results(t) || branch_outputs_wanted(&t->branches) || wants_coverage(t) ||
	       wants_tree(t);
}

bool run_trace_to_file(const struct run_trace *t)
{
	/* of what only counts, -o is the report, unless its name says otherwise */
	return t->out && !t->dump && (t->format || !has_results(t) || pm_format_by_name(t->out));
}

bool run_trace_wanted(const struct run_trace *t)
{
	return (t->out && names_a_trace(t->out)) || t->branch || t->exec || t->cache || t->count ||
	       t->dump || t->discard || t->format || has_results(t);
}

static bool wants_moves(const struct run_trace *t)
{
	return branch_outputs_wanted(&t->branches) || wants_coverage(t);
}

/* Does somebody want to know more than which blocks follow each other? */
static bool wants_more_than_blocks(const struct run_trace *t)
{
	return has_shown_results(t) || t->exec || t->cache || t->dump || t->discard || t->format;
}

/* A trace of blocks says all that is wanted. */
static bool needs_blocks_only(const struct run_trace *t)
{
	const bool tree = tree_outputs_need_blocks_only(&t->results.tree);

	return (wants_moves(t) || tree) && !wants_more_than_blocks(t) && !t->out &&
	       (!t->results.html || tree) && !t->results.callgrind && !t->results.annotate_to &&
	       (tree || !wants_tree(t));
}

bool run_edges_suffice(const struct run_trace *t, const struct pm_run_opts *o)
{
	const bool part = t->threads.n || t->start_at || t->stop_at || t->after || t->length ||
		t->every || t->exclude.n || o->pid;

	return wants_moves(t) && !wants_more_than_blocks(t) && !wants_tree(t) && !t->branch &&
	       !t->branches.predict && !part && !(t->out && names_a_trace(t->out)) &&
	       !pm_run_i386(o->argv[0]);
}

static enum pm_status add_sink(struct pm_pipeline *p, const char *spec, const char *config,
			       struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status st;

	pm_buf_printf(&b, "%s%s%s", spec, config ? ":" : "", config ? config : "");
	pm_buf_add(&b, "", 1);
	st = pm_sink_add(p, (const char *)b.p, pm_sims, err);
	pm_buf_release(&b);
	return st;
}

char *run_join_args(char **argv)
{
	struct pm_buf b = { 0 };

	for (char **a = argv; *a; a++)
		pm_buf_printf(&b, "%s%s", a == argv ? "" : " ", *a);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

static void describe(struct pm_pipeline *p, const struct pm_run_opts *o)
{
	char *args = run_join_args(o->argv);

	pm_pipeline_info(p, "program", o->argv[0]);
	pm_pipeline_info(p, "args", args);
	pm_pipeline_info(p, "isa", pm_run_i386(o->argv[0]) ? "x86-32" : "x86-64");
	pm_pipeline_info(p, "source", "run");
	pm_pipeline_info(p, "time", "ns");
	pm_pipeline_info(p, "kind", o->kind == XL_EXEC ? "execution" : "branch");
	free(args);
}

static size_t find_function(void *ctx, const char *path, const char *name, uint64_t **v)
{
	struct pm_err err = { 0 };
	struct pm_elf *e = pm_elf_open(path, NULL, &err);
	size_t n;

	(void)ctx;
	if (!e)
		return 0;
	n = pm_elf_find(e, name, v);
	pm_elf_close(e);
	return n;
}

/* No file had the function @name. */
static enum pm_status no_function(const void *region, const char *option, const char *name,
				  struct pm_err *err)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];
	const char *path;
	unsigned files = 0;

	for (size_t i = 0; (path = pm_region_file(region, i)); i++) {
		struct pm_err ignored = { 0 };
		struct pm_elf *e = pm_elf_open(path, NULL, &ignored);

		if (e)
			pm_elf_nearest(e, name, &near);
		files += e != NULL;
		pm_elf_close(e);
	}
	return pm_fail_file(err,
			    "%s: no function '%s' in the symbol tables of the %u files that ran%s",
			    option, name, files, pm_nearest_hint(&near, hint));
}

/* What was asked for and did not happen: an error if nothing could be traced for it, else a note.
 */
static enum pm_status check_region(const struct run_trace *t, const void *region, bool killed,
				   struct pm_err *err)
{
	struct pm_region_story s;

	if (!region)
		return PM_OK;
	err->file = NULL;
	pm_region_story(region, &s);
	if (killed && (t->start_at ? !s.reached[0] : t->after && !s.passed)) {
		manners_note("nothing is traced: the program was killed before");
		return PM_OK;
	}
	if (t->start_at && !s.known[0])
		return no_function(region, "--start-at", t->start_at, err);
	if (t->start_at && !s.reached[0])
		return pm_fail_file(err, "--start-at: '%s' was never reached, so nothing is traced",
				    t->start_at);
	if (t->stop_at && !s.known[1] && !killed)
		return no_function(region, "--stop-at", t->stop_at, err);
	if (t->after && !s.passed && !t->exclude.n)
		return pm_fail_file(err,
				    "--after: the program ended before so many instructions%s, so "
				    "nothing is traced",
				    t->start_at ? " behind the start" : "");
	if (t->stop_at && s.reached[1] && !s.passed && !t->exclude.n)
		return pm_fail_file(err,
				    "--stop-at: '%s' comes no later than where tracing begins, so "
				    "nothing is traced", t->stop_at);
	if (t->stop_at && !s.reached[1])
		manners_note("--stop-at: '%s' was never reached", t->stop_at);
	return PM_OK;
}

/* Everything that the options ask for; *@facts: what the last sinks will see. *@region, *@threads:
 * the pipeline's, or NULL. */
static enum pm_status build(struct run_trace *t, const struct pm_run_opts *o, struct pm_pipeline *p,
			    uint32_t line, const void **cracker, uint32_t *facts, void **region,
			    void **threads, struct pm_err *err)
{
	const struct pm_format *f = NULL;
	uint32_t needs;

	*facts = pm_run_facts(o->kind);
	describe(p, o);
	pm_names_for_sinks(p);
	if (has_region(t)) {
		struct pm_region r = { .after = t->after, .length = t->length, .every = t->every,
				       .exclude = t->exclude.v, .nexclude = t->exclude.n,
				       .find = find_function };

		if (t->start_at)
			pm_point_parse(t->start_at, &r.start);
		if (t->stop_at)
			pm_point_parse(t->stop_at, &r.stop);
		*region = pm_region_new(&r);
		pm_pipeline_transform(p, &pm_region_ops, *region);
	}
	if (t->threads.n) {
		*threads = pm_only_threads_new(t->threads.v, t->threads.n);
		pm_pipeline_transform(p, &pm_only_threads_ops, *threads);
	}
	if (line) {
		pm_pipeline_transform(p, &pm_lines_ops, pm_lines_new(line));
		*facts = (*facts & ~pm_lines_ops.removes) | pm_lines_ops.adds;
	}
	if (t->count && add_sink(p, "count", NULL, err) != PM_OK)
		return PM_ERR;
	for (unsigned i = 0; i < t->sinks.n; i++)
		if (add_sink(p, t->sinks.v[i], NULL, err) != PM_OK)
			return PM_ERR;
	for (unsigned i = 0; i < t->sims.n; i++)
		if (add_sink(p, t->sims.v[i], NULL, err) != PM_OK)
			return PM_ERR;
	if (t->usual && traces_add_usual(p, *facts, err) != PM_OK)
		return PM_ERR;
	if (wants_coverage(t) && pm_pipeline_sink_new(p, &pm_sim_coverage, "", err) != PM_OK)
		return PM_ERR;
	if (branch_outputs_begin(&t->branches, p, err) != PM_OK ||
	    results_begin(&t->results, p, *facts, err) != PM_OK)
		return PM_ERR;
	if (t->dump && add_sink(p, "dump", t->out ? t->out : "-", err) != PM_OK)
		return PM_ERR;
	needs = pm_pipeline_needs(p);
	if (run_trace_to_file(t)) {
		f = t->format ? pm_format_find(t->format, err) : pm_format_by_name(t->out);
		if (!f && !t->format)
			return pm_fail_request(err,
					    "no format has names like '%s'; -t FORMAT says which "
					    "to write "
					    "(see `pugmark formats`)",
					    t->out);
		if (!f)
			return PM_ERR;
		needs |= f->needs;
	}
	*facts = pm_adapt(p, *facts, needs, cracker);
	if (!f)
		return PM_OK;
	return (pm_path_has_process(t->out) ? pm_trace_create_each : pm_trace_create)
		(p, t->out, t->format, *facts, err);
}

void run_begin_results(struct pm_result *r, char **argv, const struct pm_counts *c)
{
	pm_result_str(r, "pugmark", PM_VERSION);
	pm_result_begin_list(r, "program");
	for (char **a = argv; *a; a++)
		pm_result_str(r, NULL, *a);
	pm_result_end(r);
	pm_result_begin(r, "exit");
	if (c->status >= 0)
		pm_result_u64(r, "status", (uint64_t)c->status, NULL);
	else
		pm_result_null(r, "status");
	if (c->signal > 0)
		pm_result_u64(r, "signal", (uint64_t)c->signal, NULL);
	else
		pm_result_null(r, "signal");
	pm_result_end(r);
	pm_result_f64(r, "wall_s", c->wall_s, "s");
	pm_result_f64(r, "user_s", c->user_s, "s");
	pm_result_f64(r, "sys_s", c->sys_s, "s");
	pm_result_f64(r, "pugmark_s", c->own_s, "s");
	pm_result_u64(r, "trace_bytes", c->trace_bytes, "bytes");
}

static void begin_results(struct pm_result *r, const struct pm_run_opts *o,
			  const struct pm_counts *c, const struct pm_pipeline *pipeline,
			  const void *region, const void *threads)
{
	struct pm_region_story s;
	uint64_t insns = c->trace_insns;

	run_begin_results(r, o->argv, c);
	if (region) {
		pm_region_story(region, &s);
		insns = s.passed;
	}
	if (threads)
		insns = pm_only_threads_passed(threads);
	if (pipeline)
		pm_result_u64(r, "instructions", insns, "instructions");
	if (region || threads)
		pm_result_u64(r, "executed_instructions", region ? s.executed : c->trace_insns,
			      "instructions");
}

/* Into the files that were asked for. @cover is used up. */
static enum pm_status save_coverage(const struct run_trace *t, struct pm_cover *cover,
				    struct pm_err *err)
{
	struct pm_cover_files files;
	enum pm_status st = PM_OK;
	char dir[4096];

	if (t->drcov)
		st = pm_cover_drcov(cover, t->drcov, err);
	pm_cover_files(cover, &files);
	if (!files.n && (t->lcov || t->cobertura))
		manners_note("no debugging information, so there are no lines: build with -g");
	if (!st && t->lcov)
		st = pm_cover_lcov(&files, t->lcov, err);
	if (!st && t->cobertura)
		st = pm_cover_cobertura(&files, getcwd(dir, sizeof dir), t->cobertura, err);
	pm_cover_files_release(&files);
	pm_cover_release(cover);
	return st;
}

/* What the pipeline's sink for it has seen. */
static enum pm_status write_coverage(const struct run_trace *t, const struct pm_pipeline *p,
				     struct pm_err *err)
{
	const struct pm_sink_ops *ops;
	struct pm_cover cover;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		if (ops == &pm_sim_coverage)
			break;
	if (!ops)
		return PM_OK;
	pm_sim_coverage_of(self, &cover);
	return save_coverage(t, &cover, err);
}

enum pm_status run_can_write(const struct run_trace *t, struct pm_err *err)
{
	const char *const cover[] = { t->lcov, t->cobertura, t->drcov };

	return branch_outputs_check(&t->branches, err) == PM_OK ?
		pm_report_can_save(cover, NR(cover), err) : PM_ERR;
}

enum pm_status run_write_edges(const struct run_trace *t, const struct pm_counts *counts,
			       struct pm_branches *all, struct pm_err *err)
{
	enum pm_status st = PM_OK;
	struct pm_err late = { 0 };
	uint64_t lost;

	if (!pm_counts_have_moves(counts, &lost))
		manners_note("where 32-bit processes' indirect branches led is not known: "
			     "--branch traces them");
	if (lost)
		manners_note("where %" PRIu64 " indirect branches led is not known, for there "
			     "were too many targets: --branch traces them", lost);
	if (branch_outputs_wanted(&t->branches)) {
		pm_branches_of_counts(counts, all);
		st = branch_outputs_write(&t->branches, all, err);
	}
	if (wants_coverage(t)) {
		struct pm_cover cover;

		pm_cover_of_counts(counts, &cover);
		if (save_coverage(t, &cover, &late) != PM_OK && st == PM_OK) {
			*err = late;
			st = PM_ERR;
		}
	}
	return st;
}

/* Can the tree grow in the traced process, because it is all that is wanted? */
static bool grows(const struct run_trace *t, const struct pm_run_opts *o)
{
	const struct results *r = &t->results;
	const char *never = getenv("PUGMARK_NO_GROWING");

	return needs_blocks_only(t) && tree_outputs_need_blocks_only(&r->tree) && !t->branch &&
	       !wants_moves(t) && !r->html && !has_region(t) &&
	       !t->threads.n && !o->pid && !o->record && !o->replay && o->argv &&
	       !(never && *never == '1');
}

enum pm_status run_cut(const struct pm_counts *counts, enum pm_status st, struct pm_err *err,
		       struct pm_err *cut)
{
	if (st == PM_OK || !counts || !counts->cut)
		return st;
	*cut = *err;
	*err = (struct pm_err){ 0 };
	return PM_OK;
}

int run_tell(enum pm_status st, const struct pm_err *err, const struct pm_err *cut)
{
	return traces_fail(st != PM_OK ? err : cut);
}

int run_traced(struct run_trace *t, struct pm_run_opts *o, int *status, int *signal)
{
	const bool wants = t->dump || t->out || has_results(t);
	struct pm_err err = { 0 }, cut = { 0 };
	struct pm_pipeline *p = NULL;
	struct progress progress = { 0 };
	struct pm_growing growing;
	struct pm_counts *counts = NULL;
	struct pm_result *r;
	const void *cracker = NULL;
	void *region = NULL, *threads = NULL;
	enum pm_status st = PM_OK;
	int failed = 1;
	uint64_t line = 64;
	uint32_t facts = 0;

	r = pm_result_for(run_schema(t));
	o->kind = t->branch || needs_blocks_only(t) ? XL_BRANCH : XL_EXEC;
	if (t->cache && *t->cache)
		pm_parse_size(t->cache, &line);
	st = run_can_write(t, &err);
	if (wants && st == PM_OK) {
		p = pm_pipeline_new();
		pm_pipeline_threads(p, PM_THREADS_AUTO);
		st = build(t, o, p, t->cache ? (uint32_t)line : 0, &cracker, &facts, &region,
			   &threads, &err);
		if (st == PM_OK && t->progress)
			progress_sink(&progress, p);
		if (st == PM_OK)
			st = pm_pipeline_start(p, pm_run_facts(o->kind), "live traces", &err);
	}
	if (st == PM_OK) {
		o->pipeline = p;
		if (region) {
			o->enough = pm_region_over;
			o->enough_of = region;
		}
		if (grows(t, o)) {
			tree_outputs_growing(&t->results.tree, &growing);
			o->grow = &growing;
		}
		st = pm_run(o, &counts, &err);
		progress_end(&progress);
		st = run_cut(counts, st, &err, &cut);
	}
	if (counts) {
		struct pm_err late = { 0 };

		if (!t->schema)
			begin_results(r, o, counts, p, region, threads);
		t->results.processes = counts->nprocess;
		for (size_t i = 0; i < counts->nprocess; i++)
			t->results.threads += counts->process[i].nthread;
		*status = counts->status;
		*signal = counts->signal;
		if (p && pm_pipeline_finish(p, r, &late) != PM_OK && st == PM_OK) {
			err = late;
			st = PM_ERR;
		}
		pm_adapt_result(r, cracker);
		if (run_trace_to_file(t) && st == PM_OK)
			traces_note_losses(r, facts, t->format, t->out);
		if (st == PM_OK && wants_coverage(t))
			st = write_coverage(t, p, &err);
		t->results.quiet |= !has_shown_results(t);
		if (st == PM_OK)
			st = results_end(&t->results, p, r, "pugmark run", o->argv[0], &err);
		if (st == PM_OK)
			st = check_region(t, region, counts->signal > 0 || pm_failed(&cut), &err);
		if (st == PM_OK)
			st = branch_outputs_end(&t->branches, &err);
		pm_counts_free(counts);
	}
	if (st != PM_OK || pm_failed(&cut))
		failed = run_tell(st, &err, &cut);
	results_release(&t->results);
	pm_pipeline_free(p);
	pm_result_free(r);
	return st == PM_OK && !pm_failed(&cut) ? -1 : failed;
}
