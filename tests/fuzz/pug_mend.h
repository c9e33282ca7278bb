/* SPDX-License-Identifier: MIT */
/* pug_mend.h - bytes become the records of a .pug whose checksums are right; what is read of it */
#ifndef PM_TESTS_PUG_MEND_H
#define PM_TESTS_PUG_MEND_H

#include <string.h>

#include "trace/pipeline.h"
#include "trace/pug.h"
#include "trace/pug_file.h"

/* The @n bytes at @p. Returns where the last record begins; 0: there is none. */
static inline size_t pug_mend(uint8_t *p, size_t n)
{
	size_t last = 0;

	if (n < PUG_HEADER)
		return 0;
	memcpy(p, PUG_MAGIC, 8);
	p[8] = PUG_MAJOR;
	p[9] = 0;
	pug_put32(p + 12, PUG_HEADER);
	pug_put32(p + 28, pug_crc(p, 28));
	for (size_t at = PUG_HEADER; n - at >= PUG_RECORD; ) {
		uint32_t size = pug_get32(p + at + 4);

		if (size > n - at - PUG_RECORD)
			size = (uint32_t)(n - at - PUG_RECORD);
		pug_put32(p + at + 4, size);
		pug_put32(p + at + 40, pug_crc(p + at + PUG_RECORD, size));
		pug_put32(p + at + 44, pug_crc(p + at, 44));
		last = at;
		at += PUG_RECORD + size;
	}
	return last;
}

/* What reader @r has, a million events at most, goes through @p, until something is wrong. */
static inline void pug_push_events(void *r, struct pm_pipeline *p, struct pm_err *err)
{
	const struct pm_batch *b;
	uint64_t events = 0;

	while (events < 1u << 20 && pug_read_next(r, &b, err) == PM_OK) {
		events += b->n;
		if (pm_pipeline_push(p, b, err) != PM_OK)
			break;
	}
}

#endif
