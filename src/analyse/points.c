/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/confidence.h"
#include "analyse/points.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/xorshift.h"
#include "base/result.h"

static int by_interval(const void *a, const void *b)
{
	const struct pm_point_of_phase *x = a, *y = b;

	return x->interval < y->interval ? -1 : x->interval > y->interval;
}

static void add(struct pm_points *to, const struct pm_phases *found, size_t *cap, unsigned phase,
		size_t interval, bool representative, uint64_t warmup)
{
	const struct pm_phase_place *at = found->place + interval;
	const uint64_t end = interval + 1 < found->n ? at[1].first : found->insns;

	pm_grow(to->v, to->n, *cap);
	to->v[to->n++] = (struct pm_point_of_phase){
		.phase = phase, .representative = representative, .interval = interval,
		.first = at->first, .insns = end - at->first, .work = found->weight[interval],
		.warmup = warmup < at->first ? warmup : at->first,
		.pc = at->pc, .count = at->count,
	};
}

/* @more of a phase's intervals but @best, by chance; with the same seed always the same. */
static void add_others(struct pm_points *to, const struct pm_phases *found, size_t *cap,
		       const struct pm_clusters *c, unsigned phase, unsigned more,
		       uint64_t warmup)
{
	uint64_t x = 0x9e3779b97f4a7c15u * (phase + 1), left = to->members[phase] - 1;

	/* each of those that are left is taken with the chance that makes @more of all */
	for (size_t i = 0; i < found->n && more; i++) {
		if (c->of[i] != phase || i == c->best[phase])
			continue;
		if (pm_random(&x) % left-- < more) {
			add(to, found, cap, phase, i, false, warmup);
			more--;
		}
	}
}

void pm_points_choose(const struct pm_phases *found, unsigned each, uint64_t warmup,
		      struct pm_points *to)
{
	struct pm_clusters c = pm_cluster(found->point, found->weight, found->n, found->max_k);
	unsigned *of_phase;
	size_t cap = 0;

	*to = (struct pm_points){ .insns = found->insns, .interval = found->interval,
				  .intervals = found->n, .phases = c.k };
	to->share = pm_alloc((c.k + 1) * sizeof *to->share);
	to->members = pm_alloc((c.k + 1) * sizeof *to->members);
	of_phase = pm_alloc((c.k + 1) * sizeof *of_phase);
	for (size_t i = 0; i < found->n; i++) {
		to->work += found->weight[i];
		to->members[c.of[i]]++;
	}
	for (unsigned k = 0; k < c.k; k++) {
		to->share[k] = c.share[k];
		add(to, found, &cap, k, c.best[k], true, warmup);
		add_others(to, found, &cap, &c, k, each - 1, warmup);
	}
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, by_interval);
	for (size_t i = 0; i < to->n; i++)
		of_phase[to->v[i].phase]++;
	for (size_t i = 0; i < to->n; i++)
		to->v[i].weight = to->share[to->v[i].phase] / of_phase[to->v[i].phase];
	free(of_phase);
	pm_clusters_release(&c);
}

void pm_points_release(struct pm_points *p)
{
	free(p->share);
	free(p->members);
	free(p->v);
	*p = (struct pm_points){ 0 };
}

const char *pm_point_file(const struct pm_points *p, size_t i, char buf[static 32])
{
	snprintf(buf, 32, "%06llu.pug", (unsigned long long)p->v[i].interval);
	return buf;
}

/* ---- on disk -------------------------------------------------------------------------------- */

void pm_points_put(const struct pm_points *p, struct pm_result *to)
{
	char name[32];

	pm_result_u64(to, "instructions", p->insns, "instructions");
	pm_result_u64(to, "work", p->work, "instructions that do not wait");
	pm_result_u64(to, "interval", p->interval, "instructions");
	pm_result_u64(to, "intervals", p->intervals, "intervals");
	pm_result_begin_list(to, "phases");
	for (unsigned k = 0; k < p->phases; k++) {
		pm_result_begin(to, NULL);
		pm_result_u64(to, "phase", k, NULL);
		pm_result_f64(to, "share", p->share[k], "of instructions");
		pm_result_u64(to, "intervals", p->members[k], "intervals");
		pm_result_end(to);
	}
	pm_result_end(to);
	pm_result_begin_list(to, "points");
	for (size_t i = 0; i < p->n; i++) {
		const struct pm_point_of_phase *v = p->v + i;

		pm_result_begin(to, NULL);
		pm_result_u64(to, "phase", v->phase, NULL);
		pm_result_f64(to, "weight", v->weight, "of instructions");
		pm_result_u64(to, "interval", v->interval, "number from 0");
		pm_result_u64(to, "first", v->first, "instructions before it");
		pm_result_u64(to, "instructions", v->insns, "instructions");
		pm_result_u64(to, "work", v->work, "instructions");
		pm_result_u64(to, "warmup", v->warmup, "instructions before it in its file");
		if (v->count) {
			pm_result_hex(to, "loop", v->pc);
			pm_result_u64(to, "entry", v->count, "number from 1");
		}
		pm_result_bool(to, "representative", v->representative);
		pm_result_str(to, "file", pm_point_file(p, i, name));
		pm_result_end(to);
	}
	pm_result_end(to);
}

static enum pm_status get_u64(const struct pm_result_node *in, const char *name, uint64_t most,
			      uint64_t *v, struct pm_err *err)
{
	const struct pm_result_node *n = pm_result_find(in, name);

	if (!n || n->kind != PM_RESULT_U64 || n->u64 > most)
		return pm_fail_file(err, "expected a number '%s' up to %llu", name,
				    (unsigned long long)most);
	*v = n->u64;
	return PM_OK;
}

static enum pm_status get_part(const struct pm_result_node *in, const char *name, double *v,
			       struct pm_err *err)
{
	const struct pm_result_node *n = pm_result_find(in, name);

	*v = !n ? -1 : n->kind == PM_RESULT_F64 ? n->f64 : n->kind == PM_RESULT_U64 ?
		(double)n->u64 : -1;
	if (!(*v >= 0 && *v <= 1 + 1e-9))
		return pm_fail_file(err, "expected a number '%s' from 0 to 1", name);
	return PM_OK;
}

#define MOST_INSNS	(1ull << 60)
#define MOST_POINTS	100000u

static enum pm_status get_phases(const struct pm_result_node *list, struct pm_points *to,
				 struct pm_err *err)
{
	for (const struct pm_result_node *n = list ? list->first : NULL; n; n = n->next) {
		if (to->phases == MOST_POINTS)
			return pm_fail_file(err, "more than %u phases", MOST_POINTS);
		to->share = pm_realloc(to->share, (to->phases + 1) * sizeof *to->share);
		to->members = pm_realloc(to->members, (to->phases + 1) * sizeof *to->members);
		if (get_part(n, "share", to->share + to->phases, err) != PM_OK ||
		    get_u64(n, "intervals", MOST_INSNS, to->members + to->phases, err) != PM_OK)
			return PM_ERR;
		to->phases++;
	}
	return to->phases ? PM_OK : pm_fail_file(err, "expected a list 'phases'");
}

static enum pm_status get_point(const struct pm_result_node *n, const struct pm_points *p,
				struct pm_point_of_phase *to, struct pm_err *err)
{
	const struct pm_result_node *best = pm_result_find(n, "representative");
	uint64_t phase = 0;

	*to = (struct pm_point_of_phase){ .representative = best && best->kind == PM_RESULT_BOOL &&
					  best->u64 };
	if (get_u64(n, "phase", p->phases - 1, &phase, err) != PM_OK ||
	    get_part(n, "weight", &to->weight, err) != PM_OK ||
	    get_u64(n, "interval", MOST_INSNS, &to->interval, err) != PM_OK ||
	    get_u64(n, "first", MOST_INSNS, &to->first, err) != PM_OK ||
	    get_u64(n, "instructions", MOST_INSNS, &to->insns, err) != PM_OK ||
	    get_u64(n, "work", p->insns, &to->work, err) != PM_OK ||
	    get_u64(n, "warmup", to->first, &to->warmup, err) != PM_OK)
		return PM_ERR;
	to->phase = (unsigned)phase;
	return to->work ? PM_OK : pm_fail_file(err, "a point of no work");
}

enum pm_status pm_points_get(const struct pm_result_node *root, struct pm_points *to,
			     struct pm_err *err)
{
	const struct pm_result_node *list = pm_result_find(root, "points");
	size_t cap = 0;

	*to = (struct pm_points){ 0 };
	if (get_u64(root, "instructions", MOST_INSNS, &to->insns, err) != PM_OK ||
	    get_u64(root, "work", to->insns, &to->work, err) != PM_OK ||
	    get_u64(root, "interval", MOST_INSNS, &to->interval, err) != PM_OK ||
	    get_u64(root, "intervals", MOST_INSNS, &to->intervals, err) != PM_OK ||
	    get_phases(pm_result_find(root, "phases"), to, err) != PM_OK)
		goto fail;
	for (const struct pm_result_node *n = list ? list->first : NULL; n; n = n->next) {
		pm_grow(to->v, to->n, cap);
		if (to->n == MOST_POINTS || get_point(n, to, to->v + to->n, err) != PM_OK)
			goto fail;
		to->n++;
	}
	if (to->n)
		return PM_OK;
	pm_fail_file(err, "expected a list 'points'");
fail:
	if (!pm_failed(err))
		pm_fail_file(err, "more than %u points", MOST_POINTS);
	pm_points_release(to);
	return PM_ERR;
}

/* ---- the whole from its parts --------------------------------------------------------------- */

struct phase_sum { double value, work; struct pm_moments off; };

/* How far @s, of a phase with @members intervals and @share of all work, may be off: the variance
 * of its rate, weighted. Negative: not known. */
static double part_of_variance(const struct phase_sum *s, uint64_t points, uint64_t members,
			       double share)
{
	const double left = members > points ? 1 - (double)points / (double)members : 0;

	if (!(left > 0) || !points)
		return 0;
	return points < 2 ? -1 : share * share * pm_moments_variance(&s->off) /
				 (double)points * left;
}

struct pm_estimate pm_points_estimate(const struct pm_points *p, const double *value,
				      double confidence)
{
	struct phase_sum *s = pm_alloc((p->phases + 1) * sizeof *s);
	uint64_t *n = pm_alloc((p->phases + 1) * sizeof *n);
	struct pm_estimate e = { .bound = true };
	double variance = 0, parts = 0;

	for (size_t i = 0; i < p->n; i++) {
		s[p->v[i].phase].value += value[i];
		s[p->v[i].phase].work += (double)p->v[i].work;
		n[p->v[i].phase]++;
	}
	for (size_t i = 0; i < p->n; i++) {	/* of a ratio: what each point differs from it */
		struct phase_sum *of = s + p->v[i].phase;

		pm_moments_add(&of->off, (value[i] - of->value / of->work * (double)p->v[i].work) *
					 (double)n[p->v[i].phase] / of->work);
	}
	for (unsigned k = 0; k < p->phases; k++) {
		const double part = part_of_variance(s + k, n[k], p->members[k], p->share[k]);

		e.mean += s[k].work > 0 ? p->share[k] * s[k].value / s[k].work : 0;
		e.bound = e.bound && part >= 0;
		if (!(part > 0))
			continue;
		variance += part;
		parts += part * part / (double)(n[k] - 1);	/* F. Satterthwaite's degrees of
								 * freedom */
	}
	if (e.bound && variance > 0)
		e.half = sqrt(variance) *
			 pm_student_quantile((1 + confidence) / 2, variance * variance / parts);
	free(s);
	free(n);
	return e;
}
