/* SPDX-License-Identifier: MIT */
/* replayer.h - what a session knows of the recording that it replays; only of replay_*.c */
#ifndef PM_CONTROL_REPLAYER_H
#define PM_CONTROL_REPLAYER_H

#include "collect/control/recorder.h"
#include "collect/record/recording.h"

struct replayer {
	struct rec_reader *r;
	int *fd;			/* of the recording's files */
	uint32_t nfd;
	int memory;			/* what pages held, so many bytes */
	uint64_t pages;
	uint32_t root;			/* the stream of what the first process executes now */
	bool over;			/* that has used all of its log */
	bool ending;			/* nobody wants the rest: processes are killed */
	double stuck;			/* since when nobody of the group goes on; 0: one does */
	bool cut, damaged;		/* some log is */
	uint8_t *buf;
	int start;			/* a file for struct rt_start; -1: none yet */
	uint64_t starts;		/* its bytes */
	char differs[300];		/* how it is another run; "": it is not */
};

#endif
