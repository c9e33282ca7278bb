/* SPDX-License-Identifier: MIT */
/* gdb_libraries.h - which libraries a program has loaded, as gdb wants to hear it
 *
 * The dynamic linker of the C library keeps a list of them, which debuggers read (<link.h>). Where
 * it has not made that yet, or there is none, the answer is an empty list. What stands there is the
 * program's: whatever it is, the answer is well formed. */
#ifndef PM_QUERY_GDB_LIBRARIES_H
#define PM_QUERY_GDB_LIBRARIES_H

#include "collect/control/stop_at.h"

/* The list of @st's process, in XML, into @to; its length. @auxv: @n words of its auxiliary
 * vector. */
size_t gdb_libraries(struct standing *st, const uint64_t *auxv, size_t n, char *to, size_t size);

#endif
