/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/form.h"
#include "isa/x86/zydis_regs.h"
#include "pugmark/pugmark.h"

/* A trie entry: 0 unknown, LEAF | form index, or the index of the node for the next half byte, the lower
 * one first. Halves, for most nodes have few successors: a short program's profile is over before as much
 * memory as whole bytes take has been faulted in. */
#define LEAF 0x80000000u
#define MAX_NODES 0x10000u

struct node {
	uint32_t next[16];
};

static unsigned half(const uint8_t *p, size_t i)
{
	return p[i / 2] >> i % 2 * 4 & 15;
}

struct pm_forms {
	ZydisDecoder dec;
	struct node *node;		/* node[0] is the root */
	size_t nnode, cap_node;
	struct pm_form *form;
	size_t nform, cap_form;
	struct pm_map known;		/* a form's fields as one number -> its index + 1 */
	struct pm_form odd;		/* what is not remembered: the answer to one call */
};

_Static_assert(ZYDIS_MNEMONIC_MAX_VALUE < PM_FORM_MNEMONICS, "mnemonics fit their tables");

static struct node *add_node(struct pm_forms *f)
{
	pm_grow(f->node, f->nnode, f->cap_node);
	memset(&f->node[f->nnode], 0, sizeof f->node[0]);
	return &f->node[f->nnode++];
}

struct pm_forms *pm_forms_new(bool i386)
{
	struct pm_forms *f = pm_alloc(sizeof *f);

	if (i386)
		ZydisDecoderInit(&f->dec, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&f->dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	add_node(f);
	return f;
}

void pm_forms_free(struct pm_forms *f)
{
	if (!f)
		return;
	free(f->node);
	free(f->form);
	pm_map_release(&f->known);
	free(f);
}

static uint8_t flow_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
	bool direct = in->operand_count && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		/* xend and xabort are filed here, too, but xbegin alone has a target */
		return direct ? PM_CLASS_COND : PM_CLASS_NONE;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? PM_CLASS_JUMP : PM_CLASS_JUMP_IND;
	case ZYDIS_CATEGORY_CALL:
		return direct ? PM_CLASS_CALL : PM_CLASS_CALL_IND;
	case ZYDIS_CATEGORY_RET:
		return PM_CLASS_RET;
	case ZYDIS_CATEGORY_SYSCALL:
		return PM_CLASS_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return PM_CLASS_RET;
	case ZYDIS_CATEGORY_INTERRUPT:
		return PM_CLASS_SYSCALL;
	default:
		return PM_CLASS_NONE;
	}
}

static bool is_string(const ZydisDecodedInstruction *in)
{
	return in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				 ZYDIS_ATTRIB_HAS_REPNE);
}

/* How many leading bytes decide everything but displacement and immediates; 0: all of them. */
static size_t deciding(const ZydisDecodedInstruction *in)
{
	if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		return 0;		/* its opcode stands where others have an immediate */
	if (in->raw.disp.size)
		return in->raw.disp.offset;
	if (in->raw.imm[0].size)
		return in->raw.imm[0].offset;
	return in->length;
}

static void describe(struct pm_form *m, const ZydisDecodedInstruction *in,
		     const ZydisDecodedOperand *op)
{
	*m = (struct pm_form){ .mnemonic = (uint16_t)in->mnemonic, .len = in->length,
			       .flow = flow_of(in, op), .rep = is_string(in) };
	m->ends = m->flow != PM_CLASS_NONE;
	if (in->raw.imm[0].is_relative) {
		m->rel_at = in->raw.imm[0].offset;
		m->rel_size = in->raw.imm[0].size / 8;
	}
	if (x86_is_hint(in))
		return;
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    (op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM && op[i].mem.type != ZYDIS_MEMOP_TYPE_VSIB))
			continue;
		m->reads += !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		m->writes += !!(op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	}
}

static uint64_t number_of(const struct pm_form *m)
{
	return m->mnemonic | (uint64_t)m->len << 16 | (uint64_t)m->flow << 24 |
	       (uint64_t)m->reads << 28 | (uint64_t)m->writes << 36 | (uint64_t)m->rep << 44 |
	       (uint64_t)m->rel_at << 45 | (uint64_t)m->rel_size << 50 | (uint64_t)m->ends << 60;
}

static const struct pm_form *learn(struct pm_forms *f, const uint8_t *p, size_t n)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t *known;
	uint32_t at = 0;
	size_t k;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&f->dec, p, n, &in, op))) {
		f->odd = (struct pm_form){ .len = 1 };
		return &f->odd;
	}
	describe(&f->odd, &in, op);
	k = deciding(&in);
	/* 4 MiB are more than real programs need; hostile code is decoded anew */
	if (!k || f->nnode + 2 * k > MAX_NODES || f->nform + 1 > MAX_NODES)
		return &f->odd;
	known = pm_map_put(&f->known, number_of(&f->odd), NULL);
	if (!*known) {
		pm_grow(f->form, f->nform, f->cap_form);
		f->form[f->nform++] = f->odd;
		*known = f->nform;
	}
	for (size_t i = 0; i + 1 < 2 * k; i++) {
		uint32_t next = f->node[at].next[half(p, i)];

		if (!next) {
			next = (uint32_t)f->nnode;
			add_node(f);
			f->node[at].next[half(p, i)] = next;
		}
		at = next;
	}
	f->node[at].next[half(p, 2 * k - 1)] = LEAF | (uint32_t)(*known - 1);
	return &f->form[*known - 1];
}

/* HOT: once per distinct instruction of a profile. */
const struct pm_form *pm_form_at(struct pm_forms *f, const uint8_t *p, size_t n)
{
	uint32_t at = 0;

	for (size_t i = 0; i < 2 * n; i++) {
		at = f->node[at].next[half(p, i)];
		if (at & LEAF) {
			const struct pm_form *m = &f->form[at & ~LEAF];

			if (m->len <= n)
				return m;
			break;			/* cut off: learn() says so */
		}
		if (!at)
			break;
	}
	return learn(f, p, n);
}

uint64_t pm_form_target(const struct pm_form *m, const uint8_t *p, uint64_t pc)
{
	int64_t d = 0;

	switch (m->rel_size) {
	case 1: d = (int8_t)p[m->rel_at]; break;
	case 2: { int16_t v; memcpy(&v, p + m->rel_at, sizeof v); d = v; break; }
	case 4: { int32_t v; memcpy(&v, p + m->rel_at, sizeof v); d = v; break; }
	default: return 0;
	}
	return pc + m->len + (uint64_t)d;
}

const char *pm_form_mnemonic(unsigned mnemonic)
{
	const char *s = mnemonic ? ZydisMnemonicGetString((ZydisMnemonic)mnemonic) : NULL;

	return s ? s : "(unknown)";
}

const char *pm_form_class(unsigned mnemonic)
{
	const char *s = pm_form_mnemonic(mnemonic);

	switch (mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return s;
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return "loopcc";
	}
	if (s[0] == 'j')
		return "jcc";
	if (!strncmp(s, "set", 3) && mnemonic != ZYDIS_MNEMONIC_SETSSBSY)
		return "setcc";
	if (!strncmp(s, "cmov", 4))
		return "cmovcc";
	if (!strncmp(s, "fcmov", 5))
		return "fcmovcc";
	return s;
}
