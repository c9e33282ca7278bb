/* SPDX-License-Identifier: MIT */
/* memory.c - calls about ranges of addresses, in parts of which something of ours is
 *
 * For the program there is nothing in those parts. So munmap() passes over them; what changes or looks at mappings does
 * what it natively does where it comes to a hole, and something may be mapped there. Code near the text that it was
 * translated from makes way for that: the program has no other place for its own, and that can be translated again. The
 * rest of what is ours has a place that programs hardly want (abi.h), and keeps it. */
#include "rt.h"

#define MCL_CURRENT 1
#define MCL_ONFAULT 4

/* Where nothing can be mapped. */
#ifdef __i386__
#define NOWHERE 0xfffff000u
#define USER_END 0x100000000ull
#else
#define NOWHERE 0x7ffffffff000ull
#define USER_END NOWHERE
#endif

/* What is not page-aligned, empty or no range at all is left to the kernel, which refuses it. */
static int find_in(u64 addr, u64 len, struct rt_ours *o)
{
	const u64 end = page_up(addr + len);

	*o = (struct rt_ours){ .lo = addr, .hi = end };
	return !(addr & 4095) && len && addr + len > addr && end > addr && end <= USER_END && rt_find_ours(o);
}

int rt_in_front_of_ours(u64 addr, u64 *len)
{
	struct rt_ours o;

	if (!find_in(addr, *len, &o))
		return 0;
	*len = o.at - addr;
	return 1;
}

long rt_range_call(struct rt_block *b, u64 addr, u64 len, word arg2)
{
	return len ? rt_app_sys((long)RET, (word)addr, (word)len, arg2, ARG3, ARG4, ARG5) :
		     rt_app_sys((long)RET, (word)NOWHERE, 4096, arg2, ARG3, ARG4, ARG5);
}

int rt_do_munmap(struct rt_block *b)
{
	const u64 end = page_up((u64)ARG0 + ARG1);
	struct rt_ours o;
	long r = 0;

	if (!find_in(ARG0, ARG1, &o)) {
		rt_forget(b, ARG0, ARG1);
		return 1;
	}
	for (u64 at = ARG0; at < end && !r; at = o.end) {
		o = (struct rt_ours){ .lo = at, .hi = end, .end = end };
		rt_find_ours(&o);
		if (o.at == at)
			continue;
		rt_forget(b, at, o.at - at);
		r = rt_app_sys(NR_munmap, (word)at, (word)(o.at - at), 0, 0, 0, 0);
	}
	RET = (word)r;
	return 0;
}

/* It goes on behind a hole, but says that there was one. */
static long call_parts(struct rt_block *b, u64 lo, u64 hi)
{
	struct rt_ours o;

	for (u64 at = lo; at < hi; at = o.end) {
		long r;

		o = (struct rt_ours){ .lo = at, .hi = hi, .end = hi };
		rt_find_ours(&o);
		r = rt_range_call(b, at, o.at - at, ARG2);
		if (r && r != -ENOMEM)
			return r;
	}
	return -ENOMEM;
}

int rt_do_range(struct rt_block *b)
{
	u64 lo = ARG0, len = ARG1;
	struct rt_ours o;
	long r;

	switch (RET) {
	case NR_mlockall:			/* ours is far larger than memory */
		RET = (word)rt_app_sys(NR_mlockall, ARG0 & MCL_CURRENT ? ARG0 | MCL_ONFAULT : ARG0, 0, 0, 0, 0, 0);
		return 0;
	case NR_mlock:
	case NR_mlock2:
	case NR_munlock:
		len += lo & 4095;
		lo = page_down(lo);
	}
	if (!find_in(lo, len, &o))
		return 1;
	if (RET == NR_remap_file_pages) {
		RET = -(word)EINVAL;
		return 0;
	}
	if (RET == NR_madvise || RET == NR_msync) {
		RET = (word)call_parts(b, lo, page_up(lo + len));
		return 0;
	}
	r = rt_range_call(b, lo, o.at - lo, ARG2);
	RET = (word)(r ? r : -ENOMEM);
	return 0;
}

int rt_make_way(struct rt_block *b, u64 addr, u64 len)
{
	const u64 lo = page_down(addr), hi = page_up(addr + len);

	if (hi <= lo || !rt_only_placed(lo, hi))
		return 0;
	if (!rt_ask(b, RQ_MAKE_WAY, lo, hi - lo, 0, 0))
		rt_call_native(b);
	if (!b->mail.r[0])
		return 0;
	rt_unplace(lo, hi);
	return 1;
}
