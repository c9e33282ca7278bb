/* SPDX-License-Identifier: MIT */
/* cache_session.h - a session that has no process, for fuzzers of what is kept on disk
 *
 * One module, whose text are TEXT bytes at LO; its cache is in a directory that goes with the
 * fuzzer. */
#ifndef PM_FUZZ_CACHE_SESSION_H
#define PM_FUZZ_CACHE_SESSION_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kept.h"
#include "collect/cache/cache.h"
#include "collect/space/space_internal.h"
#include "fuzz.h"

#define TEXT 4096u
#define LO 0x555555554000u
#define CODE (256u << 20)		/* bytes of the code file */
#define DIR_ROOM 128

static uint8_t text[TEXT];
static char dir[DIR_ROOM];

static bool always(struct spaces *s)
{
	(void)s;
	return true;
}

static const struct space_hooks hooks = { .running = always };
static struct spaces s = {
	.hooks = &hooks, .code_fd = -1,
	.unmapped = 1ull << 40,		/* whatever is unmapped is, at once */
};

static void leave(void)
{
	char command[DIR_ROOM + 16];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	if (system(command))
		return;
}

static void fuzz_session(void)
{
	const char *tmp = getenv("TMPDIR");
	struct pm_err err = { 0 };

	if (s.code_fd >= 0)
		return;
	snprintf(dir, sizeof dir, "%.80s/pugmark-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		abort();
	atexit(leave);
	s.code_fd = memfd_create("code", MFD_CLOEXEC);
	if (cache_open(&s, &(struct cache_opts){ .dir = dir, .limit = 1u << 30 }, &err) != PM_OK ||
	    ftruncate(s.code_fd, CODE))
		abort();
	s.code = mmap(NULL, CODE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s.code_fd, 0);
	if (s.code == MAP_FAILED)
		abort();
	for (unsigned i = 0; i < TEXT; i++)
		text[i] = (uint8_t)(i * 7);
}

/* A space with the module, its code @distance behind its text. */
static struct space *fuzz_space(int64_t distance)
{
	struct space *sp;
	struct module *m;

	sp = space_new(&s, false);
	pm_grow(sp->module, sp->nmodule, sp->cap_module);
	m = &sp->module[sp->nmodule++];
	*m = (struct module){ .text.lo = LO,
			      .text.hi = LO + TEXT,
			      .code.at = LO + (uint64_t)distance,
			      .code.cap = 1 << 20,
			      .text.bytes = text,
			      .text.len = TEXT,
			      .text.shared = 1,
			      .shadow.present = true,
			      .shadow.len = 4 * TEXT,
			      .text.path = "text",
			      .stored.fd = -1 };
	m->users = pm_alloc(sizeof *m->users);
	*m->users = 1;
	m->code.off = sp->next;
	m->shadow.off = m->code.off + m->code.cap;
	sp->next = m->shadow.off + (1 << 16);
	return sp;
}

static void fuzz_file(const char *name, const void *p, size_t n)
{
	int fd;

	unlinkat(s.cache->fd, name, 0);
	fd = openat(s.cache->fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	close(fd);
}

/* At everything that comes from the file. */
static void fuzz_look(struct space *sp)
{
	struct module *m = &sp->module[0];
	const struct module *last = NULL;
	uint32_t sum = 0;

	for (uint32_t i = m->stored.first_block; i < m->stored.first_block + m->stored.nblock;
	     i++) {
		const uint8_t *p = block_bytes(sp, i);

		for (unsigned k = 0; k < sp->block[i].size; k++)
			sum += p[k];
		if (counter_block(sp, block_counter(sp, i, &last), &last) != i ||
		    m->text.lo + m->text.len - sp->block[i].pc < sp->block[i].size)
			abort();
	}
	for (uint64_t at = m->code.at; at < m->code.at + m->code.len; at += 7) {
		const struct xl_map *map = NULL;
		uint32_t block;

		if (space_state(sp, at, &block, &map) && (block >= sp->nblock || map->flags == sum))
			last = NULL;
		space_counting_copy(sp, at);
	}
	for (uint64_t pc = m->text.lo; pc < m->text.hi; pc += 64) {
		shadow_need(&s, sp, m, pc);
	}
}

#endif
