/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/core_sample.h"
#include "analyse/sample_work.h"
#include "analyse/walk.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"

#define FIRST	8			/* at first one of so many periods is simulated */
#define FEW	100			/* windows, of which a variance can be known */

enum sample_stage { SKIP, TRAIN, WARM_UP, MEASURE };

struct sample_thread {
	struct sampler *s;
	void **core;
	struct pm_core_stats *before;
	const uint64_t *period;		/* to simulate, ascending */
	size_t n, at;
	size_t told;			/* intervals of the store that the caches know */
	size_t begun;			/* the interval that training began with; branches since: */
	uint64_t seen, known;		/* known: branches of interval @told that predictors know */
	enum sample_stage stage;
	uint64_t in_time, trained, from;
	enum pm_status st;
	struct pm_err err;
};

/* ---- one window ----------------------------------------------------------------------------- */

static void time_on(struct sample_thread *t, bool on)
{
	for (size_t k = 0; k < t->s->ncore; k++)
		pm_core_time(t->core[k], on);
}

static void use_line(void *ctx, uint64_t line, bool fetched, bool written)
{
	struct sample_thread *t = ctx;

	for (size_t k = 0; k < t->s->ncore; k++)
		pm_core_warm(t->core[k], line, fetched, written);
}

static void use_branches(void *ctx, const struct pm_br *b, size_t n)
{
	struct sample_thread *t = ctx;
	const size_t known = t->known < n ? (size_t)t->known : n;

	t->known -= known;
	b += known;
	n -= known;
	for (size_t k = 0; k < t->s->ncore; k++)
		pm_core_warm_branches(t->core[k], b, n);
}

/* Of the intervals up to @to that predictors have not seen as many as it takes, the last ones; what
 * they know is not told twice. */
static void tell_branches(struct sample_thread *t, size_t to)
{
	const struct pm_warm *w = t->s->warm;
	uint64_t n = 0;
	size_t from = to;

	while (from > t->told && n < t->s->o->branches)
		n += pm_warm_branches(w, --from);
	if (from > t->told)
		t->known = 0;
	for (; from < to; from++)
		pm_warm_each_branch(w, from, use_branches, t);
}

/* Interval @told has been trained, or timed, to some place inside. */
static void note_known(struct sample_thread *t)
{
	t->known = t->seen;
	for (size_t i = t->begun; i < t->told; i++)
		t->known -= pm_warm_branches(t->s->warm, i);
}

static uint64_t window_of(const struct sample_thread *t)
{
	return t->s->start[t->period[t->at]];
}

/* Where time begins for the window that comes next. */
static uint64_t warm_up_at(const struct sample_thread *t)
{
	const uint64_t start = window_of(t);

	return start < t->s->o->warmup ? 0 : start - t->s->o->warmup;
}

/* Where training begins: at an interval's, before which the store knows everything. */
static uint64_t training_at(const struct sample_thread *t)
{
	const uint64_t to = warm_up_at(t), every = t->s->warm->every,
		       from = to < t->s->o->training ? 0 : to - t->s->o->training;

	return from / every * every;
}

static void measure(struct sample_thread *t)
{
	for (size_t k = 0; k < t->s->ncore; k++) {
		struct pm_core_stats *to = t->s->got + t->period[t->at] * t->s->ncore + k, now;
		const uint64_t *b = (const uint64_t *)(t->before + k), *a = (const uint64_t *)&now;

		pm_core_counted(t->core[k], &now);
		for (size_t i = 0; i < SAMPLE_STATS; i++)
			((uint64_t *)to)[i] = a[i] - b[i];
	}
}

/* What begins at @at. */
static enum sample_stage next_stage(struct sample_thread *t, uint64_t at)
{
	const struct sampler *s = t->s;

	if (t->stage == MEASURE) {
		measure(t);
		time_on(t, false);
		t->in_time += at - t->from;
		t->told = (size_t)(at / s->warm->every);
		note_known(t);
		if (++t->at == t->n || training_at(t) > at)
			return SKIP;
		t->from = at;
		return TRAIN;
	}
	if (t->stage == SKIP) {
		const size_t to = (size_t)(at / s->warm->every);

		tell_branches(t, to);
		for (; t->told < to; t->told++)
			pm_warm_each(s->warm, t->told, use_line, t);
		t->from = at;
		t->begun = to;
		t->seen = 0;
		return TRAIN;
	}
	if (t->stage == TRAIN) {
		t->trained += at - t->from;
		t->from = at;
		time_on(t, true);
		return WARM_UP;
	}
	for (size_t k = 0; k < s->ncore; k++)
		pm_core_counted(t->core[k], t->before + k);
	return MEASURE;
}

static uint64_t stop(void *ctx, uint64_t at, bool *wanted)
{
	struct sample_thread *t = ctx;
	uint64_t next = at;

	/* a stage of no instructions is over at once */
	for (;;) {
		if (t->at == t->n)
			next = UINT64_MAX;
		else if (t->stage == SKIP)
			next = training_at(t);
		else if (t->stage == TRAIN)
			next = warm_up_at(t);
		else
			next = window_of(t) + (t->stage == MEASURE ? t->s->o->window : 0);
		if (next > at)
			break;
		t->stage = next_stage(t, at);
	}
	*wanted = t->stage != SKIP;
	return next;
}

static enum pm_status part(void *ctx, const struct pm_batch *b, struct pm_err *err)
{
	struct sample_thread *t = ctx;

	for (size_t i = 0; i < b->n; i++)
		t->seen += b->ev[i].kind == PM_EV_BRANCH;
	for (size_t k = 0; k < t->s->ncore; k++)
		if (pm_sim_core.consume(t->core[k], b, err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

static void *simulate(void *arg)
{
	static const struct pm_walk_ops ops = { stop, part };
	struct sample_thread *t = arg;

	t->core = pm_alloc(t->s->ncore * sizeof *t->core);
	t->before = pm_alloc(t->s->ncore * sizeof *t->before);
	for (size_t k = 0; k < t->s->ncore && !t->st; k++) {
		t->core[k] = pm_sim_core.create(t->s->config[k], &t->err);
		t->st = t->core[k] ? PM_OK : PM_ERR;
	}
	if (!t->st)
		time_on(t, false);
	if (!t->st)
		t->st = pm_walk(t->s->path, &ops, t, &t->err);
	if (!t->st && t->at < t->n)
		t->st = pm_fail_file(&t->err, "the trace ends before instruction %llu",
				     (unsigned long long)(window_of(t) + t->s->o->window));
	for (size_t k = 0; k < t->s->ncore; k++)
		pm_sim_core.destroy(t->core[k]);
	free(t->core);
	free(t->before);
	return NULL;
}

/* ---- a round -------------------------------------------------------------------------------- */

/* The windows of each @stride-th period that are not done yet. */
static enum pm_status simulate_round(struct sampler *s, uint64_t stride, struct pm_err *err)
{
	uint64_t *todo = pm_alloc((s->n + 1) * sizeof *todo);
	unsigned threads = s->o->threads ? s->o->threads : 1;
	enum pm_status st = PM_OK;
	struct sample_thread *t;
	size_t n = 0;

	for (uint64_t i = stride / 2; i < s->n; i += stride)
		if (!s->done[i] && s->start[i] != UINT64_MAX) {
			const uint64_t same = s->same[i];

			/* those that have a window in common stand together */
			if (!s->taken[same])
				todo[n++] = same;
			s->taken[same] = s->done[i] = true;
		}
	threads = n < threads ? (n ? (unsigned)n : 1) : threads;
	t = pm_alloc(threads * sizeof *t);
	for (unsigned k = 0; k < threads; k++) {
		const size_t from = n * k / threads;

		t[k] = (struct sample_thread){ .s = s, .period = todo + from,
					       .n = n * (k + 1) / threads - from };
	}
	pm_threads_run(simulate, t, sizeof *t, threads);
	for (unsigned k = 0; k < threads; k++) {
		s->in_time += t[k].in_time;
		s->trained += t[k].trained;
		if (t[k].st && !st) {
			st = t[k].st;
			*err = t[k].err;
		}
	}
	free(t);
	free(todo);
	return st;
}

/* The rounds. */
static enum pm_status simulate_all(struct sampler *s, struct pm_sample_result *r,
				   struct pm_err *err)
{
	uint64_t stride = s->o->error > 0 && s->n / FIRST >= FEW ? FIRST : 1;

	for (;;) {
		uint64_t needed = 0, next = 1;
		bool reached = true;

		if (simulate_round(s, stride, err) != PM_OK)
			return PM_ERR;
		r->rounds++;
		for (size_t k = 0; k < s->ncore; k++) {
			sample_estimate(s, k, r->core + k);
			reached = reached && r->core[k].reached;
			needed = r->core[k].needed > needed ? r->core[k].needed : needed;
		}
		if (reached || stride == 1)
			return PM_OK;
		/* a tenth more: what is known of the variance is an estimate, too */
		while (next * 2 < stride && s->n / (next * 2) > needed + needed / 10)
			next *= 2;
		stride = next;
	}
}

enum pm_status pm_sample_period(const struct pm_warm *w, const struct pm_sample_opts *o,
				uint64_t *period, struct pm_err *err)
{
	const uint64_t least = (uint64_t)ceil((double)(o->window + o->warmup) / o->most);

	if (o->period && o->period < least)
		return pm_fail_request(err, "a period of %llu instructions has more than %g %% of "
				       "them in time: the least is %llu",
				       (unsigned long long)o->period, 100 * o->most,
				       (unsigned long long)least);
	*period = o->period ? o->period : least;
	if (w->insns / *period < 2)
		return pm_fail_file(err, "too short for samples: two periods of %llu instructions "
				    "are the least, and it has %llu",
				    (unsigned long long)*period, (unsigned long long)w->insns);
	return PM_OK;
}

enum pm_status pm_sample_run(const char *path, const struct pm_warm *w, const char *const *config,
			     const struct pm_sample_opts *o, struct pm_sample_result *r,
			     struct pm_err *err)
{
	struct sampler s = { .path = path, .warm = w, .o = o, .config = config, .insns = w->insns };
	enum pm_status st;

	*r = (struct pm_sample_result){ .insns = w->insns };
	while (config[s.ncore])
		s.ncore++;
	if (pm_sample_period(w, o, &s.period, err) != PM_OK)
		return PM_ERR;
	s.n = s.insns / s.period;
	s.done = pm_alloc(s.n * sizeof *s.done);
	s.taken = pm_alloc(s.n * sizeof *s.taken);
	s.got = pm_alloc(s.n * s.ncore * sizeof *s.got);
	r->core = pm_alloc(s.ncore * sizeof *r->core);
	r->period = s.period;
	r->periods = s.n;
	sample_place_windows(&s);
	st = simulate_all(&s, r, err);
	r->in_time = s.in_time;
	r->guessed = s.guessed;
	r->plain_because = s.plain_because;
	r->trained = s.trained;
	sample_places_release(&s);
	free(s.done);
	free(s.taken);
	free(s.got);
	if (st)
		pm_sample_release(r);
	return st;
}

void pm_sample_release(struct pm_sample_result *r)
{
	free(r->core);
	*r = (struct pm_sample_result){ 0 };
}

/* ---- what it says --------------------------------------------------------------------------- */

static void core_result(const struct pm_sampled *c, const char *config,
			const struct pm_sample_opts *o, struct pm_result *to)
{
	static const char *const name[] = {
#define S(field, unit, about) #field,
		PM_CORE_STATS(S)
#undef S
	};

	pm_result_begin(to, NULL);
	pm_result_str(to, "core", *config ? config : "default");
	pm_result_u64(to, "windows", c->windows, "windows");
	pm_result_f64(to, "cpi", c->cpi, "cycles/instruction");
	pm_result_f64(to, "low", c->cpi - c->half, "cycles/instruction");
	pm_result_f64(to, "high", c->cpi + c->half, "cycles/instruction");
	pm_result_f64(to, "confidence", o->confidence, "that the whole trace's lies between");
	pm_result_f64(to, "error", c->cpi > 0 ? c->half / c->cpi : 0, "of the mean, either way");
	pm_result_bool(to, "reached", c->reached);
	pm_result_u64(to, "needed", c->needed, "windows for the error that was asked for");
	pm_result_f64(to, "variation", c->variation, "deviation of a window/mean");
	pm_result_str(to, "estimator", c->counts ? "regression" : "plain");
	pm_result_f64(to, "explained", c->explained, "of the variance, by the regression");
	pm_result_f64(to, "ipc", c->cpi > 0 ? 1 / c->cpi : 0, "instructions/cycle");
	pm_result_begin(to, "without_regression");
	pm_result_f64(to, "plain_cpi", c->plain, "cycles/instruction");
	pm_result_f64(to, "plain_error", c->plain > 0 ? c->plain_half / c->plain : 0,
		      "of the mean, either way");
	pm_result_u64(to, "counts", c->counts, "counts of the store that the regression uses");
	pm_result_end(to);
	pm_result_begin(to, "per_instruction");
	for (size_t i = 0; i < SAMPLE_STATS; i++)
		if (strcmp(name[i], "cycles") && strcmp(name[i], "instructions"))
			pm_result_f64(to, name[i], c->each[i], NULL);
	pm_result_end(to);
	pm_result_end(to);
}

void pm_sample_put(const struct pm_sample_result *r, const char *const *config,
		   const struct pm_sample_opts *o, const struct pm_warm *w, struct pm_result *to)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < w->n; i++)
		bytes += w->part[i].n + w->part[i].nbranch + w->part[i].ncount;
	pm_result_begin(to, "sample");
	pm_result_u64(to, "instructions", r->insns, "instructions");
	pm_result_u64(to, "period", r->period, "instructions");
	pm_result_u64(to, "periods", r->periods, "periods");
	pm_result_u64(to, "window", o->window, "instructions, measured");
	pm_result_u64(to, "warmup", o->warmup, "instructions in time before each");
	pm_result_u64(to, "training", o->training, "instructions without time before these");
	pm_result_u64(to, "branches", o->branches, "branches told to predictors before these");
	pm_result_u64(to, "in_time", r->in_time, "instructions");
	pm_result_f64(to, "in_time_share", (double)r->in_time / (double)r->insns,
		      "of all instructions");
	pm_result_f64(to, "trained_share", (double)r->trained / (double)r->insns,
		      "of all instructions");
	pm_result_u64(to, "rounds", r->rounds, "rounds");
	pm_result_u64(to, "store_interval", w->every, "instructions");
	pm_result_u64(to, "store_bytes", bytes, "bytes");
	if (!r->guessed)
		pm_result_str(to, "plain_because", r->plain_because);
	pm_result_begin_list(to, "cores");
	for (size_t k = 0; config[k]; k++)
		core_result(r->core + k, config[k], o, to);
	pm_result_end(to);
	pm_result_end(to);
}
