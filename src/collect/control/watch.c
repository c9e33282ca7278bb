/* SPDX-License-Identifier: MIT */
/* watch.c - processes that run untraced, until they execute a program that is to be traced
 *
 * With a pattern in the options, a program is traced only if its file's name matches. Others run
 * natively; ptrace() tells of their children and of what they execute, so that they stop at each
 * fork, clone, exec and signal, and nowhere else.
 *
 * s->watched has the threads of such processes, from their first stop to their end. */
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/check.h"
#include "collect/control/session.h"

#define WATCH_OPTIONS \
	(PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The name under which it was executed, as far as the kernel keeps it: of a link, of a script. */
static void read_comm(pid_t pid, char comm[32])
{
	char path[64];
	FILE *f;

	comm[0] = 0;
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(comm, 32, f))
		comm[strcspn(comm, "\n")] = 0;
	if (f)
		fclose(f);
}

bool watch_wants(const struct session *s, pid_t pid)
{
	const char *pattern = s->opts->follow_only;
	char link[64], path[4096], comm[32];

	if (!pattern)
		return true;
	snprintf(link, sizeof link, "/proc/%d/exe", pid);
	peek_link(link, path);
	if (strchr(pattern, '/'))
		return !fnmatch(pattern, path, 0);
	read_comm(pid, comm);
	return !fnmatch(pattern, base_of(path), 0) || !fnmatch(pattern, comm, 0);
}

/* What was traced has executed something else. */
static void end_traced(struct session *s, pid_t pid)
{
	struct proc *old = proc_by_pid(s, (uint32_t)pid);

	if (!old)
		return;
	old->execed = true;
	proc_finish(s, old);
}

void watch_exec(struct session *s, pid_t pid)
{
	assert(pthread_equal(s->thread, pthread_self()));		/* (1) */
	end_traced(s, pid);
	pm_map_put(&s->watched, (uint64_t)pid, NULL);
	ptrace(PTRACE_SETOPTIONS, pid, 0, WATCH_OPTIONS);
	ptrace(PTRACE_CONT, pid, 0, 0);
}

bool watch_root(struct session *s)
{
	assert(pthread_equal(s->thread, pthread_self()));		/* (1) */
	/* Only who was seized, and not who asked to be traced, can be stopped by signals as if
	 * nobody traced it. Nothing runs in between. */
	if (ptrace(PTRACE_DETACH, s->root, 0, SIGSTOP) ||
	    ptrace(PTRACE_SEIZE, s->root, 0, WATCH_OPTIONS))
		return false;
	pm_map_put(&s->watched, (uint64_t)s->root, NULL);
	kill(s->root, SIGCONT);
	return true;
}

void watch_began(struct session *s, pid_t tid)
{
	for (size_t i = 0; i < s->nproc; i++)
		for (size_t t = 0; !s->proc[i]->gone && t < s->proc[i]->nthread; t++)
			if (s->proc[i]->thread[t].live &&
			    s->proc[i]->thread[t].tid == (uint32_t)tid)
				return;
	if (s->opts->follow_only)
		pm_map_put(&s->watched, (uint64_t)tid, NULL);
}

void watch_over(struct session *s, pid_t tid)
{
	pm_map_del(&s->watched, (uint64_t)tid);
}
