/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temp.h"
#include "trace/expand.h"
#include "trace/insns.h"
#include "trace/text.h"

/* ---- bytes of earlier epochs ---------------------------------------------------------------- */

/* A hash table in a temporary file: buckets of these, zeros at first. Code that is near is in one
 * bucket, or, where that is full, in those behind it; one is in memory. */
#define SLOTS	170
#define FILLED	56		/* of them on average, at most: whole stretches of code fall into
				 * one */
struct bucket {
	struct insns_slot { uint64_t pc; uint8_t len, bytes[15]; } slot[SLOTS];	/* len 0: free */
	uint8_t pad[16];
};
_Static_assert(sizeof(struct bucket) == 4096, "a page");

struct pm_code_store {
	int fd;
	uint64_t n, buckets;
	uint64_t at;			/* the bucket that is in memory */
	bool dirty;			/* ... and is not in the file like that */
	struct bucket b;
};

static struct pm_code_store *store_new(uint64_t buckets, struct pm_err *err)
{
	struct pm_code_store *s = pm_alloc(sizeof *s);

	s->buckets = buckets;
	s->fd = pm_temp_file(err);
	if (s->fd >= 0 && ftruncate(s->fd, (off_t)(buckets * sizeof s->b)))
		pm_fail_errno(err, "cannot make a temporary file longer");
	return s;
}

static void store_free(struct pm_code_store *s)
{
	if (s && s->fd >= 0)
		close(s->fd);
	free(s);
}

/* The slot of @pc, or where it belongs, until the next call; NULL: the file failed. */
static struct insns_slot *find(struct pm_code_store *s, uint64_t pc, struct pm_err *err)
{
	for (uint64_t k = (pc >> 8) * 0x9e3779b97f4a7c15u >> 20;; k++) {
		k &= s->buckets - 1;
		if (k != s->at) {
			if (s->dirty && pm_temp_write(s->fd, &s->b, sizeof s->b,
						      s->at * sizeof s->b, err) == PM_ERR)
				return NULL;
			s->dirty = false;
			if (pm_temp_read(s->fd, &s->b, sizeof s->b, k * sizeof s->b, err) == PM_ERR)
				return NULL;
			s->at = k;
		}
		for (unsigned i = 0; i < SLOTS; i++)
			if (!s->b.slot[i].len || s->b.slot[i].pc == pc)
				return &s->b.slot[i];
	}
}

static void put(struct pm_code_store *s, const struct insns_slot *what, struct pm_err *err)
{
	struct insns_slot *to = find(s, what->pc, err);

	if (!to)
		return;
	s->n += !to->len;
	*to = *what;
	s->dirty = true;
}

/* All that the table has goes to the store, which is made larger first, if need be. */
static void store_all(struct pm_codes *c)
{
	struct pm_code_store *was = c->store;
	const uint64_t n = c->n + (was ? was->n : 0);
	uint64_t buckets = was ? was->buckets : 4096;

	while (n > buckets * FILLED)
		buckets *= 4;
	if (!was || buckets != was->buckets) {
		c->store = store_new(buckets, &c->err);
		for (uint64_t k = 0; was && k < was->buckets && !pm_failed(&c->err); k++) {
			struct bucket b;
			const bool here = k == was->at;

			if (!here &&
			    pm_temp_read(was->fd, &b, sizeof b, k * sizeof b, &c->err) == PM_ERR)
				break;
			for (unsigned i = 0; i < SLOTS && (here ? &was->b : &b)->slot[i].len; i++)
				put(c->store, &(here ? &was->b : &b)->slot[i], &c->err);
		}
		store_free(was);
	}
	for (size_t i = 0; i < c->n && !pm_failed(&c->err); i++) {
		struct insns_slot s = { .pc = c->insn[i].pc, .len = c->insn[i].len };

		memcpy(s.bytes, c->insn[i].bytes, sizeof s.bytes);
		if (s.len)
			put(c->store, &s, &c->err);
	}
}

static void recall(struct pm_codes *c, struct pm_insn *in)
{
	const struct insns_slot *s = pm_failed(&c->err) ? NULL : find(c->store, in->pc, &c->err);

	if (s && s->len) {
		in->len = s->len;
		memcpy(in->bytes, s->bytes, sizeof in->bytes);
	}
}

/* ---- instructions by address ---------------------------------------------------------------- */

/* HOT: once per executed instruction. */
uint32_t pm_codes_put(struct pm_codes *c, uint64_t pc, const uint8_t *bytes, unsigned len, bool any,
		      enum pm_isa isa, bool *fresh)
{
	uint64_t *at = pm_map_put(&c->pcs, pc, fresh);
	struct pm_insn *in;

	if (!*fresh) {
		in = &c->insn[*at];
		if (!len ||
		    ((any ? in->len <= len : in->len == len) && pm_same(in->bytes, bytes, in->len)))
			return (uint32_t)*at;
		*fresh = true;
	}
	*at = c->n;
	pm_grow(c->insn, c->n, c->cap);
	in = &c->insn[c->n];
	*in = (struct pm_insn){
		.pc = pc, .len = (uint8_t)len, .isa = (uint8_t)isa, .object = PM_NONE
	};
	if (len)
		memcpy(in->bytes, bytes, len);
	else if (c->store)
		recall(c, in);
	return (uint32_t)c->n++;
}

void pm_codes_renew(struct pm_codes *c, uint32_t *a, uint32_t *b)
{
	uint32_t *const keep[] = { a, b };
	struct pm_insn was[2];

	for (unsigned k = 0; k < 2; k++)
		if (*keep[k] != PM_NONE)
			was[k] = c->insn[*keep[k]];
	if (c->once)
		store_all(c);
	pm_map_release(&c->pcs);
	c->n = 0;
	c->code.epoch++;
	for (unsigned k = 0; k < 2; k++) {
		bool fresh;

		if (*keep[k] == PM_NONE)
			continue;
		*keep[k] = pm_codes_put(c, was[k].pc, was[k].bytes, was[k].len, false, was[k].isa,
					&fresh);
		c->insn[*keep[k]] = was[k];
	}
}

void pm_codes_release(struct pm_codes *c)
{
	pm_map_release(&c->pcs);
	free(c->insn);
	store_free(c->store);
	*c = (struct pm_codes){ 0 };
}

struct pm_stream *pm_streams_of(struct pm_streams *s, uint32_t tid)
{
	struct pm_stream *n;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i]->tid == tid)
			return s->v[i];
	pm_grow(s->v, s->n, s->cap);
	n = pm_alloc(sizeof *n);
	n->index = (uint32_t)s->n;
	n->tid = tid;
	return s->v[s->n++] = n;
}

void pm_streams_release(struct pm_streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct pm_streams){ 0 };
}

void pm_outcome_tell(struct pm_outcome *o, struct pm_builder *b, const struct pm_codes *c,
		     bool known, uint64_t next)
{
	struct pm_event *e = &o->ev;
	uint64_t target;

	if (!o->pending)
		return;
	o->pending = false;
	if (!o->told && e->flags & PM_BR_COND && known && next != e->addr + e->size)
		e->flags |= PM_BR_TAKEN;
	if (e->flags & PM_BR_TAKEN && known)
		e->value = next;
	else if (c->insn[e->id].len && pm_insn_target(&c->insn[e->id], &target))
		e->value = target;
	*pm_ev_add(b, PM_EV_BRANCH, 0, 0, 0, 0) = *e;
}

void pm_reps_end(struct pm_reps *r, struct pm_builder *b, const struct pm_codes *c)
{
	if (r->id == PM_NONE)
		return;
	pm_ev_add(b, PM_EV_REP_END, 0, 0, c->insn[r->id].pc, r->iters)->id = r->id;
	r->id = PM_NONE;
}
