/* SPDX-License-Identifier: MIT */
/* core.c - the rules of core.h */
#include <stdlib.h>
#include <string.h>

#include "analyse/core.h"
#include "analyse/core_slots.h"
#include "base/mem.h"

#define PORT_RING	(1u << 18)	/* cycles that the port calendar covers ahead: more than the
					 * reorder buffer full of dependent misses */
#define LINES		4096		/* lines on their way or just arrived, direct-mapped */
#define WORDS		1024		/* 8-byte words of stores, direct-mapped */
#define LINE_SHIFT	6

const struct pm_core_conf
pm_core_big = { .fetch = 8, .bytes = 48, .queue = 64, .front = 8, .bubble = 4, .width = 8,
	.rob = 448,
	.iq = 192, .lq = 160, .sq = 96, .mshr = 48, .gap = 6, .forward = 5, .alu = 6, .vec = 4,
	.loads = 3,
	.stores = 2, .lat = { 4, 14, 48, 300 } },
pm_core_mid = { .fetch = 6, .bytes = 32, .queue = 48, .front = 8, .bubble = 5, .width = 6,
	.rob = 256,
	.iq = 96, .lq = 72, .sq = 56, .mshr = 24, .gap = 8, .forward = 5, .alu = 4, .vec = 4,
	.loads = 3,
	.stores = 2, .lat = { 4, 14, 46, 280 } },
pm_core_small = { .fetch = 3, .bytes = 16, .queue = 16, .front = 6, .bubble = 4, .width = 3,
	.rob = 64,
	.iq = 32, .lq = 24, .sq = 20, .mshr = 8, .gap = 12, .forward = 5, .alu = 2, .vec = 2,
	.loads = 1,
	.stores = 1, .lat = { 3, 12, 40, 220 } };

static const struct { uint8_t latency, busy; char ports; } classes[] = {
#define C(name, lat, busy, ports, about) { lat, busy, #ports[0] },
	PM_CORE_CLASSES(C)
#undef C
};

struct heap { uint64_t *v; unsigned n; };	/* smallest first */

struct pm_core {
	struct pm_core_conf c;
	struct pm_core_stats st;
	uint64_t reg[PM_CORE_REGS];
	/* fetch group */
	uint64_t fetch;
	unsigned insns, bytes;
	uint64_t *queue;		/* dispatch times, ring */
	uint64_t dispatch;
	unsigned slots;
	uint64_t *rob, *lq, *sq;	/* rings: commit, commit, written */
	uint64_t *sq_commit;
	uint64_t nuop, nload, nstore, written;
	struct heap iq, mshr;
	uint64_t commit, barrier;	/* barrier: a serialising instruction's commit */
	uint64_t barrier_pc;
	unsigned commit_slots;
	uint64_t mem_free;
	/* calendar: ports taken in cycle t are busy[t % PORT_RING] if when[] says t */
	uint64_t *when;
	uint32_t *busy;
	uint32_t ports[PM_CORE_CLASS_COUNT], load_ports, store_ports;
	struct { uint64_t line, ready; uint8_t level; } fill[LINES];
	struct { uint64_t word, issued, written; } word[WORDS];
	/* why fetch of this instruction was held up */
	enum { FRONT_OK, FRONT_BRANCH, FRONT_FETCH } front;
	uint64_t front_pc;		/* ... and by whom */
	bool misled;			/* by the instruction before */
	struct pm_core_blame blame;
	struct core_slots slots_of;
	struct core_slots_wait wait;	/* of this instruction, as far as it has come */
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

struct pm_core *pm_core_from(const struct pm_core_conf *c)
{
	struct pm_core *k = pm_alloc(sizeof *k);

	k->c = *c;
	k->queue = pm_alloc(c->queue * sizeof *k->queue);
	k->rob = pm_alloc(c->rob * sizeof *k->rob);
	k->lq = pm_alloc(c->lq * sizeof *k->lq);
	k->sq = pm_alloc(c->sq * sizeof *k->sq);
	k->sq_commit = pm_alloc(c->sq * sizeof *k->sq_commit);
	k->iq.v = pm_alloc((c->iq + 16) * sizeof *k->iq.v);
	k->mshr.v = pm_alloc((c->mshr + 1) * sizeof *k->mshr.v);
	k->when = pm_alloc(PORT_RING * sizeof *k->when);
	k->busy = pm_alloc(PORT_RING * sizeof *k->busy);
	for (unsigned i = 0; i < PM_CORE_CLASS_COUNT; i++)
		k->ports[i] = pm_core_ports(c, i);
	k->load_ports = bits(c->loads, 16);
	k->store_ports = bits(c->stores, 20);
	core_slots_init(&k->slots_of, c->width, c->rob);
	k->wait.branch = PM_CORE_SLOT_resteer;
	return k;
}

void pm_core_free(struct pm_core *k)
{
	if (!k)
		return;
	free(k->queue);
	free(k->rob);
	free(k->lq);
	free(k->sq);
	free(k->sq_commit);
	core_slots_release(&k->slots_of);
	free(k->iq.v);
	free(k->mshr.v);
	free(k->when);
	free(k->busy);
	free(k);
}

const struct pm_core_stats *pm_core_stats(const struct pm_core *k)
{
	return &k->st;
}

const struct pm_core_blame *pm_core_blame(const struct pm_core *k)
{
	return &k->blame;
}

const uint64_t *pm_core_slots(struct pm_core *k)
{
	if (k->st.instructions && !k->ended)
		core_slots_end(&k->slots_of, k->dispatch, k->slots, k->commit);
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

/* The first cycle from @t on in which one of @ports is free for @busy cycles; it is taken. Only the
 * first of these cycles is searched for, the others are taken whether free or not, as long as that
 * port was free at first: a divider's tail may delay what comes later, never what came before. */
static inline uint64_t take_port(struct pm_core *k, uint32_t ports, uint64_t t, unsigned busy)
{
	uint32_t free, port;

	for (;; t++) {
		unsigned i = t % PORT_RING;

		if (k->when[i] != t) {
			k->when[i] = t;
			k->busy[i] = 0;
		}
		free = ports & ~k->busy[i];
		if (free)
			break;
	}
	port = free & -free;
	for (unsigned d = 0; d < busy; d++) {
		unsigned i = (t + d) % PORT_RING;

		if (k->when[i] != t + d) {
			k->when[i] = t + d;
			k->busy[i] = 0;
		}
		k->busy[i] |= port;
	}
	return t;
}

static inline uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t regs_ready(const struct pm_core *k, uint64_t regs, uint64_t t)
{
	for (; regs; regs &= regs - 1)
		t = max(t, k->reg[__builtin_ctzll(regs)]);
	return t;
}

/* (1) */
static uint64_t fetch_one(struct pm_core *k, const struct pm_core_op *op)
{
	uint64_t *q = k->queue + k->st.instructions % k->c.queue, before = k->fetch;

	k->wait.missed = 0;
	if (op->fetch_level) {
		k->wait.missed = k->c.lat[op->fetch_level] + (k->insns > 0);
		k->fetch += k->wait.missed;
		k->front = FRONT_FETCH;
		k->front_pc = op->pc;
		k->misled = false;
	} else if (k->insns == k->c.fetch || k->bytes + op->len > k->c.bytes) {
		if (k->insns)
			k->fetch++;
	}
	k->fetch = max(k->fetch, *q);
	if (k->fetch != before)
		k->insns = k->bytes = 0;
	k->insns++;
	k->bytes += op->len;
	k->wait.came = k->fetch + k->c.front;
	k->wait.missed = k->wait.came - k->wait.missed;
	return k->fetch;
}

static void fetch_after(struct pm_core *k, const struct pm_core_op *op, uint64_t resolved)
{
	uint64_t next = k->fetch;

	k->wait.branch = op->redirect == PM_CORE_WRONG	  ? PM_CORE_SLOT_speculation
			 : op->redirect == PM_CORE_BUBBLE ? PM_CORE_SLOT_resteer
							  : PM_CORE_SLOT_bandwidth;
	k->wait.branch_pc = op->pc;
	k->wait.resolved = resolved + 1;
	if (op->redirect == PM_CORE_WRONG) {
		next = resolved + 1;
		k->front = FRONT_BRANCH;
		k->front_pc = op->pc;
	} else if (op->redirect == PM_CORE_BUBBLE) {
		next = k->fetch + k->c.bubble;
		k->front = FRONT_FETCH;
		k->front_pc = op->pc;
	} else if (op->taken) {
		next = k->fetch + 1;
	}
	if (next > k->fetch) {
		k->fetch = next;
		k->insns = k->bytes = 0;
	}
}

/* (2) Dispatch waits until @n scheduler entries are free. */
static uint64_t enter_iq(struct pm_core *k, unsigned n, uint64_t dispatch)
{
	while (k->iq.n && k->iq.n + n > k->c.iq)
		dispatch = max(dispatch, heap_pop(&k->iq) + 1);
	return dispatch;
}

/* (3) *@found: the level where the data, or the line on its way, come from. */
static uint64_t load_one(struct pm_core *k, uint64_t addr, unsigned size, unsigned level,
			 uint64_t issued, uint8_t *found)
{
	uint64_t line = addr >> LINE_SHIFT, data, from, to;
	unsigned f = line % LINES, l1 = k->c.lat[0];
	bool forwarded = false;

	data = issued + l1;
	*found = level;
	if (level) {
		uint64_t start = issued;

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
	} else if (k->fill[f].line == line && k->fill[f].ready > data) {
		data = k->fill[f].ready;
		*found = k->fill[f].level;
	}
	from = addr >> 3;
	to = (addr + (size ? size : 1) - 1) >> 3;
	for (uint64_t w = from; w <= to && w < from + 8; w++)
		if (k->word[w % WORDS].word == w + 1 && k->word[w % WORDS].written > issued) {
			uint64_t got = k->word[w % WORDS].issued + k->c.forward;

			data = forwarded ? max(data, got) : max(issued + l1, got);
			forwarded = true;
			*found = 0;
		}
	k->st.forwarded += forwarded;
	return data;
}

static void count_stall(struct pm_core *k, uint64_t pc, uint64_t commit, bool missed, bool front,
			bool store)
{
	uint64_t gap = commit - k->commit;

	k->blame.why = PM_CORE_NO_STALL;
	if (gap < 2)
		return;
	gap--;
	k->blame = (struct pm_core_blame){ pc, gap, PM_CORE_BY_CORE, false };
	if (front && k->front != FRONT_OK) {
		k->blame.pc = k->front_pc;
		k->blame.misled = k->misled;
		k->blame.why = k->front == FRONT_BRANCH ? PM_CORE_BY_BRANCH : PM_CORE_BY_FETCH;
		*(k->front == FRONT_BRANCH ? &k->st.stall_branch : &k->st.stall_fetch) += gap;
	} else if (missed) {
		k->blame.why = PM_CORE_BY_MEMORY;
		k->st.stall_memory += gap;
	} else if (store) {
		k->blame.why = PM_CORE_BY_STORE;
		k->st.stall_store += gap;
	} else {
		k->st.stall_core += gap;
	}
}

/* (2) The cycle of dispatch, @d at the earliest; *by_store: a full store queue put it off. */
static inline uint64_t dispatch(struct pm_core *k, const struct pm_core_op *op, uint64_t d,
				bool *by_store)
{
	const struct pm_core_conf *c = &k->c;

	if (d <= k->dispatch) {
		d = k->dispatch;
		if (k->slots + op->uops > c->width && k->slots)
			d++;
	}
	d = max(d, k->barrier);
	k->wait.serial = k->barrier;
	k->wait.serial_pc = k->barrier_pc;
	if (op->serial) {
		d = max(d, k->commit + 1);
		if (k->commit + 1 > k->barrier) {
			k->wait.serial = k->commit + 1;
			k->wait.serial_pc = op->pc;
		}
	}
	k->wait.store = k->wait.store_left = 0;
	for (unsigned u = 0; u < op->uops; u++)
		if (k->nuop + u >= c->rob)
			d = max(d, k->rob[(k->nuop + u) % c->rob] + 1);
	for (unsigned i = 0; i < op->nload; i++)
		if (k->nload + i >= c->lq)
			d = max(d, k->lq[(k->nload + i) % c->lq] + 1);
	for (unsigned i = 0; i < op->nstore; i++)
		if (k->nstore + i >= c->sq && k->sq[(k->nstore + i) % c->sq] + 1 > d) {
			d = k->sq[(k->nstore + i) % c->sq] + 1;
			*by_store = true;
			k->wait.store = k->sq_commit[(k->nstore + i) % c->sq] + 1;
			k->wait.store_left = d;
		}
	d = enter_iq(k, op->nload + op->nstore + (k->ports[op->class] != 0), d);
	if (d > k->dispatch) {
		k->wait.pc = op->pc;
		k->wait.before = k->dispatch;
		k->wait.dispatch = d;
		k->wait.used = k->slots;
		k->wait.uops = op->uops;
		core_slots_before(&k->slots_of, &k->wait);
		k->dispatch = d;
		k->slots = 0;
	}
	k->slots += op->uops;
	k->queue[k->st.instructions % c->queue] = d;
	return d;
}

/* (6) Stores leave in order, @issued[] says when they were; later loads may find their words. */
static inline void retire_stores(struct pm_core *k, const struct pm_core_op *op,
				 const uint64_t *issued, uint64_t commit)
{
	const struct pm_core_conf *c = &k->c;

	for (unsigned i = 0; i < op->nstore; i++) {
		uint64_t to = (op->store[i] + (op->store_size[i] ? op->store_size[i] : 1) - 1) >> 3;
		uint64_t come = op->store_level[i] ? issued[i] + c->lat[op->store_level[i]] : 0;
		k->written = max(max(k->written + 1, commit + 1), come);
		k->sq_commit[k->nstore % c->sq] = commit;
		k->sq[k->nstore++ % c->sq] = k->written;
		for (uint64_t w = op->store[i] >> 3; w <= to && w < (op->store[i] >> 3) + 8; w++) {
			k->word[w % WORDS].word = w + 1;
			k->word[w % WORDS].issued = issued[i];
			k->word[w % WORDS].written = k->written;
		}
	}
}

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

/* HOT: once per instruction. */
void pm_core_op(struct pm_core *k, const struct pm_core_op *op, uint64_t times[4])
{
	const struct pm_core_conf *c = &k->c;
	uint64_t fetched = fetch_one(k, op), d = fetched + c->front, by_front = d, ready, done,
		 addr_ready;
	struct core_slots_head head = { .pc = op->pc, .busy = busy_as(op->class) };
	bool by_store = false, missed = false;
	uint32_t ports = k->ports[op->class];

	d = dispatch(k, op, d, &by_store);
	/* (3) - (5) execution */
	addr_ready = regs_ready(k, op->addr_regs, d + 1);
	ready = regs_ready(k, op->data_regs, d + 1);
	for (unsigned i = 0; i < op->nload; i++) {
		uint64_t t = take_port(k, k->load_ports, addr_ready, 1), data;
		uint8_t found;

		heap_push(&k->iq, t);
		data = load_one(k, op->load[i], op->load_size[i], op->load_level[i], t, &found);
		if (data > head.data) {
			head.load = t;
			head.data = data;
			head.level = found;
		}
		missed |= data > t + c->lat[0] && op->load_level[i];
		ready = max(ready, data);
	}
	done = ready;
	if (ports) {
		uint64_t t = take_port(k, ports, ready, classes[op->class].busy);

		heap_push(&k->iq, t);
		done = t + classes[op->class].latency;
		head.exec = t;
		head.done = done;
	}
	for (uint64_t w = op->writes; w; w &= w - 1) {
		unsigned r = __builtin_ctzll(w);

		if (!(op->stack && r == PM_CORE_RSP))
			k->reg[r] = done;
	}
	{
		uint64_t issued[4], commit, last = done;

		for (unsigned i = 0; i < op->nstore; i++) {
			issued[i] = take_port(k, k->store_ports, max(addr_ready, done), 1);
			heap_push(&k->iq, issued[i]);
			last = max(last, issued[i] + 1);
		}
		/* (6) commit */
		commit = last + 1;
		if (commit <= k->commit) {
			commit = k->commit;
			if (k->commit_slots + op->uops > c->width && k->commit_slots)
				commit++;
		}
		count_stall(k, op->pc, commit, missed, d == by_front, by_store);
		k->front = FRONT_OK;
		k->misled = true;
		fetch_after(k, op, done);
		if (commit > k->commit) {
			k->commit = commit;
			k->commit_slots = 0;
		}
		k->commit_slots += op->uops;
		retire_stores(k, op, issued, commit);
		head.commit = commit;
		core_slots_take(&k->slots_of, &head, op->uops);
		for (unsigned u = 0; u < op->uops; u++)
			k->rob[k->nuop++ % c->rob] = commit;
		for (unsigned i = 0; i < op->nload; i++)
			k->lq[k->nload++ % c->lq] = commit;
		if (op->serial) {
			k->barrier = commit + 1;
			k->barrier_pc = op->pc;
		}
		k->st.cycles = commit;
		if (times) {
			times[0] = fetched;
			times[1] = d;
			times[2] = done;
			times[3] = commit;
		}
	}
	k->st.instructions++;
	k->st.uops += op->uops;
	k->st.mispredicted += op->redirect == PM_CORE_WRONG;
}
