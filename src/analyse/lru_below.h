/* SPDX-License-Identifier: MIT */
/* lru_below.h - LRU levels below the variants of a pass, one below each: private to the files of
 * cache_family.h
 *
 * In a pass, the place of a line in a list tells which caches miss: all that have fewer ways (R.
 * Mattson and others, 1970). So one *request* says that a line goes to several levels below. These
 * are *members* of a *bundle*: up to 16 levels with as many sets. Sets of one number lie side by
 * side, so a request finds those of all its members in neighbouring lines of the processor's cache.
 *
 * Most requests change nothing. A small cache drops a line and soon reads it again; in the level
 * below, that line is the first of its set still. So for each set the bundle knows one recent line,
 * and which members have it first. Their reads of it are counted, and no more.
 *
 * A bundle keeps thousands of requests and takes them at once. Its sets stay in the processor's
 * cache meanwhile, and are fetched before they are needed.
 *
 * A way has 32 bits: the number of the line's tag, and whether the line is dirty. The tag is the
 * address above what selects set and byte. Tags are numbered as they come.
 *
 * INVARIANTS
 * (1) A set lists its lines newest first; empty ways are the last ones.
 * (2) The recent line of a set is the first one there in each of the members that it names. */
#ifndef PM_ANALYSE_LRU_BELOW_H
#define PM_ANALYSE_LRU_BELOW_H

#include "analyse/cache_state.h"

#define BELOW_MEMBERS	16		/* at most */
#define BELOW_WAYS	16		/* at most; as many have room, so ... */
#define BELOW_LEAST	4		/* ... it is not for fewer than these */
#define BELOW_SETS	64		/* at least: tags shall be few */
#define BELOW_REQUESTS	16384		/* are kept */
#define BELOW_ROOM	(BELOW_MEMBERS + 1)	/* that one access may add */
/* Different sets of members that requests name: all caches with fewer ways, or those with as many;
 * of each of two first levels. */
#define BELOW_TO	(4 * BELOW_MEMBERS)

struct below_to { uint16_t members; uint8_t index; };	/* a bit each; index: below BELOW_TO */
struct below_request { uint64_t line; struct below_to to; uint8_t op, cls; };

struct below_recent { uint64_t line, members; };

struct below_member {
	uint32_t last;			/* way */
	struct cache_out *out;		/* where what leaves it goes; NULL: it is only counted */
	uint64_t miss[PM_OP_COUNT][2], evictions, writebacks;
};

struct lru_below {
	/* hot */
	struct below_request *request;	/* kept: BELOW_REQUESTS + BELOW_ROOM */
	size_t n;
	uint32_t *way;			/* BELOW_WAYS of set 0 of member 0, of member 1...; of
					 * set 1...: tag number * 2 + dirty; 0: empty */
	struct below_recent *recent;
	uint64_t set_mask;
	unsigned line_shift, tag_shift, nmember;
	struct { uint64_t tag; uint32_t number; } known[256];	/* by the low bits */
	struct below_member member[BELOW_MEMBERS];
	uint64_t requests[BELOW_TO][PM_OP_COUNT][2];	/* so far */
	/* warm */
	bool plain;			/* without AVX-512 */
	uint16_t to[BELOW_TO];		/* members */
	unsigned nto;
	struct pm_map number;		/* of a tag */
	uint64_t *tag;			/* of a number, from 1 on */
	size_t ntag, cap_tag;
};

static inline uint64_t lru_sets_of(const struct pm_level_conf *lc)
{
	return lc->size / lc->line / lc->ways;
}

/* Tests set it: new bundles do without AVX-512, as where there is none. */
extern bool lru_below_plain;
/* Can this level be a member, below caches with such lines? */
bool lru_below_fits(const struct pm_level_conf *lc, uint32_t line);
/* A bundle of levels with as many sets and such lines as @lc. */
struct lru_below *lru_below_new(const struct pm_level_conf *lc);
/* Its number. Before the first request. What leaves it goes to @out; NULL: it is only counted. */
unsigned lru_below_add(struct lru_below *b, const struct pm_level_conf *lc, struct cache_out *out);
/* What a request to these members says. */
struct below_to lru_below_to(struct lru_below *b, uint16_t members);
/* Take all requests that are kept. */
void lru_below_run(struct lru_below *b);
/* Counters and lines of a member, into @l, which is configured so. @mem: what left it, in all. No
 * request is kept. */
void lru_below_level(const struct lru_below *b, unsigned member, struct cache_level *l,
		     struct pm_cache_memory_stats *mem, bool lines);
void lru_below_free(struct lru_below *b);	/* NULL is fine */

#endif
