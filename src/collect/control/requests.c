/* SPDX-License-Identifier: MIT */
/* requests.c - a request is taken out of its mailbox, answered, and the answer put back */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/control/requests.h"

static const struct {
	const char *name;
	request_fn *answer;
	bool refreshes;			/* what has been thawed comes with the answer */
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
};
_Static_assert(NR(requests) == RQ_LAST + 1, "a row for each");

const char *request_name(unsigned op)
{
	return requests[op].name;
}

/* What commands of the answer before have left to do comes first. True: it is all of this answer,
 * and the same will be asked again. */
static bool finish_commands(struct session *s, struct request *q, uint32_t asked)
{
	struct rt_mail *m = q->m;
	const struct rt_cmd *c;

	if (q->user->moving.n && space_move(&s->spaces, q->user, m))
		return true;
	space_release(&s->spaces, q->user, q->block);
	if (!m->failed || m->failed > asked)
		return false;
	c = &m->cmd[m->failed - 1];
	return c->op == CMD_PLACE_FILE
		       ? space_no_file(&s->spaces, q->user, c, asked - (m->failed - 1), m)
		       : space_no_room(&s->spaces, q->user, c->a[0], m);
}

void request_answer(struct session *s, uint32_t bi)
{
	struct rt_block *b = session_block(s, bi);
	struct request q = { .block = bi, .m = &b->mail };
	struct rt_mail *m = q.m;
	const uint32_t asked = m->ncmd < RT_MAX_CMDS ? m->ncmd : RT_MAX_CMDS, op = m->op;
	const struct space *sp;

	if (!s->block_proc[bi] || op > RQ_LAST)
		return;
	q.p = s->proc[s->block_proc[bi] - 1];
	q.user = &q.p->mm->user;
	sp = q.p->user.space = q.user->space;
	s->spaces.asking = bi;
	q.user->nthread = threads_in(s, q.p->mm);
	s->requests[op]++;
	memset(m->r, 0, sizeof m->r);
	m->ncmd = 0;
	m->again = 0;
	if (!finish_commands(s, &q, asked) && requests[op].answer) {
		q.alone = q.user->space->refs == 1 && !q.user->left && !m->a[5] &&
			  q.user->nthread == 1;
		requests[op].answer(s, &q);
		if (requests[op].refreshes)
			space_refresh(&s->spaces, q.user, m);
	}
	if (m->ncmd && q.alone && q.stands && q.user->space == sp) {
		m->again = RT_IF_FAILED;
	} else if (m->ncmd) {
		m->again = RT_AGAIN;
		q.user->space->busy = bi;
	}
	q.p->user.space = q.user->space;
	b->links = space_links_at(q.p->user.space);
	__atomic_store_n(&m->state, MAIL_REPLY, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&m->sleeping, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &m->state, FUTEX_WAKE, 1);
}

static bool may_answer(const struct session *s, uint32_t i)
{
	const struct proc *p;
	uint32_t busy;

	if (!s->block_proc[i])
		return true;
	p = s->proc[s->block_proc[i] - 1];
	busy = p->mm->user.space->busy;
	return !busy || busy == i || busy == p->forker;
}

bool requests_answer(struct session *s)
{
	bool any = false;

	for (uint32_t i = 1; i < s->block_high; i++) {
		struct rt_block *b = session_block(s, i);

		if (s->block_used[i] == 2 &&
		    __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == BLK_DEAD)
			s->block_used[i] = 0;
		if (s->block_used[i] &&
		    __atomic_load_n(&b->mail.state, __ATOMIC_ACQUIRE) == MAIL_REQUEST &&
		    may_answer(s, i)) {
			request_answer(s, i);
			any = true;
		}
	}
	return any;
}
