/* SPDX-License-Identifier: MIT */
/* cpu_parts.h - what the processor's slow paths share: private to cpu*.c
 *
 *   cpu_mem.c        secondary and primary caches, translation, loads, stores, fetches: hot enough
 *                    to be one file
 *   cpu_cache_op.c   the instruction CACHE
 *   cpu_cp0.c        exceptions, coprocessor 0, writing the TLB
 *   cpu.c            decoding, life, the state as a table */
#ifndef PM_MACHINE_CPU_PARTS_H
#define PM_MACHINE_CPU_PARTS_H

#include "collect/machine/cpu.h"

#define NO_TAG		(~0ULL)
#define SIGN32(v)	((uint64_t)(int64_t)(int32_t)(v))
#define VPN_MASK	0xc00000ffffffe000ULL

enum cpu_mode { KERNEL, SUPERVISOR, USER };

static inline enum cpu_mode mode_of(const struct cpu *c)
{
	if (c->status & (ST_EXL | ST_ERL))
		return KERNEL;
	switch (c->status >> 3 & 3) {
	case 0: return KERNEL;
	case 1: return SUPERVISOR;
	default: return USER;
	}
}

static inline bool addr64(const struct cpu *c, enum cpu_mode m)
{
	if (c->cfg.r2)
		return false;
	return c->status & (m == KERNEL ? ST_KX : m == SUPERVISOR ? ST_SX : ST_UX);
}

/* Status.RE: user programs of the other byte order. Memory stays doublewords of the machine's
 * order; where in one something lies is reversed. */
static inline bool reversed(const struct cpu *c)
{
	return c->status & ST_RE && mode_of(c) == USER;
}

/* What an aligned address of @size bytes is XORed with. */
static inline unsigned reversal(const struct cpu *c, unsigned size)
{
	return reversed(c) ? 8 - size : 0;
}

/* Tags of other modes and address spaces never match again: cpu.h (3). The salt sits in address
 * bits 42 to 57, which are copies of one another in every valid address. A reversed user program
 * never has tags: all that it does takes the slow path. */
static inline void set_mode(struct cpu *c)
{
	enum cpu_mode m = mode_of(c);

	c->salt = c->asid_salt |
		  (uint64_t)(reversed(c) ? 6 : m + (c->status & ST_ERL ? 3 : 0)) << 42;
	c->ok64 = !c->cfg.r2 && (m == KERNEL || addr64(c, m));
	c->cp0_ok = m == KERNEL || (c->status & ST_CU0);
}

struct cpu_xlat {
	uint64_t pa;
	uint8_t cca;		/* cache attribute; 2 is uncached */
	bool dirty;		/* may be written */
};

static inline bool cached(const struct cpu *c, const struct cpu_xlat *x)
{
	return x->cca != 2 && x->cca != 7 && !c->cfg.uncached;
}

/* In 32-bit user mode addresses wrap at 32 bits: base + offset is sign-extended. */
static inline uint64_t wrap(const struct cpu *c, uint64_t va)
{
	return c->cfg.r2 || (mode_of(c) == USER && !(c->status & ST_UX)) ? SIGN32(va) : va;
}

/* cpu_mem.c */
void cpu_drop_tags(struct cpu *c);
/* Where @va is; with @peek nothing changes. False: c->exc is to be raised. */
bool cpu_translate(struct cpu *c, uint64_t va, enum cpu_access acc, struct cpu_xlat *x, bool peek);
/* Take line @i out of the secondary cache, primary copies included. */
void cpu_s_evict(struct cpu *c, unsigned i);
/* A primary line to the secondary cache or to memory. */
void cpu_lower_writeback(struct cpu *c, uint64_t pa, const void *p, unsigned n);
void cpu_d_writeback(struct cpu *c, unsigned line);
void cpu_d_invalidate(struct cpu *c, unsigned line);
bool cpu_i_fill(struct cpu *c, unsigned line, uint64_t va, uint64_t pa);

static inline unsigned s_index(const struct cpu *c, uint64_t pa)
{
	return (unsigned)(pa >> c->sshift) & (c->slines - 1);
}

static inline void i_invalidate(struct cpu *c, unsigned line)
{
	c->iptag[line] = NO_TAG;
	c->iline[line].tag = NO_TAG;
}

static inline int tlb_find(const struct cpu *c, uint64_t va)
{
	uint8_t asid = (uint8_t)c->c0[C0_ENTRYHI];

	for (int i = 0; i < CPU_TLB; i++) {
		const struct cpu_tlb_entry *e = &c->tlb[i];

		if (!((e->vpn ^ va) & VPN_MASK & ~e->mask) && (e->g || e->asid == asid))
			return i;
	}
	return -1;
}

/* cpu_cp0.c: an interrupt that is pending now is looked at before the next instruction */
void cpu_check_irq(struct cpu *c);

#endif
