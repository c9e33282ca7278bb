/* SPDX-License-Identifier: MIT */
/* symbol_lines.c - source lines from DWARF */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "elf/elf_file.h"

static int by_unit(const void *a, const void *b)
{
	const struct elf_unit *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->die > y->die) - (x->die < y->die);
}

static bool has_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strcmp(elf_section_name(elf, &sh), name))
			return true;
	return false;
}

/* The file that holds the lines: this one, the separate one, or NULL. */
static Elf *lines_from(struct pm_elf *e)
{
	if (has_section(e->elf, ".debug_line") || has_section(e->elf, ".zdebug_line"))
		return e->elf;
	elf_look_for_debug(e);
	return e->debug;
}

bool pm_elf_lines_are_slow(struct pm_elf *e)
{
	Elf *from = e->looked_for_dwarf ? NULL : lines_from(e);
	Elf_Scn *scn = NULL;
	uint64_t packed = 0;
	GElf_Shdr sh;

	while (from && (scn = elf_nextscn(from, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED))
			packed += sh.sh_size;
	return packed > 1u << 18;
}

/* libdw's own handler flushes and frees as if there was memory. */
__attribute__((noreturn)) static void no_memory(void)
{
	pm_out_of_memory(0);
}

static bool dwarf(struct pm_elf *e)
{
	size_t n = 0;
	Elf *from;

	if (e->looked_for_dwarf)
		return e->dwarf;
	e->looked_for_dwarf = true;
	from = lines_from(e);
	e->dwarf = from ? dwarf_begin_elf(from, DWARF_C_READ, NULL) : NULL;
	if (e->dwarf)
		dwarf_new_oom_handler(e->dwarf, no_memory);
	if (e->dwarf && (dwarf_getaranges(e->dwarf, &e->aranges, &n) || !n))
		e->aranges = NULL;
	return e->dwarf;
}

/* Units by address from the units themselves: not every compiler writes .debug_aranges, but where
 * they are they save reading every unit. */
static void scan_units(struct pm_elf *e)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	e->scanned_units = true;
	while (!dwarf_get_units(e->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_split_compile)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0) {
			if (lo >= hi)
				continue;
			pm_grow(e->unit, e->nunit, e->cap_unit);
			e->unit[e->nunit++] = (struct elf_unit){ lo, hi, dwarf_dieoffset(&die) };
		}
	}
	if (e->nunit)
		qsort(e->unit, e->nunit, sizeof *e->unit, by_unit);
}

static bool unit_at(struct pm_elf *e, uint64_t addr, Dwarf_Die *die)
{
	Dwarf_Arange *r = e->aranges ? dwarf_getarange_addr(e->aranges, addr) : NULL;
	size_t lo;
	Dwarf_Off off;

	if (r && !dwarf_getarangeinfo(r, NULL, NULL, &off))
		return dwarf_offdie(e->dwarf, off, die);
	if (!e->scanned_units)
		scan_units(e);
	lo = pm_upper_bound(e->unit, e->nunit, .lo, addr);
	return lo && addr < e->unit[lo - 1].hi && dwarf_offdie(e->dwarf, e->unit[lo - 1].die, die);
}

#define LINES_ROOM (8u << 20)		/* more than those of nearly all units take */

void elf_room_for_lines(struct pm_elf *e, Dwarf_Die *unit)
{
	if (e->has_room_for == dwarf_dieoffset(unit))
		return;
	free(pm_alloc_unset(LINES_ROOM));
	e->has_room_for = dwarf_dieoffset(unit);
}

bool pm_elf_has_lines(struct pm_elf *e)
{
	return dwarf(e);
}

bool pm_elf_line_at(struct pm_elf *e, uint64_t addr, const char **file, unsigned *line)
{
	Dwarf_Line *l;
	Dwarf_Die die;
	int n = 0;

	if (!elf_text_at(e, addr) || !dwarf(e) || !unit_at(e, addr, &die))
		return false;
	elf_room_for_lines(e, &die);
	l = dwarf_getsrc_die(&die, addr);
	if (!l || dwarf_lineno(l, &n) || n <= 0)
		return false;
	*file = dwarf_linesrc(l, NULL, NULL);
	*line = (unsigned)n;
	return *file != NULL;
}
