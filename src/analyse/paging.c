/* SPDX-License-Identifier: MIT */
/* paging.c - the rules of paging.h */
#include "analyse/paging.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PAGE_BITS	12
#define TABLE_BITS	9		/* of an address that choose an entry in one table */
#define VIRTUAL_BITS	48

/* The entries of a table that were loaded last, the latest first. */
struct upper_cache { uint64_t *entry; unsigned n, most; };

struct paging {
	struct paging_conf c;
	struct pm_cache *tlb, *caches;
	const uint32_t *lat;
	unsigned lowest;		/* table that a walk ends in: 0 for pages of 4 KiB */
	unsigned deepest;		/* what pm_cache_access(@tlb) says when all levels miss */
	uint32_t page;
	struct upper_cache upper[PAGING_TABLES - 1];
	struct paging_stats st;
};

struct paging *paging_new(const struct paging_conf *c, struct pm_cache *caches,
				    const uint32_t *lat)
{
	struct paging *t = pm_alloc(sizeof *t);

	t->c = *c;
	t->tlb = pm_cache_from(&c->tlb);
	t->caches = caches;
	t->lat = lat;
	t->page = c->tlb.level[0].line;
	while (t->lowest < PAGING_TABLES - 2 &&
	       t->page >> (PAGE_BITS + (t->lowest + 1) * TABLE_BITS))
		t->lowest++;
	t->deepest = c->tlb.level[c->tlb.n - 1].depth;
	for (unsigned i = 0; i < NR(t->upper); i++) {
		t->upper[i].most = c->upper[i];
		t->upper[i].entry = pm_alloc((c->upper[i] + 1) * sizeof *t->upper[i].entry);
	}
	return t;
}

void paging_free(struct paging *t)
{
	if (!t)
		return;
	pm_cache_free(t->tlb);
	for (unsigned i = 0; i < NR(t->upper); i++)
		free(t->upper[i].entry);
	free(t);
}

const struct paging_stats *paging_stats(const struct paging *t)
{
	return &t->st;
}

/* Which entry of table @table translates @addr, of all tables of that level. */
static uint64_t entry_of(uint64_t addr, unsigned table)
{
	return (addr & ((1ull << VIRTUAL_BITS) - 1)) >> (PAGE_BITS + table * TABLE_BITS);
}

/* Not canonical, so no program's address. */
static uint64_t address_of_entry(uint64_t addr, unsigned table)
{
	return (1ull + table) << 56 | entry_of(addr, table) * 8;
}

/* Is it there? It is now the latest; if @enter, it is there now whatever was. */
static bool use_entry(struct upper_cache *u, uint64_t entry, bool enter)
{
	unsigned i = 0;

	while (i < u->n && u->entry[i] != entry)
		i++;
	if (i == u->n && (!enter || !u->most))
		return false;
	if (i == u->n && u->n < u->most)
		u->n++;
	else if (i == u->n)
		i--;
	memmove(u->entry + 1, u->entry, i * sizeof *u->entry);
	u->entry[0] = entry;
	return true;
}

/* (3), (4) */
static unsigned walk(struct paging *t, uint64_t addr)
{
	unsigned table = t->lowest, cycles = 0;

	/* upper[i] holds entries of table i + 1 */
	while (table < PAGING_TABLES - 1 &&
	       !use_entry(&t->upper[table], entry_of(addr, table + 1), false))
		table++;
	for (t->st.walks++; ; table--) {
		const unsigned deep = pm_cache_access(t->caches, PM_OP_READ,
						      address_of_entry(addr, table), 8, false, 0);

		t->st.walk_entries++;
		t->st.walk_misses += deep > 0;
		cycles += t->lat[deep];
		if (table == t->lowest)
			break;
		use_entry(&t->upper[table - 1], entry_of(addr, table), true);
	}
	t->st.walk_cycles += cycles;
	return cycles;
}

/* (2) The page at @addr. */
static unsigned wait_for_page(struct paging *t, enum pm_cache_op op, uint64_t addr, bool *missed)
{
	const unsigned deep = pm_cache_access(t->tlb, op, addr, 1, false, 0);
	const unsigned second = t->deepest > 1 ? t->c.stlb : 0;

	if (!deep)
		return 0;
	*missed = true;
	return second + (deep < t->deepest ? 0 : walk(t, addr));
}

unsigned paging_wait(struct paging *t, enum pm_cache_op op, uint64_t addr, uint32_t size)
{
	const uint64_t mask = ~(uint64_t)(t->page - 1), last = addr + size - 1;
	bool missed = false;
	unsigned cycles = wait_for_page(t, op, addr, &missed);

	if (__builtin_expect((addr ^ last) & mask, 0)) {
		const unsigned second = wait_for_page(t, op, last & mask, &missed);

		cycles = second > cycles ? second : cycles;
	}
	*(op == PM_OP_FETCH ? &t->st.itlb_misses : &t->st.dtlb_misses) += missed;
	return cycles < UINT16_MAX ? cycles : UINT16_MAX;
}

void paging_warm(struct paging *t, enum pm_cache_op op, uint64_t addr)
{
	pm_cache_warm(t->tlb, op, addr);
}
