/* SPDX-License-Identifier: MIT */
/* named_files.h - the files that a command is given: no output is also an input, or another output
 *
 * One table serves the check, the question who has standard output, and the list in the result. */
#ifndef PM_CLI_NAMED_FILES_H
#define PM_CLI_NAMED_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/result.h"
#include "cli/opt.h"

struct named_file {
	const char *option;	/* "--refs", or what --help calls the operand */
	const char *path;	/* NULL: not given; "-": standard input or output */
	bool output;
};

/* A usage error, with exit status 2, before anything is written: two names of one file, by name,
 * or by device and inode if it is there. A device may be given as often as one likes. */
void named_files_check(const struct pm_opt_help *help, const struct named_file *f, size_t n);
#define NAMED_FILES_CHECK(help, ...)                                                              \
	named_files_check(help, (const struct named_file []){ __VA_ARGS__ },                      \
			  sizeof((const struct named_file []){ __VA_ARGS__ }) /                   \
				  sizeof(struct named_file))
/* Does one of them go to standard output? */
bool named_files_stdout(const struct named_file *f, size_t n);
/* The list "files" of those that were written, once they are complete; not the JSON itself. */
void named_files_put(struct pm_result *r, const struct named_file *f, size_t n);

#endif
