/* SPDX-License-Identifier: MIT */
/* parquet_encode.h - how Parquet lays numbers out: Thrift's compact protocol, runs and packed bits,
 * packed differences
 *
 * Everything is put behind what is in a pm_buf already. Nothing here fails. */
#ifndef PM_BASE_PARQUET_ENCODE_H
#define PM_BASE_PARQUET_ENCODE_H

#include "base/mem.h"

/* ---- Thrift's compact protocol ----------------------------------------------------------------
 *
 *	field	byte DELTA << 4 | TYPE, or byte TYPE and its number as a zigzag
 *		varint; then the value
 *	i16.64	zigzag varint
 *	binary	varint of its length, bytes
 *	list	byte N << 4 | TYPE, or byte 0xf0 | TYPE and the varint of N; then N values
 *	struct	fields in ascending order, byte 0
 *
 * DELTA is the distance from the field before, 1..15. */
enum pm_thrift_type {
	PM_THRIFT_TRUE = 1, PM_THRIFT_FALSE = 2, PM_THRIFT_BYTE = 3, PM_THRIFT_I16 = 4,
	PM_THRIFT_I32 = 5, PM_THRIFT_I64 = 6, PM_THRIFT_BINARY = 8, PM_THRIFT_LIST = 9,
	PM_THRIFT_STRUCT = 12,
};

struct pm_thrift {			/* all zeros: a struct begins, at the end of @to */
	struct pm_buf *to;
	int last;			/* the field that was put last */
};

void pm_varint(struct pm_buf *to, uint64_t v);
void pm_zigzag(struct pm_buf *to, int64_t v);
void pm_thrift_field(struct pm_thrift *t, int field, enum pm_thrift_type type);
void pm_thrift_i16(struct pm_thrift *t, int field, int16_t v);
void pm_thrift_i32(struct pm_thrift *t, int field, int32_t v);
void pm_thrift_i64(struct pm_thrift *t, int field, int64_t v);
void pm_thrift_bool(struct pm_thrift *t, int field, bool v);
void pm_thrift_binary(struct pm_thrift *t, int field, const void *p, size_t n);
void pm_thrift_string(struct pm_thrift *t, int field, const char *s);
/* The head of a list of @n; its elements follow: structs, each begun with pm_thrift_begin() and
 * ended with pm_thrift_end(), pm_zigzag() numbers or pm_thrift_element()s. */
void pm_thrift_list(struct pm_thrift *t, int field, enum pm_thrift_type type, size_t n);
void pm_thrift_element(struct pm_thrift *t, const void *p, size_t n);	/* binary */
/* A struct as field @field of @t, or, with @field 0, as an element of a list. */
struct pm_thrift pm_thrift_begin(struct pm_thrift *t, int field);
void pm_thrift_end(struct pm_thrift *t);

/* ---- numbers --------------------------------------------------------------------------------- */
/* How many bits @v has: 0 for 0. */
static inline unsigned pm_bits_of(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

/* The lowest @width bits of each of @n values, which have no others, the first in the lowest bits
 * of the first byte; zeros up to a whole byte. */
void pm_pack_u64(struct pm_buf *to, const uint64_t *v, size_t n, unsigned width);
void pm_pack_u32(struct pm_buf *to, const uint32_t *v, size_t n, unsigned width);

/* Runs and packed bits (RLE), 1 <= @width <= 32:
 *
 *	run	varint N << 1, the value in the bytes that @width bits need
 *	packed	varint GROUPS << 1 | 1, GROUPS times 8 values of @width bits */
void pm_rle_u32(struct pm_buf *to, const uint32_t *v, size_t n, unsigned width);
void pm_rle_run(struct pm_buf *to, uint32_t v, size_t n, unsigned width);	/* @n times @v */
/* The same of @n bits, which stand in bytes already. */
void pm_rle_bits(struct pm_buf *to, const uint8_t *bits, size_t n);

/* Packed differences (DELTA_BINARY_PACKED), modulo 2^64:
 *
 *	varints 128, 4, N; zigzag of the first value; then for each 128 differences:
 *	zigzag of the least of them; 4 bytes, WIDTH of 32 each; 4 times 32 differences, less the
 *	least, of WIDTH bits. A part of which no difference is left has WIDTH 0. */
void pm_delta_u64(struct pm_buf *to, const uint64_t *v, size_t n);

#endif
