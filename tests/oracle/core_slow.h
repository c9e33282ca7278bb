/* SPDX-License-Identifier: MIT */
/* oracle/core_slow.h - the rules of src/analyse/core.h with everything that ever happened in plain
 * lists */
#ifndef ORACLE_CORE_H
#define ORACLE_CORE_H

#include <stdlib.h>
#include <string.h>

#include "analyse/core.h"

#define O_CYCLES (1u << 22)

struct o_times { uint64_t *v; size_t n, cap; };

static void o_note(struct o_times *t, uint64_t x)
{
	if (t->n == t->cap)
		t->v = realloc(t->v, (t->cap = t->cap * 2 + 64) * sizeof *t->v);
	t->v[t->n++] = x;
}

static uint64_t o_take_least(struct o_times *t)
{
	size_t at = 0;
	uint64_t x;

	for (size_t i = 1; i < t->n; i++)
		if (t->v[i] < t->v[at])
			at = i;
	x = t->v[at];
	t->v[at] = t->v[--t->n];
	return x;
}

/* What tests/oracle/topdown_slow.h wants to know of an operation. */
struct o_op {
	uint64_t pc, came, missed, dispatched, commit, load, data, exec, done, left,
		 left_commit, complete;
	unsigned uops, level, class, redirect;
	bool serial;
};

struct o_core {
	struct pm_core_conf c;
	uint64_t reg[64], fetch, barrier, commit, dispatch, written, mem_free;
	unsigned insns, bytes, disp_used, commit_used;
	/* of all instructions, micro-ops, loads, stores so far */
	struct o_times dispatched, rob, lq, sq, iq, mshr, walks;
	uint32_t *port;			/* by cycle */
	/* blocks of code: when each was predicted, and its last operation fetched */
	struct o_times predicted, fetched;
	uint64_t block_line, resume;
	bool block_ended;
	struct pm_core_fdip_stats fdip;
	struct { uint64_t line, ready; unsigned level; } fill[4096];
	struct { uint64_t word, issued, written; bool used; } word[1024];
	enum pm_core_redirect before;	/* of the instruction before */
	/* how long commit waited for the last one, why, and whether that is the fault of the one
	 * before */
	uint64_t gap;
	enum pm_core_why why;
	bool misled;
	struct o_op *op;
	size_t nop, cap_op;
	struct o_times sq_commit, results;
};

static struct o_core *o_core_new(const struct pm_core_conf *c)
{
	struct o_core *o = calloc(1, sizeof *o);

	o->c = *c;
	o->port = calloc(O_CYCLES, sizeof *o->port);
	return o;
}

static void o_core_free(struct o_core *o)
{
	free(o->dispatched.v);
	free(o->rob.v);
	free(o->lq.v);
	free(o->sq.v);
	free(o->sq_commit.v);
	free(o->results.v);
	free(o->op);
	free(o->iq.v);
	free(o->mshr.v);
	free(o->walks.v);
	free(o->predicted.v);
	free(o->fetched.v);
	free(o->port);
	free(o);
}

static uint64_t o_port(struct o_core *o, unsigned lowest, unsigned count, uint32_t among,
		       uint64_t t, unsigned busy)
{
	for (;; t++)
		for (unsigned p = lowest; p < lowest + count; p++)
			if ((among >> p & 1) && !(o->port[t] >> p & 1)) {
				for (unsigned d = 0; d < busy; d++)
					o->port[t + d] |= 1u << p;
				return t;
			}
}

static uint64_t o_later(uint64_t a, uint64_t b)
{
	return a < b ? b : a;
}

/* Translation begins in cycle @t: when it ends. */
static uint64_t o_known(struct o_core *o, uint64_t t, unsigned wait)
{
	uint64_t end = t;

	if (!wait)
		return t;
	if (wait > o->c.stlb && o->c.walkers) {
		for (size_t j = 0; j < o->walks.n; )	/* those that have ended */
			if (o->walks.v[j] <= t)
				o->walks.v[j] = o->walks.v[--o->walks.n];
			else
				j++;
		if (o->walks.n == o->c.walkers)
			end = o_later(t, o_take_least(&o->walks));
		o_note(&o->walks, end + wait);
	}
	return end + wait;
}

/* (10) Is the operation in a new block? Then the block is predicted. */
static uint64_t o_predicted(struct o_core *o, const struct pm_core_op *op)
{
	const size_t n = o->predicted.n, most = o->c.blocks;
	uint64_t t = n ? o->predicted.v[n - 1] : 0;

	if (n && !o->block_ended && op->pc / 64 == o->block_line)
		return t;
	t = o_later(t, o->resume);
	if (n >= o->c.fdip)
		t = o_later(t, o->fetched.v[n - o->c.fdip]);
	if (n >= most && o->predicted.v[n - most] == t)
		t++;
	o_note(&o->predicted, t);
	o_note(&o->fetched, 0);
	o->block_line = op->pc / 64;
	o->block_ended = false;
	return t;
}

/* (10) Fetch as if all code were there, then as it is. */
static void o_fetch_ahead(struct o_core *o, const struct pm_core_op *op, uint64_t left,
			  uint64_t *waited)
{
	const uint64_t asked = o_predicted(o, op);
	uint64_t there = o_known(o, asked, op->fetch_wait), wanted = o->fetch;

	there += op->fetch_level ? o->c.lat[op->fetch_level] : 0;
	if (o->insns && (o->insns == o->c.fetch || o->bytes + op->len > o->c.bytes))
		wanted++;
	wanted = o_later(o_later(wanted, left), asked);
	o->fetch = o_later(wanted, there);
	*waited = o->fetch - wanted;
	o->fetched.v[o->fetched.n - 1] = o->fetch;
	if (!op->fetch_level)
		return;
	o->fdip.fdip_issued++;
	if (asked == wanted)
		return;
	o->fdip.fdip_useful++;
	o->fdip.fdip_late += *waited > 0;
	o->fdip.fdip_hidden += (there < wanted ? there : wanted) - asked;
}

/* (11) Is register @r a result of @op? */
static bool o_result(const struct pm_core_op *op, int r)
{
	return op->writes >> r & 1 && !(r == PM_CORE_RSP && op->stack);
}

static void o_core_op(struct o_core *o, const struct pm_core_op *op, uint64_t times[4])
{
	static const struct { unsigned lat, busy; } cls[] = {
#define C(name, lat, busy, ports, about) { lat, busy },
		PM_CORE_CLASSES(C)
#undef C
	};
	const struct pm_core_conf *c = &o->c;
	uint32_t ports = pm_core_ports(c, op->class);
	uint64_t d, ready, addr, done, end, commit, store_at[4], was = o->fetch;
	size_t k = o->dispatched.n;
	unsigned results = 0, entries = op->nload + op->nstore + (ports ? 1 : 0);
	bool missed = false, full = false, code;
	struct o_op note = { .pc = op->pc, .uops = op->uops, .class = op->class,
			     .redirect = op->redirect, .serial = op->serial };

	/* fetch */
	if (c->fdip) {
		o_fetch_ahead(o, op, k < c->queue ? 0 : o->dispatched.v[k - c->queue],
			      &note.missed);
	} else if (op->fetch_level || op->fetch_wait) {
		o->fetch = o_known(o, o->fetch + (o->insns ? 1 : 0), op->fetch_wait);
		o->fetch += op->fetch_level ? c->lat[op->fetch_level] : 0;
		note.missed = o->fetch - was;
	} else if (o->insns && (o->insns == c->fetch || o->bytes + op->len > c->bytes))
		o->fetch++;
	if (k >= c->queue)
		o->fetch = o_later(o->fetch, o->dispatched.v[k - c->queue]);
	if (o->fetch != was)
		o->insns = o->bytes = 0;
	o->insns++;
	o->bytes += op->len;
	times[0] = o->fetch;
	note.came = o->fetch + c->front;
	code = note.missed > 0;
	note.missed = note.came - note.missed;
	/* dispatch */
	d = o_later(o->fetch + c->front, o->dispatch);
	if (d == o->dispatch && o->disp_used && o->disp_used + op->uops > c->width)
		d++;
	d = o_later(d, o->barrier);
	if (op->serial)
		d = o_later(d, o->commit + 1);
	for (unsigned u = 0; u < op->uops; u++)
		if (o->rob.n + u >= c->rob)
			d = o_later(d, o->rob.v[o->rob.n + u - c->rob] + 1);
	for (unsigned i = 0; i < op->nload; i++)
		if (o->lq.n + i >= c->lq)
			d = o_later(d, o->lq.v[o->lq.n + i - c->lq] + 1);
	for (unsigned i = 0; i < op->nstore; i++)
		if (o->sq.n + i >= c->sq && o->sq.v[o->sq.n + i - c->sq] >= d) {
			d = o->sq.v[o->sq.n + i - c->sq] + 1;
			full = true;
			note.left = d;
			note.left_commit = o->sq_commit.v[o->sq.n + i - c->sq];
		}
	for (int r = 0; r < 64; r++)		/* as many as there may be */
		if (results < c->regs && o_result(op, r)) {
			results++;
			if (o->results.n + results > c->regs)
				d = o_later(d, o->results.v[o->results.n + results - 1 -
							    c->regs] + 1);
		}
	while (o->iq.n && o->iq.n + entries > c->iq)
		d = o_later(d, o_take_least(&o->iq) + 1);
	if (d > o->dispatch)
		o->disp_used = 0;
	o->dispatch = d;
	o->disp_used += op->uops;
	o_note(&o->dispatched, d);
	note.dispatched = times[1] = d;
	/* execution */
	ready = addr = d + 1;
	for (int r = 0; r < 64; r++) {
		if (op->addr_regs >> r & 1)
			addr = o_later(addr, o->reg[r]);
		if (op->data_regs >> r & 1)
			ready = o_later(ready, o->reg[r]);
	}
	for (unsigned i = 0; i < op->nload; i++) {
		const uint64_t left = o_port(o, 16, c->loads, ~0u, addr, 1),
			       t = o_known(o, left, op->load_wait[i]);
		uint64_t line = op->load[i] / 64, data = t + c->lat[0], fw = 0;
		unsigned level = op->load_level[i];

		o_note(&o->iq, left);
		if (op->load_level[i]) {
			uint64_t start = t;

			for (size_t j = 0; j < o->mshr.n; )	/* those that have arrived */
				if (o->mshr.v[j] <= start)
					o->mshr.v[j] = o->mshr.v[--o->mshr.n];
				else
					j++;
			if (o->mshr.n == c->mshr)
				start = o_later(start, o_take_least(&o->mshr));
			if (op->load_level[i] == 3) {
				start = o_later(start, o->mem_free);
				o->mem_free = start + c->gap;
			}
			data = start + c->lat[op->load_level[i]];
			o_note(&o->mshr, data);
			o->fill[line % 4096].line = line;
			o->fill[line % 4096].ready = data;
			o->fill[line % 4096].level = level;
		} else if (o->fill[line % 4096].line == line) {
			if (o->fill[line % 4096].ready > data)
				level = o->fill[line % 4096].level;
			data = o_later(data, o->fill[line % 4096].ready);
		}
		for (uint64_t w = op->load[i] / 8;
		     w <= (op->load[i] + (op->load_size[i] ? op->load_size[i] : 1) - 1) / 8 &&
		     w < op->load[i] / 8 + 8;
		     w++)
			if (o->word[w % 1024].used && o->word[w % 1024].word == w &&
			    o->word[w % 1024].written > t)
				fw = o_later(fw, o->word[w % 1024].issued + c->forward);
		if (fw) {
			data = o_later(t + c->lat[0], fw);
			level = 0;
		}
		if (data > note.data) {
			note.load = left;
			note.data = data;
			note.level = level;
		}
		ready = o_later(ready, data);
		if ((op->load_level[i] || op->load_wait[i]) && data > left + c->lat[0])
			missed = true;
	}
	done = ready;
	if (ports) {
		uint64_t t = o_port(o, 0, 16, ports, ready, cls[op->class].busy);

		o_note(&o->iq, t);
		done = t + cls[op->class].lat;
		note.exec = t;
		note.done = done;
	}
	for (int r = 0; r < 64; r++)
		if ((op->writes >> r & 1) && !(r == 4 && op->stack))
			o->reg[r] = done;
	note.complete = times[2] = done;
	was = o->fetch;
	if (op->redirect == PM_CORE_WRONG)
		o->fetch = o_later(o->fetch, done + 1);
	else if (op->redirect == PM_CORE_BUBBLE)
		o->fetch += c->bubble;
	else if (op->taken)
		o->fetch++;
	if (op->redirect != PM_CORE_STRAIGHT)
		o->resume = o->fetch;
	o->block_ended = op->taken || op->redirect != PM_CORE_STRAIGHT;
	if (o->fetch != was)
		o->insns = o->bytes = 0;
	/* stores, commit */
	end = done;
	for (unsigned i = 0; i < op->nstore; i++) {
		store_at[i] = o_port(o, 20, c->stores, ~0u, o_later(addr, done), 1);
		o_note(&o->iq, store_at[i]);
		store_at[i] = o_known(o, store_at[i], op->store_wait[i]);
		end = o_later(end, store_at[i] + 1);
	}
	commit = o_later(end + 1, o->commit);
	if (commit == o->commit && o->commit_used && o->commit_used + op->uops > c->width)
		commit++;
	if (commit > o->commit)
		o->commit_used = 0;
	o->gap = commit > o->commit + 1 ? commit - o->commit - 1 : 0;
	o->misled = d == times[0] + c->front && !code && o->before != PM_CORE_STRAIGHT;
	if (!o->gap)
		o->why = PM_CORE_NO_STALL;
	else if (o->misled)
		o->why = o->before == PM_CORE_WRONG ? PM_CORE_BY_BRANCH : PM_CORE_BY_FETCH;
	else if (d == times[0] + c->front && code)
		o->why = PM_CORE_BY_FETCH;
	else
		o->why = missed ? PM_CORE_BY_MEMORY : full ? PM_CORE_BY_STORE : PM_CORE_BY_CORE;
	o->commit = commit;
	o->commit_used += op->uops;
	times[3] = commit;
	for (unsigned i = 0; i < op->nstore; i++) {
		o->written = o_later(o->written + 1, commit + 1);
		if (op->store_level[i])
			o->written = o_later(o->written, store_at[i] + c->lat[op->store_level[i]]);
		o_note(&o->sq, o->written);
		o_note(&o->sq_commit, commit);
		for (uint64_t w = op->store[i] / 8;
		     w <= (op->store[i] + (op->store_size[i] ? op->store_size[i] : 1) - 1) / 8 &&
		     w < op->store[i] / 8 + 8;
		     w++) {
			o->word[w % 1024].used = true;
			o->word[w % 1024].word = w;
			o->word[w % 1024].issued = store_at[i];
			o->word[w % 1024].written = o->written;
		}
	}
	for (unsigned u = 0; u < op->uops; u++)
		o_note(&o->rob, commit);
	for (unsigned i = 0; i < op->nload; i++)
		o_note(&o->lq, commit);
	while (results--)
		o_note(&o->results, commit);
	if (op->serial)
		o->barrier = commit + 1;
	o->before = op->redirect;
	note.commit = commit;
	if (o->nop == o->cap_op)
		o->op = realloc(o->op, (o->cap_op = o->cap_op * 2 + 64) * sizeof *o->op);
	o->op[o->nop++] = note;
}

#endif
