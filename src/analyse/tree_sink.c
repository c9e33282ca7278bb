/* SPDX-License-Identifier: MIT */
/* tree_sink.c - the sink `tree`: blocks and chains in, instructions of each context out
 *
 * A *step* is what one chain, or one block, does: so many instructions of one function, and how
 * it ends. It is worked out once. Most steps go on in the function of the one before: all there is
 * to do then is to add. Chains that are of several functions are walked block by block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/names.h"
#include "analyse/tree_work.h"

#define NO_FUNCTION (UINT32_MAX - 1)	/* no step's, not even of one not worked out yet */

enum step_how {
	STEP_ENTRY	= 1 << 0,	/* begins where the function does */
	STEP_SLOW	= 1 << 1,	/* a chain: block by block; a block: by instruction */
	STEP_PLAIN	= 1 << 2,	/* entering its function is nothing special */
};

/* WORDS. All that is to be known of a step unless control comes to another context with it: bits
 * 32..63 function, 0: not worked out yet; 31: what follows is in another context, or may be;
 * 24..30 enum tree_end; 16..23 enum step_how; 0..15 instructions. */
#define WORD_TURNS	(1u << 31)
#define WORD_INSNS(w)	((w) & 0xffff)
#define WORD_HOW(w)	((w) >> 16 & 0xff)
#define WORD_END(w)	((w) >> 24 & 0x7f)
#define WORD_FUNCTION(w) ((uint32_t)((w) >> 32))
#define WORD_OF_SLOW	((uint64_t)UINT32_MAX << 32 | (uint32_t)STEP_SLOW << 16)

/* ... and what is to be known where it does. */
struct tree_span {
	uint64_t pc, next;		/* next: behind the last instruction */
	uint32_t parent, child;		/* where the last call, or jump, in context `parent` led */
};

static inline uint64_t word_of(uint32_t function, uint8_t end, uint8_t how, uint32_t insns)
{
	return (uint64_t)function << 32 | (end >= TREE_CALLS ? WORD_TURNS : 0) |
		(uint32_t)end << 24 | (uint32_t)how << 16 | insns;
}

static void room_for_steps(struct tree_steps *v, size_t n)
{
	if (n <= v->n)
		return;
	n += n / 2 + 1024;
	v->word = pm_realloc(v->word, n * sizeof *v->word);
	v->span = pm_realloc(v->span, n * sizeof *v->span);
	memset(v->word + v->n, 0, (n - v->n) * sizeof *v->word);
	memset(v->span + v->n, 0, (n - v->n) * sizeof *v->span);
	v->n = n;
}

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
		t->root = tree_root_of(s, b->stream);
	if (b->code && (!t->code || t->code->code != b->code))
		t->code = tree_code_of(s, b);
	return t;
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
static uint64_t block_word(struct tree_sink *s, struct tree_code *c, const struct pm_block *b,
			   struct tree_span *span)
{
	const struct pm_insn *in = c->code->insn + b->insn, *last = in + b->n - 1;
	uint64_t hi;
	const struct tree_place p = tree_function_of(&s->functions, &s->raw, c, in, &hi);
	uint8_t how = p.entry ? STEP_ENTRY : 0;

	span->pc = b->pc;
	span->next = last->pc + last->len;
	if (b->n > UINT16_MAX || last->pc >= hi)
		return WORD_OF_SLOW;
	if (p.function != TREE_GENERATED &&
	    !(s->functions.info[p.function].flags & ~TREE_STUB))
		how |= STEP_PLAIN;
	return word_of(p.function, end_of(last->flow), how, b->n);
}

/* Of chain @id. */
static uint64_t chain_word(struct tree_sink *s, struct tree_code *c, uint32_t id)
{
	const struct pm_chain *chain = c->chains.chain + id;
	uint64_t w = 0, of = 0;
	uint32_t insns = 0;

	for (uint32_t i = 0; i < chain->npart; i++) {
		const struct pm_block *b = c->code->block + c->chains.part[chain->part + i].block;
		struct tree_span span;

		if (!b->n)		/* in front of an unknown instruction */
			continue;
		of = block_word(s, c, b, &span);
		if (!w) {
			w = of;
			c->chain.span[id].pc = span.pc;
		}
		insns += WORD_INSNS(of);
		if (WORD_HOW(of) & STEP_SLOW || WORD_FUNCTION(of) != WORD_FUNCTION(w) ||
		    insns > UINT16_MAX || (WORD_END(of) != TREE_GOES_ON && i + 1 < chain->npart))
			return WORD_OF_SLOW;
		c->chain.span[id].next = span.next;
	}
	return w ? word_of(WORD_FUNCTION(w), WORD_END(of), WORD_HOW(w), insns) : WORD_OF_SLOW;
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

/* Where step @from leads in context @parent, if that is @function. */
static inline uint32_t child_by(struct tree_sink *s, struct tree_span *from, uint32_t parent,
				uint32_t function)
{
	if (from->parent != parent || s->raw.node[from->child].function != function) {
		from->child = pm_tree_child(&s->raw, parent, function);
		from->parent = parent;
	}
	return from->child;
}

/* HOT: tree_arrive() where most steps of another function lead: control returns to its innermost
 * caller; one is called; or jumped to. False: none of these. @end: how step @from has ended. */
static inline __attribute__((always_inline)) bool
arrive_soon(struct tree_sink *s, struct tree_thread *t, uint64_t w, const struct tree_span *to,
	    struct tree_span *from, uint8_t end)
{
	const uint32_t function = WORD_FUNCTION(w);
	struct tree_frame *top;
	uint32_t node = t->node;

	if (!t->depth)
		return false;
	top = t->frame + t->depth - 1;
	if (end == TREE_RETURNS) {
		if (top->ret != to->pc || t->depth < 2 || tree_remembers(t, t->depth - 1) ||
		    top[-1].function != function)
			return false;
		t->depth--;
		t->node = top[-1].node;
		t->function = function;
		return true;
	}
	if (!(WORD_HOW(w) & STEP_PLAIN) || t->depth >= t->cap)
		return false;
	if (end == TREE_CALLS) {
		top->node = node;
		top->function = t->function;
		node = child_by(s, from, node, function);
		top[1] = (struct tree_frame){ from->next, node, node, function };
		t->depth++;
	} else {
		const bool is_first = top->first == node;

		if (end == TREE_SIGNALS || (end == TREE_JUMPS && !(WORD_HOW(w) & STEP_ENTRY)))
			return false;
		/* perhaps back to what the call has been through */
		for (uint32_t up = node; up != top->first; ) {
			up = s->raw.node[up].parent;
			if (s->raw.node[up].function == function) {
				t->node = up;
				t->function = function;
				return true;
			}
			if (s->raw.node[up].depth <= s->raw.node[top->first].depth)
				break;
		}
		if (s->functions.info[t->function].flags & TREE_STUB) {
			node = child_by(s, from, s->raw.node[node].parent, function);
			if (is_first)
				top->first = node;
		} else {
			node = child_by(s, from, node, function);
		}
	}
	s->raw.node[node].calls++;
	t->node = node;
	t->function = function;
	return true;
}

/* ... where arrive_soon() does not. */
static __attribute__((noinline)) void arrive_late(struct tree_sink *s, struct tree_thread *t,
						  uint64_t w, const struct tree_span *to,
						  const struct tree_span *from, uint8_t end)
{
	t->end = end;
	t->next = from->next;
	tree_arrive(s, t, to->pc, (struct tree_place){ WORD_FUNCTION(w),
						       WORD_HOW(w) & STEP_ENTRY });
}

static void walk_block(struct tree_sink *s, struct tree_thread *t, uint32_t id, uint64_t n)
{
	struct tree_code *c = t->code;
	const struct pm_block *b;
	uint64_t w;

	if (!c || id >= c->code->nblock || !(b = c->code->block + id)->n || !n)
		return;
	room_for_steps(&c->block, id + 1);
	w = c->block.word[id];
	if (!w)
		w = c->block.word[id] = block_word(s, c, b, &c->block.span[id]);
	if (n < b->n || WORD_HOW(w) & STEP_SLOW) {
		walk_insns(s, t, b, n < b->n ? n : b->n);
		return;
	}
	if (t->function != WORD_FUNCTION(w) || t->end >= TREE_CALLS)
		tree_arrive(s, t, b->pc, (struct tree_place){ WORD_FUNCTION(w),
							       WORD_HOW(w) & STEP_ENTRY });
	s->raw.node[t->node].self += b->n;
	t->end = WORD_END(w);
	t->next = c->block.span[id].next;
}

static __attribute__((noinline)) void walk_chain(struct tree_sink *s, struct tree_thread *t,
						 uint32_t id)
{
	const struct pm_chain *chain = t->code->chains.chain + id;

	for (uint32_t i = 0; i < chain->npart; i++)
		walk_block(s, t, t->code->chains.part[chain->part + i].block, UINT64_MAX);
}

/* Has control been where word @w is, and has nothing led away? */
static inline bool is_there(const struct tree_thread *t, uint64_t w, uint64_t last)
{
	return t->depth && t->function == WORD_FUNCTION(w) && !(last & WORD_TURNS);
}

/* HOT: once per chain that executed. Up to the first of @id that is none; returns how many. */
static size_t walk_chains(struct tree_sink *s, struct tree_thread *t, const uint32_t *id,
			  size_t n)
{
	struct tree_code *const c = t->code;
	const uint64_t *const word = c->chain.word;
	struct tree_span *const span = c->chain.span, before = { .next = t->next };
	uint64_t last = word_of(t->depth ? t->function : NO_FUNCTION, t->end, 0, 0), insns = 0;
	size_t i = 0, first = 0;	/* from first + 1 on id[i - 1] is what executed before */

	for (; i < n && !(id[i] & PM_CHAIN_EVENTS); i++) {
		uint64_t w = word[id[i]];

		if (__builtin_expect((w ^ last) >> 32 || last & WORD_TURNS, 0)) {
			struct tree_span *const from = i > first ? &span[id[i - 1]] : &before;

			s->raw.node[t->node].self += insns;
			insns = 0;
			if (__builtin_expect(!w, 0))
				w = c->chain.word[id[i]] = chain_word(s, c, id[i]);
			if (__builtin_expect(WORD_HOW(w) & STEP_SLOW, 0)) {
				t->end = WORD_END(last);
				t->next = from->next;
				walk_chain(s, t, id[i]);
				before = (struct tree_span){ .next = t->next };
				last = word_of(t->function, t->end, 0, 0);
				first = i + 1;
				continue;
			}
			/* it may be only that its word was not known */
			if (!is_there(t, w, last) &&
			    !arrive_soon(s, t, w, &span[id[i]], from, WORD_END(last)))
				arrive_late(s, t, w, &span[id[i]], from, WORD_END(last));
		}
		insns += WORD_INSNS(w);
		last = w;
	}
	s->raw.node[t->node].self += insns;
	t->end = WORD_END(last);
	t->next = i > first ? span[id[i - 1]].next : before.next;
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
	pthread_mutex_lock(&s->lock);
	events(s, tree_thread_of(s, b), b->ev, b->n);
	pthread_mutex_unlock(&s->lock);
	return PM_OK;
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	struct tree_sink *s = self;
	const struct pm_event *ev = b->ev;
	struct tree_thread *t;
	struct tree_code *c;

	pthread_mutex_lock(&s->lock);
	t = tree_thread_of(s, b);
	c = t->code;
	if (!c) {
		pthread_mutex_unlock(&s->lock);
		return consume(self, b, err);
	}
	c->chains = k->chains;
	room_for_steps(&c->chain, k->chains.n);
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
	pthread_mutex_unlock(&s->lock);
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
		uint64_t most;

		if (flag && it->n)
			return pm_conf_fail(c, it, err, "it has no value");
		if (flag) {
			*flag = true;
		} else if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, value, "functions listed", 1, 1000000, &s->top, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "depth")) {
			if (pm_conf_u64(c, it, value, "contexts", 2, PM_TREE_DEPTH_MOST, &most,
					err))
				return PM_ERR;
			s->max_depth = (uint32_t)most;
		} else if (!strcmp(it->name, "contexts")) {
			if (pm_conf_u64(c, it, value, "contexts", 1, PM_TREE_NODES - 1, &most, err))
				return PM_ERR;
			s->max_nodes = (uint32_t)most + 1;
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					       "contexts, depth, lines, recursion, threads, top");
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
	s->max_nodes = PM_TREE_NODES;
	pthread_mutex_init(&s->lock, NULL);
	if (!st)
		st = configure(s, &c, err);
	pm_conf_release(&c);
	if (st) {
		free(s);
		return NULL;
	}
	pm_tree_init(&s->raw, s->max_depth, s->max_nodes);
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
		free(c->chain.word);
		free(c->chain.span);
		free(c->block.word);
		free(c->block.span);
		free(c->insn);
		free(c);
	}
	for (size_t i = 0; i < s->nthread; i++) {
		free(s->thread[i].frame);
		free(s->thread[i].signal);
		free(s->thread[i].landing);
	}
	tree_grown_release(s);
	pthread_mutex_destroy(&s->lock);
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
		.flags = PM_SINK_BLOCKS | PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS |
			 PM_SINK_NO_ADDRESSES,
		.name = "tree",
		.about = "calling-context tree: instructions of functions by path of calls",
		.create = create, .consume = consume, .finish = finish, .destroy = destroy,
	},
	.packed = packed,
};
