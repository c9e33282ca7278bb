/* SPDX-License-Identifier: MIT */
/* decode.c - instruction summaries, remembered by form
 *
 * HOT: x86_decode() runs once per instruction that is translated. The *head* of an instruction is
 * everything up to its displacement; its length is found with two bit tables (which opcodes have a
 * modrm byte), and heads of at most eight bytes are looked up in a table of remembered summaries.
 * Only a miss pays for Zydis. Two things depend on immediates and are settled after the look-up:
 * `int $0x80`, and shifts by an immediate count of zero, which leave the flags alone. */
#include "isa/x86/decode.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/zydis_regs.h"
#include "pugmark/pugmark.h"

/* A decoder remembers 2^bits forms: few at first, as most decoders see few instructions. */
#define MEMO_BITS_LEAST	9
#define MEMO_BITS_MOST	14
#define HEAD_MAX	8

struct memo {
	uint64_t key;
	uint8_t nhead;			/* 0: empty */
	struct x86_insn in;
};

struct x86_decoder {
	ZydisDecoder zydis;
	enum x86_mode mode;
	unsigned bits, entered;		/* of the memo; since it has its size */
	struct memo *memo;		/* 2^bits */
};

struct x86_decoder *x86_decoder_new(enum x86_mode mode)
{
	struct x86_decoder *d = pm_alloc(sizeof *d);

	d->mode = mode;
	d->bits = MEMO_BITS_LEAST;
	d->memo = pm_alloc(sizeof *d->memo << d->bits);
	if (mode == X86_MODE_64)
		ZydisDecoderInit(&d->zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else
		ZydisDecoderInit(&d->zydis, ZYDIS_MACHINE_MODE_LONG_COMPAT_32,
				 ZYDIS_STACK_WIDTH_32);
	return d;
}

void x86_decoder_free(struct x86_decoder *d)
{
	if (d)
		free(d->memo);
	free(d);
}

static struct memo *memo_of(const struct x86_decoder *d, uint64_t key)
{
	return d->memo + (key * 0x9e3779b97f4a7c15ull >> (64 - d->bits));
}

static void enlarge_memo(struct x86_decoder *d)
{
	struct memo *old = d->memo;
	const size_t n = (size_t)1 << d->bits;

	d->bits++;
	d->entered = 0;
	d->memo = pm_alloc(sizeof *d->memo << d->bits);
	for (size_t i = 0; i < n; i++)
		if (old[i].nhead)
			*memo_of(d, old[i].key) = old[i];
	free(old);
}

static void remember(struct x86_decoder *d, uint64_t key, unsigned nhead, const struct x86_insn *in)
{
	if (d->bits < MEMO_BITS_MOST && d->entered++ >> (d->bits - 1))
		enlarge_memo(d);
	*memo_of(d, key) = (struct memo){ .key = key, .nhead = (uint8_t)nhead, .in = *in };
}

/* ---- the head ------------------------------------------------------------------------------- */
enum { LEGACY = 1, REX = 2, MODRM = 4, ODD = 8 };	/* ODD: leave it to Zydis, never remember */

#define R2(x)	x, x
#define R4(x)	R2(x), R2(x)
#define R8(x)	R4(x), R4(x)
#define ALU	R4(MODRM), R2(0)		/* op r/m,r ... op al,imm */

static const uint8_t one_byte[256] = {
	/* 00 */ ALU, R2(0), ALU, 0, 0,
	/* 10 */ ALU, R2(0), ALU, R2(0),
	/* 20 */ ALU, LEGACY, 0, ALU, LEGACY, 0,
	/* 30 */ ALU, LEGACY, 0, ALU, LEGACY, 0,
	/* 40 */ R8(REX), R8(REX),
	/* 50 */ R8(0), R8(0),
	/* 60 */ R2(ODD), ODD, MODRM, R4(LEGACY), 0, MODRM, 0, MODRM, R4(0),
	/* 70 */ R8(0), R8(0),
	/* 80 */ R8(MODRM), R8(MODRM),
	/* 90 */ R8(0), R8(0),
	/* a0 */ R8(0), R8(0),
	/* b0 */ R8(0), R8(0),
	/* c0 */ R2(MODRM), R2(0), R2(ODD), R2(MODRM), R8(0),
	/* d0 */ R4(MODRM), R4(0), R8(MODRM),
	/* e0 */ R8(0), R8(0),
	/* f0 */ LEGACY, 0, R2(LEGACY), R2(0), R2(MODRM), R4(0), R2(0), R2(MODRM),
};

static const uint8_t two_byte[256] = {		/* behind 0f */
	/* 00 */ R4(MODRM), R8(0), 0, MODRM, 0, ODD,
	/* 10 */ R8(MODRM), R8(MODRM),
	/* 20 */ R8(ODD), R8(MODRM),
	/* 30 */ R8(0), R8(0),
	/* 40 */ R8(MODRM), R8(MODRM),
	/* 50 */ R8(MODRM), R8(MODRM),
	/* 60 */ R8(MODRM), R8(MODRM),
	/* 70 */ R4(MODRM), R2(MODRM), MODRM, 0, R8(MODRM),
	/* 80 */ R8(0), R8(0),
	/* 90 */ R8(MODRM), R8(MODRM),
	/* a0 */ R2(0), 0, MODRM, R2(MODRM), R2(ODD), R2(0), 0, MODRM, R4(MODRM),
	/* b0 */ R8(MODRM), R8(MODRM),
	/* c0 */ R8(MODRM), R8(0),
	/* d0 */ R8(MODRM), R8(MODRM),
	/* e0 */ R8(MODRM), R8(MODRM),
	/* f0 */ R8(MODRM), R8(MODRM),
};

/* Bytes of prefixes, opcode, modrm and sib; 0 if that cannot be told so simply. Reads at most
 * X86_MAX_LEN bytes. */
static unsigned head_length(enum x86_mode mode, const uint8_t *p)
{
	unsigned i = 0;
	uint8_t op, modrm = 0, what;

	while (one_byte[p[i]] == LEGACY) {
		if (p[i] == 0x67 && mode != X86_MODE_64)
			return 0;		/* 16-bit addresses: another modrm */
		if (++i > HEAD_MAX - 2)
			return 0;
	}
	op = p[i++];
	what = one_byte[op];
	if (what == REX) {
		if (mode == X86_MODE_64) {
			op = p[i++];
			what = one_byte[op];
			if (what == REX || what == LEGACY)
				return 0;
			if (what == ODD)	/* REX before VEX: let Zydis refuse it */
				return 0;
		} else {
			what = 0;
		}
	}
	if (op == 0x0f) {
		op = p[i++];
		if (op == 0x38 || op == 0x3a) {
			i++;
			what = MODRM;
		} else {
			what = two_byte[op];
		}
	} else if (what == ODD) {
		if (mode != X86_MODE_64)
			return 0;
		if (op == 0xc5)
			i += 1;
		else if (op == 0xc4)
			i += 2;
		else if (op == 0x62)
			i += 3;
		else
			return 0;
		if (p[i] == 0x77)		/* vzeroupper */
			return 0;
		i++;
		what = MODRM;
	} else if (op == 0x8f && (p[i] & 0x38)) {
		return 0;			/* XOP, or nothing */
	}
	if (what == ODD)
		return 0;
	if (what == MODRM) {
		modrm = p[i++];
		if (modrm < 0xc0 && (modrm & 7) == 4)
			i++;
	}
	return i <= HEAD_MAX ? i : 0;
}

/* ---- one form, through Zydis ---------------------------------------------------------------- */
static unsigned gpr_bit(ZydisMachineMode mode, ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(mode, reg);

	if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15)
		return 1u << (whole - ZYDIS_REGISTER_RAX);
	if (whole >= ZYDIS_REGISTER_EAX && whole <= ZYDIS_REGISTER_EDI)
		return 1u << (whole - ZYDIS_REGISTER_EAX);
	return 0;
}

static uint8_t flag_bits(ZydisAccessedFlagsMask m)
{
	return (m >> 0 & 1) * X86_CF | (m >> 2 & 1) * X86_PF | (m >> 4 & 1) * X86_AF |
	       (m >> 6 & 1) * X86_ZF | (m >> 7 & 1) * X86_SF | (m >> 11 & 1) * X86_OF;
}

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t byte)
{
	for (unsigned i = 0; i < z->raw.prefix_count; i++)
		if (z->raw.prefixes[i].value == byte)
			return true;
	return false;
}

static void set_branch(struct x86_insn *in, enum x86_kind kind, enum pm_insn_class class)
{
	in->kind = kind;
	in->class = class;
}

static void classify(enum x86_mode mode, const ZydisDecodedInstruction *z,
		     const ZydisDecodedOperand *op, struct x86_insn *in)
{
	bool far = z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	bool direct = z->operand_count && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		set_branch(in, far ? X86_STEP : direct ? X86_JMP : X86_JMP_IND,
			   direct && !far ? PM_CLASS_JUMP : PM_CLASS_JUMP_IND);
		break;
	case ZYDIS_MNEMONIC_CALL:
		set_branch(in, far ? X86_STEP : direct ? X86_CALL : X86_CALL_IND,
			   direct && !far ? PM_CLASS_CALL : PM_CLASS_CALL_IND);
		break;
	case ZYDIS_MNEMONIC_RET:
		set_branch(in, far ? X86_STEP : X86_RET, PM_CLASS_RET);
		break;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_UIRET:
		/* ends no call: a return-address stack leaves it alone */
		set_branch(in, X86_STEP, PM_CLASS_JUMP_IND);
		break;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		set_branch(in, X86_JCX, PM_CLASS_COND);
		break;
	case ZYDIS_MNEMONIC_XBEGIN:
		set_branch(in, X86_XBEGIN, PM_CLASS_COND);
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
		set_branch(in, X86_SYSCALL, PM_CLASS_SYSCALL);
		break;
	case ZYDIS_MNEMONIC_SYSENTER:
		set_branch(in, mode == X86_MODE_64 ? X86_STEP : X86_SYSCALL, PM_CLASS_SYSCALL);
		break;
	case ZYDIS_MNEMONIC_INT:
		in->prop |= X86_INT;
		break;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_RSM:
		in->kind = X86_STOP;
		break;
	case ZYDIS_MNEMONIC_WRFSBASE:		/* (as below: traces have to know it) */
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_SWAPGS:
		in->kind = X86_STEP;
		break;
	default:
		if (z->meta.category == ZYDIS_CATEGORY_COND_BR)
			set_branch(in, X86_JCC, PM_CLASS_COND);
		else if (z->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
			in->kind = X86_STEP;
		break;
	}
	/* An operand size prefix cuts the target of a near branch to 16 bits in 32-bit mode. AMD
	 * and Intel disagree about it in 64-bit mode, but not when REX.W overrides it: `data16
	 * data16 rex.W call __tls_get_addr` pads TLS sequences. */
	if (in->kind != X86_PLAIN && in->kind != X86_STOP &&
	    in->kind != X86_SYSCALL && has_prefix(z, 0x66) && !z->raw.rex.W)
		in->kind = X86_STEP;
}

/* The tracer has one segment register for itself, the program's thread pointer is in the other. */
static ZydisRegister tracer_segment(ZydisMachineMode mm)
{
	return mm == ZYDIS_MACHINE_MODE_LONG_64 ? ZYDIS_REGISTER_GS : ZYDIS_REGISTER_FS;
}

static void add_operand(ZydisMachineMode mm, const ZydisDecodedOperand *op, struct x86_insn *in,
			bool hint)
{
	const unsigned reads = ZYDIS_OPERAND_ACTION_READ | ZYDIS_OPERAND_ACTION_CONDREAD;
	const unsigned writes = ZYDIS_OPERAND_ACTION_WRITE | ZYDIS_OPERAND_ACTION_CONDWRITE;

	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		unsigned bit = gpr_bit(mm, op->reg.value);

		if (op->actions & reads)
			in->read |= bit;
		if (op->actions & writes) {
			in->write |= bit;
			/* a 32-bit result clears the upper half, smaller ones keep the rest */
			if ((op->actions & ZYDIS_OPERAND_ACTION_WRITE) &&
			    !(op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && op->size >= 32)
				in->kill |= bit;
			if (op->reg.value >= ZYDIS_REGISTER_ES &&
			    op->reg.value <= ZYDIS_REGISTER_GS)
				in->prop |= X86_MAY_FAULT;	/* a bad selector */
		}
		/* (gs holds what the program believes in: 64-bit code has 0 in it, whatever its
		 * base) */
		if (op->reg.value == tracer_segment(mm) &&
		    (op->actions & writes || mm != ZYDIS_MACHINE_MODE_LONG_64))
			in->kind = X86_STEP;
		/* a new base of the thread pointer's segment: traces have to know it */
		if ((op->reg.value == ZYDIS_REGISTER_FS || op->reg.value == ZYDIS_REGISTER_GS) &&
		    op->actions & writes)
			in->kind = X86_STEP;
		return;
	}
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	if (!hint) {
		in->read |= gpr_bit(mm, op->mem.base) | gpr_bit(mm, op->mem.index);
		if (op->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
			in->prop |= X86_MAY_FAULT;
			in->nref++;
		}
	}
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		in->prop |= X86_RIP;
	else if (op->mem.base == ZYDIS_REGISTER_EIP)
		in->kind = X86_STEP;
	if (op->mem.segment == tracer_segment(mm))
		in->kind = X86_STEP;
	else if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		in->prop |= X86_TLS;
}

static void set_flags(const ZydisDecodedInstruction *z, struct x86_insn *in)
{
	const ZydisAccessedFlags *f = z->cpu_flags;
	uint8_t sure, undef;

	if (!f)
		return;
	sure = flag_bits(f->modified | f->set_0 | f->set_1);
	undef = flag_bits(f->undefined);
	in->fread = flag_bits(f->tested);
	in->fwrite = sure | undef;
	in->fkill = sure;			/* "undefined" may mean unchanged */

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST:
		in->fkill |= undef;		/* AF: cleared by every processor */
		break;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
			break;
		if (z->raw.imm[0].size)
			in->prop |= X86_SHIFT_IMM;
		else if (!(z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
			   (z->opcode == 0xd0 || z->opcode == 0xd1)))
			in->fkill = 0;		/* by cl, which may be zero */
		break;
	default:
		if (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				     ZYDIS_ATTRIB_HAS_REPNE))
			in->fkill = 0;		/* no iteration, no comparison */
		break;
	}
}

/* What the decoder's operands do not say of some mnemonics. */
static void correct(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
		    struct x86_insn *in)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		if (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].size >= 32 &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value)
			in->read = 0;
		break;
	case ZYDIS_MNEMONIC_BSF:		/* source zero: the destination keeps its value */
	case ZYDIS_MNEMONIC_BSR:
		in->kill = 0;
		break;
	case ZYDIS_MNEMONIC_RDSSPD:		/* a nop where there is no shadow stack */
	case ZYDIS_MNEMONIC_RDSSPQ:
		in->kill = 0;
		break;
	case ZYDIS_MNEMONIC_VPTEST:		/* Zydis tells of two */
	case ZYDIS_MNEMONIC_VTESTPS:
	case ZYDIS_MNEMONIC_VTESTPD:
		in->fwrite = in->fkill = X86_ALL_FLAGS;
		break;
	case ZYDIS_MNEMONIC_PAUSE:		/* with REX.B processors exchange rax and r8 */
		if (z->raw.rex.B) {
			in->read |= 1u << 0 | 1u << 8;
			in->write |= 1u << 0 | 1u << 8;
		}
		break;
	case ZYDIS_MNEMONIC_CLZERO:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
		in->prop |= X86_MAY_FAULT;
		break;
	default:
		break;
	}
}

/* What may fault besides by its memory operands, or where the processor lacks it. */
static void set_faults(const ZydisDecodedInstruction *z, struct x86_insn *in)
{
	if (z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode == 0x0d)
		in->prop |= X86_MAY_FAULT;	/* prefetch of a register: not everywhere a nop */
	switch (z->meta.isa_ext) {
	case ZYDIS_ISA_EXT_BASE:
	case ZYDIS_ISA_EXT_LONGMODE:
	case ZYDIS_ISA_EXT_X87:
	case ZYDIS_ISA_EXT_MMX:
	case ZYDIS_ISA_EXT_SSE:
	case ZYDIS_ISA_EXT_SSE2:
	case ZYDIS_ISA_EXT_PAUSE:
		break;
	case ZYDIS_ISA_EXT_CET:			/* some are nops where it is absent */
		if (z->mnemonic != ZYDIS_MNEMONIC_ENDBR64 &&
		    z->mnemonic != ZYDIS_MNEMONIC_ENDBR32 && z->mnemonic != ZYDIS_MNEMONIC_RDSSPD &&
		    z->mnemonic != ZYDIS_MNEMONIC_RDSSPQ)
			in->prop |= X86_MAY_FAULT;
		break;
	default:				/* not every processor has it: SIGILL */
		in->prop |= X86_MAY_FAULT;
	}
	if (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ||
	    z->meta.category == ZYDIS_CATEGORY_SYSTEM || z->meta.category == ZYDIS_CATEGORY_IO ||
	    z->meta.category == ZYDIS_CATEGORY_INTERRUPT)
		in->prop |= X86_MAY_FAULT;
	if (z->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    z->meta.category == ZYDIS_CATEGORY_IOSTRINGOP) {
		/* rsi, rdi: Zydis tells it of rep only */
		in->write |= in->read & (1u << 6 | 1u << 7);
		in->prop |= X86_MAY_FAULT;
	}
}

static bool decode_form(struct x86_decoder *d, const uint8_t *p, size_t n, struct x86_insn *in)
{
	const ZydisMachineMode mm = d->zydis.machine_mode;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	bool hint;

	memset(in, 0, sizeof *in);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->zydis, p, n, &z, op)))
		return false;
	x86_amend(&z, op);
	in->len = z.length;
	in->modrm = z.attributes & ZYDIS_ATTRIB_HAS_MODRM ? z.raw.modrm.offset : 0;
	if (z.raw.disp.size) {
		in->disp = z.raw.disp.offset;
		in->ndisp = z.raw.disp.size / 8;
	}
	if (z.raw.imm[0].size) {
		in->imm = z.raw.imm[0].offset;
		in->nimm = z.raw.imm[0].size / 8;
	}
	if (in->modrm)
		in->op = in->modrm - 1;
	else if (in->ndisp)
		in->op = in->disp - 1;
	else if (in->nimm)
		in->op = in->imm - 1;
	else
		in->op = in->len - 1;
	classify(d->mode, &z, op, in);
	if (z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		in->prop |= X86_REP;
	if (has_prefix(&z, 0x67))
		in->prop |= X86_ADDR;
	if (z.operand_width == 64)
		in->prop |= X86_WIDE;
	/* Forms with a memory operand that is never accessed. */
	hint = z.mnemonic == ZYDIS_MNEMONIC_NOP || z.meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       z.meta.category == ZYDIS_CATEGORY_WIDENOP;
	for (unsigned i = 0; i < z.operand_count; i++)
		add_operand(mm, &op[i], in, hint);
	set_flags(&z, in);

	correct(&z, op, in);
	set_faults(&z, in);
	if (in->prop & X86_REP)	/* zero iterations write nothing but what is counted */
		in->kill = 0;
	in->kill &= in->write;
	return true;
}

/* ---- the whole ------------------------------------------------------------------------------ */
int64_t x86_imm(const struct x86_insn *in, const uint8_t *p)
{
	switch (in->nimm) {
	case 1:
		return (int8_t)p[in->imm];
	case 2: {
		int16_t v;

		memcpy(&v, p + in->imm, 2);
		return v;
	}
	case 4: {
		int32_t v;

		memcpy(&v, p + in->imm, 4);
		return v;
	}
	case 8: {
		int64_t v;

		memcpy(&v, p + in->imm, 8);
		return v;
	}
	}
	return 0;
}

uint64_t x86_target(const struct x86_insn *in, const uint8_t *p, uint64_t pc)
{
	return pc + in->len + (uint64_t)x86_imm(in, p);
}

/* What the immediate decides. */
static void settle(const uint8_t *p, struct x86_insn *in)
{
	if (in->prop & X86_SHIFT_IMM) {
		if (!(p[in->imm] & (in->prop & X86_WIDE ? 63 : 31)))
			in->fkill = 0;
		in->prop &= ~X86_SHIFT_IMM;
	} else {
		if (p[in->imm] == 0x80)
			set_branch(in, X86_INT80, PM_CLASS_SYSCALL);
		in->prop &= ~X86_INT;
	}
}

bool x86_decode(struct x86_decoder *d, const uint8_t *p, size_t n, struct x86_insn *out)
{
	const struct memo *m;
	unsigned nhead = 0;
	uint64_t key = 0;

	if (n >= X86_MAX_LEN)
		nhead = head_length(d->mode, p);
	if (nhead) {
		memcpy(&key, p, 8);
		if (nhead < 8)
			key &= (1ull << 8 * nhead) - 1;
		m = memo_of(d, key);
		if (m->key == key && m->nhead == nhead) {
			*out = m->in;
			goto found;
		}
	}
	if (!decode_form(d, p, n, out))
		return false;
	/* A form that Zydis reads another way than head_length() must not be remembered. */
	if (nhead && out->len - out->ndisp - out->nimm == (int)nhead)
		remember(d, key, nhead, out);
found:
	if (out->prop & (X86_SHIFT_IMM | X86_INT))
		settle(p, out);
	return true;
}

bool x86_is_odd(const struct x86_insn *in, const uint8_t *p)
{
	const uint8_t *op = p + in->op;
	const uint8_t modrm = in->modrm ? p[in->modrm] : 0;

	if (!in->op || op[-1] != 0x0f)
		return false;
	switch (*op) {
	case 0x31:						/* rdtsc */
	case 0xa2:						/* cpuid */
		return true;
	case 0x01:
		return op[1] == 0xf9 || op[1] == 0xd0;		/* rdtscp, xgetbv */
	case 0xc7:
		return modrm >= 0xf0;				/* rdrand, rdseed, rdpid */
	}
	return false;
}

enum x86_passes x86_passes(const struct x86_insn *in, bool i386)
{
	switch (in->kind) {
	case X86_RET:
		return X86_PASSES_ALWAYS;
	case X86_JMP_IND:		/* 32-bit: traces do not translate all with that prefix */
		return in->prop & (i386 ? X86_ADDR : X86_RIP) ? X86_PASSES_NONE : X86_PASSES_ALWAYS;
	case X86_JMP:
	case X86_JCC:
	case X86_JCX:
		return X86_PASSES_BACK;
	default:
		return X86_PASSES_NONE;
	}
}
