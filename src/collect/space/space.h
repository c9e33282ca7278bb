/* SPDX-License-Identifier: MIT */
/* space.h - code spaces: what is translated where
 *
 * A *code space* is the set of translations that one or more address spaces execute: fork shares
 * it, and the first of the sharers that changes its executable mappings gets a copy. It is made of
 * *modules*, one for each executable mapping, each with a piece of the code file for its
 * translations and one for its shadow. Translations come as *units*
 * - what the translator makes of one function or piece of one - of *blocks*; a block's number is
 * its counter's number. Nothing here knows what a process is, nor files on a disk: space_hooks and
 * store.h say what is asked of others.
 *
 * INVARIANTS - asserted under their numbers where they could be broken (base/check.h); (4) where
 * requests are answered. Besides, space_check() goes through all of a space and looks at what of
 * them can be seen there: in builds that check, when a space ends. tests/unit/test_links.c breaks
 * each.
 * (1) blocks are never renumbered or reused; an invalidated one stays, dead, with its counts.
 * (2) the code of a module grows upwards; nothing is overwritten but branch displacements, shadow
 *     entries and the entries of dead blocks.
 * (3) what a process maps from a file of the store is never written to: it is made own, which is to
 *     be copied to the code file, first.
 * (4) while a thread carries out commands, or forks, nobody else of its space is answered (busy):
 *     commands have an order, and what they map is there before anybody is sent to it.
 * (5) the pending links of an address are not done and lead to it within their module, and while
 *     there is no block at the address they are all of those, but for those of counting copies
 *     that have found none, and those in code from a file that lead somewhere by shortcuts.
 * (6) modules that are not dead do not overlap.
 *
 * Ownership  a space belongs to its users, by refs; modules, blocks, units, links to their space.
 * Errors     what cannot be translated has the entry 0; what ends a process goes by
 * space_hooks.give_up. Threads    one: the controller's. */
#ifndef PM_SPACE_SPACE_H
#define PM_SPACE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/proc_maps.h"
#include "base/warn.h"
#include "collect/runtime/abi.h"
#include "collect/translate/translate.h"

struct spaces;
struct store_ops;

struct blk {				/* 32 bytes: there are hundreds of thousands */
	uint64_t pc;
	uint32_t code;			/* direct entry: offset from the module's code */
	uint32_t indirect;		/* indirect entry likewise, XL_NONE: none */
	uint32_t map;			/* number of its first map entry in its module */
	uint32_t live : 17, flags : 7;	/* XL_LIVE_*; enum xl_block_flag | BLK_IS_DEAD */
	uint32_t n : 8;			/* instructions */
	uint16_t size, module, nmap;
	uint16_t record;		/* xl_block.record */
};
_Static_assert(sizeof(struct blk) == 32, "kept small, and written to cache files");
#define BLK_IS_DEAD 0x40
#define BLK_CLOSED \
	0x20 /* its flow's `in` is not open, see translate.h: so that one need not look */
_Static_assert(!((XL_FALLS | XL_JUMP_TARGET | XL_UNKNOWN | XL_COUNTS | XL_READS_FLAGS) &
		 (BLK_CLOSED | BLK_IS_DEAD)),
	       "they are kept together");

struct unit {
	uint32_t module, code, ncode;	/* offset from the module's code */
	uint32_t block, nblock;
	uint32_t number;		/* of block 0 in a trace, see trace.h */
	bool once;			/* not entered into the tables: executes one instruction */
};

struct link {
	uint64_t target;
	uint32_t module, site;		/* offset of the rel32 from the module's code */
	uint32_t stub;
	uint32_t next;			/* next pending link to the same target, + 1 */
	bool done, waits;		/* waits: it is among the pending ones of its target */
	bool counting, stale;		/* xl_link.stale */
};

/* An executable mapping, and the file that it is from. Written when the module is made, and by
 * nobody after that. */
struct mapped_text {
	uint64_t lo, hi;		/* addresses in the process, page aligned */
	uint64_t file_off;		/* of lo in the file, bytes */
	uint64_t bias;			/* lo minus what the file says that it is */
	const char *path;		/* in spaces->mem */
	dev_t dev;
	ino_t ino;			/* 0: no file */
	struct stat st;			/* of the file, when it was opened */
	const uint8_t *bytes;		/* the file's for [lo, hi), NULL: read the process */
	size_t len;			/* so many of them: the file may end before hi */
	uint32_t shared;		/* 1 + the spaces->text that it is; 0: a mapping of its own,
					 * unmapped with the last of module.users */
};

/* A module's piece of the code file, for its translations; it grows upwards. Written by whoever
 * translates, links or kills there. The arrays and buffers are the module's. */
struct code_area {
	uint64_t at;			/* its address in the process */
	uint64_t off;			/* ... in the code file */
	uint64_t len, cap;		/* bytes: used, and in all; cap 0: given back */
	uint64_t ready;			/* up to there its pages exist */
	uint64_t room;			/* i386: bytes given back that nobody has got yet */
	struct xl_map *map; /* offsets from the unit's code; behind those of the cache */
	size_t nmap, cap_map;
	/* where code, but for that from the cache, depends on its place and on numbers: offsets
	 * from `at` */
	struct pm_buf rel_pc, rel_counter, rel_link, rel_place;	/* uint32_t each */
};

/* A module's shadows: pieces of the code file with a displacement of 4 bytes for each byte of text.
 * Written by shadow.c; where they are, by modules.c. The arrays are the module's. */
#define MAX_GAPS 4
struct shadow_area {
	uint64_t off;			/* in the code file */
	uint64_t len;			/* bytes, whole pages */
	uint64_t counting_off;		/* where that of counting copies is (translate.h), if
					 * module.counting_copies */
	bool present;			/* false: no room beside counting copies; or i386, where
					 * shadows do not belong to modules */
	struct gap {
		uint64_t lo, hi;	/* addresses of text */
	} gap[MAX_GAPS + 1];		/* parts without entries, ascending: see shadow.c */
	uint32_t ngap;
	uint8_t *filled;		/* bits: pages whose entries from the cache are written */
	uint32_t *entry_from;		/* number of the first entry of each page, and of one more
					 * behind; NULL: all are written */
	uint32_t nlate;			/* pages that were filled when they were needed */
};

/* How a module notices that its code has changed. Written by units.c (pages of new blocks) and
 * invalidate.c (writes). The maps are the module's; their keys are addresses of pages. */
struct generated_code {
	bool may_change;		/* false: a file's text that nobody writes to; no maps */
	bool must_check;		/* ... and no page fault tells: blocks check their bytes */
	struct pm_map blocks;		/* page -> 1 + head of its pageref chain */
	struct pm_map confirmed;	/* page -> write-protected, as the process has confirmed */
	struct pm_map write_traps;	/* page -> how many there have been */
};

/* What a module has from the cache. Of the space its blocks are [first_block, + nblock), its links
 * those from first_link on. Written by collect/cache; `new_indirect` and the bytes mapped from the
 * file by space/ too. What points into the file is there as long as it is mapped: until the last of
 * module.users goes. Buffers and sets are the module's. */
struct stored {
	char key[128];			/* name of its cache file; "": not to be cached */
	const struct cache_file *file;	/* mapped; NULL: nothing came from the cache */
	size_t size;			/* ... bytes */
	struct stat st;			/* when it was loaded; */
	bool changed;			/* ... and since then somebody has changed it */
	const struct xl_map *map;
	const uint8_t *code;
	const uint32_t *lines,
		*targets; /* blocks by lines of text, see target_entry(); NULL: none */
	const struct shadow_entry *entries;	/* ascending */
	const uint32_t *counters, *counted; /* of each block its counter, and the other way round;
					     * NULL: the same number */
	uint32_t nmap, ntarget, nentry;
	uint32_t nused_counter; /* so many counters, at the front, have counted in some run */
	uint32_t first_block, nblock, first_link;
	struct pm_buf new_indirect;	/* uint32_t: those of its blocks that have got an indirect
					 * entry since */
	uint8_t *needed;		/* bits: pages of the shadow that some run has needed, to be
					 * saved; NULL: nothing will be. See cache.c */
	/* what was there when the file on disk was loaded, written or found good enough */
	size_t saved_nunit;
	uint64_t saved_code;		/* bytes */
	uint8_t *saved_needed;
	uint64_t saved_sum;		/* its checksum */
	/* processes map so many bytes of its code, and its shadow, from the cache file: nothing in
	 * them may be patched until make_code_own(), make_shadow_own(). Links in them are resolved
	 * by space_shortcut() */
	uint32_t code_from_file;
	bool shadow_from_file;
	int fd;				/* the cache file; -1: not open */
	uint64_t id, code_at, shadow_at;	/* RT_FILE_ID; offsets in the file */
	struct journal *journal;	/* units kept beside it; NULL: none are */
	uint64_t from_journal;		/* bytes of code from there */
	uint32_t nfrom_journal;		/* units */
};

struct module {
	struct mapped_text text;
	struct code_area code;
	struct shadow_area shadow;
	struct generated_code generated;
	struct stored stored;
	bool dead;			/* nobody is sent there any more */
	bool absolute;			/* text below RT_SHADOW: not position-independent */
	bool counting_copies;		/* its blocks have some (translate.h) */
	bool full;			/* the last translation had no room */
	uint32_t *users;		/* of the mapped files: this module and its copies */
	uint32_t *unit;			/* numbers, in the space, of its units */
	size_t nunit, cap_unit;
	size_t nblock;			/* of them all */
};

static inline size_t hash_pc(uint64_t pc)
{
	return (size_t)((pc * 0x9e3779b97f4a7c15u) >> 24);
}

/* Cache files list blocks by the line of text that they begin in: their numbers, and where in the
 * line. So a block need not be looked at to see that it is another one, and what is near each other
 * in the text is so in the list: few of its pages are looked at. */
#define TARGET_LINE 256u		/* bytes of text */
#define MAX_TARGETS 0x1000000u
static inline uint32_t target_entry(uint64_t off, uint32_t no)
{
	return no | (uint32_t)(off % TARGET_LINE) << 24;
}

/* Bytes of a bit set of the pages of @m's shadow. */
#define SHADOW_TEXT (4096u / 4)		/* bytes of text that a page of it stands for */
static inline size_t shadow_bits(const struct module *m)
{
	return (size_t)(m->text.hi - m->text.lo + 8 * SHADOW_TEXT - 1) / (8 * SHADOW_TEXT);
}

static inline const struct xl_map *module_map(const struct module *m, uint32_t i)
{
	return i < m->stored.nmap ? &m->stored.map[i] : &m->code.map[i - m->stored.nmap];
}

/* An entry of a shadow in a cache's file: distances from the text's beginning and from its code's.
 */
struct shadow_entry {
	uint32_t pc, code;
};

struct pageref {
	uint32_t block, next;
};

struct range {				/* executable for the program */
	uint64_t lo, hi;
	uint32_t prot;
	bool shared, patched;		/* patched: made executable by mprotect */
};

/* How often a block has run, as far as was looked. What is said of each, often or at least once, is
 * kept in a set of blocks. */
enum how_often {
	RAN_OFTEN,
	RAN_ONCE,
	NOT_SEEN_RUN,
};
#define RAN_SETS NOT_SEEN_RUN		/* sets: one for each of those before it */
#define OFTEN_COUNT 100u		/* a block that has run so many times has run often */

struct space {
	struct space *next_space;	/* of all that there are */
	uint32_t refs;
	bool i386;
	bool abi_flags; /* xl_input.abi_flags of all that is not dead, or soon will be: */
	bool abi_broken;		/* ... something was met that must not be translated so */
	bool constants_change;		/* kept code may rely on them: none is loaded any more */
	uint32_t busy;			/* (4): thread block whose commands run, 0: nobody */
	uint32_t nmade_own;		/* how often code or a shadow has been made own */
	uint64_t base; /* its region of the code file: (i386: the shadow's directory,)
			* links table, then modules */
	uint64_t next;			/* first unused offset in the region */
	struct module *module;
	size_t nmodule, cap_module;
	/* mapped, not allocated, so that files can be mapped into them */
	struct blk *block;
	struct xl_flow *flow; /* of each block, within its unit; in a trace `out` is the block of
			       * the unit whose record it continues, and `in` XL_OPEN */
	size_t nblock, cap_block;	/* of both */
	struct pm_map outside_entry;	/* closed block -> 1 + offset of its entry for outsiders */
	uint64_t *ran_set[RAN_SETS];	/* bits of blocks: block_how_often() */
	size_t nran_word;		/* words of each */
	struct unit *unit;
	size_t nunit, cap_unit;
	struct link *link;
	size_t nlink, cap_link;
	struct pm_map bytes;		/* block number -> copy of its code, where no file has it */
	struct pageref *ref;
	size_t nref, cap_ref;
	uint32_t *hash;			/* pc -> block number + 1 */
	size_t hash_mask, hash_n;
	uint8_t *in_hash;		/* bits: the lowest bits of each pc in the hash */
	struct pm_map pending;		/* target pc -> 1 + first pending link */
	struct pm_map dead_ends; /* pc of dead blocks -> 1 + the link that they all lead to */
	struct range *range;
	size_t nrange, cap_range;
};

/* A part of a file, for all modules of all processes that map it. */
struct text {
	struct stat st;
	uint64_t off;
	size_t len;
	const uint8_t *p;
	struct copied { /* by the blocks' numbers in its cache file, which mostly stays as it is: */
		uint64_t what;		/* offset << 16 | size; 0: nothing yet */
		const uint8_t *at;	/* in the profile that is gathered */
	} * copied;
	size_t ncopied;
};

enum placed {
	PLACED = 1,
	OWN_CODE = 2,			/* from the code file, not the cache's */
	OWN_SHADOW = 4,
};

/* An address space that executes a code space: what of it is mapped there. */
struct space_user {
	struct space *space;
	struct pm_buf placed; /* module number -> enum placed: its pieces are mapped here */
	uint32_t seen_made_own;		/* as of space->nmade_own */
	struct pm_buf moving;		/* while it diverges: what was placed, and shall be again */
	struct space *left;		/* ... the space that it comes from, held; or NULL */
	uint32_t nthread; /* that live in it, as of the request that is being answered */
	const char *program;		/* its path; may be NULL */
};

/* What spaces ask of whoever runs processes in them. "The process" is the one whose request is
 * being answered. */
struct space_hooks {
	/* Read the memory of the process; how much, negative: nothing is there. */
	ssize_t (*read)(struct spaces *s, void *to, uint64_t at, size_t n);
	/* Has the process the very pages of a file in its private mappings [@lo, @hi)? False: some
	 * have been written to and are its own, or nobody knows. */
	bool (*unwritten)(struct spaces *s, uint64_t lo, uint64_t hi);
	/* What the process has mapped, anew. False: it cannot be read. */
	bool (*read_maps)(struct spaces *s, struct maps *m);
	/* The function of @m that the pointer at @slot, of its procedure linkage table, is likely
	 * to lead to; 0: unknown. */
	uint64_t (*likely)(struct spaces *s, const struct module *m, uint64_t slot);
	/* Is [@lo, @hi) of memory part of the file of @m, and of what nobody writes to? */
	bool (*constant)(struct spaces *s, const struct module *m, uint64_t lo, uint64_t hi);
	/* Does the thread that asks execute code that only counts? */
	bool (*only_counts)(struct spaces *s);
	/* Of a trace: the number of the next block; blocks [@first, @first + @n) of @sp, of one
	 * module, get theirs. */
	uint32_t (*next_number)(struct spaces *s);
	void (*number)(struct spaces *s, const struct space *sp, uint32_t first, uint32_t n);
	/* Adds where regions begin and end in the file @path: addresses (uint64_t) in memory, with
	 * @bias added. */
	void (*points)(struct spaces *s, const char *path, uint64_t bias, struct pm_buf *to);
	/* The table of links of @p is at @at from now on. */
	void (*links_moved)(struct spaces *s, struct space_user *p, uint64_t at);
	/* @p would go on with a part of its code untraced: end it, and say @why. */
	void (*give_up)(struct spaces *s, const struct space_user *p, const char *why);
	/* What @sp's threads have needed of shadows so far: shadow_note_used(). */
	void (*note_used)(struct spaces *s, struct space *sp);
	bool (*running)(struct spaces *s);	/* is there still a process? */
	/* If trees grow: whose code of @m is at @pc? A number for all that depends on it. */
	void (*segment)(struct spaces *s, const struct module *m, uint64_t pc,
			struct xl_segment *out);
	uint32_t (*segments)(struct spaces *s, const struct module *m);
};

/* All spaces of a session. */
struct spaces {
	const struct space_hooks *hooks;
	struct pm_warn warn;
	const struct store_ops *store;	/* NULL: none */
	struct cache *cache;		/* the store's own */
	struct space *all;
	enum xl_kind kind;
	bool records;			/* code writes a trace; false: it counts */
	bool edges;			/* ... edges, too: EDGES in translate.h */
	bool strict_flags;
	bool tree;			/* 64-bit code is XL_TREE */
	bool logged, bare, all_live;	/* of recordings: struct xl_input */
	uint32_t counts; /* of a trace: outside regions code is executed that only counts
			    (translate.h) */
	int code_fd;			/* the code file, sealed: written by `code` only */
	uint8_t *code;
	uint64_t code_next;		/* first unused offset */
	struct pm_buf free_regions; /* uint64_t: of the code file, with what their last space left
				       in them */
	struct text *text;
	size_t ntext, cap_text;
	uint32_t nopen_file;		/* cache files that are kept open */
	uint64_t unmapped;		/* bytes, see spaces_unmap() */
	uint32_t nmade_own;		/* codes and shadows that were, in all spaces */
	uint32_t ni386;			/* 32-bit spaces */
	struct maps maps; /* of the process: read again by every module that is new, */
	bool maps_good;			/* but while this is set */
	struct pm_arena mem;
	struct xl_unit unit;		/* reused */
	uint64_t cached, ahead,
		demand; /* blocks: from the store, translated before and when they were asked for */
	struct pm_buf point;		/* uint64_t: addresses where regions begin or end */
	unsigned waiting;		/* units from the store that wait for others, see units.c */
	uint32_t asking;		/* thread block whose request is being answered */
	bool released;			/* requests that had to wait may be answered */
};

/* Is block @i in the middle of a chain (translate.h)? */
static inline bool block_continues(const struct spaces *s, const struct space *sp, uint32_t i)
{
	return s->records && sp->flow[i].out != XL_OPEN;
}

static inline const uint8_t *block_bytes(const struct space *sp, uint32_t i)
{
	const struct blk *b = &sp->block[i];
	const struct module *m = &sp->module[b->module];
	const uint64_t *copy = m->text.bytes ? NULL : pm_map_get(&sp->bytes, i);

	/* not where the block comes from a file that has been cut short since */
	if (m->text.bytes && b->pc - m->text.lo >= m->text.len)
		return NULL;
	return m->text.bytes ? m->text.bytes + (b->pc - m->text.lo)
	       : copy  ? (const uint8_t *)(uintptr_t)*copy
		       : NULL;
}

/* The table of link targets: here, and its address in the process. */
static inline uint64_t *space_links(const struct spaces *s, const struct space *sp)
{
	return (uint64_t *)(s->code + sp->base + (sp->i386 ? RT32_DIR_SIZE : 0));
}
/* Where link @i leads, if it is in code from a file and would be patched, or 0; NULL: there is no
 * place to say so. */
static inline uint64_t *space_shortcut(const struct spaces *s, const struct space *sp, size_t i)
{
	return sp->i386 || i >= RT_LINKS_SIZE / 8
		       ? NULL
		       : (uint64_t *)(s->code + sp->base + RT_LINKS_SIZE) + i;
}
static inline uint64_t space_links_at(const struct space *sp)
{
	return sp->i386 ? RT32_LINKS : RT_CODE_VAULT + sp->base;
}

/* Link @i leads to @target, if there is a place to say so. */
void link_target(const struct spaces *s, const struct space *sp, size_t i, uint64_t target);
bool link_is_within(const struct space *sp, const struct link *l);	/* the module it is in */
/* Link @i, which is within its module and not done, is patched as soon as there is a block at its
 * target. */
void link_wait(struct space *sp, uint32_t i);

/* ---- spaces.c: spaces, and their regions of the code file ------------------------------------ */
/* Create and seal the code file; hooks and options are the caller's to set. */
enum pm_status spaces_open(struct spaces *s, struct pm_err *err);
void spaces_close(struct spaces *s);		/* but for spaces, which go with the process */
/* NULL: more than a thousand at once. */
struct space *space_new(struct spaces *s, bool i386);
void space_unref(struct spaces *s, struct space *sp);
/* @n bytes at @p go to @at of the code file. */
void space_write(const struct spaces *s, uint64_t at, const void *p, size_t n);
/* Room for @n blocks in all. */
void space_blocks(struct space *sp, size_t n);
/* munmap() of @n bytes, of which @used were used; but not when all is over, nor the first few MiB:
 * the end of pugmark gives everything back at once, and each unmapping makes every processor drop
 * its translations. */
void spaces_unmap(struct spaces *s, const void *p, size_t n, size_t used);

/* ---- check_space.c: what has to be true, for tests ------------------------------------------- */
/* The number of the first of the invariants above that is broken; 0: none is. Goes through all
 * blocks and links. Of (4) it sees that `busy` is a thread block, no more. */
unsigned space_check(const struct spaces *s, struct space *sp);

/* ---- ranges.c: what the program may execute -------------------------------------------------- */
void space_range_add(struct space *sp, uint64_t lo, uint64_t hi, uint32_t prot, bool shared,
		     bool patched);
void space_range_del(struct space *sp, uint64_t lo, uint64_t hi);
struct range *space_range(const struct space *sp, uint64_t pc);	/* NULL: none */

/* ---- block_index.c --------------------------------------------------------------------------*/
const struct unit *unit_of(const struct space *sp, uint32_t block);
/* Block and map entry at copy address @code; false: not in the code cache. */
bool space_state(const struct space *sp, uint64_t code, uint32_t *block, const struct xl_map **map);
/* Number of the counter of @block, and the other way round. *@last, NULL at first, is kept from
 * call to call. */
uint32_t block_counter(const struct space *sp, uint32_t block, const struct module **last);
uint32_t counter_block(const struct space *sp, uint32_t counter, const struct module **last);
/* How often @block has run. Note that it has run @count times. */
enum how_often block_how_often(const struct space *sp, uint32_t block);
void block_note_run(struct space *sp, uint32_t block, uint64_t count);
/* May what looks up the address of @b go there without asking? */
bool space_guests(const struct blk *b);

/* ---- shadow.c: indirect entries by original address ------------------------------------------ */
/* The entry for @pc leads to @to; 0: asks. */
void space_shadow(struct spaces *s, struct space *sp, struct module *m, uint64_t pc, uint64_t to);
/* The program may execute [@lo, @hi) from now on: no other code's shadow is to be where that is
 * looked up. */
void space_find_aliases(struct spaces *s, struct space *sp, uint64_t lo, uint64_t hi);
/* Is the shadow of @m mapped in one piece? */
bool space_whole_shadow(const struct module *m);
/* A run needs the shadow around @pc. */
void shadow_note_used(struct module *m, uint64_t pc);
/* Fill the shadow of a module that was loaded: the pages that earlier runs needed. */
void shadow_fill(struct spaces *s, struct space *sp, struct module *m);

/* ---- mapping.c: what is copied of mapped code ------------------------------------------------ */
/* The code of @m, m->code.len bytes. */
void code_copy(const struct spaces *s, const struct module *m, uint8_t *to);
/* The code of the store's file, [@lo, @hi) of it, goes to the code file. */
void copy_code_from_file(struct spaces *s, struct module *m, uint32_t lo, uint32_t hi);

/* ---- units.c --------------------------------------------------------------------------------- */
/* Every unit of module @mi that is kept beside its file comes to its code. */
void space_units_from_store(struct spaces *s, struct space *sp, uint32_t mi);

/* ---- invalidate.c ---------------------------------------------------------------------------- */
/* Of blocks [@first, @first + @n), those that only count and hold a point, and their chains, are
 * entered as what traces. */
void space_close(struct spaces *s, struct space *sp, uint32_t first, uint32_t n);
/* False: commands have to run before, see m->again. */
bool space_unmap(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		 struct rt_mail *m);
/* Data that code relies on (xl_input.constant) may change: all is translated anew. False:
 * likewise. */
bool space_drop_constants(struct spaces *s, struct space_user *p, struct rt_mail *m);
/* Nothing that is placed in [lo, hi) is used any more: what was translated there will be again,
 * elsewhere. False: likewise; or, without commands, others may be executing it. */
bool space_make_way(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		    struct rt_mail *m);
/* The code at @code_off could not be placed in @p: the program has mapped something where it was to
 * be. It will be translated for another place. True: commands have to run first. */
bool space_no_room(struct spaces *s, struct space_user *p, uint64_t code_off, struct rt_mail *m);
/* A write to @addr by the instruction at @code trapped: was it ours? Fills m->r, commands or not:
 * RT_RETRY is the answer once they have run; if RT_WRITE_SELF is, it has to be asked again. */
bool space_write_trap(struct spaces *s, struct space_user *p, uint64_t addr, uint64_t code,
		      struct rt_mail *m);
/* Make pages writable that are protected because of their translations: in the range that holds
 * @addr, or with 0 all. True: there were some. */
bool space_open(struct spaces *s, struct space_user *p, uint64_t addr, struct rt_mail *m);

/* ---- enter.c --------------------------------------------------------------------------------- */
/* The text around @pc, made if it has to be; NULL: it is not executable, or commands come first. */
const struct module *space_module(struct spaces *s, struct space_user *p, uint64_t pc,
				  struct rt_mail *m);
/* Direct entry (address in the process) for @pc, 0: not executable. Commands for the process are
 * appended to @m; m->again: they have to run before the answer can be given. */
uint64_t space_enter(struct spaces *s, struct space_user *p, uint64_t pc, bool indirect,
		     struct rt_mail *m);
/* The process is about to begin at @pc, or has mapped something executable at [@lo, @hi), and is
 * alone in its space: what files' texts are there will be executed, so they come to their places
 * now. */
uint64_t space_begin(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *m);
void space_mapped(struct spaces *s, struct space_user *p, uint64_t lo, uint64_t hi,
		  struct rt_mail *m);
uint64_t space_resolve(struct spaces *s, struct space_user *p, uint32_t link, struct rt_mail *m);
/* Does a block that has a counting copy begin at copy address @code? That one's direct entry, or 0.
 */
uint64_t space_counting_copy(const struct space *sp, uint64_t code);
/* Entry of a unit that executes the one instruction at @pc; in no table. */
uint64_t space_once(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *m);
/* The bytes of the block at @pc have changed. */
uint64_t space_recheck(struct spaces *s, struct space_user *p, uint64_t pc, struct rt_mail *m);

/* ---- fork.c: sharers of a space that part ---------------------------------------------------- */
/* Go on with a divergence that needed more commands than a mail holds; false: it is complete. */
bool space_move(const struct spaces *s, struct space_user *p, struct rt_mail *m);
/* The commands of @block, a thread of @p, have been run (or never will be). */
void space_release(struct spaces *s, struct space_user *p, uint32_t block);

/* ---- place.c --------------------------------------------------------------------------------- */
/* @cmd, to map a cache file, has failed in @p, and those behind it, @n with it, have not been run.
 * True: commands have to run first. */
bool space_no_file(struct spaces *s, struct space_user *p, const struct rt_cmd *cmd, uint32_t n,
		   struct rt_mail *m);
/* What has been made own is mapped from the code file. */
void space_refresh(const struct spaces *s, struct space_user *p, struct rt_mail *m);

#endif
