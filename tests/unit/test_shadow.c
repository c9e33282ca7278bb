/* SPDX-License-Identifier: MIT */
/* test_shadow.c - entries for indirect branches lead where they should, and nowhere else
 *
 *   test_shadow [SEED]
 *
 * The model has an entry for each byte of text: to where it leads, 0: nowhere. It knows which bytes
 * are like others that may be executed by looking at each. */
#include "alone.h"

#define TEXT	8192u			/* bytes that modules here have */
#define ROUNDS	60

static struct spaces s;

struct model {
	uint64_t to[TEXT];
	bool gap[TEXT];
};

static int set_up(void **state)
{
	(void)state;
	alone_open(&s);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alone_close(&s);
	return 0;
}

static struct module *new_module(struct space *sp, uint64_t lo)
{
	struct module *m = alone_module(sp, lo, 0x10000000);

	m->text.hi = lo + TEXT;
	m->text.len = TEXT;
	m->shadow.len = 4 * TEXT;
	return m;
}

/* What the shadow of @m says of @pc. */
static uint64_t entry(const struct module *m, uint64_t pc)
{
	int32_t d;

	memcpy(&d, s.code + m->shadow.off + 4 * (pc - m->text.lo), sizeof d);
	return d ? pc + (uint64_t)(int64_t)d : 0;
}

static void compare(const struct module *m, const struct model *x)
{
	for (uint64_t k = 0; k < TEXT; k++)
		assert_int_equal(entry(m, m->text.lo + k), x->gap[k] ? 0 : x->to[k]);
}

/* @m's code for address @pc, somewhere. */
static uint64_t any_place(const struct module *m)
{
	return m->code.at + any(m->code.cap);
}

static void add_some(struct space *sp, struct module *m, struct model *x, unsigned n)
{
	while (n--) {
		const uint64_t k = any(TEXT), to = any(8) ? any_place(m) : 0;

		space_shadow(&s, sp, m, m->text.lo + k, to);
		x->to[k] = x->gap[k] ? 0 : to;
	}
}

static void each_address_has_its_entry(void **state)
{
	static struct model x;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct space *sp = space_new(&s, false);
		struct module *m = new_module(sp, ALONE_LO);

		memset(&x, 0, sizeof x);
		add_some(sp, m, &x, 1 + (unsigned)any(2000));
		compare(m, &x);
		space_unref(&s, sp);
	}
}

/* Is an address that may be executed, and is not @pc, like it? */
static bool is_like_another(uint64_t pc, const uint64_t lo[], const uint64_t hi[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (uint64_t a = lo[i]; a < hi[i]; a += 64)
			if (a != pc / 64 * 64 && (uint32_t)a == (uint32_t)(pc / 64 * 64))
				return true;
	return false;
}

/* At most as many gaps as there is room for: each is as the model says. */
static void no_entries_where_alike(void **state)
{
	static struct model x;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct space *sp = space_new(&s, false);
		struct module *m = new_module(sp, ALONE_LO);
		const unsigned n = 1 + (unsigned)any(MAX_GAPS);
		uint64_t lo[MAX_GAPS], hi[MAX_GAPS];
		struct piece piece[MAX_PIECES];
		unsigned npiece;

		memset(&x, 0, sizeof x);
		for (unsigned i = 0; i < n; i++) {
			/* sometimes it is @m's own range */
			const uint64_t far = any(4) ? (1 + any(3)) << 32 : 0;

			lo[i] = ALONE_LO + far + any(TEXT / 64) * 64 - any(2) * TEXT / 2;
			hi[i] = lo[i] + (1 + any(20)) * 64;
			add_some(sp, m, &x, 100);
			space_find_aliases(&s, sp, lo[i], hi[i]);
			for (uint64_t k = 0; k < TEXT; k++)
				x.gap[k] |= is_like_another(m->text.lo + k, lo, hi, i + 1);
			compare(m, &x);
		}
		add_some(sp, m, &x, 2000);
		compare(m, &x);
		/* exactly what has entries is mapped */
		npiece = shadow_pieces(m, piece);
		for (uint64_t k = 0; k < TEXT; k++) {
			bool mapped = false;

			for (unsigned i = 0; i < npiece; i++)
				mapped |= m->text.lo + k - piece[i].lo <
					  piece[i].hi - piece[i].lo;
			assert_int_equal(mapped, !x.gap[k]);
		}
		assert_int_equal(space_whole_shadow(m), npiece == 1 && m->shadow.ngap == 0);
		space_unref(&s, sp);
	}
}

/* More than there is room for: what should have none has none, and what is in no gap is right. */
static void many_gaps(void **state)
{
	static struct model x;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct space *sp = space_new(&s, false);
		struct module *m = new_module(sp, ALONE_LO);
		uint64_t lo[20], hi[20], gaps = 0;

		memset(&x, 0, sizeof x);
		add_some(sp, m, &x, 3000);
		for (unsigned i = 0; i < NR(lo); i++) {
			lo[i] = ALONE_LO + (1ull << 32) + any(TEXT / 64) * 64;
			hi[i] = lo[i] + 64;
			space_find_aliases(&s, sp, lo[i], hi[i]);
		}
		assert_true(m->shadow.ngap <= MAX_GAPS);
		for (uint64_t k = 0; k < TEXT; k++) {
			bool in = false;

			for (unsigned i = 0; i < m->shadow.ngap; i++)
				in |= m->text.lo + k - m->shadow.gap[i].lo <
				      m->shadow.gap[i].hi - m->shadow.gap[i].lo;
			gaps += in;
			assert_true(in || !is_like_another(m->text.lo + k, lo, hi, NR(lo)));
			assert_int_equal(entry(m, m->text.lo + k), in ? 0 : x.to[k]);
		}
		assert_true(gaps < TEXT);
		space_unref(&s, sp);
	}
}

/* Two modules whose addresses are partly alike: neither has entries there. */
static void modules_that_are_alike(void **state)
{
	static struct model x[2];

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t shift = any(2 * TEXT / 64) * 64, at[2] = {
			ALONE_LO, ALONE_LO + ((1 + any(5)) << 32) - TEXT + shift };
		struct space *sp = space_new(&s, false);

		memset(x, 0, sizeof x);
		new_module(sp, at[0]);
		new_module(sp, at[1]);
		for (unsigned i = 0; i < 2; i++)
			add_some(sp, &sp->module[i], &x[i], 2000);
		for (unsigned i = 0; i < 2; i++)
			space_find_aliases(&s, sp, at[i], at[i] + TEXT);
		for (unsigned i = 0; i < 2; i++)
			for (uint64_t k = 0; k < TEXT; k++) {
				/* alike in the other one's range */
				const uint32_t off = (uint32_t)(at[i] + k - at[!i]);

				x[i].gap[k] = off < TEXT;
			}
		for (unsigned i = 0; i < 2; i++) {
			compare(&sp->module[i], &x[i]);
			add_some(sp, &sp->module[i], &x[i], 500);
			compare(&sp->module[i], &x[i]);
		}
		space_unref(&s, sp);
	}
}

/* Who forks shares, until one changes: from then on each has its own. */
static void copies_are_alike_and_apart(void **state)
{
	static struct model x, y;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct space *sp = space_new(&s, false);
		struct space_user user = { .space = sp };
		struct module *m = new_module(sp, ALONE_LO), *n;
		struct rt_mail mail = { 0 };
		const uint64_t alike = ALONE_LO + (1ull << 32) + any(100) * 64;

		memset(&x, 0, sizeof x);
		add_some(sp, m, &x, 1000);
		if (any(2)) {
			space_find_aliases(&s, sp, alike, alike + 640);
			for (uint64_t k = 0; k < TEXT; k++)
				x.gap[k] = is_like_another(m->text.lo + k, &alike,
							    &(uint64_t){ alike + 640 }, 1);
		}
		sp->refs++;
		assert_true(diverge(&s, &user, &mail));
		assert_ptr_not_equal(user.space, sp);
		assert_int_equal(sp->refs, 1);
		n = &user.space->module[0];
		y = x;
		compare(m, &x);
		compare(n, &y);
		add_some(sp, m, &x, 1000);
		add_some(user.space, n, &y, 1000);
		compare(m, &x);
		compare(n, &y);
		space_unref(&s, user.space);
		space_unref(&s, sp);
	}
}

static int by_pc(const void *a, const void *b)
{
	const struct shadow_entry *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Entries of a stored file: pages that were needed are there at once, the others when they are;
 * all together they are what entering one by one gives. */
static void filled_page_by_page(void **state)
{
	static struct model x;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct space *sp = space_new(&s, false);
		struct module *m = new_module(sp, ALONE_LO);
		struct shadow_entry e[300];
		uint32_t n = 0;

		memset(&x, 0, sizeof x);
		for (unsigned i = 0; i < NR(e); i++) {
			const uint64_t k = any(TEXT), code = any(m->code.cap);

			if (x.to[k])
				continue;
			x.to[k] = m->code.at + code;
			e[n++] = (struct shadow_entry){ (uint32_t)k, (uint32_t)code };
		}
		qsort(e, n, sizeof *e, by_pc);
		m->stored.entries = e;
		m->stored.nentry = n;
		m->stored.needed = pm_alloc(shadow_bits(m));
		m->shadow.filled = pm_alloc(shadow_bits(m));
		m->stored.file = (const struct cache_file *)(const void *)e;	/* there is one */
		m->stored.needed[0] = (uint8_t)any(256);
		shadow_fill(&s, sp, m);
		for (uint64_t k = 0; k < TEXT; k++)
			assert_int_equal(entry(m, m->text.lo + k),
					 m->stored.needed[0] >> k / SHADOW_TEXT & 1 ? x.to[k] : 0);
		for (uint64_t page = 0; page < TEXT / SHADOW_TEXT; page++)
			shadow_need(&s, sp, m, m->text.lo + page * SHADOW_TEXT + any(SHADOW_TEXT));
		compare(m, &x);
		/* once filled, a page is what has been entered since */
		add_some(sp, m, &x, 100);
		for (uint64_t page = 0; page < TEXT / SHADOW_TEXT; page++)
			shadow_need(&s, sp, m, m->text.lo + page * SHADOW_TEXT);
		compare(m, &x);
		m->stored.file = NULL;
		free(m->stored.needed);
		m->stored.needed = NULL;			/* not to be saved */
		space_unref(&s, sp);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_entry),
		cmocka_unit_test(no_entries_where_alike),
		cmocka_unit_test(many_gaps),
		cmocka_unit_test(modules_that_are_alike),
		cmocka_unit_test(copies_are_alike_and_apart),
		cmocka_unit_test(filled_page_by_page),
	};

	alone_seed(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
