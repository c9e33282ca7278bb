/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "base/mix.h"
#include "isa/x86/form.h"
#include "isa/x86/zydis_regs.h"
#include "pugmark/pugmark.h"

/* A trie entry: 0 unknown, LEAF + form index, or the index of the node for the next half byte, the
 * lower one first. Halves, for most nodes have few successors: a short program's profile is over
 * before as much memory as whole bytes take has been faulted in. */
#define LEAF 0xe000u
#define MAX_NODES LEAF			/* all text of a C library, Python, gdb, OpenSSL and cc1
					 * takes 54000 */
#define MAX_FORMS (0x10000u - LEAF)	/* 2300 */

struct form_node {
	uint16_t next[16];
};

/* The bytes: this, the forms, filled up to a multiple of 32, and the nodes. */
struct forms_head {
	uint32_t nnode, nform, i386, pad;
	uint64_t build, zydis;		/* mnemonics are Zydis' numbers */
};

_Static_assert(sizeof(struct forms_head) % sizeof(struct form_node) == 0, "nodes are aligned");

static unsigned half(const uint8_t *p, size_t i)
{
	return p[i / 2] >> i % 2 * 4 & 15;
}

struct pm_forms {
	ZydisDecoder dec;
	bool i386;
	struct form_node *node;		/* node[0] is the root */
	size_t nnode, cap_node, nlearned;
	struct pm_form *form;
	size_t nform, cap_form;		/* cap_form 0: the forms are lent */
	bool lent;			/* the nodes are: used where they lie as long as there is
					 * room */
	struct pm_map known;		/* a form's fields as one number -> its index + 1; of
					 * forms of our own */
	struct pm_form odd;		/* what is not remembered: the answer to one call */
	uint32_t looks;
	uint16_t *two;			/* where two bytes lead from the root: an entry as in a
					 * node, or 0: to be found out */
};

#define MANY_LOOKS 0x10000u		/* then `two` is worth its 128 KiB */

_Static_assert(ZYDIS_MNEMONIC_MAX_VALUE < PM_FORM_MNEMONICS, "mnemonics fit their tables");

/* Of this folder's sources: make compiles us again when one of them changes. */
static uint64_t build_number(void)
{
	return pm_mix(PM_SOURCES, sizeof PM_SOURCES, sizeof(struct pm_form));
}

static void add_node(struct pm_forms *f)
{
	if (f->lent && f->nnode == f->cap_node) {
		f->cap_node *= 2;
		f->node = memcpy(pm_alloc(f->cap_node * sizeof *f->node), f->node,
				 f->nnode * sizeof *f->node);
		f->lent = false;
	}
	pm_grow(f->node, f->nnode, f->cap_node);
	memset(&f->node[f->nnode++], 0, sizeof f->node[0]);
}

struct pm_forms *pm_forms_new(bool i386)
{
	struct pm_forms *f = pm_alloc(sizeof *f);

	if (i386)
		ZydisDecoderInit(&f->dec, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&f->dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	f->i386 = i386;
	add_node(f);
	return f;
}

void pm_forms_free(struct pm_forms *f)
{
	if (!f)
		return;
	if (!f->lent)
		free(f->node);
	if (f->cap_form)
		free(f->form);
	pm_map_release(&f->known);
	free(f->two);
	free(f);
}

static size_t forms_size(size_t nform)
{
	return (nform * sizeof(struct pm_form) + sizeof(struct form_node) - 1) &
	       ~(sizeof(struct form_node) - 1);
}

size_t pm_forms_room(void)
{
	return sizeof(struct forms_head) + forms_size(MAX_FORMS) +
	       MAX_NODES * sizeof(struct form_node);
}

bool pm_forms_use(struct pm_forms *f, void *p, size_t n, size_t room)
{
	const struct forms_head *h = p;
	struct pm_form *form = (void *)(h + 1);
	size_t at;

	if (f->nnode > 1 || f->nlearned || (uintptr_t)p % _Alignof(struct forms_head) ||
	    n < sizeof *h || h->build != build_number() || h->zydis != ZydisGetVersion() ||
	    h->i386 != f->i386 || !h->nnode || h->nnode > MAX_NODES || h->nform > MAX_FORMS)
		return false;
	at = sizeof *h + forms_size(h->nform);
	if (n != at + h->nnode * sizeof(struct form_node) || room < n)
		return false;
	for (size_t i = 0; i < h->nform; i++)
		if (form[i].mnemonic > ZYDIS_MNEMONIC_MAX_VALUE || !form[i].len ||
		    form[i].len > ZYDIS_MAX_INSTRUCTION_LENGTH ||
		    form[i].rel_at + form[i].rel_size > form[i].len)
			return false;
	free(f->node);
	f->node = (struct form_node *)((uint8_t *)p + at);
	f->nnode = h->nnode;
	f->cap_node = (room - at) / sizeof(struct form_node);
	f->lent = true;
	f->form = form;
	f->nform = h->nform;
	return true;
}

size_t pm_forms_learned(const struct pm_forms *f)
{
	return f->nlearned;
}

void pm_forms_bytes(const struct pm_forms *f, struct pm_buf *b)
{
	const struct forms_head h = { .nnode = (uint32_t)f->nnode, .nform = (uint32_t)f->nform,
		.i386 = f->i386,
				.build = build_number(), .zydis = ZydisGetVersion() };
	static const struct form_node zeros;
	const size_t used = f->nform * sizeof *f->form;

	pm_buf_room(b, sizeof h + forms_size(f->nform) + f->nnode * sizeof *f->node);
	pm_buf_add(b, &h, sizeof h);
	pm_buf_add(b, f->form, used);
	pm_buf_add(b, &zeros, forms_size(f->nform) - used);
	pm_buf_add(b, f->node, f->nnode * sizeof *f->node);
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
	case ZYDIS_CATEGORY_RET:	/* of interrupts, too, which end no call */
		return in->mnemonic == ZYDIS_MNEMONIC_RET ? PM_CLASS_RET : PM_CLASS_JUMP_IND;
	case ZYDIS_CATEGORY_SYSCALL:
		return PM_CLASS_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return PM_CLASS_JUMP_IND;
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
		    (op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM &&
		     op[i].mem.type != ZYDIS_MEMOP_TYPE_VSIB))
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

/* Forms of our own, and which there are: the first time that there may be another one. */
static void own_forms(struct pm_forms *f)
{
	const struct pm_form *lent = f->form;

	if (f->cap_form)
		return;
	f->cap_form = f->nform + 64;
	f->form = pm_alloc(f->cap_form * sizeof *f->form);
	for (size_t i = 0; i < f->nform; i++) {
		f->form[i] = lent[i];
		*pm_map_put(&f->known, number_of(&lent[i]), NULL) = i + 1;
	}
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
	/* more than real programs need; hostile code is decoded anew */
	if (!k || f->nnode + 2 * k > MAX_NODES || f->nform + 1 > MAX_FORMS)
		return &f->odd;
	own_forms(f);
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
			f->node[at].next[half(p, i)] = (uint16_t)next;
		} else if (next >= f->nnode) {
			return &f->odd;		/* of bytes that were not ours */
		}
		at = next;
	}
	f->node[at].next[half(p, 2 * k - 1)] = (uint16_t)(LEAF + (*known - 1));
	f->nlearned++;
	return &f->form[*known - 1];
}

/* From @at on: where @n bytes lead, or some of them to an end. */
static inline uint32_t walk(const struct pm_forms *f, const uint8_t *p, size_t n, uint32_t at)
{
	const struct form_node *node = f->node;
	const uint32_t inner = (uint32_t)f->nnode - 1;

	for (size_t i = 0; i < n; i++) {
		at = node[at].next[p[i] & 15];
		if (at - 1 >= inner)		/* 0, a leaf, or what nobody has written */
			break;
		at = node[at].next[p[i] >> 4];
		if (at - 1 >= inner)
			break;
	}
	return at;
}

/* HOT: once per distinct instruction of a profile. */
const struct pm_form *pm_form_at(struct pm_forms *f, const uint8_t *p, size_t n)
{
	uint32_t at = 0;

	if (f->two && n >= 2) {
		uint16_t *two = &f->two[p[0] | p[1] << 8];

		if (!*two)
			*two = (uint16_t)walk(f, p, 2, 0);
		at = *two;
		if (at && at - 1 < f->nnode - 1)
			at = walk(f, p + 2, n - 2, at);
	} else {
		at = walk(f, p, n, 0);
		if (++f->looks == MANY_LOOKS && !f->two)
			f->two = pm_alloc(0x10000 * sizeof *f->two);
	}
	/* cut off: learn() says so */
	if (at >= LEAF && at - LEAF < f->nform && f->form[at - LEAF].len <= n)
		return &f->form[at - LEAF];
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
