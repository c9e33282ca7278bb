/* SPDX-License-Identifier: MIT */
/* test_links.c - branches from unit to unit are patched as far as a displacement reaches */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collect/space/space_internal.h"

#define CODE	0x7f0000000000ull
#define SITE	64u

static uint8_t bytes[4096] __attribute__((aligned(64)));

/* A link at SITE is patched to lead to @to: is it done, and what is in the code then? */
static bool patch(bool i386, uint32_t code_cap, uint64_t to, int32_t *disp)
{
	struct module m = { .code.at = CODE, .code.cap = code_cap };
	struct spaces s = { .code = bytes };
	struct space sp = { .module = &m, .nmodule = 1, .i386 = i386 };
	struct link l = { .site = SITE };

	memset(bytes, 0, sizeof bytes);
	link_patch(&s, &sp, &l, to);
	memcpy(disp, bytes + SITE, sizeof *disp);
	return l.done;
}

static void patched_if_in_reach(void **state)
{
	const uint64_t next = CODE + SITE + 4;
	int32_t disp;

	(void)state;
	assert_true(patch(false, sizeof bytes, next + 100, &disp));
	assert_int_equal(disp, 100);
	assert_true(patch(false, sizeof bytes, next + INT32_MAX, &disp));
	assert_int_equal(disp, INT32_MAX);
	assert_true(patch(false, sizeof bytes, next - 0x80000000u, &disp));
	assert_int_equal(disp, INT32_MIN);
}

static void open_if_not(void **state)
{
	const uint64_t next = CODE + SITE + 4;
	int32_t disp;

	(void)state;
	assert_false(patch(false, sizeof bytes, next + 0x80000000u, &disp));
	assert_int_equal(disp, 0);
	assert_false(patch(false, sizeof bytes, next - 0x80000001u, &disp));
	assert_int_equal(disp, 0);
}

/* In 4 GiB everything is in reach. */
static void patched_in_32_bit_code(void **state)
{
	int32_t disp;

	(void)state;
	assert_true(patch(true, sizeof bytes, CODE + SITE + 4 + 0x90000000u, &disp));
	assert_int_equal((uint32_t)disp, 0x90000000u);
}

static void not_in_code_given_back(void **state)
{
	int32_t disp;

	(void)state;
	assert_false(patch(false, 0, CODE + 1000, &disp));
	assert_int_equal(disp, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patched_if_in_reach),
		cmocka_unit_test(open_if_not),
		cmocka_unit_test(patched_in_32_bit_code),
		cmocka_unit_test(not_in_code_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
