/* SPDX-License-Identifier: MIT */
/* slots.c - what mapped files say of data, read once per file: where procedure linkage tables lead,
 * and which is constant
 *
 * Of sqlite3's calls two thirds go through its library's own table to the library's own functions.
 * What is found is a guess, which the translation compares with the pointer (likely in
 * translate.h).
 *
 * Constant is what only segments have that may not be written to: not what the dynamic linker
 * writes to first (PT_GNU_RELRO). Before the program has them made writable, or maps something over
 * them, it says so (RQ_CHANGES). */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/control/session.h"
#include "elf/head.h"
#include "elf/plt_slots.h"

static bool read_all(void *session, void *to, uint64_t at, size_t n)
{
	return session_read(session, to, at, n) == (ssize_t)n;
}

/* Has the process mapped the segment from the file of @m, not to be written to? Who loads files in
 * his own way may not have. */
static bool maps_segment(const struct maps *maps, const struct module *m, const struct segment *g)
{
	const uint64_t at = g->vaddr + m->text.bias;
	const struct mapping *x = maps_at(maps, at);

	return x && x->ino == m->text.ino && x->dev == m->text.dev && !(x->prot & PROT_WRITE) &&
	       x->off + (at - x->lo) == g->off && g->filesz <= x->hi - at;
}

/* Nothing, if the file that is there now is another one. */
static void find_constants(struct session *s, const struct module *m, struct slots *f)
{
	const int fd = open(m->text.path, O_RDONLY | O_CLOEXEC);
	struct maps maps = { 0 };
	struct elf_head h;
	struct segment g;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_dev == m->text.st.st_dev &&
	    st.st_ino == m->text.st.st_ino && session_read_maps(s, &maps)) {
		elf_head(fd, &h);
		for (unsigned i = 0; f->nconstant < NR(f->constant) && elf_segment(&h, i, &g); i++)
			if (g.type == PT_LOAD && g.flags & PF_R && !(g.flags & PF_W) &&
			    maps_segment(&maps, m, &g))
				f->constant[f->nconstant++] =
					(struct constant){ g.vaddr, g.vaddr + g.filesz };
	}
	maps_release(&maps);
	close(fd);
}

static struct slots *file_of(struct session *s, const struct module *m)
{
	for (size_t i = 0; i < s->nslots; i++)
		if (s->slots[i].ino == m->text.ino && s->slots[i].dev == m->text.dev)
			return &s->slots[i];
	pm_grow(s->slots, s->nslots, s->cap_slots);
	s->slots[s->nslots] = (struct slots){ .dev = m->text.dev, .ino = m->text.ino };
	return &s->slots[s->nslots++];
}

static struct slots *constants_of(struct session *s, const struct module *m)
{
	struct slots *f = file_of(s, m);

	if (!f->constants_read)
		find_constants(s, m, f);
	f->constants_read = true;
	return f;
}

bool drop_constants(struct session *s, const struct module *m, uint64_t lo, uint64_t hi)
{
	struct slots *f;
	bool any = false;

	if (m->dead || !m->text.ino)
		return false;
	f = constants_of(s, m);
	lo -= m->text.bias;
	hi -= m->text.bias;
	for (unsigned i = 0; i < f->nconstant; i++)
		any |= lo < f->constant[i].hi && f->constant[i].lo < hi;
	f->constants_change |= any;
	return any;
}

bool is_constant(struct session *s, const struct module *m, uint64_t lo, uint64_t hi)
{
	const struct slots *f = constants_of(s, m);

	if (f->constants_change)
		return false;
	lo -= m->text.bias;
	hi -= m->text.bias;
	for (unsigned i = 0; i < f->nconstant; i++)
		if (lo >= f->constant[i].lo && hi <= f->constant[i].hi)
			return true;
	return false;
}

uint64_t slot_target(struct session *s, const struct module *m, uint64_t slot)
{
	struct slots *f = file_of(s, m);
	const uint64_t *to;

	if (!f->slots_read)
		elf_plt_slots(m->text.bias, read_all, s, &f->to);
	f->slots_read = true;
	to = pm_map_get(&f->to, slot - m->text.bias);
	return to ? *to + m->text.bias : 0;
}
