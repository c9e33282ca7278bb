/* SPDX-License-Identifier: MIT */
/* group.h - events gathered into whole instructions, for writers of formats with one record per
 * instruction and for the cracker
 *
 * In: expanded events (no PM_EV_BLOCK). Out: one pm_group per executed instruction, complete with
 * references, branch outcome, registers and micro-ops, when the event after it has been seen; for a
 * rep string instruction one per iteration when the source marks them (PM_HAS_REPS), the second and
 * later ones with @again set.
 *
 * Ownership  a group is lent to the callback until it returns.
 * Memory     bounded: an instruction with more than PM_GROUP_REFS references is split, the later
 *            parts have @again set, too. */
#ifndef PM_TRACE_GROUP_H
#define PM_TRACE_GROUP_H

#include "base/mem.h"
#include "isa/x86/regs.h"
#include "trace/pipeline.h"

#define PM_GROUP_REFS	64
#define PM_GROUP_REGS	24
#define PM_GROUP_UOPS	32

struct pm_group_reg {
	uint32_t id;
	uint16_t size;
	uint64_t value, high;		/* high: bytes 8-15 of a wider register */
};

struct pm_group {
	const struct pm_stream *stream;
	uint64_t pc, number;		/* number: of the instruction in its stream */
	uint32_t id;			/* index into code->insn, PM_NONE */
	uint32_t epoch;			/* ... of this epoch (pm_code.epoch) */
	uint16_t size;			/* bytes; 0 unknown */
	uint8_t tag;			/* the INSN event's flags: private to the source's format */
	bool known;			/* insn is valid */
	bool again;			/* a further iteration of the rep instruction before it */
	bool rep;			/* iterations are marked; false with zero of them, see
					 * rep_end */
	bool rep_end;			/* the rep instruction ends with this group */
	bool has_branch;
	bool next_known;		/* the next instruction of the stream is at next_pc */
	uint64_t next_pc;
	struct pm_insn insn;
	struct pm_event branch;
	struct pm_event ref[PM_GROUP_REFS];
	struct pm_group_reg rd[PM_GROUP_REGS], wr[PM_GROUP_REGS];
	struct pm_uop uop[PM_GROUP_UOPS];
	unsigned nref, nrd, nwr, nuop;
};

struct pm_grouper {
	enum pm_status (*group)(void *self, const struct pm_group *g, struct pm_err *err);
	/* Everything that belongs to no instruction, in its place; NULL: nobody wants it. */
	enum pm_status (*other)(void *self, const struct pm_batch *b, const struct pm_event *e,
				struct pm_err *err);
	void *self;
	bool no_regs;			/* registers are only counted: rd and wr have no contents */
	struct pm_group **open;		/* by stream index */
	bool *busy;
	size_t cap;
	const struct pm_code *code;
};

enum pm_status pm_grouper_batch(struct pm_grouper *g, const struct pm_batch *b, struct pm_err *err);
/* The open instruction of a stream goes out: what comes is known to be behind it. */
enum pm_status pm_grouper_flush(struct pm_grouper *g, const struct pm_stream *s,
				struct pm_err *err);
/* The last instruction of each stream goes out. */
enum pm_status pm_grouper_finish(struct pm_grouper *g, struct pm_err *err);
void pm_grouper_release(struct pm_grouper *g);

/* Register sets of the instructions of a code table, decoded once each. */
struct pm_regs_cache {
	struct x86_regs *v;
	uint8_t *state;			/* 0 unknown, 1 known, 2 not decodable */
	size_t cap;
	uint32_t epoch;
	struct x86_regs late;		/* of an instruction of an epoch that is over */
};
/* What was known by number belongs to another epoch than @g: true, it is forgotten and @g's begins;
 * false, @g is a straggler, whose number means nothing any more. */
static inline bool pm_epoch_begins(uint32_t *epoch, const struct pm_group *g)
{
	if ((int32_t)(g->epoch - *epoch) < 0)
		return false;
	*epoch = g->epoch;
	return true;
}
/* NULL: the group has no bytes or they are no x86 instruction. Until the next call. */
const struct x86_regs *pm_regs_of(struct pm_regs_cache *c, const struct pm_group *g);
void pm_regs_release(struct pm_regs_cache *c);

#endif
