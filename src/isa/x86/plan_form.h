/* SPDX-License-Identifier: MIT */
/* plan_form.h - what plan.c asks of an instruction: private to it
 *
 * Zydis says much more, in 300 bytes and 80 for each operand; programs have tens of thousands of
 * forms. All of it follows from an instruction's form (decode.h), but for the displacement and the
 * immediate. */
#ifndef PM_ISA_X86_PLAN_FORM_H
#define PM_ISA_X86_PLAN_FORM_H

#include <Zydis/Zydis.h>

#include "isa/x86/plan.h"

struct plan_operand {
	int64_t value;			/* a memory operand's displacement, 0 if it has none; or
					 * what is immediate */
	uint16_t size;			/* bits */
	uint16_t reg;			/* ZydisRegister; of an operand that is a register */
	uint16_t base, index, segment;	/* ... that is in memory */
	uint8_t element;		/* bytes */
	uint8_t scale;
	uint8_t type, mem_type, actions, visibility;	/* as Zydis numbers them */
	bool has_disp;
};

struct plan_insn {
	uint16_t mnemonic;		/* ZydisMnemonic */
	uint8_t length, noperand, address_width, operand_width;
	uint8_t machine_mode, encoding, opcode;
	bool is_string, has_rep, is_hint;
};

struct plan_form {
	struct plan_insn in;
	struct plan_operand op[ZYDIS_MAX_OPERAND_COUNT];	/* in.noperand of them */
};

/* HOT. The instruction @a, of 64-bit code if @wide. NULL: Zydis does not know it. Valid until the
 * next call. What is learned is kept in *@forms, which is NULL at first. */
const struct plan_form *plan_form_of(struct x86_forms **forms, const struct x86_at *a, bool wide);
void plan_forms_free(struct x86_forms *forms);		/* NULL is fine */

#endif
