/* SPDX-License-Identifier: MIT */
/* coverage_work.h - how a pm_cover is filled: private to the files of coverage.h */
#ifndef PM_ANALYSE_COVERAGE_WORK_H
#define PM_ANALYSE_COVERAGE_WORK_H

#include "analyse/coverage.h"

/* The number of the object of @path; where it is new it was mapped as @base, @lo and @hi say.
 * @build_id, NULL: none, is copied. */
size_t pm_cover_object_of(struct pm_cover *c, const char *path, const char *build_id,
			  uint64_t base, uint64_t lo, uint64_t hi);
/* The instruction at @addr of the file, new where it is not known yet. */
struct pm_cover_insn *pm_cover_insn_at(struct pm_cover_object *o, uint64_t addr);
/* Each block and jump once: processes have the same ones. */
void pm_cover_tidy(struct pm_cover *c);

#endif
