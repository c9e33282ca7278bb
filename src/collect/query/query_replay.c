/* SPDX-License-Identifier: MIT */
/* query_replay.c - a recording is opened, replayed once, or to and fro, and closed */
#include "collect/query/query_work.h"
#include "collect/record/recording.h"

enum pm_status query_replay(const char *recording, struct pm_run_opts *run, struct pm_err *err)
{
	struct pm_counts *counts = NULL;
	enum pm_status st;

	if (rec_open(recording, &run->replay, err) != PM_OK)
		return PM_ERR;
	run->argv = (char **)(uintptr_t)rec_start_of(run->replay, 0)->argv;
	st = pm_run(run, &counts, err);
	pm_counts_free(counts);
	rec_close(run->replay);
	run->replay = NULL;
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
