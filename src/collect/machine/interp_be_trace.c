/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_be_trace
#define BE	1
#define TRACE	1
#include "collect/machine/interp.h"
