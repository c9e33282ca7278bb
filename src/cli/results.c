/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/calls.h"
#include "analyse/i486.h"
#include "analyse/sims.h"
#include "analyse/thread_counts.h"
#include "base/result.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/results.h"
#include "cli/traces.h"
#include "trace/format.h"
#include "report/flame_html.h"
#include "report/html.h"
#include "report/listing_page.h"
#include "report/out.h"
#include "report/result_view.h"
#include "report/threads_html.h"
#include "report/width.h"

/* A page has one if somebody asks who called whom. */
static bool wants_flame_graph(const struct results *o, struct pm_pipeline *p)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		if (ops == &pm_sim_calls)
			return true;
	return tree_outputs_described(&o->tree);
}

static enum pm_status no_costs(struct pm_err *err)
{
	return pm_fail_file(err, "none of the simulators counts per instruction; cachegrind, "
			    "cache:...;byinsn, bpred and core:byinsn do");
}

/* Code can be listed with its costs if a simulator counts for each instruction what @o shows. */
static enum pm_status check_listing(struct pm_pipeline *p, const struct pm_listing_opts *o,
				    struct pm_err *err)
{
	struct pm_costs columns = { 0 };
	const struct pm_sink_ops *ops;
	enum pm_status s;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		pm_sim_costs(ops, self, &columns);
	s = columns.ncolumn ? pm_listing_check(&columns, o, err) : no_costs(err);
	pm_costs_release(&columns);
	return s;
}

void results_check_files(const struct results *o, const struct pm_opt_help *help,
			 char *const *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		NAMED_FILES_CHECK(help, { "FILE", in[i], false }, { "-o", o->text, true },
				  { "--json", o->json, true }, { "--csv", o->csv, true },
				  { "--parquet", o->parquet, true }, { "--html", o->html, true },
				  { "--callgrind", o->callgrind, true },
				  { "--folded", o->tree.folded, true },
				  { "--speedscope", o->tree.speedscope, true },
				  { "--pprof", o->tree.pprof, true });
}

enum pm_status results_begin(struct results *o, struct pm_pipeline *p, uint32_t facts,
			     struct pm_err *err)
{
	const char *const to[] = { o->json, o->csv, o->parquet, o->html, o->callgrind,
		o->annotate_to, o->text };
	const struct pm_sink_ops *ops;
	void *self;

	if (pm_report_can_save(to, NR(to), err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		for (unsigned k = 0; k < o->object.n; k++) {
			struct pm_names *n = pm_sim_names(ops, self);

			if (n && pm_names_add(n, o->object.v[k], err))
				return PM_ERR;
		}
	if (o->html)
		o->ran = pm_threads_add(p);
	if (tree_outputs_begin(&o->tree, p, facts, o->html && wants_flame_graph(o, p), err) !=
	    PM_OK)
		return PM_ERR;
	if (!o->annotate && !o->html && !o->callgrind && !o->annotate_to)
		return PM_OK;
	if ((o->annotate || o->callgrind || o->annotate_to) &&
	    check_listing(p, &o->listing, err) != PM_OK)
		return PM_ERR;
	o->listed = true;
	pm_annotator_add(&o->a, p, facts, o->callgrind);
	for (unsigned i = 0; i < o->object.n; i++)
		if (pm_names_add(pm_annotator_names(&o->a), o->object.v[i], err))
			return PM_ERR;
	return PM_OK;
}

static enum pm_status page(struct results *o, const struct pm_result *r, struct pm_listing *l,
			   struct pm_pipeline *p, const char *title, const char *file,
			   struct pm_err *err)
{
	struct pm_listing_page *code = NULL;
	struct pm_overview first = { .processes = o->processes, .threads = o->threads };
	unsigned event;
	const struct pm_tree *tree = tree_outputs_tree(&o->tree, &event);
	enum pm_status s = PM_OK;
	struct pm_html h;

	if (l && !(code = pm_listing_page_new(l, &o->listing, err)))
		return PM_ERR;
	if (code)
		pm_listing_page_overview(code, &first);
	if (o->ran)
		pm_threads_overview(o->ran, &first);
	pm_result_overview(r, file, &first);
	pm_html_begin(&h, pm_overview_text(&first, "%s: %s", title, first.command ?
		first.command : file),
		      first.command);
	pm_overview_html(&first, &h);
	if (code)
		pm_listing_page_html(code, &h);
	if (tree)
		pm_flame_html(&h, tree, event);
	pm_result_html_into(r, &h);
	if (o->ran)
		pm_threads_html(&h, o->ran);
	s = pm_html_finish(&h, o->html, err);
	pm_html_release(&h);
	pm_overview_release(&first);
	pm_listing_page_free(code);
	return s;
}

static enum pm_status save(const char *path, struct pm_buf *b, struct pm_err *err)
{
	enum pm_status s = pm_file_save(path, b, err);

	b->n = 0;
	return s;
}

/* What there is to say of a part says that it is of a part. */
static enum pm_status text(struct results *o, struct pm_listing *l, struct pm_result *r,
			   size_t width, struct pm_buf *to, struct pm_err *err)
{
	enum pm_status s = PM_OK;
	size_t first;

	if (o->partial)
		pm_buf_printf(to, PARTIAL_REPORT);
	first = to->n;
	if (o->annotate)
		s = pm_listing_print(l, &o->listing, to, err);
	else
		pm_result_text(r, (unsigned)o->rows, width, to);
	if (to->n == first)
		to->n = 0;
	return s;
}

/* What went wrong first is what is said in the end. */
static void keep_first(enum pm_status got, struct pm_err *wrong, enum pm_status *s,
		       struct pm_err *err)
{
	if (got != PM_OK && *s == PM_OK) {
		*s = got;
		*err = *wrong;
	}
	*wrong = (struct pm_err){ 0 };
}

/* All files that are wanted. One that cannot be written keeps no other one away: what is in them
 * may have taken hours. */
static enum pm_status save_files(struct results *o, struct pm_pipeline *p, struct pm_result *r,
				 struct pm_listing *l, const char *title, const char *subtitle,
				 struct pm_err *err)
{
	struct pm_buf out = { 0 };
	struct pm_err wrong = { 0 };
	enum pm_status s = PM_OK, got;

	if (o->callgrind) {
		pm_listing_callgrind(&o->a, &out);
		keep_first(save(o->callgrind, &out, &wrong), &wrong, &s, err);
	}
	if (o->annotate_to) {
		got = pm_listing_print(l, &o->listing, &out, &wrong);
		if (!got)
			got = save(o->annotate_to, &out, &wrong);
		out.n = 0;
		keep_first(got, &wrong, &s, err);
	}
	keep_first(tree_outputs_end(&o->tree, subtitle, &wrong), &wrong, &s, err);
	if (o->html)
		keep_first(page(o, r, l, p, title, subtitle, &wrong), &wrong, &s, err);
	got = o->annotate && (o->json || o->csv || o->parquet) ?
		pm_listing_result(l, &o->listing, r, &wrong) : PM_OK;
	keep_first(got, &wrong, &s, err);
	if (!got && o->json) {
		pm_result_json(r, &out);
		keep_first(save(o->json, &out, &wrong), &wrong, &s, err);
	}
	if (!got && o->csv) {
		pm_result_csv(r, &out);
		keep_first(save(o->csv, &out, &wrong), &wrong, &s, err);
	}
	if (!got && o->parquet) {
		got = pm_result_parquet(r, &out, &wrong);
		if (!got)
			got = save(o->parquet, &out, &wrong);
		keep_first(got, &wrong, &s, err);
	}
	pm_buf_release(&out);
	return s;
}

enum pm_status results_end(struct results *o, struct pm_pipeline *p, struct pm_result *r,
			   const char *title, const char *subtitle, struct pm_err *err)
{
	struct pm_listing *l = o->listed ? pm_annotator_listing(&o->a, p) : NULL;
	bool taken = (o->json && !strcmp(o->json, "-")) || (o->csv && !strcmp(o->csv, "-")) ||
		(o->parquet && !strcmp(o->parquet, "-")) ||
		(o->callgrind && !strcmp(o->callgrind, "-")) ||
		(o->tree.folded && !strcmp(o->tree.folded, "-")) ||
		(o->tree.speedscope && !strcmp(o->tree.speedscope, "-")) ||
		(o->tree.pprof && !strcmp(o->tree.pprof, "-"));
	struct pm_buf out = { 0 };
	struct pm_err wrong = { 0 };
	const size_t width = pm_report_width(o->to_stderr ? STDERR_FILENO : o->text ?
		-1 : STDOUT_FILENO);
	enum pm_status s, got;

	o->listing.top = o->top;
	o->listing.width = pm_report_width(-1);
	if ((o->annotate || o->callgrind || o->annotate_to) && !l)
		return no_costs(err);
	s = save_files(o, p, r, l, title, subtitle, err);
	o->listing.width = width;
	if (!o->quiet && !(taken && !o->text && !o->to_stderr)) {
		got = text(o, l, r, width, &out, &wrong);
		if (!got && o->to_stderr && (fwrite(out.p, 1, out.n, stderr) != out.n ||
					     fflush(stderr)))
			got = pm_fail_errno(&wrong, "cannot write the report");
		else if (!got && !o->to_stderr)
			got = save(o->text ? o->text : "-", &out, &wrong);
		keep_first(got, &wrong, &s, err);
	}
	pm_buf_release(&out);
	return s;
}

void results_release(struct results *o)
{
	pm_annotator_release(&o->a);
	tree_outputs_release(&o->tree);
}

int results_stored(struct results *o, const char *file, const char *title, struct pm_err *err)
{
	enum pm_status s = o->tree.event || tree_outputs_wanted(&o->tree) ?
		pm_fail_request(err, "a stored profile has no calling contexts: they need a "
				"trace") : pm_annotator_stored(&o->a, file, err);
	struct pm_pipeline *none = pm_pipeline_new();
	struct pm_result *r = pm_result_for(o->annotate ? "annotate" : "sim");

	for (unsigned i = 0; i < o->object.n && !s; i++)
		s = pm_names_add(pm_annotator_names(&o->a), o->object.v[i], err);
	o->listed = true;
	if (!s)
		s = results_end(o, none, r, title, file, err);
	results_release(o);
	pm_pipeline_free(none);
	pm_result_free(r);
	return s ? traces_fail(err) : 0;
}

/* What a simulator cannot know of this trace though it needs nothing that is missing. */
static void note_unknown(const struct pm_pipeline *p, const struct pm_format *which,
			 uint32_t facts, const char *file)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		if (ops == &pm_sim_i486 && !(facts & PM_HAS_BYTES)) {
			manners_note("%s holds no instruction bytes: to 'i486' each instruction "
				     "takes one cycle%s", file,
				     strncmp(which->name, "idt-exec", 8) ? "" :
				     " (-f idt-exec:binary=PROGRAM says where they are)");
			return;
		}
}

#define HEAP	(32u << 20)	/* that a thread needs, about: code, tables, what leaves caches */

/* Those that can be split are, for -j; are there others? */
static bool split_run(struct results *o, struct pm_pipeline *p, const char *file)
{
	struct pm_buf names = { 0 };
	const char *why;
	size_t left;

	pm_heap_ahead(HEAP * o->jobs);
	pm_sims_split(p, file, (unsigned)o->jobs, &left, &names, &why);
	if (why)
		manners_note("%s: %s: it is simulated in order", file, why);
	else if (left)
		manners_note("in order, on one thread each: %s (reuse distances, and caches and "
			     "TLBs whose sets have nothing in common, are split)",
			     (const char *)names.p);
	pm_buf_release(&names);
	return left;
}

int results_run(struct results *o, enum pm_status s, struct pm_pipeline *p, struct pm_source *src,
		const struct pm_format *which, uint32_t facts, const char *title, const char *file,
		struct pm_err *err)
{
	struct pm_result *r = pm_result_for(o->annotate ? "annotate" : "sim");
	struct progress progress = { 0 };
	struct pm_err later = { 0 };
	enum pm_status read = PM_OK;
	bool rest = true;

	if (!s)
		s = results_begin(o, p, facts, err);
	if (!s)
		manners_tell("%s: %s", file, which->plural);
	if (!s)
		s = pm_sims_check(p, src->facts, which->plural, err);
	if (!s)
		s = progress_start(&progress, p, src, which->plural, err);
	if (!s)
		note_unknown(p, which, src->facts, file);
	if (!s && o->jobs > 1)
		rest = split_run(o, p, file);
	/* of a damaged trace, what came before the damage is shown */
	if (!s && !rest)
		read = pm_pipeline_finish(p, r, err);
	else if (!s)
		read = pm_pipeline_run(p, progress_begin(&progress, src), r, err);
	progress_end(&progress);
	o->partial = pm_pipeline_partial(p);
	o->quiet |= o->partial && rest && pm_pipeline_starved(p);	/* zeros say nothing */
	if (pm_pipeline_unmade(p))
		s = read;
	if (!s)
		s = results_end(o, p, r, title, file, read ? &later : err);
	results_release(o);
	pm_pipeline_free(p);
	if (src->ops)
		src->ops->close(src->self);
	pm_result_free(r);
	return s || read ? traces_fail(err) : 0;
}
