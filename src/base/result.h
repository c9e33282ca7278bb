/* SPDX-License-Identifier: MIT */
/* result.h - what an analysis found: a tree of named values, built through the public pm_result_*
 * calls (pugmark.h), walked by renderers
 *
 * Ownership  the tree copies every string that it is given. pm_result_new()/pm_result_free().
 * Errors     building cannot fail; an unbalanced begin/end is a bug and asserts. */
#ifndef PM_BASE_RESULT_H
#define PM_BASE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "pugmark/library.h"

struct pm_result;
struct pm_result *pm_result_new(void);
/* ... for a document that docs/schemas/@schema.json describes, and that says so itself. The name is
 * borrowed. */
#define PM_SCHEMA_VERSION 1	/* more when a member goes or means something else */
struct pm_result *pm_result_for(const char *schema);
const struct pm_result_node *pm_result_root(const struct pm_result *r);	/* an object */
/* Child of that name, NULL if there is none. */
const struct pm_result_node *pm_result_find(const struct pm_result_node *of, const char *name);
/* ... and its text; NULL, too, if it has none. */
const char *pm_result_find_text(const struct pm_result_node *of, const char *name);
/* One JSON document with a line feed behind it. Units are not in it: the manual names them. */
void pm_result_json(const struct pm_result *r, struct pm_buf *to);
/* The same for a node inside the tree, without the line feed. */
void pm_result_json_node(const struct pm_result_node *n, struct pm_buf *to, unsigned depth);
/* A string as JSON, quoted and escaped: valid UTF-8 whatever @s holds. Of what is not printable
 * (base/printable.h) a character is \u and its code, which reads back as it was; a byte that is not
 * UTF-8 becomes the four characters \xff, which in JSON are "\\xff". */
void pm_json_string(struct pm_buf *to, const char *s);
void pm_result_free(struct pm_result *r);	/* NULL is fine */

#endif
