/* SPDX-License-Identifier: MIT */
/* recording.h - recordings: files from which programs that have been recorded run again
 *
 *   OFFSET SIZE  FIELD				integers are little-endian
 *        0    8  magic "PUGREC\r\n"
 *        8    4  version; readers take no other one
 *       12    4  0
 *   then chunks, one behind the other:
 *        0    4  "chnk"
 *        4    1  kind, enum rec_kind
 *        5    1  1: the payload is packed by zstd
 *        6    2  0
 *        8    4  stream: number of a process's program, from 0 in the order in which they began
 *       12    4  check of the other 36 bytes
 *       16    8  bytes of the payload as it stands here
 *       24    8  ... unpacked
 *       32    8  check of the payload as it stands here
 *   Payloads:
 *     START  what the program began with: struct rec_start, put_start() in rec_write.c
 *     FILE   a file that was mapped: struct rec_file
 *     DATA   its number (4), 0 (4), offset (8), bytes from there
 *     LOG    events (struct rt_event of runtime/abi.h), whole ones
 *     END    why the stream ends: enum rec_end (4), 0 (4), a number that says more (8), and the
 *            process's exit status (4) and signal (4)
 *
 * A file that is cut off is read up to its last complete event.
 *
 * Ownership  a reader owns what it lends, to rec_close(). A writer takes nothing.
 * Errors     PM_ERR and @err. A writer's first error stays: what comes later is not written.
 * Trust      files are anybody's. Every number in them is checked here, before somebody goes by it.
 * Threads    one at a time for each reader and writer. */
#ifndef PM_RECORD_RECORDING_H
#define PM_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/runtime/abi.h"

#define REC_VERSION 10u
#define REC_MAGIC "PUGREC\r\n"

enum rec_kind { REC_START = 1, REC_FILE, REC_DATA, REC_LOG, REC_END };

enum rec_end {
	REC_RUNNING,			/* nobody knows: the file ends before */
	REC_EXITED,			/* the process has ended */
	REC_KILLED,			/* likewise, by a signal */
	REC_EXECED,			/* it has executed another program */
	REC_STOPPED,			/* what follows could not be recorded; the number: enum
					 * rt_log_end, shifted by 32, and what it says more */
};

struct rec_map {			/* what was mapped */
	uint64_t lo, hi, off;
	uint32_t prot, flags;		/* enum rt_start_flag */
	uint32_t file;			/* 1 + its number; 0: none */
};

struct rec_part {			/* contents of memory */
	uint64_t at, n;
	const uint8_t *p;		/* of a reader: lent */
};

struct rec_start {
	uint32_t pid, parent;
	uint32_t from;			/* 1 + the stream that goes on here: of the program that
					 * has executed this one, or, if nothing is mapped, of the
					 * process that this is a copy of; 0: the first one */
	bool i386;			/* a 32-bit program; a copy is what the process is */
	bool exec_all;			/* i386: what it can read it may execute */
	uint64_t sp, pc, rax, rdx;	/* registers; all others are 0 */
	uint64_t mask;			/* blocked signals */
	uint64_t ignored;		/* signals */
	uint64_t stack_limit;		/* bytes that the stack may have; UINT64_MAX: any number */
	const char *program;
	const char *const *argv;	/* NULL-terminated */
	struct rec_map *map;
	struct rec_part *part;		/* in the order of the maps */
	size_t nmap, npart;
};

struct rec_file {
	const char *path;
	uint64_t size, check;		/* of all its bytes; 0: none, it is data */
	bool kept;			/* what is needed of it is in the recording */
};

/* ---- rec_write.c ----------------------------------------------------------------------------- */
struct rec_writer;
/* To write @path, which must outlive it. A file that is there is kept until the first chunk is
 * written; if none ever is, there is no new file. NULL after pm_fail: it cannot be written. */
struct rec_writer *rec_create(const char *path, struct pm_err *err);
void rec_start(struct rec_writer *w, uint32_t stream, const struct rec_start *s);
void rec_file(struct rec_writer *w, uint32_t number, const struct rec_file *f);
void rec_data(struct rec_writer *w, uint32_t number, uint64_t off, const void *p, size_t n);
void rec_log(struct rec_writer *w, uint32_t stream, const void *p, size_t n);
void rec_end(struct rec_writer *w, uint32_t stream, enum rec_end why, uint64_t more, int status,
	     int signal);
bool rec_failed(const struct rec_writer *w);
uint64_t rec_bytes(const struct rec_writer *w);	/* written so far */
/* Frees it; PM_ERR: something has not been written. */
enum pm_status rec_finish(struct rec_writer *w, struct pm_err *err);

/* ---- rec_read.c ------------------------------------------------------------------------------ */
struct rec_reader;
bool rec_is(const uint8_t *head, size_t n);	/* does a recording begin like that? */
enum pm_status rec_open(const char *path, struct rec_reader **r, struct pm_err *err);
/* The first program, or others; NULL: there are no more. */
const struct rec_start *rec_start_of(const struct rec_reader *r, uint32_t stream);
uint32_t rec_nfile(const struct rec_reader *r);
const struct rec_file *rec_file_of(const struct rec_reader *r, uint32_t number);
/* Descriptor of file @number, to read: of the real one if that is as it was, for its symbols, or of
 * a memory file with what is kept of it. The caller closes it. -1 after pm_fail. */
int rec_file_open(const struct rec_reader *r, uint32_t number, struct pm_err *err);
/* The next events of @stream, whole ones, at most RT_LOG_SIZE bytes (i386: RT32_), into @to. 0: no
 * more, for which rec_why() gives the reason. */
size_t rec_next(struct rec_reader *r, uint32_t stream, void *to);
/* Does it return more, the next time? */
bool rec_has_more(const struct rec_reader *r, uint32_t stream);
/* How far rec_next() has come in @stream; it goes on there. One less: with the same events once
 * more. */
size_t rec_tell(const struct rec_reader *r, uint32_t stream);
void rec_seek(struct rec_reader *r, uint32_t stream, size_t to);
/* Is @child, 1 + its number, the stream of a process that is a copy of @stream's? */
bool rec_is_fork(const struct rec_reader *r, uint32_t stream, uint64_t child);
/* The stream of the program that @stream's has executed; 0: there is none. */
uint32_t rec_executed(const struct rec_reader *r, uint32_t stream);
uint32_t rec_nstream(const struct rec_reader *r);
bool rec_is_i386(const struct rec_reader *r, uint32_t stream);
struct rec_ended {
	enum rec_end why;
	bool i386;			/* the program is one of 32 bits */
	uint64_t more;
	int status, signal;
	bool cut;			/* the file ends before */
	bool damaged;			/* what follows does not have its check */
};
struct rec_ended rec_why(const struct rec_reader *r, uint32_t stream);
void rec_close(struct rec_reader *r);

#define REC_CHECK_PIECE (1u << 20)
/* A check of all bytes of @fd; false: it cannot be read. @piece: REC_CHECK_PIECE bytes for that. */
bool rec_check_file(int fd, uint64_t size, uint8_t *piece, uint64_t *check);

/* ---- rec_text.c ------------------------------------------------------------------------------ */
const char *rec_call_name(bool i386, uint64_t nr);	/* of a system call */
/* Do calls @nr name files or segments in the log? Those of fork() name streams, of shmat()
 * segments. */
bool rec_maps_files(bool i386, uint64_t nr);
/* What the process does where its recording ends: "executes another program". */
void rec_end_text(const struct rec_ended *e, char *to, size_t n);

#endif
