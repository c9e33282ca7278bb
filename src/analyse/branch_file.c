/* SPDX-License-Identifier: MIT */
/* branch_file.c - branch profiles as files: see branch_file.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "elf/link_view.h"

const char *const pm_branch_format_names[PM_BRANCH_FORMATS] = {
	"bolt", "fdata", "autofdo", "llvm-sample",
};

struct stubs {				/* an object's linkage tables */
	struct { uint64_t lo, hi; } v[4];
	size_t n;
};

static void find_stubs(struct pm_elf *e, struct stubs *s)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };

	for (size_t i = 0; i < NR(names); i++)
		s->n += pm_elf_section(e, names[i], &s->v[s->n].lo, &s->v[s->n].hi);
}

static bool is_stub(const struct stubs *s, uint64_t addr)
{
	for (size_t i = 0; i < s->n; i++)
		if (addr >= s->v[i].lo && addr < s->v[i].hi)
			return true;
	return false;
}

/* ---- making ---------------------------------------------------------------------------------- */
enum pm_status pm_branch_code_is(const struct pm_branch_object *o, struct pm_elf *e,
				 struct pm_err *err)
{
	for (size_t i = 0; i < o->ncode; i++) {
		const struct pm_branch_code *c = &o->code[i];
		size_t n = 0;
		const uint8_t *p = pm_elf_code_at(e, c->addr, &n);

		if (p && n >= c->len && !memcmp(p, c->bytes, c->len))
			continue;
		err->file = o->path;
		return pm_fail_file(err,
				    "its code at 0x%" PRIx64 " is not what ran: this is another "
				    "build, or the program has changed itself", c->addr);
	}
	return PM_OK;
}

bool pm_branch_file_can_name(const struct pm_branch_object *o)
{
	struct pm_elf_symbol *v = NULL;
	struct pm_err ignored = { 0 };
	struct pm_elf *e = pm_elf_open(o->path, o->build_id, &ignored);
	const bool can = !e || pm_elf_symbols(e, &v);

	free(v);
	pm_elf_close(e);
	return can;
}

/* Ranges, of BOLT those that a return came to, or the others. */
static void add_ranges(const struct pm_branch_object *o, uint64_t base, const struct stubs *stubs,
		       bool returned, struct pm_branch_file *f)
{
	for (size_t i = 0; i < o->nrange; i++) {
		const struct pm_branch_range *r = &o->range[i];

		/* perf2bolt knows no code there, and would count them as mismatches */
		if ((f->format == PM_BRANCH_BOLT && r->returned != returned) || r->lo < base ||
		    is_stub(stubs, r->lo))
			continue;
		pm_branch_file_put(f, (struct pm_branch_line){
			returned ? PM_LINE_RETURNED : PM_LINE_RANGE, NULL, NULL,
			r->lo - base, r->hi - base, r->count, 0,
		});
	}
}

enum pm_status pm_branch_file_make(const struct pm_branch_object *o, enum pm_branch_format format,
				   struct pm_branch_file *f, struct pm_err *err)
{
	const bool bolt = format == PM_BRANCH_BOLT;
	struct stubs stubs = { .n = 0 };
	struct pm_err ignored = { 0 };
	struct pm_elf *e;
	uint64_t base = 0;

	*f = (struct pm_branch_file){ .format = format };
	e = pm_elf_open(o->path, o->build_id, bolt ? &ignored : err);
	if (!e && !bolt)
		return PM_ERR;
	if (e && (pm_branch_code_is(o, e, err) != PM_OK || format == PM_BRANCH_FDATA)) {
		if (!pm_failed(err))
			pm_branch_file_fdata(o, e, f, err);
		pm_elf_close(e);
		return pm_failed(err) ? PM_ERR : PM_OK;
	}
	if (bolt && e) {
		find_stubs(e, &stubs);
		f->build_id = pm_elf_build_id(e) ? pm_strdup(pm_elf_build_id(e)) : NULL;
	}
	if (!bolt)
		base = format == PM_BRANCH_AUTOFDO ? pm_elf_image_base(e) : pm_elf_text_base(e);
	pm_elf_close(e);
	for (size_t i = 0; i < o->nbranch; i++) {
		const struct pm_branch *b = &o->branch[i];

		if (!bolt && (b->from < base || b->to < base || !b->from || !b->to))
			continue;		/* such files have no word for what is outside */
		pm_branch_file_put(f, (struct pm_branch_line){
			PM_LINE_BRANCH, NULL, NULL, b->from - base, b->to - base, b->count,
			b->missed,
		});
	}
	add_ranges(o, base, &stubs, false, f);
	if (bolt)		/* in the order that they are sorted in */
		add_ranges(o, base, &stubs, true, f);
	pm_branch_file_sort(f);
	return PM_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */
/* printf() would be a sixth of what a profile of a short run takes, and so would be divisions by a
 * base that the compiler does not know. */
static void put_hex(struct pm_buf *to, uint64_t v)
{
	const unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
	uint8_t *p = pm_buf_room(to, n) + n;

	to->n += n;
	for (unsigned i = 0; i < n; i++, v >>= 4)
		*--p = (uint8_t)"0123456789abcdef"[v & 15];
}

static void put_decimal(struct pm_buf *to, uint64_t v)
{
	char digits[20], *p = digits + sizeof digits;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	pm_buf_add(to, p, (size_t)(digits + sizeof digits - p));
}

static void bolt_text(const struct pm_branch_file *f, struct pm_buf *to)
{
	static const char kinds[] = "BFf";

	for (size_t i = 0; i < f->n; i++) {
		const struct pm_branch_line *l = &f->line[i];

		pm_buf_add(to, (const char []){ kinds[l->kind], ' ' }, 2);
		if (!i && f->build_id)
			pm_buf_printf(to, "%s:", f->build_id);
		put_hex(to, l->from);
		pm_buf_add(to, " ", 1);
		put_hex(to, l->to);
		pm_buf_add(to, " ", 1);
		put_decimal(to, l->count);
		if (l->kind == PM_LINE_BRANCH) {
			pm_buf_add(to, " ", 1);
			put_decimal(to, l->missed);
		}
		pm_buf_add(to, "\n", 1);
	}
}

/* A space in a name is written with a backslash in front of it, as is a backslash. */
static void fdata_place(struct pm_buf *to, const char *name, uint64_t at)
{
	pm_buf_add(to, name ? "1 " : "0 ", 2);
	for (const char *s = name ? name : "[unknown]"; *s; ) {
		const size_t n = strcspn(s + 1, " \\") + 1;

		if (*s == ' ' || *s == '\\')
			pm_buf_add(to, "\\", 1);
		pm_buf_add(to, s, n);
		s += n;
	}
	pm_buf_add(to, " ", 1);
	put_hex(to, at);
	pm_buf_add(to, " ", 1);
}

static void fdata_text(const struct pm_branch_file *f, struct pm_buf *to)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct pm_branch_line *l = &f->line[i];

		fdata_place(to, l->from_name, l->from);
		fdata_place(to, l->to_name, l->to);
		put_decimal(to, l->missed);
		pm_buf_add(to, " ", 1);
		put_decimal(to, l->count);
		pm_buf_add(to, "\n", 1);
	}
}

static void section(const struct pm_branch_file *f, enum pm_branch_line_kind kind,
		    const char *between, struct pm_buf *to)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->line[i].kind == kind;
	pm_buf_printf(to, "%zu\n", n);
	for (size_t i = 0; i < f->n; i++)
		if (f->line[i].kind == kind)
			pm_buf_printf(to, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n", f->line[i].from,
				      between, f->line[i].to, f->line[i].count);
}

void pm_branch_file_text(const struct pm_branch_file *f, struct pm_buf *to)
{
	if (f->format == PM_BRANCH_BOLT) {
		bolt_text(f, to);
	} else if (f->format == PM_BRANCH_FDATA) {
		fdata_text(f, to);
	} else {
		section(f, PM_LINE_RANGE, "-", to);
		if (f->format == PM_BRANCH_AUTOFDO)
			pm_buf_printf(to, "0\n");
		section(f, PM_LINE_BRANCH, "->", to);
	}
}
