/* SPDX-License-Identifier: MIT */
/* test_tables.c - a switch's cases are found in its jump table, and nothing else is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "collect/translate/translate.h"

#define TEXT	0x401000ull
#define DATA	0x402000ull

static uint8_t text[256], data[64];

static const uint8_t *read_text(void *ctx, uint64_t addr, size_t *avail)
{
	(void)ctx;
	*avail = TEXT + sizeof text - addr;
	return text + (addr - TEXT);
}

static const uint8_t *read_data(void *ctx, uint64_t addr, size_t *avail)
{
	(void)ctx;
	if (addr - DATA >= sizeof data)
		return NULL;
	*avail = DATA + sizeof data - addr;
	return data + (addr - DATA);
}

static bool known(void *ctx, uint64_t addr, struct xl_known *out)
{
	(void)ctx, (void)addr, (void)out;
	return false;
}

/* Translates @code, at TEXT, with rets all behind it, and says at which of its addresses (bit:
 * offset / 8, from 0x40 on) there is an entry for indirect jumps. */
static uint32_t found(const char *code, size_t n, bool i386)
{
	const struct xl_input in = {
		.kind = XL_PROFILE, .i386 = i386, .entry = TEXT, .lo = TEXT,
		.hi = TEXT + sizeof text,
		.place = 0x10000000, .read = read_text, .data = read_data, .known = known,
	};
	struct xl_unit u = { 0 };
	uint32_t set = 0;

	memset(text, 0xc3, sizeof text);
	memcpy(text, code, n);
	xl_translate(&in, &u);
	for (size_t k = 0; k < u.nblock; k++)
		if (u.block[k].pc >= TEXT + 0x40 && u.block[k].indirect != XL_NONE) {
			assert_int_equal(u.block[k].flow.in, XL_OPEN);
			set |= 1u << (u.block[k].pc - TEXT - 0x40) / 8;
		}
	xl_unit_release(&u);
	return set;
}
#define FOUND(code, i386) found(code, sizeof(code) - 1, i386)

static void put(size_t i, size_t width, uint64_t v)
{
	memcpy(data + i * width, &v, width);
}

static void fixed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		put(i, 8, TEXT + 0x40 + 8 * i);
	/* cmp $2,%edi; ja .+0x2b; mov %edi,%edi; jmp *0x402000(,%rdi,8) */
	assert_int_equal(FOUND("\x83\xff\x02\x77\x29\x89\xff\xff\x24\xfd\x00\x20\x40\x00", false),
			 7);
	/* cmp $4,%edi; ja; mov %edi,%edi; mov 0x402000(,%rdi,8),%rax; jmp *%rax */
	assert_int_equal(FOUND("\x83\xff\x04\x77\x29\x89\xff\x48\x8b\x04\xfd\x00\x20\x40\x00\xff"
			       "\xe0",
			       false),
			 31);
	/* no comparison: up to where it is no code any more */
	put(6, 8, 0x1234);
	assert_int_equal(FOUND("\xff\x24\xfd\x00\x20\x40\x00", false), 63);
	/* a register that nobody has loaded */
	assert_int_equal(FOUND("\xff\xe0", false), 0);
}

static void relative(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		put(i, 4, TEXT + 0x40 + 8 * i - DATA);
	/* cmp $3,%edi; ja; lea 0x402000(%rip),%rdx; movslq (%rdx,%rdi,4),%rax; add %rdx,%rax;
	 * notrack jmp *%rax */
	assert_int_equal(FOUND("\x83\xff\x03\x77\x29\x48\x8d\x15\xf4\x0f\x00\x00\x48\x63\x04\xba"
			       "\x48\x01\xd0\x3e\xff\xe0",
			       false),
			 15);
	/* the same with r8, r9 and the other add */
	assert_int_equal(FOUND("\x83\xff\x01\x77\x29\x4c\x8d\x05\xf4\x0f\x00\x00\x4d\x63\x0c\xb8"
			       "\x4d\x03\xc8\x41\xff\xe1",
			       false),
			 3);
	/* what is added is not the table */
	assert_int_equal(FOUND("\x83\xff\x03\x77\x29\x48\x8d\x15\xf4\x0f\x00\x00\x48\x63\x04\xba"
			       "\x48\x01\xc8\xff\xe0",
			       false),
			 0);
}

static void computed_goto(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		put(i, 8, i < 3 ? TEXT + 0x40 + 16 * i : 0);
	/* lea 0x402000(%rip),%rdx; jmp *(%rdx,%rax,8) */
	assert_int_equal(FOUND("\x48\x8d\x15\xf9\x0f\x00\x00\xff\x24\xc2", false), 21);
}

static void i386(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		put(i, 4, TEXT + 0x40 + 8 * i);
	/* cmp $1,%eax; ja; jmp *0x402000(,%eax,4) */
	assert_int_equal(FOUND("\x83\xf8\x01\x77\x29\xff\x24\x85\x00\x20\x40\x00", true), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed), cmocka_unit_test(relative),
		cmocka_unit_test(computed_goto), cmocka_unit_test(i386),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
