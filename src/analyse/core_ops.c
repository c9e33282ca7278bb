/* SPDX-License-Identifier: MIT */
/* core_ops.c - what instructions and micro-ops are to the core */
#include <stdlib.h>
#include <string.h>

#include "analyse/core_work.h"
#include "isa/x86/decode.h"
#include "isa/x86/form.h"
#include "isa/x86/regs.h"

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* The class by mnemonic. A leading v (AVX) makes no difference. Order matters: first match wins. */
static unsigned class_of(const char *m)
{
	static const struct { const char *start; uint8_t class; } exact[] = {
		{ "cpuid", PM_CORE_SYSTEM }, { "syscall", PM_CORE_SYSTEM },
		{ "sysenter", PM_CORE_SYSTEM }, { "int", PM_CORE_SYSTEM },
		{ "mfence", PM_CORE_SYSTEM }, { "lfence", PM_CORE_SYSTEM },
		{ "rdtsc", PM_CORE_SYSTEM }, { "xsave", PM_CORE_SYSTEM },
		{ "xrstor", PM_CORE_SYSTEM }, { "xgetbv", PM_CORE_SYSTEM },
		{ "fxsave", PM_CORE_SYSTEM }, { "fxrstor", PM_CORE_SYSTEM },
		{ "cmpxchg", PM_CORE_SLOW }, { "xadd", PM_CORE_SLOW }, { "pause", PM_CORE_SLOW },
		{ "enter", PM_CORE_SLOW }, { "loop", PM_CORE_BRANCH }, { "idiv", PM_CORE_DIV },
		{ "imul", PM_CORE_MUL }, { "mulx", PM_CORE_MUL }, { "popcnt", PM_CORE_BIT },
		{ "lzcnt", PM_CORE_BIT }, { "tzcnt", PM_CORE_BIT }, { "bsf", PM_CORE_BIT },
		{ "bsr", PM_CORE_BIT }, { "crc32", PM_CORE_BIT }, { "pext", PM_CORE_BIT },
		{ "pdep", PM_CORE_BIT }, { "nop", PM_CORE_MOVE }, { "endbr", PM_CORE_MOVE },
		{ "prefetch", PM_CORE_MOVE },
		{ "fmadd", PM_CORE_FMA }, { "fmsub", PM_CORE_FMA }, { "fnmadd", PM_CORE_FMA },
		{ "fnmsub", PM_CORE_FMA }, { "dpps", PM_CORE_FMA }, { "dppd", PM_CORE_FMA },
		{ "sqrts", PM_CORE_FSQRT }, { "sqrtp", PM_CORE_FSQRT }, { "fsqrt", PM_CORE_FSQRT },
		{ "divs", PM_CORE_FDIV }, { "divp", PM_CORE_FDIV }, { "fdiv", PM_CORE_FDIV },
		{ "fidiv", PM_CORE_FDIV },
		{ "muls", PM_CORE_FMUL }, { "mulp", PM_CORE_FMUL },
		{ "adds", PM_CORE_FADD }, { "addp", PM_CORE_FADD }, { "subs", PM_CORE_FADD },
		{ "subp", PM_CORE_FADD }, { "mins", PM_CORE_FADD }, { "minp", PM_CORE_FADD },
		{ "maxs", PM_CORE_FADD }, { "maxp", PM_CORE_FADD }, { "cmpps", PM_CORE_FADD },
		{ "cmppd", PM_CORE_FADD }, { "cmpss", PM_CORE_FADD }, { "haddp", PM_CORE_FADD },
		{ "comis", PM_CORE_CROSS }, { "ucomis", PM_CORE_CROSS }, { "round", PM_CORE_FADD },
		{ "cvt", PM_CORE_FADD }, { "pmovmskb", PM_CORE_CROSS }, { "movmsk", PM_CORE_CROSS },
		{ "pextr", PM_CORE_CROSS }, { "pinsr", PM_CORE_CROSS }, { "ptest", PM_CORE_CROSS },
		{ "pmul", PM_CORE_VMUL }, { "pmadd", PM_CORE_VMUL }, { "psadbw", PM_CORE_VMUL },
		{ "aes", PM_CORE_VMUL }, { "sha", PM_CORE_VMUL }, { "pclmul", PM_CORE_VMUL },
		{ "perm", PM_CORE_CROSS }, { "broadcast", PM_CORE_VEC }, { "mul", PM_CORE_MUL },
		{ "div", PM_CORE_DIV }, { "jmp", PM_CORE_BRANCH }, { "call", PM_CORE_BRANCH },
		{ "ret", PM_CORE_BRANCH },
	};

	if (m[0] == 'v' && strcmp(m, "verr") && strcmp(m, "verw"))
		m++;
	/* the prefixes of integer instructions that look like vector ones */
	if (!strcmp(m, "add") || !strcmp(m, "sub") || !strcmp(m, "push") || !strcmp(m, "pop"))
		return PM_CORE_ALU;
	for (size_t i = 0; i < NR(exact); i++)
		if (starts(m, exact[i].start))
			return exact[i].class;
	if (m[0] == 'j')
		return PM_CORE_BRANCH;
	if (m[0] == 'f')
		return !strcmp(m, "fld") || !strcmp(m, "fst") || !strcmp(m, "fstp") ||
				       !strcmp(m, "fxch")
			       ? PM_CORE_MOVE
			       : PM_CORE_X87;
	return PM_CORE_ALU;
}

/* The same, found once for each mnemonic: a program has some hundred of them. */
static unsigned class_at(struct core_decoders *ds, unsigned mnemonic, const char *m)
{
	if (mnemonic >= NR(ds->class))
		return class_of(m);
	if (!ds->class[mnemonic])
		ds->class[mnemonic] = class_of(m) + 1;
	return ds->class[mnemonic] - 1;
}

/* Base and index of the memory operand, and rsp, rsi, rdi where they are implied. */
static uint64_t address_regs(const uint8_t *b, unsigned len, const struct x86_regs *r)
{
	const unsigned op = r->modrm - 1u;	/* the opcode's last byte */
	uint64_t regs = 0;
	unsigned x = 0, bb = 0, p = 0;

	for (unsigned i = 0; i < r->nmem; i++)
		if (r->mem[i].stack)
			regs |= 1u << X86_REG_RSP;
	if (!r->nmem)				/* lea computes with them */
		return 0;
	/* string instructions: their memory operands have no modrm */
	if (!r->modrm)
		return regs | (r->mem[0].stack ? 0 : r->reads & 0xc0);
	if (r->modrm >= len || b[r->modrm] >> 6 == 3)
		return regs;
	while (p < op && x86_is_prefix(b[p]))
		p++;
	if ((b[p] & 0xf0) == 0x40 && p < op) { /* REX (there is none in 32-bit code here) */
		x = b[p] >> 1 & 1;
		bb = b[p] & 1;
	} else if ((b[p] == 0xc4 || b[p] == 0x62) && p + 1 < op) {	/* VEX, EVEX: inverted */
		x = ~b[p + 1] >> 6 & 1;
		bb = ~b[p + 1] >> 5 & 1;
	}
	if ((b[r->modrm] & 7) == 4) {				/* SIB */
		unsigned sib = r->modrm + 1u < len ? b[r->modrm + 1] : 0,
			 idx = (sib >> 3 & 7) | x << 3;

		if (idx != 4)
			regs |= 1u << idx;
		if ((sib & 7) != 5 || b[r->modrm] >> 6)
			regs |= 1u << ((sib & 7) | bb << 3);
	} else if ((b[r->modrm] & 7) != 5 || b[r->modrm] >> 6) {
		regs |= 1u << ((b[r->modrm] & 7) | bb << 3);
	}
	return regs & r->reads;
}

void core_decode_with(struct core_decoders *ds, const uint8_t *bytes, unsigned len, unsigned isa,
		      struct pm_core_static *s)
{
	const bool wide = isa == PM_ISA_X86_64;
	const struct pm_form *f;
	struct x86_regs r;
	const char *m;
	bool reads = false, writes = false, only_move;

	*s = (struct pm_core_static){ .class = PM_CORE_ALU, .uops = 1 };
	if (!len || isa > PM_ISA_X86_32)
		return;
	if (!ds->f[wide])
		ds->f[wide] = pm_forms_new(!wide);
	if (!x86_regs(bytes, len, wide, &r))
		return;
	f = pm_form_at(ds->f[wide], bytes, len);
	m = pm_form_mnemonic(f->mnemonic);
	s->class = class_at(ds, f->mnemonic, m);
	s->addr_regs = address_regs(bytes, len, &r);
	s->data_regs = r.reads & ~s->addr_regs;
	s->writes = r.writes;
	for (unsigned i = 0; i < r.nmem; i++) {
		reads |= r.mem[i].read;
		writes |= r.mem[i].write;
		s->stack |= r.mem[i].stack;
	}
	/* vector destinations make an ALU-looking class a vector one, the other way round it
	 * crosses */
	if (s->class == PM_CORE_ALU && (r.writes | s->data_regs) >> 16 & 0xffff) {
		bool to_vec = (r.writes >> 16 & 0xffff) != 0,
		     from_int = (s->data_regs & 0xffff) != 0;

		s->class = to_vec && !from_int		     ? PM_CORE_VEC
			   : !to_vec && !(r.writes & 0xffff) ? PM_CORE_VEC
							     : PM_CORE_CROSS;
	}
	only_move = starts(m, "mov") || starts(m, "vmov") || starts(m, "lddqu") ||
		    !strcmp(m, "push") || !strcmp(m, "pop") || !strcmp(m, "leave");
	if (only_move && !(r.writes >> X86_REG_FLAGS & 1) &&
	    (reads || writes || s->class == PM_CORE_ALU || s->class == PM_CORE_VEC) &&
	    !starts(m, "movs") && !starts(m, "movz") && !starts(m, "movmsk"))
		s->class = PM_CORE_MOVE;
	if ((starts(m, "movsx") || starts(m, "movzx")) && reads)
		s->class = PM_CORE_MOVE;	/* done by the load unit */
	/* zeroing idioms depend on nothing */
	if ((!strcmp(m, "xor") || !strcmp(m, "pxor") || !strcmp(m, "vpxor") ||
	     !strcmp(m, "xorps") || !strcmp(m, "vxorps") || !strcmp(m, "sub")) &&
	    !reads && !writes && r.modrm && r.modrm < len && bytes[r.modrm] >> 6 == 3 &&
	    (bytes[r.modrm] >> 3 & 7) == (bytes[r.modrm] & 7) &&
	    __builtin_popcountll(r.writes & 0xffffffff) == 1 &&
	    !(r.reads & ~r.writes & 0xffffffff) &&
	    __builtin_popcountll(r.reads & 0xffffffff) <= 1) {
		s->class = PM_CORE_MOVE;
		s->data_regs = s->addr_regs = 0;
	}
	if (bytes[0] == 0xf0)
		s->class = PM_CORE_SLOW;
	if (!strcmp(m, "xchg"))
		s->class = reads ? PM_CORE_SLOW : PM_CORE_MOVE;
	s->serial = s->class == PM_CORE_SYSTEM;
	s->uops = 1 + (reads && writes);
	if (s->class == PM_CORE_DIV || s->class == PM_CORE_CROSS)
		s->uops++;
	if (s->class == PM_CORE_SLOW || s->class == PM_CORE_SYSTEM)
		s->uops = 4;
	if (s->stack && s->class == PM_CORE_BRANCH)
		s->uops = 2;
}

void core_decoders_free(struct core_decoders *ds)
{
	for (int i = 0; i < 2; i++)
		pm_forms_free(ds->f[i]);
}

void pm_core_decode(const uint8_t *bytes, unsigned len, unsigned isa, struct pm_core_static *s)
{
	struct core_decoders ds = { 0 };

	core_decode_with(&ds, bytes, len, isa, s);
	core_decoders_free(&ds);
}

void core_uop_static(const struct pm_uop *u, struct pm_core_static *s)
{
	uint64_t a = u->src1 >= 0 && u->src1 < 64 ? 1ull << u->src1 : 0;
	uint64_t b = u->src2 >= 0 && u->src2 < 64 ? 1ull << u->src2 : 0;

	*s = (struct pm_core_static){ .class = PM_CORE_ALU, .uops = 1, .data_regs = a | b };
	if (u->dest >= 0 && u->dest < 64)
		s->writes = 1ull << u->dest;
	if (u->flag_use == PM_UOP_WRITES_FLAGS)
		s->writes |= 1ull << X86_REG_FLAGS;
	if (u->flag_use == PM_UOP_READS_FLAGS)
		s->data_regs |= 1ull << X86_REG_FLAGS;
	if (u->access == PM_UOP_LOAD) {
		s->addr_regs = a | b;
		s->data_regs = 0;
		s->class = PM_CORE_MOVE;
	} else if (u->access == PM_UOP_STORE) {	/* src1 is the data */
		s->addr_regs = b;
		s->data_regs = a;
		s->class = PM_CORE_MOVE;
	} else if (u->outcome != PM_UOP_NO_BRANCH) {
		s->class = PM_CORE_BRANCH;
	} else if (!strcmp(u->micro, "FP_MUL")) {
		s->class = PM_CORE_FMUL;
	} else if (!strcmp(u->micro, "FP_DIV")) {
		s->class = PM_CORE_FDIV;
	} else if (starts(u->micro, "FP")) {
		s->class = PM_CORE_FADD;
	} else if (starts(u->micro, "MUL") || starts(u->micro, "IMUL")) {
		s->class = PM_CORE_MUL;
	}
}
