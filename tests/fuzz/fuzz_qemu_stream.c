/* SPDX-License-Identifier: MIT */
/* fuzz_qemu_stream.c - what a hostile guest may make of the plug-in in QEMU: any words at all
 *
 * Words are read, or refused with a message that says which. What was read goes to a sink that
 * takes blocks and to one that does not, so that numbers and slots are used. The first byte says
 * after how many words a buffer ends. */
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "collect/qemu/stream_reader.h"
#include "fuzz.h"
#include "trace/sinks.h"

static struct pm_pipeline *pipeline(struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();

	if (pm_pipeline_sink_new(p, &pm_count_ops, "", err) != PM_OK ||
	    pm_pipeline_sink_new(p, &pm_digest_ops, "", err) != PM_OK ||
	    pm_pipeline_start(p, QS_FACTS, "words", err) != PM_OK)
		abort();
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	struct qs_reader *r;
	enum pm_status st = PM_OK;
	uint64_t words[64];
	size_t each;

	if (!size)
		return 0;
	each = 1 + data[0] % 64u;
	p = pipeline(&err);
	r = qs_reader_new(p, data[0] & 0x80 ? 20 : 0);
	data++;
	size--;
	while (st == PM_OK && size >= 8) {
		size_t n = size / 8 < each ? size / 8 : each;

		memcpy(words, data, n * 8);
		data += n * 8;
		size -= n * 8;
		st = qs_read(r, words, n, &err);
	}
	if (st == PM_ERR && !pm_failed(&err))
		abort();
	if (st != PM_ERR && qs_reader_finish(r, &err) == PM_OK)
		pm_pipeline_finish(p, NULL, &err);
	pm_pipeline_free(p);
	qs_reader_free(r);
	return 0;
}
