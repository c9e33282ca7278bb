/* SPDX-License-Identifier: MIT */
/* lru_family.h - all LRU caches of one line size over one stream of accesses, in one pass, with
 * every counter: private to the files of cache_family.h
 *
 * For each number of sets there is a list per set, newest first (R. Mattson and others, 1970). The
 * cache with N ways holds the first N of each list. A line that is first of its list with some
 * number of sets is first with more sets, too (M. Hill and A. Smith, 1989), so most accesses end
 * at the first list.
 *
 * Dirtiness needs no bit per cache: a line that was written, and found again at places up to m
 * since, is dirty in all caches of more than m ways that hold it, and clean in all others. So a
 * word of a list is the line's address and, in the bits that a line address leaves free, its m (or
 * all ones: clean). That is why a list has at most line - 2 places. What is stored is the
 * complement of that: an empty place is 0, and sets that nobody needed take no memory.
 *
 * Write-backs that nobody has to see are counted when a line is found again: at place p it has left
 * all caches of at most p ways, dirty those of more than m ways. Where a cache has another level
 * below it, what leaves it goes there at once: to a bundle of levels (lru_below.h), or as requests.
 *
 * INVARIANTS
 * (1) Of the same line, m in a list of more sets is at most m in one of fewer, if that is 0.
 * (2) Empty places are the last ones of a list. */
#ifndef PM_ANALYSE_LRU_FAMILY_H
#define PM_ANALYSE_LRU_FAMILY_H

#include "analyse/lru_below.h"

#define LRU_SETS	32		/* numbers of sets at most */
#define LRU_EMPTY	0ull		/* no line has its complement as address: see segment() in
					 * cache_run.c */
#define LRU_GROUP	64		/* sets */

enum lru_kind {				/* what is counted apart; even and odd: PM_REF_STACK */
	LRU_FETCH, LRU_PREFETCH, LRU_READ, LRU_READ_STACK, LRU_WRITE, LRU_WRITE_STACK,
	LRU_BACK,			/* a whole line */
	LRU_BACK_PART,
	LRU_KINDS
};

struct lru_exit {			/* of a cache with levels below it */
	unsigned ways;
	struct cache_out **to;		/* one or more */
	size_t n;
};

struct lru_feed {			/* what leaves caches for members of a bundle below */
	struct lru_below *bundle;
	struct below_to *read;		/* by place of a line: whose caches miss */
	struct { unsigned ways; struct below_to to; } *back;	/* by ways, fewest first: below
								 * caches with as many */
	unsigned nback;
};

struct lru_list {			/* caches with the same number of sets */
	/* hot */
	uint64_t *way;			/* places of set 0, of set 1...; each a complement */
	uint64_t set_mask;
	unsigned depth;
	unsigned nexit, nfeed;
	struct lru_exit *exit;		/* by ways, fewest first */
	struct lru_feed *feed;
	uint64_t stop[LRU_KINDS];	/* found first here, and not with fewer sets */
	uint64_t *found[LRU_KINDS];	/* at place 1.. */
	uint64_t *back;			/* differences: write-backs of N ways are the sum up to
					 * back[N] */
	uint64_t *filled;		/* sets that have a line at place 0.. */
	bool *used;			/* by group of sets: one has a line */
};

struct lru_family {
	uint64_t line_mask;
	unsigned line_shift, n;
	bool wrote;
	struct lru_list list[LRU_SETS];	/* fewest sets first */
	uint64_t walked[LRU_KINDS], first[LRU_KINDS];	/* accesses: by lru_family_access(), and
							 * those that needed none of it */
};

/* Can this level be one of a family? */
bool lru_family_fits(const struct pm_level_conf *lc);
struct lru_family *lru_family_new(uint32_t line);
/* Make room for this level. Before the first access. */
void lru_family_add(struct lru_family *f, const struct pm_level_conf *lc);
/* What leaves this level goes to @out, besides. After all have been added. */
void lru_family_exit(struct lru_family *f, const struct pm_level_conf *lc, struct cache_out *out);
/* The same, for this member of a bundle. */
void lru_family_feed(struct lru_family *f, const struct pm_level_conf *lc, struct lru_below *bundle,
		     unsigned member);
/* All levels and exits are there. */
void lru_family_fed(struct lru_family *f);
/* An access within one line. */
void lru_family_access(struct lru_family *f, uint64_t key, enum lru_kind k);
/* Counters and lines of this level, into @l, which is configured so. @mem: what left it, in all. */
void lru_family_level(const struct lru_family *f, struct cache_level *l,
		      struct pm_cache_memory_stats *mem, bool lines);
void lru_family_free(struct lru_family *f);

static inline enum lru_kind lru_kind_of(enum pm_cache_op op, unsigned cls, bool whole)
{
	switch (op) {
	case PM_OP_FETCH:
		return LRU_FETCH;
	case PM_OP_PREFETCH:
		return LRU_PREFETCH;
	case PM_OP_READ:
		return LRU_READ + cls;
	case PM_OP_WRITE:
		return LRU_WRITE + cls;
	default:
		return whole ? LRU_BACK : LRU_BACK_PART;
	}
}

/* A reference of @size bytes, cut into accesses. */
static inline void lru_family_ref(struct lru_family *f, uint64_t key, uint32_t size,
				  enum lru_kind k)
{
	const uint64_t mask = f->line_mask, last = (key + (size ? size - 1 : 0)) & mask;
	uint64_t line = key & mask;

	for (;; line += ~mask + 1) {
		const struct lru_list *l = f->list;
		uint64_t e = ~l->way[((line >> f->line_shift) & l->set_mask) * l->depth];

		/* written already, or not to be written */
		if (k < LRU_WRITE ? (e ^ line) <= ~mask : e == line)
			f->first[k]++;
		else
			lru_family_access(f, line, k);
		if (line == last)
			return;
	}
}

#endif
