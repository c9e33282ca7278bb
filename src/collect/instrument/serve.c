/* SPDX-License-Identifier: MIT */
/* serve.c - the translator of an instrumented program that runs: THE TRANSLATOR in runtime/image.h
 *
 * All that it knows of the program is in the memory file: the program shows its mappings and
 * its code there, so nobody's permission is needed. Libraries are translated as they would
 * have been ahead of time; of other code, a unit at a time, and its blocks compare their
 * bytes when they are entered. What is translated is added to the block table and the module
 * file before the program goes on.
 *
 * INVARIANTS
 * (1) Numbers of blocks are places in the block table, whoever extends it: it is locked meanwhile.
 * (2) A place in memory is one region's, in all processes of the program.
 * (3) What a process may be executing is changed by one store that no entry lies within. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/proc_maps.h"
#include "base/temp.h"
#include "collect/instrument/job.h"
#include "collect/translate/reach.h"
#include "elf/elf.h"
#include "elf/elf_image.h"

#define REGION_SIZE	(32ull << 20)	/* of generated code */
#define UNIT_ROOM	(4ull << 20)	/* more than a window becomes */
#define NONE		UINT32_MAX

struct known_block {				/* a block of generated code */
	uint64_t pc, code, indirect;
	uint64_t hash, head;		/* of its bytes; the first bytes of its code */
	uint32_t size, text;
	uint32_t region, prev;		/* prev: older one at the same pc */
};

struct region_room {				/* of a region, while it is filled */
	uint64_t lo, hi;		/* code that it serves */
	uint64_t used;
};

struct server {
	struct img_later *l;
	uint8_t *base;
	bool i386;
	struct img_part part[IMG_PARTS];
	uint32_t most_texts, most_links;
	const char *blk_name;		/* suffix */
	struct img_region *region;
	struct img_text *text;
	const char *stem;
	struct pm_instrument_opts opts;
	int blk, mod, gen;		/* gen: the file with generated code, -1: none yet */
	uint64_t heap;
	bool broken;			/* said why */
	struct region_room place[IMG_MAX_REGIONS];
	struct pm_map at;		/* pc -> known + 1 */
	struct known_block *known;
	size_t nknown, cap_known;
	struct site { uint64_t at, address; } *site;	/* of links: of the rel32 in the memory
							 * file, in memory */
	size_t nsite, cap_site;
	struct address_range *generated;	/* that are not files', or not what files have */
	size_t ngenerated, cap_generated;
	struct address_range *busy;		/* mappings that have been shown */
	size_t nbusy, cap_busy;
	/* of the request that is being answered */
	bool maps;			/* busy is up to date */
	struct job *lib;		/* the library that it may be; lib->text[0] */
	uint32_t into;			/* region */
	const uint8_t *window;
	uint64_t window_at, window_n, entry;
};

__attribute__((format(printf, 2, 3)))
static void fail(struct server *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->l->said, sizeof s->l->said, fmt, ap);
	va_end(ap);
	s->l->answer = IMG_FAILED;
}

/* ---- files ----------------------------------------------------------------------------------- */
static int open_at(const struct server *s, const char *suffix, int flags)
{
	struct pm_buf name = { 0 };
	int fd;

	pm_buf_printf(&name, "%s%s", s->stem, suffix);
	pm_buf_add(&name, "", 1);
	fd = open((char *)name.p, flags | O_CLOEXEC | (flags & O_ACCMODE ? O_NOFOLLOW : 0), 0666);
	pm_buf_release(&name);
	return fd;
}

static bool write_at(int fd, const void *p, size_t n, off_t at)
{
	struct pm_err ignored = { 0 };		/* errno says it, too, and the caller which file */

	return pm_temp_write(fd, p, n, (uint64_t)at, &ignored) == PM_OK;
}

/* What an earlier run has added goes, unless that run goes on. */
static bool begin_files(struct server *s)
{
	const struct img_manifest *m = &s->l->manifest;
	const uint64_t count = m->nblock;
	uint32_t magic[2];

	s->blk = open_at(s, s->blk_name, O_RDWR);
	s->mod = open_at(s, ".mod", O_RDWR | O_APPEND);
	s->gen = -1;
	if (s->blk < 0 || s->mod < 0) {
		fail(s, "%s%s: cannot extend it: %s", s->stem, s->blk < 0 ? s->blk_name : ".mod",
		     strerror(errno));
		return false;
	}
	if (pread(s->blk, magic, sizeof magic, s->i386 ? 8 : 16) != sizeof magic ||
	    magic[0] != m->orig_magic || magic[1] != m->idt_magic) {
		fail(s, "%s%s: it does not belong to this instrumented program", s->stem,
		     s->blk_name);
		return false;
	}
	if (s->l->anew && !flock(s->mod, LOCK_EX | LOCK_NB)) {
		if (!write_at(s->blk, &count, s->i386 ? 4 : 8, 0) ||
		    ftruncate(s->blk, (off_t)m->blk_size) ||
		    ftruncate(s->mod, (off_t)m->mod_size)) {
			fail(s, "%s%s: cannot extend it: %s", s->stem, s->blk_name,
			     strerror(errno));
			return false;
		}
		s->gen = open_at(s, ".gen", O_WRONLY);
		if (s->gen >= 0 && ftruncate(s->gen, 0))
			fail(s, "%s.gen: cannot write it: %s", s->stem, strerror(errno));
		if (s->gen >= 0)
			close(s->gen);
		s->gen = -1;
	}
	flock(s->mod, LOCK_SH);
	return true;
}

/* (1) From here on the table is ours. Which number comes next, and where is its record? */
static bool begin_blocks(struct server *s, uint64_t *number, uint64_t *at)
{
	const ssize_t size = s->i386 ? 4 : 8;
	struct stat st;

	while (flock(s->blk, LOCK_EX))
		if (errno != EINTR)
			return false;
	*number = 0;
	if (fstat(s->blk, &st) || pread(s->blk, number, (size_t)size, 0) != size)
		return false;
	*at = (uint64_t)st.st_size;
	return true;
}

static bool end_blocks(struct server *s, const struct idt_blk *blk, uint64_t number, uint64_t at)
{
	struct pm_buf b = { 0 };
	bool ok;

	const size_t head = idt_blk_head(!s->i386);

	idt_blk_write(blk, &b);
	number += blk->nblock;
	ok = write_at(s->blk, b.p + head, b.n - head, (off_t)at) &&
		write_at(s->blk, &number, s->i386 ? 4 : 8, 0);
	flock(s->blk, LOCK_UN);
	pm_buf_release(&b);
	return ok;
}

static bool add_module(struct server *s, uint64_t record, const struct idt_module *m)
{
	struct idt_module line = *m;
	struct idt_modules all = { .v = &line, .n = 1 };
	struct pm_buf b = { 0 };
	const char *text;
	bool ok;

	line.record = record;
	idt_modules_write(&all, &b);
	pm_buf_add(&b, "", 1);
	text = strchr((char *)b.p, '\n') + 1;	/* without the heading */
	ok = write(s->mod, text, strlen(text)) == (ssize_t)strlen(text);
	pm_buf_release(&b);
	return ok;
}

/* ---- places ---------------------------------------------------------------------------------- */
static void read_maps(struct server *s)
{
	const char *p = (const char *)s->base + IMG_LATER_BYTES, *end = p + s->l->shown_n;

	s->nbusy = 0;
	s->maps = true;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		uint64_t lo, hi;

		if (!nl)
			break;
		if (sscanf(p, "%" SCNx64 "-%" SCNx64, &lo, &hi) == 2) {
			pm_grow(s->busy, s->nbusy, s->cap_busy);
			s->busy[s->nbusy++] = (struct address_range){ lo, hi };
		}
		p = nl + 1;
	}
}

static bool is_free(const void *server, uint64_t lo, uint64_t hi)
{
	const struct server *s = server;

	if (lo < 0x10000 || hi > 0x7fffff000000 ||
	    (lo < RT_SHADOW + RT_SHADOW_SIZE && hi > RT_SHADOW))
		return false;
	for (size_t i = 0; i < s->nbusy; i++)
		if (lo < s->busy[i].hi && s->busy[i].lo < hi)
			return false;
	for (uint32_t k = 0; k < s->l->nregion; k++)
		if (lo < s->region[k].at + s->region[k].size && s->region[k].at < hi)
			return false;
	return true;
}

static bool heap_room(struct server *s, uint64_t n, uint64_t align, uint64_t *at)
{
	const struct img_part *heap = &s->part[IMG_PART_HEAP];

	*at = (s->heap + align - 1) & ~(align - 1);
	if (*at + n > heap->from + heap->size)
		return false;
	s->heap = *at + n;
	return true;
}

/* Where the program has what is at @from in the heap. */
static uint64_t in_program(const struct server *s, uint64_t from)
{
	return s->part[IMG_PART_HEAP].at + (from - IMG_LATER_HEAP);
}

/* Where @size bytes of code for [@lo, @hi) will be; a 32-bit program has them where they come
 * next in the heap. 0: nowhere. */
static uint64_t place_for(const struct server *s, uint64_t lo, uint64_t hi, uint64_t size)
{
	return s->i386 ? in_program(s, up(s->heap)) : xl_find_place(lo, hi, size, is_free, s);
}

/* ---- texts ----------------------------------------------------------------------------------- */
static bool copy_tables(struct server *s, const struct program_text *t, uint64_t *at,
			uint64_t *entries)
{
	struct pack_part v[MAX_PARTS];
	struct img_tables head;
	struct pm_buf b = { 0 };
	uint64_t size;
	size_t n = text_parts(t, &head, 64, v, &size);
	uint8_t *to;
	bool room;

	text_entries(t, &b);
	room = heap_room(s, size, 64, at) && heap_room(s, b.n, 4, entries);
	if (room)
		memcpy(s->base + *entries, b.p, b.n);
	pm_buf_release(&b);
	if (!room)
		return false;
	to = s->base + *at;
	for (size_t i = 0; i < n; i++) {
		if (v[i].n)
			memcpy(to, v[i].p, v[i].n);
		to += (v[i].n + 63) & ~(size_t)63;
	}
	return true;
}

/* A translated text becomes one of the program's: its blocks come into the block table,
 * its code to @code in the memory file. Returns its number, NONE: failed; @record: where
 * its first block's is. */
static uint32_t add_text(struct server *s, struct job *j, uint32_t region, uint64_t code,
			 uint64_t *record)
{
	struct program_text *t = &j->text[0];
	struct text_piece all = { .text = t, .to = (uint32_t)t->image.nblock };
	const uint32_t number = s->l->ntext;
	struct planner *planner;
	uint64_t first, tables, entries;
	uint32_t *at, behind;

	if (number == s->most_texts || s->l->nlink + t->image.nlink > s->most_links) {
		fail(s, "it generates more code than there is room for");
		return NONE;
	}
	if (!begin_blocks(s, &first, record)) {
		fail(s, "%s%s: cannot extend it: %s", s->stem, s->blk_name, strerror(errno));
		return NONE;
	}
	if (first + t->image.nblock > s->l->manifest.counters) {
		fail(s, "it has more blocks than there are counters for");
		flock(s->blk, LOCK_UN);
		return NONE;
	}
	xl_image_number(&t->image, (uint32_t)first, (uint32_t)s->l->link_base + s->l->nlink);
	plan_begin(j, t);
	planner = planner_new();
	plan_piece(planner, j, &all);
	planner_free(planner);
	plan_join(j, &all);
	j->blk.wide = !s->i386;
	table_of(j, t);
	table_lanes(j, t);
	behind = (uint32_t)((*record - idt_blk_head(!s->i386)) / idt_blk_unit(!s->i386));
	for (const struct lanes *l = (struct lanes *)t->lanes.p;
	     l < (struct lanes *)(t->lanes.p + t->lanes.n); l++) {
		uint32_t v;

		memcpy(&v, t->plan.p + l->at, 4);
		v += behind;
		memcpy(t->plan.p + l->at, &v, 4);
	}
	at = (uint32_t *)t->record_at.p;
	for (size_t i = 0; i < t->record_at.n / 4; i++)
		at[i] += behind;
	if (!end_blocks(s, &j->blk, first, *record)) {
		fail(s, "%s%s: cannot extend it: %s", s->stem, s->blk_name, strerror(errno));
		return NONE;
	}
	if (!copy_tables(s, t, &tables, &entries)) {
		fail(s, "it generates more code than there is room for");
		return NONE;
	}
	memcpy(s->base + code, t->image.code.p, t->image.code.n);
	for (size_t i = 0; i < t->image.nlink; i++) {
		const uint64_t site = t->image.link_site[i];

		memcpy(s->base + IMG_LATER_TARGETS + 8ull * (s->l->nlink + i), &t->image.link[i],
		       8);
		pm_grow(s->site, s->nsite, s->cap_site);
		s->site[s->nsite++] = (struct site){ code + site, t->code + site };
	}
	s->text[number] = (struct img_text){
		.lo = t->lo, .hi = t->hi, .bytes = t->bytes, .code = t->code,
		.code_len = t->image.code.n,
		.tables = in_program(s, tables), .entries = in_program(s, entries),
		.first = (uint32_t)first,
		.nblock = (uint32_t)t->image.nblock, .file = region,
	};
	s->l->nlink += (uint32_t)t->image.nlink;
	__atomic_store_n(&s->l->nblock, (uint32_t)(first + t->image.nblock), __ATOMIC_RELEASE);
	__atomic_store_n(&s->l->ntext, number + 1, __ATOMIC_RELEASE);
	return number;
}

/* ---- libraries ------------------------------------------------------------------------------- */
static void forget_library(struct server *s)
{
	struct job *j = s->lib;

	if (!j)
		return;
	if (j->text)
		text_release(&j->text[0]);
	if (j->nfile)
		munmap((void *)(uintptr_t)j->file[0].p, j->file[0].n);
	idt_blk_release(&j->blk);
	free(j->text);
	pm_arena_release(&j->mem);
	free(j);
	s->lib = NULL;
}

/* The file mapped at @pc, if it is a library whose text that may be. */
static bool find_library(struct server *s, uint64_t pc)
{
	const char *p = (const char *)s->base + IMG_LATER_BYTES, *end = p + s->l->shown_n;
	uint64_t lo = 0, hi = 0, off = 0;
	struct pm_elf_info info = { 0 };
	struct pm_err err = { 0 };
	char path[4096] = "";
	struct job *j;
	struct file *f;
	struct stat st;
	int fd;

	for (const char *nl; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
		int name = 0;

		if (sscanf(p, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &lo, &hi, &off,
			   &name) != 3 || pc < lo || pc >= hi)
			continue;
		if (name && p[name] == '/' && nl - p - name < (ptrdiff_t)sizeof path)
			snprintf(path, sizeof path, "%.*s", (int)(nl - p - name), p + name);
		break;
	}
	maps_path(path);
	if (!*path || pm_elf_check(path, &info, &err) != PM_OK || info.script ||
	    info.machine != (s->i386 ? EM_386 : EM_X86_64) || info.is64 == s->i386) {
		pm_elf_info_release(&info);
		return false;
	}
	s->lib = j = pm_alloc(sizeof *j);
	j->o = &s->opts;
	j->i386 = s->i386;
	j->end = UINT64_MAX;
	f = &j->file[0];
	f->path = pm_arena_strdup(&j->mem, path);
	memcpy(f->build_id, info.build_id, sizeof f->build_id);
	pm_elf_info_release(&info);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size ||
	    (f->p = mmap(NULL, f->n = (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
	    MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		forget_library(s);
		return false;
	}
	close(fd);
	j->nfile = 1;
	for (unsigned i = 0; elf_image_header(f->p, f->n, &f->eh) && i < f->eh.e_phnum; i++) {
		const Elf64_Phdr h = elf_image_segment(f->p, &f->eh, i);
		const uint64_t first = down(h.p_offset), at = lo - off + first;

		if (h.p_type != PT_LOAD || !(h.p_flags & PF_X) || !h.p_filesz || pc < at ||
		    pc >= at + up(h.p_memsz + (h.p_vaddr & (PAGE - 1))))
			continue;
		f->bias = at - down(h.p_vaddr);
		j->text = pm_alloc(sizeof *j->text);
		j->ntext = 1;
		j->text[0] = (struct program_text){
			.lo = at, .hi = at + up(h.p_memsz + (h.p_vaddr & (PAGE - 1))),
			.offset = first,
			.bytes = h.p_filesz + (h.p_vaddr & (PAGE - 1)),
		};
		return true;
	}
	forget_library(s);
	return false;
}

/* The same text at the same place, for another process. */
static uint32_t same_library(const struct server *s, const struct program_text *t, uint64_t hash)
{
	for (uint32_t k = 0; k < s->l->nregion; k++)
		if (!s->region[k].generated && s->text[s->region[k].first].lo == t->lo &&
		    s->text[s->region[k].first].bytes == t->bytes &&
		    s->text[s->region[k].first].hash == hash)
			return k;
	return NONE;
}

static void library(struct server *s)
{
	struct job *j = s->lib;
	struct program_text *t = &j->text[0];
	struct file *f = &j->file[0];
	const uint64_t hash = img_hash(f->p + t->offset, t->bytes);
	uint32_t k = same_library(s, t, hash), number;
	uint64_t code, record;

	if (k == NONE) {
		struct xl_image_input in = {
			.file = f->p, .size = f->n, .path = f->path, .i386 = s->i386,
			.bias = f->bias, .lo = t->lo, .hi = t->hi,
			.offset = t->offset, .bytes = t->bytes, .kind = xl_kinds[s->opts.kind],
		};

		k = s->l->nregion;
		t->room = up((t->hi - t->lo) * 9 + (1 << 20));
		in.code = t->code = place_for(s, t->lo, t->hi, t->room);
		if (!t->code || k == IMG_MAX_REGIONS) {
			fail(s, "%.150s: there is no room near its text for the translated code",
			     f->path);
			return;
		}
		xl_image_make(&in, &t->image);
		if (t->image.code.n > t->room || !heap_room(s, up(t->image.code.n), PAGE, &code)) {
			fail(s, "%.150s: its translated code needs more room than there is",
			     f->path);
			return;
		}
		number = add_text(s, j, k, code, &record);
		if (number == NONE)
			return;
		s->text[number].hash = hash;
		if (!add_module(s, record,
				&(struct idt_module){ .lo = t->lo, .hi = t->hi, .offset = t->offset,
				.build_id = f->build_id[0] ? f->build_id : NULL,
				.path = f->path })) {
			fail(s, "%s.mod: cannot extend it: %s", s->stem, strerror(errno));
			return;
		}
		s->region[k] = (struct img_region){ .at = t->code, .size = up(t->image.code.n),
						    .from = code,
						    .ntext = 1, .first = number };
		__atomic_store_n(&s->l->nregion, k + 1, __ATOMIC_RELEASE);
	}
	s->l->r[0] = s->region[k].first;
	s->l->r[1] = s->l->r[2] = 0;
	s->l->r[3] = k;
	s->l->answer = IMG_DONE;
}

/* ---- generated code -------------------------------------------------------------------------- */
static uint64_t bytes_hash(const struct server *s, uint64_t pc, uint32_t size)
{
	if (pc < s->window_at || pc + size > s->window_at + s->window_n)
		return 0;
	return img_hash(s->window + (pc - s->window_at), size) | 1;
}

static struct known_block *known_at(struct server *s, uint64_t pc)
{
	const uint64_t *k = pm_map_get(&s->at, pc);

	return k ? &s->known[*k - 1] : NULL;
}

static bool known_block(void *ctx, uint64_t addr, struct xl_known *out)
{
	struct server *s = ctx;
	const struct known_block *k = addr == s->entry ? NULL : known_at(s, addr);

	if (!k || bytes_hash(s, addr, k->size) != k->hash)
		return false;
	out->code = k->code;
	out->live = XL_LIVE_ALL;
	return true;
}

static uint8_t *code_at(const struct server *s, uint32_t region, uint64_t address)
{
	return s->base + s->region[region].from + (address - s->region[region].at);
}

/* All blocks at a pc but @to go there at once; @to begins as it was made. (3) */
static void redirect(struct server *s, uint64_t pc, const struct known_block *to)
{
	const uint64_t *newest = pm_map_get(&s->at, pc);

	for (uint32_t i = (uint32_t)*newest; i; i = s->known[i - 1].prev) {
		const struct known_block *k = &s->known[i - 1];
		uint64_t head = k->head;

		if (k != to)			/* jmp rel32, and what is never reached */
			head = 0x9090900000000000u |
				(uint64_t)(uint32_t)(to->code - (k->code + 5)) << 8 | 0xe9;
		__atomic_store_n((uint64_t *)code_at(s, k->region, k->code), head,
				 __ATOMIC_RELEASE);
	}
}

static void answer_block(struct server *s, const struct known_block *k)
{
	s->l->r[0] = k->text;
	s->l->r[1] = k->code;
	s->l->r[2] = k->indirect;
	s->l->r[3] = k->region;
	s->l->answer = IMG_DONE;
}

static void note_blocks(struct server *s, const struct program_text *t, uint32_t number,
			uint32_t region)
{
	const struct xl_image *m = &t->image;

	for (size_t i = 0; i < m->nblock; i++) {
		const struct img_block *b = &m->block[i];
		const uint64_t pc = t->lo + b->pc;
		struct known_block k = { .pc = pc, .code = t->code + b->code, .size = b->size,
				   .text = number,
				   .region = region, .hash = bytes_hash(s, pc, b->size) };
		uint64_t *at;

		if (i && m->block[i - 1].pc == b->pc)
			continue;		/* blocks without length, and copies of
						 * loops: the first */
		if (b->entry != IMG_NO_ENTRY)
			k.indirect = k.code - b->entry;
		for (size_t e = 0; e < m->nentry; e++)
			if (m->entry[e].pc == b->pc)
				k.indirect = t->code + m->entry[e].code;
		memcpy(&k.head, code_at(s, region, k.code), 8);
		at = pm_map_put(&s->at, pc, NULL);
		k.prev = (uint32_t)*at;
		pm_grow(s->known, s->nknown, s->cap_known);
		s->known[s->nknown++] = k;
		*at = s->nknown;
	}
}

/* The bytes of the text's blocks, for those who want to read the trace. */
static bool append_bytes(struct server *s, const struct program_text *t, uint64_t record)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	struct pm_buf path = { 0 };
	struct stat st;
	bool ok;

	for (size_t i = 0; i < t->image.nblock; i++) {
		const struct img_block *b = &t->image.block[i];

		if (b->pc < lo)
			lo = b->pc;
		if (b->pc + (uint64_t)b->size > hi)
			hi = b->pc + b->size;
	}
	if (lo >= hi)
		return true;			/* nothing that could be decoded */
	if (s->gen < 0)
		s->gen = open_at(s, ".gen", O_WRONLY | O_CREAT);
	if (s->gen < 0)
		return false;
	while (flock(s->gen, LOCK_EX) && errno == EINTR)
		;
	pm_buf_printf(&path, "%s.gen", s->stem);
	pm_buf_add(&path, "", 1);
	ok = !fstat(s->gen, &st) && write_at(s->gen, s->window + lo, hi - lo, st.st_size) &&
	     add_module(s, record, &(struct idt_module){ .lo = t->lo + lo, .hi = t->lo + hi,
			.offset = (uint64_t)st.st_size, .path = (char *)path.p });
	flock(s->gen, LOCK_UN);
	pm_buf_release(&path);
	return ok;
}

/* A region with room within reach, NONE: there is none. */
static uint32_t region_for(const struct server *s, uint64_t lo, uint64_t hi)
{
	for (uint32_t k = s->l->nregion; k--; ) {
		const struct img_region *r = &s->region[k];

		if (r->generated && r->size - s->place[k].used >= UNIT_ROOM &&
		    r->ntext < IMG_MAX_ORDER &&
		    (s->i386 || xl_reaches(lo, hi, r->at, r->size)))
			return k;
	}
	return NONE;
}

static uint32_t new_region(struct server *s, uint64_t lo, uint64_t hi)
{
	const uint32_t k = s->l->nregion;
	uint64_t at = place_for(s, lo, hi, REGION_SIZE), from, order;

	if (!at || k == IMG_MAX_REGIONS || !heap_room(s, REGION_SIZE, PAGE, &from) ||
	    !heap_room(s, IMG_MAX_ORDER * sizeof(uint32_t), 4, &order)) {
		fail(s, "it generates more code than there is room for");
		return NONE;
	}
	s->region[k] = (struct img_region){ .at = at, .size = REGION_SIZE, .from = from,
					    .order = order, .generated = 1 };
	s->place[k] = (struct region_room){ 0 };
	__atomic_store_n(&s->l->nregion, k + 1, __ATOMIC_RELEASE);
	return k;
}

static void generated(struct server *s, uint64_t pc)
{
	struct job *j = pm_alloc(sizeof *j);
	struct img_region *r = &s->region[s->into];
	struct region_room *p = &s->place[s->into];
	struct program_text *t;
	uint32_t number;
	uint64_t record;

	s->entry = pc;
	j->o = &s->opts;
	j->i386 = s->i386;
	j->nfile = 1;
	j->file[0].p = s->window;
	j->text = t = pm_alloc(sizeof *t);
	*t = (struct program_text){ .lo = s->window_at, .hi = s->window_at + s->window_n,
			    .bytes = s->window_n,
			    .code = r->at + p->used };
	xl_image_make(&(struct xl_image_input){
		.file = s->window, .size = s->window_n, .path = "", .i386 = s->i386, .lo = t->lo,
		.hi = t->hi, .bytes = t->bytes,
		.code = t->code, .kind = xl_kinds[s->opts.kind], .generated = true, .entry = pc,
		.writable = s->l->a[4] & IMG_ASK_WRITABLE,
		.known = known_block, .ctx = s }, &t->image);
	if (!t->image.nblock || t->image.code.n > r->size - p->used) {
		fail(s, "the code at 0x%" PRIx64 " cannot be translated", pc);
	} else {
		number = add_text(s, j, s->into, r->from + p->used, &record);
		if (number != NONE && !append_bytes(s, t, record)) {
			fail(s, "%s.gen: cannot write it: %s", s->stem, strerror(errno));
		} else if (number != NONE) {
			uint32_t *order = (uint32_t *)(s->base + r->order);

			p->used += (t->image.code.n + 63) & ~63ull;
			order[r->ntext] = number;
			__atomic_store_n(&r->ntext, r->ntext + 1, __ATOMIC_RELEASE);
			note_blocks(s, t, number, s->into);
			redirect(s, pc, known_at(s, pc));
			answer_block(s, known_at(s, pc));
		}
	}
	text_release(t);
	idt_blk_release(&j->blk);
	free(j->text);
	free(j);
}

/* ---- requests -------------------------------------------------------------------------------- */
static void show(struct server *s, uint32_t what, uint64_t at, uint64_t n)
{
	s->l->answer = what;
	s->l->r[0] = at;
	s->l->r[1] = n;
}

static bool is_generated(const struct server *s, uint64_t pc)
{
	for (size_t i = 0; i < s->ngenerated; i++)
		if (s->generated[i].lo <= pc && pc < s->generated[i].hi)
			return true;
	return false;
}

/* The library at @pc, as far as has been shown. True: the request has its answer for now. */
static bool try_library(struct server *s, uint64_t pc)
{
	struct img_later *l = s->l;
	const struct program_text *t;

	if (!l->again) {
		show(s, IMG_SHOW_MAPS, 0, 0);
		return true;
	}
	if (l->shown == IMG_MAPS && find_library(s, pc)) {
		t = &s->lib->text[0];
		show(s, IMG_SHOW_BYTES, t->lo, t->bytes);
		return true;
	}
	if (l->shown == IMG_BYTES && s->lib) {
		t = &s->lib->text[0];
		if (l->shown_at == t->lo && l->shown_n == t->bytes &&
		    t->bytes <= s->lib->file[0].n - t->offset &&
		    !memcmp(s->base + IMG_LATER_BYTES, s->lib->file[0].p + t->offset, t->bytes)) {
			library(s);
			forget_library(s);
			return true;
		}
		forget_library(s);
	}
	pm_grow(s->generated, s->ngenerated, s->cap_generated);
	s->generated[s->ngenerated++] = (struct address_range){ l->a[2], l->a[3] };
	return false;
}

static void find_code(struct server *s)
{
	struct img_later *l = s->l;
	const uint64_t pc = l->a[0];
	const bool changed = l->ask == IMG_ASK_CHANGED;
	uint64_t lo = l->a[2], hi = l->a[3];
	const struct known_block *k = known_at(s, pc);

	if (!l->again) {
		forget_library(s);
		s->maps = false;
	}
	if (l->shown == IMG_MAPS)
		read_maps(s);
	if (k && !changed && !l->again) {
		answer_block(s, k);
		return;
	}
	if (!changed && !(l->a[4] & IMG_ASK_INSIDE) && !is_generated(s, pc) && try_library(s, pc))
		return;
	img_window(pc, &lo, &hi);
	s->into = region_for(s, lo, hi);
	if (s->into == NONE && !s->maps) {
		show(s, IMG_SHOW_MAPS, 0, 0);
		return;
	}
	if (s->into == NONE) {
		s->into = new_region(s, lo, hi);
		if (s->into == NONE)
			return;
	}
	if (l->shown != IMG_BYTES || l->shown_at != lo || l->shown_n != hi - lo) {
		show(s, IMG_SHOW_BYTES, lo, hi - lo);
		return;
	}
	s->window = s->base + IMG_LATER_BYTES;
	s->window_at = lo;
	s->window_n = hi - lo;
	/* one that it has been before? */
	for (uint32_t i = k ? (uint32_t)(k - s->known) + 1 : 0; i; i = s->known[i - 1].prev)
		if (bytes_hash(s, pc, s->known[i - 1].size) == s->known[i - 1].hash) {
			redirect(s, pc, &s->known[i - 1]);
			answer_block(s, &s->known[i - 1]);
			return;
		}
	generated(s, pc);
}

static void link_to(struct server *s)
{
	const struct site *site = s->l->a[0] < s->nsite ? &s->site[s->l->a[0]] : NULL;
	int64_t d = site ? (int64_t)(s->l->a[1] - (site->address + 4)) : INT64_MAX;

	s->l->answer = IMG_DONE;
	if (site && (s->i386 || d == (int32_t)d))
		__atomic_store_n((uint32_t *)(s->base + site->at), (uint32_t)d, __ATOMIC_RELEASE);
}

static bool has_users(struct img_later *l)
{
	bool some = false;

	for (size_t i = 0; i < NR(l->user); i++) {
		uint32_t pid = __atomic_load_n(&l->user[i], __ATOMIC_SEQ_CST);

		if (pid && kill((pid_t)pid, 0) && errno == ESRCH)
			__atomic_compare_exchange_n(&l->user[i], &pid, 0, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
		else if (pid)
			some = true;
	}
	return some;
}

/* Who joins says so first and then looks whether it is too late; so one of the
 * two sees the other. */
static bool closes(struct img_later *l)
{
	__atomic_store_n(&l->closed, 1, __ATOMIC_SEQ_CST);
	if (!has_users(l))
		return true;
	__atomic_store_n(&l->closed, 0, __ATOMIC_SEQ_CST);
	return false;
}

static void serve(struct server *s)
{
	struct img_later *l = s->l;

	/* a process that was killed before it could say that it is there is not
	 * waited for much longer */
	for (unsigned idle = 0; ; ) {
		const struct timespec wait = { 0, 200000000 };
		const uint32_t state = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE);

		if (state != MAIL_REQUEST) {
			syscall(SYS_futex, &l->state, FUTEX_WAIT, state, &wait, NULL, 0);
			if (has_users(l))
				idle = 0;
			else if (__atomic_load_n(&l->coming, __ATOMIC_SEQ_CST) > 0 && idle < 50)
				idle++;
			else if (closes(l))
				break;
			continue;
		}
		if (s->broken)
			l->answer = IMG_FAILED;
		else if (l->ask == IMG_ASK_LINK)
			link_to(s);
		else
			find_code(s);
		__atomic_store_n(&l->state, MAIL_REPLY, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &l->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
}

/* Nobody's child, in nobody's session, holding nothing of the program's but the memory file. */
static void detach(int fd)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (chdir("/"))
		return;
	if (fd != IMG_SERVER_FD)
		dup2(fd, IMG_SERVER_FD);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	close_range(IMG_SERVER_FD + 1, ~0u, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
}

enum pm_status pm_instrument_serve(int fd, const char *stem, struct pm_err *err)
{
	static struct server server;
	struct server *s = &server;
	sigset_t none;
	struct stat file;
	pid_t pid;

	err->file = stem;
	if (fstat(fd, &file) || (size_t)file.st_size < sizeof *s->l)
		return pm_fail_file(err, "descriptor %d is not its memory file", fd);
	s->base = mmap(NULL, IMG_LATER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		       0);
	s->l = (struct img_later *)s->base;
	if (s->base == MAP_FAILED)
		return pm_fail_file(err, "cannot map its %llu MiB of addresses: %s",
				    (unsigned long long)(IMG_LATER_SIZE >> 20), strerror(errno));
	if (memcmp(s->l->tag, "PUGLAT1\n", 8) || s->l->abi != RT_ABI ||
	    s->l->size != sizeof s->l->manifest)
		return pm_fail_file(err, "it was instrumented by another version");

	s->stem = stem;
	s->region = (struct img_region *)(s->base + IMG_LATER_REGIONS);
	s->text = (struct img_text *)(s->base + IMG_LATER_TEXTS);
	s->heap = IMG_LATER_HEAP;
	s->i386 = s->l->manifest.narrow;
	s->blk_name = s->i386 ? ".blk" : ".blk64";
	img_parts(&s->l->manifest, s->part);
	s->most_texts = (uint32_t)((s->part[IMG_PART_FRONT].size - IMG_LATER_TEXTS) /
				   sizeof *s->text);
	s->most_links = (uint32_t)(s->part[IMG_PART_TARGETS].size / sizeof(uint64_t));
	s->opts = (struct pm_instrument_opts){ .kind = (enum img_kind)s->l->manifest.kind,
		.line = s->l->manifest.line, .rep = s->l->manifest.tags & IMG_TAGS_REP,
		.stack = s->l->manifest.tags & IMG_TAGS_STACK,
		.no_trace = s->l->manifest.no_trace };
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	pid = fork();
	if (pid < 0)
		return pm_fail_errno(err, "cannot start the translator");
	if (pid) {
		s->l->server = (uint32_t)pid;
		return PM_OK;
	}
	detach(fd);
	s->broken = !begin_files(s);
	serve(s);
	xl_thread_done();
	return PM_OK;
}
