/* SPDX-License-Identifier: MIT */
/* shared_segments.c - a recorded program shares memory of System V, or of POSIX
 *
 * A segment is there as long as somebody has its identifier, its name or a descriptor of it, or has
 * it attached, and each process attaches or maps it by itself. So the replay has memory for each
 * segment in the data file, which all replayed processes have mapped: it attaches a second mapping
 * of that. The machine's segments are not touched. Whoever attaches one is of the group
 * (group_token.c). */
#include "log.h"

/* Commands of shmctl(), semctl() and msgctl(); SEM_STAT... are one more for each of the three. */
#define IPC_RMID 0
#define IPC_SET 1
#define IPC_STAT 2
#define IPC_INFO 3

#ifndef __i386__			/* sub_calls32.c has those of 32-bit programs */
static long semaphores(const struct rt_block *b)
{
	u64 about[13] = { 0 };			/* struct semid64_ds: sem_nsems is the 11th */

	/* that is nobody's business when replaying: the log has them */
	if (!rt_records(b) || rt_failed(rt_sys(NR_semctl, ARG0, 0, IPC_STAT, about)))
		return 0;
	return (long)(2 * about[10]);
}

static long sem_size(const struct rt_block *b, u32 command)
{
	switch (command) {
	case IPC_STAT: case 18: case 20:	/* SEM_STAT, SEM_STAT_ANY */
		return 104;
	case IPC_INFO: case 19:			/* SEM_INFO */
		return 40;
	case 13:				/* GETALL */
		return semaphores(b);
	case IPC_RMID: case IPC_SET: case 11: case 12: case 14: case 15: case 16: case 17:
		/* GETPID, GETVAL, GETNCNT, GETZCNT, SETVAL, SETALL */
		return 0;
	}
	return -1;
}

static long shm_size(u32 command)
{
	switch (command) {
	case IPC_STAT: case 13: case 15:	/* SHM_STAT, SHM_STAT_ANY */
		return 112;
	case IPC_INFO:
		return 72;
	case 14:				/* SHM_INFO */
		return 48;
	case IPC_RMID: case IPC_SET: case 11: case 12:	/* SHM_LOCK, SHM_UNLOCK */
		return 0;
	}
	return -1;
}

static long msg_size(u32 command)
{
	switch (command) {
	case IPC_STAT: case 11: case 13:	/* MSG_STAT, MSG_STAT_ANY */
		return 120;
	case IPC_INFO: case 12:			/* MSG_INFO */
		return 32;
	case IPC_RMID: case IPC_SET:
		return 0;
	}
	return -1;
}

long rt_ipc_size(const struct rt_block *b, u64 *at)
{
	*at = b->syscall == NR_semctl ? ARG3 : ARG2;
	if (b->syscall == NR_semctl)
		return sem_size(b, (u32)ARG2);
	return b->syscall == NR_shmctl ? shm_size((u32)ARG1) : msg_size((u32)ARG1);
}
#endif

/* ---- recorded -------------------------------------------------------------------------------- */
int rt_known_segment(struct rt_block *b)
{
	u64 about[14];				/* struct shmid64_ds, of either width */
	word a[6];

	b->call_length = 0;
	rt_inner_call(b, a);
	if (rt_failed(rt_sys(NR_shmctl, a[0], IPC_STAT, about)))
		return 1;			/* nor can it be attached */
	if (!rt_ask(b, RQ_LOG_SEGMENT, RT_SEGMENT_FIND, a[0], 0, 0))
		return 0;
	b->call_length = b->mail.r[0];
	return b->call_length != 0;
}

/* ---- replayed -------------------------------------------------------------------------------- */
/* @n bytes from @off on of segment @which, at @r. */
static void attach(struct rt_block *b, u64 r, u64 which, u64 off, u64 n, word prot)
{
	const int over = rt_is_ours(r, n);

	if (off > RT_SEGMENT_BYTES(which) || n > RT_SEGMENT_BYTES(which) - off ||
	    !rt_ask(b, RQ_LOG_SEGMENT, RT_SEGMENT_MEMORY, which, 0, 0) || !b->mail.r[0])
		rt_replay_differs(b, b->ctx.pc);
	off += b->mail.r[0];
	if (over && !rt_make_way(b, r, n))
		rt_replay_differs(b, b->ctx.pc);
	rt_announce_unmap(b, r, n);		/* SHM_REMAP */
	rt_log_of(b)->not_copied = 1;
	RET = (word)rt_map_data(r, n, off);
	prot = rt_prot(b, prot);
	if (RET == r && prot != (PROT_READ | PROT_WRITE))
		rt_sys(NR_mprotect, r, n, (prot & ~(word)PROT_EXEC) | PROT_READ);
	if (RET == r && prot & PROT_EXEC)
		rt_executable(b, r, n, prot, MAP_SHARED);
	if (over)
		rt_resume(b);			/* where it was going on may be gone */
}

/* What is mapped over it stays. */
static void detach(struct rt_block *b, u64 r, u64 from)
{
	while (rt_ask(b, RQ_LOG_SEGMENT, RT_SEGMENT_PART, from, 0, 0) && b->mail.r[1]) {
		const u64 at = b->mail.r[0], n = b->mail.r[1];

		rt_announce_unmap(b, at, n);
		if (rt_failed(rt_sys(NR_munmap, at, n)))
			break;
	}
	RET = (word)r;
}

/* Where shmat() with arguments @a and result @r has attached @which: ipc() says that in memory, so
 * nobody has checked it. */
static u64 attached_at(struct rt_block *b, const word a[6], u64 r, u64 which)
{
	word at = (word)r;

	if (b->syscall == NR_shmat)
		return r;
	if (rt_get(&at, a[3], sizeof at) || at & 4095 || at >= PROGRAM_END ||
	    RT_SEGMENT_BYTES(which) > PROGRAM_END - at ||
	    (at < OURS_END && OURS_AT < at + RT_SEGMENT_BYTES(which)))
		rt_replay_differs(b, b->ctx.pc);
	return at;
}

void rt_replay_segment(struct rt_block *b, u64 r, u64 which)
{
	word a[6], prot = PROT_READ;
	const u32 nr = rt_inner_call(b, a);
	u64 m[6];

	if (rt_mmap_arguments(b, m)) {
		attach(b, r, which, m[5], page_up(m[1]), (word)m[2]);
	} else if (nr == NR_shmat) {
		prot |= a[2] & SHM_RDONLY ? 0 : PROT_WRITE;
		prot |= a[2] & SHM_EXEC ? PROT_EXEC : 0;
		attach(b, attached_at(b, a, r, which), which, 0, RT_SEGMENT_BYTES(which), prot);
		RET = b->syscall == nr ? RET : (word)r;
	} else {
		detach(b, r, a[0]);
	}
}
