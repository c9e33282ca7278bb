/* SPDX-License-Identifier: MIT */
/* job.h - what the parts of `pugmark instrument` share
 *
 * place_files.c finds the files and fixes where everything will be mapped, block_table.c makes
 * the block table and the plans of records, write.c puts the files together, outputs.c gives them
 * their names, and instrument.c runs them in this order. */
#ifndef PM_INSTRUMENT_JOB_H
#define PM_INSTRUMENT_JOB_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/instrument/instrument.h"
#include "collect/instrument/pack.h"
#include "collect/translate/whole_text.h"
#include "trace/idt_files.h"

#define PAGE		4096ull
#define PIE_BASE	0x555555554000ull	/* ELF_ET_DYN_BASE without randomisation */
#define PIE32_BASE	0x56555000ull		/* ... of 32-bit programs */
#define MAX_FILES	256

struct file {
	char *path;
	const uint8_t *p;
	size_t n;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	uint64_t bias, base, end;	/* in memory */
	char build_id[129];
	uint64_t changed;		/* img_file */
};

struct lanes {				/* a block whose last instruction is a gather or scatter, or
					 * a load or store of a tile */
	uint32_t block, n;		/* n: entries at most */
	uint32_t at;			/* in the plans: where its records begin
					 * that have elements */
};

struct program_text {
	size_t file;
	uint64_t lo, hi, offset, bytes, code;
	uint64_t room;			/* for the code */
	uint64_t packed, tables;	/* addresses */
	uint32_t prot;
	struct xl_image image;
	struct pm_buf plan, plan_at, record_at, back;	/* runtime/image.h */
	struct idt_insn *insn;		/* of its blocks, in the order of their numbers */
	uint32_t *insn_at;		/* where each block's begin, and where the last one's end */
	struct pm_buf lanes;		/* struct lanes */
	uint32_t *next;			/* of blocks: the one that continues its record,
					 * IMG_NO_BLOCK */
};

struct text_piece {				/* of a text's plans */
	struct program_text *text;
	uint32_t from, to;		/* blocks */
	struct pm_buf plan, lanes;
};

struct job {
	const struct pm_instrument_opts *o;
	bool i386;
	struct file file[MAX_FILES];
	size_t nfile;
	struct program_text *text;
	size_t ntext, cap_text;
	struct text_piece *piece;
	struct address_range { uint64_t lo, hi; } *busy;
	size_t nbusy, cap_busy;
	bool interp;
	uint64_t vdso, vdso_end;
	uint64_t next32[2];		/* place32() */
	bool no_room;			/* ... has failed */
	struct idt_blk blk;
	uint32_t nblock, nlink;
	struct idt_hints hints;
	struct pm_buf seeds;		/* u64: what jump tables of the hint file name */
	uint64_t beg, end;		/* what of the program is traced */
	struct pm_arena mem;
};

static inline uint64_t down(uint64_t n)
{
	return n & ~(PAGE - 1);
}

static inline uint64_t up(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

/* ---- place_files.c ------------------------------------------------------------------------- */
/* All files, and where their texts and the translations of those will be. @place_hints is called
 * when the program itself has its place. */
/* 32-bit programs have one place for all that is ours: the next @size bytes of it.
 * 0: there is no room. */
uint64_t place32(struct job *j, uint64_t size);
uint64_t left32(const struct job *j);	/* without the part that programs would
					 * rather have themselves */
enum pm_status place_all(struct job *j,
			 enum pm_status (*place_hints)(struct job *j, struct pm_err *err),
			 struct pm_err *err);

/* ---- block_table.c ------------------------------------------------------------------------- */
/* Plans of a text's blocks: plan_begin(), then its pieces, side by side, then plan_join()
 * for each in order. */
void plan_begin(const struct job *j, struct program_text *t);
struct planner *planner_new(void);	/* of a thread */
void planner_free(struct planner *w);
void plan_piece(struct planner *w, const struct job *j, struct text_piece *p);
void plan_join(const struct job *j, struct text_piece *p);
void table_of(struct job *j, struct program_text *t);		/* text by text, in order */
void table_lanes(struct job *j, struct program_text *t);	/* then this, in the same order */

/* ---- outputs.c ------------------------------------------------------------------------------- */
struct output_files {			/* files to be, under their temporary names */
	struct output {
		char *path, *temp;
	} v[MAX_FILES + 4];
	size_t n;
};
/* The program's path with @suffix; which suffix the block table has. */
char *output_path(struct job *j, const char *suffix);
const char *output_table(const struct job *j);
/* Can the program be instrumented to where it would go? */
enum pm_status check_outputs(struct job *j, struct pm_err *err);
enum pm_status output_save(struct output_files *all, const char *path, const struct pm_buf *b,
			   mode_t mode, struct pm_err *err);
/* If @st says that all of them are there they get their names, else none is left. */
enum pm_status outputs_end(struct job *j, struct output_files *all, enum pm_status st,
			   struct pm_err *err);

/* ---- instrument.c ---------------------------------------------------------------------------- */
extern const enum xl_kind xl_kinds[];		/* by enum img_kind */
void text_release(struct program_text *t);

/* ---- verbose.c ------------------------------------------------------------------------------- */
/* Where a text's code, tables and functions are, and what every process has. */
void print_text(const struct job *j, const struct program_text *t, const struct img_text *place);
void print_process(const struct job *j, const struct img_manifest *m);

/* ---- write.c ------------------------------------------------------------------------- */
/* The tables of a text: their parts, each at a multiple of @align, all of them @size bytes. @head
 * is the first. */
#define MAX_PARTS 8
size_t text_parts(const struct program_text *t, struct img_tables *head, uint32_t align,
		  struct pack_part v[MAX_PARTS], uint64_t *size);
/* THE ENTRIES of runtime/image.h. */
void text_entries(const struct program_text *t, struct pm_buf *to);
enum pm_status write_all(struct job *j, struct pm_err *err);

#endif
