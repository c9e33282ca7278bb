/* SPDX-License-Identifier: MIT */
/* mailbox.c - asking the controller */
#include "rt.h"

void rt_file_of(char path[48], u32 pid, u32 fd)
{
	u32 n = rt_write_text(path, "/proc/");

	n += rt_write_decimal(path + n, pid);
	n += rt_write_text(path + n, "/fd/");
	n += rt_write_decimal(path + n, fd);
	path[n] = 0;
}

void rt_controllers_file(char path[48], u32 fd)
{
	rt_file_of(path, RT_SESSION->pid, fd);
}

long rt_read_start(const char *path, void *to, u32 n)
{
	const long fd = rt_sys(NR_open, path, 02000000 /* O_CLOEXEC */, 0);
	long got = fd;

	if (fd >= 0) {
		got = rt_sys(NR_read, fd, to, n);
		rt_sys(NR_close, fd);
	}
	return got;
}

/* Has process @pid ended, though its parent has not asked for it yet? "PID (NAME) STATE ..." */
static int is_zombie(u32 pid)
{
	char path[32], text[48];
	u32 n = rt_write_text(path, "/proc/");
	long got;

	n += rt_write_decimal(path + n, pid);
	rt_write_text(path + n, "/stat");
	got = rt_read_start(path, text, sizeof text);
	while (got > 0 && text[got - 1] != ')')
		got--;
	return got > 0 && got + 1 < (long)sizeof text &&
	       (text[got + 1] == 'Z' || text[got + 1] == 'X');
}

#define QUIET 10u			/* times that it has not stirred: two seconds */

/* Asked five times a second by whoever waits, with what @w has of its waiting. The
 * controller's number means nothing in another PID namespace: there it is given up if it does
 * not stir for half a minute. */
int rt_controller_gone(struct rt_wait *w)
{
	struct rt_session *s = RT_SESSION;
	const u32 now = __atomic_load_n(&s->beat, __ATOMIC_RELAXED);

	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED))
		return 1;
	w->times = now == w->beat ? w->times + 1 : 0;
	w->beat = now;
	if (rt_apart)
		return w->times > 150;
	return rt_sys(NR_kill, s->pid, 0) == -ESRCH ||
	       (w->times % QUIET == QUIET - 1 && is_zombie(s->pid));
}

u64 rt_monotonic(void)
{
	word t[2] = { 0, 0 };

	rt_sys(NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, t);
	return t[0] * 1000000000ull + t[1];
}

/* Signals may end every wait before its time is over; then the clock says when it would be. */
int rt_waits_in_vain(struct rt_wait *w, long r)
{
	if (r == -EINTR) {
		const u64 now = rt_monotonic();

		w->since = w->since ? w->since : now;
		if (now - w->since < RT_WAIT_NS)
			return 0;
	} else if (r != -110 /* ETIMEDOUT */) {
		return 0;
	}
	w->since = 0;
	return rt_controller_gone(w);
}

/* 0, or 1 + the number of a command that found no room or no file; those behind it
 * have not been run. */
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
				rt_unplace(c->a[2], c->a[2] + c->a[1]);
			else
				rt_sys(NR_mmap, c->a[2], c->a[1], PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
				       0);
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

static void ring(struct rt_session *s)
{
	__atomic_fetch_add(&s->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->asleep, __ATOMIC_SEQ_CST))
		rt_sys(NR_futex, &s->doorbell, 1 /* WAKE */, 1);
}

/* Carries an answer out. 1: ask again. */
static int carry_out(struct rt_mail *m)
{
	m->state = MAIL_IDLE;
	m->failed = run_commands(m);
	if (m->again == RT_TELL) {
		__atomic_store_n(&m->told, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&RT_SESSION->awaited, __ATOMIC_SEQ_CST))
			ring(RT_SESSION);
		return 0;
	}
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
	const word timeout[2] = { 0, RT_WAIT_NS };
	struct rt_wait w = { 0 };

again:
	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED))
		rt_lose_controller();
	if (rt_no_controller)		/* once there is none, there is none */
		return 0;
	__atomic_store_n(&m->state, MAIL_REQUEST, __ATOMIC_SEQ_CST);
	ring(s);
	for (u32 i = 0; i < b->spin; i++) {
		if (__atomic_load_n(&m->state, __ATOMIC_ACQUIRE) == MAIL_REPLY)
			goto answered;
		__builtin_ia32_pause();
	}
	__atomic_store_n(&m->sleeping, 1, __ATOMIC_SEQ_CST);
	for (u32 now; (now = __atomic_load_n(&m->state, __ATOMIC_ACQUIRE)) != MAIL_REPLY; ) {
		long r;

		if (now != MAIL_REQUEST)	/* the program has written over it */
			goto again;
		r = rt_sys(NR_futex, &m->state, 0 /* WAIT */, MAIL_REQUEST, timeout);

		if (rt_waits_in_vain(&w, r) &&
		    __atomic_load_n(&m->state, __ATOMIC_ACQUIRE) != MAIL_REPLY) {
			rt_lose_controller();
			return 0;
		}
	}
	m->sleeping = 0;
answered:
	if (carry_out(m))
		goto again;
	return !rt_no_controller;	/* else others rely on this thread's coming out */
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
	if (op == RQ_MAP || op == RQ_UNMAP)
		rt_tree_mapped();
	return ask(b);
}

int rt_first_answer(struct rt_block *b)
{
	return !carry_out(&b->mail) || ask(b);
}
