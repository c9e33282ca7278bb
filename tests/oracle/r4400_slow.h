/* SPDX-License-Identifier: MIT */
/* r4400_slow.h - the R4400's integer instructions, written the obvious way: no caches, no decoded
 * lines, no fast path; one instruction per call, from the fields of the word. Shares nothing with
 * pugmark. */
#ifndef TESTS_ORACLE_R4400_SLOW_H
#define TESTS_ORACLE_R4400_SLOW_H

#include <stdbool.h>
#include <stdint.h>

struct slow {
	uint64_t r[32], hi, lo, pc, target, epc, branches;
	bool delay, big, ll;
	uint32_t cause;			/* BD and ExcCode */
	uint8_t *ram;			/* physical = address & 0xfffff */
	uint64_t bad;
	uint32_t fcr31;
};

static uint64_t slow_get(struct slow *s, uint64_t a, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned lane = s->big ? n - 1 - i : i;

		v |= (uint64_t)s->ram[(a + i) & 0xfffff] << 8 * lane;
	}
	return v;
}

static void slow_put(struct slow *s, uint64_t a, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		s->ram[(a + i) & 0xfffff] = (uint8_t)(v >> 8 * (s->big ? n - 1 - i : i));
}

static uint64_t s32(uint64_t v)
{
	return (v & 0x80000000u) ? v | 0xffffffff00000000ULL : v & 0xffffffffULL;
}

static uint64_t sext(uint64_t v, unsigned bits)
{
	return v >> (bits - 1) & 1 ? v | ~0ULL << (bits - 1) : v;
}

static bool slow_raise(struct slow *s, unsigned code)
{
	s->epc = s->delay ? s->pc - 4 : s->pc;
	s->cause = (s->delay ? 0x80000000u : 0) | code << 2;
	s->delay = false;
	s->pc = 0xffffffff80000180ULL;
	return false;
}

/* One tick; false if it was an exception. */
static bool slow_step(struct slow *s)
{
	uint32_t w = (uint32_t)slow_get(s, s->pc, 4);
	unsigned op = w >> 26, rs = w >> 21 & 31, rt = w >> 16 & 31, rd = w >> 11 & 31,
		 sa = w >> 6 & 31, fn = w & 63;
	uint64_t a = s->r[rs], b = s->r[rt], imm = sext(w & 0xffff, 16), uimm = w & 0xffff, v = 0,
		 ea = a + imm;
	uint64_t rel = s->pc + 4 + imm * 4, next = s->delay ? s->target : s->pc + 4, to = 0;
	unsigned dest = 0;
	bool branch = false, taken = false, likely = false;
	unsigned n, k;

#define ALIGN(sz, exc) if (ea & (sz - 1)) { s->bad = ea; return slow_raise(s, exc); }
	switch (op) {
	case 0:
		dest = rd;
		switch (fn) {
		case 0: v = s32(b << sa); break;
		case 2: v = s32((b & 0xffffffff) >> sa); break;
		case 3: v = s32(sext(b & 0xffffffff, 32) >> sa); break;
		case 4: v = s32(b << (a & 31)); break;
		case 6: v = s32((b & 0xffffffff) >> (a & 31)); break;
		case 7: v = s32(sext(b & 0xffffffff, 32) >> (a & 31)); break;
		case 8: branch = taken = true; to = a; dest = 0; break;
		case 9: branch = taken = true; to = a; v = s->pc + 8; break;
		case 12: return slow_raise(s, 8);
		case 13: return slow_raise(s, 9);
		case 15: dest = 0; break;
		case 16: v = s->hi; break;
		case 17: s->hi = a; dest = 0; break;
		case 18: v = s->lo; break;
		case 19: s->lo = a; dest = 0; break;
		case 20: v = b << (a & 63); break;
		case 22: v = b >> (a & 63); break;
		case 23: v = (uint64_t)((int64_t)b >> (a & 63)); break;
		case 24: {
			int64_t p = (int64_t)(int32_t)a * (int64_t)(int32_t)b;
			s->lo = s32((uint64_t)p); s->hi = s32((uint64_t)p >> 32); dest = 0; break;
		}
		case 25: {
			uint64_t p = (a & 0xffffffff) * (b & 0xffffffff);
			s->lo = s32(p); s->hi = s32(p >> 32); dest = 0; break;
		}
		case 26: case 27: case 30: case 31: /* only with divisors that define a result */
			dest = 0;
			if (fn == 26) {
				int64_t x = (int32_t)a, y = (int32_t)b;
				s->lo = s32((uint64_t)(x / y)); s->hi = s32((uint64_t)(x % y));
			} else if (fn == 27) {
				uint64_t x = a & 0xffffffff, y = b & 0xffffffff;
				s->lo = s32(x / y); s->hi = s32(x % y);
			} else if (fn == 30) {
				if (b == ~0ULL) { s->lo = -a; s->hi = 0;
				} else {
					s->lo = (uint64_t)((int64_t)a / (int64_t)b);
					s->hi = (uint64_t)((int64_t)a % (int64_t)b);
				}
			} else {
				s->lo = a / b; s->hi = a % b;
			}
			break;
		case 28: {
			__int128 p = (__int128)(int64_t)a * (int64_t)b;
			s->lo = (uint64_t)p; s->hi = (uint64_t)(p >> 64); dest = 0; break;
		}
		case 29: {
			unsigned __int128 p = (unsigned __int128)a * b;
			s->lo = (uint64_t)p; s->hi = (uint64_t)(p >> 64); dest = 0; break;
		}
		case 32: case 34: {
			int64_t x = (int32_t)a, y = (int32_t)b, z = fn == 32 ? x + y : x - y;
			if (z != (int32_t)z) return slow_raise(s, 12);
			v = (uint64_t)z; break;
		}
		case 33: v = s32(a + b); break;
		case 35: v = s32(a - b); break;
		case 36: v = a & b; break;
		case 37: v = a | b; break;
		case 38: v = a ^ b; break;
		case 39: v = ~(a | b); break;
		case 42: v = (int64_t)a < (int64_t)b; break;
		case 43: v = a < b; break;
		case 44: case 46: {
			__int128 x = (int64_t)a, y = (int64_t)b, z = fn == 44 ? x + y : x - y;
			if (z != (int64_t)z) return slow_raise(s, 12);
			v = (uint64_t)z; break;
		}
		case 45: v = a + b; break;
		case 47: v = a - b; break;
		case 48: if ((int64_t)a >= (int64_t)b) return slow_raise(s, 13); dest = 0; break;
		case 49: if (a >= b) return slow_raise(s, 13); dest = 0; break;
		case 50: if ((int64_t)a < (int64_t)b) return slow_raise(s, 13); dest = 0; break;
		case 51: if (a < b) return slow_raise(s, 13); dest = 0; break;
		case 52: if (a == b) return slow_raise(s, 13); dest = 0; break;
		case 54: if (a != b) return slow_raise(s, 13); dest = 0; break;
		case 56: v = b << sa; break;
		case 58: v = b >> sa; break;
		case 59: v = (uint64_t)((int64_t)b >> sa); break;
		case 60: v = b << (sa + 32); break;
		case 62: v = b >> (sa + 32); break;
		case 63: v = (uint64_t)((int64_t)b >> (sa + 32)); break;
		default: return slow_raise(s, 10);
		}
		break;
	case 1:
		switch (rt) {
		case 0: case 1: case 2: case 3: case 16: case 17: case 18: case 19:
			branch = true; to = rel; likely = rt & 2;
			taken = rt & 1 ? (int64_t)a >= 0 : (int64_t)a < 0;
			if (rt & 16) { dest = 31; v = s->pc + 8; }
			break;
		case 8: if ((int64_t)a >= (int64_t)imm) return slow_raise(s, 13); break;
		case 9: if (a >= imm) return slow_raise(s, 13); break;
		case 10: if ((int64_t)a < (int64_t)imm) return slow_raise(s, 13); break;
		case 11: if (a < imm) return slow_raise(s, 13); break;
		case 12: if (a == imm) return slow_raise(s, 13); break;
		case 14: if (a != imm) return slow_raise(s, 13); break;
		default: return slow_raise(s, 10);
		}
		break;
	case 2: case 3:
		branch = taken = true;
		to = ((s->pc + 4) & ~0xfffffffULL) | (w & 0x3ffffff) << 2;
		if (op == 3) { dest = 31; v = s->pc + 8; }
		break;
	case 4: case 20: branch = true; to = rel; taken = a == b; likely = op & 16; break;
	case 5: case 21: branch = true; to = rel; taken = a != b; likely = op & 16; break;
	case 6: case 22: branch = true; to = rel; taken = (int64_t)a <= 0; likely = op & 16; break;
	case 7: case 23: branch = true; to = rel; taken = (int64_t)a > 0; likely = op & 16; break;
	case 8: {
		int64_t z = (int64_t)(int32_t)a + (int64_t)imm;
		if (z != (int32_t)z) return slow_raise(s, 12);
		dest = rt; v = (uint64_t)z; break;
	}
	case 9: dest = rt; v = s32(a + imm); break;
	case 10: dest = rt; v = (int64_t)a < (int64_t)imm; break;
	case 11: dest = rt; v = a < imm; break;
	case 12: dest = rt; v = a & uimm; break;
	case 13: dest = rt; v = a | uimm; break;
	case 14: dest = rt; v = a ^ uimm; break;
	case 15: dest = rt; v = s32(uimm << 16); break;
	case 24: {
		__int128 z = (__int128)(int64_t)a + (int64_t)imm;
		if (z != (int64_t)z) return slow_raise(s, 12);
		dest = rt; v = (uint64_t)z; break;
	}
	case 25: dest = rt; v = a + imm; break;
	case 32: dest = rt; v = sext(slow_get(s, ea, 1), 8); break;
	case 36: dest = rt; v = slow_get(s, ea, 1); break;
	case 33: ALIGN(2, 4) dest = rt; v = sext(slow_get(s, ea, 2), 16); break;
	case 37: ALIGN(2, 4) dest = rt; v = slow_get(s, ea, 2); break;
	case 35:
	case 48:
		ALIGN(4, 4) dest = rt;
		v = s32(slow_get(s, ea, 4));
		if (op == 48)
			s->ll = true;
		break;
	case 39: ALIGN(4, 4) dest = rt; v = slow_get(s, ea, 4); break;
	case 55:
	case 52:
		ALIGN(8, 4) dest = rt;
		v = slow_get(s, ea, 8);
		if (op == 52)
			s->ll = true;
		break;
	case 40: slow_put(s, ea, 1, b); break;
	case 41: ALIGN(2, 5) slow_put(s, ea, 2, b); break;
	case 43: ALIGN(4, 5) slow_put(s, ea, 4, b); break;
	case 63: ALIGN(8, 5) slow_put(s, ea, 8, b); break;
	case 56: case 60:
		dest = rt;
		n = op == 56 ? 4 : 8;
		if (ea & (n - 1)) { s->bad = ea; return slow_raise(s, 5); }
		if (s->ll) {
			slow_put(s, ea, n, b);
			v = 1;
		}
		break;
	/* unaligned: byte by byte, as the tables of the manual */
	case 34: case 38: case 26: case 27: {
		bool left = op == 34 || op == 26;
		n = op >= 32 ? 4 : 8;
		k = (unsigned)(ea & (n - 1));
		v = b;
		for (unsigned i = 0; i < n; i++) {		/* i: address within the unit */
			bool use = s->big ? (left ? i >= k : i <= k) : (left ? i <= k : i >= k);
			unsigned byte = s->big ? (left ? n - 1 - (i - k) : k - i)
					       : (left ? n - 1 - (k - i) : i - k);

			if (use)
				v = (v & ~(0xffULL << 8 * byte)) |
				    slow_get(s, (ea & ~(uint64_t)(n - 1)) + i, 1) << 8 * byte;
		}
		if (n == 4)
			v = s32(v);
		dest = rt;
		break;
	}
	case 42: case 46: case 44: case 45: {
		bool left = op == 42 || op == 44;
		n = op == 42 || op == 46 ? 4 : 8;
		k = (unsigned)(ea & (n - 1));
		for (unsigned i = 0; i < n; i++) {
			bool use = s->big ? (left ? i >= k : i <= k) : (left ? i <= k : i >= k);
			unsigned byte = s->big ? (left ? n - 1 - (i - k) : k - i)
					       : (left ? n - 1 - (k - i) : i - k);

			if (use)
				slow_put(s, (ea & ~(uint64_t)(n - 1)) + i, 1, b >> 8 * byte);
		}
		break;
	}
	case 17:		/* the tests give reserved ones only */
		if (w >> 25 & 1) {
			s->fcr31 = (s->fcr31 & ~0x3f000u) | 0x20000;
			return slow_raise(s, 15);
		}
		return slow_raise(s, 10);
	default:
		return slow_raise(s, 10);
	}
#undef ALIGN
	if (branch && s->delay)
		return slow_raise(s, 10);
	if (dest)
		s->r[dest] = v;
	if (branch) {
		s->branches++;
		if (taken || !likely) {
			s->delay = true;
			s->target = taken ? to : s->pc + 8;
			s->pc += 4;
		} else {
			s->pc += 8;
		}
		return true;
	}
	s->delay = false;
	s->pc = next;
	return true;
}

#endif
