/* SPDX-License-Identifier: MIT */
/* oracle/random.h - random references that look a little like a program's: loops over code, a
 * stack, walks over arrays, hot spots, and addresses from nowhere; a seed gives the same ones
 * again */
#ifndef ORACLE_RANDOM_H
#define ORACLE_RANDOM_H

#include <stdint.h>

#include "pugmark/pugmark.h"

struct o_random { uint64_t s; uint64_t pc, loop, array, sp; };

static inline uint64_t o_rnd(struct o_random *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline struct o_random o_random_init(uint64_t seed)
{
	struct o_random r = { .s = seed, .pc = 0x401000, .loop = 0x401000, .array = 0x10000,
		.sp = 0x7ff000 };

	for (int i = 0; i < 4; i++)
		o_rnd(&r);
	return r;
}

/* One event: an instruction or a data reference. @span: bytes that random data addresses cover. */
static inline struct pm_event o_random_ref(struct o_random *r, uint64_t span)
{
	static const uint8_t sizes[] = { 1, 2, 4, 4, 8, 8, 8, 16, 32, 64 };
	struct pm_event e = { .id = PM_NONE };
	uint64_t x = o_rnd(r);

	if (x % 16 < 9) {
		e.kind = PM_EV_INSN;
		e.addr = r->pc;
		e.size = 1 + (x >> 8) % 11;
		r->pc += e.size;
		if ((x >> 16) % 64 == 0)
			r->loop = 0x401000 + (x >> 24) % (span / 4);
		if ((x >> 16) % 8 == 1)
			r->pc = r->loop;
		return e;
	}
	e.size = sizes[(x >> 8) % 10];
	switch ((x >> 16) % 8) {
	case 0:
	case 1:
		e.kind = x >> 20 & 1 ? PM_EV_READ : PM_EV_WRITE;
		e.flags = PM_REF_STACK;
		e.size = 8;
		if (e.kind == PM_EV_WRITE)
			r->sp -= 8;
		e.addr = r->sp;
		if (e.kind == PM_EV_READ)
			r->sp += 8;
		if (r->sp > 0x7ff800 || r->sp < 0x7fe800)
			r->sp = 0x7ff000;
		return e;
	case 2:
	case 3:
		e.addr = r->array += 8;
		if ((x >> 24) % 128 == 0)
			r->array = (x >> 32) % span;
		break;
	case 4:
		e.addr = 0x20000 + (x >> 24) % 512;
		break;
	default:
		e.addr = (x >> 24) % span;
		break;
	}
	e.kind = (x >> 60) % 8 == 0 ? PM_EV_MODIFY : (x >> 60) % 3 ? PM_EV_READ : PM_EV_WRITE;
	return e;
}

#endif
