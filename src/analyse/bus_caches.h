/* SPDX-License-Identifier: MIT */
/* bus_caches.h - caches between a processor and its bus, as a transform: transactions of a
 * processor without caches in, transactions behind the caches out
 *
 * What goes through the caches is what is said to be in cacheable memory (pm_bus.attr). A fill is
 * one FETCH or READ of a whole line, for a store READ_INVAL; what leaves dirty is a WRITEBACK; what
 * a store sends on (`wt`, `nwa`) is a WRITE of its own size. All else stands where it stood:
 * uncached references, ports, interrupts, special cycles. Before a FLUSH all dirty lines are
 * written back, and the caches are empty then; at an INVALIDATE they are just emptied.
 *
 * Locked instructions lock lines in the caches, as processors since the Pentium Pro do, which shows
 * nowhere. With `locks` they lock the bus, as a Pentium's: the line is written back if it is dirty
 * and becomes invalid, and the references are transactions of their own.
 *
 * The caches are those of cache_sim.h, and obey its rules. Their settings flush=N and byinsn need
 * instructions, which a bus does not show; the one level that has only one side lets the other
 * pass.
 *
 * Ownership  the pipeline's, once it is added; *@counts, of what comes out, stays the caller's. */
#ifndef PM_ANALYSE_BUS_CACHES_H
#define PM_ANALYSE_BUS_CACHES_H

#include "trace/bus.h"

enum pm_status pm_bus_caches_add(struct pm_pipeline *p, const char *config, bool locks,
				 struct pm_bus_counts *counts, struct pm_err *err);

#endif
