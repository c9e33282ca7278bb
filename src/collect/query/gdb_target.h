/* SPDX-License-Identifier: MIT */
/* gdb_target.h - what gdb calls the registers of x86-64 and i386, and how it gets them */
#ifndef PM_QUERY_GDB_TARGET_H
#define PM_QUERY_GDB_TARGET_H

#include "collect/control/stop_at.h"

/* The description, in XML. */
size_t gdb_target_describe(const struct standing *st, char *to, size_t size);
unsigned gdb_target_registers(const struct standing *st);
/* Register @i as hexadecimal digits, x where it is not known, into @to; of thread @tid of @st's
 * process. Returns their number. */
size_t gdb_target_get(struct standing *st, uint32_t tid, unsigned i, char *to);

#endif
