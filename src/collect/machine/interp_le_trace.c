/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_le_trace
#define BE	0
#define TRACE	1
#include "collect/machine/interp.h"
