/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_le
#define BE	0
#define TRACE	0
#include "collect/machine/interp.h"
