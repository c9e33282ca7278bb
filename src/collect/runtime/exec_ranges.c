/* SPDX-License-Identifier: MIT */
/* exec_ranges.c - what all threads know: the program's executable mappings */
#include "rt.h"

#ifndef RT_IDT
struct rt_boot rt_boot_info __attribute__((section(".data.boot")));
#elif defined __i386__
struct rt_boot rt_boot_info;		/* nothing of it is known */
#endif
struct rt_range rt_ranges[256];
u32 rt_nranges, rt_nwritable;
u32 rt_apart, rt_attached;
static u32 ranges_lock;

static void lock(u32 *l)
{
	while (__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock(u32 *l)
{
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

void rt_ranges_lock(int on)
{
	if (on)
		lock(&ranges_lock);
	else
		unlock(&ranges_lock);
}

int rt_is_exec(u64 addr, u64 len)
{
	int hit = 0;

	lock(&ranges_lock);
	for (u32 i = 0; i < rt_nranges && !hit; i++)
		hit = rt_ranges[i].lo < addr + len && addr < rt_ranges[i].hi;
	hit |= rt_nranges == NR_OF(rt_ranges);		/* full: everything may be */
	unlock(&ranges_lock);
	return hit;
}

static void count_writable(void)
{
	u32 n = 0;

	for (u32 i = 0; i < rt_nranges; i++)
		n += (rt_ranges[i].prot & PROT_WRITE) != 0;
	rt_nwritable = n;
}

static void range_del(u64 lo, u64 hi)
{
	for (u32 i = 0; i < rt_nranges; i++) {
		struct rt_range *r = &rt_ranges[i];

		if (r->hi <= lo || hi <= r->lo)
			continue;
		if (r->lo < lo && hi < r->hi) {
			if (rt_nranges < NR_OF(rt_ranges)) {
				rt_ranges[rt_nranges] = *r;
				rt_ranges[rt_nranges++].lo = hi;
			}
			r->hi = lo;
		} else if (r->lo < lo) {
			r->hi = lo;
		} else if (hi < r->hi) {
			r->lo = hi;
		} else {
			*r = rt_ranges[--rt_nranges];
			i--;
		}
	}
}

void rt_range_del(u64 lo, u64 hi)
{
	lock(&ranges_lock);
	range_del(lo, hi);
	count_writable();
	unlock(&ranges_lock);
}

void rt_range_add(u64 lo, u64 hi, u32 prot, u32 shared)
{
	lock(&ranges_lock);
	range_del(lo, hi);
	for (u32 i = 0; i < rt_nranges && !shared; i++) {	/* a heap grows by small steps */
		const struct rt_range *r = &rt_ranges[i];

		if (r->shared || r->prot != prot || (r->hi != lo && r->lo != hi))
			continue;
		lo = r->lo < lo ? r->lo : lo;
		hi = r->hi > hi ? r->hi : hi;
		rt_ranges[i--] = rt_ranges[--rt_nranges];
	}
	if (rt_nranges < NR_OF(rt_ranges))
		rt_ranges[rt_nranges++] = (struct rt_range){ lo, hi, prot, shared };
	count_writable();
	unlock(&ranges_lock);
}

#ifndef RT_IDT
void rt_forget_ranges(void)
{
	rt_nranges = rt_nwritable = 0;
}
#endif
