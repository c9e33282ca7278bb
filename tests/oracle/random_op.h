/* SPDX-License-Identifier: MIT */
/* oracle/random_op.h - random operations of a core, of all kinds */
#ifndef ORACLE_RANDOM_OP_H
#define ORACLE_RANDOM_OP_H

#include "analyse/core.h"
#include "random.h"

static inline struct pm_core_op o_random_op(struct o_random *r)
{
	uint64_t x = o_rnd(r), y = o_rnd(r);
	struct pm_core_op op = { .class = x % 8 ? 1 + x % 3 : x / 8 % PM_CORE_CLASS_COUNT,
		.uops = 1 + (y & 7) / 7,
		.len = 1 + (x >> 8) % 11 };

	op.addr_regs = 1u << (x >> 16 & 15);
	op.data_regs = 1u << (x >> 20 & 15) | (x >> 24 & 1 ? 1u << (x >> 25 & 15) : 0);
	op.writes = x >> 30 & 3 ? 1u << (x >> 32 & 15) : 0;
	if ((x >> 36 & 7) < 3)
		op.nload = 1 + ((x >> 39 & 15) == 0);
	if ((x >> 43 & 7) == 0)
		op.nstore = 1 + ((x >> 46 & 15) == 0);
	for (unsigned i = 0; i < 2; i++) {
		op.load[i] = 0x1000 + (y >> 8 & 255) * 8 + i * 64;
		op.store[i] = 0x1000 + (y >> 16 & 255) * 8 + i * 8;
		op.load_size[i] = 1u << (y >> 24 & 3);
		op.store_size[i] = 1u << (y >> 26 & 5);
		op.load_level[i] = (y >> 30 & 15) < 12 ? 0 : (y >> 30 & 3);
		op.store_level[i] = (y >> 34 & 15) < 13 ? 0 : (y >> 34 & 3);
	}
	op.taken = (y >> 40 & 7) == 0;
	op.redirect = (y >> 44 & 31) == 0   ? PM_CORE_WRONG
		      : (y >> 44 & 31) == 1 ? PM_CORE_BUBBLE
					    : 0;
	op.fetch_level = (y >> 50 & 63) == 0 ? 1 + (y >> 56) % 3 : 0;
	op.stack = (y >> 58 & 7) == 0;
	op.serial = op.class == PM_CORE_SYSTEM;
	return op;
}

#endif
