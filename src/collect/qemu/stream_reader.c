/* SPDX-License-Identifier: MIT */
#include "collect/qemu/stream_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/qemu/stream.h"
#include "collect/qemu/stream_packer.h"
#include "isa/x86/decode.h"
#include "trace/expand.h"

#define MAX_BATCH	(1u << 20)	/* events; of blocks only those with rep have so many */
#define MOST_REP	1024u		/* references of a rep instruction at a time */
#define NMI		2
#define PAGE		4096u
#define KERNEL_EVENTS	64u		/* of a batch, at most */
#define NAME		256u
/* A PC of QEMU's: SeaBIOS puts the register that turns power off there (ACPI's PM1a_CNT). */
#define POWER_PORT	0x604u
#define POWER_OFF	(1u << 13)	/* SLP_EN */
#define PUSHED		SIZE_MAX	/* open_at: it has gone to the pipeline, as whole */

/* What the trace says of a page. */
struct said_frame {
	uint64_t space, page, frame;
};

struct qs_reader {
	struct pm_pipeline *p;
	struct x86_decoder *decoder[2];	/* enum x86_mode */
	struct pm_stream stream;
	struct pm_code code;
	struct qemu_block *block;		/* by number, as in the code table */
	struct pm_insn *insn;			/* these three never move */
	struct pm_block *code_block;

	struct pm_event *ev;
	size_t nev, cap_ev;
	/* Batches are packed; NULL: not so. Then no event is put in front of others. */
	struct stream_packer *packer;
	bool begun;

	struct guest_bus *bus;		/* NULL: it is not wanted, and so is none of these */
	uint64_t *where;		/* physical address of each of ev[] that is a reference */
	size_t cap_where;
	struct guest_note *note;
	size_t nnote, cap_note;
	/* as the plug-in has them; NULL: neither the bus nor frames are wanted */
	struct { uint64_t virtual, physical; } *page;
	uint64_t space;			/* that runs */
	struct said_frame *said;	/* QS_PAGES, as `page`; NULL: frames are not wanted */

	size_t open_at;			/* ev[]: the event of `open` */
	const struct qemu_block *open;	/* of whose end nothing is known yet; NULL: none */
	uint32_t base;			/* what to add to slots: a rep instruction goes on */
	uint32_t allowed;		/* so many of its instructions are within the limit */
	uint32_t again;			/* one more than the slot that was executed by itself; 0 */
	uint64_t iter_refs;		/* of the rep instruction */
	uint64_t pushed;		/* instructions in batches before this one */
	uint64_t packed;		/* likewise, and those of `open` that went with them */
	uint64_t limit;
	bool until_off, off;
	uint64_t words;			/* before this buffer */
	struct qs_totals t;

	struct guest_events *kernel;	/* NULL: they are not wanted */
	struct pm_kernel_file *file;
	struct pm_rare rare[KERNEL_EVENTS];
	char (*name)[NAME];
	uint32_t nrare;
	uint64_t time;			/* said last */
	bool every_time;		/* time is wanted at each block */
	enum pm_status st;		/* of what an event had to push */
	struct pm_err *err;		/* where it goes */
};

static void *table(size_t n, size_t elem)
{
	void *p = pm_reserve(n * elem);

	if (!p)
		pm_out_of_memory(n * elem);
	return p;
}

struct qs_reader *qs_reader_new(struct pm_pipeline *p, uint64_t limit)
{
	struct qs_reader *r = pm_alloc(sizeof *r);

	r->p = p;
	r->limit = limit ? limit : UINT64_MAX;
	r->stream.name = "cpu0";
	r->block = table(QS_MAX_BLOCKS, sizeof *r->block);
	r->insn = table(QS_MAX_INSN, sizeof *r->insn);
	r->code_block = table(QS_MAX_BLOCKS, sizeof *r->code_block);
	r->decoder[X86_MODE_64] = x86_decoder_new(X86_MODE_64);
	r->decoder[X86_MODE_32] = x86_decoder_new(X86_MODE_32);
	return r;
}

void qs_reader_free(struct qs_reader *r)
{
	if (!r)
		return;
	x86_decoder_free(r->decoder[0]);
	x86_decoder_free(r->decoder[1]);
	pm_unreserve(r->block, QS_MAX_BLOCKS * sizeof *r->block);
	pm_unreserve(r->insn, QS_MAX_INSN * sizeof *r->insn);
	pm_unreserve(r->code_block, QS_MAX_BLOCKS * sizeof *r->code_block);
	stream_packer_free(r->packer);
	free(r->ev);
	free(r->where);
	free(r->note);
	free(r->page);
	free(r->said);
	free(r->name);
	free(r);
}

const struct qs_totals *qs_reader_totals(const struct qs_reader *r)
{
	return &r->t;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void add_insn(struct qs_reader *r, uint64_t pc, const uint8_t *bytes, uint8_t len, bool wide,
		     struct x86_insn *x)
{
	struct pm_insn *in;

	in = r->insn + r->code.ninsn++;
	*in = (struct pm_insn){
		.pc = pc, .len = len, .isa = wide ? PM_ISA_X86_64 : PM_ISA_X86_32,
		.object = PM_NONE,
	};
	memcpy(in->bytes, bytes, len);
	if (!x86_decode(r->decoder[wide ? X86_MODE_64 : X86_MODE_32], in->bytes, len, x) ||
	    x->len != len) {
		*x = (struct x86_insn){ .kind = X86_UNKNOWN };
		return;
	}
	in->flow = x->class;
	in->nref = x->nref;
	in->rep = !!(x->prop & X86_REP);
}

static void find_end(struct qs_reader *r, struct qemu_block *b, const struct x86_insn *x)
{
	const struct pm_insn *last = r->insn + b->first + b->n - 1;

	b->last = last->pc;
	b->fall = b->target = pm_insn_next(last);
	b->rep = last->rep;
	b->per_iter = last->nref ? last->nref : 1;
	switch (x->kind) {
	case X86_JMP: case X86_CALL:
		pm_insn_target(last, &b->target);
		b->fall = b->target;
		break;
	case X86_JCC: case X86_JCX:
		pm_insn_target(last, &b->target);
		break;
	case X86_PLAIN:
		break;
	default:
		b->anywhere = true;
	}
}

/* @w: behind the record's first word, @n of them. False: they make no sense. */
static bool define(struct qs_reader *r, uint32_t number, const uint64_t *w, size_t n)
{
	uint32_t insns, left;
	struct x86_insn x = { 0 };
	const uint8_t *len, *p;
	struct pm_block *cb;
	struct qemu_block *b;
	uint64_t pc;

	if (n < 4 || number != r->code.nblock || number >= QS_MAX_BLOCKS)
		return false;
	insns = w[1] & 0xffff;
	if (!insns || insns > QS_MAX_INSNS || w[1] >> 17 || n < 4 + (insns + 7) / 8 ||
	    r->code.ninsn + insns > QS_MAX_INSN)
		return false;
	len = (const uint8_t *)(w + 4);
	p = (const uint8_t *)(w + 4 + (insns + 7) / 8);
	left = (uint32_t)(n - 4 - (insns + 7) / 8) * 8;
	for (uint32_t i = 0, all = 0; i < insns; i++) {
		all += len[i];
		if (!len[i] || len[i] > QS_MAX_LEN || all > left)
			return false;
	}
	b = r->block + number;
	*b = (struct qemu_block){ .pc = w[0], .n = insns, .first = (uint32_t)r->code.ninsn,
				  .chain = PM_NONE, .physical = w[2], .rest = w[3] };
	pc = w[0];
	for (uint32_t i = 0; i < insns; i++) {
		add_insn(r, pc, p, len[i], w[1] >> 16, &x);
		p += len[i];
		pc += len[i];
	}
	b->bytes = (uint32_t)(pc - b->pc);
	find_end(r, b, &x);
	cb = r->code_block + r->code.nblock++;
	*cb = (struct pm_block){ .pc = b->pc, .insn = b->first, .n = insns };
	if (r->bus)
		guest_bus_block(r->bus, w[2], w[3], r->insn + b->first, insns);
	return true;
}

/* Which of its instructions is at @pc; b->n: none. */
static uint32_t slot_at(const struct qs_reader *r, const struct qemu_block *b, uint64_t pc)
{
	uint32_t i = 0;

	while (i < b->n && r->insn[b->first + i].pc != pc)
		i++;
	return i;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The form in which the pipeline wants batches. What is on the bus, where pages are and the time of
 * each block stand between the events. */
static enum pm_status begin(struct qs_reader *r, struct pm_err *err)
{
	struct pm_feed feed;

	r->begun = true;
	if (r->bus || r->said || r->every_time)
		return PM_OK;
	feed = pm_pipeline_feed(r->p, 1);
	if (!feed.packed)
		return PM_OK;
	r->packer = stream_packer_new(feed.addresses);
	if (!r->packer)
		return pm_fail_errno(err, "no address space for the trace's tables");
	return PM_OK;
}

static enum pm_status push_packed(struct qs_reader *r, struct pm_batch *b, struct pm_err *err)
{
	const uint64_t insns = r->t.instructions + (r->open ? r->open->n : 0);
	struct pm_packed k;

	stream_packer_place(r->packer, b->n);
	k = stream_packer_batch(r->packer, insns - r->packed);
	b->first_insn = r->packed;
	r->packed = insns;
	return pm_pipeline_push_packed(r->p, b, &k, err);
}

static enum pm_status push(struct qs_reader *r, struct pm_err *err)
{
	struct pm_batch b = {
		.stream = &r->stream, .code = &r->code, .ev = r->ev, .n = r->nev,
		.first_insn = r->pushed, .rare = r->rare, .nrare = r->nrare,
	};

	if (!r->nev && (!r->packer || !r->packer->nid))
		return PM_OK;
	if (r->bus && guest_bus_events(r->bus, r->ev, r->nev, r->where, r->note, r->nnote,
				       err) != PM_OK)
		return PM_ERR;
	r->code.insn = r->insn;
	r->code.block = r->code_block;
	r->nev = r->nrare = 0;
	r->nnote = 0;
	r->open_at = PUSHED;
	r->pushed = r->t.instructions;
	return r->packer ? push_packed(r, &b, err) : pm_pipeline_push(r->p, &b, err);
}

static inline struct pm_event *add(struct qs_reader *r, enum pm_kind kind)
{
	struct pm_event *ev;

	pm_grow(r->ev, r->nev, r->cap_ev);
	if (__builtin_expect(r->bus != NULL, 0)) {
		pm_grow(r->where, r->nev, r->cap_where);
		r->where[r->nev] = 0;
	}
	ev = r->ev + r->nev++;
	*ev = (struct pm_event){ .kind = (uint8_t)kind, .id = PM_NONE };
	return ev;
}

/* An event in front of the open block's, which is not complete. */
static struct pm_event *add_before(struct qs_reader *r, enum pm_kind kind)
{
	const size_t at = r->open_at;
	struct pm_event *ev = add(r, kind), last = *ev;

	if (!r->open || at == PUSHED)
		return ev;
	memmove(r->ev + at + 1, r->ev + at, (r->nev - 1 - at) * sizeof *r->ev);
	if (r->bus) {
		memmove(r->where + at + 1, r->where + at, (r->nev - 1 - at) * sizeof *r->where);
		r->where[at] = 0;
	}
	for (size_t i = r->nnote; i-- && r->note[i].at > at; )
		r->note[i].at++;
	r->open_at++;
	r->ev[at] = last;
	return &r->ev[at];
}

/* Page number @page is in frame @frame, or nobody knows. */
static void say_frame(struct qs_reader *r, uint64_t page, uint64_t frame)
{
	const struct said_frame now = { r->space, page, frame };
	struct said_frame *s = &r->said[page % QS_PAGES];
	struct pm_event *ev;

	if (frame == QS_NOWHERE || !memcmp(s, &now, sizeof now))
		return;
	*s = now;
	ev = add_before(r, PM_EV_FRAME);
	ev->addr = page * PAGE;
	ev->size = PAGE;
	ev->value = frame;
}

static void say_code(struct qs_reader *r, const struct qemu_block *b)
{
	const uint64_t page = b->pc / PAGE;

	if (b->physical != QS_NOWHERE)
		say_frame(r, page, b->physical / PAGE);
	if (b->rest != QS_NOWHERE && (b->pc + b->bytes - 1) / PAGE != page)
		say_frame(r, page + 1, b->rest / PAGE);
}

/* Of a reference; the plug-in has just said where these pages are. */
static void say_data(struct qs_reader *r, uint64_t addr, unsigned size)
{
	const unsigned pages = addr % PAGE + size > PAGE ? 2 : 1;

	for (uint64_t p = addr / PAGE; p < addr / PAGE + pages; p++)
		if (r->page[p % QS_PAGES].virtual == p)
			say_frame(r, p, r->page[p % QS_PAGES].physical);
}

static void add_note(struct qs_reader *r, enum guest_note_kind kind, uint32_t slot, uint64_t value)
{
	pm_grow(r->note, r->nnote, r->cap_note);
	r->note[r->nnote++] = (struct guest_note){
		.at = r->nev, .slot = slot, .kind = (uint8_t)kind, .value = value,
	};
}

/* What instructions from number @n on of the open block were about to do did not happen. */
static void drop_notes(struct qs_reader *r, uint32_t n)
{
	while (r->nnote && r->note[r->nnote - 1].at > r->open_at &&
	       r->note[r->nnote - 1].slot >= n)
		r->nnote--;
}

/* So many instructions of the open block completed. HOT. False: the limit is reached. */
static inline bool close_block(struct qs_reader *r, uint32_t n)
{
	const struct qemu_block *b = r->open;

	if (__builtin_expect(n > r->allowed, 0))
		n = r->allowed;
	if (__builtin_expect(b->rep, 0) && n == b->n) {
		struct pm_event *ev = add(r, PM_EV_REP_END);

		ev->addr = b->last;
		ev->id = b->n - 1;
		ev->value = r->iter_refs / b->per_iter;
	}
	if (__builtin_expect(n != b->n, 0) && r->open_at == PUSHED) {
		n = b->n;
	} else if (__builtin_expect(n != b->n, 0)) {
		r->t.cut++;
		r->ev[r->open_at].value = n;
		drop_notes(r, n);
		if (!n && r->open_at + 1 == r->nev)
			r->nev--;	/* nothing of it happened */
	}
	if (r->packer && n == b->n && !r->again && r->open_at != PUSHED)
		stream_packer_learn(r->packer, r->block + (b - r->block), (uint32_t)(b - r->block),
				    r->ev + r->open_at + 1, r->nev - r->open_at - 1);
	r->t.instructions += n;
	r->open = NULL;
	return r->t.instructions < r->limit;
}

/* Control has left the open block for @next. */
static uint32_t completed(struct qs_reader *r, uint64_t next)
{
	const struct qemu_block *b = r->open;
	uint32_t k;

	if (r->again && r->again < b->n) {
		if (next != r->insn[b->first + r->again].pc)
			r->t.unexplained++;
		return r->again;			/* (3) */
	}
	if (next == b->fall || next == b->target || b->anywhere)
		return b->n;
	k = slot_at(r, b, next);
	if (k && k < b->n) {				/* (4) */
		r->t.attempts++;
		return k;
	}
	r->t.unexplained++;
	return b->n;
}

/* How much of the open block had completed when the interrupt @vector came, which goes back to
 * @pc. */
static uint32_t completed_before(struct qs_reader *r, uint32_t vector, uint64_t pc)
{
	const struct qemu_block *b = r->open;
	uint32_t k;

	if (r->again && r->again < b->n)
		return r->again;			/* (3) */
	if (vector >= 32 || vector == NMI) {		/* (2) */
		if (!b->rep || pc != b->last)
			return b->n;
		r->t.attempts++;
		return b->n - 1;
	}
	k = slot_at(r, b, pc);				/* (1) */
	r->t.attempts += k < b->n;
	return k;
}

static void put_time(struct qs_reader *r)
{
	if (r->time == r->t.instructions + 1)
		return;
	r->time = r->t.instructions + 1;	/* 0: none was said */
	add(r, PM_EV_TIME)->value = r->t.instructions;
}

/* What guest_events_read() finds goes to the trace and to the file. */
static void on_kernel_event(void *self, const struct pm_rare *e, uint8_t type)
{
	struct qs_reader *r = self;
	struct pm_event *ev;
	struct pm_rare *to;

	pm_kernel_file_add(r->file, r->t.instructions, e, type);
	if (r->nrare == KERNEL_EVENTS && r->st == PM_OK)
		r->st = push(r, r->err);
	if (r->st != PM_OK)
		return;
	put_time(r);
	to = &r->rare[r->nrare];
	*to = *e;
	to->name = r->name[r->nrare];
	snprintf(r->name[r->nrare], NAME, "%s", e->name ? e->name : "");
	ev = add(r, PM_EV_KERNEL);
	ev->flags = type;
	ev->id = r->nrare++;
}

void qs_reader_kernel(struct qs_reader *r, struct guest_events *g, struct pm_kernel_file *f,
		      bool every)
{
	r->kernel = g;
	r->file = f;
	r->every_time = every;
	r->name = pm_alloc(KERNEL_EVENTS * sizeof *r->name);
	guest_events_to(g, on_kernel_event, r);
}

static void want_pages(struct qs_reader *r)
{
	if (r->page)
		return;
	r->page = pm_alloc_unset(QS_PAGES * sizeof *r->page);
	memset(r->page, 0xff, QS_PAGES * sizeof *r->page);
}

void qs_reader_bus(struct qs_reader *r, struct guest_bus *g)
{
	r->bus = g;
	want_pages(r);
}

void qs_reader_frames(struct qs_reader *r)
{
	want_pages(r);
	r->said = pm_alloc_unset(QS_PAGES * sizeof *r->said);
	memset(r->said, 0xff, QS_PAGES * sizeof *r->said);
}

void qs_reader_until_off(struct qs_reader *r)
{
	r->until_off = true;
}

void qs_reader_stop(struct qs_reader *r)
{
	const uint64_t end = r->t.instructions + (r->open ? r->allowed : 1);

	if (end < r->limit)
		r->limit = end;
}

bool qs_reader_is_off(const struct qs_reader *r)
{
	return r->off;
}

/* A function is called, or returns, at the block that begins at w[0]. False: it makes no sense. */
static bool on_watched(struct qs_reader *r, uint32_t number, const uint64_t *w, size_t n,
		       enum pm_status *st, struct pm_err *err)
{
	if (!r->kernel || !n)
		return false;
	if (r->open && !close_block(r, completed(r, w[0]))) {
		*st = PM_END;
		return true;
	}
	r->st = PM_OK;
	r->err = err;
	if (!guest_events_read(r->kernel, number, w + 1, n - 1))
		return false;
	*st = r->st;
	return true;
}

/* HOT: the open block has led to @b. */
static inline bool close_before(struct qs_reader *r, const struct qemu_block *b)
{
	const bool led = b->pc == r->open->fall || b->pc == r->open->target;

	return close_block(r, __builtin_expect(led && !r->again, 1) ? r->open->n
								    : completed(r, b->pc));
}

/* HOT: a block begins. */
static inline enum pm_status on_block(struct qs_reader *r, uint32_t number, struct pm_err *err)
{
	const struct qemu_block *b = r->block + number;
	struct pm_event *ev;
	uint64_t left;

	if (r->open) {
		if (__builtin_expect(r->open->rep, 0) && b->pc == r->open->last && b->n == 1 &&
		    b->rep) {
			r->base = r->open->n - 1;
			r->t.goes++;
			return PM_OK;
		}
		if (!close_before(r, b))
			return PM_END;
	}
	if (r->nev >= PM_BATCH_EVENTS && push(r, err) != PM_OK)
		return PM_ERR;
	if (__builtin_expect(r->every_time, 0))
		put_time(r);
	r->open = b;
	r->open_at = r->nev;
	r->base = r->again = 0;
	r->iter_refs = 0;
	left = r->limit - r->t.instructions;
	r->allowed = b->n < left ? b->n : (uint32_t)left;
	ev = add(r, PM_EV_BLOCK);
	ev->id = number;
	ev->addr = b->pc;
	ev->value = b->n;
	if (__builtin_expect(r->said != NULL, 0))
		say_code(r, b);
	return PM_OK;
}

/* Where the last event, a reference, is. HOT if the bus is wanted. */
static void place(struct qs_reader *r, const struct pm_event *ev)
{
	const uint64_t page = ev->addr / PAGE, inside = ev->addr % PAGE;
	uint64_t *to = &r->where[r->nev - 1];

	*to = GUEST_NOWHERE;
	if (r->page[page % QS_PAGES].virtual == page)
		*to = r->page[page % QS_PAGES].physical * PAGE + inside;
	if (inside + ev->size > PAGE) {
		const uint64_t next = page + 1;

		add_note(r, GUEST_REST, ev->id,
			 r->page[next % QS_PAGES].virtual != next ||
			 r->page[next % QS_PAGES].physical == QS_NOWHERE ? GUEST_NOWHERE
			 : r->page[next % QS_PAGES].physical * PAGE);
		r->note[r->nnote - 1].at--;
	}
}

/* HOT: a reference. */
static inline __attribute__((always_inline))
enum pm_status on_ref(struct qs_reader *r, uint64_t word, uint64_t addr, uint32_t slot,
		      struct pm_err *err)
{
	const struct qemu_block *b = r->open;
	const bool write = word & QS_WRITE;
	uint8_t flags = word & QS_DEVICE ? PM_REF_UNCACHED : 0;
	struct pm_event *ev;

	if (__builtin_expect(slot >= r->allowed, 0))
		return PM_OK;
	/* what is held back until it is known how the block ends has to have an end */
	if (__builtin_expect(r->nev >= MAX_BATCH, 0) && push(r, err) != PM_OK)
		return PM_ERR;
	if (__builtin_expect(b->rep && slot == b->n - 1, 0)) {
		if (r->iter_refs++ % b->per_iter == 0) {
			ev = add(r, PM_EV_REP_ITER);
			ev->addr = b->last;
			ev->id = slot;
		}
		flags |= PM_REF_REP;
	}
	ev = add(r, write ? PM_EV_WRITE : PM_EV_READ);
	ev->flags = flags;
	ev->size = (uint16_t)(1u << (word >> QS_SIZE_SHIFT & 7));
	ev->id = slot;
	ev->addr = addr;
	if (__builtin_expect(r->bus != NULL, 0))
		place(r, ev);
	if (__builtin_expect(r->said != NULL, 0))
		say_data(r, addr, ev->size);
	if (write)
		r->t.writes++;
	else
		r->t.reads++;
	return PM_OK;
}

/* HOT: of the @n words at @w those that are references of the open block's rep instruction, the
 * first of which is one, to memory, if nothing else is wanted of them. */
static size_t take_rep(struct qs_reader *r, const uint64_t *w, size_t n, uint32_t slot)
{
	const uint64_t mask = 0x1ffu << QS_SLOT_SHIFT | QS_DEVICE | 3,
		       same = (uint64_t)(slot - r->base) << QS_SLOT_SHIFT;
	const struct qemu_block *b = r->open;
	unsigned inside = (unsigned)(r->iter_refs % b->per_iter);
	uint64_t writes = 0;
	struct pm_event *ev;
	size_t i;

	while (r->cap_ev - r->nev < 2 * n)
		r->ev = pm_grow_raw(r->ev, &r->cap_ev, sizeof *r->ev);
	ev = r->ev + r->nev;
	for (i = 0; i < n && (w[i] & mask) == same; i++) {
		const bool write = w[i] & QS_WRITE;

		if (!inside)
			*ev++ = (struct pm_event){
				.kind = PM_EV_REP_ITER, .id = slot, .addr = b->last
			};
		inside = inside + 1 == b->per_iter ? 0 : inside + 1;
		*ev++ = (struct pm_event){
			.kind = write ? PM_EV_WRITE : PM_EV_READ, .flags = PM_REF_REP,
			.size = (uint16_t)(1u << (w[i] >> QS_SIZE_SHIFT & 7)), .id = slot,
			.addr = (uint64_t)((int64_t)w[i] >> QS_ADDR_SHIFT),
		};
		writes += write;
	}
	r->nev = (size_t)(ev - r->ev);
	r->iter_refs += i;
	r->t.writes += writes;
	r->t.reads += i - writes;
	return i;
}

/* The instruction is executed once more, by itself: what it had referenced before it was given up
 * is taken back. */
static void take_back(struct qs_reader *r, uint32_t slot)
{
	while (r->nev > r->open_at + 1 && r->ev[r->nev - 1].id == slot) {
		r->t.reads -= r->ev[r->nev - 1].kind == PM_EV_READ;
		r->t.writes -= r->ev[r->nev - 1].kind == PM_EV_WRITE;
		r->nev--;
	}
	r->iter_refs = 0;
	while (r->nnote && r->note[r->nnote - 1].at >= r->nev &&
	       r->note[r->nnote - 1].slot == slot)
		r->nnote--;
}

/* False: it makes no sense. */
static bool on_again(struct qs_reader *r, uint32_t number, const uint64_t *w, enum pm_status *st,
		     struct pm_err *err)
{
	uint32_t slot;

	if (number >= r->code.nblock)
		return false;
	/* behind an interrupt's frame and the like nobody's instruction runs */
	if (!r->open)
		return true;
	/* QEMU may have found it where the page is mapped for somebody else */
	for (slot = 0; slot < r->open->n; slot++)
		if (!((r->insn[r->open->first + slot].pc ^ r->block[number].pc) % 4096))
			break;
	if (slot == r->open->n)
		return true;
	if (r->again != slot + 1) {
		take_back(r, slot);
		r->again = slot + 1;
		r->t.attempts++;
	}
	*st = on_ref(r, w[0], w[1], slot, err);
	return true;
}

/* An instruction of the open block is about to use a port, to halt... False: it makes no sense. */
static bool on_cycle(struct qs_reader *r, uint32_t number, const uint64_t *w)
{
	static const uint8_t kind[] = {
		[QS_IN] = GUEST_PORT, [QS_OUT] = GUEST_PORT, [QS_HALT] = GUEST_HALT,
		[QS_FLUSH] = GUEST_FLUSH, [QS_INVALIDATE] = GUEST_INVALIDATE,
	};
	const uint32_t slot = (number & ((1u << QS_CYCLE_SHIFT) - 1)) + r->base,
		       cycle = number >> QS_CYCLE_SHIFT & 7;
	struct guest_note *n;

	if (!r->open || slot >= r->open->n || !cycle || cycle >= NR(kind) ||
	    number >> (QS_CYCLE_SIZE + 2) || w[0] > UINT16_MAX)
		return false;
	if (slot >= r->allowed)
		return true;
	add_note(r, kind[cycle], slot, w[0]);
	n = &r->note[r->nnote - 1];
	n->size = (uint8_t)(1u << (number >> QS_CYCLE_SIZE));
	n->write = cycle == QS_OUT;
	n->data = n->write ? w[1] & (0xffffffffu >> (32 - 8 * n->size)) : 0;
	if (r->until_off && n->write && n->value == POWER_PORT && n->data & POWER_OFF) {
		r->off = true;
		r->allowed = slot + 1;
		r->limit = r->t.instructions + r->allowed;
	}
	return true;
}

/* Is it from outside, of the processor and of the program? */
static bool is_external(const struct qs_reader *r, uint32_t vector, uint64_t back_to)
{
	const struct pm_insn *in;

	if (vector < 32)
		return false;
	if (!r->open)
		return true;
	in = r->insn + r->open->first + r->open->n - 1;
	return in->len < 2 || in->bytes[in->len - 2] != 0xcd ||
	       in->bytes[in->len - 1] != vector || pm_insn_next(in) != back_to;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* A record with its @n words behind it. False: it makes no sense. */
static bool on_record(struct qs_reader *r, uint64_t word, const uint64_t *w, size_t n,
		      enum pm_status *st, struct pm_err *err)
{
	const uint32_t number = qs_number(word);
	uint32_t slot;
	struct pm_event *ev;
	bool external;

	if (r->nev >= MAX_BATCH)
		*st = push(r, err);
	if (*st != PM_OK)
		return true;
	switch (qs_type(word)) {
	case QS_DEFINE:
		return define(r, number, w, n);
	case QS_WIDE_REF:
		slot = n == 2 ? (uint32_t)(w[0] >> QS_SLOT_SHIFT & 0x1ff) + r->base : 0;
		if (n != 2 || !r->open || slot >= r->open->n)
			return false;
		*st = on_ref(r, w[0], w[1], slot, err);
		return true;
	case QS_AGAIN:
		return n == 2 && on_again(r, number, w, st, err);
	case QS_SPACE:
		if (n != 1)
			return false;
		ev = add(r, PM_EV_SWITCH);
		ev->value = r->space = w[0] >> 12;
		if (r->kernel)
			ev->value = guest_events_space(r->kernel, ev->value);
		r->t.switches++;
		return true;
	case QS_INTERRUPT:
		if (n != 1 || number > 255)
			return false;
		external = is_external(r, number, w[0]);
		if (r->open && !close_block(r, completed_before(r, number, w[0]))) {
			*st = PM_END;
			return true;
		}
		ev = add(r, PM_EV_INTERRUPT);
		ev->addr = w[0];
		ev->value = number;
		if (r->bus && external)
			r->where[r->nev - 1] = GUEST_EXTERNAL;
		r->t.interrupts++;
		r->t.external += external;
		r->t.witness = mix(mix(r->t.witness, r->t.instructions << 8 | number), w[0]);
		return true;
	case QS_WHERE:
		if (n != 2 || !r->page)
			return n == 2;
		r->page[w[0] % QS_PAGES].virtual = w[0];
		r->page[w[0] % QS_PAGES].physical = w[1];
		return true;
	case QS_CYCLE:
		return n == 2 && (!r->bus || on_cycle(r, number, w));
	case QS_WATCHED:
		return on_watched(r, number, w, n, st, err);
	case QS_END:
		*st = PM_END;
		return !n;
	}
	return false;
}

/* The words at @w, the first of which says that a block begins, if batches are packed: as many as
 * need no look. *@st may say that the trace ends, or an error. */
static size_t take_packed(struct qs_reader *r, const uint64_t *w, size_t n, enum pm_status *st,
			  struct pm_err *err)
{
	const struct qemu_block *b = r->block + qs_number(*w);
	struct stream_pack p;

	if (b->chain == PM_NONE)
		return 0;
	if (r->open && !close_before(r, b)) {
		*st = PM_END;
		return 0;
	}
	if (stream_packer_full(r->packer)) {
		*st = push(r, err);
		if (*st != PM_OK)
			return 0;
	}
	p = stream_packer_take(r->packer, r->block, r->code.nblock, w, n,
			       r->limit - r->t.instructions, r->nev);
	r->t.instructions += p.insns;
	r->t.reads += p.reads;
	r->t.writes += p.refs - p.reads;
	return p.words;
}

static enum pm_status nonsense(const struct qs_reader *r, size_t i, uint64_t word,
			       struct pm_err *err)
{
	return pm_fail(err, (r->words + i) * 8, "the plug-in's word 0x%llx makes no sense here",
		       (unsigned long long)word);
}

enum pm_status qs_read(struct qs_reader *r, const uint64_t *w, size_t n, struct pm_err *err)
{
	enum pm_status st = r->begun ? PM_OK : begin(r, err);
	size_t i = 0;

	while (i < n && st == PM_OK) {
		const uint64_t word = w[i];
		size_t more = 0;

		if ((word & 3) == QS_REF) {
			uint32_t slot = (uint32_t)(word >> QS_SLOT_SHIFT & 0x1ff) + r->base;

			if (__builtin_expect(!r->open || slot >= r->open->n, 0))
				return nonsense(r, i, word, err);
			if (r->open->rep && slot == r->open->n - 1 && slot < r->allowed &&
			    !(word & QS_DEVICE) && !r->bus && !r->said && r->nev < MAX_BATCH) {
				i += take_rep(r, w + i, n - i < MOST_REP ? n - i : MOST_REP, slot);
				continue;
			}
			st = on_ref(r, word, (uint64_t)((int64_t)word >> QS_ADDR_SHIFT), slot, err);
		} else if ((word & 3) == QS_BLOCK) {
			if (__builtin_expect(qs_number(word) >= r->code.nblock, 0))
				return nonsense(r, i, word, err);
			if (r->packer)
				more = take_packed(r, w + i, n - i, &st, err);
			if (more || st != PM_OK) {
				i += more;
				continue;
			}
			st = on_block(r, qs_number(word), err);
		} else {
			more = qs_words(word);
			if ((word & 3) != QS_RECORD || more > n - i - 1 ||
			    !on_record(r, word, w + i + 1, more, &st, err))
				return nonsense(r, i, word, err);
		}
		i += 1 + more;
	}
	r->words += n;
	return st;
}

enum pm_status qs_reader_finish(struct qs_reader *r, struct pm_err *err)
{
	if (r->open)
		close_block(r, r->again && r->again < r->open->n ? r->again : r->open->n);
	r->st = PM_OK;
	r->err = err;
	if (r->kernel)
		guest_events_end(r->kernel);
	return r->st == PM_OK ? push(r, err) : PM_ERR;
}
