/* SPDX-License-Identifier: MIT */
/* session.c - the controller's loop: start the program, answer its threads, see it out */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "base/temp.h"
#include "base/thread.h"
#include "collect/control/session.h"
#include "collect/consume/trace.h"
#include "elf/elf.h"
#include "isa/x86/decode.h"

static struct rt_session *doorbell;		/* for the signal handler and the watcher */

static void ring(void)
{
	__atomic_fetch_add(&doorbell->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&doorbell->asleep, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &doorbell->doorbell, FUTEX_WAKE, 1);
}

static volatile sig_atomic_t interrupted, program_over;

bool session_interrupted(void)
{
	return interrupted;
}

static void on_signal(int sig)
{
	int e = errno;

	if (sig != SIGCHLD)
		interrupted = sig;
	ring();
	errno = e;
}

/* The terminal sends these to the program as well: it decides. What was sent to us alone is passed
 * on. */
static void on_key(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (program_over || info->si_code != SI_KERNEL)
		on_signal(sig);
}

/* ---- thread blocks --------------------------------------------------------------------------- */
static uint32_t block_new(struct session *s, uint32_t proc, bool i386)
{
	for (uint32_t i = 1; i < RT_BLOCKS; i++) {
		struct rt_block *b;

		if (s->block_used[i] || trace_busy(s->tracer, i))
			continue;
		b = session_block(s, i);
		if (b->state == BLK_DEAD) {
			/* recycle: nothing of the old thread may be left */
			fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)(i * RT_BLOCK_SIZE), (off_t)RT_BLOCK_SIZE);
		}
		s->block_used[i] = 1;
		s->block_proc[i] = proc + 1;
		if (i >= s->block_high)
			s->block_high = i + 1;
		b->state = BLK_READY;
		b->spin = s->spin;
		if (s->tracer)
			trace_thread(s->tracer, i, i386);
		return i;
	}
	return 0;
}

static void block_free(struct session *s, uint32_t i)
{
	if (s->tracer)			/* where it ended by itself, that has been said already */
		trace_over(s->tracer, i, 0, 0);
	session_block(s, i)->state = BLK_DEAD;
	session_block(s, i)->mail.state = MAIL_IDLE;
	s->block_used[i] = 0;
	s->block_proc[i] = 0;
}

static struct proc *proc_new(struct session *s, uint32_t *index)
{
	struct proc *p = pm_alloc(sizeof *p);

	p->pidfd = -1;
	p->status = p->signal = -1;
	p->mm = p;
	pm_grow(s->proc, s->nproc, s->cap_proc);
	*index = (uint32_t)s->nproc;
	s->proc[s->nproc++] = p;
	return p;
}

static struct thread *thread_new(struct proc *p, uint32_t block)
{
	pm_grow(p->thread, p->nthread, p->cap_thread);
	p->thread[p->nthread] = (struct thread){ .block = block, .live = true };
	return &p->thread[p->nthread++];
}

static struct thread *thread_of(struct proc *p, uint32_t block)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].block == block && p->thread[i].live)
			return &p->thread[i];
	return NULL;
}

static const char *exe_of(struct session *s, uint32_t pid)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return NULL;
	path[n] = 0;
	return pm_arena_strdup(&s->spaces.mem, path);
}

/* The address space is over: what its threads counted is final. */
static void proc_over(struct session *s, struct proc *p)
{
	if (p->gone)
		return;
	p->gone = true;
	if (p->mm != p && p->mm->user.space)
		p->user.space = p->mm->user.space;
	for (size_t i = 0; i < p->nthread; i++) {
		uint32_t b = p->thread[i].block;

		if (!p->thread[i].live)
			continue;
		p->clean_exit |= session_block(s, b)->leaving;
		space_release(&s->spaces, &p->mm->user, b);
		if (!p->thread[i].tid)
			p->thread[i].tid = session_block(s, b)->seen_tid;
		gather_thread(s, p, &p->thread[i]);
		if (s->tracer) {
			const bool main_thread = p->thread[i].tid == p->pid;

			if (p->signal > 0)
				trace_over(s->tracer, b, (uint64_t)p->signal,
					   PM_EXIT_SIGNAL | (main_thread ? PM_EXIT_PROCESS : 0));
			else
				trace_over(s->tracer, b, p->status > 0 ? (uint64_t)p->status : 0,
					   main_thread ? PM_EXIT_PROCESS : 0);
		}
		block_free(s, b);
	}
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	gather_process(s, p);
	if (p->mm == p) {
		struct proc *heir = NULL;

		/* a vfork child may outlive the parent whose address space it runs in */
		for (size_t i = 0; i < s->nproc; i++)
			if (s->proc[i] != p && s->proc[i]->mm == p && !s->proc[i]->gone) {
				if (!heir) {
					heir = s->proc[i];
					heir->user = p->user;
				}
				s->proc[i]->mm = heir;
			}
		if (!heir) {
			space_unref(&s->spaces, p->user.space);
			pm_buf_release(&p->user.placed);
			pm_buf_release(&p->user.moving);
		}
	}
	p->user.space = NULL;
	free(p->thread);
	p->thread = NULL;
	p->nthread = p->cap_thread = 0;
}

/* ---- watching processes that are not our children -------------------------------------------- */
static int epoll_fd = -1;

static void *watch(void *arg)
{
	(void)arg;
	for (;;) {
		struct epoll_event e;

		if (epoll_wait(epoll_fd, &e, 1, -1) < 0 && errno != EINTR)
			return NULL;
		ring();
		usleep(200); /* the main loop removes it; level-triggered meanwhile */
	}
}

static void watch_pid(struct proc *p)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };
	static bool started;
	pthread_t t;

	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0)
		return;
	if (!started) {
		started = true;
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (pm_thread_start(&t, watch, NULL))
			pthread_detach(t);
	}
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, p->pidfd, &e);
}

static void check_watched(struct session *s)
{
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];
		struct pollfd f = { .fd = p->pidfd, .events = POLLIN };

		if (p->gone || p->pidfd < 0)
			continue;
		if (poll(&f, 1, 0) == 1)
			proc_over(s, p);
	}
}

double session_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- requests -------------------------------------------------------------------------------- */
static uint64_t insn_offset(bool i386, const uint8_t *bytes, uint32_t size, uint32_t insn)
{
	ZydisDecoder d;
	ZydisDecodedInstruction in;
	uint32_t off = 0;

	if (i386)
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; i < insn && off < size; i++) {
		if (ZYAN_FAILED(
			    ZydisDecoderDecodeInstruction(&d, NULL, bytes + off, size - off, &in)))
			break;
		off += in.length;
	}
	return off;
}

static uint64_t orig_pc(const struct space *sp, uint32_t bi, uint32_t insn)
{
	const struct blk *b = &sp->block[bi];
	const uint8_t *bytes = block_bytes(sp, bi);

	return bytes ? b->pc + insn_offset(sp->i386, bytes, b->size, insn) : b->pc;
}

/* An execution of @block ends early at @at. Behind its last instruction no instruction of it is cut
 * off, but control stands at its end, and will come to the next block otherwise than from here. */
static void cut(struct proc *p, uint32_t tid, uint32_t block, const struct xl_map *at)
{
	const bool uncounted = !(at->flags & XL_COUNTED);
	const uint32_t done = at->insn;
	struct pm_cut_at *c;

	if (done >= p->user.space->block[block].n && !(at->flags & XL_AT_START))
		return;
	for (size_t i = 0; i < p->ncut; i++) {
		c = &p->cut[i];
		if (c->tid == tid && c->block == block && c->done == done &&
		    c->uncounted == uncounted) {
			c->times++;
			return;
		}
	}
	pm_grow(p->cut, p->ncut, p->cap_cut);
	p->cut[p->ncut++] = (struct pm_cut_at){ tid, block, done, uncounted, 1 };
}

/* page fault error code (Intel SDM 3A, 4.7) */
#define PF_WRITE 0x02
#define PF_PKEY	 0x20

/* Where is a thread that a signal stopped, and what is the program's state there? */
static void on_where(struct session *s, struct proc *p, uint32_t thread, struct rt_mail *m)
{
	const struct xl_map *map = NULL;
	struct space *sp = p->user.space;
	uint64_t code = m->a[0];
	uint32_t bi = 0;

	if (m->a[1] == SIGSEGV && m->a[3] && (m->a[4] & (PF_WRITE | PF_PKEY)) == PF_WRITE &&
	    space_write_trap(&s->spaces, &p->mm->user, m->a[2], code, m)) {
		if (!m->ncmd && m->r[0] == RT_WRITE_SELF) {
			uint64_t pc = orig_pc(p->user.space, (uint32_t)m->r[5], (uint32_t)m->r[1]);

			/* the stale block ends before the write, which then happens by itself */
			space_state(p->user.space, code, &bi, &map);
			if (s->tracer)
				trace_cut(s->tracer, p->user.space, thread, bi, map, 0, 0);
			else
				cut(p, session_block(s, thread)->seen_tid, bi, map);
			m->r[1] = pc;
			m->r[4] = space_once(&s->spaces, &p->mm->user, pc, m);
			if (!m->r[4])
				m->r[0] = RT_RETRY;
		}
		return;
	}
	if (space_state(sp, code, &bi, &map)) {
		m->r[0] = RT_IN_CODE;
		m->r[1] = orig_pc(sp, bi, map->insn);
		m->r[2] = map->flags;
		m->r[3] = map->tmp;
		return;
	}
	m->r[1] = space_enter(&s->spaces, &p->mm->user, code, true, m);
	m->r[0] = m->r[1] || m->ncmd ? RT_IN_ORIGINAL : RT_NOWHERE;
}

static struct pm_unknown *unknown_at(struct proc *p, uint64_t pc)
{
	for (size_t i = 0; i < p->nunknown; i++)
		if (p->unknown_at[i].pc == pc)
			return &p->unknown_at[i];
	return NULL;
}

static void on_cut(struct session *s, struct proc *p, uint32_t thread, struct rt_mail *m)
{
	struct pm_unknown *u = unknown_at(p, m->a[0]);
	const struct xl_map *map = NULL;
	uint32_t bi = 0;

	if (u) {
		u->count--;
		return;
	}
	if (!space_state(p->user.space, m->a[0], &bi, &map))
		return;
	if (s->tracer)
		trace_cut(s->tracer, p->user.space, thread, bi, map, m->a[1], m->a[2]);
	else
		cut(p, session_block(s, thread)->seen_tid, bi, map);
}

static void on_hello(struct session *s, struct proc *p, uint32_t bi, struct rt_mail *m)
{
	struct rt_block *b = session_block(s, bi);
	struct thread *t = thread_of(p, bi);

	if (p->apart && m->a[2] && !p->pid)
		m->a[0] = pid_here(s, (uint32_t)m->a[0], p->parent);
	else if (p->apart)
		m->a[0] = p->pid;
	if (p->apart)
		m->a[1] = m->a[2] ? m->a[0] : tid_here(s, p->pid, (uint32_t)m->a[1]);
	b->apart = p->apart;
	b->seen_pid = (uint32_t)m->a[0];
	b->seen_tid = (uint32_t)m->a[1];
	if (t)
		t->tid = b->seen_tid;
	if (m->a[2] && p->forker) {
		space_release(&s->spaces, &p->user, p->forker);
		p->forker = 0;
	}
	if (s->tracer && !m->a[2] && !m->a[5])
		trace_note(s->tracer, bi, RT_N_THREAD, &m->a[1], 1, NULL);
	else if (s->tracer && !p->pid)
		trace_note(s->tracer, bi, RT_N_PROCESS, (const uint64_t[]){ m->a[0], p->parent }, 2,
			   p->user.program);
	if (m->a[2] && !p->pid) {
		p->pid = (uint32_t)m->a[0];
		if (!p->user.program)
			p->user.program = exe_of(s, p->pid);
		if (!p->is_child)
			watch_pid(p);
	}
}

static void on_block(struct session *s, struct proc *p, uint32_t parent, struct rt_mail *m)
{
	uint32_t index, bi;
	struct proc *c = p;

	p->apart |= m->a[1];
	if (m->a[0] == 0) {
		bi = block_new(s, s->block_proc[0] /* replaced below */, p->mm->user.space->i386);
	} else {
		c = proc_new(s, &index);
		bi = block_new(s, index, p->mm->user.space->i386);
		c->parent = p->pid;
		c->apart = p->apart;
		c->user.program = p->user.program;
		c->user.space = p->user.space;
		if (m->a[0] == 2) {
			c->mm = p->mm;		/* which holds the reference */
		} else {
			c->user.space->refs++;
			pm_buf_add(&c->user.placed, p->mm->user.placed.p, p->mm->user.placed.n);
			/* the child begins with what the parent's memory holds when it forks */
			c->forker = parent;
			if (bi)
				c->user.space->busy = parent;
		}
	}
	if (!bi) {
		m->r[0] = 0;
		return;
	}
	if (m->a[0] == 0)
		for (size_t i = 0; i < s->nproc; i++)
			if (s->proc[i] == p)
				s->block_proc[bi] = (uint32_t)i + 1;
	thread_new(c, bi);
	m->r[0] = bi;
}

/* A process that is not there yet, with its first thread block. NULL: too many. */
static struct proc *proc_ahead(struct session *s, bool i386, uint32_t *bi)
{
	uint32_t index;
	struct proc *p = proc_new(s, &index);

	p->user.space = space_new(&s->spaces, i386);
	p->user.nthread = 1;
	if (i386 && s->spaces.ni386 == 1)
		s->sampled = session_now();
	*bi = p->user.space ? block_new(s, index, i386) : 0;
	if (*bi)
		return p;
	p->gone = true;
	return NULL;
}

/* Nobody has heard of it. */
static void proc_forget(struct session *s, struct proc *p, uint32_t bi)
{
	block_free(s, bi);
	p->gone = true;
	p->pid = p->loads = 0;
}

static struct proc *proc_by_pid(const struct session *s, uint32_t pid)
{
	for (size_t i = s->nproc; i-- > 0; )
		if (s->proc[i]->pid == pid && !s->proc[i]->gone)
			return s->proc[i];
	return NULL;
}

/* Of the program that process @pid, 0 if it is the first one, executes. */
static bool stays(const struct session *s, uint32_t pid)
{
	const struct proc *p = pid ? proc_by_pid(s, pid) : NULL;

	return p ? p->stays : personality(0xffffffff) & ADDR_NO_RANDOMIZE;
}

uint32_t session_persona(const struct session *s, uint32_t block)
{
	return s->head->no_aslr && !s->proc[s->block_proc[block] - 1]->stays ? ADDR_NO_RANDOMIZE
									     : 0;
}

static void loads_no_more(struct proc *p)
{
	if (p->loading)
		loading_release(p->loading);
	p->loading = NULL;
	p->loads = 0;
}

/* @program, a descriptor, will be loaded instead of executed: by process @pid, which has to execute
 * the file at
 * (*p)->loading. False: it cannot; @why says. */
static bool will_load(struct session *s, uint32_t pid, int program, const char *name,
		      const char *shell, struct proc **p, char *why, size_t n)
{
	char link[64], path[4096];
	ssize_t length;
	uint32_t bi;

	*p = proc_ahead(s, false, &bi);
	if (!*p) {
		close(program);
		snprintf(why, n, "too many processes at once");
		return false;
	}
	(*p)->stays = stays(s, pid);
	(*p)->loading = pm_arena_alloc(&s->spaces.mem, sizeof *(*p)->loading);
	if (!loader_make(s, program, name, shell, bi, (*p)->user.space, (*p)->loading, why, n)) {
		proc_forget(s, *p, bi);
		return false;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", (*p)->loading->program);
	length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = 0;
	(*p)->user.program = pm_arena_strdup(&s->spaces.mem, path);
	(*p)->loads = pid;
	session_block(s, bi)->links = space_links_at((*p)->user.space);
	thread_new(*p, bi);
	return true;
}

static void no_program(struct session *s, struct proc *p)
{
	loads_no_more(p);
	proc_forget(s, p, p->thread[0].block);
}

/* The program in descriptor @m->a[2] - 1 of the thread that asks is to be loaded. */
static void load_next(struct session *s, struct rt_mail *m)
{
	const uint32_t pid = session_block(s, s->spaces.asking)->seen_pid;
	char path[64], name[4096], why[256];
	ssize_t n;
	struct proc *next;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", session_asking(s), (int)m->a[2] - 1);
	n = readlink(path, name, sizeof name - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (n < 0 || fd < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	name[n] = 0;
	if (!will_load(s, pid, fd, name, NULL, &next, why, sizeof why)) {
		if (*why)
			fprintf(stderr, "pugmark: process %u goes on untraced: %s\n", pid, why);
		return;
	}
	m->r[0] = RT_LOAD_IT;
	m->r[1] = (uint64_t)next->loading->file;
	m->r[2] = next->loading->nstring;
	memcpy(m->cmd, next->loading->bytes, next->loading->nbytes);
}

static void on_exec(struct session *s, struct proc *p, struct rt_mail *m)
{
	m->r[0] = RT_NOT_FOLLOWED;
	p->apart |= m->a[1];
	p->stays = m->a[0];
	if (s->opts->no_follow && p->parent)
		return;
	if (s->loaded) {
		if (m->a[2] && !p->apart)
			load_next(s, m);
	} else if (ptrace(PTRACE_SEIZE, session_asking(s), 0, PTRACE_O_TRACEEXEC) == 0) {
		p->exec_attached = true;
		m->r[0] = RT_FOLLOWED;
	}
}

static void on_failed_exec(struct session *s, struct proc *p, pid_t tid)
{
	int status;

	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->loads == session_block(s, s->spaces.asking)->seen_pid)
			no_program(s, s->proc[i]);
	if (!p->exec_attached)
		return;
	p->exec_attached = false;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 && wait_for(tid, &status) == tid &&
	    WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, tid, 0,
		       status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status));
}

/* The mappings of a process, noted as if it had just made them. */
static void note_maps(struct session *s, uint32_t i, uint32_t pid)
{
	struct maps all = { 0 };

	if (maps_read((pid_t)pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++) {
			if (!strncmp(m->path, "/memfd:pugmark-", 15) ||
			    strstr(m->path, "/pugmark-code-") || is_runtime(s, m))
				continue;
			_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4,
				       "as the event has them");
			trace_note(s->tracer, i, RT_N_MMAP,
				   (const uint64_t[]){ m->lo, m->hi - m->lo, m->prot, m->off }, 4,
				   m->path);
		}
	maps_release(&all);
}

/* A file has been mapped: which one it is the process does not know. */
static void on_mapped(struct session *s, const struct proc *p, uint32_t thread,
		      const struct rt_mail *m)
{
	char link[64], path[4096];
	ssize_t n;

	if (!s->tracer)
		return;
	snprintf(link, sizeof link, "/proc/%u/fd/%d", p->mm->pid, (int)m->a[4]);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	trace_note(s->tracer, thread, RT_N_MMAP, m->a, 4, path);
}

ssize_t session_read(struct session *s, void *to, uint64_t at, size_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)at, n };
	ssize_t got = s->loaded ? -1 : process_vm_readv(session_asking(s), &here, 1, &there, 1, 0);
	char path[64];
	int fd;

	if (got >= 0 || (!s->loaded && errno == EFAULT))
		return got;
	snprintf(path, sizeof path, "/proc/%d/mem", session_asking(s));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = pread(fd, to, n, (off_t)at);
	close(fd);
	return got;
}

/* The instruction at @pc is executed in its place: because it only works there, or because the
 * decoder does not know it; then it belongs to no block. */
static void on_step(struct session *s, struct proc *p, uint32_t thread, uint64_t pc)
{
	uint64_t arg[4] = { pc, 0, 0, p->user.space->i386 };
	struct pm_unknown *u;
	struct x86_insn x;
	ssize_t n = session_read(s, arg + 1, pc, 16);

	if (n < 0)				/* it ends with its page */
		n = session_read(s, arg + 1, pc, 4096 - (pc & 4095));
	if (!s->dec[p->user.space->i386])
		s->dec[p->user.space->i386] =
			x86_decoder_new(p->user.space->i386 ? X86_MODE_32 : X86_MODE_64);
	if (n > 0 &&
	    x86_decode(s->dec[p->user.space->i386], (const uint8_t *)(arg + 1), (size_t)n, &x))
		return;
	u = unknown_at(p, pc);
	if (!u) {
		pm_grow(p->unknown_at, p->nunknown, p->cap_unknown);
		u = &p->unknown_at[p->nunknown++];
		*u = (struct pm_unknown){ .pc = pc };
	}
	u->count++;
	if (s->tracer)
		trace_note(s->tracer, thread, RT_N_UNKNOWN, arg, 4, NULL);
}

bool session_knows(const struct session *s, uint32_t pid)
{
	return proc_by_pid(s, pid);
}

/* @p is what process @pid executes from now on, instead of what is known as that so far. */
static void becomes(struct session *s, struct proc *p, uint32_t pid)
{
	struct proc *old = proc_by_pid(s, pid);

	p->stays = stays(s, pid);
	p->pid = pid;
	if (p->user.space->abi_flags && cache_knows_flags(&s->spaces, p->user.program))
		p->user.space->abi_flags = false;
	if (old) {
		p->parent = old->parent;
		p->is_child = old->is_child;
		p->apart = old->apart;
		old->execed = true;
		proc_over(s, old);
	}
	if (!p->is_child && (pid_t)pid != s->root)
		watch_pid(p);
	if ((pid_t)pid == s->root)
		p->is_child = true;
}

/* Its first thread, with block @bi, is at the program's first instruction. */
static void begins(struct session *s, struct proc *p, uint32_t bi)
{
	struct rt_block *b = session_block(s, bi);

	b->seen_pid = b->seen_tid = p->pid;
	b->apart = p->apart;
	thread_of(p, bi)->tid = p->pid;
	if (s->tracer) {
		trace_note(s->tracer, bi, RT_N_EXEC, (const uint64_t[]){ p->pid }, 1,
			   p->user.program);
		note_maps(s, bi, p->pid);
	}
}

/* The program has been loaded. */
static void on_begin(struct session *s, struct proc *p, uint32_t bi, struct rt_mail *m)
{
	struct rt_boot boot = { 0 };
	char why[256];

	if (!p->loads)
		return;
	becomes(s, p, p->loads);
	loads_no_more(p);
	begins(s, p, bi);
	if (!inject_maps(s, (pid_t)p->pid, &boot, p->user.space, why, sizeof why))
		return;
	memcpy(m->cmd, boot.range, sizeof boot.range);
	m->r[0] = boot.nrange;
	m->r[1] = boot.vdso;
}

/* ... in the address space @mm. */
static uint32_t live_threads(const struct session *s, const struct proc *mm)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->nproc; i++)
		for (size_t k = 0; s->proc[i]->mm == mm && k < s->proc[i]->nthread; k++)
			n += s->proc[i]->thread[k].live;
	return n;
}

/* Is block @i one that @p was given for a thread or process that has not begun? No other is its to
 * give back. */
static bool not_begun_by(const struct session *s, const struct proc *p, uint32_t i)
{
	const struct proc *c = s->proc[s->block_proc[i] - 1];
	const struct thread *t = thread_of((struct proc *)c, i);

	return t && !t->tid && (c == p || (!c->pid && !c->loads && c->parent == p->pid));
}

static void answer(struct session *s, uint32_t bi)
{
	struct rt_block *b = session_block(s, bi);
	struct rt_mail *m = &b->mail;
	uint32_t op = m->op;
	const uint32_t asked = m->ncmd < RT_MAX_CMDS ? m->ncmd : RT_MAX_CMDS;
	bool alone, stands = false; /* stands: the answer is the same when the commands have run */
	const struct space *sp;
	struct proc *p, *mm;
	struct thread *t;

	if (!s->block_proc[bi] || op > RQ_LAST)
		return;
	p = s->proc[s->block_proc[bi] - 1];
	mm = p->mm;
	sp = mm->user.space;
	p->user.space = mm->user.space;
	s->spaces.asking = bi;
	mm->user.nthread = live_threads(s, mm);
	s->requests[op]++;
	memset(m->r, 0, sizeof m->r);
	m->ncmd = 0;
	m->again = 0;
	if (mm->user.moving.n && space_move(&s->spaces, &mm->user, m))
		op = RQ_NONE;
	else
		space_release(&s->spaces, &mm->user, bi);
	if (m->failed && m->failed <= asked && op != RQ_NONE) {
		const struct rt_cmd *c = &m->cmd[m->failed - 1];

		if (c->op == CMD_PLACE_FILE
			    ? space_no_file(&s->spaces, &mm->user, c, asked - (m->failed - 1), m)
			    : space_no_room(&s->spaces, &mm->user, c->a[0], m))
			op = RQ_NONE;
	}
	alone = op != RQ_NONE && mm->user.space->refs == 1 && !mm->user.left && !m->a[5] &&
		mm->user.nthread == 1;
	switch (op) {
	case RQ_HELLO:
		on_hello(s, p, bi, m);
		break;
	case RQ_LOOKUP:
		m->r[0] = space_enter(&s->spaces, &mm->user, m->a[0], false, m);
		break;
	case RQ_RESOLVE:
		m->r[0] = space_resolve(&s->spaces, &mm->user, (uint32_t)m->a[0], m);
		break;
	case RQ_SIGNAL:
		on_where(s, p, bi, m);
		break;
	case RQ_CUT:
		on_cut(s, p, bi, m);
		break;
	case RQ_STEP:
		on_step(s, p, bi, m->a[0]);
		break;
	case RQ_CHECKFAIL:
		m->r[0] = space_recheck(&s->spaces, &mm->user, m->a[0], m);
		break;
	case RQ_MAP:
		if (!space_unmap(&s->spaces, &mm->user, m->a[0], m->a[0] + m->a[1], m))
			break;
		space_range_add(mm->user.space, m->a[0], m->a[0] + m->a[1], (uint32_t)m->a[2],
				m->a[3] & 1, m->a[3] >> 31);
		space_contest(&s->spaces, mm->user.space, m->a[0], m->a[0] + m->a[1]);
		if (alone && !m->ncmd && !mm->user.space->i386) {
			space_mapped(&s->spaces, &mm->user, m->a[0], m->a[0] + m->a[1], m);
			stands = true;
		}
		break;
	case RQ_UNMAP:
		space_unmap(&s->spaces, &mm->user, m->a[0], m->a[0] + m->a[1], m);
		break;
	case RQ_MAKE_WAY:
		m->r[0] = space_make_way(&s->spaces, &mm->user, m->a[0], m->a[0] + m->a[1], m);
		break;
	case RQ_OPEN:
		m->r[0] = space_open(&s->spaces, &mm->user, m->a[0], m);
		break;
	case RQ_BLOCK:
		on_block(s, p, bi, m);
		break;
	case RQ_UNBLOCK: {
		uint32_t i = (uint32_t)m->a[0];

		if (i && i < RT_BLOCKS && s->block_proc[i] && not_begun_by(s, p, i)) {
			struct proc *c = s->proc[s->block_proc[i] - 1];

			t = thread_of(c, i);
			if (t)
				t->live = false;
			block_free(s, i);
			if (c != p) {		/* the fork failed */
				c->gone = true;
				if (c->mm == c) {
					space_unref(&s->spaces, c->user.space);
					pm_buf_release(&c->user.placed);
				}
			}
		}
		break;
	}
	case RQ_FORKED: {
		uint32_t i = (uint32_t)m->a[0];
		struct proc *c = i && i < RT_BLOCKS && s->block_proc[i] ?
			s->proc[s->block_proc[i] - 1] : NULL;

		if (c && c->forker == bi)
			c->forker = 0;
		break;
	}
	case RQ_EXEC:
		on_exec(s, p, m);
		break;
	case RQ_EXECFAIL:
		on_failed_exec(s, p, session_asking(s));
		break;
	case RQ_EXIT:
		t = thread_of(p, bi);
		if (t) {
			gather_thread(s, p, t);
			if (s->tracer)
				trace_over(s->tracer, bi, 0, 0);
			/* the block is free once the thread has marked it dead */
			s->block_proc[bi] = 0;
			s->block_used[bi] = 2;
			if (b->pid == b->tid)
				p->clean_exit = true;
		}
		break;
	case RQ_MAPPED:
		on_mapped(s, p, bi, m);
		break;
	case RQ_COUNTING:
		m->r[0] = space_counting_copy(mm->user.space, m->a[0]);
		break;
	case RQ_BEGIN:
		on_begin(s, p, bi, m);
		break;
	}
	if (op == RQ_LOOKUP || op == RQ_RESOLVE || op == RQ_SIGNAL || op == RQ_CHECKFAIL ||
	    op == RQ_MAP || op == RQ_UNMAP || op == RQ_OPEN || op == RQ_MAKE_WAY)
		space_refresh(&s->spaces, &mm->user, m);
	stands |= (op == RQ_LOOKUP || op == RQ_RESOLVE || op == RQ_CHECKFAIL) && m->r[0];
	stands |= op == RQ_SIGNAL && m->r[0] == RT_IN_ORIGINAL && m->r[1];
	if (m->ncmd && alone && stands && mm->user.space == sp) {
		m->again = RT_IF_FAILED;
	} else if (m->ncmd) {
		m->again = RT_AGAIN;
		mm->user.space->busy = bi;
	}
	p->user.space = mm->user.space;
	b->links = space_links_at(p->user.space);
	__atomic_store_n(&m->state, MAIL_REPLY, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&m->sleeping, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &m->state, FUTEX_WAKE, 1);
}

/* ---- exec ------------------------------------------------------------------------------------ */
/* The kernel gives no rights to a program that somebody without rights traces, nor says so. */
static void tell_of_rights(pid_t pid, const char *program)
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
		fprintf(stderr,
			"pugmark: process %d, %s, runs without the rights of its %s: it is "
			"traced\n",
			pid, program, owner ? "owner" : "group");
}

/* @pid has a new program and stands at its first instruction. */
static bool exec_stop(struct session *s, pid_t pid, char *why, size_t n)
{
	struct rt_block *b;
	struct proc *p;
	uint64_t entry;
	uint32_t bi;

	p = proc_ahead(s, is_i386(pid), &bi);
	if (!p) {
		struct proc *old = proc_by_pid(s, (uint32_t)pid);

		if (old) {
			old->execed = true;
			proc_over(s, old);
		}
		snprintf(why, n, "too many processes at once");
		return false;
	}
	p->user.program = exe_of(s, (uint32_t)pid);
	becomes(s, p, (uint32_t)pid);
	tell_of_rights(pid, p->user.program);
	if (!inject(s, pid, bi, p->user.space, &entry, why, n)) {
		proc_forget(s, p, bi);
		return false;
	}
	b = session_block(s, bi);
	b->links = space_links_at(p->user.space);
	thread_new(p, bi);
	begins(s, p, bi);
	/* what it will ask first is answered already */
	s->spaces.asking = bi;
	s->spaces.maps_good = true;
	b->mail.op = RQ_LOOKUP;
	b->mail.a[0] = entry;
	b->mail.r[0] = space_begin(&s->spaces, &p->user, entry, &b->mail);
	b->mail.again = b->mail.ncmd ? RT_IF_FAILED : RT_NOT_AGAIN;
	return true;
}

static void reap(struct session *s)
{
	char why[256] = "";
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		struct proc *p = proc_by_pid(s, (uint32_t)pid);

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == s->root) {
				s->root_done = true;
				s->root_status = status;
			}
			if (p) {
				p->exited = true;
				p->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
				p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
				proc_over(s, p);
			}
			continue;
		}
		if (!WIFSTOPPED(status))
			continue;
		if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
			*why = 0;
			if (!exec_stop(s, pid, why, sizeof why))
				fprintf(stderr, "pugmark: process %d goes on untraced: %s\n", pid,
					why);
			ptrace(PTRACE_DETACH, pid, 0, 0);
		} else if (status >> 16 == PTRACE_EVENT_STOP) {
			ptrace(WSTOPSIG(status) == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, pid, 0,
			       0);
		} else {
			ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status));
		}
	}
}

/* ---- what code spaces ask: space/space.h ----------------------------------------------------- */
static ssize_t hook_read(struct spaces *s, void *to, uint64_t at, size_t n)
{
	return session_read(session_of(s), to, at, n);
}

static bool hook_read_maps(struct spaces *s, struct maps *m)
{
	return maps_read(session_asking(session_of(s)), m);
}

static uint64_t hook_likely(struct spaces *s, const struct module *m, uint64_t slot)
{
	return slot_target(session_of(s), m, slot);
}

static bool hook_only_counts(struct spaces *s)
{
	return s->counts && trace_counts(session_of(s)->tracer, s->asking);
}

static uint32_t hook_next_number(struct spaces *s)
{
	return trace_next(session_of(s)->tracer);
}

static void hook_number(struct spaces *s, const struct space *sp, uint32_t first, uint32_t n)
{
	trace_numbers(session_of(s)->tracer, sp, first, n);
}

static void hook_points(struct spaces *s, const char *path, uint64_t bias, struct pm_buf *to)
{
	pm_pipeline_points(session_of(s)->opts->pipeline, path, bias, to);
}

static void hook_links_moved(struct spaces *s, struct space_user *user, uint64_t at)
{
	struct session *session = session_of(s);

	for (size_t i = 0; i < session->nproc; i++) {
		const struct proc *p = session->proc[i];

		for (size_t k = 0; &p->mm->user == user && k < p->nthread; k++)
			if (p->thread[k].live)
				session_block(session, p->thread[k].block)->links = at;
	}
}

static void hook_give_up(struct spaces *s, const struct space_user *user, const char *why)
{
	const struct proc *p = (const struct proc *)(const void *)((const char *)user -
								   offsetof(struct proc, user));

	fprintf(stderr, "pugmark: process %u cannot be traced any longer and is killed: %s\n",
		p->pid, why);
	kill((pid_t)p->pid, SIGKILL);
}

static void hook_note_used(struct spaces *s, struct space *sp)
{
	gather_used(session_of(s), sp);
}

static bool hook_running(struct spaces *s)
{
	return session_running(session_of(s));
}

static const struct space_hooks hooks = {
	.read = hook_read,
	.read_maps = hook_read_maps,
	.likely = hook_likely,
	.only_counts = hook_only_counts,
	.next_number = hook_next_number,
	.number = hook_number,
	.points = hook_points,
	.links_moved = hook_links_moved,
	.give_up = hook_give_up,
	.note_used = hook_note_used,
	.running = hook_running,
};

/* ---- the session ----------------------------------------------------------------------------- */
static enum pm_status session_open(struct session *s, struct pm_err *err)
{
	cpu_set_t cpus;

	if (limits_raise(s, err) != PM_OK || spaces_open(&s->spaces, err) != PM_OK)
		return PM_ERR;
	s->data_fd = memfd_create("pugmark-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->data_fd < 0)
		return pm_fail_errno(err, "cannot create shared memory");
	if (ftruncate(s->data_fd, (off_t)RT_DATA_SIZE))
		return pm_fail_errno(err, "cannot size shared memory");
	s->data = mmap(NULL, RT_DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		       s->data_fd, 0);
	if (s->data == MAP_FAILED)
		return pm_fail_errno(err, "cannot map shared memory");
	if (!pm_temp_seal(s->data_fd, 0))
		return pm_fail_errno(err, "cannot seal shared memory");
	s->head = (struct rt_session *)s->data;
	s->head->abi = RT_ABI;
	s->head->pid = (uint32_t)getpid();
	s->head->no_aslr = !s->opts->aslr;
	doorbell = s->head;
	snprintf(s->pid_text, sizeof s->pid_text, "%d", getpid());
	s->block_used = pm_alloc(RT_BLOCKS);
	s->block_proc = pm_alloc(RT_BLOCKS * sizeof *s->block_proc);
	if (!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) > 1)
		s->spin = 600;
	return PM_OK;
}

static enum pm_status open_trace(struct session *s, struct pm_err *err)
{
	const struct trace_opts o = {
		.kind = s->opts->kind,
		.aslr = s->opts->aslr,
		.pipeline = s->opts->pipeline,
		.mem = &s->out->mem,
		.data = s->data,
		.head = s->head,
		.block_high = &s->block_high,
		.spaces = &s->spaces,
		.interrupted = session_interrupted,
	};

	return s->opts->kind == XL_PROFILE ? PM_OK : trace_open(&o, &s->tracer, err);
}

static void session_close(struct session *s)
{
	if (s->data && s->data != MAP_FAILED)
		__atomic_store_n(&s->head->closed, 1, __ATOMIC_SEQ_CST);
	limits_restore(s);
	close(s->data_fd);
	for (size_t i = 0; i < NR(s->rt_fd); i++)
		close(s->rt_fd[i]);
	free(s->block_used);
	free(s->block_proc);
	for (size_t i = 0; i < s->nproc; i++)
		free(s->proc[i]);
	free(s->proc);
	x86_decoder_free(s->dec[0]);
	x86_decoder_free(s->dec[1]);
	for (size_t i = 0; i < s->nslots; i++)
		pm_map_release(&s->slots[i].to);
	free(s->slots);
	gather_release(s);
	cache_close(&s->spaces);
	spaces_close(&s->spaces);
}

struct start {
	char **argv;
	int file; /* what is executed instead, where ptrace() is refused; -1: argv[0] */
	bool aslr;
	pid_t self;
	sigset_t mask;			/* of the program */
	const struct rlimit *limit;	/* likewise */
	int trace_errno, exec_errno;	/* 0: none */
};

/* A child that borrows our memory until it execs: copying page tables takes longer than all it
 * does. */
static __attribute__((noinline)) pid_t start(struct start *o)
{
	sigset_t mask = o->mask;
	const pid_t pid = vfork();

	if (pid)
		return pid;
	limits_of_program(o->limit);
	if (!o->aslr)
		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	if (o->file >= 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		syscall(SYS_execveat, o->file, "", o->argv, environ, AT_EMPTY_PATH);
		o->exec_errno = errno;
		_exit(127);
	}
	if (ptrace(PTRACE_TRACEME, 0, 0, 0)) {
		o->trace_errno = errno;
		_exit(127);
	}
	if (getppid() !=
	    o->self) /* killed meanwhile: whose tracee we are now does not know of us */
		_exit(127);
	sigdelset(&mask, SIGTRAP);	/* which tells of the exec */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	execvp(o->argv[0], o->argv);
	o->exec_errno = errno;
	_exit(127);
}

bool pm_run_find(const char *name, char *path, size_t n)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(path, n, "%s", name);
		return access(path, X_OK) == 0;
	}
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *d; ) {
		int len = (int)strcspn(d, ":");

		snprintf(path, n, "%.*s/%s", len ? len : 1, len ? d : ".", name);
		if (access(path, X_OK) == 0)
			return true;
		d += len + (d[len] == ':');
	}
	return false;
}

bool pm_run_i386(const char *program)
{
	unsigned char head[EI_CLASS + 1] = { 0 };
	char path[4096];
	int fd = pm_run_find(program, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const bool got = fd >= 0 && read(fd, head, sizeof head) == sizeof head;

	if (fd >= 0)
		close(fd);
	return got && !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS32;
}

/* Say what is wrong with a program before it is started: the kernel kills what it cannot load. What
 * is no ELF file is a script, or execvp() gives it to the shell. */
static enum pm_status check_program(struct session *s, struct pm_err *err)
{
	struct pm_elf_info info = { 0 };
	char path[4096], magic[4] = "", machine[24];
	enum pm_status st;
	int fd;

	if (!pm_run_find(s->opts->argv[0], path, sizeof path))
		return PM_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return PM_OK;
	if (read(fd, magic, 4) != 4 || memcmp(magic, "\177ELF", 4)) {
		close(fd);
		return PM_OK;
	}
	close(fd);
	err->file = pm_arena_strdup(&s->out->mem, path);
	st = pm_elf_check(err->file, &info, err);
	if (st == PM_OK && (info.machine != EM_X86_64 || !info.is64) &&		/* x32 is neither */
	    (info.machine != EM_386 || info.is64))
		st = pm_fail_file(err,
				  "it is a program for %s; x86-64 and i386 programs can be traced",
				  pm_elf_machine(info.machine, machine));
	pm_elf_info_release(&info);
	if (st == PM_OK)
		err->file = NULL;
	return st;
}

static enum pm_status refused(int why, struct pm_err *err)
{
	return pm_fail_file(err, "cannot trace the program: %s", strerror(why));
}

/* s->root is the child. */
static enum pm_status start_quietly(struct session *s, struct start *o, struct pm_err *err)
{
	sigset_t all, was;
	int failed;

	o->mask = s->mask;
	sigfillset(&all);			/* handlers are not to run in the child */
	sigprocmask(SIG_SETMASK, &all, &was);
	s->root = start(o);
	failed = errno;
	sigprocmask(SIG_SETMASK, &was, NULL);
	errno = failed;
	return s->root < 0 ? pm_fail_errno(err, "cannot fork") : PM_OK;
}

/* The arguments @argv of a program, with those of @l's scripts' interpreters in front. In
 * s->spaces.mem. */
static char **script_argv(struct session *s, const struct loading *l, char **argv, char *path)
{
	char **v, *string = (char *)l->bytes;
	size_t n = 0;

	if (!l->nstring)
		return argv;
	while (argv[n])
		n++;
	v = pm_arena_alloc(&s->spaces.mem, (l->nstring + n + 1) * sizeof *v);
	for (unsigned i = 0; i < l->nstring; i++, string += strlen(string) + 1)
		v[i] = string;
	v[l->nstring] = path;
	memcpy(v + l->nstring + 1, argv + 1, n * sizeof *v);
	return v;
}

/* Where ptrace() is refused: the program is loaded by the runtime. */
static enum pm_status launch_loaded(struct session *s, struct pm_err *err)
{
	struct start o = { .argv = s->opts->argv,
			   .file = -1,
			   .aslr = s->opts->aslr,
			   .self = getpid(),
			   .limit = s->limit };
	char path[4096], why[256] = "";
	struct proc *p;
	int fd, status;

	err->file = s->opts->argv[0];
	fd = pm_run_find(s->opts->argv[0], path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC)
							      : -1;
	if (fd < 0)
		return pm_fail_errno(err, "cannot execute");
	s->loaded = true;
	if (!will_load(s, 0, fd, path, "/bin/sh", &p, why, sizeof why))
		return *why ? pm_fail_file(err, "cannot be traced: %s", why)
			    : pm_fail_errno(err, "cannot execute");
	o.argv = script_argv(s, p->loading, o.argv, path);
	o.file = p->loading->file;
	err->file = NULL;
	if (start_quietly(s, &o, err) != PM_OK)
		return PM_ERR;
	if (o.exec_errno) {
		wait_for(s->root, &status);
		return refused(o.exec_errno, err);
	}
	p->loads = (uint32_t)s->root;
	return PM_OK;
}

static enum pm_status launch(struct session *s, struct pm_err *err)
{
	struct start o = { .argv = s->opts->argv,
			   .file = -1,
			   .aslr = s->opts->aslr,
			   .self = getpid(),
			   .limit = s->limit };
	char why[256] = "";
	int status;

	if (check_program(s, err) != PM_OK || start_quietly(s, &o, err) != PM_OK)
		return PM_ERR;
	/* it stops behind execve(); other signals may come first */
	for (;;) {
		if (wait_for(s->root, &status) != s->root)
			return pm_fail_errno(err, "cannot wait for the program");
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (o.trace_errno == EPERM || o.trace_errno == EACCES ||
			    o.trace_errno == ENOSYS)
				return launch_loaded(s, err);
			if (o.trace_errno)
				return refused(o.trace_errno, err);
			errno = o.exec_errno;
			if (errno) {
				err->file = s->opts->argv[0];
				return pm_fail_errno(err, "cannot execute");
			}
			return pm_fail_file(err, "the program died before it began");
		}
		if (WSTOPSIG(status) == SIGTRAP)
			break;
		ptrace(PTRACE_CONT, s->root, 0, WSTOPSIG(status));
	}
	if (ptrace(PTRACE_SETOPTIONS, s->root, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) ||
	    (sigismember(&o.mask, SIGTRAP) && ptrace(PTRACE_SETSIGMASK_, s->root, 8, &o.mask))) {
		refused(errno, err);
		kill(s->root, SIGKILL);
		wait_for(s->root, &status);
		return PM_ERR;
	}
	if (!exec_stop(s, s->root, why, sizeof why)) {
		kill(s->root, SIGKILL);
		ptrace(PTRACE_DETACH, s->root, 0, 0);
		wait_for(s->root, &status);
		err->file = s->opts->argv[0];
		return pm_fail_file(err, "cannot be traced: %s", why);
	}
	ptrace(PTRACE_DETACH, s->root, 0, 0);
	return PM_OK;
}

bool session_running(const struct session *s)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->pid && !s->proc[i]->gone)
			return true;
	return false;
}

static bool may_answer(const struct session *s, uint32_t i)
{
	const struct proc *p;
	uint32_t busy;

	if (!s->block_proc[i])
		return true;
	p = s->proc[s->block_proc[i] - 1];
	busy = p->mm->user.space->busy;
	return !busy || busy == i || busy == p->forker;
}

static bool serve(struct session *s)
{
	bool any = false;

	for (uint32_t i = 1; i < s->block_high; i++) {
		struct rt_block *b = session_block(s, i);

		if (s->block_used[i] == 2 &&
		    __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == BLK_DEAD)
			s->block_used[i] = 0;
		if (s->block_used[i] &&
		    __atomic_load_n(&b->mail.state, __ATOMIC_ACQUIRE) == MAIL_REQUEST &&
		    may_answer(s, i)) {
			answer(s, i);
			any = true;
		}
	}
	return any;
}

#define GRACE 1.0	/* seconds that children may outlive the program before they are let go */

static void loop(struct session *s)
{
	uint32_t eager = s->spin, busy_rounds = 0;
	double end = 0;

	for (;;) {
		uint32_t seen = __atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST);
		struct timespec wait = { 0, 100000000 };
		bool busy;

		s->head->beat++;
		if (s->spaces.ni386 && !s->tracer && session_now() > s->sampled + GATHER_EVERY)
			gather_sample(s);
		busy = serve(s);
		if (s->spaces.released) {
			s->spaces.released = false;
			continue;
		}
		if (busy) {
			/* as long as it has paid lately */
			for (uint32_t i = 0; i < eager; i++) {
				if (__atomic_load_n(&s->head->doorbell, __ATOMIC_RELAXED) != seen)
					break;
				__builtin_ia32_pause();
			}
			if (__atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST) != seen) {
				eager = eager * 2 < s->spin ? eager * 2 : s->spin;
				if (++busy_rounds %
				    64) /* who asks for ever does not keep us from the rest */
					continue;
			}
			eager = eager / 2 > s->spin / 32 ? eager / 2 : s->spin / 32;
		}
		reap(s);
		check_watched(s);
		if (s->spaces.released)
			continue;
		if (interrupted) {
			kill(s->root, (int)interrupted);
			interrupted = 0;
		}
		if (s->root_done) {
			if (!session_running(s))
				return;
			if (!end)
				end = session_now() + GRACE;
			else if (session_now() > end)
				return;
		}
		__atomic_store_n(&s->head->asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST) == seen)
			syscall(SYS_futex, &s->head->doorbell, FUTEX_WAIT, seen, &wait);
		__atomic_store_n(&s->head->asleep, 0, __ATOMIC_SEQ_CST);
	}
}

static double tv(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void not_begun(struct session *s)
{
	session_close(s);
	pm_keep(s->out);			/* what the error says may lie there */
}

enum pm_status pm_run(const struct pm_run_opts *o, struct pm_counts **out, struct pm_err *err)
{
	struct session s = {
		.opts = o,
		.data_fd = -1,
		.rt_fd = { -1, -1 },
		.spaces = { .hooks = &hooks,
			    .code_fd = -1,
			    .kind = o->kind,
			    .records = o->kind != XL_PROFILE,
			    .strict_flags = o->strict_flags },
	};
	const struct cache_opts cache = { .dir = o->cache_dir,
					  .limit = o->cache_limit,
					  .aslr = o->aslr };
	struct sigaction act = { .sa_handler = on_signal },
			 key = { .sa_sigaction = on_key, .sa_flags = SA_SIGINFO };
	struct sigaction old_chld, old_term, old_hup, old_int, old_quit;
	sigset_t passed_on;
	struct rusage self, kids;
	enum pm_status trace_status;
	double start;

	*out = NULL;
	s.out = pm_alloc(sizeof *s.out);
	if (session_open(&s, err) != PM_OK ||
	    (!o->no_cache && cache_open(&s.spaces, &cache, err) != PM_OK) ||
	    open_trace(&s, err) != PM_OK) {
		not_begun(&s);
		return PM_ERR;
	}
	/* What comes while the program is launched waits: it is the program's. That has the
	 * dispositions that were here before, so no handler of ours is set yet. */
	sigemptyset(&passed_on);
	sigaddset(&passed_on, SIGINT);
	sigaddset(&passed_on, SIGQUIT);
	sigaddset(&passed_on, SIGTERM);
	sigaddset(&passed_on, SIGHUP);
	sigprocmask(SIG_BLOCK, &passed_on, &s.mask);
	sigaction(SIGCHLD, &act, &old_chld);
	start = session_now();
	if (launch(&s, err) != PM_OK) {
		sigaction(SIGCHLD, &old_chld, NULL);
		not_begun(&s);
		sigprocmask(SIG_SETMASK, &s.mask, NULL);
		return PM_ERR;
	}
	sigaction(SIGINT, &key, &old_int);
	sigaction(SIGQUIT, &key, &old_quit);
	sigaction(SIGTERM, &act, &old_term);
	sigaction(SIGHUP, &act, &old_hup);
	sigprocmask(SIG_SETMASK, &s.mask, NULL);
	program_over = 0;
	loop(&s);
	program_over = 1;
	__atomic_store_n(&s.head->closed, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < s.nproc; i++)
		if (s.proc[i]->pid)
			proc_over(&s, s.proc[i]);
	trace_status = trace_close(s.tracer, &s.out->trace_bytes, &s.out->trace_insns, err);
	*out = gather_counts(&s);
	(*out)->wall_s = session_now() - start;
	cache_close(&s.spaces);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &kids);
	(*out)->user_s = tv(kids.ru_utime);
	(*out)->sys_s = tv(kids.ru_stime);
	(*out)->own_s = tv(self.ru_utime) + tv(self.ru_stime);
	(*out)->status = WIFEXITED(s.root_status) ? WEXITSTATUS(s.root_status) : -1;
	(*out)->signal = WIFSIGNALED(s.root_status) ? WTERMSIG(s.root_status) : -1;
	if (getenv("PUGMARK_STATS")) {
		static const char *const names[] = { "none",	 "hello",   "lookup",	"resolve",
						     "signal",	 "cut",	    "step",	"checkfail",
						     "map",	 "unmap",   "make way", "open",
						     "block",	 "unblock", "forked",	"exec",
						     "execfail", "exit",    "mapped",	"counting",
						     "begin" };

		for (size_t i = 0; i < NR(names); i++)
			if (s.requests[i])
				fprintf(stderr, "requests %s: %llu\n", names[i],
					(unsigned long long)s.requests[i]);
		fprintf(stderr, "thawed: %u\n", s.spaces.nthawed);
	}
	sigaction(SIGCHLD, &old_chld, NULL);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	sigaction(SIGHUP, &old_hup, NULL);
	session_close(&s);
	return trace_status;
}
