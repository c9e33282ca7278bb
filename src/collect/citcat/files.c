/* SPDX-License-Identifier: MIT */
/* files.c - .ims and .aes on disk */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "base/mem.h"
#include "collect/citcat/citcat.h"

struct cat_out {
	struct pm_output *o;
	struct pm_err *err;
	bool failed;
};

static void w32(struct cat_out *o, uint32_t v)
{
	v = htobe32(v);
	if (!o->failed && pm_output_write(o->o, &v, 4, o->err) != PM_OK)
		o->failed = true;
}

static enum pm_status finish(struct cat_out *o)
{
	enum pm_status st = o->failed ? PM_ERR : pm_output_finish(o->o, o->err);

	pm_output_close(o->o);
	return st;
}

enum pm_status citcat_write_ims(const struct citcat *c, const char *path, struct pm_err *err)
{
	struct cat_out o = { .err = err };
	uint8_t head[CAT_HEADER];

	err->file = path;
	o.o = pm_output_open(path, err);
	if (!o.o)
		return PM_ERR;
	cat_header_put(head, &c->hdr, "PMIMS1");
	o.failed = pm_output_write(o.o, head, sizeof head, err) != PM_OK;
	for (size_t i = 0; i < c->nmem; i++) {
		w32(&o, c->mem[i][0]);
		w32(&o, c->mem[i][1]);
	}
	for (unsigned k = 0; k < 394; k++) {
		w32(&o, IMS_STATE + 4 * k);
		w32(&o, c->state[k]);
	}
	return finish(&o);
}

static void section(struct cat_out *o, const char tag[4], size_t n, unsigned bytes)
{
	uint32_t t;

	memcpy(&t, tag, 4);
	w32(o, be32toh(t));
	w32(o, (uint32_t)n);
	w32(o, bytes);
}

enum pm_status citcat_write_aes(const struct citcat *c, const char *path, struct pm_err *err)
{
	struct cat_out o = { .err = err };

	err->file = path;
	o.o = pm_output_open(path, err);
	if (!o.o)
		return PM_ERR;
	if (pm_output_write(o.o, "AES1", 4, err) != PM_OK)
		o.failed = true;
	w32(&o, 6);
	section(&o, "INTR", c->nintr, 24);
	for (size_t i = 0; i < c->nintr; i++) {
		const struct aes_intr *r = &c->intr[i];

		w32(&o, r->branches);
		w32(&o, r->epc);
		w32(&o, r->cause);
		w32(&o, r->status);
		w32(&o, r->badvaddr);
		w32(&o, r->entryhi);
	}
	section(&o, "CNT ", c->ncnt, 4);
	for (size_t i = 0; i < c->ncnt; i++)
		w32(&o, c->cnt[i]);
	section(&o, "CAUS", c->ncaus, 8);
	for (size_t i = 0; i < c->ncaus; i++) {
		w32(&o, c->caus[i].value);
		w32(&o, c->caus[i].times);
	}
	section(&o, "IO  ", c->nio, 4);
	for (size_t i = 0; i < c->nio; i++)
		w32(&o, c->io[i]);
	section(&o, "DMA ", c->ndma, 20);
	for (size_t i = 0; i < c->ndma; i++) {
		const struct aes_dma *r = &c->dma[i];

		w32(&o, r->order);
		w32(&o, r->branches);
		w32(&o, r->direction);
		w32(&o, r->addr);
		w32(&o, r->data);
	}
	section(&o, "END ", 1, 20);
	w32(&o, c->end_branches);
	w32(&o, c->end_order);
	w32(&o, c->cut);
	w32(&o, (uint32_t)(c->end_insns >> 32));
	w32(&o, (uint32_t)c->end_insns);
	return finish(&o);
}

enum pm_status citcat_read_ims(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err)
{
	struct pm_cur in = pm_cur_init(p, n, 0, err);
	uint8_t state[NR(c->state)] = { 0 };
	uint32_t last = 0;
	bool any = false;

	if (cat_header_get(p, n, &c->hdr, "PMIMS1", err) != PM_OK)
		return PM_ERR;
	pm_cur_bytes(&in, CAT_HEADER, "header");
	while (pm_cur_left(&in)) {
		uint64_t where = pm_cur_at(&in);
		uint32_t a = pm_cur_be32(&in, "an address"), d = pm_cur_be32(&in, "its data");

		if (pm_failed(err))
			return PM_ERR;
		if (a - IMS_STATE < sizeof c->state && !(a & 3)) {
			c->state[(a - IMS_STATE) / 4] = d;
			state[(a - IMS_STATE) / 4] = 1;
			continue;
		}
		if (a >= c->hdr.ram_size || a & 3)
			return pm_fail(err, where,
				       "expected a word address in %u bytes of RAM or a state "
				       "word, found 0x%08x",
				       c->hdr.ram_size, a);
		if (any && a <= last)
			return pm_fail(err, where,
				       "expected ascending addresses, found 0x%08x behind 0x%08x",
				       a, last);
		any = true;
		last = a;
		pm_grow(c->mem, c->nmem, c->cap_mem);
		c->mem[c->nmem][0] = a;
		c->mem[c->nmem++][1] = d;
	}
	for (unsigned k = 0; k < NR(state); k++)
		if (!state[k])
			return pm_fail(err, pm_cur_at(&in),
				       "expected %zu words of the processor's state, found none "
				       "for 0x%08x",
				       NR(state), IMS_STATE + 4 * k);
	return PM_OK;
}

static bool dma_ok(const struct citcat *c, const struct aes_dma *d)
{
	uint32_t bytes = d->direction >> 8;

	return !(d->direction & 0xfe) && (bytes == 1 || bytes == 2 || bytes == 4) &&
	       (!c->hdr.ram_size ||
		(d->addr < c->hdr.ram_size && bytes <= c->hdr.ram_size - d->addr)) &&
	       !(d->addr & (bytes - 1));
}

enum aes_section { AES_INTR, AES_CNT, AES_CAUS, AES_IO, AES_DMA, AES_END };

/* One record of a section, which stands at @place; @w are its words. */
static enum pm_status read_record(struct citcat *c, enum aes_section kind, const uint32_t *w,
				  uint64_t place, struct pm_err *err)
{
	switch (kind) {
	case AES_INTR:
		pm_grow(c->intr, c->nintr, c->cap_intr);
		c->intr[c->nintr++] = (struct aes_intr){ w[0], w[1], w[2],
							 w[3], w[4], w[5] };
		break;
	case AES_CNT:
		pm_grow(c->cnt, c->ncnt, c->cap_cnt);
		c->cnt[c->ncnt++] = w[0];
		break;
	case AES_CAUS:
		if (!w[1])
			return pm_fail(err, place + 4,
				       "expected a repeat count above 0, found 0");
		pm_grow(c->caus, c->ncaus, c->cap_caus);
		c->caus[c->ncaus++] = (struct aes_caus){ w[0], w[1] };
		c->cause_reads += w[1];
		break;
	case AES_IO:
		pm_grow(c->io, c->nio, c->cap_io);
		c->io[c->nio++] = w[0];
		break;
	case AES_DMA:
		pm_grow(c->dma, c->ndma, c->cap_dma);
		c->dma[c->ndma++] = (struct aes_dma){ w[0], w[1], w[2], w[3],
						      w[4] };
		if (!dma_ok(c, &c->dma[c->ndma - 1]))
			return pm_fail(err, place,
				       "expected 1, 2 or 4 aligned bytes in RAM, "
				       "found 0x%x at 0x%08x",
				       w[2], w[3]);
		break;
	case AES_END:
		c->end_branches = w[0];
		c->end_order = w[1];
		c->cut = w[2];
		c->end_insns = (uint64_t)w[3] << 32 | w[4];
		if (c->end_insns >> 40)
			return pm_fail(err, place + 12,
				       "expected fewer than 2^40 instructions, "
				       "found %llu",
				       (unsigned long long)c->end_insns);
		break;
	}
	return PM_OK;
}

enum pm_status citcat_read_aes(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err)
{
	struct pm_cur in = pm_cur_init(p, n, 0, err);
	const uint8_t *magic = pm_cur_bytes(&in, 4, "magic");
	uint32_t sections;
	unsigned seen = 0;

	if (!magic)
		return PM_ERR;
	if (memcmp(magic, "AES1", 4))
		return pm_fail(err, 0, "expected the magic \"AES1\", found something else");
	sections = pm_cur_be32(&in, "section count");
	for (uint32_t s = 0; s < sections && !pm_failed(err); s++) {
		static const struct { char tag[5]; uint32_t bytes; } kinds[] = {
			{ "INTR", 24 }, { "CNT ", 4 }, { "CAUS", 8 }, { "IO  ", 4 }, { "DMA ", 20 },
			{ "END ", 20 },
		};
		uint64_t where = pm_cur_at(&in);
		const uint8_t *tag = pm_cur_bytes(&in, 4, "section tag");
		uint32_t count = pm_cur_be32(&in, "record count"),
			 bytes = pm_cur_be32(&in, "record size");
		unsigned k = 0;

		if (pm_failed(err))
			return PM_ERR;
		while (k < NR(kinds) && memcmp(tag, kinds[k].tag, 4))
			k++;
		if (k == NR(kinds))
			return pm_fail(err, where,
				       "expected a section tag, found 0x%02x%02x%02x%02x", tag[0],
				       tag[1], tag[2], tag[3]);
		if (seen & 1u << k)
			return pm_fail(err, where, "a second section \"%s\"", kinds[k].tag);
		seen |= 1u << k;
		if (bytes != kinds[k].bytes)
			return pm_fail(err, where + 8,
				       "expected records of %u bytes in \"%s\", found %u",
				       kinds[k].bytes, kinds[k].tag, bytes);
		if (k == AES_END && count != 1)
			return pm_fail(err, where + 4, "expected one end record, found %u", count);
		if (!pm_cur_need(&in, (uint64_t)count * bytes, "records"))
			return PM_ERR;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t place = pm_cur_at(&in);
			uint32_t w[6] = { 0 };

			for (unsigned j = 0; j < bytes / 4; j++)
				w[j] = pm_cur_be32(&in, "record");
			if (read_record(c, k, w, place, err) != PM_OK)
				return PM_ERR;
		}
	}
	if (pm_failed(err))
		return PM_ERR;
	if (!(seen & 1u << AES_END))
		return pm_fail(err, pm_cur_at(&in), "expected a section \"END \", found none");
	if (pm_cur_left(&in))
		return pm_fail(err, pm_cur_at(&in), "%zu bytes behind the last section",
			       pm_cur_left(&in));
	return PM_OK;
}

static enum pm_status with_file(const char *path, struct citcat *c, struct pm_err *err,
				enum pm_status (*f)(const uint8_t *, size_t, struct citcat *,
						    struct pm_err *))
{
	struct pm_input *in;
	const uint8_t *p;
	struct pm_buf all = { 0 };
	enum pm_status st;
	size_t got;

	err->file = path;
	in = pm_input_open(path, err);
	if (!in)
		return PM_ERR;
	while ((p = pm_input_peek(in, 1 << 16, &got, err)) && got) {
		pm_buf_add(&all, p, got);
		pm_input_skip(in, got);
	}
	st = pm_failed(err) ? PM_ERR : f(all.p ? all.p : (const uint8_t *)"", all.n, c, err);
	pm_buf_release(&all);
	pm_input_close(in);
	return st;
}

enum pm_status citcat_read(const char *ims, const char *aes, struct citcat *c, struct pm_err *err)
{
	memset(c, 0, sizeof *c);
	if (with_file(ims, c, err, citcat_read_ims) != PM_OK)
		return PM_ERR;
	return with_file(aes, c, err, citcat_read_aes);
}

void citcat_release(struct citcat *c)
{
	free(c->mem);
	free(c->intr);
	free(c->cnt);
	free(c->caus);
	free(c->io);
	free(c->dma);
	memset(c, 0, sizeof *c);
}
