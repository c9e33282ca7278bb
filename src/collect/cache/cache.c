/* SPDX-License-Identifier: MIT */
/* cache.c - translations of files, kept on disk between runs: file.h
 *
 * What comes to a large module's file is kept beside it for a while: addenda.c.
 *
 * Whether the text is still the one that was translated: by device, inode, size and times if they
 * are what they were when the text was last hashed, else by hashing it again. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/kept.h"
#include "base/ledger.h"
#include "base/mix.h"
#include "base/temp.h"
#include "collect/cache/file.h"
#include "collect/cache/addenda.h"
#include "collect/cache/cache.h"
#include "collect/space/store.h"

/* Numbers of blocks and links are in the code. Where a module's begin is rounded up, so that they
 * are mostly those that the code was saved with, and none of its pages need be touched. */
#define BLOCK_STEP 4096u
#define LINK_STEP 256u
#define MAX_GAP 32u			/* steps that may be left out for that */

#define MAX_FROZEN 256u			/* descriptors */
#define SHADOW_RUN 16u			/* pages of it that are written at once */
#define SHADOW_PAGES 1024u		/* no larger shadow is kept in a file */
#define PIECE CACHE_PIECE
#define WORTH_MOVING \
	(128u << 10) /* bytes of code that get other numbers than before: copied and changed */
#define MANY (1u << 20)			/* bytes in memory that are worth giving back */
/* What a process has had to do beyond its file is written down once that, over all runs since the
 * file was written, has taken as long as writing takes: together never more than twice of what
 * could have been. In bytes of code: a unit costs as much as UNIT_COST beyond its own, for the
 * process waits for it, a page of a shadow that was not foreseen LATE_COST; to write one byte of a
 * file takes 1/WRITE_SHARE of that. (cc1, growing by 3 %: 130 ms each.) */
#define UNIT_COST 256u
#define LATE_COST 256u
#define WRITE_SHARE 16u
/* ... of a unit from the addenda 1/TAKING_SHARE of that; and they have no more bytes than
 * 1/ADDENDA_SHARE of the file's code. */
#define TAKING_SHARE 4u
#define ADDENDA_SHARE 4u
#define SMALL_FILE \
	(1u << 20) /* of code: written at once, in a millisecond or two, for whoever starts next \
		    */
#define LIBRARIES (1ull << 30)		/* bytes of them that are in front of one at most */
#define LATE_SAVE 16u			/* pages, fewer do not count */

/* ---- hashing
 * --------------------------------------------------------------------------------------- */
static uint64_t build_number(void)
{
	extern const uint8_t pm_rt_text[], pm_rt_text_end[];
	static uint64_t n;

	/* the runtime's bytes (those for i386 are made from the same sources) and the translator's
	 * birth */
	if (!n)
		n = pm_mix(pm_rt_text, (size_t)(pm_rt_text_end - pm_rt_text), 1) ^
		    pm_mix(PM_VERSION " " __DATE__ " " __TIME__,
			   sizeof PM_VERSION " " __DATE__ " " __TIME__, 2);
	return n;
}

static void identify(const struct stat *st, struct identity *id)
{
	*id = (struct identity){
		st->st_dev,
		st->st_ino,
		(uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};
}

/* ---- the directory
 * ------------------------------------------------------------------------------- */
static bool make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			if (mkdir(path, 0700) && errno != EEXIST)
				return false;
			*p = '/';
		}
	return !mkdir(path, 0700) || errno == EEXIST;
}

/* The directory that users mean who name none; false: they have no home. */
static bool default_directory(char *path, size_t n)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg == '/')
		snprintf(path, n, "%s/pugmark", xdg);
	else if (home && *home == '/')
		snprintf(path, n, "%s/.cache/pugmark", home);
	else
		return false;
	return true;
}

static const struct store_ops cache_store;

enum pm_status cache_open(struct spaces *s, const struct cache_opts *opts, struct pm_err *err)
{
	char path[4096];
	struct stat st;
	int fd;

	if (opts->dir)
		snprintf(path, sizeof path, "%s", opts->dir);
	else if (!default_directory(path, sizeof path))
		return PM_OK;
	if (!make_dirs(path) || (fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		if (!opts->dir)
			return PM_OK; /* a home that cannot be written is no reason not to run */
		err->file = opts->dir;
		return pm_fail_errno(err, "cannot use it as translation cache");
	}
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		/* what others can write, we do not execute */
		close(fd);
		if (!opts->dir)
			return PM_OK;
		err->file = opts->dir;
		return pm_fail_file(
			err, "others own it or can write to it: not used as translation cache");
	}
	s->cache = pm_alloc(sizeof *s->cache);
	*s->cache = (struct cache){ .opts = *opts, .fd = fd };
	s->store = &cache_store;
	pm_keep_in(fd);
	pm_guard();
	return PM_OK;
}

/* A program that breaks the ABI of flags is translated twice, once. An empty file says so from then
 * on: by name the program, as it is now, and this build. */
static bool flags_name(const struct spaces *s, const char *program, char name[48])
{
	struct identity id;
	struct stat st;

	if (!s->cache || !program || stat(program, &st))
		return false;
	identify(&st, &id);
	snprintf(name, 48, "pugmark-flags-%016" PRIx64, pm_mix(&id, sizeof id, build_number()));
	return true;
}

bool cache_knows_flags(const struct spaces *s, const char *program)
{
	char name[48];

	return flags_name(s, program, name) && !faccessat(s->cache->fd, name, F_OK, 0);
}

static void note_flags(struct spaces *s, const char *program)
{
	struct stat st;
	char name[48];
	int fd = flags_name(s, program, name) ?
		pm_kept_open(name, O_WRONLY | O_CREAT, &st) : -1;

	if (fd >= 0)
		close(fd);
}

/* What the code is for. Where there are points, some counting copies are dead. */
static uint32_t kind_of(const struct spaces *s, const struct space *sp)
{
	return (uint32_t)s->kind | s->counts << 4 | (uint32_t)sp->abi_flags << 5;
}

/* "b" and the build id in hex, or "h" and a hash of the text. */
static void make_key(struct module *m, uint32_t kind, int fd, const struct elf_head *head)
{
	struct segment g;
	size_t n = 0, at0;

	/* by this /proc/self/maps knows them, see runtime/syscall.c */
	at0 = (size_t)sprintf(m->key, "pugmark-code-");
	for (unsigned i = 0; !n && elf_segment(head, i, &g); i++) {
		uint8_t note[1024];
		ssize_t got;

		if (g.type != PT_NOTE)
			continue;
		got = pread(fd, note, g.filesz < sizeof note ? g.filesz : sizeof note,
			    (off_t)g.off);
		for (size_t at = 0; got > 0 && at + 12 <= (size_t)got; ) {
			uint32_t h[3];

			memcpy(h, note + at, sizeof h);
			if (h[2] == NT_GNU_BUILD_ID && h[0] == 4 && h[1] && h[1] <= 32 &&
			    at + 16 + h[1] <= (size_t)got && !memcmp(note + at + 12, "GNU", 4)) {
				n = at0 + (size_t)sprintf(m->key + at0, "b");
				for (uint32_t k = 0; k < h[1]; k++)
					n += (size_t)sprintf(m->key + n, "%02x", note[at + 16 + k]);
				break;
			}
			if (h[0] > sizeof note || h[1] > sizeof note)
				break;
			at += 12 + ((h[0] + 3) & ~3u) + ((h[1] + 3) & ~3u);
		}
	}
	if (!n)
		n = at0 +
		    (size_t)sprintf(m->key + at0, "h%016" PRIx64, pm_mix(m->text, m->text_len, 0));
	snprintf(m->key + n, sizeof m->key - n, "-%" PRIx64 "-%u", m->file_off >> 12, kind);
}

/* ---- loading
 * ------------------------------------------------------------------------------------- */
/* Another pugmark's, or for other options: no fault of the file. */
static bool is_other(const struct cache_file *f, uint32_t kind)
{
	return f->version != CACHE_VERSION || f->abi != RT_ABI || f->build != build_number() ||
	       f->kind != kind;
}

static bool same_text(const struct cache_file *f, const struct space *sp, const struct module *m)
{
	struct identity id;

	if (f->i386 != sp->i386 || f->text_len != m->text_len || f->file_off != m->file_off ||
	    f->absolute != m->absolute || (m->absolute && f->lo != m->lo))
		return false;
	identify(&m->st, &id);
	return !memcmp(&id, &f->id, sizeof id) || pm_mix(m->text, m->text_len, 0) == f->text_hash;
}

static void add32(uint8_t *code, const uint32_t *at, size_t n, uint32_t by)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, code + at[i], 4);
		v += by;
		memcpy(code + at[i], &v, 4);
	}
}



static uint64_t shadow_size(const struct module *m)
{
	return (m->hi - m->lo) * 4;
}

/* ---- a file's contents
 * ---------------------------------------------------------------------------- */
static uint32_t number_from(uint32_t wanted, size_t next, uint32_t step)
{
	const uint32_t at = (uint32_t)((next + step - 1) / step * step);

	return wanted >= at && (wanted - at) / step <= MAX_GAP ? wanted : at;
}

/* @n bytes of @fd, from @at on, come to @to as they are; what is behind, on their last page, means
 * nothing. False: they have to be copied. */
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
	m->first_cached = block0;
	m->ncached = f->nblock;
	if (f->lo == m->lo && f->module == mi && map_over(v, f->nblock * sizeof *v, fd, f->blocks))
		return;
	memcpy(v, AT(f, blocks), f->nblock * sizeof *v);
	for (uint32_t i = 0; i < f->nblock; i++) {
		v[i].pc += m->lo - f->lo;
		v[i].module = (uint16_t)mi;
	}
}

/* What in the module's own copy of the file's code depends on its place and on numbers becomes
 * right. */
static void relocate_code(const struct spaces *s, const struct space *sp, const struct module *m,
			  const struct cache_file *f, uint32_t block0, uint32_t link0,
			  uint32_t trace0)
{
	const uint32_t counters =
		s->records ? trace0 : xl_counter_size(sp->i386) * (block0 - f->block0);
	const uint64_t moved = (uint64_t)f->distance - (m->code - m->lo);
	uint8_t *code = s->code + m->code_off;

	if (counters)
		add32(code, AT(f, rel_counter), f->nrel_counter, counters);
	if (link0 != f->link0)
		add32(code, AT(f, rel_link), f->nrel_link, link0 - f->link0);
	if (sp->i386) {
		add32(code, AT(f, rel_pc), f->nrel_pc, (uint32_t)(m->lo - f->lo));
		add32(code, AT(f, rel_place), f->nrel_place,
		      (uint32_t)(m->code - (uint64_t)f->distance));
	} else if (moved) {
		add32(code, AT(f, rel_pc), f->nrel_pc, (uint32_t)moved);
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
		sp->unit[sp->nunit++] = (struct unit){ mi,	    u[i].code,
						       u[i].ncode,  block0 + u[i].block,
						       u[i].nblock, trace0 + u[i].block,
						       false };
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
		uint64_t target = l[i].target + m->lo, *head;

		if (sp->i386)
			target = (uint32_t)target;
		pm_grow(sp->link, sp->nlink, sp->cap_link);
		if (l[i].site == XL_NONE) {
			sp->link[sp->nlink++] = nobodys;
			continue;
		}
		sp->link[sp->nlink] = (struct link){ target,
						     mi,
						     l[i].site,
						     l[i].stub & LINK_STUB,
						     0,
						     false,
						     (l[i].stub & COUNTING_LINK) != 0,
						     (l[i].stub & STALE_LINK) != 0 };
		link_target(s, sp, sp->nlink, target);
		if (m->lo <= target && target < m->hi) {
			head = pm_map_put(&sp->pending, target, NULL);
			sp->link[sp->nlink].next = (uint32_t)*head;
			*head = sp->nlink + 1;
		}
		sp->nlink++;
	}
}

/* What is looked at in the file while it is mapped. */
static void find_sections(struct module *m, const struct cache_file *f)
{
	m->cached_code = AT(f, code);
	m->cached_map = AT(f, map);
	m->ncached_map = f->nmap;
	m->lines = AT(f, lines);
	m->targets = AT(f, targets);
	m->ncached_target = f->ntarget;
	m->entries = AT(f, entries);
	m->ncached_entry = f->nentry;
	m->counters = f->ncounter ? AT(f, counters) : NULL;
	m->counted = AT(f, counted);
	m->nused_counter = f->ncounter ? f->tier[TIERS - 1] : f->nblock;
}

static void load(struct spaces *s, struct space *sp, uint32_t mi, const struct cache_file *f,
		 int fd, bool freeze)
{
	const struct saved_outside *o = AT(f, outsides);
	const uint32_t block0 =
		s->records ? (uint32_t)sp->nblock : number_from(f->block0, sp->nblock, BLOCK_STEP);
	const uint32_t link0 = number_from(f->link0, sp->nlink, LINK_STEP);
	const uint32_t trace0 = s->records ? s->hooks->next_number(s) : 0;
	struct module *m = &sp->module[mi];

	find_sections(m, f);
	/* nothing below writes to what is frozen */
	freeze = freeze && !s->records && !sp->i386 && !(f->code % 4096) && block0 == f->block0 &&
		 link0 == f->link0 && (int64_t)(m->code - m->lo) == f->distance &&
		 s->nfrozen < MAX_FROZEN;
	m->frozen = freeze ? f->ncode & ~4095u : 0;
	m->frozen_shadow = freeze && m->shadowed && f->shadow && space_whole_shadow(m);
	code_put(s, m, m->frozen, f->ncode);
	if (!freeze)
		relocate_code(s, sp, m, f, block0, link0, trace0);
	m->code_len = f->ncode;
	space_blocks(sp, block0 + (size_t)f->nblock);
	load_blocks(sp, mi, f, block0, fd);
	for (uint32_t i = 0; i < f->noutside; i++)
		*pm_map_put(&sp->outside, block0 + o[i].block, NULL) = o[i].code + 1;
	sp->nblock = block0 + (size_t)f->nblock;	/* those left out are nobody's */
	load_units(s, sp, mi, f, block0, trace0);
	load_links(s, sp, mi, f, link0);
	if (!m->frozen_shadow)
		shadow_fill(s, sp, m);
	m->first_link = link0;
	s->cached += f->nblock;
	space_close(s, sp, block0, f->nblock);
}

static bool fits(const struct cache_file *f, const struct module *m)
{
	return f->ncode <= m->code_cap / 2 && f->nused == shadow_bits(m) &&
	       (!f->shadow || (!(f->shadow % 4096) && f->size - f->shadow == shadow_size(m)));
}

static void save_space(struct spaces *s, struct space *sp, bool anything);

/* Processes that run learn for those that begin: a shell for its commands. A little more is not
 * worth a file. */
static void save_others(struct spaces *s, const struct space *sp, const struct module *m)
{
	for (struct space *o = s->all; o; o = o->next_space)
		for (size_t k = 0; o != sp && k < o->nmodule; k++)
			if (o->module[k].used && !o->module[k].dead &&
			    !strcmp(o->module[k].key, m->key) &&
			    (o->module[k].nunit - o->module[k].saved_units) * 32 >
				    o->module[k].nunit) {
				s->hooks->note_used(s, o);
				save_space(s, o, true);
				break;
			}
}

/* Small files are written as a whole. */
static void open_addenda(struct spaces *s, struct space *sp, struct module *m,
			 const struct cache_file *f)
{
	const struct addenda_head h = {
		.magic = "pugmkMR\n",
		.version = ADDENDA_VERSION,
		.abi = RT_ABI,
		.kind = f->kind,
		.counting_copies = m->counting_copies,
		.build = f->build,
		.absolute = m->absolute ? 1 + m->lo : 0,
		.text_hash = f->text_hash,
		.text_len = m->text_len,
		.file_off = m->file_off,
	};

	if (f->ncode >= SMALL_FILE && !sp->i386)
		m->addenda = addenda_open(s, m, &h, f->ncode / ADDENDA_SHARE);
}

static bool is_good(const struct module *m, const struct cache_file *f, int fd,
		    const struct stat *st)
{
	const bool whole = cache_file_whole(f, (uint64_t)st->st_size);

	if (whole && pm_ledger_checked(st))
		return true;
	if (!whole || !cache_file_good(f, fd)) {
		pm_kept_drop(m->key, st, "it is damaged");
		return false;
	}
	pm_ledger_check(st);
	return true;
}

/* The file @in, mapped up to its shadow, if it is for @m; what is no good is dropped. */
static const struct cache_file *map_good(const struct spaces *s, const struct space *sp,
					 const struct module *m, int in, const struct stat *st,
					 size_t *size)
{
	const uint32_t kind = kind_of(s, sp);
	const struct cache_file *f;
	struct cache_file head;

	if (st->st_size < (off_t)sizeof head || pread(in, &head, sizeof head, 0) != sizeof head ||
	    memcmp(head.magic, CACHE_MAGIC, sizeof head.magic)) {
		pm_kept_drop(m->key, st, "it is damaged at its beginning");
		return NULL;
	}
	if (is_other(&head, kind))
		return NULL;
	if (head.size != (uint64_t)st->st_size || head.shadow > head.size) {
		pm_kept_drop(m->key, st, "it has %lld bytes, not %" PRIu64, (long long)st->st_size,
			     head.size);
		return NULL;
	}
	*size = head.shadow ? head.shadow : head.size;
	f = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, in, 0);
	if (f == MAP_FAILED)
		return NULL;
	if (is_good(m, f, in, st) && same_text(f, sp, m) && fits(f, m))
		return f;
	munmap((void *)(uintptr_t)f, *size);
	return NULL;
}

static void load_module(struct spaces *s, struct space *sp, uint32_t mi, int fd,
			const struct elf_head *elf, bool freeze)
{
	struct module *m = &sp->module[mi];
	const struct cache_file *f;
	int in;

	if (fd < 0)
		return;
	make_key(m, kind_of(s, sp), fd, elf);
	m->used = pm_alloc(shadow_bits(m));
	m->saved_used = pm_alloc(shadow_bits(m));
	m->filled = pm_alloc(shadow_bits(m));
	save_others(s, sp, m);
	in = pm_kept_open(m->key, O_RDONLY, &m->cache_st);
	if (in < 0)
		return;
	pm_kept_use(m->key);
	f = map_good(s, sp, m, in, &m->cache_st, &m->cache_size);
	if (!f) {
		close(in);
		return;
	}
	memcpy(m->used, AT(f, used), f->nused);
	open_addenda(s, sp, m, f);
	memcpy(m->saved_used, m->used, f->nused);
	m->saved_units = f->nunit;
	m->saved_code = f->ncode;
	m->saved_sum = f->sum;
	load(s, sp, mi, f, in, freeze);
	m->cache = f;
	/* copied: only the map and the targets are looked at from now on */
	if (m->cache_size >= MANY)
		madvise((void *)(uintptr_t)f, m->cache_size, MADV_DONTNEED);
	if (!m->frozen && !m->frozen_shadow) {
		close(in);
		return;
	}
	m->file = in;
	m->file_id = RT_FILE_ID(m->cache_st.st_dev, m->cache_st.st_ino);
	m->file_code = f->code;
	m->file_shadow = f->shadow;
	s->nfrozen++;
}

/* The file that @m came from, when it is looked at again: it is as it was, or nobody can have come
 * to it since. */
static bool is_unchanged(const struct spaces *s, const struct module *m)
{
	const struct stat *was = &m->cache_st;
	struct stat st;

	if (!m->cache || m->cache_changed)
		return !m->cache_changed;
	if (m->file >= 0 ? fstat(m->file, &st)
			 : fstatat(s->cache->fd, m->key, &st, AT_SYMLINK_NOFOLLOW))
		return m->file < 0;
	if (st.st_dev != was->st_dev || st.st_ino != was->st_ino || !st.st_nlink)
		return m->file < 0 || (st.st_size == was->st_size &&
				       !memcmp(&st.st_mtim, &was->st_mtim, sizeof st.st_mtim));
	return st.st_size == was->st_size &&
	       !memcmp(&st.st_mtim, &was->st_mtim, sizeof st.st_mtim) &&
	       !memcmp(&st.st_ctim, &was->st_ctim, sizeof st.st_ctim);
}

/* ---- saving
 * -------------------------------------------------------------------------------------- */
static void complain(struct spaces *s)
{
	if (!s->cache->complained)
		fprintf(stderr, "pugmark: cannot write the translation cache: %s\n",
			strerror(errno));
	s->cache->complained = true;
}

/* A file that is being written: piece by piece, so that none of it is ever held as a whole. */
struct out {
	int fd;				/* -1: could not be written */
	uint64_t at, sum;		/* of what comes next, by the sections so far */
	size_t n;
	_Alignas(64) uint8_t piece[PIECE];
};

static void put_bytes(struct out *o, const void *p, size_t n, uint64_t at)
{
	struct pm_err err = { 0 };		/* complain() says it */

	if (o->fd < 0 || pm_temp_write(o->fd, p, n, at, &err) == PM_OK)
		return;
	close(o->fd);
	o->fd = -1;
}

static void put_piece(struct out *o, const void *p, size_t n)
{
	o->sum = pm_mix(p, n, o->sum);
	put_bytes(o, p, n, o->at);
	o->at += n;
}

/* How much of @n fits into the piece, and that so much has been put there. */
static size_t room(const struct out *o, uint64_t n)
{
	return n < PIECE - o->n ? (size_t)n : PIECE - o->n;
}

static void filled(struct out *o, size_t n)
{
	o->n += n;
	if (o->n < PIECE)
		return;
	put_piece(o, o->piece, o->n);
	o->n = 0;
}

static void put(struct out *o, const void *p, size_t n)
{
	for (size_t k; n; p = (const uint8_t *)p + k, n -= k) {
		k = room(o, n);
		if (k == PIECE) {
			put_piece(o, p, k);
		} else {
			memcpy(o->piece + o->n, p, k);
			filled(o, k);
		}
	}
}

/* What is put from here on is a section. Returns its place; @align is a power of two. */
static uint64_t begin(struct out *o, size_t align)
{
	if (o->n)
		put_piece(o, o->piece, o->n);
	o->n = 0;
	return o->at = (o->at + align - 1) & ~(uint64_t)(align - 1);
}

static uint64_t put_section(struct out *o, const struct pm_buf *b)
{
	const uint64_t at = begin(o, 8);

	put(o, b->p, b->n);
	return at;
}

/* All entries, as they are in memory. */
static void put_shadow(struct out *o, const struct module *m, const struct shadow_entry *e,
		       struct cache_file *f)
{
	static int32_t page[SHADOW_TEXT];
	uint32_t pages = 0;

	for (uint32_t i = 0; i < f->nentry; i++)
		pages += !i || e[i].pc / SHADOW_TEXT != e[i - 1].pc / SHADOW_TEXT;
	f->shadow = 0;
	f->size = begin(o, 1);
	if (f->i386 || !pages || pages > SHADOW_PAGES)
		return;
	f->shadow = begin(o, 4096);
	f->size = f->shadow + shadow_size(m);
	if (o->fd >= 0 && ftruncate(o->fd, (off_t)f->size))
		f->shadow = 0;		/* then it is not as long as it says, and not used */
	for (uint32_t i = 0, k; i < f->nentry; ) {
		const uint32_t no = e[i].pc / SHADOW_TEXT;

		memset(page, 0, sizeof page);
		for (k = i; k < f->nentry && e[k].pc / SHADOW_TEXT == no; k++)
			page[e[k].pc % SHADOW_TEXT] = (int32_t)(f->distance + e[k].code - e[k].pc);
		put_bytes(o, page, sizeof page, f->shadow + (uint64_t)no * sizeof page);
		o->sum = cache_shadow_sum(o->sum, page, no);
		i = k;
	}
}

/* A module that is being saved. Every section is what it was in the file that was loaded (@was),
 * but for a few places, and then what is new: so little is looked at, and the numbers of blocks and
 * links stay. */
enum { SET_LINKS, SET_COUNTERS, SET_STUBS, SETS };
struct saving {
	struct spaces *s;
	struct space *sp;
	struct module *m;
	uint32_t mi;
	const struct cache_file *was;	/* all zero: there was none */
	struct cache_file *f;
	struct out out;
	uint32_t *unit0; /* of each unit of the space: its first block in the file; XL_NONE: not in
			    it */
	uint32_t *link0; /* of each link of the space: its number in the file; XL_NONE likewise */
	uint32_t *counter;		/* of each block of the file; NULL: its own number */
	struct pm_buf targets;		/* struct target, those that are new, by number */
	struct pm_buf sets[SETS]; /* struct set, ascending: fields of the code that are to be as
				     they say */
};

struct set {
	uint32_t at, v;
};

struct target {
	uint32_t pc, no;		/* pc: from lo */
};

/* @n bytes at @at of the file that was loaded. Read, not looked at where it is mapped: that costs
 * more, and the memory is ours as long as it is. */
static void old_bytes(const struct saving *v, uint64_t at, void *to, size_t n)
{
	struct pm_err err = { 0 };

	if (v->m->file < 0 || pm_temp_read(v->m->file, to, n, at, &err) != PM_OK)
		memcpy(to, (const uint8_t *)v->was + at, n);
}

static void put_old(struct saving *v, uint64_t at, uint64_t n)
{
	struct out *o = &v->out;

	for (size_t k; n; at += k, n -= k) {
		k = room(o, n);
		old_bytes(v, at, o->piece + o->n, k);
		filled(o, k);
	}
}

/* The number in the file of block @i of the space; XL_NONE: it is not in it. */
static uint32_t file_block(const struct saving *v, uint32_t i)
{
	const struct unit *u;

	if (i - v->m->first_cached < v->m->ncached)
		return i - v->m->first_cached;
	u = unit_of(v->sp, i);
	if (i - u->block >= u->nblock || v->unit0[u - v->sp->unit] == XL_NONE)
		return XL_NONE;
	return v->unit0[u - v->sp->unit] + (i - u->block);
}

/* The block of @sp that has number @trace in traces; it belongs to @m, whose units ascend by
 * number. */
static uint32_t traced_block(const struct space *sp, const struct module *m, uint32_t trace)
{
	size_t a = 0, z = m->nunit;

	while (z - a > 1) {
		size_t mid = (a + z) / 2;

		if (sp->unit[m->unit[mid]].number <= trace)
			a = mid;
		else
			z = mid;
	}
	return sp->unit[m->unit[a]].block + (trace - sp->unit[m->unit[a]].number);
}

static int by_first(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* @n elements of @words u32 by the first of them. They mostly are in order. */
static void sort_first(void *p, size_t n, size_t words)
{
	const uint32_t *v = p;

	for (size_t i = 1; i < n; i++)
		if (v[i * words] < v[(i - 1) * words]) {
			qsort(p, n, words * sizeof *v, by_first);
			return;
		}
}

/* ---- saving: units and blocks
 * ---------------------------------------------------------------------- */
static const struct unit *new_unit(const struct saving *v, size_t i)
{
	const struct unit *u = &v->sp->unit[v->m->unit[v->was->nunit + i]];

	return u->once ? NULL : u;
}

static size_t new_units(const struct saving *v)
{
	return v->m->nunit - v->was->nunit;
}

/* Numbers the blocks and counts what will be there. */
static void number_units(struct saving *v)
{
	struct cache_file *f = v->f;
	const struct unit *u;

	v->unit0 = pm_alloc((v->sp->nunit + 1) * sizeof *v->unit0);
	memset(v->unit0, 255, v->sp->nunit * sizeof *v->unit0);
	f->nunit = v->was->nunit;
	f->nblock = v->was->nblock;
	f->nmap = v->was->nmap;
	for (size_t i = 0; i < new_units(v); i++)
		if ((u = new_unit(v, i))) {
			v->unit0[u - v->sp->unit] = f->nblock;
			f->nunit++;
			f->nblock += u->nblock;
			for (uint32_t k = 0; k < u->nblock; k++)
				f->nmap += v->sp->block[u->block + k].nmap;
		}
}

static void put_units(struct saving *v)
{
	const struct unit *u;

	v->f->units = begin(&v->out, 8);
	put_old(v, v->was->units, v->was->nunit * sizeof(struct saved_unit));
	for (size_t i = 0; i < new_units(v); i++)
		if ((u = new_unit(v, i)))
			put(&v->out,
			    &(struct saved_unit){ u->code, u->ncode, v->unit0[u - v->sp->unit],
						  u->nblock },
			    sizeof(struct saved_unit));
}

/* Block @b is number @i of the file and number @at of the space. */
static void add_target(struct saving *v, const struct blk *b, uint32_t i, uint32_t at)
{
	const struct target x = { (uint32_t)(b->pc - v->m->lo), i };

	if (!block_continues(v->s, v->sp, at) && !(b->flags & XL_COUNTS) && i < MAX_TARGETS &&
	    x.pc < v->f->text_len)
		pm_buf_add(&v->targets, &x, sizeof x);
}

/* The list is the old one, and in each line what is new behind that. Of an old one that is damaged
 * nothing is kept: it will be translated again. */
static void put_targets(struct saving *v)
{
	const struct target *new = (const struct target *)v->targets.p;
	const size_t nnew = v->targets.n / sizeof *new;
	const uint64_t nline = lines_of(v->f->text_len);
	uint32_t *line = pm_alloc(nline * 4), *next = pm_alloc(nline * 4), nold = v->was->ntarget,
		 n = 0;
	uint32_t *old = pm_alloc(nold * 4ull), *all;

	old_bytes(v, v->was->targets, old, nold * 4ull);
	if (nold)
		old_bytes(v, v->was->lines, next, nline * 4);
	for (uint64_t i = 0; i < nline; i++)
		if (next[i] > nold || (i && next[i] < next[i - 1]))
			nold = 0;
	all = pm_alloc((nold + nnew) * 4);
	for (size_t k = 0; k < nnew; k++)
		line[new[k].pc / TARGET_LINE]++;
	for (uint64_t i = 0; i < nline; i++) {
		const uint32_t more = line[i],
			       had = nold && i + 1 < nline ? next[i + 1] - next[i] : 0;

		memcpy(all + n, old + (nold ? next[i] : 0), had * 4ull);
		line[i] = n;
		next[i] = n + had;
		n += had + more;
	}
	for (size_t k = 0; k < nnew; k++)
		all[next[new[k].pc / TARGET_LINE]++] = target_entry(new[k].pc, new[k].no);
	v->f->lines = begin(&v->out, 8);
	put(&v->out, line, nline * 4);
	v->f->targets = begin(&v->out, 8);
	put(&v->out, all, n * 4ull);
	v->f->ntarget = n;
	free(line);
	free(next);
	free(old);
	free(all);
}

static void put_blocks(struct saving *v)
{
	const uint32_t *got = (const uint32_t *)v->m->entered.p,
		       ngot = (uint32_t)(v->m->entered.n / 4);
	const uint32_t first = v->m->first_cached, most = PIECE / sizeof(struct blk);
	struct blk *b = (struct blk *)v->out.piece;
	uint32_t map = v->was->nmap, c = 0, n;
	const struct unit *u;

	v->f->blocks = begin(&v->out, 4096);
	for (uint32_t i = 0; i < v->was->nblock; i += n) {
		n = v->was->nblock - i < most ? v->was->nblock - i : most;
		old_bytes(v, v->was->blocks + (uint64_t)i * sizeof *b, b, n * sizeof *b);
		for (; c < ngot && got[c] - first < i + n; c++)
			b[got[c] - first - i].indirect = v->sp->block[got[c]].indirect;
		for (uint32_t k = 0; k < n; k++) {
			b[k].pc += v->f->lo - v->was->lo;
			b[k].module = (uint16_t)v->f->module;
		}
		v->out.n = n * sizeof *b;
		if (n == most) {
			put_piece(&v->out, b, v->out.n);
			v->out.n = 0;
		}
	}
	for (size_t i = 0; i < new_units(v); i++) {
		if (!(u = new_unit(v, i)))
			continue;
		for (uint32_t k = 0; k < u->nblock; k++) {
			struct blk x = v->sp->block[u->block + k];

			add_target(v, &x, v->unit0[u - v->sp->unit] + k, u->block + k);
			x.pc += v->f->lo - v->m->lo;
			x.module = (uint16_t)v->f->module;
			x.map = map;
			map += x.nmap;
			put(&v->out, &x, sizeof x);
		}
	}
}

static void put_flows(struct saving *v)
{
	const struct unit *u;

	v->f->flows = begin(&v->out, 4096);
	put_old(v, v->was->flows, v->was->nblock * sizeof *v->sp->flow);
	for (size_t i = 0; i < new_units(v); i++)
		if ((u = new_unit(v, i)))
			put(&v->out, v->sp->flow + u->block, u->nblock * sizeof *v->sp->flow);
}

static void put_map(struct saving *v)
{
	const struct unit *u;

	v->f->map = begin(&v->out, 8);
	put_old(v, v->was->map, v->was->nmap * sizeof(struct xl_map));
	for (size_t i = 0; i < new_units(v); i++)
		for (uint32_t k = 0; (u = new_unit(v, i)) && k < u->nblock; k++) {
			const struct blk *b = &v->sp->block[u->block + k];

			if (b->nmap)
				put(&v->out, module_map(v->m, b->map),
				    b->nmap * sizeof(struct xl_map));
		}
}

/* Entries by address: those of the file, and of blocks that are new or have got one since. */
static struct pm_buf all_entries(const struct saving *v)
{
	const struct shadow_entry *old = v->was->nentry ? AT(v->was, entries) : NULL, *add;
	const uint32_t *got = (const uint32_t *)v->m->entered.p;
	struct pm_buf all = { 0 }, new = { 0 };
	const struct unit *u;
	size_t i = 0, k = 0, n;

	for (size_t j = 0; j < v->m->entered.n / 4; j++) {
		const struct blk *b = &v->sp->block[got[j]];

		if (b->flags & XL_COUNTS)
			continue;
		pm_buf_add(&new,
			   &(struct shadow_entry){ (uint32_t)(b->pc - v->m->lo), b->indirect },
			   sizeof *add);
	}
	for (size_t j = 0; j < new_units(v); j++)
		for (uint32_t c = 0; (u = new_unit(v, j)) && c < u->nblock; c++) {
			const struct blk *b = &v->sp->block[u->block + c];

			if (b->indirect != XL_NONE && !(b->flags & XL_COUNTS) && space_guests(b))
				pm_buf_add(&new,
					   &(struct shadow_entry){ (uint32_t)(b->pc - v->m->lo),
								   b->indirect },
					   sizeof *add);
		}
	add = (const struct shadow_entry *)new.p;
	n = new.n / sizeof *add;
	sort_first(new.p, n, sizeof *add / 4);
	while (i < v->was->nentry || k < n)
		pm_buf_add(&all,
			   k == n || (i < v->was->nentry && old[i].pc <= add[k].pc) ? &old[i++]
										    : &add[k++],
			   sizeof *add);
	pm_buf_release(&new);
	return all;
}

static void put_outsides(struct saving *v)
{
	uint64_t block, code;

	v->f->outsides = begin(&v->out, 8);
	v->f->noutside = v->was->noutside;
	put_old(v, v->was->outsides, v->was->noutside * sizeof(struct saved_outside));
	for (size_t j = 0; pm_map_next(&v->sp->outside, &j, &block, &code); ) {
		const struct saved_outside e = { file_block(v, (uint32_t)block),
						 (uint32_t)code - 1 };

		if (v->sp->block[block].module != v->mi || e.code < v->was->ncode ||
		    e.block == XL_NONE)
			continue;
		put(&v->out, &e, sizeof e);
		v->f->noutside++;
	}
}

/* ---- saving: code
 * ---------------------------------------------------------------------------------- */
static void add_set(struct saving *v, unsigned which, uint32_t at, uint32_t value)
{
	pm_buf_add(&v->sets[which], &(struct set){ at, value }, sizeof(struct set));
}

static uint32_t field(const struct saving *v, uint32_t at)
{
	uint32_t value;

	memcpy(&value, v->s->code + v->m->code_off + at, 4);
	return value;
}

/* Is link @i patched, or would be if its code were ours? *@rel: what its rel32 is then. */
static bool is_resolved(const struct saving *v, uint32_t i, uint32_t *rel)
{
	const struct link *l = &v->sp->link[i];
	const uint64_t *shortcut = l->site < v->m->frozen ? space_shortcut(v->s, v->sp, i) : NULL;

	if (l->done) {
		*rel = field(v, l->site);
		return true;
	}
	if (!shortcut || !*shortcut)
		return false;
	*rel = (uint32_t)(*shortcut - (v->m->code + l->site + 4));
	return true;
}

/* Links within the module that have been resolved are part of its code and done with; in the file's
 * own list they keep their place. Those to other modules are made anew. */
static void put_links(struct saving *v)
{
	const struct saved_link *old = v->was->nlink ? AT(v->was, links) : NULL;
	const struct space *sp = v->sp;
	const struct module *m = v->m;

	v->link0 = pm_alloc((sp->nlink + 1) * sizeof *v->link0);
	memset(v->link0, 255, sp->nlink * sizeof *v->link0);
	v->f->links = begin(&v->out, 8);
	for (uint32_t i = 0; i < v->was->nlink; i++) {
		const struct link *l = &sp->link[m->first_link + i];
		struct saved_link x = old[i];
		uint32_t rel;

		if (x.site != XL_NONE && m->lo <= l->target && l->target < m->hi &&
		    is_resolved(v, m->first_link + i, &rel)) {
			add_set(v, SET_LINKS, x.site, rel);
			x.site = XL_NONE;
		}
		v->link0[m->first_link + i] = i;
		put(&v->out, &x, sizeof x);
	}
	v->f->nlink = v->was->nlink;
	for (size_t i = 0; i < sp->nlink; i++) {
		const struct link *l = &sp->link[i];
		const struct saved_link x = { l->target - m->lo, l->site,
					      l->stub | (l->counting ? COUNTING_LINK : 0) |
						      (l->stale ? STALE_LINK : 0) };

		if (l->module != v->mi || l->site == XL_NONE || i - m->first_link < v->was->nlink ||
		    (l->done && m->lo <= l->target && l->target < m->hi))
			continue;
		add_set(v, SET_LINKS, l->site, l->stub - (l->site + 4));
		v->link0[i] = v->f->nlink++;
		put(&v->out, &x, sizeof x);
	}
}

/* Relocations of the old code and of the new, which lies behind it. */
static uint64_t put_places(struct saving *v, uint64_t old, uint32_t nold, struct pm_buf *new,
			   uint32_t *n)
{
	const uint64_t at = begin(&v->out, 8);

	sort_first(new->p, new->n / 4, 1);
	put_old(v, old, nold * 4ull);
	put(&v->out, new->p, new->n);
	*n = nold + (uint32_t)(new->n / 4);
	return at;
}

/* ---- saving: counters
 * ------------------------------------------------------------------------------- */
static uint32_t saved_counter(const struct saving *v, uint32_t block)
{
	return v->counter ? v->counter[block] : block;
}

#define DERIVED (TIERS + 1)			/* of a counter that nothing counts in */

/* How much block @i of the space, @k of unit @u, number @no of the file, has run, in this process
 * or in one that wrote the file. */
static unsigned tier_of(const struct saving *v, const struct unit *u, uint32_t k, uint32_t no)
{
	const struct cache_file *was = v->was;
	const uint32_t *counter = was->ncounter ? AT(was, counters) : NULL;
	unsigned tier = blocks_tier(v->sp, u->block + k);

	for (unsigned t = 0; counter && no < was->ncounter && t < tier; t++)
		if (counter[no] < was->tier[t])
			tier = t;
	return tier == TIERS && xl_derived(&v->sp->flow[u->block + k], k) ? DERIVED : tier;
}

static void number_counters(struct saving *v)
{
	struct cache_file *f = v->f;
	uint8_t *tier;
	uint32_t next = 0;

	if (v->s->records || v->sp->i386)
		return;
	tier = pm_alloc(f->nblock + 1);
	v->counter = pm_alloc((f->nblock + 1) * sizeof *v->counter);
	memset(tier, DERIVED, f->nblock);
	for (size_t i = 0; i < v->m->nunit; i++) {
		const struct unit *u = &v->sp->unit[v->m->unit[i]];
		const uint32_t old = u->block - v->m->first_cached;
		const uint32_t no = old < v->was->nblock ? old : v->unit0[u - v->sp->unit];

		for (uint32_t k = 0; no != XL_NONE && k < u->nblock; k++)
			tier[no + k] = (uint8_t)tier_of(v, u, k, no + k);
	}
	for (unsigned k = 0; k <= DERIVED; k++) {
		for (uint32_t no = 0; no < f->nblock; no++)
			if (tier[no] == k)
				v->counter[no] = next++;
		if (k < TIERS)
			f->tier[k] = next;
	}
	f->ncounter = f->nblock;
	free(tier);
}

static void put_counters(struct saving *v)
{
	struct cache_file *f = v->f;
	uint32_t *counted = pm_alloc((f->ncounter + 1) * sizeof *counted);

	for (uint32_t i = 0; i < f->ncounter; i++)
		counted[v->counter[i]] = i;
	f->counters = begin(&v->out, 8);
	put(&v->out, v->counter, f->ncounter * sizeof *v->counter);
	f->counted = begin(&v->out, 8);
	put(&v->out, counted, f->ncounter * sizeof *counted);
	free(counted);
}

/* Of each counter in the file's old code which it will be; the caller free()s it. NULL: none
 * changes. */
static uint32_t *counters_now(const struct saving *v)
{
	const uint32_t n = v->was->nblock,
		       *counter = v->was->ncounter ? AT(v->was, counters) : NULL;
	uint32_t *now;

	if (!n || (v->f->block0 == v->was->block0 && !v->counter))
		return NULL;
	now = pm_alloc(n * sizeof *now);
	for (uint32_t i = 0; i < n; i++)
		if (!counter || counter[i] < n)
			now[counter ? counter[i] : i] = saved_counter(v, i);
	return now;
}

/* Of @all places in new code those that hold a number of something that is in the file. */
static struct pm_buf new_counters(struct saving *v)
{
	const uint32_t each = xl_counter_size(v->sp->i386),
		       *at = (const uint32_t *)v->m->rel_counter.p;
	const struct module *last = NULL;
	struct pm_buf kept = { 0 };

	for (size_t i = 0; i < v->m->rel_counter.n / 4; i++) {
		const uint32_t was = field(v, at[i]);
		const uint32_t block =
			v->s->records ? traced_block(v->sp, v->m, RT_RECORD_NUMBER(was))
				      : counter_block(v->sp, (was - RT_COUNTERS) / each, &last);
		const uint32_t no = block < v->sp->nblock ? file_block(v, block) : XL_NONE;

		if (no == XL_NONE)
			continue;
		add_set(v, SET_COUNTERS, at[i],
			v->s->records ? RT_RECORD(no, v->sp->block[block].record)
				      : RT_COUNTERS + each * (v->f->block0 + saved_counter(v, no)));
		pm_buf_add(&kept, &at[i], 4);
	}
	return kept;
}

static struct pm_buf new_stubs(struct saving *v)
{
	const uint32_t *at = (const uint32_t *)v->m->rel_link.p;
	struct pm_buf kept = { 0 };

	for (size_t i = 0; i < v->m->rel_link.n / 4; i++) {
		const uint32_t link = field(v, at[i]),
			       no = link < v->sp->nlink ? v->link0[link] : XL_NONE;

		if (no == XL_NONE)
			continue;
		add_set(v, SET_STUBS, at[i], v->f->link0 + no);
		pm_buf_add(&kept, &at[i], 4);
	}
	return kept;
}

/* Fields of the code, ascending, that are to become something else: by @by more than they are, with
 * @set what stands there, with @now another counter, @was and @is being the first ones. */
struct change {
	const uint32_t *at;
	const struct set *set;		/* instead */
	const uint32_t *now;
	uint32_t was, is, each, nnow;
	uint32_t n, by, next;
};

static void renumber(const struct change *x, uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	if ((v - x->was) / x->each >= x->nnow)
		return;			/* not as it was written; see file.h (3) */
	v = x->is + x->each * x->now[(v - x->was) / x->each];
	memcpy(p, &v, sizeof v);
}

/* Of the code's [lo, hi), which is at @p, up to @end: what may be cut off by that comes again. */
static void change(struct change *x, uint8_t *p, uint32_t lo, uint32_t hi, uint32_t end)
{
	uint32_t i = x->next, at;

	for (; i < x->n && (at = x->set ? x->set[i].at : x->at[i]) < hi; i++) {
		if (at < lo || at + 4 > hi)
			continue;
		if (x->set)
			memcpy(p + (at - lo), &x->set[i].v, 4);
		else if (x->now)
			renumber(x, p + (at - lo));
		else
			add32(p + (at - lo), &(uint32_t){ 0 }, 1, x->by);
	}
	while (i > x->next && (x->set ? x->set[i - 1].at : x->at[i - 1]) + 4 >= end)
		i--;
	x->next = i;
}

/* Old code is as it was in the file, but for what depends on where things are now. */
static void put_code_section(struct saving *v)
{
	const struct cache_file *was = v->was, *f = v->f;
	const uint32_t each = xl_counter_size(v->sp->i386);
	uint32_t *now = v->s->records ? NULL : counters_now(v);
	static uint8_t win[PIECE + 8];
	struct change c[4 + SETS];
	unsigned nc = 0;

	if (was->ncode && now)
		c[nc++] = (struct change){ .at = AT(was, rel_counter),
					   .n = was->nrel_counter,
					   .now = now,
					   .nnow = was->nblock,
					   .each = each,
					   .was = RT_COUNTERS + each * was->block0,
					   .is = RT_COUNTERS + each * f->block0 };
	if (was->ncode && f->link0 != was->link0)
		c[nc++] = (struct change){ .at = AT(was, rel_link),
					   .n = was->nrel_link,
					   .by = f->link0 - was->link0 };
	if (was->ncode && (v->sp->i386 ? f->lo != was->lo : f->distance != was->distance))
		c[nc++] = (struct change){
			.at = AT(was, rel_pc),
			.n = was->nrel_pc,
			.by = (uint32_t)(v->sp->i386 ? f->lo - was->lo
						     : (uint64_t)(was->distance - f->distance))
		};
	if (was->ncode && f->distance != was->distance)
		c[nc++] = (struct change){ .at = AT(was, rel_place),
					   .n = was->nrel_place,
					   .by = (uint32_t)(f->distance - was->distance) };
	for (unsigned k = 0; k < SETS; k++)
		c[nc++] = (struct change){ .set = (const struct set *)v->sets[k].p,
					   .n = (uint32_t)(v->sets[k].n / sizeof(struct set)) };
	v->f->code = begin(&v->out, 4096);
	for (uint32_t a = 0, n; a < f->ncode; a += n) {
		/* fields may lie across the ends: a little more, on both sides */
		const uint32_t end = (n = f->ncode - a < PIECE ? f->ncode - a : PIECE) + a;
		const uint32_t lo = a ? a - 4 : 0, hi = f->ncode - end < 4 ? f->ncode : end + 4;
		const uint32_t old = was->ncode < lo ? 0 : (was->ncode < hi ? was->ncode : hi) - lo;

		if (old)
			old_bytes(v, was->code + lo, win, old);
		memcpy(win + old, v->s->code + v->m->code_off + lo + old, hi - lo - old);
		for (unsigned k = 0; k < nc; k++)
			change(&c[k], win, lo, hi, end);
		put(&v->out, win + (a - lo), n);
	}
	free(now);
}

/* ---- saving: files
 * --------------------------------------------------------------------------------- */
/* Somebody else has written @m's file meanwhile, and knows more. */
static bool superseded(const struct module *m, const struct cache_file *f)
{
	struct stat st;
	const int fd = pm_kept_open(m->key, O_RDONLY, &st);
	struct cache_file now;
	const bool whole = fd >= 0 && pread(fd, &now, sizeof now, 0) == sizeof now;

	if (fd >= 0)
		close(fd);
	return whole && !memcmp(now.magic, f->magic, sizeof now.magic) &&
	       now.version == f->version && now.abi == f->abi && now.build == f->build &&
	       now.text_hash == f->text_hash && now.text_len == f->text_len &&
	       now.sum != m->saved_sum && now.nblock >= f->nblock;
}

static void write_module(struct saving *v)
{
	struct cache_file *f = v->f;
	const struct cache_file *was = v->was;
	struct module *m = v->m;
	struct out *o = &v->out;
	struct pm_buf entries = all_entries(v), counters = { 0 }, stubs = { 0 };

	put_units(v);
	put_blocks(v);
	put_flows(v);
	put_links(v);
	counters = new_counters(v);
	stubs = new_stubs(v);
	for (unsigned k = 0; k < SETS; k++)
		sort_first(v->sets[k].p, v->sets[k].n / sizeof(struct set), sizeof(struct set) / 4);
	f->rel_pc = put_places(v, was->rel_pc, was->nrel_pc, &m->rel_pc, &f->nrel_pc);
	f->rel_counter =
		put_places(v, was->rel_counter, was->nrel_counter, &counters, &f->nrel_counter);
	f->rel_link = put_places(v, was->rel_link, was->nrel_link, &stubs, &f->nrel_link);
	f->rel_place =
		put_places(v, was->rel_place, was->nrel_place, &m->rel_place, &f->nrel_place);
	pm_buf_release(&counters);
	pm_buf_release(&stubs);
	f->entries = put_section(o, &entries);
	f->nentry = (uint32_t)(entries.n / sizeof(struct shadow_entry));
	put_outsides(v);
	put_counters(v);
	put_code_section(v);
	f->used = begin(o, 8);
	put(o, m->used, f->nused);
	put_map(v);
	put_targets(v);
	put_shadow(o, m, (const struct shadow_entry *)entries.p, f);
	pm_buf_release(&entries);
	f->sum = cache_file_sum(f, o->sum);
	put_bytes(o, f, sizeof *f, 0);
}

/* Where @m's blocks say that they are. It need not be where they are, but if it is, they are mapped
 * and not copied: that is for small programs, whose few libraries lie highest. Who lies anywhere
 * has no say. */
static uint64_t place_of(const struct spaces *s, const struct space *sp, const struct module *m)
{
	if (!m->cache || m->absolute || sp->i386 ||
	    (!s->cache->opts.aslr && m->cache->lo - m->lo > LIBRARIES))
		return m->lo;
	return m->cache->lo;
}

/* @f says at which numbers its blocks and links shall begin, and is completed. */
static void save_module(struct spaces *s, struct space *sp, uint32_t mi, struct cache_file *f)
{
	static const struct cache_file none;
	struct module *m = &sp->module[mi];
	struct saving v = {
		.s = s, .sp = sp, .m = m, .mi = mi, .f = f, .was = m->cache ? m->cache : &none
	};
	bool unnamed, placed;
	char tmp[160];

	*f = (struct cache_file){
		.magic = CACHE_MAGIC,
		.version = CACHE_VERSION,
		.abi = RT_ABI,
		.kind = kind_of(s, sp),
		.absolute = m->absolute,
		.i386 = sp->i386,
		.build = build_number(),
		.text_len = m->text_len,
		.file_off = m->file_off,
		.lo = place_of(s, sp, m),
		.text_hash = m->cache ? m->cache->text_hash : pm_mix(m->text, m->text_len, 0),
		.distance = (int64_t)(sp->i386 ? m->code : m->code - m->lo),
		.ncode = (uint32_t)m->code_len,
		.block0 = s->records ? 0 : f->block0,
		.link0 = f->link0,
		.nused = shadow_bits(m),
		.module = m->cache && m->cache->module < mi ? m->cache->module
							    : mi, /* that of small programs */
	};
	identify(&m->st, &f->id);
	if (s->records)			/* counts nothing: whatever may be needed */
		memset(m->used, 255, shadow_bits(m));
	sort_first(m->entered.p, m->entered.n / 4, 1);
	number_units(&v);
	number_counters(&v);
	if (superseded(m, f))
		goto out;
	snprintf(tmp, sizeof tmp, ".%s.%d", m->key, getpid());
	v.out.at = sizeof *f;
	v.out.sum = CACHE_SUM_SEED;
	/* without a name, where that can be had, it goes with us whatever happens */
	v.out.fd = pm_temp_unnamed(s->cache->fd, ".", PM_KEPT_MODE);
	unnamed = v.out.fd >= 0;
	if (!unnamed) {
		unlinkat(s->cache->fd, tmp, 0);
		v.out.fd =
			openat(s->cache->fd, tmp,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PM_KEPT_MODE);
	}
	write_module(&v);
	/* over a file, ext4 waits until everything has a place on the disk; checksums tell what has
	 * not */
	if (v.out.fd >= 0)
		unlinkat(s->cache->fd, m->key, 0);
	placed = v.out.fd >= 0 && (unnamed ? pm_temp_link(v.out.fd, s->cache->fd, m->key)
					   : !renameat(s->cache->fd, tmp, s->cache->fd, m->key));
	if (placed) {
		s->cache->wrote = true;
		m->saved_sum = f->sum;
		if (f->ncode >= SMALL_FILE)
			addenda_remove(s, m);
	} else {
		if (v.out.fd < 0 || errno != EEXIST)		/* another one has just come */
			complain(s);
		if (!unnamed)
			unlinkat(s->cache->fd, tmp, 0);
	}
	if (v.out.fd >= 0)
		close(v.out.fd);
out:
	for (unsigned k = 0; k < SETS; k++)
		pm_buf_release(&v.sets[k]);
	pm_buf_release(&v.targets);
	free(v.unit0);
	free(v.link0);
	free(v.counter);
}

/* Pages of @m's shadow that were needed, and of which the file does not know. */
static unsigned late_pages(const struct module *m)
{
	unsigned n = 0;

	for (size_t i = 0; i < shadow_bits(m); i++)
		n += (unsigned)__builtin_popcount(m->used[i] & ~m->saved_used[i]);
	return n;
}

/* Has more been spent beside @m's file, with what this process did since it asked last, than
 * writing takes? If not, it is noted. */
static bool worth_saving(const struct module *m, unsigned late)
{
	const uint64_t cost = m->addenda ? (m->taken + m->ntaken * UNIT_COST) / TAKING_SHARE
					 : m->code_len - m->saved_code +
						   (m->nunit - m->saved_units) * UNIT_COST +
						   (uint64_t)late * LATE_COST;
	struct cache_file now;
	struct stat st;
	bool worth;
	int fd;

	if (m->code_len < SMALL_FILE)
		return true;
	if (!cost)
		return false;
	fd = pm_kept_open(m->key, O_RDONLY, &st);
	if (fd < 0)
		return true;
	/* another one is superseded, or not */
	worth = pread(fd, &now, sizeof now, 0) != sizeof now || now.sum != m->saved_sum ||
		pm_ledger_spent(&st) + cost >= now.ncode / WRITE_SHARE;
	if (!worth)
		pm_ledger_spend(&st, (uint32_t)cost);
	close(fd);
	return worth;
}

/* What is new goes, or has gone, to the addenda, and that is enough. It is not where code goes from
 * the file to what is new so often that all of it has been copied. */
static bool add_only(struct spaces *s, const struct module *m, bool more, unsigned late)
{
	const bool thawed = m->file >= 0 && !m->frozen;

	if (!m->addenda || thawed || (!more && worth_saving(m, late)))
		return false;
	if (late >= LATE_SAVE)
		addenda_used(s, m->addenda, m);
	return addenda_flush(s, m->addenda);
}

/* What spaces have from the file that was @st is of no use to anybody any more. */
static void note_changed(const struct spaces *s, const struct stat *st)
{
	for (struct space *o = s->all; o; o = o->next_space)
		for (size_t k = 0; k < o->nmodule; k++)
			if (o->module[k].cache && o->module[k].cache_st.st_dev == st->st_dev &&
			    o->module[k].cache_st.st_ino == st->st_ino)
				o->module[k].cache_changed = true;
}

static void save_space(struct spaces *s, struct space *sp, bool anything)
{
	struct cache_file f;
	uint32_t block = 0, link = 0; /* where the next one begins when all are loaded again */

	for (uint32_t i = 0; i < sp->nmodule; i++) {
		struct module *m = &sp->module[i];
		const struct cache_file *was = m->cache;
		unsigned late;
		bool moves;

		if (m->dead || !m->used)
			continue;
		if (!is_unchanged(s, m)) {
			note_changed(s, &m->cache_st);
			pm_kept_drop(m->key, &m->cache_st, "it was changed while it was in use");
			m->cache_changed = true;
			continue;
		}
		block = number_from(was ? was->block0 : 0, block, BLOCK_STEP);
		link = number_from(was ? was->link0 : 0, link, LINK_STEP);
		/* Numbers that it can have in programs of all sizes are neither lower than those of
		 * whoever has more in front of it nor so high that they would be left out
		 * elsewhere; they are written down at once. In a very large program it does
		 * without. */
		moves = was && !s->records && !sp->i386 &&
			(block != was->block0 || link != was->link0) &&
			was->ncode >= WORTH_MOVING &&
			(block == was->block0 || block <= BLOCK_STEP * MAX_GAP / 2) &&
			(link == was->link0 || link <= LINK_STEP * MAX_GAP / 2);
		f.block0 = was && was->block0 < block && !moves ? was->block0 : block;
		f.link0 = was && was->link0 < link && !moves ? was->link0 : link;
		f.nblock = was ? was->nblock : 0;
		f.nlink = was ? was->nlink : 0;
		late = late_pages(m);
		if (m->nunit > m->saved_units || late >= LATE_SAVE || moves) {
			if (!moves && add_only(s, m, anything, late)) {
				m->taken = m->ntaken = 0;
			} else if (moves || anything || !was || m->addenda ||
				   worth_saving(m, late)) {
				if (m->addenda)
					space_units_from_store(s, sp, i);
				save_module(s, sp, i, &f);
			}
			m->saved_units = m->nunit;
			m->saved_code = m->code_len;
			memcpy(m->saved_used, m->used, shadow_bits(m));
		}
		/* ... and stay what they are when the one in front grows */
		block += f.nblock;
		link += f.nlink;
		if (!sp->i386 && !s->records) {
			block += f.nblock / 4 + BLOCK_STEP / 2;
			link += f.nlink / 4 + LINK_STEP / 4;
		}
	}
}

/* ---- the store
 * --------------------------------------------------------------------------------------- */
static bool next_unit(const struct module *m, size_t *i, uint32_t *pc)
{
	return addenda_next(m->addenda, i, pc);
}

static bool read_unit(const struct module *m, uint32_t pc, struct xl_unit *u, int64_t *distance)
{
	return addenda_read(m->addenda, m, pc, u, distance);
}

static void note_unit(struct spaces *s, const struct module *m, const struct xl_unit *u)
{
	addenda_note(s, m->addenda, m, u);
}

static const struct store_ops cache_store = {
	load_module, save_space, note_flags, next_unit, read_unit, note_unit,
};

/* ---- the limit
 * ----------------------------------------------------------------------------------- */
struct entry {
	char name[128];
	uint64_t size;
	time_t used;
};

static int oldest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* By its name: whoever takes a directory of his own for the cache keeps what is his. */
static bool is_ours(const char *name)
{
	return !strncmp(name + (*name == '.'), "pugmark-", 8) && strcmp(name, PM_LEDGER_NAME);
}

/* Least recently used files go until the directory is no larger than it may be. */
static void enforce_limit(const struct cache *c)
{
	struct entry *v = NULL;
	size_t n = 0, cap = 0;
	uint64_t total = 0;
	struct dirent *d;
	DIR *dir = fdopendir(dup(c->fd));

	if (!dir)
		return;
	rewinddir(dir);
	while ((d = readdir(dir))) {
		struct stat st;

		if (strlen(d->d_name) >= sizeof v->name || !is_ours(d->d_name) ||
		    fstatat(c->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		pm_grow(v, n, cap);
		snprintf(v[n].name, sizeof v[n].name, "%s", d->d_name);
		v[n].size = (uint64_t)st.st_blocks * 512;	/* shadows are sparse */
		v[n].used = pm_ledger_used(&st);
		total += v[n++].size;
	}
	closedir(dir);
	qsort(v, n, sizeof *v, oldest_first);
	for (size_t i = 0; i < n && total > c->opts.limit; i++)
		if (!unlinkat(c->fd, v[i].name, 0))
			total -= v[i].size;
	free(v);
}

void cache_close(struct spaces *s)
{
	struct cache *c = s->cache;

	if (!c)
		return;
	addenda_close(s);
	if (pm_guard_cut())
		fprintf(stderr, "pugmark: a file was cut short while it was in use: "
			"counts may be less than they were\n");
	if (c->wrote)
		enforce_limit(c);
	close(c->fd);
	free(c);
	s->cache = NULL;
	s->store = NULL;
}
