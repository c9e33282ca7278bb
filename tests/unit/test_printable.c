/* SPDX-License-Identifier: MIT */
/* What names may hold is written so that nobody obeys it (base/printable.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/printable.h"
#include "base/utf8.h"

static void test_escapes(void **state)
{
	static const struct { const char *name, *text; } is[] = {
		{ "plain name", "plain name" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" }, { "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "\xf0\x9f\x90\x86", "\xf0\x9f\x90\x86" },
		{ "a\nb\tc\rd", "a\\nb\\tc\\rd" },
		{ "\033[31mred\007\177", "\\e[31mred\\x07\\x7f" },
		{ "back\\slash", "back\\slash" },
		/* not UTF-8: alone, cut short, overlong, a surrogate, beyond Unicode */
		{ "\xff", "\\xff" }, { "caf\xe9", "caf\\xe9" }, { "\xe2\x82", "\\xe2\\x82" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, { "\x80", "\\x80" },
		/* CSI as one character, right-to-left override, line separator, byte order mark */
		{ "\xc2\x9b""31m", "\\u009b31m" }, { "\xe2\x80\xae""exe", "\\u202eexe" },
		{ "\xe2\x80\xa8", "\\u2028" }, { "\xef\xbb\xbf", "\\ufeff" },
		{ "\xe2\x81\xa6", "\\u2066" }, { "\xd8\x9c", "\\u061c" },
		{ "", "" },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		struct pm_buf b = { 0 };

		assert_string_equal(pm_printable(is[i].name, buf, sizeof buf), is[i].text);
		pm_printable_add(&b, is[i].name);
		pm_buf_add(&b, "", 1);
		assert_string_equal((const char *)b.p, is[i].text);
		pm_buf_release(&b);
	}
}

/* All beginnings are whole characters and escapes, and nothing is written behind the buffer. */
static void test_cut(void **state)
{
	static const char *const whole[] = { "", "", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9",
					     "\xc3\xa9\\xff", "\xc3\xa9\\xff", "\xc3\xa9\\xff" };
	char buf[12];

	(void)state;
	for (size_t size = 1; size <= 9; size++) {
		memset(buf, 'x', sizeof buf);
		assert_string_equal(pm_printable("\xc3\xa9\xff\xe2\x80\xae", buf, size),
				    whole[size - 1]);
		for (size_t i = size; i < sizeof buf; i++)
			assert_int_equal(buf[i], 'x');
	}
}

/* Each code, encoded, is found again; and what is printed is printable. */
static void test_every_code(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
		char s[5] = { 0 }, buf[16];
		uint32_t code;
		unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

		if (n == 1)
			s[0] = (char)c;
		for (unsigned i = n - 1; n > 1 && i; i--)
			s[i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
		if (n > 1)
			s[0] = (char)((0xf00 >> n & 0xff) | c >> (6 * (n - 1)));
		if (c >= 0xd800 && c <= 0xdfff) {
			assert_int_equal(pm_utf8_char(s, &code), 0);
			continue;
		}
		assert_int_equal(pm_utf8_char(s, &code), n);
		assert_int_equal(code, c);
		pm_printable(s, buf, sizeof buf);
		assert_int_equal(!strcmp(s, buf), pm_is_printable(c));
		for (const char *p = buf; *p; p += n) {
			n = pm_utf8_char(p, &code);
			assert_true(n && pm_is_printable(code));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_every_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
