/* SPDX-License-Identifier: MIT */
#include "analyse/laplace_counts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/laplace_work.h"
#include "base/err.h"
#include "base/number.h"
#include "trace/kernel_event.h"

#define PAIRS	20

/* Kernel threads and the idle task; and whoever ran before the first switch was reported. */
enum { KERNEL_THREADS, BOOT, FIRST };

struct laplace {
	uint64_t kernel;		/* where its addresses begin */
	struct lap_process *p;		/* [KERNEL_THREADS], [BOOT], processes */
	size_t n, cap;
	struct pm_map of;		/* task -> index << 1 | 1 if it only shares its parent's */
	uint32_t now;			/* the process that runs */
	bool in_kernel, ended;
	uint64_t seq, events[256], switches;
	struct lap_pages pages;
	struct lap_cache l1i, l1d;
};

static uint32_t add(struct laplace *s, uint64_t pid, const char *name)
{
	struct lap_process *p, new = { .pid = pid };

	if (s->n == LAP_AGENTS)		/* more than it can tell apart: the last is all of them */
		return (uint32_t)s->n - 1;
	/* the name may lie in the table, which moves */
	snprintf(new.name, sizeof new.name, "%s", name);
	pm_grow(s->p, s->n, s->cap);
	p = &s->p[s->n];
	*p = new;
	return (uint32_t)s->n++;
}

/* ---- configuration -------------------------------------------------------------------------- */
static enum pm_status windows(struct laplace *s, const char *v, struct pm_err *err)
{
	const char *const all = v;

	for (s->pages.windows = 0; s->pages.windows < LAP_WINDOWS; v++) {
		const size_t n = strcspn(v, ",");
		char word[24];
		uint64_t w;

		snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, v);
		if (!pm_parse_u64(word, &w) || !w)
			break;
		s->pages.size[s->pages.windows++] = w;
		v += n;
		if (!*v)
			return PM_OK;
	}
	return pm_fail_request(err, "windows expects 1 to %d numbers of references, at least 1 "
			       "each, not '%s'", LAP_WINDOWS, all);
}

static enum pm_status option(struct laplace *s, const char *word, struct pm_err *err)
{
	char *end;

	if (!strncmp(word, "kernel=", 7)) {
		s->kernel = strtoull(word + 7, &end, 16);
		return word[7] && !*end ? PM_OK
			: pm_fail_request(err, "%s: expected a hexadecimal address", word);
	}
	if (!strncmp(word, "windows=", 8))
		return windows(s, word + 8, err);
	if (!strncmp(word, "l1i=", 4)) {
		lap_cache_release(&s->l1i);
		s->l1i = (struct lap_cache){ 0 };
		return lap_cache_init(&s->l1i, "l1i", word + 4, err);
	}
	if (!strncmp(word, "l1d=", 4)) {
		lap_cache_release(&s->l1d);
		s->l1d = (struct lap_cache){ 0 };
		return lap_cache_init(&s->l1d, "l1d", word + 4, err);
	}
	return pm_fail_request(err, "laplace: '%s' is not kernel=, l1i=, l1d= or windows=", word);
}

static void destroy(void *self)
{
	struct laplace *s = self;

	if (!s)
		return;
	free(s->p);
	pm_map_release(&s->of);
	lap_pages_release(&s->pages);
	lap_cache_release(&s->l1i);
	lap_cache_release(&s->l1d);
	free(s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct laplace *s = pm_alloc(sizeof *s);
	char *copy = pm_strdup(config), *save = NULL;
	enum pm_status st = PM_OK;

	s->kernel = 0xc0000000;
	lap_cache_init(&s->l1i, "l1i", "16k,1way,32", err);
	lap_cache_init(&s->l1d, "l1d", "16k,1way,32", err);
	windows(s, "10000,100000,1000000", err);
	add(s, 0, "kernel threads");
	add(s, 0, "boot");
	s->now = BOOT;
	for (char *w = strtok_r(copy, ";", &save); w && st == PM_OK; w = strtok_r(NULL, ";", &save))
		st = option(s, w, err);
	free(copy);
	if (st == PM_OK)
		return s;
	destroy(s);
	return NULL;
}

/* ---- events --------------------------------------------------------------------------------- */
static uint32_t process_of(const struct laplace *s, uint64_t task)
{
	const uint64_t *at = pm_map_get(&s->of, task);

	return at ? (uint32_t)(*at >> 1) : KERNEL_THREADS;
}

static void own_space(struct laplace *s, uint64_t task)
{
	uint64_t *at = pm_map_get(&s->of, task);

	/* a new image in the same process is not another process */
	if (at && !(*at & 1))
		return;
	*pm_map_put(&s->of, task, NULL) = (uint64_t)add(s, task, s->p[at ? *at >> 1 : 0].name) << 1;
}

static void schedule(struct laplace *s, uint64_t task)
{
	uint32_t next = process_of(s, task);

	if (next == s->now)
		return;
	s->switches++;
	s->p[s->now].out = s->seq;
	s->p[next].in = s->seq;
	s->p[next].since = 0;
	s->p[next].switches++;
	s->now = next;
}

static void event(struct laplace *s, const struct pm_rare *r)
{
	uint32_t k;

	s->events[r->code & 0xff]++;
	switch (r->code) {
	case PM_KERNEL_SCHEDULE:
		schedule(s, r->arg[0]);
		break;
	case PM_KERNEL_FORK:
		*pm_map_put(&s->of, r->arg[0], NULL) = (uint64_t)process_of(s, r->arg[1]) << 1 | 1;
		break;
	case PM_KERNEL_CONTEXT:
		own_space(s, r->arg[0]);
		break;
	case PM_KERNEL_END:
		s->ended = true;
		break;
	case PM_KERNEL_EXEC:
		k = process_of(s, r->arg[0]);
		if (k >= FIRST && r->name)
			snprintf(s->p[k].name, sizeof s->p[k].name, "%s", r->name);
		break;
	}
}

/* ---- references ----------------------------------------------------------------------------- */
static bool cached(const struct laplace *s, uint64_t addr)
{
	return s->kernel != 0x80000000 || (uint32_t)addr - 0xa0000000u >= 0x20000000u ||
	       !pm_is_kernel_address(addr, s->kernel);
}

/* HOT: once per reference. */
static void reference(struct laplace *s, enum lap_access kind, const struct pm_event *e)
{
	struct lap_cache *c = kind == LAP_FETCH ? &s->l1i : &s->l1d;
	struct lap_process *p = &s->p[s->now];
	uint64_t at = e->value << 12 | (e->addr & 4095), end = at + (e->size ? e->size : 1) - 1;

	s->seq++;
	if (kind == LAP_FETCH)
		s->in_kernel = pm_is_kernel_address(e->addr, s->kernel);
	p->refs[s->in_kernel][kind]++;
	if (!s->in_kernel) {
		p->user++;
		p->since++;
		lap_pages_touch(&s->pages, s->now, p, e->value);
	}
	if (!cached(s, e->addr))
		return;
	/* what goes on in the next page is not looked up again */
	if (end >> 12 != at >> 12)
		end = at | 4095;
	for (uint64_t line = at / c->line; line <= end / c->line; line++)
		lap_cache_access(c, e->addr + (line - at / c->line) * c->line, line,
				 s->in_kernel ? LAP_KERNEL : s->now, s->in_kernel ? NULL : p,
				 s->seq);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct laplace *s = self;

	(void)err;
	/* behind the end of the events nobody knows who runs */
	for (size_t i = 0; i < b->n && !s->ended; i++) {
		const struct pm_event *e = &b->ev[i];

		switch (e->kind) {
		case PM_EV_INSN: case PM_EV_LINE:
			reference(s, LAP_FETCH, e);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			if (e->flags & PM_REF_UNCACHED)		/* of a file, by a system call */
				break;
			if (e->kind != PM_EV_WRITE)
				reference(s, LAP_LOAD, e);
			if (e->kind != PM_EV_READ)
				reference(s, LAP_STORE, e);
			break;
		case PM_EV_KERNEL:
			event(s, &b->rare[e->id]);
			break;
		}
	}
	return PM_OK;
}

/* ---- results -------------------------------------------------------------------------------- */
static void put_processes(const struct laplace *s, struct pm_result *r)
{
	static const char *const name[2][3] = {
		{ "user_fetches", "user_loads", "user_stores" },
		{ "kernel_fetches", "kernel_loads", "kernel_stores" },
	};

	pm_result_begin_list(r, "by_process");
	for (size_t i = 0; i < s->n; i++) {
		const struct lap_process *p = &s->p[i];

		if (!p->refs[0][0] && !p->refs[1][0])
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "pid", p->pid, NULL);
		pm_result_str(r, "name", p->name);
		for (unsigned k = 0; k < 6; k++)
			pm_result_u64(r, name[k / 3][k % 3], p->refs[k / 3][k % 3], "references");
		pm_result_u64(r, "switches", p->switches, "switches");
		pm_result_u64(r, "pages", p->pages, "pages");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static void put_windows(const struct laplace *s, struct pm_result *r)
{
	pm_result_begin_list(r, "working_sets");
	for (size_t i = 0; i < s->n; i++)
		for (unsigned w = 0; s->p[i].user && w < s->pages.windows; w++) {
			const struct lap_process *p = &s->p[i];

			if (s->pages.size[w] > p->user)
				continue;
			pm_result_begin(r, NULL);
			pm_result_u64(r, "pid", p->pid, NULL);
			pm_result_str(r, "name", p->name);
			pm_result_u64(r, "window", s->pages.size[w], "references");
			pm_result_f64(r, "pages", (double)p->window[w] / (double)p->user, "pages");
			pm_result_end(r);
		}
	pm_result_end(r);
}

static double per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

static void put_switches(const struct laplace *s, struct pm_result *r)
{
	pm_result_begin(r, "switch");
	pm_result_u64(r, "switches", s->switches, "switches");
	pm_result_f64(r, "l1i_misses", per(s->l1i.user.switched, s->switches), "misses per switch");
	pm_result_f64(r, "l1d_misses", per(s->l1d.user.switched, s->switches), "misses per switch");
	pm_result_end(r);
	pm_result_begin_list(r, "after_switch");
	for (unsigned k = 0; k < LAP_BUCKETS; k++) {
		if (!s->l1i.after[k].accesses && !s->l1d.after[k].accesses)
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "from", 1ULL << k, "references");
		pm_result_u64(r, "l1i_accesses", s->l1i.after[k].accesses, "accesses");
		pm_result_f64(r, "l1i_miss_ratio",
			      per(s->l1i.after[k].misses, s->l1i.after[k].accesses), NULL);
		pm_result_u64(r, "l1d_accesses", s->l1d.after[k].accesses, "accesses");
		pm_result_f64(r, "l1d_miss_ratio",
			      per(s->l1d.after[k].misses, s->l1d.after[k].accesses), NULL);
		pm_result_end(r);
	}
	pm_result_end(r);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct laplace *s = self;
	uint64_t sum[2] = { 0 };

	(void)err;
	if (!r)
		return PM_OK;
	lap_pages_end(&s->pages, s->p);
	for (size_t i = 0; i < s->n; i++)
		for (unsigned k = 0; k < 6; k++)
			sum[k / 3] += s->p[i].refs[k / 3][k % 3];
	pm_result_begin(r, "laplace");
	pm_result_u64(r, "user", sum[0], "references");
	pm_result_u64(r, "kernel", sum[1], "references");
	pm_result_u64(r, "processes", s->n - FIRST, "processes");
	pm_result_u64(r, "schedules", s->events[PM_KERNEL_SCHEDULE], "events");
	pm_result_u64(r, "forks", s->events[PM_KERNEL_FORK], "events");
	pm_result_u64(r, "exits", s->events[PM_KERNEL_EXIT], "events");
	pm_result_u64(r, "page_faults", s->events[PM_KERNEL_FAULT], "events");
	pm_result_u64(r, "copies_on_write", s->events[PM_KERNEL_COPY_ON_WRITE], "events");
	put_processes(s, r);
	lap_pages_sharing(&s->pages, r);
	put_windows(s, r);
	pm_result_begin_list(r, "caches");
	lap_cache_result(&s->l1i, r);
	lap_cache_result(&s->l1d, r);
	pm_result_end(r);
	pm_result_begin_list(r, "displaced");
	lap_cache_pairs(&s->l1i, s->p, PAIRS, r);
	lap_cache_pairs(&s->l1d, s->p, PAIRS, r);
	pm_result_end(r);
	put_switches(s, r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_laplace = {
	.abi = PM_ABI, .name = "laplace",
	.about = "processes and kernel, sharing, working sets, who displaces whom, switches",
	.needs = PM_HAS_REFS | PM_HAS_PAGES | PM_HAS_KERNEL, .flags = PM_SINK_WHOLE,
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
