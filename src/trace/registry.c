/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/near.h"
#include "trace/chain.h"
#include "trace/format.h"
#include "trace/text.h"

/* One row per format, in the order of docs/formats/. A row is a struct pm_format in fmt_*.c. */
#define FORMATS(F) \
	F(pm_fmt_pug) \
	F(pm_fmt_penn) \
	F(pm_fmt_idt_branch) F(pm_fmt_idt_cache) F(pm_fmt_idt_exec) \
	F(pm_fmt_idt_branch64) F(pm_fmt_idt_cache64) F(pm_fmt_idt_exec64) \
	F(pm_fmt_kt) F(pm_fmt_kt64) F(pm_fmt_pixie) \
	F(pm_fmt_byu) F(pm_fmt_byu12) F(pm_fmt_byu_text) F(pm_fmt_cat) F(pm_fmt_cat_x86) \
	F(pm_fmt_laplace) F(pm_fmt_laplace64) F(pm_fmt_laplace_text) F(pm_fmt_laplace_events) \
	F(pm_fmt_laplace_basic) F(pm_fmt_laplace_process) \
	F(pm_fmt_din) F(pm_fmt_xdin) F(pm_fmt_dinero_binary) \
	F(pm_fmt_champsim) F(pm_fmt_cloudsuite) F(pm_fmt_cvp1) \
	F(pm_fmt_lackey) F(pm_fmt_simpoint) F(pm_fmt_pinatrace) F(pm_fmt_drmemtrace) \
	F(pm_fmt_gem5) \
	F(pm_fmt_ramulator) F(pm_fmt_ramulator2) F(pm_fmt_dramsim3) \
	F(pm_fmt_oraclegeneral) F(pm_fmt_lcs) F(pm_fmt_vscsi) \
	F(pm_fmt_requests_csv) F(pm_fmt_requests_txt) F(pm_fmt_spike) \
	F(pm_fmt_ctf) F(pm_fmt_chrome) F(pm_fmt_parquet)

#define DECLARE(f) extern const struct pm_format f;
#define ROW(f) &f,
FORMATS(DECLARE)
const struct pm_format *const pm_formats[] = { FORMATS(ROW) NULL };

#define PROBE_BYTES	65536
#define RECORD_BYTES	128	/* more than those of formats without a magic number have */

const struct pm_format *pm_format_find(const char *name, struct pm_err *err)
{
	size_t n = strcspn(name, ":");
	struct pm_nearest near = { 0 };
	char *typed, hint[PM_NEAR_HINT];

	for (const struct pm_format *const *f = pm_formats; *f; f++)
		if (strlen((*f)->name) == n && !memcmp((*f)->name, name, n))
			return *f;
	typed = pm_strndup(name, n);
	for (const struct pm_format *const *f = pm_formats; *f; f++)
		pm_nearest_try(&near, typed, (*f)->name);
	pm_fail_request(err, "'%s' is not a format%s (see `pugmark formats`)", typed,
			pm_nearest_hint(&near, hint));
	free(typed);
	return NULL;
}

struct bid {
	const struct pm_format *best, *tie;	/* tie: another one that bids as much, else NULL */
	int bits;
};

static void ask(struct bid *b, const uint8_t *head, size_t n)
{
	for (const struct pm_format *const *f = pm_formats; *f; f++) {
		int bits = (*f)->probe ? (*f)->probe(head, n) : 0;

		if (bits > b->bits)
			*b = (struct bid){ *f, NULL, bits };
		else if (bits && bits == b->bits && *f != b->best)
			b->tie = *f;
	}
}

static struct bid best_bid(const uint8_t *head, size_t n)
{
	struct bid b = { 0 };
	const uint8_t *end;

	/* a text's last line without an end may be the beginning of one */
	if (n && n < PROBE_BYTES && head[n - 1] != '\n' && pm_looks_text(head, n) &&
	    (end = memrchr(head, '\n', n)))
		ask(&b, head, (size_t)(end - head) + 1);
	if (!b.best || b.tie) {
		b = (struct bid){ 0 };
		ask(&b, head, n);
	}
	return b;
}

/* Of a file that is cut inside a record: its reader will say where. */
static struct bid bid_for_cut(const uint8_t *head, size_t n)
{
	struct bid b = { 0 };

	for (size_t k = 1; k < RECORD_BYTES && k < n && n < PROBE_BYTES; k++) {
		struct bid less = { 0 };

		/* half a bit for each byte that goes to waste: it may be a record of a format with
		 * shorter ones */
		ask(&less, head, n - k);
		less.bits -= (int)k / 2;
		if (less.best && less.bits > b.bits)
			b = less;
		else if (less.best && less.bits == b.bits && less.best != b.best)
			b.tie = less.best;
	}
	return b;
}

const struct pm_format *pm_format_probe(const uint8_t *head, size_t n, struct pm_err *err)
{
	struct bid b = best_bid(head, n);

	if (!b.best)
		b = bid_for_cut(head, n);
	if (!n)
		pm_fail_file(err, "the input is empty");
	else if (!b.best && n >= 8 && !memcmp(head, "PUGREC\r\n", 8))
		pm_fail_file(err, "a recording, where a trace's file is needed: `pugmark convert` "
			     "makes one");
	else if (!b.best)
		pm_fail_file(err, "not a trace that pugmark recognises; -f FORMAT says what it is "
			     "(see `pugmark formats`)");
	else if (b.tie)
		pm_fail_file(err, "can be read as %s or %s; -f FORMAT says which", b.best->plural,
			     b.tie->plural);
	else
		return b.best;
	return NULL;
}

static bool ends_in(const char *s, size_t n, const char *end, size_t m)
{
	return n > m && !memcmp(s + n - m, end, m);
}

const struct pm_format *pm_format_by_name(const char *path)
{
	static const char *const packed[] = { ".gz", ".zst", ".xz", ".bz2" };
	const struct pm_format *best = NULL;
	size_t n = strlen(path), longest = 0;

	while (n > 1 && path[n - 1] == '/')	/* a directory */
		n--;
	for (unsigned i = 0; i < NR(packed); i++)
		if (ends_in(path, n, packed[i], strlen(packed[i]))) {
			n -= strlen(packed[i]);
			break;
		}
	for (const struct pm_format *const *f = pm_formats; *f; f++) {
		const char *s = (*f)->suffixes;

		while (s && *s) {
			size_t m = strcspn(s, " ");

			if (m > longest && ends_in(path, n, s, m)) {
				best = *f;
				longest = m;
			}
			s += m;
			s += strspn(s, " ");
		}
	}
	return best;
}

static const char *options_of(const char *format)
{
	const char *colon = format ? strchr(format, ':') : NULL;

	return colon ? colon + 1 : "";
}

/* ---- a file as a source --------------------------------------------------------------------- */

struct file_source {
	struct pm_input *in;
	const struct pm_format *format;
	void *reader;
	const char *path;
	struct pm_trace_writer writer;
};

static enum pm_status file_next(void *self, const struct pm_batch **b, struct pm_err *err)
{
	struct file_source *f = self;
	enum pm_status s = f->format->read->next(f->reader, b, err);
	struct pm_err io = { 0 };

	/* A reader that met the end of damaged compressed data has seen a symptom: name the
	 * cause. */
	if (s != PM_OK && f->in && pm_input_failed(f->in, &io)) {
		*err = io;
		s = PM_ERR;
	}
	if (s != PM_OK && f->writer.ended)
		s = f->writer.ended(f->writer.self, s, err);
	if (s == PM_ERR && !err->file)
		err->file = f->path;
	return s;
}

void pm_trace_set_writer(struct pm_source *src, const struct pm_trace_writer *w)
{
	((struct file_source *)src->self)->writer = *w;
}

static void file_close(void *self)
{
	struct file_source *f = self;

	if (!f)
		return;
	if (f->writer.close)
		f->writer.close(f->writer.self);
	if (f->reader)
		f->format->read->close(f->reader);
	pm_input_close(f->in);
	free(f);
}

bool pm_trace_seek(struct pm_source *src, uint64_t insn, uint64_t *first, struct pm_err *err)
{
	struct file_source *f = src->self;

	*first = 0;
	if (!f->format->read->seek)
		return true;
	return f->format->read->seek(f->reader, insn, first, err) != PM_ERR;
}

void *pm_trace_reader(struct pm_source *src)
{
	return ((struct file_source *)src->self)->reader;
}

static void file_epochs(void *self)
{
	struct file_source *f = self;

	if (f->format->read->epochs)
		f->format->read->epochs(f->reader);
}

static const struct pm_source_ops file_ops = { "file", file_next, file_close, file_epochs };

double pm_trace_part(const struct pm_source *src)
{
	const struct file_source *f = src->self;

	return src->ops == &file_ops && f->in ? pm_input_part(f->in) : 0;
}

static bool is_read(const struct pm_format *f, bool named, struct pm_err *err)
{
	if (!f->read)
		(named ? pm_fail_request : pm_fail_file)(err, "%s can be written but not read",
							 f->plural);
	return f->read;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* JSON that a command of pugmark has written. */
static bool is_result(const uint8_t *head, size_t n)
{
	static const char schema[] = "{\"name\": \"pugmark.";

	return n && *head == '{' &&
	       memmem(head, n < 4096 ? n : 4096, schema, sizeof schema - 1);
}

/* Which format the input is of; NULL: *err says why. */
static const struct pm_format *guess(struct pm_input *in, const char *name, struct pm_err *err)
{
	const struct pm_format *named = name ? pm_format_by_name(name) : NULL;
	struct bid b;
	const uint8_t *head;
	size_t n = 0;

	head = pm_input_peek(in, PROBE_BYTES, &n, err);
	if (!head)
		return NULL;
	b = best_bid(head, n);
	if (!b.best && is_result(head, n)) {
		pm_fail_file(err, "a result of pugmark, not a trace");
		return NULL;
	}
	/* some formats are nothing but numbers: there the name decides */
	return b.best && !b.tie ? b.best : named && n ? named : pm_format_probe(head, n, err);
}

static const struct pm_format *guess_directory(const char *path)
{
	for (const struct pm_format *const *f = pm_formats; *f; f++)
		if ((*f)->probe_directory && (*f)->probe_directory(path))
			return *f;
	return NULL;
}

enum pm_status pm_trace_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err)
{
	bool pipe = !strcmp(path, "-");
	struct pm_read_opts o = { .path = pipe ? NULL : path, .options = options_of(format) };
	struct file_source *f = pm_alloc(sizeof *f);
	const bool directory = !pipe && is_directory(path);

	*src = (struct pm_source){ &file_ops, f, 0 };
	f->path = pipe ? "standard input" : path;
	if (format) {
		f->format = pm_format_find(format, err);
		if (!f->format || !is_read(f->format, true, err))
			goto fail;
	}
	if (directory && !format)
		f->format = guess_directory(path);
	if (!directory || !f->format || !f->format->probe_directory) {
		f->in = pm_input_open(path, err);	/* says so, if it is a directory */
		if (!f->in)
			goto fail;
	}
	if (!f->format)
		f->format = guess(f->in, pipe ? NULL : path, err);
	if (!f->format)
		goto fail;
	if (!is_read(f->format, false, err))
		goto fail;
	f->reader = f->format->read->open(f->in, &o, &src->facts, err);
	if (!f->reader) {
		struct pm_err io = { 0 };

		if (f->in && pm_input_failed(f->in, &io))
			*err = io;
		goto fail;
	}
	if (which)
		*which = f->format;
	return PM_OK;
fail:
	if (!err->file && f->format != NULL)
		err->file = f->path;
	else if (!err->file && f->in)
		err->file = f->path;
	file_close(f);
	src->ops = NULL;
	return PM_ERR;
}

/* ---- a file as a sink ----------------------------------------------------------------------- */

struct file_sink {
	struct pm_chain_sink_ops ops;	/* made for this file: what the format takes and needs */
	const struct pm_format *format;
	struct pm_output *out;
	void *writer;
	const char *path;
	char name[96];
	/* of a format without threads: those that have written */
	struct pm_map threads, processes;
	uint32_t tid, pid;		/* the last one */
	bool fresh_dir;			/* an empty directory is no trace: not whole yet, and new */
};

static enum pm_status fail_in(struct file_sink *f, struct pm_err *err)
{
	if (!err->file)
		err->file = f->path;
	return PM_ERR;
}

static enum pm_status sink_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct file_sink *f = self;

	/* streams that the format cannot tell apart, or its tools do not in one file */
	if ((!(f->format->has & PM_HAS_THREADS) || (f->format->writes_directory && f->out)) &&
	    b->stream->tid &&
	    (b->stream->tid != f->tid || b->stream->pid != f->pid)) {
		f->tid = b->stream->tid;
		f->pid = b->stream->pid;
		pm_map_put(&f->threads, f->tid, NULL);
		pm_map_put(&f->processes, f->pid, NULL);
	}
	return f->format->write->write(f->writer, b, err) == PM_ERR ? fail_in(f, err) : PM_OK;
}

static enum pm_status sink_packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
				  struct pm_err *err)
{
	struct file_sink *f = self;

	return f->format->write->packed(f->writer, b, k, err) == PM_ERR ? fail_in(f, err) : PM_OK;
}

static enum pm_status sink_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct file_sink *f = self;
	const uint64_t *dropped;

	if (f->format->write->finish(f->writer, err) == PM_ERR ||
	    (f->out && pm_output_finish(f->out, err) == PM_ERR))
		return fail_in(f, err);
	f->fresh_dir = false;
	if (!r)
		return PM_OK;
	dropped = f->format->write->dropped ? f->format->write->dropped(f->writer) : NULL;
	pm_result_begin(r, "written");
	pm_result_str(r, "file", f->path);
	pm_result_str(r, "format", f->format->name);
	if (f->out)
		pm_result_u64(r, "bytes", pm_output_offset(f->out), "bytes");
	if (f->threads.n > 1) {
		pm_result_u64(r, "mixed_threads", f->threads.n, "threads");
		pm_result_u64(r, "mixed_processes", f->processes.n, "processes");
	}
	pm_result_begin(r, "discarded");
	for (unsigned k = 0; dropped && k < PM_EV_COUNT; k++)
		if (dropped[k])
			pm_result_u64(r, pm_kind_name(k), dropped[k], "events");
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static void sink_destroy(void *self)
{
	struct file_sink *f = self;

	if (!f)
		return;
	if (f->writer)
		f->format->write->close(f->writer);
	pm_output_close(f->out);
	if (f->fresh_dir)
		rmdir(f->path);
	pm_map_release(&f->threads);
	pm_map_release(&f->processes);
	free(f);
}

enum pm_status pm_trace_create(struct pm_pipeline *p, const char *path, const char *format,
			       uint32_t facts, struct pm_err *err)
{
	bool pipe = !strcmp(path, "-");
	struct pm_write_opts o = { .path = pipe ? NULL : path, .options = options_of(format),
		.facts = facts,
		.info = pm_pipeline_info_get(p), .namer = pm_pipeline_namer_get(p) };
	const struct pm_format *fmt = format ? pm_format_find(format, err)
					     : pm_format_by_name(path);
	struct file_sink *f;
	struct stat there;
	bool directory;

	if (!fmt) {
		if (!format)
			pm_fail_request(err,
				     "no format has names like '%s'; -t FORMAT says which to write "
				     "(see `pugmark formats`)",
				     path);
		return PM_ERR;
	}
	if (!fmt->write)
		return pm_fail_request(err, "%s can be read but not written", fmt->plural);
	f = pm_alloc(sizeof *f);
	f->format = fmt;
	f->path = pipe ? "standard output" : path;
	snprintf(f->name, sizeof f->name, "writing %s", fmt->plural);
	f->ops = (struct pm_chain_sink_ops){ .packed = sink_packed, .ops = {
		.abi = PM_ABI, .needs = fmt->needs,
		/* who takes blocks writes the code table, too */
		.flags = fmt->sink_flags | PM_SINK_WHOLE | (fmt->sink_flags & PM_SINK_BLOCKS ? 0
			: PM_SINK_EPOCHS),
		.name = f->name, .about = fmt->about,
		.consume = sink_consume, .finish = sink_finish, .destroy = sink_destroy,
	} };
	directory = fmt->own_files || (fmt->writes_directory && fmt->writes_directory(&o));
	if (directory && pipe)
		pm_fail_file(err, "%s are a directory, which cannot go to standard output",
			     fmt->plural);
	else if (!directory)
		f->out = pm_output_open(path, err);
	f->fresh_dir = directory && !pipe && stat(path, &there);
	if (f->out || (directory && !pipe))
		f->writer = fmt->write->open(f->out, &o, err);
	if (!f->writer) {
		fail_in(f, err);
		sink_destroy(f);
		return PM_ERR;
	}
	pm_pipeline_sink(p, &f->ops.ops, f);
	return PM_OK;
}
