/* SPDX-License-Identifier: MIT */
/* pug_code.c - code tables as CODE records
 *
 * Payload (behind the table's number): varints first, count of new objects, of new instructions, of
 * new blocks; then the objects, instructions and blocks. "first" must equal what is known so
 * far. */
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "trace/pug.h"

#define MAX_STRING 65536

void pug_string_put(struct pm_buf *to, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n > MAX_STRING)
		n = MAX_STRING;
	pug_varint(to, s ? n + 1 : 0);
	pm_buf_add(to, s, n);
}

enum pm_status pug_string_get(struct pm_cur *c, struct pm_arena *mem, const char **to,
			      const char *what)
{
	uint64_t n = pm_cur_varint(c, what);
	const uint8_t *p;
	char *s;

	*to = NULL;
	if (pm_failed(c->err) || !n)
		return pm_failed(c->err) ? PM_ERR : PM_OK;
	if (n - 1 > MAX_STRING)
		return pm_fail(c->err, pm_cur_at(c), "%s of %llu bytes", what,
			       (unsigned long long)n - 1);
	p = pm_cur_bytes(c, n - 1, what);
	if (!p)
		return PM_ERR;
	s = pm_arena_alloc(mem, n);
	memcpy(s, p, n - 1);
	*to = s;
	return PM_OK;
}

static uint8_t *room(struct pm_buf *b, size_t n)
{
	if (b->cap - b->n < n) {
		b->cap = b->cap * 2 + n;
		b->p = pm_realloc(b->p, b->cap);
	}
	return b->p + b->n;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

void pug_code_put(struct pm_buf *to, uint32_t number, const struct pm_code *code,
		  struct pug_code_mark *done)
{
	uint64_t pc = 0, insn = done->ninsn;

	pug_varint(to, number);
	pug_varint(to, done->nobject);
	pug_varint(to, code->nobject - done->nobject);
	pug_varint(to, done->ninsn);
	pug_varint(to, code->ninsn - done->ninsn);
	pug_varint(to, done->nblock);
	pug_varint(to, code->nblock - done->nblock);
	for (size_t i = done->nobject; i < code->nobject; i++) {
		const struct pm_object *o = code->object + i;

		pug_string_put(to, o->path);
		pug_string_put(to, o->build_id);
		pug_varint(to, o->base);
		pug_varint(to, o->lo);
		pug_varint(to, o->hi);
	}
	for (size_t i = done->ninsn; i < code->ninsn; i++) {
		const struct pm_insn *in = code->insn + i;
		uint8_t len = in->len <= 15 ? in->len : 15;
		uint8_t *p = room(to, 40);

		p = put_varint(p, pug_zigzag((int64_t)(in->pc - pc)));
		*p++ = len;
		*p++ = in->flow;
		*p++ = in->nref;
		*p++ = in->rep;
		*p++ = in->isa;
		p = put_varint(p, in->object < code->nobject ? in->object + 1u : 0);
		memcpy(p, in->bytes, 15);
		to->n = (size_t)(p + len - to->p);
		pc = in->pc + len;
	}
	for (size_t i = done->nblock; i < code->nblock; i++) {
		const struct pm_block *b = code->block + i;
		/* a block begins at its first instruction; the difference is there for odd
		 * tables */
		uint64_t first = b->insn < code->ninsn ? code->insn[b->insn].pc : 0;
		uint8_t *p = room(to, 40);

		p = put_varint(p, pug_zigzag((int64_t)((uint64_t)b->insn - insn)));
		p = put_varint(p, b->n);
		p = put_varint(p, pug_zigzag((int64_t)(b->pc - first)));
		to->n = (size_t)(p - to->p);
		insn = (uint64_t)b->insn + b->n;
	}
	done->nobject = code->nobject;
	done->ninsn = code->ninsn;
	done->nblock = code->nblock;
}

static enum pm_status get_insn(struct pm_cur *cur, struct pug_code *c, uint64_t *pc)
{
	struct pm_insn in = { 0 };
	uint64_t object;
	const uint8_t *bytes;

	in.pc = *pc + (uint64_t)pug_unzigzag(pm_cur_varint(cur, "an instruction's address"));
	in.len = pm_cur_u8(cur, "an instruction");
	in.flow = pm_cur_u8(cur, "an instruction");
	in.nref = pm_cur_u8(cur, "an instruction");
	in.rep = pm_cur_u8(cur, "an instruction");
	in.isa = pm_cur_u8(cur, "an instruction");
	object = pm_cur_varint(cur, "an instruction's object");
	if (pm_failed(cur->err))
		return PM_ERR;
	if (in.len > 15 || in.flow > PM_CLASS_SYSCALL || in.isa > PM_ISA_MIPS_BE ||
	    object > c->code.nobject)
		return pm_fail(cur->err, pm_cur_at(cur),
			       "an impossible instruction: length %u, class %u, "
			       "instruction set %u, object %llu",
			       in.len, in.flow, in.isa, (unsigned long long)object);
	in.object = (uint32_t)object - 1u;
	bytes = pm_cur_bytes(cur, in.len, "an instruction's bytes");
	if (!bytes)
		return PM_ERR;
	memcpy(in.bytes, bytes, in.len);
	*pc = in.pc + in.len;
	pm_grow(c->insn, c->code.ninsn, c->cap_insn);
	c->insn[c->code.ninsn++] = in;
	return PM_OK;
}

static enum pm_status get_block(struct pm_cur *cur, struct pug_code *c, uint64_t *insn)
{
	uint64_t at = *insn +
		      (uint64_t)pug_unzigzag(pm_cur_varint(cur, "a block's first instruction"));
	uint64_t n = pm_cur_varint(cur, "a block's length");
	uint64_t pc = (uint64_t)pug_unzigzag(pm_cur_varint(cur, "a block's address"));

	if (pm_failed(cur->err))
		return PM_ERR;
	if (at > c->code.ninsn || n > c->code.ninsn - at)
		return pm_fail(cur->err, pm_cur_at(cur),
			       "block %zu has %llu instructions from number %llu on, "
			       "but there are %zu",
			       c->code.nblock, (unsigned long long)n, (unsigned long long)at,
			       c->code.ninsn);
	*insn = at + n;
	pm_grow(c->block, c->code.nblock, c->cap_block);
	c->block[c->code.nblock++] = (struct pm_block){
		.pc = at < c->code.ninsn ? c->insn[at].pc + pc : pc, .insn = (uint32_t)at,
		.n = (uint32_t)n,
	};
	return PM_OK;
}

static bool first_is(struct pm_cur *cur, size_t known, const char *what)
{
	uint64_t first = pm_cur_varint(cur, what);

	if (pm_failed(cur->err))
		return false;
	if (first != known)
		pm_fail(cur->err, pm_cur_at(cur), "%s from number %llu on, expected %zu", what,
			(unsigned long long)first, known);
	return first == known;
}

enum pm_status pug_code_get(struct pm_cur *cur, struct pug_code *c)
{
	uint64_t nobject, ninsn, nblock, pc = 0, insn = c->code.ninsn;

	if (!first_is(cur, c->code.nobject, "objects"))
		return PM_ERR;
	nobject = pm_cur_varint(cur, "a count of objects");
	if (!first_is(cur, c->code.ninsn, "instructions"))
		return PM_ERR;
	ninsn = pm_cur_varint(cur, "a count of instructions");
	if (!first_is(cur, c->code.nblock, "blocks"))
		return PM_ERR;
	nblock = pm_cur_varint(cur, "a count of blocks");
	/* each takes bytes, so what is not there cannot be claimed: the loops end by themselves */
	for (uint64_t i = 0; i < nobject && !pm_failed(cur->err); i++) {
		struct pm_object o;

		if (pug_string_get(cur, &c->mem, &o.path, "an object's path") != PM_OK ||
		    pug_string_get(cur, &c->mem, &o.build_id, "a build id") != PM_OK)
			break;
		o.base = pm_cur_varint(cur, "an object's base");
		o.lo = pm_cur_varint(cur, "an object's range");
		o.hi = pm_cur_varint(cur, "an object's range");
		if (pm_failed(cur->err))
			break;
		pm_grow(c->object, c->code.nobject, c->cap_object);
		c->object[c->code.nobject++] = o;
	}
	for (uint64_t i = 0; i < ninsn && !pm_failed(cur->err); i++)
		if (c->code.ninsn == UINT32_MAX || get_insn(cur, c, &pc) != PM_OK)
			break;
	for (uint64_t i = 0; i < nblock && !pm_failed(cur->err); i++)
		if (c->code.nblock == UINT32_MAX || get_block(cur, c, &insn) != PM_OK)
			break;
	c->code.insn = c->insn;
	c->code.block = c->block;
	c->code.object = c->object;
	if (pm_failed(cur->err))
		return PM_ERR;
	if (pm_cur_left(cur))
		return pm_fail(cur->err, pm_cur_at(cur), "%zu bytes behind the code",
			       pm_cur_left(cur));
	return PM_OK;
}

void pug_code_release(struct pug_code *c)
{
	free(c->insn);
	free(c->block);
	free(c->object);
	pm_arena_release(&c->mem);
	*c = (struct pug_code){ 0 };
}
