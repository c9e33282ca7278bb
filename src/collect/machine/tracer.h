/* SPDX-License-Identifier: MIT */
/* tracer.h - the processor's instruction trace as ordinary events, into a pipeline
 *
 * PM_EV_INSN (id: its code table entry), the data references and branch outcome of each, and
 * PM_EV_INTERRUPT for every exception (value: its code), PM_EV_SWITCH at the start and wherever the
 * address space changes. What an exception kept from completing is not in the trace; it is when
 * it is executed again. Addresses are virtual.
 *
 * Times      with `times`: an instruction's time is the number of cycles before it. There is a
 *            PM_EV_TIME where something came from outside: exceptions, interrupts, kernel events,
 *            waiting. Between two each instruction takes one cycle. With `every_cycle` each has
 *            one.
 * Spaces     processors know address space identifiers, which kernels use again and again.
 *            Once the kernel has reported a page directory, spaces are the numbers of page
 *            directories. With `unknown_spaces` they are 0, unknown, until then. */
#ifndef PM_MACHINE_TRACER_H
#define PM_MACHINE_TRACER_H

#include <stdbool.h>

#include "collect/machine/cpu.h"
#include "trace/pipeline.h"

#define TRACER_FACTS (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES |	\
	PM_HAS_VALUES | PM_HAS_BRANCHES |						\
		      PM_HAS_SPACES)
#define TRACER_TIMES (PM_HAS_TIME | PM_HAS_CYCLES)	/* and these with `times` */

struct tracer_config {
	bool wait_go;			/* only from a store to WIN_GO on */
	bool times;
	bool every_cycle;		/* with `times` */
	bool unknown_spaces;
};

/* If counts are all that @p wants (pm_feed.counts), and the trace begins with the run, instructions
 * and their references make no events: their numbers come at the end. */
struct machine_tracer;
/* @p: started by the caller with TRACER_FACTS, and PM_HAS_KERNEL if tracer_kernel() is to be
 * called; borrowed. */
struct machine_tracer *tracer_new(struct pm_pipeline *p, struct cpu *c,
				  const struct tracer_config *cfg);
void tracer_on(struct machine_tracer *t, struct cpu *c);	/* from the next instruction on */
void tracer_go(struct machine_tracer *t, struct cpu *c); /* the guest stored to WIN_GO, WIN_END */
void tracer_end(struct machine_tracer *t, struct cpu *c);
void tracer_exception(struct machine_tracer *t, struct cpu *c, enum cpu_exc code, uint64_t pc);
void tracer_space(struct machine_tracer *t, struct cpu *c, unsigned asid);
/* Between instructions: the time is what it is now; the kernel reported a page directory; it
 * reported an event (@type: of a file, or 0). */
void tracer_time(struct machine_tracer *t, struct cpu *c);
void tracer_directory(struct machine_tracer *t, struct cpu *c, uint64_t directory);
void tracer_kernel(struct machine_tracer *t, struct cpu *c, const struct pm_rare *r, uint8_t type);
/* Everything to the pipeline; does not finish it. The first error comes out here at the latest. */
enum pm_status tracer_finish(struct machine_tracer *t, struct cpu *c, struct pm_err *err);
bool tracer_failed(const struct machine_tracer *t);
uint64_t tracer_instructions(const struct machine_tracer *t);
void tracer_free(struct machine_tracer *t);

#endif
