/* SPDX-License-Identifier: MIT */
/* query_work.h - what the parts of this folder share: positions that may be answers */
#ifndef PM_QUERY_QUERY_WORK_H
#define PM_QUERY_QUERY_WORK_H

#include "base/mem.h"
#include "collect/query/exec_spots.h"
#include "collect/query/query.h"

struct elf_of {				/* code that was executed */
	char *path, *build_id;		/* .build_id: NULL if it has none */
	uint64_t base;
	struct pm_elf *elf;		/* NULL: it cannot be opened */
};

static inline bool query_has_position(const struct query *q)
{
	return q->kind != QUERY_CALLS && q->kind != QUERY_WRITES;
}

enum spot_access { SPOT_STORES = 1, SPOT_LOADS = 2, SPOT_EXEC = 4 };

struct spot {				/* a call, a store, or a load */
	struct pm_position at;		/* in front of it */
	uint64_t pc;
	uint64_t lo, hi;		/* of a store or load: what of a range it has touched */
	uint8_t access;			/* enum spot_access; 0: an execution */
	uint32_t pid;
	uint32_t object;		/* where in struct spots .object; PM_NONE */
	uint32_t call;			/* 1 + number of the system call; 0: an instruction */
};

struct spots {
	struct spot *v;			/* those of a thread in order, threads in any */
	size_t n, cap;
	struct elf_of *object;
	size_t nobject, cap_object;
	struct pm_map pid;		/* of each thread */
	struct pm_position *last;	/* ... where it is at its end */
	size_t nlast, cap_last;
	struct exec_spots execs;
	bool found;			/* of calls: some object has the function */
};

struct spot_range {
	uint64_t lo, hi;
	unsigned access;		/* which ones are wanted */
};
struct spots_wanted {
	const char *function;		/* calls of it; "": none */
	const uint64_t *pc;		/* executions of these instructions */
	size_t npc;
	const struct spot_range *range;	/* stores there, or loads; of system calls stores */
	size_t nrange;
	uint64_t most;			/* the first so many will do, or some more; 0: all */
	struct spots_parts *parts;	/* which parts of the trace are looked at; NULL: all */
};

/* Of a trace in parts (trace_parts.h) those that are taken. Where a thread is as one begins is
 * known but for the instructions behind its safepoint: until it has passed another one they are
 * counted from SPOT_SOMEWHERE on. */
#define SPOT_SOMEWHERE (1ull << 40)
struct spots_parts {
	uint64_t every;			/* as of struct pm_seams */
	void *self;
	bool (*takes)(void *self, uint32_t part);	/* the first one is 0 */
	struct spots_part {		/* those that were, in order */
		uint32_t number;
		uint32_t nbegin, nend;	/* threads as it begins; those that were seen, at its end:
					 * in .at, behind those of the part before */
		size_t nspot;		/* likewise */
	} *v;
	size_t n, cap;
	struct pm_position *at;
	size_t nat, cap_at;
	size_t nspot;			/* of all of them */
};
/* spots.c: a replay's trace has them. PM_ERR: it ended early; those up to there are in @to. */
enum pm_status spots_find(const char *recording, const struct spots_wanted *w,
			  const struct pm_run_opts *o, struct spots *to, struct pm_err *err);
/* find_parts.c: as spots_find(), by @workers replays at once if the recording has one process at a
 * time, and all spots are wanted. Where threads end, and what they execute, is not in @to then. */
enum pm_status spots_find_parts(const char *recording, const struct spots_wanted *w,
				const struct pm_run_opts *o, unsigned workers, struct spots *to,
				struct pm_err *err);
/* Code at @base of the file at @path: one more object. */
struct elf_of *spots_object(struct spots *s, const char *path, const char *build_id, uint64_t base);
/* Function around @pc of @s, and its source line; only what is known. */
void spots_name(struct spots *s, const struct spot *at, struct query_answer *a);
void spots_release(struct spots *s);

/* visit.c: another replay stops at each, and answers. */
enum pm_status spots_visit(const char *recording, const struct query *q, struct spots *s,
			   const struct pm_run_opts *o, const struct query_asker *who,
			   struct pm_err *err);

/* visit_parts.c: as spots_visit(), of calls or stores, by who->workers replays at once. It may
 * sort @s. */
enum pm_status spots_visit_parts(const char *recording, const struct query *q, struct spots *s,
				 const struct pm_run_opts *o, const struct query_asker *who,
				 struct pm_err *err);

/* query_replay.c: .replay and .argv of @run are those of @recording, until it is closed. */
enum pm_status query_open(const char *recording, struct pm_run_opts *run, struct pm_err *err);
void query_close(struct pm_run_opts *run);
/* One replay of what is open, with a trace as @run->kind says, to @sink. It ends early, and well,
 * if the sink fails with this message. */
#define QUERY_ENOUGH "no more is wanted"
enum pm_status query_consume(struct pm_run_opts *run, const struct pm_sink_ops *ops, void *sink,
			     struct pm_err *err);
/* One replay of @recording as @run says, whose .replay and .argv are set here. */
enum pm_status query_replay(const char *recording, struct pm_run_opts *run, struct pm_err *err);
/* The same, but the replay is kept (pm_replay_go()), and the recording is open. */
struct query_kept {			/* all zero: not yet */
	struct rec_reader *reader;
	struct pm_kept_replay *replay;
};
enum pm_status query_replay_kept(const char *recording, struct query_kept *k,
				 struct pm_run_opts *run, struct pm_err *err);
void query_kept_release(struct query_kept *k);

#endif
