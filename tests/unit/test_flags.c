/* SPDX-License-Identifier: MIT */
/* test_flags.c - what breaks the ABI of flags is not translated before it is about to be executed,
 * and then said */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "collect/translate/translate.h"

#define TEXT	0x401000ull

static uint8_t text[256];

static const uint8_t *read_text(void *ctx, uint64_t addr, size_t *avail)
{
	(void)ctx;
	*avail = addr - TEXT < sizeof text ? TEXT + sizeof text - addr : 0;
	return text + (addr - TEXT);
}

static bool known(void *ctx, uint64_t addr, struct xl_known *out)
{
	(void)ctx, (void)addr, (void)out;
	return false;
}

/* Translates @code, at TEXT, with rets all behind it, from byte @entry on. How many of its bytes
 * are in the unit, from there on without a gap; -1: it breaks the ABI. */
static int translated(const char *code, size_t n, size_t entry, bool patchable)
{
	const struct xl_input in = {
		.kind = XL_PROFILE, .entry = TEXT + entry, .lo = TEXT, .hi = TEXT + sizeof text,
		.patchable = patchable,
		.place = 0x10000000, .abi_flags = true, .read = read_text, .known = known,
	};
	struct xl_unit u = { 0 };
	uint64_t end = TEXT + entry;
	bool more = true, breaks;

	memset(text, 0xc3, sizeof text);
	memcpy(text, code, n);
	xl_translate(&in, &u);
	while (more) {
		more = false;
		for (size_t k = 0; k < u.nblock; k++)
			if (u.block[k].pc <= end && end < u.block[k].pc + u.block[k].size) {
				end = u.block[k].pc + u.block[k].size;
				more = true;
			}
	}
	breaks = u.breaks_abi;
	xl_unit_release(&u);
	return breaks ? -1 : (int)(end - TEXT - entry < n - entry ? end - TEXT - entry : n - entry);
}
#define TRANSLATED(code, entry, patchable) translated(code, sizeof(code) - 1, entry, patchable)

/* nop; call f; adc $0,%eax */
static void behind_a_call(void **state)
{
	(void)state;
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\x83\xd0\x00", 0, false), 1);
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\x83\xd0\x00", 1, false), -1);
	/* ... cmp %eax,%eax; adc */
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\x39\xc0\x83\xd0\x00", 0, false), 11);
}

/* nop; call f; jmp to where nothing can be seen, in generated code: what f returns must not be used
 * up before anybody asks */
static void out_of_sight(void **state)
{
	(void)state;
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\xe9\x00\x10\x00\x00", 0, true), 1);
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\xe9\x00\x10\x00\x00", 1, true), -1);
	assert_int_equal(TRANSLATED("\x90\xe8\x3a\x00\x00\x00\x39\xc0\xe9\x00\x10\x00\x00", 0,
				    true),
			 13);
}

static void popf(void **state)
{
	(void)state;
	/* nop; popf; nop; ret */
	assert_int_equal(TRANSLATED("\x90\x9d\x90\xc3", 0, false), 1);
	assert_int_equal(TRANSLATED("\x90\x9d\x90\xc3", 1, false), -1);
	/* nop; popf; je .+2; ret: on both ways */
	assert_int_equal(TRANSLATED("\x90\x9d\x74\x00\xc3", 0, false), 1);
	/* nop; popf; cmp %eax,%eax; ret: popped, and overwritten */
	assert_int_equal(TRANSLATED("\x90\x9d\x39\xc0\xc3", 0, false), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_a_call), cmocka_unit_test(out_of_sight),
		cmocka_unit_test(popf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
