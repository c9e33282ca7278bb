/* SPDX-License-Identifier: MIT */
/* pack.h - make pieces of an instrumented executable small (THE PACKING in runtime/image.h)
 *
 * Threads    pack_image() works on all processors by itself. */
#ifndef PM_INSTRUMENT_PACK_H
#define PM_INSTRUMENT_PACK_H

#include "base/mem.h"
#include "collect/runtime/image.h"

/* One piece, IMG_PIECE bytes at @from; @how: IMG_COLUMNS(). Returns how many bytes went to @to, at
 * most IMG_PIECE + 1. @hard takes many times as long, and makes an eighth less of code. */
uint32_t pack_piece(const uint8_t *from, unsigned how, bool hard, uint8_t *to);

struct pack_part {
	const void *p;
	size_t n;
	unsigned how;			/* IMG_COLUMNS() */
};
/* Adds a struct img_pack to @to: the parts, each padded with zeros to whole pieces. */
void pack_image(const struct pack_part *part, size_t n, bool hard, struct pm_buf *to);

#endif
