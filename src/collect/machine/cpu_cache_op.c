/* SPDX-License-Identifier: MIT */
/* cpu_cache_op.c - the instruction CACHE */
#include "collect/machine/cpu_parts.h"

/* What an operation does: bits 20:18 of CACHE. Some mean a thing of their own to each cache. */
enum cache_action {
	CACHE_INDEX_INVALIDATE, CACHE_LOAD_TAG, CACHE_STORE_TAG, CACHE_CREATE_DIRTY,
	CACHE_HIT_INVALIDATE, CACHE_HIT_FLUSH, CACHE_HIT_WRITEBACK, CACHE_HIT_SET_VIRTUAL,
};
#define CACHE_FILL	CACHE_HIT_FLUSH		/* of the instruction cache */

/* Of line @i of the secondary cache: SI and SD are one unified cache. */
static void secondary(struct cpu *c, enum cache_action what, unsigned i, uint64_t va, uint64_t pa)
{
	bool hit = c->sptag[i] == pa >> c->sshift << c->sshift;

	switch (what) {
	case CACHE_INDEX_INVALIDATE:
		cpu_s_evict(c, i);
		break;
	case CACHE_LOAD_TAG:
		c->c0[C0_TAGLO] = c->sptag[i] == NO_TAG
					  ? 0
					  : (c->sptag[i] >> 17 << 13 & 0xffffe000) |
						    (c->sflags[i] & 1 ? 5u : 4u) << 10 |
						    (c->sflags[i] >> 1 & 7u) << 7;
		break;
	case CACHE_STORE_TAG:
		if (c->c0[C0_TAGLO] == 0) {
			c->sptag[i] = NO_TAG;
			c->sflags[i] = 0;
		}
		break;
	case CACHE_HIT_INVALIDATE:
		if (hit) {
			c->sflags[i] &= (uint8_t)~1u;
			cpu_s_evict(c, i);
		}
		break;
	case CACHE_HIT_FLUSH:
	case CACHE_HIT_WRITEBACK:
		if (hit)
			cpu_s_evict(c, i);
		break;
	case CACHE_HIT_SET_VIRTUAL:		/* the primary copy's address changes */
		if (hit)
			c->sflags[i] = (uint8_t)((c->sflags[i] & 1) | (va >> 12 & 7) << 1);
		break;
	default:
		break;
	}
}

static bool instructions(struct cpu *c, enum cache_action what, unsigned i, uint64_t va,
			 const struct cpu_xlat *x)
{
	bool hit = c->iptag[i] == x->pa >> c->ishift << c->ishift;

	switch (what) {
	case CACHE_INDEX_INVALIDATE:
		i_invalidate(c, i);
		break;
	case CACHE_LOAD_TAG:
		c->c0[C0_TAGLO] = c->iptag[i] == NO_TAG ? 0 :
			SIGN32((c->iptag[i] >> 12 & 0xffffff) << 8 | 2 << 6);
		break;
	case CACHE_STORE_TAG:
		i_invalidate(c, i);
		if (c->c0[C0_TAGLO] >> 6 & 2) {	/* a valid tag over whatever data is there */
			c->iptag[i] = (c->c0[C0_TAGLO] >> 8 & 0xffffff) << 12 |
				      (((uint64_t)i << c->ishift) & 0xfff);
			c->iline[i].op = NULL;
		}
		break;
	case CACHE_HIT_INVALIDATE:
		if (hit)
			i_invalidate(c, i);
		break;
	case CACHE_FILL:
		if (cached(c, x))
			return cpu_i_fill(c, i, va, x->pa);
		break;
	case CACHE_HIT_WRITEBACK:	/* such lines are never dirty: data goes out as is */
		if (hit)
			cpu_lower_writeback(c, c->iptag[i], c->idata + ((size_t)i << c->ishift),
					    1u << c->ishift);
		break;
	default:
		break;
	}
	return true;
}

static void data(struct cpu *c, enum cache_action what, unsigned i, uint64_t pa)
{
	uint64_t line = pa >> c->dshift << c->dshift;
	bool hit = c->dptag[i] == line;

	switch (what) {
	case CACHE_INDEX_INVALIDATE:
		cpu_d_writeback(c, i);
		cpu_d_invalidate(c, i);
		break;
	case CACHE_LOAD_TAG:
		c->c0[C0_TAGLO] = c->dptag[i] == NO_TAG ? 0 :
			SIGN32((c->dptag[i] >> 12 & 0xffffff) << 8 | (c->ddirty[i] ? 3u : 2u) << 6);
		break;
	case CACHE_STORE_TAG:
		cpu_d_invalidate(c, i);
		if (c->c0[C0_TAGLO] >> 6 & 3) {
			c->dptag[i] = (c->c0[C0_TAGLO] >> 8 & 0xffffff) << 12 |
				      (((uint64_t)i << c->dshift) & 0xfff);
			c->ddirty[i] = (c->c0[C0_TAGLO] >> 6 & 3) == 3;
		}
		break;
	case CACHE_CREATE_DIRTY:		/* no fill, the data stay what they were */
		if (!hit) {
			cpu_d_writeback(c, i);
			cpu_d_invalidate(c, i);
			c->dptag[i] = line;
		}
		c->ddirty[i] = true;
		break;
	case CACHE_HIT_INVALIDATE:
		if (hit)
			cpu_d_invalidate(c, i);
		break;
	case CACHE_HIT_FLUSH:
		if (hit) {
			cpu_d_writeback(c, i);
			cpu_d_invalidate(c, i);
		}
		break;
	case CACHE_HIT_WRITEBACK:
		if (hit)
			cpu_d_writeback(c, i);
		break;
	default:
		break;
	}
}

/* @op: bits 20:16 of CACHE; 0x20 stands for synci. */
bool cpu_cache_op(struct cpu *c, unsigned op, uint64_t va)
{
	enum cache_action what = op == 0x20 ? CACHE_HIT_INVALIDATE : op >> 2 & 7;
	struct cpu_xlat x = { 0 };
	unsigned il, dl;

	va = wrap(c, va);
	il = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->ishift;
	dl = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	/* index operations, too: they do without the physical address, not without a valid one */
	if (!cpu_translate(c, va, ACC_LOAD, &x, false))
		return false;
	if (op == 0x20) {			/* write back D, invalidate I: by hit */
		if (c->dptag[dl] == (x.pa >> c->dshift << c->dshift))
			cpu_d_writeback(c, dl);
		if (c->iptag[il] == (x.pa >> c->ishift << c->ishift))
			i_invalidate(c, il);
		return true;
	}
	if (op & 2) {
		if (c->sdata)
			secondary(c, what, s_index(c, x.pa), va, x.pa);
		return true;
	}
	if (!(op & 1))
		return instructions(c, what, il, va, &x);
	data(c, what, dl, x.pa);
	return true;
}
