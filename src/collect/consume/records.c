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
static void rep(struct consumer *w, struct stream *st, const struct expander_part *c,
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
	const uint64_t pc = w->insn[w->block[c->block].insn + r->insn].pc;
	static const uint8_t kinds[][2] = {
		[X86_REP_MOVS] = { PM_EV_READ, PM_EV_WRITE },
		[X86_REP_CMPS] = { PM_EV_READ, PM_EV_READ },
		[X86_REP_STOS] = { 0, PM_EV_WRITE },
		[X86_REP_LODS] = { PM_EV_READ, 0 },
		[X86_REP_SCAS] = { 0, PM_EV_READ },
	};

	if (far % r->size || times > MOST_TIMES) {
		trace_fail(w, "an endless string instruction");
		return;
	}
	if (down)
		step = -step;
	for (uint64_t k = 0; k < times && !w->failed; k++) {
		struct pm_event *ev;

		if (w->nev + 3 > BATCH) {
			trace_flush(w, st);
			stop_early(w);
		}
		ev = &w->ev[w->nev];
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
		w->nev = (size_t)(ev - w->ev);
		src = (src + step) & mask;
		dst = (dst + step) & mask;
	}
	if (done)
		w->ev[w->nev++] = (struct pm_event){
			.kind = PM_EV_REP_END, .id = r->insn, .addr = pc, .value = times
		};
}

/* @cut: the instruction has come as far as an RT_N_CUT says. */
static void vsib(struct consumer *w, struct stream *st, const struct x86_ref *r, const uint8_t *rec,
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
		w->ev[w->nev++] = (struct pm_event){ .kind = r->kind,
						     .flags = r->flags,
						     .size = r->size,
						     .id = r->insn,
						     .addr = (at[i] + seg) & st->layout.mask };
}

static void tile(struct consumer *w, struct stream *st, const struct x86_ref *r, const uint8_t *rec,
		 const uint64_t *cut)
{
	uint64_t at[X86_TILE_ROWS], seg = value(st, rec, r->segment);
	unsigned first, n;
	uint16_t size;

	n = x86_tile(r, value(st, rec, r->base), value(st, rec, r->index),
		     rec + 4 + X86_VAL_AT(r->after), at, &first, &size);
	for (unsigned i = 0; i < n && !(cut && cut[1] >> (first + i) & 1); i++)
		w->ev[w->nev++] = (struct pm_event){ .kind = r->kind,
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
static void references(struct consumer *w, struct stream *st, const struct expander_part *c,
		       const uint8_t *rec, uint32_t n, const uint64_t *cut)
{
	const bool begun = cut && cut[0] >> 32;

	for (uint32_t i = 0; i < c->nref; i++) {
		const struct x86_ref *r = &c->ref[i];

		if (r->insn >= n && !(begun && r->insn == n && x86_ref_goes_on(r)))
			break;
		if (r->how == X86_REF_REP)
			rep(w, st, c, r, rec,
			    r->insn == n || (cut && !begun && r->insn + 1u == n) ? cut : NULL,
			    r->insn < n);
		else if (r->how == X86_REF_VSIB)
			vsib(w, st, r, rec, r->insn == n ? cut : NULL);
		else if (r->how == X86_REF_TILE)
			tile(w, st, r, rec, r->insn == n ? cut : NULL);
		else
			w->ev[w->nev++] =
				(struct pm_event){ .kind = r->kind,
						   .flags = r->flags,
						   .size = size_of(st, rec, r),
						   .id = r->insn,
						   .addr = address(st, rec, r) & st->layout.mask };
	}
}

static size_t text_of(struct consumer *w, const uint8_t *p, size_t n)
{
	size_t at = w->text.n;

	pm_buf_add(&w->text, p, n);
	pm_buf_add(&w->text, "", 1);
	return at;
}

static struct pm_event *rare(struct consumer *w, enum pm_kind kind, const uint64_t *arg,
			     uint32_t narg, const uint8_t *text, size_t ntext)
{
	struct pm_event *ev = &w->ev[w->nev++];
	struct pm_rare *r;

	pm_grow(w->rare, w->nrare, w->cap_rare);
	r = &w->rare[w->nrare];
	*r = (struct pm_rare){ .nargs = narg };
	memcpy(r->arg, arg, narg * sizeof *arg);
	if (ntext)
		r->name = (const char *)(text_of(w, text, ntext) + 1);	/* a pointer when flushed */
	*ev = (struct pm_event){ .kind = kind, .id = (uint32_t)w->nrare++ };
	return ev;
}

/* An instruction that the decoder does not know has been executed: a block of its own. Its length
 * is known if it does not jump. */
static void unknown(struct consumer *w, struct stream *st, uint64_t next)
{
	const uint64_t pc = st->unknown_arg[0];
	const uint8_t len = next - pc <= X86_MAX_LEN && next > pc ? (uint8_t)(next - pc) : 1;
	const uint8_t *bytes = (const uint8_t *)&st->unknown_arg[1];
	uint32_t i = (uint32_t)w->code.nblock;

	for (size_t k = 0; k < w->nunknown; k++) {
		const struct pm_insn *in = &w->insn[w->block[w->unknown[k]].insn];

		if (in->pc == pc && in->len == len && !memcmp(in->bytes, bytes, len))
			i = w->unknown[k];
	}
	if (i == w->code.nblock) {
		if (i == MAX_BLOCKS || w->code.ninsn == MAX_INSNS || w->nunknown == MAX_UNKNOWN) {
			trace_fail(w, "more instructions than there can be");
			return;
		}
		w->insn[w->code.ninsn] =
			(struct pm_insn){ .pc = pc,
					  .len = len,
					  .object = PM_NONE,
					  .isa = st->unknown_arg[3] ? PM_ISA_X86_32
								    : PM_ISA_X86_64 };
		memcpy(w->insn[w->code.ninsn].bytes, bytes, len);
		w->block[i] = (struct pm_block){ pc, (uint32_t)w->code.ninsn++, 1 };
		w->code.nblock++;
		pm_grow(w->unknown, w->nunknown, w->cap_unknown);
		w->unknown[w->nunknown++] = i;
	}
	w->ev[w->nev++] = (struct pm_event){ .kind = PM_EV_BLOCK, .id = i, .addr = pc, .value = 1 };
	st->unsent++;
}

void note(struct consumer *w, struct stream *st, uint32_t type, const uint8_t *p, uint32_t size)
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
		w->nbytes -= size;
		return;
	}
	if (type >= NR(nargs) || !nargs[type] || size < 8u * nargs[type] ||
	    (type == RT_N_COUNTED && !w->trace->o.spaces->counts)) {
		trace_fail(w, "an unknown note");
		return;
	}
	memcpy(a, p, 8 * nargs[type]);
	text = p + 8 * nargs[type];
	ntext = (uint32_t)strnlen((const char *)text, size - 8 * nargs[type]);
	if (w->nev + 2 > BATCH)
		trace_flush(w, st);
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
		w->idle -= a[0] < w->idle ? a[0] : w->idle;
		st->unsent += a[0];
		w->ev[w->nev++] =
			(struct pm_event){ .kind = PM_EV_LOST, .id = PM_NONE, .value = a[0] };
		break;
	case RT_N_STEPPED:
		if (st->unknown)
			unknown(w, st, a[0]);
		break;
	case RT_N_CUT:			/* without its block: it did not begin here */
		break;
	case RT_N_SYSCALL:
		ev = rare(w, PM_EV_SYSCALL, a + 1, 6, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_SYSRET:
		ev = rare(w, PM_EV_SYSRET, a, 0, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_SIGNAL:
		ev = rare(w, PM_EV_SIGNAL, a + 2, 1, NULL, 0);
		ev->value = a[0];
		ev->addr = a[1];
		break;
	case RT_N_SIGRETURN:
		ev = rare(w, PM_EV_SIGRETURN, a, 0, NULL, 0);
		ev->addr = a[0];
		break;
	case RT_N_MMAP:
		ev = rare(w, PM_EV_MMAP, a + 2, 2, text, ntext);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_MUNMAP:
		ev = rare(w, PM_EV_MUNMAP, a, 0, NULL, 0);
		ev->addr = a[0];
		ev->value = a[1];
		break;
	case RT_N_PROCESS:
		ev = rare(w, PM_EV_PROCESS, a + 1, 1, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_EXEC:
		ev = rare(w, PM_EV_EXEC, a, 0, text, ntext);
		ev->value = a[0];
		break;
	case RT_N_THREAD:
		ev = rare(w, PM_EV_THREAD, a, 0, NULL, 0);
		ev->value = a[0];
		break;
	case RT_N_EXIT:
		ev = rare(w, PM_EV_EXIT, a, 0, NULL, 0);
		ev->value = a[0];
		ev->flags = (uint8_t)a[1];
		break;
	}
	st->unknown = type == RT_N_UNKNOWN;
}

/* One block, of whose instructions @n were executed. */
static void block(struct consumer *w, struct stream *st, const struct expander_part *b,
		  const uint8_t *rec, uint32_t n, const uint64_t *cut)
{
	if (w->nev > BATCH - 1024)
		trace_flush(w, st);
	w->ev[w->nev++] =
		(struct pm_event){ .kind = PM_EV_BLOCK, .id = b->block, .addr = b->pc, .value = n };
	st->unsent += n;
	references(w, st, b, rec, n, cut);
	PM_INVARIANT(3, w->nev <= BATCH_ROOM);
}

/* A record that is not expanded (or packed) like that, or of which a note says that it was cut
 * short. Returns how long it was, with such a note; 0: the trace has failed. */
size_t expand_record(struct consumer *w, struct stream *st, uint32_t number, const uint8_t *p,
		     size_t left)
{
	struct compiled *c = &w->compiled[number];
	const uint8_t *rec = w->record, *const from[2] = { rec, (const uint8_t *)st->known };
	const struct expander_part *last;
	uint64_t cut[3];
	uint32_t next, n;

	PM_INVARIANT(1, number && number < __atomic_load_n(&w->trace->nsource, __ATOMIC_ACQUIRE));
	if (w->source[number].wide != st->layout.wide || (!c->part && !compile(w, number))) {
		trace_fail(w, "a block that cannot be read");
		return 0;
	}
	if (c->record > left) {
		trace_fail(w, "a block that is cut off");
		return 0;
	}
	if (w->expander && !w->packs && !c->expands && !w->idle && !w->unwanted &&
	    !(w->trace->feed.drop && w->dropped[number].how == PM_DROP_ALWAYS)) {
		w->expansion[number].run =
			expander_compile(w->expander, EXPAND_EVENTS, c->part, c->npart, c->plan_rsp,
					 c->rsp_add, st->layout.wide);
		c->expands = true;
	}
	/* its values are read in several places, and may change meanwhile */
	if (left > c->record + 28u)
		left = c->record + 28u;
	memcpy(w->record, p, left);
	memset(w->record + left, 0, 8);
	last = &c->part[c->npart - 1];
	for (const struct expander_part *b = c->part; b < last; b++)
		block(w, st, b, rec, b->n, NULL);
	memcpy(&next, rec + c->record, 4);
	if (next != RT_NOTE(RT_N_CUT, 24) || left < c->record + 28u) {
		block(w, st, last, rec, last->n, NULL);
		st->known[KNOWN_RSP] = at_place(from, c->rsp) + (uint64_t)c->rsp_add;
		return c->record;
	}
	memcpy(cut, rec + c->record + 4, sizeof cut);
	n = (uint32_t)cut[0] < last->n ? (uint32_t)cut[0] : last->n;
	/* of the first instruction nothing has happened unless it can go part of its way */
	if (n || (last->nref && !last->ref->insn && x86_ref_goes_on(last->ref)))
		block(w, st, last, rec, n, cut);
	return c->record + 28;
}
