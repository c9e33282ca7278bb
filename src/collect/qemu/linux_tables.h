/* SPDX-License-Identifier: MIT */
/* linux_tables.h - two tables that a kernel's image carries: its symbols and its types
 *
 * Errors     any bytes may come; an error names the place in the vmlinux. */
#ifndef PM_QEMU_LINUX_TABLES_H
#define PM_QEMU_LINUX_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct linux_symbols {
	size_t n;
	size_t tokens;			/* where the table of tokens is in the vmlinux */
	uint64_t *addr;
	uint32_t *name;			/* where it begins in `text`, terminated */
	char *text;
};

/* @p: the vmlinux, of @n bytes. */
enum pm_status linux_symbols_read(struct linux_symbols *s, const uint8_t *p, size_t n,
				  struct pm_err *err);
uint64_t linux_symbols_find(const struct linux_symbols *s, const char *name);	/* 0: none */
void linux_symbols_release(struct linux_symbols *s);

struct linux_types {
	const uint8_t *p;		/* borrowed: types */
	const char *text;		/* ... and their names, terminated */
	uint32_t np, ntext;
	uint32_t *at;			/* of each type; [0] is none */
	size_t n, cap;
};

/* @p: the section .BTF, which stays; it is at @where. */
enum pm_status linux_types_read(struct linux_types *t, const uint8_t *p, size_t n, uint64_t where,
				struct pm_err *err);
bool linux_types_member(const struct linux_types *t, const char *type, const char *member,
			uint32_t *at);
void linux_types_release(struct linux_types *t);

#endif
