/* SPDX-License-Identifier: MIT */
/* champsim.h - modules of the simulator ChampSim, compiled when they are needed
 *
 * A module is a folder of C++ as it lies in ChampSim's tree: X.cc and what belongs to it, with a
 * struct X that derives from one of champsim::modules::branch_predictor, btb, prefetcher and
 * replacement. All *.cc of the folder are compiled with the words of CXX (c++ if not set) against
 * plugins/champsim, which this program carries, in a folder of its own below TMPDIR (/tmp), which
 * is removed at once. The object is kept for later commands (champsim_kept.h). "X.cc" is the
 * module's name from then on; it stays loaded until the process ends. What a module prints goes to
 * standard error.
 *
 * Errors     one sentence: no compiler, the compiler's first error, a module of ChampSim's old kind
 * Threads    all modules belong to one thread */
#ifndef PM_TRACE_CHAMPSIM_H
#define PM_TRACE_CHAMPSIM_H

#include "base/err.h"
#include "trace/champsim_abi.h"

enum pm_status pm_champsim_load(const char *path, struct pm_err *err);

bool pm_champsim_is_name(const char *word);	/* X.cc, loaded or not */
/* A loaded one by its name, "X.cc"; NULL: there is none. */
const struct pm_champsim_module *pm_champsim_find(const char *name);
bool pm_champsim_any(void);			/* is one loaded? */

/* What the object @self of @m threw: false, and @err says so. */
bool pm_champsim_well(const struct pm_champsim_module *m, const void *self, const char *what,
		      struct pm_err *err);

/* The kind of a branch with these flags (PM_BR_*), as ChampSim tells them apart. */
enum pm_champsim_branch pm_champsim_branch(unsigned flags);

#endif
