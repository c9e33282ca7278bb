/* SPDX-License-Identifier: MIT */
/* format.h - the format registry: one fmt_*.c and one table row per format
 *
 * Readers and writers work on byte streams, so compression, pipes and files are not their business:
 * pm_input and pm_output (io.h) hand them bytes and know how to unpack and pack. */
#ifndef PM_TRACE_FORMAT_H
#define PM_TRACE_FORMAT_H

#include "trace/io.h"
#include "trace/pipeline.h"

struct pm_packed;

struct pm_read_opts {
	const char *path;		/* the input's name, for companions (.blk beside .trc);
					 * NULL: pipe */
	const char *options;		/* what followed the format's name: `byu:order=le` ->
					 * "order=le" */
};
struct pm_write_opts {
	const char *path;
	const char *options;
	uint32_t facts;			/* what arrives */
	const char *const *info;	/* pm_pipeline_info() so far: name, value, ..., NULL; lent
					 * until close() */
	const struct pm_namer *namer;	/* NULL: functions have no names */
};

struct pm_reader_ops {
	/* A reader owns neither @in nor the strings in @o. NULL on error. Sets *facts. @in is NULL
	 * where o->path is a directory. */
	void *(*open)(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err);
	enum pm_status (*next)(void *self, const struct pm_batch **b, struct pm_err *err);
	void (*close)(void *self);
	/* Optional. Go to where instruction @insn (over all streams) is, or to a place before it;
	 * *first: the number of instructions before the next batch. */
	enum pm_status (*seek)(void *self, uint64_t insn, uint64_t *first, struct pm_err *err);
	void (*epochs)(void *self);	/* optional: see struct pm_source_ops */
};

struct pm_writer_ops {
	void *(*open)(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err);
	enum pm_status (*write)(void *self, const struct pm_batch *b, struct pm_err *err);
	/* Everything is written; trailers go out now. */
	enum pm_status (*finish)(void *self, struct pm_err *err);
	void (*close)(void *self);
	/* events that this writer could not represent, by kind (PM_EV_COUNT entries), or NULL */
	const uint64_t *(*dropped)(void *self);
	/* With PM_SINK_CHAINS (chain.h), of batches that are packed. */
	enum pm_status (*packed)(void *self, const struct pm_batch *b, const struct pm_packed *k,
				 struct pm_err *err);
};

struct pm_format {
	const char *name;		/* what users type after -f and -t */
	const char *about;		/* one line for `pugmark formats` and the manual */
	const char *plural;		/* "Laplace traces": how messages call them */
	const char *suffixes;		/* blank-separated: ".trace .penn"; NULL: none is typical */
	/* What may stand behind a colon: a line for each option, "NAME=VALUE  what it does"; NULL:
	 * there are none. */
	const char *options;
	uint32_t has;			/* enum pm_fact: the most that a reader of it can offer */
	uint32_t needs;			/* enum pm_fact: what writing it takes */
	uint32_t sink_flags;		/* PM_SINK_BLOCKS if the writer takes them unexpanded... */
	bool own_files;			/* the writer makes a directory of that name: it gets no
					 * output */
	bool (*writes_directory)(const struct pm_write_opts *o);	/* ... if this says so */
	/* How many bits of the head were recognised; 0: not this format. The best bid wins, and a
	 * tie is a test failure. @n is what there is of the first 64 KiB. */
	int (*probe)(const uint8_t *head, size_t n);
	bool (*probe_directory)(const char *path);	/* NULL: no trace of it is a directory */
	const struct pm_reader_ops *read;	/* NULL: cannot be read */
	const struct pm_writer_ops *write;	/* NULL: cannot be written */
};

extern const struct pm_format *const pm_formats[];	/* NULL-terminated */
const struct pm_format *pm_format_find(const char *name, struct pm_err *err);
const struct pm_format *pm_format_probe(const uint8_t *head, size_t n, struct pm_err *err);
/* By the output's name (compression suffixes are skipped); NULL if no format claims it. */
const struct pm_format *pm_format_by_name(const char *path);

/* Open @path ("-": stdin) as a source; @format NULL: guess from content. */
enum pm_status pm_trace_open(const char *path, const char *format, struct pm_source *src,
			     const struct pm_format **which, struct pm_err *err);
/* Whoever fills the pipe that a source of pm_trace_open() reads may have the last word. */
struct pm_trace_writer {
	/* What next() returns at the end of the trace: @s is PM_END, or PM_ERR and *err says why.
	 * May be asked again. */
	enum pm_status (*ended)(void *self, enum pm_status s, struct pm_err *err);
	void (*close)(void *self);		/* the source is closed */
	void *self;
};
void pm_trace_set_writer(struct pm_source *src, const struct pm_trace_writer *w);
/* Skip towards instruction @insn as far as that costs nothing: *first instructions are left out.
 * Only for sources of pm_trace_open(). False and @err if that fails. */
bool pm_trace_seek(struct pm_source *src, uint64_t insn, uint64_t *first, struct pm_err *err);
/* The format's own reader, for what only that format knows. */
void *pm_trace_reader(struct pm_source *src);
/* How much of its file a source of pm_trace_open() has read, 0..1; 0 where that is not known (a
 * pipe). */
double pm_trace_part(const struct pm_source *src);
/* Add a writer of @format to @p, writing to @path ("-": stdout). NULL format: by the name. */
enum pm_status pm_trace_create(struct pm_pipeline *p, const char *path, const char *format,
			       uint32_t facts, struct pm_err *err);

#endif
