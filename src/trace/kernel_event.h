/* SPDX-License-Identifier: MIT */
/* kernel_event.h - the catalogue of kernel events: enum pm_kernel and its tags (fmt_laplace.c) */
#ifndef PM_TRACE_KERNEL_EVENT_H
#define PM_TRACE_KERNEL_EVENT_H

/* How many numbers an event of tag @tag has; -1: there is no such tag. */
int pm_kernel_args(char tag);

#endif
