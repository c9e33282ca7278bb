/* SPDX-License-Identifier: MIT */
/* test_cache_files.c - what is loaded from a file of translations is what was saved, or nothing is
 *
 *   test_cache_files [SEED] */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "alone.h"
#include "base/cache_dir.h"

#define DISTANCE	0x20000000
#define LIMIT		(1u << 30)

static struct spaces s;
static const struct elf_head no_head = { .fd = -1 };
static char key[128];			/* of the text's file */

static int begin(void **state)
{
	(void)state;
	alone_make_directory();
	alone_open(&s);
	alone_open_cache(&s, LIMIT);
	return 0;
}

static int end(void **state)
{
	(void)state;
	alone_remove_directory();
	alone_close(&s);
	return 0;
}

/* A space with the text, and what there is of it in the cache, under the name @name or its own. */
static struct space *load_as(const char *name, uint64_t lo, int64_t distance, bool map_files)
{
	struct space *sp = space_new(&s, false);

	alone_module(sp, lo, distance);
	cache_begin(&s, sp, 0, -1, &no_head);
	if (name)
		strcpy(sp->module[0].stored.key, name);
	cache_load(&s, sp, 0, map_files);
	return sp;
}

static struct space *load(uint64_t lo, int64_t distance, bool map_files)
{
	return load_as(NULL, lo, distance, map_files);
}

/* Nothing of it will be saved. */
static void release(struct space *sp)
{
	free(sp->module[0].stored.needed);
	sp->module[0].stored.needed = NULL;
	space_unref(&s, sp);
}

/* A run: some is translated, entered, and counted. */
static void work(struct space *sp)
{
	struct module *m = &sp->module[0];

	for (unsigned k = 0; k < 20; k++)
		alone_translate(&s, sp, 0, alone_any_function(m));
	for (unsigned k = 0; k < 40; k++) {
		struct blk *b = &sp->block[any(sp->nblock)];

		shadow_note_used(m, b->pc);
		if (space_guests(b) && make_indirect(&s, sp, b, need_outside_entry(&s, sp, b)))
			space_shadow(&s, sp, m, b->pc, m->code.at + b->indirect);
	}
	for (unsigned k = 0; k < 100; k++)
		block_note_run(sp, (uint32_t)any(sp->nblock), any(2) ? 1 : 2 * OFTEN_COUNT);
	assert_int_equal(space_check(&s, sp), 0);
}

static struct space *new_file(void)
{
	struct space *sp;

	alone_make_text();
	sp = load(ALONE_LO, DISTANCE, false);
	strcpy(key, sp->module[0].stored.key);
	work(sp);
	cache_save(&s, sp, true);
	return sp;
}

/* ---- what is loaded, against what was saved -------------------------------------------------- */
static void compare_blocks(const struct space *a, const struct space *b)
{
	const struct module *m = &a->module[0], *n = &b->module[0];

	assert_int_equal(n->stored.first_block, 0);
	assert_int_equal(n->stored.nblock, a->nblock);
	for (uint32_t i = 0; i < a->nblock; i++) {
		const struct blk *x = &a->block[i], *y = &b->block[i];

		assert_int_equal(x->pc - m->text.lo, y->pc - n->text.lo);
		assert_true(x->code == y->code && x->indirect == y->indirect &&
			    x->live == y->live && x->flags == y->flags && x->n == y->n &&
			    x->size == y->size && x->nmap == y->nmap && x->record == y->record &&
			    y->module == 0);
		assert_memory_equal(&a->flow[i], &b->flow[i], sizeof *a->flow);
		for (uint32_t k = 0; k < x->nmap; k++)
			assert_memory_equal(module_map(m, x->map + k), module_map(n, y->map + k),
					    sizeof(struct xl_map));
	}
	for (uint64_t k = 0; k < ALONE_TEXT; k++) {
		const struct blk *x = block_find((struct space *)(uintptr_t)a, m->text.lo + k),
				 *y = block_find((struct space *)(uintptr_t)b, n->text.lo + k);

		assert_int_equal(x ? x - a->block : -1, y ? y - b->block : -1);
	}
	assert_int_equal(m->nunit, n->nunit);
	for (size_t i = 0; i < m->nunit; i++) {
		const struct unit *x = &a->unit[m->unit[i]], *y = &b->unit[n->unit[i]];

		assert_true(x->code == y->code && x->ncode == y->ncode && x->block == y->block &&
			    x->nblock == y->nblock && !y->once);
	}
}

static uint64_t entry(const struct module *m, uint64_t off)
{
	int32_t d;

	memcpy(&d, s.code + m->shadow.off + 4 * off, sizeof d);
	return d ? off + (uint64_t)(int64_t)d - (m->code.at - m->text.lo) : UINT64_MAX;
}

/* Entries: all that the blocks have, and for who comes from another unit. */
static void compare_entries(struct space *a, struct space *b)
{
	struct module *m = &a->module[0], *n = &b->module[0];

	make_shadow_own(&s, b, n);
	for (uint64_t k = 0; k < ALONE_TEXT; k += SHADOW_TEXT) {
		shadow_need(&s, a, m, m->text.lo + k);
		shadow_need(&s, b, n, n->text.lo + k);
	}
	for (uint64_t k = 0; k < ALONE_TEXT; k++)
		assert_int_equal(entry(m, k), entry(n, k));
	for (uint32_t i = 0; i < a->nblock; i++) {
		const uint64_t x = outside_entry(a, &a->block[i]),
			       y = outside_entry(b, &b->block[i]);

		assert_int_equal(x ? x - m->code.at : 0, y ? y - n->code.at : 0);
	}
}

static bool is_within(const struct module *m, uint64_t target)
{
	return m->text.lo <= target && target < m->text.hi;
}

/* Where link @i of @sp leads, as an offset in the module; -1: it asks. */
static int64_t leads_to(const struct space *sp, size_t i)
{
	const struct module *m = &sp->module[0];
	const struct link *l = &sp->link[i];
	const uint64_t *shortcut = space_shortcut(&s, sp, i);
	int32_t d;

	if (!l->done)
		return shortcut && *shortcut ? (int64_t)(*shortcut - m->code.at) : -1;
	memcpy(&d, s.code + m->code.off + l->site, sizeof d);
	return (int64_t)l->site + 4 + d;
}

/* Links that were resolved are part of the code, the others are those that there are. */
static void compare_links(const struct space *a, const struct space *b, const uint8_t *code)
{
	const struct module *m = &a->module[0], *n = &b->module[0];
	size_t k = 0;

	for (size_t i = 0; i < a->nlink; i++) {
		const struct link *l = &a->link[i], *o;
		const int64_t to = leads_to(a, i);
		uint32_t no;
		int32_t d;

		if (l->module)
			continue;			/* nobody's */
		if (to >= 0 && is_within(m, l->target)) {
			memcpy(&d, code + l->site, sizeof d);
			assert_int_equal((int64_t)l->site + 4 + d, to);
			continue;
		}
		while (k < b->nlink && b->link[k].module)
			k++;
		assert_true(k < b->nlink);
		o = &b->link[k++];
		assert_int_equal(l->target - m->text.lo, o->target - n->text.lo);
		assert_true(l->site == o->site && l->stub == o->stub && !o->done &&
			    l->counting == o->counting && l->stale == o->stale);
		/* the stub asks for it */
		memcpy(&no, code + o->stub + XL_STUB_LINK(false), sizeof no);
		assert_true(no < b->nlink && b->link[no].target == o->target);
	}
	while (k < b->nlink && b->link[k].module)
		k++;
	assert_int_equal(k, b->nlink);
}

static void mask(uint8_t *code, uint32_t at)
{
	memset(code + at, 0, 4);
}

static uint32_t field(const uint8_t *code, uint32_t at)
{
	uint32_t v;

	memcpy(&v, code + at, sizeof v);
	return v;
}

/* Of which block is the counter at @at of @code? */
static uint32_t counted(const struct space *sp, const uint8_t *code, uint32_t at)
{
	const struct module *last = NULL;

	return counter_block(sp, (field(code, at) - RT_COUNTERS) / 8, &last);
}

/* Byte for byte but for links, and numbers and distances, which stand for the same. */
static void compare_code(const struct space *a, const struct space *b, uint8_t *x, uint8_t *y)
{
	const struct module *m = &a->module[0], *n = &b->module[0];
	const struct cache_file *f = n->stored.file;
	const uint32_t *counter = AT(f, rel_counter), *pc = AT(f, rel_pc), *link = AT(f, rel_link);
	const uint64_t moved = (m->code.at - m->text.lo) - (n->code.at - n->text.lo);

	for (uint32_t i = 0; i < f->nrel_counter; i++) {
		assert_int_equal(counted(a, x, counter[i]), counted(b, y, counter[i]));
		mask(x, counter[i]);
		mask(y, counter[i]);
	}
	for (uint32_t i = 0; i < f->nrel_pc; i++) {
		assert_int_equal(field(x, pc[i]) + (uint32_t)moved, field(y, pc[i]));
		mask(x, pc[i]);
		mask(y, pc[i]);
	}
	for (uint32_t i = 0; i < f->nrel_link; i++) {
		mask(x, link[i]);
		mask(y, link[i]);
	}
	for (size_t i = 0; i < a->nlink; i++)
		if (!a->link[i].module) {
			mask(x, a->link[i].site);
			mask(y, a->link[i].site);
		}
	assert_int_equal(m->code.len, n->code.len);
	assert_memory_equal(x, y, m->code.len);
}

/* Each block has one, and those that counted most have the first ones. */
static void compare_counters(const struct space *a, const struct space *b)
{
	const struct module *last = NULL;
	uint32_t most[RAN_SETS] = { 0 }, least = UINT32_MAX;

	for (uint32_t i = 0; i < b->nblock; i++) {
		const uint32_t c = block_counter(b, i, &last);
		const unsigned tier = block_how_often(a, i);

		assert_int_equal(counter_block(b, c, &last), i);
		if (tier == 0)
			most[0] = c > most[0] ? c : most[0];
		else
			least = c < least ? c : least;
	}
	/* in a later run the file knows of some that have run often before */
	assert_true(a->module[0].stored.file || most[0] < least);
}

static void compare(struct space *a, struct space *b)
{
	const struct module *m = &a->module[0], *n = &b->module[0];
	uint8_t *x = pm_alloc(m->code.len), *y = pm_alloc(n->code.len);

	assert_non_null(n->stored.file);
	assert_int_equal(space_check(&s, b), 0);
	assert_int_equal(m->code.len, n->code.len);
	code_copy(&s, m, x);
	code_copy(&s, n, y);
	compare_blocks(a, b);
	compare_links(a, b, y);
	compare_counters(a, b);
	compare_code(a, b, x, y);
	compare_entries(a, b);
	free(x);
	free(y);
}

/* From run to run: the same place, so that it is mapped as it is, or others. */
static void loaded_is_saved(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		struct space *sp = new_file(), *next;

		for (unsigned run = 0; run < 4; run++) {
			const bool moves = any(2);
			const uint64_t lo = ALONE_LO + (moves ? (1 + any(1000)) << 16 : 0);

			next = load(lo, DISTANCE + (moves ? (int64_t)any(1000) << 12 : 0), any(2));
			compare(sp, next);
			release(sp);
			sp = next;
			work(sp);
			cache_save(&s, sp, true);
		}
		release(sp);
		assert_int_equal(unlinkat(s.cache->fd, key, 0), 0);
	}
}

/* What only the cache has been told of is there, too: space_unref() saves. */
static void saved_at_the_end(void **state)
{
	struct space *sp, *next;
	struct stat st;

	(void)state;
	alone_make_text();
	sp = load(ALONE_LO, DISTANCE, false);
	strcpy(key, sp->module[0].stored.key);
	work(sp);
	space_unref(&s, sp);
	assert_int_equal(fstatat(s.cache->fd, key, &st, 0), 0);
	next = load(ALONE_LO, DISTANCE, true);
	assert_non_null(next->module[0].stored.file);
	assert_true(next->module[0].stored.code_from_file && next->nblock > 20);
	release(next);
	unlinkat(s.cache->fd, key, 0);
}

/* Also where nothing is counted, only pages of the shadow that a run has needed are filled at once.
 */
static void needed_pages_are_foreseen(void **state)
{
	struct space *sp, *next;
	struct module *m;

	(void)state;
	for (unsigned bare = 0; bare < 2; bare++) {
		uint64_t pc;

		s.bare = bare;
		alone_make_text();
		sp = load(ALONE_LO, DISTANCE, false);
		strcpy(key, sp->module[0].stored.key);
		work(sp);
		memset(sp->module[0].stored.needed, 0, shadow_bits(&sp->module[0]));
		pc = sp->block[any(sp->nblock)].pc;
		shadow_note_used(&sp->module[0], pc);
		cache_save(&s, sp, true);
		next = load(ALONE_LO, DISTANCE, false);
		m = &next->module[0];
		assert_non_null(m->stored.file);
		for (uint64_t k = 0; k < ALONE_TEXT; k++)
			if (k / SHADOW_TEXT != (pc - m->text.lo) / SHADOW_TEXT)
				assert_int_equal(entry(m, k), UINT64_MAX);
		compare_entries(sp, next);
		release(next);
		release(sp);
		unlinkat(s.cache->fd, key, 0);
	}
	s.bare = false;
}

/* How many commands to give all of @m's text back @n pages bring that were filled late. */
static unsigned given_back(struct module *m, unsigned n)
{
	unsigned times = 0;

	while (n--) {
		struct rt_mail mail = { 0 };

		give_text_back(&s, m, &mail);
		times += mail.ncmd;
		if (mail.ncmd)
			assert_true(mail.ncmd == 1 && mail.cmd[0].op == CMD_ADVISE &&
				    mail.cmd[0].a[0] == m->text.lo &&
				    mail.cmd[0].a[1] == m->text.hi - m->text.lo &&
				    mail.cmd[0].a[2] == MADV_DONTNEED);
	}
	return times;
}

/* Text that faults have mapped goes back, but where it is, or may be, no more what the file has. */
static void only_a_files_text_goes_back(void **state)
{
	struct space *sp = new_file();
	struct module *m = &sp->module[0];

	(void)state;
	assert_in_range(given_back(m, 1000), 2, 100);
	alone_text_is_written = true;
	assert_int_equal(given_back(m, 1000), 0);
	alone_text_is_written = false;
	m->generated.may_change = true;
	assert_int_equal(given_back(m, 1000), 0);
	m->generated.may_change = false;
	assert_in_range(given_back(m, 1000), 2, 100);
	release(sp);
	unlinkat(s.cache->fd, key, 0);
}

/* ---- files that are not taken ---------------------------------------------------------------- */
struct bytes {
	uint8_t *p;
	size_t n;
};

static struct bytes read_file(void)
{
	const int fd = openat(s.cache->fd, key, O_RDONLY);
	struct stat st;
	struct bytes b;

	assert_true(fd >= 0 && !fstat(fd, &st));
	b = (struct bytes){ pm_alloc((size_t)st.st_size), (size_t)st.st_size };
	assert_int_equal(read(fd, b.p, b.n), b.n);
	close(fd);
	return b;
}

static void write_file(const uint8_t *p, size_t n)
{
	int fd;

	unlinkat(s.cache->fd, key, 0);
	fd = openat(s.cache->fd, key, O_WRONLY | O_CREAT | O_EXCL, 0400);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static bool is_there(void)
{
	return !faccessat(s.cache->fd, key, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Is the file taken by a module whose text it is? */
static bool is_taken(void)
{
	struct space *sp = load_as(key, ALONE_LO, DISTANCE, any(2));
	const bool taken = sp->module[0].stored.file != NULL;

	release(sp);
	return taken;
}

static void write_with_sum(struct bytes b)
{
	struct cache_file *f = (struct cache_file *)(void *)b.p;
	uint64_t sections;
	int fd;

	write_file(b.p, b.n);
	fd = openat(s.cache->fd, key, O_RDONLY);
	assert_true(cache_file_sections_sum(f, fd, &sections));
	close(fd);
	f->sum = cache_file_sum(f, sections);
	write_file(b.p, b.n);
}

/* It stays: it may be of use to whoever it is for. */
static void not_for_others(void **state)
{
	struct space *sp = new_file();
	const struct bytes good = read_file();
	struct cache_file *f = (struct cache_file *)(void *)good.p;

	(void)state;
	write_with_sum(good);
	assert_true(is_taken());
#define OTHER(what, value) do {						\
		const __typeof__(f->what) had = f->what;		\
		f->what = (value);					\
		write_with_sum(good);					\
		assert_false(is_taken());				\
		assert_true(is_there());				\
		f->what = had;						\
		write_with_sum(good);					\
		assert_true(is_taken());				\
	} while (0)
	OTHER(version, CACHE_VERSION + 1);
	OTHER(abi, RT_ABI + 1);
	OTHER(build, f->build + 1);
	OTHER(kind, f->kind ^ 1);
	OTHER(i386, 1);
	OTHER(absolute, 1);
	OTHER(file_off, 4096);
#undef OTHER
	/* another text: another name; and under the same name it is seen by its bytes */
	release(sp);
	text[any(ALONE_TEXT)] ^= 1;
	sp = load(ALONE_LO, DISTANCE, false);
	assert_string_not_equal(sp->module[0].stored.key, key);
	assert_null(sp->module[0].stored.file);
	release(sp);
	sp = space_new(&s, false);
	alone_module(sp, ALONE_LO, DISTANCE)->text.st.st_ino = 1;
	cache_begin(&s, sp, 0, -1, &no_head);
	strcpy(sp->module[0].stored.key, key);
	cache_load(&s, sp, 0, false);
	assert_null(sp->module[0].stored.file);
	assert_true(is_there());
	release(sp);
	/* other options: another name */
	s.strict_flags = true;
	sp = load(ALONE_LO, DISTANCE, false);
	assert_string_not_equal(sp->module[0].stored.key, key);
	assert_null(sp->module[0].stored.file);
	release(sp);
	s.strict_flags = false;
	unlinkat(s.cache->fd, key, 0);
	free(good.p);
}

/* The sections as file.h has them, and the shadow. */
static unsigned sections_of(const struct cache_file *f, uint64_t v[][2])
{
	const uint64_t all[][2] = {
		{ 0, sizeof *f },
		{ f->units, f->nunit * sizeof(struct saved_unit) },
		{ f->blocks, f->nblock * sizeof(struct blk) },
		{ f->flows, f->nblock * sizeof(struct xl_flow) },
		{ f->links, f->nlink * sizeof(struct saved_link) },
		{ f->rel_pc, f->nrel_pc * 4ull }, { f->rel_counter, f->nrel_counter * 4ull },
		{ f->rel_link, f->nrel_link * 4ull }, { f->rel_place, f->nrel_place * 4ull },
		{ f->entries, f->nentry * sizeof(struct shadow_entry) },
		{ f->outsides, f->noutside * sizeof(struct saved_outside) },
		{ f->counters, f->ncounter * 4ull }, { f->counted, f->ncounter * 4ull },
		{ f->code, f->ncode }, { f->used, f->nused },
		{ f->map, f->nmap * sizeof(struct xl_map) },
		{ f->lines, lines_of(f->text_len) * 4 }, { f->targets, f->ntarget * 4ull },
		{ f->shadow, f->shadow ? f->size - f->shadow : 0 },
	};

	memcpy(v, all, sizeof all);
	return NR(all);
}

#define MOST_SECTIONS 24u

/* What says whose file it is: it is another's then, and stays. */
static bool says_whose(uint64_t at)
{
	return at >= offsetof(struct cache_file, version) &&
	       at < offsetof(struct cache_file, build) + 8 &&
	       (at < offsetof(struct cache_file, absolute) ||
		at >= offsetof(struct cache_file, build));
}

/* (2) of file.h: nothing of it is used before its sum is right. */
static void damage_is_noticed(void **state)
{
	struct space *sp = new_file();
	const struct bytes good = read_file();
	uint64_t v[MOST_SECTIONS][2];
	const unsigned n = sections_of((const struct cache_file *)(void *)good.p, v);
	unsigned hit = 0;

	(void)state;
	release(sp);
	for (unsigned k = 0; k < n; k++) {
		for (unsigned round = 0; round < (k ? 12 : 60) && v[k][1]; round++) {
			/* ends, and anywhere */
			const uint64_t at = v[k][0] + (round == 0 ? 0 :
						       round == 1 ? v[k][1] - 1 : any(v[k][1]));

			const uint8_t had = good.p[at];

			good.p[at] ^= (uint8_t)(1 << any(8));
			write_file(good.p, good.n);
			assert_false(is_taken());
			if (!says_whose(at))
				assert_false(is_there());
			good.p[at] = had;
			hit++;
		}
	}
	write_file(good.p, good.n);
	assert_true(is_taken());
	unlinkat(s.cache->fd, key, 0);
	assert_true(hit > 150);
	free(good.p);
}

/* (1) of file.h: cut anywhere, or with something behind it. */
static void other_sizes_are_noticed(void **state)
{
	struct space *sp = new_file();
	const struct bytes good = read_file();
	uint8_t *more = pm_alloc(good.n + 4096);

	(void)state;
	release(sp);
	memcpy(more, good.p, good.n);
	for (unsigned round = 0; round < 60; round++) {
		const size_t n = round < 10 ? round * 48 : round < 20 ? good.n + 1 + any(4096) :
								       any(good.n);

		write_file(more, n);
		assert_false(is_taken());
		assert_false(is_there());
	}
	write_file(good.p, good.n);
	assert_true(is_taken());
	unlinkat(s.cache->fd, key, 0);
	free(more);
	free(good.p);
}

/* ---- the directory --------------------------------------------------------------------------- */
#define FILES 12u

/* The oldest ones go, as many as have to; what is somebody else's stays. */
static void limit_removes_the_oldest(void **state)
{
	char name[64];

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct cache c = *s.cache;
		uint64_t age[FILES], kept = 0, size = 0, oldest_kept = 0, youngest_gone = 1000;
		struct stat st;

		for (unsigned i = 0; i < FILES; i++) {
			struct timespec t[2] = { { .tv_sec = 0 } };
			int fd;

			snprintf(name, sizeof name, "%s-%u", i ? "pugmark-code-x" : "mine", i);
			fd = openat(c.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
			assert_int_equal(write(fd, text, sizeof text), sizeof text);
			fsync(fd);			/* so that it has blocks */
			age[i] = 1 + i * 7 % FILES + FILES * any(20);
			t[0].tv_sec = t[1].tv_sec = 1600000000 - (time_t)age[i] * 7200;
			assert_int_equal(futimens(fd, t), 0);
			assert_int_equal(fstat(fd, &st), 0);
			size = (uint64_t)st.st_blocks * 512;
			close(fd);
		}
		c.opts.limit = any(FILES + 2) * size + any(size);
		pm_cache_limit(c.fd, "module-", 0);	/* of these there are none */
		pm_cache_limit(c.fd, round % 2 ? "" : "code-x", c.opts.limit);
		assert_int_equal(faccessat(c.fd, "mine-0", F_OK, 0), 0);
		for (unsigned i = 1; i < FILES; i++) {
			snprintf(name, sizeof name, "pugmark-code-x-%u", i);
			if (!unlinkat(c.fd, name, 0)) {
				kept++;
				oldest_kept = age[i] > oldest_kept ? age[i] : oldest_kept;
			} else {
				youngest_gone = age[i] < youngest_gone ? age[i] : youngest_gone;
			}
		}
		unlinkat(c.fd, "mine-0", 0);
		assert_int_equal(kept, c.opts.limit / size < FILES - 1 ? c.opts.limit / size
								     : FILES - 1);
		assert_true(!kept || oldest_kept <= youngest_gone);
	}
}

/* Nobody waits for a FIFO, or minds a link: it goes, and a file comes. A directory stays. */
static void no_file_in_its_place(void **state)
{
	(void)state;
	for (unsigned what = 0; what < 4; what++) {
		struct space *sp;
		struct stat st;

		alone_make_text();
		alarm(20);
		sp = space_new(&s, false);
		alone_module(sp, ALONE_LO, DISTANCE);
		cache_begin(&s, sp, 0, -1, &no_head);
		strcpy(key, sp->module[0].stored.key);
		assert_int_equal(what == 0 ? mkfifoat(s.cache->fd, key, 0600) :
				 what == 1 ? symlinkat("nowhere", s.cache->fd, key) :
				 what == 2 ? symlinkat(".", s.cache->fd, key) :
					     mkdirat(s.cache->fd, key, 0700), 0);
		cache_load(&s, sp, 0, any(2));
		assert_null(sp->module[0].stored.file);
		work(sp);
		cache_save(&s, sp, true);
		assert_int_equal(fstatat(s.cache->fd, key, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (what < 3) {
			struct space *next = load(ALONE_LO, DISTANCE, false);

			assert_true(S_ISREG(st.st_mode));
			compare(sp, next);
			release(next);
		} else {
			assert_true(S_ISDIR(st.st_mode));
		}
		assert_int_equal(unlinkat(s.cache->fd, key, what < 3 ? 0 : AT_REMOVEDIR), 0);
		release(sp);
		alarm(0);
	}
}

/* Nothing is there but files that are whole. */
static void look_at_directory(void)
{
	DIR *d = fdopendir(dup(s.cache->fd));
	const struct dirent *e;

	assert_non_null(d);
	rewinddir(d);
	while ((e = readdir(d)))
		assert_true(e->d_name[0] != '.' || !strcmp(e->d_name, ".") ||
			    !strcmp(e->d_name, ".."));
	closedir(d);
}

static void load_and_save(void)
{
	struct space *sp = load(ALONE_LO, DISTANCE, any(2));

	work(sp);
	cache_save(&s, sp, true);
	release(sp);
}

/* Microseconds that it takes, with a sanitizer far more. */
static unsigned time_of_a_save(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	load_and_save();
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (unsigned)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
}

/* Killed at any time, also while it writes: the file is as it was saved, or not there. */
static void killed_while_it_saves(void **state)
{
	unsigned there = 0, longest;

	alone_make_text();
	longest = 20000 + 3 * time_of_a_save();

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct space *sp;
		pid_t child;
		bool was;
		int status;

		alone_make_text();
		sp = load(ALONE_LO, DISTANCE, false);
		strcpy(key, sp->module[0].stored.key);
		release(sp);
		unlinkat(s.cache->fd, key, 0);
		child = fork();
		if (!child) {
			for (;;)
				load_and_save();
		}
		usleep((useconds_t)any(longest));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		look_at_directory();
		was = is_there();
		assert_int_equal(is_taken(), was);
		there += was;
		if (!there)		/* a busy machine: it did not get that far */
			longest += longest / 8;
		unlinkat(s.cache->fd, key, 0);
	}
	assert_true(there > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loaded_is_saved, begin, end),
		cmocka_unit_test_setup_teardown(saved_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(needed_pages_are_foreseen, begin, end),
		cmocka_unit_test_setup_teardown(only_a_files_text_goes_back, begin, end),
		cmocka_unit_test_setup_teardown(not_for_others, begin, end),
		cmocka_unit_test_setup_teardown(damage_is_noticed, begin, end),
		cmocka_unit_test_setup_teardown(other_sizes_are_noticed, begin, end),
		cmocka_unit_test_setup_teardown(limit_removes_the_oldest, begin, end),
		cmocka_unit_test_setup_teardown(no_file_in_its_place, begin, end),
		cmocka_unit_test_setup_teardown(killed_while_it_saves, begin, end),
	};

	alone_seed(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
