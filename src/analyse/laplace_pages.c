/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "analyse/laplace_work.h"

#define PAGE_BITS	44		/* of a key; the process is above */

static inline size_t slot(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> 52;
}

static size_t find(struct lap_pages *s, uint64_t key)
{
	bool fresh;
	uint64_t *at = pm_map_put(&s->at, key, &fresh);

	if (fresh) {
		pm_grow(s->page, s->n, s->cap);
		s->page[s->n] = (struct lap_page){ .key = key };
		*at = ++s->n;
	}
	return (size_t)*at - 1;
}

/* A page is in the working set of window w for w references after each touch, so each touch adds
 * the time to the next one, w at most; divided by all time that is the mean size. HOT. */
void lap_pages_touch(struct lap_pages *s, uint32_t who, struct lap_process *p, uint64_t page)
{
	uint64_t key = ((uint64_t)who << PAGE_BITS | page) + 1, gap;
	size_t at = slot(key);
	struct lap_page *g;

	if (s->recent[at].key != key) {
		s->recent[at].key = key;
		s->recent[at].i = find(s, key);
	}
	g = &s->page[s->recent[at].i];
	if (g->refs++) {
		gap = p->user - g->last;
		for (unsigned w = 0; w < s->windows; w++)
			p->window[w] += gap < s->size[w] ? gap : s->size[w];
	}
	g->last = p->user;
}

static uint32_t owner(const struct lap_page *g)
{
	return (uint32_t)((g->key - 1) >> PAGE_BITS);
}

void lap_pages_end(struct lap_pages *s, struct lap_process *p)
{
	for (size_t i = 0; i < s->n; i++) {
		struct lap_process *of = &p[owner(&s->page[i])];
		uint64_t gap = of->user - s->page[i].last;

		of->pages++;
		for (unsigned w = 0; w < s->windows; w++)
			of->window[w] += gap < s->size[w] ? gap : s->size[w];
	}
}

/* How many processes touched a page, and how often it was referenced. */
struct shared { uint64_t pages, refs; };

void lap_pages_sharing(const struct lap_pages *s, struct pm_result *r)
{
	struct pm_map users = { 0 }, refs = { 0 };
	struct shared *by = NULL;
	uint64_t page, n, most = 0;

	for (size_t i = 0; i < s->n; i++) {
		page = (s->page[i].key - 1) & ((1ULL << PAGE_BITS) - 1);
		n = ++*pm_map_put(&users, page, NULL);
		most = n > most ? n : most;
		*pm_map_put(&refs, page, NULL) += s->page[i].refs;
	}
	by = pm_alloc((most + 1) * sizeof *by);
	for (size_t i = 0; pm_map_next(&users, &i, &page, &n); ) {
		by[n].pages++;
		by[n].refs += *pm_map_get(&refs, page);
	}
	pm_result_begin_list(r, "sharing");
	for (uint64_t k = 1; k <= most; k++) {
		if (!by[k].pages)
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "processes", k, "processes");
		pm_result_u64(r, "pages", by[k].pages, "pages");
		pm_result_u64(r, "references", by[k].refs, "references");
		pm_result_end(r);
	}
	pm_result_end(r);
	free(by);
	pm_map_release(&users);
	pm_map_release(&refs);
}

void lap_pages_release(struct lap_pages *s)
{
	free(s->page);
	pm_map_release(&s->at);
}
