/* SPDX-License-Identifier: MIT */
/* enter.c - boot, the mailbox, and the way in and out */
#include "rt.h"

#ifndef RT_IDT		/* else standalone/ has one of its own, and answers in place of a controller */
struct rt_boot rt_boot_info __attribute__((section(".data.boot"))) = { .persona = ~0u };
#endif
struct rt_range rt_ranges[256];
u32 rt_nranges, rt_nwritable;
u32 rt_apart;
static u32 ranges_lock;

void *rt_memcpy(void *to, const void *from, word n)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

/* gcc emits calls to these for large structs */
void *memcpy(void *to, const void *from, size_t n) __attribute__((alias("rt_memcpy")));

void *memset(void *to, int c, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
}

/* ---- the program's executable mappings --------------------------------------------------------- */
static void lock(u32 *l)
{
	while (__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock(u32 *l)
{
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

void rt_ranges_hold(int on)
{
	if (on)
		lock(&ranges_lock);
	else
		unlock(&ranges_lock);
}

int rt_is_exec(u64 addr, u64 len)
{
	int hit = 0;

	lock(&ranges_lock);
	for (u32 i = 0; i < rt_nranges && !hit; i++)
		hit = rt_ranges[i].lo < addr + len && addr < rt_ranges[i].hi;
	hit |= rt_nranges == NR_OF(rt_ranges);		/* full: everything may be */
	unlock(&ranges_lock);
	return hit;
}

static void count_writable(void)
{
	u32 n = 0;

	for (u32 i = 0; i < rt_nranges; i++)
		n += (rt_ranges[i].prot & PROT_WRITE) != 0;
	rt_nwritable = n;
}

static void range_del(u64 lo, u64 hi)
{
	for (u32 i = 0; i < rt_nranges; i++) {
		struct rt_range *r = &rt_ranges[i];

		if (r->hi <= lo || hi <= r->lo)
			continue;
		if (r->lo < lo && hi < r->hi) {
			if (rt_nranges < NR_OF(rt_ranges)) {
				rt_ranges[rt_nranges] = *r;
				rt_ranges[rt_nranges++].lo = hi;
			}
			r->hi = lo;
		} else if (r->lo < lo) {
			r->hi = lo;
		} else if (hi < r->hi) {
			r->lo = hi;
		} else {
			*r = rt_ranges[--rt_nranges];
			i--;
		}
	}
}

void rt_range_del(u64 lo, u64 hi)
{
	lock(&ranges_lock);
	range_del(lo, hi);
	count_writable();
	unlock(&ranges_lock);
}

void rt_range_add(u64 lo, u64 hi, u32 prot, u32 shared)
{
	lock(&ranges_lock);
	range_del(lo, hi);
	if (rt_nranges < NR_OF(rt_ranges))
		rt_ranges[rt_nranges++] = (struct rt_range){ lo, hi, prot, shared };
	count_writable();
	unlock(&ranges_lock);
}

void rt_fail(const char *what)
{
	word n = 0;

	while (what[n])
		n++;
	rt_sys(NR_write, 2, what, n);
	for (;;)
		rt_sys(NR_exit_group, 125);
}

/* ---- asking ------------------------------------------------------------------------------------ */
#ifndef RT_IDT
/* Asked five times a second by whoever waits, with what @w has of its waiting. The controller's number means nothing in
 * another PID namespace: there it is given up if it does not stir for half a minute. */
int rt_controller_gone(struct rt_wait *w)
{
	struct rt_session *s = RT_SESSION;
	const u32 now = __atomic_load_n(&s->beat, __ATOMIC_RELAXED);

	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED))
		return 1;
	if (!rt_apart)
		return rt_sys(NR_kill, s->pid, 0) == -ESRCH;
	w->times = now == w->beat ? w->times + 1 : 0;
	w->beat = now;
	return w->times > 150;
}

/* 0, or 1 + the number of a command that found no room or no file; those behind it have not been run. */
static u32 run_commands(struct rt_mail *m)
{
	const u32 n = m->ncmd < RT_MAX_CMDS ? m->ncmd : RT_MAX_CMDS;

	for (u32 i = 0, done; i < n; i++) {
		const struct rt_cmd *c = &m->cmd[i];

		switch (c->op) {
		case CMD_PLACE:
			if (!rt_place(c))
				return i + 1;
			break;
		case CMD_PLACE_FILE:
			done = rt_place_files(c, n - i);
			if (!done)
				return i + 1;
			i += done - 1;
			break;
		case CMD_UNPLACE:
			if (c->a[3])
				rt_sys(NR_munmap, c->a[2], c->a[1]);
			else
				rt_sys(NR_mmap, c->a[2], c->a[1], PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
			break;
		case CMD_PROTECT:
			rt_sys(NR_mprotect, c->a[0], c->a[1], c->a[2]);
			break;
		case CMD_ADVISE:
			rt_sys(NR_madvise, c->a[0], c->a[1], c->a[2]);
			break;
		}
	}
	return 0;
}

/* Carries an answer out. 1: ask again. */
static int carry_out(struct rt_mail *m)
{
	m->state = MAIL_IDLE;
	m->failed = run_commands(m);
	if (m->again != RT_AGAIN && !(m->again == RT_IF_FAILED && m->failed))
		return 0;
	m->a[5] = 1;
	return 1;
}

/* What is in the mail, until it is answered; 0: there is no controller any more. */
static int ask(struct rt_block *b)
{
	struct rt_session *s = RT_SESSION;
	struct rt_mail *m = &b->mail;
	const word timeout[2] = { 0, 200000000 };
	struct rt_wait w = { 0, 0 };

again:
	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&m->state, MAIL_REQUEST, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&s->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST))
		rt_sys(NR_futex, &s->doorbell, 1 /* WAKE */, 1);
	for (u32 i = 0; i < b->spin; i++) {
		if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == MAIL_REPLY)
			goto answered;
		__builtin_ia32_pause();
	}
	__atomic_store_n(&m->sleeping, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != MAIL_REPLY) {
		long r = rt_sys(NR_futex, &m->state, 0 /* WAIT */, MAIL_REQUEST, timeout);

		if (r == -110 /* ETIMEDOUT */ && rt_controller_gone(&w) &&
		    __atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != MAIL_REPLY)
			return 0;
	}
	m->sleeping = 0;
answered:
	if (carry_out(m))
		goto again;
	return 1;
}

int rt_ask(struct rt_block *b, u32 op, u64 a0, u64 a1, u64 a2, u64 a3)
{
	struct rt_mail *m = &b->mail;

	m->op = op;
	m->a[0] = a0;
	m->a[1] = a1;
	m->a[2] = a2;
	m->a[3] = a3;
	m->a[5] = 0;
	m->failed = 0;
	return ask(b);
}

#endif

/* The answer to RQ_LOOKUP is the way to go on.
 * b->ctx is the program's state: find the code to go on with. An address that the program may not
 * execute is jumped to as it is, so that the fault is the program's own. */
static void go(struct rt_block *b)
{
	rt_count_answered(b, b->ctx.gpr[RSP]);
	if (b->mail.r[0]) {
		b->resume = b->mail.r[0];
	} else {
		b->s_rcx = b->ctx.gpr[RCX];
		b->s_rdx = b->ctx.gpr[RDX];
		b->resume = b->ctx.pc;
	}
}

void rt_go(struct rt_block *b)
{
	if (!rt_ask(b, RQ_LOOKUP, b->ctx.pc, 0, 0, 0))
		rt_go_native(b);
	go(b);
}

/* The process becomes what it would be without us, but for where this thread stands. */
void rt_make_native(struct rt_block *b)
{
	static u32 state;			/* 1: somebody is at it; 2: done */
	u32 none = 0;

	if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		for (u32 i = 0; i < rt_nranges; i++)
			rt_sys(NR_mprotect, rt_ranges[i].lo, rt_ranges[i].hi - rt_ranges[i].lo,
			       rt_ranges[i].prot);
		__atomic_store_n(&state, 2, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&state, __ATOMIC_SEQ_CST) != 2)
		__builtin_ia32_pause();
	rt_signal_native(b);
}

#ifndef RT_IDT
/* The controller is gone: the program goes on in its original code. */
void rt_go_native(struct rt_block *b)
{
	b->stolen = RT_R11_OWN;
	rt_make_native(b);
	rt_native_jump();
}
#endif

/* A link that cannot be patched, for its code is the cache's file: the answer is in a table. Who goes this way often asks
 * nevertheless, now and then, and then the code is copied. */
static int shortcut(struct rt_block *b)
{
#if !defined RT_IDT && !defined __i386__
	const u64 to = __atomic_load_n((const u64 *)PTR(b->links + RT_LINKS_SIZE) + (u32)b->exit_id, __ATOMIC_ACQUIRE);

	if (to && ++b->shortcuts % RT_SHORTCUTS) {
		b->resume = to;
		return 1;
	}
#endif
	return 0;
}

int rt_enter(struct rt_block *b, u32 door);

/* From entry_*.S. Returns 1: execute the system call in ctx in the window. */
int rt_enter(struct rt_block *b, u32 door)
{
	int is_call;

	switch (door) {
	case 0:
		b->ctx.pc = ((const u64 *)PTR(b->links))[(u32)b->exit_id];
		if (shortcut(b))
			return 0;
		if (!rt_ask(b, RQ_RESOLVE, (u32)b->exit_id, 0, 0, 0))
			rt_go_native(b);
		b->resume = b->mail.r[0];
		if (b->resume)
			rt_count_answered(b, b->ctx.gpr[RSP]);
		else
			rt_go(b);
		return 0;
	case 1:
	case 3:
		is_call = rt_syscall_entry(b, door == 3);
#ifdef RT_IDT
		rt_image_order(b);
#endif
		if (is_call)
			return is_call > 0 ? rt_do_syscall(b) : 0;
		/* fall through */
	case 2:
		b->ctx.pc = b->exit_pc;
		rt_step_in_place(b, b->exit_pc);
		return 0;
#if !defined RT_IDT && !defined __i386__
	case 5:
		b->ctx.pc = b->exit_pc;
		rt_count_spent(b);
		rt_go(b);
		return 0;
#endif
	case 4:
		b->ctx.pc = b->exit_pc;
		if (!rt_ask(b, RQ_CHECKFAIL, b->exit_pc, 0, 0, 0))
			rt_go_native(b);
		b->resume = b->mail.r[0];
		if (!b->resume)
			rt_go(b);
		return 0;
	}
	return 0;
}

/* ---- boot -------------------------------------------------------------------------------------- */
extern word rt_boot_rsp, rt_boot_regs[2];
struct rt_block *rt_boot(void);

/* The first thread of a program that begins at @pc. */
void rt_block_begin(struct rt_block *b, u64 pc)
{
	b->do_resolve = (word)rt_resolve;
	b->do_syscall = (word)rt_syscall;
	b->do_step = (word)rt_step;
	b->do_int80 = (word)rt_int80;
	b->do_check = (word)rt_check;
	b->do_count = (word)rt_spent;
	b->self = (word)b;
	b->pid = (u32)rt_sys(NR_getpid, 0);
	b->tid = b->pid;
	b->ctx = (struct rt_ctx){ .pc = pc, .flags = 0x202 };
	b->ctx.gpr[RSP] = rt_boot_rsp;
	b->ctx.gpr[RAX] = rt_boot_regs[0];
	b->ctx.gpr[RDX] = rt_boot_regs[1];
	rt_switch_segment(b);
	rt_signal_boot(b);
	b->state = BLK_LIVE;
}

#ifndef RT_IDT
struct rt_block *rt_boot(void)
{
	struct rt_boot *boot = &rt_boot_info;
	struct rt_block *b;

	if (boot->load)
		boot->entry = rt_load();
	if (boot->persona != ~0u)	/* first: READ_IMPLIES_EXEC concerns whatever is mapped or protected */
		rt_sys(NR_personality, boot->persona);
	b = rt_map_all(boot);
	rt_apart = b->apart;
	for (u32 i = 0; i < NR_OF(boot->passed); i++)
		if (boot->passed[i])
			rt_sys(NR_close, boot->passed[i] - 1);
	if (boot->load)
		rt_load_ranges(b);
	for (u32 i = 0; i < boot->nrange; i++) {
		const struct rt_range *r = &boot->range[i];

		rt_range_add(r->lo, r->hi, r->prot, r->shared);
		rt_sys(NR_mprotect, r->lo, r->hi - r->lo, (r->prot & ~PROT_EXEC) | PROT_READ);
	}
	rt_block_begin(b, boot->entry);
	rt_trace_start(b);
	if (boot->load) {
		rt_go(b);
		return b;
	}
	/* the answer to RQ_LOOKUP has come with the block */
	if (carry_out(&b->mail) && !ask(b))
		rt_go_native(b);
	go(b);
	return b;
}
#endif

void rt_child(struct rt_block *b);

/* A new thread or process, on its own block; ctx is already the child's. All signals are blocked. */
void rt_child(struct rt_block *b)
{
	if (b->origin == BLK_FORKED)
		rt_ranges_hold(0);
	b->tid = (u32)rt_sys(NR_gettid, 0);
	b->pid = (u32)rt_sys(NR_getpid, 0);
	if (b->origin == BLK_FORKED)
		rt_block_forked(b);
	rt_signal_thread(b);
	b->state = BLK_LIVE;
	if (!rt_ask(b, RQ_HELLO, b->pid, b->tid, b->tid == b->pid, 0))
		rt_go_native(b);
	rt_apart |= b->apart;
	rt_trace_start(b);
	b->fix_mask = 1;
}
