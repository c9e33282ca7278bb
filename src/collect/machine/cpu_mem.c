/* SPDX-License-Identifier: MIT */
/* cpu_mem.c - the processor's caches and address translation, and what goes through them */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/cpu_parts.h"

void cpu_drop_tags(struct cpu *c)
{
	memset(c->dtag, 0xff, sizeof c->dtag);
	for (unsigned i = 0; i <= c->imask + 1; i++)
		c->iline[i].tag = NO_TAG;
	for (unsigned i = 0; i < NR(c->utlb); i++)
		c->utlb[i].tag = NO_TAG;
}

void cpu_set_lines(struct cpu *c)
{
	uint32_t config = (uint32_t)c->c0[C0_CONFIG];

	c->cfg.iline = config & CONFIG_IB ? 32 : 16;
	c->cfg.dline = config & CONFIG_DB ? 32 : 16;
	c->ishift = c->cfg.iline == 16 ? 4 : 5;
	c->dshift = c->cfg.dline == 16 ? 4 : 5;
	c->imask = (CPU_L1_SIZE >> c->ishift) - 1;
	for (unsigned i = 0; i < NR(c->iline); i++)
		c->iline[i] = (struct cpu_iline){ .tag = NO_TAG };
	c->epoch++;
	memset(c->dptag, 0xff, sizeof c->dptag);
	memset(c->iptag, 0xff, sizeof c->iptag);
	memset(c->ddirty, 0, sizeof c->ddirty);
	cpu_drop_tags(c);
}

/* ---- secondary cache (SC parts): a layer between the primary caches and the bus ------------- */
static inline bool bus_line(struct cpu *c, uint64_t pa, void *p, unsigned n, bool fetch)
{
	if (c->bus->fill(c->ctx, pa, p, n, fetch))
		return true;
	c->exc = fetch ? EXC_IBE : EXC_DBE;
	return false;
}

void cpu_s_evict(struct cpu *c, unsigned i)
{
	uint64_t pa = c->sptag[i];
	unsigned n = 1u << c->sshift;

	if (pa == NO_TAG)
		return;
	/* the primary caches hold subsets: pull dirty data down, drop both */
	for (unsigned g = 0; g < n; g += 1u << c->dshift) {
		unsigned vx = ((c->sflags[i] >> 1 & 7u) << 12 | ((unsigned)(pa + g) & 0xfff)) &
			      (CPU_L1_SIZE - 1);

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

static bool secondary_fill(struct cpu *c, uint64_t pa, uint64_t va, void *p, unsigned n, bool fetch)
{
	unsigned i = s_index(c, pa), pidx = va >> 12 & 7;
	uint64_t line = pa >> c->sshift << c->sshift;

	if (c->sptag[i] != line) {
		cpu_s_evict(c, i);
		if (!bus_line(c, line, c->sdata + ((size_t)i << c->sshift), 1u << c->sshift,
			      fetch))
			return false;
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

/* HOT, as all that a miss in a primary cache goes through. The primary line of physical address
 * @pa, for virtual address @va, into @p. False, and nothing in @p: c->exc, a bus error or virtual
 * coherency exception. */
static inline bool lower_fill(struct cpu *c, uint64_t pa, uint64_t va, void *p, unsigned n,
			      bool fetch)
{
	if (c->sdata)
		return secondary_fill(c, pa, va, p, n, fetch);
	return bus_line(c, pa, p, n, fetch);
}

void cpu_lower_writeback(struct cpu *c, uint64_t pa, const void *p, unsigned n)
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

/* ---- primary caches ------------------------------------------------------------------------- */
static void d_untag(struct cpu *c, unsigned line)
{
	unsigned g = (line << c->dshift) / CPU_GRAIN, n = (1u << c->dshift) / CPU_GRAIN;

	for (unsigned k = 0; k < n; k++)
		c->dtag[g + k].r = c->dtag[g + k].w = NO_TAG;
}

void cpu_d_writeback(struct cpu *c, unsigned line)
{
	unsigned g = (line << c->dshift) / CPU_GRAIN, n = (1u << c->dshift) / CPU_GRAIN;

	if (c->dptag[line] == NO_TAG || !c->ddirty[line])
		return;
	cpu_lower_writeback(c, c->dptag[line], c->ddata + ((size_t)line << c->dshift),
			    1u << c->dshift);
	c->ddirty[line] = false;
	for (unsigned k = 0; k < n; k++)
		c->dtag[g + k].w = NO_TAG;		/* clean: the next store must come by */
}

void cpu_d_invalidate(struct cpu *c, unsigned line)
{
	c->dptag[line] = NO_TAG;
	c->ddirty[line] = false;
	d_untag(c, line);
}

void cpu_flush_caches(struct cpu *c)
{
	for (unsigned i = 0; i < CPU_L1_SIZE >> c->dshift; i++) {
		cpu_d_writeback(c, i);
		cpu_d_invalidate(c, i);
	}
	for (unsigned i = 0; i < CPU_L1_SIZE >> c->ishift; i++)
		i_invalidate(c, i);
	for (unsigned i = 0; c->sdata && i < c->slines; i++)
		cpu_s_evict(c, i);
}

static bool d_fill(struct cpu *c, unsigned line, uint64_t va, uint64_t pa)
{
	unsigned n = 1u << c->dshift;

	pa &= ~(uint64_t)(n - 1);
	cpu_d_writeback(c, line);
	cpu_d_invalidate(c, line);
	if (!lower_fill(c, pa, va, c->ddata + ((size_t)line << c->dshift), n, false))
		return false;
	c->dptag[line] = pa;
	return true;
}

static uint32_t word_at(const struct cpu *c, const void *p)
{
	uint32_t w;

	memcpy(&w, p, 4);
	return c->cfg.big_endian ? be32toh(w) : le32toh(w);
}

static bool same_line(const void *a, const void *b, unsigned n)
{
	return n == 32 ? !memcmp(a, b, 32) : !memcmp(a, b, 16);		/* inlined */
}

/* Give the line its decoded words: those from last time if they are the same, else undecoded ones,
 * which the interpreter decodes as it reaches them. */
static void i_decode(struct cpu *c, unsigned line, uint64_t va)
{
	const uint8_t *raw = c->idata + ((size_t)line << c->ishift);
	uint64_t pa = c->iptag[line];
	struct cpu_ibuf *b = &c->ibuf[pa >> c->ishift & (CPU_IBUFS - 1)];
	unsigned n = 1u << c->ishift;

	va = c->trace.on && !c->trace.counts ? va >> c->ishift << c->ishift : 0;
	if (c->iline[b->user].op == b->op) {
		c->iline[b->user].op = NULL;
		c->iline[b->user].tag = NO_TAG;
	}
	b->user = line;
	c->iline[line].op = b->op;
	if (b->epoch == c->epoch && b->pa == pa && b->va == va && same_line(b->raw, raw, n))
		return;
	b->epoch = c->epoch;
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

bool cpu_i_fill(struct cpu *c, unsigned line, uint64_t va, uint64_t pa)
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


/* ---- translation ---------------------------------------------------------------------------- */
static bool address_error(struct cpu *c, uint64_t va, enum cpu_access acc)
{
	c->bad_vaddr = va;
	c->exc = acc == ACC_STORE ? EXC_ADES : EXC_ADEL;
	return false;
}

static bool mapped(struct cpu *c, uint64_t va, enum cpu_access acc, struct cpu_xlat *x, bool peek)
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

bool cpu_translate(struct cpu *c, uint64_t va, enum cpu_access acc, struct cpu_xlat *x, bool peek)
{
	enum cpu_mode m = mode_of(c);

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

static bool watch_hit(struct cpu *c, uint64_t pa, enum cpu_access acc)
{
	uint64_t lo = c->c0[C0_WATCHLO];

	if (!(lo & (acc == ACC_STORE ? 1 : 2)) || acc == ACC_FETCH)
		return false;
	if ((pa >> 3) != (((c->c0[C0_WATCHHI] & 15) << 32 | (lo & 0xfffffff8)) >> 3))
		return false;
	if (c->status & (ST_EXL | ST_ERL)) {		/* postponed: cpu_watch_due() */
		c->cause |= CAUSE_WP;
		return false;
	}
	c->exc = EXC_WATCH;
	return true;
}

/* ---- data ----------------------------------------------------------------------------------- */
/* The line of @va in the data cache, filled if need be; tags are set for the fast path, in all of
 * the line, which is in one page. -1: c->exc. */
static int d_line(struct cpu *c, uint64_t va, const struct cpu_xlat *x, bool store)
{
	unsigned line = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	unsigned g = (line << c->dshift) / CPU_GRAIN, n = (1u << c->dshift) / CPU_GRAIN;
	uint64_t tag = (va >> c->dshift << c->dshift) ^ c->salt;

	if (c->dptag[line] != (x->pa >> c->dshift << c->dshift)) {
		if (!d_fill(c, line, va, x->pa))
			return -1;
	}
	if (store && !c->ddirty[line])
		c->ddirty[line] = true;
	if (reversed(c))
		return (int)line;
	if (c->c0[C0_WATCHLO] & 3) {
		d_untag(c, line);
		return (int)line;
	}
	for (unsigned k = 0; k < n; k++) {
		c->dtag[g + k].r = tag + k * CPU_GRAIN;
		c->dtag[g + k].w = x->dirty && c->ddirty[line] ? tag + k * CPU_GRAIN : NO_TAG;
	}
	return (int)line;
}

static uint64_t get_bytes(const struct cpu *c, const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	if (c->cfg.big_endian)
		for (unsigned i = 0; i < n; i++)
			v = v << 8 | p[i];
	else if (n == 4)		/* inlined */
		memcpy(&v, p, 4);
	else
		memcpy(&v, p, n);
	return v;
}

static void put_bytes(const struct cpu *c, uint8_t *p, uint64_t v, unsigned n)
{
	if (c->cfg.big_endian)
		for (unsigned i = n; i-- > 0; v >>= 8)
			p[i] = (uint8_t)v;
	else if (n == 4)
		memcpy(p, &v, 4);
	else
		memcpy(p, &v, n);
}

bool cpu_load(struct cpu *c, uint64_t va, unsigned size, uint64_t *val)
{
	struct cpu_xlat x;

	va = wrap(c, va);
	if (va & (size - 1))
		return address_error(c, va, ACC_LOAD);
	if (!cpu_translate(c, va, ACC_LOAD, &x, false) || watch_hit(c, x.pa, ACC_LOAD))
		return false;
	c->last_pa = x.pa;
	va ^= reversal(c, size);
	x.pa ^= reversal(c, size);
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
	struct cpu_xlat x;

	va = wrap(c, va);
	if (va & (size - 1))
		return address_error(c, va, ACC_STORE);
	if (!cpu_translate(c, va, ACC_STORE, &x, false) || watch_hit(c, x.pa, ACC_STORE))
		return false;
	va ^= reversal(c, size);
	x.pa ^= reversal(c, size);
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

bool cpu_store_checked(struct cpu *c, uint64_t va, unsigned size)
{
	struct cpu_xlat x;

	va = wrap(c, va);
	if (va & (size - 1))
		return address_error(c, va, ACC_STORE);
	return cpu_translate(c, va, ACC_STORE, &x, false) && !watch_hit(c, x.pa, ACC_STORE);
}

/* Which bytes of the aligned unit an lwl, lwr... touches: numeric byte 0 is the least
 * significant. */
static void part(const struct cpu *c, uint64_t va, enum mips_op op, unsigned *size, unsigned *lo,
		 unsigned *n, unsigned *shift)
{
	bool left = op == MIPS_lwl || op == MIPS_ldl || op == MIPS_swl || op == MIPS_sdl;
	unsigned k;

	*size = mips_ref_size(op);
	k = (unsigned)(va & (*size - 1));
	if (c->cfg.big_endian != reversed(c))
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
	struct cpu_xlat x;

	va = wrap(c, va);
	part(c, va, op, &size, &lo, &n, &shift);
	if (!cpu_translate(c, va, ACC_LOAD, &x, false) || watch_hit(c, x.pa, ACC_LOAD))
		return false;
	va ^= reversal(c, size);
	x.pa ^= reversal(c, size);
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
	unsigned size, lo, n, shift, at;
	struct cpu_xlat x;

	va = wrap(c, va);
	part(c, va, op, &size, &lo, &n, &shift);
	if (!cpu_translate(c, va, ACC_STORE, &x, false) || watch_hit(c, x.pa, ACC_STORE))
		return false;
	reg >>= 8 * shift;
	va ^= reversal(c, size);
	x.pa ^= reversal(c, size);
	/* numeric bytes lo to lo + n - 1 are written: where in the unit the lowest address is */
	at = c->cfg.big_endian ? size - lo - n : lo;
	if (!cached(c, &x)) {
		if (n < 8)
			reg &= (1ULL << 8 * n) - 1;
		if (c->bus->write(c->ctx, (x.pa & ~(uint64_t)(size - 1)) + at, n, reg))
			return true;
		c->exc = EXC_DBE;
		return false;
	}
	if (d_line(c, va, &x, true) < 0)
		return false;
	put_bytes(c, c->ddata + (va & (CPU_L1_SIZE - 1) & ~(size - 1)) + at, reg, n);
	return true;
}

struct cpu_iline *cpu_fetch(struct cpu *c, uint64_t pc, uint32_t *word, bool *ok)
{
	struct cpu_iline *il;
	unsigned line;
	struct cpu_xlat x;
	uint64_t v;

	*ok = false;
	pc = wrap(c, pc);
	if (pc & 3) {
		address_error(c, pc, ACC_FETCH);
		return NULL;
	}
	if (!cpu_translate(c, pc, ACC_FETCH, &x, false))
		return NULL;
	pc ^= reversal(c, 4);
	x.pa ^= reversal(c, 4);
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
	if (c->iptag[line] != (x.pa >> c->ishift << c->ishift) && !cpu_i_fill(c, line, pc, x.pa))
		return NULL;
	if (reversed(c)) {		/* its words are not in the line's order: one at a time */
		*word = word_at(c, c->idata + (pc & (CPU_L1_SIZE - 1)));
		*ok = true;
		return NULL;
	}
	il = &c->iline[line];
	if (!il->op)
		i_decode(c, line, pc);
	il->tag = (pc >> c->ishift << c->ishift) ^ c->salt;
	il->bias = (pc >> c->ishift << c->ishift) - ((uintptr_t)il->op >> 2);
	*ok = true;
	return il;
}

/* ---- a debugger's view ---------------------------------------------------------------------- */
static uint8_t *peek_byte(struct cpu *c, uint64_t va, struct cpu_xlat *x)
{
	enum cpu_exc exc = c->exc;
	bool refill = c->exc_refill, ok;
	uint64_t bad = c->bad_vaddr;
	unsigned line;

	va = wrap(c, va);
	ok = cpu_translate(c, va, ACC_LOAD, x, true);
	c->exc = exc;
	c->exc_refill = refill;
	c->bad_vaddr = bad;
	if (!ok)
		return NULL;
	line = (unsigned)(va & (CPU_L1_SIZE - 1)) >> c->dshift;
	if (cached(c, x) && c->dptag[line] == x->pa >> c->dshift << c->dshift)
		return c->ddata + (va & (CPU_L1_SIZE - 1));
	if (cached(c, x) && c->sdata &&
	    c->sptag[s_index(c, x->pa)] == x->pa >> c->sshift << c->sshift)
		return c->sdata + ((size_t)s_index(c, x->pa) << c->sshift) +
		       (x->pa & ((1u << c->sshift) - 1));
	return NULL;
}

bool cpu_locate(struct cpu *c, uint64_t va, uint64_t *pa, uint8_t **cached_at)
{
	struct cpu_xlat x = { .pa = NO_TAG };

	*cached_at = peek_byte(c, va, &x);
	*pa = x.pa;
	return x.pa != NO_TAG;
}
