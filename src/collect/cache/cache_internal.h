/* SPDX-License-Identifier: MIT */
/* cache_internal.h - what the files of this folder share */
#ifndef PM_CACHE_CACHE_INTERNAL_H
#define PM_CACHE_CACHE_INTERNAL_H

#include <sys/stat.h>

#include "collect/cache/cache.h"
#include "collect/cache/file.h"
#include "collect/cache/journal.h"
#include "collect/space/store.h"

/* Numbers of blocks and links are in the code. Where a module's begin is rounded up, so that
 * they are mostly those that the code was saved with, and none of its pages need be touched. */
#define BLOCK_STEP 4096u
#define LINK_STEP 256u
#define MAX_GAP 32u			/* steps that may be left out for that */

static inline uint32_t cache_number_from(uint32_t wanted, size_t next, uint32_t step)
{
	const uint32_t at = (uint32_t)((next + step - 1) / step * step);

	return wanted >= at && (wanted - at) / step <= MAX_GAP ? wanted : at;
}

/* of code: written at once, in a millisecond or two, for whoever starts next */
#define SMALL_FILE (1u << 20)

static inline uint64_t shadow_size(const struct module *m)
{
	return (m->text.hi - m->text.lo) * 4;
}

/* To @n fields of code, at @at, @by is added. */
static inline void cache_add32(uint8_t *code, const uint32_t *at, size_t n, uint32_t by)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v;

		memcpy(&v, code + at[i], 4);
		v += by;
		memcpy(code + at[i], &v, 4);
	}
}

/* ---- dir.c ------------------------------------------------------------------------------- */
uint64_t cache_build(void);		/* of this pugmark */
void cache_identify(const struct stat *st, struct identity *id);
/* What the code is for. Where there are points, some counting copies are dead. */
uint32_t cache_kind(const struct spaces *s, const struct space *sp);
/* The name of the file of @m, from the ELF file @fd: m->stored.key. */
void cache_key(struct module *m, uint32_t kind, int fd, const struct elf_head *head);
/* The file that @m came from, when it is looked at again: it is as it was, or nobody can have
 * come to it since. */
bool cache_unchanged(const struct spaces *s, const struct module *m);
void cache_note_flags(struct spaces *s, const char *program);
/* Once in a session: the cache cannot be written, errno says why. */
void cache_complain(struct spaces *s);

/* ---- load_file.c ----------------------------------------------------------------------------*/
/* Module @mi, whose text is that of the file @fd, is one that will be kept. */
void cache_begin(struct spaces *s, struct space *sp, uint32_t mi, int fd,
		 const struct elf_head *elf);
/* ... and gets what there is of it. @map_files: the process can map files of the cache. */
void cache_load(struct spaces *s, struct space *sp, uint32_t mi, bool map_files);

/* ---- save.c ------------------------------------------------------------------------------ */
/* struct store_ops */
void cache_save(struct spaces *s, struct space *sp, bool anything);

#endif
