/* SPDX-License-Identifier: MIT */
/* parquet.h - writes one table as an Apache Parquet file, row by row
 *
 *	struct pm_parquet *w = pm_parquet_new(columns, n, out, &opts);
 *	for each row: pm_parquet_u64(w, COLUMN, v)... for the columns that have a value there,
 *		      then pm_parquet_row(w, &err)
 *	pm_parquet_note(w, "key", "value"); pm_parquet_finish(w, &err); pm_parquet_free(w);
 *
 * A file is row groups, then a footer that says where everything is. A row group holds its columns
 * one after the other, each as pages of PM_PARQUET_PAGE rows at most. Pages are encoded and
 * compressed (zstd) when they are full, so that memory is bounded: a page of each column, and a
 * compressed row group.
 *
 * Encodings  strings: a dictionary for each row group. Numbers, as their column says: a dictionary
 *            until it has PM_PARQUET_DICT entries, differences, or as they are.
 * Statistics each column of a row group has its least and greatest value and the number of nulls;
 *            long strings have no least and greatest.
 * Ownership  columns and their names are borrowed until pm_parquet_free().
 * Errors     what the output says; pm_parquet_row() says it for earlier rows, too.
 *
 * Invariants (tests/unit/test_parquet.c)
 * (1) A row group has the same number of rows in each column.
 * (2) A column that is optional may be left out of rows, a required one never (asserted).
 * (3) A column with PM_PARQUET_EXTRA that never had a value is not in the file. */
#ifndef PM_BASE_PARQUET_H
#define PM_BASE_PARQUET_H

#include "base/mem.h"
#include "pugmark/err.h"

#define PM_PARQUET_PAGE		65536u	/* rows of a page; at most what 16 bits count */
#define PM_PARQUET_GROUP	(1u << 21)	/* rows of a row group, if nobody says otherwise */
#define PM_PARQUET_DICT		65536u	/* entries of a dictionary of numbers */

enum pm_parquet_type {
	PM_PARQUET_BOOL, PM_PARQUET_I32, PM_PARQUET_U32, PM_PARQUET_I64, PM_PARQUET_U64,
	PM_PARQUET_F64,
	PM_PARQUET_STRING,		/* UTF-8; what is not is made so, as JSON output is */
	PM_PARQUET_BYTES,
};

enum pm_parquet_flag {
	PM_PARQUET_REQUIRED	= 1 << 0,	/* a value in each row */
	PM_PARQUET_EXTRA	= 1 << 1,	/* not in the file if it never has a value */
	PM_PARQUET_FEW		= 1 << 2,	/* few different numbers: a dictionary */
	PM_PARQUET_NEAR		= 1 << 3,	/* 64 bits: neighbours are near */
	PM_PARQUET_NUMBERED	= 1 << 4,	/* its values come by pm_parquet_number() */
	PM_PARQUET_HELD		= 1 << 5,	/* ... by pm_parquet_hold() */
};

struct pm_parquet_column {
	const char *name;
	enum pm_parquet_type type;
	unsigned flags;			/* enum pm_parquet_flag */
};

struct pm_parquet_out {			/* where bytes go, in order */
	enum pm_status (*write)(void *to, const void *p, size_t n, struct pm_err *err);
	void *to;
};

struct pm_parquet_opts {		/* 0: as it is without */
	int level;			/* of zstd */
	uint32_t group;			/* rows of a row group */
};

/* ---- hot: what the calls below do their work on ---------------------------------------------- */
struct pm_parquet_values {		/* of a column, in the page that is being filled */
	uint64_t *v;
	uint32_t *number;		/* in place of v: strings and NUMBERED */
	uint16_t *at;			/* in which row of the page it stands, or begins */
	uint8_t *is;			/* HELD: is there one from there on? */
	uint32_t n;
};
struct pm_parquet {
	struct pm_parquet_values *page;	/* by column */
	uint32_t row, rows;		/* rows in the page, and how many it will have */
	uint32_t group;			/* the row group in which strings have their numbers */
	struct pm_parquet_writer *w;
};

struct pm_parquet *pm_parquet_new(const struct pm_parquet_column *c, unsigned n,
				  struct pm_parquet_out out, const struct pm_parquet_opts *o);
void pm_parquet_free(struct pm_parquet *p);		/* NULL is fine */

/* HOT: column @c of the row that comes next is @v: the number, 0 or 1, the bits of a double, or a
 * signed number's two's complement. Once a row. */
static inline void pm_parquet_u64(struct pm_parquet *p, unsigned c, uint64_t v)
{
	struct pm_parquet_values *k = &p->page[c];

	k->at[k->n] = (uint16_t)p->row;
	k->v[k->n++] = v;
}
/* HOT: the same for what pm_parquet_string() or pm_parquet_number() gave. */
static inline void pm_parquet_put(struct pm_parquet *p, unsigned c, uint32_t number)
{
	struct pm_parquet_values *k = &p->page[c];

	k->at[k->n] = (uint16_t)p->row;
	k->number[k->n++] = number;
}
static inline void pm_parquet_f64(struct pm_parquet *p, unsigned c, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	pm_parquet_u64(p, c, bits);
}

/* From this row on, column @c, which is HELD, is @v; or null. What pm_parquet_string() gave holds
 * while p->group does not change, any other number until this is called again. */
void pm_parquet_hold(struct pm_parquet *p, unsigned c, uint64_t v);
void pm_parquet_hold_null(struct pm_parquet *p, unsigned c);

/* The number of @n bytes at @s in column @c, whose type is STRING or BYTES; of @v in one that is
 * NUMBERED. It holds while p->group does not change, which only pm_parquet_row() does. */
uint32_t pm_parquet_string(struct pm_parquet *p, unsigned c, const void *s, size_t n);
uint32_t pm_parquet_number(struct pm_parquet *p, unsigned c, uint64_t v);
/* Both at once. */
void pm_parquet_text(struct pm_parquet *p, unsigned c, const char *s);

enum pm_status pm_parquet_page(struct pm_parquet *p, struct pm_err *err);
/* The row is complete. */
static inline enum pm_status pm_parquet_row(struct pm_parquet *p, struct pm_err *err)
{
	return ++p->row < p->rows ? PM_OK : pm_parquet_page(p, err);
}

/* Something about the table, for the footer. Copied. */
void pm_parquet_note(struct pm_parquet *p, const char *key, const char *value);
/* The last row group and the footer. */
enum pm_status pm_parquet_finish(struct pm_parquet *p, struct pm_err *err);

#endif
