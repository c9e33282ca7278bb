/* SPDX-License-Identifier: MIT */
/* branch_read.c - branch profiles read back from files: see branch_file.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "base/whole_file.h"

struct branch_text {				/* what is left of a file */
	const char *at, *end, *begin;
	struct pm_err *err;
};

static enum pm_status fail(const struct branch_text *t, const char *expected)
{
	return pm_fail(t->err, (uint64_t)(t->at - t->begin), "expected %s", expected);
}

static bool is_char(struct branch_text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static bool number(struct branch_text *t, int radix, uint64_t *v)
{
	const char *from = t->at;

	for (*v = 0; t->at < t->end && digit(*t->at) < radix; t->at++)
		if (__builtin_mul_overflow(*v, (uint64_t)radix, v) ||
		    __builtin_add_overflow(*v, (uint64_t)digit(*t->at), v))
			return false;
	return t->at > from;
}

static bool end_of_line(struct branch_text *t)
{
	return t->at == t->end || is_char(t, '\n');
}

/* A word; a backslash takes the next character as it is. */
static char *word(struct branch_text *t, struct pm_arena *mem)
{
	const char *p = t->at;
	char *to, *name;

	while (p < t->end && *p != ' ' && *p != '\n')
		p += *p == '\\' && p + 1 < t->end && p[1] != '\n' ? 2 : 1;
	to = name = pm_arena_alloc(mem, (size_t)(p - t->at) + 1);
	for (; t->at < p; t->at++) {
		if (*t->at == '\\' && t->at + 1 < p)
			t->at++;
		if (!*t->at)
			return NULL;
		*to++ = *t->at;
	}
	return *name ? name : NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */
/* An address, with the object's build id and a colon in front or not. */
static bool address(struct branch_text *t, struct pm_branch_file *f, uint64_t *v)
{
	const char *p = t->at;
	size_t n;

	while (p < t->end && digit(*p) < 16)
		p++;
	n = (size_t)(p - t->at);
	if (!n || p == t->end || *p != ':')
		return number(t, 16, v);
	if (!f->build_id)
		f->build_id = pm_strndup(t->at, n);
	if (strlen(f->build_id) != n || memcmp(f->build_id, t->at, n))
		return false;
	t->at = p + 1;
	return number(t, 16, v);
}

static enum pm_status bolt_line(struct branch_text *t, struct pm_branch_file *f)
{
	struct pm_branch_line l = { 0 };
	const char kind = *t->at;

	if (kind != 'B' && kind != 'F' && kind != 'f')
		return fail(t, "B, F or f");
	t->at++;
	l.kind = kind == 'B' ? PM_LINE_BRANCH : kind == 'F' ? PM_LINE_RANGE : PM_LINE_RETURNED;
	if (!is_char(t, ' ') || !address(t, f, &l.from) || !is_char(t, ' ') ||
	    !address(t, f, &l.to))
		return fail(t, "two addresses in hexadecimal, of one build");
	if (!is_char(t, ' ') || !number(t, 10, &l.count))
		return fail(t, "a count");
	if (kind == 'B' && (!is_char(t, ' ') || !number(t, 10, &l.missed)))
		return fail(t, "how many were mispredicted");
	if (!end_of_line(t))
		return fail(t, "the line's end");
	pm_branch_file_put(f, l);
	return PM_OK;
}

static bool fdata_place(struct branch_text *t, struct pm_arena *mem, const char **name,
			uint64_t *at)
{
	const bool known = t->at < t->end && *t->at == '1';
	const char *s;

	if (!(is_char(t, '0') || is_char(t, '1')) || !is_char(t, ' '))
		return false;
	s = word(t, mem);
	*name = known ? s : NULL;
	return s && is_char(t, ' ') && number(t, 16, at) && is_char(t, ' ');
}

static enum pm_status fdata_line(struct branch_text *t, struct pm_branch_file *f)
{
	struct pm_branch_line l = { .kind = PM_LINE_BRANCH };

	if (!fdata_place(t, &f->mem, &l.from_name, &l.from) ||
	    !fdata_place(t, &f->mem, &l.to_name, &l.to))
		return fail(t, "0 or 1, a function and an offset, twice");
	if (!number(t, 10, &l.missed) || !is_char(t, ' ') || !number(t, 10, &l.count))
		return fail(t, "mispredictions and a count");
	if (!end_of_line(t))
		return fail(t, "the line's end");
	pm_branch_file_put(f, l);
	return PM_OK;
}

/* @n lines A-B:COUNT or A->B:COUNT. */
static enum pm_status pairs(struct branch_text *t, struct pm_branch_file *f, uint64_t n,
			    bool branches)
{
	for (; n; n--) {
		struct pm_branch_line l = { .kind = branches ? PM_LINE_BRANCH : PM_LINE_RANGE };

		if (!number(t, 16, &l.from) || !is_char(t, '-') ||
		    (branches && !is_char(t, '>')) || !number(t, 16, &l.to) || !is_char(t, ':') ||
		    !number(t, 10, &l.count) || !end_of_line(t))
			return fail(t, branches ? "FROM->TO:COUNT" : "FIRST-LAST:COUNT");
		pm_branch_file_put(f, l);
	}
	return PM_OK;
}

/* Sections, each with a number of lines in front. After the ranges a number that a branch follows
 * is llvm-sample's; autofdo has a part more, which is empty in ours. */
static enum pm_status sections(struct branch_text *t, struct pm_branch_file *f)
{
	uint64_t n, addr, count;

	f->format = PM_BRANCH_LLVM_SAMPLE;
	if (!number(t, 10, &n) || !end_of_line(t))
		return fail(t, "the number of ranges");
	if (pairs(t, f, n, false) != PM_OK)
		return PM_ERR;
	if (!number(t, 10, &n) || !end_of_line(t))
		return fail(t, "the number of what follows");
	if (t->at < t->end) {
		const char *line = memchr(t->at, '\n', (size_t)(t->end - t->at));
		const char *stop = line ? line : t->end;

		if (!memchr(t->at, '>', (size_t)(stop - t->at))) {
			f->format = PM_BRANCH_AUTOFDO;
			for (; n; n--)
				if (!number(t, 16, &addr) || !is_char(t, ':') ||
				    !number(t, 10, &count) || !end_of_line(t))
					return fail(t, "ADDRESS:COUNT");
			if (!number(t, 10, &n) || !end_of_line(t))
				return fail(t, "the number of branches");
		}
	}
	if (pairs(t, f, n, true) != PM_OK)
		return PM_ERR;
	return t->at == t->end ? PM_OK : fail(t, "the file's end");
}

static enum pm_status parse(struct branch_text *t, struct pm_branch_file *f)
{
	const char *space = memchr(t->at, ' ', (size_t)(t->end - t->at));
	const char *line = memchr(t->at, '\n', (size_t)(t->end - t->at));

	if (t->at == t->end)
		return pm_fail_file(t->err, "the file is empty");
	if (digit(*t->at) > 9 || !space || (line && line < space))
		f->format = PM_BRANCH_BOLT;
	else
		f->format = PM_BRANCH_FDATA;
	if (f->format == PM_BRANCH_BOLT && digit(*t->at) <= 9)
		return sections(t, f);
	if (f->format == PM_BRANCH_BOLT && *t->at != 'B' && *t->at != 'F' && *t->at != 'f')
		return fail(t, "a branch profile: bolt, fdata, autofdo or llvm-sample");
	while (t->at < t->end)
		if ((f->format == PM_BRANCH_BOLT ? bolt_line(t, f) : fdata_line(t, f)) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

enum pm_status pm_branch_file_read(const char *path, struct pm_branch_file *f, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status st;
	struct branch_text t;

	*f = (struct pm_branch_file){ 0 };
	st = pm_file_read(path, &b, err);
	t = (struct branch_text){ (const char *)b.p, (const char *)b.p + b.n, (const char *)b.p,
				  err };
	if (st == PM_OK)
		st = parse(&t, f);
	if (st == PM_OK)
		pm_branch_file_sort(f);
	pm_buf_release(&b);
	return st;
}
