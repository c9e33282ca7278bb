/* SPDX-License-Identifier: MIT */
/* token.c - threads of a recorded or replayed program take turns: who has the token executes
 *
 * Recorded: a thread gives the token up in a call that waits, and at a safepoint when its slice of
 * time is over and others wait for it. In a call that perhaps waits it keeps the token, and the
 * others may take it meanwhile. The log has each switch. Calls that change the address space are
 * made with the token throughout.
 * Replayed: the log says where a thread gives it up, and to whom. */
#include "log.h"

#define SLICE 2000000ull		/* ns: how long a thread executes while others wait */
#define LOOK 1000000ull			/* ns: how often who waits first looks for a call that
					 * waits; and who waits behind that one, whether it is the
					 * first now */
#define LOOK_BEHIND 10000000ull
#define STUCK 1000000000ull		/* ns: nobody needs the lock for so long */
#define FIRST_QUANTUM 0x4000u		/* safepoints until a thread looks at the time */
#define MOST_QUANTUM 0x1000000u
#define LEAST_QUANTUM 0x100u
#define NEVER (1ull << 62)

static struct {				/* of this process */
	u32 lock;
	u32 nthread, last_id;
	u32 in_call;			/* 1: the holder makes a call that perhaps waits */
	u32 over;			/* nothing is recorded any more: everybody executes */
	struct rt_block *holder;	/* 0: nobody has it, and nobody waits for it */
	struct rt_block *members;
	struct rt_block *first, *last;	/* who waits, by next_waiting */
	u32 had, place;			/* who has had it, as far as the log says; where that
					 * stands, enum rt_log_place */
	u64 clock, pc, check;		/* ... */
	u64 slice_ends;			/* ns */
	u64 group_ends;			/* ... that of the process among those that share memory */
	u64 random;			/* 0: slices are of time */
	u32 apart;			/* processes have been made that take part, by this one */
	u32 first_pid;
	struct rt_block *executed;	/* recorded: who had the token executes another program; */
	u32 unknown;			/* ... it has been killed while it executed; */
	u32 broken;			/* ... while it had the lock */
	u32 left;			/* replayed: the thread that has ended last, of RT_E_LOST */
	u32 ended;			/* replayed: the first process has, with this status */
	word status;
} g;

#define NEXT(b, link) ((struct rt_block *)PTR((b)->link))

static int is_lost(const struct rt_block *m)
{
	return __atomic_load_n(&m->lost, __ATOMIC_ACQUIRE) != RT_LOST_NOT;
}

static int some_are_lost(void)
{
	const struct rt_block *m = g.apart ? g.members : 0;

	while (m && !is_lost(m))
		m = NEXT(m, next_member);
	return m != 0;
}

/* Has it been somebody's since @*since, who is no more? Then what it is for may be half done. */
static int is_stuck(u64 *since)
{
	const u64 now = rt_monotonic();

	if (!*since)
		*since = now;
	g.broken |= now > *since + STUCK && some_are_lost();
	return g.broken;
}

static void lock(void)
{
	u64 since = 0;

	for (u32 n = 1; __atomic_exchange_n(&g.lock, 1, __ATOMIC_ACQUIRE); n++)
		if (n % 200)
			__builtin_ia32_pause();
		else if (is_stuck(&since))
			return;
		else
			rt_sys(NR_sched_yield, 0);
}

static void unlock(void)
{
	__atomic_store_n(&g.lock, 0, __ATOMIC_RELEASE);
}

/* xorshift64*, by Vigna: 32 random bits. */
static u32 chance(void)
{
	g.random ^= g.random >> 12;
	g.random ^= g.random << 25;
	g.random ^= g.random >> 27;
	return (u32)(g.random * 0x2545f4914f6cdd1dull >> 32);
}

int rt_token_shared(void)
{
	return g.nthread > 1 && !g.over;
}

/* ---- who takes part -------------------------------------------------------------------------- */
void rt_token_begin(struct rt_block *b)
{
	__builtin_memset(&g, 0, sizeof g);
	g.nthread = g.last_id = g.had = 1;
	g.holder = g.members = b;
	g.first_pid = (u32)rt_sys(NR_getpid, 0);
	g.random = RT_SESSION->chaos * 0x9e3779b97f4a7c15ull;
	b->priority = g.random ? chance() : 0;
	b->thread_id = 1;
	b->next_member = 0;
	b->token_free = 0;
	b->token_quantum = g.random ? MOST_QUANTUM : FIRST_QUANTUM;
	b->log_home = (word)b;
	if (rt_records(b))
		rt_clock_slice(b);
}

int rt_token_others(const struct rt_block *b)
{
	const struct rt_block *m = g.members;

	while (g.apart && m && m->pid == b->pid)
		m = NEXT(m, next_member);
	return g.apart && m && !g.over;
}

int rt_token_apart(void)
{
	return g.apart != 0;
}

int rt_token_is_first(const struct rt_block *b)
{
	return b->pid == g.first_pid;
}

void rt_token_join(struct rt_block *c, const struct rt_block *parent, int apart)
{
	g.apart |= (u32)apart;
	c->log_home = parent->log_home;
	c->thread_id = ++g.last_id;
	c->token_free = 1;
	c->token_quantum = g.random ? MOST_QUANTUM : FIRST_QUANTUM;
	c->turn = RT_TURN_OTHERS;
	c->priority = g.random ? chance() : 0;
	lock();
	c->next_member = (word)g.members;
	g.members = c;
	g.nthread++;
	unlock();
}

static void remove(const struct rt_block *c)
{
	if (g.members == c) {
		g.members = NEXT(c, next_member);
	} else {
		struct rt_block *m = g.members;

		while (m && NEXT(m, next_member) != c)
			m = NEXT(m, next_member);
		if (m)
			m->next_member = c->next_member;
	}
	g.nthread--;
}

void rt_token_each(struct rt_block *b, void (*f)(struct rt_block *b, struct rt_block *of))
{
	for (struct rt_block *m = g.members; m; m = NEXT(m, next_member))
		f(b, m);
}

void rt_token_not_joined(const struct rt_block *c)
{
	lock();
	remove(c);
	g.last_id--;
	unlock();
}

/* ---- turns ----------------------------------------------------------------------------------- */
static void wake(struct rt_block *b, enum rt_turn turn)
{
	__atomic_store_n(&b->turn, turn, __ATOMIC_RELEASE);
	rt_sys(NR_futex, &b->turn, 1 /* WAKE */, 1);
}

static void enqueue(struct rt_block *b)
{
	b->next_waiting = 0;
	if (g.last)
		g.last->next_waiting = (word)b;
	else
		g.first = b;
	g.last = b;
}

static void dequeue(const struct rt_block *b)
{
	struct rt_block *before = 0;

	struct rt_block *w = g.first;

	for (; w && w != b; w = NEXT(w, next_waiting))
		before = w;
	if (!w)
		return;				/* it does not wait */
	if (before)
		before->next_waiting = b->next_waiting;
	else
		g.first = NEXT(b, next_waiting);
	if (g.last == b)
		g.last = before;
}

/* Who has been killed waits no more. Locked. */
static void drop_lost(void)
{
	struct rt_block *w = g.apart ? g.first : 0, *after;

	for (; w; w = after) {
		after = NEXT(w, next_waiting);
		if (is_lost(w))
			dequeue(w);
	}
}

/* Who waits first, or, where turns are taken at random, has the highest priority. Locked. */
static struct rt_block *next_one(void)
{
	struct rt_block *to;

	drop_lost();
	to = g.first;
	for (struct rt_block *w = to; g.random && w; w = NEXT(w, next_waiting))
		if (w->priority > to->priority)
			to = w;
	return to;
}

/* @to, which waits, becomes the holder, and is to be woken; 0: nobody. Locked. */
static struct rt_block *grant(struct rt_block *to)
{
	if (to)
		dequeue(to);
	g.holder = to;
	g.in_call = 0;
	return to;
}

void rt_token_over(void)
{
	struct rt_block *to;

	lock();
	g.over = 1;
	while ((to = g.first)) {
		dequeue(to);
		wake(to, RT_TURN_OWN);
	}
	unlock();
}

/* Who had the token is no more: @b has it. As long as others may have it, it has executed nothing
 * since its last event. 0: it is there. Locked. */
static int inherits(struct rt_block *b)
{
	struct rt_block *const h = g.holder;

	if (!g.apart || !h || !is_lost(h))
		return 0;
	if (h->lost == RT_LOST_EXECUTES)
		g.executed = h;
	else if (!h->token_free && !h->ends_here)
		g.unknown = 1;
	if (h->lost == RT_LOST_EXECUTES || h->ends_here) {
		g.place = RT_PLACE_EXIT;
		g.clock = g.check = 0;
	}
	g.holder = b;
	g.in_call = 0;
	return 1;
}

/* @b waits. Has it the token now, or does nobody need one any more? */
static int tries(struct rt_block *b)
{
	int done;

	lock();
	done = b->turn || g.over || g.broken;
	drop_lost();
	if (!done && inherits(b)) {
		dequeue(b);
		done = 1;
	}
	if (!done && g.in_call && g.first == b) {
		g.holder = b;
		g.in_call = 0;
		dequeue(b);
		done = 1;
	}
	unlock();
	return done;
}

static void wait_in_queue(struct rt_block *b)
{
	struct rt_wait w = { 0 };

	for (u32 n = 1; !tries(b); n++) {
		const int first = __atomic_load_n(&g.first, __ATOMIC_RELAXED) == b;
		const word timeout[2] = { 0, first ? LOOK : LOOK_BEHIND };

		rt_sys(NR_futex, &b->turn, 0 /* WAIT */, RT_TURN_OTHERS, timeout);
		if (n % 200 == 0 && rt_controller_gone(&w))
			rt_token_over();
		if (rt_log_of(b)->logged == RT_LOG_OVER)	/* who had it has been killed */
			rt_token_over();
	}
	b->turn = RT_TURN_OTHERS;
}

/* ---- recorded -------------------------------------------------------------------------------- */
/* A thread has short turns for a while, and then longer ones: what goes wrong only in a few
 * instructions wants the former, and who is to get far meanwhile the latter. */
static u64 random_quantum(struct rt_block *b)
{
	static const u32 most[] = { 1u << 4, 1u << 7, 1u << 10, 1u << 14 };
	const u32 n = chance();

	if (n % 32 == 0 || b->token_quantum > most[2])
		b->token_quantum = most[(n >> 8) % NR_OF(most)];
	return 1 + (n >> 16) % b->token_quantum;
}

/* Does somebody else perhaps wait for @b to stop executing? */
static int takes_turns(const struct rt_block *b)
{
	return rt_token_shared() || rt_group_member(b);
}

u64 rt_token_quantum(struct rt_block *b)
{
	const u64 checks = RT_SESSION->checks ? RT_SESSION->checks : NEVER;
	u64 n = NEVER;

	if (!rt_records(b))
		return NEVER;
	if (takes_turns(b))
		n = g.random ? random_quantum(b) : b->token_quantum;
	return n < checks ? n : checks;
}

static void stands(const struct rt_block *b, enum rt_log_place place, u64 check)
{
	g.place = place;
	g.clock = place == RT_PLACE_SAFEPOINT ? rt_clock(b) : 0;
	g.pc = b->ctx.pc;
	g.check = check;
}

static void log_group(struct rt_block *b, enum rt_log_place place, u64 check, u32 number)
{
	if (!number)
		rt_robust_note(b);
	rt_log_group(b, place, (const u64[6]){
		0, place == RT_PLACE_SAFEPOINT ? rt_clock(b) : 0, number, check, b->ctx.pc });
}

/* @b has its process's token, and has to have its group's. */
static void take_group(struct rt_block *b, enum rt_log_place place, u64 check)
{
	int gave = 0, another;

	if (!rt_group_member(b))
		return;
	/* threads that always have a taker among them do not keep other processes waiting */
	if (place != RT_PLACE_NONE && rt_group_wanted() && rt_monotonic() >= g.group_ends) {
		gave = 1;
		log_group(b, place, check, 0);
		rt_group_pass(b);
		g.group_ends = rt_monotonic() + SLICE;
	}
	another = rt_group_take(b);
	rt_heed_fatal(b);
	/* behind a safepoint the program executes: that it does the log has to say */
	if (another || (gave && place == RT_PLACE_SAFEPOINT))
		log_group(b, place, check, rt_log_of(b)->group_number);
	else if (place == RT_PLACE_SAFEPOINT)
		return;
	rt_robust_end_dead(b);
	if (!another)
		return;
	g.slice_ends = g.group_ends = rt_monotonic() + SLICE;
	rt_clock_slice(b);
}

/* ---- who is no more -------------------------------------------------------------------------- */
/* @b has the token at @place. Of threads whose process has been killed, or executes another
 * program, the log says that they have ended. What the kernel does then, it may have done already:
 * here the log says so. */
static void log_lost_thread(struct rt_block *b, struct rt_block *m, enum rt_log_place place)
{
	void (*const log)(struct rt_block *, u64, u64) =
		place == RT_PLACE_CALL ? rt_log_data : rt_log_memory;
	const u32 none = 0;

	if (m != g.executed && !m->ends_here)
		rt_log_lost(b, m, 0);
	rt_robust_end_lost(b, m, log);
	if (m->clear_tid && !rt_put(m->clear_tid, &none, 4)) {
		log(b, m->clear_tid, 4);
		rt_sys(NR_futex, m->clear_tid, 1 /* FUTEX_WAKE */, 1);
	}
	lock();
	dequeue(m);
	remove(m);
	unlock();
	__atomic_store_n(&m->lost, RT_LOST_NOT, __ATOMIC_RELEASE);
	if ((word)m != b->log_home)
		rt_block_unmap(m);
}

static void log_lost_threads(struct rt_block *b, enum rt_log_place place)
{
	struct rt_block *m = g.apart ? g.members : 0, *after;

	if (g.unknown || g.broken) {
		g.unknown = g.broken = 0;
		rt_log_killed(b);
		return;
	}
	for (; m; m = after) {
		after = NEXT(m, next_member);
		if (m != b && is_lost(m))
			log_lost_thread(b, m, place);
	}
	g.executed = 0;
}

/* @b has the token. */
static void begin_slice(struct rt_block *b)
{
	if (g.executed)
		rt_log_lost(b, g.executed, g.executed->lost_stream);
	if (g.had != b->thread_id)
		rt_log_switch(b, g.place, (const u64[6]){ g.had, g.clock, b->thread_id, g.check,
							  g.pc });
	g.had = b->thread_id;
	g.slice_ends = rt_monotonic() + SLICE;
	rt_clock_slice(b);
}

/* @b, which stands at @place, executes again. */
static void go_on(struct rt_block *b, enum rt_log_place place, u64 check)
{
	int has = 1;

	if (!b->token_free)
		return;
	lock();
	while (!b->thread_id) {			/* its process is about to end */
		unlock();
		rt_sys(NR_futex, &b->turn, 0 /* WAIT */, RT_TURN_OTHERS, 0);
		lock();
	}
	if (g.holder == b)
		g.in_call = 0;
	else if (!g.holder)
		g.holder = b;
	else
		has = g.over || inherits(b);
	if (!has)
		enqueue(b);
	unlock();
	if (!has)
		wait_in_queue(b);
	b->token_free = 0;
	if (g.over) {
		rt_log_over(b);
		rt_clock_slice(b);
	} else {
		if (g.had != b->thread_id || !has)
			begin_slice(b);
		take_group(b, place, check);
		log_lost_threads(b, place);
	}
}

void rt_token_back(struct rt_block *b)
{
	go_on(b, RT_PLACE_CALL, b->call_check);
}

/* Would a call on descriptor @fd find it ready for @what? Then it does not wait. */
static int is_ready(u64 fd, u32 what)
{
	struct { u32 fd; uint16_t events, revents; } p = { (u32)fd, (uint16_t)what, 0 };

	return rt_sys(NR_poll, &p, 1, 0) != 0;
}

enum waits { KEEPS, PERHAPS, WAITS };

static enum waits futex_waits(u32 op)
{
	switch (op & 127) {
	case 0: case 6: case 9: case 11: case 13:
		/* FUTEX_WAIT, _LOCK_PI, _WAIT_BITSET, _WAIT_REQUEUE_PI, _LOCK_PI2 */
		return WAITS;
	}
	return KEEPS;
}

#define POLLIN 1
#define POLLOUT 4

/* Of call @nr with arguments @a. */
static enum waits any_call_waits(const struct rt_block *b, u32 nr, const word a[6])
{
	switch (nr) {
	case NR_kill: case NR_tkill: case NR_tgkill: case NR_rt_sigqueueinfo:
	case NR_rt_tgsigqueueinfo: case NR_pidfd_send_signal:
		/* who is killed does not execute then, or is here */
		return (u32)a[0] == b->pid || (u32)a[0] == b->tid ? PERHAPS : KEEPS;
	case NR_futex:
		return futex_waits((u32)a[1]);
	case NR_read: case NR_readv: case NR_recvfrom: case NR_recvmsg:
		return is_ready(a[0], POLLIN) ? PERHAPS : WAITS;
	case NR_write: case NR_writev: case NR_sendto: case NR_sendmsg:
		return is_ready(a[0], POLLOUT) ? PERHAPS : WAITS;
	case NR_wait4:
		return a[2] & 1 /* WNOHANG */ ? PERHAPS : WAITS;
	case NR_waitid:
		return a[3] & 1 ? PERHAPS : WAITS;
	case NR_poll:
		return a[2] ? WAITS : PERHAPS;
	case NR_epoll_wait: case NR_epoll_pwait:
		return a[3] ? WAITS : PERHAPS;
	case NR_sched_yield: case NR_pause: case NR_nanosleep: case NR_clock_nanosleep:
	case NR_rt_sigsuspend: case NR_rt_sigtimedwait: case NR_select: case NR_pselect6:
	case NR_ppoll: case NR_epoll_pwait2: case NR_accept: case NR_accept4: case NR_connect:
	case NR_flock: case NR_msgrcv: case NR_semop: case NR_semtimedop: case NR_fsync:
	case NR_fdatasync: case NR_futex_wait: case NR_futex_waitv:
		return WAITS;
#ifdef __i386__
	case NR_futex_time64:
		return futex_waits((u32)a[1]);
	case NR_waitpid:
		return a[2] & 1 /* WNOHANG */ ? PERHAPS : WAITS;
	case NR_sigsuspend: case NR_clock_nanosleep_time64: case NR_pselect6_time64:
	case NR_ppoll_time64: case NR_rt_sigtimedwait_time64:
		return WAITS;
#endif
	}
	return g.random && chance() % 4 == 0 ? WAITS : PERHAPS;
}

static enum waits call_waits(struct rt_block *b)
{
	const struct rt_call *c = rt_call_of(b->syscall);
	word a[6];
	const u32 nr = rt_inner_call(b, a);

	return c->how == HOW_PLAIN || c->how == HOW_SUB ? any_call_waits(b, nr, a) : KEEPS;
}

void rt_token_call(struct rt_block *b)
{
	struct rt_block *to = 0;
	enum waits how;

	if (b->token_free || !takes_turns(b) || !rt_records(b))
		return;
	how = call_waits(b);
	if (how == KEEPS)
		return;
	stands(b, RT_PLACE_CALL, b->call_check);
	if (rt_group_member(b))
		log_group(b, RT_PLACE_CALL, b->call_check, 0);
	b->token_free = 1;
	lock();
	if (how == WAITS)
		to = grant(next_one());
	else
		g.in_call = 1;
	/* before another thread has the process's token, and sees that the group's is there, too */
	if (!to && rt_group_member(b) && how == WAITS)
		rt_group_give(b);
	else if (!to && rt_group_member(b))
		rt_group_perhaps(b);
	unlock();
	if (to)
		wake(to, RT_TURN_OWN);
}

/* Is the slice over? Otherwise the next part of it begins. */
static int slice_is_over(struct rt_block *b)
{
	const u64 at = rt_monotonic();

	if (g.random)
		return 1;
	if (at + SLICE / 2 < g.slice_ends && b->token_quantum < MOST_QUANTUM)
		b->token_quantum *= 2;
	else if (at > g.slice_ends + SLICE / 2 && b->token_quantum > LEAST_QUANTUM)
		b->token_quantum /= 2;
	return at >= g.slice_ends;
}

int rt_token_safepoint(struct rt_block *b)
{
	struct rt_block *to = 0;
	u64 check;

	if (!takes_turns(b) || !slice_is_over(b))
		return 0;
	if (g.random && chance() % 4 == 0)
		b->priority = chance();
	check = rt_registers_check(b);
	stands(b, RT_PLACE_SAFEPOINT, check);
	lock();
	to = next_one();
	if (to && (!g.random || to->priority > b->priority)) {
		grant(to);
		b->token_free = 1;
		enqueue(b);
	} else {
		to = 0;
	}
	unlock();
	if (!to) {
		g.slice_ends = rt_monotonic() + SLICE;
		if (some_are_lost()) {
			rt_log_check(b, check);
			log_lost_threads(b, RT_PLACE_SAFEPOINT);
			return 1;
		}
		if (!rt_group_member(b) || !rt_group_wanted())
			return 0;
		g.group_ends = 0;
		take_group(b, RT_PLACE_SAFEPOINT, check);
		return 1;
	}
	wake(to, RT_TURN_OWN);
	wait_in_queue(b);
	b->token_free = 0;
	if (g.over) {
		rt_log_over(b);
	} else {
		const u64 logged = rt_log_of(b)->nlogged;

		begin_slice(b);
		take_group(b, RT_PLACE_SAFEPOINT, check);
		if (rt_log_of(b)->nlogged == logged && some_are_lost())
			rt_log_check(b, check);		/* nobody else had a turn */
		log_lost_threads(b, RT_PLACE_SAFEPOINT);
	}
	return 1;
}

/* ---- replayed -------------------------------------------------------------------------------- */
static struct rt_block *member(u64 id)
{
	struct rt_block *m = g.members;

	while (m && m->thread_id != id)
		m = NEXT(m, next_member);
	return m;
}

extern void rt_park(u32 *state) __attribute__((noreturn));

/* Another program takes the place of this one. While the first thread is there, /proc tells what
 * the process has mapped. */
__attribute__((noreturn)) static void end(struct rt_block *b)
{
	const u64 all = ~0ull;

	rt_sys(NR_rt_sigprocmask, 2, &all, 0, 8);
	if (b->tid == b->pid)
		rt_park(&b->state);
	rt_exit_thread(b, NR_exit, 0);
}

void rt_token_gone(struct rt_block *b, u64 heir)
{
	rt_block_but_faults();
	rt_ask(b, RQ_EXIT, b->tid, 0, 0, 0);
	if (heir)
		rt_token_leave(b, heir);
	else
		__atomic_store_n(&g.left, b->thread_id, __ATOMIC_RELEASE);
	rt_exit_thread(b, NR_exit, 0);
}

void rt_token_dies(struct rt_block *b)
{
	const u64 heir = rt_replays(b) ? rt_token_process_heir(b) : 0;

	b->ends_here = 1;
	if (heir)
		rt_token_gone(b, heir);
}

void rt_token_lost(struct rt_block *b, u64 id)
{
	struct rt_block *const m = member(id);

	if (!m || m == b)
		rt_replay_differs(b, b->ctx.pc);
	lock();
	remove(m);			/* its block is somebody else's as soon as it has left */
	unlock();
	wake(m, RT_TURN_LOST);
	while (__atomic_load_n(&g.left, __ATOMIC_ACQUIRE) != id)
		rt_sys(NR_sched_yield, 0);
}

void rt_token_await(struct rt_block *b)
{
	const word timeout[2] = { 0, RT_WAIT_NS };
	struct rt_wait w = { 0 };
	u32 turn;

	while (!(turn = __atomic_load_n(&b->turn, __ATOMIC_ACQUIRE))) {
		const long r = rt_sys(NR_futex, &b->turn, 0 /* WAIT */, RT_TURN_OTHERS, timeout);

		if (rt_waits_in_vain(&w, r))
			rt_sys(NR_exit_group, 125);
	}
	if (turn == RT_TURN_LEAVE)
		end(b);
	if (turn == RT_TURN_LOST)
		rt_token_gone(b, 0);
	b->turn = RT_TURN_OTHERS;
	b->token_free = 0;
}

static void pass_token(struct rt_block *b, u64 id)
{
	struct rt_block *to = member(id);

	if (!to || to == b)
		rt_replay_differs(b, b->ctx.pc);
	b->token_free = 1;
	wake(to, RT_TURN_OWN);
}

void rt_token_give(struct rt_block *b, u64 id)
{
	pass_token(b, id);
	rt_token_await(b);
}

void rt_token_alone(struct rt_block *b)
{
	for (struct rt_block *m = g.members; m; m = NEXT(m, next_member)) {
		if (m == b)
			continue;
		wake(m, RT_TURN_LEAVE);
		while (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != BLK_DEAD)
			rt_sys(NR_sched_yield, 0);
	}
}

void rt_token_first(struct rt_block *b)
{
	if (rt_replays(b))
		rt_token_await(b);
	else
		go_on(b, RT_PLACE_NONE, 0);
	if (rt_replays(b))
		rt_replay_group(b, RT_PLACE_NONE, 0);
}

void rt_token_forked(struct rt_block *b)
{
	rt_token_begin(b);
	if (rt_replays(b)) {
		rt_replay_files(b);
		rt_replay_group(b, RT_PLACE_NONE, 0);
		rt_replay_goes_on(b);
		if (b->executes)
			rt_replay_exec(b);
	} else {
		rt_log_forked(b);
		take_group(b, RT_PLACE_NONE, 0);
	}
}

void rt_group_release(struct rt_block *b)
{
	if (!rt_group_member(b))
		return;
	log_group(b, RT_PLACE_CALL, b->call_check, 0);
	rt_group_give(b);
}

void rt_group_regain(struct rt_block *b)
{
	take_group(b, RT_PLACE_CALL, b->call_check);
}

void rt_token_group(struct rt_block *b)
{
	struct rt_block *l = rt_log_of(b);

	if (l->group_member)
		return;
	l->group_member = 1;
	take_group(b, RT_PLACE_CALL, b->call_check);
}

/* ---- a thread ends --------------------------------------------------------------------------- */
u64 rt_token_heir(struct rt_block *b)
{
	if (!rt_token_shared())
		return 0;
	if (rt_replays(b))
		return rt_replay_heir(b);
	return rt_records(b);
}

u64 rt_token_process_heir(struct rt_block *b)
{
	if (!g.apart)
		return 0;
	if (rt_replays(b))
		return rt_replay_process_heir(b);
	return rt_records(b) && rt_token_others(b);
}

word rt_token_status(struct rt_block *b, int process, word status)
{
	if (process && rt_replays(b) && b->tid == b->pid) {
		g.ended = 1;
		g.status = status;
	}
	return g.ended ? g.status : status;
}

/* Recorded: threads that end with @b have no turn any more. Locked. */
static void remove_threads_of(const struct rt_block *b)
{
	struct rt_block *m = g.members, *after;

	for (; m; m = after) {
		after = NEXT(m, next_member);
		if (m == b || m->pid != b->pid)
			continue;
		dequeue(m);
		remove(m);
		m->thread_id = 0;
	}
}

void rt_token_leave(struct rt_block *b, u64 heir)
{
	struct rt_block *to = 0;

	if (!heir) {
		if (b->logged)
			rt_group_leave(b);
		return;
	}
	lock();
	if (b->leaving)
		remove_threads_of(b);
	remove(b);
	if (!rt_replays(b)) {
		stands(b, RT_PLACE_EXIT, 0);
		to = grant(next_one());
		if (!to && rt_group_member(b))
			rt_group_give(b);
	}
	unlock();
	if (rt_replays(b))
		pass_token(b, heir);
	else if (to)
		wake(to, RT_TURN_OWN);
}
