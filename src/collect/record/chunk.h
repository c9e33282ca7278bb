/* SPDX-License-Identifier: MIT */
/* chunk.h - the head of a recording's chunks, see recording.h; only of this folder */
#ifndef PM_RECORD_CHUNK_H
#define PM_RECORD_CHUNK_H

#include <endian.h>
#include <string.h>

#include "base/mix.h"
#include "collect/record/recording.h"

#define REC_HEAD 16u			/* bytes of the file's head */
#define REC_CHUNK_HEAD 40u
#define REC_DATA_MAX (1u << 22)		/* bytes of a file in one chunk */

struct chunk_head {
	uint8_t kind, packed;
	uint32_t stream;
	uint64_t stored, raw, check;
};

static inline uint32_t chunk_head_check(const uint8_t head[REC_CHUNK_HEAD])
{
	uint8_t h[REC_CHUNK_HEAD];

	memcpy(h, head, sizeof h);
	memset(h + 12, 0, 4);
	return (uint32_t)pm_mix(h, sizeof h, 0);
}

static inline void chunk_head_put(const struct chunk_head *h, uint8_t to[REC_CHUNK_HEAD])
{
	const uint32_t stream = htole32(h->stream);
	const uint64_t v[3] = { htole64(h->stored), htole64(h->raw), htole64(h->check) };
	uint32_t check;

	memset(to, 0, REC_CHUNK_HEAD);
	memcpy(to, "chnk", 4);
	to[4] = h->kind;
	to[5] = h->packed;
	memcpy(to + 8, &stream, 4);
	memcpy(to + 16, v, sizeof v);
	check = htole32(chunk_head_check(to));
	memcpy(to + 12, &check, 4);
}

#endif
