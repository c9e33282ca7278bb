/* SPDX-License-Identifier: MIT */
/* gather.h - what gather.c and gather_edges.c share */
#ifndef COLLECT_CONTROL_GATHER_H
#define COLLECT_CONTROL_GATHER_H

#include "collect/control/session.h"

/* The next piece of [base, end) of the data file that was ever touched, from *at on. False: no
 * more. */
bool gather_next_data(const struct session *s, off_t base, off_t end, off_t *at, off_t *stop);

/* Where the ascending @v has @x, or what is behind it. */
size_t gather_index_of(const uint32_t *v, size_t n, uint32_t x);

/* EDGES in translate/translate.h, of a profile with edges. Of how many of the blocks of @u flow is:
 * of all but those, at the end, that stand for targets of indirect branches. */
uint32_t gather_flow_blocks(const struct space *sp, const struct unit *u);
/* What @c has of edges goes to @edge, by their blocks, and where indirect branches led to @p. */
void gather_split_edges(const struct space *sp, struct proc *p, struct counts_of *c,
			struct pm_map *edge);

/* The table of targets of a thread that is over goes to @p, and is cleared. */
void gather_targets(struct session *s, struct proc *p, const struct thread *t);

/* The edges and targets of p->result, whose pieces are the blocks @ran, and whose threads are
 * complete. */
void gather_edges(const struct space *sp, struct proc *p, const uint32_t *ran,
		  const struct pm_map *edge);

#endif
