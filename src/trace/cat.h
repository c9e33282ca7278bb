/* SPDX-License-Identifier: MIT */
/* cat.h - cache-filtered address traces with data (.cat), as a bus monitor writes them
 *
 *   OFFSET SIZE  FIELD (all integers big-endian)
 *        0    8  magic "PMCAT1\0\0"; "PMIMS2\0\0" in .ims files, which share this header
 *        8    4  byte order of the machine: 1 big, 0 little
 *       12    4  RAM bytes, from physical address 0
 *       16    4  processor: 0 R4400, 1 with the mips32r2 superset
 *       20    4  bytes of a primary instruction cache line       24  4  data cache line
 *       28    4  secondary cache bytes, 0: none                  32  4  its line
 *       36    4  TLB entries                                     40  4  flags: 1 sideband, 2 caches
 *             disabled
 *       44    8  .ims: identity of the .cat that it is from (CITCAT's citcat.h)        52 12  0
 * Behind it zstd frames (with checksums) of at most 1 MiB of records each:
 *        0    1  kind (enum cat_kind)          1  1  bytes transferred: 0 to 4
 *        2    2  0                             4  4  completed branches, modulo 2^32
 *        8    4  physical address             12  4  data: as a number in the machine's byte order
 * A line is one record per word, ascending. A doubleword is two records.
 * Threads    one per reader or writer; a writer makes records and compresses them on a thread
 * of its own. */
#ifndef PM_TRACE_CAT_H
#define PM_TRACE_CAT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/io.h"

enum cat_kind {
	CAT_BEGIN,
	CAT_IFETCH,
	CAT_FILL,
	CAT_WRITEBACK,
	CAT_READ,
	CAT_WRITE,
	CAT_DMA_READ,
	CAT_DMA_WRITE,
	CAT_INTERRUPT, /* line `addr` of the processor's interrupt pins (IP number) goes
				 * to level `data` */
	CAT_END, /* sideband: `addr` and `data` are the halves of the number of
				 * instructions */
	CAT_REPORT, /* sideband: what a guest would have stored at window address
				 * `addr` */
	CAT_KINDS
};
extern const char *const cat_kind_names[CAT_KINDS];

#define CAT_HEADER	64
#define CAT_RECORD	16

struct cat_header {
	bool big_endian, r2, sideband, uncached;
	uint32_t ram_size, iline, dline, scache, sline, tlb;
};
struct cat_rec {
	uint8_t kind, bytes;
	uint32_t branches, addr, data;
};

void cat_header_put(uint8_t *p, const struct cat_header *h, const char *magic);
/* Check and take apart the header at @p, which is at the start of the file. */
enum pm_status cat_header_get(const uint8_t *p, size_t n, struct cat_header *h, const char *magic,
			      struct pm_err *err);

struct cat_writer;
struct cat_writer *cat_create(const char *path, const struct cat_header *h, struct pm_err *err);
void cat_put(struct cat_writer *w, enum cat_kind kind, unsigned bytes, uint32_t branches,
	     uint32_t addr, uint32_t data);
/* A line of @n bytes, at most 128, as memory has it: a record for each word. */
void cat_put_line(struct cat_writer *w, enum cat_kind kind, uint32_t branches, uint32_t addr,
		  const void *line, unsigned n);
uint64_t cat_written(const struct cat_writer *w);	/* records so far */
enum pm_status cat_finish(struct cat_writer *w, struct pm_err *err);
void cat_close(struct cat_writer *w);

struct cat_reader;
struct cat_reader *cat_open(const char *path, struct cat_header *h, struct pm_err *err);
/* Borrows @in. */
struct cat_reader *cat_open_input(struct pm_input *in, struct cat_header *h, struct pm_err *err);
enum pm_status cat_next(struct cat_reader *r, struct cat_rec *rec, struct pm_err *err);
uint64_t cat_record(const struct cat_reader *r);	/* number of the last record, from 0 */
bool cat_was_cut(const struct cat_reader *r);		/* after PM_END: inside a frame or record */
void cat_reader_close(struct cat_reader *r);

#endif
