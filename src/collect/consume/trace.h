/* SPDX-License-Identifier: MIT */
/* trace.h - from trace buffers in shared memory to events
 *
 * Blocks of a session have trace numbers, one for each translation of a block, 1 upwards, whatever
 * space it belongs to; they are what the translated code writes. One thread, the consumer (or
 * several, if pm_feed.threads lets them: a stream always has the same one), takes full buffers
 * in the order in which each thread filled them, and pushes batches of events into the pipeline:
 * nothing else of the session is touched by it, and the main thread answers requests meanwhile.
 *
 * A replay may be traced in parts (PARTS in trace_state.h): from seam to seam what threads write is
 * wanted, or is passed over.
 *
 * Trust: the traced process can write to its buffers. Numbers and lengths are checked; what makes
 * no sense ends the trace with an error, not pugmark, and the program goes on. */
#ifndef PM_CONSUME_TRACE_H
#define PM_CONSUME_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/runtime/abi.h"
#include "collect/space/space.h"
#include "trace/growing.h"
#include "trace/pipeline.h"

struct tracer;

struct trace_opts {			/* all of it lives longer than the trace */
	enum xl_kind kind;
	bool aslr;
	struct pm_pipeline *pipeline;	/* NULL: the trace is dropped */
	const struct pm_growing *grow;	/* 64-bit programs have no records, but trees; NULL: they
					 * have */
	struct pm_arena *mem;		/* for streams and objects' names, which sinks look at */
	uint8_t *data;			/* thread blocks */
	struct rt_session *head;
	const uint32_t
		*block_high; /* thread blocks from this one on have never been used; atomic */
	struct spaces *spaces;		/* trace_open() sets `counts` */
	bool in_parts;			/* it has seams; one consumer, and events of no time */
	bool unwanted;			/* ... what comes in front of the first one */
	bool (*interrupted)(void); /* since the program ended, has somebody asked us to end, too? */
};

/* Before anything runs. */
enum pm_status trace_open(const struct trace_opts *o, struct tracer **t, struct pm_err *err);
/* Everything is over: consume what is left, end the consumer. What went wrong on the way is here.
 * @bytes: of records;
 * @insns: given to the pipeline, those that it drops included. @t may be NULL. */
enum pm_status trace_close(struct tracer *t, uint64_t *bytes, uint64_t *insns, struct pm_err *err);
/* Has something gone wrong, so that nothing more comes of it? Meanwhile; @t may be NULL. */
bool trace_failed(const struct tracer *t);
/* Sinks look at its tables: once the pipeline has been freed. Or never: `pugmark run` ends with it.
 * @t may be NULL. */
void trace_free(struct tracer *t);

/* The next blocks that trace_numbers() gets will have numbers from this one on. */
uint32_t trace_next(const struct tracer *t);
/* Number @n new blocks, from number @first of @sp on, which lie in one module; before their code
 * can be reached. */
void trace_numbers(struct tracer *t, const struct space *sp, uint32_t first, uint32_t n);
/* Adds addresses in code of the object at @path with base @base whose blocks have records wherever
 * others are only counted; if spaces.counts. */
void trace_points(const struct tracer *t, const char *path, uint64_t base, struct pm_buf *to);
/* Thread block @i is about to be used by a new thread, of a 32-bit or a 64-bit program. */
void trace_thread(struct tracer *t, uint32_t i, bool i386);
/* Does its thread execute code that only counts (translate.h)? */
bool trace_counts(struct tracer *t, uint32_t i);
/* Thread block @i goes on for @former, whose program has executed another one: nothing of @i is
 * consumed before @former's, where the same consumer has both. */
void trace_follows(struct tracer *t, uint32_t i, uint32_t former);
/* It is over; nothing more will be written. @status as PM_EV_EXIT has it, @flags likewise. */
void trace_over(struct tracer *t, uint32_t i, uint64_t status, uint8_t flags);
/* Likewise, but its thread may go on, and write: what is complete is consumed. */
void trace_left(struct tracer *t, uint32_t i);
/* Its process has mapped or unmapped code: what its tree remembers of addresses goes. */
void trace_mapped(const struct tracer *t, uint32_t i);
/* A seam: no thread executes the program, all of them are in the runtime. What they have written is
 * consumed; then the consumer calls @seam, whose answer says whether what follows is wanted. */
void trace_seam(struct tracer *t, bool (*seam)(void *self), void *self);
/* Is there still something of it to be consumed? @t may be NULL. */
bool trace_busy(const struct tracer *t, uint32_t i);
/* Note something on behalf of a thread that waits for us (or has not begun). */
void trace_note(struct tracer *t, uint32_t i, enum rt_note type, const uint64_t *arg, uint32_t narg,
		const char *text);
/* Block @block of @sp stops at @at in thread block @i; @rsi, @rdi: its registers. */
void trace_cut(struct tracer *t, const struct space *sp, uint32_t i, uint32_t block,
	       const struct xl_map *at, uint64_t rsi, uint64_t rdi);

#endif
