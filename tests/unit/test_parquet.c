/* SPDX-License-Identifier: MIT */
/* Encodings of Parquet against decoders that do one bit at a time, and what a footer says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/parquet.h"
#include "base/parquet_encode.h"

static uint64_t seed = 1;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1du;
}

/* ---- decoders -------------------------------------------------------------------------------- */

struct bytes { const uint8_t *p, *end; };

static uint64_t varint(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(b->p < b->end);
		v |= (uint64_t)(*b->p & 0x7f) << shift;
		if (!(*b->p++ & 0x80))
			return v;
	}
}

static int64_t zigzag(struct bytes *b)
{
	uint64_t v = varint(b);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

static uint64_t bits(const uint8_t *p, size_t at, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v |= (uint64_t)(p[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return v;
}

/* @n values; the bytes must end where they do, but for the rest of a group of eight. */
static void decode_rle(struct bytes b, uint32_t *v, size_t n, unsigned width)
{
	size_t i = 0;

	while (i < n) {
		uint64_t head = varint(&b), count = head >> 1;

		assert_true(count > 0);
		if (head & 1) {
			assert_true((size_t)(b.end - b.p) >= count * width);
			for (size_t k = 0; k < count * 8; k++) {
				uint64_t x = bits(b.p, k * width, width);

				if (i < n)
					v[i++] = (uint32_t)x;
				else
					assert_int_equal(x, 0);
			}
			b.p += count * width;
		} else {
			uint32_t x = 0;

			memcpy(&x, b.p, (width + 7) / 8);
			b.p += (width + 7) / 8;
			assert_true(count <= n - i);
			while (count--)
				v[i++] = x;
		}
	}
	assert_ptr_equal(b.p, b.end);
}

static void decode_delta(struct bytes b, uint64_t *v, size_t n)
{
	uint64_t block = varint(&b), parts = varint(&b), per = block / parts;
	uint64_t last;

	assert_int_equal(block % 128, 0);
	assert_int_equal(per % 32, 0);
	assert_int_equal(varint(&b), n);
	last = (uint64_t)zigzag(&b);
	if (n)
		v[0] = last;
	for (size_t i = 1; i < n;) {
		uint64_t least = (uint64_t)zigzag(&b);
		const uint8_t *width = b.p;

		b.p += parts;
		for (unsigned k = 0; k < parts; k++) {
			for (unsigned j = 0; j < per && i < n; j++, i++)
				v[i] = last += least + bits(b.p, j * width[k], width[k]);
			assert_true((size_t)(b.end - b.p) >= width[k] * per / 8);
			b.p += width[k] * per / 8;
		}
	}
	assert_ptr_equal(b.p, b.end);
}

/* ---- encodings ------------------------------------------------------------------------------- */

static void test_thrift(void **state)
{
	static const uint8_t want[] = {
		0x15, 0x09,			/* 1: i32 -5 */
		0x18, 0x02, 'a', 'b',		/* 2: "ab" */
		0x19, 0x2c,			/* 3: two structs */
			0x16, 0x80, 0x01, 0x00,		/* 1: i64 64 */
			0x00,
		0x1c, 0x11, 0x22, 0x00,		/* 4: struct 1: true, 3: false */
		0x05, 0x28, 0x02,		/* 20: i32 1 */
		0x19, 0xf5, 0x0f,		/* 21: 15 i32 */
		2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
		0x14, 0x01,			/* 22: i16 -1 */
		0x00,
	};
	struct pm_buf b = { 0 };
	struct pm_thrift t = { &b, 0 }, e;

	(void)state;
	pm_thrift_i32(&t, 1, -5);
	pm_thrift_string(&t, 2, "ab");
	pm_thrift_list(&t, 3, PM_THRIFT_STRUCT, 2);
	e = pm_thrift_begin(&t, 0);
	pm_thrift_i64(&e, 1, 64);
	pm_thrift_end(&e);
	e = pm_thrift_begin(&t, 0);
	pm_thrift_end(&e);
	e = pm_thrift_begin(&t, 4);
	pm_thrift_bool(&e, 1, true);
	pm_thrift_bool(&e, 3, false);
	pm_thrift_end(&e);
	pm_thrift_i32(&t, 20, 1);
	pm_thrift_list(&t, 21, PM_THRIFT_I32, 15);
	for (int i = 0; i < 15; i++)
		pm_zigzag(&b, 1);
	pm_thrift_i16(&t, 22, -1);
	pm_thrift_end(&t);
	assert_int_equal(b.n, sizeof want);
	assert_memory_equal(b.p, want, sizeof want);
	pm_buf_release(&b);
}

static void test_pack(void **state)
{
	uint64_t v[100];
	uint32_t u[100];

	(void)state;
	for (unsigned width = 1; width <= 64; width++)
		for (size_t n = 0; n <= 100; n += n < 20 ? 1 : 16) {
			struct pm_buf b = { 0 }, c = { 0 };

			for (size_t i = 0; i < n; i++) {
				v[i] = any() >> (64 - width);
				u[i] = (uint32_t)v[i];
			}
			pm_pack_u64(&b, v, n, width);
			assert_int_equal(b.n, (n * width + 7) / 8);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(bits(b.p, i * width, width), v[i]);
			if (width <= 32) {
				pm_pack_u32(&c, u, n, width);
				assert_int_equal(c.n, b.n);
				assert_true(!b.n || !memcmp(b.p, c.p, b.n));
			}
			pm_buf_release(&b);
			pm_buf_release(&c);
		}
}

static void test_rle(void **state)
{
	static const uint8_t run[] = { 200, 1, 5 }, packed[] = { 3, 0x88, 0xc6, 0xfa };
	static const uint32_t eight[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static uint32_t v[3000], got[3000];
	struct pm_buf b = { 0 };

	(void)state;
	/* the format's own examples */
	pm_rle_u32(&b, eight, 8, 3);
	assert_int_equal(b.n, sizeof packed);
	assert_memory_equal(b.p, packed, sizeof packed);
	b.n = 0;
	pm_rle_run(&b, 5, 100, 3);
	assert_memory_equal(b.p, run, sizeof run);
	for (unsigned width = 1; width <= 32; width++)
		for (unsigned kind = 0; kind < 30; kind++) {
			size_t n = kind < 20 ? kind : any() % 3000;

			for (size_t i = 0; i < n;) {
				uint32_t x = (uint32_t)(any() >> (64 - width));
				size_t times = any() % 3 ? 1 : any() % (kind % 2 ? 60 : 17);

				for (; times && i < n; times--)
					v[i++] = x;
			}
			b.n = 0;
			pm_rle_u32(&b, v, n, width);
			decode_rle((struct bytes){ b.p, b.p + b.n }, got, n, width);
			assert_true(!n || !memcmp(v, got, n * sizeof *v));
		}
	pm_buf_release(&b);
}

static void test_delta(void **state)
{
	static uint64_t v[1000], got[1000];
	static const size_t counts[] = { 0, 1, 2, 31, 32, 33, 34, 128, 129, 130, 257, 1000 };
	struct pm_buf b = { 0 };

	(void)state;
	for (unsigned width = 0; width <= 64; width++)
		for (unsigned k = 0; k < NR(counts); k++) {
			uint64_t x = any();

			for (size_t i = 0; i < counts[k]; i++) {
				x += width ? any() >> (64 - width) : 0;
				/* back, and across both ends */
				v[i] = x - (any() % 7 ? 0 : 1ull << 63);
			}
			b.n = 0;
			pm_delta_u64(&b, v, counts[k]);
			decode_delta((struct bytes){ b.p, b.p + b.n }, got, counts[k]);
			assert_true(!counts[k] || !memcmp(v, got, counts[k] * sizeof *v));
		}
	pm_buf_release(&b);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A footer as lines "4[0].1[2].3.5=7". */
static void text_of(struct bytes *b, char *path, struct pm_buf *to, unsigned type);

static void text_of_struct(struct bytes *b, char *path, struct pm_buf *to)
{
	size_t end = strlen(path);
	int field = 0;

	while (*b->p) {
		unsigned type = *b->p & 15, step = *b->p >> 4;

		b->p++;
		field = step ? field + (int)step : (int)zigzag(b);
		sprintf(path + end, "%s%d", end ? "." : "", field);
		text_of(b, path, to, type);
	}
	b->p++;
	path[end] = 0;
}

static void text_of(struct bytes *b, char *path, struct pm_buf *to, unsigned type)
{
	size_t end = strlen(path), n;
	unsigned of;

	assert_true(b->p < b->end);
	switch (type) {
	case PM_THRIFT_TRUE: case PM_THRIFT_FALSE:
		pm_buf_printf(to, "%s=%s\n", path, type == PM_THRIFT_TRUE ? "true" : "false");
		return;
	case PM_THRIFT_BYTE:
		pm_buf_printf(to, "%s=%d\n", path, (int8_t)*b->p++);
		return;
	case PM_THRIFT_I16: case PM_THRIFT_I32: case PM_THRIFT_I64:
		pm_buf_printf(to, "%s=%lld\n", path, (long long)zigzag(b));
		return;
	case PM_THRIFT_BINARY:
		n = varint(b);
		pm_buf_printf(to, "%s=", path);
		for (size_t i = 0; i < n; i++)
			pm_buf_printf(to, b->p[i] > ' ' && b->p[i] < 127 ? "%c" : "\\%02x",
				      b->p[i]);
		pm_buf_printf(to, "\n");
		b->p += n;
		return;
	case PM_THRIFT_LIST:
		of = *b->p & 15;
		n = *b->p++ >> 4;
		if (n == 15)
			n = varint(b);
		pm_buf_printf(to, "%s#%zu\n", path, n);
		for (size_t i = 0; i < n; i++) {
			sprintf(path + end, "[%zu]", i);
			text_of(b, path, to, of);
		}
		path[end] = 0;
		return;
	case PM_THRIFT_STRUCT:
		text_of_struct(b, path, to);
		return;
	}
	fail_msg("type %u", type);
}

static enum pm_status keep(void *to, const void *p, size_t n, struct pm_err *err)
{
	(void)err;
	pm_buf_add(to, p, n);
	return PM_OK;
}

/* The footer of @file, for says(). */
static char *footer_of(const struct pm_buf *file)
{
	char path[400] = "";
	struct pm_buf to = { 0 };
	struct bytes b;
	uint32_t n;

	assert_true(file->n > 12);
	assert_memory_equal(file->p, "PAR1", 4);
	assert_memory_equal(file->p + file->n - 4, "PAR1", 4);
	memcpy(&n, file->p + file->n - 8, 4);
	assert_true(n <= file->n - 12);
	b.p = file->p + file->n - 8 - n;
	b.end = b.p + n;
	pm_buf_add(&to, "\n", 1);
	text_of_struct(&b, path, &to);
	assert_ptr_equal(b.p, b.end);
	pm_buf_add(&to, "", 1);
	return (char *)to.p;
}

static void says(const char *footer, const char *line)
{
	char whole[200];

	snprintf(whole, sizeof whole, "\n%s\n", line);
	if (!strstr(footer, whole))
		fail_msg("no %s in%s", line, footer);
}

static void says_not(const char *footer, const char *begin)
{
	char whole[200];

	snprintf(whole, sizeof whole, "\n%s", begin);
	if (strstr(footer, whole))
		fail_msg("%s in%s", begin, footer);
}

enum { U, I, F, S, B, NEVER, HELD, NEARBY };
static const struct pm_parquet_column columns[] = {
	[U] = { "u", PM_PARQUET_U64, PM_PARQUET_REQUIRED | PM_PARQUET_FEW },
	[I] = { "i", PM_PARQUET_I64, 0 },
	[F] = { "f", PM_PARQUET_F64, 0 },
	[S] = { "s", PM_PARQUET_STRING, 0 },
	[B] = { "b", PM_PARQUET_BOOL, 0 },
	[NEVER] = { "never", PM_PARQUET_U32, PM_PARQUET_EXTRA },
	[HELD] = { "held", PM_PARQUET_U32, PM_PARQUET_HELD | PM_PARQUET_FEW },
	[NEARBY] = { "near", PM_PARQUET_U64, PM_PARQUET_EXTRA | PM_PARQUET_NEAR },
};

static void test_statistics(void **state)
{
	const struct pm_parquet_opts o = { .group = 4 };
	static const double f[] = { NAN, 0, 2.5, NAN };
	char long_one[100], *t;
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };
	struct pm_parquet *p = pm_parquet_new(columns, NR(columns),
					      (struct pm_parquet_out){ keep, &file }, &o);

	(void)state;
	memset(long_one, 'x', sizeof long_one);
	for (unsigned i = 0; i < 6; i++) {
		pm_parquet_u64(p, U, i % 2 ? UINT64_MAX - i : i);
		if (i < 3)
			pm_parquet_u64(p, I, (uint64_t)((int64_t)i - 1));
		if (i < 4)
			pm_parquet_f64(p, F, f[i]);
		if (i == 2)
			pm_parquet_text(p, S, "b\377");
		if (i == 3)
			pm_parquet_text(p, S, "");
		if (i == 4)
			pm_parquet_put(p, S, pm_parquet_string(p, S, long_one, 100));
		if (i == 5)
			pm_parquet_u64(p, B, 1);
		if (i == 1)
			pm_parquet_hold(p, HELD, 7);
		if (i == 5)
			pm_parquet_hold_null(p, HELD);
		if (i == 4)
			pm_parquet_u64(p, NEARBY, 9);
		assert_int_equal(pm_parquet_row(p, &err), PM_OK);
	}
	pm_parquet_note(p, "key", "va\377lue");
	assert_int_equal(pm_parquet_finish(p, &err), PM_OK);
	pm_parquet_free(p);
	t = footer_of(&file);
	says(t, "3=6");
	says(t, "4#2");
	says(t, "4[0].3=4");
	says(t, "4[1].3=2");
	/* (1), (3): `never` is in neither schema nor row groups */
	says(t, "2#8");
	says(t, "4[0].1#7");
	says(t, "4[1].1#7");
	says_not(t, "2[6].4=never");
	says(t, "2[6].4=held");
	says(t, "7#7");
	for (unsigned c = 0; c < 7; c++) {
		char line[40];

		sprintf(line, "4[0].1[%u].3.5=4", c);
		says(t, line);
		sprintf(line, "4[1].1[%u].3.5=2", c);
		says(t, line);
	}
	/* u: unsigned order */
	says(t, "4[0].1[0].3.12.3=0");
	says(t, "4[0].1[0].3.12.6=\\00\\00\\00\\00\\00\\00\\00\\00");
	says(t, "4[0].1[0].3.12.5=\\fe\\ff\\ff\\ff\\ff\\ff\\ff\\ff");
	says(t, "4[1].1[0].3.12.6=\\04\\00\\00\\00\\00\\00\\00\\00");
	/* i: signed, and all null */
	says(t, "4[0].1[1].3.12.3=1");
	says(t, "4[0].1[1].3.12.6=\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\ff");
	says(t, "4[0].1[1].3.12.5=\\01\\00\\00\\00\\00\\00\\00\\00");
	says(t, "4[1].1[1].3.12.3=2");
	says_not(t, "4[1].1[1].3.12.6=");
	/* f: no NaN, and -0 where 0 may be less */
	says(t, "4[0].1[2].3.12.3=0");
	says(t, "4[0].1[2].3.12.6=\\00\\00\\00\\00\\00\\00\\00\\80");
	says(t, "4[0].1[2].3.12.5=\\00\\00\\00\\00\\00\\00\\04@");
	/* s: UTF-8; none of a long one */
	says(t, "4[0].1[3].3.12.6=");
	says(t, "4[0].1[3].3.12.5=b\\xff");
	says_not(t, "4[1].1[3].3.12.6=");
	says(t, "4[1].1[4].3.12.6=\\01");
	/* held: one null before, one after */
	says(t, "4[0].1[5].3.12.3=1");
	says(t, "4[1].1[5].3.12.3=1");
	says(t, "4[1].1[5].3.12.6=\\07\\00\\00\\00");
	/* a column that comes late is null before */
	says(t, "4[0].1[6].3.12.3=4");
	says(t, "4[1].1[6].3.12.6=\\09\\00\\00\\00\\00\\00\\00\\00");
	says(t, "5[0].1=key");
	says(t, "5[0].2=va\\xfflue");
	free(t);
	pm_buf_release(&file);
}

static void test_empty(void **state)
{
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };
	struct pm_parquet *p = pm_parquet_new(columns, NR(columns),
					      (struct pm_parquet_out){ keep, &file }, NULL);
	char *t;

	(void)state;
	assert_int_equal(pm_parquet_finish(p, &err), PM_OK);
	t = footer_of(&file);
	says(t, "3=0");
	says(t, "4#0");
	says(t, "2#7");
	pm_parquet_free(p);
	free(t);
	pm_buf_release(&file);
}

/* A dictionary that overflows: its pages so far stay, the rest is as it is. */
static void test_many(void **state)
{
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };
	struct pm_parquet *p = pm_parquet_new(columns, NR(columns),
					      (struct pm_parquet_out){ keep, &file }, NULL);
	char *t;

	(void)state;
	for (unsigned i = 0; i < 3 * PM_PARQUET_PAGE; i++) {
		pm_parquet_u64(p, U, i < PM_PARQUET_PAGE ? i % 1000 : i);
		assert_int_equal(pm_parquet_row(p, &err), PM_OK);
	}
	assert_int_equal(pm_parquet_finish(p, &err), PM_OK);
	t = footer_of(&file);
	says(t, "4#1");
	/* plain, runs, dictionary */
	says(t, "4[0].1[0].3.2#3");
	says(t, "4[0].1[0].3.2[2]=8");
	says(t, "4[0].1[0].3.12.5=\\ff\\ff\\02\\00\\00\\00\\00\\00");
	pm_parquet_free(p);
	free(t);
	pm_buf_release(&file);
}

/* Text without end ends row groups, so that memory is bounded. */
static void test_text(void **state)
{
	static char s[1 << 20];
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };
	struct pm_parquet *p = pm_parquet_new(columns, NR(columns),
					      (struct pm_parquet_out){ keep, &file }, NULL);
	char *t;

	(void)state;
	memset(s, 'a', sizeof s);
	for (unsigned i = 0; i < 70; i++) {
		memcpy(s, &(char[]){ (char)('0' + i) }, 1);
		pm_parquet_u64(p, U, i);
		pm_parquet_put(p, S, pm_parquet_string(p, S, s, sizeof s));
		assert_int_equal(pm_parquet_row(p, &err), PM_OK);
	}
	assert_int_equal(pm_parquet_finish(p, &err), PM_OK);
	t = footer_of(&file);
	says(t, "4#2");
	says(t, "4[0].3=64");
	says(t, "4[1].3=6");
	pm_parquet_free(p);
	free(t);
	pm_buf_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thrift), cmocka_unit_test(test_pack),
		cmocka_unit_test(test_rle), cmocka_unit_test(test_delta),
		cmocka_unit_test(test_statistics), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_many), cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
