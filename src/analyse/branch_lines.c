/* SPDX-License-Identifier: MIT */
/* branch_lines.c - lines of branch profiles: collected, sorted, added; see branch_file.h */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "base/radix.h"

void pm_branch_file_release(struct pm_branch_file *f)
{
	free(f->line);
	free(f->build_id);
	pm_arena_release(&f->mem);
	*f = (struct pm_branch_file){ 0 };
}

void pm_branch_file_put(struct pm_branch_file *f, struct pm_branch_line l)
{
	pm_grow(f->line, f->n, f->cap);
	f->line[f->n++] = l;
}

static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return a == b ? 0 : strcmp(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct pm_branch_line *x = a, *y = b;
	int c;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	c = compare_names(x->from_name, y->from_name);
	if (!c && x->from != y->from)
		c = x->from < y->from ? -1 : 1;
	if (!c)
		c = compare_names(x->to_name, y->to_name);
	if (!c && x->to != y->to)
		c = x->to < y->to ? -1 : 1;
	return c;
}

/* What goes beyond 64 bits stays at their end. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* As by_place() says; there are names in fdata alone. */
static void sort_lines(struct pm_branch_file *f)
{
	static const struct pm_radix_key place[] = {
		{ offsetof(struct pm_branch_line, kind), 1 },
		{ offsetof(struct pm_branch_line, from), 8 },
		{ offsetof(struct pm_branch_line, to), 8 },
	};

	for (size_t i = 0; i < f->n; i++)
		if (f->line[i].from_name || f->line[i].to_name) {
			qsort(f->line, f->n, sizeof *f->line, by_place);
			return;
		}
	pm_radix_sort(f->line, f->n, sizeof *f->line, place, NR(place));
}

void pm_branch_file_sort(struct pm_branch_file *f)
{
	size_t n = 0;

	if (f->n)
		sort_lines(f);
	for (size_t i = 0; i < f->n; i++)
		if (n && !by_place(&f->line[n - 1], &f->line[i])) {
			f->line[n - 1].count = sum(f->line[n - 1].count, f->line[i].count);
			f->line[n - 1].missed = sum(f->line[n - 1].missed, f->line[i].missed);
		} else {
			f->line[n++] = f->line[i];
		}
	f->n = n;
}

void pm_branch_file_add(struct pm_branch_file *f, const struct pm_branch_file *more)
{
	if (!f->build_id && more->build_id)
		f->build_id = pm_strdup(more->build_id);
	for (size_t i = 0; i < more->n; i++) {
		struct pm_branch_line l = more->line[i];

		l.from_name = l.from_name ? pm_arena_strdup(&f->mem, l.from_name) : NULL;
		l.to_name = l.to_name ? pm_arena_strdup(&f->mem, l.to_name) : NULL;
		pm_branch_file_put(f, l);
	}
	pm_branch_file_sort(f);
}
