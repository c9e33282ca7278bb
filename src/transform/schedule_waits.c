/* SPDX-License-Identifier: MIT */
/* schedule_waits.c - rules (3) and (4) of schedule.h */
#include "transform/schedule_state.h"

#define SYS_FUTEX	202
#define SYS_YIELD	24
#define FUTEX_COMMAND	127u		/* without its flags */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE = 4, FUTEX_WAKE_OP = 5,
       FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET = 10 };

/* System calls that wait by their nature. */
static bool waits(uint64_t call)
{
	static const uint16_t calls[] = {
		7 /* poll */, 23 /* select */, 34 /* pause */, 35 /* nanosleep */, 43 /* accept */,
		45 /* recvfrom */, 47 /* recvmsg */, 61 /* wait4 */, 65 /* semop */,
		70 /* msgrcv */,
		74 /* fsync */, 75 /* fdatasync */, 128 /* rt_sigtimedwait */,
		130 /* rt_sigsuspend */, 230 /* clock_nanosleep */, 232 /* epoll_wait */,
		247 /* waitid */, 270 /* pselect6 */, 271 /* ppoll */, 281 /* epoll_pwait */,
		288 /* accept4 */
	};

	for (size_t i = 0; i < NR(calls); i++)
		if (calls[i] == call)
			return true;
	return false;
}

static bool makes_thread(uint64_t call)
{
	return call == 56 || call == 57 || call == 58 || call == 435;	/* clone ... clone3 */
}

/* A futex of a process of a trace, as one number. */
static uint64_t futex_of(const struct member *m, uint64_t addr)
{
	return addr ^ (uint64_t)m->stream.pid << 48 ^ (uint64_t)(m->trace + 1) << 56;
}

/* At most @n that wait at @futex go on; the longest waiting first. How many those are. */
static uint64_t wake(struct pm_schedule *s, uint64_t futex, uint64_t n, uint64_t now)
{
	uint64_t woken = 0;

	while (woken < n) {
		struct member *best = NULL;

		for (size_t i = 0; i < s->n; i++) {
			struct member *m = s->member + i;

			if (m->state == MEMBER_FUTEX && m->at_futex == futex &&
			    (!best || m->ready_at < best->ready_at))
				best = m;
		}
		if (!best)
			break;
		schedule_ready(s, best, now);
		woken++;
	}
	return woken;
}

static bool has_ended(const struct pm_schedule *s, const struct member *m, uint64_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->member[i].trace == m->trace && s->member[i].stream.tid == tid)
			return s->member[i].state == MEMBER_ENDED;
	return false;
}

static bool is_thread(const struct pm_schedule *s, const struct member *m, uint64_t tid)
{
	for (size_t i = 0; tid && i < s->n; i++)
		if (s->member[i].trace == m->trace && s->member[i].stream.tid == tid &&
		    s->member + i != m)
			return true;
	return false;
}

static void futex_result(struct pm_schedule *s, struct member *m, uint64_t result, uint64_t now)
{
	const unsigned command = (unsigned)(m->arg[1] & FUTEX_COMMAND);
	const uint64_t futex = futex_of(m, m->arg[0]);
	uint64_t *credit;

	if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
		if (result)
			return;		/* it did not wait */
		if (is_thread(s, m, (uint32_t)m->arg[2])) {
			m->joins = (uint32_t)m->arg[2];
			m->leaves = !has_ended(s, m, m->joins);
		} else if ((credit = pm_map_get(&s->credit, futex)) && *credit) {
			--*credit;
		} else {
			m->joins = 0;
			m->leaves = true;
		}
		m->at_futex = futex;
		m->sleep = 0;
	} else if ((command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET ||
		    command == FUTEX_WAKE_OP || command == FUTEX_REQUEUE ||
		    command == FUTEX_CMP_REQUEUE) && (int64_t)result > 0) {
		*pm_map_put(&s->credit, futex, NULL) += result - wake(s, futex, result, now + 1);
	}
}

static void call_result(struct pm_schedule *s, struct member *m, uint64_t result, uint64_t now)
{
	m->at_futex = 0;
	if (m->call == SYS_FUTEX) {
		futex_result(s, m, result, now);
	} else if (makes_thread(m->call) && (int64_t)result > 0) {
		for (size_t i = 0; i < s->n; i++) {
			struct member *o = s->member + i;

			if (o->trace == m->trace && o->stream.tid == result &&
			    o->state == MEMBER_UNBORN)
				schedule_ready(s, o, now + 1);
		}
	} else if (m->call == SYS_YIELD) {
		m->leaves = m->yields = true;
	} else if (waits(m->call)) {
		m->leaves = true;
		m->sleep = s->conf.wait;
	}
}

void schedule_follow(struct pm_schedule *s, struct member *m, const struct pm_event *e,
		     uint64_t now)
{
	const struct pm_rare *r = e->id < m->b->nrare ? m->b->rare + e->id : NULL;

	switch (e->kind) {
	case PM_EV_SYSCALL:
		m->call = e->value;
		for (unsigned i = 0; i < NR(m->arg); i++)
			m->arg[i] = r && i < r->nargs ? r->arg[i] : 0;
		m->timed = m->gap && m->time;
		m->call_time = m->time;
		m->gap = true;
		break;
	case PM_EV_SYSRET:
		call_result(s, m, e->value, now);
		m->call = UINT64_MAX;
		break;
	case PM_EV_TIME:
		/* known before the call and after it, and nothing was executed meanwhile */
		if (m->gap && m->timed && m->call == UINT64_MAX && !m->at_futex &&
		    e->value > m->call_time) {
			m->leaves = true;
			m->yields = m->timed = false;
			m->sleep = e->value - m->call_time;
		}
		m->gap = true;
		m->time = e->value;
		break;
	default:
		break;
	}
}

void schedule_leaves(struct pm_schedule *s, struct member *m, uint64_t now)
{
	m->leaves = false;
	if (m->yields) {
		m->yields = false;
		schedule_ready(s, m, now);
	} else if (m->at_futex) {
		/* the joined thread may have ended, on its core's time, since the call */
		m->state = MEMBER_FUTEX;
		m->ready_at = now;
		if (m->joins && has_ended(s, m, m->joins))
			schedule_ready(s, m, now);
	} else {
		m->state = MEMBER_SLEEPS;
		m->ready_at = now + (m->sleep ? m->sleep : 1);
		s->sleeping++;
	}
}

void schedule_ended(struct pm_schedule *s, const struct member *m, uint64_t now)
{
	for (size_t i = 0; i < s->n; i++) {
		struct member *o = s->member + i;

		if (o->state == MEMBER_FUTEX && o->joins && o->joins == m->stream.tid &&
		    o->trace == m->trace)
			schedule_ready(s, o, now);
	}
}
