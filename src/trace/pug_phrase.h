/* SPDX-License-Identifier: MIT */
/* pug_phrase.h - the model of a chunk: what its writer and its reader know alike about what comes
 *
 * A *phrase* is a block entry with its references, an instruction with its references and branch,
 * or one rare event: the longest run of events, all known by their heads (kind, flags, size, id),
 * that always comes as a whole. It consists of a *head* (PM_EV_BLOCK, PM_EV_INSN, PM_EV_LINE: the
 * address belongs to it), which may be missing, and of up to PUG_ELEMS *elements*, whose addresses
 * change and are predicted each for itself. A stream is a walk from phrase to phrase; a phrase
 * remembers where the walk went from it, and where it depends on the path, a table indexed by the
 * path does.
 *
 * A phrase is *free* if it is the expected one and all values and addresses are the predicted ones.
 * Stored is how many free phrases came before each that was not, and what was different about
 * it. */
#ifndef PM_TRACE_PUG_PHRASE_H
#define PM_TRACE_PUG_PHRASE_H

#include "trace/pug.h"

#define PUG_ELEMS	31		/* in one phrase; the next one, without a head, has the
					 * rest */

/* An op: bits 0-2 the phrase, 3 values in MASK, 5-7 addresses: 0 as predicted, 1..6 only element
 * k - 1 is not, 7 those in MASK. */
enum pug_op {
	PUG_OP_EXPECTED = 0,		/* the one that the path expects */
	PUG_OP_NEXT = 1,		/* the last successor, the one before that */
	PUG_OP_ALT = 2,
	PUG_OP_KNOWN = 3,		/* number in COL_PHRASE */
	PUG_OP_NEW = 4,			/* definition in COL_NEW */
	PUG_OP_SWITCH = 5,		/* no phrase: another slot, varint in COL_SIDE */
	PUG_OP_VALUES = 1 << 3,
	PUG_OP_ADDRS = 5,		/* shift */
	PUG_OP_MASK = 7,
};

/* How an address is given that is not what the element's mode predicts. 0..4 become its mode. */
enum pug_how {
	PUG_HOW_STRIDE,			/* last + stride */
	PUG_HOW_PREV,			/* as far from the previous reference as last time */
	PUG_HOW_PREV2,			/* ... from the one before it */
	PUG_HOW_STACK,			/* ... from the last implicit stack reference */
	PUG_HOW_SEEN,			/* what followed this element's last address before */
	PUG_HOW_D16, PUG_HOW_D32,	/* difference in a column */
	PUG_HOW_A64,			/* in a column */
	PUG_HOW_BASE = 8,		/* bit: the difference counts from the previous
					 * reference, not from last */
	PUG_HOW_STAY = 16,	/* bit: from here on it is always given so, and that is free */
};

/* An element's mode: 0..4 as in enum pug_how are predictions; from 5 on the address is given as a
 * difference: 5, 6 of 16 bits, 7, 8 of 32 bits, from its own last address and from the previous
 * one. */
#define PUG_MODE_GIVEN	5
static inline uint8_t pug_mode_given(uint8_t how)
{
	return (uint8_t)(PUG_MODE_GIVEN + (how & PUG_HOW_BASE ? 1 : 0) +
			 ((how & 7) == PUG_HOW_D32 ? 2 : 0));
}

static inline uint64_t pug_given_base(uint8_t mode, uint64_t last, uint64_t prev)
{
	return (mode - PUG_MODE_GIVEN) & 1 ? prev : last;
}

struct pug_elem {			/* one cache line */
	uint64_t sig;			/* first 8 bytes of the event; PUG_SIDE: kind | 0x80, id
					 * made stable */
	uint64_t value;
	uint64_t last;			/* address */
	uint64_t off[4];		/* stride; distance from prev, prev2, stack */
	uint32_t def;			/* number of its definition (micro-ops, bus transactions) */
	uint8_t mode;			/* which prediction is believed, or PUG_MODE_GIVEN.. */
	uint8_t class;			/* enum pug_class, PUG_IS_REF */
	uint8_t sure;			/* the last address was foretold: one surprise does not
					 * change the stride */
	uint8_t row;			/* writer: surprises in a row; PUG_MODE_GIVEN: strides in
					 * a row */
};
_Static_assert(sizeof(struct pug_elem) == 64, "a cache line");

struct pug_phrase {			/* another one */
	uint64_t sig;			/* of its head; 0: it has none */
	uint64_t addr, value;
	uint64_t insns;			/* instructions that it stands for */
	uint32_t code;			/* number of the code table + 1; 0: none */
	uint32_t elem;			/* the first of its elements */
	uint32_t next, alt;		/* the last successor, another one before it */
	uint32_t uses;			/* in this chunk */
	uint8_t n;			/* elements */
	uint8_t multi;			/* has had two different successors: ask the path */
	uint8_t side;			/* its only element is PUG_SIDE */
	uint8_t odd;			/* writer: a value is not what it usually is */
	uint8_t pad[4];
};
_Static_assert(sizeof(struct pug_phrase) == 64, "a cache line");

struct pug_ctx {			/* what the model knows about a stream within a chunk */
	uint32_t cur;			/* its last phrase */
	uint32_t code;			/* number of the stream's code table + 1; 0: it has none */
	uint64_t hist;			/* path through the last phrases with several successors */
	uint64_t base[4];		/* [1..3]: addresses of the previous reference, the one
					 * before it, the last stack reference; [0] is scratch */
};

struct pug_model {
	struct pug_phrase *phrase;	/* [0] is the root, before the first phrase of a stream */
	struct pug_elem *elem;
	uint32_t n, cap, nelem, cap_elem;
	uint32_t *expect;		/* by path: the expected phrase */
	uint64_t *seen;			/* by element and last address: the next address */
	unsigned path_bits, seen_bits;	/* log2 of their sizes; seen_bits 0: no such table */
	uint32_t new_id;		/* the last new head's id and address */
	uint64_t new_addr;
};

#define PUG_BITS_MIN	8
#define PUG_PATH_MAX	20
#define PUG_SEEN_MAX	22

void pug_model_reset(struct pug_model *m, unsigned path_bits, unsigned seen_bits);
/* A new phrase without elements, an element at its end: both zeroed; may move the arrays. */
uint32_t pug_model_phrase(struct pug_model *m);
struct pug_elem *pug_model_elem(struct pug_model *m);
/* Events by kind: what all uses of all phrases of the chunk were. */
void pug_model_tally(const struct pug_model *m, uint64_t kind[PM_EV_COUNT]);
void pug_model_release(struct pug_model *m);

/* Events that only ever continue a phrase. */
static inline bool pug_is_tail(uint8_t kind)
{
	_Static_assert(PM_EV_WRITE == PM_EV_READ + 1 && PM_EV_MODIFY == PM_EV_READ + 2 &&
		       PM_EV_BRANCH == PM_EV_READ + 3, "one comparison");
	return (uint8_t)(kind - PM_EV_READ) < 4;
}

/* What a head counts as. */
static inline uint64_t pug_insns(uint64_t sig, uint64_t value)
{
	return (uint8_t)sig == PM_EV_BLOCK ? value : (uint8_t)sig == PM_EV_INSN;
}

/* HOT, all of these: once per phrase or reference, on both sides. */
static inline uint32_t pug_path_slot(const struct pug_model *m, uint32_t cur, uint64_t hist)
{
	return (uint32_t)(((hist ^ cur) * 0x9e3779b97f4a7c15u) >> (64 - m->path_bits));
}

static inline uint64_t pug_path_next(uint64_t hist, uint32_t to)
{
	return (hist << 11) ^ (to * 0x9e3779b1u);
}

static inline size_t pug_seen_slot(const struct pug_model *m, uint32_t elem, uint64_t last)
{
	return (size_t)(((last ^ (uint64_t)elem << 44) * 0x9e3779b97f4a7c15u) >>
			(64 - m->seen_bits));
}

/* What a reference's mode predicts. Mode 0 counts from the element's own last address: a store and
 * a load instead of a branch that nobody could foretell. */
static inline uint64_t pug_predict(const struct pug_model *m, const struct pug_elem *e,
				   uint32_t number, struct pug_ctx *c)
{
	if (__builtin_expect(e->mode == PUG_HOW_SEEN, 0))
		return m->seen[pug_seen_slot(m, number, e->last)];
	c->base[0] = e->last;
	return c->base[e->mode] + e->off[e->mode];
}

/* The reference happened at @addr. */
static inline void pug_ref_done(struct pug_elem *e, struct pug_ctx *c, uint64_t addr)
{
	uint64_t prev = c->base[1], prev2 = c->base[2], stack = c->base[3];

	e->last = addr;
	e->off[1] = addr - prev;
	e->off[2] = addr - prev2;
	e->off[3] = addr - stack;
	c->base[2] = prev;
	c->base[1] = addr;
	c->base[3] = e->sig & (uint64_t)PM_REF_STACK << 8 ? addr : stack;
}

/* Before that, if it was not foretold: after two surprises the stride is the last difference. One,
 * like the end of a loop, it survives. */
static inline void pug_restride(struct pug_elem *e, uint64_t addr)
{
	uint64_t d = addr - e->last;

	if (d == e->off[0]) {
		e->sure = 1;
		return;
	}
	if (!e->sure)
		e->off[0] = d;
	e->sure = 0;
}

/* Control went on to @to although another phrase, or none, was expected. */
static inline void pug_learn(struct pug_model *m, uint32_t from, uint32_t to)
{
	struct pug_phrase *p = m->phrase + from;

	if (p->next == to)
		return;
	p->multi = p->next != 0;
	p->alt = p->next;
	p->next = to;
}

#endif
