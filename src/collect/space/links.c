/* SPDX-License-Identifier: MIT */
/* links.c - direct branches between units, and entries for who comes from outside a unit */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

void link_patch(struct spaces *s, struct space *sp, struct link *l, uint64_t to)
{
	struct module *m = &sp->module[l->module];
	int64_t d = (int64_t)(to - (m->code.at + l->site + 4));
	uint64_t *shortcut = l->site < m->stored.code_from_file
				     ? space_shortcut(s, sp, (size_t)(l - sp->link))
				     : NULL;

	if (!m->code.cap)			/* given back */
		return;
	if (shortcut) {
		__atomic_store_n(shortcut, to, __ATOMIC_RELEASE);
		return;
	}
	if (d != (int32_t)d && !sp->i386)	/* out of reach: who goes there asks each time */
		return;
	PM_INVARIANT(3, l->site >= m->stored.code_from_file);
	patch32(code_ptr(s, m, l->site), (uint32_t)d);
	l->done = true;
}

bool link_is_within(const struct space *sp, const struct link *l)
{
	return l->module < sp->nmodule && sp->module[l->module].text.lo <= l->target &&
	       l->target < sp->module[l->module].text.hi;
}

/* Copying a module's code is worth it: a thread has gone by shortcuts for long. */
void links_make_code_own(struct spaces *s, struct space *sp, uint32_t mi)
{
	make_code_own(s, sp, &sp->module[mi]);
	for (size_t i = 0; i < sp->nlink; i++) {
		uint64_t *shortcut = sp->link[i].module == mi ? space_shortcut(s, sp, i) : NULL;

		if (shortcut && *shortcut) {
			link_patch(s, sp, &sp->link[i], *shortcut);
			*shortcut = 0;
		}
	}
}

/* Thousands may wait for one target: generated code is translated again and again, and all of it
 * refers to what never runs. */
void link_wait(struct space *sp, uint32_t i)
{
	struct link *l = &sp->link[i];
	uint64_t *head;

	PM_INVARIANT(5, !l->done && link_is_within(sp, l));
	if (l->waits)
		return;
	head = pm_map_put(&sp->pending, l->target, NULL);
	l->next = (uint32_t)*head;
	l->waits = true;
	*head = i + 1;
}

/* Link @i is done, and whoever comes to its target does not concern it any more. */
void link_stop_waiting(struct space *sp, uint32_t i)
{
	const uint64_t target = sp->link[i].target;
	uint64_t *head = sp->link[i].waits ? pm_map_get(&sp->pending, target) : NULL;
	uint32_t k;

	if (!head)
		return;
	sp->link[i].waits = false;
	if (*head == i + 1) {
		*head = sp->link[i].next;
		if (!*head)
			pm_map_del(&sp->pending, target);
		return;
	}
	for (k = (uint32_t)*head; k && sp->link[k - 1].next != i + 1; k = sp->link[k - 1].next)
		;
	if (k)
		sp->link[k - 1].next = sp->link[i].next;
}

void link_target(const struct spaces *s, const struct space *sp, size_t i, uint64_t target)
{
	if (i < (sp->i386 ? LINKS32_SIZE : RT_LINKS_SIZE) / 8)
		space_links(s, sp)[i] = target;
}

uint32_t link_add(struct spaces *s, struct space *sp, uint32_t module, uint64_t target,
			 uint32_t site, uint32_t stub, bool counting, bool stale)
{
	uint32_t i = (uint32_t)sp->nlink;

	pm_grow(sp->link, sp->nlink, sp->cap_link);
	sp->link[sp->nlink++] =
		(struct link){ target, module, site, stub, 0, false, false, counting, stale };
	link_target(s, sp, i, target);
	if (link_is_within(sp, &sp->link[i]))
		link_wait(sp, i);
	return i;
}

/* @counting: where those of counting copies lead; 0: nowhere. */
void links_resolved(struct spaces *s, struct space *sp, uint64_t pc, uint64_t to, uint64_t counting)
{
	uint64_t *head = sp->pending.n ? pm_map_get(&sp->pending, pc) : NULL;

	if (!head)
		return;
	for (uint32_t i = (uint32_t)*head; i; i = sp->link[i - 1].next) {
		struct link *l = &sp->link[i - 1];

		PM_INVARIANT(5, !l->done && l->waits && l->target == pc && link_is_within(sp, l));
		l->waits = false;
		if (!l->counting || counting)
			link_patch(s, sp, l, l->counting ? counting : to);
	}
	pm_map_del(&sp->pending, pc);
}

bool links_pending(const struct space *sp, uint64_t pc)
{
	return sp->pending.n && pm_map_get(&sp->pending, pc);
}

/* Counts an entry into, or with @by -1 takes back one into, the class from which closed block @i is
 * entered. Returns the length of the code at @at in the module. */
size_t count_entry(struct spaces *s, struct space *sp, uint32_t i, uint32_t live, int by,
			  uint32_t at)
{
	struct module *m = &sp->module[sp->block[i].module];
	const struct module *last = m;
	uint32_t field[2],
		counter = block_counter(sp, unit_of(sp, i)->block + sp->flow[i].in, &last);
	unsigned n;
	size_t len = xl_count(code_ptr(s, m, at), sp->i386, live, counter, by, field, &n);

	for (unsigned k = 0; k < n; k++) {
		field[k] += at;
		pm_buf_add(&m->code.rel_counter, &field[k], 4);
	}
	return len;
}

/* Where to enter @b from outside its unit; 0: there is no place yet. */
uint64_t outside_entry(struct space *sp, const struct blk *b)
{
	const struct module *m = &sp->module[b->module];
	uint32_t i = (uint32_t)(b - sp->block);
	const uint64_t *at;

	if (!(b->flags & BLK_CLOSED))
		return m->code.at + b->code;
	at = pm_map_get(&sp->outside_entry, i);
	return at ? m->code.at + *at - 1 : 0;
}

uint64_t need_outside_entry(struct spaces *s, struct space *sp, const struct blk *b)
{
	struct module *m = &sp->module[b->module];
	uint64_t to = outside_entry(sp, b);
	uint32_t at = (uint32_t)m->code.len;
	uint8_t *p;

	if (to)
		return to;
	if (m->code.cap - at < 64)
		return m->code.at +
		       b->code; /* never: translate() leaves room, and counts all at last */
	p = code_ptr(s, m, at);
	p += count_entry(s, sp, (uint32_t)(b - sp->block), b->live, 1, at);
	write_jump(p, code_ptr(s, m, b->code));
	m->code.len = up((uint32_t)(p + 5 - code_ptr(s, m, 0)), 16);
	*pm_map_put(&sp->outside_entry, (uint64_t)(b - sp->block), NULL) = at + 1;
	return m->code.at + at;
}


/* @b, whose direct entry is @to, gets an indirect one. False: it has one, or there is no room. */
bool make_indirect(struct spaces *s, struct space *sp, struct blk *b, uint64_t to)
{
	struct module *m = &sp->module[b->module];
	const uint32_t at = (uint32_t)m->code.len, i = (uint32_t)(b - sp->block);

	if (b->indirect != XL_NONE || m->code.cap - m->code.len <= 64)
		return false;
	if (i - m->stored.first_block < m->stored.nblock)
		pm_buf_add(&m->stored.new_indirect, &i, sizeof i);
	m->code.len = up(
		at + xl_indirect_entry(code_ptr(s, m, at), sp->i386, m->code.at + at, to, b->live),
		16);
	b->indirect = at;
	return true;
}
