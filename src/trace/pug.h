/* SPDX-License-Identifier: MIT */
/* pug.h - the .pug container, inside; docs/formats/pug.md is the byte-exact specification
 *
 * A file is a header and records: INFO (text about the trace), STRM (a stream), CODE (additions to
 * a code table), DATA (a chunk of events), INDX (where they are, and totals), then a trailer that
 * points at INDX. Records are complete or absent: a cut file is read up to the cut.
 *
 * A chunk is coded against a model (pug_phrase.h) that reader and writer run in step, starting
 * empty in each chunk, so that chunks can be read in any order.
 *
 *   pug_write.c    records, jobs for threads, index         pug_read.c     records, seeking, totals
 *   pug_chunk.c    batches -> chunks -> bytes
 *   pug_encode.c   events -> columns of a chunk             pug_decode.c   and back
 *   pug_put.c      records and index into a file            pug_join.c     parts of several files
 *   pug_side.c     rare events, both ways                   pug_decode1.c  chunks of version 1
 *   pug_code.c     code tables, both ways                   pug_bytes.c    integers, checksums,
 *                  packing */
#ifndef PM_TRACE_PUG_H
#define PM_TRACE_PUG_H

#include <string.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

struct pm_cur;
struct ZSTD_CCtx_s;

#define PUG_MAGIC	"\x89PUG\r\n\x1a\n"
#define PUG_MAJOR	2		/* readers refuse a greater one */
#define PUG_MINOR	0		/* ... and accept any of these */
#define PUG_HEADER	32		/* bytes of the file header */
#define PUG_RECORD	48		/* bytes of a record header */
#define PUG_TRAILER	24
#define PUG_TRAIL_MAGIC	"PUGEND\r\n"

#define PUG_TAG(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
enum pug_tag {
	PUG_INFO = PUG_TAG('I', 'N', 'F', 'O'),
	PUG_STRM = PUG_TAG('S', 'T', 'R', 'M'),
	PUG_CODE = PUG_TAG('C', 'O', 'D', 'E'),
	PUG_DATA = PUG_TAG('D', 'A', 'T', 'A'),
	PUG_INDX = PUG_TAG('I', 'N', 'D', 'X'),
};

/* Limits that a reader enforces before it allocates, and a writer keeps. */
#define PUG_MAX_PAYLOAD	(1u << 28)
#define PUG_MAX_RAW	(1u << 28)	/* unpacked bytes of one column */
#define PUG_MAX_EVENTS	(1u << 24)	/* in one chunk */
#define PUG_MAX_STREAMS	(1u << 20)
#define PUG_MAX_SLOTS	(1u << 16)	/* streams in one chunk */

struct pug_rec {			/* a record header, decoded */
	uint32_t tag;
	uint32_t size;			/* payload bytes */
	uint64_t insns;			/* instructions before this record, all streams */
	uint64_t events;		/* events before it */
	uint64_t time;			/* last PM_EV_TIME before it, 0 if none */
	uint32_t ninsn;			/* instructions and events in it */
	uint32_t crc;			/* CRC-32C of the payload */
};

enum pug_level { PUG_FAST = 1, PUG_DEFAULT = 2, PUG_DENSE = 3 };
enum pug_model_id { PUG_NODES = 0, PUG_PHRASES = 2 };	/* in a chunk's head: version 1's, this
							 * one's */

enum pug_col {
	PUG_COL_RUN,			/* varint per op: free phrases before it */
	PUG_COL_OP,			/* u8: what was not free */
	PUG_COL_PHRASE,			/* u32: number of a known phrase */
	PUG_COL_MASK,			/* varint: which elements' addresses, which values are
					 * not as predicted */
	PUG_COL_HOW,			/* u8 per such address: enum pug_how */
	PUG_COL_D16, PUG_COL_D32,	/* address differences */
	PUG_COL_A64,			/* addresses */
	PUG_COL_VAL,			/* u64: value differences */
	PUG_COL_NEW,			/* definitions of new phrases */
	PUG_COL_SIDE,			/* everything rare */
	PUG_NCOL
};
extern const uint8_t pug_col_width[PUG_NCOL];	/* bytes per element; >1: stored as byte planes */

enum pug_class {
	PUG_STATIC,			/* the address never changes */
	PUG_REF,			/* a data reference */
	PUG_OTHER,			/* address and value without company */
	PUG_SIDE,			/* has a record in COL_SIDE */
};
#define PUG_IS_REF	4		/* set for PUG_REF, and for PUG_SIDE whose address is a
					 * reference's */
extern const uint8_t pug_class[256];	/* by event kind; kinds that do not exist are PUG_SIDE */

/* ---- integers and checksums ----------------------------------------------------------------- */

static inline uint64_t pug_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t pug_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

struct pug_span {			/* bytes that are being read */
	const uint8_t *p, *end;
};

/* False: the bytes end, or it is none. */
static inline bool pug_get_varint(struct pug_span *c, uint64_t *v)
{
	const uint8_t *p = c->p;
	unsigned shift = 0;

	*v = 0;
	do {
		if (p == c->end || shift > 63)
			return false;
		*v |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
	} while (*p++ & 0x80);
	c->p = p;
	return true;
}

void pug_put32(uint8_t *p, uint32_t v);
void pug_put64(uint8_t *p, uint64_t v);
uint32_t pug_get32(const uint8_t *p);
uint64_t pug_get64(const uint8_t *p);
void pug_varint(struct pm_buf *b, uint64_t v);
uint32_t pug_crc(const void *p, size_t n);

/* Pack @n bytes behind what is in @to: u8 method, u32 raw size, u32 stored size, bytes. */
void pug_pack(struct pm_buf *to, const void *p, size_t n, struct ZSTD_CCtx_s *z, int zlevel);
/* Undo it: *raw is set to a buffer inside @room or into the payload itself. */
enum pm_status pug_unpack(struct pm_cur *c, struct pm_buf *room, const uint8_t **raw, size_t *n,
			  const char *what);

void pug_rec_put(uint8_t to[PUG_RECORD], const struct pug_rec *r);
/* False: not a record header (its own checksum does not fit). */
bool pug_rec_get(const uint8_t from[PUG_RECORD], struct pug_rec *r);

/* ---- code tables (pug_code.c) --------------------------------------------------------------- */

struct pug_code {			/* one that is being read */
	struct pm_code code;		/* first: batches point to it */
	struct pm_insn *insn;
	struct pm_block *block;
	struct pm_object *object;
	size_t cap_insn, cap_block, cap_object;
	struct pm_arena mem;		/* strings */
};

struct pug_code_mark {			/* how much of a code table is written */
	size_t ninsn, nblock, nobject;
};

/* NULL and "" are told apart; at most 64 KiB. */
void pug_string_put(struct pm_buf *to, const char *s);
enum pm_status pug_string_get(struct pm_cur *c, struct pm_arena *mem, const char **to,
			      const char *what);
/* The additions since @done, as a CODE payload; @done moves. */
void pug_code_put(struct pm_buf *to, uint32_t number, const struct pm_code *code,
		  struct pug_code_mark *done);
/* The payload's number was read already; the rest extends @c. */
enum pm_status pug_code_get(struct pm_cur *cur, struct pug_code *c);
void pug_code_release(struct pug_code *c);

#endif
