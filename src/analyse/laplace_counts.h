/* SPDX-License-Identifier: MIT */
/* laplace_counts.h - what a whole system references: processes and kernel, shared pages, working
 * sets, who displaces whom from the caches, and what a context switch costs; up to the end of the
 * events
 *
 * Takes merged Laplace traces (transform/laplace.h): references with canonical pages, and the
 * kernel's events. A reference is the kernel's if the instruction that makes it lies in the
 * kernel. Threads belong to the process whose address space they share; kernel threads and the
 * idle task are process 0, and so is "boot", whoever ran before the first reported switch. Page
 * frames do not count: lines are told apart by canonical page and offset, so the kernel's view of a
 * user's page is another page. An R4400's uncached addresses (with kernel=80000000 those from
 * a0000000 to bfffffff) are in no cache.
 *
 * CONFIG     kernel=HEX         where the kernel's addresses begin (c0000000)
 *            l1i=SIZE,NWAY,LINE, l1d=...   caches (16k,1way,32, an R4400's)
 *            windows=N,N...     working sets: window sizes in references (10000,100000,1000000) */
#ifndef PM_ANALYSE_LAPLACE_COUNTS_H
#define PM_ANALYSE_LAPLACE_COUNTS_H

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops pm_sim_laplace;

#endif
