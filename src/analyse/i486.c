/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/i486.h"
#include "base/mem.h"
#include "base/number.h"
#include "isa/x86/form.h"

struct pm_i486 {
	struct pm_i486_conf c;
	struct pm_i486_stats st;
	uint64_t *tag;			/* line + 1, newest first; 0 empty */
	uint64_t set_mask;
	unsigned shift, fill;
	uint64_t now, bus;		/* bus: when the last read on it ends */
	/* When the last wbuf writes have been (or, if no read comes before them, will be) on the
	 * bus: a ring, the oldest at head, rising. Such a write started 2 cycles before. */
	uint64_t *done, last_done;	/* last_done: of the newest */
	unsigned head;
	/* prefetch buffer: lines base .. base + count - 1 */
	uint64_t base, ready[8];
	unsigned count, cap;
	unsigned own;			/* cycles of the present instruction, still to come */
	bool open;			/* there has been one; until then count is 0 */
	uint64_t flush_left;
};

struct pm_i486 *pm_i486_new(const struct pm_i486_conf *c)
{
	struct pm_i486 *m = pm_alloc(sizeof *m);

	m->c = *c;
	m->tag = pm_alloc(c->size / c->line * sizeof *m->tag);
	m->set_mask = c->size / c->line / c->ways - 1;
	m->shift = __builtin_ctz(c->line);
	m->fill = c->line <= 4 ? 2 : 2 + c->line / 4 - 1;
	m->done = pm_alloc(c->wbuf * sizeof *m->done);
	m->cap = c->line < 16 ? 32 / c->line : 2;
	m->flush_left = c->flush ? c->flush : UINT64_MAX;
	return m;
}

void pm_i486_free(struct pm_i486 *m)
{
	if (!m)
		return;
	free(m->tag);
	free(m->done);
	free(m);
}

/* Look @line (+ 1) up and make it the newest; @enter: also if it was not there. */
static bool look_any(uint64_t *set, unsigned ways, uint64_t line, bool enter)
{
	unsigned w = 0;
	bool hit;

	while (w < ways && set[w] != line)
		w++;
	hit = w < ways;
	if (!hit) {
		if (!enter)
			return false;
		w--;
	}
	for (; w > 0; w--)
		set[w] = set[w - 1];
	set[0] = line;
	return hit;
}

/* The same without branches, of which half would be mispredicted: a way moves down until the line
 * is met. */
static inline bool look_4(uint64_t *set, uint64_t line, bool enter)
{
	uint64_t t0 = set[0], t1 = set[1], t2 = set[2], t3 = set[3];
	uint64_t at0 = -(uint64_t)(t0 == line), at1 = at0 | -(uint64_t)(t1 == line),
		 at2 = at1 | -(uint64_t)(t2 == line), hit = at2 | -(uint64_t)(t3 == line),
		 change = hit | -(uint64_t)enter;

	set[0] = t0 ^ ((t0 ^ line) & change);
	set[1] = t1 ^ ((t1 ^ t0) & ~at0 & change);
	set[2] = t2 ^ ((t2 ^ t1) & ~at1 & change);
	set[3] = t3 ^ ((t3 ^ t2) & ~at2 & change);
	return hit;
}

static inline bool look(struct pm_i486 *m, uint64_t line, bool enter)
{
	uint64_t *set = m->tag + (line & m->set_mask) * m->c.ways;

	return m->c.ways == 4 ? look_4(set, line + 1, enter)
			      : look_any(set, m->c.ways, line + 1, enter);
}

/* (2) A read goes before the writes that have not started: they follow it. */
static __attribute__((noinline)) uint64_t overtake(struct pm_i486 *m)
{
	uint64_t free_at = m->bus, then;
	unsigned k = 0, at = m->head;

	for (; k < m->c.wbuf && m->done[at] < m->now + 2;
	     k++, at = at + 1 == m->c.wbuf ? 0 : at + 1)
		if (m->done[at] > free_at)
			free_at = m->done[at];
	then = (free_at > m->now ? free_at : m->now) + m->fill;
	m->last_done = then;
	for (; k < m->c.wbuf; k++, at = at + 1 == m->c.wbuf ? 0 : at + 1)
		m->done[at] = m->last_done += 2;
	return then;
}

static void refill(struct pm_i486 *m)
{
	uint64_t from = m->now, free_at = m->bus > m->last_done ? m->bus : m->last_done;

	m->now = m->last_done >= from + 2 ? overtake(m)
					  : (free_at > from ? free_at : from) + m->fill;
	m->bus = m->now;
	m->st.stall += m->now - from;
}

/* (5) from memory, if the bus is free for long enough. */
static __attribute__((noinline)) void prefetch_memory(struct pm_i486 *m, uint64_t next)
{
	uint64_t from = m->now - m->own;

	from = from > m->bus ? from : m->bus;
	from = from > m->last_done ? from : m->last_done;
	if (from + m->fill > m->now)
		return;
	look(m, next, true);
	m->bus = from + m->fill;
	m->ready[m->count++] = m->now;
	m->st.prefetches++;
	m->st.memory_prefetches++;
}

/* (5) The instruction that took @own cycles is over. */
static inline void prefetch(struct pm_i486 *m)
{
	uint64_t next = m->base + m->count;

	if (m->count == m->cap || m->own < m->fill)
		return;
	if (look(m, next, false)) {
		m->ready[m->count++] = m->now;
		m->st.prefetches++;
	} else {
		prefetch_memory(m, next);
	}
}

/* Lines that are not the first of the prefetch buffer, or not there yet (3). */
static __attribute__((noinline)) void fetch(struct pm_i486 *m, uint64_t line, uint64_t last)
{
	for (; line <= last; line++) {
		uint64_t skip = line - m->base;

		if (skip < m->count) {
			m->count -= skip;
			for (unsigned i = 0; skip && i < m->count; i++)
				m->ready[i] = m->ready[i + skip];
			m->base = line;
			if (m->ready[0] > m->now) {
				m->st.stall += m->ready[0] - m->now;
				m->now = m->ready[0];
			}
			continue;
		}
		m->base = line;
		m->count = 1;
		if (!look(m, line, true)) {
			m->st.instr_misses++;
			refill(m);
		}
		m->ready[0] = m->now;
	}
}

/* What may happen between two instructions. */
static __attribute__((noinline)) void between(struct pm_i486 *m, uint64_t line, uint64_t last)
{
	if (!m->open) {			/* the first: nothing came before */
		m->now -= m->own;
		m->open = true;
	} else {
		prefetch(m);
	}
	if (!m->flush_left) {				/* (6) */
		memset(m->tag, 0, m->c.size / m->c.line * sizeof *m->tag);
		m->flush_left = m->c.flush;
	}
	if (line != m->base || last != line || !m->count || m->ready[0] > m->now)
		fetch(m, line, last);
}

static inline void insn(struct pm_i486 *m, uint64_t pc, unsigned len, unsigned cycles)
{
	uint64_t line = pc >> m->shift, last = (pc + len - (len != 0)) >> m->shift;

	m->now += m->own;
	/* One branch, which is hard to predict, for all of it: in another line than the one before,
	 * or time to prefetch, or to flush. */
	if ((line ^ m->base) | (last ^ m->base) | (m->ready[0] > m->now) |
	    ((m->count < m->cap) & (m->own >= m->fill)) | !m->count | !m->flush_left)
		between(m, line, last);
	m->flush_left--;
	m->own = cycles;
	m->st.instructions++;
}

static inline void data_read(struct pm_i486 *m, uint64_t addr, unsigned size)
{
	uint64_t line = addr >> m->shift, last = (addr + (size ? size : 1) - 1) >> m->shift;

	for (; line <= last; line++) {			/* (4) */
		m->st.reads++;
		if (!look(m, line, true)) {
			m->st.read_misses++;
			refill(m);
		}
	}
}

static inline void data_write(struct pm_i486 *m, uint64_t addr, unsigned size)
{
	uint64_t word = addr >> 2, last = (addr + (size ? size : 1) - 1) >> 2;

	for (uint64_t line = addr >> m->shift; line <= last >> (m->shift - 2); line++)
		look(m, line, false);
	for (; word <= last; word++) {			/* (2) */
		uint64_t *done = m->done + m->head, start;

		m->st.writes++;
		if (*done > m->now) {
			m->st.full++;
			m->st.stall += *done - m->now;
			m->now = *done;
		}
		start = m->now > m->bus ? m->now : m->bus;
		start = start > m->last_done ? start : m->last_done;
		*done = m->last_done = start + 2;
		m->head = m->head + 1 == m->c.wbuf ? 0 : m->head + 1;
	}
}

void pm_i486_insn(struct pm_i486 *m, uint64_t pc, unsigned len, unsigned cycles)
{
	insn(m, pc, len, cycles);
}

void pm_i486_more(struct pm_i486 *m, unsigned cycles)
{
	m->own += cycles;
}

void pm_i486_read(struct pm_i486 *m, uint64_t addr, unsigned size)
{
	data_read(m, addr, size);
}

void pm_i486_write(struct pm_i486 *m, uint64_t addr, unsigned size)
{
	data_write(m, addr, size);
}

const struct pm_i486_stats *pm_i486_end(struct pm_i486 *m)
{
	if (m->open) {
		m->now += m->own;
		prefetch(m);
		m->own = 0;
	}
	m->st.cycles = m->now;
	return &m->st;
}

/* ---- own cycles ----------------------------------------------------------------------------- */

/* From the i486 Programmer's Reference Manual: register form; more when an operand is read from
 * memory; more when one is written. Where the manual gives a range, its lower middle. */
static const struct { const char *name; uint8_t reg, read, write; } clocks[] = {
	{ "mov", 1, 0, 0 }, { "add", 1, 1, 1 }, { "sub", 1, 1, 1 }, { "and", 1, 1, 1 },
	{ "or", 1, 1, 1 }, { "xor", 1, 1, 1 }, { "adc", 1, 1, 1 }, { "sbb", 1, 1, 1 },
	{ "cmp", 1, 1, 0 }, { "test", 1, 1, 0 }, { "inc", 1, 1, 1 }, { "dec", 1, 1, 1 },
	{ "neg", 1, 1, 1 }, { "not", 1, 1, 1 }, { "lea", 1, 0, 0 }, { "push", 1, 3, 0 },
	{ "pop", 1, 0, 4 }, { "movzx", 3, 0, 0 }, { "movsx", 3, 0, 0 }, { "movsxd", 3, 0, 0 },
	{ "shl", 2, 1, 1 }, { "shr", 2, 1, 1 }, { "sar", 2, 1, 1 }, { "rol", 2, 1, 1 },
	{ "ror", 2, 1, 1 }, { "rcl", 3, 1, 0 }, { "rcr", 3, 1, 0 }, { "shld", 2, 1, 0 },
	{ "shrd", 2, 1, 0 }, { "imul", 16, 0, 0 }, { "mul", 16, 0, 0 }, { "div", 40, 0, 0 },
	{ "idiv", 43, 0, 0 }, { "cdq", 3, 0, 0 }, { "cqo", 3, 0, 0 }, { "cwde", 3, 0, 0 },
	{ "cdqe", 3, 0, 0 }, { "xchg", 3, 2, 0 }, { "xadd", 3, 1, 0 }, { "cmpxchg", 6, 1, 0 },
	{ "bswap", 1, 0, 0 }, { "setcc", 4, 0, 0 }, { "bt", 3, 0, 0 }, { "bts", 6, 2, 0 },
	{ "btr", 6, 2, 0 }, { "btc", 6, 2, 0 }, { "bsf", 12, 0, 0 }, { "bsr", 12, 0, 0 },
	{ "leave", 5, 0, 0 }, { "enter", 14, 0, 0 }, { "nop", 1, 0, 0 }, { "jmp", 3, 2, 0 },
	{ "jcc", 1, 0, 0 }, { "call", 3, 2, 0 }, { "ret", 5, 0, 0 }, { "loopcc", 6, 0, 0 },
	{ "loop", 6, 0, 0 }, { "jecxz", 5, 0, 0 }, { "jrcxz", 5, 0, 0 }, { "pushfq", 4, 0, 0 },
	{ "popfq", 9, 0, 0 }, { "pushfd", 4, 0, 0 }, { "popfd", 9, 0, 0 }, { "cld", 2, 0, 0 },
	{ "std", 2, 0, 0 }, { "clc", 2, 0, 0 }, { "stc", 2, 0, 0 }, { "cmc", 2, 0, 0 },
	{ "sahf", 2, 0, 0 }, { "lahf", 3, 0, 0 }, { "movsb", 7, 0, 0 }, { "movsd", 7, 0, 0 },
	{ "movsq", 7, 0, 0 }, { "stosb", 5, 0, 0 }, { "stosd", 5, 0, 0 }, { "stosq", 5, 0, 0 },
	{ "lodsb", 5, 0, 0 }, { "lodsd", 5, 0, 0 }, { "scasb", 6, 0, 0 }, { "cmpsb", 8, 0, 0 },
	{ "int", 26, 0, 0 }, { "syscall", 26, 0, 0 }, { "pusha", 11, 0, 0 }, { "popa", 9, 0, 0 },
	{ "pushad", 11, 0, 0 }, { "popad", 9, 0, 0 }, { "fld", 4, 0, 0 }, { "fst", 3, 0, 4 },
	{ "fstp", 3, 0, 4 }, { "fild", 9, 0, 0 }, { "fistp", 29, 0, 0 }, { "fadd", 10, 0, 0 },
	{ "faddp", 10, 0, 0 }, { "fsub", 10, 0, 0 }, { "fsubp", 10, 0, 0 }, { "fmul", 16, 0, 0 },
	{ "fmulp", 16, 0, 0 }, { "fdiv", 73, 0, 0 }, { "fdivp", 73, 0, 0 }, { "fsqrt", 84, 0, 0 },
	{ "fxch", 4, 0, 0 }, { "fchs", 6, 0, 0 }, { "fabs", 3, 0, 0 }, { "fcom", 4, 0, 0 },
	{ "fcomp", 4, 0, 0 }, { "fldcw", 4, 0, 0 }, { "fnstcw", 3, 0, 0 }, { "fnstsw", 3, 0, 0 },
	{ "fld1", 4, 0, 0 }, { "fldz", 4, 0, 0 },
};

static bool has_bytes(const struct pm_insn *in)
{
	return in->len && in->isa <= PM_ISA_X86_32;
}

static unsigned clocks_of(struct pm_forms *forms[2], const struct pm_insn *in)
{
	const struct pm_form *f;
	const char *name;
	bool i386 = in->isa == PM_ISA_X86_32;

	if (!has_bytes(in))
		return 1;
	if (!forms[i386])
		forms[i386] = pm_forms_new(i386);
	f = pm_form_at(forms[i386], in->bytes, in->len);
	if (!f->mnemonic)
		return 1;
	name = pm_form_class(f->mnemonic);
	for (size_t i = 0; i < NR(clocks); i++)
		if (!strcmp(clocks[i].name, name)) {
			unsigned reads = f->reads, writes = f->writes;

			/* the stack's own reference is in the register form */
			if (!strcmp(name, "pop") || !strcmp(name, "ret") || !strcmp(name, "leave"))
				reads -= reads > 0;
			if (!strcmp(name, "push") || !strcmp(name, "call"))
				writes -= writes > 0;
			return clocks[i].reg + (reads ? clocks[i].read : 0) +
			       (writes ? clocks[i].write : 0);
		}
	return 1;
}

/* ---- the sink ------------------------------------------------------------------------------- */

#define MODELS 8

struct i486_sink {
	struct pm_i486 *m[MODELS];
	unsigned n;
	uint64_t limit, insns;
	uint64_t unknown;		/* instructions whose bytes the trace does not hold */
	uint64_t foreign;		/* ... that are none of x86 */
	struct pm_forms *forms[2];
	uint8_t *own;			/* by pm_code.insn; 0: not known yet */
	size_t cap_own;
	bool done, some_unknown;
};

static void destroy(void *self)
{
	struct i486_sink *s = self;

	if (!s)
		return;
	for (unsigned k = 0; k < s->n; k++)
		pm_i486_free(s->m[k]);
	pm_forms_free(s->forms[0]);
	pm_forms_free(s->forms[1]);
	free(s->own);
	free(s);
}

static enum pm_status model_add(struct i486_sink *s, struct pm_conf *c,
				const struct pm_i486_conf *m, struct pm_err *err)
{
	uint32_t sets = m->size / m->line / m->ways;

	if (!sets || sets * m->ways * m->line != m->size || (sets & (sets - 1)))
		return pm_conf_fail(c, NULL, err,
				    "%u bytes in %u ways of %u-byte lines do not make a power of "
				    "two of sets",
				    m->size, m->ways, m->line);
	s->m[s->n++] = pm_i486_new(m);
	return PM_OK;
}

static enum pm_status parse(struct i486_sink *s, struct pm_conf *c, struct pm_err *err)
{
	static const struct { uint8_t line, ways, wbuf; } table6[] = {
		{ 8, 4, 4 }, { 16, 4, 4 }, { 32, 4, 4 }, { 64, 4, 4 }, { 16, 8, 4 }, { 16, 2, 4 },
		{ 16, 1, 4 },
		{ 16, 4, 2 },
	};
	struct pm_i486_conf m = { 8192, 16, 4, 4, 50000 };
	const struct {
		const char *name; uint32_t *to; uint64_t lo, hi; bool pow2; const char *about;
	} keys[] = {
		{ "size", &m.size, 64, 1 << 24, true, "bytes of the cache" },
		{ "line", &m.line, 4, 256, true, "bytes of a line" },
		{ "ways", &m.ways, 1, 64, false, "ways" },
		{ "wbuf", &m.wbuf, 1, 64, false, "write buffers" },
	};
	const struct pm_conf_item *own = NULL;
	bool table = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *v = it->n == 1 ? it->field[0].key : "";
		bool known = false;
		uint64_t x;

		for (size_t k = 0; k < NR(keys) && !known; k++)
			if (!strcmp(keys[k].name, it->name)) {
				if ((keys[k].pow2 ? pm_conf_pow2
						  : pm_conf_u64)(c, it, v, keys[k].about,
								 keys[k].lo, keys[k].hi, &x, err))
					return PM_ERR;
				*keys[k].to = x;
				known = true;
				if (k)
					own = it;
			}
		if (known)
			continue;
		if (!strcmp(it->name, "table6") && !it->n) {
			table = true;
		} else if (!strcmp(it->name, "flush") || !strcmp(it->name, "limit")) {
			if (!pm_parse_u64(v, &x))
				return pm_conf_fail(c, it, err,
						    "'%s' is not a number of instructions", v);
			*(it->name[0] == 'f' ? &m.flush : &s->limit) = x;
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"size, line, ways, wbuf, flush, limit, table6");
		}
	}
	if (table && own)
		return pm_conf_fail(c, own, err,
				    "table6 has lines, ways and write buffers of its own; only "
				    "size, flush and limit go with it");
	if (!table)
		return model_add(s, c, &m, err);
	for (size_t k = 0; k < NR(table6); k++) {
		m.line = table6[k].line;
		m.ways = table6[k].ways;
		m.wbuf = table6[k].wbuf;
		if (model_add(s, c, &m, err))
			return PM_ERR;
	}
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct i486_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "i486", config, err);

	if (!st)
		st = parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	destroy(s);
	return NULL;
}

/* Room in s->own for every instruction of the code table. */
static void own_room(struct i486_sink *s, const struct pm_code *code)
{
	size_t cap = code->ninsn * 2;

	if (s->cap_own >= code->ninsn)
		return;
	s->own = pm_realloc(s->own, cap);
	memset(s->own + s->cap_own, 0, cap - s->cap_own);
	s->cap_own = cap;
}

/* How many of @n events come before the limit. */
static size_t within_limit(struct i486_sink *s, const struct pm_event *ev, size_t n)
{
	if (!s->limit)
		return n;
	for (size_t i = 0; i < n; i++)
		if (ev[i].kind == PM_EV_INSN && s->insns++ == s->limit) {
			s->done = true;
			return i;
		}
	return n;
}

static __attribute__((noinline)) unsigned learn(struct i486_sink *s, const struct pm_code *code,
						uint32_t id)
{
	s->some_unknown |= !has_bytes(code->insn + id);
	return s->own[id] = clocks_of(s->forms, code->insn + id);
}

/* HOT: once per event and model. */
static void run(struct i486_sink *s, struct pm_i486 *m, const struct pm_code *code,
		const struct pm_event *ev, size_t n)
{
	const uint32_t ncode = code ? code->ninsn : 0;

	for (const struct pm_event *e = ev, *end = e + n; e < end; e++) {
		if (e->kind == PM_EV_INSN) {
			unsigned own = e->id < ncode ? s->own[e->id] : 1;

			if (!own)
				own = learn(s, code, e->id);
			insn(m, e->addr, e->size, own);
		} else if (e->kind == PM_EV_READ) {
			data_read(m, e->addr, e->size);
		} else if (e->kind == PM_EV_WRITE) {
			data_write(m, e->addr, e->size);
		} else if (e->kind == PM_EV_BRANCH) {
			m->own += (e->flags & (PM_BR_COND | PM_BR_TAKEN)) ==
						  (PM_BR_COND | PM_BR_TAKEN)
					  ? 2
					  : 0;
		} else if (e->kind == PM_EV_REP_ITER) {
			m->own += 3;
		} else if (e->kind == PM_EV_MODIFY) {
			data_read(m, e->addr, e->size);
			data_write(m, e->addr, e->size);
		}
	}
}

static void count_unknown(struct i486_sink *s, const struct pm_code *code,
			  const struct pm_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct pm_insn *in = code && ev[i].id < code->ninsn ? code->insn + ev[i].id
									  : NULL;

		if (ev[i].kind != PM_EV_INSN || (in && has_bytes(in)))
			continue;
		if (in && in->len && in->isa > PM_ISA_X86_32 && in->isa != PM_ISA_NONE)
			s->foreign++;
		else
			s->unknown++;
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct i486_sink *s = self;
	size_t n;

	if (s->done)
		return PM_OK;
	if (b->code)
		own_room(s, b->code);
	n = within_limit(s, b->ev, b->n);
	for (unsigned k = 0; k < s->n; k++)
		run(s, s->m[k], b->code, b->ev, n);
	if (!b->code || s->some_unknown)
		count_unknown(s, b->code, b->ev, n);
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct i486_sink *s = self;

	if (!r)
		return PM_OK;
	pm_result_begin(r, "i486");
	if (s->unknown)
		pm_result_u64(r, "without_bytes", s->unknown,
			      "instructions of one cycle, since the trace does not hold their "
			      "bytes");
	if (s->foreign)
		pm_result_u64(r, "not_x86", s->foreign,
			      "instructions of one cycle, since they are none of x86");
	pm_result_begin_list(r, "configurations");
	for (unsigned k = 0; k < s->n; k++) {
		const struct pm_i486_stats *st = pm_i486_end(s->m[k]);
		const struct pm_i486_conf *c = &s->m[k]->c;
		char name[40];

		snprintf(name, sizeof name, "%uB, %u-way, %uwb", c->line, c->ways, c->wbuf);
		pm_result_begin(r, NULL);
		pm_result_str(r, "configuration", name);
#define S(field, unit, about) pm_result_u64(r, #field, st->field, unit);
		PM_I486_STATS(S)
#undef S
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_i486 = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS, .name = "i486",
	.about = "the 1994 report's i486: cycles, misses, prefetches, write buffers",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
