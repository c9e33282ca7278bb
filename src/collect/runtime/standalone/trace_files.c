/* SPDX-License-Identifier: MIT */
/* trace_files.c - the files that traces are written to */
#include "drain.h"

#ifdef __i386__
#define TRC ".trc"
#else
#define TRC ".trc64"
#endif

#define SIGS (SIG_BIT(SIGPIPE) | SIG_BIT(SIGXFSZ))

void rt_image_quiet(struct rt_quiet *q)
{
	const u64 sigs = SIGS;

	rt_sys(NR_rt_sigprocmask, 0, &sigs, &q->mask, 8);
	rt_sys(NR_rt_sigpending, &q->pending, 8);
}

void rt_image_loud(const struct rt_quiet *q)
{
	const word now[2] = { 0 };
	u64 mine = 0;

	rt_sys(NR_rt_sigpending, &mine, 8);
	mine &= SIGS & ~q->pending;
	while (mine && rt_sys(NR_rt_sigtimedwait, &mine, 0, now, 8) > 0)
		;
	rt_sys(NR_rt_sigprocmask, 2, &q->mask, 0, 8);
}

/* The trace's file is opened for each write: the program closes descriptors as it likes. A FIFO is
 * kept open, for its reader would take a close for the end. */
static int fifo = -1;

void rt_open_fifo(void)
{
	struct rt_stat stat;
	char name[4300];
	long fd;

	rt_output_name(name, ".otr", rt_root);
	if (rt_stat(name, 0, &stat))
		rt_output_name(name, TRC, rt_root);
	if (rt_stat(name, 0, &stat) || (stat.mode & 0170000) != 0010000)
		return;
	fd = rt_sys(NR_open, name, 1 | O_CLOEXEC, 0);	/* waits for the reader */
	if (fd < 0)
		rt_image_stop("cannot write it", name);
	fifo = (int)rt_sys(NR_fcntl, fd, 1030 /* F_DUPFD_CLOEXEC */, 900);
	if (fifo < 0)
		fifo = (int)fd;
	else
		rt_sys(NR_close, fd);
}

/* Whose number a thread's trace has. */
static u32 trace_number(const struct rt_block *b)
{
	return MAN->merge ? b->pid : b->tid;
}

int rt_image_open_trace(struct rt_block *b, u32 *opened)
{
	const int others = MAN->merge && b->tid != b->pid;
	char name[4300];

	if (fifo >= 0 && trace_number(b) == rt_root)
		return fifo;
	rt_output_name(name, TRC, trace_number(b));
	return (int)rt_open_output(name, !(*opened)++ && !others ? O_WRONLY_CREAT_TRUNC :
				   02001 /* O_WRONLY | O_APPEND */ | O_LARGEFILE);
}

void rt_image_close_trace(int fd)
{
	if (fd != fifo)
		rt_sys(NR_close, fd);
}

void rt_image_trace_failed(struct rt_block *b)
{
	static u32 said;			/* by this process */
	char name[4300];

	if (__atomic_exchange_n(&said, b->pid, __ATOMIC_SEQ_CST) == b->pid)
		return;
	rt_output_name(name, TRC, trace_number(b));
	rt_print("pugmark: cannot write the trace: ");
	rt_print(name);
	rt_print("\n");
}

/* ---- the file -------------------------------------------------------------------------------- */
static u32 merging;			/* tid of who writes a merged trace */

static void merge_lock(u32 me)
{
	const word timeout[2] = { 0, 100000000 };

	for (;;) {
		u32 was = 0;

		if (__atomic_compare_exchange_n(&merging, &was, me, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
		rt_sys(NR_futex, &merging, 0 /* WAIT */, was, timeout);
		if (rt_sys(NR_kill, was, 0) == -ESRCH)
			__atomic_compare_exchange_n(&merging, &was, 0, 0, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
	}
}

static void merge_unlock(void)
{
	__atomic_store_n(&merging, 0, __ATOMIC_SEQ_CST);
	rt_sys(NR_futex, &merging, 1 /* WAKE */, 1);
}

/* How much of out can be written. Of a merged trace, whole blocks only, unless one is longer than
 * the buffer: then the others wait until it is over. */
static u32 ready(struct drain *d, int last, int part)
{
	if (!d->hold || last)
		return d->n;
	return MAN->merge && !d->alone && !part ? d->begun : d->hold - 1;
}

void rt_trace_write(struct rt_block *b, int last, int part)
{
	struct drain *d = rt_drain_of(b);
	const int was = (int)d->alone;
	u32 n = ready(d, last, part), done = 0;
	struct rt_quiet quiet;
	int fd;

	if (!n)
		return;
	if (MAN->merge && !d->alone) {
		merge_lock(b->tid);
		d->alone = 1;
	}
	fd = MAN->no_trace || d->failed ? -1 : rt_image_open_trace(b, &d->opened);
	rt_image_quiet(&quiet);
	while (fd >= 0 && done < n) {
		long r = rt_sys(NR_write, fd, d->out + done, n - done);

		if (r == -EINTR)
			continue;
		if (r <= 0) {
			d->failed = 1;		/* a full disk, a reader that has gone: said once */
			rt_image_trace_failed(b);
			break;
		}
		done += (u32)r;
	}
	rt_image_loud(&quiet);
	if (fd >= 0)
		rt_image_close_trace(fd);
	rt_memcpy(d->out, d->out + n, d->n - n);
	d->n -= n;
	d->begun -= d->begun < n ? d->begun : n;
	if (d->hold)
		d->hold = last ? 0 : d->hold - n;
	if (d->alone && !part && (!was || !d->hold)) {
		d->alone = 0;
		merge_unlock();
	}
}

void rt_merge_forked(void)
{
	merging = 0;
}

void rt_trace_file_begin(struct rt_block *b, u32 *opened)
{
	char name[4300];
	int fd;

	if ((fifo >= 0 && trace_number(b) == rt_root) ||
	    ((MAN->kind == IMG_PROFILE || MAN->merge) && b->tid != b->pid))
		return;
	fd = rt_image_open_trace(b, opened);
	if (fd >= 0) {
		rt_sys(NR_close, fd);
		return;
	}
	rt_output_name(name, TRC, trace_number(b));
	rt_image_stop("cannot write it", name);
}
