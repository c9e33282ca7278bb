/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_out.h"
#include "analyse/lru_family.h"
#include "base/check.h"

#define FLAGS(f)	(~(f)->line_mask)	/* of a word: m */
#define CLEAN(f)	FLAGS(f)

bool lru_family_fits(const struct pm_level_conf *lc)
{
	return pm_cache_plain_level(lc) && lc->ways <= lc->line - 2;
}

struct lru_family *lru_family_new(uint32_t line)
{
	struct lru_family *f = pm_alloc(sizeof *f);

	f->line_shift = __builtin_ctz(line);
	f->line_mask = ~(uint64_t)(line - 1);
	return f;
}

void lru_family_free(struct lru_family *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		struct lru_list *l = f->list + i;

		for (unsigned k = 0; k < LRU_KINDS; k++)
			free(l->found[k]);
		for (unsigned x = 0; x < l->nexit; x++)
			free(l->exit[x].to);
		free(l->exit);
		for (unsigned x = 0; x < l->nfeed; x++) {
			free(l->feed[x].read);
			free(l->feed[x].back);
		}
		free(l->feed);
		free(l->back);
		free(l->filled);
		free(l->used);
		free(l->way);
	}
	free(f);
}

static struct lru_list *list_of(const struct lru_family *f, const struct pm_level_conf *lc)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->list[i].set_mask + 1 == lru_sets_of(lc))
			return (struct lru_list *)f->list + i;
	return NULL;
}

void lru_family_add(struct lru_family *f, const struct pm_level_conf *lc)
{
	struct lru_list *l = list_of(f, lc);

	if (!l) {
		l = f->list + f->n++;
		for (; l > f->list && l[-1].set_mask + 1 > lru_sets_of(lc); l--)
			*l = l[-1];
		*l = (struct lru_list){ .set_mask = lru_sets_of(lc) - 1 };
	}
	if (l->depth < lc->ways)
		l->depth = lc->ways;
}

static void make_list(struct lru_list *l)
{
	const uint64_t sets = l->set_mask + 1;

	l->way = pm_alloc(sets * l->depth * sizeof *l->way);
	for (unsigned k = 0; k < LRU_KINDS; k++)
		l->found[k] = pm_alloc(l->depth * sizeof **l->found);
	l->back = pm_alloc((l->depth + 2) * sizeof *l->back);
	l->filled = pm_alloc(l->depth * sizeof *l->filled);
	l->used = pm_alloc((sets + LRU_GROUP - 1) / LRU_GROUP * sizeof *l->used);
}

void lru_family_exit(struct lru_family *f, const struct pm_level_conf *lc, struct cache_out *out)
{
	struct lru_list *l = list_of(f, lc);
	struct lru_exit *x;
	unsigned i = 0;

	while (i < l->nexit && l->exit[i].ways < lc->ways)
		i++;
	if (i == l->nexit || l->exit[i].ways != lc->ways) {
		l->exit = pm_realloc(l->exit, (l->nexit + 1) * sizeof *l->exit);
		memmove(l->exit + i + 1, l->exit + i, (l->nexit++ - i) * sizeof *l->exit);
		l->exit[i] = (struct lru_exit){ .ways = lc->ways };
	}
	x = l->exit + i;
	x->to = pm_realloc(x->to, (x->n + 1) * sizeof(void *));
	x->to[x->n++] = out;
}

static struct lru_feed *feed_of(struct lru_list *l, struct lru_below *bundle)
{
	for (unsigned i = 0; i < l->nfeed; i++)
		if (l->feed[i].bundle == bundle)
			return l->feed + i;
	l->feed = pm_realloc(l->feed, (l->nfeed + 1) * sizeof *l->feed);
	l->feed[l->nfeed] = (struct lru_feed){ .bundle = bundle,
		.read = pm_alloc((l->depth + 1) * sizeof(struct below_to)) };
	return l->feed + l->nfeed++;
}

void lru_family_feed(struct lru_family *f, const struct pm_level_conf *lc, struct lru_below *bundle,
		     unsigned member)
{
	struct lru_list *l = list_of(f, lc);
	struct lru_feed *x = feed_of(l, bundle);
	unsigned i = 0;

	for (unsigned p = lc->ways; p <= l->depth; p++)
		x->read[p].members |= 1u << member;
	while (i < x->nback && x->back[i].ways < lc->ways)
		i++;
	if (i == x->nback || x->back[i].ways != lc->ways) {
		x->back = pm_realloc(x->back, (x->nback + 1) * sizeof *x->back);
		memmove(x->back + i + 1, x->back + i, (x->nback++ - i) * sizeof *x->back);
		memset(x->back + i, 0, sizeof *x->back);
		x->back[i].ways = lc->ways;
	}
	x->back[i].to.members |= 1u << member;
}

void lru_family_fed(struct lru_family *f)
{
	for (struct lru_list *l = f->list, *end = l + f->n; l < end; l++) {
		make_list(l);
		for (struct lru_feed *x = l->feed; x < l->feed + l->nfeed; x++) {
			for (unsigned p = 1; p <= l->depth; p++)
				if (x->read[p].members)
					x->read[p] = lru_below_to(x->bundle, x->read[p].members);
			for (unsigned i = 0; i < x->nback; i++)
				x->back[i].to = lru_below_to(x->bundle, x->back[i].to.members);
		}
	}
}

/* ---- an access ------------------------------------------------------------------------------ */

static bool is_write(enum lru_kind k)
{
	return k >= LRU_WRITE;
}

/* The line at place @p of a list leaves all caches of at most @p ways, if it has not before. */
static void count_back(struct lru_list *l, uint64_t m, unsigned p)
{
	if (m < p) {
		l->back[m + 1]++;
		l->back[p + 1]--;
	}
}

/* As what a miss reads the line below. */
static const uint8_t read_op[LRU_KINDS] = {
	[LRU_FETCH] = PM_OP_FETCH, [LRU_PREFETCH] = PM_OP_PREFETCH,
	[LRU_READ] = PM_OP_READ, [LRU_READ_STACK] = PM_OP_READ, [LRU_WRITE] = PM_OP_READ,
	[LRU_WRITE_STACK] = PM_OP_READ, [LRU_BACK_PART] = PM_OP_READ,
};

/* The caches of at most @p ways miss: each reads @line, and its last line leaves. */
static void leave_to_exits(const struct lru_family *f, const struct lru_list *l,
			   const uint64_t *set, unsigned p, uint64_t line, enum lru_kind k)
{
	const uint32_t size = FLAGS(f) + 1;
	const unsigned cls = k == LRU_READ_STACK || k == LRU_WRITE_STACK;

	for (const struct lru_exit *x = l->exit, *end = x + l->nexit; x < end && x->ways <= p;
	     x++) {
		uint64_t last = ~set[x->ways - 1];
		bool dirty = (last & FLAGS(f)) < x->ways;	/* which is not, if it is empty */

		for (size_t i = 0; i < x->n; i++) {
			if (k != LRU_BACK)
				cache_out_add(x->to[i], read_op[k], line, size, cls);
			if (dirty)
				cache_out_add(x->to[i], PM_OP_BACK, last & f->line_mask, size, 0);
		}
	}
}

/* The same for those above bundles. No branch depends on what is dirty. */
static void leave_to_bundles(const struct lru_family *f, const struct lru_list *l,
			    const uint64_t *set, unsigned p, uint64_t line, enum lru_kind k)
{
	const uint64_t flags = FLAGS(f);

	for (const struct lru_feed *x = l->feed, *end = x + l->nfeed; x < end; x++) {
		struct lru_below *b = x->bundle;
		struct below_request *e = b->request + b->n;

		*e = (struct below_request){ line, x->read[p], read_op[k],
			k == LRU_READ_STACK || k == LRU_WRITE_STACK };
		e += k != LRU_BACK && x->read[p].members;
		for (unsigned i = 0; f->wrote && i < x->nback && x->back[i].ways <= p; i++) {
			const uint64_t last = ~set[x->back[i].ways - 1];

			*e = (struct below_request){ last & ~flags, x->back[i].to, PM_OP_BACK, 0 };
			e += (last & flags) < x->back[i].ways;
		}
		b->n = e - b->request;
		if (b->n >= BELOW_REQUESTS)
			lru_below_run(b);
	}
}

/* The line is first in these lists: what is said of it becomes "just written". */
static void write_first(struct lru_family *f, unsigned i, uint64_t line)
{
	for (; i < f->n; i++) {
		struct lru_list *l = f->list + i;
		uint64_t *set = l->way + ((line >> f->line_shift) & l->set_mask) * l->depth;

		PM_INVARIANT(1, (~set[0] & f->line_mask) == line);
		set[0] = ~line;
	}
}

/* Where @line is in a list whose first it is not; the list's depth: nowhere. */
static unsigned place_of(const struct lru_family *f, const struct lru_list *l, const uint64_t *set,
			 uint64_t line)
{
	unsigned p = 1;

	while (p < l->depth && (~set[p] ^ line) > FLAGS(f))
		p++;
	return p;
}

/* A line will enter @set, which has an empty place: the first of these will not be empty. */
static void fill(struct lru_list *l, const uint64_t *set)
{
	unsigned p = l->depth - 1;

	while (p && set[p - 1] == LRU_EMPTY)
		p--;
	l->filled[p]++;
	l->used[(set - l->way) / l->depth / LRU_GROUP] = true;
}

void lru_family_access(struct lru_family *f, uint64_t key, enum lru_kind k)
{
	const uint64_t line = key & f->line_mask, flags = FLAGS(f);
	const bool write = is_write(k);

	f->walked[k]++;
	f->wrote |= write;
	for (unsigned i = 0; i < f->n; i++) {
		struct lru_list *l = f->list + i;
		uint64_t *set = l->way + ((line >> f->line_shift) & l->set_mask) * l->depth;
		uint64_t e = ~set[0], m = CLEAN(f);
		unsigned p;

		if ((e ^ line) <= flags) {
			l->stop[k]++;
			if (write && e != line)
				write_first(f, i, line);
			return;
		}
		p = place_of(f, l, set, line);
		if (l->nexit)
			leave_to_exits(f, l, set, p, line, k);
		if (l->nfeed)
			leave_to_bundles(f, l, set, p, line, k);
		if (p < l->depth) {
			m = ~set[p] & flags;
			l->found[k][p]++;
			count_back(l, m, p);
			if (m < p)
				m = p;
		} else if (set[p - 1] != LRU_EMPTY) {
			count_back(l, ~set[p - 1] & flags, p);
		} else {
			fill(l, set);
		}
		memmove(set + 1, set, (p < l->depth ? p : p - 1) * sizeof *set);
		set[0] = ~(line | (write ? 0 : m));
	}
}

/* ---- counters ------------------------------------------------------------------------------- */

static void count_misses(const struct lru_family *f, const struct lru_list *l, unsigned ways,
			 uint64_t *miss)
{
	for (unsigned k = 0; k < LRU_KINDS; k++) {
		miss[k] = f->walked[k];
		for (const struct lru_list *s = f->list; s <= l; s++)
			miss[k] -= s->stop[k];
		for (unsigned p = 1; p < ways; p++)
			miss[k] -= l->found[k][p];
	}
}

/* Lines that are there, and write-backs of those that are not any more. */
static void count_lines(const struct lru_family *f, const struct lru_list *l,
			struct cache_level *to, bool lines, uint64_t *here, uint64_t *backs)
{
	const unsigned ways = to->conf->ways;

	*here = 0;
	for (unsigned w = 0; w <= ways; w++)
		*backs += l->back[w];
	for (unsigned p = 0; p < ways; p++)
		*here += l->filled[p];
	for (uint64_t s = 0; s <= l->set_mask; s++) {
		if (!l->used[s / LRU_GROUP]) {
			s |= LRU_GROUP - 1;
			continue;
		}
		for (unsigned p = 0; p < l->depth && l->way[s * l->depth + p] != LRU_EMPTY; p++) {
			uint64_t e = ~l->way[s * l->depth + p], m = e & FLAGS(f);

			*backs += p >= ways && m < ways;
			if (lines && p < ways)
				to->tag[s * ways + p] = (e & f->line_mask) | LINE_VALID |
							(m < ways ? LINE_DIRTY : 0);
		}
	}
}

void lru_family_level(const struct lru_family *f, struct cache_level *to,
		      struct pm_cache_memory_stats *mem, bool lines)
{
	const struct lru_list *l = list_of(f, to->conf);
	uint64_t miss[LRU_KINDS], all = 0, here, backs = 0;

	count_misses(f, l, to->conf->ways, miss);
	count_lines(f, l, to, lines, &here, &backs);
	to->st = (struct pm_level_stats){ 0 };
	for (unsigned k = 0; k < LRU_KINDS; k++) {
		static const uint8_t op[LRU_KINDS] = { PM_OP_FETCH, PM_OP_PREFETCH, PM_OP_READ,
			PM_OP_READ, PM_OP_WRITE, PM_OP_WRITE, PM_OP_BACK, PM_OP_BACK };
		unsigned cls = k == LRU_READ_STACK || k == LRU_WRITE_STACK;

		to->st.access[op[k]][cls] += f->walked[k] + f->first[k];
		to->st.miss[op[k]][cls] += miss[k];
		all += miss[k];
	}
	to->st.evictions = all - here;
	to->st.writebacks = backs;
	to->st.bytes_in = (all - miss[LRU_BACK]) * to->conf->line;
	to->st.bytes_out = backs * to->conf->line;
	*mem = (struct pm_cache_memory_stats){ all - miss[LRU_BACK], backs, to->st.bytes_in,
		to->st.bytes_out };
}
