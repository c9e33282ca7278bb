/* SPDX-License-Identifier: MIT */
/* trace_parts.c - workers, the parts that they take, and what becomes of them */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/temp.h"
#include "collect/query/trace_parts.h"
#include "collect/query/workers.h"
#include "collect/record/recording.h"
#include "trace/chain.h"
#include "trace/pug_file.h"
#include "trace/pug_join.h"

#define EACH 8				/* parts of a worker, about: what it waits for in the end */
#define SHORTEST 0x20000u		/* safepoints */

/* Memory that all of us have. */
struct parts_shared {
	uint32_t news;			/* a futex: changes when a part is done */
	struct taken_part {
		uint32_t owner;		/* 1 + number of the worker that has taken it; 0: nobody */
		uint32_t done;		/* it is in that one's file, here: */
		uint64_t from, to;
	} part[PARTS_MOST];
	struct worker_ended {
		uint32_t done;		/* it has come to the end, or knows why it cannot */
		struct parts_result is;	/* but for .parts and .insns */
		struct pm_err err;	/* .file is not shared */
	} ended[PARTS_WORKERS];
};

struct parts_worker {
	struct parts_shared *all;
	unsigned number;
	void *writer;
	struct pm_output *out;
	uint32_t part;			/* where it is, */
	bool wanted;			/* ... and has taken that, */
	uint64_t at;			/* ... whose records begin here in its file */
	struct pm_err err;		/* its consumer's */
};

bool parts_number(uint64_t n)
{
	return n && n <= PARTS_WORKERS;
}

bool parts_possible(const struct rec_reader *r)
{
	for (uint32_t i = 1; i < rec_nstream(r); i++)
		if (!rec_start_of(r, i)->nmap)		/* a copy of another one */
			return false;
	return true;
}

/* ---- how long a part is ---------------------------------------------------------------------- */
/* Safepoints of one program, by its log: it may pass some more behind the last call of each
 * thread. */
static uint64_t passed_in(struct rec_reader *r, uint32_t stream, uint8_t *buf)
{
	struct pm_map clock = { 0 };	/* thread -> at its last call */
	uint64_t thread = 1, key, val, all = 0;
	struct rt_event e;
	size_t n, k = 0;

	while ((n = rec_next(r, stream, buf)))
		for (size_t at = 0; at < n; at += e.size) {
			memcpy(&e, buf + at, sizeof e);
			if (e.type == RT_E_CALL)
				*pm_map_put(&clock, thread, NULL) = e.a[5];
			if (e.type == RT_E_SWITCH)
				thread = e.a[2];
		}
	while (pm_map_next(&clock, &k, &key, &val))
		all += val;
	pm_map_release(&clock);
	return all;
}

uint64_t parts_length(struct rec_reader *r, unsigned workers)
{
	const char *wanted = getenv("PUGMARK_PART");	/* for tests */
	const uint64_t told = wanted ? strtoull(wanted, NULL, 10) : 0;
	uint8_t *buf = pm_alloc_unset(RT_LOG_SIZE);
	uint64_t all = 0;

	for (uint32_t i = 0; i < rec_nstream(r); i++)
		all += passed_in(r, i, buf);
	free(buf);
	all /= (uint64_t)workers * EACH;
	return told >= PM_SEAMS_NEAREST ? told : all < SHORTEST ? SHORTEST : all;
}

/* ---- a worker -------------------------------------------------------------------------------- */
static void tell_news(struct parts_shared *all)
{
	__atomic_fetch_add(&all->news, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &all->news, FUTEX_WAKE, INT_MAX);
}

/* The next part is this worker's, if it is nobody else's. */
static void take_part(struct parts_worker *w)
{
	uint32_t nobody = 0;
	struct taken_part *p = &w->all->part[w->part];

	w->wanted = __atomic_compare_exchange_n(&p->owner, &nobody, 1 + w->number, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	p->from = w->wanted ? w->at : p->from;
}

static enum pm_status end_part(struct parts_worker *w)
{
	struct taken_part *p = &w->all->part[w->part];

	if (!w->wanted)
		return PM_OK;
	w->wanted = false;
	if (pug_write_mark(w->writer, &w->at, &w->err) != PM_OK)
		return PM_ERR;
	p->to = w->at;
	__atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
	tell_news(w->all);
	return PM_OK;
}

static bool seam(void *self, const struct pm_seam_thread *t, size_t n)
{
	struct parts_worker *w = self;

	(void)t, (void)n;
	if (pm_failed(&w->err) || w->part == PARTS_MOST - 1)
		return w->wanted;
	if (end_part(w) != PM_OK)
		return false;
	w->part++;
	take_part(w);
	return w->wanted;
}

static enum pm_status failed_here(const struct parts_worker *w, struct pm_err *err)
{
	if (pm_failed(&w->err))
		*err = w->err;
	return pm_failed(&w->err) ? PM_ERR : PM_OK;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct parts_worker *w = self;

	if (failed_here(w, err) != PM_OK)
		return PM_ERR;
	return b->n ? pug_write(w->writer, b, err) : PM_OK;	/* chunks are full ones */
}

static enum pm_status packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
			     struct pm_err *err)
{
	struct parts_worker *w = self;

	return failed_here(w, err) != PM_OK ? PM_ERR : pug_write_packed(w->writer, b, k, err);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct parts_worker *w = self;

	(void)r;
	end_part(w);
	if (failed_here(w, err) != PM_OK || pug_write_finish(w->writer, err) != PM_OK)
		return PM_ERR;
	return pm_output_finish(w->out, err);
}

static const struct pm_chain_sink_ops sink = {
	.ops = {
		.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_CHAINS | PM_SINK_WHOLE,
		.name = "parts of a trace", .about = "what one of several replays traces",
		.consume = consume, .finish = finish,
	},
	.packed = packed,
};

/* Replays, and writes its parts. */
static enum pm_status work(struct parts_worker *w, const char *recording, struct pm_run_opts *o,
			   struct pm_seams *seams, struct worker_ended *e, struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_counts *counts = NULL;
	struct pm_err late = { 0 };
	enum pm_status st;

	take_part(w);
	seams->self = w;
	seams->wanted = w->wanted;
	o->seams = seams;
	o->pipeline = p;
	pm_pipeline_sink(p, &sink.ops, w);
	st = rec_open(recording, &o->replay, err);
	if (st == PM_OK)
		st = pm_pipeline_start(p, pm_run_facts(o->kind), "replays", err);
	if (st != PM_OK)
		return st;
	o->argv = (char **)(uintptr_t)rec_start_of(o->replay, 0)->argv;
	st = pm_run(o, &counts, err);
	if (counts) {
		e->is = (struct parts_result){
			.status = counts->status, .signal = counts->signal,
			.user_s = counts->user_s, .sys_s = counts->sys_s, .own_s = counts->own_s,
			.trace_bytes = counts->trace_bytes,
		};
	}
	if (pm_pipeline_finish(p, NULL, &late) != PM_OK && st == PM_OK) {
		*err = late;
		return PM_ERR;
	}
	return st;
}

/* In a process of its own, which ends here. */
static void worker_main(struct parts_shared *all, unsigned number, int fd, const char *recording,
			const struct pm_run_opts *o, const char *options, uint64_t every)
{
	struct parts_worker w = { .all = all, .number = number };
	struct worker_ended *e = &all->ended[number];
	struct pm_seams seams = { .every = every, .seam = seam };
	const struct pm_write_opts wo = { .options = options, .facts = pm_run_facts(o->kind) };
	struct pm_run_opts mine = *o;
	struct pm_err err = { 0 };

	if (number) {				/* one says it */
		mine.warn = (struct pm_warn){ 0 };
		mine.echo = false;
	}
	w.out = pm_output_to(fd, "a temporary file", &err);
	w.writer = w.out ? pug_write_open(w.out, &wo, &err) : NULL;
	if (w.writer && pug_write_mark(w.writer, &w.at, &err) == PM_OK)
		work(&w, recording, &mine, &seams, e, &err);
	e->err = err;
	__atomic_store_n(&e->done, 1, __ATOMIC_RELEASE);
	tell_news(all);
	_exit(0);
}

/* ---- who puts them together ------------------------------------------------------------------ */
struct parts_maker {
	struct parts_shared *all;
	unsigned nworker;
	pid_t pid[PARTS_WORKERS];
	struct pug_parts file[PARTS_WORKERS];
	struct pug_join *join;
	const struct parts_watcher *watcher;
	uint32_t next;			/* part */
};

static bool is_over(struct parts_maker *m, unsigned i)
{
	int status;

	if (m->pid[i] && waitpid(m->pid[i], &status, WNOHANG) == m->pid[i])
		m->pid[i] = 0;
	return !m->pid[i];
}

static bool all_over(struct parts_maker *m)
{
	bool over = true;

	for (unsigned i = 0; i < m->nworker; i++)
		over &= is_over(m, i);
	return over;
}

/* Parts that are done, in order, up to the first that is not. */
static enum pm_status join_done(struct parts_maker *m, struct pm_err *err)
{
	for (; m->next < PARTS_MOST; m->next++) {
		const struct taken_part *p = &m->all->part[m->next];

		if (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE))
			return PM_OK;
		if (pug_join_part(m->join, &m->file[p->owner - 1], p->from, p->to, err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static void await_news(struct parts_maker *m, uint32_t seen)
{
	const struct timespec wait = { 0, 100000000 };

	syscall(SYS_futex, &m->all->news, FUTEX_WAIT, seen, &wait);
}

/* Safepoints behind the last call may make some parts more. */
static double part_done(const struct parts_maker *m)
{
	const double part = (double)m->next / (m->nworker * EACH);

	return part < 1 ? part : 0;
}

static enum pm_status join_all(struct parts_maker *m, struct pm_err *err)
{
	for (;;) {
		const uint32_t seen = __atomic_load_n(&m->all->news, __ATOMIC_SEQ_CST);
		const bool over = all_over(m);

		if (join_done(m, err) != PM_OK)
			return PM_ERR;
		if (over)
			return PM_OK;
		if (m->watcher)
			m->watcher->done(m->watcher->self, pug_join_insns(m->join),
					 part_done(m));
		await_news(m, seen);
	}
}

static bool any_failed(const struct parts_maker *m)
{
	for (unsigned i = 0; i < m->nworker; i++)
		if (pm_failed(&m->all->ended[i].err))
			return true;
	return false;
}

/* How the replays have ended: all in the same way. */
static enum pm_status how_ended(const struct parts_maker *m, struct parts_result *to,
				struct pm_err *err)
{
	const char *const file = err->file;

	for (unsigned i = 0; i < m->nworker; i++) {
		const struct worker_ended *e = &m->all->ended[i];

		if (!e->done)
			return pm_fail_file(err, "a replay that traced parts has died");
		if (!pm_failed(&e->err))
			continue;
		*err = e->err;
		err->file = file;
		return PM_ERR;
	}
	*to = m->all->ended[0].is;
	for (unsigned i = 1; i < m->nworker; i++) {
		const struct parts_result *is = &m->all->ended[i].is;

		to->user_s += is->user_s;
		to->sys_s += is->sys_s;
		to->own_s += is->own_s;
		to->trace_bytes += is->trace_bytes;
	}
	to->parts = m->next;
	to->insns = pug_join_insns(m->join);
	return PM_OK;
}

static enum pm_status start(struct parts_maker *m, const char *recording,
			    const struct pm_run_opts *o, const char *options, uint64_t every,
			    struct pm_err *err)
{
	static char name[PARTS_WORKERS][48];	/* errors have them */

	for (unsigned i = 0; i < m->nworker; i++) {
		snprintf(name[i], sizeof name[i], "the temporary file of worker %u", i + 1);
		m->file[i] = (struct pug_parts){ i, pm_temp_file(err), name[i] };
		if (m->file[i].fd < 0)
			return PM_ERR;
	}
	for (unsigned i = 0; i < m->nworker; i++) {
		if (worker_fork(&m->pid[i], err) != PM_OK)
			return PM_ERR;
		if (!m->pid[i])
			worker_main(m->all, i, m->file[i].fd, recording, o, options, every);
	}
	return PM_OK;
}

static void release(struct parts_maker *m)
{
	for (unsigned i = 0; i < m->nworker; i++) {
		worker_end(m->pid[i]);
		if (m->file[i].fd >= 0)
			close(m->file[i].fd);
	}
	pug_join_free(m->join);
	munmap(m->all, sizeof *m->all);
}

/* The name of the level that @options choose, as pug_write.c knows them. */
static const char *level_of(const char *options)
{
	return strstr(options, "fast") ? "fast" : strstr(options, "dense") ? "dense" : "default";
}

/* It is whole as far as the replays came, even if all have stopped where the recording is cut. One
 * of which nothing could be traced is not finished: no file comes of it. */
static enum pm_status finish_trace(struct parts_maker *m, struct pm_output *out, struct pm_err *err)
{
	for (unsigned i = 0; i < m->nworker; i++)
		if (pug_join_count(m->join, &m->file[i], err) != PM_OK)
			return PM_ERR;
	return pug_join_finish(m->join, err) == PM_OK ? pm_output_finish(out, err) : PM_ERR;
}

static enum pm_status make(struct parts_maker *m, const char *recording,
			   const struct pm_run_opts *o, const char *options,
			   const char *const *info, uint64_t every, struct pm_output *out,
			   struct parts_result *result, struct pm_err *err)
{
	struct pm_err late = { .file = err->file };
	enum pm_status st;

	m->join = pug_join_new(out, pm_run_facts(o->kind), level_of(options), info, err);
	if (!m->join || start(m, recording, o, options, every, err) != PM_OK ||
	    join_all(m, err) != PM_OK)
		return PM_ERR;
	st = how_ended(m, result, err);
	if (st != PM_OK && !pug_join_insns(m->join))
		return st;
	if (finish_trace(m, out, &late) != PM_OK && st == PM_OK) {
		*err = late;
		st = PM_ERR;
	}
	return st;
}

enum pm_status parts_trace(const char *recording, unsigned workers, const struct pm_run_opts *o,
			   const char *options, const char *const *info, struct pm_output *out,
			   const struct parts_watcher *watcher, struct parts_result *result,
			   struct pm_err *err)
{
	struct parts_maker m = { .nworker = workers, .watcher = watcher };
	struct rec_reader *r;
	uint64_t every;
	enum pm_status st;

	for (unsigned i = 0; i < PARTS_WORKERS; i++)
		m.file[i].fd = -1;
	*result = (struct parts_result){ .status = -1, .signal = -1 };
	if (rec_open(recording, &r, err) != PM_OK)
		return PM_ERR;
	every = parts_length(r, workers);
	rec_close(r);
	m.all = mmap(NULL, sizeof *m.all, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m.all == MAP_FAILED)
		return pm_fail_errno(err, "cannot map shared memory");
	st = make(&m, recording, o, options, info, every, out, result, err);
	if (st != PM_OK && !err->file && !any_failed(&m))
		err->file = pm_output_name(out);
	release(&m);
	return st;
}
