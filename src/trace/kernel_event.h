/* SPDX-License-Identifier: MIT */
/* kernel_event.h - the catalogue of kernel events: enum pm_kernel and its tags (fmt_laplace.c) */
#ifndef PM_TRACE_KERNEL_EVENT_H
#define PM_TRACE_KERNEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Those that enum pm_kernel does not name; readers of traces have no use for them. */
enum { PM_KERNEL_EXIT = 'T', PM_KERNEL_FAULT = '&', PM_KERNEL_END = 'e' };

/* Is @addr the kernel's? Its addresses of 32 bits begin at @kernel; longer ones have their first
 * bit set. */
static inline bool pm_is_kernel_address(uint64_t addr, uint64_t kernel)
{
	return addr >> 63 || (addr >= kernel && addr <= UINT32_MAX);
}

/* How many numbers an event of tag @tag has; -1: there is no such tag. */
int pm_kernel_args(char tag);

#endif
