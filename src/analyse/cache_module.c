/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_module.h"
#include "analyse/cache_set.h"

_Static_assert(LINE_VALID == PM_CHAMPSIM_VALID && LINE_DIRTY == PM_CHAMPSIM_DIRTY &&
	       LINE_FRESH == PM_CHAMPSIM_PREFETCHED, "modules read the ways of a set");

struct cache_module {
	void *policy, *prefetch;	/* objects; NULL: that is no module */
	/* the present access */
	uint64_t addr, pc, insn;
	enum pm_champsim_access type;
	uint32_t metadata;
	unsigned way;			/* where its line goes */
};

/* As ChampSim calls it. */
static void name_of(const struct pm_level_conf *lc, char *to, size_t size)
{
	if (lc->depth == 3 && !lc->side)
		snprintf(to, size, "LLC");
	else
		snprintf(to, size, "cpu0_L%u%c", lc->depth,
			 lc->side ? toupper(lc->side) : lc->depth == 1 ? 'D' : 'C');
}

struct cache_module *cache_module_new(const struct cache_level *l)
{
	const struct pm_level_conf *lc = l->conf;
	struct cache_module *m;
	char name[16];
	const struct pm_champsim_level level = {
		name, (uint32_t)(l->set_mask + 1), l->ways, lc->depth == 1 && lc->side == 'i',
	};

	if (lc->policy != PM_MODULE && lc->prefetch != PM_PF_MODULE)
		return NULL;
	name_of(lc, name, sizeof name);
	m = pm_alloc(sizeof *m);
	if (lc->policy == PM_MODULE)
		m->policy = lc->policy_module->create(&level);
	if (lc->prefetch == PM_PF_MODULE)
		m->prefetch = lc->prefetch_module->create(&level);
	return m;
}

void cache_module_free(struct cache_level *l)
{
	struct cache_module *m = l->module;

	if (!m)
		return;
	if (m->policy)
		l->conf->policy_module->destroy(m->policy);
	if (m->prefetch)
		l->conf->prefetch_module->destroy(m->prefetch);
	free(m);
}

void cache_module_end(struct cache_level *l)
{
	const struct cache_module *m = l->module;

	if (m && m->policy)
		l->conf->policy_module->finish(m->policy);
	if (m && m->prefetch)
		l->conf->prefetch_module->finish(m->prefetch);
}

bool cache_module_well(const struct cache_level *l, struct pm_err *err)
{
	const struct cache_module *m = l->module;

	return !m || (pm_champsim_well(l->conf->policy_module, m->policy, l->conf->name, err) &&
		      pm_champsim_well(l->conf->prefetch_module, m->prefetch, l->conf->name, err));
}

static uint64_t set_index(const struct cache_level *l, uint64_t line)
{
	return line >> l->line_shift & l->set_mask;
}

/* Reads that a write above caused ask for ownership. */
static enum pm_champsim_access type_of(const struct pm_cache *c, const struct cache_level *l,
				       enum pm_cache_op op)
{
	switch (op) {
	case PM_OP_WRITE:
	case PM_OP_BACK:
		return PM_CHAMPSIM_WRITE;
	case PM_OP_PREFETCH:
		return PM_CHAMPSIM_PREFETCH;
	case PM_OP_READ:
		return c->storing && l->hop ? PM_CHAMPSIM_RFO : PM_CHAMPSIM_LOAD;
	default:
		return PM_CHAMPSIM_LOAD;
	}
}

void cache_module_lookup(struct pm_cache *c, struct cache_level *l, uint64_t addr,
			 enum pm_cache_op op, unsigned way)
{
	const uint64_t line = addr & l->line_mask, *set = set_of(l, line);
	const bool demand = op <= PM_OP_WRITE, hits = way < l->ways;
	struct cache_module *m = l->module;

	m->type = type_of(c, l, op);
	/* the first level of data sees whole addresses */
	m->addr = !l->hop && (op == PM_OP_READ || op == PM_OP_WRITE) ? addr : line;
	m->pc = demand ? c->pc : 0;
	m->insn = c->insns;
	m->metadata = op == PM_OP_PREFETCH ? c->metadata : 0;
	if (m->prefetch && !c->warming &&
	    (m->type == PM_CHAMPSIM_LOAD || m->type == PM_CHAMPSIM_PREFETCH))
		l->conf->prefetch_module->operate(m->prefetch, m->addr, m->pc, hits,
						  hits && set[way] & LINE_FRESH, m->type,
						  m->metadata);
	if (m->policy)
		l->conf->policy_module->looked_up(m->policy, set_index(l, line), way, m->addr,
						  m->pc, m->type, hits);
}

unsigned cache_module_wants(struct cache_level *l, struct pm_champsim_request *to)
{
	const struct pm_champsim_module *own = l->conf->prefetch_module;
	struct cache_module *m = l->module;

	if (!m->prefetch)
		return 0;
	for (unsigned i = 0; i < CACHE_MODULE_CYCLES; i++)
		own->cycle(m->prefetch);
	return own->take(m->prefetch, to);
}

void cache_module_prefetch(struct pm_cache *c, struct cache_level *l, uint64_t line,
			   uint32_t metadata)
{
	struct cache_module *m = l->module;

	m->type = PM_CHAMPSIM_PREFETCH;
	m->addr = line;
	m->pc = 0;
	m->metadata = c->metadata = metadata;
}

static void filled(struct cache_level *l, uint64_t line, unsigned way, uint64_t old)
{
	const uint64_t gone = old & ~(uint64_t)LINE_FLAGS, set = set_index(l, line);
	struct cache_module *m = l->module;

	if (m->prefetch)
		l->conf->prefetch_module->fill(m->prefetch, m->addr, set, way,
					       m->type == PM_CHAMPSIM_PREFETCH, gone, m->metadata);
	if (m->policy)
		l->conf->policy_module->filled(m->policy, set, way, m->addr, m->pc, gone, m->type);
}

bool cache_module_stays(struct pm_cache *c, struct cache_level *l, uint64_t entry)
{
	const uint64_t line = entry & ~(uint64_t)LINE_FLAGS, *set = set_of(l, line);
	struct cache_module *m = l->module;

	if (!m->policy)
		return true;
	m->way = 0;
	while (m->way < l->ways && set[m->way] & LINE_VALID)
		m->way++;
	if (m->way == l->ways)
		m->way = (unsigned)l->conf->policy_module->victim(m->policy, m->insn,
								  set_index(l, line), set, m->pc,
								  m->addr, m->type);
	if (m->way < l->ways)
		return true;
	filled(l, line, l->ways, 0);
	return false;
}

uint64_t cache_module_enter(struct cache_level *l, uint64_t entry)
{
	const uint64_t line = entry & ~(uint64_t)LINE_FLAGS;
	struct cache_module *m = l->module;
	uint64_t *set = set_of(l, line), old;
	uint32_t ignored;

	if (m->policy) {
		old = set[m->way];
		set[m->way] = entry;
	} else {
		old = enter(l, set, entry, ~0u, 0, &ignored);
		m->way = l->ordered ? 0 : find(set, l->ways, line);
	}
	filled(l, line, m->way, old & LINE_VALID ? old : 0);
	return old;
}
