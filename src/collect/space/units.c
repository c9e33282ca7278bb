/* SPDX-License-Identifier: MIT */
/* units.c - translation on demand, and ahead of it */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "collect/space/space_internal.h"

struct reading {
	struct spaces *s;
	struct space_user *p;
	struct module *m;
	/* What was read stays where it is until reading_end(): the translator keeps pointers. */
	struct window {
		struct window *next;
		uint64_t at;		/* buf holds [at, at + have) */
		size_t have;
		uint8_t buf[3 * PAGE];
	} *window;
};

static void reading_end(struct reading *r)
{
	while (r->window) {
		struct window *next = r->window->next;

		free(r->window);
		r->window = next;
	}
}

/* What the process has at @addr; nothing of @hi and behind. */
static const uint8_t *read_process(struct reading *r, uint64_t addr, uint64_t hi, size_t *avail)
{
	struct window *w;
	ssize_t got;

	for (w = r->window; w; w = w->next)
		if (addr >= w->at && (addr + 16 <= w->at + w->have ||
				      (w->have < sizeof w->buf && addr < w->at + w->have)))
			break;
	if (!w) {
		w = pm_alloc_unset(sizeof *w);
		w->at = addr & ~(PAGE - 1);
		w->next = r->window;
		r->window = w;
		got = r->s->hooks->read(r->s, w->buf, w->at,
					sizeof w->buf < hi - w->at ? sizeof w->buf
								   : (size_t)(hi - w->at));
		w->have = got > 0 ? (size_t)got : 0;
	}
	if (addr >= w->at + w->have) {
		*avail = 0;
		return NULL;
	}
	*avail = (size_t)(w->at + w->have - addr);
	return w->buf + (addr - w->at);
}

static const uint8_t *read_code(void *ctx, uint64_t addr, size_t *avail)
{
	struct reading *r = ctx;

	if (r->m->text.bytes && addr - r->m->text.lo < r->m->text.len) {
		*avail = r->m->text.len - (size_t)(addr - r->m->text.lo);
		return r->m->text.bytes + (addr - r->m->text.lo);
	}
	return read_process(r, addr, r->m->text.hi, avail);
}

static const uint8_t *read_data(void *ctx, uint64_t addr, size_t *avail)
{
	return read_process(ctx, addr, UINT64_MAX, avail);
}

static bool constant_data(void *ctx, uint64_t addr, uint64_t n)
{
	const struct reading *r = ctx;

	return n <= UINT64_MAX - addr && r->s->hooks->constant(r->s, r->m, addr, addr + n);
}

static uint64_t likely_target(void *ctx, uint64_t slot)
{
	const struct reading *r = ctx;

	return r->s->hooks->likely(r->s, r->m, slot);
}

static void segment_of(void *ctx, uint64_t addr, struct xl_segment *out)
{
	const struct reading *r = ctx;

	r->s->hooks->segment(r->s, r->m, addr, out);
}

static bool known_block(void *ctx, uint64_t addr, struct xl_known *out)
{
	struct reading *r = ctx;
	struct blk *b = block_find(r->p->space, addr);

	if (!b)
		return false;
	out->code = outside_entry(r->p->space, b);
	out->counting = counting_entry(r->p->space, b);
	out->live = b->live;
	out->reads_flags = b->flags & XL_READS_FLAGS;
	return true;
}

/* Numbers that @u's code at @base of @m contains, now that they are known: of blocks from @first
 * on, in a trace from
 * @number on, and of links from @link0 on. Where they and what depends on the place are is
 * remembered. */
static void relocate(const struct spaces *s, const struct space *sp, struct module *m,
		     const struct xl_unit *u, uint32_t base, uint32_t first, uint32_t number,
		     uint32_t link0)
{
	uint8_t *code = code_ptr(s, m, base);

	for (size_t i = 0; i < u->nreloc; i++) {
		const struct xl_reloc *r = &u->reloc[i];
		const uint32_t at = base + r->at;
		uint32_t v;

		switch (r->kind) {
		case XL_REL_COUNTER:
			v = RT_COUNTERS + xl_counter_size(sp->i386) * (first + r->addend);
			pm_buf_add(&m->code.rel_counter, &at, 4);
			break;
		case XL_REL_BLOCK:
			v = RT_RECORD(number + r->addend, u->block[r->addend].record);
			pm_buf_add(&m->code.rel_counter, &at, 4);
			break;
		case XL_REL_LINK:
			v = link0 + r->addend;
			pm_buf_add(&m->code.rel_link, &at, 4);
			break;
		case XL_REL_PC32:
			pm_buf_add(&m->code.rel_pc, &at, 4);
			continue;
		case XL_REL_PLACE:
			pm_buf_add(&m->code.rel_place, &at, 4);
			continue;
		default:
			continue;
		}
		memcpy(code + r->at, &v, 4);
	}
}

/* The program's bytes of block @i, which no file has. */
static void keep_bytes(struct reading *r, uint32_t i)
{
	const struct blk *b = &r->p->space->block[i];
	uint8_t *copy = pm_arena_alloc(&r->s->mem, b->size);
	size_t avail, done = 0;

	while (done < b->size) {
		const uint8_t *t = read_code(r, b->pc + done, &avail);

		if (!t)
			break;
		if (avail > b->size - done)
			avail = b->size - done;
		memcpy(copy + done, t, avail);
		done += avail;
	}
	*pm_map_put(&r->p->space->bytes, i, NULL) = (uint64_t)(uintptr_t)copy;
}

static void add_block(struct reading *r, uint32_t mi, const struct xl_block *x, uint32_t base,
		      uint32_t map0)
{
	struct space *sp = r->p->space;

	space_blocks(sp, sp->nblock + 1);
	sp->flow[sp->nblock] = x->flow;
	if (r->s->records)
		sp->flow[sp->nblock].out = x->prev == XL_NONE ? XL_OPEN : (uint16_t)x->prev;
	sp->block[sp->nblock] = (struct blk){
		.pc = x->pc, .code = base + x->code,
		.indirect = x->indirect == XL_NONE ? XL_NONE : base + x->indirect,
		.size = (uint16_t)x->size, .live = x->live, .map = map0 + x->map,
		.nmap = (uint16_t)x->nmap, .n = (uint8_t)x->n,
		.flags = x->flags | (x->flow.in == XL_OPEN ? 0 : BLK_CLOSED),
		.module = (uint16_t)mi, .record = (uint16_t)x->record,
	};
	if (!sp->module[mi].text.bytes)
		keep_bytes(r, (uint32_t)sp->nblock);
	sp->nblock++;
}

/* From here on block @i can be reached by its address. */
static void open_block(struct spaces *s, struct space *sp, struct module *m, uint32_t i)
{
	const struct blk *b = &sp->block[i];

	if (block_continues(s, sp, i))
		return;
	if (b->flags & XL_COUNTS) {
		if (b->indirect != XL_NONE && space_guests(b))
			counting_shadow(s, m, b->pc, m->code.at + b->indirect);
		return;
	}
	block_enter(sp, i);
	if (b->indirect != XL_NONE && space_guests(b))
		space_shadow(s, sp, m, b->pc, m->code.at + b->indirect);
	if (links_pending(sp, b->pc))
		links_resolved(s, sp, b->pc, need_outside_entry(s, sp, b), counting_entry(sp, b));
	if (!m->generated.may_change || m->generated.must_check)
		return;
	for (uint64_t page = b->pc & ~(PAGE - 1); page < b->pc + b->size; page += PAGE) {
		uint64_t *head = pm_map_put(&m->generated.blocks, page, NULL);

		pm_grow(sp->ref, sp->nref, sp->cap_ref);
		sp->ref[sp->nref++] = (struct pageref){ i, (uint32_t)*head };
		*head = sp->nref;
	}
}

/* Enter a finished unit into the tables; its bytes are as @r has read them. Returns the number of
 * its first block. */
static uint32_t unit_add(struct reading *r, uint32_t mi, const struct xl_unit *u, bool once)
{
	struct spaces *s = r->s;
	struct space *sp = r->p->space;
	struct module *m = &sp->module[mi];
	const uint32_t first = (uint32_t)sp->nblock, ui = (uint32_t)sp->nunit,
		       link0 = (uint32_t)sp->nlink;
	const uint32_t base = (uint32_t)m->code.len,
		       map0 = (uint32_t)(m->stored.nmap + m->code.nmap);
	const uint32_t number = s->records ? s->hooks->next_number(s) : 0;

	assert(m->code.len + u->ncode <= m->code.cap);			/* (2) */
	assert(base >= m->stored.code_from_file);					/* (3) */
	for (size_t i = 0; i < u->nlink; i++)
		link_add(s, sp, mi, u->link[i].target, base + u->link[i].site,
			 base + u->link[i].stub, u->link[i].counting, u->link[i].stale);
	make_ready(s, m, base + u->ncode);
	memcpy(code_ptr(s, m, base), u->code, u->ncode);
	relocate(s, sp, m, u, base, first, number, link0);
	m->code.len = up(base + u->ncode, LINE); /* a function's entry begins a line of the cache */
	while (m->code.cap_map < m->code.nmap + u->nmap) {
		m->code.cap_map = m->code.cap_map ? m->code.cap_map * 2 : 512;
		m->code.map = pm_realloc(m->code.map, m->code.cap_map * sizeof *m->code.map);
	}
	if (u->nmap)
		memcpy(m->code.map + m->code.nmap, u->map, u->nmap * sizeof *u->map);
	m->code.nmap += u->nmap;
	pm_grow(sp->unit, sp->nunit, sp->cap_unit);
	sp->unit[sp->nunit++] = (struct unit){ mi, base, (uint32_t)u->ncode, first,
					       (uint32_t)u->nblock, number, once };
	pm_grow(m->unit, m->nunit, m->cap_unit);
	m->unit[m->nunit++] = ui;
	m->nblock += u->nblock;
	for (size_t i = 0; i < u->nblock; i++)
		add_block(r, mi, &u->block[i], base, map0);
	if (s->records)
		s->hooks->number(s, sp, first, (uint32_t)u->nblock);
	for (uint32_t i = first; i < sp->nblock && !once; i++)
		open_block(s, sp, m, i);
	/* links to what exists, but had no entry for outsiders */
	for (size_t i = link0; i < sp->nlink; i++) {
		uint64_t target = sp->link[i].target;
		const struct blk *b = links_pending(sp, target) ? block_find(sp, target) : NULL;

		if (b && b->module == mi)
			links_resolved(s, sp, target, need_outside_entry(s, sp, b),
				       counting_entry(sp, b));
	}
	space_close(s, sp, first, (uint32_t)u->nblock);
	unmap_what_was_read(m);
	return first;
}

/* Would a link between what there is and @u carry flags that must not pass? What waits for a block
 * of it, and what it has to link to: the translator may not have been able to see that. */
static bool breaks_abi(const struct space *sp, const struct xl_unit *u)
{
	for (size_t i = 0; i < u->nblock && sp->pending.n; i++) {
		const uint64_t *head;

		if (!(u->block[i].flags & XL_READS_FLAGS))
			continue;
		head = pm_map_get(&sp->pending, u->block[i].pc);
		for (uint32_t k = head ? (uint32_t)*head : 0; k; k = sp->link[k - 1].next)
			if (sp->link[k - 1].stale)
				return true;
	}
	return u->breaks_abi;
}

static uint32_t unit_from_store(struct spaces *s, struct space_user *p, uint32_t mi, uint64_t pc);

/* s->unit, which was translated as @in says, becomes one of @mi. Returns the number of its first
 * block; XL_NONE: it is no good, or there is no room. */
static uint32_t enter_unit(struct reading *r, uint32_t mi, const struct xl_input *in)
{
	struct spaces *s = r->s;
	struct space *sp = r->p->space;
	struct module *m = &sp->module[mi];
	const bool once = in->max_insns;
	uint32_t first;

	if (in->abi_flags && breaks_abi(sp, &s->unit)) {
		sp->abi_broken = true;
		return XL_NONE;
	}
	if (!s->unit.nblock)
		return XL_NONE;
	m->full = s->unit.ncode > m->code.cap - m->code.len;
	if (m->full)
		return XL_NONE;
	if (m->stored.journal && !once && !in->max_blocks)
		s->store->note_unit(s, m, &s->unit);
	first = unit_add(r, mi, &s->unit, once);
	s->ahead += s->unit.nblock;
	return first;
}

uint32_t translate(struct spaces *s, struct space_user *p, uint32_t mi, uint64_t pc, uint64_t lo,
		   uint64_t hi, bool check, bool once)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];
	struct reading r = { s, p, m, NULL };
	struct xl_input in = {
		.kind = s->tree && !sp->i386 ? XL_TREE : s->kind,
		.i386 = sp->i386,
		.entry = pc,
		.lo = lo,
		.hi = hi,
		.place = m->code.at + m->code.len,
		.absolute = m->absolute,
		.patchable = m->generated.may_change,
		.check_bytes = check,
		.count_edges = s->edges,
		.logged = s->logged,
		.bare = s->bare,
		.all_live = s->all_live,
		.counting_copies = m->counting_copies && !once,
		.abi_flags = sp->abi_flags && !once,
		.max_insns = once ? 1 : 0,
		.max_blocks = once ? 1 : 0,
		.read = read_code,
		.data = m->text.bytes && !once ? read_data : NULL,
		.constant = m->text.bytes && !once && !sp->i386 ? constant_data : NULL,
		.known = known_block,
		.likely = m->text.bytes && !once && !sp->i386 ? likely_target : NULL,
		.segment = segment_of,
		.ctx = &r,
	};
	uint32_t first;

	if (m->code.cap - m->code.len < (256 << 10) + (m->generated.may_change ? 65536 : 0)) {
		/* out of room: only a generator that rewrites itself for ever gets here */
		in.max_blocks = 16;
		in.count_all = true;
		m->full = m->code.cap - m->code.len <
			  32768 + DEAD_END_SIZE * (m->nblock + m->stored.nblock);
		if (m->full)
			return XL_NONE;
	}
	if (sp->i386 && !s->records &&
	    sp->nblock + (in.max_blocks ? in.max_blocks : 4096) > RT32_MAX_COUNTERS) {
		s->hooks->give_up(s, p,
				  "more blocks than there are counters for in a 32-bit program");
		return XL_NONE;
	}
	if (m->stored.journal && !once && !in.max_blocks) {
		first = unit_from_store(s, p, mi, pc);
		if (first != XL_NONE)
			return first;
		in.place = sp->module[mi].code.at +
			   sp->module[mi].code.len; /* it may have taken others */
	}
	xl_translate(&in, &s->unit);
	first = enter_unit(&r, mi, &in);
	reading_end(&r);
	return first;
}

/* ---- units that earlier runs have left beside their module's file: store.h ------------------- */
#define MOST_WAITING 16u		/* units, each for the next one */

/* Everything that s->unit goes on to in other units is there, or comes from the store now; *@other:
 * that has made another unit of s->unit. False: it is not as it was. */
static bool targets_from_store(struct spaces *s, struct space_user *p, uint32_t mi, bool *other)
{
	struct space *sp = p->space;
	const uint64_t lo = sp->module[mi].text.lo;

	*other = false;
	for (size_t i = 0; i < s->unit.nreloc; i++) {
		const struct xl_reloc r = s->unit.reloc[i];
		const uint64_t to = lo + (r.addend & ~XL_COUNTING);
		const struct blk *b;

		if (r.kind != XL_REL_CODE32)
			continue;
		b = block_find(sp, to);
		if (!b) {
			*other = true;
			return unit_from_store(s, p, mi, to) != XL_NONE && block_find(sp, to);
		}
		/* whether flags may go there has been looked at for another block */
		if (b->module != mi || (b->flags & XL_READS_FLAGS) ||
		    (r.addend & XL_COUNTING && !counting_entry(sp, b)))
			return false;
		need_outside_entry(s, sp, b);
	}
	return true;
}

/* s->unit, which was for a place that was @distance from the text, becomes one for the end of @m's
 * code. */
static bool move_unit(struct spaces *s, struct space *sp, struct module *m, int64_t distance)
{
	const uint64_t place = m->code.at + m->code.len;
	const uint32_t by = (uint32_t)(int64_t)(place - m->text.lo - (uint64_t)distance);
	struct xl_unit *u = &s->unit;

	for (size_t i = 0; i < u->nreloc; i++) {
		const struct xl_reloc *r = &u->reloc[i];
		uint8_t *field = u->code + r->at;
		uint32_t v;

		if (r->kind == XL_REL_PC32) {
			memcpy(&v, field, sizeof v);
			v -= by;
		} else if (r->kind == XL_REL_CODE32) {
			const struct blk *b =
				block_find(sp, m->text.lo + (r->addend & ~XL_COUNTING));
			const uint64_t to = r->addend & XL_COUNTING ? counting_entry(sp, b)
								    : outside_entry(sp, b);
			const int64_t d = (int64_t)(to - (place + r->at + 4));

			if (d != (int32_t)d)
				return false;
			v = (uint32_t)d;
		} else {
			continue;
		}
		memcpy(field, &v, sizeof v);
	}
	return true;
}

/* The unit with its entry at @pc as an earlier run has left it; XL_NONE: there is none, or not of
 * use. */
static uint32_t unit_from_store(struct spaces *s, struct space_user *p, uint32_t mi, uint64_t pc)
{
	struct space *sp = p->space;
	struct module *m = &sp->module[mi];
	const uint32_t off = (uint32_t)(pc - m->text.lo);
	struct reading r = { s, p, m, NULL };
	const struct blk *b;
	int64_t distance;
	uint32_t first;
	bool good, other;

	if (s->waiting == MOST_WAITING)
		return XL_NONE;
	s->waiting++;
	do {
		good = s->store->read_unit(m, off, &s->unit, &distance) &&
		       targets_from_store(s, p, mi, &other);
	} while (good && other);
	s->waiting--;
	b = block_find(sp, pc);		/* in one of the others */
	if (b)
		return (uint32_t)(b - sp->block);
	if (!good || s->unit.ncode + LINE > m->code.cap - m->code.len)
		return XL_NONE;
	/* it moves by whole lines only; what is left out belongs to nobody */
	m->code.len +=
		(uint64_t)(distance - (int64_t)(m->code.at + m->code.len - m->text.lo)) % LINE;
	if (!move_unit(s, sp, m, distance) || (sp->abi_flags && breaks_abi(sp, &s->unit)))
		return XL_NONE;
	first = unit_add(&r, mi, &s->unit, false);
	reading_end(&r);
	m->stored.from_journal += s->unit.ncode;
	m->stored.nfrom_journal++;
	s->cached += s->unit.nblock;
	return first;
}

void space_units_from_store(struct spaces *s, struct space *sp, uint32_t mi)
{
	struct space_user nobody = { .space = sp };
	uint32_t pc;

	for (size_t i = 0; s->store->next_unit(&sp->module[mi], &i, &pc); ) {
		const struct module *m = &sp->module[mi];

		if (!block_find(sp, m->text.lo + pc) && m->code.cap - m->code.len > m->code.cap / 2)
			unit_from_store(s, &nobody, mi, m->text.lo + pc);
	}
}

/* Does link @i of module @mi wait for code that may be made ahead? */
static bool is_waiting(struct space *sp, uint32_t mi, size_t i)
{
	const struct module *m = &sp->module[mi];
	const struct link *l = &sp->link[i];

	return !l->done && l->module == mi && m->text.lo <= l->target && l->target < m->text.hi &&
	       !block_find(sp, l->target) && m->code.cap - m->code.len > m->code.cap / 2;
}

/* What the code behind links [from, to) calls or goes to will mostly be wanted, now or when the
 * program has another input: a request costs more than a function, and many of those that earlier
 * runs have left. Only for what is kept in a file. */
void translate_ahead(struct spaces *s, struct space_user *p, uint32_t mi, size_t from, size_t to)
{
	struct space *sp = p->space;

	for (size_t i = from; i < sp->nlink && sp->module[mi].stored.journal; i++)
		if (is_waiting(sp, mi, i))
			unit_from_store(s, p, mi, sp->link[i].target);
	for (size_t i = from; i < to; i++)
		if (is_waiting(sp, mi, i))
			translate(s, p, mi, sp->link[i].target, sp->module[mi].text.lo,
				  sp->module[mi].text.hi, false, false);
	sp->abi_broken = false;			/* which may never be executed */
}
