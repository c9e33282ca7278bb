/* SPDX-License-Identifier: MIT */
/* safepoints.h - which safepoints a native run passes, and whether its translation passes the
 * same: SAFEPOINTS in translate.h. Zydis says what the instructions are, the native run where they
 * led. */
#ifndef PM_TEST_SAFEPOINTS_H
#define PM_TEST_SAFEPOINTS_H

#include <Zydis/Zydis.h>

#include "xlate_run.h"

static uint64_t pc_behind(const struct run *r, size_t k)
{
	return k + 1 < r->ntrace ? r->trace[k + 1].pc : r->end.pc;
}

/* Does the transfer of control at step @k of the native run pass one? */
static bool passes(const struct run *r, size_t k)
{
	const uint64_t pc = r->trace[k].pc;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&d, r->text + (pc - r->lo), r->hi - pc, &z, op)))
		return false;
	switch (z.meta.category) {
	case ZYDIS_CATEGORY_RET:
		return z.mnemonic == ZYDIS_MNEMONIC_RET &&
		       z.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_COND_BR:
		if (z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
		    z.mnemonic == ZYDIS_MNEMONIC_XBEGIN)
			return false;
		if (op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return pc_behind(r, k) <= pc;
		return op[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		       op[0].mem.base != ZYDIS_REGISTER_RIP;
	default:
		return false;
	}
}

/* The native run has passed so many before step passed_k. */
static size_t passed_at, passed_k;

/* The code has left: is it where the native run was behind its next safepoint, with the same
 * registers? */
static void at_safepoint(ucontext_t *uc)
{
	struct state s;
	const struct state *n;

	get_state(uc, &s);
	R->left++;
	while (passed_at < R->left && passed_k < R->ntrace)
		passed_at += passes(R, passed_k++);
	if (passed_at < R->left) {
		wrong("leaves at safepoint %lu, natively there are %zu", R->left, passed_at);
		return;
	}
	if (passed_k == R->ntrace)
		return;
	n = &R->trace[passed_k];
	if (slot(RT_EXIT_PC) != n->pc)
		wrong("safepoint %lu leads to 0x%lx, natively to 0x%lx", R->left, slot(RT_EXIT_PC),
		      n->pc);
	for (int i = 0; i < 16; i++)
		if (s.r[i] != n->r[i])
			wrong("safepoint %lu, 0x%lx: %s is 0x%lx, natively 0x%lx", R->left, n->pc,
			      reg_name[i], s.r[i], n->r[i]);
}

static uint64_t safepoints_of(const struct run *r)
{
	uint64_t n = 0;

	for (size_t k = 0; k < r->ntrace; k++)
		n += passes(r, k);
	return n;
}

#endif
