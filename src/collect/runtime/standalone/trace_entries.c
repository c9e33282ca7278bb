/* SPDX-License-Identifier: MIT */
/* trace_entries.c - records of the trace buffer become entries of a .trc64 or .trc
 *
 * What the records mean is told by the plans of image.h; the entries are those of
 * docs/formats/idtrace.md. */
#include "drain.h"

enum { T_RW = 0x00, T_RD = 0x10, T_WR = 0x20, T_RRD = 0x30, T_RWR = 0x40, T_REND = 0x50,
       T_LINE = 0x60,
       T_BBAD = 0x70, T_BBFP = 0x80, T_TARG = 0x90, T_OP1 = 0xa0, T_OP2 = 0xb0,
       T_POP = 0xc0, T_PUSH = 0xd0 };
enum { HOW_SUM, HOW_SUM32, HOW_BITS, HOW_XLAT, HOW_SUM16 = 5 };		/* enum x86_ref_how */
enum { REP_MOVS, REP_CMPS, REP_STOS, REP_LODS, REP_SCAS };	/* enum x86_rep */

/* Information of an entry: an address. */
static void set_address(struct drain *d, u32 at, u64 v)
{
	*(word __attribute__((may_alias)) *)(d->out + at) = (word)v;
}

static void put_entry(struct drain *d, u32 tag, u64 v)
{
	d->out[d->n] = (uint8_t)tag;
	set_address(d, d->n + 1, v);
	d->n += 1 + sizeof(word);
}

/* Of the largest entry that an access of @size bytes begins with. */
static u32 code_of(u32 size)
{
	const int wide = sizeof(word) == 8;

	return size == 10 ? 5 : wide &&
	       size >= 64 ? 8 : wide &&
	       size >= 32 ? 7 : wide &&
	       size >= 16 ? 6 : size >= 8 ? 4 : size >= 4 ? 3 : size >= 2 ? 2 : 1;
}

static const uint8_t code_bytes[9] = { 0, 1, 2, 4, 8, 10, 16, 32, 64 };

/* Larger accesses than the largest code are several entries. */
static void put_sized(struct drain *d, u32 tag, u64 addr, u32 size)
{
	while (size) {
		const u32 code = code_of(size);

		put_entry(d, tag | code, addr);
		addr += code_bytes[code];
		size -= code_bytes[code];
	}
}

static int64_t sleb(struct drain_record *r)
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

static u32 plan16(struct drain_record *r)
{
	uint16_t v;

	rt_memcpy(&v, r->plan, 2);
	r->plan += 2;
	return v;
}

static u32 plan_value(struct drain_record *r)
{
	const u32 v = *r->plan++;

	return v == IMG_V_LONG ? plan16(r) : v > IMG_V_LONG ? 0xff00 | v : v;
}

static u64 value(const struct drain_record *r, u32 v)
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

static u64 address(struct drain_record *r, int odd)
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
static void rep(struct drain_record *r, int done, const u64 *cut)
{
	struct drain *d = r->d;
	const u32 type = *r->plan++, size = *r->plan++, bits = *r->plan++;
	const u32 from = plan_value(r), to = plan_value(r), after = plan_value(r),
		  segment = plan_value(r);
	const u64 mask = ~0ull >> (64 - bits);
	const int told = MAN->tags & IMG_TAGS_REP || MAN->kind == IMG_EXEC;
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
			rt_trace_write(r->b, 0, 1);
		if (type != REP_STOS && type != REP_SCAS)
			put_sized(d, rd, (word)(src + seg), size);
		if (type != REP_LODS)
			put_sized(d, type == REP_CMPS || type == REP_SCAS ? rd : wr, dst, size);
		src = (src + step) & mask;
		dst = (dst + step) & mask;
	}
	if (told && !cut)
		put_entry(d, T_REND, 0);
}

/* Entries of a reference of @size bytes. */
static u32 pieces(u32 size)
{
	u32 n = 0;

	for (; size; n++)
		size -= code_bytes[code_of(size)];
	return n;
}

/* The elements of a gather or scatter, or the rows of a tile, of which @left still has some if the
 * instruction was stopped: the block's record has as many, or one more of an instruction that was
 * stopped. @done: it was not stopped, or not before it. */
static void lanes(struct drain_record *r, int done, int stopped, u64 left)
{
	const u32 size = *r->plan++;
	const u64 base = value(r, plan_value(r)), disp = (u64)sleb(r);
	const u32 scale = *r->plan++, how = *r->plan++;
	/* struct x86_lanes */
	const u32 n = how & 31, wide = how >> 5 & 1, k = how >> 6 & 1, a32 = how >> 7;
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
		for (u32 i = mask[1]; i < NR_OF(r->lane) && i < mask[48 + n] && !(left >> i & 1);
		     i++) {
			const u64 a = base + disp + i * value(r, indices) * scale;

			r->lane[r->nlane++] = (a32 ? (u32)a : a) + segment;
		}
	}
	for (u32 i = 0; size && i < n && done; i++) {
		u64 a;

		if (!(k ? mask[i / 8] >> (i & 7) & 1 : mask[(i + 1) * size - 1] >> 7) ||
		    left >> i & 1)
			continue;
		a = wide ? ((const u64 *)index)[i] : (u64)(int64_t)((const int32_t *)index)[i];
		a = base + a * scale + disp;
		r->lane[r->nlane++] = (a32 ? (u32)a : a) + segment;
	}
	r->part |= stopped && r->nlane;
	entries = r->nlane * pieces(r->lane_size) + (u32)stopped;
	if (entries && r->told && r->d->out[r->d->begun] == T_BBFP &&
	    *(const word *)(r->d->out + r->d->begun + 1) == (word)r->told)
		set_address(r->d, r->d->begun + 1,
		    sizeof(word) * (u64)(at + (entries - 1) * r->record_size) + 4 * r->from);
}

/* Is instruction @insn to be told? */
static int happened(const struct drain_record *r, u32 insn)
{
	return insn >= r->from && insn < r->n;
}

/* Returns the stack pointer behind the block. */
static u64 entries(struct drain_record *r)
{
	const int exec = MAN->kind == IMG_EXEC;
	struct drain *d = r->d;
	static const uint8_t bytes[16] = { 0, 1, 2, 4, 8, 10, 16, 32, 64, [IMG_P_PUSHED(2)] = 2,
					   [IMG_P_PUSHED(4)] = 4, [IMG_P_PUSHED(8)] = 8 };

	for (;;) {
		const u32 op = *r->plan++, kind = op & 7;
		const int pushed = (op >> 3 & 15) >= IMG_P_PUSHED(2);
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
				put_entry(d, T_TARG, a);
			continue;
		case IMG_P_NEXT:
			if (!happened(r, insn))
				continue;
			put_entry(d, T_TARG, 0);
			d->hold = 1 + d->n - sizeof(word);
			continue;
		case IMG_P_REP:
			if (op == IMG_P_LANES) {
				/* what stops a gather is a fault of its own: all
				 * is recorded by then */
				lanes(r, happened(r, insn) || stopped, stopped,
				      stopped ? r->cut[1] : 0);
				continue;
			}
			for (u32 i = 0; op & IMG_P_ODD && i < r->nlane; i++)
				put_sized(d, op == IMG_P_READ_LANES ? T_RD : T_WR, r->lane[i],
					  r->lane_size);
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
			put_entry(d, T_TARG, a);
		} else if (kind == IMG_P_MODIFY && exec) {
			put_sized(d, T_RW, a, size);
		} else {
			if (kind != IMG_P_WRITE)
				put_sized(d, pushed ? T_POP : T_RD, a, size);
			if (kind != IMG_P_READ)
				put_sized(d, pushed ? T_PUSH : T_WR, a, size);
		}
	}
}

/* @pc: of the first instruction that is told; @last: of the block's last byte, 0: it
 * did not come so far. */
static void branch(struct drain_record *r, u64 pc, u64 last)
{
	struct drain *d = r->d;
	u32 nop = *r->plan++;

	put_entry(d, T_BBAD, pc);
	if (!nop || !last)
		return;
	d->out[d->n++] = nop == 1 ? T_OP1 : T_OP2;
	for (u32 i = 0; i < nop; i++)
		d->out[d->n++] = *r->plan++;
	set_address(d, d->n, last);
	d->n += sizeof(word);
}

void rt_note_entries(struct drain *d, u32 type, const u64 *a)
{
	if (type == RT_N_STATE) {
		d->rsp = a[0];
		d->fs = a[1];
		d->gs = a[2];
	} else if (type == RT_N_SIGNAL && d->hold) {
		set_address(d, d->hold - 1, a[1]);	/* where control was going */
		d->hold = 0;
	}
}

/* One block of a record, which has ->from, ->n and ->cut. Returns the stack pointer behind it. */
u64 rt_block_entries(struct drain_record *r, u32 text, u32 i)
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
		set_address(d, d->hold - 1, pc);
		d->hold = 0;
	}
	if (d->n > OUT - MARGIN || d->alone)
		rt_trace_write(r->b, 0, 0);
	d->begun = d->n;
	if (TEXTS[text].first + i - MAN->from >= MAN->to - MAN->from) {
		r->n = 0;
		r->cut = 0;
		return MAN->kind == IMG_BRANCH ? 0 : entries(r); /* for the stack pointer's sake */
	}
	if (MAN->kind == IMG_BRANCH) {
		if (pc < end)
			branch(r, pc, whole ? end - 1 : 0);
		return 0;
	}
	if (MAN->kind == IMG_EXEC) {
		r->told = sizeof(word) * (u64)((const u32 *)TABLE(text, record_at))[i] +
			4 * r->from;
		put_entry(d, T_BBFP, r->told);
	}
	for (u64 line = pc & ~(u64)(MAN->line - 1);
	     MAN->kind == IMG_CACHE && pc < end && line < end; line += MAN->line)
		put_entry(d, T_LINE, line);
	rsp = entries(r);
	if (r->told && pc == end && !r->part)
		d->n = d->begun;
	else if (r->told && !whole && !r->marked)
		put_entry(d, T_BBFP, r->told + 4 * (r->n - r->from) + 1);
	return rsp;
}
