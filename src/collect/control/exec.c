/* SPDX-License-Identifier: MIT */
/* exec.c - programs that begin: injected into at their exec stop, or loaded by the runtime
 *
 * A process that executes another program becomes another struct proc, which is prepared before
 * anything can fail, and takes the place of the old one when the program is there. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "collect/consume/trace.h"
#include "collect/control/recorder.h"

/* ---- processes that are prepared ------------------------------------------------------------- */
struct proc *proc_prepare(struct session *s, bool i386, uint32_t *bi)
{
	struct proc *p = proc_new(s, i386, bi);

	if (!p)
		return NULL;
	p->user.space = space_new(&s->spaces, i386);
	p->user.nthread = 1;
	if (i386 && s->spaces.ni386 == 1)
		s->sampled = pm_now();
	if (p->user.space)
		return p;
	proc_discard(s, p, *bi);
	return NULL;
}

/* Is ADDR_NO_RANDOMIZE the program's own, of that which process @pid executes? 0: of the first
 * one. */
static bool has_own_no_aslr(const struct session *s, uint32_t pid)
{
	const struct proc *p = pid ? proc_by_pid(s, pid) : NULL;

	return p ? p->own_no_aslr : personality(0xffffffff) & ADDR_NO_RANDOMIZE;
}

/* Of the trace: the first thread of @p is that of @old. */
static void follow_stream(struct session *s, const struct proc *p, const struct proc *old)
{
	for (size_t i = 0; i < old->nthread; i++)
		if (old->thread[i].live && old->thread[i].tid == old->pid)
			trace_follows(s->tracer, p->thread[0].block, old->thread[i].block);
}

/* @p is what process @pid executes from now on, instead of what is known as that so far. */
static void proc_replace(struct session *s, struct proc *p, uint32_t pid)
{
	struct proc *old = proc_by_pid(s, pid);
	struct peek_status st;
	char dir[32];

	p->own_no_aslr = has_own_no_aslr(s, pid);
	p->pid = pid;
	if (p->user.space->abi_flags && cache_knows_flags(&s->spaces, p->user.program))
		p->user.space->abi_flags = false;
	if (old) {
		p->parent = old->parent;
		p->is_child = old->is_child;
		p->apart = old->apart;
		p->from = record_executes(s, old);
		old->execed = true;
		if (s->tracer)
			follow_stream(s, p, old);
		proc_finish(s, old);
	} else if (s->opts->follow_only && (pid_t)pid != s->root) {
		snprintf(dir, sizeof dir, "/proc/%u", pid);
		p->parent = peek_status(dir, &st) ? st.parent : 0;
	}
	if (!p->is_child && (pid_t)pid != s->root)
		p->pidfd = wake_watch(p->pid);
	if ((pid_t)pid == s->root)
		p->is_child = true;
}

/* The mappings of a process, noted as if it had just made them. */
static void note_maps(struct session *s, uint32_t i, uint32_t pid, const struct space *sp)
{
	struct maps all = { 0 };

	if (maps_read((pid_t)pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++) {
			if (!strncmp(m->path, "/memfd:pugmark-", 15) ||
			    strstr(m->path, "/pugmark-code-") || is_runtime(s, sp, m))
				continue;
			_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4,
				       "as the event has them");
			trace_note(s->tracer, i, RT_N_MMAP,
				   (const uint64_t[]){ m->lo, m->hi - m->lo, m->prot, m->off }, 4,
				   m->path);
		}
	maps_release(&all);
}

void program_begins(struct session *s, struct proc *p, uint32_t bi)
{
	struct rt_block *b = session_block(s, bi);
	const uint32_t pid = proc_name(p);

	__atomic_store_n(&b->seen_pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&b->seen_tid, pid, __ATOMIC_RELAXED);
	b->apart = p->apart;
	thread_of(p, bi)->tid = p->pid;
	if (s->tracer) {
		trace_note(s->tracer, bi, RT_N_EXEC, (const uint64_t[]){ pid }, 1,
			   p->user.program);
		note_maps(s, bi, p->pid, p->user.space);
	}
}

/* ---- programs that are loaded ---------------------------------------------------------------- */
static void load_release(struct proc *p)
{
	if (p->loading)
		loading_release(p->loading);
	p->loading = NULL;
	p->loads = 0;
}

bool load_prepare(struct session *s, uint32_t pid, int program, const char *name,
		  const char *shell, struct proc **p, char *why, size_t n)
{
	char link[64], path[4096];
	uint32_t bi;

	*p = proc_prepare(s, false, &bi);
	if (!*p) {
		close(program);
		snprintf(why, n, "too many processes at once");
		return false;
	}
	(*p)->own_no_aslr = has_own_no_aslr(s, pid);
	(*p)->loading = pm_arena_alloc(&s->spaces.mem, sizeof *(*p)->loading);
	if (!loader_make(s, program, name, shell, bi, (*p)->user.space, (*p)->loading, why, n)) {
		proc_discard(s, *p, bi);
		return false;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", (*p)->loading->program);
	peek_link(link, path);
	(*p)->user.program = pm_arena_strdup(&s->spaces.mem, path);
	(*p)->loads = pid;
	session_block(s, bi)->links = space_links_at((*p)->user.space);
	return true;
}

struct proc *load_recorded(struct session *s, const struct rt_start *start, bool i386,
			   const char *program, char *why, size_t n)
{
	struct proc *p;
	uint32_t bi;

	p = proc_prepare(s, i386, &bi);
	if (!p) {
		snprintf(why, n, "too many processes at once");
		return NULL;
	}
	p->user.program = program;
	session_block(s, bi)->links = space_links_at(p->user.space);
	session_block(s, bi)->logged = RT_LOG_REPLAY;
	if (!start)
		return p;
	p->loading = pm_arena_alloc(&s->spaces.mem, sizeof *p->loading);
	if (!loader_make_replay(s, start, bi, p->user.space, p->loading, why, n)) {
		proc_discard(s, p, bi);
		return NULL;
	}
	return p;
}

struct proc *load_from(struct session *s, const char *link, uint32_t pid)
{
	char name[4096], why[256];
	/* it may be anything: nobody is waited for */
	const int fd = peek_link(link, name) ? open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
							  O_NOCTTY)
					     : -1;
	struct proc *next;

	if (fd < 0)
		return NULL;
	if (load_prepare(s, pid, fd, name, NULL, &next, why, sizeof why))
		return next;
	if (*why && !peek_is_ending(pid))
		pm_warn(&s->spaces.warn, "process %u goes on untraced: %s", pid, why);
	return NULL;
}

void load_cancel(struct session *s, uint32_t pid)
{
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (p->loads != pid)
			continue;
		load_release(p);
		proc_discard(s, p, p->thread[0].block);
	}
}

bool load_finish(struct session *s, struct proc *p, uint32_t bi, struct rt_boot *boot)
{
	char why[256];

	if (!p->loads)
		return false;
	proc_replace(s, p, p->loads);
	load_release(p);
	program_begins(s, p, bi);
	return inject_maps(s, (pid_t)p->pid, boot, p->user.space, why, sizeof why);
}

/* ---- programs that are injected into --------------------------------------------------------- */
/* The kernel gives no rights to a program that somebody without rights traces, nor says so. */
static void warn_of_rights(const struct pm_warn *warn, pid_t pid, const char *program)
{
	char path[64];
	struct stat st;
	bool owner, group;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	if (!geteuid() || stat(path, &st))
		return;
	owner = st.st_mode & S_ISUID && st.st_uid != geteuid();
	group = st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid();
	if (owner || group)
		pm_warn(warn, "process %d, %s, runs without the rights of its %s: it is traced",
			pid, program, owner ? "owner" : "group");
}

bool exec_stop(struct session *s, pid_t pid, char *why, size_t n)
{
	struct rt_mail m = { .op = RQ_LOOKUP };
	struct rt_block *b;
	struct proc *p;
	uint64_t entry;
	uint32_t bi;

	assert(pthread_equal(s->thread, pthread_self()));		/* (1) */
	p = proc_prepare(s, is_i386(pid), &bi);
	if (!p) {
		struct proc *old = proc_by_pid(s, (uint32_t)pid);

		if (old) {
			old->execed = true;
			proc_finish(s, old);
		}
		snprintf(why, n, "too many processes at once");
		return false;
	}
	p->user.program = peek_exe(s, (uint32_t)pid);
	proc_replace(s, p, (uint32_t)pid);
	warn_of_rights(&s->spaces.warn, pid, p->user.program);
	if (!inject(s, pid, bi, p->user.space, &entry, why, n)) {
		proc_discard(s, p, bi);
		return false;
	}
	b = session_block(s, bi);
	b->links = space_links_at(p->user.space);
	program_begins(s, p, bi);
	/* what it will ask first is answered already */
	s->spaces.asking = bi;
	s->asking_tid = p->pid;
	s->spaces.maps_good = true;
	m.r[0] = space_begin(&s->spaces, &p->user, entry, &m);
	m.again = m.ncmd ? RT_IF_FAILED : RT_NOT_AGAIN;
	b->mail.op = RQ_LOOKUP;
	b->mail.a[0] = entry;
	mail_put(b, &m, 0);
	return true;
}

/* ---- what waitpid() tells -------------------------------------------------------------------- */
static void process_ended(struct session *s, pid_t pid, int status)
{
	struct proc *p = proc_by_pid(s, (uint32_t)pid);

	watch_over(s, pid);
	if (pid == s->root) {
		s->root_done = true;
		s->root_status = status;
	}
	if (!p)
		return;
	p->exited = true;
	p->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
	proc_finish(s, p);
}

/* A thread that is watched and has stopped is left to itself, with @sig, if all are. */
static bool leave_watched(struct session *s, pid_t pid, int sig)
{
	if (!s->detaching || !pm_map_get(&s->watched, (uint64_t)pid))
		return false;
	ptrace(PTRACE_DETACH, pid, 0, sig);
	watch_over(s, pid);
	return true;
}

static void process_stopped(struct session *s, pid_t pid, int status)
{
	const int event = status >> 16;
	unsigned long former = 0;
	char why[256] = "";

	/* it may have been another thread that is this one now */
	if (event == PTRACE_EVENT_EXEC && !ptrace(PTRACE_GETEVENTMSG, pid, 0, &former) &&
	    (pid_t)former != pid)
		watch_over(s, (pid_t)former);
	if (event == PTRACE_EVENT_STOP)
		watch_began(s, pid);
	if (leave_watched(s, pid, event ? 0 : WSTOPSIG(status)))
		return;
	if (event == PTRACE_EVENT_EXEC) {
		if (!watch_wants(s, pid)) {
			watch_exec(s, pid);
			return;
		}
		watch_over(s, pid);
		if (!exec_stop(s, pid, why, sizeof why) && !peek_is_ending((uint32_t)pid))
			pm_warn(&s->spaces.warn, "process %d goes on untraced: %s", pid, why);
		ptrace(PTRACE_DETACH, pid, 0, 0);
	} else if (event && event != PTRACE_EVENT_STOP) {
		ptrace(PTRACE_CONT, pid, 0, 0);	/* a fork: the child tells of itself */
	} else if (event) {
		ptrace(WSTOPSIG(status) == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, pid, 0, 0);
	} else {
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
	}
}

/* ---- threads that are followed into another program ------------------------------------------ */
bool exec_follow(struct session *s, struct proc *p, uint32_t tid)
{
	assert(pthread_equal(s->thread, pthread_self()));		/* (1) */
	/* the number may be another process's by now */
	if (!peek_is_thread(p->pid, tid) ||
	    peek_is_ours(s, tid, p->mm->user.space->i386) == PEEK_FOREIGN ||
	    ptrace(PTRACE_SEIZE, (pid_t)tid, 0, PTRACE_O_TRACEEXEC))
		return false;
	p->exec_attached = true;
	return true;
}

/* waitpid() for a thread that stops at once, unless somebody keeps it from that. */
static bool wait_briefly(pid_t tid, int *status)
{
	for (int i = 0; i < 2000; i++) {
		const pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid || (got < 0 && errno != EINTR))
			return got == tid;
		if (i < 1000)
			sched_yield();
		else
			usleep(1000);
	}
	return false;
}

void exec_unfollow(struct session *s, struct proc *p, uint32_t tid)
{
	int status;

	/* Who does not stop now is let go on by process_stopped() when it does. */
	if (p->exec_attached && !ptrace(PTRACE_INTERRUPT, (pid_t)tid, 0, 0) &&
	    wait_briefly((pid_t)tid, &status)) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, (pid_t)tid, 0,
			       status >> 16 ? 0 : WSTOPSIG(status));
		else
			process_ended(s, (pid_t)tid, status);
	}
	p->exec_attached = false;
}

bool exec_unwatch(struct session *s)
{
	uint64_t tid, val;

	/* Who does not stop now may wait for a child that stands at its first stop (vfork): nobody
	 * is waited for here, exec_reap() leaves each when it has stopped. */
	for (size_t i = 0; pm_map_next(&s->watched, &i, &tid, &val); )
		if (ptrace(PTRACE_INTERRUPT, (pid_t)tid, 0, 0)) {
			watch_over(s, (pid_t)tid);	/* it has ended */
			i = 0;
		}
	exec_reap(s);
	return !s->watched.n;
}

void exec_reap(struct session *s)
{
	int status;
	pid_t pid;

	assert(pthread_equal(s->thread, pthread_self()));		/* (1) */
	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFEXITED(status) || WIFSIGNALED(status))
			process_ended(s, pid, status);
		else if (WIFSTOPPED(status))
			process_stopped(s, pid, status);
	}
}
