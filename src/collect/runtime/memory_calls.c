/* SPDX-License-Identifier: MIT */
/* memory_calls.c - calls about ranges of addresses, in parts of which something of ours is
 *
 * For the program there is nothing in those parts. So munmap() passes over them; what changes or
 * looks at mappings does what it natively does where it comes to a hole, and something may be
 * mapped there. Code near the text that it was translated from makes way for that: the program has
 * no other place for its own, and that can be translated again. The rest of what is ours has a
 * place that programs hardly want (abi.h), and keeps it. */
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

long rt_raw_call(struct rt_block *b)
{
	return rt_app_sys((long)RET, ARG0, ARG1, ARG2, ARG3, ARG4, ARG5);
}

void rt_announce_unmap(struct rt_block *b, u64 addr, u64 len)
{
	if (len && rt_is_exec(addr, len)) {
		if (!rt_ask(b, RQ_UNMAP, addr, page_up(len), 0, 0))
			rt_call_native(b);
		rt_range_del(addr, addr + page_up(len));
	}
}

void rt_announce_changes(struct rt_block *b, u64 addr, u64 len)
{
#ifndef RT_IDT
	if (len && RT_SESSION->constants && !rt_ask(b, RQ_CHANGES, addr, page_up(len), 0, 0))
		rt_call_native(b);
#endif
}

/* The program has made memory executable: flags & 3 as mmap()'s; 0x80000000: by mprotect() */
void rt_executable(struct rt_block *b, u64 addr, u64 len, u64 prot, u64 flags)
{
	rt_range_add(addr, addr + page_up(len), (u32)prot, flags & MAP_SHARED);
	if (!rt_ask(b, RQ_MAP, addr, page_up(len), prot, flags))
		rt_resume_native(b);
}

/* What is not page-aligned, empty or no range at all is left to the kernel, which refuses it. */
static int find_in(u64 addr, u64 len, struct rt_ours *o)
{
	const u64 end = page_up(addr + len);

	*o = (struct rt_ours){ .lo = addr, .hi = end };
	return !(addr & 4095) && len && addr + len > addr && end > addr && end <= USER_END &&
	       rt_find_ours(o);
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
		rt_announce_unmap(b, ARG0, ARG1);
		return 1;
	}
	for (u64 at = ARG0; at < end && !r; at = o.end) {
		o = (struct rt_ours){ .lo = at, .hi = end, .end = end };
		rt_find_ours(&o);
		if (o.at == at)
			continue;
		rt_announce_unmap(b, at, o.at - at);
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
		RET = (word)rt_app_sys(NR_mlockall, ARG0 & MCL_CURRENT ? ARG0 | MCL_ONFAULT : ARG0,
				       0, 0, 0, 0, 0);
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

/* The program will say that it cannot work, but not why. */
static void complain(word len)
{
	static const char text[] =
		"pugmark: the program asks for addresses that tracing needs; programs built "
				   "with AddressSanitizer or ThreadSanitizer do, and cannot be "
				   "traced\n";
	static u32 once;

	if (len >= 16 << 20 && !__atomic_exchange_n(&once, 1, __ATOMIC_SEQ_CST))
		rt_sys(NR_write, 2, text, sizeof text - 1);
}

void rt_do_mmap(struct rt_block *b, const word arg[6])
{
	word prot = rt_prot(b, arg[2]), real = prot;
	const int over = arg[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE) && rt_is_ours(arg[0], arg[1]);
	long r;

	if (over && !rt_make_way(b, arg[0], arg[1]) && arg[3] & MAP_FIXED) {
		RET = -(word)ENOMEM;
		complain(arg[1]);
		return;
	}
	if (arg[3] & MAP_FIXED) {
		rt_announce_unmap(b, arg[0], arg[1]);
		/* what ld.so maps of a file's constants, over its first mapping, is not writable */
		if (arg[2] & PROT_WRITE)
			rt_announce_changes(b, arg[0], arg[1]);
	}
	if (prot & PROT_EXEC)
		real = (prot & ~(word)PROT_EXEC) | PROT_READ;
#ifdef RT_IDT
	if (!arg[0] && !arg[5] && (arg[3] & 0xf) == MAP_PRIVATE && !(arg[3] & MAP_ANONYMOUS)) {
		u64 flags = arg[3], at = rt_image_place(arg[4], &flags);

		r = at ? rt_app_sys(NR_mmap, at, arg[1], real, flags, arg[4], 0) : -1;
		if (r != (long)at || !at)
			r = rt_app_sys(NR_mmap, arg[0], arg[1], real, arg[3], arg[4], arg[5]);
	} else
#endif
	r = rt_app_sys(NR_mmap, arg[0], arg[1], real, arg[3], arg[4], arg[5]);
	RET = (word)r;
	if (!rt_failed(r) && (prot & PROT_EXEC))
		rt_executable(b, (word)r, arg[1], prot, arg[3] & 3);
	if (over)
		rt_resume(b);			/* where it was going on may be gone */
}

void rt_do_mprotect(struct rt_block *b)
{
	word prot = rt_prot(b, (word)ARG2), real = prot;
	u64 len = ARG1;
	const int cut = rt_in_front_of_ours(ARG0, &len);
	long r;

	if (prot & PROT_EXEC)
		real = (prot & ~(word)PROT_EXEC) | PROT_READ;
	/* text that stays executable stays so throughout: others may be executing it meanwhile */
	if (!(prot & PROT_EXEC))
		rt_announce_unmap(b, ARG0, len);
	if (prot & PROT_WRITE)
		rt_announce_changes(b, ARG0, len);
	r = cut ? rt_range_call(b, ARG0, len, real) : rt_app_sys((long)RET, ARG0, ARG1, real, ARG3,
								 0, 0);
	RET = (word)(r || !cut ? r : -ENOMEM);
	if (!r && (prot & PROT_EXEC))
		rt_executable(b, ARG0, len, prot, 0x80000000u);
}

void rt_do_mremap(struct rt_block *b)
{
	u64 old = ARG0, oldlen = ARG1, newlen = ARG2, flags = ARG3;
	int exec = rt_is_exec(old, oldlen);
	long r;

	const int over = (flags & MREMAP_FIXED) && rt_is_ours(ARG4, newlen);

	if (rt_is_ours(old, oldlen)) {
		RET = -(word)EFAULT;
		return;
	}
	if (over && !rt_make_way(b, ARG4, newlen)) {
		RET = -(word)ENOMEM;
		return;
	}
	if (flags & MREMAP_FIXED) {
		rt_announce_unmap(b, ARG4, newlen);
		rt_announce_changes(b, ARG4, newlen);
	}
	if (exec)
		rt_announce_unmap(b, old, oldlen);
	r = rt_raw_call(b);
	RET = (word)r;
	if (exec && !rt_failed(r))
		rt_executable(b, (word)r, newlen, PROT_READ | PROT_WRITE | PROT_EXEC, 0x80000000u);
	else if (exec)
		rt_executable(b, old, oldlen, PROT_READ | PROT_WRITE | PROT_EXEC, 0x80000000u);
	if (over)
		rt_resume(b);
}

/* As far as brk() does by the kernel's rules, the heap is as executable as what is mapped. */
void rt_do_brk(struct rt_block *b)
{
	const u64 was = page_up((word)rt_sys(NR_brk, 0));
	u64 now;

	RET = (word)rt_raw_call(b);
	now = page_up(RET);
	if (now < was)
		rt_announce_unmap(b, now, was - now);
	else if (now > was && b->exec_all)
		rt_executable(b, was, now - was, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE);
}
