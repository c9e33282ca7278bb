/* SPDX-License-Identifier: MIT */
/* files.c - .ims and .aes on disk */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "base/mem.h"
#include "collect/citcat/citcat.h"
#include "collect/machine/window.h"

struct cat_out {
	struct pm_buf to;
	uint64_t sum;
};

/* Each step can be undone, so no change of one word goes unnoticed. */
static uint64_t sum_word(uint64_t sum, uint32_t v)
{
	sum = (sum ^ v) * 0x9e3779b97f4a7c15ULL;
	return sum ^ sum >> 32;
}

static void w32(struct cat_out *o, uint32_t v)
{
	o->sum = sum_word(o->sum, v);
	v = htobe32(v);
	pm_buf_add(&o->to, &v, 4);
}

static void w64(struct cat_out *o, uint64_t v)
{
	w32(o, (uint32_t)(v >> 32));
	w32(o, (uint32_t)v);
}

enum { AT_IDENTITY = 44 };		/* in the header of an .ims */

static uint32_t word_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

struct pm_buf citcat_ims(const struct citcat *c)
{
	struct cat_out o = { 0 };
	uint8_t head[CAT_HEADER];

	cat_header_put(head, &c->hdr, "PMIMS2");
	for (unsigned i = 0; i < CAT_HEADER; i += 4)
		w32(&o, i == AT_IDENTITY       ? (uint32_t)(c->identity >> 32)
			: i == AT_IDENTITY + 4 ? (uint32_t)c->identity
					       : word_at(head + i));
	for (size_t i = 0; i < c->nmem; i++) {
		w32(&o, c->mem[i][0]);
		w32(&o, c->mem[i][1]);
	}
	for (unsigned k = 0; k < (c->hdr.r2 ? WINDOW_STATE_WORDS : WINDOW_R2); k++) {
		w32(&o, IMS_STATE + 4 * k);
		w32(&o, c->state[k]);
	}
	w64(&o, o.sum);
	return o.to;
}

static void section(struct cat_out *o, const char tag[4], size_t n, unsigned bytes)
{
	uint32_t t;

	memcpy(&t, tag, 4);
	w32(o, be32toh(t));
	w32(o, (uint32_t)n);
	w32(o, bytes);
}

#define RUN_MAX	65535u			/* transfers of one run */

/* Does @b go on where @a ends? */
static bool goes_on(const struct aes_dma *a, const struct aes_dma *b)
{
	return b->order == a->order && b->branches == a->branches &&
	       b->direction == a->direction && b->addr == a->addr + (a->direction >> 8);
}

uint32_t *citcat_dma(const struct citcat *c, size_t *bytes)
{
	uint32_t *w = pm_alloc((c->ndma * 5 + 1) * 4), *p = w, *run = NULL;

	for (size_t i = 0; i < c->ndma; i++) {
		const struct aes_dma *d = &c->dma[i];

		if (!run || run[2] >> 16 == RUN_MAX || !goes_on(d - 1, d)) {
			run = p;
			*p++ = d->order;
			*p++ = d->branches;
			*p++ = d->direction;
			*p++ = d->addr;
		}
		run[2] += 1u << 16;
		*p++ = d->data;
	}
	*bytes = (size_t)(p - w) * 4;
	return w;
}

static void write_dma(struct cat_out *o, const struct citcat *c)
{
	size_t bytes;
	uint32_t *w = citcat_dma(c, &bytes);

	section(o, "DMA ", bytes / 4, 4);
	for (size_t i = 0; i < bytes / 4; i++)
		w32(o, w[i]);
	free(w);
}

struct pm_buf citcat_aes(const struct citcat *c)
{
	struct cat_out o = { 0 };

	w32(&o, word_at((const uint8_t *)"AES2"));
	w64(&o, c->identity);
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
	write_dma(&o, c);
	section(&o, "END ", 1, 20);
	w32(&o, c->end_branches);
	w32(&o, c->end_order);
	w32(&o, c->cut);
	w32(&o, (uint32_t)(c->end_insns >> 32));
	w32(&o, (uint32_t)c->end_insns);
	w64(&o, o.sum);
	return o.to;
}

enum pm_status citcat_write(const char *path, struct pm_buf *all, struct pm_err *err)
{
	struct pm_output *o;
	enum pm_status st = PM_ERR;

	err->file = path;
	o = pm_output_open(path, err);
	if (o && pm_output_write(o, all->p, all->n, err) == PM_OK)
		st = pm_output_finish(o, err);
	pm_output_close(o);
	pm_buf_release(all);
	return st;
}

/* Is the sum at the end of all @n bytes that of the words before it? */
static enum pm_status check_sum(const uint8_t *p, size_t n, struct pm_err *err)
{
	uint64_t sum = 0;

	if (n < 8 || n % 4)
		return pm_fail(err, n - n % 4,
			       "expected whole words and a checksum, found the end");
	for (size_t i = 0; i < n - 8; i += 4)
		sum = sum_word(sum, word_at(p + i));
	if (sum != ((uint64_t)word_at(p + n - 8) << 32 | word_at(p + n - 4)))
		return pm_fail(err, n - 8, "the checksum is wrong: the file is damaged or cut off");
	return PM_OK;
}

enum pm_status citcat_read_ims(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err)
{
	bool old = n >= 8 && !memcmp(p, "PMIMS1\0", 8), any = false;
	struct pm_cur in = pm_cur_init(p, old || n < 8 ? n : n - 8, 0, err);
	const unsigned words = old ? WINDOW_TLB_HIGH : WINDOW_R2;	/* there must be */
	uint8_t state[NR(c->state)] = { 0 };
	uint32_t last = 0;

	if (cat_header_get(p, n, &c->hdr, old ? "PMIMS1" : "PMIMS2", err) != PM_OK ||
	    (!old && check_sum(p, n, err) != PM_OK))
		return PM_ERR;
	c->identity = old ? 0 : (uint64_t)word_at(p + AT_IDENTITY) << 32 |
				word_at(p + AT_IDENTITY + 4);
	citcat_power_on(c);
	pm_cur_bytes(&in, CAT_HEADER, "header");
	while (pm_cur_left(&in)) {
		uint64_t where = pm_cur_at(&in);
		uint32_t a = pm_cur_be32(&in, "an address"), d = pm_cur_be32(&in, "its data");

		if (pm_failed(err))
			return PM_ERR;
		if (a - IMS_STATE < NR(state) * 4 && !(a & 3)) {
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
	for (unsigned k = 0; k < words; k++)
		if (!state[k])
			return pm_fail(err, pm_cur_at(&in),
				       "expected %u words of the processor's state, found none "
				       "for 0x%08x",
				       words, IMS_STATE + 4 * k);
	for (unsigned k = words; k < WINDOW_R2; k++)	/* EntryHi is 32 bits, sign-extended */
		c->state[k] = citcat_high(c->state[201 + 4 * (k - words)]);
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

/* One transfer, whose record stands at @place. */
static enum pm_status add_dma(struct citcat *c, struct aes_dma d, uint64_t place,
			      struct pm_err *err)
{
	if (!dma_ok(c, &d))
		return pm_fail(err, place,
			       "expected 1, 2 or 4 aligned bytes in RAM, found 0x%x at 0x%08x",
			       d.direction, d.addr);
	pm_grow(c->dma, c->ndma, c->cap_dma);
	c->dma[c->ndma++] = d;
	return PM_OK;
}

/* Section DMA of version 2. */
static enum pm_status read_runs(struct pm_cur *in, struct citcat *c, uint32_t words)
{
	while (words) {
		uint64_t place = pm_cur_at(in);
		struct aes_dma d = { pm_cur_be32(in, "a run"), pm_cur_be32(in, "a run"),
				     pm_cur_be32(in, "a run"), pm_cur_be32(in, "a run"), 0 };
		uint32_t n = d.direction >> 16;

		if (pm_failed(in->err))
			return PM_ERR;
		if (!n || words < 4 || n > words - 4)
			return pm_fail(in->err, place + 8,
				       "expected a run of 1 to %u transfers, found %u",
				       words < 4 ? 0 : words - 4, n);
		d.direction &= 0xffff;
		words -= 4 + n;
		for (; n; n--) {
			d.data = pm_cur_be32(in, "data");
			if (add_dma(c, d, place, in->err) != PM_OK)
				return PM_ERR;
			d.addr += d.direction >> 8;
		}
	}
	return PM_OK;
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
		return add_dma(c, (struct aes_dma){ w[0], w[1], w[2], w[3], w[4] }, place, err);
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

/* One section. *seen: which have been, by bit. */
static enum pm_status read_section(struct pm_cur *in, struct citcat *c, bool old, unsigned *seen)
{
	const struct { char tag[5]; uint32_t bytes; } kinds[] = {
		{ "INTR", 24 }, { "CNT ", 4 }, { "CAUS", 8 }, { "IO  ", 4 },
		{ "DMA ", old ? 20 : 4 }, { "END ", 20 },
	};
	uint64_t where = pm_cur_at(in);
	const uint8_t *tag = pm_cur_bytes(in, 4, "section tag");
	uint32_t count = pm_cur_be32(in, "record count"), bytes = pm_cur_be32(in, "record size");
	unsigned k = 0;

	if (pm_failed(in->err))
		return PM_ERR;
	while (k < NR(kinds) && memcmp(tag, kinds[k].tag, 4))
		k++;
	if (k == NR(kinds))
		return pm_fail(in->err, where, "expected a section tag, found 0x%02x%02x%02x%02x",
			       tag[0], tag[1], tag[2], tag[3]);
	if (*seen & 1u << k)
		return pm_fail(in->err, where, "a second section \"%s\"", kinds[k].tag);
	*seen |= 1u << k;
	if (bytes != kinds[k].bytes)
		return pm_fail(in->err, where + 8,
			       "expected records of %u bytes in \"%s\", found %u",
			       kinds[k].bytes, kinds[k].tag, bytes);
	if (k == AES_END && count != 1)
		return pm_fail(in->err, where + 4, "expected one end record, found %u", count);
	if (!pm_cur_need(in, (uint64_t)count * bytes, "records"))
		return PM_ERR;
	if (k == AES_DMA && !old)
		return read_runs(in, c, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t place = pm_cur_at(in);
		uint32_t w[6] = { 0 };

		for (unsigned j = 0; j < bytes / 4; j++)
			w[j] = pm_cur_be32(in, "record");
		if (read_record(c, k, w, place, in->err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

enum pm_status citcat_read_aes(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err)
{
	bool old = n >= 4 && !memcmp(p, "AES1", 4);
	struct pm_cur in = pm_cur_init(p, old || n < 8 ? n : n - 8, 0, err);
	const uint8_t *magic = pm_cur_bytes(&in, 4, "magic");
	uint64_t identity = 0;
	uint32_t sections;
	unsigned seen = 0;

	if (!magic)
		return PM_ERR;
	if (!old && memcmp(magic, "AES2", 4))
		return pm_fail(err, 0, "expected the magic \"AES2\", found something else");
	if (!old) {
		if (check_sum(p, n, err) != PM_OK)
			return PM_ERR;
		identity = pm_cur_be64(&in, "identity");
	}
	sections = pm_cur_be32(&in, "section count");
	for (uint32_t s = 0; s < sections && !pm_failed(err); s++)
		if (read_section(&in, c, old, &seen) != PM_OK)
			return PM_ERR;
	if (pm_failed(err))
		return PM_ERR;
	if (!(seen & 1u << AES_END))
		return pm_fail(err, pm_cur_at(&in), "expected a section \"END \", found none");
	if (pm_cur_left(&in))
		return pm_fail(err, pm_cur_at(&in), "%zu bytes behind the last section",
			       pm_cur_left(&in));
	/* an .ims of version 1 goes with anything */
	if (identity && c->identity && identity != c->identity)
		return pm_fail(err, 4,
			       "it is not from the .cat that the .ims is from: its identity is "
			       "%016llx, that of the .ims is %016llx",
			       (unsigned long long)identity, (unsigned long long)c->identity);
	c->identity = c->identity ? c->identity : identity;
	return PM_OK;
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
