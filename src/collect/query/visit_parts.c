/* SPDX-License-Identifier: MIT */
/* visit_parts.c - several replays visit a share of the calls or stores each
 *
 * To stop at a spot takes milliseconds, to pass it nanoseconds. So workers, processes of our own,
 * replay the recording, and each visits a share of the spots. What they answer comes by pipes, and
 * is told in the order of the run as soon as it is known what comes next. A worker is a fork: where
 * an answer points to a string of the program, that is at the same address here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/query/query_work.h"
#include "collect/query/trace_parts.h"
#include "collect/query/workers.h"

#define LEAST 64u			/* spots of a worker: a replay costs as much as some */

struct message {			/* in front of each answer, and behind a worker's last */
	size_t size;			/* of the answer; 0: there are no more, */
	struct query_answer a;		/* what it points to follows */
	enum pm_status st;		/* ... and what the replay has come to */
	struct pm_err err;		/* .file is the worker's */
};

struct share {				/* a worker, and what is not told yet of it */
	pid_t pid;
	int fd;				/* -1: at its end */
	struct pm_buf in;		/* messages, each at a multiple of 8; told up to here: */
	size_t at;
	struct message next;		/* is there */
	bool over;
};

/* ---- answers in pipes ------------------------------------------------------------------------ */
struct sender {
	FILE *to;
	struct pm_buf b;
};

/* As query_asker.answer of a worker. */
static bool send_answer(void *self, const struct query_answer *a)
{
	struct sender *s = self;
	struct message m = { .a = *a };

	s->b.n = 0;
	pm_buf_add(&s->b, a->reg, a->nreg * sizeof *a->reg);
	pm_buf_add(&s->b, a->now, a->n);
	if (a->old)
		pm_buf_add(&s->b, a->old, a->n);
	worker_put_text(&s->b, a->function);
	worker_put_text(&s->b, a->file);
	while (s->b.n % 8)
		pm_buf_add(&s->b, "", 1);
	m.size = s->b.n;
	return fwrite(&m, sizeof m, 1, s->to) && fwrite(s->b.p, s->b.n, 1, s->to) &&
	       !fflush(s->to);
}

static const char *get_text(const uint8_t **p, bool there)
{
	const char *const s = (const char *)*p;

	*p += strlen(s) + 1;
	return there ? s : NULL;
}

/* The next answer of @w, as long as no more is received. */
static const struct query_answer *unpack(struct share *w)
{
	const uint8_t *p = w->in.p + w->at + sizeof w->next;
	struct query_answer *a = &w->next.a;

	a->reg = (const struct query_register *)(const void *)p;
	p += a->nreg * sizeof *a->reg;
	a->now = p;
	p += a->n;
	if (a->old) {
		a->old = p;
		p += a->n;
	}
	a->function = get_text(&p, a->function);
	a->file = get_text(&p, a->file);
	return a;
}

static bool has_message(struct share *w)
{
	if (w->in.n - w->at < sizeof w->next)
		return false;
	memcpy(&w->next, w->in.p + w->at, sizeof w->next);
	return w->in.n - w->at - sizeof w->next >= w->next.size;
}

/* What is in the pipes of all, so that none waits for its turn to be told. */
static void receive_some(struct share *w, unsigned n)
{
	struct pollfd p[PARTS_WORKERS];

	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = w[i].fd, .events = POLLIN };
	if (poll(p, n, -1) < 0)
		return;
	for (unsigned i = 0; i < n; i++) {
		uint8_t part[0x10000];
		ssize_t got;

		if (!p[i].revents)
			continue;
		got = read(w[i].fd, part, sizeof part);
		if (got > 0) {
			pm_buf_add(&w[i].in, part, (size_t)got);
		} else if (!got || errno != EINTR) {
			close(w[i].fd);
			w[i].fd = -1;
		}
	}
}

/* The next answer of @x, one of @n, or its end. */
static enum pm_status receive(struct share *x, struct share *w, unsigned n, struct pm_err *err)
{
	const char *const file = err->file;
	bool any;

	while (!(any = has_message(x)) && x->fd >= 0)
		receive_some(w, n);
	x->over = !any || !x->next.size;
	if (!any)
		return pm_fail_file(err, "a replay that answers has died");
	if (x->over && x->next.st != PM_OK) {
		*err = x->next.err;
		err->file = file;
		return PM_ERR;
	}
	return PM_OK;
}

static void forget(struct share *x)
{
	x->at += sizeof x->next + x->next.size;
	if (x->at == x->in.n)
		x->in.n = x->at = 0;
}

/* ---- workers --------------------------------------------------------------------------------- */
/* In a process of its own, which ends here. */
static void worker_main(const char *recording, const struct query *q, struct spots *s, int fd,
			bool first, const struct pm_run_opts *o)
{
	struct sender to = { .to = fdopen(fd, "w") };
	const struct query_asker who = { .self = &to, .answer = send_answer };
	struct pm_run_opts run = *o;
	struct message end = { 0 };

	if (!first)			/* one says it */
		run.warn = (struct pm_warn){ 0 };
	end.st = spots_visit(recording, q, s, &run, &who, &end.err);
	fwrite(&end, sizeof end, 1, to.to);
	fflush(to.to);
	_exit(0);
}

static enum pm_status start(struct share *w, unsigned n, const char *recording,
			    const struct query *q, const struct spots *s,
			    const struct pm_run_opts *o, struct pm_err *err)
{
	for (unsigned i = 0; i < n; i++) {
		struct spots own = *s;
		enum pm_status st;
		int fd[2];

		own.v = s->v + s->n * i / n;
		own.n = s->n * (i + 1) / n - s->n * i / n;
		if (pipe2(fd, O_CLOEXEC))
			return pm_fail_errno(err, "cannot make a pipe");
		w[i].fd = fd[0];
		st = worker_fork(&w[i].pid, err);
		if (st == PM_OK && !w[i].pid)
			worker_main(recording, q, &own, fd[1], !i, o);
		close(fd[1]);
		if (st != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static void release(struct share *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		worker_end(w[i].pid);
		if (w[i].fd >= 0)
			close(w[i].fd);
		pm_buf_release(&w[i].in);
	}
}

/* ---- order ----------------------------------------------------------------------------------- */
static int by_position(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return pm_position_order(&x->at, &y->at);
}

/* See stopped_event(). */
static bool is_before(const struct query_answer *a, const struct query_answer *b)
{
	if (a->program != b->program)
		return a->program < b->program;
	if (a->event != b->event)
		return a->event < b->event;
	return pm_position_compare(&a->at, &b->at) < 0;
}

static struct share *next_of(struct share *w, unsigned n)
{
	struct share *best = NULL;

	for (unsigned i = 0; i < n; i++)
		if (!w[i].over && (!best || is_before(&w[i].next.a, &best->next.a)))
			best = &w[i];
	return best;
}

/* Answers of others are told though the replay of one has failed. */
static enum pm_status tell_all(struct share *w, unsigned n, const struct query_asker *who,
			       struct pm_err *err)
{
	enum pm_status st = PM_OK;
	struct pm_err late = *err;
	struct share *x;

	for (unsigned i = 0; i < n; i++)
		if (receive(&w[i], w, n, st == PM_OK ? err : &late) != PM_OK)
			st = PM_ERR;
	while ((x = next_of(w, n))) {
		if (!who->answer(who->self, unpack(x)))
			return st;
		forget(x);
		if (receive(x, w, n, st == PM_OK ? err : &late) != PM_OK)
			st = PM_ERR;
	}
	return st;
}

/* What memory held before a system call is what another thread's store has left, if there was one
 * while it waited (visit.c): then one replay has to see them all. */
static unsigned workers_for(const struct spots *s, unsigned wanted)
{
	bool calls = false, threads = false;

	for (size_t i = 0; i < s->n; i++) {
		calls |= s->v[i].call;
		threads |= s->v[i].at.tid != s->v->at.tid;
	}
	if (calls && threads)
		return 1;
	wanted = wanted < PARTS_WORKERS ? wanted : PARTS_WORKERS;
	return s->n / LEAST < wanted ? (unsigned)(s->n / LEAST) : wanted;
}

enum pm_status spots_visit_parts(const char *recording, const struct query *q, struct spots *s,
				 const struct pm_run_opts *o, const struct query_asker *who,
				 struct pm_err *err)
{
	struct share w[PARTS_WORKERS] = { 0 };
	const unsigned n = workers_for(s, who->workers);
	enum pm_status st;

	if (n < 2)
		return spots_visit(recording, q, s, o, who, err);
	for (unsigned i = 0; i < n; i++)
		w[i].fd = -1;
	qsort(s->v, s->n, sizeof *s->v, by_position);
	st = start(w, n, recording, q, s, o, err);
	if (st == PM_OK)
		st = tell_all(w, n, who, err);
	release(w, n);
	return st;
}
