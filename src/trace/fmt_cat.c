/* SPDX-License-Identifier: MIT */
/* fmt_cat.c - cache-filtered address traces with data, as the simulated R4400's bus monitor writes
 * them (read only; the layout is in cat.h)
 *
 * A transaction becomes PM_EV_BUS and beside it the reference, line fetch, DMA or device access
 * that it stands for. The words of a line are one transaction of the line's size; `cat:words` gives
 * every word as a transaction of its own, with its value. Begin and end are markers, and so is what
 * the processor reports in sideband mode. A trace cut off inside a frame ends with PM_EV_LOST. */
#include <stdlib.h>

#include "trace/cat.h"
#include "trace/text.h"

struct cat_file_reader {
	struct cat_reader *cat;
	struct cat_header h;
	struct pm_builder b;
	struct pm_stream stream;
	bool words, cut_told;
	struct cat_rec line;		/* first word of the line being gathered */
	unsigned n;			/* bytes of it; 0: none */
};

#define FACTS	(PM_HAS_BUS | PM_HAS_PHYS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LANES)

static void *rd_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err)
{
	struct cat_header h;
	struct cat_reader *cat;
	struct cat_file_reader *r;
	char buf[8];

	if (pm_fmt_options_check(o->options, "words", err) != PM_OK)
		return NULL;
	cat = cat_open_input(in, &h, err);
	if (!cat)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->cat = cat;
	r->h = h;
	r->stream.name = "bus";
	r->words = pm_fmt_option(o->options, "words", buf, sizeof buf);
	*facts = FACTS | (r->words ? PM_HAS_VALUES : 0);
	return r;
}

static void rd_close(void *self)
{
	struct cat_file_reader *r = self;

	if (!r)
		return;
	cat_reader_close(r->cat);
	pm_builder_release(&r->b);
	free(r);
}

static bool is_line(unsigned kind)
{
	return kind == CAT_IFETCH || kind == CAT_FILL || kind == CAT_WRITEBACK;
}

static unsigned line_bytes(const struct cat_file_reader *r, unsigned kind)
{
	return r->words		    ? 4
	       : r->h.scache	    ? r->h.sline
	       : kind == CAT_IFETCH ? r->h.iline
				    : r->h.dline;
}

static void put_bus(struct cat_file_reader *r, const struct cat_rec *rec, enum pm_bus_type type,
		    unsigned size, uint64_t data)
{
	struct pm_bus *u = pm_builder_bus(&r->b);
	struct pm_event *e = &r->b.ev[r->b.b.n - 1];

	u->type = (uint8_t)type;
	u->attr = is_line(rec->kind) ? 3 : 0;
	u->agent = rec->kind == CAT_DMA_READ || rec->kind == CAT_DMA_WRITE;
	u->lanes = size < 8 ? (uint8_t)~(((1u << size) - 1) << (rec->addr & 7)) : 0;
	u->data = data;
	e->addr = rec->addr;
	e->size = (uint16_t)size;
	e->value = data;
}

static void flush_line(struct cat_file_reader *r)
{
	static const uint8_t bus[] = {
		[CAT_IFETCH] = PM_BUS_FETCH, [CAT_FILL] = PM_BUS_READ,
		[CAT_WRITEBACK] = PM_BUS_WRITEBACK,
	};
	static const uint8_t ref[] = {
		[CAT_IFETCH] = PM_EV_LINE, [CAT_FILL] = PM_EV_READ, [CAT_WRITEBACK] = PM_EV_WRITE,
	};
	uint64_t value = r->words ? r->line.data : 0;

	if (!r->n)
		return;
	put_bus(r, &r->line, bus[r->line.kind], r->n, value);
	pm_ev_add(&r->b, ref[r->line.kind], 0, r->n, r->line.addr, value);
	r->n = 0;
}

static void marker(struct cat_file_reader *r, const struct cat_rec *rec, const char *name)
{
	struct pm_event *e;

	pm_builder_rare(&r->b, PM_EV_MARKER, name);
	e = &r->b.ev[r->b.b.n - 1];
	e->addr = rec->addr;
	e->value = rec->data;
}

static void add(struct cat_file_reader *r, const struct cat_rec *rec)
{
	bool write = rec->kind == CAT_WRITE || rec->kind == CAT_DMA_WRITE,
	     ram = rec->addr < r->h.ram_size;

	switch (rec->kind) {
	case CAT_READ: case CAT_WRITE:
		put_bus(r, rec,
			ram	? write ? PM_BUS_WRITE : PM_BUS_READ
			: write ? PM_BUS_IO_WRITE
				: PM_BUS_IO_READ,
			rec->bytes, rec->data);
		if (ram)
			pm_ev_add(&r->b, write ? PM_EV_WRITE : PM_EV_READ, PM_REF_UNCACHED,
				  rec->bytes, rec->addr, rec->data);
		else
			pm_ev_add(&r->b, PM_EV_DEVICE, write ? PM_REF_WRITE : 0, rec->bytes,
				  rec->addr, rec->data);
		break;
	case CAT_DMA_READ: case CAT_DMA_WRITE:
		put_bus(r, rec, write ? PM_BUS_WRITE : PM_BUS_READ, rec->bytes, rec->data);
		pm_ev_add(&r->b, PM_EV_DMA, write ? PM_REF_WRITE : 0, rec->bytes, rec->addr,
			  rec->data);
		break;
	default:
		marker(r, rec, cat_kind_names[rec->kind]);
	}
}

static enum pm_status rd_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct cat_file_reader *r = self;
	enum pm_status st = PM_OK;
	struct cat_rec rec;

	pm_builder_reset(&r->b, &r->stream, NULL);
	while (r->b.b.n < PM_BATCH_EVENTS) {
		st = cat_next(r->cat, &rec, err);
		if (st != PM_OK)
			break;
		if (r->n && (rec.kind != r->line.kind || rec.addr != r->line.addr + r->n))
			flush_line(r);
		if (!is_line(rec.kind)) {
			add(r, &rec);
			continue;
		}
		if (!r->n)
			r->line = rec;
		r->n += 4;
		if (r->n >= line_bytes(r, rec.kind))
			flush_line(r);
	}
	if (st == PM_ERR)
		return st;
	if (st == PM_END) {
		flush_line(r);
		if (cat_was_cut(r->cat) && !r->cut_told) {
			pm_ev_add(&r->b, PM_EV_LOST, 0, 0, 0, 1);
			r->cut_told = true;
		}
	}
	if (!r->b.b.n)
		return PM_END;
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

static int probe(const uint8_t *head, size_t n)
{
	return n >= 8 && !memcmp(head, "PMCAT1\0", 8) ? 64 : 0;
}

static const struct pm_reader_ops read_ops = { rd_open, rd_next, rd_close };

const struct pm_format pm_fmt_cat = {
	.name = "cat", .about = "the R4400 machine's bus with data, for CITCAT",
	.options = "words  reading: instructions and values, too",
	.plural = "cache-filtered address traces", .suffixes = ".cat",
	.has = FACTS | PM_HAS_VALUES, .needs = 0, .probe = probe, .read = &read_ops,
};
