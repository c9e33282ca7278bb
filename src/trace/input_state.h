/* SPDX-License-Identifier: MIT */
/* input_state.h - what input.c and its unpackers share; nobody else includes it
 *
 * An unpacker writes up to @room bytes to @to, WINDOW_BYTES at least, and returns how many; 0 means
 * the end or an error. Raw bytes that it has used are those before raw_at. */
#ifndef PM_TRACE_INPUT_STATE_H
#define PM_TRACE_INPUT_STATE_H

#include <bzlib.h>
#include <lzma.h>
#include <pthread.h>
#include <stdatomic.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "trace/io.h"

#define RAW_BYTES	(256 << 10)	/* read from a pipe at once */
#define RAW_KEPT	8		/* used bytes that stay before raw_at: an unpacker may go
					 * back so far */
#define WINDOW_BYTES	(256 << 10)	/* unpacked at once */
#define AHEAD		4		/* blocks of WINDOW_BYTES that the second thread may be
					 * ahead */

enum input_packing { PLAIN, GZIP, ZSTD, XZ, BZIP2, ZIP, SNAPPY };

struct pm_input {
	char *name;
	int fd;				/* -1: everything is in memory */
	size_t size;			/* of the file or memory; SIZE_MAX: not known (a pipe) */
	bool whole;			/* a plain file with a name: read at raw_at, up to raw_n,
					 * without raw */
	void *map;			/* of that, where somebody asked for it */

	const uint8_t *raw;		/* raw bytes at hand: raw[raw_at .. raw_n) are not used
					 * yet */
	size_t raw_at, raw_n;
	uint64_t raw_base;		/* offset of raw[0] in the file */
	uint8_t *raw_buf;		/* what raw points to when reading from fd */
	bool raw_end;			/* fd has no more */

	enum input_packing packing;
	bool member;			/* inside a compressed member or frame */
	bool ended;			/* the unpacker has given everything */
	struct inflate_state *gz;
	ZSTD_DCtx *zstd;
	lzma_stream xz;
	bz_stream bz;
	struct pm_zip *zip;
	struct pm_snappy *snappy;

	uint8_t *win;			/* unpacked bytes win[at .. n) are not consumed yet */
	size_t at, n;
	uint8_t *own;			/* where they are, unless in memory or a block of the
					 * second thread */
	size_t cap;
	uint64_t base;			/* offset of win[0] in the unpacked stream */
	struct pm_err err;		/* why there is no more, if that is not the end */

	/* The second thread owns everything about raw bytes and unpacking, and .err until it is
	 * done. */
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	uint8_t *ahead[AHEAD];		/* WINDOW_BYTES behind REST_BYTES */
	bool lent;			/* the window is in block number @used, which is
					 * therefore not free yet */
	size_t ahead_n[AHEAD];
	atomic_uint made, used;		/* blocks so far; written under the lock */
	atomic_bool done, quit;		/* likewise */
};

/* More raw bytes behind those at hand; false at the end or on error. Only for descriptors. */
bool pm_raw_fill(struct pm_input *in);
/* Are @n raw bytes at hand? No: the input ends before. @n is far less than RAW_BYTES. */
bool pm_raw_need(struct pm_input *in, size_t n);
uint64_t pm_raw_offset(const struct pm_input *in);	/* of the next raw byte, in the file */
/* "WHAT data WHY" becomes the input's error. Returns 0. */
size_t pm_raw_broken(struct pm_input *in, const char *what, const char *why);

/* unpack_zip.c: the members of an archive, one behind another, in the order of the file */
struct pm_zip *pm_zip_new(void);
size_t pm_unpack_zip(struct pm_input *in, uint8_t *to, size_t room);
void pm_zip_free(struct pm_zip *z);

/* unpack_snappy.c: frames of Snappy. NULL and the input's error: the library is not there. */
struct pm_snappy *pm_snappy_new(struct pm_input *in);
size_t pm_unpack_snappy(struct pm_input *in, uint8_t *to, size_t room);
void pm_snappy_free(struct pm_snappy *s);

#endif
