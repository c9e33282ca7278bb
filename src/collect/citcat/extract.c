/* SPDX-License-Identifier: MIT */
/* extract.c - one pass over a .cat: what memory and processor were like, and what happened to them
 *
 * Memory before the trace is known from its first use: the first time a word is seen on the bus, if
 * it is read there, what is read is what was there. A word that is written first needs no initial
 * value. What happens between begin and go (the driver's work, which is not replayed) says
 * nothing about the memory that the replayed part finds later, so it is skipped. */
#include "collect/citcat/citcat.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/window.h"

enum { GO_TICKS = 1 };		/* instructions from the write of Wired to behind the go store */

struct pass {
	struct citcat *c;
	/* by word of RAM: bits 3:0 bytes (ascending) whose initial value is settled or not needed;
	 * bit 4: goes into the .ims */
	uint8_t *word;
	uint32_t *value;	/* initial values */
	bool begun, gone, ended;
	bool high[48];		/* a high half of EntryHi was reported */
	uint32_t go_branches;
	uint64_t order;		/* processor transactions behind go */
	uint32_t group;		/* branch count of the last of them, */
	uint64_t group_order;	/* ... and those before the first that had it */
	struct aes_intr in;	/* report being collected */
	bool in_open;
	uint64_t in_order;	/* as group_order, where it began */
	uint32_t line_left;	/* words of the line transaction that still come */
	uint32_t line_next;
	uint8_t line_kind;
};

/* Bytes @addr .. of a word as a mask of its four, and how far their number is shifted in the
 * word. */
static uint8_t lanes(const struct pass *p, uint32_t addr, unsigned bytes, unsigned *shift)
{
	*shift = 8 * (p->c->hdr.big_endian ? 4 - bytes - (addr & 3) : (addr & 3));
	return (uint8_t)(((1u << bytes) - 1) << (addr & 3));
}

/* Read on the bus: bytes that nothing is known of had this value from the start. */
static void seen(struct pass *p, uint32_t addr, uint32_t data, unsigned bytes)
{
	uint32_t w = addr / 4;
	unsigned shift;
	uint8_t m = lanes(p, addr, bytes, &shift);

	if (!p->gone || addr >= p->c->hdr.ram_size || (addr & 3) + bytes > 4 || !(m & ~p->word[w]))
		return;
	data <<= shift;
	for (unsigned i = 0; i < 4; i++)
		if (m & ~p->word[w] & 1u << i) {
			uint32_t mask = 0xffu << 8 * (p->c->hdr.big_endian ? 3 - i : i);

			p->value[w] = (p->value[w] & ~mask) | (data & mask);
		}
	p->word[w] |= m | 0x10;
}

static void written(struct pass *p, uint32_t addr, unsigned bytes)
{
	unsigned shift;

	if (p->gone && addr < p->c->hdr.ram_size && (addr & 3) + bytes <= 4)
		p->word[addr / 4] |= lanes(p, addr, bytes, &shift);
}

static void interrupt(struct pass *p)
{
	struct citcat *c = p->c;

	if ((p->in.cause >> 2 & 31) == 0) {
		pm_grow(c->intr, c->nintr, c->cap_intr);
		c->intr[c->nintr++] = p->in;
	}
}

static void cause_read(struct pass *p, uint32_t v)
{
	struct citcat *c = p->c;

	c->cause_reads++;
	if (c->ncaus && c->caus[c->ncaus - 1].value == v &&
	    c->caus[c->ncaus - 1].times < UINT32_MAX) {
		c->caus[c->ncaus - 1].times++;
		return;
	}
	pm_grow(c->caus, c->ncaus, c->cap_caus);
	c->caus[c->ncaus++] = (struct aes_caus){ v, 1 };
}

/* Transactions before the first one with @r's branch count. */
static uint64_t before_group(const struct pass *p, const struct cat_rec *r)
{
	return p->order && r->branches == p->group ? p->group_order : p->order;
}

/* A store to the monitor's window, or the processor's own report (@sideband). */
static void window(struct pass *p, const struct cat_rec *r, bool sideband)
{
	struct citcat *c = p->c;
	uint32_t off = r->addr - WINDOW_BASE, k = (off - WIN_STATE) / 4;

	if (off >= WIN_STATE && off < WIN_STATE + 4 * WINDOW_STATE_WORDS) {
		if (!p->gone)
			c->state[k] = r->data;
		if (!p->gone && k >= WINDOW_TLB_HIGH)
			p->high[k - WINDOW_TLB_HIGH] = true;
		return;
	}
	switch (off) {
	case WIN_GO:
		if (p->gone)
			break;
		p->gone = true;
		p->go_branches = r->branches;
		if (!sideband) {
			uint32_t wired = c->state[64 + 6] & 63;

			c->state[393] = r->branches;
			if (wired > 47)
				wired = 47;
			/* the driver wrote Wired directly before: Random is known */
			c->state[64 + 1] = 47 - GO_TICKS % (48 - wired);
		}
		break;
	case WIN_EPC:
		p->in = (struct aes_intr){ .branches = r->branches, .epc = r->data };
		p->in_open = true;
		p->in_order = before_group(p, r);
		break;
	case WIN_STATUS: p->in.status = r->data; break;
	case WIN_BADVADDR: p->in.badvaddr = r->data; break;
	case WIN_ENTRYHI: p->in.entryhi = r->data; break;
	case WIN_CAUSE:
		p->in.cause = r->data;
		if (p->gone) {
			if (p->in_open)
				interrupt(p);
			if (!sideband)
				cause_read(p, r->data);
		}
		p->in_open = false;
		break;
	case WIN_CAUSE_READ:
		if (p->gone)
			cause_read(p, r->data);
		break;
	case WIN_COUNT:
		if (p->gone) {
			pm_grow(c->cnt, c->ncnt, c->cap_cnt);
			c->cnt[c->ncnt++] = r->data;
		}
		break;
	}
}

static void io(struct pass *p, uint32_t data)
{
	struct citcat *c = p->c;

	pm_grow(c->io, c->nio, c->cap_io);
	c->io[c->nio++] = data;
}

/* A transaction of the processor behind go begins. */
static void count_order(struct pass *p, const struct cat_rec *r)
{
	p->group_order = before_group(p, r);
	p->group = r->branches;
	p->order++;
}

/* How far a trace without an end can be replayed. An interrupt after the last branch may not have
 * been reported, or not whole: then what followed it is the handler's. */
static uint64_t certain_order(const struct pass *p)
{
	return p->in_open ? p->in_order : p->group_order;
}

static void one(struct pass *p, const struct cat_rec *r)
{
	struct citcat *c = p->c;
	bool in_ram = r->addr < c->hdr.ram_size, line = false;
	uint32_t words;

	switch (r->kind) {
	case CAT_IFETCH: case CAT_FILL: case CAT_WRITEBACK:
		line = true;
		if (r->kind == CAT_WRITEBACK)
			written(p, r->addr, 4);
		else
			seen(p, r->addr, r->data, 4);
		break;
	case CAT_READ:
		if (!in_ram) {
			if (p->gone)
				io(p, r->data);
		} else {
			seen(p, r->addr, r->data, r->bytes);
		}
		break;
	case CAT_WRITE:
		if (r->addr - WINDOW_BASE < WINDOW_SIZE && !c->hdr.sideband) {
			bool was = p->gone;

			window(p, r, false);
			if (!was)
				return;			/* the go store itself included */
		} else if (!in_ram) {
			if (p->gone)
				io(p, r->data);
		} else {
			written(p, r->addr, r->bytes);
		}
		break;
	case CAT_REPORT:
		if (p->gone) {			/* has its place among the transactions */
			p->line_left = 0;
			count_order(p, r);
		}
		window(p, r, true);
		return;
	case CAT_DMA_READ: case CAT_DMA_WRITE:
		if (r->kind == CAT_DMA_WRITE)
			written(p, r->addr, r->bytes);
		else
			seen(p, r->addr, r->data, r->bytes);
		if (p->gone) {
			pm_grow(c->dma, c->ndma, c->cap_dma);
			c->dma[c->ndma++] = (struct aes_dma){
				(uint32_t)p->order, r->branches,
				(r->kind == CAT_DMA_WRITE) | (uint32_t)r->bytes << 8, r->addr,
				r->data,
			};
		}
		return;
	default:
		return;
	}
	if (!p->gone)
		return;
	/* a line is one transaction, and so is each half of an uncached doubleword */
	if (line) {
		if (p->line_left && r->kind == p->line_kind && r->addr == p->line_next) {
			p->line_left--;
			p->line_next += 4;
			return;
		}
		words = (c->hdr.scache		 ? c->hdr.sline
			 : r->kind == CAT_IFETCH ? c->hdr.iline
						 : c->hdr.dline) /
			4;
		p->line_kind = r->kind;
		p->line_left = words - 1;
		p->line_next = r->addr + 4;
	} else {
		p->line_left = 0;
	}
	count_order(p, r);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static uint64_t identity_begin(const struct cat_header *h)
{
	uint8_t head[CAT_HEADER];
	uint64_t id = 1, v;

	cat_header_put(head, h, "PMCAT1");
	for (unsigned i = 0; i < CAT_HEADER; i += 8) {
		memcpy(&v, head + i, 8);
		id = mix(id, le64toh(v));
	}
	return id;
}

static uint64_t identity_add(uint64_t id, const struct cat_rec *r)
{
	id = mix(id, (uint64_t)r->kind << 40 | (uint64_t)r->bytes << 32 | r->branches);
	return mix(id, (uint64_t)r->addr << 32 | r->data);
}

/* 0 stands for files that have none. */
static uint64_t identity_end(uint64_t id)
{
	return id ? id : 1;
}

enum pm_status citcat_identity(const char *cat, uint64_t *id, struct pm_err *err)
{
	struct cat_header h;
	struct cat_reader *r;
	struct cat_rec rec;
	enum pm_status st;

	err->file = cat;
	r = cat_open(cat, &h, err);
	if (!r)
		return PM_ERR;
	*id = identity_begin(&h);
	while ((st = cat_next(r, &rec, err)) == PM_OK)
		*id = identity_add(*id, &rec);
	*id = identity_end(*id);
	cat_reader_close(r);
	return st == PM_END ? PM_OK : PM_ERR;
}

/* A 32-bit guest's driver does not report them. */
static void tlb_high(struct pass *p)
{
	for (unsigned i = 0; i < 48; i++)
		if (!p->high[i])
			p->c->state[WINDOW_TLB_HIGH + i] =
				citcat_high(p->c->state[201 + 4 * i]);
}

enum pm_status citcat_extract(const char *path, struct citcat *c, struct pm_err *err)
{
	struct pass p = { .c = c };
	struct cat_reader *r;
	struct cat_rec rec;
	enum pm_status st;
	uint32_t words;
	uint64_t id;

	memset(c, 0, sizeof *c);
	citcat_power_on(c);
	err->file = path;
	r = cat_open(path, &c->hdr, err);
	if (!r)
		return PM_ERR;
	words = c->hdr.ram_size / 4;
	p.word = pm_alloc(words);
	p.value = pm_alloc((size_t)words * 4);
	id = identity_begin(&c->hdr);
	while ((st = cat_next(r, &rec, err)) == PM_OK) {
		id = identity_add(id, &rec);
		if (p.ended)
			continue;
		if (rec.kind == CAT_BEGIN) {
			p.begun = true;
			continue;
		}
		if (!p.begun) {
			st = pm_fail(err, CAT_HEADER, "expected a begin record first, found %s",
				     cat_kind_names[rec.kind]);
			break;
		}
		if (rec.kind == CAT_END) {
			p.ended = true;
			c->end_branches = rec.branches;
			c->end_insns = (uint64_t)rec.addr << 32 | rec.data;
			continue;
		}
		c->end_branches = rec.branches;
		one(&p, &rec);
	}
	if (st == PM_END) {
		c->cut = !p.ended;
		st = PM_OK;
		if (!p.begun)
			st = pm_fail(err, CAT_HEADER, "expected a begin record, found none");
		else if (!p.gone)
			st = pm_fail(err, CAT_HEADER,
				     "expected the processor's state (a go store), found none");
	}
	c->identity = identity_end(id);
	tlb_high(&p);
	c->end_order = (uint32_t)(c->cut ? certain_order(&p) : p.order);
	for (uint32_t w = 0; st == PM_OK && w < words; w++)
		if (p.word[w] & 0x10) {
			pm_grow(c->mem, c->nmem, c->cap_mem);
			c->mem[c->nmem][0] = w * 4;
			c->mem[c->nmem++][1] = p.value[w];
		}
	cat_reader_close(r);
	free(p.word);
	free(p.value);
	return st;
}
