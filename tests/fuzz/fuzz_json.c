/* SPDX-License-Identifier: MIT */
/* fuzz_json.c - JSON documents: read, or refused with a message; what was read and written is read
 * and written alike from then on (bytes that are no UTF-8 become letters the first time) */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/result.h"
#include "fuzz.h"

/* @text, which is JSON of ours, through a tree. */
static void again(const struct pm_buf *text, struct pm_buf *to)
{
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };

	if (pm_json_read((const char *)text->p, text->n - 1, r, &err))
		abort();
	pm_result_json(r, to);
	pm_buf_add(to, "", 1);
	pm_result_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_buf first = { 0 }, second = { 0 }, third = { 0 };
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };
	char *copy = pm_strndup((const char *)data, size);

	if (pm_json_read(copy, strlen(copy), r, &err)) {
		if (!err.msg[0])
			abort();
	} else {
		pm_result_json(r, &first);
		pm_buf_add(&first, "", 1);
		again(&first, &second);
		again(&second, &third);
		if (second.n != third.n || memcmp(second.p, third.p, second.n))
			abort();
	}
	pm_buf_release(&first);
	pm_buf_release(&second);
	pm_buf_release(&third);
	pm_result_free(r);
	free(copy);
	return 0;
}
