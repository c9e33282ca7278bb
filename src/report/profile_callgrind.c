/* SPDX-License-Identifier: MIT */
/* profile_callgrind.c - a profile for KCachegrind and callgrind_annotate
 *
 *	# callgrind format
 *	# object 3f...e1 /usr/bin/gzip		build id, for `pugmark annotate`
 *	version: 1
 *	creator: pugmark 0.1.0
 *	positions: instr line
 *	events: Ir Dr Dw
 *	ob=(1) /usr/bin/gzip
 *	fl=(1) /src/deflate.c
 *	fn=(1) deflate
 *	0x4011d0 123 1000 500 0			own cost of an instruction
 *	calls=1000 0x4020 17			... which is a direct call
 *	0x4011d0 123 0 0 0			the callee's share is not known: see below
 *
 * The subset is the safe one: absolute addresses (those of the ELF file) and lines, names by
 * number, no jumps. Counts have no call edges: the number of executions of a direct call is exact,
 * indirect calls have no known target and are left out, and what a callee cost on behalf of one
 * caller cannot be told, so inclusive costs are zero and only self costs mean something. The file
 * says so. */
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "base/whole_file.h"
#include "pugmark/pugmark.h"
#include "report/out.h"
#include "report/profile_report.h"

struct callgrind_file {
	struct pm_buf b;
	struct pm_profile *p;
	struct pm_string_table ob, fl, fn;	/* names of one kind: numbered from 1 in the file */
	uint32_t function, object;	/* the current ones */
	bool lines;
	const char *fl_now;
	uint64_t sum[3];
};

/* "(1) name" when @s is new, "(1)" later. Callgrind's names end at the end of the line. */
static void put_name(struct pm_buf *b, struct pm_string_table *t, const char *s)
{
	const uint32_t known = t->n, number = pm_string_add(t, s) + 1;

	if (number <= known) {
		pm_buf_printf(b, "(%u)\n", number);
		return;
	}
	pm_buf_printf(b, "(%u) ", number);
	pm_report_text_of(b, s, SIZE_MAX, 0);
	pm_buf_add(b, "\n", 1);
}

static const char *line_of(struct callgrind_file *f, uint32_t object, uint64_t addr, unsigned *line)
{
	const char *s;

	*line = 0;
	if (f->lines && pm_profile_line(f->p, object, addr, true, &s, line))
		return s;
	*line = 0;
	return "???";
}

/* ob=, fl= and fn= lines where they change; fi= inside a function. */
static void place(struct callgrind_file *f, uint32_t object, uint32_t function, const char *file)
{
	if (object != f->object) {
		pm_buf_printf(&f->b, "\nob=");
		put_name(&f->b, &f->ob, f->p->object[object].path);
		f->object = object;
		f->function = PM_NONE;
	}
	if (function != f->function) {
		unsigned line;
		const char *home = f->p->function[function].lo ?
				   line_of(f, object, f->p->function[function].lo, &line) : "???";

		pm_buf_printf(&f->b, "\nfl=");
		put_name(&f->b, &f->fl, home);
		pm_buf_printf(&f->b, "fn=");
		put_name(&f->b, &f->fn, pm_profile_name(f->p, function));
		f->function = function;
		f->fl_now = home;
	}
	if (strcmp(file, f->fl_now)) {
		pm_buf_printf(&f->b, "fi=");
		put_name(&f->b, &f->fl, file);
		f->fl_now = file;
	}
}

static void put_call(struct callgrind_file *f, uint32_t object, const struct pm_profile_insn *v,
		     unsigned line)
{
	const char *name = pm_profile_function_at(f->p, object, v->target), *file;
	unsigned to;

	if (!name)
		return;
	file = line_of(f, object, v->target, &to);
	if (strcmp(file, f->fl_now)) {
		pm_buf_printf(&f->b, "cfi=");
		put_name(&f->b, &f->fl, file);
	}
	pm_buf_printf(&f->b, "cfn=");
	put_name(&f->b, &f->fn, name);
	pm_buf_printf(&f->b, "calls=%llu 0x%llx %u\n0x%llx %u 0 0 0\n",
		      (unsigned long long)v->count, (unsigned long long)v->target, to,
		      (unsigned long long)v->addr, line);
}

static void put_block(struct callgrind_file *f, uint32_t index, struct pm_profile_insn *v)
{
	const struct pm_profile_block b = pm_profile_block(f->p, index);

	pm_profile_insns(f->p, index, v);
	for (uint32_t i = 0; i < b.n; i++) {
		unsigned line;
		const char *file;

		if (b.object != f->object)
			f->lines = pm_profile_has_lines(f->p, b.object);
		file = line_of(f, b.object, v[i].addr, &line);
		place(f, b.object, pm_profile_function_of(f->p, index, i), file);
		pm_buf_printf(&f->b, "0x%llx %u %llu %llu %llu\n", (unsigned long long)v[i].addr,
			      line, (unsigned long long)v[i].count,
			      (unsigned long long)(v[i].count * v[i].reads),
			      (unsigned long long)(v[i].count * v[i].writes));
		f->sum[0] += v[i].count;
		f->sum[1] += v[i].count * v[i].reads;
		f->sum[2] += v[i].count * v[i].writes;
		if (v[i].flow == PM_CLASS_CALL && v[i].target)
			put_call(f, b.object, &v[i], line);
	}
}

enum pm_status pm_report_callgrind(struct pm_profile *p, const struct pm_report_opts *o,
				   const char *path, struct pm_err *err)
{
	struct callgrind_file f = { .p = p, .function = PM_NONE, .object = PM_NONE };
	const struct pm_counts *c = p->counts;
	struct pm_profile_insn *v;
	enum pm_status st;
	uint32_t most = 1;

	(void)o;
	pm_profile_functions(p);
	pm_buf_printf(&f.b, "# callgrind format\n");
	for (size_t i = 0; i < p->nobject; i++)
		if (p->object[i].build_id)
			pm_buf_printf(&f.b, "# object %s %s\n", p->object[i].build_id,
				      p->object[i].path);
	pm_buf_printf(&f.b, "version: 1\ncreator: pugmark %s\ncmd:", PM_VERSION);
	for (size_t i = 0; c->argv && c->argv[i]; i++) {
		pm_buf_add(&f.b, " ", 1);
		pm_report_text_of(&f.b, c->argv[i], SIZE_MAX, 0);
	}
	pm_buf_printf(&f.b,
		      "\ndesc: Note: self costs are exact; callees' costs are not known, their "
		      "inclusive cost is given as 0\n");
	if (p->incomplete || c->cut)
		pm_buf_printf(&f.b, "desc: Note: incomplete, %s\n",
			      c->cut ? c->cut : "a process was killed");
	if (p->sum.unknown)
		pm_buf_printf(&f.b,
			      "desc: Note: %llu instructions that could not be decoded are not "
			      "in here\n",
			      (unsigned long long)p->sum.unknown);
	pm_buf_printf(&f.b, "positions: instr line\nevents: Ir Dr Dw\nsummary: %llu %llu %llu\n",
		      (unsigned long long)(p->sum.insns - p->sum.unknown),
		      (unsigned long long)p->sum.reads, (unsigned long long)p->sum.writes);
	for (size_t i = 0; i < p->nblock; i++) {
		const uint32_t n = pm_profile_block(p, i).n;

		if (n > most)
			most = n;
	}
	v = pm_alloc(most * sizeof *v);
	for (size_t i = 0; i < p->nblock; i++)
		put_block(&f, (uint32_t)i, v);
	free(v);
	pm_buf_printf(&f.b, "\ntotals: %llu %llu %llu\n", (unsigned long long)f.sum[0],
		      (unsigned long long)f.sum[1], (unsigned long long)f.sum[2]);
	st = pm_file_save(path, &f.b, err);
	pm_string_table_release(&f.ob);
	pm_string_table_release(&f.fl);
	pm_string_table_release(&f.fn);
	pm_buf_release(&f.b);
	return st;
}
