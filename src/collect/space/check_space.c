/* SPDX-License-Identifier: MIT */
/* check_space.c - the numbered invariants of space.h, over all of a space */
#include <stdlib.h>

#include "collect/space/space_internal.h"

/* (1) Units ascend by the numbers of their blocks and share none; each block belongs to the module
 * of its unit, and what leads to a block by its address leads to one that exists. */
static bool blocks_are_in_order(const struct space *sp)
{
	uint64_t next = 0;

	for (size_t i = 0; i < sp->nunit; i++) {
		const struct unit *u = &sp->unit[i];

		if (u->block < next || u->module >= sp->nmodule)
			return false;
		next = (uint64_t)u->block + u->nblock;
		if (next > sp->nblock)
			return false;
		for (uint32_t k = u->block; k < next; k++)
			if (sp->block[k].module != u->module)
				return false;
	}
	for (size_t h = 0; sp->hash && h <= sp->hash_mask; h++)
		if (sp->hash[h] > sp->nblock)
			return false;
	return true;
}

/* (2) A module's units ascend by place, do not overlap, and lie in the code that there is; so do
 * the entries of its blocks. A module that has given back its code has none. */
static bool code_grows_upwards(const struct space *sp)
{
	for (uint32_t mi = 0; mi < sp->nmodule; mi++) {
		const struct module *m = &sp->module[mi];
		uint64_t next = 0;

		if (m->code.len > m->code.cap)
			return false;
		for (size_t i = 0; i < m->nunit && m->code.cap; i++) {
			const struct unit *u;

			if (m->unit[i] >= sp->nunit || (i && m->unit[i] <= m->unit[i - 1]))
				return false;
			u = &sp->unit[m->unit[i]];
			if (u->module != mi || u->code < next)
				return false;
			next = (uint64_t)u->code + u->ncode;
			if (next > m->code.len)
				return false;
			for (uint32_t k = u->block; k < u->block + u->nblock; k++)
				if (sp->block[k].code >= m->code.len ||
				    (sp->block[k].indirect != XL_NONE &&
				     sp->block[k].indirect >= m->code.len))
					return false;
		}
	}
	return true;
}

/* (3) What is mapped from a file is in one that is open, and no link in it has been patched. */
static bool files_are_untouched(const struct space *sp)
{
	for (size_t i = 0; i < sp->nmodule; i++) {
		const struct module *m = &sp->module[i];

		if ((m->stored.code_from_file || m->stored.shadow_from_file) &&
		    (m->stored.fd < 0 || !m->stored.code))
			return false;
		if (m->stored.code_from_file > m->code.len)
			return false;
	}
	for (size_t i = 0; i < sp->nlink; i++) {
		const struct link *l = &sp->link[i];

		if (l->done && l->module < sp->nmodule &&
		    l->site < sp->module[l->module].stored.code_from_file)
			return false;
	}
	return true;
}

/* Has link @i to wait for its target? One of a counting copy need not, if a block without one has
 * been there; nor one in code from a file that already leads somewhere. */
static bool has_to_wait(const struct spaces *s, struct space *sp, uint32_t i)
{
	const struct link *l = &sp->link[i];
	const struct module *m;
	const uint64_t *shortcut;

	if (l->done || l->counting || !link_is_within(sp, l))
		return false;
	m = &sp->module[l->module];
	if (m->dead || !m->code.cap)
		return false;
	shortcut = space_shortcut(s, sp, i);
	return !(shortcut && *shortcut) && !block_find(sp, l->target);
}

/* (5) Each link that waits does so once, under its own target; none that should is missing. */
static bool links_wait_for_targets(const struct spaces *s, struct space *sp)
{
	bool *waits = pm_alloc(sp->nlink + 1), good = true;
	uint64_t pc, head;

	for (size_t k = 0; good && pm_map_next(&sp->pending, &k, &pc, &head); )
		for (uint64_t i = head; good && i; i = sp->link[i - 1].next) {
			good = i <= sp->nlink && !waits[i - 1] && sp->link[i - 1].waits &&
			       !sp->link[i - 1].done &&
			       sp->link[i - 1].target == pc && link_is_within(sp, &sp->link[i - 1]);
			if (!good)
				break;
			waits[i - 1] = true;
		}
	for (uint32_t i = 0; good && i < sp->nlink; i++)
		good = waits[i] || (!sp->link[i].waits && !has_to_wait(s, sp, i));
	free(waits);
	return good;
}

/* (6) */
bool modules_are_apart(const struct space *sp)
{
	for (size_t i = 0; i < sp->nmodule; i++) {
		const struct module *m = &sp->module[i];

		if (m->dead)
			continue;
		if (m->text.lo >= m->text.hi)
			return false;
		for (size_t k = 0; k < i; k++)
			if (!sp->module[k].dead && sp->module[k].text.lo < m->text.hi &&
			    m->text.lo < sp->module[k].text.hi)
				return false;
	}
	return true;
}

unsigned space_check(const struct spaces *s, struct space *sp)
{
	if (!blocks_are_in_order(sp))
		return 1;
	if (!code_grows_upwards(sp))
		return 2;
	if (!files_are_untouched(sp))
		return 3;
	if (sp->busy >= RT_BLOCKS)
		return 4;
	if (!links_wait_for_targets(s, sp))
		return 5;
	return modules_are_apart(sp) ? 0 : 6;
}
