/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "isa/x86/plan_form.h"
#include "isa/x86/zydis_regs.h"

#define FORM_BYTES 7			/* of a key; longer forms are looked at each time */

struct x86_forms {
	struct pm_map at;		/* key of a form -> struct plan_form; 0: there is more to
					 * it */
	struct pm_arena mem;
	struct plan_form other;
};

static struct plan_operand operand_of(const ZydisDecodedOperand *o)
{
	struct plan_operand to = {
		.size = o->size, .element = (uint8_t)(o->element_size / 8),
		.type = (uint8_t)o->type, .actions = (uint8_t)o->actions,
		.visibility = (uint8_t)o->visibility,
	};

	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		to.reg = (uint16_t)o->reg.value;
	} else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		to.value = o->imm.value.s;
	} else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		to.base = (uint16_t)o->mem.base;
		to.index = (uint16_t)o->mem.index;
		to.segment = (uint16_t)o->mem.segment;
		to.mem_type = (uint8_t)o->mem.type;
		to.scale = o->mem.scale;
		to.has_disp = o->mem.disp.has_displacement;
		to.value = to.has_disp ? o->mem.disp.value : 0;
	}
	return to;
}

static void form_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op,
		    struct plan_form *to)
{
	to->in = (struct plan_insn){
		.mnemonic = (uint16_t)in->mnemonic, .length = in->length,
		.noperand = in->operand_count, .address_width = in->address_width,
		.operand_width = in->operand_width, .machine_mode = (uint8_t)in->machine_mode,
		.encoding = (uint8_t)in->encoding, .opcode = in->opcode,
		.is_string = in->meta.category == ZYDIS_CATEGORY_STRINGOP,
		.has_rep = in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
					     ZYDIS_ATTRIB_HAS_REPNE),
		.is_hint = x86_is_hint(in),
	};
	for (unsigned i = 0; i < in->operand_count; i++)
		to->op[i] = operand_of(op + i);
}

static int64_t displacement(const struct x86_at *a)
{
	int64_t v = 0;

	memcpy(&v, a->p + a->x.disp, a->x.ndisp);
	return a->x.ndisp ? (int64_t)((uint64_t)v << (64 - 8 * a->x.ndisp)) >> (64 - 8 * a->x.ndisp)
			  : 0;
}

static void fill_in(const struct x86_at *a, struct plan_form *f)
{
	for (unsigned i = 0; i < f->in.noperand; i++)
		if (f->op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			f->op[i].value = x86_imm(&a->x, a->p);
		else if (f->op[i].has_disp)
			f->op[i].value = displacement(a);
}

/* Does that make what Zydis has said? (It does not where displacements are scaled, or immediates
 * are without sign.) */
static bool fills_in(const struct x86_at *a, const struct plan_form *f)
{
	struct plan_form g;

	g.in = f->in;
	memcpy(g.op, f->op, f->in.noperand * sizeof *f->op);
	fill_in(a, &g);
	for (unsigned i = 0; i < f->in.noperand; i++)
		if (g.op[i].value != f->op[i].value)
			return false;
	return true;
}

const struct plan_form *plan_form_of(struct x86_forms **forms, const struct x86_at *a, bool wide)
{
	const unsigned n = a->x.ndisp ? a->x.disp : a->x.nimm ? a->x.imm : a->x.len;
	struct x86_forms *all = *forms;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t key = 0, *slot = NULL;
	struct plan_form *f;

	if (!all)
		all = *forms = pm_alloc(sizeof *all);
	if (n <= FORM_BYTES) {
		bool fresh;

		memcpy(&key, a->p, n);
		slot = pm_map_put(&all->at, key | (uint64_t)n << 56 | (uint64_t)wide << 60, &fresh);
		f = (struct plan_form *)(uintptr_t)*slot;
		if (f) {
			fill_in(a, f);
			return f;
		}
		if (!fresh)
			slot = NULL;
	}
	if (!x86_zydis(a->p, a->x.len, wide, &in, op))
		return NULL;
	form_of(&in, op, &all->other);
	if (slot && !in.raw.imm[1].size && in.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX &&
	    fills_in(a, &all->other)) {
		const size_t size =
			offsetof(struct plan_form, op) + in.operand_count * sizeof *f->op;

		f = pm_arena_alloc(&all->mem, size);
		memcpy(f, &all->other, size);
		*slot = (uintptr_t)f;
	}
	return &all->other;
}

void plan_forms_free(struct x86_forms *forms)
{
	if (!forms)
		return;
	pm_map_release(&forms->at);
	pm_arena_release(&forms->mem);
	free(forms);
}
