/* SPDX-License-Identifier: MIT */
/* cpu.c - everything of the R4400 that is not the inner loop: translation, caches, exceptions, CP0 */
#include "collect/machine/cpu.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NO_TAG		(~0ULL)
#define SIGN32(v)	((uint64_t)(int64_t)(int32_t)(v))

/* ---- modes ------------------------------------------------------------------------------------ */
enum mode { KERNEL, SUPERVISOR, USER };

static enum mode mode_of(const struct cpu *c)
{
	if (c->status & (ST_EXL | ST_ERL))
		return KERNEL;
	switch (c->status >> 3 & 3) {
	case 0: return KERNEL;
	case 1: return SUPERVISOR;
	default: return USER;
	}
}

static bool addr64(const struct cpu *c, enum mode m)
{
	if (c->cfg.r2)
		return false;
	return c->status & (m == KERNEL ? ST_KX : m == SUPERVISOR ? ST_SX : ST_UX);
}

/* Tags of other modes and address spaces never match again: cpu.h (3). The salt sits in address
 * bits 42 to 57, which are copies of one another in every valid address. */
static void set_mode(struct cpu *c)
{
	enum mode m = mode_of(c);

	c->salt = c->asid_salt | (uint64_t)(m + (c->status & ST_ERL ? 3 : 0)) << 42;
	c->ok64 = !c->cfg.r2 && (m == KERNEL || addr64(c, m));
	c->cp0_ok = m == KERNEL || (c->status & ST_CU0);
}

static void drop_tags(struct cpu *c)
{
	memset(c->dtag, 0xff, sizeof c->dtag);
	for (unsigned i = 0; i <= c->imask; i++)
		c->iline[i].tag = NO_TAG;
	for (unsigned i = 0; i < NR(c->utlb); i++)
		c->utlb[i].tag = NO_TAG;
}

/* Another address space: 2^13 of them before the tags must really be cleared. */
static void new_space(struct cpu *c)
{
	c->asid_salt += 1ULL << 45;
	if (c->asid_salt >> 58) {
		c->asid_salt = 0;
		drop_tags(c);
	}
	set_mode(c);
}

static void switch_space(struct cpu *c)
{
	new_space(c);
	if (c->bus->space)
		c->bus->space(c->ctx, (unsigned)c->c0[C0_ENTRYHI] & 0xff);
}

static void check_irq(struct cpu *c)
{
	if (cpu_irq_pending(c))
		c->attn = true;
}

/* ---- secondary cache (SC parts): a layer between the primary caches and the bus -------------------- */
static bool bus_line(struct cpu *c, uint64_t pa, void *p, unsigned n, bool fetch)
{
	return c->bus->fill(c->ctx, pa, p, n, fetch);
}

static unsigned s_index(const struct cpu *c, uint64_t pa)
{
	return (unsigned)(pa >> c->sshift) & (c->slines - 1);
}

/* Take line @i out of the secondary cache, primary copies included. */
static void s_evict(struct cpu *c, unsigned i)
{
	uint64_t pa = c->sptag[i];
	unsigned n = 1u << c->sshift;

	if (pa == NO_TAG)
		return;
	/* the primary caches hold subsets: pull dirty data down, drop both */
	for (unsigned g = 0; g < n; g += 1u << c->dshift) {
		unsigned vx = ((c->sflags[i] >> 1 & 7u) << 12 | ((unsigned)(pa + g) & 0xfff)) & (CPU_L1_SIZE - 1);

		for (unsigned alias = 0; alias < CPU_L1_SIZE; alias += 4096) {
			unsigned k = ((vx & 0xfff) | alias) >> c->dshift;

			if (c->dptag[k] != pa + g)
				continue;
			if (c->ddirty[k]) {
				memcpy(c->sdata + ((size_t)i << c->sshift) + g,
				       c->ddata + ((size_t)k << c->dshift), 1u << c->dshift);
				c->sflags[i] |= 1;
			}
			c->dptag[k] = NO_TAG;
			c->ddirty[k] = false;
			for (unsigned t = 0; t < 1u << c->dshift; t += CPU_GRAIN)
				c->dtag[((k << c->dshift) + t) / CPU_GRAIN].r =
				c->dtag[((k << c->dshift) + t) / CPU_GRAIN].w = NO_TAG;
		}
	}
	for (unsigned g = 0; g < n; g += 1u << c->ishift)
		for (unsigned alias = 0; alias < CPU_L1_SIZE; alias += 4096) {
			unsigned k = (((unsigned)(pa + g) & 0xfff) | alias) >> c->ishift;

			if (c->iptag[k] == pa + g) {
				c->iptag[k] = NO_TAG;
				c->iline[k].tag = NO_TAG;
				c->attn = true;		/* it may be the line being executed */
			}
		}
	if (c->sflags[i] & 1)
		c->bus->writeback(c->ctx, pa, c->sdata + ((size_t)i << c->sshift), n);
	c->sptag[i] = NO_TAG;
	c->sflags[i] = 0;
}

/* The primary line of physical address @pa, for virtual address @va, into @p. False, and nothing in @p:
 * bus error, or a virtual coherency exception in c->exc. */
static bool lower_fill(struct cpu *c, uint64_t pa, uint64_t va, void *p, unsigned n, bool fetch)
{
	unsigned i, pidx = va >> 12 & 7;
	uint64_t line;

	if (!c->sdata) {
		if (bus_line(c, pa, p, n, fetch))
			return true;
		c->exc = fetch ? EXC_IBE : EXC_DBE;
		return false;
	}
	i = s_index(c, pa);
	line = pa >> c->sshift << c->sshift;
	if (c->sptag[i] != line) {
		s_evict(c, i);
		if (!bus_line(c, line, c->sdata + ((size_t)i << c->sshift), 1u << c->sshift, fetch)) {
			c->exc = fetch ? EXC_IBE : EXC_DBE;
			return false;
		}
		c->sptag[i] = line;
		c->sflags[i] = (uint8_t)(pidx << 1);
	} else if ((c->sflags[i] >> 1 & 7u) != pidx) {
		c->exc = fetch ? EXC_VCEI : EXC_VCED;
		c->bad_vaddr = va;
		return false;
	}
	memcpy(p, c->sdata + ((size_t)i << c->sshift) + (pa - line), n);
	return true;
}

static void lower_writeback(struct cpu *c, uint64_t pa, const void *p, unsigned n)
{
	if (c->sdata) {
		unsigned i = s_index(c, pa);
		uint64_t line = pa >> c->sshift << c->sshift;

		if (c->sptag[i] == line) {
			memcpy(c->sdata + ((size_t)i << c->sshift) + (pa - line), p, n);
			c->sflags[i] |= 1;
			return;
		}
	}
	c->bus->writeback(c->ctx, pa, p, n);
}

/* ---- primary caches --------------------------------------------------------------------------- */
static void d_untag(struct cpu *c, unsigned line)
{
	unsigned g = (line << c->dshift) / CPU_GRAIN, n = (1u << c->dshift) / CPU_GRAIN;

	for (unsigned k = 0; k < n; k++)
		c->dtag[g + k].r = c->dtag[g + k].w = NO_TAG;
}

static void d_writeback(struct cpu *c, unsigned line)
{
	unsigned g = (line << c->dshift) / CPU_GRAIN, n = (1u << c->dshift) / CPU_GRAIN;

	if (c->dptag[line] == NO_TAG || !c->ddirty[line])
		return;
	lower_writeback(c, c->dptag[line], c->ddata + ((size_t)line << c->dshift), 1u << c->dshift);
	c->ddirty[line] = false;
	for (unsigned k = 0; k < n; k++)
		c->dtag[g + k].w = NO_TAG;		/* clean: the next store must come by */
}

static void d_invalidate(struct cpu *c, unsigned line)
{
	c->dptag[line] = NO_TAG;
	c->ddirty[line] = false;
	d_untag(c, line);
}

static bool d_fill(struct cpu *c, unsigned line, uint64_t va, uint64_t pa)
{
	unsigned n = 1u << c->dshift;

	pa &= ~(uint64_t)(n - 1);
	d_writeback(c, line);
	d_invalidate(c, line);
	if (!lower_fill(c, pa, va, c->ddata + ((size_t)line << c->dshift), n, false))
		return false;
	c->dptag[line] = pa;
	return true;
}

static void i_invalidate(struct cpu *c, unsigned line)
{
	c->iptag[line] = NO_TAG;
	c->iline[line].tag = NO_TAG;
}

static uint32_t word_at(const struct cpu *c, const void *p)
{
	uint32_t w;

	memcpy(&w, p, 4);
	return c->cfg.big_endian ? be32toh(w) : le32toh(w);
}

/* Give the line its decoded words: those from last time if they are the same, else undecoded ones,
 * which the interpreter decodes as it reaches them. */
static void i_decode(struct cpu *c, unsigned line, uint64_t va)
{
	const uint8_t *raw = c->idata + ((size_t)line << c->ishift);
	uint64_t pa = c->iptag[line];
	struct cpu_ibuf *b = &c->ibuf[pa >> c->ishift & (CPU_IBUFS - 1)];
	unsigned n = 1u << c->ishift;

	va = c->trace.on ? va >> c->ishift << c->ishift : 0;
	if (c->iline[b->user].op == b->op) {
		c->iline[b->user].op = NULL;
		c->iline[b->user].tag = NO_TAG;
	}
	b->user = line;
	c->iline[line].op = b->op;
	if (b->valid && b->pa == pa && b->va == va && !memcmp(b->raw, raw, n))
		return;
	b->valid = true;
	b->pa = pa;
	b->va = va;
	memcpy(b->raw, raw, n);
	for (unsigned k = 0; k < n / 4; k++) {
		b->op[k].go = c->decode_go;
		b->op[k].sa = 0;
		b->op[k].imm = (int32_t)word_at(c, raw + 4 * k);
	}
	b->op[n / 4] = (struct cpu_op){ .go = c->end_go, .sa = 0xff };
}

static bool i_fill(struct cpu *c, unsigned line, uint64_t va, uint64_t pa)
{
	const struct cpu_ibuf *b = &c->ibuf[pa >> c->ishift & (CPU_IBUFS - 1)];
	unsigned n = 1u << c->ishift;

	/* decoded words of hot code exceed the host's L2: they come while the line is filled */
	for (unsigned k = 0; k < sizeof *b; k += 64)
		__builtin_prefetch((const char *)b + k);
	pa &= ~(uint64_t)(n - 1);
	i_invalidate(c, line);
	if (!lower_fill(c, pa, va, c->idata + ((size_t)line << c->ishift), n, true))
		return false;
	c->iptag[line] = pa;
	c->iline[line].op = NULL;
	return true;
}

/* ---- translation -------------------------------------------------------------------------------- */
#define VPN_MASK	0xc00000ffffffe000ULL

static int tlb_find(const struct cpu *c, uint64_t va)
{
	uint8_t asid = (uint8_t)c->c0[C0_ENTRYHI];

	for (int i = 0; i < CPU_TLB; i++) {
		const struct cpu_tlb_entry *e = &c->tlb[i];

		if (!((e->vpn ^ va) & VPN_MASK & ~e->mask) && (e->g || e->asid == asid))
			return i;
	}
	return -1;
}

/* Rights that came from entry @e end: cpu.h (4). */
static void tlb_forget(struct cpu *c, const struct cpu_tlb_entry *e)
{
	uint64_t page = (e->mask | 0x1fff) / 2 + 1;

	if (!e->used || (!e->g && e->asid != (uint8_t)c->c0[C0_ENTRYHI]))
		return;			/* other address spaces' tags are salted differently already */
	if (page > 4096) {
		drop_tags(c);
		return;
	}
	for (unsigned half = 0; half < 2; half++) {
		uint64_t va = e->vpn + half * page;
		unsigned g = (unsigned)(va & (CPU_L1_SIZE - 1)) / CPU_GRAIN;
		unsigned il = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->ishift;

		c->utlb[va >> 12 & (NR(c->utlb) - 1)].tag = NO_TAG;
		memset(&c->dtag[g], 0xff, 4096 / CPU_GRAIN * sizeof c->dtag[0]);
		for (unsigned k = 0; k < 4096u >> c->ishift; k++)
			c->iline[il + k].tag = NO_TAG;
	}
}

static void tlb_write(struct cpu *c, unsigned i)
{
	struct cpu_tlb_entry *e, n = { 0 };

	if (i >= CPU_TLB)
		return;			/* undefined; nothing happens */
	e = &c->tlb[i];
	tlb_forget(c, e);
	n.mask = (c->c0[C0_PAGEMASK] & 0x01ffe000) | 0x1fff;
	n.vpn = c->c0[C0_ENTRYHI] & VPN_MASK & ~n.mask;
	n.asid = (uint8_t)c->c0[C0_ENTRYHI];
	n.lo[0] = (uint32_t)c->c0[C0_ENTRYLO0] & 0x3ffffffe;
	n.lo[1] = (uint32_t)c->c0[C0_ENTRYLO1] & 0x3ffffffe;
	n.g = c->c0[C0_ENTRYLO0] & c->c0[C0_ENTRYLO1] & 1;
	*e = n;
	/* a second entry for the same page: which one is hit may change, so nothing stays remembered */
	for (int k = 0; k < CPU_TLB; k++)
		if (k != (int)i && c->tlb[k].used &&
		    !((c->tlb[k].vpn ^ n.vpn) & VPN_MASK & ~(c->tlb[k].mask | n.mask)))
			tlb_forget(c, &c->tlb[k]);
}

struct xlat {
	uint64_t pa;
	uint8_t cca;		/* cache attribute; 2 is uncached */
	bool dirty;		/* may be written */
};

static bool cached(const struct cpu *c, const struct xlat *x)
{
	return x->cca != 2 && x->cca != 7 && !c->cfg.uncached;
}

static bool address_error(struct cpu *c, uint64_t va, enum cpu_access acc)
{
	c->bad_vaddr = va;
	c->exc = acc == ACC_STORE ? EXC_ADES : EXC_ADEL;
	return false;
}

static bool mapped(struct cpu *c, uint64_t va, enum cpu_access acc, struct xlat *x, bool peek)
{
	unsigned slot = va >> 12 & (NR(c->utlb) - 1);
	uint64_t tag = (va & ~0xfffULL) ^ c->salt;
	struct cpu_tlb_entry *e;
	uint32_t lo;
	int i;

	if (c->utlb[slot].tag == tag && (acc != ACC_STORE || c->utlb[slot].dirty)) {
		x->pa = c->utlb[slot].pa | (va & 0xfff);
		x->cca = c->utlb[slot].cca;
		x->dirty = c->utlb[slot].dirty;
		return true;
	}
	c->bad_vaddr = va;
	i = tlb_find(c, va);
	if (i < 0) {
		c->exc = acc == ACC_STORE ? EXC_TLBS : EXC_TLBL;
		c->exc_refill = true;
		return false;
	}
	e = &c->tlb[i];
	lo = e->lo[!!(va & (e->mask + 1) >> 1)];
	if (!(lo & 2)) {
		c->exc = acc == ACC_STORE ? EXC_TLBS : EXC_TLBL;
		return false;
	}
	if (acc == ACC_STORE && !(lo & 4)) {
		c->exc = EXC_MOD;
		return false;
	}
	x->pa = ((uint64_t)(lo >> 6) << 12 & ~(e->mask >> 1)) | (va & e->mask >> 1);
	x->cca = lo >> 3 & 7;
	x->dirty = lo & 4;
	if (!peek) {
		e->used = true;
		c->utlb[slot].tag = tag;
		c->utlb[slot].pa = x->pa & ~0xfffULL;
		c->utlb[slot].cca = x->cca;
		c->utlb[slot].dirty = x->dirty;
	}
	return true;
}

static bool translate(struct cpu *c, uint64_t va, enum cpu_access acc, struct xlat *x, bool peek)
{
	enum mode m = mode_of(c);

	c->exc_refill = false;
	x->dirty = true;
	if (va == SIGN32(va)) {
		uint32_t a = (uint32_t)va;

		if (a < 0x80000000u) {
			if (!(c->status & ST_ERL))
				return mapped(c, va, acc, x, peek);
			x->pa = a;
			x->cca = 2;
			return true;
		}
		if (m == USER)
			return address_error(c, va, acc);
		if (a >= 0xe0000000u || a < 0xc0000000u) {
			if (m != KERNEL)
				return address_error(c, va, acc);
			if (a < 0xc0000000u) {
				x->pa = a & 0x1fffffff;
				x->cca = a < 0xa0000000u ? c->c0[C0_CONFIG] & 7 : 2;
				return true;
			}
		}
		return mapped(c, va, acc, x, peek);
	}
	if (!addr64(c, m))
		return address_error(c, va, acc);
	switch (va >> 62) {
	case 0:
		if (va >> 40)
			break;
		return mapped(c, va, acc, x, peek);
	case 1:
		if (m == USER || (va & ~(3ULL << 62)) >> 40)
			break;
		return mapped(c, va, acc, x, peek);
	case 2:
		if (m != KERNEL || (va & 0x07fffff000000000ULL))
			break;
		x->pa = va & 0xfffffffffULL;
		x->cca = va >> 59 & 7;
		return true;
	case 3:
		if (m != KERNEL || (va & ~(3ULL << 62)) > 0xff7fffffffULL)
			break;
		return mapped(c, va, acc, x, peek);
	}
	return address_error(c, va, acc);
}

/* In 32-bit user mode addresses wrap at 32 bits: base + offset is sign-extended. */
static uint64_t wrap(const struct cpu *c, uint64_t va)
{
	return c->cfg.r2 || (mode_of(c) == USER && !(c->status & ST_UX)) ? SIGN32(va) : va;
}

static bool watch_hit(struct cpu *c, uint64_t pa, enum cpu_access acc)
{
	uint64_t lo = c->c0[C0_WATCHLO];

	if (!(lo & (acc == ACC_STORE ? 1 : 2)) || acc == ACC_FETCH || c->status & ST_EXL)
		return false;
	if ((pa >> 3) != (((c->c0[C0_WATCHHI] & 15) << 32 | (lo & 0xfffffff8)) >> 3))
		return false;
	c->exc = EXC_WATCH;
	return true;
}

/* ---- data ------------------------------------------------------------------------------------- */
/* The line of @va in the data cache, filled if need be; tags are set for the fast path. -1: c->exc. */
static int d_line(struct cpu *c, uint64_t va, const struct xlat *x, bool store)
{
	unsigned line = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	unsigned g = (unsigned)(va & (CPU_L1_SIZE - 1)) / CPU_GRAIN;
	uint64_t tag = (va & ~(uint64_t)(CPU_GRAIN - 1)) ^ c->salt;

	if (c->dptag[line] != (x->pa >> c->dshift << c->dshift)) {
		if (!d_fill(c, line, va, x->pa))
			return -1;
	}
	if (store && !c->ddirty[line])
		c->ddirty[line] = true;
	if (c->dtag[g].r != tag) {
		c->dtag[g].r = c->dtag[g].w = NO_TAG;
		if (!(c->c0[C0_WATCHLO] & 3))
			c->dtag[g].r = tag;
	}
	if (x->dirty && c->ddirty[line] && !(c->c0[C0_WATCHLO] & 3))
		c->dtag[g].w = tag;
	return (int)line;
}


static uint64_t get_bytes(const struct cpu *c, const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	if (c->cfg.big_endian)
		for (unsigned i = 0; i < n; i++)
			v = v << 8 | p[i];
	else
		memcpy(&v, p, n);
	return v;
}

static void put_bytes(const struct cpu *c, uint8_t *p, uint64_t v, unsigned n)
{
	if (c->cfg.big_endian)
		for (unsigned i = n; i-- > 0; v >>= 8)
			p[i] = (uint8_t)v;
	else
		memcpy(p, &v, n);
}

bool cpu_load(struct cpu *c, uint64_t va, unsigned size, uint64_t *val)
{
	struct xlat x;

	va = wrap(c, va);
	if (va & (size - 1))
		return address_error(c, va, ACC_LOAD);
	if (!translate(c, va, ACC_LOAD, &x, false) || watch_hit(c, x.pa, ACC_LOAD))
		return false;
	c->last_pa = x.pa;
	if (!cached(c, &x)) {
		if (c->bus->read(c->ctx, x.pa, size, val, false))
			return true;
		c->exc = EXC_DBE;
		return false;
	}
	if (d_line(c, va, &x, false) < 0)
		return false;
	*val = get_bytes(c, c->ddata + (va & (CPU_L1_SIZE - 1)), size);
	return true;
}

bool cpu_store(struct cpu *c, uint64_t va, unsigned size, uint64_t val)
{
	struct xlat x;

	va = wrap(c, va);
	if (va & (size - 1))
		return address_error(c, va, ACC_STORE);
	if (!translate(c, va, ACC_STORE, &x, false) || watch_hit(c, x.pa, ACC_STORE))
		return false;
	if (!cached(c, &x)) {
		if (c->bus->write(c->ctx, x.pa, size, val))
			return true;
		c->exc = EXC_DBE;
		return false;
	}
	if (d_line(c, va, &x, true) < 0)
		return false;
	put_bytes(c, c->ddata + (va & (CPU_L1_SIZE - 1)), val, size);
	return true;
}

/* Which bytes of the aligned unit an lwl, lwr... touches: numeric byte 0 is the least significant. */
static void part(const struct cpu *c, uint64_t va, enum mips_op op, unsigned *size, unsigned *lo, unsigned *n,
		 unsigned *shift)
{
	bool left = op == MIPS_lwl || op == MIPS_ldl || op == MIPS_swl || op == MIPS_sdl;
	unsigned k;

	*size = mips_ref_size(op);
	k = (unsigned)(va & (*size - 1));
	if (c->cfg.big_endian)
		k = *size - 1 - k;		/* now: numeric position of the addressed byte */
	if (left) {				/* bytes k..0 go to the top of the register */
		*lo = 0;
		*n = k + 1;
		*shift = *size - 1 - k;		/* register byte of numeric byte lo */
	} else {				/* bytes top..k go to the bottom */
		*lo = k;
		*n = *size - k;
		*shift = 0;
	}
}

bool cpu_load_part(struct cpu *c, uint64_t va, enum mips_op op, uint64_t *reg)
{
	unsigned size, lo, n, shift;
	uint64_t v, mask;
	struct xlat x;

	va = wrap(c, va);
	part(c, va, op, &size, &lo, &n, &shift);
	if (!translate(c, va, ACC_LOAD, &x, false) || watch_hit(c, x.pa, ACC_LOAD))
		return false;
	if (!cached(c, &x)) {
		if (!c->bus->read(c->ctx, x.pa & ~(uint64_t)(size - 1), size, &v, false)) {
			c->exc = EXC_DBE;
			return false;
		}
	} else {
		if (d_line(c, va, &x, false) < 0)
			return false;
		v = get_bytes(c, c->ddata + (va & (CPU_L1_SIZE - 1) & ~(size - 1)), size);
	}
	mask = n == 8 ? ~0ULL : (1ULL << 8 * n) - 1;
	v = (v >> 8 * lo & mask) << 8 * shift;
	mask <<= 8 * shift;
	v |= *reg & ~mask;
	*reg = size == 4 ? SIGN32(v) : v;
	return true;
}

bool cpu_store_part(struct cpu *c, uint64_t va, enum mips_op op, uint64_t reg)
{
	unsigned size, lo, n, shift;
	uint64_t v;
	struct xlat x;

	va = wrap(c, va);
	part(c, va, op, &size, &lo, &n, &shift);
	if (!translate(c, va, ACC_STORE, &x, false) || watch_hit(c, x.pa, ACC_STORE))
		return false;
	reg >>= 8 * shift;
	/* numeric byte lo + i is written: its address */
	if (!cached(c, &x)) {
		for (unsigned i = 0; i < n; i++) {
			unsigned k = c->cfg.big_endian ? size - 1 - (lo + i) : lo + i;

			if (!c->bus->write(c->ctx, (x.pa & ~(uint64_t)(size - 1)) + k, 1, reg >> 8 * i & 0xff)) {
				c->exc = EXC_DBE;
				return false;
			}
		}
		return true;
	}
	if (d_line(c, va, &x, true) < 0)
		return false;
	v = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = c->cfg.big_endian ? size - 1 - (lo + i) : lo + i;

		v = reg >> 8 * i & 0xff;
		c->ddata[(va & (CPU_L1_SIZE - 1) & ~(size - 1)) + k] = (uint8_t)v;
	}
	return true;
}

struct cpu_iline *cpu_fetch(struct cpu *c, uint64_t pc, uint32_t *word, bool *ok)
{
	struct cpu_iline *il;
	unsigned line;
	struct xlat x;
	uint64_t v;

	*ok = false;
	pc = wrap(c, pc);
	if (pc & 3) {
		address_error(c, pc, ACC_FETCH);
		return NULL;
	}
	if (!translate(c, pc, ACC_FETCH, &x, false))
		return NULL;
	if (!cached(c, &x)) {
		if (!c->bus->read(c->ctx, x.pa, 4, &v, true)) {
			c->exc = EXC_IBE;
			return NULL;
		}
		*word = (uint32_t)v;
		*ok = true;
		return NULL;
	}
	line = (unsigned)(pc & (CPU_L1_SIZE - 1)) >> c->ishift;
	if (c->iptag[line] != (x.pa >> c->ishift << c->ishift) && !i_fill(c, line, pc, x.pa))
		return NULL;
	il = &c->iline[line];
	if (!il->op)
		i_decode(c, line, pc);
	il->tag = (pc >> c->ishift << c->ishift) ^ c->salt;
	il->bias = (pc >> c->ishift << c->ishift) - ((uintptr_t)il->op >> 2);
	*ok = true;
	return il;
}

/* ---- decoding for the interpreter ------------------------------------------------------------------ */
void cpu_decode_fields(struct cpu_op *op, enum mips_op id, uint32_t w)
{
	unsigned rs = w >> 21 & 31, rt = w >> 16 & 31, rd = w >> 11 & 31, sa = w >> 6 & 31;
	unsigned dest = rd;

	op->rs = (uint8_t)rs;
	op->rt = (uint8_t)rt;
	op->sa = (uint8_t)sa;
	op->imm = (int16_t)w;
	if (id >= MIPS_NOPS)
		return;
	switch (mips_insns[id].class) {
	case MIPS_CLASS_alu: case MIPS_CLASS_shift: case MIPS_CLASS_cmov:
		if (w >> 26 >= 8 && w >> 26 < 28) {
			dest = rt;
			if (id == MIPS_andi || id == MIPS_ori || id == MIPS_xori)
				op->imm = (uint16_t)w;
			else if (id == MIPS_lui)
				op->imm = (int32_t)(w << 16);
		} else if (id == MIPS_ext || id == MIPS_ins) {
			dest = rt;
			op->imm = (int32_t)rd;
		} else if (id == MIPS_movf || id == MIPS_movt) {
			op->sa = (uint8_t)(rt >> 2 ? 24 + (rt >> 2) : 23);
		}
		break;
	case MIPS_CLASS_load:
		dest = rt;
		op->sa = (uint8_t)(id == MIPS_ll ? 4 : id == MIPS_lld ? 8 : (unsigned)id);
		break;
	case MIPS_CLASS_store:
		dest = rt;			/* sc */
		op->sa = (uint8_t)id;
		break;
	case MIPS_CLASS_branch: case MIPS_CLASS_link: case MIPS_CLASS_likely: case MIPS_CLASS_likelink:
		op->imm = (int16_t)w * 4 + 4;
		if (w >> 26 == 17)
			op->sa = (uint8_t)(rt >> 2 ? 24 + (rt >> 2) : 23);
		break;
	case MIPS_CLASS_jump:
		op->imm = (int32_t)((w & 0x3ffffff) << 2);
		break;
	case MIPS_CLASS_cp0:
		op->imm = (int32_t)w;
		op->sa = (uint8_t)id;
		op->rd = id != MIPS_mfc0 && id != MIPS_dmfc0 && id != MIPS_tlbp;
		return;
	case MIPS_CLASS_fpu: case MIPS_CLASS_fcmp: case MIPS_CLASS_fmove:
		op->imm = (int32_t)w;
		op->sa = (uint8_t)id;
		break;
	case MIPS_CLASS_misc:
		if (id == MIPS_rdhwr) {
			dest = rt;
			op->sa = (uint8_t)rd;
		}
		break;
	default:
		break;
	}
	op->rd = (uint8_t)(dest ? dest : 32);
}

/* ---- exceptions --------------------------------------------------------------------------------- */
void cpu_raise(struct cpu *c, uint64_t pc, bool bd)
{
	enum cpu_exc code = c->exc;
	uint32_t off = 0x180;
	uint64_t base;

	switch (code) {
	case EXC_MOD: case EXC_TLBL: case EXC_TLBS:
		c->c0[C0_CONTEXT] = (c->c0[C0_CONTEXT] & ~0x7fffffULL) | (c->bad_vaddr >> 9 & 0x7ffff0);
		c->c0[C0_XCONTEXT] = (c->c0[C0_XCONTEXT] & ~0x1ffffffffULL) |
			(c->bad_vaddr >> 9 & 0x7ffffff0) | (c->bad_vaddr >> 62) << 31;
		c->c0[C0_ENTRYHI] = (c->bad_vaddr & VPN_MASK) | (c->c0[C0_ENTRYHI] & 0xff);
		if (c->cfg.r2)
			c->c0[C0_ENTRYHI] = SIGN32(c->c0[C0_ENTRYHI]);
		/* fall through */
	case EXC_ADEL: case EXC_ADES: case EXC_VCEI: case EXC_VCED:
		c->c0[C0_BADVADDR] = c->bad_vaddr;
		break;
	default:
		break;
	}
	if (c->exc_refill && !(c->status & ST_EXL) && code != EXC_MOD) {
		enum mode region = c->bad_vaddr >> 62 == 0 ? USER : c->bad_vaddr >> 62 == 1 ? SUPERVISOR : KERNEL;

		off = addr64(c, region) ? 0x80 : 0;
	}
	c->exc_refill = false;
	if (code == EXC_INT && c->cause & CAUSE_IV && c->cfg.r2)
		off = 0x200;
	if (!(c->status & ST_EXL)) {
		c->c0[C0_EPC] = bd ? pc - 4 : pc;
		c->cause = (c->cause & ~CAUSE_BD) | (bd ? CAUSE_BD : 0);
	}
	c->cause = (c->cause & ~0x3000007cu) | (uint32_t)code << 2;
	if (code == EXC_CPU)
		c->cause |= (uint32_t)c->exc_ce << 28;
	c->status |= ST_EXL;
	if (c->status & ST_BEV)
		base = 0xffffffffbfc00200ULL;
	else
		base = c->cfg.r2 ? SIGN32(c->ebase & 0xfffff000u) : 0xffffffff80000000ULL;
	c->pc = base + off;
	c->in_delay = false;
	set_mode(c);
	if (c->bus->exception)
		c->bus->exception(c->ctx, code, pc, bd);
}

bool cpu_irq_pending(const struct cpu *c)
{
	return (c->status & (ST_IE | ST_EXL | ST_ERL)) == ST_IE &&
	       (c->status & ST_IM & (c->cause | c->ip));
}

void cpu_interrupt(struct cpu *c)
{
	c->exc = EXC_INT;
	c->exc_refill = false;
	c->left--;
	c->exceptions++;
	c->waiting = false;
	cpu_raise(c, c->pc, c->in_delay);
}

void cpu_line(struct cpu *c, unsigned n, bool up)
{
	if (up)
		c->ip |= 0x100u << n;
	else
		c->ip &= ~(0x100u << n);
	check_irq(c);
}

void cpu_eret(struct cpu *c)
{
	if (c->status & ST_ERL) {
		c->pc = c->c0[C0_ERROREPC];
		c->status &= ~(uint32_t)ST_ERL;
	} else {
		c->pc = c->c0[C0_EPC];
		c->status &= ~(uint32_t)ST_EXL;
	}
	c->llbit = false;
	set_mode(c);
	check_irq(c);
}

/* ---- coprocessor 0 ------------------------------------------------------------------------------- */
uint32_t cpu_count(const struct cpu *c)
{
	return (uint32_t)((int64_t)((cpu_ticks(c) + c->idle) / 2) + c->count_offset);
}

uint64_t cpu_timer_ticks(const struct cpu *c)
{
	uint32_t d = (uint32_t)c->c0[C0_COMPARE] - cpu_count(c);

	return (d ? d : 0x100000000ULL) * 2 - ((cpu_ticks(c) + c->idle) & 1);
}

uint32_t cpu_random(const struct cpu *c)
{
	unsigned wired = (unsigned)c->c0[C0_WIRED] & 63;
	uint64_t n = cpu_ticks(c) - c->random_base;

	if (wired >= CPU_TLB)
		wired = CPU_TLB - 1;
	return (uint32_t)(CPU_TLB - 1 - n % (CPU_TLB - wired));
}

uint32_t cpu_cause(const struct cpu *c)
{
	uint32_t v = c->cause | c->ip;

	if (c->cfg.r2 && c->ip & 0x8000)
		v |= CAUSE_TI;
	return v;
}

uint64_t cpu_cp0_get(const struct cpu *c, unsigned n)
{
	switch (n) {
	case C0_RANDOM: return cpu_random(c);
	case C0_COUNT: return SIGN32(cpu_count(c));
	case C0_STATUS: return SIGN32(c->status);
	case C0_CAUSE: return SIGN32(cpu_cause(c));
	default: return c->c0[n & 31];
	}
}

void cpu_cp0_set(struct cpu *c, unsigned n, uint64_t v)
{
	switch (n & 31) {
	case C0_RANDOM: {
		unsigned wired = (unsigned)c->c0[C0_WIRED] & 63;

		if (wired >= CPU_TLB)
			wired = CPU_TLB - 1;
		if (v > CPU_TLB - 1)
			v = CPU_TLB - 1;
		if (v < wired)
			v = wired;
		c->random_base = cpu_ticks(c) - (CPU_TLB - 1 - v);
		break;
	}
	case C0_COUNT:
		c->count_offset = (int64_t)(uint32_t)v - (int64_t)((cpu_ticks(c) + c->idle) / 2);
		break;
	case C0_STATUS: c->status = (uint32_t)v; break;
	case C0_CAUSE:
		c->cause = (uint32_t)v & (CAUSE_BD | CAUSE_IV | 0x3000037cu);
		c->ip = (uint32_t)v & 0xfc00;
		break;
	default: c->c0[n & 31] = v;
	}
}

static uint32_t config1(const struct cpu *c)
{
	unsigned is = c->cfg.iline == 32 ? 3 : 4, il = c->cfg.iline == 32 ? 4 : 3;
	unsigned ds = c->cfg.dline == 32 ? 3 : 4, dl = c->cfg.dline == 32 ? 4 : 3;

	return 0x80000000u | (CPU_TLB - 1) << 25 | is << 22 | il << 19 | ds << 13 | dl << 10 | 1;
}

static uint64_t mfc0(struct cpu *c, unsigned n, unsigned sel)
{
	uint32_t v;

	if (c->cfg.r2 && sel) {
		switch (n << 3 | sel) {
		case C0_CONTEXT << 3 | 2: return SIGN32(c->userlocal);
		case C0_PRID << 3 | 1: return SIGN32(c->ebase);
		case C0_STATUS << 3 | 1: return SIGN32(7u << 29);		/* IntCtl.IPTI */
		case C0_CONFIG << 3 | 1: return SIGN32(config1(c));
		case C0_CONFIG << 3 | 2: return SIGN32(0x80000000u);
		case C0_CONFIG << 3 | 3: return SIGN32(1u << 13);		/* UserLocal */
		default: return 0;
		}
	}
	switch (n) {
	case C0_COUNT:
		v = cpu_count(c);
		if (c->bus->count_read)
			c->bus->count_read(c->ctx, &v);
		return SIGN32(v);
	case C0_CAUSE:
		v = cpu_cause(c);
		if (c->bus->cause_read)
			c->bus->cause_read(c->ctx, &v);
		return SIGN32(v);
	case 7:
		return c->cfg.r2 ? c->hwrena : 0;
	default:
		return cpu_cp0_get(c, n);
	}
}

static void mtc0(struct cpu *c, unsigned n, unsigned sel, uint64_t v)
{
	uint32_t w = (uint32_t)v, old;

	if (c->cfg.r2 && sel) {
		if ((n << 3 | sel) == (C0_CONTEXT << 3 | 2))
			c->userlocal = w;
		else if ((n << 3 | sel) == (C0_PRID << 3 | 1))
			c->ebase = 0x80000000u | (w & 0x3ffff000);
		return;
	}
	switch (n) {
	case C0_INDEX: c->c0[n] = SIGN32(w & 0x8000003f); break;
	case C0_ENTRYLO0: case C0_ENTRYLO1: c->c0[n] = w & 0x3fffffff; break;
	case C0_CONTEXT: c->c0[n] = (v & ~0x7fffffULL) | (c->c0[n] & 0x7ffff0); break;
	case C0_PAGEMASK: c->c0[n] = w & 0x01ffe000; break;
	case C0_WIRED:
		c->c0[n] = w & 63;
		c->random_base = cpu_ticks(c) + 1;
		break;
	case 7:
		if (c->cfg.r2)
			c->hwrena = w;
		break;
	case C0_COUNT:
		cpu_cp0_set(c, n, v);
		c->attn = c->timer_moved = true;
		break;
	case C0_ENTRYHI:
		old = (uint32_t)c->c0[n];
		c->c0[n] = v & (VPN_MASK | 0xff);
		if (c->cfg.r2)
			c->c0[n] = SIGN32(c->c0[n]);
		if ((old ^ w) & 0xff)
			switch_space(c);
		break;
	case C0_COMPARE:
		c->c0[n] = SIGN32(w);
		c->ip &= ~0x8000u;
		c->attn = c->timer_moved = true;
		break;
	case C0_STATUS:
		old = c->status;
		c->status = w;
		if ((old ^ w) & (ST_KX | ST_SX | ST_UX | ST_ERL))
			new_space(c);
		else
			set_mode(c);
		check_irq(c);
		break;
	case C0_CAUSE:
		c->cause = (c->cause & ~0x300u) | (w & 0x300);
		if (c->cfg.r2)
			c->cause = (c->cause & ~CAUSE_IV) | (w & CAUSE_IV);
		check_irq(c);
		break;
	case C0_EPC: case C0_ERROREPC: c->c0[n] = v; break;
	case C0_CONFIG:
		old = (uint32_t)c->c0[n];
		c->c0[n] = SIGN32((old & ~7u) | (w & 7));
		if ((old ^ w) & 7)
			drop_tags(c);
		break;
	case C0_LLADDR: c->c0[n] = w; break;
	case C0_WATCHLO:
		c->c0[n] = SIGN32(w & ~4u);
		drop_tags(c);
		break;
	case C0_WATCHHI: c->c0[n] = w & 15; drop_tags(c); break;
	case C0_XCONTEXT: c->c0[n] = (v & ~0x1ffffffffULL) | (c->c0[n] & 0x1fffffff0ULL); break;
	case C0_ECC: c->c0[n] = w & 0xff; break;
	case C0_TAGLO: c->c0[n] = SIGN32(w); break;
	case C0_TAGHI: break;
	default: break;			/* read-only, or not there */
	}
}

bool cpu_cp0_op(struct cpu *c, enum mips_op op, uint32_t w)
{
	unsigned rt = w >> 16 & 31, rd = w >> 11 & 31, sel = w & 7;
	uint64_t v = 0;
	int i;

	switch (op) {
	case MIPS_mfc0:
		v = SIGN32(mfc0(c, rd, sel));
		break;
	case MIPS_dmfc0:
		v = mfc0(c, rd, sel);
		break;
	case MIPS_mtc0:
		mtc0(c, rd, sel, SIGN32(c->gpr[rt]));
		return true;
	case MIPS_dmtc0:
		mtc0(c, rd, sel, c->gpr[rt]);
		return true;
	case MIPS_di: case MIPS_ei:
		v = SIGN32(c->status);
		c->status = op == MIPS_ei ? c->status | ST_IE : c->status & ~(uint32_t)ST_IE;
		check_irq(c);
		break;
	case MIPS_tlbr: {
		const struct cpu_tlb_entry *e;
		unsigned k = (unsigned)c->c0[C0_INDEX] & 63;
		uint64_t hi = c->c0[C0_ENTRYHI];

		if (k >= CPU_TLB)
			return true;
		e = &c->tlb[k];
		c->c0[C0_PAGEMASK] = e->mask & 0x01ffe000;
		c->c0[C0_ENTRYHI] = e->vpn | e->asid;
		if (c->cfg.r2)
			c->c0[C0_ENTRYHI] = SIGN32(c->c0[C0_ENTRYHI]);
		c->c0[C0_ENTRYLO0] = e->lo[0] | e->g;
		c->c0[C0_ENTRYLO1] = e->lo[1] | e->g;
		if ((hi ^ c->c0[C0_ENTRYHI]) & 0xff)
			switch_space(c);
		return true;
	}
	case MIPS_tlbwi:
		tlb_write(c, (unsigned)c->c0[C0_INDEX] & 63);
		return true;
	case MIPS_tlbwr:
		tlb_write(c, cpu_random(c));
		return true;
	case MIPS_tlbp:
		i = tlb_find(c, c->c0[C0_ENTRYHI] & VPN_MASK);
		c->c0[C0_INDEX] = i < 0 ? SIGN32(0x80000000u) : (uint64_t)i;
		return true;
	case MIPS_wait:
		c->waiting = true;
		c->attn = true;
		return true;
	default:
		c->exc = EXC_RI;
		return false;
	}
	if (rt)
		c->gpr[rt] = v;
	return true;
}

bool cpu_rdhwr(struct cpu *c, unsigned n, uint64_t *val)
{
	if (!c->cp0_ok && !(c->hwrena >> n & 1)) {
		c->exc = EXC_RI;
		return false;
	}
	switch (n) {
	case 0: *val = 0; return true;				/* CPU number */
	case 1: *val = c->cfg.iline < c->cfg.dline ? c->cfg.iline : c->cfg.dline; return true;
	case 2: *val = mfc0(c, C0_COUNT, 0); return true;
	case 3: *val = 2; return true;				/* Count's resolution */
	case 29: *val = SIGN32(c->userlocal); return true;
	default:
		c->exc = EXC_RI;
		return false;
	}
}

/* @op: bits 20:16 of CACHE; 0x20 stands for synci. */
bool cpu_cache_op(struct cpu *c, unsigned op, uint64_t va)
{
	unsigned what = op >> 2 & 7, il, dl;
	struct xlat x = { 0 };
	bool hit;

	va = wrap(c, va);
	if (op == 0x20)
		what = 4;
	il = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->ishift;
	dl = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	if (what >= 3 || (op & 2)) {		/* all but index operations on primary caches translate */
		if (!translate(c, va, ACC_LOAD, &x, false))
			return false;
	}
	if (op == 0x20) {			/* write back D, invalidate I: by hit */
		if (c->dptag[dl] == (x.pa >> c->dshift << c->dshift))
			d_writeback(c, dl);
		if (c->iptag[il] == (x.pa >> c->ishift << c->ishift))
			i_invalidate(c, il);
		return true;
	}
	if (op & 2) {				/* secondary; SI and SD are one unified cache */
		unsigned i;

		if (!c->sdata)
			return true;
		i = s_index(c, x.pa);
		hit = c->sptag[i] == x.pa >> c->sshift << c->sshift;
		switch (what) {
		case 0:
			s_evict(c, i);
			break;
		case 1:
			c->c0[C0_TAGLO] = c->sptag[i] == NO_TAG ? 0 :
				(c->sptag[i] >> 17 << 13 & 0xffffe000) | (c->sflags[i] & 1 ? 5u : 4u) << 10 |
				(c->sflags[i] >> 1 & 7u) << 7;
			break;
		case 2:
			if (c->c0[C0_TAGLO] == 0) {
				c->sptag[i] = NO_TAG;
				c->sflags[i] = 0;
			}
			break;
		case 4:
			if (hit) {
				c->sflags[i] &= (uint8_t)~1u;
				s_evict(c, i);
			}
			break;
		case 5: case 6:
			if (hit)
				s_evict(c, i);
			break;
		case 7:				/* hit set virtual: the primary copy's address changes */
			if (hit)
				c->sflags[i] = (uint8_t)((c->sflags[i] & 1) | (va >> 12 & 7) << 1);
			break;
		default:
			break;
		}
		return true;
	}
	if (!(op & 1)) {			/* instruction cache */
		hit = c->iptag[il] == x.pa >> c->ishift << c->ishift;
		switch (what) {
		case 0:
			i_invalidate(c, il);
			break;
		case 1:
			c->c0[C0_TAGLO] = c->iptag[il] == NO_TAG ? 0 :
				SIGN32((c->iptag[il] >> 12 & 0xffffff) << 8 | 2 << 6);
			break;
		case 2:
			i_invalidate(c, il);
			if (c->c0[C0_TAGLO] >> 6 & 2) {	/* a valid tag over whatever data is there */
				c->iptag[il] = (c->c0[C0_TAGLO] >> 8 & 0xffffff) << 12 |
					       (((uint64_t)il << c->ishift) & 0xfff);
				c->iline[il].op = NULL;
			}
			break;
		case 4:
			if (hit)
				i_invalidate(c, il);
			break;
		case 5:				/* fill */
			if (cached(c, &x))
				return i_fill(c, il, va, x.pa);
			break;
		case 6:				/* hit write back: I lines are never dirty, data goes out as is */
			if (hit)
				lower_writeback(c, c->iptag[il], c->idata + ((size_t)il << c->ishift),
						1u << c->ishift);
			break;
		default:
			break;
		}
		return true;
	}
	hit = c->dptag[dl] == x.pa >> c->dshift << c->dshift;
	switch (what) {
	case 0:
		d_writeback(c, dl);
		d_invalidate(c, dl);
		break;
	case 1:
		c->c0[C0_TAGLO] = c->dptag[dl] == NO_TAG ? 0 :
			SIGN32((c->dptag[dl] >> 12 & 0xffffff) << 8 | (c->ddirty[dl] ? 3u : 2u) << 6);
		break;
	case 2:
		d_invalidate(c, dl);
		if (c->c0[C0_TAGLO] >> 6 & 3) {
			c->dptag[dl] = (c->c0[C0_TAGLO] >> 8 & 0xffffff) << 12 |
				       (((uint64_t)dl << c->dshift) & 0xfff);
			c->ddirty[dl] = (c->c0[C0_TAGLO] >> 6 & 3) == 3;
		}
		break;
	case 3:					/* create dirty exclusive: no fill, the data stay what they were */
		if (!hit) {
			d_writeback(c, dl);
			d_invalidate(c, dl);
			c->dptag[dl] = x.pa >> c->dshift << c->dshift;
		}
		c->ddirty[dl] = true;
		break;
	case 4:
		if (hit)
			d_invalidate(c, dl);
		break;
	case 5:
		if (hit) {
			d_writeback(c, dl);
			d_invalidate(c, dl);
		}
		break;
	case 6:
		if (hit)
			d_writeback(c, dl);
		break;
	default:
		break;
	}
	return true;
}

/* ---- life ------------------------------------------------------------------------------------------ */
static uint32_t config_reset(const struct cpu_config *g)
{
	if (g->r2)		/* M, big endian, release 2, TLB, K0 uncached */
		return 0x80000000u | (g->big_endian ? 1u << 15 : 0) | 1 << 10 | 1 << 7 | 2;
	return (g->scache ? 0 : 1u << 17) | (g->big_endian ? 1u << 15 : 0) |
	       (g->sline == 128 ? 3u : g->sline == 64 ? 2u : g->sline == 32 ? 1u : 0) << 22 |
	       2u << 9 | 2u << 6 | (g->iline == 32 ? 1u << 5 : 0) | (g->dline == 32 ? 1u << 4 : 0) | 2;
}

void cpu_reset(struct cpu *c)
{
	memset(c->gpr, 0, sizeof c->gpr);
	memset(c->fpr, 0, sizeof c->fpr);
	memset(c->c0, 0, sizeof c->c0);
	memset(c->tlb, 0, sizeof c->tlb);
	/* entries that match nothing a program can name: distinct, in unmapped space */
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i] = (struct cpu_tlb_entry){ .vpn = 0xffffffff80000000ULL + i * 0x2000ULL, .mask = 0x1fff };
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i].vpn &= VPN_MASK;
	memset(c->dptag, 0xff, sizeof c->dptag);
	memset(c->iptag, 0xff, sizeof c->iptag);
	memset(c->ddirty, 0, sizeof c->ddirty);
	memset(c->ddata, 0, sizeof c->ddata);
	memset(c->idata, 0, sizeof c->idata);
	if (c->sptag) {
		memset(c->sptag, 0xff, c->slines * sizeof *c->sptag);
		memset(c->sflags, 0, c->slines);
		memset(c->sdata, 0, (size_t)c->slines << c->sshift);
	}
	c->hi = c->lo = 0;
	c->status = ST_BEV | ST_ERL;
	c->cause = c->ip = 0;
	c->fcr31 = 0;
	c->c0[C0_PRID] = c->cfg.r2 ? 0x00019300 : 0x00000460;
	c->c0[C0_CONFIG] = SIGN32(config_reset(&c->cfg));
	c->ebase = 0x80000000u;
	c->userlocal = c->hwrena = 0;
	c->pc = 0xffffffffbfc00000ULL;
	c->in_delay = c->llbit = c->waiting = c->attn = false;
	c->nbranch = 0;
	c->left = 0;
	c->end = c->idle = c->exceptions = 0;
	c->random_base = 0;
	c->count_offset = 0;
	cpu_sync(c);
}

void cpu_sync(struct cpu *c)
{
	c->gpr[0] = 0;
	c->asid_salt = 0;
	drop_tags(c);
	for (unsigned i = 0; i < CPU_IBUFS; i++)
		c->ibuf[i].valid = false;
	for (unsigned i = 0; i <= c->imask; i++)
		c->iline[i].op = NULL;
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i].used = true;
	set_mode(c);
	check_irq(c);
}

struct cpu *cpu_new(const struct cpu_config *cfg, const struct cpu_bus *bus, void *ctx)
{
	struct cpu *c = pm_alloc(sizeof *c);

	c->cfg = *cfg;
	c->bus = bus;
	c->ctx = ctx;
	c->isa = cfg->r2 ? MIPS_ISA_32R2 : MIPS_ISA_R4400;
	c->ishift = cfg->iline == 16 ? 4 : 5;
	c->dshift = cfg->dline == 16 ? 4 : 5;
	c->imask = (CPU_L1_SIZE >> c->ishift) - 1;
	if (cfg->scache) {
		c->sshift = (uint32_t)__builtin_ctz(cfg->sline);
		c->slines = cfg->scache >> c->sshift;
		c->sdata = pm_alloc(cfg->scache);
		c->sptag = pm_alloc(c->slines * sizeof *c->sptag);
		c->sflags = pm_alloc(c->slines);
	}
	c->ibuf = pm_alloc(CPU_IBUFS * sizeof *c->ibuf);
	c->insn_id = pm_alloc(CPU_IBUFS * sizeof *c->ibuf / 4);
	cpu_reset(c);
	return c;
}

void cpu_free(struct cpu *c)
{
	if (!c)
		return;
	free(c->ibuf);
	free(c->insn_id);
	free(c->sdata);
	free(c->sptag);
	free(c->sflags);
	free(c);
}

void cpu_run(struct cpu *c)
{
	if (c->trace.on)
		(c->cfg.big_endian ? cpu_run_be_trace : cpu_run_le_trace)(c);
	else
		(c->cfg.big_endian ? cpu_run_be : cpu_run_le)(c);
}

/* ---- a debugger's view ---------------------------------------------------------------------------- */
static uint8_t *peek_byte(struct cpu *c, uint64_t va, struct xlat *x)
{
	enum cpu_exc exc = c->exc;
	bool refill = c->exc_refill, ok;
	uint64_t bad = c->bad_vaddr;
	unsigned line;

	va = wrap(c, va);
	ok = translate(c, va, ACC_LOAD, x, true);
	c->exc = exc;
	c->exc_refill = refill;
	c->bad_vaddr = bad;
	if (!ok)
		return NULL;
	line = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	if (cached(c, x) && c->dptag[line] == x->pa >> c->dshift << c->dshift)
		return c->ddata + (va & (CPU_L1_SIZE - 1));
	if (cached(c, x) && c->sdata && c->sptag[s_index(c, x->pa)] == x->pa >> c->sshift << c->sshift)
		return c->sdata + ((size_t)s_index(c, x->pa) << c->sshift) + (x->pa & ((1u << c->sshift) - 1));
	return NULL;
}

bool cpu_locate(struct cpu *c, uint64_t va, uint64_t *pa, uint8_t **cached_at)
{
	struct xlat x = { .pa = NO_TAG };

	*cached_at = peek_byte(c, va, &x);
	*pa = x.pa;
	return x.pa != NO_TAG;
}

/* ---- the state as a table --------------------------------------------------------------------------- */
#define F(m, about)	{ #m, offsetof(struct cpu, m), sizeof ((struct cpu *)0)->m, 1, about }
#define FA(m, about)	{ #m, offsetof(struct cpu, m), sizeof ((struct cpu *)0)->m[0], \
			  NR(((struct cpu *)0)->m), about }
const struct cpu_field cpu_fields[] = {
	F(pc, "next instruction, virtual"), F(in_delay, "pc is in the delay slot of a branch to tgt"),
	F(tgt, "where the branch under way goes"), FA(gpr, "general registers; 32 is scrap"),
	F(hi, "HI"), F(lo, "LO"), FA(fpr, "floating-point registers"), F(fcr31, "FCR31"),
	FA(c0, "CP0 registers but Random, Count, Status, Cause"), F(status, "Status"),
	F(cause, "Cause without IP7..2"), F(ip, "IP7..2 as in Cause"), F(userlocal, "UserLocal"),
	F(ebase, "EBase"), F(hwrena, "HWREna"), F(llbit, "LLbit"), F(left, "ticks until end"),
	F(end, "ticks at which left is 0"), F(random_base, "tick at which Random was 47"),
	F(count_offset, "Count - ticks / 2"), F(idle, "ticks skipped by WAIT"),
	F(exceptions, "ticks that were exceptions"), F(waiting, "in WAIT"),
	F(nbranch, "completed branches"), FA(tlb, "TLB"), FA(dptag, "data cache tags"),
	FA(iptag, "instruction cache tags"), FA(ddirty, "dirty data lines"), FA(ddata, "data cache"),
	FA(idata, "instruction cache"),
	{ 0 }
};

const struct cpu_field *cpu_diff(const struct cpu *a, const struct cpu *b, unsigned *elem)
{
	for (const struct cpu_field *f = cpu_fields; f->name; f++)
		for (unsigned i = 0; i < f->n; i++)
			if (memcmp((const char *)a + f->off + i * f->size,
				   (const char *)b + f->off + i * f->size, f->size)) {
				*elem = i;
				return f;
			}
	return NULL;
}

uint64_t cpu_field_get(const struct cpu *c, const struct cpu_field *f, unsigned elem)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)c + f->off + elem * f->size, f->size < 8 ? f->size : 8);
	return le64toh(v);
}

void cpu_print(const struct cpu *c, char *buf, size_t size)
{
	size_t at = 0, n;

	*buf = 0;
	for (const struct cpu_field *f = cpu_fields; f->name; f++) {
		if (f->size > 8 || f->n > 33)
			continue;
		for (unsigned i = 0; i < f->n && at < size; i++) {
			char name[32];

			if (f->n == 1)
				snprintf(name, sizeof name, "%s", f->name);
			else if (f->off == offsetof(struct cpu, gpr) && i < 32)
				snprintf(name, sizeof name, "%s", mips_gpr_names[i]);
			else
				snprintf(name, sizeof name, "%s[%u]", f->name, i);
			n = (size_t)snprintf(buf + at, size - at, "%-13s %016llx%s", name,
					     (unsigned long long)cpu_field_get(c, f, i),
					     f->n == 1 || i % 4 == 3 || i + 1 == f->n ? "\n" : "  ");
			at = n < size - at ? at + n : size;
		}
	}
}

_Static_assert(sizeof(struct cpu_op) == 16, "trace ids are found by op address / 4");
_Static_assert(sizeof(struct cpu_ibuf) % 16 == 0, "ops of all entries are 16 bytes apart modulo 16");
