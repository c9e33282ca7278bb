/* SPDX-License-Identifier: MIT */
/* duckdb.h - a DuckDB that is installed: one that is named in PUGMARK_DUCKDB, the command duckdb,
 * or the npm package @duckdb/node-api, if node finds it (duckdb.js) */
#ifndef PM_CLI_DUCKDB_H
#define PM_CLI_DUCKDB_H

#include "base/err.h"
#include "base/mem.h"

enum duckdb_form { DUCKDB_TEXT, DUCKDB_CSV, DUCKDB_JSON };

/* Run the statements @setup, then @query, and print what that gives, to standard output or, if @to
 * is not NULL, behind what is in there. PM_ERR also if DuckDB has failed; it has said why itself
 * then, and @err is empty. */
enum pm_status duckdb_run(const char *setup, const char *query, enum duckdb_form form,
			  struct pm_buf *to, struct pm_err *err);

#endif
