/* SPDX-License-Identifier: MIT */
/* cache_conf.c - configuration strings of caches and TLBs, and which combinations make sense */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_sim.h"
#include "analyse/conf.h"
#include "base/number.h"
#include "trace/champsim.h"

const char *const pm_cache_policies[] = {
	"lru", "fifo", "random", "plru", "srrip", "drrip", "opt", NULL
};
const char *const pm_cache_incls[] = { "nine", "incl", "excl", NULL };
const char *const pm_cache_prefetches[] = { "none", "next", "stride", "stream",
	"ipstride", "ampm", "spp", "berti", "pythia", NULL };
static const char *const cache_words[] = {
	"Nway", "full", "lru", "fifo", "random", "plru", "srrip", "drrip", "opt", "wb", "wt", "wa",
	"nwa", "nine", "incl", "excl", "3c", "nofetch", "drain", "sub=N", "victim=N", "wbuf=N",
	"prefetch=next|stride|stream|ipstride|ampm|spp|berti|pythia", "degree=N", "seed=N", NULL
};
static const char *const tlb_words[] = {
	"Nway", "full", "lru", "fifo", "random", "plru", "srrip", "drrip", "3c", "seed=N", NULL
};

static bool power2(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* "l2i" -> depth 2, side i; "dtlb" -> depth 1, side d; "stlb" -> depth 2. */
static bool level_name(struct pm_level_conf *l, const char *name, bool tlb)
{
	static const struct { const char *name; unsigned depth; char side; } tlbs[] = {
		{ "itlb", 1, 'i' }, { "dtlb", 1, 'd' }, { "tlb", 1, 0 }, { "istlb", 2, 'i' },
		{ "dstlb", 2, 'd' }, { "stlb", 2, 0 }, { "stlb2", 3, 0 },
	};

	if (strlen(name) >= sizeof l->name)
		return false;
	strcpy(l->name, name);
	for (size_t i = 0; tlb && i < NR(tlbs); i++)
		if (!strcmp(name, tlbs[i].name)) {
			l->depth = tlbs[i].depth;
			l->side = tlbs[i].side;
			return true;
		}
	if (tlb || name[0] != 'l' || name[1] < '1' || name[1] > '8')
		return false;
	l->depth = name[1] - '0';
	l->side = name[2];
	return !name[2] || ((name[2] == 'i' || name[2] == 'd') && !name[3]);
}

/* A module of ChampSim, for these simulators alone: others ask their caches for things that modules
 * do not know. */
static enum pm_status module_field(struct pm_conf *c, const struct pm_conf_item *it,
				   const char *name, bool prefetcher, struct pm_level_conf *l,
				   struct pm_err *err)
{
	const struct pm_champsim_module *m = pm_champsim_find(name);

	if (strcmp(c->what, "cache") && strcmp(c->what, "core"))
		return pm_conf_fail(c, it, err, "'%.100s': ChampSim modules are for `cache`, "
				    "`core` and `bpred`", name);
	if (!m)
		return pm_conf_fail(c, it, err, "there is no ChampSim module '%.100s'; "
				    "--champsim-module says where it is", name);
	if (m->kind != (prefetcher ? PM_CHAMPSIM_PREFETCHER : PM_CHAMPSIM_REPLACEMENT))
		return pm_conf_fail(c, it, err, "the ChampSim module '%.100s' is no %s", name,
				    prefetcher ? "prefetcher" : "replacement policy");
	if (prefetcher) {
		l->prefetch = PM_PF_MODULE;
		l->prefetch_module = m;
	} else {
		l->policy = PM_MODULE;
		l->policy_module = m;
	}
	return PM_OK;
}

static enum pm_status word_field(struct pm_conf *c, const struct pm_conf_item *it,
				 const struct pm_conf_field *f, struct pm_level_conf *l, bool tlb,
				 unsigned *numbers, struct pm_err *err)
{
	char all[200];
	uint64_t v;
	char *end;
	int w;

	if (f->val) {
		const struct {
			const char *key; uint32_t *to; uint64_t lo, hi; const char *about;
		} keys[] = {
			{ "sub", &l->sub, 1, 65536, "bytes of a sub-block" },
			{ "victim", &l->victim, 1, 4096, "lines of the victim cache" },
			{ "wbuf", &l->wbuf, 1, 1024, "entries of the write buffer" },
			{ "degree", &l->degree, 1, 64, "lines that are prefetched at once" },
		};

		if (!strcmp(f->key, "seed"))
			return pm_conf_u64(c, it, f->val, "seed", 1, UINT64_MAX, &l->seed, err);
		if (!tlb && !strcmp(f->key, "prefetch") && pm_champsim_is_name(f->val))
			return module_field(c, it, f->val, true, l, err);
		if (!tlb && !strcmp(f->key, "prefetch")) {
			w = pm_conf_word(f->val, pm_cache_prefetches);
			if (w < 0)
				return pm_conf_unknown(c, it, err, f->val, "is not a prefetcher",
						       pm_conf_names(pm_cache_prefetches, all,
								     sizeof all));
			l->prefetch = w;
			return PM_OK;
		}
		for (size_t i = 0; !tlb && i < NR(keys); i++)
			if (!strcmp(f->key, keys[i].key)) {
				if (pm_conf_u64(c, it, f->val, keys[i].about, keys[i].lo,
						keys[i].hi, &v, err))
					return PM_ERR;
				*keys[i].to = v;
				return PM_OK;
			}
		goto unknown;
	}
	if (pm_champsim_is_name(f->key))
		return module_field(c, it, f->key, false, l, err);
	v = strtoull(f->key, &end, 10);
	if (end != f->key && !strcmp(end, "way")) {
		if (!v || v > 65536)
			return pm_conf_fail(c, it, err, "'%s': the number of ways is 1 to 65536",
					    f->key);
		l->ways = v;
		return PM_OK;
	}
	if (isdigit((unsigned char)f->key[0]) && strcmp(f->key, "3c")) {
		uint64_t *const to[] = { &l->size, &v };

		if (*numbers >= 2)
			return pm_conf_fail(c, it, err,
					    "'%s' is a third number; %s and %s are given already",
					    f->key, tlb ? "entries" : "size",
					    tlb ? "page size" : "line size");
		if (*numbers == 0) {
			if (pm_conf_u64(c, it, f->key, tlb ? "entries" : "size", 1, 1ull << 40,
					to[0], err))
				return PM_ERR;
		} else {
			if (pm_conf_pow2(c, it, f->key, tlb ? "page size" : "line size",
					 tlb ? 512 : 8, tlb ? 1u << 30 : 65536, to[1], err))
				return PM_ERR;
			l->line = v;
		}
		++*numbers;
		return PM_OK;
	}
	if (!strcmp(f->key, "full"))
		l->ways = UINT32_MAX;		/* until the size is known */
	else if (!strcmp(f->key, "3c"))
		l->three_c = true;
	else if ((w = pm_conf_word(f->key, pm_cache_policies)) >= 0 && !(tlb && w == PM_OPT))
		l->policy = w;
	else if (tlb)
		goto unknown;
	else if ((w = pm_conf_word(f->key, pm_cache_incls)) >= 0)
		l->incl = w;
	else if (!strcmp(f->key, "wb") || !strcmp(f->key, "wt"))
		l->wb = f->key[1] == 'b';
	else if (!strcmp(f->key, "wa") || !strcmp(f->key, "nwa"))
		l->wa = f->key[0] == 'w';
	else if (!strcmp(f->key, "nofetch"))
		l->nofetch = true;
	else if (!strcmp(f->key, "drain"))
		l->drain = true;
	else
		goto unknown;
	return PM_OK;
unknown:
	return pm_conf_unknown(c, it, err, f->key, "is not a field",
			       pm_conf_names(tlb ? tlb_words : cache_words, all, sizeof all));
}

/* What a field decides; two about the same thing contradict each other. */
static const char *about_what(const struct pm_conf_field *f)
{
	char *end;

	if (f->val)
		return f->key;
	if (!strcmp(f->key, "full") || (strtoull(f->key, &end, 10) && !strcmp(end, "way")))
		return "ways";
	if (!strcmp(f->key, "wb") || !strcmp(f->key, "wt"))
		return "writes";
	if (!strcmp(f->key, "wa") || !strcmp(f->key, "nwa"))
		return "allocation";
	if (pm_conf_word(f->key, pm_cache_policies) >= 0 || pm_champsim_is_name(f->key))
		return "policy";
	return pm_conf_word(f->key, pm_cache_incls) >= 0 ? "inclusion" : NULL;
}

static enum pm_status contradiction(struct pm_conf *c, const struct pm_conf_item *it,
				    struct pm_err *err)
{
	for (size_t i = 0; i < it->n; i++)
		for (size_t k = 0; k < i; k++) {
			const char *a = about_what(it->field + i), *b = about_what(it->field + k);

			if (a && b && !strcmp(a, b))
				return pm_conf_fail(c, it, err,
						    "'%s%s%s' and '%s%s%s': one of them",
						    it->field[k].key, it->field[k].val ? "=" : "",
						    it->field[k].val ? it->field[k].val : "",
						    it->field[i].key, it->field[i].val ? "=" : "",
						    it->field[i].val ? it->field[i].val : "");
		}
	return PM_OK;
}

static enum pm_status level_parse(struct pm_conf *c, const struct pm_conf_item *it,
				  struct pm_level_conf *l, bool tlb, struct pm_err *err)
{
	unsigned numbers = 0;
	uint64_t sets;

	l->ways = tlb ? 4 : 8;
	l->line = tlb ? 4096 : 64;
	l->wb = l->wa = true;
	for (size_t i = 0; i < it->n; i++)
		if (word_field(c, it, it->field + i, l, tlb, &numbers, err))
			return PM_ERR;
	if (contradiction(c, it, err))
		return PM_ERR;
	if (l->degree && !l->prefetch)
		return pm_conf_fail(c, it, err,
				    "degree=%u goes with prefetch=... only", l->degree);
	if ((l->policy_module || l->prefetch_module) &&
	    (l->line != 64 || l->sub || l->victim || l->incl != PM_NINE))
		return pm_conf_fail(c, it, err, "a ChampSim module goes with lines of 64 bytes and "
				    "nine only; no sub, victim");
	if (l->prefetch >= PM_PF_IPSTRIDE && l->prefetch < PM_PF_MODULE &&
	    (l->line < 64 || l->line > 2048))
		return pm_conf_fail(c, it, err,
				    "prefetch=%s is for lines of 64 to 2048 bytes",
				    pm_cache_prefetches[l->prefetch]);
	if (l->degree && l->prefetch == PM_PF_MODULE)
		return pm_conf_fail(c, it, err, "degree=%u: %s.cc decides that itself", l->degree,
				    l->prefetch_module->name);
	if (!l->degree)
		l->degree = l->prefetch >= PM_PF_IPSTRIDE && l->prefetch <= PM_PF_BERTI ? 4 : 1;
	if (l->seed && l->policy != PM_RANDOM)
		return pm_conf_fail(c, it, err, "seed=%llu goes with random only",
				    (unsigned long long)l->seed);
	if (!l->seed)
		l->seed = 1;
	if (!numbers)
		return pm_conf_fail(c, it, err,
				    tlb ? "the number of entries is missing, as in %s=64,4way,4k"
					: "the size is missing, as in %s=32k,8way,64",
				    it->name);
	if (tlb && l->size > 1u << 25)
		return pm_conf_fail(c, it, err, "more than 33554432 entries");
	if (tlb)
		l->size *= l->line;
	if (l->size < l->line || l->size % l->line)
		return pm_conf_fail(c, it, err,
				    "a size of %llu bytes is no multiple of the line of %u",
				    (unsigned long long)l->size, l->line);
	if (l->ways == UINT32_MAX) {
		if (l->size / l->line > 65536)
			return pm_conf_fail(c, it, err,
					    "fully associative caches have at most 65536 lines");
		l->ways = l->size / l->line;
	}
	if (l->size / l->line % l->ways)
		return pm_conf_fail(c, it, err, "%llu %s do not divide into %u ways",
				    (unsigned long long)(l->size / l->line),
				    tlb ? "entries" : "lines", l->ways);
	sets = l->size / l->line / l->ways;
	if (!power2(sets) && tlb)
		return pm_conf_fail(c, it, err,
				    "%llu entries in %u ways make %llu sets; the number of sets "
				    "must be a power of two",
				    (unsigned long long)(l->size / l->line), l->ways,
				    (unsigned long long)sets);
	if (!power2(sets))
		return pm_conf_fail(c, it, err,
				    "%llu bytes in %u ways of %u-byte lines make %llu sets; the "
				    "number of sets must be a power of two",
				    (unsigned long long)l->size, l->ways, l->line,
				    (unsigned long long)sets);
	if (l->policy == PM_PLRU && (!power2(l->ways) || l->ways > 64))
		return pm_conf_fail(c, it, err, "plru needs 1, 2, 4 ... 64 ways, not %u", l->ways);
	if (l->sub && (!power2(l->sub) || l->sub >= l->line || l->line / l->sub > 32))
		return pm_conf_fail(c, it, err,
				    "sub=%u: a power of two smaller than the line, at least "
				    "line/32",
				    l->sub);
	return PM_OK;
}

static int by_depth(const void *a, const void *b)
{
	const struct pm_level_conf *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return y->side - x->side;	/* i before d */
}

/* The first level below index @i that @side goes through; -1: memory. */
static int below(const struct pm_cache_conf *cc, unsigned depth, char side)
{
	for (unsigned i = 0; i < cc->n; i++)
		if (cc->level[i].depth > depth && (!cc->level[i].side || cc->level[i].side == side))
			return i;
	return -1;
}

/* Combinations that the rules of cache_sim.h do not define. */
static enum pm_status combine(struct pm_conf *c, struct pm_cache_conf *cc, struct pm_err *err)
{
	bool opt_above = false;
	uint64_t lines = 0;

	for (unsigned i = 0; i < cc->n; i++) {
		struct pm_level_conf *l = cc->level + i;
		struct pm_conf_item it = { .name = l->name };

		lines += l->size / l->line;
		if (lines > 1u << 25)
			return pm_conf_fail(c, &it, err,
					    "all levels together have more than the 33554432 lines "
					    "that are allowed");

		if (l->policy == PM_OPT) {
			if (!l->wb || !l->wa || l->incl != PM_NINE || l->sub || l->victim ||
			    l->wbuf || l->prefetch || l->nofetch || l->drain || l->line < 16)
				return pm_conf_fail(c, &it, err,
						    "opt goes with wb, wa, nine and lines of 16 "
						    "bytes or more only; no sub, victim, wbuf, "
						    "prefetch, nofetch, drain");
			if (cc->flush_insns || cc->flush_switch || cc->by_insn || cc->regions)
				return pm_conf_fail(c, &it, err,
						    "opt does not go with flush, byinsn or "
						    "regions");
		}
		if (opt_above && l->incl != PM_NINE)
			return pm_conf_fail(c, &it, err, "a level below one with opt must be nine");
		if (l->victim && l->sub)
			return pm_conf_fail(c, &it, err, "victim does not go with sub");
		if (l->incl == PM_INCL && l->sub)
			return pm_conf_fail(c, &it, err, "incl does not go with sub");
		if (l->incl == PM_EXCL && (l->sub || l->prefetch || l->three_c || !l->wb || !l->wa))
			return pm_conf_fail(c, &it, err,
					    "excl goes with wb and wa only; no sub, prefetch, 3c");
		if (l->incl != PM_NINE && l->depth == cc->level[0].depth)
			return pm_conf_fail(c, &it, err,
					    "the first level has none above it to be %s to",
					    pm_cache_incls[l->incl]);
		for (unsigned j = 0; j < i; j++) {
			const struct pm_level_conf *u = cc->level + j;

			if (l->incl == PM_INCL && u->line > l->line)
				return pm_conf_fail(c, &it, err,
						    "an inclusive level needs lines at least as "
						    "long as those of %s (%u)",
						    u->name, u->line);
			if (l->incl == PM_INCL && u->size > l->size)
				return pm_conf_fail(c, &it, err,
						    "an inclusive level must be at least as large "
						    "as %s above it (%llu bytes)",
						    u->name, (unsigned long long)u->size);
			if (l->incl != PM_NINE && (u->nofetch || u->drain))
				return pm_conf_fail(c, &it, err,
						    "%s of %s needs all levels below to be nine",
						    u->nofetch ? "nofetch" : "drain", u->name);
			if (l->policy == PM_OPT && u->prefetch)
				return pm_conf_fail(c, &it, err,
						    "opt cannot stand below the prefetcher of %s",
						    u->name);
			if (l->incl == PM_EXCL && cc->next[j] == (int)i &&
			    (u->line != l->line || u->sub || !u->wb || u->wbuf ||
			     u->policy == PM_OPT))
				return pm_conf_fail(c, &it, err,
						    "excl needs %s to be wb, with lines of the "
						    "same size, no sub, no wbuf, no opt",
						    u->name);
		}
		opt_above |= l->policy == PM_OPT;
	}
	return PM_OK;
}

static enum pm_status setting(struct pm_conf *c, const struct pm_conf_item *it,
			      struct pm_cache_conf *cc, bool *known, struct pm_err *err)
{
	const struct { const char *name; bool *to; } flags[] = {
		{ "regions", &cc->regions }, { "byinsn", &cc->by_insn },
	};
	const char *v = it->n == 1 && !it->field[0].val ? it->field[0].key : NULL;

	*known = true;
	for (size_t i = 0; i < NR(flags); i++)
		if (!strcmp(it->name, flags[i].name)) {
			if (it->n)
				return pm_conf_fail(c, it, err, "takes no value");
			*flags[i].to = true;
			return PM_OK;
		}
	if (!strcmp(it->name, "spaces")) {
		if (!v || (strcmp(v, "shared") && strcmp(v, "tagged")))
			return pm_conf_fail(c, it, err, "allowed: spaces=shared, spaces=tagged");
		cc->shared = !strcmp(v, "shared");
	} else if (!strcmp(it->name, "flush")) {
		if (v && !strcmp(v, "switch")) {
			cc->flush_switch = true;
			return PM_OK;
		}
		if (!v || !pm_parse_u64(v, &cc->flush_insns) || !cc->flush_insns)
			return pm_conf_fail(c, it, err,
					    "allowed: flush=N (instructions), flush=switch");
	} else {
		*known = false;
	}
	return PM_OK;
}

static enum pm_status build(struct pm_conf *c, struct pm_cache_conf *cc, bool tlb,
			    struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		struct pm_level_conf *l = cc->level + cc->n;
		bool known;

		if (setting(c, it, cc, &known, err))
			return PM_ERR;
		if (known)
			continue;
		if (cc->n == PM_CACHE_LEVELS)
			return pm_conf_fail(c, NULL, err, "more than %d levels", PM_CACHE_LEVELS);
		*l = (struct pm_level_conf){ 0 };
		if (!level_name(l, it->name, tlb))
			return pm_conf_unknown(c, NULL, err, it->name, "is not a level",
					       tlb ? "itlb, dtlb, tlb, istlb, dstlb, stlb, stlb2, "
						     "flush, spaces, byinsn"
						   : "l1 to l8 with i or d behind it, flush, "
						     "spaces, regions, byinsn");
		if (level_parse(c, it, l, tlb, err))
			return PM_ERR;
		for (unsigned j = 0; j < cc->n; j++)
			if (cc->level[j].depth == l->depth && (cc->level[j].side == l->side ||
			    !cc->level[j].side || !l->side))
				return pm_conf_fail(c, it, err, "%s is there already",
						    cc->level[j].name);
		cc->n++;
	}
	if (!cc->n)
		return pm_conf_fail(c, NULL, err, "no level is given; an example: %s",
				    tlb ? "itlb=64,8way,4k;dtlb=64,4way,4k;stlb=1536,12way,4k"
				    : "l1i=32k,8way,64;l1d=32k,8way,64,lru,wb;l2=1m,16way,64");
	qsort(cc->level, cc->n, sizeof *cc->level, by_depth);
	for (unsigned i = 0; i < cc->n; i++) {
		const struct pm_level_conf *l = cc->level + i;
		char side = l->side;

		cc->next[i] = below(cc, l->depth, side);
		if (!side && i + 1 < cc->n && cc->level[i + 1].side)
			return pm_conf_fail(c, NULL, err,
					    "%s stands below %s: a split level cannot follow a "
					    "unified one",
					    cc->level[i + 1].name, l->name);
	}
	/* with only one half of the first level given, the other kind of reference is not
	 * simulated */
	for (int k = 0; k < 2; k++) {
		char side = k ? 'd' : 'i';
		int first = below(cc, 0, side);

		if (first >= 0 && cc->level[first].depth != cc->level[0].depth)
			first = -1;
		*(k ? &cc->first_d : &cc->first_i) = first;
	}
	return combine(c, cc, err);
}

enum pm_status pm_cache_conf_parse(struct pm_cache_conf *cc, const char *what, const char *text,
				   struct pm_err *err)
{
	bool tlb = !strcmp(what, "tlb");
	struct pm_conf c;
	enum pm_status s;

	*cc = (struct pm_cache_conf){ .tlb = tlb };
	s = pm_conf_parse(&c, what, text, err);
	if (!s)
		s = build(&c, cc, tlb, err);
	pm_conf_release(&c);
	return s;
}

const char *pm_cache_default(bool tlb)
{
	return tlb ? "itlb=64,8way,4k;dtlb=64,4way,4k;stlb=1536,12way,4k"
		   : "l1i=32k,8way,64;l1d=32k,8way,64;l2=1m,16way,64";
}

const char *pm_cache_policy_name(const struct pm_level_conf *l, char *to)
{
	if (l->policy != PM_MODULE)
		return pm_cache_policies[l->policy];
	snprintf(to, 64, "%s.cc", l->policy_module->name);
	return to;
}

static void put_level(const struct pm_level_conf *l, bool tlb, struct pm_buf *to)
{
	char name[64];

	pm_buf_printf(to, "%s=%llu,%uway,%u,%s", l->name,
		      (unsigned long long)(tlb ? l->size / l->line : l->size), l->ways, l->line,
		      pm_cache_policy_name(l, name));
	if (l->policy == PM_RANDOM)
		pm_buf_printf(to, ",seed=%llu", (unsigned long long)l->seed);
	if (!tlb)
		pm_buf_printf(to, ",%s,%s,%s", l->wb ? "wb" : "wt", l->wa ? "wa" : "nwa",
			      pm_cache_incls[l->incl]);
	if (l->sub)
		pm_buf_printf(to, ",sub=%u", l->sub);
	if (l->victim)
		pm_buf_printf(to, ",victim=%u", l->victim);
	if (l->wbuf)
		pm_buf_printf(to, ",wbuf=%u", l->wbuf);
	if (l->prefetch == PM_PF_MODULE)
		pm_buf_printf(to, ",prefetch=%s.cc", l->prefetch_module->name);
	else if (l->prefetch)
		pm_buf_printf(to, ",prefetch=%s,degree=%u", pm_cache_prefetches[l->prefetch],
			      l->degree);
	pm_buf_printf(to, "%s%s%s", l->three_c ? ",3c" : "", l->nofetch ? ",nofetch" : "",
		      l->drain ? ",drain" : "");
}

void pm_cache_conf_put(const struct pm_cache_conf *cc, struct pm_buf *to)
{
	for (unsigned i = 0; i < cc->n; i++) {
		pm_buf_printf(to, "%s", i ? ";" : "");
		put_level(cc->level + i, cc->tlb, to);
	}
	if (cc->flush_insns)
		pm_buf_printf(to, ";flush=%llu", (unsigned long long)cc->flush_insns);
	pm_buf_printf(to, "%s%s%s%s", cc->flush_switch ? ";flush=switch" : "",
		      cc->shared ? ";spaces=shared" : "", cc->regions ? ";regions" : "",
		      cc->by_insn ? ";byinsn" : "");
}
