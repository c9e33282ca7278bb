/* SPDX-License-Identifier: MIT */
/* fpu.c - the R4400's floating-point unit
 *
 * The host's SSE unit computes what both agree on (normal numbers, zeros, infinities; every
 * rounding mode; inexact, overflow, division by zero). What the R4400 leaves to software raises
 * Unimplemented Operation (Cause.E), as on the processor: denormalised operands, quiet NaN operands
 * of computations, and tiny results unless FCR31.FS flushes them and neither U nor I is enabled. A
 * MIPS signalling NaN has the top fraction bit SET: the opposite of the host. */
#include "collect/machine/cpu.h"

#include <string.h>

enum { FI = 1, FU = 2, FO = 4, FZ = 8, FV = 16, FE = 32 }; /* order of Flags, Enables and Cause */

#define FS_BIT		(1u << 24)
#define NAN_S		0x7fbfffffu
#define NAN_D		0x7ff7ffffffffffffULL

enum fpu_kind { ZERO, DENORM, NORMAL, INFINITE, QNAN, SNAN };

static enum fpu_kind kind_s(uint32_t v)
{
	uint32_t e = v >> 23 & 0xff, m = v & 0x7fffff;

	if (e == 0)
		return m ? DENORM : ZERO;
	if (e == 0xff)
		return !m ? INFINITE : m >> 22 ? SNAN : QNAN;
	return NORMAL;
}

static enum fpu_kind kind_d(uint64_t v)
{
	uint64_t e = v >> 52 & 0x7ff, m = v & 0xfffffffffffffULL;

	if (e == 0)
		return m ? DENORM : ZERO;
	if (e == 0x7ff)
		return !m ? INFINITE : m >> 51 ? SNAN : QNAN;
	return NORMAL;
}

/* MIPS RM: nearest, zero, up, down; x86: nearest, down, up, zero */
static uint32_t csr_of(unsigned rm)
{
	static const uint8_t map[4] = { 0, 3, 2, 1 };

	return 0x1f80 | (uint32_t)map[rm & 3] << 13;
}

static unsigned flags_of(uint32_t csr)
{
	return (csr & 0x20 ? FI : 0) | (csr & 0x10 ? FU : 0) | (csr & 8 ? FO : 0) |
	       (csr & 4 ? FZ : 0) | (csr & 1 ? FV : 0);
}

#define HOST(insn, a, b, rm, flags) do {						\
	uint32_t in_ = csr_of(rm), out_, def_ = 0x1f80;					\
	__asm__ volatile("ldmxcsr %[i]\n\t" insn " %[y], %[x]\n\tstmxcsr %[o]\n\tldmxcsr %[d]"	\
		: [x] "+x"(a), [o] "=m"(out_) : [y] "x"(b), [i] "m"(in_), [d] "m"(def_));	\
	*(flags) = flags_of(out_);							\
} while (0)

static float host_s(enum mips_op op, float a, float b, unsigned rm, unsigned *fl)
{
	switch (op) {
	case MIPS_add_s: HOST("addss", a, b, rm, fl); break;
	case MIPS_sub_s: HOST("subss", a, b, rm, fl); break;
	case MIPS_mul_s: HOST("mulss", a, b, rm, fl); break;
	case MIPS_div_s: HOST("divss", a, b, rm, fl); break;
	default: b = a; HOST("sqrtss", a, b, rm, fl); break;
	}
	return a;
}

static double host_d(enum mips_op op, double a, double b, unsigned rm, unsigned *fl)
{
	switch (op) {
	case MIPS_add_d: HOST("addsd", a, b, rm, fl); break;
	case MIPS_sub_d: HOST("subsd", a, b, rm, fl); break;
	case MIPS_mul_d: HOST("mulsd", a, b, rm, fl); break;
	case MIPS_div_d: HOST("divsd", a, b, rm, fl); break;
	default: b = a; HOST("sqrtsd", a, b, rm, fl); break;
	}
	return a;
}

/* Cause := @fl; true if that traps. */
static bool trap(struct cpu *c, unsigned fl)
{
	c->fcr31 = (c->fcr31 & ~0x3f000u) | (uint32_t)fl << 12;
	if (fl & FE || fl & c->fcr31 >> 7 & 31) {
		c->exc = EXC_FPE;
		return true;
	}
	c->fcr31 |= (uint32_t)fl << 2;
	return false;
}

void cpu_fpu_reserved(struct cpu *c)
{
	trap(c, FE);
}

static uint32_t get_s(const struct cpu *c, unsigned r)
{
	return ((const uint32_t *)c->fpr)[cpu_fpr_single(c, r)];
}

static void put_s(struct cpu *c, unsigned r, uint32_t v)
{
	((uint32_t *)c->fpr)[cpu_fpr_single(c, r)] = v;
}

static uint64_t get_d(const struct cpu *c, unsigned r)
{
	return c->fpr[c->status & ST_FR ? r : r & 30];
}

static void put_d(struct cpu *c, unsigned r, uint64_t v)
{
	c->fpr[c->status & ST_FR ? r : r & 30] = v;
}

/* A tiny result: flushed if FS says so and nobody wants to know, else software's business. */
static bool tiny(struct cpu *c, bool neg, unsigned *fl, bool *to_min)
{
	unsigned rm = c->fcr31 & 3;

	if (!(c->fcr31 & FS_BIT) || c->fcr31 >> 7 & (FU | FI)) {
		*fl = FE;
		return false;
	}
	*fl |= FU | FI;
	*to_min = rm == 2 ? !neg : rm == 3 ? neg : false;
	return true;
}

static bool finish_s(struct cpu *c, unsigned fd, uint32_t v, unsigned fl)
{
	bool to_min;

	if (fl & FV) {
		fl = FV;
		v = NAN_S;
	} else if (kind_s(v) == DENORM || fl & FU) {
		if (tiny(c, v >> 31, &fl, &to_min))
			v = (v & 0x80000000u) | (to_min ? 0x00800000u : 0);
	}
	if (trap(c, fl))
		return false;
	put_s(c, fd, v);
	return true;
}

static bool finish_d(struct cpu *c, unsigned fd, uint64_t v, unsigned fl)
{
	bool to_min;

	if (fl & FV) {
		fl = FV;
		v = NAN_D;
	} else if (kind_d(v) == DENORM || fl & FU) {
		if (tiny(c, v >> 63, &fl, &to_min))
			v = (v & 1ULL << 63) | (to_min ? 1ULL << 52 : 0);
	}
	if (trap(c, fl))
		return false;
	put_d(c, fd, v);
	return true;
}

/* What operands alone decide: FV, FE or 0. */
static unsigned operand(enum fpu_kind a, enum fpu_kind b)
{
	if (a == SNAN || b == SNAN)
		return FV;
	if (a == QNAN || b == QNAN || a == DENORM || b == DENORM)
		return FE;
	return 0;
}

static float as_f(uint32_t v)
{
	float f;

	memcpy(&f, &v, 4);
	return f;
}

static double as_d(uint64_t v)
{
	double d;

	memcpy(&d, &v, 8);
	return d;
}

static uint32_t bits_f(float f)
{
	uint32_t v;

	memcpy(&v, &f, 4);
	return v;
}

static uint64_t bits_d(double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	return v;
}

/* To an integer of @bits bits. */
static bool to_int(struct cpu *c, unsigned fd, double v, enum fpu_kind k, unsigned rm,
		   unsigned bits)
{
	uint32_t in = csr_of(rm), out, def = 0x1f80;
	unsigned fl = 0;
	int64_t r = 0;

	if (k == DENORM) {
		fl = FE;
	} else if (k == QNAN || k == SNAN || k == INFINITE) {
		fl = FV;
	} else {
		__asm__ volatile("ldmxcsr %[i]\n\tcvtsd2siq %[v], %[r]\n\tstmxcsr %[o]\n\tldmxcsr "
				 "%[d]"
				 : [r] "=r"(r), [o] "=m"(out)
				 : [v] "x"(v), [i] "m"(in), [d] "m"(def));
		fl = flags_of(out) & (FI | FV);
		if (bits == 32 && r != (int32_t)r)
			fl = FV;
		if (fl & FV)
			fl = FV;
	}
	if (fl == FV)
		r = bits == 32 ? INT32_MAX : INT64_MAX;
	if (trap(c, fl))
		return false;
	if (bits == 32)
		put_s(c, fd, (uint32_t)r);
	else
		put_d(c, fd, (uint64_t)r);
	return true;
}

static bool compare(struct cpu *c, uint32_t w, double a, double b, enum fpu_kind ka,
		    enum fpu_kind kb)
{
	unsigned cond = w & 15, cc = w >> 8 & 7;
	bool unordered = ka >= QNAN || kb >= QNAN, less, equal, r;
	unsigned bit = cc ? 24 + cc : 23;

	less = !unordered && a < b;
	equal = !unordered && a == b;
	if (trap(c, (ka == SNAN || kb == SNAN || (unordered && cond & 8)) ? FV : 0))
		return false;
	r = (cond & 1 && unordered) || (cond & 2 && equal) || (cond & 4 && less);
	c->fcr31 = (c->fcr31 & ~(1u << bit)) | (uint32_t)r << bit;
	return true;
}

static uint32_t fcr_read(const struct cpu *c, unsigned n)
{
	switch (n) {
	case 0: return c->cfg.r2 ? 0x00739300 : 0x00000500;
	case 25: return c->cfg.r2 ? (c->fcr31 >> 24 & 0xfe) | (c->fcr31 >> 23 & 1) : 0;
	case 26: return c->cfg.r2 ? c->fcr31 & 0x3f07c : 0;
	case 28: return c->cfg.r2 ? (c->fcr31 & 0xf83) | (c->fcr31 >> 22 & 4) : 0;
	case 31: return c->fcr31;
	default: return 0;
	}
}

static bool fcr_write(struct cpu *c, unsigned n, uint32_t v)
{
	uint32_t f = c->fcr31;

	if (n != 31 && !c->cfg.r2)
		return true;
	switch (n) {
	case 25: f = (f & 0x017fffff) | (v & 1) << 23 | (v & 0xfe) << 24; break;
	case 26: f = (f & ~0x3f07cu) | (v & 0x3f07c); break;
	case 28: f = (f & ~0x1000f83u) | (v & 0xf83) | (v & 4) << 22; break;
	case 31: f = c->cfg.r2 ? v & 0xff83ffff : v & 0x0183ffff; break;
	default: return true;
	}
	c->fcr31 = f;
	if (f >> 12 & ((f >> 7 & 31) | FE)) {
		c->exc = EXC_FPE;
		return false;
	}
	return true;
}

static bool from_int(struct cpu *c, unsigned fd, int64_t v, bool to_double)
{
	uint32_t in = csr_of(c->fcr31 & 3), out, def = 0x1f80;
	float f = 0;
	double d = 0;

	if (to_double) {
		__asm__ volatile("ldmxcsr %[i]\n\tcvtsi2sdq %[v], %[r]\n\tstmxcsr %[o]\n\tldmxcsr "
				 "%[d]"
				 : [r] "+x"(d), [o] "=m"(out)
				 : [v] "r"(v), [i] "m"(in), [d] "m"(def));
		return finish_d(c, fd, bits_d(d), flags_of(out));
	}
	__asm__ volatile("ldmxcsr %[i]\n\tcvtsi2ssq %[v], %[r]\n\tstmxcsr %[o]\n\tldmxcsr %[d]"
		: [r] "+x"(f), [o] "=m"(out) : [v] "r"(v), [i] "m"(in), [d] "m"(def));
	return finish_s(c, fd, bits_f(f), flags_of(out));
}

/* Conversions; what is none traps. */
static bool convert(struct cpu *c, enum mips_op op, unsigned fs, unsigned fd)
{
	uint64_t d = get_d(c, fs);
	uint32_t s = get_s(c, fs);
	unsigned fl;

	switch (op) {
	case MIPS_cvt_d_s:
		fl = operand(kind_s(s), ZERO);
		return finish_d(c, fd, fl ? 0 : bits_d((double)as_f(s)), fl);
	case MIPS_cvt_s_d: {
		float r = 0;

		fl = operand(kind_d(d), ZERO);
		if (fl)
			return finish_s(c, fd, 0, fl);
		{
			double v = as_d(d);

			HOST("cvtsd2ss", r, v, c->fcr31 & 3, &fl);
		}
		return finish_s(c, fd, bits_f(r), fl);
	}
	case MIPS_cvt_s_w: return from_int(c, fd, (int32_t)s, false);
	case MIPS_cvt_d_w: return from_int(c, fd, (int32_t)s, true);
	case MIPS_cvt_s_l: return from_int(c, fd, (int64_t)d, false);
	case MIPS_cvt_d_l: return from_int(c, fd, (int64_t)d, true);
#define TO_INT(name, rm)								\
	case MIPS_##name##_w_s: return to_int(c, fd, as_f(s), kind_s(s), rm, 32);	\
	case MIPS_##name##_l_s: return to_int(c, fd, as_f(s), kind_s(s), rm, 64);	\
	case MIPS_##name##_w_d: return to_int(c, fd, as_d(d), kind_d(d), rm, 32);	\
	case MIPS_##name##_l_d: return to_int(c, fd, as_d(d), kind_d(d), rm, 64);
	TO_INT(cvt, c->fcr31 & 3)
	TO_INT(round, 0)
	TO_INT(trunc, 1)
	TO_INT(ceil, 2)
	TO_INT(floor, 3)
#undef TO_INT
	default:
		trap(c, FE);
		return false;
	}
}

bool cpu_fpu_op(struct cpu *c, enum mips_op op, uint32_t w)
{
	unsigned rt = w >> 16 & 31, fs = w >> 11 & 31, fd = w >> 6 & 31, fl, cc = w >> 18 & 7;
	bool bit = c->fcr31 >> (cc ? 24 + cc : 23) & 1;
	uint64_t d = get_d(c, fs), d2 = get_d(c, rt);
	uint32_t s = get_s(c, fs), s2 = get_s(c, rt);

	switch (op) {
	/* ---- moves ---- */
	case MIPS_mfc1: if (rt) c->gpr[rt] = (uint64_t)(int64_t)(int32_t)s; return true;
	case MIPS_mtc1: put_s(c, fs, (uint32_t)c->gpr[rt]); return true;
	case MIPS_dmfc1: if (rt) c->gpr[rt] = d; return true;
	case MIPS_dmtc1: put_d(c, fs, c->gpr[rt]); return true;
	case MIPS_mfhc1: if (rt) c->gpr[rt] = (uint64_t)(int64_t)(int32_t)(d >> 32); return true;
	case MIPS_mthc1: put_d(c, fs, (uint32_t)d | c->gpr[rt] << 32); return true;
	case MIPS_cfc1:
		if (rt)
			c->gpr[rt] = (uint64_t)(int64_t)(int32_t)fcr_read(c, fs);
		return true;
	case MIPS_ctc1: return fcr_write(c, fs, (uint32_t)c->gpr[rt]);
	case MIPS_mov_s: put_s(c, fd, s); return true;
	case MIPS_mov_d: put_d(c, fd, d); return true;
	case MIPS_movf_s: if (!bit) put_s(c, fd, s); return true;
	case MIPS_movt_s: if (bit) put_s(c, fd, s); return true;
	case MIPS_movf_d: if (!bit) put_d(c, fd, d); return true;
	case MIPS_movt_d: if (bit) put_d(c, fd, d); return true;
	case MIPS_movz_s: if (!c->gpr[rt]) put_s(c, fd, s); return true;
	case MIPS_movn_s: if (c->gpr[rt]) put_s(c, fd, s); return true;
	case MIPS_movz_d: if (!c->gpr[rt]) put_d(c, fd, d); return true;
	case MIPS_movn_d: if (c->gpr[rt]) put_d(c, fd, d); return true;

	/* ---- arithmetic ---- */
	case MIPS_add_s: case MIPS_sub_s: case MIPS_mul_s: case MIPS_div_s: {
		float r;

		fl = operand(kind_s(s), kind_s(s2));
		if (fl)
			return finish_s(c, fd, 0, fl);
		r = host_s(op, as_f(s), as_f(s2), c->fcr31 & 3, &fl);
		return finish_s(c, fd, bits_f(r), fl);
	}
	case MIPS_add_d: case MIPS_sub_d: case MIPS_mul_d: case MIPS_div_d: {
		double r;

		fl = operand(kind_d(d), kind_d(d2));
		if (fl)
			return finish_d(c, fd, 0, fl);
		r = host_d(op, as_d(d), as_d(d2), c->fcr31 & 3, &fl);
		return finish_d(c, fd, bits_d(r), fl);
	}
	case MIPS_sqrt_s: {
		float r;

		fl = operand(kind_s(s), ZERO);
		if (fl)
			return finish_s(c, fd, 0, fl);
		r = host_s(op, as_f(s), 0, c->fcr31 & 3, &fl);
		return finish_s(c, fd, bits_f(r), fl);
	}
	case MIPS_sqrt_d: {
		double r;

		fl = operand(kind_d(d), ZERO);
		if (fl)
			return finish_d(c, fd, 0, fl);
		r = host_d(op, as_d(d), 0, c->fcr31 & 3, &fl);
		return finish_d(c, fd, bits_d(r), fl);
	}
	case MIPS_abs_s: case MIPS_neg_s:
		return finish_s(c, fd, op == MIPS_abs_s ? s & 0x7fffffff : s ^ 0x80000000u,
				operand(kind_s(s), ZERO));
	case MIPS_abs_d: case MIPS_neg_d:
		return finish_d(c, fd, op == MIPS_abs_d ? d & ~(1ULL << 63) : d ^ 1ULL << 63,
				operand(kind_d(d), ZERO));

	case MIPS_c_cond_s:
		return compare(c, w, as_f(s), as_f(s2), kind_s(s), kind_s(s2));
	case MIPS_c_cond_d:
		return compare(c, w, as_d(d), as_d(d2), kind_d(d), kind_d(d2));
	default:
		return convert(c, op, fs, fd);
	}
}
