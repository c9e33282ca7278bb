/* SPDX-License-Identifier: MIT */
/* modules.c - a module for an executable mapping that has none */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/space/space_internal.h"

#define MAX_TEXTS 1024
#define MAX_SHARED (4u << 20) /* bytes: a larger one is given back when its process is over */

static void map_text(struct spaces *s, struct module *m, int fd, const struct stat *st, size_t len)
{
	struct text *t;
	void *p;

	for (size_t i = 0; i < s->ntext; i++) {
		t = &s->text[i];
		if (t->st.st_dev == st->st_dev && t->st.st_ino == st->st_ino &&
		    t->st.st_size == st->st_size &&
		    !memcmp(&t->st.st_mtim, &st->st_mtim, sizeof st->st_mtim) &&
		    !memcmp(&t->st.st_ctim, &st->st_ctim, sizeof st->st_ctim) &&
		    t->off == m->text.file_off && t->len == len) {
			m->text.bytes = t->p;
			m->text.shared = (uint32_t)i + 1;
			return;
		}
	}
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, (off_t)m->text.file_off);
	if (p == MAP_FAILED)
		return;
	m->text.bytes = p;
	if (s->ntext == MAX_TEXTS || len > MAX_SHARED)
		return;
	pm_grow(s->text, s->ntext, s->cap_text);
	s->text[s->ntext++] = (struct text){.st = *st, .off = m->text.file_off, .len = len, .p = p};
	m->text.shared = (uint32_t)s->ntext;
}

/* i386: the room of a module that gave it back, for @m. */
static bool reuse_room(struct space *sp, struct module *m, uint64_t size)
{
	for (struct module *o = sp->module; o < m; o++) {
		if (o->code.room < size)
			continue;
		m->code.at = o->code.at;
		m->code.off = o->code.off;
		m->code.cap = o->code.room;
		o->code.room = 0;
		return true;
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* s->point is sorted, each address once. */
static void note_points(struct spaces *s, const struct module *m)
{
	const size_t was = s->point.n;
	uint64_t *v;
	size_t n = 0;

	if (m->counting_copies)
		s->hooks->points(s, m->text.path, m->text.bias, &s->point);
	if (s->point.n == was)
		return;
	v = (uint64_t *)(void *)s->point.p;
	qsort(v, s->point.n / sizeof *v, sizeof *v, by_address);
	for (size_t i = 0; i < s->point.n / sizeof *v; i++)
		if (!n || v[n - 1] != v[i])
			v[n++] = v[i];
	s->point.n = n * sizeof *v;
}

/* Translations cannot be near all of a region that is larger. */
static void near_part(uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	const uint64_t begin = pc & ~(REGION - 1), end = begin + REGION;

	if (*hi - *lo <= 4 * REGION)
		return;
	if (*lo < begin)
		*lo = begin;
	if (*hi > end)
		*hi = end;
}

/* The part of @r around @pc that is one mapping, @at, and that no module has yet. */
static void find_bounds(const struct spaces *s, const struct space *sp, const struct range *r,
			const struct mapping *at, uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	*lo = r->lo;
	*hi = r->hi;
	if (at && at->lo > *lo)
		*lo = at->lo;
	if (at && at->hi < *hi)
		*hi = at->hi;
	if (!at || (!at->ino && strcmp(at->path, "[vdso]")))
		whole_region(&s->maps, lo, hi);
	if (!at || !at->ino)
		near_part(pc, lo, hi);
	for (size_t i = 0; i < sp->nmodule; i++) {
		const struct module *o = &sp->module[i];

		if (o->dead)
			continue;
		if (o->text.hi <= pc && o->text.hi > *lo)
			*lo = o->text.hi;
		if (o->text.lo > pc && o->text.lo < *hi)
			*hi = o->text.lo;
	}
}

/* What is mapped there may change: with, or without (must_check), a page fault that tells. */
static void find_out_whether_generated(struct module *m, const struct range *r,
				       const struct mapping *at)
{
	const bool vdso = at && !strcmp(at->path, "[vdso]");

	m->generated.may_change = !vdso && ((r->prot & 2) || r->patched || !at || !at->ino);
	if (r->shared && at &&
	    (!at->path[0] || strstr(at->path, "(deleted)") || !strncmp(at->path, "/dev/", 5) ||
	     (r->prot & 2)))
		m->generated.may_change = m->generated.must_check = true;
}

/* The file that @m's text is from, mapped; a descriptor, -1: there is none, or it is another one by
 * now. */
static int open_text(struct spaces *s, struct module *m, struct elf_head *head)
{
	int fd = m->generated.may_change || !m->text.ino ? -1
							 : open(m->text.path, O_RDONLY | O_CLOEXEC);
	const size_t len = (size_t)(m->text.hi - m->text.lo);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || st.st_dev != m->text.dev || st.st_ino != m->text.ino ||
	    (uint64_t)st.st_size <= m->text.file_off) {
		close(fd);
		return -1;
	}
	map_text(s, m, fd, &st, len);
	m->text.len = !m->text.bytes ? 0
		      : len < (size_t)st.st_size - m->text.file_off
			      ? len
			      : (size_t)st.st_size - m->text.file_off;
	elf_head(fd, head);
	m->text.bias = elf_bias(head, m->text.lo, m->text.file_off);
	m->text.st = st;
	return fd;
}

/* Most of what is large is never executed, or is data, and so less than @size will do. Where little
 * is free at all (around the heaps of some Lisps), other texts will need some of it, too: m takes a
 * quarter of what it could get. */
#define LEAST_CODE	(4ull << 20)

static uint64_t find_room(const struct spaces *s, const struct space *sp, struct module *m,
			  uint64_t size)
{
	const uint64_t text = m->text.hi - m->text.lo,
		       least = text < LEAST_CODE ? text : LEAST_CODE;
	const uint64_t id = m->text.bytes ? m->text.ino + m->text.file_off : 0;

#define PLACE() (m->code.at = choose_place(sp, &s->maps, m->text.lo, m->text.hi, size, id))
	while (!PLACE() && size / 2 >= least)
		size = up(size / 2, 1 << 16);
	for (int i = 0; i < 2 && m->code.at && size < text && size / 2 >= least; i++) {
		const uint64_t at = m->code.at, larger = size;

		size = up(size / 2, 1 << 16);
		if (PLACE())
			continue;
		m->code.at = at;
		return larger;
	}
	return size;
#undef PLACE
}

/* A piece of the code file that is to be at @at: as far into a large page in the one as in the
 * other. */
static uint64_t next_piece(struct space *sp, uint64_t at, uint64_t size)
{
	const uint64_t off = sp->next + (sp->i386 ? 0 : (at - sp->next) & (LARGE_PAGE - 1));

	sp->next = up(off + size, 1 << 16);
	return off;
}

/* A piece of the code file for translations, and where in the process it will be: m->code.at, 0:
 * nowhere. */
static void find_code_area(struct spaces *s, struct space *sp, struct module *m)
{
	const uint64_t text = m->text.hi - m->text.lo, most = !sp->i386	   ? 400ull << 20
						    : m->generated.may_change ? 32ull << 20
								   : 200ull << 20;
	uint64_t size = up(text * (s->tree && !sp->i386 ? 16
				   : m->generated.may_change ? 12
				   : s->counts		   ? 10
							   : 6) +
				   (1 << 20),
			   1 << 16);

	if (size > most)
		size = most;
	if (sp->i386 && reuse_room(sp, m, size))
		return;
	if (sp->i386)
		m->code.at = RT32_CODE_VAULT + (sp->next - sp->base);
	else
		size = find_room(s, sp, m, size);
	m->code.cap = size;
	m->code.off = next_piece(sp, m->code.at, size);
}

static void find_shadows(const struct spaces *s, struct space *sp, struct module *m)
{
	if (sp->i386)
		return;
	m->shadow.len = up((m->text.hi - m->text.lo) * 4, PAGE);
	m->shadow.off = next_piece(sp, shadow_at(m), m->shadow.len);
	if (s->counts && shadow_overlaps(sp, m, shadow_at(m)))
		m->shadow.present = false;
	if (s->counts && m->shadow.present && !m->generated.may_change &&
	    !shadow_overlaps(sp, m, counting_shadow_at(m))) {
		m->counting_copies = true;
		m->shadow.counting_off = next_piece(sp, counting_shadow_at(m), m->shadow.len);
	}
}

struct module *module_new(struct spaces *s, struct space_user *p, const struct range *r,
			  uint64_t pc, struct rt_mail *mail)
{
	struct space *sp = p->space;
	const struct mapping *at;
	struct elf_head head;
	struct module *m;
	uint64_t lo, hi;
	int fd;

	if (!s->maps_good)
		s->hooks->read_maps(s, &s->maps);
	at = maps_at(&s->maps, pc);
	find_bounds(s, sp, r, at, pc, &lo, &hi);
	pm_grow(sp->module, sp->nmodule, sp->cap_module);
	m = &sp->module[sp->nmodule++];
	*m = (struct module){
		.text.lo = lo,
		.text.hi = hi,
		.shadow.present = !sp->i386,
		.stored.fd = -1,
		.users = pm_alloc(sizeof *m->users),
		.text.path = pm_arena_strdup(&s->mem, at && at->path[0] ? at->path : "[anon]"),
		.text.dev = at ? at->dev : 0,
		.text.ino = at ? at->ino : 0,
		.text.file_off = at ? at->off + (lo - at->lo) : 0,
		.absolute = hi < RT_SHADOW && !sp->i386,
	};
	*m->users = 1;
	PM_INVARIANT(6, modules_are_apart(sp));
	find_out_whether_generated(m, r, at);
	fd = open_text(s, m, &head);
	find_code_area(s, sp, m);
	find_shadows(s, sp, m);
	if (!m->code.at || sp->next > sp->base + space_size(sp)) {
		if (fd >= 0)
			close(fd);
		m->dead = true;
		s->hooks->give_up(
			s, p,
			sp->i386 ? "more code than there is room to translate in a 32-bit program"
				 : "more code than there is room to translate near it");
		return NULL;
	}
	note_points(s, m);
	for (size_t i = 0; i < sp->nrange && m->shadow.present; i++)
		shadow_find_aliases(s, sp, m, sp->range[i].lo, sp->range[i].hi);
	/* another thread could find its next descriptor taken */
	if (m->text.bytes && !sp->constants_change)
		store_load(s, sp, (uint32_t)(m - sp->module), fd, &head, p->nthread == 1);
	place(s, p, (uint32_t)(m - sp->module), false, mail);
	if (fd >= 0)
		close(fd);
	return &sp->module[sp->nmodule - 1];
}
