/* SPDX-License-Identifier: MIT */
/* flat_cpu.h - a processor with nothing around it but 1 MiB of RAM, for tests that write
 * instructions */
#ifndef TESTS_UNIT_FLAT_CPU_H
#define TESTS_UNIT_FLAT_CPU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collect/machine/cpu.h"

#define RAM	(1u << 20)
#define K0	0xffffffff80000000ULL
#define K1	0xffffffffa0000000ULL
#define CODE	0x1000u

struct flat {
	struct cpu *c;
	uint8_t ram[RAM];
	unsigned fills, writebacks, stores, store_bytes;
	uint64_t store_at;		/* of the last uncached store */
	struct cpu_config cfg;
};

static bool flat_fill(void *ctx, uint64_t pa, void *p, unsigned n, bool fetch)
{
	struct flat *f = ctx;

	(void)fetch;
	if (pa + n > RAM)
		return false;
	memcpy(p, f->ram + pa, n);
	f->fills++;
	return true;
}

static bool flat_writeback(void *ctx, uint64_t pa, const void *p, unsigned n)
{
	struct flat *f = ctx;

	if (pa + n > RAM)
		return false;
	memcpy(f->ram + pa, p, n);
	f->writebacks++;
	return true;
}

static bool flat_read(void *ctx, uint64_t pa, unsigned size, uint64_t *val, bool fetch)
{
	struct flat *f = ctx;

	(void)fetch;
	if (pa + size > RAM)
		return false;
	*val = 0;
	for (unsigned i = 0; i < size; i++)
		*val |= (uint64_t)f->ram[pa + (f->cfg.big_endian ? size - 1 - i : i)] << 8 * i;
	return true;
}

static bool flat_write(void *ctx, uint64_t pa, unsigned size, uint64_t val)
{
	struct flat *f = ctx;

	f->stores++;
	f->store_bytes = size;
	f->store_at = pa;
	for (unsigned i = 0; i < size && pa + size <= RAM; i++)
		f->ram[pa + (f->cfg.big_endian ? size - 1 - i : i)] = (uint8_t)(val >> 8 * i);
	return true;
}

static const struct cpu_bus flat_bus = { .fill = flat_fill, .writeback = flat_writeback,
	.read = flat_read,
					 .write = flat_write };

static inline struct flat *flat_new(struct cpu_config cfg)
{
	struct flat *f = calloc(1, sizeof *f);

	f->cfg = cfg;
	f->c = cpu_new(&cfg, &flat_bus, f);
	f->c->status = ST_CU0 | ST_CU1;
	f->c->c0[C0_CONFIG] = (f->c->c0[C0_CONFIG] & ~7ULL) | 3;
	f->c->pc = K0 + CODE;
	cpu_sync(f->c);
	f->c->attn = false;
	return f;
}

static inline void flat_free(struct flat *f)
{
	cpu_free(f->c);
	free(f);
}

/* Instructions that the program's tests have put into memory. */
static bool flat_seen[MIPS_NOPS + 1];

static inline void poke32(struct flat *f, uint32_t pa, uint32_t v)
{
	flat_seen[mips_decode(v, f->c->isa)] = true;
	flat_write(f, pa, 4, v);
}

static inline uint32_t peek32(struct flat *f, uint32_t pa)
{
	uint64_t v;

	flat_read(f, pa, 4, &v, false);
	return (uint32_t)v;
}

/* Exactly @n ticks, whatever stops the processor in between. */
static inline void flat_run(struct flat *f, uint64_t n)
{
	uint64_t end = cpu_ticks(f->c) + n;

	while (cpu_ticks(f->c) < end) {
		f->c->attn = false;
		cpu_budget(f->c, end - cpu_ticks(f->c));
		cpu_run(f->c);
	}
}

/* ---- a very small assembler ---- */
static inline uint32_t r3(unsigned fn, unsigned rs, unsigned rt, unsigned rd)
{
	return rs << 21 | rt << 16 | rd << 11 | fn;
}
static inline uint32_t sh(unsigned fn, unsigned rt, unsigned rd, unsigned sa)
{
	return rt << 16 | rd << 11 | sa << 6 | fn;
}
static inline uint32_t im(unsigned op, unsigned rs, unsigned rt, unsigned imm)
{
	return op << 26 | rs << 21 | rt << 16 | (imm & 0xffff);
}
static inline uint32_t fp(unsigned fmt, unsigned ft, unsigned fs, unsigned fd, unsigned fn)
{
	return 17u << 26 | fmt << 21 | ft << 16 | fs << 11 | fd << 6 | fn;
}
static inline uint32_t mtc0(unsigned rt, unsigned rd) { return 0x40800000 | rt << 16 | rd << 11; }
static inline uint32_t mfc0(unsigned rt, unsigned rd) { return 0x40000000 | rt << 16 | rd << 11; }

#endif
