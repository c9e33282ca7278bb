/* SPDX-License-Identifier: MIT */
/* Any bytes through the library's own calls: as a trace that is read and simulated, and, the same
 * bytes again, as a batch that a caller made. */
#include <string.h>

#include "fuzz.h"
#include "pugmark/library.h"
#include "fuzz_file.h"

const unsigned fuzz_inputs = 3000;

/* Batches whose events, ids and all, are the input. */
static void push(const uint8_t *data, size_t size)
{
	static struct pm_event ev[64];
	static const struct pm_insn insn[4] = { { .pc = 16, .len = 4, .object = PM_NONE },
		{ .pc = 20, .len = 1, .object = PM_NONE }, { .pc = 21, .len = 2 },
		{ .pc = 23, .len = 15, .object = PM_NONE } };
	static const struct pm_block block[2] = { { 16, 0, 3 }, { 23, 3, 1 } };
	static const struct pm_object object[1] = { { .path = "/nowhere", .hi = 4096 } };
	static const struct pm_rare rare[1] = { { .nargs = 1 } };
	const struct pm_code code = { insn, block, object, 4, 2, 1, 0 };
	const struct pm_stream stream = { .pid = 1, .tid = 1 };
	struct pm_batch b = { .sizes = &pm_sizes_here, .stream = &stream, .code = &code,
		.ev = ev, .rare = rare, .nrare = 1 };
	struct pm_simulation *s = pm_simulation_new(NULL);
	struct pm_results *r;

	pm_simulation_add(s, "count", NULL);
	pm_simulation_add(s, "cache", NULL);
	pm_simulation_add(s, "bpred", NULL);
	pm_simulation_begin(s, PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES |
			    PM_HAS_BRANCHES | PM_HAS_BLOCKS | PM_HAS_REPS, NULL);
	b.n = size / sizeof *ev < 64 ? size / sizeof *ev : 64;
	if (b.n)
		memcpy(ev, data, b.n * sizeof *ev);
	/* small ids are worth more */
	for (size_t i = 0; i < b.n; i++)
		if (ev[i].flags & 64)
			ev[i].id %= 5;
	pm_simulation_push(s, &b, NULL);
	pm_simulation_push(s, &b, NULL);
	r = pm_simulation_finish(s, NULL);
	pm_results_json(r, NULL);
	pm_results_close(r, NULL);
	pm_simulation_close(s, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const transform[] = { NULL, "slice:from=3,count=20", "lines:64",
		"uops", "filter:l1=1k" };
	struct pm_reader *r;
	const struct pm_batch *b;
	uint64_t events = 0;

	if (!size)
		return 0;
	push(data, size);
	r = pm_reader_open(fuzz_file(data + 1, size - 1), NULL, NULL);
	if (!r)
		return 0;
	if (transform[data[0] % 5])
		pm_reader_transform(r, transform[data[0] % 5], NULL);
	if (data[0] & 128)
		pm_reader_blocks(r, NULL);
	while (events < 1 << 20 && pm_reader_next(r, &b, NULL) == PM_OK) {
		if (!b || !b->n || !b->stream || !b->sizes)
			__builtin_trap();
		for (size_t i = 0; i < b->n; i++)
			events += 1 + pm_event_at(b, i)->kind / 256;
	}
	if (pm_reader_close(r, NULL) != PM_OK || pm_reader_close(r, NULL) != PM_ERR)
		__builtin_trap();
	return 0;
}
