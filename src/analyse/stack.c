/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/stack.h"
#include "base/mem.h"

struct pm_stack *pm_stack_new(unsigned line_shift, unsigned first, unsigned n, unsigned ways)
{
	struct pm_stack *s = pm_alloc(sizeof *s);

	s->line_shift = line_shift;
	s->first = first;
	s->n = n;
	s->ways = ways;
	for (unsigned i = 0; i < n; i++) {
		s->tag[i] = pm_alloc(((size_t)ways << (first + i)) * sizeof **s->tag);
		s->hist[i] = pm_alloc(ways * sizeof **s->hist);
	}
	return s;
}

void pm_stack_free(struct pm_stack *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		free(s->tag[i]);
		free(s->hist[i]);
	}
	free(s);
}

/* HOT: once per lookup and set count until the line is the most recent of its set. A list that does
 * not hold the line loses its last one. */
void pm_stack_run(struct pm_stack *s, const uint64_t *addr, size_t n)
{
	const unsigned ways = s->ways, shift = s->line_shift, levels = s->n;
	uint64_t last = s->last;

	for (size_t k = 0; k < n; k++) {
		uint64_t line = (addr[k] >> shift) + 1;

		if (line == last) {
			s->stop[0]++;
			continue;
		}
		last = line;
		for (unsigned i = 0; i < levels; i++) {
			uint64_t sets = 1ull << (s->first + i);
			uint64_t *set = s->tag[i] + ((line - 1) & (sets - 1)) * ways;
			uint64_t e = set[0];
			unsigned w;

			if (e == line) {
				s->stop[i]++;
				break;
			}
			set[0] = line;
			for (w = 1; w < ways; w++) {	/* everything before the line moves down
							 * by one */
				uint64_t next = set[w];

				set[w] = e;
				if (next == line)
					break;
				e = next;
			}
			if (w < ways)
				s->hist[i][w]++;
		}
	}
	s->last = last;
	s->lookups += n;
}

uint64_t pm_stack_misses(const struct pm_stack *s, unsigned i, unsigned ways)
{
	uint64_t hits = 0;

	for (unsigned j = 0; j <= i; j++)
		hits += s->stop[j];
	for (unsigned w = 1; w < ways; w++)
		hits += s->hist[i][w];
	return s->lookups - hits;
}

/* ---- the sink ------------------------------------------------------------------------------- */

enum kinds { KIND_ALL, KIND_INSNS, KIND_DATA, KINDS };
static const char *const kind_names[] = { "all", "insns", "data", "split", NULL };
#define LINES 8

struct all {
	struct pm_stack *stack[LINES][KINDS];
	unsigned line[LINES], nline;
	bool on[KINDS];
	uint64_t buf[4096];
	struct pm_map segment;
};

static enum pm_status all_parse(struct all *a, struct pm_conf *c, struct pm_err *err)
{
	uint64_t line[LINES] = { 64 }, from = 16, to = 16384, ways = 16;
	unsigned nline = 1;
	char names[80];

	a->on[KIND_ALL] = true;
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *v = it->n ? it->field[0].key : "";

		if (!strcmp(it->name, "line")) {
			if (!it->n || it->n > LINES)
				return pm_conf_fail(c, it, err,
						    "1 to %d line sizes, as in line=32,64", LINES);
			nline = it->n;
			for (unsigned k = 0; k < nline; k++)
				if (pm_conf_pow2(c, it, it->field[k].key, "line size", 4, 65536,
						 line + k, err))
					return PM_ERR;
			for (unsigned k = 1; k < nline; k++)
				for (unsigned j = 0; j < k; j++)
					if (line[j] == line[k])
						return pm_conf_fail(c, it, err,
								    "%s bytes are given twice",
								    it->field[k].key);
		} else if (it->n != 1) {
			return pm_conf_fail(c, NULL, err,
					    "'%s' is not a setting with one value; allowed: "
					    "line=N,..., sets=FROM-TO, ways=N, "
					    "refs=all|insns|data|split",
					    it->name);
		} else if (!strcmp(it->name, "ways")) {
			if (pm_conf_u64(c, it, v, "ways", 1, 256, &ways, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "sets")) {
			char *dash = strchr(v, '-'), lo[32] = "";

			if (!dash || dash - v >= (long)sizeof lo)
				return pm_conf_fail(c, it, err, "'%s' is no range FROM-TO", v);
			memcpy(lo, v, dash - v);
			if (pm_conf_pow2(c, it, lo, "fewest sets", 1, 1 << 23, &from, err) ||
			    pm_conf_pow2(c, it, dash + 1, "most sets", from, 1 << 23, &to, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "refs")) {
			int k = pm_conf_word(v, kind_names);

			if (k < 0)
				return pm_conf_unknown(c, it, err, v, "are no references",
						       pm_conf_names(kind_names, names,
								     sizeof names));
			memset(a->on, 0, sizeof a->on);
			a->on[k == KINDS ? KIND_INSNS : k] = true;
			a->on[k == KINDS ? KIND_DATA : k] = true;
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"line, sets, ways, refs");
		}
	}
	if (to * ways > 1u << 23)
		return pm_conf_fail(c, NULL, err,
				    "%llu sets of %llu ways are more than the 8388608 lines that "
				    "are allowed",
				    (unsigned long long)to, (unsigned long long)ways);
	a->nline = nline;
	for (unsigned l = 0; l < nline; l++) {
		a->line[l] = line[l];
		for (unsigned k = 0; k < KINDS; k++)
			if (a->on[k])
				a->stack[l][k] = pm_stack_new(__builtin_ctzll(line[l]),
							      __builtin_ctzll(from),
							      __builtin_ctzll(to / from) + 1, ways);
	}
	return PM_OK;
}

static void destroy(void *self)
{
	struct all *a = self;

	if (!a)
		return;
	for (unsigned l = 0; l < LINES; l++)
		for (unsigned k = 0; k < KINDS; k++)
			pm_stack_free(a->stack[l][k]);
	pm_map_release(&a->segment);
	free(a);
}

static void *create(const char *config, struct pm_err *err)
{
	struct all *a = pm_alloc(sizeof *a);
	struct pm_conf c;
	enum pm_status s = pm_conf_parse(&c, "allcache", config, err);

	if (!s)
		s = all_parse(a, &c, err);
	pm_conf_release(&c);
	if (!s)
		return a;
	destroy(a);
	return NULL;
}

static bool of_kind(unsigned kind, const struct pm_event *e)
{
	bool fetch = e->kind == PM_EV_INSN || e->kind == PM_EV_LINE;
	bool data = e->kind == PM_EV_READ || e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY;

	return kind == KIND_ALL ? fetch || data : kind == KIND_INSNS ? fetch : data;
}

/* Addresses of different spaces differ in their high bits, as in cache.c. */
static uint64_t key_of(struct all *a, uint64_t space, uint64_t addr)
{
	uint64_t high = addr >> 48, *v;
	bool fresh;

	if (!space && !high)
		return addr;
	v = pm_map_put(&a->segment, space << 16 | high, &fresh);
	if (fresh)
		*v = a->segment.n;	/* from 1 on: 0 is (no space, low half) */
	return (addr & 0xffffffffffff) | *v << 48;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct all *a = self;
	uint64_t space = b->stream ? b->stream->space : 0, base = key_of(a, space, 0);

	for (unsigned l = 0; l < a->nline; l++)
		for (unsigned k = 0; k < KINDS; k++) {
			uint64_t line = a->line[l];
			size_t n = 0;

			if (!a->stack[l][k])
				continue;
			for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
				uint64_t at = e->addr | base, last;

				if (!of_kind(k, e))
					continue;
				if (e->addr >> 48)
					at = key_of(a, space, e->addr);
				last = (at + (e->size ? e->size : 1) - 1) & ~(line - 1);
				for (;; at = (at & ~(line - 1)) + line) {
					a->buf[n++] = at;
					/* the second half of a read-modify-write is a lookup too,
					 * and always hits */
					if (e->kind == PM_EV_MODIFY)
						a->buf[n++] = at;
					if (n >= NR(a->buf) - 2) {
						pm_stack_run(a->stack[l][k], a->buf, n);
						n = 0;
					}
					if ((at & ~(line - 1)) >= last)
						break;
				}
			}
			pm_stack_run(a->stack[l][k], a->buf, n);
		}
	if (a->segment.n > 65535)
		return pm_fail_file(err, "allcache: more than 65535 address spaces");
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct all *a = self;

	if (!r)
		return PM_OK;
	pm_result_begin(r, "allcache");
	pm_result_begin_list(r, "geometries");
	for (unsigned l = 0; l < a->nline; l++)
		for (unsigned k = 0; k < KINDS; k++) {
			const struct pm_stack *s = a->stack[l][k];

			for (unsigned i = 0; s && i < s->n; i++)
				for (unsigned w = 1; w <= s->ways; w++) {
					uint64_t m = pm_stack_misses(s, i, w);

					pm_result_begin(r, NULL);
					pm_result_str(r, "refs", kind_names[k]);
					pm_result_u64(r, "size",
						      (uint64_t)a->line[l] * w << (s->first + i),
						      "bytes");
					pm_result_u64(r, "line", a->line[l], "bytes");
					pm_result_u64(r, "sets", 1ull << (s->first + i), NULL);
					pm_result_u64(r, "ways", w, NULL);
					pm_result_u64(r, "accesses", s->lookups, "lookups");
					pm_result_u64(r, "misses", m, "lookups");
					pm_result_f64(r, "miss_ratio",
						      s->lookups ? (double)m / s->lookups : 0,
						      "misses/access");
					pm_result_end(r);
				}
		}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_allcache = {
	.abi = PM_ABI, .flags = PM_SINK_REFS, .name = "allcache",
	.about = "all LRU caches of a line size in one pass",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
