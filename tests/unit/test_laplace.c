/* SPDX-License-Identifier: MIT */
/* test_laplace.c - the merge against a slow, obvious model: for every page of every address space
 * the model remembers which object and which page of it is there (transform/laplace.h, invariants
 * 1-3) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats_util.h"
#include "transform/laplace.h"

#define SPACES	4
#define PAGES	64
#define FILES	3
#define FPAGES	80

/* What a page is: the model's own numbers, given out one by one and never again. */
static unsigned at[SPACES][PAGES];		/* 0: nothing mapped */
static unsigned file[FILES][FPAGES], shm[2][PAGES];
static unsigned fresh, canonical[200000], numbers;
static uint64_t seed;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((seed >> 33) % n);
}

static unsigned page_of_file(unsigned f, unsigned i)
{
	if (!file[f][i])
		file[f][i] = ++fresh;
	return file[f][i];
}

static unsigned number(unsigned thing)
{
	if (!canonical[thing])
		canonical[thing] = ++numbers;
	return canonical[thing];
}

/* One random event, as text and in the model. Addresses are page * 4096; task i lives in space i +
 * 1. */
static void event(struct pm_buf *to, struct pm_buf *want, unsigned time)
{
	unsigned s = rnd(SPACES), lo = rnd(PAGES), n = 1 + rnd(PAGES - lo < 9 ? PAGES - lo : 9),
		 f = rnd(FILES);
	unsigned d, first, was[PAGES];

	switch (rnd(11)) {
	case 0:
		pm_buf_printf(to, "m %x %x %x %x\n", time, s, lo << 12, n << 12);
		for (unsigned i = 0; i < n; i++)
			at[s][lo + i] = ++fresh;
		break;
	case 1:
		first = rnd(FPAGES - 10);
		pm_buf_printf(to, "M %x %x %x %x %x 8 1 %x lib\n", time, s, lo << 12, n << 12, f,
			      first);
		for (unsigned i = 0; i < n; i++)
			at[s][lo + i] = page_of_file(f, first + i);
		break;
	case 2:
		pm_buf_printf(to, "U %x %x %x %x\n", time, s, lo << 12, n << 12);
		memset(&at[s][lo], 0, n * sizeof at[0][0]);
		break;
	case 3:
		pm_buf_printf(to, "C %x %x %x\n", time, s, (lo << 12) + 0x123);
		at[s][lo] = ++fresh;
		break;
	case 4:
		d = rnd(SPACES);
		pm_buf_printf(to, "D %x %x %x %x %x\n", time, s + 1, d + 1, lo << 12,
			      (lo + n) << 12);
		for (unsigned i = 0; i < n && d != s; i++)
			if (at[s][lo + i])
				at[d][lo + i] = at[s][lo + i];
		break;
	case 5:
		f = rnd(2);
		pm_buf_printf(to, "s %x %x %x %x %x\n", time, s, lo << 12, n << 12, f);
		for (unsigned i = 0; i < n; i++) {
			if (!shm[f][i])
				shm[f][i] = ++fresh;
			at[s][lo + i] = shm[f][i];
		}
		break;
	case 6:
		pm_buf_printf(to, "u %x %x\n", time, s + 1);
		memset(at[s], 0, sizeof at[s]);
		break;
	case 7:		/* the same size, to a place that may overlap the old one */
		d = rnd(PAGES - n + 1);
		pm_buf_printf(to, "@ %x %x %x %x %x %x\n", time, s, d << 12, n << 12, lo << 12,
			      n << 12);
		memcpy(was, &at[s][lo], n * sizeof *was);
		memset(&at[s][lo], 0, n * sizeof *was);
		for (unsigned i = 0; i < n; i++)
			if (was[i])
				at[s][d + i] = was[i];
		break;
	case 8:
		first = rnd(FPAGES - 10);
		d = rnd(2);
		pm_buf_printf(to, "%c %x %x %x 8 1 %x %x\n", d ? '>' : '<', time, s, f, first << 12,
			      n << 12);
		for (unsigned i = 0; i < n; i++)
			pm_buf_printf(want, "%c %x\n", d ? 'W' : 'R',
				      number(page_of_file(f, first + i)));
		break;
	default:
		/* schedule records and what else changes no mapping */
		pm_buf_printf(to, "S %x %x\n", time, s);
	}
}

static void reference(struct pm_buf *to, struct pm_buf *want, unsigned time)
{
	unsigned s = rnd(SPACES), p = rnd(PAGES), kind = rnd(3);

	pm_buf_printf(to, "%c %x 4 %x %x\n", "rwi"[kind], time, s + 1, (p << 12) + rnd(4092));
	if (!at[s][p])
		at[s][p] = ++fresh;
	pm_buf_printf(want, "%c %x\n", "RWI"[kind], number(at[s][p]));
}

static enum pm_status source(struct pm_source *s, const char *format, const struct pm_buf *b,
			     struct pm_input **in, struct pm_err *err)
{
	static struct { struct pm_source_ops ops; } made[2];
	static unsigned turn;
	const struct pm_format *f = pm_format_find(format, err);
	struct pm_source_ops *ops = &made[turn++ % 2].ops;

	*in = pm_input_memory(b->p, b->n, format);
	*ops = (struct pm_source_ops){ format, f->read->next, f->read->close };
	s->ops = ops;
	s->self = f->read->open(*in, &(struct pm_read_opts){ NULL, "" }, &s->facts, err);
	return s->self ? PM_OK : PM_ERR;
}

static void test_model(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		struct pm_buf events = { 0 }, refs = { 0 }, want = { 0 }, got = { 0 };
		struct pm_source r, e, m;
		struct pm_input *in[2];
		struct pm_err err = { 0 };
		enum pm_status st;

		seed = round + 1;
		memset(at, 0, sizeof at);
		memset(file, 0, sizeof file);
		memset(shm, 0, sizeof shm);
		memset(canonical, 0, sizeof canonical);
		fresh = numbers = 0;
		for (unsigned i = 0; i < SPACES; i++)
			pm_buf_printf(&events, "A 1 %x %x\n", i, i + 1);
		for (unsigned t = 2; t < 3000; t++) {
			/* at equal times the event comes first */
			if (!rnd(4))
				event(&events, &want, t);
			if (rnd(3))
				reference(&refs, &want, t);
		}
		assert_int_equal(source(&r, "laplace-text", &refs, &in[0], &err), PM_OK);
		assert_int_equal(source(&e, "laplace-events", &events, &in[1], &err), PM_OK);
		m = pm_laplace_merge(&r, &e, PM_LAPLACE_KERNEL);
		for (;;) {
			const struct pm_batch *b = NULL;

			st = m.ops->next(m.self, &b, &err);
			if (st != PM_OK)
				break;
			for (size_t i = 0; i < b->n; i++) {
				const struct pm_event *ev = &b->ev[i];

				if (ev->kind == PM_EV_READ || ev->kind == PM_EV_WRITE ||
				    ev->kind == PM_EV_INSN)
					pm_buf_printf(&got, "%c %llx\n",
						      ev->kind == PM_EV_READ	? 'R'
						      : ev->kind == PM_EV_WRITE ? 'W'
										: 'I',
						      (unsigned long long)ev->value);
			}
		}
		assert_int_equal(st, PM_END);
		if (got.n != want.n || memcmp(got.p, want.p, got.n)) {
			size_t at_byte = 0, line = 1;

			while (at_byte < got.n && at_byte < want.n &&
			       got.p[at_byte] == want.p[at_byte])
				line += got.p[at_byte++] == '\n';
			fail_msg("round %u: reference %zu differs", round, line);
		}
		assert_true(numbers > 100);
		m.ops->close(m.self);
		pm_input_close(in[0]);
		pm_input_close(in[1]);
		pm_buf_release(&events);
		pm_buf_release(&refs);
		pm_buf_release(&want);
		pm_buf_release(&got);
	}
}

/* A deleted file's pages are gone: the same name later is another file (invariant 3). */
static void test_delete(void **state)
{
	static const char ev[] = "A 1 1 1\nM 2 1 1000 2000 7 8 1 0 f\nt 10 7 8 1 1000\n- 20 7 8 "
				 "1\n";
	static const char rf[] = "r 3 4 1 1000\nr 4 4 1 2000\nr 11 4 1 1000\nr 12 4 1 2000\nr 21 4 "
				 "1 1000\n";
	static const uint64_t want[] = { 1, 2, 1, 3, 4 };
	struct pm_buf events = { 0 }, refs = { 0 };
	struct pm_source r, e, m;
	struct pm_input *in[2];
	struct pm_err err = { 0 };
	const struct pm_batch *b;
	unsigned n = 0;

	(void)state;
	pm_buf_add(&events, ev, sizeof ev - 1);
	pm_buf_add(&refs, rf, sizeof rf - 1);
	assert_int_equal(source(&r, "laplace-text", &refs, &in[0], &err), PM_OK);
	assert_int_equal(source(&e, "laplace-events", &events, &in[1], &err), PM_OK);
	m = pm_laplace_merge(&r, &e, PM_LAPLACE_KERNEL);
	while (m.ops->next(m.self, &b, &err) == PM_OK)
		for (size_t i = 0; i < b->n; i++)
			if (b->ev[i].kind == PM_EV_READ) {
				assert_int_equal(b->ev[i].value, want[n]);
				n++;
			}
	assert_int_equal(n, 5);
	m.ops->close(m.self);
	pm_input_close(in[0]);
	pm_input_close(in[1]);
	pm_buf_release(&events);
	pm_buf_release(&refs);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_model),
		cmocka_unit_test(test_delete) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
