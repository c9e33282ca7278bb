/* SPDX-License-Identifier: MIT */
/* invalidate.c - code that has changed or gone */
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "collect/space/space_internal.h"

/* Where the direct entries of dead blocks at @pc lead, all to one place: to whoever succeeds them.
 * An offset in module @mi. */
static uint32_t dead_end(struct spaces *s, struct space *sp, uint32_t mi, uint64_t pc,
			 bool counting)
{
	struct module *m = &sp->module[mi];
	uint64_t *known = pm_map_put(&sp->dead_ends, pc | (uint64_t)counting << 63, NULL);
	uint32_t i, at, field;
	uint8_t *code;

	if (*known && sp->link[*known - 1].module == mi) {
		i = (uint32_t)*known - 1;
		if (sp->link[i].done) {
			sp->link[i].done = false;
			patch32(code_ptr(s, m, sp->link[i].site), 0);
			link_wait(sp, i);
		}
		return sp->link[i].site - 1;
	}
	at = up(m->code.len, 32);
	m->code.len = at + 32;
	i = link_add(s, sp, mi, pc, at + 1, at + 5, counting, true);
	*known = i + 1;
	code = code_ptr(s, m, at);
	write_jump(code, code + 5);		/* patched when there is a successor */
	xl_stub(code + 5, sp->i386, i);
	field = at + 5 + XL_STUB_LINK(sp->i386);
	pm_buf_add(&m->code.rel_link, &field, sizeof field);
	return at;
}

#define JUMP_SIZE 5u			/* bytes of write_jump() */

/* Nothing in the module's code at [@at, @at + @n) depends on its place or on numbers any more. */
static void forget_fields(struct pm_buf *rel, uint32_t at, uint32_t n)
{
	uint32_t *v = (uint32_t *)rel->p;
	size_t kept = 0;

	for (size_t i = 0; i < rel->n / sizeof *v; i++)
		if (v[i] + 4 <= at || v[i] >= at + n)
			v[kept++] = v[i];
	rel->n = kept * sizeof *v;
}

void kill_block(struct spaces *s, struct space *sp, uint32_t i)
{
	struct blk *b = &sp->block[i];
	struct module *m = &sp->module[b->module];
	uint8_t jump[8], *code;
	uint32_t end, at;

	if (b->flags & BLK_IS_DEAD)
		return;
	b->flags |= BLK_IS_DEAD;
	if (!s->records && b->flags & XL_EDGE)	/* no code begins there */
		return;
	make_code_own(s, sp, m);
	if (block_continues(s, sp, i))		/* it dies with the head of its chain */
		return;
	if (b->indirect != XL_NONE && b->flags & XL_COUNTS)
		counting_shadow(s, m, b->pc, 0);
	else if (b->indirect != XL_NONE)
		space_shadow(s, sp, m, b->pc, 0);
	if (m->dead || m->code.cap - m->code.len < DEAD_END_SIZE)
		return;
	at = end = dead_end(s, sp, b->module, b->pc, b->flags & XL_COUNTS);
	if (b->flags & BLK_CLOSED) {
		/* who comes here has not entered the block, whatever the flow says */
		at = (uint32_t)m->code.len;
		code = code_ptr(s, m, at);
		code += count_entry(s, sp, i, XL_LIVE_ALL, -1, at);
		write_jump(code, code_ptr(s, m, end));
		m->code.len = up((uint64_t)(code + 5 - code_ptr(s, m, 0)), 16);
	}
	if (m->stored.needed) {				/* it will be saved */
		struct pm_buf *rel[] = {&m->code.rel_pc, &m->code.rel_counter, &m->code.rel_link,
					&m->code.rel_place};

		for (size_t k = 0; k < NR(rel); k++)
			forget_fields(rel[k], b->code, JUMP_SIZE);
	}
	code = code_ptr(s, m, b->code);
	memcpy(jump, code, 8);
	write_jump(jump, jump + (int64_t)(at - b->code));
	/* Generated code, which threads may be executing, is aligned. A counting copy is not:
	 * whoever is alone to execute it waits for us. Nor is a file's text, which has been
	 * unmapped (leave_module() is for one that has not): a locked store there may lie in two
	 * cache lines, and processors that detect bus locks trap that (Intel, volume 3: OS
	 * Bus-Lock Detection). */
	if (b->code % sizeof jump)
		memcpy(code, jump, sizeof jump);
	else
		__atomic_store((uint64_t *)code, (uint64_t *)jump, __ATOMIC_SEQ_CST);
}

static bool holds_point(const struct spaces *s, uint64_t pc, uint64_t size)
{
	const uint64_t *v = (const uint64_t *)(const void *)s->point.p;
	const size_t lo = pm_lower_bound(v, s->point.n / sizeof *v, , pc);

	return lo < s->point.n / sizeof *v && v[lo] - pc < size;
}

void space_close(struct spaces *s, struct space *sp, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n && s->point.n; i++) {
		const struct blk *b = &sp->block[i];
		const struct unit *u;
		uint32_t head = i;

		if (!(b->flags & XL_COUNTS) || !holds_point(s, b->pc, b->size))
			continue;
		/* bounded: a file that has been cut short says anything */
		u = unit_of(sp, i);
		for (uint32_t j = 0; j < u->nblock && sp->flow[head].out < u->nblock; j++)
			head = u->block + sp->flow[head].out;
		kill_block(s, sp, head);
	}
}

static void kill_page(struct spaces *s, struct space *sp, struct module *m, uint64_t page)
{
	uint64_t *head = pm_map_get(&m->generated.blocks, page);

	if (!head)
		return;
	for (uint32_t i = (uint32_t)*head; i; i = sp->ref[i - 1].next)
		kill_block(s, sp, sp->ref[i - 1].block);
	pm_map_del(&m->generated.blocks, page);
	pm_map_del(&m->generated.confirmed, page);
}

/* Commands of this, and of free_code_area(). */
#define UNPLACE_CMDS (3 + MAX_PIECES)
static void unplace_shadows(const struct module *m, struct rt_mail *mail)
{
	struct piece piece[MAX_PIECES];

	for (unsigned i = 0, n = m->shadow.present ? shadow_pieces(m, piece) : 0; i < n; i++)
		mail_cmd(mail, CMD_UNPLACE, 0, 4 * (piece[i].hi - piece[i].lo),
			 shadow_entry_at(piece[i].lo), 0);
	if (m->counting_copies)
		mail_cmd(mail, CMD_UNPLACE, 0, m->shadow.len, counting_shadow_at(m), 0);
}

static void kill_blocks(struct spaces *s, struct space *sp, struct module *m)
{
	for (size_t j = 0; j < m->nunit; j++) {
		const struct unit *u = &sp->unit[m->unit[j]];

		for (uint32_t k = 0; k < u->nblock; k++)
			if (!u->once)
				kill_block(s, sp, u->block + k);
	}
}

static void kill_module(struct spaces *s, struct space *sp, struct module *m, struct rt_mail *mail)
{
	m->stored.shadow_from_file = false;	/* nobody looks at it any more */
	kill_blocks(s, sp, m);
	m->dead = true;
	unplace_shadows(m, mail);
}

/* The module of a file is left by whoever comes to a return or an indirect branch, for that one
 * which comes after it. Its code stays as it is: other threads may be anywhere in it, and it does
 * nothing but what it has been looked at for. */
static void leave_module(struct space *sp, struct module *m, struct rt_mail *mail)
{
	for (size_t j = 0; j < m->nunit; j++) {
		const struct unit *u = &sp->unit[m->unit[j]];

		if (u->block - m->stored.first_block >=
		    m->stored.nblock) /* the others are found by way of the module */
			for (uint32_t k = 0; k < u->nblock; k++)
				sp->block[u->block + k].flags |= BLK_IS_DEAD;
	}
	m->stored.shadow_from_file = false;
	m->dead = true;
	unplace_shadows(m, mail);
}

/* Nothing of @m is to be entered again. Generated code may be executed by nobody from now on: it is
 * killed, block by block. Its module stays for what is translated next, since further ones might
 * take up all that is near; unless it is full. */
static void give_up_module(struct spaces *s, struct space *sp, struct module *m,
			   struct rt_mail *mail)
{
	if (!m->generated.may_change)
		leave_module(sp, m, mail);
	else if (m->full)
		kill_module(s, sp, m, mail);
	else
		kill_blocks(s, sp, m);
}

/* Nobody executes dead module @mi any more, nor comes back to it: programs that load and unload
 * libraries for ever would use up what is near them. Its blocks stay, for what they counted. */
static void free_code_area(struct spaces *s, struct space_user *p, uint32_t mi,
			   struct rt_mail *mail)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];

	for (size_t i = 0; i < sp->nlink; i++) {
		uint64_t *shortcut = space_shortcut(s, sp, i);
		struct link *l = &sp->link[i];
		const struct module *from = l->module < sp->nmodule ? &sp->module[l->module] : NULL;
		uint64_t to;
		int32_t d;

		if (shortcut && m->code.at <= *shortcut && *shortcut < m->code.at + m->code.cap)
			*shortcut = 0;
		if (!from || !l->done || l->site == XL_NONE || from == m || !from->code.cap)
			continue;
		memcpy(&d, code_ptr(s, from, l->site), sizeof d);
		to = from->code.at + l->site + 4 + (uint64_t)(int64_t)d;
		if (to < m->code.at || to >= m->code.at + m->code.cap)
			continue;
		patch32(code_ptr(s, from, l->site), l->stub - (l->site + 4)); /* which asks again */
		l->done = false;
	}
	if (sp->i386)
		m->code.room = m->code.cap;
	else
		mail_cmd(mail, CMD_UNPLACE, 0, m->code.cap, m->code.at, 1);
	m->code.cap = m->code.len = 0;
	m->stored.code_from_file = 0;
	if (mi < p->placed.n)
		p->placed.p[mi] = 0;
}

/* Module @mi is full: it dies, and who comes to its text next will find another one, empty.
 * @outside: the thread that asks does not come back to where it was. False: once commands have run,
 * ask again. */
bool retire(struct spaces *s, struct space_user *p, uint32_t mi, bool outside, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	if (sp->refs > 1)			/* nor can it be copied */
		return false;
	for (uint32_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (mail->ncmd + UNPLACE_CMDS + PLACE_CMDS > RT_MAX_CMDS)
			return false;
		if (i == mi)
			give_up_module(s, sp, m, mail);
		if (m->dead && m->full && m->code.cap && outside && p->nthread == 1)
			free_code_area(s, p, i, mail);
	}
	return true;
}

/* All code is given up, and translated again when control comes to it. False: once commands have
 * run, ask again. */
static bool translate_anew(struct spaces *s, struct space *sp, struct rt_mail *mail)
{
	for (uint32_t i = 0; i < sp->nmodule; i++) {
		if (sp->module[i].dead)
			continue;
		if (mail->ncmd + UNPLACE_CMDS + PLACE_CMDS > RT_MAX_CMDS)
			return false;
		give_up_module(s, sp, &sp->module[i], mail);
	}
	return true;
}

/* Code has been met that reads flags that a call or a return left: everything is translated anew,
 * as if there were no ABI. False: likewise. */
bool drop_abi(struct spaces *s, struct space_user *p, struct rt_mail *mail)
{
	if (!diverge(s, p, mail))
		return false;
	p->space->abi_flags = false;
	store_note_flags(s, p->program);
	if (!translate_anew(s, p->space, mail))
		return false;
	p->space->abi_broken = false;
	return true;
}

bool space_drop_constants(struct spaces *s, struct space_user *p, struct rt_mail *mail)
{
	if (!diverge(s, p, mail))
		return false;
	p->space->constants_change = true;
	return translate_anew(s, p->space, mail);
}

bool space_make_way(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		    struct rt_mail *mail)
{
	struct space *sp;

	if (p->space->i386 || p->nthread != 1 || !diverge(s, p, mail))
		return false;
	sp = p->space;
	if (sp->refs > 1)			/* nor can it be copied */
		return false;
	for (uint32_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (!m->code.cap || m->code.at >= hi || m->code.at + m->code.cap <= lo)
			continue;
		if (mail->ncmd + UNPLACE_CMDS > RT_MAX_CMDS)
			return false;
		if (!m->dead)
			leave_module(sp, m, mail);
		free_code_area(s, p, i, mail);
	}
	return !mail->ncmd;
}

bool space_no_room(struct spaces *s, struct space_user *p, uint64_t code_off, struct rt_mail *mail)
{
	for (uint32_t i = 0; i < p->space->nmodule; i++) {
		if (p->space->module[i].code.off != code_off || p->space->module[i].dead)
			continue;
		if (i < p->placed.n)
			p->placed.p[i] = 0;
		if (!diverge(s, p, mail))
			return true;
		kill_module(s, p->space, &p->space->module[i], mail);
		return mail->ncmd > 0;
	}
	return false;
}

bool space_unmap(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		 struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		if (m->dead || m->text.hi <= lo || hi <= m->text.lo)
			continue;
		if (m->generated.may_change && !(lo <= m->text.lo && m->text.hi <= hi)) {
			uint64_t a = lo > m->text.lo ? lo : m->text.lo,
				 b = hi < m->text.hi ? hi : m->text.hi;

			for (; a < b; a += PAGE)
				kill_page(s, sp, m, a);
			continue;
		}
		if (mail->ncmd + UNPLACE_CMDS > RT_MAX_CMDS)
			return false;		/* the rest the next time */
		kill_module(s, sp, m, mail);	/* a whole one, or part of a file's text */
		if (sp->refs == 1 &&
		    ((lo <= m->text.lo && m->text.hi <= hi) || (!m->nunit && !m->stored.nblock)))
			free_code_area(s, p, (uint32_t)i, mail);
	}
	space_range_del(sp, lo, hi);
	return true;
}

/* A block that writes to its own page goes on behind the write with what is there then. */
static bool writes_self(const struct space *sp, uint64_t page, uint64_t code, struct rt_mail *mail)
{
	const struct xl_map *map = NULL;
	const struct blk *b;
	uint32_t bi = 0;

	if (!space_state(sp, code, &bi, &map))
		return false;
	b = &sp->block[bi];
	if (b->pc >= page + PAGE || page >= b->pc + b->size)
		return false;
	mail->r[0] = RT_WRITE_SELF;
	mail->r[1] = map->insn;			/* turned into a pc by the caller */
	mail->r[2] = map->flags;
	mail->r[3] = map->tmp;
	mail->r[5] = bi;
	return true;
}

bool space_write_trap(struct spaces *s, struct space_user *p, uint64_t addr, uint64_t code,
		      struct rt_mail *mail)
{
	const struct range *r = space_range(p->space, addr);
	const uint64_t page = addr & ~(PAGE - 1);
	struct module *m;

	if (!r || !(r->prot & 2))
		return false;
	if (!diverge(s, p, mail))
		return true;
	m = module_at(p->space, addr);
	r = space_range(p->space, addr);
	if (m && m->generated.may_change && pm_map_get(&m->generated.blocks, page)) {
		++*pm_map_put(&m->generated.write_traps, page, NULL);
		kill_page(s, p->space, m, page);
		mail_cmd(mail, CMD_PROTECT, page, PAGE, r->prot & ~4u, 0);
	} else if (!mail->a[5]) { /* another thread's trap has opened it already; or so we think */
		mail_cmd(mail, CMD_PROTECT, page, PAGE, r->prot & ~4u, 0);
	}
	if (!writes_self(p->space, page, code, mail))
		mail->r[0] = RT_RETRY;
	return true;
}

bool space_open(struct spaces *s, struct space_user *p, uint64_t addr, struct rt_mail *mail)
{
	struct space *sp;

	if (!diverge(s, p, mail))
		return false;
	sp = p->space;
	for (size_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];

		for (size_t k = 0; k < sp->nrange && m->generated.blocks.n && !m->dead; k++) {
			const struct range *r = &sp->range[k];
			const uint64_t lo = r->lo > m->text.lo ? r->lo : m->text.lo,
				       hi = r->hi < m->text.hi ? r->hi : m->text.hi;
			const size_t pages = m->generated.blocks.n;

			if (!(r->prot & 2) || (addr && (addr < r->lo || r->hi <= addr)) ||
			    mail->ncmd == RT_MAX_CMDS)
				continue;
			for (uint64_t page = lo; page < hi; page += PAGE)
				kill_page(s, sp, m, page);
			if (m->generated.blocks.n < pages)
				mail_cmd(mail, CMD_PROTECT, lo, hi - lo, r->prot & ~4u, 0);
		}
	}
	return mail->a[5];
}
