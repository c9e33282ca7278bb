/* SPDX-License-Identifier: MIT */
/* profile.h - from counted pieces to what was executed: canonical blocks, mix, locality, functions
 *
 * BLOCKS. Pieces depend on the order in which code was discovered; blocks must not. An executed
 * instruction begins a block if and only if
 *   (1) an executed transfer of control entered there (jump, call, return, return from a signal
 *       handler, start of a thread): control arrived more often than the instruction in front of
 *       it ran; or
 *   (2) an executed instruction in front of it transfers control (jump, call, return, conditional
 *       jump, loop, system call), taken or not; or
 *   (3) two different executed instructions end where it begins (code that overlaps itself), or it
 *       and another version of the code at the same address (generated code) follow the same one.
 * A block goes on up to the next such instruction. Code that several processes run from the same
 * file at the same place with the same bytes is the same code: one set of blocks, formed over all
 * threads and processes of the run, serves them all, so the figures of processes and threads add
 * up to those of the run (distinct blocks do not add up, of course).
 *
 * COUNTS are exact under cuts: an instruction that a fault or a kill kept from completing is not
 * counted, the ones in front of it are. A rep-prefixed string instruction is one instruction, and
 * its references are counted once, whatever the number of its iterations: a profile does not know
 * them; @reps says how often such instructions ran.
 *
 * Ownership  pm_profile_free(). A profile borrows from its pm_counts, which must outlive it. */
#ifndef PM_ANALYSE_PROFILE_H
#define PM_ANALYSE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/counts.h"

struct pm_profile_object {
	const char *path, *build_id;	/* build_id NULL: none */
	uint64_t insns;			/* executed in it */
	struct pm_elf *elf;		/* NULL: no file; opened when first needed */
};

struct pm_profile_function {
	const char *linkage;		/* as in the symbol table; "[libfoo.so]": nothing is
					 * known */
	const char *name;		/* NULL until pm_profile_name() was asked */
	uint32_t object;
	uint64_t lo;			/* first address, in the ELF file */
	uint64_t insns;
};

struct pm_profile_block {
	uint64_t addr;			/* in the ELF file; in memory for generated code */
	const uint8_t *bytes;
	uint32_t size, n;		/* bytes, instructions */
	uint32_t object;		/* index into pm_profile.object */
	uint64_t entries;		/* executions of its first instruction */
	uint64_t insns;			/* instructions executed: n * entries, less what was cut */
};

struct pm_profile_sum {
	uint64_t insns;			/* instructions executed, @unknown included */
	uint64_t blocks;		/* blocks executed */
	uint64_t blocks_distinct;	/* different blocks executed */
	uint64_t locality_90;		/* the fewest blocks that make 90 % of the instructions
					 * in blocks */
	uint64_t reads, writes;		/* memory operands read, written; a modified one is both */
	uint64_t reps;			/* rep-prefixed string instructions executed */
	uint64_t unknown;		/* instructions that the decoder does not know */
};

struct pm_profile_thread {
	uint32_t tid;
	struct pm_profile_sum sum;
};

struct pm_profile_process {
	const struct pm_counts_process *from;
	struct pm_profile_sum sum;
	struct pm_profile_thread *thread;
	size_t nthread;
	struct pm_profile_share { uint32_t function; uint64_t insns; } *share;	/* descending; by
							 * pm_profile_shares() */
	size_t nshare;
};

struct pm_profile_mix {
	const char *name;
	uint64_t count;
};

struct pm_profile {
	const struct pm_counts *counts;
	struct pm_profile_sum sum;
	bool incomplete;			/* some process is */
	bool shared;				/* shares have been worked out */
	size_t nblock;				/* by object, then address: pm_profile_block() */
	struct pm_profile_object *object;	/* that executed anything, in order of appearance */
	size_t nobject;
	struct pm_profile_process *process;	/* as in counts */
	size_t nprocess;
	struct pm_profile_mix *mnemonic, *class; /* descending, equal counts by name */
	size_t nmnemonic, nclass;
	struct pm_profile_function *function;	/* filled by pm_profile_functions() */
	size_t nfunction;
	struct pm_arena mem;
	struct pm_profile_work *work;		/* see profile_work.h */
};

struct pm_profile *pm_profile_new(const struct pm_counts *c);
void pm_profile_free(struct pm_profile *p);		/* NULL is fine */

/* Block number @i. They are put together when asked for. */
struct pm_profile_block pm_profile_block(const struct pm_profile *p, size_t i);

/* Names the blocks' functions and sums instructions by function, in total and per process. Opens
 * the symbol tables of the objects that ran. Called once, when somebody wants to know. */
void pm_profile_functions(struct pm_profile *p);
/* What each process has of them, after that. */
void pm_profile_shares(struct pm_profile *p);

/* The demangled name of a function: done when asked, for thousands are never printed. */
const char *pm_profile_name(struct pm_profile *p, uint32_t function);

/* Indices of functions or blocks by descending instructions, at most @max of them (0: all); ties by
 * object and address. The caller free()s *@order. */
size_t pm_profile_top_functions(const struct pm_profile *p, size_t max, uint32_t **order);
size_t pm_profile_top_objects(const struct pm_profile *p, uint32_t **order);
size_t pm_profile_top_blocks(const struct pm_profile *p, size_t max, uint32_t **order);

/* Source line of an address in an object; false if not known. Not @patient: false, too, where
 * finding out would take tens of milliseconds (a C library's separate, compressed debug file). */
bool pm_profile_line(struct pm_profile *p, uint32_t object, uint64_t addr, bool patient,
		     const char **file, unsigned *line);
bool pm_profile_has_lines(struct pm_profile *p, uint32_t object);

enum pm_syntax { PM_SYNTAX_ATT, PM_SYNTAX_INTEL };
/* One instruction of @b as text into @buf, at byte @off of it; the length of the instruction. */
unsigned pm_profile_disasm(struct pm_profile *p, const struct pm_profile_block *b, uint32_t off,
			   enum pm_syntax syntax, char *buf, size_t size);

/* The instructions of a block with their executions (exact under cuts), for exporters. */
struct pm_profile_insn {
	uint64_t addr, count;
	uint8_t len;
	uint8_t reads, writes;
	uint8_t flow;			/* enum pm_insn_class */
	uint64_t target;		/* of a direct jump or call, in the ELF file; else 0 */
};
/* The function of instruction @i of block @block, after pm_profile_functions(). */
uint32_t pm_profile_function_of(const struct pm_profile *p, uint32_t block, uint32_t i);
/* The demangled name of the function at @addr, executed or not; NULL: none. Borrowed until the next
 * call. */
const char *pm_profile_function_at(struct pm_profile *p, uint32_t object, uint64_t addr);
bool pm_profile_i386(const struct pm_profile *p, uint32_t object);	/* 32-bit code? */
/* @v has room for as many as the block has. */
void pm_profile_insns(const struct pm_profile *p, uint32_t block, struct pm_profile_insn *v);

#endif
