/* SPDX-License-Identifier: MIT */
/* cache_sim.c - hierarchies of caches: their life, results and sinks */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_family.h"
#include "analyse/cache_module.h"
#include "analyse/cache_prefetch.h"
#include "analyse/cache_set.h"
#include "analyse/cache_shadow.h"
#include "analyse/cache_sim.h"
#include "analyse/cache_state.h"
#include "analyse/calls.h"
#include "analyse/costs.h"
#include "analyse/names.h"

static const char *const region_names[] = { "code", "stack", "heap", "global", "other" };

/* ---- life ----------------------------------------------------------------------------------- */

static void level_init(struct pm_cache *c, unsigned i)
{
	const struct pm_level_conf *lc = c->conf.level + i;
	struct cache_level *l = c->level + i;
	size_t lines = lc->size / lc->line;

	l->conf = lc;
	l->index = i;
	l->ways = lc->ways;
	l->line_shift = __builtin_ctz(lc->line);
	l->line_mask = ~(uint64_t)(lc->line - 1);
	l->set_mask = lines / lc->ways - 1;
	l->tag_memory = pm_alloc(lines * sizeof *l->tag + 64);
	l->tag = (uint64_t *)(((uintptr_t)l->tag_memory + 63) & ~(uintptr_t)63);
	l->access = l->st.access;
	l->miss = l->st.miss;
	l->lru = lc->policy == PM_LRU;
	l->ordered = lc->policy == PM_LRU || lc->policy == PM_FIFO;
	l->every = cache_prefetcher_every(lc->prefetch);
	l->close = lc->policy != PM_OPT && !lc->three_c && !lc->sub && !c->conf.regions &&
		   !c->conf.tlb && lc->wb;
	l->quick = lc->policy != PM_OPT && !lc->three_c && !lc->sub &&
		   !l->every && !c->conf.regions;
	l->module = cache_module_new(l);
	l->close = l->close && !l->module;
	l->quick = l->quick && !l->module;
	l->plain = pm_cache_plain_level(lc) && !c->conf.by_insn && !c->conf.regions;
	l->next = c->conf.next[i] < 0 ? NULL : c->level + c->conf.next[i];
	l->rnd = lc->seed;
	l->psel = 511;
	if (lc->policy == PM_SRRIP || lc->policy == PM_DRRIP)
		l->rrpv = pm_alloc(lines);
	if (lc->policy == PM_PLRU) {
		l->plru = pm_alloc((l->set_mask + 1) * sizeof *l->plru);
		plru_init(l);
	}
	if (lc->policy == PM_OPT)
		l->next_use = pm_alloc(lines * sizeof *l->next_use);
	if (lc->sub) {
		l->sub_shift = __builtin_ctz(lc->sub);
		l->sub_valid = pm_alloc(lines * sizeof *l->sub_valid);
		l->sub_dirty = pm_alloc(lines * sizeof *l->sub_dirty);
	}
	if (lc->victim)
		l->victim = pm_alloc(lc->victim * sizeof *l->victim);
	if (lc->wbuf)
		l->wbuf = pm_alloc(lc->wbuf * sizeof *l->wbuf);
	if (lc->prefetch)
		l->prefetcher = cache_prefetcher_new(lc, &l->st);
	l->strides = cache_prefetcher_strides(l->prefetcher);
	l->degree = lc->degree;
	l->newest = l->close && l->ordered && (!l->every || l->strides);
	if (lc->three_c)
		l->shadow = shadow_new(lines);
}

/* Can levels take turns? Not if one takes lines from those above it, or if what they count depends
 * on the instruction that comes from above. */
static void takes_turns(struct pm_cache *c)
{
	const struct pm_cache_conf *cc = &c->conf;

	c->turns = !cc->flush_insns && !cc->flush_switch && !cc->regions && !cc->by_insn;
	for (unsigned i = 0; i < cc->n; i++) {
		const struct pm_level_conf *lc = cc->level + i;
		bool first = lc->depth == cc->level[0].depth;

		c->turns = c->turns && lc->incl == PM_NINE && lc->policy != PM_OPT &&
			   !c->level[i].module && !cache_prefetcher_by_pc(lc->prefetch) &&
			   (first || !lc->side);
	}
	c->plain = c->turns && c->level[0].plain &&
		   (cc->n == 1 || cc->level[1].depth != cc->level[0].depth || c->level[1].plain);
}

struct pm_cache *pm_cache_from(const struct pm_cache_conf *cc)
{
	struct pm_cache *c = pm_alloc(sizeof *c);

	c->conf = *cc;
	c->own = cc->n;
	c->flush_left = cc->flush_insns;
	for (unsigned i = 0; i < cc->n; i++)
		level_init(c, i);
	for (unsigned i = 0; i < cc->n; i++) {	/* the next level always stands later in the list */
		struct cache_level *l = c->level + i;

		if (l->next && l->next->hop <= l->hop)
			l->next->hop = l->hop + 1;
	}
	takes_turns(c);
	c->first_i = cc->first_i < 0 ? NULL : c->level + cc->first_i;
	c->first_d = cc->first_d < 0 ? NULL : c->level + cc->first_d;
	return c;
}

struct pm_cache *pm_cache_new(const char *config, struct pm_err *err)
{
	struct pm_cache_conf cc;

	if (pm_cache_conf_parse(&cc, "cache", config, err))
		return NULL;
	return pm_cache_from(&cc);
}

void pm_cache_memory(struct pm_cache *c, const struct pm_cache_memory *m)
{
	c->mem = *m;
	c->plain = c->turns = false;		/* what leaves shall know when it did */
}

void pm_cache_watch(struct pm_cache *c, const struct pm_cache_watch *w)
{
	c->watch = *w;
}

void pm_cache_warm(struct pm_cache *c, enum pm_cache_op op, uint64_t addr)
{
	c->warming = true;
	pm_cache_access(c, op, addr, 64, false, 0);
	c->warming = false;
}

const struct pm_cache_conf *pm_cache_config(const struct pm_cache *c)
{
	return &c->conf;
}

const struct pm_level_stats *pm_cache_stats(const struct pm_cache *c, unsigned level)
{
	return &c->level[level].st;
}

const struct pm_cache_memory_stats *pm_cache_memory_stats(const struct pm_cache *c)
{
	return &c->mst;
}

static int by_misses(const void *a, const void *b)
{
	const struct pm_cache_insn *x = a, *y = b;

	for (unsigned l = 0; l < PM_CACHE_LEVELS; l++)
		if (x->miss[l] != y->miss[l])
			return x->miss[l] > y->miss[l] ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

const struct pm_cache_insn *pm_cache_by_insn(struct pm_cache *c, size_t *n)
{
	*n = c->ninsn;
	if (!c->ninsn)
		return NULL;
	qsort(c->insn, c->ninsn, sizeof *c->insn, by_misses);
	for (size_t i = 0; i < c->ninsn; i++)
		*pm_map_put(&c->insn_at, c->insn[i].pc, NULL) = i;
	return c->insn;
}

void pm_cache_costs(void *self, struct pm_costs *to)
{
	static const char *const about = "references that missed this cache";
	const struct pm_cache *c = self;

	for (unsigned l = 0; c->conf.by_insn && l < c->conf.n; l++) {
		char name[24];
		int col;

		snprintf(name, sizeof name, "%sm", c->conf.level[l].name);
		col = pm_costs_column(to, name, about, true);
		for (size_t i = 0; col >= 0 && i < c->ninsn; i++) {
			size_t row = pm_costs_row(to, c->insn[i].pc);

			to->v[col][row] = c->insn[i].miss[l];
		}
	}
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct pm_cache *c = self;
	uint64_t was[PM_CACHE_LEVELS];

	memcpy(was, c->blamed, sizeof was);
	pm_cache_batch(c, piece);
	for (unsigned l = 0; l < c->conf.n; l++)
		sum[l] += c->blamed[l] - was[l];
	return false;
}

void pm_cache_meter(const void *self, struct pm_calls_meter *m)
{
	const struct pm_cache_conf *cc = &((const struct pm_cache *)self)->conf;

	*m = (struct pm_calls_meter){ 0 };
	if (cc->by_insn)
		*m = (struct pm_calls_meter){ cc->n, pm_cache_from(cc), charge };
}

void pm_cache_meter_free(void *self)
{
	pm_cache_free(self);
}

void pm_cache_free(struct pm_cache *c)
{
	if (!c)
		return;
	if (c->family)
		pm_cache_family_leave(c->family, c);
	for (unsigned i = 0; i < c->conf.n; i++) {
		struct cache_level *l = c->level + i;

		free(l->tag_memory);
		free(l->rrpv);
		free(l->plru);
		free(l->next_use);
		free(l->sub_valid);
		free(l->sub_dirty);
		free(l->victim);
		free(l->wbuf);
		cache_prefetcher_free(l->prefetcher);
		cache_module_free(l);
		shadow_free(l->shadow);
	}
	for (size_t i = 0; i < NR(c->tape); i++)
		free(c->tape[i].v);
	for (unsigned i = 0; c->apart && i < c->conf.n; i++)
		free(c->apart[i].v);
	free(c->apart);
	pm_map_release(&c->segment);
	pm_map_release(&c->insn_at);
	free(c->insn);
	pm_names_release(&c->names);
	free(c->range);
	free(c->segment_high);
	free(c);
}

/* ---- results -------------------------------------------------------------------------------- */

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / b : 0;
}

static void counts_result(struct pm_result *r, const char *name, uint64_t access, uint64_t miss)
{
	pm_result_begin(r, name);
	pm_result_u64(r, "accesses", access, "lookups");
	pm_result_u64(r, "misses", miss, "lookups");
	pm_result_f64(r, "miss_ratio", ratio(miss, access), "misses/access");
	pm_result_end(r);
}

uint64_t pm_cache_instructions(const struct pm_cache *c)
{
	return c->insns;
}

/* How good the prefetcher was. A miss that it did not avoid is one of a demand access. */
static void prefetch_result(const struct cache_level *l, struct pm_result *r)
{
	const struct pm_level_stats *s = &l->st;
	uint64_t missed = 0;

	if (!l->prefetcher || !s->pf_issued)
		return;
	for (unsigned op = PM_OP_FETCH; op <= PM_OP_WRITE; op++)
		missed += s->miss[op][0] + s->miss[op][1];
	pm_result_f64(r, "pf_accuracy", ratio(s->pf_useful, s->pf_issued), "used/brought");
	pm_result_f64(r, "pf_coverage", ratio(s->pf_useful, s->pf_useful + missed),
		      "used/(used + misses)");
	pm_result_f64(r, "pf_timeliness", ratio(s->pf_useful - s->pf_late, s->pf_useful),
		      "in time/used");
}

/* ---- which numbers a level has: by its configuration, so that 0 is a result like others --- */

/* Can requests @op be made of level @to? */
static bool asked_for(const struct pm_cache_conf *cc, unsigned to, enum pm_cache_op op)
{
	const bool fetch = op == PM_OP_FETCH, data = op == PM_OP_READ || op == PM_OP_WRITE;
	bool reached = false;

	if (cc->tlb && op != PM_OP_FETCH && op != PM_OP_READ)
		return false;
	for (unsigned side = 0; side < 2; side++) {
		bool made = (side ? data : fetch);

		for (int i = side ? cc->first_d : cc->first_i; i >= 0; i = cc->next[i]) {
			const struct pm_level_conf *lc = &cc->level[i];

			reached |= i == (int)to && made;
			if (op == PM_OP_WRITE)	/* else it reads a line, writes it back */
				made &= !lc->wb || !lc->wa;
			made |= op == PM_OP_BACK && side && lc->wb;
			made |= op == PM_OP_PREFETCH && (lc->prefetch || lc->prefetch_module);
		}
	}
	return reached;
}

static bool below_is_inclusive(const struct pm_cache_conf *cc, unsigned i)
{
	for (int k = cc->next[i]; k >= 0; k = cc->next[k])
		if (cc->level[k].incl == PM_INCL)
			return true;
	return false;
}

static void stats_result(const struct pm_cache *c, const struct cache_level *l, struct pm_result *r)
{
	const struct pm_level_conf *lc = l->conf;
	const struct pm_level_stats *s = &l->st;
	const unsigned at = (unsigned)(l - c->level);
	const bool prefetches = lc->prefetch || lc->prefetch_module, bytes = !c->conf.tlb;
	const bool written = asked_for(&c->conf, at, PM_OP_WRITE) ||
			     asked_for(&c->conf, at, PM_OP_BACK);
	const struct pm_level_stats can = {
		.sub_misses = lc->sub, .evictions = 1, .writebacks = lc->wb && written,
		.invalidated = below_is_inclusive(&c->conf, at),
		.flushed = c->conf.flush_insns || c->conf.flush_switch,
		.bytes_in = bytes, .bytes_out = written, .victim_hits = lc->victim,
		.wbuf_merged = lc->wbuf, .wbuf_full = lc->wbuf, .pf_issued = prefetches,
		.pf_useful = prefetches, .pf_late = prefetches, .pf_unused = prefetches,
		.compulsory = lc->three_c, .capacity = lc->three_c, .conflict = lc->three_c,
	};

#define S(name, unit, about)								\
	if (can.name || (s->name && (bytes || strncmp(#name, "bytes", 5))))		\
		pm_result_u64(r, #name, s->name, unit);
	PM_LEVEL_STATS(S)
#undef S
}

static void level_result(const struct pm_cache *c, const struct cache_level *l, struct pm_result *r)
{
	const unsigned at = (unsigned)(l - c->level);
	static const char *const ops[] = { "fetch", "read", "write", "writeback", "prefetch" };
	static const char *const stack[] = { NULL, "pop", "push", NULL, NULL };
	const struct pm_level_conf *lc = l->conf;
	const struct pm_level_stats *s = &l->st;
	uint64_t access = 0, miss = 0;
	char policy[64];

	for (unsigned op = 0; op < PM_OP_COUNT; op++)
		for (unsigned cls = 0; cls < 2; cls++) {
			access += s->access[op][cls];
			miss += s->miss[op][cls];
		}
	pm_result_begin(r, lc->name);
	pm_result_u64(r, "size", c->conf.tlb ? lc->size / lc->line : lc->size,
		      c->conf.tlb ? "entries" : "bytes");
	pm_result_u64(r, "ways", lc->ways, NULL);
	pm_result_u64(r, c->conf.tlb ? "page" : "line", lc->line, "bytes");
	pm_result_str(r, "policy", pm_cache_policy_name(lc, policy));
	pm_result_u64(r, "accesses", access, "lookups");
	pm_result_u64(r, "misses", miss, "lookups");
	pm_result_f64(r, "miss_ratio", ratio(miss, access), "misses/access");
	if (c->insns)
		pm_result_f64(r, "mpki", 1000 * ratio(miss, c->insns), "misses/1000 instructions");
	for (unsigned op = 0; op < PM_OP_COUNT; op++)
		if (s->access[op][0] + s->access[op][1] || asked_for(&c->conf, at, op))
			counts_result(r, ops[op], s->access[op][0] + s->access[op][1],
				      s->miss[op][0] + s->miss[op][1]);
	/* push and pop against the rest, where references say which they are */
	for (unsigned op = PM_OP_READ; op <= PM_OP_WRITE; op++)
		if (s->access[op][1] || (c->refs[op][1] && asked_for(&c->conf, at, op))) {
			counts_result(r, stack[op], s->access[op][1], s->miss[op][1]);
			counts_result(r, op == PM_OP_READ ? "other_read" : "other_write",
				      s->access[op][0], s->miss[op][0]);
		}
	stats_result(c, l, r);
	prefetch_result(l, r);
	pm_result_end(r);
}

/* What an instruction made the prefetcher of a level bring, and what it used of that. */
static void prefetches_of(struct pm_result *r, const struct pm_level_conf *lc,
			  const struct pm_cache_insn *v, unsigned level)
{
	const struct { const char *name; uint64_t n; } counts[] = {
		{ "prefetched", v->prefetched[level] },
		{ "used", v->useful[level] },
		{ "late", v->late[level] },
	};
	char name[32];

	for (size_t i = 0; lc->prefetch && i < NR(counts); i++) {
		snprintf(name, sizeof name, "%s_%s", lc->name, counts[i].name);
		pm_result_u64(r, name, counts[i].n, "lines");
	}
}

void pm_cache_result(struct pm_cache *c, struct pm_result *r)
{
	size_t n;

	pm_result_begin(r, c->conf.tlb ? "tlb" : "cache");
	pm_result_u64(r, "instructions", c->insns, "instructions");
	pm_result_u64(r, "fetches", c->refs[0][0] + c->refs[0][1], "references");
	pm_result_u64(r, "reads", c->refs[1][0] + c->refs[1][1], "references");
	pm_result_u64(r, "writes", c->refs[2][0] + c->refs[2][1], "references");
	for (unsigned i = 0; i < c->conf.n; i++)
		level_result(c, c->level + i, r);
	if (!c->conf.tlb) {
		pm_result_begin(r, "memory");
		pm_result_u64(r, "reads", c->mst.reads, "requests");
		pm_result_u64(r, "writes", c->mst.writes, "requests");
		pm_result_u64(r, "bytes_read", c->mst.bytes_read, "bytes");
		pm_result_u64(r, "bytes_written", c->mst.bytes_written, "bytes");
		pm_result_end(r);
	}
	if (c->conf.regions) {
		pm_result_begin(r, "regions");
		for (unsigned i = 0; i < REGIONS; i++)
			counts_result(r, region_names[i], c->region_refs[i], c->region_miss[i]);
		pm_result_end(r);
	}
	if (c->conf.by_insn) {
		const struct pm_cache_insn *v = pm_cache_by_insn(c, &n);

		pm_result_begin_list(r, "by_instruction");
		for (size_t i = 0; i < n && i < 50; i++) {
			pm_result_begin(r, NULL);
			pm_names_result(&c->names, r, v[i].pc);
			for (unsigned l = 0; l < c->conf.n; l++) {
				char name[32];

				snprintf(name, sizeof name, "%s_misses", c->conf.level[l].name);
				pm_result_u64(r, name, v[i].miss[l], "lookups");
				prefetches_of(r, &c->conf.level[l], v + i, l);
			}
			pm_result_end(r);
		}
		pm_result_end(r);
	}
	pm_result_end(r);
}

/* ---- the sinks ------------------------------------------------------------------------------ */

static void *create(const char *what, bool tlb, const char *config, struct pm_err *err)
{
	struct pm_cache_conf cc;

	if (pm_cache_conf_parse(&cc, what, *config ? config : pm_cache_default(tlb), err))
		return NULL;
	return pm_cache_from(&cc);
}

static void *cache_create(const char *config, struct pm_err *err)
{
	return create("cache", false, config, err);
}

static void *tlb_create(const char *config, struct pm_err *err)
{
	return create("tlb", true, config, err);
}

bool pm_cache_modules_well(const struct pm_cache *c, struct pm_err *err)
{
	for (unsigned i = 0; i < c->conf.n; i++)
		if (!cache_module_well(c->level + i, err))
			return false;
	return true;
}

void pm_cache_modules_end(struct pm_cache *c)
{
	for (unsigned i = 0; i < c->conf.n; i++)
		cache_module_end(c->level + i);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pm_cache *c = self;

	if (c->conf.by_insn)
		pm_names_learn(&c->names, b->code);
	if (c->family)
		pm_cache_family_batch(c->family, b);
	else
		pm_cache_batch(c, b);
	if (c->segment.n > 65535)
		return pm_fail_file(err, "cache: more than 65535 address spaces; spaces=shared "
					 "treats all as one");
	return pm_cache_modules_well(c, err) ? PM_OK : PM_ERR;
}

struct pm_names *pm_cache_names(void *self)
{
	return &((struct pm_cache *)self)->names;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct pm_cache *c = self;
	bool code, data;

	if (c->family)
		pm_cache_family_end(c->family);
	code = c->refs[0][0] + c->refs[0][1];
	data = c->refs[1][0] + c->refs[1][1] + c->refs[2][0] + c->refs[2][1];

	/* which facts are needed depends on the levels: half a trace is simulated, none is an
	 * error */
	if (!c->first_i && !data && c->insns)
		return pm_fail_file(err,
				    "%s: the trace holds no data references, and %s simulates "
				    "nothing else",
				    c->conf.tlb ? "tlb" : "cache", c->conf.level[0].name);
	if (!c->first_d && !code && c->other)
		return pm_fail_file(err,
				    "%s: the trace holds no instructions, and %s simulates nothing "
				    "else",
				    c->conf.tlb ? "tlb" : "cache", c->conf.level[0].name);
	pm_cache_end(self);
	pm_cache_modules_end(c);
	if (!pm_cache_modules_well(c, err))
		return PM_ERR;
	if (r)
		pm_cache_result(self, r);
	return PM_OK;
}

static void destroy(void *self)
{
	pm_cache_free(self);
}

static void unite(void *const *self, size_t n, bool *served)
{
	pm_cache_unite((struct pm_cache *const *)self, n, served);
}

const struct pm_uniting_sink_ops pm_sim_cache = { {
	.abi = PM_ABI, .flags = PM_SINK_REFS | PM_SINK_UNITES, .name = "cache",
	.about = "a hierarchy of caches",
	.create = cache_create, .consume = consume, .finish = finish, .destroy = destroy,
}, unite };
const struct pm_uniting_sink_ops pm_sim_tlb = { {
	.abi = PM_ABI, .flags = PM_SINK_REFS | PM_SINK_UNITES, .name = "tlb",
	.about = "a hierarchy of TLBs",
	.create = tlb_create, .consume = consume, .finish = finish, .destroy = destroy,
}, unite };
