/* SPDX-License-Identifier: MIT */
/* pug_side.h - rare events, micro-ops and bus transactions in .pug, inside */
#ifndef PM_TRACE_PUG_SIDE_H
#define PM_TRACE_PUG_SIDE_H

#include "trace/pipeline.h"
#include "trace/pug.h"

/* What is static about a micro-op or a bus transaction. */
struct pug_def {
	uint64_t head;			/* flags and size of the event: one definition, one
					 * phrase */
	uint64_t addr, value;		/* of the event; PM_EV_BUS: addr is not static, 0 */
	union {
		struct pm_uop uop;	/* mem and target are not static: 0; strings padded with
					 * zeros */
		struct pm_bus bus;	/* time and data are not static: 0 */
		uint64_t whole[12];
	};
};
_Static_assert(sizeof(struct pug_def) == 8 * 15, "hashed and compared as a whole");

void pug_def_put(struct pm_buf *to, enum pm_kind kind, const struct pug_def *d);
void pug_def_get(struct pm_cur *c, enum pm_kind kind, struct pug_def *d);

struct pug_defs {			/* a writer's, of one chunk */
	struct pm_map dict;		/* hash of a definition -> its number + 1 */
	struct pug_def *def;
	size_t n, cap;
};
void pug_defs_reset(struct pug_defs *s);
void pug_defs_release(struct pug_defs *s);

struct pug_item {			/* a rare event as the model sees it */
	struct pm_event ev;		/* kind | 0x80, id, address and value made independent of
					 * the batch */
	uint32_t def;			/* micro-ops, bus transactions: number of the definition */
	bool fresh;			/* ... which is a new one */
	bool ref;			/* its address is a data reference's */
	size_t bytes;			/* PM_EV_OPAQUE */
};
/* NULL, or what is wrong with the event. */
const char *pug_side_item(struct pug_defs *defs, const struct pm_batch *b,
			  const struct pm_event *ev, struct pug_item *it);
void pug_side_put(struct pm_buf *side, const struct pm_batch *b, const struct pm_event *ev,
		  const struct pug_item *it);
/* Complete *@ev, whose address and value the model gave; @def is the definition of a micro-op or
 * bus transaction. NULL, or what is missing. */
const char *pug_side_get(struct pug_span *side, struct pm_builder *b, const struct pug_def *def,
			 struct pm_event *ev);

#endif
