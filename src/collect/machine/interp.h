/* SPDX-License-Identifier: MIT */
/* interp.h - the interpreter, a template: interp_{le,be}{,_trace,_count}.c include it with RUN, BE
 * and TRACE set: 0 no trace, 1 events, 2 references are counted
 *
 * HOT. Threaded code over decoded instruction-cache lines. What a line is, when it is valid and why
 * one compare suffices for a data reference: cpu.h, invariants (1) to (5).
 *
 * Control: `op` is the instruction being executed, `start` where this run of a line began; the
 * run's ticks are booked (`left`) when it ends. Ways to go on:
 *   NEXT          the next word of the line
 *   take          a taken branch: its delay slot is copied into scratch[], which ends in a transfer
 *   L_end, jump   another line, if it is valid and the end of the budget is far
 *   enter         anywhere: checks budget and attention, fetches, runs near-the-end code alone
 *   raise         the instruction at op did not complete: c->exc */
#include <string.h>

#include "collect/machine/cpu.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#if BE
#define SWAP16(v) __builtin_bswap16(v)
#define SWAP32(v) __builtin_bswap32(v)
#define SWAP64(v) __builtin_bswap64(v)
#else
#define SWAP16(v) (v)
#define SWAP32(v) (v)
#define SWAP64(v) (v)
#endif
#define SWAP8(v) (v)

/* ticks between two looks at the budget: a line, a delay slot, and room */
#define RUN_MAX		12

/* The line of an address, its tag, and the address's word in it. */
#define ILINE(a)	(&c->iline[(a) >> c->ishift & c->imask])
#define ITAG(a)		(((a) & ~c->iwords) ^ c->salt)
#define IOP(il, a)	((const struct cpu_op *)((const char *)(il)->op + (((a) & c->iwords) << 2)))

#define PCOF(o)		(bias + ((uintptr_t)(o) >> 2))
#define NEXT		do { op++; goto *op->go; } while (0)
#define RS		c->gpr[op->rs]
#define RT		c->gpr[op->rt]
#define W(v)		c->gpr[op->rd] = (v)
#define W32(v)		c->gpr[op->rd] = (uint64_t)(int64_t)(int32_t)(v)
#define RAISE(code)	do { c->exc = (code); goto raise; } while (0)
#define SLOT(DO) do {									\
	op++;										\
	TR_EVENT(PM_EV_INSN, 0, 4, TR_ID(op), PCOF(op), 0);				\
	DO										\
	left -= op - start + 1;								\
	pc = c->tgt;									\
	goto jump;									\
} while (0)
/* @o of a line, at @a, is `word`, which is `id`. */
#define DECODED(o, a) do {								\
	cpu_decode_fields(o, id, word);							\
	(o)->go = word ? labels[id] : &&L_nop;						\
	TR_WORD(o, a, word);								\
} while (0)
#define NEED64		if (unlikely(!c->ok64)) RAISE(EXC_RI)
#define NEEDFPU		if (unlikely(!(c->status & ST_CU1))) { c->exc_ce = 1; RAISE(EXC_CPU); }
#define SLOW		(c->left = left - (op - start))

#if TRACE == 1
#define TR_ID(o)	(*(const uint32_t *)(idbase + ((uintptr_t)(o) >> 2)))
#define TR_EVENT(k, f, sz, i, a, v) do {						\
	struct pm_event *ev_ = c->trace.ev++;						\
	ev_->kind = (k); ev_->flags = (uint8_t)(f); ev_->size = (sz); ev_->id = (i);	\
	ev_->addr = (a); ev_->value = (v);						\
} while (0)
#define OP(id)		L_##id: TR_EVENT(PM_EV_INSN, 0, 4, TR_ID(op), PCOF(op), 0);
#define TR_REF(k, a, sz, v)	TR_EVENT(k, 0, sz, TR_ID(op), a, v)
#define TR_BRANCH(f, to)	TR_EVENT(PM_EV_BRANCH, f, 4, TR_ID(op), PCOF(op), to)
#define TR_WORD(o, a, w)	\
	*(uint32_t *)(idlines + ((uintptr_t)(o) >> 2)) = c->insn_intern(c->insn_ctx, a, w)
#define TR_FLUSH	\
	if (unlikely(c->trace.ev >= c->trace.high)) c->trace.flush(c->trace.ctx, &c->trace)
#else
#define OP(id)		L_##id:
#define TR_EVENT(k, f, sz, i, a, v)	(void)0
#if TRACE == 2
#define TR_REF(k, a, sz, v)	((k) == PM_EV_READ ? c->nread++ : c->nwrite++)
#else
#define TR_REF(k, a, sz, v)	(void)0
#endif
#define TR_BRANCH(f, to)	(void)0
#define TR_WORD(o, a, w)	(void)0
#define TR_FLUSH	(void)0
#endif

#define DTAG(va, sz)	(((va) & ~(uint64_t)(15 & ~((sz) - 1))) ^ c->salt)
#define DGRAIN(va)	((va) >> 4 & (CPU_GRAINS - 1))
#define DATA(va)	(c->ddata + ((va) & (CPU_L1_SIZE - 1)))

/* A load of BITS; PUT gives the unsigned value to its register; THEN goes on. */
#define LOAD_(BITS, PUT, THEN) do {							\
	uint64_t va = RS + (uint64_t)(int64_t)op->imm, v;				\
	if (likely(c->dtag[DGRAIN(va)].r == DTAG(va, BITS / 8))) {			\
		uint##BITS##_t t;							\
		memcpy(&t, DATA(va), sizeof t);						\
		v = SWAP##BITS(t);							\
		TR_REF(PM_EV_READ, va, BITS / 8, v);					\
		PUT;									\
		THEN;									\
	} else {									\
		SLOW;									\
		if (!cpu_load(c, va, BITS / 8, &v))					\
			goto raise;							\
		TR_REF(PM_EV_READ, va, BITS / 8, v);					\
		PUT;									\
		if (unlikely(c->attn))							\
			goto attn_after;						\
	}										\
	NEXT;										\
} while (0)

#define STORE_AT(BITS, VAL, AFTER, THEN) do {						\
	uint64_t va = RS + (uint64_t)(int64_t)op->imm, v = (uint##BITS##_t)(VAL);	\
	if (likely(c->dtag[DGRAIN(va)].w == DTAG(va, BITS / 8))) {			\
		uint##BITS##_t t = SWAP##BITS((uint##BITS##_t)v);			\
		memcpy(DATA(va), &t, sizeof t);						\
		TR_REF(PM_EV_WRITE, va, BITS / 8, v);					\
		AFTER;									\
		THEN;									\
	} else {									\
		SLOW;									\
		if (!cpu_store(c, va, BITS / 8, v))					\
			goto raise;							\
		TR_REF(PM_EV_WRITE, va, BITS / 8, v);					\
		AFTER;									\
		if (unlikely(c->attn))							\
			goto attn_after;						\
	}										\
	NEXT;										\
} while (0)

#define TAKE(to, f) do {								\
	c->tgt = (to);									\
	c->nbranch++;									\
	TR_BRANCH((f) | PM_BR_TAKEN, c->tgt);						\
	goto take;									\
} while (0)
#define BRANCH(cond, f) do {								\
	if (cond)									\
		TAKE(PCOF(op) + (uint64_t)(int64_t)op->imm, (f) | PM_BR_COND);		\
	TR_BRANCH((f) | PM_BR_COND, PCOF(op) + (uint64_t)(int64_t)op->imm);		\
	c->nbranch++;									\
	if (unlikely(op[1].sa == 0xff)) {						\
		c->tgt = PCOF(op) + 8;							\
		goto special;								\
	}										\
	NEXT;										\
} while (0)
#define LIKELY(cond, f) do {								\
	if (cond)									\
		TAKE(PCOF(op) + (uint64_t)(int64_t)op->imm, (f) | PM_BR_COND);		\
	TR_BRANCH((f) | PM_BR_COND, PCOF(op) + (uint64_t)(int64_t)op->imm);		\
	c->nbranch++;									\
	goto annul;									\
} while (0)
/* before anything is written */
#define NOT_IN_SLOT	if (unlikely(op == c->scratch)) RAISE(EXC_RI)
#define LINK		NOT_IN_SLOT; c->gpr[31] = PCOF(op) + 8

/* What stands first in a pair, and what second: a third of all instructions that a kernel and its
 * programs execute are the second of one of these. */
#define DO_addiu(THEN)	W32((uint32_t)RS + (uint32_t)op->imm); THEN
#define DO_addu(THEN)	W32((uint32_t)RS + (uint32_t)RT); THEN
#define DO_or(THEN)		W(RS | RT); THEN
#define DO_andi(THEN)	W(RS & (uint32_t)op->imm); THEN
#define DO_sltu(THEN)	W(RS < RT); THEN
#define DO_lb(THEN)		LOAD_(8, W((uint64_t)(int64_t)(int8_t)v), THEN)
#define DO_lbu(THEN)		LOAD_(8, W(v), THEN)
#define DO_lw(THEN)		LOAD_(32, W32(v), THEN)
#define DO_sw(THEN)		STORE_AT(32, RT, (void)0, THEN)
#define DO_sll(THEN)		W32((uint32_t)RT << op->sa); THEN
#define DO_and(THEN)		W(RS & RT); THEN
#define DO_lui(THEN)		W((uint64_t)(int64_t)op->imm); THEN
#define DO_sb(THEN)		STORE_AT(8, RT, (void)0, THEN)
#define FIRSTS(F)	F(addiu) F(addu) F(or) F(andi) F(sltu) F(lb) F(lbu) F(lw) F(sw) \
			F(sll) F(sb) F(and) F(lui)
#define SECONDS(S, f)	S(f, addiu) S(f, addu) S(f, or) S(f, andi) S(f, lbu) S(f, lw) S(f, sw)	\
			S(f, beq) S(f, bne) S(f, jr) S(f, jal) S(f, sll) S(f, sltu) S(f, subu)
enum { NSECOND = 14 };

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-gcse", "no-crossjumping")))
#endif
void RUN(struct cpu *c)
{
	static const void *const labels[MIPS_NOPS + 1] = {
#define INSN(id, name, match, mask, ops, class, isa) &&L_##id,
#include "mips-insns.inc"
#undef INSN
		&&L_reserved,
	};
	static const struct { const void *first, *with[NSECOND]; } pairs[] = {
#define PAIR(f, s) &&L_##f##_##s,
#define PAIRS_OF(f) { &&L_##f, { SECONDS(PAIR, f) } },
		FIRSTS(PAIRS_OF)
#undef PAIR
	};
	static const void *const seconds[NSECOND] = {
#define SECOND(f, s) &&L_##s,
		SECONDS(SECOND, )
	};
	const struct cpu_op *op, *start;
	uint64_t bias, pc = c->pc;
	int64_t left = c->left;
	struct cpu_iline *il;
	uint32_t word;
	bool ok;
#if TRACE == 1
	uintptr_t idbase = 0;
	const uintptr_t idlines = (uintptr_t)c->insn_id - ((uintptr_t)c->ibuf >> 2);
	uint32_t slot_id = 0;
#endif

	if (c->decode_go != &&L_decode) {	/* another variant ran before: its decoded lines
						 * are not ours */
		c->decode_go = &&L_decode;
		c->end_go = &&L_end;
		cpu_sync(c);
	}
	c->scratch[1] = (struct cpu_op){ .go = &&L_transfer, .sa = 0xff };
	c->step[1] = (struct cpu_op){ .go = &&L_stepped, .sa = 0xff };

	if (unlikely(cpu_watch_due(c)) && left > 0 && !c->attn) {
		c->cause &= ~CAUSE_WP;
		c->exc = EXC_WATCH;
		c->exceptions++;
		c->left = --left;
		cpu_raise(c, pc, c->in_delay);
		pc = c->pc;
	}
enter:
	if (left <= 0 || c->attn) {
		c->left = left;
		c->pc = pc;
		return;
	}
	TR_FLUSH;
	il = ILINE(pc);
	if (il->tag != ITAG(pc)) {
		c->left = left;
		il = cpu_fetch(c, pc, &word, &ok);
		if (!ok) {
			left--;
			c->left = left;
			c->exceptions++;
			cpu_raise(c, pc, c->in_delay);
			c->in_delay = false;
			pc = c->pc;
			goto enter;
		}
	}
	if (likely(il && !c->in_delay && left > RUN_MAX)) {
		start = op = IOP(il, pc);
		bias = il->bias;
#if TRACE == 1
		idbase = idlines;
#endif
		goto *op->go;
	}
alone:
	if (il) {
		memcpy(&word, c->idata + (pc & (CPU_L1_SIZE - 1)), 4);
		word = SWAP32(word);
	}
	{
		struct cpu_op *o = c->in_delay ? c->scratch : c->step;
		enum mips_op id = mips_decode(word, c->isa);

		cpu_decode_fields(o, id, word);
		o->go = labels[id];
		c->in_delay = false;
		start = op = o;
		bias = pc - ((uintptr_t)op >> 2);
#if TRACE == 1
		slot_id = c->insn_intern(c->insn_ctx, pc, word);
		idbase = (uintptr_t)&slot_id - ((uintptr_t)op >> 2);
#endif
	}
	goto *op->go;

jump:
	TR_FLUSH;
	il = ILINE(pc);
	if (unlikely(il->tag != ITAG(pc) || left <= RUN_MAX))
		goto enter;
	start = op = IOP(il, pc);
	bias = il->bias;
#if TRACE == 1
	idbase = idlines;
#endif
	goto *op->go;

take:
	if (unlikely(op[1].sa == 0xff))
		goto special;
	/* what is in half of all delay slots, and cannot fault */
	if (op[1].go == &&L_nop) {
		SLOT(;);
	} else if (op[1].go == &&L_addiu) {
		SLOT(DO_addiu(;));
	} else if (op[1].go == &&L_or) {
		SLOT(DO_or(;));
	}
	left -= op - start + 1;
#if TRACE == 1
	slot_id = TR_ID(op + 1);
	idbase = (uintptr_t)&slot_id - ((uintptr_t)c->scratch >> 2);
#endif
	bias += ((uintptr_t)(op + 1) >> 2) - ((uintptr_t)c->scratch >> 2);
	c->scratch[0] = op[1];
	start = op = c->scratch;
	goto *op->go;

special:	/* a branch (to c->tgt, taken or not) without its delay slot behind it */
	if (op == c->scratch) {			/* in a delay slot itself */
		c->nbranch--;
		RAISE(EXC_RI);
	}
	left -= op - start + 1;
	pc = PCOF(op) + 4;
	c->in_delay = true;
	if (op == c->step || left <= RUN_MAX)
		goto enter;
	il = ILINE(pc);	/* the slot is the next line's first word */
	if (il->tag != ITAG(pc))
		goto enter;
	if (il->op->go == &&L_decode) {		/* it may never be reached in another way */
		struct cpu_op *o = il->op;
		enum mips_op id;

		word = (uint32_t)o->imm;
		id = mips_decode(word, c->isa);
		if (mips_has_slot(id) || id == MIPS_eret)
			goto enter;
		DECODED(o, pc);
	}
	if (il->op->go == &&L_pair)
		goto enter;
	c->in_delay = false;
	c->scratch[0] = il->op[0];
	bias = pc - ((uintptr_t)c->scratch >> 2);
#if TRACE == 1
	idbase = idlines;
	slot_id = TR_ID(il->op);
	idbase = (uintptr_t)&slot_id - ((uintptr_t)c->scratch >> 2);
#endif
	start = op = c->scratch;
	goto *op->go;

annul:		/* a likely branch that is not taken skips its delay slot */
	if (unlikely(op[1].sa == 0xff)) {
		if (op == c->scratch) {
			c->nbranch--;
			RAISE(EXC_RI);
		}
		left -= op - start + 1;
		pc = PCOF(op) + 8;
		goto enter;
	}
	op += 2;
	start++;
	goto *op->go;

L_transfer:	/* behind a delay slot */
	left--;
	pc = c->tgt;
	goto jump;
L_stepped:
	left--;
	pc = PCOF(op);
	goto enter;
L_end:	/* of line il; the next one is the next, if it is valid */
	TR_FLUSH;
	left -= op - start;
	if (unlikely(il[1].tag != il->tag + c->iwords + 4 || left <= RUN_MAX)) {
		pc = PCOF(op);
		goto enter;
	}
	il++;
	start = op = il->op;
	bias = il->bias;
	goto *op->go;
L_pair:		/* a branch with a branch in its slot: only alone is that what it should be */
	left -= op - start;
	pc = PCOF(op);
	if (left <= 0)
		goto enter;
	il = &c->iline[0];		/* not NULL: the word is in the cache */
	goto alone;
L_decode: {
	struct cpu_op *o = (struct cpu_op *)op;
	enum mips_op id, id2;

	for (unsigned k = 0; k < 2; k++) {
		word = (uint32_t)o->imm;
		id = mips_decode(word, c->isa);
		DECODED(o, PCOF(o));
		if (!mips_has_slot(id) || o[1].sa == 0xff)
			break;
		memcpy(&word, c->idata + ((PCOF(o) + 4) & (CPU_L1_SIZE - 1)), 4);
		id2 = mips_decode(SWAP32(word), c->isa);
		if (mips_has_slot(id2) || id2 == MIPS_eret) {
			o->go = &&L_pair;
			break;
		}
		if (o[1].go != &&L_decode)
			break;
		o++;
	}
	/* a pair is not the line's first word, which may be the slot of a branch elsewhere, nor a
	 * slot here: slots are copied */
	for (int k = -1; k <= 0; k++) {
		struct cpu_op *first = (struct cpu_op *)op + k;
		const uint64_t at = PCOF(first), i = at & c->iwords;
		const void *pair = NULL;

		if (i == 0 || (k < 0 && i == c->iwords))
			continue;
		for (unsigned p = 0; p < sizeof pairs / sizeof *pairs; p++)
			for (unsigned q = 0; first->go == pairs[p].first && q < NSECOND; q++)
				if (first[1].go == seconds[q])
					pair = pairs[p].with[q];
		if (!pair)
			continue;
		memcpy(&word, c->idata + ((at - 4) & (CPU_L1_SIZE - 1)), 4);
		if (!mips_has_slot(mips_decode(SWAP32(word), c->isa)))
			first->go = pair;
	}
	goto *op->go;
}

attn_after:	/* op is complete, and something wants to be looked at before the next */
	left -= op - start + 1;
	pc = op == c->scratch ? c->tgt : PCOF(op) + 4;
	goto enter;

raise:
	pc = PCOF(op);
	ok = op == c->scratch;			/* in a delay slot? */
	if (!ok && op > start) {
		memcpy(&word, c->idata + ((pc - 4) & (CPU_L1_SIZE - 1)), 4);
		ok = mips_has_slot(mips_decode(SWAP32(word), c->isa));
	}
	left -= op - start + 1;
	c->left = left;
	/* what did not complete was not executed; system calls and traps are complete in their
	 * way */
	if (c->exc != EXC_SYS && c->exc != EXC_BP && c->exc != EXC_TR) {
		c->exceptions++;
#if TRACE == 1
		while (c->trace.ev > c->trace.first && (--c->trace.ev)->kind != PM_EV_INSN)
			;
#endif
	}
	cpu_raise(c, pc, ok);
	pc = c->pc;
	goto enter;

	/* ---- pairs: the second needs no jump through a pointer ---- */
#define PAIR(f, s) L_##f##_##s:								\
	TR_EVENT(PM_EV_INSN, 0, 4, TR_ID(op), PCOF(op), 0);				\
	DO_##f(do { op++; goto L_##s; } while (0));
#define PAIR_CODE(f) SECONDS(PAIR, f)
FIRSTS(PAIR_CODE)
#undef PAIR

	/* ---- integer ---- */
OP(nop)		NEXT;
OP(sll)		DO_sll(NEXT);
OP(srl)		W32((uint32_t)RT >> op->sa); NEXT;
OP(sra)		W32((int32_t)RT >> op->sa); NEXT;
OP(ror)		W32((uint32_t)RT >> op->sa | (uint32_t)RT << (-op->sa & 31)); NEXT;
OP(sllv)	W32((uint32_t)RT << (RS & 31)); NEXT;
OP(srlv)	W32((uint32_t)RT >> (RS & 31)); NEXT;
OP(srav)	W32((int32_t)RT >> (RS & 31)); NEXT;
OP(rorv)	W32((uint32_t)RT >> (RS & 31) | (uint32_t)RT << (-RS & 31)); NEXT;
OP(dsll)	NEED64; W(RT << op->sa); NEXT;
OP(dsrl)	NEED64; W(RT >> op->sa); NEXT;
OP(dsra)	NEED64; W((uint64_t)((int64_t)RT >> op->sa)); NEXT;
OP(dsll32)	NEED64; W(RT << (op->sa + 32)); NEXT;
OP(dsrl32)	NEED64; W(RT >> (op->sa + 32)); NEXT;
OP(dsra32)	NEED64; W((uint64_t)((int64_t)RT >> (op->sa + 32))); NEXT;
OP(dsllv)	NEED64; W(RT << (RS & 63)); NEXT;
OP(dsrlv)	NEED64; W(RT >> (RS & 63)); NEXT;
OP(dsrav)	NEED64; W((uint64_t)((int64_t)RT >> (RS & 63))); NEXT;
OP(addu)	DO_addu(NEXT);
OP(subu)	W32((uint32_t)RS - (uint32_t)RT); NEXT;
OP(addiu)	DO_addiu(NEXT);
OP(daddu)	NEED64; W(RS + RT); NEXT;
OP(dsubu)	NEED64; W(RS - RT); NEXT;
OP(daddiu)	NEED64; W(RS + (uint64_t)(int64_t)op->imm); NEXT;
OP(add) {
	int32_t r;
	if (unlikely(__builtin_add_overflow((int32_t)RS, (int32_t)RT, &r)))
		RAISE(EXC_OV);
	W32(r); NEXT;
}
OP(addi) {
	int32_t r;
	if (unlikely(__builtin_add_overflow((int32_t)RS, op->imm, &r)))
		RAISE(EXC_OV);
	W32(r); NEXT;
}
OP(sub) {
	int32_t r;
	if (unlikely(__builtin_sub_overflow((int32_t)RS, (int32_t)RT, &r)))
		RAISE(EXC_OV);
	W32(r); NEXT;
}
OP(dadd) {
	int64_t r;
	NEED64;
	if (unlikely(__builtin_add_overflow((int64_t)RS, (int64_t)RT, &r)))
		RAISE(EXC_OV);
	W((uint64_t)r); NEXT;
}
OP(daddi) {
	int64_t r;
	NEED64;
	if (unlikely(__builtin_add_overflow((int64_t)RS, (int64_t)op->imm, &r)))
		RAISE(EXC_OV);
	W((uint64_t)r); NEXT;
}
OP(dsub) {
	int64_t r;
	NEED64;
	if (unlikely(__builtin_sub_overflow((int64_t)RS, (int64_t)RT, &r)))
		RAISE(EXC_OV);
	W((uint64_t)r); NEXT;
}
OP(and)		DO_and(NEXT);
OP(or)		DO_or(NEXT);
OP(xor)		W(RS ^ RT); NEXT;
OP(nor)		W(~(RS | RT)); NEXT;
OP(andi)	DO_andi(NEXT);
OP(ori)		W(RS | (uint32_t)op->imm); NEXT;
OP(xori)	W(RS ^ (uint32_t)op->imm); NEXT;
OP(lui)		DO_lui(NEXT);
OP(slt)		W((int64_t)RS < (int64_t)RT); NEXT;
OP(sltu)	DO_sltu(NEXT);
OP(slti)	W((int64_t)RS < (int64_t)op->imm); NEXT;
OP(sltiu)	W(RS < (uint64_t)(int64_t)op->imm); NEXT;
OP(movz)	if (!RT) W(RS); NEXT;
OP(movn)	if (RT) W(RS); NEXT;
OP(movf)	NEEDFPU; if (!(c->fcr31 >> op->sa & 1)) W(RS); NEXT;
OP(movt)	NEEDFPU; if (c->fcr31 >> op->sa & 1) W(RS); NEXT;
OP(clz)		W((uint32_t)RS ? (uint64_t)__builtin_clz((uint32_t)RS) : 32); NEXT;
OP(clo)		W(~(uint32_t)RS ? (uint64_t)__builtin_clz(~(uint32_t)RS) : 32); NEXT;
OP(mul)		W32((uint32_t)RS * (uint32_t)RT); NEXT;
OP(seb)		W((uint64_t)(int64_t)(int8_t)RT); NEXT;
OP(seh)		W((uint64_t)(int64_t)(int16_t)RT); NEXT;
OP(wsbh)	W32(((uint32_t)RT & 0xff00ff) << 8 | ((uint32_t)RT >> 8 & 0xff00ff)); NEXT;
OP(ext) {	/* imm: size - 1 */
	uint32_t m = op->imm == 31 ? ~0u : (1u << (op->imm + 1)) - 1;
	W32((uint32_t)RS >> op->sa & m); NEXT;
}
OP(ins) {	/* imm: last bit */
	unsigned n = (unsigned)(op->imm - op->sa + 1) & 63;
	uint32_t m = (n >= 32 ? ~0u : (1u << n) - 1) << op->sa;
	W32(((uint32_t)RT & ~m) | ((uint32_t)RS << op->sa & m)); NEXT;
}
OP(mult) {
	int64_t r = (int64_t)(int32_t)RS * (int32_t)RT;
	c->lo = (uint64_t)(int64_t)(int32_t)r;
	c->hi = (uint64_t)(int64_t)(int32_t)(r >> 32); NEXT;
}
OP(multu) {
	uint64_t r = (uint64_t)(uint32_t)RS * (uint32_t)RT;
	c->lo = (uint64_t)(int64_t)(int32_t)r;
	c->hi = (uint64_t)(int64_t)(int32_t)(r >> 32); NEXT;
}
#define MADD(EXPR) {									\
	uint64_t a = c->hi << 32 | (uint32_t)c->lo;					\
	a = (EXPR);									\
	c->lo = (uint64_t)(int64_t)(int32_t)a;						\
	c->hi = (uint64_t)(int64_t)(int32_t)(a >> 32); NEXT;				\
}
OP(madd)	MADD(a + (uint64_t)((int64_t)(int32_t)RS * (int32_t)RT))
OP(maddu)	MADD(a + (uint64_t)(uint32_t)RS * (uint32_t)RT)
OP(msub)	MADD(a - (uint64_t)((int64_t)(int32_t)RS * (int32_t)RT))
OP(msubu)	MADD(a - (uint64_t)(uint32_t)RS * (uint32_t)RT)
OP(dmult) {
	__int128 r;
	NEED64;
	r = (__int128)(int64_t)RS * (int64_t)RT;
	c->lo = (uint64_t)r;
	c->hi = (uint64_t)(r >> 64); NEXT;
}
OP(dmultu) {
	unsigned __int128 r;
	NEED64;
	r = (unsigned __int128)RS * RT;
	c->lo = (uint64_t)r;
	c->hi = (uint64_t)(r >> 64); NEXT;
}
	/* division by zero and MIN / -1 never trap; their results are undefined, these are ours */
OP(div) {
	int32_t a = (int32_t)RS, b = (int32_t)RT;
	if (b == 0) {
		c->lo = a < 0 ? 1 : ~0ULL;
		c->hi = (uint64_t)(int64_t)a;
	} else if (b == -1) {
		c->lo = (uint64_t)(int64_t)(int32_t)-(uint32_t)a;
		c->hi = 0;
	} else {
		c->lo = (uint64_t)(int64_t)(a / b);
		c->hi = (uint64_t)(int64_t)(a % b);
	}
	NEXT;
}
OP(divu) {
	uint32_t a = (uint32_t)RS, b = (uint32_t)RT;
	c->lo = (uint64_t)(int64_t)(int32_t)(b ? a / b : ~0u);
	c->hi = (uint64_t)(int64_t)(int32_t)(b ? a % b : a); NEXT;
}
OP(ddiv) {
	int64_t a = (int64_t)RS, b = (int64_t)RT;
	NEED64;
	if (b == 0) {
		c->lo = a < 0 ? 1 : ~0ULL;
		c->hi = (uint64_t)a;
	} else if (b == -1) {
		c->lo = -(uint64_t)a;
		c->hi = 0;
	} else {
		c->lo = (uint64_t)(a / b);
		c->hi = (uint64_t)(a % b);
	}
	NEXT;
}
OP(ddivu) {
	uint64_t a = RS, b = RT;
	NEED64;
	c->lo = b ? a / b : ~0ULL;
	c->hi = b ? a % b : a; NEXT;
}
OP(mfhi)	W(c->hi); NEXT;
OP(mflo)	W(c->lo); NEXT;
OP(mthi)	c->hi = RS; NEXT;
OP(mtlo)	c->lo = RS; NEXT;

	/* ---- branches ---- */
OP(beq)		BRANCH(RS == RT, 0);
OP(bne)		BRANCH(RS != RT, 0);
OP(blez)	BRANCH((int64_t)RS <= 0, 0);
OP(bgtz)	BRANCH((int64_t)RS > 0, 0);
OP(bltz)	BRANCH((int64_t)RS < 0, 0);
OP(bgez)	BRANCH((int64_t)RS >= 0, 0);
OP(beql)	LIKELY(RS == RT, 0);
OP(bnel)	LIKELY(RS != RT, 0);
OP(blezl)	LIKELY((int64_t)RS <= 0, 0);
OP(bgtzl)	LIKELY((int64_t)RS > 0, 0);
OP(bltzl)	LIKELY((int64_t)RS < 0, 0);
OP(bgezl)	LIKELY((int64_t)RS >= 0, 0);
OP(bltzal)	{ bool t = (int64_t)RS < 0; LINK; BRANCH(t, PM_BR_CALL); }
OP(bgezal)	{ bool t = (int64_t)RS >= 0; LINK; BRANCH(t, PM_BR_CALL); }
OP(bltzall)	{ bool t = (int64_t)RS < 0; LINK; LIKELY(t, PM_BR_CALL); }
OP(bgezall)	{ bool t = (int64_t)RS >= 0; LINK; LIKELY(t, PM_BR_CALL); }
OP(bc1f)	NEEDFPU; BRANCH(!(c->fcr31 >> op->sa & 1), 0);
OP(bc1t)	NEEDFPU; BRANCH(c->fcr31 >> op->sa & 1, 0);
OP(bc1fl)	NEEDFPU; LIKELY(!(c->fcr31 >> op->sa & 1), 0);
OP(bc1tl)	NEEDFPU; LIKELY(c->fcr31 >> op->sa & 1, 0);
OP(j)		TAKE(((PCOF(op) + 4) & ~0xfffffffULL) | (uint32_t)op->imm, 0);
OP(jal)		LINK; TAKE(((PCOF(op) + 4) & ~0xfffffffULL) | (uint32_t)op->imm, PM_BR_CALL);
OP(jr)		TAKE(RS, op->rs == 31 ? PM_BR_INDIRECT | PM_BR_RET : PM_BR_INDIRECT);
OP(jalr) {
	uint64_t t = RS;
	NOT_IN_SLOT;
	W(PCOF(op) + 8);
	TAKE(t, PM_BR_INDIRECT | PM_BR_CALL);
}
OP(eret)
	if (!c->cp0_ok) {
		c->exc_ce = 0;
		RAISE(EXC_CPU);
	}
	if (op == c->scratch)
		RAISE(EXC_RI);
	SLOW;
	c->nbranch++;
	cpu_eret(c);
	TR_BRANCH(PM_BR_TAKEN | PM_BR_INDIRECT, c->pc);
	left -= op - start + 1;
	pc = c->pc;
	goto enter;

	/* ---- memory ---- */
OP(lb)		DO_lb(NEXT);
OP(lbu)		DO_lbu(NEXT);
OP(lh)		LOAD_(16, W((uint64_t)(int64_t)(int16_t)v), NEXT);
OP(lhu)		LOAD_(16, W(v), NEXT);
OP(lw)		DO_lw(NEXT);
OP(lwu)		NEED64; LOAD_(32, W(v), NEXT);
OP(ld)		NEED64; LOAD_(64, W(v), NEXT);
OP(sb)		DO_sb(NEXT);
OP(sh)		STORE_AT(16, RT, (void)0, NEXT);
OP(sw)		DO_sw(NEXT);
OP(sd)		NEED64; STORE_AT(64, RT, (void)0, NEXT);
OP(lwc1)	NEEDFPU; LOAD_(32, ((uint32_t *)c->fpr)[cpu_fpr_single(c, op->rt)] = (uint32_t)v,
		      NEXT);
OP(swc1)	NEEDFPU; STORE_AT(32, ((uint32_t *)c->fpr)[cpu_fpr_single(c, op->rt)], (void)0,
			 NEXT);
OP(ldc1)	NEEDFPU; LOAD_(64, c->fpr[c->status & ST_FR ? op->rt : op->rt & 30] = v, NEXT);
OP(sdc1)	NEEDFPU; STORE_AT(64, c->fpr[c->status & ST_FR ? op->rt : op->rt & 30], (void)0,
			 NEXT);
OP(lld)
	NEED64;
	goto ll;
OP(ll) {
	uint64_t va, v;
	unsigned size;
ll:
	/* no fast path, because LLAddr wants the physical address */
	va = RS + (uint64_t)(int64_t)op->imm;
	size = op->sa;
	SLOW;
	if (!cpu_load(c, va, size, &v))
		goto raise;
	TR_REF(PM_EV_READ, va, size, v);
	c->llbit = true;
	c->c0[C0_LLADDR] = c->last_pa >> 4 & 0xffffffff;
	W(size == 4 ? (uint64_t)(int64_t)(int32_t)v : v);
	if (unlikely(c->attn))
		goto attn_after;
	NEXT;
}
OP(sc)
	if (!c->llbit) {
		SLOW;
		if (!cpu_store_checked(c, RS + (uint64_t)(int64_t)op->imm, 4))
			goto raise;
		W(0);
		NEXT;
	}
	STORE_AT(32, RT, W(1), NEXT);
OP(scd)
	NEED64;
	if (!c->llbit) {
		SLOW;
		if (!cpu_store_checked(c, RS + (uint64_t)(int64_t)op->imm, 8))
			goto raise;
		W(0);
		NEXT;
	}
	STORE_AT(64, RT, W(1), NEXT);
OP(ldl)		NEED64; goto load_part;
OP(ldr)		NEED64; goto load_part;
OP(lwl)		goto load_part;
OP(lwr)
load_part: {
	uint64_t va = RS + (uint64_t)(int64_t)op->imm, v = RT;

	SLOW;
	if (!cpu_load_part(c, va, (enum mips_op)op->sa, &v))
		goto raise;
	TR_REF(PM_EV_READ, va, (uint16_t)mips_ref_size((enum mips_op)op->sa), v);
	W(v);
	if (unlikely(c->attn))
		goto attn_after;
	NEXT;
}
OP(sdl)		NEED64; goto store_part;
OP(sdr)		NEED64; goto store_part;
OP(swl)		goto store_part;
OP(swr)
store_part: {
	uint64_t va = RS + (uint64_t)(int64_t)op->imm;

	SLOW;
	if (!cpu_store_part(c, va, (enum mips_op)op->sa, RT))
		goto raise;
	TR_REF(PM_EV_WRITE, va, (uint16_t)mips_ref_size((enum mips_op)op->sa), RT);
	if (unlikely(c->attn))
		goto attn_after;
	NEXT;
}
OP(cache)
	if (!c->cp0_ok) {
		c->exc_ce = 0;
		RAISE(EXC_CPU);
	}
	SLOW;
	if (!cpu_cache_op(c, op->rt, RS + (uint64_t)(int64_t)op->imm))
		goto raise;
	if (c->attn)
		goto attn_after;
	/* the line that we are in may be gone */
	left -= op - start + 1;
	pc = op == c->scratch ? c->tgt : PCOF(op) + 4;
	goto enter;
OP(synci)
	SLOW;
	if (!cpu_cache_op(c, 0x20, RS + (uint64_t)(int64_t)op->imm))
		goto raise;
	left -= op - start + 1;
	pc = op == c->scratch ? c->tgt : PCOF(op) + 4;
	goto enter;

	/* ---- the rest ---- */
OP(sync)	NEXT;
OP(pref)	NEXT;
OP(syscall)	RAISE(EXC_SYS);
OP(break)	RAISE(EXC_BP);
OP(tge)		if ((int64_t)RS >= (int64_t)RT) RAISE(EXC_TR); NEXT;
OP(tgeu)	if (RS >= RT) RAISE(EXC_TR); NEXT;
OP(tlt)		if ((int64_t)RS < (int64_t)RT) RAISE(EXC_TR); NEXT;
OP(tltu)	if (RS < RT) RAISE(EXC_TR); NEXT;
OP(teq)		if (RS == RT) RAISE(EXC_TR); NEXT;
OP(tne)		if (RS != RT) RAISE(EXC_TR); NEXT;
OP(tgei)	if ((int64_t)RS >= (int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(tgeiu)	if (RS >= (uint64_t)(int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(tlti)	if ((int64_t)RS < (int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(tltiu)	if (RS < (uint64_t)(int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(teqi)	if (RS == (uint64_t)(int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(tnei)	if (RS != (uint64_t)(int64_t)op->imm) RAISE(EXC_TR); NEXT;
OP(rdhwr) {
	uint64_t v;

	SLOW;
	if (!cpu_rdhwr(c, op->sa, &v))
		goto raise;
	W(v);
	NEXT;
}
OP(cop2)
OP(lwc2)
OP(ldc2)
OP(swc2)
OP(sdc2)
	c->exc_ce = 2;		/* there is no coprocessor 2: usable or not, nothing answers */
	RAISE(c->status >> 30 & 1 ? EXC_RI : EXC_CPU);
OP(reserved)
	word = c->isa & MIPS_ISA_r2 ? 0 : (uint32_t)op->imm;
	if (word >> 26 == 16 && !c->cp0_ok) {
		c->exc_ce = 0;
		RAISE(EXC_CPU);
	}
	if (word >> 26 == 17) {
		NEEDFPU;
		if (word >> 25 & 1) {		/* a format or a function of one */
			cpu_fpu_reserved(c);
			goto raise;
		}
	}
	RAISE(EXC_RI);

OP(dmfc0)	NEED64; goto cp0;
OP(dmtc0)	NEED64; goto cp0;
OP(mfc0)	goto cp0;
OP(mtc0)	goto cp0;
OP(di)		goto cp0;
OP(ei)		goto cp0;
OP(tlbr)	goto cp0;
OP(tlbwi)	goto cp0;
OP(tlbwr)	goto cp0;
OP(tlbp)	goto cp0;
OP(wait)
cp0:
	if (!c->cp0_ok) {
		c->exc_ce = 0;
		RAISE(EXC_CPU);
	}
	SLOW;
	if (!cpu_cp0_op(c, (enum mips_op)op->sa, (uint32_t)op->imm))
		goto raise;
	if (c->attn)
		goto attn_after;
	if (op->rd) {		/* rights or mappings may have changed: look this line up again */
		left -= op - start + 1;
		pc = op == c->scratch ? c->tgt : PCOF(op) + 4;
		goto enter;
	}
	NEXT;

OP(dmfc1)	NEED64; goto fpu;
OP(dmtc1)	NEED64; goto fpu;
#define FPU(id) OP(id) goto fpu;
FPU(mfc1) FPU(cfc1) FPU(mfhc1) FPU(mtc1) FPU(ctc1) FPU(mthc1)
FPU(add_s) FPU(sub_s) FPU(mul_s) FPU(div_s) FPU(sqrt_s) FPU(abs_s) FPU(mov_s) FPU(neg_s)
FPU(add_d) FPU(sub_d) FPU(mul_d) FPU(div_d) FPU(sqrt_d) FPU(abs_d) FPU(mov_d) FPU(neg_d)
FPU(round_l_s) FPU(trunc_l_s) FPU(ceil_l_s) FPU(floor_l_s)
FPU(round_w_s) FPU(trunc_w_s) FPU(ceil_w_s) FPU(floor_w_s)
FPU(round_l_d) FPU(trunc_l_d) FPU(ceil_l_d) FPU(floor_l_d)
FPU(round_w_d) FPU(trunc_w_d) FPU(ceil_w_d) FPU(floor_w_d)
FPU(movf_s) FPU(movt_s) FPU(movz_s) FPU(movn_s) FPU(movf_d) FPU(movt_d) FPU(movz_d) FPU(movn_d)
FPU(cvt_d_s) FPU(cvt_w_s) FPU(cvt_l_s) FPU(cvt_s_d) FPU(cvt_w_d) FPU(cvt_l_d)
FPU(cvt_s_w) FPU(cvt_d_w) FPU(cvt_s_l) FPU(cvt_d_l) FPU(c_cond_s) FPU(c_cond_d)
#undef FPU
fpu:
	NEEDFPU;
	if (!cpu_fpu_op(c, (enum mips_op)op->sa, (uint32_t)op->imm))
		goto raise;
	NEXT;
}
