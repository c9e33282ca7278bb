/* SPDX-License-Identifier: MIT */
/* space.c - code spaces: modules, blocks, links, shadows; translation on demand */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/control/session.h"
#include "collect/consume/trace.h"

#define PAGE 4096ull
#define LINE 64u
#define LARGE_UNIT (256u << 10)		/* bytes of code that there may have to be room for: few functions are */
#define MOST_READY (128u << 10)		/* bytes of code */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* Linux 5.14; before, a hint that is refused */
#endif
#define SPACE_SIZE (8ull << 30)	/* of the code file per space; virtual */
#define LINKS32_SIZE (16ull << 20)

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- commands -------------------------------------------------------------------------------------- */
void mail_cmd(struct rt_mail *m, uint64_t op, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	if (m->ncmd < RT_MAX_CMDS)
		m->cmd[m->ncmd++] = (struct rt_cmd){ op, { a, b, c, d } };
}

/* ---- spaces ---------------------------------------------------------------------------------------- */
static uint64_t space_size(const struct space *sp)
{
	return sp->i386 ? RT32_CODE_SIZE : SPACE_SIZE;
}

/* What a directory entry of the i386 shadow is where nothing is translated. */
static uint32_t no_table(uint64_t pc)
{
	return RT32_ZERO - 4 * (uint32_t)(pc & ~0xffffull);
}

/* The next piece of the code file's [*@at, @stop) that has memory, from *@at on; its end, 0: there is none. */
static uint64_t next_data(const struct session *s, uint64_t *at, uint64_t stop)
{
	const off_t from = lseek(s->code_fd, (off_t)*at, SEEK_DATA);
	off_t end;

	if (from < 0 || (uint64_t)from >= stop)
		return 0;
	end = lseek(s->code_fd, from, SEEK_HOLE);
	*at = (uint64_t)from;
	return end < 0 || (uint64_t)end > stop ? stop : (uint64_t)end;
}

/* What there is of the code file's [@at, @stop) becomes zero. */
static void clear_data(const struct session *s, uint64_t at, uint64_t stop)
{
	for (uint64_t end; at < stop && (end = next_data(s, &at, stop)); at = end)
		memset(s->code + at, 0, end - at);
}

void space_write(const struct session *s, uint64_t at, const void *p, size_t n)
{
	const uint64_t from = at & ~(PAGE - 1);

	/* one call costs less than a fault for each page */
	if (at + n - from > PAGE)
		madvise(s->code + from, at + n - from, MADV_POPULATE_WRITE);
	memcpy(s->code + at, p, n);
}

struct space *space_new(struct session *s, bool i386)
{
	struct space *sp = pm_alloc(sizeof *sp);

	sp->refs = 1;
	if (s->free_regions.n) {
		s->free_regions.n -= sizeof sp->base;
		memcpy(&sp->base, s->free_regions.p + s->free_regions.n, sizeof sp->base);
		clear_data(s, sp->base, sp->base + SPACE_SIZE);
	} else if (s->code_next + SPACE_SIZE <= RT_CODE_SIZE) {
		sp->base = s->code_next;
		s->code_next += SPACE_SIZE;
	} else {
		free(sp);
		return NULL;
	}
	sp->i386 = i386;
	sp->abi_flags = !i386 && !s->opts->strict_flags;
	if (i386) {
		uint32_t *dir = (uint32_t *)(s->code + sp->base);

		for (uint64_t k = 0; k < RT32_DIR_SIZE / 4; k++)
			dir[k] = no_table(k << 16);
		sp->next = sp->base + RT32_DIR_SIZE + LINKS32_SIZE;
		if (!s->ni386++)
			s->sampled = session_now();
	} else {
		sp->next = sp->base + 2 * RT_LINKS_SIZE;
	}
	return sp;
}

#define FIRST_BLOCKS (1u << 20)		/* reserved: 36 MiB */

/* @size bytes, the first @n of them those of @old, which had @old_size and is unmapped. */
static void *larger(void *old, size_t n, size_t old_size, size_t size)
{
	void *v = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (v == MAP_FAILED) {
		fprintf(stderr, "pugmark: out of memory\n");
		abort();
	}
	if (n)
		memcpy(v, old, n);
	if (old_size)
		munmap(old, old_size);
	return v;
}

void space_blocks(struct space *sp, size_t n)
{
	size_t cap = sp->cap_block ? sp->cap_block : FIRST_BLOCKS;

	if (n <= sp->cap_block)
		return;
	while (cap < n)
		cap *= 2;
	sp->block = larger(sp->block, sp->nblock * sizeof *sp->block, sp->cap_block * sizeof *sp->block,
			   cap * sizeof *sp->block);
	sp->flow = larger(sp->flow, sp->nblock * sizeof *sp->flow, sp->cap_block * sizeof *sp->flow,
			  cap * sizeof *sp->flow);
	sp->cap_block = cap;
}

void space_unref(struct session *s, struct space *sp)
{
	if (--sp->refs)
		return;
	cache_save(s, sp, false);
	s->ni386 -= sp->i386;
	/* nobody executes here any more */
	pm_buf_add(&s->free_regions, &sp->base, sizeof sp->base);
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (!--*m->users) {
			if (m->text && !m->shared && !s->tracer)	/* blocks of the trace are read in there */
				session_unmap(s, m->text, m->hi - m->lo, m->hi - m->lo);
			if (m->cache)
				session_unmap(s, m->cache, m->cache_size, m->cache_size);
			free(m->users);
		}
		if (m->file >= 0) {
			close(m->file);
			s->nfrozen--;
		}
		pm_map_release(&m->pages);
		pm_map_release(&m->safe);
		pm_map_release(&m->hot);
		pm_buf_release(&m->rel_pc);
		pm_buf_release(&m->rel_counter);
		pm_buf_release(&m->rel_link);
		pm_buf_release(&m->rel_place);
		pm_buf_release(&m->entered);
		free(m->read);
		free(m->entry_from);
		free(m->unit);
		free(m->map);
		free(m->used);
		free(m->filled);
		free(m->saved_used);
	}
	pm_map_release(&sp->bytes);
	pm_map_release(&sp->pending);
	pm_map_release(&sp->outside);
	pm_map_release(&sp->ends);
	free(sp->module);
	if (sp->cap_block) {
		session_unmap(s, sp->block, sp->cap_block * sizeof *sp->block, sp->nblock * sizeof *sp->block);
		session_unmap(s, sp->flow, sp->cap_block * sizeof *sp->flow, sp->nblock * sizeof *sp->flow);
	}
	free(sp->unit);
	free(sp->link);
	free(sp->ref);
	free(sp->range);
	free(sp->hash);
	free(sp->some);
	for (unsigned k = 0; k < TIERS; k++)
		free(sp->ran[k]);
	free(sp);
}

void space_range_add(struct space *sp, uint64_t lo, uint64_t hi, uint32_t prot, bool shared,
		     bool patched)
{
	pm_grow(sp->range, sp->nrange, sp->cap_range);
	sp->range[sp->nrange++] = (struct range){ lo, hi, prot, shared, patched };
}

struct range *space_range(struct space *sp, uint64_t pc)
{
	for (size_t i = 0; i < sp->nrange; i++)
		if (sp->range[i].lo <= pc && pc < sp->range[i].hi)
			return &sp->range[i];
	return NULL;
}

static void range_del(struct space *sp, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < sp->nrange; i++) {
		struct range r = sp->range[i];

		if (r.hi <= lo || hi <= r.lo)
			continue;
		sp->range[i--] = sp->range[--sp->nrange];
		if (r.lo < lo)
			space_range_add(sp, r.lo, lo, r.prot, r.shared, r.patched);
		if (hi < r.hi)
			space_range_add(sp, hi, r.hi, r.prot, r.shared, r.patched);
	}
}

/* ---- blocks by address ----------------------------------------------------------------------------- */
/* Most addresses that are looked up are not in the hash table: no block in there has their lowest bits. */
#define SOME_BITS (1u << 20)
static uint8_t *some_of(const struct space *sp, uint64_t pc)
{
	return &sp->some[pc % SOME_BITS / 8];
}

static uint8_t some_bit(uint64_t pc)
{
	return (uint8_t)(1 << pc % 8);
}

static void hash_add(struct space *sp, uint32_t i)
{
	size_t h;

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
	if (!sp->some)
		sp->some = pm_alloc(SOME_BITS / 8);
	*some_of(sp, sp->block[i].pc) |= some_bit(sp->block[i].pc);
	h = hash_pc(sp->block[i].pc) & sp->hash_mask;
	while (sp->hash[h]) {
		struct blk *b = &sp->block[sp->hash[h] - 1];

		/* a dead block's slot serves its successor */
		if (b->pc == sp->block[i].pc && (b->flags & BLK_IS_DEAD)) {
			sp->hash[h] = i + 1;
			return;
		}
		h = (h + 1) & sp->hash_mask;
	}
	sp->hash[h] = i + 1;
	sp->hash_n++;
}

static struct module *module_at(struct space *sp, uint64_t pc);

/* @b will be looked at, and hardly those beside it: where they are mapped from a file, a fault that reads maps
 * sixteen pages, one that writes makes one. */
static void touch(const struct module *m, struct blk *b)
{
	if (m->ncached >= MANY_BLOCKS)
		__asm__ volatile("orb $0, %0" : "+m" (*(uint8_t *)b));
}

static struct blk *find_cached(struct space *sp, uint64_t pc)
{
	const struct module *m = module_at(sp, pc);
	const uint64_t off = m ? pc - m->lo : 0;
	const uint32_t *v;
	uint32_t i, end;
	struct blk *b;
	size_t n;

	if (!m || !m->lines_at || off >= m->text_len)
		return NULL;
	v = cache_look(m, m->lines_at + off / TARGET_LINE * 4, &n);
	i = *v;
	v = n >= 8 ? v + 1 : cache_look(m, m->lines_at + off / TARGET_LINE * 4 + 4, &n);
	end = *v < m->ncached_target ? *v : m->ncached_target;
	while (i < end) {
		v = cache_look(m, m->targets_at + i * 4ull, &n);
		for (const uint32_t *stop = v + n / 4; v < stop && i < end; v++, i++) {
			const uint32_t no = *v % MAX_TARGETS;

			if (*v != target_entry(off, no) || no >= m->ncached)
				continue;
			b = &sp->block[m->first_cached + no];
			touch(m, b);
			if (b->pc == pc)
				return b->flags & BLK_IS_DEAD ? NULL : b;
		}
	}
	return NULL;
}

static struct blk *find_new(struct space *sp, uint64_t pc)
{
	if (!sp->hash || !(*some_of(sp, pc) & some_bit(pc)))
		return NULL;
	for (size_t h = hash_pc(pc) & sp->hash_mask; sp->hash[h]; h = (h + 1) & sp->hash_mask) {
		struct blk *b = &sp->block[sp->hash[h] - 1];

		if (b->pc == pc)
			return b->flags & BLK_IS_DEAD ? NULL : b;
	}
	return NULL;
}

static struct blk *find(struct space *sp, uint64_t pc)
{
	struct blk *b = find_new(sp, pc);

	return b ? b : find_cached(sp, pc);
}

/* The twin (translate.h) of @b; NULL: it has none. */
static struct blk *twin_of(const struct space *sp, const struct blk *b)
{
	const uint32_t i = (uint32_t)(b - sp->block);
	const struct unit *u;
	struct blk *t;

	if (!sp->module[b->module].twins)
		return NULL;
	u = unit_of(sp, i);
	t = &sp->block[i + u->nblock / 2];
	return i - u->block < u->nblock / 2 && t->flags & XL_COUNTS && !(t->flags & BLK_IS_DEAD) ? t : NULL;
}

static uint64_t twin_entry(const struct space *sp, const struct blk *b)
{
	const struct blk *t = twin_of(sp, b);

	return t ? sp->module[t->module].code + t->code : 0;
}

static void put_jump(uint8_t *at, const uint8_t *to)
{
	const uint32_t d = (uint32_t)(to - (at + 5));

	*at = 0xe9;
	memcpy(at + 1, &d, 4);
}

static uint8_t *code_ptr(struct session *s, const struct module *m, uint32_t off)
{
	return s->code + m->code_off + off;
}

/* @m's code will grow to @len: pages by the dozen, for each fault costs more than filling one. */
static void make_ready(struct session *s, struct module *m, uint64_t len)
{
	uint64_t more = m->code_len / 4, from = up(m->code_len, PAGE), to;

	if (len <= m->code_ready)
		return;
	if (from < m->code_ready)
		from = m->code_ready;
	more = more < MOST_READY ? more : MOST_READY;
	to = up(len + more, PAGE);
	m->code_ready = to < m->code_cap ? to : m->code_cap;
	if (to > from + PAGE && to <= m->code_cap)
		madvise(code_ptr(s, m, (uint32_t)from), to - from, MADV_POPULATE_WRITE);
}

/* The entry of the i386 shadow for @pc; NULL: no room for another table. */
static int32_t *shadow32(struct session *s, struct space *sp, uint64_t pc)
{
	uint32_t *dir = (uint32_t *)(s->code + sp->base) + (pc >> 16), table = *dir;

	if (table == no_table(pc)) {
		if (sp->next + RT32_TABLE_SIZE > sp->base + RT32_CODE_SIZE)
			return NULL;
		table = (uint32_t)(RT32_CODE_VAULT + (sp->next - sp->base)) - 4 * (uint32_t)(pc & ~0xffffull);
		sp->next += RT32_TABLE_SIZE;
		__atomic_store_n(dir, table, __ATOMIC_RELEASE);
	}
	return (int32_t *)(s->code + sp->base + (uint32_t)(table + 4 * (uint32_t)pc - RT32_CODE_VAULT));
}

static bool in_hole(const struct module *m, uint64_t pc)
{
	for (uint32_t i = 0; i < m->nhole; i++)
		if (m->hole[i].lo <= pc && pc < m->hole[i].hi)
			return true;
	return false;
}

void space_shadow(struct session *s, struct space *sp, struct module *m, uint64_t pc, uint64_t to)
{
	int32_t *e = NULL;

	cache_thaw(s, sp, m, false, true);

	if (sp->i386)
		e = shadow32(s, sp, pc);
	else if (m->shadowed && !in_hole(m, pc))
		e = (int32_t *)(s->code + m->shadow_off) + (pc - m->lo);
	if (e)
		__atomic_store_n(e, to ? (int32_t)(int64_t)(to - pc) : 0, __ATOMIC_RELEASE);
}

static void twin_shadow(struct session *s, const struct module *m, uint64_t pc, uint64_t to)
{
	int32_t *e = (int32_t *)(s->code + m->twin_off) + (pc - m->lo);

	__atomic_store_n(e, to ? (int32_t)(int64_t)(to - pc) : 0, __ATOMIC_RELEASE);
}

/* ---- modules --------------------------------------------------------------------------------------- */
/* Nothing of the program's is there, nor anything that we have mapped or are about to. */
static bool is_free(const struct space *sp, const struct maps *m, uint64_t lo, uint64_t hi)
{
	if (lo < 0x10000 || hi > 0x7ffffffff000ull)
		return false;
	if ((lo < RT_SHADOW + RT_SHADOW_SIZE && hi > RT_SHADOW) ||
	    (lo < RT_DATA_VAULT + RT_DATA_SIZE && hi > RT_IMAGE))
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].lo < hi && lo < m->v[i].hi)
			return false;
	for (size_t i = 0; i < sp->nmodule; i++)
		if (sp->module[i].code < hi && lo < sp->module[i].code + sp->module[i].code_cap)
			return false;
	return true;
}

/* Generators of code reserve a region and change the protection of its parts as they go: one module
 * serves the whole region. */
#define REGION (256ull << 20)
static void whole_region(const struct maps *m, uint64_t *lo, uint64_t *hi)
{
#define ANONYMOUS(x) (!(x)->ino && (x)->path[0] != '[')
	for (const struct mapping *x = m->v; x < m->v + m->n; x++)
		if (ANONYMOUS(x) && x->lo <= *hi && x->hi > *hi && x->hi - *lo <= REGION)
			*hi = x->hi;
	for (const struct mapping *x = m->v + m->n; x-- > m->v; )
		if (ANONYMOUS(x) && x->hi >= *lo && x->lo < *lo && *hi - x->lo <= REGION)
			*lo = x->lo;
#undef ANONYMOUS
}

/* A place for @size bytes such that every byte of it is within 2 GiB of every byte that code in
 * [lo, hi) can address relative to itself: within 1.5 GiB of lo. Downwards first, away from where
 * the kernel puts new mappings and from the heap behind a position-independent program. A file (@id) is
 * to be at the same distance in all programs, whatever else they map: cached code is as it was there. */
static uint64_t choose_place(const struct space *sp, const struct maps *m, uint64_t lo, uint64_t size,
			     uint64_t id)
{
	const uint64_t step = 16ull << 20, slot = 24ull << 20, slots = 40;
	const uint64_t own = (512ull << 20) + (id * 0x9e3779b97f4a7c15u >> 32) % slots * slot;

	if (id && lo >= RT_SHADOW && size <= slot && is_free(sp, m, lo - own - size, lo - own))
		return lo - own - size;

	if (lo < RT_SHADOW)		/* not position-independent: the heap grows right behind it */
		for (uint64_t at = RT_SHADOW - up(size, PAGE); at > lo; at -= step) {
			if (is_free(sp, m, at, at + size))
				return at;
			if (at < step)
				break;
		}
	for (uint64_t d = 512ull << 20; d < 1536ull << 20; d += step)
		if (lo > d + size && is_free(sp, m, lo - d - size, lo - d))
			return lo - d - size;
	for (uint64_t d = 256ull << 20; d + size < 1536ull << 20; d += step)
		if (is_free(sp, m, lo + d, lo + d + size))
			return lo + d;
	for (uint64_t d = step; d + size < 1900ull << 20; d += 1 << 20) {
		if (lo > d + size && is_free(sp, m, lo - d - size, lo - d))
			return lo - d - size;
		if (is_free(sp, m, lo + d, lo + d + size))
			return lo + d;
	}
	return 0;
}

/* ---- shadows ---------------------------------------------------------------------------------------
 * An address is looked up by its low 32 bits alone. Where two that may be executed are alike in them, an entry for one
 * would send whoever goes to the other astray: there is none for either, and each time the controller is asked. A module's
 * parts that are like anything else that may be executed are its holes: without entries, and not mapped, so that of a
 * region that is only reserved so far the rest is shadowed, and what it is like, too. */
static void punch(const struct session *s, const struct module *m, const struct hole *h)
{
	const uint64_t at = m->shadow_off + 4 * (h->lo - m->lo), n = 4 * (h->hi - h->lo);

	clear_data(s, at, at + n);
}

/* Hole @i swallows the next one. */
static void join_holes(struct module *m, uint32_t i)
{
	struct hole *h = m->hole;

	if (h[i].hi < h[i + 1].hi)
		h[i].hi = h[i + 1].hi;
	m->nhole--;
	memmove(h + i + 1, h + i + 2, (m->nhole - i - 1) * sizeof *h);
}

static void hole_add(struct session *s, struct space *sp, struct module *m, uint64_t lo, uint64_t hi)
{
	struct hole *h = m->hole;
	uint32_t i, near = 0;

	for (i = 0; i < m->nhole; i++)
		if (h[i].lo <= lo && hi <= h[i].hi)
			return;
	cache_thaw(s, sp, m, false, true);
	for (i = m->nhole++; i && h[i - 1].lo > lo; i--)
		h[i] = h[i - 1];
	h[i] = (struct hole){ lo, hi };
	for (i = 0; i + 1 < m->nhole; )
		if (h[i].hi >= h[i + 1].lo)
			join_holes(m, i);
		else
			i++;
	if (m->nhole > MAX_HOLES) {
		for (i = 1; i + 1 < m->nhole; i++)
			if (h[i + 1].lo - h[i].hi < h[near + 1].lo - h[near].hi)
				near = i;
		join_holes(m, near);
	}
	for (i = 0; i < m->nhole; i++)
		punch(s, m, &h[i]);
}

/* [@lo, @hi) may be executed: what of @m is alike? */
static void contest(struct session *s, struct space *sp, struct module *m, uint64_t lo, uint64_t hi)
{
	const uint64_t size = m->hi - m->lo;
	/* from m->lo to the first address that is like @lo */
	const uint64_t off = (uint32_t)(lo - m->lo), len = hi - lo < 1ull << 32 ? hi - lo : 1ull << 32;

	if (off < size && m->lo + off != lo)
		hole_add(s, sp, m, m->lo + off, m->lo + (off + len < size ? off + len : size));
	if (off + len > 1ull << 32 && m->lo + off - (1ull << 32) != lo) {
		const uint64_t end = off + len - (1ull << 32);

		hole_add(s, sp, m, m->lo, m->lo + (end < size ? end : size));
	}
}

void space_contest(struct session *s, struct space *sp, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < sp->nmodule; i++)
		if (sp->module[i].shadowed && !sp->module[i].dead)
			contest(s, sp, &sp->module[i], lo, hi);
}

/* The parts of @m whose shadow is mapped, each in one piece. */
#define MAX_PIECES (MAX_HOLES + 2)
static unsigned shadow_pieces(const struct module *m, struct hole piece[MAX_PIECES])
{
	const uint64_t wraps = (m->lo | UINT32_MAX) + 1;
	uint64_t lo = m->lo;
	unsigned n = 0;

	for (uint32_t i = 0; i <= m->nhole; i++) {
		const uint64_t hi = i < m->nhole ? m->hole[i].lo : m->hi;

		if (lo < wraps && wraps < hi) {
			piece[n++] = (struct hole){ lo, wraps };
			lo = wraps;
		}
		if (lo < hi)
			piece[n++] = (struct hole){ lo, hi };
		if (i < m->nhole)
			lo = m->hole[i].hi;
	}
	return n;
}

bool space_whole_shadow(const struct module *m)
{
	struct hole piece[MAX_PIECES];

	return shadow_pieces(m, piece) == 1 && !m->nhole;
}

/* Where the entry for @pc is. */
static uint64_t entry_at(uint64_t pc)
{
	return RT_SHADOW + 4 * (uint64_t)(uint32_t)pc;
}

static uint64_t shadow_at(const struct module *m)
{
	return entry_at(m->lo);
}

static uint64_t twins_at(const struct module *m)
{
	return RT_SHADOW + 4 * (uint64_t)(uint32_t)(m->lo + RT_TWIN_SHIFT);
}

/* Is there something of others where the shadow at @at of @m is to be? */
static bool shadow_taken(const struct space *sp, const struct module *m, uint64_t at)
{
	const uint64_t end = at + m->shadow_len;

	for (const struct module *o = sp->module; o < sp->module + sp->nmodule; o++) {
		if (o == m || o->dead)
			continue;
		if ((shadow_at(o) < end && at < shadow_at(o) + o->shadow_len) ||
		    (o->twins && twins_at(o) < end && at < twins_at(o) + o->shadow_len))
			return true;
	}
	return end > RT_SHADOW + RT_SHADOW_SIZE;
}

static void place_file(struct rt_mail *mail, const struct module *m, uint64_t off, uint64_t len, uint64_t at,
		       uint32_t prot)
{
	mail_cmd(mail, CMD_PLACE_FILE, off, len, at, (uint64_t)m->file << 16 | prot);
	mail->cmd[mail->ncmd - 1].a[4] = m->file_id;
}

/* Small pieces are faulted in whole: most of them is used by whoever uses them at all. */
#define SMALL_CODE (512u << 10)
#define SMALL_SHADOW (1u << 20)
#define SMALL_COUNTERS (128u << 10)

static uint32_t at_once(uint64_t len, uint64_t most)
{
	return len <= most ? RT_POPULATE : 0;
}

/* A module's code and shadow become visible in @p's address space: once the thread that asked has
 * run the commands. @over: those of another space are there. */
#define PLACE_CMDS (5 + MAX_PIECES)
static void place(const struct session *s, struct proc *p, uint32_t mi, bool over, struct rt_mail *mail)
{
	const struct module *m = &p->space->module[mi];
	const int want = PLACED | (m->frozen ? 0 : OWN_CODE) | (m->frozen_shadow ? 0 : OWN_SHADOW);
	struct hole piece[MAX_PIECES];
	int fresh;

	while (p->placed.n <= mi)
		pm_buf_add(&p->placed, "", 1);
	fresh = want & ~p->placed.p[mi];
	p->placed.p[mi] = (uint8_t)want;
	if (!fresh || p->space->i386)
		return;			/* i386: mapped from the start, or by diverge() */
	if (fresh & (PLACED | OWN_CODE))
		mail_cmd(mail, CMD_PLACE, m->code_off, m->code_cap, m->code,
			 over || !(fresh & PLACED) ? 5 | RT_OVER : 5);
	for (unsigned i = 0, n = fresh & OWN_SHADOW && m->shadowed && !m->dead ? shadow_pieces(m, piece) : 0; i < n; i++)
		mail_cmd(mail, CMD_PLACE, m->shadow_off + 4 * (piece[i].lo - m->lo), 4 * (piece[i].hi - piece[i].lo),
			 entry_at(piece[i].lo), 1 | RT_OVER);
	if (fresh & OWN_SHADOW && m->twins && !m->dead)
		mail_cmd(mail, CMD_PLACE, m->twin_off, m->shadow_len, twins_at(m), 1 | RT_OVER);
	if (fresh & PLACED && m->frozen)
		place_file(mail, m, m->file_code, m->frozen, m->code, 5 | at_once(m->frozen, SMALL_CODE));
	if (fresh & PLACED && m->frozen_shadow)
		place_file(mail, m, m->file_shadow, m->shadow_len, shadow_at(m),
			   1 | at_once(m->shadow_len, SMALL_SHADOW));
	if (fresh & PLACED && m->frozen && !s->tracer && cache_counters(m) * 8 <= SMALL_COUNTERS) {
		const uint64_t at = RT_DATA_VAULT + s->asking * RT_BLOCK_SIZE + RT_COUNTERS + 8ull * m->first_cached;

		mail_cmd(mail, CMD_ADVISE, at & ~(PAGE - 1), up((at & (PAGE - 1)) + 8ull * cache_counters(m), PAGE),
			 MADV_POPULATE_WRITE, 0);
	}
}

void space_refresh(const struct session *s, struct proc *p, struct rt_mail *mail)
{
	if (p->thawed == p->space->thawed)
		return;
	for (uint32_t i = 0; i < p->placed.n; i++) {
		if (mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			return;			/* the rest when it asks again */
		if (p->placed.p[i])
			place(s, p, i, true, mail);
	}
	p->thawed = p->space->thawed;
}

bool space_no_file(struct session *s, struct proc *p, const struct rt_cmd *cmd, uint32_t n, struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct rt_cmd undone[RT_MAX_CMDS];

	memcpy(undone, cmd, n * sizeof *cmd);	/* the mail's own */
	for (uint32_t i = 0; i < p->placed.n; i++)
		if (p->placed.p[i])
			p->placed.p[i] = PLACED;
	for (const struct rt_cmd *c = undone; c < undone + n; c++) {
		for (uint32_t i = 0; i < sp->nmodule; i++) {
			struct module *m = &sp->module[i];
			const bool code = m->code == c->a[2];

			if (c->op == CMD_PLACE_FILE && (code || shadow_at(m) == c->a[2]))
				cache_thaw(s, sp, m, true, true);
			else if (c->op == CMD_PLACE && code && !(c->a[3] & RT_OVER) && i < p->placed.n)
				p->placed.p[i] = 0;
		}
		if (c->op == CMD_UNPLACE || c->op == CMD_PROTECT)
			mail_cmd(mail, c->op, c->a[0], c->a[1], c->a[2], c->a[3]);
	}
	for (const struct rt_cmd *c = undone; c < undone + n; c++)
		for (uint32_t i = 0; i < sp->nmodule && c->op == CMD_PLACE; i++)
			if (sp->module[i].code == c->a[2] && i < p->placed.n && !p->placed.p[i])
				place(s, p, i, false, mail);
	p->thawed = sp->thawed - 1;
	space_refresh(s, p, mail);
	return mail->ncmd > 0;
}

void elf_head(int fd, struct elf_head *h)
{
	const ssize_t n = pread(fd, h->bytes, sizeof h->bytes, 0);

	h->fd = fd;
	h->n = n > 0 ? (size_t)n : 0;
}

/* Program headers are nearly always in front; tools that add some put them to the end of the file. */
static bool program_header(const struct elf_head *h, unsigned i, uint64_t off, unsigned count, unsigned each,
			   void *to, size_t size)
{
	if (each != size || i >= count)
		return false;
	off += i * size;
	if (off > h->n || h->n - off < size)
		return pread(h->fd, to, size, (off_t)off) == (ssize_t)size;
	memcpy(to, h->bytes + off, size);
	return true;
}

bool elf_segment(const struct elf_head *h, unsigned i, struct segment *g)
{
	Elf64_Ehdr h64 = { 0 };
	Elf32_Ehdr h32 = { 0 };
	Elf64_Phdr p64;
	Elf32_Phdr p32;

	if (h->n < sizeof h32 || memcmp(h->bytes, ELFMAG, SELFMAG))
		return false;
	memcpy(&h32, h->bytes, sizeof h32);
	memcpy(&h64, h->bytes, h->n < sizeof h64 ? h->n : sizeof h64);
	if (h->bytes[EI_CLASS] == ELFCLASS64) {
		if (!program_header(h, i, h64.e_phoff, h64.e_phnum, h64.e_phentsize, &p64, sizeof p64))
			return false;
		*g = (struct segment){ p64.p_type, p64.p_flags, p64.p_offset, p64.p_vaddr, p64.p_filesz };
		return true;
	}
	if (!program_header(h, i, h32.e_phoff, h32.e_phnum, h32.e_phentsize, &p32, sizeof p32))
		return false;
	*g = (struct segment){ p32.p_type, p32.p_flags, p32.p_offset, p32.p_vaddr, p32.p_filesz };
	return true;
}

/* Address in memory - address in the file, from the program header that maps @off to @lo. */
static uint64_t elf_bias(const struct elf_head *h, uint64_t lo, uint64_t off)
{
	struct segment g;

	for (unsigned i = 0; elf_segment(h, i, &g); i++)
		if (g.type == PT_LOAD && (g.flags & PF_X) && (g.off & ~(PAGE - 1)) <= off &&
		    off < g.off + g.filesz)
			return lo - (g.vaddr - g.off + off);
	return 0;
}

/* It would go on with a part of its code untraced. */
static void give_up(const struct proc *p, const char *why)
{
	fprintf(stderr, "pugmark: process %u cannot be traced any longer and is killed: %s\n", p->pid, why);
	kill((pid_t)p->pid, SIGKILL);
}

#define MAX_TEXTS 1024
#define MAX_SHARED (4u << 20)		/* bytes: a larger one is given back when its process is over */

static void map_text(struct session *s, struct module *m, int fd, const struct stat *st, size_t len)
{
	struct text *t;
	void *p;

	for (size_t i = 0; i < s->ntext; i++) {
		t = &s->text[i];
		if (t->st.st_dev == st->st_dev && t->st.st_ino == st->st_ino && t->st.st_size == st->st_size &&
		    !memcmp(&t->st.st_mtim, &st->st_mtim, sizeof st->st_mtim) &&
		    !memcmp(&t->st.st_ctim, &st->st_ctim, sizeof st->st_ctim) && t->off == m->file_off &&
		    t->len == len) {
			m->text = t->p;
			m->shared = (uint32_t)i + 1;
			return;
		}
	}
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, (off_t)m->file_off);
	if (p == MAP_FAILED)
		return;
	m->text = p;
	if (s->ntext == MAX_TEXTS || len > MAX_SHARED)
		return;
	pm_grow(s->text, s->ntext, s->cap_text);
	s->text[s->ntext++] = (struct text){ .st = *st, .off = m->file_off, .len = len, .p = p };
	m->shared = (uint32_t)s->ntext;
}

unsigned space_threads(const struct session *s, const struct proc *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->nproc; i++)
		for (size_t k = 0; s->proc[i]->mm == p && k < s->proc[i]->nthread; k++)
			n += s->proc[i]->thread[k].live;
	return n;
}

/* i386: the room of a module that gave it back, for @m. */
static bool take_room(struct space *sp, struct module *m, uint64_t size)
{
	for (struct module *o = sp->module; o < m; o++) {
		if (o->room < size)
			continue;
		m->code = o->code;
		m->code_off = o->code_off;
		m->code_cap = o->room;
		o->room = 0;
		return true;
	}
	return false;
}

static bool is_point(const struct session *s, uint64_t at)
{
	const uint64_t *v = (const uint64_t *)(const void *)s->point.p;

	for (size_t i = 0; i < s->point.n / sizeof *v; i++)
		if (v[i] == at)
			return true;
	return false;
}

static void note_points(struct session *s, const struct module *m)
{
	uint64_t at[2];
	const unsigned n = m->twins ? pm_pipeline_points(s->opts->pipeline, m->path, m->bias, at) : 0;

	for (unsigned i = 0; i < n; i++)
		if (!is_point(s, at[i]))
			pm_buf_add(&s->point, &at[i], sizeof at[i]);
}

static struct module *module_new(struct session *s, struct proc *p, const struct range *r, uint64_t pc,
				 struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m;
	const struct mapping *at;
	struct elf_head head;
	uint64_t lo = r->lo, hi = r->hi, size;
	bool generated;
	int fd = -1;

	if (!s->maps_good)
		maps_read(session_asking(s), &s->maps);
	at = maps_at(&s->maps, pc);
	/* the part of the range that is one mapping and that no module has yet */
	if (at) {
		if (at->lo > lo)
			lo = at->lo;
		if (at->hi < hi)
			hi = at->hi;
	}
	generated = (r->prot & 2) || r->patched || !at || !at->ino;
	if (at && !strcmp(at->path, "[vdso]"))
		generated = false;
	if (generated && (!at || !at->ino))
		whole_region(&s->maps, &lo, &hi);
	for (size_t i = 0; i < sp->nmodule; i++) {
		const struct module *o = &sp->module[i];

		if (o->dead)
			continue;
		if (o->hi <= pc && o->hi > lo)
			lo = o->hi;
		if (o->lo > pc && o->lo < hi)
			hi = o->lo;
	}
	pm_grow(sp->module, sp->nmodule, sp->cap_module);
	m = &sp->module[sp->nmodule++];
	*m = (struct module){ .lo = lo, .hi = hi, .shadowed = !sp->i386, .file = -1 };
	m->users = pm_alloc(sizeof *m->users);
	*m->users = 1;
	m->generated = generated;
	if (r->shared && at && (!at->path[0] || strstr(at->path, "(deleted)") || !strncmp(at->path, "/dev/", 5) ||
				(r->prot & 2)))
		m->generated = m->check = true;
	m->path = pm_arena_strdup(&s->mem, at && at->path[0] ? at->path : "[anon]");
	m->dev = at ? at->dev : 0;
	m->ino = at ? at->ino : 0;
	m->file_off = at ? at->off + (lo - at->lo) : 0;
	m->absolute = hi < 0x70000000 && !sp->i386;
	if (!m->generated && m->ino) {
		struct stat st;

		fd = open(m->path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &st) && st.st_dev == m->dev && st.st_ino == m->ino &&
		    (uint64_t)st.st_size > m->file_off) {
			size_t len = (size_t)(hi - lo), have = (size_t)st.st_size - m->file_off;

			map_text(s, m, fd, &st, len);
			m->text_len = !m->text ? 0 : len < have ? len : have;
			elf_head(fd, &head);
			m->bias = elf_bias(&head, lo, m->file_off);
			m->st = st;
		}
	}
	size = up((hi - lo) * (m->generated ? 12 : s->counts ? 10 : 6) + (1 << 20), 1 << 16);
	if (size > (sp->i386 ? m->generated ? 32ull << 20 : 200ull << 20 : 400ull << 20))
		size = sp->i386 ? m->generated ? 32ull << 20 : 200ull << 20 : 400ull << 20;
	if (!sp->i386)			/* most of a large library is never executed: less will do */
		while (!(m->code = choose_place(sp, &s->maps, lo, size, m->text ? m->ino + m->file_off : 0)) &&
		       size / 2 > hi - lo)
			size = up(size / 2, 1 << 16);
	if (!sp->i386 || !take_room(sp, m, size)) {
		if (sp->i386)
			m->code = RT32_CODE_VAULT + (sp->next - sp->base);
		m->code_cap = size;
		m->code_off = sp->next;
		sp->next += size;
	}
	if (!sp->i386) {
		m->shadow_len = up((hi - lo) * 4, PAGE);
		m->shadow_off = sp->next;
		sp->next += up(m->shadow_len, 1 << 16);
	}
	if (s->counts && m->shadowed && shadow_taken(sp, m, shadow_at(m)))
		m->shadowed = false;
	if (s->counts && m->shadowed && !m->generated && !shadow_taken(sp, m, twins_at(m))) {
		m->twins = true;
		m->twin_off = sp->next;
		sp->next += up(m->shadow_len, 1 << 16);
	}
	if (!m->code || sp->next > sp->base + space_size(sp)) {
		if (fd >= 0)
			close(fd);
		m->dead = true;
		give_up(p, sp->i386 ? "more code than there is room to translate in a 32-bit program" :
			"more code than there is room to translate near it");
		return NULL;
	}
	note_points(s, m);
	for (size_t i = 0; i < sp->nrange && m->shadowed; i++)
		contest(s, sp, m, sp->range[i].lo, sp->range[i].hi);
	/* another thread could find its next descriptor taken */
	if (m->text)
		cache_load(s, sp, (uint32_t)(m - sp->module), fd, &head, space_threads(s, p) == 1);
	place(s, p, (uint32_t)(m - sp->module), false, mail);
	if (fd >= 0)
		close(fd);
	return &sp->module[sp->nmodule - 1];
}

static struct module *module_at(struct space *sp, uint64_t pc)
{
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (m->lo <= pc && pc < m->hi && !m->dead)
			return m;
	}
	return NULL;
}

/* ---- links ----------------------------------------------------------------------------------------- */
/* Displacements are patched while other threads execute them: one store, within a cache line. */
static void put32(uint8_t *at, uint32_t v)
{
	__atomic_store((uint32_t *)at, &v, __ATOMIC_RELEASE);
}

static void link_patch(struct session *s, struct space *sp, struct link *l, uint64_t to)
{
	struct module *m = &sp->module[l->module];
	int64_t d = (int64_t)(to - (m->code + l->site + 4));

	uint64_t *shortcut = l->site < m->frozen ? space_shortcut(s, sp, (size_t)(l - sp->link)) : NULL;

	if (!m->code_cap)			/* given back */
		return;
	if (shortcut) {
		__atomic_store_n(shortcut, to, __ATOMIC_RELEASE);
		return;
	}
	if (d == (int32_t)d || sp->i386)
		put32(code_ptr(s, m, l->site), (uint32_t)d);
	l->done = true;
}

/* Copying a module's code is worth it: a thread has gone by shortcuts for long. */
static void melt(struct session *s, struct space *sp, uint32_t mi)
{
	cache_thaw(s, sp, &sp->module[mi], true, false);
	for (size_t i = 0; i < sp->nlink; i++) {
		uint64_t *shortcut = sp->link[i].module == mi ? space_shortcut(s, sp, i) : NULL;

		if (shortcut && *shortcut) {
			link_patch(s, sp, &sp->link[i], *shortcut);
			*shortcut = 0;
		}
	}
}

/* Link @i is to be patched as soon as there is a block at its target. */
static void link_wait(struct space *sp, uint32_t i)
{
	uint64_t *head = pm_map_put(&sp->pending, sp->link[i].target, NULL);

	for (uint32_t k = (uint32_t)*head; k; k = sp->link[k - 1].next)
		if (k == i + 1)
			return;
	sp->link[i].next = (uint32_t)*head;
	*head = i + 1;
}

static uint32_t link_add(struct session *s, struct space *sp, uint32_t module, uint64_t target,
			 uint32_t site, uint32_t stub, bool twin, bool stale)
{
	uint64_t *table = space_links(s, sp);
	uint32_t i = (uint32_t)sp->nlink;

	pm_grow(sp->link, sp->nlink, sp->cap_link);
	sp->link[sp->nlink++] = (struct link){ target, module, site, stub, 0, false, twin, stale };
	if (i < (sp->i386 ? LINKS32_SIZE : RT_LINKS_SIZE) / 8)
		table[i] = target;
	if (sp->module[module].lo <= target && target < sp->module[module].hi)
		link_wait(sp, i);
	return i;
}

/* @twin: where those of twins lead; 0: nowhere. */
static void links_resolved(struct session *s, struct space *sp, uint64_t pc, uint64_t to, uint64_t twin)
{
	uint64_t *head = sp->pending.n ? pm_map_get(&sp->pending, pc) : NULL;

	if (!head)
		return;
	for (uint32_t i = (uint32_t)*head; i; i = sp->link[i - 1].next) {
		struct link *l = &sp->link[i - 1];

		if (!l->twin || twin)
			link_patch(s, sp, l, l->twin ? twin : to);
	}
	pm_map_del(&sp->pending, pc);
}

/* ---- entries for outsiders -------------------------------------------------------------------------- */
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

/* Counts an entry into, or with @by -1 takes back one into, the class from which closed block @i is
 * entered. Returns the length of the code at @at in the module. */
static size_t count_entry(struct session *s, struct space *sp, uint32_t i, uint32_t live, int by,
			  uint32_t at)
{
	struct module *m = &sp->module[sp->block[i].module];
	const struct module *last = m;
	uint32_t field[2], counter = block_counter(sp, unit_of(sp, i)->block + sp->flow[i].in, &last);
	unsigned n;
	size_t len = xl_count(code_ptr(s, m, at), sp->i386, live, counter, by, field, &n);

	for (unsigned k = 0; k < n; k++) {
		field[k] += at;
		pm_buf_add(&m->rel_counter, &field[k], 4);
	}
	return len;
}

/* Where to enter @b from outside its unit; 0: there is no place yet. */
static uint64_t outside_entry(struct space *sp, const struct blk *b)
{
	const struct module *m = &sp->module[b->module];
	uint32_t i = (uint32_t)(b - sp->block);
	const uint64_t *at;

	if (!(b->flags & BLK_CLOSED))
		return m->code + b->code;
	at = pm_map_get(&sp->outside, i);
	return at ? m->code + *at - 1 : 0;
}

static uint64_t need_outside_entry(struct session *s, struct space *sp, const struct blk *b)
{
	struct module *m = &sp->module[b->module];
	uint64_t to = outside_entry(sp, b);
	uint32_t at = (uint32_t)m->code_len;
	uint8_t *p;

	if (to)
		return to;
	if (m->code_cap - at < 64)
		return m->code + b->code;	/* never: translate() leaves room, and counts all at last */
	p = code_ptr(s, m, at);
	p += count_entry(s, sp, (uint32_t)(b - sp->block), b->live, 1, at);
	put_jump(p, code_ptr(s, m, b->code));
	m->code_len = up((uint32_t)(p + 5 - code_ptr(s, m, 0)), 16);
	*pm_map_put(&sp->outside, (uint64_t)(b - sp->block), NULL) = at + 1;
	return m->code + at;
}

static bool is_pending(const struct space *sp, uint64_t pc)
{
	return sp->pending.n && pm_map_get(&sp->pending, pc);
}

/* ---- translation ----------------------------------------------------------------------------------- */
struct reading {
	struct session *s;
	struct proc *p;
	struct module *m;
	/* What was read stays where it is until reading_end(): the translator keeps pointers. */
	struct window {
		struct window *next;
		uint64_t at;		/* buf holds [at, at + have) */
		size_t have;
		uint8_t buf[3 * PAGE];
	} *window;
};

static void reading_end(struct reading *r)
{
	while (r->window) {
		struct window *next = r->window->next;

		free(r->window);
		r->window = next;
	}
}

/* What the process has at @addr; nothing of @hi and behind. */
static const uint8_t *read_process(struct reading *r, uint64_t addr, uint64_t hi, size_t *avail)
{
	struct window *w;
	ssize_t got;

	for (w = r->window; w; w = w->next)
		if (addr >= w->at && (addr + 16 <= w->at + w->have ||
				      (w->have < sizeof w->buf && addr < w->at + w->have)))
			break;
	if (!w) {
		w = pm_alloc(sizeof *w);
		w->at = addr & ~(PAGE - 1);
		w->next = r->window;
		r->window = w;
		got = session_read(r->s, w->buf, w->at, sizeof w->buf < hi - w->at ? sizeof w->buf : (size_t)(hi - w->at));
		w->have = got > 0 ? (size_t)got : 0;
	}
	if (addr >= w->at + w->have) {
		*avail = 0;
		return NULL;
	}
	*avail = (size_t)(w->at + w->have - addr);
	return w->buf + (addr - w->at);
}

static const uint8_t *read_code(void *ctx, uint64_t addr, size_t *avail)
{
	struct reading *r = ctx;

	if (r->m->text && addr - r->m->lo < r->m->text_len) {
		*avail = r->m->text_len - (size_t)(addr - r->m->lo);
		return r->m->text + (addr - r->m->lo);
	}
	return read_process(r, addr, r->m->hi, avail);
}

static const uint8_t *read_data(void *ctx, uint64_t addr, size_t *avail)
{
	return read_process(ctx, addr, UINT64_MAX, avail);
}

static uint64_t likely_target(void *ctx, uint64_t slot)
{
	const struct reading *r = ctx;

	return slot_target(r->s, r->m, slot);
}

static bool known_block(void *ctx, uint64_t addr, struct xl_known *out)
{
	struct reading *r = ctx;
	struct blk *b = find(r->p->space, addr);

	if (!b)
		return false;
	out->code = outside_entry(r->p->space, b);
	out->twin = twin_entry(r->p->space, b);
	out->live = b->live;
	out->reads_flags = b->flags & XL_READS_FLAGS;
	return true;
}

static bool is_function(void *ctx, uint64_t addr)
{
	(void)ctx;
	(void)addr;
	return false;
}

bool space_guests(const struct blk *b)
{
	return (b->flags & (XL_READS_FLAGS | XL_JUMP_TARGET)) != XL_READS_FLAGS;
}

/* Enter a finished unit into the tables. Returns the number of its first block. */
static uint32_t unit_add(struct session *s, struct proc *p, uint32_t mi, const struct xl_unit *u,
			 bool once)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];
	uint32_t first = (uint32_t)sp->nblock, ui = (uint32_t)sp->nunit, link0 = (uint32_t)sp->nlink;
	uint32_t base = (uint32_t)m->code_len, map0 = (uint32_t)(m->ncached_map + m->nmap);
	uint32_t number = s->tracer ? trace_next(s) : 0;
	uint8_t *code = code_ptr(s, m, base);

	for (size_t i = 0; i < u->nlink; i++)
		link_add(s, sp, mi, u->link[i].target, base + u->link[i].site,
			 base + u->link[i].stub, u->link[i].twin, u->link[i].stale);
	make_ready(s, m, base + u->ncode);
	memcpy(code, u->code, u->ncode);
	for (size_t i = 0; i < u->nreloc; i++) {
		const struct xl_reloc *r = &u->reloc[i];
		const uint32_t at = base + r->at;
		uint32_t v;

		switch (r->kind) {
		case XL_REL_COUNTER:
			v = RT_COUNTERS + xl_counter_size(sp->i386) * (first + r->addend);
			pm_buf_add(&m->rel_counter, &at, 4);
			break;
		case XL_REL_BLOCK:
			v = RT_RECORD(number + r->addend, u->block[r->addend].record);
			pm_buf_add(&m->rel_counter, &at, 4);
			break;
		case XL_REL_LINK:
			v = link0 + r->addend;
			pm_buf_add(&m->rel_link, &at, 4);
			break;
		case XL_REL_PC32:
			pm_buf_add(&m->rel_pc, &at, 4);
			continue;
		case XL_REL_PLACE:
			pm_buf_add(&m->rel_place, &at, 4);
			continue;
		default:
			continue;
		}
		memcpy(code + r->at, &v, 4);
	}
	m->code_len = up(base + u->ncode, LINE);	/* a function's entry begins a line of the cache */
	while (m->cap_map < m->nmap + u->nmap) {
		m->cap_map = m->cap_map ? m->cap_map * 2 : 512;
		m->map = pm_realloc(m->map, m->cap_map * sizeof *m->map);
	}
	memcpy(m->map + m->nmap, u->map, u->nmap * sizeof *u->map);
	m->nmap += u->nmap;
	pm_grow(sp->unit, sp->nunit, sp->cap_unit);
	sp->unit[sp->nunit++] = (struct unit){ mi, base, (uint32_t)u->ncode, first,
					       (uint32_t)u->nblock, number, once };
	pm_grow(m->unit, m->nunit, m->cap_unit);
	m->unit[m->nunit++] = ui;
	m->nblock += u->nblock;
	for (size_t i = 0; i < u->nblock; i++) {
		const struct xl_block *x = &u->block[i];
		struct blk *b;

		space_blocks(sp, sp->nblock + 1);
		sp->flow[sp->nblock] = x->flow;
		if (s->tracer)
			sp->flow[sp->nblock].out = x->prev == XL_NONE ? XL_OPEN : (uint16_t)x->prev;
		b = &sp->block[sp->nblock];
		*b = (struct blk){
			.pc = x->pc, .code = base + x->code,
			.indirect = x->indirect == XL_NONE ? XL_NONE : base + x->indirect,
			.size = (uint16_t)x->size, .live = x->live, .map = map0 + x->map,
			.nmap = (uint16_t)x->nmap, .n = (uint8_t)x->n,
			.flags = x->flags | (x->flow.in == XL_OPEN ? 0 : BLK_CLOSED),
			.module = (uint16_t)mi, .record = (uint16_t)x->record,
		};
		if (!m->text) {
			struct reading r = { s, p, m, NULL };
			uint8_t *copy = pm_arena_alloc(&s->mem, x->size);
			size_t avail, done = 0;

			while (done < x->size) {
				const uint8_t *t = read_code(&r, x->pc + done, &avail);

				if (!t)
					break;
				if (avail > x->size - done)
					avail = x->size - done;
				memcpy(copy + done, t, avail);
				done += avail;
			}
			reading_end(&r);
			*pm_map_put(&sp->bytes, sp->nblock, NULL) = (uint64_t)(uintptr_t)copy;
		}
		sp->nblock++;
	}
	if (s->tracer)
		trace_numbers(s, sp, first, (uint32_t)u->nblock);
	/* from here on it can be executed */
	for (uint32_t i = first; i < sp->nblock && !once; i++) {
		const struct blk *b = &sp->block[i];

		if (block_continues(s, sp, i))
			continue;
		if (b->flags & XL_COUNTS) {
			if (b->indirect != XL_NONE && space_guests(b))
				twin_shadow(s, m, b->pc, m->code + b->indirect);
			continue;
		}
		hash_add(sp, i);
		if (b->indirect != XL_NONE && space_guests(b))
			space_shadow(s, sp, m, b->pc, m->code + b->indirect);
		if (is_pending(sp, b->pc))
			links_resolved(s, sp, b->pc, need_outside_entry(s, sp, b), twin_entry(sp, b));
		if (m->generated && !m->check)
			for (uint64_t page = b->pc & ~(PAGE - 1); page < b->pc + b->size; page += PAGE) {
				uint64_t *head = pm_map_put(&m->pages, page, NULL);

				pm_grow(sp->ref, sp->nref, sp->cap_ref);
				sp->ref[sp->nref++] = (struct pageref){ i, (uint32_t)*head };
				*head = sp->nref;
			}
	}
	/* links to what exists, but had no entry for outsiders */
	for (size_t i = link0; i < sp->nlink; i++) {
		uint64_t target = sp->link[i].target;
		const struct blk *b = is_pending(sp, target) ? find(sp, target) : NULL;

		if (b && b->module == mi)
			links_resolved(s, sp, target, need_outside_entry(s, sp, b), twin_entry(sp, b));
	}
	space_close(s, sp, first, (uint32_t)u->nblock);
	return first;
}

/* Would a link between what there is and @u carry flags that must not pass? What waits for a block of it, and what
 * it has to link to: the translator may not have been able to see that. */
static bool breaks_abi(const struct space *sp, const struct xl_unit *u)
{
	for (size_t i = 0; i < u->nblock && sp->pending.n; i++) {
		const uint64_t *head;

		if (!(u->block[i].flags & XL_READS_FLAGS))
			continue;
		head = pm_map_get(&sp->pending, u->block[i].pc);
		for (uint32_t k = head ? (uint32_t)*head : 0; k; k = sp->link[k - 1].next)
			if (sp->link[k - 1].stale)
				return true;
	}
	return u->breaks_abi;
}

#define JUMP_SIZE 5u			/* bytes of put_jump() */
#define DEAD_END_SIZE 128		/* bytes that killing a block may take, at most */

static uint32_t take(struct session *s, struct proc *p, uint32_t mi, uint64_t pc);

/* What a large unit took is given back. */
static void rest(struct session *s)
{
	if (s->unit.cap_code <= LARGE_UNIT)
		return;
	xl_unit_release(&s->unit);
	xl_rest();
	pm_heap_rest();
}

static uint32_t translate(struct session *s, struct proc *p, uint32_t mi, uint64_t pc, uint64_t lo,
			  uint64_t hi, bool check, bool once)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];
	struct reading r = { s, p, m, NULL };
	struct xl_input in = {
		.kind = s->opts->kind, .i386 = sp->i386, .entry = pc, .lo = lo, .hi = hi,
		.place = m->code + m->code_len, .absolute = m->absolute,
		.patchable = m->generated, .check_bytes = check, .twins = m->twins && !once,
		.abi_flags = sp->abi_flags && !once,
		.max_insns = once ? 1 : 0, .max_blocks = once ? 1 : 0,
		.read = read_code, .data = m->text && !once ? read_data : NULL, .known = known_block, .function = is_function,
		.likely = m->text && !once && !sp->i386 ? likely_target : NULL, .ctx = &r,
	};
	uint32_t first;

	if (m->code_cap - m->code_len < (256 << 10) + (m->generated ? 65536 : 0)) {
		/* out of room: only a generator that rewrites itself for ever gets here */
		in.max_blocks = 16;
		in.count_all = true;
		m->full = m->code_cap - m->code_len < 32768 + DEAD_END_SIZE * (m->nblock + m->ncached);
		if (m->full)
			return XL_NONE;
	}
	if (sp->i386 && !s->tracer && sp->nblock + (in.max_blocks ? in.max_blocks : 4096) > RT32_MAX_COUNTERS) {
		give_up(p, "more blocks than there are counters for in a 32-bit program");
		return XL_NONE;
	}
	if (m->addenda && !once && !in.max_blocks) {
		first = take(s, p, mi, pc);
		if (first != XL_NONE)
			return first;
		in.place = sp->module[mi].code + sp->module[mi].code_len;	/* it may have taken others */
	}
	xl_translate(&in, &s->unit);
	reading_end(&r);
	if (in.abi_flags && breaks_abi(sp, &s->unit)) {
		sp->abi_broken = true;
		return XL_NONE;
	}
	if (!s->unit.nblock)
		return XL_NONE;
	m->full = s->unit.ncode > m->code_cap - m->code_len;
	if (m->full)
		return XL_NONE;
	if (m->addenda && !once && !in.max_blocks)
		addenda_note(s, m->addenda, m, &s->unit);
	first = unit_add(s, p, mi, &s->unit, once);
	s->ahead += s->unit.nblock;
	rest(s);
	return first;
}

/* ---- units from earlier runs: addenda.c --------------------------------------------------------------- */
#define MOST_WAITING 16u		/* units, each for the next one */

/* Everything that s->unit goes on to in other units is there, or is taken now; *@other: that has made another unit of it. False: it
 * is not as it was. */
static bool take_others(struct session *s, struct proc *p, uint32_t mi, bool *other)
{
	struct space *sp = p->space;
	const uint64_t lo = sp->module[mi].lo;

	*other = false;
	for (size_t i = 0; i < s->unit.nreloc; i++) {
		const struct xl_reloc r = s->unit.reloc[i];
		const uint64_t to = lo + (r.addend & ~XL_TWIN);
		const struct blk *b;

		if (r.kind != XL_REL_CODE32)
			continue;
		b = find(sp, to);
		if (!b) {
			*other = true;
			return take(s, p, mi, to) != XL_NONE && find(sp, to);
		}
		/* whether flags may go there has been looked at for another block */
		if (b->module != mi || (b->flags & XL_READS_FLAGS) || (r.addend & XL_TWIN && !twin_entry(sp, b)))
			return false;
		need_outside_entry(s, sp, b);
	}
	return true;
}

/* s->unit, which was for a place that was @distance from the text, becomes one for the end of @m's code. */
static bool move_unit(struct session *s, struct space *sp, struct module *m, int64_t distance)
{
	const uint64_t place = m->code + m->code_len;
	const uint32_t by = (uint32_t)(int64_t)(place - m->lo - (uint64_t)distance);
	struct xl_unit *u = &s->unit;

	for (size_t i = 0; i < u->nreloc; i++) {
		const struct xl_reloc *r = &u->reloc[i];
		uint8_t *field = u->code + r->at;
		uint32_t v;

		if (r->kind == XL_REL_PC32) {
			memcpy(&v, field, sizeof v);
			v -= by;
		} else if (r->kind == XL_REL_CODE32) {
			const struct blk *b = find(sp, m->lo + (r->addend & ~XL_TWIN));
			const uint64_t to = r->addend & XL_TWIN ? twin_entry(sp, b) : outside_entry(sp, b);
			const int64_t d = (int64_t)(to - (place + r->at + 4));

			if (d != (int32_t)d)
				return false;
			v = (uint32_t)d;
		} else {
			continue;
		}
		memcpy(field, &v, sizeof v);
	}
	return true;
}

/* The unit with its entry at @pc as an earlier run has left it; XL_NONE: there is none, or not of use. */
static uint32_t take(struct session *s, struct proc *p, uint32_t mi, uint64_t pc)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];
	const uint32_t off = (uint32_t)(pc - m->lo);
	const struct blk *b;
	int64_t distance;
	uint32_t first;
	bool good, other;

	if (s->taking == MOST_WAITING)
		return XL_NONE;
	s->taking++;
	do {
		good = addenda_read(m->addenda, m, off, &s->unit, &distance) && take_others(s, p, mi, &other);
	} while (good && other);
	s->taking--;
	b = find(sp, pc);		/* in one of the others */
	if (b)
		return (uint32_t)(b - sp->block);
	if (!good || s->unit.ncode + LINE > m->code_cap - m->code_len)
		return XL_NONE;
	/* it moves by whole lines only; what is left out belongs to nobody */
	m->code_len += (uint64_t)(distance - (int64_t)(m->code + m->code_len - m->lo)) % LINE;
	if (!move_unit(s, sp, m, distance) || (sp->abi_flags && breaks_abi(sp, &s->unit)))
		return XL_NONE;
	first = unit_add(s, p, mi, &s->unit, false);
	m->taken += s->unit.ncode;
	m->ntaken++;
	s->cached += s->unit.nblock;
	rest(s);
	return first;
}

void space_take_all(struct session *s, struct space *sp, uint32_t mi)
{
	struct proc nobody = { .space = sp };
	uint32_t pc;

	for (size_t i = 0; addenda_next(sp->module[mi].addenda, &i, &pc); ) {
		const struct module *m = &sp->module[mi];

		if (!find(sp, m->lo + pc) && m->code_cap - m->code_len > m->code_cap / 2)
			take(s, &nobody, mi, m->lo + pc);
	}
}

/* Does link @i of module @mi wait for code that may be made ahead? */
static bool is_waiting(struct space *sp, uint32_t mi, size_t i)
{
	const struct module *m = &sp->module[mi];
	const struct link *l = &sp->link[i];

	return !l->done && l->module == mi && m->lo <= l->target && l->target < m->hi && !find(sp, l->target) &&
	       m->code_cap - m->code_len > m->code_cap / 2;
}

/* What the code behind links [from, to) calls or goes to will mostly be wanted, now or when the program has
 * another input: a request costs more than a function, and many of those that earlier runs have left. Only for what is
 * kept in a file. */
static void translate_ahead(struct session *s, struct proc *p, uint32_t mi, size_t from, size_t to)
{
	struct space *sp = p->space;

	for (size_t i = from; i < sp->nlink && sp->module[mi].addenda; i++)
		if (is_waiting(sp, mi, i))
			take(s, p, mi, sp->link[i].target);
	for (size_t i = from; i < to; i++)
		if (is_waiting(sp, mi, i))
			translate(s, p, mi, sp->link[i].target, sp->module[mi].lo, sp->module[mi].hi, false, false);
	sp->abi_broken = false;			/* which may never be executed */
}

/* ---- divergence ------------------------------------------------------------------------------------- */
/* Only what was ever touched of the code file is worth copying. */
static void copy_data(struct session *s, uint64_t from, uint64_t to, uint64_t len)
{
	for (uint64_t at = from, stop = from + len, end; at < stop && (end = next_data(s, &at, stop)); at = end)
		space_write(s, to + (at - from), s->code + at, end - at);
}

static struct space *space_clone(struct session *s, const struct space *from)
{
	struct space *sp = space_new(s, from->i386);
	struct space keep;
	uint64_t shift, bkey, bval;

	if (!sp)
		return NULL;
	keep = *sp;
	shift = keep.base - from->base;

#define DUP(field, count, cap) do {							\
		sp->field = pm_alloc((from->count ? from->count : 1) * sizeof *sp->field);	\
		memcpy(sp->field, from->field, from->count * sizeof *sp->field);		\
		sp->cap = from->count ? from->count : 1;					\
	} while (0)
	*sp = *from;
	sp->refs = 1;
	sp->base = keep.base;
	sp->next = from->next + shift;
	DUP(module, nmodule, cap_module);
	sp->block = NULL;
	sp->flow = NULL;
	sp->nblock = sp->cap_block = 0;
	space_blocks(sp, from->nblock);
	memcpy(sp->block, from->block, from->nblock * sizeof *sp->block);
	memcpy(sp->flow, from->flow, from->nblock * sizeof *sp->flow);
	sp->nblock = from->nblock;
	DUP(unit, nunit, cap_unit);
	DUP(link, nlink, cap_link);
	DUP(ref, nref, cap_ref);
	DUP(range, nrange, cap_range);
#undef DUP
	if (from->hash) {
		sp->hash = pm_alloc((from->hash_mask + 1) * sizeof *sp->hash);
		memcpy(sp->hash, from->hash, (from->hash_mask + 1) * sizeof *sp->hash);
		sp->some = memcpy(pm_alloc_unset(SOME_BITS / 8), from->some, SOME_BITS / 8);
	}
	sp->bytes = (struct pm_map){ 0 };
	for (size_t j = 0; pm_map_next(&from->bytes, &j, &bkey, &bval); )
		*pm_map_put(&sp->bytes, bkey, NULL) = bval;
	for (unsigned k = 0; k < TIERS; k++)
		sp->ran[k] = NULL;
	sp->nran = 0;
	sp->outside = (struct pm_map){ 0 };
	for (size_t j = 0; pm_map_next(&from->outside, &j, &bkey, &bval); )
		*pm_map_put(&sp->outside, bkey, NULL) = bval;
	sp->ends = (struct pm_map){ 0 };
	for (size_t j = 0; pm_map_next(&from->ends, &j, &bkey, &bval); )
		*pm_map_put(&sp->ends, bkey, NULL) = bval;
	sp->pending = (struct pm_map){ 0 };
	for (size_t i = 0, n; i < from->nlink; i++) {
		uint64_t *head;

		n = i;
		if (from->link[n].done || !pm_map_get(&from->pending, from->link[n].target))
			continue;
		head = pm_map_put(&sp->pending, from->link[n].target, NULL);
		sp->link[n].next = (uint32_t)*head;
		*head = n + 1;
	}
	if (from->i386)
		copy_data(s, from->base, sp->base, from->next - from->base);
	else
		memcpy(space_links(s, sp), space_links(s, from), from->nlink * 8);
	for (size_t i = 0; i < from->nmodule; i++) {
		struct module *m = &sp->module[i];
		const struct module *o = &from->module[i];
		uint64_t key, val;

		++*m->users;
		m->file = -1;
		m->read = NULL;
		m->entry_from = cache_copy_entries(o);
		m->frozen = 0;
		m->code_off += shift;
		m->shadow_off += shift;
		m->twin_off += shift;
		m->unit = pm_alloc((o->nunit ? o->nunit : 1) * sizeof *m->unit);
		memcpy(m->unit, o->unit, o->nunit * sizeof *m->unit);
		m->cap_unit = o->nunit ? o->nunit : 1;
		m->map = pm_alloc((o->nmap ? o->nmap : 1) * sizeof *m->map);
		memcpy(m->map, o->map, o->nmap * sizeof *m->map);
		m->cap_map = o->nmap ? o->nmap : 1;
		m->rel_pc = m->rel_counter = m->rel_link = m->rel_place = m->entered = (struct pm_buf){ 0 };
		pm_buf_add(&m->rel_pc, o->rel_pc.p, o->rel_pc.n);
		pm_buf_add(&m->rel_counter, o->rel_counter.p, o->rel_counter.n);
		pm_buf_add(&m->rel_link, o->rel_link.p, o->rel_link.n);
		pm_buf_add(&m->rel_place, o->rel_place.p, o->rel_place.n);
		pm_buf_add(&m->entered, o->entered.p, o->entered.n);
		m->used = o->used ? memcpy(pm_alloc(shadow_bits(o)), o->used, shadow_bits(o)) : NULL;
		m->filled = o->filled ? memcpy(pm_alloc(shadow_bits(o)), o->filled, shadow_bits(o)) : NULL;
		m->saved_used = o->saved_used ?
			memcpy(pm_alloc(shadow_bits(o)), o->saved_used, shadow_bits(o)) : NULL;
		m->pages = (struct pm_map){ 0 };
		m->hot = (struct pm_map){ 0 };
		for (size_t j = 0; pm_map_next(&o->pages, &j, &key, &val); )
			*pm_map_put(&m->pages, key, NULL) = val;
		m->safe = (struct pm_map){ 0 };
		for (size_t j = 0; pm_map_next(&o->safe, &j, &key, &val); )
			*pm_map_put(&m->safe, key, NULL) = val;
		for (size_t j = 0; pm_map_next(&o->hot, &j, &key, &val); )
			*pm_map_put(&m->hot, key, NULL) = val;
		if (o->dead || from->i386)
			continue;
		cache_copy_code(s, o, s->code + m->code_off);
		copy_data(s, o->shadow_off, m->shadow_off, o->shadow_len);
		if (m->twins)
			copy_data(s, o->twin_off, m->twin_off, o->shadow_len);
		cache_thaw(s, sp, m, false, true);
	}
	return sp;
}

/* Map what was mapped, as many pieces as a mail holds commands for. */
bool space_move(const struct session *s, struct proc *p, struct rt_mail *mail)
{
	for (uint32_t i = 0; i < p->moving.n; i++) {
		if (!p->moving.p[i])
			continue;
		if (mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			break;
		p->moving.p[i] = 0;
		if (!p->space->module[i].dead)
			place(s, p, i, true, mail);
	}
	if (!mail->ncmd)
		pm_buf_release(&p->moving);
	return mail->ncmd > 0;
}

void space_release(struct session *s, struct proc *p, uint32_t block)
{
	if (p->space && p->space->busy == block) {
		p->space->busy = 0;
		s->released = true;
	}
	if (p->left && p->left->busy == block) {
		p->left->busy = 0;
		s->released = true;
		space_unref(s, p->left);
		p->left = NULL;
	}
}

/* The process is about to differ from those it shares its space with. False: once it has moved out,
 * ask again. */
static bool diverge(struct session *s, struct proc *p, struct rt_mail *mail)
{
	struct space *sp;

	if (p->space->refs == 1)
		return true;
	sp = space_clone(s, p->space);
	if (!sp)		/* more than a thousand address spaces at once: share on */
		return true;
	/* others must not add to what its threads still execute, nor they to what is not yet there */
	p->left = p->space;
	p->left->busy = sp->busy = s->asking;
	p->space = sp;
	if (!sp->i386) {
		p->moving = p->placed;
		p->placed = (struct pm_buf){ 0 };
	}
	for (size_t i = 0; i < s->nproc; i++)
		for (size_t k = 0; s->proc[i]->mm == p && k < s->proc[i]->nthread; k++)
			if (s->proc[i]->thread[k].live)
				session_block(s, s->proc[i]->thread[k].block)->links = space_links_at(sp);
	if (sp->i386)
		mail_cmd(mail, CMD_PLACE, sp->base, RT32_CODE_SIZE, RT32_CODE_VAULT, 5);
	if (sp->i386 || space_move(s, p, mail))
		return false;
	space_release(s, p, s->asking);
	return true;
}

/* ---- answers ---------------------------------------------------------------------------------------- */
#define WINDOW (4 * PAGE)

/* @b, whose direct entry is @to, gets an indirect one. False: it has one, or there is no room. */
static bool make_indirect(struct session *s, struct space *sp, struct blk *b, uint64_t to)
{
	struct module *m = &sp->module[b->module];
	const uint32_t at = (uint32_t)m->code_len, i = (uint32_t)(b - sp->block);

	if (b->indirect != XL_NONE || m->code_cap - m->code_len <= 64)
		return false;
	if (i - m->first_cached < m->ncached)
		pm_buf_add(&m->entered, &i, sizeof i);
	m->code_len = up(at + xl_indirect_entry(code_ptr(s, m, at), sp->i386, m->code + at, to, b->live), 16);
	b->indirect = at;
	return true;
}

#define FILLED 16384u			/* bytes of text */

/* The twins' shadow around @pc is filled when it is first needed: with the twins of what the other one has there. */
static void fill_twins(struct session *s, struct space *sp, const struct module *m, uint64_t pc)
{
	const int32_t *shadow = (const int32_t *)(s->code + m->shadow_off);
	const uint64_t from = (pc - m->lo) / FILLED * FILLED;

	for (uint64_t k = from; k < from + FILLED && k < m->hi - m->lo; k++) {
		const struct blk *b = shadow[k] ? find(sp, m->lo + k) : NULL, *t = b ? twin_of(sp, b) : NULL;

		if (t && t->indirect != XL_NONE)
			twin_shadow(s, m, b->pc, m->code + t->indirect);
	}
}

static uint64_t entry_of(struct session *s, struct proc *p, struct blk *b, bool indirect,
			 struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[b->module];
	uint64_t to = need_outside_entry(s, sp, b), twin;

	place(s, p, b->module, false, mail);

	if (indirect && b->indirect != XL_NONE)
		cache_shadow(s, sp, m, b->pc);
	if (indirect && make_indirect(s, sp, b, to))
		space_shadow(s, sp, m, b->pc, m->code + b->indirect);
	if (!trace_counts(s, s->asking))
		return to;
	twin = twin_entry(sp, b);
	mail->r[5] = !twin;
	if (indirect && twin) {
		make_indirect(s, sp, twin_of(sp, b), twin);
		fill_twins(s, sp, m, b->pc);
	}
	return twin ? twin : to;
}

uint64_t space_twin(struct space *sp, uint64_t code)
{
	const struct xl_map *map = NULL;
	const struct blk *b;
	uint32_t i = 0;

	if (!space_state(sp, code, &i, &map))
		return 0;
	b = &sp->block[i];
	if (b->flags & (XL_COUNTS | BLK_IS_DEAD) || sp->flow[i].out != XL_OPEN || code != sp->module[b->module].code + b->code)
		return 0;
	return twin_entry(sp, b);
}

static bool retire(struct session *s, struct proc *p, uint32_t mi, bool outside, struct rt_mail *mail);
static bool drop_abi(struct session *s, struct proc *p, struct rt_mail *mail);

uint64_t space_enter(struct session *s, struct proc *p, uint64_t pc, bool indirect, struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct blk *b = find(sp, pc);
	const struct range *r;
	struct module *m;
	uint64_t lo, hi, ahead;
	uint32_t mi, first;
	size_t link0;
	bool check;

	if (b && indirect && !space_guests(b))
		sp->abi_broken = true;
	if (sp->abi_broken) {
		if (!drop_abi(s, p, mail))
			return 0;
		sp = p->space;
		b = find(sp, pc);
	}
	if (b)
		return entry_of(s, p, b, indirect, mail);
	r = space_range(sp, pc);
	if (!r)
		return 0;
	m = module_at(sp, pc);
	if (!m) {
		m = module_new(s, p, r, pc, mail);
		if (!m)
			return 0;
		b = find(sp, pc);		/* from the cache */
		if (b)
			return space_enter(s, p, pc, indirect, mail);
	}
	mi = (uint32_t)(m - sp->module);
	if (m->generated && sp->refs > 1) {	/* the sharers' pages may hold something else */
		if (!diverge(s, p, mail))
			return 0;
		if (p->space != sp)
			return space_enter(s, p, pc, indirect, mail);
	}
	lo = m->lo;
	hi = m->hi;
	check = m->check;
	if (m->generated) {
		const struct range *next = r;

		lo = r->lo > lo ? r->lo : lo;
		while (next && next->hi < hi && next->hi < pc + WINDOW &&
		       (next->prot & 2) == (r->prot & 2)) {
			const struct range *after = space_range(sp, next->hi);

			if (!after)
				break;
			next = after;
		}
		hi = next->hi < hi ? next->hi : hi;
	}
	if (m->generated && !check && (r->prot & 2)) {
		uint64_t page = pc & ~(PAGE - 1), *hot;

		lo = page;
		hi = page + WINDOW < hi ? page + WINDOW : hi;
		hot = pm_map_get(&m->hot, page);
		if (hot && *hot > 200) {
			check = true;		/* code and data on one page: a fault per write costs more */
		} else {
			/* no write may come between reading and translating: protect first, and go on
			 * when the process says that it has been done and no write has trapped since */
			if (mail->a[5])
				for (uint64_t a = lo; a < hi; a += PAGE)
					if (pm_map_get(&m->pages, a))
						pm_map_put(&m->safe, a, NULL);
			if (!pm_map_get(&m->safe, page) ||
			    (page + PAGE < hi && pc + 15 > page + PAGE &&
			     !pm_map_get(&m->safe, page + PAGE))) {
				for (uint64_t a = lo; a < hi; a += PAGE)
					pm_map_put(&m->pages, a, NULL);
				mail_cmd(mail, CMD_PROTECT, lo, hi - lo, 1, 0);
				return 0;
			}
			for (uint64_t a = page + PAGE; a < hi; a += PAGE)
				if (!pm_map_get(&m->safe, a))
					hi = a;
		}
	} else if (m->generated && !check) {
		for (uint64_t a = pc & ~(PAGE - 1); a < hi && a < pc + WINDOW; a += PAGE)
			pm_map_put(&m->pages, a, NULL);
		hi = hi < pc + WINDOW ? hi : (pc & ~(PAGE - 1)) + WINDOW;
	}
	link0 = sp->nlink;
	ahead = s->ahead;
	first = translate(s, p, mi, pc, lo, hi, check, false);
	if (first == XL_NONE && sp->abi_broken)
		return space_enter(s, p, pc, indirect, mail);
	if (first == XL_NONE)
		return sp->module[mi].full && retire(s, p, mi, true, mail) ? space_enter(s, p, pc, indirect, mail) : 0;
	if (s->ahead > ahead) {
		s->demand++;
		s->ahead--;
	}
	if (m->used && !sp->i386 && !s->tracer)
		translate_ahead(s, p, mi, link0, sp->nlink);
	return find(sp, pc) ? space_enter(s, p, pc, indirect, mail) : 0;
}

uint64_t space_resolve(struct session *s, struct proc *p, uint32_t link, struct rt_mail *mail)
{
	struct space *sp = p->space;
	uint64_t *shortcut, to;
	struct link *l;
	bool often;

	if (link >= sp->nlink)
		return 0;
	shortcut = space_shortcut(s, sp, link);
	often = shortcut && *shortcut;
	to = space_enter(s, p, sp->link[link].target, false, mail);
	l = &sp->link[link];
	if (to && l->stale && p->space->abi_flags) {
		const struct blk *b = find(p->space, l->target);

		if (b && b->flags & XL_READS_FLAGS) {
			p->space->abi_broken = true;
			return space_enter(s, p, l->target, false, mail);
		}
	}
	if (to && !mail->ncmd && !l->done && l->twin == (trace_counts(s, s->asking) && !mail->r[5])) {
		const struct module *m = &sp->module[l->module];

		/* Across modules only if the target's code is placed in every process of the space.
		 * A dead target's code stays, and its entry leads to whoever succeeds it. */
		if ((m->lo <= l->target && l->target < m->hi) || sp->refs == 1) {
			if (often && m->frozen)
				melt(s, sp, l->module);
			link_patch(s, sp, l, to);
		}
	}
	return to;
}

#define BEGIN_MODULES 64		/* more than programs that execute what they map have */

void space_mapped(struct session *s, struct proc *p, uint64_t lo, uint64_t hi, struct rt_mail *mail)
{
	struct space *sp = p->space;

	for (size_t i = 0; i < sp->nrange && sp->nmodule < BEGIN_MODULES; i++) {
		const struct range r = sp->range[i];
		const struct mapping *at;

		if (r.hi <= lo || hi <= r.lo || r.prot & 2 || r.shared || r.patched || module_at(sp, r.lo) ||
		    mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			continue;
		if (!s->maps_good)
			s->maps_good = maps_read(session_asking(s), &s->maps);
		at = maps_at(&s->maps, r.lo);
		if (at && at->ino)
			module_new(s, p, &r, r.lo, mail);
	}
	s->maps_good = false;
}

uint64_t space_begin(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *mail)
{
	space_mapped(s, p, 0, UINT64_MAX, mail);
	return space_enter(s, p, pc, false, mail);
}

/* Where the direct entries of dead blocks at @pc lead, all to one place: to whoever succeeds them. An
 * offset in module @mi. */
static uint32_t dead_end(struct session *s, struct space *sp, uint32_t mi, uint64_t pc, bool twin)
{
	struct module *m = &sp->module[mi];
	uint64_t *known = pm_map_put(&sp->ends, pc | (uint64_t)twin << 63, NULL);
	uint32_t i, at, field;
	uint8_t *code;

	if (*known && sp->link[*known - 1].module == mi) {
		i = (uint32_t)*known - 1;
		if (sp->link[i].done) {
			sp->link[i].done = false;
			put32(code_ptr(s, m, sp->link[i].site), 0);
			link_wait(sp, i);
		}
		return sp->link[i].site - 1;
	}
	at = up(m->code_len, 32);
	m->code_len = at + 32;
	i = link_add(s, sp, mi, pc, at + 1, at + 5, twin, true);
	*known = i + 1;
	code = code_ptr(s, m, at);
	put_jump(code, code + 5);		/* patched when there is a successor */
	xl_stub(code + 5, sp->i386, i);
	field = at + 5 + XL_STUB_LINK(sp->i386);
	pm_buf_add(&m->rel_link, &field, sizeof field);
	return at;
}

/* Nothing in the module's code at [@at, @at + @n) depends on its place or on numbers any more. */
static void forget_fields(struct pm_buf *rel, uint32_t at, uint32_t n)
{
	uint32_t *v = (uint32_t *)rel->p;
	size_t kept = 0;

	for (size_t i = 0; i < rel->n / sizeof *v; i++)
		if (v[i] + 4 <= at || v[i] >= at + n)
			v[kept++] = v[i];
	rel->n = kept * sizeof *v;
}

static void kill_block(struct session *s, struct space *sp, uint32_t i)
{
	struct blk *b = &sp->block[i];
	struct module *m = &sp->module[b->module];
	uint8_t jump[8], *code;
	uint32_t end, at;

	if (b->flags & BLK_IS_DEAD)
		return;
	b->flags |= BLK_IS_DEAD;
	cache_thaw(s, sp, m, true, false);
	if (block_continues(s, sp, i))		/* it dies with the head of its chain */
		return;
	if (b->indirect != XL_NONE && b->flags & XL_COUNTS)
		twin_shadow(s, m, b->pc, 0);
	else if (b->indirect != XL_NONE)
		space_shadow(s, sp, m, b->pc, 0);
	if (m->dead || m->code_cap - m->code_len < DEAD_END_SIZE)
		return;
	at = end = dead_end(s, sp, b->module, b->pc, b->flags & XL_COUNTS);
	if (b->flags & BLK_CLOSED) {
		/* who comes here has not entered the block, whatever the flow says */
		at = (uint32_t)m->code_len;
		code = code_ptr(s, m, at);
		code += count_entry(s, sp, i, XL_LIVE_ALL, -1, at);
		put_jump(code, code_ptr(s, m, end));
		m->code_len = up((uint64_t)(code + 5 - code_ptr(s, m, 0)), 16);
	}
	if (m->used) {				/* it will be saved */
		struct pm_buf *rel[] = { &m->rel_pc, &m->rel_counter, &m->rel_link, &m->rel_place };

		for (size_t k = 0; k < NR(rel); k++)
			forget_fields(rel[k], b->code, JUMP_SIZE);
	}
	code = code_ptr(s, m, b->code);
	memcpy(jump, code, 8);
	put_jump(jump, jump + (int64_t)(at - b->code));
	if (b->flags & XL_COUNTS)		/* lies anywhere, and whoever is alone to execute it waits for us */
		memcpy(code, jump, 8);
	else
		__atomic_store((uint64_t *)code, (uint64_t *)jump, __ATOMIC_SEQ_CST);
}

void space_close(struct session *s, struct space *sp, uint32_t first, uint32_t n)
{
	const uint64_t *at = (const uint64_t *)(const void *)s->point.p;

	for (uint32_t i = first; i < first + n && s->point.n; i++)
		for (size_t k = 0; k < s->point.n / sizeof *at; k++) {
			const struct blk *b = &sp->block[i];
			uint32_t head = i;

			if (!(b->flags & XL_COUNTS) || at[k] - b->pc >= b->size)
				continue;
			while (sp->flow[head].out != XL_OPEN)
				head = unit_of(sp, i)->block + sp->flow[head].out;
			kill_block(s, sp, head);
		}
}

static void kill_page(struct session *s, struct space *sp, struct module *m, uint64_t page)
{
	uint64_t *head = pm_map_get(&m->pages, page);

	if (!head)
		return;
	for (uint32_t i = (uint32_t)*head; i; i = sp->ref[i - 1].next)
		kill_block(s, sp, sp->ref[i - 1].block);
	pm_map_del(&m->pages, page);
	pm_map_del(&m->safe, page);
}

/* Commands of this, and of give_back(). */
#define UNPLACE_CMDS (3 + MAX_PIECES)
static void unplace_shadows(const struct module *m, struct rt_mail *mail)
{
	struct hole piece[MAX_PIECES];

	for (unsigned i = 0, n = m->shadowed ? shadow_pieces(m, piece) : 0; i < n; i++)
		mail_cmd(mail, CMD_UNPLACE, 0, 4 * (piece[i].hi - piece[i].lo), entry_at(piece[i].lo), 0);
	if (m->twins)
		mail_cmd(mail, CMD_UNPLACE, 0, m->shadow_len, twins_at(m), 0);
}

static void kill_blocks(struct session *s, struct space *sp, struct module *m)
{
	for (size_t j = 0; j < m->nunit; j++) {
		const struct unit *u = &sp->unit[m->unit[j]];

		for (uint32_t k = 0; k < u->nblock; k++)
			if (!u->once)
				kill_block(s, sp, u->block + k);
	}
}

static void kill_module(struct session *s, struct space *sp, struct module *m, struct rt_mail *mail)
{
	m->frozen_shadow = false;	/* nobody looks at it any more */
	kill_blocks(s, sp, m);
	m->dead = true;
	unplace_shadows(m, mail);
}

/* Nobody executes dead module @mi any more, nor comes back to it: programs that load and unload libraries
 * for ever would use up what is near them. Its blocks stay, for what they counted. */
static void give_back(struct session *s, struct proc *p, uint32_t mi, struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];

	for (size_t i = 0; i < sp->nlink; i++) {
		uint64_t *shortcut = space_shortcut(s, sp, i);
		struct link *l = &sp->link[i];
		const struct module *from = l->module < sp->nmodule ? &sp->module[l->module] : NULL;
		uint64_t to;
		int32_t d;

		if (shortcut && m->code <= *shortcut && *shortcut < m->code + m->code_cap)
			*shortcut = 0;
		if (!from || !l->done || l->site == XL_NONE || from == m || !from->code_cap)
			continue;
		memcpy(&d, code_ptr(s, from, l->site), sizeof d);
		to = from->code + l->site + 4 + (uint64_t)(int64_t)d;
		if (to < m->code || to >= m->code + m->code_cap)
			continue;
		put32(code_ptr(s, from, l->site), l->stub - (l->site + 4));	/* which asks again */
		l->done = false;
	}
	if (sp->i386)
		m->room = m->code_cap;
	else
		mail_cmd(mail, CMD_UNPLACE, 0, m->code_cap, m->code, 1);
	m->code_cap = m->code_len = 0;
	m->frozen = 0;
	if (mi < p->placed.n)
		p->placed.p[mi] = 0;
}

/* Module @mi is full: it dies, and who comes to its text next will find another one, empty. @outside: the thread
 * that asks does not come back to where it was. False: once commands have run, ask again. */
static bool retire(struct session *s, struct proc *p, uint32_t mi, bool outside, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	if (sp->refs > 1)			/* nor can it be copied */
		return false;
	for (uint32_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (mail->ncmd + UNPLACE_CMDS + PLACE_CMDS > RT_MAX_CMDS)
			return false;
		if (i == mi)
			kill_module(s, sp, m, mail);
		if (m->dead && m->full && m->code_cap && outside && space_threads(s, p) == 1)
			give_back(s, p, i, mail);
	}
	return true;
}

/* The module of a file is left by whoever comes to a return or an indirect branch, for that one which comes after it. Its code stays as it
 * is: other threads may be anywhere in it, and it does nothing but what it has been looked at for. */
static void leave_module(struct space *sp, struct module *m, struct rt_mail *mail)
{
	for (size_t j = 0; j < m->nunit; j++) {
		const struct unit *u = &sp->unit[m->unit[j]];

		if (u->block - m->first_cached >= m->ncached)	/* the others are found by way of the module */
			for (uint32_t k = 0; k < u->nblock; k++)
				sp->block[u->block + k].flags |= BLK_IS_DEAD;
	}
	m->frozen_shadow = false;
	m->dead = true;
	unplace_shadows(m, mail);
}

/* Code has been met that reads flags that a call or a return left: everything is translated anew, as if there were no ABI.
 * False: once commands have run, ask again. */
static bool drop_abi(struct session *s, struct proc *p, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	sp->abi_flags = false;
	cache_note_flags(s, p->program);
	for (uint32_t i = 0; i < sp->nmodule; i++) {
		if (sp->module[i].dead)
			continue;
		if (mail->ncmd + UNPLACE_CMDS + PLACE_CMDS > RT_MAX_CMDS)
			return false;
		if (sp->module[i].generated)	/* may take up all that is near */
			kill_blocks(s, sp, &sp->module[i]);
		else
			leave_module(sp, &sp->module[i], mail);
	}
	sp->abi_broken = false;
	return true;
}

bool space_no_room(struct session *s, struct proc *p, uint64_t code_off, struct rt_mail *mail)
{
	for (uint32_t i = 0; i < p->space->nmodule; i++) {
		if (p->space->module[i].code_off != code_off || p->space->module[i].dead)
			continue;
		if (i < p->placed.n)
			p->placed.p[i] = 0;
		if (!diverge(s, p, mail))
			return true;
		kill_module(s, p->space, &p->space->module[i], mail);
		return mail->ncmd > 0;
	}
	return false;
}

bool space_unmap(struct session *s, struct proc *p, uint64_t lo, uint64_t hi, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (m->dead || m->hi <= lo || hi <= m->lo)
			continue;
		if (m->generated && !(lo <= m->lo && m->hi <= hi)) {
			uint64_t a = lo > m->lo ? lo : m->lo, b = hi < m->hi ? hi : m->hi;

			for (; a < b; a += PAGE)
				kill_page(s, sp, m, a);
			continue;
		}
		if (mail->ncmd + UNPLACE_CMDS > RT_MAX_CMDS)
			return false;		/* the rest the next time */
		kill_module(s, sp, m, mail);	/* a whole one, or part of a file's text */
		if (sp->refs == 1 && ((lo <= m->lo && m->hi <= hi) || (!m->nunit && !m->ncached)))
			give_back(s, p, (uint32_t)i, mail);
	}
	range_del(sp, lo, hi);
	return true;
}

bool space_state(struct space *sp, uint64_t code, uint32_t *block, const struct xl_map **map)
{
	for (size_t i = sp->nmodule; i-- > 0; ) {
		struct module *m = &sp->module[i];
		size_t a = 0, z = m->nunit;
		uint32_t off = (uint32_t)(code - m->code);
		const struct unit *u;

		if (code < m->code || code >= m->code + m->code_len)
			continue;
		while (a < z) {			/* the last unit that begins at or before the place */
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

bool space_write_trap(struct session *s, struct proc *p, uint64_t addr, uint64_t code,
		      struct rt_mail *mail)
{
	const struct range *r = space_range(p->space, addr);
	const uint64_t page = addr & ~(PAGE - 1);
	const struct xl_map *map = NULL;
	struct module *m;
	uint32_t bi = 0;

	if (!r || !(r->prot & 2))
		return false;
	if (!diverge(s, p, mail))
		return true;
	m = module_at(p->space, addr);
	r = space_range(p->space, addr);
	if (m && m->generated && pm_map_get(&m->pages, page)) {
		++*pm_map_put(&m->hot, page, NULL);
		kill_page(s, p->space, m, page);
		mail_cmd(mail, CMD_PROTECT, page, PAGE, r->prot & ~4u, 0);
		return true;
	}
	if (!mail->a[5]) {		/* another thread's trap has opened it already; or so we think */
		mail_cmd(mail, CMD_PROTECT, page, PAGE, r->prot & ~4u, 0);
		return true;
	}
	mail->r[0] = RT_RETRY;
	/* a block that writes to its own page goes on behind the write with what is there then */
	if (space_state(p->space, code, &bi, &map)) {
		struct blk *b = &p->space->block[bi];

		if (b->pc < page + PAGE && page < b->pc + b->size) {
			mail->r[2] = map->flags;
			mail->r[3] = map->tmp;
			mail->r[1] = map->insn;		/* turned into a pc by the caller */
			mail->r[5] = bi;
			mail->r[0] = RT_WRITE_SELF;
		}
	}
	return true;
}

bool space_open(struct session *s, struct proc *p, uint64_t addr, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		for (size_t k = 0; k < sp->nrange && m->pages.n && !m->dead; k++) {
			const struct range *r = &sp->range[k];
			const uint64_t lo = r->lo > m->lo ? r->lo : m->lo, hi = r->hi < m->hi ? r->hi : m->hi;
			const size_t pages = m->pages.n;

			if (!(r->prot & 2) || (addr && (addr < r->lo || r->hi <= addr)) ||
			    mail->ncmd == RT_MAX_CMDS)
				continue;
			for (uint64_t page = lo; page < hi; page += PAGE)
				kill_page(s, sp, m, page);
			if (m->pages.n < pages)
				mail_cmd(mail, CMD_PROTECT, lo, hi - lo, r->prot & ~4u, 0);
		}
	}
	return mail->a[5];
}

uint64_t space_once(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = module_at(sp, pc);
	const struct range *r = space_range(sp, pc);
	uint32_t first, mi;

	if (!m) {
		if (r)				/* the next time */
			module_new(s, p, r, pc, mail);
		return 0;
	}
	mi = (uint32_t)(m - sp->module);
	first = translate(s, p, mi, pc, m->lo, m->hi, false, true);
	if (first == XL_NONE) {
		if (sp->module[mi].full)
			retire(s, p, mi, false, mail);
		return 0;
	}
	s->demand++;
	s->ahead--;
	m = &sp->module[sp->block[first].module];
	return m->code + sp->block[first].code;
}

uint64_t space_recheck(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *mail)
{
	struct blk *b;

	if (!diverge(s, p, mail))
		return 0;
	b = mail->a[5] ? NULL : find(p->space, pc);	/* asked again: it is the successor */
	if (b)
		kill_block(s, p->space, (uint32_t)(b - p->space->block));
	return space_enter(s, p, pc, false, mail);
}
