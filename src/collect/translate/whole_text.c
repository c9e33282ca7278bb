/* SPDX-License-Identifier: MIT */
/* whole_text.c - translate all of a text
 *
 * A large one has two parts, each with a thread: what a part finds out about the other is told when
 * both have done all they know of, so that the result does not depend on who was faster. Work goes
 * from what is certain to what is a guess: functions, addresses that the file gives away, addresses
 * that the code takes, jump tables, gaps. A unit that is translated stays; a later one may overlap
 * it. Blocks get their final numbers (by address) when all are known. */
#include "collect/translate/whole_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_image.h"
#include "elf/symbols.h"
#include "isa/x86/decode.h"

#define FUNCTION	1		/* enum of bits in maker.about[] */
#define COVERED		2
#define LEADER		4		/* an indirect transfer may come here */

#define OTHER_BITS	32
#define OF_ITSELF	(1ull << 63) /* i386: distances in the table are from its own beginning */

struct made {				/* a block; numbers are those of its translation */
	uint32_t pc, code, indirect, map, nmap, live, insn;
	uint32_t prev;			/* the block whose record it continues, or XL_NONE */
	uint16_t size;
	uint8_t n;
};

struct image_pending {
	uint32_t site;			/* of the rel32, in the code */
	uint32_t stub_field;		/* of the link's number in its stub */
	uint64_t target;
};

struct image_maker {			/* of a part */
	const struct xl_image_input *in;
	struct elf_image elf;		/* in->file */
	struct xl_image *out;
	uint64_t lo, hi;		/* the part: offsets in the text */
	uint64_t code;			/* where its translation would live */
	struct xl_unit unit;
	const uint8_t *text;
	uint32_t *at;			/* offset in the text -> block + 1; its own part of an array
					 * of all parts */
	uint8_t *about;			/* offset in the text -> bits; likewise */
	struct made *made;
	size_t nmade, cap_made;
	struct xl_map *map;
	size_t nmap, cap_map;
	struct image_pending *pending;
	size_t npending, cap_pending;
	struct pm_buf counters, numbers;	/* u32: offsets of fields, to be renumbered */
	struct pm_buf queue;		/* u32: offsets still to be looked at */
	struct pm_buf other;		/* u64: the other part's, with enum about
					 * bits at OTHER_BITS */
	struct pm_buf distances, places;	/* u32: offsets of fields that change if
						 * it lives elsewhere */
	struct pm_buf tables;		/* u64: addresses that code takes of data: jump tables,
					 * perhaps; | OF_ITSELF */
	uint64_t got;			/* i386: what position-independent code counts addresses
					 * from; 0: it does not */
	struct pm_elf_range *function;
	size_t nfunction;
};

/* ---- what the translator asks ---------------------------------------------------------------- */
static const uint8_t *read_text(void *ctx, uint64_t addr, size_t *avail)
{
	struct image_maker *m = ctx;
	uint64_t off = addr - m->in->lo;

	if (off >= m->in->bytes) {
		*avail = 0;
		return NULL;
	}
	*avail = m->in->bytes - off;
	return m->text + off;
}

static bool known(void *ctx, uint64_t addr, struct xl_known *out)
{
	struct image_maker *m = ctx;
	uint64_t off = addr - m->in->lo;
	const struct made *b;

	if (off < m->lo || off >= m->hi || !m->at[off])
		return m->in->known && m->in->known(m->in->ctx, addr, out);
	b = &m->made[m->at[off] - 1];
	out->code = m->code + b->code;
	out->live = b->live;
	return true;
}

static bool is_function(void *ctx, uint64_t addr)
{
	struct image_maker *m = ctx;
	uint64_t off = addr - m->in->lo;

	return off < m->in->bytes && m->about[off] & FUNCTION;
}

static void keep_insn(void *ctx, const struct x86_insn *x)
{
	struct xl_image *o = ((struct image_maker *)ctx)->out;

	pm_grow(o->insn, o->ninsn, o->cap_insn);
	o->insn[o->ninsn++] = *x;
}

/* ---- units ----------------------------------------------------------------------------------- */
static void will_look(struct image_maker *m, uint32_t off)
{
	if (!m->at[off])
		pm_buf_add(&m->queue, &off, sizeof off);
}

/* Is @addr in this part? If it is in the other one, that will hear of it. */
static bool is_mine(struct image_maker *m, uint64_t addr, unsigned bits)
{
	const uint64_t off = addr - m->in->lo, it = off | (uint64_t)bits << OTHER_BITS;

	if (off >= m->lo && off < m->hi)
		return true;
	if (off < m->in->bytes)
		pm_buf_add(&m->other, &it, sizeof it);
	return false;
}

static void branch_to(struct image_maker *m, uint64_t addr)
{
	if (is_mine(m, addr, 0))
		will_look(m, (uint32_t)(addr - m->in->lo));
}

static void later(struct image_maker *m, uint64_t addr)
{
	if (!is_mine(m, addr, LEADER))
		return;
	m->about[addr - m->in->lo] |= LEADER;
	will_look(m, (uint32_t)(addr - m->in->lo));
}

static void seed(void *ctx, uint64_t addr)
{
	later(ctx, addr);
}

/* i386: a displacement of 32 bits is the distance from the global offset table, whose address is in
 * a register, to code whose address is taken, or to a jump table. (What is an address itself is
 * found in the data.) */
static bool look_at_disp(struct image_maker *m, const struct x86_insn *x, const uint8_t *p)
{
	int32_t disp;
	uint64_t to;

	if (!m->got || x->ndisp != 4 || p[x->modrm] >> 6 != 2)
		return false;
	memcpy(&disp, p + x->disp, 4);
	to = (uint32_t)(m->got + (uint64_t)(int64_t)disp);
	if (p[x->op] == 0x8d && to - m->in->lo < m->in->bytes)
		later(m, to);
	else
		pm_buf_add(&m->tables, &to, sizeof to);
	return true;
}

/* i386: behind a call that gives its return address, a constant is added to that: the address of a
 * table, unless it is the global offset table's. */
static void look_at_add(struct image_maker *m, const struct x86_insn *x, const uint8_t *p,
			uint64_t pc)
{
	uint64_t to;

	if (p[x->op] != 0x05 && (p[x->op] != 0x81 || p[x->modrm] >> 3 != 0x18))
		return;
	to = (uint32_t)(pc + (uint64_t)x86_imm(x, p));
	if (to == m->got || x->nimm != 4)
		return;
	to |= OF_ITSELF;
	pm_buf_add(&m->tables, &to, sizeof to);
}

/* Addresses that a block's instructions take: of code, or of what may be a jump table. */
static void look_at(struct image_maker *m, const struct made *b)
{
	const uint8_t *p = m->text + b->pc;
	uint64_t pc = m->in->lo + b->pc;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct x86_insn x = m->out->insn[b->insn + i];

		if (m->in->i386 && i == 0)
			look_at_add(m, &x, p, pc);
		if (x.prop & X86_RIP && p[x.op] == 0x8d) {
			int32_t disp;
			uint64_t to;

			memcpy(&disp, p + x.disp, 4);
			to = pc + x.len + (uint64_t)(int64_t)disp;
			if (to - m->in->lo < m->in->bytes)
				later(m, to);
			else
				pm_buf_add(&m->tables, &to, sizeof to);
		} else if (x.kind == X86_SYSCALL) {
			branch_to(m, pc);		/* the kernel restarts it */
		} else if (x.kind == X86_CALL || x.kind == X86_CALL_IND) {
			if (pc + x.len - m->in->lo < m->hi)	/* beyond it begins a function */
				m->about[pc + x.len - m->in->lo] |= LEADER;
		} else if (m->in->i386 && x.modrm && look_at_disp(m, &x, p)) {
			;
		} else if (x.kind == X86_PLAIN &&
			   (x.nimm == 8 || (x.nimm == 4 && m->in->hi < 1ull << 32))) {
			later(m, m->in->i386 ? (uint32_t)x86_imm(&x, p) : (uint64_t)x86_imm(&x, p));
		}
		pc += x.len;
		p += x.len;
	}
}

static void append(struct image_maker *m, uint32_t insn)
{
	const struct xl_unit *u = &m->unit;
	const uint32_t base = (uint32_t)m->out->code.n, first = (uint32_t)m->nmade;
	static const uint8_t pad[16] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
					 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };
	uint32_t map0 = (uint32_t)m->nmap, link0 = (uint32_t)m->npending;

	pm_buf_add(&m->out->code, u->code, u->ncode);
	pm_buf_add(&m->out->code, pad, -u->ncode & 15);
	for (size_t i = 0; i < u->nlink; i++) {
		pm_grow(m->pending, m->npending, m->cap_pending);
		m->pending[m->npending++] =
			(struct image_pending){ base + u->link[i].site, 0, u->link[i].target };
	}
	for (size_t i = 0; i < u->nreloc; i++) {
		const struct xl_reloc *r = &u->reloc[i];
		uint32_t at = base + r->at, number = first + r->addend;

		if (r->kind == XL_REL_COUNTER || r->kind == XL_REL_BLOCK) {
			memcpy(m->out->code.p + at, &number, 4);
			pm_buf_add(r->kind == XL_REL_BLOCK ? &m->numbers : &m->counters, &at, 4);
		} else if (r->kind == XL_REL_LINK) {
			m->pending[link0 + r->addend].stub_field = at;
		} else if (m->lo && (r->kind == XL_REL_PC32 || r->kind == XL_REL_PLACE)) {
			pm_buf_add(r->kind == XL_REL_PC32 ? &m->distances : &m->places, &at, 4);
		}
	}
	while (m->cap_map < m->nmap + u->nmap) {
		m->cap_map = m->cap_map ? 2 * m->cap_map : 65536;
		m->map = pm_realloc(m->map, m->cap_map * sizeof *m->map);
	}
	for (size_t i = 0; i < u->nmap; i++) {
		m->map[m->nmap] = u->map[i];
		m->map[m->nmap++].code += base;
	}
	for (size_t i = 0; i < u->nblock; i++) {
		const struct xl_block *b = &u->block[i];
		uint32_t off = (uint32_t)(b->pc - m->in->lo);

		pm_grow(m->made, m->nmade, m->cap_made);
		m->made[m->nmade++] = (struct made){
			.pc = off, .code = base + b->code, .map = map0 + b->map, .nmap = b->nmap,
			.indirect = b->indirect == XL_NONE ? XL_NONE : base + b->indirect,
			.insn = insn, .prev = b->prev == XL_NONE ? XL_NONE : first + b->prev,
			.live = b->live, .size = (uint16_t)b->size, .n = (uint8_t)b->n,
		};
		insn += b->n;
		if (!m->at[off] && b->prev == XL_NONE)
			m->at[off] = (uint32_t)m->nmade;
		if (m->in->generated)
			m->about[off] |= LEADER;
		for (uint32_t k = 0; k < b->size && off + k < m->hi; k++)
			m->about[off + k] |= COVERED;
		m->out->unknown += b->flags & XL_UNKNOWN ? 1 : 0;
	}
	for (size_t i = 0; i < u->nblock; i++)
		look_at(m, &m->made[first + i]);
	/* calls, and what lies beyond the unit's bounds */
	for (size_t i = 0; i < u->nlink; i++)
		branch_to(m, u->link[i].target);
}

static void translate_at(struct image_maker *m, uint32_t off)
{
	struct xl_input in = {
		.kind = m->in->kind, .i386 = m->in->i386, .entry = m->in->lo + off,
		.lo = m->in->lo + m->lo,
		.hi = m->in->lo + m->hi, .place = m->code + m->out->code.n,
		.absolute = m->in->hi < 0x70000000, .count_all = true,
		.count_records = true, .patchable = m->in->generated,
		.check_bytes = m->in->generated,
		.writable = m->in->writable,
		.read = read_text, .known = known, .function = is_function, .insn = keep_insn,
		.ctx = m,
	};
	uint32_t ninsn;

	if (m->at[off])
		return;
	ninsn = (uint32_t)m->out->ninsn;
	xl_translate(&in, &m->unit);
	if (m->unit.nblock)
		append(m, ninsn);
}

static void drain(struct image_maker *m)
{
	for (size_t i = 0; i < m->queue.n; i += 4) {
		uint32_t off;

		memcpy(&off, m->queue.p + i, 4);
		translate_at(m, off);
	}
	m->queue.n = 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */
#define LARGE		(512u << 10)	/* a text of two parts */

struct team {
	struct image_maker part[2];
	unsigned n;
	bool two;			/* threads */
	pthread_t other;
	pthread_barrier_t barrier;
	void (*what)(struct image_maker *m);	/* NULL: that was all */
};

static void *other_thread(void *arg)
{
	struct team *t = arg;

	for (;;) {
		pthread_barrier_wait(&t->barrier);
		if (!t->what)
			break;
		t->what(&t->part[1]);
		pthread_barrier_wait(&t->barrier);
	}
	xl_thread_done();
	return NULL;
}

static void everyone(struct team *t, void (*what)(struct image_maker *m))
{
	t->what = what;
	if (t->two)
		pthread_barrier_wait(&t->barrier);
	what(&t->part[0]);
	if (t->n > 1 && !t->two)
		what(&t->part[1]);
	if (t->two)
		pthread_barrier_wait(&t->barrier);
}

/* Each part hears what the other has found out about it. False: there is nothing more to do. */
static bool tell_each_other(struct team *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct image_maker *to = &t->part[!i];
		const uint64_t *it = (const uint64_t *)t->part[i].other.p;

		for (size_t k = 0; k < t->part[i].other.n / sizeof *it; k++) {
			to->about[(uint32_t)it[k]] |= (uint8_t)(it[k] >> OTHER_BITS);
			will_look(to, (uint32_t)it[k]);
		}
		t->part[i].other.n = 0;
	}
	return t->part[0].queue.n || t->part[1].queue.n;
}

static void drain_all(struct team *t)
{
	while (tell_each_other(t))
		everyone(t, drain);
}

static void move_fields(struct pm_buf *to, const struct pm_buf *from, uint32_t by)
{
	for (size_t i = 0; i < from->n; i += 4) {
		uint32_t at;

		memcpy(&at, from->p + i, 4);
		at += by;
		pm_buf_add(to, &at, 4);
	}
}

static void add_to_fields(struct pm_buf *code, const struct pm_buf *fields, uint32_t add)
{
	for (size_t i = 0; i < fields->n; i += 4) {
		uint32_t at, v;

		memcpy(&at, fields->p + i, 4);
		memcpy(&v, code->p + at, 4);
		v += add;
		memcpy(code->p + at, &v, 4);
	}
}

/* The second part's code comes behind the first's, at a multiple of what it was made for. */
static void join_parts(struct image_maker *m, struct image_maker *o)
{
	struct xl_image *a = m->out, *b = o->out;
	const uint32_t nmade = (uint32_t)m->nmade, nmap = (uint32_t)m->nmap,
		       ninsn = (uint32_t)a->ninsn;
	uint32_t base, delta;

	memset(pm_buf_room(&a->code, 63), 0x90, 63);
	a->code.n = (a->code.n + 63) & ~(size_t)63;
	base = (uint32_t)a->code.n;
	delta = (uint32_t)(m->code + base - o->code);
	if (!m->in->i386)
		add_to_fields(&b->code, &o->distances, -delta);
	add_to_fields(&b->code, &o->places, delta);
	add_to_fields(&b->code, &o->counters, nmade);
	add_to_fields(&b->code, &o->numbers, nmade);
	pm_buf_add(&a->code, b->code.p, b->code.n);
	move_fields(&m->counters, &o->counters, base);
	move_fields(&m->numbers, &o->numbers, base);
	for (size_t i = 0; i < o->npending; i++) {
		pm_grow(m->pending, m->npending, m->cap_pending);
		m->pending[m->npending] = o->pending[i];
		m->pending[m->npending].site += base;
		m->pending[m->npending++].stub_field += base;
	}
	m->map = pm_realloc(m->map, (m->nmap + o->nmap + 1) * sizeof *m->map);
	for (size_t i = 0; i < o->nmap; i++) {
		m->map[m->nmap] = o->map[i];
		m->map[m->nmap++].code += base;
	}
	m->made = pm_realloc(m->made, (m->nmade + o->nmade + 1) * sizeof *m->made);
	for (size_t i = 0; i < o->nmade; i++) {
		struct made *k = &m->made[m->nmade++];

		*k = o->made[i];
		k->code += base;
		k->indirect += k->indirect == XL_NONE ? 0 : base;
		k->map += nmap;
		k->insn += ninsn;
		k->prev += k->prev == XL_NONE ? 0 : nmade;
	}
	for (uint64_t off = o->lo; off < o->hi; off++)
		m->at[off] += m->at[off] ? nmade : 0;
	a->insn = pm_realloc(a->insn, (a->ninsn + b->ninsn + 1) * sizeof *a->insn);
	memcpy(a->insn + a->ninsn, b->insn, b->ninsn * sizeof *b->insn);
	a->ninsn += b->ninsn;
	a->unknown += b->unknown;
	xl_image_release(b);
}

static void release_part(struct image_maker *m)
{
	xl_unit_release(&m->unit);
	free(m->made);
	free(m->map);
	free(m->pending);
	pm_buf_release(&m->queue);
	pm_buf_release(&m->other);
	pm_buf_release(&m->tables);
	pm_buf_release(&m->distances);
	pm_buf_release(&m->places);
}

/* ---- jump tables ----------------------------------------------------------------------------- */
static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a & ~OF_ITSELF, y = *(const uint64_t *)b & ~OF_ITSELF;

	return (x > y) - (x < y);
}

/* What position-independent code makes of a switch: 32-bit distances from the table (i386: from the
 * global offset table) to its cases. A table ends where the next thing begins whose address is
 * taken, or where an entry is no code. */
static void jump_table(struct image_maker *m, uint64_t key, uint64_t next)
{
	const uint64_t table = key & ~OF_ITSELF,
		       from = m->in->i386 && key == table ? m->got : table;
	uint64_t avail = 0;
	bool exec = true;
	const uint8_t *p = elf_image_bytes(&m->elf, table, &avail, &exec);
	int32_t v;

	if (!p || table & 3)
		return;
	for (uint64_t i = 0; i + 4 <= avail && table + i < next; i += 4) {
		uint64_t to;

		memcpy(&v, p + i, 4);
		to = from + (uint64_t)(int64_t)v;
		if (m->in->i386)
			to = (uint32_t)to;
		if (to - m->in->lo >= m->in->bytes)
			break;
		/* into the middle of what is code already, at a place where no block begins:
		 * perhaps; a wrong guess only costs room */
		later(m, to);
	}
}

static uint64_t next_table(const uint64_t *v, size_t n, size_t i)
{
	const uint64_t here = v[i] & ~OF_ITSELF;

	while (++i < n && (v[i] & ~OF_ITSELF) == here)
		;
	return i < n ? v[i] & ~OF_ITSELF : UINT64_MAX;
}

static void jump_tables(struct team *t)
{
	struct image_maker *m = &t->part[0], *o = &t->part[1];
	struct pm_buf all = { 0 };

	/* translating cases finds more of them */
	while (m->tables.n || o->tables.n) {
		size_t n;
		uint64_t *v;

		pm_buf_add(&all, m->tables.p, m->tables.n);
		pm_buf_add(&all, o->tables.p, o->tables.n);
		m->tables.n = o->tables.n = 0;
		v = (uint64_t *)all.p;
		n = all.n / sizeof *v;
		qsort(v, n, sizeof *v, by_address);
		all.n = 0;
		for (size_t i = 0; i < n; i++)
			if (i + 1 == n || v[i + 1] != v[i])
				v[all.n++] = v[i];
		n = all.n;
		all.n *= sizeof *v;
		for (size_t i = 0; i < n; i++)
			jump_table(m, v[i], next_table(v, n, i));
		drain_all(t);
	}
	pm_buf_release(&all);
}

/* ---- what is left ---------------------------------------------------------------------------- */
static bool is_filler(const uint8_t *p, uint64_t left, bool i386, unsigned *len)
{
	/* the first ones are i386's: lea of a register into itself */
	static const struct { uint8_t n, b[9]; } nop[] = {
		{ 7, { 0x8d, 0xb4, 0x26, 0, 0, 0, 0 } }, { 7, { 0x8d, 0xbc, 0x27, 0, 0, 0, 0 } },
		{ 6, { 0x8d, 0xb6, 0, 0, 0, 0 } }, { 6, { 0x8d, 0xbf, 0, 0, 0, 0 } },
		{ 4, { 0x8d, 0x74, 0x26, 0 } }, { 4, { 0x8d, 0x7c, 0x27, 0 } },
		{ 3, { 0x8d, 0x76, 0 } },
		{ 3, { 0x8d, 0x7f, 0 } }, { 2, { 0x89, 0xf6 } }, { 1, { 0x3e } },
		{ 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
		{ 8, { 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
		{ 7, { 0x0f, 0x1f, 0x80, 0, 0, 0, 0 } }, { 6, { 0x66, 0x0f, 0x1f, 0x44, 0, 0 } },
		{ 5, { 0x0f, 0x1f, 0x44, 0, 0 } }, { 4, { 0x0f, 0x1f, 0x40, 0 } },
		{ 3, { 0x0f, 0x1f, 0 } },
		{ 2, { 0x66, 0x90 } }, { 1, { 0x90 } }, { 1, { 0xcc } }, { 1, { 0 } },
		{ 1, { 0x66 } },
		{ 1, { 0x2e } },
	};

	for (size_t i = i386 ? 0 : 10; i < NR(nop); i++)
		if (left >= nop[i].n && !memcmp(p, nop[i].b, nop[i].n)) {
			*len = nop[i].n;
			return true;
		}
	return false;
}

/* nopw %cs:0(%rax,%rax) with any number of 66 in front */
static bool is_long_nop(const uint8_t *p, uint64_t left, unsigned *len)
{
	unsigned k = 0;

	while (k < 6 && k < left && p[k] == 0x66)
		k++;
	if (!k || left < k + 9u || p[k] != 0x2e || memcmp(p + k + 1, "\x0f\x1f\x84\0\0\0\0\0", 8))
		return false;
	*len = k + 9;
	return true;
}

static void gaps(struct image_maker *m)
{
	for (uint64_t off = m->lo; off < m->hi; ) {
		unsigned len = 1;

		if (m->about[off] & COVERED) {
			off++;
			continue;
		}
		if (is_long_nop(m->text + off, m->hi - off, &len) ||
		    is_filler(m->text + off, m->hi - off, m->in->i386, &len)) {
			off += len;
			continue;
		}
		translate_at(m, (uint32_t)off);
		drain(m);
		if (!(m->about[off] & COVERED))
			off++;
	}
}

/* ---- the tables ------------------------------------------------------------------------------ */
/* Sorts order[0..n) by key[order[i]]; what is equal keeps its order. */
static void sort_by(uint32_t *order, const uint32_t *key, size_t n)
{
	/* of a digit; its largest value */
	const unsigned bits = n < 100000 ? 8 : 16, most = (1u << bits) - 1;
	uint32_t *other = pm_alloc((n + 1) * sizeof *other),
		  *count = pm_alloc((most + 1) * sizeof *count);

	for (unsigned shift = 0; shift < 32; shift += bits) {
		uint32_t sum = 0, *from = order;

		memset(count, 0, (most + 1) * sizeof *count);
		for (size_t i = 0; i < n; i++)
			count[key[i] >> shift & most]++;
		for (uint32_t k = 0; k <= most; k++) {
			uint32_t here = count[k];

			count[k] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			other[count[key[order[i]] >> shift & most]++] = order[i];
		order = other;
		other = from;			/* an even number of rounds: the
						 * result is where it was */
	}
	free(other);
	free(count);
}

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, 4);
}

static void put_map(struct image_maker *m, const struct made *b, struct pm_buf *to)
{
	uint32_t at = b->indirect == XL_NONE ? b->code : b->indirect;
	uint8_t insn = 0, *p = pm_buf_room(to, b->n + 8u * b->nmap), *const first = p;

	for (unsigned i = 0; i < b->n; i++)
		*p++ = m->out->insn[b->insn + i].len;
	for (uint32_t i = 0; i < b->nmap; i++) {
		const struct xl_map *e = &m->map[b->map + i];
		uint8_t flags = e->flags & 0x3f;
		uint32_t d = e->code - at;

		if (e->flags & XL_CALLED)	/* of a place beyond other blocks: not told */
			continue;
		if (e->insn == insn + 1)
			flags |= IMG_MAP_NEXT;
		else if (e->insn != insn)
			flags |= IMG_MAP_INSN;
		if (XL_BORROWED(e->tmp))
			flags |= IMG_MAP_BORROWED;
		*p++ = flags;
		if (flags & XL_TMP_SAVED || XL_BORROWED(e->tmp))
			*p++ = e->tmp;
		if (flags & IMG_MAP_INSN)
			*p++ = e->insn;
		*p++ = d < 0xff ? (uint8_t)d : 0xff;
		if (d >= 0xff) {
			put32(p, d);
			p += 4;
		}
		insn = e->insn;
		at = e->code;
	}
	to->n += (size_t)(p - first);
}

/* Fields that hold numbers of translation get the blocks' own. */
static void renumber(struct image_maker *m, const struct pm_buf *fields, const uint32_t *number)
{
	for (size_t i = 0; i < fields->n; i += 4) {
		uint32_t at, v;

		memcpy(&at, fields->p + i, 4);
		memcpy(&v, m->out->code.p + at, 4);
		put32(m->out->code.p + at, number[v]);
	}
}

static void finish(struct image_maker *m)
{
	const size_t n = m->nmade;
	struct xl_image *o = m->out;
	uint32_t *order = pm_alloc((n + 1) * sizeof *order),
		  *number = pm_alloc((n + 1) * sizeof *number);
	uint32_t *key = pm_alloc((n + 1) * sizeof *key);
	size_t cap_entry = 0;

	for (size_t i = 0; i < m->npending; i++) {
		struct image_pending *p = &m->pending[i];
		uint64_t off = p->target - m->in->lo;

		if (off < m->in->bytes && m->at[off]) {
			put32(o->code.p + p->site, m->made[m->at[off] - 1].code - (p->site + 4));
			continue;
		}
		put32(o->code.p + p->stub_field, (uint32_t)o->nlink);
		pm_buf_add(&o->links, &p->stub_field, 4);
		o->link = pm_realloc(o->link, (o->nlink + 1) * sizeof *o->link);
		o->link_site = pm_realloc(o->link_site, (o->nlink + 1) * sizeof *o->link_site);
		o->link_site[o->nlink] = p->site;
		o->link[o->nlink++] = p->target;
	}
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		key[i] = m->made[i].code;
	}
	sort_by(order, key, n);
	o->nblock = n;
	o->block = pm_alloc((n + 1) * sizeof *o->block);
	o->by_code = pm_alloc((n + 1) * sizeof *o->by_code);
	o->insn_at = pm_alloc((n + 1) * sizeof *o->insn_at);
	o->prev = m->in->kind != XL_PROFILE ? pm_alloc((n + 1) * sizeof *o->prev) : NULL;
	memcpy(o->by_code, order, n * sizeof *order);
	/* of those at one address the ones that can be entered come first, and
	 * of these the oldest */
	for (uint32_t i = 0, k = 0; i < 2 * n; i++) {
		key[i % n] = m->made[i % n].pc;
		if ((m->made[i % n].prev == XL_NONE) == (i < n))
			order[k++] = i % n;
	}
	sort_by(order, key, n);
	for (uint32_t i = 0; i < n; i++)
		number[order[i]] = i;
	for (uint32_t i = 0; i < n; i++) {
		const struct made *b = &m->made[o->by_code[i]];
		struct img_block *to = &o->block[number[o->by_code[i]]];

		*to = (struct img_block){
			.pc = b->pc, .code = b->code, .map = (uint32_t)o->map.n, .n = b->n,
			.size = b->size,
			.entry = b->indirect == XL_NONE ? IMG_NO_ENTRY :
			(uint8_t)(b->code - b->indirect),
		};
		o->insn_at[number[o->by_code[i]]] = b->insn;
		put_map(m, b, &o->map);
		if (m->in->kind != XL_PROFILE)
			o->prev[number[o->by_code[i]]] = b->prev == XL_NONE ? IMG_NO_BLOCK :
				number[b->prev];
		o->by_code[i] = number[o->by_code[i]];
	}
	/* entries for indirect transfers to blocks that have none in line */
	for (uint32_t i = 0; i < n; i++) {
		const struct made *b = &m->made[order[i]];
		uint8_t buf[XL_ENTRY_MAX];
		uint32_t at;

		if (b->indirect != XL_NONE || m->at[b->pc] != order[i] + 1 ||
		    !(m->about[b->pc] & (LEADER | FUNCTION)))
			continue;
		at = (uint32_t)o->code.n;
		pm_buf_add(&o->code, buf,
			   xl_indirect_entry(buf, m->in->i386, m->in->code + at,
					     m->in->code + b->code, b->live));
		pm_grow(o->entry, o->nentry, cap_entry);
		o->entry[o->nentry++] = (struct xl_entry){ b->pc, at };
	}
	renumber(m, &m->counters, number);
	renumber(m, &m->numbers, number);
	o->counters = m->counters;
	o->numbers = m->numbers;
	free(order);
	free(number);
	free(key);
}

static void add_to(struct xl_image *m, const struct pm_buf *fields, uint32_t scale, uint32_t add)
{
	for (size_t i = 0; i < fields->n; i += 4) {
		uint32_t at, v;

		memcpy(&at, fields->p + i, 4);
		memcpy(&v, m->code.p + at, 4);
		put32(m->code.p + at, v * scale + add);
	}
}

void xl_image_number(struct xl_image *m, uint32_t first, uint32_t first_link)
{
	const uint32_t each = xl_counter_size(m->in.i386),
		       at = m->in.i386 ? IMG32_COUNTERS : RT_COUNTERS;

	m->first = first;
	add_to(m, &m->counters, each, at + each * (IMG_RESERVED + first));
	add_to(m, &m->numbers, 1, IMG_RESERVED + first);
	add_to(m, &m->links, 1, first_link);
	pm_buf_release(&m->counters);
	pm_buf_release(&m->numbers);
	pm_buf_release(&m->links);
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* Functions of position-independent i386 code begin with `call thunk; add $..., %reg`, where the
 * thunk is `mov (%esp), %reg; ret`: that is the global offset table's address. */
static uint64_t find_got(const struct image_maker *m)
{
	const uint64_t n = m->in->bytes;

	for (uint64_t i = 0; i + 11 <= n; i++) {
		const uint8_t *p = m->text + i;
		const bool eax = p[5] == 0x05;
		uint64_t thunk, got, avail;
		bool exec = true;

		if (p[0] != 0xe8 || (!eax && (p[5] != 0x81 || p[6] >> 3 != 0x18)))
			continue;
		thunk = i + 5 + (uint64_t)(int64_t)(int32_t)word_at(p + 1);
		if (thunk + 4 > n || m->text[thunk] != 0x8b || m->text[thunk + 2] != 0x24 ||
		    m->text[thunk + 3] != 0xc3)
			continue;
		got = (uint32_t)(m->in->lo + i + 5 + word_at(p + (eax ? 6 : 7)));
		if (elf_image_bytes(&m->elf, got, &avail, &exec) && !exec)
			return got;
	}
	return 0;
}

/* A large text's second part begins with the function that is nearest to its middle. */
static void divide(struct team *t, struct xl_image *second)
{
	struct image_maker *m = &t->part[0], *o = &t->part[1];
	const uint64_t middle = m->in->bytes / 2;
	uint64_t at = 0;

	for (size_t i = 0; i < m->nfunction && m->in->bytes >= LARGE; i++) {
		const uint64_t off = m->function[i].lo + m->in->bias - m->in->lo;

		if (off < m->in->bytes && (off < middle ? middle - off : off - middle) <
					  (at < middle ? middle - at : at - middle))
			at = off;
	}
	if (!at)
		return;
	*o = *m;
	o->out = second;
	m->hi = o->lo = at;
	/* near enough, and as far from a multiple of 64 as where it will live */
	o->code = m->code + (4 * at & ~63ull);
	t->n = 2;
	if (pthread_barrier_init(&t->barrier, NULL, 2))
		return;
	t->two = !pthread_create(&t->other, NULL, other_thread, t);
	if (!t->two)
		pthread_barrier_destroy(&t->barrier);
}

static void whole_text(struct team *t)
{
	struct image_maker *m = &t->part[0];
	const struct xl_image_input *in = m->in;
	struct xl_image second = { .in = *in };
	struct pm_err err = { 0 };
	struct pm_elf *elf = pm_elf_open(in->path, NULL, &err);

	if (elf)
		m->nfunction = pm_elf_functions(elf, &m->function);
	for (size_t i = 0; i < m->nfunction; i++) {
		uint64_t off = m->function[i].lo + in->bias - in->lo;

		if (off < in->bytes)
			m->about[off] |= FUNCTION;
	}
	divide(t, &second);
	for (size_t i = 0; i < m->nfunction; i++)
		later(m, m->function[i].lo + in->bias);
	drain_all(t);
	elf_code_addresses(&m->elf, in->lo, in->lo + in->bytes, seed, m);
	for (size_t i = 0; i < in->nseed; i++)
		later(m, in->seed[i]);
	drain_all(t);
	jump_tables(t);
	everyone(t, gaps);
	drain_all(t);
	jump_tables(t);
	if (t->two) {
		t->what = NULL;
		pthread_barrier_wait(&t->barrier);
		pthread_join(t->other, NULL);
		pthread_barrier_destroy(&t->barrier);
	}
	if (t->n > 1) {
		join_parts(m, &t->part[1]);
		release_part(&t->part[1]);
		pm_buf_release(&t->part[1].counters);
		pm_buf_release(&t->part[1].numbers);
	}
	pm_elf_close(elf);
	free(m->function);
}

void xl_image_make(const struct xl_image_input *in, struct xl_image *out)
{
	struct team t = { .n = 1 };
	struct image_maker *m = &t.part[0];

	*m = (struct image_maker){ .in = &out->in, .out = out, .text = in->file + in->offset,
			     .elf = { in->file, in->size, in->bias, in->i386 },
			     .hi = in->bytes, .code = in->code };
	*out = (struct xl_image){ .in = *in };
	if (in->i386)
		m->got = find_got(m);
	m->at = pm_alloc((in->bytes + 1) * sizeof *m->at);
	m->about = pm_alloc(in->bytes + 1);
	if (in->generated)
		translate_at(m, (uint32_t)(in->entry - in->lo));
	else
		whole_text(&t);
	finish(m);
	free(m->at);
	free(m->about);
	release_part(m);
}

void xl_image_release(struct xl_image *m)
{
	pm_buf_release(&m->code);
	pm_buf_release(&m->map);
	pm_buf_release(&m->counters);
	pm_buf_release(&m->numbers);
	pm_buf_release(&m->links);
	free(m->block);
	free(m->entry);
	free(m->by_code);
	free(m->prev);
	free(m->insn);
	free(m->insn_at);
	free(m->link);
	free(m->link_site);
	*m = (struct xl_image){ 0 };
}
