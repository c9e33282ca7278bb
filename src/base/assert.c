/* SPDX-License-Identifier: MIT */
/* assert.c - what assertions call, the C library's function but for one assertion of libdw: that it
 * gets all memory that it asks for */
#include <assert.h>
#include <string.h>

#include "base/mem.h"

__attribute__((visibility("hidden")))
void __assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
	if (strstr(file, "dynamicsizehash") && !strcmp(what, "htab->table"))
		pm_out_of_memory(0);
	(void)function;
	__assert(what, file, (int)line);
}
