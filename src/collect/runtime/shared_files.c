/* SPDX-License-Identifier: MIT */
/* shared_files.c - a recorded program maps files so that what is written there is shared
 *
 * A replay has memory in place of such a mapping, which children of the process share. So the log
 * says what the mapping begins with, and what calls have written to the file since. What is
 * written by one mapping is seen in another only if the file is POSIX shared memory, a segment
 * (shared_segments.c); of others the controller says before whether there is another mapping. */
#include "log.h"

#define MOST 16
#define ALL (~0ull >> 1)		/* bytes of a file */

static struct {				/* files that are or were mapped so, of this process */
	u64 dev, ino;
} files[MOST];
static u32 nfile;			/* more than MOST: any file may be one */
static u32 writes;			/* one of them is written by its mapping */

/* Of mmap(). */
enum rt_sharing rt_shares_file(struct rt_block *b)
{
	u64 m[6];

	if (!rt_mmap_arguments(b, m) || (m[3] & (MAP_SHARED | MAP_ANONYMOUS)) != MAP_SHARED)
		return RT_SHARES_NOT;
	return m[2] & PROT_WRITE ? RT_SHARES_WRITES : RT_SHARES_READS;
}

static int is_one(u64 fd)
{
	struct k_stat st;

	if (!nfile || rt_failed(rt_sys(NR_fstat, fd, &st)))
		return 0;
	for (u32 i = 0; i < nfile && i < MOST; i++)
		if (files[i].dev == st.dev && files[i].ino == st.ino)
			return 1;
	return nfile > MOST;
}

static void remember(u64 fd)
{
	struct k_stat st;

	if (nfile > MOST || is_one(fd) || rt_failed(rt_sys(NR_fstat, fd, &st)))
		return;
	if (nfile < MOST) {
		files[nfile].dev = st.dev;
		files[nfile].ino = st.ino;
	}
	nfile++;
}

static void written(struct rt_block *b, u64 fd, u64 off, u64 n)
{
	u64 at[6];

	if (!is_one(fd) || !rt_ask(b, RQ_LOG_SHARED, fd, off, n, 0))
		return;
	rt_memcpy(at, b->mail.r, sizeof at);
	for (u32 i = 0; i < 6; i += 2)
		rt_log_memory(b, at[i], at[i + 1]);
}

static u64 offset_of(u64 fd)
{
#ifdef NR__llseek
	u64 now = 0;

	rt_sys(NR__llseek, fd, 0, 0, &now, 1 /* SEEK_CUR */);
	return now;
#else
	return (u64)rt_sys(NR_lseek, fd, 0, 1);
#endif
}

/* Behind a call that has written @n bytes where the file's offset was. */
static void written_there(struct rt_block *b, u64 fd, u64 n)
{
	if (nfile)
		written(b, fd, offset_of(fd) - n, n);
}

/* Behind pwrite() of @n bytes at @off: with O_APPEND they are at the file's end all the same. */
static void written_at(struct rt_block *b, u64 fd, u64 off, u64 n)
{
	const long flags = nfile ? rt_sys(NR_fcntl, fd, 3 /* F_GETFL */) : 0;

	if (!rt_failed(flags) && flags & 02000 /* O_APPEND */)
		written(b, fd, 0, ALL);
	else
		written(b, fd, off, n);
}

static void mapped(struct rt_block *b, u64 r, const u64 m[6])
{
	if (rt_shares_file(b) != RT_SHARES_NOT)
		remember(m[4]);
	if (rt_shares_file(b) != RT_SHARES_WRITES && !RT_IS_SEGMENT(b->call_length))
		return;
	writes = 1;
	rt_log_memory(b, r, page_up(m[1]));
}

void rt_shared_file_call(struct rt_block *b)
{
	const u64 r = RET;
	u64 m[6];

	if (rt_mmap_arguments(b, m))
		mapped(b, r, m);
	switch (b->syscall) {
	case NR_mremap:				/* of any memory: who knows */
		if (writes && ARG2 > ARG1)
			rt_log_memory(b, r + ARG1, page_up(ARG2 - ARG1));
		break;
	case NR_madvise:			/* what is the file's stays */
		if (writes && ARG2 == 4 /* MADV_DONTNEED */)
			rt_log_memory(b, ARG0, page_up(ARG1));
		break;
	case NR_write:
	case NR_writev:
		written_there(b, ARG0, r);
		break;
	case NR_pwrite:
	case NR_pwritev:
		written_at(b, ARG0, CALL_OFFSET(ARG3, ARG4), r);
		break;
	case NR_sendfile:
#ifdef NR_sendfile64
	case NR_sendfile64:
#endif
		written_there(b, ARG0, r);
		break;
	case NR_ftruncate:
#ifdef NR_old_ftruncate
	case NR_old_ftruncate:
#endif
	case NR_fallocate:
	case NR_pwritev2:
		written(b, ARG0, 0, ALL);
		break;
	case NR_splice:
	case NR_copy_file_range:
		written(b, ARG2, 0, ALL);
		break;
	}
}
