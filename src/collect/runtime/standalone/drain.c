/* SPDX-License-Identifier: MIT */
/* drain.c - the trace of an instrumented executable: records of the buffer in, entries of a .trc64 or .trc out
 *
 * Runs in the thread whose buffer is full, or ends. What the records mean is told by the plans of
 * image.h; the entries are those of docs/formats/idtrace.md. Each thread has a file of its own and
 * a buffer for it in its block. */
#ifdef RT_IDT

#include "image.h"
#include "rt.h"

#define DRAIN_AT	0x60000u	/* in a thread block, behind its stacks */
#define OUT		0x90000u
#define MARGIN		0x8000u		/* one block's entries, but for those of rep instructions, are fewer */

#define MAX_KEPT	8		/* faults in handlers of faults */
#define MAX_CHAIN	64

enum { T_RW = 0x00, T_RD = 0x10, T_WR = 0x20, T_RRD = 0x30, T_RWR = 0x40, T_REND = 0x50, T_LINE = 0x60,
       T_BBAD = 0x70, T_BBFP = 0x80, T_TARG = 0x90, T_OP1 = 0xa0, T_OP2 = 0xb0 };
enum { HOW_SUM, HOW_SUM32, HOW_BITS, HOW_XLAT, HOW_SUM16 = 5 };		/* enum x86_ref_how */
enum { REP_MOVS, REP_CMPS, REP_STOS, REP_LODS, REP_SCAS };	/* enum x86_rep */

struct drain {
	u64 rsp, fs, gs;		/* at the record that comes next */
	u32 n;				/* bytes in out */
	u32 hold;			/* 1 + place of a target that the next block tells; 0: none */
	u32 opened, failed;
	u32 nkept;
	u32 told, told_insn;		/* the next record goes on with this block (rt_stop.word), before this
					 * instruction: what is in front of it has been written. 0: it does not */
	u32 begun;			/* in out: where the last block begins */
	u32 alone, busy;		/* a block is in the file in part: others wait (merged traces);
					 * the buffer is being emptied */
	struct kept {			/* a chain of blocks that a fault has stopped, and that may go on */
		struct rt_stop stop;
		u64 rsp;		/* at its beginning */
		u32 record[2 * 256];
	} kept[MAX_KEPT];
	uint8_t out[OUT];
};
_Static_assert(DRAIN_AT + sizeof(struct drain) <= RT_COUNTERS, "before the counters");

/* Information of an entry: an address. */
static void set(struct drain *d, u32 at, u64 v)
{
	*(word __attribute__((may_alias)) *)(d->out + at) = (word)v;
}

static struct drain *drain_of(struct rt_block *b)
{
	return PTR((word)b + DRAIN_AT);
}


/* ---- the file -------------------------------------------------------------------------------------- */
static u32 merging;			/* tid of who writes a merged trace */

static void merge_lock(u32 me)
{
	const word timeout[2] = { 0, 100000000 };

	for (;;) {
		u32 was = 0;

		if (__atomic_compare_exchange_n(&merging, &was, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		rt_sys(NR_futex, &merging, 0 /* WAIT */, was, timeout);
		if (rt_sys(NR_kill, was, 0) == -ESRCH)
			__atomic_compare_exchange_n(&merging, &was, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}

static void merge_unlock(void)
{
	__atomic_store_n(&merging, 0, __ATOMIC_SEQ_CST);
	rt_sys(NR_futex, &merging, 1 /* WAKE */, 1);
}

/* How much of out can be written. Of a merged trace, whole blocks only, unless one is longer than the buffer: then
 * the others wait until it is over. */
static u32 ready(struct drain *d, int last, int part)
{
	if (!d->hold || last)
		return d->n;
	return MAN->merge && !d->alone && !part ? d->begun : d->hold - 1;
}

static void write_part(struct rt_block *b, int last, int part)
{
	struct drain *d = drain_of(b);
	const int was = (int)d->alone;
	u32 n = ready(d, last, part), done = 0;
	struct rt_quiet quiet;
	int fd;

	if (!n)
		return;
	if (MAN->merge && !d->alone) {
		merge_lock(b->tid);
		d->alone = 1;
	}
	fd = MAN->no_trace || d->failed ? -1 : rt_image_open_trace(b);
	rt_image_quiet(&quiet);
	while (fd >= 0 && done < n) {
		long r = rt_sys(NR_write, fd, d->out + done, n - done);

		if (r == -EINTR)
			continue;
		if (r <= 0) {
			d->failed = 1;		/* a full disk, a reader that has gone: said once */
			rt_image_trace_failed(b);
			break;
		}
		done += (u32)r;
	}
	rt_image_loud(&quiet);
	if (fd >= 0)
		rt_image_close_trace(fd);
	rt_memcpy(d->out, d->out + n, d->n - n);
	d->n -= n;
	d->begun -= d->begun < n ? d->begun : n;
	if (d->hold)
		d->hold = last ? 0 : d->hold - n;
	if (d->alone && !part && (!was || !d->hold)) {
		d->alone = 0;
		merge_unlock();
	}
}

static void write_out(struct rt_block *b, int last)
{
	write_part(b, last, 0);
}

static void put(struct drain *d, u32 tag, u64 v)
{
	d->out[d->n] = (uint8_t)tag;
	set(d, d->n + 1, v);
	d->n += 1 + sizeof(word);
}

/* Of the largest entry that an access of @size bytes begins with. */
static u32 code_of(u32 size)
{
	const int wide = sizeof(word) == 8;

	return size == 10 ? 5 : wide && size >= 64 ? 8 : wide && size >= 32 ? 7 : wide && size >= 16 ? 6 :
	       size >= 8 ? 4 : size >= 4 ? 3 : size >= 2 ? 2 : 1;
}

static const uint8_t code_bytes[9] = { 0, 1, 2, 4, 8, 10, 16, 32, 64 };

/* Larger accesses than the largest code are several entries. */
static void put_sized(struct drain *d, u32 tag, u64 addr, u32 size)
{
	while (size) {
		const u32 code = code_of(size);

		put(d, tag | code, addr);
		addr += code_bytes[code];
		size -= code_bytes[code];
	}
}

/* ---- plans ------------------------------------------------------------------------------------------- */
struct record {
	struct rt_block *b;
	struct drain *d;
	const uint8_t *plan;
	const void *value;		/* of the record */
	u64 pc;
	u64 lane[16];
	u64 told;			/* the block's entry, which is at begun, unless that has been written */
	u32 nlane, lane_size, record_size;	/* the last: in the block table, in units of 8 bytes, i386: of 4 */
	u32 from, n;			/* the instructions of the block that are to be told */
	const u64 *cut;			/* what an RT_N_CUT says of the one behind them, or NULL */
	int part, marked;		/* that has references that happened; it has entries */
};

static int64_t sleb(struct record *r)
{
	u64 v = 0;
	u32 shift = 0;
	uint8_t byte;

	do {
		byte = *r->plan++;
		v |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return (int64_t)v;
}

static u32 plan16(struct record *r)
{
	uint16_t v;

	rt_memcpy(&v, r->plan, 2);
	r->plan += 2;
	return v;
}

static u32 plan_value(struct record *r)
{
	const u32 v = *r->plan++;

	return v == IMG_V_LONG ? plan16(r) : v > IMG_V_LONG ? 0xff00 | v : v;
}

static u64 value(const struct record *r, u32 v)
{
	const uint8_t *p = (const uint8_t *)r->value + (v & ~3u);

	switch (v) {
	case IMG_V_NONE: return 0;
	case IMG_V_RSP: return r->d->rsp;
	case IMG_V_FS: return r->d->fs;
	case IMG_V_GS: return r->d->gs;
	}
	switch (v & 3) {			/* enum x86_val_how */
	case 1: return *(const u32 *)p;
	case 2: return (u64)(int64_t)*(const int32_t *)p;
	}
	return *(const word *)p;
}

static u64 address(struct record *r, int odd)
{
	u32 how = HOW_SUM, index = IMG_V_NONE, scale = 0, segment = IMG_V_NONE, after = 0, size = 0;
	u64 a;

	if (odd) {
		how = *r->plan++;
		scale = *r->plan++;
		size = plan16(r);
		index = plan_value(r);
		segment = plan_value(r);
		after = plan16(r);
	}
	a = value(r, plan_value(r));
	a += (u64)sleb(r);
	if (how == HOW_XLAT) {
		a += (uint8_t)(value(r, index) + after);
		if (scale < 8)
			a &= (1ull << (8 * scale)) - 1;
	} else {
		a += value(r, index) * scale;
	}
	if (how == HOW_SUM32)
		a = (u32)a;
	if (how == HOW_SUM16)
		a = (uint16_t)a;
	if (how == HOW_BITS) {
		int64_t bit = (long)value(r, after);

		bit = size == 2 ? (int16_t)bit : size == 4 ? (int32_t)bit : bit;
		a += (u64)((bit >> (size == 2 ? 4 : size == 4 ? 5 : 6)) * (int64_t)size);
	}
	return (word)(a + value(r, segment));
}

/* @done: it happened, or the part of it that @cut says. */
static void rep(struct record *r, int done, const u64 *cut)
{
	struct drain *d = r->d;
	const u32 type = *r->plan++, size = *r->plan++, bits = *r->plan++;
	const u32 from = plan_value(r), to = plan_value(r), after = plan_value(r), segment = plan_value(r);
	const u64 mask = ~0ull >> (64 - bits);
	const int told = MAN->rep || MAN->kind == IMG_EXEC;
	const u32 rd = told ? T_RRD : T_RD, wr = told ? T_RWR : T_WR;
	u64 src, dst, end, seg, *at = to == IMG_V_NONE ? &src : &dst, step = size;

	if (!done)
		return;
	src = value(r, from) & mask;
	dst = value(r, to) & mask;
	end = (cut ? cut[to == IMG_V_NONE ? 1 : 2] : value(r, after)) & mask;
	seg = value(r, segment);
	if ((end - *at) & 1ull << (bits - 1))
		step = -step;
	r->part |= cut && *at != end;
	while (*at != end) {
		if (d->n > OUT - MARGIN)
			write_part(r->b, 0, 1);
		if (type != REP_STOS && type != REP_SCAS)
			put_sized(d, rd, (word)(src + seg), size);
		if (type != REP_LODS)
			put_sized(d, type == REP_CMPS || type == REP_SCAS ? rd : wr, dst, size);
		src = (src + step) & mask;
		dst = (dst + step) & mask;
	}
	if (told && !cut)
		put(d, T_REND, 0);
}

/* Entries of a reference of @size bytes. */
static u32 pieces(u32 size)
{
	u32 n = 0;

	for (; size; n++)
		size -= code_bytes[code_of(size)];
	return n;
}

/* The elements of a gather or scatter, or the rows of a tile, of which @left still has some if the instruction was
 * stopped: the block's record has as many, or one more of an instruction that was stopped. @done: it was not stopped, or not before it. */
static void lanes(struct record *r, int done, int stopped, u64 left)
{
	const u32 size = *r->plan++;
	const u64 base = value(r, plan_value(r)), disp = (u64)sleb(r);
	const u32 scale = *r->plan++, how = *r->plan++;
	const u32 n = how & 31, wide = how >> 5 & 1, k = how >> 6 & 1, a32 = how >> 7;	/* struct x86_lanes */
	const u32 indices = plan_value(r);
	const uint8_t *index = (const uint8_t *)r->value + (indices & ~3u);
	const uint8_t *mask = (const uint8_t *)r->value + (plan_value(r) & ~3u);
	const u64 segment = value(r, plan_value(r));
	u32 at, entries;

	rt_memcpy(&at, r->plan, 4);
	r->plan += 4;
	r->lane_size = size;
	if (!size && done) {			/* as x86_tile() */
		rt_memcpy(&r->lane_size, mask + 16 + 2 * n, 2);
		for (u32 i = mask[1]; i < NR_OF(r->lane) && i < mask[48 + n] && !(left >> i & 1); i++) {
			const u64 a = base + disp + i * value(r, indices) * scale;

			r->lane[r->nlane++] = (a32 ? (u32)a : a) + segment;
		}
	}
	for (u32 i = 0; size && i < n && done; i++) {
		u64 a;

		if (!(k ? mask[i / 8] >> (i & 7) & 1 : mask[(i + 1) * size - 1] >> 7) || left >> i & 1)
			continue;
		a = wide ? ((const u64 *)index)[i] : (u64)(int64_t)((const int32_t *)index)[i];
		a = base + a * scale + disp;
		r->lane[r->nlane++] = (a32 ? (u32)a : a) + segment;
	}
	r->part |= stopped && r->nlane;
	entries = r->nlane * pieces(r->lane_size) + (u32)stopped;
	if (entries && r->told && r->d->out[r->d->begun] == T_BBFP &&
	    *(const word *)(r->d->out + r->d->begun + 1) == (word)r->told)
		set(r->d, r->d->begun + 1,
		    sizeof(word) * (u64)(at + (entries - 1) * r->record_size) + 4 * r->from);
}

/* Is instruction @insn to be told? */
static int happened(const struct record *r, u32 insn)
{
	return insn >= r->from && insn < r->n;
}

/* Returns the stack pointer behind the block. */
static u64 entries(struct record *r)
{
	const int exec = MAN->kind == IMG_EXEC;
	struct drain *d = r->d;
	static const uint8_t bytes[16] = { 0, 1, 2, 4, 8, 10, 16, 32, 64 };

	for (;;) {
		const u32 op = *r->plan++, kind = op & 7;
		u32 insn, size = bytes[op >> 3 & 15];
		int stopped;
		u64 a;

		if (kind == IMG_P_END) {
			a = value(r, plan_value(r));
			return a + (u64)sleb(r);
		}
		insn = *r->plan++;
		stopped = r->cut && insn == r->n;
		r->marked |= stopped;
		switch (kind) {
		case IMG_P_TARGET:
			a = r->pc + (u64)sleb(r);
			if (happened(r, insn))
				put(d, T_TARG, a);
			continue;
		case IMG_P_NEXT:
			if (!happened(r, insn))
				continue;
			put(d, T_TARG, 0);
			d->hold = 1 + d->n - sizeof(word);
			continue;
		case IMG_P_REP:
			if (op == IMG_P_LANES) {
				/* what stops a gather is a fault of its own: all is recorded by then */
				lanes(r, happened(r, insn) || stopped, stopped, stopped ? r->cut[1] : 0);
				continue;
			}
			for (u32 i = 0; op & IMG_P_ODD && i < r->nlane; i++)
				put_sized(d, op == IMG_P_READ_LANES ? T_RD : T_WR, r->lane[i], r->lane_size);
			if (op & IMG_P_ODD)
				continue;
			rep(r, happened(r, insn) || stopped, stopped ? r->cut : 0);
			continue;
		}
		if (!size && kind != IMG_P_POINTER)
			size = plan16(r);
		a = address(r, op & IMG_P_ODD);
		if (!happened(r, insn))
			continue;
		if (kind == IMG_P_POINTER) {
			put(d, T_TARG, a);
		} else if (kind == IMG_P_MODIFY && exec) {
			put_sized(d, T_RW, a, size);
		} else {
			if (kind != IMG_P_WRITE)
				put_sized(d, T_RD, a, size);
			if (kind != IMG_P_READ)
				put_sized(d, T_WR, a, size);
		}
	}
}

/* @pc: of the first instruction that is told; @last: of the block's last byte, 0: it did not come so far. */
static void branch(struct record *r, u64 pc, u64 last)
{
	struct drain *d = r->d;
	u32 nop = *r->plan++;

	put(d, T_BBAD, pc);
	if (!nop || !last)
		return;
	d->out[d->n++] = nop == 1 ? T_OP1 : T_OP2;
	for (u32 i = 0; i < nop; i++)
		d->out[d->n++] = *r->plan++;
	set(d, d->n, last);
	d->n += sizeof(word);
}

static void note(struct drain *d, u32 type, const u64 *a)
{
	if (type == RT_N_STATE) {
		d->rsp = a[0];
		d->fs = a[1];
		d->gs = a[2];
	} else if (type == RT_N_SIGNAL && d->hold) {
		set(d, d->hold - 1, a[1]);	/* where control was going */
		d->hold = 0;
	}
}

/* One block of a record, which has ->from, ->n and ->cut. Returns the stack pointer behind it. */
static u64 block(struct record *r, u32 text, u32 i)
{
	const struct img_block *k = (const struct img_block *)TABLE(text, block) + i;
	const int whole = r->n >= k->n;
	struct drain *d = r->d;
	u64 pc, end, rsp;

	r->plan = (const uint8_t *)TABLE(text, plan) + ((const u32 *)TABLE(text, plan_at))[i];
	if (*r->plan++ == IMG_P_LONG)
		r->plan += 2;
	r->pc = TEXTS[text].lo + k->pc;
	r->record_size = RECORD_UNITS(k->n ? k->n : 1);
	r->nlane = 0;
	r->told = 0;
	r->part = r->marked = 0;
	pc = r->from ? rt_image_pc(text, i, r->from) : r->pc;
	end = whole ? r->pc + k->size : rt_image_pc(text, i, r->n);
	if (d->hold) {
		set(d, d->hold - 1, pc);
		d->hold = 0;
	}
	if (d->n > OUT - MARGIN || d->alone)
		write_out(r->b, 0);
	d->begun = d->n;
	if (TEXTS[text].first + i - MAN->from >= MAN->to - MAN->from) {
		r->n = 0;
		r->cut = 0;
		return MAN->kind == IMG_BRANCH ? 0 : entries(r);	/* for the stack pointer's sake */
	}
	if (MAN->kind == IMG_BRANCH) {
		if (pc < end)
			branch(r, pc, whole ? end - 1 : 0);
		return 0;
	}
	if (MAN->kind == IMG_EXEC) {
		r->told = sizeof(word) * (u64)((const u32 *)TABLE(text, record_at))[i] + 4 * r->from;
		put(d, T_BBFP, r->told);
	}
	for (u64 line = pc & ~(u64)(MAN->line - 1); MAN->kind == IMG_CACHE && pc < end && line < end; line += MAN->line)
		put(d, T_LINE, line);
	rsp = entries(r);
	if (r->told && pc == end && !r->part)
		d->n = d->begun;
	else if (r->told && !whole && !r->marked)
		put(d, T_BBFP, r->told + 4 * (r->n - r->from) + 1);
	return rsp;
}

void rt_image_drain(struct rt_block *b, u64 from, u64 to)
{
	struct drain *d = drain_of(b);
	u32 text = 0;

	if (MAN->no_trace)
		return;
	__atomic_store_n(&d->busy, 1, __ATOMIC_RELEASE);
	for (u64 p = from; p < to; ) {
		const u32 head = *(const u32 *)PTR(p), number = head - IMG_RESERVED;
		struct record r = { .b = b, .d = d, .value = PTR(p + 4) };
		u32 i, n = 255, chain[MAX_CHAIN], nchain = 0;
		const u64 *cut = 0;
		u64 rsp = 0;

		if (head >> 31) {
			note(d, RT_NOTE_TYPE(head), PTR(p + 4));
			p += 4 + RT_NOTE_SIZE(head);
			continue;
		}
		if (!head)
			return;			/* cannot be: the cursor is behind whole records */
		if (number - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(number);
		i = number - TEXTS[text].first;
		p += rt_image_record(text, i);
		if (p < to && *(const u32 *)PTR(p) == RT_NOTE(RT_N_CUT, 24)) {
			cut = PTR(p + 4);
			n = (u32)cut[0];
		}
		for (u32 back = 1; back && nchain < MAX_CHAIN; i -= back) {
			chain[nchain++] = i;
			back = ((const u32 *)TABLE(text, back))[i];
		}
		while (nchain--) {
			if (d->told && IMG_RESERVED + TEXTS[text].first + chain[nchain] != d->told)
				continue;
			r.from = d->told ? d->told_insn : 0;
			d->told = 0;
			r.n = nchain ? 255 : n;
			r.cut = nchain ? 0 : cut;
			rsp = block(&r, text, chain[nchain]);
		}
		if (MAN->kind != IMG_BRANCH)
			d->rsp = rsp;
	}
	if (d->alone && !d->hold)
		write_out(b, 0);
	__atomic_store_n(&d->busy, 0, __ATOMIC_RELEASE);
}

int rt_image_drains(const struct rt_block *b)
{
	return __atomic_load_n(&drain_of((struct rt_block *)b)->busy, __ATOMIC_ACQUIRE) != 0;
}

/* ---- blocks that a fault stops -------------------------------------------------------------------------
 * Such a block is written as far as it came, and counted as executed. If a handler comes back to it, the rest is
 * written when it has been executed. */
static void empty_chunk(struct rt_block *b)
{
	const u64 chunk = (word)b + TRACE_AT;

	rt_image_drain(b, chunk, b->cursor);
	rt_image_clear(b, chunk, b->cursor);
	b->cursor = chunk;
}

static void note_state(struct rt_block *b, u64 rsp)
{
	const struct drain *d = drain_of(b);
	const u64 v[3] = { rsp, d->fs, d->gs };

	rt_trace_note(b, RT_N_STATE, v, 3);
}

static rt_count *counter(struct rt_block *b, u32 number)
{
	return (rt_count *)((uint8_t *)b + COUNTERS_AT) + number;
}

/* A place for one more. Of those that are left for good, one that stopped at the same place with the same stack is
 * certain. */
static struct kept *new_kept(struct drain *d, const struct rt_stop *stop)
{
	u32 i = 0;

	while (i < d->nkept && (d->kept[i].stop.word != stop->word || d->kept[i].stop.insn != stop->insn ||
				d->kept[i].stop.sp != stop->sp))
		i++;
	if (i == d->nkept && i < MAX_KEPT)
		return &d->kept[d->nkept++];
	if (i == d->nkept)
		i = 0;
	for (; i + 1 < d->nkept; i++)
		rt_memcpy(&d->kept[i], &d->kept[i + 1], sizeof d->kept[i]);
	return &d->kept[i];
}

/* It is counted as what has begun: the block itself, or the one before. */
static void count_kept(struct rt_block *b, const struct rt_stop *s, int more)
{
	const u32 id = s->insn || s->complete ? s->word : s->before;

	if (id)
		*counter(b, id) += (rt_count)more;
	*counter(b, s->word) -= (rt_count)(more * (int)s->counted);
}

void rt_image_keep(struct rt_block *b, const struct rt_stop *stop)
{
	const u64 v[3] = { stop->insn, stop->rsi, stop->rdi };
	struct drain *d = drain_of(b);
	const int begun = stop->insn || stop->complete;
	const u32 id = begun ? stop->word : stop->before;
	struct kept *k = new_kept(d, stop);

	k->stop = *stop;
	if (stop->complete)
		b->cursor -= stop->size;
	rt_memcpy(k->record, PTR(b->cursor), stop->size);
	empty_chunk(b);
	k->rsp = d->rsp;
	count_kept(b, stop, 1);
	if (id && (begun || d->told != stop->word)) {
		rt_memcpy(PTR(b->cursor), k->record, stop->size);
		*(u32 *)PTR(b->cursor) = id;
		b->cursor += stop->size;
		if (begun)
			rt_trace_note(b, RT_N_CUT, v, 3);
		empty_chunk(b);
	}
	d->told = 0;
}

int rt_image_kept(const struct rt_block *b, u32 id, u32 insn)
{
	const struct drain *d = drain_of((struct rt_block *)b);

	for (u32 i = d->nkept; b->tracing && i--; )
		if (d->kept[i].stop.word == id && (insn || !d->kept[i].stop.insn))
			return 1;
	return 0;
}

int rt_image_keeps(const struct rt_block *b)
{
	return b->tracing && drain_of((struct rt_block *)b)->nkept;
}

void rt_image_restore(struct rt_block *b, u32 id, u32 insn, u32 complete, u32 counted)
{
	struct drain *d = drain_of(b);
	const struct kept *k;
	u32 i = d->nkept - 1;

	while (d->kept[i].stop.word != id)
		i--;
	d->nkept = i;			/* handlers above it will not come back */
	k = &d->kept[i];
	empty_chunk(b);
	note_state(b, k->rsp);
	empty_chunk(b);
	d->told = id;
	d->told_insn = insn;
	rt_memcpy(PTR(b->cursor), k->record, k->stop.size);
	if (complete) {
		*(u32 *)PTR(b->cursor) = id;
		b->cursor += k->stop.size;
	}
	count_kept(b, &k->stop, -1);
	*counter(b, id) += (rt_count)counted - k->stop.counted;
}

/* How far another thread has come: its cursor may be in a register. What is behind it is zero, and a record's
 * number is written last. */
static u64 end_of(const struct rt_block *b)
{
	const u64 end = (word)b + TRACE_AT + TRACE_CHUNK;
	u64 p = b->cursor;

	while (p < end - 4) {
		const u32 head = __atomic_load_n((const u32 *)PTR(p), __ATOMIC_ACQUIRE), number = head - IMG_RESERVED;

		if (!head)
			break;
		if (!(head >> 31) && number >= rt_later_blocks())
			break;
		p += head >> 31 ? 4 + RT_NOTE_SIZE(head) : rt_image_record_of(number);
	}
	return p < end ? p : end;
}

void rt_image_clear(struct rt_block *b, u64 from, u64 to)
{
	if (rt_image_threads)
		memset(PTR(from), 0, to - from);
}

/* Everything up to the cursor, and all of it into the file. */
void rt_image_drain_all(struct rt_block *b, int mine)
{
	if (!b->tracing)
		return;
	if (!mine)
		b->cursor = end_of(b);
	empty_chunk(b);
	write_out(b, 1);
}

void rt_image_order(struct rt_block *b)
{
	if (!MAN->merge || !b->tracing || !rt_image_threads)
		return;
	empty_chunk(b);
	write_out(b, 0);
}

void rt_image_drain_begin(struct rt_block *b)
{
	struct drain *d = drain_of(b);

	if (b->tid == b->pid)
		merging = 0;		/* whoever had it, in the process that this one is a copy of */
	b->tracing = MAN->kind != IMG_PROFILE;
	b->drop = 0;
	b->chunk = 0;
	b->cursor = (word)b + TRACE_AT;
	d->n = d->hold = d->opened = d->failed = d->nkept = d->begun = d->alone = d->busy = d->told = 0;
}

int rt_image_drain_first(struct rt_block *b)
{
	return !drain_of(b)->opened++;
}

#endif
