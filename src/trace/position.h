/* SPDX-License-Identifier: MIT */
/* position.h - positions in a recording: a thread's moment, to the instruction
 *
 *   TID@CLOCK+N	thread TID, by the number that it had, when it had passed CLOCK safepoints
 *			(translate/translate.h) and then executed N instructions. Without TID: the
 *			first thread. Without +N: none.
 *
 * The clock of a thread goes on when it executes another program, which counts as a safepoint; and
 * from one thread to a later one of the same number. What executes N instructions comes to the same
 * position by another clock: the one with the highest clock is what pugmark writes.
 * An instruction counts when it is completed; a rep-prefixed one once, a system call once it has
 * returned.
 *
 * Threads    none: one struct pm_positions for each. */
#ifndef PM_TRACE_PLACE_H
#define PM_TRACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "pugmark/pugmark.h"

struct pm_position {
	uint32_t tid;			/* 0: the first thread */
	uint64_t clock, insns;
};

#define PM_POSITION_TEXT 64
bool pm_position_parse(const char *text, struct pm_position *to);
const char *pm_position_text(const struct pm_position *p, char text[PM_POSITION_TEXT]);
/* Of one thread: negative, 0, positive. */
int pm_position_compare(const struct pm_position *a, const struct pm_position *b);
/* Likewise of several, thread by thread. */
int pm_position_order(const struct pm_position *a, const struct pm_position *b);

/* The positions in a trace that was made of a recording: where its threads stand as its events
 * pass. */
struct pm_positions;
struct pm_positions *pm_positions_new(void);
void pm_positions_free(struct pm_positions *c);
struct pm_position_thread {
	struct pm_position at;
	uint64_t base;			/* its clock as it began, or the program it executes */
	uint64_t pc;			/* of its last instruction */
	bool resumed;			/* its stream has begun before the trace that is seen */
};
/* The thread of @s: in front of what has not been given to pm_position_pass() yet. Valid until
 * another stream is asked for. */
struct pm_position_thread *pm_position_thread(struct pm_positions *c, const struct pm_stream *s);
/* Of a trace that is a part of one: thread t->at.tid is at @t. If its stream is to begin yet, as
 * that of a later one of its number, t->resumed is false. */
void pm_positions_resume(struct pm_positions *c, const struct pm_position_thread *t);
/* Event @ev of @b, expanded, has happened to @t. */
void pm_position_pass(struct pm_positions *c, struct pm_position_thread *t,
		      const struct pm_batch *b, const struct pm_event *ev);
/* The same of the outcome of a branch, for who goes by blocks: instruction @insn of @code passes a
 * safepoint if control goes from it to an address below this one. */
uint64_t pm_position_below(struct pm_positions *c, const struct pm_code *code, uint32_t insn);

#endif
