/* SPDX-License-Identifier: MIT */
/* stop_at.c - threads of a replay stand where they are to stop
 *
 * A thread that stops waits for an answer (RQ_STOP), and its program's state is in its thread
 * block. It is held by ptrace() while somebody looks at it: then its vector registers and the base
 * of fs are the program's. To execute an instruction it gets the program's other registers, too,
 * and the range in which that lies is executable meanwhile (abi.h (1), (2)): nobody else of the
 * process runs. For what the runtime has to do it goes on, to the next place where it leaves. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "collect/consume/trace.h"
#include "collect/control/checkpoint.h"
#include "collect/control/recorder.h"
#include "collect/control/remote.h"
#include "collect/control/stop_work.h"
#include "collect/record/nr_i386.h"
#include "isa/x86/decode.h"

#define SYNC_MASK 0x4d8ull		/* SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV */
#define TRAP_FLAG 0x100ull
#define DIRECTION_FLAG 0x400ull

struct standing {
	struct session *s;
	struct proc *p;
	struct thread *t;
	struct walker *w;
	uint32_t block;
	struct user_regs_struct own, regs;	/* the runtime's, the program's */
	uint64_t mask;			/* the runtime's */
	uint64_t pass;			/* where the runtime has a syscall instruction */
	struct { uint64_t lo, hi; uint32_t prot; } open[32];	/* ranges that are executable */
	unsigned nopen;
	bool held, in_program;		/* in_program: it has the program's registers */
	struct { cpu_set_t ours, its; } cpus;	/* where both may run, */
	bool together;			/* ... but for now on one processor */
};

static void fail(struct session *s, const char *what)
{
	struct stopper *k = s->stops;

	if (!*k->error)
		snprintf(k->error, sizeof k->error, "%s", what);
	k->over = true;
}

static bool is_narrow(const struct standing *st)
{
	return st->p->mm->user.space->i386;
}

/* ---- held ------------------------------------------------------------------------------------ */
/* The program's registers, as the block of its thread has them; segments are those of @like. */
static void regs_of(const struct rt_block *b, const struct user_regs_struct *like,
		    struct user_regs_struct *r)
{
	const uint64_t *g = b->ctx.gpr;

	*r = *like;
	r->rax = g[0], r->rcx = g[1], r->rdx = g[2], r->rbx = g[3];
	r->rsp = g[4], r->rbp = g[5], r->rsi = g[6], r->rdi = g[7];
	r->r8 = g[8], r->r9 = g[9], r->r10 = g[10], r->r11 = g[11];
	r->r12 = g[12], r->r13 = g[13], r->r14 = g[14], r->r15 = g[15];
	r->rip = b->ctx.pc;
	r->eflags = (b->ctx.flags & ~TRAP_FLAG) | 0x202;
	r->orig_rax = ~0ull;
	if (like->cs == CS_I386) {		/* where fs is the runtime's, and a selector */
		r->fs = b->app_gs;
		r->fs_base = 0;
	} else {
		r->gs_base = b->app_gs;
	}
}

static void to_ctx(struct standing *st)
{
	struct rt_block *b = session_block(st->s, st->block);
	const struct user_regs_struct *r = &st->regs;
	const uint64_t g[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
				 r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	memcpy(b->ctx.gpr, g, sizeof g);
	b->ctx.pc = r->rip;
	b->ctx.flags = r->eflags & ~TRAP_FLAG;
	b->app_gs = is_narrow(st) ? r->fs : r->gs_base;
}

static pid_t tid_of(const struct standing *st)
{
	return (pid_t)st->t->tid;
}

/* The thread waits in the runtime for its answer. */
static bool hold_standing(struct standing *st)
{
	const uint64_t quiet = ~SYNC_MASK;
	struct rt_places places;
	const enum hold_result r = hold_thread(tid_of(st));

	if (r != HELD) {
		fail(st->s, r == HOLD_REFUSED ? "ptrace() is refused here: a replay cannot stop" :
		     "a thread of the replay does not stop");
		return false;
	}
	if (ptrace(PTRACE_GETREGS, tid_of(st), 0, &st->own) ||
	    ptrace(PTRACE_GETSIGMASK_, tid_of(st), 8, &st->mask) ||
	    ptrace(PTRACE_SETSIGMASK_, tid_of(st), 8, &quiet) ||
	    !peek_read(tid_of(st), &places, is_narrow(st) ? RT32_PLACES : RT_PLACES,
		       sizeof places)) {
		fail(st->s, "a thread of the replay cannot be looked at");
		return false;
	}
	st->pass = places.pass_insn;
	st->held = true;
	regs_of(session_block(st->s, st->block), &st->own, &st->regs);
	return true;
}

static bool protect(const struct standing *st, uint64_t lo, uint64_t hi, uint32_t prot)
{
	long r = -1;

	return remote_call(tid_of(st), st->pass, is_narrow(st) ? NR32_mprotect : SYS_mprotect,
			   (const uint64_t[6]){ lo, hi - lo, prot }, &r) && !r;
}

static void answer(struct session *s, uint32_t block, enum rt_stop_then then)
{
	struct rt_block *b = session_block(s, block);
	const struct rt_mail m = { .r = { then } };

	mail_put(b, &m, 0);
	mail_reply(b);
}

/* We wait for each step of it. To wake somebody on another processor takes longer than the step. */
static void share_processor(struct standing *st)
{
	const int here = sched_getcpu();
	cpu_set_t one;

	if (here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof st->cpus.ours, &st->cpus.ours) ||
	    sched_getaffinity(tid_of(st), sizeof st->cpus.its, &st->cpus.its))
		return;
	CPU_ZERO(&one);
	CPU_SET(here, &one);
	st->together = !sched_setaffinity(tid_of(st), sizeof one, &one);
	if (st->together)
		sched_setaffinity(0, sizeof one, &one);
}

static void part_processors(struct standing *st)
{
	if (!st->together)
		return;
	sched_setaffinity(tid_of(st), sizeof st->cpus.its, &st->cpus.its);
	sched_setaffinity(0, sizeof st->cpus.ours, &st->cpus.ours);
	st->together = false;
}

/* It goes on in the runtime, with what the program's instructions have done, as @then says. */
static void release(struct standing *st, enum rt_stop_then then)
{
	struct user_regs_struct r = st->own;
	bool ok = true, written = false;

	to_ctx(st);
	for (unsigned i = 0; i < st->nopen; i++) {
		ok &= protect(st, st->open[i].lo, st->open[i].hi,
			      (st->open[i].prot & ~(uint32_t)PROT_EXEC) | PROT_READ);
		written |= st->open[i].prot & PROT_WRITE;
	}
	part_processors(st);
	remote_begin_again(tid_of(st), &r);
	if (is_narrow(st)) {
		r.gs = st->regs.gs;
		r.gs_base = st->regs.gs_base;
	} else {
		r.fs_base = st->regs.fs_base;
	}
	ok &= !ptrace(PTRACE_SETREGS, tid_of(st), 0, &r) &&
	      !ptrace(PTRACE_SETSIGMASK_, tid_of(st), 8, &st->mask);
	ok &= !ptrace(PTRACE_DETACH, tid_of(st), 0, 0);
	if (!ok)
		fail(st->s, "a thread of the replay cannot go on");
	st->w->opening = written;
	st->w->then = then;
	answer(st->s, st->block, written ? RT_STOP_OPEN : then);
	st->held = false;
}

/* ... and stops again as soon as that has been done. */
static void let_runtime(struct standing *st, enum by by, enum rt_stop_then then)
{
	struct rt_block *b = session_block(st->s, st->block);

	st->w->by = by;
	st->w->pc = st->regs.rip;
	b->stop_at = 0;
	b->stop_next = 1;
	release(st, then);
}

/* ---- one instruction ------------------------------------------------------------------------- */
enum did { DID_STEP, DID_FAULT, DID_FETCH, DID_END };

/* A machine step, or on to where it traps. */
static enum did machine_go(struct standing *st, enum __ptrace_request how)
{
	const pid_t tid = tid_of(st);
	siginfo_t info;
	int status;

	for (;;) {
		if (ptrace(how, tid, 0, 0) || wait_for(tid, &status) != tid ||
		    !WIFSTOPPED(status))
			return DID_END;
		if (status >> 16 == PTRACE_EVENT_STOP)
			continue;
		if (ptrace(PTRACE_GETREGS, tid, 0, &st->regs) ||
		    (WSTOPSIG(status) != SIGTRAP && ptrace(PTRACE_GETSIGINFO, tid, 0, &info)))
			return DID_END;
		switch (WSTOPSIG(status)) {
		case SIGTRAP:
			return DID_STEP;
		case SIGSEGV:
		case SIGBUS:
		case SIGILL:
		case SIGFPE:
			if (info.si_code <= 0)
				continue;
			return info.si_signo == SIGSEGV &&
				(uint64_t)(uintptr_t)info.si_addr - st->regs.rip < X86_MAX_LEN ?
				DID_FETCH : DID_FAULT;
		}
		/* somebody else's signal: no replay gets it */
	}
}

/* The byte at @at becomes @to. *@was: what it was. False: nobody can write there. */
static bool poke_byte(const struct standing *st, uint64_t at, uint8_t to, uint8_t *was)
{
	const unsigned shift = 8 * (at & 7);
	unsigned long word;

	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKTEXT, tid_of(st), (void *)(at & ~7ull), 0);
	if (errno)
		return false;
	*was = (uint8_t)(word >> shift);
	word = (word & ~(0xfful << shift)) | (unsigned long)to << shift;
	return !ptrace(PTRACE_POKETEXT, tid_of(st), (void *)(at & ~7ull), (void *)word);
}

/* How many bytes an iteration of string instruction @x takes. */
static uint64_t element_of(const struct x86_insn *x, const uint8_t *p)
{
	uint64_t n = 4;

	if (!(p[x->op] & 1))
		return 1;
	for (unsigned i = 0; i < x->op; i++)
		n = p[i] == 0x66 && n != 8 ? 2 : (p[i] & 0xf8) == 0x48 ? 8 : n;
	return n;
}

/* Is the byte at @at among those that string instruction @x reads or writes? */
static bool touches(const struct user_regs_struct *r, const struct x86_insn *x, const uint8_t *p,
		    uint64_t at)
{
	const uint8_t op = p[x->op] & 0xfe;
	const uint64_t size = element_of(x, p), n = r->rcx * size;
	const uint64_t back = r->eflags & DIRECTION_FLAG ? n - size : 0;
	/* by one pointer alone: stos, scas, ins; lods, outs */
	const bool by_rdi = op == 0xaa || op == 0xae || op == 0x6c;
	const bool by_rsi = op == 0xac || op == 0x6e;

	return r->rcx >> 40 || (!by_rdi && at - (r->rsi - back) < n) ||
	       (!by_rsi && at - (r->rdi - back) < n);
}

/* A machine step is one iteration of a rep-prefixed instruction, of which there may be millions.
 * Such a one goes on to a breakpoint at the next instruction; not one of the processor's, which
 * some virtual machines accept and never trap at. */
#define FEW_ITERATIONS	16
#define INT3		0xcc

static enum did machine_rep(struct standing *st, const struct x86_insn *x, const uint8_t *p,
			    uint64_t next)
{
	uint8_t was, unused;
	enum did did;

	if (st->regs.rcx <= FEW_ITERATIONS || touches(&st->regs, x, p, next) ||
	    !poke_byte(st, next, INT3, &was))
		return machine_go(st, PTRACE_SINGLESTEP);
	did = machine_go(st, PTRACE_CONT);
	if (did == DID_STEP && st->regs.rip == next + 1) {
		st->regs.rip = next;
		if (ptrace(PTRACE_SETREGS, tid_of(st), 0, &st->regs))
			did = DID_END;
	}
	if (did == DID_END || !poke_byte(st, next, was, &unused))
		return DID_END;
	/* it may be complete, and the next one cannot be fetched */
	return st->regs.rip == next ? DID_STEP : did;
}

/* The range of the instruction can be executed now. False: it could already, or is none. */
static bool open_range(struct standing *st, uint64_t at)
{
	const struct space *sp = st->p->mm->user.space;

	for (unsigned i = 0; i < st->nopen; i++)
		if (st->open[i].lo <= at && at < st->open[i].hi)
			return false;
	for (size_t i = 0; i < sp->nrange; i++) {
		const struct range *r = &sp->range[i];

		if (at < r->lo || at >= r->hi || st->nopen == NR(st->open))
			continue;
		if (!protect(st, r->lo, r->hi, r->prot | PROT_READ | PROT_EXEC))
			return false;
		st->open[st->nopen].lo = r->lo;
		st->open[st->nopen].hi = r->hi;
		st->open[st->nopen++].prot = r->prot;
		return true;
	}
	return false;
}

/* Is it the instruction of opcode @op, of one byte? Others have that byte behind 0f, or behind what
 * begins with c4, c5 or 62. */
static bool has_opcode(const struct x86_insn *x, const uint8_t *p, uint8_t op)
{
	for (unsigned i = 0; i < x->op; i++)
		if ((p[i] & 0xf0) != 0x40 && !x86_is_prefix(p[i]))
			return false;
	return p[x->op] == op;
}

/* pushf has pushed the flag by which it is stepped. */
static void hide_trap_flag(const struct standing *st)
{
	const long v = ptrace(PTRACE_PEEKDATA, tid_of(st), (void *)st->regs.rsp, 0);

	ptrace(PTRACE_POKEDATA, tid_of(st), (void *)st->regs.rsp,
	       (void *)(v & ~(long)TRAP_FLAG));
}

/* The processor executes it. */
static enum did execute(struct standing *st, const struct x86_insn *x, const uint8_t *p)
{
	const uint64_t pc = st->regs.rip;
	enum did did;

	if (!st->in_program && ptrace(PTRACE_SETREGS, tid_of(st), 0, &st->regs))
		return DID_END;
	st->in_program = true;
	do {
		did = x->prop & X86_REP ? machine_rep(st, x, p, pc + x->len) :
					  machine_go(st, PTRACE_SINGLESTEP);
		if (did == DID_FETCH)
			did = open_range(st, pc) || open_range(st, pc + x->len - 1) ? DID_STEP :
				DID_FAULT;
		else if (did == DID_STEP && st->regs.rip == pc && !(x->prop & X86_REP))
			break;			/* a jump to itself */
	} while (did == DID_STEP && st->regs.rip == pc && !wake_interrupted());
	if (did == DID_STEP && has_opcode(x, p, 0x9c))
		hide_trap_flag(st);
	return did;
}

/* SAFEPOINTS in translate/translate.h: has @x, which was at @pc and has led to @to, passed one? */
static bool passed_safepoint(const struct x86_insn *x, const uint8_t *p, uint64_t pc, uint64_t to,
			     bool i386)
{
	const enum x86_passes passes = x86_passes(x, i386);
	uint64_t target;

	if (passes != X86_PASSES_BACK)
		return passes == X86_PASSES_ALWAYS;
	target = x86_target(x, p, pc);
	return to == (i386 ? (uint32_t)target : target) && to <= pc;
}

static bool is_trap(const struct x86_insn *x, const uint8_t *p)
{
	return x->kind == X86_STOP || has_opcode(x, p, 0xcc) || has_opcode(x, p, 0xcd) ||
	       has_opcode(x, p, 0xf1);
}

/* One instruction further; false: the runtime is at it, or it cannot. */
static bool step(struct standing *st)
{
	struct session *s = st->s;
	struct rt_block *b = session_block(s, st->block);
	const uint64_t pc = st->regs.rip;
	uint8_t p[16] = { 0 };
	struct x86_insn x = { .len = 1 };
	bool known, calls, traps;

	if (!b->until) {
		let_runtime(st, BY_LOG, RT_STOP_LOG);
		return false;
	}
	if (!stopped_read(st, p, pc, X86_MAX_LEN))
		stopped_read(st, p, pc, 4096 - (pc & 4095));
	known = x86_decode(s->stops->dec[is_narrow(st)], p, X86_MAX_LEN, &x);
	calls = known && (x.kind == X86_SYSCALL || x.kind == X86_INT80);
	if (known && (calls || x86_is_odd(&x, p) || is_trap(&x, p))) {
		/* int $0x80 is how 32-bit programs call */
		traps = x.kind == X86_STOP || (is_trap(&x, p) && !(is_narrow(st) && calls));
		let_runtime(st, traps ? BY_FAULT : BY_CALL, RT_STOP_GO);
		return false;
	}
	switch (execute(st, &x, p)) {
	case DID_STEP:
		break;
	case DID_END:
		fail(s, "a thread of the replay is gone");
		return false;
	default:
		let_runtime(st, BY_FAULT, RT_STOP_GO);
		return false;
	}
	walker_step(st->w);
	if (known && passed_safepoint(&x, p, pc, st->regs.rip, is_narrow(st))) {
		b->until--;
		walker_safepoint(st->w);
	}
	return true;
}

/* ---- who stands ------------------------------------------------------------------------------ */
const struct pm_position *stopped_position(const struct standing *st)
{
	return &st->w->at;
}

uint32_t stopped_program(const struct standing *st)
{
	return st->p->stream - 1;
}

uint64_t stopped_event(const struct standing *st)
{
	return session_block(st->s, st->p->log.block)->nlogged;
}

bool stopped_is_i386(const struct standing *st)
{
	return is_narrow(st);
}

void stopped_regs(struct standing *st, struct user_regs_struct *to)
{
	*to = st->regs;
}

size_t stopped_vectors(struct standing *st, void *to, size_t n)
{
	struct iovec v = { to, n };

	return ptrace(PTRACE_GETREGSET, tid_of(st), NT_X86_XSTATE, &v) ? 0 : v.iov_len;
}

bool stopped_read(struct standing *st, void *to, uint64_t at, size_t n)
{
	char path[64];
	ssize_t got;
	int fd;

	if (peek_read(tid_of(st), to, at, n))
		return true;
	/* what the program itself cannot read: the memory behind its protection */
	snprintf(path, sizeof path, "/proc/%u/mem", st->t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, to, n, (off_t)at);
	close(fd);
	return got == (ssize_t)n;
}

size_t stopped_threads(const struct standing *st, uint32_t *tid, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < st->p->nthread && k < n; i++)
		if (st->p->thread[i].live && st->p->thread[i].tid)
			tid[k++] = thread_name(st->p, &st->p->thread[i]);
	return k;
}

bool stopped_others_regs(struct standing *st, uint32_t tid, struct user_regs_struct *to)
{
	for (size_t i = 0; i < st->p->nthread; i++) {
		const struct thread *t = &st->p->thread[i];

		if (!t->live || !t->tid || thread_name(st->p, t) != tid)
			continue;
		regs_of(session_block(st->s, t->block), &st->regs, to);
		return true;
	}
	return false;
}

bool stops_takes(struct session *s, uint32_t i)
{
	const struct rt_block *b = session_block(s, i);

	if (__atomic_load_n(&b->mail.op, __ATOMIC_RELAXED) != RQ_STOP || !s->block_proc[i])
		return false;
	if (!s->stops->stands)
		s->stops->stands = i;
	return true;
}

/* What has the runtime done that it was let do? False: something else. */
static bool account(struct standing *st, const struct rt_block *b)
{
	struct walker *w = st->w;
	const enum by by = w->by;

	w->by = BY_NOBODY;
	if (by == BY_NOBODY) {
		w->at.clock = walker_clock(st->s, w, st->block);
		w->at.insns = 0;
		return true;
	}
	if (by == BY_FAULT && !b->stop_signal)
		return false;
	if (by == BY_LOG || (b->stop_signal && b->stop_from == w->pc))
		return true;			/* the instruction has not been completed */
	walker_step(w);
	return true;
}

/* There is no such position. */
static void tell_missed(struct standing *st)
{
	struct stopper *k = st->s->stops;
	const struct walker *w = st->w;
	const struct pm_position to = { w->at.tid, w->clock, w->wanted };
	char text[PM_POSITION_TEXT], what[160];

	k->over = true;
	if (k->want->missed) {
		k->want->missed(k->want->self, &to, w->stretch);
		return;
	}
	snprintf(what, sizeof what, "there is no position %s: only %llu instructions are behind "
		 "that safepoint", pm_position_text(&to, text), (unsigned long long)w->stretch);
	fail(st->s, what);
}

/* From position to position, until the runtime has to do something, or we are to end. */
static void walk(struct standing *st)
{
	struct session *s = st->s;
	struct stopper *k = s->stops;

	while (!k->over && !wake_interrupted()) {
		const bool comes = st->w->at.clock < st->w->clock;

		if (walker_missed(st->w)) {
			tell_missed(st);
			break;
		}
		if (comes && !st->w->near--) {
			walker_run(s, st->w, st->block);
			break;
		}
		if (comes || st->w->left) {
			if (!step(st))
				return;
			continue;
		}
		if (!k->want->stopped(k->want->self, st))
			k->over = true;
		else if (!walker_aim(s, st->w, st->block, false))
			break;
	}
}

/* It stands at a safepoint, perhaps only for that. */
static void pass_checkpoint(const struct standing *st)
{
	const struct walker *w = st->w;
	const struct freeze f = { .p = st->p, .block = st->block, .tid = tid_of(st),
				  .regs = st->own, .mask = st->mask, .pass = st->pass };

	checkpoints_pass(st->s, &f, w->clock - w->at.clock <= IN_FRONT);
}

/* ---- seams ----------------------------------------------------------------------------------- */
struct at_seam {
	const struct pm_seams *seams;
	struct pm_seam_thread *t;
	size_t n, cap;
};

static bool call_seam(void *self)
{
	const struct at_seam *a = self;

	return a->seams->seam(a->seams->self, a->t, a->n);
}

static struct pm_seam_thread *add_thread(struct at_seam *a, const struct walker *w)
{
	pm_grow(a->t, a->n, a->cap);
	a->t[a->n] = (struct pm_seam_thread){ .is = { .at = { .tid = w->at.tid,
							      .clock = w->at.clock } } };
	return &a->t[a->n++];
}

/* Those that have ended, with the clock that they had, and those that live. */
static void note_threads(struct session *s, struct at_seam *a, uint32_t stands)
{
	for (size_t i = 0; i < s->stops->n; i++) {
		struct pm_position *at = &add_thread(a, &s->stops->v[i])->is.at;

		at->clock -= at->clock > 0;
	}
	for (size_t i = 0; i < s->nproc; i++)
		for (size_t k = 0; k < s->proc[i]->nthread; k++) {
			const struct thread *t = &s->proc[i]->thread[k];
			const struct walker *w;
			struct pm_seam_thread *to;

			if (!t->live || !t->tid)
				continue;
			w = walker_of(s->stops, thread_name(s->proc[i], t));
			to = (size_t)(w - s->stops->v) < a->n ? &a->t[w - s->stops->v] :
				add_thread(a, w);
			to->lives = true;
			to->stands = t->block == stands;
			to->is.base = w->base;
			to->is.at.clock = walker_clock(s, w, t->block);
			to->is.pc = session_block(s, t->block)->ctx.pc - 2;
		}
}

/* The seam where thread block @block stands. Nobody looks at the thread, so it is not held. */
static void pass_seam(struct session *s, uint32_t block)
{
	struct proc *p = s->proc[s->block_proc[block] - 1];
	const struct thread *t = thread_of(p, block);
	struct at_seam a = { .seams = s->opts->seams };
	struct walker *w;

	if (!t)
		return;
	w = walker_of(s->stops, thread_name(p, t));
	w->at.clock = walker_clock(s, w, block);
	note_threads(s, &a, block);
	trace_seam(s->tracer, call_seam, &a);
	free(a.t);
	walker_aim(s, w, block, false);
	answer(s, block, RT_STOP_GO);
}

static void run(struct session *s, uint32_t block)
{
	struct standing st = { .s = s, .block = block };
	struct rt_block *b = session_block(s, block);
	bool at_safepoint;
	char what[80];

	st.p = s->proc[s->block_proc[block] - 1];
	st.t = thread_of(st.p, block);
	if (!st.t)
		return;
	st.w = walker_of(s->stops, thread_name(st.p, st.t));
	if (st.w->opening) {
		st.w->opening = false;
		answer(s, block, st.w->then);
		return;
	}
	b->stop_next = 0;
	at_safepoint = st.w->by == BY_NOBODY;
	if (!account(&st, b)) {
		snprintf(what, sizeof what, "the instruction at 0x%llx did not fault again",
			 (unsigned long long)st.w->pc);
		fail(s, what);
	}
	if (!s->stops->over && hold_standing(&st)) {
		if (s->kept && at_safepoint)
			pass_checkpoint(&st);
		share_processor(&st);
		walk(&st);
		s->stops->over |= wake_interrupted();
	}
	if (st.held && !s->stops->over)
		release(&st, RT_STOP_GO);
	part_processors(&st);
}

void stops_run(struct session *s)
{
	struct stopper *k = s->stops;
	const uint32_t block = k->stands;

	k->stands = 0;
	if (!k->over && block && s->block_proc[block])
		(s->opts->seams ? pass_seam : run)(s, block);
	k->over |= wake_interrupted();
	if (k->over)
		replay_ends(s);
}
