/* SPDX-License-Identifier: MIT */
/* bp_module.c - branch predictors and branch target buffers of ChampSim, by the rule in bpred.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/conf.h"
#include "base/mem.h"
#include "trace/champsim.h"

#define TYPES	PM_CHAMPSIM_OTHER	/* kinds of branches that flags tell apart */

struct bp_module {
	const struct pm_champsim_module *dir, *btb;	/* btb: NULL without */
	void *dir_self, *btb_self;
	uint64_t branches[TYPES], misses[TYPES];
};

static const struct pm_champsim_module *module_of(uint64_t arg)
{
	return (const struct pm_champsim_module *)(uintptr_t)arg;
}

static void *module_create(const struct pm_bp_args *a)
{
	struct bp_module *m = pm_alloc(sizeof *m);

	m->dir = module_of(a->v[0]);
	m->btb = module_of(a->v[1]);
	m->dir_self = m->dir->create(NULL);
	if (m->btb)
		m->btb_self = m->btb->create(NULL);
	return m;
}

static void module_destroy(void *self)
{
	struct bp_module *m = self;

	m->dir->destroy(m->dir_self);
	if (m->btb)
		m->btb->destroy(m->btb_self);
	free(m);
}

/* Is the branch, or whatever it is, predicted taken, and where to? */
static bool predict(struct bp_module *m, uint64_t pc, unsigned type, uint64_t *target)
{
	bool always = false, taken;

	*target = m->btb ? m->btb->target(m->btb_self, pc, type, &always) : 0;
	taken = m->dir->predict(m->dir_self, pc, *target, always, type) || always;
	if (!taken)
		*target = 0;
	return taken;
}

static void module_pass(void *self, const uint64_t *pc, size_t n)
{
	uint64_t target;

	for (size_t i = 0; i < n; i++)
		predict(self, pc[i], PM_CHAMPSIM_NOT_BRANCH, &target);
}

static void module_run(void *self, const struct pm_br *b, size_t n, uint8_t *miss)
{
	struct bp_module *m = self;

	for (size_t i = 0; i < n; i++) {
		const enum pm_champsim_branch type = pm_champsim_branch(b[i].flags);
		const bool cond = type == PM_CHAMPSIM_CONDITIONAL;
		const bool taken = b[i].flags & PM_BR_TAKEN;
		const uint64_t target = taken ? b[i].target : 0;
		uint64_t to;
		const bool guess = predict(m, b[i].pc, type, &to);

		miss[i] = (m->btb && to != target) || (cond && guess != taken);
		m->branches[type]++;
		m->misses[type] += miss[i];
		if (m->btb)
			m->btb->update(m->btb_self, b[i].pc, target, taken, type);
		m->dir->resolve(m->dir_self, b[i].pc, target, taken, type);
	}
}

static void module_by_type(void *self, struct pm_result *r)
{
	static const char *const types[TYPES] = {
		"direct_jump", "indirect", "conditional", "direct_call", "indirect_call", "return",
	};
	const struct bp_module *m = self;

	pm_result_begin(r, "by_type");
	for (unsigned i = 0; i < TYPES; i++) {
		if (!m->branches[i] || (!m->btb && i != PM_CHAMPSIM_CONDITIONAL))
			continue;
		pm_result_begin(r, types[i]);
		pm_result_u64(r, "branches", m->branches[i], "branches");
		pm_result_u64(r, "mispredictions", m->misses[i], "branches");
		pm_result_end(r);
	}
	pm_result_end(r);
}

static bool module_well(void *self, struct pm_err *err)
{
	struct bp_module *m = self;

	return pm_champsim_well(m->dir, m->dir_self, "bpred", err) &&
	       pm_champsim_well(m->btb, m->btb_self, "bpred", err);
}

#define MODULE .create = module_create, .run = module_run, .destroy = module_destroy,		\
	.pass = module_pass, .by_type = module_by_type, .well = module_well

const struct pm_bp_ops
pm_bp_module = { "module", "a branch predictor of ChampSim", { NULL }, .mask = PM_BR_COND,
	.want = PM_BR_COND, MODULE },
pm_bp_module_btb = { "module_btb", "a branch predictor of ChampSim with its branch target buffer",
	{ NULL }, MODULE };

static enum pm_status find(struct pm_conf *c, const char *name, enum pm_champsim_kind kind,
			   uint64_t *arg, struct pm_err *err)
{
	static const char *const kinds[] = { "branch predictor", "branch target buffer" };
	const struct pm_champsim_module *m = pm_champsim_find(name);

	if (!m)
		return pm_conf_fail(c, NULL, err, "there is no ChampSim module '%.100s'; "
				    "--champsim-module says where it is", name);
	if (m->kind != kind)
		return pm_conf_fail(c, NULL, err, "the ChampSim module '%.100s' is no %s%s", name,
				    kinds[kind], m->kind == PM_CHAMPSIM_BTB ?
				    "; it belongs to one, as in gshare.cc=basic_btb.cc" : "");
	*arg = (uintptr_t)m;
	return PM_OK;
}

enum pm_status pm_bp_module_parse(struct pm_conf *c, const struct pm_conf_item *it,
				  const struct pm_bp_ops **ops, struct pm_bp_args *a,
				  struct pm_err *err)
{
	*a = (struct pm_bp_args){ .n = 2 };
	if (it->n > 1 || (it->n && it->field[0].val))
		return pm_conf_fail(c, it, err,
				    "expected %s, or %s=Y.cc with a branch target buffer", it->name,
				    it->name);
	if (find(c, it->name, PM_CHAMPSIM_BRANCH, &a->v[0], err) ||
	    (it->n && find(c, it->field[0].key, PM_CHAMPSIM_BTB, &a->v[1], err)))
		return PM_ERR;
	*ops = it->n ? &pm_bp_module_btb : &pm_bp_module;
	return PM_OK;
}

void pm_bp_module_name(const struct pm_bp_args *a, char *to, size_t size)
{
	const struct pm_champsim_module *dir = module_of(a->v[0]), *btb = module_of(a->v[1]);

	snprintf(to, size, "%s.cc%s%s%s", dir->name, btb ? "-" : "", btb ? btb->name : "",
		 btb ? ".cc" : "");
}
