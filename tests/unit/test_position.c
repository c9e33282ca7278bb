/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "trace/position.h"

static void text_is(const char *from, const char *to)
{
	struct pm_position p;
	char text[PM_POSITION_TEXT];

	assert_true(pm_position_parse(from, &p));
	assert_string_equal(pm_position_text(&p, text), to);
}

static void test_text(void **state)
{
	static const char *const wrong[] = { "", "@", "57", "1@", "@+3", "1@2+", "1@2+3x", "1@-2",
		"x@2", "4294967296@0", "1@4611686018427387904", "1@99999999999999999999", "1@2 " };
	struct pm_position p;

	text_is("4711@57+12", "4711@57+12");
	text_is("4711@57", "4711@57");
	text_is("4711@57+0", "4711@57");
	text_is("@3+1", "0@3+1");
	text_is("4294967295@4611686018427387903+1", "4294967295@4611686018427387903+1");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_false(pm_position_parse(wrong[i], &p));
}

static void test_order(void **state)
{
	const struct pm_position a = { 1, 5, 3 }, b = { 1, 5, 4 }, c = { 1, 6, 0 };

	assert_true(pm_position_compare(&a, &b) < 0 && pm_position_compare(&b, &a) > 0);
	assert_true(pm_position_compare(&b, &c) < 0 && pm_position_compare(&c, &c) == 0);
}

/* ---- of events ------------------------------------------------------------------------------- */
/* ret; jmp *[rip + 0]; jmp *rax; jmp back; lret; and of 32-bit code ret $4; jmp *[disp32];
 * jmp *[ebx + 8]; addr16 jmp *eax; loop; iret; data16 jmp, which works only in place */
static const struct pm_insn insns[] = {
	{ .pc = 0x1000, .bytes = { 0xc3 }, .len = 1 },
	{ .pc = 0x1010, .bytes = { 0xff, 0x25, 0, 0, 0, 0 }, .len = 6 },
	{ .pc = 0x1020, .bytes = { 0xff, 0xe0 }, .len = 2 },
	{ .pc = 0x1030, .bytes = { 0xeb, 0xfe }, .len = 2 },
	{ .pc = 0x1040, .bytes = { 0x48, 0xcb }, .len = 2 },
	{ .pc = 0x2000, .bytes = { 0xc2, 4, 0 }, .len = 3, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2010, .bytes = { 0xff, 0x25, 0, 0, 0, 0 }, .len = 6, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2020, .bytes = { 0xff, 0x63, 8 }, .len = 3, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2030, .bytes = { 0x67, 0xff, 0xe0 }, .len = 3, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2040, .bytes = { 0xe2, 0xfe }, .len = 2, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2050, .bytes = { 0xcf }, .len = 1, .isa = PM_ISA_X86_32 },
	{ .pc = 0x2060, .bytes = { 0x66, 0xeb, 0xfe }, .len = 3, .isa = PM_ISA_X86_32 },
};

static void pass(struct pm_positions *c, struct pm_position_thread *t, uint32_t id, uint8_t flags,
		 uint64_t to)
{
	const struct pm_code code = { .insn = insns, .ninsn = NR(insns) };
	const struct pm_stream s = { .tid = 7 };
	const struct pm_batch b = { .stream = &s, .code = &code };
	const struct pm_event at = { .kind = PM_EV_INSN, .id = id, .addr = insns[id].pc };
	const struct pm_event br = { .kind = PM_EV_BRANCH, .id = id, .addr = insns[id].pc,
				     .flags = flags, .value = to };

	pm_position_pass(c, t, &b, &at);
	pm_position_pass(c, t, &b, &br);
}

static void test_safepoints(void **state)
{
	static const struct { uint32_t id; uint8_t flags; uint64_t to; bool passes; } rows[] = {
		{ 0, PM_BR_TAKEN | PM_BR_INDIRECT | PM_BR_RET, 0x9000, true },
		{ 4, PM_BR_TAKEN | PM_BR_INDIRECT | PM_BR_RET, 0x9000, false },	/* far */
		{ 1, PM_BR_TAKEN | PM_BR_INDIRECT, 0x500, false },	/* a PLT's */
		{ 2, PM_BR_TAKEN | PM_BR_INDIRECT, 0x9000, true },
		{ 2, PM_BR_TAKEN | PM_BR_INDIRECT | PM_BR_CALL, 0x500, false },
		{ 3, PM_BR_TAKEN, 0x1030, true },			/* to itself */
		{ 3, PM_BR_TAKEN, 0x102f, true },
		{ 3, PM_BR_TAKEN, 0x1031, false },
		{ 3, PM_BR_COND, 0x1000, false },			/* not taken */
		{ 3, PM_BR_COND | PM_BR_TAKEN, 0x1000, true },
		{ 3, PM_BR_CALL | PM_BR_TAKEN, 0x1000, false },
		{ 5, PM_BR_TAKEN | PM_BR_INDIRECT | PM_BR_RET, 0x9000, true },
		{ 6, PM_BR_TAKEN | PM_BR_INDIRECT, 0x9000, true },	/* a PLT's */
		{ 7, PM_BR_TAKEN | PM_BR_INDIRECT, 0x9000, true },
		{ 8, PM_BR_TAKEN | PM_BR_INDIRECT, 0x500, false },
		{ 9, PM_BR_COND | PM_BR_TAKEN, 0x2040, true },
		{ 9, PM_BR_COND | PM_BR_TAKEN, 0x2050, false },
		{ 10, PM_BR_TAKEN | PM_BR_INDIRECT | PM_BR_RET, 0x9000, false },
		{ 11, PM_BR_TAKEN, 0x2060, false },
	};
	struct pm_positions *c = pm_positions_new();
	const struct pm_stream s = { .tid = 7 }, later = { .tid = 7, .index = 3 };
	struct pm_position_thread *t = pm_position_thread(c, &s);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct pm_position was = t->at;

		pass(c, t, rows[i].id, rows[i].flags, rows[i].to);
		assert_int_equal(t->at.clock, was.clock + rows[i].passes);
		assert_int_equal(t->at.insns, rows[i].passes ? 0 : was.insns + 1);
	}
	/* another program of the same number */
	assert_ptr_equal(pm_position_thread(c, &s), t);
	assert_int_equal(t->at.clock, 9);
	t = pm_position_thread(c, &later);
	assert_int_equal(t->at.clock, 10);
	assert_int_equal(t->base, 10);
	assert_int_equal(t->at.insns, 0);
	pm_positions_free(c);
}

/* Who goes by blocks is told the same. */
static void test_below(void **state)
{
	static const uint64_t below[] = { UINT64_MAX, 0, UINT64_MAX, 0x1031, 0, UINT64_MAX,
		UINT64_MAX, UINT64_MAX, 0, 0x2041, 0, 0 };
	const struct pm_code code = { .insn = insns, .ninsn = NR(insns) };
	struct pm_positions *c = pm_positions_new();

	for (uint32_t i = 0; i < NR(insns); i++)
		assert_int_equal(pm_position_below(c, &code, i), below[i]);
	pm_positions_free(c);
}

/* A system call that a signal comes before is made again, and has not been completed. */
static void test_again(void **state)
{
	struct pm_positions *c = pm_positions_new();
	const struct pm_stream s = { .tid = 7 };
	const struct pm_batch b = { .stream = &s };
	struct pm_position_thread *t = pm_position_thread(c, &s);
	const struct pm_event at = { .kind = PM_EV_INSN, .addr = 0x10, .id = PM_NONE },
		there = { .kind = PM_EV_SIGNAL, .addr = 0x10, .id = PM_NONE },
		behind = { .kind = PM_EV_SIGNAL, .addr = 0x12, .id = PM_NONE };

	pm_position_pass(c, t, &b, &at);
	pm_position_pass(c, t, &b, &behind);
	assert_int_equal(t->at.insns, 1);
	pm_position_pass(c, t, &b, &there);
	assert_int_equal(t->at.insns, 0);
	pm_positions_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_safepoints),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
