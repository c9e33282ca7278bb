/* SPDX-License-Identifier: MIT */
/* cachegrind_sink.c - the simulator `cachegrind`: its configuration and results */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cachegrind.h"
#include "analyse/calls.h"
#include "analyse/conf.h"
#include "analyse/costs.h"
#include "analyse/listing.h"
#include "analyse/names.h"
#include "base/mem.h"
#include "trace/chain.h"

static const char *const event_names[] = {
#define E(name, about) #name,
	PM_CG_EVENTS(E)
#undef E
};

struct cg_sink { struct pm_cg *g; struct pm_names names; uint64_t top; };

static void destroy(void *self)
{
	struct cg_sink *s = self;

	if (!s)
		return;
	pm_cg_free(s->g);
	pm_names_release(&s->names);
	free(s);
}

static enum pm_status cache_parse(struct pm_conf *c, const struct pm_conf_item *it,
				  struct pm_cg_cache *k, struct pm_err *err)
{
	static const char *const what[] = { "size", "ways", "line size" };
	uint64_t v[3];

	if (it->n != 3)
		return pm_conf_fail(c, it, err,
				    "expected size, ways and line, as in %s=32k,8way,64", it->name);
	for (int i = 0; i < 3; i++) {
		char text[32];
		size_t n = strlen(it->field[i].key);

		/* "8way" is how other simulators want it */
		if (i == 1 && n > 3 && n < sizeof text && !strcmp(it->field[i].key + n - 3, "way"))
			n -= 3;
		if (n >= sizeof text || it->field[i].val)
			return pm_conf_fail(c, it, err, "'%s' is not a %s", it->field[i].key,
					    what[i]);
		memcpy(text, it->field[i].key, n);
		text[n] = 0;
		if (i == 2 ? pm_conf_pow2(c, it, text, what[i], 8, 4096, v + i, err)
		    : pm_conf_u64(c, it, text, what[i], 1, 1u << 30, v + i, err))
			return PM_ERR;
	}
	if (v[0] / v[2] > 1u << 24)
		return pm_conf_fail(c, it, err, "more than 16777216 lines");
	if (v[0] % (v[1] * v[2]) || !(v[0] / (v[1] * v[2])) ||
	    (v[0] / (v[1] * v[2]) & (v[0] / (v[1] * v[2]) - 1)))
		return pm_conf_fail(c, it, err,
				    "%" PRIu64 " bytes in %" PRIu64 " ways of %" PRIu64
				    "-byte lines do not make a power of two of sets",
				    v[0], v[1], v[2]);
	*k = (struct pm_cg_cache){ v[0], v[1], v[2] };
	return PM_OK;
}

static enum pm_status parse(struct cg_sink *s, struct pm_conf *c, struct pm_err *err)
{
	static const char *const names[] = { "i1", "d1", "ll", NULL };
	struct pm_cg_cache k[3] = { { 32768, 8, 64 }, { 32768, 8, 64 }, { 8 << 20, 16, 64 } };

	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		int w = pm_conf_word(it->name, names);

		if (w >= 0) {
			if (cache_parse(c, it, k + w, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "", "entries listed",
					1, 1000000, &s->top, err))
				return PM_ERR;
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"i1, d1, ll, top");
		}
	}
	s->g = pm_cg_new(k);
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct cg_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "cachegrind", config, err);

	s->top = 20;
	if (!st)
		st = parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	destroy(s);
	return NULL;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct cg_sink *s = self;

	pm_names_learn(&s->names, b->code);
	return pm_cg_batch(s->g, b, err);
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	pm_cg_charge(self, piece->ev, piece->n, sum);
	return false;
}

void pm_cachegrind_meter(const void *self, struct pm_calls_meter *m)
{
	struct pm_cg_cache c[3];

	pm_cg_config(((const struct cg_sink *)self)->g, c);
	*m = (struct pm_calls_meter){ PM_CG_COUNT, pm_cg_new(c), charge };
}

void pm_cachegrind_meter_free(void *self)
{
	pm_cg_free(self);
}

static bool is_trouble(int event)
{
	return event != PM_CG_Ir && event != PM_CG_Dr && event != PM_CG_Dw && event != PM_CG_Bc &&
	       event != PM_CG_Bi;
}

void pm_cachegrind_costs(void *self, struct pm_costs *c)
{
	static const char *const about[] = {
#define E(name, text) text,
		PM_CG_EVENTS(E)
#undef E
	};
	size_t n;
	const struct pm_cg_insn *insn = pm_cg_insns(((struct cg_sink *)self)->g, &n);

	for (int k = 0; k < PM_CG_COUNT; k++) {
		int col = pm_costs_column(c, event_names[k], about[k], is_trouble(k));

		for (size_t i = 0; col >= 0 && i < n; i++) {
			size_t row = pm_costs_row(c, insn[i].pc);

			c->v[col][row] = insn[i].v[k];
		}
	}
}

/* What an instruction costs beyond itself: misses, the last level's ten times as bad. */
static uint64_t trouble(const struct pm_cg_insn *i)
{
	const uint64_t *v = i->v;

	return v[PM_CG_I1mr] + v[PM_CG_D1mr] + v[PM_CG_D1mw] + v[PM_CG_Bcm] + v[PM_CG_Bim] +
		9 * (v[PM_CG_ILmr] + v[PM_CG_DLmr] + v[PM_CG_DLmw]);
}

static int by_trouble(const void *a, const void *b)
{
	const struct pm_cg_insn *x = a, *y = b;
	uint64_t i = trouble(x), j = trouble(y);

	return i != j ? (i < j ? 1 : -1) : x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void events_result(struct pm_result *r, const uint64_t *v)
{
	for (int k = 0; k < PM_CG_COUNT; k++)
		pm_result_u64(r, event_names[k], v[k], NULL);
}

static void functions_result(struct cg_sink *s, struct pm_result *r)
{
	struct pm_costs c = { 0 };
	struct pm_listing *l;
	uint32_t *order;
	size_t n;

	pm_cachegrind_costs(s, &c);
	l = pm_listing_new(&c, &s->names, NULL);
	n = pm_listing_top(l, PM_CG_Ir, &order);
	pm_result_begin_list(r, "functions");
	for (size_t i = 0; i < n && i < s->top; i++) {
		const struct pm_listing_function *f = l->function + order[i];
		uint64_t v[PM_COSTS_MAX];

		pm_listing_sum(l, f->first, f->n, v);
		pm_result_begin(r, NULL);
		events_result(r, v);
		pm_result_str(r, "function", f->name);
		pm_result_end(r);
	}
	pm_result_end(r);
	free(order);
	pm_listing_free(l);
	pm_costs_release(&c);
}

struct pm_names *pm_cachegrind_names(void *self)
{
	return &((struct cg_sink *)self)->names;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct cg_sink *s = self;
	uint64_t total[PM_CG_COUNT];
	const struct pm_cg_insn *insn;
	size_t n;

	pm_cg_end(s->g);
	if (!r)
		return PM_OK;
	pm_cg_totals(s->g, total);
	pm_result_begin(r, "cachegrind");
	events_result(r, total);
	if (s->names.n)
		functions_result(s, r);
	pm_cg_sort(s->g, by_trouble);
	insn = pm_cg_insns(s->g, &n);
	pm_result_begin_list(r, "instructions");
	for (size_t i = 0; i < n && i < s->top && trouble(insn + i); i++) {
		pm_result_begin(r, NULL);
		pm_names_result(&s->names, r, insn[i].pc);
		events_result(r, insn[i].v);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	struct cg_sink *s = self;

	pm_names_learn(&s->names, b->code);
	return pm_cg_packed(s->g, b, k, err);
}

const struct pm_chain_sink_ops pm_sim_cachegrind = {
	.ops = {
		.abi = PM_ABI, .needs = PM_HAS_INSNS, .flags = PM_SINK_BLOCKS | PM_SINK_CHAINS,
		.name = "cachegrind",
		.about = "cachegrind's caches and predictors, by instruction, function, line",
		.create = create, .consume = consume, .finish = finish, .destroy = destroy,
	},
	.packed = packed,
};
