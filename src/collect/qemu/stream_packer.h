/* SPDX-License-Identifier: MIT */
/* stream_packer.h - blocks that do what they did before, straight into packed batches
 *
 * Nearly all blocks execute as a whole, and make the same references each time but for addresses.
 * Each such block becomes a chain (trace/chain.h) of one part once it has been seen. From then on
 * its words need no look at each: their lower 16 bits are as they were, and the next block begins
 * where this one leads to. Whatever is otherwise stream_reader.c makes events of.
 *
 * Ownership  stream_packer_new()/stream_packer_free(). The sinks see its tables, so the pipeline is
 *            freed before.
 * Threads    one */
#ifndef PM_QEMU_STREAM_PACKER_H
#define PM_QEMU_STREAM_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pugmark/pugmark.h"
#include "trace/chain.h"

#define QS_MAX_BLOCKS	(1u << 24)
#define QS_MAX_INSN	(1u << 27)	/* of all of them */

#define QS_TAGS	10u		/* as many as fit */

struct qemu_block {
	/* of interest each time that it begins: one cache line */
	uint64_t pc, fall, target;	/* where control goes behind it; both `fall` if there is no
					 * other place */
	uint32_t n;			/* instructions */
	uint32_t chain;			/* PM_NONE: it is none yet */
	uint32_t tag;			/* the first of the chain's in stream_packer.tag */
	uint16_t nref, reads;		/* the chain's references */
	bool anywhere;			/* control goes wherever registers or memory say */
	bool rep;			/* the last instruction is one */
	uint8_t per_iter;		/* references of an iteration */
	uint8_t learnt;			/* how often it was another chain than before */
	uint16_t first_tag[QS_TAGS];	/* the first of them once more */

	uint32_t first, bytes;		/* first: in the code table */
	uint64_t last;			/* address of its last instruction */
	uint64_t physical, rest;	/* of its first byte; of its first one in the next page */
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct qemu_block, first) <= 64, "one cache line");

struct stream_packer {
	/* of the batch that is being filled */
	uint32_t *id;
	uint64_t *addr;
	size_t nid, nref;
	size_t placed;			/* so many of its events have their place among id[] */
	bool addresses;			/* does anybody look at them? */

	struct pm_chain *chain;
	struct pm_chain_part *part;
	struct pm_chain_ref *ref;
	uint32_t nchain, nchain_ref;
	uint16_t *tag;			/* the lower bits of the words of references */
	size_t ntag, cap_tag;
};

/* NULL: no address space; errno says why. */
struct stream_packer *stream_packer_new(bool addresses);
void stream_packer_free(struct stream_packer *k);	/* NULL is fine */
/* Block @number, @b, has executed as a whole, and did @ev[0..n): perhaps it will do so again. */
void stream_packer_learn(struct stream_packer *k, struct qemu_block *b, uint32_t number,
			 const struct pm_event *ev, size_t n);

struct stream_pack {			/* what has been packed */
	size_t words;
	uint64_t insns, refs, reads;
};
/* Of the @n words at @w, the first of which says that a block begins: as many as belong to blocks
 * that execute as ever, fewer than @left instructions. The last block of them leads to the one that
 * begins at the next word. They come behind the batch's @nev events. @block: all @nblock that there
 * are. */
struct stream_pack stream_packer_take(struct stream_packer *k, const struct qemu_block *block,
				      size_t nblock, const uint64_t *w, size_t n, uint64_t left,
				      size_t nev);
/* The batch is to be pushed. */
bool stream_packer_full(const struct stream_packer *k);
/* Events up to @nev, of those that the batch has, come here. */
void stream_packer_place(struct stream_packer *k, size_t nev);
/* The batch, of @insns instructions; then it is empty. */
struct pm_packed stream_packer_batch(struct stream_packer *k, uint64_t insns);

#endif
