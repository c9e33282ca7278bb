/* SPDX-License-Identifier: MIT */
/* A family is a tree. Its root takes events, the other nodes take what leaves a *variant* (one
 * distinct level, or pair of first levels) of the node above. A node is one variant of ordinary
 * levels, which some hierarchy of those that share it lends (the carrier), or several variants of
 * LRU levels in one pass. */
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_family.h"
#include "analyse/cache_state.h"
#include "analyse/lru_family.h"

#define PASS_FIRST	3	/* so many first levels, and so many ... */
#define PASS_LATER	2	/* ... later ones, are quicker in one pass */
#define KEPT		4096	/* requests that wait, at most, before the next level takes them:
				 * its lines stay in the processor's cache meanwhile */

struct family_variant {
	struct pm_cache **item;			/* hierarchies that have it */
	size_t n;
	struct cache_out out;
	struct family_node **child;
	size_t nchild;
	struct lru_below *below;	/* does the work of the only child, as this member;
					 * NULL: it does that itself */
	unsigned member;
};

struct family_node {
	unsigned from, to;		/* levels, as each of its hierarchies counts them */
	struct lru_family *lru, *lru_d;	/* NULL: one variant, with a carrier. lru_d: of root, data;
					 * the same if the first level is not split */
	struct family_variant *variant;
	size_t nvariant;
	struct family_bundle *bundle;	/* below variants of lists */
	size_t nbundle;
};

/* Below caches with as many sets as each other: then a request is often for several members. */
struct family_bundle {
	struct lru_below *below;
	uint64_t sets[3];		/* of first levels; of them */
};

struct cache_family {
	struct pm_cache *first;		/* knows address spaces, counts references */
	struct family_node *root;
	size_t members;			/* that have not left */
	bool ended;
};

/* ---- what is the same ----------------------------------------------------------------------- */

static bool same_level(const struct pm_level_conf *a, const struct pm_level_conf *b)
{
	return a->size == b->size && a->ways == b->ways && a->line == b->line &&
	       a->sub == b->sub && a->policy == b->policy && a->wb == b->wb && a->wa == b->wa &&
	       a->incl == b->incl && a->victim == b->victim && a->wbuf == b->wbuf &&
	       a->prefetch == b->prefetch && a->degree == b->degree &&
	       a->three_c == b->three_c && a->seed == b->seed && a->side == b->side &&
	       a->nofetch == b->nofetch && a->drain == b->drain;
}

/* How many levels stand first: 1 or 2. */
static unsigned firsts(const struct pm_cache *c)
{
	return c->conf.n > 1 && c->conf.level[1].depth == c->conf.level[0].depth ? 2 : 1;
}

static bool fits(const struct pm_cache *c)
{
	const struct pm_cache_conf *cc = &c->conf;

	if (c->family || cc->flush_insns || cc->flush_switch || cc->regions || cc->by_insn)
		return false;
	for (unsigned i = 0; i < cc->n; i++)
		if (cc->level[i].incl != PM_NINE || cc->level[i].policy == PM_OPT ||
		    c->level[i].module || (i >= firsts(c) && cc->level[i].side))
			return false;
	return true;
}

/* Have both the levels @from..@to? All of the first ones, if @from is 0. */
static bool both_have(const struct pm_cache *a, const struct pm_cache *b, unsigned from,
		      unsigned to)
{
	if (from)
		return a->conf.n >= to && b->conf.n >= to;
	return firsts(a) == to && firsts(b) == to && a->conf.shared == b->conf.shared;
}

static bool same_levels(const struct pm_cache *a, const struct pm_cache *b, unsigned from,
			unsigned to)
{
	if (!both_have(a, b, from, to))
		return false;
	for (unsigned i = from; i < to; i++)
		if (!same_level(a->conf.level + i, b->conf.level + i))
			return false;
	return true;
}

static bool all_lru(const struct pm_cache *c, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (!lru_family_fits(c->conf.level + i))
			return false;
	return true;
}

/* Can levels @from..@to of both be in one pass? */
static bool alike(const struct pm_cache *a, const struct pm_cache *b, unsigned from, unsigned to)
{
	if (!both_have(a, b, from, to) || !all_lru(a, from, to) || !all_lru(b, from, to))
		return false;
	for (unsigned i = from; i < to; i++)
		if (a->conf.level[i].line != b->conf.level[i].line ||
		    a->conf.level[i].side != b->conf.level[i].side)
			return false;
	return true;
}

/* ---- building ------------------------------------------------------------------------------- */

static struct family_variant *add_variant(struct family_node *d)
{
	d->variant = pm_realloc(d->variant, (d->nvariant + 1) * sizeof *d->variant);
	d->variant[d->nvariant] = (struct family_variant){ 0 };
	return d->variant + d->nvariant++;
}

static void add_item(struct family_variant *w, struct pm_cache *c)
{
	w->item = pm_realloc(w->item, (w->n + 1) * sizeof(void *));
	w->item[w->n++] = c;
}

/* One variant for each distinct one among @c. */
static struct family_node *node_of(struct pm_cache *const *c, size_t n, unsigned from, unsigned to)
{
	struct family_node *d = pm_alloc(sizeof *d);

	d->from = from;
	d->to = to;
	for (size_t i = 0; i < n; i++) {
		size_t w = 0;

		while (w < d->nvariant && !same_levels(d->variant[w].item[0], c[i], from, to))
			w++;
		add_item(w < d->nvariant ? d->variant + w : add_variant(d), c[i]);
	}
	return d;
}

static void add_children(struct family_variant *w, unsigned from);

/* What leaves the levels of the node's carrier is for nodes below. */
static void end_at(struct family_node *d)
{
	struct family_variant *w = d->variant;
	struct pm_cache *c = w->item[0];

	for (unsigned i = d->from; i < d->to; i++) {
		c->level[i].next = NULL;
		c->level[i].out = &w->out;
	}
	add_children(w, d->to);
}

/* Levels @from.. of the variant's carrier are simulated for itself. */
static void carry(struct family_node *d)
{
	if (d->variant->n == 1)
		d->to = d->variant->item[0]->conf.n;
	else
		end_at(d);
}

/* Is below the variant one level, which can be member of a bundle? */
static bool can_be_member(const struct family_node *d, const struct family_variant *w)
{
	const struct family_node *child = w->nchild == 1 ? w->child[0] : NULL;
	const struct pm_level_conf *lc = w->item[0]->conf.level;

	return child && child->nvariant == 1 && lc[d->from].line == lc[d->to - 1].line &&
	       lru_below_fits(child->variant[0].item[0]->conf.level + d->to, lc[d->from].line);
}

static struct lru_below *bundle_of(struct family_node *d, const struct pm_level_conf *first,
				   const struct pm_level_conf *last,
				   const struct pm_level_conf *below)
{
	const uint64_t sets[3] = { lru_sets_of(first), lru_sets_of(last), lru_sets_of(below) };

	for (size_t i = 0; i < d->nbundle; i++)
		if (!memcmp(d->bundle[i].sets, sets, sizeof sets) &&
		    d->bundle[i].below->nmember < BELOW_MEMBERS)
			return d->bundle[i].below;
	d->bundle = pm_realloc(d->bundle, (d->nbundle + 1) * sizeof *d->bundle);
	d->bundle[d->nbundle].below = lru_below_new(below);
	memcpy(d->bundle[d->nbundle].sets, sets, sizeof sets);
	return d->bundle[d->nbundle++].below;
}

static void add_member(struct family_node *d, struct family_variant *w)
{
	const struct pm_level_conf *first = w->item[0]->conf.level + d->from,
				   *last = w->item[0]->conf.level + d->to - 1, *below;
	struct family_node *child = w->child[0];
	struct family_variant *to = child->variant;

	if (child->to > d->to + 1) {
		child->to = d->to + 1;
		end_at(child);
	}
	below = to->item[0]->conf.level + d->to;
	w->below = bundle_of(d, first, last, below);
	w->member = lru_below_add(w->below, below, to->out.kept ? &to->out : NULL);
	lru_family_feed(d->lru, first, w->below, w->member);
	if (d->lru != d->lru_d)
		lru_family_feed(d->lru_d, last, w->below, w->member);
}

static void add_exit(struct family_node *d, struct family_variant *w)
{
	const struct pm_level_conf *first = w->item[0]->conf.level + d->from;

	lru_family_exit(d->lru, first, &w->out);
	if (d->lru != d->lru_d)
		lru_family_exit(d->lru_d, first + 1, &w->out);
}

static void pass(struct family_node *d)
{
	const struct pm_cache *c = d->variant[0].item[0];
	const bool two = d->to - d->from > 1;

	d->lru = lru_family_new(c->conf.level[d->from].line);
	d->lru_d = two ? lru_family_new(c->conf.level[d->from + 1].line) : d->lru;
	for (size_t w = 0; w < d->nvariant; w++) {
		const struct pm_level_conf *lc = d->variant[w].item[0]->conf.level + d->from;

		lru_family_add(d->lru, lc);
		if (two)
			lru_family_add(d->lru_d, lc + 1);
	}
	for (size_t w = 0; w < d->nvariant; w++) {
		add_children(d->variant + w, d->to);
		if (can_be_member(d, d->variant + w))
			add_member(d, d->variant + w);
		else if (d->variant[w].out.kept)
			add_exit(d, d->variant + w);
	}
	lru_family_fed(d->lru);
	if (two)
		lru_family_fed(d->lru_d);
}

static void add_child(struct family_variant *w, struct family_node *d)
{
	w->child = pm_realloc(w->child, (w->nchild + 1) * sizeof(void *));
	w->child[w->nchild++] = d;
	w->out.kept = true;
	if (d->nvariant > 1)
		pass(d);
	else
		carry(d);
}

/* In @left[0..*n): those that can be in one pass with left[0], or are equal to it if it is none for
 * that; taken out, into @same. How many. */
static size_t take_alike(struct pm_cache **left, size_t *n, unsigned from, unsigned to,
			 struct pm_cache **same)
{
	struct pm_cache *const c = left[0];
	const bool lru = all_lru(c, from, to);
	size_t k = 0, rest = 0;

	for (size_t i = 0; i < *n; i++)
		if (lru ? alike(c, left[i], from, to) : same_levels(c, left[i], from, to))
			same[k++] = left[i];
		else
			left[rest++] = left[i];
	*n = rest;
	return k;
}

/* Nodes for level @from of those of the variant's hierarchies that have one. */
static void add_children(struct family_variant *w, unsigned from)
{
	struct pm_cache **left = pm_alloc((w->n + 1) * sizeof(void *)),
			**same = pm_alloc((w->n + 1) * sizeof(void *));
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->item[i]->conf.n > from)
			left[n++] = w->item[i];
	while (n) {
		size_t k = take_alike(left, &n, from, from + 1, same);

		add_child(w, node_of(same, k, from, from + 1));
	}
	free(left);
	free(same);
}

static void free_node(struct family_node *d)
{
	for (size_t w = 0; w < d->nvariant; w++) {
		for (size_t i = 0; i < d->variant[w].nchild; i++)
			free_node(d->variant[w].child[i]);
		free(d->variant[w].child);
		free(d->variant[w].item);
		free(d->variant[w].out.v);
	}
	if (d->lru_d != d->lru)
		lru_family_free(d->lru_d);
	lru_family_free(d->lru);
	for (size_t i = 0; i < d->nbundle; i++)
		lru_below_free(d->bundle[i].below);
	free(d->bundle);
	free(d->variant);
	free(d);
}

/* A family of @root, whose first item does the others' work. */
static void found(struct family_node *root, struct pm_cache *const *all, size_t n, bool *served)
{
	struct cache_family *f = pm_alloc(sizeof *f);

	f->root = root;
	f->first = root->variant[0].item[0];
	for (size_t w = 0; w < root->nvariant; w++)
		for (size_t i = 0; i < root->variant[w].n; i++) {
			struct pm_cache *c = root->variant[w].item[i];

			c->family = f;
			f->members++;
			for (size_t k = 0; k < n; k++)
				if (all[k] == c)
					served[k] = c != f->first;
		}
	if (root->nvariant > 1) {
		pass(root);
	} else {
		f->first->own = root->to;
		carry(root);
	}
}

void pm_cache_unite(struct pm_cache *const *c, size_t n, bool *served)
{
	struct pm_cache **left = pm_alloc((n + 1) * sizeof(void *)),
			**same = pm_alloc((n + 1) * sizeof(void *));
	size_t nleft = 0, k;

	for (size_t i = 0; i < n; i++)
		if (fits(c[i]))
			left[nleft++] = c[i];
	while (nleft) {
		const unsigned to = firsts(left[0]);
		struct family_node *d;

		k = take_alike(left, &nleft, 0, to, same);
		d = node_of(same, k, 0, to);
		if (d->nvariant >= PASS_FIRST) {
			found(d, c, n, served);
			continue;
		}
		for (size_t w = 0; w < d->nvariant; w++)
			if (d->variant[w].n > 1)
				found(node_of(d->variant[w].item, d->variant[w].n, 0, to), c, n,
				      served);
		free_node(d);
	}
	free(left);
	free(same);
}

/* ---- running -------------------------------------------------------------------------------- */

static void node_requests(struct family_node *d, const struct cache_request *v, size_t n);

/* The next levels take what has left @d, if there is enough of it: @least. */
static void drain(struct family_node *d, size_t least)
{
	for (size_t i = 0; i < d->nbundle && least <= 1; i++)
		lru_below_run(d->bundle[i].below);
	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end; w++) {
		if (w->out.n && w->out.n >= least)
			for (size_t i = 0; i < w->nchild; i++)
				node_requests(w->child[i], w->out.v, w->out.n);
		if (w->out.n >= least)
			w->out.n = 0;
		for (size_t i = 0; i < w->nchild && (least <= 1 || w->below); i++)
			drain(w->child[i], least);
	}
}

/* The counters of level @i of the node's variant, and its lines if they are wanted; into @c, which
 * has such a variant. What left it for memory is added to @mem. */
static void level_of_pass(const struct family_node *d, struct pm_cache *c, bool lines,
			  struct pm_cache_memory_stats *mem)
{
	for (unsigned i = d->from; i < d->to; i++) {
		struct pm_cache_memory_stats m;

		lru_family_level(i > d->from ? d->lru_d : d->lru, c->level + i, &m, lines);
		mem->reads += m.reads;
		mem->writes += m.writes;
		mem->bytes_read += m.bytes_read;
		mem->bytes_written += m.bytes_written;
	}
}

/* Members of bundles become the levels that they stand for; with lines where they are wanted. */
static void leave_bundles(struct family_node *d, bool lines)
{
	for (size_t i = 0; i < d->nbundle; i++)
		lru_below_run(d->bundle[i].below);
	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end; w++) {
		struct family_variant *to = w->below ? w->child[0]->variant : NULL;
		struct cache_level *l = to ? to->item[0]->level + d->to : NULL;

		if (!to)
			continue;
		lru_below_level(w->below, w->member, l, l->out ? &to->out.st : &to->item[0]->mst,
				lines || l->conf->drain);
		w->below = NULL;
	}
	for (size_t i = 0; i < d->nbundle; i++)
		lru_below_free(d->bundle[i].below);
	d->nbundle = 0;
}

/* Something happens to the lines of all caches that lists cannot show (a line is taken away): each
 * variant gets its carrier, with the lines that it has. */
static void dissolve(struct family_node *d)
{
	leave_bundles(d, true);
	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end; w++) {
		struct pm_cache *c = w->item[0];

		w->out.st = (struct pm_cache_memory_stats){ 0 };
		level_of_pass(d, c, true, &w->out.st);
		for (unsigned i = d->from; i < d->to; i++) {
			c->level[i].next = NULL;
			c->level[i].out = &w->out;
		}
	}
	if (d->lru_d != d->lru)
		lru_family_free(d->lru_d);
	lru_family_free(d->lru);
	d->lru = d->lru_d = NULL;
}

static void pass_requests(struct family_node *d, const struct cache_request *v, size_t n)
{
	const uint32_t line = d->variant[0].item[0]->conf.level[d->from].line;

	for (size_t i = 0; i < n; i++) {
		uint64_t addr = v[i].addr, size = v[i].size;

		if (v[i].op == CACHE_OUT_MAINTAIN) {
			dissolve(d);
			node_requests(d, v + i, n - i);
			return;
		}
		while (size) {
			uint64_t room = line - (addr & (line - 1)), k = size < room ? size : room;

			lru_family_access(d->lru, addr, lru_kind_of(v[i].op, v[i].cls, k == line));
			addr += k;
			size -= k;
		}
	}
}

static void node_requests(struct family_node *d, const struct cache_request *v, size_t n)
{
	if (d->lru)
		pass_requests(d, v, n);
	else
		for (size_t w = 0; w < d->nvariant; w++)
			pm_cache_requests(d->variant[w].item[0], d->from, d->to, v, n);
	drain(d, KEPT);
}

/* Each variant's carrier goes on with the events from @ev on. */
static void dissolve_root(struct cache_family *f, const struct pm_event *ev, size_t n)
{
	const struct pm_cache *from = f->first;

	dissolve(f->root);
	for (size_t w = 0; w < f->root->nvariant; w++) {
		struct pm_cache *c = f->root->variant[w].item[0];

		if (c != from)
			pm_cache_copy_place(c, from);
		c->own = f->root->to;
	}
	for (size_t w = 0; w < f->root->nvariant; w++)
		pm_cache_events(f->root->variant[w].item[0], ev, n);
}

/* HOT: once per event. */
static void pass_events(struct cache_family *f, const struct pm_event *ev, size_t n)
{
	struct pm_cache *c = f->first;
	struct lru_family *li = c->first_i ? f->root->lru : NULL,
			  *ld = c->first_d ? f->root->lru_d : NULL;
	const enum lru_kind write = c->conf.tlb ? LRU_READ : LRU_WRITE;
	const uint64_t seg0 = c->segment0;

	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		uint64_t key = e->addr | seg0;
		unsigned cls = (e->flags & PM_REF_STACK) != 0;

		switch (e->kind) {
		case PM_EV_INSN:
			c->insns++;
			/* fall through */
		case PM_EV_LINE:
			if (!li)
				break;
			if (e->addr >> 48)
				key = pm_cache_key(c, e->addr);
			c->refs[PM_OP_FETCH][0]++;
			lru_family_ref(li, key, e->size, LRU_FETCH);
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
		case PM_EV_WRITE:
			if (!ld) {
				c->other = true;
				break;
			}
			if (e->addr >> 48)
				key = pm_cache_key(c, e->addr);
			if (__builtin_expect(e->flags & PM_REF_UNCACHED, 0))
				break;
			if (__builtin_expect(e->flags & (PM_REF_COPYBACK | PM_REF_INVAL), 0)) {
				dissolve_root(f, e, end - e);
				return;
			}
			if (e->kind != PM_EV_WRITE) {
				c->refs[PM_OP_READ][cls]++;
				lru_family_ref(ld, key, e->size, LRU_READ + cls);
			}
			if (e->kind != PM_EV_READ) {
				c->refs[PM_OP_WRITE][cls]++;
				lru_family_ref(ld, key, e->size, write + cls);
			}
			break;
		default:
			break;
		}
	}
}

void pm_cache_family_batch(struct cache_family *f, const struct pm_batch *b)
{
	struct family_node *d = f->root;

	if (d->lru) {
		if (b->stream)
			pm_cache_enter_space(f->first, b->stream->space);
		pass_events(f, b->ev, b->n);
	} else {
		for (size_t w = 0; w < d->nvariant; w++)
			pm_cache_batch(d->variant[w].item[0], b);
	}
	drain(d, KEPT);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Levels that are to be drained are, those above others first. */
static void copy_back(struct cache_family *f, struct family_node *d)
{
	bool any = false;

	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end; w++)
		for (unsigned i = d->from; i < d->to; i++)
			any = any || w->item[0]->conf.level[i].drain;
	if (any && d->lru && d == f->root)
		dissolve_root(f, NULL, 0);
	else if (any && d->lru)
		dissolve(d);
	else
		leave_bundles(d, false);
	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end && any; w++)
		pm_cache_copy_back(w->item[0], d->from, d->to);
	drain(d, 1);
	for (struct family_variant *w = d->variant, *end = w + d->nvariant; w < end; w++)
		for (size_t i = 0; i < w->nchild; i++)
			copy_back(f, w->child[i]);
}

/* What was counted at @d becomes what its hierarchies counted. */
static void tell(const struct family_node *d)
{
	for (size_t k = 0; k < d->nvariant; k++) {
		struct family_variant *w = d->variant + k;
		const struct pm_cache *carrier = w->item[0];
		struct pm_cache_memory_stats mem = { 0 };

		for (size_t i = 0; i < w->n; i++) {
			struct pm_cache *c = w->item[i];

			if (d->lru && !i)
				level_of_pass(d, c, false, &mem);
			for (unsigned l = d->from; l < d->to && i; l++)
				c->level[l].st = carrier->level[l].st;
			if (c->conf.n == d->to && d->lru)
				c->mst = mem;
			else if (c->conf.n == d->to && carrier->level[d->from].out == &w->out)
				c->mst = w->out.st;
		}
		for (size_t i = 0; i < w->nchild; i++)
			tell(w->child[i]);
	}
}

void pm_cache_family_end(struct cache_family *f)
{
	if (f->ended)
		return;
	f->ended = true;
	drain(f->root, 1);
	copy_back(f, f->root);
	for (size_t k = 0; k < f->root->nvariant; k++) {
		const struct family_variant *w = f->root->variant + k;
		const struct pm_cache *from = f->root->lru ? f->first : w->item[0];

		for (size_t i = 0; i < w->n; i++) {
			struct pm_cache *c = w->item[i];

			c->insns = from->insns;
			c->other = from->other;
			memcpy(c->refs, from->refs, sizeof c->refs);
		}
	}
	tell(f->root);
}

void pm_cache_family_leave(struct cache_family *f, struct pm_cache *c)
{
	c->family = NULL;
	if (--f->members)
		return;
	free_node(f->root);
	free(f);
}
