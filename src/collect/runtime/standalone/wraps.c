/* SPDX-License-Identifier: MIT */
/* wraps.c - counters that wrap, of 32-bit programs */
#include "standalone.h"

static u32 counts_lock;

void rt_counts_hold(int on)
{
	if (!on) {
		__atomic_store_n(&counts_lock, 0, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_exchange_n(&counts_lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

void rt_counts_forked(void)
{
	counts_lock = 0;
}

#ifdef __i386__
/* A 32-bit counter is counted up by one instruction that nobody looks at. A helper, which is a
 * process of its own but shares our memory, looks often enough to see each one that has wrapped. */
#define WATCH_NS 100000000		/* far less than 2^32 of anything take */

static u32 watched;			/* pid of the process whose counters are; 0: nobody's */
static long watcher = -1;		/* pid of the helper */

static u32 *last_seen(void)
{
	return PTR(MAN->watch);
}

static void look_for_wraps(void)
{
	u32 *last = last_seen(), *high = last + MAN->counters;
	const u32 nblock = rt_later_blocks();
	static u32 sum[4096 / sizeof(u32)];
	static uint8_t here;

	for (u32 from = 0; from < IMG_RESERVED + nblock; from += RT_RUN) {
		int any = 0;

		memset(sum, 0, sizeof sum);
		for (u32 i = 1; i < LEDGER->used; i++) {
			const u32 *c;

			if (LEDGER->owner[i] != watched || !rt_image_block(i))
				continue;
			c = (const u32 *)((uint8_t *)rt_image_block(i) + COUNTERS_AT) + from;
			if (rt_sys(NR_mincore, c, 4096, &here) || !(here & 1))
				continue;
			any = 1;
			for (u32 k = 0; k < RT_RUN; k++)
				sum[k] += c[k];
		}
		for (u32 k = 0; any && k < RT_RUN; k++) {
			const u32 n = from + k - IMG_RESERVED;

			if (n >= nblock || sum[k] == last[n])
				continue;
			/* a block that a fault stops is counted down: that is no wrap */
			if (sum[k] < last[n] && last[n] - sum[k] >= 1u << 31)
				high[n]++;
			last[n] = sum[k];
		}
	}
}

void rt_image_watch(void)
{
	const word pause[2] = { 0, WATCH_NS };

	while ((u32)rt_sys(NR_getppid, 0) == watched) {
		rt_sys(NR_nanosleep, pause, 0);
		rt_counts_hold(1);
		if ((u32)rt_sys(NR_getppid, 0) == watched)
			look_for_wraps();
		rt_counts_hold(0);
	}
	for (;;)
		rt_sys(NR_exit, 0);
}

extern long rt_image_helper(word flags, word stack);

/* @again: what has been seen before counts. */
static void begin_watch(u32 pid, int again)
{
	static uint8_t stack[8192] __attribute__((aligned(16)));
	const u64 all = ~0ull;
	u64 mask;

	if (!MAN->watch)
		return;
	if (!again)
		rt_map(MAN->watch, page_up(8 * MAN->counters), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	watched = pid;
	rt_sys(NR_rt_sigprocmask, 2, &all, &mask, 8);
	/* VM, FS, FILES, UNTRACED; its end is no news */
	watcher = rt_image_helper(0x100 | 0x200 | 0x400 | 0x800000,
				  (word)stack + sizeof stack - 16);
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
}

void rt_watch(u32 pid)
{
	begin_watch(pid, 0);
}

void rt_watch_again(u32 pid)
{
	if (watched == pid)
		begin_watch(pid, 1);
}

void rt_watch_end(u32 pid)
{
	if (watched != pid || rt_failed(watcher))
		return;
	rt_counts_hold(1);
	rt_sys(NR_kill, watcher, SIGKILL);
	rt_counts_hold(0);
	rt_sys(NR_wait4, watcher, 0, 0x80000000 /* __WCLONE */, 0);
	watcher = -1;
}

void rt_add_wraps(u64 *total, uint8_t *any, u32 pid)
{
	const u32 *high = last_seen() + MAN->counters, nblock = rt_later_blocks();
	static u32 text;

	if (!MAN->watch || watched != pid)
		return;
	look_for_wraps();
	for (u32 n = 0; n < nblock; n++) {
		if (!high[n])
			continue;
		if (n - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(n);
		if (n - TEXTS[text].first >= TEXTS[text].nblock)
			continue;		/* another process's */
		for (u32 i = n - TEXTS[text].first; i != IMG_NO_BLOCK; i = rt_prev_block(text, i)) {
			const u32 to = TEXTS[text].first + i;

			if (to >= MAN->from && to < MAN->to) {
				total[to] += (u64)high[n] << 32;
				any[to / 512] = 1;
			}
		}
	}
}
#else
void rt_watch(u32 pid) { (void)pid; }
void rt_watch_again(u32 pid) { (void)pid; }
void rt_watch_end(u32 pid) { (void)pid; }
void rt_add_wraps(u64 *total, uint8_t *any, u32 pid) { (void)total; (void)any; (void)pid; }
#endif
