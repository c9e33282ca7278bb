/* SPDX-License-Identifier: MIT */
/* test_x86_decode.c - instruction summaries against the processor itself
 *
 * Random instructions are executed twice from states that differ only in what the summary says is
 * not read. What it says is overwritten must then come out equal, and what it says is not written
 * must be as before. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "isa/x86/decode.h"
#include "pugmark/pugmark.h"
#include "x86_random.h"

#define LAB		0x63000000ull		/* code, states and data: below 2 GiB */
#define CODE		(LAB + 0x1000)
#define STATE		(LAB + 0x3000)
#define SAVED_RSP	(LAB + 0x3800)
#define DATA		(LAB + 0x6000)
#define DATA_SIZE	0x4000
#define LAB_SIZE	0x10000
#define ARITH		0x8d5u

struct state {
	uint64_t r[16], flags;
};

/* ---- executing one instruction -------------------------------------------------------------- */
static uint8_t *out;
static volatile sig_atomic_t faulted;
static uint64_t resume_at;

static void emit(const void *p, size_t n)
{
	memcpy(out, p, n);
	out += n;
}

static void emit32(uint32_t v)
{
	emit(&v, 4);
}

static void move_reg(uint8_t op, int r, uint32_t at)	/* mov r, [at] (8b) or [at], r (89) */
{
	const uint8_t b[4] = { 0x48 | (r >> 3) << 2, op, (r & 7) << 3 | 4, 0x25 };

	emit(b, 4);
	emit32(at);
}

static void on_fault(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	faulted = sig;
	uc->uc_mcontext.gregs[REG_RIP] = resume_at;
	uc->uc_mcontext.gregs[REG_EFL] = 0x202;
}

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
static struct sigaction old[NR(signals)];

static void lab_open(void)
{
	static uint8_t alt[1 << 17];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
	struct sigaction sa = { .sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	void *p = mmap((void *)LAB, LAB_SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(p, (void *)LAB);
	mprotect((void *)CODE, 0x1000, PROT_READ | PROT_WRITE | PROT_EXEC);
	mprotect((void *)STATE, 0x1000, PROT_READ | PROT_WRITE);
	mprotect((void *)DATA, DATA_SIZE, PROT_READ | PROT_WRITE);
	sigaltstack(&ss, NULL);
	for (size_t k = 0; k < NR(signals); k++)
		sigaction(signals[k], &sa, &old[k]);
}

static void lab_close(void)
{
	for (size_t k = 0; k < NR(signals); k++)
		sigaction(signals[k], &old[k], NULL);
	munmap((void *)LAB, LAB_SIZE);
}

/* A function around @insn: load everything, execute, store everything. */
static void build(const uint8_t *insn, unsigned n)
{
	static const uint8_t save[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41,
		0x57 };
	static const uint8_t back[] = { 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b,
		0xfc, 0xc3 };

	out = (uint8_t *)CODE;
	emit(save, sizeof save);
	move_reg(0x89, 4, SAVED_RSP);
	emit("\xff\x34\x25", 3);			/* push [flags]; popf */
	emit32(STATE + 16 * 8);
	emit("\x9d", 1);
	for (int r = 0; r < 16; r++)
		move_reg(0x8b, r, STATE + 8 * r);
	emit(insn, n);
	resume_at = (uint64_t)out;
	for (int r = 0; r < 16; r++)
		move_reg(0x89, r, STATE + 8 * r);
	move_reg(0x8b, 4, SAVED_RSP);
	emit("\x9c\x8f\x04\x25", 4);			/* pushf; pop [flags] */
	emit32(STATE + 16 * 8);
	emit(back, sizeof back);
}

static int execute(struct state *s, uint8_t *memory, uint64_t seed)
{
	uint8_t fx[512] __attribute__((aligned(16)));
	static uint8_t fixed[512] __attribute__((aligned(16)));

	for (unsigned i = 160; i < 416; i++)		/* xmm0..15: the same every time */
		fixed[i] = 37 * i ^ i >> 3;
	memcpy((void *)STATE, s, sizeof *s);
	for (unsigned i = 0; i < DATA_SIZE; i += 8) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		memcpy((uint8_t *)DATA + i, &seed, 8);
	}
	faulted = 0;
	__asm__ volatile("fxsave64 %0" : "=m"(fx));
	memcpy(fixed, fx, 32);
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" : : : "memory");
	__asm__ volatile("fxrstor64 %0" : : "m"(fixed));
	((void (*)(void))CODE)();
	__asm__ volatile("fxrstor64 %0" : : "m"(fx));
	memcpy(s, (void *)STATE, sizeof *s);
	memcpy(memory, (void *)DATA, DATA_SIZE);
	return faulted;
}

/* ---- the instructions ----------------------------------------------------------------------- */
static void randomise(struct state *s)
{
	for (int r = 0; r < 16; r++) {
		s->r[r] = rng();
		if (rng() % 4 == 0)
			s->r[r] &= 0xff;
		if (rng() % 8 == 0)
			s->r[r] = 0;
	}
	s->r[4] = DATA + DATA_SIZE / 2;
	s->r[6] = DATA + 0x800 + (rng() & 0x7f8);
	if (rng() & 1)
		s->r[7] = DATA + 0x2800 + (rng() & 0x7f8);
	s->flags = 0x202 | (rng() & ARITH);
}

static uint32_t eflags_of(unsigned f)
{
	return (f & X86_CF ? 1 : 0) | (f & X86_PF ? 4 : 0) | (f & X86_AF ? 0x10 : 0) |
	       (f & X86_ZF ? 0x40 : 0) | (f & X86_SF ? 0x80 : 0) | (f & X86_OF ? 0x800 : 0);
}

static void complain(const ZydisDecodedInstruction *z, const uint8_t *p, const struct x86_insn *x,
		     const char *what, int reg)
{
	char hex[64] = "";

	for (unsigned i = 0; i < x->len; i++)
		snprintf(hex + 3 * i, 4, " %02x", p[i]);
	fail_msg("%s:%s: %s %d (read %04x kill %04x write %04x, flags read %02x kill %02x write "
		 "%02x)",
		 ZydisMnemonicGetString(z->mnemonic), hex, what, reg, x->read, x->kill, x->write,
		 x->fread, x->fkill, x->fwrite);
}

static void summaries_hold(void **unused)
{
	struct x86_decoder *d = x86_decoder_new(X86_MODE_64);
	static uint8_t mem_a[DATA_SIZE], mem_b[DATA_SIZE];
	unsigned tried = 0, done = 0, clean = 0;
	ZydisDecoder zd;

	ZydisDecoderInit(&zd, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	lab_open();
	while (done < 150000 && tried++ < 3000000) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction z;
		struct state a0, b0, a, b;
		uint8_t p[X86_MAX_LEN];
		struct x86_insn x;
		uint64_t seed = rng();
		int sig_a, sig_b;

		random_insn(p);
		if (!x86_decode(d, p, sizeof p, &x) || x.kind != X86_PLAIN ||
		    x.prop & (X86_RIP | X86_TLS) || (x.prop & X86_ADDR && x.nref))
			continue;
		assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zd, p, sizeof p, &z, op)));
		assert_int_equal(z.length, x.len);
		if (unfit(&z, op))
			continue;
		done++;
		randomise(&a0);
		b0 = a0;
		for (int r = 0; r < 16; r++)
			if (r != 4 && !(x.read >> r & 1))
				b0.r[r] = rng();
		b0.flags ^= ARITH & ~eflags_of(x.fread);
		a = a0;
		b = b0;
		build(p, x.len);
		sig_a = execute(&a, mem_a, seed);
		sig_b = execute(&b, mem_b, seed);
		if (sig_a != sig_b)
			complain(&z, p, &x, "the signal depends on what is not read:", sig_a);
		if (sig_a) {
			/* only signals that come of the instruction's operation; not #UD, nor
			 * SSE */
			if ((sig_a == SIGSEGV || sig_a == SIGFPE || sig_a == SIGBUS) &&
			    !(x.prop & X86_MAY_FAULT))
				complain(&z, p, &x, "it faults, which was not foreseen:", sig_a);
			continue;
		}
		clean++;
		for (int r = 0; r < 16; r++) {
			if (x.kill >> r & 1 && a.r[r] != b.r[r])
				complain(&z, p, &x, "not overwritten: register", r);
			if (!(x.write >> r & 1) && (a.r[r] != a0.r[r] || b.r[r] != b0.r[r]))
				complain(&z, p, &x, "written: register", r);
			if (x.kill & ~x.write)
				complain(&z, p, &x, "kill is more than write", r);
		}
		if ((a.flags ^ b.flags) & eflags_of(x.fkill))
			complain(&z, p, &x, "not overwritten: flags", (a.flags ^ b.flags) & ARITH);
		if (((a.flags ^ a0.flags) | (b.flags ^ b0.flags)) & ARITH & ~eflags_of(x.fwrite))
			complain(&z, p, &x, "written: flags",
				 ((a.flags ^ a0.flags) | (b.flags ^ b0.flags)) & ARITH);
		if (memcmp(mem_a, mem_b, DATA_SIZE) && !(z.attributes & ZYDIS_ATTRIB_HAS_REP))
			complain(&z, p, &x, "memory depends on what is not read", 0);
	}
	lab_close();
	x86_decoder_free(d);
	assert_true(clean > 50000);
}

/* A remembered form gives what a fresh look gives. */
static void memory_is_exact(void **unused)
{
	struct x86_decoder *d = x86_decoder_new(X86_MODE_64), *d32 = x86_decoder_new(X86_MODE_32);

	for (unsigned k = 0; k < 400000; k++) {
		struct x86_decoder *dec = k & 1 ? d : d32;
		struct x86_insn x, y;
		uint8_t p[X86_MAX_LEN];
		bool a, b;

		random_insn(p);
		a = x86_decode(dec, p, sizeof p, &x);
		b = x86_decode(dec, p, sizeof p - 1, &y);	/* too few bytes to be looked up */
		if (a && x.len == X86_MAX_LEN)
			continue;
		assert_int_equal(a, b);
		if (a)
			assert_memory_equal(&x, &y, sizeof x);
	}
	x86_decoder_free(d);
	x86_decoder_free(d32);
}

struct kase {
	const char *bytes;
	uint8_t n, kind, class, len;
};

static void kinds(void **unused)
{
	static const struct kase k[] = {
		{ "\xeb\xfe", 2, X86_JMP, PM_CLASS_JUMP, 2 },
		{ "\x74\x10", 2, X86_JCC, PM_CLASS_COND, 2 },
		{ "\x0f\x84\0\0\0\0", 6, X86_JCC, PM_CLASS_COND, 6 },
		{ "\xe2\xfe", 2, X86_JCX, PM_CLASS_COND, 2 },
		{ "\x67\xe3\xfe", 3, X86_JCX, PM_CLASS_COND, 3 },
		{ "\xc7\xf8\0\0\0\0", 6, X86_XBEGIN, PM_CLASS_COND, 6 },
		{ "\xe8\0\0\0\0", 5, X86_CALL, PM_CLASS_CALL, 5 },
		{ "\x66\xe8\0\0\0\0", 6, X86_STEP, PM_CLASS_CALL, 6 },
		{ "\xc3", 1, X86_RET, PM_CLASS_RET, 1 },
		{ "\xf3\xc3", 2, X86_RET, PM_CLASS_RET, 2 },
		{ "\xc2\x10\x00", 3, X86_RET, PM_CLASS_RET, 3 },
		{ "\xcb", 1, X86_STEP, PM_CLASS_RET, 1 },
		{ "\xcf", 1, X86_STEP, PM_CLASS_JUMP_IND, 1 },
		{ "\xff\xe0", 2, X86_JMP_IND, PM_CLASS_JUMP_IND, 2 },
		{ "\x3e\xff\xe0", 3, X86_JMP_IND, PM_CLASS_JUMP_IND, 3 },
		{ "\xff\x25\0\0\0\0", 6, X86_JMP_IND, PM_CLASS_JUMP_IND, 6 },
		{ "\x67\xff\x25\0\0\0\0", 7, X86_STEP, PM_CLASS_JUMP_IND, 7 },
		{ "\x64\xff\x10", 3, X86_CALL_IND, PM_CLASS_CALL_IND, 3 },
		{ "\x65\xff\x10", 3, X86_STEP, PM_CLASS_CALL_IND, 3 },
		{ "\xff\x28", 2, X86_STEP, PM_CLASS_JUMP_IND, 2 },
		{ "\x0f\x05", 2, X86_SYSCALL, PM_CLASS_SYSCALL, 2 },
		{ "\x0f\x34", 2, X86_STEP, PM_CLASS_SYSCALL, 2 },
		{ "\xcd\x80", 2, X86_INT80, PM_CLASS_SYSCALL, 2 },
		{ "\xcd\x29", 2, X86_PLAIN, PM_CLASS_NONE, 2 },
		{ "\x0f\x0b", 2, X86_STOP, PM_CLASS_NONE, 2 },
		{ "\xf4", 1, X86_STOP, PM_CLASS_NONE, 1 },
		{ "\xcc", 1, X86_PLAIN, PM_CLASS_NONE, 1 },
		{ "\x65\x48\x8b\x00", 4, X86_STEP, PM_CLASS_NONE, 4 },
		{ "\x65\xa4", 2, X86_STEP, PM_CLASS_NONE, 2 },
		{ "\x8e\xe8", 2, X86_STEP, PM_CLASS_NONE, 2 },
		{ "\x8e\xe0", 2, X86_STEP, PM_CLASS_NONE, 2 },
		{ "\x0f\xa1", 2, X86_STEP, PM_CLASS_NONE, 2 },
		{ "\x0f\xa9", 2, X86_STEP, PM_CLASS_NONE, 2 },
		{ "\x0f\xb5\x00", 3, X86_STEP, PM_CLASS_NONE, 3 },
		{ "\xf3\x0f\xae\xc8", 4, X86_STEP, PM_CLASS_NONE, 4 },	/* rdgsbase */
		{ "\xf3\x0f\xae\xd8", 4, X86_STEP, PM_CLASS_NONE, 4 },	/* wrgsbase */
		{ "\xf3\x0f\xae\xc0", 4, X86_PLAIN, PM_CLASS_NONE, 4 },	/* rdfsbase */
		{ "\xf3\x0f\xae\xd0", 4, X86_STEP, PM_CLASS_NONE, 4 },	/* wrfsbase */
		{ "\x0f\x01\xf8", 3, X86_STEP, PM_CLASS_NONE, 3 },	/* swapgs */
		{ "\xf3\x0f\x1e\xfa", 4, X86_PLAIN, PM_CLASS_NONE, 4 },	/* endbr64 */
		{ "\x67\x8b\x05\0\0\0\0", 7, X86_STEP, PM_CLASS_NONE, 7 },
		{ "\x67\x8b\x00", 3, X86_PLAIN, PM_CLASS_NONE, 3 },
	};
	struct x86_decoder *d = x86_decoder_new(X86_MODE_64);
	struct x86_insn x;

	for (int pad = 0; pad < 2; pad++)		/* without and with the look-up */
		for (size_t i = 0; i < NR(k); i++) {
			uint8_t p[X86_MAX_LEN] = { 0 };

			memcpy(p, k[i].bytes, k[i].n);
			if (!x86_decode(d, p, pad ? sizeof p : k[i].n, &x))
				fail_msg("case %zu does not decode", i);
			if (x.kind != k[i].kind || x.class != k[i].class || x.len != k[i].len)
				fail_msg("case %zu (%02x %02x): kind %u, class %u, length %u", i,
					 p[0], p[1], x.kind, x.class, x.len);
			assert_false(x86_decode(d, p, k[i].n - 1, &x));
		}
	x86_decoder_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(memory_is_exact),
		cmocka_unit_test(summaries_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
