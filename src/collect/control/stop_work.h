/* SPDX-License-Identifier: MIT */
/* stop_work.h - what stop_at.c and walkers.c share: where the threads of a replay are */
#ifndef PM_CONTROL_STOP_WORK_H
#define PM_CONTROL_STOP_WORK_H

#include "collect/control/session.h"
#include "collect/control/stop_at.h"

#define NOWHERE UINT64_MAX
#define IN_FRONT 10000u			/* safepoints from a checkpoint to the goal behind it: some
					 * steps back from there are not far */

enum by { BY_NOBODY, BY_LOG, BY_CALL, BY_FAULT };

struct walker {				/* a thread, by its recorded number */
	struct pm_position at;		/* as of when it stood last, or began */
	uint64_t base;			/* where its clock began */
	uint64_t clock;			/* it goes to this safepoint (NOWHERE: to none), or is
					 * behind it, and then */
	uint64_t left;			/* ... so many instructions, */
	uint64_t wanted;		/* ... of so many behind the safepoint */
	uint64_t stretch;		/* instructions in front of the last safepoint that it has
					 * passed while it was stepped */
	unsigned near;			/* so many may be executed one by one on the way there */
	enum by by;			/* the runtime does something, and it stops at once; */
	uint64_t pc;			/* ... of that instruction */
	bool opening;			/* it asks again, and gets `then` */
	enum rt_stop_then then;
};

struct freeze {				/* a thread that stands at a safepoint, as it was held */
	struct proc *p;
	uint32_t block;
	pid_t tid;
	struct user_regs_struct regs;	/* the runtime's */
	uint64_t mask;			/* likewise */
	uint64_t pass;			/* where the runtime has a syscall instruction */
};

struct stopper {
	const struct pm_stops *want;
	struct pm_stops seams;		/* ... of a replay that has these */
	uint32_t stands;		/* thread block of who does; 0: nobody */
	struct pm_map number;		/* thread -> where in `v` */
	struct walker *v;
	size_t n, cap;
	struct x86_decoder *dec[2];	/* [1]: of 32-bit code */
	uint64_t quantum;		/* a replay that is kept: so many safepoints farther a
					 * thread stops, for a checkpoint; 0: at once */
	bool over, killed;
	char error[200];
};

struct walker *walker_of(struct stopper *k, uint32_t tid);
/* The clock of @w, whose thread block is @block. */
uint64_t walker_clock(struct session *s, const struct walker *w, uint32_t block);
/* To where is it to go from w->at? False: nowhere, or for now to a safepoint, or the beginning. */
bool walker_aim(struct session *s, struct walker *w, uint32_t block, bool begins);
/* A replay has gone back: @w is at w->at again, and @stands there, or waits. */
void walker_return(struct session *s, struct walker *w, uint32_t block, bool stands);
/* The safepoint is too far to go there one by one. */
void walker_run(struct session *s, struct walker *w, uint32_t block);
/* It has executed an instruction. */
void walker_step(struct walker *w);
/* ... which has passed a safepoint. */
void walker_safepoint(struct walker *w);
/* Has it passed the safepoint behind the one that it goes to, and is not there yet? */
bool walker_missed(const struct walker *w);

#endif
