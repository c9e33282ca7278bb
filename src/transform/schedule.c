/* SPDX-License-Identifier: MIT */
#include "transform/schedule_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pug_file.h"

/* ---- who may run ---------------------------------------------------------------------------- */

static void run_on(struct pm_schedule *s, unsigned core, size_t place)
{
	struct sim_core *k = s->core + core;
	struct member *m = s->member + s->line[place];

	memmove(s->line + place, s->line + place + 1, (s->nline - place - 1) * sizeof *s->line);
	s->nline--;
	m->state = MEMBER_RUNS;
	m->core = core;
	k->member = m;
	k->time = k->time > m->ready_at ? k->time : m->ready_at;
	k->start = k->time;
	k->ran = 0;
	k->left = s->conf.quantum;
	k->fresh = true;
}

/* The idle core on which @m would go on; cores: none. */
static unsigned idle_core(const struct pm_schedule *s, const struct member *m)
{
	unsigned best = s->conf.cores;

	if (s->conf.pinned) {
		const unsigned home = (unsigned)(m - s->member) % s->conf.cores;

		return s->core[home].member ? s->conf.cores : home;
	}
	if (m->core != PM_NONE && !s->core[m->core].member)
		return m->core;
	for (unsigned k = 0; k < s->conf.cores; k++)
		if (!s->core[k].member &&
		    (best == s->conf.cores || s->core[k].time < s->core[best].time))
			best = k;
	return best;
}

static void dispatch(struct pm_schedule *s)
{
	for (size_t i = 0; i < s->nline; ) {
		const unsigned core = idle_core(s, s->member + s->line[i]);

		if (core < s->conf.cores)
			run_on(s, core, i);
		else if (s->conf.pinned)
			i++;
		else
			return;		/* no core is idle */
	}
}

static struct sim_core *next_core(struct pm_schedule *s)
{
	struct sim_core *best = NULL;

	for (unsigned k = 0; k < s->conf.cores; k++)
		if (s->core[k].member && (!best || s->core[k].time < best->time))
			best = s->core + k;
	return best;
}

/* Rule (5). False: all streams have ended. */
static bool release_one(struct pm_schedule *s)
{
	struct member *best = NULL;
	uint64_t now = 0;

	for (unsigned k = 0; k < s->conf.cores; k++)
		now = s->core[k].time > now ? s->core[k].time : now;
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = s->member + i;

		if (m->state == MEMBER_UNBORN && (!best || best->state != MEMBER_UNBORN))
			best = m;
		if (m->state == MEMBER_FUTEX && (!best || (best->state == MEMBER_FUTEX &&
							   m->ready_at < best->ready_at)))
			best = m;
	}
	if (best)
		schedule_ready(s, best, now);
	return best;
}

/* Whoever has waited long enough by the time at which @k goes on is ready; with NULL, the first. */
static bool wake_sleepers(struct pm_schedule *s, const struct sim_core *k)
{
	struct member *best = NULL;

	for (size_t i = 0; s->sleeping && i < s->n; i++)
		if (s->member[i].state == MEMBER_SLEEPS &&
		    (!best || s->member[i].ready_at < best->ready_at))
			best = s->member + i;
	if (!best || (k && best->ready_at > k->time))
		return false;
	s->sleeping--;
	schedule_ready(s, best, best->ready_at);
	dispatch(s);
	return true;
}

static struct sim_core *choose(struct pm_schedule *s)
{
	for (;;) {
		struct sim_core *k;

		dispatch(s);
		k = next_core(s);
		if (wake_sleepers(s, k))
			continue;
		if (k || !release_one(s))
			return k;
	}
}

/* ---- what it does --------------------------------------------------------------------------- */

static bool is_step(const struct pm_schedule *s, const struct pm_event *e)
{
	if (e->kind == PM_EV_INSN || e->kind == PM_EV_BLOCK)
		return true;
	return !(s->facts & PM_HAS_INSNS) && e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY;
}

/* The next events of @m, NULL: it has ended. */
static enum pm_status read_member(struct pm_schedule *s, struct member *m, struct pm_err *err)
{
	enum pm_status st;

	while (!m->ended && (!m->b || m->at == m->b->n)) {
		st = m->src.ops->next(m->src.self, &m->b, err);
		m->at = 0;
		m->before = 0;
		if (st == PM_ERR)
			return PM_ERR;
		m->ended = st == PM_END;
		if (m->ended)
			m->b = NULL;
		else if (!m->known) {	/* what the file says of it, or the first batch */
			m->stream = m->b->stream ? *m->b->stream : (struct pm_stream){ 0 };
			m->from = m->stream.index;
			m->known = true;
		} else if (m->b->stream && m->b->stream->index != m->from) {
			return pm_fail_file(err, "%s holds several threads; to schedule them, make "
					    "it a .pug first (pugmark convert)",
					    s->trace[m->trace]);
		}
	}
	if (m->known) {
		m->stream.index = (uint32_t)(m - s->member);
		if (s->ntrace > 1)
			m->stream.space = (m->b && m->b->stream ? m->b->stream->space : 0) ^
					  (uint64_t)(m->trace + 1) << 32;
	}
	return PM_OK;
}

/* "From now on on core k". */
static const struct pm_batch *announce(struct pm_schedule *s, const struct sim_core *k)
{
	struct pm_rare *r;

	pm_builder_reset(&s->said, &k->member->stream, k->member->b ? k->member->b->code : NULL);
	r = pm_builder_rare(&s->said, PM_EV_KERNEL, NULL);
	r->code = PM_KERNEL_CORE;
	r->nargs = 1;
	r->arg[0] = (uint64_t)(k - s->core);
	return pm_builder_batch(&s->said);
}

/* Events of the stream on @k as far as one batch has them: into s->part, which may be empty then.
 * True: the step is over. */
static bool run_part(struct pm_schedule *s, struct sim_core *k, uint64_t limit)
{
	struct member *m = k->member;
	const size_t from = m->at;
	uint64_t insns = 0;
	bool over = false;

	while (m->at < m->b->n && !over) {
		const struct pm_event *e = m->b->ev + m->at;

		if (is_step(s, e)) {
			over = k->stepped >= limit || m->leaves;
			if (over)
				break;
			k->stepped += e->kind == PM_EV_BLOCK ? e->value : 1;
			insns += e->kind == PM_EV_BLOCK ? e->value : e->kind == PM_EV_INSN;
			m->gap = false;
		} else if (!s->replay) {
			schedule_follow(s, m, e, k->time + k->stepped);
		}
		m->at++;
	}
	s->part = *m->b;
	s->part.stream = &m->stream;
	s->part.ev += from;
	s->part.n = m->at - from;
	s->part.first_insn += m->before;
	m->before += insns;
	return over;
}

static void slice_ends(struct pm_schedule *s, struct sim_core *k)
{
	if (s->conf.to) {
		pm_grow(s->slice, s->nslice, s->cap_slice);
		s->slice[s->nslice++] = (struct slice){
			.core = (uint32_t)(k - s->core), .start = k->start, .insns = k->ran,
			.member = (uint32_t)(k->member - s->member),
		};
	}
	k->member = NULL;
}

/* A step of @k is over. */
static enum pm_status step_ends(struct pm_schedule *s, struct sim_core *k, struct pm_err *err)
{
	struct member *m = k->member;

	k->time += k->stepped;
	k->ran += k->stepped;
	k->left -= k->stepped < k->left ? k->stepped : k->left;
	k->stepped = 0;
	if (s->replay)
		return schedule_replay_step(s, k, err);
	if (m->ended) {
		m->state = MEMBER_ENDED;
		slice_ends(s, k);
		schedule_ended(s, m, k->time + 1);
	} else if (m->leaves) {
		slice_ends(s, k);
		schedule_leaves(s, m, k->time);
	} else if (!k->left && s->nline) {
		slice_ends(s, k);
		schedule_ready(s, m, k->time);
	} else if (!k->left) {
		k->left = s->conf.quantum;
	}
	return PM_OK;
}

static enum pm_status next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct pm_schedule *s = self;

	for (;;) {
		struct sim_core *k = s->now;

		if (!k) {
			k = s->replay ? schedule_replay_choose(s, err) : choose(s);
			if (!k)
				return pm_failed(err) ? PM_ERR : schedule_done(s, err);
			s->now = k;
			/* not the quantum's end, which a replay does not know: rule (2) */
			s->limit = s->replay && k->left < s->conf.step ? k->left : s->conf.step;
		}
		if (read_member(s, k->member, err))
			return PM_ERR;
		if (k->fresh && k->member->known) {
			k->fresh = false;
			*b = announce(s, k);
			return PM_OK;
		}
		if (k->member->ended || run_part(s, k, s->limit)) {
			const bool some = !k->member->ended && s->part.n;

			s->now = NULL;
			if (step_ends(s, k, err))
				return PM_ERR;
			if (!some)
				continue;
		}
		if (!s->part.n)
			continue;
		*b = &s->part;
		return PM_OK;
	}
}

/* ---- life ----------------------------------------------------------------------------------- */

struct pm_schedule *pm_schedule_new(const struct pm_schedule_conf *c)
{
	struct pm_schedule *s = pm_alloc(sizeof *s);

	s->conf = *c;
	s->conf.quantum = c->quantum ? c->quantum : 100000;
	s->conf.step = c->step ? c->step : 100;
	if (s->conf.step > s->conf.quantum)
		s->conf.step = s->conf.quantum;
	s->conf.wait = c->wait ? c->wait : 10000;
	s->core = pm_alloc(c->cores * sizeof *s->core);
	s->facts = UINT32_MAX;
	return s;
}

static struct member *add_member(struct pm_schedule *s, const struct pm_source *src)
{
	pm_grow(s->member, s->n, s->cap);
	s->member[s->n] = (struct member){ .src = *src, .trace = (uint32_t)s->ntrace - 1,
					   .core = PM_NONE, .at_futex = 0 };
	return s->member + s->n++;
}

static void member_of(struct pm_schedule *s, const struct pm_source *src,
		      const struct pm_stream *stream)
{
	struct member *m = add_member(s, src);

	m->stream = *stream;
	m->from = stream->index;
	m->known = true;
	if (stream->name)
		m->stream.name = m->name = pm_strdup(stream->name);
}

enum pm_status pm_schedule_add(struct pm_schedule *s, const char *path, const char *format,
			       const struct pm_format **which, struct pm_err *err)
{
	struct pug_totals t = { 0 };
	struct pm_source src;
	struct pm_stream *stream = NULL;
	size_t n = 0;
	enum pm_status st = pm_trace_open(path, format, &src, which, err);

	if (st)
		return st;
	pm_grow(s->trace, s->ntrace, s->cap_trace);
	s->trace[s->ntrace++] = pm_strdup(path);
	/* what all have; but blocks are to be expanded if one trace has some */
	s->facts = (s->facts & src.facts) | (PM_HAS_BLOCKS & src.facts) |
		   (s->ntrace > 1 ? s->facts & PM_HAS_BLOCKS : 0);
	if (!strcmp((*which)->name, "pug"))
		st = pug_read_totals(pm_trace_reader(&src), &t, err);
	for (size_t i = 0; i < t.nstream; i++)
		n += t.stream[i].is != NULL;
	if (st || n < 2) {
		if (st)
			src.ops->close(src.self);
		else
			add_member(s, &src);
		return st;
	}
	stream = pm_alloc(n * sizeof *stream);
	n = 0;
	for (size_t i = 0; i < t.nstream; i++)	/* the reader's, which goes away */
		if (t.stream[i].is) {
			stream[n] = *t.stream[i].is;
			stream[n].name = stream[n].name ? pm_strdup(stream[n].name) : NULL;
			n++;
		}
	src.ops->close(src.self);
	for (size_t i = 0; i < n; i++) {
		if (!st && !(st = pm_trace_open(path, "pug", &src, which, err))) {
			pug_read_stream(pm_trace_reader(&src), stream[i].index);
			member_of(s, &src, stream + i);
		}
		free((char *)stream[i].name);
	}
	free(stream);
	return st;
}

static void close_schedule(void *self)
{
	pm_schedule_free(self);
}

static const struct pm_source_ops ops = {
	.name = "schedule", .next = next, .close = close_schedule
};

enum pm_status pm_schedule_source(struct pm_schedule *s, struct pm_source *src, struct pm_err *err)
{
	uint32_t first = UINT32_MAX;

	if (s->conf.from && schedule_read(s, err))
		goto failed;
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = s->member + i;
		bool begins;

		if (read_member(s, m, err))
			goto failed;
		begins = m->b && m->b->n && (m->b->ev->kind == PM_EV_THREAD ||
					     m->b->ev->kind == PM_EV_PROCESS);
		if (begins && m->trace == first && !s->replay)
			m->state = MEMBER_UNBORN;
		else if (!s->replay)
			schedule_ready(s, m, 0);
		first = m->trace;
	}
	*src = (struct pm_source){ .ops = &ops, .self = s, .facts = s->facts | PM_HAS_KERNEL };
	return PM_OK;
failed:
	pm_schedule_free(s);
	return PM_ERR;
}

void pm_schedule_free(struct pm_schedule *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		s->member[i].src.ops->close(s->member[i].src.self);
		free(s->member[i].name);
	}
	for (size_t i = 0; i < s->ntrace; i++)
		free(s->trace[i]);
	pm_builder_release(&s->said);
	pm_map_release(&s->credit);
	free(s->trace);
	free(s->member);
	free(s->core);
	free(s->line);
	free(s->slice);
	free(s);
}
