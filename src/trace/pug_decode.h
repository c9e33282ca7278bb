/* SPDX-License-Identifier: MIT */
/* pug_decode.h - the columns of a chunk become events, inside
 *
 * Nothing in a chunk is believed: the record's checksum guards against accidents, and every number
 * is still checked against what it indexes, against malice. */
#ifndef PM_TRACE_PUG_DECODE_H
#define PM_TRACE_PUG_DECODE_H

#include "trace/pug_phrase.h"
#include "trace/pug_side.h"

#define PUG_OUT_EVENTS	8192		/* events per batch, at most */

struct pug_slot_in {
	const struct pm_stream *stream;
	struct pug_code *code;		/* NULL: none */
	uint64_t insns;			/* of the stream before the next batch */
	struct pug_ctx ctx;
};

struct pug_chunk_in {			/* the chunk that is being read, whatever its version */
	uint64_t at;			/* its file offset */
	enum pug_level level;
	uint8_t model;			/* enum pug_model_id */
	uint8_t path_bits, seen_bits;
	uint32_t left;			/* events to come */
	uint32_t run;			/* of which free, before the next op (phrases: phrases) */
	bool run_known;
	uint64_t insns;			/* so far */
	uint64_t time;			/* last PM_EV_TIME */
	uint64_t kind[PM_EV_COUNT];	/* events of complete chunks, by kind */
	struct pug_span col[PUG_NCOL];
	struct pug_slot_in *slot, *now;
	size_t nslot, cap_slot;
	struct pug_def *def;
	size_t ndef, cap_def;
	struct pm_builder b;		/* the batch */
};

static inline enum pm_status pug_damaged(const struct pug_chunk_in *c, const char *what,
					 struct pm_err *err)
{
	return pm_fail(err, c->at, "the chunk here makes no sense: %s", what);
}

/* Differences of 16 and 32 bits, addresses, values. False: the column is over. */
static inline bool pug_get16(struct pug_span *c, uint64_t *d)
{
	if (c->end - c->p < 2)
		return false;
	*d = (uint64_t)(int64_t)(int16_t)(c->p[0] | c->p[1] << 8);
	c->p += 2;
	return true;
}

static inline bool pug_get32s(struct pug_span *c, uint64_t *d)
{
	if (c->end - c->p < 4)
		return false;
	*d = (uint64_t)(int64_t)(int32_t)pug_get32(c->p);
	c->p += 4;
	return true;
}

static inline bool pug_get64s(struct pug_span *c, uint64_t *d)
{
	if (c->end - c->p < 8)
		return false;
	*d = pug_get64(c->p);
	c->p += 8;
	return true;
}

/* _begin(): c's columns and slots are there. The other one: events of the slot c->now into c->b,
 * from which c->left and the slot's counts move on; c->b.b.first_insn is set. */
void pug_decode_begin(struct pug_model *m, struct pug_chunk_in *c);
enum pm_status pug_decode(struct pug_model *m, struct pug_chunk_in *c, struct pm_err *err);

struct pug1_model;			/* version 1 */
struct pug1_model *pug1_model_new(void);
void pug1_model_free(struct pug1_model *m);
void pug1_decode_begin(struct pug1_model *m, struct pug_chunk_in *c);
enum pm_status pug1_decode(struct pug1_model *m, struct pug_chunk_in *c, struct pm_err *err);
#define PUG1_NCOL 9
extern const uint8_t pug1_col_width[PUG1_NCOL];

#endif
