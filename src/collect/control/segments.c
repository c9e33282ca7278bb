/* SPDX-License-Identifier: MIT */
/* segments.c - shared memory of System V and of POSIX that recorded processes attach or map, and
 * its place in a replay
 *
 * Only what recorded processes write is in the recording. So nobody else may have a segment of
 * System V: a recorded process has made it, and all who have it attached are recorded. The kernel
 * says who has made it, who was the last to attach or detach it, and how many mappings there are.
 *
 * POSIX shared memory is a file without a disk: of /dev/shm, or of memfd_create(). It may have any
 * size, and another one later, and parts of it are mapped. What each mapping begins with is in the
 * log (runtime/shared_files.c). Its segment has room for more than the file has at first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

#include "collect/control/recorder.h"

#define MOST 65536u			/* segments of a recording */
#define ROOM 0x4000u			/* pages of a file's segment are a multiple of so many */
#define LOOK_EVERY 0.02			/* seconds */

/* Is @pid, as we see it, a process that is or was recorded? */
static bool is_recorded(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->stream && s->proc[i]->pid == (uint32_t)pid &&
		    !s->proc[i]->log.stopped)
			return true;
	return false;
}

/* Do we see the segments that @p sees? */
static bool sees_the_same(const struct proc *p)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/ns/ipc", p->pid);
	return !stat("/proc/self/ns/ipc", &own) && !stat(path, &its) && own.st_ino == its.st_ino;
}

static bool is_segment(const struct mapping *m)
{
	return m->shared && !strncmp(m->path, "/SYSV", 5);
}

/* How many mappings of segment @id recorded processes have; -1: one of them is being made. */
static long mappings_of(const struct session *s, int id)
{
	struct maps all = { 0 };
	long n = 0;

	for (size_t i = 0; i < s->nproc && n >= 0; i++) {
		const struct proc *p = s->proc[i];

		if (p->gone || !p->stream)
			continue;
		if (!p->pid)
			n = -1;
		else if (!p->log.stopped && maps_read((pid_t)p->pid, &all))
			for (size_t k = 0; k < all.n; k++)
				n += is_segment(&all.v[k]) && all.v[k].ino == (ino_t)id;
	}
	maps_release(&all);
	return n;
}

/* Has nobody else attached @id? A process that ends has it for a moment, when /proc shows nothing
 * of it any more. */
static bool is_ours_alone(const struct session *s, int id, struct shmid_ds *ds)
{
	for (int i = 0; i < 50; i++) {
		const long n = mappings_of(s, id);

		if (shmctl(id, IPC_STAT, ds))
			return false;
		if (n < 0 || ds->shm_nattch == (shmatt_t)n)
			return true;
		usleep(1000);
	}
	return false;
}

static bool is_known_to_us(const struct session *s, const struct shmid_ds *ds)
{
	return is_recorded(s, ds->shm_cpid) && (!ds->shm_lpid || is_recorded(s, ds->shm_lpid));
}

uint64_t segment_find(struct session *s, const struct proc *p, int id, uint64_t *more)
{
	struct shm_segments *g = &s->segments;
	struct shmid_ds ds;
	uint64_t pages;
	size_t i = 0;

	*more = 0;
	if (!sees_the_same(p) || shmctl(id, IPC_STAT, &ds) || !is_known_to_us(s, &ds) ||
	    !is_ours_alone(s, id, &ds))
		return 0;
	pages = (ds.shm_segsz + 4095) / 4096;
	*more = 1;
	while (i < g->n && (g->v[i].id != id || g->v[i].pages != pages))
		i++;
	if (pages > RT_BLOCK_SIZE / 4096 || i == MOST)
		return 0;
	if (i == g->n) {
		pm_grow(g->v, g->n, g->cap);
		g->v[g->n++] = (struct shm_segment){ .id = id, .pages = pages };
	}
	return RT_SEGMENT((uint32_t)i, pages);
}

/* ---- POSIX ----------------------------------------------------------------------------------- */
static struct shm_segment *segment_with(const struct session *s, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.v[i].ino == ino && s->segments.v[i].dev == dev)
			return &s->segments.v[i];
	return NULL;
}

static bool is_mapped(const struct session *s, const struct shm_segment *x)
{
	struct maps all = { 0 };
	bool any = false;

	for (size_t i = 0; i < s->nproc && !any; i++) {
		const struct proc *p = s->proc[i];

		if (!p->stream || p->gone || !p->pid || !maps_read((pid_t)p->pid, &all))
			continue;
		for (size_t k = 0; k < all.n; k++)
			any |= all.v[k].shared && all.v[k].ino == x->ino && all.v[k].dev == x->dev;
	}
	maps_release(&all);
	return any;
}

uint64_t segment_of_file(struct session *s, const char *link, uint64_t off, uint64_t n,
			 uint64_t *more)
{
	const uint64_t most = RT_BLOCK_SIZE;
	struct shm_segments *g = &s->segments;
	struct shm_segment *x;
	char path[4096];
	struct stat st;
	uint64_t end;

	if (!peek_link(link, path) || !peek_is_memory(path) || stat(link, &st) ||
	    !S_ISREG(st.st_mode))
		return 0;
	*more = RT_SEGMENT_LARGE_FILE;
	if (off > most || n > most - off || (uint64_t)st.st_size > most)
		return 0;
	end = off + n > (uint64_t)st.st_size ? off + n : (uint64_t)st.st_size;
	x = segment_with(s, st.st_dev, st.st_ino);
	if (x && x->pages * 4096 < off + n) {
		*more = RT_SEGMENT_GROWN;
		if (is_mapped(s, x))
			return 0;
		x->ino = 0;				/* it has another one from here on */
		x = NULL;
	}
	if (!x && g->n == MOST)
		return 0;
	if (!x) {
		pm_grow(g->v, g->n, g->cap);
		x = &g->v[g->n++];
		*x = (struct shm_segment){ .id = -1, .dev = st.st_dev, .ino = st.st_ino,
					   .pages = ((end + 4095) / 4096 + ROOM) / ROOM * ROOM };
		if (x->pages > most / 4096)
			x->pages = most / 4096;
	}
	*more = 0;
	return RT_SEGMENT((uint32_t)(x - g->v), x->pages);
}

bool segment_may_grow(const struct session *s, const struct proc *p, uint64_t at, uint64_t n)
{
	const struct shm_segment *x = NULL;
	struct maps all = { 0 };
	uint64_t off = 0;

	if (maps_read((pid_t)p->pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n && !x; m++)
			if (m->lo <= at && at < m->hi && m->shared &&
			    peek_is_memory(m->path)) {
				x = segment_with(s, m->dev, m->ino);
				off = m->off + (at - m->lo);
			}
	maps_release(&all);
	return !x || (off <= x->pages * 4096 && n <= x->pages * 4096 - off);
}

/* ---- who else has them ----------------------------------------------------------------------- */
/* The recording of the group ends: the first one's does, and so all others'. */
static void stop_all(struct session *s)
{
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (p->stream && p->pid && !p->gone && !p->log.over &&
		    session_block(s, p->log.block)->group_member) {
			record_stop(s, p, RT_END_SEGMENT, 0);
			return;
		}
	}
}

void segments_watch(struct session *s)
{
	struct shm_segments *g = &s->segments;
	struct shmid_ds ds;

	if (!g->n || pm_now() < g->looked + LOOK_EVERY)
		return;
	g->looked = pm_now();
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i].id < 0)
			continue;
		if (shmctl(g->v[i].id, IPC_STAT, &ds)) {
			if (errno == EINVAL || errno == EIDRM)
				g->v[i].id = -1;
		} else if (ds.shm_lpid && !is_recorded(s, ds.shm_lpid) &&
			   !is_ours_alone(s, g->v[i].id, &ds)) {
			g->v[i].id = -1;
			stop_all(s);
		}
	}
}

/* ---- replayed -------------------------------------------------------------------------------- */
/* A block that no thread has: the last ones, which are hardly ever wanted. */
static uint32_t new_block(struct session *s)
{
	for (uint32_t i = RT_BLOCKS - 1; i > s->block_high; i--)
		if (s->block_used[i] == BLOCK_FREE) {
			s->block_used[i] = BLOCK_MEMORY;
			return i;
		}
	return 0;
}

uint64_t segment_memory(struct session *s, uint64_t which)
{
	const uint64_t n = RT_SEGMENT_BYTES(which);
	const uint32_t number = RT_SEGMENT_NUMBER(which);
	struct shm_segments *g = &s->segments;

	if (number >= MOST || !n || n > RT_BLOCK_SIZE)
		return 0;
	while (g->n <= number) {
		pm_grow(g->v, g->n, g->cap);
		g->v[g->n++] = (struct shm_segment){ .id = -1 };
	}
	if (g->v[number].at)
		return g->v[number].pages == n / 4096 ? g->v[number].at : 0;
	if (!g->block || g->used + n > RT_BLOCK_SIZE) {
		const uint32_t block = new_block(s);

		if (!block)
			return 0;
		g->block = block;
		g->used = 0;
	}
	g->v[number].pages = n / 4096;
	g->v[number].at = g->block * RT_BLOCK_SIZE + g->used;
	g->used += n;
	return g->v[number].at;
}

static const struct shm_segment *segment_at(const struct session *s, uint64_t off)
{
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.v[i].at && s->segments.v[i].at == off)
			return &s->segments.v[i];
	return NULL;
}

/* As the kernel looks for them: each lies where it was when all of the segment was attached. */
uint64_t segment_part(const struct session *s, const struct proc *p, uint64_t at, uint64_t *n)
{
	struct maps all = { 0 };
	uint64_t lo = 0;
	struct stat st;

	*n = 0;
	if (fstat(s->data_fd, &st) || !maps_read((pid_t)p->pid, &all))
		return 0;
	for (const struct mapping *m = all.v; m < all.v + all.n && !*n; m++) {
		const bool ours = m->ino == st.st_ino && m->dev == st.st_dev && m->lo >= at;
		const struct shm_segment *x = ours ? segment_at(s, m->off - (m->lo - at)) : NULL;

		if (x && m->lo - at < x->pages * 4096) {
			lo = m->lo;
			*n = m->hi - m->lo;
		}
	}
	maps_release(&all);
	return lo;
}

void segments_clear(struct session *s)
{
	for (uint32_t i = 1; s->segments.n && i < RT_BLOCKS; i++)
		if (s->block_used[i] == BLOCK_MEMORY) {
			fallocate(s->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)(i * RT_BLOCK_SIZE), (off_t)RT_BLOCK_SIZE);
			s->block_used[i] = BLOCK_FREE;
		}
	segments_release(s);
}

void segments_release(struct session *s)
{
	free(s->segments.v);
	s->segments = (struct shm_segments){ 0 };
}
