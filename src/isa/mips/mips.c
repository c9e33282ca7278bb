/* SPDX-License-Identifier: MIT */
#include "isa/mips/mips.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct mips_insn mips_insns[MIPS_NOPS] = {
#define INSN(id, name, match, mask, ops, class, isa) \
	[MIPS_##id] = { name, ops, match, mask, MIPS_CLASS_##class, MIPS_ISA_##isa },
#include "mips-insns.inc"
#undef INSN
};

static const uint16_t bucket[] = {
#define BUCKETS(...) __VA_ARGS__
#include "mips-insns.inc"
#undef BUCKETS
};
static const uint16_t row[] = {
#define ROWS(...) __VA_ARGS__
#include "mips-insns.inc"
#undef ROWS
};

static inline unsigned bucket_of(uint32_t word)
{
	switch (word >> 26) {
#define SPLIT(op, shift, mask, base) case op: return (base) + (word >> (shift) & (mask));
#include "mips-insns.inc"
#undef SPLIT
	default:
		return word >> 26;
	}
}

#define BC1_CC 0x001c0000u		/* bc1f...: which condition */

enum mips_op mips_decode(uint32_t word, unsigned isa)
{
	unsigned b = bucket_of(word);

	for (unsigned i = bucket[b]; i < bucket[b + 1]; i++) {
		const struct mips_insn *m = &mips_insns[row[i]];

		if ((word & m->mask) != m->match || !(m->isa & isa))
			continue;
		/* MIPS I to III have one condition */
		if (word >> 21 == 0x45000000 >> 21 && word & BC1_CC && !(isa & MIPS_ISA_r2))
			break;
		return row[i];
	}
	return MIPS_RESERVED;
}

enum pm_insn_class mips_flow(enum mips_op op, uint32_t word)
{
	unsigned rs = word >> 21 & 31, rt = word >> 16 & 31, rd = word >> 11 & 31;

	if (op >= MIPS_NOPS)
		return PM_CLASS_NONE;
	switch (mips_insns[op].class) {
	case MIPS_CLASS_branch:
		/* b is beq $0,$0 */
		if (op == MIPS_beq && !rs && !rt)
			return PM_CLASS_JUMP;
		return PM_CLASS_COND;
	case MIPS_CLASS_likely:
		return PM_CLASS_COND;
	case MIPS_CLASS_link: case MIPS_CLASS_likelink:
		return op == MIPS_bgezal && !rs ? PM_CLASS_CALL : PM_CLASS_COND;
	case MIPS_CLASS_jump:
		return op == MIPS_jal ? PM_CLASS_CALL : PM_CLASS_JUMP;
	case MIPS_CLASS_jumpr:
		if (op == MIPS_jalr)
			return rd ? PM_CLASS_CALL_IND : PM_CLASS_JUMP_IND;
		return rs == 31 ? PM_CLASS_RET : PM_CLASS_JUMP_IND;
	case MIPS_CLASS_eret:		/* ends no call: a return-address stack leaves it alone */
		return PM_CLASS_JUMP_IND;
	case MIPS_CLASS_trap:
		return op == MIPS_syscall ? PM_CLASS_SYSCALL : PM_CLASS_NONE;
	default:
		return PM_CLASS_NONE;
	}
}

unsigned mips_ref_size(enum mips_op op)
{
	switch (op) {
	case MIPS_lb: case MIPS_lbu: case MIPS_sb:
		return 1;
	case MIPS_lh: case MIPS_lhu: case MIPS_sh:
		return 2;
	case MIPS_lw: case MIPS_lwu: case MIPS_lwl: case MIPS_lwr: case MIPS_ll: case MIPS_sw:
	case MIPS_swl: case MIPS_swr: case MIPS_sc: case MIPS_lwc1: case MIPS_swc1:
		return 4;
	case MIPS_ld: case MIPS_ldl: case MIPS_ldr: case MIPS_lld: case MIPS_sd: case MIPS_sdl:
	case MIPS_sdr: case MIPS_scd: case MIPS_ldc1: case MIPS_sdc1:
		return 8;
	default:
		return 0;
	}
}

bool mips_gpr_use(enum mips_op op, uint32_t w, uint64_t *reads, uint64_t *writes)
{
	uint64_t rs = 1ULL << (w >> 21 & 31), rt = 1ULL << (w >> 16 & 31),
		 rd = 1ULL << (w >> 11 & 31);
	const uint64_t hilo = 3ULL << 32;
	const char *o;
	bool ok = true;

	*reads = *writes = 0;
	if (op >= MIPS_NOPS)
		return false;
	o = mips_insns[op].ops;
	/* the first operand of what computes or loads is written, all others are read */
	switch (mips_insns[op].class) {
	case MIPS_CLASS_alu: case MIPS_CLASS_shift: case MIPS_CLASS_cmov: case MIPS_CLASS_load:
		*writes = *o == 'r' && o[1] == 'd' ? rd : rt;
		*reads = rs;
		if (*o == 'r' && o[1] == 'd')
			*reads |= rt;
		if (op == MIPS_lwl || op == MIPS_lwr || op == MIPS_ldl || op == MIPS_ldr ||
		    op == MIPS_ins)
			*reads |= rt;
		if (mips_insns[op].class == MIPS_CLASS_cmov)
			*reads |= rd;
		break;
	case MIPS_CLASS_store:
		*reads = rs | rt;
		*writes = op == MIPS_sc || op == MIPS_scd ? rt : 0;
		break;
	case MIPS_CLASS_muldiv:
		*reads = rs | rt | (op == MIPS_mul ? 0 : hilo);
		*writes = op == MIPS_mul ? rd : hilo;
		break;
	case MIPS_CLASS_hilo:
		if (op == MIPS_mfhi || op == MIPS_mflo) {
			*reads = hilo;
			*writes = rd;
		} else {
			*reads = rs;
			*writes = hilo;
		}
		break;
	case MIPS_CLASS_branch: case MIPS_CLASS_likely:
		*reads = rs | (strstr(o, "rt") ? rt : 0);
		if (w >> 26 == 17)
			ok = false;
		break;
	case MIPS_CLASS_link: case MIPS_CLASS_likelink:
		*reads = rs;
		*writes = 1ULL << 31;
		break;
	case MIPS_CLASS_jump:
		*writes = op == MIPS_jal ? 1ULL << 31 : 0;
		break;
	case MIPS_CLASS_jumpr:
		*reads = rs;
		*writes = op == MIPS_jalr ? rd : 0;
		break;
	case MIPS_CLASS_misc:
		ok = op == MIPS_sync || op == MIPS_pref;
		break;
	default:
		ok = false;
	}
	*reads &= ~1ULL;
	*writes &= ~1ULL;
	return ok;
}

const char *const mips_gpr_names[32] = {
	"zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
	"t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp",
	"fp", "ra",
};

const char *const mips_cp0_names[32] = {
	"index", "random", "entrylo0", "entrylo1", "context", "pagemask", "wired", "c0_7",
	"badvaddr", "count", "entryhi", "compare", "status", "cause", "epc", "prid",
	"config", "lladdr", "watchlo", "watchhi", "xcontext", "c0_21", "c0_22", "c0_23",
	"c0_24", "c0_25", "ecc", "cacheerr", "taglo", "taghi", "errorepc", "c0_31",
};

static const char *const conds[16] = {
	"f", "un", "eq", "ueq", "olt", "ult", "ole", "ule", "sf", "ngle", "seq", "ngl", "lt", "nge",
	"le", "ngt",
};

struct line {
	char *p;
	size_t left;
};

__attribute__((format(printf, 2, 3)))
static void put(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->p, l->left, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= l->left)
		n = l->left ? (int)l->left - 1 : 0;
	l->p += n;
	l->left -= (size_t)n;
}

/* Compares have the number of their condition bit elsewhere than what tests it. */
static unsigned condition_code(uint32_t w)
{
	bool compare = w >> 26 == 17 && (w >> 21 & 31) != 8 && (w & 0x30) == 0x30;

	return compare ? w >> 8 & 7 : w >> 18 & 7;
}

static void operand(struct line *l, const char *o, size_t n, uint32_t w, uint64_t pc)
{
	unsigned rs = w >> 21 & 31, rt = w >> 16 & 31, rd = w >> 11 & 31, sa = w >> 6 & 31;
	int16_t imm = (int16_t)w;
#define IS(s) (n == sizeof(s) - 1 && !memcmp(o, s, n))

	if (IS("rs"))
		put(l, "%s", mips_gpr_names[rs]);
	else if (IS("rt"))
		put(l, "%s", mips_gpr_names[rt]);
	else if (IS("rd"))
		put(l, "%s", mips_gpr_names[rd]);
	else if (IS("fs"))
		put(l, "$f%u", rd);
	else if (IS("ft"))
		put(l, "$f%u", rt);
	else if (IS("fd"))
		put(l, "$f%u", sa);
	else if (IS("sa") || IS("pos"))
		put(l, "%u", sa);
	else if (IS("size"))	/* ext: size - 1; ins: position of the last bit */
		put(l, "%u", (w & 63) == 0 ? rd + 1 : rd + 1 - sa);
	else if (IS("imm"))
		put(l, "%d", imm);
	else if (IS("uimm"))
		put(l, "0x%x", (uint16_t)w);
	else if (IS("off(rs)"))
		put(l, "%d(%s)", imm, mips_gpr_names[rs]);
	else if (IS("rel"))
		put(l, "0x%llx", (unsigned long long)(pc + 4 + (uint64_t)((int64_t)imm * 4)));
	else if (IS("target"))
		put(l, "0x%llx", (unsigned long long)(((pc + 4) & ~0xfffffffULL) |
						       (uint64_t)(w & 0x3ffffff) << 2));
	else if (IS("c0"))
		put(l, "%s", mips_cp0_names[rd]);
	else if (IS("sel"))
		put(l, "%u", w & 7);
	else if (IS("fcr") || IS("hwr"))
		put(l, "$%u", rd);
	else if (IS("cc"))
		put(l, "$fcc%u", condition_code(w));
	else if (IS("cond"))
		put(l, "%s", conds[w & 15]);
	else if (IS("cop"))
		put(l, "0x%x", rt);
	else if (IS("stype"))
		put(l, "%u", sa);
	else if (IS("code"))
		put(l, "0x%x", w >> 6 & 0xfffff);
#undef IS
}

void mips_disasm(uint32_t word, uint64_t pc, unsigned isa, char *buf, size_t size)
{
	enum mips_op op = mips_decode(word, isa);
	struct line l = { buf, size };
	const char *o, *name, *end;

	if (!size)
		return;
	*buf = 0;
	if (!word) {
		put(&l, "nop");
		return;
	}
	if (op == MIPS_RESERVED) {
		put(&l, ".word 0x%08x", word);
		return;
	}
	o = mips_insns[op].ops;
	name = mips_insns[op].name;
	if (!strncmp(o, "cond,", 5)) {	/* c.cond.fmt is part of the name, and fcc0 is silent */
		put(&l, "c.%s%s", conds[word & 15], name + strlen("c.cond"));
		o += 5;
	} else {
		put(&l, "%s", name);
	}
	for (; *o; o = *end ? end + 1 : end) {
		end = strchrnul(o, ',');
		if (end - o == 2 && !memcmp(o, "cc", 2) && !condition_code(word))
			continue;
		if (end - o == 3 && !memcmp(o, "sel", 3) && !(word & 7))
			continue;
		put(&l, "%s", l.p > buf && memchr(buf, ' ', (size_t)(l.p - buf)) ? "," : " ");
		operand(&l, o, (size_t)(end - o), word, pc);
	}
}
