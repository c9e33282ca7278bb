/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/insn_mix.h"
#include "base/mem.h"
#include "isa/mips/mips.h"
#include "isa/x86/form.h"
#include "trace/expand.h"

struct named { const char *name; uint64_t count; };
struct mix_block { uint64_t pc, entries, insns; };

/* Where a block ends, as the bytes say: not all traces tell of branches, and some have each
 * iteration of a string instruction as an instruction. */
enum mix_end { GOES_ON, REPEATS, ENDS, ENDS_BEHIND_SLOT };

struct mix_sink {
	uint64_t top, insns, reads, writes, unknown;
	/* executions by pm_code.insn of the table that is current */
	const struct pm_code *code;
	uint64_t *count;
	uint8_t *end;			/* enum mix_end, of the first nend */
	size_t cap_count, nend;
	uint64_t mnemonic[PM_FORM_MNEMONICS], mips[MIPS_NOPS];
	struct pm_forms *forms[2];
	struct pm_map at;		/* pc -> block */
	struct mix_block *block;
	size_t nblock, cap_block;
	/* block + 1; 0: none */
	struct mix_place { size_t block; uint64_t pc, next; bool branch, slot; } *stream;
	size_t nstream, cap_stream;
};

static void destroy(void *self)
{
	struct mix_sink *s = self;

	if (!s)
		return;
	free(s->count);
	free(s->end);
	pm_forms_free(s->forms[0]);
	pm_forms_free(s->forms[1]);
	pm_map_release(&s->at);
	free(s->block);
	free(s->stream);
	free(s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct mix_sink *s = pm_alloc(sizeof *s);
	const struct pm_conf_key keys[] = {
		{ "top", &s->top, 1, 1000000, false, "mnemonics listed" },
		{ 0 }
	};

	s->top = 30;
	if (!pm_conf_keys("insns", config, keys, err))
		return s;
	destroy(s);
	return NULL;
}

static const struct pm_form *form_of(struct mix_sink *s, const struct pm_insn *in)
{
	const bool i386 = in->isa == PM_ISA_X86_32;

	if (in->isa > PM_ISA_X86_32 || !in->len)
		return NULL;
	if (!s->forms[i386])
		s->forms[i386] = pm_forms_new(i386);
	return pm_form_at(s->forms[i386], in->bytes, in->len);
}

static enum mix_end end_of(struct mix_sink *s, const struct pm_insn *in)
{
	const struct pm_form *f;
	uint32_t w;

	if (pm_mips_word(in->isa, in->bytes, in->len, &w))
		return mips_has_slot(mips_decode(w, ~0u)) ? ENDS_BEHIND_SLOT : GOES_ON;
	f = form_of(s, in);
	if (f && f->rep)
		return REPEATS;
	return f && f->flow != PM_CLASS_NONE && f->flow != PM_CLASS_SYSCALL ? ENDS : GOES_ON;
}

/* What was counted by index becomes counts by mnemonic. */
static void settle(struct mix_sink *s)
{
	for (size_t i = 0; s->code && i < s->cap_count && i < s->code->ninsn; i++) {
		const struct pm_insn *in = s->code->insn + i;
		const struct pm_form *f;
		uint64_t n = s->count[i];
		uint32_t w;

		if (!n)
			continue;
		s->count[i] = 0;
		if (pm_mips_word(in->isa, in->bytes, in->len, &w)) {
			const enum mips_op op = mips_decode(w, ~0u);

			*(op < MIPS_NOPS ? &s->mips[op] : &s->unknown) += n;
		} else if ((f = form_of(s, in))) {
			s->mnemonic[f->mnemonic] += n;
		} else {
			s->unknown += n;
		}
	}
}

static void code_is(struct mix_sink *s, const struct pm_code *code)
{
	if (!code)
		return;
	if (s->code != code) {
		settle(s);
		s->nend = 0;
	}
	s->code = code;
	if (s->cap_count < code->ninsn) {
		size_t cap = code->ninsn * 2;

		s->count = pm_realloc(s->count, cap * sizeof *s->count);
		memset(s->count + s->cap_count, 0, (cap - s->cap_count) * sizeof *s->count);
		s->end = pm_realloc(s->end, cap);
		s->cap_count = cap;
	}
	for (; s->nend < code->ninsn; s->nend++)
		s->end[s->nend] = (uint8_t)end_of(s, code->insn + s->nend);
}

/* HOT: once per instruction. */
static void one(struct mix_sink *s, struct mix_place *p, const struct pm_event *e)
{
	enum mix_end end = GOES_ON;

	s->insns++;
	if (e->id < s->nend) {
		s->count[e->id]++;
		end = s->end[e->id];
	} else {
		s->unknown++;
	}
	if (!p->block || p->branch ||
	    (p->next != e->addr && !(end == REPEATS && p->pc == e->addr))) {
		bool fresh;
		uint64_t *at = pm_map_put(&s->at, e->addr, &fresh);

		if (fresh) {
			pm_grow(s->block, s->nblock, s->cap_block);
			s->block[s->nblock++] = (struct mix_block){ .pc = e->addr };
			*at = s->nblock;
		}
		p->block = *at;
		p->slot = false;
		s->block[p->block - 1].entries++;
	}
	p->branch = p->slot || end == ENDS;
	p->slot = end == ENDS_BEHIND_SLOT;
	s->block[p->block - 1].insns++;
	p->pc = e->addr;
	p->next = e->addr + e->size;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct mix_sink *s = self;
	uint32_t index = b->stream ? b->stream->index : 0;
	struct mix_place *p;

	while (s->nstream <= index) {
		pm_grow(s->stream, s->nstream, s->cap_stream);
		s->stream[s->nstream++] = (struct mix_place){ 0 };
	}
	p = s->stream + index;
	code_is(s, b->code);
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++)
		switch (e->kind) {
		case PM_EV_INSN:
			one(s, p, e);
			break;
		case PM_EV_BRANCH:
			p->branch = !p->slot;
			break;
		case PM_EV_READ:
			s->reads++;
			break;
		case PM_EV_MODIFY:
			s->reads++;
			/* fall through */
		case PM_EV_WRITE:
			s->writes++;
			break;
		default:
			break;
		}
	return PM_OK;
}

static int by_count(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static int by_insns(const void *a, const void *b)
{
	const struct mix_block *x = a, *y = b;

	return x->insns != y->insns ? (x->insns < y->insns ? 1 : -1)
	       : x->pc < y->pc	    ? -1
				    : x->pc > y->pc;
}

static void list(struct mix_sink *s, struct pm_result *r, const char *name, const char *column,
		 struct named *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, by_count);
	pm_result_begin_list(r, name);
	for (size_t i = 0; i < n && i < s->top; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, column, v[i].name);
		pm_result_u64(r, "executed", v[i].count, "instructions");
		pm_result_f64(r, "share", (double)v[i].count / s->insns, "of all instructions");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static void add(struct named *v, size_t *n, const char *name, uint64_t count)
{
	size_t i = 0;

	while (i < *n && strcmp(v[i].name, name))
		i++;
	if (i == *n)
		v[(*n)++] = (struct named){ .name = name };
	v[i].count += count;
}

static void mix(struct mix_sink *s, struct pm_result *r)
{
	struct named *m = pm_alloc((PM_FORM_MNEMONICS + MIPS_NOPS) * sizeof *m);
	struct named *c = pm_alloc((PM_FORM_MNEMONICS + MIPS_NOPS) * sizeof *c);
	size_t nm = 0, nc = 0;

	for (unsigned i = 1; i < PM_FORM_MNEMONICS; i++)
		if (s->mnemonic[i]) {
			add(m, &nm, pm_form_mnemonic(i), s->mnemonic[i]);
			add(c, &nc, pm_form_class(i), s->mnemonic[i]);
		}
	for (unsigned i = 0; i < MIPS_NOPS; i++)
		if (s->mips[i]) {
			add(m, &nm, mips_insns[i].name, s->mips[i]);
			add(c, &nc, mips_insns[i].name, s->mips[i]);
		}
	list(s, r, "by_class", "class", c, nc);
	list(s, r, "by_mnemonic", "mnemonic", m, nm);
	free(m);
	free(c);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct mix_sink *s = self;
	uint64_t sum = 0, unknown;
	size_t few = 0;

	settle(s);
	unknown = s->unknown + s->mnemonic[0];
	if (!r)
		return PM_OK;
	if (s->nblock)
		qsort(s->block, s->nblock, sizeof *s->block, by_insns);
	for (; few < s->nblock && (double)sum < 0.9 * (double)s->insns; few++)
		sum += s->block[few].insns;
	pm_result_begin(r, "insns");
	pm_result_u64(r, "instructions", s->insns, "instructions");
	pm_result_u64(r, "reads", s->reads, "references");
	pm_result_u64(r, "writes", s->writes, "references");
	pm_result_u64(r, "unknown", unknown, "instructions");
	pm_result_u64(r, "blocks_distinct", s->nblock, "blocks");
	pm_result_u64(r, "blocks_cover_90", few, "blocks that cover 90 % of all instructions");
	if (s->insns > unknown)
		mix(s, r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_insns = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS, .name = "insns",
	.about = "the mix of instructions, and how few blocks most of them are in",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
