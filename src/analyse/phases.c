/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/loop_entries.h"
#include "analyse/names.h"
#include "analyse/phases.h"

#define D PM_PHASE_DIMS

/* ---- clustering ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double distance(const double *a, const double *b)
{
	double s = 0;

	for (int d = 0; d < D; d++)
		s += (a[d] - b[d]) * (a[d] - b[d]);
	return s;
}

/* One run of Lloyd's algorithm; the sum of squared distances. */
static double lloyd(const double (*p)[D], size_t n, unsigned k, uint64_t seed, unsigned *of,
		    double (*c)[D])
{
	double *near = pm_alloc(n * sizeof *near), sum;
	size_t *count = pm_alloc(k * sizeof *count);

	/* k-means++: a next centre is chosen with a chance as the square of its distance */
	memcpy(c[0], p[mix(seed) % n], sizeof *c);
	for (size_t i = 0; i < n; i++)
		near[i] = DBL_MAX;
	for (unsigned j = 1; j < k; j++) {
		double total = 0, at;
		size_t pick = n - 1;

		for (size_t i = 0; i < n; i++) {
			double d = distance(p[i], c[j - 1]);

			if (d < near[i])
				near[i] = d;
			total += near[i];
		}
		at = (double)(mix(seed * 64 + j) >> 11) / 9007199254740992.0 * total;
		for (size_t i = 0; i < n; i++) {
			at -= near[i];
			if (at < 0) {
				pick = i;
				break;
			}
		}
		memcpy(c[j], p[pick], sizeof *c);
	}
	for (int round = 0; ; round++) {
		bool moved = round == 0;

		sum = 0;
		for (size_t i = 0; i < n; i++) {
			unsigned best = 0;
			double bd = DBL_MAX;

			for (unsigned j = 0; j < k; j++) {
				double d = distance(p[i], c[j]);

				if (d < bd) {
					bd = d;
					best = j;
				}
			}
			moved |= of[i] != best;
			of[i] = best;
			sum += bd;
		}
		if (!moved || round == 100)
			break;
		memset(count, 0, k * sizeof *count);
		for (size_t i = 0; i < n; i++)
			count[of[i]]++;
		for (unsigned j = 0; j < k; j++)
			if (count[j])	/* an empty cluster keeps its centre */
				memset(c[j], 0, sizeof *c);
		for (size_t i = 0; i < n; i++)
			for (int d = 0; d < D; d++)
				c[of[i]][d] += p[i][d] / count[of[i]];
	}
	free(near);
	free(count);
	return sum;
}

/* Bayesian information criterion of spherical clusters (Pelleg and Moore's X-means). */
static double bic(const unsigned *of, size_t n, unsigned k, double sum)
{
	size_t *count = pm_alloc(k * sizeof *count);
	double variance = n > k ? sum / ((double)(n - k) * D) : 0, like = 0;

	if (variance < 1e-12)
		variance = 1e-12;	/* points that coincide: no better fit is possible */
	for (size_t i = 0; i < n; i++)
		count[of[i]]++;
	for (unsigned j = 0; j < k; j++)
		if (count[j])
			like += count[j] * log((double)count[j] / n);
	like -= n * D / 2.0 * log(2 * M_PI * variance) + (double)(n - k) * D / 2.0;
	free(count);
	return like - (k - 1 + k * D + 1) / 2.0 * log(n);
}

struct pm_clusters pm_cluster(const double (*p)[D], const uint64_t *weight, size_t n,
			      unsigned max_k)
{
	struct pm_clusters out = { 0 };
	unsigned **of = pm_alloc((max_k + 1) * sizeof *of), pick = 1;
	double *score = pm_alloc((max_k + 1) * sizeof *score), lo = DBL_MAX, hi = -DBL_MAX,
	       total = 0, *near;
	double(*centre)[D] = pm_alloc(max_k * sizeof *centre),
	(*kept)[D] = pm_alloc(max_k * sizeof *kept);

	if (max_k > n)
		max_k = n;
	for (unsigned k = 1; k <= max_k; k++) {
		unsigned *now = pm_alloc(n * sizeof *now);
		double least = DBL_MAX;

		of[k] = pm_alloc(n * sizeof **of);
		for (uint64_t start = 0; start < 5; start++) {
			double sum = lloyd(p, n, k, start * 1000 + k, now, centre);

			if (sum < least) {
				least = sum;
				memcpy(of[k], now, n * sizeof *now);
			}
		}
		score[k] = bic(of[k], n, k, least);
		lo = fmin(lo, score[k]);
		hi = fmax(hi, score[k]);
		free(now);
	}
	while (pick < max_k && score[pick] < lo + 0.9 * (hi - lo))
		pick++;
	if (max_k) {
		size_t *count = pm_alloc(pick * sizeof *count);

		out.k = pick;
		out.of = of[pick];
		of[pick] = NULL;
		out.bic = score[pick];
		out.best = pm_alloc(pick * sizeof *out.best);
		out.share = pm_alloc(pick * sizeof *out.share);
		near = pm_alloc(pick * sizeof *near);
		for (size_t i = 0; i < n; i++)
			count[out.of[i]]++;
		for (size_t i = 0; i < n; i++) {
			for (int d = 0; d < D; d++)
				kept[out.of[i]][d] += p[i][d] / count[out.of[i]];
			out.share[out.of[i]] += weight[i];
			total += weight[i];
		}
		for (unsigned j = 0; j < pick; j++) {
			near[j] = DBL_MAX;
			out.share[j] /= total ? total : 1;
		}
		for (size_t i = 0; i < n; i++) {
			double d = distance(p[i], kept[out.of[i]]);

			if (d < near[out.of[i]]) {
				near[out.of[i]] = d;
				out.best[out.of[i]] = i;
			}
		}
		free(near);
		free(count);
	}
	for (unsigned k = 1; k <= max_k; k++)
		free(of[k]);
	free(of);
	free(score);
	free(centre);
	free(kept);
	return out;
}

void pm_clusters_release(struct pm_clusters *c)
{
	free(c->of);
	free(c->best);
	free(c->share);
	*c = (struct pm_clusters){ 0 };
}

/* ---- the sink ------------------------------------------------------------------------------- */

struct phases_sink {
	uint64_t interval, max_k, insns, in_block, next_pc;
	struct pm_map block;			/* pc -> id from 1 on */
	uint64_t *count;			/* by id, of this interval */
	uint32_t *used;				/* ids with a count, in order of appearance */
	size_t nused, cap_used, cap_count;
	uint32_t now;				/* the block that runs; 0: it begins with the
						 * next instruction */
	double (*point)[D];
	uint64_t *weight;
	struct pm_phase_place *place;		/* of each interval, and of the next one */
	size_t n, cap_point, cap_weight, cap_place;
	uint64_t seen;				/* instructions so far */
	struct pm_loops *loops;			/* intervals begin where loops are entered; NULL:
						 * they do not */
	char *path;
	FILE *bbv;
};

static void destroy(void *self)
{
	struct phases_sink *s = self;

	if (!s)
		return;
	if (s->bbv && s->bbv != stdout)
		fclose(s->bbv);
	pm_map_release(&s->block);
	free(s->count);
	free(s->used);
	free(s->point);
	free(s->weight);
	free(s->place);
	pm_loops_free(s->loops);
	free(s->path);
	free(s);
}

static enum pm_status parse(struct phases_sink *s, struct pm_conf *c, struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *v = it->n == 1 ? it->field[0].key : "";

		if (!strcmp(it->name, "interval")) {
			if (pm_conf_u64(c, it, v, "instructions per interval", 1, UINT64_MAX,
					&s->interval, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "k")) {
			if (pm_conf_u64(c, it, v, "clusters at most", 1, 100, &s->max_k, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "loops") && !it->n) {
			s->loops = s->loops ? s->loops : pm_loops_new();
		} else if (!strcmp(it->name, "bbv") && *v) {
			free(s->path);
			s->path = pm_strdup(v);
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"interval=N, k=N, loops, bbv=FILE");
		}
	}
	if (!s->path)
		return PM_OK;
	s->bbv = strcmp(s->path, "-") ? fopen(s->path, "w") : stdout;
	return s->bbv ? PM_OK : pm_conf_fail(c, NULL, err, "bbv=%s: %s", s->path, strerror(errno));
}

static void *create(const char *config, struct pm_err *err)
{
	struct phases_sink *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "phases", config, err);

	s->interval = 1000000;
	s->max_k = 10;
	if (!st)
		st = parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	destroy(s);
	return NULL;
}

static void add(struct phases_sink *s, uint32_t id, uint64_t insns)
{
	if (!insns)
		return;
	if (id >= s->cap_count) {
		size_t cap = s->cap_count ? s->cap_count * 2 : 1024;

		while (cap <= id)
			cap *= 2;
		s->count = pm_realloc(s->count, cap * sizeof *s->count);
		memset(s->count + s->cap_count, 0, (cap - s->cap_count) * sizeof *s->count);
		s->cap_count = cap;
	}
	if (!s->count[id]) {
		pm_grow(s->used, s->nused, s->cap_used);
		s->used[s->nused++] = id;
	}
	s->count[id] += insns;
}

static void begin_interval(struct phases_sink *s, uint64_t pc, uint64_t count)
{
	pm_grow(s->place, s->n, s->cap_place);
	s->place[s->n] = (struct pm_phase_place){ s->seen, pc, count };
}

/* The next one begins at the @count-th entry of the loop at @pc; 0: at no loop. */
static void end_interval(struct phases_sink *s, uint64_t pc, uint64_t count)
{
	double *p;

	add(s, s->now, s->in_block);
	s->in_block = 0;
	if (!s->insns)
		return;
	if (!s->n)
		s->place = pm_alloc((s->cap_place = 16) * sizeof *s->place);
	pm_grow(s->point, s->n, s->cap_point);
	pm_grow(s->weight, s->n, s->cap_weight);
	p = s->point[s->n];
	memset(p, 0, sizeof *s->point);
	if (s->bbv)
		putc('T', s->bbv);
	for (size_t i = 0; i < s->nused; i++) {
		uint32_t id = s->used[i];
		double part = (double)s->count[id] / s->insns;

		if (!s->count[id])	/* taken away again */
			continue;
		if (s->bbv)
			fprintf(s->bbv, ":%" PRIu32 ":%" PRIu64 " ", id, s->count[id]);
		for (int d = 0; d < D; d++)
			p[d] += part * ((double)(mix((uint64_t)id << 8 | (unsigned)d) >> 11) /
						4503599627370496.0 -
					1);
		s->count[id] = 0;
	}
	if (s->bbv)
		putc('\n', s->bbv);
	s->nused = 0;
	s->weight[s->n++] = s->insns;
	s->insns = 0;
	begin_interval(s, pc, count);
}

/* ---- intervals of whole loops --------------------------------------------------------------- */

static void loop_block(void *ctx, uint32_t thread, uint64_t pc, uint64_t insns, bool undo)
{
	struct phases_sink *s = ctx;
	bool fresh;
	uint64_t *id = pm_map_put(&s->block, pc ^ (uint64_t)thread << 48, &fresh), n = insns;

	if (fresh)
		*id = s->block.n;
	if (!undo) {
		add(s, (uint32_t)*id, n);
		s->insns += n;
	} else if (*id < s->cap_count) {	/* the interval may have begun meanwhile */
		n = n < s->count[*id] ? n : s->count[*id];
		s->count[*id] -= n;
		s->insns -= n;
	}
}

static void loop_entry(void *ctx, uint64_t pc, uint64_t count)
{
	struct phases_sink *s = ctx;

	if (s->insns >= s->interval)
		end_interval(s, pc, count);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct phases_sink *s = self;
	const struct pm_loops_to to = { loop_block, loop_entry, s };

	if (s->loops) {
		pm_loops_batch(s->loops, b, &to, &s->seen);
		return PM_OK;
	}
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		if (e->kind == PM_EV_BRANCH) {
			s->next_pc = UINT64_MAX;	/* whatever comes begins a block */
			continue;
		}
		if (e->kind != PM_EV_INSN)
			continue;
		if (s->insns == s->interval)
			end_interval(s, 0, 0);
		if (e->addr != s->next_pc) {
			bool fresh;
			uint64_t *id;

			add(s, s->now, s->in_block);
			s->in_block = 0;
			id = pm_map_put(&s->block, e->addr, &fresh);
			if (fresh)
				*id = s->block.n;
			s->now = *id;
		}
		s->in_block++;
		s->insns++;
		s->seen++;
		s->next_pc = e->addr + e->size;
	}
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct phases_sink *s = self;
	struct pm_clusters c;
	const struct pm_loops_to to = { loop_block, loop_entry, s };

	if (s->loops)
		pm_loops_flush(s->loops, &to);
	end_interval(s, 0, 0);
	if (s->bbv && (fflush(s->bbv) || ferror(s->bbv)))
		return pm_fail_errno(err, "phases: bbv=%s", s->path);
	if (!r)
		return PM_OK;
	c = pm_cluster((const double (*)[D])s->point, s->weight, s->n, s->max_k);
	pm_result_begin(r, "phases");
	pm_result_u64(r, "interval", s->interval, "instructions");
	pm_result_u64(r, "intervals", s->n, "intervals");
	pm_result_u64(r, "blocks", s->block.n, "blocks");
	pm_result_u64(r, "clusters", c.k, "clusters");
	pm_result_begin_list(r, "representatives");
	for (unsigned j = 0; j < c.k; j++) {
		pm_result_begin(r, NULL);
		pm_result_u64(r, "cluster", j, NULL);
		pm_result_f64(r, "weight", c.share[j], "share of instructions");
		pm_result_u64(r, "interval", c.best[j], "number from 0");
		pm_result_u64(r, "first_instruction", s->place[c.best[j]].first,
			      "instructions before it");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "over_time");	/* runs of intervals of one cluster */
	for (size_t i = 0, from = 0; i <= s->n && s->n; i++)
		if (i == s->n || c.of[i] != c.of[from]) {
			pm_result_begin(r, NULL);
			pm_result_u64(r, "from", from, "interval");
			pm_result_u64(r, "intervals", i - from, "intervals");
			pm_result_u64(r, "cluster", c.of[from], NULL);
			pm_result_end(r);
			from = i;
		}
	pm_result_end(r);
	pm_result_end(r);
	pm_clusters_release(&c);
	return PM_OK;
}

struct pm_phases pm_phases_found(const void *self)
{
	const struct phases_sink *s = self;

	return (struct pm_phases){ s->interval, s->n, (unsigned)s->max_k,
				   (const double (*)[D])s->point, s->weight, s->place, s->seen };
}

const struct pm_sink_ops pm_sim_phases = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS, .name = "phases",
	.about = "basic-block vectors, clustered into phases with representatives",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
