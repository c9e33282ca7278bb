/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/traces.h"
#include "report/out.h"
#include "trace/pug_file.h"
#include "transform/to_uops.h"

int traces_fail(const struct pm_err *err)
{
	fflush(stdout);
	pm_err_print(err, stderr);
	return 1;
}

bool traces_open(const char *path, const char *format, struct pm_source *src,
		 const struct pm_format **which)
{
	struct pm_err err = { 0 };

	if (pm_trace_open(path, format, src, which, &err) == PM_OK)
		return true;
	traces_fail(&err);
	return false;
}

struct pm_pipeline *traces_pipeline(struct pm_source *src, const struct pm_format *which)
{
	struct pm_pipeline *p = pm_pipeline_new();

	pm_pipeline_threads(p, PM_THREADS_AUTO);
	if (strcmp(which->name, "pug")) {
		pm_pipeline_info(p, "source", which->name);
		return p;
	}
	for (const char *s = pug_read_info(pm_trace_reader(src)); *s; s += strlen(s) + 1) {
		const char *eq = strchr(s, '=');
		char name[64];

		/* the tool and the level are those that write now */
		if (!eq || (size_t)(eq - s) >= sizeof name || !strncmp(s, "tool=", 5) ||
		    !strncmp(s, "level=", 6))
			continue;
		memcpy(name, s, (size_t)(eq - s));
		name[eq - s] = 0;
		pm_pipeline_info(p, name, eq + 1);
	}
	return p;
}

uint32_t traces_adapt(struct pm_pipeline *p, uint32_t facts, uint32_t needs, const void **cracker)
{
	void *self;

	if (cracker)
		*cracker = NULL;
	if (!(needs & ~facts & PM_HAS_UOPS) || (facts & pm_crack_ops.needs) != pm_crack_ops.needs)
		return facts;
	self = pm_crack_new();
	pm_pipeline_transform(p, &pm_crack_ops, self);
	if (cracker)
		*cracker = self;
	return (facts | pm_crack_ops.adds) & ~PM_HAS_BLOCKS;
}

void traces_cracked(struct pm_result *r, const void *cracker)
{
	const struct pm_crack_stats *c;
	uint64_t count[16];
	char name[16][12];
	unsigned n;

	if (!cracker)
		return;
	c = pm_crack_stats(cracker);
	n = pm_crack_generic(cracker, name, count, NR(count));
	pm_result_begin(r, "cracked");
	pm_result_u64(r, "instructions", c->insns, "instructions");
	pm_result_u64(r, "uops", c->uops, "micro-ops");
	pm_result_u64(r, "integer", c->integer, "instructions");
	pm_result_u64(r, "integer_specific", c->integer_specific, "instructions");
	pm_result_u64(r, "other", c->other, "instructions");
	pm_result_u64(r, "other_specific", c->other_specific, "instructions");
	pm_result_u64(r, "unknown", c->unknown, "instructions");
	pm_result_u64(r, "without_address", c->missing, "micro-ops");
	pm_result_begin(r, "generic");
	for (unsigned i = 0; i < n; i++)
		pm_result_u64(r, name[i], count[i], "instructions");
	pm_result_end(r);
	pm_result_end(r);
}

const struct pm_format *traces_output_format(const char *out, const char *format)
{
	struct pm_err err = { 0 };
	const struct pm_format *f = format ? pm_format_find(format, &err) : pm_format_by_name(out);

	if (!f && !format)
		pm_fail_file(&err, "no format has names like '%s'; -t FORMAT says which to write "
			     "(see `pugmark formats`)", out);
	if (!f)
		traces_fail(&err);
	return f;
}

void traces_note_losses(const struct pm_result *r, uint32_t facts, const char *format,
			const char *out)
{
	struct pm_err err = { 0 };
	const struct pm_format *f = format ? pm_format_find(format, &err) : pm_format_by_name(out);
	const struct pm_result_node *n = pm_result_find(pm_result_root(r), "written");
	uint32_t lost = f ? facts & ~f->has & ~(PM_HAS_BLOCKS | PM_HAS_THREADS) : 0;
	struct pm_buf line = { 0 };
	char names[300];

	n = n ? pm_result_find(n, "discarded") : NULL;
	if (lost) {
		pm_fact_names(lost, names, sizeof names);
		fprintf(stderr, "pugmark: note: %s hold no %s\n", f->plural, names);
	}
	if (!n || !n->first)
		return;
	for (const struct pm_result_node *k = n->first; k; k = k->next)
		pm_buf_printf(&line, "%s %" PRIu64 " %s", k == n->first ? "" : ",", k->u64,
			      k->name);
	fprintf(stderr, "pugmark: note: events discarded:%.*s\n", (int)line.n,
		(const char *)line.p);
	pm_buf_release(&line);
}

int traces_json(const struct pm_result *r, const char *path)
{
	struct pm_err err = { 0 };
	struct pm_buf b = { 0 };
	int status = 0;

	pm_result_json(r, &b);
	if (pm_report_save(path, &b, &err) != PM_OK)
		status = traces_fail(&err);
	pm_buf_release(&b);
	return status;
}
