/* SPDX-License-Identifier: MIT */
/* proc_maps.h - what a process has mapped, as /proc tells
 *
 * Ownership  paths belong to the struct maps.
 * Units      addresses and offsets in bytes. */
#ifndef PM_PROC_MAPS_H
#define PM_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"

struct mapping {
	uint64_t lo, hi, off;
	dev_t dev;
	ino_t ino;			/* 0: no file */
	uint32_t prot;			/* PROT_* */
	bool shared;
	const char *path;		/* or "[stack]", "[vdso]"...; "": anonymous */
};

struct maps {
	struct mapping *v;		/* ascending */
	size_t n, cap;
	struct pm_buf text;
};

/* Reads anew what @m, { 0 } or read before, holds. False: it cannot be read. */
bool maps_read(pid_t pid, struct maps *m);
/* To read the file that is mapped at @m of @pid, also that of its program if it has no name (any
 * more); the caller closes it. -1: it cannot be had. */
int maps_open(pid_t pid, const struct mapping *m);
/* The path as the file has it, of one in a file of lines like /proc's: there a line feed is \012,
 * and a backslash stays as it is. @path, which may become shorter, is taken as it stands if such a
 * file exists, or if neither does. */
void maps_path(char *path);
const struct mapping *maps_at(const struct maps *m, uint64_t addr);	/* NULL: nothing is there */
void maps_release(struct maps *m);

#endif
