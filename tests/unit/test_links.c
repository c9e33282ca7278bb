/* SPDX-License-Identifier: MIT */
/* test_links.c - branches from unit to unit are patched as far as a displacement reaches, and wait
 * until there is something to lead to
 *
 *   test_links [SEED] */
#include "alone.h"

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

/* ---- links that wait: (5) of space.h --------------------------------------------------------- */
#define LINKS	4000u
#define TARGETS	40u			/* addresses; a half of them in each of two modules */
#define STEPS	3000u

struct model_link {
	uint64_t target;
	bool waits, done, counting;
};

static struct model_link model[LINKS];

/* An address in module 0 or 1, or in none. */
static uint64_t any_target(void)
{
	return ALONE_LO + any(3) * 0x100000 + any(TARGETS / 2) * 16;
}

/* All that wait under an address are those that the model says, and each once. */
static void compare_waiting(const struct space *sp)
{
	static bool seen[LINKS];
	uint64_t pc, head;
	size_t n = 0, wait = 0;

	memset(seen, 0, sizeof seen);
	for (size_t k = 0; pm_map_next(&sp->pending, &k, &pc, &head); )
		for (uint64_t i = head; i; i = sp->link[i - 1].next, n++) {
			assert_int_equal(sp->link[i - 1].target, pc);
			assert_true(model[i - 1].waits && !seen[i - 1]);
			seen[i - 1] = true;
		}
	for (size_t i = 0; i < sp->nlink; i++) {
		wait += model[i].waits;
		assert_int_equal(sp->link[i].done, model[i].done);
	}
	assert_int_equal(n, wait);
}

static void add_link(struct spaces *s, struct space *sp)
{
	const uint32_t mi = (uint32_t)any(2), i = (uint32_t)sp->nlink;
	const struct module *m = &sp->module[mi];

	model[i] = (struct model_link){ .target = any_target(), .counting = !any(4) };
	model[i].waits = m->text.lo <= model[i].target && model[i].target < m->text.hi;
	/* a line for each, so that none is in two */
	assert_int_equal(link_add(s, sp, mi, model[i].target, LINE * i + 8, LINE * i + 16,
				  model[i].counting, false), i);
}

/* Something is at @pc now; @counting: with a counting copy. */
static void resolve(struct spaces *s, struct space *sp, uint64_t pc, bool counting)
{
	const struct module *m = module_at(sp, pc);

	if (!m)
		return;
	links_resolved(s, sp, pc, m->code.at + 0x100, counting ? m->code.at + 0x200 : 0);
	for (size_t i = 0; i < sp->nlink; i++) {
		const uint32_t site = sp->link[i].site;
		uint32_t d;

		if (!model[i].waits || model[i].target != pc)
			continue;
		model[i].waits = false;
		model[i].done = !model[i].counting || counting;
		memcpy(&d, code_ptr(s, m, site), sizeof d);
		assert_int_equal(d, !model[i].done ? 0 :
				    (model[i].counting ? 0x200 : 0x100) - (site + 4));
	}
}

/* What link @i leads to has died: it waits for the next one. */
static void wait_again(const struct spaces *s, struct space *sp, uint32_t i)
{
	const struct module *m = &sp->module[sp->link[i].module];

	if (!(m->text.lo <= model[i].target && model[i].target < m->text.hi))
		return;
	sp->link[i].done = model[i].done = false;
	patch32(code_ptr(s, m, sp->link[i].site), 0);
	link_wait(sp, i);
	model[i].waits = true;
}

/* Link @i has been patched by who came there. */
static void patch_one(struct spaces *s, struct space *sp, uint32_t i)
{
	struct link *l = &sp->link[i];

	link_patch(s, sp, l, sp->module[l->module].code.at + 0x300);
	assert_true(l->done);
	link_stop_waiting(sp, i);
	model[i].done = true;
	model[i].waits = false;
}

static void all_that_wait_and_no_others(void **state)
{
	struct spaces s;
	struct space *sp;

	(void)state;
	alone_open(&s);
	sp = space_new(&s, false);
	alone_module(sp, ALONE_LO, 0x10000000)->text.hi = ALONE_LO + 0x10000;
	alone_module(sp, ALONE_LO + 0x100000, 0x10000000)->text.hi = ALONE_LO + 0x110000;
	for (unsigned step = 0; step < STEPS; step++) {
		const uint32_t i = sp->nlink ? (uint32_t)any(sp->nlink) : 0;

		switch (sp->nlink ? any(8) : 0) {
		case 0: case 1: case 2: case 3: add_link(&s, sp); break;
		case 4: resolve(&s, sp, any_target(), any(2)); break;
		case 5: wait_again(&s, sp, i); break;
		default: patch_one(&s, sp, i);
		}
		if (step % 16 == 0)
			compare_waiting(sp);
	}
	compare_waiting(sp);
	assert_true(sp->nlink > STEPS / 4);
	/* a copy's are the same, and its own */
	for (unsigned k = 0; k < 2; k++) {
		struct space_user user = { .space = sp };
		struct rt_mail mail = { 0 };

		sp->refs++;
		assert_true(diverge(&s, &user, &mail));
		compare_waiting(user.space);
		space_unref(&s, sp);
		sp = user.space;
		add_link(&s, sp);
		resolve(&s, sp, any_target(), true);
		compare_waiting(sp);
	}
	space_unref(&s, sp);
	alone_close(&s);
}

/* So few that each dies, and comes again, several times. */
static uint64_t any_of_few(const struct module *m)
{
	return m->text.lo + any(12) * ALONE_FUNCTION;
}

/* The same with all that really happens: translated, killed, translated again. */
static void all_invariants_hold(void **state)
{
	struct spaces s;

	(void)state;
	alone_open(&s);
	for (unsigned round = 0; round < 4; round++) {
		struct space *sp;

		alone_make_text();
		sp = space_new(&s, false);
		alone_module(sp, ALONE_LO, 0x10000000);
		alone_module(sp, ALONE_LO + 0x100000, 0x10000000);
		for (unsigned step = 0; step < 300; step++) {
			const uint32_t mi = (uint32_t)any(2);

			if (sp->nblock && !any(3))
				kill_block(&s, sp, (uint32_t)any(sp->nblock));
			else
				alone_translate(&s, sp, mi, any_of_few(&sp->module[mi]));
			assert_int_equal(space_check(&s, sp), 0);
		}
		assert_true(sp->nlink > 100);
		space_unref(&s, sp);
	}
	alone_close(&s);
}

/* A link that waits for what has been there all the time, until somebody comes by it. */
static void patched_on_demand(void **state)
{
	struct space_user user;
	struct rt_mail mail = { 0 };
	struct spaces s;
	struct space *sp;
	uint32_t i;

	(void)state;
	alone_open(&s);
	alone_make_text();
	sp = space_new(&s, false);
	user = (struct space_user){ .space = sp };
	alone_module(sp, ALONE_LO, 0x10000000);
	alone_translate(&s, sp, 0, ALONE_LO);
	for (unsigned k = 0; k < 2; k++)
		i = link_add(&s, sp, 0, ALONE_LO, ALONE_CODE - 128 * (k + 1), 0, false, false);
	assert_true(links_pending(sp, ALONE_LO));
	assert_int_not_equal(space_resolve(&s, &user, i, &mail), 0);
	assert_true(mail.ncmd && !sp->link[i].done);	/* its code has to be placed before */
	mail.ncmd = 0;
	for (unsigned k = 0; k < 2; k++, i--) {
		assert_int_not_equal(space_resolve(&s, &user, i, &mail), 0);
		assert_true(sp->link[i].done);
		assert_int_equal(space_check(&s, sp), 0);
	}
	assert_false(links_pending(sp, ALONE_LO));
	pm_buf_release(&user.placed);
	space_unref(&s, sp);
	alone_close(&s);
}

/* Where an invariant does not hold, its number is what space_check() says. */
static void broken_invariants_are_found(void **state)
{
	struct spaces s;
	struct space *sp;
	struct module *m;
	uint32_t i = 0, was;
	uint64_t lo;

	(void)state;
	alone_open(&s);
	alone_make_text();
	sp = space_new(&s, false);
	alone_module(sp, ALONE_LO, 0x10000000);
	alone_module(sp, ALONE_LO + 0x100000, 0x10000000);
	for (unsigned k = 0; k < 20; k++)
		alone_translate(&s, sp, 0, alone_any_function(&sp->module[0]));
	assert_int_equal(space_check(&s, sp), 0);
	m = &sp->module[0];
#define BREAK(number, field, value) do {				\
		const __typeof__(field) had = (field);			\
		(field) = (value);					\
		assert_int_equal(space_check(&s, sp), number);		\
		(field) = had;						\
		assert_int_equal(space_check(&s, sp), 0);		\
	} while (0)
	BREAK(1, sp->unit[1].block, 0);
	BREAK(1, sp->block[0].module, 1);
	BREAK(2, sp->unit[1].code, 0);
	BREAK(2, m->code.len, 64);
	BREAK(3, m->stored.code_from_file, 64);		/* there is no file */
	BREAK(4, sp->busy, RT_BLOCKS);
	lo = m->text.lo;
	BREAK(6, sp->module[1].text.lo, lo);
	while (sp->link[i].done || !links_pending(sp, sp->link[i].target))
		i++;
	BREAK(5, sp->link[i].done, true);
	BREAK(5, sp->link[i].target, 0);
	was = (uint32_t)*pm_map_get(&sp->pending, sp->link[i].target);
	BREAK(5, *pm_map_get(&sp->pending, sp->link[i].target), 0);	/* none waits */
	BREAK(5, sp->link[was - 1].next, was);				/* for ever */
#undef BREAK
	space_unref(&s, sp);
	alone_close(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patched_if_in_reach),
		cmocka_unit_test(open_if_not),
		cmocka_unit_test(patched_in_32_bit_code),
		cmocka_unit_test(not_in_code_given_back),
		cmocka_unit_test(all_that_wait_and_no_others),
		cmocka_unit_test(all_invariants_hold),
		cmocka_unit_test(patched_on_demand),
		cmocka_unit_test(broken_invariants_are_found),
	};

	alone_seed(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
