/* SPDX-License-Identifier: MIT */
/* 64-bit integer helpers for o32/mips2..3 so that nothing has to come from Debian's mips32r2
 * libgcc.a */
typedef unsigned long long u64; typedef long long i64; typedef unsigned u32;
static u64 divmod(u64 n, u64 d, u64 *r)
{
	u64 q = 0, rem = 0; int i;
	if (!(n >> 32) && !(d >> 32)) { u32 a = n, b = d; if (r) *r = a % b; return a / b; }
	if (!d) { if (r) *r = 0; return 0; }
	for (i = 63; i >= 0; i--) {
		rem = rem << 1 | ((n >> i) & 1);
		if (rem >= d) {
			rem -= d;
			q |= 1ull << i;
		}
	}
	if (r) *r = rem;
	return q;
}
u64 __udivdi3(u64 n, u64 d) { return divmod(n, d, 0); }
u64 __umoddi3(u64 n, u64 d) { u64 r; divmod(n, d, &r); return r; }
u64 __udivmoddi4(u64 n, u64 d, u64 *r) { return divmod(n, d, r); }
i64 __divdi3(i64 n, i64 d)
{
	u64 q = divmod(n < 0 ? -(u64)n : n, d < 0 ? -(u64)d : d, 0);
	return (n ^ d) < 0 ? -q : q;
}
i64 __moddi3(i64 n, i64 d)
{
	u64 r;
	divmod(n < 0 ? -(u64)n : n, d < 0 ? -(u64)d : d, &r);
	return n < 0 ? -r : r;
}
union w { u64 d; struct { u32 lo, hi; } s; };	/* little-endian */
u64 __ashldi3(u64 v, int n)
{
	union w x = { v };
	if (n & 32) {
		x.s.hi = x.s.lo << (n & 31);
		x.s.lo = 0;
	} else if (n) {
		x.s.hi = x.s.hi << n | x.s.lo >> (32 - n);
		x.s.lo <<= n;
	}
	return x.d;
}
u64 __lshrdi3(u64 v, int n)
{
	union w x = { v };
	if (n & 32) {
		x.s.lo = x.s.hi >> (n & 31);
		x.s.hi = 0;
	} else if (n) {
		x.s.lo = x.s.lo >> n | x.s.hi << (32 - n);
		x.s.hi >>= n;
	}
	return x.d;
}
i64 __ashrdi3(i64 v, int n)
{
	union w x = { v };
	if (n & 32) {
		x.s.lo = (int)x.s.hi >> (n & 31);
		x.s.hi = (int)x.s.hi >> 31;
	} else if (n) {
		x.s.lo = x.s.lo >> n | x.s.hi << (32 - n);
		x.s.hi = (int)x.s.hi >> n;
	}
	return x.d;
}
int __clzsi2(u32 x)
{
	int n = 0;
	if (!x)
		return 32;
	while (!(x & 0x80000000u))
		x <<= 1, n++;
	return n;
}
int __ctzsi2(u32 x) { int n = 0; if (!x) return 32; while (!(x & 1)) x >>= 1, n++; return n; }
int __clzdi2(u64 x) { return x >> 32 ? __clzsi2(x >> 32) : 32 + __clzsi2(x); }
int __ctzdi2(u64 x) { return (u32)x ? __ctzsi2(x) : 32 + __ctzsi2(x >> 32); }
int __ffsdi2(u64 x) { return x ? __ctzdi2(x) + 1 : 0; }
int __popcountsi2(u32 x) { int n = 0; while (x) x &= x - 1, n++; return n; }
u32 __bswapsi2(u32 x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
u64 __bswapdi2(u64 x) { return (u64)__bswapsi2(x) << 32 | __bswapsi2(x >> 32); }
double __floatdidf(i64 v) { return (double)(int)(v >> 32) * 4294967296.0 + (double)(u32)v; }
double __floatundidf(u64 v) { return (double)(u32)(v >> 32) * 4294967296.0 + (double)(u32)v; }
float __floatdisf(i64 v) { return __floatdidf(v); }
float __floatundisf(u64 v) { return __floatundidf(v); }
u64 __fixunsdfdi(double d)
{
	u32 hi, lo;
	if (d <= 0)
		return 0;
	hi = (u32)(d / 4294967296.0);
	lo = (u32)(d - (double)hi * 4294967296.0);
	return (u64)hi << 32 | lo;
}
i64 __fixdfdi(double d) { return d < 0 ? -(i64)__fixunsdfdi(-d) : (i64)__fixunsdfdi(d); }
i64 __fixsfdi(float f) { return __fixdfdi(f); }
u64 __fixunssfdi(float f) { return __fixunsdfdi(f); }
void *__emutls_get_address(void *p) { return p; }
