/* SPDX-License-Identifier: MIT */
/* block_table.c - the block table, and what the records of blocks become in the trace */
#include <stdlib.h>
#include <string.h>

#include "collect/instrument/job.h"
#include "isa/x86/decode.h"
#include "isa/x86/plan.h"
#include "pugmark/pugmark.h"
#include "trace/idt_format.h"

struct planner {
	const struct pm_instrument_opts *o;
	bool wide;
	const uint8_t *text;		/* what is mapped at the text's beginning */
	struct pm_buf *out, *lanes;
	struct x86_plan plan;
	struct pm_map id;		/* instruction forms -> idt_id; see id_of() */
};

struct planner *planner_new(void)
{
	return pm_alloc(sizeof(struct planner));
}

void planner_free(struct planner *w)
{
	x86_plan_release(&w->plan);
	pm_map_release(&w->id);
	free(w);
}

/* The first @n bytes of an instruction, up to its ModRM. Of most opcodes it does not matter which
 * registers they name: the fewer forms, the faster they are found. */
static uint64_t form_of(const uint8_t *p, unsigned n, const struct x86_insn *x, bool wide)
{
	unsigned k = 0, rex;
	uint64_t key;
	uint8_t b[8] = { 0 }, op = p[x->op];
	bool usual;

	memcpy(b, p, n);
	while (k < x->op && x86_is_prefix(b[k]))
		k++;
	rex = k;
	k += wide && (b[k] & 0xf0) == 0x40;
	if (k < x->op && b[k] == 0x0f)	/* cmov, setcc, imul, movzx, movsx, moves of vectors */
		usual = k + 1 == x->op &&
			((op & 0xf0) == 0x40 || (op & 0xf0) == 0x90 || op == 0xaf ||
			 (op & 0xf6) == 0xb6 || op == 0x10 || op == 0x11 || op == 0x28 ||
			 op == 0x29 || op == 0x6f || op == 0x7f);
	else
		usual = k == x->op && op != 0x8f && op != 0xc6 && op != 0xc7 && (op & 0xf8) != 0xd8;
	if (usual && x->modrm) {
		if (rex != k)
			b[rex] &= 0x48;		/* REX.W */
		b[x->modrm] = (b[x->modrm] & 0x38) | (b[x->modrm] >= 0xc0 ? 0xc0 : 0);
	}
	memcpy(&key, b, 8);
	return key;
}

/* idt_id follows from prefixes, opcode and ModRM: each such form is worked out once. */
static uint16_t id_of(struct planner *w, const uint8_t *p, const struct x86_insn *x)
{
	unsigned n = x->modrm ? x->modrm + 1u : x->op + 1u;
	uint64_t key, *at;
	bool fresh;

	if (n > 7)
		return idt_insn_id(p, x->len, w->wide);
	key = form_of(p, n, x, w->wide);
	at = pm_map_put(&w->id, key | (uint64_t)n << 56, &fresh);
	if (fresh)
		*at = idt_insn_id(p, x->len, w->wide);
	return (uint16_t)*at;
}

/* What is known of an instruction while its block's records are planned. */
struct step {
	struct x86_at at;
	uint16_t id;
	uint8_t class;
};

static void append8(struct pm_buf *b, unsigned v)
{
	if (b->n == b->cap)
		pm_buf_room(b, 1);
	b->p[b->n++] = (uint8_t)v;
}

static void append16(struct pm_buf *b, unsigned v)
{
	append8(b, v);
	append8(b, v >> 8);
}

static void append_sleb(struct pm_buf *b, int64_t v)
{
	for (;;) {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		if ((v == 0 && !(byte & 0x40)) || (v == -1 && byte & 0x40)) {
			append8(b, byte);
			return;
		}
		append8(b, byte | 0x80);
	}
}

_Static_assert((unsigned)IMG_V_NONE == X86_VAL_NONE && (unsigned)IMG_V_RSP == X86_VAL_RSP &&
	       (unsigned)IMG_V_FS == X86_VAL_FS && (unsigned)IMG_V_GS == X86_VAL_GS,
	       "names of values are kept");

static void append_value(struct pm_buf *b, uint16_t v)
{
	const bool more = v >= IMG_V_LONG && v < X86_VAL_KNOWN;

	append8(b, more ? IMG_V_LONG : v);
	if (more)
		append16(b, v);
}

static void append_record(struct pm_buf *b, unsigned words)
{
	append8(b, words < IMG_P_LONG ? words : IMG_P_LONG);
	if (words >= IMG_P_LONG)
		append16(b, words);
}

static void append_address(struct pm_buf *b, const struct x86_ref *r, bool odd)
{
	if (odd) {
		append8(b, r->how);
		append8(b, r->scale);
		append16(b, r->size);
		append_value(b, r->index);
		append_value(b, r->segment);
		append16(b, r->after);
	}
	append_value(b, r->base);
	append_sleb(b, r->disp);
}

static void append_ref(struct pm_buf *b, unsigned op, uint8_t insn, const struct x86_ref *r,
		       bool wide)
{
	const bool odd = r->how != X86_REF_SUM || r->index != X86_VAL_NONE ||
		r->segment != X86_VAL_NONE;
	unsigned size = r->size ? r->size : 4, code = idt_bytes_code(size, wide);

	if (idt_code_bytes(code, wide) != size)
		code = 0;
	append8(b, op | code << 3 | (odd ? IMG_P_ODD : 0));
	append8(b, insn);
	if (!code && op != IMG_P_POINTER)
		append16(b, size);
	append_address(b, r, odd);
}

/* Of a push or pop with a tag of its own: an operation for each entry. */
static void append_pushed(struct pm_buf *b, unsigned op, uint8_t insn, const struct x86_ref *r)
{
	const bool odd = r->how != X86_REF_SUM || r->index != X86_VAL_NONE ||
		r->segment != X86_VAL_NONE;
	struct x86_ref one = *r;

	for (unsigned left = r->size; left >= 2; left -= one.size) {
		one.size = left >= 8 ? 8 : left >= 4 ? 4 : 2;
		append8(b, op | IMG_P_PUSHED(one.size) << 3 | (odd ? IMG_P_ODD : 0));
		append8(b, insn);
		append_address(b, &one, odd);
		one.disp += one.size;
	}
}

/* How many entries a reference of @size bytes is. */
static int entries_of(unsigned size, bool wide)
{
	int n = 0;

	for (size = size ? size : 4; size; n++)
		size -= idt_code_bytes(idt_bytes_code(size, wide), wide);
	return n;
}

static int8_t few(int n)
{
	return (int8_t)(n > 127 ? 127 : n);
}

/* Of pusha, popa and far calls one entry stands for all: the first push's, or the address that they
 * start to pop from. */
static enum idt_pushes pushes_of(const struct planner *w, const struct step *s)
{
	struct pm_insn in = { .len = s->at.x.len,
			      .isa = w->wide ? PM_ISA_X86_64 : PM_ISA_X86_32 };

	memcpy(in.bytes, s->at.p, in.len);
	return idt_pushes(&in, w->wide);
}

/* The rules are those of FORMATS 2.3 and 2.4, as trace/idt_write.c has them. Returns the
 * entries. */
static int8_t plan_insn(const struct planner *w, const struct step *s, const struct x86_ref *r,
			size_t n, uint64_t pc, uint8_t insn, struct pm_buf *to)
{
	const bool exec = w->o->kind == IMG_EXEC;
	const bool indirect = s->class == PM_CLASS_JUMP_IND || s->class == PM_CLASS_CALL_IND;
	const enum idt_pushes pushes = exec ? pushes_of(w, s) : IDT_PLAIN;
	struct x86_ref one;
	unsigned op;
	int entries = 0;

	if (exec && s->class != PM_CLASS_NONE && s->class != PM_CLASS_SYSCALL) {
		entries++;
		if (indirect && n && r->kind == PM_EV_READ) {
			append_ref(to, IMG_P_POINTER, insn, r++, w->wide);
			n--;
		} else if (s->at.x.kind == X86_JMP || s->at.x.kind == X86_JCC ||
			   s->at.x.kind == X86_JCX || s->at.x.kind == X86_CALL) {
			append8(to, IMG_P_TARGET);
			append8(to, insn);
			append_sleb(to, (int64_t)(x86_target(&s->at.x, s->at.p, s->at.pc) - pc));
		} else {
			append8(to, IMG_P_NEXT);
			append8(to, insn);
		}
	}
	for (; n; n--, r++) {
		if (x86_ref_has_lanes(r)) {	/* see append_lanes() */
			append8(to, r->kind == PM_EV_READ ? IMG_P_READ_LANES : IMG_P_WRITE_LANES);
			append8(to, insn);
			continue;
		}
		if (r->how == X86_REF_REP) {
			append8(to, IMG_P_REP);
			append8(to, insn);
			append8(to, r->scale);
			append8(to, r->size);
			append8(to, r->disp == -1 ? 64 : r->disp == 0xffff ? 16 : 32);
			append_value(to, r->base);
			append_value(to, r->index);
			append_value(to, r->after);
			append_value(to, r->segment);
			return r->scale == X86_REP_MOVS || r->scale == X86_REP_CMPS ? -2 : -1;
		}
		one = *r;
		if (pushes) {
			one.disp += (int64_t)idt_first_push(pushes, 0, r->size);
			one.size = (uint16_t)(r->size / idt_pushed(pushes));
		}
		op = r->kind == PM_EV_READ ? IMG_P_READ : r->kind == PM_EV_WRITE ? IMG_P_WRITE
										 : IMG_P_MODIFY;
		if (w->o->stack && r->flags & PM_REF_STACK && r->size)
			append_pushed(to, op, insn, &one);
		else
			append_ref(to, op, insn, &one, w->wide);
		entries += entries_of(one.size, w->wide) *
			(r->kind == PM_EV_MODIFY && !exec ? 2 : 1);
		if (pushes)
			break;
	}
	return few(entries);
}

#define MOST_OF_TILE	(6 * X86_TILE_ROWS)	/* entries: 63 bytes are 32, 16, 8, 4, 2 and 1 */

/* The elements of a gather or scatter, or the rows of a tile, where the trace needs to know how
 * many there will be. */
static void append_lanes(const struct planner *w, const struct x86_ref *r, uint32_t block,
			 uint8_t insn)
{
	struct pm_buf *to = w->out;
	struct lanes l = { .block = block,
			   .n = r->how == X86_REF_TILE ? MOST_OF_TILE : r->lanes.n };
	uint8_t lanes;

	memcpy(&lanes, &r->lanes, 1);
	append8(to, IMG_P_LANES);
	append8(to, insn);
	append8(to, r->size);
	append_value(to, r->base);
	append_sleb(to, r->disp);
	append8(to, r->scale);
	append8(to, lanes);
	append_value(to, r->index);
	append_value(to, r->after);
	append_value(to, r->segment);
	l.at = (uint32_t)to->n;
	append16(to, 0);
	append16(to, 0);
	pm_buf_add(w->lanes, &l, sizeof l);
}

static const struct x86_at *step_at(void *ctx, uint32_t i)
{
	return &((const struct step *)ctx)[i].at;
}

static void plan_branch(struct pm_buf *to, const struct step *last, bool wide)
{
	uint8_t op[2] = { 0 };
	unsigned nop = 0;

	if (last && last->class != PM_CLASS_NONE && last->class != PM_CLASS_SYSCALL)
		nop = idt_opcode(last->at.p, last->at.x.len, wide, op);
	append_record(to, 0);
	append8(to, nop);
	pm_buf_add(to, op, nop);
}

/* The plan of a block whose instructions are s[begin .. end) of its chain. */
static void plan_block(struct planner *w, uint32_t block, const struct step *s, unsigned begin,
		       unsigned end, struct idt_insn *insn)
{
	size_t k = 0;

	if (w->o->kind == IMG_BRANCH) {
		plan_branch(w->out, end > begin ? &s[end - 1] : NULL, w->wide);
		return;
	}
	x86_plan(step_at, (void *)(uintptr_t)s, end, w->wide, &w->plan);
	append_record(w->out, w->plan.size / 4u);
	while (k < w->plan.nref && w->plan.ref[k].insn < begin)
		k++;
	if (k < w->plan.nref && x86_ref_has_lanes(&w->plan.ref[w->plan.nref - 1]))
		append_lanes(w, &w->plan.ref[w->plan.nref - 1], block, (uint8_t)(end - 1 - begin));
	for (unsigned i = begin; i < end; i++) {
		size_t first = k;

		while (k < w->plan.nref && w->plan.ref[k].insn == i)
			k++;
		insn[i - begin].entries = plan_insn(w, &s[i], w->plan.ref + first, k - first,
						    s[begin].at.pc, (uint8_t)(i - begin), w->out);
	}
	append8(w->out, IMG_P_END);
	append_value(w->out, w->plan.rsp);
	append_sleb(w->out, w->plan.rsp_add);
}

/* Block @k's instructions, of which @at gets what there is to know. */
static unsigned look_up(struct planner *w, const struct program_text *t, uint32_t k, struct step *s)
{
	const struct img_block *b = &t->image.block[k];
	const struct x86_insn *x = t->image.insn + t->image.insn_at[k];
	const uint8_t *p = w->text + b->pc;
	uint64_t pc = t->lo + b->pc;

	for (unsigned n = 0; n < b->n; n++, s++, x++) {
		s->at = (struct x86_at){ p, pc, *x };
		s->id = id_of(w, p, x);
		s->class = idt_id_class(s->id);
		p += x->len;
		pc += x->len;
	}
	return b->n;
}

static uint32_t continues(const struct program_text *t, uint32_t k)
{
	return t->image.prev ? t->image.prev[k] : IMG_NO_BLOCK;
}

void plan_begin(const struct job *j, struct program_text *t)
{
	const uint32_t nblock = (uint32_t)t->image.nblock;
	uint32_t n = 0;

	t->next = pm_alloc((nblock + 1) * sizeof *t->next);
	t->insn_at = pm_alloc((nblock + 1) * sizeof *t->insn_at);
	memset(t->next, 0xff, nblock * sizeof *t->next);
	for (uint32_t k = 0; k < nblock; k++) {
		const uint32_t prev = continues(t, k), back = prev == IMG_NO_BLOCK ? 0 : k - prev;

		t->insn_at[k] = n;
		n += t->image.block[k].n ? t->image.block[k].n : 1;
		if (prev != IMG_NO_BLOCK)
			t->next[prev] = k;
		if (t->image.prev)
			pm_buf_add(&t->back, &back, sizeof back);
	}
	t->insn_at[nblock] = n;
	t->insn = pm_alloc((n + 1) * sizeof *t->insn);
	if (j->o->kind == IMG_PROFILE)
		return;
	pm_buf_room(&t->plan_at, 4 * nblock);
	t->plan_at.n = 4 * nblock;
}

/* Chains belong to the piece that their first block is in. */
void plan_piece(struct planner *w, const struct job *j, struct text_piece *p)
{
	struct program_text *t = p->text;
	const struct file *f = &j->file[t->file];
	uint32_t *plan_at = (uint32_t *)t->plan_at.p;

	w->o = j->o;
	w->wide = !j->i386;
	w->text = f->p + t->offset;
	w->out = &p->plan;
	w->lanes = &p->lanes;
	for (uint32_t head = p->from; head < p->to; head++) {
		struct step s[256];
		unsigned begin = 0, end;

		if (continues(t, head) != IMG_NO_BLOCK)
			continue;
		for (uint32_t k = head; k != IMG_NO_BLOCK; k = t->next[k], begin = end) {
			struct idt_insn *insn = t->insn + t->insn_at[k];

			end = begin + look_up(w, t, k, s + begin);
			/* a place that the decoder does not know: a record needs an instruction */
			insn[0] = (struct idt_insn){ 0xffff, 1, 0 };
			for (unsigned i = begin; i < end; i++)
				insn[i - begin] = (struct idt_insn){ s[i].id, s[i].at.x.len, 0 };
			if (!plan_at)
				continue;
			plan_at[k] = (uint32_t)p->plan.n;
			plan_block(w, k, s, begin, end, insn);
		}
	}
}

void plan_join(const struct job *j, struct text_piece *p)
{
	struct program_text *t = p->text;
	uint32_t *plan_at = (uint32_t *)t->plan_at.p;

	for (uint32_t head = p->from; head < p->to && plan_at; head++)
		if (continues(t, head) == IMG_NO_BLOCK)
			for (uint32_t k = head; k != IMG_NO_BLOCK; k = t->next[k])
				plan_at[k] += (uint32_t)t->plan.n;
	for (struct lanes *l = (struct lanes *)p->lanes.p;
	     l < (struct lanes *)(p->lanes.p + p->lanes.n); l++)
		l->at += (uint32_t)t->plan.n;
	pm_buf_add(&t->lanes, p->lanes.p, p->lanes.n);
	pm_buf_add(&t->plan, p->plan.p, p->plan.n);
	pm_buf_release(&p->plan);
	pm_buf_release(&p->lanes);
}

void table_of(struct job *j, struct program_text *t)
{
	for (uint32_t k = 0; k < t->image.nblock; k++) {
		uint32_t at = idt_blk_add(&j->blk, t->lo + t->image.block[k].pc,
					  t->insn + t->insn_at[k],
					  t->insn_at[k + 1] - t->insn_at[k]);

		at = (uint32_t)(j->blk.block[at].offset / idt_blk_unit(!j->i386));
		if (j->o->kind == IMG_EXEC)
			pm_buf_add(&t->record_at, &at, sizeof at);
	}
}

/* A block with a gather or scatter, or a load or store of a tile, has a record for each
 * number of entries: that with none is among the others, where its number says, the rest
 * behind all of them. */
void table_lanes(struct job *j, struct program_text *t)
{
	for (struct lanes *l = (struct lanes *)t->lanes.p;
	     l < (struct lanes *)(t->lanes.p + t->lanes.n); l++) {
		const uint64_t pc = t->lo + t->image.block[l->block].pc;
		struct idt_insn *insn = t->insn + t->insn_at[l->block];
		const uint32_t n = t->insn_at[l->block + 1] - t->insn_at[l->block];

		for (uint32_t k = 1; k <= l->n && j->o->kind == IMG_EXEC; k++) {
			uint32_t at;

			insn[n - 1].entries = (int8_t)k;
			at = idt_blk_add(&j->blk, pc, insn, n);
			at = (uint32_t)(j->blk.block[at].offset / idt_blk_unit(!j->i386));
			if (k == 1)
				memcpy(t->plan.p + l->at, &at, 4);
		}
		insn[n - 1].entries = 0;
	}
}
