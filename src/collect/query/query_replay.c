/* SPDX-License-Identifier: MIT */
/* query_replay.c - a recording is opened, replayed once, or to and fro, and closed */
#include <string.h>

#include "collect/query/query_work.h"
#include "collect/record/recording.h"

enum pm_status query_open(const char *recording, struct pm_run_opts *run, struct pm_err *err)
{
	if (rec_open(recording, &run->replay, err) != PM_OK)
		return PM_ERR;
	run->argv = (char **)(uintptr_t)rec_start_of(run->replay, 0)->argv;
	return PM_OK;
}

void query_close(struct pm_run_opts *run)
{
	rec_close(run->replay);
	run->replay = NULL;
}

enum pm_status query_replay(const char *recording, struct pm_run_opts *run, struct pm_err *err)
{
	struct pm_counts *counts = NULL;
	enum pm_status st;

	if (query_open(recording, run, err) != PM_OK)
		return PM_ERR;
	st = pm_run(run, &counts, err);
	pm_counts_free(counts);
	query_close(run);
	return st;
}

/* @st and @err, unless they only say that the sink has ended the replay. */
static enum pm_status without_enough(enum pm_status st, struct pm_err *err)
{
	if (st == PM_OK || strcmp(err->msg, QUERY_ENOUGH))
		return st;
	*err = (struct pm_err){ 0 };
	return PM_OK;
}

enum pm_status query_consume(struct pm_run_opts *run, const struct pm_sink_ops *ops, void *sink,
			     struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_counts *counts = NULL;	/* its code is the trace's */
	struct pm_err late = { 0 };
	enum pm_status st, finished = PM_OK;

	run->pipeline = p;
	pm_pipeline_sink(p, ops, sink);
	st = pm_pipeline_start(p, pm_run_facts(run->kind), "replays", err);
	if (st == PM_OK) {
		st = without_enough(pm_run(run, &counts, err), err);
		finished = without_enough(pm_pipeline_finish(p, NULL, &late), &late);
	}
	if (st == PM_OK && finished != PM_OK) {
		*err = late;
		st = PM_ERR;
	}
	pm_pipeline_free(p);
	pm_counts_free(counts);
	return st;
}

enum pm_status query_replay_kept(const char *recording, struct query_kept *k,
				 struct pm_run_opts *run, struct pm_err *err)
{
	if (!k->reader && rec_open(recording, &k->reader, err) != PM_OK)
		return PM_ERR;
	run->replay = k->reader;
	run->argv = (char **)(uintptr_t)rec_start_of(k->reader, 0)->argv;
	return pm_replay_go(&k->replay, run, err);
}

void query_kept_release(struct query_kept *k)
{
	pm_replay_close(k->replay);
	rec_close(k->reader);
	*k = (struct query_kept){ 0 };
}
