/* SPDX-License-Identifier: MIT */
/* sweep_try.c - each configuration of a plan is read once, by all processors: there may be
 * millions
 *
 * They are handed out in blocks, in order. Where one is wrong, those before it are read
 * nevertheless: the error is always that of the first. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/sims.h"
#include "base/thread.h"
#include "sweep/sweep_plan.h"

#define BLOCK	1024		/* configurations */
#define THREADS	64

struct tried_plan {
	const struct sweep_plan *p;
	_Atomic uint64_t next;		/* not handed out yet */
	_Atomic uint64_t wrong;		/* the first one that is */
	pthread_mutex_t lock;		/* why; and for simulators that one thread at a time may
					 * ask */
	struct pm_err why;
};

static void try_one(struct tried_plan *t, uint64_t c, const char *spec)
{
	const bool alone = strncmp(spec, "cache:", 6) && strncmp(spec, "tlb:", 4);
	struct pm_err why = { 0 };

	if (alone)
		pthread_mutex_lock(&t->lock);
	pm_sim_try(spec, &why);
	if (alone)
		pthread_mutex_unlock(&t->lock);
	if (!pm_failed(&why))
		return;
	pthread_mutex_lock(&t->lock);
	if (c < t->wrong) {
		t->wrong = c;
		t->why = why;
	}
	pthread_mutex_unlock(&t->lock);
}

static void try_blocks(struct tried_plan *t, void (*tell)(void *arg, uint64_t n), void *arg)
{
	struct pm_buf spec = { 0 };
	uint64_t from;

	while ((from = atomic_fetch_add(&t->next, BLOCK)) < t->p->nconfig && from < t->wrong) {
		const uint64_t left = t->p->nconfig - from, to = from + (left < BLOCK ? left :
									 BLOCK);

		for (uint64_t c = from; c < to && c < t->wrong; c++) {
			sweep_plan_spec(t->p, c, &spec);
			try_one(t, c, (const char *)spec.p);
		}
		if (tell)
			tell(arg, from);
	}
	pm_buf_release(&spec);
}

static void *help(void *arg)
{
	try_blocks(arg, NULL, NULL);
	return NULL;
}

enum pm_status sweep_plan_try(const struct sweep_plan *p, void (*tell)(void *arg, uint64_t n),
			      void *arg, struct pm_err *err)
{
	struct tried_plan t = { .p = p, .wrong = UINT64_MAX, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned want = p->nconfig > BLOCK ? pm_processors() - 1 : 0, n = 0;
	pthread_t thread[THREADS];

	while (n < want && n < THREADS && pm_thread_start(thread + n, help, &t))
		n++;
	try_blocks(&t, tell, arg);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	if (t.wrong == UINT64_MAX)
		return PM_OK;
	return pm_fail_line(err, sweep_plan_sim(p, t.wrong)->line, "%.200s", t.why.msg);
}
