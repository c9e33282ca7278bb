/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "analyse/bpred.h"
#include "analyse/cache.h"
#include "analyse/cachegrind.h"
#include "analyse/calls.h"
#include "analyse/core.h"
#include "analyse/course.h"
#include "analyse/i486.h"
#include "analyse/memory.h"
#include "analyse/phases.h"
#include "analyse/reuse.h"
#include "analyse/sims.h"
#include "analyse/stack.h"
#include "analyse/uops.h"

const struct pm_sink_ops *const pm_sims[] = {
	&pm_sim_cache, &pm_sim_tlb, &pm_sim_allcache, &pm_sim_reuse, &pm_sim_bpred,
	&pm_sim_inorder, &pm_sim_ooo, &pm_sim_i486, &pm_sim_core,
	&pm_sim_cachegrind, &pm_sim_calls, &pm_sim_phases, &pm_sim_memory,
	&pm_sink_uops, &pm_sink_isize, &pm_sink_brdist, &pm_sink_mix, &pm_sink_fusion, NULL
};
