/* SPDX-License-Identifier: MIT */
/* counts.h - a profile: how often each piece of code ran, in no order
 *
 * The second, smaller input that analyses take beside events. A *piece* is a straight run of
 * instructions that was translated as one: entered at its top, it runs to its end unless it is cut
 * (fault, signal, exit, kill). Pieces may overlap, and which pieces exist depends on the order in
 * which code was discovered; reports therefore first turn pieces into the canonical blocks
 * that executed control flow defines (analyse/profile.h), so that cold and warm runs agree.
 *
 * Ownership  everything in a pm_counts belongs to it until pm_counts_free(); but the code of pieces
 *            may
 * be borrowed, from where it stays for as long. */
#ifndef PM_TRACE_COUNTS_H
#define PM_TRACE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct pm_counts_object {		/* a mapped ELF file, the vDSO, or anonymous code */
	const char *path;		/* absolute; "[vdso]"; "[anon]" for generated code */
	const char *build_id;		/* hex or NULL */
	uint64_t bias;			/* address in memory - address in the ELF file */
	uint64_t lo, hi;		/* mapped text, in memory */
};

struct pm_piece {			/* 24 bytes: there are hundreds of thousands */
	uint64_t pc;
	const uint8_t *bytes;		/* the code as it was translated */
	uint16_t size;			/* bytes */
	uint16_t n;			/* instructions; fewer than 2^15 */
	uint16_t object;		/* index into pm_counts_process.object */
	bool falls;			/* does not end in a control transfer: flows into pc +
					 * size */
};

/* @times executions of @piece ended after @done of its instructions (done < n). The cut executions
 * are included in the piece's count. done == n: the whole piece ran, and a piece that falls did not
 * get to what follows it (a thread that is killed just there). */
struct pm_cut {
	uint32_t piece, done;
	uint64_t times;
};

/* The branch at the end of @piece went to its target, or, if @falls, to what follows it, @count
 * times. The rest of the piece's whole executions went the other way. */
struct pm_counts_edge {
	uint32_t piece;
	bool falls;
	uint64_t count;
};

/* The indirect jump or call at the end of @piece led to @to @count times. */
struct pm_counts_target {
	uint32_t piece;
	uint64_t to, count;
};

struct pm_counts_thread {
	uint32_t tid;
	uint64_t *count;		/* entries of each piece: npiece elements */
	struct pm_cut *cut;
	size_t ncut, cap_cut;
};

/* One address space: what a process ran between exec (or fork) and exec (or exit). A program that
 * execs appears as two of these with one pid; a forked child counts from zero. */
struct pm_counts_process {
	uint32_t pid, parent;		/* parent 0: started by pugmark */
	const char *program;		/* path of the executable */
	struct pm_counts_object *object;
	size_t nobject, cap_object;
	struct pm_piece *piece;
	size_t npiece, cap_piece;
	struct pm_counts_thread *thread;
	size_t nthread, cap_thread;
	struct pm_counts_edge *edge;	/* of all threads, at most one of each piece */
	size_t nedge, cap_edge;
	struct pm_counts_target *target;	/* of all threads, by piece and address */
	size_t ntarget, cap_target;
	uint64_t targets_lost;		/* as often it was not noted where a branch led */
	bool edges;			/* edges and, of 64-bit code, targets were counted */
	int status;			/* exit status, or -1 */
	int signal;			/* that killed it, or -1 */
	bool execed;			/* ended by an exec, not by an exit */
	bool incomplete;		/* killed between the counters' updates: may be short by
					 * one block */
	uint64_t unknown;		/* instructions the decoder does not know, executed in
					 * place */
	struct pm_unknown { uint64_t pc, count; } *unknown_at;	/* ... each of them */
	size_t nunknown, cap_unknown;
	uint8_t isa;			/* enum pm_isa: PM_ISA_X86_64 (0) or PM_ISA_X86_32 */
};

struct pm_counts {
	struct pm_arena mem;		/* owns strings, and code bytes that are not borrowed */
	struct pm_counts_process *process;
	size_t nprocess, cap_process;
	char **argv;			/* borrowed: what was run */
	const char *cut;		/* why a replay ended before its program did; NULL: it did
					 * not */
	int status, signal;		/* of the first process; -1: not so */
	double wall_s, user_s, sys_s;	/* of the traced processes; pugmark's own work is not in
					 * it */
	double own_s;			/* CPU time of pugmark itself */
	uint64_t trace_bytes; /* of trace buffers, as the traced processes wrote them; 0: nobody
				 reads them */
	uint64_t trace_insns;		/* given to the pipeline, those that it drops included */
	uint64_t cached, ahead,
		demand; /* translated blocks: from the cache, ahead of need, on request */
};

/* The replay ended before process @p of it did. */
static inline bool pm_counts_cut(const struct pm_counts *c, const struct pm_counts_process *p)
{
	return c->cut && p->incomplete && p->signal < 0;
}

struct pm_counts *pm_counts_new(void);		/* nothing ran, nothing exited */
void pm_counts_free(struct pm_counts *c);	/* c itself too; NULL is fine */
/* What belongs to @p, which is not to be part of a pm_counts. */
void pm_counts_release_process(struct pm_counts_process *p);

/* Helpers to build one. A process pointer is good until the next pm_counts_add_process(), a thread
 * pointer until the next pm_counts_add_thread(); strings are copied. */
struct pm_counts_process *pm_counts_add_process(struct pm_counts *c, uint32_t pid, uint32_t parent,
						const char *program);
uint32_t pm_counts_add_object(struct pm_counts *c, struct pm_counts_process *p, const char *path,
			      const char *build_id, uint64_t bias, uint64_t lo, uint64_t hi);
/* @bytes are borrowed: they stay where they are or are in c->mem. */
uint32_t pm_counts_add_piece(struct pm_counts_process *p, struct pm_piece piece);
/* Counts all zero, one for each piece: call it when the process has all its pieces. */
struct pm_counts_thread *pm_counts_add_thread(struct pm_counts_process *p, uint32_t tid);
void pm_counts_add_cut(struct pm_counts_thread *t, uint32_t piece, uint32_t done, uint64_t times);

#endif
