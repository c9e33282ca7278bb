/* SPDX-License-Identifier: MIT */
/* test_r4400_manual.c - corners of the R4000 User's Manual that programs seldom reach */
#include "unit/flat_cpu.h"

static const struct cpu_config little = { .iline = 32, .dline = 32 };
static const struct cpu_config big = { .iline = 16, .dline = 16, .big_endian = true };
static const struct cpu_config r2 = { .iline = 32, .dline = 32, .r2 = true };

#define NOEXC	99
#define USER	(2u << 3)
#define PAGE	0x00400000u		/* where user tests have physical page 0 */

static unsigned exc_of(const struct flat *f)
{
	return f->c->status & ST_EXL ? f->c->cause >> 2 & 31 : NOEXC;
}

static struct flat *one(struct cpu_config cfg, uint32_t w)
{
	struct flat *f = flat_new(cfg);

	poke32(f, CODE, w);
	return f;
}

/* A pair of pages: @even and @odd are EntryLo. */
static void map(struct flat *f, unsigned k, uint64_t va, uint32_t even, uint32_t odd)
{
	f->c->tlb[k] = (struct cpu_tlb_entry){ .vpn = va, .mask = 0x1fff, .lo = { even, odd },
					       .g = true };
	cpu_sync(f->c);
}

/* A user program at PAGE + CODE, data at PAGE + 0x8000. */
static struct flat *user(struct cpu_config cfg, uint32_t status)
{
	struct flat *f = flat_new(cfg);

	map(f, 0, PAGE, 0 << 6 | 3 << 3 | 6, 1 << 6 | 3 << 3 | 6);
	map(f, 1, PAGE + 0x8000, 8 << 6 | 3 << 3 | 6, 9 << 6 | 3 << 3 | 6);
	f->c->status = status;
	f->c->pc = PAGE + CODE;
	f->c->gpr[4] = PAGE + 0x8000;
	cpu_sync(f->c);
	return f;
}

/* sc and scd without a link store nothing, and have the exceptions of a store. */
static void test_sc_exceptions(void **state)
{
	static const struct { uint64_t va; unsigned exc; } at[] = {
		{ K0 + 0x8000, NOEXC }, { K0 + 0x8002, EXC_ADES }, { 0x00800000, EXC_TLBS },
		{ PAGE, EXC_MOD }, { PAGE + 0x1000, EXC_TLBS }, { 1ULL << 45, EXC_ADES },
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof at / sizeof *at; i++) {
		struct flat *f = one(little, im(i & 1 ? 60 : 56, 4, 6, 0));

		map(f, 0, PAGE, 8 << 6 | 3 << 3 | 2, 0);	/* read-only, and invalid */
		f->c->gpr[4] = at[i / 2].va;
		f->c->gpr[6] = 77;
		flat_run(f, 1);
		assert_int_equal(exc_of(f), at[i / 2].exc);
		if (at[i / 2].exc == NOEXC) {
			assert_int_equal(f->c->gpr[6], 0);
		} else {
			assert_int_equal(f->c->gpr[6], 77);
			assert_int_equal(f->c->c0[C0_BADVADDR], at[i / 2].va);
		}
		assert_int_equal(f->fills, 1);			/* the code's */
		assert_int_equal(peek32(f, 0x8000), 0);
		flat_free(f);
	}
}

/* Status.RE: a user program sees each doubleword in the other byte order, its code too. */
static void test_reverse_endian(void **state)
{
	static const struct { uint32_t w; uint64_t little, big; } t[] = {
		/* memory 00 11 22 33 44 55 66 77: in reverse, address a is byte 7 - a */
		{ 0x90860000, 0x77, 0x77 }, { 0x90860001, 0x66, 0x66 },		/* lbu */
		{ 0x94860000, 0x7766, 0x6677 }, { 0x94860006, 0x1100, 0x0011 },	/* lhu */
		{ 0x8c860000, 0x77665544, 0x44556677 },				/* lw */
		{ 0x8c860004, 0x33221100, 0x00112233 },
		{ 0xdc860000, 0x7766554433221100, 0x0011223344556677 },		/* ld */
		/* lwl 1: big sees 77 66 55 44 from address 0 on, little 44 .. 77 from its top */
		{ 0x88860001, 0x665544ff, 0x6677ffff },
		{ 0x98860001, 0xffffffffffff7766, 0xffffffffff445566 },		/* lwr 1 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++)
		for (unsigned e = 0; e < 4; e++) {
			struct flat *f = user(e & 1 ? big : little, USER | ST_RE | ST_UX);
			uint64_t want = e & 1 ? t[i].big : t[i].little;

			if (e & 2)		/* uncached data */
				map(f, 1, PAGE + 0x8000, 8 << 6 | 2 << 3 | 6, 2 << 3 | 6);
			for (unsigned k = 0; k < 8; k++)
				flat_write(f, 0x8000 + k, 1, k * 0x11);
			poke32(f, CODE ^ 4, t[i].w);	/* the words of a pair change places */
			f->c->gpr[6] = ~0ULL;
			flat_run(f, 1);
			assert_int_equal(exc_of(f), NOEXC);
			if (f->c->gpr[6] != want)
				fail_msg("%08x, case %u: 0x%llx", t[i].w, e,
					 (unsigned long long)f->c->gpr[6]);
			flat_free(f);
		}
	/* stores, and what the kernel finds then; a branch and its slot */
	for (unsigned e = 0; e < 2; e++) {
		struct flat *f = user(e ? big : little, USER | ST_RE);

		poke32(f, CODE ^ 4, im(40, 4, 5, 1));		/* sb */
		poke32(f, (CODE + 4) ^ 4, im(43, 4, 7, 4));	/* sw */
		poke32(f, (CODE + 8) ^ 4, im(4, 0, 0, 2));	/* beq +3 */
		poke32(f, (CODE + 12) ^ 4, im(42, 4, 7, 9));	/* swl 9 */
		poke32(f, (CODE + 20) ^ 4, 0xc);		/* syscall */
		poke32(f, 0x180, im(35, 8, 9, 0));
		f->c->gpr[5] = 0xab;
		f->c->gpr[7] = 0x11223344;
		f->c->gpr[8] = K0 + 0x8000;
		flat_run(f, 6);
		assert_int_equal(f->c->c0[C0_EPC], PAGE + CODE + 20);
		assert_int_equal(f->c->gpr[9], 0x11223344);	/* where the program says 4 */
		assert_int_equal(f->c->ddata[6], 0xab);
		/* swl 9 of the other order: addresses 9 to 11, or 9 and 8; reversed 14 to 12, or 14
		 * and 15 */
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(f->c->ddata[12 + k],
					 (e ? "\0\0\x11\x22" : "\x33\x22\x11\0")[k]);
		flat_free(f);
	}
}

static void test_fpu_reserved(void **state)
{
	static const struct { uint32_t w; unsigned exc; } t[] = {
		{ 0x46000010, EXC_FPE },	/* a function of no instruction */
		{ 0x46000020, EXC_FPE },	/* cvt.s.s */
		{ 0x46800000, EXC_FPE },	/* add.w */
		{ 0x46400000, EXC_FPE },	/* a format that is none */
		{ 0x46000012, EXC_FPE },	/* movz.s: not MIPS III */
		{ 0x44600000, EXC_RI },		/* mfhc1: not MIPS III */
		{ 0x45040000, EXC_RI },		/* bc1f of condition 1 */
		{ 0x45050000, EXC_RI }, { 0x451e0000, EXC_RI }, { 0x45070000, EXC_RI },
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof t / sizeof *t; i++) {
		struct flat *f = one(little, t[i / 2].w);

		f->c->fcr31 = 0x1f07c;		/* old causes, and flags */
		if (i & 1)
			f->c->status &= ~(uint32_t)ST_CU1;
		flat_run(f, 1);
		if (i & 1) {
			/* branches are decoded as such only where they exist */
			assert_int_equal(exc_of(f), EXC_CPU);
			assert_int_equal(f->c->cause >> 28 & 3, 1);
		} else {
			assert_int_equal(exc_of(f), t[i / 2].exc);
		}
		assert_int_equal(f->c->fcr31,
				 exc_of(f) == EXC_FPE ? 0x2007c : 0x1f07c);	/* E alone */
		assert_int_equal(f->c->nbranch, 0);
		flat_free(f);
	}
	for (unsigned i = 0; i < 2; i++) {	/* release 2 has eight conditions */
		struct flat *f = one(r2, i ? 0x46000010 : 0x45050008);

		f->c->fcr31 = 1 << 25;
		flat_run(f, 1);
		assert_int_equal(exc_of(f), i ? EXC_RI : NOEXC);
		assert_int_equal(f->c->nbranch, !i);
		flat_free(f);
	}
}

/* Coprocessor 0 is unusable to user programs, whatever they ask it for. */
static void test_cop0_user(void **state)
{
	static const uint32_t w[] = { 0x42000018, 0x42000008, 0x4200003f, 0x42000010, 0x41000000,
				      0x40600000, 0x40006000, 0x42000020 };

	(void)state;
	for (unsigned i = 0; i < sizeof w / sizeof *w; i++) {
		struct flat *f = user(little, USER);

		poke32(f, CODE, w[i]);
		flat_run(f, 1);
		assert_int_equal(exc_of(f), EXC_CPU);
		assert_int_equal(f->c->cause >> 28 & 3, 0);
		flat_free(f);
	}
}

static void test_config_lines(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	c->gpr[4] = K0 + 0x8000;
	c->gpr[5] = 77;
	c->gpr[6] = ~4ULL;		/* K0 stays 3 */
	c->gpr[7] = 3;
	c->pc = K1 + CODE;
	poke32(f, CODE, im(43, 4, 5, 0));		/* sw: a dirty line of 32 bytes */
	poke32(f, CODE + 4, mtc0(7, C0_CONFIG));	/* IB = DB = 0 */
	poke32(f, CODE + 8, mfc0(8, C0_CONFIG));
	poke32(f, CODE + 12, im(35, 4, 9, 0));
	poke32(f, CODE + 16, im(35, 4, 9, 16));
	poke32(f, CODE + 20, mtc0(6, C0_CONFIG));	/* all that can be */
	poke32(f, CODE + 24, mfc0(10, C0_CONFIG));
	poke32(f, CODE + 28, im(35, 4, 9, 16));
	poke32(f, CODE + 32, im(35, 4, 9, 0));
	flat_run(f, 2);
	assert_int_equal(f->writebacks, 1);
	assert_int_equal(peek32(f, 0x8000), 77);
	f->fills = 0;
	flat_run(f, 3);
	assert_int_equal(c->gpr[8] & 0x3f, 3);
	assert_int_equal(f->fills, 2);
	assert_int_equal(c->cfg.dline, 16);
	flat_run(f, 4);
	assert_int_equal(f->fills, 3);
	assert_int_equal(c->gpr[9], 77);
	assert_int_equal(c->gpr[10] ^ c->gpr[8], 0x38);
	flat_free(f);
}

static void test_status_zero(void **state)
{
	struct flat *f = one(little, mtc0(4, C0_STATUS));

	(void)state;
	poke32(f, CODE + 4, mfc0(5, C0_STATUS));
	f->c->gpr[4] = 0xffffffe0 & ~(uint64_t)ST_IM;	/* kernel, no interrupts */
	flat_run(f, 2);
	assert_int_equal((uint32_t)f->c->gpr[5], 0xfe5700e0);
	flat_free(f);
}

/* A watched access under EXL is remembered: the exception comes when EXL goes. */
static void test_watch_postponed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct flat *f = flat_new(i & 2 ? big : little);
		struct cpu *c = f->c;

		c->status |= ST_EXL;
		cpu_sync(c);
		c->gpr[4] = K0 + 0x8000;
		c->gpr[6] = 0x8001;
		c->c0[C0_EPC] = K0 + CODE + 0x40;
		poke32(f, CODE, mtc0(6, C0_WATCHLO));
		poke32(f, CODE + 4, im(43, 4, 5, 0));
		poke32(f, CODE + 8, mfc0(9, C0_CAUSE));
		poke32(f, CODE + 12, i & 1 ? mtc0(7, C0_STATUS) : 0x42000018);	/* or eret */
		poke32(f, CODE + 16, im(9, 0, 8, 1));
		poke32(f, CODE + 0x40, im(9, 0, 8, 1));
		c->gpr[7] = c->status & ~(uint32_t)ST_EXL;
		flat_run(f, 4);
		assert_int_equal(exc_of(f), NOEXC);
		assert_int_equal(c->gpr[9], 0);			/* nothing shows in Cause */
		flat_run(f, 1);
		assert_int_equal(exc_of(f), EXC_WATCH);
		assert_int_equal(c->c0[C0_EPC], K0 + CODE + (i & 1 ? 16 : 0x40));
		assert_int_equal(c->gpr[8], 0);
		assert_int_equal(c->exceptions, 1);
		assert_int_equal(cpu_ticks(c), 5);
		/* once */
		poke32(f, 0x180, 0x42000018);
		flat_run(f, 2);
		assert_int_equal(c->gpr[8], 1);
		flat_free(f);
	}
}

/* Index operations use the virtual address alone, but translate it all the same. */
static void test_index_translates(void **state)
{
	static const struct { uint64_t va; unsigned exc; } at[] = {
		{ K0 + 0x8000, NOEXC }, { 0x00800000, EXC_TLBL }, { PAGE + 0x1000, EXC_TLBL },
		{ PAGE, NOEXC }, { 1ULL << 45, EXC_ADEL },
	};

	(void)state;
	for (unsigned op = 0; op < 12; op++)
		for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
			struct flat *f = one(little, im(47, 4, op, 0));

			map(f, 0, PAGE, 8 << 6 | 3 << 3 | 2, 0);	/* read-only suffices */
			f->c->gpr[4] = at[i].va;
			flat_run(f, 1);
			assert_int_equal(exc_of(f), at[i].exc);
			flat_free(f);
		}
}

/* Part of a register to uncached memory: one transaction of so many bytes. */
static void test_part_stores(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 4 * 8; i++) {
		static const unsigned ops[] = { 42, 46, 44, 45 };	/* swl swr sdl sdr */
		unsigned op = ops[i / 8 % 4], k = i % 8, size = op & 4 && op != 46 ? 8 : 4;
		bool left = op == 42 || op == 44, be = i / 32;
		unsigned at = k % size, n = left == be ? size - at : at + 1;
		struct flat *f = one(be ? big : little, im(op, 4, 5, k));

		f->c->gpr[4] = K1 + 0x8000;
		f->c->gpr[5] = 0x1122334455667788;
		f->stores = 0;
		flat_run(f, 1);
		assert_int_equal(f->stores, 1);
		assert_int_equal(f->store_bytes, n);
		assert_int_equal(f->store_at, 0x8000 + (left == be ? k : k - at));
		flat_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sc_exceptions), cmocka_unit_test(test_reverse_endian),
		cmocka_unit_test(test_fpu_reserved), cmocka_unit_test(test_cop0_user),
		cmocka_unit_test(test_config_lines), cmocka_unit_test(test_status_zero),
		cmocka_unit_test(test_watch_postponed), cmocka_unit_test(test_index_translates),
		cmocka_unit_test(test_part_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
