/* SPDX-License-Identifier: MIT */
/* pack.h - make pieces of an instrumented executable small (THE PACKING in runtime/image.h)
 *
 * Threads    pack_image() works on all processors by itself. */
#ifndef PM_PROCESS_PACK_H
#define PM_PROCESS_PACK_H

#include "base/mem.h"
#include "collect/runtime/image.h"

/* One piece, IMG_PIECE bytes at @from, which are overwritten if there is a stride (in words). Returns how many
 * bytes went to @to, at most IMG_PIECE + 1. */
uint32_t pack_piece(uint8_t *from, unsigned stride, uint8_t *to);

struct pack_part {
	const void *p;
	size_t n;
	unsigned stride;
};
/* Adds a struct img_pack to @to: the parts, each padded with zeros to whole pieces; the first is the code. */
void pack_image(const struct pack_part *part, size_t n, struct pm_buf *to);

#endif
