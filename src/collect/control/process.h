/* SPDX-License-Identifier: MIT */
/* process.h - run a Linux program under translation
 *
 * Ownership  pm_run() gives a pm_counts to the caller (pm_counts_free()), which of a trace also
 *            owns its streams and object names: finish the pipeline first.
 * Errors     PM_ERR: the program was not started, or pugmark cannot go on; a program that fails is
 *            no error. PM_ERR with *out set: the trace failed (a full disk), the program did not
 *            notice.
 * Threads    one pm_run() at a time per process: it owns SIGCHLD and ptrace meanwhile.
 * Death      a fault of ours is not the program's: what is traced goes on untraced, in its original
 *            code, whatever signal the controller dies of (base/guard.h tells who asks). */
#ifndef PM_PROCESS_PROCESS_H
#define PM_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/warn.h"
#include "collect/translate/translate.h"
#include "trace/counts.h"
#include "trace/growing.h"
#include "trace/pipeline.h"
#include "trace/position.h"

struct rec_reader;
struct pm_stops;

/* A replay of one process that is traced in parts. Wherever a thread has passed a multiple of
 * `every` safepoints there is a *seam*: the same ones in each replay of the recording. */
struct pm_seam_thread {			/* at a seam */
	struct pm_position_thread is;	/* .at.insns is 0: how many they are is known only of the
					 * one that stands there; .pc: if it makes a system call */
	bool lives, stands;
};
struct pm_seams {
	void *self;
	uint64_t every;			/* PM_SEAMS_NEAREST or more */
	bool wanted;			/* what comes in front of the first one */
	/* The trace's consumer, in its thread, when it has given all in front of the seam to the
	 * pipeline, calls this: is what comes up to the next one wanted? @t: all threads so far. */
	bool (*seam)(void *self, const struct pm_seam_thread *t, size_t n);
};
#define PM_SEAMS_NEAREST 1000u

struct pm_run_opts {
	char **argv;			/* NULL-terminated; argv[0] is looked up in PATH */
	int pid;			/* instead: trace this running process; 0: none. Signals to
					 * us end the tracing, not the process */
	double detach_after;		/* seconds, then processes go on untraced; 0: never */
	bool (*enough)(const void *of);	/* ... or once this says so; NULL: never. With `pid` */
	const void *enough_of;
	const char *cache_dir;		/* NULL: $XDG_CACHE_HOME/pugmark, ~/.cache/pugmark */
	bool no_cache;
	uint64_t cache_limit;		/* bytes */
	bool no_follow;			/* only the first process */
	const char *follow_only;	/* trace only programs whose file's name matches: a shell's
					 * pattern; NULL: all */
	bool aslr;			/* keep address-space randomisation */
	bool strict_flags; /* do not count on the ABI's word on flags: FLAGS in translate.h */
	bool fix_random;		/* AT_RANDOM bytes fixed, for comparable runs */
	bool no_vdso;			/* the program does not find the kernel's vDSO */
	const char *record;		/* the recording to make; implies no_vdso; NULL: none */
	bool portable, lean;		/* ... which keeps all programs and libraries, or none:
					 * else those that are not the system's */
	uint64_t chaos;			/* ... whose threads take turns at random, by this seed; 0:
					 * by time */
	uint64_t *holes;		/* ... and count here what system calls wrote that the
					 * log does not have; NULL: they are not checked */
	bool check_pages;		/* ... by comparing all pages, whatever the kernel can */
	uint64_t checks;		/* ... with a check of registers after so many
					 * safepoints; 0: only at events */
	struct rec_reader *replay;	/* the recording to run in place of a program; NULL: none */
	const struct pm_stops *stops;	/* ... and stop there (control/stop_at.h); NULL: nowhere */
	const struct pm_seams *seams;	/* ... and trace it in parts, `kind`; NULL: as a whole */
	bool echo;			/* ... what it wrote to its terminal is written again */
	bool bare;			/* ... and of XL_PROFILE count nothing */
	enum xl_kind kind;
	bool edges;			/* a profile tells which way conditional branches went */
	struct pm_pipeline *pipeline; /* of trace kinds: started by the caller with pm_run_facts(),
				       * who also finishes it; NULL: the trace is dropped */
	const struct pm_growing *grow;	/* with XL_BRANCH: trees grow in 64-bit programs, which are
					 * not traced; NULL: they are */
	struct pm_warn warn;		/* what the user should know meanwhile */
	/* For tests: how many requests there were of each kind, and the like, at the end. NULL:
	 * nobody wants to know. */
	void (*stat)(const char *name, uint64_t n);
};

/* What a trace of @kind knows. */
static inline uint32_t pm_run_facts(enum xl_kind kind)
{
	const uint32_t all = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_BLOCKS |
			     PM_HAS_THREADS | PM_HAS_SPACES | PM_HAS_KERNEL;

	return kind == XL_EXEC ? all | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_REPS : all;
}

/* The file that execvp() will take, into @path; false: execvp() will say why there is none. */
bool pm_run_find(const char *name, char *path, size_t n);
/* How much of @resource, of getrlimit(), a run takes; 0: it does not matter. */
uint64_t pm_run_needs(int resource);
/* Is @program, which is looked up in PATH, a 32-bit one? */
bool pm_run_i386(const char *program);

enum pm_status pm_run(const struct pm_run_opts *o, struct pm_counts **out, struct pm_err *err);

/* A replay that stops, o->stops, and is kept after that: the next one, whose stops may be others
 * but all else is as before, goes on from where this one has been (control/checkpoint.h). NULL at
 * first; what @o's members point to lives as long as it. Another pm_run() may take place before the
 * next one. */
struct pm_kept_replay;
enum pm_status pm_replay_go(struct pm_kept_replay **k, const struct pm_run_opts *o,
			    struct pm_err *err);
void pm_replay_close(struct pm_kept_replay *k);			/* NULL is fine */

#endif
