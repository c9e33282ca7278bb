/* SPDX-License-Identifier: MIT */
/* schedule_state.h - what the files of schedule.h share
 *
 *   schedule.c        cores, who may run, what comes out
 *   schedule_waits.c  system calls: who waits for what
 *   schedule_file.c   schedules that are written and replayed */
#ifndef PM_TRANSFORM_SCHEDULE_STATE_H
#define PM_TRANSFORM_SCHEDULE_STATE_H

#include "base/mem.h"
#include "transform/schedule.h"

enum member_state {
	MEMBER_READY, MEMBER_RUNS, MEMBER_UNBORN, MEMBER_SLEEPS, MEMBER_FUTEX, MEMBER_ENDED
};

struct member {				/* a stream that is scheduled */
	struct pm_source src;
	const struct pm_batch *b;	/* NULL: to be read, or ended */
	size_t at;			/* its next event in @b */
	uint64_t before;		/* instructions of @b before @at */
	struct pm_stream stream;	/* what sinks see */
	char *name;
	uint32_t trace, from;		/* index of its trace; in its trace */
	bool known, ended;
	enum member_state state;
	uint32_t core;			/* where it ran last, PM_NONE: nowhere */
	uint64_t ready_at;		/* ready or asleep: when it can go on; futex: since when it
					 * waits */
	/* system calls; gap: no instruction came since the call */
	bool gap, leaves, yields, timed;
	uint64_t call, arg[3], time, call_time, sleep;
	uint64_t at_futex, joins;	/* 0: none; the tid that it waits for */
};

struct sim_core {
	struct member *member;		/* NULL: it is idle */
	uint64_t time, start, ran, left, stepped;
	bool fresh;			/* nobody was told that it runs here */
	size_t slice;			/* replay: the next one to look at */
};

struct slice { uint32_t core, member; uint64_t start, insns, line; };

struct pm_schedule {
	struct pm_schedule_conf conf;
	uint32_t facts;
	char **trace;
	size_t ntrace, cap_trace;
	struct member *member;
	size_t n, cap;
	struct sim_core *core, *now;	/* now: in the middle of a step */
	uint64_t limit;			/* of that step */
	uint32_t *line;			/* indices of members that are ready, the first one first */
	size_t nline, cap_line, sleeping;
	struct pm_batch part;
	struct pm_builder said;
	struct pm_map credit;		/* futex -> wakes that came before their waits */
	bool replay;
	struct slice *slice;		/* what was, or is to be */
	size_t nslice, cap_slice;
};

static inline void schedule_ready(struct pm_schedule *s, struct member *m, uint64_t time)
{
	m->state = MEMBER_READY;
	m->ready_at = time;
	pm_grow(s->line, s->nline, s->cap_line);
	s->line[s->nline++] = (uint32_t)(m - s->member);
}

/* An event of @m that is no instruction, at @now. */
void schedule_follow(struct pm_schedule *s, struct member *m, const struct pm_event *e,
		     uint64_t now);
/* @m has left its core, because m->leaves. */
void schedule_leaves(struct pm_schedule *s, struct member *m, uint64_t now);
void schedule_ended(struct pm_schedule *s, const struct member *m, uint64_t now);

enum pm_status schedule_read(struct pm_schedule *s, struct pm_err *err);
/* NULL: nothing is left, or @err. */
struct sim_core *schedule_replay_choose(struct pm_schedule *s, struct pm_err *err);
enum pm_status schedule_replay_step(struct pm_schedule *s, struct sim_core *k, struct pm_err *err);
/* PM_END, after the schedule was written if somebody wants it. */
enum pm_status schedule_done(struct pm_schedule *s, struct pm_err *err);

#endif
