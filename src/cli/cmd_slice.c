/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/names.h"
#include "cli/manners.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "elf/find.h"
#include "transform/slice.h"

#define MAX_RANGES 64

/* --function: which addresses are in a function of that name? Asked once per place. */
struct function {
	const char *name;
	struct slice_known {
		char *path;
		struct pm_elf *elf;	/* NULL: could not be opened */
	} *known;
	size_t n, cap;
	bool found, named;		/* the function; any file with names */
};

static struct pm_elf *elf_of(struct function *f, const struct pm_object *o)
{
	struct pm_err ignored = { 0 };

	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->known[i].path, o->path))
			return f->known[i].elf;
	pm_grow(f->known, f->n, f->cap);
	f->known[f->n] = (struct slice_known){ pm_strdup(o->path),
					       pm_elf_open(o->path, o->build_id, &ignored) };
	return f->known[f->n++].elf;
}

static bool in_function(void *arg, const struct pm_object *o, uint64_t pc, uint64_t *hi)
{
	struct function *f = arg;
	struct pm_elf *elf = o && o->path ? elf_of(f, o) : NULL;
	struct pm_elf_function fn = { 0 };
	bool in;

	*hi = pc + 1;
	if (!elf)
		return false;
	f->named = true;
	if (!pm_elf_function_at(elf, pc - o->base, &fn)) {
		if (fn.hi > pc - o->base)
			*hi = fn.hi + o->base;
		return false;
	}
	*hi = fn.hi + o->base;
	in = pm_elf_is_meant(elf, fn.name, f->name);
	f->found = f->found || in;
	return in;
}

/* LO-HI or LO+SIZE. */
static bool parse_range(const char *s, struct pm_slice_range *r)
{
	size_t n = strcspn(s, "-+");
	char lo[40];
	uint64_t v;

	if (!s[n] || n >= sizeof lo)
		return false;
	memcpy(lo, s, n);
	lo[n] = 0;
	if (!pm_parse_u64(lo, &r->lo) || !pm_parse_u64(s + n + 1, &v))
		return false;
	r->hi = s[n] == '+' ? r->lo + v : v;
	return r->hi > r->lo;
}

/* What the options said, to what slices. */
static void select_part(struct pm_slice_opts *o, struct pm_slice_range *range, const char *time,
			const struct pm_opt_list *ranges, uint64_t tid,
			const struct pm_opt_help *help)
{
	struct pm_slice_range times;

	if (time) {
		if (!parse_range(time, &times))
			pm_opt_usage(help, "--time expects A-B, not '%s'", time);
		o->time_from = times.lo;
		o->time_to = times.hi;
	}
	if (ranges->n > MAX_RANGES)
		pm_opt_usage(help, "more than %u ranges", MAX_RANGES);
	for (unsigned i = 0; i < ranges->n; i++)
		if (!parse_range(ranges->v[i], range + i))
			pm_opt_usage(help, "--range expects LO-HI or LO+SIZE, not '%s'",
				     ranges->v[i]);
	if (o->count > UINT64_MAX - o->from)
		o->count = UINT64_MAX - o->from;
	o->range = range;
	o->nrange = ranges->n;
	o->tid = (uint32_t)tid;
}

static void release_function(struct function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		pm_elf_close(f->known[i].elf);
		free(f->known[i].path);
	}
	free(f->known);
}

static void note_empty(const void *slice, const struct function *f)
{
	uint64_t seen;

	if (pm_slice_kept(slice, &seen))
		return;
	if (f->name && !f->found)
		manners_note("no instruction belongs to a function '%s'%s", f->name,
			     f->named ? "" : " (none of the traced files could be read)");
	else
		manners_note("no instruction is in that part, of %" PRIu64 " that were read", seen);
}

static void check_files(char *const *argv, const char *to, const char *json,
			const struct pm_opt_help *help)
{
	if (!strcmp(argv[1], "-") && !to)
		pm_opt_usage(help,
			     "standard output has no name to tell the format from; use -t FORMAT");
	NAMED_FILES_CHECK(help, { "IN", argv[0], false }, { "OUT", argv[1], true },
			  { "--json", json, true });
}

int cmd_slice(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark slice [options] IN OUT",
		"Writes the part of the trace IN that the options select as the trace OUT. "
		"Positions count\n"
		"instructions over all threads, from 0; if there are none, events.",
		"Of a .pug file only the part that is written is read."
	};
	const char *from = NULL, *to = NULL, *time = NULL, *json = NULL;
	struct pm_opt_list ranges = { 0 };
	struct function f = { 0 };
	struct pm_slice_range range[MAX_RANGES];
	struct pm_slice_opts o = { .count = UINT64_MAX, .time_to = UINT64_MAX };
	uint64_t tid = 0;
	const struct pm_opt opts[] = {
		OPT_HEAD("what"),
		OPT_U64(0, "from", &o.from, "N", "the first instruction (default: 0)"),
		OPT_U64(0, "count", &o.count, "M", "how many (default: to the end; 0: none)"),
		OPT_STR(0, "time", &time, "A-B",
			"from time A to before time B, in the trace's units"),
		OPT_RANGE(0, "thread", &tid, "TID", 1, UINT32_MAX, "only this thread"),
		OPT_LIST(0, "range", &ranges, "LO-HI",
			"only instructions at these addresses, or LO+SIZE; "
			"without any, references"),
		OPT_STR(0, "function", &f.name, "NAME", "only instructions of this function"),
		OPT_HEAD("how"),
		OPT_STR('f', "from-format", &from, "FORMAT", "input format (default: guess)"),
		OPT_STR('t', "to", &to, "FORMAT", "output format (default: by the name)"),
		OPT_STR(0, "json", &json, "FILE", "write what was written and left out as JSON"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), status = 0;
	const struct pm_format *which, *out;
	uint32_t facts;
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct pm_result *r;
	struct pm_source src;
	void *slice;

	if (n != 2)
		pm_opt_usage(&help, n < 2 ? "missing IN or OUT" : "only one IN and one OUT");
	check_files(argv, to, json, &help);
	select_part(&o, range, time, &ranges, tid, &help);
	if (f.name) {
		o.where = in_function;
		o.where_arg = &f;
	}
	status = traces_open(argv[0], from, &src, &which);
	if (status)
		return status;
	if (f.name && !(src.facts & (PM_HAS_BLOCKS | PM_HAS_BYTES))) {
		pm_fail_file(&err,
			     "%s do not say which file an instruction comes from; --function needs "
			     "that",
			     which->plural);
		status = traces_fail(&err);
		src.ops->close(src.self);
		return status;
	}
	p = pm_adapt_pipeline(&src, which);
	r = pm_result_for("convert");
	o.facts = src.facts;
	/* who wants the beginning of things from an offset on need not read what comes before */
	if (o.from && !pm_trace_seek(&src, o.from, &o.skipped, &err)) {
		err.file = argv[0];
		status = traces_fail(&err);
		goto out;
	}
	slice = pm_slice_new(&o);
	pm_pipeline_transform(p, pm_slice_blocks(&o) ? &pm_slice_ops : &pm_slice_expanded_ops,
			      slice);
	out = traces_output_format(argv[1], to);
	if (!out) {
		status = 2;
		goto out;
	}
	pm_names_for_sinks(p);
	facts = pm_adapt(p, src.facts, out->needs, NULL);
	if (pm_trace_create(p, argv[1], to, facts, &err) != PM_OK ||
	    pm_pipeline_start(p, src.facts, which->plural, &err) != PM_OK ||
	    progress_run(p, &src, r, pm_slice_done, slice, &err) != PM_OK)
		status = traces_fail(&err);
	if (!status) {
		note_empty(slice, &f);
		traces_note_losses(r, src.facts, to, argv[1]);
	}
	if (!status && json)
		status = traces_json(r, json);
out:
	pm_pipeline_free(p);
	src.ops->close(src.self);
	pm_result_free(r);
	release_function(&f);
	return status;
}
