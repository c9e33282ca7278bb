/* SPDX-License-Identifier: MIT */
/* registers.c - where registers of a thread that stands are
 *
 * Vectors lie in the area of XSAVE, in its standard form (Intel SDM 1, 13.4): the first 512 bytes
 * as fxsave has them, and other components where cpuid 0xd says. */
#include <cpuid.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/query/registers.h"

#define XSAVE_MOST 16384u
enum { X87, SSE, YMM = 2, OPMASK = 5, ZMM_LOW = 6, ZMM_HIGH = 7 };	/* components */

struct place_of {
	const char *name;
	uint16_t at, n;			/* in struct user_regs_struct */
};

#define REG(r) offsetof(struct user_regs_struct, r)
static const struct place_of general[] = {
	{ "rax", REG(rax), 8 }, { "rbx", REG(rbx), 8 }, { "rcx", REG(rcx), 8 },
	{ "rdx", REG(rdx), 8 }, { "rsi", REG(rsi), 8 }, { "rdi", REG(rdi), 8 },
	{ "rbp", REG(rbp), 8 }, { "rsp", REG(rsp), 8 }, { "r8", REG(r8), 8 },
	{ "r9", REG(r9), 8 },	{ "r10", REG(r10), 8 }, { "r11", REG(r11), 8 },
	{ "r12", REG(r12), 8 }, { "r13", REG(r13), 8 }, { "r14", REG(r14), 8 },
	{ "r15", REG(r15), 8 }, { "rip", REG(rip), 8 }, { "eflags", REG(eflags), 4 },
	/* those above are "all" */
	{ "rflags", REG(eflags), 8 }, { "fs_base", REG(fs_base), 8 },
	{ "gs_base", REG(gs_base), 8 },
	{ "eax", REG(rax), 4 }, { "ebx", REG(rbx), 4 }, { "ecx", REG(rcx), 4 },
	{ "edx", REG(rdx), 4 }, { "esi", REG(rsi), 4 }, { "edi", REG(rdi), 4 },
	{ "ebp", REG(rbp), 4 }, { "esp", REG(rsp), 4 }, { "ax", REG(rax), 2 },
	{ "bx", REG(rbx), 2 },	{ "cx", REG(rcx), 2 },	{ "dx", REG(rdx), 2 },
	{ "si", REG(rsi), 2 },	{ "di", REG(rdi), 2 },	{ "bp", REG(rbp), 2 },
	{ "sp", REG(rsp), 2 },	{ "al", REG(rax), 1 },	{ "bl", REG(rbx), 1 },
	{ "cl", REG(rcx), 1 },	{ "dl", REG(rdx), 1 },	{ "sil", REG(rsi), 1 },
	{ "dil", REG(rdi), 1 }, { "bpl", REG(rbp), 1 }, { "spl", REG(rsp), 1 },
	{ "ah", REG(rax) + 1, 1 }, { "bh", REG(rbx) + 1, 1 }, { "ch", REG(rcx) + 1, 1 },
	{ "dh", REG(rdx) + 1, 1 },
	{ "r8d", REG(r8), 4 },	{ "r9d", REG(r9), 4 },	{ "r10d", REG(r10), 4 },
	{ "r11d", REG(r11), 4 }, { "r12d", REG(r12), 4 }, { "r13d", REG(r13), 4 },
	{ "r14d", REG(r14), 4 }, { "r15d", REG(r15), 4 },
	{ "eip", REG(rip), 4 }, { "cs", REG(cs), 4 },
	{ "ss", REG(ss), 4 },	{ "ds", REG(ds), 4 },
	{ "es", REG(es), 4 },	{ "fs", REG(fs), 4 },	{ "gs", REG(gs), 4 },
	{ "orig_rax", REG(orig_rax), 8 }, { "orig_eax", REG(orig_rax), 4 },
};
#define ALL 18
/* ... in 32-bit code. */
static const char *const all32[] = { "eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp", "eip",
				     "eflags" };

/* Those of the first 512 bytes of an XSAVE area. */
static const struct place_of legacy[] = {
	{ "fctrl", 0, 2 }, { "fstat", 2, 2 }, { "ftag", 4, 1 }, { "mxcsr", 24, 4 },
};

static const struct place_of *among(const struct place_of *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

/* "ymm7" with @kind "ymm": 7; negative: it is another one. */
static int numbered(const char *name, const char *kind, int most)
{
	const size_t n = strlen(kind);
	char *end;
	long v;

	if (strncmp(name, kind, n) || name[n] < '0' || name[n] > '9')
		return -1;
	v = strtol(name + n, &end, 10);
	return *end || v > most ? -1 : (int)v;
}

bool query_is_register(const char *name)
{
	return !strcmp(name, "all") || among(general, NR(general), name) ||
	       among(legacy, NR(legacy), name) || numbered(name, "xmm", 31) >= 0 ||
	       numbered(name, "ymm", 31) >= 0 || numbered(name, "zmm", 31) >= 0 ||
	       numbered(name, "st", 7) >= 0 || numbered(name, "k", 7) >= 0;
}

/* @n bytes from @off of component @c, into @to. False: the area has none. */
static bool get(const uint8_t *area, size_t size, unsigned c, unsigned off, void *to, unsigned n)
{
	unsigned a, b, ecx, d;
	size_t at = c == X87 ? 32 : 160;

	if (c >= YMM) {
		if (!__get_cpuid_count(0xd, c, &a, &b, &ecx, &d) || !a)
			return false;
		at = b;
	}
	if (at + off + n > size)
		return false;
	memcpy(to, area + at + off, n);
	return true;
}

/* Register @i of the vectors, @n bytes of it. */
static bool vector(const uint8_t *area, size_t size, unsigned i, unsigned n, uint8_t *to)
{
	if (i >= 16)
		return get(area, size, ZMM_HIGH, 64 * (i - 16), to, n);
	return get(area, size, SSE, 16 * i, to, 16) &&
	       (n < 32 || get(area, size, YMM, 16 * i, to + 16, 16)) &&
	       (n < 64 || get(area, size, ZMM_LOW, 32 * i, to + 32, 32));
}

static bool extended(struct standing *st, const char *name, struct query_register *to)
{
	static uint8_t area[XSAVE_MOST] __attribute__((aligned(64)));
	const size_t size = stopped_vectors(st, area, sizeof area);
	const struct place_of *p = among(legacy, NR(legacy), name);
	static const char *const vectors[] = { "xmm", "ymm", "zmm" };
	int i;

	if (size < 512)
		return false;
	if (p) {
		memcpy(to->value, area + p->at, to->n = p->n);
		return true;
	}
	for (unsigned k = 0; k < NR(vectors); k++) {
		i = numbered(name, vectors[k], 31);
		to->n = 16u << k;
		if (i >= 0)
			return vector(area, size, (unsigned)i, to->n, to->value);
	}
	i = numbered(name, "k", 7);
	to->n = 8;
	if (i >= 0)
		return get(area, size, OPMASK, 8 * (unsigned)i, to->value, 8);
	i = numbered(name, "st", 7);
	to->n = 10;
	return i >= 0 && get(area, size, X87, 16 * (unsigned)i, to->value, 10);
}

static void from_general(const struct user_regs_struct *r, const struct place_of *p,
			 struct query_register *to)
{
	*to = (struct query_register){ .name = p->name, .n = p->n };
	memcpy(to->value, (const uint8_t *)r + p->at, p->n);
}

bool query_general(const struct user_regs_struct *r, const char *name, struct query_register *to)
{
	const struct place_of *p = among(general, NR(general), name);

	if (p)
		from_general(r, p, to);
	return p;
}

size_t query_registers(struct standing *st, const char *name, struct query_register *to)
{
	const struct place_of *p = among(general, NR(general), name);
	struct user_regs_struct r;

	stopped_regs(st, &r);
	if (!strcmp(name, "all") && stopped_is_i386(st)) {
		for (size_t i = 0; i < NR(all32); i++)
			query_general(&r, all32[i], &to[i]);
		return NR(all32);
	}
	if (!strcmp(name, "all")) {
		for (size_t i = 0; i < ALL; i++)
			from_general(&r, &general[i], &to[i]);
		return ALL;
	}
	if (p) {
		from_general(&r, p, to);
		return 1;
	}
	*to = (struct query_register){ .name = name };
	return extended(st, name, to);
}
