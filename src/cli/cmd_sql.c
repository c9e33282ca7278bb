/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temp.h"
#include "base/whole_file.h"
#include "cli/duckdb.h"
#include "cli/named_files.h"
#include "cli/replayed.h"
#include "cli/traces.h"
#include "report/out.h"

static const struct pm_opt_help help = {
	"pugmark sql [options] FILE... QUERY",
	"Ask a trace or a table in SQL. The first FILE is the table t, the second t2, and so on. A "
	"FILE may\n"
	"be a trace in any format, which becomes a temporary Parquet table (`pugmark formats "
	"parquet`); a\n"
	"Parquet file; or a .csv or .json file, with or without .gz behind it. DuckDB does the "
	"work: the\n"
	"command duckdb in PATH or the one that PUGMARK_DUCKDB names, else the npm package\n"
	"@duckdb/node-api, if node finds it.",
	"Examples:\n"
	"  pugmark sql ls.pug 'select kind, count(*) from t group by kind'\n"
	"  pugmark sql ls.pug \"select format('{:#x}', pc) pc, count(*) n from t\n"
	"                    where kind = 'insn' group by all order by n desc limit 10\"\n"
	"  pugmark sql before.parquet after.parquet 'select function, t2.instructions -\n"
	"                    t.instructions more from t join t2 using (object, function)'\n"
	"  pugmark sql --csv - profile.json 'select unnest(functions, recursive := true) from t'\n"
	"`pugmark convert TRACE TRACE.parquet` keeps the table for many questions."
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* @s as SQL writes a string. */
static void put_quoted(struct pm_buf *to, const char *s)
{
	pm_buf_add(to, "'", 1);
	for (; *s; s++)
		pm_buf_add(to, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
	pm_buf_add(to, "'", 1);
}

/* What reads a file of such a name in DuckDB; NULL: none of these. */
static const char *reader_of(const char *path)
{
	static const char *const by[][2] = {
		{ ".csv", "read_csv" }, { ".csv.gz", "read_csv" }, { ".json", "read_json" },
		{ ".json.gz", "read_json" },
	};

	for (size_t i = 0; i < NR(by); i++)
		if (ends_in(path, by[i][0]))
			return by[i][1];
	return NULL;
}

/* The trace @path as a table in the temporary file that *@fd becomes. */
static enum pm_status make_table(const char *path, const char *format, int *fd, struct pm_err *err)
{
	const struct pm_format *which;
	struct pm_pipeline *p;
	struct pm_source src;
	enum pm_status s;
	char to[64];

	if (replayed_open(path, format, &src, &which, err) != PM_OK)
		return PM_ERR;
	*fd = pm_temp_file(err);
	if (*fd < 0) {
		src.ops->close(src.self);
		return PM_ERR;
	}
	snprintf(to, sizeof to, "/proc/self/fd/%d", *fd);
	p = pm_adapt_pipeline(&src, which);
	s = pm_trace_create(p, to, "parquet", src.facts, err);
	if (!s)
		s = pm_pipeline_start(p, src.facts, which->plural, err);
	if (!s)
		s = pm_pipeline_run(p, &src, NULL, err);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	return s;
}

/* "create view t as ..." for @path. *@fd stays open for DuckDB. */
static enum pm_status add_table(struct pm_buf *to, const char *path, const char *format,
				unsigned number, int *fd, struct pm_err *err)
{
	const char *reader = format ? NULL : reader_of(path);
	char head[4] = "", of[64];

	err->file = path;
	*fd = strcmp(path, "-") ? open(path, O_RDONLY) : -1;
	if (*fd < 0 && strcmp(path, "-"))
		return pm_fail_errno(err, "cannot open");
	if (!reader && *fd >= 0 && pread(*fd, head, 4, 0) == 4 && !memcmp(head, "PAR1", 4))
		reader = "read_parquet";
	if (!reader && !format && *fd >= 0 && ends_in(path, ".parquet")) {
		close(*fd);
		*fd = -1;
		return pm_fail(err, 0, "expected \"PAR1\", with which a Parquet file begins");
	}
	if (!reader) {
		if (*fd >= 0)
			close(*fd);
		if (make_table(path, format, fd, err) != PM_OK)
			return PM_ERR;
		reader = "read_parquet";
	}
	/* by number: no character of a name means anything then; but its end says how to unpack */
	snprintf(of, sizeof of, "/proc/self/fd/%d", *fd);
	pm_buf_printf(to, "create view t");
	if (number > 1)
		pm_buf_printf(to, "%u", number);
	pm_buf_printf(to, " as from %s(", reader);
	put_quoted(to, ends_in(path, ".gz") ? path : of);
	pm_buf_printf(to, ");\n");
	err->file = NULL;
	return PM_OK;
}

int cmd_sql(int argc, char **argv)
{
	const char *from = NULL, *json = NULL, *csv = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "format of the traces (default: guess)"),
		OPT_STR(0, "json", &json, "FILE", "the rows as JSON (-: standard output)"),
		OPT_STR(0, "csv", &csv, "FILE", "the rows as CSV"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), *fd;
	const char *const to[] = { json, csv };
	const char *file = json ? json : csv;
	enum duckdb_form form = json ? DUCKDB_JSON : csv ? DUCKDB_CSV : DUCKDB_TEXT;
	struct pm_buf setup = { 0 }, out = { 0 };
	struct pm_err err = { 0 };
	enum pm_status s;

	if (n < 2)
		pm_opt_usage(&help, n ? "missing QUERY" : "missing FILE and QUERY");
	if (json && csv)
		pm_opt_usage(&help, "--json or --csv, not both");
	for (int i = 0; i < n - 1; i++)
		NAMED_FILES_CHECK(&help, { "FILE", argv[i], false }, { "--json", json, true },
				  { "--csv", csv, true });
	s = pm_report_can_save(to, NR(to), &err);
	fd = pm_alloc((size_t)n * sizeof *fd);
	for (int i = 0; i < n - 1; i++)
		fd[i] = -1;
	for (int i = 0; i < n - 1 && !s; i++)
		s = add_table(&setup, argv[i], from, (unsigned)i + 1, &fd[i], &err);
	pm_buf_add(&setup, "", 1);
	if (!s)
		s = duckdb_run((const char *)setup.p, argv[n - 1], form,
			       file && strcmp(file, "-") ? &out : NULL, &err);
	if (!s && file && strcmp(file, "-"))
		s = pm_file_save(file, &out, &err);
	for (int i = 0; i < n - 1; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	free(fd);
	pm_buf_release(&setup);
	pm_buf_release(&out);
	if (!s)
		return 0;
	return pm_failed(&err) ? traces_fail(&err) : 1;
}
