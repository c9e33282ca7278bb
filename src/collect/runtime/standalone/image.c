/* SPDX-License-Identifier: MIT */
/* image.c - the runtime of an instrumented executable: what the controller does for a traced process is
 * done here, from the tables that the executable carries
 *
 * Only in the build with RT_IDT. There is no controller: rt_ask() answers in place. Counters live in
 * shared memory, of 64-bit programs one for all processes; thread blocks are handed out from it, and the files
 * are written when a process ends. */
#ifdef RT_IDT

#include "image.h"
#include "rt.h"

#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_POPULATE 0x8000
#define O_CLOEXEC 02000000
#define O_WRONLY_CREAT_TRUNC (01101 | O_LARGEFILE)
#define ADDR_NO_RANDOMIZE 0x40000u
#define EXECED 0x1000000u	/* SHORT_INODE, which means nothing on Linux: an instrumented program exec'd us */
#define RESTARTED 0x80000u	/* FDPIC_FUNCPTRS, which means nothing on x86: we have exec'd ourselves */

struct img_boot rt_img_boot __attribute__((section(".data.boot")));
#ifdef __i386__
struct rt_boot rt_boot_info;		/* nothing of it is known */
#endif

#define MAX_TEXTS 300			/* of the manifest */
#define AHEAD 0x20000			/* of a trace buffer */
#define SMALL (16u << 20)		/* what is smaller is read ahead */

const struct img_text *rt_image_texts;	/* those of the manifest, then those of the translator */
static uint8_t live[MAX_TEXTS];		/* text is mapped and translated */
enum { KEPT, LOADED, UNLOADED };
static uint8_t file_is[MAX_TEXTS];	/* KEPT: its places are reserved */
static uint8_t unchanged[MAX_TEXTS];	/* file is what it was; its bytes need not be looked at */
static char stem[4096];			/* the outputs' names begin with it */
static char dir[4096];			/* BENCH.idt.d/ */
u32 rt_image_threads;
static u32 root;			/* pid of the process that began with the program: its files have no number */

/* ---- saying what is wrong ------------------------------------------------------------------------ */
static u64 length(const char *s)
{
	u64 n = 0;

	while (s[n])
		n++;
	return n;
}

static void say(const char *s)
{
	rt_sys(NR_write, 2, s, length(s));
}

void rt_image_stop(const char *what, const char *name)
{
	say("pugmark: ");
	if (name) {
		say(name);
		say(": ");
	}
	say(what);
	say("\n");
	for (;;)
		rt_sys(NR_exit_group, 125);
}

static void stop_at(u64 pc)
{
	char hex[17];

	for (int i = 0; i < 16; i++)
		hex[i] = "0123456789abcdef"[pc >> (60 - 4 * i) & 15];
	hex[16] = 0;
	say("pugmark: control reaches 0x");
	say(hex);
	say(", which is not in the instrumented program and could not be known ahead of time\n");
	rt_sys(NR_exit_group, 125);
}

const char *rt_image_stem(void)
{
	return stem;
}

/* ---- texts ---------------------------------------------------------------------------------------- */
static u32 text_of(u64 pc)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (live[i] && t[i].lo <= pc && pc < t[i].hi)
			return i;
	return rt_later_text(pc);
}

/* The text that block @number of all belongs to. */
u32 rt_image_text_with(u32 number)
{
	u32 a = 0, z = rt_later_texts();

	while (z - a > 1) {
		u32 mid = (a + z) / 2;

		if (TEXTS[mid].first <= number)
			a = mid;
		else
			z = mid;
	}
	return a;
}

static u32 text_of_code(u64 code)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (live[i] && t[i].code <= code && code < t[i].code + t[i].code_len)
			return i;
	return rt_later_code_text(code);
}

static const struct img_block *blocks(u32 i)
{
	return TABLE(i, block);
}

static const uint8_t *map_of(u32 i, const struct img_block *b)
{
	return (const uint8_t *)TABLE(i, map) + b->map;
}

/* The first block whose pc is at or above @off. */
static u32 first_at(u32 i, u32 off)
{
	const struct img_block *b = blocks(i);
	u32 a = 0, z = TABLES(i)->nblock;

	while (a < z) {
		u32 mid = a + (z - a) / 2;

		if (b[mid].pc < off)
			a = mid + 1;
		else
			z = mid;
	}
	return a;
}

struct place {				/* an entry of a block's map */
	const uint8_t *p, *end;
	u32 code;
	uint8_t insn, flags, tmp;
};

static void map_begin(struct place *m, u32 i, const struct img_block *b)
{
	m->p = map_of(i, b) + b->n;
	m->code = b->code - (b->entry == IMG_NO_ENTRY ? 0 : b->entry);
	m->insn = m->flags = m->tmp = 0;
}

static void map_next(struct place *m)
{
	u32 flags = *m->p++, d;

	m->tmp = flags & 8 /* XL_TMP_SAVED */ || (flags & IMG_MAP_LENT) == IMG_MAP_LENT ? *m->p++ : 0;
	if (flags & IMG_MAP_INSN)
		m->insn = *m->p++;
	else if (flags & IMG_MAP_NEXT)
		m->insn++;
	d = *m->p++;
	if (d == 0xff) {
		d = (u32)m->p[0] | (u32)m->p[1] << 8 | (u32)m->p[2] << 16 | (u32)m->p[3] << 24;
		m->p += 4;
	}
	m->code += d;
	m->flags = (uint8_t)(flags & 0x3f);
}

/* Where the map of the @k-th block in the order of code ends. */
static const uint8_t *map_end(u32 i, u32 k)
{
	const u32 *order = TABLE(i, by_code);

	if (k + 1 < TABLES(i)->nblock)
		return map_of(i, &blocks(i)[order[k + 1]]);
	return (const uint8_t *)TABLE(i, map) + TABLES(i)->nmap;
}

static u32 begin_of(const struct img_block *b)
{
	return b->code - (b->entry == IMG_NO_ENTRY ? 0 : b->entry);
}

/* Which block, and which place of its map, is at @code? Returns its position in the order of code. */
static u32 by_code(u32 i, u32 code)
{
	const u32 *order = TABLE(i, by_code);
	u32 a = 0, z = TABLES(i)->nblock;

	while (a < z) {
		u32 mid = a + (z - a) / 2;

		if (begin_of(&blocks(i)[order[mid]]) <= code)
			a = mid + 1;
		else
			z = mid;
	}
	return a - 1;
}

static int state_at(u64 code, u32 *text, u32 *block, struct place *at)
{
	u32 i = text_of_code(code), k, off;
	struct place m;
	const uint8_t *end;

	if (i == NO_TEXT)
		return 0;
	off = (u32)(code - TEXTS[i].code);
	k = by_code(i, off);
	if (k + 1 == 0)
		return 0;
	*text = i;
	*block = ((const u32 *)TABLE(i, by_code))[k];
	end = map_end(i, k);
	map_begin(&m, i, &blocks(i)[*block]);
	*at = m;
	while (m.p < end) {
		map_next(&m);
		if (m.code > off)
			break;
		*at = m;
	}
	return 1;
}

static u64 pc_of(u32 i, const struct img_block *b, u32 insn)
{
	const uint8_t *len = map_of(i, b);
	u64 pc = TEXTS[i].lo + b->pc;

	if (insn >= b->n)
		return pc + b->size;
	while (insn)
		pc += len[--insn];
	return pc;
}

u64 rt_image_pc(u32 text, u32 block, u32 insn)
{
	return pc_of(text, &blocks(text)[block], insn);
}

u32 rt_image_record(u32 i, u32 k)
{
	const uint8_t *p = (const uint8_t *)TABLE(i, plan) + ((const u32 *)TABLE(i, plan_at))[k];
	uint16_t words = *p;

	if (words == IMG_P_LONG)
		rt_memcpy(&words, p + 1, 2);
	return 4 + 4u * words;
}

u32 rt_image_record_of(u32 number)
{
	const u32 i = rt_image_text_with(number);

	return rt_image_record(i, number - TEXTS[i].first);
}

static u32 prev_of(u32 i, u32 k)
{
	const u32 back = TABLES(i)->back ? ((const u32 *)TABLE(i, back))[k] : 0;

	return back ? k - back : IMG_NO_BLOCK;
}

static u32 word_of(u32 i, u32 k)
{
	return k == IMG_NO_BLOCK ? 0 : IMG_RESERVED + TEXTS[i].first + k;
}

/* Where block @k can be entered before instruction @n with the program's state; 0: nowhere. */
static u64 enter(struct rt_block *b, u32 i, u32 k, u32 n)
{
	const u32 *order = TABLE(i, by_code);
	const struct img_block *at = &blocks(i)[k];
	u32 pos = by_code(i, begin_of(at));
	struct place m;

	while (order[pos] != k)			/* blocks of no length share a beginning */
		pos--;
	map_begin(&m, i, at);
	while (m.p < map_end(i, pos)) {
		map_next(&m);
		if (m.insn != n || (m.flags & 7) != 1 || m.tmp & 0x70 /* XL_LENT() */)
			continue;
		/* in a trace the rest of a block means nothing without its beginning */
		if (b->tracing) {
			if (!rt_image_kept(b, word_of(i, k), n))
				return 0;
			rt_image_restore(b, word_of(i, k), n, m.flags >> 5 & 1, m.flags >> 4 & 1);
		}
		if (!(m.flags & 8))
			return TEXTS[i].code + m.code;
		*(u64 *)((uint8_t *)b + IMG_RESUME) = TEXTS[i].code + m.code;
		return (word)(m.tmp & 0x80 /* XL_OWN */ ? rt_image_own : rt_image_again) + 32 * (m.tmp & 15);
	}
	return 0;
}

/* A place in the middle of a block that can be entered with the program's state: where a fault stopped it,
 * or an indirect transfer goes that nobody expected. */
static u64 inside(struct rt_block *b, u32 i, u32 off)
{
	u32 k = first_at(i, off);

	for (u32 tries = 0; k-- && tries < 400; tries++) {
		const struct img_block *at = &blocks(i)[k];
		const uint8_t *len = map_of(i, at);
		u32 pc = at->pc, n = 0;
		u64 code;

		if (pc + 16 * 255 < off)
			break;
		if (pc + at->size <= off)
			continue;
		while (n < at->n && pc < off)
			pc += len[n++];
		if (pc != off || n == at->n)
			continue;
		code = enter(b, i, k, n);
		if (code)
			return code;
	}
	return 0;
}

/* Where signals have stopped blocks of generated code: their handlers come back. */
static struct stopped {
	u64 pc;
	u32 tid, text, block, insn;
} stopped[64];
static u32 nstopped;

static u64 enter_stopped(struct rt_block *b, u64 pc)
{
	for (u32 n = 0; n < NR_OF(stopped); n++) {
		const struct stopped s = stopped[(nstopped - 1 - n) % NR_OF(stopped)];
		u64 code;

		if (s.pc != pc || s.tid != b->tid)
			continue;
		if (b->tracing && !s.insn && rt_image_kept(b, word_of(s.text, s.block), 0)) {
			rt_image_restore(b, word_of(s.text, s.block), 0, 0, 0);
			return TEXTS[s.text].code + blocks(s.text)[s.block].code;
		}
		code = s.insn ? enter(b, s.text, s.block, s.insn) : 0;
		if (code)
			return code;
	}
	return 0;
}

/* Would the program execute what is at @pc? */
static int executable(u64 pc)
{
	uint8_t here;

	return rt_is_exec(pc, 1) || (MAN->exec_all && !rt_sys(NR_mincore, pc & ~4095ull, 1, &here));
}

/* What no text knows, or only the middle of a block of. 0: the text is known now. */
static u64 ask_for(struct rt_block *b, u64 pc, u32 known, u64 *to)
{
	struct rt_later found = { 0 };

	if (!rt_later_ask(b, pc, known, &found))
		stop_at(pc);
	if (!found.entry)
		return 0;
	if (found.indirect)
		rt_image_shadow(pc, found.indirect);
	*to = found.entry;
	return 1;
}

/* ---- places that control may come to from anywhere ------------------------------------------------- */
struct entry {
	const uint8_t *p, *end;
	u32 pc, code, indirect;
};

static void entries_begin(struct entry *e, u32 i, u32 off)
{
	const u32 *at = PTR(TEXTS[i].entries);
	const u32 chunk = off / IMG_CHUNK;

	*e = (struct entry){ .p = (const uint8_t *)at + at[chunk], .end = (const uint8_t *)at + at[chunk + 1],
			     .pc = chunk * IMG_CHUNK };
}

static u32 uleb(const uint8_t **p)
{
	u32 v = 0, shift = 0;
	uint8_t byte;

	do {
		byte = *(*p)++;
		v |= (u32)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static int entries_next(struct entry *e)
{
	u32 v;

	if (e->p >= e->end)
		return 0;
	e->pc += uleb(&e->p);
	v = uleb(&e->p);
	e->code += v >> 1 ^ -(v & 1);
	v = *e->p++;
	e->indirect = v == IMG_NO_ENTRY ? uleb(&e->p) : e->code - v;
	return 1;
}

/* @jumped: by an indirect transfer, not to go on where a signal has stopped. */
static u64 lookup(struct rt_block *b, u64 pc, int jumped)
{
	u32 i = text_of(pc), off, k;
	struct entry e;
	u64 to;

	if (i == NO_TEXT) {
		if (!executable(pc))
			return 0;
		to = enter_stopped(b, pc);
		if (to || ask_for(b, pc, 0, &to))
			return to;
		i = text_of(pc);
	}
	off = (u32)(pc - TEXTS[i].lo);
	for (entries_begin(&e, i, off); !rt_image_keeps(b) && entries_next(&e) && e.pc <= off; )
		if (e.pc == off)
			return TEXTS[i].code + e.code;
	k = first_at(i, off);
	/* blocks at one address: the one to enter, and, where they continue others' records, those that
	 * only a handler's return can come back to */
	for (u32 j = k; b->tracing && j < TABLES(i)->nblock && blocks(i)[j].pc == off; j++)
		if (rt_image_kept(b, word_of(i, j), 0)) {
			rt_image_restore(b, word_of(i, j), 0, 0, 0);
			return TEXTS[i].code + blocks(i)[j].code;
		}
	if (k < TABLES(i)->nblock && blocks(i)[k].pc == off && prev_of(i, k) == IMG_NO_BLOCK)
		return TEXTS[i].code + blocks(i)[k].code;
	/* the rest of a block has no counter of its own */
	to = jumped && rt_later_available(b) ? 0 : inside(b, i, off);
	if (!to && !ask_for(b, pc, 1, &to))
		stop_at(pc);
	return to;
}

/* ---- the shadow: filled for a chunk of a text at a time, when control first comes there -------------- */
static void fill(u32 i, u64 from, u64 to)
{
	const struct img_text *t = &TEXTS[i];
	struct entry e;

	to = to < t->hi - t->lo ? to : t->hi - t->lo;
	rt_image_shadow_room(t->lo + from, to - from);
	for (; from < to; from += IMG_CHUNK)
		for (entries_begin(&e, i, (u32)from); entries_next(&e); )
			rt_image_shadow(t->lo + e.pc, t->code + e.indirect);
}

static void fill_shadow(u64 pc)
{
	static u32 fills;
	const u32 i = text_of(pc);
	u64 off, span;

	if (i == NO_TEXT)
		return;
	/* a program that only begins will not need much; in a long run faults cost more than what is never used */
	span = fills++ < 64 ? IMG_CHUNK : 16 * IMG_CHUNK;
	off = (pc - TEXTS[i].lo) & ~(span - 1);
	fill(i, off, off + span);
}

/* ---- mapping --------------------------------------------------------------------------------------- */
void rt_image_map(u64 at, u64 len, u64 prot, u64 flags, long fd, u64 off, const char *name)
{
	long r = rt_map(at, len, prot, flags & MAP_FIXED ? flags : flags | MAP_FIXED_NOREPLACE, fd, off);

	if (r == (long)at)
		return;
	if (!rt_failed(r))		/* a kernel that does not know the flag */
		rt_sys(NR_munmap, r, len);
	rt_image_stop("its place in memory is taken", name);
}

/* The text is mapped, not executable, and what it was: make its translation available. */
static void attach(u32 i, long fd)
{
	const struct img_text *t = &TEXTS[i];
	const u64 ahead = t->code_len <= SMALL ? MAP_POPULATE : 0;
	struct rt_stat stat;

	if (rt_stat(0, fd, &stat) || stat.size < t->packed_at + t->packed_len ||
	    (!t->code_pack && stat.size < t->code_at + t->code_len))
		rt_image_stop("the translation of its code is cut off", FILES[t->file].path);
	rt_image_map(t->packed, page_up(t->packed_len), PROT_READ, MAP_PRIVATE, fd, t->packed_at, FILES[t->file].path);
	if (!t->code_pack)
		rt_image_map(t->code, page_up(t->code_len), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | ahead, fd,
			     t->code_at, FILES[t->file].path);
	live[i] = 1;
}

/* The counters of text @i will be used: a fault for each page of them costs more. */
static void have_counters(struct rt_block *b, u32 i)
{
	const u64 at = (word)b + COUNTERS_AT + sizeof(rt_count) * (u64)(IMG_RESERVED + TEXTS[i].first);
	const u64 n = sizeof(rt_count) * (u64)TEXTS[i].nblock;

	if (n <= SMALL / 16)
		rt_sys(NR_madvise, at & ~4095ull, page_up(at + n) - (at & ~4095ull), MADV_POPULATE_WRITE);
}

static int bring(u32 i, const struct img_pack *p, u64 at, u32 k, u64 prot)
{
	if (!rt_image_bring(i, p, at, k, prot))
		rt_image_stop("this instrumented program is damaged", FILES[TEXTS[i].file].path);
	return 1;
}

/* A fault at @addr, because nothing is there: is it a piece that has not been unpacked? */
int rt_image_touch(u64 addr)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++) {
		u64 code = addr - t[i].code, table = addr - t[i].tables;

		if (!live[i])
			continue;
		if (code < img_whole(t[i].code_len))
			return t[i].code_pack && bring(i, PTR(t[i].code_pack), addr - code % IMG_PIECE,
						       (u32)(code / IMG_PIECE), PROT_READ | PROT_EXEC);
		if (table < img_whole(t[i].tables_len))
			return bring(i, PTR(t[i].packed), addr - table % IMG_PIECE, (u32)(table / IMG_PIECE), PROT_READ);
	}
	return rt_later_touch(addr);
}

static void detach(u32 i)
{
	const struct img_text *t = &TEXTS[i];

	live[i] = 0;
	file_is[t->file] = UNLOADED;
	rt_image_drop(i);
	rt_sys(NR_munmap, t->packed, page_up(t->packed_len));
	rt_image_forget(t->lo, t->hi);
}

static void differs(u32 file)
{
	rt_image_stop("it is not the file that was there when the program was instrumented", FILES[file].path);
}

/* A library's text has come to its place. */
static void library_text(u32 i)
{
	const struct img_text *t = &TEXTS[i];
	struct img_head head;
	char name[sizeof dir + 140];
	u64 n = length(dir);
	long fd;

	if (!unchanged[t->file] && img_hash(PTR(t->lo), t->bytes) != t->hash)
		differs(t->file);
	unchanged[t->file] = 0;
	rt_memcpy(name, dir, n);
	rt_memcpy(name + n, FILES[t->file].key, length(FILES[t->file].key) + 1);
	fd = rt_sys(NR_open, name, O_CLOEXEC, 0);
	if (fd < 0)
		rt_image_stop("cannot open it: it belongs to the instrumented program", name);
	if (rt_pread(fd, &head, sizeof head, 0) != sizeof head || head.stamp != MAN->stamp)
		rt_image_stop("it does not belong to this instrumented program", name);
	attach(i, fd);
	rt_sys(NR_close, fd);
}

/* The places of libraries are kept free until they come. */
static void keep_places(void)
{
	const u64 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	if (MAN->vdso)			/* what the kernel maps goes where it always does */
		rt_image_map(MAN->vdso, MAN->vdso_end - MAN->vdso, 0, flags, -1, 0, "the vDSO");
	for (u32 k = 1 + MAN->interp; k < MAN->nfile; k++)
		rt_image_map(FILES[k].base, FILES[k].end - FILES[k].base, 0, flags, -1, 0, FILES[k].path);
}

int rt_image_ours(u64 addr, u64 len)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (addr < t[i].code + img_whole(t[i].code_len) && addr + len > t[i].code)
			return 1;
	for (u32 k = 1 + MAN->interp; k < MAN->nfile; k++)
		if (file_is[k] == KEPT && addr < FILES[k].end && addr + len > FILES[k].base)
			return 1;
	return (addr < MAN->vdso_end && addr + len > MAN->vdso) || rt_later_ours(addr, len);
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

/* The program maps file @fd where the kernel likes: a library that we know goes to its own place, with
 * *@flags. */
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
	for (u32 d = 1000; d; d /= 10)
		if (fd >= d || d == 1)
			name[n++] = (char)('0' + (u32)fd / d % 10);
	name[n] = 0;
	r = rt_sys(NR_readlink, name, path, sizeof path - 1);
	if (r <= 0)
		return 0;
	path[r] = 0;
	for (u32 i = 1; i < MAN->nfile; i++)
		if (same_name(path, FILES[i].path))
			differs(i);
	return 0;
}

static void mapped(struct rt_block *b, u64 lo, u64 len)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (!live[i] && lo <= t[i].lo && t[i].lo + t[i].bytes <= lo + len) {
			library_text(i);
			have_counters(b, i);
		}
}

static void unmapped(u64 lo, u64 len)
{
	const struct img_text *t = TEXTS;

	for (u32 i = 0; i < MAN->ntext; i++)
		if (live[i] && lo < t[i].hi && t[i].lo < lo + len)
			detach(i);
	if (rt_later_unmapped(lo, lo + len))
		rt_image_forget(lo, lo + len);
}

/* ---- thread blocks: handed out from memory that processes share --------------------------------------- */
#define RESERVED 0xffffffffu		/* for a process that is about to begin */

static int take(u32 i, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&LEDGER->owner[i], &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Number @i is @pid's now. */
static struct rt_block *taken(u32 i, int dirty)
{
	struct rt_block *b = rt_block_map(i);

	if (!b) {
		LEDGER->owner[i] = 0;
		return 0;
	}
	if (dirty)
		rt_sys(NR_madvise, b, RT_BLOCK_ALIGN, 9 /* MADV_REMOVE */);
	for (u32 used = LEDGER->used; used <= i; )
		__atomic_compare_exchange_n(&LEDGER->used, &used, i + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	b->leaving = 0;
	b->state = BLK_READY;
	return b;
}

/* A thread of @pid; or, with RESERVED, a new process's first. A dead thread's block is used again by its
 * own process, whose counts just go on in it. */
static struct rt_block *block_new(u32 pid)
{
	for (u32 i = 1; i < LEDGER->used && pid != RESERVED; i++)
		if (LEDGER->owner[i] == pid && rt_image_block(i) && rt_image_block(i)->state == BLK_DEAD) {
			u32 dead = BLK_DEAD;

			if (__atomic_compare_exchange_n(&rt_image_block(i)->state, &dead, BLK_READY, 0,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
				rt_image_block(i)->leaving = 0;
				return rt_image_block(i);
			}
		}
	for (u32 i = 1; i < IMG_BLOCKS; i++)
		if (!LEDGER->owner[i] && !rt_image_in_use(i) && take(i, 0, pid))
			return taken(i, 0);
	for (u32 i = 1; i < LEDGER->used; i++) {	/* those of processes that were killed */
		u32 was = LEDGER->owner[i];

		if (was && was != RESERVED && rt_sys(NR_kill, was, 0) == -ESRCH && take(i, was, pid))
			return taken(i, 1);
	}
	return 0;
}

/* ---- files ----------------------------------------------------------------------------------------- */
static u32 files_lock;

#ifdef __i386__
#define CNT ".cnt"
#define TRC ".trc"
#else
#define CNT ".cnt64"
#define TRC ".trc64"
#endif

/* @id: the process's, or, of a trace, the thread's. */
static void name_of(char *to, const char *suffix, u32 id)
{
	u64 n = length(stem);
	char digits[12];
	u32 k = 0;

	rt_memcpy(to, stem, n);
	rt_memcpy(to + n, suffix, length(suffix) + 1);
	n += length(suffix);
	if (id == root)
		return;
	to[n++] = '.';
	do
		digits[k++] = (char)('0' + id % 10);
	while (id /= 10);
	while (k)
		to[n++] = digits[--k];
	to[n] = 0;
}

/* Counts of RUN counters, the first of which has number @slot, go to total[]. Where blocks share a record, the
 * last one is counted, and stands for those before it. */
#define RUN (4096 / sizeof(rt_count))

static void add_counts(u64 *total, uint8_t *any, u32 n, u32 slot, const rt_count *count)
{
	static u32 text;

	for (u32 k = 0; k < RUN; k++, slot++) {
		u32 i;

		if (!count[k] || slot < IMG_RESERVED || slot - IMG_RESERVED >= n)
			continue;
		if (slot - IMG_RESERVED - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(slot - IMG_RESERVED);
		if (slot - IMG_RESERVED - TEXTS[text].first >= TEXTS[text].nblock)
			continue;		/* another process's */
		for (i = slot - IMG_RESERVED - TEXTS[text].first; i != IMG_NO_BLOCK; i = prev_of(text, i)) {
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
	const u64 pages = (IMG_RESERVED + (u64)n + RUN - 1) / RUN;

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
					add_counts(total, any, n, (u32)(RUN * (at + p)),
						   (const rt_count *)(from + 4096 * (at + p)));
		}
	}
}

#ifdef __i386__
/* ---- counters that wrap ----------------------------------------------------------------------------
 * A 32-bit counter is counted up by one instruction that nobody looks at. A helper, which is a process of its own
 * but shares our memory, looks often enough to see each one that has wrapped. */
#define WATCH_NS 100000000		/* far less than 2^32 of anything take */

static u32 watched;			/* pid of the process whose counters are; 0: nobody's */
static long watcher = -1;		/* pid of the helper */

static u32 *was(void)
{
	return PTR(MAN->watch);
}

static void look(void)
{
	u32 *last = was(), *high = last + MAN->counters;
	const u32 nblock = rt_later_blocks();
	static u32 sum[4096 / sizeof(u32)];
	static uint8_t here;

	for (u32 from = 0; from < IMG_RESERVED + nblock; from += RUN) {
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
			for (u32 k = 0; k < RUN; k++)
				sum[k] += c[k];
		}
		for (u32 k = 0; any && k < RUN; k++) {
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
		while (__atomic_exchange_n(&files_lock, 1, __ATOMIC_ACQUIRE))
			__builtin_ia32_pause();
		if ((u32)rt_sys(NR_getppid, 0) == watched)
			look();
		__atomic_store_n(&files_lock, 0, __ATOMIC_RELEASE);
	}
	for (;;)
		rt_sys(NR_exit, 0);
}

extern long rt_image_helper(word flags, word stack);

/* @again: what has been seen before counts. */
static void watch(u32 pid, int again)
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
	watcher = rt_image_helper(0x100 | 0x200 | 0x400 | 0x800000, (word)stack + sizeof stack - 16);
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
}

static int watcher_of(u32 pid)
{
	return watched == pid;
}

static void watch_no_more(u32 pid)
{
	if (!watcher_of(pid) || rt_failed(watcher))
		return;
	while (__atomic_exchange_n(&files_lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	rt_sys(NR_kill, watcher, SIGKILL);
	__atomic_store_n(&files_lock, 0, __ATOMIC_RELEASE);
	rt_sys(NR_wait4, watcher, 0, 0x80000000 /* __WCLONE */, 0);
	watcher = -1;
}

/* What the counters have lost. */
static void add_wraps(u64 *total, uint8_t *any, u32 pid)
{
	const u32 *high = was() + MAN->counters, nblock = rt_later_blocks();
	static u32 text;

	if (!MAN->watch || watched != pid)
		return;
	look();
	for (u32 n = 0; n < nblock; n++) {
		if (!high[n])
			continue;
		if (n - TEXTS[text].first >= TEXTS[text].nblock)
			text = rt_image_text_with(n);
		if (n - TEXTS[text].first >= TEXTS[text].nblock)
			continue;		/* another process's */
		for (u32 i = n - TEXTS[text].first; i != IMG_NO_BLOCK; i = prev_of(text, i)) {
			const u32 to = TEXTS[text].first + i;

			if (to >= MAN->from && to < MAN->to) {
				total[to] += (u64)high[n] << 32;
				any[to / 512] = 1;
			}
		}
	}
}
#else
static void watch(u32 pid, int again) { (void)pid; (void)again; }
static int watcher_of(u32 pid) { (void)pid; return 0; }
static void watch_no_more(u32 pid) { (void)pid; }
static void add_wraps(u64 *total, uint8_t *any, u32 pid) { (void)total; (void)any; (void)pid; }
#endif

#define SIGS (SIG_BIT(SIGPIPE) | SIG_BIT(SIGXFSZ))

void rt_image_quiet(struct rt_quiet *q)
{
	const u64 sigs = SIGS;

	rt_sys(NR_rt_sigprocmask, 0, &sigs, &q->mask, 8);
	rt_sys(NR_rt_sigpending, &q->pending, 8);
}

void rt_image_loud(const struct rt_quiet *q)
{
	const word now[2] = { 0 };
	u64 mine = 0;

	rt_sys(NR_rt_sigpending, &mine, 8);
	mine &= SIGS & ~q->pending;
	while (mine && rt_sys(NR_rt_sigtimedwait, &mine, 0, now, 8) > 0)
		;
	rt_sys(NR_rt_sigprocmask, 2, &q->mask, 0, 8);
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
	const u64 begin = IMG_RESERVED * sizeof(rt_count);	/* of the header as much as there is */
	u64 sets = 1;
	int ok;

	for (u64 k = 0; k < n; k++)
		while (any[k / 512] && sizeof(rt_count) < 8 && total[k] > largest * sets)
			sets++;
	ok = !rt_resize(fd, begin + sizeof(rt_count) * n * sets) && rt_pwrite(fd, &head, begin, 0ull) == (long)begin;
	for (u64 set = 0; set < sets; set++)
		for (u64 k = 0; k < n; k += 512) {
			const u64 part = n - k < 512 ? n - k : 512;

			if (!any[k / 512])
				continue;
			for (u64 m = 0; m < part; m++) {
				const u64 left = total[k + m] > largest * set ? total[k + m] - largest * set : 0;

				out[m] = (rt_count)(left < largest ? left : largest);
			}
			ok &= rt_pwrite(fd, out, sizeof(rt_count) * part, begin + sizeof(rt_count) * (set * n + k)) ==
			      (long)(sizeof(rt_count) * part);
		}
	return ok;
}

static void write_counts(u32 pid)
{
	const u64 n = rt_later_blocks(), room = page_up(8 * n + n / 512 + 1);
	struct rt_quiet quiet;
	char name[4200];
	uint8_t *any;
	u64 *total;
	int ok = 0;
	long fd, r;

	while (__atomic_exchange_n(&files_lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	name_of(name, CNT, pid);
	r = rt_map(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	total = PTR(r);
	any = (uint8_t *)(total + n);
	fd = rt_failed(r) ? -1 : rt_sys(NR_open, name, O_WRONLY_CREAT_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0) {
		add_blocks(total, any, (u32)n, pid);
		add_wraps(total, any, pid);
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
		say("pugmark: cannot write the counts: ");
		say(name);
		say("\n");
	}
	__atomic_store_n(&files_lock, 0, __ATOMIC_RELEASE);
}

/* The trace's file is opened for each write: the program closes descriptors as it likes. A FIFO is kept
 * open, for its reader would take a close for the end. */
static int fifo = -1;

static void open_fifo(void)
{
	struct rt_stat stat;
	char name[4200];
	long fd;

	name_of(name, ".otr", root);
	if (rt_stat(name, 0, &stat))
		name_of(name, TRC, root);
	if (rt_stat(name, 0, &stat) || (stat.mode & 0170000) != 0010000)
		return;
	fd = rt_sys(NR_open, name, 1 | O_CLOEXEC, 0);	/* waits for the reader */
	if (fd < 0)
		rt_image_stop("cannot write it", name);
	fifo = (int)rt_sys(NR_fcntl, fd, 1030 /* F_DUPFD_CLOEXEC */, 900);
	if (fifo < 0)
		fifo = (int)fd;
	else
		rt_sys(NR_close, fd);
}

/* Whose number a thread's trace has. */
static u32 trace_of(const struct rt_block *b)
{
	return MAN->merge ? b->pid : b->tid;
}

int rt_image_open_trace(struct rt_block *b)
{
	const int others = MAN->merge && b->tid != b->pid;
	char name[4200];

	if (fifo >= 0 && trace_of(b) == root)
		return fifo;
	name_of(name, TRC, trace_of(b));
	return (int)rt_sys(NR_open, name, rt_image_drain_first(b) && !others ? O_WRONLY_CREAT_TRUNC | O_CLOEXEC :
			   02001 /* O_WRONLY | O_APPEND */ | O_CLOEXEC | O_LARGEFILE, 0666);
}

void rt_image_close_trace(int fd)
{
	if (fd != fifo)
		rt_sys(NR_close, fd);
}

void rt_image_trace_failed(struct rt_block *b)
{
	static u32 said;			/* by this process */
	char name[4200];

	if (__atomic_exchange_n(&said, b->pid, __ATOMIC_SEQ_CST) == b->pid)
		return;
	name_of(name, TRC, trace_of(b));
	say("pugmark: cannot write the trace: ");
	say(name);
	say("\n");
}

/* The file is there from the beginning, empty; a process that begins finds out here that it cannot be. */
static void begin_trace(struct rt_block *b)
{
	char name[4200];
	int fd;

	if (b->pid != b->tid)
		rt_sys(NR_madvise, (uint8_t *)b + TRACE_AT, TRACE_CHUNK, 9 /* MADV_REMOVE */);
	rt_image_drain_begin(b);
	if ((fifo >= 0 && trace_of(b) == root) ||
	    ((MAN->kind == IMG_PROFILE || MAN->merge) && b->tid != b->pid))
		return;
	fd = rt_image_open_trace(b);
	if (fd >= 0) {
		rt_sys(NR_close, fd);
		return;
	}
	name_of(name, TRC, trace_of(b));
	rt_image_stop("cannot write it", name);
}

/* ---- what others ask the controller ------------------------------------------------------------------ */
/* Is nothing of block @k's chain half done at @at? */
static int between(u32 i, u32 k, const struct place *at)
{
	if (at->insn >= blocks(i)[k].n)
		return at->flags & 32 /* XL_RECORDED */;
	return !at->insn && !(at->flags & (16 | 32)) && prev_of(i, k) == IMG_NO_BLOCK;
}

static void on_signal(struct rt_block *b, struct rt_mail *m)
{
	u32 i, k;
	struct place at;
	u64 code = m->a[0];

	if (state_at(code, &i, &k, &at)) {
		m->r[0] = RT_IN_CODE;
		m->r[1] = pc_of(i, &blocks(i)[k], at.insn);
		m->r[2] = at.flags;
		m->r[3] = at.tmp;
		if (i >= MAN->ntext)
			stopped[nstopped++ % NR_OF(stopped)] =
				(struct stopped){ m->r[1], b->tid, i, k, at.insn };
		/* in a trace, signals from outside wait for the block's end: they step there */
		if (b->tracing && !m->a[3] && !between(i, k, &at))
			m->r[2] &= ~1ull;
		return;
	}
	if (text_of(code) == NO_TEXT && !executable(code)) {
		m->r[0] = RT_NOWHERE;
		return;
	}
	if (b->stolen)
		b->cursor = b->ctx.gpr[STOLEN];
	m->r[1] = lookup(b, code, 1);
	m->r[0] = RT_IN_ORIGINAL;
	fill_shadow(code);
}

/* The block that stands at @code goes no further for now. In a profile: if its counter went up, but none
 * of its instructions was executed, it will be entered again. */
static void on_cut(struct rt_block *b, u64 code, u64 rsi, u64 rdi)
{
	u32 i, n, done;
	struct place at;

	if (!state_at(code, &i, &n, &at))
		return;
	if (!b->tracing) {
		if (at.insn == 0 && at.flags & 16 /* XL_COUNTED */)
			--((rt_count *)((uint8_t *)b + COUNTERS_AT))[word_of(i, n)];
		return;
	}
	if (at.insn >= blocks(i)[n].n || between(i, n, &at))
		return;
	done = at.flags >> 5 & 1;	/* XL_RECORDED */
	/* before its first instruction a block has nothing of its own in the record */
	rt_image_keep(b, &(struct rt_stop){
		.word = word_of(i, n), .before = word_of(i, prev_of(i, n)), .complete = done, .insn = at.insn,
		.size = rt_image_record(i, !at.insn && !done && prev_of(i, n) != IMG_NO_BLOCK ? prev_of(i, n) : n),
		.counted = at.flags >> 4 & 1 /* XL_COUNTED */, .rsi = rsi, .rdi = rdi, .sp = b->ctx.gpr[RSP],
	});
}

/* ---- the end of a process with several threads --------------------------------------------------------
 * The others would go on writing into what is read. Each of them gets a signal, which like any other finds out where
 * the program stands (signal.c); there the thread empties its own buffer, and waits for the end. What is on
 * its way through the runtime gets the signal when it leaves that. The execution of another program ends them, too;
 * if it fails, they go on. */
#define STOP_MS 2000			/* who has not been seen by then sleeps in the kernel, uninterruptibly */
#define STOP_MARK 0x50554753		/* in si_errno */

static u32 ender;			/* tid of who ends the process, and its pid: a forked child has the same memory */
static u32 ending;

static int is_ending(const struct rt_block *b)
{
	return __atomic_load_n(&ender, __ATOMIC_SEQ_CST) && ending == b->pid;
}

static void park(struct rt_block *b)
{
	const word pause[2] = { 0, 10000000 };
	const u64 all = ~0ull;
	u64 mask = 0;

	rt_sys(NR_rt_sigprocmask, 2, &all, &mask, 8);
	rt_image_drain_all(b, 1);
	__atomic_store_n(&b->leaving, 1, __ATOMIC_SEQ_CST);
	while (is_ending(b))
		rt_sys(NR_nanosleep, pause, 0);
	__atomic_store_n(&b->leaving, 0, __ATOMIC_SEQ_CST);
	rt_sys(NR_rt_sigprocmask, 2, &mask, 0, 8);
}

static void tell(const struct rt_block *b, u32 tid)
{
	const struct k_siginfo info = { .signo = SIGTRAP, .error = STOP_MARK, .code = -1 /* SI_QUEUE */, .addr = b->pid };

	rt_sys(NR_rt_tgsigqueueinfo, b->pid, tid, SIGTRAP, &info);
}

int rt_image_stops(const struct rt_block *b, u32 sig, const struct k_siginfo *info)
{
	return sig == SIGTRAP && info->code == -1 && info->error == STOP_MARK && (u32)info->addr == b->pid;
}

void rt_image_stopped(struct rt_block *b)
{
	if (is_ending(b) && b->tid != ender)
		park(b);
}

/* Block @i, if it is another one of @b's process. */
static struct rt_block *other(const struct rt_block *b, u32 i)
{
	struct rt_block *at = LEDGER->owner[i] == b->pid ? rt_image_block(i) : 0;

	return at != b ? at : 0;
}

static struct rt_block *running(const struct rt_block *b, u32 i)
{
	struct rt_block *at = other(b, i);

	return at && __atomic_load_n(&at->state, __ATOMIC_SEQ_CST) == BLK_LIVE &&
	       !__atomic_load_n(&at->leaving, __ATOMIC_SEQ_CST) ? at : 0;
}

static void stop_others(struct rt_block *b)
{
	const word pause[2] = { 0, 1000000 };
	u32 left = 1;

	if (is_ending(b) && ender == b->tid)
		return;
	if (ending != b->pid)		/* of the process that this one is a copy of */
		ender = 0;
	ending = b->pid;
	for (u32 none = 0; !__atomic_compare_exchange_n(&ender, &none, b->tid, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	     none = 0)
		park(b);
	for (u32 ms = 0, busy = 0; left && (busy || ms < STOP_MS); ms++) {
		left = busy = 0;
		for (u32 i = 1; i < LEDGER->used; i++) {
			const struct rt_block *at = running(b, i);

			if (at && ms % 16 == 0)
				tell(b, at->tid);
			left += at != 0;
			busy |= at && rt_image_drains(at);
		}
		if (left)
			rt_sys(NR_nanosleep, pause, 0);
	}
}

static void let_go(const struct rt_block *b)
{
	if (is_ending(b) && ender == b->tid)
		__atomic_store_n(&ender, 0, __ATOMIC_SEQ_CST);
}

static int has_others(const struct rt_block *b)
{
	for (u32 i = 1; i < LEDGER->used; i++)
		if (running(b, i))
			return 1;
	return 0;
}

/* All that the process has in memory goes to its files: that of @b's thread, and of @others, which have stopped - those
 * that cannot, as far as they have come. */
static void write_all(struct rt_block *b, int others)
{
	rt_image_drain_all(b, 1);
	if (others)
		stop_others(b);
	for (u32 i = 1; i < LEDGER->used && others; i++)
		if (running(b, i))
			rt_image_drain_all(rt_image_block(i), 0);
	write_counts(b->pid);
}

void rt_image_dying(struct rt_block *b)
{
	write_all(b, 1);
}

static void on_exit(struct rt_block *b, int whole)
{
	int last = 1;

	for (u32 i = 1; i < LEDGER->used && !whole; i++)
		if (other(b, i) && other(b, i)->state != BLK_DEAD)
			last = 0;
	if (!whole && !last) {
		rt_image_drain_all(b, 1);
		return;
	}
	watch_no_more(b->pid);
	write_all(b, whole);
	rt_later_leave(b->pid);
	for (u32 i = 1; i < LEDGER->used; i++) {
		struct rt_block *at = LEDGER->owner[i] == b->pid ? rt_image_block(i) : 0;

		if (!at || (at != b && at->state != BLK_DEAD))
			continue;
		rt_sys(NR_madvise, (uint8_t *)at + RT_COUNTERS, RT_BLOCK_ALIGN - RT_COUNTERS, 9 /* MADV_REMOVE */);
		if (at == b)
			rt_image_leaving(i);
		__atomic_store_n(&LEDGER->owner[i], 0, __ATOMIC_SEQ_CST);
	}
}

/* Is the file that the system call is about to execute an instrumented program? Its process has files of ours
 * already, and shall tell its own by a number. */
static int execs_image(const struct rt_block *b)
{
	char tag[8];
	long fd, n;

	if ((u32)b->ctx.gpr[RAX] != NR_execve)
		return 0;
	fd = rt_sys(NR_open, ARG0, O_CLOEXEC | O_LARGEFILE, 0);
	if (fd < 0)
		return 0;
	n = rt_sys(NR_lseek, fd, -120, 2 /* SEEK_END */);
	if (n > 0)
		n = rt_pread(fd, tag, sizeof tag, n);
	rt_sys(NR_close, fd);
	return n == sizeof tag && *(const u64 *)tag == 0x0a31544449475550;	/* "PUGIDT1\n" */
}

/* Is @code where a block is entered with the program's whole state? */
static int is_entry(u64 code)
{
	struct place at;
	u32 i, k;

	return state_at(code, &i, &k, &at) && code == TEXTS[i].code + blocks(i)[k].code;
}

int rt_ask(struct rt_block *b, u32 op, u64 a0, u64 a1, u64 a2, u64 a3)
{
	struct rt_mail *m = &b->mail;
	struct rt_block *made;
	u64 to;

	m->a[0] = a0;
	m->a[1] = a1;
	m->a[2] = a2;
	m->a[3] = a3;
	m->r[0] = m->r[1] = m->r[2] = m->r[3] = m->r[4] = 0;
	switch (op) {
	case RQ_HELLO:
		LEDGER->owner[rt_image_number(b)] = b->pid;
		if (b->tid == b->pid)
			rt_later_join(b->pid);
		if (b->origin == BLK_FORKED) {
			files_lock = 0;		/* of the process that this one is a copy of */
			rt_later_coming(-1);
			watch(b->pid, 0);
		}
		begin_trace(b);
		if (is_ending(b))
			park(b);
		break;
	case RQ_LOOKUP:
		m->r[0] = lookup(b, a0, 0);
		break;
	case RQ_RESOLVE:
		m->r[0] = lookup(b, ((const u64 *)PTR(b->links))[a0], 1);
		if (is_entry(m->r[0]))
			rt_later_link(b, a0, m->r[0]);
		break;
	case RQ_SIGNAL:
		on_signal(b, m);
		break;
	case RQ_CUT:
		on_cut(b, a0, a1, a2);
		break;
	case RQ_CHECKFAIL:
		if (ask_for(b, a0, 2, &to))
			m->r[0] = to;
		break;
	case RQ_MAP:
		unmapped(a0, a1);
		mapped(b, a0, a1);
		break;
	case RQ_UNMAP:
		unmapped(a0, a1);
		break;
	case RQ_BLOCK:
		if (!a0 && !rt_image_threads++ && b->tracing)
			rt_image_clear(b, b->cursor, (word)b + TRACE_AT + TRACE_CHUNK);
		if (!a0)
			rt_image_order(b);
		made = block_new(a0 ? RESERVED : b->pid);
		m->r[0] = made ? rt_image_number(made) : 0;
		if (made && a0 == BLK_FORKED)
			rt_later_coming(1);
		break;
	case RQ_UNBLOCK:
		if (rt_image_block((u32)a0)) {
			if (rt_image_block((u32)a0)->origin == BLK_FORKED)
				rt_later_coming(-1);
			rt_image_block((u32)a0)->state = BLK_DEAD;
		}
		if (LEDGER->owner[a0] == RESERVED)
			LEDGER->owner[a0] = 0;
		break;
	case RQ_EXEC:
		watch_no_more(b->pid);
		write_all(b, has_others(b));
		rt_later_leave(b->pid);
		if (execs_image(b))
			rt_sys(NR_personality, (u64)rt_sys(NR_personality, 0xffffffff) | EXECED);
		break;
	case RQ_EXECFAIL:
		let_go(b);
		rt_later_join(b->pid);
		if (watcher_of(b->pid))
			watch(b->pid, 1);
		rt_sys(NR_personality, (u64)rt_sys(NR_personality, 0xffffffff) & ~(u64)EXECED);
		break;
	case RQ_EXIT:
		on_exit(b, a1 != 0);
		break;
	}
	return 1;
}

void rt_go_native(struct rt_block *b)
{
	(void)b;
	rt_image_stop("the program is lost", 0);
	__builtin_unreachable();
}

/* ---- start ------------------------------------------------------------------------------------------ */
extern word rt_boot_rsp, rt_boot_regs[2];
struct rt_block *rt_boot(void);

struct elf_head {
	uint8_t ident[16];
	uint16_t type, machine;
	u32 version;
	word entry, phoff, shoff;
	u32 flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct elf_phdr {
#ifdef __i386__
	u32 type;
	word offset, vaddr, paddr, filesz, memsz;
	u32 flags;
	word align;
#else
	u32 type, flags;
	word offset, vaddr, paddr, filesz, memsz, align;
#endif
};
enum { PT_LOAD = 1, PF_X = 1, PF_W = 2, PF_R = 4 };
enum { AT_NULL, AT_IGNORE, AT_EXECFD, AT_PHDR, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS, AT_ENTRY,
       AT_EXECFN = 31, AT_SYSINFO, AT_SYSINFO_EHDR };

static word *auxv_of(word sp)
{
	word *p = PTR(sp);

	p += 2 + *p;
	while (*p++)
		;
	return p;
}

/* Addresses are fixed; a stack or heap at random places might be in the way: the first instructions have executed the
 * program once more (64-bit programs in start.S). Were we executed by an instrumented program? */
#ifdef __i386__
static int same_file(const char *a, const char *b)
{
	struct rt_stat x, y;

	return !rt_stat(a, 0, &x) && (rt_stat(b, 0, &y) || (x.dev == y.dev && x.ino == y.ino));
}

static void restart(word sp, word now)
{
	word *argv = (word *)PTR(sp) + 1, *aux = auxv_of(sp);
	const char *name = "/proc/self/exe";

	if (rt_sys(NR_personality, now | RESTARTED | ADDR_NO_RANDOMIZE) < 0)
		return;
	/* by the same name, for the stack's sake, if that is a name of this file */
	for (; *aux; aux += 2)
		if (*aux == AT_EXECFN && same_file(PTR(aux[1]), name))
			rt_sys(NR_execve, aux[1], argv, argv + argv[-1] + 1);
	rt_sys(NR_execve, name, argv, argv + argv[-1] + 1);
}
#else
static void restart(word sp, word now) { (void)sp; (void)now; }
#endif

static int without_randomisation(word sp)
{
	const long now = rt_sys(NR_personality, 0xffffffff);
	word mine = EXECED;

	if (now < 0)
		return 0;
	if (!(now & ADDR_NO_RANDOMIZE))
		restart(sp, (word)now);
	if (now & RESTARTED)
		mine |= RESTARTED | ADDR_NO_RANDOMIZE;
	rt_sys(NR_personality, (word)now & ~mine);
	return !!(now & EXECED);
}

static void find_names(word sp)
{
	u64 n;
	word *aux = auxv_of(sp);
	long r = rt_sys(NR_readlink, "/proc/self/exe", stem, sizeof stem - 16);

	if (r > 0) {
		n = (u64)r;
	} else {
		const char *name = "";

		for (; *aux; aux += 2)
			if (*aux == AT_EXECFN)
				name = PTR(aux[1]);
		n = 0;
		if (*name != '/') {
			r = rt_sys(NR_getcwd, stem, sizeof stem - 600);
			n = r > 0 ? (u64)r - 1 : 0;
			stem[n++] = '/';
		}
		for (u64 k = 0; name[k] && n < sizeof stem - 16; k++)
			stem[n++] = name[k];
	}
	stem[n] = 0;
	rt_memcpy(dir, stem, n);
	rt_memcpy(dir + n, ".d/", 4);
	if (n > 4 && stem[n - 4] == '.' && stem[n - 3] == 'i' && stem[n - 2] == 'd' && stem[n - 1] == 't')
		stem[n - 4] = 0;
}

/* Our program headers, and the header that points to them, are not for the program to see. */
static void restore_header(void)
{
	u64 page = MAN->ehdr & ~4095ull;

	if (!MAN->ehdr)
		return;
	rt_sys(NR_mprotect, page, 4096, PROT_READ | PROT_WRITE);
	rt_memcpy(PTR(MAN->ehdr), MAN->header, sizeof MAN->header);
	rt_sys(NR_mprotect, page, 4096, PROT_READ);
}

static void map_segment(const struct elf_phdr *p, u64 bias, long fd, const char *name)
{
	u64 lo = ((u64)p->vaddr & ~4095ull) + bias, prot = 0;
	u64 file = (u64)p->filesz + (p->vaddr & 4095), mem = page_up((u64)p->memsz + (p->vaddr & 4095));

	prot |= p->flags & PF_R ? PROT_READ : 0;
	prot |= p->flags & PF_W ? PROT_WRITE : 0;
	prot |= p->flags & PF_X ? PROT_READ : 0;	/* never executable */
	if (p->filesz)
		rt_image_map(lo, file, prot, MAP_PRIVATE, fd, p->offset & ~4095ul, name);
	if (p->memsz > p->filesz) {
		u64 end = p->vaddr + bias + p->filesz;

		if (p->filesz && prot & PROT_WRITE)
			memset(PTR(end), 0, page_up(end) - end);
		if (lo + mem > page_up(end))
			rt_image_map(page_up(end), lo + mem - page_up(end), prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
				 name);
	}
}

static void map_interpreter(void)
{
	static struct elf_phdr ph[16];
	const struct img_file *f = &FILES[1];
	struct elf_head eh;
	long fd = rt_sys(NR_open, f->path, O_CLOEXEC, 0);
	u64 bias = f->base, first = ~0ull;
	struct rt_stat stat;

	if (fd < 0)
		rt_image_stop("cannot open the program's interpreter", f->path);
	unchanged[1] = !rt_stat(0, fd, &stat) && stat.size == f->size && stat.changed == f->changed;
	if (rt_pread(fd, &eh, sizeof eh, 0) != sizeof eh || eh.phnum > NR_OF(ph) ||
	    rt_pread(fd, ph, eh.phnum * sizeof *ph, eh.phoff) != (long)(eh.phnum * sizeof *ph))
		differs(1);
	for (u32 i = 0; i < eh.phnum; i++)
		if (ph[i].type == PT_LOAD && (ph[i].vaddr & ~4095ul) < first)
			first = ph[i].vaddr & ~4095ul;
	bias -= first;
	for (u32 i = 0; i < eh.phnum; i++)
		if (ph[i].type == PT_LOAD)
			map_segment(&ph[i], bias, fd, f->path);
	rt_sys(NR_close, fd);
}

static void fix_auxv(word sp)
{
	for (word *a = auxv_of(sp); *a; a += 2)
		switch (*a) {
		case AT_PHDR: a[1] = (word)MAN->phdr; break;
		case AT_PHNUM: a[1] = (word)MAN->phnum; break;
		case AT_BASE: a[1] = MAN->interp ? (word)FILES[1].base : 0; break;
		case AT_ENTRY: a[1] = (word)MAN->entry; break;
		case AT_SYSINFO: case AT_SYSINFO_EHDR: a[0] = AT_IGNORE; break;
		}
}

/* The vDSO's code differs from kernel to kernel, and without an interpreter of the kernel's choosing it is
 * where the interpreter goes. Its data pages lie in front of it; nothing else is near yet. */
#define VDSO_PAGES 3
#define VVAR_PAGES 8

static void drop_vdso(word sp)
{
	if (!MAN->interp)
		return;
	for (word *a = auxv_of(sp); *a; a += 2)
		if (*a == AT_SYSINFO_EHDR)
			rt_sys(NR_munmap, a[1] - 4096 * VVAR_PAGES, 4096 * (VVAR_PAGES + VDSO_PAGES));
}

static void map_texts(long fd)
{
	for (u32 i = 0; i < MAN->ntext; i++) {
		const struct img_text *t = &TEXTS[i];

		if (t->file > MAN->interp)
			continue;
		rt_range_add(t->lo, t->hi, t->prot, 0);
		if (t->file == 0) {
			rt_sys(NR_mprotect, t->lo, t->hi - t->lo, (t->prot & ~(u64)PROT_EXEC) | PROT_READ);
			attach(i, fd);
		} else {
			library_text(i);
		}
	}
}

/* Of the interpreter nearly all will be executed. */
static void fill_interpreter(void)
{
	for (u32 i = 0; i < MAN->ntext; i++)
		if (live[i] && TEXTS[i].file && TEXTS[i].code_len <= SMALL / 8)
			fill(i, 0, TEXTS[i].hi - TEXTS[i].lo);
}

/* What will be touched soon comes in few calls. */
static void have_block(struct rt_block *b)
{
	const word at = (word)b;

	rt_sys(NR_madvise, at, 4096, MADV_POPULATE_WRITE);
	rt_sys(NR_madvise, at + RT_STACK_TOP - 8192, 8192, MADV_POPULATE_WRITE);
	rt_sys(NR_madvise, at + RT_ALT_STACK + RT_ALT_SIZE - 8192, 8192 + 4096, MADV_POPULATE_WRITE);
	if (MAN->kind != IMG_PROFILE)
		rt_sys(NR_madvise, at + TRACE_AT, AHEAD, MADV_POPULATE_WRITE);
	for (u32 i = 0; i < MAN->ntext; i++)
		if (live[i])
			have_counters(b, i);
}

struct rt_block *rt_boot(void)
{
	const long fd = (long)rt_img_boot.fd;
	struct rt_block *b;
	int execed;

	execed = without_randomisation(rt_boot_rsp);
	rt_image_map(MANIFEST_AT, rt_img_boot.manifest_len, PROT_READ,
		     MAP_PRIVATE | (rt_img_boot.manifest_len <= SMALL / 64 ? MAP_POPULATE : 0), fd, rt_img_boot.manifest, 0);
	if (MAN->abi != RT_ABI || MAN->ntext > MAX_TEXTS)
		rt_image_stop("this instrumented program is damaged", 0);
	rt_image_texts = PTR(MANIFEST_AT + MAN->texts);
	find_names(rt_boot_rsp);
	rt_image_map_data(MAN);
	restore_header();
	drop_vdso(rt_boot_rsp);
	if (MAN->interp)
		map_interpreter();
	keep_places();
	map_texts(fd);
	rt_sys(NR_close, fd);
	fix_auxv(rt_boot_rsp);
	rt_sys(NR_munmap, MAN->stub, IMG_STUB_SIZE);
	b = rt_block_map(1);
	if (!b)
		rt_image_stop("no shared memory for the counters", 0);
	have_block(b);
	fill_interpreter();
	b->links = MANIFEST_AT + MAN->links;
	rt_block_begin(b, MAN->interp ? MAN->interp_entry : MAN->entry);
	LEDGER->owner[1] = b->pid;
	LEDGER->used = 2;
	watch(b->pid, 0);
	root = execed ? 0 : b->pid;
	SHARED->translated = execed;
	if (MAN->kind != IMG_PROFILE && !MAN->no_trace && !execed)
		open_fifo();
	begin_trace(b);
	rt_trace_start(b);
	rt_go(b);
	return b;
}

#endif
