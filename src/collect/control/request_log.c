/* SPDX-License-Identifier: MIT */
/* request_log.c - requests of programs that are recorded or replayed */
#include <stdio.h>

#include "collect/control/check_calls.h"
#include "collect/control/recorder.h"
#include "collect/control/requests.h"

void request_log(struct session *s, struct request *q)
{
	struct proc *p = record_logger(q->p);

	if (!p->stream)
		return;
	if (s->replayer)
		q->m.r[0] = replay_more(s, p, &q->m.r[1]);
	else if (s->recorder)
		record_full(s, p);
}

void request_log_file(struct session *s, struct request *q)
{
	char link[64];

	if (!s->recorder || !record_logger(q->p)->stream)
		return;
	snprintf(link, sizeof link, "/proc/%u/fd/%d", q->p->pid, (int)q->m.a[0]);
	if (q->m.a[3] != RT_SHARES_NOT) {
		q->m.r[0] = segment_of_file(s, link, q->m.a[1], q->m.a[2], &q->m.r[1]);
		if (q->m.r[0] || q->m.r[1])
			return;
	}
	if (q->m.a[3] != RT_SHARES_NOT &&
	    !record_shares(s, link, q->m.a[1], q->m.a[2], q->m.a[3] == RT_SHARES_WRITES))
		return;
	if (q->m.a[3] == RT_SHARES_WRITES) {
		q->m.r[0] = 1;
		return;
	}
	q->m.r[0] = record_mapped(s, link, q->m.a[1], q->m.a[2]);
}

void request_log_shared(struct session *s, struct request *q)
{
	char link[64];

	if (!s->recorder || !record_logger(q->p)->stream)
		return;
	snprintf(link, sizeof link, "/proc/%u/fd/%d", q->p->pid, (int)q->m.a[0]);
	record_shared(q->p, link, q->m.a[1], q->m.a[2], q->m.r);
}

void request_log_segment(struct session *s, struct request *q)
{
	if (!record_logger(q->p)->stream)
		return;
	if (s->replayer && q->m.a[0] == RT_SEGMENT_MEMORY)
		q->m.r[0] = segment_memory(s, q->m.a[1]);
	else if (s->recorder && q->m.a[0] == RT_SEGMENT_FIND)
		q->m.r[0] = segment_find(s, q->p, (int)q->m.a[1], &q->m.r[1]);
	else if (s->recorder && q->m.a[0] == RT_SEGMENT_GROWS)
		q->m.r[0] = segment_may_grow(s, q->p, q->m.a[1], q->m.a[2]);
	else if (s->replayer && q->m.a[0] == RT_SEGMENT_PART)
		q->m.r[0] = segment_part(s, q->p, q->m.a[1], &q->m.r[1]);
}

void request_log_exec(struct session *s, struct request *q)
{
	if (s->replayer && q->p->stream)
		replay_exec(s, q->p, &q->m);
}

void request_check(struct session *s, struct request *q)
{
	static const uint8_t gpr[6] = { 7, 6, 2, 10, 8, 9 };	/* of struct rt_ctx */
	const struct rt_block *b = session_block(s, q->block);
	struct check_call call = { .nr = (uint32_t)q->m.a[2], .real = q->m.a[3] };

	if (!s->checks || !q->p->stream || q->p->log.over || !q->p->pid)
		return;
	record_logged(s, q->p);
	for (size_t i = 0; i < NR(gpr); i++)
		call.arg[i] = b->ctx.gpr[gpr[i]];
	if (q->m.a[0])
		check_calls_end(s, q->p, q->block);
	else
		q->m.r[0] = !check_calls_begin(s, q->p, q->block, q->m.a[1], &call);
}

void request_log_end(struct session *s, struct request *q)
{
	struct proc *p = record_logger(q->p);

	if (!p->stream)
		return;
	if (s->replayer)
		replay_differs(s, p, q->block, q->m.a[1], q->m.a[2]);
	else if (s->recorder)
		record_stop(s, p, q->m.a[0], q->m.a[1]);
}
