/* SPDX-License-Identifier: MIT */
/* chain.h - the short form of a batch: numbers of chains, and addresses
 *
 * Where a program runs, most of what happens is static: which blocks follow each other, which of
 * their instructions refer to memory, how, and how much. A *chain* is some blocks that executed one
 * after the other, all of each; what differs from one execution to the next is where its references
 * went. A batch that is packed holds just that, an eighth of the bytes of the same as events:
 *
 *	id[]	which chain; or PM_CHAIN_EVENTS | k: the next k of the batch's events come here
 *	addr[]	chain after chain, where its references went
 *
 * The events are whatever is no whole chain: executions cut short, string instructions, system
 * calls. Sinks that take this form say so (PM_SINK_CHAINS); to the others pm_unpack() shows the
 * same as events. Plug-ins never see it: its flags are none of pugmark.h.
 *
 * Threads    a producer's tables only grow: what a batch can name has been written, and neither
 *            moves nor changes until the sinks have finished, so that any thread may read it. */
#ifndef PM_TRACE_CHAIN_H
#define PM_TRACE_CHAIN_H

#include "trace/pipeline.h"

struct pm_chain_ref {
	uint32_t insn;			/* index into pm_code.insn */
	uint16_t size;
	uint8_t kind, flags;		/* as its event has them */
};

struct pm_chain_part {			/* one block */
	uint32_t block;			/* index into pm_code.block */
	uint32_t nref;
};

struct pm_chain {
	uint64_t pc;
	uint32_t part, npart;		/* pm_chains.part[part .. part + npart) */
	uint32_t ref, nref;		/* pm_chains.ref[ref .. ref + nref) */
	uint64_t kinds;			/* its events by kind, PM_CHAIN_KIND_BITS each: blocks,
					 * reads, writes, modifies. A chain has no other ones. */
};
#define PM_CHAIN_KIND_BITS 16

struct pm_chains {
	const struct pm_chain *chain;
	const struct pm_chain_part *part;
	const struct pm_chain_ref *ref;
	uint32_t n;			/* numbers below this may occur */
};

#define PM_CHAIN_EVENTS 0x80000000u

struct pm_packed_ref {
	uint64_t addr;
	uint32_t ref;			/* index into pm_chains.ref */
};

struct pm_packed {
	struct pm_chains chains;
	const uint32_t *id;
	size_t n;
	const uint64_t *addr;
	size_t nref;			/* 0 if nobody looks at them (pm_feed.addresses) */
	uint64_t insns;			/* all of the batch */
	bool at_once;			/* who pushes has time to do what there is to do with it:
					 * better than to keep it for another thread */
};

enum pm_chain_sink_flag {		/* besides enum pm_sink_flag */
	PM_SINK_CHAINS		= 1 << 24,	/* first member of a pm_chain_sink_ops; with
						 * PM_SINK_BLOCKS */
	PM_SINK_LIGHT_CHAINS	= 1 << 25,	/* packed() is as PM_SINK_LIGHT says of consume() */
	PM_SINK_NO_ADDRESSES	= 1 << 28,	/* packed() does not look at addr[], which may be
						 * empty: which references there were is enough */
};

struct pm_tally;
struct pm_chain_sink_ops {
	struct pm_sink_ops ops;
	/* What consume() is for other batches. The events of @b have their places in @k. */
	enum pm_status (*packed)(void *self, const struct pm_batch *b, const struct pm_packed *k,
				 struct pm_err *err);
	/* Of one that wants nothing but how many events of each kind there are, else NULL: @t more
	 * of them, which it does not get to see. */
	void (*counted)(void *self, const struct pm_stream *s, const struct pm_tally *t);
};

/* Like pm_pipeline_push(), of a batch that is packed; only if pm_feed.packed. */
enum pm_status pm_pipeline_push_packed(struct pm_pipeline *p, const struct pm_batch *b,
				       const struct pm_packed *k, struct pm_err *err);

/* The references of @p: nref of them at @to. */
void pm_packed_refs(const struct pm_packed *p, struct pm_packed_ref *to);

struct pm_unpacker;
struct pm_unpacker *pm_unpacker_new(void);
/* @b, packed as @k, as batches of blocks and references. */
enum pm_status pm_unpack(struct pm_unpacker *u, const struct pm_batch *b, const struct pm_packed *k,
			 const struct pm_emit *emit, struct pm_err *err);
void pm_unpacker_free(struct pm_unpacker *u);		/* NULL is fine */

#endif
