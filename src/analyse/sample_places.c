/* SPDX-License-Identifier: MIT */
/* sample_places.c - where the windows of a sample are
 *
 * Plainly: in each period at a place by chance, every place as likely as another.
 *
 * With counts of thousands (thousands.h): a guess of the cycles of each window that there may be
 * is a fifth of a cycle for each instruction, and for each count its weight. Windows are chosen
 * with probability proportional to their guess: all guesses are laid end to end, this line is cut
 * into as many periods of the same length, in each a point by chance is chosen, and the window is
 * measured in whose guess it lies. So what may take long is measured nearly always: 10 of 200,000
 * windows have 2 % of cc1's cycles. The mean of cycles / guess over the points is an unbiased
 * estimate of all cycles / all guesses, however bad guesses are (M. Hansen and W. Hurwitz, On the
 * Theory of Sampling from Finite Populations, Annals of Mathematical Statistics 14, 1943). A
 * window with more than one point counts so many times, and is simulated once. */
#include <stdlib.h>
#include <string.h>

#include "analyse/sample_work.h"
#include "base/mem.h"
#include "base/xorshift.h"

#define GUESS_OF_INSN	0.2

static const double weight[PM_THOUSAND_COUNTS] = {
#define C(name, weight, about) [PM_THOUSAND_##name] = weight,
	PM_NEAR_COUNTS(C)
	PM_FAR_COUNTS(C)
#undef C
};

/* Tell @use of every window that there may be, in order: its first instruction and counts. */
static void each_window(const struct sampler *s, void *ctx,
			void (*use)(void *ctx, uint64_t start, const double *count))
{
	const size_t rows = s->o->window / PM_THOUSAND;
	uint32_t *row = pm_alloc((s->warm->every / PM_THOUSAND + 1) * PM_THOUSAND_COUNTS *
				 sizeof *row);
	double count[PM_THOUSAND_COUNTS] = { 0 };
	uint64_t start = 0;
	size_t have = 0;

	for (size_t i = 0; i < s->warm->n; i++) {
		const size_t n = pm_warm_thousands(s->warm, i);

		pm_warm_counts(s->warm, i, row);
		for (size_t j = 0; j < n; j++) {
			for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
				count[k] += row[j * PM_THOUSAND_COUNTS + k];
			if (++have < rows)
				continue;
			/* the instruction behind a window says that it is over */
			if (start + s->o->window < s->insns)
				use(ctx, start, count);
			start += s->o->window;
			have = 0;
			memset(count, 0, sizeof count);
		}
	}
	free(row);
}

static double guess_of(const struct sampler *s, const double *count)
{
	double v = GUESS_OF_INSN * (double)s->o->window;

	for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
		v += weight[k] * count[k];
	return v;
}

struct guessing {
	struct sampler *s;
	uint64_t seed, windows, last;	/* last: the window before */
	uint64_t next;			/* the period that needs a window */
	double all, so_far, point;	/* point: of @next */
};

static void add_guess(void *ctx, uint64_t start, const double *count)
{
	struct guessing *g = ctx;

	for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
		g->s->known[k] += count[k];
	g->all += guess_of(g->s, count);
	g->windows++;
	g->last = start;
}

static void choose_point(struct guessing *g)
{
	const double part = g->all / (double)g->s->n;

	g->point = part * ((double)g->next + (double)pm_random(&g->seed) / 4294967296.0);
}

static void choose(void *ctx, uint64_t start, const double *count)
{
	struct guessing *g = ctx;
	struct sampler *s = g->s;
	const double guess = guess_of(s, count);
	const uint64_t first = g->next;

	g->so_far += guess;
	/* rounding may leave points behind the end of the line: they are the last window's */
	while (g->next < s->n && (g->point < g->so_far || start == g->last)) {
		double *to = s->count + g->next * PM_THOUSAND_COUNTS;

		s->start[g->next] = start;
		s->same[g->next] = first;
		s->guess[g->next] = guess;
		for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
			to[k] = count[k] / guess;
		g->next++;
		choose_point(g);
	}
}

static void place_plainly(struct sampler *s, uint64_t seed)
{
	const uint64_t room = s->period - s->o->window - s->o->warmup;

	for (uint64_t i = 0; i < s->n; i++) {
		s->start[i] = i * s->period + s->o->warmup + pm_random(&seed) % (room + 1);
		s->same[i] = i;
		/* the instruction behind a window says that it is over */
		if (s->start[i] + s->o->window >= s->insns)
			s->start[i] = UINT64_MAX;
	}
}

void sample_place_windows(struct sampler *s)
{
	const uint64_t seed = s->o->seed * 0x9e3779b97f4a7c15u + 1;
	struct guessing g = { .s = s, .seed = seed };

	s->start = pm_alloc(s->n * sizeof *s->start);
	s->same = pm_alloc(s->n * sizeof *s->same);
	s->scale = 1;
	s->plain_because = !s->warm->counted
			? "the store's intervals are not a multiple of 1000 instructions"
			: s->o->window % PM_THOUSAND
			? "windows are not a multiple of 1000 instructions"
			/* nothing needs to be guessed */
			: s->period < 2 * s->o->window ? "half of all instructions are measured"
						       : NULL;
	s->guessed = !s->plain_because;
	if (!s->guessed) {
		place_plainly(s, seed);
		return;
	}
	s->guess = pm_alloc(s->n * sizeof *s->guess);
	s->count = pm_alloc(s->n * PM_THOUSAND_COUNTS * sizeof *s->count);
	each_window(s, &g, add_guess);
	for (unsigned k = 0; k < PM_THOUSAND_COUNTS; k++)
		s->known[k] /= g.all;
	s->scale = g.all / (double)(g.windows * s->o->window);
	choose_point(&g);
	each_window(s, &g, choose);
}

void sample_places_release(struct sampler *s)
{
	free(s->start);
	free(s->same);
	free(s->guess);
	free(s->count);
}
