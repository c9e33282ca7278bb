/* SPDX-License-Identifier: MIT */
/* translate.c - the passes in order; see translate_internal.h */
#include "collect/translate/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/translate/translate_internal.h"

/* Kept from unit to unit: arrays, and above all the decoder's memory. */
static _Thread_local struct scratch scratch;

/* Behind a call that does not return often stands what only jumps reach and what reads flags, and
 * what a jump table is taken to lead to may be no code at all. So it is not before the instruction
 * in question is executed, for which there will be another unit, that somebody has to care. */
static bool discover_good(struct scratch *s)
{
	for (s->ncut = 0; ; s->ncut++) {
		uint64_t *at = &s->cut[s->ncut];

		if (!discover(s))
			return false;
		s->jumps_free = false;
		if (!s->in->abi_flags || keeps_abi(s, at))
			return true;
		if (*at == s->in->entry || s->ncut + 1 == NR(s->cut)) {
			s->out->breaks_abi = true;
			return false;
		}
	}
}

void xl_translate(const struct xl_input *in, struct xl_unit *out)
{
	struct scratch *s = &scratch;

	out->ncode = out->nblock = out->nmap = out->nreloc = out->nlink = 0;
	s->nedge_block = 0;
	out->breaks_abi = false;
	if (in->entry < in->lo || in->entry >= in->hi ||
	    !xl_near(in, in->lo) || !xl_near(in, in->hi))
		return;
	if (!s->decs[in->i386])
		s->decs[in->i386] = x86_decoder_new(in->i386 ? X86_MODE_32 : X86_MODE_64);
	s->dec = s->decs[in->i386];
	s->gprs = in->i386 ? 0xef : 0xffef;
	s->in = in;
	s->segment = (struct xl_segment){ 0 };
	s->out = out;
	s->max_insns = in->max_insns ? in->max_insns : 127;
	if (s->max_insns > MAX_BLOCK_INSNS)
		s->max_insns = MAX_BLOCK_INSNS;
	if (in->kind == XL_EXEC && s->max_insns > XL_EXEC_INSNS)
		s->max_insns = XL_EXEC_INSNS;
	s->max_blocks = in->max_blocks ? in->max_blocks : 4096;
	if (!discover_good(s))
		return;
	find_liveness(s);
	if (in->kind == XL_PROFILE && in->bare) {
		if (xl_has_clock(in))
			plan_records(s);
		count_nothing(s);
	} else if (in->kind == XL_PROFILE) {
		choose_counters(s);
		make_edge_blocks(s);
		drop_counters(s);
	} else {
		if (in->count_records)
			choose_counters(s);
		plan_records(s);
	}
	choose_how_targets_count(s);
	emit_unit(s);
	for (size_t k = 0; in->insn && k < s->nblock; k++)
		for (uint32_t i = 0; i < s->block[k].n; i++)
			in->insn(in->ctx, &s->insn[s->block[k].first + i].x);
}

void xl_unit_release(struct xl_unit *u)
{
	free(u->code);
	free(u->block);
	free(u->map);
	free(u->reloc);
	free(u->link);
	memset(u, 0, sizeof *u);
}

void xl_thread_done(void)
{
	struct scratch *s = &scratch;

	x86_plan_release(&s->plan);
	free(s->insn);
	free(s->block);
	free(s->order);
	free(s->pending);
	free(s->fixup);
	free(s->tail);
	free(s->tree_rest);
	free(s->edge);
	free(s->leave);
	free(s->other);
	free(s->preds);
	free(s->entry);
	free(s->odd);
	free(s->store);
	free(s->slot);
	x86_decoder_free(s->decs[0]);
	x86_decoder_free(s->decs[1]);
	memset(s, 0, sizeof *s);
}
