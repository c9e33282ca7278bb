/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/thread_counts.h"
#include "base/mem.h"
#include "trace/pipeline.h"

struct pm_threads {
	struct pm_thread *v;		/* by stream, until the trace is over */
	bool *main;			/* a process began, or a program: by stream */
	size_t n, cap, cap_main;
};

static const struct pm_rare *rare_of(const struct pm_batch *b, const struct pm_event *e)
{
	return e->id < b->nrare ? b->rare + e->id : NULL;
}

static size_t thread_of(struct pm_threads *t, const struct pm_stream *s)
{
	struct pm_thread *v;

	while (t->n <= s->index) {
		pm_grow(t->v, t->n, t->cap);
		pm_grow(t->main, t->n, t->cap_main);
		t->main[t->n] = false;
		t->v[t->n] = (struct pm_thread){ .stream = PM_NONE };
		t->n++;
	}
	v = t->v + s->index;
	v->stream = s->index;
	v->pid = s->pid;
	v->tid = s->tid;
	if (s->name && (!v->name || strcmp(v->name, s->name))) {
		free(v->name);
		v->name = pm_strdup(s->name);
	}
	return s->index;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pm_threads *t = self;
	const size_t i = thread_of(t, b->stream);
	struct pm_thread *v = t->v + i;

	(void)err;
	pm_tally_add(&v->tally, b->ev, b->n);
	for (const struct pm_event *e = b->ev; b->nrare && e < b->ev + b->n; e++) {
		const struct pm_rare *r = rare_of(b, e);

		if ((e->kind == PM_EV_PROCESS || e->kind == PM_EV_EXEC) && !v->program) {
			v->program = r && r->name ? pm_strdup(r->name) : NULL;
			t->main[i] = true;
		}
		if (e->kind == PM_EV_SYSRET && r && r->name) {
			free(v->name);
			v->name = pm_strdup(r->name);
		}
		if (e->kind == PM_EV_EXIT) {
			v->end = e->flags & PM_EXIT_SIGNAL ? PM_THREAD_KILLED : PM_THREAD_EXITED;
			v->status = (int)e->value;
		}
	}
	return PM_OK;
}

static int by_process(const void *a, const void *b)
{
	const struct pm_thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* Threads belong to what their process executed last; they have its program. */
static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct pm_threads *t = self;
	struct pm_map last = { 0 };	/* process number -> thread, by place in the list */
	uint32_t processes = 0;
	size_t n = 0;

	(void)r;
	(void)err;
	for (size_t i = 0; i < t->n; i++) {
		struct pm_thread v = t->v[i];
		bool fresh;
		uint64_t *at;

		if (v.stream == PM_NONE)
			continue;
		at = pm_map_put(&last, v.pid, &fresh);
		if (fresh || t->main[i]) {
			v.process = processes++;
			*at = n;
		} else {
			v.process = t->v[*at].process;
			if (!v.program && t->v[*at].program)
				v.program = pm_strdup(t->v[*at].program);
		}
		t->v[n++] = v;
	}
	t->n = n;
	if (n)
		qsort(t->v, n, sizeof *t->v, by_process);
	pm_map_release(&last);
	return PM_OK;
}

static void destroy(void *self)
{
	struct pm_threads *t = self;

	for (size_t i = 0; t && i < t->n; i++) {
		free(t->v[i].program);
		free(t->v[i].name);
	}
	if (t) {
		free(t->v);
		free(t->main);
	}
	free(t);
}

static const struct pm_sink_ops threads_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS | PM_SINK_LIGHT,
	.name = "threads", .about = "processes and threads",
	.consume = consume, .finish = finish, .destroy = destroy,
};

struct pm_threads *pm_threads_add(struct pm_pipeline *p)
{
	struct pm_threads *t = pm_alloc(sizeof *t);

	pm_pipeline_sink(p, &threads_ops, t);
	return t;
}

const struct pm_thread *pm_threads_of(const struct pm_threads *t, size_t *n)
{
	*n = t->n;
	return t->v;
}
