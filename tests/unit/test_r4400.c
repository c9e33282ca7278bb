/* SPDX-License-Identifier: MIT */
/* test_r4400.c - every instruction of the R4400 with its edge cases, exceptions, delay slots, TLB,
 * caches */
#include <math.h>

#include "unit/flat_cpu.h"

static const struct cpu_config little = { .iline = 32, .dline = 32 };
static const struct cpu_config big = { .iline = 16, .dline = 16, .big_endian = true };
static const struct cpu_config r2 = { .iline = 32, .dline = 32, .r2 = true };

#define MIN32 0xffffffff80000000ULL
#define MAX32 0x7fffffffULL
#define NEG(n) ((uint64_t)-(int64_t)(n))
#define NOEXC 99

/* rs in $4, rt in $5, result expected in $6; exc: code or NOEXC */
static const struct { const char *name; uint32_t w; uint64_t rs, rt, want; unsigned exc; } alu[] = {
	{ "addu", 0x00853021, 1, NEG(2), NEG(1), NOEXC },
	{ "addu wraps", 0x00853021, MAX32, 1, MIN32, NOEXC },
	{ "add", 0x00853020, 5, NEG(7), NEG(2), NOEXC },
	{ "add overflows", 0x00853020, MAX32, 1, 0, EXC_OV },
	{ "add overflows down", 0x00853020, MIN32, NEG(1), 0, EXC_OV },
	{ "sub", 0x00853022, MIN32, NEG(1), MIN32 + 1, NOEXC },
	{ "sub overflows", 0x00853022, MIN32, 1, 0, EXC_OV },
	{ "subu wraps", 0x00853023, MIN32, 1, MAX32, NOEXC },
	{ "and", 0x00853024, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0x0f000f000f000f00, NOEXC },
	{ "or", 0x00853025, 0xff00000000000000, 0xff, 0xff000000000000ff, NOEXC },
	{ "xor", 0x00853026, ~0ULL, 0xff, ~0xffULL, NOEXC },
	{ "nor", 0x00853027, 0, 0, ~0ULL, NOEXC },
	{ "slt", 0x0085302a, NEG(1), 0, 1, NOEXC },
	{ "slt 64 bits", 0x0085302a, 1ULL << 63, 1, 1, NOEXC },
	{ "sltu", 0x0085302b, NEG(1), 0, 0, NOEXC },
	{ "dadd", 0x0085302c, 1ULL << 62, 1ULL << 61, 3ULL << 61, NOEXC },
	{ "dadd overflows", 0x0085302c, 1ULL << 62, 1ULL << 62, 0, EXC_OV },
	{ "daddu wraps", 0x0085302d, ~0ULL, 2, 1, NOEXC },
	{ "dsub overflows", 0x0085302e, 1ULL << 63, 1, 0, EXC_OV },
	{ "dsubu", 0x0085302f, 0, 1, ~0ULL, NOEXC },
	{ "sll", 0x00053100, 0, 0x18000001, 0xffffffff80000010, NOEXC },
	{ "sll 0 sign-extends", 0x00053000, 0, 0x123480000000, MIN32, NOEXC },
	{ "srl", 0x00053102, 0, MIN32, 0x08000000, NOEXC },
	{ "srl 0 sign-extends", 0x00053002, 0, 0x80000000, MIN32, NOEXC },
	{ "sra", 0x00053103, 0, MIN32, 0xfffffffff8000000, NOEXC },
	{ "sllv uses 5 bits", 0x00853004, 33, 1, 2, NOEXC },
	{ "srlv", 0x00853006, 31, MIN32, 1, NOEXC },
	{ "srav", 0x00853007, 31, MIN32, ~0ULL, NOEXC },
	{ "dsll", 0x00053138, 0, 0x0fffffffffffffff, 0xfffffffffffffff0, NOEXC },
	{ "dsrl", 0x0005313a, 0, ~0ULL, ~0ULL >> 4, NOEXC },
	{ "dsra", 0x0005313b, 0, 1ULL << 63, 0xf800000000000000, NOEXC },
	{ "dsll32", 0x0005303c, 0, 0x1234, 0x123400000000, NOEXC },
	{ "dsrl32", 0x0005303e, 0, ~0ULL, 0xffffffff, NOEXC },
	{ "dsra32 63", 0x000537ff, 0, 1ULL << 63, ~0ULL, NOEXC },
	{ "dsllv", 0x00853014, 63, 1, 1ULL << 63, NOEXC },
	{ "dsrlv uses 6 bits", 0x00853016, 64, 7, 7, NOEXC },
	{ "dsrav", 0x00853017, 63, 1ULL << 63, ~0ULL, NOEXC },
	{ "addi", 0x2086ffff, 0, 0, ~0ULL, NOEXC },
	{ "addi overflows", 0x20860001, MAX32, 0, 0, EXC_OV },
	{ "addiu", 0x24860001, MAX32, 0, MIN32, NOEXC },
	{ "daddi overflows", 0x60860001, ~0ULL >> 1, 0, 0, EXC_OV },
	{ "daddiu", 0x6486ffff, 0, 0, ~0ULL, NOEXC },
	{ "slti", 0x2886ffff, NEG(2), 0, 1, NOEXC },
	{ "sltiu sign-extends", 0x2c86ffff, 5, 0, 1, NOEXC },
	{ "andi zero-extends", 0x3086ffff, ~0ULL, 0, 0xffff, NOEXC },
	{ "ori", 0x3486ffff, 1ULL << 63, 0, (1ULL << 63) + 0xffff, NOEXC },
	{ "xori", 0x3886ffff, 0xffff, 0, 0, NOEXC },
	{ "lui sign-extends", 0x3c068000, 0, 0, MIN32, NOEXC },
	{ "tge", 0x00850030, 1, 1, 0, EXC_TR }, { "tge not", 0x00850030, 0, 1, 0, NOEXC },
	{ "tgeu", 0x00850031, NEG(1), 1, 0, EXC_TR }, { "tlt", 0x00850032, NEG(1), 1, 0, EXC_TR },
	{ "tltu not", 0x00850033, NEG(1), 1, 0, NOEXC }, { "teq", 0x00850034, 7, 7, 0, EXC_TR },
	{ "tne", 0x00850036, 7, 8, 0, EXC_TR }, { "tne not", 0x00850036, 7, 7, 0, NOEXC },
	{ "tgei", 0x0488ffff, NEG(1), 0, 0, EXC_TR }, { "tgeiu not", 0x0489ffff, 5, 0, 0, NOEXC },
	{ "tlti", 0x048a0005, 4, 0, 0, EXC_TR }, { "tltiu", 0x048bffff, 4, 0, 0, EXC_TR },
	{ "teqi", 0x048c0004, 4, 0, 0, EXC_TR }, { "tnei not", 0x048e0004, 4, 0, 0, NOEXC },
	{ "syscall", 0x0000000c, 0, 0, 0, EXC_SYS }, { "break", 0x0000000d, 0, 0, 0, EXC_BP },
	{ "sync", 0x0000000f, 0, 0, 0, NOEXC },
	{ "movz is not MIPS III", 0x0085300a, 1, 0, 0, EXC_RI },
	{ "mul is not MIPS III", 0x70853002, 2, 3, 0, EXC_RI },
	{ "rdhwr is not MIPS III", 0x7c06e83b, 0, 0, 0, EXC_RI },
	{ "reserved", 0x4c000000, 0, 0, 0, EXC_RI },
	{ "cop2", 0x48000000, 0, 0, 0, EXC_CPU },
};

static struct flat *one(struct cpu_config cfg, uint32_t w, uint64_t rs, uint64_t rt)
{
	struct flat *f = flat_new(cfg);

	poke32(f, CODE, w);
	f->c->gpr[4] = rs;
	f->c->gpr[5] = rt;
	flat_run(f, 1);
	return f;
}

static unsigned exc_of(const struct flat *f)
{
	return f->c->status & ST_EXL ? f->c->cause >> 2 & 31 : NOEXC;
}

static void test_alu(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof alu / sizeof *alu; i++)
		for (unsigned e = 0; e < 2; e++) {
			struct flat *f = one(e ? big : little, alu[i].w, alu[i].rs, alu[i].rt);

			if (exc_of(f) != alu[i].exc || f->c->gpr[6] != alu[i].want)
				fail_msg("%s: exception %u, $6 = 0x%llx", alu[i].name, exc_of(f),
					 (unsigned long long)f->c->gpr[6]);
			if (alu[i].exc == NOEXC)
				assert_int_equal(f->c->pc, K0 + CODE + 4);
			else
				assert_int_equal(f->c->c0[C0_EPC], K0 + CODE);
			flat_free(f);
		}
}

static const struct { const char *name; uint32_t w; uint64_t rs, rt, hi, lo; } muldiv[] = {
	{ "mult", 0x00850018, MIN32, MIN32, 0x40000000, 0 },
	{ "mult negative", 0x00850018, NEG(1), 1, ~0ULL, ~0ULL },
	{ "multu", 0x00850019, NEG(1), NEG(1), NEG(2), 1 },
	{ "div", 0x0085001a, NEG(7), 2, NEG(1), NEG(3) },
	{ "div MIN -1", 0x0085001a, MIN32, NEG(1), 0, MIN32 },
	{ "divu", 0x0085001b, NEG(1), 16, 15, 0x0fffffff },
	{ "dmult", 0x0085001c, 1ULL << 63, NEG(1), 0, 1ULL << 63 },
	{ "dmultu", 0x0085001d, ~0ULL, ~0ULL, NEG(2), 1 },
	{ "ddiv", 0x0085001e, NEG(100), 7, NEG(2), NEG(14) },
	{ "ddiv MIN -1", 0x0085001e, 1ULL << 63, NEG(1), 0, 1ULL << 63 },
	{ "ddivu", 0x0085001f, ~0ULL, 10, 5, ~0ULL / 10 },
};

static void test_muldiv(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof muldiv / sizeof *muldiv; i++) {
		struct flat *f = one(little, muldiv[i].w, muldiv[i].rs, muldiv[i].rt);

		if (f->c->hi != muldiv[i].hi || f->c->lo != muldiv[i].lo)
			fail_msg("%s: HI 0x%llx LO 0x%llx", muldiv[i].name,
				 (unsigned long long)f->c->hi, (unsigned long long)f->c->lo);
		flat_free(f);
	}
}

/* Memory at 0x8000 holds bytes 80 81 .. 8f; rs = K0 + 0x8000 + offset in the instruction. */
static const struct {
	const char *name; uint32_t w; uint64_t little, big; unsigned exc;
} loads[] = {
	{ "lb", 0x80860001, 0xffffffffffffff81, 0xffffffffffffff81, NOEXC },
	{ "lbu", 0x90860001, 0x81, 0x81, NOEXC },
	{ "lh", 0x84860002, 0xffffffffffff8382, 0xffffffffffff8283, NOEXC },
	{ "lhu", 0x94860002, 0x8382, 0x8283, NOEXC },
	{ "lh unaligned", 0x84860001, 0x1111, 0x1111, EXC_ADEL },
	{ "lw", 0x8c860004, 0xffffffff87868584, 0xffffffff84858687, NOEXC },
	{ "lw unaligned", 0x8c860002, 0x1111, 0x1111, EXC_ADEL },
	{ "lwu", 0x9c860004, 0x87868584, 0x84858687, NOEXC },
	{ "ld", 0xdc860008, 0x8f8e8d8c8b8a8988, 0x88898a8b8c8d8e8f, NOEXC },
	{ "ld unaligned", 0xdc860004, 0x1111, 0x1111, EXC_ADEL },
	{ "ll", 0xc0860004, 0xffffffff87868584, 0xffffffff84858687, NOEXC },
	{ "lld", 0xd0860008, 0x8f8e8d8c8b8a8988, 0x88898a8b8c8d8e8f, NOEXC },
	{ "lwl 0", 0x88860000, 0xffffffff80001111, 0xffffffff80818283, NOEXC },
	{ "lwl 1", 0x88860001, 0xffffffff81801111, 0xffffffff81828311, NOEXC },
	{ "lwl 3", 0x88860003, 0xffffffff83828180, 0xffffffff83001111, NOEXC },
	{ "lwr 0", 0x98860000, 0xffffffff83828180, 0x1180, NOEXC },
	{ "lwr 1", 0x98860001, 0x838281, 0x8081, NOEXC },
	{ "lwr 3", 0x98860003, 0x1183, 0xffffffff80818283, NOEXC },
	{ "ldl 2", 0x68860002, 0x8281800000001111, 0x8283848586871111, NOEXC },
	{ "ldr 2", 0x6c860002, 0x1111878685848382 & 0x0000ffffffffffff, 0x808182, NOEXC },
};

static void test_loads(void **state)
{
	(void)state;
	for (unsigned e = 0; e < 2; e++)
		for (unsigned i = 0; i < sizeof loads / sizeof *loads; i++) {
			struct flat *f = flat_new(e ? big : little);
			uint64_t want = e ? loads[i].big : loads[i].little;

			for (unsigned k = 0; k < 16; k++)
				f->ram[0x8000 + k] = (uint8_t)(0x80 + k);
			poke32(f, CODE, loads[i].w);
			f->c->gpr[4] = K0 + 0x8000;
			f->c->gpr[6] = 0x1111;
			/* twice: through the miss and through the fast path */
			for (unsigned pass = 0; pass < 2; pass++) {
				f->c->gpr[6] = 0x1111;
				f->c->pc = K0 + CODE;
				f->c->status &= ~(uint32_t)ST_EXL;
				cpu_budget(f->c, 0);
				flat_run(f, 1);
				if (exc_of(f) != loads[i].exc)
					fail_msg("%s: exception %u", loads[i].name, exc_of(f));
				if (f->c->gpr[6] != want)
					fail_msg("%s %s: $6 = 0x%llx, expected 0x%llx",
						 e ? "big" : "little", loads[i].name,
						 (unsigned long long)f->c->gpr[6],
						 (unsigned long long)want);
			}
			if (loads[i].exc == EXC_ADEL)
				assert_int_equal(f->c->c0[C0_BADVADDR],
						 K0 + 0x8000 + (loads[i].w & 0xffff));
			flat_free(f);
		}
}

static const struct { const char *name; uint32_t w; uint8_t little[8], big[8]; } stores[] = {
	{ "sb", 0xa0850001, { 0, 0x88 }, { 0, 0x88 } },
	{ "sh", 0xa4850002, { 0, 0, 0x88, 0x77 }, { 0, 0, 0x77, 0x88 } },
	{ "sw", 0xac850004, { 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55 },
	  { 0, 0, 0, 0, 0x55, 0x66, 0x77, 0x88 } },
	{ "sd", 0xfc850000, { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11 },
			    { 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 } },
	{ "swl 1", 0xa8850001, { 0x66, 0x55 }, { 0, 0x55, 0x66, 0x77 } },
	{ "swr 1", 0xb8850001, { 0, 0x88, 0x77, 0x66 }, { 0x77, 0x88 } },
	{ "sdl 2", 0xb0850002, { 0x33, 0x22, 0x11 }, { 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66 } },
	{ "sdr 2", 0xb4850002, { 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33 }, { 0x66, 0x77, 0x88 } },
};

static void test_stores(void **state)
{
	(void)state;
	for (unsigned e = 0; e < 2; e++)
		for (unsigned i = 0; i < sizeof stores / sizeof *stores; i++)
			for (unsigned uncached = 0; uncached < 2; uncached++) {
				struct flat *f = flat_new(e ? big : little);
				uint8_t *at = f->ram + 0x8000;

				poke32(f, CODE, stores[i].w);
				poke32(f, CODE + 4, 0xbc950000);	/* cache 0x15, 0(a0) */
				f->c->gpr[4] = (uncached ? K1 : K0) + 0x8000;
				f->c->gpr[5] = 0x1122334455667788;
				flat_run(f, uncached ? 1 : 2);
				if (memcmp(at, e ? stores[i].big : stores[i].little, 8))
					fail_msg("%s %s %s: %02x%02x%02x%02x%02x%02x%02x%02x",
						 e ? "big" : "little", stores[i].name,
						 uncached ? "uncached" : "cached", at[0], at[1],
						 at[2], at[3], at[4], at[5], at[6], at[7]);
				flat_free(f);
			}
}

static void test_ll_sc(void **state)
{
	struct flat *f = flat_new(little);

	(void)state;
	poke32(f, CODE, im(48, 4, 6, 0));		/* ll $6, 0($4) */
	poke32(f, CODE + 4, im(56, 4, 7, 0));		/* sc $7, 0($4) */
	poke32(f, CODE + 8, 0x42000018);		/* eret */
	poke32(f, CODE + 16, im(56, 4, 8, 0));		/* sc $8: the link is broken */
	f->c->gpr[4] = K0 + 0x8000;
	f->c->gpr[7] = 77;
	f->c->gpr[8] = 88;
	f->c->c0[C0_EPC] = K0 + CODE + 16;
	poke32(f, 0x8000, 5);
	flat_run(f, 4);
	assert_int_equal(f->c->gpr[6], 5);
	assert_int_equal(f->c->gpr[7], 1);
	assert_int_equal(f->c->gpr[8], 0);
	assert_int_equal(f->c->c0[C0_LLADDR], 0x800);
	assert_int_equal(f->c->ddata[0], 77);
	flat_free(f);
}

/* Each branch at the last word of a line as well, taken and not: the delay slot is in the next
 * one. */
static void test_branches(void **state)
{
	const struct {
		const char *name; uint32_t w; uint64_t rs, rt; bool taken, likely, link;
	} b[] = {
		{ "beq", im(4, 4, 5, 8), 1, 1, true }, { "beq not", im(4, 4, 5, 8), 1, 2, false },
		{ "bne", im(5, 4, 5, 8), 1, 2, true }, { "bne not", im(5, 4, 5, 8), 1, 1, false },
		{ "blez", im(6, 4, 0, 8), 0, 0, true }, { "blez not", im(6, 4, 0, 8), 1, 0, false },
		{ "bgtz", im(7, 4, 0, 8), 1, 0, true }, { "bgtz not", im(7, 4, 0, 8), 0, 0, false },
		{ "bltz", im(1, 4, 0, 8), NEG(1), 0, true },
		{ "bltz not", im(1, 4, 0, 8), 0, 0, false },
		{ "bgez", im(1, 4, 1, 8), 0, 0, true }, { "bgez not", im(1, 4, 1, 8), NEG(1), 0,
		  false },
		{ "beql", im(20, 4, 5, 8), 1, 1, true, true },
		{ "beql not", im(20, 4, 5, 8), 1, 2, false, true },
		{ "bnel", im(21, 4, 5, 8), 1, 2, true, true },
		{ "bnel not", im(21, 4, 5, 8), 1, 1, false, true },
		{ "blezl not", im(22, 4, 0, 8), 1, 0, false, true },
		{ "bgtzl", im(23, 4, 0, 8), 1, 0, true, true },
		{ "bltzl not", im(1, 4, 2, 8), 0, 0, false, true },
		{ "bgezl", im(1, 4, 3, 8), 0, 0, true, true },
		{ "bltzal not", im(1, 4, 16, 8), 0, 0, false, false, true },
		{ "bgezal", im(1, 4, 17, 8), 0, 0, true, false, true },
		{ "bltzall not", im(1, 4, 18, 8), 0, 0, false, true, true },
		{ "bgezall", im(1, 4, 19, 8), 0, 0, true, true, true },
		{ "j", 2u << 26 | (CODE + 0x24 + 8 - 4 + 4) >> 2, 0, 0, true },
		{ "jal", 3u << 26 | (CODE + 0x24 + 8) >> 2, 0, 0, true, false, true },
		{ "jr", r3(8, 4, 0, 0), K0 + CODE + 0x2c, 0, true },
		{ "jalr", r3(9, 4, 0, 31), K0 + CODE + 0x2c, 0, true, false, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof b / sizeof *b; i++)
		for (unsigned at = 0; at < 32; at += 4)
			for (unsigned fast = 0; fast < 2; fast++) {
				struct flat *f = flat_new(little);
				uint64_t pc = K0 + CODE + at, to;
				uint32_t w = b[i].w;
				bool jump = w >> 26 == 2 || w >> 26 == 3;
				unsigned n = b[i].likely && !b[i].taken ? 1 : 2;

				if (jump)
					w = (w & 0xfc000000) | (CODE + 0x80) >> 2;
				to = jump		 ? K0 + CODE + 0x80
				     : b[i].w >> 26 == 0 ? K0 + CODE + 0x2c
							 : pc + 4 + 32;
				poke32(f, CODE + at, w);
				poke32(f, CODE + at + 4, im(9, 0, 8, 1));	/* slot: li $8, 1 */
				f->c->pc = pc;
				f->c->gpr[4] = b[i].rs;
				f->c->gpr[5] = b[i].rt;
				if (fast) {		/* a long budget: many nops behind it */
					flat_run(f, 64);
					assert_int_equal(f->c->nbranch, 1);
					assert_int_equal(f->c->pc,
							 (b[i].taken ? to : pc + 8) + 4 * (64 - n));
				} else {	/* one at a time: stops between branch and slot */
					flat_run(f, 1);
					if (n == 2) {
						assert_true(f->c->in_delay);
						assert_int_equal(f->c->pc, pc + 4);
						flat_run(f, 1);
					}
					assert_int_equal(f->c->pc, b[i].taken ? to : pc + 8);
					assert_false(f->c->in_delay);
				}
				if (f->c->gpr[8] != (b[i].taken || !b[i].likely))
					fail_msg("%s: delay slot %s", b[i].name,
						 f->c->gpr[8] ? "executed" : "skipped");
				assert_int_equal(f->c->gpr[31], b[i].link ? pc + 8 : 0);
				flat_free(f);
			}
}

/* An exception in a delay slot, of a taken and of an untaken branch, at every place in a line. */
static void test_slot_exception(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 36; at += 4)
		for (unsigned taken = 0; taken < 2; taken++)
			for (unsigned fast = 0; fast < 2; fast++) {
				struct flat *f = flat_new(little);

				poke32(f, CODE + at, im(4, 0, taken ? 0 : 5, 4)); /* beq $0, $5 */
				poke32(f, CODE + at + 4, 0x0000000c);	/* syscall */
				f->c->gpr[5] = 1;
				if (fast) {
					flat_run(f, at / 4 + 2);
				} else {
					for (unsigned k = 0; k < at / 4 + 2; k++)
						flat_run(f, 1);
				}
				assert_int_equal(exc_of(f), EXC_SYS);
				assert_int_equal(f->c->c0[C0_EPC], K0 + CODE + at);
				assert_true(f->c->cause & CAUSE_BD);
				assert_int_equal(f->c->pc, K0 + 0x180);
				flat_free(f);
			}
}

static void test_interrupt_in_slot(void **state)
{
	struct flat *f = flat_new(little);

	(void)state;
	poke32(f, CODE, im(4, 0, 0, 4));
	f->c->status |= ST_IE | 0x8000;
	cpu_sync(f->c);
	flat_run(f, 1);
	assert_true(f->c->in_delay);
	cpu_line(f->c, 7, true);
	assert_true(cpu_irq_pending(f->c));
	cpu_interrupt(f->c);
	assert_int_equal(f->c->c0[C0_EPC], K0 + CODE);
	assert_true(f->c->cause & CAUSE_BD);
	assert_int_equal(exc_of(f), EXC_INT);
	flat_free(f);
}

/* A branch in a delay slot is a reserved instruction, in a run and alone. */
static void test_branch_in_slot(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 32; at += 4)
		for (unsigned taken = 0; taken < 2; taken++)
			for (unsigned fast = 0; fast < 2; fast++) {
				struct flat *f = flat_new(little);

				f->c->gpr[5] = 1;
				f->c->pc += at;
				poke32(f, CODE + at, im(4, 0, taken ? 0 : 5, 4));
				poke32(f, CODE + at + 4, im(4, 0, 0, 4));
				if (fast) {
					flat_run(f, 2);
				} else {
					flat_run(f, 1);
					flat_run(f, 1);
				}
				assert_int_equal(exc_of(f), EXC_RI);
				assert_int_equal(f->c->c0[C0_EPC], K0 + CODE + at);
				assert_int_equal(f->c->nbranch, 1);
				flat_free(f);
			}
}

static void set_tlb(struct flat *f, unsigned i, uint64_t vpn, uint32_t lo0, uint32_t lo1)
{
	uint32_t code[] = { mtc0(8, 0), mtc0(9, 10), mtc0(10, 2), mtc0(11, 3), mtc0(0, 5),
		0x42000002 };

	for (unsigned k = 0; k < 6; k++)
		poke32(f, 0x7000 + 4 * k, code[k]);
	f->c->gpr[8] = i;
	f->c->gpr[9] = vpn;
	f->c->gpr[10] = lo0;
	f->c->gpr[11] = lo1;
	f->c->pc = K0 + 0x7000;
	flat_run(f, 6);
	f->c->pc = K0 + CODE;
}

static void test_tlb(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	set_tlb(f, 3, 0x00400000 | 7, 0x20 << 6 | 3 << 3 | 6, 0x21 << 6 | 3 << 3 | 2);
	assert_int_equal(c->tlb[3].asid, 7);
	poke32(f, 0x20010, 0xabcd);
	poke32(f, CODE, im(35, 4, 6, 0x10));		/* lw $6, 0x10($4) */
	poke32(f, CODE + 4, im(43, 4, 6, 0x14));	/* sw to the writable page */
	poke32(f, CODE + 8, im(43, 4, 6, 0x1000));	/* sw to the page without D */
	c->gpr[4] = 0x400000;
	flat_run(f, 2);
	assert_int_equal(c->gpr[6], 0xabcd);
	assert_int_equal(exc_of(f), NOEXC);
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_MOD);
	assert_int_equal(c->c0[C0_BADVADDR], 0x401000);
	assert_int_equal(c->pc, K0 + 0x180);
	/* another address space: refill */
	c->status &= ~(uint32_t)ST_EXL;
	cpu_sync(c);
	poke32(f, CODE + 0x40, mtc0(9, 10));
	poke32(f, CODE + 0x44, im(35, 4, 6, 0x10));
	c->gpr[9] = 8;
	c->pc = K0 + CODE + 0x40;
	flat_run(f, 2);
	assert_int_equal(exc_of(f), EXC_TLBL);
	assert_int_equal(c->pc, K0);
	assert_int_equal(c->c0[C0_EPC], K0 + CODE + 0x44);
	assert_int_equal(c->c0[C0_CONTEXT] & 0x7ffff0, 0x400000 >> 9);
	assert_int_equal(c->c0[C0_ENTRYHI], 0x400008);
	/* with EXL already set: the general vector, EPC stays */
	poke32(f, 0, im(35, 4, 6, 0x10));
	flat_run(f, 1);
	assert_int_equal(c->pc, K0 + 0x180);
	assert_int_equal(c->c0[C0_EPC], K0 + CODE + 0x44);
	/* an invalid entry: general vector */
	c->status &= ~(uint32_t)ST_EXL;
	cpu_sync(c);
	set_tlb(f, 5, 0x00800000 | 8, 0x22 << 6 | 3 << 3, 0);
	poke32(f, CODE + 0x60, im(43, 4, 6, 0));
	c->gpr[4] = 0x800000;
	c->pc = K0 + CODE + 0x60;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_TLBS);
	assert_int_equal(c->pc, K0 + 0x180);
	flat_free(f);
}

/* The entry that the fast path relies on is replaced: the next access must not see the old page. */
static void test_tlb_replace(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	poke32(f, 0x20010, 111);
	poke32(f, 0x30010, 222);
	poke32(f, CODE, im(35, 4, 6, 0x10));
	poke32(f, CODE + 4, im(35, 4, 7, 0x10));
	set_tlb(f, 0, 0x400000, 0x20 << 6 | 3 << 3 | 7, 1);
	c->gpr[4] = 0x400000;
	flat_run(f, 2);
	assert_int_equal(c->gpr[7], 111);
	set_tlb(f, 0, 0x400000, 0x30 << 6 | 3 << 3 | 7, 1);
	flat_run(f, 2);
	assert_int_equal(c->gpr[6], 222);
	/* ... and once more through a second entry with a lower number */
	set_tlb(f, 9, 0x400000, 0x30 << 6 | 3 << 3 | 7, 1);
	set_tlb(f, 0, 0x600000, 0x20 << 6 | 3 << 3 | 7, 1);
	flat_run(f, 2);
	assert_int_equal(c->gpr[6], 222);
	set_tlb(f, 2, 0x400000, 0x20 << 6 | 3 << 3 | 7, 1);
	flat_run(f, 2);
	assert_int_equal(c->gpr[6], 111);
	flat_free(f);
}

/* Caches hold data: memory changes behind them are not seen until CACHE says so. */
static void test_caches(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	poke32(f, 0x8000, 1);
	poke32(f, CODE, im(35, 4, 6, 0));
	poke32(f, CODE + 4, im(43, 4, 9, 4));
	poke32(f, CODE + 8, im(35, 4, 7, 0));
	poke32(f, CODE + 12, 0xbc910000);	/* cache 0x11, 0($4): hit invalidate D: 9 is lost */
	poke32(f, CODE + 16, im(35, 4, 8, 0));
	poke32(f, CODE + 20, im(35, 4, 10, 4));
	c->gpr[4] = K0 + 0x8000;
	c->gpr[9] = 9;
	flat_run(f, 1);
	poke32(f, 0x8000, 2);			/* as DMA would */
	flat_run(f, 5);
	assert_int_equal(c->gpr[6], 1);
	assert_int_equal(c->gpr[7], 1);
	assert_int_equal(c->gpr[8], 2);
	assert_int_equal(c->gpr[10], 0);
	assert_int_equal(f->writebacks, 0);
	/* code: the instruction cache keeps the old word until it is told */
	c->pc = K0 + CODE;
	poke32(f, CODE, im(9, 0, 6, 42));
	flat_run(f, 1);
	assert_int_equal(c->gpr[6], 2);
	poke32(f, 0x2000, 0xbc900000);		/* cache 0x10, 0($4): hit invalidate I */
	c->gpr[4] = K0 + CODE;
	c->pc = K0 + 0x2000;
	flat_run(f, 1);
	c->pc = K0 + CODE;
	flat_run(f, 1);
	assert_int_equal(c->gpr[6], 42);
	/* two addresses of one index: the dirty one goes out */
	poke32(f, 0x2000, im(43, 4, 9, 0));
	poke32(f, 0x2004, im(35, 5, 6, 0));
	c->gpr[4] = K0 + 0x9000;
	c->gpr[5] = K0 + 0xd000;
	c->pc = K0 + 0x2020;
	poke32(f, 0x2020, im(43, 4, 9, 0));
	poke32(f, 0x2024, im(35, 5, 6, 0));
	flat_run(f, 2);
	assert_int_equal(f->writebacks, 1);
	assert_int_equal(peek32(f, 0x9000), 9);
	flat_free(f);
}

static void test_modes(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	set_tlb(f, 0, 0, 0x1 << 6 | 3 << 3 | 7, 0x2 << 6 | 3 << 3 | 7);	/* user page 0 = CODE */
	c->status = 0x10;		/* user mode, no coprocessors, UX = 0 */
	cpu_sync(c);
	c->pc = 0;
	poke32(f, CODE, mfc0(6, 12));
	poke32(f, CODE + 8, 0x0085302d);	/* daddu: 64 bits in 32-bit user mode */
	poke32(f, CODE + 16, im(35, 4, 6, 0));	/* kernel address from user mode */
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_CPU);
	assert_int_equal(c->cause >> 28 & 3, 0);
	c->status = 0x10;
	cpu_sync(c);
	c->pc = 8;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_RI);
	c->status = 0x10 | ST_UX;
	cpu_sync(c);
	c->pc = 8;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), NOEXC);
	c->status = 0x10;
	cpu_sync(c);
	c->pc = 16;
	c->gpr[4] = K0 + 0x8000;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_ADEL);
	assert_int_equal(c->c0[C0_BADVADDR], K0 + 0x8000);
	c->status = 0x10;
	cpu_sync(c);
	c->pc = 0x20;
	poke32(f, CODE + 0x20, fp(17, 2, 1, 3, 0));
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_CPU);
	assert_int_equal(c->cause >> 28 & 3, 1);
	c->status = ST_CU0;
	cpu_sync(c);
	c->pc = K0 + CODE + 0x42;		/* unaligned pc */
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_ADEL);
	c->status = ST_CU0 | ST_BEV;
	cpu_sync(c);
	c->pc = K0 + CODE + 0x40;
	poke32(f, CODE + 0x40, 0x0000000c);
	flat_run(f, 1);
	assert_int_equal(c->pc, 0xffffffffbfc00380ULL);
	/* nothing answers: bus error on a load, on a fetch */
	c->status = ST_CU0;
	cpu_sync(c);
	c->gpr[4] = K1 + 0x10000000;
	poke32(f, CODE + 0x60, im(35, 4, 6, 0));
	c->pc = K0 + CODE + 0x60;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_DBE);
	c->status = ST_CU0;
	cpu_sync(c);
	c->pc = K0 + 0x10000000;
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_IBE);
	flat_free(f);
}

static void test_random_count(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	poke32(f, CODE, mtc0(4, 6));		/* Wired = 40 */
	for (unsigned i = 1; i < 12; i++)
		poke32(f, CODE + 4 * i, mfc0(4 + i, 1));
	c->gpr[4] = 40;
	flat_run(f, 12);
	for (unsigned i = 1; i < 12; i++)
		assert_int_equal(c->gpr[4 + i], 47 - (i - 1) % 8);
	poke32(f, 0x2000, mtc0(0, 9));
	poke32(f, 0x2000 + 4 * 20, mfc0(6, 9));
	c->pc = K0 + 0x2000;
	flat_run(f, 21);
	assert_in_range(c->gpr[6], 9, 10);	/* half the instruction rate */
	flat_free(f);
}

static uint64_t dbl(double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	return v;
}

static uint32_t sgl(float d)
{
	uint32_t v;

	memcpy(&v, &d, 4);
	return v;
}

/* fs in $f2, ft in $f4, result in $f6; flags: Cause field (I 1 U 2 O 4 Z 8 V 16 E 32) */
static void test_fpu(void **state)
{
	static const uint64_t one_d = 0x3ff0000000000000, three_d = 0x4008000000000000,
			      inf_d = 0x7ff0000000000000, snan_d = 0x7ff8000000000000,
			      qnan_d = 0x7ff4000000000000, den_d = 1, max_d = 0x7fefffffffffffff,
			      min_d = 0x0010000000000000, neg_d = 0xbff0000000000000;
	struct {
		const char *name; uint32_t w; unsigned rm; uint64_t fs, ft, want; unsigned flags;
	} t[] = {
		{ "add.d", fp(17, 4, 2, 6, 0), 0, one_d, one_d, dbl(2), 0 },
		{ "div.d 1/3 nearest", fp(17, 4, 2, 6, 3), 0, one_d, three_d, 0x3fd5555555555555,
		  1 },
		{ "div.d 1/3 up", fp(17, 4, 2, 6, 3), 2, one_d, three_d, 0x3fd5555555555556, 1 },
		{ "div.d -1/3 zero", fp(17, 4, 2, 6, 3), 1, neg_d, three_d, 0xbfd5555555555555, 1 },
		{ "div.d -1/3 down", fp(17, 4, 2, 6, 3), 3, neg_d, three_d, 0xbfd5555555555556, 1 },
		{ "div.d by 0", fp(17, 4, 2, 6, 3), 0, one_d, 0, inf_d, 8 },
		{ "div.d 0/0", fp(17, 4, 2, 6, 3), 0, 0, 0, 0x7ff7ffffffffffff, 16 },
		{ "sub.d inf - inf", fp(17, 4, 2, 6, 1), 0, inf_d, inf_d, 0x7ff7ffffffffffff, 16 },
		{ "mul.d overflow", fp(17, 4, 2, 6, 2), 0, max_d, max_d, inf_d, 5 },
		{ "mul.d overflow to zero", fp(17, 4, 2, 6, 2), 1, max_d, max_d, max_d, 5 },
		{ "mul.d tiny", fp(17, 4, 2, 6, 2), 0, min_d, min_d, 0xdead, 32 },
		{ "add.d denormal", fp(17, 4, 2, 6, 0), 0, den_d, one_d, 0xdead, 32 },
		{ "add.d quiet NaN", fp(17, 4, 2, 6, 0), 0, qnan_d, one_d, 0xdead, 32 },
		{ "add.d signalling NaN", fp(17, 4, 2, 6, 0), 0, snan_d, one_d, 0x7ff7ffffffffffff,
		  16 },
		{ "mov.d takes anything", fp(17, 0, 2, 6, 6), 0, den_d, 0, den_d, 0 },
		{ "neg.d", fp(17, 0, 2, 6, 7), 0, one_d, 0, neg_d, 0 },
		{ "abs.d", fp(17, 0, 2, 6, 5), 0, neg_d, 0, one_d, 0 },
		{ "sqrt.d", fp(17, 0, 2, 6, 4), 0, dbl(2), 0, dbl(1.4142135623730951), 1 },
		{ "sqrt.d -1", fp(17, 0, 2, 6, 4), 0, neg_d, 0, 0x7ff7ffffffffffff, 16 },
		{ "cvt.s.d", fp(17, 0, 2, 6, 32), 0, dbl(0.1), 0, sgl(0.1f), 1 },
		{ "cvt.d.s", fp(16, 0, 2, 6, 33), 0, sgl(1.5f), 0, dbl(1.5), 0 },
		{ "cvt.w.d even", fp(17, 0, 2, 6, 36), 0, dbl(2.5), 0, 2, 1 },
		{ "round.w.d", fp(17, 0, 2, 6, 12), 1, dbl(-3.5), 0, (uint32_t)-4, 1 },
		{ "trunc.w.d", fp(17, 0, 2, 6, 13), 2, dbl(-3.9), 0, (uint32_t)-3, 1 },
		{ "ceil.w.d", fp(17, 0, 2, 6, 14), 0, dbl(3.1), 0, 4, 1 },
		{ "floor.w.d", fp(17, 0, 2, 6, 15), 0, dbl(-3.1), 0, (uint32_t)-4, 1 },
		{ "trunc.w.d too big", fp(17, 0, 2, 6, 13), 0, dbl(3e9), 0, 0x7fffffff, 16 },
		{ "trunc.l.d", fp(17, 0, 2, 6, 9), 0, dbl(3e9), 0, 3000000000u, 0 },
		{ "cvt.l.d NaN", fp(17, 0, 2, 6, 37), 0, qnan_d, 0, 0x7fffffffffffffff, 16 },
		{ "cvt.d.w", fp(20, 0, 2, 6, 33), 0, (uint32_t)-7, 0, dbl(-7), 0 },
		{ "cvt.s.w inexact", fp(20, 0, 2, 6, 32), 0, 16777217, 0, sgl(16777216.0f), 1 },
		{ "cvt.d.l", fp(21, 0, 2, 6, 33), 0, 1ULL << 40, 0, dbl(1099511627776.0), 0 },
		{ "add.s", fp(16, 4, 2, 6, 0), 0, sgl(1.5f), sgl(2.25f), sgl(3.75f), 0 },
		{ "div.s", fp(16, 4, 2, 6, 3), 0, sgl(1), sgl(3), 0x3eaaaaab, 1 },
		{ "mul.s tiny", fp(16, 4, 2, 6, 2), 0, 0x00800000, sgl(0.5f), 0xdead, 32 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++)
		for (unsigned fr = 0; fr < 2; fr++) {
			struct flat *f = flat_new(little);
			struct cpu *c = f->c;

			c->status |= fr ? ST_FR : 0;
			cpu_sync(c);
			c->fpr[2] = t[i].fs;
			c->fpr[4] = t[i].ft;
			c->fpr[6] = 0xdead;
			c->fcr31 = t[i].rm;
			poke32(f, CODE, t[i].w);
			flat_run(f, 1);
			if ((c->fcr31 >> 12 & 63) != t[i].flags)
				fail_msg("%s: cause 0x%x", t[i].name, c->fcr31 >> 12 & 63);
			assert_int_equal(exc_of(f), t[i].flags & 32 ? EXC_FPE : NOEXC);
			if (c->fpr[6] != t[i].want)
				fail_msg("%s: 0x%llx", t[i].name, (unsigned long long)c->fpr[6]);
			if (!(t[i].flags & 32))
				assert_int_equal(c->fcr31 >> 2 & 31, t[i].flags);
			flat_free(f);
		}
	/* enabled exceptions trap and leave the destination alone; FS flushes */
	{
		struct flat *f = flat_new(little);
		struct cpu *c = f->c;

		c->fpr[2] = one_d;
		c->fpr[6] = 0xdead;
		c->fcr31 = 8 << 7;
		poke32(f, CODE, fp(17, 4, 2, 6, 3));
		flat_run(f, 1);
		assert_int_equal(exc_of(f), EXC_FPE);
		assert_int_equal(c->fpr[6], 0xdead);
		assert_int_equal(c->fcr31 >> 2 & 31, 0);
		c->status &= ~(uint32_t)ST_EXL;
		c->fcr31 = 1 << 24 | 2;		/* FS, round up */
		c->fpr[2] = c->fpr[4] = min_d;
		c->pc = K0 + CODE + 4;
		cpu_sync(c);
		poke32(f, CODE + 4, fp(17, 4, 2, 6, 2));
		poke32(f, CODE + 0x20, fp(17, 4, 2, 6, 2));
		c->pc = K0 + CODE + 0x20;
		flat_run(f, 1);
		assert_int_equal(c->fpr[6], min_d);
		assert_int_equal(c->fcr31 >> 12 & 63, 3);
		flat_free(f);
	}
}

static void test_fp_compare(void **state)
{
	static const uint64_t vd[] = { 0x3ff0000000000000, 0x4000000000000000,
		0x7ff4000000000000 /* quiet NaN */ };
	static const uint64_t vs[] = { 0x3f800000, 0x40000000, 0x7fa00000 };

	(void)state;
	for (unsigned cond = 0; cond < 32; cond++)
		for (unsigned a = 0; a < 3; a++)
			for (unsigned b = 0; b < 3; b++) {
				struct flat *f = flat_new(little);
				const uint64_t *v = cond & 16 ? vs : vd;
				bool un = a == 2 || b == 2;
				bool want = (cond & 1 && un) || (cond & 2 && !un && a == b) ||
					    (cond & 4 && !un && a < b);

				f->c->fpr[2] = v[a];
				f->c->fpr[4] = v[b];
				poke32(f, CODE, fp(cond & 16 ? 16 : 17, 4, 2, 0, 48 + (cond & 15)));
				poke32(f, CODE + 4, 0x45010004);	/* bc1t */
				flat_run(f, 3);
				assert_int_equal(f->c->fcr31 >> 23 & 1, want);
				assert_int_equal(f->c->pc,
						 want ? K0 + CODE + 8 + 16 : K0 + CODE + 12);
				assert_int_equal(f->c->fcr31 >> 16 & 1, un && cond & 8);
				flat_free(f);
			}
}

static void test_fp_registers(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	/* FR = 0: odd registers are the upper halves of even ones */
	poke32(f, CODE, 0x44840800);		/* mtc1 $4, $f1 */
	poke32(f, CODE + 4, 0x44850000);	/* mtc1 $5, $f0 */
	poke32(f, CODE + 8, im(61, 9, 0, 0));	/* sdc1 $f0, 0($9) */
	poke32(f, CODE + 12, im(57, 9, 1, 8));	/* swc1 $f1, 8($9) */
	poke32(f, CODE + 16, im(35, 9, 6, 4));
	poke32(f, CODE + 20, im(35, 9, 7, 8));
	poke32(f, CODE + 24, im(49, 9, 3, 0));	/* lwc1 $f3 */
	poke32(f, CODE + 28, im(53, 9, 4, 0));	/* ldc1 $f4 */
	c->gpr[4] = 0x11112222;
	c->gpr[5] = 0x33334444;
	c->gpr[9] = K0 + 0x8000;
	flat_run(f, 8);
	assert_int_equal(c->fpr[0], 0x1111222233334444);
	assert_int_equal(c->gpr[6], 0x11112222);
	assert_int_equal(c->gpr[7], 0x11112222);
	assert_int_equal(c->fpr[2] >> 32, 0x33334444);
	assert_int_equal(c->fpr[4], 0x1111222233334444);
	flat_free(f);
}

static void test_r2(void **state)
{
	static const struct { const char *name; uint32_t w; uint64_t rs, rt, want; } t[] = {
		{ "movz", 0x0085300a, 5, 0, 5 }, { "movn not", 0x0085300b, 5, 0, 0 },
		{ "mul", 0x70853002, NEG(3), 5, NEG(15) }, { "clz", 0x70863020, 0x00ff, 0, 24 },
		{ "clo", 0x70863021, NEG(1), 0, 32 }, { "seb", 0x7c053420, 0, 0x1280,
		  0xffffffffffffff80 },
		{ "seh", 0x7c053620, 0, 0x18000, 0xffffffffffff8000 },
		{ "wsbh", 0x7c0530a0, 0, 0x11223344, 0x22114433 },
		{ "ext", 0x7c863900 | 0x0, 0xabcd1234, 0, 0x23 },
		{ "ror", 0x00253102, 0, 0x12345678, 0xffffffff81234567 },
		{ "rorv", 0x00853046, 8, 0x12345678, 0x78123456 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
		struct flat *f = one(r2, t[i].w, t[i].rs, t[i].rt);

		if (exc_of(f) != NOEXC || f->c->gpr[6] != t[i].want)
			fail_msg("%s: exception %u $6 = 0x%llx", t[i].name, exc_of(f),
				 (unsigned long long)f->c->gpr[6]);
		flat_free(f);
	}
	{		/* 64-bit operations do not exist there */
		struct flat *f = one(r2, 0x0085302d, 1, 2);

		assert_int_equal(exc_of(f), EXC_RI);
		flat_free(f);
	}
}

static void test_watch(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;

	(void)state;
	poke32(f, CODE, im(43, 4, 5, 0));
	poke32(f, CODE + 4, mtc0(6, 18));
	poke32(f, CODE + 8, im(35, 4, 7, 0));
	poke32(f, CODE + 12, im(43, 4, 5, 0));
	c->gpr[4] = K0 + 0x8000;
	c->gpr[6] = 0x8001;		/* watch stores to 0x8000 */
	flat_run(f, 3);
	assert_int_equal(exc_of(f), NOEXC);
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_WATCH);
	assert_int_equal(c->c0[C0_EPC], K0 + CODE + 12);
	flat_free(f);
}

static void test_decode_all(void **state)
{
	char text[64];

	(void)state;
	for (unsigned i = 0; i < MIPS_NOPS; i++) {
		assert_int_equal(mips_decode(mips_insns[i].match, ~0u), i);
		mips_disasm(mips_insns[i].match, 0x1000, ~0u, text, sizeof text);
		if (mips_insns[i].match)
			assert_null(strstr(text, ".word"));
	}
	mips_disasm(0x8fbf001c, 0x1000, MIPS_ISA_R4400, text, sizeof text);
	assert_string_equal(text, "lw ra,28(sp)");
	mips_disasm(0x1440fff0, 0x1000, MIPS_ISA_R4400, text, sizeof text);
	assert_string_equal(text, "bne v0,zero,0xfc4");
	mips_disasm(0x46241032, 0x1000, MIPS_ISA_R4400, text, sizeof text);
	assert_string_equal(text, "c.eq.d $f2,$f4");
	mips_disasm(0x0c000400, 0x80001000, MIPS_ISA_R4400, text, sizeof text);
	assert_string_equal(text, "jal 0x80001000");
	mips_disasm(0x70853002, 0x1000, MIPS_ISA_R4400, text, sizeof text);
	assert_string_equal(text, ".word 0x70853002");
	mips_disasm(0x40816000, 0x1000, MIPS_ISA_R4400, text, 5);
	assert_string_equal(text, "mtc0");
}

/* The same one instruction on $4, $5 and HI, LO. */
static void test_hilo(void **state)
{
	static const struct {
		const char *name; uint32_t w; uint64_t rs, rt, hi, lo, want_hi, want_lo, want;
	} t[] = {
		{ "mfhi", 0x00003010, 0, 0, 1ULL << 63, 2, 1ULL << 63, 2, 1ULL << 63 },
		{ "mflo", 0x00003012, 0, 0, 1, ~0ULL, 1, ~0ULL, ~0ULL },
		{ "mthi", 0x00800011, 0x123456789abcdef0, 0, 0, 7, 0x123456789abcdef0, 7, 0 },
		{ "mtlo", 0x00800013, NEG(5), 0, 7, 0, 7, NEG(5), 0 },
		{ "madd", 0x70850000, NEG(2), 3, 0, 10, 0, 4, 0 },
		{ "madd borrows", 0x70850000, NEG(2), 3, 0, 5, ~0ULL, ~0ULL, 0 },
		{ "maddu", 0x70850001, NEG(1), NEG(1), 0, 1, NEG(2), 2, 0 },
		{ "maddu carries", 0x70850001, NEG(1), 2, 0, 4, 2, 2, 0 },
		{ "msub", 0x70850004, NEG(2), 3, 0, 10, 0, 16, 0 },
		{ "msubu", 0x70850005, 2, 3, 0, 5, ~0ULL, ~0ULL, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
		struct flat *f = flat_new(t[i].w >> 26 ? r2 : little);

		poke32(f, CODE, t[i].w);
		f->c->gpr[4] = t[i].rs;
		f->c->gpr[5] = t[i].rt;
		f->c->hi = t[i].hi;
		f->c->lo = t[i].lo;
		flat_run(f, 1);
		if (f->c->hi != t[i].want_hi || f->c->lo != t[i].want_lo ||
		    f->c->gpr[6] != t[i].want)
			fail_msg("%s: HI 0x%llx LO 0x%llx $6 0x%llx", t[i].name,
				 (unsigned long long)f->c->hi, (unsigned long long)f->c->lo,
				 (unsigned long long)f->c->gpr[6]);
		flat_free(f);
	}
}

/* Every conversion to an integer, against the C library: both formats, both widths, every rounding
 * mode. */
static void test_fp_to_int(void **state)
{
	static const double v[] = {
		0, -0.0, 0.25, 0.5, -0.5, 0.75, 1, 1.5, -1.5, 2.5, -2.5, 3.25, -3.75, 1e6,
		16777215.5, 2147483520, 2147483647, 2147483647.5, 2147483648.0, -2147483648.0,
		-2147483648.5, -2147483649.0, 4e9, 9007199254740991.0, 9223372036854774784.0,
		9223372036854775808.0, -9223372036854775808.0, 1e19, -1e300, 1.0 / 0.0, -1.0 / 0.0,
	};
	/* function field, rounding mode (4: FCR31's), 64 bits */
	static const struct { unsigned fn, rm; bool wide; } op[] = {
		{ 8, 0, true }, { 9, 1, true }, { 10, 2, true }, { 11, 3, true }, { 37, 4, true },
		{ 12, 0, false }, { 13, 1, false }, { 14, 2, false }, { 15, 3, false },
		{ 36, 4, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof v / sizeof *v; i++)
		for (unsigned k = 0; k < sizeof op / sizeof *op; k++)
			for (unsigned n = 0; n < 8; n++) {
				unsigned single = n >> 2, fcr = n & 3,
					 rm = op[k].rm == 4 ? fcr : op[k].rm, flags = 0;
				double x = single ? (double)(float)v[i] : v[i], r;
				double top = op[k].wide ? 9223372036854775808.0 : 2147483648.0;
				struct flat *f = flat_new(little);
				uint64_t want, got;

				r = rm == 0   ? nearbyint(x)
				    : rm == 1 ? trunc(x)
				    : rm == 2 ? ceil(x)
					      : floor(x);
				if (!(r >= -top && r < top)) {
					flags = 16;
					want = op[k].wide ? INT64_MAX : INT32_MAX;
				} else {
					flags = r != x;
					want = (uint64_t)(int64_t)r;
				}
				f->c->fpr[2] = single ? sgl((float)v[i]) : dbl(v[i]);
				f->c->fcr31 = fcr;
				f->c->status |= ST_FR;
				cpu_sync(f->c);
				poke32(f, CODE, fp(single ? 16 : 17, 0, 2, 6, op[k].fn));
				flat_run(f, 1);
				got = op[k].wide ? f->c->fpr[6]
						 : (uint64_t)(int64_t)(int32_t)f->c->fpr[6];
				if (got != want || (f->c->fcr31 >> 12 & 63) != flags)
					fail_msg("function %u format %s of %g, rounding %u: "
						 "0x%llx, cause 0x%x; expected 0x%llx, 0x%x",
						 op[k].fn, single ? "s" : "d", v[i], rm,
						 (unsigned long long)got, f->c->fcr31 >> 12 & 63,
						 (unsigned long long)want, flags);
				flat_free(f);
			}
}

/* fs $f2, ft $f4, result $f6, single precision and the rest of double; flags as in test_fpu() */
static void test_fp_rest(void **state)
{
	static const uint32_t qnan = 0x7fa00000, snan = 0x7fc00000, max = 0x7f7fffff,
			      min = 0x00800000, inf = 0x7f800000;
	const struct {
		const char *name; uint32_t w; unsigned rm; uint64_t fs, ft, want; unsigned flags;
	} t[] = {
		{ "add.s inexact up", fp(16, 4, 2, 6, 0), 2, sgl(1), 0x33000000, 0x3f800001, 1 },
		{ "add.s overflow", fp(16, 4, 2, 6, 0), 0, max, max, inf, 5 },
		{ "sub.s", fp(16, 4, 2, 6, 1), 0, sgl(1), sgl(3), sgl(-2), 0 },
		{ "sub.s inf - inf", fp(16, 4, 2, 6, 1), 0, inf, inf, 0x7fbfffff, 16 },
		{ "sub.s x - x down", fp(16, 4, 2, 6, 1), 3, sgl(3), sgl(3), 0x80000000, 0 },
		{ "mul.s 0 inf", fp(16, 4, 2, 6, 2), 0, 0, inf, 0x7fbfffff, 16 },
		{ "div.s by 0", fp(16, 4, 2, 6, 3), 0, sgl(-1), 0, 0xff800000, 8 },
		{ "sqrt.s", fp(16, 0, 2, 6, 4), 0, sgl(2), 0, 0x3fb504f3, 1 },
		{ "sqrt.s -0", fp(16, 0, 2, 6, 4), 0, 0x80000000, 0, 0x80000000, 0 },
		{ "sqrt.s -1", fp(16, 0, 2, 6, 4), 0, sgl(-1), 0, 0x7fbfffff, 16 },
		{ "abs.s", fp(16, 0, 2, 6, 5), 0, sgl(-1.5f), 0, sgl(1.5f), 0 },
		{ "abs.s signalling NaN", fp(16, 0, 2, 6, 5), 0, snan, 0, 0x7fbfffff, 16 },
		{ "neg.s", fp(16, 0, 2, 6, 7), 0, sgl(0), 0, 0x80000000, 0 },
		{ "neg.s quiet NaN", fp(16, 0, 2, 6, 7), 0, qnan, 0, 0xdead, 32 },
		{ "mov.s takes anything", fp(16, 0, 2, 6, 6), 0, snan, 0, snan, 0 },
		{ "cvt.s.l", fp(21, 0, 2, 6, 32), 0, NEG(3), 0, sgl(-3), 0 },
		{ "cvt.s.l rounds once", fp(21, 0, 2, 6, 32), 0, (1ULL << 53) + (1ULL << 29) + 1, 0,
		  0x5a000001, 1 },
		{ "cvt.s.w down", fp(20, 0, 2, 6, 32), 3, 16777217, 0, sgl(16777216.0f), 1 },
		{ "cvt.d.l inexact up", fp(21, 0, 2, 6, 33), 2, (1ULL << 53) + 1, 0,
		  0x4340000000000001, 1 },
		{ "cvt.s.d overflow", fp(17, 0, 2, 6, 32), 1, dbl(1e300), 0, max, 5 },
		{ "cvt.s.d tiny", fp(17, 0, 2, 6, 32), 0, dbl(1e-40), 0, 0xdead, 32 },
		{ "cvt.d.s denormal", fp(16, 0, 2, 6, 33), 0, 1, 0, 0xdead, 32 },
		{ "cvt.w.s denormal", fp(16, 0, 2, 6, 36), 0, 1, 0, 0xdead, 32 },
		{ "cvt.l.d signalling NaN", fp(17, 0, 2, 6, 37), 0, 0x7ff8000000000000, 0,
		  INT64_MAX, 16 },
		{ "add.s min + min", fp(16, 4, 2, 6, 0), 0, min, min, 0x01000000, 0 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof *t; i++) {
		struct flat *f = flat_new(i & 1 ? big : little);
		struct cpu *c = f->c;

		c->fpr[2] = t[i].fs;
		c->fpr[4] = t[i].ft;
		c->fpr[6] = 0xdead;
		c->fcr31 = t[i].rm;
		poke32(f, CODE, t[i].w);
		flat_run(f, 1);
		if (c->fpr[6] != t[i].want || (c->fcr31 >> 12 & 63) != t[i].flags)
			fail_msg("%s: 0x%llx cause 0x%x", t[i].name, (unsigned long long)c->fpr[6],
				 c->fcr31 >> 12 & 63);
		assert_int_equal(exc_of(f), t[i].flags & 32 ? EXC_FPE : NOEXC);
		flat_free(f);
	}
}

/* Moves between the units, branches on the condition, conditional moves of release 2. */
static void test_fp_moves(void **state)
{
	static const struct { const char *name; uint32_t w; bool taken, likely; } b[] = {
		{ "bc1f", 0x45000008, false, false }, { "bc1t", 0x45010008, true, false },
		{ "bc1fl", 0x45020008, false, true }, { "bc1tl", 0x45030008, true, true },
	};
	const struct { const char *name; uint32_t w; bool cond; uint64_t rt; bool moved; } m[] = {
		{ "movf.s", fp(16, 0, 2, 6, 17), false, 0, true },
		{ "movf.s not", fp(16, 0, 2, 6, 17), true, 0, false },
		{ "movt.s", fp(16, 1, 2, 6, 17), true, 0, true },
		{ "movt.s not", fp(16, 1, 2, 6, 17), false, 0, false },
		{ "movf.d", fp(17, 0, 2, 6, 17), false, 0, true },
		{ "movt.d", fp(17, 1, 2, 6, 17), true, 0, true },
		{ "movz.s", fp(16, 5, 2, 6, 18), false, 0, true },
		{ "movz.s not", fp(16, 5, 2, 6, 18), false, 1, false },
		{ "movn.s", fp(16, 5, 2, 6, 19), false, 9, true },
		{ "movn.s not", fp(16, 5, 2, 6, 19), false, 0, false },
		{ "movz.d", fp(17, 5, 2, 6, 18), false, 0, true },
		{ "movn.d", fp(17, 5, 2, 6, 19), false, 1, true },
	};
	struct flat *f;

	(void)state;
	for (unsigned i = 0; i < sizeof b / sizeof *b; i++)
		for (unsigned cond = 0; cond < 2; cond++) {
			bool taken = b[i].taken == cond;

			f = flat_new(little);
			f->c->fcr31 = cond << 23;
			poke32(f, CODE, b[i].w);
			poke32(f, CODE + 4, im(9, 0, 6, 7));	/* the slot: addiu $6, $0, 7 */
			flat_run(f, taken || !b[i].likely ? 2 : 1);
			if (f->c->pc != (taken ? K0 + CODE + 4 + 32 : K0 + CODE + 8) ||
			    f->c->gpr[6] != (taken || !b[i].likely ? 7 : 0))
				fail_msg("%s with condition %u", b[i].name, cond);
			flat_free(f);
			/* without the coprocessor */
			f = flat_new(little);
			f->c->status &= ~(uint32_t)ST_CU1;
			poke32(f, CODE, b[i].w);
			flat_run(f, 1);
			assert_int_equal(exc_of(f), EXC_CPU);
			assert_int_equal(f->c->cause >> 28 & 3, 1);
			flat_free(f);
		}
	for (unsigned i = 0; i < sizeof m / sizeof *m; i++) {
		f = flat_new(r2);
		f->c->fcr31 = (uint32_t)m[i].cond << 23;
		f->c->gpr[5] = m[i].rt;
		f->c->fpr[2] = 0x1122334455667788;
		f->c->fpr[6] = 0x1122334400000001;
		poke32(f, CODE, m[i].w);
		flat_run(f, 1);
		if ((uint32_t)f->c->fpr[6] != (m[i].moved ? 0x55667788u : 1))
			fail_msg("%s: 0x%llx", m[i].name, (unsigned long long)f->c->fpr[6]);
		flat_free(f);
	}
	/* movf, movt: general registers by the condition bits 0 and 3 */
	for (unsigned i = 0; i < 8; i++) {
		unsigned cc = i & 1 ? 3 : 0, tf = i >> 1 & 1, cond = i >> 2;

		f = flat_new(r2);
		f->c->fcr31 = cond << (cc ? 24 + cc : 23);
		f->c->gpr[4] = 5;
		poke32(f, CODE, 4u << 21 | cc << 18 | tf << 16 | 6 << 11 | 1);
		flat_run(f, 1);
		assert_int_equal(f->c->gpr[6], tf == cond ? 5 : 0);
		flat_free(f);
	}
}

/* Moves of whole registers, and those of control. */
static void test_fp_register_moves(void **state)
{
	struct flat *f = flat_new(little);

	(void)state;
	f->c->status |= ST_FR;
	cpu_sync(f->c);
	f->c->gpr[4] = 0x8000000012345678;
	f->c->fpr[3] = 0xfedcba9880000000;
	poke32(f, CODE, 0x44a41000);			/* dmtc1 $4, $f2 */
	poke32(f, CODE + 4, 0x44251000);		/* dmfc1 $5, $f2 */
	poke32(f, CODE + 8, 0x44061800);		/* mfc1 $6, $f3: sign-extended */
	poke32(f, CODE + 12, 0x44c7f800);		/* ctc1 $7, $31 */
	poke32(f, CODE + 16, 0x4448f800);		/* cfc1 $8, $31 */
	poke32(f, CODE + 20, 0x44490000);	/* cfc1 $9, $0: implementation and revision */
	poke32(f, CODE + 24, 0x44caf800);	/* ctc1 $10, $31: a cause whose enable is set */
	f->c->gpr[7] = 0xffffffff;
	f->c->gpr[7] &= ~0x3f000u;			/* no causes */
	f->c->gpr[10] = 16 << 12 | 16 << 7;
	flat_run(f, 6);
	assert_int_equal(f->c->gpr[5], 0x8000000012345678);
	assert_int_equal(f->c->gpr[6], 0xffffffff80000000);
	assert_int_equal(f->c->gpr[8], 0x01800fff);
	assert_int_equal(f->c->gpr[9], 0x500);
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_FPE);
	flat_free(f);
	f = flat_new(r2);
	f->c->fpr[2] = 0x8877665544332211;
	f->c->gpr[4] = 0x0badcafe;
	poke32(f, CODE, 0x44651000);			/* mfhc1 $5, $f2 */
	poke32(f, CODE + 4, 0x44e41000);		/* mthc1 $4, $f2 */
	flat_run(f, 2);
	assert_int_equal(f->c->gpr[5], 0xffffffff88776655);
	assert_int_equal(f->c->fpr[2], 0x0badcafe44332211);
	flat_free(f);
}

static void test_cp0(void **state)
{
	struct flat *f = flat_new(little);
	struct cpu *c = f->c;
	unsigned n;

	(void)state;
	c->gpr[4] = 0x123456789abcdef0;
	poke32(f, CODE, 0x40a47000);			/* dmtc0 $4, EPC */
	poke32(f, CODE + 4, 0x40257000);		/* dmfc0 $5, EPC */
	poke32(f, CODE + 8, mfc0(6, C0_EPC));
	flat_run(f, 3);
	assert_int_equal(c->gpr[5], 0x123456789abcdef0);
	assert_int_equal(c->gpr[6], 0xffffffff9abcdef0);
	/* tlbr of what tlbwi wrote; G is the and of both */
	set_tlb(f, 40, 0x00c00000 | 9, 0x123 << 6 | 3 << 3 | 7, 0x456 << 6 | 3 << 3 | 6);
	c->gpr[9] = 40;
	poke32(f, CODE + 0x20, mtc0(9, C0_INDEX));
	poke32(f, CODE + 0x24, 0x42000001);		/* tlbr */
	c->c0[C0_ENTRYHI] = c->c0[C0_ENTRYLO0] = c->c0[C0_ENTRYLO1] = 0;
	c->pc = K0 + CODE + 0x20;
	flat_run(f, 2);
	assert_int_equal(c->c0[C0_ENTRYHI], 0x00c00009);
	assert_int_equal(c->c0[C0_ENTRYLO0], 0x123 << 6 | 3 << 3 | 6);
	assert_int_equal(c->c0[C0_ENTRYLO1], 0x456 << 6 | 3 << 3 | 6);
	/* tlbp finds it, and only in its address space */
	poke32(f, CODE + 0x40, 0x42000008);		/* tlbp */
	poke32(f, CODE + 0x44, mtc0(9, C0_ENTRYHI));
	poke32(f, CODE + 0x48, 0x42000008);
	c->gpr[9] = 0x00c0000a;
	c->pc = K0 + CODE + 0x40;
	flat_run(f, 1);
	assert_int_equal(c->c0[C0_INDEX], 40);
	flat_run(f, 2);
	assert_int_equal((uint32_t)c->c0[C0_INDEX], 0x80000000);
	/* tlbwr writes where Random stands */
	poke32(f, CODE + 0x60, 0x42000006);
	c->pc = K0 + CODE + 0x60;
	n = cpu_random(c);
	flat_run(f, 1);
	assert_int_equal(c->tlb[n].vpn, 0x00c00000);
	assert_int_equal(c->tlb[n].asid, 0x0a);
	flat_free(f);
	/* in user mode none of it is usable, nor is 64-bit arithmetic */
	f = flat_new(little);
	set_tlb(f, 0, 0x00001000 & ~0x1fff, 0x0 << 6 | 3 << 3 | 7, 1 << 6 | 3 << 3 | 7);
	f->c->status = 2 << 3;
	f->c->pc = CODE;
	cpu_sync(f->c);
	poke32(f, CODE, 0x42000008);
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_CPU);
	assert_int_equal(f->c->cause >> 28 & 3, 0);
	flat_free(f);
	/* coprocessor 2: unusable, or not there */
	for (unsigned i = 0; i < 8; i++) {
		static const uint32_t w[] = { 0xc8860000, 0xd8860000, 0xe8860000, 0xf8860000 };

		f = flat_new(little);
		f->c->status |= i & 4 ? 1u << 30 : 0;
		poke32(f, CODE, w[i & 3]);
		flat_run(f, 1);
		assert_int_equal(exc_of(f), i & 4 ? EXC_RI : EXC_CPU);
		if (!(i & 4))
			assert_int_equal(f->c->cause >> 28 & 3, 2);
		flat_free(f);
	}
	/* lld, scd */
	f = flat_new(big);
	f->c->gpr[4] = K0 + 0x8000;
	f->c->gpr[7] = 0x0123456789abcdef;
	poke32(f, CODE, im(52, 4, 6, 0));
	poke32(f, CODE + 4, im(60, 4, 7, 0));
	poke32(f, CODE + 8, im(55, 4, 8, 0));
	flat_run(f, 3);
	assert_int_equal(f->c->gpr[7], 1);
	assert_int_equal(f->c->gpr[8], 0x0123456789abcdef);
	flat_free(f);
}

static void test_r2_system(void **state)
{
	struct flat *f = flat_new(r2);
	struct cpu *c = f->c;
	uint64_t pa;
	uint8_t *at;

	(void)state;
	poke32(f, CODE, 0x41666020);			/* ei $6 */
	poke32(f, CODE + 4, 0x41676000);		/* di $7 */
	poke32(f, CODE + 8, 0x7c08003b);		/* rdhwr $8, $0: the processor's number */
	poke32(f, CODE + 12, 0x7c09e83b);		/* rdhwr $9, $29: UserLocal */
	poke32(f, CODE + 16, 0x7c0a183b);		/* rdhwr $10, $3: Count's resolution */
	poke32(f, CODE + 20, 0xcc800000);		/* pref 0, 0($4) */
	poke32(f, CODE + 24, 0x7cc5ba04);		/* ins $5, $6, 8, 16 */
	c->userlocal = 0x80001234;
	c->gpr[5] = 0x11223344;
	flat_run(f, 6);
	assert_int_equal(c->gpr[6] & 1, 0);
	assert_int_equal(c->gpr[7] & 1, 1);
	assert_int_equal(c->status & 1, 0);
	assert_int_equal(c->gpr[8], 0);
	assert_int_equal(c->gpr[9], 0xffffffff80001234);
	assert_int_equal(c->gpr[10], 2);
	c->gpr[6] = 0xaabb;
	flat_run(f, 1);
	assert_int_equal(c->gpr[5], 0x11aabb44);
	/* synci: new code is seen without a CACHE instruction */
	poke32(f, CODE + 0x40, im(43, 4, 5, 0));	/* sw $5, 0($4) */
	poke32(f, CODE + 0x44, im(1, 4, 31, 0));	/* synci 0($4) */
	poke32(f, CODE + 0x48, 0x00800008);		/* jr $4 */
	poke32(f, CODE + 0x4c, 0);
	poke32(f, 0x9000, im(9, 0, 6, 1));
	c->gpr[4] = K0 + 0x9000;
	c->gpr[5] = im(9, 0, 6, 2);			/* addiu $6, $0, 2 */
	c->pc = K0 + 0x9000;
	flat_run(f, 1);
	assert_int_equal(c->gpr[6], 1);
	c->pc = K0 + CODE + 0x40;
	flat_run(f, 5);
	assert_int_equal(c->gpr[6], 2);
	assert_true(cpu_locate(c, K0 + 0x9000, &pa, &at));
	/* wait: the processor stops until something is pending */
	poke32(f, CODE + 0x80, 0x42000020);
	c->pc = K0 + CODE + 0x80;
	flat_run(f, 1);
	assert_true(c->waiting);
	flat_free(f);
	/* rdhwr of what HWREna does not allow, from user mode */
	f = flat_new(r2);
	set_tlb(f, 0, 0x00001000 & ~0x1fff, 0x0 << 6 | 3 << 3 | 7, 1 << 6 | 3 << 3 | 7);
	f->c->status = 2 << 3;
	f->c->pc = CODE;
	cpu_sync(f->c);
	poke32(f, CODE, 0x7c09e83b);
	flat_run(f, 1);
	assert_int_equal(exc_of(f), EXC_RI);
	flat_free(f);
}

/* The last test: no row of the table is left out by those before. */
static void test_every_instruction(void **state)
{
	unsigned missing = 0;

	(void)state;
	for (unsigned i = 0; i < MIPS_NOPS; i++)
		if (!flat_seen[i]) {
			print_error("no test executes %s\n", mips_insns[i].name);
			missing++;
		}
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alu), cmocka_unit_test(test_muldiv),
		cmocka_unit_test(test_loads), cmocka_unit_test(test_stores),
		cmocka_unit_test(test_ll_sc), cmocka_unit_test(test_branches),
		cmocka_unit_test(test_slot_exception), cmocka_unit_test(test_interrupt_in_slot),
		cmocka_unit_test(test_branch_in_slot), cmocka_unit_test(test_tlb),
		cmocka_unit_test(test_tlb_replace), cmocka_unit_test(test_caches),
		cmocka_unit_test(test_modes), cmocka_unit_test(test_random_count),
		cmocka_unit_test(test_fpu), cmocka_unit_test(test_fp_compare),
		cmocka_unit_test(test_fp_registers), cmocka_unit_test(test_r2),
		cmocka_unit_test(test_watch), cmocka_unit_test(test_decode_all),
		cmocka_unit_test(test_hilo), cmocka_unit_test(test_fp_to_int),
		cmocka_unit_test(test_fp_rest), cmocka_unit_test(test_fp_moves),
		cmocka_unit_test(test_fp_register_moves),
		cmocka_unit_test(test_cp0), cmocka_unit_test(test_r2_system),
		cmocka_unit_test(test_every_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
