/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/bounds.h"
#include "analyse/bpred.h"
#include "analyse/branch_profile.h"
#include "analyse/cache_sim.h"
#include "analyse/cachegrind.h"
#include "analyse/calls.h"
#include "analyse/coherence.h"
#include "analyse/core.h"
#include "analyse/costs.h"
#include "analyse/course.h"
#include "analyse/i486.h"
#include "analyse/insn_mix.h"
#include "analyse/memory.h"
#include "analyse/object_caches.h"
#include "analyse/objects.h"
#include "analyse/phases.h"
#include "analyse/reuse.h"
#include "analyse/sims.h"
#include "analyse/set_split.h"
#include "analyse/split.h"
#include "analyse/stack.h"
#include "analyse/tree_sink.h"
#include "analyse/uops.h"
#include "trace/pipeline.h"

const struct pm_sink_ops *const pm_sims[] = {
	&pm_sim_cache.ops, &pm_sim_tlb.ops, &pm_sim_allcache, &pm_sim_reuse, &pm_sim_bpred,
	&pm_sim_inorder, &pm_sim_ooo, &pm_sim_i486, &pm_sim_core, &pm_sim_bounds.ops,
	&pm_sim_cachegrind.ops, &pm_sim_calls, &pm_sim_phases, &pm_sim_memory, &pm_sim_objects,
	&pm_sim_insns, &pm_sink_uops, &pm_sink_isize, &pm_sink_brdist, &pm_sink_mix,
	&pm_sink_fusion, &pm_sim_branches.ops, &pm_sim_tree.ops, &pm_sim_requests,
	&pm_sim_coherence,
	NULL
};

const char *const pm_sims_usual[] = {
	"insns", "cachegrind",
	"bpred:bimodal=14;gshare=14;tournament=14;local;perceptron;tage;tagescl;ras;ittage",
	"cache:l1i=32k,8way,64;l1d=32k,8way,64;l2=1m,16way,64;l3=32m,16way,64;regions",
	"reuse:window=1000000",
	"objects", "memory", "phases", "calls", "requests", NULL
};

bool pm_sim_suits(const struct pm_sink_ops *ops, uint32_t facts)
{
	const bool refs = ops->needs & PM_HAS_REFS || ops->flags & PM_SINK_REFS;

	return !(ops->needs & ~facts) &&
	       !(facts & PM_HAS_OBJECTS && refs && !(ops->needs & PM_HAS_OBJECTS));
}

enum pm_status pm_sims_check(const struct pm_pipeline *p, uint32_t facts, const char *plural,
			     struct pm_err *err)
{
	const struct pm_sink_ops *ops;
	void *self;

	for (size_t i = 0; facts & PM_HAS_OBJECTS && (ops = pm_pipeline_sink_at(p, i, &self)); i++)
		if (pm_sim_of(ops->name) == ops && !(ops->needs & ~facts) &&
		    !pm_sim_suits(ops, facts))
			return pm_fail_file(err, "%s hold requests for objects, and '%s' simulates "
					    "addresses; `--sim requests` counts objects", plural,
					    ops->name);
	return PM_OK;
}

const struct pm_sink_ops *pm_sim_of(const char *spec)
{
	size_t n = strcspn(spec, ":");

	for (unsigned i = 0; pm_sims[i]; i++)
		if (strlen(pm_sims[i]->name) == n && !strncmp(pm_sims[i]->name, spec, n))
			return pm_sims[i];
	return NULL;
}

/* One more when a simulator's numbers change, or what it calls them: results that are kept say of
 * which version they are. Whoever forgets it makes sweeps keep the old results. */
static const struct { const struct pm_sink_ops *ops; unsigned version; } versions[] = {
	{ &pm_sim_cache.ops, 3 }, { &pm_sim_tlb.ops, 2 }, { &pm_sim_calls, 3 }, { &pm_sim_i486, 2 },
	{ &pm_sim_inorder, 2 }, { &pm_sim_ooo, 2 }, { &pm_sim_core, 7 },
	{ &pm_sim_bounds.ops, 4 }, { &pm_sim_objects, 2 }, { &pm_sim_memory, 2 },
	{ &pm_sim_insns, 2 }, { &pm_sim_branches.ops, 2 },
};

unsigned pm_sim_version(const struct pm_sink_ops *ops)
{
	for (size_t i = 0; i < NR(versions); i++)
		if (versions[i].ops == ops)
			return versions[i].version;
	return 1;
}

bool pm_sim_is_cache(const struct pm_sink_ops *ops)
{
	return ops == &pm_sim_cache.ops || ops == &pm_sim_tlb.ops;
}

enum pm_status pm_sim_canonical(const char *spec, struct pm_buf *to, struct pm_err *err)
{
	const struct pm_sink_ops *ops = pm_sim_of(spec);
	const char *colon = strchr(spec, ':'), *config = colon ? colon + 1 : "";
	const bool tlb = ops == &pm_sim_tlb.ops;
	struct pm_cache_conf cc;

	to->n = 0;
	if (pm_sim_is_cache(ops)) {
		if (pm_cache_conf_parse(&cc, ops->name, *config ? config : pm_cache_default(tlb),
					err))
			return PM_ERR;
		pm_cache_conf_put(&cc, to);
	} else {
		pm_buf_add(to, config, strlen(config));
	}
	pm_buf_add(to, "", 1);
	return PM_OK;
}

static struct pm_split split_of(const struct pm_sink_ops *ops, void *self, unsigned threads)
{
	if (pm_sim_is_cache(ops)) {
		struct pm_split s = pm_cache_split(self);

		return s.whole ? s : pm_set_split(self, threads);
	}
	return ops == &pm_sim_reuse ? pm_reuse_split(self) : (struct pm_split){ NULL, NULL };
}

/* Is there one of the same kind before sink @at that gets batches? */
static bool is_named(const struct pm_pipeline *p, const struct pm_sink_ops *ops, size_t at)
{
	void *self;

	for (size_t i = 0; i < at; i++)
		if (pm_pipeline_sink_at(p, i, &self) == ops && !pm_pipeline_served(p, i))
			return true;
	return false;
}

/* What the sinks are called that get batches, each name once, terminated. How many they are. */
static size_t unserved(const struct pm_pipeline *p, struct pm_buf *names)
{
	const struct pm_sink_ops *ops;
	size_t left = 0;
	void *self;

	names->n = 0;
	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		if (pm_pipeline_served(p, i))
			continue;
		left++;
		if (!is_named(p, ops, i))
			pm_buf_printf(names, "%s%s", names->n ? ", " : "", ops->name);
	}
	pm_buf_add(names, "", 1);
	return left;
}

void pm_sims_split(struct pm_pipeline *p, const char *path, unsigned threads, size_t *left,
		   struct pm_buf *names, const char **why)
{
	const struct pm_sink_ops *ops;
	struct pm_split *split = NULL;
	size_t *which = NULL, n = 0, cap = 0, cap_which = 0;
	struct pm_err ignored = { 0 };
	void *self;

	*why = NULL;
	for (size_t i = 0; (ops = pm_pipeline_sink_at(p, i, &self)); i++) {
		struct pm_split one = pm_pipeline_served(p, i) ? (struct pm_split){ NULL, NULL }
							       : split_of(ops, self, threads);

		if (!one.whole)
			continue;
		pm_grow(split, n, cap);
		pm_grow(which, n, cap_which);
		which[n] = i;
		split[n++] = one;
	}
	/* what is wrong with the trace will be said by who reads it in order */
	if (n && pm_split_run(path, threads, split, n, why, &ignored) == PM_OK)
		for (size_t i = 0; i < n; i++)
			pm_pipeline_serve(p, which[i]);
	free(split);
	free(which);
	*left = unserved(p, names);
}

enum pm_status pm_sim_try(const char *spec, struct pm_err *err)
{
	const struct pm_sink_ops *ops = pm_sim_of(spec);
	const char *colon = strchr(spec, ':'), *config = colon ? colon + 1 : "";
	struct pm_cache_conf cc;
	void *self;

	if (!ops)
		return pm_fail_request(err, "'%.60s' is no simulator (`pugmark sim --list` shows "
				       "them)", spec);
	if (pm_sim_is_cache(ops))
		return pm_cache_conf_parse(&cc, ops->name, *config ? config :
					   pm_cache_default(ops == &pm_sim_tlb.ops), err);
	self = ops->create(config, err);
	if (self && ops->destroy)
		ops->destroy(self);
	return self ? PM_OK : PM_ERR;
}

static const struct {
	const struct pm_sink_ops *ops;
	void (*costs)(void *self, struct pm_costs *c);
	void (*meter)(const void *self, struct pm_calls_meter *m);
	void (*meter_free)(void *meter);
} tells[] = {
	{ &pm_sim_cachegrind.ops, pm_cachegrind_costs, pm_cachegrind_meter,
	  pm_cachegrind_meter_free },
	{ &pm_sim_cache.ops, pm_cache_costs, pm_cache_meter, pm_cache_meter_free },
	{ &pm_sim_tlb.ops, pm_cache_costs, pm_cache_meter, pm_cache_meter_free },
	{ &pm_sim_bpred, pm_bpred_costs, pm_bpred_meter, pm_bpred_meter_free },
	{ &pm_sim_core, pm_core_costs, pm_core_meter, pm_core_meter_free },
};

bool pm_sim_costs(const struct pm_sink_ops *ops, void *self, struct pm_costs *c)
{
	for (size_t i = 0; i < NR(tells); i++)
		if (tells[i].ops == ops) {
			tells[i].costs(self, c);
			return true;
		}
	return false;
}

bool pm_sim_meter(const struct pm_sink_ops *ops, const void *self, struct pm_calls_meter *m)
{
	for (size_t i = 0; i < NR(tells); i++)
		if (tells[i].ops == ops) {
			tells[i].meter(self, m);
			return m->n;
		}
	return false;
}

void pm_sim_meter_free(const struct pm_sink_ops *ops, struct pm_calls_meter *m)
{
	for (size_t i = 0; i < NR(tells); i++)
		if (tells[i].ops == ops)
			tells[i].meter_free(m->self);
}

bool pm_sim_tells(const struct pm_sink_ops *ops)
{
	for (size_t i = 0; i < NR(tells); i++)
		if (tells[i].ops == ops)
			return true;
	return false;
}

bool pm_sim_tells_executions(const struct pm_sink_ops *ops)
{
	return ops == &pm_sim_cachegrind.ops || ops == &pm_sim_core;
}

static const struct {
	const struct pm_sink_ops *ops; struct pm_names *(*names)(void *self);
} named[] = {
	{ &pm_sim_objects, pm_objects_names }, { &pm_sim_calls, pm_calls_names },
	{ &pm_sim_memory, pm_memory_names }, { &pm_sim_cachegrind.ops, pm_cachegrind_names },
	{ &pm_sim_bpred, pm_bpred_names }, { &pm_sim_cache.ops, pm_cache_names },
	{ &pm_sim_tlb.ops, pm_cache_names }, { &pm_sim_core, pm_core_names },
	{ &pm_sim_tree_costs, pm_sim_tree_names }, { &pm_sim_coherence, pm_coherence_names },
};

struct pm_names *pm_sim_names(const struct pm_sink_ops *ops, void *self)
{
	for (size_t i = 0; i < NR(named); i++)
		if (named[i].ops == ops)
			return named[i].names(self);
	return NULL;
}
