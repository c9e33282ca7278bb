/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_space.h"

#include <stdlib.h>

#define FORKED		(1ull << 32)
#define MAX_KEPT	4096u		/* an execve that fails is forgotten with its space */

void guest_spaces_add(struct guest_spaces *s, uint64_t mm, uint64_t pid)
{
	*pm_map_put(&s->of, mm, NULL) = (uint32_t)pid;
}

void guest_spaces_forked(struct guest_spaces *s, uint64_t mm)
{
	uint64_t *at = pm_map_get(&s->of, mm);

	if (at)
		*at |= FORKED;
}

void guest_spaces_remove(struct guest_spaces *s, uint64_t mm)
{
	struct guest_area a;

	pm_map_del(&s->of, mm);
	while (guest_spaces_kept(s, mm, &a))
		;
}

bool guest_spaces_find(const struct guest_spaces *s, uint64_t mm, uint64_t *pid, bool *forked)
{
	const uint64_t *at = pm_map_get(&s->of, mm);

	if (at && pid)
		*pid = (uint32_t)*at;
	if (at && forked)
		*forked = *at & FORKED;
	return at;
}

void guest_spaces_keep(struct guest_spaces *s, uint64_t mm, const struct guest_area *a)
{
	if (s->n == MAX_KEPT)
		return;
	pm_grow(s->kept, s->n, s->cap);
	s->kept[s->n++] = (struct kept_area){ mm, *a };
}

bool guest_spaces_kept(struct guest_spaces *s, uint64_t mm, struct guest_area *a)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->kept[i].mm == mm) {
			*a = s->kept[i].a;
			memmove(s->kept + i, s->kept + i + 1, (--s->n - i) * sizeof *s->kept);
			return true;
		}
	return false;
}

void guest_spaces_release(struct guest_spaces *s)
{
	pm_map_release(&s->of);
	free(s->kept);
}
