/* SPDX-License-Identifier: MIT */
/* test_r4400_random.c - random instruction streams on the processor and on a second, slow model */
#include "unit/flat_cpu.h"
#include "oracle/r4400_slow.h"

#define WORDS	1024			/* code at CODE, data at 0x80000 */
#define ROUNDS	300
#define TICKS	8000

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20);
}

/* $28 holds the data's address and $29 the code's, neither is ever written. */
static unsigned reg(void)
{
	return rnd() % 28;
}

static uint32_t instruction(unsigned at)
{
	static const uint8_t special[] = {
		0, 2, 3, 4, 6, 7, 16, 17, 18, 19, 20, 22, 23, 24, 25, 28, 29, 32, 33, 34, 35, 36,
		37, 38, 39, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 54, 56, 58, 59, 60, 62, 63,
		33, 33, 37, 45, 12, 13, 5, 40,
	};
	static const uint8_t branches[] = { 4, 5, 6, 7, 20, 21, 22, 23, 1, 1, 1, 2, 3 };
	static const uint8_t regimm[] = { 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 12, 14 };
	static const uint8_t alu[] = { 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 9, 9 };
	static const uint8_t mem[] = {
		26, 27, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 48, 52, 55, 56,
		60, 63, 35, 43,
	};
	unsigned k = rnd() % 16, op;

	if (k < 6)
		return r3(special[rnd() % sizeof special], reg(), reg(), reg()) | (rnd() & 31) << 6;
	if (k < 9)
		return im(alu[rnd() % sizeof alu], reg(), reg(), rnd());
	if (k < 13) {
		unsigned off = rnd() & 0x3ff;

		if (rnd() % 8)
			off &= ~7u;			/* mostly aligned */
		return im(mem[rnd() % sizeof mem], 28, reg(), off);
	}
	if (rnd() % 32 == 0)				/* no function, or no format */
		return 0x46000010 | (rnd() & 0xf) << 21 | (rnd() & 31) << 11;
	op = branches[rnd() % sizeof branches];
	if (op == 2 || op == 3)
		return op << 26 | (CODE >> 2) | rnd() % WORDS;
	/* somewhere in the code */
	return im(op, reg(),
		  op == 1				       ? regimm[rnd() % sizeof regimm]
		  : op == 6 || op == 7 || op == 22 || op == 23 ? 0
							       : reg(),
		  rnd() % WORDS - at - 1);
}

static void compare(const struct flat *f, const struct slow *s, unsigned round, uint64_t tick)
{
	const struct cpu *c = f->c;
	bool same = c->pc == s->pc && c->in_delay == s->delay && c->hi == s->hi && c->lo == s->lo &&
		    c->nbranch == s->branches && c->fcr31 == s->fcr31 &&
		    !memcmp(c->gpr, s->r, sizeof s->r);

	if (same)
		return;
	for (unsigned i = 0; i < 32; i++)
		if (c->gpr[i] != s->r[i])
			print_error("$%u: 0x%llx, slow model 0x%llx\n", i,
				    (unsigned long long)c->gpr[i], (unsigned long long)s->r[i]);
	fail_msg("round %u tick %llu: pc 0x%llx %d, slow model 0x%llx %d; branches %llu, %llu",
		 round, (unsigned long long)tick, (unsigned long long)c->pc, c->in_delay,
		 (unsigned long long)s->pc, s->delay, (unsigned long long)c->nbranch,
		 (unsigned long long)s->branches);
}

static void round_(unsigned round)
{
	struct cpu_config cfg = { .iline = rnd() & 1 ? 32 : 16, .dline = rnd() & 1 ? 32 : 16,
		.big_endian = rnd() & 1 };
	struct flat *f = flat_new(cfg);
	struct slow s = { .big = cfg.big_endian, .pc = f->c->pc };
	uint64_t tick = 0;

	s.ram = malloc(RAM);
	for (unsigned i = 0; i < WORDS; i++)
		poke32(f, CODE + 4 * i, instruction(i));
	for (unsigned i = 0; i < 0x800; i++)
		f->ram[0x80000 + i] = (uint8_t)rnd();
	memcpy(s.ram, f->ram, RAM);
	for (unsigned i = 1; i < 32; i++)
		s.r[i] = rnd() & 1 ? (uint64_t)(int64_t)(int32_t)rnd()
				   : (uint64_t)rnd() << 32 | rnd();
	s.r[28] = K0 + 0x80000;
	s.r[29] = K0 + CODE;
	memcpy(f->c->gpr, s.r, sizeof s.r);
	cpu_budget(f->c, 0);
	while (tick < TICKS) {
		unsigned n = 1 + rnd() % (rnd() & 1 ? 40 : 4), done = 0;
		bool ok = true;

		/* the slow model first: it tells where the next exception is */
		while (ok && done < n) {
			/* fell out of the code: start over */
			if (s.pc - (K0 + CODE) >= WORDS * 4) {
				ok = false;
				break;
			}
			ok = slow_step(&s);
			done++;
		}
		if (done)
			flat_run(f, done);
		tick += done + 1;
		compare(f, &s, round, tick);
		if (!ok) {
			if (done) {
				assert_int_equal(f->c->c0[C0_EPC], s.epc);
				assert_int_equal(f->c->cause & 0x8000007c, s.cause);
			}
			f->c->status &= ~(uint32_t)ST_EXL;
			f->c->pc = s.pc = K0 + CODE + 4 * (rnd() % WORDS);
			f->c->in_delay = s.delay = false;
			cpu_sync(f->c);
		}
	}
	/* memory, through the cache */
	for (unsigned i = 0; i < 0x800; i++) {
		uint64_t pa;
		uint8_t *at;

		assert_true(cpu_locate(f->c, K0 + 0x80000 + i, &pa, &at));
		assert_int_equal(at ? *at : f->ram[pa], s.ram[0x80000 + i]);
	}
	free(s.ram);
	flat_free(f);
}

static void test_random(void **state)
{
	const char *n = getenv("ROUNDS");

	(void)state;
	for (unsigned i = 0; i < (n ? (unsigned)atoi(n) : ROUNDS); i++)
		round_(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
