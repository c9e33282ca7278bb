/* SPDX-License-Identifier: MIT */
/* requests.c - a request is taken out of its mailbox, answered, and the answer put back */
#include "base/check.h"
#include "collect/control/requests.h"
#include "collect/control/stop_at.h"

static const struct {
	const char *name;
	request_fn *answer;
	bool refreshes;			/* what has been made own comes with the answer */
} requests[] = {
	[RQ_NONE] = { "none", NULL, false },
	[RQ_HELLO] = { "hello", request_hello, false },
	[RQ_LOOKUP] = { "lookup", request_lookup, true },
	[RQ_RESOLVE] = { "resolve", request_resolve, true },
	[RQ_SIGNAL] = { "signal", request_signal, true },
	[RQ_CUT] = { "cut", request_cut, false },
	[RQ_STEP] = { "step", request_step, false },
	[RQ_CHECKFAIL] = { "checkfail", request_checkfail, true },
	[RQ_MAP] = { "map", request_map, true },
	[RQ_UNMAP] = { "unmap", request_unmap, true },
	[RQ_CHANGES] = { "changes", request_changes, true },
	[RQ_MAKE_WAY] = { "make way", request_make_way, true },
	[RQ_OPEN] = { "open", request_open, true },
	[RQ_BLOCK] = { "block", request_block, false },
	[RQ_UNBLOCK] = { "unblock", request_unblock, false },
	[RQ_FORKED] = { "forked", request_forked, false },
	[RQ_EXEC] = { "exec", request_exec, false },
	[RQ_EXECFAIL] = { "execfail", request_execfail, false },
	[RQ_EXIT] = { "exit", request_exit, false },
	[RQ_MAPPED] = { "mapped", request_mapped, false },
	[RQ_COUNTING] = { "counting", request_counting, false },
	[RQ_BEGIN] = { "begin", request_begin, false },
	[RQ_LOG] = { "log", request_log, false },
	[RQ_LOG_FILE] = { "log file", request_log_file, false },
	[RQ_LOG_SHARED] = { "log shared", request_log_shared, false },
	[RQ_LOG_SEGMENT] = { "log segment", request_log_segment, false },
	[RQ_LOG_EXEC] = { "log exec", request_log_exec, false },
	[RQ_LOG_END] = { "log end", request_log_end, false },
	[RQ_CHECK] = { "check", request_check, false },
	[RQ_STOP] = { "stop", NULL, false },
	[RQ_FUNCTIONS] = { "functions", request_functions, false },
};
_Static_assert(NR(requests) == RQ_LAST + 1, "a row for each");

const char *request_name(unsigned op)
{
	return requests[op].name;
}

/* What commands of the answer before have left to do comes first. True: it is all of this answer,
 * and the same will be asked again. */
static bool finish_commands(struct session *s, struct request *q)
{
	const struct rt_cmd *c = q->undone;

	if (q->user->moving.n && space_move(&s->spaces, q->user, &q->m))
		return true;
	space_release(&s->spaces, q->user, q->block);
	if (!q->nundone)
		return false;
	return c->op == CMD_PLACE_FILE
		       ? space_no_file(&s->spaces, q->user, c, q->nundone, &q->m)
		       : space_no_room(&s->spaces, q->user, c->a[0], &q->m);
}

/* Has @q->t anything to ask that? Whoever has not begun says first who it is. */
static bool may_ask(const struct request *q)
{
	return q->m.op <= RQ_LAST && q->t &&
	       (q->t->tid || q->m.op == RQ_HELLO || (q->m.op == RQ_BEGIN && q->p->loads));
}

/* Commands that cannot fail, and after which there is nothing to look at. */
static bool only_protects(const struct rt_mail *m)
{
	for (uint32_t i = 0; i < m->ncmd; i++)
		if (m->cmd[i].op != CMD_PROTECT)
			return false;
	return true;
}

/* What is asked, and what is to be done before. */
static void answer(struct session *s, struct request *q)
{
	const struct space *sp;

	sp = q->p->user.space = q->user->space;
	s->spaces.asking = q->block;
	s->asking_tid = q->t->tid;
	q->user->nthread = threads_in(s, q->p->mm);
	s->requests[q->m.op]++;
	if (!finish_commands(s, q) && requests[q->m.op].answer) {
		q->alone = sp->refs == 1 && !q->user->left && !q->m.a[5] && q->user->nthread == 1;
		requests[q->m.op].answer(s, q);
		if (requests[q->m.op].refreshes)
			space_refresh(&s->spaces, q->user, &q->m);
	}
	if (q->m.ncmd && q->alone && q->stands && q->user->space == sp) {
		q->m.again = RT_IF_FAILED;
	} else if (q->m.ncmd) {
		q->m.again = q->stands_for_all && only_protects(&q->m) &&
			     q->user->space == sp && !q->user->left ? RT_TELL : RT_AGAIN;
		q->user->space->busy = q->block;
	}
	q->p->user.space = q->user->space;
	session_block(s, q->block)->links = space_links_at(q->p->user.space);
}

/* Nobody else of its space carries out commands, or forks. */
static bool may_answer(struct session *s, uint32_t i)
{
	struct proc *p;
	uint32_t busy;

	if (!s->block_proc[i])
		return true;
	p = s->proc[s->block_proc[i] - 1];
	mail_release(s, p);
	busy = p->mm->user.space->busy;
	return !busy || busy == i || busy == p->forker;
}

void request_answer(struct session *s, uint32_t bi)
{
	struct rt_block *b = session_block(s, bi);
	struct request q;			/* most of it is not needed: commands */

	q.block = bi;
	q.payload = 0;
	q.alone = q.stands = q.stands_for_all = false;
	q.nundone = mail_get(b, &q.m, q.undone);
	q.p = s->block_proc[bi] ? s->proc[s->block_proc[bi] - 1] : NULL;
	q.t = q.p ? thread_of(q.p, bi) : NULL;
	if (may_ask(&q)) {
		PM_INVARIANT(4, may_answer(s, bi));		/* of space/space.h */
		q.user = &q.p->mm->user;
		answer(s, &q);
	}
	if (PM_CHECKED)
		session_check(s);
	mail_put(b, &q.m, q.payload);
	mail_reply(b);
}

bool requests_answer(struct session *s)
{
	bool any = false;

	s->kept_waiting = false;
	__atomic_store_n(&s->head->awaited, 0, __ATOMIC_SEQ_CST);
	for (uint32_t i = 1; i < s->block_high; i++) {
		struct rt_block *b = session_block(s, i);

		if (s->block_used[i] == BLOCK_ENDING &&
		    __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == BLK_DEAD)
			s->block_used[i] = BLOCK_OVER;
		if (s->block_used[i] != BLOCK_USED ||
		    __atomic_load_n(&b->mail.state, __ATOMIC_ACQUIRE) != MAIL_REQUEST)
			continue;
		if (s->stops && stops_takes(s, i))	/* it is answered there */
			continue;
		if (!may_answer(s, i)) {
			__atomic_store_n(&s->head->awaited, 1, __ATOMIC_SEQ_CST);
			if (!may_answer(s, i)) { /* who is waited for may just have told */
				s->kept_waiting = true;
				continue;
			}
		}
		request_answer(s, i);
		any = true;
	}
	return any;
}
