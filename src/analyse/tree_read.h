/* SPDX-License-Identifier: MIT */
/* tree_read.h - folded stacks, which pugmark and many others write, as a tree */
#ifndef PM_ANALYSE_TREE_READ_H
#define PM_ANALYSE_TREE_READ_H

#include "analyse/tree.h"

struct pm_diff_side;

/* Are its first lines like that, and does one of them have a caller and a callee? */
bool pm_tree_is_folded(const char *path);
/* @t has been initialised. */
enum pm_status pm_tree_read_folded(struct pm_tree *t, const char *path, struct pm_err *err);
/* Its functions and totals as tables of @s (diff.h). */
void pm_diff_add_tree(struct pm_diff_side *s, const struct pm_tree *t);

#endif
