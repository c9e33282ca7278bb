/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/conf.h"
#include "analyse/names.h"
#include "trace/call_stack.h"

struct frame { uint32_t fn, edge; };

struct calls_thread {
	struct pm_call_stack stack;
	struct frame *frame;		/* of each call on the stack */
	size_t cap;
	uint64_t counted;		/* instructions: up to here self is accounted for */
	uint64_t *cost;			/* the meters', so far */
	uint64_t *cost_began;		/* at the beginning of every frame, .n each */
	size_t cap_began;
	struct pm_map active;		/* function -> frames of it on this stack */
	struct pm_map edge_active;
};

struct pm_calls {
	struct pm_map fn_at, edge_at, loop_at;
	struct pm_function_count *fn;
	size_t nfn, cap_fn;
	struct pm_edge_count *edge;
	size_t nedge, cap_edge;
	struct pm_loop_count *loop;
	size_t nloop, cap_loop;
	struct calls_thread *thread;		/* by stream index */
	size_t nthread, cap_thread;
	size_t at;			/* whose events these are */
	struct pm_calls_meter *meter;
	size_t nmeter, cap_meter;
	unsigned ncost;			/* of all meters */
	uint64_t *edge_cost;		/* by id, ncost each */
	size_t cap_edge_cost;
	/* What has happened to the stack since the last piece was fed: late costs belong before
	 * it. */
	struct {
		size_t thread;		/* whose stack: index + 1 */
		size_t low;		/* frames from here on are new */
		uint32_t *edge;		/* that old frames left */
		size_t n, cap;
		uint64_t *cost;
	} last;
};

#define NO_EDGE UINT32_MAX

struct pm_calls *pm_calls_new(void)
{
	return pm_alloc(sizeof(struct pm_calls));
}

void pm_calls_charge(struct pm_calls *c, const struct pm_calls_meter *m)
{
	pm_grow(c->meter, c->nmeter, c->cap_meter);
	c->meter[c->nmeter++] = *m;
	c->ncost += m->n;
	c->last.cost = pm_realloc(c->last.cost, c->ncost * sizeof *c->last.cost);
}

static uint32_t fn_of(struct pm_calls *c, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&c->fn_at, pc, &fresh);

	if (fresh) {
		*at = c->nfn;
		pm_grow(c->fn, c->nfn, c->cap_fn);
		c->fn[c->nfn++] = (struct pm_function_count){ .pc = pc };
	}
	return *at;
}

static uint32_t edge_of(struct pm_calls *c, uint32_t from, uint32_t to)
{
	bool fresh;
	uint64_t *at = pm_map_put(&c->edge_at, (uint64_t)from << 32 | to, &fresh);

	if (fresh) {
		*at = c->nedge;
		pm_grow(c->edge, c->nedge, c->cap_edge);
		c->edge[c->nedge] = (struct pm_edge_count){ .from = c->fn[from].pc,
							    .to = c->fn[to].pc,
							    .id = c->nedge };
		c->nedge++;
		if (c->ncost && c->nedge > c->cap_edge_cost) {
			size_t had = c->cap_edge_cost * c->ncost * sizeof *c->edge_cost;

			c->cap_edge_cost = c->cap_edge;
			c->edge_cost = pm_realloc(c->edge_cost,
						  c->cap_edge * c->ncost * sizeof *c->edge_cost);
			memset((char *)c->edge_cost + had, 0,
			       c->cap_edge * c->ncost * sizeof *c->edge_cost - had);
		}
	}
	return *at;
}

static void account(struct pm_calls *c, struct calls_thread *t, size_t depth)
{
	if (depth)
		c->fn[t->frame[depth - 1].fn].self += t->stack.insns - t->counted;
	t->counted = t->stack.insns;
}

static void call_began(void *ctx, const struct pm_call *call)
{
	struct pm_calls *c = ctx;
	struct calls_thread *t = c->thread + c->at;
	const size_t depth = t->stack.n - 1;
	uint32_t fn = fn_of(c, call->pc), edge = NO_EDGE;

	account(c, t, depth);
	if (depth) {
		edge = edge_of(c, t->frame[depth - 1].fn, fn);
		c->edge[edge].calls++;
		++*pm_map_put(&t->edge_active, edge, NULL);
	}
	c->fn[fn].calls++;
	++*pm_map_put(&t->active, fn, NULL);
	pm_grow(t->frame, depth, t->cap);
	if (c->ncost) {
		if (t->cap_began < t->cap) {
			t->cap_began = t->cap;
			t->cost_began = pm_realloc(t->cost_began,
						   t->cap * c->ncost * sizeof *t->cost_began);
		}
		memcpy(t->cost_began + depth * c->ncost, t->cost, c->ncost * sizeof *t->cost);
	}
	t->frame[depth] = (struct frame){ fn, edge };
}

static void call_ended(void *ctx, const struct pm_call *call)
{
	struct pm_calls *c = ctx;
	struct calls_thread *t = c->thread + c->at;
	const size_t depth = t->stack.n;
	const struct frame *f = t->frame + depth;
	uint32_t left = NO_EDGE;

	account(c, t, depth + 1);
	/* recursion: only the outermost frame's time is the function's */
	if (--*pm_map_get(&t->active, f->fn) == 0)
		c->fn[f->fn].inclusive += t->stack.insns - call->insns;
	if (f->edge != NO_EDGE && --*pm_map_get(&t->edge_active, f->edge) == 0) {
		c->edge[f->edge].inclusive += t->stack.insns - call->insns;
		for (size_t k = 0; k < c->ncost; k++)
			c->edge_cost[f->edge * c->ncost + k] +=
				t->cost[k] - t->cost_began[depth * c->ncost + k];
		left = f->edge;
	}
	if (c->ncost && c->last.thread == c->at + 1 && depth < c->last.low) {
		c->last.low = depth;
		if (left != NO_EDGE) {
			pm_grow(c->last.edge, c->last.n, c->last.cap);
			c->last.edge[c->last.n++] = left;
		}
	}
}

static struct calls_thread *thread_of(struct pm_calls *c, uint32_t index)
{
	while (c->nthread <= index) {
		pm_grow(c->thread, c->nthread, c->cap_thread);
		c->thread[c->nthread++] = (struct calls_thread){
			.stack.began = call_began, .stack.ended = call_ended, .stack.ctx = c,
		};
	}
	c->at = index;
	return c->thread + index;
}

static void count_loop(struct pm_calls *c, const struct pm_event *e)
{
	bool fresh;
	uint64_t *at;

	if (e->flags & (PM_BR_CALL | PM_BR_RET | PM_BR_INDIRECT) || e->value > e->addr)
		return;
	at = pm_map_put(&c->loop_at, e->addr, &fresh);
	if (fresh) {
		*at = c->nloop;
		pm_grow(c->loop, c->nloop, c->cap_loop);
		c->loop[c->nloop++] = (struct pm_loop_count){ .head = e->value, .tail = e->addr };
	}
	*(e->flags & PM_BR_TAKEN ? &c->loop[*at].back : &c->loop[*at].leave) += 1;
}

/* The costs @v[.n] from column @first on belong to where the last piece came from, as its stack
 * was. */
static void add_late(struct pm_calls *c, unsigned first, unsigned n, const uint64_t *v)
{
	struct calls_thread *t = c->thread + c->last.thread - 1;

	if (!c->last.thread)
		return;
	for (unsigned k = 0; k < n; k++) {
		t->cost[first + k] += v[k];
		for (size_t d = c->last.low; d < t->stack.n; d++)
			t->cost_began[d * c->ncost + first + k] += v[k];
		for (size_t i = 0; i < c->last.n; i++)
			c->edge_cost[c->last.edge[i] * c->ncost + first + k] += v[k];
	}
}

static void feed_piece(struct pm_calls *c, struct calls_thread *t, const struct pm_batch *piece,
		       bool over)
{
	unsigned first = 0;

	for (size_t i = 0; i < c->nmeter; first += c->meter[i++].n) {
		uint64_t *late = c->last.cost;

		memset(late, 0, c->meter[i].n * sizeof *late);
		if (c->meter[i].feed(c->meter[i].self, piece, over, t->cost + first, late))
			add_late(c, first, c->meter[i].n, late);
	}
	c->last.thread = t - c->thread + 1;
	c->last.low = t->stack.n;
	c->last.n = 0;
}

/* The events from *@from up to @upto cost what they cost. */
static void feed(struct pm_calls *c, struct calls_thread *t, const struct pm_batch *b,
		 const struct pm_event **from, const struct pm_event *upto, bool over)
{
	struct pm_batch piece = *b;

	if (!c->ncost || *from == upto)
		return;
	piece.ev = *from;
	piece.n = upto - *from;
	*from = upto;
	feed_piece(c, t, &piece, over);
}

void pm_calls_batch(struct pm_calls *c, const struct pm_batch *b)
{
	struct calls_thread *t = thread_of(c, b->stream ? b->stream->index : 0);
	const struct pm_event *from = b->ev, *end = b->ev + b->n;

	if (c->ncost && !t->cost)
		t->cost = pm_alloc(c->ncost * sizeof *t->cost);
	for (const struct pm_event *e = b->ev; e < end; e++) {
		if (e->kind == PM_EV_EXIT)	/* calls end with the stream: late costs follow */
			continue;
		if (e->kind == PM_EV_BRANCH) {
			/* a call is the caller's cost, a return the callee's */
			if (e->flags & (PM_BR_CALL | PM_BR_RET))
				feed(c, t, b, &from, e + 1, true);
			else if (t->stack.n)
				count_loop(c, e);
		} else if (pm_call_stack_may_change(&t->stack, e)) {
			feed(c, t, b, &from, e, true);
		}
		pm_call_stack_event(&t->stack, b, e, 0);
	}
	feed(c, t, b, &from, end, false);
}

void pm_calls_end(struct pm_calls *c)
{
	/* no instruction goes on */
	if (c->last.thread)
		feed_piece(c, c->thread + c->last.thread - 1, &(struct pm_batch){ 0 }, true);
	for (c->at = 0; c->at < c->nthread; c->at++)
		pm_call_stack_end(&c->thread[c->at].stack);
}

const struct pm_function_count *pm_calls_functions(const struct pm_calls *c, size_t *n)
{
	*n = c->nfn;
	return c->fn;
}

const struct pm_edge_count *pm_calls_edges(const struct pm_calls *c, size_t *n)
{
	*n = c->nedge;
	return c->edge;
}

const uint64_t *pm_calls_edge_costs(const struct pm_calls *c, const struct pm_edge_count *e)
{
	return c->ncost ? c->edge_cost + (size_t)e->id * c->ncost : NULL;
}

const struct pm_loop_count *pm_calls_loops(const struct pm_calls *c, size_t *n)
{
	*n = c->nloop;
	return c->loop;
}

void pm_calls_free(struct pm_calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nthread; i++) {
		pm_call_stack_release(&c->thread[i].stack);
		free(c->thread[i].frame);
		free(c->thread[i].cost);
		free(c->thread[i].cost_began);
		pm_map_release(&c->thread[i].active);
		pm_map_release(&c->thread[i].edge_active);
	}
	free(c->thread);
	free(c->fn);
	free(c->edge);
	free(c->edge_cost);
	free(c->meter);
	free(c->last.edge);
	free(c->last.cost);
	free(c->loop);
	pm_map_release(&c->fn_at);
	pm_map_release(&c->edge_at);
	pm_map_release(&c->loop_at);
	free(c);
}

/* ---- the sink ------------------------------------------------------------------------------- */

struct calls_sink { struct pm_calls *c; struct pm_names names; uint64_t top; };

static void *create(const char *config, struct pm_err *err)
{
	struct calls_sink *s = pm_alloc(sizeof *s);
	const struct pm_conf_key keys[] = {
		{ "top", &s->top, 1, 1000000, false, "entries listed" },
		{ 0 }
	};

	s->top = 20;
	if (pm_conf_keys("calls", config, keys, err)) {
		free(s);
		return NULL;
	}
	s->c = pm_calls_new();
	return s;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct calls_sink *s = self;

	pm_names_learn(&s->names, b->code);
	pm_calls_batch(s->c, b);
	return PM_OK;
}

static int by_self(const void *a, const void *b)
{
	const struct pm_function_count *x = a, *y = b;

	return x->self != y->self ? (x->self < y->self ? 1 : -1)
	       : x->pc < y->pc	  ? -1
				  : x->pc > y->pc;
}

static int by_inclusive(const void *a, const void *b)
{
	const struct pm_edge_count *x = a, *y = b;

	return x->inclusive != y->inclusive ? (x->inclusive < y->inclusive ? 1 : -1)
	       : x->from != y->from	    ? (x->from < y->from ? -1 : 1)
	       : x->to < y->to		    ? -1
					    : x->to > y->to;
}

static int by_back(const void *a, const void *b)
{
	const struct pm_loop_count *x = a, *y = b;

	return x->back != y->back  ? (x->back < y->back ? 1 : -1)
	       : x->tail < y->tail ? -1
				   : x->tail > y->tail;
}

const struct pm_calls *pm_sim_calls_graph(const void *self)
{
	return ((const struct calls_sink *)self)->c;
}

void pm_sim_calls_charge(void *self, const struct pm_calls_meter *m)
{
	pm_calls_charge(((struct calls_sink *)self)->c, m);
}

struct pm_names *pm_calls_names(void *self)
{
	return &((struct calls_sink *)self)->names;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct calls_sink *s = self;
	struct pm_calls *c = s->c;

	pm_calls_end(c);
	if (!r)
		return PM_OK;
	if (c->nfn)
		qsort(c->fn, c->nfn, sizeof *c->fn, by_self);
	if (c->nedge)
		qsort(c->edge, c->nedge, sizeof *c->edge, by_inclusive);
	if (c->nloop)
		qsort(c->loop, c->nloop, sizeof *c->loop, by_back);
	pm_result_begin(r, "calls");
	pm_result_u64(r, "functions", c->nfn, "functions");
	pm_result_u64(r, "edges", c->nedge, "pairs of caller and callee");
	pm_result_u64(r, "loops", c->nloop, "backward branches");
	pm_result_begin_list(r, "by_self");
	for (size_t i = 0; i < c->nfn && i < s->top; i++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "self", c->fn[i].self, "instructions");
		pm_result_u64(r, "inclusive", c->fn[i].inclusive, "instructions");
		pm_result_u64(r, "calls", c->fn[i].calls, "calls");
		pm_names_put(&s->names, r, "function", c->fn[i].pc);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "by_edge");
	for (size_t i = 0; i < c->nedge && i < s->top; i++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "inclusive", c->edge[i].inclusive, "instructions");
		pm_result_u64(r, "calls", c->edge[i].calls, "calls");
		pm_names_put(&s->names, r, "caller", c->edge[i].from);
		pm_names_put(&s->names, r, "callee", c->edge[i].to);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "by_loop");
	for (size_t i = 0; i < c->nloop && i < s->top; i++) {
		const struct pm_loop_count *l = c->loop + i;

		pm_result_begin(r, NULL);
		pm_result_u64(r, "iterations", l->back + l->leave, "times");
		if (l->leave)
			pm_result_f64(r, "mean_trips", (double)(l->back + l->leave) / l->leave,
				      "iterations/entry");
		else	/* it was left elsewhere: by another branch */
			pm_result_null(r, "mean_trips");
		pm_names_put(&s->names, r, "from", l->head);
		pm_names_put(&s->names, r, "to", l->tail);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static void destroy(void *self)
{
	struct calls_sink *s = self;

	if (!s)
		return;
	pm_calls_free(s->c);
	pm_names_release(&s->names);
	free(s);
}

const struct pm_sink_ops pm_sim_calls = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_BRANCHES, .name = "calls",
	.about = "functions, call graph with inclusive counts, loops",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
