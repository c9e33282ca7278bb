/* SPDX-License-Identifier: MIT */
/* sweep_dir.h - the folder of a sweep: its plan, results, and who computes what
 *
 *	plan			as sweep_plan_text() wrote it
 *	traces			what each trace contained when it was read (trace_id.h)
 *	results/ab/KEY.json	a result; KEY begins with "ab"
 *	failed/KEY.json		another name of the same file, if it says that the job failed
 *	lock			empty; its bytes are locked, a byte for each key
 *	log/HOST-PID-TIME	a line for each gang that ended
 *	slurm/			scripts and outputs of batches
 *
 * A key is a hash of all that a result depends on. So a result is right for ever, and nobody
 * replaces one that can be read. Any number of processes on any number of machines may work in one
 * folder.
 *
 * INVARIANTS
 * (1) A job is computed only by a process that holds the lock on its key's byte, and only if there
 *     was no result after the lock was taken. The kernel lets go of a lock when its process ends,
 *     however that happens.
 * (2) A file in results/ gets its name when it is whole.
 * (3) A result's bytes depend on nothing but what its key is made of. Failures do not have to.
 *
 * Errors     name the file. */
#ifndef PM_SWEEP_DIR_H
#define PM_SWEEP_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "sweep/trace_id.h"

#define SWEEP_KEY	40		/* hex digits */

struct pm_result;
struct sweep_plan;
struct sweep_dir {
	char *path;
	int fd, lock, log;		/* lock, log: -1 until they are wanted */
};

/* Make the folder @path, if there is none, and put the plan into it. */
enum pm_status sweep_dir_make(const char *path, const struct sweep_plan *p, struct pm_err *err);
/* Open the folder @path, and read its plan. */
enum pm_status sweep_dir_open(struct sweep_dir *d, const char *path, struct sweep_plan *p,
			      struct pm_err *err);
void sweep_dir_close(struct sweep_dir *d);
/* PATH/NAME; the caller frees it. */
char *sweep_dir_file(const struct sweep_dir *d, const char *name);
/* From now on jobs are computed: locks are needed, and a log. */
enum pm_status sweep_dir_work(struct sweep_dir *d, struct pm_err *err);
/* Locks of its own, for a process that was forked: else it would share its parent's. */
enum pm_status sweep_dir_lock(struct sweep_dir *d, struct pm_err *err);
/* A line of the log, whole or not at all; a log that cannot be written is done without. */
__attribute__((format(printf, 2, 3)))
void sweep_dir_log(const struct sweep_dir *d, const char *fmt, ...);

/* The key of @spec (NAME:CONFIG) on a trace; @canonical: room for sims.h's text. An error is one
 * in the configuration. */
struct sweep_region;
enum pm_status sweep_key(const struct sweep_trace_id *id, const struct sweep_region *g,
			 const char *spec, struct pm_buf *canonical, char key[static SWEEP_KEY + 1],
			 struct pm_err *err);

/* "results/ab/KEY.json" */
void sweep_result_name(const char *key, char name[static SWEEP_KEY + 20]);
/* The result under @key, which the caller frees. NULL: it is missing. One that cannot be read as
 * this job's is missing, too: a disk may have damaged it, somebody may have cut it. */
struct pm_result *sweep_result_read(const struct sweep_dir *d, const char *key);
bool sweep_result_there(const struct sweep_dir *d, const char *key);
/* (1) False: somebody else computes it. An error is one of the file system. */
bool sweep_lock(const struct sweep_dir *d, const char *key, struct pm_err *err);
void sweep_unlock(const struct sweep_dir *d, const char *key);
#define SWEEP_LAUNCHER "launcher"	/* in place of a key: the only one that submits batches */
/* (2) The caller holds the lock. */
enum pm_status sweep_result_put(const struct sweep_dir *d, const char *key, const struct pm_buf *b,
				bool failed, struct pm_err *err);
/* A failure goes, so that its job is tried again. The caller holds the lock. */
enum pm_status sweep_failure_remove(const struct sweep_dir *d, const char *key, struct pm_err *err);

#endif
