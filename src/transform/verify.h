/* SPDX-License-Identifier: MIT */
/* verify.h - is what a trace says possible?
 *
 * Each check has a name and counts what it looked at and what was wrong; the first few findings are
 * kept as text. Checks that a trace's facts do not allow look at nothing and say so. A finding is
 * not necessarily an error of the trace: signals, longjmp and tail calls are known exceptions and
 * counted apart where they can be recognised. */
#ifndef PM_TRANSFORM_VERIFY_H
#define PM_TRANSFORM_VERIFY_H

#include "trace/pipeline.h"

/* Checks, in the order of the report: name, what must hold, whether a finding makes the trace
 * bad. */
#define PM_VERIFY_CHECKS(C)                                                                    \
	C(flow, true, "each block or instruction follows where the one before it went")        \
	C(block, true, "blocks exist, and what they executed is within them")                  \
	C(slot, true, "references belong to an instruction of their block, in program order")  \
	C(size, true, "references have a size of 1 to 4096 bytes and do not wrap around")      \
	C(map, true, "references lie in memory that their process has, unless they fault")     \
	C(rep, true, "rep iterations are inside a rep instruction, and their number is right") \
	C(code, true, "instructions lie inside the mapped file that they belong to")           \
	C(branch, true,                                                                        \
	  "a branch not taken goes to the next instruction, a direct one to its target")       \
	C(calls, false, "returns go behind the call that they belong to")                      \
	C(time, true, "times do not run backwards")                                            \
	C(exit, true, "nothing follows the exit of its stream")                                \
	C(bus, true, "bus cycles are valid, and transfers have bytes")                        \
	C(uop, true,                                                                           \
	  "micro-ops count up, share pc, fall and name; addresses and targets are where they " \
	  "belong")

#define PM_VERIFY_ENUM(name, hard, about) PM_VERIFY_##name,
enum pm_verify_check { PM_VERIFY_CHECKS(PM_VERIFY_ENUM) PM_VERIFY_COUNT };
#undef PM_VERIFY_ENUM

#define PM_VERIFY_SHOWN 10		/* findings kept as text */

struct pm_verify {			/* read it after the pipeline has finished */
	uint64_t looked[PM_VERIFY_COUNT], wrong[PM_VERIFY_COUNT];
	char text[PM_VERIFY_SHOWN][160];
	unsigned ntext;
	uint64_t insns;
};

extern const struct pm_sink_ops pm_verify_ops;	/* takes blocks */
void *pm_verify_new(uint32_t facts);
const struct pm_verify *pm_verify_get(const void *self);
/* Is any hard check violated? */
bool pm_verify_failed(const struct pm_verify *v);
const char *pm_verify_name(enum pm_verify_check c);
const char *pm_verify_about(enum pm_verify_check c);

#endif
