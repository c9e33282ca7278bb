/* SPDX-License-Identifier: MIT */
/* checkpoint.c - checkpoints of a replay: when they are made, which are kept, and the way back */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/control/checkpoint.h"
#include "collect/control/frozen.h"
#include "collect/control/recorder.h"

#define CHECKPOINTS 32u
#define EVERY 0.5			/* seconds of replay between two of them */
#define QUANTUM_TIME 0.05		/* ... that a quantum is to take */
#define FIRST_QUANTUM 0x10000u		/* safepoints until the time is read again */
#define MOST_QUANTUM (1ull << 40)
/* What of a thread block is the thread's: struct rt_block and its stack. */
#define BLOCK_STATE RT_STACK_TOP

struct checkpoint {
	struct frozen process;
	struct proc like;		/* with threads and code space of its own */
	uint8_t *block;			/* states of the blocks of `process` that have one, in
					 * order; then of like.log.block */
	struct walker *walker;		/* .at: as of here */
	size_t nwalker;
	struct replay_mark read;
	struct pm_position stands;
	uint64_t passed;
};

struct checkpoints {
	struct checkpoint *v[CHECKPOINTS];	/* in the order of the run */
	size_t n;
	double made, quantum_began;	/* the last one; or the journey */
	bool back;			/* a replay has gone back to one, and stands there */
};

/* ---- what a checkpoint says ------------------------------------------------------------------ */
/* NULL: it has ended, or not begun. */
static const struct thread *find_live(const struct proc *p, uint32_t tid)
{
	for (size_t i = 0; i < p->nthread; i++)
		if (p->thread[i].live && thread_name(p, &p->thread[i]) == tid)
			return &p->thread[i];
	return NULL;
}

enum checkpoint_thread checkpoint_thread(const struct checkpoint *c, uint32_t tid,
					 struct pm_position *at)
{
	for (size_t i = 0; i < c->nwalker; i++) {
		*at = c->walker[i].at;
		if (at->tid != tid)
			continue;
		return !find_live(&c->like, tid) ? CHECKPOINT_BEHIND : tid == c->stands.tid ?
			CHECKPOINT_STANDS : CHECKPOINT_WAITS;
	}
	return CHECKPOINT_BEFORE;
}

uint64_t checkpoint_passed(const struct checkpoint *c)
{
	return c->passed;
}

const struct pm_position *checkpoint_stands(const struct checkpoint *c)
{
	return &c->stands;
}

/* ---- one is made ----------------------------------------------------------------------------- */
/* Is @p all that there is, and nobody in the midst of something? */
static bool is_quiet(struct session *s, struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i] != p && !s->proc[i]->gone)
			return false;
	for (size_t i = 0; i < s->stops->n; i++)
		if (s->stops->v[i].by != BY_NOBODY || s->stops->v[i].opening)
			return false;
	mail_release(s, p);
	return p->mm == p && !p->forker && !p->user.left && !p->user.moving.n &&
	       !p->user.space->busy && replay_is_copied(s, p);
}

/* @p has what @from has, for itself. */
static void copy_parts(struct proc *p, const struct proc *from)
{
	p->user.space->refs++;							/* (4) */
	p->user.placed = (struct pm_buf){ 0 };
	pm_buf_add(&p->user.placed, from->user.placed.p, from->user.placed.n);
	p->thread = pm_alloc(from->nthread * sizeof *p->thread);
	memcpy(p->thread, from->thread, from->nthread * sizeof *p->thread);
	for (size_t i = 0; i < from->nthread; i++) {	/* a replay counts nothing there */
		p->thread[i].seen = NULL;
		p->thread[i].total = NULL;
		p->thread[i].nseen = 0;
	}
}

static void copy_process(struct checkpoint *c, const struct proc *p)
{
	struct proc *const like = &c->like;

	*like = (struct proc){ .parent = p->parent, .pid = p->pid, .pidfd = -1, .status = -1,
			       .signal = -1, .stream = p->stream, .from = p->from, .log = p->log,
			       .recorded_pid = p->recorded_pid, .is_child = true,
			       .own_no_aslr = p->own_no_aslr, .user.space = p->user.space,
			       .user.program = p->user.program, .nthread = p->nthread,
			       .cap_thread = p->nthread };
	copy_parts(like, p);
}

static void copy_walkers(struct session *s, struct checkpoint *c, const struct proc *p)
{
	const struct stopper *k = s->stops;

	c->nwalker = k->n;
	c->walker = pm_alloc((k->n + 1) * sizeof *c->walker);
	memcpy(c->walker, k->v, k->n * sizeof *c->walker);
	for (size_t i = 0; i < c->nwalker; i++) {
		struct walker *w = &c->walker[i];
		const struct thread *t = find_live(p, w->at.tid);

		if (t) {
			w->at.clock = walker_clock(s, w, t->block);
			w->at.insns = 0;
		}
		c->passed += w->at.clock;
	}
}

static void copy_blocks(struct session *s, struct checkpoint *c)
{
	uint8_t *to = c->block = pm_alloc_unset((c->process.n + 1) * BLOCK_STATE);

	for (size_t i = 0; i < c->process.n; i++)
		if (c->process.thread[i].block) {
			memcpy(to, session_block(s, c->process.thread[i].block), BLOCK_STATE);
			to += BLOCK_STATE;
		}
	memcpy(to, session_block(s, c->like.log.block), BLOCK_STATE);
}

static void checkpoint_free(struct session *s, struct checkpoint *c)
{
	frozen_release(&c->process);
	space_unref(&s->spaces, c->like.user.space);
	pm_buf_release(&c->like.user.placed);
	free(c->like.thread);
	free(c->block);
	free(c->walker);
	free(c->read.read);
	free(c);
}

static struct checkpoint *checkpoint_new(struct session *s, const struct freeze *f)
{
	struct checkpoint *c;

	if (!is_quiet(s, f->p))
		return NULL;
	c = pm_alloc(sizeof *c);
	if (!frozen_make(s, f, &c->process)) {
		free(c);
		return NULL;
	}
	copy_process(c, f->p);
	copy_walkers(s, c, f->p);
	copy_blocks(s, c);
	replay_mark(s, &c->read);
	for (size_t i = 0; i < f->p->nthread; i++)
		if (f->p->thread[i].live && f->p->thread[i].block == f->block)
			c->stands.tid = thread_name(f->p, &f->p->thread[i]);
	checkpoint_thread(c, c->stands.tid, &c->stands);
	return c;
}

/* ---- which are kept -------------------------------------------------------------------------- */
static void remove_one(struct session *s, size_t i)
{
	struct checkpoints *k = s->kept;

	checkpoint_free(s, k->v[i]);
	memmove(&k->v[i], &k->v[i + 1], (--k->n - i) * sizeof *k->v);
}

/* The first stays, and that at number @near; of the others the one goes whose neighbours are
 * nearest to each other, for how far it is from there. */
static void thin_out(struct session *s, size_t near)
{
	struct checkpoints *k = s->kept;
	size_t which = 0;
	double least = 0;

	for (size_t i = 1; i < k->n; i++) {
		const uint64_t at = k->v[i]->passed, here = k->v[near]->passed;
		const double next = (double)(i + 1 < k->n ? k->v[i + 1]->passed : at),
			     gap = next - (double)k->v[i - 1]->passed,
			     far = (double)(at > here ? at - here : here - at);

		if (i != near && (!which || gap / (far + 1) < least)) {
			which = i;
			least = gap / (far + 1);
		}
	}
	if (which)
		remove_one(s, which);
}

/* A line's number of kB in /proc/meminfo, in bytes; 0: not known. */
static uint64_t memory_available(void)
{
	unsigned long long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024;
}

/* How many of @pid, of @nthread threads, are kept: in the worst case each has all of its pages for
 * itself, and half of the memory may be used for them. */
static size_t limit_for(uint32_t pid, size_t nthread)
{
	unsigned long long size, resident, shared;
	char path[64];
	uint64_t each = 0, n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/statm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu %llu %llu", &size, &resident, &shared) == 3)
		each = (resident - shared) * 4096;
	if (f)
		fclose(f);
	n = memory_available() / 2 / (each + (nthread + 1) * BLOCK_STATE);
	return n < 2 ? 2 : n < CHECKPOINTS ? (size_t)n : CHECKPOINTS;
}

/* Behind those that stand before @passed, or there. */
static size_t place_of(const struct checkpoints *k, uint64_t passed)
{
	size_t at = k->n;

	while (at && k->v[at - 1]->passed > passed)
		at--;
	return at;
}

static void add_checkpoint(struct session *s, struct checkpoint *c)
{
	struct checkpoints *k = s->kept;
	const size_t most = limit_for(c->like.pid, c->process.n);
	size_t at;

	while (k->n >= most) {
		const size_t n = k->n;

		at = place_of(k, c->passed);
		thin_out(s, at ? at - 1 : 0);
		if (k->n == n)
			remove_one(s, n - 1);
	}
	at = place_of(k, c->passed);
	memmove(&k->v[at + 1], &k->v[at], (k->n - at) * sizeof *k->v);
	k->v[at] = c;
	k->n++;
}

/* ---- on the way ------------------------------------------------------------------------------ */
void checkpoints_open(struct session *s)
{
	s->kept = pm_alloc(sizeof *s->kept);
}

void checkpoints_close(struct session *s)
{
	if (!s->kept)
		return;
	while (s->kept->n)
		remove_one(s, s->kept->n - 1);
	free(s->kept);
	s->kept = NULL;
}

static uint64_t passed_so_far(struct session *s, const struct freeze *f)
{
	const struct stopper *k = s->stops;
	uint64_t n = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct walker *w = &k->v[i];
		const struct thread *t = find_live(f->p, w->at.tid);

		n += t ? walker_clock(s, w, t->block) : w->at.clock;
	}
	return n;
}

/* Is there one that is not @far safepoints away? */
static bool has_near(struct session *s, const struct freeze *f, uint64_t far)
{
	const uint64_t here = passed_so_far(s, f);
	const struct checkpoints *k = s->kept;

	for (size_t i = 0; i < k->n; i++)
		if (k->v[i]->passed <= here && here - k->v[i]->passed < far)
			return true;
	return false;
}

/* The last quantum has taken @passed seconds. */
static void set_quantum(struct stopper *k, double passed)
{
	if (passed < QUANTUM_TIME / 2 && k->quantum < MOST_QUANTUM)
		k->quantum *= 2;
	else if (passed > QUANTUM_TIME * 2 && k->quantum > FIRST_QUANTUM)
		k->quantum /= 2;
}

void checkpoints_pass(struct session *s, const struct freeze *f, bool goal)
{
	struct checkpoints *k = s->kept;
	const double now = pm_now();
	struct checkpoint *c;

	if (k->back) {
		k->back = false;
		return;
	}
	if (s->stops->quantum && !goal)
		set_quantum(s->stops, now - k->quantum_began);
	k->quantum_began = now;
	if (s->stops->quantum && !goal && now < k->made + EVERY)
		return;
	if (!s->stops->quantum)
		s->stops->quantum = FIRST_QUANTUM;
	c = has_near(s, f, goal ? 2 * IN_FRONT : s->stops->quantum) ? NULL : checkpoint_new(s, f);
	if (c)
		add_checkpoint(s, c);
	k->made = k->quantum_began = pm_now();
}

/* ---- back ------------------------------------------------------------------------------------ */
static struct proc *new_process(struct session *s, const struct checkpoint *c, const pid_t *tid,
				uint32_t *index)
{
	struct proc *p;

	pm_grow(s->proc, s->nproc, s->cap_proc);
	*index = (uint32_t)s->nproc;
	p = s->proc[s->nproc++] = pm_alloc(sizeof *p);
	*p = c->like;
	p->mm = p;
	p->pid = (uint32_t)tid[0];
	copy_parts(p, &c->like);
	return p;
}

/* The blocks of the threads of @p, which are @tid now, are as they were. */
static void return_blocks(struct session *s, const struct checkpoint *c, struct proc *p,
			  uint32_t index, const pid_t *tid)
{
	const uint8_t *from = c->block;

	for (size_t i = 0; i < c->process.n; i++) {
		const struct frozen_thread *z = &c->process.thread[i];
		struct rt_block *b = session_block(s, z->block);

		if (!z->block)
			continue;
		memcpy(b, from, BLOCK_STATE);
		from += BLOCK_STATE;
		b->pid = p->pid;
		b->tid = (uint32_t)tid[i];
		s->block_used[z->block] = BLOCK_USED;
		s->block_proc[z->block] = index + 1;
		for (size_t k = 0; k < p->nthread; k++)
			if (p->thread[k].live && p->thread[k].block == z->block)
				p->thread[k].tid = (uint32_t)tid[i];
	}
	if (s->block_used[p->log.block] == BLOCK_USED)
		return;
	memcpy(session_block(s, p->log.block), from, BLOCK_STATE);
	s->block_used[p->log.block] = BLOCK_KEPT;
}

static void return_walkers(struct session *s, const struct checkpoint *c)
{
	struct stopper *k = s->stops;

	pm_map_release(&k->number);
	k->n = 0;
	for (size_t i = 0; i < c->nwalker; i++) {
		struct walker *w = walker_of(k, c->walker[i].at.tid);

		*w = c->walker[i];
	}
}

static bool return_to(struct session *s, const struct checkpoint *c)
{
	pid_t *tid = pm_alloc(c->process.n * sizeof *tid);
	const bool made = frozen_copy(s, &c->process, tid);
	struct proc *p;
	uint32_t index;

	if (made) {
		p = new_process(s, c, tid, &index);
		return_blocks(s, c, p, index, tid);
		return_walkers(s, c);
		replay_return(s, &c->read, p);
		s->root = tid[0];
		s->root_done = false;
		for (size_t i = 0; i < p->nthread; i++)
			if (p->thread[i].live)
				walker_return(s, walker_of(s->stops, thread_name(p, &p->thread[i])),
					      p->thread[i].block,
					      thread_name(p, &p->thread[i]) == c->stands.tid);
		s->kept->made = s->kept->quantum_began = pm_now();
		s->kept->back = true;
		frozen_run(&c->process, tid);
	}
	free(tid);
	return made;
}

bool checkpoints_return(struct session *s)
{
	struct checkpoints *k = s->kept;
	const struct pm_stops *want = s->stops->want;

	for (size_t i = k->n; i-- > 0; ) {
		if (!want->from(want->self, k->v[i]))
			continue;
		if (return_to(s, k->v[i]))
			return true;
		remove_one(s, i);		/* somebody has ended its process */
	}
	return false;
}

uint32_t checkpoints_refs(const struct session *s, const struct space *sp)
{
	uint32_t n = 0;

	for (size_t i = 0; s->kept && i < s->kept->n; i++)
		n += s->kept->v[i]->like.user.space == sp;
	return n;
}
