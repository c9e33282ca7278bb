/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "trace/chain.h"
#include "trace/expand.h"
#include "trace/lane.h"
#include "trace/pipeline.h"
#include "trace/sinks.h"

/* Batches reach sinks in one of these forms. */
enum pipe_form { PACKED, BLOCKS, PLAIN, FORMS };

struct stage {				/* a transform, or the end of the line */
	struct pm_pipeline *p;
	const struct pm_transform_ops *ops;	/* NULL: the sinks */
	void *self;
};

struct pipe_sink {
	const struct pm_sink_ops *ops;
	void *self;
	char *config;			/* PM_SINK_PER_STREAM: what makes another one; NULL:
					 * there is one */
	char *light;			/* the same of one that is light: unless several push
					 * there is one */
	void **part;			/* ... by stream */
	size_t npart;
	int lane;			/* -1: called by who pushes */
	bool served;			/* not called: PM_SINK_UNITES */
	enum pipe_form form;
};

/* What one thread calls: a lane, or who pushes. */
struct crew {
	struct pm_pipeline *p;
	int lane;
	bool has[FORMS];		/* sinks that want them in this form */
	struct pm_unpacker *unpacker;	/* NULL: nothing to unpack */
	void *expander;			/* NULL: nothing to expand */
};

struct pm_pipeline {
	struct pipe_sink *sink;
	size_t nsink, cap_sink;
	struct stage *trans;			/* as added */
	size_t ntrans, cap_trans;
	struct stage *stage;			/* as run: with expanders, then the sinks */
	size_t nstage, cap_stage;
	bool started, finished, partial, unmade;
	bool fed;			/* pm_pipeline_run() has had an event */
	bool split;				/* several threads push */
	pthread_mutex_t parts;			/* ... and want sink.part */
	bool packed;			/* some sink takes the short form, and it can reach it */
	unsigned threads;
	struct crew crew[PM_LANES_MAX + 1];	/* [0] is who pushes, the lanes follow */
	unsigned ncrew;
	struct pm_lanes *lanes;		/* NULL until the first batch */
	const struct pm_stream *stream;	/* of the batch that the sinks had last; NULL: none yet */
	const struct pm_code *code;	/* likewise */
	char **info;				/* name, value, ..., NULL */
	size_t ninfo;
	struct pm_namer namer;			/* .self NULL: none */
	const char *who, *instead;		/* pm_pipeline_for(); NULL: by themselves */
};

struct pm_pipeline *pm_pipeline_new(void)
{
	struct pm_pipeline *p = pm_alloc(sizeof *p);

	pthread_mutex_init(&p->parts, NULL);
	return p;
}

void pm_pipeline_info(struct pm_pipeline *p, const char *name, const char *value)
{
	p->info = pm_realloc(p->info, (p->ninfo + 3) * sizeof *p->info);
	p->info[p->ninfo++] = pm_strdup(name);
	p->info[p->ninfo++] = pm_strdup(value);
	p->info[p->ninfo] = NULL;
}

const char *const *pm_pipeline_info_get(const struct pm_pipeline *p)
{
	return (const char *const *)p->info;
}

void pm_pipeline_namer(struct pm_pipeline *p, const struct pm_namer *n)
{
	assert(!p->namer.self);
	p->namer = *n;
}

const struct pm_namer *pm_pipeline_namer_get(const struct pm_pipeline *p)
{
	return p->namer.self ? &p->namer : NULL;
}

void pm_pipeline_transform(struct pm_pipeline *p, const struct pm_transform_ops *ops, void *self)
{
	assert(!p->started);
	pm_grow(p->trans, p->ntrans, p->cap_trans);
	p->trans[p->ntrans++] = (struct stage){ .p = p, .ops = ops, .self = self };
}

void pm_pipeline_sink(struct pm_pipeline *p, const struct pm_sink_ops *ops, void *self)
{
	assert(!p->started);
	pm_grow(p->sink, p->nsink, p->cap_sink);
	p->sink[p->nsink++] = (struct pipe_sink){ .ops = ops, .self = self, .lane = -1 };
}

enum pm_status pm_pipeline_sink_new(struct pm_pipeline *p, const struct pm_sink_ops *ops,
				    const char *config, struct pm_err *err)
{
	void *self = ops->create(config, err);
	struct pipe_sink *s;

	if (!self)
		return pm_failed(err)
			       ? PM_ERR
			       : pm_fail_file(err, "the sink '%s' refused '%s'", ops->name, config);
	pm_pipeline_sink(p, ops, self);
	s = &p->sink[p->nsink - 1];
	if (ops->flags & PM_SINK_PER_STREAM && ops->merge)
		*(ops->flags & PM_SINK_LIGHT ? &s->light : &s->config) = pm_strdup(config);
	return PM_OK;
}

void pm_pipeline_threads(struct pm_pipeline *p, unsigned n)
{
	const unsigned cpus = pm_processors();

	assert(!p->started);
	if (n == PM_THREADS_AUTO)
		n = cpus > 1 ? cpus : 0;
	p->threads = n < PM_LANES_MAX ? n : PM_LANES_MAX;
}

const struct pm_sink_ops *pm_pipeline_sink_at(const struct pm_pipeline *p, size_t i, void **self)
{
	*self = i < p->nsink ? p->sink[i].self : NULL;
	return i < p->nsink ? p->sink[i].ops : NULL;
}

void pm_pipeline_serve(struct pm_pipeline *p, size_t i)
{
	assert(!p->stream && !p->lanes);
	p->sink[i].served = true;
	p->sink[i].lane = -1;
}

bool pm_pipeline_served(const struct pm_pipeline *p, size_t i)
{
	return p->sink[i].served;
}

void pm_pipeline_for(struct pm_pipeline *p, const char *who, const char *instead)
{
	p->who = who;
	p->instead = instead;
}

uint32_t pm_pipeline_needs(const struct pm_pipeline *p)
{
	uint32_t needs = 0;

	for (size_t i = 0; i < p->nsink; i++)
		needs |= p->sink[i].ops->needs;
	return needs;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static const char *const fact_names[] = {
	"instruction boundaries", "instruction bytes", "data addresses", "access sizes",
	"data values", "branch outcomes", "register numbers", "register values", "micro-ops",
	"timestamps", "cycle counts", "address spaces", "physical addresses", "byte enables",
	"bus transactions", "kernel events", "threads", "basic blocks", "rep iterations",
	"instruction cache lines", "branch opcodes", "canonical pages", "requests for objects",
};

static void join_facts(uint32_t facts, const char *last, char *buf, size_t size)
{
	size_t at = 0;
	bool any = false;

	buf[0] = 0;
	for (unsigned i = 0; i < NR(fact_names); i++) {
		int n;

		if (!(facts >> i & 1))
			continue;
		facts &= ~(1u << i);
		n = snprintf(buf + at, size - at, "%s%s",
			     !any    ? ""
			     : facts ? ", "
				     : last,
			     fact_names[i]);
		if (n < 0 || (size_t)n >= size - at)
			return;
		at += (size_t)n;
		any = true;
	}
}

void pm_fact_names(uint32_t facts, char *buf, size_t size)
{
	join_facts(facts, " and ", buf, size);
}

/* What a trace of a program that runs can have, micro-ops made of its instructions among it. */
#define TRACED	(PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | \
		 PM_HAS_UOPS)

/* Where one would get what is missing; "" if there is no one place for all of it. */
static const char *instead(uint32_t missing)
{
	static const struct { uint32_t facts; const char *say; } from[] = {
		{ TRACED, " (`pugmark run --exec` traces them)" },
		{ PM_HAS_REGS | PM_HAS_REGVALS | PM_HAS_INSNS, " (Spike logs hold them)" },
		{ PM_HAS_PAGES | PM_HAS_REFS, " (`pugmark merge` makes them)" },
	};

	for (size_t i = 0; i < NR(from); i++)
		if (!(missing & ~from[i].facts))
			return from[i].say;
	return "";
}

/* @where: what instead() would say, NULL: let it say. */
static enum pm_status check(uint32_t has, uint32_t needs, const char *source, const char *who,
			    const char *where, struct pm_err *err)
{
	uint32_t missing = needs & ~has;
	bool phrase = strchr(who, ' ');
	char names[120];

	if (!missing)
		return PM_OK;
	join_facts(missing, " or ", names, sizeof names);
	return pm_fail_file(err, "%s hold no %s; %s%s%s needs them%s", source, names,
			    phrase ? "" : "'", who, phrase ? "" : "'",
			    where ? where : instead(missing));
}

/* The first sink that needs what @t adds; NULL: none does. */
static const char *wants(const struct pm_pipeline *p, const struct pm_transform_ops *t)
{
	for (size_t i = 0; i < p->nsink; i++)
		if (p->sink[i].ops->needs & t->adds)
			return p->sink[i].ops->name;
	return NULL;
}

/* The source had @gone, and a transform that another sink needs has taken it: that trace is not to
 * blame. */
static enum pm_status check_gone(const struct pm_pipeline *p, uint32_t gone,
				 const struct pm_sink_ops *ops, struct pm_err *err)
{
	char names[120];

	join_facts(gone, " or ", names, sizeof names);
	for (size_t i = 0; i < p->ntrans; i++) {
		const char *other = wants(p, p->trans[i].ops);

		if (other && strcmp(other, ops->name))
			return pm_fail_file(err, "'%s' and '%s' do not go together: '%s' needs %s, "
					    "and %s, which '%s' needs, leaves none; run one after "
					    "the other", ops->name, other, ops->name, names,
					    p->trans[i].ops->name, other);
	}
	return PM_OK;
}

/* @had: what the source has, before transforms. */
static enum pm_status check_sink(const struct pm_pipeline *p, uint32_t had, uint32_t has,
				 const struct pm_sink_ops *ops, const char *source,
				 struct pm_err *err)
{
	const char *who = p->who ? p->who : ops->name;
	const uint32_t any = PM_HAS_INSNS | PM_HAS_LINES | PM_HAS_REFS, missing = ops->needs & ~has;

	if (missing && !(missing & ~had) && check_gone(p, missing, ops, err) != PM_OK)
		return PM_ERR;
	if (ops->flags & PM_SINK_REFS && !(has & any))
		return pm_fail_file(err,
				    "%s hold no references: no instructions, cache lines or data "
				    "addresses; "
				    "'%s' needs one of these%s",
				    source, who, p->instead ? p->instead : instead(PM_HAS_REFS));
	return check(has, ops->needs, source, who, p->instead, err);
}

const char *pm_kind_name(enum pm_kind k)
{
	static const char *const names[PM_EV_COUNT] = {
		[PM_EV_NONE] = "none", [PM_EV_INSN] = "insn", [PM_EV_BLOCK] = "block",
		[PM_EV_READ] = "read", [PM_EV_WRITE] = "write", [PM_EV_MODIFY] = "modify",
		[PM_EV_BRANCH] = "branch", [PM_EV_REP_ITER] = "rep-iter",
		[PM_EV_REP_END] = "rep-end", [PM_EV_UOP] = "uop", [PM_EV_LINE] = "line",
		[PM_EV_BUS] = "bus", [PM_EV_REG_READ] = "reg-read", [PM_EV_REG_WRITE] = "reg-write",
		[PM_EV_KERNEL] = "kernel", [PM_EV_INTERRUPT] = "interrupt", [PM_EV_DMA] = "dma",
		[PM_EV_DEVICE] = "device", [PM_EV_SYSCALL] = "syscall", [PM_EV_SYSRET] = "sysret",
		[PM_EV_SIGNAL] = "signal", [PM_EV_SIGRETURN] = "sigreturn",
		[PM_EV_PROCESS] = "process", [PM_EV_EXEC] = "exec", [PM_EV_THREAD] = "thread",
		[PM_EV_EXIT] = "exit", [PM_EV_MMAP] = "mmap", [PM_EV_MUNMAP] = "munmap",
		[PM_EV_SWITCH] = "switch", [PM_EV_TIME] = "time", [PM_EV_MARKER] = "marker",
		[PM_EV_LOST] = "lost", [PM_EV_OPAQUE] = "opaque",
		[PM_EV_FRAME] = "frame",
	};

	return (unsigned)k < PM_EV_COUNT && names[k] ? names[k] : "unknown";
}

/* ---- running -------------------------------------------------------------------------------- */

static void add_stage(struct pm_pipeline *p, const struct pm_transform_ops *ops, void *self)
{
	pm_grow(p->stage, p->nstage, p->cap_stage);
	p->stage[p->nstage++] = (struct stage){ p, ops, self };
}

static bool is_light(const struct pm_pipeline *p, const struct pipe_sink *s)
{
	const uint32_t chains = PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS;

	return s->ops->flags & PM_SINK_LIGHT || (p->packed && (s->ops->flags & chains) == chains);
}

/* Objects that can do their work together do so. */
static void unite(struct pm_pipeline *p)
{
	void **self = pm_alloc((p->nsink + 1) * sizeof *self);
	bool *served = pm_alloc((p->nsink + 1) * sizeof *served);

	for (size_t i = 0; i < p->nsink; i++) {
		const struct pm_sink_ops *ops = p->sink[i].ops;
		size_t n = 0;

		for (size_t k = 0; k < i && ops; k++)
			if (p->sink[k].ops == ops)
				ops = NULL;	/* these have been */
		if (!ops || !(ops->flags & PM_SINK_UNITES))
			continue;
		for (size_t k = i; k < p->nsink; k++)
			if (p->sink[k].ops == ops)
				self[n++] = p->sink[k].self;
		memset(served, 0, n * sizeof *served);
		((const struct pm_uniting_sink_ops *)ops)->unite(self, n, served);
		for (size_t k = p->nsink; k-- > i; )
			if (p->sink[k].ops == ops)
				p->sink[k].served = served[--n];
	}
	free(self);
	free(served);
}

/* Which thread calls which sink. */
static void form_crews(struct pm_pipeline *p, uint32_t facts)
{
	unsigned busy = 0, next = 0, lanes;
	bool split = false;

	for (size_t i = 0; i < p->nsink; i++) {
		busy += !p->sink[i].served && !is_light(p, &p->sink[i]);
		split = split || p->sink[i].config;
	}
	lanes = split || busy > p->threads ? p->threads : busy;
	p->ncrew = lanes + 1;
	for (unsigned k = 0; k < p->ncrew; k++)
		p->crew[k] = (struct crew){ .p = p, .lane = (int)k - 1 };
	for (size_t i = 0; i < p->nsink; i++) {
		struct pipe_sink *s = p->sink + i;

		s->form = p->packed && s->ops->flags & PM_SINK_CHAINS		       ? PACKED
			  : facts & PM_HAS_BLOCKS && !(s->ops->flags & PM_SINK_BLOCKS) ? PLAIN
										       : BLOCKS;
		if (s->served)
			continue;
		if (lanes && !is_light(p, s))
			s->lane = (int)(next++ % lanes);
		for (unsigned k = 0; k < p->ncrew; k++) {
			struct crew *c = p->crew + k;

			if (c->lane == s->lane || (s->config && k && lanes))
				c->has[s->form] = true;
		}
	}
	for (unsigned k = 0; k < p->ncrew; k++) {
		struct crew *c = p->crew + k;

		if (c->has[PLAIN])
			c->expander = pm_expand_new();
		if (p->packed && (c->has[BLOCKS] || c->has[PLAIN]))
			c->unpacker = pm_unpacker_new();
	}
}

/* Packed batches save much to a sink that has work with each event. One that is light is not worth
 * their being unpacked for the others. */
static bool wants_packed(const struct pm_pipeline *p)
{
	size_t chains = 0;

	for (size_t i = 0; i < p->nsink; i++) {
		const uint32_t flags = p->sink[i].ops->flags;

		if (flags & PM_SINK_CHAINS && !(flags & PM_SINK_LIGHT))
			return true;
		chains += !!(flags & PM_SINK_CHAINS);
	}
	return chains && chains == p->nsink;
}

enum pm_status pm_pipeline_start(struct pm_pipeline *p, uint32_t facts, const char *source_name,
				 struct pm_err *err)
{
	const uint32_t had = facts;

	assert(!p->started);
	p->started = true;
	if (!source_name)
		source_name = "these traces";
	/* From here on p->stage owns the transforms. */
	for (size_t i = 0; i < p->ntrans; i++) {
		const struct pm_transform_ops *ops = p->trans[i].ops;

		if (facts & PM_HAS_BLOCKS && !(ops->flags & PM_SINK_BLOCKS)) {
			add_stage(p, &pm_expand_ops, pm_expand_new());
			facts &= ~PM_HAS_BLOCKS;
		}
		add_stage(p, ops, p->trans[i].self);
		p->trans[i].self = NULL;
		if (check(facts, ops->needs, source_name, ops->name, NULL, err) != PM_OK) {
			for (i++; i < p->ntrans; i++) {
				add_stage(p, p->trans[i].ops, p->trans[i].self);
				p->trans[i].self = NULL;
			}
			return PM_ERR;
		}
		facts = (facts & ~ops->removes) | ops->adds;
	}
	for (size_t i = 0; i < p->nsink; i++)
		if (check_sink(p, had, facts, p->sink[i].ops, source_name, err) != PM_OK)
			return PM_ERR;
	add_stage(p, NULL, NULL);
	p->packed = !p->ntrans && wants_packed(p);
	unite(p);
	form_crews(p, facts);
	return PM_OK;
}

/* Does nobody in it need a code table to keep what it has had? */
static bool allows_epochs(const struct pm_pipeline *p)
{
	bool all = true;

	for (size_t i = 0; i < p->ntrans; i++)
		all = all && p->trans[i].ops->flags & PM_SINK_EPOCHS;
	for (size_t i = 0; i < p->nsink; i++)
		all = all && p->sink[i].ops->flags & PM_SINK_EPOCHS;
	return all;
}

static const struct pm_chain_sink_ops *chains_of(const struct pipe_sink *s)
{
	return (const struct pm_chain_sink_ops *)s->ops;	/* with PM_SINK_CHAINS */
}

const struct pm_sizes pm_struct_sizes = {
	.sizes = sizeof(struct pm_sizes), .batch = sizeof(struct pm_batch),
	.stream = sizeof(struct pm_stream), .code = sizeof(struct pm_code),
	.event = sizeof(struct pm_event), .uop = sizeof(struct pm_uop),
	.bus = sizeof(struct pm_bus),
	.rare = sizeof(struct pm_rare), .insn = sizeof(struct pm_insn),
	.block = sizeof(struct pm_block), .object = sizeof(struct pm_object),
};

/* pugmark's own sinks are compiled with the sizes of structs; a plug-in is told. */
static enum pm_status consume(const struct pipe_sink *s, void *self, const struct pm_batch *b,
			      const struct pm_packed *k, struct pm_err *err)
{
	struct pm_batch told;

	if (k)
		return chains_of(s)->packed(self, b, k, err);
	if (s->ops->flags & PM_SINK_PLUGIN) {
		told = *b;
		told.sizes = &pm_struct_sizes;
		b = &told;
	}
	return s->ops->consume(self, b, err);
}

/* Call the crew's sinks that want this form. */
static enum pm_status call(const struct crew *c, const struct pm_batch *b,
			   const struct pm_packed *k, enum pipe_form form, struct pm_err *err)
{
	struct pm_pipeline *p = c->p;

	for (size_t i = 0; i < p->nsink; i++) {
		struct pipe_sink *s = p->sink + i;
		void *self = s->self;

		if (s->form != form || s->served)
			continue;
		if (s->config) {
			if (c->lane !=
			    (p->ncrew > 1 ? (int)(b->stream->index % (p->ncrew - 1)) : -1))
				continue;
			self = s->part[b->stream->index];
		} else if (s->lane != c->lane) {
			continue;
		}
		if (consume(s, self, b, k, err) == PM_ERR)
			return PM_ERR;
	}
	return PM_OK;
}

static enum pm_status call_plain(void *crew, const struct pm_batch *b, struct pm_err *err)
{
	return call(crew, b, NULL, PLAIN, err);
}

/* Events, not packed, for the sinks that want them so. */
static enum pm_status call_unpacked(void *crew, const struct pm_batch *b, struct pm_err *err)
{
	struct crew *c = crew;

	if (c->has[BLOCKS] && call(c, b, NULL, BLOCKS, err) != PM_OK)
		return PM_ERR;
	if (!c->expander)
		return PM_OK;
	return pm_expand_ops.consume(c->expander, b, &(struct pm_emit){ call_plain, c }, err);
}

/* @k: what makes the batch packed, or NULL. */
static enum pm_status crew_consume(struct crew *c, const struct pm_batch *b,
				   const struct pm_packed *k, struct pm_err *err)
{
	/* who takes packed batches takes events, too */
	if (c->has[PACKED] && call(c, b, k, PACKED, err) != PM_OK)
		return PM_ERR;
	if (!k)
		return call_unpacked(c, b, err);
	if (!c->unpacker)
		return PM_OK;
	return pm_unpack(c->unpacker, b, k, &(struct pm_emit){ call_unpacked, c }, err);
}

static enum pm_status lane_consume(void *p, unsigned lane, const struct pm_batch *b,
				   const struct pm_packed *k, struct pm_err *err)
{
	return crew_consume(((struct pm_pipeline *)p)->crew + 1 + lane, b, k, err);
}

/* The object of each sink that has one per stream, for stream @index. */
static enum pm_status make_parts(struct pm_pipeline *p, uint32_t index, struct pm_err *err)
{
	for (size_t i = 0; i < p->nsink; i++) {
		struct pipe_sink *s = p->sink + i;

		if (!s->config || (index < s->npart && s->part[index]))
			continue;
		if (index >= s->npart) {
			size_t n = (size_t)index * 2 + 64;

			/* the array moves: everybody comes to rest */
			if (p->lanes && pm_lanes_idle(p->lanes, err) != PM_OK)
				return PM_ERR;
			s->part = pm_realloc(s->part, n * sizeof *s->part);
			memset(s->part + s->npart, 0, (n - s->npart) * sizeof *s->part);
			s->npart = n;
		}
		s->part[index] = s->ops->create(s->config, err);
		if (!s->part[index])
			return pm_failed(err) ? PM_ERR :
			       pm_fail_file(err, "'%s' cannot take another stream", s->ops->name);
	}
	return PM_OK;
}

/* Lanes that have something to do with a batch of @stream. */
static uint64_t lanes_for(const struct pm_pipeline *p, uint32_t stream)
{
	uint64_t which = 0;

	for (size_t i = 0; i < p->nsink; i++) {
		const struct pipe_sink *s = p->sink + i;

		if (s->config)
			which |= 1ull << stream % (p->ncrew - 1);
		else if (s->lane >= 0)
			which |= 1ull << s->lane;
	}
	return which;
}

/* To all sinks. @k: what makes the batch packed, or NULL. */
static enum pm_status spread(struct pm_pipeline *p, const struct pm_batch *b,
			     const struct pm_packed *k, struct pm_err *err)
{
	p->stream = b->stream;
	p->code = b->code;
	if (make_parts(p, b->stream->index, err) != PM_OK)
		return PM_ERR;
	if (p->ncrew > 1) {
		/* the first batch starts the threads: whoever forks does so before */
		if (!p->lanes)
			p->lanes = pm_lanes_new(p->ncrew - 1, lane_consume, p);
		if (!p->lanes)
			return pm_fail_file(err, "no thread could be started");
		if (pm_lanes_push(p->lanes, lanes_for(p, b->stream->index), b, k, err) != PM_OK)
			return PM_ERR;
	}
	return crew_consume(p->crew, b, k, err);
}

static enum pm_status feed(void *to, const struct pm_batch *b, struct pm_err *err)
{
	struct stage *s = to;

	if (!s->ops)
		return spread(s->p, b, NULL, err);
	return s->ops->consume(s->self, b, &(struct pm_emit){ feed, s + 1 }, err);
}

/* Can sinks take streams from several threads? */
static bool can_split(const struct pm_pipeline *p)
{
	if (p->threads < 2 || p->nstage > 1 || !p->nsink)
		return false;
	for (size_t i = 0; i < p->nsink; i++)
		if (!p->sink[i].light || p->sink[i].form != (p->packed ? PACKED : BLOCKS))
			return false;
	return true;
}

static bool wants_addresses(const struct pm_pipeline *p)
{
	for (size_t i = 0; i < p->nsink; i++)
		if (!(p->sink[i].ops->flags & PM_SINK_NO_ADDRESSES))
			return true;
	return !p->nsink;
}

static bool wants_counts(const struct pm_pipeline *p)
{
	for (size_t i = 0; i < p->nsink; i++)
		if (!(p->sink[i].ops->flags & PM_SINK_CHAINS) || !chains_of(&p->sink[i])->counted)
			return false;
	return p->nsink && !p->ntrans;
}

struct pm_feed pm_pipeline_feed(struct pm_pipeline *p, unsigned threads)
{
	struct pm_feed f = { .threads = 1, .packed = p->packed, .addresses = wants_addresses(p),
			     .counts = wants_counts(p) };
	const struct stage *first = p->stage;

	assert(p->started && !p->split && !p->stream);
	if (first->ops && first->ops->drop) {
		f.idle = first->ops->idle;
		f.drop = first->ops->drop;
		f.points = first->ops->points;
		f.rests = first->ops->rests(first->self);
		f.self = first->self;
	}
	if (threads < 2 || !can_split(p))
		return f;
	f.threads = threads < p->threads ? threads : p->threads;
	for (size_t i = 0; i < p->nsink; i++) {
		p->sink[i].config = p->sink[i].light;
		p->sink[i].light = NULL;
	}
	p->split = true;
	return f;
}

static enum pm_status push_split(struct pm_pipeline *p, const struct pm_batch *b,
				 const struct pm_packed *k, struct pm_err *err)
{
	enum pm_status st;

	pthread_mutex_lock(&p->parts);
	st = make_parts(p, b->stream->index, err);
	pthread_mutex_unlock(&p->parts);
	for (size_t i = 0; i < p->nsink && st != PM_ERR; i++) {
		void *self;

		pthread_mutex_lock(&p->parts);
		self = p->sink[i].part[b->stream->index];
		pthread_mutex_unlock(&p->parts);
		st = consume(p->sink + i, self, b, k, err);
	}
	if (st == PM_ERR)
		__atomic_store_n(&p->partial, true, __ATOMIC_RELAXED);
	return st;
}

enum pm_status pm_pipeline_push(struct pm_pipeline *p, const struct pm_batch *b, struct pm_err *err)
{
	assert(p->started && !p->finished && b->stream);
	if (p->split)
		return push_split(p, b, NULL, err);
	/* numbers about what came before an error are worth having; half a file is not */
	if (feed(p->stage, b, err) != PM_ERR)
		return PM_OK;
	p->partial = true;
	return PM_ERR;
}

enum pm_status pm_pipeline_push_packed(struct pm_pipeline *p, const struct pm_batch *b,
				       const struct pm_packed *k, struct pm_err *err)
{
	assert(p->packed && !p->finished && b->stream);	/* no transforms, then */
	if (p->split)
		return push_split(p, b, k, err);
	if (spread(p, b, k, err) != PM_ERR)
		return PM_OK;
	p->partial = true;
	return PM_ERR;
}

enum pm_status pm_pipeline_push_counts(struct pm_pipeline *p, const struct pm_stream *s,
				       const struct pm_tally *t, struct pm_err *err)
{
	assert(p->started && !p->finished && !p->split && wants_counts(p));
	if (make_parts(p, s->index, err) != PM_OK ||
	    (p->lanes && pm_lanes_idle(p->lanes, err) != PM_OK)) {
		p->partial = true;
		return PM_ERR;
	}
	for (size_t i = 0; i < p->nsink; i++) {
		const struct pipe_sink *k = p->sink + i;

		if (!k->served)
			chains_of(k)->counted(k->config ? k->part[s->index] : k->self, s, t);
	}
	return PM_OK;
}

enum pm_status pm_pipeline_tick(struct pm_pipeline *p, struct pm_err *err)
{
	const struct pm_batch none = { .stream = p->stream, .code = p->code };

	assert(p->started && !p->finished);
	/* behind the transforms: what they drop shall not stand between */
	if (!p->stream || spread(p, &none, NULL, err) != PM_ERR)
		return PM_OK;
	p->partial = true;
	return PM_ERR;
}

/* All that comes before the sinks' own finish(). */
static enum pm_status join(struct pm_pipeline *p, struct pm_err *err)
{
	enum pm_status worst = PM_OK;

	assert(p->started && !p->finished);
	p->finished = true;
	for (size_t i = 0; i < p->nstage; i++) {
		struct stage *s = p->stage + i;

		if (s->ops && s->ops->finish &&
		    s->ops->finish(s->self, &(struct pm_emit){ feed, s + 1 }, err) == PM_ERR) {
			worst = PM_ERR;
			p->partial = true;
		}
	}
	if (p->lanes && pm_lanes_join(p->lanes, err) != PM_OK) {
		p->partial = true;
		worst = PM_ERR;
	}
	for (unsigned k = 0; k < p->ncrew; k++)
		if (p->crew[k].expander &&
		    pm_expand_ops.finish(p->crew[k].expander,
					 &(struct pm_emit){ call_plain, p->crew + k },
					 err) == PM_ERR) {
			p->partial = true;
			worst = PM_ERR;
		}
	for (size_t i = 0; i < p->nsink; i++)
		for (size_t k = 0; k < p->sink[i].npart; k++)
			if (p->sink[i].part[k])
				p->sink[i].ops->merge(p->sink[i].self, p->sink[i].part[k]);
	return worst;
}

static enum pm_status finish_sink(struct pm_pipeline *p, size_t i, struct pm_result *r,
				  struct pm_err *err)
{
	const struct pm_sink_ops *ops = p->sink[i].ops;

	if (!ops->finish || (p->partial && ops->flags & PM_SINK_WHOLE))
		return PM_OK;
	return ops->finish(p->sink[i].self, r, err);
}

enum pm_status pm_pipeline_finish(struct pm_pipeline *p, struct pm_result *r, struct pm_err *err)
{
	enum pm_status worst = join(p, err);

	if (r && p->partial) {
		pm_result_bool(r, "complete", false);
		if (pm_failed(err))
			pm_result_str(r, "reason", err->msg);
	}
	/* every sink gets its chance to save what it has, also after another one failed */
	for (size_t i = 0; i < p->nsink; i++)
		if (finish_sink(p, i, r, err) == PM_ERR)
			worst = PM_ERR;
	return worst;
}

enum pm_status pm_pipeline_finish_each(struct pm_pipeline *p, struct pm_result *const *r,
				       struct pm_err *each, struct pm_err *err)
{
	if (join(p, err) == PM_ERR)
		return PM_ERR;
	for (size_t i = 0; i < p->nsink; i++)
		if (finish_sink(p, i, r[i], each + i) == PM_ERR)
			pm_fail_file(each + i, "the simulator failed");
	return PM_OK;
}

void pm_pipeline_free(struct pm_pipeline *p)
{
	struct pm_err ignored = { 0 };

	if (!p)
		return;
	if (p->lanes)
		pm_lanes_join(p->lanes, &ignored);
	/* sinks first: one that is not finished still writes what it has, with the code tables that
	 * lanes and transforms have given it */
	for (size_t i = 0; i < p->nsink; i++) {
		for (size_t k = 0; k < p->sink[i].npart; k++)
			if (p->sink[i].part[k] && p->sink[i].ops->destroy)
				p->sink[i].ops->destroy(p->sink[i].part[k]);
		free(p->sink[i].part);
		free(p->sink[i].config);
		free(p->sink[i].light);
		if (p->sink[i].ops->destroy)
			p->sink[i].ops->destroy(p->sink[i].self);
	}
	pm_lanes_free(p->lanes);
	for (unsigned k = 0; k < p->ncrew; k++) {
		pm_expand_ops.destroy(p->crew[k].expander);
		pm_unpacker_free(p->crew[k].unpacker);
	}
	for (size_t i = 0; i < p->nstage; i++)
		if (p->stage[i].ops && p->stage[i].ops->destroy)
			p->stage[i].ops->destroy(p->stage[i].self);
	for (size_t i = 0; i < p->ntrans; i++)
		if (p->trans[i].self && p->trans[i].ops->destroy)
			p->trans[i].ops->destroy(p->trans[i].self);
	for (size_t i = 0; i < p->ninfo; i++)
		free(p->info[i]);
	free(p->info);
	if (p->namer.self)
		p->namer.destroy(p->namer.self);
	free(p->stage);
	free(p->trans);
	free(p->sink);
	free(p);
}

void pm_pipeline_epochs(struct pm_pipeline *p, struct pm_source *src)
{
	if (src->ops->epochs && allows_epochs(p))
		src->ops->epochs(src->self);
}

static enum pm_status pull(struct pm_pipeline *p, struct pm_source *src,
			   bool (*stop)(const void *arg), const void *arg, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	pm_pipeline_epochs(p, src);
	while (s == PM_OK && (!stop || !stop(arg))) {
		const struct pm_batch *b = NULL;

		s = src->ops->next(src->self, &b, err);
		if (s != PM_OK)
			break;
		p->fed |= b->n > 0;
		s = pm_pipeline_push(p, b, err);
	}
	return s;
}

enum pm_status pm_pipeline_run_until(struct pm_pipeline *p, struct pm_source *src,
				     struct pm_result *r, bool (*stop)(const void *arg),
				     const void *arg, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	if (!p->started && pm_pipeline_start(p, src->facts, src->ops->name, err) != PM_OK)
		return PM_ERR;
	assert(!src->ops->run || !stop);
	s = src->ops->run ? src->ops->run(src->self, p, err) : pull(p, src, stop, arg, err);
	p->partial |= s == PM_ERR;
	if (pm_pipeline_finish(p, r, err) == PM_ERR || s == PM_ERR) {
		p->unmade = src->ops->run;
		return PM_ERR;
	}
	return PM_OK;
}

bool pm_pipeline_unmade(const struct pm_pipeline *p)
{
	return p->unmade;
}

bool pm_pipeline_partial(const struct pm_pipeline *p)
{
	return p->partial;
}

bool pm_pipeline_starved(const struct pm_pipeline *p)
{
	return !p->fed;
}

enum pm_status pm_pipeline_run(struct pm_pipeline *p, struct pm_source *src, struct pm_result *r,
			       struct pm_err *err)
{
	return pm_pipeline_run_until(p, src, r, NULL, NULL, err);
}
