/* SPDX-License-Identifier: MIT */
/* gdb_libraries.c - the dynamic linker's list of libraries, in XML: gdb's manual, "Library List
 * Format for SVR4 Targets" */
#include <elf.h>
#include <link.h>
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

/* Where the program's dynamic section is; 0: it has none. */
static uint64_t find_dynamic(struct standing *st, const uint64_t *auxv, size_t n)
{
	const uint64_t at = auxv_value(auxv, n, AT_PHDR), count = auxv_value(auxv, n, AT_PHNUM);
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr h;

	for (uint64_t i = 0; at && i < count && i < MOST; i++) {
		if (!stopped_read(st, &h, at + i * sizeof h, sizeof h))
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
	const uint64_t dynamic = find_dynamic(st, auxv, n);
	struct r_debug debug;
	Elf64_Dyn d;

	for (uint64_t i = 0; dynamic && i < MOST; i++) {
		if (!stopped_read(st, &d, dynamic + i * sizeof d, sizeof d) ||
		    d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag != DT_DEBUG)
			continue;
		return d.d_un.d_ptr && stopped_read(st, &debug, d.d_un.d_ptr, sizeof debug) ?
			(uint64_t)(uintptr_t)debug.r_map : 0;
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
	struct link_map m;
	char name[4096];
	size_t n;

	n = (size_t)snprintf(to, size, "<library-list-svr4 version=\"1.0\"");
	if (at)
		n += (size_t)snprintf(to + n, size - n, " main-lm=\"0x%llx\"",
				      (unsigned long long)at);
	n += (size_t)snprintf(to + n, size - n, ">");
	for (unsigned i = 0; at && i < MOST && n + sizeof name + ROOM < size; i++) {
		if (!stopped_read(st, &m, at, sizeof m))
			break;
		if (i && put_name(st, (uint64_t)(uintptr_t)m.l_name, name, sizeof name))
			n += (size_t)snprintf(to + n, size - n, "<library name=\"%s\" "
					      "lm=\"0x%llx\" l_addr=\"0x%llx\" "
					      "l_ld=\"0x%llx\" lmid=\"0x0\"/>", name,
					      (unsigned long long)at,
					      (unsigned long long)m.l_addr,
					      (unsigned long long)(uintptr_t)m.l_ld);
		at = (uint64_t)(uintptr_t)m.l_next;
	}
	return n + (size_t)snprintf(to + n, size - n, "</library-list-svr4>");
}
