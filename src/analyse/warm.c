/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/thousands.h"
#include "analyse/warm_branches.h"
#include "analyse/warm_work.h"
#include "base/cur.h"
#include "base/err.h"
#include "base/mem.h"
#include "trace/pug.h"

#define MAGIC		"PUGWARM\n"
#define HEAD		72u
#define VERSION		3u
#define FETCHED		1u
#define WRITTEN		2u

/* ---- an interval ---------------------------------------------------------------------------- */

/* A line's number times 2, and 1 if it is fetched: that is its key. */
struct used { uint64_t key; uint32_t interval, last, first; bool written; };

struct pm_warm_maker {
	struct used *slot;		/* open addressing; what is of an earlier interval is
					 * empty */
	size_t mask, n;
	uint32_t interval, now;
	uint32_t thousand;		/* ... of the interval: what `first` is */
	struct used *fetch, *data;	/* the lines used last: most uses are of these */
	struct warm_branches *branches;
};

#define LEAST_SLOTS 4096u

struct pm_warm_maker *pm_warm_maker_new(void)
{
	struct pm_warm_maker *m = pm_alloc(sizeof *m);

	m->slot = pm_alloc(LEAST_SLOTS * sizeof *m->slot);
	m->mask = LEAST_SLOTS - 1;
	m->interval = 1;
	m->branches = warm_branches_new();
	return m;
}

void pm_warm_maker_free(struct pm_warm_maker *m)
{
	if (!m)
		return;
	free(m->slot);
	warm_branches_free(m->branches);
	free(m);
}

static struct used *slot_of(struct pm_warm_maker *m, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & m->mask;

	while (m->slot[i].interval == m->interval && m->slot[i].key != key)
		i = (i + 1) & m->mask;
	return m->slot + i;
}

static void grow(struct pm_warm_maker *m)
{
	struct used *old = m->slot;
	const size_t n = m->mask + 1;

	m->slot = pm_alloc(2 * n * sizeof *m->slot);
	m->mask = 2 * n - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i].interval == m->interval)
			*slot_of(m, old[i].key) = old[i];
	free(old);
	m->fetch = m->data = NULL;
}

/* HOT: once per line of a reference or an instruction. */
static inline void use_line(struct pm_warm_maker *m, struct used **last, uint64_t key, bool written)
{
	struct used *u = *last;

	if (!u || u->key != key) {
		if (m->n * 2 > m->mask)
			grow(m);
		u = slot_of(m, key);
		if (u->interval != m->interval) {
			*u = (struct used){ .key = key, .interval = m->interval,
					    .first = m->thousand };
			m->n++;
		}
		*last = u;
	}
	u->written |= written;
	u->last = ++m->now;
}

static inline void use_lines(struct pm_warm_maker *m, const struct pm_event *e, bool fetched,
			     bool written)
{
	uint64_t line = e->addr / PM_WARM_LINE;
	const uint64_t end = (e->addr + (e->size ? e->size - 1 : 0)) / PM_WARM_LINE;

	for (; line <= end; line++)
		use_line(m, fetched ? &m->fetch : &m->data, line << 1 | fetched, written);
}

void pm_warm_maker_events(struct pm_warm_maker *m, const struct pm_batch *b)
{
	const unsigned slot = pm_delay_slot(b);

	for (const struct pm_event *e = b->ev, *end = b->ev + b->n; e < end; e++) {
		if (e->kind == PM_EV_INSN) {
			use_lines(m, e, true, false);
		} else if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY) {
			use_lines(m, e, false, e->kind != PM_EV_READ);
		} else if (e->kind == PM_EV_BRANCH) {
			const struct pm_br br = pm_br_of(e, slot);

			warm_branches_add(m->branches, &br);
		}
	}
}

static int by_last(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return x->last < y->last ? -1 : x->last > y->last;
}

void warm_maker_thousand(struct pm_warm_maker *m, uint32_t thousand)
{
	m->thousand = thousand;
}

struct pm_warm_part pm_warm_maker_end(struct pm_warm_maker *m)
{
	return warm_maker_end_first(m, NULL);
}

struct pm_warm_part warm_maker_end_first(struct pm_warm_maker *m, struct pm_buf *first)
{
	struct used *v = pm_alloc((m->n + 1) * sizeof *v);
	struct pm_buf out = { 0 }, branches = warm_branches_end(m->branches);
	uint64_t before[2] = { 0, 0 };
	size_t n = 0;

	for (size_t i = 0; i <= m->mask; i++)
		if (m->slot[i].interval == m->interval)
			v[n++] = m->slot[i];
	qsort(v, n, sizeof *v, by_last);
	for (size_t i = 0; i < n; i++) {
		const bool fetched = v[i].key & 1;
		const uint64_t line = v[i].key >> 1;

		pug_varint(&out, pug_zigzag((int64_t)(line - before[fetched])) << 2 |
				 (v[i].written ? WRITTEN : 0) | (fetched ? FETCHED : 0));
		before[fetched] = line;
		if (first)
			pug_varint(first, v[i].first);
	}
	free(v);
	m->interval++;
	m->n = 0;
	m->now = m->thousand = 0;
	m->fetch = m->data = NULL;
	return (struct pm_warm_part){ .p = out.p, .n = out.n, .branch = branches.p,
				      .nbranch = branches.n };
}

/* False: the bytes are no lines. */
static bool each(const struct pm_warm_part *p,
		 void (*use)(void *ctx, uint64_t line, bool fetched, bool written), void *ctx)
{
	struct pug_span c = { p->p, p->p + p->n };
	uint64_t before[2] = { 0, 0 }, v;

	while (c.p < c.end) {
		if (!pug_get_varint(&c, &v))
			return false;
		before[v & FETCHED] += (uint64_t)pug_unzigzag(v >> 2);
		if (before[v & FETCHED] > UINT64_MAX / PM_WARM_LINE)
			return false;
		if (use)
			use(ctx, before[v & FETCHED] * PM_WARM_LINE, v & FETCHED, v & WRITTEN);
	}
	return true;
}

void pm_warm_each(const struct pm_warm *w, size_t i,
		  void (*use)(void *ctx, uint64_t line, bool fetched, bool written), void *ctx)
{
	each(w->part + i, use, ctx);
}

uint64_t pm_warm_branches(const struct pm_warm *w, size_t i)
{
	return warm_branches_count(w->part[i].branch, w->part[i].nbranch);
}

void pm_warm_each_branch(const struct pm_warm *w, size_t i,
			 void (*use)(void *ctx, const struct pm_br *b, size_t n), void *ctx)
{
	warm_branches_each(w->part[i].branch, w->part[i].nbranch, UINT64_MAX, use, ctx);
}

/* ---- counts of thousands --------------------------------------------------------------------- */

size_t pm_warm_thousands(const struct pm_warm *w, size_t i)
{
	const uint64_t left = w->insns - i * w->every, n = left < w->every ? left : w->every;

	return w->counted ? (size_t)((n + PM_THOUSAND - 1) / PM_THOUSAND) : 0;
}

void pm_warm_counts(const struct pm_warm *w, size_t i, uint32_t *to)
{
	thousands_get(w->part[i].count, w->part[i].ncount, pm_warm_thousands(w, i), to);
}

void pm_warm_release(struct pm_warm *w)
{
	for (size_t i = 0; w->part && i < w->n; i++) {
		free(w->part[i].p);
		free(w->part[i].branch);
		free(w->part[i].count);
	}
	free(w->part);
	*w = (struct pm_warm){ 0 };
}

/* ---- on disk -------------------------------------------------------------------------------- */

void pm_warm_put(const struct pm_warm *w, struct pm_buf *to)
{
	const size_t head = to->n;
	uint8_t *h;

	memset(pm_buf_room(to, HEAD), 0, HEAD);
	to->n += HEAD;
	for (size_t i = 0; i < w->n; i++) {
		pug_varint(to, w->part[i].n);
		pm_buf_add(to, w->part[i].p, w->part[i].n);
		pug_varint(to, w->part[i].nbranch);
		pm_buf_add(to, w->part[i].branch, w->part[i].nbranch);
		pug_varint(to, w->part[i].ncount);
		pm_buf_add(to, w->part[i].count, w->part[i].ncount);
	}
	h = to->p + head;
	memcpy(h, MAGIC, 8);
	pug_put32(h + 8, VERSION);
	pug_put32(h + 12, PM_WARM_LINE);
	pug_put64(h + 16, w->every);
	pug_put64(h + 24, w->insns);
	pug_put64(h + 32, w->identity);
	pug_put64(h + 40, w->n);
	pug_put64(h + 48, to->n - head - HEAD);
	pug_put32(h + 56, w->counted ? PM_THOUSAND : 0);
	pug_put32(h + 60, w->counted ? PM_THOUSAND_COUNTS : 0);
	pug_put32(h + 64, pug_crc(h + HEAD, to->n - head - HEAD));
	pug_put32(h + 68, pug_crc(h, 68));
}

static enum pm_status get_head(const uint8_t *p, size_t n, struct pm_warm *to, struct pm_err *err)
{
	if (n < 12)
		return pm_fail(err, n, "expected a header of %u bytes, found %zu", HEAD, n);
	if (memcmp(p, MAGIC, 8))
		return pm_fail(err, 0, "not a file of warm lines");
	if (pug_get32(p + 8) != VERSION)
		return pm_fail(err, 8, "expected version %u, found %u: it has to be made again",
			       VERSION, pug_get32(p + 8));
	if (n < HEAD)
		return pm_fail(err, n, "expected a header of %u bytes, found %zu", HEAD, n);
	if (pug_get32(p + 68) != pug_crc(p, 68))
		return pm_fail(err, 68, "the header's checksum is wrong");
	if (pug_get32(p + 12) != PM_WARM_LINE)
		return pm_fail(err, 12, "expected lines of %u bytes, found %u", PM_WARM_LINE,
			       pug_get32(p + 12));
	to->every = pug_get64(p + 16);
	to->insns = pug_get64(p + 24);
	to->identity = pug_get64(p + 32);
	to->n = pug_get64(p + 40);
	if (pug_get64(p + 48) != n - HEAD)
		return pm_fail(err, 48, "expected %llu bytes behind the header, found %zu",
			       (unsigned long long)pug_get64(p + 48), n - HEAD);
	if (pug_get32(p + 64) != pug_crc(p + HEAD, n - HEAD))
		return pm_fail(err, 64, "the checksum of the intervals is wrong");
	if (to->every > PM_WARM_EVERY_MAX)
		return pm_fail(err, 16, "expected at most %u instructions in an interval, found "
			       "%llu", PM_WARM_EVERY_MAX, (unsigned long long)to->every);
	/* an interval has at least the byte that says how many it has */
	if (!to->every || to->n > n - HEAD ||
	    to->n != to->insns / to->every + (to->insns % to->every != 0))
		return pm_fail(err, 40, "%llu intervals of %llu instructions are not %llu",
			       (unsigned long long)to->n, (unsigned long long)to->every,
			       (unsigned long long)to->insns);
	to->counted = pug_get32(p + 56) != 0;
	if (pug_get32(p + 56) != (to->counted ? PM_THOUSAND : 0) ||
	    pug_get32(p + 60) != (to->counted ? PM_THOUSAND_COUNTS : 0) ||
	    (to->counted && to->every % PM_THOUSAND))
		return pm_fail(err, 56, "%u counts of %u instructions, in intervals of %llu: this "
			       "reader knows %u of %u", pug_get32(p + 60), pug_get32(p + 56),
			       (unsigned long long)to->every, PM_THOUSAND_COUNTS, PM_THOUSAND);
	return PM_OK;
}

static uint8_t *copy(const uint8_t *p, size_t n)
{
	return memcpy(pm_alloc_unset(n + 1), p, n);
}

/* An interval. */
static void get_part(struct pm_cur *c, size_t i, struct pm_warm *to, struct pm_err *err)
{
	const uint64_t at = pm_cur_at(c), bytes = pm_cur_varint(c, "an interval");
	const uint8_t *p = pm_cur_bytes(c, bytes, "an interval");
	const uint64_t behind = pm_cur_at(c), more = pm_cur_varint(c, "branches");
	const uint8_t *branch = pm_cur_bytes(c, more, "branches");
	const uint64_t last = pm_cur_at(c), rest = pm_cur_varint(c, "counts");
	const uint8_t *count = pm_cur_bytes(c, rest, "counts");
	const struct pm_warm_part part = { .p = (uint8_t *)p, .n = bytes };

	if (p && !each(&part, NULL, NULL))
		pm_fail(err, at, "interval %zu is not made of lines", i);
	/* an instruction has one branch at most */
	if (branch && !warm_branches_each(branch, more, to->every, NULL, NULL))
		pm_fail(err, behind, "the branches of interval %zu are none", i);
	if (count && !thousands_get(count, rest, pm_warm_thousands(to, i), NULL))
		pm_fail(err, last, "the counts of interval %zu are none", i);
	if (!pm_failed(err))
		to->part[i] = (struct pm_warm_part){ copy(p, bytes), copy(branch, more),
						     copy(count, rest), bytes, more, rest };
}

enum pm_status pm_warm_get(const uint8_t *p, size_t n, struct pm_warm *to, struct pm_err *err)
{
	struct pm_cur c;

	*to = (struct pm_warm){ 0 };
	if (get_head(p, n, to, err) != PM_OK) {
		to->n = 0;
		return PM_ERR;
	}
	c = pm_cur_init(p + HEAD, n - HEAD, HEAD, err);
	to->part = pm_alloc((to->n + 1) * sizeof *to->part);
	for (size_t i = 0; i < to->n && !pm_failed(err); i++)
		get_part(&c, i, to, err);
	if (!pm_failed(err) && c.p != c.end)
		pm_fail(err, pm_cur_at(&c), "%zu bytes behind the last interval", pm_cur_left(&c));
	if (!pm_failed(err))
		return PM_OK;
	pm_warm_release(to);
	return PM_ERR;
}
