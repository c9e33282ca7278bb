/* SPDX-License-Identifier: MIT */
/* count_files.c - counters, and the files that they are written to */
#include "standalone.h"

#ifdef __i386__
#define CNT ".cnt"
#else
#define CNT ".cnt64"
#endif

/* Counts of RT_RUN counters, the first of which has number @slot, go to total[]. Where blocks share
 * a record, the last one is counted, and stands for those before it. */
static void add_counts(u64 *total, uint8_t *any, u32 n, u32 slot, const rt_count *count)
{
	static u32 text;

	for (u32 k = 0; k < RT_RUN; k++, slot++) {
		u32 i;

		if (!count[k] || slot < IMG_RESERVED || slot - IMG_RESERVED >= n)
			continue;
		if (slot - IMG_RESERVED - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(slot - IMG_RESERVED);
		if (slot - IMG_RESERVED - TEXTS[text].first >= TEXTS[text].nblock)
			continue;		/* another process's */
		for (i = slot - IMG_RESERVED - TEXTS[text].first; i != IMG_NO_BLOCK;
		     i = rt_prev_block(text, i)) {
			const u32 to = TEXTS[text].first + i;

			if (to >= MAN->from && to < MAN->to) {
				total[to] += count[k];
				any[to / 512] = 1;
			}
		}
	}
}

/* The sum of what the process's threads have counted. */
static void add_blocks(u64 *total, uint8_t *any, u32 n, u32 pid)
{
	static uint8_t here[4096];
	const u64 pages = (IMG_RESERVED + (u64)n + RT_RUN - 1) / RT_RUN;

	for (u32 i = 1; i < LEDGER->used; i++) {
		const uint8_t *from;

		if (LEDGER->owner[i] != pid || !rt_image_block(i))
			continue;
		from = (const uint8_t *)rt_image_block(i) + COUNTERS_AT;
		for (u64 at = 0; at < pages; at += sizeof here) {
			const u64 part = pages - at < sizeof here ? pages - at : sizeof here;

			if (rt_sys(NR_mincore, from + 4096 * at, 4096 * part, here))
				continue;
			for (u64 p = 0; p < part; p++)
				if (here[p] & 1)
					add_counts(total, any, n, (u32)(RT_RUN * (at + p)),
						   (const rt_count *)(from + 4096 * (at + p)));
		}
	}
}

/* BENCH.cnt64: one set. BENCH.cnt: as many sets of 32-bit counts as the largest takes. */
static int put_counts(long fd, const u64 *total, const uint8_t *any, u64 n)
{
	static rt_count out[512];
	const u64 largest = (rt_count)-1;
	const struct {
		u32 magic[2];
		char tag[8];
	} head = { { MAN->orig_magic, MAN->idt_magic }, "IDT64" };
	const u64 begin = IMG_RESERVED * sizeof(rt_count); /* of the header as much as there is */
	u64 sets = 1;
	int ok;

	for (u64 k = 0; k < n; k++)
		while (any[k / 512] && sizeof(rt_count) < 8 && total[k] > largest * sets)
			sets++;
	ok = !rt_resize(fd, begin + sizeof(rt_count) * n * sets) &&
		rt_pwrite(fd, &head, begin, 0ull) == (long)begin;
	for (u64 set = 0; set < sets; set++)
		for (u64 k = 0; k < n; k += 512) {
			const u64 part = n - k < 512 ? n - k : 512;

			if (!any[k / 512])
				continue;
			for (u64 m = 0; m < part; m++) {
				const u64 left = total[k + m] > largest *
					set ? total[k + m] - largest * set : 0;

				out[m] = (rt_count)(left < largest ? left : largest);
			}
			ok &= rt_pwrite(fd, out, sizeof(rt_count) * part,
					begin + sizeof(rt_count) * (set * n + k)) ==
			      (long)(sizeof(rt_count) * part);
		}
	return ok;
}

void rt_write_counts(u32 pid)
{
	const u64 n = rt_later_blocks(), room = page_up(8 * n + n / 512 + 1);
	struct rt_quiet quiet;
	char name[4300];
	uint8_t *any;
	u64 *total;
	int ok = 0;
	long fd, r;

	rt_counts_hold(1);
	rt_output_name(name, CNT, pid);
	r = rt_map(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		   0);
	total = PTR(r);
	any = (uint8_t *)(total + n);
	fd = rt_failed(r) ? -1 : rt_open_output(name, O_WRONLY_CREAT_TRUNC);
	if (fd >= 0) {
		add_blocks(total, any, (u32)n, pid);
		rt_add_wraps(total, any, pid);
		rt_image_quiet(&quiet);
		ok = put_counts(fd, total, any, n);
		rt_image_loud(&quiet);
		rt_sys(NR_close, fd);
		if (!ok)
			rt_sys(NR_unlink, name);
	}
	if (!rt_failed(r))
		rt_sys(NR_munmap, r, room);
	if (!ok) {
		rt_print("pugmark: cannot write the counts: ");
		rt_print(name);
		rt_print("\n");
	}
	rt_counts_hold(0);
}
