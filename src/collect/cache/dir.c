/* SPDX-License-Identifier: MIT */
/* dir.c - the directory of cache files: which file is whose */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "base/guard.h"
#include "base/kept.h"
#include "base/ledger.h"
#include "base/mix.h"
#include "collect/cache/cache_internal.h"

uint64_t cache_build(void)
{
	extern const uint8_t pm_rt_text[], pm_rt_text_end[];
	static uint64_t n;

	/* the runtime's bytes (those for i386 are made from the same sources), the translator's
	 * sources, and what decodes */
	if (!n)
		n = pm_mix(pm_rt_text, (size_t)(pm_rt_text_end - pm_rt_text), 1) ^
		    pm_mix(PM_SOURCES, sizeof PM_SOURCES, ZydisGetVersion());
	return n;
}

void cache_identify(const struct stat *st, struct identity *id)
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

/* A program that breaks the ABI of flags is translated twice, once. An empty file says so from
 * then on: by name the program, as it is now, and this build. */
static bool flags_name(const struct spaces *s, const char *program, char name[48])
{
	struct identity id;
	struct stat st;

	if (!s->cache || !program || stat(program, &st))
		return false;
	cache_identify(&st, &id);
	snprintf(name, 48, "pugmark-flags-%016" PRIx64, pm_mix(&id, sizeof id, cache_build()));
	return true;
}

bool cache_knows_flags(const struct spaces *s, const char *program)
{
	char name[48];

	return flags_name(s, program, name) && !faccessat(s->cache->fd, name, F_OK, 0);
}

void cache_note_flags(struct spaces *s, const char *program)
{
	struct stat st;
	char name[48];
	int fd = flags_name(s, program, name) ?
		pm_kept_open(name, O_WRONLY | O_CREAT, &st) : -1;

	if (fd >= 0)
		close(fd);
}

/* ---- names ------------------------------------------------------------------------------- */
/* What the code is for. Where there are points, some counting copies are dead. */
uint32_t cache_kind(const struct spaces *s, const struct space *sp)
{
	return (uint32_t)s->kind | s->counts << 4 | (uint32_t)sp->abi_flags << 5 |
	       (uint32_t)s->edges << 6 | (uint32_t)s->logged << 7 | (uint32_t)s->bare << 8 |
	       (uint32_t)s->all_live << 9 | (uint32_t)(s->tree && !sp->i386) << 10;
}

/* "b" and the build id in hex, or "h" and a hash of the text. */
void cache_key(struct module *m, uint32_t kind, int fd, const struct elf_head *head)
{
	struct segment g;
	size_t n = 0, at0;

	/* by this /proc/self/maps knows them, see runtime/syscall.c */
	at0 = (size_t)sprintf(m->stored.key, "pugmark-code-");
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
				n = at0 + (size_t)sprintf(m->stored.key + at0, "b");
				for (uint32_t k = 0; k < h[1]; k++)
					n += (size_t)sprintf(m->stored.key + n, "%02x",
							     note[at + 16 + k]);
				break;
			}
			if (h[0] > sizeof note || h[1] > sizeof note)
				break;
			at += 12 + ((h[0] + 3) & ~3u) + ((h[1] + 3) & ~3u);
		}
	}
	if (!n)
		n = at0 + (size_t)sprintf(m->stored.key + at0, "h%016" PRIx64,
					  pm_mix(m->text.bytes, m->text.len, 0));
	snprintf(m->stored.key + n, sizeof m->stored.key - n, "-%" PRIx64 "-%u",
		 m->text.file_off >> 12, kind);
}

void cache_complain(struct spaces *s)
{
	if (!s->cache->complained)
		pm_warn(&s->warn, "cannot write the translation cache: %s", strerror(errno));
	s->cache->complained = true;
}

bool cache_unchanged(const struct spaces *s, const struct module *m)
{
	const struct stat *was = &m->stored.st;
	struct stat st;

	if (!m->stored.file || m->stored.changed)
		return !m->stored.changed;
	if (m->stored.fd >= 0 ? fstat(m->stored.fd, &st) :
			   fstatat(s->cache->fd, m->stored.key, &st, AT_SYMLINK_NOFOLLOW))
		return m->stored.fd < 0;
	if (st.st_dev != was->st_dev || st.st_ino != was->st_ino || !st.st_nlink)
		return m->stored.fd < 0 || (st.st_size == was->st_size &&
				       !memcmp(&st.st_mtim, &was->st_mtim, sizeof st.st_mtim));
	return st.st_size == was->st_size &&
	       !memcmp(&st.st_mtim, &was->st_mtim, sizeof st.st_mtim) &&
	       !memcmp(&st.st_ctim, &was->st_ctim, sizeof st.st_ctim);
}
