/* SPDX-License-Identifier: MIT */
/* ask.c - a question: what may be its answers is found, then visited */
#include "collect/query/query_work.h"
#include "collect/record/recording.h"

static enum pm_status find(const char *recording, const struct query *q, uint64_t most,
			   const struct pm_run_opts *o, unsigned workers, struct spots *s,
			   struct pm_err *err)
{
	const struct spot_range range = { q->lo, q->hi, SPOT_STORES };
	const bool calls = q->kind == QUERY_CALLS;
	const struct spots_wanted w = { .function = calls ? q->name : "", .pc = &q->pc,
					.npc = calls && !*q->name, .range = &range,
					.nrange = !calls, .most = most };

	return spots_find_parts(recording, &w, o, workers, s, err);
}

enum pm_status query_ask(const char *recording, const struct query *q, const struct pm_run_opts *o,
			 const struct query_asker *who, struct pm_err *err)
{
	const uint64_t most = q->kind == QUERY_LAST_WRITE ? 0 : who->most;
	struct query own = *q;
	struct spots s = { 0 };
	struct pm_err early = { 0 };
	enum pm_status st = PM_OK;
	struct rec_reader *r;

	if (query_has_position(q) && !own.at.tid) {
		if (rec_open(recording, &r, err) != PM_OK)
			return PM_ERR;
		own.at.tid = rec_start_of(r, 0)->pid;
		rec_close(r);
	}
	if (q->kind != QUERY_VALUE && q->kind != QUERY_MEMORY)
		st = find(recording, &own, most, o, who->workers, &s, &early);
	if (st == PM_OK && q->kind == QUERY_CALLS && !s.found)
		st = pm_fail_request(&early, "no code that was executed has a function '%s'",
				     q->name);
	if ((st == PM_OK || s.n) && query_has_position(q))
		st = spots_visit(recording, &own, &s, o, who, err);
	else if (st == PM_OK || s.n)
		st = spots_visit_parts(recording, &own, &s, o, who, err);
	if (st == PM_OK && *early.msg)
		st = PM_ERR;
	if (*early.msg)
		*err = early;
	spots_release(&s);
	return st;
}
