/* SPDX-License-Identifier: MIT */
/* fmt_cat_x86.c - cache-filtered address traces of x86 guests, as `pugmark machine run --guest
 * --cat` writes them (read only; the layout is in cat_x86.h)
 *
 * A transaction becomes PM_EV_BUS and beside it the reference, line fetch or device access that it
 * stands for. The clock is the number of instructions completed. */
#include <stdlib.h>

#include "trace/cat_x86.h"
#include "trace/text.h"

struct cat_x86_reader {
	struct catx_reader *cat;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t now;
	bool said;			/* the time, at the first one */
};

static void *rd_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err)
{
	struct cat_x86_reader *r;
	struct catx_reader *cat;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	cat = catx_open_input(in, err);
	if (!cat)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->cat = cat;
	r->stream.name = "bus";
	*facts = CATX_FACTS;
	return r;
}

static void rd_close(void *self)
{
	struct cat_x86_reader *r = self;

	if (!r)
		return;
	catx_reader_close(r->cat);
	pm_builder_release(&r->b);
	free(r);
}

static enum pm_status rd_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct cat_x86_reader *r = self;
	struct pm_event e;
	struct pm_bus u;

	pm_builder_reset(&r->b, &r->stream, NULL);
	pm_bus_room(&r->b, PM_BATCH_EVENTS);
	while (r->b.b.n < PM_BATCH_EVENTS) {
		enum pm_status st = catx_next(r->cat, &e, &u, err);

		if (st == PM_ERR)
			return st;
		if (st == PM_END)
			break;
		r->now += u.time == UINT64_MAX ? 0 : u.time;
		if (u.time || !r->said)
			pm_ev_put(&r->b, PM_EV_TIME, 0, 0, 0, r->now);
		r->said = true;
		*pm_bus_put(&r->b, e.addr, e.size, u.time) = u;
		r->b.ev[r->b.b.n - 1].flags = e.flags;
		pm_bus_access(&r->b, u.type, e.addr, e.size);
	}
	if (!r->b.b.n)
		return PM_END;
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

static int probe(const uint8_t *head, size_t n)
{
	return catx_is(head, n) && !memcmp(head, "PMCATX1", 8) ? 64 : 0;
}

static const struct pm_reader_ops read_ops = { rd_open, rd_next, rd_close };

const struct pm_format pm_fmt_cat_x86 = {
	.name = "cat-x86", .about = "the bus of an x86 guest, for CITCAT",
	.plural = "cache-filtered address traces of x86 guests",
	.has = CATX_FACTS, .needs = 0, .probe = probe, .read = &read_ops,
};
