/* SPDX-License-Identifier: MIT */
/* save.h - a module that is being saved: what save.c, save_code.c and save_counters.c share */
#ifndef PM_CACHE_SAVE_H
#define PM_CACHE_SAVE_H

#include "collect/cache/write_file.h"

enum { SET_LINKS, SET_COUNTERS, SET_STUBS, SETS };
struct saving {
	struct spaces *s;
	struct space *sp;
	struct module *m;
	uint32_t mi;
	const struct cache_file *was;	/* all zero: there was none */
	struct cache_file *f;
	struct out out;
	/* of each unit of the space: its first block in the file; XL_NONE: not in it */
	uint32_t *unit0;
	/* of each link of the space: its number in the file; XL_NONE likewise */
	uint32_t *link0;
	uint32_t *counter;		/* of each block of the file; NULL: its own number */
	struct pm_buf targets;		/* struct target, those that are new, by number */
	struct pm_buf sets[SETS];	/* struct set, ascending: fields of the code that are to
					 * be as they say */
};

struct set {
	uint32_t at, v;
};

/* ---- save_parts.c ------------------------------------------------------------------------------
 */
/* @n bytes at @at of the file that was loaded. Read, not looked at where it is mapped: that
 * costs more, and the memory is ours as long as it is. */
void save_read_old(const struct saving *v, uint64_t at, void *to, size_t n);
void save_copy_old(struct saving *v, uint64_t at, uint64_t n);
/* The number in the file of block @i of the space; XL_NONE: it is not in it. */
uint32_t save_file_block(const struct saving *v, uint32_t i);
/* The block of @sp that has number @trace in traces; it belongs to @m, whose units ascend by
 * number. */
uint32_t save_traced_block(const struct space *sp, const struct module *m, uint32_t trace);
/* @n elements of @words u32 by the first of them. They mostly are in order. */
void save_sort(void *p, size_t n, size_t words);
const struct unit *save_new_unit(const struct saving *v, size_t i);
size_t save_new_units(const struct saving *v);

/* @value is to be at @at of the code; what is there now. */
void save_set(struct saving *v, unsigned which, uint32_t at, uint32_t value);
uint32_t save_field(const struct saving *v, uint32_t at);

/* ---- save_code.c ------------------------------------------------------------------------- */
/* Links within the module that have been resolved are part of its code and done with; in the
 * file's own list they keep their place. Those to other modules are made anew. */
void save_links(struct saving *v);
/* Relocations of the old code and of the new, which lies behind it. */
uint64_t save_places(struct saving *v, uint64_t old, uint32_t nold, struct pm_buf *new,
		     uint32_t *n);
struct pm_buf save_new_stubs(struct saving *v);
/* Old code is as it was in the file, but for what depends on where things are now. */
void save_code(struct saving *v);

/* ---- save_counters.c ------------------------------------------------------------------------*/
uint32_t save_counter_of(const struct saving *v, uint32_t block);
void save_number_counters(struct saving *v);
void save_counters(struct saving *v);
/* Of each counter in the file's old code which it will be; the caller free()s it. NULL: none
 * changes. */
uint32_t *save_counters_now(const struct saving *v);
/* Of @all places in new code those that hold a number of something that is in the file. */
struct pm_buf save_new_counters(struct saving *v);

#endif
