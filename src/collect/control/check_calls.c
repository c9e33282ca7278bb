/* SPDX-License-Identifier: MIT */
/* check_calls.c - does the table of system calls have all that calls write? */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/control/check_calls.h"
#include "collect/control/written_pages.h"
#include "collect/record/recording.h"

#define NEAR (1u << 20)			/* bytes behind an argument that may be its own */
#define INDIRECT 16u			/* pointers behind an argument that are tried */

struct byte_range {
	uint64_t lo, hi;
};

struct open_call {
	struct check_call call;
	uint32_t block;
	uint64_t began, nswitch;	/* when, in calls; switches of threads until then */
};

struct hole {
	uint32_t nr;
	bool i386;
	uint64_t sub;			/* which ioctl()... it is */
	int arg;			/* whose pointer it lies behind, from 0; -1: nobody's */
	int via;			/* ... but behind that many 8 bytes' pointer there; -1 */
	uint64_t lo, hi;		/* bytes from there; of -1: addresses */
	uint64_t times, last;		/* calls; the last of them, as open_call.began */
	char where[32];			/* of -1: what is mapped there */
};

/* A hole unless a call that was open before has written it. */
struct suspect {
	struct hole hole;
	uint64_t lo, hi, began;
};

struct proc_check {
	struct written_pages written;
	uint64_t ncall, nswitch;
	struct open_call *open;
	size_t nopen, cap_open;
	struct byte_range *explained;	/* by the log, since memory was compared */
	size_t nexplained, cap_explained;
	struct byte_range *changed;
	size_t nchanged, cap_changed;
	struct suspect *suspect;
	size_t nsuspect, cap_suspect;
};

struct call_checks {
	struct hole *hole;
	size_t nhole, cap_hole;
	uint64_t checked, unchecked;
	bool kernel_tells;
};

void check_calls_open(struct session *s)
{
	if (!s->opts->record || !s->opts->holes)
		return;
	s->checks = pm_alloc(sizeof *s->checks);
	s->checks->kernel_tells = !s->opts->check_pages && written_kernel_tells();
	s->head->check = 1;
}

void check_calls_log(struct session *s, struct proc *p, const uint8_t *events, size_t n)
{
	struct proc_check *c = p->check;
	struct rt_event e;

	if (!s->checks || !c)
		return;
	for (size_t at = 0; at + sizeof e <= n; at += e.size) {
		memcpy(&e, events + at, sizeof e);
		if (e.size < sizeof e)
			return;
		if (e.type == RT_E_SWITCH)
			c->nswitch++;
		if (e.type != RT_E_DATA)
			continue;
		pm_grow(c->explained, c->nexplained, c->cap_explained);
		c->explained[c->nexplained++] = (struct byte_range){ e.a[0], e.a[0] + e.a[1] };
	}
}

/* ---- holes ----------------------------------------------------------------------------------- */
/* The argument that says what call @nr does; -1: none. */
static int sub_argument(uint32_t nr)
{
	switch (nr) {
	case SYS_ioctl:
	case SYS_fcntl:
	case SYS_futex:
		return 1;
	case SYS_prctl:
	case SYS_arch_prctl:
		return 0;
	}
	return -1;
}

static uint64_t sub_of(const struct check_call *o)
{
	const int i = sub_argument(o->nr);

	return i < 0 ? 0 : o->nr == SYS_futex ? o->arg[i] & 127 : o->arg[i];
}

static bool is_behind(const struct proc *p, uint64_t pointer, uint64_t at, uint64_t *best)
{
	const struct maps *m = &p->check->written.maps;

	if (pointer > at || at - pointer >= *best || maps_at(m, pointer) != maps_at(m, at))
		return false;
	*best = at - pointer;
	return true;
}

/* Which argument does @at lie behind, and how far? */
static void find_argument(const struct proc *p, const struct check_call *o, struct byte_range at,
			  struct hole *h)
{
	uint64_t inner[INDIRECT], best = NEAR;
	int arg = -1, via = -1;

	for (int i = 0; i < 6; i++)
		if (is_behind(p, o->arg[i], at.lo, &best))
			arg = i;
	for (int i = 0; i < 6 && arg < 0; i++) {
		if (o->arg[i] <= 4096 || !peek_read((pid_t)p->pid, inner, o->arg[i], sizeof inner))
			continue;
		for (int k = 0; k < (int)INDIRECT; k++)
			if (is_behind(p, inner[k], at.lo, &best)) {
				arg = i;
				via = k;
			}
	}
	h->arg = arg;
	h->via = via;
	h->lo = h->arg < 0 ? at.lo : best;
	h->hi = h->lo + (at.hi - at.lo);
}

static struct hole describe(struct proc *p, const struct open_call *o, struct byte_range at)
{
	struct hole h = { .nr = o->call.nr, .i386 = p->user.space->i386,
			  .sub = sub_of(&o->call), .times = 1, .last = o->began };
	const struct mapping *m;

	find_argument(p, &o->call, at, &h);
	if (h.arg < 0) {
		m = maps_at(&p->check->written.maps, at.lo);
		snprintf(h.where, sizeof h.where, "%s", m && *m->path ? m->path : "no file");
	}
	return h;
}

/* Bytes that lie side by side are one: which of them change differs from call to call. */
static void add_hole(struct call_checks *c, const struct hole *h)
{
	for (size_t i = 0; i < c->nhole; i++) {
		struct hole *x = &c->hole[i];

		if (x->nr != h->nr || x->sub != h->sub || x->arg != h->arg || x->via != h->via)
			continue;
		if (h->arg >= 0) {
			x->lo = x->lo < h->lo ? x->lo : h->lo;
			x->hi = x->hi > h->hi ? x->hi : h->hi;
		}
		x->times += x->last != h->last;
		x->last = h->last;
		return;
	}
	pm_grow(c->hole, c->nhole, c->cap_hole);
	c->hole[c->nhole++] = *h;
}

static void add_changed(void *ctx, uint64_t lo, uint64_t hi)
{
	struct proc_check *c = ctx;

	pm_grow(c->changed, c->nchanged, c->cap_changed);
	c->changed[c->nchanged++] = (struct byte_range){ lo, hi };
}

/* What of @r the log does not have: its first part, from where *@at says. */
static bool unexplained(const struct proc_check *c, struct byte_range r, uint64_t *at,
			struct byte_range *part)
{
	bool moved = true;
	uint64_t hi = r.hi;

	while (moved && *at < r.hi) {
		moved = false;
		for (size_t i = 0; i < c->nexplained; i++)
			if (c->explained[i].lo <= *at && *at < c->explained[i].hi) {
				*at = c->explained[i].hi;
				moved = true;
			}
	}
	if (*at >= r.hi)
		return false;
	for (size_t i = 0; i < c->nexplained; i++)
		if (c->explained[i].lo > *at && c->explained[i].lo < hi)
			hi = c->explained[i].lo;
	*part = (struct byte_range){ *at, hi };
	*at = hi;
	return true;
}

/* What call @o has just logged was not written by one that was made meanwhile. */
static void clear_suspects(struct proc_check *c, const struct open_call *o)
{
	struct byte_range part;
	size_t n = 0;

	for (size_t i = 0; i < c->nsuspect; i++) {
		struct suspect *x = &c->suspect[i];
		uint64_t at = x->lo;

		if (x->began < o->began ||
		    unexplained(c, (struct byte_range){ x->lo, x->hi }, &at, &part))
			c->suspect[n++] = *x;
	}
	c->nsuspect = n;
}

/* Those that no open call can have written any more are holes. */
static void judge_suspects(struct call_checks *all, struct proc_check *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nsuspect; i++) {
		bool waits = false;

		for (size_t k = 0; k < c->nopen; k++)
			waits |= c->open[k].began < c->suspect[i].began;
		if (waits)
			c->suspect[n++] = c->suspect[i];
		else
			add_hole(all, &c->suspect[i].hole);
	}
	c->nsuspect = n;
}

static void suspect_changes(struct proc *p, const struct open_call *o)
{
	struct proc_check *c = p->check;
	struct byte_range part;

	for (size_t i = 0; i < c->nchanged; i++)
		for (uint64_t at = c->changed[i].lo;
		     unexplained(c, c->changed[i], &at, &part); ) {
			pm_grow(c->suspect, c->nsuspect, c->cap_suspect);
			c->suspect[c->nsuspect++] = (struct suspect){
				describe(p, o, part), part.lo, part.hi, o->began };
		}
}

/* ---- in front of a call and behind it -------------------------------------------------------- */
static struct open_call *open_call_of(struct proc_check *c, uint32_t block)
{
	for (size_t i = 0; i < c->nopen; i++)
		if (c->open[i].block == block)
			return &c->open[i];
	return NULL;
}

static bool begin_process(struct session *s, struct proc *p, uint64_t uffd)
{
	int fd = -1;

	if (p->check)
		return true;
	if (s->checks->kernel_tells && p->pidfd >= 0) {
		if (!uffd)
			return false;
		if (uffd < 1u << 30)
			fd = (int)syscall(SYS_pidfd_getfd, p->pidfd, (int)uffd - 1, 0);
	}
	p->check = pm_alloc(sizeof *p->check);
	written_open(&p->check->written, (pid_t)p->pid, p->user.space->i386, fd);
	return true;
}

bool check_calls_begin(struct session *s, struct proc *p, uint32_t block, uint64_t uffd,
		       const struct check_call *call)
{
	struct proc_check *c;
	struct open_call *o;

	if (!begin_process(s, p, uffd))
		return false;
	c = p->check;
	o = open_call_of(c, block);
	if (!o) {
		pm_grow(c->open, c->nopen, c->cap_open);
		o = &c->open[c->nopen++];
	}
	*o = (struct open_call){ *call, block, ++c->ncall, c->nswitch };
	written_compare(&c->written, NULL, NULL);
	c->nexplained = 0;
	return true;
}

/* The call has changed the address space: what is new there is not what was. */
static void forget_mapped(struct proc_check *c, const struct check_call *o, uint64_t result)
{
	struct written_pages *w = &c->written;

	switch (o->nr) {
	case SYS_mmap:
		written_forget(w, result, result + o->arg[1]);
		break;
	case SYS_mremap:
		written_forget(w, o->arg[0], o->arg[0] + o->arg[1]);
		written_forget(w, result, result + o->arg[2]);
		break;
	case SYS_munmap:
	case SYS_madvise:
		written_forget(w, o->arg[0], o->arg[0] + o->arg[1]);
		break;
	case SYS_brk:
		written_forget(w, result, o->arg[0] > result ? o->arg[0] : result + (1ull << 30));
		break;
	}
}

void check_calls_end(struct session *s, struct proc *p, uint32_t block)
{
	const uint64_t result = session_block(s, block)->ctx.gpr[0];
	struct proc_check *c = p->check;
	struct open_call *at = c ? open_call_of(c, block) : NULL, o;

	if (!at)
		return;
	o = *at;
	*at = c->open[--c->nopen];
	clear_suspects(c, &o);
	if (o.call.real && result < -4096ull)
		forget_mapped(c, &o.call, result);
	if (o.call.real || o.nswitch != c->nswitch) {
		s->checks->unchecked += !o.call.real;
		written_compare(&c->written, NULL, NULL);
	} else {
		s->checks->checked++;
		c->nchanged = 0;
		written_compare(&c->written, add_changed, c);
		suspect_changes(p, &o);
	}
	judge_suspects(s->checks, c);
	c->nexplained = 0;
}

void check_calls_over(struct session *s, struct proc *p)
{
	struct proc_check *c = p->check;

	if (!c)
		return;
	c->nopen = 0;
	judge_suspects(s->checks, c);
	written_close(&c->written);
	free(c->open);
	free(c->explained);
	free(c->changed);
	free(c->suspect);
	free(c);
	p->check = NULL;
}

/* ---- what has been found --------------------------------------------------------------------- */
static void hole_text(const struct hole *h, char *to, size_t n)
{
	const char *const call = rec_call_name(h->i386, h->nr);
	char name[64], where[96];

	snprintf(name, sizeof name, "%s", call);
	if (!h->i386 && sub_argument(h->nr) >= 0)
		snprintf(name, sizeof name, "%s 0x%lx", call, h->sub);
	if (h->arg < 0)
		snprintf(where, sizeof where, "at 0x%lx, in %s, behind none of its arguments",
			 h->lo, h->where);
	else if (h->via < 0)
		snprintf(where, sizeof where, "from byte %lu on of what its argument %d points to",
			 h->lo, h->arg + 1);
	else
		snprintf(where, sizeof where, "from byte %lu on of what byte %d of its argument %d "
			 "points to", h->lo, 8 * h->via, h->arg + 1);
	snprintf(to, n, "%s wrote %lu bytes %s (%lu call%s)", name, h->hi - h->lo, where,
		 h->times, h->times == 1 ? "" : "s");
}

void check_calls_report(struct session *s)
{
	struct call_checks *c = s->checks;

	if (!c)
		return;
	for (size_t i = 0; i < s->nproc; i++)
		check_calls_over(s, s->proc[i]);
	for (size_t i = 0; i < c->nhole; i++) {
		char text[256];

		hole_text(&c->hole[i], text, sizeof text);
		pm_warn(&s->spaces.warn, "not in the table of system calls: %s", text);
	}
	*s->opts->holes = c->nhole;
	pm_warn(&s->spaces.warn, "%lu system calls checked, %lu not: other threads ran meanwhile; "
		"%zu hole%s in the table", c->checked, c->unchecked, c->nhole,
		c->nhole == 1 ? "" : "s");
}

void check_calls_close(struct session *s)
{
	struct call_checks *c = s->checks;

	if (!c)
		return;
	for (size_t i = 0; i < s->nproc; i++)
		check_calls_over(s, s->proc[i]);
	free(c->hole);
	free(c);
	s->checks = NULL;
}
