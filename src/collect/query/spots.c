/* SPDX-License-Identifier: MIT */
/* spots.c - where a recorded program calls a function, or loads from or stores to some addresses
 *
 * The trace of a replay has chains of blocks (trace/chain.h), and where its instructions load and
 * store. What a chain does to a thread's position is worked out once: one in which nothing is
 * wanted costs an addition. Of the others the blocks and references are looked at. What system
 * calls have written is in the log; which of the trace's calls that is follows from its position:
 * between two safepoints no instruction of a thread executes twice. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "collect/query/query_work.h"
#include "collect/query/trace_parts.h"
#include "collect/record/nr_i386.h"
#include "collect/record/recording.h"
#include "elf/find.h"
#include "trace/chain.h"
#include "trace/expand.h"
#include "trace/pipeline.h"

struct kernel_store {			/* of a system call that has written there */
	uint64_t pc, clock;		/* behind it; since the thread began */
	uint32_t nr;
};

struct spot_block {			/* of a block: its end, as trace/expand.c has it */
	enum { END_UNKNOWN, END_NONE, END_DIRECT, END_INDIRECT } kind;
	bool cond;
	bool entries;			/* some of its instructions are wanted */
	size_t nentry;			/* when .entries was found there were so many */
	uint64_t target;		/* of END_DIRECT */
	uint64_t below;			/* pm_position_below() */
};

struct blocks_of {			/* of a code table */
	const struct pm_code *code;
	struct spot_block *end;
	size_t n;
};

struct open_block {			/* of a stream: its last block */
	const struct pm_code *code;	/* NULL: it does not end in a transfer */
	uint32_t block, tid;
	uint32_t insn;			/* index into pm_code.insn of its first instruction, */
	uint32_t n, all;		/* ... n were executed, of all; all is 0: there is none */
	uint32_t entry;			/* ... of which those up to here have been looked for */
};

struct chain_effect {			/* what a chain does to its thread's position */
	uint64_t pc;
	uint64_t below;			/* pm_position_below() of its end; 0: it is no transfer */
	uint32_t clocks;		/* safepoints in it */
	uint32_t insns;			/* behind the last of them */
	uint32_t nref;
	uint32_t block;			/* its last one */
	enum { CHAIN_UNKNOWN, CHAIN_PASSED, CHAIN_WANTED } state;	/* wanted: some of its
					 * instructions are */
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
	struct chain_effect *chain;	/* by number; a replay has one table of them */
	size_t nchain, chain_nentry;	/* ... that was made when there were so many entries */
	unsigned widest;		/* reference in it */
	uint64_t most;			/* of spots_wanted */
	struct spots_parts *parts;	/* likewise; */
	uint32_t part;			/* ... where it is, */
	bool taken;			/* ... and whether that is looked at */
	uint32_t tid;			/* of the thread that the recording begins with */
	bool several;			/* there may be another one by now */
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

struct elf_of *spots_object(struct spots *s, const char *path, const char *build_id, uint64_t base)
{
	struct pm_err err = { 0 };
	struct elf_of *o;

	pm_grow(s->object, s->nobject, s->cap_object);
	o = &s->object[s->nobject++];
	*o = (struct elf_of){ .path = pm_strdup(path), .base = base };
	o->build_id = build_id ? pm_strdup(build_id) : NULL;
	o->elf = pm_elf_open(o->path, o->build_id, &err);
	return o;
}

/* What the trace has met since. */
static void new_objects(struct spot_finder *f, const struct pm_code *c)
{
	struct spots *s = f->to;

	while (c && s->nobject < c->nobject) {
		const struct pm_object *from = &c->object[s->nobject];

		find_function(f, spots_object(s, from->path, from->build_id, from->base));
	}
}

static uint32_t object_of(const struct pm_batch *b, uint32_t insn)
{
	return b->code && insn < b->code->ninsn ? b->code->insn[insn].object : PM_NONE;
}

/* ---- spots ----------------------------------------------------------------------------------- */
static struct spot *add(struct spots *s, const struct pm_batch *b, const struct pm_position *at,
			uint64_t pc)
{
	pm_grow(s->v, s->n, s->cap);
	s->v[s->n] = (struct spot){ .at = *at, .pc = pc, .pid = b->stream->pid, .object = PM_NONE };
	return &s->v[s->n++];
}

/* That of the instruction at @pc, which is executed at @at: the last one, or new. */
static struct spot *spot_of(struct spot_finder *f, const struct pm_batch *b,
			    const struct pm_position *at, uint64_t pc)
{
	struct spots *s = f->to;

	if (s->n && s->v[s->n - 1].at.tid == at->tid &&
	    !pm_position_compare(&s->v[s->n - 1].at, at))
		return &s->v[s->n - 1];
	return add(s, b, at, pc);
}

static void access_in(struct spot_finder *f, const struct pm_batch *b,
		      const struct pm_position *at, uint64_t pc, uint32_t insn,
		      const struct pm_event *ev, unsigned access, const struct spot_range *r)
{
	const uint64_t lo = ev->addr > r->lo ? ev->addr : r->lo;
	const uint64_t end = ev->addr + ev->size, hi = end < r->hi ? end : r->hi;
	struct spot *s;

	access &= r->access;
	if (lo >= hi || !access)
		return;
	s = spot_of(f, b, at, pc);
	if (!s->hi) {
		s->lo = lo;
		s->hi = hi;
	}
	s->lo = lo < s->lo ? lo : s->lo;
	s->hi = hi > s->hi ? hi : s->hi;
	s->access |= (uint8_t)access;
	s->object = object_of(b, insn);
}

/* What an event or a reference of kind @kind does to memory; 0: none of both. */
static unsigned access_of(unsigned kind)
{
	switch (kind) {
	case PM_EV_READ:
		return SPOT_LOADS;
	case PM_EV_WRITE:
		return SPOT_STORES;
	case PM_EV_MODIFY:
		return SPOT_LOADS | SPOT_STORES;
	default:
		return 0;
	}
}

static bool is_entry(const struct spot_finder *f, uint64_t pc)
{
	for (size_t i = 0; i < f->nentry; i++)
		if (f->entry[i] == pc)
			return true;
	return false;
}

static void call(struct spot_finder *f, const struct pm_batch *b, const struct pm_position *at,
		 uint64_t pc, uint32_t insn)
{
	if (is_entry(f, pc))
		add(f->to, b, at, pc)->object = object_of(b, insn);
}

/* In front of the last instruction of @t. */
static struct pm_position last_insn(const struct pm_position_thread *t)
{
	struct pm_position at = t->at;

	at.insns -= at.insns > 0;
	return at;
}

static void system_call(struct spot_finder *f, const struct pm_batch *b,
			const struct pm_position_thread *t, const struct pm_event *ev)
{
	const struct pm_position at = last_insn(t);
	const struct spot_range *r = f->range;
	struct spot *s;

	if (!kernel_stores(f, t, ev->value))
		return;
	while (!(r->access & SPOT_STORES))
		r++;
	s = spot_of(f, b, &at, t->pc);
	s->lo = r->lo;
	s->hi = r->hi;
	s->access = SPOT_STORES;
	s->call = 1 + (uint32_t)ev->value;
}

/* Is the last block of @b's stream, @o, 32-bit code? */
static bool is_i386(const struct pm_batch *b, const struct open_block *o)
{
	const struct pm_code *c = b->code;

	return o->block < c->nblock && c->insn[c->block[o->block].insn].isa == PM_ISA_X86_32;
}

static bool makes_thread(bool i386, uint64_t call)
{
	if (i386)
		return call == NR32_clone || call == NR32_clone3 || call == NR32_fork ||
		       call == NR32_vfork;
	return call == SYS_clone || call == SYS_clone3 || call == SYS_fork || call == SYS_vfork;
}

static struct pm_position *last_of(struct spots *s, uint32_t tid)
{
	for (size_t i = 0; i < s->nlast; i++)
		if (s->last[i].tid == tid)
			return &s->last[i];
	pm_grow(s->last, s->nlast, s->cap_last);
	return &s->last[s->nlast++];
}

/* ---- blocks ---------------------------------------------------------------------------------- */
static void find_end(struct spot_finder *f, const struct pm_code *code, const struct pm_block *blk,
		     struct spot_block *e)
{
	const struct pm_insn *last = code->insn + blk->insn + blk->n - 1;

	e->kind = END_NONE;
	if (last->flow == PM_CLASS_NONE || last->flow == PM_CLASS_SYSCALL)
		return;
	e->cond = pm_insn_branch_flags(last) & PM_BR_COND;
	e->below = pm_position_below(f->positions, code, blk->insn + blk->n - 1);
	e->kind = pm_insn_target(last, &e->target) ? END_DIRECT : END_INDIRECT;
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
		find_end(f, code, &code->block[block], &t->end[block]);
	return &t->end[block];
}

static bool has_entries(const struct spot_finder *f, const struct pm_code *code,
			const struct pm_block *blk, struct spot_block *e)
{
	if (e->nentry == f->nentry)
		return e->entries;
	e->nentry = f->nentry;
	e->entries = false;
	for (uint32_t i = 0; i < blk->n && !e->entries; i++)
		e->entries = is_entry(f, code->insn[blk->insn + i].pc);
	return e->entries;
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
static void pass_branch(struct spot_finder *f, struct open_block *o, struct pm_position_thread *t,
			bool told, uint64_t next)
{
	const struct spot_block *e = end_of(f, o->code, o->block);

	o->code = NULL;
	if (!told && (e->kind != END_DIRECT || e->cond))
		return;
	if ((told ? next : e->target) < e->below) {
		t->at.clock++;
		t->at.insns = 0;
	}
}

/* Those of the first @upto instructions of the last block that are wanted. */
static void pass_entries(struct spot_finder *f, const struct pm_batch *b, struct open_block *o,
			 const struct pm_position_thread *t, uint32_t upto)
{
	for (; o->entry < upto; o->entry++) {
		struct pm_position at = t->at;

		at.insns -= o->n - o->entry;
		call(f, b, &at, b->code->insn[o->insn + o->entry].pc, o->insn + o->entry);
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
		pass_branch(f, o, t, true, ev->addr);
	blk = &b->code->block[ev->id];
	e = end_of(f, b->code, ev->id);
	o->tid = b->stream->tid;
	o->insn = blk->insn;
	o->n = (uint32_t)ev->value;
	o->all = blk->n;
	o->entry = has_entries(f, b->code, blk, e) ? 0 : o->n;
	if (!ev->value)
		return PM_OK;
	t->at.insns += ev->value;
	t->pc = b->code->insn[blk->insn + ev->value - 1].pc;
	if (ev->value == blk->n && e->kind != END_NONE) {
		o->code = b->code;
		o->block = ev->id;
	}
	return PM_OK;
}

static enum pm_status pass_access(struct spot_finder *f, const struct pm_batch *b,
				  struct open_block *o, const struct pm_position_thread *t,
				  const struct pm_event *ev, struct pm_err *err)
{
	const uint32_t slot = PM_SLOT_OF(ev);
	struct pm_position at = last_insn(t);
	uint64_t pc = t->pc;
	uint32_t insn = slot;

	if (o->all) {
		/* one that faulted may have made references, but was not executed */
		if (slot > o->n || slot >= o->all)
			return pm_fail(err, 0, "a reference of instruction %u of %u", slot, o->all);
		pass_entries(f, b, o, t, slot < o->n ? slot + 1 : o->n);
		insn = o->insn + slot;
		at.insns = t->at.insns - (o->n - slot);
		pc = b->code->insn[insn].pc;
	}
	for (size_t i = 0; i < f->nrange; i++)
		access_in(f, b, &at, pc, insn, ev, access_of(ev->kind), &f->range[i]);
	return PM_OK;
}

/* An event that is neither a block nor a reference. */
static void pass_other(struct spot_finder *f, const struct pm_batch *b, struct open_block *o,
		       struct pm_position_thread *t, const struct pm_event *ev)
{
	const bool told = pm_says_next(ev->kind);

	if (o->code && (told || ev->kind == PM_EV_EXIT))
		pass_branch(f, o, t, told, ev->addr);
	if (pm_ends_path(ev->kind)) {
		o->code = NULL;
		o->n = o->all = o->entry = 0;
	}
	if (ev->kind == PM_EV_INSN)
		call(f, b, &t->at, ev->addr, ev->id);
	if (ev->kind == PM_EV_SYSCALL)
		system_call(f, b, t, ev);
	f->several |= ev->kind == PM_EV_SYSCALL && makes_thread(is_i386(b, o), ev->value);
	exec_spots_pass(&f->to->execs, b, t, is_i386(b, o), ev);
	pm_position_pass(f->positions, t, b, ev);
}

static enum pm_status pass_events(struct spot_finder *f, const struct pm_batch *b,
				  struct open_block *o, struct pm_position_thread *t,
				  const struct pm_event *ev, size_t n, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	for (const struct pm_event *const end = ev + n; ev < end && st == PM_OK; ev++) {
		if (access_of(ev->kind)) {
			st = pass_access(f, b, o, t, ev, err);
			continue;
		}
		if (ev->kind == PM_EV_REP_ITER || ev->kind == PM_EV_REP_END)
			continue;
		pass_entries(f, b, o, t, o->n);
		if (ev->kind == PM_EV_BLOCK)
			st = pass_block(f, b, o, t, ev, err);
		else
			pass_other(f, b, o, t, ev);
	}
	return st;
}

/* ---- chains ---------------------------------------------------------------------------------- */
static void find_effect(struct spot_finder *f, const struct pm_batch *b,
			const struct pm_chains *all, uint32_t number)
{
	const struct pm_chain *k = all->chain + number;
	struct chain_effect *c = &f->chain[number];

	*c = (struct chain_effect){ .pc = k->pc, .nref = k->nref, .state = CHAIN_PASSED };
	for (uint32_t i = 0; i < k->npart; i++) {
		const struct pm_block *blk = b->code->block + all->part[k->part + i].block;
		struct spot_block *e;

		if (b->code->insn[blk->insn].pc < c->below) {
			c->clocks++;
			c->insns = 0;
		}
		c->block = all->part[k->part + i].block;
		c->insns += blk->n;
		e = end_of(f, b->code, c->block);
		c->below = e->below;
		if (has_entries(f, b->code, blk, e))
			c->state = CHAIN_WANTED;
	}
	for (uint32_t i = 0; i < k->nref; i++)
		if (all->ref[k->ref + i].size > f->widest)
			f->widest = all->ref[k->ref + i].size;
}

static void find_effects(struct spot_finder *f, const struct pm_batch *b,
			 const struct pm_packed *k)
{
	if (f->nchain < k->chains.n) {
		const size_t n = 2 * (size_t)k->chains.n;

		f->chain = pm_realloc(f->chain, n * sizeof *f->chain);
		memset(f->chain + f->nchain, 0, (n - f->nchain) * sizeof *f->chain);
		f->nchain = n;
	}
	if (f->chain_nentry != f->nentry)
		memset(f->chain, 0, f->nchain * sizeof *f->chain);
	f->chain_nentry = f->nentry;
	for (size_t i = 0; i < k->n; i++)
		if (!(k->id[i] & PM_CHAIN_EVENTS) && f->chain[k->id[i]].state == CHAIN_UNKNOWN)
			find_effect(f, b, &k->chains, k->id[i]);
}

/* HOT: once per reference. May one of them be in a range? */
static bool any_near(const struct spot_finder *f, const struct pm_packed *k)
{
	bool any = false;

	for (const struct spot_range *r = f->range; r < f->range + f->nrange; r++) {
		const uint64_t lo = r->lo - f->widest, n = r->hi - lo;

		for (size_t i = 0; i < k->nref; i++)
			any |= k->addr[i] - lo < n;
	}
	return any;
}

/* Is one of the references of chain @number, which have gone to @addr, wanted? */
static bool touches(const struct spot_finder *f, const struct pm_packed *k, uint32_t number,
		    const uint64_t *addr)
{
	const struct pm_chain *c = k->chains.chain + number;
	const struct pm_chain_ref *ref = k->chains.ref + c->ref;

	for (uint32_t i = 0; i < c->nref; i++)
		for (const struct spot_range *r = f->range; r < f->range + f->nrange; r++)
			if (addr[i] < r->hi && addr[i] + ref[i].size > r->lo &&
			    access_of(ref[i].kind) & r->access)
				return true;
	return false;
}

/* HOT: chains of @k from @i on in which nothing is wanted; the last one in front of an event, or of
 * the end, is left. Returns the first that is. */
static size_t skip_chains(struct spot_finder *f, const struct pm_batch *b,
			  const struct pm_packed *k, size_t i, const uint64_t **addr, bool near,
			  struct open_block *o, struct pm_position_thread *t)
{
	const uint64_t *a = *addr;
	uint64_t clock = t->at.clock, insns = t->at.insns;
	uint64_t below = o->code ? end_of(f, o->code, o->block)->below : 0;
	const struct chain_effect *c = NULL;

	for (; i + 1 < k->n && !((k->id[i] | k->id[i + 1]) & PM_CHAIN_EVENTS); i++) {
		const struct chain_effect *const x = &f->chain[k->id[i]];
		const bool passes = x->pc < below;

		if (x->state != CHAIN_PASSED || (near && touches(f, k, k->id[i], a)))
			break;
		clock += passes + x->clocks;
		insns = (passes || x->clocks ? 0 : insns) + x->insns;
		below = x->below;
		a += x->nref;
		c = x;
	}
	if (c) {
		*addr = a;
		t->at.clock = clock;
		t->at.insns = insns;
		*o = (struct open_block){ below ? b->code : NULL, c->block, b->stream->tid };
	}
	return i;
}

/* Chain @number, whose references have gone to @addr, as its blocks. */
static enum pm_status pass_chain(struct spot_finder *f, const struct pm_batch *b,
				 const struct pm_packed *k, uint32_t number, const uint64_t *addr,
				 struct open_block *o, struct pm_position_thread *t,
				 struct pm_err *err)
{
	const struct pm_chains *all = &k->chains;
	const struct pm_chain *c = all->chain + number;
	const struct pm_chain_ref *ref = all->ref + c->ref;
	struct pm_event ev;

	for (uint32_t i = 0; i < c->npart; i++) {
		const struct pm_chain_part *part = all->part + c->part + i;
		const struct pm_block *blk = b->code->block + part->block;

		ev = (struct pm_event){ .kind = PM_EV_BLOCK, .id = part->block, .addr = blk->pc,
					.value = blk->n };
		if (pass_events(f, b, o, t, &ev, 1, err) != PM_OK)
			return PM_ERR;
		for (uint32_t j = 0; j < part->nref; j++, ref++) {
			ev = (struct pm_event){ .kind = ref->kind, .size = ref->size,
						.id = ref->insn - blk->insn, .addr = *addr++ };
			if (pass_events(f, b, o, t, &ev, 1, err) != PM_OK)
				return PM_ERR;
		}
	}
	return PM_OK;
}

/* ---- the trace ------------------------------------------------------------------------------- */
static enum pm_status pass_packed(struct spot_finder *f, const struct pm_batch *b,
				  const struct pm_packed *k, struct open_block *o,
				  struct pm_position_thread *t, struct pm_err *err)
{
	const struct pm_event *ev = b->ev;
	const uint64_t *addr = k->addr;
	enum pm_status st = PM_OK;
	bool near;

	find_effects(f, b, k);
	near = any_near(f, k);
	for (size_t i = 0; i < k->n && st == PM_OK; i++) {
		const uint32_t n = k->id[i] & ~PM_CHAIN_EVENTS;

		if (k->id[i] & PM_CHAIN_EVENTS) {
			st = pass_events(f, b, o, t, ev, n, err);
			ev += n;
			continue;
		}
		pass_entries(f, b, o, t, o->n);
		i = skip_chains(f, b, k, i, &addr, near, o, t);
		st = pass_chain(f, b, k, k->id[i], addr, o, t, err);
		addr += k->chains.chain[k->id[i]].nref;
	}
	return st;
}

static enum pm_status pass_batch(struct spot_finder *f, const struct pm_batch *b,
				 const struct pm_packed *k, struct pm_err *err)
{
	struct pm_position_thread *t = pm_position_thread(f->positions, b->stream);
	struct open_block *o = open_of(f, b->stream);
	enum pm_status st;

	*pm_map_put(&f->to->pid, b->stream->tid, NULL) = b->stream->pid;
	new_objects(f, b->code);
	st = k ? pass_packed(f, b, k, o, t, err) : pass_events(f, b, o, t, b->ev, b->n, err);
	pass_entries(f, b, o, t, o->n);
	*last_of(f->to, t->at.tid) = t->at;
	f->several |= f->tid != b->stream->tid;
	if (st == PM_OK && f->most && !f->several && f->to->n >= f->most)
		return pm_fail(err, 0, QUERY_ENOUGH);
	return st;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pass_batch(self, b, NULL, err);
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	return pass_batch(self, b, k, err);
}

/* The trace is over: a direct jump goes where it goes, though nobody has told. */
static void pass_rest(struct spot_finder *f)
{
	for (size_t i = 0; i < f->nopen; i++) {
		const struct open_block *o = &f->open[i];
		const struct spot_block *e = o->code ? end_of(f, o->code, o->block) : NULL;
		struct pm_position *last;

		if (!e || e->kind != END_DIRECT || e->cond || e->target >= e->below)
			continue;
		last = last_of(f->to, o->tid);
		last->clock++;
		last->insns = 0;
	}
}

#define CALLS_NEED (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_THREADS)
static const struct pm_chain_sink_ops calls_ops = {
	.ops = {
		.abi = PM_ABI, .needs = CALLS_NEED, .flags = PM_SINK_BLOCKS | PM_SINK_CHAINS,
		.name = "calls", .about = "calls of a function", .consume = consume,
	},
	.packed = packed,
};
static const struct pm_chain_sink_ops accesses_ops = {
	.ops = {
		.abi = PM_ABI, .needs = CALLS_NEED | PM_HAS_REFS | PM_HAS_SIZES,
		.flags = PM_SINK_BLOCKS | PM_SINK_CHAINS,
		.name = "accesses", .about = "loads from and stores to some addresses",
		.consume = consume,
	},
	.packed = packed,
};

/* ---- parts ----------------------------------------------------------------------------------- */
static void put_at(struct spots_parts *p, const struct pm_position *at)
{
	pm_grow(p->at, p->nat, p->cap_at);
	p->at[p->nat++] = *at;
}

static void end_part(struct spot_finder *f)
{
	struct spots_parts *p = f->parts;
	struct spots *s = f->to;

	if (!f->taken)
		return;
	f->taken = false;
	for (size_t i = 0; i < s->nlast; i++)
		put_at(p, &s->last[i]);
	p->v[p->n - 1].nend = (uint32_t)s->nlast;
	p->v[p->n - 1].nspot = s->n - p->nspot;
	p->nspot = s->n;
}

/* Its threads are @t, @n of them. */
static void take_part(struct spot_finder *f, const struct pm_seam_thread *t, size_t n)
{
	struct spots_parts *p = f->parts;

	f->taken = p->takes(p->self, f->part);
	if (!f->taken)
		return;
	pm_grow(p->v, p->n, p->cap);
	p->v[p->n++] = (struct spots_part){ .number = f->part, .nbegin = (uint32_t)n };
	f->to->nlast = 0;
	if (f->nopen)
		memset(f->open, 0, f->nopen * sizeof *f->open);
	pm_positions_free(f->positions);
	f->positions = pm_positions_new();
	for (size_t i = 0; i < n; i++) {
		struct pm_position_thread is = t[i].is;

		put_at(p, &is.at);
		is.at.insns = t[i].lives && !t[i].stands ? SPOT_SOMEWHERE : 0;
		is.resumed = t[i].lives;
		pm_positions_resume(f->positions, &is);
	}
}

static bool seam(void *self, const struct pm_seam_thread *t, size_t n)
{
	struct spot_finder *f = self;

	if (f->part == PARTS_MOST - 1)
		return f->taken;
	end_part(f);
	f->part++;
	take_part(f, t, n);
	return f->taken;
}

static enum pm_status replay(struct spot_finder *f, const char *recording,
			     const struct pm_run_opts *o, struct pm_err *err)
{
	struct pm_seams seams = { .self = f, .seam = seam };
	const bool calls = !f->nrange;
	struct pm_run_opts run = *o;
	enum pm_status st;

	if (f->parts) {
		take_part(f, NULL, 0);
		seams.every = f->parts->every;
		seams.wanted = f->taken;
		run.seams = &seams;
	}
	run.kind = calls ? XL_BRANCH : XL_EXEC;
	if (query_open(recording, &run, err) != PM_OK)
		return PM_ERR;
	f->tid = rec_start_of(run.replay, 0)->pid;
	st = query_consume(&run, calls ? &calls_ops.ops : &accesses_ops.ops, f, err);
	if (f->parts)
		end_part(f);
	query_close(&run);
	return st;
}

enum pm_status spots_find(const char *recording, const struct spots_wanted *w,
			  const struct pm_run_opts *o, struct spots *to, struct pm_err *err)
{
	struct spot_finder f = { .function = w->function, .range = w->range,
				 .nrange = w->nrange, .most = w->most, .to = to, .parts = w->parts,
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
	free(f.chain);
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
		free(s->object[i].build_id);
	}
	free(s->object);
	free(s->v);
	free(s->last);
	pm_map_release(&s->pid);
	exec_spots_release(&s->execs);
}
