/* SPDX-License-Identifier: MIT */
/* translator.c - code that was not known when the program was instrumented: ask
 * the installed translator
 *
 * It is started when it is first needed, as a process that is nobody's child, and shares a memory
 * file with the processes of the program; see THE TRANSLATOR in image.h. */
#include "standalone.h"

#define WALL 0x40000000
#define O_RDWR_CLOEXEC 02000002
#define MAX_LIBRARIES 200

static struct img_part part[IMG_PARTS];
static int on;				/* 1: the memory file is mapped; -1:
					 * there is no translator */
static u32 placed[IMG_MAX_REGIONS / 32];	/* bits of regions that are
						 * mapped at their places */
static u64 generated;			/* where the last range begins in which there
					 * was generated code */
static u32 library[MAX_LIBRARIES], nlibrary;	/* texts that are where they were translated for */

/* Where what is at @from in the memory file is mapped. */
static word mapped_at(u64 from)
{
	u32 i = IMG_PARTS - 1;

	while (from < part[i].from)
		i--;
	return (word)(part[i].at + (from - part[i].from));
}

#define LATER ((struct img_later *)(word)part[IMG_PART_FRONT].at)
#define REGIONS ((const struct img_region *)mapped_at(IMG_LATER_REGIONS))

/* ---- locks and waiting ----------------------------------------------------------------------- */
static int alive(u32 id)
{
	return rt_sys(NR_kill, id, 0) != -ESRCH;
}

static void sleep_on(u32 *at, u32 while_it_is)
{
	const word timeout[2] = { 0, 100000000 };

	rt_sys(NR_futex, at, 0 /* WAIT */, while_it_is, timeout);
}

/* Whoever dies with it loses it. */
static void lock(u32 *l, u32 me)
{
	for (;;) {
		u32 was = 0;

		if (__atomic_compare_exchange_n(l, &was, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		if (!alive(was) &&
		    __atomic_compare_exchange_n(l, &was, me, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
		sleep_on(l, was);
	}
}

static void unlock(u32 *l)
{
	__atomic_store_n(l, 0, __ATOMIC_SEQ_CST);
	rt_sys(NR_futex, l, 1 /* WAKE */, 1);
}

/* ---- starting it ----------------------------------------------------------------------------- */
static const char *variable(const char *name)
{
	for (const char **e = rt_environment(); *e; e++) {
		const char *p = *e, *q = name;

		while (*q && *p == *q)
			p++, q++;
		if (!*q && *p == '=')
			return p + 1;
	}
	return 0;
}

/* $PUGMARK, or the `pugmark` that PATH has. None for a program that has more rights than whoever
 * says these: it would execute what they like. */
static const char *program(void)
{
	static const char name[] = "/pugmark";
	static char path[4096];
	const char *p = variable("PUGMARK");

	if (rt_is_secure())
		return 0;
	if (p && *p)
		return p;
	for (p = variable("PATH"); p && *p; p += *p == ':') {
		u32 n = 0;

		while (*p && *p != ':' && n < sizeof path - sizeof name)
			path[n++] = *p++;
		rt_memcpy(path + n, name, sizeof name);
		if (n && !rt_sys(NR_access, path, 1))
			return path;
		while (*p && *p != ':')
			p++;
	}
	return 0;
}

static void unmap(void)
{
	for (u32 i = 0; i < IMG_PARTS; i++)
		if (MAN->narrow)		/* its place stays ours */
			rt_map(part[i].at, part[i].size, 0,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		else
			rt_sys(NR_munmap, part[i].at, part[i].size);
}

static int map(long fd)
{
	const u64 flags = MAP_SHARED | MAP_NORESERVE |
		(MAN->narrow ? MAP_FIXED : MAP_FIXED_NOREPLACE);

	img_parts(MAN, part);
	for (u32 i = 0; i < IMG_PARTS; i++)
		if (rt_map(part[i].at, part[i].size,
			   PROT_READ | (part[i].writable ? PROT_WRITE : 0), flags, fd,
			   part[i].from) != (long)part[i].at) {
			unmap();
			return 0;
		}
	return 1;
}

static void say_and_stop(void)
{
	static char said[sizeof ((struct img_later *)0)->said];

	rt_memcpy(said, LATER->said, sizeof said - 1);
	rt_image_stop(said, 0);
}

static int start(struct rt_block *b)
{
	static char number[12];
	const char *argv[] = { "pugmark", "instrument", "--serve", number, rt_image_stem(), 0 };
	const char *path = program();
	const u64 all = ~0ull;
	u64 mask = 0;
	u32 status = 1;
	long fd, pid;

	if (!path || (MAN->narrow && !MAN->later))
		return 0;
	fd = rt_sys(NR_memfd_create, "pugmark-later", 0);
	if (fd < 0)
		return 0;
	if (rt_resize(fd, IMG_LATER_SIZE) || !map(fd)) {
		rt_sys(NR_close, fd);
		return 0;
	}
	rt_memcpy(LATER->tag, "PUGLAT1\n", 8);
	LATER->abi = RT_ABI;
	LATER->size = sizeof *MAN;
	LATER->anew = !SHARED->translated;
	LATER->ntext = MAN->ntext;
	LATER->nblock = MAN->nblock;
	LATER->link_base = (part[IMG_PART_TARGETS].at - MANIFEST_AT - MAN->links) / 8;
	LATER->user[0] = b->pid;
	LATER->manifest = *MAN;
	rt_memcpy(PTR(mapped_at(IMG_LATER_TEXTS)), TEXTS, MAN->ntext * sizeof *TEXTS);
	number[rt_write_decimal(number, (u32)fd)] = 0;
	rt_sys(NR_rt_sigprocmask, 2, &all, &mask, 8);
	pid = rt_spawn(path, argv, rt_environment());
	while (pid > 0 && rt_sys(NR_wait4, pid, &status, WALL, 0) == -EINTR)
		;
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
	rt_sys(NR_close, fd);
	if (LATER->said[0])
		say_and_stop();
	if (status || !LATER->server) {
		unmap();
		return 0;
	}
	SHARED->translator = LATER->server;
	SHARED->translated = 1;
	return 1;
}

/* The one that another process has started. */
static int join(struct rt_block *b)
{
	char name[40] = "/proc/";
	u32 n = 6;
	long fd;

	if (!SHARED->translator || !alive(SHARED->translator))
		return 0;
	n += rt_write_decimal(name + n, SHARED->translator);
	rt_memcpy(name + n, "/fd/", 4);
	name[n + 4] = '0' + IMG_SERVER_FD;
	name[n + 5] = 0;
	fd = rt_sys(NR_open, name, O_RDWR_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	on = map(fd);
	rt_sys(NR_close, fd);
	rt_later_join(b->pid);
	if (on && __atomic_load_n(&LATER->closed, __ATOMIC_SEQ_CST)) {
		rt_later_leave(b->pid);
		unmap();
		on = 0;
	}
	return on;
}

int rt_later_available(struct rt_block *b)
{
	if (on)
		return on > 0;
	lock(&SHARED->lock, b->tid);
	if (!on) {
		on = join(b) || start(b) ? 1 : -1;
		if (on > 0)
			__atomic_store_n(&rt_image_texts,
					 (const struct img_text *)mapped_at(IMG_LATER_TEXTS),
					 __ATOMIC_RELEASE);
	}
	unlock(&SHARED->lock);
	return on > 0;
}

void rt_later_join(u32 pid)
{
	if (on <= 0)
		return;
	for (u32 i = 0; i < NR_OF(LATER->user); i++) {
		u32 none = 0;

		if (__atomic_compare_exchange_n(&LATER->user[i], &none, pid, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
}

void rt_later_leave(u32 pid)
{
	if (on <= 0)
		return;
	for (u32 i = 0; i < NR_OF(LATER->user); i++)
		__atomic_compare_exchange_n(&LATER->user[i], &(u32){ pid }, 0, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	rt_sys(NR_futex, &LATER->state, 1 /* WAKE */, 1);
}

void rt_later_coming(int more)
{
	if (on > 0)
		__atomic_fetch_add(&LATER->coming, more, __ATOMIC_SEQ_CST);
}

/* ---- asking ---------------------------------------------------------------------------------- */
static void show_maps(void)
{
	const long fd = rt_sys(NR_open, "/proc/self/maps", 02000000, 0);
	u64 n = 0;
	long r = 0;

	while (fd >= 0 && n < part[IMG_PART_BYTES].size &&
	       (r = rt_sys(NR_read, fd, part[IMG_PART_BYTES].at + n,
			   part[IMG_PART_BYTES].size - n)) > 0)
		n += (u64)r;
	if (fd >= 0)
		rt_sys(NR_close, fd);
	LATER->shown = IMG_MAPS;
	LATER->shown_n = n;
}

static void show_bytes(u64 at, u64 n)
{
	const struct img_part *const room = &part[IMG_PART_BYTES];
	long to = (long)room->at;

	if (n > room->size)		/* for as long as it takes, more of the file */
		to = rt_sys(NR_mremap, room->at, 0, n, MREMAP_MAYMOVE);
	if (n > IMG_LATER_BYTES_SIZE || rt_failed(to))
		rt_image_stop("no memory to show its new code to the translator", 0);
	for (u64 done = 0, some; done < n; done += some) {
		some = 4096 - ((at + done) & 4095);
		if (some > n - done)
			some = n - done;
		if (rt_get(PTR(to + done), at + done, some))
			memset(PTR(to + done), 0, some);
	}
	if (n > room->size)
		rt_sys(NR_munmap, to, n);
	LATER->shown = IMG_BYTES;
	LATER->shown_at = at;
	LATER->shown_n = n;
}

/* With the lock held. 0: no; why is in `said`. */
static int request(u32 ask, const u64 a[5])
{
	struct img_later *l = LATER;

	for (l->again = 0; ; l->again = 1) {
		l->ask = ask;
		rt_memcpy(l->a, a, 5 * sizeof *a);
		__atomic_store_n(&l->state, MAIL_REQUEST, __ATOMIC_SEQ_CST);
		rt_sys(NR_futex, &l->state, 1 /* WAKE */, 1);
		while (__atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == MAIL_REQUEST) {
			sleep_on(&l->state, MAIL_REQUEST);
			if (!alive(l->server) &&
			    __atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == MAIL_REQUEST)
				rt_image_stop("the translator has gone", 0);
		}
		l->state = MAIL_IDLE;
		switch (l->answer) {
		case IMG_DONE:
			return 1;
		case IMG_SHOW_MAPS:
			show_maps();
			break;
		case IMG_SHOW_BYTES:
			show_bytes(l->r[0], l->r[1]);
			break;
		default:
			return 0;
		}
	}
}

/* Its code comes to its place, which nothing else has. */
static void place(u32 k)
{
	const u64 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	const struct img_region *r = &REGIONS[k];
	const word from = mapped_at(r->from);
	int ok = 1;

	if (placed[k / 32] >> k % 32 & 1)
		return;
	if (r->at != from)
		ok = rt_map(r->at, r->size, 0, flags, -1, 0) == (long)r->at &&
		     rt_sys(NR_mremap, from, 0, r->size, MREMAP_MAYMOVE | MREMAP_FIXED, r->at) ==
		     (long)r->at;
	if (!ok || rt_sys(NR_mprotect, r->at, r->size, PROT_READ | PROT_EXEC))
		rt_image_stop("no place in memory for the translation of its new code", 0);
	placed[k / 32] |= 1u << k % 32;
}

/* Would the shadow of @pc be another mapping's, too? */
static int clashes(u64 pc)
{
	for (u32 i = 0; i < rt_nranges; i++)
		if ((pc < rt_ranges[i].lo || pc >= rt_ranges[i].hi) &&
		    (u32)(pc - rt_ranges[i].lo) < rt_ranges[i].hi - rt_ranges[i].lo)
			return 1;
	return 0;
}

static void add_library(u32 text)
{
	for (u32 i = 0; i < nlibrary; i++)
		if (library[i] == text)
			return;
	if (nlibrary == MAX_LIBRARIES)
		rt_image_stop("it loads too many libraries that it was not instrumented with", 0);
	library[nlibrary] = text;
	__atomic_store_n(&nlibrary, nlibrary + 1, __ATOMIC_RELEASE);
}

int rt_later_ask(struct rt_block *b, u64 pc, u32 how, struct rt_later *found)
{
	u64 a[5] = { pc, 0, pc & ~4095ull, (pc & ~4095ull) + 4096, how == 1 ? IMG_ASK_INSIDE : 0 };

	if (!rt_later_available(b))
		return 0;
	for (u32 i = 0; i < rt_nranges; i++)
		if (rt_ranges[i].lo <= pc && pc < rt_ranges[i].hi) {
			a[2] = rt_ranges[i].lo;
			a[3] = rt_ranges[i].hi;
			a[4] |= rt_ranges[i].prot & PROT_WRITE ? IMG_ASK_WRITABLE : 0;
		}
	lock(&LATER->lock, b->tid);
	LATER->shown = IMG_NOTHING;
	if (how == 2 || a[2] == generated) {	/* it would ask for them */
		u64 lo = a[2], hi = a[3];

		img_window(pc, &lo, &hi);
		show_bytes(lo, hi - lo);
	}
	if (!request(how == 2 ? IMG_ASK_CHANGED : IMG_ASK_CODE, a))
		say_and_stop();
	place((u32)LATER->r[3]);
	found->entry = LATER->r[1];
	found->indirect = clashes(pc) ? 0 : LATER->r[2];
	if (found->entry && how != 1)
		generated = a[2];
	if (!found->entry)
		add_library((u32)LATER->r[0]);
	unlock(&LATER->lock);
	return 1;
}

void rt_later_link(struct rt_block *b, u64 link, u64 entry)
{
	const u64 a[5] = { link - LATER->link_base, entry };

	if (on <= 0 || link < LATER->link_base)
		return;
	lock(&LATER->lock, b->tid);
	LATER->shown = IMG_NOTHING;
	request(IMG_ASK_LINK, a);
	unlock(&LATER->lock);
}

/* ---- what there is --------------------------------------------------------------------------- */
u32 rt_later_texts(void)
{
	return on > 0 ? __atomic_load_n(&LATER->ntext, __ATOMIC_ACQUIRE) : MAN->ntext;
}

u32 rt_later_blocks(void)
{
	return on > 0 ? __atomic_load_n(&LATER->nblock, __ATOMIC_ACQUIRE) : MAN->nblock;
}

u32 rt_later_text(u64 pc)
{
	for (u32 i = 0; i < __atomic_load_n(&nlibrary, __ATOMIC_ACQUIRE); i++)
		if (TEXTS[library[i]].lo <= pc && pc < TEXTS[library[i]].hi)
			return library[i];
	return ~0u;
}

static u32 region_of(u64 addr)
{
	u32 n = on > 0 ? __atomic_load_n(&LATER->nregion, __ATOMIC_ACQUIRE) : 0;

	for (u32 k = 0; k < n; k++)
		if (addr - REGIONS[k].at < REGIONS[k].size)
			return k;
	return ~0u;
}

u32 rt_later_code_text(u64 code)
{
	const u32 k = region_of(code);
	const u32 *order;
	u32 a = 0, z, text;

	if (k == ~0u)
		return ~0u;
	order = PTR(mapped_at(REGIONS[k].order));
	z = __atomic_load_n(&REGIONS[k].ntext, __ATOMIC_ACQUIRE);
	if (!REGIONS[k].generated)
		text = REGIONS[k].first;
	else if (!z)
		return ~0u;
	else {
		while (z - a > 1) {
			u32 mid = (a + z) / 2;

			if (TEXTS[order[mid]].code <= code)
				a = mid;
			else
				z = mid;
		}
		text = order[a];
	}
	return code - TEXTS[text].code < TEXTS[text].code_len ? text : ~0u;
}

void rt_later_ours(struct rt_ours *o)
{
	u32 n = on > 0 ? LATER->nregion : 0;

	for (u32 k = 0; k < n; k++)
		if (placed[k / 32] >> k % 32 & 1)
			rt_ours_meet(o, REGIONS[k].at, REGIONS[k].at + REGIONS[k].size);
}

int rt_later_page_in(u64 addr)
{
	const u32 k = region_of(addr);

	if (k == ~0u || placed[k / 32] >> k % 32 & 1)
		return 0;
	place(k);
	return 1;
}

int rt_later_unmapped(u64 lo, u64 hi)
{
	for (u32 i = 0; i < nlibrary; )
		if (TEXTS[library[i]].lo < hi && lo < TEXTS[library[i]].hi)
			library[i] = library[--nlibrary];
		else
			i++;
	return on > 0;
}
