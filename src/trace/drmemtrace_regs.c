/* SPDX-License-Identifier: MIT */
/* drmemtrace_regs.c - REGDEPS, the made-up instruction set of DynamoRIO's public traces: it says
 * which registers depend on which, and hides the rest
 *
 *   OFFSET SIZE  FIELD
 *        0    4  bits 0-3 number of destinations, 4-7 of sources, 8 writes flags, 9 reads flags,
 *                10-31 categories: load, store, branch...
 *        4    1  size of the operation (if there is any register)
 *        5    n  destinations, then sources: a byte each, 8 at most
 *
 * Padded to a multiple of 4. Register numbers are DynamoRIO's virtual ones. */
#include "trace/drmemtrace.h"

#define REGS	8

bool dr_regdeps(struct pm_builder *b, const uint8_t *p, unsigned n)
{
	unsigned dst, src, want;

	if (n < 4)
		return false;
	dst = p[0] & 15;
	src = p[0] >> 4;
	want = dst + src ? 5 + dst + src : 4;
	if (dst + src > REGS || n != (want + 3) / 4 * 4)
		return false;
	for (unsigned i = 0; i < src; i++)
		pm_ev_add(b, PM_EV_REG_READ, 0, 0, 0, 0)->id = DR_REG + p[5 + dst + i];
	for (unsigned i = 0; i < dst; i++)
		pm_ev_add(b, PM_EV_REG_WRITE, 0, 0, 0, 0)->id = DR_REG + p[5 + i];
	return true;
}
