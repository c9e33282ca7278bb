/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/loop_entries.h"
#include "base/mem.h"

#define SPIN_INSNS	64u
#define SPIN_BLOCKS	16u

struct told { uint64_t pc, insns; };

struct loop_stream {
	uint64_t next_pc;		/* of the instruction that goes on in the block */
	uint64_t block, in_block;	/* the block that runs, and its instructions that work */
	/* the iteration that runs; header 0: none */
	uint64_t header, reads, last_reads, insns;
	bool writes, pause, plain;	/* plain: loads, comparisons and jumps alone */
	struct told told[SPIN_BLOCKS];
	unsigned ntold;
	bool begun;
};

struct pm_loops {
	struct loop_stream *stream;
	size_t cap;
	struct pm_map number;		/* of an instruction, by pc */
	struct insn_place { uint64_t executed; bool header; } *place;	/* by number */
	size_t nplace, cap_place;
	const struct pm_code *code;	/* whose objects and instructions these are */
	uint32_t *number_of;		/* by pm_code.insn: the number + 1; 0: not known yet */
	size_t nnumber_of;
	int8_t *waits;			/* by object; 0: not known yet, 1: no, 2: yes */
	size_t nwaits;
};

struct pm_loops *pm_loops_new(void)
{
	return pm_alloc(sizeof(struct pm_loops));
}

void pm_loops_free(struct pm_loops *l)
{
	if (!l)
		return;
	pm_map_release(&l->number);
	free(l->place);
	free(l->number_of);
	free(l->stream);
	free(l->waits);
	free(l);
}

static bool is_for_waiting(const char *path)
{
	static const char *const names[] = { "libgomp", "libomp", "libiomp5", "libpthread",
					     "libtbb", NULL };
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;

	for (unsigned i = 0; name && names[i]; i++) {
		const size_t n = strlen(names[i]);

		if (!strncmp(name, names[i], n) && (name[n] == '.' || name[n] == '-'))
			return true;
	}
	return false;
}

/* Is the instruction of a library for synchronisation? */
static bool waits(struct pm_loops *l, const struct pm_code *code, uint32_t id)
{
	uint32_t o;

	if (!code || id >= code->ninsn)
		return false;
	o = code->insn[id].object;
	if (o >= code->nobject)
		return false;
	if (o >= l->nwaits) {
		l->waits = pm_realloc(l->waits, o + 16u);
		memset(l->waits + l->nwaits, 0, o + 16u - l->nwaits);
		l->nwaits = o + 16u;
	}
	if (!l->waits[o])
		l->waits[o] = is_for_waiting(code->object[o].path) ? 2 : 1;
	return l->waits[o] == 2;
}

/* A load, a comparison, a conditional jump, a nop: what a loop may consist of that waits for a
 * value. *pause: it is that. */
static bool is_plain(const struct pm_insn *in, bool *pause)
{
	const uint8_t *p = in->bytes, *end = p + in->len;
	const uint8_t *modrm;
	bool rep = false;

	*pause = false;
	if (in->isa != PM_ISA_X86_64 && in->isa != PM_ISA_X86_32)
		return false;
	for (; p < end && (*p == 0x66 || *p == 0xf3 || *p == 0xf2 || *p == 0x2e || *p == 0x3e ||
			   *p == 0x64 || *p == 0x65 || (in->isa == PM_ISA_X86_64 &&
							(*p & 0xf0) == 0x40)); p++)
		rep |= *p == 0xf3;
	if (p == end)
		return false;
	modrm = p + 1 < end ? p + 1 : p;
	switch (*p) {
	case 0x90:
		*pause = rep;
		return true;
	case 0x8a: case 0x8b: case 0x38 ... 0x3d: case 0x84: case 0x85: case 0xa8: case 0xa9:
	case 0x70 ... 0x7f: case 0xeb: case 0xe9:
		return true;
	case 0x80: case 0x81: case 0x83:
		return (*modrm >> 3 & 7) == 7;			/* cmp */
	case 0xf6: case 0xf7:
		return (*modrm >> 3 & 7) < 2;			/* test */
	case 0x0f:
		return (*modrm & 0xf0) == 0x80 || *modrm == 0xb6 || *modrm == 0xb7 ||
		       *modrm == 0x1f;				/* jcc, movzx, nop */
	}
	return false;
}

static struct loop_stream *stream_of(struct pm_loops *l, uint32_t index)
{
	if (index >= l->cap) {
		const size_t cap = (size_t)index * 2 + 8;

		l->stream = pm_realloc(l->stream, cap * sizeof *l->stream);
		memset(l->stream + l->cap, 0, (cap - l->cap) * sizeof *l->stream);
		l->cap = cap;
	}
	return l->stream + index;
}

static void end_block(struct loop_stream *s, uint32_t thread, const struct pm_loops_to *to)
{
	if (!s->in_block)
		return;
	to->block(to->ctx, thread, s->block, s->in_block, false);
	if (s->ntold < SPIN_BLOCKS)
		s->told[s->ntold] = (struct told){ s->block, s->in_block };
	s->ntold++;
	s->in_block = 0;
}

/* The iteration is over, and another one of the loop at @header begins. */
static void begin_iteration(struct loop_stream *s, uint32_t thread, uint64_t header,
			    const struct pm_loops_to *to)
{
	const bool again = s->header == header, small = s->insns <= SPIN_INSNS &&
		s->ntold <= SPIN_BLOCKS && !s->writes;

	if (again && small && (s->pause || (s->plain && s->reads && s->reads == s->last_reads)))
		for (unsigned i = 0; i < s->ntold; i++)
			to->block(to->ctx, thread, s->told[i].pc, s->told[i].insns, true);
	s->last_reads = again ? s->reads : 0;
	s->header = header;
	s->reads = s->insns = 0;
	s->writes = s->pause = false;
	s->plain = true;
	s->ntold = 0;
}

/* Moves places. */
static uint32_t number_by_pc(struct pm_loops *l, uint64_t pc)
{
	bool fresh;
	uint64_t *n = pm_map_put(&l->number, pc, &fresh);

	if (fresh) {
		*n = l->nplace;
		pm_grow(l->place, l->nplace, l->cap_place);
		l->place[l->nplace++] = (struct insn_place){ 0, false };
	}
	return (uint32_t)*n;
}

/* One address may have several places in the code table, one in each block that covers it. */
static inline struct insn_place *place_of(struct pm_loops *l, const struct pm_code *code,
				     const struct pm_event *e)
{
	uint32_t n;

	if (!code || e->id >= code->ninsn) {
		n = number_by_pc(l, e->addr);
		return l->place + n;
	}
	if (e->id >= l->nnumber_of) {
		const size_t cap = code->ninsn * 2;

		l->number_of = pm_realloc(l->number_of, cap * sizeof *l->number_of);
		memset(l->number_of + l->nnumber_of, 0,
		       (cap - l->nnumber_of) * sizeof *l->number_of);
		l->nnumber_of = cap;
	}
	if (!l->number_of[e->id])
		l->number_of[e->id] = number_by_pc(l, e->addr) + 1;
	return l->place + l->number_of[e->id] - 1;
}

static void begin_block(struct loop_stream *s, uint32_t thread, uint64_t pc,
			const struct insn_place *at, bool waiting, const struct pm_loops_to *to)
{
	const uint64_t count = at->executed;

	end_block(s, thread, to);
	if (at->header) {
		begin_iteration(s, thread, pc, to);
		if (!waiting)
			to->entry(to->ctx, pc, count);
	}
	s->block = pc;
}

static void see_branch(struct pm_loops *l, struct loop_stream *s, const struct pm_event *e)
{
	uint32_t n;

	s->next_pc = UINT64_MAX;		/* whatever comes begins a block */
	if (!(e->flags & PM_BR_TAKEN) || e->value > e->addr ||
	    e->flags & (PM_BR_CALL | PM_BR_RET | PM_BR_INDIRECT))
		return;
	n = number_by_pc(l, e->value);
	l->place[n].header = true;
}

/* HOT: once per event. */
void pm_loops_batch(struct pm_loops *l, const struct pm_batch *b, const struct pm_loops_to *to,
		    uint64_t *before)
{
	const uint32_t thread = b->stream->index;
	struct loop_stream *s = stream_of(l, thread);

	if (l->code != b->code) {
		l->code = b->code;
		if (l->nwaits)
			memset(l->waits, 0, l->nwaits);
		if (l->nnumber_of)
			memset(l->number_of, 0, l->nnumber_of * sizeof *l->number_of);
	}
	if (!s->begun)
		*s = (struct loop_stream){ .next_pc = UINT64_MAX, .begun = true };
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		bool pause = false, waiting;
		struct insn_place *at;

		switch (e->kind) {
		case PM_EV_INSN:
			waiting = waits(l, b->code, e->id);
			at = place_of(l, b->code, e);
			at->executed++;
			if (e->addr != s->next_pc || at->header)
				begin_block(s, thread, e->addr, at, waiting, to);
			s->next_pc = e->addr + e->size;
			s->plain = s->plain && b->code && e->id < b->code->ninsn;
			if (s->insns++ < SPIN_INSNS && b->code && e->id < b->code->ninsn) {
				s->plain = is_plain(b->code->insn + e->id, &pause) && s->plain;
				s->pause |= pause;
			}
			s->in_block += !waiting;
			++*before;
			break;
		case PM_EV_READ:
			s->reads = (s->reads ^ e->addr) * 0x9e3779b97f4a7c15u + 1;
			break;
		case PM_EV_WRITE:
		case PM_EV_MODIFY:
			s->writes = true;
			break;
		case PM_EV_BRANCH:
			see_branch(l, s, e);
			break;
		default:
			break;
		}
	}
}

void pm_loops_flush(struct pm_loops *l, const struct pm_loops_to *to)
{
	for (size_t i = 0; i < l->cap; i++)
		if (l->stream[i].begun)
			end_block(l->stream + i, (uint32_t)i, to);
}
