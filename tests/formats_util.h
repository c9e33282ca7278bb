/* SPDX-License-Identifier: MIT */
/* formats_util.h - traces converted from memory to memory, for tests and fuzzers */
#ifndef PM_TESTS_FORMATS_UTIL_H
#define PM_TESTS_FORMATS_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/io.h"
#include "trace/pipeline.h"
#include "transform/to_uops.h"

struct fmt_sink {
	const struct pm_format *format;
	void *writer;
};

static enum pm_status fmt_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct fmt_sink *s = self;

	return s->format->write->write(s->writer, b, err);
}

static enum pm_status fmt_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct fmt_sink *s = self;

	(void)r;
	return s->format->write->finish(s->writer, err);
}

static const char *fmt_options(const char *format)
{
	const char *colon = strchr(format, ':');

	return colon ? colon + 1 : "";
}

/* The bytes at @p, read as @from ("format:options"), written as @to into @out (NULL: only read).
 * @path is what the reader believes the input's name to be; NULL: a pipe. */
static enum pm_status fmt_convert_to(const void *p, size_t n, const char *path, const char *from,
				     const char *to, const char *to_path, struct pm_buf *out,
				     struct pm_err *err)
{
	const struct pm_format *rf = pm_format_find(from, err),
			       *wf = to ? pm_format_find(to, err) : NULL;
	struct pm_input *in = NULL;
	struct pm_output *mem = NULL;
	struct pm_pipeline *pipe = NULL;
	struct fmt_sink sink = { wf, NULL };
	struct pm_sink_ops ops = { .abi = PM_ABI, .consume = fmt_consume, .finish = fmt_finish };
	char name[96];
	uint32_t facts = 0, has;	/* what arrives at the writer; what the reader offers */
	void *reader = NULL;
	enum pm_status st = PM_ERR;

	if (!rf || !rf->read || (to && (!wf || !wf->write)))
		return PM_ERR;
	in = pm_input_memory(p, n, "memory");
	reader = rf->read->open(in, &(struct pm_read_opts){ path, fmt_options(from) }, &facts, err);
	if (!reader)
		goto out;
	has = facts;
	pipe = pm_pipeline_new();
	if (wf) {
		snprintf(name, sizeof name, "writing %s", wf->plural);
		ops.name = name;
		ops.needs = wf->needs;
		ops.flags = wf->sink_flags;
		mem = pm_output_memory();
		/* as `pugmark convert` does */
		if (wf->needs & ~facts & PM_HAS_UOPS && !(pm_crack_ops.needs & ~facts)) {
			pm_pipeline_transform(pipe, &pm_crack_ops, pm_crack_new());
			facts = (facts | pm_crack_ops.adds) & ~PM_HAS_BLOCKS;
		}
		pm_pipeline_sink(pipe, &ops, &sink);
	}
	if (pm_pipeline_start(pipe, has, rf->plural, err) == PM_ERR)
		goto out;
	if (wf) {
		sink.writer = wf->write->open(mem,
					      &(struct pm_write_opts){ to_path, fmt_options(to),
								       facts },
					      err);
		if (!sink.writer)
			goto out;
	}
	for (;;) {
		const struct pm_batch *b = NULL;

		st = rf->read->next(reader, &b, err);
		if (st != PM_OK)
			break;
		st = pm_pipeline_push(pipe, b, err);
		if (st == PM_ERR)
			break;
	}
	if (st == PM_END)
		st = pm_pipeline_finish(pipe, NULL, err);
	if (st == PM_OK && out) {
		size_t len;
		const uint8_t *bytes = pm_output_bytes(mem, &len);

		pm_buf_add(out, bytes, len);
	}
out:
	pm_pipeline_free(pipe);
	if (reader)
		rf->read->close(reader);
	if (sink.writer)
		wf->write->close(sink.writer);
	pm_output_close(mem);
	pm_input_close(in);
	return st;
}

static inline enum pm_status fmt_convert(const void *p, size_t n, const char *path,
					 const char *from, const char *to, struct pm_buf *out,
					 struct pm_err *err)
{
	return fmt_convert_to(p, n, path, from, to, NULL, out, err);
}

static inline void fmt_load(const char *path, struct pm_buf *b)
{
	FILE *f = fopen(path, "rb");
	char chunk[4096];
	size_t n;

	if (!f) {
		fprintf(stderr, "cannot read %s\n", path);
		abort();
	}
	while ((n = fread(chunk, 1, sizeof chunk, f)))
		pm_buf_add(b, chunk, n);
	fclose(f);
}

#endif
