/* SPDX-License-Identifier: MIT */
/* oracle/paging_slow.h - the rules of src/analyse/paging.h, with every entry that was
 * ever loaded in a list with its time */
#ifndef ORACLE_PAGING_H
#define ORACLE_PAGING_H

#include "analyse/paging.h"
#include "cache_slow.h"

/* How many levels missed: 0 the first had it. */
static unsigned o_depth_of(struct o_cache *c, enum pm_cache_op op, uint64_t addr, uint64_t size,
			   bool stack, uint64_t pc)
{
	uint64_t was[PM_CACHE_LEVELS];
	unsigned deep = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < c->cc->n; i++) {
			const struct pm_level_stats *st = &c->level[i].st;
			uint64_t now = 0;

			for (int k = PM_OP_FETCH; k <= PM_OP_WRITE; k++)
				now += st->miss[k][0] + st->miss[k][1];
			if (pass && now != was[i] && c->cc->level[i].depth > deep)
				deep = c->cc->level[i].depth;
			was[i] = now;
		}
		if (!pass)
			o_cache_ref(c, op, addr, size, stack, pc);
	}
	return deep;
}

struct o_paging {
	const struct paging_conf *c;
	struct o_cache *tlb, *caches;
	const uint32_t *lat;		/* of a level, the last of them memory's */
	unsigned levels, caches_deep;
	struct { uint64_t table, entry, used; } *upper;
	size_t n, cap;
	uint64_t clock;
	struct paging_stats st;
};

static struct o_paging *o_paging_new(const struct paging_conf *c,
					       struct o_cache *caches, const uint32_t *lat)
{
	struct o_paging *o = calloc(1, sizeof *o);

	o->c = c;
	o->tlb = o_cache_new(&c->tlb);
	o->caches = caches;
	o->lat = lat;
	o->levels = c->tlb.level[c->tlb.n - 1].depth;
	o->caches_deep = caches->cc->level[caches->cc->n - 1].depth;
	return o;
}

static void o_paging_free(struct o_paging *o)
{
	o_cache_free(o->tlb);
	free(o->upper);
	free(o);
}

/* Is it one of the entries of its table that were used last, as many as the processor keeps? */
static bool o_kept(const struct o_paging *o, uint64_t table, uint64_t entry)
{
	unsigned later = 0;
	size_t at = o->n;

	for (size_t i = 0; i < o->n; i++)
		if (o->upper[i].table == table && o->upper[i].entry == entry)
			at = i;
	if (at == o->n)
		return false;
	for (size_t i = 0; i < o->n; i++)
		later += o->upper[i].table == table && o->upper[i].used > o->upper[at].used;
	return later < o->c->upper[table - 1];
}

static void o_entry_used(struct o_paging *o, uint64_t table, uint64_t entry)
{
	size_t i = 0;

	while (i < o->n && (o->upper[i].table != table || o->upper[i].entry != entry))
		i++;
	if (i == o->cap)
		o->upper = realloc(o->upper, (o->cap = o->cap * 2 + 64) * sizeof *o->upper);
	o->n += i == o->n;
	o->upper[i].table = table;
	o->upper[i].entry = entry;
	o->upper[i].used = ++o->clock;
}

static unsigned o_walk(struct o_paging *o, uint64_t addr)
{
	static const uint64_t covers[] = { 1ull << 12, 1ull << 21, 1ull << 30, 1ull << 39 };
	const uint64_t page = o->c->tlb.level[0].line;
	int last = page >= covers[2] ? 2 : page >= covers[1] ? 1 : 0, first = 3;
	unsigned cycles = 0;

	addr %= 1ull << 48;
	for (int t = last + 1; t <= 3; t++)
		if (o_kept(o, t, addr / covers[t])) {
			o_entry_used(o, t, addr / covers[t]);
			first = t - 1;
			break;
		}
	o->st.walks++;
	for (int t = first; t >= last; t--) {
		unsigned deep = o_depth_of(o->caches, PM_OP_READ,
					   (t + 1) * (1ull << 56) + addr / covers[t] * 8, 8, false,
					   0);

		o->st.walk_entries++;
		o->st.walk_misses += deep > 0;
		cycles += o->lat[deep == o->caches_deep ? 3 : deep];
		if (t > last)
			o_entry_used(o, t, addr / covers[t]);
	}
	o->st.walk_cycles += cycles;
	return cycles;
}

static unsigned o_paging_wait(struct o_paging *o, enum pm_cache_op op, uint64_t addr,
			    uint64_t size)
{
	const uint64_t page = o->c->tlb.level[0].line;
	unsigned longest = 0;
	bool missed = false;

	for (uint64_t p = addr / page; p <= (addr + size - 1) / page; p++) {
		const uint64_t at = p == addr / page ? addr : p * page;
		const unsigned deep = o_depth_of(o->tlb, op == PM_OP_FETCH ? op : PM_OP_READ, at, 1,
						 false, 0);
		unsigned wait = 0;

		if (deep && o->levels == 2)
			wait = o->c->stlb;
		if (deep == o->levels)
			wait += o_walk(o, at);
		missed |= deep > 0;
		longest = wait > longest ? wait : longest;
	}
	if (missed && op == PM_OP_FETCH)
		o->st.itlb_misses++;
	else if (missed)
		o->st.dtlb_misses++;
	return longest < 65535 ? longest : 65535;
}

#endif
