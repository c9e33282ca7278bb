/* SPDX-License-Identifier: MIT */
/* texts.c - texts, their blocks, and the maps of those: what stands where */
#include "standalone.h"

u32 rt_text_of(u64 pc)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (rt_live[i] && t[i].lo <= pc && pc < t[i].hi)
			return i;
	return rt_later_text(pc);
}

/* The text that block @number of all belongs to. */
u32 rt_image_text_with(u32 number)
{
	u32 a = 0, z = rt_later_texts();

	while (z - a > 1) {
		u32 mid = (a + z) / 2;

		if (TEXTS[mid].first <= number)
			a = mid;
		else
			z = mid;
	}
	return a;
}

u32 rt_text_of_code(u64 code)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (rt_live[i] && t[i].code <= code && code < t[i].code + t[i].code_len)
			return i;
	return rt_later_code_text(code);
}

const uint8_t *rt_lengths(u32 i, const struct img_block *b)
{
	return (const uint8_t *)TABLE(i, map) + b->map;
}

u32 rt_first_block(u32 i, u32 off)
{
	const struct img_block *b = rt_blocks(i);
	u32 a = 0, z = TABLES(i)->nblock;

	while (a < z) {
		u32 mid = a + (z - a) / 2;

		if (b[mid].pc < off)
			a = mid + 1;
		else
			z = mid;
	}
	return a;
}

static void map_begin(struct img_place *m, u32 i, const struct img_block *b)
{
	m->p = rt_lengths(i, b) + b->n;
	m->code = b->code - (b->entry == IMG_NO_ENTRY ? 0 : b->entry);
	m->insn = m->flags = m->tmp = 0;
}

static void map_next(struct img_place *m)
{
	u32 flags = *m->p++, d;

	m->tmp = 0;
	if (flags & 8 /* XL_TMP_SAVED */ || (flags & IMG_MAP_BORROWED) == IMG_MAP_BORROWED)
		m->tmp = *m->p++;
	if (flags & IMG_MAP_INSN)
		m->insn = *m->p++;
	else if (flags & IMG_MAP_NEXT)
		m->insn++;
	d = *m->p++;
	if (d == 0xff) {
		d = (u32)m->p[0] | (u32)m->p[1] << 8 | (u32)m->p[2] << 16 | (u32)m->p[3] << 24;
		m->p += 4;
	}
	m->code += d;
	m->flags = (uint8_t)(flags & 0x3f);
}

/* Where the map of the @k-th block in the order of code ends. */
static const uint8_t *map_end(u32 i, u32 k)
{
	const u32 *order = TABLE(i, by_code);

	if (k + 1 < TABLES(i)->nblock)
		return rt_lengths(i, &rt_blocks(i)[order[k + 1]]);
	return (const uint8_t *)TABLE(i, map) + TABLES(i)->nmap;
}

static u32 begin_of(const struct img_block *b)
{
	return b->code - (b->entry == IMG_NO_ENTRY ? 0 : b->entry);
}

/* The position in the order of code of the block that is at @code. */
static u32 block_by_code(u32 i, u32 code)
{
	const u32 *order = TABLE(i, by_code);
	u32 a = 0, z = TABLES(i)->nblock;

	while (a < z) {
		u32 mid = a + (z - a) / 2;

		if (begin_of(&rt_blocks(i)[order[mid]]) <= code)
			a = mid + 1;
		else
			z = mid;
	}
	return a - 1;
}

int rt_state_at(u64 code, u32 *text, u32 *block, struct img_place *at)
{
	u32 i = rt_text_of_code(code), k, off;
	struct img_place m;
	const uint8_t *end;

	if (i == NO_TEXT)
		return 0;
	off = (u32)(code - TEXTS[i].code);
	k = block_by_code(i, off);
	if (k + 1 == 0)
		return 0;
	*text = i;
	*block = ((const u32 *)TABLE(i, by_code))[k];
	end = map_end(i, k);
	map_begin(&m, i, &rt_blocks(i)[*block]);
	*at = m;
	while (m.p < end) {
		map_next(&m);
		if (m.code > off)
			break;
		*at = m;
	}
	return 1;
}

u64 rt_image_pc(u32 i, u32 k, u32 insn)
{
	const struct img_block *b = &rt_blocks(i)[k];
	const uint8_t *len = rt_lengths(i, b);
	u64 pc = TEXTS[i].lo + b->pc;

	if (insn >= b->n)
		return pc + b->size;
	while (insn)
		pc += len[--insn];
	return pc;
}

u32 rt_image_record(u32 i, u32 k)
{
	const uint8_t *p = (const uint8_t *)TABLE(i, plan) + ((const u32 *)TABLE(i, plan_at))[k];
	uint16_t words = *p;

	if (words == IMG_P_LONG)
		rt_memcpy(&words, p + 1, 2);
	return 4 + 4u * words;
}

u32 rt_image_record_of(u32 number)
{
	const u32 i = rt_image_text_with(number);

	return rt_image_record(i, number - TEXTS[i].first);
}

u32 rt_prev_block(u32 i, u32 k)
{
	const u32 back = TABLES(i)->back ? ((const u32 *)TABLE(i, back))[k] : 0;

	return back ? k - back : IMG_NO_BLOCK;
}

u32 rt_block_word(u32 i, u32 k)
{
	return k == IMG_NO_BLOCK ? 0 : IMG_RESERVED + TEXTS[i].first + k;
}

int rt_place_before(u32 i, u32 k, u32 n, struct img_place *m)
{
	const u32 *order = TABLE(i, by_code);
	const struct img_block *at = &rt_blocks(i)[k];
	u32 pos = block_by_code(i, begin_of(at));

	while (order[pos] != k)			/* blocks of no length share a beginning */
		pos--;
	map_begin(m, i, at);
	while (m->p < map_end(i, pos)) {
		map_next(m);
		if (m->insn == n && (m->flags & 7) == 1 && !(m->tmp & 0x70 /* XL_BORROWED() */))
			return 1;
	}
	return 0;
}
