/* SPDX-License-Identifier: MIT */
/* fuzz_qemu_stream.c - what a hostile guest may make of the plug-in in QEMU: any words at all
 *
 * Words are read, or refused with a message that says which. What was read goes to a sink that
 * takes blocks and to one that does not, so that numbers and slots are used, and becomes
 * transactions on the bus, behind caches and without. Then the same in packed batches, without a
 * bus. The first byte says after how many words a buffer ends. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bus_caches.h"
#include "base/result.h"
#include "collect/qemu/stream_reader.h"
#include "fuzz.h"
#include "trace/sinks.h"

/* Tables that never move are reserved whole. */
const uint64_t fuzz_room = 1ull << 46;

static struct pm_pipeline *pipeline(bool packed, struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();

	if (pm_pipeline_sink_new(p, &pm_count_ops.ops, "", err) != PM_OK ||
	    (!packed && pm_pipeline_sink_new(p, &pm_digest_ops, "", err) != PM_OK) ||
	    pm_pipeline_start(p, QS_FACTS, "words", err) != PM_OK)
		abort();
	return p;
}

static struct guest_bus *bus(struct pm_pipeline *p, bool cached, struct pm_bus_counts *counts,
			     struct pm_err *err)
{
	const struct guest_bus_config cfg = { .ram = 16 << 20, .cached = cached };

	if ((cached && pm_bus_caches_add(p, "l1i=1k,2way,32;l1d=1k,2way,32", true, counts,
					 err) != PM_OK) ||
	    pm_pipeline_sink_new(p, &pm_count_ops.ops, "", err) != PM_OK ||
	    pm_pipeline_start(p, GUEST_BUS_FACTS, "transactions", err) != PM_OK)
		abort();
	return guest_bus_new(p, &cfg);
}

/* All words, @each to a buffer. */
static enum pm_status read_words(struct qs_reader *r, const uint8_t *data, size_t size, size_t each,
				 struct pm_err *err)
{
	enum pm_status st = PM_OK;
	uint64_t words[64];

	while (st == PM_OK && size >= 8) {
		size_t n = size / 8 < each ? size / 8 : each;

		memcpy(words, data, n * 8);
		data += n * 8;
		size -= n * 8;
		st = qs_read(r, words, n, err);
	}
	if (st == PM_ERR && !pm_failed(err))
		abort();
	return st;
}

static void read_packed(const uint8_t *data, size_t size, size_t each, uint64_t limit)
{
	struct pm_err err = { 0 };
	struct pm_pipeline *p = pipeline(true, &err);
	struct qs_reader *r = qs_reader_new(p, limit);

	if (read_words(r, data, size, each, &err) != PM_ERR &&
	    qs_reader_finish(r, &err) == PM_OK)
		pm_pipeline_finish(p, NULL, &err);
	pm_pipeline_free(p);
	qs_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_err err = { 0 };
	struct pm_pipeline *p, *bus_p;
	struct pm_bus_counts counts = { 0 };
	struct guest_bus *g;
	struct qs_reader *r;
	enum pm_status st;
	uint64_t limit;
	size_t each;

	if (!size)
		return 0;
	each = 1 + data[0] % 64u;
	limit = data[0] & 0x80 ? 20 : 0;
	p = pipeline(false, &err);
	bus_p = pm_pipeline_new();
	g = bus(bus_p, data[0] & 0x40, &counts, &err);
	r = qs_reader_new(p, limit);
	qs_reader_bus(r, g);
	if (data[0] & 0x20)
		qs_reader_frames(r);
	data++;
	size--;
	st = read_words(r, data, size, each, &err);
	if (st != PM_ERR && qs_reader_finish(r, &err) == PM_OK &&
	    pm_pipeline_finish(p, NULL, &err) == PM_OK &&
	    guest_bus_end(g, !(size % 8), &err) == PM_OK)
		pm_pipeline_finish(bus_p, NULL, &err);
	pm_pipeline_free(p);
	pm_pipeline_free(bus_p);
	guest_bus_free(g);
	qs_reader_free(r);
	read_packed(data, size, each, limit);
	return 0;
}
