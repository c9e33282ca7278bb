/* SPDX-License-Identifier: MIT */
/* test_idt.c - IDtrace's block tables, counters and hints: worked examples, both widths, damage */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats_util.h"
#include "trace/idt_files.h"

static struct pm_buf data(const char *name)
{
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	struct pm_buf b = { 0 };
	char path[256];

	snprintf(path, sizeof path, "%s/data/formats/%s", tests, name);
	fmt_load(path, &b);
	return b;
}

static void test_blk(void **state)
{
	struct pm_buf raw = data("ex-idt-exec.blk"), out = { 0 };
	struct pm_err err = { 0 };
	struct idt_blk b;

	(void)state;
	assert_int_equal(idt_blk_parse(raw.p, raw.n, false, &b, &err), PM_OK);
	assert_int_equal(b.nblock, 1);
	assert_int_equal(b.oldt_offset, 0x08048000);
	assert_int_equal(b.orig_magic, 0x11223344);
	assert_int_equal(b.idt_magic, 0x55667788);
	assert_int_equal(b.block[0].address, 0x8048100);
	assert_int_equal(b.block[0].offset, 16);
	assert_int_equal(b.block[0].n, 3);
	assert_int_equal(b.insn[0].id, 0x8b);
	assert_int_equal(b.insn[1].id, 0x80a4);
	assert_int_equal(b.insn[1].entries, -2);
	assert_int_equal(b.insn[2].size, 5);
	assert_int_equal(idt_blk_at(&b, 16), 0);
	assert_int_equal(idt_blk_at(&b, 20), PM_NONE);
	idt_blk_write(&b, &out);
	assert_int_equal(out.n, raw.n);
	assert_memory_equal(out.p, raw.p, raw.n);
	idt_blk_release(&b);
	for (size_t cut = 0; cut < raw.n; cut++) {
		if (cut == raw.n - 2)
			continue;	/* records without the trailing padding: a layout of its
					 * own */
		memset(&err, 0, sizeof err);
		assert_int_equal(idt_blk_parse(raw.p, cut, false, &b, &err), PM_ERR);
		assert_true(pm_failed(&err));
	}
	pm_buf_release(&raw);
	pm_buf_release(&out);
}

/* The layouts that the original's documentation leaves possible. */
static void test_blk_layouts(void **state)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 0x80, 4, 8, 1, 0, 0, 0, 2, 0, 0, 0 };
	static const uint8_t one[] = { 0, 0x81, 4, 8, 1, 0, 0x8b, 0, 2, 1 };
	static const uint8_t two[] = { 2, 0x81, 4, 8, 2, 0, 0x90, 0, 1, 0, 0xc3, 0, 1, 2 };
	struct pm_err err = { 0 };

	(void)state;
	for (unsigned layout = 0; layout < 4; layout++) {
		static const uint8_t zeros[400];
		struct pm_buf b = { 0 };
		struct idt_blk blk;

		pm_buf_add(&b, head, sizeof head);
		for (int k = 0; k < 2; k++) {
			const uint8_t *r = k ? two : one;
			size_t n = k ? sizeof two : sizeof one;

			if (layout == 2) {		/* packed: no pad behind the size */
				pm_buf_add(&b, r, 5);
				pm_buf_add(&b, r + 6, n - 6);
			} else {
				pm_buf_add(&b, r, n);
			}
			if (layout == 0)
				pm_buf_add(&b, zeros, 2);
			if (layout == 3)	/* room for a fixed number of instructions */
				pm_buf_add(&b, zeros, 88 - n);
		}
		assert_int_equal(idt_blk_parse(b.p, b.n, false, &blk, &err), PM_OK);
		assert_int_equal(blk.nblock, 2);
		assert_int_equal(blk.block[1].address, 0x8048102);
		assert_int_equal(blk.block[1].n, 2);
		assert_int_equal(blk.insn[2].id, 0xc3);
		idt_blk_release(&blk);
		pm_buf_release(&b);
	}
}

static void test_blk64(void **state)
{
	const struct idt_insn in[2] = { { 0x8b, 3, 1 }, { 0x80a4, 2, -2 } };
	struct idt_blk b = { .wide = true, .oldt_offset = -4096, .orig_magic = 1, .idt_magic = 2 },
	c;
	struct pm_buf out = { 0 };
	struct pm_err err = { 0 };

	(void)state;
	idt_blk_add(&b, 0x7ffff7fe4b70, in, 2);
	idt_blk_add(&b, 0x401000, in, 1);
	assert_int_equal(b.block[0].offset, 32);
	assert_int_equal(b.block[1].offset, 32 + 24);
	idt_blk_write(&b, &out);
	assert_int_equal(out.n, 32 + 24 + 16);
	assert_memory_equal(out.p + 24, "IDT64\0\0\0", 8);
	assert_int_equal(idt_blk_parse(out.p, out.n, true, &c, &err), PM_OK);
	assert_int_equal(c.oldt_offset, -4096);
	assert_int_equal(c.block[0].address, 0x7ffff7fe4b70);
	assert_int_equal(c.insn[1].entries, -2);
	/* an absurd count allocates nothing */
	memset(out.p, 0xff, 8);
	idt_blk_release(&c);
	assert_int_equal(idt_blk_parse(out.p, out.n, true, &c, &err), PM_ERR);
	idt_blk_release(&b);
	pm_buf_release(&out);
}

static void test_cnt(void **state)
{
	struct pm_buf raw = data("ex-idt.cnt"), out = { 0 };
	struct pm_err err = { 0 };
	struct idt_cnt c;

	(void)state;
	assert_int_equal(idt_cnt_parse(raw.p, raw.n, 1, false, &c, &err), PM_OK);
	assert_int_equal(c.count[0], 4294967300ull);
	idt_cnt_write(&c, false, &out);
	assert_int_equal(out.n, raw.n);
	assert_memory_equal(out.p, raw.p, raw.n);
	out.n = 0;
	idt_cnt_write(&c, true, &out);
	assert_int_equal(out.n, 24);
	idt_cnt_release(&c);
	assert_int_equal(idt_cnt_parse(out.p, out.n, 1, true, &c, &err), PM_OK);
	assert_int_equal(c.count[0], 4294967300ull);
	idt_cnt_release(&c);
	assert_int_equal(idt_cnt_parse(raw.p, raw.n - 1, 1, false, &c, &err), PM_ERR);
	pm_buf_release(&raw);
	pm_buf_release(&out);
}

/* Counts of a process that ended before others added blocks: in one set, in three. */
static void test_short_cnt(void **state)
{
	uint64_t count[5] = { 7, 3ull * UINT32_MAX, 0, UINT32_MAX + 5ull, 1 };

	(void)state;
	for (unsigned sets = 1; sets <= 3; sets += 2) {
		struct pm_buf out = { 0 };
		struct pm_err err = { 0 };
		struct idt_cnt c = { .count = count, .n = 5 };

		if (sets == 1)
			count[1] = count[3] = 2;
		idt_cnt_write(&c, false, &out);
		assert_int_equal(out.n, 8 + sets * 20);
		for (size_t blocks = 5; blocks < 40; blocks++) {
			assert_int_equal(idt_cnt_parse(out.p, out.n, blocks, false, &c, &err),
					 PM_OK);
			assert_int_equal(c.n, blocks);
			assert_int_equal(c.given, 5);
			assert_memory_equal(c.count, count, sizeof count);
			idt_cnt_release(&c);
		}
		count[1] = 3ull * UINT32_MAX;
		count[3] = UINT32_MAX + 5ull;
		pm_buf_release(&out);
	}
}

static void test_hints(void **state)
{
	static const char text[] = "# where tracing begins\ntrace_beg 0x8048100\nTRACE_END_TAG "
				   "134512640\n"
				   "\njtab 0x8049000 12 # a switch\ncurbrk_addr 0x804a000\n";
	static const char want[] = "trace_beg 0x8048100\ntrace_end 0x8048000\njtab 0x8049000 12\n"
				   "curbrk_addr 0x804a000\n";
	struct pm_buf out = { 0 };
	struct pm_err err = { 0 };
	struct idt_hints h;

	(void)state;
	assert_int_equal(idt_hints_parse(text, sizeof text - 1, &h, &err), PM_OK);
	assert_int_equal(h.n, 4);
	assert_int_equal(h.v[2].entries, 12);
	idt_hints_write(&h, &out);
	assert_int_equal(out.n, sizeof want - 1);
	assert_memory_equal(out.p, want, out.n);
	idt_hints_release(&h);
	pm_buf_release(&out);
	assert_int_equal(idt_hints_parse("jtab 1\n", 7, &h, &err), PM_ERR);
	assert_int_equal(err.off, 1);
	assert_int_equal(err.place, PM_AT_LINE);
}

static void test_id(void **state)
{
	static const struct {
		uint8_t b[6]; unsigned len; uint16_t id; enum pm_insn_class class;
	} v[] = {
		{ { 0x8b, 0x03 }, 2, 0x8b, PM_CLASS_NONE },
		{ { 0xf3, 0xa4 }, 2, 0x80a4, PM_CLASS_NONE },
		{ { 0xe8, 0, 2, 0, 0 }, 5, 0xe8, PM_CLASS_CALL },
		{ { 0x0f, 0x85, 1, 0, 0, 0 }, 6, 0x0885, PM_CLASS_COND },
		{ { 0xff, 0xd0 }, 2, 0x2ff, PM_CLASS_CALL_IND },
		{ { 0xff, 0xe0 }, 2, 0x4ff, PM_CLASS_JUMP_IND },
		{ { 0x66, 0x0f, 0x6f, 0xc1 }, 4, 0x286f, PM_CLASS_NONE },
		{ { 0xf3, 0x0f, 0x10, 0xc1 }, 4, 0x4810, PM_CLASS_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		assert_int_equal(idt_insn_id(v[i].b, v[i].len, false), v[i].id);
		assert_int_equal(idt_id_class(v[i].id), v[i].class);
	}
}

/* A file that tells its own CRC-32. */
static void test_magic(void **state)
{
	uint8_t file[100];
	uint32_t want, fix;

	(void)state;
	assert_int_equal(idt_magic("123456789", 9), 0xcbf43926);
	for (uint32_t seed = 1; seed < 50; seed++) {
		for (size_t i = 0; i < sizeof file; i++)
			file[i] = (uint8_t)(i * seed + (seed * 2654435761u >> 24));
		want = seed * 0x9e3779b9u;
		fix = idt_magic_fix(file, seed, want);
		memcpy(file + seed, &fix, 4);
		assert_int_equal(idt_magic(file, seed + 4), want);
	}
}

static void test_names(void **state)
{
	static const struct { uint16_t id; const char *name; } v[] = {
		{ 0x8b, "mov" }, { 0x80a4, "movsb" }, { 0x0885, "jnz" }, { 0x2ff, "call" },
		{ 0x4ff, "jmp" }, { 0x286f, "movdqa" }, { 0x4810, "movss" }, { 0x0fae, "sfence" },
		{ 0xc3, "ret" },
	};
	char name[32];

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		idt_id_name(v[i].id, true, name, sizeof name);
		assert_string_equal(name, v[i].name);
	}
}

static void test_modules(void **state)
{
	static const char text[] = "# mapped text: addresses, position in the file, build id, "
				   "file\n"
				   "0x401000-0x402000 0x1000 0a1b /a b/c\n"
				   "0x7ffff7fc5000-0x7ffff7fe0000 0x0 - /lib/x\n"
				   "@0x24f60 0x7ffff7fc5000-0x7ffff7fc5010 0x40 - /tmp/x.gen\n";
	struct pm_buf out = { 0 };
	struct pm_err err = { 0 };
	struct idt_modules m;

	(void)state;
	assert_int_equal(idt_modules_parse(text, sizeof text - 1, &m, &err), PM_OK);
	assert_int_equal(m.n, 3);
	assert_string_equal(m.v[0].path, "/a b/c");
	assert_null(m.v[1].build_id);
	assert_int_equal(m.v[0].record, 0);
	assert_int_equal(m.v[2].record, 0x24f60);
	idt_modules_write(&m, &out);
	assert_int_equal(out.n, sizeof text - 1);
	assert_memory_equal(out.p, text, out.n);
	idt_modules_release(&m);
	pm_buf_release(&out);
	assert_int_equal(idt_modules_parse("0x1-0x2 3\n", 10, &m, &err), PM_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blk), cmocka_unit_test(test_blk_layouts),
		cmocka_unit_test(test_blk64),
		cmocka_unit_test(test_cnt),
		cmocka_unit_test(test_short_cnt), cmocka_unit_test(test_hints),
		cmocka_unit_test(test_id), cmocka_unit_test(test_magic),
		cmocka_unit_test(test_names), cmocka_unit_test(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
