/* SPDX-License-Identifier: MIT */
/* core.c - the rules of core.h */
#include <stdlib.h>
#include <string.h>

#include "analyse/core_slots.h"
#include "analyse/core_work.h"
#include "base/mem.h"
#include "base/vectors.h"

#define AHEAD_FIRST	1024		/* cycles that the calendar covers at first; it grows */
#define BUSY_MOST	64		/* more than the cycles that a port stays taken */
#define LINES		4096		/* lines on their way or just arrived, direct-mapped */
#define WORDS		1024		/* 8-byte words of stores, direct-mapped */
#define LINE_SHIFT	6
#define RULES_AHEAD	12		/* operations: rules are asked for so early */

/* All of an instruction's way is in one function, of which there are two: see core_run(). */
#define INLINE	static inline __attribute__((always_inline))

static const struct { uint8_t latency, busy; char ports; } classes[] = {
#define C(name, lat, busy, ports, about) { lat, busy, #ports[0] },
	PM_CORE_CLASSES(C)
#undef C
};

struct heap { uint64_t *v; unsigned n; };	/* smallest first */

/* The last values of something, by number, in 2^n places; what has not been yet is 0. */
struct ring { uint64_t *v, mask; };

/* Cycles from..to - 1. */
struct span { uint64_t from, to; };
enum { FULL_LOADS = PM_CORE_CLASS_COUNT, FULL_STORES, FULL_COUNT };

/* Cycles from that of dispatch on: nothing issues before it. Of each the ports that are taken, and
 * how many operations issue: at most 24, since no port issues twice in a cycle. */
#define PORTS	((1u << 24) - 1)
#define ISSUE	(1u << 24)
#define NO_PORT	(1u << 31)		/* of classes without ports: it is always free */
struct calendar { uint32_t *v; uint64_t mask; };
#define HORIZON(c)	((c).mask - BUSY_MOST)

/* The compiler knows the shape, and what goes with it. */
#define LOADS_OF(shape, op)	((shape) >= CORE_USUAL ? (op)->nload : (shape) == CORE_LOAD)
#define STORES_OF(shape, op)	((shape) >= CORE_USUAL ? (op)->nstore : (shape) == CORE_STORE)

/* Where the last instruction has left the core. core_run() keeps it in registers. */
#define AT_START	(PM_CORE_WRONG + 1)	/* no instruction has redirected fetch */
struct core_now {
	uint64_t ninsn, nuop, nload, nstore;	/* so far */
	uint64_t fetch, dispatch, done, commit;
	uint64_t written;		/* the last store */
	uint64_t came;			/* out of the front end */
	uint64_t branch_pc;
	uint64_t horizon;		/* cycles before it are in the calendar */
	uint64_t unslotted;		/* micro-ops beyond the slots that theirs took */
	uint32_t insns, bytes;		/* of the fetch group */
	uint32_t slots, commit_slots;	/* used in these cycles */
	uint32_t waiting;		/* operations in the calendar, which are those that have
					 * not left the scheduler */
	uint8_t redirect;		/* enum pm_core_redirect */
	uint8_t shape;			/* CORE_ANY: the next one is, whatever it looks like */
};

/* (10) What predicts branches ahead of fetch. */
struct ahead {
	struct ring fetched;		/* the last instruction of each block, by block */
	uint64_t nblock, cycle;		/* so far; of the last one */
	uint64_t resume;		/* a branch has been found wrong, or by the decoder */
	uint64_t line;			/* of the last block */
	uint32_t predicted;		/* in @cycle */
	bool open;			/* what follows on @line is of the last block */
};

struct pm_core {
	struct pm_core_conf c;
	struct pm_core_stats st;
	struct pm_core_fdip_stats fdip;
	struct core_now now;
	/* the last two are no registers: always ready; written, and never read */
	uint64_t reg[PM_CORE_REGS + 2];
	struct ring queue;		/* dispatch times, by instruction */
	struct ring rob, lq, sq;	/* commit, by micro-op and load; written, by store */
	struct ring sq_commit;
	struct ring results;		/* (11) commit, by result */
	uint64_t nresult;
	struct heap mshr, walks;	/* when they end */
	struct ahead ahead;
	uint64_t barrier, barrier_pc;	/* a serialising instruction's commit */
	uint64_t mem_free;
	struct calendar calendar;
	uint32_t load_ports, store_ports;
	struct span full[FULL_COUNT];	/* in which no port of a class is free */
	uint64_t filled;		/* when the last of the lines comes */
	struct { uint64_t line, ready; uint8_t level; } fill[LINES];
	/* Of the stores: most loads look at the words only. */
	uint64_t word[WORDS];		/* + 1 */
	struct { uint64_t issued, written; } word_at[WORDS];
	struct pm_core_blame blame;
	struct core_slots slots_of;
	bool ended;
};

static uint32_t bits(unsigned n, unsigned at)
{
	return ((1u << n) - 1) << at;
}

uint32_t pm_core_ports(const struct pm_core_conf *c, unsigned class)
{
	unsigned half = c->vec > 1 ? c->vec / 2 : 1;

	switch (classes[class].ports) {
	case 'A':
		return bits(c->alu, 0);
	case 'M':			/* the second ALU, or the only one */
		return c->alu > 1 ? 2 : 1;
	case 'D':
		return c->alu > 2 ? 4 : 1;
	case 'B':			/* the first and the last */
		return 1u | 1u << (c->alu - 1);
	case 'V':
		return bits(c->vec, 8);
	case 'F':
		return bits(half, 8);
	case 'G':
		return bits(c->vec - half ? c->vec - half : 1, 8 + (c->vec > 1 ? half : 0));
	default:
		return 0;
	}
}

/* For the last @n, and one more: see remember_commit(). */
static struct ring ring_of(unsigned n)
{
	struct ring r = { .mask = 1 };

	while (r.mask < n + 1u)
		r.mask *= 2;
	r.v = pm_alloc(r.mask-- * sizeof *r.v);
	return r;
}

struct pm_core *pm_core_from(const struct pm_core_conf *c)
{
	struct pm_core *k = pm_alloc(sizeof *k);

	k->c = *c;
	k->queue = ring_of(c->queue);
	k->rob = ring_of(c->rob);
	k->lq = ring_of(c->lq);
	k->sq = ring_of(c->sq);
	k->sq_commit = ring_of(c->sq);
	k->results = ring_of(c->regs);
	k->ahead.fetched = ring_of(c->fdip);
	k->mshr.v = pm_alloc((c->mshr + 1) * sizeof *k->mshr.v);
	k->walks.v = pm_alloc((c->walkers + 1) * sizeof *k->walks.v);
	k->calendar.v = pm_alloc(AHEAD_FIRST * sizeof *k->calendar.v);
	k->calendar.mask = AHEAD_FIRST - 1;
	k->load_ports = bits(c->loads, 16);
	k->store_ports = bits(c->stores, 20);
	core_slots_init(&k->slots_of, c->width, c->rob);
	k->now.redirect = AT_START;
	k->now.horizon = HORIZON(k->calendar);
	return k;
}

void pm_core_free(struct pm_core *k)
{
	if (!k)
		return;
	free(k->queue.v);
	free(k->rob.v);
	free(k->lq.v);
	free(k->sq.v);
	free(k->sq_commit.v);
	free(k->results.v);
	free(k->ahead.fetched.v);
	core_slots_release(&k->slots_of);
	free(k->mshr.v);
	free(k->walks.v);
	free(k->calendar.v);
	free(k);
}

const struct pm_core_stats *pm_core_stats(const struct pm_core *k)
{
	return &k->st;
}

const struct pm_core_fdip_stats *pm_core_fdip_stats(const struct pm_core *k)
{
	return &k->fdip;
}

const struct pm_core_blame *pm_core_blame(const struct pm_core *k)
{
	return &k->blame;
}

const uint64_t *pm_core_slots(struct pm_core *k)
{
	if (k->st.instructions && !k->ended)
		core_slots_end(&k->slots_of, k->now.ninsn, k->now.dispatch,
			       k->now.slots, k->now.commit);
	k->ended = true;
	return k->slots_of.total;
}

void pm_core_slots_blame(struct pm_core *k,
			 void (*blame)(void *ctx, uint64_t pc, enum pm_core_slot why,
				       uint64_t slots),
			 void *ctx)
{
	k->slots_of.blame = blame;
	k->slots_of.ctx = ctx;
}

static void heap_push(struct heap *h, uint64_t x)
{
	unsigned i = h->n++;

	for (; i && h->v[(i - 1) / 2] > x; i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = x;
}

static uint64_t heap_pop(struct heap *h)
{
	uint64_t top = h->v[0], x = h->v[--h->n];
	unsigned i = 0;

	for (;;) {
		unsigned j = 2 * i + 1;

		if (j >= h->n)
			break;
		if (j + 1 < h->n && h->v[j + 1] < h->v[j])
			j++;
		if (h->v[j] >= x)
			break;
		h->v[i] = h->v[j];
		i = j;
	}
	h->v[i] = x;
	return top;
}

INLINE uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- the calendar of ports ------------------------------------------------------------------ */

/* As @c, with room for cycle @t; the first one is @now. */
static __attribute__((noinline)) struct calendar extend_calendar(struct calendar c, uint64_t now,
								 uint64_t t)
{
	const uint64_t was = c.mask + 1;
	struct calendar to = { .mask = c.mask };

	while (t - now >= HORIZON(to))
		to.mask = 2 * to.mask + 1;
	to.v = pm_alloc((to.mask + 1) * sizeof *to.v);
	for (uint64_t i = now; i < now + was; i++)
		to.v[i & to.mask] = c.v[i & c.mask];
	free(c.v);
	return to;
}

/* The first cycle from @t on, which is full, in which one of @ports is free. Where many wait for
 * the same ports, each would search the same cycles: those that were found full stay so. */
INLINE uint64_t search(struct pm_core *k, struct core_now *n, uint32_t ports,
		       struct span *full, uint64_t t)
{
	const bool known = t - full->from < full->to - full->from;

	full->from = known ? full->from : t;
	t = known ? full->to : t + 1;
	for (;; t++) {
		if (__builtin_expect(t >= n->horizon, 0)) {
			k->calendar = extend_calendar(k->calendar, n->dispatch, t);
			n->horizon = n->dispatch + HORIZON(k->calendar);
		}
		if (ports & ~k->calendar.v[t & k->calendar.mask])
			break;
	}
	full->to = t;
	return t;
}

/* The first cycle from @t on in which one of @ports is free for @busy cycles; it is taken. Only the
 * first of these cycles is searched for, the others are taken whether free or not, as long as that
 * port was free at first: a divider's tail may delay what comes later, never what came before. */
INLINE uint64_t reserve_port(struct pm_core *k, struct core_now *n, uint32_t ports,
			     uint32_t issue, struct span *full, uint64_t t, unsigned busy)
{
	uint32_t *v, free, port;

	if (__builtin_expect(t >= n->horizon, 0)) {
		k->calendar = extend_calendar(k->calendar, n->dispatch, t);
		n->horizon = n->dispatch + HORIZON(k->calendar);
	}
	v = k->calendar.v + (t & k->calendar.mask);
	free = ports & ~*v;
	if (!free) {
		t = search(k, n, ports, full, t);
		v = k->calendar.v + (t & k->calendar.mask);
		free = ports & ~*v;
	}
	port = free & -free & PORTS;
	*v += port + issue;
	if (__builtin_expect(busy > 1, 0))
		for (unsigned d = 1; d < busy; d++)
			k->calendar.v[(t + d) & k->calendar.mask] |= port;
	return t;
}

/* The calendar begins at cycle @to: what issued from @from until then has left the scheduler. */
INLINE void pass_cycles(struct pm_core *k, struct core_now *n, uint64_t from, uint64_t to)
{
	uint32_t *v = k->calendar.v, left = 0;
	const uint64_t mask = k->calendar.mask;

	for (uint64_t t = from; t < to; t++) {
		left += v[t & mask] / ISSUE;
		v[t & mask] = 0;
	}
	n->waiting -= left;
}

/* ---- the parts of the core ------------------------------------------------------------------ */

INLINE uint64_t regs_ready(const struct pm_core *k, uint64_t regs, uint64_t t)
{
	for (; regs; regs &= regs - 1)
		t = max(t, k->reg[__builtin_ctzll(regs)]);
	return t;
}

/* (9) When the physical address is known that is looked for from cycle @t on: @wait cycles later,
 * and not before a walker has had time. */
static __attribute__((noinline)) uint64_t address_known(struct pm_core *k, uint64_t t,
							unsigned wait)
{
	uint64_t end;

	if (wait <= k->c.stlb || !k->c.walkers)
		return t + wait;
	while (k->walks.n && k->walks.v[0] <= t)
		heap_pop(&k->walks);
	end = (k->walks.n == k->c.walkers ? max(t, heap_pop(&k->walks)) : t) + wait;
	heap_push(&k->walks, end);
	return end;
}

/* (10) When the block was predicted that the instruction on @line, which comes next, is in. */
INLINE uint64_t predicted(struct pm_core *k, uint64_t line)
{
	struct ahead *a = &k->ahead;
	uint64_t t = a->cycle + (a->predicted == k->c.blocks);

	if (a->open && line == a->line)
		return a->cycle;
	t = max(t, max(a->resume, a->fetched.v[(a->nblock - k->c.fdip) & a->fetched.mask]));
	a->predicted = t == a->cycle ? a->predicted + 1 : 1;
	a->cycle = t;
	a->line = line;
	a->open = true;
	a->nblock++;
	return t;
}

/* (10) Fetch comes to @op in cycle @t if it has been predicted. Returns when it has it. */
static __attribute__((noinline)) uint64_t fetch_predicted(struct pm_core *k,
							  const struct core_insn *op, uint64_t t,
							  uint64_t *missed)
{
	const uint64_t asked = predicted(k, op->pc >> LINE_SHIFT);
	uint64_t come = asked;

	t = max(t, asked);
	if (op->fetch_wait)
		come = address_known(k, asked, op->fetch_wait);
	if (op->fetch_level) {
		come += k->c.lat[op->fetch_level];
		k->fdip.fdip_issued++;
		k->fdip.fdip_useful += asked < t;
		k->fdip.fdip_late += asked < t && t < come;
		k->fdip.fdip_hidden += (come < t ? come : t) - asked;
	}
	*missed = max(come, t) - t;
	t = max(come, t);
	k->ahead.fetched.v[(k->ahead.nblock - 1) & k->ahead.fetched.mask] = t;
	return t;
}

/* (1) *@missed: cycles that fetch waited for paging and a miss in the instruction cache. */
INLINE void fetch_one(struct pm_core *k, struct core_now *n, const struct core_insn *op,
		      enum core_shape shape, uint64_t *missed)
{
	const uint64_t before = n->fetch,
		       left = k->queue.v[(n->ninsn - k->c.queue) & k->queue.mask];
	const uint32_t bytes = n->bytes + op->len;
	/* the first of a group fits: what is not odd has no more than CORE_BYTES */
	const bool full = (n->insns == k->c.fetch) |
			  ((bytes > k->c.bytes) & (shape != CORE_ANY || n->insns > 0));
	uint64_t fetch = before;
	bool more;

	*missed = 0;
	if (shape == CORE_ANY && k->c.fdip) {
		fetch = fetch_predicted(k, op, max(before + full, left), missed);
	} else if (shape == CORE_ANY && (op->fetch_level || op->fetch_wait)) {
		fetch += n->insns > 0;
		if (op->fetch_wait)
			fetch = address_known(k, fetch, op->fetch_wait);
		if (op->fetch_level)
			fetch += k->c.lat[op->fetch_level];
		*missed = fetch - before;
	} else {
		fetch += full;
	}
	fetch = max(fetch, left);
	more = fetch == before;
	n->insns = (more ? n->insns : 0) + 1;
	n->bytes = more ? bytes : op->len;
	n->fetch = fetch;
	n->came = fetch + k->c.front;
}

INLINE void fetch_after(struct pm_core *k, struct core_now *n, const struct core_insn *op)
{
	uint64_t next = n->fetch + 1;

	n->redirect = op->redirect;
	if (!(op->taken | op->redirect))
		return;
	k->ahead.open = false;
	if (op->redirect != PM_CORE_STRAIGHT) {
		if (op->redirect == PM_CORE_WRONG)
			next = n->done + 1;
		else
			next = n->fetch + k->c.bubble;
		k->st.mispredicted += op->redirect == PM_CORE_WRONG;
		n->branch_pc = op->pc;
		k->ahead.resume = next;
	}
	if (next > n->fetch) {
		n->fetch = next;
		n->insns = n->bytes = 0;
	}
}

/* (2) In cycle @d the scheduler has no room for @entries. Returns when it has: what waited longest
 * for its issue leaves first, so all that issues from cycle @d on is still there. */
static __attribute__((noinline)) uint64_t enter_iq(const struct pm_core *k, uint64_t waiting,
						   unsigned entries, uint64_t dispatch, uint64_t d)
{
	const struct calendar c = k->calendar;

	/* behind what the calendar covers nothing issues */
	for (uint64_t t = dispatch; t < d && t - dispatch <= c.mask; t++)
		waiting -= c.v[t & c.mask] / ISSUE;
	for (; waiting && waiting + entries > k->c.iq; d++)
		waiting -= c.v[d & c.mask] / ISSUE;
	return d;
}

/* (3) A load that missed the first level, or for whose line others wait. */
static __attribute__((noinline)) uint64_t line_comes(struct pm_core *k, const struct core_ref *r,
						     uint64_t issued, uint8_t *found)
{
	const uint64_t line = r->addr >> LINE_SHIFT;
	const unsigned f = line % LINES, level = r->level;
	uint64_t start = issued, data;

	if (!level) {
		data = issued + k->c.lat[0];
		if (k->fill[f].line != line || k->fill[f].ready <= data)
			return data;
		*found = k->fill[f].level;
		return k->fill[f].ready;
	}
	while (k->mshr.n && k->mshr.v[0] <= start)
		heap_pop(&k->mshr);
	if (k->mshr.n == k->c.mshr)
		start = max(start, heap_pop(&k->mshr));
	if (level == 3) {
		start = max(start, k->mem_free);
		k->mem_free = start + k->c.gap;
	}
	data = start + k->c.lat[level];
	heap_push(&k->mshr, data);
	k->fill[f].line = line;
	k->fill[f].ready = data;
	k->fill[f].level = level;
	k->filled = max(k->filled, data);
	return data;
}

/* (3) *@found: the level where the data, or the line on its way, come from. */
INLINE uint64_t load_one(struct pm_core *k, const struct core_now *n,
			 const struct core_ref *r, uint64_t issued, uint8_t *found)
{
	const uint64_t l1 = issued + k->c.lat[0], from = r->addr >> 3,
		       to = (r->addr + r->size - 1) >> 3;
	uint64_t data = l1;
	bool forwarded = false;

	*found = r->level;
	if (r->level || k->filled > l1)
		data = line_comes(k, r, issued, found);
	if (n->written <= issued)	/* no store is left */
		return data;
	for (uint64_t w = from; w <= to && w < from + 8; w++)
		if (k->word[w % WORDS] == w + 1 && k->word_at[w % WORDS].written > issued) {
			uint64_t got = k->word_at[w % WORDS].issued + k->c.forward;

			data = forwarded ? max(data, got) : max(l1, got);
			forwarded = true;
			*found = 0;
		}
	k->st.forwarded += forwarded;
	return data;
}

/* (7) Commit waited for @gap cycles. @at_once: dispatched as soon as it came; @code: fetch waited
 * for it. */
static __attribute__((noinline)) void count_stall(struct pm_core *k, const struct core_insn *op,
						  uint64_t gap, unsigned before, uint64_t branch_pc,
						  bool code, bool missed, bool at_once, bool store)
{
	struct pm_core_blame *b = &k->blame;
	const bool misled = before == PM_CORE_WRONG || before == PM_CORE_BUBBLE;

	*b = (struct pm_core_blame){ op->pc, gap, PM_CORE_BY_CORE, false };
	if (at_once && code) {
		b->why = PM_CORE_BY_FETCH;
		k->st.stall_fetch += gap;
	} else if (at_once && misled) {
		b->pc = branch_pc;
		b->misled = true;
		b->why = before == PM_CORE_WRONG ? PM_CORE_BY_BRANCH : PM_CORE_BY_FETCH;
		*(before == PM_CORE_WRONG ? &k->st.stall_branch : &k->st.stall_fetch) += gap;
	} else if (missed) {
		b->why = PM_CORE_BY_MEMORY;
		k->st.stall_memory += gap;
	} else if (store) {
		b->why = PM_CORE_BY_STORE;
		k->st.stall_store += gap;
	} else {
		k->st.stall_core += gap;
	}
}

static enum pm_core_slot slot_of_redirect(unsigned redirect)
{
	switch (redirect) {
	case PM_CORE_WRONG:
		return PM_CORE_SLOT_speculation;
	case PM_CORE_STRAIGHT:
		return PM_CORE_SLOT_bandwidth;
	default:
		return PM_CORE_SLOT_resteer;
	}
}

/* (2) Dispatch in cycle @d, later than that of the instruction before: what became of the slots
 * between. @store: of a full store queue, the one that had to leave. */
INLINE void lost_slots(struct pm_core *k, const struct core_now *n, const struct core_insn *op,
		       uint64_t d, uint64_t missed, uint64_t store, uint64_t store_left)
{
	const bool serial = op->rule->serial && n->commit + 1 > k->barrier;
	const struct core_slots_wait w = {
		.pc = op->pc,
		.before = n->dispatch,
		.came = n->came,
		.missed = n->came - missed,
		.resolved = n->done + 1,
		.serial = serial ? n->commit + 1 : k->barrier,
		.serial_pc = serial ? op->pc : k->barrier_pc,
		.store = store,
		.store_left = store_left,
		.dispatch = d,
		.branch_pc = n->branch_pc,
		.branch = slot_of_redirect(n->redirect),
		.used = n->slots,
		.uops = op->rule->uops,
	};

	core_slots_before(&k->slots_of, n->ninsn, &w);
}

/* (11) How many of its results the file holds. */
static unsigned results_of(const struct pm_core *k, const struct core_rule *r)
{
	const unsigned n = __builtin_popcountll(r->writes);

	return n < k->c.regs ? n : k->c.regs;
}

/* (11) From when on there is room for the results of @r. */
static uint64_t registers_free(const struct pm_core *k, const struct core_rule *r)
{
	const unsigned n = results_of(k, r);

	return n ? k->results.v[(k->nresult + n - 1 - k->c.regs) & k->results.mask] + 1 : 0;
}

/* (2) Dispatch. *@by_store: a full store queue put it off. Commits and writes of stores are in
 * order, so of those that have to leave, the youngest is the last. */
INLINE void dispatch(struct pm_core *k, struct core_now *n, const struct core_insn *op,
		     enum core_shape shape, uint64_t missed, bool *by_store)
{
	const struct pm_core_conf *c = &k->c;
	const struct core_rule *r = op->rule;
	const unsigned uops = r->uops, loads = LOADS_OF(shape, op), stores = STORES_OF(shape, op),
		       entries = loads + stores + r->issues;
	uint64_t d = max(n->came, n->dispatch + (n->slots + uops > c->width));
	uint64_t store = 0, left = 0;

	/* what follows the first one behind a barrier is later anyway */
	if (shape == CORE_ANY)
		d = max(d, r->serial ? max(n->commit + 1, k->barrier) : k->barrier);
	d = max(d, k->rob.v[(n->nuop + (shape == CORE_ANY ? r->rob : uops) - 1 - c->rob) &
			    k->rob.mask] + 1);
	if (shape == CORE_ANY && c->regs)
		d = max(d, registers_free(k, r));
	if (loads)
		d = max(d, k->lq.v[(n->nload + loads - 1 - c->lq) & k->lq.mask] + 1);
	if (stores) {
		const uint64_t i = n->nstore + stores - 1 - c->sq;

		if (__builtin_expect(k->sq.v[i & k->sq.mask] + 1 > d, 0)) {
			d = left = k->sq.v[i & k->sq.mask] + 1;
			store = k->sq_commit.v[i & k->sq_commit.mask] + 1;
			*by_store = true;
		}
	}
	if (__builtin_expect(n->waiting + entries > c->iq, 0))
		d = enter_iq(k, n->waiting, entries, n->dispatch, d);
	if (d > n->dispatch) {
		if (shape != CORE_ANY && d == n->came && n->redirect == PM_CORE_STRAIGHT)
			core_slots_fetch(&k->slots_of, d - n->dispatch, n->slots);
		else
			lost_slots(k, n, op, d, missed, store, left);
		pass_cycles(k, n, n->dispatch, d);
		n->dispatch = d;
		n->slots = 0;
		n->horizon = d + HORIZON(k->calendar);
	}
	n->waiting += entries;
	n->slots += uops;
	k->queue.v[n->ninsn & k->queue.mask] = d;
}

/* (6) Stores leave in order, @issued[] says when they were; later loads may find their words. */
INLINE void retire_stores(struct pm_core *k, struct core_now *n,
			  const struct core_ref *store, unsigned stores,
			  const uint64_t *issued)
{
	for (unsigned i = 0; i < stores; i++) {
		const uint64_t from = store[i].addr >> 3,
			       to = (store[i].addr + store[i].size - 1) >> 3,
			       come = store[i].level ? issued[i] + k->c.lat[store[i].level] : 0;

		n->written = max(max(n->written, n->commit) + 1, come);
		k->sq_commit.v[n->nstore & k->sq_commit.mask] = n->commit;
		k->sq.v[n->nstore++ & k->sq.mask] = n->written;
		for (uint64_t w = from; w <= to && w < from + 8; w++) {
			k->word[w % WORDS] = w + 1;
			k->word_at[w % WORDS].issued = issued[i];
			k->word_at[w % WORDS].written = n->written;
		}
	}
}

/* ---- what does not depend on time ----------------------------------------------------------- */

static enum pm_core_slot busy_as(unsigned class)
{
	switch (class) {
	case PM_CORE_DIV:
	case PM_CORE_FDIV:
	case PM_CORE_FSQRT:
		return PM_CORE_SLOT_divider;
	case PM_CORE_SYSTEM:
		return PM_CORE_SLOT_serial;
	default:
		return PM_CORE_SLOT_ports;
	}
}

/* The registers of @set, then @rest; false: they are more than @n. */
static bool list_regs(uint64_t set, uint8_t *to, unsigned n, uint8_t rest)
{
	for (unsigned i = 0; i < n; i++, set &= set - 1)
		to[i] = set ? __builtin_ctzll(set) : rest;
	return !set;
}

void core_rule_of(const struct pm_core *k, const struct pm_core_static *s, struct core_rule *r)
{
	const uint32_t ports = pm_core_ports(&k->c, s->class);

	*r = (struct core_rule){ .addr_regs = s->addr_regs,
				 .data_regs = s->data_regs,
				 .writes = s->writes,
				 .ports = ports ? ports : NO_PORT,
				 .issue = ports ? ISSUE : 0,
				 .issues = ports != 0,
				 .latency = classes[s->class].latency,
				 .busy = ports ? classes[s->class].busy : 0,
				 .class = s->class,
				 .busy_as = busy_as(s->class),
				 .uops = s->uops,
				 .rob = s->uops < k->c.rob ? s->uops : k->c.rob,
				 .slots = s->uops < k->c.width ? s->uops : k->c.width,
				 .serial = s->serial };
	r->odd = r->serial || r->busy > 1 || r->uops > 2 || r->slots < r->uops ||
		 r->rob < r->uops;
	if (s->stack)
		r->writes &= ~(1ull << PM_CORE_RSP);
	if (!list_regs(s->addr_regs, r->addr, NR(r->addr), PM_CORE_REGS))
		r->many = true;
	if (!list_regs(s->data_regs, r->data, NR(r->data), PM_CORE_REGS))
		r->many = true;
	if (!list_regs(r->writes, r->to, NR(r->to), PM_CORE_REGS + 1))
		r->many = true;
	r->odd |= r->many;
}

/* ---- an operation --------------------------------------------------------------------------- */

INLINE uint64_t first_ready(const struct pm_core *k, const struct core_rule *r,
			    enum core_shape shape, uint64_t t)
{
	if (shape == CORE_ANY && r->many)
		return regs_ready(k, r->addr_regs, t);
	return max(t, max(k->reg[r->addr[0]], k->reg[r->addr[1]]));
}

INLINE uint64_t data_ready(const struct pm_core *k, const struct core_rule *r,
			   enum core_shape shape, uint64_t t)
{
	if (shape == CORE_ANY && r->many)
		return regs_ready(k, r->data_regs, t);
	return max(max(t, k->reg[r->data[0]]), max(k->reg[r->data[1]], k->reg[r->data[2]]));
}

INLINE void write_regs(struct pm_core *k, const struct core_rule *r, enum core_shape shape,
		       uint64_t done)
{
	if (shape == CORE_ANY && r->many) {
		for (uint64_t w = r->writes; w; w &= w - 1)
			k->reg[__builtin_ctzll(w)] = done;
		return;
	}
	k->reg[r->to[0]] = done;
	k->reg[r->to[1]] = done;
}

/* Data of loads: when the last came, from where, and when that was asked for. */
struct core_data { uint64_t ready, issued; uint8_t level; bool missed; };

INLINE enum core_shape least_shape(const struct pm_core *k)
{
	return k->c.fdip || k->c.regs || k->slots_of.blame || k->c.bytes < CORE_BYTES ? CORE_ANY
										      : CORE_BARE;
}

/* What the reorder buffer and the load queue remember of it. Of micro-ops one more than there may
 * be: whether there is a second nobody can predict, and that place is written again before it is
 * read. */
INLINE void remember_commit(struct pm_core *k, struct core_now *n, const struct core_insn *op,
			    enum core_shape shape)
{
	const unsigned uops = op->rule->uops, loads = LOADS_OF(shape, op);

	k->rob.v[n->nuop & k->rob.mask] = n->commit;
	k->rob.v[(n->nuop + 1) & k->rob.mask] = n->commit;
	if (shape == CORE_ANY)
		for (unsigned u = 2; u < uops; u++)
			k->rob.v[(n->nuop + u) & k->rob.mask] = n->commit;
	n->nuop += uops;
	for (unsigned i = 0; i < loads; i++)
		k->lq.v[n->nload++ & k->lq.mask] = n->commit;
	if (shape != CORE_ANY)
		return;
	for (unsigned i = k->c.regs ? results_of(k, op->rule) : 0; i; i--)
		k->results.v[k->nresult++ & k->results.mask] = n->commit;
	n->shape = op->rule->serial ? CORE_ANY : least_shape(k);
	if (op->rule->serial) {
		k->barrier = n->commit + 1;
		k->barrier_pc = op->pc;
	}
}

/* ... and the top-down tree. */
INLINE void remember_slots(struct pm_core *k, struct core_now *n, const struct core_insn *op,
			   enum core_shape shape, uint64_t exec, const struct core_data *data)
{
	const struct core_rule *r = op->rule;
	struct core_slots_head *h = core_slots_at(&k->slots_of, n->ninsn);

	if (shape == CORE_ANY) {
		n->unslotted += r->uops - r->slots;
		core_slots_retire(&k->slots_of, n->ninsn, op->pc, r->slots);
	}
	h->commit = n->commit;
	h->exec = exec;
	h->done = n->done;
	h->busy = r->busy_as;
	h->loads = LOADS_OF(shape, op) > 0;
	if (!LOADS_OF(shape, op))
		return;
	h->load = data->issued;
	h->data = data->ready;
	h->level = data->level;
}

INLINE void load_all(struct pm_core *k, struct core_now *n, const struct core_insn *op,
		     enum core_shape shape, const struct core_ref *load, uint64_t from,
		     struct core_data *to)
{
	for (unsigned i = 0; i < LOADS_OF(shape, op); i++) {
		const uint64_t t = reserve_port(k, n, k->load_ports, ISSUE, k->full + FULL_LOADS,
						from, 1),
			       known = load[i].wait ? address_known(k, t, load[i].wait) : t;
		uint8_t found;
		const uint64_t data = load_one(k, n, load + i, known, &found);

		if (data > to->ready) {
			to->issued = t;
			to->ready = data;
			to->level = found;
		}
		to->missed |= data > t + k->c.lat[0] && (load[i].level || load[i].wait);
	}
}

INLINE void store_all(struct pm_core *k, struct core_now *n, const struct core_insn *op,
		      enum core_shape shape, const struct core_ref *store, uint64_t from,
		      uint64_t *issued, uint64_t *last)
{
	for (unsigned i = 0; i < STORES_OF(shape, op); i++) {
		issued[i] = reserve_port(k, n, k->store_ports, ISSUE, k->full + FULL_STORES,
					 max(from, n->done), 1);
		if (store[i].wait)
			issued[i] = address_known(k, issued[i], store[i].wait);
		*last = max(*last, issued[i] + 1);
	}
}

/* HOT: once per instruction. */
INLINE void one(struct pm_core *k, struct core_now *n, const struct core_insn *op,
		enum core_shape shape, const struct core_ref *load, const struct core_ref *store)
{
	const struct core_rule *r = op->rule;
	uint64_t ready, exec, addr_ready = 0, issued[4], commit, last, missed;
	struct core_data data = { .ready = 0 };
	bool by_store = false;

	fetch_one(k, n, op, shape, &missed);
	dispatch(k, n, op, shape, missed, &by_store);
	/* (3) - (5) execution */
	ready = data_ready(k, r, shape, n->dispatch + 1);
	if (shape != CORE_BARE)
		addr_ready = first_ready(k, r, shape, n->dispatch + 1);
	load_all(k, n, op, shape, load, addr_ready, &data);
	ready = max(ready, data.ready);
	exec = reserve_port(k, n, r->ports, r->issue, k->full + r->class, ready,
			    shape == CORE_ANY ? r->busy : 1);
	last = n->done = exec + r->latency;
	write_regs(k, r, shape, n->done);
	store_all(k, n, op, shape, store, addr_ready, issued, &last);
	/* (6) commit */
	commit = max(last + 1, n->commit + (n->commit_slots + r->uops > k->c.width));
	if (commit > n->commit + 1)
		count_stall(k, op, commit - n->commit - 1, n->redirect, n->branch_pc, missed,
			    data.missed, n->dispatch == n->came, by_store);
	fetch_after(k, n, op);
	n->commit_slots = (commit > n->commit ? 0 : n->commit_slots) + r->uops;
	n->commit = commit;
	retire_stores(k, n, store, STORES_OF(shape, op), issued);
	remember_slots(k, n, op, shape, exec, &data);
	remember_commit(k, n, op, shape);
	n->ninsn++;
}

INLINE void run(struct pm_core *k, const struct core_insn *op, size_t n,
		const struct core_ref *load, const struct core_ref *store)
{
	const struct core_insn *const end = op + n, *const known = end - (n < RULES_AHEAD ? n :
									  RULES_AHEAD);
	struct core_now now = k->now;

	now.shape |= least_shape(k);
	k->blame.why = PM_CORE_NO_STALL;
	for (; op < end; op++) {
		if (op < known)
			__builtin_prefetch(op[RULES_AHEAD].rule);
		switch (op->shape | now.shape) {
		case CORE_BARE:
			one(k, &now, op, CORE_BARE, load, store);
			break;
		case CORE_LOAD:
			one(k, &now, op, CORE_LOAD, load++, store);
			break;
		case CORE_STORE:
			one(k, &now, op, CORE_STORE, load, store++);
			break;
		case CORE_USUAL:
			one(k, &now, op, CORE_USUAL, load, store);
			load += op->nload;
			store += op->nstore;
			break;
		default:
			one(k, &now, op, CORE_ANY, load, store);
			load += op->nload;
			store += op->nstore;
		}
	}
	k->now = now;
	k->st.instructions = now.ninsn;
	k->st.uops = now.nuop;
	k->slots_of.total[PM_CORE_SLOT_retiring] = now.nuop - now.unslotted;
	k->st.cycles = now.commit;
}

bool core_run_plain;

#ifdef __x86_64__
/* The same for processors whose instructions do more at once. */
static __attribute__((target(PM_AVX2)))
void run_avx2(struct pm_core *k, const struct core_insn *op, size_t n, const struct core_ref *load,
	      const struct core_ref *store)
{
	run(k, op, n, load, store);
}
#endif

void core_run(struct pm_core *k, const struct core_insn *op, size_t n, const struct core_ref *load,
	      const struct core_ref *store)
{
#ifdef __x86_64__
	if (!core_run_plain && pm_has_avx2()) {
		run_avx2(k, op, n, load, store);
		return;
	}
#endif
	run(k, op, n, load, store);
}

static void refs_of(struct core_ref *to, const uint64_t *addr, const uint8_t *size,
		    const uint8_t *level, const uint16_t *wait, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = (struct core_ref){ addr[i], size[i] ? size[i] : 1, level[i], wait[i] };
}

void pm_core_op(struct pm_core *k, const struct pm_core_op *op, uint64_t times[4])
{
	const struct pm_core_static s = { .addr_regs = op->addr_regs,
					  .data_regs = op->data_regs,
					  .writes = op->writes,
					  .class = op->class,
					  .uops = op->uops,
					  .stack = op->stack,
					  .serial = op->serial };
	struct core_ref load[4], store[4];
	struct core_rule r;
	const struct core_insn insn = { .pc = op->pc,
					.rule = &r,
					.nload = op->nload,
					.nstore = op->nstore,
					.len = op->len,
					.redirect = op->redirect,
					.fetch_level = op->fetch_level,
					.fetch_wait = op->fetch_wait,
					.taken = op->taken,
					.shape = CORE_ANY };

	core_rule_of(k, &s, &r);
	refs_of(load, op->load, op->load_size, op->load_level, op->load_wait, op->nload);
	refs_of(store, op->store, op->store_size, op->store_level, op->store_wait, op->nstore);
	core_run(k, &insn, 1, load, store);
	if (times) {
		times[0] = k->now.came - k->c.front;
		times[1] = k->now.dispatch;
		times[2] = k->now.done;
		times[3] = k->now.commit;
	}
}
