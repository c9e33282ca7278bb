/* SPDX-License-Identifier: MIT */
/* block_index.c - blocks by their addresses, in the program and in the code cache; their counters
 */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

/* Most addresses that are looked up are not in the hash table: no block in there has their lowest
 * bits. */
#define IN_HASH_BITS (1u << 20)
static uint8_t *in_hash_byte(const struct space *sp, uint64_t pc)
{
	return &sp->in_hash[pc % IN_HASH_BITS / 8];
}

static uint8_t in_hash_bit(uint64_t pc)
{
	return (uint8_t)(1 << pc % 8);
}

void block_enter(struct space *sp, uint32_t i)
{
	size_t h;

	PM_INVARIANT(1, i < sp->nblock && !(sp->block[i].flags & BLK_IS_DEAD));
	if (sp->hash_n * 2 >= sp->hash_mask) {
		size_t size = sp->hash ? (sp->hash_mask + 1) * 2 : 4096;
		uint32_t *old = sp->hash;
		size_t n = old ? sp->hash_mask + 1 : 0;

		sp->hash = pm_alloc(size * sizeof *sp->hash);
		sp->hash_mask = size - 1;
		for (size_t j = 0; j < n; j++) {
			if (!old[j])
				continue;
			h = hash_pc(sp->block[old[j] - 1].pc) & sp->hash_mask;
			while (sp->hash[h])
				h = (h + 1) & sp->hash_mask;
			sp->hash[h] = old[j];
		}
		free(old);
	}
	if (!sp->in_hash)
		sp->in_hash = pm_alloc(IN_HASH_BITS / 8);
	*in_hash_byte(sp, sp->block[i].pc) |= in_hash_bit(sp->block[i].pc);
	h = hash_pc(sp->block[i].pc) & sp->hash_mask;
	while (sp->hash[h]) {
		struct blk *b = &sp->block[sp->hash[h] - 1];

		/* a dead block's slot serves its successor */
		if (b->pc == sp->block[i].pc && (b->flags & BLK_IS_DEAD)) {
			sp->hash[h] = i + 1;
			return;
		}
		PM_INVARIANT(1, sp->hash[h] <= i);
		h = (h + 1) & sp->hash_mask;
	}
	sp->hash[h] = i + 1;
	sp->hash_n++;
}

void blocks_copy_index(struct space *sp, const struct space *from)
{
	if (!from->hash)
		return;
	sp->hash = pm_alloc((from->hash_mask + 1) * sizeof *sp->hash);
	memcpy(sp->hash, from->hash, (from->hash_mask + 1) * sizeof *sp->hash);
	sp->in_hash = memcpy(pm_alloc_unset(IN_HASH_BITS / 8), from->in_hash, IN_HASH_BITS / 8);
}

struct module *module_at(struct space *sp, uint64_t pc)
{
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (m->text.lo <= pc && pc < m->text.hi && !m->dead)
			return m;
	}
	return NULL;
}

/* Who reads a page of a mapped file for the first time gets the fifteen around it as well, who
 * writes gets one, a copy. Of a large file's blocks a run looks at a few here and there: it writes
 * first, what is there already. */
#define MANY_BLOCKS (1u << 17)

static struct blk *find_cached(struct space *sp, uint64_t pc)
{
	const struct module *m = module_at(sp, pc);
	const uint64_t off = m ? pc - m->text.lo : 0;
	uint32_t i, end;

	if (!m || !m->stored.lines || off >= m->text.len)
		return NULL;
	i = m->stored.lines[off / TARGET_LINE];
	end = m->stored.lines[off / TARGET_LINE + 1];
	end = end < m->stored.ntarget ? end : m->stored.ntarget;
	for (; i < end; i++) {
		const uint32_t no = m->stored.targets[i] % MAX_TARGETS;
		struct blk *b = &sp->block[m->stored.first_block + no];

		if (m->stored.targets[i] != target_entry(off, no) || no >= m->stored.nblock)
			continue;
		if (m->stored.nblock >= MANY_BLOCKS)
			__atomic_fetch_or(&b->code, 0, __ATOMIC_RELAXED);
		if (b->pc == pc)
			return b->flags & BLK_IS_DEAD ? NULL : b;
	}
	return NULL;
}

static struct blk *find_new(struct space *sp, uint64_t pc)
{
	if (!sp->hash || !(*in_hash_byte(sp, pc) & in_hash_bit(pc)))
		return NULL;
	for (size_t h = hash_pc(pc) & sp->hash_mask; sp->hash[h]; h = (h + 1) & sp->hash_mask) {
		struct blk *b = &sp->block[sp->hash[h] - 1];

		if (b->pc == pc)
			return b->flags & BLK_IS_DEAD ? NULL : b;
	}
	return NULL;
}

struct blk *block_find(struct space *sp, uint64_t pc)
{
	struct blk *b = find_new(sp, pc);

	return b ? b : find_cached(sp, pc);
}

const struct unit *unit_of(const struct space *sp, uint32_t block)
{
	size_t a = 0, z = sp->nunit;

	while (z - a > 1) {
		size_t mid = (a + z) / 2;

		if (sp->unit[mid].block <= block)
			a = mid;
		else
			z = mid;
	}
	return &sp->unit[a];
}

/* The counting copy (translate.h) of @b; NULL: it has none. */
struct blk *counting_copy_of(const struct space *sp, const struct blk *b)
{
	const uint32_t i = (uint32_t)(b - sp->block);
	const struct unit *u;
	struct blk *t;

	if (!sp->module[b->module].counting_copies)
		return NULL;
	u = unit_of(sp, i);
	t = &sp->block[i + u->nblock / 2];
	return i - u->block < u->nblock / 2 && t->flags & XL_COUNTS && !(t->flags & BLK_IS_DEAD)
		       ? t
		       : NULL;
}

/* Of a tree's: the call entry. */
uint64_t counting_entry(const struct space *sp, const struct blk *b)
{
	const struct blk *t = counting_copy_of(sp, b);

	if (xl_has_call_entry(b->flags) && !(b->flags & BLK_IS_DEAD))
		return sp->module[b->module].code.at + b->code - xl_call_entry(b->live);
	return t ? sp->module[t->module].code.at + t->code : 0;
}

bool space_guests(const struct blk *b)
{
	return (b->flags & (XL_READS_FLAGS | XL_JUMP_TARGET)) != XL_READS_FLAGS;
}

bool space_state(const struct space *sp, uint64_t code, uint32_t *block, const struct xl_map **map)
{
	for (size_t i = sp->nmodule; i-- > 0; ) {
		const struct module *m = &sp->module[i];
		size_t a = 0, z = m->nunit;
		uint32_t off = (uint32_t)(code - m->code.at);
		const struct unit *u;

		if (code < m->code.at || code >= m->code.at + m->code.len)
			continue;
		while (a < z) { /* the last unit that begins at or before the place */
			size_t mid = (a + z) / 2;

			if (sp->unit[m->unit[mid]].code <= off)
				a = mid + 1;
			else
				z = mid;
		}
		if (!a)
			return false;
		u = &sp->unit[m->unit[a - 1]];
		for (uint32_t k = 0; k < u->nblock; k++) {
			const struct blk *b = &sp->block[u->block + k];
			const struct xl_map *v, *best = NULL;

			if (!b->nmap && b->flags & XL_EDGE && b->n >= XL_ENTRY)
				break;			/* tens of thousands, without code */
			for (uint32_t j = 0; j < b->nmap; j++) {
				v = module_map(m, b->map + j);
				if (u->code + v->code > off)
					break;
				best = v;
			}
			if (best && (!*map || best->code > (*map)->code)) {
				*map = best;
				*block = u->block + k;
			}
		}
		return *map != NULL;
	}
	return false;
}

/* The module from whose file block or counter @i comes, beginning with a guess; NULL: it does not.
 */
static const struct module *module_of_cached(const struct space *sp, uint32_t i,
					     const struct module *guess)
{
	if (guess && i - guess->stored.first_block < guess->stored.nblock)
		return guess;
	for (uint32_t k = 0; k < sp->nmodule; k++)
		if (i - sp->module[k].stored.first_block < sp->module[k].stored.nblock)
			return &sp->module[k];
	return NULL;
}

/* In @map, a list of @m's file, of block or counter @i. A file that has been cut short says
 * anything. */
static uint32_t number_of(const struct module *m, const uint32_t *map, uint32_t i)
{
	const uint32_t to = map[i - m->stored.first_block];

	return m->stored.first_block + (to < m->stored.nblock ? to : 0);
}

uint32_t block_counter(const struct space *sp, uint32_t block, const struct module **last)
{
	const struct module *m = module_of_cached(sp, block, *last);

	if (!m || !m->stored.counters)
		return block;
	*last = m;
	return number_of(m, m->stored.counters, block);
}

uint32_t counter_block(const struct space *sp, uint32_t counter, const struct module **last)
{
	const struct module *m = module_of_cached(sp, counter, *last);

	if (!m || !m->stored.counters)
		return counter;
	*last = m;
	return number_of(m, m->stored.counted, counter);
}

void block_note_run(struct space *sp, uint32_t block, uint64_t count)
{
	const size_t words = sp->nblock / 64 + 1;

	for (unsigned k = 0; k < RAN_SETS && sp->nran_word < words; k++) {
		sp->ran_set[k] = pm_realloc(sp->ran_set[k], words * sizeof *sp->ran_set[k]);
		memset(sp->ran_set[k] + sp->nran_word, 0,
		       (words - sp->nran_word) * sizeof *sp->ran_set[k]);
	}
	if (sp->nran_word < words)
		sp->nran_word = words;
	sp->ran_set[count < OFTEN_COUNT][block / 64] |= 1ull << block % 64;
}

enum how_often block_how_often(const struct space *sp, uint32_t block)
{
	unsigned k = 0;

	while (k < RAN_SETS &&
	       !(block / 64 < sp->nran_word && sp->ran_set[k][block / 64] >> block % 64 & 1))
		k++;
	return k;
}
