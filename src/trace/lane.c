/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "trace/lane.h"
#include "trace/parcel.h"

#define QUEUE	16		/* batches that wait for one lane, at most */
#define SPIN	2000		/* looks at the queue before sleeping: some microseconds */

/* Arrays of a code table: they only ever grow, and never move under a reader. */
struct version {
	struct version *older;
	struct pm_insn *insn;
	struct pm_block *block;
	struct pm_object *object;
	size_t cap_insn, cap_block, cap_object;
};

struct lane_table {			/* the producer's, as far as it was seen */
	const struct pm_code *code;	/* the producer's own: its name here */
	struct pm_code now;
	struct version *v;
};

struct parcel {				/* a batch on its way */
	struct pm_parcel is;
	struct pm_stream stream;
	size_t table;			/* index; SIZE_MAX: no code */
	struct pm_code code;
	atomic_uint users;		/* lanes that are not done with it */
	struct parcel *next;		/* in the pool */
};

struct lane {
	struct pm_lanes *all;
	unsigned number;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct parcel *queue[QUEUE];
	atomic_uint head, tail;		/* taken, put: tail - head parcels are in the queue */
	atomic_bool sleeps, waits;	/* the lane for a parcel, the producer for room */
	atomic_bool over, failed;
	struct pm_err err;		/* once failed is set */
	/* the lane's own view of what the producer has */
	struct pm_code **code;
	size_t ncode;
	struct pm_stream **stream;	/* by index */
	size_t nstream;
};

struct pm_lanes {
	struct lane *lane;
	unsigned n;
	bool joined;
	pm_lane_consume *consume;
	void *arg;
	struct lane_table *table;
	size_t ntable, cap_table;
	struct pm_arena names;
	struct name { const char *was; const char *copy; } *name;	/* by stream */
	size_t nname;
	pthread_mutex_t lock;		/* of the pool */
	struct parcel *pool;
};

/* ---- parcels -------------------------------------------------------------------------------- */

static void parcel_free(struct parcel *p)
{
	pm_parcel_release(&p->is);
	free(p);
}

static struct parcel *parcel_get(struct pm_lanes *l)
{
	struct parcel *p;

	pthread_mutex_lock(&l->lock);
	p = l->pool;
	if (p)
		l->pool = p->next;
	pthread_mutex_unlock(&l->lock);
	return p ? p : pm_alloc(sizeof *p);
}

static void parcel_done(struct pm_lanes *l, struct parcel *p)
{
	if (atomic_fetch_sub(&p->users, 1) != 1)
		return;
	pthread_mutex_lock(&l->lock);
	p->next = l->pool;
	l->pool = p;
	pthread_mutex_unlock(&l->lock);
}

/* ---- what changes behind the producer's pointers -------------------------------------------- */

static void *extend(void *old, size_t done, size_t *cap, const void *from, size_t n, size_t size,
		    bool *moved)
{
	if (n > *cap) {
		void *v;

		*cap = n * 2;
		v = pm_realloc(NULL, *cap * size);
		if (done)
			memcpy(v, old, done * size);
		old = v;
		*moved = true;
	}
	if (n > done)
		memcpy((char *)old + done * size, (const char *)from + done * size,
		       (n - done) * size);
	return old;
}

static void free_versions(struct version *v)
{
	while (v) {
		struct version *older = v->older;

		free(v->insn);
		free(v->block);
		free(v->object);
		free(v);
		v = older;
	}
}

static size_t table_of(struct pm_lanes *l, const struct pm_code *code)
{
	struct lane_table *t;
	struct version *v, *was;
	bool moved = false;
	size_t i = l->ntable;

	while (i && l->table[i - 1].code != code)
		i--;
	if (!i) {
		pm_grow(l->table, l->ntable, l->cap_table);
		l->table[l->ntable] = (struct lane_table){ .code = code,
							   .v = pm_alloc(sizeof(struct version)) };
		i = ++l->ntable;
	}
	t = l->table + i - 1;
	if (t->now.epoch != code->epoch) {
		struct pm_err err = { 0 };

		/* it has begun anew, as the copy does as soon as nobody reads it; a lane's error
		 * comes with the push */
		pm_lanes_idle(l, &err);
		t->now = (struct pm_code){ .epoch = code->epoch };
		free_versions(t->v->older);
		t->v->older = NULL;
	}
	if (t->now.ninsn == code->ninsn && t->now.nblock == code->nblock &&
	    t->now.nobject == code->nobject)
		return i - 1;
	was = t->v;
	v = pm_alloc(sizeof *v);
	*v = *was;
	v->insn = extend(v->insn, t->now.ninsn, &v->cap_insn, code->insn, code->ninsn,
			 sizeof *v->insn, &moved);
	v->block = extend(v->block, t->now.nblock, &v->cap_block, code->block, code->nblock,
			  sizeof *v->block, &moved);
	v->object = extend(v->object, t->now.nobject, &v->cap_object, code->object, code->nobject,
			   sizeof *v->object, &moved);
	if (moved) {
		/* of the older arrays, those that went on are the newer version's */
		was->insn = v->insn == was->insn ? NULL : was->insn;
		was->block = v->block == was->block ? NULL : was->block;
		was->object = v->object == was->object ? NULL : was->object;
		v->older = was;
		t->v = v;
	} else {
		free(v);
		v = was;
	}
	t->now = (struct pm_code){ v->insn,	 v->block,	v->object,  code->ninsn,
				   code->nblock, code->nobject, code->epoch };
	return i - 1;
}

static const char *name_of(struct pm_lanes *l, const struct pm_stream *s)
{
	struct name *n;

	if (s->index >= l->nname) {
		size_t cap = s->index * 2 + 8;

		l->name = pm_realloc(l->name, cap * sizeof *l->name);
		memset(l->name + l->nname, 0, (cap - l->nname) * sizeof *l->name);
		l->nname = cap;
	}
	n = l->name + s->index;
	if (!s->name)
		return NULL;
	if (!n->copy || strcmp(n->copy, s->name))
		n->copy = pm_arena_strdup(&l->names, s->name);
	return n->copy;
}

static struct parcel *pack(struct pm_lanes *l, const struct pm_batch *b, const struct pm_packed *k)
{
	struct parcel *p = parcel_get(l);

	pm_parcel_fill(&p->is, b, k);
	p->stream = *b->stream;
	p->stream.name = name_of(l, b->stream);
	p->table = SIZE_MAX;
	if (b->code) {
		p->table = table_of(l, b->code);
		p->code = l->table[p->table].now;
	}
	return p;
}

/* ---- a lane's thread ------------------------------------------------------------------------ */

/* The batch as the lane's sinks may see it. */
static void unpack(struct lane *n, struct parcel *p, struct pm_batch *b)
{
	size_t s = p->stream.index;

	*b = p->is.b;
	if (s >= n->nstream) {
		size_t cap = s * 2 + 8;

		n->stream = pm_realloc(n->stream, cap * sizeof *n->stream);
		memset(n->stream + n->nstream, 0, (cap - n->nstream) * sizeof *n->stream);
		n->nstream = cap;
	}
	if (!n->stream[s])
		n->stream[s] = pm_alloc(sizeof **n->stream);
	*n->stream[s] = p->stream;
	b->stream = n->stream[s];
	if (p->table == SIZE_MAX)
		return;
	if (p->table >= n->ncode) {
		n->code = pm_realloc(n->code, (p->table + 1) * sizeof *n->code);
		while (n->ncode <= p->table)
			n->code[n->ncode++] = pm_alloc(sizeof **n->code);
	}
	*n->code[p->table] = p->code;
	b->code = n->code[p->table];
}

/* The next parcel; NULL: there will be none. */
static struct parcel *take(struct lane *n)
{
	unsigned head = atomic_load(&n->head);

	for (unsigned i = 0; i < SPIN && atomic_load(&n->tail) == head; i++)
		pm_relax();
	if (atomic_load(&n->tail) == head) {
		pthread_mutex_lock(&n->lock);
		atomic_store(&n->sleeps, true);
		while (atomic_load(&n->tail) == head && !atomic_load(&n->over))
			pthread_cond_wait(&n->filled, &n->lock);
		atomic_store(&n->sleeps, false);
		pthread_mutex_unlock(&n->lock);
	}
	return atomic_load(&n->tail) == head ? NULL : n->queue[head % QUEUE];
}

static void *lane_main(void *arg)
{
	struct lane *n = arg;
	struct pm_lanes *l = n->all;
	struct parcel *p;

	while ((p = take(n)) != NULL) {
		unsigned left;

		if (!atomic_load(&n->failed)) {
			struct pm_batch b;

			unpack(n, p, &b);
			if (l->consume(l->arg, n->number, &b,
				       p->is.is_packed ? &p->is.packed : NULL, &n->err) == PM_ERR)
				atomic_store(&n->failed, true);
		}
		parcel_done(l, p);
		left = atomic_load(&n->tail) - (atomic_fetch_add(&n->head, 1) + 1);
		/* not for every single one: waking somebody costs more than a batch */
		if (left <= QUEUE / 2 && atomic_load(&n->waits)) {
			pthread_mutex_lock(&n->lock);
			pthread_cond_signal(&n->emptied);
			pthread_mutex_unlock(&n->lock);
		}
	}
	return NULL;
}

/* ---- the producer's side -------------------------------------------------------------------- */

struct pm_lanes *pm_lanes_new(unsigned n, pm_lane_consume *consume, void *arg)
{
	struct pm_lanes *l = pm_alloc(sizeof *l);

	l->lane = pm_alloc(n * sizeof *l->lane);
	l->consume = consume;
	l->arg = arg;
	pthread_mutex_init(&l->lock, NULL);
	for (; l->n < n; l->n++) {
		struct lane *k = l->lane + l->n;

		k->all = l;
		k->number = l->n;
		pthread_mutex_init(&k->lock, NULL);
		pthread_cond_init(&k->filled, NULL);
		pthread_cond_init(&k->emptied, NULL);
		if (!pm_thread_start(&k->thread, lane_main, k))
			break;
	}
	if (l->n == n)
		return l;
	pm_lanes_free(l);
	return NULL;
}

static enum pm_status failure(const struct pm_lanes *l, struct pm_err *err)
{
	for (unsigned k = 0; k < l->n; k++)
		if (atomic_load(&l->lane[k].failed)) {
			if (!pm_failed(err))
				*err = l->lane[k].err;
			return PM_ERR;
		}
	return PM_OK;
}

static void put(struct lane *n, struct parcel *p)
{
	unsigned tail = atomic_load(&n->tail);

	if (tail - atomic_load(&n->head) == QUEUE) {
		pthread_mutex_lock(&n->lock);
		atomic_store(&n->waits, true);
		while (tail - atomic_load(&n->head) > QUEUE / 2)
			pthread_cond_wait(&n->emptied, &n->lock);
		atomic_store(&n->waits, false);
		pthread_mutex_unlock(&n->lock);
	}
	n->queue[tail % QUEUE] = p;
	atomic_store(&n->tail, tail + 1);
	if (atomic_load(&n->sleeps)) {
		pthread_mutex_lock(&n->lock);
		pthread_cond_signal(&n->filled);
		pthread_mutex_unlock(&n->lock);
	}
}

enum pm_status pm_lanes_push(struct pm_lanes *l, uint64_t which, const struct pm_batch *b,
			     const struct pm_packed *packed, struct pm_err *err)
{
	struct parcel *p;

	which &= (1ull << l->n) - 1;
	if (failure(l, err) != PM_OK)
		return PM_ERR;
	if (!which)
		return PM_OK;
	p = pack(l, b, packed);
	atomic_store(&p->users, (unsigned)__builtin_popcountll(which));
	for (unsigned k = 0; k < l->n; k++)
		if (which >> k & 1)
			put(l->lane + k, p);
	return PM_OK;
}

enum pm_status pm_lanes_idle(struct pm_lanes *l, struct pm_err *err)
{
	for (unsigned k = 0; k < l->n; k++) {
		struct lane *n = l->lane + k;

		pthread_mutex_lock(&n->lock);
		atomic_store(&n->waits, true);
		while (atomic_load(&n->tail) != atomic_load(&n->head))
			pthread_cond_wait(&n->emptied, &n->lock);
		atomic_store(&n->waits, false);
		pthread_mutex_unlock(&n->lock);
	}
	return failure(l, err);
}

enum pm_status pm_lanes_join(struct pm_lanes *l, struct pm_err *err)
{
	for (unsigned k = 0; k < l->n && !l->joined; k++) {
		struct lane *n = l->lane + k;

		pthread_mutex_lock(&n->lock);
		atomic_store(&n->over, true);
		pthread_cond_signal(&n->filled);
		pthread_mutex_unlock(&n->lock);
	}
	for (unsigned k = 0; k < l->n && !l->joined; k++)
		pthread_join(l->lane[k].thread, NULL);
	l->joined = true;
	return failure(l, err);
}

void pm_lanes_free(struct pm_lanes *l)
{
	struct pm_err ignored = { 0 };

	if (!l)
		return;
	pm_lanes_join(l, &ignored);
	for (unsigned k = 0; k < l->n; k++) {
		struct lane *n = l->lane + k;

		for (size_t i = 0; i < n->ncode; i++)
			free(n->code[i]);
		for (size_t i = 0; i < n->nstream; i++)
			free(n->stream[i]);
		free(n->code);
		free(n->stream);
		pthread_mutex_destroy(&n->lock);
		pthread_cond_destroy(&n->filled);
		pthread_cond_destroy(&n->emptied);
	}
	for (size_t i = 0; i < l->ntable; i++)
		free_versions(l->table[i].v);
	while (l->pool) {
		struct parcel *p = l->pool;

		l->pool = p->next;
		parcel_free(p);
	}
	pthread_mutex_destroy(&l->lock);
	pm_arena_release(&l->names);
	free(l->table);
	free(l->name);
	free(l->lane);
	free(l);
}
