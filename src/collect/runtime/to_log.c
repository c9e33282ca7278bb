/* SPDX-License-Identifier: MIT */
/* to_log.c - a program is recorded: what it learns from the kernel and the processor is logged */
#include "log.h"

/* ---- the table ------------------------------------------------------------------------------- */
#define fix(a, n)	{ PART_FIX, a, 0, n }
#define FIX(a, n)	{ PART_ALWAYS, a, 0, n }
#define ret(a, n)	{ PART_RET, a, 0, n }
#define arr(a, b, n)	{ PART_ARR, a, b, n }
#define len(a, b)	{ PART_LEN, a, b, 0 }
#define iov(a, b)	{ PART_IOV, a, b, 0 }
#define msg(a)		{ PART_MSG, a, 0, 0 }
#define msgs(a)		{ PART_MSGS, a, 0, 0 }
#define set(a, b)	{ PART_SET, a, b, 0 }
#define CALL(nr, name, how, ...) [nr] = { HOW_##how, { __VA_ARGS__ } },
static const struct rt_call calls[] = {
#ifdef __i386__
#include "calls32.inc"
#else
#include "calls.inc"
#endif
};
#undef CALL
#undef fix
#undef FIX
#undef ret
#undef arr
#undef len
#undef iov
#undef msg
#undef msgs
#undef set

const struct rt_call *rt_call_of(u64 nr)
{
	static const struct rt_call none;	/* HOW_NONE */

	return nr < NR_OF(calls) ? &calls[nr] : &none;
}

u64 rt_registers_check(const struct rt_block *b)
{
	u64 h = b->ctx.pc;

	for (u32 i = 0; i < RT_NGPR; i++)
		if (!CALL_CHANGES(i)) {
			h = (h ^ (word)b->ctx.gpr[i]) * 0x9e3779b97f4a7c15ull;
			h ^= h >> 29;
		}
	return h;
}

/* ---- calls that say more --------------------------------------------------------------------- */
static long ioctl_size(u32 cmd)
{
	static const struct { u32 cmd, size; } known[] = {
		/* TCGETS, TCSETS*, TCGETA, TCSETA*; TCSBRK, TCXONC, TCFLSH */
		{ 0x5401, 36 }, { 0x5402, 0 }, { 0x5403, 0 }, { 0x5404, 0 },
		{ 0x5405, 18 }, { 0x5406, 0 }, { 0x5407, 0 }, { 0x5408, 0 },
		{ 0x5409, 0 }, { 0x540a, 0 }, { 0x540b, 0 },
		/* TIOCEXCL, TIOCNXCL, TIOCSTI, TIOCMGET, _MBIS, _MBIC, _MSET */
		{ 0x540c, 0 }, { 0x540d, 0 }, { 0x5412, 0 }, { 0x5415, 4 },
		{ 0x5416, 0 }, { 0x5417, 0 }, { 0x5418, 0 },
		/* TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCGWINSZ, TIOCSWINSZ */
		{ 0x540e, 0 }, { 0x540f, 4 }, { 0x5410, 0 },
		{ 0x5411, 4 }, { 0x5413, 8 }, { 0x5414, 0 },
		/* FIONREAD, TIOCPKT, FIONBIO, TIOCNOTTY, TIOCSETD; TIOCGETD, TCSBRKP, TIOCGSID */
		{ 0x541b, 4 }, { 0x5420, 0 }, { 0x5421, 0 }, { 0x5422, 0 }, { 0x5423, 0 },
		{ 0x5424, 4 }, { 0x5425, 0 }, { 0x5429, 4 },
		/* TIOCGPTPEER; FIONCLEX, FIOCLEX, FIOASYNC, FIOQSIZE; SIOCATMARK, SIOCGIFCONF */
		{ 0x5441, 0 }, { 0x5450, 0 }, { 0x5451, 0 }, { 0x5452, 0 }, { 0x5460, 8 },
		{ 0x8905, 4 }, { 0x8912, ~0u },
		/* FIBMAP, FIGETBSZ, HDIO_GETGEO; BLKROSET, BLKROGET, BLKRRPART, BLKGETSIZE,
		 * BLKFLSBUF, BLKRASET, BLKRAGET, BLKFRASET, BLKFRAGET, BLKSECTSET, BLKSECTGET,
		 * BLKSSZGET */
		{ 0x0001, 4 }, { 0x0002, 4 }, { 0x0301, 8 + sizeof(word) },
		{ 0x125d, 0 }, { 0x125e, 4 }, { 0x125f, 0 }, { 0x1260, sizeof(word) },
		{ 0x1261, 0 }, { 0x1262, 0 }, { 0x1263, sizeof(word) }, { 0x1264, 0 },
		{ 0x1265, sizeof(word) }, { 0x1266, 0 }, { 0x1267, 2 }, { 0x1268, 4 },
		/* BLKDISCARD, BLKIOMIN, BLKIOOPT, BLKALIGNOFF, BLKPBSZGET, BLKDISCARDZEROES,
		 * BLKSECDISCARD, BLKROTATIONAL, BLKZEROOUT */
		{ 0x1277, 0 }, { 0x1278, 4 }, { 0x1279, 4 }, { 0x127a, 4 }, { 0x127b, 4 },
		{ 0x127c, 4 }, { 0x127d, 0 }, { 0x127e, 2 }, { 0x127f, 0 },
	};
	const u32 kind = cmd >> 8 & 0xff;

	for (u32 i = 0; i < NR_OF(known); i++)
		if (known[i].cmd == cmd)
			return known[i].size == ~0u ? -1 : (long)known[i].size;
	if (cmd >> 8 == 0x89)
		return sizeof(word) == 8 ? 40 : 32;	/* struct ifreq */
	/* those that say themselves: of terminals, files, disks */
	if (kind == 'T' || kind == 'f' || kind == 'X' || kind == 0x12 || kind == 0x94)
		return cmd >> 31 ? (long)(cmd >> 16 & 0x3fff) : cmd >> 30 ? 0 : -1;
	return -1;
}

static long fcntl_size(u32 cmd)
{
	switch (cmd) {
	case 5: case 36:			/* F_GETLK, F_OFD_GETLK */
		return 32;
	case 16: case 1035: case 1037:		/* F_GETOWN_EX, F_GET_RW_HINT, F_GET_FILE_RW_HINT */
		return 8;
	}
	return 0;
}

static long prctl_size(u32 what)
{
	switch (what) {
	case 2: case 5: case 9: case 11: case 19: case 25: case 37:
		/* PR_GET_PDEATHSIG, _UNALIGN, _FPEMU, _FPEXC, _ENDIAN, _TSC, _CHILD_SUBREAPER */
		return 4;
	case 16:				/* PR_GET_NAME */
		return 16;
	case 40:				/* PR_GET_TID_ADDRESS */
		return 8;
	case 35: case 59:			/* PR_SET_MM, PR_SET_SYSCALL_USER_DISPATCH */
		return -1;
	}
	return 0;
}

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

long rt_sub_call(const struct rt_block *b, u64 *at, int *real)
{
	const long r = (long)RET, narrow = rt_narrow_call(b, at, real);

	if (narrow != RT_AS_USUAL)
		return narrow;
	*at = ARG1;
	switch (b->syscall) {
	case NR_ioctl:
		*at = ARG2;
		return ioctl_size((u32)ARG1);
	case NR_fcntl:
		*at = ARG2;
		return fcntl_size((u32)ARG1);
	case NR_prctl:
		return prctl_size((u32)ARG0);
	case NR_arch_prctl:
		*real = (ARG0 >= 0x1001 && ARG0 <= 0x1004 && ARG0 != ARCH_GET_FS) ||
			ARG0 == 0x1023;			/* ARCH_REQ_XCOMP_PERM */
		return *real ? 0 : ARG0 == ARCH_GET_FS || (ARG0 & ~7ull) == 0x1020 ? 8 : 0;
	case NR_futex:					/* the word may be the kernel's to change */
		*at = ARG0;
		return 4;
	case NR_personality:
		return ARG0 != 0xffffffff && ARG0 & READ_IMPLIES_EXEC ? -1 : 0;
	case NR_mincore:
		*at = ARG2;
		return (long)((ARG1 + 4095) >> 12);
	case NR_getgroups:
		return ARG0 && r > 0 ? 4 * r : 0;
	case NR_msgrcv:
		return r >= 0 ? 8 + r : 0;
	case NR_getxattr: case NR_lgetxattr: case NR_fgetxattr:
		*at = ARG2;
		return ARG3 && r > 0 ? r : 0;
	case NR_listxattr: case NR_llistxattr: case NR_flistxattr:
		return ARG2 && r > 0 ? r : 0;
	case NR_shmctl: case NR_semctl: case NR_msgctl:
		return rt_ipc_size(b, at);
	case NR_name_to_handle_at:
		return -1;
	}
	return -1;
}

/* ---- any program ----------------------------------------------------------------------------- */
static u32 all_arguments(const word a[6], word at[RT_WRITES])
{
	for (u32 i = 0; i < 6; i++)
		at[i] = a[i];
	return 6;
}

u32 rt_call_writes(const struct rt_block *b, word at[RT_WRITES])
{
	word a[6];
	const struct rt_call *c = rt_call_of(rt_inner_call(b, a));
	int real = 0;
	u64 sub = 0;
	u32 n = 0;

	switch (c->how) {
	case HOW_SUB:
		if (rt_sub_call(b, &sub, &real) < 0)
			return all_arguments(a, at);
		at[n++] = (word)sub;
		return n;
	case HOW_PLAIN: case HOW_REAL: case HOW_OWN: case HOW_EXITS: case HOW_EXECS:
		for (u32 i = 0; i < NR_OF(c->part) && c->part[i].kind != PART_NONE; i++) {
			at[n++] = a[c->part[i].arg];
			if (c->part[i].kind == PART_LEN)
				at[n++] = a[c->part[i].by];
		}
		return n;
	}
	return all_arguments(a, at);
}

/* ---- the log --------------------------------------------------------------------------------- */
static void end_log(struct rt_block *b, u32 why, u64 more)
{
	rt_log_over(b);
	rt_ask(b, RQ_LOG_END, why, more, 0, 0);
	rt_group_leave(b);
	rt_token_over();
}

/* Room for an event of @n bytes, which log_at has to pass when it is there. NULL: nobody wants it
 * any more. */
static struct rt_event *room(struct rt_block *b, u32 n)
{
	const struct rt_block *l = rt_log_of(b);

	if (l->log_at + n > LOG_SIZE && !rt_ask(b, RQ_LOG, 0, 0, 0, 0)) {
		rt_log_over(b);
		rt_group_leave(b);
		rt_token_over();
		return 0;
	}
	return PTR((word)l + LOG_AT + l->log_at);
}

static void commit(struct rt_block *b, const struct rt_event *e)
{
	struct rt_block *l = rt_log_of(b);

	l->nlogged++;
	/* it is below LOG_SIZE: its lower half is enough */
	__atomic_store_n((rt_result *)&l->log_at, (word)(l->log_at + e->size), __ATOMIC_RELEASE);
}

static void put_event(struct rt_block *b, u32 type, u32 nr, const u64 a[6])
{
	struct rt_event *e = room(b, sizeof *e);

	if (!e)
		return;
	*e = (struct rt_event){ .size = sizeof *e, .type = (uint16_t)type, .nr = (uint16_t)nr };
	rt_memcpy(e->a, a, sizeof e->a);
	commit(b, e);
}

void rt_log_group(struct rt_block *b, u32 place, const u64 a[6])
{
	put_event(b, RT_E_GROUP, place, a);
}

void rt_log_switch(struct rt_block *b, u32 place, const u64 a[6])
{
	put_event(b, RT_E_SWITCH, place, a);
}

void rt_log_lost(struct rt_block *b, const struct rt_block *of, u32 stream)
{
	put_event(b, RT_E_LOST, 0, (const u64[6]){ of->thread_id, 0, stream, of->pid });
}

void rt_log_check(struct rt_block *b, u64 check)
{
	put_event(b, RT_E_CHECK, 0, (const u64[6]){ 0, rt_clock(b), 0, check, b->ctx.pc });
}

void rt_log_killed(struct rt_block *b)
{
	end_log(b, RT_END_SHARED, RT_SHARED_KILLED);
}

/* @n bytes at @at of the program, which fit into one event. False: they cannot be read. */
static int put_part_of(struct rt_block *b, u32 type, u64 at, u32 n)
{
	const u32 size = (u32)sizeof(struct rt_event) + ((n + 7) & ~7u);
	struct rt_event *e = room(b, size);

	if (!e)
		return 1;
	*e = (struct rt_event){ .size = size, .type = (uint16_t)type, .a = { at } };
	e->a[type == RT_E_DATA ? 1 : 2] = n;
	if (n & 7)
		*(u64 *)PTR((word)(e + 1) + (n & ~7u)) = 0;
	if (rt_get(e + 1, at, n))
		return 0;
	commit(b, e);
	return 1;
}

/* As far as they can be read. */
static void put_bytes(struct rt_block *b, u32 type, u64 at, u64 n)
{
	while (n && b->logged == RT_LOG_RECORD) {
		const u32 page = 4096 - (u32)(at & 4095);
		u32 part = n < RT_DATA_MAX ? (u32)n : RT_DATA_MAX;

		if (!put_part_of(b, type, at, part)) {
			part = part < page ? part : page;	/* it may end behind this one */
			if (!put_part_of(b, type, at, part))
				return;
		}
		at += part;
		n -= part;
	}
}

static void put_data(struct rt_block *b, u64 at, u64 n)
{
	put_bytes(b, RT_E_DATA, at, n);
}

void rt_log_data(struct rt_block *b, u64 at, u64 n)
{
	put_data(b, at, n);
}

void rt_log_memory(struct rt_block *b, u64 at, u64 n)
{
	put_bytes(b, RT_E_MEMORY, at, n);
}

static void put_buffers(struct rt_block *b, u64 at, u64 count, u64 n)
{
	word v[2];

	for (u64 i = 0; i < count && i < 1024 && n && !rt_get(v, at + sizeof v * i, sizeof v);
	     i++) {
		const u64 part = v[1] < n ? v[1] : n;

		put_data(b, v[0], part);
		n -= part;
	}
}

static void put_message(struct rt_block *b, u64 at, u64 n)
{
	word m[7];				/* struct msghdr: name, its length; buffers, how
						 * many; control, its length; flags */

	if (rt_get(m, at, sizeof m))
		return;
	put_buffers(b, m[2], m[3], n);
	put_data(b, m[0], m[0] ? (u32)m[1] : 0);
	put_data(b, m[4], m[4] ? m[5] : 0);
	put_data(b, at, sizeof m);
}

static void put_messages(struct rt_block *b, u64 at, u64 r)
{
	const u32 size = 8 * sizeof(word);	/* struct mmsghdr: how many bytes, behind it */
	u32 n;

	for (u64 i = 0; i < r && !rt_get(&n, at + size * i + 7 * sizeof(word), 4); i++) {
		put_message(b, at + size * i, n);
		put_data(b, at + size * i, size);
	}
}

/* Part @p of a call that has the arguments @a and the result @r. */
static void put_part(struct rt_block *b, const struct rt_part *p, const word a[6], u64 r)
{
	const u64 at = a[p->arg], by = a[p->by];
	const u32 bits = 8 * sizeof(word);
	u32 n = 0;

	if (!at)
		return;
	switch (p->kind) {
	case PART_FIX:
	case PART_ALWAYS:
		put_data(b, at, p->size);
		break;
	case PART_RET:
		put_data(b, at, r * p->size);
		break;
	case PART_ARR:
		put_data(b, at, by * p->size);
		break;
	case PART_LEN:
		if (!by || rt_get(&n, by, 4))
			break;
		put_data(b, at, n < b->call_length ? n : b->call_length);
		put_data(b, by, 4);
		break;
	case PART_IOV:
		put_buffers(b, at, by, r);
		break;
	case PART_MSG:
		put_message(b, at, r);
		break;
	case PART_MSGS:
		put_messages(b, at, r);
		break;
	case PART_SET:
		put_data(b, at, (by + bits - 1) / bits * sizeof(word));
		break;
	}
}

static void put_call(struct rt_block *b, word result)
{
	u64 m[6];
	word a[6];
	const int names = (rt_mmap_arguments(b, m) && !(m[3] & MAP_ANONYMOUS)) ||
			  ((rt_inner_call(b, a) == NR_shmat ||
			    rt_call_of(b->syscall)->how == HOW_FORKS) && !rt_failed((long)result));

	put_event(b, RT_E_CALL, b->syscall, (const u64[6]){
		result, b->call_check, b->ctx.pc, b->ctx.flags, names ? b->call_length : 0,
		rt_clock(b) });
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* Signals that came where no place of the log is come here. 1: there are some. */
static int give_deferred(struct rt_block *b, enum rt_log_place place)
{
	if (!b->deferred)
		return 0;
	b->deferred = 0;
	b->held = 1;
	b->fix_mask = 1;
	b->log_place = place;
	return 1;
}

/* ... in front of the call. */
static int signals_first(struct rt_block *b)
{
	if (!give_deferred(b, RT_PLACE_CALL))
		return 0;
	b->ctx.pc -= 2;
	rt_resume(b);
	return 1;
}

void rt_record_safepoint(struct rt_block *b)
{
	if (!give_deferred(b, RT_PLACE_SAFEPOINT) && !rt_token_safepoint(b) && RT_SESSION->checks)
		rt_log_check(b, rt_registers_check(b));
}

static u32 shares;			/* there is memory that children share; */
static u32 borrows;			/* ... and this one's parent waits for it */

/* Whoever attaches or maps a segment is one of the group, as are its children. 0: it cannot be. */
static int joins_group(struct rt_block *b)
{
	if (borrows) {				/* its parent is in the group, and waits for it */
		end_log(b, RT_END_CALL, b->syscall);
		return 0;
	}
	shares = 1;
	rt_token_group(b);
	return b->logged == RT_LOG_RECORD;
}

static void maps_segment(struct rt_block *b, u64 which)
{
	if (joins_group(b))
		b->call_length = which;
}

/* @b maps memory, with the arguments @m of mmap(). */
static int known_file(struct rt_block *b, const u64 m[6])
{
	b->call_length = 0;
	if (m[3] & MAP_ANONYMOUS) {
		shares |= m[3] & MAP_SHARED;
		return 1;
	}
	if (!rt_ask(b, RQ_LOG_FILE, m[4], m[5], m[1], rt_shares_file(b)))
		return 0;
	if (RT_IS_SEGMENT(b->mail.r[0])) {
		maps_segment(b, b->mail.r[0]);
		return 1;
	}
	if (!b->mail.r[0] && b->mail.r[1]) {
		end_log(b, RT_END_SEGMENT, b->mail.r[1]);
		return 1;
	}
	if (rt_shares_file(b) == RT_SHARES_WRITES) {
		shares |= b->mail.r[0] != 0;
		return b->mail.r[0] || rt_failed(rt_sys(NR_fcntl, m[4], 1 /* F_GETFD */));
	}
	b->call_length = b->mail.r[0];
	return b->call_length || rt_failed(rt_sys(NR_fcntl, m[4], 1));
}

static void attaches(struct rt_block *b)
{
	if (joins_group(b) && !rt_known_segment(b))
		end_log(b, RT_END_SEGMENT, b->mail.r[1]);
}

/* More of what is mapped may be of a segment, where that has no room. */
static void remaps(struct rt_block *b)
{
	if (shares && ARG2 > ARG1 &&
	    rt_ask(b, RQ_LOG_SEGMENT, RT_SEGMENT_GROWS, ARG0, ARG2, 0) && !b->mail.r[0])
		end_log(b, RT_END_SEGMENT, RT_SEGMENT_GROWN);
}

static u64 clone_flags(const struct rt_block *b)
{
	u64 flags = b->syscall == NR_clone ? ARG0 : 0;

	if (b->syscall == NR_clone3 && rt_get(&flags, ARG0, 8))
		return 0;
	return flags;
}

void rt_log_forked(const struct rt_block *b)
{
	borrows = shares && !rt_log_of(b)->group_member;
}

int rt_makes_thread(const struct rt_block *b)
{
	return rt_takes_part(clone_flags(b));
}

/* The call makes a process that has its parent's memory, or some of it. One that its parent waits
 * for is about to execute another program, and leaves it alone. */
static void note_sharing(struct rt_block *b)
{
	const u64 flags = clone_flags(b) & (CLONE_VM | CLONE_VFORK | CLONE_THREAD);

	if (borrows && (flags == CLONE_VM || !flags))
		end_log(b, RT_END_SHARED, RT_SHARED_MADE);
	else if (shares && !flags && b->syscall != NR_vfork)
		joins_group(b);
}

void rt_record_not_followed(struct rt_block *b)
{
	if (rt_records(b) && rt_token_others(b))
		end_log(b, RT_END_SHARED, RT_SHARED_EXECS);
}

/* What changes it is not a call of this process. */
static void put_stack_limit(struct rt_block *b)
{
	struct rt_block *l = rt_log_of(b);
	const u64 limit = l->stack_limit;

	if (limit == l->stack_logged)
		return;
	l->stack_logged = limit;
	put_event(b, RT_E_STACK, 0, (const u64[6]){ limit });
}

/* What is known of a call before it is made, by @nr, says that what it does cannot be recorded. */
static int ends_before(struct rt_block *b, u32 nr)
{
	u64 at, m[6];
	int real;

	switch (rt_call_of(nr)->how) {
	case HOW_ENDS:
		end_log(b, RT_END_CALL, b->syscall);
		return 1;
	case HOW_FORKS:
		note_sharing(b);
		break;
	case HOW_EXECS:
		if (rt_token_others(b) && rt_token_is_first(b))
			end_log(b, RT_END_SHARED, RT_SHARED_EXECS);
		break;
	case HOW_SUB:
		if (rt_sub_call(b, &at, &real) < 0)
			end_log(b, b->syscall == NR_ioctl ? RT_END_IOCTL : RT_END_CALL,
				b->syscall == NR_ioctl ? ARG1 : b->syscall);
		break;
	case HOW_REAL:
		if (rt_mmap_arguments(b, m) && !known_file(b, m))
			end_log(b, RT_END_FILE, 0);
		else if (nr == NR_shmat)
			attaches(b);
		else if (nr == NR_mremap)
			remaps(b);
		break;
	}
	return b->logged != RT_LOG_RECORD;
}

/* ---- what the kernel does to memory as a thread ends ----------------------------------------- */
/* It does it when others run: here it is the thread's own doing. */
static void end_thread(struct rt_block *b)
{
	const u32 none = 0;

	rt_robust_end_thread(b);
	rt_sys(NR_set_tid_address, 0);
	if (!b->clear_tid || rt_put(b->clear_tid, &none, 4))
		return;
	put_data(b, b->clear_tid, 4);
	rt_sys(NR_futex, b->clear_tid, 1 /* FUTEX_WAKE */, 1);
}

/* The process of @b ends, and others keep its memory. */
static void end_others_thread(struct rt_block *b, struct rt_block *of)
{
	const u32 none = 0;

	if (of->pid != b->pid || !of->clear_tid || rt_put(of->clear_tid, &none, 4))
		return;
	put_data(b, of->clear_tid, 4);
	rt_sys(NR_futex, of->clear_tid, 1 /* FUTEX_WAKE */, 1);
}

/* ---- before and behind a call ---------------------------------------------------------------- */
#define MADV_FREE 8

/* The controller compares memory in front of a call and behind it. */
static int is_checked(const struct rt_call *c)
{
	return RT_SESSION->check && c->how != HOW_OWN && c->how != HOW_EXITS && c->how != HOW_EXECS;
}

/* Will @b's call be done when replaying, too? */
static int is_real(const struct rt_block *b, const struct rt_call *c)
{
	word a[6];
	int real = rt_call_of(rt_inner_call(b, a))->how == HOW_REAL;
	u64 at;

	if (c->how == HOW_SUB)
		rt_sub_call(b, &at, &real);
	return real;
}

static void check_begin(struct rt_block *b, const struct rt_call *c)
{
	long fd;

	if (!is_checked(c) || !rt_ask(b, RQ_CHECK, 0, 0, b->syscall, is_real(b, c)) ||
	    !b->mail.r[0])
		return;
	fd = rt_sys(NR_userfaultfd, 02000001 /* O_CLOEXEC | UFFD_USER_MODE_ONLY */);
	rt_ask(b, RQ_CHECK, 0, rt_failed(fd) ? ~0ull : (u64)fd + 1, b->syscall, is_real(b, c));
	if (!rt_failed(fd))
		rt_sys(NR_close, fd);
}

static void check_end(struct rt_block *b, const struct rt_call *c)
{
	if (is_checked(c))
		rt_ask(b, RQ_CHECK, 1, 0, 0, 0);
}

/* It may change a length that the call has. */
static void note_length(struct rt_block *b, const struct rt_call *c, const word a[6])
{
	u32 n;

	for (u32 i = 0; i < NR_OF(c->part); i++)
		if (c->part[i].kind == PART_LEN)
			b->call_length = rt_get(&n, a[c->part[i].by], 4) ? 0 : n;
}

int rt_record_begin(struct rt_block *b)
{
	const struct rt_call *c = rt_call_of(b->syscall);
	word a[6];
	u32 nr;

	/* A handler that is done returns first: signals that come faster than they are given would
	 * else interrupt each other until there is no stack. */
	if (!IS_SIGRETURN(b->syscall) && signals_first(b))
		return RT_CALL_LATER;
	b->call_check = rt_registers_check(b);
	put_stack_limit(b);
	nr = rt_inner_call(b, a);
	if (ends_before(b, nr))
		return RT_CALL_MAKE;
	note_length(b, rt_call_of(nr), a);
	if (b->syscall == NR_exit && rt_token_shared())
		end_thread(b);
	else if (c->how == HOW_EXITS)
		rt_robust_end_process(b);
	if (b->syscall == NR_exit_group && rt_token_others(b))
		rt_token_each(b, end_others_thread);
	if (c->how == HOW_EXITS || IS_SIGRETURN(b->syscall))
		put_call(b, 0);
	b->log_place = RT_PLACE_CALL;
	check_begin(b, c);
	if (c->how == HOW_REFUSED)
		RET = -(word)ENOSYS;
	else if (b->syscall == NR_madvise && ARG2 == MADV_FREE)
		RET = 0;			/* when it is done nobody can say */
	else
		return RT_CALL_MAKE;
	return RT_CALL_DONE;
}

/* The call has made a process, whose number and descriptor the kernel has written. */
static void put_child(struct rt_block *b)
{
	u64 args[4];

	if (b->syscall == NR_clone && ARG0 & (CLONE_PARENT_SETTID | CLONE_PIDFD))
		put_data(b, ARG2, 4);
	if (b->syscall != NR_clone3 || rt_get(args, ARG0, sizeof args))
		return;
	if (args[0] & CLONE_PIDFD)
		put_data(b, args[1], 4);
	if (args[0] & CLONE_PARENT_SETTID)
		put_data(b, args[3], 4);
}

/* What the kernel has written to memory, but for what calls of a kind of their own do. */
static void put_written(struct rt_block *b, long r)
{
	word a[6];
	const u32 nr = rt_inner_call(b, a);
	const struct rt_call *c = rt_call_of(nr);
	long n;
	u64 at;
	int real;

	if (c->how == HOW_FORKS && !rt_failed(r)) {
		put_child(b);
	} else if (nr == NR_shmat && nr != b->syscall && !rt_failed(r)) {
		put_data(b, a[3], sizeof(word));	/* where: ipc()'s result */
	} else if (c->how == HOW_SUB) {
		n = rt_sub_call(b, &at, &real);
		if (n > 0 && at && (!rt_failed(r) || IS_FUTEX(b->syscall)))
			put_data(b, at, (u64)n);
		if (IS_FUTEX(b->syscall) && (ARG1 & 127) == 5)	/* FUTEX_WAKE_OP */
			put_data(b, ARG4, 4);
	} else if (c->how != HOW_OWN) {
		for (u32 i = 0; i < NR_OF(c->part); i++)
			if (c->part[i].kind &&
			    (!rt_failed(r) || c->part[i].kind == PART_ALWAYS))
				put_part(b, &c->part[i], a, (word)r);
	}
}

void rt_record_end(struct rt_block *b)
{
	const struct rt_call *c = rt_call_of(b->syscall);
	const long r = (long)RET;
	word a[6];
	const int attached = rt_inner_call(b, a) == NR_shmat && !rt_failed(r);

	if (c->how == HOW_NONE && !rt_failed(r)) {
		end_log(b, RT_END_CALL, b->syscall);
		return;
	}
	put_written(b, r);
	if (b->syscall == NR_get_robust_list && !rt_failed(r) && (!ARG0 || ARG0 == b->tid)) {
		rt_put(ARG1, &b->robust, sizeof(word));	/* the kernel has another one */
		put_data(b, ARG1, sizeof(word));
	}
	if (b->syscall == NR_process_vm_writev && ARG0 == b->pid && !rt_failed(r))
		put_buffers(b, ARG3, ARG4, (word)r);
	if (attached && !b->call_length) {
		end_log(b, RT_END_CALL, b->syscall);
		return;
	}
	put_call(b, (word)r);
	if (!rt_failed(r))
		rt_shared_file_call(b);
	b->log_place = RT_PLACE_CALL;
	check_end(b, c);
	if (b->syscall == NR_set_robust_list && !rt_failed(r))
		rt_robust_list(b, ARG0);
	if (b->syscall == NR_set_tid_address)
		b->clear_tid = ARG0;
	if (c->how == HOW_FORKS)
		rt_clock_slice(b);		/* it may be the first one that has to share */
}

/* ---- signals --------------------------------------------------------------------------------- */
/* They are only given where the log has a place: in front of a call, in it, behind it, or at a
 * safepoint. */
int rt_record_defers(struct rt_block *b, u32 sig, const struct k_siginfo *info,
		     struct k_ucontext *uc)
{
	if (b->log_place && UC_PC(uc) >= (word)rt_image_start && UC_PC(uc) < (word)rt_image_end)
		return 0;
	rt_signal_waits(b, sig, info);
	b->deferred = 1;
	rt_clock_hurry(b, uc);
	uc->sigmask = ~SYNC_SIGS;
	return 1;
}

int rt_record_gives_up(struct rt_block *b, u32 sig, const struct k_siginfo *info,
		       struct k_ucontext *uc)
{
	if (!rt_is_word(sig, info, RT_LOG_GIVE_UP))
		return 0;
	if (!b->deferred || (UC_PC(uc) >= (word)rt_image_start && UC_PC(uc) < (word)rt_image_end))
		return 1;			/* it will be said again */
	b->deferred = 0;
	end_log(b, RT_END_SIGNAL, b->waiting[0].sig);
	rt_flush_pending(b);
	uc->sigmask = b->real_mask;
	return 1;
}

void rt_record_signal(struct rt_block *b, u32 sig, const struct k_siginfo *info, u64 pc,
		      u64 flags)
{
	struct rt_event *e = room(b, sizeof *e + 128);
	const int beside_call = b->log_place != RT_PLACE_SAFEPOINT;

	if (!e)
		return;
	*e = (struct rt_event){ .size = sizeof *e + 128, .type = RT_E_SIGNAL, .nr = (uint16_t)sig,
				.a = { pc, beside_call ? 0 : rt_clock(b), flags,
				       beside_call ? 0 : rt_registers_check(b) } };
	rt_memcpy(e + 1, info, 128);
	commit(b, e);
}

void rt_record_fault(struct rt_block *b, u32 sig, const struct k_siginfo *info)
{
	if (sig == SIGBUS && info->code == 2 /* BUS_ADRERR */)
		put_event(b, RT_E_GONE, 0, (const u64[6]){ page_down(info->addr) });
}

/* ---- odd instructions ------------------------------------------------------------------------ */
int rt_logged_insn(struct rt_block *b, u64 pc)
{
	struct rt_odd o;
	u8 bytes[16] = { 0 };
	u64 v[4], flags;

	if (rt_get(bytes, pc, 15))
		rt_get(bytes, pc, 4096 - (pc & 4095));		/* it ends with its page */
	if (RT_NGPR == 16 && bytes[0] == 0xcd && bytes[1] == 0x80 && b->logged == RT_LOG_RECORD)
		end_log(b, RT_END_INT80, 0);
	rt_odd_decode(bytes, &o);
	if (!o.what)
		return 0;
	b->ctx.pc = pc + o.length;
	if (b->logged == RT_LOG_REPLAY) {
		rt_replay_insn(b, o.what, v, &flags);
	} else {
		rt_odd_execute(b, &o, v, &flags);
		if (b->logged == RT_LOG_RECORD)
			put_event(b, RT_E_INSN, o.what, (const u64[6]){ b->ctx.pc, v[0], v[1], v[2],
				  v[3], flags });
	}
	rt_odd_apply(b, &o, v, flags);
	rt_trace_note(b, RT_N_STEPPED, &b->ctx.pc, 1);
	rt_trace_state(b, b->ctx.gpr[RSP]);
	rt_resume_behind(b);
	return 1;
}
