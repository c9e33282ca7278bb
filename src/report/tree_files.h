/* SPDX-License-Identifier: MIT */
/* tree_files.h - a calling-context tree (analyse/tree.h) in the forms that other programs read
 *
 * folded      a line for each context that cost anything itself: "main;parse;hash 4711". What
 *             flamegraph.pl and many others read; also speedscope, and `pugmark diff`. A ';' in a
 *             name becomes ':'.
 * speedscope  speedscope's JSON, a "sampled" profile for each event: a sample and its weight for
 *             each context that cost anything itself
 * pprof       pprof's profile.proto, compressed with gzip: samples have a value for each event */
#ifndef PM_REPORT_TREE_FILES_H
#define PM_REPORT_TREE_FILES_H

#include "analyse/tree.h"

void pm_tree_folded(const struct pm_tree *t, unsigned event, struct pm_buf *to);
/* The same, in pieces of about a megabyte: each call puts one into @piece; nothing more: that was
 * all. */
struct pm_folded;
struct pm_folded *pm_tree_folded_begin(const struct pm_tree *t, unsigned event);
void pm_tree_folded_next(void *folded, struct pm_buf *piece);
void pm_tree_folded_end(struct pm_folded *f);
/* @event comes first, or is the only one. @title: what was traced. */
void pm_tree_speedscope(const struct pm_tree *t, unsigned event, bool only, const char *title,
			struct pm_buf *to);
enum pm_status pm_tree_pprof(const struct pm_tree *t, unsigned event, bool only,
			     const char *title, struct pm_buf *to, struct pm_err *err);

#endif
