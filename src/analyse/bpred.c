/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/calls.h"
#include "analyse/conf.h"
#include "analyse/costs.h"
#include "analyse/names.h"
#include "base/mem.h"
#include "trace/champsim.h"

#define COND(b)  ((b)->flags & PM_BR_COND)
#define TAKEN(b) ((b)->flags & PM_BR_TAKEN)

/* ---- static --------------------------------------------------------------------------------- */

static void *no_create(const struct pm_bp_args *a)
{
	return pm_alloc(1);
}

static uint64_t no_bits(const void *self)
{
	return 0;
}

static void taken_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	for (size_t i = 0; i < n; i++)
		miss[i] = COND(b + i) && !TAKEN(b + i);
}

static void nottaken_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	for (size_t i = 0; i < n; i++)
		miss[i] = COND(b + i) && TAKEN(b + i);
}

static void btfn_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	/* a not-taken branch whose trace gives no target counts as forward */
	for (size_t i = 0; i < n; i++)
		miss[i] = COND(b + i) && (b[i].target <= b[i].pc) != !!TAKEN(b + i);
}

/* ---- tables of counters: bimodal, gshare, tournament, idtrace, local ------------------------ */

struct tables {
	uint8_t *counter, *gshare, *chooser;
	uint16_t *local;
	uint64_t history, mask, hmask;
	uint64_t bimodal_mask, chooser_mask;	/* of tournament, whose mask is gshare's */
	unsigned k, h;
};

static struct tables *tables_new(const struct pm_bp_args *a)
{
	struct tables *t = pm_alloc(sizeof *t);

	t->k = a->v[0];
	t->h = a->v[1];
	t->mask = (1ull << t->k) - 1;
	t->hmask = (1ull << t->h) - 1;
	return t;
}

static void tables_free(void *self)
{
	struct tables *t = self;

	if (!t)
		return;
	free(t->counter);
	free(t->gshare);
	free(t->chooser);
	free(t->local);
	free(t);
}

static inline uint8_t step(uint8_t c, bool up)	/* N n t T are 0 1 2 3 */
{
	return up ? c + (c < 3) : c - (c > 0);
}

static void *bimodal_create(const struct pm_bp_args *a)
{
	struct tables *t = tables_new(a);

	t->counter = pm_alloc(t->mask + 1);
	return t;
}

static void bimodal_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tables *t = self;
	uint8_t *c = t->counter;
	const uint64_t mask = t->mask;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = b[i].pc & mask;
		bool taken = TAKEN(b + i);

		miss[i] = 0;
		if (!COND(b + i))
			continue;
		miss[i] = (c[at] >> 1) != taken;
		c[at] = step(c[at], taken);
	}
}

static uint64_t bimodal_bits(const void *self)
{
	const struct tables *t = self;

	return 2 * (t->mask + 1);
}

/* The counters -1, 0, +1 are kept as 0, 1, 2. */
static void *idtrace_create(const struct pm_bp_args *a)
{
	struct tables *t = bimodal_create(a);

	memset(t->counter, 1, t->mask + 1);
	return t;
}

static void idtrace_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tables *t = self;
	uint8_t *c = t->counter;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = b[i].pc & t->mask;
		bool taken = TAKEN(b + i);

		miss[i] = 0;
		if (!COND(b + i))
			continue;
		miss[i] = (c[at] >= 1) != taken;
		c[at] = taken ? c[at] + (c[at] < 2) : c[at] - (c[at] > 0);
	}
}

static void *gshare_create(const struct pm_bp_args *a)
{
	struct tables *t = tables_new(a);

	t->gshare = pm_alloc(t->mask + 1);
	return t;
}

/* HOT: 150 M branches/s. The next counter is both results' function of one load; no branch on
 * it. */
static void gshare_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tables *t = self;
	uint8_t *c = t->gshare;
	const uint64_t mask = t->mask, hmask = t->hmask;
	uint64_t history = t->history;

	for (size_t i = 0; i < n; i++) {
		/* [taken * 4 + counter] */
		static const uint8_t next[8] = { 0, 0, 1, 2, 1, 2, 3, 3 };
		unsigned taken = TAKEN(b + i) != 0;
		uint8_t *at = c + ((b[i].pc ^ history) & mask);

		if (!COND(b + i)) {
			miss[i] = 0;
			continue;
		}
		miss[i] = (*at >> 1) ^ taken;
		*at = next[taken * 4 + *at];
		history = (history << 1 | taken) & hmask;
	}
	t->history = history;
}

static uint64_t gshare_bits(const void *self)
{
	const struct tables *t = self;

	return 2 * (t->mask + 1) + t->h;
}

static void *tournament_create(const struct pm_bp_args *a)
{
	struct tables *t = tables_new(a);

	t->bimodal_mask = (1ull << (a->v[2] ? a->v[2] : t->k)) - 1;
	t->chooser_mask = (1ull << (a->v[3] ? a->v[3] : t->k)) - 1;
	t->counter = pm_alloc(t->bimodal_mask + 1);
	t->gshare = pm_alloc(t->mask + 1);
	t->chooser = pm_alloc(t->chooser_mask + 1);
	return t;
}

static void tournament_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tables *t = self;

	for (size_t i = 0; i < n; i++) {
		bool taken = TAKEN(b + i), pb, pg;
		uint8_t *bi = t->counter + (b[i].pc & t->bimodal_mask);
		uint8_t *gs = t->gshare + ((b[i].pc ^ t->history) & t->mask);
		uint8_t *ch = t->chooser + (b[i].pc & t->chooser_mask);

		miss[i] = 0;
		if (!COND(b + i))
			continue;
		pb = *bi >> 1;
		pg = *gs >> 1;
		miss[i] = (*ch >> 1 ? pg : pb) != taken;
		if (pb != pg)
			*ch = step(*ch, pg == taken);
		*bi = step(*bi, taken);
		*gs = step(*gs, taken);
		t->history = (t->history << 1 | taken) & t->hmask;
	}
}

static uint64_t tournament_bits(const void *self)
{
	const struct tables *t = self;

	return 2 * (t->mask + 1 + t->bimodal_mask + 1 + t->chooser_mask + 1) + t->h;
}

static void *local_create(const struct pm_bp_args *a)
{
	struct tables *t = tables_new(a);

	t->local = pm_alloc((t->mask + 1) * sizeof *t->local);
	t->counter = pm_alloc(t->hmask + 1);
	return t;
}

static void local_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct tables *t = self;

	for (size_t i = 0; i < n; i++) {
		uint16_t *h = t->local + (b[i].pc & t->mask);
		bool taken = TAKEN(b + i);

		miss[i] = 0;
		if (!COND(b + i))
			continue;
		miss[i] = (t->counter[*h] >> 1) != taken;
		t->counter[*h] = step(t->counter[*h], taken);
		*h = (*h << 1 | taken) & t->hmask;
	}
}

static uint64_t local_bits(const void *self)
{
	const struct tables *t = self;

	return t->h * (t->mask + 1) + 2 * (t->hmask + 1);
}

/* ---- perceptron ----------------------------------------------------------------------------- */

struct perceptron {
	int8_t *w;			/* rows of bias, then weights, newest outcome first */
	uint64_t mask, history;
	unsigned h;
	int threshold;
};

static void *perceptron_create(const struct pm_bp_args *a)
{
	struct perceptron *p = pm_alloc(sizeof *p);

	p->mask = (1ull << a->v[0]) - 1;
	p->h = a->v[1];
	p->threshold = (193 * p->h + 1400) / 100;
	p->w = pm_alloc((p->mask + 1) * (p->h + 1));
	return p;
}

static inline int8_t weigh(int8_t w, bool up)
{
	return up ? w + (w < 127) : w - (w > -128);
}

static void perceptron_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct perceptron *p = self;

	for (size_t i = 0; i < n; i++) {
		int8_t *w = p->w + (b[i].pc & p->mask) * (p->h + 1);
		bool taken = TAKEN(b + i);
		uint64_t h = p->history;
		int sum = w[0];

		miss[i] = 0;
		if (!COND(b + i))
			continue;
		for (unsigned k = 0; k < p->h; k++) {
			int sign = -(int)(~h >> k & 1);		/* -1 for not taken, 0 for taken */

			sum += (w[k + 1] ^ sign) - sign;
		}
		miss[i] = (sum >= 0) != taken;
		if (miss[i] || abs(sum) <= p->threshold) {
			w[0] = weigh(w[0], taken);
			for (unsigned k = 0; k < p->h; k++)
				w[k + 1] = weigh(w[k + 1], (h >> k & 1) == taken);
		}
		p->history = h << 1 | taken;
	}
}

static uint64_t perceptron_bits(const void *self)
{
	const struct perceptron *p = self;

	return (p->mask + 1) * (p->h + 1) * 8 + p->h;
}

static void perceptron_free(void *self)
{
	struct perceptron *p = self;

	if (p)
		free(p->w);
	free(p);
}

/* ---- the list ------------------------------------------------------------------------------- */

#define CONDITIONAL .mask = PM_BR_COND, .want = PM_BR_COND

static const struct pm_bp_ops
bp_taken = { "taken", "always taken", { NULL }, .create = no_create, .run = taken_run,
	.bits = no_bits, .destroy = free, CONDITIONAL },
bp_nottaken = { "nottaken", "never taken", { NULL }, .create = no_create, .run = nottaken_run,
	.bits = no_bits, .destroy = free, CONDITIONAL },
bp_btfn = { "btfn", "backward taken, forward not", { NULL }, .create = no_create, .run = btfn_run,
	.bits = no_bits, .destroy = free, CONDITIONAL },
bp_idtrace = { "idtrace", "1024 counters -1..+1, taken unless negative", { "log2 of the entries" },
	{ 1 }, { 24 }, .create = idtrace_create, .run = idtrace_run, .bits = bimodal_bits,
	.destroy = tables_free, CONDITIONAL },
bp_bimodal = { "bimodal", "two-bit counters by pc", { "log2 of the entries" }, { 1 }, { 24 },
	.create = bimodal_create, .run = bimodal_run, .bits = bimodal_bits, .destroy = tables_free,
	CONDITIONAL },
bp_gshare = { "gshare", "two-bit counters by pc ^ history",
	{ "log2 of the entries", "bits of history" },
	{ 1, 0 }, { 24, 63 }, .create = gshare_create, .run = gshare_run, .bits = gshare_bits,
	.destroy = tables_free, CONDITIONAL },
bp_tournament = { "tournament", "bimodal and gshare with a chooser",
	{ "log2 of the entries", "bits of history", "log2 of bimodal's entries",
	  "log2 of the choosers" }, { 1, 0, 1, 1 }, { 24, 63, 24, 24 },
	.create = tournament_create,
	.run = tournament_run, .bits = tournament_bits, .destroy = tables_free, CONDITIONAL },
bp_local = { "local", "two-level with a history per branch",
	{ "log2 of the histories", "bits of history" },
	{ 0, 1 }, { 20, 16 }, .create = local_create, .run = local_run, .bits = local_bits,
	.destroy = tables_free, CONDITIONAL },
bp_perceptron = { "perceptron", "a weight per history bit",
	{ "log2 of the rows", "bits of history" },
	{ 0, 1 }, { 20, 64 }, .create = perceptron_create, .run = perceptron_run,
	.bits = perceptron_bits, .destroy = perceptron_free, CONDITIONAL };

const struct pm_bp_ops *const pm_bp_all[] = {
	&bp_taken, &bp_nottaken, &bp_btfn, &bp_idtrace, &bp_bimodal, &bp_gshare, &bp_tournament,
	&bp_local, &bp_perceptron, &pm_bp_tage, &pm_bp_tagescl, &pm_bp_btb, &pm_bp_ras,
	&pm_bp_ittage, NULL
};

const struct pm_bp_ops *pm_bp_find(const char *name)
{
	for (unsigned i = 0; pm_bp_all[i]; i++)
		if (!strcmp(pm_bp_all[i]->name, name))
			return pm_bp_all[i];
	return NULL;
}

void pm_bp_defaults(const struct pm_bp_ops *ops, struct pm_bp_args *a)
{
	static const struct { const char *name; uint64_t v[2]; } d[] = {
		{ "idtrace", { 10 } }, { "bimodal", { 14 } }, { "gshare", { 14 } },
		{ "tournament", { 14 } }, { "local", { 10, 10 } }, { "perceptron", { 10, 32 } },
		{ "btb", { 4096, 4 } },
		{ "ras", { 16 } },
	};

	for (size_t i = 0; i < NR(d); i++)
		if (!strcmp(d[i].name, ops->name)) {
			for (unsigned k = a->n; k < 2; k++)
				a->v[k] = d[i].v[k];
			/* history as long as the index */
			if (a->n < 2 && (ops == &bp_gshare || ops == &bp_tournament))
				a->v[1] = a->v[0];
			/* tables as large as gshare's */
			for (unsigned k = a->n < 2 ? 2 : a->n; k < 4 && ops == &bp_tournament; k++)
				a->v[k] = a->v[0];
		}
}

/* ---- per branch ----------------------------------------------------------------------------- */

static int falling_executed(const void *a, const void *b)
{
	const struct pm_branch_stat *x = a, *y = b;

	return x->executed != y->executed ? (x->executed < y->executed ? 1 : -1)
		: x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int falling_miss(const void *a, const void *b)
{
	const struct pm_branch_stat *x = a, *y = b;

	return x->miss != y->miss ? (x->miss < y->miss ? 1 : -1) : falling_executed(a, b);
}

size_t pm_branch_concentration(const struct pm_branch_stat *v, size_t n, int by, double share)
{
	struct pm_branch_stat *c = pm_alloc((n + 1) * sizeof *c);
	uint64_t total = 0, sum = 0;
	size_t k = 0;

	if (n)
		memcpy(c, v, n * sizeof *c);
	qsort(c, n, sizeof *c, by ? falling_miss : falling_executed);
	for (size_t i = 0; i < n; i++)
		total += by ? c[i].miss : c[i].executed;
	while (k < n && (double)sum < share * (double)total) {
		sum += by ? c[k].miss : c[k].executed;
		k++;
	}
	free(c);
	return k;
}

/* ---- the sink ------------------------------------------------------------------------------- */

#define PREDICTORS 16
#define CHUNK 4096

struct bpred_counts { uint64_t pc, executed, taken, miss[PREDICTORS]; uint8_t flags; };

struct bpred_predictor {
	const struct pm_bp_ops *ops;
	struct pm_bp_args args;
	void *self;
	uint64_t branches, misses;
};

struct bpred_sink {
	struct bpred_predictor p[PREDICTORS];
	unsigned n;
	uint64_t top, insns, uop_macros, done;	/* done: branches predicted */
	struct pm_map at;
	struct bpred_counts *v;
	size_t nv, cap_v;
	struct { uint64_t pc; uint32_t at; } recent[1024];	/* pc -> v, direct-mapped; at + 1 */
	struct pm_br br[CHUNK];
	uint8_t miss[CHUNK];
	size_t nbr;
	/* For those with pass(): instructions that are no branches, and how many of them come
	 * before each branch. The last instruction waits: its branch comes behind it. */
	bool every, waits;
	uint64_t waiting, other[CHUNK];
	uint32_t before[CHUNK];
	size_t nother;
	char *debug_path;
	FILE *debug;
	struct pm_names names;
};

static void destroy(void *self)
{
	struct bpred_sink *s = self;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		s->p[i].ops->destroy(s->p[i].self);
	pm_map_release(&s->at);
	free(s->v);
	pm_names_release(&s->names);
	free(s->debug_path);
	if (s->debug && s->debug != stdout)
		fclose(s->debug);
	free(s);
}

static enum pm_status add(struct bpred_sink *s, struct pm_conf *c, const struct pm_conf_item *it,
			  const char *name, struct pm_err *err)
{
	const bool module = pm_champsim_is_name(name);
	const struct pm_bp_ops *ops = module ? &pm_bp_module : pm_bp_find(name);
	struct bpred_predictor *p = s->p + s->n;
	unsigned max = 0;
	char all[200];
	size_t len = 0;

	if (!ops) {
		for (unsigned i = 0; pm_bp_all[i]; i++)
			len += snprintf(all + len, sizeof all - len, "%s, ", pm_bp_all[i]->name);
		snprintf(all + len, sizeof all - len, "top=N, debug=FILE");
		return pm_conf_unknown(c, NULL, err, name, "is not a predictor", all);
	}
	if (s->n == PREDICTORS)
		return pm_conf_fail(c, NULL, err, "more than %d predictors", PREDICTORS);
	while (ops->args[max])
		max++;
	*p = (struct bpred_predictor){ .ops = ops };
	if (module && pm_bp_module_parse(c, it, &p->ops, &p->args, err))
		return PM_ERR;
	ops = p->ops;
	for (size_t i = 0; i < it->n && !module; i++) {
		if (i >= max)
			return pm_conf_fail(c, it, err, "'%s' is one number too many; it takes %u",
					    it->field[i].key, max);
		if (it->field[i].val)
			return pm_conf_fail(c, it, err, "'%s=%s' is not a number", it->field[i].key,
					    it->field[i].val);
		if (pm_conf_u64(c, it, it->field[i].key, ops->args[i], ops->lo[i], ops->hi[i],
				p->args.v + i, err))
			return PM_ERR;
		p->args.n++;
	}
	pm_bp_defaults(ops, &p->args);
	if (ops == &pm_bp_btb && (p->args.v[0] % p->args.v[1] ||
	    (p->args.v[0] / p->args.v[1] & (p->args.v[0] / p->args.v[1] - 1))))
		return pm_conf_fail(c, it, err,
				    "%" PRIu64 " entries in %" PRIu64
				    " ways do not make a power of two of sets",
				    p->args.v[0], p->args.v[1]);
	for (unsigned i = 0; i < s->n; i++)
		if (s->p[i].ops == ops && !memcmp(s->p[i].args.v, p->args.v, sizeof p->args.v))
			return pm_conf_fail(c, it, err, "the same predictor twice");
	p->self = ops->create(&p->args);
	s->every |= ops->pass != NULL;
	s->n++;
	return PM_OK;
}

static enum pm_status parse(struct bpred_sink *s, struct pm_conf *c, struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;

		if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "",
					"branches listed", 0, 1000000, &s->top, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "debug")) {
			if (it->n != 1)
				return pm_conf_fail(c, it, err, "expected debug=FILE");
			if (s->debug_path)
				return pm_conf_fail(c, it, err, "given twice");
			s->debug_path = pm_strdup(it->field[0].key);
		} else if (add(s, c, it, it->name, err)) {
			return PM_ERR;
		}
	}
	if (!s->n)
		return pm_conf_fail(c, NULL, err, "no predictor is given, as in gshare=14;tagescl");
	if (!s->debug_path)
		return PM_OK;
	for (unsigned i = 0; i < s->n; i++) {
		const struct pm_bp_ops *ops = s->p[i].ops;

		if ((ops == &bp_bimodal || ops == &bp_gshare || ops == &bp_tournament ||
		     ops == &bp_idtrace) && s->p[i].args.v[0] <= 16 && s->p[i].args.v[1] <= 63 &&
		    s->p[i].args.v[2] <= 16 && s->p[i].args.v[3] <= 16)
			continue;
		return pm_conf_fail(c, NULL, err,
				    "debug shows idtrace, bimodal, gshare and tournament with "
				    "tables of 2^1 to 2^16, not %s",
				    ops->name);
	}
	s->debug = strcmp(s->debug_path, "-") ? fopen(s->debug_path, "w") : stdout;
	if (!s->debug)
		return pm_conf_fail(c, NULL, err, "debug=%s: %s", s->debug_path, strerror(errno));
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct bpred_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st;

	s->top = 20;
	if (!*config)
		config = "btfn;idtrace;bimodal=14;gshare=14;tournament=14;tagescl;btb;ras;ittage";
	st = pm_conf_list(&c, "bpred", config, err);
	if (!st)
		st = parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	destroy(s);
	return NULL;
}

static struct bpred_counts *counts_of(struct bpred_sink *s, uint64_t pc)
{
	unsigned slot = (pc ^ pc >> 10) & 1023;
	uint64_t *at;
	bool fresh;

	if (s->recent[slot].at && s->recent[slot].pc == pc)
		return s->v + s->recent[slot].at - 1;
	at = pm_map_put(&s->at, pc, &fresh);
	if (fresh) {
		*at = s->nv;
		pm_grow(s->v, s->nv, s->cap_v);
		s->v[s->nv++] = (struct bpred_counts){ .pc = pc };
	}
	s->recent[slot].pc = pc;
	s->recent[slot].at = *at + 1;
	return s->v + *at;
}

static void print_table(FILE *to, const uint8_t *t, uint64_t n, const char *letters)
{
	for (uint64_t i = 0; i < n; i++)
		putc(letters[t[i]], to);
}

static void debug_line(struct bpred_sink *s, const struct bpred_predictor *p, const struct pm_br *b)
{
	const struct tables *t = p->self;
	const bool three = p->ops == &bp_idtrace;	/* its counters have three values */
	const uint64_t bimodal = t->chooser ? t->bimodal_mask : t->mask;
	bool taken = TAKEN(b), guess;
	uint8_t bi = !t->counter ? 0 : three ? t->counter[b->pc & bimodal] > 0
					     : t->counter[b->pc & bimodal] >> 1;
	uint8_t gs = t->gshare ? t->gshare[(b->pc ^ t->history) & t->mask] >> 1 : 0;

	guess = !t->chooser ? t->counter ? bi : gs
		: t->chooser[b->pc & t->chooser_mask] >> 1 ? gs : bi;
	if (t->chooser) {
		print_table(s->debug, t->chooser, t->chooser_mask + 1, "BbgG");
		putc(' ', s->debug);
	}
	if (t->counter)
		print_table(s->debug, t->counter, bimodal + 1, three ? "-0+" : "NntT");
	if (t->chooser)
		putc(' ', s->debug);
	if (t->gshare) {
		print_table(s->debug, t->gshare, t->mask + 1, "NntT");
		fputs("  ", s->debug);
		for (unsigned k = t->h; k-- > 0; )
			putc(t->history >> k & 1 ? 'T' : 'N', s->debug);
	}
	fprintf(s->debug, " | %" PRIx64 "  %c | %c  %-9s  %" PRIu64 "\n", b->pc, taken ? 'T' : 'N',
		guess ? 'T' : 'N', guess == taken ? "correct" : "incorrect",
		p->misses + (guess != taken));
}

/* One that wants to see all instructions sees them in order. */
static void run_among_others(struct bpred_sink *s, struct bpred_predictor *p)
{
	size_t at = 0;

	for (size_t i = 0; i < s->nbr; i++) {
		p->ops->pass(p->self, s->other + at, s->before[i] - at);
		at = s->before[i];
		p->ops->run(p->self, s->br + i, 1, s->miss + i);
	}
	p->ops->pass(p->self, s->other + at, s->nother - at);
}

static void run_chunk(struct bpred_sink *s)
{
	const size_t n = s->nbr;

	for (size_t i = 0; i < n; i++) {
		struct bpred_counts *c = counts_of(s, s->br[i].pc);

		c->executed++;
		c->taken += TAKEN(s->br + i) != 0;
		c->flags |= s->br[i].flags;
	}
	for (unsigned k = 0; k < s->n; k++) {
		struct bpred_predictor *p = s->p + k;

		if (s->debug) {	/* one at a time, so that the tables are seen before the update */
			for (size_t i = 0; i < n; i++) {
				if (COND(s->br + i))
					debug_line(s, p, s->br + i);
				p->ops->run(p->self, s->br + i, 1, s->miss + i);
				p->misses += s->miss[i];
			}
		} else if (p->ops->pass) {
			run_among_others(s, p);
		} else {
			p->ops->run(p->self, s->br, n, s->miss);
		}
		for (size_t i = 0; i < n; i++) {
			p->branches += (s->br[i].flags & p->ops->mask) == p->ops->want;
			if (s->miss[i]) {
				p->misses += !s->debug;
				counts_of(s, s->br[i].pc)->miss[k]++;
			}
		}
	}
	s->done += n;
	s->nbr = s->nother = 0;
}

static void push(struct bpred_sink *s, struct pm_br b)
{
	s->before[s->nbr] = s->nother;
	s->br[s->nbr++] = b;
	if (s->nbr == CHUNK)
		run_chunk(s);
}

/* The instruction that waited is no branch. */
static void push_other(struct bpred_sink *s)
{
	if (!s->waits)
		return;
	s->waits = false;
	s->other[s->nother++] = s->waiting;
	if (s->nother == CHUNK)
		run_chunk(s);
}

static void take(struct bpred_sink *s, const struct pm_batch *b)
{
	const unsigned slot = pm_delay_slot(b);

	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++)
		if (e->kind == PM_EV_BRANCH) {
			if (s->waits && s->waiting != e->addr)
				push_other(s);
			s->waits = false;
			push(s, pm_br_of(e, slot));
		} else if (e->kind == PM_EV_INSN) {
			s->insns++;
			if (s->every) {
				push_other(s);
				s->waits = true;
				s->waiting = e->addr;
			}
		} else if (e->kind == PM_EV_UOP && e->id < b->nuop) {
			s->uop_macros +=
				b->uop[e->id].index == 1; /* its branch comes as an event */
		}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct bpred_sink *s = self;

	pm_names_learn(&s->names, b->code);
	take(s, b);
	for (unsigned k = 0; k < s->n && s->every; k++)
		if (s->p[k].ops->well && !s->p[k].ops->well(s->p[k].self, err))
			return PM_ERR;
	return PM_OK;
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct bpred_sink *s = self;
	uint64_t was[PREDICTORS], done = s->done;

	for (unsigned k = 0; k < s->n; k++)
		was[k] = s->p[k].misses;
	take(s, piece);
	run_chunk(s);
	sum[0] += s->done - done;
	for (unsigned k = 0; k < s->n; k++)
		sum[k + 1] += s->p[k].misses - was[k];
	return false;
}

void pm_bpred_meter(const void *self, struct pm_calls_meter *m)
{
	const struct bpred_sink *s = self;
	struct bpred_sink *t = pm_alloc(sizeof *t);

	for (; t->n < s->n; t->n++) {
		t->p[t->n] = (struct bpred_predictor){ .ops = s->p[t->n].ops,
						       .args = s->p[t->n].args };
		t->p[t->n].self = t->p[t->n].ops->create(&t->p[t->n].args);
	}
	t->every = s->every;
	*m = (struct pm_calls_meter){ s->n + 1, t, charge };
}

void pm_bpred_meter_free(void *self)
{
	destroy(self);
}

void pm_bpred_costs(void *self, struct pm_costs *to)
{
	const struct bpred_sink *s = self;
	int br = pm_costs_column(to, "Br", "branches of every kind", false);

	for (size_t i = 0; br >= 0 && i < s->nv; i++) {
		size_t row = pm_costs_row(to, s->v[i].pc);

		to->v[br][row] = s->v[i].executed;
	}
	for (unsigned k = 0; k < s->n; k++) {
		char name[80];
		int col;

		if (s->p[k].ops->pass)
			pm_bp_module_name(&s->p[k].args, name, sizeof name - 1);
		else
			snprintf(name, sizeof name, "%s", s->p[k].ops->name);
		strcat(name, "m");
		col = pm_costs_column(to, name, "branches that this predictor got wrong", true);
		for (size_t i = 0; col >= 0 && i < s->nv; i++) {
			size_t row = pm_costs_row(to, s->v[i].pc);

			to->v[col][row] = s->v[i].miss[k];
		}
	}
}

static void predictor_result(struct bpred_sink *s, unsigned k, struct pm_branch_stat *v,
			     struct pm_result *r)
{
	const struct bpred_predictor *p = s->p + k;
	uint64_t insns = s->insns ? s->insns : s->uop_macros;
	size_t n = 0;
	char name[64];

	for (size_t i = 0; i < s->nv; i++)
		if ((s->v[i].flags & p->ops->mask & ~PM_BR_TAKEN) == (p->ops->want & ~PM_BR_TAKEN))
			v[n++] = (struct pm_branch_stat){ s->v[i].pc, s->v[i].executed,
							  s->v[i].taken, s->v[i].miss[k] };
	snprintf(name, sizeof name, p->ops->args[0] ? p->ops->args[1] ? "%s-%" PRIu64 "-%" PRIu64
		 : "%s-%" PRIu64 : "%s", p->ops->name, p->args.v[0], p->args.v[1]);
	if (p->ops == &bp_tournament &&
	    (p->args.v[2] != p->args.v[0] || p->args.v[3] != p->args.v[0]))
		snprintf(name + strlen(name), sizeof name - strlen(name),
			 "-%" PRIu64 "-%" PRIu64, p->args.v[2], p->args.v[3]);
	if (p->ops->pass)
		pm_bp_module_name(&p->args, name, sizeof name);
	pm_result_begin(r, name);
	if (p->ops->bits)
		pm_result_u64(r, "bits", p->ops->bits(p->self), "bits");
	pm_result_u64(r, "branches", p->branches, "branches");
	pm_result_u64(r, "mispredictions", p->misses, "branches");
	pm_result_f64(r, "accuracy", p->branches ? 1 - (double)p->misses / p->branches : 0,
		      "correct/branch");
	if (insns)
		pm_result_f64(r, "mpki", 1000.0 * p->misses / insns,
			      "mispredictions/1000 instructions");
	pm_result_u64(r, "unique_branches", n, "branches");
	pm_result_u64(r, "unique_90_percent_executed", pm_branch_concentration(v, n, 0, 0.9),
		      "branches");
	pm_result_u64(r, "unique_90_percent_missed", pm_branch_concentration(v, n, 1, 0.9),
		      "branches");
	if (p->ops->by_type)
		p->ops->by_type(p->self, r);
	qsort(v, n, sizeof *v, falling_miss);
	pm_result_begin_list(r, "worst");
	for (size_t i = 0; i < n && i < s->top && v[i].miss; i++) {
		pm_result_begin(r, NULL);
		pm_names_result(&s->names, r, v[i].pc);
		pm_result_u64(r, "mispredictions", v[i].miss, "times");
		pm_result_u64(r, "executed", v[i].executed, "times");
		pm_result_u64(r, "taken", v[i].taken, "times");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
}

struct pm_names *pm_bpred_names(void *self)
{
	return &((struct bpred_sink *)self)->names;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct bpred_sink *s = self;
	struct pm_branch_stat *v;

	push_other(s);
	run_chunk(s);
	for (unsigned k = 0; k < s->n && s->every; k++)
		if (s->p[k].ops->well && !s->p[k].ops->well(s->p[k].self, err))
			return PM_ERR;
	if (s->debug && (fflush(s->debug) || ferror(s->debug)))
		return pm_fail_errno(err, "bpred: debug=%s", s->debug_path);
	if (!r)
		return PM_OK;
	v = pm_alloc((s->nv + 1) * sizeof *v);
	pm_result_begin(r, "bpred");
	for (unsigned k = 0; k < s->n; k++)
		predictor_result(s, k, v, r);
	pm_result_end(r);
	free(v);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_bpred = {
	.abi = PM_ABI, .needs = PM_HAS_BRANCHES, .name = "bpred",
	.about = "branch predictors, side by side",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
