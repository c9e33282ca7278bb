/* SPDX-License-Identifier: MIT */
/* branch_file.h - branch profiles as files that compilers and linkers read: made, read back, added
 *
 *   bolt         `perf2bolt --pa`: a line is B FROM TO COUNT MISPREDICTED or F FIRST LAST COUNT,
 *                with f where a return led to FIRST. Addresses in hex, 0 is outside. In front of
 *                one there may be a build id and a colon; perf2bolt ignores it. We have it once
 *   fdata        llvm-bolt's own: 1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED COUNT; of what
 *                is outside: 0 [unknown] 0
 *   autofdo      `create_gcov --profiler=text`: number of ranges, FIRST-LAST:COUNT...; number of
 *                addresses (0); number of branches, FROM->TO:COUNT... Addresses are less that of
 *                the first segment
 *   llvm-sample  `llvm-profgen --unsymbolized-profile`: the same without the addresses' part,
 *                addresses less that of the first executable segment
 *
 * A file is about one object.
 *
 * Ownership  pm_branch_file_release(). Errors name the file and, where they are about its contents,
 *            the offset. */
#ifndef PM_ANALYSE_BRANCH_FILE_H
#define PM_ANALYSE_BRANCH_FILE_H

#include "analyse/branch_profile.h"
#include "base/err.h"
#include "elf/symbols.h"

enum pm_branch_format {
	PM_BRANCH_BOLT, PM_BRANCH_FDATA, PM_BRANCH_AUTOFDO, PM_BRANCH_LLVM_SAMPLE,
	PM_BRANCH_FORMATS
};

extern const char *const pm_branch_format_names[PM_BRANCH_FORMATS];	/* "bolt"... */

enum pm_branch_line_kind { PM_LINE_BRANCH, PM_LINE_RANGE, PM_LINE_RETURNED };

struct pm_branch_line {
	uint8_t kind;			/* enum pm_branch_line_kind */
	const char *from_name, *to_name;	/* fdata's functions, NULL: unknown; else NULL */
	uint64_t from, to, count, missed;
};

struct pm_branch_file {
	enum pm_branch_format format;
	struct pm_branch_line *line;	/* sorted, each once */
	size_t n, cap;
	char *build_id;			/* of the object, hex; NULL: not known. bolt alone has it */
	struct pm_arena mem;		/* names */
};

/* What @o is as a file. Its ELF file has to be the one that ran; bolt does without one. */
enum pm_status pm_branch_file_make(const struct pm_branch_object *o, enum pm_branch_format format,
				   struct pm_branch_file *f, struct pm_err *err);
/* False: o's ELF file is there and has no symbols, which fdata needs. */
bool pm_branch_file_can_name(const struct pm_branch_object *o);
/* The file at @path, in whatever of the formats it is. */
enum pm_status pm_branch_file_read(const char *path, struct pm_branch_file *f, struct pm_err *err);
/* The counts of @more, of the same format and, as far as they say so, of the same build, are added
 * to @f. */
void pm_branch_file_add(struct pm_branch_file *f, const struct pm_branch_file *more);
/* The text of it, behind what is in @to. */
void pm_branch_file_text(const struct pm_branch_file *f, struct pm_buf *to);
void pm_branch_file_release(struct pm_branch_file *f);

/* ---- for the files of this module ------------------------------------------------------------ */
/* PM_ERR: @e does not have the code that ran in @o. */
enum pm_status pm_branch_code_is(const struct pm_branch_object *o, struct pm_elf *e,
				 struct pm_err *err);
void pm_branch_file_put(struct pm_branch_file *f, struct pm_branch_line l);
void pm_branch_file_sort(struct pm_branch_file *f);
/* @e is o's ELF file. */
enum pm_status pm_branch_file_fdata(const struct pm_branch_object *o, struct pm_elf *e,
				    struct pm_branch_file *f, struct pm_err *err);

#endif
