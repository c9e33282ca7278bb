/* SPDX-License-Identifier: MIT */
/* replay_begin.c - a recording runs again: its programs begin as they began */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/control/replayer.h"

static enum pm_status open_files(struct replayer *y, struct pm_err *err)
{
	y->nfd = rec_nfile(y->r);
	y->fd = pm_alloc((y->nfd + 1) * sizeof *y->fd);
	for (uint32_t i = 0; i < y->nfd; i++)
		y->fd[i] = -1;
	for (uint32_t i = 0; i < y->nfd; i++) {
		if (!rec_file_of(y->r, i))
			continue;
		y->fd[i] = rec_file_open(y->r, i, err);
		if (y->fd[i] < 0)
			return PM_ERR;
	}
	return PM_OK;
}

#define GUARD_GAP (256u * 4096)		/* that Linux keeps between a stack and what is below it */

/* Map @i is the stack, which could grow as far as the recorded limit says. The kernel would let it
 * grow as far as the limit of who replays does: so it is mapped whole. */
static uint64_t lowest_of_stack(const struct rec_start *f, size_t i)
{
	const struct rec_map *m = &f->map[i];
	const uint64_t most = f->stack_limit < RT_STACK_MOST ? f->stack_limit / 4096 * 4096 :
							       RT_STACK_MOST;
	const uint64_t lo = m->hi > most ? m->hi - most : 0;
	const uint64_t ours32 = RT32_CODE_VAULT + RT32_CODE_SIZE;
	const uint64_t ours = f->i386 ? (m->lo >= ours32 ? ours32 : 0) :
			      m->lo >= RT_DATA_VAULT + RT_DATA_SIZE ? RT_DATA_VAULT + RT_DATA_SIZE :
			      m->lo >= RT_SHADOW + RT_SHADOW_SIZE ? RT_SHADOW + RT_SHADOW_SIZE : 0;
	const uint64_t below = i && f->map[i - 1].hi > ours ? f->map[i - 1].hi : ours;
	const uint64_t least = below + GUARD_GAP;
	const uint64_t free = lo > least ? lo : least;

	return free < m->lo ? free : m->lo;
}

/* Are all programs of the width of the first one? */
static bool is_of_one_width(const struct rec_reader *r)
{
	for (uint32_t i = 1; i < rec_nstream(r); i++)
		if (rec_start_of(r, i) && rec_is_i386(r, i) != rec_is_i386(r, 0))
			return false;
	return true;
}

static enum pm_status make_start(struct session *s, const struct rec_start *f,
				 struct rt_start *to, struct pm_err *err)
{
	struct replayer *y = s->replayer;
	uint64_t off = y->pages;
	size_t k = 0;

	*to = (struct rt_start){ .sp = f->sp, .pc = f->pc, .rax = f->rax, .rdx = f->rdx,
				 .mask = f->mask, .ignored = f->ignored, .exec_all = f->exec_all,
				 .several = rec_nstream(y->r) > 1 || s->opts->stops,
				 .others = rec_nstream(y->r) > 1,
				 .echo = s->opts->echo, .widths = !is_of_one_width(y->r),
				 .controller = (uint32_t)getpid(), .memory = (uint32_t)y->memory,
				 .nmap = (uint32_t)f->nmap, .npart = (uint32_t)f->npart };
	for (size_t i = 0; i < f->nmap; i++) {
		const struct rec_map *m = &f->map[i];
		struct rt_start_map *t = &to->map[i];

		*t = (struct rt_start_map){ m->lo, m->hi, m->off, m->prot, m->flags,
					    m->file ? (uint32_t)y->fd[m->file - 1] + 1 : 0, 0 };
		if (m->flags & RT_START_STACK)
			t->lo = lowest_of_stack(f, i);
		for (; k < f->npart && f->part[k].at < m->hi; k++) {
			const struct rec_part *p = &f->part[k];

			to->part[k] = (struct rt_start_part){ p->at, p->n, off };
			if (pwrite(y->memory, p->p, p->n, (off_t)off) != (ssize_t)p->n)
				return pm_fail_errno(err, "cannot write shared memory");
			off += p->n;
			t->npart++;
		}
	}
	y->pages = off;
	return PM_OK;
}

enum pm_status replay_launch(struct session *s, struct pm_err *err)
{
	const struct rec_start *f = rec_start_of(s->opts->replay, 0);
	struct replayer *y = s->replayer = pm_alloc(sizeof *y);
	static struct rt_start start;
	char why[256] = "";
	struct proc *p;

	y->r = s->opts->replay;
	for (uint32_t i = 0; i < rec_nstream(y->r); i++)
		rec_seek(y->r, i, 0);		/* it may have been replayed before */
	y->start = -1;
	y->memory = memfd_create("pugmark-pages", MFD_CLOEXEC);
	if (y->memory < 0)
		return pm_fail_errno(err, "cannot create shared memory");
	if (open_files(y, err) != PM_OK || make_start(s, f, &start, err) != PM_OK)
		return PM_ERR;
	s->loaded = true;
	s->head->group = 1;			/* the first one's turn */
	p = load_recorded(s, &start, f->i386, pm_arena_strdup(&s->spaces.mem, f->program), why,
			  sizeof why);
	if (!p)
		return pm_fail_file(err, "cannot replay: %s", why);
	p->stream = 1;
	p->recorded_pid = f->pid;
	return launch_file(s, p, s->opts->argv, err);
}

/* The program has the width of the one before: @start goes where that finds it. */
static bool put_start(struct replayer *y, const struct rt_start *start, struct rt_mail *m)
{
	if (y->start < 0)
		y->start = memfd_create("pugmark-start", MFD_CLOEXEC);
	if (pwrite(y->start, start, sizeof *start, (off_t)y->starts) != sizeof *start)
		return false;
	m->r[1] = (uint64_t)y->start;
	m->r[2] = y->starts;		/* others may not have read theirs yet */
	y->starts += sizeof *start;
	return true;
}

void replay_exec(struct session *s, struct proc *p, struct rt_mail *m)
{
	struct replayer *y = s->replayer;
	const uint32_t stream = rec_executed(y->r, p->stream - 1);
	const struct rec_start *f = rec_start_of(y->r, stream);
	static struct rt_start start;
	struct pm_err err = { 0 };
	char why[256];
	struct proc *next;

	if (!stream || make_start(s, f, &start, &err) != PM_OK)
		return;
	start.confined = f->i386 != p->mm->user.space->i386;
	if (!start.confined && !put_start(y, &start, m))
		return;
	next = load_recorded(s, start.confined ? &start : NULL, f->i386,
			     pm_arena_strdup(&s->spaces.mem, f->program), why, sizeof why);
	if (!next)
		return;
	next->stream = stream + 1;
	next->recorded_pid = p->recorded_pid;
	next->loads = p->pid;
	if (p->stream - 1 == y->root)
		y->root = stream;
	if (start.confined)
		m->r[1] = (uint64_t)next->loading->file;
	m->r[3] = next->user.space->base;
	m->r[4] = start.confined;
	m->r[0] = next->thread[0].block;
}
