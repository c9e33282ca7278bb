/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/mem.h"
#include "transform/maps.h"

#define STACK_STEP	(8u << 20)	/* a stack grows by no more between two looks at it */
#define PAGE		4096u

struct mapped_range { uint64_t lo, hi; bool stack; };

struct range_list {
	struct mapped_range *v;		/* sorted, disjoint */
	size_t n, cap, last;
};

/* What one process has from its beginning to its end, or until it executes another program. */
struct mapped_space {
	uint32_t pid, parent;		/* parent: whose memory it began with; PM_NONE: nobody's */
	bool known;			/* there was at least one PM_EV_MMAP */
	bool uncertain;			/* something of unknown size was mapped */
	uint32_t stream;		/* the only one so far */
	bool several;
	struct range_list now, gone;	/* gone: what it has had */
	uint64_t heap;			/* where brk began; 0: not known */
	uint64_t number, arg[3];	/* the system call under way; 0: none of ours */
};

struct pm_maps {
	struct mapped_space *space;
	size_t n, cap;
	uint32_t *of_stream;		/* 1 + number of its space; 0: none yet */
	size_t nstream;
};

struct pm_maps *pm_maps_new(void)
{
	return pm_alloc(sizeof(struct pm_maps));
}

void pm_maps_free(struct pm_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		free(m->space[i].now.v);
		free(m->space[i].gone.v);
	}
	free(m->space);
	free(m->of_stream);
	free(m);
}

/* The last one of process @pid; NULL: none. */
static struct mapped_space *find(struct pm_maps *m, uint32_t pid)
{
	for (size_t i = m->n; i-- > 0; )
		if (m->space[i].pid == pid)
			return m->space + i;
	return NULL;
}

static void set_space(struct pm_maps *m, const struct pm_stream *s, const struct mapped_space *sp)
{
	if (s->index >= m->nstream) {
		const size_t n = s->index < 8 ? 16 : 2 * (size_t)s->index;

		m->of_stream = pm_realloc(m->of_stream, n * sizeof *m->of_stream);
		memset(m->of_stream + m->nstream, 0, (n - m->nstream) * sizeof *m->of_stream);
		m->nstream = n;
	}
	m->of_stream[s->index] = 1 + (uint32_t)(sp - m->space);
}

/* Stream @s begins with a memory of its own, of which nothing is known. */
static struct mapped_space *space_new(struct pm_maps *m, const struct pm_stream *s)
{
	struct mapped_space *sp;

	pm_grow(m->space, m->n, m->cap);
	sp = m->space + m->n++;
	*sp = (struct mapped_space){ .pid = s->pid, .parent = PM_NONE, .stream = s->index };
	set_space(m, s, sp);
	return sp;
}

static struct mapped_space *space_of(struct pm_maps *m, const struct pm_stream *s)
{
	struct mapped_space *sp;

	if (s->index < m->nstream && m->of_stream[s->index]) {
		sp = m->space + m->of_stream[s->index] - 1;
		if (sp->pid == s->pid)
			return sp;
	}
	sp = find(m, s->pid);
	if (!sp)
		return space_new(m, s);
	sp->several = sp->several || sp->stream != s->index;
	set_space(m, s, sp);
	return sp;
}

/* The first range that ends behind @addr. */
static size_t first_behind(const struct range_list *l, uint64_t addr)
{
	return pm_upper_bound(l->v, l->n, .hi, addr);
}

static void insert(struct range_list *l, size_t at, struct mapped_range r)
{
	pm_grow(l->v, l->n, l->cap);
	memmove(l->v + at + 1, l->v + at, (l->n - at) * sizeof r);
	l->v[at] = r;
	l->n++;
}

static void remove_range(struct range_list *l, uint64_t lo, uint64_t hi)
{
	size_t i = first_behind(l, lo);

	l->last = 0;
	while (i < l->n && l->v[i].lo < hi) {
		struct mapped_range *r = l->v + i;

		if (r->lo < lo && r->hi > hi) {
			struct mapped_range rest = { hi, r->hi, r->stack };

			r->hi = lo;
			insert(l, i + 1, rest);
			return;
		}
		if (r->lo < lo) {
			r->hi = lo;
			i++;
		} else if (r->hi > hi) {
			r->lo = hi;
			return;
		} else {
			memmove(r, r + 1, (l->n - i - 1) * sizeof *r);
			l->n--;
		}
	}
}

static void add(struct range_list *l, uint64_t lo, uint64_t length, bool stack)
{
	uint64_t hi = lo + (length + PAGE - 1) / PAGE * PAGE;

	if (hi <= lo)			/* up to the last byte that there is */
		hi = UINT64_MAX;
	remove_range(l, lo, hi);
	insert(l, first_behind(l, lo), (struct mapped_range){ lo, hi, stack });
}

/* Results of brk, mremap and shmat, of both instruction sets: the numbers mean something else in
 * the other one, but nothing that returns such an address. */
static void returned(struct mapped_space *sp, uint64_t value)
{
	uint64_t number = sp->number;

	sp->number = 0;
	if (value < 65536 || value >= UINT64_MAX - PAGE)
		return;
	switch (number) {
	case 12: case 45:
		if (sp->arg[0] && sp->arg[0] != value)
			return;
		/* it began somewhere below; the parent's may be another program's by now */
		if (sp->heap ? value < sp->heap : sp->arg[0] != 0)
			sp->uncertain = true;
		else if (!sp->heap)
			sp->heap = value;
		else if (value > sp->heap)
			add(&sp->now, sp->heap, value - sp->heap, false);
		return;
	case 25: case 163:
		if (!(value % PAGE) && sp->arg[2])
			add(&sp->now, value, sp->arg[2], false);
		return;
	case 30:
		if (!(value % PAGE))
			sp->uncertain = true;
		return;
	}
}

/* Process @pid begins with a copy of its parent's memory: what the parent's streams say later is
 * looked up at the end. */
static void inherit(struct pm_maps *m, struct mapped_space *sp, uint32_t pid)
{
	const struct mapped_space *parent = find(m, pid);

	sp->parent = pid;
	if (!parent)
		return;
	for (size_t i = 0; i < parent->now.n; i++)
		insert(&sp->now, i, parent->now.v[i]);
	sp->known = parent->known;
	/* what its parent's other threads were mapping is not known */
	sp->uncertain = parent->uncertain || parent->several;
	sp->heap = parent->heap;
}

void pm_maps_event(struct pm_maps *m, const struct pm_batch *b, const struct pm_event *ev)
{
	const struct pm_rare *r = ev->id < b->nrare ? b->rare + ev->id : NULL;
	struct mapped_space *sp;
	uint64_t hi;

	switch (ev->kind) {
	case PM_EV_EXEC:
		space_new(m, b->stream);
		return;
	case PM_EV_PROCESS:
		sp = space_new(m, b->stream);
		if (r && r->nargs && r->arg[0] != b->stream->pid)
			inherit(m, sp, (uint32_t)r->arg[0]);
		return;
	case PM_EV_THREAD:
		space_of(m, b->stream)->several = true;
		return;
	case PM_EV_MMAP:
		sp = space_of(m, b->stream);
		sp->known = true;
		add(&sp->now, ev->addr, ev->value, r && r->name && !strcmp(r->name, "[stack]"));
		return;
	case PM_EV_MUNMAP:
		sp = space_of(m, b->stream);
		if (sp->several)
			return;
		hi = ev->addr + (ev->value + PAGE - 1) / PAGE * PAGE;
		remove_range(&sp->now, ev->addr, hi);
		add(&sp->gone, ev->addr, hi - ev->addr, false);
		return;
	case PM_EV_SYSCALL:
		sp = space_of(m, b->stream);
		sp->number = 0;
		if (r && r->nargs >= 3) {
			sp->number = ev->value;
			memcpy(sp->arg, r->arg, sizeof sp->arg);
		}
		return;
	case PM_EV_SYSRET:
		sp = space_of(m, b->stream);
		if (sp->number)
			returned(sp, ev->value);
		return;
	}
}

/* Does @l hold [*@addr, @end)? If not, *@addr is the first address that it lacks. A stack grows. */
static bool holds(struct range_list *l, uint64_t *addr, uint64_t end)
{
	if (l->last < l->n && *addr >= l->v[l->last].lo && end <= l->v[l->last].hi)
		return true;
	for (size_t i = first_behind(l, *addr); i < l->n; i++) {
		struct mapped_range *k = l->v + i;

		if (*addr < k->lo && k->stack && k->lo - *addr <= STACK_STEP) {
			uint64_t lo = *addr & ~(uint64_t)(PAGE - 1);

			if (!i || l->v[i - 1].hi <= lo)
				k->lo = lo;
		}
		if (*addr < k->lo)
			return false;
		l->last = i;
		if (end <= k->hi)
			return true;
		*addr = k->hi;		/* it reaches into the next one */
	}
	return false;
}

enum pm_mapped pm_maps_has(struct pm_maps *m, const struct pm_stream *s, uint64_t addr,
			   uint64_t size)
{
	struct mapped_space *sp = space_of(m, s);
	const uint64_t end = addr + size;

	if (!sp->known || sp->uncertain || end < addr)
		return PM_MAPPED_UNKNOWN;
	if (holds(&sp->now, &addr, end))
		return PM_MAPPED_YES;
	if (sp->several)
		return PM_MAPPED_NOT_YET;
	/* what it has unmapped itself its parent cannot have given it */
	return sp->parent == PM_NONE || holds(&sp->gone, &addr, addr + 1) ? PM_MAPPED_NO
									  : PM_MAPPED_NOT_YET;
}

uint32_t pm_maps_memory(struct pm_maps *m, const struct pm_stream *s)
{
	return (uint32_t)(space_of(m, s) - m->space);
}

bool pm_maps_shared(const struct pm_maps *m, uint32_t memory)
{
	return m->space[memory].several;
}

#define GENERATIONS 64			/* a number that is used again may be its own ancestor */

bool pm_maps_had(struct pm_maps *m, const struct pm_stream *s, uint64_t addr, uint64_t size)
{
	uint32_t pid = s->pid;

	for (unsigned k = 0; k < GENERATIONS && pid != PM_NONE; k++) {
		uint32_t parent = PM_NONE;

		for (size_t i = 0; i < m->n; i++) {
			struct mapped_space *sp = m->space + i;
			uint64_t at = addr;

			if (sp->pid != pid)
				continue;
			if (sp->uncertain || (!sp->known && sp->parent == PM_NONE) ||
			    holds(&sp->now, &at, addr + size))
				return true;
			at = addr;
			if (holds(&sp->gone, &at, addr + size))
				return true;
			if (sp->parent != PM_NONE)
				parent = sp->parent;
		}
		pid = parent;
	}
	return false;
}
