/* SPDX-License-Identifier: MIT */
/* whole_text.h - a whole text translated ahead of time
 *
 * Everything that control may reach is found from what the file says (symbols, unwind tables,
 * landing pads, relocations, entry points), from what the code says (direct branches, addresses
 * that it takes, jump tables), and at last by decoding whatever is left between. Too much costs
 * room; what is missed costs a fault when control gets there, or a look into the middle of a block.
 *
 * Blocks are numbered by address; links between them are made; counters are IMG_RESERVED + number.
 * The code is for one place and is not moved.
 *
 * Ownership  xl_image_release(). The ELF file's bytes are borrowed until then.
 * Threads    texts can be translated side by side; a thread calls xl_thread_done() when it ends. */
#ifndef PM_TRANSLATE_WHOLE_TEXT_H
#define PM_TRANSLATE_WHOLE_TEXT_H

#include <stdbool.h>

#include "base/mem.h"
#include "collect/runtime/image.h"
#include "collect/translate/translate.h"

struct xl_image_input {
	const uint8_t *file;		/* the whole ELF file */
	size_t size;
	const char *path;		/* for its symbols */
	bool i386;
	uint64_t bias;			/* address in memory - address in the file */
	uint64_t lo, hi;		/* the text in memory, page aligned */
	uint64_t offset, bytes;		/* of lo in the file; bytes from there
					 * that are the file's */
	uint64_t code;			/* where the translation will live */
	enum xl_kind kind;
	const uint64_t *seed;		/* further addresses that control may reach: hints */
	size_t nseed;
	/* Code that was made while the program runs: @file is what is at @lo, and only what @entry
	 * leads to is translated. Blocks compare their bytes when they are entered, and all have an
	 * indirect entry. */
	bool generated, writable;
	uint64_t entry;
	bool (*known)(void *ctx, uint64_t addr, struct xl_known *out);	/* blocks of other images */
	void *ctx;
};

/* An indirect entry that stands by itself. */
struct xl_entry {
	uint32_t pc, code;
};

struct xl_image {
	struct xl_image_input in;
	struct pm_buf code;
	struct img_block *block;	/* by address */
	size_t nblock;
	struct xl_entry *entry;		/* by address */
	size_t nentry;
	uint32_t *by_code;
	uint32_t *prev;			/* the block whose record each continues, IMG_NO_BLOCK
					 * profiles: NULL */
	struct pm_buf map;
	struct x86_insn *insn;
	uint32_t *insn_at;		/* of each block: its instructions in insn[] */
	size_t ninsn, cap_insn;
	uint64_t *link;			/* targets that have no block: exits to the runtime */
	uint32_t *link_site;		/* where in the code the rel32 to each exit is */
	size_t nlink;
	uint64_t unknown;		/* instructions that the decoder does not know */
	uint32_t first;			/* number of the first block */
	struct pm_buf counters, numbers, links;	/* u32: fields of the code that will hold numbers */
};

/* All numbers count from 0 until xl_image_number() tells, once, which the first block and
 * the first link have. */
void xl_image_make(const struct xl_image_input *in, struct xl_image *out);
void xl_image_number(struct xl_image *m, uint32_t first, uint32_t first_link);
void xl_image_release(struct xl_image *m);

#endif
