/* SPDX-License-Identifier: MIT */
/* oracle/bounds_slow.h - one lane of src/analyse/bounds.h, with everything that ever happened in
 * plain lists: 64-bit times from the first cycle on, no table that forgets but those that the
 * rules have */
#ifndef ORACLE_BOUNDS_H
#define ORACLE_BOUNDS_H

#include <stdlib.h>
#include <string.h>

#include "analyse/bounds.h"
#include "analyse/core.h"
#include "base/mem.h"

struct b_list { uint64_t *v; size_t n, cap; };

static void b_note(struct b_list *l, uint64_t x)
{
	if (l->n == l->cap)
		l->v = realloc(l->v, (l->cap = l->cap * 2 + 64) * sizeof *l->v);
	l->v[l->n++] = x;
}

static uint64_t b_later(uint64_t a, uint64_t b)
{
	return a < b ? b : a;
}

/* A core, and which of its resources is limited. */
struct b_lane {
	struct pm_core_conf c;
	enum pm_bounds_resource only;
	uint32_t window;
	uint64_t reg[64], fetch, dispatch, commit, written, barrier, mem_free, window_began;
	uint64_t insns, bytes, disp_used, commit_used;
	/* of all instructions: dispatched; micro-ops: commit; loads: commit; stores: written;
	 * operations that need the scheduler: issue; lines: when they come */
	struct b_list dispatched, rob, lq, sq, iq, mshr;
	struct b_list cycles;		/* of windows */
	struct pm_map ports;		/* by cycle: a bit for each that is taken */
	uint64_t line[4096], line_comes[4096], word[1024], word_issued[1024];	/* + 1 */
};

static struct b_lane *b_lane_new(const struct pm_core_conf *c, enum pm_bounds_resource only,
				 uint32_t window)
{
	struct b_lane *b = calloc(1, sizeof *b);

	b->c = *c;
	b->only = only;
	b->window = window;
	return b;
}

static void b_lane_free(struct b_lane *b)
{
	struct b_list *l[] = { &b->dispatched, &b->rob, &b->lq, &b->sq, &b->iq, &b->mshr,
		&b->cycles };

	for (size_t i = 0; i < sizeof l / sizeof *l; i++)
		free(l[i]->v);
	pm_map_release(&b->ports);
	free(b);
}

/* As the core's o_port(), where @among are limited. */
static uint64_t b_port(struct b_lane *b, bool limited, uint32_t among, uint64_t t, unsigned busy)
{
	for (; limited; t++) {
		const uint64_t *taken = pm_map_get(&b->ports, t);
		const uint32_t free = among & ~(taken ? (uint32_t)*taken : 0);

		if (!free)
			continue;
		for (unsigned d = 0; d < busy; d++)
			*pm_map_put(&b->ports, t + d, NULL) |= free & -free;
		break;
	}
	return t;
}

/* (1) */
static void b_fetch(struct b_lane *b, const struct pm_core_op *op)
{
	const bool narrow = b->only == PM_BOUNDS_fetch;
	const uint64_t was = b->fetch;
	const size_t k = b->dispatched.n;

	if (op->fetch_level)
		b->fetch += b->c.lat[op->fetch_level] + (b->insns ? 1 : 0);
	else if (narrow && b->insns &&
		 (b->insns == b->c.fetch || b->bytes + op->len > b->c.bytes))
		b->fetch++;
	if (k >= b->c.queue)
		b->fetch = b_later(b->fetch, b->dispatched.v[k - b->c.queue]);
	if (b->fetch != was)
		b->insns = b->bytes = 0;
	b->insns++;
	b->bytes += op->len;
}

/* The entry that has to leave a queue of @size before @more come in. */
static uint64_t b_room(const struct b_list *l, uint64_t size, uint64_t more, uint64_t d)
{
	for (uint64_t i = 0; i < more; i++)
		if (l->n + i >= size && l->n + i - size < l->n)
			d = b_later(d, l->v[l->n + i - size] + 1);
	return d;
}

/* (2) */
static void b_dispatch(struct b_lane *b, const struct pm_core_op *op, unsigned entries)
{
	uint64_t d = b_later(b->fetch + b->c.front, b->dispatch);

	if (b->only == PM_BOUNDS_width && d == b->dispatch && b->disp_used &&
	    b->disp_used + op->uops > b->c.width)
		d++;
	d = b_later(d, b->barrier);
	if (op->serial)
		d = b_later(d, b->commit + 1);
	d = b_room(&b->rob, b->only == PM_BOUNDS_rob ? b->c.rob : 4096, op->uops, d);
	if (b->only == PM_BOUNDS_lq)
		d = b_room(&b->lq, b->c.lq, op->nload, d);
	if (b->only == PM_BOUNDS_sq)
		d = b_room(&b->sq, b->c.sq, op->nstore, d);
	for (; b->only == PM_BOUNDS_iq; d++) {
		size_t left = 0;

		for (size_t i = 0; i < b->iq.n; i++)	/* what has not issued stays */
			if (b->iq.v[i] >= d)
				b->iq.v[left++] = b->iq.v[i];
		b->iq.n = left;
		if (!left || left + entries <= b->c.iq)
			break;
	}
	if (d > b->dispatch)
		b->disp_used = 0;
	b->dispatch = d;
	b->disp_used += op->uops;
	b_note(&b->dispatched, d);
}

/* (3); (2) of bounds.h */
static uint64_t b_load(struct b_lane *b, const struct pm_core_op *op, unsigned i, uint64_t addr)
{
	const uint32_t ports = ((1u << b->c.loads) - 1) << 16;
	const uint64_t t = b_port(b, b->only == PM_BOUNDS_loads, ports, addr, 1);
	const uint64_t line = op->load[i] / 64,
		       last = op->load[i] + (op->load_size[i] ? op->load_size[i] : 1) - 1;
	const unsigned level = op->load_level[i];
	const uint32_t forward =
		b->c.forward < b->c.lat[0] + 3 ? b->c.forward : b->c.lat[0] + 3;
	uint64_t data = t + b->c.lat[0], stored = 0, start = t;
	bool may = false;

	b_note(&b->iq, t);
	for (uint64_t w = op->load[i] / 8; w <= last / 8 && w < op->load[i] / 8 + 8; w++)
		if (b->word[w % 1024] == w + 1) {
			stored = b_later(stored, b->word_issued[w % 1024] + forward);
			may = true;
		}
	if (level) {
		if (b->only == PM_BOUNDS_mshr) {
			size_t left = 0, least = 0;

			for (size_t j = 0; j < b->mshr.n; j++)
				if (b->mshr.v[j] > start)
					b->mshr.v[left++] = b->mshr.v[j];
			b->mshr.n = left;
			for (size_t j = 1; j < left; j++)
				least = b->mshr.v[j] < b->mshr.v[least] ? j : least;
			if (left == b->c.mshr) {
				start = b_later(start, b->mshr.v[least]);
				b->mshr.v[least] = b->mshr.v[--b->mshr.n];
			}
		}
		if (level == 3)
			start = b_later(start, b->mem_free);
		if (start > t + (1 << 22))
			start = t + (1 << 22);
		if (level == 3)
			b->mem_free = start + b->c.gap;
		b->line[line % 4096] = line + 1;
		b->line_comes[line % 4096] = start + b->c.lat[level];
		b_note(&b->mshr, start + b->c.lat[level]);
		if (!may)
			data = start + b->c.lat[level];
	} else if (!may && b->line[line % 4096] == line + 1) {
		data = b_later(data, b->line_comes[line % 4096]);
	}
	return b_later(data, stored);
}

/* (5), (6) */
static void b_retire(struct b_lane *b, const struct pm_core_op *op, uint64_t end,
		     const uint64_t *issued)
{
	uint64_t commit = b_later(end + 1, b->commit);

	if (b->only == PM_BOUNDS_width && commit == b->commit && b->commit_used &&
	    b->commit_used + op->uops > b->c.width)
		commit++;
	if (commit > b->commit)
		b->commit_used = 0;
	b->commit = commit;
	b->commit_used += op->uops;
	for (unsigned i = 0; i < op->nstore; i++) {
		const unsigned size = op->store_size[i] ? op->store_size[i] : 1;
		const uint64_t first = op->store[i] / 8, last = (op->store[i] + size - 1) / 8;

		b->written = b_later(b->written, commit) + 1;
		if (op->store_level[i])
			b->written = b_later(b->written,
					     issued[i] + b->c.lat[op->store_level[i]]);
		b_note(&b->sq, b->written);
		for (uint64_t w = first; w <= last && w < first + 8; w++) {
			b->word[w % 1024] = w + 1;
			b->word_issued[w % 1024] = issued[i];
		}
	}
	for (unsigned u = 0; u < op->uops; u++)
		b_note(&b->rob, commit);
	for (unsigned i = 0; i < op->nload; i++)
		b_note(&b->lq, commit);
	if (op->serial)
		b->barrier = commit + 1;
	if (b->dispatched.n % b->window == 0) {
		b_note(&b->cycles, commit - b->window_began);
		b->window_began = commit;
	}
}

static void b_lane_op(struct b_lane *b, const struct pm_core_op *op)
{
	static const struct { unsigned lat, busy; } cls[] = {
#define C(name, lat, busy, ports, about) { lat, busy },
		PM_CORE_CLASSES(C)
#undef C
	};
	const uint32_t ports = pm_core_ports(&b->c, op->class);
	const bool limited = b->only == (ports < 256 ? PM_BOUNDS_alu : PM_BOUNDS_vec);
	uint64_t ready, addr, done, end, store_at[4], was;

	b_fetch(b, op);
	b_dispatch(b, op, op->nload + op->nstore + (ports ? 1 : 0));
	ready = addr = b->dispatch + 1;
	for (int r = 0; r < 64; r++) {
		if (op->addr_regs >> r & 1)
			addr = b_later(addr, b->reg[r]);
		if (op->data_regs >> r & 1)
			ready = b_later(ready, b->reg[r]);
	}
	for (unsigned i = 0; i < op->nload; i++)
		ready = b_later(ready, b_load(b, op, i, addr));
	done = ready;
	if (ports) {
		const uint64_t t = b_port(b, limited, ports, ready, cls[op->class].busy);

		b_note(&b->iq, t);
		done = t + cls[op->class].lat;
	}
	for (int r = 0; r < 64; r++)
		if ((op->writes >> r & 1) && !(r == 4 && op->stack))
			b->reg[r] = done;
	was = b->fetch;
	if (op->redirect == PM_CORE_WRONG)
		b->fetch = b_later(b->fetch, done + 1);
	else if (op->redirect == PM_CORE_BUBBLE)
		b->fetch += b->c.bubble;
	else if (op->taken)
		b->fetch++;
	if (b->fetch != was)
		b->insns = b->bytes = 0;
	end = done;
	for (unsigned i = 0; i < op->nstore; i++) {
		store_at[i] = b_port(b, b->only == PM_BOUNDS_stores,
				     ((1u << b->c.stores) - 1) << 20, b_later(addr, done), 1);
		b_note(&b->iq, store_at[i]);
		end = b_later(end, store_at[i] + 1);
	}
	b_retire(b, op, end, store_at);
}

/* No operation follows: the last window may be short. */
static void b_lane_end(struct b_lane *b)
{
	if (b->dispatched.n % b->window)
		b_note(&b->cycles, b->commit - b->window_began);
}

/* (5) of bounds.h for ports, over all sets of them. @issues by class, then loads, stores. */
static uint64_t b_ports_bound(const struct pm_core_conf *c,
			      const uint64_t issues[PM_CORE_CLASS_COUNT + 2])
{
	uint64_t most = 0;

	for (uint32_t set = 1; set < 1u << 16; set++) {
		uint64_t n = 0;
		const unsigned ports = __builtin_popcount(set);

		/* ALUs and vector ports together bound no more than the fuller of the two */
		if (set & 0xff && set >> 8)
			continue;
		for (unsigned k = 0; k < PM_CORE_CLASS_COUNT; k++) {
			const uint32_t mine = pm_core_ports(c, k);

			if (mine && (mine & set) == mine)
				n += issues[k];
		}
		most = b_later(most, (n + ports - 1) / ports);
	}
	most = b_later(most, (issues[PM_CORE_CLASS_COUNT] + c->loads - 1) / c->loads);
	return b_later(most, (issues[PM_CORE_CLASS_COUNT + 1] + c->stores - 1) / c->stores);
}

#endif
