/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/mem.h"
#include "trace/kernel_event.h"
#include "transform/laplace.h"

#define PAGE_SHIFT 12

struct area {				/* pages [lo, hi) of an address space */
	uint64_t lo, hi, first;		/* page lo is page `first` of the object */
	uint32_t object;
	bool guess;			/* no event said so */
};
struct laplace_space {
	struct area *v;			/* sorted, disjoint */
	size_t n, cap;
};
enum object_kind { ANON, FILE_OBJECT, SHARED };
struct laplace_object {
	enum object_kind kind;
	uint64_t key[3];
	struct pm_map page;		/* index -> canonical number */
};

struct laplace_input {
	struct pm_source src;
	const struct pm_batch *b;
	size_t at;
	uint64_t time;
	bool end;
};

struct laplace_merge {
	struct laplace_input refs, events;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_map space_of;		/* context -> index into space */
	struct laplace_space *space;
	size_t nspace, cap_space;
	struct pm_map context_of;	/* task -> context */
	struct laplace_object *object;
	size_t nobject, cap_object;
	struct pm_map named;		/* hash of a file's or segment's name -> object, linear
					 * probing */
	uint64_t pages, time, context, kernel;
	bool timed, ended;		/* ended: no events come any more */
	struct pm_laplace_counts counts;
	/* What canonical() said last of pages, by their low bits; until the next event. */
	struct { uint64_t context, page, number; bool valid, mapped; } recent[256];
};

#define KERNEL_SPACE	UINT64_MAX	/* the context of the kernel's addresses */

/* ---- address spaces ------------------------------------------------------------------------- */

static struct laplace_space *space(struct laplace_merge *m, uint64_t context)
{
	bool fresh;
	uint64_t *at = pm_map_put(&m->space_of, context, &fresh);

	if (fresh) {
		*at = m->nspace;
		pm_grow(m->space, m->nspace, m->cap_space);
		m->space[m->nspace++] = (struct laplace_space){ 0 };
	}
	return &m->space[*at];
}

/* First area that ends behind @page. */
static size_t find(const struct laplace_space *s, uint64_t page)
{
	return pm_upper_bound(s->v, s->n, .hi, page);
}

static void insert(struct laplace_space *s, size_t at, struct area a)
{
	pm_grow(s->v, s->n, s->cap);
	memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof *s->v);
	s->v[at] = a;
	s->n++;
}

static void unmap(struct laplace_space *s, uint64_t lo, uint64_t hi)
{
	size_t i = find(s, lo), j;

	if (i < s->n && s->v[i].lo < lo && s->v[i].hi > hi) {	/* a hole in the middle */
		struct area right = s->v[i];

		right.first += hi - right.lo;
		right.lo = hi;
		s->v[i].hi = lo;
		insert(s, i + 1, right);
		return;
	}
	if (i < s->n && s->v[i].lo < lo)
		s->v[i++].hi = lo;
	for (j = i; j < s->n && s->v[j].hi <= hi; j++)
		;
	if (j < s->n)
		memmove(s->v + i, s->v + j, (s->n - j) * sizeof *s->v);
	s->n -= j - i;
	if (i < s->n && s->v[i].lo < hi) {
		s->v[i].first += hi - s->v[i].lo;
		s->v[i].lo = hi;
	}
}

static void map(struct laplace_space *s, uint64_t lo, uint64_t hi, uint32_t object, uint64_t first)
{
	if (lo >= hi)
		return;
	unmap(s, lo, hi);
	insert(s, find(s, lo), (struct area){ lo, hi, first, object, false });
}

/* ---- objects -------------------------------------------------------------------------------- */

static uint32_t fresh_object(struct laplace_merge *m)
{
	pm_grow(m->object, m->nobject, m->cap_object);
	m->object[m->nobject] = (struct laplace_object){ .kind = ANON };
	return (uint32_t)m->nobject++;
}

static uint32_t named_object(struct laplace_merge *m, enum object_kind kind, uint64_t a, uint64_t b,
			     uint64_t c)
{
	uint64_t hash = ((a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu ^ c) *
				0xc4ceb9fe1a85ec53u +
			kind;

	for (;; hash++) {
		bool fresh;
		uint64_t *at = pm_map_put(&m->named, hash, &fresh);
		struct laplace_object *o;

		if (fresh) {
			*at = fresh_object(m);
			o = &m->object[*at];
			o->kind = kind;
			o->key[0] = a;
			o->key[1] = b;
			o->key[2] = c;
			return (uint32_t)*at;
		}
		o = &m->object[*at];
		if (o->kind == kind && o->key[0] == a && o->key[1] == b && o->key[2] == c)
			return (uint32_t)*at;
	}
}

static uint64_t number(struct laplace_merge *m, uint32_t object, uint64_t index)
{
	bool fresh;
	uint64_t *at = pm_map_put(&m->object[object].page, index, &fresh);

	if (fresh)
		*at = ++m->pages;
	return *at;
}

/* *@mapped: an event said what is there. */
static uint64_t look_up(struct laplace_merge *m, uint64_t context, uint64_t page, bool *mapped)
{
	struct laplace_space *s = space(m, context);
	size_t i = find(s, page);

	if (i == s->n || s->v[i].lo > page) {
		uint32_t o = fresh_object(m);

		s = space(m, context);
		map(s, page, page + 1, o, 0);
		i = find(s, page);
		s->v[i].guess = true;
	}
	*mapped = !s->v[i].guess;
	return number(m, s->v[i].object, s->v[i].first + (page - s->v[i].lo));
}

/* HOT: once per reference. */
static uint64_t canonical(struct laplace_merge *m, uint64_t addr)
{
	bool kernel = pm_is_kernel_address(addr, m->kernel), known, mapped;
	uint64_t context = kernel ? KERNEL_SPACE : m->context, page = addr >> PAGE_SHIFT;
	unsigned at = page & (NR(m->recent) - 1);
	uint64_t n;

	known = !kernel && context && !m->ended;
	m->counts.user += known;
	if (m->recent[at].valid && m->recent[at].page == page &&
	    m->recent[at].context == context) {
		n = m->recent[at].number;
		mapped = m->recent[at].mapped;
	} else {
		n = look_up(m, context, page, &mapped);
		m->recent[at].valid = true;
		m->recent[at].page = page;
		m->recent[at].context = context;
		m->recent[at].number = n;
		m->recent[at].mapped = mapped;
	}
	if (known && !mapped && !m->counts.unmapped++) {
		m->counts.time = m->refs.time;
		m->counts.space = context;
		m->counts.addr = addr;
	}
	return n;
}

/* Pages of a file from index @from on exist no longer; when they come again they are others. */
static void retire(struct laplace_merge *m, uint32_t object, uint64_t from)
{
	struct pm_map old = m->object[object].page;
	uint64_t key, val;

	m->object[object].page = (struct pm_map){ 0 };
	for (size_t i = 0; pm_map_next(&old, &i, &key, &val); )
		if (key < from)
			*pm_map_put(&m->object[object].page, key, NULL) = val;
	pm_map_release(&old);
}

/* ---- replaying events ----------------------------------------------------------------------- */

static uint64_t context_of(struct laplace_merge *m, uint64_t pid)
{
	uint64_t *at = pm_map_get(&m->context_of, pid);

	return at ? *at : 0;
}

static uint64_t pages_up(uint64_t bytes)
{
	return (bytes >> PAGE_SHIFT) + ((bytes & ((1 << PAGE_SHIFT) - 1)) != 0);
}

static void emit_ref(struct laplace_merge *m, enum pm_kind kind, unsigned flags, unsigned size,
		     uint64_t addr, uint64_t page)
{
	struct pm_event *e;

	e = pm_builder_event(&m->b, kind);
	e->flags = (uint8_t)flags;
	e->size = (uint16_t)size;
	e->addr = addr;
	e->value = page;
}

static void file_access(struct laplace_merge *m, const struct pm_rare *r, bool write)
{
	uint32_t o = named_object(m, FILE_OBJECT, r->arg[1], r->arg[2], r->arg[3]);
	uint64_t lo = r->arg[4] >> PAGE_SHIFT, n;

	if (!r->arg[5] || r->arg[4] + r->arg[5] < r->arg[4])
		return;
	n = ((r->arg[4] + r->arg[5] - 1) >> PAGE_SHIFT) - lo + 1;
	/* one system call moves at most 2 GiB */
	for (uint64_t i = 0; i < n && i < 1 << 19; i++)
		emit_ref(m, write ? PM_EV_WRITE : PM_EV_READ, PM_REF_UNCACHED, 0, 0,
			 number(m, o, lo + i));
}

static void move(struct laplace_space *s, uint64_t to, uint64_t n, uint64_t from, uint64_t old)
{
	struct area *was = NULL;
	size_t nwas = 0, cap = 0;

	for (size_t i = find(s, from); i < s->n && s->v[i].lo < from + old; i++) {
		struct area a = s->v[i];

		if (a.lo < from) {
			a.first += from - a.lo;
			a.lo = from;
		}
		if (a.hi > from + old)
			a.hi = from + old;
		pm_grow(was, nwas, cap);
		was[nwas++] = a;
	}
	unmap(s, from, from + old);
	for (size_t i = 0; i < nwas; i++) {
		uint64_t lo = to + (was[i].lo - from), hi = to + (was[i].hi - from);

		/* the last one grows with the mapping */
		if (i + 1 == nwas && n > old && was[i].hi == from + old)
			hi = to + n;
		if (hi > to + n)
			hi = to + n;
		map(s, lo, hi, was[i].object, was[i].first);
	}
	free(was);
}

static void duplicate(struct laplace_merge *m, uint64_t from, uint64_t to, uint64_t lo, uint64_t hi)
{
	space(m, to);			/* may move the table: first */
	for (size_t i = find(space(m, from), lo); i < space(m, from)->n; i++) {
		struct area a = space(m, from)->v[i];

		if (a.lo >= hi)
			break;
		if (a.lo < lo) {
			a.first += lo - a.lo;
			a.lo = lo;
		}
		if (a.hi > hi)
			a.hi = hi;
		if (from != to)
			map(space(m, to), a.lo, a.hi, a.object, a.first);
	}
}

static void replay(struct laplace_merge *m, const struct pm_rare *r)
{
	const uint64_t *a = r->arg;
	uint64_t page = a[1] >> PAGE_SHIFT, n = pages_up(a[2]);
	uint32_t o;

	for (size_t i = 0; i < NR(m->recent); i++)
		m->recent[i].valid = false;
	if (page + n < page)
		return;			/* no such mapping */
	switch (r->code) {
	case PM_KERNEL_FORK:
		*pm_map_put(&m->context_of, a[0], NULL) = context_of(m, a[1]);
		break;
	case PM_KERNEL_CONTEXT:
		*pm_map_put(&m->context_of, a[0], NULL) = a[1];
		break;
	case PM_KERNEL_COPY_RANGE:
		duplicate(m, a[0], a[1], a[2] >> PAGE_SHIFT, pages_up(a[3]));
		break;
	case PM_KERNEL_MAP_FILE:
		o = named_object(m, FILE_OBJECT, a[3], a[4], a[5]);
		map(space(m, context_of(m, a[0])), page, page + n, o, a[6]);
		break;
	case PM_KERNEL_MAP:
		o = fresh_object(m);
		map(space(m, context_of(m, a[0])), page, page + n, o, 0);
		break;
	case PM_KERNEL_MAP_SHARED:
		o = named_object(m, SHARED, a[3], 0, 0);
		map(space(m, context_of(m, a[0])), page, page + n, o, 0);
		break;
	case PM_KERNEL_MOVE:
		if ((a[3] >> PAGE_SHIFT) + pages_up(a[4]) >= a[3] >> PAGE_SHIFT)
			move(space(m, context_of(m, a[0])), page, n, a[3] >> PAGE_SHIFT,
			     pages_up(a[4]));
		break;
	case PM_KERNEL_UNMAP:
		unmap(space(m, context_of(m, a[0])), page, page + n);
		break;
	case PM_KERNEL_UNMAP_ALL:
		space(m, a[0])->n = 0;
		break;
	case PM_KERNEL_COPY_ON_WRITE:
		o = fresh_object(m);
		map(space(m, context_of(m, a[0])), page, page + 1, o, 0);
		break;
	case PM_KERNEL_READ:
	case PM_KERNEL_WRITE:
		file_access(m, r, r->code == PM_KERNEL_WRITE);
		break;
	case PM_KERNEL_DELETE:
		retire(m, named_object(m, FILE_OBJECT, a[0], a[1], a[2]), 0);
		break;
	case PM_KERNEL_TRUNCATE:
		retire(m, named_object(m, FILE_OBJECT, a[0], a[1], a[2]), pages_up(a[3]));
		break;
	case PM_KERNEL_END:
		m->ended = true;
		break;
	}
}

/* ---- merging -------------------------------------------------------------------------------- */

/* The next event of the input that is no time, with in->time its time; NULL at the end. */
static const struct pm_event *peek(struct laplace_input *in, uint64_t *context, enum pm_status *st,
				   struct pm_err *err)
{
	*st = PM_OK;
	while (!in->end) {
		const struct pm_event *e;

		if (!in->b || in->at == in->b->n) {
			*st = in->src.ops->next(in->src.self, &in->b, err);
			in->at = 0;
			if (*st == PM_ERR)
				return NULL;
			if (*st == PM_END) {
				*st = PM_OK;
				in->end = true;
				in->b = NULL;
				break;
			}
			continue;
		}
		e = &in->b->ev[in->at];
		if (e->kind == PM_EV_TIME)
			in->time = e->value;
		else if (e->kind == PM_EV_SWITCH && context)
			*context = e->value;
		else if (e->kind == PM_EV_KERNEL || e->kind == PM_EV_INSN ||
			 e->kind == PM_EV_LINE ||
			 (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY))
			return e;
		in->at++;
	}
	return NULL;
}

static void put_time(struct laplace_merge *m, uint64_t time)
{
	if (m->timed && m->time == time)
		return;
	m->timed = true;
	m->time = time;
	pm_builder_event(&m->b, PM_EV_TIME)->value = time;
}

static void put_kernel(struct laplace_merge *m, const struct pm_batch *b, const struct pm_event *e)
{
	const struct pm_rare *r = &b->rare[e->id];
	struct pm_rare *to = pm_builder_rare(&m->b, PM_EV_KERNEL, r->name);
	const char *name = to->name;
	struct pm_event *ev = &m->b.ev[m->b.b.n - 1];

	*to = *r;
	to->name = name;
	ev->value = e->value;
	ev->flags = e->flags;
	replay(m, r);
}

static enum pm_status merge_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct laplace_merge *m = self;

	pm_builder_reset(&m->b, &m->stream, NULL);
	while (m->b.b.n < PM_BATCH_EVENTS) {
		enum pm_status st;
		const struct pm_event *k = NULL, *e = NULL;

		if (m->events.src.self)
			k = peek(&m->events, NULL, &st, err);
		if (m->events.src.self && st == PM_ERR)
			return st;
		e = peek(&m->refs, &m->context, &st, err);
		if (st == PM_ERR)
			return st;
		if (!k && !e)
			break;
		if (k && (!e || m->events.time <= m->refs.time)) {
			if (k->kind == PM_EV_KERNEL) {
				put_time(m, m->events.time);
				put_kernel(m, m->events.b, k);
			}
			m->events.at++;
			continue;
		}
		if (e->kind != PM_EV_KERNEL) {
			put_time(m, m->refs.time);
			emit_ref(m, (enum pm_kind)e->kind, e->flags & ~PM_REF_UNCACHED, e->size,
				 e->addr, canonical(m, e->addr));
		} else if (!m->events.src.self) {
			put_time(m, m->refs.time);
			put_kernel(m, m->refs.b, e);
		}
		m->refs.at++;
	}
	if (!m->b.b.n)
		return PM_END;
	*batch = pm_builder_batch(&m->b);
	return PM_OK;
}

static void merge_close(void *self)
{
	struct laplace_merge *m = self;

	if (!m)
		return;
	m->refs.src.ops->close(m->refs.src.self);
	if (m->events.src.self)
		m->events.src.ops->close(m->events.src.self);
	for (size_t i = 0; i < m->nspace; i++)
		free(m->space[i].v);
	for (size_t i = 0; i < m->nobject; i++)
		pm_map_release(&m->object[i].page);
	free(m->space);
	free(m->object);
	pm_map_release(&m->space_of);
	pm_map_release(&m->context_of);
	pm_map_release(&m->named);
	pm_builder_release(&m->b);
	free(m);
}

static const struct pm_source_ops merge_ops = { "merged Laplace traces", merge_next, merge_close };

struct pm_source pm_laplace_merge(const struct pm_source *refs, const struct pm_source *events,
				  uint64_t kernel)
{
	struct laplace_merge *m = pm_alloc(sizeof *m);

	m->refs.src = *refs;
	if (events)
		m->events.src = *events;
	m->kernel = kernel;
	return (struct pm_source){ &merge_ops, m,
				   refs->facts | (events ? events->facts : 0) | PM_HAS_PAGES };
}

const struct pm_laplace_counts *pm_laplace_counts(const struct pm_source *merge)
{
	return &((const struct laplace_merge *)merge->self)->counts;
}
