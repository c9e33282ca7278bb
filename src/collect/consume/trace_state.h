/* SPDX-License-Identifier: MIT */
/* trace_state.h - the state of a trace that is being collected; for the files of this folder
 *
 * Records in a thread's buffers become events in three steps. publish.c says what translated blocks
 * are, before they can run. compile.c *compiles* a record when it is first seen: which blocks it
 * stands for, and by what sums the addresses of their references follow from its values. consumer.c
 * goes through full buffers: what is simple is expanded by generated code (expander.h), or packed
 * (packer.c, trace/chain.h); the rest goes through records.c.
 *
 * INVARIANTS - asserted under their numbers (base/check.h); (4) and (6) are tested under theirs by
 * tests/fuzz/fuzz_trace_buffers.c, (4) by tests/process/trace.t, too
 * (1) What is published, source[1 .. nsource) and object[0 .. nobject), does not change. Numbers
 *     are published before code that writes them can run: a record with another one is damage.
 * (2) A stream is the controller's until `busy` is set, then its consumer's until it says 0.
 *     Meanwhile the controller sets `over` once, and before that what ends the stream.
 * (3) nev <= BATCH_ROOM: whoever adds events flushes above BATCH, and one block has no more than
 *     BATCH_ROOM - BATCH. Packed, there are never more than BATCH ids and PACK_REFS + BATCH
 *     addresses, and those of the events behind the last chain.
 * (4) A consumer that has failed pushes nothing any more. It goes on emptying buffers, so that
 *     threads do not wait for it.
 * (5) A chunk is its thread's while full[] is 0, and its consumer's until that says 0 again. Chunks
 *     are consumed in turn, each stream's by one consumer: batches of a stream are pushed in order.
 * (6) Who reads a buffer is at a multiple of 4, and SLACK or more before the end of the chunk's
 *     stride when it reads a number's word. Nothing there is an index or a length before it has
 *     been checked, nor is it read again after that (word_at(); tests/fuzz/fuzz_trace_buffers.c).
 * (7) A batch is of one stream: between two streams there is none.
 * (8) At a seam the controller waits for the consumer, and nobody writes. */
#ifndef PM_CONSUME_TRACE_STATE_H
#define PM_CONSUME_TRACE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/mem.h"
#include "collect/consume/expander.h"
#include "collect/consume/trace.h"
#include "isa/x86/decode.h"
#include "isa/x86/plan.h"
#include "trace/chain.h"

#define MAX_BLOCKS	(RT_MAX_NUMBER + 1)	/* translations of blocks in a session */
#define MAX_INSNS	(1u << 26)
#define MAX_OBJECTS	(1u << 16)
#define BATCH		8192		/* events; one more block's worth fits behind */
#define BATCH_ROOM	(BATCH + 4096)
#define MAX_PARTS	(1u << 26)	/* of packed batches' tables */
#define MAX_REFS	(1u << 27)
/* Bytes at the end of what the controller sees of a chunk, a quarter of its guard pages, of which
 * nothing is consumed: who goes by a number's word looks at the next one before it looks where the
 * buffer ends. */
#define SLACK		16384u
#define MAX_RECORD	(UINT16_MAX + 64u)	/* bytes, and a note that it was cut short */
#define MAX_UNKNOWN	(1u << 16)	/* unknown instructions: each is compared with all others */
#define NUMBER		4		/* bytes of a record without values */
#define PACK_REFS (4 * BATCH) /* references in a packed batch; one more chain's fit behind */

/* What the main thread publishes of a block before its code can run. */
struct source {
	uint64_t pc;
	const uint8_t *bytes;
	uint32_t size, object;
	uint32_t prev;			/* number of the block whose record it continues; 0: none */
	uint16_t record;
	uint8_t n;
	bool wide;			/* 64-bit code */
};

/* What the consumer makes of it when it first sees it. Values are found by a place: `from` selects
 * the record or stream.known, `at` is the offset in it. */
struct place {
	uint16_t at;
	uint8_t from;
	uint8_t how;			/* enum x86_val_how */
};

enum { QUICK_BASE, QUICK_INDEX, QUICK_ZERO, QUICK_SIGN, QUICK_ANY };

struct quick_ref { /* base + index * scale + add, of packed batches, whose tables have the rest */
	int64_t add;
	uint16_t base, index; /* offsets in the record; QUICK_ANY: | AT_KNOWN, in stream.known, |
				 enum x86_val_how */
	uint16_t last;			/* size - 1 */
	uint8_t scale, how; /* QUICK_*: base alone; base and index, which is whole, zero- or
			       sign-extended; any */
};
#define AT_KNOWN 0x8000u

struct compiled {			/* a record: all blocks of a chain up to one of them */
	const struct expander_part *part;	/* NULL until then */
	const struct quick_ref *quick;	/* of all parts */
	int64_t rsp_add;
	uint32_t block;			/* 1 + its own place in the code table; 0: none yet */
	uint16_t npart, record;
	bool packs;			/* into packed batches */
	uint32_t insns, nref, ref;	/* ref: its first one in pm_chains.ref */
	struct place rsp;
	bool keeps_rsp;			/* it leaves the stack pointer alone */
	bool expands;			/* has been compiled, or cannot be */
	uint16_t plan_rsp;		/* x86_plan.rsp */
} __attribute__((aligned(64)));

/* How the buffers lie in a thread block, and what is in them: of 32-bit and of 64-bit programs. */
struct layout {
	uint64_t block, trace, chunk, stride;
	uint64_t mask;			/* of addresses */
	bool wide;
};
extern const struct layout trace_layouts[2];	/* of 32-bit and of 64-bit programs */

struct expansion {			/* of a record by straight code */
	expander_fn *run;		/* NULL: not compiled, or there is none */
	uint32_t record, insns;
};

struct skipped {			/* what is to be known of a record that is not expanded */
	uint32_t insns;			/* 0: it is, or nobody knows yet */
	int32_t rsp_add;
	uint16_t record, rsp; /* rsp: the offset of its base in the record, 0: the stream's */
	uint8_t how;			/* enum pm_drop; of `dropped` */
};

/* Of a thread block while somebody uses it (2). */
struct stream {
	uint32_t busy;			/* atomic: in use, until its consumer says 0; 1 + that one's
					 * number */
	/* The controller's: before `busy` is set, */
	struct layout layout;
	struct pm_stream *s;		/* lives as long as the session */
	/* any time: whose events come first, if it is `former_s` still; */
	const struct pm_stream *former_s;	/* before `former` */
	uint32_t former;		/* atomic: its thread block; 0: nobody's */
	/* and before `over` is. */
	uint32_t over;			/* atomic: nothing more comes */
	bool left;			/* before `over`: its thread writes on, perhaps */
	uint64_t status, ended;		/* ended: when, a time stamp */
	uint8_t flags;
	/* Its consumer's while `busy` is set. */
	uint32_t from;			/* ... whose first bytes have been, at a seam */
	bool begun;
	bool unknown;			/* the last note was an RT_N_UNKNOWN, of these */
	uint64_t unknown_arg[4];
	uint64_t known[KNOWN_VALUES];
	uint64_t insns, unsent;		/* delivered; in the batch that is being made */
	uint32_t next;			/* chunk to be consumed next */
};

struct clock {				/* what time a time stamp was */
	uint64_t stamp, ns, wall;	/* when the trace began; CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t last;
};

/* The trace: only the controller's thread writes to it. Consumers read what has been published, and
 * what is atomic. */
struct tracer {
	struct trace_opts o;		/* fixed, as are the three tables' places */
	struct pm_feed feed;		/* what the pipeline wants; fixed, too */
	struct clock began;
	struct consumer **consumer;	/* nconsumer, from trace_open() to trace_free() */
	unsigned nconsumer;
	struct source *source;		/* by trace number; published by `nsource` */
	uint32_t nsource;
	bool too_many;			/* blocks for the numbers there are; atomic */
	struct pm_object *object;	/* published by `nobject` */
	uint32_t nobject;
	struct stream *stream;		/* by thread block; see there */
	uint64_t grown;			/* instructions of trees that are over */
	uint32_t nstream;		/* streams so far: pm_stream.index */
	struct {			/* (8) */
		bool (*call)(void *self);
		void *self;
		uint32_t waits;		/* atomic, a futex: 1 until the consumer has called it */
	} seam;
	uint32_t stop;			/* end when nothing is left; atomic */
	uint32_t abandoned;		/* end at once; atomic */
	bool failed;			/* (4) for one of them; atomic */
};

/* A consumer: one thread and all that it writes. Nobody else looks at it before the thread has
 * ended, but for `idle` before the first stream begins. */
struct consumer {
	struct tracer *trace;
	const struct source *source;	/* the trace's */
	struct stream *stream;		/* the trace's: those with index % nconsumer == number */
	unsigned number;
	pthread_t thread;
	bool running;
	bool failed;			/* (4) */
	struct { enum pm_status st; struct pm_err err; } result;	/* why */
	struct clock clock;
	uint64_t nbytes,
		ninsns; /* of buffers, consumed; given to the pipeline, dropped ones included */
	uint64_t ticked;		/* when the pipeline was told that time passes, ns */
	uint64_t idle;			/* instructions that it would drop next */
	bool unwanted;			/* what comes is, up to the next seam */

	/* what records stand for, by trace number */
	struct compiled *compiled;
	struct expansion *expansion;
	struct skipped *dropped;	/* NULL: the pipeline drops nothing */
	struct skipped *numbered;	/* of those that are packed; NULL: with their addresses */
	struct expander *expander;	/* NULL: every record goes the slow way */
	struct x86_decoder *dec[2];	/* of 32-bit and of 64-bit code */
	struct x86_plan plan;
	struct pm_arena mem;

	/* the code table, which sinks see */
	struct pm_code code;
	struct pm_insn *insn;
	struct pm_block *block;
	uint32_t *unknown; /* blocks that are an instruction that the decoder does not know */
	size_t nunknown, cap_unknown;

	/* the batch that is being made: of one stream, empty between streams */
	struct pm_event *ev;
	size_t nev;
	uint8_t *record;		/* MAX_RECORD: a copy of the one that is expanded */
	struct pm_rare *rare;
	size_t nrare, cap_rare;
	struct pm_buf text;		/* its arena */

	/* ... and if it is packed (trace/chain.h) */
	bool packs;
	struct pm_chain *chain;		/* by trace number */
	struct pm_chain_part *chain_part;
	struct pm_chain_ref *chain_ref;
	uint32_t nchain_part, nchain_ref;
	/* by trace number, of records that are nothing but that number: how many instructions
	 * they stand for; 0: not compiled, not such a record, or none */
	uint16_t *number_insns;
	uint32_t *id;
	uint64_t *addr;
	size_t nid, nref, placed;	/* placed: events that an id stands for */
};

static inline uint64_t ns_of(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* COUNTING. Where the pipeline drops the next instructions a thread that is alone may execute
 * counting copies (translate.h), up to a little before those that it does not drop; from there on
 * there are records again, and the consumer finds the first one that is wanted. The thread takes
 * itself out of its counting copies wherever somebody else might change what is next: when it makes
 * another thread or process, when a signal is delivered, and where a block has no counting copy, or
 * a dead one (space_close()). PUGMARK_NO_COUNTING=1 in the environment: never. */
#define WORTH_COUNTING \
	(4u << 20) /* instructions: to begin takes as long as a million, and nobody else works \
		      meanwhile */
#define MARGIN		(2 * XL_UNCHECKED)

/* PARTS. Several replays of a recording each trace some parts of it. What lies between is unwanted:
 * its records are dropped, as far as drop() can, and the rest becomes events that go nowhere. A
 * chunk that is open at a seam is consumed up to the cursor; `from` says how far that was. */

static inline uint64_t idle_of(const struct tracer *t)
{
	return t->feed.idle ? t->feed.idle(t->feed.self) : 0;
}

static inline uint64_t budget_of(uint64_t idle)
{
	return idle < WORTH_COUNTING ? 0 : (idle < 1ull << 62 ? idle : 1ull << 62) - MARGIN;
}

static inline struct place place_of(uint16_t value)
{
	switch (value) {
	case X86_VAL_NONE:
		return (struct place){ 8 * KNOWN_ZERO, 1, X86_VAL_WHOLE };
	case X86_VAL_RSP:
		return (struct place){ 8 * KNOWN_RSP, 1, X86_VAL_WHOLE };
	case X86_VAL_FS:
		return (struct place){ 8 * KNOWN_FS, 1, X86_VAL_WHOLE };
	case X86_VAL_GS:
		return (struct place){ 8 * KNOWN_GS, 1, X86_VAL_WHOLE };
	default:
		return (struct place){ (uint16_t)(4 + X86_VAL_AT(value)), 0, X86_VAL_HOW(value) };
	}
}

static inline uint64_t extended(uint64_t x, unsigned how)
{
	return how == X86_VAL_WHOLE  ? x
	       : how == X86_VAL_ZERO ? (uint32_t)x
				     : (uint64_t)(int64_t)(int32_t)x;
}

/* The upper half of a 32-bit value is whatever follows it in the buffer: it goes when the address
 * is masked. */
static inline uint64_t at_place(const uint8_t *const from[2], struct place p)
{
	uint64_t x;

	memcpy(&x, from[p.from] + p.at, 8);
	return extended(x, p.how);
}

/* A word of a buffer, read once: what is checked is what is used. @p: a multiple of 4. */
static inline uint32_t word_at(const uint8_t *p)
{
	PM_INVARIANT(6, (uintptr_t)p % 4 == 0);
	return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
}

static inline struct rt_block *trace_block(const struct tracer *t, uint32_t i)
{
	return (struct rt_block *)(t->o.data + (uint64_t)i * RT_BLOCK_SIZE);
}

/* Where the cursor of thread block @i is, as an offset in it: the address is the process's. */
static inline uint64_t cursor_of(const struct tracer *t, uint32_t i)
{
	return __atomic_load_n(&trace_block(t, i)->cursor, __ATOMIC_RELAXED) &
	       (t->stream[i].layout.block - 1);
}

/* grow.c */
void grow_begin(const struct tracer *t, struct rt_block *b);
void grow_end(struct tracer *t, uint32_t i);

/* publish.c: consumers that sleep are woken */
void trace_ring(const struct tracer *t);

/* batch.c: hand over what there is; the first failure of the trace */
void trace_flush(struct consumer *w, struct stream *st);
void place_events(struct consumer *w);		/* packed: events since the last chain come here */
void trace_fail(struct consumer *w, const char *what);
void stop_early(struct consumer *w); /* if whoever waits for us does not want to wait any longer */

/* compile.c: NULL: it cannot be read */
struct compiled *compile(struct consumer *w, uint32_t number);

/* records.c */
void note(struct consumer *w, struct stream *st, uint32_t type, const uint8_t *p, uint32_t size);
/* A record that is not expanded or packed by generated code, or of which a note says that it was
 * cut short. Returns how long it was, with such a note; 0: the trace has failed. */
size_t expand_record(struct consumer *w, struct stream *st, uint32_t number, const uint8_t *p,
		     size_t left);

/* packer.c: the chains that come next, if any; returns the first record that is none */
const uint8_t *consume_packed(struct consumer *w, struct stream *st, const uint8_t *p,
			      const uint8_t *end, uint32_t nsource);

#endif
