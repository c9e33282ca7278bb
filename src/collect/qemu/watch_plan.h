/* SPDX-License-Identifier: MIT */
/* watch_plan.h - the table of functions to watch, in words, becomes a plan for the plug-in
 *
 *   VALUE    START [STEP...] [END]
 *   START    rdi, rsi, rdx, rcx, r8, r9, rax; =N: value N of the call; or &SYMBOL, where that is
 *   STEP     > and a place, STRUCT.MEMBER or a number, or several with + between them; behind
 *            the last one /N: it has N bytes, 8 if none are given, or none are read if N is 0
 *   END      $ text; # the page's number in physical memory; @N what the page directory says of
 *            the page of value N
 *
 * Values are separated by spaces: "rdi>task_struct.pid/4 rsi>dentry.d_name+qstr.name$" */
#ifndef PM_QEMU_WATCH_PLAN_H
#define PM_QEMU_WATCH_PLAN_H

#include "collect/qemu/linux_image.h"
#include "collect/qemu/stream.h"

struct watch_row {
	const char *function;		/* or several, with | between: the first that there is */
	const char *call, *ret;		/* values; ret NULL: not wanted, "": none */
	bool optional;			/* a kernel need not have it */
};

/* Row i is watch i of the plan. */
enum pm_status watch_plan_make(struct qs_plan *p, const struct watch_row *row, unsigned n,
			       const struct linux_image *k, struct pm_err *err);

#endif
