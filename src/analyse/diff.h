/* SPDX-License-Identifier: MIT */
/* diff.h - what differs between two profiles, results or traces
 *
 * Either side is read into tables: totals, functions, lines, blocks, or whatever lists a result
 * has. A row has a name and a value for each measure ("instructions", "D1mr"...). Tables, rows and
 * measures are matched by name, never by address, so that it does not matter where code was
 * loaded or linked:
 *   (1) A function is matched by object and name, a line by source file and number, a block by its
 *       distance from where its function began to execute.
 *   (2) An object or source file is the other side's of the same path; else the only one with that
 *       last component; else, of objects, the only one that is left on both sides.
 *   (3) Several rows with one name (static functions of two files) are matched in the order of
 *       their addresses.
 *   (4) A row that one side lacks counts as 0 there, if the table is complete; where it lists only
 *       the first few, it does not count.
 * Numbers are compared exactly. What is about the run and not about the program - times, process
 * numbers, what came from the cache - is read, but never different.
 *
 * Ownership  strings live in the side's arena until pm_diff_side_release(); a pm_diff borrows both
 *            sides. */
#ifndef PM_ANALYSE_DIFF_H
#define PM_ANALYSE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define PM_DIFF_TOTALS	"totals"
#define PM_DIFF_VALUE	"value"		/* the only measure of the totals */

struct pm_diff_value {
	bool there, whole;		/* whole: u64 is exact, and f64 the same as far as it can */
	uint64_t u64;
	double f64;
};

enum pm_diff_shape {
	PM_DIFF_NAMES,			/* rows are names, perhaps in an object */
	PM_DIFF_LINES,			/* rows are lines, in a file */
};

struct pm_diff_table {
	const char *name;		/* as in the document: "functions", "bpred.tage.worst" */
	enum pm_diff_shape shape;
	bool complete;			/* what is not in it is 0 */
	bool noise;			/* about the run: never different */
	const char **column;		/* measures, the first is the most important one */
	unsigned ncolumn;
	size_t cap_column;
	struct pm_diff_row {
		const char *key, *place;	/* place: object or file; NULL: none */
		uint64_t order;			/* among rows of one name */
		struct pm_diff_value *v;	/* by column; what is behind nv is not there */
		unsigned nv;
		size_t cap_v;
	} *row;
	size_t n, cap;
};

struct pm_diff_side {
	const char *file;
	const char *kind;		/* "profile", "sim", "trace"...: what can be compared */
	struct pm_diff_fact { const char *name, *value; bool result; } *fact;
	size_t nfact, cap_fact;		/* result: a value that was found, not how */
	struct pm_diff_table **table;
	size_t ntable, cap_table;
	struct pm_arena mem;
};

/* ---- reading: each fills an empty @s, which the caller releases also after an error -------- */
/* A document that a command wrote with --json: one that names its schema. */
enum pm_status pm_diff_read_json(struct pm_diff_side *s, const char *path, struct pm_err *err);
/* A stored profile (stored.h). */
enum pm_status pm_diff_read_stored(struct pm_diff_side *s, const char *path, struct pm_err *err);
void pm_diff_side_release(struct pm_diff_side *s);

/* ---- making a side ------------------------------------------------------------------------- */
struct pm_diff_table *pm_diff_table(struct pm_diff_side *s, const char *name, bool complete);
/* Index of the row. @place may be NULL. */
size_t pm_diff_add_row(struct pm_diff_side *s, struct pm_diff_table *t, const char *key,
		       const char *place, uint64_t order);
unsigned pm_diff_column(struct pm_diff_side *s, struct pm_diff_table *t, const char *name);
void pm_diff_set_u64(struct pm_diff_table *t, size_t row, unsigned column, uint64_t v);
void pm_diff_set_f64(struct pm_diff_table *t, size_t row, unsigned column, double v);
void pm_diff_total(struct pm_diff_side *s, const char *name, uint64_t v);
void pm_diff_fact(struct pm_diff_side *s, const char *name, const char *value, bool result);

/* ---- comparing ----------------------------------------------------------------------------- */
struct pm_diff_pair {
	const char *key, *place;
	unsigned nth;			/* of several with this name, from 1; 0: it is the only
					 * one */
	const struct pm_diff_row *row[2];	/* NULL: that side lacks it */
	bool differs;			/* in any measure */
};

struct pm_diff_both {			/* a table that both sides have */
	const char *name;
	enum pm_diff_shape shape;
	bool complete, noise;
	const char **column;		/* that both have, in A's order */
	unsigned *of[2];		/* its number in A, in B */
	unsigned ncolumn;
	struct pm_diff_pair *pair;	/* by name; pm_diff_order() has others */
	size_t n, ndiffer;
};

struct pm_diff {
	const struct pm_diff_side *side[2];
	struct pm_diff_other { const char *name, *a, *b; bool result; } *other;	/* facts that
					 * differ; NULL: that side has none */
	size_t nother, cap_other;
	struct pm_diff_both **both;
	size_t nboth, cap_both;
	uint64_t compared, differing;	/* values */
	struct pm_arena mem;
};

/* PM_ERR if the two are not of one kind, or have nothing in common. */
enum pm_status pm_diff_new(struct pm_diff *d, struct pm_diff_side *a, struct pm_diff_side *b,
			   struct pm_err *err);
void pm_diff_release(struct pm_diff *d);

/* The value of measure @column on a side, 0 or 1. */
struct pm_diff_value pm_diff_get(const struct pm_diff_both *t, const struct pm_diff_pair *p,
				 unsigned column, unsigned side);
bool pm_diff_same(struct pm_diff_value a, struct pm_diff_value b);
/* What is shown of a table whose rows have several measures: the first one that differs in any
 * row, if @name is NULL; -1: there is none of that name. */
int pm_diff_measure(const struct pm_diff_both *t, const char *name);
/* PM_ERR, a bad request, if no table has @name on both sides. */
enum pm_status pm_diff_has_measure(const struct pm_diff *d, const char *name, struct pm_err *err);
/* Pairs that differ in @column, the largest change first; the caller free()s *@order. */
size_t pm_diff_order(const struct pm_diff_both *t, unsigned column, uint32_t **order);
/* "gzip (2)": the name of a pair, with its number where there are several. */
void pm_diff_name(const struct pm_diff_both *t, const struct pm_diff_pair *p, struct pm_buf *to);
/* The part of a table's name behind the last dot. */
const char *pm_diff_last(const char *name);

/* ---- conditions: --fail-if --------------------------------------------------------------------
 *
 *	CONDITION = [ROWS] MEASURE OP [SIGN] NUMBER [%]  |  different
 *	ROWS      = TABLE PATTERN	function main, object libz*, line deflate.c:120, mix mov
 *	OP        = > | >= | < | <=
 *
 * With a sign NUMBER bounds the change from A to B, in percent of A or in what is counted; without
 * one it bounds B itself. NUMBER may have a suffix k, M, G. PATTERN has * ? and [...]; a table is
 * named by the last part of its name, with or without its plural s. Without ROWS, MEASURE is a
 * total, or the end of its name: `misses` is cache.l1d.misses and cache.l2.misses, and each of
 * them is held to the bound. A change from 0 is more than any percentage. */
struct pm_diff_gate {
	const char *text;		/* as given; borrowed */
	bool any;			/* "different" */
	char *table, *pattern, *measure;
	enum { PM_DIFF_MORE, PM_DIFF_MORE_EQ, PM_DIFF_LESS, PM_DIFF_LESS_EQ } op;
	bool change, percent;
	double bound;
	/* the answer: */
	bool broken;
	uint64_t matched, nbroken;	/* values looked at, and those beyond the bound */
	char *worst;			/* which of them is farthest beyond */
	struct pm_diff_value a, b;	/* its values */
};

/* Bad grammar is an error of the request. */
enum pm_status pm_diff_gate_read(struct pm_diff_gate *g, const char *text, struct pm_err *err);
/* @more: something differs besides tables and facts, as traces do. PM_ERR: nothing has that
 * name. */
enum pm_status pm_diff_gate_ask(struct pm_diff_gate *g, const struct pm_diff *d, bool more,
				struct pm_err *err);
void pm_diff_gate_release(struct pm_diff_gate *g);

#endif
