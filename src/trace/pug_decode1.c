/* SPDX-License-Identifier: MIT */
/* pug_decode1.c - chunks of version 1, which nobody writes any more
 *
 * Their model is a graph of *nodes*: a node is an event with everything about it that is static
 * (kind, flags, size, id; for instructions and blocks also the address). An event is free if it is
 * the node that the model expects and its address and value are those that the node predicts; what
 * is stored is how many free events came before each one that was not, and what was different about
 * that one. docs/formats/pug.md has the details. */
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "base/mem.h"
#include "trace/pug_decode.h"
#include "trace/tally.h"

enum pug1_col {
	PUG1_COL_RUN,			/* varint per op: free events before it */
	PUG1_COL_OP,			/* u8: what was not free */
	PUG1_COL_NODE,			/* u32: number of a known node */
	PUG1_COL_D16, PUG1_COL_D32,	/* address differences */
	PUG1_COL_A64,			/* addresses */
	PUG1_COL_VAL,			/* u64: value differences */
	PUG1_COL_NEW,			/* definitions of new nodes */
	PUG1_COL_SIDE,			/* everything rare */
	PUG1_NCOLS
};

/* An op: bits 0-2 the node, 3-5 the address, 6 the value, 7 the base of the difference. */
enum pug1_op {
	PUG_NODE_EXPECTED = 0,		/* the one that the history expects */
	PUG_NODE_NEXT = 1,		/* the last successor, the one before that */
	PUG_NODE_ALT = 2,
	PUG_NODE_KNOWN = 3,		/* number in COL_NODE */
	PUG_NODE_NEW = 4,		/* definition in COL_NEW */
	PUG_NODE_SWITCH = 5,		/* no event: another slot, varint in COL_SIDE */

	PUG_ADDR_STRIDE = 0 << 3,	/* last + stride */
	PUG_ADDR_PREV = 1 << 3,		/* as far from the previous reference as last time */
	PUG_ADDR_PREV2 = 2 << 3,	/* ... from the one before it */
	PUG_ADDR_STACK = 3 << 3,	/* ... from the last implicit stack reference */
	PUG_ADDR_SEEN = 4 << 3,		/* what followed this node's last address before */
	PUG_ADDR_D16 = 5 << 3,
	PUG_ADDR_D32 = 6 << 3,
	PUG_ADDR_A64 = 7 << 3,

	PUG_VALUE = 1 << 6,		/* value differs: COL_VAL */
	PUG_BASE_PREV = 1 << 7,	/* D16, D32: against the previous reference, not this node's */
};

const uint8_t pug1_col_width[PUG1_NCOL] = {
	[PUG1_COL_RUN] = 1, [PUG1_COL_OP] = 1, [PUG1_COL_NODE] = 4, [PUG1_COL_D16] = 2,
	[PUG1_COL_D32] = 4, [PUG1_COL_A64] = 8, [PUG1_COL_VAL] = 8, [PUG1_COL_NEW] = 1,
	[PUG1_COL_SIDE] = 1,
};
_Static_assert(PUG1_NCOL == PUG1_NCOLS, "the reader unpacks as many");

struct pug1_node {			/* one cache line: what every event of it needs */
	uint64_t sig;			/* first 8 bytes of the event; PUG_SIDE: kind | 0x80, id
					 * made stable */
	uint64_t value;
	uint64_t last;			/* address */
	uint64_t off[4];		/* stride; distance from prev, prev2, stack; PUG_STATIC:
					 * [1] is the code */
	uint32_t next;			/* last successor */
	uint8_t mode;			/* which address prediction is believed: op code >> 3 */
	uint8_t multi;			/* has had two different successors: ask the history */
	uint8_t class;			/* enum pug_class, PUG_IS_REF: the address is a data
					 * reference's */
	uint8_t sure;			/* the last event was foretold: one surprise does not
					 * change the stride */
};
#define PUG_MODE_SEEN	4		/* PUG_ADDR_SEEN >> 3 */
#define PUG_CLASS(n)	((n)->class & 3)
_Static_assert(sizeof(struct pug1_node) == 64, "a cache line");

struct pug1_cold {			/* the rest of a node */
	uint32_t alt;			/* the successor before .next */
	uint32_t def;			/* number of its definition (micro-ops, bus transactions) */
};

#define PUG1_HIST_BITS	15
#define PUG1_SEEN_BITS	16

struct pug1_model {
	struct pug1_node *node;		/* [0] is the root, before the first event of a stream */
	struct pug1_cold *cold;		/* likewise */
	uint32_t n, cap;
	uint32_t *expect;		/* by history: the expected node */
	uint64_t *seen;			/* by node and last address: the next address */
	uint32_t new_id;		/* the last new node's id and address */
	uint64_t new_addr;
};

/* HOT, all of these: once per event. */
static inline uint32_t pug1_hist_slot(uint32_t cur, uint64_t hist)
{
	return (uint32_t)(((hist ^ cur) * 0x9e3779b97f4a7c15u) >> (64 - PUG1_HIST_BITS));
}

static inline uint64_t pug1_hist_next(uint64_t hist, uint32_t to)
{
	return (hist << 11) ^ (to * 0x9e3779b1u);
}

static inline size_t pug1_seen_slot(uint32_t node, uint64_t last)
{
	return (size_t)(((last ^ (uint64_t)node << 44) * 0x9e3779b97f4a7c15u) >>
			(64 - PUG1_SEEN_BITS));
}

/* The reference happened at @addr. */
static inline void pug1_ref_done(struct pug1_node *n, struct pug_ctx *c, uint64_t addr)
{
	uint64_t prev = c->base[1], prev2 = c->base[2], stack = c->base[3];

	n->last = addr;
	n->off[1] = addr - prev;
	n->off[2] = addr - prev2;
	n->off[3] = addr - stack;
	c->base[2] = prev;
	c->base[1] = addr;
	c->base[3] = n->sig & (uint64_t)PM_REF_STACK << 8 ? addr : stack;
}

/* Before that, if it was not foretold: after two surprises the stride is the last difference. One,
 * like the end of a loop, it survives. */
static inline void pug1_restride(struct pug1_node *n, uint64_t addr)
{
	uint64_t d = addr - n->last;

	if (d == n->off[0]) {
		n->sure = 1;
		return;
	}
	if (!n->sure)
		n->off[0] = d;
	n->sure = 0;
}

/* Control went on to @to although another node, or none, was expected. */
static inline void pug1_learn(struct pug1_model *m, uint32_t from, uint32_t to)
{
	struct pug1_node *cur = m->node + from;

	if (cur->next == to)
		return;
	cur->multi = cur->next != 0;
	m->cold[from].alt = cur->next;
	cur->next = to;
}

static struct pug1_node *aligned(size_t cap, struct pug1_node *old, size_t n)
{
	struct pug1_node *v = pm_alloc_lines(cap * sizeof *v);

	if (n)
		memcpy(v, old, n * sizeof *v);
	free(old);
	return v;
}

struct pug1_model *pug1_model_new(void)
{
	struct pug1_model *m = pm_alloc(sizeof *m);

	m->cap = 4096;
	m->node = aligned(m->cap, NULL, 0);
	m->cold = pm_realloc(NULL, m->cap * sizeof *m->cold);
	m->expect = pm_realloc(NULL, sizeof *m->expect << PUG1_HIST_BITS);
	return m;
}

void pug1_decode_begin(struct pug1_model *m, struct pug_chunk_in *c)
{
	memset(m->expect, 0, sizeof *m->expect << PUG1_HIST_BITS);
	if (c->level > PUG_FAST) {
		if (!m->seen)
			m->seen = pm_realloc(NULL, sizeof *m->seen << PUG1_SEEN_BITS);
		memset(m->seen, 0, sizeof *m->seen << PUG1_SEEN_BITS);
	}
	m->n = 1;
	m->new_id = 0;
	m->new_addr = 0;
	m->node[0] = (struct pug1_node){ .sig = UINT64_MAX, .class = PUG_SIDE };
	m->cold[0] = (struct pug1_cold){ 0 };
}

static uint32_t model_add(struct pug1_model *m)
{
	if (m->n == m->cap) {
		m->cap *= 2;
		m->node = aligned(m->cap, m->node, m->n);
		m->cold = pm_realloc(m->cold, m->cap * sizeof *m->cold);
	}
	m->node[m->n] = (struct pug1_node){ 0 };
	m->cold[m->n] = (struct pug1_cold){ 0 };
	return m->n++;
}

void pug1_model_free(struct pug1_model *m)
{
	if (!m)
		return;
	free(m->node);
	free(m->cold);
	free(m->expect);
	free(m->seen);
	free(m);
}

/* A new node from its definition; its number, or 0. */
static uint32_t new_node(struct pug1_model *m, struct pug_chunk_in *c, uint8_t op,
			 struct pm_err *err)
{
	struct pug_span *neu = c->col + PUG1_COL_NEW;
	const struct pm_code *code = c->now->code ? &c->now->code->code : NULL;
	struct pug_ctx *x = &c->now->ctx;
	uint64_t size, diff, kind, flags, delta = 0;
	struct pm_event ev = { 0 };
	struct pug1_node *n;
	uint32_t to;
	uint8_t k;

	if (neu->end - neu->p < 2)
		goto cut;
	kind = neu->p[0];
	flags = neu->p[1];
	neu->p += 2;
	if (!pug_get_varint(neu, &size) || !pug_get_varint(neu, &diff))
		goto cut;
	k = kind & 0x7f;
	if (!k || k >= PM_EV_COUNT || (pug_class[k] == PUG_SIDE) != (kind >> 7) ||
	    size > UINT16_MAX) {
		pug_damaged(c, "a new event's kind", err);
		return 0;
	}
	ev.kind = (uint8_t)kind;
	ev.flags = (uint8_t)flags;
	ev.size = (uint16_t)size;
	ev.id = m->new_id + (uint32_t)pug_unzigzag(diff);
	m->new_id = ev.id;
	to = model_add(m);
	n = m->node + to;
	memcpy(&n->sig, &ev, 8);
	n->class = pug_class[k];
	if (n->class == PUG_REF)
		n->class |= PUG_IS_REF;
	if (k == PM_EV_UOP || k == PM_EV_BUS) {
		struct pm_cur cur = pm_cur_init(neu->p, (size_t)(neu->end - neu->p), c->at, err);

		pm_grow(c->def, c->ndef, c->cap_def);
		pug_def_get(&cur, k, c->def + c->ndef);
		if (pm_failed(err))
			return 0;
		neu->p = cur.p;
		if (k == PM_EV_BUS || c->def[c->ndef].uop.access != PM_UOP_NO_ACCESS)
			n->class |= PUG_IS_REF;
		m->cold[to].def = (uint32_t)c->ndef++;
	}
	if (PUG_CLASS(n) == PUG_STATIC) {
		uint64_t addr = m->new_addr;

		n->off[1] = x->code;
		if (k == PM_EV_BLOCK) {
			if (ev.id != PM_NONE) {
				if (!code || ev.id >= code->nblock) {
					pug_damaged(c, "a block that is not in the code table",
						    err);
					return 0;
				}
				addr = code->block[ev.id].pc;
				n->value = code->block[ev.id].n;
			}
		} else if (code && ev.id < code->ninsn) {
			addr = code->insn[ev.id].pc;
		} else if (code && ev.id != PM_NONE && (k == PM_EV_INSN || k == PM_EV_BRANCH)) {
			pug_damaged(c, "an instruction that is not in the code table", err);
			return 0;
		}
		switch (op & 7 << 3) {
		case 0:
			break;
		case PUG_ADDR_D16:
			if (!pug_get16(c->col + PUG1_COL_D16, &delta))
				goto cut;
			addr = m->new_addr + delta;
			break;
		case PUG_ADDR_D32:
			if (!pug_get32s(c->col + PUG1_COL_D32, &delta))
				goto cut;
			addr = m->new_addr + delta;
			break;
		case PUG_ADDR_A64:
			if (!pug_get64s(c->col + PUG1_COL_A64, &addr))
				goto cut;
			break;
		default:
			pug_damaged(c, "a new event's address", err);
			return 0;
		}
		n->last = addr;
		m->new_addr = addr;
	}
	return to;
cut:
	pug_damaged(c, "a new event's definition is cut", err);
	return 0;
}

/* The address of an event at @node that the op gives. */
static bool get_addr(struct pug1_model *m, struct pug_chunk_in *c, uint32_t node, uint8_t op,
		     uint64_t *addr)
{
	struct pug1_node *n = m->node + node;
	struct pug_ctx *x = &c->now->ctx;
	uint64_t base = op & PUG_BASE_PREV ? x->base[1] : n->last;
	unsigned k = op >> 3 & 7;
	uint64_t d;

	switch (k << 3) {
	case PUG_ADDR_STRIDE:
		*addr = n->last + n->off[0];
		n->mode = 0;
		return true;
	case PUG_ADDR_PREV:
	case PUG_ADDR_PREV2:
	case PUG_ADDR_STACK:
		*addr = x->base[k] + n->off[k];
		n->mode = (uint8_t)k;
		return n->class & PUG_IS_REF;
	case PUG_ADDR_SEEN:
		if (c->level == PUG_FAST || !(n->class & PUG_IS_REF))
			return false;
		*addr = m->seen[pug1_seen_slot(node, n->last)];
		n->mode = PUG_MODE_SEEN;
		return true;
	case PUG_ADDR_D16:
		if (!pug_get16(c->col + PUG1_COL_D16, &d))
			return false;
		*addr = base + d;
		break;
	case PUG_ADDR_D32:
		if (!pug_get32s(c->col + PUG1_COL_D32, &d))
			return false;
		*addr = base + d;
		break;
	default:
		if (!pug_get64s(c->col + PUG1_COL_A64, addr))
			return false;
		break;
	}
	if (c->level > PUG_FAST && (n->class & PUG_IS_REF))
		m->seen[pug1_seen_slot(node, n->last)] = *addr;
	return true;
}

static enum pm_status get_side(struct pug1_model *m, struct pug_chunk_in *c,
			       const struct pug1_node *n, struct pm_event *ev, struct pm_err *err)
{
	uint8_t kind = n->sig & 0x7f;
	const struct pug_def *def = NULL;
	const char *wrong;

	if (kind == PM_EV_UOP || kind == PM_EV_BUS)
		def = c->def + m->cold[n - m->node].def;
	if (kind == PM_EV_TIME)
		c->time = ev->value;
	wrong = pug_side_get(c->col + PUG1_COL_SIDE, &c->b, def, ev);
	return wrong ? pug_damaged(c, wrong, err) : PM_OK;
}

/* One op and its event, if it has one: *@made. */
static enum pm_status get_op(struct pug1_model *m, struct pug_chunk_in *c, bool *made,
			     struct pm_err *err)
{
	struct pug_ctx *x = &c->now->ctx;
	const struct pug1_node *cur = m->node + x->cur;
	bool asked = cur->multi;
	uint32_t hs = pug1_hist_slot(x->cur, x->hist), to = 0;
	struct pug_span *ops = c->col + PUG1_COL_OP;
	struct pug1_node *n;
	struct pm_event *ev;
	uint64_t v, addr;
	uint8_t op;

	*made = false;
	if (ops->p == ops->end)
		return pug_damaged(c, "it ends too early", err);
	op = *ops->p++;
	switch (op & 7) {
	case PUG_NODE_EXPECTED:
		to = asked && m->expect[hs] ? m->expect[hs] : cur->next;
		break;
	case PUG_NODE_NEXT:
		to = cur->next;
		break;
	case PUG_NODE_ALT:
		to = m->cold[x->cur].alt;
		break;
	case PUG_NODE_KNOWN:
		if (!pug_get32s(c->col + PUG1_COL_NODE, &v))
			return pug_damaged(c, "an event's number is missing", err);
		to = (uint32_t)v;
		break;
	case PUG_NODE_NEW:
		to = new_node(m, c, op, err);
		if (!to)
			return PM_ERR;
		break;
	case PUG_NODE_SWITCH:
		if (!pug_get_varint(c->col + PUG1_COL_SIDE, &v) || !v || v > c->nslot)
			return pug_damaged(c, "a switch to a stream that it does not have", err);
		c->now = c->slot + v - 1;
		return PM_OK;
	}
	if (!to || to >= m->n)
		return pug_damaged(c, "an event that was not defined", err);
	n = m->node + to;
	if (PUG_CLASS(n) == PUG_STATIC) {
		if (n->off[1] != x->code)
			return pug_damaged(c, "an instruction of another code table", err);
		addr = n->last;
	} else {
		if (!get_addr(m, c, to, op, &addr))
			return pug_damaged(c, "an address is missing", err);
		pug1_restride(n, addr);
		if (n->class & PUG_IS_REF)
			pug1_ref_done(n, x, addr);
		else
			n->last = addr;
	}
	if (op & PUG_VALUE) {
		if (!pug_get64s(c->col + PUG1_COL_VAL, &v))
			return pug_damaged(c, "a value is missing", err);
		n->value += v;
		if ((uint8_t)n->sig == PM_EV_BLOCK && n->sig >> 32 != PM_NONE) {
			const struct pm_code *code = &c->now->code->code;

			if (n->value > code->block[n->sig >> 32].n)
				return pug_damaged(c,
						   "a block executed more instructions than it has",
						   err);
		}
	}
	if (asked) {
		m->expect[hs] = to;
		x->hist = pug1_hist_next(x->hist, to);
	}
	if (op & 7)
		pug1_learn(m, x->cur, to);
	x->cur = to;
	ev = c->b.ev + c->b.b.n++;
	memcpy(ev, &n->sig, 8);
	ev->addr = addr;
	ev->value = n->value;
	*made = true;
	return PUG_CLASS(n) == PUG_SIDE ? get_side(m, c, n, ev, err) : PM_OK;
}

/* HOT: up to @count events that are as the model expects; how many, and why it stopped. */
static uint32_t free_events(struct pug1_model *m, struct pug_chunk_in *c, uint32_t count,
			    enum pm_status *status, struct pm_err *err)
{
	struct pug1_node *node = m->node;
	uint32_t *expect = m->expect;
	const uint64_t *seen = m->seen;
	struct pug_ctx *x = &c->now->ctx;	/* runs are short: copying it would cost more */
	uint32_t at = x->cur;
	struct pm_event *ev = c->b.ev + c->b.b.n;
	uint32_t i;

	*status = PM_OK;
	for (i = 0; i < count; i++, ev++) {
		const struct pug1_node *cur = node + at;
		uint32_t p = cur->next, hs = 0;
		bool asked = cur->multi;
		struct pug1_node *n;
		uint64_t addr;

		if (asked) {
			hs = pug1_hist_slot(at, x->hist);
			p = expect[hs] ? expect[hs] : p;
			expect[hs] = p;
			x->hist = pug1_hist_next(x->hist, p);
		}
		n = node + p;
		if (n->class & PUG_IS_REF) {
			if (n->mode == PUG_MODE_SEEN)
				addr = seen[pug1_seen_slot(p, n->last)];
			else
				addr = n->mode ? x->base[n->mode] + n->off[n->mode]
					       : n->last + n->off[0];
			n->sure = 1;
			pug1_ref_done(n, x, addr);
		} else if (n->class == PUG_STATIC) {
			addr = n->last;
			if (n->off[1] != x->code)
				goto bad;
		} else {
			if (!p)
				goto bad;
			addr = n->last + n->off[0];
			n->last = addr;
			n->sure = 1;
		}
		memcpy(ev, &n->sig, 8);
		ev->addr = addr;
		ev->value = n->value;
		at = p;
		if (PUG_CLASS(n) == PUG_SIDE) {
			x->cur = at;
			*status = get_side(m, c, n, ev, err);
			if (*status != PM_OK)
				return i;
		}
	}
	x->cur = at;
	c->b.b.n += i;
	return i;
bad:
	*status = pug_damaged(c, "an event that cannot be expected", err);
	return i;
}

enum pm_status pug1_decode(struct pug1_model *m, struct pug_chunk_in *c, struct pm_err *err)
{
	struct pm_tally t = { 0 };
	struct pug_slot_in *slot;
	uint64_t insns;

	if (c->b.cap_ev < PUG_OUT_EVENTS) {
		c->b.cap_ev = PUG_OUT_EVENTS;
		c->b.ev = pm_realloc(c->b.ev, PUG_OUT_EVENTS * sizeof *c->b.ev);
	}
again:
	slot = c->now;
	pm_builder_reset(&c->b, slot->stream, slot->code ? &slot->code->code : NULL);
	while (c->left && c->b.b.n < PUG_OUT_EVENTS && c->now == slot) {
		enum pm_status s;
		uint32_t want;
		bool made;

		if (!c->run_known) {
			uint64_t run;

			if (!pug_get_varint(c->col + PUG1_COL_RUN, &run) || run > c->left)
				return pug_damaged(c, "a run of events is longer than the chunk",
						   err);
			c->run = (uint32_t)run;
			c->run_known = true;
		}
		want = (uint32_t)(PUG_OUT_EVENTS - c->b.b.n);
		if (want > c->run)
			want = c->run;
		if (want) {
			uint32_t got = free_events(m, c, want, &s, err);

			if (s != PM_OK)
				return s;
			c->run -= got;
			c->left -= got;
		}
		if (c->run || !c->left || c->b.b.n == PUG_OUT_EVENTS)
			continue;
		c->run_known = false;
		if (get_op(m, c, &made, err) != PM_OK)
			return PM_ERR;
		c->left -= made;
	}
	if (!c->b.b.n && c->left)
		goto again;
	c->b.b.first_insn = slot->insns;
	insns = pm_tally_add(&t, c->b.ev, c->b.b.n);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		c->kind[k] += t.kind[k];
	slot->insns += insns;
	c->insns += insns;
	return PM_OK;
}
