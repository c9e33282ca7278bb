/* SPDX-License-Identifier: MIT */
/* branch_perf.h - a branch profile as a file of `perf record -e branches:u -j any,u`
 *
 * Such a file holds samples: every so many taken branches the last 32 of them, newest first, each
 * with where it was and where it went. Tools that read no counts read that: `perf report`,
 * `perf2bolt`, `create_gcov`, `create_llvm_prof` (and Propeller through it), `llvm-profgen`.
 *
 * From exact counts the samples are drawn as one who stops the program at random branches would
 * have seen them. The newest branch is drawn from all branches by their counts; in front of it a
 * range that ends where it was, of all these by their counts; in front of that a branch that went
 * to where the range begins, and so on. So each branch, and each range between two branches, is
 * expected in the file in proportion to its count. Which of several branches into a place goes with
 * which out of it is not counted, and drawn independently. A stack is shorter than 32 where nothing
 * is known to go before. The numbers come from a fixed sequence: the same counts give the same
 * file.
 *
 * A file is about one object. Any place outside of it is one address, in a mapping of its own that
 * is called [outside]; the kernel, which begins threads and handlers, is outside, too. Mispredicted
 * branches are marked if somebody predicted (pm_sim_branches).
 *
 * Source     tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h
 *            of Linux. */
#ifndef PM_ANALYSE_BRANCH_PERF_H
#define PM_ANALYSE_BRANCH_PERF_H

#include "analyse/branch_profile.h"
#include "base/err.h"

#define PM_BRANCH_PERF_SAMPLES	40000	/* the usual number: 33 MB */
#define PM_BRANCH_PERF_MOST	1000000

/* The file's bytes behind what is in @to, with @samples of them, or one for each two branches that
 * were taken. @o's ELF file has to be the one that ran. */
enum pm_status pm_branch_perf_make(const struct pm_branch_object *o, uint64_t samples,
				   struct pm_buf *to, struct pm_err *err);

#endif
