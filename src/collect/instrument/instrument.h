/* SPDX-License-Identifier: MIT */
/* instrument.h - write an instrumented executable: BENCH.idt, BENCH.idt.d, the block
 * table, the module file
 *
 * Errors     nothing half-written is left: files get their names when all of them are complete. */
#ifndef PM_INSTRUMENT_INSTRUMENT_H
#define PM_INSTRUMENT_INSTRUMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "collect/runtime/image.h"

struct pm_instrument_opts {
	const char *path;		/* the program */
	enum img_kind kind;
	uint32_t line;			/* of a cache trace, bytes; a power of two */
	bool rep, stack, no_trace;	/* rep, stack: references of rep instructions, of pushes
					 * and pops have their own tags; stack: cache traces only */
	bool merge;			/* a process's threads write one trace */
	bool quick;			/* 32-bit programs: counters that wrap are not noticed */
	uint64_t max_blocks;		/* 0: as many as there are */
	const char *hints;		/* file; NULL: none */
	const char *options;		/* as idtinfo shall tell them */
	const char *const *library;	/* further libraries (dlopen),
					 * NULL-terminated; NULL: none */
	FILE *verbose;			/* NULL: quiet */
};

enum pm_status pm_instrument(const struct pm_instrument_opts *o, struct pm_err *err);

/* Be the translator of a running instrumented program (THE TRANSLATOR in runtime/image.h), which
 * has started this process: @fd is the memory file, and its files are @stem.blk64 and so on.
 * Returns when there is a translator, another process, or an error. */
enum pm_status pm_instrument_serve(int fd, const char *stem, struct pm_err *err);

#endif
