/* SPDX-License-Identifier: MIT */
/* core_feed.c - the sink `core`: gathers instructions, and what caches and predictors say */
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/conf.h"
#include "analyse/core_work.h"

static void destroy(void *self)
{
	struct core_sink *s = self;

	if (!s)
		return;
	pm_core_free(s->k);
	pm_cache_free(s->cache);
	if (s->dir)
		s->bp->destroy(s->dir);
	if (s->btb) {
		pm_bp_btb.destroy(s->btb);
		pm_bp_ras.destroy(s->ras);
		pm_bp_ittage.destroy(s->ittage);
	}
	core_decoders_free(&s->ds);
	free(s->known);
	if (s->by) {
		pm_map_release(&s->by->at);
		pm_names_release(&s->by->names);
		free(s->by->row);
		free(s->by);
	}
	free(s);
}

struct blamed_row *core_blamed(struct core_sink *s, uint64_t pc)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->by->at, pc, &fresh);

	if (fresh) {
		*at = s->by->n;
		pm_grow(s->by->row, s->by->n, s->by->cap);
		memset(s->by->row + s->by->n, 0, sizeof *s->by->row);
		s->by->row[s->by->n++].pc = pc;
	}
	return s->by->row + *at;
}

static void blame_slots(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots)
{
	core_blamed(ctx, pc)->slots[why] += slots;
}

static enum pm_status numbers(struct pm_conf *c, const struct pm_conf_item *it, struct core_sink *s,
			      bool *known, struct pm_err *err)
{
	const struct {
		const char *name; uint32_t *to; uint64_t lo, hi; const char *about;
	} keys[] = {
		{ "fetch", &s->c.fetch, 1, 64, "instructions fetched per cycle" },
		{ "bytes", &s->c.bytes, 15, 256, "bytes fetched per cycle" },
		{ "queue", &s->c.queue, 1, 1024, "instructions between fetch and dispatch" },
		{ "front", &s->c.front, 1, 64, "cycles from fetch to dispatch" },
		{ "bubble", &s->c.bubble, 0, 64,
		  "cycles lost to a taken branch found by the decoder" },
		{ "width", &s->c.width, 1, 64, "micro-ops dispatched and committed per cycle" },
		{ "rob", &s->c.rob, 8, 4096, "micro-ops in the reorder buffer" },
		{ "iq", &s->c.iq, 8, 1024, "entries of the scheduler" },
		{ "lq", &s->c.lq, 4, 1024, "entries of the load queue" },
		{ "sq", &s->c.sq, 4, 1024, "entries of the store queue" },
		{ "mshr", &s->c.mshr, 1, 1024, "lines on their way" },
		{ "gap", &s->c.gap, 0, 1000, "cycles between lines from memory" },
		{ "forward", &s->c.forward, 1, 100, "cycles of store-to-load forwarding" },
		{ "alu", &s->c.alu, 1, 8, "integer ports" },
		{ "vec", &s->c.vec, 1, 8, "vector ports" },
		{ "loads", &s->c.loads, 1, 4, "load ports" },
		{ "stores", &s->c.stores, 1, 4, "store ports" },
	};
	uint64_t x;

	*known = true;
	for (size_t k = 0; k < NR(keys); k++)
		if (!strcmp(keys[k].name, it->name)) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "", keys[k].about,
					keys[k].lo, keys[k].hi, &x, err))
				return PM_ERR;
			*keys[k].to = x;
			return PM_OK;
		}
	if (!strcmp(it->name, "lat")) {
		static const char *const what[] = { "L1 latency", "L2 latency", "L3 latency",
			"memory latency" };

		if (it->n != 4)
			return pm_conf_fail(c, it, err,
					    "expected four numbers: lat=L1,L2,L3,MEMORY");
		for (int i = 0; i < 4; i++) {
			if (pm_conf_u64(c, it, it->field[i].key, what[i], 1, 10000, &x, err))
				return PM_ERR;
			s->c.lat[i] = x;
			if (i && x < s->c.lat[i - 1])
				return pm_conf_fail(c, it, err, "%s: less than the %s", what[i],
						    what[i - 1]);
		}
		return PM_OK;
	}
	*known = false;
	return PM_OK;
}

static enum pm_status parse(struct core_sink *s, struct pm_conf *c, struct pm_buf *caches,
			    struct pm_err *err)
{
	static const char *const presets[] = { "big", "mid", "small", NULL };
	static const struct pm_core_conf *const preset[] = { &pm_core_big, &pm_core_mid,
		&pm_core_small };

	s->c = pm_core_mid;
	s->top = 20;
	s->bp = &pm_bp_tagescl;
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->item[i].name, "preset")) {
			int w = c->item[i].n ? pm_conf_word(c->item[i].field[0].key, presets) : -1;

			if (w < 0)
				return pm_conf_unknown(c, c->item + i, err,
						       c->item[i].n ? c->item[i].field[0].key : "",
						       "is unknown", "big, mid, small");
			s->c = *preset[w];
		}
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		bool known;

		if (!strcmp(it->name, "preset"))
			continue;
		if (!strcmp(it->name, "byinsn") || !strcmp(it->name, "topdown")) {
			if (it->n)
				return pm_conf_fail(c, it, err, "stands alone, without a value");
			s->topdown |= it->name[0] == 't';
			s->by = s->by ? s->by : pm_alloc(sizeof *s->by);
			continue;
		}
		if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "",
					"instructions listed", 1, 1000000, &s->top, err))
				return PM_ERR;
			continue;
		}
		if (it->name[0] == 'l' && it->name[1] >= '1' && it->name[1] <= '9') {
			pm_conf_put(it, caches);
			continue;
		}
		if (!strcmp(it->name, "bpred")) {
			s->bp = it->n ? pm_bp_find(it->field[0].key) : NULL;
			s->bp_args = (struct pm_bp_args){ .n = 0 };
			if (!s->bp || s->bp->mask != PM_BR_COND)
				return pm_conf_fail(c, it, err,
						    "expected a predictor of conditional branches, "
						    "as in bpred=gshare,14 or bpred=tagescl");
			for (size_t k = 1; k < it->n; k++) {
				if (k > 2 || !s->bp->args[k - 1])
					return pm_conf_fail(c, it, err,
							    "'%s' is one number too many",
							    it->field[k].key);
				if (pm_conf_u64(c, it, it->field[k].key, s->bp->args[k - 1],
						s->bp->lo[k - 1], s->bp->hi[k - 1],
						s->bp_args.v + k - 1, err))
					return PM_ERR;
				s->bp_args.n++;
			}
			continue;
		}
		if (numbers(c, it, s, &known, err))
			return PM_ERR;
		if (!known)
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"preset, fetch, bytes, queue, front, bubble, width, "
					"rob, iq, lq, sq, mshr, gap, forward, alu, vec, "
					"loads, stores, lat, bpred, byinsn, topdown, top, "
					"l1i, l1d, l2...");
	}
	return PM_OK;
}

/* What the settings ask for. */
static void build(struct core_sink *s)
{
	struct pm_bp_args a = { .n = 0 };

	s->cache = pm_cache_from(&s->cache_conf);
	s->k = pm_core_from(&s->c);
	pm_bp_defaults(s->bp, &s->bp_args);
	s->dir = s->bp->create(&s->bp_args);
	pm_bp_defaults(&pm_bp_btb, &a);
	s->btb = pm_bp_btb.create(&a);
	a.n = 0;
	pm_bp_defaults(&pm_bp_ras, &a);
	s->ras = pm_bp_ras.create(&a);
	s->ittage = pm_bp_ittage.create(&a);
	s->fetch_line = UINT64_MAX;
	if (s->topdown)
		pm_core_slots_blame(s->k, blame_slots, s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct core_sink *s = pm_alloc(sizeof *s);
	struct pm_buf caches = { 0 };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "core", config, err);

	if (!st)
		st = parse(s, &c, &caches, err);
	pm_conf_release(&c);
	if (!caches.n)
		pm_buf_printf(&caches, "l1i=32k,8way,64,prefetch=next;l1d=32k,8way,64,prefetch="
				       "stride,degree=2;"
				       "l2=1m,8way,64,prefetch=stream,degree=4;l3=32m,16way,64");
	pm_buf_add(&caches, "", 1);
	if (!st)
		st = pm_cache_conf_parse(&s->cache_conf, "core", (const char *)caches.p, err);
	pm_buf_release(&caches);
	if (!st && s->cache_conf.level[s->cache_conf.n - 1].depth > 3)
		st = pm_fail_request(err, "core: at most three levels of caches");
	if (st) {
		destroy(s);
		return NULL;
	}
	build(s);
	return s;
}

/* How deep a reference went, as an index into `lat`: memory is 3 whatever the number of levels. */
static unsigned level_of(const struct core_sink *s, unsigned reach)
{
	unsigned levels = s->cache_conf.level[s->cache_conf.n - 1].depth;

	return reach >= levels ? 3 : reach;
}

static void account(struct core_sink *s)
{
	const struct pm_core_blame *b = pm_core_blame(s->k);
	uint64_t *v = s->sum ? s->sum : core_blamed(s, s->pc)->v;

	v[BLAME_Ir] += s->op.len > 0;	/* what goes on with a long one has no bytes of its own */
	v[BLAME_Fm] += s->op.fetch_level > 0;
	v[BLAME_Bm] += s->op.redirect == PM_CORE_WRONG;
	for (unsigned i = 0; i < s->op.nload; i++) {
		v[BLAME_Lm] += s->op.load_level[i] > 0;
		v[BLAME_Llm] += s->op.load_level[i] == 3;
	}
	if (b->why && s->sum) {
		/* the branch before is to blame, and it was in the piece before */
		v = b->misled ? s->misled : s->sum;
		s->any_late |= v == s->late;
		v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	} else if (b->why) {
		core_blamed(s, b->pc)->v[BLAME_Cbr + (b->why - PM_CORE_BY_BRANCH)] += b->cycles;
	}
	s->misled = s->sum;
}

static void submit(struct core_sink *s)
{
	if (!s->open)
		return;
	s->open = false;
	if (s->timeless)
		return;
	s->op.pc = s->pc;
	pm_core_op(s->k, &s->op, NULL);
	if (s->by || s->sum)
		account(s);
}

void core_submit(struct core_sink *s)
{
	submit(s);
}

static void begin(struct core_sink *s, uint64_t pc, unsigned len, const struct pm_core_static *st)
{
	uint64_t line = pc >> 6, last = (pc + (len ? len : 1) - 1) >> 6;

	submit(s);
	s->op = (struct pm_core_op){ .addr_regs = st->addr_regs, .data_regs = st->data_regs,
		.writes = st->writes, .class = st->class, .uops = st->uops, .len = len ? len : 1,
		.stack = st->stack,
		.serial = st->serial };
	for (; line <= last; line++)
		if (line != s->fetch_line) {
			unsigned l = level_of(s, pm_cache_access(s->cache, PM_OP_FETCH, line << 6,
								 1, false, pc));

			if (l > s->op.fetch_level)
				s->op.fetch_level = l;
			s->fetch_line = line;
		}
	s->pc = pc;
	s->open = true;
}

static void reference(struct core_sink *s, enum pm_cache_op op, uint64_t addr, unsigned size,
		      bool stack)
{
	struct pm_core_op *o = &s->op;
	unsigned l = level_of(s, pm_cache_access(s->cache, op, addr, size, stack, s->pc));

	if (!s->open)
		return;
	if (o->nload == 4 || o->nstore == 4) {	/* rep and its like: go on with a further
						 * operation */
		struct pm_core_op rest = *o;

		rest.nload = rest.nstore = 0;
		rest.fetch_level = 0;
		rest.len = 0;
		o->redirect = PM_CORE_STRAIGHT;
		submit(s);
		s->op = rest;
		s->open = true;
	}
	if (op == PM_OP_READ) {
		o->load[o->nload] = addr;
		o->load_size[o->nload] = size > 64 ? 64 : size;
		o->load_level[o->nload++] = l;
	} else {
		o->store[o->nstore] = addr;
		o->store_size[o->nstore] = size > 64 ? 64 : size;
		o->store_level[o->nstore++] = l;
	}
}

static void branch(struct core_sink *s, const struct pm_br *b)
{
	uint8_t dir = 0, btb, ras, ind;
	bool wrong;

	s->bp->run(s->dir, b, 1, &dir);
	pm_bp_btb.run(s->btb, b, 1, &btb);
	pm_bp_ras.run(s->ras, b, 1, &ras);
	pm_bp_ittage.run(s->ittage, b, 1, &ind);
	wrong = b->flags & PM_BR_COND	    ? dir
		: b->flags & PM_BR_RET	    ? ras
		: b->flags & PM_BR_INDIRECT ? ind
					    : false;
	s->branches += (b->flags & (PM_BR_COND | PM_BR_RET | PM_BR_INDIRECT)) != 0;
	s->op.taken = b->flags & PM_BR_TAKEN;
	/* a direct branch that the BTB does not know is found by the decoder */
	s->op.redirect = wrong						     ? PM_CORE_WRONG
			 : btb && !(b->flags & (PM_BR_INDIRECT | PM_BR_RET)) ? PM_CORE_BUBBLE
									     : PM_CORE_STRAIGHT;
}

static const struct pm_core_static *static_of(struct core_sink *s, const struct pm_batch *b,
					      const struct pm_event *e)
{
	static const struct pm_core_static plain = { .class = PM_CORE_ALU, .uops = 1 };

	if (!b->code || e->id >= b->code->ninsn)
		return &plain;
	if (e->id >= s->cap_known) {
		size_t cap = s->cap_known ? s->cap_known * 2 : 4096;

		while (cap <= e->id)
			cap *= 2;
		s->known = pm_realloc(s->known, cap * sizeof *s->known);
		memset(s->known + s->cap_known, 0, (cap - s->cap_known) * sizeof *s->known);
		s->cap_known = cap;
	}
	if (!s->known[e->id].uops) {
		const struct pm_insn *in = b->code->insn + e->id;

		core_decode_with(&s->ds, in->bytes, in->len, in->isa, s->known + e->id);
	}
	return s->known + e->id;
}

static void one_uop(struct core_sink *s, const struct pm_uop *u)
{
	struct pm_core_static st;

	core_uop_static(u, &st);
	begin(s, u->pc, u->index == 1 ? (unsigned)(u->fall - u->pc) & 15 : 0, &st);
	if (u->index != 1)
		s->op.len = 0;
	if (u->access == PM_UOP_LOAD || u->access == PM_UOP_STORE)
		reference(s, u->access == PM_UOP_LOAD ? PM_OP_READ : PM_OP_WRITE, u->mem,
			  u->msize ? u->msize : 8, false);
	if (u->target) {
		struct pm_br b = { u->pc, u->target,
			(u->outcome == PM_UOP_TAKEN ? PM_BR_TAKEN : 0) |
			(u->flag_use == PM_UOP_READS_FLAGS ? PM_BR_COND : 0) | (strcmp(u->macro,
				"CALL") ? 0 : PM_BR_CALL) |
			(strcmp(u->macro, "RET") ? 0 : PM_BR_RET) |
			(strcmp(u->micro, "JMP_REG") ? 0 : PM_BR_INDIRECT),
			(uint8_t)(u->fall - u->pc) };

		branch(s, &b);
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct core_sink *s = self;

	s->uops |= b->nuop > 0;
	if (s->by)
		pm_names_learn(&s->by->names, b->code);
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		if (e->kind == PM_EV_UOP && e->id < b->nuop) {
			one_uop(s, b->uop + e->id);
			continue;
		}
		if (s->uops)	/* micro-ops say it all; what stands beside them says it again */
			continue;
		switch (e->kind) {
		case PM_EV_INSN:
			begin(s, e->addr, e->size, static_of(s, b, e));
			break;
		case PM_EV_READ:
		case PM_EV_MODIFY:
			reference(s, PM_OP_READ, e->addr, e->size, e->flags & PM_REF_STACK);
			if (e->kind == PM_EV_READ)
				break;
			/* fall through */
		case PM_EV_WRITE:
			reference(s, PM_OP_WRITE, e->addr, e->size, e->flags & PM_REF_STACK);
			break;
		case PM_EV_BRANCH: {
			struct pm_br br = { e->addr, e->value, e->flags, e->size };

			branch(s, &br);
			break;
		}
		default:
			break;
		}
	}
	return PM_OK;
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct core_sink *s = self;
	struct pm_err err;

	s->sum = sum;
	s->misled = s->late = late;
	s->any_late = false;
	consume(s, piece, &err);
	if (over)
		submit(s);
	return s->any_late;
}

void pm_core_meter(const void *self, struct pm_calls_meter *m)
{
	const struct core_sink *s = self;
	struct core_sink *t;

	*m = (struct pm_calls_meter){ 0 };
	if (!s->by)
		return;
	t = pm_alloc(sizeof *t);
	t->c = s->c;
	t->cache_conf = s->cache_conf;
	t->bp = s->bp;
	t->bp_args = s->bp_args;
	build(t);
	*m = (struct pm_calls_meter){ BLAME_COUNT, t, charge };
}

void pm_core_meter_free(void *self)
{
	destroy(self);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct core_sink *s = self;

	submit(s);
	if (r)
		core_results(s, r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_core = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES, .name = "core",
	.about = "a modern out-of-order core: cycles, IPC, where the time goes",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
