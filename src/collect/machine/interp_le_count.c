/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_le_count
#define BE	0
#define TRACE	2
#include "collect/machine/interp.h"
