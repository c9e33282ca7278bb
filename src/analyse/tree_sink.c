/* SPDX-License-Identifier: MIT */
/* tree_sink.c - the sink `tree`: blocks and chains in, instructions of each context out
 *
 * A *step* is what one chain, or one block, does: so many instructions of one function, and how
 * it ends. It is worked out once. Most steps go on in the function of the one before: all there is
 * to do then is to add. Chains that do more are walked block by block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/names.h"
#include "analyse/tree_work.h"

#define NO_FUNCTION (UINT32_MAX - 1)	/* no step's, not even of one not worked out yet */
#define AHEAD 12			/* chains: their steps are fetched so far ahead */

struct tree_step {
	uint32_t function;		/* 0: not worked out yet */
	uint16_t insns;
	uint8_t end;			/* enum tree_end */
	uint8_t how;			/* enum step_how */
	uint64_t pc;
};

enum step_how {
	STEP_ENTRY	= 1 << 0,	/* begins where the function does */
	STEP_SLOW	= 1 << 1,	/* a chain: block by block; a block: by instruction */
	STEP_PLAIN	= 1 << 2,	/* entering its function is nothing special */
};

/* ---- where a batch belongs ------------------------------------------------------------------- */
struct tree_code *tree_code_of(struct tree_sink *s, const struct pm_batch *b)
{
	struct tree_code *c;

	for (size_t i = s->ncode; i--; )
		if (s->code[i]->code == b->code)
			return s->code[i];
	pm_grow(s->code, s->ncode, s->cap_code);
	c = s->code[s->ncode++] = pm_alloc(sizeof *c);
	c->code = b->code;
	c->pid = b->stream ? b->stream->pid : 0;
	return c;
}

/* Streams that have a name of their own are called that. */
static uint32_t root_of(struct tree_sink *s, const struct pm_stream *stream)
{
	char name[300];

	if (!s->by_thread)
		return 0;
	if (stream && stream->name && *stream->name)
		snprintf(name, sizeof name, "%.250s %u", stream->name, stream->tid);
	else
		snprintf(name, sizeof name, "thread %u", stream && stream->tid ? stream->tid :
			 stream ? stream->index : 0);
	return pm_tree_child(&s->raw, 0, tree_named(&s->functions, &s->raw, name, 0));
}

struct tree_thread *tree_thread_of(struct tree_sink *s, const struct pm_batch *b)
{
	const uint32_t i = b->stream ? b->stream->index : 0;
	struct tree_thread *t;

	if (i >= s->nthread) {
		const size_t n = (size_t)i + i / 2 + 16;

		s->thread = pm_realloc(s->thread, n * sizeof *s->thread);
		memset(s->thread + s->nthread, 0, (n - s->nthread) * sizeof *s->thread);
		s->nthread = n;
	}
	t = s->thread + i;
	if (!t->root && s->by_thread)
		t->root = root_of(s, b->stream);
	if (b->code && (!t->code || t->code->code != b->code))
		t->code = tree_code_of(s, b);
	return t;
}

static struct tree_step *room_for(struct tree_step *v, size_t had, size_t n)
{
	v = pm_realloc(v, n * sizeof *v);
	memset(v + had, 0, (n - had) * sizeof *v);
	return v;
}

/* ---- steps ----------------------------------------------------------------------------------- */
static uint8_t end_of(uint8_t flow)
{
	switch (flow) {
	case PM_CLASS_CALL:
	case PM_CLASS_CALL_IND:
		return TREE_CALLS;
	case PM_CLASS_RET:
		return TREE_RETURNS;
	case PM_CLASS_JUMP_IND:
		return TREE_JUMPS;
	}
	return TREE_GOES_ON;
}

/* Of block @b, if all of it executes. */
static struct tree_step block_step(struct tree_sink *s, struct tree_code *c,
				   const struct pm_block *b)
{
	const struct pm_insn *in = c->code->insn + b->insn, *last = in + b->n - 1;
	struct tree_step step = { 0 };
	uint64_t hi;
	const struct tree_place p = tree_function_of(&s->functions, &s->raw, c, in, &hi);

	step.function = p.function;
	step.how = p.entry ? STEP_ENTRY : 0;
	if (p.function != TREE_GENERATED &&
	    !(s->functions.info[p.function].flags & ~TREE_STUB))
		step.how |= STEP_PLAIN;
	step.insns = (uint16_t)b->n;
	step.end = end_of(last->flow);
	step.pc = b->pc;
	if (b->n > UINT16_MAX || last->pc >= hi)
		step.how |= STEP_SLOW;
	return step;
}

/* Of chain @id. */
static struct tree_step chain_step(struct tree_sink *s, struct tree_code *c, uint32_t id)
{
	const struct pm_chain *chain = c->chains.chain + id;
	struct tree_step step = { 0 };
	uint32_t insns = 0;
	bool slow = !chain->npart;

	for (uint32_t i = 0; i < chain->npart && !slow; i++) {
		const struct pm_block *b = c->code->block + c->chains.part[chain->part + i].block;
		const struct tree_step of = block_step(s, c, b);
		const struct pm_insn *last = c->code->insn + b->insn + b->n - 1;

		if (!i)
			step = of;
		slow = of.how & STEP_SLOW || of.function != step.function ||
			(of.end != TREE_GOES_ON && i + 1 < chain->npart);
		insns += b->n;
		step.end = of.end;
		c->chain_next[id] = last->pc + last->len;
	}
	step.insns = (uint16_t)insns;
	if (slow || insns > UINT16_MAX)
		step = (struct tree_step){ .function = UINT32_MAX, .how = STEP_SLOW };
	return step;
}

/* ---- counting -------------------------------------------------------------------------------- */
/* The first @n instructions of @b execute. */
static void walk_insns(struct tree_sink *s, struct tree_thread *t, const struct pm_block *b,
		       uint64_t n)
{
	const struct pm_insn *in = t->code->code->insn + b->insn;

	for (uint64_t i = 0; i < n; i++, in++) {
		const struct tree_place p = tree_function_of(&s->functions, &s->raw, t->code, in,
							     NULL);

		if (!i || p.function != t->function)
			tree_arrive(s, t, in->pc, p);
		s->raw.node[t->node].self++;
	}
	t->end = n == b->n ? end_of(in[-1].flow) : TREE_GOES_ON;
	t->next = in[-1].pc + in[-1].len;
}

static void walk_block(struct tree_sink *s, struct tree_thread *t, uint32_t id, uint64_t n)
{
	struct tree_code *c = t->code;
	const struct pm_block *b;
	struct tree_step *step;

	if (!c || id >= c->code->nblock || !(b = c->code->block + id)->n || !n)
		return;
	if (id >= c->nblock) {
		const size_t want = c->code->nblock + c->code->nblock / 2 + 1024;

		c->block = room_for(c->block, c->nblock, want);
		c->nblock = want;
	}
	step = c->block + id;
	if (!step->function)
		*step = block_step(s, c, b);
	if (n < b->n || step->how & STEP_SLOW) {
		walk_insns(s, t, b, n < b->n ? n : b->n);
		return;
	}
	if (t->function != step->function || t->end >= TREE_CALLS)
		tree_arrive(s, t, b->pc, (struct tree_place){ step->function,
							       step->how & STEP_ENTRY });
	s->raw.node[t->node].self += b->n;
	t->end = step->end;
	t->next = c->code->insn[b->insn + b->n - 1].pc + c->code->insn[b->insn + b->n - 1].len;
}

static void walk_chain(struct tree_sink *s, struct tree_thread *t, uint32_t id)
{
	const struct pm_chain *chain = t->code->chains.chain + id;

	for (uint32_t i = 0; i < chain->npart; i++)
		walk_block(s, t, t->code->chains.part[chain->part + i].block, UINT64_MAX);
}

/* What is not simply a call, or a return to who called. */
static __attribute__((noinline)) void arrive_at_chain(struct tree_sink *s, struct tree_thread *t,
						      uint32_t id)
{
	struct tree_step *step = t->code->chain + id;

	if (!step->function)
		*step = chain_step(s, t->code, id);
	if (step->how & STEP_SLOW)
		walk_chain(s, t, id);
	else if (t->function != step->function || t->end >= TREE_CALLS)
		tree_arrive(s, t, step->pc, (struct tree_place){ step->function,
								 step->how & STEP_ENTRY });
}

/* Behind chain @last, PM_NONE: behind what executed before any chain. */
static inline uint64_t next_of(const struct tree_thread *t, uint32_t last)
{
	return last != PM_NONE ? t->code->chain_next[last] : t->next;
}

/* HOT: tree_arrive() where most chains of another function lead: one is called, or jumped to from
 * where the call before led; or control returns to its innermost caller. False: none of these. */
static inline bool arrive_soon(struct tree_sink *s, struct tree_thread *t,
			       const struct tree_step *step, uint8_t end, uint32_t last)
{
	struct tree_frame *top = t->frame + t->depth - 1;
	uint32_t node;

	if (end == TREE_RETURNS) {
		if (top->ret != step->pc || t->depth < 2 || tree_remembers(t, t->depth - 1) ||
		    top[-1].function != step->function)
			return false;
		t->depth--;
		t->node = top[-1].node;
		t->function = step->function;
		return true;
	}
	if (!(step->how & STEP_PLAIN) || t->depth >= t->cap)
		return false;
	if (end == TREE_CALLS) {
		top->node = t->node;
		top->function = t->function;
		node = pm_tree_child(&s->raw, t->node, step->function);
		top[1] = (struct tree_frame){ next_of(t, last), node, node, step->function };
		t->depth++;
	} else {
		if (end == TREE_SIGNALS || (end == TREE_JUMPS && !(step->how & STEP_ENTRY)))
			return false;
		if (top->first != t->node) {
			if (s->raw.node[top->first].function != step->function)
				return false;
			t->node = top->first;
			t->function = step->function;
			return true;
		}
		if (s->functions.info[t->function].flags & TREE_STUB)
			top->first = node = pm_tree_child(&s->raw, s->raw.node[t->node].parent,
							  step->function);
		else
			node = pm_tree_child(&s->raw, t->node, step->function);
	}
	s->raw.node[node].calls++;
	t->node = node;
	t->function = step->function;
	return true;
}

/* HOT: once per chain that executed. Up to the first of @id that is none; returns how many. */
static size_t walk_chains(struct tree_sink *s, struct tree_thread *t, const uint32_t *id,
			  size_t n)
{
	const struct tree_step *const steps = t->code->chain;
	uint32_t function = t->depth ? t->function : NO_FUNCTION, last = PM_NONE;
	uint64_t insns = 0;
	uint8_t end = t->end;
	size_t i = 0;

	for (; i < n && !(id[i] & PM_CHAIN_EVENTS); i++) {
		const struct tree_step *step = steps + id[i];

		/* whatever it is: where nothing is to be had, nothing is fetched */
		if (i + AHEAD < n)
			__builtin_prefetch(steps + (id[i + AHEAD] & ~PM_CHAIN_EVENTS));
		if (__builtin_expect(step->function != function || end >= TREE_CALLS, 0)) {
			s->raw.node[t->node].self += insns;
			insns = 0;
			if (!step->function || !t->depth ||
			    !arrive_soon(s, t, step, end, last)) {
				t->end = end;
				t->next = next_of(t, last);
				arrive_at_chain(s, t, id[i]);
			}
			function = t->function;
			if (step->how & STEP_SLOW) {
				end = t->end;
				last = PM_NONE;
				continue;
			}
		}
		insns += step->insns;
		end = step->end;
		last = id[i];
	}
	s->raw.node[t->node].self += insns;
	t->end = end;
	t->next = next_of(t, last);
	return i;
}

void tree_other_event(struct tree_thread *t, const struct pm_event *ev)
{
	switch (ev->kind) {
	case PM_EV_SIGNAL:
		tree_signal(t, ev->addr);
		break;
	case PM_EV_SIGRETURN:
		tree_sigreturn(t, ev->addr);
		break;
	case PM_EV_PROCESS:
	case PM_EV_EXEC:
	case PM_EV_EXIT:
		tree_begin_anew(t);
		break;
	case PM_EV_LOST:
		t->end = TREE_JUMPS;
		break;
	}
}

static void events(struct tree_sink *s, struct tree_thread *t, const struct pm_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++, ev++)
		if (ev->kind == PM_EV_BLOCK)
			walk_block(s, t, ev->id, ev->value);
		else
			tree_other_event(t, ev);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct tree_sink *s = self;

	(void)err;
	events(s, tree_thread_of(s, b), b->ev, b->n);
	return PM_OK;
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	struct tree_sink *s = self;
	struct tree_thread *t = tree_thread_of(s, b);
	const struct pm_event *ev = b->ev;
	struct tree_code *c = t->code;

	if (!c)
		return consume(self, b, err);
	c->chains = k->chains;
	if (k->chains.n > c->nchain) {
		const size_t n = (size_t)k->chains.n + k->chains.n / 2 + 1024;

		c->chain = room_for(c->chain, c->nchain, n);
		c->chain_next = pm_realloc(c->chain_next, n * sizeof *c->chain_next);
		c->nchain = n;
	}
	for (size_t i = 0; i < k->n; ) {
		const uint32_t id = k->id[i];

		if (id & PM_CHAIN_EVENTS) {
			events(s, t, ev, id & ~PM_CHAIN_EVENTS);
			ev += id & ~PM_CHAIN_EVENTS;
			i++;
		} else {
			i += walk_chains(s, t, k->id + i, k->n - i);
		}
	}
	return PM_OK;
}

/* ---- the sink -------------------------------------------------------------------------------- */
static enum pm_status configure(struct tree_sink *s, const struct pm_conf *c, struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *value = it->n == 1 ? it->field[0].key : "";
		bool *flag = !strcmp(it->name, "threads") ? &s->by_thread :
			!strcmp(it->name, "lines") ? &s->lines :
			!strcmp(it->name, "recursion") ? &s->recursion : NULL;
		uint64_t depth;

		if (flag && it->n)
			return pm_conf_fail(c, it, err, "it has no value");
		if (flag) {
			*flag = true;
		} else if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, value, "functions listed", 1, 1000000, &s->top, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "depth")) {
			if (pm_conf_u64(c, it, value, "contexts", 2, 100000, &depth, err))
				return PM_ERR;
			s->max_depth = (uint32_t)depth;
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					       "depth, lines, recursion, threads, top");
		}
	}
	return PM_OK;
}

struct tree_sink *tree_sink_new(const char *config, struct pm_err *err)
{
	struct tree_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "tree", config, err);

	s->top = 20;
	s->max_depth = PM_TREE_DEPTH;
	if (!st)
		st = configure(s, &c, err);
	pm_conf_release(&c);
	if (st) {
		free(s);
		return NULL;
	}
	pm_tree_init(&s->raw, s->max_depth, PM_TREE_NODES);
	tree_functions_init(&s->functions, &s->raw);
	return s;
}

static void *create(const char *config, struct pm_err *err)
{
	return tree_sink_new(config, err);
}

static void put_result(const struct tree_sink *s, struct pm_result *r)
{
	const struct pm_tree *t = &s->tree;
	struct pm_tree_sum *row = pm_tree_functions(t);
	uint32_t deepest = 0;
	size_t used = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->node[i].depth > deepest)
			deepest = t->node[i].depth;
	pm_tree_sort_functions(row, t->nfunction);
	while (used < t->nfunction && row[used].inclusive)
		used++;
	pm_result_begin(r, "tree");
	pm_result_u64(r, "contexts", t->n - 1, "functions on paths of calls");
	pm_result_u64(r, "deepest", deepest, "functions");
	pm_result_u64(r, "functions", used, "functions");
	pm_result_begin_list(r, "by_function");
	for (size_t i = 0; i < used && i < s->top; i++) {
		const struct pm_tree_function *f = t->function + row[i].function;

		pm_result_begin(r, NULL);
		pm_result_u64(r, "inclusive", row[i].inclusive, "instructions");
		pm_result_u64(r, "self", row[i].self, "instructions");
		pm_result_u64(r, "calls", row[i].calls, "calls");
		pm_result_str(r, "function", f->name);
		pm_result_str(r, "object", f->object ? f->object : "");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	free(row);
}

enum pm_status tree_sink_finish(struct tree_sink *s, struct pm_result *r)
{
	tree_functions_name(&s->functions, &s->raw, s->lines, s->recursion, &s->tree);
	if (r)
		put_result(s, r);
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	(void)err;
	return tree_sink_finish(self, r);
}

void tree_sink_free(struct tree_sink *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->ncode; i++) {
		struct tree_code *c = s->code[i];

		free(c->object);
		pm_map_release(&c->generated);
		free(c->chain);
		free(c->block);
		free(c->chain_next);
		free(c->insn);
		free(c);
	}
	for (size_t i = 0; i < s->nthread; i++) {
		free(s->thread[i].frame);
		free(s->thread[i].signal);
		free(s->thread[i].landing);
	}
	free(s->code);
	free(s->thread);
	free(s->meter);
	free(s->last.late);
	if (s->names)
		pm_names_release(s->names);
	free(s->names);
	tree_functions_release(&s->functions);
	pm_tree_release(&s->raw);
	pm_tree_release(&s->tree);
	free(s);
}

static void destroy(void *self)
{
	tree_sink_free(self);
}

const struct pm_tree *pm_sim_tree_of(const void *self)
{
	return &((const struct tree_sink *)self)->tree;
}

const struct pm_tree *pm_sim_tree_growing(const void *self)
{
	return &((const struct tree_sink *)self)->raw;
}

const struct pm_chain_sink_ops pm_sim_tree = {
	.ops = {
		.abi = PM_ABI, .needs = PM_HAS_BLOCKS,
		.flags = PM_SINK_BLOCKS | PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS,
		.name = "tree",
		.about = "calling-context tree: each function's instructions on each path of calls",
		.create = create, .consume = consume, .finish = finish, .destroy = destroy,
	},
	.packed = packed,
};
