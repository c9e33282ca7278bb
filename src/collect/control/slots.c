/* SPDX-License-Identifier: MIT */
/* slots.c - where the procedure linkage tables of mapped files lead, read once per file
 *
 * Of sqlite3's calls two thirds go through its library's own table to the library's own functions.
 * What is found is a guess, which the translation compares with the pointer (likely in
 * translate.h). */
#include "collect/control/session.h"
#include "elf/plt_slots.h"

static bool read_all(void *session, void *to, uint64_t at, size_t n)
{
	return session_read(session, to, at, n) == (ssize_t)n;
}

static const struct pm_map *slots_of(struct session *s, const struct module *m)
{
	for (size_t i = 0; i < s->nslots; i++)
		if (s->slots[i].ino == m->text.ino && s->slots[i].dev == m->text.dev)
			return &s->slots[i].to;
	pm_grow(s->slots, s->nslots, s->cap_slots);
	s->slots[s->nslots] = (struct slots){ .dev = m->text.dev, .ino = m->text.ino };
	elf_plt_slots(m->text.bias, read_all, s, &s->slots[s->nslots].to);
	return &s->slots[s->nslots++].to;
}

uint64_t slot_target(struct session *s, const struct module *m, uint64_t slot)
{
	const uint64_t *to = pm_map_get(slots_of(s, m), slot - m->text.bias);

	return to ? *to + m->text.bias : 0;
}
