/* SPDX-License-Identifier: MIT */
/* cat_x86.h - cache-filtered address traces of x86 guests (.cat), with what a replay needs (.cit);
 * and guests that were saved, from which such a trace may begin
 *
 *   OFFSET SIZE  FIELD (all integers big-endian)
 *        0    8  magic "PMCATX1\0"; "PMCITX1\0" of a .cit, which has no transactions; "PMSAVX1\0"
 *                of a saved guest, which has no log either
 * Behind it parts, in the order of enum catx_tag. What is longer than CATX_PART is several.
 *        0    4  tag
 *        4    4  bytes of it, unpacked: 1 to CATX_PART
 *        8    4  packed bytes, which follow: a zstd frame with its checksum
 * Unpacked:
 *   CONF  the machine: names and values, each with a 0 behind it
 *   KERN  the kernel, the whole file           INIT  the initial RAM disk, the whole file
 *         (with STAT only as much as QEMU looks at; CONF says how long they were)
 *   BUS   transactions of 24 bytes:
 *        0    1  enum pm_bus_type              1  1  byte enables, active low
 *        2    1  memory type                   3  1  1: uncached, 2: locked
 *        4    2  bytes                         6  2  0
 *        8    4  instructions completed since the one before; 0xffffffff: it is the first
 *       12    4  what a port is written
 *       16    8  physical address
 *   LOG   QEMU's log of the run (record/replay), the whole file
 *   STAT  if the trace does not begin at power-on: the devices and the processor as it begins, a
 *         qcow2 image with one snapshot of QEMU's
 *   MEM   ... and memory: runs of pages of 4096 bytes, in order. A run is the first one's number
 *         (8), how many (8), and their bytes. What is not there is zero, or is not looked at
 *   END   instructions, transactions, bytes on the bus, interrupts, a hash of where interrupts
 *         and exceptions came (8 bytes each), enum catx_how (8), and the sum (8) over all other
 *         parts but BUS: h = (h ^ v) * 0x9e3779b97f4a7c15, h ^= h >> 32, of each tag, length, and 8
 *         bytes (the last ones filled up with zeros)
 *
 * Ownership  what catx_load() fills is the caller's, and catx_release() frees it.
 * Errors     a file that is cut, damaged, or no such file: one error, which says where.
 * Threads    one per object. */
#ifndef PM_TRACE_CAT_X86_H
#define PM_TRACE_CAT_X86_H

#include "base/mem.h"
#include "trace/bus.h"
#include "trace/io.h"

#define CATX_PART	(4u << 20)
#define CATX_RECORD	24u
#define CATX_MAX	(1ull << 32)	/* bytes of a kernel, and so on */
#define CATX_FACTS	(PM_HAS_BUS | PM_HAS_PHYS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LANES | \
			 PM_HAS_TIME | PM_HAS_CYCLES)

enum catx_tag { CATX_CONF, CATX_KERN, CATX_INIT, CATX_BUS, CATX_LOG, CATX_STATE, CATX_MEMORY,
		CATX_END, CATX_TAGS };
enum catx_kind { CATX_CAT, CATX_CIT, CATX_SAVED };
enum catx_how { CATX_POWERED_OFF, CATX_RESET, CATX_LIMIT, CATX_INTERRUPTED };

struct catx_end {
	uint64_t instructions, transactions, bus_bytes;
	uint64_t interrupts;		/* acknowledged on the bus */
	uint64_t witness;		/* the hash: a replay has the same */
	uint64_t how;			/* enum catx_how */
};

/* ---- writing --------------------------------------------------------------------------------- */
struct catx_writer;
/* NULL on an error. The file gets its name at the end. */
struct catx_writer *catx_create(const char *path, enum catx_kind kind, struct pm_err *err);
/* More of part @tag. None of an earlier one may follow, and not CATX_BUS and CATX_END. */
enum pm_status catx_put(struct catx_writer *w, enum catx_tag tag, const void *p, size_t n,
			struct pm_err *err);
/* "name", "value" of CATX_CONF; a value that is NULL is left out. */
void catx_add(struct pm_buf *conf, const char *name, const char *value);
/* One transaction. HOT */
enum pm_status catx_put_bus(struct catx_writer *w, const struct pm_event *e,
			    const struct pm_bus *u, struct pm_err *err);
/* Of transactions @end has what was put, if any was. */
enum pm_status catx_finish(struct catx_writer *w, struct catx_end *end, struct pm_err *err);
void catx_close(struct catx_writer *w);			/* NULL is fine; unfinished: no file */

/* ---- reading --------------------------------------------------------------------------------- */
struct catx {
	struct pm_buf part[CATX_BUS];		/* each has a 0 behind its last byte */
	struct pm_buf log, state, memory;
	struct catx_end end;
	enum catx_kind kind;
};
/* By its first bytes, 8 of them. */
bool catx_is(const uint8_t *p, size_t n);
bool catx_is_packed(const uint8_t *p, size_t n);	/* a .cit */
bool catx_is_saved(const uint8_t *p, size_t n);
/* All but transactions, of a .cat or .cit; of a saved guest. Any file at all may be there. */
enum pm_status catx_load(const char *path, struct catx *x, struct pm_err *err);
enum pm_status catx_load_saved(const char *path, struct catx *x, struct pm_err *err);
/* Of any of them. */
enum pm_status catx_load_input(struct pm_input *in, struct catx *x, struct pm_err *err);
const char *catx_value(const struct catx *x, const char *name);		/* NULL: it has none */
void catx_release(struct catx *x);

/* Transactions alone, one by one. */
struct catx_reader;
struct catx_reader *catx_open(const char *path, struct pm_err *err);
struct catx_reader *catx_open_input(struct pm_input *in, struct pm_err *err);	/* borrows @in */
/* The next one: what is not 0 of @e and @u. PM_END: there is none, and the file is whole. */
enum pm_status catx_next(struct catx_reader *r, struct pm_event *e, struct pm_bus *u,
			 struct pm_err *err);
uint64_t catx_number(const struct catx_reader *r);	/* of those so far */
void catx_reader_close(struct catx_reader *r);		/* NULL is fine */

/* ---- comparing ------------------------------------------------------------------------------- */
/* Is it the next one of @r? PM_ERR and @err if not, with both. HOT */
enum pm_status catx_compare(struct catx_reader *r, const struct pm_event *e,
			    const struct pm_bus *u, struct pm_err *err);
/* There is no next one. */
enum pm_status catx_compare_end(struct catx_reader *r, struct pm_err *err);

#endif
