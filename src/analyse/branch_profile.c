/* SPDX-License-Identifier: MIT */
/* branch_profile.c - the sink: which chain, or block, followed which, and how often
 *
 * A *node* is a chain of packed batches or, elsewhere, a block: its number with 1 added, in blocks
 * with the highest bit set; 0 is none. A *hop* is from node to node. All that is counted are hops:
 * what happens inside of a node is known, and how often it ran is the sum of the hops to it. Two
 * followers of each node are counted beside it, which is all that most have; others in a table.
 *
 * What the kernel does - signals, their handlers' returns, exec - is no branch. Nothing hops there:
 * the next node follows none.
 *
 * A trace that several replays have made changes to another code table in the middle of a stream,
 * at a *seam*. The first node there follows the last one of the table before. */
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_predict.h"
#include "analyse/branch_work.h"
#include "analyse/conf.h"

#define BLOCK_NODE	0x80000000u

struct hops {				/* of a node */
	uint64_t n[2];
	uint32_t to[2];			/* nodes; 0: none yet */
};

struct more_hops {			/* 0: no such hop */
	uint64_t key, n;		/* from << 32 | to */
};

struct cut {				/* a block of which @done instructions executed */
	uint32_t block, done;
};

struct loose {				/* what followed was no node, but the kernel */
	uint64_t pc;
	uint32_t from;
};

struct seam {				/* from a node of this table to one of another */
	uint32_t from, to;
	struct branch_code *code;
	bool missed;			/* it was predicted wrong */
};

struct branch_code {			/* what has been counted in a code table */
	const struct pm_code *code;
	struct pm_chains chains;
	struct hops *chain, *block;
	size_t nchain, nblock;
	struct hops none;		/* from nowhere */
	struct more_hops *more;
	size_t nmore, mask;
	struct cut *cut;
	size_t ncut, cap_cut;
	struct loose *loose;
	size_t nloose, cap_loose;
	struct seam *seam;
	size_t nseam, cap_seam;
	struct pm_map missed;		/* hops that were predicted wrong; only then */
	struct pm_map missed_inside;	/* node << 32 | part */
};

struct branch_place {			/* where a stream is */
	struct branch_code *code, *before;
	uint32_t node, node_before;	/* the latter in the table before, until a node follows */
	struct branch_predictor *predictor;	/* NULL: nobody predicts */
};

struct branch_sink {
	struct branch_code **code;
	size_t ncode, cap_code;
	struct branch_place *place;		/* by stream */
	size_t nplace;
	bool predicts;
	uint32_t first_pid;
	struct pm_branches out;
};

/* ---- counting -------------------------------------------------------------------------------- */
static struct branch_code *code_of(struct branch_sink *s, const struct pm_code *code)
{
	struct branch_code *c;

	for (size_t i = s->ncode; i--; )
		if (s->code[i]->code == code)
			return s->code[i];
	pm_grow(s->code, s->ncode, s->cap_code);
	c = s->code[s->ncode++] = pm_alloc(sizeof *c);
	c->code = code;
	return c;
}

static struct hops *room_for(struct hops *v, size_t *n, size_t want)
{
	const size_t more = want + want / 2 + 1024;

	if (want <= *n)
		return v;
	v = pm_realloc(v, more * sizeof *v);
	memset(v + *n, 0, (more - *n) * sizeof *v);
	*n = more;
	return v;
}

static struct hops *hops_of(struct branch_code *c, uint32_t node)
{
	if (!node)
		return &c->none;
	return node & BLOCK_NODE ? &c->block[(node & ~BLOCK_NODE) - 1] : &c->chain[node - 1];
}

static size_t place_of_key(const struct more_hops *v, size_t mask, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & mask;

	while (v[i].n && v[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static void grow_more(struct branch_code *c)
{
	const size_t n = c->more ? c->mask + 1 : 0, mask = n ? 2 * n - 1 : 1023;
	struct more_hops *v = pm_alloc((mask + 1) * sizeof *v);

	for (size_t i = 0; i < n; i++)
		if (c->more[i].n)
			v[place_of_key(v, mask, c->more[i].key)] = c->more[i];
	free(c->more);
	c->more = v;
	c->mask = mask;
}

/* Not inlined: the loops that call it stay short. */
static __attribute__((noinline)) void other_hop(struct branch_code *c, struct hops *h,
						uint32_t from, uint32_t to)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	size_t i;

	for (i = 0; i < NR(h->to); i++)
		if (!h->to[i]) {
			h->to[i] = to;
			h->n[i] = 1;
			return;
		}
	if (!c->more || 2 * c->nmore > c->mask)
		grow_more(c);
	i = place_of_key(c->more, c->mask, key);
	c->nmore += !c->more[i].n;
	c->more[i].key = key;
	c->more[i].n++;
}

static inline void hop(struct branch_code *c, struct hops *h, uint32_t from, uint32_t to)
{
	if (h->to[0] == to)
		h->n[0]++;
	else if (h->to[1] == to)
		h->n[1]++;
	else
		other_hop(c, h, from, to);
}

/* HOT: once per chain that executed. Up to the first of @id that is none; returns how many. */
static size_t hop_chains(struct branch_code *c, uint32_t *node, const uint32_t *id, size_t n)
{
	struct hops *h = hops_of(c, *node);
	uint32_t from = *node;
	size_t i = 0;

	for (; i < n && !(id[i] & PM_CHAIN_EVENTS); i++) {
		hop(c, h, from, id[i] + 1);
		h = &c->chain[id[i]];
		from = id[i] + 1;
	}
	*node = from;
	return i;
}

/* ---- nodes ----------------------------------------------------------------------------------- */
static uint32_t parts_of(const struct branch_code *c, uint32_t node)
{
	return node & BLOCK_NODE ? 1 : c->chains.chain[node - 1].npart;
}

static const struct pm_block *part_of(const struct branch_code *c, uint32_t node, uint32_t i)
{
	return &c->code->block[node & BLOCK_NODE ? (node & ~BLOCK_NODE) - 1 :
			c->chains.part[c->chains.chain[node - 1].part + i].block];
}

static const struct pm_insn *insn_of(const struct branch_code *c, const struct pm_block *b,
				     uint32_t i)
{
	return &c->code->insn[b->insn + i];
}

/* Is going from the end of instruction @in to @to a branch that is taken? */
static bool is_taken(const struct pm_insn *in, uint64_t to)
{
	switch (in->flow) {
	case PM_CLASS_NONE:
	case PM_CLASS_SYSCALL:
		return false;
	case PM_CLASS_COND:
		return to != in->pc + in->len;
	}
	return true;
}

/* ---- predicting ------------------------------------------------------------------------------ */
static bool mispredicted(struct branch_place *p, const struct branch_code *c,
			 const struct pm_block *b, uint64_t to)
{
	const struct pm_insn *in = insn_of(c, b, b->n - 1);

	return branch_predict_misses(p->predictor, in, to) && is_taken(in, to);
}

/* The stream hops to @node: what the predictor says of that, and of what happens inside. */
static void predict(struct branch_place *p, struct branch_code *c, uint32_t node)
{
	const struct pm_block *b = part_of(c, node, 0), *next;

	if (p->node &&
	    mispredicted(p, c, part_of(c, p->node, parts_of(c, p->node) - 1), b->pc))
		++*pm_map_put(&c->missed, (uint64_t)p->node << 32 | node, NULL);
	for (uint32_t i = 0; i + 1 < parts_of(c, node); i++, b = next) {
		next = part_of(c, node, i + 1);
		if (mispredicted(p, c, b, next->pc))
			++*pm_map_put(&c->missed_inside, (uint64_t)node << 32 | i, NULL);
	}
}

/* ---- batches --------------------------------------------------------------------------------- */
static struct branch_place *place_at(struct branch_sink *s, const struct pm_batch *b)
{
	const uint32_t i = b->stream ? b->stream->index : 0;
	struct branch_place *p;

	if (i >= s->nplace) {
		const size_t n = (size_t)i + i / 2 + 16;

		s->place = pm_realloc(s->place, n * sizeof *s->place);
		memset(s->place + s->nplace, 0, (n - s->nplace) * sizeof *s->place);
		s->nplace = n;
	}
	p = &s->place[i];
	if (b->code && (!p->code || p->code->code != b->code)) {
		if (p->node) {
			p->before = p->code;
			p->node_before = p->node;
		}
		p->code = code_of(s, b->code);
		p->node = 0;
	}
	if (p->code)
		p->code->block = room_for(p->code->block, &p->code->nblock,
					  p->code->code->nblock);
	if (s->predicts && !p->predictor)
		p->predictor = branch_predictor_new();
	return p;
}

/* The stream has come from another table to @node. */
static void join(struct branch_place *p, uint32_t node)
{
	struct branch_code *c = p->before;
	const struct pm_block *b = part_of(c, p->node_before, parts_of(c, p->node_before) - 1);

	pm_grow(c->seam, c->nseam, c->cap_seam);
	c->seam[c->nseam++] = (struct seam){ p->node_before, node, p->code, p->predictor &&
		mispredicted(p, c, b, part_of(p->code, node, 0)->pc) };
	p->node_before = 0;
}

/* What follows comes from nowhere. */
static void leave(struct branch_place *p)
{
	p->node = p->node_before = 0;
}

static void move_to(struct branch_place *p, uint32_t node)
{
	if (p->node_before)
		join(p, node);
	if (p->predictor)
		predict(p, p->code, node);
	hop(p->code, hops_of(p->code, p->node), p->node, node);
	p->node = node;
}

static void block_event(struct branch_place *p, const struct pm_event *ev)
{
	struct branch_code *c = p->code;
	const struct pm_block *b;

	if (!c || ev->id >= c->code->nblock)
		return;
	b = &c->code->block[ev->id];
	if (!b->n)
		return;
	move_to(p, BLOCK_NODE | (ev->id + 1));
	if (ev->value >= b->n)
		return;
	pm_grow(c->cut, c->ncut, c->cap_cut);
	c->cut[c->ncut++] = (struct cut){ ev->id, (uint32_t)ev->value };
	p->node = 0;
}

/* The kernel has interrupted the stream at @pc: how it got there is a branch as any other. */
static void interrupted(struct branch_place *p, uint64_t pc)
{
	struct branch_code *c = p->node_before ? p->before : p->code;

	if (!p->node && !p->node_before)
		return;
	pm_grow(c->loose, c->nloose, c->cap_loose);
	c->loose[c->nloose++] = (struct loose){ pc, p->node_before ? p->node_before : p->node };
	leave(p);
}

static void names_program(struct branch_sink *s, const struct pm_batch *b,
			  const struct pm_event *ev)
{
	const char *name = ev->id < b->nrare ? b->rare[ev->id].name : NULL;

	if (!s->first_pid)
		s->first_pid = (uint32_t)ev->value;
	if (ev->value != s->first_pid || !name)
		return;
	free(s->out.program);
	s->out.program = pm_strdup(name);
}

static void events(struct branch_sink *s, struct branch_place *p, const struct pm_batch *b,
		   const struct pm_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++, ev++)
		switch (ev->kind) {
		case PM_EV_BLOCK:
			block_event(p, ev);
			break;
		case PM_EV_SIGNAL:
			interrupted(p, ev->addr);
			break;
		case PM_EV_PROCESS:
		case PM_EV_EXEC:
			names_program(s, b, ev);
			leave(p);
			break;
		case PM_EV_SIGRETURN:
		case PM_EV_EXIT:
		case PM_EV_LOST:
			leave(p);
			break;
		}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct branch_sink *s = self;

	(void)err;
	events(s, place_at(s, b), b, b->ev, b->n);
	return PM_OK;
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	struct branch_sink *s = self;
	struct branch_place *p = place_at(s, b);
	const struct pm_event *ev = b->ev;
	struct branch_code *c = p->code;

	(void)err;
	if (!c)
		return consume(self, b, err);
	c->chains = k->chains;
	c->chain = room_for(c->chain, &c->nchain, k->chains.n);
	for (size_t i = 0; i < k->n; ) {
		const uint32_t id = k->id[i];

		if (id & PM_CHAIN_EVENTS) {
			events(s, p, b, ev, id & ~PM_CHAIN_EVENTS);
			ev += id & ~PM_CHAIN_EVENTS;
			i++;
		} else if (p->predictor) {
			move_to(p, id + 1);
			i++;
		} else {
			if (p->node_before)
				join(p, id + 1);
			i += hop_chains(c, &p->node, k->id + i, k->n - i);
		}
	}
	return PM_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */
struct tally {				/* of a code table, while it is summed up */
	struct branch_sink *s;
	struct branch_code *c;
	struct branch_work *w;
	uint64_t *chain, *block;	/* executions of nodes */
	uint64_t *total, *falls;	/* of blocks, inside of nodes or not */
	uint32_t *object;		/* of the table's objects: the profile's */
};

uint32_t pm_branches_object(struct pm_branches *out, const char *path, const char *build_id)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct pm_branch_object *o = &out->object[i];

		if (!strcmp(o->path, path) && !o->build_id == !build_id &&
		    (!build_id || !strcmp(o->build_id, build_id)))
			return (uint32_t)i;
	}
	pm_grow(out->object, out->n, out->cap);
	out->object[out->n] = (struct pm_branch_object){
		.path = pm_strdup(path), .build_id = build_id ? pm_strdup(build_id) : NULL,
	};
	return (uint32_t)out->n++;
}

/* The profile's number of the object of @in, and @addr as it is in that file. */
static uint32_t in_file(const struct tally *t, uint32_t object, uint64_t *addr)
{
	if (object >= t->c->code->nobject)
		return PM_NONE;
	*addr -= t->c->code->object[object].base;
	return t->object[object];
}

/* The object at @pc, where no instruction says it: the one that @near is in, or none. */
static uint32_t object_at(const struct tally *t, uint32_t near, uint64_t pc)
{
	const struct pm_code *code = t->c->code;

	return near < code->nobject && pc >= code->object[near].lo && pc < code->object[near].hi ?
		near : PM_NONE;
}

/* @n times control went from the end of block @b to @to in object @object. */
static void flow(struct tally *t, const struct pm_block *b, uint64_t to, uint32_t object,
		 uint64_t n, uint64_t missed)
{
	const struct pm_insn *in = insn_of(t->c, b, b->n - 1);
	struct branch_move m = { .b = { in->pc, to, n, missed, in->flow == PM_CLASS_RET } };

	if (!n)
		return;
	if (is_taken(in, to)) {
		m.from_object = in_file(t, in->object, &m.b.from);
		m.to_object = in_file(t, object, &m.b.to);
		pm_grow(t->w->move, t->w->nmove, t->w->cap_move);
		t->w->move[t->w->nmove++] = m;
	} else if (to == in->pc + in->len && object == in->object) {
		t->falls[b - t->c->code->block] += n;
	}
}

static void sum_hop(struct tally *t, uint32_t from, uint32_t to, uint64_t n)
{
	const struct pm_block *next = part_of(t->c, to, 0);
	const uint64_t *missed;

	*(to & BLOCK_NODE ? &t->block[(to & ~BLOCK_NODE) - 1] : &t->chain[to - 1]) += n;
	if (!from)
		return;
	missed = pm_map_get(&t->c->missed, (uint64_t)from << 32 | to);
	flow(t, part_of(t->c, from, parts_of(t->c, from) - 1), next->pc,
	     insn_of(t->c, next, 0)->object, n, missed ? *missed : 0);
}

static void sum_hops(struct tally *t, uint32_t from, const struct hops *h)
{
	for (size_t i = 0; i < NR(h->to) && h->to[i]; i++)
		sum_hop(t, from, h->to[i], h->n[i]);
}

static void sum_inside(struct tally *t, uint32_t node, uint64_t n)
{
	const struct pm_block *b, *next;

	for (uint32_t i = 0; n && i < parts_of(t->c, node); i++) {
		const uint64_t *missed = pm_map_get(&t->c->missed_inside,
						    (uint64_t)node << 32 | i);

		b = part_of(t->c, node, i);
		t->total[b - t->c->code->block] += n;
		if (i + 1 == parts_of(t->c, node))
			break;
		next = part_of(t->c, node, i + 1);
		flow(t, b, next->pc, insn_of(t->c, next, 0)->object, n, missed ? *missed : 0);
	}
}

static void keep_code(struct pm_branch_object *o, uint64_t addr, const struct pm_insn *in)
{
	struct pm_branch_code c = { .addr = addr, .len = in->len };

	if (o->ncode == PM_BRANCH_CODE)
		return;
	memcpy(c.bytes, in->bytes, sizeof c.bytes);
	pm_grow(o->code, o->ncode, o->cap_code);
	o->code[o->ncode++] = c;
}

static void add_run(struct tally *t, const struct pm_block *b, uint32_t n, uint64_t total,
		    uint64_t falls)
{
	const struct pm_insn *first = insn_of(t->c, b, 0), *last = insn_of(t->c, b, n - 1);
	struct branch_run r = { first->pc, last->pc, last->pc + last->len, total, falls, 0 };

	if (first->object >= t->c->code->nobject || !total)
		return;
	r.object = in_file(t, first->object, &r.lo);
	in_file(t, first->object, &r.last);
	in_file(t, first->object, &r.end);
	t->s->out.object[r.object].insns += n * total;
	keep_code(&t->s->out.object[r.object], r.lo, first);
	pm_grow(t->w->run, t->w->nrun, t->w->cap_run);
	t->w->run[t->w->nrun++] = r;
}

/* As flow(), to another table. */
static void flow_over(struct tally *t, const struct seam *s)
{
	const struct pm_block *b = part_of(t->c, s->from, parts_of(t->c, s->from) - 1);
	const struct pm_insn *in = insn_of(t->c, b, b->n - 1);
	const struct pm_insn *next = insn_of(s->code, part_of(s->code, s->to, 0), 0);
	const struct pm_object *to = next->object < s->code->code->nobject ?
		&s->code->code->object[next->object] : NULL;
	struct branch_move m = { .b = { in->pc, next->pc, 1, s->missed,
					in->flow == PM_CLASS_RET } };

	m.from_object = in_file(t, in->object, &m.b.from);
	m.to_object = to ? pm_branches_object(&t->s->out, to->path, to->build_id) : PM_NONE;
	m.b.to -= to ? to->base : 0;
	if (is_taken(in, next->pc)) {
		pm_grow(t->w->move, t->w->nmove, t->w->cap_move);
		t->w->move[t->w->nmove++] = m;
	} else if (next->pc == in->pc + in->len && m.from_object == m.to_object) {
		t->falls[b - t->c->code->block]++;
	}
}

static void sum_code(struct tally *t)
{
	struct branch_code *c = t->c;
	const size_t nblock = c->code->nblock;

	for (size_t i = 0; i < c->code->nobject; i++)
		t->object[i] = pm_branches_object(&t->s->out, c->code->object[i].path,
						  c->code->object[i].build_id);
	sum_hops(t, 0, &c->none);
	for (size_t i = 0; i < c->nchain; i++)
		sum_hops(t, (uint32_t)i + 1, &c->chain[i]);
	for (size_t i = 0; i < c->nblock; i++)
		sum_hops(t, BLOCK_NODE | ((uint32_t)i + 1), &c->block[i]);
	for (size_t i = 0; c->more && i <= c->mask; i++)
		if (c->more[i].n)
			sum_hop(t, (uint32_t)(c->more[i].key >> 32), (uint32_t)c->more[i].key,
				c->more[i].n);
	for (size_t i = 0; i < c->nloose; i++) {
		const uint32_t from = c->loose[i].from;
		const struct pm_block *b = part_of(c, from, parts_of(c, from) - 1);
		const struct pm_insn *in = insn_of(c, b, b->n - 1);

		/* nothing runs there now: what falls there ends here */
		if (is_taken(in, c->loose[i].pc))
			flow(t, b, c->loose[i].pc, object_at(t, in->object, c->loose[i].pc), 1, 0);
	}
	for (size_t i = 0; i < c->nseam; i++)
		flow_over(t, &c->seam[i]);
	for (size_t i = 0; i < c->nchain; i++)
		sum_inside(t, (uint32_t)i + 1, t->chain[i]);
	for (size_t i = 0; i < nblock; i++)
		sum_inside(t, BLOCK_NODE | ((uint32_t)i + 1), t->block[i]);
	for (size_t i = 0; i < c->ncut; i++) {
		const struct pm_block *b = &c->code->block[c->cut[i].block];

		t->total[c->cut[i].block]--;
		if (c->cut[i].done)
			add_run(t, b, c->cut[i].done, 1, 0);
	}
	for (size_t i = 0; i < nblock; i++)
		if (c->code->block[i].n)
			add_run(t, &c->code->block[i], c->code->block[i].n, t->total[i],
				t->falls[i]);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct branch_sink *s = self;
	struct branch_work w = { 0 };

	(void)err;
	for (size_t i = 0; i < s->ncode; i++) {
		struct branch_code *c = s->code[i];
		const size_t nblock = c->nblock > c->code->nblock ? c->nblock + 1
								   : c->code->nblock + 1;
		struct tally t = { .s = s, .c = c, .w = &w };

		t.chain = pm_alloc((c->nchain + 1) * sizeof *t.chain);
		t.block = pm_alloc(nblock * sizeof *t.block);
		t.total = pm_alloc(nblock * sizeof *t.total);
		t.falls = pm_alloc(nblock * sizeof *t.falls);
		t.object = pm_alloc((c->code->nobject + 1) * sizeof *t.object);
		sum_code(&t);
		free(t.chain);
		free(t.block);
		free(t.total);
		free(t.falls);
		free(t.object);
	}
	pm_branch_sum(&w, &s->out);
	s->out.predicted = s->predicts;
	if (r)
		pm_branches_result(&s->out, r);
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct branch_sink *s;
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "branches", config, err);
	bool predicts = false;

	for (size_t i = 0; i < c.n && !st; i++) {
		predicts |= !strcmp(c.item[i].name, "predict");
		if (strcmp(c.item[i].name, "predict"))
			st = pm_conf_unknown(&c, NULL, err, c.item[i].name, "is not a setting",
					     "predict");
		else if (c.item[i].n)
			st = pm_conf_fail(&c, &c.item[i], err, "it has no value");
	}
	pm_conf_release(&c);
	if (st)
		return NULL;
	s = pm_alloc(sizeof *s);
	s->predicts = predicts;
	return s;
}

static void destroy(void *self)
{
	struct branch_sink *s = self;

	if (!s)
		return;
	for (size_t i = 0; i < s->ncode; i++) {
		struct branch_code *c = s->code[i];

		free(c->seam);
		free(c->chain);
		free(c->block);
		free(c->more);
		free(c->cut);
		free(c->loose);
		pm_map_release(&c->missed);
		pm_map_release(&c->missed_inside);
		free(c);
	}
	for (size_t i = 0; i < s->nplace; i++)
		free(s->place[i].predictor);
	free(s->code);
	free(s->place);
	pm_branches_release(&s->out);
	free(s);
}

const struct pm_branches *pm_sim_branches_of(const void *self)
{
	return &((const struct branch_sink *)self)->out;
}

const struct pm_chain_sink_ops pm_sim_branches = {
	.ops = {
		.abi = PM_ABI, .needs = PM_HAS_BLOCKS | PM_HAS_BYTES,
		.flags = PM_SINK_BLOCKS | PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS,
		.name = "branches",
		.about = "branches that were taken, and what ran between them, for compilers",
		.create = create, .consume = consume, .finish = finish, .destroy = destroy,
	},
	.packed = packed,
};
