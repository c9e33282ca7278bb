/* SPDX-License-Identifier: MIT */
/* trace.h - from trace buffers in shared memory to events
 *
 * Blocks of a session have trace numbers, one for each translation of a block, 1 upwards, whatever
 * space it belongs to; they are what the translated code writes. One thread, the consumer (or several,
 * if pm_pipeline_split() lets them: a stream always has the same one), takes full buffers in the order in
 * which each thread filled them, and pushes batches of events into the pipeline: nothing else of the
 * session is touched by it, and the main thread answers requests meanwhile.
 *
 * Trust: the traced process can write to its buffers. Numbers and lengths are checked; what makes no
 * sense ends the trace with an error, not pugmark, and the program goes on. */
#ifndef PM_PROCESS_TRACE_H
#define PM_PROCESS_TRACE_H

#include "collect/control/session.h"

/* Before anything runs. */
enum pm_status trace_open(struct session *s, struct pm_err *err);
/* Everything is over: consume what is left, end the consumer. What went wrong on the way is here. */
enum pm_status trace_close(struct session *s, struct pm_err *err);

/* The next blocks that trace_numbers() gets will have numbers from this one on. */
uint32_t trace_next(const struct session *s);
/* Number @n new blocks, from number @first of @sp on, which lie in one module; before their code can
 * be reached. */
void trace_numbers(struct session *s, const struct space *sp, uint32_t first, uint32_t n);
/* Thread block @i is about to be used by a new thread, of a 32-bit or a 64-bit program. */
void trace_thread(struct session *s, uint32_t i, bool i386);
/* Does its thread execute counting copies (translate.h)? */
bool trace_counts(struct session *s, uint32_t i);
/* It is over; nothing more will be written. @status as PM_EV_EXIT has it, @flags likewise. */
void trace_over(struct session *s, uint32_t i, uint64_t status, uint8_t flags);
/* Is there still something of it to be consumed? */
bool trace_busy(const struct session *s, uint32_t i);
/* Note something on behalf of a thread that waits for us (or has not begun). */
void trace_note(struct session *s, uint32_t i, enum rt_note type, const uint64_t *arg, uint32_t narg,
		const char *text);
/* Block @block of @sp stops at @at in thread block @i; @pointer: its rsi and rdi. */
void trace_cut(struct session *s, const struct space *sp, uint32_t i, uint32_t block, const struct xl_map *at,
	       uint64_t rsi, uint64_t rdi);
/* The mappings of a process, noted as if it had just made them. */
void trace_maps(struct session *s, uint32_t i, uint32_t pid);

#endif
