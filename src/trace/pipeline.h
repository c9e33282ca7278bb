/* SPDX-License-Identifier: MIT */
/* pipeline.h - one source, some transforms, some sinks, driven batch by batch
 *
 * A pipeline is built from the sinks backwards: each stage is a struct pm_stage that passes batches
 * to `next`. pm_pipeline_check() compares the facts that the source offers (as changed by the
 * transforms) with what each sink needs, once, before the first batch, and fails with one sentence.
 * The expander (blocks -> instructions) is put in front of a sink without PM_SINK_BLOCKS.
 *
 * With pm_pipeline_threads() sinks run on threads of their own (lane.h), one sink always on the
 * same one; of a sink with PM_SINK_PER_STREAM there is an object for each stream, streams are
 * spread over the threads, and the objects are merged in the order of the streams' numbers. Results
 * are the same with any number of threads. Errors of such a sink come with a later push, or with
 * finish. */
#ifndef PM_TRACE_PIPELINE_H
#define PM_TRACE_PIPELINE_H

#include <stdbool.h>

#include "pugmark/pugmark.h"

struct pm_pipeline;

/* A source is pulled, or it pushes. One that is pulled has next(), which yields one batch per call:
 * PM_OK, PM_END, PM_ERR. One whose batches come by themselves, as those of a program that runs, has
 * run() in its place. Whoever opens a source that pushes runs all of it through one pipeline. */
struct pm_source_ops {
	const char *name;
	enum pm_status (*next)(void *self, const struct pm_batch **batch, struct pm_err *err);
	/* Of one that pushes: at last, and once the pipeline has been freed, which looks at the
	 * source's tables. */
	void (*close)(void *self);
	/* Optional, before the first next(): its code table may begin anew (pm_code.epoch). */
	void (*epochs)(void *self);
	/* Pushes everything into @p, which has been started and is finished by the caller, from
	 * threads as pm_pipeline_feed() lets it; all of them are done as it returns. Once. PM_ERR:
	 * it could not begin, or @p failed. */
	enum pm_status (*run)(void *self, struct pm_pipeline *p, struct pm_err *err);
};

struct pm_source {
	const struct pm_source_ops *ops;
	void *self;
	uint32_t facts;			/* enum pm_fact */
};

/* A transform consumes a batch and may emit any number of batches through @emit. */
struct pm_emit {
	enum pm_status (*batch)(void *to, const struct pm_batch *b, struct pm_err *err);
	void *to;
};

struct pm_buf;
struct pm_transform_ops {
	const char *name;
	uint32_t needs, removes, adds;	/* enum pm_fact */
	uint32_t flags;			/* PM_SINK_BLOCKS: takes blocks unexpanded;
					 * PM_SINK_EPOCHS */
	enum pm_status (*consume)(void *self, const struct pm_batch *b, const struct pm_emit *emit,
				  struct pm_err *err);
	enum pm_status (*finish)(void *self, const struct pm_emit *emit, struct pm_err *err);
	void (*destroy)(void *self);
	/* Of one that drops most of what it sees; or all NULL. A source may put one PM_EV_LOST with
	 * their number in place of the next instructions, of whatever stream: so many, and what
	 * they refer to, would be dropped, but for blocks of PM_DROP_NEVER; those of PM_DROP_ALWAYS
	 * at all times. */
	uint64_t (*idle)(const void *self);
	enum pm_drop (*drop)(void *self, const struct pm_code *code, uint32_t block);
	/* Does idle() ever say much? 0: no. Another number is the same wherever points() says the
	 * same. */
	uint32_t (*rests)(const void *self);
	/* Adds addresses (uint64_t) in code of the object at @path with base @base: blocks that
	 * hold one of them are PM_DROP_NEVER, or may be; no others are. Any thread may ask. */
	void (*points)(void *self, const char *path, uint64_t base, struct pm_buf *to);
};
enum pm_drop { PM_DROP_IDLE, PM_DROP_NEVER, PM_DROP_ALWAYS };

struct pm_pipeline *pm_pipeline_new(void);
/* Something about the trace for sinks that keep such things (.pug): "program", "args", "isa",
 * "source"...; before pm_trace_create(). Copied. */
void pm_pipeline_info(struct pm_pipeline *p, const char *name, const char *value);
const char *const *pm_pipeline_info_get(const struct pm_pipeline *p);	/* name, value, ..., NULL */
/* What functions are called, for sinks that show names; before pm_trace_create(). The pipeline
 * destroys it. Only one thread may ask. */
struct pm_namer {
	void *self;
	/* A number for @o, the same for equal ones. */
	uint32_t (*object)(void *self, const struct pm_object *o);
	/* Of the function at @pc in that object: its name, or NULL; into @buf. */
	const char *(*function)(void *self, uint32_t object, uint64_t pc, char *buf, size_t size);
	void (*destroy)(void *self);
};
void pm_pipeline_namer(struct pm_pipeline *p, const struct pm_namer *n);
const struct pm_namer *pm_pipeline_namer_get(const struct pm_pipeline *p);	/* NULL: none */
/* The pipeline takes ownership of @self in every case, also on error. Transforms run in the order
 * in which they were added, before all sinks. */
void pm_pipeline_transform(struct pm_pipeline *p, const struct pm_transform_ops *ops, void *self);
void pm_pipeline_sink(struct pm_pipeline *p, const struct pm_sink_ops *ops, void *self);

/* The same for the object that @config describes; with PM_SINK_PER_STREAM it may become several. */
enum pm_status pm_pipeline_sink_new(struct pm_pipeline *p, const struct pm_sink_ops *ops,
				    const char *config, struct pm_err *err);
/* How many threads sinks may have, besides the one that pushes; 0 (so it begins): none. Before
 * start. PM_THREADS_AUTO: as many as there are processors, if there are several. From start to
 * finish nobody else may touch the sinks' objects then. */
#define PM_THREADS_AUTO	UINT32_MAX
void pm_pipeline_threads(struct pm_pipeline *p, unsigned n);

/* Sink @i in the order in which they were added, NULL behind the last; its object stays the
 * pipeline's. */
const struct pm_sink_ops *pm_pipeline_sink_at(const struct pm_pipeline *p, size_t i, void **self);

/* Somebody else does the work of sink @i: it gets no batches, and finishes as ever. Before the
 * first push. */
void pm_pipeline_serve(struct pm_pipeline *p, size_t i);
/* Is it so? Sinks that have united (sinks.h) are served, too, but for one. */
bool pm_pipeline_served(const struct pm_pipeline *p, size_t i);

/* Who needs what the sinks do, for the error if it is not there: a command that is not called as
 * its sink is. @instead: where one would get it, as " (... traces them)"; NULL: the usual place.
 * Both are borrowed. */
void pm_pipeline_for(struct pm_pipeline *p, const char *who, const char *instead);

/* enum pm_fact: what the sinks added so far need, all together. */
uint32_t pm_pipeline_needs(const struct pm_pipeline *p);

/* Compare facts; @source_name is what the sentence calls the source ("Laplace traces"). Must be
 * called once before the first push. */
enum pm_status pm_pipeline_start(struct pm_pipeline *p, uint32_t facts, const char *source_name,
				 struct pm_err *err);
/* ---- for whoever makes batches -------------------------------------------------------------- */
/* In which form the pipeline wants what is pushed: all that a producer gets to know of what is
 * behind it. Decided once, from the transforms and all sinks together; what only some of them need
 * is made behind the pipeline. */
struct pm_feed {
	/* How many threads may push, batches of one stream always the same one, so that they do not
	 * wait for each other; 1 at least. Several where making batches is all the work there is:
	 * every sink is light and takes streams by themselves, all in one form. */
	unsigned threads;
	bool packed;			/* batches may be packed: pm_pipeline_push_packed() */
	bool addresses;			/* ... and somebody looks at their addresses */
	bool counts;			/* nobody wants to know more than how many events of each
					 * kind there are: pm_pipeline_push_counts() may stand for
					 * events that are not pushed */
	/* What the first transform says that it drops (struct pm_transform_ops); all NULL and 0 if
	 * it does not say. What drop() says of a block holds for good, the number of idle() until
	 * the next push. points() may be called by any thread. */
	uint64_t (*idle)(const void *self);
	enum pm_drop (*drop)(void *self, const struct pm_code *code, uint32_t block);
	void (*points)(void *self, const char *path, uint64_t base, struct pm_buf *to);
	uint32_t rests;
	void *self;			/* their first argument */
};
/* Once it has started, before the first push, at most once. @threads: so many the producer could
 * use. A producer that does not ask pushes events, from one thread. */
struct pm_feed pm_pipeline_feed(struct pm_pipeline *p, unsigned threads);
enum pm_status pm_pipeline_push(struct pm_pipeline *p, const struct pm_batch *b,
				struct pm_err *err);
/* So many events of stream @s that have not been pushed, and are not; only if pm_feed.counts,
 * from one thread. */
struct pm_tally;
enum pm_status pm_pipeline_push_counts(struct pm_pipeline *p, const struct pm_stream *s,
				       const struct pm_tally *t, struct pm_err *err);
/* Time passes and there may be nothing to push: who pushes says so every PM_TICK_MS, about. Sinks
 * get a batch without events, upon which those that write files let go of what they have held back
 * since the tick before. */
#define PM_TICK_MS 250
enum pm_status pm_pipeline_tick(struct pm_pipeline *p, struct pm_err *err);
/* Ends transforms, then sinks, each of which adds its result to @r (NULL: not wanted). */
enum pm_status pm_pipeline_finish(struct pm_pipeline *p, struct pm_result *r, struct pm_err *err);
/* The same with a result for each sink: @r[i] is that of sink i, and @each[i] the error of its
 * finish(); a sink that fails is no error of the whole. */
enum pm_status pm_pipeline_finish_each(struct pm_pipeline *p, struct pm_result *const *r,
				       struct pm_err *each, struct pm_err *err);
void pm_pipeline_free(struct pm_pipeline *p);
/* Who calls next() himself says this before the first: @src may begin its code table anew, if all
 * of @p can bear that. */
void pm_pipeline_epochs(struct pm_pipeline *p, struct pm_source *src);

/* start, push all of @src, finish. */
enum pm_status pm_pipeline_run(struct pm_pipeline *p, struct pm_source *src, struct pm_result *r,
			       struct pm_err *err);

/* The same, but reading ends early, as if the trace ended there, once stop(arg) says so: only of a
 * source that is pulled. */
enum pm_status pm_pipeline_run_until(struct pm_pipeline *p, struct pm_source *src,
				     struct pm_result *r, bool (*stop)(const void *arg),
				     const void *arg, struct pm_err *err);

/* Behind these two: results are of a part of the trace, for an error came before its end. */
bool pm_pipeline_partial(const struct pm_pipeline *p);
/* Did a source fail that makes its events itself (run)? No trace is damaged then, of which there
 * were a part to report: it could not be made. */
bool pm_pipeline_unmade(const struct pm_pipeline *p);
/* ... and they are of nothing, if this says so. */
bool pm_pipeline_starved(const struct pm_pipeline *p);

/* Names of facts for messages: "data addresses and sizes". Into @buf, always terminated. */
void pm_fact_names(uint32_t facts, char *buf, size_t size);
const char *pm_kind_name(enum pm_kind k);	/* "read", "block"... */

#define PM_OPAQUE_HEADER 1	/* flags of the opaque event that says which format the others
				 * are of */
#define PM_OPAQUE_INSIDE 5	/* ... of one that stands between what a block's instructions do,
				 * and ends nothing */

/* The size of an opaque event with @n bytes; its value must be @n, too. */
static inline uint16_t pm_opaque_size(size_t n)
{
	return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* How many bytes of the arena an opaque event leads to; 0: none, its fields are all there is. */
static inline size_t pm_opaque_bytes(const struct pm_batch *b, const struct pm_event *ev)
{
	uint64_t n = ev->size == UINT16_MAX && ev->value > UINT16_MAX ? ev->value : ev->size;

	return n <= b->narena && ev->addr <= b->narena - n ? n : 0;
}

/* ---- building batches ------------------------------------------------------------------------ */
struct pm_builder {			/* owns its arrays; reset keeps them */
	struct pm_batch b;
	struct pm_event *ev;
	struct pm_uop *uop;
	struct pm_bus *bus;
	struct pm_rare *rare;
	uint8_t *arena;
	size_t cap_ev, cap_uop, cap_bus, cap_rare, cap_arena;
};
#define PM_BATCH_EVENTS 4096		/* what a source aims at per batch */
void pm_builder_reset(struct pm_builder *b, const struct pm_stream *stream,
		      const struct pm_code *code);
struct pm_event *pm_builder_event(struct pm_builder *b, enum pm_kind kind); /* zeroed, id PM_NONE */
struct pm_uop *pm_builder_uop(struct pm_builder *b);		/* also adds its PM_EV_UOP */
struct pm_bus *pm_builder_bus(struct pm_builder *b);		/* also adds its PM_EV_BUS */
struct pm_rare *pm_builder_rare(struct pm_builder *b, enum pm_kind kind, const char *name);
uint64_t pm_builder_bytes(struct pm_builder *b, const void *p, size_t n);	/* arena offset */
const struct pm_batch *pm_builder_batch(struct pm_builder *b);	/* pointers made current */
/* The same, with the @n bytes at @p as its arena: a reader's window, that need not be copied. They
 * stay until the next batch; nothing may have been put into the builder's own arena. */
const struct pm_batch *pm_builder_batch_on(struct pm_builder *b, const uint8_t *p, size_t n);
void pm_builder_release(struct pm_builder *b);

#endif
