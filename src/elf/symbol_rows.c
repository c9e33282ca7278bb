/* SPDX-License-Identifier: MIT */
/* symbol_rows.c - all lines and functions that the debugging information knows */
#include <dwarf.h>
#include <stdlib.h>

#include "elf/elf_file.h"

struct row_list { struct pm_elf_row *v; size_t n, cap; };

static int by_row(const void *a, const void *b)
{
	const struct pm_elf_row *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool add_unit_rows(struct pm_elf *e, Dwarf_Die *unit, bool (*want)(const char *file),
			  struct row_list *to)
{
	const char *last = NULL;
	Dwarf_Lines *lines;
	size_t n;

	elf_room_for_lines(e, unit);
	if (dwarf_getsrclines(unit, &lines, &n))
		return true;
	for (size_t i = 0; i + 1 < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
		Dwarf_Addr lo, hi;
		const char *file;
		bool end = true;
		int line;

		if (dwarf_lineendsequence(l, &end) || end || dwarf_lineaddr(l, &lo) ||
		    dwarf_lineaddr(next, &hi) || hi <= lo || dwarf_lineno(l, &line) || line <= 0 ||
		    !(file = dwarf_linesrc(l, NULL, NULL)) || !elf_text_at(e, lo))
			continue;
		if (file != last && !want(file))
			return false;
		last = file;
		pm_grow(to->v, to->n, to->cap);
		to->v[to->n++] = (struct pm_elf_row){ lo, hi, file, (unsigned)line };
	}
	return true;
}

size_t pm_elf_rows(struct pm_elf *e, bool (*want)(const char *file), struct pm_elf_row **v)
{
	struct row_list to = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (pm_elf_has_lines(e) &&
	       !dwarf_get_units(e->dwarf, cu, &cu, NULL, &type, &die, NULL))
		if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
		    !add_unit_rows(e, &die, want, &to)) {
			to.n = 0;
			break;
		}
	if (to.n)
		qsort(to.v, to.n, sizeof *to.v, by_row);
	*v = to.v;
	return to.n;
}

struct subprogram_list { struct pm_elf *e; struct pm_elf_subprogram *v; size_t n, cap; };

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *s = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr))
		s = dwarf_formstring(&attr);
	return s ? s : dwarf_diename(die);
}

static int add_subprogram(Dwarf_Die *die, void *arg)
{
	struct subprogram_list *to = arg;
	struct pm_elf_subprogram s = { 0 };
	Dwarf_Addr lo, hi;
	int line;

	if (dwarf_lowpc(die, &lo) || dwarf_highpc(die, &hi) || hi <= lo ||
	    !elf_text_at(to->e, lo) || dwarf_decl_line(die, &line) || line <= 0)
		return DWARF_CB_OK;
	s = (struct pm_elf_subprogram){ linkage_name(die), dwarf_decl_file(die), (unsigned)line,
					lo, hi };
	if (!s.name || !s.file)
		return DWARF_CB_OK;
	pm_grow(to->v, to->n, to->cap);
	to->v[to->n++] = s;
	return DWARF_CB_OK;
}

static int by_lo(const void *a, const void *b)
{
	const struct pm_elf_subprogram *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

size_t pm_elf_subprograms(struct pm_elf *e, struct pm_elf_subprogram **v)
{
	struct subprogram_list to = { .e = e };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (pm_elf_has_lines(e) &&
	       !dwarf_get_units(e->dwarf, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_compile)
			dwarf_getfuncs(&die, add_subprogram, &to, 0);
	if (to.n)
		qsort(to.v, to.n, sizeof *to.v, by_lo);
	*v = to.v;
	return to.n;
}
