/* SPDX-License-Identifier: MIT */
/* schedule_file.c - schedules that are written and replayed: schedule.h says what they look like */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text.h"
#include "transform/schedule_state.h"

#define SCHEDULE_HEAD "pugmark-schedule 1"

static enum pm_status wrong(struct pm_schedule *s, uint64_t line, struct pm_err *err,
			    const char *what)
{
	pm_fail_line(err, line, "%s", what);
	err->file = s->conf.from;
	return PM_ERR;
}

/* Numbers of a line, with words between them that must be those of @words. */
static bool numbers(const char *text, size_t n, const char *words, uint64_t v[4])
{
	char line[200], end;
	int got;

	if (n >= sizeof line)
		return false;
	memcpy(line, text, n);
	line[n] = 0;
	got = sscanf(line, words, v, v + 1, v + 2, v + 3, &end);
	return got == (strncmp(words, "cores", 5) ? 4 : 3);
}

static enum pm_status read_slice(struct pm_schedule *s, const struct pm_lines *l, const char *text,
				 size_t n, struct pm_err *err)
{
	uint64_t v[4];

	if (!numbers(text, n, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%c", v))
		return wrong(s, l->line, err, "expected core, start, instructions and stream");
	if (v[0] >= s->conf.cores || v[3] >= s->n)
		return wrong(s, l->line, err, "no such core or stream");
	if (v[1] > UINT64_MAX / 2 || v[2] > UINT64_MAX / 4)
		return wrong(s, l->line, err, "an impossible time");
	pm_grow(s->slice, s->nslice, s->cap_slice);
	s->slice[s->nslice++] = (struct slice){
		.core = (uint32_t)v[0], .start = v[1], .insns = v[2], .member = (uint32_t)v[3],
		.line = l->line,
	};
	return PM_OK;
}

static enum pm_status read_head(struct pm_schedule *s, struct pm_lines *l, struct pm_err *err)
{
	uint64_t v[4];
	const char *text;
	size_t n;

	if (pm_lines_next(l, &text, &n, err) || n != strlen(SCHEDULE_HEAD) ||
	    memcmp(text, SCHEDULE_HEAD, n))
		return wrong(s, 1, err, "expected '" SCHEDULE_HEAD "': this is no schedule");
	if (pm_lines_next(l, &text, &n, err) ||
	    !numbers(text, n, "cores %" SCNu64 " step %" SCNu64 " streams %" SCNu64 "%c", v) ||
	    !v[0] || v[0] > 4096 || !v[1])
		return wrong(s, 2, err, "expected 'cores N step N streams N'");
	if (v[2] != s->n)
		return wrong(s, 2, err, "the schedule is of another number of streams than the "
			     "traces have");
	free(s->core);
	s->conf.cores = (uint32_t)v[0];
	s->conf.step = v[1];
	s->core = pm_alloc(s->conf.cores * sizeof *s->core);
	return PM_OK;
}

enum pm_status schedule_read(struct pm_schedule *s, struct pm_err *err)
{
	struct pm_input *in = pm_input_open(s->conf.from, err);
	struct pm_lines l;
	const char *text;
	enum pm_status st;
	size_t n;

	if (!in)
		return PM_ERR;
	pm_lines_init(&l, in);
	st = read_head(s, &l, err);
	while (!st && !(st = pm_lines_next(&l, &text, &n, err)))
		st = read_slice(s, &l, text, n, err);
	pm_input_close(in);
	s->replay = true;
	return st == PM_END ? PM_OK : PM_ERR;
}

/* The slice at which @k is, its index in s->slice; nslice: it has no more. */
static size_t slice_of(struct pm_schedule *s, struct sim_core *k)
{
	while (k->slice < s->nslice && s->slice[k->slice].core != (uint32_t)(k - s->core))
		k->slice++;
	return k->slice;
}

struct sim_core *schedule_replay_choose(struct pm_schedule *s, struct pm_err *err)
{
	struct sim_core *best = NULL;
	uint64_t least = UINT64_MAX;
	struct slice *v;

	for (unsigned i = 0; i < s->conf.cores; i++) {
		struct sim_core *k = s->core + i;
		const size_t at = k->member ? 0 : slice_of(s, k);
		const uint64_t time = k->member ? k->time
				      : at < s->nslice ? s->slice[at].start : UINT64_MAX;

		if (time < least) {
			least = time;
			best = k;
		}
	}
	if (!best || best->member)
		return best;
	v = s->slice + best->slice;
	if (v->start < best->time) {
		wrong(s, v->line, err, "it begins before the core is free");
		return NULL;
	}
	if (s->member[v->member].state == MEMBER_RUNS) {
		wrong(s, v->line, err, "the stream runs on another core at that time");
		return NULL;
	}
	best->member = s->member + v->member;
	best->member->state = MEMBER_RUNS;
	best->time = best->start = v->start;
	best->ran = 0;
	best->left = v->insns;
	best->fresh = true;
	return best;
}

enum pm_status schedule_replay_step(struct pm_schedule *s, struct sim_core *k, struct pm_err *err)
{
	const struct slice *v = s->slice + k->slice;

	if (k->ran < v->insns && !k->member->ended)
		return PM_OK;
	if (k->ran != v->insns)
		return wrong(s, v->line, err, "the stream does not run that many instructions: the "
			     "schedule is of another trace");
	k->member->state = MEMBER_READY;
	k->member = NULL;
	k->slice++;
	return PM_OK;
}

static enum pm_status write_schedule(struct pm_schedule *s, struct pm_err *err)
{
	struct pm_output *o = pm_output_open(s->conf.to, err);
	enum pm_status st = o ? PM_OK : PM_ERR;
	char line[120];
	int n = snprintf(line, sizeof line, SCHEDULE_HEAD "\ncores %u step %" PRIu64
			 " streams %zu\n", s->conf.cores, s->conf.step, s->n);

	for (size_t i = 0; !st; i++) {
		const struct slice *v = s->slice + i;

		st = pm_output_write(o, line, (size_t)n, err);
		if (i == s->nslice)
			break;
		n = snprintf(line, sizeof line, "%u %" PRIu64 " %" PRIu64 " %u\n", v->core,
			     v->start, v->insns, v->member);
	}
	if (!st)
		st = pm_output_finish(o, err);
	if (o)
		pm_output_close(o);
	return st;
}

enum pm_status schedule_done(struct pm_schedule *s, struct pm_err *err)
{
	for (size_t i = 0; s->replay && i < s->n; i++)
		if (!s->member[i].ended && (s->member[i].b || !s->member[i].known))
			return wrong(s, 2, err, "the traces have more instructions than the "
				     "schedule: it is of other ones");
	if (s->conf.to && !s->replay && write_schedule(s, err))
		return PM_ERR;
	s->conf.to = NULL;		/* once */
	return PM_END;
}
