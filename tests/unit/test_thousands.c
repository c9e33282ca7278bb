/* SPDX-License-Identifier: MIT */
/* Counts of thousands against caches that see every reference, and against counting by hand; the
 * same from a store that went through a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "analyse/cache_sim.h"
#include "analyse/thousands.h"
#include "analyse/warm.h"
#include "base/mem.h"
#include "real_trace.h"
#include "trace/pug.h"

/* All thousands of @ev, row by row; far counts are zeros. */
static uint32_t *counted(const struct pm_event *ev, size_t n, size_t *rows)
{
	struct thousands *t = thousands_new();
	size_t insns = 0, from = 0;
	struct pm_buf b;
	uint32_t *row;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && (ev[i].kind != PM_EV_INSN || !insns || insns % PM_THOUSAND)) {
			insns += ev[i].kind == PM_EV_INSN;
			continue;
		}
		thousands_events(t, &(struct pm_batch){ .ev = ev + from, .n = i - from });
		thousands_end(t);
		from = i;
		insns += i < n;
	}
	b = thousands_take(t, rows);
	for (size_t i = 0; i < *rows * (PM_THOUSAND_COUNTS - PM_NEAR_END); i++)
		pug_varint(&b, 0);
	row = pm_alloc((*rows + 1) * PM_THOUSAND_COUNTS * sizeof *row);
	assert_true(thousands_get(b.p, b.n, *rows, row));
	assert_false(thousands_get(b.p, b.n - 1, *rows, NULL));
	assert_false(thousands_get(b.p, b.n, *rows + 1, NULL));
	pm_buf_release(&b);
	thousands_free(t);
	return row;
}

static void near_counts(void **state)
{
	struct pm_err err = { 0 };
	struct pm_cache *c = pm_cache_new("l1i=32k,8way,64;l1d=32k,8way,64", &err);
	size_t n, rows, at = 0, insns = 0;
	struct pm_event *ev = real_events(300000, &n);
	uint32_t *row = counted(ev, n, &rows), want[PM_THOUSAND_COUNTS] = { 0 };
	uint64_t wrong = 0, conditional = 0;

	for (size_t i = 0; i <= n; i++) {
		const struct pm_event *e = ev + i;

		if (i == n || (e->kind == PM_EV_INSN && insns && insns % PM_THOUSAND == 0)) {
			const uint32_t *got = row + at++ * PM_THOUSAND_COUNTS;

			assert_int_equal(got[PM_THOUSAND_reads], want[PM_THOUSAND_reads]);
			assert_int_equal(got[PM_THOUSAND_writes], want[PM_THOUSAND_writes]);
			assert_int_equal(got[PM_THOUSAND_taken], want[PM_THOUSAND_taken]);
			assert_int_equal(got[PM_THOUSAND_conditional],
					 want[PM_THOUSAND_conditional]);
			assert_int_equal(got[PM_THOUSAND_data], want[PM_THOUSAND_data]);
			assert_int_equal(got[PM_THOUSAND_code], want[PM_THOUSAND_code]);
			wrong += got[PM_THOUSAND_wrong];
			conditional += got[PM_THOUSAND_conditional];
			memset(want, 0, sizeof want);
			if (i == n)
				break;
		}
		insns += e->kind == PM_EV_INSN;
		if (e->kind == PM_EV_BRANCH) {
			want[PM_THOUSAND_taken] += (e->flags & PM_BR_TAKEN) != 0;
			want[PM_THOUSAND_conditional] += (e->flags & PM_BR_COND) != 0;
		} else if (e->kind == PM_EV_INSN || (e->kind >= PM_EV_READ &&
						     e->kind <= PM_EV_MODIFY)) {
			const bool code = e->kind == PM_EV_INSN;
			const uint64_t end = (e->addr + (e->size ? e->size - 1 : 0)) / 64;

			want[PM_THOUSAND_reads] += !code && e->kind != PM_EV_WRITE;
			want[PM_THOUSAND_writes] += !code && e->kind != PM_EV_READ;
			for (uint64_t l = e->addr / 64; l <= end; l++)
				want[code ? PM_THOUSAND_code : PM_THOUSAND_data] +=
					pm_cache_access(c, code ? PM_OP_FETCH : PM_OP_READ, l * 64,
							1, false, 0);
		}
	}
	assert_int_equal(at, rows);
	assert_true(conditional > 10000 && wrong > 100 && wrong < conditional / 2);
	pm_cache_free(c);
	free(row);
	free(ev);
}

/* Far counts: lines in the order of their first use miss as in caches that see just these. */
static void far_counts_are_of_first_uses(void **state)
{
	struct far_counts *f = far_counts_new();
	struct pm_buf b = { 0 };
	struct pug_span s;
	uint64_t v[6][3];

	/* 8,192 lines are 512 KB: the second time 2 MB have them, and 256 KB do not */
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 8192; i++)
			far_counts_line(f, i * 64, false, false, (uint32_t)(i / 4096));
		far_counts_line(f, 1 << 30, true, false, 2);
		b.n = 0;
		far_counts_end(f, 3, &b);
		s = (struct pug_span){ b.p, b.p + b.n };
		for (unsigned k = 0; k < 6; k++)
			for (unsigned i = 0; i < 3; i++)
				assert_true(pug_get_varint(&s, &v[k][i]));
		assert_true(s.p == s.end);
		assert_int_equal(v[0][0], 4096);
		assert_int_equal(v[0][1], 4096);
		assert_int_equal(v[0][2], 0);
		assert_int_equal(v[1][0], round ? 0 : 4096);
		assert_int_equal(v[2][1], round ? 0 : 4096);
		assert_int_equal(v[3][2], 1);
		assert_int_equal(v[4][2], round ? 0 : 1);
		assert_int_equal(v[5][2], round ? 0 : 1);
	}
	pm_buf_release(&b);
	far_counts_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_counts),
		cmocka_unit_test(far_counts_are_of_first_uses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
