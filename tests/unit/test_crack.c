/* SPDX-License-Identifier: MIT */
/* test_crack.c - every instruction form cracked, and the micro-ops compared with the decoder's own
 * operand lists: registers read and written, flags, memory accesses (crack.h, invariants 1-4) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "isa/x86/crack.h"

static ZydisDecoder decoder[2];
static unsigned long forms, specific, wrong;
static unsigned seen_wrong[ZYDIS_MNEMONIC_MAX_VALUE + 1];

/* Written anew, not taken from the code under test. */
static int number(ZydisRegister r)
{
	ZydisRegister g = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (g >= ZYDIS_REGISTER_RAX && g <= ZYDIS_REGISTER_R15)
		return g - ZYDIS_REGISTER_RAX;
	if (r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_XMM31)
		return 16 + (r - ZYDIS_REGISTER_XMM0) % 16;
	if (r >= ZYDIS_REGISTER_YMM0 && r <= ZYDIS_REGISTER_YMM31)
		return 16 + (r - ZYDIS_REGISTER_YMM0) % 16;
	if (r >= ZYDIS_REGISTER_ZMM0 && r <= ZYDIS_REGISTER_ZMM31)
		return 16 + (r - ZYDIS_REGISTER_ZMM0) % 16;
	if (r >= ZYDIS_REGISTER_ST0 && r <= ZYDIS_REGISTER_ST7)
		return 32 + (r - ZYDIS_REGISTER_ST0);
	if (r >= ZYDIS_REGISTER_MM0 && r <= ZYDIS_REGISTER_MM7)
		return 32 + (r - ZYDIS_REGISTER_MM0);
	/* architectural state that shares a number with a temporary of the cracker: masks, and the
	 * control words; the comparison leaves 40-48 out, tests below look at them one by one */
	return -1;
}

static const uint64_t arch = (1ull << 40) - 1;

static void complain(const ZydisDecodedInstruction *in, const uint8_t *bytes, const char *what,
		     uint64_t want, uint64_t got)
{
	wrong++;
	if (seen_wrong[in->mnemonic]++ > 1)
		return;
	print_error("%s [", ZydisMnemonicGetString(in->mnemonic));
	for (unsigned i = 0; i < in->length; i++)
		print_error("%02x", bytes[i]);
	print_error("]: %s: decoder %llx, micro-ops %llx\n", what, (unsigned long long)want,
		    (unsigned long long)got);
}

static bool is_branch(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_CALL ||
	       in->meta.category == ZYDIS_CATEGORY_RET ||
	       in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       in->meta.category == ZYDIS_CATEGORY_COND_BR;
}

/* Where the decoder's lists differ from the architecture. */
static void mend_lists(const ZydisDecodedInstruction *in, uint64_t *reads, uint64_t *writes,
		       unsigned *loads)
{
	switch (in->mnemonic) {
	/* the upper part of an xmm register stays; Zydis says so since 4.1 */
	case ZYDIS_MNEMONIC_MOVLPS: case ZYDIS_MNEMONIC_MOVLPD: case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD: case ZYDIS_MNEMONIC_MOVHLPS: case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_SQRTSS: case ZYDIS_MNEMONIC_SQRTSD: case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_RCPSS: case ZYDIS_MNEMONIC_ROUNDSS: case ZYDIS_MNEMONIC_ROUNDSD:
		*reads |= *writes & 0xffffull << 16;
		break;
	case ZYDIS_MNEMONIC_CMPSB: case ZYDIS_MNEMONIC_CMPSW: case ZYDIS_MNEMONIC_CMPSD:
	case ZYDIS_MNEMONIC_CMPSQ:
		if (in->meta.category == ZYDIS_CATEGORY_STRINGOP)
			*writes |= 1 << 6 | 1 << 7;	/* rsi and rdi advance */
		break;
	case ZYDIS_MNEMONIC_SCASB: case ZYDIS_MNEMONIC_SCASW: case ZYDIS_MNEMONIC_SCASD:
	case ZYDIS_MNEMONIC_SCASQ:
		*writes |= 1 << 7;
		break;
	case ZYDIS_MNEMONIC_XLAT:
		*reads |= 1;				/* al is the index */
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		*reads &= ~(1ull << 4);			/* rsp is rbp before it is an address */
		break;
	case ZYDIS_MNEMONIC_NOP: case ZYDIS_MNEMONIC_PREFETCH: case ZYDIS_MNEMONIC_PREFETCHW:
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHT1:
	case ZYDIS_MNEMONIC_PREFETCHT2:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
		*loads = 0;				/* hints access nothing */
		break;
	default:
		break;
	}
}

static void check(const uint8_t *bytes, unsigned len, bool wide)
{
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct x86_cracked c;
	uint64_t reads = 0, writes = 0, ureads = 0, uwrites = 0;
	unsigned loads = 0, stores = 0, uloads = 0, ustores = 0;
	unsigned loaded = 0, stored = 0, uloaded = 0, ustored = 0;	/* bytes */
	bool sized = true;			/* of all accesses the micro-ops say how many */
	bool fr = false, fw = false, ufr = false, ufw = false, zero, branch = false;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder[wide], bytes, len, &in, op))) {
		assert_false(x86_crack(bytes, len, wide, &c));
		return;
	}
	assert_true(x86_crack(bytes, len, wide, &c));
	forms++;
	specific += c.specific;
	for (unsigned i = 0; i < in.operand_count; i++) {
		bool rd = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		bool wr = op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			int n = number(op[i].reg.value);

			if (ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_FLAGS) {
				fr |= rd;
				fw |= wr;
			} else if (n >= 0) {
				reads |= (uint64_t)rd << n;
				writes |= (uint64_t)wr << n;
			}
		} else if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			for (int k = 0; k < 2; k++) {
				int n = number(k ? op[i].mem.index : op[i].mem.base);

				if (n >= 0)
					reads |= 1ull << n;
			}
			if (op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM ||
			    op[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
				loads += rd;
				stores += wr;
				loaded += rd ? op[i].size / 8 : 0;
				stored += wr ? op[i].size / 8 : 0;
			}
		}
	}
	for (unsigned i = 0; i < c.n; i++) {
		const struct x86_uop *u = &c.uop[i];
		const int src[2] = { u->src1, u->src2 };

		for (int k = 0; k < 2; k++)
			if (src[k] >= 0 && !(uwrites >> src[k] & 1))
				ureads |= 1ull << src[k];
		if (u->dest >= 0)
			uwrites |= 1ull << u->dest;
		ufr |= u->flags == 'R';
		ufw |= u->flags == 'W';
		uloads += u->ldst == 'L';
		ustores += u->ldst == 'S';
		uloaded += u->ldst == 'L' ? u->msize : 0;
		ustored += u->ldst == 'S' ? u->msize : 0;
		sized = sized && (u->ldst == '-' || u->msize);
		branch |= u->branch != '-';
		assert_in_range(strlen(u->micro), 1, 22);
		assert_true(u->src1 >= -1 && u->src1 < 49 && u->src2 >= -1 && u->src2 < 49);
		assert_true(u->dest >= -1 && u->dest < 49);
		assert_true(!(u->ldst != '-' && u->branch != '-'));
	}
	assert_in_range(c.n, 1, X86_CRACK_MAX);
	assert_in_range(strlen(c.macro), 1, 11);
	mend_lists(&in, &reads, &writes, &loads);
	/* the two deliberate differences (invariant 2) */
	zero = in.mnemonic == ZYDIS_MNEMONIC_XOR && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value;
	if (zero)
		reads = 0;
	if (zero || in.mnemonic == ZYDIS_MNEMONIC_INC || in.mnemonic == ZYDIS_MNEMONIC_DEC)
		fw = false;
	if (reads != (ureads & arch))
		complain(&in, bytes, "registers read", reads, ureads & arch);
	if (writes != (uwrites & arch))
		complain(&in, bytes, "registers written", writes, uwrites & arch);
	if (fr != ufr)
		complain(&in, bytes, "flags read", fr, ufr);
	if (fw != ufw)
		complain(&in, bytes, "flags written", fw, ufw);
	if (loads != uloads)
		complain(&in, bytes, "loads", loads, uloads);
	if (stores != ustores)
		complain(&in, bytes, "stores", stores, ustores);
	if (sized && loads && loaded != uloaded)
		complain(&in, bytes, "bytes loaded", loaded, uloaded);
	if (sized && stores && stored != ustored)
		complain(&in, bytes, "bytes stored", stored, ustored);
	if (branch != is_branch(&in))
		complain(&in, bytes, "branch", !branch, branch);
}

/* Every opcode of a map behind @prefix, with every ModRM byte and some SIB bytes. */
static void map(const uint8_t *prefix, unsigned n, bool wide)
{
	static const uint8_t sibs[] = { 0x24, 0x25, 0x8b, 0xf7, 0x40 };

	for (unsigned opcode = 0; opcode < 256; opcode++)
		for (unsigned modrm = 0; modrm < 256; modrm++) {
			bool sib = (modrm & 7) == 4 && modrm < 0xc0;

			for (unsigned k = 0; k < (sib ? sizeof sibs : 1); k++) {
				uint8_t b[15] = { 0 };

				memcpy(b, prefix, n);
				b[n] = (uint8_t)opcode;
				b[n + 1] = (uint8_t)modrm;
				for (unsigned i = n + 2; i < 15; i++)
					b[i] = (uint8_t)(0x10 + i);
				if (sib)
					b[n + 2] = sibs[k];
				check(b, 15, wide);
			}
		}
}

static int init(void **state)
{
	(void)state;
	ZydisDecoderInit(&decoder[0], ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(&decoder[1], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return 0;
}

static void finish(const char *name)
{
	print_message("%s: %lu forms, %lu by a specific recipe, %lu wrong\n", name, forms, specific,
		      wrong);
	if (wrong)
		fail();
	forms = specific = wrong = 0;
}

static void test_legacy(void **state)
{
	static const uint8_t p[][3] = {
		{ 0 }, { 0x66 }, { 0xf2 }, { 0xf3 }, { 0x48 }, { 0x41 }, { 0x45 }, { 0x4f },
		{ 0x66, 0x48 }, { 0xf3, 0x48 }, { 0xf2, 0x48 }, { 0x67 }, { 0xf0 }, { 0x64 },
		{ 0x66, 0x45 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof p / sizeof *p; i++) {
		unsigned n = p[i][0] ? p[i][1] ? 2 : 1 : 0;

		map(p[i], n, true);
	}
	finish("one-byte opcodes");
	for (unsigned i = 0; i < sizeof p / sizeof *p; i++) {
		unsigned n = p[i][0] ? p[i][1] ? 2 : 1 : 0;
		uint8_t q[5];

		memcpy(q, p[i], n);
		q[n] = 0x0f;
		map(q, n + 1, true);
	}
	finish("0f opcodes");
	for (unsigned i = 0; i < sizeof p / sizeof *p; i++) {
		unsigned n = p[i][0] ? p[i][1] ? 2 : 1 : 0;
		uint8_t q[5];

		memcpy(q, p[i], n);
		q[n] = 0x0f;
		q[n + 1] = 0x38;
		map(q, n + 2, true);
		q[n + 1] = 0x3a;
		map(q, n + 2, true);
	}
	finish("0f 38 and 0f 3a opcodes");
}

/* AMD's own: XOP in its three maps, and 3DNow!, whose opcode is the last byte. */
static void test_amd(void **state)
{
	(void)state;
	for (unsigned m = 8; m <= 10; m++)
		for (unsigned w = 0; w < 2; w++)
			for (unsigned l = 0; l < 2; l++)
				for (unsigned v = 0; v < 2; v++) {
					uint8_t p[3] = { 0x8f, (uint8_t)(0xe0 | m),
						(uint8_t)(w << 7 | (v ? 15 : 10) << 3 | l << 2) };

					map(p, 3, true);
				}
	for (unsigned modrm = 0; modrm < 256; modrm++)
		for (unsigned opcode = 0; opcode < 256; opcode++)
			for (unsigned at = 3; at < 9; at++) {
				uint8_t b[15] = { 0x0f, 0x0f, (uint8_t)modrm };

				b[at] = (uint8_t)opcode;
				check(b, 15, true);
			}
	finish("XOP and 3DNow!");
}

static void test_32(void **state)
{
	static const uint8_t p[][2] = { { 0 }, { 0x66 }, { 0x67 }, { 0xf2 }, { 0xf3 } };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		for (unsigned m = 0; m < 2; m++) {
			uint8_t q[4] = { p[i][0], 0x0f, m ? 0x3a : 0x38, 0 };

			map(p[i][0] ? q : q + 1, p[i][0] ? 3 : 2, false);
		}
	for (unsigned m = 1; m <= 3; m++)
		for (unsigned l = 0; l < 2; l++)
			for (unsigned pp = 0; pp < 4; pp++) {
				uint8_t q[3] = { 0xc4, (uint8_t)(0xe0 | m),
					(uint8_t)(13 << 3 | l << 2 | pp) };

				map(q, 3, false);
			}
	for (unsigned i = 0; i < 5; i++) {
		uint8_t q[3] = { p[i][0], 0x0f, 0 };

		map(p[i], p[i][0] != 0, false);
		map(p[i][0] ? q : q + 1, p[i][0] ? 2 : 1, false);
	}
	finish("32-bit code");
}

static void test_vex(void **state)
{
	(void)state;
	for (unsigned m = 1; m <= 3; m++)
		for (unsigned w = 0; w < 2; w++)
			for (unsigned l = 0; l < 2; l++)
				for (unsigned pp = 0; pp < 4; pp++)
					for (unsigned v = 0; v < 2; v++) {
						uint8_t p[3] = { 0xc4, (uint8_t)(0xe0 | m),
							(uint8_t)(w << 7 | (v ? 15 : 10) << 3 |
								l << 2 | pp) };

						map(p, 3, true);
					}
	finish("VEX");
}

/* Masks, zeroing, broadcast and rounding, vector lengths, the upper registers, the maps of FP16. */
static void test_evex(void **state)
{
	static const uint8_t last[] = { 0x48, 0x49, 0xc9, 0x08, 0x28, 0x58, 0x59, 0x09, 0xa9,
		0x40 };

	(void)state;
	for (unsigned m = 1; m <= 6; m++)
		for (unsigned w = 0; w < 2; w++)
			for (unsigned pp = 0; pp < 4; pp++)
				for (unsigned z = 0; z < sizeof last; z++)
					for (unsigned high = 0; high < (m <= 3 && !z ? 2 : 1);
					     high++) {
						/* high: R', X, B, V' select registers 16 to 31 */
						uint8_t p[4] = { 0x62,
							(uint8_t)((high ? 0x90 : 0xf0) | m),
								 (uint8_t)(w << 7 | (high ? 0x3c
								 	: 0x7c) | pp),
								 last[z] };

						if (m != 4)
							map(p, 4, true);
					}
	finish("EVEX");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legacy), cmocka_unit_test(test_amd),
		cmocka_unit_test(test_32), cmocka_unit_test(test_vex), cmocka_unit_test(test_evex),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
