/* SPDX-License-Identifier: MIT */
/* fuzz_simconf.c - configuration strings of every simulator, `NAME:CONFIG`: refused with a message,
 * or a simulator that takes events and gives a result */
#include <stdlib.h>
#include <string.h>

#include "../oracle/random.h"
#include "analyse/sims.h"
#include "base/mem.h"
#include "base/result.h"
#include "fuzz.h"

const unsigned fuzz_inputs = 4000;

static const struct pm_sink_ops *find(const char *name)
{
	for (unsigned i = 0; pm_sims[i]; i++)
		if (!strcmp(pm_sims[i]->name, name))
			return pm_sims[i];
	return NULL;
}

static void run(const struct pm_sink_ops *ops, void *sink)
{
	struct pm_event ev[300];
	struct o_random r = o_random_init(1);
	struct pm_uop uop[20] = { { .pc = 0x1000, .fall = 0x1004, .src1 = 1, .src2 = -1, .dest = 3,
		.flag_use = PM_UOP_WRITES_FLAGS, .access = PM_UOP_LOAD, .mem = 64, .index = 1,
		.macro = "ADD", .micro = "LOAD" } };
	struct pm_stream stream = { .index = 0, .space = 7 };
	struct pm_batch b = { .stream = &stream, .ev = ev, .n = NR(ev) };
	struct pm_result *res = pm_result_new();
	struct pm_err err = { 0 };

	for (size_t i = 0; i < NR(ev); i++) {
		ev[i] = o_random_ref(&r, 100000);
		if (i % 7 == 3)
			ev[i] = (struct pm_event){
				PM_EV_BRANCH, (uint8_t)(o_rnd(&r) & 31), 4, PM_NONE,
				0x401000,     0x401000 + o_rnd(&r) % 64
			};
		if (i % 50 == 49)
			ev[i].addr = UINT64_MAX - 3;
	}
	if (ops->needs & PM_HAS_UOPS) {
		for (size_t i = 1; i < NR(uop); i++)
			uop[i] = uop[0];
		for (size_t i = 0; i < NR(uop); i++)
			ev[i] = (struct pm_event){ .kind = PM_EV_UOP,
						   .id = (uint32_t)i,
						   .addr = uop[i].pc };
		b.n = b.nuop = NR(uop);
		b.uop = uop;
	}
	if (ops->consume(sink, &b, &err) == PM_OK)
		ops->finish(sink, res, &err);
	pm_result_free(res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pm_sink_ops *ops;
	struct pm_err err = { 0 };
	char *text = malloc(size + 1), *config;
	void *sink;

	memcpy(text, data, size);
	text[size] = 0;
	config = strchr(text, ':');
	/* settings that write files are for people, not for fuzzers */
	if (config && !strstr(config, "debug") && !strstr(config, "bbv") &&
	    !strstr(config, "callgrind")) {
		*config++ = 0;
		ops = find(text);
		sink = ops ? ops->create(config, &err) : NULL;
		if (ops && !sink && !err.msg[0])
			abort();	/* an error without a word */
		if (sink)
			run(ops, sink);
		if (ops)
			ops->destroy(sink);
	}
	free(text);
	return 0;
}
