/* SPDX-License-Identifier: MIT */
/* late.c - pages of the shadow that are filled when they are first needed, in the process itself
 *
 * The controller would have to be woken for each, and the thread after that, which takes twenty times as long. */
#include "rt.h"

#define MOST 16u
#define PAGE_TEXT (4096u / 4)			/* bytes of text that a page of the shadow stands for */
#define LOOKS 16u

static struct rt_late late[MOST];		/* n: 0: none, or one that is */
#define BEING_WRITTEN (~(u64)0)

/* Threads of a process that begins to use a second one look at them meanwhile, or bring a third. */
void rt_late_text(const struct rt_cmd *c)
{
	u64 none = 0;

	for (u32 i = 0; i < MOST; i++)
		if (late[i].n - 1 < BEING_WRITTEN - 1 && late[i].lo < c->a[1] && c->a[0] < late[i].hi)
			__atomic_store_n(&late[i].n, 0, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < MOST && c->a[4]; i++, none = 0) {
		struct rt_late *l = &late[i];

		if (!__atomic_compare_exchange_n(&l->n, &none, BEING_WRITTEN, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		l->lo = c->a[0];
		l->hi = c->a[1];
		l->code = c->a[2];
		l->entries = c->a[3];
		__atomic_store_n(&l->n, c->a[4], __ATOMIC_RELEASE);
		return;
	}
}

/* The first entry that is not in front of @pc. */
static u64 first_from(const struct rt_entry *e, u64 n, u64 pc)
{
	u64 at = 0;

	while (at < n) {
		const u64 mid = at + (n - at) / 2;

		if (e[mid].pc < pc)
			at = mid + 1;
		else
			n = mid;
	}
	return at;
}

/* Entries are what they are for as long as the text is: two threads write the same. */
static u64 fill(const struct rt_late *l, u64 pc)
{
	const struct rt_entry *e = PTR(l->entries);
	const u64 from = (pc - l->lo) & ~(u64)(PAGE_TEXT - 1);
	int32_t *shadow = PTR(RT_LATE_SHADOW + 4 * (u64)(u32)l->lo);
	u64 to = 0;

	for (u64 i = first_from(e, l->n, from); i < l->n && e[i].pc - from < PAGE_TEXT; i++) {
		const u64 d = l->code + e[i].code - (l->lo + e[i].pc);

		__atomic_store_n(shadow + e[i].pc, (int32_t)d, __ATOMIC_RELEASE);
		if (l->lo + e[i].pc == pc)
			to = pc + d;
	}
	return to;
}

/* The one of @pc, in *@l. */
static int find(u64 pc, struct rt_late *l)
{
	for (u32 i = 0; i < MOST; i++) {
		const u64 n = __atomic_load_n(&late[i].n, __ATOMIC_ACQUIRE);

		*l = late[i];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (n && n != BEING_WRITTEN && l->n == n && __atomic_load_n(&late[i].n, __ATOMIC_RELAXED) == n &&
		    pc - l->lo < l->hi - l->lo)
			return 1;
	}
	return 0;
}

u64 rt_late(u64 pc)
{
	static u32 looks;
	struct rt_late at, *l = &at;
	struct rt_late_door *door;
	u64 to = 0;

	if (!find(pc, l))
		return 0;
	door = PTR(RT_LATE_DOORS + (u32)l->lo);
	__atomic_fetch_add(&door->inside, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&door->closed, __ATOMIC_SEQ_CST)) {
		to = fill(l, pc);
		__atomic_fetch_add(&door->filled, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&door->inside, 1, __ATOMIC_SEQ_CST);
	/* each fault brings pages of the text that nobody reads, and a look at the entries some of those */
	if (__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED) % LOOKS == 0) {
		rt_sys(NR_madvise, l->lo, l->hi - l->lo, MADV_DONTNEED);
		rt_sys(NR_madvise, l->entries & ~4095ull, 8 * l->n, MADV_DONTNEED);
	}
	return to;
}
