/* SPDX-License-Identifier: MIT */
/* position.c - positions in a recording: their notation, and where the events of a trace are */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "isa/x86/decode.h"
#include "trace/expand.h"
#include "trace/position.h"

/* ---- text ------------------------------------------------------------------------------------ */
static bool number(const char **p, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*v = strtoull(*p, &end, 10);
	*p = end;
	return !errno && *v < 1ull << 62;
}

bool pm_position_parse(const char *text, struct pm_position *to)
{
	uint64_t tid = 0;

	*to = (struct pm_position){ 0 };
	if (*text != '@' && (!number(&text, &tid) || tid > UINT32_MAX))
		return false;
	if (*text++ != '@' || !number(&text, &to->clock))
		return false;
	to->tid = (uint32_t)tid;
	if (*text == '+') {
		text++;
		if (!number(&text, &to->insns))
			return false;
	}
	return !*text;
}

const char *pm_position_text(const struct pm_position *p, char text[PM_POSITION_TEXT])
{
	snprintf(text, PM_POSITION_TEXT, p->insns ? "%u@%llu+%llu" : "%u@%llu", p->tid,
		 (unsigned long long)p->clock, (unsigned long long)p->insns);
	return text;
}

int pm_position_compare(const struct pm_position *a, const struct pm_position *b)
{
	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return a->insns < b->insns ? -1 : a->insns > b->insns;
}

int pm_position_order(const struct pm_position *a, const struct pm_position *b)
{
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return pm_position_compare(a, b);
}

/* ---- traces ---------------------------------------------------------------------------------- */
enum goes { NOT_KNOWN, GOES_ELSEWHERE, GOES_ANYWHERE };

struct pm_positions {
	struct x86_decoder *dec;
	struct goes_of {
		const struct pm_code *code;
		uint8_t *v;		/* of each of its instructions, enum goes */
		size_t n;
	} *code;
	size_t ncode, cap_code;
	struct pm_map thread;		/* tid -> where in `v` */
	struct pm_map stream;		/* those that have begun, by index */
	struct pm_position_thread *v;
	size_t n, cap;
};

struct pm_positions *pm_positions_new(void)
{
	struct pm_positions *c = pm_alloc(sizeof *c);

	c->dec = x86_decoder_new(X86_MODE_64);
	return c;
}

void pm_positions_free(struct pm_positions *c)
{
	if (!c)
		return;
	x86_decoder_free(c->dec);
	pm_map_release(&c->thread);
	pm_map_release(&c->stream);
	for (size_t i = 0; i < c->ncode; i++)
		free(c->code[i].v);
	free(c->code);
	free(c->v);
	free(c);
}

struct pm_position_thread *pm_position_thread(struct pm_positions *c, const struct pm_stream *s)
{
	bool fresh, later;
	uint64_t *const at = pm_map_put(&c->thread, s->tid, &fresh);
	struct pm_position_thread *t;

	if (fresh) {
		pm_grow(c->v, c->n, c->cap);
		*at = c->n;
		c->v[c->n++] = (struct pm_position_thread){ .at.tid = s->tid };
	}
	t = &c->v[*at];
	pm_map_put(&c->stream, s->index, &later);
	if (later && !fresh) {
		t->base = ++t->at.clock;
		t->at.insns = 0;
	}
	return t;
}

/* A return, not a far one, or an indirect jump, but for those of procedure linkage tables. */
static enum goes decode_goes(struct pm_positions *c, const struct pm_insn *i)
{
	struct x86_insn x;

	if (!x86_decode(c->dec, i->bytes, i->len, &x))
		return GOES_ELSEWHERE;
	return x.kind == X86_RET || (x.kind == X86_JMP_IND && !(x.prop & X86_RIP)) ?
		GOES_ANYWHERE : GOES_ELSEWHERE;
}

/* Those of @code, of which there are more as it grows. */
static uint8_t *goes_of(struct pm_positions *c, const struct pm_code *code)
{
	struct goes_of *g = c->code;

	while (g < c->code + c->ncode && g->code != code)
		g++;
	if (g == c->code + c->ncode) {
		pm_grow(c->code, c->ncode, c->cap_code);
		g = &c->code[c->ncode++];
		*g = (struct goes_of){ .code = code };
	}
	if (g->n < code->ninsn) {
		g->v = pm_realloc(g->v, 2 * (size_t)code->ninsn);
		memset(g->v + g->n, NOT_KNOWN, 2 * (size_t)code->ninsn - g->n);
		g->n = 2 * (size_t)code->ninsn;
	}
	return g->v;
}

static bool goes_anywhere(struct pm_positions *c, const struct pm_code *code, uint32_t insn)
{
	uint8_t *goes;

	if (!code || insn >= code->ninsn)
		return false;
	goes = goes_of(c, code);
	if (goes[insn] == NOT_KNOWN)
		goes[insn] = (uint8_t)decode_goes(c, &code->insn[insn]);
	return goes[insn] == GOES_ANYWHERE;
}

uint64_t pm_position_below(struct pm_positions *c, const struct pm_code *code, uint32_t insn)
{
	const uint8_t flags = pm_insn_branch_flags(&code->insn[insn]);

	if (flags & PM_BR_CALL)
		return 0;
	if (flags & (PM_BR_RET | PM_BR_INDIRECT))
		return goes_anywhere(c, code, insn) ? UINT64_MAX : 0;
	return code->insn[insn].pc + 1;
}

/* SAFEPOINTS in collect/translate/translate.h */
static bool is_safepoint(struct pm_positions *c, const struct pm_batch *b,
			 const struct pm_event *ev)
{
	if (ev->flags & PM_BR_CALL || !(ev->flags & PM_BR_TAKEN))
		return false;
	return ev->flags & (PM_BR_RET | PM_BR_INDIRECT) ? goes_anywhere(c, b->code, ev->id) :
		ev->value <= ev->addr;
}

void pm_position_pass(struct pm_positions *c, struct pm_position_thread *t,
		      const struct pm_batch *b, const struct pm_event *ev)
{
	if (ev->kind == PM_EV_INSN) {
		t->at.insns++;
		t->pc = ev->addr;
	} else if (ev->kind == PM_EV_SIGNAL && ev->addr == t->pc && t->at.insns) {
		t->at.insns--;		/* a system call: it will be made again */
	} else if (ev->kind == PM_EV_BRANCH && is_safepoint(c, b, ev)) {
		t->at.clock++;
		t->at.insns = 0;
	}
}
