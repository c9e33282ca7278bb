/* SPDX-License-Identifier: MIT */
/* tracer.h - the processor's instruction trace as ordinary events, into a pipeline
 *
 * PM_EV_INSN (id: its code table entry), the data references and branch outcome of each, and
 * PM_EV_INTERRUPT for every exception (value: its code), PM_EV_SWITCH at the start and wherever the
 * address space identifier changes (value: ASID). What an exception kept from completing is
 * not in the trace; it is when it is executed again. Addresses are virtual. */
#ifndef PM_MACHINE_TRACER_H
#define PM_MACHINE_TRACER_H

#include <stdbool.h>

#include "collect/machine/cpu.h"
#include "trace/pipeline.h"

#define TRACER_FACTS (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES |	\
	PM_HAS_VALUES | PM_HAS_BRANCHES |						\
		      PM_HAS_SPACES)

struct machine_tracer;
/* @p: started by the caller with TRACER_FACTS; borrowed. @wait_go: only from a store to WIN_GO
 * on. */
struct machine_tracer *tracer_new(struct pm_pipeline *p, struct cpu *c, bool wait_go);
void tracer_on(struct machine_tracer *t, struct cpu *c);	/* from the next instruction on */
void tracer_go(struct machine_tracer *t, struct cpu *c); /* the guest stored to WIN_GO, WIN_END */
void tracer_end(struct machine_tracer *t, struct cpu *c);
void tracer_exception(struct machine_tracer *t, struct cpu *c, enum cpu_exc code, uint64_t pc);
void tracer_space(struct machine_tracer *t, struct cpu *c, unsigned asid);
/* Everything to the pipeline; does not finish it. The first error comes out here at the latest. */
enum pm_status tracer_finish(struct machine_tracer *t, struct cpu *c, struct pm_err *err);
bool tracer_failed(const struct machine_tracer *t);
uint64_t tracer_instructions(const struct machine_tracer *t);
void tracer_free(struct machine_tracer *t);

#endif
