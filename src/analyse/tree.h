/* SPDX-License-Identifier: MIT */
/* tree.h - calling-context trees: what every function cost on every path of calls that led to it
 *
 * A node is a *context*: a function on one path of calls. [0] stands for everything; what it has
 * below it are the functions where streams began, or the streams themselves. A context's own
 * values are what happened in it, and in none below it.
 *
 * Where control goes is followed exactly; on whose behalf needs rules:
 *   o A call goes one context down. A return comes back to the innermost caller that waits for
 *     control there, whatever was called since and is left that way.
 *   o A jump to another function (a tail call) goes down, too: its return comes back to the caller
 *     of both. A jump back to a function of the same call goes up again, so that a loop of tail
 *     calls has an end. What a linkage stub (`f@plt`) jumps to stands beside the stub.
 *   o longjmp() and exceptions are jumps and returns to where no caller waits, into the middle of a
 *     function. They come to the innermost context of that function which called setjmp() there;
 *     else to the innermost of all, for _Unwind_Resume() of those outside of who called it.
 *   o A signal's handler is below what it interrupted.
 *   o A stream that begins in the middle of a program - a fork's child, a process that was attached
 *     - returns to callers that nobody has seen: these stand beside what it began with.
 * Functions are those of the symbol table, as in a profile (profile.h). Generated code has none:
 * a function of it begins where it is called, and its name is the one in /tmp/perf-PID.map.
 *
 * INVARIANTS
 * (1) A parent's number is smaller than its children's.
 * (2) The own values of all contexts sum up to the totals; so do the inclusive values of what is
 *     below [0].
 * (3) The own values of all contexts of a function sum up to what a profile says of it.
 *     (tests/analyse/tree.t)
 * (4) It does not matter how the source cut the code into blocks and chains. (tests/analyse/tree.t)
 *
 * Ownership  pm_tree_release(); strings are the tree's. */
#ifndef PM_ANALYSE_TREE_H
#define PM_ANALYSE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct pm_tree_function {
	const char *name;		/* demangled; "[libfoo.so]": nothing is known */
	const char *linkage;		/* as in the symbol table */
	const char *object;		/* path; NULL: none */
	const char *build_id;		/* NULL: none */
	uint64_t lo;			/* where it begins, in the ELF file */
	const char *file;		/* source; NULL: not known */
	unsigned line;
};

struct pm_tree_node {
	uint64_t self, calls;		/* instructions; how often it was entered from above */
	uint32_t parent, function;
	uint32_t depth;
};

#define PM_TREE_EVENTS 48

struct pm_tree {
	struct pm_tree_node *node;
	size_t n, cap;
	struct pm_tree_function *function;	/* [0] is of [0] */
	size_t nfunction, cap_function;		/* [PM_TREE_OTHERS] is overflow's */
	struct pm_tree_event { char name[24]; const char *about; } event[PM_TREE_EVENTS];
	unsigned nevent;		/* [0] is instructions */
	unsigned ncost;			/* ... the others' values are in cost[], ncost a node */
	unsigned column[PM_TREE_EVENTS];	/* of an event, in cost[]; [0]: none */
	uint64_t *cost;
	size_t cap_cost;		/* nodes */
	uint32_t max_depth, max_nodes;
	uint32_t overflow;		/* the context of what found no place; 0: everything did */
	uint32_t *slot;			/* contexts by parent and function; 0: free */
	size_t mask;
	uint32_t hashed;		/* contexts from this one on were appended, and have no
					 * slots yet */
	struct pm_arena mem;
};

#define PM_TREE_OTHERS	1u
#define PM_TREE_DEPTH	500
#define PM_TREE_DEPTH_MOST	100000
#define PM_TREE_NODES	(1u << 22)

/* Empty but for [0]. What would be deeper than @max_depth stands at that depth; after @max_nodes
 * contexts new ones have their functions below one context, `overflow`. */
void pm_tree_init(struct pm_tree *t, uint32_t max_depth, uint32_t max_nodes);
void pm_tree_release(struct pm_tree *t);
/* The context of @function below @parent, found or made: its number. May move t->node. */
uint32_t pm_tree_find_child(struct pm_tree *t, uint32_t parent, uint32_t function);
/* A context that there is not yet: nothing is looked for. */
uint32_t pm_tree_append(struct pm_tree *t, uint32_t parent, uint32_t function);
/* So many contexts more will be there soon. */
void pm_tree_reserve(struct pm_tree *t, size_t more);
/* `overflow`, made if there is none yet. */
uint32_t pm_tree_overflow(struct pm_tree *t);
static inline size_t pm_tree_hash(uint32_t parent, uint32_t function)
{
	return (size_t)((((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15u) >> 24);
}
static inline uint32_t pm_tree_child(struct pm_tree *t, uint32_t parent, uint32_t function)
{
	const uint32_t i = t->slot[pm_tree_hash(parent, function) & t->mask];
	const struct pm_tree_node *n = t->node + i;

	return i && n->parent == parent && n->function == function ? i :
	       pm_tree_find_child(t, parent, function);
}
uint32_t pm_tree_add_function(struct pm_tree *t, const struct pm_tree_function *f);

/* Index of an event, by its name; "instructions" is Ir, too. PM_ERR: the error names those that
 * there are. */
enum pm_status pm_tree_event(const struct pm_tree *t, const char *name, unsigned *event,
			     struct pm_err *err);
static inline uint64_t pm_tree_self(const struct pm_tree *t, size_t node, unsigned event)
{
	return event ? t->cost[node * t->ncost + t->column[event]] : t->node[node].self;
}
/* What each context cost with all below it; the caller free()s it. */
uint64_t *pm_tree_inclusive(const struct pm_tree *t, unsigned event);
/* By function: its own instructions, those with all it called (recursion counts once), and how
 * often it was entered. The caller free()s it. */
struct pm_tree_sum { uint64_t self, inclusive, calls; uint32_t function; };
struct pm_tree_sum *pm_tree_functions(const struct pm_tree *t);
void pm_tree_sort_functions(struct pm_tree_sum *v, size_t n);	/* the most inclusive first */
/* The same contexts with other functions: @of[function] is the new number, in @to, which has been
 * initialised and has them, and no contexts yet. @from is empty then, or as it was. A function
 * right below itself stays in its context if @folds says so of it; with @recursion all do, however
 * far below. */
void pm_tree_rename(struct pm_tree *from, struct pm_tree *to, const uint32_t *of,
		    const bool *folds, bool recursion);
/* Contexts in the order in which a page or file lists them: depth first, below each the names in
 * alphabetical order. The caller free()s it. */
uint32_t *pm_tree_order(const struct pm_tree *t);

#endif
