/* SPDX-License-Identifier: MIT */
/* pug_chunk.h - batches become chunks, chunks become bytes
 *
 * Chunks do not depend on each other, so that each may be made by another thread: whatever making
 * one takes is here, and what all of them share (the file, streams and code tables by number,
 * totals) is not. */
#ifndef PM_TRACE_PUG_CHUNK_H
#define PM_TRACE_PUG_CHUNK_H

#include <zstd.h>

#include "trace/pug_encode.h"

#define PUG_CHUNK_BYTES	(4 << 20)	/* in all columns of a chunk, about: several are in
					 * memory, twice while they are packed */
#define PUG_CHUNK_MODEL	(1 << 18)	/* phrases and their elements, of 64 bytes each */

struct pug_level_info {
	const char *name;
	enum pug_level level;
	int zstd;
	uint32_t insns, events;		/* a chunk is closed at the first block behind either */
	uint8_t path_bits, seen_bits;	/* the model's tables */
};

struct pug_origin {			/* of a batch, as the file knows it */
	uint32_t stream;		/* index */
	uint32_t code;			/* number of the code table, PM_NONE: none */
	uint64_t insns;			/* of the stream before the batch */
};

struct pug_chunk {			/* zeroed at first; kept from chunk to chunk */
	struct pug_columns cols;
	struct pug_slot {
		struct pug_origin of;	/* insns: before the chunk */
		uint64_t insns;		/* in it */
		struct pug_ctx ctx;
	} *slot;
	size_t nslot, cap_slot;
	uint64_t insns, time;		/* time: the last PM_EV_TIME, 0: none */
	uint32_t events;
	uint64_t kind[PM_EV_COUNT];
};

struct pug_maker {			/* zeroed at first; one per thread */
	struct pug_encoder e;
	struct pug_level_info level;
	struct pug_chunk *c;		/* what is being made */
	struct pug_slot *slot;		/* of the last events */
	/* a chunk is full and has been ended: whoever is called takes it, and begins the next */
	enum pm_status (*full)(void *arg, struct pm_err *err);
	void *arg;
};

void pug_make_begin(struct pug_maker *m, struct pug_chunk *c);
/* The events, or chains, of @b; begins and ends chunks as they fill. *insns: how many instructions
 * that was. */
enum pm_status pug_make(struct pug_maker *m, const struct pug_origin *of, const struct pm_batch *b,
			uint64_t *insns, struct pm_err *err);
/* What comes next of a batch that is packed: @n ids, whose addresses begin at *addr, which moves
 * on. The ids that stand for events are left to pug_make(). */
enum pm_status pug_make_chains(struct pug_maker *m, const struct pug_origin *of,
			       const struct pug_chains *k, const uint32_t *id, size_t n,
			       const uint64_t **addr, uint64_t *insns, struct pm_err *err);
void pug_make_end(struct pug_maker *m);
void pug_maker_release(struct pug_maker *m);

/* @c as the payload of a DATA record, behind what is in @to. */
enum pm_status pug_chunk_pack(struct pm_buf *to, const struct pug_chunk *c,
			      const struct pug_level_info *level, struct pm_buf *scratch,
			      ZSTD_CCtx *z, struct pm_err *err);
void pug_chunk_release(struct pug_chunk *c);

#endif
