/* SPDX-License-Identifier: MIT */
/* write_file.h - a file of translations that is being written: piece by piece, so that none of it
 * is ever held as a whole, and summed up */
#ifndef PM_CACHE_WRITE_FILE_H
#define PM_CACHE_WRITE_FILE_H

#include "base/mem.h"
#include "collect/cache/cache_internal.h"

struct out {
	int fd;				/* -1: could not be written */
	uint64_t at, sum;		/* of what comes next, by the sections so far */
	size_t n;
	_Alignas(64) uint8_t piece[CACHE_PIECE];
};

/* At a place of its own, not in the sum. */
void out_bytes(struct out *o, const void *p, size_t n, uint64_t at);
/* The next piece as a whole, whatever its size; bytes. */
void out_piece(struct out *o, const void *p, size_t n);
void out_write(struct out *o, const void *p, size_t n);
/* How much of @n fits into the piece, and that so much has been put there. */
size_t out_room(const struct out *o, uint64_t n);
void out_filled(struct out *o, size_t n);
/* What is put from here on is a section. Returns its place; @align is a power of two. */
uint64_t out_begin(struct out *o, size_t align);
uint64_t out_section(struct out *o, const struct pm_buf *b);
/* All entries, as they are in memory. */
void out_shadow(struct out *o, const struct module *m, const struct shadow_entry *e,
		struct cache_file *f);

#endif
