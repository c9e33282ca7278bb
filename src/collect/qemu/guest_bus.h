/* SPDX-License-Identifier: MIT */
/* guest_bus.h - what an x86 guest does, as transactions on the bus of a processor without caches
 *
 * Addresses are physical. A transaction lies within an aligned quadword: a reference that does not
 * is several. Of instructions those quadwords are fetched of which some bytes are executed next,
 * each once for as long as control goes straight on: the prefetch queue's work, but nothing is
 * fetched in vain. Also
 *   IO_READ, IO_WRITE  in, out, ins, outs; the address is the port
 *   INTACK             each transfer to an interrupt gate that no instruction and no exception made
 *   SPECIAL            hlt, wbinvd, invd (trace/bus.h); shutdown: a reset that no port asked for
 * References of locked instructions are PM_BUS_LOCKED. The clock is the number of instructions that
 * completed before.
 *
 * Memory is write-back, but for the area of screens at a0000 and what is a device's or not there:
 * that is uncached.
 *
 * Ownership  the pipeline is the caller's, and has been started with GUEST_BUS_FACTS.
 * Threads    one. */
#ifndef PM_QEMU_GUEST_BUS_H
#define PM_QEMU_GUEST_BUS_H

#include <stdbool.h>

#include "trace/bus.h"

#define GUEST_BUS_FACTS (PM_HAS_BUS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_PHYS | PM_HAS_LANES |	\
			 PM_HAS_TIME | PM_HAS_CYCLES)

struct guest_bus_config {
	uint64_t ram;			/* bytes of memory, from 0 on */
	/* Caches follow: write-back memory is said to be it, and transactions stand alone. If not,
	 * nothing is cacheable, and beside each stands what it is an access of. */
	bool cached;
};

struct guest_bus_totals {
	struct pm_bus_counts transactions;
	uint64_t locked;		/* of them */
	uint64_t lost;			/* pieces of references and code whose place is not known */
};

/* What no event of the reader's says. */
enum guest_note_kind {
	GUEST_REST,			/* where the part of reference @at in the next page is */
	GUEST_PORT,			/* value: the port; write, size */
	GUEST_HALT, GUEST_FLUSH, GUEST_INVALIDATE,
};
struct guest_note {
	size_t at;			/* before which event it happens */
	uint32_t slot;			/* of which instruction of the block it is */
	uint8_t kind;			/* enum guest_note_kind */
	uint8_t size;
	bool write;
	uint64_t value, data;
};

#define GUEST_NOWHERE	UINT64_MAX
#define GUEST_EXTERNAL	1u		/* where[] of a PM_EV_INTERRUPT: it is from outside */

struct guest_bus;
struct guest_bus *guest_bus_new(struct pm_pipeline *p, const struct guest_bus_config *cfg);
/* The next block, by number: @in are its instructions, @physical is where the first byte is, @rest
 * where the first one in the next page. */
void guest_bus_block(struct guest_bus *g, uint64_t physical, uint64_t rest,
		     const struct pm_insn *in, uint32_t n);
/* Events of the reader, with the place of each reference, and notes in order. */
enum pm_status guest_bus_events(struct guest_bus *g, const struct pm_event *ev, size_t n,
				const uint64_t *where, const struct guest_note *note, size_t notes,
				struct pm_err *err);
/* Nothing more comes. @reset: the guest was reset. */
enum pm_status guest_bus_end(struct guest_bus *g, bool reset, struct pm_err *err);
const struct guest_bus_totals *guest_bus_totals(const struct guest_bus *g);
void guest_bus_free(struct guest_bus *g);	/* NULL is fine */

#endif
