/* SPDX-License-Identifier: MIT */
/* pug_encode.h - events, or numbers of chains and addresses, become the columns of a chunk */
#ifndef PM_TRACE_PUG_ENCODE_H
#define PM_TRACE_PUG_ENCODE_H

#include "trace/chain.h"
#include "trace/pug_phrase.h"
#include "trace/pug_side.h"

struct pug_columns {			/* zeroed at first; kept from chunk to chunk */
	uint8_t *col[PUG_NCOL];		/* all but NEW and SIDE */
	uint8_t *at[PUG_NCOL];		/* their ends */
	size_t cap[PUG_NCOL];
	struct pm_buf neu, side;
};

/* The bytes of column @k; *@n of them. */
const uint8_t *pug_column(const struct pug_columns *c, enum pug_col k, size_t *n);
size_t pug_columns_bytes(const struct pug_columns *c);	/* of all of them */
void pug_columns_release(struct pug_columns *c);

struct pug_encoder {			/* zeroed at first */
	struct pug_model m;
	uint32_t *table;		/* hash of a phrase -> its number; 0: free */
	uint32_t mask;
	uint32_t *guess;		/* by its first event: the phrase that last began so */
	struct pug_defs defs;
	uint32_t *phrase_of;		/* by part of a chain, of code table parts_code: 0 if it
					 * is not known */
	size_t nparts;
	uint32_t parts_code;
	struct pm_event *ev;		/* a part as events */
	size_t cap_ev;
	struct pug_columns *c;
	uint32_t run;			/* free phrases since the last op */
	uint64_t insns;			/* in this chunk */
	uint64_t time;			/* last PM_EV_TIME */
};

/* A chunk begins, into @c. */
void pug_encode_begin(struct pug_encoder *e, struct pug_columns *c, unsigned path_bits,
		      unsigned seen_bits);
/* What follows belongs to another slot. */
void pug_encode_switch(struct pug_encoder *e, size_t slot);
/* The events of @b from *@i on, at least those before @stop: *@i moves to the end of a phrase. @x
 * is the slot's context. PM_ERR: an event that cannot be. */
enum pm_status pug_encode(struct pug_encoder *e, struct pug_ctx *x, const struct pm_batch *b,
			  size_t *i, size_t stop, struct pm_err *err);
struct pug_chains {			/* what numbers of chains mean */
	struct pm_chains chains;
	struct pm_code code;
};
/* @n executions of chains, whose addresses begin at *@addr, which moves behind them; *@events: so
 * many, as events. */
enum pm_status pug_encode_chains(struct pug_encoder *e, struct pug_ctx *x,
				 const struct pug_chains *k, const uint32_t *id, size_t n,
				 const uint64_t **addr, size_t *events, struct pm_err *err);
void pug_encode_end(struct pug_encoder *e);
void pug_encoder_release(struct pug_encoder *e);

#endif
