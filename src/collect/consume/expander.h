/* SPDX-License-Identifier: MIT */
/* expander.h - machine code that turns one record of a trace buffer into its events, or its
 * addresses
 *
 * What a record becomes is fixed but for the values in it: block entries are constants, addresses
 * are sums of two values and a constant. A loop over a description of that mispredicts its end in
 * every other record; straight code does not, and takes half the instructions.
 *
 * INVARIANTS - asserted under their numbers (base/check.h), (2) tested under its own
 * (1) Code that has been generated does not change, and is executable where nobody can write.
 * (2) It reads values of the record and known[] only, whatever they are, and writes no more than
 *     EXPANDER_EVENTS events and known[KNOWN_RSP]: what a traced process puts into a record changes
 *     numbers in events, nothing else. Tested by tests/fuzz/fuzz_trace_buffers.c.
 * (3) No event takes more than EVENT_BYTES of code. */
#ifndef PM_CONSUME_EXPANDER_H
#define PM_CONSUME_EXPANDER_H

#include <stdint.h>

#include "isa/x86/plan.h"
#include "pugmark/pugmark.h"

/* Values that no record holds, of the thread it belongs to. */
enum known { KNOWN_ZERO, KNOWN_RSP, KNOWN_FS, KNOWN_GS, KNOWN_VALUES };

struct expander_part {			/* one block of a chain */
	uint64_t pc;
	uint32_t block;			/* in the code table */
	uint32_t n, nref;		/* instructions, references */
	const struct x86_ref *ref;
};

enum expander_what {
	EXPAND_EVENTS,			/* struct pm_event: block entries and references */
	EXPAND_ADDRESSES,		/* uint64_t: of the references */
};

/* Writes at most EXPANDER_EVENTS of them at @to and returns their end. @record: values follow the
 * number at 4; known[KNOWN_RSP] becomes the stack pointer behind the record. */
#define EXPANDER_EVENTS 512
typedef void *expander_fn(void *to, const uint8_t *record, uint64_t known[KNOWN_VALUES]);

/* NULL: the system does not let us execute what we write (or PUGMARK_NO_EXPANDER is set). */
struct expander *expander_new(void);
void expander_free(struct expander *x);
/* The stack pointer becomes value @rsp + @rsp_add; @wide: 64-bit code. NULL: some reference is no
 * sum, or there is no room. */
expander_fn *expander_compile(struct expander *x, enum expander_what what,
			      const struct expander_part *part, uint32_t npart, uint16_t rsp,
			      int64_t rsp_add, bool wide);

#endif
