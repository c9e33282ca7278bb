/* SPDX-License-Identifier: MIT */
/* detach.c - traced processes go on untraced, as if they had never been traced
 *
 * All threads of a process are held. One is *ready* where the program's state is known: between two
 * instructions, or in a system call of the program's. Those that are not go on, and are answered,
 * for a moment. When all are ready the process makes the calls that undo what the runtime has done
 * - handlers, signal stacks, protections, mappings - and each thread gets the program's registers,
 * at the original instruction. A call that waits goes on waiting. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/consume/trace.h"
#include "collect/control/remote.h"
#include "collect/control/requests.h"
#include "collect/control/session.h"

#define READY_MAX 2.0			/* seconds for all threads to be ready */
#define MOST_STEPS 64			/* machine instructions of one translated instruction */
#define SYNC_MASK 0x4d8ull		/* SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV, never blocked */
#define SCRATCH 0x10000u		/* in a thread block: the far end of the runtime's stack */

enum stands {
	NOT_READY,
	LEAVING,			/* the runtime: its state is in ctx */
	BEFORE_CALL,			/* likewise, in front of a system call of the program's */
	IN_CALL,			/* ... behind it, or it waits there */
	IN_CODE,			/* translated code, between two instructions */
	IN_ORIGINAL,			/* an original address, which is not executable */
};

struct leaving {			/* a thread */
	pid_t tid;
	uint32_t block;			/* 0: not known yet */
	enum stands place;
	uint64_t mask;
	struct user_regs_struct regs;
};

struct departure {			/* of a process */
	struct session *s;
	struct proc *p;
	struct held held;
	struct leaving *thread;		/* of held.n, in that order */
	size_t cap;
	struct rt_places at;
};

/* ---- one thread ------------------------------------------------------------------------------ */
static unsigned long long *gpr_of(struct user_regs_struct *r, unsigned i)
{
	unsigned long long *const v[16] = { &r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
					    &r->rsi, &r->rdi, &r->r8,  &r->r9,	&r->r10, &r->r11,
					    &r->r12, &r->r13, &r->r14, &r->r15 };

	return v[i & 15];
}

static void from_ctx(const struct rt_block *b, struct user_regs_struct *r)
{
	for (unsigned i = 0; i < 16; i++)
		*gpr_of(r, i) = b->ctx.gpr[i];
	r->rip = b->ctx.pc;
	r->eflags = b->ctx.flags & ~0x100ull;
	r->orig_rax = ~0ull;
}

/* The register that a trace keeps for itself is the program's again (abi.h (7)). */
static void restore_r11(struct rt_block *b, struct user_regs_struct *r, unsigned tmp)
{
	uint64_t *const to = b->r11_use == RT_R11_BUDGET ? &b->budget : &b->cursor;

	if (b->r11_use != RT_R11_CURSOR && b->r11_use != RT_R11_BUDGET)
		return;
	if (tmp & XL_RESTORED) {
		*to = *gpr_of(r, tmp);
	} else {
		*to = r->r11;
		r->r11 = b->s_r11;
	}
}

/* In translated code, at @map: what is elsewhere comes back to its registers. */
static void undo_slots(struct rt_block *b, struct user_regs_struct *r, const struct xl_map *map)
{
	restore_r11(b, r, map->tmp);
	if (map->flags & XL_RCX_SAVED)
		r->rcx = b->s_rcx;
	if (map->flags & XL_RDX_SAVED)
		r->rdx = b->s_rdx;
	if (map->flags & XL_TMP_SAVED)
		*gpr_of(r, map->tmp) = b->s_tmp;
	if (XL_BORROWED(map->tmp))
		*gpr_of(r, XL_BORROWED(map->tmp)) = b->s_tmp2;
	if (map->flags & XL_CALLED)
		r->rsp += 8;
}

static void note_unmade_call(struct departure *d, const struct leaving *l)
{
	const uint64_t restarted = (uint64_t)-512;

	if (d->s->tracer)
		trace_note(d->s->tracer, l->block, RT_N_SYSRET, &restarted, 1, NULL);
}

/* In the runtime: where is the program's state whole? */
static enum stands place_in_runtime(const struct departure *d, const struct user_regs_struct *r)
{
	if (r->rip >= d->at.leave && r->rip < d->at.window_end)
		return LEAVING;
	if (r->rip >= d->at.pass && r->rip <= d->at.pass_insn)
		return BEFORE_CALL;
	/* EFAULT may be our doing: the runtime finds out */
	return r->rip == d->at.pass_done && (long)r->rax != -EFAULT ? IN_CALL : NOT_READY;
}

/* A machine instruction further; false: something comes between, perhaps signal *@sig. */
static bool step(const struct leaving *l, struct user_regs_struct *r, int *sig)
{
	int status;

	*sig = 0;
	if (ptrace(PTRACE_SINGLESTEP, l->tid, 0, 0) || wait_for(l->tid, &status) != l->tid ||
	    !WIFSTOPPED(status))
		return false;
	if (status >> 16 != PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
		*sig = WSTOPSIG(status);
	return !*sig && !ptrace(PTRACE_GETREGS, l->tid, 0, r);
}

static bool in_image(uint64_t pc)
{
	return pc >= RT_IMAGE && pc < RT_IMAGE + RT_IMAGE_SIZE;
}

/* Elsewhere: in translated code, after some steps to where an instruction of the program begins; or
 * at an original address, where an indirect branch that finds no translation leads. @sig: see
 * step(). */
static enum stands place_in_code(const struct departure *d, const struct leaving *l,
				struct user_regs_struct *r, int *sig)
{
	const struct space *sp = d->p->mm->user.space;
	const struct xl_map *map = NULL;
	uint32_t block = 0;

	for (unsigned i = 0; space_state(sp, r->rip, &block, &map); i++, map = NULL) {
		if (map->flags & XL_AT_START)
			return IN_CODE;
		if (i == MOST_STEPS || !step(l, r, sig))
			return NOT_READY;
	}
	return !in_image(r->rip) && space_range(sp, r->rip) ? IN_ORIGINAL : NOT_READY;
}

/* Of a held thread. @sig: what it has to get when it goes on. */
static enum stands find_place(const struct departure *d, struct leaving *l, int *sig)
{
	const uint64_t quiet = ~SYNC_MASK;
	const struct rt_block *b = session_block(d->s, l->block);
	enum stands place;

	*sig = 0;
	if (!l->block || b->state != BLK_LIVE || b->stepping != RT_STEP_NONE || b->leaving ||
	    ptrace(PTRACE_GETREGS, l->tid, 0, &l->regs) ||
	    ptrace(PTRACE_GETSIGMASK_, l->tid, 8, &l->mask))
		return NOT_READY;
	if (in_image(l->regs.rip))
		return place_in_runtime(d, &l->regs);
	ptrace(PTRACE_SETSIGMASK_, l->tid, 8, &quiet);
	place = place_in_code(d, l, &l->regs, sig);
	ptrace(PTRACE_SETSIGMASK_, l->tid, 8, &l->mask);
	return place;
}

static void leave_call(struct departure *d, const struct leaving *l, struct user_regs_struct *r)
{
	const struct user_regs_struct was = *r;

	from_ctx(session_block(d->s, l->block), r);
	r->rax = was.rax;
	if (remote_interrupted(l->tid, &was) == NOT_INTERRUPTED)
		return;
	r->orig_rax = was.orig_rax;	/* the kernel does the rest, as after any other stop */
	note_unmade_call(d, l);
}

static void leave_code(struct departure *d, const struct leaving *l, struct user_regs_struct *r)
{
	const struct space *sp = d->p->mm->user.space;
	struct rt_block *b = session_block(d->s, l->block);
	const struct xl_map *map = NULL;
	const uint64_t code = r->rip;
	uint32_t block = 0;

	space_state(sp, code, &block, &map);
	for (unsigned i = 0; i < 16; i++)
		b->ctx.gpr[i] = *gpr_of(r, i);	/* one of them is the cursor */
	undo_slots(b, r, map);
	request_leave(d->s, d->p, l->block, code, r->rsi, r->rdi);
	r->rip = code_original(sp, block, map->insn);
}

/* The program's registers, of a thread that is ready. */
static void leave(struct departure *d, struct leaving *l)
{
	struct rt_block *b = session_block(d->s, l->block);
	struct user_regs_struct *r = &l->regs;
	bool restarts;

	switch (l->place) {
	case LEAVING:
		from_ctx(b, r);
		break;
	case BEFORE_CALL:
		restarts = r->rax == SYS_restart_syscall;	/* the kernel has put it there */
		from_ctx(b, r);
		r->rip -= 2;
		r->rax = restarts ? SYS_restart_syscall : b->syscall;
		note_unmade_call(d, l);
		break;
	case IN_CALL:
		leave_call(d, l, r);
		break;
	case IN_CODE:
		leave_code(d, l, r);
		r->orig_rax = ~0ull;
		break;
	case IN_ORIGINAL:
		restore_r11(b, r, 0);
		r->rcx = b->s_rcx;
		r->orig_rax = ~0ull;
		break;
	case NOT_READY:
		break;
	}
	r->gs_base = b->app_gs;
}

/* ---- all threads ----------------------------------------------------------------------------- */
static uint32_t block_of(const struct proc *p, pid_t tid)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].live && (pid_t)p->thread[i].tid == tid)
			return p->thread[i].block;
	return 0;
}

static void remove_thread(struct departure *d, size_t i)
{
	d->held.n--;
	d->held.tid[i] = d->held.tid[d->held.n];
	d->thread[i] = d->thread[d->held.n];
}

static void add_new_threads(struct departure *d, size_t from)
{
	for (size_t i = from; i < d->held.n; i++) {
		while (i >= d->cap) {
			d->cap = d->cap ? 2 * d->cap : 16;
			d->thread = pm_realloc(d->thread, d->cap * sizeof *d->thread);
		}
		d->thread[i] = (struct leaving){ .tid = d->held.tid[i] };
	}
}

/* One look at each that is not ready; those that still are not go on. How many. */
static size_t look_once(struct departure *d)
{
	size_t left = 0;

	for (size_t i = 0; i < d->held.n; i++) {
		struct leaving *l = &d->thread[i];
		int sig;

		if (l->place)
			continue;
		if (!l->block)
			l->block = block_of(d->p, l->tid);
		l->place = find_place(d, l, &sig);
		if (l->place)
			continue;
		left++;
		if (l->block)
			session_block(d->s, l->block)->stay = 1;
		ptrace(PTRACE_CONT, l->tid, 0, sig);
	}
	return left;
}

/* Those that go on are held again. */
static enum hold_result hold_unready(struct departure *d)
{
	for (size_t i = 0; i < d->held.n; i++) {
		enum hold_result r;

		if (d->thread[i].place)
			continue;
		r = hold_again(d->thread[i].tid);
		if (r == HOLD_GONE && d->thread[i].tid != d->held.pid)
			remove_thread(d, i--);
		else if (r != HELD)
			return r;
	}
	return HELD;
}

static bool all_ready(struct departure *d)
{
	const double end = pm_now() + READY_MAX;

	add_new_threads(d, 0);
	for (;;) {
		const size_t n = d->held.n, left = look_once(d);
		const double until = pm_now() + 0.001;

		if (left) {
			do
				requests_answer(d->s);
			while (pm_now() < until);
			if (hold_unready(d) != HELD)
				return false;
		}
		if (hold_rest(&d->held) != HELD)
			return false;
		add_new_threads(d, n < d->held.n ? n : d->held.n);
		if (!left && d->held.n == n)
			return true;
		if (pm_now() > end)
			return false;
	}
}

/* ---- the process ----------------------------------------------------------------------------- */
static uint64_t in_process(uint32_t block, const struct session *s, const void *p)
{
	return RT_DATA_VAULT + block * RT_BLOCK_SIZE +
	       (uint64_t)((const uint8_t *)p - (s->data + block * RT_BLOCK_SIZE));
}

/* A call by the runtime's own instruction, while that is there. */
static long call(struct departure *d, const struct leaving *l, uint32_t nr, uint64_t a, uint64_t b,
		 uint64_t c, uint64_t e)
{
	long ret = -ENOSYS;

	remote_call(l->tid, d->at.pass_insn, nr, (const uint64_t[6]){ a, b, c, e }, &ret);
	return ret;
}

/* Its signal stack, and the signals that waited for it. */
static void restore_thread(struct departure *d, const struct leaving *l)
{
	struct rt_block *b = session_block(d->s, l->block);
	struct { uint64_t sp; uint32_t flags; uint64_t size; } *stack;

	stack = (void *)(d->s->data + l->block * RT_BLOCK_SIZE + SCRATCH);
	stack->sp = b->app_alt_sp;
	stack->flags = b->app_alt_flags;
	stack->size = b->app_alt_size;
	call(d, l, SYS_sigaltstack, in_process(l->block, d->s, stack), 0, 0, 0);
	for (uint32_t i = 0; i < b->nwaiting && i < RT_MAX_WAITING; i++)
		call(d, l, SYS_rt_tgsigqueueinfo, b->pid, b->tid, b->waiting[i].sig,
		     in_process(l->block, d->s, b->waiting[i].info));
	b->nwaiting = 0;
	if (b->dispatch) {		/* PR_SET_SYSCALL_USER_DISPATCH */
		long ret;

		remote_call(l->tid, d->at.pass_insn, SYS_prctl,
			    (const uint64_t[6]){ 59, 1, b->dispatch_from, b->dispatch_length,
						 b->dispatch_selector },
			    &ret);
	}
}

static void restore_handlers(struct departure *d, const struct leaving *l)
{
	const uint64_t hand = session_block(d->s, l->block)->sighand;
	uint64_t ours = 0;

	if (!peek_read(l->tid, &ours, hand + RT_SIGHAND_OURS, 8))
		return;
	for (unsigned sig = 1; sig < 65; sig++)
		if (ours >> (sig - 1) & 1)
			call(d, l, SYS_rt_sigaction, sig, hand + sig * RT_SIGHAND_ACT, 0, 8);
}

static bool is_ours(const struct mapping *m)
{
	return !strncmp(m->path, "/memfd:pugmark-", 15) || strstr(m->path, "/pugmark-code-") ||
	       (m->lo >= RT_SHADOW && m->hi <= RT_SHADOW + RT_SHADOW_SIZE) ||
	       (m->lo >= RT_IMAGE && m->hi <= RT_IMAGE + RT_IMAGE_SIZE) ||
	       (m->lo >= RT_CODE_VAULT && m->hi <= RT_DATA_VAULT + RT_DATA_SIZE);
}

/* Everything but the runtime's image. */
static void unmap_ours(struct departure *d, const struct leaving *l)
{
	struct maps all = { 0 };

	if (maps_read(d->held.pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++)
			if (is_ours(m) && !in_image(m->lo))
				call(d, l, SYS_munmap, m->lo, m->hi - m->lo, 0, 0);
	maps_release(&all);
}

/* The image, by an instruction that is written over the program's text for a moment. */
static void unmap_image(const struct departure *d, const struct leaving *l)
{
	const struct space *sp = d->p->mm->user.space;
	long word, ret;
	uint64_t at = 0;

	for (size_t i = 0; i < sp->nrange && !at; i++)
		if (!sp->range[i].shared)
			at = sp->range[i].lo;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, l->tid, (void *)at, 0);
	if (!at || errno ||
	    ptrace(PTRACE_POKETEXT, l->tid, (void *)at, (void *)((word & ~0xffffl) | 0x050f)))
		return;
	remote_call(l->tid, at, SYS_munmap, (const uint64_t[6]){ RT_IMAGE, RT_IMAGE_SIZE }, &ret);
	ptrace(PTRACE_POKETEXT, l->tid, (void *)at, (void *)word);
}

static void restore_process(struct departure *d)
{
	const struct space *sp = d->p->mm->user.space;
	const struct leaving *first = &d->thread[0];
	const uint64_t all = ~0ull;

	for (size_t i = 0; i < d->held.n; i++) {
		leave(d, &d->thread[i]);
		ptrace(PTRACE_SETSIGMASK_, d->thread[i].tid, 8, &all);
	}
	for (size_t i = 0; i < d->held.n; i++)
		restore_thread(d, &d->thread[i]);
	restore_handlers(d, first);
	for (size_t i = 0; i < sp->nrange; i++)
		call(d, first, SYS_mprotect, sp->range[i].lo, sp->range[i].hi - sp->range[i].lo,
		     sp->range[i].prot, 0);
	for (size_t i = 0; i < d->held.n; i++)
		d->thread[i].mask = session_block(d->s, d->thread[i].block)->app_mask;
	unmap_ours(d, first);
	unmap_image(d, first);
	for (size_t i = 0; i < d->held.n; i++) {
		ptrace(PTRACE_SETREGS, d->thread[i].tid, 0, &d->thread[i].regs);
		ptrace(PTRACE_SETSIGMASK_, d->thread[i].tid, 8, &d->thread[i].mask);
	}
}

static bool read_places(struct departure *d)
{
	return peek_read(d->held.pid, &d->at, RT_PLACES, sizeof d->at);
}

/* Somebody borrows its memory, until it executes a program. */
static bool has_guests(const struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i] != p && !s->proc[i]->gone && s->proc[i]->mm == p)
			return true;
	return false;
}

/* A thread that was attached to, and has not come to its place yet, may have a call to go on with
 * that the kernel forgets if the thread is stopped when it asks something. */
static bool has_begun(struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < p->nthread; i++) {
		const struct thread *t = &p->thread[i];

		if (t->live && session_block(s, t->block)->origin == BLK_ATTACHED)
			return false;
	}
	return true;
}

static bool detach_process(struct session *s, struct proc *p)
{
	struct departure d = { .s = s, .p = p };
	bool ok;

	if (p->exec_attached || p->mm != p || has_guests(s, p) || !has_begun(s, p) ||
	    hold_process(&d.held, (pid_t)p->pid) != HELD)
		return false;
	ok = read_places(&d) && all_ready(&d);
	if (ok)
		restore_process(&d);
	for (size_t i = 0; i < p->nthread; i++)
		session_block(s, p->thread[i].block)->stay = 0;
	hold_release(&d.held);
	free(d.thread);
	if (ok) {
		p->clean_exit = true;		/* its counts are whole */
		proc_finish(s, p);
	}
	return ok;
}

bool detach(struct session *s)
{
	bool all = exec_unwatch(s);

	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (p->gone || !p->pid || p->pid >= PID_UNKNOWN)
			continue;
		if (p->mm->user.space && p->mm->user.space->i386) {
			if (!s->said_no_detach)
				pm_warn(&s->spaces.warn,
					"process %u is a 32-bit program: it is traced to its end",
					p->pid);
			s->said_no_detach = true;
			continue;
		}
		all &= detach_process(s, p);
	}
	return all;
}
