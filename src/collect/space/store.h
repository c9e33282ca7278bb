/* SPDX-License-Identifier: MIT */
/* store.h - what a cache of translations implements for code spaces
 *
 * A space that is new asks for what earlier runs have translated, and one that ends offers what it
 * has. The cache on disk (collect/cache) is the only store there is; without one s->store is NULL,
 * and the functions below do nothing. */
#ifndef PM_SPACE_STORE_H
#define PM_SPACE_STORE_H

#include "collect/space/space.h"
#include "elf/head.h"

struct store_ops {
	/* Fill a fresh module, whose file is @fd, with what earlier runs translated. @map_files:
	 * the process can map files of the store. */
	void (*load)(struct spaces *s, struct space *sp, uint32_t module, int fd,
		     const struct elf_head *head, bool map_files);
	/* Keep what is new in @sp: what is worth it, or @anything. */
	void (*save)(struct spaces *s, struct space *sp, bool anything);
	/* The file @program, as it is now, breaks the ABI of flags (FLAGS in translate.h). */
	void (*note_flags)(struct spaces *s, const char *program);
	/* Units that other runs have added since a module's file was written. The entries of all of
	 * them, from m->text.lo: for (size_t i = 0; next_unit(m, &i, &pc); ) */
	bool (*next_unit)(const struct module *m, size_t *i, uint32_t *pc);
	/* The unit whose entry is @pc, from m->text.lo, as xl_translate() made it, but when @m's
	 * next code and its text were *@distance from each other. False: there is none. */
	bool (*read_unit)(const struct module *m, uint32_t pc, struct xl_unit *u,
			  int64_t *distance);
	/* @u, which xl_translate() has just made for the end of @m's code, and nothing has been
	 * done to. */
	void (*note_unit)(struct spaces *s, const struct module *m, const struct xl_unit *u);
};

static inline void store_load(struct spaces *s, struct space *sp, uint32_t module, int fd,
			      const struct elf_head *head, bool map_files)
{
	if (s->store)
		s->store->load(s, sp, module, fd, head, map_files);
}

static inline void store_save(struct spaces *s, struct space *sp, bool anything)
{
	if (s->store)
		s->store->save(s, sp, anything);
}

static inline void store_note_flags(struct spaces *s, const char *program)
{
	if (s->store)
		s->store->note_flags(s, program);
}

#endif
