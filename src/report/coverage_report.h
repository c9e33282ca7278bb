/* SPDX-License-Identifier: MIT */
/* coverage_report.h - coverage (analyse/coverage.h) in the files that other tools read
 *
 *   lcov        genhtml, lcov, Codecov, Coveralls, editors
 *   cobertura   GitLab, Jenkins, Azure; valid by its coverage-04.dtd
 *   drcov       Lighthouse and other tools for disassemblers: blocks by address, no sources needed
 *
 * All three can be added up over runs: records of one file simply add. */
#ifndef PM_REPORT_COVERAGE_REPORT_H
#define PM_REPORT_COVERAGE_REPORT_H

#include "analyse/coverage.h"

enum pm_status pm_cover_lcov(const struct pm_cover_files *f, const char *path, struct pm_err *err);
/* Names of files below @dir are relative to it; NULL: none is. */
enum pm_status pm_cover_cobertura(const struct pm_cover_files *f, const char *dir,
				  const char *path, struct pm_err *err);
enum pm_status pm_cover_drcov(const struct pm_cover *c, const char *path, struct pm_err *err);

#endif
