/* SPDX-License-Identifier: MIT */
/* cpu_cp0.c - exceptions and coprocessor 0 */
#include <string.h>

#include "base/mem.h"
#include "collect/machine/cpu_parts.h"

/* Another address space: 2^13 of them before the tags must really be cleared. */
static void new_space(struct cpu *c)
{
	c->asid_salt += 1ULL << 45;
	if (c->asid_salt >> 58) {
		c->asid_salt = 0;
		cpu_drop_tags(c);
	}
	set_mode(c);
}

static void switch_space(struct cpu *c)
{
	new_space(c);
	if (c->bus->space)
		c->bus->space(c->ctx, (unsigned)c->c0[C0_ENTRYHI] & 0xff);
}

void cpu_check_irq(struct cpu *c)
{
	if (cpu_irq_pending(c))
		c->attn = true;
}

/* A watch exception that was postponed is taken before the next instruction: interp.h does it as it
 * is entered. */
static void check_watch(struct cpu *c)
{
	if (cpu_watch_due(c))
		c->attn = true;
}

/* Rights that came from entry @e end: cpu.h (4). */
static void tlb_forget(struct cpu *c, const struct cpu_tlb_entry *e)
{
	uint64_t page = (e->mask | 0x1fff) / 2 + 1;

	if (!e->used || (!e->g && e->asid != (uint8_t)c->c0[C0_ENTRYHI]))
		return;			/* other address spaces' tags are salted differently
					 * already */
	if (page > 4096) {
		cpu_drop_tags(c);
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
	/* a second entry for the same page: which one is hit may change, so nothing stays
	 * remembered */
	for (int k = 0; k < CPU_TLB; k++)
		if (k != (int)i && c->tlb[k].used &&
		    !((c->tlb[k].vpn ^ n.vpn) & VPN_MASK & ~(c->tlb[k].mask | n.mask)))
			tlb_forget(c, &c->tlb[k]);
}

/* ---- exceptions ----------------------------------------------------------------------------- */
void cpu_raise(struct cpu *c, uint64_t pc, bool bd)
{
	enum cpu_exc code = c->exc;
	bool under_exl = c->status & ST_EXL;
	uint32_t off = 0x180;
	uint64_t base;

	switch (code) {
	case EXC_MOD: case EXC_TLBL: case EXC_TLBS:
		c->c0[C0_CONTEXT] = (c->c0[C0_CONTEXT] & ~0x7fffffULL) |
				    (c->bad_vaddr >> 9 & 0x7ffff0);
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
	if (c->exc_refill && !under_exl && code != EXC_MOD) {
		enum cpu_mode region = c->bad_vaddr >> 62 == 0	 ? USER
				       : c->bad_vaddr >> 62 == 1 ? SUPERVISOR
								 : KERNEL;

		off = addr64(c, region) ? 0x80 : 0;
	}
	c->exc_refill = false;
	if (code == EXC_INT && c->cause & CAUSE_IV && c->cfg.r2)
		off = 0x200;
	if (!under_exl) {
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
	/* under EXL no interrupt comes, and nothing else that the instruction's fate depends on
	 * changes */
	if (c->pc == pc && under_exl)
		c->stuck = c->attn = true;
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
	cpu_check_irq(c);
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
	cpu_check_irq(c);
	check_watch(c);
}

/* ---- coprocessor 0 -------------------------------------------------------------------------- */
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
	if (!c->cfg.r2)
		v &= ~CAUSE_WP;
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
		c->cause = (uint32_t)v & (CAUSE_BD | CAUSE_IV | CAUSE_WP | 0x3000037cu);
		c->ip = (uint32_t)v & 0xfc00;
		break;
	case C0_CONFIG:
		c->c0[n] = v;
		if (!c->cfg.r2)
			cpu_set_lines(c);
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

/* Config's fields that software writes are K0, CU, and on the R4400 the primary caches' line sizes.
 * What was in a cache of other lines is lost to it; dirty lines go to memory. */
static void write_config(struct cpu *c, uint32_t w)
{
	uint32_t old = (uint32_t)c->c0[C0_CONFIG], may = c->cfg.r2 ? 7 : 0x3f;

	/* a secondary line holds whole primary ones */
	if (c->sdata && c->cfg.sline < 32)
		may &= ~(CONFIG_IB | CONFIG_DB);
	w = (old & ~may) | (w & may);
	if (!((old ^ w) & may))
		return;
	if ((old ^ w) & (CONFIG_IB | CONFIG_DB)) {
		for (unsigned i = 0; i < CPU_L1_SIZE >> c->dshift; i++)
			cpu_d_writeback(c, i);
		c->c0[C0_CONFIG] = SIGN32(w);
		cpu_set_lines(c);
	} else {
		c->c0[C0_CONFIG] = SIGN32(w);
		cpu_drop_tags(c);
	}
}

static void mtc0(struct cpu *c, unsigned n, unsigned sel, uint64_t v)
{
	uint32_t w = (uint32_t)v, old;

	if (c->cfg.r2 && sel) {
		if ((n << 3 | sel) == (C0_CONTEXT << 3 | 2))
			c->userlocal = w;
		else if ((n << 3 | sel) == (C0_PRID << 3 | 1))
			c->ebase = CPU_EBASE | (w & 0x3ffff000);
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
		c->status = c->cfg.r2 ? w : w & ~ST_ZERO;
		if ((old ^ w) & (ST_KX | ST_SX | ST_UX | ST_ERL))
			new_space(c);
		else
			set_mode(c);
		cpu_check_irq(c);
		check_watch(c);
		break;
	case C0_CAUSE:
		c->cause = (c->cause & ~0x300u) | (w & 0x300);
		if (c->cfg.r2)
			c->cause = (c->cause & ~CAUSE_IV) | (w & CAUSE_IV);
		cpu_check_irq(c);
		break;
	case C0_EPC: case C0_ERROREPC: c->c0[n] = v; break;
	case C0_CONFIG:
		write_config(c, w);
		break;
	case C0_LLADDR: c->c0[n] = w; break;
	case C0_WATCHLO:
		c->c0[n] = SIGN32(w & ~4u);
		cpu_drop_tags(c);
		break;
	case C0_WATCHHI: c->c0[n] = w & 15; cpu_drop_tags(c); break;
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
		cpu_check_irq(c);
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
