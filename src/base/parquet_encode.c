/* SPDX-License-Identifier: MIT */
#include <endian.h>

#include "base/parquet_encode.h"

#define DELTA_BLOCK	128
#define DELTA_PART	32
#define LEAST_RUN	16		/* shorter runs cost less as packed bits */

/* ---- Thrift's compact protocol --------------------------------------------------------------- */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)v | 0x80;
	*p++ = (uint8_t)v;
	return p;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

void pm_varint(struct pm_buf *to, uint64_t v)
{
	uint8_t *p = pm_buf_room(to, 10);

	to->n += (size_t)(put_varint(p, v) - p);
}

void pm_zigzag(struct pm_buf *to, int64_t v)
{
	pm_varint(to, zigzag(v));
}

static void put_byte(struct pm_buf *to, unsigned v)
{
	uint8_t b = (uint8_t)v;

	pm_buf_add(to, &b, 1);
}

void pm_thrift_field(struct pm_thrift *t, int field, enum pm_thrift_type type)
{
	int step = field - t->last;

	if (step >= 1 && step <= 15) {
		put_byte(t->to, (unsigned)step << 4 | type);
	} else {
		put_byte(t->to, type);
		pm_zigzag(t->to, field);
	}
	t->last = field;
}

void pm_thrift_i16(struct pm_thrift *t, int field, int16_t v)
{
	pm_thrift_field(t, field, PM_THRIFT_I16);
	pm_zigzag(t->to, v);
}

void pm_thrift_i32(struct pm_thrift *t, int field, int32_t v)
{
	pm_thrift_field(t, field, PM_THRIFT_I32);
	pm_zigzag(t->to, v);
}

void pm_thrift_i64(struct pm_thrift *t, int field, int64_t v)
{
	pm_thrift_field(t, field, PM_THRIFT_I64);
	pm_zigzag(t->to, v);
}

void pm_thrift_bool(struct pm_thrift *t, int field, bool v)
{
	pm_thrift_field(t, field, v ? PM_THRIFT_TRUE : PM_THRIFT_FALSE);
}

void pm_thrift_element(struct pm_thrift *t, const void *p, size_t n)
{
	pm_varint(t->to, n);
	pm_buf_add(t->to, p, n);
}

void pm_thrift_binary(struct pm_thrift *t, int field, const void *p, size_t n)
{
	pm_thrift_field(t, field, PM_THRIFT_BINARY);
	pm_thrift_element(t, p, n);
}

void pm_thrift_string(struct pm_thrift *t, int field, const char *s)
{
	pm_thrift_binary(t, field, s, strlen(s));
}

void pm_thrift_list(struct pm_thrift *t, int field, enum pm_thrift_type type, size_t n)
{
	pm_thrift_field(t, field, PM_THRIFT_LIST);
	if (n < 15) {
		put_byte(t->to, (unsigned)n << 4 | type);
	} else {
		put_byte(t->to, 0xf0u | type);
		pm_varint(t->to, n);
	}
}

struct pm_thrift pm_thrift_begin(struct pm_thrift *t, int field)
{
	if (field)
		pm_thrift_field(t, field, PM_THRIFT_STRUCT);
	return (struct pm_thrift){ t->to, 0 };
}

void pm_thrift_end(struct pm_thrift *t)
{
	put_byte(t->to, 0);
}

/* ---- packed bits ----------------------------------------------------------------------------- */

/* HOT: for each value. Writes up to 8 bytes behind the end. */
#define PACK(NAME, TYPE)                                                                        \
	static inline uint8_t *NAME(uint8_t *p, const TYPE *v, size_t n, unsigned width)        \
	{                                                                                       \
		uint64_t bits = 0;                                                              \
		unsigned fill = 0;                                                              \
                                                                                                \
		for (size_t i = 0; i < n; i++) {                                                \
			uint64_t x = v[i];                                                      \
                                                                                                \
			bits |= x << fill;                                                      \
			fill += width;                                                          \
			if (fill >= 64) {                                                       \
				bits = htole64(bits);                                           \
				memcpy(p, &bits, 8);                                            \
				p += 8;                                                         \
				fill -= 64;                                                     \
				bits = fill ? x >> (width - fill) : 0;                          \
			}                                                                       \
		}                                                                               \
		bits = htole64(bits);                                                           \
		memcpy(p, &bits, 8);                                                            \
		return p + (fill + 7) / 8;                                                      \
	}
PACK(pack64, uint64_t)
PACK(pack32, uint32_t)

static size_t packed_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

void pm_pack_u64(struct pm_buf *to, const uint64_t *v, size_t n, unsigned width)
{
	uint8_t *p = pm_buf_room(to, packed_bytes(n, width) + 8);

	if (width)
		to->n += (size_t)(pack64(p, v, n, width) - p);
}

void pm_pack_u32(struct pm_buf *to, const uint32_t *v, size_t n, unsigned width)
{
	uint8_t *p = pm_buf_room(to, packed_bytes(n, width) + 8);

	if (width)
		to->n += (size_t)(pack32(p, v, n, width) - p);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void pm_rle_run(struct pm_buf *to, uint32_t v, size_t n, unsigned width)
{
	if (!n)
		return;
	pm_varint(to, (uint64_t)n << 1);
	v = htole32(v);
	pm_buf_add(to, &v, (width + 7) / 8);
}

/* How many of v[0..n) equal the first, counted as far as @most. */
static inline size_t run_of(const uint32_t *v, size_t n, size_t most)
{
	size_t k = 1;

	if (n > most)
		n = most;
	while (k < n && v[k] == v[0])
		k++;
	return k;
}

static void put_packed(struct pm_buf *to, const uint32_t *v, size_t n, unsigned width)
{
	size_t groups = (n + 7) / 8, before;

	pm_varint(to, (uint64_t)groups << 1 | 1);
	before = to->n;
	pm_pack_u32(to, v, n, width);
	/* the last group is whole, too */
	while (to->n < before + groups * width)
		put_byte(to, 0);
}

void pm_rle_u32(struct pm_buf *to, const uint32_t *v, size_t n, unsigned width)
{
	size_t i = 0;

	while (i < n) {
		size_t run = run_of(v + i, n - i, SIZE_MAX), end = i;

		if (run >= LEAST_RUN || run == n - i) {
			pm_rle_run(to, v[i], run, width);
			i += run;
			continue;
		}
		while (end < n && run_of(v + end, n - end, LEAST_RUN) < LEAST_RUN)
			end += 8;
		if (end > n)
			end = n;
		put_packed(to, v + i, end - i, width);
		i = end;
	}
}

void pm_rle_bits(struct pm_buf *to, const uint8_t *bits, size_t n)
{
	pm_varint(to, (uint64_t)((n + 7) / 8) << 1 | 1);
	pm_buf_add(to, bits, (n + 7) / 8);
}

/* ---- packed differences ---------------------------------------------------------------------- */

/* HOT: d[0..n) at @p, with their least subtracted. Returns the end. */
static uint8_t *put_block(uint8_t *p, uint64_t *d, size_t n)
{
	int64_t least = (int64_t)d[0];
	uint8_t *widths;

	for (size_t i = 1; i < n; i++)
		least = (int64_t)d[i] < least ? (int64_t)d[i] : least;
	for (size_t i = 0; i < n; i++)
		d[i] -= (uint64_t)least;
	memset(d + n, 0, (DELTA_BLOCK - n) * sizeof *d);
	p = put_varint(p, zigzag(least));
	widths = p;
	p += DELTA_BLOCK / DELTA_PART;
	for (unsigned k = 0; k < DELTA_BLOCK / DELTA_PART; k++) {
		const uint64_t *part = d + k * DELTA_PART;
		uint64_t all = 0;

		for (unsigned i = 0; i < DELTA_PART; i++)
			all |= part[i];
		widths[k] = (uint8_t)pm_bits_of(all);
		if (widths[k])
			p = pack64(p, part, DELTA_PART, widths[k]);
	}
	return p;
}

void pm_delta_u64(struct pm_buf *to, const uint64_t *v, size_t n)
{
	uint64_t d[DELTA_BLOCK];

	pm_varint(to, DELTA_BLOCK);
	pm_varint(to, DELTA_BLOCK / DELTA_PART);
	pm_varint(to, n);
	pm_zigzag(to, n ? (int64_t)v[0] : 0);
	for (size_t i = 1; i < n; i += DELTA_BLOCK) {
		size_t k = n - i < DELTA_BLOCK ? n - i : DELTA_BLOCK;
		uint8_t *p = pm_buf_room(to, DELTA_BLOCK * 8 + 32);

		for (size_t j = 0; j < k; j++)
			d[j] = v[i + j] - v[i + j - 1];
		to->n += (size_t)(put_block(p, d, k) - p);
	}
}
