/* SPDX-License-Identifier: MIT */
/* enter.c - answers: where to go on for an original address */
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

static uint64_t entry_of(struct spaces *s, struct space_user *p, struct blk *b, bool indirect,
			 struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[b->module];
	uint64_t to = need_outside_entry(s, sp, b), counting;

	place(s, p, b->module, false, mail);

	if (indirect && b->indirect != XL_NONE && shadow_need(s, sp, m, b->pc))
		give_text_back(s, m, mail);
	if (indirect && make_indirect(s, sp, b, to))
		space_shadow(s, sp, m, b->pc, m->code.at + b->indirect);
	if (!s->hooks->only_counts(s))
		return to;
	counting = counting_entry(sp, b);
	mail->r[5] = !counting;
	if (indirect && counting) {
		make_indirect(s, sp, counting_copy_of(sp, b), counting);
		fill_counting_shadow(s, sp, m, b->pc);
	}
	return counting ? counting : to;
}

uint64_t space_counting_copy(const struct space *sp, uint64_t code)
{
	const struct xl_map *map = NULL;
	const struct blk *b;
	uint32_t i = 0;

	if (!space_state(sp, code, &i, &map))
		return 0;
	b = &sp->block[i];
	if (b->flags & (XL_COUNTS | BLK_IS_DEAD) || sp->flow[i].out != XL_OPEN ||
	    code != sp->module[b->module].code.at + b->code)
		return 0;
	return counting_entry(sp, b);
}

#define WINDOW (4 * PAGE) /* of code that may change, no more is translated at a time */
#define HOT 200u			/* write traps on one page */

/* The ranges around @pc, of module @m and of the same protection, up to a window behind it. */
static void join_ranges(const struct space *sp, const struct module *m, const struct range *r,
			uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	const struct range *last = r;

	while (last->hi < m->text.hi && last->hi < pc + WINDOW) {
		const struct range *next = space_range(sp, last->hi);

		if (!next || (next->prot & 2) != (r->prot & 2))
			break;
		last = next;
	}
	*lo = r->lo > m->text.lo ? r->lo : m->text.lo;
	*hi = last->hi < m->text.hi ? last->hi : m->text.hi;
}

/* No write may come between reading and translating [@lo, *@hi), which is writable: it is protected
 * first, and translated when the process says that it has been done and no write has trapped since.
 * False: not yet. */
static bool protect_first(struct module *m, uint64_t pc, uint64_t lo, uint64_t *hi,
			  struct rt_mail *mail)
{
	const uint64_t page = pc & ~(PAGE - 1), next = page + PAGE;

	if (mail->a[5])
		for (uint64_t a = lo; a < *hi; a += PAGE)
			if (pm_map_get(&m->generated.blocks, a))
				pm_map_put(&m->generated.confirmed, a, NULL);
	if (!pm_map_get(&m->generated.confirmed, page) ||
	    (next < *hi && pc + 15 > next && !pm_map_get(&m->generated.confirmed, next))) {
		for (uint64_t a = lo; a < *hi; a += PAGE)
			pm_map_put(&m->generated.blocks, a, NULL);
		mail_cmd(mail, CMD_PROTECT, lo, *hi - lo, 1, 0);
		return false;
	}
	for (uint64_t a = next; a < *hi; a += PAGE)
		if (!pm_map_get(&m->generated.confirmed, a))
			*hi = a;
	return true;
}

/* Which part of @m, whose code may change, is translated for @pc, and whether blocks @check their
 * bytes, because a page fault would not tell, or there are too many: code and data are on one page.
 * False: once commands have run. */
static bool bound_generated(const struct space *sp, struct module *m, const struct range *r,
			    uint64_t pc, uint64_t *lo, uint64_t *hi, bool *check,
			    struct rt_mail *mail)
{
	const uint64_t page = pc & ~(PAGE - 1), *traps;

	join_ranges(sp, m, r, pc, lo, hi);
	if (*check)
		return true;
	*hi = page + WINDOW < *hi ? page + WINDOW : *hi;
	if (!(r->prot & 2)) {
		for (uint64_t a = page; a < *hi; a += PAGE)
			pm_map_put(&m->generated.blocks, a, NULL);
		return true;
	}
	*lo = page;
	traps = pm_map_get(&m->generated.write_traps, page);
	*check = traps && *traps > HOT;
	return *check || protect_first(m, pc, *lo, hi, mail);
}

/* There is no block at @pc yet, but module @m. */
static uint64_t enter_new(struct spaces *s, struct space_user *p, struct module *m,
			  const struct range *r, uint64_t pc, bool indirect, struct rt_mail *mail)
{
	struct space *sp = p->space;
	const uint32_t mi = (uint32_t)(m - sp->module);
	const size_t link0 = sp->nlink;
	const uint64_t ahead = s->ahead;
	uint64_t lo = m->text.lo, hi = m->text.hi;
	bool check = m->generated.must_check;
	uint32_t first;

	if (m->generated.may_change && !bound_generated(sp, m, r, pc, &lo, &hi, &check, mail))
		return 0;
	first = translate(s, p, mi, pc, lo, hi, check, false);
	if (first == XL_NONE && sp->abi_broken)
		return space_enter(s, p, pc, indirect, mail);
	if (first == XL_NONE)
		return sp->module[mi].full && retire(s, p, mi, true, mail)
			       ? space_enter(s, p, pc, indirect, mail)
			       : 0;
	if (s->ahead > ahead) {
		s->demand++;
		s->ahead--;
	}
	if (sp->module[mi].stored.needed && !sp->i386 && !s->records)
		translate_ahead(s, p, mi, link0, sp->nlink);
	return block_find(sp, pc) ? space_enter(s, p, pc, indirect, mail) : 0;
}

uint64_t space_enter(struct spaces *s, struct space_user *p, uint64_t pc, bool indirect,
		     struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct blk *b = block_find(sp, pc);
	const struct range *r;
	struct module *m;

	if (b && indirect && !space_guests(b))
		sp->abi_broken = true;
	if (sp->abi_broken) {
		if (!drop_abi(s, p, mail))
			return 0;
		sp = p->space;
		b = block_find(sp, pc);
	}
	if (b)
		return entry_of(s, p, b, indirect, mail);
	r = space_range(sp, pc);
	if (!r)
		return 0;
	m = module_at(sp, pc);
	if (!m) {
		m = module_new(s, p, r, pc, mail);
		if (!m)
			return 0;
		if (block_find(sp, pc))		/* from the store */
			return space_enter(s, p, pc, indirect, mail);
	}
	if (m->generated.may_change &&
	    sp->refs > 1) { /* the sharers' pages may hold something else */
		if (!diverge(s, p, mail))
			return 0;
		if (p->space != sp)
			return space_enter(s, p, pc, indirect, mail);
	}
	return enter_new(s, p, m, r, pc, indirect, mail);
}

const struct module *space_module(struct spaces *s, struct space_user *p, uint64_t pc,
				  struct rt_mail *mail)
{
	if (!module_at(p->space, pc) && space_range(p->space, pc))
		space_enter(s, p, pc, false, mail);
	return module_at(p->space, pc);
}

/* CALL ENTRIES in translate.h: that at @pc; 0: there is none, the runtime does it each time. */
static uint64_t call_entry(struct space *sp, uint64_t pc)
{
	const struct blk *b = block_find(sp, pc);

	return b ? counting_entry(sp, b) : 0;
}

uint64_t space_resolve(struct spaces *s, struct space_user *p, uint32_t link, struct rt_mail *mail)
{
	struct space *sp = p->space;
	uint64_t *shortcut, to, lead;
	struct link *l;
	bool often;

	if (link >= sp->nlink)
		return 0;
	shortcut = space_shortcut(s, sp, link);
	often = shortcut && *shortcut;
	to = space_enter(s, p, sp->link[link].target, false, mail);
	l = &sp->link[link];
	if (to && l->stale && p->space->abi_flags) {
		const struct blk *b = block_find(p->space, l->target);

		if (b && b->flags & XL_READS_FLAGS) {
			p->space->abi_broken = true;
			return space_enter(s, p, l->target, false, mail);
		}
	}
	lead = to && s->tree && l->counting ? call_entry(p->space, l->target) : to;
	if (lead && !mail->ncmd && !l->done &&
	    (s->tree || l->counting == (s->hooks->only_counts(s) && !mail->r[5]))) {
		const struct module *m = &sp->module[l->module];

		/* Across modules only if the target's code is placed in every process of the space.
		 * A dead target's code stays, and its entry leads to whoever succeeds it. */
		if ((m->text.lo <= l->target && l->target < m->text.hi) || sp->refs == 1) {
			if (often && m->stored.code_from_file)
				links_make_code_own(s, sp, l->module);
			link_patch(s, sp, l, lead);
			if (l->done)
				link_stop_waiting(sp, link);			/* (5) */
		}
	}
	return to;
}

#define BEGIN_MODULES 64		/* more than programs that execute what they map have */

void space_mapped(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		  struct rt_mail *mail)
{
	struct space *sp = p->space;

	for (size_t i = 0; i < sp->nrange && sp->nmodule < BEGIN_MODULES; i++) {
		const struct range r = sp->range[i];
		const struct mapping *at;

		if (r.hi <= lo || hi <= r.lo || r.prot & 2 || r.shared || r.patched ||
		    module_at(sp, r.lo) || mail->ncmd + PLACE_CMDS > RT_MAX_CMDS)
			continue;
		if (!s->maps_good)
			s->maps_good = s->hooks->read_maps(s, &s->maps);
		at = maps_at(&s->maps, r.lo);
		if (at && at->ino)
			module_new(s, p, &r, r.lo, mail);
	}
	s->maps_good = false;
}

uint64_t space_begin(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *mail)
{
	space_mapped(s, p, 0, UINT64_MAX, mail);
	return space_enter(s, p, pc, false, mail);
}

uint64_t space_once(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = module_at(sp, pc);
	const struct range *r = space_range(sp, pc);
	uint32_t first, mi;

	if (!m) {
		if (r)				/* the next time */
			module_new(s, p, r, pc, mail);
		return 0;
	}
	mi = (uint32_t)(m - sp->module);
	first = translate(s, p, mi, pc, m->text.lo, m->text.hi, false, true);
	if (first == XL_NONE) {
		if (sp->module[mi].full)
			retire(s, p, mi, false, mail);
		return 0;
	}
	s->demand++;
	s->ahead--;
	m = &sp->module[sp->block[first].module];
	return m->code.at + sp->block[first].code;
}

uint64_t space_recheck(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *mail)
{
	struct blk *b;

	if (!diverge(s, p, mail))
		return 0;
	b = mail->a[5] ? NULL : block_find(p->space, pc); /* asked again: it is the successor */
	if (b)
		kill_block(s, p->space, (uint32_t)(b - p->space->block));
	return space_enter(s, p, pc, false, mail);
}
