/* SPDX-License-Identifier: MIT */
/* Any bytes as compressed input, read in portions of many sizes. */
#include "fuzz.h"
#include "trace/io.h"

const unsigned fuzz_inputs = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t steps[] = { 1, 17, 4096, 70000, 1 << 20 };
	struct pm_err err = { 0 };
	struct pm_input *in;
	uint64_t total = 0;
	size_t got, step;

	if (!size)
		return 0;
	step = steps[data[0] % 5];
	in = pm_input_memory(data + 1, size - 1, "fuzz");
	/* a few kilobytes may unpack to gigabytes; that is no fault, only long */
	while (total < 8 << 20) {
		const uint8_t *p = pm_input_peek(in, step, &got, &err);

		if (!p || !got)
			break;
		got = got < step ? got : step;
		pm_input_skip(in, got);
		total += got;
		if (pm_input_offset(in) != total)
			__builtin_trap();
	}
	pm_input_close(in);
	return 0;
}
