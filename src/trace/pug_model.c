/* SPDX-License-Identifier: MIT */
/* pug_model.c - what reader and writer of .pug share */
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>
#include <zstd.h>

#include "base/cur.h"
#include "trace/pug.h"

const uint8_t pug_col_width[PUG_NCOL] = {
	[PUG_COL_RUN] = 1, [PUG_COL_OP] = 1, [PUG_COL_NODE] = 4, [PUG_COL_D16] = 2, [PUG_COL_D32] = 4,
	[PUG_COL_A64] = 8, [PUG_COL_VAL] = 8, [PUG_COL_NEW] = 1, [PUG_COL_SIDE] = 1,
};

const uint8_t pug_class[256] = {
	[PM_EV_NONE] = PUG_SIDE,
	[PM_EV_INSN] = PUG_STATIC, [PM_EV_BLOCK] = PUG_STATIC, [PM_EV_BRANCH] = PUG_STATIC,
	[PM_EV_LINE] = PUG_STATIC,
	[PM_EV_READ] = PUG_REF, [PM_EV_WRITE] = PUG_REF, [PM_EV_MODIFY] = PUG_REF,
	[PM_EV_REP_ITER] = PUG_OTHER, [PM_EV_REP_END] = PUG_OTHER,
	[PM_EV_UOP ] = PUG_SIDE, [PM_EV_BUS] = PUG_SIDE,
	[PM_EV_REG_READ] = PUG_SIDE, [PM_EV_REG_WRITE] = PUG_SIDE,
	[PM_EV_KERNEL ... 255] = PUG_SIDE,
};

static struct pug_node *aligned(size_t cap, struct pug_node *old, size_t n)
{
	struct pug_node *v = aligned_alloc(64, cap * sizeof *v);

	if (!v)
		abort();
	if (n)
		memcpy(v, old, n * sizeof *v);
	free(old);
	return v;
}

void pug_model_init(struct pug_model *m)
{
	*m = (struct pug_model){ 0 };
	m->cap = 4096;
	m->node = aligned(m->cap, NULL, 0);
	m->cold = pm_realloc(NULL, m->cap * sizeof *m->cold);
	m->expect = pm_realloc(NULL, sizeof *m->expect << PUG_HIST_BITS);
}

void pug_model_reset(struct pug_model *m, enum pug_level level)
{
	memset(m->expect, 0, sizeof *m->expect << PUG_HIST_BITS);
	if (level > PUG_FAST) {
		if (!m->seen)
			m->seen = pm_realloc(NULL, sizeof *m->seen << PUG_SEEN_BITS);
		memset(m->seen, 0, sizeof *m->seen << PUG_SEEN_BITS);
	}
	m->n = 1;
	m->new_id = 0;
	m->new_addr = m->bus_time = 0;
	m->node[0] = (struct pug_node){ .sig = UINT64_MAX, .class = PUG_SIDE };
	m->cold[0] = (struct pug_cold){ 0 };
}

uint32_t pug_model_add(struct pug_model *m)
{
	if (m->n == m->cap) {
		m->cap *= 2;
		m->node = aligned(m->cap, m->node, m->n);
		m->cold = pm_realloc(m->cold, m->cap * sizeof *m->cold);
	}
	m->node[m->n] = (struct pug_node){ 0 };
	m->cold[m->n] = (struct pug_cold){ 0 };
	return m->n++;
}

/* Which parent a node of that class gets behind @cur: part of what identifies it. */
uint32_t pug_parent(const struct pug_model *m, enum pug_class class, uint32_t cur)
{
	const struct pug_cold *c = m->cold + cur;

	if (class == PUG_OTHER)
		return c->home;
	if (class != PUG_REF || !c->home)
		return 0;
	return c->depth < PUG_DEPTH ? cur : c->home;
}

void pug_model_place(struct pug_model *m, uint32_t node, uint32_t cur)
{
	struct pug_cold *n = m->cold + node;
	enum pug_class class = PUG_CLASS(m->node + node);

	n->parent = pug_parent(m, class, cur);
	if (class == PUG_STATIC) {
		n->home = node;
	} else if (class == PUG_SIDE) {
		n->home = m->cold[cur].home;
		n->depth = 1;
	} else {
		n->home = m->cold[n->parent].home;
		n->depth = m->cold[n->parent].depth + 1;
	}
}

void pug_model_release(struct pug_model *m)
{
	free(m->node);
	free(m->cold);
	free(m->expect);
	free(m->seen);
	*m = (struct pug_model){ 0 };
}

void pug_put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

void pug_put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

uint32_t pug_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

uint64_t pug_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

void pug_varint(struct pm_buf *b, uint64_t v)
{
	uint8_t tmp[10];
	unsigned n = 0;

	while (v >= 0x80) {
		tmp[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	tmp[n++] = (uint8_t)v;
	pm_buf_add(b, tmp, n);
}

/* CRC-32C as iSCSI defines it: start with all ones, complement at the end. */
uint32_t pug_crc(const void *p, size_t n)
{
	uint32_t crc = 0xffffffff;
	const uint8_t *at = p;

	while (n) {
		size_t part = n < 1 << 30 ? n : 1 << 30;

		crc = crc32_iscsi((unsigned char *)at, (int)part, crc);
		at += part;
		n -= part;
	}
	return ~crc;
}

void pug_rec_put(uint8_t to[PUG_RECORD], const struct pug_rec *r)
{
	pug_put32(to, r->tag);
	pug_put32(to + 4, r->size);
	pug_put64(to + 8, r->insns);
	pug_put64(to + 16, r->events);
	pug_put64(to + 24, r->time);
	pug_put32(to + 32, r->ninsn);
	pug_put32(to + 36, 0);
	pug_put32(to + 40, r->crc);
	pug_put32(to + 44, pug_crc(to, 44));
}

bool pug_rec_get(const uint8_t from[PUG_RECORD], struct pug_rec *r)
{
	r->tag = pug_get32(from);
	r->size = pug_get32(from + 4);
	r->insns = pug_get64(from + 8);
	r->events = pug_get64(from + 16);
	r->time = pug_get64(from + 24);
	r->ninsn = pug_get32(from + 32);
	r->crc = pug_get32(from + 40);
	return pug_get32(from + 44) == pug_crc(from, 44);
}

void pug_pack(struct pm_buf *to, const void *p, size_t n, ZSTD_CCtx *z, int zlevel)
{
	size_t at = to->n, room = n > 16 ? ZSTD_compressBound(n) : 0, r = 0;
	uint8_t head[9] = { 0 };

	pm_buf_add(to, head, sizeof head);
	if (room) {
		while (to->cap - to->n < room)
			to->p = pm_realloc(to->p, to->cap = to->cap * 2 + room);
		r = ZSTD_compressCCtx(z, to->p + to->n, room, p, n, zlevel);
		if (ZSTD_isError(r) || r >= n)
			r = 0;
		to->n += r;
	}
	if (!r)
		pm_buf_add(to, p, n);
	to->p[at] = r != 0;
	pug_put32(to->p + at + 1, (uint32_t)n);
	pug_put32(to->p + at + 5, (uint32_t)(r ? r : n));
}

enum pm_status pug_unpack(struct pm_cur *c, struct pm_buf *room, const uint8_t **raw, size_t *n,
			  const char *what)
{
	uint64_t at = pm_cur_at(c);
	uint8_t method = pm_cur_u8(c, what);
	uint32_t size = pm_cur_u32(c, what), stored = pm_cur_u32(c, what);
	const uint8_t *p = pm_cur_bytes(c, stored, what);

	if (pm_failed(c->err))
		return PM_ERR;
	*n = size;
	if (!method) {
		*raw = p;
		return size == stored ? PM_OK : pm_fail(c->err, at, "%s: %u plain bytes stored as %u", what, size,
							 stored);
	}
	if (method != 1)
		return pm_fail(c->err, at, "%s: packing method %u is unknown", what, method);
	/* zstd knows the size; a block of at most 128 KiB takes at least 3 bytes */
	if (size > PUG_MAX_RAW || size / (128 << 10) > stored / 3 ||
	    ZSTD_getFrameContentSize(p, stored) != size)
		return pm_fail(c->err, at, "%s: %u bytes cannot unpack to %u", what, stored, size);
	if (room->cap < size) {
		free(room->p);
		room->p = pm_realloc(NULL, size);
		room->cap = size;
	}
	if (ZSTD_decompress(room->p, size, p, stored) != size)
		return pm_fail(c->err, at, "%s: the packed bytes are damaged", what);
	room->n = size;
	*raw = room->p;
	return PM_OK;
}

/* ---- definitions ---------------------------------------------------------------------------------- */

void pug_def_uop(struct pug_def *d, const struct pm_event *ev, const struct pm_uop *u)
{
	memset(d, 0, sizeof *d);
	d->head = ev->flags | (uint64_t)ev->size << 8;
	d->addr = ev->addr;
	d->value = ev->value;
	d->uop.pc = u->pc;
	d->uop.imm = u->imm;
	d->uop.fall = u->fall;
	d->uop.src1 = u->src1;
	d->uop.src2 = u->src2;
	d->uop.dest = u->dest;
	d->uop.flags = u->flags;
	d->uop.branch = u->branch;
	d->uop.ldst = u->ldst;
	d->uop.msize = u->msize;
	d->uop.index = u->index;
	memcpy(d->uop.macro, u->macro, strnlen(u->macro, sizeof u->macro - 1));
	memcpy(d->uop.micro, u->micro, strnlen(u->micro, sizeof u->micro - 1));
}

void pug_def_bus(struct pug_def *d, const struct pm_event *ev, const struct pm_bus *u)
{
	memset(d, 0, sizeof *d);
	d->head = ev->flags | (uint64_t)ev->size << 8;
	d->value = ev->value;
	d->bus.type = u->type;
	d->bus.lanes = u->lanes;
	d->bus.attr = u->attr;
	d->bus.agent = u->agent;
	memcpy(d->bus.raw, u->raw, 4);
}

void pug_def_put(struct pm_buf *to, enum pm_kind kind, const struct pug_def *d)
{
	const struct pm_uop *u = &d->uop;

	pug_varint(to, d->value);
	if (kind == PM_EV_BUS) {
		uint8_t b[8] = { d->bus.type, d->bus.lanes, d->bus.attr, d->bus.agent,
				 d->bus.raw[0], d->bus.raw[1], d->bus.raw[2], d->bus.raw[3] };

		pm_buf_add(to, b, sizeof b);
		return;
	}
	pug_varint(to, d->addr);
	pug_varint(to, pug_zigzag((int64_t)(u->pc - d->addr)));
	pug_varint(to, pug_zigzag((int64_t)(u->fall - u->pc)));
	pug_varint(to, pug_zigzag(u->imm));
	pug_varint(to, pug_zigzag(u->index));
	pug_varint(to, (uint16_t)(u->src1 + 1));
	pug_varint(to, (uint16_t)(u->src2 + 1));
	pug_varint(to, (uint16_t)(u->dest + 1));
	pm_buf_add(to, (uint8_t[4]){ (uint8_t)u->flags, (uint8_t)u->branch, (uint8_t)u->ldst, u->msize }, 4);
	pug_string_put(to, u->macro);
	pug_string_put(to, u->micro);
}

static void get_name(struct pm_cur *c, char *to, size_t room)
{
	uint64_t at = pm_cur_at(c), n = pm_cur_varint(c, "an opcode's name");
	const uint8_t *p;

	if (pm_failed(c->err) || !n)
		return;
	p = pm_cur_bytes(c, n - 1, "an opcode's name");
	if (!p)
		return;
	if (n > room || memchr(p, 0, n - 1))
		pm_fail(c->err, at, "an opcode's name of %llu bytes", (unsigned long long)n - 1);
	else
		memcpy(to, p, n - 1);
}

void pug_def_get(struct pm_cur *c, enum pm_kind kind, struct pug_def *d)
{
	struct pm_uop *u = &d->uop;
	const uint8_t *b;

	memset(d, 0, sizeof *d);
	d->value = pm_cur_varint(c, "a definition");
	if (kind == PM_EV_BUS) {
		b = pm_cur_bytes(c, 8, "a bus transaction's definition");
		if (!b)
			return;
		d->bus.type = b[0];
		d->bus.lanes = b[1];
		d->bus.attr = b[2];
		d->bus.agent = b[3];
		memcpy(d->bus.raw, b + 4, 4);
		return;
	}
	d->addr = pm_cur_varint(c, "a definition");
	u->pc = d->addr + (uint64_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->fall = u->pc + (uint64_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->imm = pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->index = (int32_t)pug_unzigzag(pm_cur_varint(c, "a micro-op"));
	u->src1 = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	u->src2 = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	u->dest = (int16_t)(pm_cur_varint(c, "a micro-op") - 1);
	b = pm_cur_bytes(c, 4, "a micro-op");
	if (!b)
		return;
	u->flags = (char)b[0];
	u->branch = (char)b[1];
	u->ldst = (char)b[2];
	u->msize = b[3];
	get_name(c, u->macro, sizeof u->macro);
	get_name(c, u->micro, sizeof u->micro);
}
