/* SPDX-License-Identifier: MIT */
/* coherence.c - rules (1) to (6): cores, their caches, and the directory */
#include <stdlib.h>
#include <string.h>

#include "analyse/coherence_state.h"

#define FLAT static inline __attribute__((always_inline))

/* ---- a core's caches ------------------------------------------------------------------------- */

FLAT uint64_t *own_set(const struct own_cache *o, uint64_t line)
{
	return o->way + (line >> o->shift & o->set_mask) * o->ways;
}

/* Its way in @set; o->ways: it is not there. */
FLAT unsigned own_find(const struct own_cache *o, const uint64_t *set, uint64_t line)
{
	unsigned w = 0;

	while (w < o->ways && ((set[w] & ~(uint64_t)WAY_FLAGS) != line || !(set[w] & WAY_STATE)))
		w++;
	return w;
}

FLAT void own_first(uint64_t *set, unsigned way, uint64_t entry)
{
	for (; way > 0; way--)
		set[way] = set[way - 1];
	set[0] = entry;
}

/* The line's way, NULL: it is not there. The order stays. */
static uint64_t *own_at(const struct own_cache *o, uint64_t line)
{
	uint64_t *set;
	unsigned w;

	if (!o->ways)
		return NULL;
	set = own_set(o, line);
	w = own_find(o, set, line);
	return w < o->ways ? set + w : NULL;
}

static void own_drop(const struct own_cache *o, uint64_t *way, uint64_t line)
{
	uint64_t *set = own_set(o, line);
	const size_t last = o->ways - 1, at = (size_t)(way - set);

	memmove(way, way + 1, (last - at) * sizeof *way);
	set[last] = 0;
}

/* Enters a line that is not there. Returns the way that made room, 0: one was empty. */
static uint64_t own_enter(const struct own_cache *o, uint64_t line, uint64_t flags)
{
	uint64_t *set = own_set(o, line), old = set[o->ways - 1];

	own_first(set, o->ways - 1, line | flags);
	return old;
}

static struct directory *directory_of(struct pm_coherence *c, uint64_t line, size_t *at)
{
	const struct shared_cache *s = &c->last;
	const size_t set = (line >> s->shift & s->set_mask) * s->ways;

	for (size_t w = set; w < set + s->ways; w++)
		if (s->key[w] == line) {
			*at = w;
			return s->dir + w;
		}
	return NULL;
}

/* A core loses its copies of a line, or with @keep stays with S. True: one was M. */
static bool core_gives_up(struct core *k, uint64_t line, bool keep)
{
	const struct own_cache *all[] = { &k->l1d, &k->l2, &k->l1i };
	bool dirty = false;

	for (size_t i = 0; i < NR(all); i++) {
		uint64_t *way = own_at(all[i], line);

		if (!way)
			continue;
		dirty |= (*way & WAY_STATE) == WAY_M;
		if (keep)
			*way = (*way & ~(uint64_t)WAY_STATE) | WAY_S;
		else
			own_drop(all[i], way, line);
	}
	if (!keep && k->last_fetch == line)
		k->last_fetch = 1;
	return dirty;
}

/* Writes of @cores to the line are remembered from now on. */
static void watch(struct pm_coherence *c, uint64_t key, uint64_t cores)
{
	for (; cores; cores &= cores - 1) {
		struct core *k = c->core + __builtin_ctzll(cores);
		uint64_t *way;

		if ((way = own_at(&k->l1d, key)))
			*way |= WAY_SHARED;
		if ((way = own_at(&k->l2, key)))
			*way |= WAY_SHARED;
	}
}

/* ---- what leaves ---------------------------------------------------------------------------- */

/* @core has let go of the line, by replacement. */
static void core_lost(struct pm_coherence *c, unsigned core, uint64_t line, bool dirty)
{
	size_t at;
	struct directory *d = directory_of(c, line, &at);

	c->core[core].n.writebacks += dirty;
	d->dirty |= dirty;
	d->cores &= ~(1ull << core);
	d->alone = false;
	coherence_lifetime_ends(c, d->line, core);
}

/* A line left l1d by replacement. */
static void left_l1d(struct pm_coherence *c, unsigned core, uint64_t old)
{
	struct core *k = c->core + core;
	const uint64_t line = old & ~(uint64_t)WAY_FLAGS;
	const bool dirty = (old & WAY_STATE) == WAY_M;
	struct directory *d;
	size_t at;

	if (k->l2.ways) {
		if (dirty) {
			uint64_t *way = own_at(&k->l2, line);

			*way |= WAY_M;
			k->n.l1_writebacks++;
		}
	} else if (!own_at(&k->l1i, line)) {
		core_lost(c, core, line, dirty);
	} else if ((old & WAY_STATE) != WAY_S) {	/* l1i keeps it, S */
		d = directory_of(c, line, &at);
		k->n.writebacks += dirty;
		d->dirty |= dirty;
		d->alone = false;
	}
}

static void enter_l1d(struct pm_coherence *c, unsigned core, uint64_t line, uint64_t flags)
{
	const uint64_t old = own_enter(&c->core[core].l1d, line, flags);

	if (old)
		left_l1d(c, core, old);
}

static void enter_l1i(struct pm_coherence *c, unsigned core, uint64_t line)
{
	struct core *k = c->core + core;
	const uint64_t old = own_enter(&k->l1i, line, WAY_S), gone = old & ~(uint64_t)WAY_FLAGS;

	if (old && !k->l2.ways && !own_at(&k->l1d, gone))
		core_lost(c, core, gone, false);
}

static void enter_l2(struct pm_coherence *c, unsigned core, uint64_t line, uint64_t flags)
{
	struct core *k = c->core + core;
	const uint64_t old = own_enter(&k->l2, line, flags), gone = old & ~(uint64_t)WAY_FLAGS;

	if (old)
		core_lost(c, core, gone, core_gives_up(k, gone, false) |
			  ((old & WAY_STATE) == WAY_M));
}

/* The last level replaces way @at. */
static void recall(struct pm_coherence *c, size_t at)
{
	struct directory *d = c->last.dir + at;
	bool dirty = d->dirty;

	for (uint64_t cores = d->cores; cores; cores &= cores - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(cores);

		dirty |= core_gives_up(c->core + k, c->last.key[at], false);
		c->core[k].n.recalls++;
		coherence_lifetime_ends(c, d->line, k);
	}
	c->line[d->line].recalled |= d->cores;
	c->shared.replaced++;
	c->shared.memory_writes += dirty;
}

/* ---- requests to the last level ------------------------------------------------------------- */

static struct directory *last_level(struct pm_coherence *c, unsigned core, uint64_t line)
{
	struct shared_cache *s = &c->last;
	const size_t set = (line >> s->shift & s->set_mask) * s->ways;
	size_t at = set;
	struct directory *d = directory_of(c, line, &at);

	c->shared.requests++;
	if (!d) {
		c->shared.misses++;
		c->core[core].n.l3_misses++;
		for (size_t w = set; w < set + s->ways; w++)	/* empty ways were never used */
			if (s->used[w] < s->used[at])
				at = w;
		if (s->key[at] != 1)
			recall(c, at);
		d = s->dir + at;
		*d = (struct directory){ .line = coherence_line_of(c, line) };
		s->key[at] = line;
	}
	s->used[at] = ++c->now;
	return d;
}

/* All cores but that of @a lose the line. */
static void invalidate_others(struct pm_coherence *c, struct directory *d,
			      const struct own_access *a)
{
	const uint64_t line = a->key & c->line_mask, others = d->cores & ~(1ull << a->core);
	struct coherence_line *l = c->line + d->line;

	for (uint64_t k = others; k; k &= k - 1) {
		const unsigned core = (unsigned)__builtin_ctzll(k);
		struct pm_core_counts *n = &c->core[core].n;
		const bool dirty = core_gives_up(c->core + core, line, false);

		d->dirty |= dirty;
		n->dirty_interventions += dirty;
		n->clean_interventions += !dirty && d->alone;
		n->invalidations++;
		c->core[a->core].n.invalidates++;
		l->invalidations++;
		coherence_lifetime_ends(c, d->line, core);
		l->sharer[core].taken = a->pc;
		l->sharer[core].taken_at = (uint16_t)(a->key & ~c->line_mask);
	}
	l->taken |= others;
	d->cores &= ~others;
}

/* The state that a core gets which does not have the line; *line: which it is. */
static enum way_state request(struct pm_coherence *c, const struct own_access *a, uint32_t *line)
{
	const uint64_t key = a->key & c->line_mask, me = 1ull << a->core;
	struct directory *d = last_level(c, a->core, key);

	*line = d->line;
	watch(c, key, coherence_missed(c, d->line, a));
	if (a->op == PM_OP_WRITE) {
		invalidate_others(c, d, a);
		d->cores = me;
		d->alone = true;
		return WAY_M;
	}
	if (d->alone) {
		const unsigned owner = (unsigned)__builtin_ctzll(d->cores);
		const bool dirty = core_gives_up(c->core + owner, key, true);

		d->dirty |= dirty;
		c->core[owner].n.dirty_interventions += dirty;
		c->core[owner].n.clean_interventions += !dirty;
	}
	d->alone = !d->cores && a->op == PM_OP_READ;
	d->cores |= me;
	return d->alone ? WAY_E : WAY_S;
}

/* The core has the line S and writes. */
static void upgrade(struct pm_coherence *c, const struct own_access *a)
{
	size_t at;
	struct directory *d = directory_of(c, a->key & c->line_mask, &at);

	c->core[a->core].n.upgrades++;
	invalidate_others(c, d, a);
	d->alone = true;
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* What l1 does not have. */
static void missed_l1(struct pm_coherence *c, const struct own_access *a)
{
	struct core *k = c->core + a->core;
	const uint64_t key = a->key & c->line_mask;
	const bool fetch = a->op == PM_OP_FETCH, write = a->op == PM_OP_WRITE;
	uint64_t *set = k->l2.ways ? own_set(&k->l2, key) : NULL, *beside = NULL;
	unsigned w = set ? own_find(&k->l2, set, key) : 0;
	enum way_state state;
	uint32_t line = 0;

	if (!set)
		beside = own_at(fetch ? &k->l1d : &k->l1i, key);
	if (set && w < k->l2.ways) {
		own_first(set, w, set[w]);
		state = (enum way_state)(set[0] & WAY_STATE);
		if (write && state == WAY_S) {
			upgrade(c, a);
			set[0] = (set[0] & ~(uint64_t)WAY_STATE) | WAY_E;
		}
	} else if (beside) {
		state = (enum way_state)(*beside & WAY_STATE);
		if (write)
			upgrade(c, a);
	} else {
		state = request(c, a, &line);
		coherence_accessed(c, line, a);
		if (set)
			enter_l2(c, a->core, key, (state == WAY_M ? WAY_E : state) |
				 coherence_flags(c, line, a->core));
		goto enter;
	}
	line = coherence_line_of(c, key);
	coherence_accessed(c, line, a);
enter:
	if (fetch)
		enter_l1i(c, a->core, key);
	else
		enter_l1d(c, a->core, key, (write ? WAY_M : state == WAY_S ? WAY_S : WAY_E) |
			  coherence_flags(c, line, a->core));
}

/* A hit in l1d that needs more than a look: *way is the newest of its set. */
static __attribute__((noinline)) void hit_shared(struct pm_coherence *c, uint64_t *way,
						 const struct own_access *a)
{
	const uint64_t key = a->key & c->line_mask;
	enum way_state state = (enum way_state)(*way & WAY_STATE);
	uint32_t line;

	if (a->op == PM_OP_WRITE) {
		if (state == WAY_S) {
			uint64_t *l2 = own_at(&c->core[a->core].l2, key);

			upgrade(c, a);
			if (l2)
				*l2 = (*l2 & ~(uint64_t)WAY_STATE) | WAY_E;
		}
		state = WAY_M;
	}
	line = coherence_line_of(c, key);
	coherence_accessed(c, line, a);
	*way = key | state | coherence_flags(c, line, a->core);
}

/* HOT: once per reference to data. */
FLAT void data(struct pm_coherence *c, struct core *k, const struct own_access a)
{
	const uint64_t line = a.key & c->line_mask;
	uint64_t *set = own_set(&k->l1d, line);
	const bool write = a.op == PM_OP_WRITE;
	unsigned w;

	k->n.reads += !write;
	k->n.writes += write;
	w = own_find(&k->l1d, set, line);
	if (__builtin_expect(w == k->l1d.ways, 0)) {
		k->n.l1d_misses++;
		missed_l1(c, &a);
		return;
	}
	if (w)
		own_first(set, w, set[w]);
	if (!write) {
		if (__builtin_expect(set[0] & WAY_WATCH, 0))
			hit_shared(c, set, &a);
		return;
	}
	if (__builtin_expect((set[0] & WAY_SHARED) || (set[0] & WAY_STATE) == WAY_S, 0))
		hit_shared(c, set, &a);
	else
		set[0] |= WAY_M;
}

FLAT void fetch(struct pm_coherence *c, struct core *k, const struct own_access a)
{
	const uint64_t line = a.key & c->line_mask;
	uint64_t *set;
	unsigned w;

	k->n.fetches++;
	if (line == k->last_fetch)
		return;
	set = own_set(&k->l1i, line);
	w = own_find(&k->l1i, set, line);
	if (__builtin_expect(w == k->l1i.ways, 0)) {
		k->n.l1i_misses++;
		missed_l1(c, &a);
	} else if (w) {
		own_first(set, w, set[w]);
	}
	k->last_fetch = line;
}

FLAT void access_lines(struct pm_coherence *c, struct own_access a, uint64_t size)
{
	struct core *k = c->core + a.core;
	const uint64_t step = ~c->line_mask + 1;

	do {
		const uint64_t left = step - (a.key & (step - 1));

		a.size = size < left ? size : left;
		if (a.op == PM_OP_FETCH)
			fetch(c, k, a);
		else
			data(c, k, a);
		a.key += a.size;
		size -= a.size;
	} while (__builtin_expect(size != 0, 0));
}

/* ---- events --------------------------------------------------------------------------------- */

static uint64_t segment(struct pm_coherence *c, uint64_t space, uint64_t high)
{
	bool fresh;
	uint64_t *v = pm_map_put(&c->segment, (c->conf.shared ? 0 : space) << 16 | high, &fresh);

	if (fresh) {
		*v = c->nsegment;
		pm_grow(c->segment_high, c->nsegment, c->cap_segment);
		c->segment_high[c->nsegment++] = high;
	}
	return *v;
}

static void enter_space(struct pm_coherence *c, uint64_t space)
{
	if (c->began && space == c->space)
		return;
	c->began = true;
	c->space = space;
	c->segment0 = segment(c, space, 0) << 48;
}

FLAT uint64_t key_of(struct pm_coherence *c, uint64_t addr)
{
	if (__builtin_expect(addr >> 48 != 0, 0))
		return (addr & 0xffffffffffff) | segment(c, c->space, addr >> 48) << 48;
	return addr | c->segment0;
}

void pm_coherence_access(struct pm_coherence *c, unsigned core, enum pm_cache_op op, uint64_t space,
			 uint64_t addr, uint32_t size, uint64_t pc)
{
	enter_space(c, space);
	if (op == PM_OP_FETCH && !c->core[core].l1i.ways)
		return;
	access_lines(c, (struct own_access){ core, op, key_of(c, addr), 0, pc }, size ? size : 1);
}

static struct coherence_stream *stream_of(struct pm_coherence *c, uint32_t index)
{
	while (c->nstream <= index) {
		const uint32_t core = (uint32_t)(c->nstream % c->conf.cores);

		pm_grow(c->stream, c->nstream, c->cap_stream);
		c->stream[c->nstream++] = (struct coherence_stream){ .core = core };
	}
	return c->stream + index;
}

/* The schedule says on which core the stream goes on. */
static enum pm_status runs_on(struct pm_coherence *c, struct coherence_stream *s,
			      const struct pm_batch *b, const struct pm_event *e,
			      struct pm_err *err)
{
	const struct pm_rare *r = e->id < b->nrare ? b->rare + e->id : NULL;

	if (!r || r->code != PM_KERNEL_CORE || !r->nargs)
		return PM_OK;
	if (r->arg[0] >= c->conf.cores)
		return pm_fail_file(err, "coherence: the schedule uses core %llu, and there are "
				    "%u (from 0); cores=N says how many",
				    (unsigned long long)r->arg[0], c->conf.cores);
	s->core = (uint32_t)r->arg[0];
	return PM_OK;
}

/* HOT: once per event. */
enum pm_status pm_coherence_batch(struct pm_coherence *c, const struct pm_batch *b,
				  struct pm_err *err)
{
	struct coherence_stream *s = stream_of(c, b->stream ? b->stream->index : 0);
	struct own_access a = { .core = s->core, .pc = s->pc };
	bool fetches;

	enter_space(c, b->stream ? b->stream->space : 0);
	fetches = c->core[0].l1i.ways;
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		const uint64_t size = e->size ? e->size : 1;

		switch (e->kind) {
		case PM_EV_INSN:
			a.pc = e->addr;
			/* fall through */
		case PM_EV_LINE:
			a.key = key_of(c, e->addr);
			a.op = PM_OP_FETCH;
			if (fetches)
				access_lines(c, a, size);
			break;
		case PM_EV_READ:
		case PM_EV_WRITE:
		case PM_EV_MODIFY:
			if (e->flags & (PM_REF_UNCACHED | PM_REF_COPYBACK | PM_REF_INVAL))
				break;
			a.key = key_of(c, e->addr);
			a.op = PM_OP_READ;
			if (e->kind != PM_EV_WRITE)
				access_lines(c, a, size);
			a.op = PM_OP_WRITE;
			if (e->kind != PM_EV_READ)
				access_lines(c, a, size);
			break;
		case PM_EV_KERNEL:
			if (runs_on(c, s, b, e, err))
				return PM_ERR;
			a.core = s->core;
			break;
		default:
			break;
		}
	}
	s->pc = a.pc;
	return PM_OK;
}

/* ---- invariants ----------------------------------------------------------------------------- */

/* The state of the line in a core, NONE: it has none. */
static enum way_state core_state(const struct core *k, uint64_t line)
{
	const struct own_cache *all[] = { &k->l1d, &k->l2, &k->l1i };
	enum way_state s = WAY_NONE;

	for (size_t i = 0; i < NR(all); i++) {
		const uint64_t *way = own_at(all[i], line);

		if (way && (*way & WAY_STATE) > s)
			s = (enum way_state)(*way & WAY_STATE);
	}
	return s;
}

static const char *check_own(const struct pm_coherence *c, unsigned core,
			     const struct own_cache *o)
{
	const struct core *k = c->core + core;

	for (size_t i = 0; i < (o->set_mask + 1) * o->ways; i++) {
		const uint64_t line = o->way[i] & ~(uint64_t)WAY_FLAGS;
		const enum way_state s = core_state(k, line);
		const struct directory *d;
		size_t at;

		if (!(o->way[i] & WAY_STATE))
			continue;
		d = directory_of((struct pm_coherence *)c, line, &at);
		if (!d || (k->l2.ways && !own_at(&k->l2, line)))
			return "(I2): a line that the level below does not have";
		if (!(d->cores >> core & 1))
			return "(I3): a core has a line, and the directory does not know";
		if (d->alone != (s > WAY_S))
			return "(I3): the directory is wrong about who may write";
		if (d->alone && d->cores != 1ull << core)
			return "(I1): a line in E or M that others have";
		if (o == &k->l1d && ((o->way[i] & WAY_STATE) == WAY_S) != (s == WAY_S) &&
		    k->l2.ways)
			return "(I4): l1d has S and the core more";
	}
	return NULL;
}

const char *pm_coherence_check(const struct pm_coherence *c)
{
	const char *wrong = NULL;

	for (unsigned i = 0; !wrong && i < c->conf.cores; i++) {
		const struct core *k = c->core + i;

		wrong = check_own(c, i, &k->l1d);
		wrong = wrong ? wrong : check_own(c, i, &k->l1i);
		wrong = wrong ? wrong : check_own(c, i, &k->l2);
	}
	for (size_t w = 0; !wrong && w < (c->last.set_mask + 1) * c->last.ways; w++)
		for (uint64_t m = c->last.dir[w].cores; m; m &= m - 1)
			if (core_state(c->core + __builtin_ctzll(m), c->last.key[w]) == WAY_NONE)
				return "(I3): the directory names a core that does not have it";
	return wrong;
}
