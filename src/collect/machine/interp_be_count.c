/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_be_count
#define BE	1
#define TRACE	2
#include "collect/machine/interp.h"
