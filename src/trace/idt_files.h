/* SPDX-License-Identifier: MIT */
/* idt_files.h - the files that belong to one instrumented program: BENCH.idt, .blk, .cnt, .trc and
 * the module file, found by the program's name
 *
 * A module file is text: `#` comments, then a line for each mapped text,
 *
 *	LO-HI OFFSET BUILD-ID PATH
 *
 * addresses where BENCH.idt maps it, the position of LO in the file, its build id in hex (- if it
 * has none). With it each block of the block table has a file and a place in it. What was
 * translated while the program ran has lines that begin with @RECORD: they are about blocks whose
 * record is at RECORD in the block table or behind it, and of several the last one that is about a
 * block counts.
 *
 * Ownership  what find and parse functions fill in is released by the release functions. */
#ifndef PM_TRACE_IDT_FILES_H
#define PM_TRACE_IDT_FILES_H

#include "trace/idt.h"

struct idt_module {
	uint64_t lo, hi;		/* mapped text */
	uint64_t offset;		/* of lo in the file */
	uint64_t record;		/* 0: of all blocks */
	const char *build_id;		/* NULL: none */
	const char *path;
};
struct idt_modules {
	struct pm_arena mem;
	struct idt_module *v;
	size_t n, cap;
};
enum pm_status idt_modules_parse(const char *text, size_t n, struct idt_modules *to,
				 struct pm_err *err);
void idt_modules_write(const struct idt_modules *m, struct pm_buf *to);
void idt_modules_release(struct idt_modules *m);
/* So many counters a .cnt64 has at least: those of the blocks that were there when the program was
 * instrumented. A process may have ended before others added more, and gathers and scatters are
 * counted once. */
size_t idt_least_counters(const struct idt_blk *b, const struct idt_modules *m);

struct idt_bench {
	bool wide;			/* 64-bit names: .blk64 instead of .blk... */
	bool file;			/* the name was one of its files' */
	char *orig;			/* BENCH itself */
	char *number;			/* of a process or thread: its files end in .N; else "" */
	char *idt, *blk, *cnt, *trc, *kt, *mod;	/* where they are, or would be */
	char *trace;			/* .trc, or a FIFO BENCH.otr */
};
/* @name: BENCH, BENCH.idt, or one of its files, as BENCH.trc64 and BENCH.cnt64.123. The width is
 * the file's, or the one whose block table is there, or else whose trace. */
void idt_bench_find(const char *name, struct idt_bench *b);
void idt_bench_release(struct idt_bench *b);
/* How many files are beside @path whose names are its with a number, other processes' and threads':
 * those that are no older than the file @since, if that is there. */
size_t idt_numbered_files(const char *path, const char *since);

/* What an instrumented program says of itself: the last bytes of its file. The last four make the
 * CRC-32 of the whole file come out as idt_magic. */
struct idt_trailer {
	char tag[8];			/* "PUGIDT1\n" */
	char options[88];		/* as they were given; terminated */
	uint64_t manifest;		/* position of struct img_manifest
					 * (collect/runtime/image.h) */
	uint32_t orig_magic, idt_magic, abi, fix;
};
_Static_assert(sizeof(struct idt_trailer) == 120, "a file format");
bool idt_trailer_find(const uint8_t *p, size_t n, struct idt_trailer *to);
/* What the instrumented program beside the trace says of itself, if it is the one that the block
 * table there belongs to: its options. */
bool idt_options_beside(const char *trace, bool wide, struct idt_trailer *to);
/* Has it been made with @name ("-r")? The number behind it, if it is a number, into *@n, which may
 * be NULL. */
bool idt_has_option(const struct idt_trailer *t, const char *name, uint64_t *n);
/* Has the program beside this cache trace been made to write one, without -r? */
bool idt_leaves_reps(const char *trace, bool wide);
/* The four bytes behind @p[0..n) that make the CRC-32 of all of it @want. */
uint32_t idt_magic_fix(const uint8_t *p, size_t n, uint32_t want);

/* What a trace does not say of itself, in a file beside it, NAME.trc.info: lines `key=value`, of
 * which unknown ones are left alone. Nobody has to write one. */
struct idt_info {
	char kind[12];			/* "branch", "cache", "execution"; "" not said */
	unsigned line_size, word;	/* bytes; word 4 or 8; 0 not said */
	bool rep;			/* references of rep instructions have their own tags */
};
enum pm_status idt_info_parse(const char *text, size_t n, struct idt_info *to, struct pm_err *err);
void idt_info_write(const struct idt_info *i, struct pm_buf *to);

/* The whole file, unpacked if it is packed. */
enum pm_status idt_slurp(const char *path, struct pm_buf *to, struct pm_err *err);
/* The magic number of a file: the CRC-32 of its bytes. */
uint32_t idt_magic(const void *p, size_t n);

/* Name of the instruction that an idt_id stands for, "op 0x1234" if it is none. */
void idt_id_name(uint16_t id, bool wide, char *buf, size_t size);

#endif
