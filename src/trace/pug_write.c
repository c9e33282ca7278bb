/* SPDX-License-Identifier: MIT */
/* pug_write.c - events into .pug
 *
 * The caller's thread runs the model over each batch and leaves columns; a second thread packs the
 * columns of a full chunk and writes them, so that the caller can go on with the next chunk. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/format.h"
#include "trace/pug.h"
#include "trace/pug_file.h"
#include "trace/tally.h"

#define PIECE		2048		/* events between two looks at the limits */
#define SIDE_BYTES	(32 << 20)	/* rare things in one chunk */

static const struct pug_level_info {
	const char *name;
	enum pug_level level;
	int zstd;
	uint32_t insns, events;	/* a chunk is closed at the first block behind either */
} levels[] = {
	{ "fast", PUG_FAST, 1, 1 << 22, 1 << 22 },
	{ "default", PUG_DEFAULT, 3, 1 << 22, 1 << 22 },
	{ "dense", PUG_DENSE, 9, 1 << 23, 1 << 22 },
};

/* A chunk between the model and the packer. */
struct chunk {
	uint8_t *col[PUG_NCOL];		/* all but NEW and SIDE */
	uint8_t *at[PUG_NCOL];		/* their ends */
	size_t cap_ops;			/* ops for which they have room */
	struct pm_buf neu, side;
	struct pm_buf before;		/* records that must stand before it */
	struct slot {
		const struct pm_stream *stream;
		uint32_t index;		/* of the stream: the packing thread asks */
		const struct pm_code *code;
		uint32_t code_number;
		uint64_t insns_before, insns;
		struct pug_ctx ctx;
	} *slot;
	size_t nslot, cap_slot;
	struct pug_rec rec;
	uint32_t events;
};

struct known_code {
	const struct pm_code *code;
	struct pug_code_mark done;
};

struct known_stream {
	const struct pm_stream *stream;
	struct pm_stream was;		/* as it was written */
	char *name;
	uint64_t insns;
	bool written;
};

struct pug_writer {
	struct pm_output *out;
	const struct pug_level_info *level;
	struct pm_write_opts opts;
	bool begun, failed;
	uint32_t facts;

	struct pug_model m;
	uint32_t *table;		/* hash of (parent, sig, address) -> node; 0: free */
	uint32_t mask, used;
	struct pm_map dict;		/* hash of a definition -> its number + 1 */
	struct pug_def *def;
	uint32_t ndef;
	size_t cap_def;
	struct pm_buf defbuf;
	struct chunk *c;		/* being filled */
	struct chunk chunks[2];
	struct slot *slot;		/* of the last batch */
	uint32_t run;
	bool cut_soon;

	struct known_code *code;
	size_t ncode, cap_code;
	struct known_stream *stream;	/* by pm_stream.index */
	size_t nstream;
	struct pm_tally tally;
	uint64_t events, time;

	ZSTD_CCtx *zfront;		/* for CODE records, on the caller's thread */
	/* the packing thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool threaded, quit;
	struct chunk *job;		/* being packed; NULL: the thread is idle */
	struct pm_err err;		/* of the packing thread, under the lock */
	ZSTD_CCtx *zback;
	struct pm_buf planes, packed;
	struct pm_buf index;		/* entries of the INDX record */
	uint64_t nindex;
};

/* ---- packing: columns -> a DATA record ---------------------------------------------------------- */

/* Elements of @width bytes become @width planes: bytes of like meaning lie together. */
static const uint8_t *to_planes(struct pm_buf *b, const uint8_t *p, size_t n, unsigned width)
{
	size_t count = n / width;

	if (b->cap < n) {
		free(b->p);
		b->p = pm_realloc(NULL, n);
		b->cap = n;
	}
	for (unsigned k = 0; k < width; k++) {
		uint8_t *to = b->p + k * count;

		for (size_t i = 0; i < count; i++)
			to[i] = p[i * width + k];
	}
	return b->p;
}

static void index_add(struct pug_writer *w, uint64_t at, const uint8_t rec[PUG_RECORD])
{
	uint8_t entry[8];

	pug_put64(entry, at);
	pm_buf_add(&w->index, entry, 8);
	pm_buf_add(&w->index, rec, PUG_RECORD);
	w->nindex++;
}

static enum pm_status write_record(struct pug_writer *w, struct pug_rec *rec, const struct pm_buf *payload,
				   struct pm_err *err)
{
	uint8_t head[PUG_RECORD];

	if (payload->n > PUG_MAX_PAYLOAD)
		return pm_fail_file(err, "a record of %zu bytes, more than a .pug can hold", payload->n);
	rec->size = (uint32_t)payload->n;
	rec->crc = pug_crc(payload->p, payload->n);
	pug_rec_put(head, rec);
	if (rec->tag != PUG_INDX)
		index_add(w, pm_output_offset(w->out), head);
	if (pm_output_write(w->out, head, sizeof head, err) != PM_OK)
		return PM_ERR;
	return pm_output_write(w->out, payload->p, payload->n, err);
}

/* Records that were prepared on the caller's thread: header and payload, one behind the other. */
static enum pm_status write_before(struct pug_writer *w, struct chunk *c, struct pm_err *err)
{
	for (size_t at = 0; at < c->before.n; ) {
		struct pug_rec r;

		pug_rec_get(c->before.p + at, &r);
		index_add(w, pm_output_offset(w->out), c->before.p + at);
		if (pm_output_write(w->out, c->before.p + at, PUG_RECORD + r.size, err) != PM_OK)
			return PM_ERR;
		at += PUG_RECORD + r.size;
	}
	return PM_OK;
}

static enum pm_status pack_chunk(struct pug_writer *w, struct chunk *c, struct pm_err *err)
{
	struct pm_buf *to = &w->packed;
	uint8_t head[8];

	if (write_before(w, c, err) != PM_OK)
		return PM_ERR;
	to->n = 0;
	head[0] = (uint8_t)w->level->level;
	head[1] = PUG_NCOL;
	head[2] = head[3] = 0;
	pug_put32(head + 4, c->events);
	pm_buf_add(to, head, 8);
	pug_varint(to, c->nslot);
	for (size_t i = 0; i < c->nslot; i++) {
		const struct slot *s = c->slot + i;

		pug_varint(to, s->index);
		pug_varint(to, s->code_number + 1u);
		pug_varint(to, s->insns_before);
		pug_varint(to, s->insns);
	}
	for (unsigned k = 0; k < PUG_NCOL; k++) {
		const uint8_t *p = k == PUG_COL_NEW ? c->neu.p : k == PUG_COL_SIDE ? c->side.p : c->col[k];
		size_t n = k == PUG_COL_NEW ? c->neu.n : k == PUG_COL_SIDE ? c->side.n : (size_t)(c->at[k] - c->col[k]);

		if (n > PUG_MAX_RAW)
			return pm_fail_file(err, "%zu bytes in one column of a chunk, more than a .pug can hold", n);
		if (pug_col_width[k] > 1)
			p = to_planes(&w->planes, p, n, pug_col_width[k]);
		pug_pack(to, p, n, w->zback, w->level->zstd);
	}
	if (write_record(w, &c->rec, to, err) != PM_OK)
		return PM_ERR;
	/* whoever kills us from now on leaves this chunk readable */
	return pm_output_flush(w->out, err);
}

static void *packer(void *arg)
{
	struct pug_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct chunk *c;
		struct pm_err err = { 0 };

		while (!w->job && !w->quit)
			pthread_cond_wait(&w->wake, &w->lock);
		c = w->job;
		if (!c)
			break;
		if (!pm_failed(&w->err)) {
			pthread_mutex_unlock(&w->lock);
			pack_chunk(w, c, &err);
			pthread_mutex_lock(&w->lock);
			if (pm_failed(&err))
				w->err = err;
		}
		w->job = NULL;
		pthread_cond_broadcast(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Wait until the packing thread is idle. */
static enum pm_status packer_wait(struct pug_writer *w, struct pm_err *err)
{
	enum pm_status s = PM_OK;

	if (!w->threaded)
		return PM_OK;
	pthread_mutex_lock(&w->lock);
	while (w->job)
		pthread_cond_wait(&w->wake, &w->lock);
	if (pm_failed(&w->err)) {
		if (!pm_failed(err))
			*err = w->err;
		s = PM_ERR;
	}
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* ---- the columns of a chunk --------------------------------------------------------------------- */

/* Room for @ops more, so that nobody need ask for each. */
static void reserve_ops(struct chunk *c, size_t ops)
{
	static const uint8_t most[PUG_NCOL] = {	/* bytes per op */
		[PUG_COL_RUN] = 5, [PUG_COL_OP] = 1, [PUG_COL_NODE] = 4, [PUG_COL_D16] = 2,
		[PUG_COL_D32] = 4, [PUG_COL_A64] = 8, [PUG_COL_VAL] = 8,
	};
	size_t n = (size_t)(c->at[PUG_COL_OP] - c->col[PUG_COL_OP]);

	if (c->cap_ops - n >= ops)
		return;
	while (c->cap_ops - n < ops)
		c->cap_ops = c->cap_ops ? c->cap_ops * 2 : 65536;
	for (unsigned k = 0; k < PUG_NCOL; k++) {
		size_t used = (size_t)(c->at[k] - c->col[k]);

		if (!most[k])
			continue;
		/* 8 more: stores may be wider than what they are for */
		c->col[k] = pm_realloc(c->col[k], c->cap_ops * most[k] + 8);
		c->at[k] = c->col[k] + used;
	}
}

static inline void col32(struct chunk *c, enum pug_col k, uint32_t v)
{
	pug_put32(c->at[k], v);
	c->at[k] += 4;
}

static inline void col64(struct chunk *c, enum pug_col k, uint64_t v)
{
	pug_put64(c->at[k], v);
	c->at[k] += 8;
}

static inline void put_op(struct chunk *c, uint32_t run, uint8_t op)
{
	uint8_t *p = c->at[PUG_COL_RUN];

	while (run >= 0x80) {
		*p++ = (uint8_t)run | 0x80;
		run >>= 7;
	}
	*p++ = (uint8_t)run;
	c->at[PUG_COL_RUN] = p;
	*c->at[PUG_COL_OP]++ = op;
}

/* An address that nothing predicts: the part of the op that says how it is given. */
static inline uint8_t put_addr(struct chunk *c, uint64_t addr, uint64_t d0, uint64_t d1)
{
	uint64_t m0 = (uint64_t)((int64_t)d0 < 0 ? ~d0 : d0), m1 = (uint64_t)((int64_t)d1 < 0 ? ~d1 : d1);
	uint64_t d = m1 < m0 ? d1 : d0;
	uint8_t op = m1 < m0 ? PUG_BASE_PREV : 0;
	uint64_t m = m1 < m0 ? m1 : m0;

	if (m < 1u << 15) {
		uint16_t v = htole16((uint16_t)d);

		memcpy(c->at[PUG_COL_D16], &v, 2);
		c->at[PUG_COL_D16] += 2;
		return op | PUG_ADDR_D16;
	}
	if (m < 1u << 31) {
		col32(c, PUG_COL_D32, (uint32_t)d);
		return op | PUG_ADDR_D32;
	}
	col64(c, PUG_COL_A64, addr);
	return PUG_ADDR_A64;
}

/* ---- finding nodes ------------------------------------------------------------------------------- */

static inline uint32_t node_hash(uint32_t parent, uint64_t sig, uint64_t addr)
{
	uint64_t h = (sig ^ (uint64_t)parent << 20) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ addr) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 32);
}

static uint64_t node_addr(const struct pug_node *n)
{
	return PUG_CLASS(n) == PUG_STATIC ? n->last : 0;
}

static uint32_t node_code(const struct pug_node *n)
{
	return PUG_CLASS(n) == PUG_STATIC ? (uint32_t)n->off[1] : 0;
}

static void table_insert(struct pug_writer *w, uint32_t node)
{
	const struct pug_node *n = w->m.node + node;
	uint32_t i = node_hash(w->m.cold[node].parent ^ node_code(n), n->sig, node_addr(n)) & w->mask;

	while (w->table[i])
		i = (i + 1) & w->mask;
	w->table[i] = node;
}

static void table_grow(struct pug_writer *w)
{
	free(w->table);
	w->mask = w->mask * 2 + 1;
	w->table = pm_alloc(((size_t)w->mask + 1) * sizeof *w->table);
	for (uint32_t i = 1; i < w->m.n; i++)
		table_insert(w, i);
}

static uint32_t table_find(const struct pug_writer *w, uint32_t parent, uint32_t code, uint64_t sig,
			   uint64_t addr)
{
	uint32_t i = node_hash(parent ^ code, sig, addr) & w->mask;

	for (; w->table[i]; i = (i + 1) & w->mask) {
		const struct pug_node *n = w->m.node + w->table[i];

		if (n->sig == sig && w->m.cold[w->table[i]].parent == parent && node_code(n) == code &&
		    node_addr(n) == addr)
			return w->table[i];
	}
	return 0;
}

/* ---- the model's slow path: an event that was not free -------------------------------------------- */

/* What an event is to the model. */
struct item {
	uint64_t sig, addr, value;
	enum pug_class class;
	bool ref;
	uint32_t code;			/* PUG_STATIC: the stream's code table */
	uint32_t def;			/* micro-ops, bus transactions: number of the definition */
};

static inline bool matches(const struct pug_node *n, const struct item *it)
{
	return n->sig == it->sig && (it->class != PUG_STATIC || (n->last == it->addr && n->off[1] == it->code));
}

/* The address op of @addr at @node, which is a reference; the columns get what it needs. @hits: bit k
 * is set if prediction k is right. */
static inline uint8_t code_ref(struct pug_writer *w, const struct pug_ctx *x, uint32_t node, uint64_t addr,
			       unsigned hits)
{
	struct pug_node *n = w->m.node + node;

	if (hits) {
		n->mode = (uint8_t)__builtin_ctz(hits);
		return (uint8_t)(n->mode << 3);
	}
	if (w->m.seen) {
		size_t slot = pug_seen_slot(node, n->last);
		uint64_t was = w->m.seen[slot];

		w->m.seen[slot] = addr;
		if (was == addr) {
			n->mode = PUG_MODE_SEEN;
			return PUG_ADDR_SEEN;
		}
	}
	return put_addr(w->c, addr, addr - n->last, addr - x->base[1]);
}

static inline unsigned ref_hits(const struct pug_node *n, const struct pug_ctx *x, uint64_t addr)
{
	return (unsigned)(addr == n->last + n->off[0]) | (unsigned)(addr == x->base[1] + n->off[1]) << 1 |
	       (unsigned)(addr == x->base[2] + n->off[2]) << 2 | (unsigned)(addr == x->base[3] + n->off[3]) << 3;
}

/* The node was expected, the address was not what its mode predicts. */
static __attribute__((noinline)) void put_ref(struct pug_writer *w, const struct pug_ctx *x, uint32_t node,
					      uint64_t addr, uint32_t run)
{
	struct pug_node *n = w->m.node + node;
	uint8_t op = code_ref(w, x, node, addr, ref_hits(n, x, addr));

	pug_restride(n, addr);
	put_op(w->c, run, op);
}

/* A node for @it behind @x's last one; *@op says how it is told. */
static uint32_t find_node(struct pug_writer *w, const struct pug_ctx *x, const struct item *it,
			  uint32_t expected, const struct pm_buf *side, uint8_t *op)
{
	struct pug_model *m = &w->m;
	const struct pug_node *cur = m->node + x->cur;
	uint32_t alt = m->cold[x->cur].alt, to;
	struct pm_buf *neu = &w->c->neu;
	struct pug_node *n;

	if (expected && matches(m->node + expected, it)) {
		*op = PUG_NODE_EXPECTED;
		return expected;
	}
	if (cur->next && cur->next != expected && matches(m->node + cur->next, it)) {
		*op = PUG_NODE_NEXT;
		return cur->next;
	}
	if (alt && alt != expected && matches(m->node + alt, it)) {
		*op = PUG_NODE_ALT;
		return alt;
	}
	to = table_find(w, pug_parent(m, it->class, x->cur), it->code, it->sig,
			it->class == PUG_STATIC ? it->addr : 0);
	if (to) {
		*op = PUG_NODE_KNOWN;
		col32(w->c, PUG_COL_NODE, to);
		return to;
	}
	*op = PUG_NODE_NEW;
	to = pug_model_add(m);
	n = m->node + to;
	n->sig = it->sig;
	n->class = (uint8_t)(it->class | (it->ref ? PUG_IS_REF : 0));
	if (it->class == PUG_STATIC)
		n->off[1] = it->code;
	m->cold[to].def = it->def;
	pug_model_place(m, to, x->cur);
	pm_buf_add(neu, &it->sig, 2);	/* kind and flags: the first two bytes of an event */
	pug_varint(neu, (uint16_t)(it->sig >> 16));
	pug_varint(neu, pug_zigzag((int32_t)((uint32_t)(it->sig >> 32) - m->new_id)));
	m->new_id = (uint32_t)(it->sig >> 32);
	if (side)
		pm_buf_add(neu, side->p, side->n);
	return to;
}

static void put_event(struct pug_writer *w, const struct item *it, const struct pm_event *ev,
		      const struct pm_buf *side)
{
	struct pug_ctx *x = &w->slot->ctx;
	struct pug_model *m = &w->m;
	bool asked = m->node[x->cur].multi;
	uint32_t hs = pug_hist_slot(x->cur, x->hist), to;
	uint32_t p = asked && m->expect[hs] ? m->expect[hs] : m->node[x->cur].next;
	struct pug_node *n;
	uint8_t op, how, was_mode;

	to = find_node(w, x, it, p, side, &op);
	how = op;
	n = m->node + to;
	was_mode = n->mode;
	if (it->class == PUG_STATIC) {
		if (how == PUG_NODE_NEW) {
			const struct pm_code *code = w->slot->code;
			uint64_t pc = m->new_addr;

			/* what the code table knows need not be said */
			if (ev->kind == PM_EV_BLOCK) {
				if (ev->id != PM_NONE) {
					pc = code->block[ev->id].pc;
					n->value = code->block[ev->id].n;
				}
			} else if (code && ev->id < code->ninsn) {
				pc = code->insn[ev->id].pc;
			}
			if (it->addr != pc)
				op |= put_addr(w->c, it->addr, it->addr - m->new_addr, it->addr - m->new_addr);
			n->last = it->addr;
			m->new_addr = it->addr;
		}
	} else if (it->ref) {
		unsigned hits = ref_hits(n, x, it->addr);

		if (was_mode == PUG_MODE_SEEN ? m->seen[pug_seen_slot(to, n->last)] == it->addr :
		    hits >> was_mode & 1)
			op |= (uint8_t)(was_mode << 3);
		else
			op |= code_ref(w, x, to, it->addr, hits);
	} else if (n->last + n->off[0] != it->addr) {
		op |= put_addr(w->c, it->addr, it->addr - n->last, it->addr - n->last);
	}
	if (it->value != n->value) {
		op |= PUG_VALUE;
		col64(w->c, PUG_COL_VAL, it->value - n->value);
		n->value = it->value;
	}
	if (how == PUG_NODE_NEW) {
		table_insert(w, to);
		if (++w->used * 2 > w->mask)
			table_grow(w);
	}
	if (asked) {
		m->expect[hs] = to;
		x->hist = pug_hist_next(x->hist, to);
	}
	if (how)
		pug_learn(m, x->cur, to);
	x->cur = to;
	/* SIDE events come here even if they are free */
	if (op == was_mode << 3) {
		if (it->class != PUG_STATIC)
			n->sure = 1;
		w->run++;
	} else {
		if (it->class != PUG_STATIC)
			pug_restride(n, it->addr);
		put_op(w->c, w->run, op);
		w->run = 0;
	}
	if (it->ref)
		pug_ref_done(n, x, it->addr);
	else if (it->class != PUG_STATIC)
		n->last = it->addr;
}

/* ---- events with a record of their own ------------------------------------------------------------ */

static uint64_t def_hash(const struct pug_def *d)
{
	uint64_t h = 0, v[sizeof *d / 8];

	_Static_assert(sizeof *d % 8 == 0, "hashed by words");
	memcpy(v, d, sizeof *d);
	for (unsigned i = 0; i < NR(v); i++)
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15u ^ h >> 31;
	return h;
}

/* The number of the definition; *@fresh if it is a new one. */
static uint32_t def_number(struct pug_writer *w, const struct pug_def *d, bool *fresh)
{
	uint64_t h = def_hash(d);
	uint64_t *v;

	for (;; h++) {
		v = pm_map_put(&w->dict, h, fresh);
		if (*fresh)
			break;
		if (!memcmp(w->def + *v - 1, d, sizeof *d))
			return (uint32_t)*v - 1;
	}
	pm_grow(w->def, w->ndef, w->cap_def);
	w->def[w->ndef] = *d;
	*v = ++w->ndef;
	return w->ndef - 1;
}

static enum pm_status bad_event(const struct pm_event *ev, const char *what, struct pm_err *err)
{
	return pm_fail_file(err, "an event of kind %u (%s) %s", ev->kind, pm_kind_name(ev->kind), what);
}

static enum pm_status put_side(struct pug_writer *w, const struct pm_batch *b, const struct pm_event *ev,
			       struct pm_err *err)
{
	struct item it = { .class = PUG_SIDE };
	struct pm_event norm = *ev;
	struct pug_def def;
	bool fresh = false;
	const struct pm_rare *r;
	struct pm_buf *side = &w->c->side;
	size_t opaque = 0;

	norm.kind |= 0x80;
	it.addr = ev->addr;
	it.value = ev->value;
	switch (ev->kind) {
	case PM_EV_UOP:
		if (ev->id >= b->nuop)
			return bad_event(ev, "has no micro-op", err);
		pug_def_uop(&def, ev, b->uop + ev->id);
		it.addr = b->uop[ev->id].mem;
		it.value = b->uop[ev->id].target;
		it.ref = b->uop[ev->id].ldst != '-';
		norm.id = it.def = def_number(w, &def, &fresh);
		break;
	case PM_EV_BUS:
		if (ev->id >= b->nbus)
			return bad_event(ev, "has no bus transaction", err);
		pug_def_bus(&def, ev, b->bus + ev->id);
		it.value = b->bus[ev->id].data;
		it.ref = true;
		norm.id = it.def = def_number(w, &def, &fresh);
		break;
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
		if (ev->size != 16)
			break;
		if (b->narena < 16 || ev->addr > b->narena - 16)
			return bad_event(ev, "has no value", err);
		it.addr = 0;
		break;
	case PM_EV_OPAQUE:
		opaque = pm_opaque_bytes(b, ev);
		if (ev->size && !opaque)
			return bad_event(ev, "has no bytes", err);
		if (opaque)
			it.addr = 0;
		break;
	default:
		if (ev->kind == PM_EV_NONE || ev->kind >= PM_EV_COUNT)
			return bad_event(ev, "is unknown to this version", err);
		if (ev->id != PM_NONE) {
			if (ev->id >= b->nrare)
				return bad_event(ev, "has no record", err);
			norm.id = 0;
		}
		break;
	}
	memcpy(&it.sig, &norm, 8);
	w->defbuf.n = 0;
	if (fresh)
		pug_def_put(&w->defbuf, ev->kind, &def);
	put_event(w, &it, ev, fresh ? &w->defbuf : NULL);
	switch (ev->kind) {
	case PM_EV_UOP:
		break;
	case PM_EV_BUS:
		pug_varint(side, b->bus[ev->id].time + 1);
		break;
	case PM_EV_REG_READ:
	case PM_EV_REG_WRITE:
		if (ev->size == 16)
			pm_buf_add(side, b->arena + ev->addr, 16);
		break;
	case PM_EV_OPAQUE:
		pug_varint(side, opaque);
		if (opaque)
			pm_buf_add(side, b->arena + ev->addr, opaque);
		break;
	default:
		if (ev->kind == PM_EV_TIME)
			w->time = ev->value;
		if (ev->id == PM_NONE)
			break;
		r = b->rare + ev->id;
		pug_varint(side, r->code);
		pug_varint(side, r->nargs);
		for (unsigned i = 0; i < 8; i++)
			if (i < r->nargs)
				pug_varint(side, r->arg[i]);
		pug_string_put(side, r->name);
		break;
	}
	return PM_OK;
}

/* ---- chunks ------------------------------------------------------------------------------------- */

static void add_record(struct pug_writer *w, struct pm_buf *to, enum pug_tag tag, const struct pm_buf *raw)
{
	struct pug_rec r = { .tag = tag, .insns = w->tally.insns, .events = w->events, .time = w->time };
	size_t at = to->n;

	pm_buf_add(to, (uint8_t[PUG_RECORD]){ 0 }, PUG_RECORD);
	pug_pack(to, raw->p, raw->n, w->zfront, 3);
	r.size = (uint32_t)(to->n - at - PUG_RECORD);
	r.crc = pug_crc(to->p + at + PUG_RECORD, r.size);
	pug_rec_put(to->p + at, &r);
}

static void put_stream(struct pug_writer *w, const struct pm_stream *s, struct known_stream *k)
{
	struct pm_buf raw = { 0 };

	free(k->name);
	k->was = *s;
	k->name = s->name ? pm_strdup(s->name) : NULL;
	k->written = true;
	pug_varint(&raw, s->index);
	pug_varint(&raw, s->pid);
	pug_varint(&raw, s->tid);
	pug_varint(&raw, s->space);
	pug_string_put(&raw, s->name);
	add_record(w, &w->c->before, PUG_STRM, &raw);
	pm_buf_release(&raw);
}

static void put_codes(struct pug_writer *w)
{
	for (size_t i = 0; i < w->ncode; i++) {
		struct known_code *k = w->code + i;
		struct pm_buf raw = { 0 };

		if (k->done.ninsn == k->code->ninsn && k->done.nblock == k->code->nblock &&
		    k->done.nobject == k->code->nobject)
			continue;
		pug_code_put(&raw, (uint32_t)i, k->code, &k->done);
		add_record(w, &w->c->before, PUG_CODE, &raw);
		pm_buf_release(&raw);
	}
}

static void begin_chunk(struct pug_writer *w, struct chunk *c)
{
	c->neu.n = c->side.n = c->before.n = 0;
	memcpy(c->at, c->col, sizeof c->at);
	c->nslot = 0;
	c->events = 0;
	c->rec = (struct pug_rec){ .tag = PUG_DATA, .insns = w->tally.insns, .events = w->events,
				   .time = w->time };
	w->c = c;
	w->slot = NULL;
	w->run = 0;
	w->cut_soon = false;
	pug_model_reset(&w->m, w->level->level);
	memset(w->table, 0, ((size_t)w->mask + 1) * sizeof *w->table);
	w->used = 0;
	pm_map_release(&w->dict);
	w->ndef = 0;
}

static enum pm_status end_chunk(struct pug_writer *w, struct pm_err *err)
{
	struct chunk *c = w->c;

	reserve_ops(c, 1);
	if (w->run)
		put_op(c, w->run, PUG_NODE_SWITCH);	/* the last run needs an op to stand before */
	put_codes(w);
	if (!c->events && !c->before.n)
		return PM_OK;
	c->rec.ninsn = (uint32_t)(w->tally.insns - c->rec.insns);
	if (packer_wait(w, err) != PM_OK)
		return PM_ERR;
	if (!c->events)		/* only definitions are left */
		return write_before(w, c, err);
	if (!w->threaded)
		return pack_chunk(w, c, err);
	pthread_mutex_lock(&w->lock);
	w->job = c;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return PM_OK;
}

static struct known_stream *known_stream(struct pug_writer *w, const struct pm_stream *s)
{
	struct known_stream *k;

	if (s->index >= w->nstream) {
		size_t n = w->nstream ? w->nstream : 8;

		while (n <= s->index)
			n *= 2;
		w->stream = pm_realloc(w->stream, n * sizeof *w->stream);
		memset(w->stream + w->nstream, 0, (n - w->nstream) * sizeof *w->stream);
		w->nstream = n;
	}
	k = w->stream + s->index;
	if (!k->written || k->was.pid != s->pid || k->was.tid != s->tid || k->was.space != s->space ||
	    !k->name != !s->name || (s->name && strcmp(k->name, s->name)))
		put_stream(w, s, k);
	return k;
}

static uint32_t known_code(struct pug_writer *w, const struct pm_code *code)
{
	if (!code)
		return PM_NONE;
	for (size_t i = w->ncode; i--; )
		if (w->code[i].code == code)
			return (uint32_t)i;
	pm_grow(w->code, w->ncode, w->cap_code);
	w->code[w->ncode++] = (struct known_code){ .code = code };
	return (uint32_t)w->ncode - 1;
}

/* The slot of the batch's stream; an op tells the reader that it changed. */
static enum pm_status choose_slot(struct pug_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	struct chunk *c = w->c;
	size_t i;

	if (w->slot && w->slot->stream == b->stream && w->slot->code == b->code)
		return PM_OK;
	for (i = 0; i < c->nslot; i++)
		if (c->slot[i].stream == b->stream && c->slot[i].code == b->code)
			break;
	if (i == c->nslot) {
		struct known_stream *k;

		if (b->stream->index >= PUG_MAX_STREAMS)
			return pm_fail_file(err, "stream number %u is more than a .pug can hold", b->stream->index);
		k = known_stream(w, b->stream);
		pm_grow(c->slot, c->nslot, c->cap_slot);
		c->slot[c->nslot++] = (struct slot){
			.stream = b->stream, .index = b->stream->index, .code = b->code,
			.code_number = known_code(w, b->code),
			.insns_before = k->insns,
		};
		c->slot[i].ctx.code = c->slot[i].code_number + 1u;
	}
	if (w->slot || i) {
		reserve_ops(c, 1);
		put_op(c, w->run, PUG_NODE_SWITCH);
		w->run = 0;
		pug_varint(&c->side, i + 1);
	}
	w->slot = c->slot + i;
	return PM_OK;
}

/* HOT: events at nodes that the model expects, with addresses that it does or does not; the first
 * other one, or @end. There is room for an op for each. */
static const struct pm_event *expected_events(struct pug_writer *w, const struct pm_event *ev,
					      const struct pm_event *end)
{
	struct pug_node *node = w->m.node;
	uint32_t *expect = w->m.expect;
	const uint64_t *seen = w->m.seen;
	struct pug_ctx *x = &w->slot->ctx;
	uint32_t at = x->cur;
	uint32_t run = w->run;

	for (; ev < end; ev++) {
		const struct pug_node *cur = node + at;
		uint32_t p = cur->next, hs = 0;
		bool asked = cur->multi;
		struct pug_node *n;
		uint64_t sig;

		if (asked) {
			hs = pug_hist_slot(at, x->hist);
			p = expect[hs] ? expect[hs] : p;
		}
		n = node + p;
		memcpy(&sig, ev, 8);
		if (n->sig != sig || n->value != ev->value)
			break;
		if (n->class == (PUG_REF | PUG_IS_REF)) {
			uint64_t addr = ev->addr;

			if (__builtin_expect(n->mode != PUG_MODE_SEEN ? pug_predict(n, x, n->mode) == addr :
					     seen[pug_seen_slot(p, n->last)] == addr, 1)) {
				n->sure = 1;
				run++;
			} else {
				put_ref(w, x, p, addr, run);
				run = 0;
			}
			pug_ref_done(n, x, addr);
		} else {
			if (n->class == PUG_STATIC ? n->last != ev->addr || n->off[1] != x->code :
			    n->last + n->off[0] != ev->addr)
				break;
			/* static nodes have neither, nobody asks */
			n->last = ev->addr;
			n->sure = 1;
			run++;
		}
		if (asked) {
			expect[hs] = p;
			x->hist = pug_hist_next(x->hist, p);
		}
		at = p;
	}
	x->cur = at;
	w->run = run;
	return ev;
}

static enum pm_status put_events(struct pug_writer *w, const struct pm_batch *b, const struct pm_event *ev,
				 const struct pm_event *end, struct pm_err *err)
{
	reserve_ops(w->c, (size_t)(end - ev));
	while ((ev = expected_events(w, ev, end)) < end) {
		struct item it = { .class = pug_class[ev->kind], .addr = ev->addr, .value = ev->value };

		if (it.class == PUG_SIDE) {
			if (put_side(w, b, ev, err) != PM_OK)
				return PM_ERR;
			ev++;
			continue;
		}
		memcpy(&it.sig, ev, 8);
		it.ref = it.class == PUG_REF;
		if (it.class == PUG_STATIC)
			it.code = w->slot->ctx.code;
		if (ev->kind == PM_EV_BLOCK) {
			bool known = b->code && ev->id < b->code->nblock;

			if (!known && ev->id != PM_NONE)
				return bad_event(ev, "is not in the code table", err);
			if (known && ev->value > b->code->block[ev->id].n)
				return bad_event(ev, "executed more instructions than it has", err);
		}
		if ((ev->kind == PM_EV_INSN || ev->kind == PM_EV_BRANCH) && b->code && ev->id != PM_NONE &&
		    ev->id >= b->code->ninsn)
			return bad_event(ev, "is not in the code table", err);
		put_event(w, &it, ev, NULL);
		ev++;
	}
	return PM_OK;
}

/* Where a chunk may end: at the next block or instruction, so that no reference is cut off. */
static size_t next_boundary(const struct pm_batch *b, size_t i)
{
	for (size_t n = 0; i < b->n && n < PIECE; i++, n++)
		if (b->ev[i].kind == PM_EV_BLOCK || b->ev[i].kind == PM_EV_INSN ||
		    (b->ev[i].kind == PM_EV_UOP && b->ev[i].id < b->nuop && b->uop[b->ev[i].id].index == 1))
			break;
	return i;
}

static enum pm_status pug_begin(struct pug_writer *w, struct pm_err *err)
{
	uint8_t head[PUG_HEADER] = { 0 };
	struct pm_buf raw = { 0 };

	w->begun = true;
	memcpy(head, PUG_MAGIC, 8);
	head[8] = PUG_MAJOR;
	head[10] = PUG_MINOR;
	pug_put32(head + 12, PUG_HEADER);
	pug_put64(head + 16, w->opts.facts);
	pug_put32(head + 28, pug_crc(head, 28));
	if (pm_output_write(w->out, head, sizeof head, err) != PM_OK || pm_output_keep(w->out, err) != PM_OK)
		return PM_ERR;
	w->table = pm_alloc(((size_t)w->mask + 1) * sizeof *w->table);
	begin_chunk(w, w->chunks);
	pm_buf_printf(&raw, "tool=pugmark %s%clevel=%s%c", PM_VERSION, 0, w->level->name, 0);
	for (const char *const *kv = w->opts.info; kv && kv[0]; kv += 2)
		if (kv[1])
			pm_buf_printf(&raw, "%s=%s%c", kv[0], kv[1], 0);
	add_record(w, &w->c->before, PUG_INFO, &raw);
	pm_buf_release(&raw);
	/* whoever is killed early leaves at least a file that says what it was to be */
	if (write_before(w, w->c, err) != PM_OK || pm_output_flush(w->out, err) != PM_OK)
		return PM_ERR;
	w->c->before.n = 0;
	w->threaded = !pthread_create(&w->thread, NULL, packer, w);
	return PM_OK;
}

enum pm_status pug_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; i < b->n; ) {
		size_t end = b->n - i < PIECE ? b->n : i + PIECE;
		uint64_t insns;

		if (w->tally.insns - w->c->rec.insns >= w->level->insns || w->c->events >= w->level->events ||
		    w->c->side.n >= SIDE_BYTES || w->c->nslot == PUG_MAX_SLOTS) {
			bool full = w->c->events >= 2 * w->level->events || w->c->side.n >= SIDE_BYTES ||
				    w->c->nslot == PUG_MAX_SLOTS;

			end = next_boundary(b, i);
			if (end == i || full) {
				if (end_chunk(w, err) != PM_OK)
					return PM_ERR;
				begin_chunk(w, w->chunks + (w->c == w->chunks));
				continue;
			}
		}
		if (choose_slot(w, b, err) != PM_OK || put_events(w, b, b->ev + i, b->ev + end, err) != PM_OK)
			return PM_ERR;
		insns = pm_tally_add(&w->tally, b->ev + i, end - i);
		w->slot->insns += insns;
		w->stream[b->stream->index].insns += insns;
		w->c->events += (uint32_t)(end - i);
		w->events += end - i;
		i = end;
	}
	return PM_OK;
}

/* Totals, then where every record is; the trailer says where that is. */
static enum pm_status put_index(struct pug_writer *w, struct pm_err *err)
{
	struct pm_buf raw = { 0 }, payload = { 0 };
	struct pug_rec rec = { .tag = PUG_INDX, .insns = w->tally.insns, .events = w->events,
			       .time = w->time };
	uint64_t at = pm_output_offset(w->out), nstream = 0;
	uint8_t trail[PUG_TRAILER];
	enum pm_status s;

	pug_varint(&raw, PM_EV_COUNT);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		pug_varint(&raw, w->tally.kind[k]);
	for (size_t i = 0; i < w->nstream; i++)
		nstream += w->stream[i].written;
	pug_varint(&raw, nstream);
	for (size_t i = 0; i < w->nstream; i++)
		if (w->stream[i].written) {
			pug_varint(&raw, i);
			pug_varint(&raw, w->stream[i].insns);
		}
	pug_varint(&raw, w->nindex);
	pm_buf_add(&raw, w->index.p, w->index.n);
	pug_pack(&payload, raw.p, raw.n, w->zfront, 3);
	s = write_record(w, &rec, &payload, err);
	pm_buf_release(&raw);
	pm_buf_release(&payload);
	if (s != PM_OK)
		return s;
	pug_put64(trail, at);
	pug_put32(trail + 8, 0);
	pug_put32(trail + 12, pug_crc(trail, 12));
	memcpy(trail + 16, PUG_TRAIL_MAGIC, 8);
	return pm_output_write(w->out, trail, sizeof trail, err);
}

enum pm_status pug_write_finish(void *self, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	if (end_chunk(w, err) != PM_OK || packer_wait(w, err) != PM_OK)
		return PM_ERR;
	w->c = NULL;
	return put_index(w, err);
}

static enum pm_status parse_options(struct pug_writer *w, const char *o, struct pm_err *err)
{
	size_t n = strlen(o);

	w->level = levels + 1;
	if (!n)
		return PM_OK;
	if (!strncmp(o, "level=", 6)) {
		o += 6;
		n -= 6;
	}
	for (unsigned i = 0; i < NR(levels); i++)
		if (!strcmp(levels[i].name, o)) {
			w->level = levels + i;
			return PM_OK;
		}
	return pm_fail_file(err, "'%s' is not a level of .pug: fast, default or dense", o);
}

void *pug_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct pug_writer *w = pm_alloc(sizeof *w);

	if (parse_options(w, o->options ? o->options : "", err) != PM_OK) {
		free(w);
		return NULL;
	}
	w->out = out;
	w->opts = *o;
	w->mask = (1 << 14) - 1;
	pug_model_init(&w->m);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->zfront = ZSTD_createCCtx();
	w->zback = ZSTD_createCCtx();
	return w;
}

void pug_write_close(void *self)
{
	struct pug_writer *w = self;
	struct pm_err err = { 0 };

	if (!w)
		return;
	/* without finish() the file stays cut, but what was collected is worth a chunk */
	if (w->begun && w->c && end_chunk(w, &err) == PM_OK)
		packer_wait(w, &err);
	if (w->threaded) {
		pthread_mutex_lock(&w->lock);
		w->quit = true;
		pthread_cond_broadcast(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	if (w->begun && w->c)
		pm_output_flush(w->out, &err);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	ZSTD_freeCCtx(w->zfront);
	ZSTD_freeCCtx(w->zback);
	for (unsigned i = 0; i < 2; i++) {
		struct chunk *c = w->chunks + i;

		for (unsigned k = 0; k < PUG_NCOL; k++)
			free(c->col[k]);
		pm_buf_release(&c->neu);
		pm_buf_release(&c->side);
		pm_buf_release(&c->before);
		free(c->slot);
	}
	for (size_t i = 0; i < w->nstream; i++)
		free(w->stream[i].name);
	free(w->stream);
	free(w->code);
	free(w->table);
	free(w->def);
	pm_map_release(&w->dict);
	pm_buf_release(&w->defbuf);
	pm_buf_release(&w->planes);
	pm_buf_release(&w->packed);
	pm_buf_release(&w->index);
	pug_model_release(&w->m);
	free(w);
}
