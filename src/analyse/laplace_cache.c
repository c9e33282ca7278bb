/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/laplace_work.h"
#include "base/err.h"

static bool size_of(const char *s, char **end, uint64_t *v)
{
	*v = strtoull(s, end, 10);
	if (*end == s)
		return false;
	if (**end == 'k' || **end == 'K')
		*v <<= 10, ++*end;
	else if (**end == 'm' || **end == 'M')
		*v <<= 20, ++*end;
	return true;
}

enum pm_status lap_cache_init(struct lap_cache *c, const char *name, const char *config,
			      struct pm_err *err)
{
	uint64_t size, ways, line;
	char *end;

	c->name = name;
	if (!size_of(config, &end, &size) || *end != ',' ||
	    !size_of(end + 1, &end, &ways) || strncmp(end, "way,", 4) ||
	    !size_of(end + 4, &end, &line) || *end)
		return pm_fail_request(err, "'%s' is not a cache; one is 16k,1way,32", config);
	if (line < 4 || line > 4096 || line & (line - 1) || !ways || ways > 64 ||
	    size > 1 << 30 || size < ways * line || size % (ways * line) ||
	    size / (ways * line) & (size / (ways * line) - 1))
		return pm_fail_request(err,
				       "'%s': a cache has 1 to 64 ways, lines of 4 to 4096 bytes "
				       "and a power of two of sets", config);
	c->size = size;
	c->ways = (unsigned)ways;
	c->line = (unsigned)line;
	c->sets = size / (ways * line);
	c->v = pm_alloc(c->sets * ways * sizeof *c->v);
	return PM_OK;
}

static void count_miss(struct lap_cache *c, uint64_t line, uint32_t agent,
		       const struct lap_process *p, struct lap_counts *n)
{
	const uint64_t *gone = pm_map_get(&c->gone, line);
	uint32_t by;
	uint64_t when;

	if (!gone) {
		n->misses[LAP_COLD]++;
		return;
	}
	by = *gone & 0xffff;
	when = *gone >> 16;
	n->misses[by == agent ? LAP_SELF : by == LAP_KERNEL ? LAP_BY_KERNEL : LAP_BY_OTHER]++;
	++*pm_map_put(&c->pairs, (uint64_t)agent << 16 | by, NULL);
	n->switched += p && when > p->out && when <= p->in;
}

/* HOT: once per line that a reference touches. */
void lap_cache_access(struct lap_cache *c, uint64_t va, uint64_t line, uint32_t agent,
		      const struct lap_process *p, uint64_t seq)
{
	struct lap_cache_line *set = c->v + (va / c->line & (c->sets - 1)) * c->ways, hit;
	struct lap_counts *n = p ? &c->user : &c->kernel;
	unsigned w = 0, k = p && p->since ? 63u - (unsigned)__builtin_clzll(p->since) : 0;

	n->accesses++;
	k = k < LAP_BUCKETS ? k : LAP_BUCKETS - 1;
	c->after[k].accesses += p != NULL;
	while (w < c->ways && !(set[w].valid && set[w].line == line))
		w++;
	if (w == c->ways) {
		c->after[k].misses += p != NULL;
		count_miss(c, line, agent, p, n);
		w--;
		if (set[w].valid)
			*pm_map_put(&c->gone, set[w].line, NULL) = seq << 16 | agent;
		set[w] = (struct lap_cache_line){ line, agent, true };
	}
	if (w) {
		hit = set[w];
		memmove(set + 1, set, w * sizeof *set);
		set[0] = hit;
	}
}

static void counts(const struct lap_counts *n, const char *who, const struct lap_cache *c,
		   struct pm_result *r)
{
	static const char *const cause[] = { "cold", "by_itself", "by_kernel", "by_other" };
	uint64_t all = 0;

	for (unsigned i = 0; i < LAP_CAUSES; i++)
		all += n->misses[i];
	pm_result_begin(r, NULL);
	pm_result_str(r, "cache", c->name);
	pm_result_str(r, "mode", who);
	pm_result_u64(r, "accesses", n->accesses, "accesses");
	pm_result_u64(r, "misses", all, "misses");
	for (unsigned i = 0; i < LAP_CAUSES; i++)
		pm_result_u64(r, cause[i], n->misses[i], "misses");
	pm_result_u64(r, "by_switch", n->switched, "misses");
	pm_result_end(r);
}

void lap_cache_result(const struct lap_cache *c, struct pm_result *r)
{
	counts(&c->user, "user", c, r);
	counts(&c->kernel, "kernel", c, r);
}

const char *lap_agent(const struct lap_process *p, uint32_t agent, char *buf, size_t n)
{
	if (agent == LAP_KERNEL)
		return "kernel";
	snprintf(buf, n, "%llu %s", (unsigned long long)p[agent].pid, p[agent].name);
	return buf;
}

struct pair { uint64_t key, misses; };

static int more(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;

	if (p->misses != q->misses)
		return p->misses < q->misses ? 1 : -1;
	return p->key < q->key ? -1 : p->key > q->key;
}

void lap_cache_pairs(const struct lap_cache *c, const struct lap_process *p, unsigned most,
		     struct pm_result *r)
{
	struct pair *v = pm_alloc((c->pairs.n + 1) * sizeof *v);
	uint64_t key, n;
	size_t k = 0;
	char buf[100];

	for (size_t i = 0; pm_map_next(&c->pairs, &i, &key, &n); )
		v[k++] = (struct pair){ key, n };
	qsort(v, k, sizeof *v, more);
	for (size_t i = 0; i < k && i < most; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "cache", c->name);
		pm_result_u64(r, "misses", v[i].misses, "misses");
		pm_result_str(r, "of", lap_agent(p, (uint32_t)(v[i].key >> 16), buf, sizeof buf));
		pm_result_str(r, "displaced_by",
			      lap_agent(p, v[i].key & 0xffff, buf, sizeof buf));
		pm_result_end(r);
	}
	free(v);
}

void lap_cache_release(struct lap_cache *c)
{
	free(c->v);
	pm_map_release(&c->gone);
	pm_map_release(&c->pairs);
}
