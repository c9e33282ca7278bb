/* SPDX-License-Identifier: MIT */
/* from_log.c - a recorded program is replayed: what it learns from the kernel comes from the log
 *
 * Of the program's system calls only those are made that change its address space, at the recorded
 * addresses; and fork(). Whoever replays has nothing else to fear: the process has a filter for all
 * others (replay_start.c). */
#include "log.h"

#define ARITHMETIC 0x8d5u		/* OF SF ZF AF PF CF */

void rt_replay_differs(struct rt_block *b, u64 pc)
{
	rt_ask(b, RQ_LOG_END, RT_END_DIFFERS, pc, b->syscall, 0);
	for (;;)
		rt_sys(NR_exit_group, 125);
}

static struct rt_event *next_event(struct rt_block *b)
{
	struct rt_block *l = rt_log_of(b);

	if (l->log_at >= l->log_end) {
		if (!rt_ask(b, RQ_LOG, l->log_at, 0, 0, 0))
			b->mail.r[0] = 0;
		l->log_at = 0;
		l->log_end = b->mail.r[0];
		l->log_execs = (u32)b->mail.r[1];
		if (!l->log_end)
			return 0;
	}
	return PTR((word)l + LOG_AT + l->log_at);
}

static void used(struct rt_block *b, const struct rt_event *e)
{
	struct rt_block *l = rt_log_of(b);

	l->nlogged++;
	l->log_at += e->size;
}

static int executes(const struct rt_event *e)
{
	return e->type == RT_E_LOST && e->a[2];
}

struct rt_event *rt_next_event(struct rt_block *b)
{
	struct rt_event *e;

	while ((e = next_event(b)) && e->type >= RT_E_GONE && !executes(e)) {
		if (e->type == RT_E_GONE)
			rt_replay_gone(e);
		else if (e->type == RT_E_LOST)
			rt_token_lost(b, e->a[0]);
		else if (e->type == RT_E_STACK)
			rt_replay_stack_limit(b, e->a[0]);
		else
			rt_replay_memory(b, e);
		used(b, e);
	}
	return e;
}

/* ... behind which nothing has been recorded. */
__attribute__((noreturn)) static void log_is_over(struct rt_block *b)
{
	(void)b;
	for (;;)
		rt_sys(NR_exit_group, 125);
}

/* There is more, or nobody knows how far the program ran from here. */
static struct rt_event *go_on(struct rt_block *b)
{
	struct rt_event *e = rt_next_event(b);

	if (!e && !rt_log_of(b)->log_execs)
		log_is_over(b);
	return e;
}

void rt_replay_goes_on(struct rt_block *b)
{
	go_on(b);
}

static void apply_data(struct rt_block *b, const struct rt_event *e)
{
	if (rt_put(e->a[0], e + 1, e->a[1]) && rt_ask(b, RQ_OPEN, 0, 0, 0, 0))
		rt_put(e->a[0], e + 1, e->a[1]);
}

/* The next event but data, which is applied. */
static struct rt_event *next_act(struct rt_block *b)
{
	struct rt_event *e;

	while ((e = rt_next_event(b)) && e->type == RT_E_DATA) {
		apply_data(b, e);
		used(b, e);
	}
	return e;
}

/* ---- memory ---------------------------------------------------------------------------------- */
static void replay_mmap(struct rt_block *b, u64 r, u64 file)
{
	word arg[6] = { r, 0, 0, 0, ~0ul, 0 };
	char path[48];
	u64 m[6];

	if (!rt_mmap_arguments(b, m))
		rt_replay_differs(b, b->ctx.pc);
	arg[1] = (word)m[1];
	arg[2] = (word)m[2];
	/* without MAP_LOCKED, MAP_HUGETLB */
	arg[3] = ((word)m[3] & ~(word)(MAP_FIXED_NOREPLACE | 0x42000)) | MAP_FIXED;
	arg[5] = (word)(m[5] >> MMAP_SHIFT);
	if (!file && m[3] & MAP_SHARED && m[3] & MAP_ANONYMOUS)
		rt_log_of(b)->not_copied = 1;
	if (file) {
		rt_controllers_file(path, (u32)file - 1);
		arg[4] = (word)rt_sys(NR_open, path, 02000000 /* O_CLOEXEC */ | O_LARGEFILE, 0);
		arg[3] = (arg[3] & ~3ul) | MAP_PRIVATE;
	} else if (!(m[3] & MAP_ANONYMOUS)) {	/* shared: the log has what is there */
		const int others = rt_replay_has_others();

		arg[3] = (arg[3] & ~3ul) | MAP_ANONYMOUS | (others ? MAP_SHARED : MAP_PRIVATE);
		if (others)
			rt_log_of(b)->not_copied = 1;
		arg[5] = 0;
	}
	rt_do_mmap(b, arg);
	if (file)
		rt_sys(NR_close, arg[4]);
}

static void replay_mremap(struct rt_block *b, u64 r)
{
	const u64 old = ARG0, size = ARG1, more = ARG2 > size ? ARG2 - size : 0;
	const word flags = (word)ARG3, to = (word)ARG4;

	if (r != old) {
		ARG3 |= MREMAP_MAYMOVE | MREMAP_FIXED;
		ARG4 = r;
	} else if (more && rt_is_ours(old + size, more)) {
		rt_make_way(b, old + size, more);
	}
	rt_do_mremap(b);
	ARG3 = flags;
	ARG4 = to;
}

u64 rt_log_brk(const struct rt_block *b)
{
	return rt_log_of(b)->log_brk;
}

/* The heap is memory like any other, for its place is not where the kernel would have it. */
static void replay_brk(struct rt_block *b, u64 r)
{
	u64 *const brk = &rt_log_of(b)->log_brk;
	const u64 was = page_up(*brk), now = page_up(r);

	if (*brk && now > was) {
		const word arg[6] = { was, now - was, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ul, 0 };

		rt_do_mmap(b, arg);
	} else if (*brk && now < was) {
		rt_announce_unmap(b, now, was - now);
		rt_sys(NR_munmap, now, was - now);
	}
	*brk = r;
	RET = r;
}

static void replay_advice(struct rt_block *b, u64 r)
{
	switch (ARG2) {
	case 10: case 18:			/* MADV_DONTFORK, _WIPEONFORK */
		rt_log_of(b)->not_copied = 1;
		/* fall through */
	case 4: case 9: case 11: case 19:
		/* MADV_DONTNEED, _REMOVE, _DOFORK, _KEEPONFORK */
		if (rt_do_range(b))
			RET = (word)rt_raw_call(b);
		break;
	default:
		RET = r;
	}
}

/* The call failed, and nevertheless did what it could: madvise() where something is mapped,
 * mprotect() up to where nothing is. */
static void replay_partly(struct rt_block *b, u64 r)
{
	if ((word)r != -(word)ENOMEM)
		return;
	if (b->syscall == NR_madvise)
		replay_advice(b, r);
	else if (b->syscall == NR_mprotect)
		rt_do_mprotect(b);
}

static void replay_memory(struct rt_block *b, const struct rt_event *e)
{
	const u64 r = e->a[0];
	word a[6];

	if (rt_failed((long)r)) {
		replay_partly(b, r);
		RET = r;
		return;
	}
	switch (rt_inner_call(b, a)) {
	case NR_mmap:
#ifdef NR_old_mmap
	case NR_old_mmap:
#endif
		b->call_length = e->a[4];
		if (RT_IS_SEGMENT(e->a[4]))
			rt_replay_segment(b, r, e->a[4]);
		else
			replay_mmap(b, r, e->a[4]);
		break;
	case NR_munmap:
		if (rt_do_munmap(b))
			RET = (word)rt_raw_call(b);
		break;
	case NR_mremap:
		replay_mremap(b, r);
		break;
	case NR_brk:
		replay_brk(b, r);
		break;
	case NR_madvise:
		replay_advice(b, r);
		break;
	case NR_mprotect:
		rt_do_mprotect(b);
		break;
	case NR_shmat:
	case NR_shmdt:
		rt_replay_segment(b, r, e->a[4]);
		break;
	}
}

/* ---- what the program wrote to its standard output and error --------------------------------- */
static struct rt_handover has;		/* of this process */

#define FILE_TABLES 16			/* at once; more have those of who has made them */
static u8 table[FILE_TABLES][sizeof has.output];

static u8 *output_of(const struct rt_block *b)
{
	return b->files ? table[b->files - 1] : has.output;
}

static u32 tables_used;			/* a bit for each */

static void note_table(struct rt_block *b, struct rt_block *of)
{
	(void)b;
	if (of->files)
		tables_used |= 1u << (of->files - 1);
}

u32 rt_replay_own_files(struct rt_block *b)
{
	u32 k = 0;

	tables_used = 0;
	rt_token_each(b, note_table);
	while (k < FILE_TABLES && tables_used & 1u << k)
		k++;
	if (k == FILE_TABLES)
		return b->files;
	rt_memcpy(table[k], output_of(b), sizeof table[k]);
	return k + 1;
}

void rt_replay_files(struct rt_block *b)
{
	if (b->files)
		rt_memcpy(has.output, output_of(b), sizeof has.output);
	b->files = 0;
}

void rt_replay_hand_over(struct rt_handover *to)
{
	*to = has;
}

void rt_replay_take_over(const struct rt_handover *from)
{
	has = *from;
}

static void close_range_of(u8 *output, u64 from, u64 to)
{
	for (u64 fd = from; fd <= to && fd < NR_OF(has.output); fd++)
		output[fd] = 0;
}

static void write_again(u32 to, u64 at, u64 n)
{
	char part[4096];

	while (n) {
		const u64 k = n < sizeof part ? n : sizeof part;

		if (rt_get(part, at, k) || rt_sys(NR_write, to, part, k) <= 0)
			return;
		at += k;
		n -= k;
	}
}

static void write_buffers(u32 to, u64 at, u64 count, u64 n)
{
	word v[2];

	for (u64 i = 0; i < count && n && !rt_get(v, at + sizeof v * i, sizeof v); i++) {
		const u64 k = v[1] < n ? v[1] : n;

		write_again(to, v[0], k);
		n -= k;
	}
}

/* The call of @b had the result @r. */
static void follow_output(struct rt_block *b, long r)
{
	const u64 fd = ARG0;
	u8 *const output = output_of(b);
	const u32 from = fd < NR_OF(has.output) ? output[fd] : 0;

	if (r < 0)
		return;
	switch (b->syscall) {
	case NR_write:
		if (from)
			write_again(from, ARG1, (u64)r);
		break;
	case NR_writev:
		if (from)
			write_buffers(from, ARG1, ARG2, (u64)r);
		break;
	case NR_close:
		close_range_of(output, fd, fd);
		break;
	case NR_close_range:
		if (!ARG2)
			close_range_of(output, fd, ARG1);
		break;
	case NR_dup:
	case NR_dup2:
	case NR_dup3:
		if ((u64)r < NR_OF(has.output))
			output[r] = (u8)from;
		break;
	case NR_fcntl:
#ifdef NR_old_fcntl
	case NR_old_fcntl:
#endif
		if ((ARG1 == 0 || ARG1 == 1030) && (u64)r < NR_OF(has.output))	/* F_DUPFD* */
			output[r] = (u8)from;
		break;
	}
}

void rt_replay_echo(void)
{
	has.output[1] = 1;
	has.output[2] = 2;
}

/* ---- children -------------------------------------------------------------------------------- */
#define child has.child			/* those that have been made again */

static void remember_child(u32 then, u64 now)
{
	const u32 i = has.next_child++ % NR_OF(child);

	child[i].then = then;
	child[i].now = (u32)now;
}

/* The program has waited for @then: so has the replay, and what they print comes in order. */
static void wait_for_child(struct rt_block *b, u32 then)
{
	for (u32 i = 0; i < NR_OF(child); i++)
		if (then && child[i].then == then) {
			rt_log_of(b)->awaits_child = 1;
			/* another child's SIGCHLD, which has a handler, interrupts it */
			while (rt_sys(NR_wait4, child[i].now, 0, 0, 0) == -EINTR)
				;
			rt_log_of(b)->awaits_child = 0;
			child[i].then = 0;
		}
}

/* Has the child that was waited for ended? It may have stopped, or gone on again, and a replay that
 * waits for its end then may wait for ever. 0 also if that is not known. */
static int child_has_ended(struct rt_block *b)
{
	enum { WUNTRACED = 2, WCONTINUED = 8, CONTINUED = 0xffff };
	u32 status = 0;

	if (!(ARG2 & (WUNTRACED | WCONTINUED)))
		return 1;
	return ARG1 && !rt_get(&status, ARG1, 4) && (status & 0xff) != 0x7f && status != CONTINUED;
}

static void follow_children(struct rt_block *b, long r)
{
	enum { CODE = 8, PID = sizeof(word) == 8 ? 16 : 12, CLD_DUMPED = 3 };	/* siginfo */
	u32 pid = 0, code = 0;

	if (rt_is_wait(b) && r > 0 && child_has_ended(b))
		wait_for_child(b, (u32)r);
	else if (b->syscall == NR_waitid && !r && ARG2 && !rt_get(&code, ARG2 + CODE, 4) &&
		 code <= CLD_DUMPED && !rt_get(&pid, ARG2 + PID, 4))
		wait_for_child(b, pid);
}

/* ---- the stack's limit ----------------------------------------------------------------------- */
#define RLIMIT_STACK 3

/* It grows here as it grew then, whatever the limit of who replays is. */
static void follow_stack_limit(struct rt_block *b, long r)
{
	u64 size;
	word limit;

	if (r)
		return;
	if (b->syscall == NR_setrlimit && ARG0 == RLIMIT_STACK && ARG1 &&
	    !rt_get(&limit, ARG1, sizeof limit))
		rt_replay_stack_limit(b, limit == ~(word)0 ? ~0ull : limit);
	else if (b->syscall == NR_prlimit64 && !ARG0 && ARG1 == RLIMIT_STACK && ARG2 &&
		 !rt_get(&size, ARG2, sizeof size))
		rt_replay_stack_limit(b, size);
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* The signal of @e comes on the way out. */
static void give_signal(struct rt_block *b, struct rt_event *e)
{
	/* where flags mean nothing the translation may have others */
	b->ctx.flags = (b->ctx.flags & ~(u64)ARITHMETIC) | (e->a[2] & ARITHMETIC);
	b->log_place = RT_PLACE_CALL;
	b->log_mask = b->app_mask;
	rt_record_mask(b, b->app_mask & ~SIG_BIT(e->nr));	/* sigsuspend() has let it in */
	rt_signal_waits(b, e->nr, (const struct k_siginfo *)(e + 1));
	used(b, e);
	b->held = 1;
	b->fix_mask = 1;
	go_on(b);
}

/* Beside a call? */
static int is_signal_at(const struct rt_event *e, u64 pc)
{
	return e && e->type == RT_E_SIGNAL && e->a[0] == pc && !e->a[1];
}

static int is_switch(const struct rt_event *e, const struct rt_block *b, enum rt_log_place place)
{
	return e && e->type == RT_E_SWITCH && e->nr == place && e->a[0] == b->thread_id;
}

/* Another thread has the token, until it is this one's turn again. */
static void switch_threads(struct rt_block *b, const struct rt_event *e, u64 check)
{
	const u64 to = e->a[2];

	if (e->a[3] != check || e->a[4] != b->ctx.pc)
		rt_replay_differs(b, b->ctx.pc);
	used(b, e);
	rt_token_give(b, to);
}

static int is_group(const struct rt_event *e, const struct rt_block *b, enum rt_log_place place)
{
	return e && e->type == RT_E_GROUP && e->nr == place &&
	       e->a[1] == (place == RT_PLACE_SAFEPOINT ? rt_clock(b) : 0);
}

void rt_replay_group(struct rt_block *b, enum rt_log_place place, u64 check)
{
	const struct rt_event *e;

	while (is_group(e = rt_next_event(b), b, place)) {
		const u32 number = (u32)e->a[2];

		if (e->a[3] != check || e->a[4] != b->ctx.pc)
			rt_replay_differs(b, b->ctx.pc);
		used(b, e);
		if (number)
			rt_group_await(b, number);
	}
}

int rt_replay_is_due(struct rt_block *b)
{
	const struct rt_event *e = rt_next_event(b);

	return e && e->type >= RT_E_SIGNAL && e->a[1] && e->a[1] == rt_clock(b);
}

/* It has left where the next event is. */
void rt_replay_safepoint(struct rt_block *b)
{
	struct rt_event *e = rt_next_event(b);
	const u64 check = rt_registers_check(b);

	b->syscall = RT_AT_SAFEPOINT;
	if (is_switch(e, b, RT_PLACE_SAFEPOINT) && e->a[1] == rt_clock(b)) {
		switch_threads(b, e, check);
		rt_replay_group(b, RT_PLACE_SAFEPOINT, check);
		go_on(b);
		return;
	}
	if (is_group(e, b, RT_PLACE_SAFEPOINT)) {
		rt_replay_group(b, RT_PLACE_SAFEPOINT, check);
		go_on(b);
		return;
	}
	if (e && e->type == RT_E_CHECK && e->a[1] == rt_clock(b) && e->a[3] == check &&
	    e->a[4] == b->ctx.pc) {
		used(b, e);
		go_on(b);
		return;
	}
	if (!e || e->type != RT_E_SIGNAL || e->a[0] != b->ctx.pc || e->a[1] != rt_clock(b) ||
	    e->a[3] != check)
		rt_replay_differs(b, b->ctx.pc);
	give_signal(b, e);
}

u64 rt_replay_heir(struct rt_block *b)
{
	struct rt_event *e = rt_next_event(b);
	u64 to;

	if (!e)
		log_is_over(b);
	if (!is_switch(e, b, RT_PLACE_EXIT))
		rt_replay_differs(b, b->ctx.pc);
	to = e->a[2];
	used(b, e);
	return to;
}

u64 rt_replay_process_heir(struct rt_block *b)
{
	return is_switch(rt_next_event(b), b, RT_PLACE_EXIT) ? rt_replay_heir(b) : 0;
}

/* The program waited in the call, or others executed while it did not. */
static void switch_in_call(struct rt_block *b, u64 check)
{
	struct rt_event *e;

	rt_replay_group(b, RT_PLACE_CALL, check);
	while (is_switch(e = rt_next_event(b), b, RT_PLACE_CALL)) {
		switch_threads(b, e, check);
		rt_replay_group(b, RT_PLACE_CALL, check);
	}
}

/* The call made a process, with stream @stream - 1, or a thread, whose number was @r. */
static void make_child(struct rt_block *b, u64 r, u64 stream)
{
	const int thread = !stream && !rt_failed((long)r) && rt_makes_thread(b);

	if (!stream && !thread)
		return;
	b->call_length = stream;
	b->log_tid = (u32)r;
	rt_dispatch(b);
	if (rt_failed((long)RET))
		rt_replay_differs(b, b->ctx.pc);
	if (!thread)
		remember_child((u32)r, RET);
}

static void make(struct rt_block *b, const struct rt_event *e)
{
	const u64 r = e->a[0];
	word a[6];
	u64 at;
	int real = 0;

	switch (rt_call_of(rt_inner_call(b, a))->how) {
	case HOW_REAL:
		replay_memory(b, e);
		break;
	case HOW_OWN:
	case HOW_EXITS:
		rt_dispatch(b);
		break;
	case HOW_FORKS:
		make_child(b, r, e->a[4]);
		RET = r;
		break;
	case HOW_SUB:
		rt_sub_call(b, &at, &real);
		if (real && rt_dispatch(b))
			RET = (word)rt_raw_call(b);
		else if (!real)
			RET = r;
		break;
	default:
		RET = r;
		break;
	}
	if (RET != r)
		rt_replay_differs(b, b->ctx.pc);
}

/* The program of @b executes another one, and others keep its memory: that is executed in a
 * process which begins as a copy. */
static void execute_apart(struct rt_block *b, struct rt_event *e)
{
	const u32 pid = (u32)e->a[3];

	if (e->a[0] != b->thread_id)
		rt_replay_differs(b, b->ctx.pc);
	b->call_length = e->a[2];
	b->log_tid = pid;
	used(b, e);
	rt_fork_to_execute(b);
	if (rt_failed((long)RET))
		rt_replay_differs(b, b->ctx.pc);
	remember_child(pid, RET);
	rt_token_gone(b, rt_replay_heir(b));
}

void rt_replay_call(struct rt_block *b)
{
	const struct rt_call *c = rt_call_of(b->syscall);
	const u64 check = rt_registers_check(b);
	struct rt_event *e, call;

	switch_in_call(b, check);
	e = c->how == HOW_EXECS ? rt_next_event(b) : next_act(b);
	if (!e && c->how == HOW_EXECS)
		rt_replay_exec(b);
	if (e && executes(e) && c->how == HOW_EXECS)
		execute_apart(b, e);
	if (!e)
		log_is_over(b);
	if (is_signal_at(e, b->ctx.pc - 2)) {
		b->ctx.pc -= 2;
		b->ctx.gpr[R11] = e->a[2];
		give_signal(b, e);
		rt_clock_await(b);
		rt_resume(b);
		return;
	}
	if (e->type != RT_E_CALL || e->nr != b->syscall || e->a[1] != check ||
	    e->a[2] != b->ctx.pc || e->a[5] != rt_clock(b))
		rt_replay_differs(b, b->ctx.pc);
	call = *e;				/* what is made may need the log */
	used(b, e);
	b->ctx.flags = (b->ctx.flags & ~(u64)ARITHMETIC) | (call.a[3] & ARITHMETIC);
	b->ctx.gpr[R11] = call.a[3];
	follow_output(b, (long)call.a[0]);
	follow_children(b, (long)call.a[0]);
	follow_stack_limit(b, (long)call.a[0]);
	if (IS_SIGRETURN(b->syscall)) {			/* which does not come back */
		go_on(b);
		rt_clock_await(b);
	}
	make(b, &call);
	rt_trace_sysret(b);
	e = go_on(b);
	if (is_signal_at(e, b->ctx.pc))
		give_signal(b, e);
	rt_clock_await(b);
}

/* One that has not been asked for is somebody else's, who does not know of the recording. */
int rt_replay_drops(struct rt_block *b)
{
	if (!b->log_place)
		return 1;
	b->log_place = 0;
	rt_record_mask(b, b->log_mask);
	return 0;
}

void rt_replay_insn(struct rt_block *b, u32 what, u64 v[4], u64 *flags)
{
	struct rt_event *e = rt_next_event(b);

	if (!e)
		log_is_over(b);
	if (e->type != RT_E_INSN || e->nr != what || e->a[0] != b->ctx.pc)
		rt_replay_differs(b, b->ctx.pc);
	rt_memcpy(v, e->a + 1, 4 * sizeof *v);
	*flags = e->a[5];
	used(b, e);
	go_on(b);
	rt_clock_await(b);
}
