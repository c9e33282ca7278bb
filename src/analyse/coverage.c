/* SPDX-License-Identifier: MIT */
/* coverage.c - the sink: how often each block executed, and where its jump led */
#include <stdlib.h>

#include "analyse/coverage.h"
#include "analyse/coverage_work.h"
#include "trace/expand.h"

struct cover_count {			/* of a block */
	uint64_t whole, taken, fell;
};

struct cover_cut { uint32_t block, done; uint64_t times; };

struct cover_code {			/* what has been counted in a code table */
	const struct pm_code *code;
	struct cover_count *count;	/* by block */
	size_t n;
	struct pm_map cut;		/* block << 32 | done -> times */
	struct pm_map jump;		/* from block << 32 | to block -> times */
};

struct cover_place {			/* where a stream is */
	struct cover_code *code;
	uint32_t block;			/* whose last instruction has executed, and nothing since;
					 * PM_NONE: none */
};

struct cover_sink {
	struct cover_code **code;
	size_t ncode, cap_code;
	struct cover_place *place;	/* by stream */
	size_t nplace;
};

static void *create(const char *config, struct pm_err *err)
{
	if (*config) {
		pm_fail_request(err, "coverage takes no configuration, not '%s'", config);
		return NULL;
	}
	return pm_alloc(sizeof(struct cover_sink));
}

static struct cover_code *code_of(struct cover_sink *s, const struct pm_code *code)
{
	struct cover_code *c;

	for (size_t i = s->ncode; i--; )
		if (s->code[i]->code == code)
			return s->code[i];
	pm_grow(s->code, s->ncode, s->cap_code);
	c = s->code[s->ncode++] = pm_alloc(sizeof *c);
	c->code = code;
	return c;
}

static struct cover_place *place_of(struct cover_sink *s, uint32_t stream)
{
	if (stream >= s->nplace) {
		const size_t n = (size_t)stream + stream / 2 + 16;

		s->place = pm_realloc(s->place, n * sizeof *s->place);
		for (size_t i = s->nplace; i < n; i++)
			s->place[i] = (struct cover_place){ NULL, PM_NONE };
		s->nplace = n;
	}
	return s->place + stream;
}

static void make_room(struct cover_code *c, uint32_t block)
{
	size_t n = c->code->nblock;

	if (block < c->n)
		return;
	n += n / 2 + 1024;
	c->count = pm_realloc(c->count, n * sizeof *c->count);
	memset(c->count + c->n, 0, (n - c->n) * sizeof *c->count);
	c->n = n;
}

/* The block at the place led to @pc, which is block @to of its code, or PM_NONE. */
static inline void arrive(struct cover_place *p, uint64_t pc, uint32_t to)
{
	const struct pm_code *code;
	const struct pm_block *b;
	const struct pm_insn *last;

	if (p->block == PM_NONE)
		return;
	code = p->code->code;
	b = code->block + p->block;
	last = code->insn + b->insn + b->n - 1;
	if (last->flow == PM_CLASS_COND) {
		if (pc == last->pc + last->len)
			p->code->count[p->block].fell++;
		else
			p->code->count[p->block].taken++;
	} else if (last->flow == PM_CLASS_JUMP_IND && to != PM_NONE) {
		++*pm_map_put(&p->code->jump, (uint64_t)p->block << 32 | to, NULL);
	}
	p->block = PM_NONE;
}

/* HOT: once per block that executed. */
static enum pm_status consume(void *self, const struct pm_batch *batch, struct pm_err *err)
{
	struct cover_sink *s = self;
	struct cover_place *p = place_of(s, batch->stream->index);
	struct cover_code *c = p->code;

	if (batch->code && (!c || c->code != batch->code)) {
		p->block = PM_NONE;
		p->code = c = code_of(s, batch->code);
	}
	for (size_t i = 0; i < batch->n; i++) {
		const struct pm_event *e = batch->ev + i;

		switch (e->kind) {
		case PM_EV_BLOCK:
			if (!c || e->id >= c->code->nblock)
				break;
			arrive(p, e->addr, e->id);
			make_room(c, e->id);
			if (e->value >= c->code->block[e->id].n) {
				c->count[e->id].whole++;
				p->block = e->id;
			} else if (e->value) {
				++*pm_map_put(&c->cut, (uint64_t)e->id << 32 | e->value, NULL);
			}
			break;
		case PM_EV_SIGNAL:
			arrive(p, e->addr, PM_NONE);
			break;
		case PM_EV_SIGRETURN:
		case PM_EV_EXEC:
		case PM_EV_EXIT:
		case PM_EV_LOST:
			p->block = PM_NONE;
			break;
		default:
			break;
		}
	}
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	return PM_OK;
}

static void destroy(void *self)
{
	struct cover_sink *s = self;

	if (!s)
		return;
	for (size_t i = 0; i < s->ncode; i++) {
		free(s->code[i]->count);
		pm_map_release(&s->code[i]->cut);
		pm_map_release(&s->code[i]->jump);
		free(s->code[i]);
	}
	free(s->code);
	free(s->place);
	free(s);
}

const struct pm_sink_ops pm_sim_coverage = {
	.abi = PM_ABI, .needs = PM_HAS_BLOCKS, .flags = PM_SINK_BLOCKS | PM_SINK_LIGHT,
	.name = "coverage",
	.about = "which lines, functions and branches ran",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};

/* ---- tables of all processes into one ------------------------------------------------------ */

size_t pm_cover_object_of(struct pm_cover *c, const char *path, const char *build_id,
			  uint64_t base, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_cover_object *x = c->object + i;

		if (!strcmp(x->path, path) && !x->build_id == !build_id &&
		    (!build_id || !strcmp(x->build_id, build_id)))
			return i;
	}
	pm_grow(c->object, c->n, c->cap);
	c->object[c->n] = (struct pm_cover_object){ .path = pm_strdup(path),
		.build_id = build_id ? pm_strdup(build_id) : NULL, .base = base, .lo = lo,
		.hi = hi };
	return c->n++;
}

static struct pm_cover_object *object_of(struct pm_cover *c, const struct pm_object *o)
{
	const size_t i = pm_cover_object_of(c, o->path, o->build_id, o->base, o->lo, o->hi);

	return &c->object[i];		/* it may have moved */
}

struct pm_cover_insn *pm_cover_insn_at(struct pm_cover_object *o, uint64_t addr)
{
	bool fresh;
	uint64_t *at = pm_map_put(&o->at, addr, &fresh);

	if (fresh) {
		*at = o->n;
		pm_grow(o->insn, o->n, o->cap);
		o->insn[o->n++] = (struct pm_cover_insn){ .addr = addr };
	}
	return o->insn + *at;
}

/* The first @n instructions of a block executed @times. */
static void add_block(struct pm_cover *c, const struct pm_code *code, const struct pm_block *b,
		      uint32_t n, const struct cover_count *count)
{
	const struct pm_insn *in = code->insn + b->insn;
	const struct pm_object *from = in->object < code->nobject ? code->object + in->object :
				       NULL;
	struct pm_cover_object *o;
	uint64_t target;

	if (!from || !from->path || from->path[0] != '/' || !n)
		return;
	o = object_of(c, from);
	pm_grow(o->block, o->nblock, o->cap_block);
	o->block[o->nblock++] = (struct pm_cover_block){ b->pc - from->base,
		(uint32_t)(in[n - 1].pc + in[n - 1].len - b->pc) };
	for (uint32_t i = 0; i < n; i++) {
		struct pm_cover_insn *x = pm_cover_insn_at(o, in[i].pc - from->base);

		x->len = in[i].len;
		x->flow = in[i].flow;
		x->count += count->whole;
		if (pm_insn_target(in + i, &target))
			x->target = target - from->base;
		if (i + 1 == b->n) {
			x->taken += count->taken;
			x->fell += count->fell;
		}
	}
}

static void add_code(struct pm_cover *c, const struct cover_code *from)
{
	const struct pm_code *code = from->code;
	uint64_t key, times;

	for (size_t i = 0; i < from->n && i < code->nblock; i++)
		if (from->count[i].whole)
			add_block(c, code, code->block + i, code->block[i].n, from->count + i);
	for (size_t i = 0; pm_map_next(&from->cut, &i, &key, &times); ) {
		const struct cover_count count = { .whole = times };

		add_block(c, code, code->block + (key >> 32), (uint32_t)key, &count);
	}
	for (size_t i = 0; pm_map_next(&from->jump, &i, &key, &times); ) {
		const struct pm_block *b = code->block + (key >> 32);
		const struct pm_insn *last = code->insn + b->insn + b->n - 1;
		const struct pm_object *o = last->object < code->nobject ?
					    code->object + last->object : NULL;
		struct pm_cover_object *to;

		if (!o || !o->path || o->path[0] != '/')
			continue;
		to = object_of(c, o);
		pm_grow(to->jump, to->njump, to->cap_jump);
		to->jump[to->njump++] = (struct pm_cover_jump){ last->pc - o->base,
			code->block[(uint32_t)key].pc - o->base, times };
	}
}

static int by_jump(const void *a, const void *b)
{
	const struct pm_cover_jump *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static int by_block(const void *a, const void *b)
{
	const struct pm_cover_block *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static void tidy(struct pm_cover_object *o)
{
	size_t n = 0;

	if (o->njump)
		qsort(o->jump, o->njump, sizeof *o->jump, by_jump);
	for (size_t i = 0; i < o->njump; i++)
		if (n && !by_jump(o->jump + n - 1, o->jump + i))
			o->jump[n - 1].count += o->jump[i].count;
		else
			o->jump[n++] = o->jump[i];
	o->njump = n;
	n = 0;
	if (o->nblock)
		qsort(o->block, o->nblock, sizeof *o->block, by_block);
	for (size_t i = 0; i < o->nblock; i++)
		if (!n || by_block(o->block + n - 1, o->block + i))
			o->block[n++] = o->block[i];
	o->nblock = n;
}

void pm_cover_tidy(struct pm_cover *c)
{
	for (size_t i = 0; i < c->n; i++)
		tidy(c->object + i);
}

void pm_sim_coverage_of(const void *self, struct pm_cover *c)
{
	const struct cover_sink *s = self;

	*c = (struct pm_cover){ 0 };
	for (size_t i = 0; i < s->ncode; i++)
		add_code(c, s->code[i]);
	pm_cover_tidy(c);
}

void pm_cover_release(struct pm_cover *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct pm_cover_object *o = c->object + i;

		free(o->path);
		free(o->build_id);
		free(o->insn);
		free(o->jump);
		free(o->block);
		pm_map_release(&o->at);
	}
	free(c->object);
	*c = (struct pm_cover){ 0 };
}
