/* SPDX-License-Identifier: MIT */
/* core_conf.c - the configuration of the sink `core` */
#include <string.h>

#include "analyse/conf.h"
#include "analyse/core_work.h"
#include "trace/champsim.h"

enum pm_status core_number(struct pm_conf *c, const struct pm_conf_item *it, const char *text,
			   struct pm_core_conf *to, bool *known, struct pm_err *err)
{
	const struct {
		const char *name; uint32_t *to; uint64_t lo, hi; const char *about;
	} keys[] = {
		{ "fetch", &to->fetch, 1, 64, "instructions fetched per cycle" },
		{ "bytes", &to->bytes, 15, 256, "bytes fetched per cycle" },
		{ "queue", &to->queue, 1, 1024, "instructions between fetch and dispatch" },
		{ "front", &to->front, 1, 64, "cycles from fetch to dispatch" },
		{ "bubble", &to->bubble, 0, 64,
		  "cycles lost to a taken branch found by the decoder" },
		{ "width", &to->width, 1, 64, "micro-ops dispatched and committed per cycle" },
		{ "rob", &to->rob, 8, 4096, "micro-ops in the reorder buffer" },
		{ "iq", &to->iq, 8, 1024, "entries of the scheduler" },
		{ "lq", &to->lq, 4, 1024, "entries of the load queue" },
		{ "sq", &to->sq, 4, 1024, "entries of the store queue" },
		{ "mshr", &to->mshr, 1, 1024, "lines on their way" },
		{ "gap", &to->gap, 0, 1000, "cycles between lines from memory" },
		{ "forward", &to->forward, 1, 100, "cycles of store-to-load forwarding" },
		{ "alu", &to->alu, 1, 8, "integer ports" },
		{ "vec", &to->vec, 1, 8, "vector ports" },
		{ "loads", &to->loads, 1, 4, "load ports" },
		{ "stores", &to->stores, 1, 4, "store ports" },
	};
	uint64_t x;

	*known = true;
	for (size_t k = 0; k < NR(keys); k++)
		if (!strcmp(keys[k].name, it->name)) {
			if (pm_conf_u64(c, it, text, keys[k].about, keys[k].lo, keys[k].hi, &x,
					err))
				return PM_ERR;
			*keys[k].to = x;
			return PM_OK;
		}
	*known = false;
	return PM_OK;
}

static enum pm_status latencies(struct pm_conf *c, const struct pm_conf_item *it, uint32_t lat[4],
				struct pm_err *err)
{
	static const char *const what[] = { "L1 latency", "L2 latency", "L3 latency",
		"memory latency" };
	uint64_t x;

	if (it->n != 4)
		return pm_conf_fail(c, it, err, "expected four numbers: lat=L1,L2,L3,MEMORY");
	for (int i = 0; i < 4; i++) {
		if (pm_conf_u64(c, it, it->field[i].key, what[i], 1, 10000, &x, err))
			return PM_ERR;
		lat[i] = x;
		if (i && x < lat[i - 1])
			return pm_conf_fail(c, it, err, "%s: less than the %s", what[i],
					    what[i - 1]);
	}
	return PM_OK;
}

/* fdip=N or fdip=N,M */
static enum pm_status ahead_of_fetch(struct pm_conf *c, const struct pm_conf_item *it,
				     struct pm_core_conf *to, struct pm_err *err)
{
	uint64_t x = 2;

	if (!it->n || it->n > 2)
		return pm_conf_fail(c, it, err, "expected fdip=N, or fdip=N,M: entries of the "
				    "fetch target queue, blocks predicted per cycle");
	if (it->n == 2 &&
	    pm_conf_u64(c, it, it->field[1].key, "blocks predicted per cycle", 1, 16, &x, err))
		return PM_ERR;
	to->blocks = x;
	if (pm_conf_u64(c, it, it->field[0].key, "entries of the fetch target queue", 0, 4096, &x,
			err))
		return PM_ERR;
	to->fdip = x;
	return PM_OK;
}

/* Settings of paging.h; *known: it is one. TLBs go to @tlbs. */
static enum pm_status paging_setting(struct core_sink *s, struct pm_conf *c,
					  const struct pm_conf_item *it, struct pm_buf *tlbs,
					  bool *known, struct pm_err *err)
{
	static const char *const upper[] = { "entries of the cache of PDEs", "... of PDPTEs",
		"... of PML4Es" };
	const char *text = it->n == 1 ? it->field[0].key : "";
	const size_t n = strlen(it->name);
	uint64_t x;

	*known = true;
	if (!strcmp(it->name, "stlblat")) {
		if (pm_conf_u64(c, it, text, "cycles of a second-level TLB", 1, 1000, &x, err))
			return PM_ERR;
		s->c.stlb = x;
	} else if (!strcmp(it->name, "walkers")) {
		if (pm_conf_u64(c, it, text, "page walkers", 1, 1000, &x, err))
			return PM_ERR;
		s->c.walkers = x;
	} else if (!strcmp(it->name, "pwc")) {
		if (it->n != NR(upper))
			return pm_conf_fail(c, it, err,
					    "expected three numbers: pwc=PDE,PDPTE,PML4E");
		for (size_t i = 0; i < NR(upper); i++) {
			if (pm_conf_u64(c, it, it->field[i].key, upper[i], 0, 4096, &x, err))
				return PM_ERR;
			s->paging_conf.upper[i] = x;
		}
	} else if (n >= 3 && !strcmp(it->name + n - 3, "tlb")) {
		if (!strcmp(it->name, "tlb") && !strcmp(text, "none"))
			pm_buf_printf(tlbs, "none");
		else
			pm_conf_put(it, tlbs);
	} else {
		*known = false;
	}
	return PM_OK;
}

/* @tlbs: what was configured, ended by a zero byte. */
static enum pm_status configure_tlbs(struct core_sink *s, const char *what, const char *tlbs,
				     struct pm_err *err)
{
	struct pm_cache_conf *cc = &s->paging_conf.tlb;

	if (!*tlbs || !strcmp(tlbs, "none"))
		return PM_OK;
	if (pm_cache_conf_parse(cc, "tlb", tlbs, err))
		return PM_ERR;
	if (cc->level[0].depth != 1 || cc->level[cc->n - 1].depth > 2)
		return pm_fail_request(err, "%s: TLBs have a first level (itlb, dtlb, or tlb), and "
				       "one below it at most", what);
	for (unsigned i = 1; i < cc->n; i++)
		if (cc->level[i].line != cc->level[0].line)
			return pm_fail_request(err, "%s: %s and %s have pages of different sizes",
					       what, cc->level[0].name, cc->level[i].name);
	if (cc->flush_insns || cc->flush_switch || cc->by_insn)
		return pm_fail_request(err, "%s: flush and byinsn are for `tlb`", what);
	if (cc->level[cc->n - 1].depth < 2)
		s->c.stlb = 0;
	s->paging_conf.stlb = s->c.stlb;
	return PM_OK;
}

/* bpred=... */
static enum pm_status predictor(struct core_sink *s, struct pm_conf *c,
				const struct pm_conf_item *it, struct pm_err *err)
{
	const char *name = it->n ? it->field[0].key : "";
	const struct pm_conf_item module = { .name = name };

	s->bp_args = (struct pm_bp_args){ .n = 0 };
	if (pm_champsim_is_name(name) && strcmp(c->what, "core"))
		return pm_conf_fail(c, it, err, "'%.100s': ChampSim modules are for `cache`, "
				    "`core` and `bpred`", name);
	if (pm_champsim_is_name(name) && (it->n > 1 || it->field[0].val))
		return pm_conf_fail(c, it, err, "expected %.100s alone: the branch target buffer "
				    "is the core's own", name);
	if (pm_champsim_is_name(name))
		return pm_bp_module_parse(c, &module, &s->bp, &s->bp_args, err);
	s->bp = pm_bp_find(name);
	if (!s->bp || s->bp->mask != PM_BR_COND)
		return pm_conf_fail(c, it, err, "expected a predictor of conditional branches, as "
				    "in bpred=gshare,14 or bpred=tagescl");
	for (size_t k = 1; k < it->n; k++) {
		if (k > 2 || !s->bp->args[k - 1])
			return pm_conf_fail(c, it, err, "'%s' is one number too many",
					    it->field[k].key);
		if (pm_conf_u64(c, it, it->field[k].key, s->bp->args[k - 1], s->bp->lo[k - 1],
				s->bp->hi[k - 1], s->bp_args.v + k - 1, err))
			return PM_ERR;
		s->bp_args.n++;
	}
	return PM_OK;
}

static enum pm_status parse(struct core_sink *s, struct pm_conf *c, struct pm_buf *caches,
			    struct pm_buf *tlbs, struct pm_err *err)
{
	const struct core_preset *preset = core_preset("mid");

	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->item[i].name, "preset")) {
			const struct pm_conf_item *it = c->item + i;

			preset = core_preset(it->n ? it->field[0].key : "");
			if (!preset)
				return pm_conf_unknown(c, it, err, it->n ? it->field[0].key : "",
						       "is unknown", CORE_PRESET_NAMES);
		}
	s->c = preset->c;
	s->c.stlb = 7;
	s->c.walkers = s->c.walkers ? s->c.walkers : 4;
	memcpy(s->paging_conf.upper, (uint32_t[]){ 32, 4, 2 },
	       sizeof s->paging_conf.upper);
	s->top = 20;
	s->bp = &pm_bp_tagescl;
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		uint64_t x;
		bool known;

		if (!strcmp(it->name, "preset"))
			continue;
		if (!strcmp(it->name, "byinsn") || !strcmp(it->name, "topdown")) {
			if (it->n)
				return pm_conf_fail(c, it, err, "stands alone, without a value");
			s->topdown |= it->name[0] == 't';
			s->by = s->by ? s->by : pm_alloc(sizeof *s->by);
			continue;
		}
		if (!strcmp(it->name, "top")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "",
					"instructions listed", 1, 1000000, &s->top, err))
				return PM_ERR;
			continue;
		}
		if (it->name[0] == 'l' && it->name[1] >= '1' && it->name[1] <= '9') {
			pm_conf_put(it, caches);
			continue;
		}
		if (!strcmp(it->name, "bpred")) {
			if (predictor(s, c, it, err))
				return PM_ERR;
			continue;
		}
		if (!strcmp(it->name, "lat")) {
			if (latencies(c, it, s->c.lat, err))
				return PM_ERR;
			continue;
		}
		if (!strcmp(it->name, "fdip")) {
			if (ahead_of_fetch(c, it, &s->c, err))
				return PM_ERR;
			continue;
		}
		if (!strcmp(it->name, "regs")) {
			if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "",
					"results between dispatch and commit", 0, 4096, &x, err))
				return PM_ERR;
			s->c.regs = x;
			continue;
		}
		if (paging_setting(s, c, it, tlbs, &known, err))
			return PM_ERR;
		if (!known &&
		    core_number(c, it, it->n == 1 ? it->field[0].key : "", &s->c, &known, err))
			return PM_ERR;
		if (!known)
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"preset, fetch, bytes, queue, front, bubble, width, "
					"rob, iq, lq, sq, mshr, gap, forward, alu, vec, "
					"loads, stores, lat, fdip, regs, bpred, byinsn, "
					"topdown, top, l1i, itlb, pwc...");
	}
	if (!caches->n)
		pm_buf_printf(caches, "%s", preset->caches);
	if (!tlbs->n && preset->tlbs)
		pm_buf_printf(tlbs, "%s", preset->tlbs);
	return PM_OK;
}

enum pm_status core_configure(struct core_sink *s, const char *what, const char *config,
			      struct pm_err *err)
{
	struct pm_buf caches = { 0 }, tlbs = { 0 };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, what, config, err);

	if (!st)
		st = parse(s, &c, &caches, &tlbs, err);
	pm_conf_release(&c);
	pm_buf_add(&caches, "", 1);
	if (!st)
		st = pm_cache_conf_parse(&s->cache_conf, what, (const char *)caches.p, err);
	pm_buf_release(&caches);
	pm_buf_add(&tlbs, "", 1);
	if (!st)
		st = configure_tlbs(s, what, (const char *)tlbs.p, err);
	pm_buf_release(&tlbs);
	if (!st && s->cache_conf.level[s->cache_conf.n - 1].depth > 3)
		st = pm_fail_request(err, "%s: at most three levels of caches", what);
	for (unsigned i = 0; !st && i < s->cache_conf.n; i++)
		if (s->cache_conf.level[i].drain)
			st = pm_fail_request(err, "%s: %s: drain is for `cache`: a core's time "
					     "ends with the last instruction",
					     what, s->cache_conf.level[i].name);
	return st;
}
