/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/branch_perf.h"
#include "analyse/branch_propeller.h"
#include "base/file_pattern.h"
#include "base/whole_file.h"
#include "cli/branch_outputs.h"
#include "cli/manners.h"
#include "report/out.h"

bool branch_outputs_wanted(const struct branch_outputs *b)
{
	for (int i = 0; i < BRANCH_OUTPUTS; i++)
		if (b->to[i])
			return true;
	return false;
}

/* The caller's to free(). */
static char *order_name(const char *path)
{
	const size_t n = strlen(path);
	char *order = pm_alloc(n + sizeof ".order");

	memcpy(order, path, n);
	memcpy(order + n, ".order", sizeof ".order");
	return order;
}

static enum pm_status check_propeller(const struct branch_outputs *b, struct pm_err *err)
{
	const char *path = b->to[BRANCH_PROPELLER];
	char *order;

	if (!path)
		return PM_OK;
	if (!strcmp(path, "-"))
		return pm_fail_request(err, "--propeller writes two files, FILE and FILE.order: "
				       "not to standard output");
	order = order_name(path);
	for (int i = 0; i < BRANCH_OUTPUTS; i++)
		if (b->to[i] && !strcmp(b->to[i], order))
			pm_fail_request(err, "--propeller writes '%s', too", order);
	free(order);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status branch_outputs_check(const struct branch_outputs *b, struct pm_err *err)
{
	if (b->predict && !branch_outputs_wanted(b))
		return pm_fail_request(err, "--predict is for branch profiles: --bolt FILE and its "
				       "like");
	if (b->samples && !b->to[BRANCH_PERF])
		return pm_fail_request(err, "--perf-samples is for --perf-data FILE");
	if (check_propeller(b, err) != PM_OK)
		return PM_ERR;
	return pm_report_can_save(b->to, BRANCH_OUTPUTS, err);
}

enum pm_status branch_outputs_begin(struct branch_outputs *b, struct pm_pipeline *p,
				    struct pm_err *err)
{
	void *sink;

	if (branch_outputs_check(b, err) != PM_OK)
		return PM_ERR;
	if (!branch_outputs_wanted(b))
		return PM_OK;
	sink = pm_sim_branches.ops.create(b->predict ? "predict" : "", err);
	if (!sink)
		return PM_ERR;
	pm_pipeline_sink(p, &pm_sim_branches.ops, sink);
	b->sink = sink;
	return PM_OK;
}

/* @pattern with %n and %b of @o, terminated. */
static void file_name(const char *pattern, const struct pm_branch_object *o, struct pm_buf *to)
{
	const char *slash = strrchr(o->path, '/');
	const struct pm_pattern_value v[] = {
		{ 'n', slash ? slash + 1 : o->path },
		{ 'b', o->build_id ? o->build_id : "none" },
		{ 0 }
	};

	pm_pattern_expand(pattern, v, to);
}

/* What is in the file of @kind, behind what is in @to. */
static enum pm_status file_text(const struct branch_outputs *b, const struct pm_branch_object *o,
				int kind, struct pm_buf *to, struct pm_err *err)
{
	struct pm_branch_file f;
	enum pm_status st;

	if (kind == BRANCH_PERF)
		return pm_branch_perf_make(o, b->samples ? b->samples : PM_BRANCH_PERF_SAMPLES, to,
					   err);
	st = pm_branch_file_make(o, (enum pm_branch_format)kind, &f, err);
	if (st == PM_OK)
		pm_branch_file_text(&f, to);
	pm_branch_file_release(&f);
	return st;
}

/* Both files, or none. */
static enum pm_status save_propeller(const struct pm_branch_object *o, const char *path,
				     struct pm_err *err)
{
	char *order = order_name(path);
	struct pm_err wrong = { 0 };
	struct pm_propeller p;

	if (pm_propeller_make(o, &p, err) == PM_OK) {
		err->file = path;
		if (pm_file_save(order, &p.order, &wrong) != PM_OK)
			pm_fail_file(err, "its second file, %s: %s", order, wrong.msg);
		else if (pm_file_save(path, &p.clusters, err) != PM_OK)
			unlink(order);
		else if (p.unnamed)
			manners_note("%s: %zu of the functions that ran are left out of %s, for "
				     "their names are not theirs alone "
				     "(-funique-internal-linkage-names helps)", o->path, p.unnamed,
				     path);
	}
	pm_propeller_release(&p);
	free(order);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static enum pm_status save(const struct branch_outputs *b, const struct pm_branch_object *o,
			   int kind, const char *path, struct pm_err *err)
{
	struct pm_buf text = { 0 };
	enum pm_status st;

	if (kind == BRANCH_PROPELLER)
		return save_propeller(o, path, err);
	st = file_text(b, o, kind, &text, err);
	if (st == PM_OK) {
		err->file = NULL;
		st = pm_file_save(path, &text, err);
	}
	pm_buf_release(&text);
	return st;
}

/* What some forms want of an object's ELF file: a pattern gives those without it no file. */
struct branch_wish {
	bool (*has)(const struct pm_branch_object *o);
	const char *what, *of;		/* "it has no WHAT, so there is no OF of it" */
	const char *none;		/* no object has it */
};

static const struct branch_wish wishes[BRANCH_OUTPUTS] = {
	[PM_BRANCH_FDATA] = { pm_branch_file_can_name, "symbols", "fdata",
		"nothing that ran has symbols, and fdata names functions; --bolt needs none" },
	[BRANCH_PROPELLER] = { pm_propeller_can, "map of basic blocks", "layout",
		"nothing that ran has a map of basic blocks; build with clang and "
		"-fbasic-block-address-map" },
};

/* Does a pattern give @o a file? */
static bool has_file(const struct pm_branch_object *o, int kind)
{
	return *o->path == '/' && o->insns && (!wishes[kind].has || wishes[kind].has(o));
}

static enum pm_status say_left_out(const struct pm_branches *all, const bool *wanted,
				   const struct branch_wish *w, struct pm_err *err)
{
	const char *first = NULL;
	size_t n = 0, written = 0;

	for (size_t i = 0; i < all->n; written += wanted[i++])
		if (!wanted[i] && *all->object[i].path == '/' && all->object[i].insns) {
			first = first ? first : all->object[i].path;
			n++;
		}
	if (n && !written)
		return pm_fail_request(err, "%s", w->none);
	if (n == 1)
		manners_note("%s has no %s, so there is no %s of it", first, w->what, w->of);
	else if (n)
		manners_note("%zu files have no %s, so there is no %s of them: %s...", n, w->what,
			     w->of, first);
	return PM_OK;
}

/* Before anything is written: no two objects have one file. */
static enum pm_status check_names(const char *pattern, const struct pm_branches *all,
				  const bool *wanted, struct pm_err *err)
{
	struct pm_buf name = { 0 }, other = { 0 };
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < all->n && st == PM_OK; i++) {
		name.n = 0;
		file_name(pattern, &all->object[i], &name);
		for (size_t k = 0; wanted[i] && k < i && st == PM_OK; k++) {
			other.n = 0;
			file_name(pattern, &all->object[k], &other);
			if (wanted[k] && !strcmp((char *)name.p, (char *)other.p))
				st = pm_fail_request(err, "%s would be of both %s and %s; %%b in a "
						     "name is the build id", (char *)name.p,
						     all->object[k].path, all->object[i].path);
		}
	}
	pm_buf_release(&name);
	pm_buf_release(&other);
	return st;
}

/* A file of its own for each object, named by the pattern. */
static enum pm_status save_each(const struct branch_outputs *b, const struct pm_branches *all,
				int kind, struct pm_err *err)
{
	bool *wanted = pm_alloc((all->n + 1) * sizeof *wanted);
	struct pm_buf name = { 0 };
	enum pm_status st;

	for (size_t i = 0; i < all->n; i++)
		wanted[i] = has_file(&all->object[i], kind);
	st = check_names(b->to[kind], all, wanted, err);
	for (size_t i = 0; i < all->n && st == PM_OK; i++)
		if (wanted[i]) {
			name.n = 0;
			file_name(b->to[kind], &all->object[i], &name);
			st = save(b, &all->object[i], kind, (char *)name.p, err);
		}
	if (st == PM_OK && wishes[kind].has)
		st = say_left_out(all, wanted, &wishes[kind], err);
	pm_buf_release(&name);
	free(wanted);
	return st;
}

enum pm_status branch_outputs_end(const struct branch_outputs *b, struct pm_err *err)
{
	return b->sink ? branch_outputs_write(b, pm_sim_branches_of(b->sink), err) : PM_OK;
}

enum pm_status branch_outputs_write(const struct branch_outputs *b, const struct pm_branches *all,
				    struct pm_err *err)
{
	const struct pm_branch_object *o = pm_branches_program(all);
	struct pm_err first = { 0 };

	/* a run may have taken hours: what one file cannot hold does not keep the others away */
	for (int i = 0; i < BRANCH_OUTPUTS; i++) {
		struct pm_err wrong = { 0 };
		enum pm_status st;

		if (!b->to[i])
			continue;
		if (pm_pattern_has(b->to[i], 'n') || pm_pattern_has(b->to[i], 'b'))
			st = save_each(b, all, i, &wrong);
		else if (o && o->insns)
			st = save(b, o, i, b->to[i], &wrong);
		else
			st = pm_fail_request(&wrong, "nothing of the program '%s' itself was "
					     "traced; %%n in FILE gives a file for everything "
					     "that was",
					     all->program ? all->program : "?");
		if (st != PM_OK && !pm_failed(&first))
			first = wrong;
	}
	if (!pm_failed(&first))
		return PM_OK;
	*err = first;
	return PM_ERR;
}
