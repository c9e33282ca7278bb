/* SPDX-License-Identifier: MIT */
/* text_places.c - texts come to their places, and go */
#include "standalone.h"

enum { KEPT, LOADED, UNLOADED };
static uint8_t file_is[MAX_TEXTS];	/* KEPT: its places are reserved */
static uint8_t unchanged[MAX_TEXTS];	/* file is what it was; its bytes need not be looked at */

/* The text is mapped, not executable, and what it was: make its translation available. */
void rt_text_attach(u32 i, long fd)
{
	const struct img_text *t = &TEXTS[i];
	const u64 ahead = t->code_len <= SMALL ? MAP_POPULATE : 0;
	struct rt_stat stat;

	if (rt_stat(0, fd, &stat) || stat.size < t->packed_at + t->packed_len ||
	    (!t->code_pack && stat.size < t->code_at + t->code_len))
		rt_image_stop("the translation of its code is cut off", FILES[t->file].path);
	rt_image_map(t->packed, page_up(t->packed_len), PROT_READ, MAP_PRIVATE, fd, t->packed_at,
		     FILES[t->file].path);
	if (!t->code_pack)
		rt_image_map(t->code, page_up(t->code_len), PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED | ahead, fd, t->code_at, FILES[t->file].path);
	rt_live[i] = 1;
}

/* The counters of text @i will be used: a fault for each page of them costs more. */
void rt_populate_counters(struct rt_block *b, u32 i)
{
	const u64 at = (word)b + COUNTERS_AT + sizeof(rt_count) *
		(u64)(IMG_RESERVED + TEXTS[i].first);
	const u64 n = sizeof(rt_count) * (u64)TEXTS[i].nblock;

	if (n <= SMALL / 16)
		rt_sys(NR_madvise, at & ~4095ull, page_up(at + n) - (at & ~4095ull),
		       MADV_POPULATE_WRITE);
}

static int unpack_piece(u32 i, const struct img_pack *p, u64 at, u32 k, u64 prot)
{
	if (!rt_image_unpack(i, p, at, k, prot))
		rt_image_stop("this instrumented program is damaged", FILES[TEXTS[i].file].path);
	return 1;
}

/* A fault at @addr, because nothing is there: is it a piece that has not been unpacked? */
int rt_image_page_in(u64 addr)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++) {
		u64 code = addr - t[i].code, table = addr - t[i].tables;

		if (!rt_live[i])
			continue;
		if (code < img_whole(t[i].code_len))
			return t[i].code_pack &&
			       unpack_piece(i, PTR(t[i].code_pack), addr - code % IMG_PIECE,
					    (u32)(code / IMG_PIECE), PROT_READ | PROT_EXEC);
		if (table < img_whole(t[i].tables_len))
			return unpack_piece(i, PTR(t[i].packed), addr - table % IMG_PIECE,
					    (u32)(table / IMG_PIECE), PROT_READ);
	}
	return rt_later_page_in(addr);
}

static void text_detach(u32 i)
{
	const struct img_text *t = &TEXTS[i];

	rt_live[i] = 0;
	file_is[t->file] = UNLOADED;
	rt_image_unmap(i);
	rt_sys(NR_munmap, t->packed, page_up(t->packed_len));
	rt_image_clear_shadow(t->lo, t->hi);
}

void rt_file_opened(u32 file, long fd)
{
	struct rt_stat stat;

	unchanged[file] = !rt_stat(0, fd, &stat) && stat.size == FILES[file].size &&
			  stat.changed == FILES[file].changed;
}

void rt_file_differs(u32 file)
{
	rt_image_stop("it is not the file that was there when the program was instrumented",
		      FILES[file].path);
}

void rt_library_text(u32 i)
{
	const struct img_text *t = &TEXTS[i];
	struct img_head head;
	char name[4300];
	long fd;

	if (!unchanged[t->file] && img_hash(PTR(t->lo), t->bytes) != t->hash)
		rt_file_differs(t->file);
	unchanged[t->file] = 0;
	rt_name_library(name, FILES[t->file].key);
	fd = rt_sys(NR_open, name, O_CLOEXEC, 0);
	if (fd < 0)
		rt_image_stop("cannot open it: it belongs to the instrumented program", name);
	if (rt_pread(fd, &head, sizeof head, 0) != sizeof head || head.stamp != MAN->stamp)
		rt_image_stop("it does not belong to this instrumented program", name);
	rt_text_attach(i, fd);
	rt_sys(NR_close, fd);
}

void rt_keep_places(void)
{
	const u64 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	if (MAN->vdso)			/* what the kernel maps goes where it always does */
		rt_image_map(MAN->vdso, MAN->vdso_end - MAN->vdso, 0, flags, -1, 0, "the vDSO");
	for (u32 k = 1 + MAN->interp; k < MAN->nfile; k++)
		rt_image_map(FILES[k].base, FILES[k].end - FILES[k].base, 0, flags, -1, 0,
			     FILES[k].path);
}

int rt_find_ours(struct rt_ours *o)
{
	const struct img_text *t = TEXTS;

	rt_find_fixed(o);
	for (u32 i = 0; i < MAN->ntext; i++)
		rt_ours_meet(o, t[i].code, t[i].code + img_whole(t[i].code_len));
	for (u32 k = 1 + MAN->interp; k < MAN->nfile; k++)
		if (file_is[k] == KEPT)
			rt_ours_meet(o, FILES[k].base, FILES[k].end);
	rt_ours_meet(o, MAN->vdso, MAN->vdso_end);
	rt_later_ours(o);
	return o->at < o->hi;
}

static int same_name(const char *a, const char *b)
{
	const char *x = a, *y = b;

	for (const char *p = a; *p; p++)
		if (*p == '/')
			x = p + 1;
	for (const char *p = b; *p; p++)
		if (*p == '/')
			y = p + 1;
	while (*x && *x == *y)
		x++, y++;
	return *x == *y;
}

/* The program maps file @fd where the kernel likes: a library that we know goes to its own place,
 * with *@flags. */
u64 rt_image_place(u64 fd, u64 *flags)
{
	static const char link[] = "/proc/self/fd/";
	struct rt_stat stat;
	u64 got, head;
	uint8_t page[4096];
	char name[64], path[512];
	u32 n = 0;
	long r;

	r = rt_pread(fd, page, sizeof page, 0);
	if (r < 64 || page[0] != 0x7f || page[1] != 'E' || page[2] != 'L' || page[3] != 'F' ||
	    rt_stat(0, (long)fd, &stat))
		return 0;
	got = (u64)r;
	head = img_hash(page, got);
	for (u32 i = 1 + MAN->interp; i < MAN->nfile; i++)
		if (FILES[i].size == stat.size && FILES[i].head == head) {
			if (file_is[i] == LOADED)
				return 0;	/* once more, in another name space */
			*flags |= file_is[i] == KEPT ? MAP_FIXED : MAP_FIXED_NOREPLACE;
			file_is[i] = LOADED;
			unchanged[i] = FILES[i].changed == stat.changed;
			return FILES[i].base;
		}
	/* not one that we know: one that has changed, by its name? */
	for (; link[n]; n++)
		name[n] = link[n];
	if (fd >= 10000)
		return 0;
	n += rt_write_decimal(name + n, (u32)fd);
	name[n] = 0;
	r = rt_sys(NR_readlink, name, path, sizeof path - 1);
	if (r <= 0)
		return 0;
	path[r] = 0;
	for (u32 i = 1; i < MAN->nfile; i++)
		if (same_name(path, FILES[i].path))
			rt_file_differs(i);
	return 0;
}

void rt_mapped(struct rt_block *b, u64 lo, u64 len)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (!rt_live[i] && lo <= t[i].lo && t[i].lo + t[i].bytes <= lo + len) {
			rt_library_text(i);
			rt_populate_counters(b, i);
		}
}

void rt_unmapped(u64 lo, u64 len)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (rt_live[i] && lo < t[i].hi && t[i].lo < lo + len)
			text_detach(i);
	if (rt_later_unmapped(lo, lo + len))
		rt_image_clear_shadow(lo, lo + len);
}
