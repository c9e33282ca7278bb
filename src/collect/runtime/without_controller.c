/* SPDX-License-Identifier: MIT */
/* without_controller.c - the controller is gone: when a process may become native
 *
 * Once its text may be executed, a thread that is still in translated code comes to harm: an
 * indirect transfer without an entry goes on in original code with registers that are not the
 * program's (abi.h (2), (4), (7)). So whoever learns it first waits until all others are where
 * their state is the program's: in a system call, behind which rt_leave or ask() finds
 * rt_no_controller, or waiting here, too. So that they come out soon nothing is found in the shadow
 * any more: calls by pointers, and returns, reach text that may not be executed yet. What loops
 * without any of these is waited for for some time, and no longer: it may be waiting for this
 * thread. */
#include "rt.h"

u32 rt_no_controller, rt_waits_inside;

#define SECOND		1000000000ull
#define WAIT_MOST	SECOND
#define WAIT_TRACING	(10 * SECOND)	/* the end of a trace buffer harms it for certain */

#define TASKS		"/proc/self/task/"
struct task_entry {		/* of getdents64() */
	u64 ino, off;
	uint16_t len;
	u8 type;
	char name[];
};

void rt_lose_controller(void)
{
	if (!__atomic_exchange_n(&rt_no_controller, 1, __ATOMIC_SEQ_CST))
		rt_forget_entries();
}

/* The last word of @text, a hexadecimal number; 0: it is none. */
static u64 last_number(const char *text, long n)
{
	u64 v = 0;
	long i;

	while (n > 0 && text[n - 1] <= ' ')
		n--;
	for (i = n; i > 0 && text[i - 1] > ' '; i--)
		;
	if (i + 2 >= n || text[i] != '0' || text[i + 1] != 'x')
		return 0;
	for (i += 2; i < n; i++)
		v = v << 4 | (u64)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
	return v;
}

/* Is thread @name of this process in a system call of the runtime's? "running", or what it waits
 * for: "NUMBER ARGUMENTS SP PC", -1 outside of a call. What cannot be asked counts as that. */
static int is_outside(const char *name)
{
	static const char what[] = "/syscall";
	char path[sizeof TASKS + 20 + sizeof what], text[256];
	u32 n = rt_write_text(path, TASKS);
	long got;
	u64 pc;

	for (u32 i = 0; i < 20 && name[i]; i++)
		path[n++] = name[i];
	rt_write_text(path + n, what);
	got = rt_read_start(path, text, sizeof text);
	if (got <= 0)			/* it has ended */
		return 1;
	if (text[0] == 'r' || text[0] == '-')
		return 0;
	pc = last_number(text, got);
	return pc >= (word)rt_image_start && pc < (word)rt_image_end;
}

static int all_outside(void)
{
	static const char tasks[] = TASKS;
	const long dir = rt_sys(NR_open, tasks, 02200000 /* O_DIRECTORY | O_CLOEXEC */, 0);
	__attribute__((aligned(8))) char list[1024];
	int all = !__atomic_load_n(&rt_waits_inside, __ATOMIC_SEQ_CST);
	long got = 0;

	if (dir < 0)
		return all;
	while (all && (got = rt_sys(NR_getdents64, dir, list, sizeof list)) > 0)
		for (long at = 0; all && at < got; at += ((struct task_entry *)(list + at))->len) {
			const struct task_entry *e = (struct task_entry *)(list + at);

			all = e->name[0] == '.' || is_outside(e->name);
		}
	rt_sys(NR_close, dir);
	return all;
}

void rt_await_threads(const struct rt_block *b)
{
	const u64 until = rt_monotonic() + (b->tracing ? WAIT_TRACING : WAIT_MOST);
	const word pause[2] = { 0, 1000000 };

	while (!all_outside() && rt_monotonic() < until)
		rt_sys(NR_nanosleep, pause, 0);
}

/* Not for ever: in a child that was forked meanwhile nobody is at it. */
void rt_await_native(const u32 *state, u32 done)
{
	const u64 until = rt_monotonic() + 2 * WAIT_TRACING;
	const word pause[2] = { 0, 1000000 };

	while (__atomic_load_n(state, __ATOMIC_SEQ_CST) != done && rt_monotonic() < until)
		rt_sys(NR_nanosleep, pause, 0);
}
