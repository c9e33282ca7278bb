/* SPDX-License-Identifier: MIT */
/* fork.c - sharers of a space that part */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

static void *copy_of(const void *p, size_t n)
{
	void *copy = pm_alloc(n ? n : 1);

	return n ? memcpy(copy, p, n) : copy;
}

static struct pm_map copy_of_map(const struct pm_map *from)
{
	struct pm_map to = { 0 };
	uint64_t key, val;

	for (size_t i = 0; pm_map_next(from, &i, &key, &val); )
		*pm_map_put(&to, key, NULL) = val;
	return to;
}

static struct pm_buf copy_of_buf(const struct pm_buf *from)
{
	struct pm_buf to = { 0 };

	pm_buf_add(&to, from->p, from->n);
	return to;
}

static uint8_t *copy_of_pages(const struct module *m, const uint8_t *set)
{
	return set ? copy_of(set, shadow_bits(m)) : NULL;
}

/* *@m, which is a copy of *@o byte for byte, gets tables of its own, and a place in another region.
 */
static void clone_module(struct module *m, const struct module *o, uint64_t shift)
{
	++*m->users;
	m->stored.fd = -1;
	m->stored.code_from_file = 0;
	m->code.off += shift;
	m->shadow.off += shift;
	m->shadow.counting_off += shift;
	m->unit = copy_of(o->unit, o->nunit * sizeof *o->unit);
	m->cap_unit = o->nunit;
	m->code.map = copy_of(o->code.map, o->code.nmap * sizeof *o->code.map);
	m->code.cap_map = o->code.nmap;
	m->shadow.entry_from = shadow_copy_index(o);
	m->code.rel_pc = copy_of_buf(&o->code.rel_pc);
	m->code.rel_counter = copy_of_buf(&o->code.rel_counter);
	m->code.rel_link = copy_of_buf(&o->code.rel_link);
	m->code.rel_place = copy_of_buf(&o->code.rel_place);
	m->stored.new_indirect = copy_of_buf(&o->stored.new_indirect);
	m->stored.needed = copy_of_pages(o, o->stored.needed);
	m->shadow.filled = copy_of_pages(o, o->shadow.filled);
	m->stored.saved_needed = copy_of_pages(o, o->stored.saved_needed);
	m->generated.blocks = copy_of_map(&o->generated.blocks);
	m->generated.confirmed = copy_of_map(&o->generated.confirmed);
	m->generated.write_traps = copy_of_map(&o->generated.write_traps);
}

static void clone_blocks(struct space *sp, const struct space *from)
{
	sp->block = NULL;
	sp->flow = NULL;
	sp->nblock = sp->cap_block = 0;
	space_blocks(sp, from->nblock);
	if (from->nblock) {
		memcpy(sp->block, from->block, from->nblock * sizeof *sp->block);
		memcpy(sp->flow, from->flow, from->nblock * sizeof *sp->flow);
	}
	sp->nblock = from->nblock;
	blocks_copy_index(sp, from);
	sp->bytes = copy_of_map(&from->bytes);
	sp->outside_entry = copy_of_map(&from->outside_entry);
	sp->dead_ends = copy_of_map(&from->dead_ends);
	memset(sp->ran_set, 0, sizeof sp->ran_set);
	sp->nran_word = 0;
}

static void clone_links(struct space *sp, const struct space *from)
{
	sp->link = copy_of(from->link, from->nlink * sizeof *from->link);
	sp->cap_link = from->nlink;
	sp->pending = copy_of_map(&from->pending);
}

static struct space *space_clone(struct spaces *s, const struct space *from)
{
	struct space *sp = space_new(s, from->i386), fresh;
	uint64_t shift;

	if (!sp)
		return NULL;
	fresh = *sp;
	shift = fresh.base - from->base;
	*sp = *from;
	sp->next_space = fresh.next_space;
	sp->refs = 1;
	sp->base = fresh.base;
	sp->next = from->next + shift;
	clone_blocks(sp, from);
	clone_links(sp, from);
	sp->module = copy_of(from->module, from->nmodule * sizeof *from->module);
	sp->cap_module = from->nmodule;
	sp->unit = copy_of(from->unit, from->nunit * sizeof *from->unit);
	sp->cap_unit = from->nunit;
	sp->ref = copy_of(from->ref, from->nref * sizeof *from->ref);
	sp->cap_ref = from->nref;
	sp->range = copy_of(from->range, from->nrange * sizeof *from->range);
	sp->cap_range = from->nrange;
	if (from->i386)
		copy_data(s, from->base, sp->base, from->next - from->base);
	else
		memcpy(space_links(s, sp), space_links(s, from), from->nlink * 8);
	for (size_t i = 0; i < from->nmodule; i++) {
		struct module *m = &sp->module[i];
		const struct module *o = &from->module[i];

		clone_module(m, o, shift);
		if (from->i386 || !o->code.cap)
			continue;
		/* a dead module's, too: a thread may sleep in a system call from there */
		code_copy(s, o, s->code + m->code.off);
		if (o->dead)
			continue;
		copy_data(s, o->shadow.off, m->shadow.off, o->shadow.len);
		if (m->counting_copies)
			copy_data(s, o->shadow.counting_off, m->shadow.counting_off, o->shadow.len);
		make_shadow_own(s, sp, m);
	}
	return sp;
}

/* Map what was mapped, as many pieces as a mail holds commands for. */
bool space_move(const struct spaces *s, struct space_user *p, struct rt_mail *mail)
{
	for (uint32_t i = 0; i < p->moving.n; i++) {
		if (!p->moving.p[i])
			continue;
		if (mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			break;
		p->moving.p[i] = 0;
		if (p->space->module[i].code.cap)
			place(s, p, i, true, mail);
	}
	if (!mail->ncmd)
		pm_buf_release(&p->moving);
	return mail->ncmd > 0;
}

void space_release(struct spaces *s, struct space_user *p, uint32_t block)
{
	if (p->space && p->space->busy == block) {
		p->space->busy = 0;
		s->released = true;
	}
	if (p->left && p->left->busy == block) {
		p->left->busy = 0;
		s->released = true;
		space_unref(s, p->left);
		p->left = NULL;
	}
}

/* The process is about to differ from those it shares its space with. False: once it has moved out,
 * ask again. */
bool diverge(struct spaces *s, struct space_user *p, struct rt_mail *mail)
{
	struct space *sp;

	if (p->space->refs == 1)
		return true;
	sp = space_clone(s, p->space);
	if (!sp)		/* more than a thousand address spaces at once: share on */
		return true;
	/* others must not add to what its threads still execute, nor they to what is not yet there
	 */
	p->left = p->space;
	p->left->busy = sp->busy = s->asking;
	p->space = sp;
	if (!sp->i386) {
		p->moving = p->placed;
		p->placed = (struct pm_buf){ 0 };
	}
	s->hooks->links_moved(s, p, space_links_at(sp));
	if (sp->i386)
		mail_cmd(mail, CMD_PLACE, sp->base, RT32_CODE_SIZE, RT32_CODE_VAULT, 5);
	if (sp->i386 || space_move(s, p, mail))
		return false;
	space_release(s, p, s->asking);
	return true;
}
