/* SPDX-License-Identifier: MIT */
/* records.c - records and notes, one by one, as events */
#include "collect/consume/trace_state.h"

static inline uint64_t value(const struct stream *st, const uint8_t *rec, uint16_t v)
{
	return at_place((const uint8_t *const []){ rec, (const uint8_t *)st->known }, place_of(v));
}

#define MOST_TIMES \
	(1ull << 36) /* that one string instruction repeats: more takes minutes by itself */

/* HOT only for programs that copy much. */
static void rep(struct tracer *t, struct stream *st, const struct expander_part *c,
		const struct x86_ref *r, const uint8_t *rec, const uint64_t *cut, bool done)
{
	const uint64_t mask = (uint64_t)r->disp, seg = value(st, rec, r->segment);
	uint64_t src = value(st, rec, r->base) & mask, dst = value(st, rec, r->index) & mask;
	uint64_t end =
		(cut ? cut[r->index == X86_VAL_NONE ? 1 : 2] : value(st, rec, r->after)) & mask;
	uint64_t from = r->index == X86_VAL_NONE ? src : dst, step = r->size,
		 far = (end - from) & mask;
	const bool down = far & ((mask >> 1) + 1);	/* the direction flag is set */
	const uint64_t times = (down ? (from - end) & mask : far) / r->size;
	const uint64_t pc = t->insn[t->block[c->block].insn + r->insn].pc;
	static const uint8_t kinds[][2] = {
		[X86_REP_MOVS] = { PM_EV_READ, PM_EV_WRITE },
		[X86_REP_CMPS] = { PM_EV_READ, PM_EV_READ },
		[X86_REP_STOS] = { 0, PM_EV_WRITE },
		[X86_REP_LODS] = { PM_EV_READ, 0 },
		[X86_REP_SCAS] = { 0, PM_EV_READ },
	};

	if (far % r->size || times > MOST_TIMES) {
		trace_fail(t, "an endless string instruction");
		return;
	}
	if (down)
		step = -step;
	for (uint64_t k = 0; k < times && !t->failed; k++) {
		struct pm_event *ev;

		if (t->nev + 3 > BATCH) {
			trace_flush(t, st);
			stop_early(t);
		}
		ev = &t->ev[t->nev];
		*ev++ = (struct pm_event){ .kind = PM_EV_REP_ITER, .id = r->insn, .addr = pc };
		if (kinds[r->scale][0])
			*ev++ = (struct pm_event){ .kind = kinds[r->scale][0],
						   .flags = PM_REF_REP,
						   .size = r->size,
						   .id = r->insn,
						   .addr = (src + seg) & st->layout.mask };
		if (kinds[r->scale][1])
			*ev++ = (struct pm_event){ .kind = kinds[r->scale][1],
						   .flags = PM_REF_REP,
						   .size = r->size,
						   .id = r->insn,
						   .addr = dst };
		t->nev = (size_t)(ev - t->ev);
		src = (src + step) & mask;
		dst = (dst + step) & mask;
	}
	if (done)
		t->ev[t->nev++] = (struct pm_event){
			.kind = PM_EV_REP_END, .id = r->insn, .addr = pc, .value = times
		};
}

/* @cut: the instruction has come as far as an RT_N_CUT says. */
static void vsib(struct tracer *t, struct stream *st, const struct x86_ref *r, const uint8_t *rec,
		 const uint64_t *cut)
{
	const uint8_t *mask = rec + 4 + X86_VAL_AT(r->after);
	uint64_t at[16], seg = value(st, rec, r->segment);
	uint8_t done[64];
	unsigned n;

	if (cut) { /* those that it began with, but for those that are left */
		memcpy(done, mask, r->lanes.k ? 2 : r->lanes.n * r->size);
		for (unsigned i = 0; i < r->lanes.n; i++)
			if (cut[1] >> i & 1)
				done[r->lanes.k ? i / 8 : (i + 1) * r->size - 1] &=
					r->lanes.k ? (uint8_t) ~(1u << (i & 7)) : 0x7f;
		mask = done;
	}
	n = x86_lanes(r, value(st, rec, r->base), rec + 4 + X86_VAL_AT(r->index), mask, at);
	for (unsigned i = 0; i < n; i++)
		t->ev[t->nev++] = (struct pm_event){ .kind = r->kind,
						     .flags = r->flags,
						     .size = r->size,
						     .id = r->insn,
						     .addr = (at[i] + seg) & st->layout.mask };
}

static void tile(struct tracer *t, struct stream *st, const struct x86_ref *r, const uint8_t *rec,
		 const uint64_t *cut)
{
	uint64_t at[X86_TILE_ROWS], seg = value(st, rec, r->segment);
	unsigned first, n;
	uint16_t size;

	n = x86_tile(r, value(st, rec, r->base), value(st, rec, r->index),
		     rec + 4 + X86_VAL_AT(r->after), at, &first, &size);
	for (unsigned i = 0; i < n && !(cut && cut[1] >> (first + i) & 1); i++)
		t->ev[t->nev++] = (struct pm_event){ .kind = r->kind,
						     .flags = r->flags,
						     .size = size,
						     .id = r->insn,
						     .addr = (at[i] + seg) & st->layout.mask };
}

static uint64_t address(const struct stream *st, const uint8_t *rec, const struct x86_ref *r)
{
	uint64_t a = (uint64_t)r->disp + value(st, rec, r->base);

	if (r->how == X86_REF_XLAT)
		a += (uint8_t)(value(st, rec, r->index) + r->after);
	else if (r->index != X86_VAL_NONE)
		a += value(st, rec, r->index) * r->scale;
	if (r->how == X86_REF_SUM32 || (r->how == X86_REF_XSAVE && r->lanes.a32) ||
	     (r->how == X86_REF_XLAT && r->scale == 4))
		a = (uint32_t)a;
	else if (r->how == X86_REF_SUM16 || (r->how == X86_REF_XLAT && r->scale == 2))
		a = (uint16_t)a;
	if (r->how == X86_REF_BITS) {
		int64_t bit = (int64_t)value(st, rec, r->after);

		if (r->size == 2)
			bit = (int16_t)bit;
		else if (r->size == 4)
			bit = (int32_t)bit;
		a += (uint64_t)((bit >> (r->size == 2 ? 4 : r->size == 4 ? 5 : 6)) * r->size);
	}
	return a + value(st, rec, r->segment);
}

static uint16_t size_of(const struct stream *st, const uint8_t *rec, const struct x86_ref *r)
{
	return r->how == X86_REF_XSAVE ? x86_xsave_size(r, value(st, rec, r->after)) : r->size;
}

/* @n instructions of a block; @cut: what an RT_N_CUT says of it, or NULL. If the next instruction
 * has not recorded what it has to, the last one has not recorded where it ended, either: that is in
 * the note. */
static void references(struct tracer *t, struct stream *st, const struct expander_part *c,
		       const uint8_t *rec, uint32_t n, const uint64_t *cut)
{
	const bool begun = cut && cut[0] >> 32;

	for (uint32_t i = 0; i < c->nref; i++) {
		const struct x86_ref *r = &c->ref[i];

		if (r->insn >= n && !(begun && r->insn == n && x86_ref_goes_on(r)))
			break;
		if (r->how == X86_REF_REP)
			rep(t, st, c, r, rec,
			    r->insn == n || (cut && !begun && r->insn + 1u == n) ? cut : NULL,
			    r->insn < n);
		else if (r->how == X86_REF_VSIB)
			vsib(t, st, r, rec, r->insn == n ? cut : NULL);
		else if (r->how == X86_REF_TILE)
			tile(t, st, r, rec, r->insn == n ? cut : NULL);
		else
			t->ev[t->nev++] =
				(struct pm_event){ .kind = r->kind,
						   .flags = r->flags,
						   .size = size_of(st, rec, r),
						   .id = r->insn,
						   .addr = address(st, rec, r) & st->layout.mask };
	}
}

static size_t text_of(struct tracer *t, const uint8_t *p, size_t n)
{
	size_t at = t->text.n;

	pm_buf_add(&t->text, p, n);
	pm_buf_add(&t->text, "", 1);
	return at;
}

static struct pm_event *rare(struct tracer *t, enum pm_kind kind, const uint64_t *arg,
			     uint32_t narg, const uint8_t *text, size_t ntext)
{
	struct pm_event *ev = &t->ev[t->nev++];
	struct pm_rare *r;

	pm_grow(t->rare, t->nrare, t->cap_rare);
	r = &t->rare[t->nrare];
	*r = (struct pm_rare){ .nargs = narg };
	memcpy(r->arg, arg, narg * sizeof *arg);
	if (ntext)
		r->name = (const char *)(text_of(t, text, ntext) + 1);	/* a pointer when flushed */
	*ev = (struct pm_event){ .kind = kind, .id = (uint32_t)t->nrare++ };
	return ev;
}

/* An instruction that the decoder does not know has been executed: a block of its own. Its length
 * is known if it does not jump. */
static void unknown(struct tracer *t, struct stream *st, uint64_t next)
{
	const uint64_t pc = st->unknown_arg[0];
	const uint8_t len = next - pc <= X86_MAX_LEN && next > pc ? (uint8_t)(next - pc) : 1;
	const uint8_t *bytes = (const uint8_t *)&st->unknown_arg[1];
	uint32_t i = (uint32_t)t->code.nblock;

	for (size_t k = 0; k < t->nunknown; k++) {
		const struct pm_insn *in = &t->insn[t->block[t->unknown[k]].insn];

		if (in->pc == pc && in->len == len && !memcmp(in->bytes, bytes, len))
			i = t->unknown[k];
	}
	if (i == t->code.nblock) {
		if (i == MAX_BLOCKS || t->code.ninsn == MAX_INSNS || t->nunknown == MAX_UNKNOWN) {
			trace_fail(t, "more instructions than there can be");
			return;
		}
		t->insn[t->code.ninsn] =
			(struct pm_insn){ .pc = pc,
					  .len = len,
					  .object = PM_NONE,
					  .isa = st->unknown_arg[3] ? PM_ISA_X86_32
								    : PM_ISA_X86_64 };
		memcpy(t->insn[t->code.ninsn].bytes, bytes, len);
		t->block[i] = (struct pm_block){ pc, (uint32_t)t->code.ninsn++, 1 };
		t->code.nblock++;
		pm_grow(t->unknown, t->nunknown, t->cap_unknown);
		t->unknown[t->nunknown++] = i;
	}
	t->ev[t->nev++] = (struct pm_event){ .kind = PM_EV_BLOCK, .id = i, .addr = pc, .value = 1 };
	st->unsent++;
}

void note(struct tracer *t, struct stream *st, uint32_t type, const uint8_t *p, uint32_t size)
{
	static const uint8_t nargs[] = {
		[RT_N_STATE] = 3,   [RT_N_CUT] = 3,	  [RT_N_SYSCALL] = 7, [RT_N_SYSRET] = 1,
		[RT_N_SIGNAL] = 3,  [RT_N_SIGRETURN] = 1, [RT_N_MMAP] = 4,    [RT_N_MUNMAP] = 2,
		[RT_N_PROCESS] = 2, [RT_N_EXEC] = 1,	  [RT_N_THREAD] = 1,  [RT_N_EXIT] = 2,
		[RT_N_UNKNOWN] = 4, [RT_N_COUNTED] = 1,	  [RT_N_STEPPED] = 1,
	};
	uint64_t a[8] = { 0 };
	struct pm_event *ev;
	const uint8_t *text;
	uint32_t ntext;

	if (type == RT_N_SKIP) {
		t->nbytes -= size;
		return;
	}
	if (type >= NR(nargs) || !nargs[type] || size < 8u * nargs[type] ||
	    (type == RT_N_COUNTED && !t->o.spaces->counts)) {
		trace_fail(t, "an unknown note");
		return;
	}
	memcpy(a, p, 8 * nargs[type]);
	text = p + 8 * nargs[type];
	ntext = (uint32_t)strnlen((const char *)text, size - 8 * nargs[type]);
	if (t->nev + 2 > BATCH)
		trace_flush(t, st);
	switch (type) {
	case RT_N_STATE:
		st->known[KNOWN_RSP] = a[0];
		st->known[KNOWN_FS] = a[1];
		st->known[KNOWN_GS] = a[2];
		break;
	case RT_N_UNKNOWN:
		memcpy(st->unknown_arg, a, sizeof st->unknown_arg);
		break;
	case RT_N_COUNTED:
		t->idle -= a[0] < t->idle ? a[0] : t->idle;
		st->unsent += a[0];
		t->ev[t->nev++] =
			(struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = a[0] };
		break;
	case RT_N_STEPPED:
		if (st->unknown)
			unknown(t, st, a[0]);
		break;
	case RT_N_CUT:			/* without its block: it did not begin here */
		break;
	case RT_N_SYSCALL:
		ev = rare(t, PM_EV_SYSCALL, a + 1, 6, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_SYSRET:
		ev = rare(t, PM_EV_SYSRET, a, 0, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_SIGNAL:
		ev = rare(t, PM_EV_SIGNAL, a + 2, 1, NULL, 0);
		ev->value = a[0];
		ev->addr = a[1];
		break;
	case RT_N_SIGRETURN:
		ev = rare(t, PM_EV_SIGRETURN, a, 0, NULL, 0);
		ev->addr = a[0];
		break;
	case RT_N_MMAP:
		ev = rare(t, PM_EV_MMAP, a + 2, 2, text, ntext);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_MUNMAP:
		ev = rare(t, PM_EV_MUNMAP, a, 0, NULL, 0);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_PROCESS:
		ev = rare(t, PM_EV_PROCESS, a + 1, 1, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_EXEC:
		ev = rare(t, PM_EV_EXEC, a, 0, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_THREAD:
		ev = rare(t, PM_EV_THREAD, a, 0, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_EXIT:
		ev = rare(t, PM_EV_EXIT, a, 0, NULL, 0);
		ev->value = a[0];
		ev->flags = (uint8_t)a[1];
		break;
	}
	st->unknown = type == RT_N_UNKNOWN;
}

/* One block, of whose instructions @n were executed. */
static void block(struct tracer *t, struct stream *st, const struct expander_part *b,
		  const uint8_t *rec, uint32_t n, const uint64_t *cut)
{
	if (t->nev > BATCH - 1024)
		trace_flush(t, st);
	t->ev[t->nev++] =
		(struct pm_event){ .kind = PM_EV_BLOCK, .id = b->block, .addr = b->pc, .value = n };
	st->unsent += n;
	references(t, st, b, rec, n, cut);
}

/* A record that is not expanded (or packed) like that, or of which a note says that it was cut
 * short. Returns how long it was, with such a note; 0: the trace has failed. */
size_t expand_record(struct tracer *t, struct stream *st, uint32_t number, const uint8_t *p,
		     size_t left)
{
	struct compiled *c = &t->compiled[number];
	const uint8_t *rec = t->record, *const from[2] = { rec, (const uint8_t *)st->known };
	const struct expander_part *last;
	uint64_t cut[3];
	uint32_t next, n;

	if (t->source[number].wide != st->layout.wide || (!c->part && !compile(t, number))) {
		trace_fail(t, "a block that cannot be read");
		return 0;
	}
	if (c->record > left) {
		trace_fail(t, "a block that is cut off");
		return 0;
	}
	if (t->expander && !t->packs && !c->expands && !t->idle &&
	    !(t->dropped && t->dropped[number].how == PM_DROP_ALWAYS)) {
		t->expansion[number].run =
			expander_compile(t->expander, EXPAND_EVENTS, c->part, c->npart, c->plan_rsp,
					 c->rsp_add, st->layout.wide);
		c->expands = true;
	}
	/* its values are read in several places, and may change meanwhile */
	if (left > c->record + 28u)
		left = c->record + 28u;
	memcpy(t->record, p, left);
	memset(t->record + left, 0, 8);
	last = &c->part[c->npart - 1];
	for (const struct expander_part *b = c->part; b < last; b++)
		block(t, st, b, rec, b->n, NULL);
	memcpy(&next, rec + c->record, 4);
	if (next != RT_NOTE(RT_N_CUT, 24) || left < c->record + 28u) {
		block(t, st, last, rec, last->n, NULL);
		st->known[KNOWN_RSP] = at_place(from, c->rsp) + (uint64_t)c->rsp_add;
		return c->record;
	}
	memcpy(cut, rec + c->record + 4, sizeof cut);
	n = (uint32_t)cut[0] < last->n ? (uint32_t)cut[0] : last->n;
	/* of the first instruction nothing has happened unless it can go part of its way */
	if (n || (last->nref && !last->ref->insn && x86_ref_goes_on(last->ref)))
		block(t, st, last, rec, n, cut);
	return c->record + 28;
}
