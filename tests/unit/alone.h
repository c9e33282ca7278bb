/* SPDX-License-Identifier: MIT */
/* alone.h - code spaces and a cache without a process
 *
 * A text is made by chance: functions of short blocks that jump, call and return. Modules have it
 * at ALONE_LO, or wherever; what is translated is what translate() makes of it. */
#ifndef PM_UNIT_ALONE_H
#define PM_UNIT_ALONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/cache/cache_internal.h"
#include "collect/space/space_internal.h"

#define ALONE_LO	0x555555554000ull
#define ALONE_TEXT	(32u << 10)	/* bytes */
#define ALONE_FUNCTION	64u		/* bytes from one to the next */
#define ALONE_CODE	(2u << 20)	/* bytes of a module's code cache */
#define ALONE_SPACES	16u

static uint64_t seed;
static uint8_t text[ALONE_TEXT];
static char dir[4096];

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static inline void alone_seed(int argc, char **argv)
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)getpid();
	printf("# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);			/* once, also where a test forks */
}

/* ---- what a process would say ---------------------------------------------------------------- */
static bool alone_running(struct spaces *s)
{
	(void)s;
	return true;
}

static bool alone_only_counts(struct spaces *s)
{
	(void)s;
	return false;
}

static ssize_t alone_read(struct spaces *s, void *to, uint64_t at, size_t n)
{
	(void)s, (void)to, (void)at, (void)n;
	return -1;
}

static bool alone_text_is_written;

static bool alone_unwritten(struct spaces *s, uint64_t lo, uint64_t hi)
{
	(void)s, (void)lo, (void)hi;
	return !alone_text_is_written;
}

static uint64_t alone_likely(struct spaces *s, const struct module *m, uint64_t slot)
{
	(void)s, (void)m, (void)slot;
	return 0;
}

static bool alone_constant(struct spaces *s, const struct module *m, uint64_t lo, uint64_t hi)
{
	(void)s, (void)m, (void)lo, (void)hi;
	return false;
}

static void alone_note_used(struct spaces *s, struct space *sp)
{
	(void)s, (void)sp;
}

static void alone_links_moved(struct spaces *s, struct space_user *p, uint64_t at)
{
	(void)s, (void)p, (void)at;
}

static const struct space_hooks alone_hooks = {
	.running = alone_running, .only_counts = alone_only_counts, .read = alone_read,
	.unwritten = alone_unwritten, .likely = alone_likely, .constant = alone_constant,
	.note_used = alone_note_used, .links_moved = alone_links_moved,
};

static inline void alone_open(struct spaces *s)
{
	*s = (struct spaces){ .hooks = &alone_hooks, .unmapped = 1ull << 40, .kind = XL_PROFILE };
	s->code_fd = memfd_create("code", MFD_CLOEXEC);
	assert_int_equal(ftruncate(s->code_fd, (off_t)(ALONE_SPACES * SPACE_SIZE)), 0);
	s->code = mmap(NULL, ALONE_SPACES * SPACE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE, s->code_fd, 0);
	assert_ptr_not_equal(s->code, MAP_FAILED);
}

static inline void alone_close(struct spaces *s)
{
	cache_close(s);
	assert_null(s->all);
	munmap(s->code, ALONE_SPACES * SPACE_SIZE);
	s->code = NULL;			/* spaces_close() would unmap as much as a session has */
	spaces_close(s);
}

static inline void alone_make_directory(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof dir, "%.4000s/pugmark-unit-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
}

static inline void alone_remove_directory(void)
{
	char command[sizeof dir + 16];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static inline void alone_open_cache(struct spaces *s, uint64_t limit)
{
	struct pm_err err = { 0 };

	assert_int_equal(cache_open(s, &(struct cache_opts){ .dir = dir, .limit = limit }, &err),
			 PM_OK);
}

/* ---- text ------------------------------------------------------------------------------------ */
/* A function of at most ALONE_FUNCTION bytes: blocks that fall through, jump ahead, call, and a
 * return. */
static inline void alone_make_function(uint32_t at)
{
	static const uint8_t some[][4] = { { 1, 0x90 }, { 3, 0x48, 0x89, 0xc8 }, { 2, 0x8b, 0x07 },
					   { 3, 0x48, 0x01, 0xd0 }, { 2, 0x31, 0xc0 } };
	const uint32_t end = at + ALONE_FUNCTION - 8;

	while (at < end) {
		for (uint64_t n = 1 + any(3); n && at < end; n--) {
			const uint8_t *x = some[any(NR(some))];

			memcpy(text + at, x + 1, x[0]);
			at += x[0];
		}
		if (at + 5 > end)
			break;
		if (any(2)) {
			text[at] = 0x31;	/* flags that neither call nor return left */
			text[at + 1] = 0xc0;
			text[at + 2] = (uint8_t)(0x74 + any(2));
			text[at + 3] = 0;	/* to what is next */
			at += 4;
		} else {
			const int32_t to = (int32_t)(any(ALONE_TEXT / ALONE_FUNCTION) *
						     ALONE_FUNCTION) - (int32_t)(at + 5);

			text[at] = 0xe8;
			memcpy(text + at + 1, &to, 4);
			at += 5;
		}
	}
	text[at] = 0xc3;
}

static inline void alone_make_text(void)
{
	memset(text, 0xcc, sizeof text);
	for (uint32_t at = 0; at < ALONE_TEXT; at += ALONE_FUNCTION)
		alone_make_function(at);
}

/* ---- modules --------------------------------------------------------------------------------- */
/* Another module of @sp, with the text at @lo and code @distance from it. */
static inline struct module *alone_module(struct space *sp, uint64_t lo, int64_t distance)
{
	struct module *m;

	pm_grow(sp->module, sp->nmodule, sp->cap_module);
	m = &sp->module[sp->nmodule++];
	*m = (struct module){
		.text = { .lo = lo, .hi = lo + ALONE_TEXT, .bytes = text, .len = ALONE_TEXT,
			  .shared = 1, .path = "text" },
		.code = { .at = lo + (uint64_t)distance, .cap = ALONE_CODE },
		.shadow = { .present = true, .len = 4 * ALONE_TEXT },
		.stored.fd = -1,
	};
	m->users = pm_alloc(sizeof *m->users);
	*m->users = 1;
	m->code.off = sp->next;
	m->shadow.off = m->code.off + m->code.cap;
	sp->next = m->shadow.off + up(4 * ALONE_TEXT, 1 << 16);
	return m;
}

/* The function at @pc of module @mi is translated, if there is no block there yet. */
static inline void alone_translate(struct spaces *s, struct space *sp, uint32_t mi, uint64_t pc)
{
	struct space_user user = { .space = sp };

	if (!block_find(sp, pc))
		assert_int_not_equal(translate(s, &user, mi, pc, sp->module[mi].text.lo,
					       sp->module[mi].text.hi, false, false), XL_NONE);
}

static inline uint64_t alone_any_function(const struct module *m)
{
	return m->text.lo + any(ALONE_TEXT / ALONE_FUNCTION) * ALONE_FUNCTION;
}

#endif
