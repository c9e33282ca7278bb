/* SPDX-License-Identifier: MIT */
/* attach.c - a process that has been running is traced from now on
 *
 * All its threads are held. The first maps the runtime, takes over what the kernel knows of the
 * process's handlers, and begins in the translation of where it stood; then the others follow. Each
 * finds its state in its thread block, as if it had just made a system call there. Until the
 * runtime begins nothing has changed, and the process can be let go as it was. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <unistd.h>

#include "collect/control/remote.h"
#include "collect/control/session.h"
#include "elf/elf.h"

#define BEGIN_MAX 10.0			/* seconds for the runtime to begin */
#define CS_64 0x33			/* the kernel's __USER_CS */

struct running {			/* a thread that is about to be traced */
	pid_t tid;
	uint32_t block;
	uint64_t mask;
	struct user_regs_struct regs;
};

struct attachment {
	struct held held;
	struct running *thread;		/* of held.n; the process's first one comes first */
	uint64_t caller;		/* a syscall instruction */
	uint64_t poked, saved;		/* where it was written, over what; 0: nowhere */
};

/* ---- what can be said before anything is touched --------------------------------------------- */
static bool traced_already(pid_t pid, char *why, size_t n)
{
	struct maps all = { 0 };
	struct peek_status st;
	bool ours = false;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d", pid);
	peek_status(path, &st);
	if (maps_read(pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++)
			ours |= !strncmp(m->path, "/memfd:pugmark-", 15);
	maps_release(&all);
	if (ours)
		snprintf(why, n, "it is traced already, by pugmark");
	else if (st.tracer)
		snprintf(why, n, "it is traced already, by process %u", st.tracer);
	return ours || st.tracer;
}

static bool may_attach(pid_t pid, char *why, size_t n)
{
	struct pm_elf_info info = { 0 };
	struct pm_err err = { 0 };
	struct rlimit limit;
	char path[64];
	bool ok = false;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	if (pid == getpid()) {
		snprintf(why, n, "it is pugmark itself");
		return false;
	}
	if (kill(pid, 0) && errno == ESRCH) {
		snprintf(why, n, "there is no such process");
		return false;
	}
	if (traced_already(pid, why, n))
		return false;
	err.file = path;
	if (pm_elf_check(path, &info, &err) != PM_OK)
		snprintf(why, n, "%s", access(path, R_OK) && errno == ENOENT
					       ? "it executes no program (is it over?)"
					       : "its program cannot be read: you may not trace "
						 "it");
	else if (!info.is64)
		snprintf(why, n, "it is a 32-bit program; only 64-bit ones can be attached to");
	else if (!prlimit(pid, RLIMIT_AS, NULL, &limit) && limit.rlim_cur != RLIM_INFINITY)
		snprintf(why, n, "its address space is limited (ulimit -v)");
	else
		ok = true;
	pm_elf_info_release(&info);
	return ok;
}

static void say_not_held(enum hold_result r, char *why, size_t n)
{
	switch (r) {
	case HOLD_GONE:
		snprintf(why, n, "it has ended");
		break;
	case HOLD_REFUSED:
		if (errno == EPERM)
			snprintf(why, n, "you may not trace it: see `pugmark doctor`");
		else
			snprintf(why, n, "%s", strerror(errno));
		break;
	case HOLD_STOPPED:
		snprintf(why, n, "it is stopped: let it go on first (kill -CONT)");
		break;
	default:
		snprintf(why, n, "a thread does not stop, for the kernel keeps it busy");
		break;
	}
}

/* ---- its threads ----------------------------------------------------------------------------- */
static bool read_threads(struct attachment *a, char *why, size_t n)
{
	const uint64_t all = ~0ull;
	size_t first = 0;

	a->thread = pm_alloc(a->held.n * sizeof *a->thread);
	for (size_t i = 0; i < a->held.n; i++)
		if (a->held.tid[i] == a->held.pid)
			first = i;
	if (a->held.tid[first] != a->held.pid) {
		snprintf(why, n, "its first thread has ended");
		return false;
	}
	a->held.tid[first] = a->held.tid[0];
	a->held.tid[0] = a->held.pid;
	for (size_t i = 0; i < a->held.n; i++) {
		struct running *t = &a->thread[i];

		t->tid = a->held.tid[i];
		if (ptrace(PTRACE_GETREGS, t->tid, 0, &t->regs) ||
		    ptrace(PTRACE_GETSIGMASK_, t->tid, 8, &t->mask)) {
			snprintf(why, n, "it has ended");
			return false;
		}
		if (t->regs.cs != CS_64) {
			snprintf(why, n, "a thread of it executes 32-bit code");
			return false;
		}
		remote_begin_again(t->tid, &t->regs);
	}
	for (size_t i = 0; i < a->held.n; i++)
		if (ptrace(PTRACE_SETSIGMASK_, a->thread[i].tid, 8, &all)) {
			snprintf(why, n, "%s", strerror(errno));
			return false;
		}
	return true;
}

static void write_state(struct session *s, const struct running *t, const struct proc *p)
{
	/* struct rt_ctx has them in the processor's order */
	const struct user_regs_struct *r = &t->regs;
	struct rt_block *b = session_block(s, t->block);

	b->ctx = (struct rt_ctx){
		.gpr = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.pc = r->rip,
		.flags = r->eflags & ~0x100ull,
	};
	b->app_mask = t->mask;
	b->app_gs = r->gs_base;
	b->origin = BLK_ATTACHED;
	b->apart = p->apart;
	b->links = space_links_at(p->user.space);
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* Every program has a page of a file that it executes; a system call is written over its
 * beginning, until the runtime has been mapped. */
static bool make_caller(struct session *s, struct attachment *a, char *why, size_t n)
{
	static const uint8_t insn[2] = { 0x0f, 0x05 };
	const pid_t tid = a->thread[0].tid;
	long word;

	a->caller = 0;
	if (!maps_read(a->held.pid, &s->spaces.maps)) {
		snprintf(why, n, "its memory map cannot be read");
		return false;
	}
	for (const struct mapping *m = s->spaces.maps.v;
	     m < s->spaces.maps.v + s->spaces.maps.n && !a->caller; m++)
		if (m->prot & PROT_EXEC && *m->path == '/')
			a->caller = m->lo;
	errno = 0;
	word = a->caller ? ptrace(PTRACE_PEEKTEXT, tid, (void *)a->caller, 0) : 0;
	if (!a->caller || errno) {
		snprintf(why, n, "it executes no file");
		return false;
	}
	a->saved = (uint64_t)word;
	memcpy(&word, insn, sizeof insn);
	if (ptrace(PTRACE_POKETEXT, tid, (void *)a->caller, (void *)word)) {
		snprintf(why, n, "its code cannot be changed: %s", strerror(errno));
		return false;
	}
	a->poked = a->caller;
	return true;
}

static void remove_caller(struct attachment *a)
{
	if (a->poked)
		ptrace(PTRACE_POKETEXT, a->thread[0].tid, (void *)a->poked, (void *)a->saved);
	a->poked = 0;
}

/* ---- the beginning --------------------------------------------------------------------------- */
/* Numbers of threads and processes in its own namespace are not ours. */
static bool is_apart(pid_t pid)
{
	struct peek_status st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d", pid);
	return peek_status(path, &st) && st.apart;
}

/* What its first thread will ask first is answered already. */
static void first_answer(struct session *s, struct proc *p, const struct running *t, size_t nthread)
{
	struct rt_mail m = { .op = RQ_LOOKUP };
	struct rt_block *b = session_block(s, t->block);

	s->spaces.asking = t->block;
	s->asking_tid = p->pid;
	s->spaces.maps_good = true;
	p->user.nthread = (uint32_t)nthread;
	m.r[0] = space_begin(&s->spaces, &p->user, t->regs.rip, &m);
	if (m.ncmd) {
		m.again = RT_AGAIN;
		p->user.space->busy = t->block;
	}
	b->mail.op = RQ_LOOKUP;
	b->mail.a[0] = t->regs.rip;
	mail_put(b, &m, 0);
}

/* The first thread goes on alone, until the others can follow. */
static bool begin_first(struct session *s, const struct running *t)
{
	const struct rt_block *b = session_block(s, t->block);
	const double end = pm_now() + BEGIN_MAX;

	if (ptrace(PTRACE_DETACH, t->tid, 0, 0))
		return false;
	while (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != BLK_LIVE) {
		if (pm_now() > end || (kill(t->tid, 0) && errno == ESRCH))
			return false;
		usleep(50);
	}
	return true;
}

static void begin_other(const struct running *t)
{
	struct user_regs_struct r = t->regs;

	r.rip = RT_ATTACHED;
	r.r15 = RT_DATA_VAULT + t->block * RT_BLOCK_SIZE;
	r.orig_rax = ~0ull;
	ptrace(PTRACE_SETREGS, t->tid, 0, &r);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

/* A process and its thread blocks, the first of which is *@bi. */
static struct proc *prepare(struct session *s, struct attachment *a, uint32_t *bi, char *why,
			    size_t n)
{
	struct proc *p = proc_prepare(s, false, bi);

	if (!p) {
		snprintf(why, n, "too many processes at once");
		return NULL;
	}
	a->thread[0].block = *bi;
	for (size_t i = 1; i < a->held.n; i++) {
		a->thread[i].block = block_new(s, s->block_proc[*bi] - 1, false);
		if (!a->thread[i].block) {
			snprintf(why, n, "too many threads at once");
			return NULL;
		}
		thread_new(p, a->thread[i].block);
	}
	p->pid = (uint32_t)a->held.pid;
	p->apart = is_apart(a->held.pid);
	p->user.program = peek_exe(s, p->pid);
	return p;
}

static bool attach_held(struct session *s, struct attachment *a, char *why, size_t n)
{
	struct proc *p;
	uint32_t bi;

	if (!read_threads(a, why, n))
		return false;
	p = prepare(s, a, &bi, why, n);
	if (!p || !make_caller(s, a, why, n))
		return false;
	if (!inject_attached(s, a->held.pid, &a->thread[0].regs, a->caller, bi, p->user.space, why,
			     n))
		return false;
	remove_caller(a);
	for (size_t i = 0; i < a->held.n; i++)
		write_state(s, &a->thread[i], p);
	p->pidfd = wake_watch(p->pid);
	program_begins(s, p, bi);
	first_answer(s, p, &a->thread[0], a->held.n);
	if (!begin_first(s, &a->thread[0])) {
		snprintf(why, n, "it ended while tracing began");
		return false;
	}
	for (size_t i = 1; i < a->held.n; i++)
		begin_other(&a->thread[i]);
	free(a->held.tid);		/* all have been let go */
	a->held = (struct held){ 0 };
	return true;
}

/* Everything as it was. */
static void give_back(struct attachment *a)
{
	remove_caller(a);
	for (size_t i = 0; a->thread && i < a->held.n; i++) {
		const struct running *t = &a->thread[i];

		if (!t->tid)
			continue;
		ptrace(PTRACE_SETREGS, t->tid, 0, &t->regs);
		ptrace(PTRACE_SETSIGMASK_, t->tid, 8, &t->mask);
	}
	hold_release(&a->held);
}

enum pm_status attach(struct session *s, struct pm_err *err)
{
	const pid_t pid = s->opts->pid;
	struct attachment a = { 0 };
	enum hold_result r;
	char why[256] = "";
	bool ok = false;

	if (may_attach(pid, why, sizeof why)) {
		r = hold_process(&a.held, pid);
		if (r != HELD)
			say_not_held(r, why, sizeof why);
		else
			ok = attach_held(s, &a, why, sizeof why);
		if (!ok)
			give_back(&a);
	}
	free(a.thread);
	if (ok)
		return PM_OK;
	return pm_fail_file(err, "cannot attach to process %d: %s", pid, why);
}
