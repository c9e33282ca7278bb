/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "collect/consume/expander.h"
#include "base/proc_maps.h"
#include "collect/consume/trace.h"
#include "isa/x86/decode.h"
#include "isa/x86/plan.h"
#include "trace/chain.h"

#define MAX_BLOCKS	(RT_MAX_NUMBER + 1)	/* translations of blocks in a session */
#define MAX_INSNS	(1u << 26)
#define MAX_WORKERS	8		/* consumers: each reserves some GiB of addresses */
#define MAX_OBJECTS	(1u << 16)
#define BATCH		8192		/* events; one more block's worth fits behind */
#define BATCH_ROOM	(BATCH + 4096)
#define MAX_PARTS	(1u << 26)	/* of packed batches' tables */
#define MAX_REFS	(1u << 27)
#define PACK_REFS	(4 * BATCH)	/* references in a packed batch; one more chain's fit behind */

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

/* What the consumer makes of it when it first sees it. Values are found by a place: `from` selects the
 * record or stream.known, `at` is the offset in it. */
struct place {
	uint16_t at;
	uint8_t from;
	uint8_t how;			/* enum x86_val_how */
};

enum { QUICK_BASE, QUICK_INDEX, QUICK_ZERO, QUICK_SIGN, QUICK_ANY };

struct quick_ref {			/* base + index * scale + add, of packed batches, whose tables have the rest */
	int64_t add;
	uint16_t base, index;		/* offsets in the record; QUICK_ANY: | AT_KNOWN, in stream.known, | enum x86_val_how */
	uint16_t last;			/* size - 1 */
	uint8_t scale, how;		/* QUICK_*: base alone; base and index, which is whole, zero- or sign-extended; any */
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
static const struct layout {
	uint64_t block, trace, chunk, stride;
	uint64_t mask;			/* of addresses */
	bool wide;
} layouts[2] = {
	{ RT32_BLOCK_SIZE, RT32_TRACE, RT32_CHUNK, RT32_CHUNK_STRIDE, UINT32_MAX, false },
	{ RT_BLOCK_SIZE, RT_TRACE, RT_CHUNK, RT_CHUNK_STRIDE, UINT64_MAX, true },
};

struct expansion {			/* of a record by straight code */
	expander_fn *run;		/* NULL: not compiled, or there is none */
	uint32_t record, insns;
};

struct glance {				/* what is to be known of a record that is dropped */
	uint32_t insns;			/* 0: it is not, or nobody knows yet */
	int32_t rsp_add;
	uint16_t plain;			/* = record, if it has no base and adds little, else 0 */
	uint16_t record, rsp;		/* rsp: the offset of its base in the record, 0: the stream's */
	uint8_t how;			/* enum pm_drop */
};
_Static_assert(sizeof(struct glance) == 16, "four in a line");
#define LITTLE 32767			/* summed over a quarter of a buffer, it fits into 32 bits */

struct stream {				/* of a thread block while somebody uses it */
	struct layout layout;
	struct pm_stream *s;		/* lives as long as the session */
	uint64_t known[KNOWN_VALUES];
	uint64_t insns, unsent;		/* delivered; in the batch that is being made */
	uint32_t next;			/* chunk to be consumed next */
	uint32_t over;			/* main thread: nothing more comes (released) */
	uint32_t busy;			/* in use until the consumer says 0 */
	uint64_t status, ended;		/* ended: when, a time stamp */
	uint8_t flags;
	bool begun;
	bool unknown;			/* the last note was an RT_N_UNKNOWN, of these */
	uint64_t unknown_arg[4];
};

struct clock {				/* what time a time stamp was */
	uint64_t stamp, ns, wall;	/* when the trace began; CLOCK_MONOTONIC, CLOCK_REALTIME */
	uint64_t last;
};

struct tracer {
	struct session *s;
	struct source *source;		/* by trace number; published by `nsource` */
	uint32_t nsource;
	struct stream *stream;		/* by thread block */
	uint32_t nstream;		/* streams so far: pm_stream.index */
	struct pm_object *object;
	uint32_t nobject;

	pthread_t consumer;
	bool running;
	uint32_t stop;
	uint32_t abandoned;		/* main's: stop at once */
	/* Several consumers, where the pipeline lets streams come from several threads: each has what follows below
	 * for itself, and sees the arrays above. What the main thread goes on changing is in the first one's. */
	struct tracer *main, **worker;	/* worker: main's; [0] is itself */
	unsigned nworker, number;	/* nworker: main's */

	/* the consumer's own */
	struct compiled *compiled;
	struct expansion *expansion;	/* of the same number */
	struct expander *expander;	/* NULL: every record goes the slow way */
	struct glance *glance;		/* of the same number; NULL: the pipeline drops nothing */
	uint64_t nbytes, ninsns;	/* of buffers, consumed; given to the pipeline, dropped ones included */
	uint64_t ticked;		/* when the pipeline was told that time passes, ns */
	uint64_t idle;			/* instructions that it would drop next */
	uint64_t lost;			/* dropped by skim() */
	uint32_t nskim;			/* nsource as of then */
	uint32_t solo;			/* so often it does without lanes */
	struct pm_code code;
	struct pm_insn *insn;
	struct pm_block *block;
	struct x86_decoder *dec[2];	/* of 32-bit and of 64-bit code */
	struct x86_plan plan;
	struct pm_arena mem;
	struct pm_event *ev;
	size_t nev;
	uint32_t *unknown;		/* blocks that are an instruction that the decoder does not know */
	size_t nunknown, cap_unknown;
	struct pm_rare *rare;		/* of the batch */
	size_t nrare, cap_rare;
	struct pm_buf text;		/* arena of the batch */
	bool packs;			/* batches are packed (trace/chain.h) */
	struct pm_chain *chain;		/* by trace number */
	struct pm_chain_part *chain_part;
	struct pm_chain_ref *chain_ref;
	uint32_t nchain_part, nchain_ref;
	uint32_t *id;			/* of the batch; addr: if nothing is left out, otherwise ref */
	uint64_t *addr;
	struct pm_packed_ref *ref;
	size_t nid, nref, placed;	/* placed: events that an id stands for */
	uint32_t nall;			/* references of the batch, with those left out */
	bool leaves_out;
	struct pm_recent recent;
	uint64_t *newest;		/* the line used last of each of its sets; UINT64_MAX: none */
	struct { enum pm_status st; struct pm_err err; } result;	/* of the whole trace */
	struct clock clock;
	bool failed;
	bool too_many;			/* blocks for the numbers there are: published by `nsource` */
};

static void *reserve(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- the main thread's side ------------------------------------------------------------------------ */
uint32_t trace_next(const struct session *s)
{
	return s->tracer->nsource;
}

void trace_numbers(struct session *s, const struct space *sp, uint32_t first, uint32_t n)
{
	struct tracer *t = s->tracer;
	const struct module *m = &sp->module[sp->block[first].module];
	uint32_t base = t->nsource, object = PM_NONE;

	if (n > MAX_BLOCKS - base) {
		t->too_many = true;
		__atomic_store_n(&t->nsource, base, __ATOMIC_RELEASE);
		return;
	}
	for (uint32_t i = t->nobject; i-- > 0; )
		if (t->object[i].lo == m->lo && t->object[i].hi == m->hi && !strcmp(t->object[i].path, m->path))
			object = i;
	if (object == PM_NONE && t->nobject < MAX_OBJECTS && !m->generated) {
		object = t->nobject;
		t->object[object] = (struct pm_object){ .path = pm_arena_strdup(&s->out->mem, m->path), .base = m->bias, .lo = m->lo,
							.hi = m->hi };
		__atomic_store_n(&t->nobject, object + 1, __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct blk *b = &sp->block[first + i];

		t->source[base + i] = (struct source){
			.pc = b->pc, .bytes = block_bytes(sp, first + i), .size = b->size, .object = object,
			.prev = block_continues(&s->spaces, sp, first + i) ? base + sp->flow[first + i].out : 0,
			.record = b->record, .n = (uint8_t)b->n, .wide = !sp->i386,
		};
	}
	__atomic_store_n(&t->nsource, base + n, __ATOMIC_RELEASE);
}

/* COUNTING. Where the pipeline drops the next instructions a thread that is alone may execute counting copies (translate.h), up to
 * a little before those that it does not drop; from there on there are records again, and skim() finds the
 * first one that is wanted. The thread takes itself out of its counting copies wherever somebody else might change what is next:
 * when it makes another thread or process, when a signal is delivered, and where a block has no counting copy, or a dead one
 * (space_close()). PUGMARK_NO_COUNTING=1 in the environment: never. */
#define WORTH_COUNTING	(4u << 20)	/* instructions: to begin takes as long as a million, and nobody else works meanwhile */
#define MARGIN		(2 * XL_UNCHECKED)

static uint64_t budget_of(uint64_t idle)
{
	return idle < WORTH_COUNTING ? 0 : (idle < 1ull << 62 ? idle : 1ull << 62) - MARGIN;
}

bool trace_counts(struct session *s, uint32_t i)
{
	return s->spaces.counts && session_block(s, i)->stolen == RT_R11_COUNTS;
}

void trace_thread(struct session *s, uint32_t i, bool i386)
{
	struct rt_block *b = session_block(s, i);
	struct stream *st = &s->tracer->stream[i];

	*st = (struct stream){ .s = pm_arena_alloc(&s->out->mem, sizeof *st->s) };
	*st->s = (struct pm_stream){ .index = s->tracer->nstream++ };
	b->tracing = 1;
	b->drop = !s->opts->pipeline;
	b->chunk = 0;
	b->cursor = i386 ? RT32_TRACE : RT_DATA_VAULT + (uint64_t)i * RT_BLOCK_SIZE + RT_TRACE;
	st->layout = layouts[!i386];
	if (s->spaces.counts && !i386 && !st->s->index) {
		b->told = b->budget = budget_of(s->tracer->idle);
		b->stolen = b->budget ? RT_R11_COUNTS : RT_R11_OWN;
	}
	__atomic_store_n(&st->busy, s->opts->pipeline != NULL, __ATOMIC_RELEASE);
}

/* Where the cursor of thread block @i is, as an offset in it: the address is the process's. */
static uint64_t cursor_of(struct session *s, uint32_t i)
{
	return session_block(s, i)->cursor & (s->tracer->stream[i].layout.block - 1);
}

static void ring(struct session *s)
{
	__atomic_fetch_add(&s->head->bell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->head->bell_asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &s->head->bell, FUTEX_WAKE, INT_MAX);
}

void trace_over(struct session *s, uint32_t i, uint64_t status, uint8_t flags)
{
	struct stream *st = &s->tracer->stream[i];

	if (!st->busy || st->over)
		return;
	st->status = status;
	st->ended = __builtin_ia32_rdtsc();
	st->flags = flags;
	__atomic_store_n(&st->over, 1, __ATOMIC_RELEASE);
	ring(s);
}

bool trace_busy(const struct session *s, uint32_t i)
{
	return s->tracer && __atomic_load_n(&s->tracer->stream[i].busy, __ATOMIC_ACQUIRE);
}

void trace_note(struct session *s, uint32_t i, enum rt_note type, const uint64_t *arg, uint32_t narg,
		const char *text)
{
	struct rt_block *b = session_block(s, i);
	const struct layout *l = &s->tracer->stream[i].layout;
	uint64_t off = cursor_of(s, i), chunk = l->trace + (uint64_t)(b->chunk % RT_CHUNKS) * l->stride;
	size_t len = text ? strlen(text) : 0, size = 8 * narg + ((len + 3) & ~(size_t)3);
	uint32_t head = RT_NOTE(type, (uint32_t)size);
	uint8_t *to;

	/* the guard pages are not guarded here, and serve as overflow */
	if (!b->tracing || off < chunk || off > chunk + l->stride - size - 4 || off % 4)
		return;
	to = (uint8_t *)b + off;
	memcpy(to, &head, 4);
	memcpy(to + 4, arg, 8 * narg);
	memset(to + 4 + 8 * narg, 0, size - 8 * narg);
	if (len)
		memcpy(to + 4 + 8 * narg, text, len);
	b->cursor += 4 + size;
}

/* Instructions of the chain of counting copy @block that @at is behind, less those that have been counted there. */
static uint64_t counted_before(const struct space *sp, uint32_t block, const struct xl_map *at)
{
	const struct unit *u = unit_of(sp, block);
	uint64_t before = 0;
	uint32_t k = block;

	if (at->flags & XL_RECORDED)
		return (uint64_t)at->insn - sp->block[block].n;
	/* bounded: a file that has been cut short says anything */
	for (uint32_t i = 0; i < u->nblock && sp->flow[k].out < u->nblock; i++) {
		k = u->block + sp->flow[k].out;
		before += sp->block[k].n;
	}
	return before + at->insn;
}

void trace_cut(struct session *s, const struct space *sp, uint32_t i, uint32_t block, const struct xl_map *at,
	       uint64_t rsi, uint64_t rdi)
{
	struct rt_block *b = session_block(s, i);
	const struct unit *u = unit_of(sp, block);
	uint32_t number = u->number + (block - u->block), word;
	const struct layout *l = &s->tracer->stream[i].layout;
	uint64_t off;
	const uint64_t arg[3] = { at->insn | (at->flags & XL_STORED ? 1ull << 32 : 0), rsi, rdi };

	if (sp->block[block].flags & XL_COUNTS) {
		b->budget -= counted_before(sp, block, at);
		return;
	}
	/* registers as the signal met them */
	b->cursor = b->ctx.gpr[at->tmp & XL_OWN ? at->tmp & 15 : xl_stolen_register(sp->i386)];
	off = cursor_of(s, i);
	if (!b->tracing || number >= s->tracer->nsource || off < l->trace ||
	    off > l->trace + RT_CHUNKS * l->stride - 65536)
		return;
	if (!(at->flags & XL_RECORDED)) {
		/* it did not begin, but those before it in the chain happened */
		const bool before = !at->insn && !(at->flags & XL_STORED);

		if (before)
			number = s->tracer->source[number].prev;
		if (!number)
			return;
		word = RT_RECORD(number, s->tracer->source[number].record);
		memcpy((uint8_t *)b + off, &word, 4);
		b->cursor += s->tracer->source[number].record;
		if (before)
			return;
	}
	if (at->insn < sp->block[block].n || !(at->flags & (XL_STORED | XL_RECORDED)))
		trace_note(s, i, RT_N_CUT, arg, 3, NULL);
}

void trace_maps(struct session *s, uint32_t i, uint32_t pid)
{
	struct maps all = { 0 };

	if (maps_read((pid_t)pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++) {
			if (!strncmp(m->path, "/memfd:pugmark-", 15) || strstr(m->path, "/pugmark-code-") || is_runtime(s, m))
				continue;
			_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "as the event has them");
			trace_note(s, i, RT_N_MMAP, (const uint64_t []){ m->lo, m->hi - m->lo, m->prot, m->off }, 4, m->path);
		}
	maps_release(&all);
}

/* ---- the consumer ------------------------------------------------------------------------------------- */
static void fail(struct tracer *t, const char *what)
{
	if (t->failed)
		return;
	t->failed = true;
	t->result.st = pm_fail(&t->result.err, 0, "the trace buffer of a traced process is damaged: %s", what);
}

/* Whoever waits for us does not want to wait any longer. */
static void stop_early(struct tracer *t)
{
	if (!__atomic_load_n(&t->main->abandoned, __ATOMIC_RELAXED) || t->failed)
		return;
	t->failed = true;
	t->result.st = pm_fail(&t->result.err, 0, "interrupted: what follows in the trace is lost");
}

/* The lines of a reference are the newest of their sets, in the order of their addresses. */
static void use_lines(struct tracer *t, uint64_t addr, uint32_t size)
{
	const unsigned shift = t->recent.shift;
	uint64_t line = addr >> shift;

	for (uint64_t n = ((addr & ((1ull << shift) - 1)) + (size ? size : 1) - 1) >> shift; ; n--, line++) {
		t->newest[line & t->recent.mask] = line;
		if (!n)
			return;
	}
}

/* Events since the last chain come here. */
static void place_events(struct tracer *t)
{
	if (t->nev == t->placed)
		return;
	for (const struct pm_event *e = t->ev + t->placed, *end = t->ev + t->nev; e < end && t->leaves_out; e++)
		if (e->kind == PM_EV_READ || e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
			use_lines(t, e->addr, e->size);
	t->id[t->nid++] = PM_CHAIN_EVENTS | (uint32_t)(t->nev - t->placed);
	t->placed = t->nev;
}

static void flush(struct tracer *t, struct stream *st)
{
	struct pm_pipeline *to = t->s->opts->pipeline;
	struct pm_packed packed;
	struct pm_batch b = { .stream = st->s, .code = &t->code, .ev = t->ev, .n = t->nev, .rare = t->rare,
			      .nrare = t->nrare, .arena = t->text.p, .narena = t->text.n,
			      .first_insn = st->insns };

	if (!t->nev && !t->nid)
		return;
	if (t->packs) {
		place_events(t);
		packed = (struct pm_packed){
			.chains = { t->chain, t->chain_part, t->chain_ref, __atomic_load_n(&t->main->nsource, __ATOMIC_RELAXED) },
			.id = t->id, .n = t->nid, .addr = t->addr, .ref = t->ref, .nref = t->nref, .insns = st->unsent,
		};
	}
	for (size_t i = 0; i < t->nrare; i++)		/* offsets became pointers */
		t->rare[i].name = t->rare[i].name ?
			(const char *)t->text.p + ((uintptr_t)t->rare[i].name - 1) : NULL;
	if (!t->failed && (t->packs ? pm_pipeline_push_packed(to, &b, &packed, &t->result.err) :
				      pm_pipeline_push(to, &b, &t->result.err)) != PM_OK) {
		t->failed = true;
		t->result.st = PM_ERR;
	}
	t->idle = t->glance ? pm_pipeline_idle(t->s->opts->pipeline) : 0;
	st->insns += st->unsent;
	t->ninsns += st->unsent;
	st->unsent = 0;
	t->nev = t->nrare = t->text.n = 0;
	t->nid = t->nref = t->placed = t->nall = 0;
}

static const struct x86_at *insn_at(void *ctx, uint32_t i)
{
	return (const struct x86_at *)ctx + i;
}

static struct place place_of(uint16_t value)
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
	return how == X86_VAL_WHOLE ? x : how == X86_VAL_ZERO ? (uint32_t)x : (uint64_t)(int64_t)(int32_t)x;
}

/* The upper half of a 32-bit value is whatever follows it in the buffer: it goes when the address is masked. */
static inline uint64_t at_place(const uint8_t *const from[2], struct place p)
{
	uint64_t x;

	memcpy(&x, from[p.from] + p.at, 8);
	return extended(x, p.how);
}

/* The block's place in the code table, 1 + index; 0: it cannot be read. @at gets its instructions. */
static uint32_t describe(struct tracer *t, uint32_t number, struct x86_at *at)
{
	const struct source *src = &t->source[number];
	struct compiled *c = &t->compiled[number];
	const uint32_t first = (uint32_t)t->code.ninsn;
	uint32_t off = 0;

	if (!src->bytes || t->code.ninsn + 256 > MAX_INSNS)
		return 0;
	for (uint32_t i = 0; i < src->n; i++) {
		struct x86_at *a = &at[i];

		a->p = src->bytes + off;
		a->pc = src->pc + off;
		if (!x86_decode(t->dec[src->wide], a->p, src->size - off, &a->x))
			return 0;
		off += a->x.len;
	}
	if (c->block)
		return c->block;
	for (uint32_t i = 0; i < src->n; i++) {
		struct pm_insn *in = &t->insn[first + i];

		*in = (struct pm_insn){ .pc = at[i].pc, .len = at[i].x.len, .flow = at[i].x.class,
					.nref = at[i].x.nref, .rep = !!(at[i].x.prop & X86_REP),
					.isa = src->wide ? PM_ISA_X86_64 : PM_ISA_X86_32, .object = src->object };
		memcpy(in->bytes, at[i].p, at[i].x.len);
	}
	t->block[t->code.nblock] = (struct pm_block){ src->pc, first, src->n };
	t->code.ninsn += src->n;
	t->code.nobject = __atomic_load_n(&t->main->nobject, __ATOMIC_ACQUIRE);
	return c->block = (uint32_t)++t->code.nblock;
}

static uint16_t quick_place(struct place p)
{
	return p.at | (p.from ? AT_KNOWN : 0) | p.how;
}

static struct quick_ref quick_of(const struct x86_ref *r)
{
	struct x86_sum sum;
	struct place base, index;
	struct quick_ref q;

	x86_ref_sum(r, &sum);
	base = place_of(sum.base);
	index = place_of(sum.index);
	q = (struct quick_ref){ .add = r->disp, .base = quick_place(base), .index = quick_place(index),
				.last = r->size ? r->size - 1 : 0, .scale = sum.scale, .how = QUICK_ANY };
	if (!base.from && base.how == X86_VAL_WHOLE && !index.from) {
		q.how = QUICK_INDEX + index.how;
		q.index = index.at;
	} else if (!base.from && base.how == X86_VAL_WHOLE && sum.index == X86_VAL_NONE) {
		q.how = QUICK_BASE;
	}
	return q;
}

/* What packed batches say of @c, if all its references are simple. */
static void pack(struct tracer *t, uint32_t number, struct compiled *c)
{
	struct pm_chain_ref *to = t->chain_ref + t->nchain_ref;
	const bool wide = t->source[number].wide;
	struct quick_ref *quick;
	struct x86_sum sum;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->npart; i++) {
		for (uint32_t j = 0; j < c->part[i].nref; j++)
			if (!x86_ref_sum(&c->part[i].ref[j], &sum))
				return;
		n += c->part[i].nref;
	}
	if (n > BATCH || c->record >= AT_KNOWN || t->nchain_ref + n > MAX_REFS || t->nchain_part + c->npart > MAX_PARTS)
		return;
	quick = pm_arena_alloc(&t->mem, (n + 1) * sizeof *quick);
	t->chain[number] = (struct pm_chain){ .pc = c->part->pc, .part = t->nchain_part, .npart = c->npart,
					      .ref = t->nchain_ref, .nref = n };
	c->ref = t->nchain_ref;
	n = 0;
	for (uint32_t i = 0; i < c->npart; i++) {
		const struct expander_part *part = c->part + i;

		t->chain_part[t->nchain_part++] = (struct pm_chain_part){ part->block, part->nref };
		for (uint32_t j = 0; j < part->nref; j++, n++) {
			const struct x86_ref *r = part->ref + j;

			quick[n] = quick_of(r);
			to[n] = (struct pm_chain_ref){ .insn = t->block[part->block].insn + r->insn, .size = r->size,
						       .kind = r->kind, .flags = r->flags };
		}
	}
	t->nchain_ref += n;
	c->nref = n;
	c->keeps_rsp = c->rsp.from && !c->rsp_add && c->rsp.at == 8 * KNOWN_RSP;
	c->quick = quick;
	c->packs = true;
	if (t->expander && !t->leaves_out)
		t->expansion[number].run = expander_compile(t->expander, EXPAND_ADDRESSES, c->part, c->npart,
							    c->plan_rsp, c->rsp_add, wide);
}

static struct glance glance_of(struct tracer *t, const struct compiled *c)
{
	struct glance g = { .insns = c->insns, .rsp_add = (int32_t)c->rsp_add, .record = c->record,
			    .rsp = c->rsp.from ? 0 : c->rsp.at };

	if (c->rsp.how != X86_VAL_WHOLE || c->plan_rsp == X86_VAL_NONE)
		return (struct glance){ 0 };
	for (uint32_t i = 0; i < c->npart; i++) {
		const enum pm_drop how = pm_pipeline_drop(t->s->opts->pipeline, &t->code, c->part[i].block);

		if (how == PM_DROP_NEVER || (i && how != g.how) || g.rsp_add != c->rsp_add)
			return (struct glance){ 0 };
		g.how = (uint8_t)how;
	}
	if (!g.rsp && -LITTLE <= g.rsp_add && g.rsp_add <= LITTLE)
		g.plain = g.record;
	return g;
}

#define MAX_CHAIN 64

/* HOT only for programs that never run anything twice. */
static struct compiled *compile(struct tracer *t, uint32_t number)
{
	struct compiled *c = &t->compiled[number];
	const bool wide = t->source[number].wide;
	uint32_t chain[MAX_CHAIN], n = 0, insns = 0, begin = 0, r = 0;
	struct x86_at at[512];
	struct x86_ref *ref;
	struct expander_part *part;

	for (uint32_t k = number; k; k = t->source[k].prev) {
		if (n == MAX_CHAIN)
			return NULL;
		chain[n++] = k;
	}
	part = pm_arena_alloc(&t->mem, n * sizeof *part);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = chain[n - 1 - i];

		if (insns + t->source[k].n > NR(at))
			return NULL;
		part[i] = (struct expander_part){ .pc = t->source[k].pc, .n = t->source[k].n,
						  .block = describe(t, k, at + insns) };
		if (!part[i].block--)
			return NULL;
		insns += part[i].n;
	}
	t->plan.nref = t->plan.size = 0;
	t->plan.rsp = X86_VAL_RSP;
	t->plan.rsp_add = 0;
	if (t->s->opts->kind == XL_EXEC)
		x86_plan(insn_at, at, insns, wide, &t->plan);
	if (t->source[number].record != 4 + t->plan.size)
		return NULL;
	ref = pm_arena_alloc(&t->mem, (t->plan.nref + 1) * sizeof *ref);
	if (t->plan.nref)			/* else there may be no array */
		memcpy(ref, t->plan.ref, t->plan.nref * sizeof *ref);
	for (uint32_t i = 0; i < n; i++) {
		part[i].ref = ref + r;
		for (; r < t->plan.nref && ref[r].insn < begin + part[i].n; r++) {
			ref[r].insn -= (uint8_t)begin;
			part[i].nref++;
		}
		begin += part[i].n;
	}
	c->record = t->source[number].record;
	c->rsp = place_of(t->plan.rsp);
	c->plan_rsp = t->plan.rsp;
	c->rsp_add = t->plan.rsp_add;
	c->npart = (uint16_t)n;
	c->insns = insns;
	c->part = part;
	if (t->glance)
		t->glance[number] = glance_of(t, c);
	t->expansion[number] = (struct expansion){ .record = c->record, .insns = insns };
	if (t->packs)
		pack(t, number, c);
	return c;
}

static inline uint64_t value(const struct stream *st, const uint8_t *rec, uint16_t v)
{
	return at_place((const uint8_t *const []){ rec, (const uint8_t *)st->known }, place_of(v));
}

#define MOST_TIMES (1ull << 36)		/* that one string instruction repeats: more takes minutes by itself */

/* HOT only for programs that copy much. */
static void rep(struct tracer *t, struct stream *st, const struct expander_part *c, const struct x86_ref *r,
		const uint8_t *rec, const uint64_t *cut, bool done)
{
	const uint64_t mask = (uint64_t)r->disp, seg = value(st, rec, r->segment);
	uint64_t src = value(st, rec, r->base) & mask, dst = value(st, rec, r->index) & mask;
	uint64_t end = (cut ? cut[r->index == X86_VAL_NONE ? 1 : 2] : value(st, rec, r->after)) & mask;
	uint64_t from = r->index == X86_VAL_NONE ? src : dst, step = r->size, far = (end - from) & mask;
	const bool down = far & ((mask >> 1) + 1);	/* the direction flag is set */
	const uint64_t times = (down ? (from - end) & mask : far) / r->size;
	const uint64_t pc = t->insn[t->block[c->block].insn + r->insn].pc;
	static const uint8_t kinds[][2] = {
		[X86_REP_MOVS] = { PM_EV_READ, PM_EV_WRITE }, [X86_REP_CMPS] = { PM_EV_READ, PM_EV_READ },
		[X86_REP_STOS] = { 0, PM_EV_WRITE }, [X86_REP_LODS] = { PM_EV_READ, 0 },
		[X86_REP_SCAS] = { 0, PM_EV_READ },
	};

	if (far % r->size || times > MOST_TIMES) {
		fail(t, "an endless string instruction");
		return;
	}
	if (down)
		step = -step;
	for (uint64_t k = 0; k < times && !t->failed; k++) {
		struct pm_event *ev;

		if (t->nev + 3 > BATCH) {
			flush(t, st);
			stop_early(t);
		}
		ev = &t->ev[t->nev];
		*ev++ = (struct pm_event){ .kind = PM_EV_REP_ITER, .id = r->insn, .addr = pc };
		if (kinds[r->scale][0])
			*ev++ = (struct pm_event){ .kind = kinds[r->scale][0], .flags = PM_REF_REP, .size = r->size,
						   .id = r->insn, .addr = (src + seg) & st->layout.mask };
		if (kinds[r->scale][1])
			*ev++ = (struct pm_event){ .kind = kinds[r->scale][1], .flags = PM_REF_REP, .size = r->size,
						   .id = r->insn, .addr = dst };
		t->nev = (size_t)(ev - t->ev);
		src = (src + step) & mask;
		dst = (dst + step) & mask;
	}
	if (done)
		t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_REP_END, .id = r->insn, .addr = pc,
						     .value = times };
}

/* @cut: the instruction has come as far as an RT_N_CUT says. */
static void vsib(struct tracer *t, struct stream *st, const struct x86_ref *r, const uint8_t *rec,
		 const uint64_t *cut)
{
	const uint8_t *mask = rec + 4 + X86_VAL_AT(r->after);
	uint64_t at[16], seg = value(st, rec, r->segment);
	uint8_t done[64];
	unsigned n;

	if (cut) {				/* those that it began with, but for those that are left */
		memcpy(done, mask, r->lanes.k ? 2 : r->lanes.n * r->size);
		for (unsigned i = 0; i < r->lanes.n; i++)
			if (cut[1] >> i & 1)
				done[r->lanes.k ? i / 8 : (i + 1) * r->size - 1] &= r->lanes.k ? (uint8_t)~(1u << (i & 7)) : 0x7f;
		mask = done;
	}
	n = x86_lanes(r, value(st, rec, r->base), rec + 4 + X86_VAL_AT(r->index), mask, at);
	for (unsigned i = 0; i < n; i++)
		t->ev[t->nev++] = (struct pm_event){ .kind = r->kind, .flags = r->flags, .size = r->size,
						     .id = r->insn, .addr = (at[i] + seg) & st->layout.mask };
}

static void tile(struct tracer *t, struct stream *st, const struct x86_ref *r, const uint8_t *rec, const uint64_t *cut)
{
	uint64_t at[X86_TILE_ROWS], seg = value(st, rec, r->segment);
	unsigned first, n;
	uint16_t size;

	n = x86_tile(r, value(st, rec, r->base), value(st, rec, r->index), rec + 4 + X86_VAL_AT(r->after), at, &first,
		     &size);
	for (unsigned i = 0; i < n && !(cut && cut[1] >> (first + i) & 1); i++)
		t->ev[t->nev++] = (struct pm_event){ .kind = r->kind, .flags = r->flags, .size = size, .id = r->insn,
						     .addr = (at[i] + seg) & st->layout.mask };
}

static uint64_t address(const struct stream *st, const uint8_t *rec, const struct x86_ref *r)
{
	uint64_t a = (uint64_t)r->disp + value(st, rec, r->base);

	if (r->how == X86_REF_XLAT)
		a += (uint8_t)(value(st, rec, r->index) + r->after);
	else if (r->index != X86_VAL_NONE)
		a += value(st, rec, r->index) * r->scale;
	if (r->how == X86_REF_SUM32 || (r->how == X86_REF_XSAVE && r->lanes.a32) ||
	     (r->how == X86_REF_XLAT && r->scale == 4))
		a = (uint32_t)a;
	else if (r->how == X86_REF_SUM16 || (r->how == X86_REF_XLAT && r->scale == 2))
		a = (uint16_t)a;
	if (r->how == X86_REF_BITS) {
		int64_t bit = (int64_t)value(st, rec, r->after);

		if (r->size == 2)
			bit = (int16_t)bit;
		else if (r->size == 4)
			bit = (int32_t)bit;
		a += (uint64_t)((bit >> (r->size == 2 ? 4 : r->size == 4 ? 5 : 6)) * r->size);
	}
	return a + value(st, rec, r->segment);
}

static uint16_t size_of(const struct stream *st, const uint8_t *rec, const struct x86_ref *r)
{
	return r->how == X86_REF_XSAVE ? x86_xsave_size(r, value(st, rec, r->after)) : r->size;
}

/* @n instructions of a block; @cut: what an RT_N_CUT says of it, or NULL. If the next instruction has not
 * recorded what it has to, the last one has not recorded where it ended, either: that is in the note. */
static void references(struct tracer *t, struct stream *st, const struct expander_part *c, const uint8_t *rec,
		       uint32_t n, const uint64_t *cut)
{
	const bool begun = cut && cut[0] >> 32;

	for (uint32_t i = 0; i < c->nref; i++) {
		const struct x86_ref *r = &c->ref[i];

		if (r->insn >= n && !(begun && r->insn == n && x86_ref_goes_on(r)))
			break;
		if (r->how == X86_REF_REP)
			rep(t, st, c, r, rec, r->insn == n || (cut && !begun && r->insn + 1u == n) ? cut : NULL, r->insn < n);
		else if (r->how == X86_REF_VSIB)
			vsib(t, st, r, rec, r->insn == n ? cut : NULL);
		else if (r->how == X86_REF_TILE)
			tile(t, st, r, rec, r->insn == n ? cut : NULL);
		else
			t->ev[t->nev++] = (struct pm_event){ .kind = r->kind, .flags = r->flags,
							     .size = size_of(st, rec, r), .id = r->insn,
							     .addr = address(st, rec, r) & st->layout.mask };
	}
}

static size_t text_of(struct tracer *t, const uint8_t *p, size_t n)
{
	size_t at = t->text.n;

	pm_buf_add(&t->text, p, n);
	pm_buf_add(&t->text, "", 1);
	return at;
}

static struct pm_event *rare(struct tracer *t, enum pm_kind kind, const uint64_t *arg, uint32_t narg,
			     const uint8_t *text, size_t ntext)
{
	struct pm_event *ev = &t->ev[t->nev++];
	struct pm_rare *r;

	pm_grow(t->rare, t->nrare, t->cap_rare);
	r = &t->rare[t->nrare];
	*r = (struct pm_rare){ .nargs = narg };
	memcpy(r->arg, arg, narg * sizeof *arg);
	if (ntext)
		r->name = (const char *)(text_of(t, text, ntext) + 1);	/* a pointer when flushed */
	*ev = (struct pm_event){ .kind = kind, .id = (uint32_t)t->nrare++ };
	return ev;
}

static uint64_t ns_of(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Time stamps advance evenly, how fast is known from how far they have come: never backwards, never beyond
 * now, whatever a traced process writes there. */
static void tell_time(struct tracer *t, uint64_t stamp)
{
	struct clock *c = &t->clock;
	const uint64_t now = ns_of(CLOCK_MONOTONIC) - c->ns, ticks = __builtin_ia32_rdtsc() - c->stamp;
	double at = ticks ? (double)(int64_t)(stamp - c->stamp) / (double)ticks * (double)now : 0;

	if (at > (double)c->last)
		c->last = at < (double)now ? (uint64_t)at : now;
	t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_TIME, .id = PM_NONE, .addr = c->wall + c->last,
					     .value = c->last };
}

/* The stream begins: who it is has been noted, or is known by now. */
static void name_stream(struct stream *st, const struct rt_block *b)
{
	if (st->begun)
		return;
	st->begun = true;
	if (b->seen_pid && !st->s->pid)
		st->s->pid = b->seen_pid;
	if (b->seen_tid && !st->s->tid)
		st->s->tid = b->seen_tid;
	st->s->space = st->s->pid;
}

/* An instruction that the decoder does not know has been executed: a block of its own. Its length is known
 * if it does not jump. */
static void unknown(struct tracer *t, struct stream *st, uint64_t next)
{
	const uint64_t pc = st->unknown_arg[0];
	const uint8_t len = next - pc <= X86_MAX_LEN && next > pc ? (uint8_t)(next - pc) : 1;
	const uint8_t *bytes = (const uint8_t *)&st->unknown_arg[1];
	uint32_t i = (uint32_t)t->code.nblock;

	for (size_t k = 0; k < t->nunknown; k++) {
		const struct pm_insn *in = &t->insn[t->block[t->unknown[k]].insn];

		if (in->pc == pc && in->len == len && !memcmp(in->bytes, bytes, len))
			i = t->unknown[k];
	}
	if (i == t->code.nblock) {
		if (i == MAX_BLOCKS || t->code.ninsn == MAX_INSNS) {
			fail(t, "more instructions than there can be");
			return;
		}
		t->insn[t->code.ninsn] = (struct pm_insn){ .pc = pc, .len = len, .object = PM_NONE,
							   .isa = st->unknown_arg[3] ? PM_ISA_X86_32 : PM_ISA_X86_64 };
		memcpy(t->insn[t->code.ninsn].bytes, bytes, len);
		t->block[i] = (struct pm_block){ pc, (uint32_t)t->code.ninsn++, 1 };
		t->code.nblock++;
		pm_grow(t->unknown, t->nunknown, t->cap_unknown);
		t->unknown[t->nunknown++] = i;
	}
	t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_BLOCK, .id = i, .addr = pc, .value = 1 };
	st->unsent++;
}

static void note(struct tracer *t, struct stream *st, uint32_t type, const uint8_t *p, uint32_t size)
{
	static const uint8_t nargs[] = {
		[RT_N_STATE] = 3, [RT_N_CUT] = 3, [RT_N_SYSCALL] = 7, [RT_N_SYSRET] = 1, [RT_N_SIGNAL] = 3,
		[RT_N_SIGRETURN] = 1, [RT_N_MMAP] = 4, [RT_N_MUNMAP] = 2, [RT_N_PROCESS] = 2, [RT_N_EXEC] = 1,
		[RT_N_THREAD] = 1, [RT_N_EXIT] = 2, [RT_N_UNKNOWN] = 4, [RT_N_COUNTED] = 1, [RT_N_STEPPED] = 1,
	};
	uint64_t a[8] = { 0 };
	struct pm_event *ev;
	const uint8_t *text;
	uint32_t ntext;

	if (type == RT_N_SKIP) {
		t->nbytes -= size;
		return;
	}
	if (type >= NR(nargs) || !nargs[type] || size < 8u * nargs[type]) {
		fail(t, "an unknown note");
		return;
	}
	memcpy(a, p, 8 * nargs[type]);
	text = p + 8 * nargs[type];
	ntext = (uint32_t)strnlen((const char *)text, size - 8 * nargs[type]);
	if (t->nev + 2 > BATCH)
		flush(t, st);
	switch (type) {
	case RT_N_STATE:
		st->known[KNOWN_RSP] = a[0];
		st->known[KNOWN_FS] = a[1];
		st->known[KNOWN_GS] = a[2];
		break;
	case RT_N_UNKNOWN:
		memcpy(st->unknown_arg, a, sizeof st->unknown_arg);
		break;
	case RT_N_COUNTED:
		t->idle -= a[0] < t->idle ? a[0] : t->idle;
		st->unsent += a[0];
		t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = a[0] };
		break;
	case RT_N_STEPPED:
		if (st->unknown)
			unknown(t, st, a[0]);
		break;
	case RT_N_CUT:			/* without its block: it did not begin here */
		break;
	case RT_N_SYSCALL:
		ev = rare(t, PM_EV_SYSCALL, a + 1, 6, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_SYSRET:
		ev = rare(t, PM_EV_SYSRET, a, 0, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_SIGNAL:
		ev = rare(t, PM_EV_SIGNAL, a + 2, 1, NULL, 0);
		ev->value = a[0];
		ev->addr = a[1];
		break;
	case RT_N_SIGRETURN:
		ev = rare(t, PM_EV_SIGRETURN, a, 0, NULL, 0);
		ev->addr = a[0];
		break;
	case RT_N_MMAP:
		ev = rare(t, PM_EV_MMAP, a + 2, 2, text, ntext);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_MUNMAP:
		ev = rare(t, PM_EV_MUNMAP, a, 0, NULL, 0);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_PROCESS:
		ev = rare(t, PM_EV_PROCESS, a + 1, 1, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_EXEC:
		ev = rare(t, PM_EV_EXEC, a, 0, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_THREAD:
		ev = rare(t, PM_EV_THREAD, a, 0, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_EXIT:
		ev = rare(t, PM_EV_EXIT, a, 0, NULL, 0);
		ev->value = a[0];
		ev->flags = (uint8_t)a[1];
		break;
	}
	st->unknown = type == RT_N_UNKNOWN;
}

/* One block, of whose instructions @n were executed. */
static void block(struct tracer *t, struct stream *st, const struct expander_part *b, const uint8_t *rec, uint32_t n,
		  const uint64_t *cut)
{
	if (t->nev > BATCH - 1024)
		flush(t, st);
	t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_BLOCK, .id = b->block, .addr = b->pc, .value = n };
	st->unsent += n;
	references(t, st, b, rec, n, cut);
}

static inline uint64_t quick_value(const uint8_t *rec, const uint8_t *known, uint16_t at)
{
	uint64_t x;

	memcpy(&x, (at & AT_KNOWN ? known : rec) + X86_VAL_AT(at & ~AT_KNOWN), 8);
	return extended(x, X86_VAL_HOW(at));
}

static inline uint64_t quick_address(const uint8_t *rec, const uint8_t *known, const struct quick_ref *q)
{
	uint64_t base, index;

	if (q->how == QUICK_ANY)
		return quick_value(rec, known, q->base) + quick_value(rec, known, q->index) * q->scale + (uint64_t)q->add;
	memcpy(&base, rec + q->base, 8);
	if (q->how == QUICK_BASE)
		return base + (uint64_t)q->add;
	memcpy(&index, rec + q->index, 8);
	index = extended(index, q->how - QUICK_INDEX);
	return base + index * q->scale + (uint64_t)q->add;
}

/* HOT: packed, everything that was executed passes through here. Stops at whatever is not a whole, simple,
 * known chain, or is the last one of a buffer, and returns where. This leaves out what pm_recent says. */
static inline __attribute__((always_inline)) const uint8_t *
pack_recent(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end, uint32_t nsource, unsigned shift)
{
	const uint64_t mask = t->recent.mask, wrap = st->layout.mask;
	uint64_t *const newest = t->newest;
	uint32_t *id = t->id + t->nid, nall = t->nall, word;
	struct pm_packed_ref *out = t->ref + t->nref;
	uint64_t insns = 0;

	memcpy(&word, p, 4);
	while (!(word & 0x80000000u) && RT_RECORD_NUMBER(word) < nsource && id < t->id + BATCH - 1 &&
	       out < t->ref + PACK_REFS) {
		const struct compiled *c = &t->compiled[RT_RECORD_NUMBER(word)];
		const struct quick_ref *q = c->quick;
		const uint32_t record = RT_RECORD_SIZE(word);
		const uint8_t *after = p + record;
		uint32_t next;

		if (!c->packs || c->record != record || after >= end)
			break;
		memcpy(&next, after, 4);
		if (next == RT_NOTE(RT_N_CUT, 24))
			break;
		*id++ = RT_RECORD_NUMBER(word);
		insns += c->insns;
		for (const struct quick_ref *last = q + c->nref; q < last; q++) {
			uint64_t addr = quick_address(p, (const uint8_t *)st->known, q) & wrap;
			uint64_t line = addr >> shift, *newest_of = newest + (line & mask);
			bool one = line == (addr + q->last) >> shift;

			if (*newest_of == line && one)
				continue;
			*out++ = (struct pm_packed_ref){ addr, c->ref + (uint32_t)(q - c->quick),
							 nall + (uint32_t)(q - c->quick) };
			*newest_of = line;
			if (!one)
				use_lines(t, addr, q->last + 1u);
		}
		nall += c->nref;
		if (!c->keeps_rsp)
			st->known[KNOWN_RSP] = at_place((const uint8_t *const []){ p, (const uint8_t *)st->known }, c->rsp) +
					       (uint64_t)c->rsp_add;
		p = after;
		word = next;
	}
	t->nid = (size_t)(id - t->id);
	t->nref = (size_t)(out - t->ref);
	t->nall = nall;
	st->unsent += insns;
	return p;
}

/* One chain's addresses where there is no straight code for them. */
static uint64_t *addresses(const struct compiled *c, struct stream *st, const uint8_t *p, uint64_t *out)
{
	for (const struct quick_ref *q = c->quick, *last = q + c->nref; q < last; q++)
		*out++ = quick_address(p, (const uint8_t *)st->known, q) & st->layout.mask;
	st->known[KNOWN_RSP] = at_place((const uint8_t *const []){ p, (const uint8_t *)st->known }, c->rsp) +
			       (uint64_t)c->rsp_add;
	return out;
}

/* HOT: the same, leaving nothing out. */
static __attribute__((noinline)) const uint8_t *pack_all(struct tracer *t, struct stream *st, const uint8_t *p,
							 const uint8_t *end, uint32_t nsource)
{
	const struct expansion *expansion = t->expansion;
	uint32_t *id = t->id + t->nid, word;
	uint64_t *out = t->addr + t->nref;
	uint64_t insns = 0;

	memcpy(&word, p, 4);
	while (!(word & 0x80000000u) && id < t->id + BATCH - 1 && out < t->addr + PACK_REFS) {
		const uint32_t number = RT_RECORD_NUMBER(word), record = RT_RECORD_SIZE(word);
		const struct expansion *x = &expansion[number];
		const uint8_t *after = p + record;
		uint32_t next;

		if (x->record != record || after >= end)
			break;
		memcpy(&next, after, 4);
		if (next == RT_NOTE(RT_N_CUT, 24) || number >= nsource)
			break;
		if (__builtin_expect(x->run != NULL, 1))
			out = x->run(out, p, st->known);
		else if (t->compiled[number].packs)
			out = addresses(&t->compiled[number], st, p, out);
		else
			break;
		*id++ = number;
		insns += x->insns;
		p = after;
		word = next;
	}
	t->nid = (size_t)(id - t->id);
	t->nref = (size_t)(out - t->addr);
	st->unsent += insns;
	return p;
}

static __attribute__((noinline)) const uint8_t *pack_some(struct tracer *t, struct stream *st, const uint8_t *p,
							  const uint8_t *end, uint32_t nsource)
{
	return pack_recent(t, st, p, end, nsource, t->recent.shift);
}

static __attribute__((noinline)) const uint8_t *pack_some_64(struct tracer *t, struct stream *st, const uint8_t *p,
							     const uint8_t *end, uint32_t nsource)
{
	return pack_recent(t, st, p, end, nsource, 6);
}

/* The chains that come next, if any: one of these until it stops for another reason than that a batch is full. */
static const uint8_t *consume_packed(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end,
				     uint32_t nsource)
{
	do {
		if (t->nid >= BATCH - 2 || t->nref >= PACK_REFS)
			flush(t, st);
		place_events(t);
		p = (!t->leaves_out ? pack_all : t->recent.shift == 6 ? pack_some_64 : pack_some)(t, st, p, end, nsource);
	} while (p < end && !t->failed && (t->nid >= BATCH - 2 || t->nref >= PACK_REFS));
	return p;
}

/* Records that straight code expands, up to the first that it cannot; returns that one's place.
 * HOT: everything that was executed passes through here. What one round waits for of the round before is
 * `p` and `ev` alone. */
static const uint8_t *expand(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end)
{
	const struct expansion *expansion = t->expansion;
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	struct pm_event *ev = t->ev + t->nev, *const full = t->ev + BATCH;
	uint64_t insns = 0;
	uint32_t word, next;

	memcpy(&word, p, 4);
	while (!(word & 0x80000000u)) {
		const struct expansion *x = &expansion[RT_RECORD_NUMBER(word)];
		const uint32_t record = RT_RECORD_SIZE(word);

		memcpy(&next, p + record, 4);
		if (!x->run || x->record != record || record > (size_t)(end - p) || next == cut_word || ev > full)
			break;
		insns += x->insns;
		ev = x->run(ev, p, st->known);
		p += record;
		word = next;
	}
	t->nev = (size_t)(ev - t->ev);
	st->unsent += insns;
	return p;
}

/* One round waits for the one before from a record's length to the next number. */
static const uint8_t *skim_rest(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end)
{
	const uint32_t cut_word = RT_NOTE(RT_N_CUT, 24);
	uint64_t rsp = st->known[KNOWN_RSP], left = t->idle, lost = 0;
	uint32_t word, next;

	memcpy(&word, p, 4);
	while (!(word & 0x80000000u)) {
		const struct glance *g = &t->glance[RT_RECORD_NUMBER(word)];
		const uint32_t record = RT_RECORD_SIZE(word);
		uint64_t base = rsp;

		memcpy(&next, p + record, 4);
		if (!g->insns || g->record != record || record > (size_t)(end - p) || next == cut_word)
			break;
		if (g->insns > left && g->how != PM_DROP_ALWAYS) {
			left = 0;
			break;
		}
		lost += g->insns;
		left -= g->insns < left ? g->insns : left;
		if (g->rsp)
			memcpy(&base, p + g->rsp, 8);
		rsp = base + (uint64_t)(int64_t)g->rsp_add;
		p += record;
		word = next;
	}
	st->known[KNOWN_RSP] = rsp;
	t->idle = left;
	st->unsent += lost;
	t->lost += lost;
	return p;
}

#define LANES_WORTH (64u << 10)		/* bytes of records */
#define SURE 32u			/* records that follow each other where one was guessed to begin */
#define SEARCH 4096u			/* bytes in which one begins */
#define LONGEST (4 + 4 * RT_MANY_WORDS)	/* no record that is skimmed is longer */
#define SOLO 16u			/* times without lanes after they were of little use */

struct skimmed {			/* a lane: records from somewhere on */
	const uint8_t *p;
	uint64_t plain;			/* of plain records: instructions + what they add to the stack pointer << 32 */
	uint64_t lost, rsp, rsp_add;	/* the others, and what plain had when the stack pointer was recorded last: rsp */
	uint32_t word;			/* at p */
	bool based;			/* it was */
};

static void put_plain(struct skimmed *l)
{
	l->lost += (uint32_t)l->plain;
	l->rsp_add += (uint64_t)(int64_t)(int32_t)(l->plain >> 32);
	l->plain = 0;
}

static __attribute__((noinline)) bool
skim_other(struct tracer *t, struct skimmed *l, uint32_t record, uint32_t next, bool wide)
{
	const uint32_t number = RT_RECORD_NUMBER(l->word);
	const struct glance *g = &t->glance[number];

	/* a note may say that the record was cut short */
	if (next & 0x80000000u)
		return false;
	if (!g->record && number && number < t->nskim && !t->compiled[number].part &&
	    t->source[number].record == record && t->source[number].wide == wide)
		compile(t, number);
	if (g->record != record)
		return false;
	put_plain(l);
	l->lost += g->insns;
	if (g->rsp) {
		memcpy(&l->rsp, l->p + g->rsp, 8);
		l->rsp_add = 0;
		l->based = true;
	}
	l->rsp_add += (uint64_t)(int64_t)g->rsp_add;
	l->p += record;
	l->word = next;
	return true;
}

static inline __attribute__((always_inline)) bool
skim_one(struct tracer *t, struct skimmed *l, bool wide)
{
	const struct glance *g = &t->glance[RT_RECORD_NUMBER(l->word)];
	const uint32_t record = RT_RECORD_SIZE(l->word);
	uint64_t both;
	uint32_t next;

	memcpy(&next, l->p + record, 4);
	if (__builtin_expect((g->plain ^ record) | (next & 0x80000000u), 0))
		return skim_other(t, l, record, next, wide);
	memcpy(&both, &g->insns, 8);
	l->plain += both;
	l->p += record;
	l->word = next;
	return true;
}

static struct skimmed lane_at(const uint8_t *p)
{
	struct skimmed l = { .p = p };

	memcpy(&l.word, p, 4);
	return l;
}

/* A place behind @p where a record seems to begin: where one seemed to that did not, those that seem to follow
 * soon are some that do. */
static bool guess_lane(struct tracer *t, struct skimmed *l, const uint8_t *p, bool wide)
{
	for (const uint8_t *from = p; from < p + SEARCH; from += 4) {
		struct skimmed try = lane_at(from);
		uint32_t n = 0;

		while (n < SURE && skim_one(t, &try, wide))
			n++;
		if (n == SURE) {
			*l = lane_at(try.p);
			return true;
		}
	}
	return false;
}

/* The same in four places at once, for a processor can do much while it waits. Where three of them begin is guessed:
 * it was right if the one before comes to just there, else nothing of it counts. */
static const uint8_t *skim_lanes(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end)
{
	const bool wide = st->layout.wide;
	const uint8_t *const from = p;
	const size_t quarter = (size_t)(end - p) / 16 * 4;
	struct skimmed a = lane_at(p), b, c, d;
	struct skimmed all[4];
	const uint8_t *stop[4];
	uint64_t lost = 0, rsp = st->known[KNOWN_RSP];

	if (!guess_lane(t, &b, p + quarter, wide) || !guess_lane(t, &c, p + 2 * quarter, wide) ||
	    !guess_lane(t, &d, p + 3 * quarter, wide))
		return p;
	stop[0] = b.p;
	stop[1] = c.p;
	stop[2] = d.p;
	stop[3] = end - LONGEST;
	for (bool going = true; going; ) {
		const size_t ab = stop[0] - a.p < stop[1] - b.p ? stop[0] - a.p : stop[1] - b.p;
		const size_t cd = stop[2] - c.p < stop[3] - d.p ? stop[2] - c.p : stop[3] - d.p;
		size_t rounds = (ab < cd ? ab : cd) / LONGEST;

		for (going = rounds; rounds; rounds--)
			if (!skim_one(t, &a, wide) || !skim_one(t, &b, wide) || !skim_one(t, &c, wide) ||
			    !skim_one(t, &d, wide)) {
				going = false;
				break;
			}
	}
	all[0] = a;
	all[1] = b;
	all[2] = c;
	all[3] = d;
	for (unsigned i = 0; i < 4; i++) {
		struct skimmed *l = &all[i];

		while (l->p < stop[i] && skim_one(t, l, wide))
			;
		put_plain(l);
		lost += l->lost;
		rsp = (l->based ? l->rsp : rsp) + l->rsp_add;
		p = l->p;
		if (p != stop[i])
			break;
	}
	if (lost > t->idle)			/* too far, perhaps: one by one */
		return from;
	st->known[KNOWN_RSP] = rsp;
	t->idle -= lost;
	st->unsent += lost;
	t->lost += lost;
	return p;
}

/* HOT for programs of which little is wanted: records that the pipeline would drop. tracer.idle is not 0 if it would
 * drop the next one as well, were it known and whole. */
static const uint8_t *skim(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end, uint32_t nsource)
{
	const uint8_t *from = p;

	t->lost = 0;
	t->nskim = nsource;
	if (t->idle && (size_t)(end - p) >= LANES_WORTH && (!t->solo || !--t->solo)) {
		const size_t n = (size_t)(end - p);

		p = skim_lanes(t, st, p, end);
		if ((size_t)(p - from) < n / 2)
			t->solo = SOLO;
	}
	p = skim_rest(t, st, p, end);
	if (t->lost)
		t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = t->lost };
	return p;
}

/* A record that is not expanded (or packed) like that, or of which a note says that it was cut short. Returns
 * how long it was, with such a note; 0: the trace has failed. */
static size_t slowly(struct tracer *t, struct stream *st, uint32_t number, const uint8_t *p, size_t left)
{
	struct compiled *c = &t->compiled[number];
	const uint8_t *from[2] = { p, (const uint8_t *)st->known };
	const struct expander_part *last;
	uint64_t cut[3];
	uint32_t next, n;

	if (t->source[number].wide != st->layout.wide || (!c->part && !compile(t, number))) {
		fail(t, "a block that cannot be read");
		return 0;
	}
	if (c->record > left) {
		fail(t, "a block that is cut off");
		return 0;
	}
	if (t->expander && !t->packs && !c->expands && !t->idle && !(t->glance && t->glance[number].how == PM_DROP_ALWAYS)) {
		t->expansion[number].run = expander_compile(t->expander, EXPAND_EVENTS, c->part, c->npart, c->plan_rsp,
							    c->rsp_add, st->layout.wide);
		c->expands = true;
	}
	last = &c->part[c->npart - 1];
	for (const struct expander_part *b = c->part; b < last; b++)
		block(t, st, b, p, b->n, NULL);
	memcpy(&next, p + c->record, 4);
	if (next != RT_NOTE(RT_N_CUT, 24) || left < c->record + 28u) {
		block(t, st, last, p, last->n, NULL);
		st->known[KNOWN_RSP] = at_place(from, c->rsp) + (uint64_t)c->rsp_add;
		return c->record;
	}
	memcpy(cut, p + c->record + 4, sizeof cut);
	n = (uint32_t)cut[0] < last->n ? (uint32_t)cut[0] : last->n;
	/* of the first instruction nothing has happened unless it can go part of its way */
	if (n || (last->nref && !last->ref->insn && x86_ref_goes_on(last->ref)))
		block(t, st, last, p, n, cut);
	return c->record + 28;
}

/* @open: what was executed ends at the first word that is zero, in @end at the latest. Behind a chunk's
 * end there is more memory. */
static void consume(struct tracer *t, struct stream *st, const uint8_t *p, const uint8_t *end, bool open)
{
	const uint32_t nsource = __atomic_load_n(&t->main->nsource, __ATOMIC_ACQUIRE);
	bool news = t->nev;		/* that the pipeline has to see before it can say what it will drop */

	if (t->main->too_many)
		fail(t, "more blocks than there are numbers");
	while (p < end && !t->failed) {
		const uint8_t *from;
		uint32_t word, number, size;
		size_t n;

		if (t->glance) {
			if (news && t->idle)
				flush(t, st);
			news = false;
			from = p;
			p = skim(t, st, p, end, nsource);
			if (!t->idle && p < end)
				p = expand(t, st, p, end);
			if (p != from && t->nev <= BATCH && !t->failed)
				continue;
		} else {
			p = t->packs ? consume_packed(t, st, p, end, nsource) : expand(t, st, p, end);
		}
		if (p >= end || t->failed)
			return;
		if (t->nev > BATCH) {
			flush(t, st);
			continue;
		}
		news = true;
		memcpy(&word, p, 4);
		if (word & 0x80000000u) {
			size = RT_NOTE_SIZE(word);
			if (size > (size_t)(end - p) - 4 || size & 3) {
				fail(t, "a note that is too long");
				return;
			}
			note(t, st, RT_NOTE_TYPE(word), p + 4, size);
			p += 4 + size;
			continue;
		}
		if (!word && open)
			return;
		number = RT_RECORD_NUMBER(word);
		if (number >= nsource || !number) {
			fail(t, "a block that does not exist");
			return;
		}
		n = slowly(t, st, number, p, (size_t)(end - p));
		if (!n)
			return;
		p += n;
	}
}

static uint8_t *chunk_of(struct session *s, uint32_t i, uint32_t chunk)
{
	const struct layout *l = &s->tracer->stream[i].layout;

	return (uint8_t *)session_block(s, i) + l->trace + chunk * l->stride;
}

/* Is nobody else there whose instructions come between those of thread block @i? */
static bool is_alone(const struct tracer *t, uint32_t i)
{
	const uint32_t high = __atomic_load_n(&t->s->block_high, __ATOMIC_ACQUIRE);

	for (uint32_t k = 1; k < high; k++)
		if (k != i && __atomic_load_n(&t->stream[k].busy, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* What thread block @i has for us: all, if it is over, else no more than one chunk - it may fill them for ever as fast as
 * they are read, while others wait, perhaps whom it waits for. */
static bool consume_stream(struct tracer *t, uint32_t i)
{
	struct stream *st = &t->stream[i];
	struct rt_block *b = session_block(t->s, i);
	bool over = __atomic_load_n(&st->over, __ATOMIC_ACQUIRE), any = false;
	uint32_t full;

	stop_early(t);
	while ((over || !any) && (full = __atomic_load_n(&b->full[st->next], __ATOMIC_ACQUIRE))) {
		uint8_t *p = chunk_of(t->s, i, st->next);
		uint32_t n = full - 1;

		any = true;
		if (n > st->layout.stride - 65536u / 4) {
			fail(t, "a buffer longer than it is");
			n = (uint32_t)st->layout.chunk;
		}
		name_stream(st, b);
		consume(t, st, p, p + n, false);
		t->nbytes += n;
		tell_time(t, b->stamp[st->next]);
		flush(t, st);
		memset(p, 0, n > st->layout.chunk ? n : st->layout.chunk);	/* so that its end can be seen, see below */
		b->grant = t->s->spaces.counts && st->layout.wide && is_alone(t, i) ? budget_of(t->idle) : 0;
		__atomic_store_n(&b->full[st->next], 0, __ATOMIC_RELEASE);
		syscall(SYS_futex, &b->full[st->next], FUTEX_WAKE, 1);
		st->next = (st->next + 1) % RT_CHUNKS;
	}
	if (over) {
		uint8_t *p = chunk_of(t->s, i, st->next);
		uint64_t off = cursor_of(t->s, i) - st->layout.trace - st->next * st->layout.stride;
		uint64_t ex[2] = { st->status, st->flags };

		if (!off && !st->begun) {		/* a fork that failed */
			__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
			return any;
		}
		name_stream(st, b);
		/* the cursor is in memory only while the runtime runs: a thread that was killed has gone on,
		 * up to where no record's number has been written */
		if (off <= st->layout.stride - 32768) {
			consume(t, st, p, p + off, false);
			t->nbytes += off;
			consume(t, st, p + off, p + st->layout.stride - 32768, true);
		} else {
			fail(t, "the cursor is elsewhere");
		}
		tell_time(t, st->ended);
		note(t, st, RT_N_EXIT, (const uint8_t *)ex, sizeof ex);
		flush(t, st);
		__atomic_store_n(&st->busy, 0, __ATOMIC_RELEASE);
		any = true;
	}
	return any;
}

static void tick(struct tracer *t)
{
	const uint64_t now = ns_of(CLOCK_MONOTONIC);

	if (t->failed || now - t->ticked < PM_TICK_MS * 1000000ull)
		return;
	t->ticked = now;
	if (pm_pipeline_tick(t->s->opts->pipeline, &t->result.err) != PM_OK) {
		t->failed = true;
		t->result.st = PM_ERR;
	}
}

static void *consumer(void *arg)
{
	struct tracer *t = arg;
	struct rt_session *h = t->s->head;

	for (;;) {
		uint32_t seen = __atomic_load_n(&h->bell, __ATOMIC_SEQ_CST);
		bool stop = __atomic_load_n(&t->main->stop, __ATOMIC_ACQUIRE), any = false;
		uint32_t high = __atomic_load_n(&t->s->block_high, __ATOMIC_ACQUIRE);
		struct timespec wait = { 0, 100000000 };

		for (uint32_t i = 1; i < high; i++)
			if (__atomic_load_n(&t->stream[i].busy, __ATOMIC_ACQUIRE) &&
			    t->stream[i].s->index % t->main->nworker == t->number)
				any |= consume_stream(t, i);
		if (t->main->nworker == 1)
			tick(t);
		if (any)
			continue;
		if (stop)
			return NULL;
		__atomic_fetch_add(&h->bell_asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&h->bell, __ATOMIC_SEQ_CST) == seen)
			syscall(SYS_futex, &h->bell, FUTEX_WAIT, seen, &wait);
		__atomic_fetch_sub(&h->bell_asleep, 1, __ATOMIC_SEQ_CST);
	}
}

/* ---- both ------------------------------------------------------------------------------------------------ */
static enum pm_status consumer_open(struct tracer *t, struct pm_err *err)
{
	const char *no_counting = getenv("PUGMARK_NO_COUNTING");
	struct session *s = t->s;

	t->compiled = reserve(MAX_BLOCKS * sizeof *t->compiled);
	t->expansion = reserve(MAX_BLOCKS * sizeof *t->expansion);
	t->insn = reserve(MAX_INSNS * sizeof *t->insn);
	t->block = reserve(MAX_BLOCKS * sizeof *t->block);
	if (!t->compiled || !t->expansion || !t->insn || !t->block)
		return pm_fail_errno(err, "no address space for the trace's tables");
	t->code = (struct pm_code){ t->insn, t->block, t->object, 0, 0, 0 };
	t->ev = pm_alloc(BATCH_ROOM * sizeof *t->ev);
	t->dec[0] = x86_decoder_new(X86_MODE_32);
	t->dec[1] = x86_decoder_new(X86_MODE_64);
	if (!s->opts->pipeline)
		return PM_OK;
	t->packs = pm_pipeline_packed(s->opts->pipeline);
	t->expander = expander_new();
	if (pm_pipeline_drops(s->opts->pipeline)) {
		t->glance = reserve(MAX_BLOCKS * sizeof *t->glance);
		if (!t->glance)
			return pm_fail_errno(err, "no address space for the trace's tables");
		t->idle = pm_pipeline_idle(s->opts->pipeline);
		s->spaces.counts = s->opts->aslr || (no_counting && *no_counting == '1') ? 0 : pm_pipeline_rests(s->opts->pipeline);
	}
	if (t->packs) {
		t->chain = reserve(MAX_BLOCKS * sizeof *t->chain);
		t->chain_part = reserve(MAX_PARTS * sizeof *t->chain_part);
		t->chain_ref = reserve(MAX_REFS * sizeof *t->chain_ref);
		if (!t->chain || !t->chain_part || !t->chain_ref)
			return pm_fail_errno(err, "no address space for the trace's tables");
		t->id = pm_alloc(BATCH * sizeof *t->id);
		t->leaves_out = pm_pipeline_recent(s->opts->pipeline, &t->recent);
		if (t->leaves_out) {
			t->ref = pm_alloc((PACK_REFS + BATCH + 1) * sizeof *t->ref);
			t->newest = pm_alloc((t->recent.mask + 1) * sizeof *t->newest);
			memset(t->newest, 0xff, (t->recent.mask + 1) * sizeof *t->newest);
		} else {
			t->addr = pm_alloc((PACK_REFS + BATCH + 1) * sizeof *t->addr);
		}
	}
	return PM_OK;
}

static bool consumer_start(struct tracer *t)
{
	t->running = pm_thread_start(&t->consumer, consumer, t);
	return t->running;
}

enum pm_status trace_open(struct session *s, struct pm_err *err)
{
	struct pm_err none = { 0 };
	struct tracer *t;

	if (s->opts->kind == XL_PROFILE)
		return PM_OK;
	t = s->tracer = pm_alloc(sizeof *t);
	pm_keep(t);				/* sinks look at its tables */
	t->s = s;
	t->main = t;
	t->nsource = 1;
	t->clock = (struct clock){ __builtin_ia32_rdtsc(), ns_of(CLOCK_MONOTONIC), ns_of(CLOCK_REALTIME), 0 };
	t->source = reserve(MAX_BLOCKS * sizeof *t->source);
	t->stream = reserve(RT_BLOCKS * sizeof *t->stream);
	t->object = reserve(MAX_OBJECTS * sizeof *t->object);
	if (!t->source || !t->stream || !t->object)
		return pm_fail_errno(err, "no address space for the trace's tables");
	t->nworker = s->opts->pipeline ? pm_pipeline_split(s->opts->pipeline) : 1;
	if (t->nworker > MAX_WORKERS)
		t->nworker = MAX_WORKERS;
	t->worker = pm_alloc(t->nworker * sizeof *t->worker);
	for (unsigned k = 0; k < t->nworker; k++) {
		struct tracer *w = t->worker[k] = k ? pm_alloc(sizeof *w) : t;

		if (k)
			*w = (struct tracer){ .s = s, .source = t->source, .stream = t->stream, .object = t->object,
					      .main = t, .number = k, .clock = t->clock };
		if (consumer_open(w, k ? &none : err) == PM_OK)
			continue;
		if (!k)
			return PM_ERR;
		t->nworker = k;
	}
	for (unsigned k = 0; k < t->nworker && s->opts->pipeline; k++)
		if (!consumer_start(t->worker[k]))
			return pm_fail_errno(err, "cannot start a thread");
	return PM_OK;
}

#define PATIENCE 10u			/* tenths of a second: what ended the program may have been sent to us as well */

/* The program is over, but not all of it has been consumed. */
static void join(struct tracer *t, const struct tracer *w)
{
	struct timespec until;
	unsigned asked = 0;

	do {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 100000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (session_interrupted() && ++asked > PATIENCE)
			__atomic_store_n(&t->abandoned, 1, __ATOMIC_RELAXED);
	} while (pthread_timedjoin_np(w->consumer, NULL, &until));
}

enum pm_status trace_close(struct session *s, struct pm_err *err)
{
	struct tracer *t = s->tracer;
	enum pm_status st = PM_OK;

	if (!t)
		return PM_OK;
	__atomic_store_n(&t->stop, 1, __ATOMIC_RELEASE);
	ring(s);
	for (unsigned k = 0; k < t->nworker; k++) {
		const struct tracer *w = t->worker[k];

		if (w && w->running)
			join(t, w);
		s->out->trace_bytes += w ? w->nbytes : 0;
		s->out->trace_insns += w ? w->ninsns : 0;
		if (w && st == PM_OK && w->result.st != PM_OK) {
			st = w->result.st;
			*err = w->result.err;
		}
	}
	return st;
}
