/* SPDX-License-Identifier: MIT */
/* gdb_libraries.c - the dynamic linker's list of libraries, in XML: gdb's manual, "Library List
 * Format for SVR4 Targets" */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "collect/query/gdb_libraries.h"

#define MOST 1024u			/* libraries */
#define ROOM 512u			/* bytes of an entry without its name */

static uint64_t auxv_value(const uint64_t *v, size_t n, uint64_t type)
{
	for (size_t i = 0; i + 2 <= n; i += 2)
		if (v[i] == type)
			return v[i + 1];
	return 0;
}

/* ---- structures of either width -------------------------------------------------------------- */
static bool read_header(struct standing *st, uint64_t at, Elf64_Phdr *h)
{
	Elf32_Phdr narrow;

	if (!stopped_is_i386(st))
		return stopped_read(st, h, at, sizeof *h);
	if (!stopped_read(st, &narrow, at, sizeof narrow))
		return false;
	*h = (Elf64_Phdr){ .p_type = narrow.p_type, .p_vaddr = narrow.p_vaddr };
	return true;
}

/* @n words, as they lie there. */
static bool read_words(struct standing *st, uint64_t at, uint64_t *to, size_t n)
{
	uint32_t narrow[8];

	if (!stopped_is_i386(st))
		return stopped_read(st, to, at, 8 * n);
	if (n > NR(narrow) || !stopped_read(st, narrow, at, 4 * n))
		return false;
	for (size_t i = 0; i < n; i++)
		to[i] = narrow[i];
	return true;
}

/* ---- the list -------------------------------------------------------------------------------- */
/* Where the program's dynamic section is; 0: it has none. */
static uint64_t find_dynamic(struct standing *st, const uint64_t *auxv, size_t n)
{
	const uint64_t at = auxv_value(auxv, n, AT_PHDR), count = auxv_value(auxv, n, AT_PHNUM);
	const size_t size = stopped_is_i386(st) ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr h;

	for (uint64_t i = 0; at && i < count && i < MOST; i++) {
		if (!read_header(st, at + i * size, &h))
			return 0;
		if (h.p_type == PT_PHDR)
			bias = at - h.p_vaddr;
		else if (h.p_type == PT_DYNAMIC)
			dynamic = h.p_vaddr;
	}
	return dynamic ? bias + dynamic : 0;
}

/* The first of the list; 0: there is none. */
static uint64_t first_map(struct standing *st, const uint64_t *auxv, size_t n)
{
	const uint64_t dynamic = find_dynamic(st, auxv, n), size = stopped_is_i386(st) ? 8 : 16;
	uint64_t d[2], debug[2];		/* Elf64_Dyn; r_version, r_map of struct r_debug */

	for (uint64_t i = 0; dynamic && i < MOST; i++) {
		if (!read_words(st, dynamic + i * size, d, 2) || d[0] == DT_NULL)
			return 0;
		if (d[0] == DT_DEBUG)
			return d[1] && read_words(st, d[1], debug, 2) ? debug[1] : 0;
	}
	return 0;
}

/* The name at @at as XML has it, of at most @size - 1 bytes. */
static size_t put_name(struct standing *st, uint64_t at, char *to, size_t size)
{
	size_t n = 0;

	for (uint8_t c = 0; stopped_read(st, &c, at, 1) && c && n + 8 < size; at++) {
		if (strchr("&<>\"'", c) || c < ' ')
			n += (size_t)snprintf(to + n, size - n, "&#%u;", c);
		else
			to[n++] = (char)c;
	}
	to[n] = 0;
	return n;
}

size_t gdb_libraries(struct standing *st, const uint64_t *auxv, size_t nauxv, char *to, size_t size)
{
	uint64_t at = first_map(st, auxv, nauxv);
	uint64_t m[4];			/* l_addr, l_name, l_ld, l_next of struct link_map */
	char name[4096];
	size_t n;

	n = (size_t)snprintf(to, size, "<library-list-svr4 version=\"1.0\"");
	if (at)
		n += (size_t)snprintf(to + n, size - n, " main-lm=\"0x%llx\"",
				      (unsigned long long)at);
	n += (size_t)snprintf(to + n, size - n, ">");
	for (unsigned i = 0; at && i < MOST && n + sizeof name + ROOM < size; i++) {
		if (!read_words(st, at, m, NR(m)))
			break;
		if (i && put_name(st, m[1], name, sizeof name))
			n += (size_t)snprintf(to + n, size - n, "<library name=\"%s\" "
					      "lm=\"0x%llx\" l_addr=\"0x%llx\" "
					      "l_ld=\"0x%llx\" lmid=\"0x0\"/>", name,
					      (unsigned long long)at, (unsigned long long)m[0],
					      (unsigned long long)m[2]);
		at = m[3];
	}
	return n + (size_t)snprintf(to + n, size - n, "</library-list-svr4>");
}
