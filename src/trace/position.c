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
struct pm_positions {
	struct x86_decoder *dec[2];	/* [1]: of 32-bit code, NULL until there is some */
	struct passes_of {
		const struct pm_code *code;
		uint8_t *v;		/* of each of its instructions: 1 + enum x86_passes, or 0 */
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
	return pm_alloc(sizeof(struct pm_positions));
}

void pm_positions_free(struct pm_positions *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NR(c->dec); i++)
		x86_decoder_free(c->dec[i]);
	pm_map_release(&c->thread);
	pm_map_release(&c->stream);
	for (size_t i = 0; i < c->ncode; i++)
		free(c->code[i].v);
	free(c->code);
	free(c->v);
	free(c);
}

static struct pm_position_thread *thread_of(struct pm_positions *c, uint32_t tid, bool *fresh)
{
	uint64_t *const at = pm_map_put(&c->thread, tid, fresh);

	if (*fresh) {
		pm_grow(c->v, c->n, c->cap);
		*at = c->n;
		c->v[c->n++] = (struct pm_position_thread){ .at.tid = tid };
	}
	return &c->v[*at];
}

struct pm_position_thread *pm_position_thread(struct pm_positions *c, const struct pm_stream *s)
{
	bool fresh, later;
	struct pm_position_thread *t = thread_of(c, s->tid, &fresh);

	pm_map_put(&c->stream, s->index, &later);
	if (later && !fresh && !t->resumed) {
		t->base = ++t->at.clock;
		t->at.insns = 0;
	}
	t->resumed = false;
	return t;
}

void pm_positions_resume(struct pm_positions *c, const struct pm_position_thread *t)
{
	bool fresh;

	*thread_of(c, t->at.tid, &fresh) = *t;
}

static enum x86_passes decode_passes(struct pm_positions *c, const struct pm_insn *i)
{
	const bool i386 = i->isa == PM_ISA_X86_32;
	struct x86_insn x;

	if (!c->dec[i386])
		c->dec[i386] = x86_decoder_new(i386 ? X86_MODE_32 : X86_MODE_64);
	return x86_decode(c->dec[i386], i->bytes, i->len, &x) ? x86_passes(&x, i386) :
								X86_PASSES_NONE;
}

/* Those of @code, of which there are more as it grows. */
static uint8_t *passes_of(struct pm_positions *c, const struct pm_code *code)
{
	struct passes_of *g = c->code;

	while (g < c->code + c->ncode && g->code != code)
		g++;
	if (g == c->code + c->ncode) {
		pm_grow(c->code, c->ncode, c->cap_code);
		g = &c->code[c->ncode++];
		*g = (struct passes_of){ .code = code };
	}
	if (g->n < code->ninsn) {
		g->v = pm_realloc(g->v, 2 * (size_t)code->ninsn);
		memset(g->v + g->n, 0, 2 * (size_t)code->ninsn - g->n);
		g->n = 2 * (size_t)code->ninsn;
	}
	return g->v;
}

static enum x86_passes passes(struct pm_positions *c, const struct pm_code *code, uint32_t insn)
{
	uint8_t *v = passes_of(c, code) + insn;

	if (!*v)
		*v = (uint8_t)(1 + decode_passes(c, &code->insn[insn]));
	return (enum x86_passes)(*v - 1);
}

uint64_t pm_position_below(struct pm_positions *c, const struct pm_code *code, uint32_t insn)
{
	switch (passes(c, code, insn)) {
	case X86_PASSES_ALWAYS:
		return UINT64_MAX;
	case X86_PASSES_BACK:
		return code->insn[insn].pc + 1;
	default:
		return 0;
	}
}

static bool is_safepoint(struct pm_positions *c, const struct pm_batch *b,
			 const struct pm_event *ev)
{
	const bool back = !(ev->flags & (PM_BR_RET | PM_BR_INDIRECT)) && ev->value <= ev->addr;

	if (ev->flags & PM_BR_CALL || !(ev->flags & PM_BR_TAKEN))
		return false;
	if (!b->code || ev->id >= b->code->ninsn)
		return back;
	if (!back && !(ev->flags & (PM_BR_RET | PM_BR_INDIRECT)))
		return false;
	switch (passes(c, b->code, ev->id)) {
	case X86_PASSES_ALWAYS:
		return true;
	case X86_PASSES_BACK:
		return back;
	default:
		return false;
	}
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
