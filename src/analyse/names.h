/* SPDX-License-Identifier: MIT */
/* names.h - addresses of a trace as function+offset and file:line, where the trace knows its objects
 *
 * The code table's objects are opened when the first of their addresses is asked for; an object
 * that is gone or changed gives no names. */
#ifndef PM_ANALYSE_NAMES_H
#define PM_ANALYSE_NAMES_H

#include <stdbool.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

struct pm_names {
	struct pm_names_object { char *path, *build_id; uint64_t base, lo, hi; struct pm_elf *elf; bool tried; } *object;
	size_t n, cap;
};
/* Remember the objects of @code; cheap when there are no new ones. NULL is fine. */
void pm_names_learn(struct pm_names *s, const struct pm_code *code);
/* "main+0x12" or NULL; into @buf. */
const char *pm_name_of(struct pm_names *s, uint64_t pc, char *buf, size_t size);
/* "hash.c:17" or NULL. */
const char *pm_line_of(struct pm_names *s, uint64_t pc, char *buf, size_t size);
/* Put pc, function and line into the object that is open in @r. */
void pm_names_result(struct pm_names *s, struct pm_result *r, uint64_t pc);
void pm_names_release(struct pm_names *s);

#endif
