/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/cur.h"
#include "trace/pug_decode.h"

void pug_decode_begin(struct pug_model *m, struct pug_chunk_in *c)
{
	pug_model_reset(m, c->path_bits, c->seen_bits);
}

/* ---- new phrases ---------------------------------------------------------------------------- */

static bool get_sig(struct pug_span *neu, uint32_t before, struct pm_event *ev)
{
	uint64_t size, diff;

	*ev = (struct pm_event){ 0 };
	if (neu->end - neu->p < 2)
		return false;
	ev->kind = neu->p[0];
	ev->flags = neu->p[1];
	neu->p += 2;
	if (!pug_get_varint(neu, &size) || !pug_get_varint(neu, &diff) || size > UINT16_MAX)
		return false;
	ev->size = (uint16_t)size;
	ev->id = before + (uint32_t)pug_unzigzag(diff);
	return true;
}

static const char *get_head(struct pug_model *m, struct pug_chunk_in *c, struct pug_phrase *p)
{
	const struct pm_code *code = c->now->code ? &c->now->code->code : NULL;
	uint64_t addr = m->new_addr, diff;
	struct pm_event ev;

	if (!get_sig(c->col + PUG_COL_NEW, m->new_id, &ev))
		return "a new phrase is cut";
	if (ev.kind != PM_EV_BLOCK && ev.kind != PM_EV_INSN && ev.kind != PM_EV_LINE)
		return "a new phrase begins with no instruction";
	if (ev.kind == PM_EV_BLOCK && ev.id != PM_NONE) {
		if (!code || ev.id >= code->nblock)
			return "a block that is not in the code table";
		addr = code->block[ev.id].pc;
		p->value = code->block[ev.id].n;
	} else if (ev.kind == PM_EV_INSN && code && ev.id != PM_NONE) {
		if (ev.id >= code->ninsn)
			return "an instruction that is not in the code table";
		addr = code->insn[ev.id].pc;
	}
	if (!pug_get_varint(c->col + PUG_COL_NEW, &diff))
		return "a new phrase is cut";
	memcpy(&p->sig, &ev, 8);
	p->addr = addr + (uint64_t)pug_unzigzag(diff);
	p->insns = pug_insns(p->sig, p->value);
	m->new_id = ev.id;
	m->new_addr = p->addr;
	return NULL;
}

static const char *get_elem(struct pug_model *m, struct pug_chunk_in *c, bool alone, uint32_t id,
			    struct pug_elem *el, bool *side, struct pm_err *err)
{
	struct pug_span *neu = c->col + PUG_COL_NEW;
	const struct pm_code *code = c->now->code ? &c->now->code->code : NULL;
	struct pm_event ev;
	uint64_t diff;
	uint8_t k;

	if (!get_sig(neu, id, &ev))
		return "a new phrase is cut";
	k = ev.kind & 0x7f;
	*side = ev.kind >> 7;
	if (!k || k >= PM_EV_COUNT || (pug_class[k] == PUG_SIDE) != *side || (*side && !alone) ||
	    k == PM_EV_BLOCK || k == PM_EV_INSN || k == PM_EV_LINE)
		return "a new event's kind";
	if (k == PM_EV_BRANCH && code && ev.id != PM_NONE && ev.id >= code->ninsn)
		return "a branch that is not in the code table";
	memcpy(&el->sig, &ev, 8);
	el->class = pug_class[k];
	if (el->class == PUG_REF)
		el->class |= PUG_IS_REF;
	if (k == PM_EV_UOP || k == PM_EV_BUS) {
		/* definitions are numbered as they come: a number that is known is not repeated */
		if (ev.id > c->ndef)
			return "a definition that is not there";
		if (ev.id == c->ndef) {
			struct pm_cur cur = pm_cur_init(neu->p, (size_t)(neu->end - neu->p), c->at,
							err);

			pm_grow(c->def, c->ndef, c->cap_def);
			pug_def_get(&cur, k, c->def + c->ndef);
			if (pm_failed(err))
				return "";
			neu->p = cur.p;
			c->ndef++;
		}
		el->def = ev.id;
		if (k == PM_EV_BUS || c->def[ev.id].uop.access != PM_UOP_NO_ACCESS)
			el->class |= PUG_IS_REF;
	} else if (!(el->class & PUG_IS_REF) && !*side) {
		if (!pug_get_varint(neu, &diff))
			return "a new phrase is cut";
		el->last = m->new_addr + (uint64_t)pug_unzigzag(diff);
	}
	return NULL;
}

/* Its number, or 0. */
static uint32_t new_phrase(struct pug_model *m, struct pug_chunk_in *c, struct pm_err *err)
{
	uint32_t number, id = 0;
	const char *wrong = NULL;
	bool side = false;
	uint64_t shape;
	unsigned n;

	if (!pug_get_varint(c->col + PUG_COL_NEW, &shape) || shape >> 1 > PUG_ELEMS || !shape) {
		pug_damaged(c, "a new phrase is cut", err);
		return 0;
	}
	n = (unsigned)(shape >> 1);
	number = pug_model_phrase(m);
	m->phrase[number].code = c->now->ctx.code;
	m->phrase[number].n = (uint8_t)n;
	if (shape & 1) {
		wrong = get_head(m, c, m->phrase + number);
		if ((uint8_t)m->phrase[number].sig == PM_EV_INSN)
			id = m->new_id;
	}
	for (unsigned j = 0; j < n && !wrong; j++) {
		struct pug_elem *el = pug_model_elem(m);

		wrong = get_elem(m, c, shape == 2, id, el, &side, err);
		id = (uint32_t)(el->sig >> 32);
	}
	m->phrase[number].side = side;
	if (!wrong)
		return number;
	if (!pm_failed(err))
		pug_damaged(c, wrong, err);
	return 0;
}

/* ---- a phrase that was not free ------------------------------------------------------------- */

/* The address of element @number, given in the way that COL_HOW says. */
static bool get_addr(struct pug_model *m, struct pug_chunk_in *c, uint32_t number, uint64_t *addr)
{
	struct pug_elem *el = m->elem + number;
	struct pug_ctx *x = &c->now->ctx;
	struct pug_span *hows = c->col + PUG_COL_HOW;
	uint64_t base, d;
	uint8_t how;

	if (hows->p == hows->end)
		return false;
	how = *hows->p++;
	base = how & PUG_HOW_BASE ? x->base[1] : el->last;
	switch (how & 7) {
	case PUG_HOW_STRIDE: case PUG_HOW_PREV: case PUG_HOW_PREV2: case PUG_HOW_STACK:
		if (!(el->class & PUG_IS_REF))
			return false;
		el->mode = how & 7;
		*addr = pug_predict(m, el, number, x);
		return true;
	case PUG_HOW_SEEN:
		if (!m->seen_bits || !(el->class & PUG_IS_REF))
			return false;
		el->mode = PUG_HOW_SEEN;
		*addr = pug_predict(m, el, number, x);
		return true;
	case PUG_HOW_D16:
		if (!pug_get16(c->col + PUG_COL_D16, &d))
			return false;
		*addr = base + d;
		break;
	case PUG_HOW_D32:
		if (!pug_get32s(c->col + PUG_COL_D32, &d))
			return false;
		*addr = base + d;
		break;
	default:
		if (!pug_get64s(c->col + PUG_COL_A64, addr))
			return false;
		break;
	}
	if (m->seen_bits && el->class & PUG_IS_REF)
		m->seen[pug_seen_slot(m, number, el->last)] = *addr;
	if (how & PUG_HOW_STAY) {
		if (!(el->class & PUG_IS_REF) || (how & 7) == PUG_HOW_A64)
			return false;
		el->mode = pug_mode_given(how);
	}
	return true;
}

static const char *get_values(struct pug_model *m, struct pug_chunk_in *c, struct pug_phrase *p)
{
	uint64_t mask, v;

	if (!pug_get_varint(c->col + PUG_COL_MASK, &mask) || !mask || mask >> p->n > 1 ||
	    (mask & 1 && !p->sig))
		return "a mask of values";
	for (unsigned j = 0; j <= p->n; j++) {
		if (!(mask >> j & 1))
			continue;
		if (!pug_get64s(c->col + PUG_COL_VAL, &v))
			return "a value is missing";
		if (j) {
			m->elem[p->elem + j - 1].value += v;
			continue;
		}
		p->value += v;
		p->insns = pug_insns(p->sig, p->value);
		if ((uint8_t)p->sig == PM_EV_BLOCK && p->sig >> 32 != PM_NONE &&
		    p->value > c->now->code->code.block[p->sig >> 32].n)
			return "a block executed more instructions than it has";
	}
	return NULL;
}

/* The address of an element that is always given. */
static inline bool get_given(struct pug_chunk_in *c, const struct pug_ctx *x, struct pug_elem *el,
			     uint64_t *addr)
{
	uint64_t d;

	if (el->mode < PUG_MODE_GIVEN + 2 ? !pug_get16(c->col + PUG_COL_D16, &d) :
	    !pug_get32s(c->col + PUG_COL_D32, &d))
		return false;
	*addr = pug_given_base(el->mode, el->last, x->base[1]) + d;
	pug_restride(el, *addr);
	return true;
}

/* HOT: elements as events; those in @missed say in the columns where they are. False: they do
 * not. */
static inline bool get_elems(struct pug_model *m, struct pug_chunk_in *c, struct pug_ctx *x,
			     const struct pug_phrase *p, uint32_t missed, struct pm_event *ev)
{
	struct pug_elem *el = m->elem + p->elem;

	for (unsigned j = 0; j < p->n; j++, el++, ev++) {
		uint64_t addr;

		if (__builtin_expect(missed >> j & 1, 0)) {
			if (!get_addr(m, c, p->elem + j, &addr))
				return false;
			pug_restride(el, addr);
		} else if (el->mode >= PUG_MODE_GIVEN) {
			if (!get_given(c, x, el, &addr))
				return false;
		} else {
			addr = el->class & PUG_IS_REF ? pug_predict(m, el, p->elem + j, x) :
			       el->last + el->off[0];
			el->sure = 1;
		}
		if (el->class & PUG_IS_REF)
			pug_ref_done(el, x, addr);
		else
			el->last = addr;
		memcpy(ev, &el->sig, 8);
		ev->addr = addr;
		ev->value = el->value;
	}
	return true;
}

static inline struct pm_event *put_head(const struct pug_phrase *p, struct pm_event *ev)
{
	if (!p->sig)
		return ev;
	memcpy(ev, &p->sig, 8);
	ev->addr = p->addr;
	ev->value = p->value;
	return ev + 1;
}

static enum pm_status side_event(struct pug_model *m, struct pug_chunk_in *c,
				 const struct pug_phrase *p, struct pm_event *ev,
				 struct pm_err *err)
{
	const struct pug_elem *el = m->elem + p->elem;
	uint8_t kind = el->sig & 0x7f;
	bool defined = kind == PM_EV_UOP || kind == PM_EV_BUS;
	const char *wrong;

	if (kind == PM_EV_TIME)
		c->time = ev->value;
	wrong = pug_side_get(c->col + PUG_COL_SIDE, &c->b, defined ? c->def + el->def : NULL, ev);
	return wrong ? pug_damaged(c, wrong, err) : PM_OK;
}

/* One op and its phrase, if it has one. There is room. */
static enum pm_status get_op(struct pug_model *m, struct pug_chunk_in *c, uint64_t *insns,
			     struct pm_err *err)
{
	struct pug_ctx *x = &c->now->ctx;
	const struct pug_phrase *cur = m->phrase + x->cur;
	bool asked = cur->multi;
	uint32_t slot = pug_path_slot(m, x->cur, x->hist), to = 0, missed = 0;
	struct pug_span *ops = c->col + PUG_COL_OP;
	struct pm_event *ev;
	struct pug_phrase *p;
	const char *wrong;
	uint64_t v;
	uint8_t op;

	if (ops->p == ops->end)
		return pug_damaged(c, "it ends too early", err);
	op = *ops->p++;
	switch (op & 7) {
	case PUG_OP_EXPECTED:
		to = asked && m->expect[slot] ? m->expect[slot] : cur->next;
		break;
	case PUG_OP_NEXT:
		to = cur->next;
		break;
	case PUG_OP_ALT:
		to = cur->alt;
		break;
	case PUG_OP_KNOWN:
		if (!pug_get32s(c->col + PUG_COL_PHRASE, &v))
			return pug_damaged(c, "a phrase's number is missing", err);
		to = (uint32_t)v;
		break;
	case PUG_OP_NEW:
		to = new_phrase(m, c, err);
		if (!to)
			return PM_ERR;
		break;
	case PUG_OP_SWITCH:
		if (!pug_get_varint(c->col + PUG_COL_SIDE, &v) || !v || v > c->nslot)
			return pug_damaged(c, "a switch to a stream that it does not have", err);
		c->now = c->slot + v - 1;
		return PM_OK;
	}
	if (!to || to >= m->n)
		return pug_damaged(c, "a phrase that was not defined", err);
	p = m->phrase + to;
	if (p->code != x->code)
		return pug_damaged(c, "an instruction of another code table", err);
	if ((unsigned)(p->n + (p->sig != 0)) > c->left)
		return pug_damaged(c, "it has more events than it says", err);
	switch (op >> PUG_OP_ADDRS) {
	case 0:
		break;
	case PUG_OP_MASK:
		if (!pug_get_varint(c->col + PUG_COL_MASK, &v) || v >> p->n)
			return pug_damaged(c, "a mask of addresses", err);
		missed = (uint32_t)v;
		break;
	default:
		missed = 1u << ((op >> PUG_OP_ADDRS) - 1);
		if (missed >> p->n)
			return pug_damaged(c, "an address of an event that is not there", err);
		break;
	}
	if (op & PUG_OP_VALUES && (wrong = get_values(m, c, p)) != NULL)
		return pug_damaged(c, wrong, err);
	ev = put_head(p, c->b.ev + c->b.b.n);
	if (!get_elems(m, c, x, p, missed, ev))
		return pug_damaged(c, "an address is missing", err);
	if (p->side && side_event(m, c, p, ev, err) != PM_OK)
		return PM_ERR;
	ev += p->n;
	c->left -= (uint32_t)(ev - (c->b.ev + c->b.b.n));
	c->b.b.n = (size_t)(ev - c->b.ev);
	if (asked) {
		m->expect[slot] = to;
		x->hist = pug_path_next(x->hist, to);
	}
	if (op & 7)
		pug_learn(m, x->cur, to);
	x->cur = to;
	p->uses++;
	*insns += p->insns;
	return PM_OK;
}

/* HOT: up to c->run phrases that are as the model expects, as far as there is room. */
static enum pm_status free_phrases(struct pug_model *m, struct pug_chunk_in *c, uint64_t *insns,
				   struct pm_err *err)
{
	struct pug_phrase *phrase = m->phrase;
	struct pug_ctx *x = &c->now->ctx;
	struct pm_event *ev = c->b.ev + c->b.b.n;
	const struct pm_event *full = c->b.ev + PUG_OUT_EVENTS - (PUG_ELEMS + 1);
	uint32_t *expect = m->expect;
	uint32_t cur = x->cur, code = x->code, run = c->run;
	uint64_t sum = 0;
	size_t made;

	for (; run && ev <= full; run--) {
		uint32_t to = phrase[cur].next, slot;
		struct pug_phrase *p;

		if (phrase[cur].multi) {
			slot = pug_path_slot(m, cur, x->hist);
			to = expect[slot] ? expect[slot] : to;
			expect[slot] = to;
			x->hist = pug_path_next(x->hist, to);
		}
		p = phrase + to;
		if (!to || p->code != code)
			return pug_damaged(c, "an event that cannot be expected", err);
		ev = put_head(p, ev);
		if (!get_elems(m, c, x, p, 0, ev))
			return pug_damaged(c, "an address is missing", err);
		if (p->side && side_event(m, c, p, ev, err) != PM_OK)
			return PM_ERR;
		ev += p->n;
		sum += p->insns;
		p->uses++;
		cur = to;
	}
	x->cur = cur;
	c->run = run;
	*insns += sum;
	made = (size_t)(ev - c->b.ev) - c->b.b.n;
	if (made > c->left)
		return pug_damaged(c, "it has more events than it says", err);
	c->left -= (uint32_t)made;
	c->b.b.n += made;
	return PM_OK;
}

enum pm_status pug_decode(struct pug_model *m, struct pug_chunk_in *c, struct pm_err *err)
{
	struct pug_slot_in *slot;
	uint64_t insns = 0;

	if (c->b.cap_ev < PUG_OUT_EVENTS) {
		c->b.cap_ev = PUG_OUT_EVENTS;
		c->b.ev = pm_realloc(c->b.ev, PUG_OUT_EVENTS * sizeof *c->b.ev);
	}
	do {
		slot = c->now;
		pm_builder_reset(&c->b, slot->stream, slot->code ? &slot->code->code : NULL);
		while (c->left && c->b.b.n < PUG_OUT_EVENTS - PUG_ELEMS && c->now == slot) {
			if (!c->run_known) {
				uint64_t run;

				if (!pug_get_varint(c->col + PUG_COL_RUN, &run) || run > c->left)
					return pug_damaged(c,
							   "a run of phrases is longer than the "
							   "chunk",
							   err);
				c->run = (uint32_t)run;
				c->run_known = true;
			}
			if (c->run && free_phrases(m, c, &insns, err) != PM_OK)
				return PM_ERR;
			if (c->run || !c->left || c->b.b.n >= PUG_OUT_EVENTS - PUG_ELEMS)
				continue;
			c->run_known = false;
			if (get_op(m, c, &insns, err) != PM_OK)
				return PM_ERR;
		}
	} while (!c->b.b.n && c->left);
	c->b.b.first_insn = slot->insns;
	slot->insns += insns;
	c->insns += insns;
	if (!c->left)
		pug_model_tally(m, c->kind);
	return PM_OK;
}
