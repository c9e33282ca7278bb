/* SPDX-License-Identifier: MIT */
/* core_feed.c - the sink `core`: its life, and batches in */
#include <stdlib.h>
#include <string.h>

#include "analyse/calls.h"
#include "analyse/core_work.h"

void core_sink_free(struct core_sink *s)
{
	if (!s)
		return;
	pm_core_free(s->k);
	paging_free(s->paging);
	pm_cache_free(s->cache);
	if (s->dir)
		s->bp->destroy(s->dir);
	if (s->btb) {
		pm_bp_btb.destroy(s->btb);
		pm_bp_ras.destroy(s->ras);
		pm_bp_ittage.destroy(s->ittage);
	}
	core_decoders_free(&s->ds);
	for (size_t i = 0; i < s->ncode; i++) {
		free(s->code[i]->op);
		free(s->code[i]->block);
		free(s->code[i]);
	}
	free(s->code);
	free(s->place);
	core_rules_free(&s->rules);
	free(s->gathered);
	if (s->by) {
		pm_map_release(&s->by->at);
		pm_names_release(&s->by->names);
		free(s->by->row);
		free(s->by);
	}
	free(s);
}

static void blame_slots(void *ctx, uint64_t pc, enum pm_core_slot why, uint64_t slots)
{
	core_blamed(ctx, pc)->slots[why] += slots;
}

static void destroy(void *self)
{
	core_sink_free(self);
}

void core_build(struct core_sink *s)
{
	static const struct pm_core_static plain = { .class = PM_CORE_ALU, .uops = 1 };
	struct pm_bp_args a = { .n = 0 };

	const unsigned levels = s->cache_conf.level[s->cache_conf.n - 1].depth;

	for (unsigned reach = 0; reach < NR(s->level); reach++)
		s->level[reach] = reach >= levels ? 3 : reach;
	s->cache = pm_cache_from(&s->cache_conf);
	for (unsigned reach = 0; reach < NR(s->level); reach++)
		s->walk_lat[reach] = s->c.lat[s->level[reach]];
	if (s->paging_conf.tlb.n)
		s->paging = paging_new(&s->paging_conf, s->cache, s->walk_lat);
	s->k = pm_core_from(&s->c);
	pm_bp_defaults(s->bp, &s->bp_args);
	s->dir = s->bp->create(&s->bp_args);
	pm_bp_defaults(&pm_bp_btb, &a);
	s->btb = pm_bp_btb.create(&a);
	a.n = 0;
	pm_bp_defaults(&pm_bp_ras, &a);
	s->ras = pm_bp_ras.create(&a);
	s->ittage = pm_bp_ittage.create(&a);
	s->fetch_line = UINT64_MAX;
	s->gathered = pm_alloc(sizeof *s->gathered);
	core_rule_of(s->k, &plain, &s->plain);
	if (s->topdown)
		pm_core_slots_blame(s->k, blame_slots, s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct core_sink *s = pm_alloc(sizeof *s);

	if (core_configure(s, "core", config, err)) {
		destroy(s);
		return NULL;
	}
	core_build(s);
	return s;
}

static bool modules_well(const struct core_sink *s, struct pm_err *err)
{
	return pm_cache_modules_well(s->cache, err) && (!s->bp->well || s->bp->well(s->dir, err));
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	if (core_take_blocks(self, b, err) == PM_ERR)
		return PM_ERR;
	return modules_well(self, err) ? PM_OK : PM_ERR;
}

static bool charge(void *self, const struct pm_batch *piece, bool over, uint64_t *sum,
		   uint64_t *late)
{
	struct core_sink *s = self;

	s->sum = sum;
	s->misled = s->late = late;
	s->any_late = false;
	core_take(s, piece);
	if (over)
		core_submit(s);
	return s->any_late;
}

void pm_core_meter(const void *self, struct pm_calls_meter *m)
{
	const struct core_sink *s = self;
	struct core_sink *t;

	*m = (struct pm_calls_meter){ 0 };
	if (!s->by)
		return;
	t = pm_alloc(sizeof *t);
	t->c = s->c;
	t->cache_conf = s->cache_conf;
	t->paging_conf = s->paging_conf;
	t->bp = s->bp;
	t->bp_args = s->bp_args;
	core_build(t);
	*m = (struct pm_calls_meter){ BLAME_COUNT, t, charge };
}

void pm_core_meter_free(void *self)
{
	destroy(self);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct core_sink *s = self;

	core_end_blocks(s);
	core_submit(s);
	pm_cache_modules_end(s->cache);
	if (!modules_well(s, err))
		return PM_ERR;
	if (r)
		core_results(s, r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_core = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES,
	.flags = PM_SINK_BLOCKS, .name = "core",
	.about = "a modern out-of-order core: cycles, IPC, where the time goes",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
