/* SPDX-License-Identifier: MIT */
/* coverage.h - which lines, functions and branches of an unmodified program ran, and how often
 *
 * A sink counts, of each block, how often it executed, and of each conditional or indirect jump
 * where it led. Afterwards debugging information says which lines there are at all, and the code in
 * the files which instructions did not run. All processes and threads add up.
 *
 * A line's count is what gcov would say (coverage_lines.c). Built with -O0 the two are equal;
 * docs/coverage.md names what remains. */
#ifndef PM_ANALYSE_COVERAGE_H
#define PM_ANALYSE_COVERAGE_H

#include "base/err.h"
#include "base/mem.h"
#include "pugmark/pugmark.h"

/* ---- what ran ------------------------------------------------------------------------------ */

struct pm_cover_insn {			/* addresses as in the file */
	uint64_t addr, count;
	uint64_t taken, fell;		/* of a conditional jump */
	uint64_t target;		/* of a direct jump or call */
	uint8_t len, flow;		/* enum pm_insn_class */
};

struct pm_cover_object {
	char *path, *build_id;		/* build_id NULL: none */
	uint64_t base, lo, hi;		/* where it was mapped first */
	struct pm_cover_insn *insn;	/* that executed; by address once they are sorted */
	size_t n, cap;
	struct pm_map at;		/* addr -> index, until then */
	struct pm_cover_jump { uint64_t from, to, count; } *jump;	/* indirect ones */
	size_t njump, cap_jump;
	struct pm_cover_block { uint64_t addr; uint32_t size; } *block;	/* that executed at all */
	size_t nblock, cap_block;
};

struct pm_cover {
	struct pm_cover_object *object;
	size_t n, cap;
};

/* Needs blocks (XL_BRANCH is enough). No configuration. */
extern const struct pm_sink_ops pm_sim_coverage;
/* What the sink @self saw; after finish(). pm_cover_release() gives it back. */
void pm_sim_coverage_of(const void *self, struct pm_cover *c);
void pm_cover_release(struct pm_cover *c);

/* ---- what that is in sources --------------------------------------------------------------- */

struct pm_cover_file {
	const char *path;
	struct pm_cover_line { uint32_t line; uint64_t count; } *line;	/* with code; by line */
	size_t nline;
	struct pm_cover_function { const char *name; uint32_t line; uint64_t count; } *function;
	size_t nfunction;		/* by line, then name */
	struct pm_cover_branch {	/* one conditional jump: both of its edges */
		uint32_t line;
		uint64_t addr, fell, taken;
	} *branch;			/* by line, then address */
	size_t nbranch;
};

struct pm_cover_files {
	struct pm_cover_file *v;	/* by path */
	size_t n;
	unsigned without_lines;		/* objects that ran and have no debugging information */
	struct pm_arena mem;
};

/* From the files of all objects that have debugging information. Sorts @c's instructions. */
void pm_cover_files(struct pm_cover *c, struct pm_cover_files *to);
void pm_cover_files_release(struct pm_cover_files *f);

#endif
