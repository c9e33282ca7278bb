/* SPDX-License-Identifier: MIT */
/* replay_log.c - a recording runs again: its programs get what was logged; another is noticed */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/control/replayer.h"

/* ---- the log --------------------------------------------------------------------------------- */
/* The recording's numbers of files become descriptors of ours. */
static void name_files(const struct replayer *y, bool i386, uint8_t *p, size_t n)
{
	struct rt_event e;

	for (size_t at = 0; at < n; at += e.size) {
		memcpy(&e, p + at, sizeof e);
		if (e.type != RT_E_CALL || !rec_maps_files(i386, e.nr) || !e.a[4] ||
		    RT_IS_SEGMENT(e.a[4]))
			continue;
		e.a[4] = (uint64_t)y->fd[e.a[4] - 1] + 1;
		memcpy(p + at, &e, sizeof e);
	}
}

size_t replay_more(struct session *s, struct proc *p, uint64_t *execs)
{
	struct replayer *y = s->replayer;
	struct rec_ended e;
	size_t n;

	if (!y->buf)
		y->buf = pm_alloc_unset(RT_LOG_SIZE);
	n = rec_next(y->r, p->stream - 1, y->buf);
	name_files(y, rec_is_i386(y->r, p->stream - 1), y->buf, n);
	memcpy(log_bytes(s, p), y->buf, n);
	*execs = !n && rec_executed(y->r, p->stream - 1);
	if (n || *execs)
		return n;
	e = rec_why(y->r, p->stream - 1);
	y->damaged |= e.damaged;
	y->cut |= e.cut || e.why == REC_RUNNING;
	y->over |= p->stream - 1 == y->root;
	/* what it wrote then others would miss */
	if ((e.damaged || e.cut || e.why == REC_RUNNING) &&
	    session_block(s, p->log.block)->group_member)
		replay_ends(s);
	return 0;
}

void replay_child(struct session *s, const struct proc *p, struct proc *child, uint64_t stream,
		  uint64_t pid)
{
	if (!p->stream || !rec_is_fork(s->replayer->r, p->stream - 1, stream))
		return;
	child->stream = (uint32_t)stream;
	child->recorded_pid = (uint32_t)pid & 0x3fffffff;
}

/* At a call of the same place: what is not the same? */
static void name_difference(const struct rt_block *b, const struct rt_event *e, char *to, size_t n)
{
	const uint64_t clock = b->log_clock - b->until;

	if (e->a[5] == clock)
		snprintf(to, n, ": registers are not the same");
	else
		snprintf(to, n, ": %llu safepoints passed, not %llu", (unsigned long long)clock,
			 (unsigned long long)e->a[5]);
}

void replay_differs(struct session *s, const struct proc *p, uint32_t block, uint64_t pc,
		    uint64_t call)
{
	struct replayer *y = s->replayer;
	const struct rt_block *b = session_block(s, p->log.block);
	const uint64_t at = b->log_at;
	const bool i386 = rec_is_i386(y->r, p->stream - 1);
	char now[80], then[80] = "nothing", how[80] = "";
	struct rt_event e = { 0 };

	if (at <= log_size(p) - sizeof e)
		memcpy(&e, log_bytes(s, p) + at, sizeof e);
	snprintf(now, sizeof now, "%s at 0x%llx",
		 call == RT_AT_SAFEPOINT ? "a safepoint" : rec_call_name(i386, call),
		 (unsigned long long)pc);
	if (e.type == RT_E_CALL)
		snprintf(then, sizeof then, "%s at 0x%llx", rec_call_name(i386, e.nr),
			 (unsigned long long)e.a[2]);
	else if (e.type == RT_E_INSN)
		snprintf(then, sizeof then, "an instruction in front of 0x%llx",
			 (unsigned long long)e.a[0]);
	else if (e.type == RT_E_SIGNAL)
		snprintf(then, sizeof then, "signal %u at 0x%llx", e.nr,
			 (unsigned long long)e.a[0]);
	else if (e.type == RT_E_SWITCH)
		snprintf(then, sizeof then, "thread %llu instead of %llu from 0x%llx on",
			 (unsigned long long)e.a[2], (unsigned long long)e.a[0],
			 (unsigned long long)e.a[4]);
	else if (e.type == RT_E_GROUP)
		snprintf(then, sizeof then, "other processes, with turn %llu from 0x%llx on",
			 (unsigned long long)e.a[2], (unsigned long long)e.a[4]);
	else if (e.type == RT_E_CHECK)
		snprintf(then, sizeof then, "other registers at a safepoint at 0x%llx",
			 (unsigned long long)e.a[4]);
	if (e.type == RT_E_CALL && e.nr == call && e.a[2] == pc)
		name_difference(session_block(s, block), &e, how, sizeof how);
	if (*y->differs || y->ending)
		return;
	snprintf(y->differs, sizeof y->differs,
		 "the replay differs from the recording at event %llu: %s (recorded: %s)%s",
		 (unsigned long long)b->nlogged, now, then, how);
	replay_ends(s);
}

static bool is_live(const struct proc *p)
{
	return p->pid && p->pid < PID_UNKNOWN && !p->gone;
}

void replay_ends(struct session *s)
{
	if (s->replayer)
		s->replayer->ending = true;
	for (size_t i = 0; i < s->nproc; i++)
		if (is_live(s->proc[i]))
			kill((pid_t)s->proc[i]->pid, SIGKILL);
}

/* ---- processes that share memory ------------------------------------------------------------- */
#define GROUP_STUCK 2.0			/* seconds without anybody who could go on */

/* It was the turn of the process whose log @b has; it has ended. */
static void pass_group(struct session *s, const struct rt_block *b)
{
	uint64_t number = b->group_number;

	if (!b->group_member || !__atomic_compare_exchange_n(&s->head->group, &number, number + 1,
							     false, __ATOMIC_SEQ_CST,
							     __ATOMIC_SEQ_CST))
		return;
	syscall(SYS_futex, &s->head->group, FUTEX_WAKE, INT32_MAX);
}

void replay_check_group(struct session *s)
{
	struct replayer *y = s->replayer;
	const uint64_t now = __atomic_load_n(&s->head->group, __ATOMIC_ACQUIRE);
	bool waits = false, goes = false;

	for (size_t i = 0; i < s->nproc; i++) {
		const struct rt_block *b;

		if (!is_live(s->proc[i]) || !s->proc[i]->stream)
			continue;
		b = session_block(s, s->proc[i]->log.block);
		waits |= b->group_awaits && b->group_awaits != now;
		goes |= b->group_awaits ? b->group_awaits == now : !b->awaits_child;
	}
	if (!waits || goes) {
		y->stuck = 0;
	} else if (!y->stuck) {
		y->stuck = pm_now();
	} else if (pm_now() > y->stuck + GROUP_STUCK) {
		y->cut = true;			/* who had it has no more log */
		replay_ends(s);
	}
}

void replay_over(struct session *s, const struct proc *p)
{
	struct replayer *y = s->replayer;
	const struct rt_block *b = session_block(s, p->log.block);
	char how[80] = "ends";

	if (!y || !p->stream)
		return;
	pass_group(s, b);
	if (y->ending || *y->differs ||
	    (b->log_at >= b->log_end && !rec_has_more(y->r, p->stream - 1)))
		return;
	if (p->signal > 0)
		snprintf(how, sizeof how, "is killed by signal %d", p->signal);
	snprintf(y->differs, sizeof y->differs,
		 "the replay differs from the recording behind event %llu: process %u %s, where "
		 "the recorded one went on", (unsigned long long)b->nlogged, p->recorded_pid, how);
	replay_ends(s);
}

/* ---- the end --------------------------------------------------------------------------------- */
void replay_release(struct session *s)
{
	struct replayer *y = s->replayer;

	if (!y)
		return;
	for (uint32_t i = 0; i < y->nfd; i++)
		if (y->fd[i] >= 0)
			close(y->fd[i]);
	free(y->fd);
	if (y->memory >= 0)
		close(y->memory);
	if (y->start >= 0)
		close(y->start);
	free(y->buf);
	free(y);
	s->replayer = NULL;
}

void replay_ended_as(const struct session *s, struct proc *p)
{
	const struct replayer *y = s->replayer;
	struct rec_ended e;

	if (!y || !p->stream || p->clean_exit || p->execed)
		return;
	e = rec_why(y->r, p->stream - 1);
	p->status = e.why == REC_EXITED && !*y->differs ? e.status : -1;
	p->signal = e.why == REC_KILLED && !*y->differs ? e.signal : -1;
}

enum pm_status replay_result(const struct session *s, struct pm_counts *c, struct pm_err *err)
{
	const struct replayer *y = s->replayer;
	const struct rec_ended e = rec_why(y->r, y->root);
	char what[160];

	if (*y->differs)
		c->cut = pm_arena_strdup(&c->mem, y->differs);
	else if (y->damaged)
		c->cut = "the recording is damaged: it has been replayed up to where it is";
	else if (y->cut)
		c->cut = "the recording is cut off: it has been replayed up to its last complete "
			 "event";
	if (c->cut) {
		c->status = c->signal = -1;
		return pm_fail_file(err, "%s", c->cut);
	}
	if (e.why == REC_KILLED) {		/* others may have had its memory for longer */
		c->status = -1;
		c->signal = e.signal;
		return PM_OK;
	}
	if (!y->over)
		return PM_OK;			/* the program has ended as it did */
	if (e.why == REC_EXITED && e.status >= 0) {	/* others had its memory for longer */
		c->status = e.status;
		c->signal = -1;
		return PM_OK;
	}
	c->status = 0;
	c->signal = -1;
	rec_end_text(&e, what, sizeof what);
	pm_warn(&s->spaces.warn, "the recording ends here: the program %s", what);
	return PM_OK;
}

/* ---- back ------------------------------------------------------------------------------------ */
void replay_mark(const struct session *s, struct replay_mark *m)
{
	const struct replayer *y = s->replayer;
	const uint32_t n = rec_nstream(y->r);

	m->root = y->root;
	m->read = pm_alloc(n * sizeof *m->read);
	for (uint32_t i = 0; i < n; i++)
		m->read[i] = rec_tell(y->r, i);
}

void replay_return(struct session *s, const struct replay_mark *m, struct proc *p)
{
	struct replayer *y = s->replayer;
	const uint32_t stream = p->stream - 1;
	uint64_t execs;

	y->root = m->root;
	y->over = y->cut = y->damaged = y->ending = false;
	y->stuck = 0;
	segments_clear(s);
	*y->differs = 0;
	for (uint32_t i = 0; i < rec_nstream(y->r); i++)
		rec_seek(y->r, i, m->read[i]);
	if (m->read[stream]) {
		rec_seek(y->r, stream, m->read[stream] - 1);
		replay_more(s, p, &execs);
	}
}

bool replay_is_copied(struct session *s, const struct proc *p)
{
	const struct replayer *y = s->replayer;
	const struct rec_start *f = p->stream ? rec_start_of(y->r, p->stream - 1) : NULL;

	if (!f || p->stream - 1 != y->root || session_block(s, p->log.block)->not_copied)
		return false;
	for (size_t i = 0; i < f->nmap; i++)
		if (f->map[i].flags & RT_START_SHARED && !f->map[i].file)
			return false;
	return true;
}
