/* SPDX-License-Identifier: MIT */
/* bounds.c - the simulator `bounds`: its configurations, and what the windows say of them */
#include <stdlib.h>
#include <string.h>

#include "analyse/bounds_work.h"
#include "analyse/conf.h"
#include "base/mem.h"
#include "base/values.h"

#define CONFIGURATIONS	100000u		/* of one object, at most */
#define LANES_MOST	1024		/* of one object: each takes 64 KiB */
#define WINDOW		64
#define WINDOW_MOST	4096		/* CODE() has room for the cycles of so many */

static const struct { const char *name, *about; bool sure; } resources[] = {
#define R(name, sure, about) { #name, about, sure },
	PM_BOUNDS_RESOURCES(R)
#undef R
};

/* A setting with several values. */
struct axis { const char *name; struct pm_values values; };

struct one_core {
	struct pm_core_conf c;
	uint32_t lane[PM_BOUNDS_COUNT];
	uint64_t estimate, bound, limited[PM_BOUNDS_COUNT];
};

/* A pass, and who needs it. */
struct bounds_task {
	struct core_sink *feed;
	struct bounds_pass *pass;
	size_t users;
};

struct bounds_sim {
	struct bounds_task *task;
	struct pm_arena mem;
	struct axis *axis;
	size_t naxis, cap_axis;
	struct one_core *core;		/* the last axis runs fastest */
	size_t ncore;
	uint64_t window, top;
	/* most[k] of a window: of the first k + 1 lanes in @order, which begins with those that
	 * change least from one configuration to the next */
	uint8_t order[PM_BOUNDS_COUNT];
	uint32_t most[PM_BOUNDS_COUNT][BOUNDS_WINDOWS];
};

static void leave(struct bounds_task *w)
{
	if (!w || --w->users)
		return;
	core_sink_free(w->feed);
	bounds_pass_free(w->pass);
	free(w);
}

static void destroy(void *self)
{
	struct bounds_sim *s = self;

	if (!s)
		return;
	leave(s->task);
	for (size_t i = 0; i < s->naxis; i++)
		pm_values_release(&s->axis[i].values);
	pm_arena_release(&s->mem);
	free(s->axis);
	free(s->core);
	free(s);
}

/* ---- configuration -------------------------------------------------------------------------- */

static enum pm_status add_axis(struct bounds_sim *s, struct pm_conf *c,
			       const struct pm_conf_item *it, struct pm_err *err)
{
	struct pm_err why = { 0 };
	struct axis *a;

	pm_grow(s->axis, s->naxis, s->cap_axis);
	a = s->axis + s->naxis++;
	*a = (struct axis){ .name = pm_arena_strdup(&s->mem, it->name) };
	if (pm_values_parse(&a->values, &s->mem, it->field[0].key, &why))
		return pm_conf_fail(c, it, err, "%s", why.msg);
	return PM_OK;
}

/* What is bounds' own, and lists; the rest is the configuration of a core, into @core. */
static enum pm_status sort_out(struct bounds_sim *s, struct pm_conf *c, struct pm_buf *core,
			       struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *text = it->n == 1 && !it->field[0].val ? it->field[0].key : "";
		enum pm_status st = PM_OK;

		if (!strcmp(it->name, "window"))
			st = pm_conf_u64(c, it, text, "instructions of a window", 1, WINDOW_MOST,
					 &s->window, err);
		else if (!strcmp(it->name, "top"))
			st = pm_conf_u64(c, it, text, "configurations listed", 1, CONFIGURATIONS,
					 &s->top, err);
		else if (!strcmp(it->name, "byinsn") || !strcmp(it->name, "topdown"))
			st = pm_conf_fail(c, it, err, "is for `core`: bounds tell no instructions "
					  "apart");
		else if (pm_is_list(text))
			st = add_axis(s, c, it, err);
		else
			pm_conf_put(it, core);
		if (st)
			return st;
	}
	pm_buf_add(core, "", 1);
	return PM_OK;
}

/* Value @k of axis @a. */
static enum pm_status set(struct pm_conf *c, const struct axis *a, size_t k,
			  struct pm_core_conf *to, struct pm_err *err)
{
	const struct pm_conf_item it = { .name = a->name };
	bool known;

	if (core_number(c, &it, a->values.v[k], to, &known, err))
		return PM_ERR;
	if (!known)
		return pm_conf_fail(c, &it, err, "a list is for numbers: fetch, bytes, queue, "
				    "front, bubble, width, rob, iq, lq, sq, mshr, gap, forward, "
				    "alu, vec, loads, stores");
	return PM_OK;
}

static enum pm_status combine(struct bounds_sim *s, struct pm_conf *c, struct pm_err *err)
{
	s->ncore = 1;
	for (size_t i = 0; i < s->naxis; i++) {
		if (s->axis[i].values.n > CONFIGURATIONS / s->ncore)
			return pm_conf_fail(c, NULL, err, "more than %u configurations",
					    CONFIGURATIONS);
		s->ncore *= s->axis[i].values.n;
	}
	s->core = pm_alloc(s->ncore * sizeof *s->core);
	for (size_t i = 0; i < s->ncore; i++) {
		size_t left = i;

		s->core[i].c = s->task->feed->c;
		for (size_t k = s->naxis; k-- > 0; left /= s->axis[k].values.n)
			if (set(c, s->axis + k, left % s->axis[k].values.n, &s->core[i].c, err))
				return PM_ERR;
	}
	return PM_OK;
}

/* ---- windows -------------------------------------------------------------------------------- */

/* A lane's cycles in a window, and which resource it is: of two that are alike, the first is
 * more. */
#define CODE(cycles, resource)	((cycles) * 16 + (15 - (resource)))
_Static_assert(PM_BOUNDS_COUNT <= 16, "CODE() has four bits for the resource");

static void most_of(uint32_t *restrict to, const uint32_t *restrict before,
		    const uint32_t *restrict column, unsigned resource)
{
	/* of all windows, whether there are so many or not: the loop's length is known */
	for (size_t w = 0; w < BOUNDS_WINDOWS; w++) {
		const int32_t x = CODE(column[w], resource), b = before[w];

		to[w] = x > b ? x : b;
	}
}

/* Four sums for each resource: none waits for the one before. */
static void add_windows(struct one_core *c, const uint32_t *most, size_t n)
{
	uint64_t sum[4][16] = { { 0 } };

	for (size_t w = 0; w < n; w++)
		sum[w % 4][most[w] % 16] += most[w] / 16;
	for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++)
		for (unsigned k = 0; k < 4; k++)
			c->limited[r] += sum[k][15 - r];
}

/* HOT: once per configuration and window. (4) of bounds.h. What the configuration has in common
 * with the one before is still there. */
static void tell(void *self, size_t n)
{
	static const uint32_t nothing[BOUNDS_WINDOWS];
	struct bounds_sim *s = self;
	const struct bounds_total *lane = s->task->pass->lane;

	for (size_t i = 0; i < s->ncore; i++) {
		struct one_core *c = s->core + i;
		unsigned k = 0;

		while (i && k < PM_BOUNDS_COUNT &&
		       c->lane[s->order[k]] == c[-1].lane[s->order[k]])
			k++;
		for (; k < PM_BOUNDS_COUNT; k++)
			most_of(s->most[k], k ? s->most[k - 1] : nothing,
				lane[c->lane[s->order[k]]].column, s->order[k]);
		add_windows(c, s->most[PM_BOUNDS_COUNT - 1], n);
	}
}

/* Its configurations take part in @w's pass, unless they need too many lanes. */
static bool join(struct bounds_sim *s, struct bounds_task *w)
{
	size_t changes[PM_BOUNDS_COUNT] = { 0 }, before;

	if (w != s->task) {
		leave(s->task);
		s->task = w;
		w->users++;
	}
	before = w->pass->nlane;
	for (size_t i = 0; i < s->ncore; i++) {
		struct one_core *c = s->core + i;

		for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++) {
			c->lane[r] = bounds_lane_of(w->pass, &c->c, r);
			changes[r] += i && c->lane[r] != c[-1].lane[r];
		}
		if (w->pass->nlane - before > LANES_MOST)
			return false;
	}
	for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++) {
		unsigned k = r;

		for (; k && changes[s->order[k - 1]] > changes[r]; k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = r;
	}
	bounds_pass_tell(w->pass, tell, s);
	return true;
}

static void add_to_pass(void *pass, const struct core_insn *op, size_t n,
			const struct core_ref *load, const struct core_ref *store)
{
	bounds_pass_run(pass, op, n, load, store);
}

static enum pm_status begin(struct bounds_sim *s, const char *config, struct pm_err *err)
{
	struct pm_buf core = { 0 };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "bounds", config, err);

	s->window = WINDOW;
	s->task = pm_alloc(sizeof *s->task);
	s->task->users = 1;
	s->task->feed = pm_alloc(sizeof *s->task->feed);
	if (!st)
		st = sort_out(s, &c, &core, err);
	if (!st)
		st = core_configure(s->task->feed, "bounds", (const char *)core.p, err);
	if (!st && s->task->feed->c.regs)
		st = pm_fail_request(err, "bounds: regs is for `core`: bounds knows no physical "
				     "registers");
	if (!st && s->task->feed->c.fdip)
		st = pm_fail_request(err, "bounds: fdip is for `core`: bounds has no front end "
				     "that runs ahead");
	if (!st)
		st = combine(s, &c, err);
	pm_conf_release(&c);
	pm_buf_release(&core);
	if (st)
		return st;
	s->task->pass = bounds_pass_new(s->window);
	if (!join(s, s->task))
		return pm_fail_request(err, "bounds: these configurations limit resources in more "
				       "than %u ways, as many lanes: give several simulators a "
				       "part each", LANES_MOST);
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct bounds_sim *s = pm_alloc(sizeof *s);

	if (begin(s, config, err)) {
		destroy(s);
		return NULL;
	}
	return s;
}

/* ---- several objects ------------------------------------------------------------------------ */

static bool same_feed(const struct bounds_sim *a, const struct bounds_sim *b)
{
	const struct core_sink *x = a->task->feed, *y = b->task->feed;
	struct pm_buf p = { 0 }, q = { 0 };
	bool same;

	/* how long a walk takes depends on latencies */
	if (x->paging_conf.tlb.n &&
	    (x->paging_conf.stlb != y->paging_conf.stlb ||
	     memcmp(x->paging_conf.upper, y->paging_conf.upper,
		    sizeof x->paging_conf.upper) ||
	     memcmp(x->c.lat, y->c.lat, sizeof x->c.lat)))
		return false;
	if (a->window != b->window || x->bp != y->bp || x->bp_args.n != y->bp_args.n ||
	    memcmp(x->bp_args.v, y->bp_args.v, x->bp_args.n * sizeof *x->bp_args.v))
		return false;
	pm_cache_conf_put(&x->cache_conf, &p);
	pm_cache_conf_put(&y->cache_conf, &q);
	pm_cache_conf_put(&x->paging_conf.tlb, &p);
	pm_cache_conf_put(&y->paging_conf.tlb, &q);
	same = p.n == q.n && !memcmp(p.p, q.p, p.n);
	pm_buf_release(&p);
	pm_buf_release(&q);
	return same;
}

static void unite(void *const *self, size_t n, bool *served)
{
	struct bounds_sim *const *s = (struct bounds_sim *const *)self;

	for (size_t i = 0; i < n; i++) {
		if (served[i])
			continue;
		for (size_t k = i + 1; k < n; k++)
			if (!served[k] && same_feed(s[i], s[k])) {
				join(s[k], s[i]->task);	/* has few enough by itself */
				served[k] = true;
			}
	}
}

/* ---- the sink ------------------------------------------------------------------------------- */

static void start(struct bounds_task *w)
{
	if (w->feed->k)
		return;
	core_build(w->feed);
	w->feed->instead = add_to_pass;
	w->feed->whose = w->pass;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct bounds_sim *s = self;

	(void)err;
	start(s->task);
	core_take(s->task->feed, b);
	return PM_OK;
}

/* (5): what all lanes and ports say. */
static void add_up(struct bounds_sim *s)
{
	struct bounds_pass *p = s->task->pass;

	for (size_t i = 0; i < s->ncore; i++) {
		struct one_core *c = s->core + i;

		c->bound = bounds_of_ports(p, &c->c);
		for (unsigned r = 0; r < PM_BOUNDS_COUNT; r++) {
			const uint64_t cycles = p->lane[c->lane[r]].cycles;

			c->estimate += c->limited[r];
			if (resources[r].sure && cycles > c->bound)
				c->bound = cycles;
		}
	}
}

/* The number that limits @resource in @c. */
static uint32_t limit_of(const struct pm_core_conf *c, enum pm_bounds_resource resource)
{
	switch (resource) {
#define LIMIT(name)							\
	case PM_BOUNDS_##name:						\
		return c->name
	LIMIT(rob);
	LIMIT(iq);
	LIMIT(lq);
	LIMIT(sq);
	LIMIT(width);
	LIMIT(fetch);
	LIMIT(alu);
	LIMIT(vec);
	LIMIT(loads);
	LIMIT(stores);
	LIMIT(mshr);
#undef LIMIT
	default:
		return 0;
	}
}

/* Cycles that @share of the windows do not exceed. */
static uint64_t quantile(const struct bounds_total *t, uint64_t windows, double share)
{
	uint64_t n = 0;
	unsigned k = 0;

	for (; k < BOUNDS_BUCKETS - 1; k++) {
		n += t->bucket[k];
		if (n >= share * windows)
			break;
	}
	return bounds_bucket_value(k);
}

/* Those of the trace. A window is of operations, which may be parts of one instruction. */
static uint64_t instructions(const struct bounds_sim *s)
{
	return s->task->pass->batch.ninsn - s->task->feed->continued;
}

static void lane_result(const struct bounds_sim *s, struct pm_result *r, size_t lane,
			enum pm_bounds_resource resource)
{
	const struct bounds_pass *p = s->task->pass;
	const struct bounds_total *t = p->lane + lane;

	pm_result_begin(r, NULL);
	pm_result_u64(r, "cycles", t->cycles, "cycles");
	pm_result_f64(r, "ipc", t->cycles ? (double)instructions(s) / t->cycles : 0,
		      "instructions/cycle");
	pm_result_u64(r, "p10", quantile(t, p->windows, 0.1), "cycles/window");
	pm_result_u64(r, "p50", quantile(t, p->windows, 0.5), "cycles/window");
	pm_result_u64(r, "p90", quantile(t, p->windows, 0.9), "cycles/window");
	pm_result_u64(r, "p99", quantile(t, p->windows, 0.99), "cycles/window");
	pm_result_bool(r, "sure", resources[resource].sure);
	if (resource == PM_BOUNDS_none)
		pm_result_null(r, "limit");
	else
		pm_result_u64(r, "limit", limit_of(&t->c, resource), NULL);
	pm_result_str(r, "resource", resources[resource].name);
	pm_result_end(r);
}

/* Each lane that this object needs, once, by resource and in the order of its configurations. */
static void lanes_result(const struct bounds_sim *s, struct pm_result *r)
{
	bool *told = pm_alloc(s->task->pass->nlane);

	pm_result_begin_list(r, "resources");
	for (unsigned k = 0; k < PM_BOUNDS_COUNT; k++)
		for (size_t i = 0; i < s->ncore; i++) {
			const size_t lane = s->core[i].lane[k];

			if (!told[lane])
				lane_result(s, r, lane, k);
			told[lane] = true;
		}
	pm_result_end(r);
	free(told);
}

struct by_estimate { uint64_t estimate; size_t at; };

static int quickest(const void *a, const void *b)
{
	const struct by_estimate *x = a, *y = b;

	if (x->estimate != y->estimate)
		return x->estimate < y->estimate ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

static void core_result(const struct bounds_sim *s, struct pm_result *r, size_t at)
{
	const struct one_core *c = s->core + at;
	const uint64_t insns = instructions(s);
	unsigned most = 0;

	for (unsigned k = 1; k < PM_BOUNDS_COUNT; k++)
		most = c->limited[k] > c->limited[most] ? k : most;
	pm_result_begin(r, NULL);
	for (size_t k = 0, n = s->ncore; k < s->naxis; k++) {
		uint64_t v;

		n /= s->axis[k].values.n;
		v = strtoull(s->axis[k].values.v[at / n % s->axis[k].values.n], NULL, 10);
		pm_result_u64(r, s->axis[k].name, v, NULL);
	}
	pm_result_u64(r, "estimate", c->estimate, "cycles");
	pm_result_u64(r, "bound", c->bound, "cycles");
	pm_result_f64(r, "ipc", c->estimate ? (double)insns / c->estimate : 0,
		      "instructions/cycle");
	pm_result_f64(r, "share", c->estimate ? (double)c->limited[most] / c->estimate : 0,
		      "of the estimate");
	pm_result_str(r, "mostly", resources[most].name);
	pm_result_end(r);
}

static void cores_result(const struct bounds_sim *s, struct pm_result *r)
{
	struct by_estimate *p = pm_alloc(s->ncore * sizeof *p);

	for (size_t i = 0; i < s->ncore; i++)
		p[i] = (struct by_estimate){ s->core[i].estimate, i };
	if (s->top)
		qsort(p, s->ncore, sizeof *p, quickest);
	pm_result_begin_list(r, "configurations");
	for (size_t i = 0; i < s->ncore && (!s->top || i < s->top); i++)
		core_result(s, r, p[i].at);
	pm_result_end(r);
	free(p);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct bounds_sim *s = self;
	struct bounds_task *w = s->task;

	(void)err;
	start(w);
	core_submit(w->feed);
	bounds_pass_end(w->pass);
	add_up(s);
	if (!r)
		return PM_OK;
	pm_result_begin(r, "bounds");
	pm_result_u64(r, "instructions", instructions(s), "instructions");
	pm_result_u64(r, "window", s->window, "instructions");
	pm_result_u64(r, "windows", w->pass->windows, "windows");
	lanes_result(s, r);
	cores_result(s, r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_uniting_sink_ops pm_sim_bounds = { {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES,
	.flags = PM_SINK_UNITES, .name = "bounds",
	.about = "what each resource alone allows a core: many cores in one pass",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
}, unite };
