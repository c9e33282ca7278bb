/* SPDX-License-Identifier: MIT */
/* session.h - the controller's state: one session, its processes, their code spaces
 *
 * A *process* here is one address space from exec (or fork) to exec (or exit). A *code space* is
 * the set of translations that one or more processes share: fork shares it, and the first of the
 * sharers that changes its executable mappings gets a copy. Within a space a block's number is its
 * counter's number.
 *
 * INVARIANTS
 * (1) blocks are never renumbered or reused; an invalidated one stays, dead, with its counts.
 * (2) the code of a module grows upwards; nothing is overwritten but branch displacements, shadow
 *     entries and the entries of dead blocks.
 * (3) ptrace is only called by the thread that runs pm_run().
 * (4) While a thread carries out commands, or forks, nobody else of its space is answered (busy):
 *     commands have an order, and what they map is there before anybody is sent to it. */
#ifndef PM_PROCESS_SESSION_H
#define PM_PROCESS_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/proc_maps.h"
#include "collect/control/process.h"
#include "collect/runtime/abi.h"
#include "collect/translate/translate.h"
#include "trace/counts.h"

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
#define BLK_CLOSED 0x20		/* its flow's `in` is not open, see translate.h: so that one need not look */
_Static_assert(!((XL_FALLS | XL_JUMP_TARGET | XL_UNKNOWN | XL_COUNTS | XL_READS_FLAGS) & (BLK_CLOSED | BLK_IS_DEAD)),
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
	bool done, twin, stale;		/* xl_link.stale */
};

#define MAX_HOLES 4
struct module {
	uint64_t lo, hi;		/* executable mapping, page aligned */
	uint64_t code;			/* address of its code cache in the process */
	uint64_t code_off;		/* ... in the code file */
	uint64_t code_len, code_cap, code_ready;	/* ready: up to there its pages exist; cap 0: given back */
	uint64_t room;			/* i386: ... and nobody has taken it yet */
	uint64_t shadow_off, shadow_len;	/* piece of the code file that shadows [lo, hi) */
	uint64_t twin_off;		/* ... for twins (translate.h), which its blocks have if `twins` */
	uint64_t file_off, bias;
	const char *path;		/* in session->mem */
	dev_t dev;
	ino_t ino;
	struct stat st;
	char key[128];			/* name of its cache file; "": not to be cached */
	const uint8_t *text;		/* the file's bytes for [lo, hi), NULL: read the process */
	size_t text_len;
	uint32_t shared;		/* 1 + the session->text that it is; 0: its own mapping */
	bool generated;			/* may change under us */
	bool check;			/* ... without a page fault telling */
	bool dead, absolute, twins;
	bool full;			/* the last translation had no room */
	uint32_t *users;		/* of the mapped files: this module and its copies */
	bool shadowed;			/* false: no room beside twins; or i386, where shadows do not belong to
					 * modules */
	struct hole { uint64_t lo, hi; } hole[MAX_HOLES + 1];	/* parts without shadow, ascending: see space.c */
	uint32_t nhole;
	struct pm_map pages;		/* generated: page -> 1 + head of pageref chain */
	struct pm_map safe;		/* page -> write-protected, and the process has confirmed it */
	struct pm_map hot;		/* page -> number of write traps */
	uint32_t *unit;
	size_t nunit, cap_unit;
	size_t nblock;			/* of them all */
	struct xl_map *map;		/* offsets from the unit's code; behind the cached ones */
	size_t nmap, cap_map;
	/* where code, but for that from the cache, depends on its place and on numbers: offsets from the
	 * module's code */
	struct pm_buf rel_pc, rel_counter, rel_link, rel_place;	/* uint32_t each */
	/* what came from the cache: its blocks are [first_cached, + ncached) of the space, its links those from
	 * first_link on */
	const struct cache_file *cache;	/* mapped; NULL: nothing */
	size_t cache_size;
	struct stat cache_st;		/* when it was loaded */
	const struct xl_map *cached_map;
	uint64_t lines_at, targets_at, entries_at;	/* in the file */
	uint32_t ncached_entry;
	struct read_pages *read;	/* of it; NULL: it is looked at where it is mapped */
	uint32_t *entry_from;		/* number of the first entry of each page of the shadow, and of one more behind */
	uint32_t ncached_target, ncached_map, first_cached, ncached, first_link;
	struct pm_buf entered;		/* uint32_t: those of them that have got an indirect entry since */
	uint8_t *used;			/* of what will be saved; NULL: nothing. See cache.c */
	/* what was there when the file on disk was loaded, written or found good enough: units, code, pages foreseen; its checksum */
	size_t saved_units;
	uint64_t saved_code;		/* bytes */
	/* processes map so many bytes of its code, and its shadow, from the cache file: nothing in them may be
	 * patched until cache_thaw(). Links in them are resolved by space_shortcut() */
	uint32_t frozen;
	bool frozen_shadow;
	int file;			/* the cache file; -1: not open */
	uint64_t file_id, file_code, file_shadow;	/* RT_FILE_ID; offsets */
	uint8_t *saved_used, *filled;	/* filled: pages of the shadow that are */
	uint64_t saved_sum;
	struct addenda *addenda;	/* the session's; NULL: none are kept */
	uint64_t taken;			/* bytes of code from there */
	uint32_t ntaken;		/* units */
};

#define MANY_BLOCKS 65536u		/* of a module: what is looked up in them is looked at with care */

static inline size_t hash_pc(uint64_t pc)
{
	return (size_t)((pc * 0x9e3779b97f4a7c15u) >> 24);
}

/* Cache files list blocks by the line of text that they begin in: their numbers, and where in the line. So a block need
 * not be looked at to see that it is another one, and what is near each other in the text is so in the list: few of
 * its pages are looked at. */
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
	return (size_t)(m->hi - m->lo + 8 * SHADOW_TEXT - 1) / (8 * SHADOW_TEXT);
}

static inline const struct xl_map *module_map(const struct module *m, uint32_t i)
{
	return i < m->ncached_map ? &m->cached_map[i] : &m->map[i - m->ncached_map];
}

/* An entry of a shadow in a cache's file: distances from the text's beginning and from its code's. */
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

/* How much a block's counter has counted, as far as was looked: often, at all, nothing. */
#define TIERS 2u
#define OFTEN 100u

struct space {
	uint32_t refs;
	bool i386;
	bool abi_flags;			/* xl_input.abi_flags of all that is not dead, or soon will be: */
	bool abi_broken;		/* ... something was met that must not be translated so */
	uint32_t busy;			/* (4): thread block, 0: nobody */
	uint32_t thawed;		/* how often something frozen has been */
	uint64_t base;			/* its region of the code file: (i386: the shadow's directory,)
					 * links table, then modules */
	uint64_t next;			/* first unused offset in the region */
	struct module *module;
	size_t nmodule, cap_module;
	/* mapped, not allocated, so that files can be mapped into them */
	struct blk *block;
	struct xl_flow *flow;		/* of each block, within its unit; in a trace `out` is the block of
					 * the unit whose record it continues, and `in` XL_OPEN */
	size_t nblock, cap_block;	/* of both */
	struct pm_map outside;		/* closed block -> 1 + offset of its entry for outsiders */
	uint64_t *ran[TIERS];		/* sets of blocks: gather_tier() */
	size_t nran;			/* words of each */
	struct unit *unit;
	size_t nunit, cap_unit;
	struct link *link;
	size_t nlink, cap_link;
	struct pm_map bytes;		/* block number -> copy of its code, where no file has it */
	struct pageref *ref;
	size_t nref, cap_ref;
	uint32_t *hash;			/* pc -> block number + 1 */
	size_t hash_mask, hash_n;
	uint8_t *some;			/* a bit for the lowest bits of each pc in it */
	struct pm_map pending;		/* target pc -> 1 + first pending link */
	struct pm_map ends;		/* pc of dead blocks -> 1 + the link that they all lead to */
	struct range *range;
	size_t nrange, cap_range;
};

/* A part of a file, for all modules of all processes that map it. */
struct text {
	struct stat st;
	uint64_t off;
	size_t len;
	const uint8_t *p;
	struct copied {			/* by the blocks' numbers in its cache file, which mostly stays as it is: */
		uint64_t what;		/* offset << 16 | size; 0: nothing yet */
		const uint8_t *at;	/* in session->out */
	} *copied;
	size_t ncopied;
};

struct slots {				/* of a file: see slots.c */
	dev_t dev;
	ino_t ino;
	struct pm_map to;		/* address in the file -> likewise */
};

enum placed {
	PLACED = 1,
	OWN_CODE = 2,			/* from the code file, not the cache's */
	OWN_SHADOW = 4,
};

struct thread {
	uint32_t block;			/* index of its thread block; 0: none any more */
	uint32_t tid;
	bool live;
	/* i386: counters as they were when last looked at, and what they have counted until then */
	uint32_t *seen;
	uint64_t *total;
	size_t nseen;
};

struct proc {
	uint32_t pid, parent;		/* pid 0: forked, not yet heard of */
	int pidfd;
	struct space *space;
	struct proc *mm;		/* whose address space it runs in: itself, or a vfork parent's */
	struct pm_buf placed;		/* module number -> enum placed: its pieces are mapped here */
	uint32_t thawed;		/* as of space->thawed */
	struct pm_buf moving;		/* while it diverges: what was placed, and shall be again */
	struct space *left;		/* ... the space that it comes from, held; or NULL */
	uint32_t forker;		/* thread block that is forking this process; 0: has been done */
	struct thread *thread;
	size_t nthread, cap_thread;
	struct pm_cut_at {		/* uncounted: cut before the block's counter went up */
		uint32_t tid, block, done;	/* done == n: at its end, but did not flow on */
		bool uncounted;
		uint64_t times;
	} *cut;
	size_t ncut, cap_cut;
	struct counts_of { uint32_t tid; uint32_t *block; uint64_t *count; size_t n, cap; } *counts;
	size_t ncounts, cap_counts;
	const char *program;
	bool is_child;			/* of ours: waitpid() tells */
	bool apart;			/* its numbers, or its children's, may be another PID namespace's */
	bool gone, exited, execed, exec_attached, clean_exit;
	uint32_t loads;			/* pid of the process that is about to execute this one; 0: none */
	struct loading *loading;	/* ... its files, in session->mem */
	int status, signal;
	struct pm_unknown *unknown_at;	/* instructions that the decoder does not know, counted */
	size_t nunknown, cap_unknown;
	double sampled;			/* i386: processor time when its counters were looked at */
	struct pm_counts_process result;	/* when it is gone */
};

struct session {
	struct pm_counts *out;		/* grows as processes end */
	struct pm_buf free_regions;	/* uint64_t: of the code file, with what their last space left in them */
	struct text *text;
	size_t ntext, cap_text;
	struct slots *slots;
	size_t nslots, cap_slots;
	uint64_t *count, *cut;		/* for gather.c: of a unit's blocks, all zero between units */
	size_t cap_scratch;
	uint32_t nfrozen;		/* cache files that are kept open */
	uint64_t late;			/* see session_unmap() */
	uint32_t nthawed;		/* codes and shadows; for PUGMARK_STATS */
	struct maps maps;		/* of the process that asks: read again by every module that is new, */
	bool maps_good;			/* but while this is set */
	const struct pm_run_opts *opts;
	struct pm_arena mem;
	int code_fd, data_fd;
	int rt_fd[2];			/* the runtimes of 64-bit and i386 programs; -1: not wanted so far */
	uint8_t *code, *data;		/* the whole files, writable here */
	uint64_t code_next;		/* first unused offset of the code file */
	struct rt_session *head;
	uint8_t *block_used;		/* thread block index -> in use */
	uint32_t *block_proc;		/* ... -> proc index + 1 */
	uint32_t block_high;
	struct proc **proc;
	size_t nproc, cap_proc;
	struct xl_unit unit;		/* reused */
	uint32_t spin;
	uint64_t cached, ahead, demand;
	pid_t root;
	sigset_t mask;			/* that the program begins with */
	int root_status;
	bool root_done;
	bool loaded;			/* programs are loaded, not injected into: loader.c */
	struct tracer *tracer;		/* NULL: profile */
	uint32_t counts;		/* outside regions blocks' twins are executed (translate.h): pm_pipeline_rests() */
	struct pm_buf point;		/* uint64_t: addresses where something else may be wanted of what is executed */
	struct x86_decoder *dec[2];	/* of 64-bit and of 32-bit code; NULL until wanted */
	uint64_t requests[RQ_LAST + 1];
	uint32_t ni386;			/* 32-bit spaces */
	double sampled;			/* when their counters were last looked at */
	bool sampled_late;
	char pid_text[16];
	int cache_fd;			/* its directory; -1: no cache */
	bool cache_wrote, cache_complained;
	struct addenda *addenda;	/* of all modules: a list */
	unsigned taking;		/* units that wait for others, see take() in space.c */
	uint32_t asking;		/* thread block whose request is being answered */
	bool released;			/* requests that had to wait may be answered */
};

/* Is block @i in the middle of a chain (translate.h)? */
static inline bool block_continues(const struct session *s, const struct space *sp, uint32_t i)
{
	return s->tracer && sp->flow[i].out != XL_OPEN;
}

static inline struct rt_block *session_block(struct session *s, uint32_t i)
{
	return (struct rt_block *)(s->data + (uint64_t)i * RT_BLOCK_SIZE);
}

/* By which path a traced process opens our descriptor @fd. */
static inline void session_path(const struct session *s, char path[64], int fd)
{
	snprintf(path, 64, "/proc/%s/fd/%d", s->pid_text, fd);
}

/* Whom to ask the kernel about the address space: the first thread may be over already. */
static inline pid_t session_asking(struct session *s)
{
	return (pid_t)session_block(s, s->asking)->seen_tid;
}

/* Read the memory of whoever asks; how much, negative: nothing is there. */
ssize_t session_read(struct session *s, void *to, uint64_t at, size_t n);

/* ---- slots.c -------------------------------------------------------------------------------------- */
/* The function of @m that the pointer at @slot, of its procedure linkage table, is likely to lead to; 0: unknown. */
uint64_t slot_target(struct session *s, const struct module *m, uint64_t slot);

/* ---- pids.c --------------------------------------------------------------------------------------- */
#define PID_UNKNOWN	(1u << 30)	/* no process has such a number: one that we cannot find, nor do anything to */
/* The process that calls itself @number, and is @parent's child if that has not gone; tell which it is. */
uint32_t pid_here(const struct session *s, uint32_t number, uint32_t parent);
uint32_t tid_here(const struct session *s, uint32_t pid, uint32_t number);
bool session_knows(const struct session *s, uint32_t pid);

/* ---- inject.c ------------------------------------------------------------------------------------- */
/* @pid stands at its exec stop: put the runtime into it, to begin at its first instruction, @entry, with
 * thread block @block. Fills @sp's ranges and s->maps. False: cannot (refused); @why says. */
bool inject(struct session *s, pid_t pid, uint32_t block, struct space *sp, uint64_t *entry, char *why, size_t n);

#define PTRACE_GETSIGMASK_ ((enum __ptrace_request)0x420a)
#define PTRACE_SETSIGMASK_ ((enum __ptrace_request)0x420b)

/* waitpid() that is not interrupted. */
pid_t wait_for(pid_t pid, int *status);
/* The width of the program that stopped @pid is about to run. */
bool is_i386(pid_t pid);

/* Where the program of @boot is mapped executably, for @boot, @sp and s->maps. False: see @why. */
bool inject_maps(struct session *s, pid_t pid, struct rt_boot *boot, struct space *sp, char *why, size_t n);

bool is_runtime(const struct session *s, const struct mapping *x);

/* ---- loader.c ------------------------------------------------------------------------------------- */
struct loading {			/* descriptors; -1: none */
	int file, program, interpreter;	/* to execute; what it loads */
	unsigned nstring;		/* of a script: what replaces the first argument, in front of the script's path: */
	size_t nbytes;
	char bytes[sizeof(struct rt_cmd) * RT_MAX_CMDS];	/* ... one after the other, each with its 0 */
};
/* A file to execute instead of @program, a descriptor, which becomes @l's: known to itself as @name, with thread block
 * @block. What is no program is a script for @shell, unless that is NULL. False: cannot; @why says, or is empty where the
 * kernel could not execute it either. */
bool loader_make(struct session *s, int program, const char *name, const char *shell, uint32_t block, const struct space *sp,
		 struct loading *l, char *why, size_t n);
void loading_release(struct loading *l);

/* ---- space.c -------------------------------------------------------------------------------------- */
static inline const uint8_t *block_bytes(const struct space *sp, uint32_t i)
{
	const struct blk *b = &sp->block[i];
	const struct module *m = &sp->module[b->module];
	const uint64_t *copy = m->text ? NULL : pm_map_get(&sp->bytes, i);

	return m->text ? m->text + (b->pc - m->lo) : copy ? (const uint8_t *)(uintptr_t)*copy : NULL;
}

struct space *space_new(struct session *s, bool i386);
/* @n bytes at @p go to @at of the code file. */
void space_write(const struct session *s, uint64_t at, const void *p, size_t n);
/* The table of link targets: here, and its address in the process. */
static inline uint64_t *space_links(const struct session *s, const struct space *sp)
{
	return (uint64_t *)(s->code + sp->base + (sp->i386 ? RT32_DIR_SIZE : 0));
}
/* Where link @i leads, if it is in frozen code and would be patched, or 0; NULL: there is no place to say so. */
static inline uint64_t *space_shortcut(const struct session *s, const struct space *sp, size_t i)
{
	return sp->i386 || i >= RT_LINKS_SIZE / 8 ? NULL : (uint64_t *)(s->code + sp->base + RT_LINKS_SIZE) + i;
}
static inline uint64_t space_links_at(const struct space *sp)
{
	return sp->i386 ? RT32_LINKS : RT_CODE_VAULT + sp->base;
}
void space_unref(struct session *s, struct space *sp);
void space_range_add(struct space *sp, uint64_t lo, uint64_t hi, uint32_t prot, bool shared,
		     bool patched);
struct range *space_range(struct space *sp, uint64_t pc);
/* The program may execute [@lo, @hi) from now on: no other code's shadow is to be where that is looked up. */
void space_contest(struct session *s, struct space *sp, uint64_t lo, uint64_t hi);
/* Is the shadow of @m mapped in one piece? */
bool space_whole_shadow(const struct module *m);
const struct unit *unit_of(const struct space *sp, uint32_t block);
/* All addenda of module @mi come to its code. */
void space_take_all(struct session *s, struct space *sp, uint32_t mi);
/* Direct entry (address in the process) for @pc, 0: not executable. Commands for the process are
 * appended to @m; m->again: they have to run before the answer can be given. */
uint64_t space_enter(struct session *s, struct proc *p, uint64_t pc, bool indirect, struct rt_mail *m);
/* The process is about to begin at @pc, or has mapped something executable at [pc, end), and is alone in its
 * space: what files' texts are there will be executed, so they come to their places now. */
uint64_t space_begin(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *m);
void space_mapped(struct session *s, struct proc *p, uint64_t lo, uint64_t hi, struct rt_mail *m);
unsigned space_threads(const struct session *s, const struct proc *p);	/* that live in the address space @p */
uint64_t space_resolve(struct session *s, struct proc *p, uint32_t link, struct rt_mail *m);
/* False: commands have to run before, see m->again. */
bool space_unmap(struct session *s, struct proc *p, uint64_t lo, uint64_t hi, struct rt_mail *m);
/* Block and map entry at copy address @code; false: not in the code cache. */
bool space_state(struct space *sp, uint64_t code, uint32_t *block, const struct xl_map **map);
/* Of blocks [@first, @first + @n), those with twins that hold a point, and their chains, are entered as what traces. */
void space_close(struct session *s, struct space *sp, uint32_t first, uint32_t n);
/* Does a block that has a twin begin at copy address @code? That one's direct entry, or 0. */
uint64_t space_twin(struct space *sp, uint64_t code);
/* Go on with a divergence that needed more commands than a mail holds; false: it is complete. */
bool space_move(const struct session *s, struct proc *p, struct rt_mail *m);
/* The code at @code_off could not be placed in @p: the program has mapped something where it was to be. It
 * will be translated for another place. True: commands have to run first. */
bool space_no_room(struct session *s, struct proc *p, uint64_t code_off, struct rt_mail *m);
/* @cmd, to map a cache file, has failed in @p, and those behind it, @n with it, have not been run. True: commands
 * have to run first. */
bool space_no_file(struct session *s, struct proc *p, const struct rt_cmd *cmd, uint32_t n, struct rt_mail *m);
/* What has been thawed is mapped from the code file. */
void space_refresh(const struct session *s, struct proc *p, struct rt_mail *m);
/* The commands of @block, a thread of @p, have been run (or never will be). */
void space_release(struct session *s, struct proc *p, uint32_t block);
/* A write to @addr by the instruction at @code trapped: was it ours? Fills m->r, unless m->again. */
bool space_write_trap(struct session *s, struct proc *p, uint64_t addr, uint64_t code,
		      struct rt_mail *m);
/* Make pages writable that are protected because of their translations: in the range that holds @addr,
 * or with 0 all. True: there were some. */
bool space_open(struct session *s, struct proc *p, uint64_t addr, struct rt_mail *m);
/* Entry of a unit that executes the one instruction at @pc; in no table. */
uint64_t space_once(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *mail);
uint64_t space_recheck(struct session *s, struct proc *p, uint64_t pc, struct rt_mail *m);
/* Room for @n blocks in all. */
void space_blocks(struct space *sp, size_t n);
/* May what looks up the address of @b go there without asking? */
bool space_guests(const struct blk *b);
/* For cache.c: a block is complete but for its place in the tables by address. */
void space_shadow(struct session *s, struct space *sp, struct module *m, uint64_t pc, uint64_t to);
/* The beginning of the ELF file @fd, where program headers are; a program header of it, of either class;
 * false: there is none of number @i. */
struct elf_head {
	int fd;
	size_t n;
	uint8_t bytes[2048];
};
void elf_head(int fd, struct elf_head *h);
struct segment {
	uint32_t type, flags;
	uint64_t off, vaddr, filesz;
};
bool elf_segment(const struct elf_head *h, unsigned i, struct segment *g);
void mail_cmd(struct rt_mail *m, uint64_t op, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* ---- addenda.c ------------------------------------------------------------------------------------ */
struct addenda_head {			/* no padding: compared as bytes */
	char magic[8];			/* "pugmkMR\n" */
	uint32_t version, abi, kind, twins;
	uint64_t build, absolute;	/* of pugmark; 1 + where the text is, if that is in the code */
	uint64_t text_hash, text_len, file_off;
};
#define ADDENDA_VERSION 1u
/* What is kept beside the file @m->key, @most bytes of it, as far as it is for @head. Adds to m->used. */
struct addenda *addenda_open(struct session *s, const struct module *m, const struct addenda_head *head, uint64_t most);
/* for (size_t i = 0; addenda_next(a, &i, &pc); ): the entries, from m->lo, of all units that can be read */
bool addenda_next(const struct addenda *a, size_t *i, uint32_t *pc);
/* The unit whose entry is @pc, from m->lo, as xl_translate() made it, but when @m's next code and its text were
 * *@distance from each other. False: there is none. */
bool addenda_read(const struct addenda *a, const struct module *m, uint32_t pc, struct xl_unit *u, int64_t *distance);
/* @u, which xl_translate() has just made for the end of @m's code, and nothing has been done to; the pages of the shadow that are needed. */
void addenda_note(struct session *s, struct addenda *a, const struct module *m, const struct xl_unit *u);
void addenda_used(struct session *s, struct addenda *a, const struct module *m);
bool addenda_flush(struct session *s, struct addenda *a);	/* false: not all of it has been written, or ever will be */
void addenda_remove(struct session *s, const struct module *m);	/* those of @m */
void addenda_close(struct session *s);

/* ---- cache.c -------------------------------------------------------------------------------------- */
bool cache_open(struct session *s, struct pm_err *err);
/* Has the file @program, as it is now, been seen to break the ABI of flags? (FLAGS in translate.h) */
bool cache_knows_flags(const struct session *s, const char *program);
void cache_note_flags(const struct session *s, const char *program);
/* Fill a fresh module, whose file is @fd, with what earlier runs translated. @freeze: the process can map
 * cache files. */
void cache_load(struct session *s, struct space *sp, uint32_t module, int fd, const struct elf_head *head,
		bool freeze);
/* The code, or the shadow, of @m is about to be written to: it comes to the code file. Those who have it
 * mapped from the cache file execute what it was until space_refresh(). */
void cache_thaw(struct session *s, struct space *sp, struct module *m, bool code, bool shadow);
/* The code of @m, m->code_len bytes. */
void cache_copy_code(const struct session *s, const struct module *m, uint8_t *to);
/* Write back what is new in @sp: what is worth it, or @anything. */
void cache_save(struct session *s, struct space *sp, bool anything);
/* A run needs, or has needed, the shadow around @pc; the former: fill it. */
void cache_shadow(struct session *s, struct space *sp, struct module *m, uint64_t pc);
void cache_used(struct module *m, uint64_t pc);
/* m->entry_from for a copy of @m. */
uint32_t *cache_copy_entries(const struct module *m);
/* What the file that @m is from has at @at; *@n becomes how many bytes of it can be looked at until the next call. */
/* Number of the counter of @block, and the other way round. *@last, NULL at first, is kept from call to call. */
uint32_t block_counter(const struct space *sp, uint32_t block, const struct module **last);
uint32_t counter_block(const struct space *sp, uint32_t counter, const struct module **last);
uint32_t cache_counters(const struct module *m);	/* so many at the front have been needed */
const void *cache_look(const struct module *m, uint64_t at, size_t *n);
void cache_close(struct session *s);

/* ---- session.c ------------------------------------------------------------------------------------ */
bool session_running(const struct session *s);	/* some process is */
double session_now(void);
/* From now on nobody can change the size of memory file @fd, nor what else seals @more (F_SEAL_*) are about. */
bool session_seal(int fd, int more);
/* Since the program ended, somebody has asked us to end, too. */
bool session_interrupted(void);		/* seconds since whenever */
/* munmap() of @n bytes, of which @used were used; but not when all is over, nor the first few MiB: the end of pugmark
 * gives everything back at once, and each unmapping makes every processor drop its translations. */
void session_unmap(struct session *s, const void *p, size_t n, size_t used);

/* ---- gather.c ------------------------------------------------------------------------------------- */
void gather_thread(struct session *s, struct proc *p, struct thread *t);
/* To be called at least every GATHER_EVERY seconds while 32-bit programs run, whose counters wrap. */
#define GATHER_EVERY 0.25
void gather_sample(struct session *s);
void gather_process(struct session *s, struct proc *p);
/* Tell the cache what @sp's threads have needed of shadows so far, while they run. */
void gather_used(struct session *s, struct space *sp);
unsigned gather_tier(const struct space *sp, uint32_t block);		/* 0: OFTEN... TIERS: not seen */
void gather_release(struct session *s);
struct pm_counts *gather_counts(struct session *s);

#endif
