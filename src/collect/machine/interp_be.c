/* SPDX-License-Identifier: MIT */
#define RUN	cpu_run_be
#define BE	1
#define TRACE	0
#include "collect/machine/interp.h"
