/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "base/whole_file.h"
#include "pugmark/pugmark.h"
#include "report/out.h"
#include "report/profile_report.h"

static void exit_of(struct pm_result *r, int status, int sig)
{
	pm_result_begin(r, "exit");
	if (status >= 0 && sig < 0)
		pm_result_u64(r, "status", (uint64_t)status, NULL);
	else
		pm_result_null(r, "status");
	if (sig >= 0)
		pm_result_u64(r, "signal", (uint64_t)sig, NULL);
	else
		pm_result_null(r, "signal");
	pm_result_end(r);
}

static void sum_of(struct pm_result *r, const struct pm_profile_sum *s)
{
	pm_result_u64(r, "instructions", s->insns, "instructions");
	pm_result_u64(r, "blocks", s->blocks, "blocks");
	pm_result_u64(r, "blocks_distinct", s->blocks_distinct, "blocks");
	pm_result_u64(r, "blocks_cover_90", s->locality_90, "blocks");
	pm_result_f64(r, "blocks_cover_90_percent", pm_percent(s->locality_90, s->blocks_distinct),
		      "%");
	pm_result_u64(r, "reads", s->reads, "operands");
	pm_result_u64(r, "writes", s->writes, "operands");
	pm_result_u64(r, "rep_instructions", s->reps, "instructions");
	pm_result_u64(r, "unknown", s->unknown, "instructions");
}

static void mix_of(struct pm_result *r, const char *list, const char *name,
		   const struct pm_profile_mix *v, size_t n, uint64_t total)
{
	pm_result_begin_list(r, list);
	for (size_t i = 0; i < n; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, name, v[i].name);
		pm_result_u64(r, "count", v[i].count, "instructions");
		pm_result_f64(r, "percent", pm_percent(v[i].count, total), "%");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static void function_of(struct pm_result *r, struct pm_profile *p, uint32_t f, uint64_t insns)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "object", p->object[p->function[f].object].path);
	pm_result_str(r, "function", pm_profile_name(p, f));
	if (p->function[f].lo)
		pm_result_hex(r, "address", p->function[f].lo);
	else
		pm_result_null(r, "address");
	pm_result_u64(r, "instructions", insns, "instructions");
	pm_result_end(r);
}

static void block_of(struct pm_result *r, struct pm_profile *p, const struct pm_report_opts *o,
		     uint32_t index)
{
	const struct pm_profile_block b = pm_profile_block(p, index);
	const char *file;
	char line[256];
	unsigned no;

	pm_result_begin(r, NULL);
	pm_result_str(r, "object", p->object[b.object].path);
	pm_result_str(r, "function", pm_profile_name(p, pm_profile_function_of(p, index, 0)));
	pm_result_hex(r, "address", b.addr);
	if (pm_profile_line(p, b.object, b.addr, o->all_lines, &file, &no)) {
		pm_result_str(r, "file", file);
		pm_result_u64(r, "line", no, NULL);
	} else {
		pm_result_null(r, "file");
		pm_result_null(r, "line");
	}
	pm_result_u64(r, "executions", b.entries, "blocks");
	pm_result_u64(r, "instructions", b.insns, "instructions");
	pm_result_u64(r, "length", b.n, "instructions");
	pm_result_begin_list(r, "code");
	for (uint32_t at = 0; at < b.size; ) {
		at += pm_profile_disasm(p, &b, at, o->syntax, line, sizeof line);
		pm_result_str(r, NULL, line);
	}
	pm_result_end(r);
	pm_result_end(r);
}

static void hottest(struct pm_result *r, struct pm_profile *p, const struct pm_report_opts *o)
{
	uint32_t *order;
	size_t n = pm_profile_top_blocks(p, o->top_blocks ? o->top_blocks : 5, &order);

	pm_result_begin_list(r, "hottest");
	for (size_t i = 0; i < n; i++)
		block_of(r, p, o, order[i]);
	pm_result_end(r);
	free(order);
}

static void processes(struct pm_result *r, struct pm_profile *p)
{
	pm_result_begin_list(r, "processes");
	for (size_t i = 0; i < p->nprocess; i++) {
		const struct pm_profile_process *pr = &p->process[i];

		pm_result_begin(r, NULL);
		pm_result_u64(r, "pid", pr->from->pid, NULL);
		pm_result_u64(r, "parent", pr->from->parent, NULL);
		pm_result_str(r, "program", pr->from->program ? pr->from->program : "");
		exit_of(r, pr->from->status, pr->from->signal);
		pm_result_bool(r, "exec", pr->from->execed);
		pm_result_bool(r, "incomplete", pr->from->incomplete);
		sum_of(r, &pr->sum);
		/* of a single process they are those of the run */
		if (p->nprocess > 1) {
			pm_result_begin_list(r, "functions");
			for (size_t k = 0; k < pr->nshare; k++)
				function_of(r, p, pr->share[k].function, pr->share[k].insns);
			pm_result_end(r);
		}
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "threads");
	for (size_t i = 0; i < p->nprocess; i++)
		for (size_t t = 0; t < p->process[i].nthread; t++) {
			pm_result_begin(r, NULL);
			pm_result_u64(r, "pid", p->process[i].from->pid, NULL);
			pm_result_u64(r, "tid", p->process[i].thread[t].tid, NULL);
			pm_result_u64(r, "process", i, NULL);
			sum_of(r, &p->process[i].thread[t].sum);
			pm_result_end(r);
		}
	pm_result_end(r);
}

void pm_report_result(struct pm_profile *p, const struct pm_report_opts *o, struct pm_result *r)
{
	const struct pm_counts *c = p->counts;
	uint32_t *order;
	size_t n;

	pm_profile_functions(p);
	pm_profile_shares(p);
	pm_result_str(r, "pugmark", PM_VERSION);
	pm_result_begin_list(r, "program");
	for (size_t i = 0; c->argv && c->argv[i]; i++)
		pm_result_str(r, NULL, c->argv[i]);
	pm_result_end(r);
	exit_of(r, c->status, c->signal);
	pm_result_bool(r, "incomplete", p->incomplete || c->cut);
	sum_of(r, &p->sum);
	mix_of(r, "mix", "mnemonic", p->mnemonic, p->nmnemonic, p->sum.insns);
	mix_of(r, "classes", "class", p->class, p->nclass, p->sum.insns);
	pm_result_begin_list(r, "objects");
	n = pm_profile_top_objects(p, &order);
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_object *ob = &p->object[order[i]];

		pm_result_begin(r, NULL);
		pm_result_str(r, "object", ob->path);
		if (ob->build_id)
			pm_result_str(r, "build_id", ob->build_id);
		else
			pm_result_null(r, "build_id");
		pm_result_u64(r, "instructions", ob->insns, "instructions");
		pm_result_end(r);
	}
	pm_result_end(r);
	free(order);
	n = pm_profile_top_functions(p, 0, &order);
	pm_result_begin_list(r, "functions");
	for (size_t i = 0; i < n; i++)
		function_of(r, p, order[i], p->function[order[i]].insns);
	pm_result_end(r);
	free(order);
	hottest(r, p, o);
	processes(r, p);
	pm_result_f64(r, "wall_s", c->wall_s, "s");
	pm_result_f64(r, "user_s", c->user_s, "s");
	pm_result_f64(r, "sys_s", c->sys_s, "s");
	pm_result_f64(r, "pugmark_s", c->own_s, "s");
	pm_result_begin(r, "translations");
	pm_result_u64(r, "cached", c->cached, "blocks");
	pm_result_u64(r, "ahead", c->ahead, "blocks");
	pm_result_u64(r, "demand", c->demand, "blocks");
	pm_result_end(r);
}

enum pm_status pm_report_json(struct pm_profile *p, const struct pm_report_opts *o,
			      const char *path, struct pm_err *err)
{
	struct pm_result *r = pm_result_for("profile");
	struct pm_buf b = { 0 };
	enum pm_status st;

	pm_report_result(p, o, r);
	pm_result_json(r, &b);
	pm_result_free(r);
	st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}

enum pm_status pm_report_csv(struct pm_profile *p, const struct pm_report_opts *o, const char *path,
			     struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status st;
	uint32_t *order;
	size_t n;

	(void)o;
	pm_profile_functions(p);
	n = pm_profile_top_functions(p, 0, &order);
	pm_buf_printf(&b, "object,function,address,instructions,percent\n");
	for (size_t i = 0; i < n; i++) {
		const struct pm_profile_function *f = &p->function[order[i]];

		pm_report_csv_field(&b, p->object[f->object].path);
		pm_buf_add(&b, ",", 1);
		pm_report_csv_field(&b, pm_profile_name(p, order[i]));
		if (f->lo)
			pm_buf_printf(&b, ",0x%llx", (unsigned long long)f->lo);
		else
			pm_buf_add(&b, ",", 1);
		pm_buf_printf(&b, ",%llu,%.4f\n", (unsigned long long)f->insns,
			      pm_percent(f->insns, p->sum.insns));
	}
	free(order);
	st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}

enum pm_status pm_report_parquet(struct pm_profile *p, const char *path, struct pm_err *err)
{
	enum { OBJECT, FUNCTION, ADDRESS, INSTRUCTIONS, PERCENT };
	static const struct pm_parquet_column columns[] = {
		[OBJECT] = { "object", PM_PARQUET_STRING, PM_PARQUET_REQUIRED },
		[FUNCTION] = { "function", PM_PARQUET_STRING, PM_PARQUET_REQUIRED },
		[ADDRESS] = { "address", PM_PARQUET_U64, 0 },
		[INSTRUCTIONS] = { "instructions", PM_PARQUET_U64, PM_PARQUET_REQUIRED },
		[PERCENT] = { "percent", PM_PARQUET_F64, PM_PARQUET_REQUIRED },
	};
	struct pm_buf b = { 0 };
	struct pm_parquet *t = pm_parquet_new(columns, NR(columns), pm_report_bytes(&b), NULL);
	enum pm_status st = PM_OK;
	uint32_t *order;
	size_t n;

	pm_parquet_note(t, "pugmark.schema", "functions 1");
	if (p->counts->argv && p->counts->argv[0])
		pm_parquet_note(t, "pugmark.program", p->counts->argv[0]);
	pm_profile_functions(p);
	n = pm_profile_top_functions(p, 0, &order);
	for (size_t i = 0; i < n && !st; i++) {
		const struct pm_profile_function *f = &p->function[order[i]];

		pm_parquet_text(t, OBJECT, p->object[f->object].path);
		pm_parquet_text(t, FUNCTION, pm_profile_name(p, order[i]));
		if (f->lo)
			pm_parquet_u64(t, ADDRESS, f->lo);
		pm_parquet_u64(t, INSTRUCTIONS, f->insns);
		pm_parquet_f64(t, PERCENT, pm_percent(f->insns, p->sum.insns));
		st = pm_parquet_row(t, err);
	}
	free(order);
	if (!st)
		st = pm_parquet_finish(t, err);
	pm_parquet_free(t);
	if (!st)
		st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}
