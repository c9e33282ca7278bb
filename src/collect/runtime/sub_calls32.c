/* SPDX-License-Identifier: MIT */
/* sub_calls32.c - a 32-bit program is recorded: calls that are several, and what they write */
#include "log.h"

/* ---- the call inside ------------------------------------------------------------------------- */
static const struct {
	uint16_t nr;
	u8 args;
} socket_calls[] = {			/* of socketcall() */
	[1] = { NR_socket, 3 }, [2] = { NR_bind, 3 }, [3] = { NR_connect, 3 },
	[4] = { NR_listen, 2 }, [5] = { NR_accept4, 3 }, [6] = { NR_getsockname, 3 },
	[7] = { NR_getpeername, 3 }, [8] = { NR_socketpair, 4 },
	[9] = { NR_sendto, 4 },			/* send() */
	[10] = { NR_recvfrom, 4 },		/* recv() */
	[11] = { NR_sendto, 6 }, [12] = { NR_recvfrom, 6 }, [13] = { NR_shutdown, 2 },
	[14] = { NR_setsockopt, 5 }, [15] = { NR_getsockopt, 5 }, [16] = { NR_sendmsg, 3 },
	[17] = { NR_recvmsg, 3 }, [18] = { NR_accept4, 4 }, [19] = { NR_recvmmsg, 5 },
	[20] = { NR_sendmmsg, 4 },
};

static void set_arguments(word a[6], word a0, word a1, word a2, word a3)
{
	a[0] = a0;
	a[1] = a1;
	a[2] = a2;
	a[3] = a3;
	a[4] = a[5] = 0;
}

static u32 socket_call(const struct rt_block *b, word a[6])
{
	const word n = (word)ARG0;

	if (n >= NR_OF(socket_calls) || !socket_calls[n].nr ||
	    rt_get(a, ARG1, socket_calls[n].args * sizeof *a))
		return NR_socketcall;
	for (u32 i = socket_calls[n].args; i < 6; i++)
		a[i] = 0;
	return socket_calls[n].nr;
}

/* The upper half of its first argument is a version. In the first one msgrcv() and shmat() have
 * their arguments in other places. */
static u32 ipc_call(const struct rt_block *b, word a[6])
{
	const word call = (word)ARG0, first = (word)ARG1, second = (word)ARG2, at = (word)ARG4;
	word in_memory = 0;

	switch (call & 0xffff) {
	case 1: case 4:				/* SEMOP, SEMTIMEDOP */
		set_arguments(a, first, at, second, 0);
		return NR_semtimedop;
	case 3:					/* SEMCTL */
		rt_get(&in_memory, at, sizeof in_memory);
		set_arguments(a, first, second, (word)ARG3, in_memory);
		return NR_semctl;
	case 12:				/* MSGRCV */
		if (!(call >> 16))
			rt_get(&in_memory, at, sizeof in_memory);
		set_arguments(a, first, call >> 16 ? at : in_memory, second, 0);
		return NR_msgrcv;
	case 14:				/* MSGCTL */
		set_arguments(a, first, second, at, 0);
		return NR_msgctl;
	case 21:				/* SHMAT */
		set_arguments(a, first, at, second, (word)ARG3);	/* the result */
		return NR_shmat;
	case 22:				/* SHMDT */
		set_arguments(a, at, 0, 0, 0);
		return NR_shmdt;
	case 24:				/* SHMCTL */
		set_arguments(a, first, second, at, 0);
		return NR_shmctl;
	}
	return NR_ipc;
}

u32 rt_inner_call(const struct rt_block *b, word a[6])
{
	const word arg[6] = { (word)ARG0, (word)ARG1, (word)ARG2, (word)ARG3, (word)ARG4,
			      (word)ARG5 };

	rt_memcpy(a, arg, sizeof arg);
	switch (b->syscall) {
	case NR_socketcall:
		return socket_call(b, a);
	case NR_ipc:
		return ipc_call(b, a);
	case NR_old_select:
		a[5] = 0;
		return rt_get(a, ARG0, 5 * sizeof *a) ? NR_old_select : NR_select;
	}
	return b->syscall;
}

/* ---- System V -------------------------------------------------------------------------------- */
#define IPC_64 0x100			/* ipc() has smaller structures without it */
#define IPC_RMID 0
#define IPC_SET 1
#define IPC_STAT 2
#define IPC_INFO 3

static long semaphores(const struct rt_block *b, word id)
{
	u32 about[16] = { 0 };			/* struct semid64_ds: sem_nsems is the 14th */

	/* that is nobody's business when replaying: the log has them */
	if (!rt_records(b) || rt_failed(rt_sys(NR_semctl, id, 0, IPC_STAT, about)))
		return 0;
	return (long)(2 * about[13]);
}

static long sem_size(const struct rt_block *b, const word a[6], int large)
{
	switch (a[2] & ~IPC_64) {
	case IPC_STAT: case 18: case 20:	/* SEM_STAT, SEM_STAT_ANY */
		return large ? 64 : 44;
	case IPC_INFO: case 19:			/* SEM_INFO */
		return 40;
	case 13:				/* GETALL */
		return semaphores(b, a[0]);
	case IPC_RMID: case IPC_SET: case 11: case 12: case 14: case 15: case 16: case 17:
		/* GETPID, GETVAL, GETNCNT, GETZCNT, SETVAL, SETALL */
		return 0;
	}
	return -1;
}

static long shm_size(word command, int large)
{
	switch (command & ~IPC_64) {
	case IPC_STAT: case 13: case 15:	/* SHM_STAT, SHM_STAT_ANY */
		return large ? 84 : 48;
	case IPC_INFO:
		return large ? 36 : 20;
	case 14:				/* SHM_INFO */
		return 24;
	case IPC_RMID: case IPC_SET: case 11: case 12:	/* SHM_LOCK, SHM_UNLOCK */
		return 0;
	}
	return -1;
}

static long msg_size(word command, int large)
{
	switch (command & ~IPC_64) {
	case IPC_STAT: case 11: case 13:	/* MSG_STAT, MSG_STAT_ANY */
		return large ? 88 : 56;
	case IPC_INFO: case 12:			/* MSG_INFO */
		return 32;
	case IPC_RMID: case IPC_SET:
		return 0;
	}
	return -1;
}

long rt_ipc_size(const struct rt_block *b, u64 *at)
{
	word a[6];
	const u32 nr = rt_inner_call(b, a);
	const word command = nr == NR_semctl ? a[2] : a[1];
	const int large = b->syscall != NR_ipc || command & IPC_64;

	*at = nr == NR_semctl ? a[3] : a[2];
	if (nr == NR_semctl)
		return sem_size(b, a, large);
	return nr == NR_shmctl ? shm_size(command, large) : msg_size(command, large);
}

/* ---- all that differ from those of 64-bit programs ------------------------------------------- */
static long fcntl_size(word command)
{
	switch (command) {
	case 5:					/* F_GETLK */
		return 16;
	case 12: case 36:			/* F_GETLK64, F_OFD_GETLK */
		return 24;
	case 16: case 1035: case 1037:		/* F_GETOWN_EX, F_GET_RW_HINT, F_GET_FILE_RW_HINT */
		return 8;
	}
	return 0;
}

static long xfeatures_size(word what, int *real)
{
	*real = what == 0x1023;				/* ARCH_REQ_XCOMP_PERM */
	return what == 0x1021 || what == 0x1022 || what == 0x1024 ? 8 : 0;
}

long rt_narrow_call(const struct rt_block *b, u64 *at, int *real)
{
	const long r = (long)RET;
	word a[6];
	const u32 nr = rt_inner_call(b, a);

	*at = a[1];
	switch (nr) {
	case NR_old_fcntl: case NR_fcntl:
		*at = a[2];
		return fcntl_size(a[1]);
	case NR_futex_time64:
		*at = a[0];
		return 4;
	case NR_getgroups16:
		return a[0] && r > 0 ? 2 * r : 0;
	case NR_msgrcv:
		return r >= 0 ? 4 + r : 0;
	case NR_shmctl: case NR_semctl: case NR_msgctl:
		return rt_ipc_size(b, at);
	case NR_set_thread_area:		/* the entry that the kernel has chosen */
		*at = a[0];
		*real = 1;
		return 4;
	case NR_modify_ldt:			/* 1, 0x11: an entry is set */
		*real = a[0] == 1 || a[0] == 0x11;
		return !*real && r > 0 ? r : 0;
	case NR_arch_prctl:
		return xfeatures_size(a[0], real);
	case NR_socketcall: case NR_ipc: case NR_old_select:
		return 0;			/* it fails, or writes nothing */
	}
	return nr == b->syscall ? RT_AS_USUAL : 0;
}
