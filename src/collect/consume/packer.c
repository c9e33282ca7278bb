/* SPDX-License-Identifier: MIT */
/* packer.c - chains in packed batches */
#include "collect/consume/trace_state.h"

static inline uint64_t quick_value(const uint8_t *rec, const uint8_t *known, uint16_t at)
{
	uint64_t x;

	memcpy(&x, (at & AT_KNOWN ? known : rec) + X86_VAL_AT(at & ~AT_KNOWN), 8);
	return extended(x, X86_VAL_HOW(at));
}

static inline uint64_t quick_address(const uint8_t *rec, const uint8_t *known,
				     const struct quick_ref *q)
{
	uint64_t base, index;

	if (q->how == QUICK_ANY)
		return quick_value(rec, known, q->base) +
		       quick_value(rec, known, q->index) * q->scale + (uint64_t)q->add;
	memcpy(&base, rec + q->base, 8);
	if (q->how == QUICK_BASE)
		return base + (uint64_t)q->add;
	memcpy(&index, rec + q->index, 8);
	index = extended(index, q->how - QUICK_INDEX);
	return base + index * q->scale + (uint64_t)q->add;
}

/* One chain's addresses where there is no straight code for them. */
static uint64_t *addresses(const struct compiled *c, struct stream *st, const uint8_t *p,
			   uint64_t *out)
{
	for (const struct quick_ref *q = c->quick, *last = q + c->nref; q < last; q++)
		*out++ = quick_address(p, (const uint8_t *)st->known, q) & st->layout.mask;
	st->known[KNOWN_RSP] =
		at_place((const uint8_t *const[]){ p, (const uint8_t *)st->known }, c->rsp) +
		(uint64_t)c->rsp_add;
	return out;
}

/* HOT: packed, everything that was executed passes through here. Stops at whatever is not a whole,
 * simple, known chain, or is the last one of a buffer, and returns where. */
static const uint8_t *pack_chains(struct consumer *w, struct stream *st, const uint8_t *p,
				  const uint8_t *end, uint32_t nsource)
{
	const struct expansion *expansion = w->expansion;
	uint32_t *id = w->id + w->nid, word = word_at(p);
	uint64_t *out = w->addr + w->nref;
	uint64_t insns = 0;

	while (!(word & 0x80000000u) && id < w->id + BATCH - 1 && out < w->addr + PACK_REFS) {
		const uint32_t number = RT_RECORD_NUMBER(word), record = RT_RECORD_SIZE(word);
		const struct expansion *x = &expansion[number];
		const uint8_t *after = p + record;
		uint32_t next;

		if (x->record != record || after >= end)
			break;
		next = word_at(after);
		if (next == RT_NOTE(RT_N_CUT, 24) || number >= nsource)
			break;
		if (__builtin_expect(x->run != NULL, 1))
			out = x->run(out, p, st->known);
		else if (w->compiled[number].packs)
			out = addresses(&w->compiled[number], st, p, out);
		else
			break;
		*id++ = number;
		insns += x->insns;
		p = after;
		word = next;
	}
	w->nid = (size_t)(id - w->id);
	w->nref = (size_t)(out - w->addr);
	st->unsent += insns;
	return p;
}

#define AHEAD 1024u			/* bytes: some 50 records */

/* HOT: the same, of records whose addresses nobody looks at. */
static const uint8_t *number_chains(struct consumer *w, struct stream *st, const uint8_t *p,
				    const uint8_t *end)
{
	const struct skipped *const numbered = w->numbered;
	uint32_t *id = w->id + w->nid, *const full = w->id + BATCH - 1, word = word_at(p);
	uint64_t rsp = st->known[KNOWN_RSP], insns = 0;

	while (!(word & 0x80000000u) && id < full) {
		const struct skipped *s = &numbered[RT_RECORD_NUMBER(word)];
		const uint8_t *after = p + RT_RECORD_SIZE(word);
		uint64_t base;
		uint32_t next;

		/* Lines come from another processor's cache, and processors do not fetch ahead
		 * across a page's end. This cannot fault, wherever the buffer ends. */
		__builtin_prefetch(p + AHEAD);
		if (!s->insns || s->record != RT_RECORD_SIZE(word) || after >= end)
			break;
		next = word_at(after);
		if (next == RT_NOTE(RT_N_CUT, 24))
			break;
		memcpy(&base, p + s->rsp, 8);
		rsp = (s->rsp ? base : rsp) + (uint64_t)(int64_t)s->rsp_add;
		*id++ = RT_RECORD_NUMBER(word);
		insns += s->insns;
		p = after;
		word = next;
	}
	st->known[KNOWN_RSP] = rsp;
	w->nid = (size_t)(id - w->id);
	st->unsent += insns;
	return p;
}

/* HOT: the same of a branch trace, whose records hold nothing but their numbers. */
static const uint8_t *pack_numbers(struct consumer *w, struct stream *st, const uint8_t *p,
				   const uint8_t *end)
{
	const uint16_t *const insns_of = w->number_insns;
	uint32_t *const first = w->id + w->nid, *const full = w->id + BATCH - 1, *id = first;
	uint64_t insns = 0;
	uint32_t word = word_at(p);

	/* what follows a record may say that it was cut short */
	while (word < MAX_BLOCKS && id < full && p + NUMBER < end) {
		const uint32_t n = insns_of[word];

		if (!n)
			break;
		*id++ = word;
		insns += n;
		p += NUMBER;
		word = word_at(p);
	}
	if (id > first && word == RT_NOTE(RT_N_CUT, 24)) {
		insns -= insns_of[*--id];
		p -= NUMBER;
	}
	w->nid = (size_t)(id - w->id);
	st->unsent += insns;
	return p;
}

const uint8_t *consume_packed(struct consumer *w, struct stream *st, const uint8_t *p,
			      const uint8_t *end, uint32_t nsource)
{
	do {
		if (w->nid >= BATCH - 2 || w->nref >= PACK_REFS)
			trace_flush(w, st);
		place_events(w);
		p = w->trace->o.kind == XL_BRANCH ? pack_numbers(w, st, p, end)
		    : w->numbered		  ? number_chains(w, st, p, end)
						  : pack_chains(w, st, p, end, nsource);
	} while (p < end && !w->failed && (w->nid >= BATCH - 2 || w->nref >= PACK_REFS));
	return p;
}
