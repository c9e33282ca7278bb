/* SPDX-License-Identifier: MIT */
/* load_file.c - a module gets what earlier runs translated of its file
 *
 * Whether the text is still the one that was translated: by device, inode, size and times if they
 * are what they were when the text was last hashed, else by hashing it again. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kept.h"
#include "base/ledger.h"
#include "base/mix.h"
#include "collect/cache/cache_internal.h"

#define MAX_OPEN_FILES 256u			/* descriptors */
#define MANY (1u << 20)			/* bytes in memory that are worth giving back */
/* the journal has at most this part of the bytes of the code */
#define JOURNAL_SHARE 4u

/* Another pugmark's, or for other options: no fault of the file. */
static bool is_other(const struct cache_file *f, uint32_t kind)
{
	return f->version != CACHE_VERSION || f->abi != RT_ABI || f->build != cache_build() ||
	       f->kind != kind;
}

static bool same_text(const struct cache_file *f, const struct space *sp, const struct module *m)
{
	struct identity id;

	if (f->i386 != sp->i386 || f->text_len != m->text.len || f->file_off != m->text.file_off ||
	    f->absolute != m->absolute || (m->absolute && f->lo != m->text.lo))
		return false;
	cache_identify(&m->text.st, &id);
	return !memcmp(&id, &f->id, sizeof id) ||
	       pm_mix(m->text.bytes, m->text.len, 0) == f->text_hash;
}

/* ---- a file's contents ------------------------------------------------------------------- */
/* @n bytes of @fd, from @at on, come to @to as they are; what is behind, on their last page,
 * means nothing. False: they have to be copied. */
static bool map_over(void *to, size_t n, int fd, uint64_t at)
{
	return !((uintptr_t)to % 4096) && !(at % 4096) &&
	       mmap(to, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, (off_t)at) == to;
}

static void load_blocks(struct space *sp, uint32_t mi, const struct cache_file *f, uint32_t block0,
			int fd)
{
	struct module *m = &sp->module[mi];
	struct blk *v = sp->block + block0;

	if (!map_over(sp->flow + block0, f->nblock * sizeof *sp->flow, fd, f->flows))
		memcpy(sp->flow + block0, AT(f, flows), f->nblock * sizeof *sp->flow);
	m->stored.first_block = block0;
	m->stored.nblock = f->nblock;
	if (f->lo == m->text.lo && f->module == mi &&
	    map_over(v, f->nblock * sizeof *v, fd, f->blocks))
		return;
	memcpy(v, AT(f, blocks), f->nblock * sizeof *v);
	for (uint32_t i = 0; i < f->nblock; i++) {
		v[i].pc += m->text.lo - f->lo;
		v[i].module = (uint16_t)mi;
	}
}

/* What in the module's own copy of the file's code depends on its place and on numbers becomes
 * right. */
static void relocate_code(const struct spaces *s, const struct space *sp, const struct module *m,
			  const struct cache_file *f, uint32_t block0, uint32_t link0,
			  uint32_t trace0)
{
	const uint32_t counters = s->records ? trace0 :
					       xl_counter_size(sp->i386) * (block0 - f->block0);
	const uint64_t moved = (uint64_t)f->distance - (m->code.at - m->text.lo);
	uint8_t *code = s->code + m->code.off;

	if (counters)
		cache_add32(code, AT(f, rel_counter), f->nrel_counter, counters);
	if (link0 != f->link0)
		cache_add32(code, AT(f, rel_link), f->nrel_link, link0 - f->link0);
	if (sp->i386) {
		cache_add32(code, AT(f, rel_pc), f->nrel_pc, (uint32_t)(m->text.lo - f->lo));
		cache_add32(code, AT(f, rel_place), f->nrel_place,
			    (uint32_t)(m->code.at - (uint64_t)f->distance));
	} else if (moved) {
		cache_add32(code, AT(f, rel_pc), f->nrel_pc, (uint32_t)moved);
	}
}

static void load_units(struct spaces *s, struct space *sp, uint32_t mi, const struct cache_file *f,
		       uint32_t block0, uint32_t trace0)
{
	const struct saved_unit *u = AT(f, units);
	struct module *m = &sp->module[mi];

	for (uint32_t i = 0; i < f->nunit; i++) {
		pm_grow(sp->unit, sp->nunit, sp->cap_unit);
		pm_grow(m->unit, m->nunit, m->cap_unit);
		m->unit[m->nunit++] = (uint32_t)sp->nunit;
		sp->unit[sp->nunit++] = (struct unit){
			mi, u[i].code, u[i].ncode, block0 + u[i].block, u[i].nblock,
			trace0 + u[i].block, false };
		if (s->records)
			s->hooks->number(s, sp, block0 + u[i].block, u[i].nblock);
	}
}

/* Numbers in front of @link0 that nobody has are left out. */
static void load_links(const struct spaces *s, struct space *sp, uint32_t mi,
		       const struct cache_file *f, uint32_t link0)
{
	const struct link nobodys = { .module = UINT32_MAX, .done = true };
	const struct saved_link *l = AT(f, links);
	const struct module *m = &sp->module[mi];

	while (sp->nlink < link0) {
		pm_grow(sp->link, sp->nlink, sp->cap_link);
		sp->link[sp->nlink++] = nobodys;
	}
	for (uint32_t i = 0; i < f->nlink; i++) {
		uint64_t target = l[i].target + m->text.lo;

		if (sp->i386)
			target = (uint32_t)target;
		pm_grow(sp->link, sp->nlink, sp->cap_link);
		if (l[i].site == XL_NONE) {
			sp->link[sp->nlink++] = nobodys;
			continue;
		}
		sp->link[sp->nlink] = (struct link){
			target, mi, l[i].site, l[i].stub & LINK_STUB, 0, false, false,
			(l[i].stub & COUNTING_LINK) != 0, (l[i].stub & STALE_LINK) != 0 };
		link_target(s, sp, sp->nlink, target);
		sp->nlink++;
		if (link_is_within(sp, &sp->link[sp->nlink - 1]))
			link_wait(sp, (uint32_t)sp->nlink - 1);
	}
}

/* What is looked at in the file while it is mapped. */
static void find_sections(struct module *m, const struct cache_file *f)
{
	m->stored.code = AT(f, code);
	m->stored.map = AT(f, map);
	m->stored.nmap = f->nmap;
	m->stored.lines = AT(f, lines);
	m->stored.targets = AT(f, targets);
	m->stored.ntarget = f->ntarget;
	m->stored.entries = AT(f, entries);
	m->stored.nentry = f->nentry;
	m->stored.counters = f->ncounter ? AT(f, counters) : NULL;
	m->stored.counted = AT(f, counted);
	m->stored.nused_counter = f->ncounter ? f->how_often_end[RAN_SETS - 1] : f->nblock;
}

static void load(struct spaces *s, struct space *sp, uint32_t mi, const struct cache_file *f,
		 int fd, bool map_files)
{
	const struct saved_outside *o = AT(f, outsides);
	const uint32_t block0 = s->records ? (uint32_t)sp->nblock :
					     cache_number_from(f->block0, sp->nblock, BLOCK_STEP);
	const uint32_t link0 = cache_number_from(f->link0, sp->nlink, LINK_STEP);
	const uint32_t trace0 = s->records ? s->hooks->next_number(s) : 0;
	struct module *m = &sp->module[mi];

	find_sections(m, f);
	/* nothing below writes to what processes map */
	map_files = map_files && !s->records && !sp->i386 && !(f->code % 4096) &&
		    block0 == f->block0 && link0 == f->link0 &&
		    (int64_t)(m->code.at - m->text.lo) == f->distance &&
		    s->nopen_file < MAX_OPEN_FILES;
	m->stored.code_from_file = map_files ? f->ncode & ~4095u : 0;
	m->stored.shadow_from_file =
		map_files && m->shadow.present && f->shadow && space_whole_shadow(m);
	copy_code_from_file(s, m, m->stored.code_from_file, f->ncode);
	if (!map_files)
		relocate_code(s, sp, m, f, block0, link0, trace0);
	m->code.len = f->ncode;
	space_blocks(sp, block0 + (size_t)f->nblock);
	load_blocks(sp, mi, f, block0, fd);
	for (uint32_t i = 0; i < f->noutside; i++)
		*pm_map_put(&sp->outside_entry, block0 + o[i].block, NULL) = o[i].code + 1;
	sp->nblock = block0 + (size_t)f->nblock;	/* those left out are nobody's */
	load_units(s, sp, mi, f, block0, trace0);
	load_links(s, sp, mi, f, link0);
	if (!m->stored.shadow_from_file)
		shadow_fill(s, sp, m);
	m->stored.first_link = link0;
	s->cached += f->nblock;
	space_close(s, sp, block0, f->nblock);
}

static bool fits(const struct cache_file *f, const struct module *m)
{
	return f->ncode <= m->code.cap / 2 && f->nused == shadow_bits(m) &&
	       (!f->shadow || (!(f->shadow % 4096) && f->size - f->shadow == shadow_size(m)));
}

/* Small files are written as a whole. */
static void open_journal(struct spaces *s, struct space *sp, struct module *m,
			 const struct cache_file *f)
{
	const struct journal_head h = {
		.magic = "pugmkMR\n",
		.version = JOURNAL_VERSION,
		.abi = RT_ABI,
		.kind = f->kind,
		.counting_copies = m->counting_copies,
		.build = f->build,
		.absolute = m->absolute ? 1 + m->text.lo : 0,
		.text_hash = f->text_hash,
		.text_len = m->text.len,
		.file_off = m->text.file_off,
	};

	if (f->ncode >= SMALL_FILE && !sp->i386)
		m->stored.journal = journal_open(s, m, &h, f->ncode / JOURNAL_SHARE);
}

/* @f is mapped, @size bytes of it. */
static bool is_good(const struct module *m, const struct cache_file *f, size_t size, int fd,
		    const struct stat *st)
{
	const bool whole = cache_file_whole(f, (uint64_t)st->st_size);

	if (whole && pm_ledger_checked(st))
		return true;
	if (!whole || !cache_file_good(f, fd)) {
		pm_kept_drop(m->stored.key, st, "it is damaged");
		return false;
	}
	/* who only loads it looks at little of what a check looks at */
	madvise((void *)(uintptr_t)f, size, MADV_DONTNEED);
	pm_ledger_check(st);
	return true;
}

/* The file @in, mapped up to its shadow, if it is for @m; what is no good is dropped. */
static const struct cache_file *map_good(const struct spaces *s, const struct space *sp,
					 const struct module *m, int in, const struct stat *st,
					 size_t *size)
{
	const uint32_t kind = cache_kind(s, sp);
	const struct cache_file *f;
	struct cache_file head;

	if (st->st_size < (off_t)sizeof head || pread(in, &head, sizeof head, 0) != sizeof head ||
	    memcmp(head.magic, CACHE_MAGIC, sizeof head.magic)) {
		pm_kept_drop(m->stored.key, st, "it is damaged at its beginning");
		return NULL;
	}
	if (is_other(&head, kind))
		return NULL;
	if (head.size != (uint64_t)st->st_size || head.shadow > head.size) {
		pm_kept_drop(m->stored.key, st, "it has %lld bytes, not %" PRIu64,
			     (long long)st->st_size, head.size);
		return NULL;
	}
	*size = head.shadow ? head.shadow : head.size;
	f = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, in, 0);
	if (f == MAP_FAILED)
		return NULL;
	if (is_good(m, f, *size, in, st) && same_text(f, sp, m) && fits(f, m))
		return f;
	munmap((void *)(uintptr_t)f, *size);
	return NULL;
}

void cache_begin(struct spaces *s, struct space *sp, uint32_t mi, int fd,
		 const struct elf_head *elf)
{
	struct module *m = &sp->module[mi];

	const bool tree = s->tree && !sp->i386;

	/* trees: where functions begin and end is known from other files, too */
	cache_key(m, cache_kind(s, sp) | (tree ? s->hooks->segments(s, m) << 11 : 0), fd, elf);
	m->stored.needed = pm_alloc(shadow_bits(m));
	m->stored.saved_needed = pm_alloc(shadow_bits(m));
	m->shadow.filled = pm_alloc(shadow_bits(m));
}

void cache_load(struct spaces *s, struct space *sp, uint32_t mi, bool map_files)
{
	struct module *m = &sp->module[mi];
	const struct cache_file *f;
	int in;

	in = pm_kept_open(m->stored.key, O_RDONLY, &m->stored.st);
	if (in < 0)
		return;
	pm_kept_use(m->stored.key);
	f = map_good(s, sp, m, in, &m->stored.st, &m->stored.size);
	if (!f) {
		close(in);
		return;
	}
	memcpy(m->stored.needed, AT(f, used), f->nused);
	open_journal(s, sp, m, f);
	memcpy(m->stored.saved_needed, m->stored.needed, f->nused);
	m->stored.saved_nunit = f->nunit;
	m->stored.saved_code = f->ncode;
	m->stored.saved_sum = f->sum;
	load(s, sp, mi, f, in, map_files);
	m->stored.file = f;
	/* copied: only the map and the targets are looked at from now on */
	if (m->stored.size >= MANY)
		madvise((void *)(uintptr_t)f, m->stored.size, MADV_DONTNEED);
	if (!m->stored.code_from_file && !m->stored.shadow_from_file) {
		close(in);
		return;
	}
	m->stored.fd = in;
	m->stored.id = RT_FILE_ID(m->stored.st.st_dev, m->stored.st.st_ino);
	m->stored.code_at = f->code;
	m->stored.shadow_at = f->shadow;
	s->nopen_file++;
}

