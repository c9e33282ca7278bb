/* SPDX-License-Identifier: MIT */
/* perf_map.h - names of generated code: /tmp/perf-PID.map, as perf's users know it
 *
 * A line is "START SIZE NAME", the first two hexadecimal, and NAME all the rest of it. Compilers at
 * run time append: of two lines for one address the later one is right. Lines that make no sense
 * are passed over; a file that another user could have written is not read. */
#ifndef PM_ANALYSE_PERF_MAP_H
#define PM_ANALYSE_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_perf_map {
	struct pm_perf_name { uint64_t lo, hi; const char *name; size_t at; } *v;	/* by lo */
	size_t n, cap;
	char *text;
};

/* That of process @pid; empty if there is none. */
void pm_perf_map_read(struct pm_perf_map *m, uint32_t pid);
/* From @n bytes at @text. */
void pm_perf_map_parse(struct pm_perf_map *m, const char *text, size_t n);
/* NULL: none. */
const char *pm_perf_map_name(const struct pm_perf_map *m, uint64_t addr);
void pm_perf_map_release(struct pm_perf_map *m);

#endif
