/* SPDX-License-Identifier: MIT */
/* sorter.c - runs of RUN records are sorted in memory; FAN runs of one level become one of the next
 *
 * Runs of a higher level hold earlier records than those of a lower one, and within a level they
 * stand in order, so of equal keys the one of the run that comes first here is the earlier. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sorter.h"
#include "base/temp.h"

#define RUN	(1u << 17)	/* records sorted in memory: 3 MiB, and as much to sort them with */
#define FAN	32
#define LEVELS	8		/* RUN * FAN^LEVELS = 2^57 records */
#define BLOCK	1024		/* records of a run read at once */

struct sorter_run {
	uint64_t at, n;			/* in records, of the level's file */
};

struct sorter_level {
	int fd;				/* -1: no file yet */
	uint64_t end;
	struct sorter_run run[FAN];
	unsigned n;
};

/* A run that is being read. */
struct sorter_head {
	int fd;
	uint64_t at, left;		/* records that are not in the block yet */
	unsigned i, n;
	struct pm_sort_rec block[BLOCK];
};

struct sorter_merge {
	struct sorter_head *head[FAN * LEVELS];
	unsigned heap[FAN * LEVELS];	/* of heads, by key, then by number */
	unsigned n, nheap;
};

struct pm_sorter {
	struct pm_sort_rec *buf, *other;
	size_t n, at;			/* records in buf; of those, lent already */
	struct sorter_level level[LEVELS];
	struct sorter_merge merge;
	bool sorted, merging;
};

struct pm_sorter *pm_sorter_new(void)
{
	struct pm_sorter *s = pm_alloc(sizeof *s);

	for (unsigned i = 0; i < LEVELS; i++)
		s->level[i].fd = -1;
	return s;
}

/* Byte by byte from the lowest; bytes that all keys have in common cost nothing. */
static void sort(struct pm_sorter *s)
{
	uint64_t all = ~0ull, any = 0;

	for (size_t i = 0; i < s->n; i++) {
		all &= s->buf[i].key;
		any |= s->buf[i].key;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint32_t at[256] = { 0 }, sum = 0;
		struct pm_sort_rec *t;

		if (!((all ^ any) >> shift & 0xff))
			continue;
		for (size_t i = 0; i < s->n; i++)
			at[s->buf[i].key >> shift & 0xff]++;
		for (unsigned k = 0; k < 256; k++) {
			uint32_t n = at[k];

			at[k] = sum;
			sum += n;
		}
		for (size_t i = 0; i < s->n; i++)
			s->other[at[s->buf[i].key >> shift & 0xff]++] = s->buf[i];
		t = s->buf;
		s->buf = s->other;
		s->other = t;
	}
}

/* ---- merging -------------------------------------------------------------------------------- */

static enum pm_status fill(struct sorter_head *h, struct pm_err *err)
{
	h->i = 0;
	h->n = h->left < BLOCK ? (unsigned)h->left : BLOCK;
	h->left -= h->n;
	h->at += h->n;
	return pm_temp_read(h->fd, h->block, h->n * sizeof *h->block,
			    (h->at - h->n) * sizeof *h->block, err);
}

static bool before(const struct sorter_merge *m, unsigned a, unsigned b)
{
	uint64_t x = m->head[a]->block[m->head[a]->i].key, y = m->head[b]->block[m->head[b]->i].key;

	return x < y || (x == y && a < b);
}

static void sift(struct sorter_merge *m, unsigned i)
{
	unsigned v = m->heap[i];

	for (unsigned k; (k = 2 * i + 1) < m->nheap; i = k) {
		if (k + 1 < m->nheap && before(m, m->heap[k + 1], m->heap[k]))
			k++;
		if (!before(m, m->heap[k], v))
			break;
		m->heap[i] = m->heap[k];
	}
	m->heap[i] = v;
}

static enum pm_status add_head(struct sorter_merge *m, int fd, struct sorter_run r,
			       struct pm_err *err)
{
	struct sorter_head *h = pm_realloc(NULL, sizeof *h);

	h->fd = fd;
	h->at = r.at;
	h->left = r.n;
	m->heap[m->n] = m->n;
	m->head[m->n++] = h;
	m->nheap = m->n;
	return fill(h, err);
}

static void begin_merge(struct sorter_merge *m)
{
	for (unsigned i = m->nheap / 2; i--; )
		sift(m, i);
}

static enum pm_status next_of(struct sorter_merge *m, struct pm_sort_rec *r, struct pm_err *err)
{
	struct sorter_head *h;

	if (!m->nheap)
		return PM_END;
	h = m->head[m->heap[0]];
	*r = h->block[h->i++];
	if (h->i == h->n) {
		if (!h->left)
			m->heap[0] = m->heap[--m->nheap];
		else if (fill(h, err) == PM_ERR)
			return PM_ERR;
	}
	if (m->nheap)
		sift(m, 0);
	return PM_OK;
}

static void end_merge(struct sorter_merge *m)
{
	for (unsigned i = 0; i < m->n; i++)
		free(m->head[i]);
	m->n = m->nheap = 0;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static enum pm_status append(struct sorter_level *l, const struct pm_sort_rec *v, size_t n,
			     struct pm_err *err)
{
	if (l->fd < 0)
		l->fd = pm_temp_file(err);
	if (l->fd < 0 || pm_temp_write(l->fd, v, n * sizeof *v, l->end * sizeof *v, err) == PM_ERR)
		return PM_ERR;
	l->end += n;
	l->run[l->n].n += n;
	return PM_OK;
}

static void begin_run(struct sorter_level *l)
{
	l->run[l->n] = (struct sorter_run){ l->end, 0 };
}

/* The runs of level @k, which are FAN, become one of the next; the buffer is free for it. */
static enum pm_status raise(struct pm_sorter *s, unsigned k, struct pm_err *err)
{
	struct sorter_level *l = &s->level[k], *up = &s->level[k + 1];
	enum pm_status st = PM_OK;
	size_t n = 0;

	assert(k + 1 < LEVELS);
	if (up->n == FAN && raise(s, k + 1, err) == PM_ERR)
		return PM_ERR;
	for (unsigned i = 0; i < l->n && st == PM_OK; i++)
		st = add_head(&s->merge, l->fd, l->run[i], err);
	begin_merge(&s->merge);
	begin_run(up);
	while (st == PM_OK) {
		st = next_of(&s->merge, &s->other[n], err);
		n += st == PM_OK;
		if (n == RUN || (st == PM_END && n)) {
			if (append(up, s->other, n, err) == PM_ERR)
				st = PM_ERR;
			n = 0;
		}
	}
	end_merge(&s->merge);
	if (st == PM_ERR)
		return st;
	up->n++;
	l->n = 0;
	l->end = 0;
	return ftruncate(l->fd, 0) ? pm_fail_errno(err, "cannot cut a temporary file") : PM_OK;
}

static enum pm_status spill(struct pm_sorter *s, struct pm_err *err)
{
	struct sorter_level *l = &s->level[0];

	sort(s);
	if (l->n == FAN && raise(s, 0, err) == PM_ERR)
		return PM_ERR;
	begin_run(l);
	if (append(l, s->buf, s->n, err) == PM_ERR)
		return PM_ERR;
	l->n++;
	s->n = 0;
	return PM_OK;
}

enum pm_status pm_sorter_add(struct pm_sorter *s, struct pm_sort_rec r, struct pm_err *err)
{
	if (!s->buf) {
		s->buf = pm_alloc(RUN * sizeof *s->buf);
		s->other = pm_alloc(RUN * sizeof *s->other);
	}
	s->buf[s->n++] = r;
	return s->n == RUN ? spill(s, err) : PM_OK;
}

static enum pm_status begin_reading(struct pm_sorter *s, struct pm_err *err)
{
	s->sorted = true;
	for (unsigned k = 0; k < LEVELS; k++)
		s->merging |= s->level[k].n != 0;
	if (!s->merging) {
		sort(s);
		return PM_OK;
	}
	if (s->n && spill(s, err) == PM_ERR)
		return PM_ERR;
	for (unsigned k = LEVELS; k--; )
		for (unsigned i = 0; i < s->level[k].n; i++)
			if (add_head(&s->merge, s->level[k].fd, s->level[k].run[i], err) == PM_ERR)
				return PM_ERR;
	begin_merge(&s->merge);
	return PM_OK;
}

enum pm_status pm_sorter_next(struct pm_sorter *s, struct pm_sort_rec *r, struct pm_err *err)
{
	if (!s->sorted && begin_reading(s, err) == PM_ERR)
		return PM_ERR;
	if (s->merging)
		return next_of(&s->merge, r, err);
	if (s->at == s->n)
		return PM_END;
	*r = s->buf[s->at++];
	return PM_OK;
}

void pm_sorter_free(struct pm_sorter *s)
{
	if (!s)
		return;
	end_merge(&s->merge);
	for (unsigned i = 0; i < LEVELS; i++)
		if (s->level[i].fd >= 0)
			close(s->level[i].fd);
	free(s->buf);
	free(s->other);
	free(s);
}
