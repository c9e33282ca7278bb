/* SPDX-License-Identifier: MIT */
/* space_internal.h - what the files of this folder have among themselves; each may use those that
 * come before it */
#ifndef PM_SPACE_SPACE_INTERNAL_H
#define PM_SPACE_SPACE_INTERNAL_H

#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "collect/space/space.h"
#include "collect/space/store.h"

#define PAGE 4096ull
#define LINE 64u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* Linux 5.14; before, a hint that is refused */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25		/* Linux 6.1; likewise */
#endif
#define LARGE_PAGE (2ull << 20)
#define SPACE_SIZE (8ull << 30)		/* of the code file per space; virtual */
#define LINKS32_SIZE (16ull << 20)

static inline uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static inline uint64_t space_size(const struct space *sp)
{
	return sp->i386 ? RT32_CODE_SIZE : SPACE_SIZE;
}

/* What a directory entry of the i386 shadow is where nothing is translated. */
static inline uint32_t no_table(uint64_t pc)
{
	return RT32_ZERO - 4 * (uint32_t)(pc & ~0xffffull);
}

static inline void mail_cmd(struct rt_mail *m, uint64_t op, uint64_t a, uint64_t b, uint64_t c,
			    uint64_t d)
{
	if (m->ncmd < RT_MAX_CMDS)
		m->cmd[m->ncmd++] = (struct rt_cmd){ op, { a, b, c, d } };
}

static inline uint8_t *code_ptr(const struct spaces *s, const struct module *m, uint32_t off)
{
	return s->code + m->code.off + off;
}

static inline void write_jump(uint8_t *at, const uint8_t *to)
{
	const uint32_t d = (uint32_t)(to - (at + 5));

	*at = 0xe9;
	memcpy(at + 1, &d, 4);
}

/* Displacements are patched while other threads execute them: one store, within a cache line. */
static inline void patch32(uint8_t *at, uint32_t v)
{
	__atomic_store((uint32_t *)at, &v, __ATOMIC_RELEASE);
}

/* spaces.c */
/* What of the code file's [@at, @at + @n) can become large pages does, if the kernel has any. */
void make_large_pages(const struct spaces *s, uint64_t at, uint64_t n);
void clear_data(const struct spaces *s, uint64_t at, uint64_t stop);
void copy_data(struct spaces *s, uint64_t from, uint64_t to, uint64_t len);

/* block_index.c */
void block_enter(struct space *sp, uint32_t i); /* it is found by its address from now on */
void blocks_copy_index(struct space *sp, const struct space *from);	/* @sp has @from's blocks */
struct blk *block_find(struct space *sp, uint64_t pc);		/* NULL: none, or it is dead */
struct module *module_at(struct space *sp, uint64_t pc);	/* NULL: none that is alive */
/* The counting copy (translate.h) of @b, NULL: it has none; its direct entry, 0 likewise. */
struct blk *counting_copy_of(const struct space *sp, const struct blk *b);
uint64_t counting_entry(const struct space *sp, const struct blk *b);

/* mapping.c */
void make_ready(struct spaces *s, struct module *m, uint64_t len);
void unmap_what_was_read(const struct module *m);
/* A page of @m's shadow was missing: @mail may get a command. */
void give_text_back(struct spaces *s, struct module *m, struct rt_mail *mail);
/* The code of @m is about to be written to: it comes to the code file. Those who have it mapped
 * from the store's file execute what it was until space_refresh(). */
void make_code_own(struct spaces *s, struct space *sp, struct module *m);

/* shadow.c */
struct piece { uint64_t lo, hi; };
#define MAX_PIECES (MAX_GAPS + 2)
unsigned shadow_pieces(const struct module *m, struct piece piece[MAX_PIECES]);
uint64_t shadow_entry_at(uint64_t pc); /* where the entry for @pc is in the process */
uint64_t shadow_at(const struct module *m);
uint64_t counting_shadow_at(const struct module *m);
bool shadow_overlaps(const struct space *sp, const struct module *m, uint64_t at);
void shadow_find_aliases(struct spaces *s, struct space *sp, struct module *m, uint64_t lo,
			 uint64_t hi);
void counting_shadow(struct spaces *s, const struct module *m, uint64_t pc, uint64_t to);
void fill_counting_shadow(struct spaces *s, struct space *sp, const struct module *m, uint64_t pc);
/* Fill the page around @pc. False: it has been. */
bool shadow_need(struct spaces *s, struct space *sp, struct module *m, uint64_t pc);
void make_shadow_own(struct spaces *s, struct space *sp, struct module *m);
uint32_t *shadow_copy_index(const struct module *m);	/* m->entry_from for a copy of @m */

/* check_space.c */
bool modules_are_apart(const struct space *sp);

/* links.c */
void link_stop_waiting(struct space *sp, uint32_t i);
void link_patch(struct spaces *s, struct space *sp, struct link *l, uint64_t to);
void links_make_code_own(struct spaces *s, struct space *sp, uint32_t mi);
uint32_t link_add(struct spaces *s, struct space *sp, uint32_t module, uint64_t target,
		  uint32_t site, uint32_t stub, bool counting, bool stale);
/* Links to @pc lead to @to; those of counting copies to @counting, 0: nowhere. */
void links_resolved(struct spaces *s, struct space *sp, uint64_t pc, uint64_t to,
		    uint64_t counting);
bool links_pending(const struct space *sp, uint64_t pc);
size_t count_entry(struct spaces *s, struct space *sp, uint32_t i, uint32_t live, int by,
		   uint32_t at);
/* Where to enter @b from outside its unit; 0: there is no place yet. The other makes one. */
uint64_t outside_entry(struct space *sp, const struct blk *b);
uint64_t need_outside_entry(struct spaces *s, struct space *sp, const struct blk *b);
/* @b, whose direct entry is @to, gets an indirect one. False: it has one, or there is no room. */
bool make_indirect(struct spaces *s, struct space *sp, struct blk *b, uint64_t to);

/* place.c */
#define PLACE_CMDS (5 + MAX_PIECES)
/* A place for @size bytes of code, all in reach of all of [@lo, @hi); 0: none. */
uint64_t choose_place(const struct space *sp, const struct maps *m, uint64_t lo, uint64_t hi,
		      uint64_t size, uint64_t id);
#define REGION (256ull << 20) /* bytes of a region, at most, that one module serves as a whole */
void whole_region(const struct maps *m, uint64_t *lo, uint64_t *hi);
/* Module @mi's code and shadow become visible in @p's address space once the commands have run.
 * @over: those of another space are there. */
void place(const struct spaces *s, struct space_user *p, uint32_t mi, bool over,
	   struct rt_mail *mail);

/* modules.c */
struct module *module_new(struct spaces *s, struct space_user *p, const struct range *r,
			  uint64_t pc, struct rt_mail *mail);

/* fork.c */
/* The process is about to differ from those it shares its space with. False: once it has moved out,
 * ask again. */
bool diverge(struct spaces *s, struct space_user *p, struct rt_mail *mail);

/* invalidate.c */
#define DEAD_END_SIZE 128		/* bytes that killing a block may take, at most */
void kill_block(struct spaces *s, struct space *sp, uint32_t i);
/* Module @mi is full: it dies, and who comes to its text next will find another one, empty.
 * @outside: the thread that asks does not come back to where it was. False: once commands have run,
 * ask again. */
bool retire(struct spaces *s, struct space_user *p, uint32_t mi, bool outside,
	    struct rt_mail *mail);
/* Code has been met that reads flags that a call or a return left: everything is translated anew,
 * as if there were no ABI. False: once commands have run, ask again. */
bool drop_abi(struct spaces *s, struct space_user *p, struct rt_mail *mail);

/* units.c */
/* Translate what is at @pc, of [@lo, @hi). The number of its first block; XL_NONE: nothing, see
 * m->full and sp->abi_broken. */
uint32_t translate(struct spaces *s, struct space_user *p, uint32_t mi, uint64_t pc, uint64_t lo,
		   uint64_t hi, bool check, bool once);
void translate_ahead(struct spaces *s, struct space_user *p, uint32_t mi, size_t from, size_t to);

#endif
