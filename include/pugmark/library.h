/* SPDX-License-Identifier: MIT */
/* library.h - libpugmark: read, write and convert traces of every format, and simulate on them,
 * from a program of one's own. `pkg-config --cflags --libs pugmark` says how to build with it.
 *
 * Not in it   running and tracing programs: `pugmark run` does that, and what it writes into a
 *             pipe is read from there. The simulated machine, and reports as HTML.
 * Handles     pm_reader, pm_kept, pm_writer, pm_simulation and pm_results are numbers, not
 *             addresses. One that is NULL, closed, of another kind or made up is an error that
 *             says so; so is one that another thread is using, or the call that a callback comes
 *             from. No number is given out twice.
 * Errors      a function returns NULL or PM_ERR, and the pm_err says why (err.h). @err may be NULL.
 *             It is cleared at first. err->file stays until the next error in the same thread.
 *             Bad input is an error, never a crash. Without memory the process ends.
 * Ownership   what a call lends is said there, with its end. Strings that are passed in are copied.
 * Threads     any thread may use any handle, one at a time. Two handles share nothing. Readers of
 *             compressed files and writers of .pug have threads of their own; simulations and
 *             conversions have as many as they are told. A child of fork() uses only handles
 *             that it opens.
 * Signals     none are touched; nothing is printed but by sinks that are asked to (dump).
 * Stability   the soname changes when anything here does. Structs that the caller has begin with
 *             their size, which the caller sets: more fields may come at their ends, and the
 *             library fills in what there is room for. Batches are as pugmark.h says: to be walked
 *             with pm_event_at() and its like. A pm_result_node grows at its end, too: walk,
 *             do not copy. */
#ifndef PUGMARK_LIBRARY_H
#define PUGMARK_LIBRARY_H

#include "pugmark/pugmark.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Of the library that runs: "0.1.0". */
const char *pm_version(void);

/* ---- what there is -------------------------------------------------------------------------- */
/* Names of facts, "data addresses and access sizes", into @buf; cut to @size, always terminated if
 * @size is not 0. */
void pm_facts_format(uint32_t facts, char *buf, size_t size);

/* The name of events of that kind (enum pm_kind), as `pugmark dump` has it: "read". It stays. NULL:
 * there is none. */
const char *pm_event_name(unsigned kind);

enum pm_format_flag {
	PM_FORMAT_READ		= 1 << 0,	/* can be read */
	PM_FORMAT_WRITE		= 1 << 1,	/* can be written */
	PM_FORMAT_DIRECTORY	= 1 << 2,	/* is a directory, not a file */
	PM_FORMAT_BLOCKS	= 1 << 3	/* its writer takes PM_EV_BLOCK as it is */
};

struct pm_format_about {
	uint32_t size;			/* sizeof(struct pm_format_about), set by the caller */
	uint32_t flags;			/* enum pm_format_flag */
	uint32_t has;			/* enum pm_fact: the most that a trace of it knows */
	uint32_t needs;			/* enum pm_fact: what writing it takes */
	const char *name;		/* "champsim"; all of these stay */
	const char *about;		/* one line */
	const char *plural;		/* "ChampSim traces" */
	const char *suffixes;		/* blank-separated: ".champsim"; NULL: none is typical */
};

/* Format @i, from 0, in the order of `pugmark formats`. PM_END behind the last. */
enum pm_status pm_format_get(size_t i, struct pm_format_about *about, struct pm_err *err);

struct pm_simulator_about {
	uint32_t size;			/* sizeof(struct pm_simulator_about), set by the caller */
	uint32_t needs;			/* enum pm_fact */
	const char *name;		/* "cache" */
	const char *about;		/* one line */
};

/* Simulator @i, from 0, in the order of `pugmark sim --list`. PM_END behind the last. */
enum pm_status pm_simulator_get(size_t i, struct pm_simulator_about *about, struct pm_err *err);

/* ---- results -------------------------------------------------------------------------------- */
enum pm_result_kind {
	PM_RESULT_OBJECT,		/* has children with names */
	PM_RESULT_LIST,			/* has children without */
	PM_RESULT_U64,
	PM_RESULT_F64,
	PM_RESULT_STR,
	PM_RESULT_HEX,			/* a u64 that is written as "0x..." */
	PM_RESULT_NULL,
	PM_RESULT_BOOL			/* u64: 0 or 1 */
};

struct pm_result_node {
	enum pm_result_kind kind;
	const char *name;		/* NULL: an element of a list, or the root */
	const char *unit;		/* "bytes", "instructions"...; NULL: a bare number */
	union {
		uint64_t u64;		/* U64, HEX, BOOL */
		double f64;
		const char *str;
	};
	struct pm_result_node *first, *last;	/* children of objects and lists, in order */
	struct pm_result_node *next, *parent;	/* NULL behind the last; of the root */
};

struct pm_results;
/* The root, an object, and all below it: lent until pm_results_close(). */
const struct pm_result_node *pm_results_root(struct pm_results *r, struct pm_err *err);
/* The same as one JSON document, as the commands' --json writes it: lent likewise. */
const char *pm_results_json(struct pm_results *r, struct pm_err *err);
enum pm_status pm_results_close(struct pm_results *r, struct pm_err *err);	/* NULL is fine */

/* The child of that name; NULL if there is none, or no @of. */
static inline const struct pm_result_node *pm_result_child(const struct pm_result_node *of,
							   const char *name)
{
	const struct pm_result_node *n = of ? of->first : NULL;

	for (; n; n = n->next) {
		const char *a = n->name, *b = name;

		while (a && *a && *a == *b) {
			a++;
			b++;
		}
		if (a && *a == *b)
			break;
	}
	return n;
}

/* ---- reading -------------------------------------------------------------------------------- */
struct pm_reader;

/* @path "-": standard input. @format NULL: guessed from the content; else a format's name, with
 * options behind a colon if it has any: "byu:order=le". Packed files are unpacked. */
struct pm_reader *pm_reader_open(const char *path, const char *format, struct pm_err *err);

struct pm_reader_about {
	uint32_t size;			/* sizeof(struct pm_reader_about), set by the caller */
	uint32_t facts;			/* enum pm_fact: what the batches know, behind the
					 * transforms */
	const char *format;		/* its name; stays */
	uint64_t bytes;			/* of the file, packed as it is; 0: not known */
	double part;			/* of the file, 0..1: how much has been read; 0: not
					 * known */
};
enum pm_status pm_reader_about(struct pm_reader *r, struct pm_reader_about *about,
			       struct pm_err *err);
/* What the trace says about itself: "program", "args", "isa"... (.pug only). Lent until close;
 * NULL, and no error, if it does not say. */
const char *pm_reader_note(struct pm_reader *r, const char *name, struct pm_err *err);
/* Note @i, from 0, in the trace's order. PM_END behind the last. *@value is lent until close,
 * *@name until the next such call. */
enum pm_status pm_reader_note_at(struct pm_reader *r, size_t i, const char **name,
				 const char **value, struct pm_err *err);

/* Put a transform behind those that are there; before the first pm_reader_next():
 *	filter:CONFIG	only what these caches let through, as `pugmark convert --filter`
 *	lines:BYTES	instructions become the cache lines that they touch
 *	uops		instructions are cracked into micro-ops
 *	slice:from=N,count=N,thread=TID
 *			a part, as `pugmark slice`; each of the three may be left out */
enum pm_status pm_reader_transform(struct pm_reader *r, const char *spec, struct pm_err *err);
/* Blocks are to come as PM_EV_BLOCK, not expanded to instructions, if the trace has them. Before
 * the first pm_reader_next(). */
enum pm_status pm_reader_blocks(struct pm_reader *r, struct pm_err *err);

/* The next batch; it has at least one event. PM_END behind the last one, then and later. Batches
 * and all they point to are lent until the next call, streams and code tables until close. An error
 * comes again with every later call. */
enum pm_status pm_reader_next(struct pm_reader *r, const struct pm_batch **b, struct pm_err *err);
enum pm_status pm_reader_close(struct pm_reader *r, struct pm_err *err);	/* NULL is fine */

/* ---- batches that stay ---------------------------------------------------------------------- */
struct pm_kept;

/* As pm_reader_next(), but the batch is the caller's: it and all it points to stay until
 * pm_kept_close(), whatever becomes of the reader, and any thread may read them. Only the stream
 * and the code table go with the reader. Its memory serves for a later batch once it is closed.
 * PM_OK with *@kept NULL: much has been read and dropped by transforms; call again. A caller can
 * stop there. */
enum pm_status pm_reader_keep(struct pm_reader *r, struct pm_kept **kept,
			      const struct pm_batch **b, struct pm_err *err);
enum pm_status pm_kept_close(struct pm_kept *k, struct pm_err *err);	/* NULL is fine */

/* Apache Arrow's C data interface; its structs are those of https://arrow.apache.org. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
/* The events as a table: columns stream, kind (a dictionary of names), flags, size, id, addr and
 * value, as in struct pm_event. @schema (may be NULL) and @array are filled in, and then belong to
 * the caller, who calls their release(). They need neither @k nor its reader. */
enum pm_status pm_kept_arrow(struct pm_kept *k, struct ArrowSchema *schema,
			     struct ArrowArray *array, struct pm_err *err);
/* All that @r has left, batch by batch, as such a table. On PM_OK @r belongs to @stream, whose
 * release() closes it. */
enum pm_status pm_reader_arrow(struct pm_reader *r, struct ArrowArrayStream *stream,
			       struct pm_err *err);

/* ---- writing -------------------------------------------------------------------------------- */
struct pm_writer;

/* @path "-": standard output. @format NULL: by the name; a name that ends in .gz, .zst, .xz or .bz2
 * is packed. @facts: enum pm_fact: what the batches will know; if that is not enough for the format
 * the error says what is missing. @notes: NULL, or name, value, ..., NULL: what the trace shall say
 * about itself (.pug only). Nothing has that name before pm_writer_commit(), unless it is a pipe, a
 * device or a directory, or a .pug: its whole chunks are worth something by themselves. */
struct pm_writer *pm_writer_create(const char *path, const char *format, uint32_t facts,
				   const char *const *notes, struct pm_err *err);
/* @b is read during the call only, but for its stream and its code table, which stay in their
 * places until the writer is closed: the table may grow, never shrink or change. It is checked
 * first: ids that lead nowhere are errors. b->sizes says with which header it was built: set it to
 * &pm_sizes_here; NULL: the library's. After an error only pm_writer_close() can follow. */
enum pm_status pm_writer_push(struct pm_writer *w, const struct pm_batch *b, struct pm_err *err);
/* It is complete: trailers are written, and the file gets its name. *@results (@results may be
 * NULL): "written", with the file, its format, its bytes and what it could not hold. */
enum pm_status pm_writer_commit(struct pm_writer *w, struct pm_results **results,
				struct pm_err *err);
/* Without a commit before, what was written is gone; of a .pug it stays, and says that it is not
 * whole. NULL is fine. */
enum pm_status pm_writer_close(struct pm_writer *w, struct pm_err *err);

/* For b->sizes of batches that one makes. */
static const struct pm_sizes pm_sizes_here __attribute__((unused)) = {
	sizeof(struct pm_sizes), sizeof(struct pm_batch), sizeof(struct pm_stream),
	sizeof(struct pm_code), sizeof(struct pm_event), sizeof(struct pm_uop),
	sizeof(struct pm_bus), sizeof(struct pm_rare), sizeof(struct pm_insn),
	sizeof(struct pm_block), sizeof(struct pm_object)
};

/* ---- simulating ----------------------------------------------------------------------------- */
/* Called now and then while much is read, by the thread that called: how many events there were,
 * and the part of the file (0..1; 0: not known). Not 0: stop, which is an error. */
typedef int pm_progress(void *arg, uint64_t events, double part);

#define PM_THREADS_ALL UINT32_MAX	/* one for each processor */

struct pm_simulation;
struct pm_simulation *pm_simulation_new(struct pm_err *err);
/* Add what `pugmark sim --sim SPEC` would: NAME or NAME:CONFIG, "cache:l1d=32k,8way,64". Results
 * come in this order. "./mine.so:CONFIG" is a plug-in: one that was built for another PM_ABI is an
 * error. A program that is linked with libpugmark.a exports pm_result_* and pm_fail* for it
 * (-rdynamic). */
enum pm_status pm_simulation_add(struct pm_simulation *s, const char *spec, struct pm_err *err);
/* "PATH@ADDRESS": the trace had this file loaded there; for names of functions. Behind the
 * simulators that shall know it. */
enum pm_status pm_simulation_object(struct pm_simulation *s, const char *where,
				    struct pm_err *err);
/* Threads that simulators may have besides the caller's; 0, as it begins: none. */
enum pm_status pm_simulation_threads(struct pm_simulation *s, uint32_t n, struct pm_err *err);

/* All at once: everything that @r has left, to its end. @progress may be NULL. *@results: what
 * they counted; of a damaged trace, on PM_ERR, what they had counted until then, else NULL. */
enum pm_status pm_simulation_run(struct pm_simulation *s, struct pm_reader *r,
				 pm_progress *progress, void *arg, struct pm_results **results,
				 struct pm_err *err);

/* ... or batch by batch, of any origin; @facts: what they know. Batches are lent as to
 * pm_writer_push(). There are no other threads then. */
enum pm_status pm_simulation_begin(struct pm_simulation *s, uint32_t facts, struct pm_err *err);
enum pm_status pm_simulation_push(struct pm_simulation *s, const struct pm_batch *b,
				  struct pm_err *err);
struct pm_results *pm_simulation_finish(struct pm_simulation *s, struct pm_err *err);
enum pm_status pm_simulation_close(struct pm_simulation *s, struct pm_err *err); /* NULL is fine */

/* ---- whole files ---------------------------------------------------------------------------- */
struct pm_convert_options {
	uint32_t size;			/* sizeof(struct pm_convert_options), set by the caller */
	uint32_t threads;		/* as pm_simulation_threads() */
	const char *from, *to;		/* formats; NULL: guessed, by the name */
	const char *const *transforms;	/* as pm_reader_transform(); NULL-terminated, or NULL */
	pm_progress *progress;		/* or NULL */
	void *arg;
};

/* `pugmark convert IN OUT`: two files. @o NULL: nothing special. *@results (@results may be
 * NULL): as pm_writer_commit(); NULL on error. */
enum pm_status pm_convert(const char *in, const char *out, const struct pm_convert_options *o,
			  struct pm_results **results, struct pm_err *err);
/* `pugmark verify PATH`: PM_OK if the trace is whole and what it says is possible. *@results
 * (@results may be NULL): what was looked at, also if that is wrong. */
enum pm_status pm_verify(const char *path, const char *format, struct pm_results **results,
			 struct pm_err *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
