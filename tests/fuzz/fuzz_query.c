/* SPDX-License-Identifier: MIT */
/* fuzz_query.c - any text as a question about a recording: refused with a message, or understood
 * with what query.h promises */
#include <stdlib.h>
#include <string.h>

#include "collect/query/query.h"
#include "fuzz.h"

const unsigned fuzz_inputs = 200000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct pm_err err = { 0 };
	struct query q;

	memcpy(text, data, size);
	text[size] = 0;
	if (query_parse(text, &q, &err) != PM_OK) {
		if (!pm_failed(&err))
			__builtin_trap();
	} else if (!memchr(q.name, 0, sizeof q.name) ||
		   ((q.kind == QUERY_MEMORY || q.kind == QUERY_WRITES ||
		     q.kind == QUERY_LAST_WRITE) && q.lo >= q.hi) ||
		   (q.kind == QUERY_MEMORY && q.hi - q.lo > QUERY_BYTES)) {
		__builtin_trap();
	}
	free(text);
	return 0;
}
