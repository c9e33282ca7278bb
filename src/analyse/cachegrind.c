/* SPDX-License-Identifier: MIT */
/* cachegrind.c - the model: events, blocks or chains in; counts per instruction out */
#include <stdlib.h>
#include <string.h>

#include "analyse/cachegrind.h"
#include "base/mem.h"
#include "trace/chain.h"
#include "trace/expand.h"

struct cg_lru {
	uint64_t *tag;			/* line + 1 per way, newest first; 0 empty */
	uint64_t mask;
	unsigned shift, ways;
};

enum { END_NONE, END_COND, END_INDIRECT };	/* what ends a block, as far as predictors care */

/* Blocks that come unexpanded. What is needed for each execution is together in one cache line. */
struct cg_block {
	uint64_t count;			/* executions of all of it */
	uint64_t first, last;		/* I1 lines that it covers; last < first: no straight run */
	uint64_t pc, fall;		/* of the branch at its end, and where it goes if not
					 * taken */
	uint64_t branches, missed;
	uint32_t insn, n;		/* pm_code.insn[insn .. insn + n) */
	uint32_t at;			/* the branch, in the block */
	uint8_t end;			/* END_* */
	bool known;
};

/* A branch inside a chain: what it does is known. */
struct cg_inner {
	uint64_t target, missed;
	uint32_t insn;
	uint16_t slot;			/* in the table of its predictor */
	uint8_t end;			/* END_* */
	bool taken;
};

/* An instruction of a chain that is not all in the line that the one before it ended in: fetching
 * the others changes nothing. */
struct cg_step {
	uint64_t line;
	uint32_t insn;
	uint32_t ref;			/* the chain's references before it */
	uint32_t more;			/* lines that it covers, besides */
};

/* Chains of packed batches, likewise. */
struct cg_chain {
	uint64_t verified;		/* pm_cg.i1_moves when all its lines were the newest of
					 * their sets */
	uint64_t pc, fall;		/* of its first instruction; where the branch at its end
					 * goes if not taken */
	uint64_t count;
	uint32_t nref;
	uint32_t inner, step;		/* code.inner[inner .. inner + ninner), code.step[step ..
					 * step + nstep) */
	uint16_t ninner, nstep;
	uint16_t slot;			/* of the branch at its end, in the table of its
					 * predictor */
	uint8_t end;			/* END_* */
	bool known;
	uint32_t untold;		/* how often its end's outcome was accounted to the block
					 * that it ends with */
	uint64_t missed;		/* at its end */
};
_Static_assert(sizeof(struct cg_chain) == 64, "one cache line each");

struct cg_code {
	const struct pm_code *code;
	struct pm_chains chains;
	struct cg_chain *chain;
	struct cg_inner *inner;
	struct cg_step *step;
	size_t nchain, ninner, cap_inner, nstep, cap_step;
	struct cg_block *block;
	uint64_t (*v)[PM_CG_COUNT];	/* by pm_code.insn; Ir of whole executions, and branches,
					 * are in block */
	size_t nblock, ninsn;
};

/* Where a stream stands in its block. */
struct cg_place {
	struct cg_code *code;
	uint32_t block;			/* PM_NONE: in none */
	uint32_t n;			/* instructions of it that execute */
	uint32_t next;			/* the next instruction to fetch; n: all are */
	uint8_t end;			/* the outcome that is still to come: END_* */
};

/* A first-level miss whose turn at LL comes when those before it are known. */
struct cg_late {
	uint64_t addr;
	uint64_t *miss;			/* LL's counter */
	uint32_t at, size;		/* before (fetch) or of (data) this reference of the
					 * batch */
};

struct pm_cg {
	struct cg_lru i1, d1, ll;
	uint64_t i1_moves;		/* 1 + how often I1's sets may have changed */
	struct cg_late *fetched, *referred;
	size_t nfetched, cap_fetched, nreferred, cap_referred;
	struct pm_packed_ref *ref;		/* of a batch that has addresses only */
	size_t cap_ref;
	struct cg_code **code;
	size_t ncode, cap_code;
	struct cg_place *stream;
	size_t nstream;
	struct pm_map at;
	struct pm_cg_insn *insn;
	size_t n, cap;
	size_t now;			/* index of the instruction that runs */
	struct { uint64_t pc; size_t at; } recent[4096];	/* at + 1 */
	uint8_t counter[1 << 14];
	uint64_t history, target[512];
};

static void cache_init(struct cg_lru *c, const struct pm_cg_cache *conf)
{
	c->ways = conf->ways;
	c->shift = __builtin_ctz(conf->line);
	c->mask = conf->size / conf->line / conf->ways - 1;
	c->tag = pm_alloc(conf->size / conf->line * sizeof *c->tag);
}

struct pm_cg *pm_cg_new(const struct pm_cg_cache c[3])
{
	struct pm_cg *g = pm_alloc(sizeof *g);

	cache_init(&g->i1, c);
	cache_init(&g->d1, c + 1);
	cache_init(&g->ll, c + 2);
	g->i1_moves = 1;
	return g;
}

void pm_cg_free(struct pm_cg *g)
{
	if (!g)
		return;
	free(g->i1.tag);
	free(g->d1.tag);
	free(g->ll.tag);
	for (size_t i = 0; i < g->ncode; i++) {
		free(g->code[i]->block);
		free(g->code[i]->v);
		free(g->code[i]->chain);
		free(g->code[i]->inner);
		free(g->code[i]->step);
		free(g->code[i]);
	}
	free(g->code);
	free(g->stream);
	free(g->fetched);
	free(g->referred);
	free(g->ref);
	free(g->insn);
	pm_map_release(&g->at);
	free(g);
}

static bool line_miss(struct cg_lru *c, uint64_t line)
{
	uint64_t *set = c->tag + (line & c->mask) * c->ways;
	unsigned w = 1;

	line++;
	if (set[0] == line)
		return false;
	while (w < c->ways && set[w] != line)
		w++;
	if (w < c->ways) {
		for (; w > 0; w--)
			set[w] = set[w - 1];
		set[0] = line;
		return false;
	}
	memmove(set + 1, set, (c->ways - 1) * sizeof *set);
	set[0] = line;
	return true;
}

/* All its lines are looked up whatever the first one says: each lookup makes its line the
 * newest. */
static __attribute__((noinline)) bool miss_lines(struct cg_lru *c, uint64_t line, uint64_t last)
{
	bool m = line_miss(c, line);

	while (line++ < last)
		m |= line_miss(c, line);
	return m;
}

/* HOT: mostly one line, the newest of its set. */
static inline bool miss(struct cg_lru *c, uint64_t addr, unsigned size)
{
	uint64_t line = addr >> c->shift, last = (addr + (size ? size : 1) - 1) >> c->shift;

	if (line == last && c->tag[(line & c->mask) * c->ways] == line + 1)
		return false;
	return miss_lines(c, line, last);
}

static size_t insn_of(struct pm_cg *g, uint64_t pc)
{
	unsigned slot = (pc ^ pc >> 12) & 4095;
	uint64_t *at;
	bool fresh;

	if (g->recent[slot].pc == pc && g->recent[slot].at)
		return g->recent[slot].at - 1;
	at = pm_map_put(&g->at, pc, &fresh);
	if (fresh) {
		*at = g->n;
		pm_grow(g->insn, g->n, g->cap);
		g->insn[g->n++] = (struct pm_cg_insn){ .pc = pc };
	}
	g->recent[slot].pc = pc;
	g->recent[slot].at = *at + 1;
	return *at;
}

/* Both learn, and say whether they were wrong. */
static inline bool conditional(struct pm_cg *g, uint64_t pc, bool taken)
{
	uint8_t *c = g->counter + ((g->history & 127) << 7 | (pc & 127)), was = *c;

	*c = (uint8_t)(taken ? was + (was < 3) : was - (was > 0));
	g->history = g->history << 1 | taken;
	return (was >= 2) != taken;
}

static inline bool indirect(struct pm_cg *g, uint64_t pc, uint64_t target)
{
	uint64_t *t = g->target + (pc & 511);
	bool wrong = *t != target;

	*t = target;
	return wrong;
}

static inline void branch(struct pm_cg *g, uint64_t *v, const struct pm_event *e, uint64_t *sum)
{
	bool wrong;

	if (e->flags & PM_BR_COND) {
		wrong = conditional(g, e->addr, e->flags & PM_BR_TAKEN);
		v[PM_CG_Bc]++;
		v[PM_CG_Bcm] += wrong;
		if (sum) {
			sum[PM_CG_Bc]++;
			sum[PM_CG_Bcm] += wrong;
		}
	} else if ((e->flags & PM_BR_INDIRECT) && !(e->flags & PM_BR_RET)) {
		wrong = indirect(g, e->addr, e->value);
		v[PM_CG_Bi]++;
		v[PM_CG_Bim] += wrong;
		if (sum) {
			sum[PM_CG_Bi]++;
			sum[PM_CG_Bim] += wrong;
		}
	}
}

/* A reference of @e's bytes: event @what, and the two behind it for misses of @c and LL. */
static inline void refer(struct pm_cg *g, struct cg_lru *c, uint64_t *v, const struct pm_event *e,
			 unsigned what, uint64_t *sum)
{
	bool ll;

	v[what]++;
	if (sum)
		sum[what]++;
	if (!miss(c, e->addr, e->size))
		return;
	ll = miss(&g->ll, e->addr, e->size);
	v[what + 1]++;
	v[what + 2] += ll;
	if (sum) {
		sum[what + 1]++;
		sum[what + 2] += ll;
	}
}

/* HOT: once per event. @sum, unless NULL, grows by what the events cost. */
static inline void run_events(struct pm_cg *g, const struct pm_event *ev, size_t n, uint64_t *sum)
{
	for (const struct pm_event *e = ev, *end = ev + n; e < end; e++) {
		uint64_t *v;

		if (e->kind == PM_EV_INSN)
			g->now = insn_of(g, e->addr);
		else if (!g->n)
			continue;	/* nobody to account to */
		v = g->insn[g->now].v;
		switch (e->kind) {
		case PM_EV_INSN:
			refer(g, &g->i1, v, e, PM_CG_Ir, sum);
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
			refer(g, &g->d1, v, e, PM_CG_Dr, sum);
			break;
		case PM_EV_WRITE:
			refer(g, &g->d1, v, e, PM_CG_Dw, sum);
			break;
		case PM_EV_BRANCH:
			branch(g, v, e, sum);
			break;
		default:
			break;
		}
	}
}

void pm_cg_events(struct pm_cg *g, const struct pm_event *ev, size_t n)
{
	run_events(g, ev, n, NULL);
}

void pm_cg_charge(struct pm_cg *g, const struct pm_event *ev, size_t n, uint64_t sum[PM_CG_COUNT])
{
	run_events(g, ev, n, sum);
}

/* ---- blocks as they are --------------------------------------------------------------------- */

static struct cg_code *code_of(struct pm_cg *g, const struct pm_code *code)
{
	struct cg_code *c = NULL;

	for (size_t i = 0; i < g->ncode && !c; i++)
		if (g->code[i]->code == code)
			c = g->code[i];
	if (!c) {
		c = pm_alloc(sizeof *c);
		c->code = code;
		pm_grow(g->code, g->ncode, g->cap_code);
		g->code[g->ncode++] = c;
	}
	if (c->nblock < code->nblock) {
		size_t n = code->nblock * 2;

		c->block = pm_realloc(c->block, n * sizeof *c->block);
		memset(c->block + c->nblock, 0, (n - c->nblock) * sizeof *c->block);
		c->nblock = n;
	}
	if (c->ninsn < code->ninsn) {
		size_t n = code->ninsn * 2;

		c->v = pm_realloc(c->v, n * sizeof *c->v);
		memset(c->v + c->ninsn, 0, (n - c->ninsn) * sizeof *c->v);
		c->ninsn = n;
	}
	return c;
}

static struct cg_place *place_of(struct pm_cg *g, uint32_t index)
{
	while (g->nstream <= index) {
		size_t n = g->nstream ? g->nstream * 2 : 8;

		g->stream = pm_realloc(g->stream, n * sizeof *g->stream);
		for (size_t i = g->nstream; i < n; i++)
			g->stream[i] = (struct cg_place){ .block = PM_NONE };
		g->nstream = n;
	}
	return g->stream + index;
}

/* The block's instructions before @upto are fetched, as far as they are not yet. */
static __attribute__((noinline)) void fetch_to(struct pm_cg *g, struct cg_place *p, uint32_t upto)
{
	uint32_t first = p->code->block[p->block].insn;
	const struct pm_insn *in = p->code->code->insn + first;

	for (; p->next < upto; p->next++) {
		uint64_t *v = p->code->v[first + p->next];

		if (miss(&g->i1, in[p->next].pc, in[p->next].len)) {
			v[PM_CG_I1mr]++;
			v[PM_CG_ILmr] += miss(&g->ll, in[p->next].pc, in[p->next].len);
		}
	}
}

/* Control went to @next: the outcome of the transfer that ended the stream's block. */
static inline void outcome(struct pm_cg *g, struct cg_place *p, uint64_t next)
{
	struct cg_block *k = p->code->block + p->block;

	k->branches++;
	k->missed += p->end == END_COND ? conditional(g, k->pc, next != k->fall)
					: indirect(g, k->pc, next);
	p->end = END_NONE;
}

/* What stays the same for all executions of block @id. */
static __attribute__((noinline)) enum pm_status learn(struct pm_cg *g, struct cg_code *c,
						      uint32_t id, struct pm_err *err)
{
	const struct pm_block *blk = c->code->block + id;
	const struct pm_insn *in = c->code->insn + blk->insn;
	struct cg_block *k = c->block + id;
	uint32_t i = blk->n - 1;

	if ((uint64_t)blk->insn + blk->n > c->code->ninsn)
		return pm_fail_file(err, "block %u has instructions up to %llu, the code table %zu",
				    id, (unsigned long long)blk->insn + blk->n, c->code->ninsn);
	*k = (struct cg_block){ .insn = blk->insn, .n = blk->n, .known = true };
	if (!blk->n)
		return PM_OK;
	k->first = in->pc >> g->i1.shift;
	for (uint32_t j = 0; j < blk->n; j++) {
		uint64_t end = (in[j].pc + (in[j].len ? in[j].len : 1) - 1) >> g->i1.shift;

		/* blocks are straight runs; should one not be, its lines are no range */
		if (in[j].pc >> g->i1.shift < k->first ||
		    (j && in[j].pc != in[j - 1].pc + in[j - 1].len))
			k->first = 1, k->last = 0;
		else if (k->first <= end)
			k->last = end;
	}
	if (in[i].flow == PM_CLASS_NONE && i && pm_isa_is_mips(in[i].isa))
		i--;			/* a MIPS branch stands before its delay slot */
	k->at = i;
	k->pc = in[i].pc;
	k->fall = pm_insn_fall(in + i);
	if (in[i].flow == PM_CLASS_COND)
		k->end = END_COND;
	else if (in[i].flow == PM_CLASS_JUMP_IND || in[i].flow == PM_CLASS_CALL_IND)
		k->end = END_INDIRECT;
	return PM_OK;
}

/* An execution that is cut short. */
static enum pm_status cut_block(struct pm_cg *g, struct cg_place *p, struct cg_block *k,
				const struct pm_event *e, struct pm_err *err)
{
	if (e->value > k->n)
		return pm_fail_file(err, "block %u executed %llu instructions but has %u", e->id,
				    (unsigned long long)e->value, k->n);
	for (uint32_t i = 0; i < e->value; i++)
		p->code->v[k->insn + i][PM_CG_Ir]++;
	p->n = (uint32_t)e->value;
	p->next = 0;
	p->end = END_NONE;
	return PM_OK;
}

/* HOT: once per block. If every line that the block covers is the newest of its set, fetching its
 * instructions changes nothing; otherwise they are fetched one by one, between the references. */
static inline enum pm_status begin_block(struct pm_cg *g, struct cg_place *p, struct cg_code *c,
					 const struct pm_event *e, struct pm_err *err)
{
	struct cg_block *k;

	if (e->id >= c->code->nblock)
		return pm_fail_file(err, "block number %u is not in the code table (%zu blocks)",
				    e->id, c->code->nblock);
	k = c->block + e->id;
	if (!k->known && learn(g, c, e->id, err))
		return PM_ERR;
	if (p->end)
		outcome(g, p, e->addr);
	p->code = c;
	p->block = e->id;
	if (e->value != k->n)
		return cut_block(g, p, k, e, err);
	k->count++;
	p->end = k->end;
	p->n = p->next = k->n;
	if (k->first == k->last) {
		if (g->i1.tag[(k->first & g->i1.mask) * g->i1.ways] != k->first + 1)
			p->next = 0;
		return PM_OK;
	}
	p->next = k->last < k->first ? 0 : p->n;
	for (uint64_t l = k->first; l <= k->last; l++)
		if (g->i1.tag[(l & g->i1.mask) * g->i1.ways] != l + 1) {
			p->next = 0;
			break;
		}
	return PM_OK;
}

/* HOT: once per reference. */
static inline enum pm_status reference(struct pm_cg *g, struct cg_place *p,
				       const struct pm_event *e, struct pm_err *err)
{
	const struct cg_block *k = p->code->block + p->block;
	unsigned write = e->kind == PM_EV_WRITE ? PM_CG_Dw - PM_CG_Dr : 0;
	uint32_t slot = PM_SLOT_OF(e);
	uint64_t *v;

	if (slot >= k->n)
		return pm_fail_file(err, "a reference of instruction %u of block %u, which has %u",
				    slot, p->block, k->n);
	if (p->next < p->n)
		fetch_to(g, p, slot < p->n ? slot + 1 : p->n);
	v = p->code->v[k->insn + slot];
	v[PM_CG_Dr + write]++;
	if (miss(&g->d1, e->addr, e->size)) {
		v[PM_CG_D1mr + write]++;
		v[PM_CG_DLmr + write] += miss(&g->ll, e->addr, e->size);
	}
	return PM_OK;
}

/* Anything else that stands between blocks. */
static void between(struct pm_cg *g, struct cg_place *p, const struct pm_event *e)
{
	if (e->kind == PM_EV_REP_ITER || e->kind == PM_EV_REP_END || e->kind == PM_EV_REG_READ ||
	    e->kind == PM_EV_REG_WRITE)
		return;
	if (p->block != PM_NONE && p->next < p->n)
		fetch_to(g, p, p->n);
	if (p->end && pm_says_next(e->kind))
		outcome(g, p, e->addr);
	if (pm_ends_path(e->kind)) {
		p->end = END_NONE;
		p->block = PM_NONE;
	}
	if (e->kind == PM_EV_INSN || e->kind == PM_EV_BRANCH)
		pm_cg_events(g, e, 1);
}

/* Events of a stream that stands in a block, or among which there are some. */
static enum pm_status events_at(struct pm_cg *g, struct cg_place *p, struct cg_code *c,
				const struct pm_event *ev, size_t n, struct pm_err *err)
{
	struct cg_place at = *p;
	enum pm_status s = PM_OK;

	for (const struct pm_event *e = ev, *end = e + n; e < end && !s; e++) {
		if (e->kind == PM_EV_BLOCK) {
			if (at.next < at.n)
				fetch_to(g, &at, at.n);
			s = c ? begin_block(g, &at, c, e, err)
			      : pm_fail_file(err, "a block without a code table");
		} else if (e->kind == PM_EV_READ || e->kind == PM_EV_WRITE ||
			   e->kind == PM_EV_MODIFY) {
			if (at.block != PM_NONE && PM_SLOT_OF(e) != PM_NONE)
				s = reference(g, &at, e, err);
			else
				pm_cg_events(g, e, 1);
		} else {
			between(g, &at, e);
		}
	}
	*p = at;
	return s;
}

/* ---- packed --------------------------------------------------------------------------------- */

static uint16_t slot_of(const struct cg_block *b)
{
	return b->pc & (b->end == END_COND ? 127 : 511);
}

static void add_inner(struct cg_code *c, struct cg_chain *k, const struct cg_block *b,
		      uint64_t next)
{
	pm_grow(c->inner, c->ninner, c->cap_inner);
	c->inner[c->ninner++] = (struct cg_inner){ .target = next,
						   .insn = b->insn + b->at,
						   .slot = slot_of(b),
						   .end = b->end,
						   .taken = next != b->fall };
	k->ninner++;
}

static void add_steps(struct pm_cg *g, struct cg_code *c, struct cg_chain *k,
		      const struct pm_chain *from)
{
	const struct pm_chain_part *part = c->chains.part + from->part;
	const struct pm_chain_ref *refs = c->chains.ref + from->ref, *r = refs;
	uint64_t last = UINT64_MAX;

	for (uint32_t i = 0; i < from->npart; i++) {
		const struct pm_block *b = c->code->block + part[i].block;
		const struct pm_chain_ref *end = r + part[i].nref;

		for (uint32_t j = b->insn; j < b->insn + b->n; j++) {
			const struct pm_insn *in = c->code->insn + j;
			uint64_t line = in->pc >> g->i1.shift,
				 to = (in->pc + (in->len ? in->len : 1) - 1) >> g->i1.shift;

			if (line != last || to != line) {
				pm_grow(c->step, c->nstep, c->cap_step);
				c->step[c->nstep++] = (struct cg_step){ line, j,
									(uint32_t)(r - refs),
									(uint32_t)(to - line) };
				k->nstep++;
			}
			last = to;
			while (r < end && r->insn == j)
				r++;
		}
	}
}

/* What stays the same for all executions of chain @id. */
static __attribute__((noinline)) enum pm_status learn_chain(struct pm_cg *g, struct cg_code *c,
							    uint32_t id, struct pm_err *err)
{
	const struct pm_chain *from = c->chains.chain + id;
	const struct pm_chain_part *part = c->chains.part + from->part;
	struct cg_chain *k = c->chain + id;
	const struct cg_block *last = NULL;

	*k = (struct cg_chain){ .pc = from->pc,
				.inner = c->ninner,
				.step = c->nstep,
				.nref = from->nref,
				.known = true };
	for (uint32_t i = 0; i < from->npart; i++) {
		struct cg_block *b = c->block + part[i].block;

		if (!b->known && learn(g, c, part[i].block, err))
			return PM_ERR;
		if (last && last->end)
			add_inner(c, k, last, c->code->block[part[i].block].pc);
		last = b;
	}
	if (last)
		k->end = last->end, k->slot = slot_of(last), k->fall = last->fall;
	add_steps(g, c, k, from);
	return PM_OK;
}

/* Is each of its lines the newest of its set? Then fetching it changes nothing. */
static inline bool newest(const struct cg_lru *c, const struct cg_step *s)
{
	for (uint64_t line = s->line, last = line + s->more; ; line++) {
		if (c->tag[(line & c->mask) * c->ways] != line + 1)
			return false;
		if (line == last)
			return true;
	}
}

/* The chain's instructions are fetched, reference @at of the batch being its first one. */
static __attribute__((noinline)) void fetch_chain(struct pm_cg *g, struct cg_code *c,
						  struct cg_chain *k, uint32_t at)
{
	const struct cg_step *first = c->step + k->step, *end = first + k->nstep;
	bool moved = false;

	for (const struct cg_step *s = first; s < end; s++) {
		if (newest(&g->i1, s))
			continue;
		moved = true;
		if (miss_lines(&g->i1, s->line, s->line + s->more)) {
			const struct pm_insn *in = c->code->insn + s->insn;

			c->v[s->insn][PM_CG_I1mr]++;
			pm_grow(g->fetched, g->nfetched, g->cap_fetched);
			g->fetched[g->nfetched++] = (struct cg_late){ in->pc,
								      &c->v[s->insn][PM_CG_ILmr],
								      at + s->ref, in->len };
		}
	}
	g->i1_moves += moved;
	k->verified = g->i1_moves;
	/* where one of its lines drives out another, the next time will not be like this one */
	for (const struct cg_step *s = first; moved && s < end; s++)
		if (!newest(&g->i1, s))
			k->verified = 0;
}

/* conditional() with the history in a register. A counter that is as sure as it can be, and right,
 * stays. */
static inline bool wrong_way(uint8_t *counter, uint64_t *history, unsigned slot, bool taken)
{
	uint8_t *c = counter + ((*history & 127) << 7 | slot), was = *c;

	*history = *history << 1 | taken;
	if (was == 3 * taken)
		return false;
	*c = (uint8_t)(taken ? was + 1 : was - 1);
	return (was >= 2) != taken;
}

/* HOT: once per chain: I1 and the predictors, up to the next events. *@n: how many ids, then how
 * many of them were run; *@at: the batch's reference where they begin, then where they end. */
static __attribute__((noinline)) enum pm_status run_chains(struct pm_cg *g, struct cg_code *c,
							   const uint32_t *id, size_t *n,
							   uint32_t *at, struct pm_err *err)
{
	struct cg_chain none = { .end = END_NONE }, *prev = &none;
	uint64_t history = g->history;
	uint32_t ref = *at;
	size_t i;

	for (i = 0; i < *n; i++) {
		struct cg_chain *k = c->chain + id[i];

		if (id[i] & PM_CHAIN_EVENTS)
			break;
		if (k->verified != g->i1_moves) {
			if (!k->known && learn_chain(g, c, id[i], err))
				return PM_ERR;
			fetch_chain(g, c, k, ref);
		}
		k->count++;
		ref += k->nref;
		if (prev->end == END_COND) {
			if (wrong_way(g->counter, &history, prev->slot, k->pc != prev->fall))
				prev->missed++;
		} else if (prev->end == END_INDIRECT) {
			prev->missed += indirect(g, prev->slot, k->pc);
		}
		for (struct cg_inner *b = c->inner + k->inner, *end = b + k->ninner; b < end; b++)
			if (b->end != END_COND)
				b->missed += indirect(g, b->slot, b->target);
			else if (wrong_way(g->counter, &history, b->slot, b->taken))
				b->missed++;
		prev = k;
	}
	prev->untold++;
	g->history = history;
	*at = ref;
	*n = i;
	return PM_OK;
}

/* HOT: once per reference: D1. What each is for is static; a hit on the newest line of a set
 * changes nothing. From the batch's reference @i to that with number @to; returns where it is. */
static __attribute__((noinline)) size_t run_refs(struct pm_cg *g, struct cg_code *c,
						 const struct pm_packed *p, size_t i, size_t to)
{
	const struct pm_packed_ref *ref = g->ref;
	const struct pm_chain_ref *refs = p->chains.ref;
	const uint64_t mask = g->d1.mask, *const tag = g->d1.tag;
	const unsigned shift = g->d1.shift, ways = g->d1.ways;

	for (; i < p->nref && i < to; i++) {
		const struct pm_chain_ref *r = refs + ref[i].ref;
		uint64_t addr = ref[i].addr, line = addr >> shift,
			 end = (addr + r->size - 1) >> shift;
		unsigned write;
		uint64_t *v;

		if (tag[(line & mask) * ways] == line + 1 && line == end)
			continue;
		if (!miss(&g->d1, addr, r->size))
			continue;
		write = r->kind == PM_EV_WRITE ? PM_CG_Dw - PM_CG_Dr : 0;
		v = c->v[r->insn];
		v[PM_CG_D1mr + write]++;
		pm_grow(g->referred, g->nreferred, g->cap_referred);
		g->referred[g->nreferred++] = (struct cg_late){ addr, v + PM_CG_DLmr + write,
								(uint32_t)i, r->size };
	}
	return i;
}

/* LL sees the misses of both in the order in which they happened. */
static void run_late(struct pm_cg *g)
{
	const struct cg_late *f = g->fetched, *fend = f + g->nfetched, *r = g->referred,
			     *rend = r + g->nreferred;

	while (f < fend || r < rend) {
		const struct cg_late *l = r == rend || (f < fend && f->at <= r->at) ? f++ : r++;

		*l->miss += miss(&g->ll, l->addr, l->size);
	}
	g->nfetched = g->nreferred = 0;
}

static void chains_of(struct cg_code *c, const struct pm_chains *k)
{
	c->chains = *k;
	if (c->nchain < k->n) {
		size_t n = k->n * 2;

		c->chain = pm_realloc(c->chain, n * sizeof *c->chain);
		memset(c->chain + c->nchain, 0, (n - c->nchain) * sizeof *c->chain);
		c->nchain = n;
	}
}

enum pm_status pm_cg_packed(struct pm_cg *g, const struct pm_batch *b,
			    const struct pm_packed *k, struct pm_err *err)
{
	struct cg_place *p = place_of(g, b->stream ? b->stream->index : 0);
	struct cg_code *c = b->code ? code_of(g, b->code) : p->code;
	const struct pm_event *ev = b->ev;
	uint32_t ref = 0;
	size_t data = 0;

	if (g->cap_ref < k->nref) {
		g->cap_ref = k->nref * 2;
		g->ref = pm_realloc(g->ref, g->cap_ref * sizeof *g->ref);
	}
	pm_packed_refs(k, g->ref);
	chains_of(c, &k->chains);
	for (size_t i = 0, n; i < k->n; i += n) {
		uint32_t id = k->id[i];

		n = 1;
		if (id & PM_CHAIN_EVENTS) {
			g->i1_moves++;
			if (events_at(g, p, c, ev, id & ~PM_CHAIN_EVENTS, err))
				return PM_ERR;
			ev += id & ~PM_CHAIN_EVENTS;
			continue;
		}
		if (p->block != PM_NONE && p->next < p->n) {
			g->i1_moves++;
			fetch_to(g, p, p->n);
		}
		if (p->end)
			outcome(g, p, k->chains.chain[id].pc);
		n = k->n - i;
		if (run_chains(g, c, k->id + i, &n, &ref, err))
			return PM_ERR;
		data = run_refs(g, c, k, data, ref);
		run_late(g);
		/* where events find the stream */
		id = k->id[i + n - 1];
		p->code = c;
		p->block = c->chains.part[c->chains.chain[id].part + c->chains.chain[id].npart - 1]
				   .block;
		p->n = p->next = c->block[p->block].n;
		p->end = c->block[p->block].end;
	}
	return PM_OK;
}

enum pm_status pm_cg_batch(struct pm_cg *g, const struct pm_batch *b, struct pm_err *err)
{
	struct cg_place *p = place_of(g, b->stream ? b->stream->index : 0);
	struct cg_code *c = b->code ? code_of(g, b->code) : p->code;
	bool any = p->block != PM_NONE;

	for (size_t i = 0; !any && i < b->n; i++)
		any = b->ev[i].kind == PM_EV_BLOCK;
	if (any)
		return events_at(g, p, c, b->ev, b->n, err);
	pm_cg_events(g, b->ev, b->n);
	return PM_OK;
}

/* What chains counted once becomes what their instructions did. */
static void end_chains(struct cg_code *c)
{
	for (size_t i = 0; i < c->nchain; i++) {
		struct cg_chain *k = c->chain + i;
		const struct pm_chain *from = c->chains.chain + i;
		const struct pm_chain_ref *r = c->chains.ref + from->ref;
		const struct cg_block *b = NULL;

		if (!k->count)
			continue;
		for (uint32_t j = 0; j < from->npart; j++) {
			b = c->block + c->chains.part[from->part + j].block;
			for (uint32_t m = b->insn; m < b->insn + b->n; m++)
				c->v[m][PM_CG_Ir] += k->count;
		}
		for (uint32_t j = 0; j < from->nref; j++)
			c->v[r[j].insn][r[j].kind == PM_EV_WRITE ? PM_CG_Dw : PM_CG_Dr] += k->count;
		for (uint32_t j = k->inner; j < k->inner + k->ninner; j++) {
			struct cg_inner *in = c->inner + j;

			c->v[in->insn][in->end == END_COND ? PM_CG_Bc : PM_CG_Bi] += k->count;
			c->v[in->insn][in->end == END_COND ? PM_CG_Bcm : PM_CG_Bim] += in->missed;
			in->missed = 0;
		}
		if (k->end) {
			c->v[b->insn + b->at][k->end == END_COND ? PM_CG_Bc : PM_CG_Bi] +=
				k->count - k->untold;
			c->v[b->insn + b->at][k->end == END_COND ? PM_CG_Bcm : PM_CG_Bim] +=
				k->missed;
		}
		k->count = k->untold = k->missed = 0;
	}
}

void pm_cg_end(struct pm_cg *g)
{
	for (size_t i = 0; i < g->nstream; i++)
		if (g->stream[i].block != PM_NONE) {
			fetch_to(g, g->stream + i, g->stream[i].n);
			g->stream[i].block = PM_NONE;
		}
	for (size_t t = 0; t < g->ncode; t++) {
		struct cg_code *c = g->code[t];

		for (size_t b = 0; b < c->code->nblock && b < c->nblock; b++) {
			struct cg_block *k = c->block + b;

			for (uint32_t i = 0; k->count && i < k->n; i++)
				c->v[k->insn + i][PM_CG_Ir] += k->count;
			if (k->branches) {
				c->v[k->insn + k->at][k->end == END_COND ? PM_CG_Bc : PM_CG_Bi] +=
					k->branches;
				c->v[k->insn + k->at][k->end == END_COND ? PM_CG_Bcm : PM_CG_Bim] +=
					k->missed;
			}
			k->count = k->branches = k->missed = 0;
		}
		end_chains(c);
		for (size_t i = 0; i < c->code->ninsn && i < c->ninsn; i++) {
			uint64_t *v = c->v[i], any = 0, *to;
			size_t at;

			for (int e = 0; e < PM_CG_COUNT; e++)
				any |= v[e];
			if (!any)
				continue;
			at = insn_of(g, c->code->insn[i].pc);	/* may move g->insn */
			to = g->insn[at].v;
			for (int e = 0; e < PM_CG_COUNT; e++)
				to[e] += v[e];
			memset(v, 0, sizeof *c->v);
		}
	}
}

const struct pm_cg_insn *pm_cg_insns(const struct pm_cg *g, size_t *n)
{
	*n = g->n;
	return g->insn;
}

void pm_cg_totals(const struct pm_cg *g, uint64_t v[PM_CG_COUNT])
{
	memset(v, 0, PM_CG_COUNT * sizeof *v);
	for (size_t i = 0; i < g->n; i++)
		for (int k = 0; k < PM_CG_COUNT; k++)
			v[k] += g->insn[i].v[k];
}

static struct pm_cg_cache conf_of(const struct cg_lru *c)
{
	return (struct pm_cg_cache){ (uint32_t)((c->mask + 1) * c->ways) << c->shift, c->ways,
				     1u << c->shift };
}

void pm_cg_config(const struct pm_cg *g, struct pm_cg_cache c[3])
{
	c[0] = conf_of(&g->i1);
	c[1] = conf_of(&g->d1);
	c[2] = conf_of(&g->ll);
}

void pm_cg_sort(struct pm_cg *g, int (*by)(const void *, const void *))
{
	if (g->n)
		qsort(g->insn, g->n, sizeof *g->insn, by);
}
