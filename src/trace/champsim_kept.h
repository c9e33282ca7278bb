/* SPDX-License-Identifier: MIT */
/* champsim_kept.h - compiled modules of ChampSim, kept between commands (base/kept.h)
 *
 *   pugmark-module-HASH
 *       HASH: SHA-256 of what is known before the compiler runs: the module's folder and the
 *       contents of its sources, the flags, what it is compiled against, the words of CXX, the
 *       files that they name as they are now, and what compilers take from the environment
 *
 * The file holds the shared object, and the paths of all files that the compiler read, with a sum
 * of their contents. It counts only while they have these contents. A new header may take the place
 * of one found later on the way, so names of headers beside them are in the sum, too.
 *
 * Not seen: a compiler that is changed behind a script which CXX names. Its headers usually change
 * with it.
 *
 * Errors     none: what cannot be kept, or is not as it was, is compiled.
 * Threads    one. Any number of processes. */
#ifndef PM_TRACE_CHAMPSIM_KEPT_H
#define PM_TRACE_CHAMPSIM_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/sha256.h"

struct champsim_kept {
	bool open;			/* there is a directory to keep it in */
	struct timespec begun;		/* before any source was read */
	struct pm_sha256 key;
	char name[96];			/* "" until the key is complete */
};

void champsim_kept_open(struct champsim_kept *k);
/* What the object depends on: a text; the contents of the file @path. */
void champsim_kept_text(struct champsim_kept *k, const char *text);
void champsim_kept_file(struct champsim_kept *k, const char *path);
/* The compiler, by the words @cxx, which the shell reads. */
void champsim_kept_compiler(struct champsim_kept *k, const char *cxx);

/* That was all. True: there is such an object, which file @so is now. */
bool champsim_kept_load(struct champsim_kept *k, const char *so);
/* What has been loaded is of no use. */
void champsim_kept_remove(struct champsim_kept *k);
/* File @so is what was compiled in the folder @dir, whose own files are in the key. The compiler
 * has written to the @n files @rules, as make's rules, what it read. */
void champsim_kept_save(struct champsim_kept *k, const char *so, const char *dir,
			char *const *rules, size_t n);
void champsim_kept_close(struct champsim_kept *k);

#endif
