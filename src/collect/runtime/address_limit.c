/* SPDX-License-Identifier: MIT */
/* address_limit.c - the limit on the size of the address space, most of which is ours
 *
 * What the program says and sees is RT_OURS_SIZE less than the kernel's, also across execve().
 * As more is
 * reserved than will be mapped, the limit holds only roughly. */
#include "rt.h"

#define RLIMIT_AS 9

#define INFINITE (~0ull)

static u64 to_kernel(u64 v)
{
	return v < INFINITE - RT_OURS_SIZE ? v + RT_OURS_SIZE : INFINITE;
}

static u64 from_kernel(u64 v)
{
	return v != INFINITE && v >= RT_OURS_SIZE ? v - RT_OURS_SIZE : v;
}

/* prlimit64() with what the program says, @new, and sees, @old; each may be NULL. */
static long limit(const u64 *new, u64 *old)
{
	const u64 set[2] = { new ? to_kernel(new[0]) : 0, new ? to_kernel(new[1]) : 0 };
	u64 was[2];
	const long r = rt_app_sys(NR_prlimit64, 0, RLIMIT_AS, new ? (word)set : 0, (word)was, 0, 0);

	if (!r && old) {
		old[0] = from_kernel(was[0]);
		old[1] = from_kernel(was[1]);
	}
	return r;
}

static long do_prlimit(struct rt_block *b)
{
	u64 new[2], old[2];
	long r;

	if (ARG2 && rt_get(new, ARG2, sizeof new))
		return -EFAULT;
	r = limit(ARG2 ? new : 0, old);
	return !r && ARG3 && rt_put(ARG3, old, sizeof old) ? -EFAULT : r;
}

/* The old calls: two words, of which all ones is infinite. */
static long do_old(struct rt_block *b, int set)
{
	word v[2];
	u64 both[2];
	long r;

	if (set) {
		if (rt_get(v, ARG1, sizeof v))
			return -EFAULT;
		for (u32 i = 0; i < 2; i++)
			both[i] = v[i] == ~(word)0 ? INFINITE : v[i];
		return limit(both, 0);
	}
	r = limit(0, both);
	for (u32 i = 0; i < 2; i++)
		v[i] = both[i] > ~(word)0 ? ~(word)0 : (word)both[i];
	return !r && rt_put(ARG1, v, sizeof v) ? -EFAULT : r;
}

int rt_do_limit(struct rt_block *b)
{
	const int prlimit = RET == NR_prlimit64;
	const u32 pid = prlimit ? (u32)ARG0 : 0, what = (u32)(prlimit ? ARG1 : ARG0);

	if (what != RLIMIT_AS || (pid && pid != b->pid && pid != b->tid))
		return 1;
	RET = (word)(prlimit ? do_prlimit(b) : do_old(b, RET == NR_setrlimit));
	return 0;
}
