/* SPDX-License-Identifier: MIT */
/* Pieces of instrumented executables: what is packed is unpacked, damage is noticed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collect/instrument/pack.h"

static uint8_t piece[IMG_PIECE], from[IMG_PIECE], to[IMG_PIECE + 1], back[IMG_PIECE + 64];

/* @how: 0 zeros, 1 noise, 2 repeated at short distances, 3 ascending words, 4 all of it in turn */
static void fill(unsigned how)
{
	for (uint32_t i = 0; i < IMG_PIECE; i++) {
		unsigned h = how == 4 ? i >> 11 & 3 : how;

		piece[i] = h == 0   ? 0
			   : h == 1 ? (uint8_t)rand()
			   : h == 2 ? (uint8_t)(i % (3 + (i >> 9 & 15)))
				    : (uint8_t)(i / 4 * 16 >> 8 * (i & 3));
	}
}

static const unsigned hows[] = {
	0, IMG_COLUMNS(1, 0), IMG_COLUMNS(1, 1), IMG_COLUMNS(2, 2), IMG_COLUMNS(4, 7),
	IMG_COLUMNS(4, 15),
};

static void round_trip(void **state)
{
	srand(1);
	for (unsigned i = 0; i < 5 * 6 * 2; i++) {
		const unsigned kind = i % 5, how = hows[i / 5 % 6];
		uint32_t n;

		fill(kind);
		memcpy(from, piece, sizeof piece);
		n = pack_piece(from, how, i >= 30, to);
		assert_true(n <= IMG_PIECE + 1);
		assert_memory_equal(from, piece, sizeof piece);
		if (kind == 0 || (kind == 2 && !how))
			assert_true(n < IMG_PIECE / 2);
		memset(back, 0x5a, sizeof back);
		assert_true(img_unpack(to, n, back));
		assert_memory_equal(back, piece, sizeof piece);
		for (unsigned k = IMG_PIECE; k < sizeof back; k++)
			assert_int_equal(back[k], 0x5a);
	}
}

/* Whatever the bytes: nothing outside the piece is touched (`make SAN=1` sees reads). */
static void damage(void **state)
{
	unsigned bad = 0;
	uint32_t n;

	srand(2);
	fill(4);
	memcpy(from, piece, sizeof piece);
	n = pack_piece(from, 0, false, to);
	for (unsigned i = 0; i < 2000; i++) {
		uint8_t *p = malloc(n);
		uint32_t cut = i & 1 ? (uint32_t)rand() % n : n;

		memcpy(p, to, n);
		p[rand() % n] ^= (uint8_t)(1 + rand() % 255);
		p[0] = (uint8_t)(i % 3 ? 0 : rand());
		memset(back, 0x5a, sizeof back);
		bad += !img_unpack(p, cut, back);
		for (unsigned k = IMG_PIECE; k < sizeof back; k++)
			assert_int_equal(back[k], 0x5a);
		free(p);
	}
	assert_true(bad > 500);
}

static void image(void **state)
{
	uint8_t code[3 * IMG_PIECE / 2], table[100];
	const struct pack_part part[] = { { code, sizeof code, 0 },
		{ table, sizeof table, IMG_COLUMNS(1, 1) } };
	struct pm_buf out = { 0 };
	const struct img_pack *p;

	fill(4);
	memcpy(code, piece, IMG_PIECE);
	memcpy(code + IMG_PIECE, piece, IMG_PIECE / 2);
	memcpy(table, piece + 4, sizeof table);
	pack_image(part, 2, false, &out);
	p = (const struct img_pack *)(const void *)out.p;
	assert_int_equal(p->n, 3);
	assert_int_equal(p->at[3], out.n);
	assert_true(img_unpack(out.p + p->at[1], p->at[2] - p->at[1], back));
	assert_memory_equal(back, code + IMG_PIECE, IMG_PIECE / 2);
	assert_int_equal(back[IMG_PIECE - 1], 0);
	assert_true(img_unpack(out.p + p->at[2], p->at[3] - p->at[2], back));
	assert_memory_equal(back, table, sizeof table);
	pm_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip), cmocka_unit_test(damage), cmocka_unit_test(image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
