/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "trace/pug_encode.h"

#define TABLE_MIN	(1u << 14)
#define GUESS_BITS	16
#define RESERVE		4096		/* events for which the columns have room */
#define ROW_GIVEN	3		/* surprises in a row after which no prediction is tried
					 * any more */
#define ROW_STRIDE	4		/* strides in a row after which one is */

/* ---- columns -------------------------------------------------------------------------------- */

const uint8_t *pug_column(const struct pug_columns *c, enum pug_col k, size_t *n)
{
	const struct pm_buf *b = k == PUG_COL_NEW ? &c->neu : k == PUG_COL_SIDE ? &c->side : NULL;

	*n = b ? b->n : (size_t)(c->at[k] - c->col[k]);
	return b ? b->p : c->col[k];
}

size_t pug_columns_bytes(const struct pug_columns *c)
{
	size_t sum = 0, n;

	for (unsigned k = 0; k < PUG_NCOL; k++) {
		pug_column(c, (enum pug_col)k, &n);
		sum += n;
	}
	return sum;
}

void pug_columns_release(struct pug_columns *c)
{
	for (unsigned k = 0; k < PUG_NCOL; k++)
		free(c->col[k]);
	pm_buf_release(&c->neu);
	pm_buf_release(&c->side);
}

/* Room for what @events more can take, so that nobody need ask for each. */
static void reserve(struct pug_columns *c, size_t events)
{
	static const uint8_t most[PUG_NCOL] = {	/* bytes per event */
		[PUG_COL_RUN] = 5, [PUG_COL_OP] = 1, [PUG_COL_PHRASE] = 4, [PUG_COL_MASK] = 10,
		[PUG_COL_HOW] = 1, [PUG_COL_D16] = 2, [PUG_COL_D32] = 4, [PUG_COL_A64] = 8,
		[PUG_COL_VAL] = 8,
	};

	for (unsigned k = 0; k < PUG_NCOL; k++) {
		size_t n = (size_t)(c->at[k] - c->col[k]), more = events * most[k];

		if (c->cap[k] - n >= more)
			continue;
		c->cap[k] = (n + more) * 2;
		c->col[k] = pm_realloc(c->col[k], c->cap[k]);
		c->at[k] = c->col[k] + n;
	}
}

static inline void put8(struct pug_columns *c, enum pug_col k, uint8_t v)
{
	*c->at[k]++ = v;
}

static inline void put32(struct pug_columns *c, enum pug_col k, uint32_t v)
{
	pug_put32(c->at[k], v);
	c->at[k] += 4;
}

static inline void put64(struct pug_columns *c, enum pug_col k, uint64_t v)
{
	pug_put64(c->at[k], v);
	c->at[k] += 8;
}

static inline void put_varint(struct pug_columns *c, enum pug_col k, uint64_t v)
{
	uint8_t *p = c->at[k];

	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	c->at[k] = p;
}

/* @missed: elements whose addresses were not as predicted; @values: bit 0 the head's value, then
 * the elements'. */
static inline void put_op(struct pug_encoder *e, uint32_t run, uint8_t how, uint32_t missed,
			  uint64_t values)
{
	struct pug_columns *c = e->c;
	unsigned addrs = 0;

	if (missed) {
		addrs = (unsigned)__builtin_ctz(missed) + 1;
		if (addrs >= PUG_OP_MASK || missed & (missed - 1)) {
			addrs = PUG_OP_MASK;
			put_varint(c, PUG_COL_MASK, missed);
		}
	}
	if (values)
		put_varint(c, PUG_COL_MASK, values);
	put_varint(c, PUG_COL_RUN, run);
	put8(c, PUG_COL_OP, (uint8_t)(how | (values ? PUG_OP_VALUES : 0) | addrs << PUG_OP_ADDRS));
}

/* ---- addresses ------------------------------------------------------------------------------ */

static inline void put16(struct pug_columns *c, enum pug_col k, uint64_t d)
{
	uint16_t v = htole16((uint16_t)d);

	memcpy(c->at[k], &v, 2);
	c->at[k] += 2;
}

static inline bool fits(uint64_t d, unsigned bits)
{
	return d + (1ull << (bits - 1)) < 1ull << bits;
}

/* How it is given. */
static inline uint8_t put_difference(struct pug_columns *c, uint64_t addr, uint64_t d0, uint64_t d1)
{
	uint64_t m0 = d0 ^ (uint64_t)((int64_t)d0 >> 63), m1 = d1 ^ (uint64_t)((int64_t)d1 >> 63);
	bool prev = m1 < m0;
	uint64_t d = prev ? d1 : d0;
	uint8_t base = prev ? PUG_HOW_BASE : 0;

	if (fits(d, 16)) {
		put16(c, PUG_COL_D16, d);
		return base | PUG_HOW_D16;
	}
	if (fits(d, 32)) {
		put32(c, PUG_COL_D32, (uint32_t)d);
		return base | PUG_HOW_D32;
	}
	put64(c, PUG_COL_A64, addr);
	return PUG_HOW_A64;
}

/* A reference whose mode predicted something else. */
static __attribute__((noinline)) void put_ref(struct pug_encoder *e, const struct pug_ctx *x,
					      uint32_t number, uint64_t addr)
{
	struct pug_elem *el = e->m.elem + number;
	unsigned hits = (unsigned)(addr == el->last + el->off[0]) |
			(unsigned)(addr == x->base[1] + el->off[1]) << 1 |
			(unsigned)(addr == x->base[2] + el->off[2]) << 2 |
			(unsigned)(addr == x->base[3] + el->off[3]) << 3;
	uint8_t how;

	if (hits) {
		how = el->mode = (uint8_t)__builtin_ctz(hits);
		el->row = 0;
	} else {
		if (e->m.seen_bits) {
			uint64_t *seen = e->m.seen + pug_seen_slot(&e->m, number, el->last),
				 was = *seen;

			*seen = addr;
			if (was == addr) {
				el->mode = PUG_HOW_SEEN;
				el->row = 0;
				put8(e->c, PUG_COL_HOW, PUG_HOW_SEEN);
				pug_restride(el, addr);
				return;
			}
		}
		how = put_difference(e->c, addr, addr - el->last, addr - x->base[1]);
		if (++el->row >= ROW_GIVEN && how != PUG_HOW_A64) {
			how |= PUG_HOW_STAY;
			el->mode = pug_mode_given(how);
			el->row = 0;
		}
	}
	put8(e->c, PUG_COL_HOW, how);
	pug_restride(el, addr);
}

/* A reference that nothing predicts. False: it does not fit, or has become predictable. */
static inline bool put_given(struct pug_encoder *e, const struct pug_ctx *x, struct pug_elem *el,
			     uint64_t addr)
{
	uint64_t d = addr - pug_given_base(el->mode, el->last, x->base[1]);

	el->row = addr == el->last + el->off[0] ? el->row + 1 : 0;
	if (el->row >= ROW_STRIDE)
		return false;
	if (el->mode < PUG_MODE_GIVEN + 2) {
		if (!fits(d, 16))
			return false;
		put16(e->c, PUG_COL_D16, d);
	} else {
		if (!fits(d, 32))
			return false;
		put32(e->c, PUG_COL_D32, (uint32_t)d);
	}
	pug_restride(el, addr);
	return true;
}

/* How far apart addresses are where they come from, in 8 bytes. */
#define EVENT_STEP	(sizeof(struct pm_event) / 8)

/* HOT: the addresses of a phrase's elements; bits of those that were not as predicted. */
static inline __attribute__((always_inline)) uint32_t put_elems(struct pug_encoder *e,
								struct pug_ctx *x, uint32_t number,
								const uint64_t *at, size_t step,
								unsigned n)
{
	struct pug_elem *el = e->m.elem + number;
	uint32_t missed = 0;

	for (unsigned j = 0; j < n; j++, el++, number++, at += step) {
		uint64_t addr = *at;

		if (__builtin_expect(el->class & PUG_IS_REF, 1)) {
			if (el->mode >= PUG_MODE_GIVEN) {
				if (!put_given(e, x, el, addr)) {
					put_ref(e, x, number, addr);
					missed |= 1u << j;
				}
			} else if (__builtin_expect(pug_predict(&e->m, el, number, x) == addr, 1)) {
				el->sure = 1;
				el->row = 0;
			} else {
				put_ref(e, x, number, addr);
				missed |= 1u << j;
			}
			pug_ref_done(el, x, addr);
		} else {
			if (el->last + el->off[0] == addr) {
				el->sure = 1;
			} else {
				put8(e->c, PUG_COL_HOW,
				     put_difference(e->c, addr, addr - el->last, addr - el->last));
				pug_restride(el, addr);
				missed |= 1u << j;
			}
			el->last = addr;
		}
	}
	return missed;
}

/* ---- finding phrases ------------------------------------------------------------------------ */

struct look {				/* a phrase that happened */
	uint64_t sig, addr, value;	/* its head's; 0: it has none */
	uint32_t code;
	const struct pm_event *el;
	unsigned n;
};

static inline uint64_t sig_of(const struct pm_event *ev)
{
	uint64_t sig;

	memcpy(&sig, ev, 8);
	return sig;
}

static inline bool has_head(uint8_t kind)
{
	return kind == PM_EV_BLOCK || kind == PM_EV_INSN || kind == PM_EV_LINE;
}

static inline size_t guess_slot(const struct pm_event *ev, bool head)
{
	/* numbers of blocks and instructions lie together, like the code */
	if (head && ev->id != PM_NONE)
		return ev->id & ((1u << GUESS_BITS) - 1);
	return (size_t)((sig_of(ev) ^ (head ? ev->addr << 24 | ev->addr >> 40 : 0)) *
				0x9e3779b97f4a7c15u >>
			(64 - GUESS_BITS));
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint32_t look_hash(const struct look *l)
{
	uint64_t h = mix(mix(l->code, l->sig), l->addr);

	for (unsigned j = 0; j < l->n; j++)
		h = mix(h, sig_of(l->el + j));
	return (uint32_t)(h >> 16);
}

static uint32_t phrase_hash(const struct pug_model *m, const struct pug_phrase *p)
{
	uint64_t h = mix(mix(p->code, p->sig), p->addr);

	for (unsigned j = 0; j < p->n; j++)
		h = mix(h, m->elem[p->elem + j].sig);
	return (uint32_t)(h >> 16);
}

static bool matches(const struct pug_model *m, uint32_t number, const struct look *l)
{
	const struct pug_phrase *p = m->phrase + number;

	if (p->sig != l->sig || p->addr != l->addr || p->code != l->code || p->n != l->n)
		return false;
	for (unsigned j = 0; j < l->n; j++)
		if (m->elem[p->elem + j].sig != sig_of(l->el + j))
			return false;
	return true;
}

static void table_insert(struct pug_encoder *e, uint32_t number)
{
	uint32_t i = phrase_hash(&e->m, e->m.phrase + number) & e->mask;

	while (e->table[i])
		i = (i + 1) & e->mask;
	e->table[i] = number;
}

static void table_add(struct pug_encoder *e, uint32_t number)
{
	if (number * 2 <= e->mask) {
		table_insert(e, number);
		return;
	}
	free(e->table);
	e->mask = e->mask * 2 + 1;
	e->table = pm_alloc(((size_t)e->mask + 1) * sizeof *e->table);
	for (uint32_t i = 1; i <= number; i++)
		table_insert(e, i);
}

static uint32_t table_find(const struct pug_encoder *e, const struct look *l)
{
	uint32_t i = look_hash(l) & e->mask;

	for (; e->table[i]; i = (i + 1) & e->mask)
		if (matches(&e->m, e->table[i], l))
			return e->table[i];
	return 0;
}

/* What the code table says is not said again. */
static uint64_t known_addr(const struct pug_model *m, const struct pm_code *code, uint64_t sig)
{
	uint32_t id = (uint32_t)(sig >> 32);

	if ((uint8_t)sig == PM_EV_BLOCK && id != PM_NONE)
		return code->block[id].pc;
	if ((uint8_t)sig == PM_EV_INSN && code && id < code->ninsn)
		return code->insn[id].pc;
	return m->new_addr;
}

/* What a new phrase's head is taken to have. */
static uint64_t usual_value(uint64_t sig, const struct pm_code *code)
{
	uint32_t id = (uint32_t)(sig >> 32);

	return (uint8_t)sig == PM_EV_BLOCK && id != PM_NONE ? code->block[id].n : 0;
}

static void put_sig(struct pm_buf *to, uint64_t sig, uint32_t id)
{
	pm_buf_add(to, (uint8_t[2]){ (uint8_t)sig, (uint8_t)(sig >> 8) }, 2);
	pug_varint(to, (uint16_t)(sig >> 16));
	pug_varint(to, pug_zigzag((int32_t)((uint32_t)(sig >> 32) - id)));
}

static uint32_t new_phrase(struct pug_encoder *e, const struct look *l, const struct pm_code *code,
			   const struct pug_item *side)
{
	struct pug_model *m = &e->m;
	struct pm_buf *neu = &e->c->neu;
	uint32_t number = pug_model_phrase(m), id = 0;
	struct pug_phrase *p = m->phrase + number;

	p->sig = l->sig;
	p->addr = l->addr;
	p->code = l->code;
	p->n = (uint8_t)l->n;
	p->side = side != NULL;
	pug_varint(neu, l->n << 1 | (l->sig != 0));
	if (l->sig) {
		put_sig(neu, l->sig, m->new_id);
		pug_varint(neu, pug_zigzag((int64_t)(l->addr - known_addr(m, code, l->sig))));
		m->new_id = (uint32_t)(l->sig >> 32);
		m->new_addr = l->addr;
		p->value = usual_value(l->sig, code);
		if ((uint8_t)l->sig == PM_EV_INSN)
			id = m->new_id;
		p->insns = pug_insns(p->sig, p->value);
	}
	for (unsigned j = 0; j < l->n; j++) {
		struct pug_elem *el = pug_model_elem(m);

		el->sig = sig_of(l->el + j);
		el->class = pug_class[(uint8_t)el->sig];
		if (el->class == PUG_REF)
			el->class |= PUG_IS_REF;
		put_sig(neu, el->sig, id);
		id = (uint32_t)(el->sig >> 32);
		if (!(el->class & PUG_IS_REF) && !side) {
			el->last = l->el[j].addr;
			pug_varint(neu, pug_zigzag((int64_t)(el->last - m->new_addr)));
		}
		if (side) {
			el->def = side->def;
			el->class |= side->ref ? PUG_IS_REF : 0;
			if (side->fresh)
				pug_def_put(neu, el->sig & 0x7f, e->defs.def + side->def);
		}
	}
	table_add(e, number);
	return number;
}

/* ---- an event after the other --------------------------------------------------------------- */

static enum pm_status bad_event(const struct pm_event *ev, const char *what, struct pm_err *err)
{
	return pm_fail_file(err, "an event of kind %u (%s) %s", ev->kind, pm_kind_name(ev->kind),
			    what);
}

static enum pm_status check_event(const struct pm_event *ev, const struct pm_code *code,
				  struct pm_err *err)
{
	if (ev->id == PM_NONE || ev->kind > PM_EV_BRANCH)
		return PM_OK;
	if (ev->kind == PM_EV_BLOCK) {
		if (!code || ev->id >= code->nblock)
			return bad_event(ev, "is not in the code table", err);
		if (ev->value > code->block[ev->id].n)
			return bad_event(ev, "executed more instructions than it has", err);
	}
	if ((ev->kind == PM_EV_INSN || ev->kind == PM_EV_BRANCH) && code && ev->id >= code->ninsn)
		return bad_event(ev, "is not in the code table", err);
	return PM_OK;
}

/* Values that are not the last ones; the phrase learns them. */
static uint64_t put_values(struct pug_encoder *e, struct pug_phrase *p, const struct look *l,
			   const struct pm_code *code)
{
	struct pug_elem *el = e->m.elem + p->elem;
	uint64_t values = 0;

	if (p->value != l->value) {
		values = 1;
		put64(e->c, PUG_COL_VAL, l->value - p->value);
		p->value = l->value;
		p->insns = pug_insns(p->sig, p->value);
	}
	for (unsigned j = 0; j < l->n; j++)
		if (el[j].value != l->el[j].value) {
			values |= 2ull << j;
			put64(e->c, PUG_COL_VAL, l->el[j].value - el[j].value);
			el[j].value = l->el[j].value;
		}
	if (values) {
		p->odd = p->value != usual_value(p->sig, code);
		for (unsigned j = 0; j < l->n; j++)
			p->odd |= el[j].value != 0;
	}
	return values;
}

/* The phrase that begins at *@at, whatever it is. */
static enum pm_status put_phrase(struct pug_encoder *e, struct pug_ctx *x, const struct pm_batch *b,
				 const struct pm_event **at, struct pm_err *err)
{
	struct pug_model *m = &e->m;
	const struct pm_event *ev = *at, *end = b->ev + b->n;
	const struct pug_phrase *cur = m->phrase + x->cur;
	bool asked = cur->multi, side = pug_class[ev->kind] == PUG_SIDE;
	uint32_t slot = pug_path_slot(m, x->cur, x->hist), to, missed;
	uint32_t expected = asked && m->expect[slot] ? m->expect[slot] : cur->next,
		 next = cur->next, alt = cur->alt;
	struct look l = { .code = x->code };
	struct pug_item item;
	uint64_t values;
	uint8_t how;

	if (side) {
		const char *wrong = pug_side_item(&e->defs, b, ev, &item);

		if (wrong)
			return bad_event(ev, wrong, err);
		l.el = &item.ev;
		l.n = 1;
		*at = ev + 1;
	} else {
		if (check_event(ev, b->code, err) != PM_OK)
			return PM_ERR;
		l.el = ev;
		if (has_head(ev->kind)) {
			l.sig = sig_of(ev);
			l.addr = ev->addr;
			l.value = ev->value;
			l.el++;
		} else {
			l.n = 1;
		}
		for (; l.n < PUG_ELEMS && l.el + l.n < end && pug_is_tail(l.el[l.n].kind); l.n++)
			if (check_event(l.el + l.n, b->code, err) != PM_OK)
				return PM_ERR;
		*at = l.el + l.n;
	}

	if (expected && matches(m, expected, &l)) {
		how = PUG_OP_EXPECTED;
		to = expected;
	} else if (next && next != expected && matches(m, next, &l)) {
		how = PUG_OP_NEXT;
		to = next;
	} else if (alt && alt != expected && matches(m, alt, &l)) {
		how = PUG_OP_ALT;
		to = alt;
	} else if ((to = table_find(e, &l)) != 0) {
		how = PUG_OP_KNOWN;
		put32(e->c, PUG_COL_PHRASE, to);
	} else {
		how = PUG_OP_NEW;
		to = new_phrase(e, &l, b->code, side ? &item : NULL);
	}
	values = put_values(e, m->phrase + to, &l, b->code);
	missed = put_elems(e, x, m->phrase[to].elem, &l.el->addr, EVENT_STEP, l.n);
	if (how || values || missed) {
		put_op(e, e->run, how, missed, values);
		e->run = 0;
	} else {
		e->run++;
	}
	e->guess[guess_slot(ev, l.sig != 0)] = to;
	if (asked) {
		m->expect[slot] = to;
		x->hist = pug_path_next(x->hist, to);
	}
	if (how)
		pug_learn(m, x->cur, to);
	x->cur = to;
	m->phrase[to].uses++;
	e->insns += m->phrase[to].insns;
	if (side) {
		pug_side_put(&e->c->side, b, ev, &item);
		if (ev->kind == PM_EV_TIME)
			e->time = ev->value;
	}
	return PM_OK;
}

/* Which of the phrases that can follow @from the phrase @to is, if it can; the model learns that it
 * did. */
static inline __attribute__((always_inline)) uint8_t follow(struct pug_encoder *e, uint32_t cur,
							    uint64_t *hist, uint32_t to)
{
	struct pug_phrase *from = e->m.phrase + cur;
	uint32_t next = from->next;
	uint8_t how;

	if (from->multi) {
		uint32_t *slot = e->m.expect + pug_path_slot(&e->m, cur, *hist);

		next = *slot ? *slot : next;
		*slot = to;
		*hist = pug_path_next(*hist, to);
	}
	if (__builtin_expect(next == to, 1))
		return PUG_OP_EXPECTED;
	how = from->next == to ? PUG_OP_NEXT : from->alt == to ? PUG_OP_ALT : PUG_OP_KNOWN;
	if (how == PUG_OP_KNOWN)
		put32(e->c, PUG_COL_PHRASE, to);
	pug_learn(&e->m, cur, to);
	return how;
}

struct encode_walk {			/* what changes with every phrase, in registers */
	uint32_t cur, run;
	uint64_t insns;
};

/* Phrase @to comes next, which is like the last time but for the addresses of its elements
 * @missed. */
static inline __attribute__((always_inline)) void walk_to(struct pug_encoder *e, struct pug_ctx *x,
							  struct encode_walk *w, uint32_t to,
							  uint32_t missed)
{
	struct pug_phrase *p = e->m.phrase + to;
	const uint8_t how = follow(e, w->cur, &x->hist, to);

	if (missed | how) {
		put_op(e, w->run, how, missed, 0);
		w->run = 0;
	} else {
		w->run++;
	}
	p->uses++;
	w->insns += p->insns;
	w->cur = to;
}

static struct encode_walk walk_begin(const struct pug_encoder *e, const struct pug_ctx *x)
{
	return (struct encode_walk){ x->cur, e->run, 0 };
}

static void walk_end(struct pug_encoder *e, struct pug_ctx *x, const struct encode_walk *w)
{
	x->cur = w->cur;
	e->run = w->run;
	e->insns += w->insns;
}

/* Would another one of phrase @to, which was the last one, too, change no more of the model than
 * its elements, if they go on as they did? */
static bool is_steady(const struct pug_encoder *e, const struct pug_ctx *x, uint32_t to)
{
	const struct pug_phrase *p = e->m.phrase + to;
	const struct pug_elem *el = e->m.elem + p->elem;

	if (p->multi ? pug_path_next(x->hist, to) != x->hist ||
			e->m.expect[pug_path_slot(&e->m, to, x->hist)] != to : p->next != to)
		return false;
	for (unsigned j = 0; j < p->n; j++)
		if (el[j].class & PUG_IS_REF && el[j].mode != PUG_HOW_STRIDE)
			return false;
	return true;
}

/* HOT for rep instructions: phrase @to, which has no head and is steady, over and over, each of its
 * addresses as far from the one before as ever. @ev[-n..-1] were it. Behind the last one. */
static const struct pm_event *same_again(struct pug_encoder *e, struct pug_ctx *x,
					 struct encode_walk *w, uint32_t to,
					 const struct pm_event *ev, const struct pm_event *stop,
					 const struct pm_event *end)
{
	struct pug_phrase *p = e->m.phrase + to;
	struct pug_elem *el = e->m.elem + p->elem;
	const struct pm_event *const first = ev;
	const size_t n = p->n;
	uint32_t times;

	for (uint64_t differs = 0; ev < stop && (size_t)(end - ev) > n; ev += n) {
		for (size_t j = 0; j < n; j++) {
			const struct pm_event *now = ev + j, *was = now - n;

			differs |= (sig_of(now) ^ sig_of(was)) | (now->value ^ was->value) |
				   (now->addr ^ (was->addr + el[j].off[0]));
		}
		if (differs || pug_is_tail(ev[n].kind))
			break;
	}
	times = (uint32_t)((size_t)(ev - first) / n);
	/* the model looks two references back: before the last three it knew what does not count
	 * any more */
	for (const struct pm_event *at = ev - (times < 3 ? times : 3) * n; at < ev; at += n)
		for (size_t j = 0; j < n; j++)
			if (el[j].class & PUG_IS_REF)
				pug_ref_done(el + j, x, at[j].addr);
			else
				el[j].last = at[j].addr;
	for (size_t j = 0; times && j < n; j++) {
		el[j].sure = 1;
		el[j].row = el[j].class & PUG_IS_REF ? 0 : el[j].row;
	}
	p->uses += times;
	w->run += times;
	w->insns += times * p->insns;
	return ev;
}

/* HOT: phrases that are known, expected or not; the first other event, or @stop. Which phrase it is
 * comes from the events and not from what is expected, so that the processor need not wait for one
 * phrase to begin with the next. */
static const struct pm_event *known_phrases(struct pug_encoder *e, struct pug_ctx *x,
					    const struct pm_event *ev, const struct pm_event *stop,
					    const struct pm_event *end)
{
	const struct pug_phrase *phrase = e->m.phrase;
	struct encode_walk w = walk_begin(e, x);
	const uint32_t code = x->code;

	while (ev < stop) {
		bool head = has_head(ev->kind);
		uint32_t to = e->guess[guess_slot(ev, head)];
		const struct pug_phrase *p = phrase + to;
		const struct pm_event *el = ev + head;
		const struct pug_elem *want;
		uint64_t differs = 0;
		unsigned n = p->n;
		const bool again = to == w.cur;
		uint32_t missed;

		if (head ? p->sig != sig_of(ev) || p->addr != ev->addr || p->value != ev->value :
		    p->sig != 0 || p->side)
			break;
		if (p->code != code || (size_t)(end - el) <= n)
			break;
		want = e->m.elem + p->elem;
		for (unsigned j = 0; j < n; j++)
			differs |= (sig_of(el + j) ^ want[j].sig) | (el[j].value ^ want[j].value);
		if (differs || (pug_is_tail(el[n].kind) && n < PUG_ELEMS))
			break;
		missed = put_elems(e, x, p->elem, &el->addr, EVENT_STEP, n);
		walk_to(e, x, &w, to, missed);
		ev = el + n;
		if (again & !head && !missed && n < PUG_ELEMS && is_steady(e, x, to))
			ev = same_again(e, x, &w, to, ev, stop, end);
	}
	walk_end(e, x, &w);
	return ev;
}

enum pm_status pug_encode(struct pug_encoder *e, struct pug_ctx *x, const struct pm_batch *b,
			  size_t *i, size_t stop, struct pm_err *err)
{
	const struct pm_event *ev = b->ev + *i;

	/* a phrase that begins before @stop may end behind it; the last run needs an op, too */
	reserve(e->c, stop - *i + PUG_ELEMS + 2);
	for (;;) {
		ev = known_phrases(e, x, ev, b->ev + stop, b->ev + b->n);
		if (ev >= b->ev + stop)
			break;
		if (put_phrase(e, x, b, &ev, err) != PM_OK)
			return PM_ERR;
	}
	*i = (size_t)(ev - b->ev);
	return PM_OK;
}

/* ---- chains --------------------------------------------------------------------------------- */

/* A block that is no phrase yet, or more than one, or has been something unusual. */
static enum pm_status put_part(struct pug_encoder *e, struct pug_ctx *x, const struct pug_chains *k,
			       const struct pm_chain_part *part, const struct pm_chain_ref *r,
			       const uint64_t *addr, struct pm_err *err)
{
	const struct pm_block *blk = k->code.block + part->block;
	struct pm_batch b = { .code = &k->code, .n = 1 + part->nref };
	const struct pm_event *ev;

	if (e->cap_ev < b.n) {
		e->cap_ev = b.n * 2;
		e->ev = pm_realloc(e->ev, e->cap_ev * sizeof *e->ev);
	}
	e->ev[0] = (struct pm_event){
		.kind = PM_EV_BLOCK, .id = part->block, .addr = blk->pc, .value = blk->n
	};
	for (uint32_t j = 0; j < part->nref; j++)
		e->ev[1 + j] = (struct pm_event){ .kind = r[j].kind,
						  .flags = r[j].flags,
						  .size = r[j].size,
						  .id = r[j].insn - blk->insn,
						  .addr = addr[j] };
	b.ev = e->ev;
	for (ev = e->ev; ev < e->ev + b.n; )
		if (put_phrase(e, x, &b, &ev, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static void more_parts(struct pug_encoder *e, size_t n)
{
	n = n < 1024 ? 1024 : n * 2;
	e->phrase_of = pm_realloc(e->phrase_of, n * sizeof *e->phrase_of);
	memset(e->phrase_of + e->nparts, 0, (n - e->nparts) * sizeof *e->phrase_of);
	e->nparts = n;
}

/* HOT for live traces. */
enum pm_status pug_encode_chains(struct pug_encoder *e, struct pug_ctx *x,
				 const struct pug_chains *k, const uint32_t *id, size_t n,
				 const uint64_t **addr, size_t *events, struct pm_err *err)
{
	const uint64_t *at = *addr;
	struct encode_walk w = walk_begin(e, x);
	size_t left = 0, all = 0;

	if (e->parts_code != x->code) {		/* the phrases of another table's */
		if (e->nparts)
			memset(e->phrase_of, 0, e->nparts * sizeof *e->phrase_of);
		e->parts_code = x->code;
	}
	for (const uint32_t *end = id + n; id < end; id++) {
		const struct pm_chain *c = k->chains.chain + *id;
		const struct pm_chain_part *part = k->chains.part + c->part,
					   *last = part + c->npart;
		const uint64_t *first = at;
		const size_t its = (size_t)c->npart + c->nref;
		uint32_t *phrase_of;

		if (__builtin_expect(left < its, 0)) {
			all -= left;
			left = its + RESERVE;
			all += left;
			reserve(e->c, left);
		}
		left -= its;
		if (__builtin_expect(e->nparts < c->part + c->npart, 0))
			more_parts(e, c->part + c->npart);
		phrase_of = e->phrase_of + c->part;
		for (; part < last; at += part->nref, part++, phrase_of++) {
			const uint32_t to = *phrase_of;
			const struct pug_phrase *p = e->m.phrase + to;

			if (__builtin_expect(!to || p->odd, 0)) {
				walk_end(e, x, &w);
				if (put_part(e, x, k, part, k->chains.ref + c->ref + (at - first),
					     at, err) != PM_OK)
					return PM_ERR;
				w = walk_begin(e, x);
				*phrase_of = part->nref <= PUG_ELEMS ? w.cur : 0;
				continue;
			}
			walk_to(e, x, &w, to, put_elems(e, x, p->elem, at, 1, p->n));
		}
	}
	walk_end(e, x, &w);
	*addr = at;
	*events = all - left;
	return PM_OK;
}

/* ---- chunks --------------------------------------------------------------------------------- */

void pug_encode_begin(struct pug_encoder *e, struct pug_columns *c, unsigned path_bits,
		      unsigned seen_bits)
{
	pug_model_reset(&e->m, path_bits, seen_bits);
	if (!e->table) {
		e->mask = TABLE_MIN - 1;
		e->table = pm_alloc(TABLE_MIN * sizeof *e->table);
		e->guess = pm_alloc(sizeof *e->guess << GUESS_BITS);
	}
	memset(e->table, 0, ((size_t)e->mask + 1) * sizeof *e->table);
	memset(e->guess, 0, sizeof *e->guess << GUESS_BITS);
	if (e->nparts)
		memset(e->phrase_of, 0, e->nparts * sizeof *e->phrase_of);
	pug_defs_reset(&e->defs);
	e->c = c;
	e->run = 0;
	e->insns = 0;
	c->neu.n = c->side.n = 0;
	memcpy(c->at, c->col, sizeof c->at);
	reserve(c, 1);
}

void pug_encode_switch(struct pug_encoder *e, size_t slot)
{
	reserve(e->c, 2);
	put_op(e, e->run, PUG_OP_SWITCH, 0, 0);
	e->run = 0;
	pug_varint(&e->c->side, slot + 1);
}

void pug_encode_end(struct pug_encoder *e)
{
	reserve(e->c, 1);
	if (e->run)
		put_op(e, e->run, PUG_OP_SWITCH, 0, 0);	/* the last run needs an op to stand
							 * before */
}

void pug_encoder_release(struct pug_encoder *e)
{
	pug_model_release(&e->m);
	free(e->table);
	free(e->guess);
	free(e->phrase_of);
	free(e->ev);
	pug_defs_release(&e->defs);
}
