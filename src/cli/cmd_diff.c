/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/stored.h"
#include "analyse/tree_read.h"
#include "analyse/tree_sink.h"
#include "base/json.h"
#include "base/whole_file.h"
#include "cli/named_files.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "report/diff_report.h"
#include "report/out.h"
#include "report/width.h"

#define STATUS_BROKEN	3

static const struct pm_opt_help help = {
	"pugmark diff [options] A B",
	"Compare two profiles, results or traces. Both are the same kind of file: what a command "
	"wrote with\n"
	"--json; a stored profile, by --callgrind or `pugmark run --counts`; folded stacks, by "
	"--folded; or a\n"
	"trace. Of profiles and results,\n"
	"functions, lines, blocks and totals are matched by their names, wherever the code was "
	"loaded. Of traces,\n"
	"each thread's first event that differs is shown with what stands around it.",
	"  pugmark run -q --json a.json -- ./old; pugmark run -q --json b.json -- ./new\n"
	"  pugmark diff a.json b.json\n"
	"  pugmark diff --fail-if 'instructions>+1%' a.json b.json     a gate: exit status 3\n"
	"  pugmark diff --fail-if 'function parse instructions>+1000' a.json b.json\n"
	"  pugmark run -q --sim cachegrind --callgrind a.cg -- ./old   misses by line, too\n"
	"  pugmark diff --measure D1mr --html diff.html a.cg b.cg\n"
	"  pugmark diff --html flame.html a.folded b.folded            two flame graphs in one\n"
	"  pugmark diff --events insn a.pug b.pug                      where control parts\n\n"
	"A condition is [TABLE PATTERN] MEASURE OP BOUND, or `different`. OP is >, >=, < or <=. "
	"BOUND is a\n"
	"number that B must not reach; or with + or - in front the change from A, which % behind "
	"it makes a\n"
	"share of A. Suffixes k, M, G. MEASURE is a total (`instructions`, `cache.l1d.misses`) or "
	"the end of its\n"
	"name (`misses`: each of them). TABLE PATTERN names rows: `function main`, `object "
	"libz*`, `mix mov`.\n\n"
	"Exit status: 0, whether the two differ or not, if no condition is broken; 3 if one is; "
	"1 if a file\n"
	"cannot be compared; 2 for a usage error, and for a condition on what is not there.",
};

enum diff_kind { DIFF_JSON, DIFF_STORED, DIFF_FOLDED, DIFF_TRACE };

static enum diff_kind kind_of(const char *path, const char *format)
{
	if (format)
		return DIFF_TRACE;
	return pm_json_is(path) ? DIFF_JSON : pm_stored_is(path) ? DIFF_STORED :
		pm_tree_is_folded(path) ? DIFF_FOLDED : DIFF_TRACE;
}

/* "insn,read,write" */
static uint64_t kinds_named(const char *names)
{
	uint64_t kinds = 0;

	while (*names) {
		size_t n = strcspn(names, ",");
		unsigned k = 1;

		while (k < PM_EV_COUNT && (!pm_kind_name(k) || strlen(pm_kind_name(k)) != n ||
					   memcmp(pm_kind_name(k), names, n)))
			k++;
		if (k == PM_EV_COUNT)
			pm_opt_usage(&help, "'%.*s' is no kind of event: insn, read, write, "
				     "modify, branch, syscall...", (int)n, names);
		kinds |= 1ull << k;
		names += n + (names[n] == ',');
	}
	return kinds;
}

struct diff_files {
	char *path[2];
	struct pm_diff_trace_opts traces;
	struct pm_diff_side side[2];
	struct pm_diff_threads threads;
	bool are_traces, wants_trees;
	struct pm_tree folded[2];
	struct pm_pipeline *pipeline[2];	/* what made the trees of traces */
	const struct pm_tree *tree[2];
};

static const char *const kind_names[] = { "a JSON document", "a stored profile",
	"folded stacks", "a trace" };

/* A pipe can be read once, so nobody has looked at what is in it: it is taken for a trace. */
static bool is_pipe(const char *path)
{
	struct stat s;

	return !strcmp(path, "-") || (!stat(path, &s) && !S_ISREG(s.st_mode));
}

/* The calling contexts of trace @i, if it has what they need. */
static enum pm_status make_tree(struct diff_files *f, unsigned i, struct pm_err *err)
{
	const struct pm_format *which = NULL;
	struct pm_source src = { 0 };
	enum pm_status s = replayed_open(f->path[i], f->traces.format[i], &src, &which, err);
	void *sink;

	if (s)
		return s;
	if (!(src.facts & pm_sim_tree.ops.needs)) {
		src.ops->close(src.self);
		return PM_OK;
	}
	f->pipeline[i] = pm_pipeline_new();
	s = pm_pipeline_sink_new(f->pipeline[i], &pm_sim_tree.ops, "", err);
	if (!s)
		s = pm_pipeline_run(f->pipeline[i], &src, NULL, err);
	src.ops->close(src.self);
	pm_pipeline_sink_at(f->pipeline[i], 0, &sink);
	if (!s)
		f->tree[i] = pm_sim_tree_of(sink);
	return s;
}

static enum pm_status read_folded(struct diff_files *f, unsigned i, struct pm_err *err)
{
	f->side[i].file = f->path[i];
	f->side[i].kind = "folded stack";
	pm_tree_init(&f->folded[i], UINT32_MAX, UINT32_MAX);
	f->tree[i] = &f->folded[i];
	if (pm_tree_read_folded(&f->folded[i], f->path[i], err))
		return PM_ERR;
	pm_diff_add_tree(f->side + i, &f->folded[i]);
	return PM_OK;
}

static enum pm_status read_traces(struct diff_files *f, struct pm_err *err)
{
	enum pm_status s = pm_diff_traces((const char *const *)f->path, &f->traces, f->side,
					  f->side + 1, &f->threads, err);

	for (unsigned i = 0; i < 2 && !s && f->wants_trees; i++)
		if (strcmp(f->path[i], "-"))
			s = make_tree(f, i, err);
	return s;
}

/* What is nothing else may be no trace either. */
static bool is_trace(const char *path, const char *format, struct pm_err *err)
{
	const struct pm_format *which;
	struct pm_source src;

	if (pm_trace_open(path, format, &src, &which, err) != PM_OK)
		return false;
	src.ops->close(src.self);
	return true;
}

static enum pm_status read_both(struct diff_files *f, struct pm_err *err)
{
	enum diff_kind kind[2];

	for (unsigned i = 0; i < 2; i++) {
		if (access(f->path[i], R_OK) && strcmp(f->path[i], "-")) {
			err->file = f->path[i];
			return pm_fail_errno(err, "cannot open");
		}
		kind[i] = kind_of(f->path[i], f->traces.format[i]);
	}
	for (unsigned i = 0; i < 2 && kind[0] != kind[1]; i++)
		if (kind[i] == DIFF_TRACE && is_pipe(f->path[i])) {
			err->file = f->path[i];
			return pm_fail_file(err, "from a pipe only a trace can be compared; %s is "
					    "%s", f->path[!i], kind_names[kind[!i]]);
		}
	for (unsigned i = 0; i < 2 && kind[0] != kind[1]; i++)
		if (kind[i] == DIFF_TRACE && !is_trace(f->path[i], f->traces.format[i], err))
			return PM_ERR;
	if (kind[0] != kind[1]) {
		err->file = f->path[1];
		return pm_fail_file(err, "%s cannot be compared with %s, which is %s",
				    kind_names[kind[1]], f->path[0], kind_names[kind[0]]);
	}
	f->are_traces = kind[0] == DIFF_TRACE;
	if (f->are_traces)
		return read_traces(f, err);
	for (unsigned i = 0; i < 2; i++)
		if (kind[i] == DIFF_FOLDED ? read_folded(f, i, err) :
		    (kind[i] == DIFF_JSON ? pm_diff_read_json : pm_diff_read_stored)
		    (f->side + i, f->path[i], err))
			return PM_ERR;
	return PM_OK;
}

struct diff_outputs { const char *text, *json, *html; bool quiet; };

static enum pm_status write_outputs(const struct diff_outputs *to, const struct pm_diff_report *o,
				    struct pm_err *err)
{
	struct pm_result *r = pm_result_for("diff");
	struct pm_buf b = { 0 };
	enum pm_status s = PM_OK;

	err->file = NULL;
	if (to->json) {
		pm_diff_result(o, r);
		pm_result_json(r, &b);
		s = pm_file_save(to->json, &b, err);
		b.n = 0;
	}
	if (!s && to->html)
		s = pm_diff_html(o, to->html, err);
	if (!s && (to->text || (!to->quiet && !(to->json && !strcmp(to->json, "-"))))) {
		pm_diff_text(o, pm_report_width_of(to->text ? to->text : "-"), &b);
		s = pm_file_save(to->text ? to->text : "-", &b, err);
	}
	pm_buf_release(&b);
	pm_result_free(r);
	return s;
}

static int compare_files(struct diff_files *f, struct pm_diff_report *o,
			 struct pm_diff_gate *gate, const struct diff_outputs *to)
{
	struct pm_err err = { 0 };
	struct pm_diff d = { 0 };
	bool broken = false;
	int status = 0;
	enum pm_status s = read_both(f, &err);

	if (!s && f->traces.kinds && !f->are_traces)
		pm_opt_usage(&help, "--events is for traces");
	if (!s) {
		err.file = f->path[1];
		s = pm_diff_new(&d, f->side, f->side + 1, &err);
	}
	if (!s && o->measure) {
		err.file = NULL;
		s = pm_diff_has_measure(&d, o->measure, &err);
	}
	o->d = &d;
	o->threads = f->are_traces ? &f->threads : NULL;
	memcpy(o->tree, f->tree, sizeof o->tree);
	for (size_t i = 0; i < o->ngate && !s; i++) {
		err.file = NULL;
		s = pm_diff_gate_ask(gate + i, &d, f->are_traces && f->threads.differ, &err);
		broken |= gate[i].broken;
	}
	if (!s)
		s = write_outputs(to, o, &err);
	if (s)
		status = traces_fail(&err);
	pm_diff_release(&d);
	return status ? status : broken ? STATUS_BROKEN : 0;
}

int cmd_diff(int argc, char **argv)
{
	struct pm_opt_list conditions = { 0 };
	struct pm_diff_report o = { .rows = 10 };
	struct diff_outputs to = { 0 };
	struct diff_files f = { 0 };
	struct pm_diff_gate *gate;
	struct pm_err err = { 0 };
	const char *from = NULL, *events = NULL;
	uint64_t rows = 10;
	const struct pm_opt opts[] = {
		OPT_LIST(0, "fail-if", &conditions, "CONDITION",
			 "exit with status 3 if it is true, as 'instructions>+1%'"),
		OPT_STR('m', "measure", &o.measure, "NAME",
			"tables show this measure (default: the first that differs)"),
		OPT_COUNT('n', "rows", &rows, "N", "rows of a table (default: 10)"),
		OPT_HEAD("Traces"),
		OPT_STR('f', "from", &from, "FORMAT", "input format of both (default: guess)"),
		OPT_STR('e', "events", &events, "A,B...",
			"compare only events of these kinds: insn, read, write..."),
		OPT_HEAD("Output"),
		OPT_STR('o', "output", &to.text, "FILE", "the text goes to FILE"),
		OPT_STR(0, "json", &to.json, "FILE", "all of it as JSON; '-' is standard output"),
		OPT_STR(0, "html", &to.html, "FILE", "the same as one HTML page"),
		OPT_FLAG('q', "quiet", &to.quiet, "no text on standard output"),
		OPT_END
	};
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 2)
		pm_opt_usage(&help, argc > 2 ? "only two files" : argc ? "missing B" :
			     "missing A and B");
	if (!strcmp(argv[0], "-") && !strcmp(argv[1], "-"))
		pm_opt_usage(&help, "standard input can be A or B, not both");
	NAMED_FILES_CHECK(&help, { "A", argv[0], false }, { "B", argv[1], false },
			  { "-o", to.text, true }, { "--json", to.json, true },
			  { "--html", to.html, true });
	o.rows = rows;
	gate = pm_alloc((conditions.n + 1) * sizeof *gate);
	for (unsigned i = 0; i < conditions.n; i++)
		if (pm_diff_gate_read(gate + i, conditions.v[i], &err)) {
			for (unsigned k = 0; k <= i; k++)
				pm_diff_gate_release(gate + k);
			free(gate);
			return traces_fail(&err);
		}
	o.gate = gate;
	o.ngate = conditions.n;
	f.path[0] = argv[0];
	f.path[1] = argv[1];
	f.traces.format[0] = f.traces.format[1] = from;
	f.wants_trees = to.html;
	f.traces.kinds = events ? kinds_named(events) : 0;
	status = compare_files(&f, &o, gate, &to);
	for (unsigned i = 0; i < conditions.n; i++)
		pm_diff_gate_release(gate + i);
	free(gate);
	pm_diff_threads_release(&f.threads);
	for (unsigned i = 0; i < 2; i++) {
		pm_diff_side_release(f.side + i);
		pm_tree_release(&f.folded[i]);
		pm_pipeline_free(f.pipeline[i]);
	}
	return status;
}
