/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parquet.h"
#include "base/result.h"
#include "base/temp.h"
#include "report/out.h"
#include "sweep/table.h"

enum { TRACE, REGION, SIMULATOR, KEY, STATUS, CAUSE, FIXED };
static const char *const fixed[FIXED] = { "trace", "region", "simulator", "key", "status",
					  "cause" };

/* ---- a file that gets its name when it is whole --------------------------------------------- */

struct table_file {
	const char *path;		/* NULL: not wanted */
	int fd;
	bool placed_whole;		/* a regular file; else it is written to as it is */
	struct pm_beside b;
	struct pm_buf out;
};

static enum pm_status file_open(struct table_file *f, const char *path, struct pm_err *err)
{
	struct stat st;

	*f = (struct table_file){ .path = path, .fd = -1 };
	if (!path)
		return PM_OK;
	err->file = strcmp(path, "-") ? path : "standard output";
	if (!strcmp(path, "-")) {
		f->fd = dup(STDOUT_FILENO);
	} else if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else if (pm_beside_open(&f->b, path)) {
		f->fd = f->b.fd;
		f->placed_whole = true;
	}
	return f->fd < 0 ? pm_fail_errno(err, "cannot create") : PM_OK;
}

static enum pm_status file_flush(struct table_file *f, size_t keep, struct pm_err *err)
{
	size_t at = 0;

	if (f->out.n <= keep)
		return PM_OK;
	while (at < f->out.n) {
		ssize_t n = write(f->fd, f->out.p + at, f->out.n - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err->file = strcmp(f->path, "-") ? f->path : "standard output";
			return pm_fail_errno(err, "cannot write");
		}
		at += (size_t)n;
	}
	f->out.n = 0;
	return PM_OK;
}

/* @s: did all go well? Then the file gets its name. */
static enum pm_status file_close(struct table_file *f, enum pm_status s, struct pm_err *err)
{
	if (f->fd < 0)
		return s;
	if (!s)
		s = file_flush(f, 0, err);
	if (!s && f->placed_whole && !pm_beside_place(&f->b, f->fd, f->path)) {
		err->file = f->path;
		s = pm_fail_errno(err, "cannot name the finished file");
	}
	close(f->fd);
	if (f->placed_whole)
		pm_beside_release(&f->b);
	pm_buf_release(&f->out);
	return s;
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct table_writer {
	struct sweep_table *t;
	struct table_file csv, json, parquet;
	struct pm_parquet *table;
	struct pm_parquet_column *column;
};

static const char *fixed_text(const struct sweep_table *t, const struct sweep_row *r, unsigned c)
{
	switch (c) {
	case TRACE:
		return t->p->trace[r->job.trace].name;
	case REGION:
		return t->p->region[r->job.region].name;
	case SIMULATOR:
		return r->sim->name;
	case KEY:
		return r->key;
	case STATUS:
		return sweep_status_names[r->status];
	default:
		return r->cause;
	}
}

/* As the results have it: a whole number, or 17 digits. */
static void put_number(const struct sweep_table *t, const struct sweep_row *r, size_t c,
		       struct pm_buf *to)
{
	if (t->whole[c])
		pm_buf_printf(to, "%" PRIu64, r->whole_value[c]);
	else
		pm_buf_printf(to, "%.17g", r->number_value[c]);
}

static void csv_row(const struct sweep_table *t, const struct sweep_row *r, struct pm_buf *to)
{
	for (unsigned c = 0; c < FIXED; c++) {
		pm_buf_printf(to, "%s", c ? "," : "");
		pm_report_csv_field(to, fixed_text(t, r, c));
	}
	for (size_t c = 0; c < t->nparam; c++) {
		pm_buf_printf(to, ",");
		if (r->param[c])
			pm_report_csv_field(to, r->param[c]);
	}
	for (size_t c = 0; c < t->number.n; c++) {
		pm_buf_printf(to, ",");
		if (!isnan(r->number_value[c]))
			put_number(t, r, c, to);
	}
	pm_buf_printf(to, "\n");
}

static void csv_head(const struct sweep_table *t, struct pm_buf *to)
{
	for (unsigned c = 0; c < FIXED; c++)
		pm_buf_printf(to, "%s%s", c ? "," : "", fixed[c]);
	for (size_t c = 0; c < t->nparam; c++) {
		pm_buf_printf(to, ",");
		pm_report_csv_field(to, t->param[c]);
	}
	for (size_t c = 0; c < t->number.n; c++) {
		pm_buf_printf(to, ",");
		pm_report_csv_field(to, t->number.v[c]);
	}
	pm_buf_printf(to, "\n");
}

static void json_row(const struct sweep_table *t, const struct sweep_row *r, struct pm_buf *to)
{
	bool first = true;

	pm_buf_printf(to, "%s\n    {", r->number ? "," : "");
	for (unsigned c = 0; c < FIXED; c++) {
		pm_buf_printf(to, "%s\"%s\": ", c ? ", " : "", fixed[c]);
		pm_json_string(to, fixed_text(t, r, c));
	}
	pm_buf_printf(to, ",\n     \"parameters\": {");
	for (size_t c = 0; c < t->nparam; c++)
		if (r->param[c]) {
			pm_buf_printf(to, "%s", first ? "" : ", ");
			pm_json_string(to, t->param[c]);
			pm_buf_printf(to, ": ");
			pm_json_string(to, r->param[c]);
			first = false;
		}
	pm_buf_printf(to, "},\n     \"numbers\": {");
	first = true;
	for (size_t c = 0; c < t->number.n; c++)
		if (!isnan(r->number_value[c])) {
			pm_buf_printf(to, "%s", first ? "" : ", ");
			pm_json_string(to, t->number.v[c]);
			pm_buf_printf(to, ": ");
			put_number(t, r, c, to);
			first = false;
		}
	pm_buf_printf(to, "}}");
}

static enum pm_status parquet_row(struct table_writer *w, const struct sweep_row *r,
			     struct pm_err *err)
{
	const struct sweep_table *t = w->t;
	unsigned c = 0;

	for (; c < FIXED; c++)
		pm_parquet_text(w->table, c, fixed_text(t, r, c));
	for (size_t i = 0; i < t->nparam; i++, c++)
		if (r->param[i])
			pm_parquet_text(w->table, c, r->param[i]);
	for (size_t i = 0; i < t->number.n; i++, c++)
		if (!isnan(r->number_value[i]) && t->whole[i])
			pm_parquet_u64(w->table, c, r->whole_value[i]);
		else if (!isnan(r->number_value[i]))
			pm_parquet_f64(w->table, c, r->number_value[i]);
	return pm_parquet_row(w->table, err);
}

static enum pm_status one_row(void *to, const struct sweep_row *r, struct pm_err *err)
{
	struct table_writer *w = to;
	enum pm_status s = PM_OK;

	if (w->csv.path)
		csv_row(w->t, r, &w->csv.out);
	if (w->json.path)
		json_row(w->t, r, &w->json.out);
	if (w->table)
		s = parquet_row(w, r, err);
	if (!s && w->csv.path)
		s = file_flush(&w->csv, 1 << 16, err);
	if (!s && w->json.path)
		s = file_flush(&w->json, 1 << 16, err);
	return s;
}

static enum pm_status parquet_bytes(void *to, const void *p, size_t n, struct pm_err *err)
{
	struct table_file *f = to;

	pm_buf_add(&f->out, p, n);
	return file_flush(f, 1 << 16, err);
}

static void parquet_begin(struct table_writer *w)
{
	const struct sweep_table *t = w->t;
	const size_t n = FIXED + t->nparam + t->number.n;
	size_t c = 0;

	w->column = pm_alloc(n * sizeof *w->column);
	for (; c < FIXED; c++)
		w->column[c] = (struct pm_parquet_column){ fixed[c], PM_PARQUET_STRING,
							   PM_PARQUET_REQUIRED };
	for (size_t i = 0; i < t->nparam; i++, c++)
		w->column[c] = (struct pm_parquet_column){ t->param[i], PM_PARQUET_STRING, 0 };
	for (size_t i = 0; i < t->number.n; i++, c++)
		w->column[c] = (struct pm_parquet_column){
			t->number.v[i], t->whole[i] ? PM_PARQUET_U64 : PM_PARQUET_F64, 0
		};
	w->table = pm_parquet_new(w->column, (unsigned)n,
				  (struct pm_parquet_out){ parquet_bytes, &w->parquet }, NULL);
	pm_parquet_note(w->table, "pugmark.schema", "sweep 1");
}

static void json_head(const struct sweep_table *t, struct pm_buf *to)
{
	pm_buf_printf(to, "{\n  \"schema\": {\"name\": \"pugmark.sweep\", \"version\": %d},\n"
		      "  \"jobs\": %" PRIu64 ",\n  \"done\": %" PRIu64 ",\n  \"failed\": %" PRIu64
		      ",\n  \"rows\": [", PM_SCHEMA_VERSION, t->rows, t->done, t->failed);
}

enum pm_status sweep_table_write(struct sweep_table *t, const char *csv, const char *json,
				 const char *parquet, struct pm_err *err)
{
	struct table_writer w = { .t = t, .csv.fd = -1, .json.fd = -1, .parquet.fd = -1 };
	enum pm_status s = file_open(&w.csv, csv, err);

	if (!s)
		s = file_open(&w.json, json, err);
	if (!s)
		s = file_open(&w.parquet, parquet, err);
	if (!s && csv)
		csv_head(t, &w.csv.out);
	if (!s && json)
		json_head(t, &w.json.out);
	if (!s && parquet)
		parquet_begin(&w);
	if (!s && (csv || json || parquet))
		s = sweep_table_each(t, one_row, &w, err);
	if (!s && json)
		pm_buf_printf(&w.json.out, "\n  ]\n}\n");
	if (!s && parquet)
		s = pm_parquet_finish(w.table, err);
	pm_parquet_free(w.table);
	free(w.column);
	s = file_close(&w.csv, s, err);
	s = file_close(&w.json, s, err);
	return file_close(&w.parquet, s, err);
}
