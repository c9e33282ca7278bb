/* SPDX-License-Identifier: MIT */
/* branch_sum.c - runs and moves of each object to its branches and ranges
 *
 * RANGES. What falls from one run into the next goes on in the same range. Runs are taken by
 * ascending address, so that everything that falls to an address is known before what runs there is
 * taken: it waits there as *portions*, a beginning and a number of times. What ran more often than
 * that was come to in another way: a new range begins. Of what ran, the oldest portions end there
 * as often as control went elsewhere; the others wait behind it. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_work.h"
#include "base/radix.h"
#include "pugmark/pugmark.h"

struct portion {
	uint64_t lo, last, count;	/* last: instruction that it came from */
	uint32_t next;			/* of those that wait at the same address; 0: none */
	bool returned;
};

struct sweep {
	struct pm_branch_object *o;
	struct portion *portion;	/* [0] is none */
	size_t n, cap;
	uint32_t spare;			/* those that are done with */
	struct pm_map waiting;		/* address -> the first one that waits there */
};

static void add_range(struct pm_branch_object *o, uint64_t lo, uint64_t hi, uint64_t count,
		      bool returned)
{
	pm_grow(o->range, o->nrange, o->cap_range);
	o->range[o->nrange++] = (struct pm_branch_range){ lo, hi, count, returned };
}

static uint32_t new_portion(struct sweep *s)
{
	uint32_t i = s->spare;

	if (i) {
		s->spare = s->portion[i].next;
		return i;
	}
	pm_grow(s->portion, s->n, s->cap);
	return (uint32_t)s->n++;
}

/* In front of the list *@head. */
static void add_portion(struct sweep *s, uint32_t *head, struct portion p)
{
	uint32_t i;

	if (!p.count)
		return;
	i = new_portion(s);
	p.next = *head;
	s->portion[i] = p;
	*head = i;
}

static struct portion first_portion(struct sweep *s, uint32_t *head, uint64_t most)
{
	struct portion *p = &s->portion[*head], got = *p;
	const uint32_t i = *head;

	if (got.count > most) {
		p->count -= most;
		got.count = most;
		return got;
	}
	*head = p->next;
	p->next = s->spare;
	s->spare = i;
	return got;
}

static uint64_t sum_of(const struct sweep *s, uint32_t head)
{
	uint64_t n = 0;

	for (; head; head = s->portion[head].next)
		n += s->portion[head].count;
	return n;
}

/* One run, as often as it executed, from what waits in *@head. */
static void run_from(struct sweep *s, const struct branch_run *r, uint32_t *head)
{
	uint64_t ends = r->total - r->falls, left = r->total;
	uint32_t on = 0;

	while (left && *head) {
		struct portion p = first_portion(s, head, ends && ends < left ? ends : left);

		left -= p.count;
		if (ends) {
			add_range(s->o, p.lo, r->last, p.count, p.returned);
			ends -= p.count;
			continue;
		}
		p.last = r->last;
		add_portion(s, &on, p);
	}
	while (on) {				/* the list of the next address; it may have some */
		struct portion p = first_portion(s, &on, UINT64_MAX);
		uint64_t *at = pm_map_put(&s->waiting, r->end, NULL);
		uint32_t list = (uint32_t)*at;

		add_portion(s, &list, p);
		*at = list;
	}
}

/* How often a return came to @addr; moves are by target from *@k on. */
static uint64_t returns_to(const struct branch_move *m, size_t n, size_t *k, uint64_t addr)
{
	uint64_t count = 0;

	while (*k < n && m[*k].b.to < addr)
		++*k;
	for (; *k < n && m[*k].b.to == addr; ++*k)
		count += m[*k].b.returns ? m[*k].b.count : 0;
	return count;
}

/* @n runs of one object, by address; @m: moves to it, by target. */
static void sweep_object(struct pm_branch_object *o, const struct branch_run *r, size_t n,
			 const struct branch_move *m, size_t nm)
{
	struct sweep s = { .o = o, .n = 1 };
	uint64_t key, first;
	size_t k = 0;

	s.cap = 64;
	s.portion = pm_alloc(s.cap * sizeof *s.portion);
	for (size_t i = 0, j; i < n; i = j) {
		const uint64_t *at = pm_map_get(&s.waiting, r[i].lo);
		uint32_t head = at ? (uint32_t)*at : 0;
		uint64_t need = 0, came = sum_of(&s, head), back;

		for (j = i; j < n && r[j].lo == r[i].lo; j++)
			need += r[j].total;
		back = returns_to(m, nm, &k, r[i].lo);
		if (need > came) {
			const uint64_t fresh = need - came;

			back = back < fresh ? back : fresh;
			add_portion(&s, &head, (struct portion){ r[i].lo, 0, fresh - back, 0,
								 false });
			add_portion(&s, &head, (struct portion){ r[i].lo, 0, back, 0, true });
		}
		if (at)
			pm_map_del(&s.waiting, r[i].lo);
		for (size_t t = i; t < j; t++)
			run_from(&s, &r[t], &head);
		while (head) {		/* it came here, and what it found was not executed */
			struct portion p = first_portion(&s, &head, UINT64_MAX);

			add_range(o, p.lo, p.last, p.count, p.returned);
		}
	}
	for (size_t i = 0; pm_map_next(&s.waiting, &i, &key, &first); )
		for (uint32_t head = (uint32_t)first; head; ) {
			struct portion p = first_portion(&s, &head, UINT64_MAX);

			add_range(o, p.lo, p.last, p.count, p.returned);
		}
	pm_map_release(&s.waiting);
	free(s.portion);
}

static int by_object_address(const void *a, const void *b)
{
	const struct branch_run *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

#define KEY(type, field) { offsetof(type, field), sizeof ((type *)0)->field }
static const struct pm_radix_key object_address[] = {
	KEY(struct branch_run, object), KEY(struct branch_run, lo), KEY(struct branch_run, end),
}, target[] = {
	KEY(struct branch_move, to_object), KEY(struct branch_move, b.to),
}, branch[] = {
	KEY(struct pm_branch, from), KEY(struct pm_branch, to),
}, range[] = {
	KEY(struct pm_branch_range, lo), KEY(struct pm_branch_range, hi),
	KEY(struct pm_branch_range, returned),
};

static int by_branch(const void *a, const void *b)
{
	const struct pm_branch *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static int by_range(const void *a, const void *b)
{
	const struct pm_branch_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return (int)x->returned - (int)y->returned;
}

static void add_branch(struct pm_branch_object *o, struct pm_branch b)
{
	pm_grow(o->branch, o->nbranch, o->cap_branch);
	o->branch[o->nbranch++] = b;
}

static void join_equal(struct pm_branch_object *o)
{
	size_t n = 0;

	pm_radix_sort(o->branch, o->nbranch, sizeof *o->branch, branch, NR(branch));
	for (size_t i = 0; i < o->nbranch; i++)
		if (n && !by_branch(&o->branch[n - 1], &o->branch[i])) {
			o->branch[n - 1].count += o->branch[i].count;
			o->branch[n - 1].missed += o->branch[i].missed;
		} else {
			o->branch[n++] = o->branch[i];
		}
	o->nbranch = n;
	n = 0;
	pm_radix_sort(o->range, o->nrange, sizeof *o->range, range, NR(range));
	for (size_t i = 0; i < o->nrange; i++)
		if (n && !by_range(&o->range[n - 1], &o->range[i]))
			o->range[n - 1].count += o->range[i].count;
		else
			o->range[n++] = o->range[i];
	o->nrange = n;
}

/* The same instructions are one run, however often they were translated: which portions go on where
 * depends on it. */
static void join_runs(struct branch_work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->nrun; i++)
		if (n && !by_object_address(&w->run[n - 1], &w->run[i])) {
			w->run[n - 1].total += w->run[i].total;
			w->run[n - 1].falls += w->run[i].falls;
		} else {
			w->run[n++] = w->run[i];
		}
	w->nrun = n;
}

/* Those within an object, and then those that leave it: two sorted runs where the moves are by
 * address. */
static void add_moves_from(const struct branch_work *w, struct pm_branches *out)
{
	for (int leaves = 0; leaves < 2; leaves++)
		for (size_t i = 0; i < w->nmove; i++) {
			const struct branch_move *m = &w->move[i];
			struct pm_branch b = m->b;

			if (m->from_object == PM_NONE ||
			    (m->from_object != m->to_object) != leaves)
				continue;
			if (leaves)
				b.to = 0;
			add_branch(&out->object[m->from_object], b);
		}
}

/* From elsewhere: one sorted run where the moves are by target. */
static void add_moves_to(const struct branch_work *w, struct pm_branches *out)
{
	for (size_t i = 0; i < w->nmove; i++) {
		const struct branch_move *m = &w->move[i];
		struct pm_branch b = m->b;

		if (m->to_object == PM_NONE || m->from_object == m->to_object)
			continue;
		b.from = 0;
		add_branch(&out->object[m->to_object], b);
	}
}

void pm_branch_sum(struct branch_work *w, struct pm_branches *out)
{
	size_t r = 0, m = 0;

	add_moves_from(w, out);
	pm_radix_sort(w->move, w->nmove, sizeof *w->move, target, NR(target));
	add_moves_to(w, out);
	pm_radix_sort(w->run, w->nrun, sizeof *w->run, object_address, NR(object_address));
	join_runs(w);
	for (uint32_t k = 0; k < out->n; k++) {
		const size_t r0 = r, m0 = m;

		while (r < w->nrun && w->run[r].object == k)
			r++;
		while (m < w->nmove && w->move[m].to_object == k)
			m++;
		sweep_object(&out->object[k], w->run + r0, r - r0, w->move + m0, m - m0);
		join_equal(&out->object[k]);
	}
	free(w->run);
	free(w->move);
	*w = (struct branch_work){ 0 };
}

void pm_branches_release(struct pm_branches *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->object[i].path);
		free(b->object[i].build_id);
		free(b->object[i].branch);
		free(b->object[i].range);
		free(b->object[i].code);
	}
	free(b->object);
	free(b->program);
	*b = (struct pm_branches){ 0 };
}

/* The object whose path is @name or, for want of one, ends in it. */
const struct pm_branch_object *pm_branches_program(const struct pm_branches *b)
{
	const char *name = b->program ? strrchr(b->program, '/') : NULL;
	const struct pm_branch_object *found = NULL;

	if (!b->program)
		return NULL;
	name = name ? name + 1 : b->program;
	for (size_t i = 0; i < b->n; i++) {
		const char *base = strrchr(b->object[i].path, '/');

		if (!strcmp(b->object[i].path, b->program))
			return &b->object[i];
		if (!found && base && !strcmp(base + 1, name))
			found = &b->object[i];
	}
	return found;
}

static int by_insns(const void *a, const void *b)
{
	const struct pm_branch_object *x = *(const struct pm_branch_object *const *)a;
	const struct pm_branch_object *y = *(const struct pm_branch_object *const *)b;

	if (x->insns != y->insns)
		return x->insns < y->insns ? 1 : -1;
	return strcmp(x->path, y->path);
}

void pm_branches_result(const struct pm_branches *b, struct pm_result *r)
{
	const struct pm_branch_object **order = pm_alloc((b->n + 1) * sizeof *order);

	for (size_t i = 0; i < b->n; i++)
		order[i] = &b->object[i];
	qsort(order, b->n, sizeof *order, by_insns);
	pm_result_begin(r, "branches");
	pm_result_begin_list(r, "objects");
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_branch_object *o = order[i];
		uint64_t taken = 0, missed = 0;

		for (size_t k = 0; k < o->nbranch; k++) {
			taken += o->branch[k].count;
			missed += o->branch[k].missed;
		}
		if (!o->insns)
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "instructions", o->insns, "instructions");
		pm_result_u64(r, "taken", taken, "branches");
		if (b->predicted)
			pm_result_u64(r, "mispredicted", missed, "branches");
		pm_result_u64(r, "different_branches", o->nbranch, "branches");
		pm_result_u64(r, "ranges", o->nrange, "ranges");
		pm_result_str(r, "object", o->path);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	free(order);
}
