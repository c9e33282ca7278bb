/* SPDX-License-Identifier: MIT */
/* paging.h - what virtual addresses cost a core: TLBs, and the page walks when they miss
 *
 * THE RULES (tests/oracle/paging_slow.h does them slowly)
 * (1) TLBs are those of the simulator `tlb` (cache_sim.h), the first level and one below. Each
 *     reference looks its page up, and each line that is fetched; a reference that reaches into a
 *     second page looks up that, too, and waits for the slower one.
 * (2) Found in the first level: nothing. In one below it: `stlb` cycles. Else a walk follows, of
 *     the page where the reference begins (of both, if both are missing).
 * (3) A walk loads one entry of each of four tables, the root's first; for pages of 2 MiB three, of
 *     1 GiB two. A smaller page size counts as 4 KiB, others as the next smaller of these. The
 *     processor's caches of upper entries shorten it: fully associative, LRU, of `pde`, `pdpte` and
 *     `pml4e` entries. The lowest that has the entry is where the walk goes on; all entries that
 *     were loaded, but for the last, enter them. (Intel 64 and IA-32 Architectures Software
 *     Developer's Manual, vol. 3A, 4.5 "4-level paging", 4.10.3 "Paging-structure caches")
 * (4) Entries have 8 bytes and are read through the data caches, where they lie as in Linux's page
 *     tables: neighbours in one line. The tables of a level are one array here, above all user
 *     addresses, so that an entry's address follows from the page's. A walk takes the sum of the
 *     latencies of the levels where its entries are found, behind `stlb` if there is a second
 *     level.
 *
 * Not modelled: pages of several sizes in one run, accessed and dirty bits, walks that are begun by
 * prefetchers, address spaces (TLBs and tables are shared by all, as caches are). */
#ifndef PM_ANALYSE_PAGING_H
#define PM_ANALYSE_PAGING_H

#include "analyse/cache_sim.h"

#define PAGING_TABLES	4

struct paging_conf {
	struct pm_cache_conf tlb;	/* n 0: addresses are physical, nothing is translated */
	uint32_t stlb;			/* cycles */
	uint32_t upper[PAGING_TABLES - 1];	/* entries of the caches: pde, pdpte, pml4e */
};

#define PAGING_STATS(S)							\
	S(itlb_misses, "fetches", "of lines whose page the first TLB lacked")		\
	S(dtlb_misses, "references", "whose page the first TLB lacked")			\
	S(walks, "walks", "of page tables")						\
	S(walk_entries, "loads", "of page table entries")				\
	S(walk_misses, "loads", "... that missed the first level")			\
	S(walk_cycles, "cycles", "that these loads took")
struct paging_stats {
#define S(name, unit, about) uint64_t name;
	PAGING_STATS(S)
#undef S
};

struct paging;
/* @caches: where entries are read; @lat: cycles of a load by how deep pm_cache_access() went. Both
 * borrowed. */
struct paging *paging_new(const struct paging_conf *c, struct pm_cache *caches,
				    const uint32_t *lat);
void paging_free(struct paging *t);	/* NULL is fine */
/* Cycles until the address of a reference is known; 0: it is there at once. At most UINT16_MAX. */
unsigned paging_wait(struct paging *t, enum pm_cache_op op, uint64_t addr,
			   uint32_t size);
/* The page of @addr enters the TLBs: see pm_cache_warm(). */
void paging_warm(struct paging *t, enum pm_cache_op op, uint64_t addr);
const struct paging_stats *paging_stats(const struct paging *t);

#endif
