/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "report/html.h"
#include "report/out.h"
#include "sweep/plots.h"

#define CONFIGS	100000u			/* of a simulator: more are no picture */
#define BARS	30u			/* of the best configurations */
#define MAPS	12u			/* heat maps of traces, besides that of all */

struct plots {
	struct sweep_table *t;
	const struct sweep_plots *o;
	const struct sweep_sim *sim;
	int value, cost_number, cost_param;	/* columns; -1: none */
	bool cost_sizes, more;
	size_t ntrace, n;		/* n: configurations */
	double *v;			/* [config * ntrace + trace]: mean over regions */
	uint32_t *nv;
	double *mean, *cost, *gain;	/* by configuration; NaN: none */
	uint32_t *ncost;
	/* of each number of the results, for this simulator */
	double *least, *most;
	size_t baseline;
	char **name;			/* of configurations: "l2=256k l2.way=8way" */
};

/* ---- what is shown -------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end) && (n == k || s[n - k - 1] == '.');
}

static enum pm_status note_range(void *to, const struct sweep_row *r, struct pm_err *err)
{
	struct plots *p = to;

	for (size_t i = 0; r->sim == p->sim && i < p->t->number.n; i++)
		if (!isnan(r->number_value[i])) {
			p->least[i] = fmin(p->least[i], r->number_value[i]);
			p->most[i] = fmax(p->most[i], r->number_value[i]);
		}
	return PM_OK;
}

/* The number that says most of what users ask for, and of such the one that varies most. */
static int choose_value(const struct plots *p)
{
	static const char *const wanted[] = {
		"ipc", "cpi", "mpki", "miss_ratio", "mispredict_ratio", "misses", "cycles",
	};
	int best = -1;

	for (size_t w = 0; w < NR(wanted) && best < 0; w++)
		for (size_t i = 0; i < p->t->number.n; i++)
			if (ends_with(p->t->number.v[i], wanted[w]) && p->most[i] > p->least[i] &&
			    (best < 0 || p->most[i] / fmax(p->least[i], 1e-12) >
			     p->most[best] / fmax(p->least[best], 1e-12)))
				best = (int)i;
	for (size_t i = 0; i < p->t->number.n && best < 0; i++)
		if (p->most[i] > p->least[i])
			best = (int)i;
	for (size_t i = 0; i < p->t->number.n && best < 0; i++)
		if (p->most[i] >= p->least[i])
			best = (int)i;
	return best;
}

static bool more_is_better(const char *name)
{
	static const char *const good[] = { "ipc", "hits", "hit_ratio", "accuracy" };

	for (size_t i = 0; i < NR(good); i++)
		if (ends_with(name, good[i]))
			return true;
	return false;
}

static enum pm_status choose(struct plots *p, struct pm_err *err)
{
	const struct sweep_plots *o = p->o;
	const struct sweep_table *t = p->t;

	p->sim = t->p->sim;
	for (size_t i = 0; o->simulator && i < t->p->nsim; i++)
		if (!strcmp(t->p->sim[i].name, o->simulator))
			p->sim = t->p->sim + i;
	if (o->simulator && strcmp(p->sim->name, o->simulator))
		return pm_fail_request(err, "the plan has no simulator '%s'", o->simulator);
	if (p->sim->n > CONFIGS)
		return pm_fail_request(err, "%s has more than %u configurations: too many for a "
				       "page; --csv and --parquet take all", p->sim->name, CONFIGS);
	for (size_t i = 0; i < t->number.n; i++) {
		p->least[i] = INFINITY;
		p->most[i] = -INFINITY;
	}
	if (sweep_table_each(p->t, note_range, p, err) != PM_OK)
		return PM_ERR;
	p->value = o->value ? sweep_table_number(t, o->value) : choose_value(p);
	if (o->value && p->value < 0)
		return pm_fail_request(err, "the results have no number '%s'; --csv has all names",
				       o->value);
	p->more = o->more || (p->value >= 0 && more_is_better(t->number.v[p->value]));
	p->cost_number = p->cost_param = -1;
	if (o->cost) {
		p->cost_param = sweep_table_param(t, o->cost);
		p->cost_number = sweep_table_number(t, o->cost);
		if (p->cost_param < 0 && p->cost_number < 0)
			return pm_fail_request(err, "'%s' is neither a parameter nor a number of "
					       "the results", o->cost);
	}
	for (size_t i = 0; i < t->number.n; i++)
		p->cost_sizes |= !o->cost && ends_with(t->number.v[i], "size") &&
				 p->most[i] >= p->least[i];
	return PM_OK;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static double cost_of(const struct plots *p, const struct sweep_row *r)
{
	double sum = 0;
	uint64_t v;

	if (p->cost_param >= 0 && r->param[p->cost_param])
		return pm_parse_size(r->param[p->cost_param], &v) ? (double)v : NAN;
	if (p->cost_number >= 0)
		return r->number_value[p->cost_number];
	if (!p->cost_sizes)
		return NAN;
	for (size_t i = 0; i < p->t->number.n; i++)
		if (ends_with(p->t->number.v[i], "size") && !isnan(r->number_value[i]))
			sum += r->number_value[i];
	return sum;
}

static enum pm_status add_row(void *to, const struct sweep_row *r, struct pm_err *err)
{
	struct plots *p = to;
	size_t c = (size_t)(r->job.config - p->sim->first), at;
	double v, cost;

	if (r->sim != p->sim || r->status != SWEEP_DONE)
		return PM_OK;
	v = r->number_value[p->value];
	cost = cost_of(p, r);
	at = c * p->ntrace + r->job.trace;
	if (!isnan(v)) {
		p->v[at] += v;
		p->nv[at]++;
	}
	if (!isnan(cost)) {
		p->cost[c] += cost;
		p->ncost[c]++;
	}
	return PM_OK;
}

static char *config_name(const struct plots *p, size_t c)
{
	struct pm_buf b = { 0 };

	for (size_t i = 0; i < p->sim->nparam; i++) {
		const struct sweep_param *k = p->t->p->param + p->sim->param[i];

		pm_buf_printf(&b, "%s%s=%s", i ? " " : "", k->name,
			      k->values.v[sweep_plan_value(p->t->p, p->sim, i,
							   p->sim->first + c)]);
	}
	if (!p->sim->nparam)
		pm_buf_printf(&b, "%s", p->sim->text);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

/* "l2=256k,l2.way=8way": the first configuration that has all of these. */
static enum pm_status find_baseline(struct plots *p, struct pm_err *err)
{
	char *copy, *at, *one;

	for (size_t c = 0; p->o->baseline && c < p->n; c++) {
		bool all = true;

		at = copy = pm_strdup(p->o->baseline);
		while ((one = strsep(&at, ","))) {
			char *eq = strrchr(one, '=');
			bool is = false;

			if (eq)
				*eq = 0;
			for (size_t i = 0; eq && i < p->sim->nparam; i++) {
				const struct sweep_param *k = p->t->p->param + p->sim->param[i];
				size_t v = sweep_plan_value(p->t->p, p->sim, i, p->sim->first + c);

				is |= !strcmp(k->name, one) && !strcmp(k->values.v[v], eq + 1);
			}
			all &= is;
		}
		free(copy);
		if (all) {
			p->baseline = c;
			return PM_OK;
		}
	}
	return p->o->baseline ? pm_fail_request(err, "no configuration of %s has '%s'; expected "
						"PARAMETER=VALUE,...", p->sim->name,
						p->o->baseline) : PM_OK;
}

static double value_at(const struct plots *p, size_t c, size_t trace)
{
	size_t at = c * p->ntrace + trace;

	return p->nv[at] ? p->v[at] / p->nv[at] : NAN;
}

/* Against the baseline, over the traces that both have: above 1 is better. */
static double geometric_mean(const struct plots *p, size_t c)
{
	double sum = 0;
	unsigned n = 0;

	for (size_t i = 0; i < p->ntrace; i++) {
		double is = value_at(p, c, i), was = value_at(p, p->baseline, i);

		if (!(is > 0) || !(was > 0))	/* of nothing there is no ratio */
			continue;
		sum += log(p->more ? is / was : was / is);
		n++;
	}
	return n ? exp(sum / n) : NAN;
}

static enum pm_status compute(struct plots *p, struct pm_err *err)
{
	if (sweep_table_each(p->t, add_row, p, err) != PM_OK || find_baseline(p, err) != PM_OK)
		return PM_ERR;
	for (size_t c = 0; c < p->n; c++) {
		double sum = 0;
		unsigned n = 0;

		for (size_t i = 0; i < p->ntrace; i++) {
			double v = value_at(p, c, i);

			if (!isnan(v)) {
				sum += v;
				n++;
			}
		}
		/* a mean of other traces than the others' is no comparison */
		p->mean[c] = n == p->ntrace ? sum / n : NAN;
		p->cost[c] = p->ncost[c] ? p->cost[c] / p->ncost[c] : NAN;
		p->gain[c] = geometric_mean(p, c);
		p->name[c] = config_name(p, c);
	}
	return PM_OK;
}

/* ---- the page ------------------------------------------------------------------------------- */

/* Index into the simulator's parameters of the one called @name, or the @k-th that varies; -1. */
static int param_index(const struct plots *p, const char *name, int other)
{
	for (size_t i = 0; i < p->sim->nparam; i++) {
		const struct sweep_param *k = p->t->p->param + p->sim->param[i];

		if (name ? !strcmp(k->name, name) : k->values.n > 1 && (int)i != other)
			return (int)i;
	}
	return -1;
}

/* Means over all that x and y do not say; @trace SIZE_MAX: of all traces. */
static void heat_of(const struct plots *p, int x, int y, size_t trace, double *v, size_t nx,
		    size_t ny)
{
	unsigned *n = pm_alloc(nx * ny * sizeof *n);

	memset(v, 0, nx * ny * sizeof *v);
	for (size_t c = 0; c < p->n; c++) {
		double is = trace == SIZE_MAX ? p->mean[c] : value_at(p, c, trace);
		size_t at = sweep_plan_value(p->t->p, p->sim, (size_t)y, p->sim->first + c) * nx +
			    sweep_plan_value(p->t->p, p->sim, (size_t)x, p->sim->first + c);

		if (isnan(is))
			continue;
		v[at] += is;
		n[at]++;
	}
	for (size_t i = 0; i < nx * ny; i++)
		v[i] = n[i] ? v[i] / n[i] : NAN;
	free(n);
}

static enum pm_status heat_maps(const struct plots *p, struct pm_html *h, struct pm_err *err)
{
	/* whichever is given comes first: the other one is another then */
	int y = p->o->y ? param_index(p, p->o->y, -1) : -1;
	int x = param_index(p, p->o->x, y);
	const struct sweep_param *px, *py;
	char title[300];
	double *v;

	if ((p->o->x && x < 0) || (p->o->y && y < 0))
		return pm_fail_request(err, "%s has no parameter '%s'", p->sim->name,
				       p->o->x && x < 0 ? p->o->x : p->o->y);
	if (!p->o->y)
		y = param_index(p, NULL, x);
	if (x < 0 || y < 0 || x == y)
		return PM_OK;
	px = p->t->p->param + p->sim->param[x];
	py = p->t->p->param + p->sim->param[y];
	if (px->values.n > 400 || py->values.n > 400)
		return PM_OK;
	v = pm_alloc(px->values.n * py->values.n * sizeof *v);
	pm_html_section(h, "Two parameters", "means over what the axes do not say");
	for (size_t i = 0; i < p->ntrace + 1 && i <= MAPS; i++) {
		heat_of(p, x, y, i ? i - 1 : SIZE_MAX, v, px->values.n, py->values.n);
		if (i && p->ntrace == 1)
			break;
		snprintf(title, sizeof title, "%s, %s", p->t->number.v[p->value],
			 i ? p->t->p->trace[i - 1].name : "mean of all traces");
		sweep_svg_heat(h, title, px->name, py->name, (const char *const *)px->values.v,
			       px->values.n, (const char *const *)py->values.v, py->values.n, v);
	}
	free(v);
	return PM_OK;
}

static const struct plots *sorting;	/* qsort() takes no argument */

static int by_cost(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (sorting->cost[x] != sorting->cost[y])
		return sorting->cost[x] < sorting->cost[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_gain(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (sorting->gain[x] != sorting->gain[y])
		return sorting->gain[x] > sorting->gain[y] ? -1 : 1;
	/* the cheaper one of two equals */
	if (!isnan(sorting->cost[x]) && !isnan(sorting->cost[y]) &&
	    sorting->cost[x] != sorting->cost[y])
		return sorting->cost[x] < sorting->cost[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Those that have a value; sorted by @by. */
static size_t order_of(const struct plots *p, const double *value, size_t *order,
		       int (*by)(const void *, const void *))
{
	size_t n = 0;

	for (size_t c = 0; c < p->n; c++)
		if (!isnan(value[c]) && (by != by_cost || !isnan(p->mean[c])))
			order[n++] = c;
	sorting = p;
	qsort(order, n, sizeof *order, by);
	return n;
}

/* Nothing that costs as much or less is as good. */
static void mark_front(const struct plots *p, const size_t *order, size_t n, bool *on)
{
	double best = NAN;

	for (size_t i = 0; i < n; i++) {
		double v = p->mean[order[i]];
		bool least = true;

		for (size_t k = i + 1; k < n && p->cost[order[k]] == p->cost[order[i]]; k++)
			least &= p->more ? p->mean[order[k]] <= v : p->mean[order[k]] >= v;
		if (least && (isnan(best) || (p->more ? v > best : v < best))) {
			on[order[i]] = true;
			best = v;
		}
	}
}

static void front(const struct plots *p, struct pm_html *h, bool *on)
{
	size_t *order = pm_alloc(p->n * sizeof *order), n = order_of(p, p->cost, order, by_cost);
	double *x = pm_alloc((n + 1) * sizeof *x), *y = pm_alloc((n + 1) * sizeof *y);
	bool *marked = pm_alloc((n + 1) * sizeof *marked);
	const char **name = pm_alloc((n + 1) * sizeof *name);
	char title[300];

	mark_front(p, order, n, on);
	for (size_t i = 0; i < n; i++) {
		x[i] = p->cost[order[i]];
		y[i] = p->mean[order[i]];
		marked[i] = on[order[i]];
		name[i] = p->name[order[i]];
	}
	snprintf(title, sizeof title, "%s against %s; the line joins what nothing cheaper beats",
		 p->t->number.v[p->value], p->o->cost ? p->o->cost : "bytes of all caches");
	if (n > 1) {
		pm_html_section(h, "Pareto front", NULL);
		sweep_svg_front(h, title, p->o->cost ? p->o->cost : "bytes of all caches", "", x,
				y, marked, name, n);
	}
	free(order);
	free(x);
	free(y);
	free(marked);
	free(name);
}

/* Simulators of what is no cache cost nothing, unless the user says what. */
static bool has_costs(const struct plots *p)
{
	for (size_t c = 0; c < p->n; c++)
		if (!isnan(p->cost[c]))
			return true;
	return false;
}

/* A bar for each gain that there is, the best first: of configurations that are as good the first
 * in @order, and how many more. */
static size_t put_bars(const struct plots *p, const size_t *order, size_t n, double *v, char **name)
{
	size_t made = 0;

	for (size_t i = 0, end; i < n && made < BARS; i = end) {
		struct pm_buf b = { 0 };

		for (end = i + 1; end < n && p->gain[order[end]] == p->gain[order[i]]; end++)
			;
		pm_buf_printf(&b, "%s", p->name[order[i]]);
		if (end - i > 1)
			pm_buf_printf(&b, " (+%zu)", end - i - 1);
		pm_buf_add(&b, "", 1);
		v[made] = p->gain[order[i]];
		name[made++] = (char *)b.p;
	}
	return made;
}

static void bars(const struct plots *p, struct pm_html *h)
{
	size_t *order = pm_alloc(p->n * sizeof *order), n = order_of(p, p->gain, order, by_gain);
	char *name[BARS], title[400];
	double v[BARS];
	const size_t made = put_bars(p, order, n, v, name);

	if (made > 1) {
		snprintf(title, sizeof title, "%s against %s, geometric mean over traces%s%s",
			 p->t->number.v[p->value], p->name[p->baseline],
			 made == BARS ? "; the best" : "",
			 made < n && has_costs(p) ?
			 "; (+N): so many more are as good, and cost as much or more" :
			 made < n ? "; (+N): so many more are as good" : "");
		pm_html_section(h, "Speed-up", "above 1 is better than the baseline");
		sweep_svg_bars(h, title, (const char *const *)name, v, made);
	}
	for (size_t i = 0; i < made; i++)
		free(name[i]);
	free(order);
}

static void cell_or_none(struct pm_html *h, double v)
{
	char text[32];

	snprintf(text, sizeof text, fabs(v) < 1e15 && v == floor(v) ? "%.0f" : "%.6g", v);
	if (isnan(v))
		pm_html_cell(h, "");
	else
		pm_html_cell_number(h, v, text);
}

static void table(const struct plots *p, struct pm_html *h, const bool *on)
{
	const size_t traces = p->ntrace <= 20 ? p->ntrace : 0;
	const bool costs = has_costs(p);
	struct pm_buf head = { 0 };

	pm_html_section(h, "Configurations", p->t->number.v[p->value]);
	for (size_t i = 0; i < p->sim->nparam; i++)
		pm_buf_printf(&head, "%s|", p->t->p->param[p->sim->param[i]].name);
	if (!p->sim->nparam)
		pm_buf_printf(&head, "Configuration|");
	pm_buf_printf(&head, "#Mean%s|#Against baseline%s", costs ? "|#Cost" : "",
		      costs ? "|On the front" : "");
	for (size_t i = 0; i < traces; i++)
		pm_buf_printf(&head, "|#%s", p->t->p->trace[i].name);
	pm_buf_add(&head, "", 1);
	pm_html_table_begin(h, "configurations", (const char *)head.p, -1, PM_HTML_RISING);
	for (size_t c = 0; c < p->n; c++) {
		for (size_t i = 0; i < p->sim->nparam; i++)
			pm_html_cell(h, p->t->p->param[p->sim->param[i]].values.v[
				sweep_plan_value(p->t->p, p->sim, i, p->sim->first + c)]);
		if (!p->sim->nparam)
			pm_html_cell(h, p->name[c]);
		cell_or_none(h, p->mean[c]);
		if (costs)
			cell_or_none(h, p->cost[c]);
		cell_or_none(h, p->gain[c]);
		if (costs)
			pm_html_cell(h, on[c] ? "yes" : "");
		for (size_t i = 0; i < traces; i++)
			cell_or_none(h, value_at(p, c, i));
	}
	pm_html_table_end(h, NULL);
	pm_buf_release(&head);
}

static enum pm_status page(const struct plots *p, const char *path, struct pm_err *err)
{
	bool *on = pm_alloc((p->n + 1) * sizeof *on);
	enum pm_status s;
	struct pm_html h;
	char number[32];

	pm_html_begin(&h, "Sweep", p->t->d->path);
	pm_html_view(&h, "overview", p->sim->name, "Sweep");
	pm_html_cards_begin(&h);
	pm_html_card(&h, "Simulator", p->sim->name, p->sim->text);
	pm_html_card(&h, "Configurations", pm_report_number(p->n, number), NULL);
	pm_html_card(&h, "Traces", pm_report_number(p->ntrace, number), NULL);
	pm_html_card(&h, "Results", pm_report_number(p->t->done, number), NULL);
	if (p->t->rows > p->t->done)
		pm_html_card(&h, "Without result", pm_report_number(p->t->rows - p->t->done,
								      number), "failed or missing");
	pm_html_cards_end(&h);
	s = heat_maps(p, &h, err);
	if (!s) {
		front(p, &h, on);
		bars(p, &h);
		table(p, &h, on);
		s = pm_html_finish(&h, path, err);
	}
	pm_html_release(&h);
	free(on);
	return s;
}

enum pm_status sweep_plots_html(struct sweep_table *t, const struct sweep_plots *o,
				const char *path, struct pm_err *err)
{
	struct plots p = { .t = t, .o = o, .ntrace = t->p->ntrace,
			   .least = pm_alloc((t->number.n + 1) * sizeof *p.least),
			   .most = pm_alloc((t->number.n + 1) * sizeof *p.most) };
	enum pm_status s = choose(&p, err);

	if (!s && p.value < 0) {
		err->file = t->d->path;
		s = pm_fail_file(err, "no result of %s has a number: nothing to draw",
				 p.sim->name);
	}
	if (!s) {
		p.n = (size_t)p.sim->n;
		p.v = pm_alloc(p.n * p.ntrace * sizeof *p.v);
		p.nv = pm_alloc(p.n * p.ntrace * sizeof *p.nv);
		p.mean = pm_alloc(p.n * sizeof *p.mean);
		p.cost = pm_alloc(p.n * sizeof *p.cost);
		p.gain = pm_alloc(p.n * sizeof *p.gain);
		p.ncost = pm_alloc(p.n * sizeof *p.ncost);
		p.name = pm_alloc(p.n * sizeof *p.name);
		s = compute(&p, err);
	}
	if (!s)
		s = page(&p, path, err);
	for (size_t i = 0; p.name && i < p.n; i++)
		free(p.name[i]);
	free(p.name);
	free(p.v);
	free(p.nv);
	free(p.mean);
	free(p.cost);
	free(p.gain);
	free(p.ncost);
	free(p.least);
	free(p.most);
	return s;
}
