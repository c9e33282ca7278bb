/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/follow.h"
#include "base/mem.h"
#include "isa/x86/decode.h"

#define RAX 0
#define RSI 6
#define RDI 7

enum follow_how {
	HOW_UNKNOWN,			/* changes whatever it likes: nothing holds the value any
					 * more */
	HOW_OTHER,			/* changes what .writes says */
	HOW_COPY,			/* register to register, and .add */
	HOW_LOAD, HOW_STORE,		/* a whole word */
	HOW_PUSH, HOW_POP,
};

struct pm_follow_decoder { struct x86_decoder *d[2]; };

struct pm_follow_decoder *pm_follow_decoder_new(void)
{
	struct pm_follow_decoder *d = pm_alloc(sizeof *d);

	d->d[0] = x86_decoder_new(X86_MODE_32);
	d->d[1] = x86_decoder_new(X86_MODE_64);
	return d;
}

void pm_follow_decoder_free(struct pm_follow_decoder *d)
{
	if (!d)
		return;
	x86_decoder_free(d->d[0]);
	x86_decoder_free(d->d[1]);
	free(d);
}

static int64_t number(const uint8_t *p, unsigned n)
{
	int32_t wide;

	if (n == 1)
		return (int8_t)*p;
	if (n != 4)
		return 0;
	memcpy(&wide, p, 4);
	return wide;
}

/* What stands in front of the opcode. */
struct prefixes { bool rex_r, rex_x, rex_b, segment, narrow, one_byte, compressed; };

static struct prefixes prefixes_of(const uint8_t *b, const struct x86_insn *x, bool wide)
{
	struct prefixes p = { .one_byte = true };
	unsigned i = 0;

	for (; i < x->op; i++)
		if (b[i] == 0x66)
			p.narrow = true;
		else if (b[i] == 0x64 || b[i] == 0x65)
			p.segment = true;
		else if (b[i] != 0xf2 && b[i] != 0xf3 && b[i] != 0xf0 && b[i] != 0x2e &&
			 b[i] != 0x36 && b[i] != 0x3e && b[i] != 0x26 && b[i] != 0x67)
			break;
	if (wide && i < x->op && (b[i] & 0xf0) == 0x40) {
		p.rex_r = b[i] >> 2 & 1;
		p.rex_x = b[i] >> 1 & 1;
		p.rex_b = b[i] & 1;
		i++;
	} else if (i + 1u < x->op && (b[i] == 0xc4 || b[i] == 0x62)) {	/* VEX, EVEX: inverted */
		p.rex_x = wide && ~b[i + 1] & 0x40;
		p.rex_b = wide && ~b[i + 1] & 0x20;
		p.compressed = b[i] == 0x62;
	}
	p.one_byte = i == x->op;
	return p;
}

/* Base and displacement, unless there is more to the address. */
static void memory_operand(const uint8_t *b, const struct x86_insn *x, const struct prefixes *p,
			   struct pm_follow_op *op)
{
	unsigned mod = b[x->modrm] >> 6, rm = b[x->modrm] & 7, base = rm | p->rex_b << 3;

	if (mod == 3 || p->segment || x->prop & (X86_RIP | X86_ADDR | X86_TLS) ||
	    (p->compressed && x->ndisp == 1))
		return;
	if (rm == 4) {
		unsigned sib = b[x->modrm + 1];

		if (((sib >> 3 & 7) | p->rex_x << 3) != 4)
			return;
		base = (sib & 7) | p->rex_b << 3;
	}
	if (mod == 0 && (base & 7) == 5)
		return;
	op->base = (int8_t)base;
	op->disp = number(b + x->disp, x->ndisp);
}

void pm_follow_decode(struct pm_follow_decoder *d, const struct pm_insn *in,
		      struct pm_follow_op *op)
{
	const bool wide = in->isa == PM_ISA_X86_64;
	const uint8_t *b = in->bytes;
	struct prefixes p;
	struct x86_insn x;
	unsigned reg, rm, opcode;
	bool word, memory;

	*op = (struct pm_follow_op){ .how = HOW_UNKNOWN,
				     .to = -1,
				     .from = -1,
				     .base = -1,
				     .read_base = -1,
				     .write_base = -1 };
	if (in->isa > PM_ISA_X86_32 || !x86_decode(d->d[wide], b, in->len, &x))
		return;
	op->how = HOW_OTHER;
	op->writes = x.write;
	p = prefixes_of(b, &x, wide);
	opcode = b[x.op];
	if (!x.modrm) {
		if (!p.one_byte)
			return;
		if (opcode >= 0x50 && opcode <= 0x5f && !p.narrow) {
			op->how = opcode < 0x58 ? HOW_PUSH : HOW_POP;
			*(opcode < 0x58 ? &op->from
					: &op->to) = (int8_t)((opcode & 7) | p.rex_b << 3);
		} else if ((opcode == 0x05 || opcode == 0x2d) &&
			   (wide ? x.prop & X86_WIDE : !p.narrow)) {
			op->how = HOW_COPY;		/* add, sub rax, constant */
			op->to = op->from = RAX;
			op->add = opcode == 0x05 ? x86_imm(&x, b) : -x86_imm(&x, b);
		}
		/* movs, stos, lods: by rsi and rdi */
		if (!p.segment && !(x.prop & X86_ADDR)) {
			op->read_base = (opcode & 0xfe) == 0xa4 || (opcode & 0xfe) == 0xac ? RSI
											   : -1;
			op->write_base = (opcode & 0xfe) == 0xa4 || (opcode & 0xfe) == 0xaa ? RDI
											    : -1;
		}
		return;
	}
	reg = (b[x.modrm] >> 3 & 7) | p.rex_r << 3;
	rm = (b[x.modrm] & 7) | p.rex_b << 3;
	memory = b[x.modrm] >> 6 != 3;
	word = p.one_byte && (wide ? (x.prop & X86_WIDE) != 0 : !p.narrow);
	memory_operand(b, &x, &p, op);
	if (!word)
		return;
	if (opcode == 0x8d && op->base >= 0) {		/* lea refers to nothing */
		op->how = HOW_COPY;
		op->to = (int8_t)reg;
		op->from = op->base;
		op->add = op->disp;
		op->base = -1;
	} else if (opcode == 0x89 || opcode == 0x8b) {
		bool load = opcode == 0x8b;

		op->how = !memory ? HOW_COPY : load ? HOW_LOAD : HOW_STORE;
		op->to = (int8_t)(load ? reg : memory ? 0xff : rm);
		op->from = (int8_t)(load ? memory ? 0xff : rm : reg);
	} else if (!memory && (opcode == 0x81 || opcode == 0x83) &&
		   ((reg & 7) == 0 || (reg & 7) == 5)) {
		op->how = HOW_COPY;
		op->to = op->from = (int8_t)rm;
		op->add = (reg & 7) == 0 ? x86_imm(&x, b) : -x86_imm(&x, b);
	}
}

void pm_follow_start(struct pm_follow *f, unsigned width)
{
	*f = (struct pm_follow){ .left = FOLLOW_INSNS, .known = 1u << RAX, .width = (uint8_t)width,
		.op = { .how = HOW_OTHER, .to = -1, .from = -1, .base = -1, .read_base = -1,
			.write_base = -1 } };
}

static void overwrite(struct pm_follow *f, uint64_t addr, unsigned size)
{
	for (unsigned i = 0; i < FOLLOW_SLOTS; i++)
		if (f->slot[i].used && addr < f->slot[i].addr + f->width &&
		    f->slot[i].addr < addr + size)
			f->slot[i].used = false;
}

/* What the instruction has done. */
static void apply(struct pm_follow *f)
{
	const struct pm_follow_op *op = &f->op;
	bool has = op->from >= 0 && f->known >> op->from & 1;
	int64_t off = has ? f->off[op->from] : 0;

	if (op->how == HOW_UNKNOWN) {
		f->left = 0;
		return;
	}
	if (op->how == HOW_COPY)
		off += op->add;
	if (op->how == HOW_LOAD || op->how == HOW_POP)
		for (unsigned i = 0; f->load && i < FOLLOW_SLOTS; i++)
			if (f->slot[i].used && f->slot[i].addr == f->load) {
				has = true;
				off = f->slot[i].off;
			}
	f->known &= (uint16_t)~op->writes;
	if (op->to >= 0) {
		f->known &= (uint16_t)~(1u << op->to);
		f->known |= (uint16_t)(has << op->to);
		f->off[op->to] = off;
	} else if (has && f->store) {
		f->slot[f->next].addr = f->store;
		f->slot[f->next].off = off;
		f->slot[f->next].used = true;
		f->next = (f->next + 1) % FOLLOW_SLOTS;
	}
}

void pm_follow_insn(struct pm_follow *f, const struct pm_follow_op *op, bool counts)
{
	bool held = false;

	apply(f);
	for (unsigned i = 0; i < FOLLOW_SLOTS; i++)
		held |= f->slot[i].used;
	f->left -= counts && f->left > 0;
	if (!f->known && !held)
		f->left = 0;
	f->op = *op;
	f->load = f->store = 0;
	f->seen = false;
}

bool pm_follow_ref(struct pm_follow *f, const struct pm_event *e, uint64_t *value)
{
	const struct pm_follow_op *op = &f->op;
	const bool stack = e->flags & PM_REF_STACK;
	int base = -1;

	if (op->how == HOW_UNKNOWN)
		return false;
	if (op->read_base >= 0 || op->write_base >= 0) {
		/* the first one of each kind: later ones are of later iterations */
		uint64_t *seen = e->kind == PM_EV_WRITE ? &f->store : &f->load;

		base = *seen ? -1 : e->kind == PM_EV_WRITE ? op->write_base : op->read_base;
		*seen = 1;
	} else if (!stack && !f->seen) {
		base = op->base;
		f->seen = true;
		if (e->size == f->width && op->how == HOW_LOAD)
			f->load = e->addr;
		if (e->size == f->width && op->how == HOW_STORE)
			f->store = e->addr;
	}
	if (stack && op->how == HOW_PUSH)
		f->store = e->addr;
	if (stack && op->how == HOW_POP)
		f->load = e->addr;
	if (e->kind != PM_EV_READ)
		overwrite(f, e->addr, e->size);
	if (base < 0 || !(f->known >> base & 1))
		return false;
	*value = e->addr - (uint64_t)op->disp - (uint64_t)f->off[base];
	if (f->width == 4)
		*value &= UINT32_MAX;
	f->left = 0;
	return true;
}
