/* SPDX-License-Identifier: MIT */
/* pug_file.h - the .pug reader and writer as fmt_pug.c and the commands see them */
#ifndef PM_TRACE_PUG_FILE_H
#define PM_TRACE_PUG_FILE_H

#include "trace/format.h"
#include "trace/tally.h"

void *pug_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err);
enum pm_status pug_write(void *self, const struct pm_batch *b, struct pm_err *err);
enum pm_status pug_write_packed(void *self, const struct pm_batch *b, const struct pm_packed *k,
				struct pm_err *err);
enum pm_status pug_write_finish(void *self, struct pm_err *err);
/* What has been given so far is in complete chunks, and written. Records of what comes begin at
 * byte *@at. */
enum pm_status pug_write_mark(void *self, uint64_t *at, struct pm_err *err);
void pug_write_close(void *self);

struct pug_reader;
void *pug_read_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		    struct pm_err *err);
enum pm_status pug_read_next(void *self, const struct pm_batch **b, struct pm_err *err);
void pug_read_close(void *self);

/* Chunks read so far; *insns: instructions, over all streams. */
uint64_t pug_read_chunks(const struct pug_reader *r, uint64_t *insns);

/* "name=value" strings, one behind the other, each terminated; the last one is empty. */
const char *pug_read_info(const struct pug_reader *r);

/* What the file says about itself. Without an index (it is cut, or comes through a pipe) only what
 * was read so far is known, and whole is false. */
struct pug_totals {
	bool whole;			/* has an index */
	struct pm_tally tally;
	uint64_t events, records, chunks;
	uint64_t time;			/* of its last PM_EV_TIME */
	/* Of pug_read_totals(), if whole; the reader's. */
	const struct pug_total_stream {
		const struct pm_stream *is;	/* NULL: the file does not say */
		uint64_t index, insns;
	} *stream;
	size_t nstream;
};
enum pm_status pug_read_totals(struct pug_reader *r, struct pug_totals *t, struct pm_err *err);

/* For several readers of one file, each of which reads other parts of it. */
struct pug_place {
	uint64_t event;			/* a chunk, by its first event's number in the file */
	uint64_t insn;			/* in it: what comes before this instruction of the file is
					 * before the place. Batches stay whole, and what belongs to
					 * a block stays with it, so the place is about there. */
};
/* Where chunks begin: *n of them in @at (free() it); of a reader that is good for nothing else. */
enum pm_status pug_read_places(struct pug_reader *r, struct pug_place **at, size_t *n,
			       struct pm_err *err);
/* From here on only what is from place @from to before @to is read; then next() says PM_END, and
 * the next part may follow, further behind. @to NULL: to the end. */
void pug_read_part(struct pug_reader *r, const struct pug_place *from, const struct pug_place *to);

/* From here on only batches of the stream with this index come; chunks without it are skipped. */
void pug_read_stream(struct pug_reader *r, uint32_t index);

/* The next batch comes from the chunk that holds instruction @insn (counted over all streams);
 * *first is the number of instructions before it. Behind the end: the end. */
enum pm_status pug_read_seek(void *self, uint64_t insn, uint64_t *first, struct pm_err *err);

#endif
