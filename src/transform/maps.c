/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transform/maps.h"

#define STACK_STEP	(8u << 20)	/* a stack grows by no more between two looks at it */
#define PAGE		4096u

struct mapped_range { uint64_t lo, hi; bool stack; };

struct mapped_space {			/* of one process */
	uint32_t pid;
	bool known;			/* there was at least one PM_EV_MMAP */
	bool uncertain;			/* something of unknown size was mapped */
	uint32_t stream;		/* the only one so far */
	bool several;
	struct mapped_range *range;		/* sorted, disjoint */
	size_t n, cap, last;
	uint64_t heap;			/* where brk began; 0: not known */
	uint64_t number, arg[3];	/* the system call under way; 0: none of ours */
};

struct pm_maps {
	struct mapped_space *space;
	size_t n, cap, last;
};

struct pm_maps *pm_maps_new(void)
{
	return pm_alloc(sizeof(struct pm_maps));
}

void pm_maps_free(struct pm_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->space[i].range);
	free(m->space);
	free(m);
}

static struct mapped_space *find(struct pm_maps *m, uint32_t pid)
{
	if (m->last < m->n && m->space[m->last].pid == pid)
		return m->space + m->last;
	for (m->last = 0; m->last < m->n; m->last++)
		if (m->space[m->last].pid == pid)
			return m->space + m->last;
	return NULL;
}

static struct mapped_space *space_of(struct pm_maps *m, const struct pm_stream *s)
{
	struct mapped_space *sp = find(m, s->pid);

	if (!sp) {
		pm_grow(m->space, m->n, m->cap);
		m->last = m->n;
		sp = m->space + m->n++;
		*sp = (struct mapped_space){ .pid = s->pid, .stream = s->index };
	}
	sp->several = sp->several || sp->stream != s->index;
	return sp;
}

/* The first range that ends behind @addr. */
static size_t first_behind(const struct mapped_space *sp, uint64_t addr)
{
	size_t lo = 0, hi = sp->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (sp->range[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void insert(struct mapped_space *sp, size_t at, struct mapped_range r)
{
	pm_grow(sp->range, sp->n, sp->cap);
	memmove(sp->range + at + 1, sp->range + at, (sp->n - at) * sizeof r);
	sp->range[at] = r;
	sp->n++;
}

static void take_away(struct mapped_space *sp, uint64_t lo, uint64_t hi)
{
	size_t i = first_behind(sp, lo);

	sp->last = 0;
	while (i < sp->n && sp->range[i].lo < hi) {
		struct mapped_range *r = sp->range + i;

		if (r->lo < lo && r->hi > hi) {
			struct mapped_range rest = { hi, r->hi, r->stack };

			r->hi = lo;
			insert(sp, i + 1, rest);
			return;
		}
		if (r->lo < lo) {
			r->hi = lo;
			i++;
		} else if (r->hi > hi) {
			r->lo = hi;
			return;
		} else {
			memmove(r, r + 1, (sp->n - i - 1) * sizeof *r);
			sp->n--;
		}
	}
}

static void add(struct mapped_space *sp, uint64_t lo, uint64_t length, bool stack)
{
	uint64_t hi = lo + (length + PAGE - 1) / PAGE * PAGE;

	if (hi <= lo)			/* up to the last byte that there is */
		hi = UINT64_MAX;
	take_away(sp, lo, hi);
	insert(sp, first_behind(sp, lo), (struct mapped_range){ lo, hi, stack });
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
		if (!sp->heap)
			sp->heap = value;
		else if (value > sp->heap)
			add(sp, sp->heap, value - sp->heap, false);
		return;
	case 25: case 163:
		if (!(value % PAGE) && sp->arg[2])
			add(sp, value, sp->arg[2], false);
		return;
	case 30:
		if (!(value % PAGE))
			sp->uncertain = true;
		return;
	}
}

void pm_maps_event(struct pm_maps *m, const struct pm_batch *b, const struct pm_event *ev)
{
	const struct pm_rare *r = ev->id < b->nrare ? b->rare + ev->id : NULL;
	struct mapped_space *sp, *parent;
	struct mapped_range *copy;

	switch (ev->kind) {
	case PM_EV_EXEC:
		sp = space_of(m, b->stream);
		sp->n = sp->last = 0;
		sp->known = sp->uncertain = sp->several = false;
		sp->stream = b->stream->index;
		sp->heap = sp->number = 0;
		return;
	case PM_EV_PROCESS:
		sp = space_of(m, b->stream);
		parent = r && r->nargs ? find(m, (uint32_t)r->arg[0]) : NULL;
		if (!parent || parent == sp || sp->known)
			return;
		copy = sp->range;
		sp->range = pm_realloc(copy, (parent->n + 1) * sizeof *copy);
		sp->cap = parent->n + 1;
		if (parent->n)
			memcpy(sp->range, parent->range, parent->n * sizeof *copy);
		sp->n = parent->n;
		sp->last = 0;
		sp->known = parent->known;
		/* what its parent's other threads were mapping is not known */
		sp->uncertain = parent->uncertain || parent->several;
		sp->heap = parent->heap;
		return;
	case PM_EV_MMAP:
		sp = space_of(m, b->stream);
		sp->known = true;
		add(sp, ev->addr, ev->value, r && r->name && !strcmp(r->name, "[stack]"));
		return;
	case PM_EV_MUNMAP:
		sp = space_of(m, b->stream);
		if (!sp->several)
			take_away(sp, ev->addr, ev->addr + (ev->value + PAGE - 1) / PAGE * PAGE);
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

enum pm_mapped pm_maps_has(struct pm_maps *m, const struct pm_stream *s, uint64_t addr,
			   uint64_t size)
{
	struct mapped_space *sp = space_of(m, s);
	uint64_t end = addr + size;
	const struct mapped_range *r = sp->range + sp->last;
	size_t i;

	if (!sp->known || sp->uncertain || end < addr)
		return PM_MAPPED_UNKNOWN;
	if (sp->last < sp->n && addr >= r->lo && end <= r->hi)
		return PM_MAPPED_YES;
	for (i = first_behind(sp, addr); i < sp->n; i++) {
		struct mapped_range *k = sp->range + i;

		if (addr < k->lo && k->stack && k->lo - addr <= STACK_STEP) {
			uint64_t lo = addr & ~(uint64_t)(PAGE - 1);

			if (!i || sp->range[i - 1].hi <= lo)
				k->lo = lo;
		}
		if (addr < k->lo)
			break;
		sp->last = i;
		if (end <= k->hi)
			return PM_MAPPED_YES;
		addr = k->hi;		/* it reaches into the next one */
	}
	return sp->several ? PM_MAPPED_NOT_YET : PM_MAPPED_NO;
}
