/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* By its definition, without a table: what the first letters of both cost. */
static unsigned slow(const char *a, size_t n, const char *b, size_t m)
{
	unsigned d;

	if (!n || !m)
		return (unsigned)(n + m);
	d = slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
	d = smaller(d, slow(a, n - 1, b, m) + 1);
	d = smaller(d, slow(a, n, b, m - 1) + 1);
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
		d = smaller(d, slow(a, n - 2, b, m - 2) + 1);
	return d;
}

/* All pairs of words of up to five letters out of two, and every limit. */
static void distances(void **state)
{
	char w[63][6];
	unsigned n = 0;

	for (unsigned len = 0; len < 6; len++)
		for (unsigned bits = 0; bits < 1u << len; bits++, n++) {
			for (unsigned i = 0; i < len; i++)
				w[n][i] = bits >> i & 1 ? 'a' : 'b';
			w[n][len] = 0;
		}
	assert_int_equal(n, 63);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++) {
			unsigned d = slow(w[i], strlen(w[i]), w[k], strlen(w[k]));

			for (unsigned most = 0; most < 7; most++)
				assert_int_equal(pm_distance(w[i], w[k], most),
						 d > most ? most + 1 : d);
		}
	assert_int_equal(pm_distance("kitten", "SITTING", 9), 3);
}

static void long_names(void **state)
{
	char a[400], b[400];

	memset(a, 'x', sizeof a);
	memset(b, 'x', sizeof b);
	a[200] = b[200] = 0;
	b[7] = 'y';
	assert_int_equal(pm_distance(a, b, 3), 1);
	a[200] = 'x';
	a[201] = 0;
	assert_int_equal(pm_distance(a, b, 3), 4);	/* too long to be compared */
}

static void asks(const char *typed, const char *list, const char *want)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];

	pm_nearest_try_list(&near, typed, list);
	assert_string_equal(pm_nearest_hint(&near, hint), want);
	assert_int_equal(near.n, 0);
}

static void hints(void **state)
{
	const char *all = "run, annotate, convert, size=N, sets, ways, l1, info";

	asks("convret", all, "; did you mean 'convert'?");
	asks("sise", all, "; did you mean 'size'?");
	asks("anno", all, "; did you mean 'annotate'?");	/* how it begins */
	asks("rn", all, "; did you mean 'run'?");
	asks("x", all, "");
	asks("", all, "");
	asks("quantum", all, "");
	asks("speed", all, "");
	asks("ab", "aa, ac, ad, ae", "; did you mean 'aa', 'ac' or 'ad'?");
	asks("aaaaaaaaab", "aaaaaaaaac, aaaaaaaaa, aaaaaaa", "; did you mean 'aaaaaaaaac' or "
							      "'aaaaaaaaa'?");
}

/* The best three stay, each once. */
static void keeps(void **state)
{
	struct pm_nearest near = { 0 };

	pm_nearest_keep(&near, "d", 4);
	pm_nearest_keep(&near, "b", 2);
	pm_nearest_keep(&near, "b", 1);
	pm_nearest_keep(&near, "c", 3);
	pm_nearest_keep(&near, "a", 1);
	pm_nearest_keep(&near, "e", 5);
	assert_int_equal(near.n, 3);
	assert_string_equal(near.v[0].name, "a");
	assert_string_equal(near.v[1].name, "b");
	assert_string_equal(near.v[2].name, "c");
	pm_nearest_release(&near);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(long_names),
		cmocka_unit_test(hints),
		cmocka_unit_test(keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
