/* SPDX-License-Identifier: MIT */
/* Any bytes as a .pug. Checksums would turn away nearly everything, so they are made right first:
 * what is tested is that contents are not believed. The first byte chooses whether they are. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pug_mend.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"
#include "transform/verify.h"

const unsigned fuzz_inputs = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_read_opts o = { 0 };
	struct pm_err err = { 0 };
	struct pug_totals totals;
	struct pm_pipeline *p;
	struct pm_input *in;
	uint8_t *copy;
	uint32_t facts = 0;
	uint64_t first;
	bool seek = size && data[0] & 2;
	void *r;

	if (!size)
		return 0;
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		pug_mend(copy, size - 1);
	in = pm_input_memory(copy, size - 1, "fuzz");
	r = pug_read_open(in, &o, &facts, &err);
	if (r) {
		/* what comes out goes where users send it: through the expander and the checker */
		p = pm_pipeline_new();
		pm_pipeline_sink(p, &pm_verify_ops, pm_verify_new(facts));
		pm_pipeline_sink(p, &pm_count_ops.ops, pm_count_ops.ops.create("", &err));
		pm_pipeline_start(p, facts | PM_HAS_BLOCKS, "fuzz", &err);
		pug_read_totals(r, &totals, &err);
		err = (struct pm_err){ 0 };
		if (!seek || pug_read_seek(r, data[0], &first, &err) == PM_OK)
			pug_push_events(r, p, &err);
		err = (struct pm_err){ 0 };
		pm_pipeline_finish(p, NULL, &err);
		pm_pipeline_free(p);
		pug_read_close(r);
	}
	pm_input_close(in);
	free(copy);
	return 0;
}
