/* SPDX-License-Identifier: MIT */
/* cpu.c - the R4400's decoding, life, and state as a table */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/cpu_parts.h"

/* ---- decoding for the interpreter ----------------------------------------------------------- */
void cpu_decode_fields(struct cpu_op *op, enum mips_op id, uint32_t w)
{
	unsigned rs = w >> 21 & 31, rt = w >> 16 & 31, rd = w >> 11 & 31, sa = w >> 6 & 31;
	unsigned dest = rd;

	op->rs = (uint8_t)rs;
	op->rt = (uint8_t)rt;
	op->sa = (uint8_t)sa;
	op->imm = (int16_t)w;
	if (id >= MIPS_NOPS) {
		op->imm = (int32_t)w;		/* tells what kind of exception it is */
		return;
	}
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
	case MIPS_CLASS_branch:
	case MIPS_CLASS_link:
	case MIPS_CLASS_likely:
	case MIPS_CLASS_likelink:
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

/* ---- life ----------------------------------------------------------------------------------- */
static uint32_t config_reset(const struct cpu_config *g)
{
	if (g->r2)		/* M, big endian, release 2, TLB, K0 uncached */
		return 0x80000000u | (g->big_endian ? 1u << 15 : 0) | 1 << 10 | 1 << 7 | 2;
	return (g->scache ? 0 : 1u << 17) | (g->big_endian ? 1u << 15 : 0) |
	       (g->sline == 128	 ? 3u
		: g->sline == 64 ? 2u
		: g->sline == 32 ? 1u
				 : 0)
		       << 22 |
	       2u << 9 | 2u << 6 | (g->iline == 32 ? 1u << 5 : 0) | (g->dline == 32 ? 1u << 4 : 0) |
	       2;
}

void cpu_reset(struct cpu *c)
{
	memset(c->gpr, 0, sizeof c->gpr);
	memset(c->fpr, 0, sizeof c->fpr);
	memset(c->c0, 0, sizeof c->c0);
	memset(c->tlb, 0, sizeof c->tlb);
	/* entries that match nothing a program can name: distinct, in unmapped space */
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i] = (struct cpu_tlb_entry){ .vpn = 0xffffffff80000000ULL + i * 0x2000ULL,
						    .mask = 0x1fff };
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
	c->ebase = CPU_EBASE;
	c->userlocal = c->hwrena = 0;
	c->pc = 0xffffffffbfc00000ULL;
	c->in_delay = c->llbit = c->waiting = c->attn = c->stuck = false;
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
	cpu_drop_tags(c);
	c->epoch++;
	for (unsigned i = 0; i <= c->imask; i++)
		c->iline[i].op = NULL;
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i].used = true;
	set_mode(c);
	cpu_check_irq(c);
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
	c->iwords = (1u << c->ishift) - 4;
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

/* ---- the state as a table ------------------------------------------------------------------- */
#define F(m, about)	{ #m, offsetof(struct cpu, m), sizeof ((struct cpu *)0)->m, 1, about }
#define FA(m, about)	{ #m, offsetof(struct cpu, m), sizeof ((struct cpu *)0)->m[0], \
			  NR(((struct cpu *)0)->m), about }
const struct cpu_field cpu_fields[] = {
	F(pc, "next instruction, virtual"),
	F(in_delay, "pc is in the delay slot of a branch to tgt"),
	F(tgt, "where the branch under way goes"), FA(gpr, "general registers; 32 is scrap"),
	F(hi, "HI"), F(lo, "LO"), FA(fpr, "floating-point registers"), F(fcr31, "FCR31"),
	FA(c0, "CP0 registers but Random, Count, Status, Cause"), F(status, "Status"),
	F(cause, "Cause without IP7..2"), F(ip, "IP7..2 as in Cause"), F(userlocal, "UserLocal"),
	F(ebase, "EBase"), F(hwrena, "HWREna"), F(llbit, "LLbit"), F(left, "ticks until end"),
	F(end, "ticks at which left is 0"), F(random_base, "tick at which Random was 47"),
	F(count_offset, "Count - ticks / 2"), F(idle, "ticks skipped by WAIT"),
	F(exceptions, "ticks that were exceptions"), F(waiting, "in WAIT"),
	F(nbranch, "completed branches"), FA(tlb, "TLB"), FA(dptag, "data cache tags"),
	FA(iptag, "instruction cache tags"), FA(ddirty, "dirty data lines"),
	FA(ddata, "data cache"),
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
					     f->n == 1 || i % 4 == 3 || i + 1 == f->n ? "\n"
										      : "  ");
			at = n < size - at ? at + n : size;
		}
	}
}

_Static_assert(sizeof(struct cpu_op) == 16, "trace ids are found by op address / 4");
_Static_assert(sizeof(struct cpu_ibuf) % 16 == 0,
	       "ops of all entries are 16 bytes apart modulo 16");
