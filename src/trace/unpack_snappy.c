/* SPDX-License-Identifier: MIT */
/* unpack_snappy.c - Snappy's frames: chunks of u8 type, u24 length, and that many bytes
 *
 *	0x00		u32 sum, packed bytes	(the sum is of what they become: CRC-32C, masked)
 *	0x01		u32 sum, bytes as they are
 *	0xff		"sNaPpY": a stream begins
 *	0x80..0xfe	to be skipped
 *
 * Packed bytes are the library's business. It is loaded when it is needed: few traces are packed
 * like this, and few machines have it. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>

#include "base/mem.h"
#include "trace/input_state.h"
#include "trace/text.h"

#define BLOCK		65536		/* bytes that a chunk becomes, at most */
#define CHUNK		(4 + 32 + BLOCK + BLOCK / 6)	/* ... that it may have */

struct pm_snappy {
	void *library;
	int (*uncompress)(const char *from, size_t n, char *to, size_t *room);	/* 0: good */
};

struct pm_snappy *pm_snappy_new(struct pm_input *in)
{
	struct pm_snappy *s = pm_alloc(sizeof *s);

	s->library = dlopen("libsnappy.so.1", RTLD_NOW | RTLD_LOCAL);
	if (s->library)
		*(void **)&s->uncompress = dlsym(s->library, "snappy_uncompress");
	if (s->uncompress)
		return s;
	pm_raw_broken(in, "Snappy", "needs the library libsnappy.so.1, which is not installed "
				    "(Debian: libsnappy1v5)");
	pm_snappy_free(s);
	return NULL;
}

void pm_snappy_free(struct pm_snappy *s)
{
	if (s && s->library)
		dlclose(s->library);
	free(s);
}

static uint32_t masked_sum(const uint8_t *p, size_t n)
{
	const uint32_t sum = ~crc32_iscsi((unsigned char *)p, (int)n, UINT32_MAX);

	return (sum >> 15 | sum << 17) + 0xa282ead8;
}

/* A chunk of data, whole in p[0..n). Returns what it became, 0 on an error. */
static size_t unpack_chunk(struct pm_input *in, const uint8_t *p, size_t n, bool packed,
			   uint8_t *to, size_t room)
{
	size_t made = room;

	if (n < 4)
		return pm_raw_broken(in, "Snappy", "is damaged");
	if (!packed) {
		made = n - 4;
		if (made > room)
			return pm_raw_broken(in, "Snappy", "has a chunk that is too long");
		memcpy(to, p + 4, made);
	} else if (in->snappy->uncompress((const char *)p + 4, n - 4, (char *)to, &made)) {
		return pm_raw_broken(in, "Snappy", "is damaged");
	}
	if (masked_sum(to, made) != pm_get32(p))
		return pm_raw_broken(in, "Snappy", "has a wrong checksum");
	return made;
}

size_t pm_unpack_snappy(struct pm_input *in, uint8_t *to, size_t room)
{
	if (!in->snappy)
		return 0;
	if (room > BLOCK)
		room = BLOCK;
	for (;;) {
		const uint8_t *p;
		size_t n, made;

		if (!pm_raw_need(in, 4)) {
			if (in->raw_at < in->raw_n && !pm_failed(&in->err))
				pm_raw_broken(in, "Snappy", "is cut here");
			return 0;
		}
		p = in->raw + in->raw_at;
		n = pm_get32(p) >> 8;
		if (*p < 0x80 && *p > 1)
			return pm_raw_broken(in, "Snappy", "has chunks of a kind that is not "
							   "known");
		if (*p >= 0x80) {		/* may be long */
			in->raw_at += 4;
			for (; n; n -= made) {
				if (in->raw_at == in->raw_n && !pm_raw_fill(in))
					return pm_failed(&in->err) ? 0 :
					       pm_raw_broken(in, "Snappy", "is cut here");
				made = in->raw_n - in->raw_at < n ? in->raw_n - in->raw_at : n;
				in->raw_at += made;
			}
			continue;
		}
		if (n > CHUNK)
			return pm_raw_broken(in, "Snappy", "has a chunk that is too long");
		if (!pm_raw_need(in, 4 + n))
			return pm_failed(&in->err) ? 0 : pm_raw_broken(in, "Snappy", "is cut here");
		p = in->raw + in->raw_at;
		made = unpack_chunk(in, p + 4, n, !*p, to, room);
		if (pm_failed(&in->err))
			return 0;
		in->raw_at += 4 + n;
		if (made)
			return made;
	}
}
