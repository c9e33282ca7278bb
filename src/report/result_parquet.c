/* SPDX-License-Identifier: MIT */
/* result_parquet.c - any tree of results as a Parquet table: a row per value, as in CSV
 *
 *	path	STRING	l1d.misses, functions[3].name...
 *	number	DOUBLE	the value, if it is a number
 *	integer	UINT64	the same, exactly, if it is a whole one
 *	text	STRING	the value, if it is none; null stands for null
 *	unit	STRING	what is counted, if the tree says it */
#include "base/parquet.h"
#include "base/result.h"
#include "report/out.h"
#include "report/result_view.h"

enum { PATH, NUMBER, INTEGER, TEXT, UNIT };
static const struct pm_parquet_column columns[] = {
	[PATH] = { "path", PM_PARQUET_STRING, PM_PARQUET_REQUIRED },
	[NUMBER] = { "number", PM_PARQUET_F64, 0 },
	[INTEGER] = { "integer", PM_PARQUET_U64, 0 },
	[TEXT] = { "text", PM_PARQUET_STRING, 0 },
	[UNIT] = { "unit", PM_PARQUET_STRING, 0 },
};

static enum pm_status put_value(const struct pm_result_node *n, const char *path,
				struct pm_parquet *p, struct pm_err *err)
{
	pm_parquet_text(p, PATH, path);
	switch (n->kind) {
	case PM_RESULT_U64: case PM_RESULT_HEX:
		pm_parquet_f64(p, NUMBER, (double)n->u64);
		pm_parquet_u64(p, INTEGER, n->u64);
		break;
	case PM_RESULT_F64:
		pm_parquet_f64(p, NUMBER, n->f64);
		break;
	case PM_RESULT_STR:
		pm_parquet_text(p, TEXT, n->str);
		break;
	case PM_RESULT_BOOL:
		pm_parquet_text(p, TEXT, n->u64 ? "true" : "false");
		break;
	default:
		break;
	}
	if (n->unit)
		pm_parquet_text(p, UNIT, n->unit);
	return pm_parquet_row(p, err);
}

static enum pm_status add_rows(const struct pm_result_node *n, const char *path,
			       struct pm_parquet *p, struct pm_err *err)
{
	enum pm_status s = PM_OK;
	struct pm_buf sub = { 0 };
	size_t i = 0;

	if (n->kind != PM_RESULT_OBJECT && n->kind != PM_RESULT_LIST)
		return put_value(n, path, p, err);
	for (const struct pm_result_node *c = n->first; c && !s; c = c->next, i++) {
		sub.n = 0;
		pm_result_path(&sub, n, path, c, i);
		s = add_rows(c, (const char *)sub.p, p, err);
	}
	pm_buf_release(&sub);
	return s;
}

enum pm_status pm_result_parquet(const struct pm_result *r, struct pm_buf *to, struct pm_err *err)
{
	struct pm_parquet *p = pm_parquet_new(columns, NR(columns), pm_report_bytes(to), NULL);
	enum pm_status s;

	pm_parquet_note(p, "pugmark.schema", "results 1");
	s = add_rows(pm_result_root(r), "", p, err);
	if (!s)
		s = pm_parquet_finish(p, err);
	pm_parquet_free(p);
	return s;
}
