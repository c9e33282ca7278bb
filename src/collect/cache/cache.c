/* SPDX-License-Identifier: MIT */
/* cache.c - the store of code spaces: what it offers them, its beginning and its end */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/guard.h"
#include "base/kept.h"
#include "collect/cache/cache_internal.h"

/* Processes that run learn for those that begin: a shell for its commands. A little more is not
 * worth a file. */
static void save_others(struct spaces *s, const struct space *sp, const struct module *m)
{
	for (struct space *o = s->all; o; o = o->next_space)
		for (size_t k = 0; o != sp && k < o->nmodule; k++)
			if (o->module[k].stored.needed && !o->module[k].dead &&
			    !strcmp(o->module[k].stored.key, m->stored.key) &&
			    (o->module[k].nunit - o->module[k].stored.saved_nunit) * 32 >
				    o->module[k].nunit) {
				s->hooks->note_used(s, o);
				cache_save(s, o, true);
				break;
			}
}

static void load(struct spaces *s, struct space *sp, uint32_t mi, int fd,
		 const struct elf_head *elf, bool map_files)
{
	if (fd < 0)
		return;
	cache_begin(s, sp, mi, fd, elf);
	save_others(s, sp, &sp->module[mi]);
	cache_load(s, sp, mi, map_files);
}

static bool next_unit(const struct module *m, size_t *i, uint32_t *pc)
{
	return journal_next(m->stored.journal, i, pc);
}

static bool read_unit(const struct module *m, uint32_t pc, struct xl_unit *u, int64_t *distance)
{
	return journal_read(m->stored.journal, m, pc, u, distance);
}

static void note_unit(struct spaces *s, const struct module *m, const struct xl_unit *u)
{
	journal_note(s, m->stored.journal, m, u);
}

static const struct store_ops cache_store = {
	load, cache_save, cache_note_flags, next_unit, read_unit, note_unit,
};

enum pm_status cache_open(struct spaces *s, const struct cache_opts *opts, struct pm_err *err)
{
	const int fd = pm_cache_open(opts->dir, err);

	if (fd < 0)			/* a home that cannot be written is no reason not to run */
		return opts->dir ? PM_ERR : PM_OK;
	s->cache = pm_alloc(sizeof *s->cache);
	*s->cache = (struct cache){ .opts = *opts, .fd = fd };
	s->store = &cache_store;
	pm_keep_in(fd);
	pm_guard();
	return PM_OK;
}

void cache_close(struct spaces *s)
{
	struct cache *c = s->cache;

	if (!c)
		return;
	journal_close(s);
	if (pm_guard_cut())
		pm_warn(&s->warn, "a file was cut short while it was in use: counts may be less "
				  "than they were");
	if (c->wrote)
		pm_cache_limit(c->fd, "", c->opts.limit);
	close(c->fd);
	free(c);
	s->cache = NULL;
	s->store = NULL;
}
