/* SPDX-License-Identifier: MIT */
/* query.h - questions about a recording, and their answers
 *
 *   value REGISTER at POSITION		what a register held; "all": rip, flags and the general ones
 *   memory RANGE at POSITION		what memory held
 *   calls FUNCTION			each call, with the six registers that pass arguments
 *   writes RANGE			each store to these addresses, old value and new
 *   last-write RANGE before POSITION	the last of these before that
 *
 * RANGE is LO..HI, without HI; LO+N, N bytes; or LO, one byte. FUNCTION is a name as for
 * `pugmark run --start-at`, or an address. POSITION: trace/position.h; it is in front of the
 * instruction that is executed next.
 *
 * Calls and stores are found in a trace that one replay makes, or several make, a part each.
 * Another one stops there and looks, or several do, a share each. Answers come in the order of the
 * run; those of programs that run at the same time in any.
 *
 * A system call that writes is a store, too, by what the log says. What the kernel writes besides -
 * the frames of signals - is not, nor what mapping memory does to its contents.
 *
 * Ownership  an answer is lent until answer() returns.
 * Errors     PM_ERR, and @err says what is wrong: with the question, the recording, or a position.
 * Threads    it runs pm_run(): one at a time. With workers none may be running: it forks. */
#ifndef PM_QUERY_QUERY_H
#define PM_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/control/process.h"
#include "trace/position.h"

enum query_kind { QUERY_VALUE, QUERY_MEMORY, QUERY_CALLS, QUERY_WRITES, QUERY_LAST_WRITE };

#define QUERY_BYTES 4096u		/* of memory in one answer */

struct query {
	enum query_kind kind;
	char name[256];			/* of a register or a function; "": pc */
	uint64_t pc;
	uint64_t lo, hi;
	struct pm_position at;
};

struct query_register {
	const char *name;
	uint8_t value[64];		/* least byte first */
	unsigned n;
};

struct query_answer {
	enum query_kind kind;
	struct pm_position at;
	uint32_t program;		/* as stopped_program() has it */
	uint64_t event;			/* and stopped_event() */
	uint32_t pid;			/* as recorded; 0: not known */
	uint64_t pc;
	const char *function, *file;	/* of pc; NULL: not known */
	uint64_t offset;		/* in it */
	unsigned line;			/* 0: none */
	const char *call;		/* whose the store is; NULL: an instruction's */
	const struct query_register *reg;	/* value: those asked for; calls: arguments */
	size_t nreg;
	uint64_t lo;			/* memory, and writes: from here on */
	size_t n;
	const uint8_t *now, *old;	/* old: before a store; NULL: nothing was there */
};

struct query_asker {
	void *self;
	bool (*answer)(void *self, const struct query_answer *a);	/* false: enough */
	uint64_t most;			/* no more than so many are wanted; 0: all */
	unsigned workers;		/* replays at once that find calls or writes, and visit
					 * them, each a share (find_parts.c, visit_parts.c):
					 * parts_number() of trace_parts.h; 0 or 1: one */
};

enum pm_status query_parse(const char *text, struct query *q, struct pm_err *err);
/* @o: how to run; record, replay, stops, kind and pipeline are set here. */
enum pm_status query_ask(const char *recording, const struct query *q, const struct pm_run_opts *o,
			 const struct query_asker *who, struct pm_err *err);

#endif
