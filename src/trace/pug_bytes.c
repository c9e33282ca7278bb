/* SPDX-License-Identifier: MIT */
/* pug_bytes.c - integers, checksums, record headers, packing: what reader and writer of .pug
 * share */
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>
#include <zstd.h>

#include "base/cur.h"
#include "trace/pug.h"

const uint8_t pug_col_width[PUG_NCOL] = {
	[PUG_COL_RUN] = 1, [PUG_COL_OP] = 1, [PUG_COL_PHRASE] = 4, [PUG_COL_MASK] = 1,
	[PUG_COL_HOW] = 1, [PUG_COL_D16] = 2, [PUG_COL_D32] = 4, [PUG_COL_A64] = 8,
	[PUG_COL_VAL] = 8, [PUG_COL_NEW] = 1,
	[PUG_COL_SIDE] = 1,
};

const uint8_t pug_class[256] = {
	[PM_EV_NONE] = PUG_SIDE,
	[PM_EV_INSN] = PUG_STATIC, [PM_EV_BLOCK] = PUG_STATIC, [PM_EV_BRANCH] = PUG_STATIC,
	[PM_EV_LINE] = PUG_STATIC,
	[PM_EV_READ] = PUG_REF, [PM_EV_WRITE] = PUG_REF, [PM_EV_MODIFY] = PUG_REF,
	[PM_EV_REP_ITER] = PUG_OTHER, [PM_EV_REP_END] = PUG_OTHER,
	[PM_EV_UOP] = PUG_SIDE, [PM_EV_BUS] = PUG_SIDE,
	[PM_EV_REG_READ] = PUG_SIDE, [PM_EV_REG_WRITE] = PUG_SIDE,
	[PM_EV_KERNEL ... 255] = PUG_SIDE,
};

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
		return size == stored ? PM_OK
				      : pm_fail(c->err, at, "%s: %u plain bytes stored as %u", what,
						size, stored);
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
