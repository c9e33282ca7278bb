/* SPDX-License-Identifier: MIT */
/* pug_side.c - rare events: what is static about one is a definition, made once in a chunk; what is
 * not, and is neither address nor value, stands in the side column, in the order of the events */
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "trace/penn.h"
#include "trace/pipeline.h"
#include "trace/pug_side.h"

/* ---- definitions ---------------------------------------------------------------------------- */

static void def_uop(struct pug_def *d, const struct pm_event *ev, const struct pm_uop *u)
{
	memset(d, 0, sizeof *d);
	d->head = ev->flags | (uint64_t)ev->size << 8;
	d->addr = ev->addr;
	d->value = ev->value;
	d->uop.pc = u->pc;
	d->uop.imm = u->imm;
	d->uop.fall = u->fall;
	d->uop.src1 = u->src1;
	d->uop.src2 = u->src2;
	d->uop.dest = u->dest;
	d->uop.flag_use = u->flag_use;
	d->uop.outcome = u->outcome;
	d->uop.access = u->access;
	d->uop.msize = u->msize;
	d->uop.index = u->index;
	memcpy(d->uop.macro, u->macro, strnlen(u->macro, sizeof u->macro - 1));
	memcpy(d->uop.micro, u->micro, strnlen(u->micro, sizeof u->micro - 1));
}

static void def_bus(struct pug_def *d, const struct pm_event *ev, const struct pm_bus *u)
{
	memset(d, 0, sizeof *d);
	d->head = ev->flags | (uint64_t)ev->size << 8;
	d->value = ev->value;
	d->bus.type = u->type;
	d->bus.lanes = u->lanes;
	d->bus.attr = u->attr;
	d->bus.agent = u->agent;
	memcpy(d->bus.raw, u->raw, 4);
}

void pug_def_put(struct pm_buf *to, enum pm_kind kind, const struct pug_def *d)
{
	const struct pm_uop *u = &d->uop;

	pug_varint(to, d->value);
	if (kind == PM_EV_BUS) {
		uint8_t b[8] = { d->bus.type, d->bus.lanes, d->bus.attr, d->bus.agent,
				 d->bus.raw[0], d->bus.raw[1], d->bus.raw[2], d->bus.raw[3] };

		pm_buf_add(to, b, sizeof b);
		return;
	}
	pug_varint(to, d->addr);
	pug_varint(to, pug_zigzag((int64_t)(u->pc - d->addr)));
	pug_varint(to, pug_zigzag((int64_t)(u->fall - u->pc)));
	pug_varint(to, pug_zigzag(u->imm));
	pug_varint(to, pug_zigzag(u->index));
	pug_varint(to, (uint16_t)(u->src1 + 1));
	pug_varint(to, (uint16_t)(u->src2 + 1));
	pug_varint(to, (uint16_t)(u->dest + 1));
	pm_buf_add(to, (uint8_t[4]){ (uint8_t)penn_letter(PENN_FLAG_USE, u->flag_use),
				     (uint8_t)penn_letter(PENN_OUTCOME, u->outcome),
				     (uint8_t)penn_letter(PENN_ACCESS, u->access), u->msize }, 4);
	pug_string_put(to, u->macro);
	pug_string_put(to, u->micro);
}

static void get_name(struct pm_cur *c, char *to, size_t room)
{
	uint64_t at = pm_cur_at(c), n = pm_cur_varint(c, "an opcode's name");
	const uint8_t *p;

	if (pm_failed(c->err) || !n)
		return;
	p = pm_cur_bytes(c, n - 1, "an opcode's name");
	if (!p)
		return;
	if (n > room || memchr(p, 0, n - 1))
		pm_fail(c->err, at, "an opcode's name of %llu bytes", (unsigned long long)n - 1);
	else
		memcpy(to, p, n - 1);
}

void pug_def_get(struct pm_cur *c, enum pm_kind kind, struct pug_def *d)
{
	struct pm_uop *u = &d->uop;
	const uint8_t *b;

	memset(d, 0, sizeof *d);
	d->value = pm_cur_varint(c, "a definition");
	if (kind == PM_EV_BUS) {
		b = pm_cur_bytes(c, 8, "a bus transaction's definition");
		if (!b)
			return;
		d->bus.type = b[0];
		d->bus.lanes = b[1];
		d->bus.attr = b[2];
		d->bus.agent = b[3];
		memcpy(d->bus.raw, b + 4, 4);
		return;
	}
	d->addr = pm_cur_varint(c, "a definition");
	u->pc = d->addr + (uint64_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->fall = u->pc + (uint64_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->imm = pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->index = (int32_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->src1 = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	u->src2 = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	u->dest = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	b = pm_cur_bytes(c, 4, "a micro-op");
	if (!b)
		return;
	u->flag_use = penn_value(PENN_FLAG_USE, (char)b[0]);
	u->outcome = penn_value(PENN_OUTCOME, (char)b[1]);
	u->access = penn_value(PENN_ACCESS, (char)b[2]);
	if (u->flag_use == PENN_NONE || u->outcome == PENN_NONE || u->access == PENN_NONE)
		pm_fail(c->err, pm_cur_at(c) - 4,
			"a micro-op with the letters 0x%02x 0x%02x 0x%02x", b[0], b[1], b[2]);
	u->msize = b[3];
	get_name(c, u->macro, sizeof u->macro);
	get_name(c, u->micro, sizeof u->micro);
}

static uint64_t def_hash(const struct pug_def *d)
{
	uint64_t h = 0, v[sizeof *d / 8];

	_Static_assert(sizeof *d % 8 == 0, "hashed by words");
	memcpy(v, d, sizeof *d);
	for (unsigned i = 0; i < NR(v); i++)
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15u ^ h >> 31;
	return h;
}

/* The number of the definition; *@fresh if it is a new one. */
static uint32_t def_number(struct pug_defs *s, const struct pug_def *d, bool *fresh)
{
	uint64_t h = def_hash(d);
	uint64_t *v;

	for (;; h++) {
		v = pm_map_put(&s->dict, h, fresh);
		if (*fresh)
			break;
		if (!memcmp(s->def + *v - 1, d, sizeof *d))
			return (uint32_t)*v - 1;
	}
	pm_grow(s->def, s->n, s->cap);
	s->def[s->n] = *d;
	*v = ++s->n;
	return (uint32_t)s->n - 1;
}

void pug_defs_reset(struct pug_defs *s)
{
	pm_map_release(&s->dict);
	s->n = 0;
}

void pug_defs_release(struct pug_defs *s)
{
	pm_map_release(&s->dict);
	free(s->def);
}

/* ---- writing -------------------------------------------------------------------------------- */

const char *pug_side_item(struct pug_defs *defs, const struct pm_batch *b,
			  const struct pm_event *ev, struct pug_item *it)
{
	struct pug_def def;

	*it = (struct pug_item){ .ev = *ev };
	it->ev.kind |= 0x80;
	switch (ev->kind) {
	case PM_EV_UOP:
		if (ev->id >= b->nuop)
			return "has no micro-op";
		def_uop(&def, ev, b->uop + ev->id);
		it->ev.addr = b->uop[ev->id].mem;
		it->ev.value = b->uop[ev->id].target;
		it->ref = b->uop[ev->id].access != PM_UOP_NO_ACCESS;
		it->ev.id = it->def = def_number(defs, &def, &it->fresh);
		return NULL;
	case PM_EV_BUS:
		if (ev->id >= b->nbus)
			return "has no bus transaction";
		def_bus(&def, ev, b->bus + ev->id);
		it->ev.value = b->bus[ev->id].data;
		it->ref = true;
		it->ev.id = it->def = def_number(defs, &def, &it->fresh);
		return NULL;
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
		if (ev->size != 16)
			return NULL;
		if (b->narena < 16 || ev->addr > b->narena - 16)
			return "has no value";
		it->ev.addr = 0;
		return NULL;
	case PM_EV_OPAQUE:
		it->bytes = pm_opaque_bytes(b, ev);
		if (ev->size && !it->bytes)
			return "has no bytes";
		if (it->bytes)
			it->ev.addr = 0;
		return NULL;
	}
	if (ev->kind == PM_EV_NONE || ev->kind >= PM_EV_COUNT)
		return "is unknown to this version";
	if (ev->id == PM_NONE)
		return NULL;
	if (ev->id >= b->nrare)
		return "has no record";
	it->ev.id = 0;
	return NULL;
}

void pug_side_put(struct pm_buf *side, const struct pm_batch *b, const struct pm_event *ev,
		  const struct pug_item *it)
{
	const struct pm_rare *r;

	switch (ev->kind) {
	case PM_EV_UOP:
		return;
	case PM_EV_BUS:
		pug_varint(side, b->bus[ev->id].time + 1);
		return;
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
		if (ev->size == 16)
			pm_buf_add(side, b->arena + ev->addr, 16);
		return;
	case PM_EV_OPAQUE:
		pug_varint(side, it->bytes);
		if (it->bytes)
			pm_buf_add(side, b->arena + ev->addr, it->bytes);
		return;
	}
	if (ev->id == PM_NONE)
		return;
	r = b->rare + ev->id;
	pug_varint(side, r->code);
	pug_varint(side, r->nargs);
	for (unsigned i = 0; i < 8 && i < r->nargs; i++)
		pug_varint(side, r->arg[i]);
	pug_string_put(side, r->name);
}

/* ---- reading -------------------------------------------------------------------------------- */

static const char *get_rare(struct pug_span *side, struct pm_builder *b, struct pm_event *ev)
{
	uint64_t code, nargs, len;
	struct pm_rare *rare;
	size_t at;

	if (!pug_get_varint(side, &code) || !pug_get_varint(side, &nargs) || code > UINT32_MAX ||
	    nargs > UINT32_MAX)
		return "an event's record is cut";
	pm_grow(b->rare, b->b.nrare, b->cap_rare);
	ev->id = (uint32_t)b->b.nrare;
	rare = b->rare + b->b.nrare++;
	*rare = (struct pm_rare){ .code = (uint32_t)code, .nargs = (uint32_t)nargs };
	for (unsigned i = 0; i < 8 && i < nargs; i++)
		if (!pug_get_varint(side, rare->arg + i))
			return "an event's arguments are cut";
	if (!pug_get_varint(side, &len))
		return "an event's name is cut";
	if (!len)
		return NULL;
	if ((uint64_t)(side->end - side->p) < len - 1)
		return "an event's name is cut";
	at = pm_builder_bytes(b, side->p, len - 1);
	pm_builder_bytes(b, "", 1);
	rare->name = (const char *)(uintptr_t)(at + 1);	/* pm_builder_batch() makes it a pointer */
	side->p += len - 1;
	return NULL;
}

const char *pug_side_get(struct pug_span *side, struct pm_builder *b, const struct pug_def *def,
			 struct pm_event *ev)
{
	uint64_t v, len;

	ev->kind &= 0x7f;
	switch (ev->kind) {
	case PM_EV_UOP:
		pm_grow(b->uop, b->b.nuop, b->cap_uop);
		b->uop[b->b.nuop] = def->uop;
		b->uop[b->b.nuop].mem = ev->addr;
		b->uop[b->b.nuop].target = ev->value;
		ev->id = (uint32_t)b->b.nuop++;
		ev->addr = def->addr;
		ev->value = def->value;
		return NULL;
	case PM_EV_BUS:
		if (!pug_get_varint(side, &v))
			return "a bus transaction has no time";
		pm_grow(b->bus, b->b.nbus, b->cap_bus);
		b->bus[b->b.nbus] = def->bus;
		b->bus[b->b.nbus].time = v - 1;
		b->bus[b->b.nbus].data = ev->value;
		ev->id = (uint32_t)b->b.nbus++;
		ev->value = def->value;
		return NULL;
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
	case PM_EV_OPAQUE:
		len = ev->size == 16 ? 16 : 0;
		if (ev->kind == PM_EV_OPAQUE && !pug_get_varint(side, &len))
			return "bytes of an event are missing";
		if (!len)
			return NULL;
		if ((uint64_t)(side->end - side->p) < len)
			return "bytes of an event are missing";
		ev->addr = pm_builder_bytes(b, side->p, len);
		side->p += len;
		return NULL;
	}
	return ev->id == PM_NONE ? NULL : get_rare(side, b, ev);
}
