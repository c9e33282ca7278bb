/* SPDX-License-Identifier: MIT */
/* pug.h - the .pug container, inside; docs/formats/pug.md is the byte-exact specification
 *
 * A file is a header and records: INFO (text about the trace), STRM (a stream), CODE (additions to
 * a code table), DATA (a chunk of events), INDX (where they are, and totals), then a trailer that
 * points at INDX. Records are complete or absent: a cut file is read up to the cut.
 *
 * A chunk is coded against a *model* that reader and writer run in step, starting empty in each
 * chunk. The model is a graph of *nodes*: a node is an event with everything about it that is
 * static (kind, flags, size, id; for instructions and blocks also the address). An event is free if
 * it is the node that the model expects and its address and value are those that the node predicts;
 * what is stored is how many free events came before each one that was not, and what was different
 * about that one. */
#ifndef PM_TRACE_PUG_H
#define PM_TRACE_PUG_H

#include <string.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

struct pm_cur;
struct ZSTD_CCtx_s;

#define PUG_MAGIC	"\x89PUG\r\n\x1a\n"
#define PUG_MAJOR	1		/* readers refuse a greater one */
#define PUG_MINOR	0		/* ... and accept any of these */
#define PUG_HEADER	32		/* bytes of the file header */
#define PUG_RECORD	48		/* bytes of a record header */
#define PUG_TRAILER	24
#define PUG_TRAIL_MAGIC	"PUGEND\r\n"

#define PUG_TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
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

enum pug_col {
	PUG_COL_RUN,			/* varint per op: free events before it */
	PUG_COL_OP,			/* u8: what was not free */
	PUG_COL_NODE,			/* u32: number of a known node */
	PUG_COL_D16, PUG_COL_D32,	/* address differences */
	PUG_COL_A64,			/* addresses */
	PUG_COL_VAL,			/* u64: value differences */
	PUG_COL_NEW,			/* definitions of new nodes */
	PUG_COL_SIDE,			/* everything rare */
	PUG_NCOL
};
extern const uint8_t pug_col_width[PUG_NCOL];	/* bytes per element; >1: stored as byte planes */

/* An op: bits 0-2 the node, 3-5 the address, 6 the value, 7 the base of the difference. */
enum pug_op {
	PUG_NODE_EXPECTED = 0,		/* the one that the history expects */
	PUG_NODE_NEXT = 1,		/* the last successor, the one before that */
	PUG_NODE_ALT = 2,
	PUG_NODE_KNOWN = 3,		/* number in COL_NODE */
	PUG_NODE_NEW = 4,		/* definition in COL_NEW */
	PUG_NODE_SWITCH = 5,		/* no event: another slot, varint in COL_SIDE */

	PUG_ADDR_STRIDE = 0 << 3,	/* last + stride */
	PUG_ADDR_PREV = 1 << 3,		/* as far from the previous reference as last time */
	PUG_ADDR_PREV2 = 2 << 3,	/* ... from the one before it */
	PUG_ADDR_STACK = 3 << 3,	/* ... from the last implicit stack reference */
	PUG_ADDR_SEEN = 4 << 3,		/* what followed this node's last address before */
	PUG_ADDR_D16 = 5 << 3,
	PUG_ADDR_D32 = 6 << 3,
	PUG_ADDR_A64 = 7 << 3,

	PUG_VALUE = 1 << 6,		/* value differs: COL_VAL */
	PUG_BASE_PREV = 1 << 7,		/* D16, D32: against the previous reference, not this node's */
};

enum pug_class {
	PUG_STATIC,			/* the address belongs to the node */
	PUG_REF,			/* a data reference */
	PUG_OTHER,			/* address and value without company */
	PUG_SIDE,			/* has a record in COL_SIDE */
};
extern const uint8_t pug_class[256];	/* by event kind; kinds that do not exist are PUG_SIDE */

struct pug_node {			/* one cache line: what every event of it needs */
	uint64_t sig;			/* first 8 bytes of the event; PUG_SIDE: kind | 0x80, id made stable */
	uint64_t value;
	uint64_t last;			/* address */
	uint64_t off[4];		/* stride; distance from prev, prev2, stack; PUG_STATIC: [1] is the code */
	uint32_t next;			/* last successor */
	uint8_t mode;			/* which address prediction is believed: op code >> 3 */
	uint8_t multi;			/* has had two different successors: ask the history */
	uint8_t class;			/* enum pug_class, PUG_IS_REF: the address is a data reference's */
	uint8_t sure;			/* the last event was foretold: one surprise does not change the stride */
};
#define PUG_MODE_SEEN	4		/* PUG_ADDR_SEEN >> 3 */
#define PUG_IS_REF	4
#define PUG_CLASS(n)	((n)->class & 3)
_Static_assert(sizeof(struct pug_node) == 64, "a cache line");

struct pug_cold {			/* the rest of a node */
	uint32_t alt;			/* the successor before .next */
	uint32_t parent;		/* the node before it in its chain of references */
	uint32_t home;			/* the static node that the chain starts from */
	uint32_t def;			/* number of its definition (micro-ops, bus transactions) */
	uint8_t depth;
};

#define PUG_DEPTH	63		/* references in one chain; then their parent is the home node */
#define PUG_HIST_BITS	15
#define PUG_SEEN_BITS	16

struct pug_ctx {			/* what the model knows about a stream within a chunk */
	uint32_t cur;			/* node of the last event */
	uint32_t code;			/* number of the stream's code table + 1; 0: it has none */
	uint64_t hist;			/* path through the last nodes with several successors */
	uint64_t base[4];		/* [1..3]: addresses of the previous reference, the one before it, the last
					 * stack reference; [0] is scratch */
};

struct pug_model {
	struct pug_node *node;		/* [0] is the root, before the first event of a stream */
	struct pug_cold *cold;		/* likewise */
	uint32_t n, cap;
	uint32_t *expect;		/* by history: the expected node */
	uint64_t *seen;			/* by node and last address: the next address */
	uint32_t new_id;		/* the last new node's id and address */
	uint64_t new_addr;
	uint64_t bus_time;
};

void pug_model_init(struct pug_model *m);
void pug_model_reset(struct pug_model *m, enum pug_level level);
uint32_t pug_model_add(struct pug_model *m);	/* a zeroed node; may move m->node */
void pug_model_release(struct pug_model *m);
/* Place a node that was just added behind @cur in its chain: parent, home, depth. */
uint32_t pug_parent(const struct pug_model *m, enum pug_class class, uint32_t cur);
void pug_model_place(struct pug_model *m, uint32_t node, uint32_t cur);

/* HOT, all of these: once per event on both sides. */
static inline uint32_t pug_hist_slot(uint32_t cur, uint64_t hist)
{
	return (uint32_t)(((hist ^ cur) * 0x9e3779b97f4a7c15u) >> (64 - PUG_HIST_BITS));
}

static inline uint64_t pug_hist_next(uint64_t hist, uint32_t to)
{
	return (hist << 11) ^ (to * 0x9e3779b1u);
}

static inline size_t pug_seen_slot(uint32_t node, uint64_t last)
{
	return (size_t)(((last ^ (uint64_t)node << 44) * 0x9e3779b97f4a7c15u) >> (64 - PUG_SEEN_BITS));
}

/* What mode @k predicts. Mode 0 counts from the node's own last address: a store and a load instead
 * of a branch that nobody could foretell. */
static inline uint64_t pug_predict(const struct pug_node *n, struct pug_ctx *c, unsigned k)
{
	c->base[0] = n->last;
	return c->base[k] + n->off[k];
}

/* The reference happened at @addr. */
static inline void pug_ref_done(struct pug_node *n, struct pug_ctx *c, uint64_t addr)
{
	uint64_t prev = c->base[1], prev2 = c->base[2], stack = c->base[3];

	n->last = addr;
	n->off[1] = addr - prev;
	n->off[2] = addr - prev2;
	n->off[3] = addr - stack;
	c->base[2] = prev;
	c->base[1] = addr;
	c->base[3] = n->sig & (uint64_t)PM_REF_STACK << 8 ? addr : stack;
}

/* Before that, if it was not foretold: after two surprises the stride is the last difference. One,
 * like the end of a loop, it survives. */
static inline void pug_restride(struct pug_node *n, uint64_t addr)
{
	uint64_t d = addr - n->last;

	if (d == n->off[0]) {
		n->sure = 1;
		return;
	}
	if (!n->sure)
		n->off[0] = d;
	n->sure = 0;
}

/* Control went on to @to although another node, or none, was expected. */
static inline void pug_learn(struct pug_model *m, uint32_t from, uint32_t to)
{
	struct pug_node *cur = m->node + from;

	if (cur->next == to)
		return;
	cur->multi = cur->next != 0;
	m->cold[from].alt = cur->next;
	cur->next = to;
}

/* ---- integers and checksums ------------------------------------------------------------------- */

static inline uint64_t pug_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t pug_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
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

/* ---- code tables (pug_code.c) ------------------------------------------------------------------ */

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
enum pm_status pug_string_get(struct pm_cur *c, struct pm_arena *mem, const char **to, const char *what);
/* The additions since @done, as a CODE payload; @done moves. */
void pug_code_put(struct pm_buf *to, uint32_t number, const struct pm_code *code, struct pug_code_mark *done);
/* The payload's number was read already; the rest extends @c. */
enum pm_status pug_code_get(struct pm_cur *cur, struct pug_code *c);
void pug_code_release(struct pug_code *c);

/* ---- definitions: what is static about a micro-op or a bus transaction ---------------------------- */

struct pug_def {
	uint64_t head;			/* flags and size of the event: one definition, one node */
	uint64_t addr, value;		/* of the event; PM_EV_BUS: addr is not static, 0 */
	union {
		struct pm_uop uop;	/* mem and target are not static: 0; strings padded with zeros */
		struct pm_bus bus;	/* time and data are not static: 0 */
		uint64_t whole[12];
	};
};
_Static_assert(sizeof(struct pug_def) == 8 * 15, "hashed and compared as a whole");

void pug_def_uop(struct pug_def *d, const struct pm_event *ev, const struct pm_uop *u);
void pug_def_bus(struct pug_def *d, const struct pm_event *ev, const struct pm_bus *u);
void pug_def_put(struct pm_buf *to, enum pm_kind kind, const struct pug_def *d);
void pug_def_get(struct pm_cur *c, enum pm_kind kind, struct pug_def *d);

#endif
