/* SPDX-License-Identifier: MIT */
/* spots.c - where a recorded program calls a function, or loads from or stores to some addresses
 *
 * The trace of a replay has each instruction and where it stores. Where only calls are wanted it is
 * read by blocks, which are fewer. What system calls have written is in the log; which of the
 * trace's calls that is follows from its position: between two safepoints no instruction of a
 * thread executes twice. */
#include <stdlib.h>
#include <string.h>

#include "collect/query/query_work.h"
#include "collect/record/recording.h"
#include "elf/find.h"
#include "trace/expand.h"
#include "trace/pipeline.h"

struct kernel_store {			/* of a system call that has written there */
	uint64_t pc, clock;		/* behind it; since the thread began */
	uint32_t nr;
};

struct spot_block {			/* of a block: its end, as trace/expand.c has it */
	enum { END_UNKNOWN, END_NONE, END_DIRECT, END_INDIRECT } kind;
	struct pm_event branch;		/* but for its outcome: .value is the static target */
	uint64_t fall;			/* where control goes if it is not taken */
	size_t nentry;			/* when .entries was found there were so many */
	bool entries;			/* some of its instructions are wanted */
};

struct blocks_of {			/* of a code table */
	const struct pm_code *code;
	struct spot_block *end;
	size_t n;
};

struct open_block {			/* of a stream: its last block ends in a transfer */
	const struct pm_code *code;	/* NULL: it does not */
	uint32_t block, tid;
};

struct spot_finder {
	const char *function;		/* calls of it are wanted; "": of none by name */
	const struct spot_range *range;	/* stores or loads there are */
	size_t nrange;
	struct spots *to;
	struct pm_positions *positions;
	uint64_t *entry;		/* where functions begin that are meant */
	size_t nentry, cap_entry;
	struct kernel_store *store;
	size_t nstore, cap_store;
	struct blocks_of *blocks;
	size_t nblocks, cap_blocks;
	struct open_block *open;	/* by pm_stream.index */
	size_t nopen;
};

/* ---- what the log says ----------------------------------------------------------------------- */
static int by_pc(const void *a, const void *b)
{
	const struct kernel_store *x = a, *y = b;

	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	if (x->clock != y->clock)
		return x->clock < y->clock ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Is [@lo, @hi) in a range to which stores are wanted? */
static bool is_stored(const struct spot_finder *f, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < f->nrange; i++)
		if (f->range[i].access & SPOT_STORES && lo < f->range[i].hi && f->range[i].lo < hi)
			return true;
	return false;
}

static void read_log(struct spot_finder *f, struct rec_reader *r, uint32_t stream, uint8_t *buf)
{
	struct rt_event e;
	bool written = false;
	size_t n;

	while ((n = rec_next(r, stream, buf)))
		for (size_t at = 0; at < n; at += e.size) {
			memcpy(&e, buf + at, sizeof e);
			if (e.type == RT_E_DATA)
				written |= is_stored(f, e.a[0], e.a[0] + e.a[1]);
			if (e.type != RT_E_CALL)
				continue;
			if (written) {
				pm_grow(f->store, f->nstore, f->cap_store);
				f->store[f->nstore++] = (struct kernel_store){ e.a[2], e.a[5],
									       e.nr };
			}
			written = false;
		}
}

static enum pm_status read_logs(struct spot_finder *f, const char *recording, struct pm_err *err)
{
	struct rec_reader *r;
	uint8_t *buf;

	if (rec_open(recording, &r, err) != PM_OK)
		return PM_ERR;
	buf = pm_alloc_unset(RT_LOG_SIZE);
	for (uint32_t i = 0; i < rec_nstream(r); i++)
		read_log(f, r, i, buf);
	free(buf);
	rec_close(r);
	if (f->nstore)
		qsort(f->store, f->nstore, sizeof *f->store, by_pc);
	return PM_OK;
}

static bool kernel_stores(const struct spot_finder *f, const struct pm_position_thread *t,
			  uint64_t nr)
{
	const struct kernel_store key = { t->pc + 2, t->at.clock - t->base, (uint32_t)nr };

	return f->nstore && bsearch(&key, f->store, f->nstore, sizeof key, by_pc);
}

/* ---- objects --------------------------------------------------------------------------------- */
static void find_function(struct spot_finder *f, const struct elf_of *o)
{
	uint64_t *at;
	size_t n;

	if (!o->elf || !*f->function)
		return;
	n = pm_elf_find(o->elf, f->function, &at);
	for (size_t i = 0; i < n; i++) {
		pm_grow(f->entry, f->nentry, f->cap_entry);
		f->entry[f->nentry++] = at[i] + o->base;
	}
	f->to->found |= n;
	free(at);
}

/* What the trace has met since. */
static void new_objects(struct spot_finder *f, const struct pm_code *c)
{
	struct spots *s = f->to;

	while (c && s->nobject < c->nobject) {
		const struct pm_object *from = &c->object[s->nobject];
		struct pm_err err = { 0 };
		struct elf_of o = { .path = pm_strdup(from->path), .base = from->base };

		o.elf = pm_elf_open(o.path, from->build_id, &err);
		pm_grow(s->object, s->nobject, s->cap_object);
		s->object[s->nobject++] = o;
		find_function(f, &o);
	}
}

static uint32_t object_of(const struct pm_batch *b, const struct pm_event *ev)
{
	return b->code && ev->id < b->code->ninsn ? b->code->insn[ev->id].object : PM_NONE;
}

/* ---- the trace ------------------------------------------------------------------------------- */
static struct spot *add(struct spots *s, const struct pm_batch *b, const struct pm_position *at,
			uint64_t pc)
{
	pm_grow(s->v, s->n, s->cap);
	s->v[s->n] = (struct spot){ .at = *at, .pc = pc, .pid = b->stream->pid, .object = PM_NONE };
	return &s->v[s->n++];
}

/* @t has passed the instruction, whose spot this is: the last one, or new. */
static struct spot *spot_of(struct spot_finder *f, const struct pm_batch *b,
			    const struct pm_position_thread *t)
{
	struct pm_position at = t->at;
	struct spots *s = f->to;

	at.insns -= at.insns > 0;
	if (s->n && s->v[s->n - 1].at.tid == at.tid &&
	    !pm_position_compare(&s->v[s->n - 1].at, &at))
		return &s->v[s->n - 1];
	return add(s, b, &at, t->pc);
}

static void access_in(struct spot_finder *f, const struct pm_batch *b,
		      const struct pm_position_thread *t, const struct pm_event *ev,
		      unsigned access, const struct spot_range *r)
{
	const uint64_t lo = ev->addr > r->lo ? ev->addr : r->lo;
	const uint64_t end = ev->addr + ev->size, hi = end < r->hi ? end : r->hi;
	struct spot *s;

	access &= r->access;
	if (lo >= hi || !access)
		return;
	s = spot_of(f, b, t);
	if (!s->hi) {
		s->lo = lo;
		s->hi = hi;
	}
	s->lo = lo < s->lo ? lo : s->lo;
	s->hi = hi > s->hi ? hi : s->hi;
	s->access |= (uint8_t)access;
	s->object = object_of(b, ev);
}

static void pass_access(struct spot_finder *f, const struct pm_batch *b,
			const struct pm_position_thread *t, const struct pm_event *ev,
			unsigned access)
{
	for (size_t i = 0; i < f->nrange; i++)
		access_in(f, b, t, ev, access, &f->range[i]);
}

static void call(struct spot_finder *f, const struct pm_batch *b,
		 const struct pm_position_thread *t, const struct pm_event *ev)
{
	for (size_t i = 0; i < f->nentry; i++)
		if (f->entry[i] == ev->addr) {
			add(f->to, b, &t->at, ev->addr)->object = object_of(b, ev);
			return;
		}
}

static void system_call(struct spot_finder *f, const struct pm_batch *b,
			const struct pm_position_thread *t, const struct pm_event *ev)
{
	const struct spot_range *r = f->range;
	struct spot *s;

	if (!kernel_stores(f, t, ev->value))
		return;
	while (!(r->access & SPOT_STORES))
		r++;
	s = spot_of(f, b, t);
	s->lo = r->lo;
	s->hi = r->hi;
	s->access = SPOT_STORES;
	s->call = 1 + (uint32_t)ev->value;
}

static struct pm_position *last_of(struct spots *s, uint32_t tid)
{
	for (size_t i = 0; i < s->nlast; i++)
		if (s->last[i].tid == tid)
			return &s->last[i];
	pm_grow(s->last, s->nlast, s->cap_last);
	return &s->last[s->nlast++];
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct spot_finder *f = self;
	struct pm_position_thread *t = pm_position_thread(f->positions, b->stream);

	(void)err;
	*pm_map_put(&f->to->pid, b->stream->tid, NULL) = b->stream->pid;
	new_objects(f, b->code);
	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++) {
		switch (ev->kind) {
		case PM_EV_INSN:
			call(f, b, t, ev);
			break;
		case PM_EV_READ:
			pass_access(f, b, t, ev, SPOT_LOADS);
			break;
		case PM_EV_WRITE:
			pass_access(f, b, t, ev, SPOT_STORES);
			break;
		case PM_EV_MODIFY:
			pass_access(f, b, t, ev, SPOT_LOADS | SPOT_STORES);
			break;
		case PM_EV_SYSCALL:
			system_call(f, b, t, ev);
			break;
		default:
			break;
		}
		exec_spots_pass(&f->to->execs, b, t, ev);
		pm_position_pass(f->positions, t, b, ev);
	}
	*last_of(f->to, t->at.tid) = t->at;
	return PM_OK;
}

/* ---- blocks, where only executions of instructions are wanted -------------------------------- */
static void find_end(const struct pm_code *code, const struct pm_block *blk, struct spot_block *e)
{
	const struct pm_insn *last = code->insn + blk->insn + blk->n - 1;

	e->kind = END_NONE;
	if (last->flow == PM_CLASS_NONE || last->flow == PM_CLASS_SYSCALL)
		return;
	e->branch = (struct pm_event){ .kind = PM_EV_BRANCH, .size = last->len,
				       .flags = pm_insn_branch_flags(last),
				       .id = blk->insn + blk->n - 1, .addr = last->pc };
	e->fall = pm_insn_next(last);
	e->kind = pm_insn_target(last, &e->branch.value) ? END_DIRECT : END_INDIRECT;
}

static struct spot_block *end_of(struct spot_finder *f, const struct pm_code *code, uint32_t block)
{
	struct blocks_of *t = f->blocks;

	while (t < f->blocks + f->nblocks && t->code != code)
		t++;
	if (t == f->blocks + f->nblocks) {
		pm_grow(f->blocks, f->nblocks, f->cap_blocks);
		t = &f->blocks[f->nblocks++];
		*t = (struct blocks_of){ .code = code };
	}
	if (block >= t->n) {
		t->end = pm_realloc(t->end, 2 * code->nblock * sizeof *t->end);
		memset(t->end + t->n, 0, (2 * code->nblock - t->n) * sizeof *t->end);
		t->n = 2 * code->nblock;
	}
	if (t->end[block].kind == END_UNKNOWN)
		find_end(code, &code->block[block], &t->end[block]);
	return &t->end[block];
}

static struct open_block *open_of(struct spot_finder *f, const struct pm_stream *s)
{
	if (s->index >= f->nopen) {
		const size_t n = 2 * ((size_t)s->index + 8);

		f->open = pm_realloc(f->open, n * sizeof *f->open);
		memset(f->open + f->nopen, 0, (n - f->nopen) * sizeof *f->open);
		f->nopen = n;
	}
	return &f->open[s->index];
}

/* Control has gone from the last block to @next (@told), or nobody says where. */
static void pass_branch(struct spot_finder *f, const struct pm_batch *b, struct open_block *o,
			struct pm_position_thread *t, bool told, uint64_t next)
{
	const struct spot_block *e = end_of(f, o->code, o->block);
	struct pm_batch of = *b;
	struct pm_event ev = e->branch;

	of.code = o->code;
	o->code = NULL;
	if (!told && (e->kind != END_DIRECT || ev.flags & PM_BR_COND))
		return;
	if (told && !(ev.flags & PM_BR_COND && next == e->fall))
		ev.value = next;
	if (!(ev.flags & PM_BR_COND && told && next == e->fall))
		ev.flags |= PM_BR_TAKEN;
	pm_position_pass(f->positions, t, &of, &ev);
}

/* Those of the first @n instructions of @blk that are wanted. */
static void pass_entries(struct spot_finder *f, const struct pm_batch *b,
			 const struct pm_block *blk, size_t n, struct spot_block *e,
			 const struct pm_position_thread *t)
{
	struct pm_position_thread at = *t;

	e->entries = false;
	e->nentry = f->nentry;
	for (size_t i = 0; i < blk->n; i++) {
		const struct pm_insn *in = &b->code->insn[blk->insn + i];
		const size_t had = f->to->n;

		call(f, b, &at, &(struct pm_event){ .addr = in->pc,
						    .id = (uint32_t)(blk->insn + i) });
		at.at.insns++;
		e->entries |= f->to->n > had;
		if (i >= n)
			f->to->n = had;
	}
}

static enum pm_status pass_block(struct spot_finder *f, const struct pm_batch *b,
				 struct open_block *o, struct pm_position_thread *t,
				 const struct pm_event *ev, struct pm_err *err)
{
	const struct pm_block *blk;
	struct spot_block *e;

	if (!b->code || ev->id >= b->code->nblock || ev->value > b->code->block[ev->id].n)
		return pm_fail(err, 0, "block number %u is not in the code table", ev->id);
	if (o->code)
		pass_branch(f, b, o, t, true, ev->addr);
	blk = &b->code->block[ev->id];
	e = end_of(f, b->code, ev->id);
	if (e->entries || e->nentry != f->nentry)
		pass_entries(f, b, blk, (size_t)ev->value, e, t);
	if (!ev->value)
		return PM_OK;
	t->at.insns += ev->value;
	t->pc = b->code->insn[blk->insn + ev->value - 1].pc;
	if (ev->value == blk->n && e->kind != END_NONE)
		*o = (struct open_block){ b->code, ev->id, b->stream->tid };
	return PM_OK;
}

/* An event that is none of a block. */
static void pass_other(struct spot_finder *f, const struct pm_batch *b, struct open_block *o,
		       struct pm_position_thread *t, const struct pm_event *ev)
{
	const bool told = ev->kind == PM_EV_SIGNAL || ev->kind == PM_EV_INTERRUPT ||
			  ev->kind == PM_EV_INSN;

	if (o->code && (told || ev->kind == PM_EV_EXIT))
		pass_branch(f, b, o, t, told, ev->addr);
	if (ev->kind == PM_EV_INSN || ev->kind == PM_EV_EXEC || ev->kind == PM_EV_EXIT ||
	    ev->kind == PM_EV_SIGRETURN || ev->kind == PM_EV_LOST)
		o->code = NULL;
	if (ev->kind == PM_EV_INSN)
		call(f, b, t, ev);
	exec_spots_pass(&f->to->execs, b, t, ev);
	pm_position_pass(f->positions, t, b, ev);
}

static enum pm_status consume_blocks(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct spot_finder *f = self;
	struct pm_position_thread *t = pm_position_thread(f->positions, b->stream);
	struct open_block *o = open_of(f, b->stream);

	*pm_map_put(&f->to->pid, b->stream->tid, NULL) = b->stream->pid;
	new_objects(f, b->code);
	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++)
		if (ev->kind != PM_EV_BLOCK)
			pass_other(f, b, o, t, ev);
		else if (pass_block(f, b, o, t, ev, err) != PM_OK)
			return PM_ERR;
	*last_of(f->to, t->at.tid) = t->at;
	return PM_OK;
}

/* The trace is over: a direct jump goes where it goes, though nobody has told. */
static void pass_rest(struct spot_finder *f)
{
	for (size_t i = 0; i < f->nopen; i++) {
		const struct open_block *o = &f->open[i];
		const struct spot_block *e = o->code ? end_of(f, o->code, o->block) : NULL;
		struct pm_position *last;

		if (!e || e->kind != END_DIRECT || e->branch.value > e->branch.addr ||
		    e->branch.flags & (PM_BR_COND | PM_BR_CALL))
			continue;
		last = last_of(f->to, o->tid);
		last->clock++;
		last->insns = 0;
	}
}

static const struct pm_sink_ops calls_ops = {
	.abi = PM_ABI,
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_THREADS,
	.name = "calls",
	.about = "calls of a function",
	.flags = PM_SINK_BLOCKS,
	.consume = consume_blocks,
};
static const struct pm_sink_ops stores_ops = {
	.abi = PM_ABI,
	.needs = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_THREADS | PM_HAS_REFS |
		 PM_HAS_SIZES,
	.name = "stores",
	.about = "stores to some addresses",
	.consume = consume,
};

static enum pm_status replay(struct spot_finder *f, const char *recording,
			     const struct pm_run_opts *o, struct pm_err *err)
{
	const bool calls = !f->nrange;
	struct pm_run_opts run = *o;
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err late = { 0 };
	enum pm_status st;

	run.kind = calls ? XL_BRANCH : XL_EXEC;
	run.pipeline = p;
	pm_pipeline_sink(p, calls ? &calls_ops : &stores_ops, f);
	st = pm_pipeline_start(p, pm_run_facts(run.kind), "replays", err);
	if (st == PM_OK) {
		st = query_replay(recording, &run, err);
		if (pm_pipeline_finish(p, NULL, &late) != PM_OK && st == PM_OK) {
			*err = late;
			st = PM_ERR;
		}
	}
	pm_pipeline_free(p);
	return st;
}

enum pm_status spots_find(const char *recording, const struct spots_wanted *w,
			  const struct pm_run_opts *o, struct spots *to, struct pm_err *err)
{
	struct spot_finder f = { .function = w->function, .range = w->range,
				 .nrange = w->nrange, .to = to,
				 .positions = pm_positions_new() };
	enum pm_status st = PM_OK;

	*to = (struct spots){ .found = w->npc };
	for (size_t i = 0; i < w->npc; i++) {
		pm_grow(f.entry, f.nentry, f.cap_entry);
		f.entry[f.nentry++] = w->pc[i];
	}
	if (w->nrange)
		st = read_logs(&f, recording, err);
	if (st == PM_OK)
		st = replay(&f, recording, o, err);
	pass_rest(&f);
	pm_positions_free(f.positions);
	for (size_t i = 0; i < f.nblocks; i++)
		free(f.blocks[i].end);
	free(f.blocks);
	free(f.open);
	free(f.entry);
	free(f.store);
	return st;
}

void spots_name(struct spots *s, const struct spot *at, struct query_answer *a)
{
	struct elf_of *o = at->object < s->nobject ? &s->object[at->object] : NULL;
	struct pm_elf_function f;

	if (!o || !o->elf)
		return;
	if (pm_elf_function_at(o->elf, at->pc - o->base, &f)) {
		a->function = f.name;
		a->offset = at->pc - o->base - f.lo;
	}
	if (!pm_elf_line_at(o->elf, at->pc - o->base, &a->file, &a->line))
		a->file = NULL;
}

void spots_release(struct spots *s)
{
	for (size_t i = 0; i < s->nobject; i++) {
		pm_elf_close(s->object[i].elf);
		free(s->object[i].path);
	}
	free(s->object);
	free(s->v);
	free(s->last);
	pm_map_release(&s->pid);
	exec_spots_release(&s->execs);
}
