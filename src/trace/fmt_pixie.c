/* SPDX-License-Identifier: MIT */
/* fmt_pixie.c - what IRIX's `pixie -idtrace` wrote: u32 big-endian words (read only)
 *
 *   bits 31-28 count, 27-24 type, 23-0 address
 *   type 0 lw 1 ld 2 sw 3 sd 4 sb 5 sh 6 swr 7 swl 8 lwc1 9 ldc1 10 swc1 11 sdc1: byte address, and
 *        count instructions are fetched after this one
 *   type 12 basic block: word address; count instructions are fetched before the next event
 *   type 13 annulled delay slot; 14 syscall
 *
 * Only the low 24 bits of an address survive. Fetches are 4 bytes each. */
#include <stdlib.h>

#include "trace/text.h"

struct pixie_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t insns, pc;
};

static void *pixie_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			struct pm_err *err)
{
	struct pixie_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES;
	return r;
}

static void pixie_close(void *self)
{
	struct pixie_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static void fetch(struct pixie_reader *r, unsigned count)
{
	for (; count; count--) {
		pm_ev_put(&r->b, PM_EV_INSN, 0, 4, r->pc, 0);
		r->pc += 4;
		r->insns++;
	}
}

static enum pm_status pixie_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	static const int8_t size[12] = { 4, 8, 4, 8, 1, 2, 4, 4, 4, 8, 4, 8 };
	struct pixie_reader *r = self;
	struct pm_builder *b = &r->b;

	pm_builder_reset(b, &r->stream, NULL);
	b->b.first_insn = r->insns;
	pm_ev_room(b, PM_BATCH_EVENTS + 32);
	while (b->b.n < PM_BATCH_EVENTS) {
		uint32_t word, count, type, addr;

		if (pm_window_left(&r->w) < 4) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END)
				break;
			if (pm_window_left(&r->w) < 4)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected 4 bytes of record, found "
					       "%zu",
					       pm_window_left(&r->w));
		}
		memcpy(&word, r->w.p, 4);
		word = be32toh(word);
		count = word >> 28;
		type = word >> 24 & 15;
		addr = word & 0xffffff;
		switch (type) {
		case 2 ... 7: case 10: case 11:
			pm_ev_put(b, PM_EV_WRITE, 0, (unsigned)size[type], addr, 0);
			fetch(r, count);
			break;
		case 0: case 1: case 8: case 9:
			pm_ev_put(b, PM_EV_READ, 0, (unsigned)size[type], addr, 0);
			fetch(r, count);
			break;
		case 12:
			r->pc = (uint64_t)addr << 2;
			fetch(r, count);
			break;
		case 13:		/* the delay slot's instruction was fetched and annulled */
		case 14:
			fetch(r, count);
			break;
		default:
			return pm_fail(err, pm_window_at(&r->w),
				       "expected a type from 0 to 14, found %u", type);
		}
		r->w.p += 4;
	}
	if (!b->b.n)
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* A trace starts with a basic block; references in it follow. */
static int pixie_probe(const uint8_t *head, size_t n)
{
	size_t words = n / 4 < 256 ? n / 4 : 256;

	if (!words || (n < PM_WINDOW && n % 4))
		return 0;
	for (size_t i = 0; i < words; i++) {
		unsigned type = head[4 * i] & 15;

		if (type == 15 || (!i && type != 12))
			return 0;
	}
	return 5;
}

static const struct pm_reader_ops pixie_read = { pixie_open, pixie_next, pixie_close };

const struct pm_format pm_fmt_pixie = {
	.name = "pixie", .about = "traces of IRIX's pixie -idtrace",
	.plural = "pixie traces", .suffixes = ".pixie",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES, .needs = 0,
	.probe = pixie_probe, .read = &pixie_read,
};
