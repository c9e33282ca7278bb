/* SPDX-License-Identifier: MIT */
/* findings_listing.c - see docs/report.md for what each one means */
#include <string.h>

#include "report/findings.h"
#include "report/listing_view.h"
#include "report/out.h"

#define DOMINANT	40.0		/* percent of instructions in one function */
#define FLAT		5.0		/* ... at most, in the function with the most */
#define HOT_LINE	20.0		/* percent of instructions in one source line */
#define MISS_SHARE	30.0		/* percent of an event in one line */
#define MISS_RATE	1.0		/* ... that happens so often in 1,000 instructions */
#define FAR_MISS_RATE	0.1		/* ... or so, if it goes to memory */
#define WRONG_RATE	10.0		/* percent of a branch's executions that mispredict */
#define WRONG_SHARE	10.0		/* ... if it has so many percent of all mispredictions */
#define WRONG_MPKI	0.5		/* ... of which there are so many per 1,000 instructions */
#define UNKNOWN_SHARE	10.0		/* percent of instructions without a symbol */
#define LINELESS_SHARE	50.0		/* ... with a symbol and without source line */

static int column(const struct pm_findings_listing *f, const char *name)
{
	return pm_costs_find(f->l->costs, name);
}

static uint64_t total(const struct pm_findings_listing *f, int k)
{
	return k < 0 ? 0 : f->v->total[k];
}

static double per_1000(uint64_t n, uint64_t insns)
{
	return insns ? 1000.0 * (double)n / (double)insns : 0;
}

static void functions(struct pm_overview *o, const struct pm_findings_listing *f, int ir)
{
	const struct pm_listing *l = f->l;
	uint64_t x[PM_COSTS_MAX], best = 0, unknown = 0, lineless = 0, sum = 0;
	size_t rank = 0, half = 0;
	char share[16], link[64];

	for (size_t i = 0; i < f->v->norder; i++) {
		const struct pm_listing_function *fn = l->function + f->v->order[i];
		const bool named = fn->name[0] != '[' && strcmp(fn->name, "???");

		pm_listing_sum(l, fn->first, fn->n, x);
		unknown += named ? 0 : x[ir];
		if (named && x[ir] > best) {
			best = x[ir];
			rank = i;
		}
		half += 2 * sum < total(f, ir);
		sum += x[ir];
		for (size_t k = fn->first; named && k < fn->first + fn->n; k++)
			lineless += l->insn[k].file ? 0 : l->costs->v[ir][l->insn[k].row];
	}
	if (pm_percent(best, total(f, ir)) >= DOMINANT)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD,
			.id = "dominant-function",
			.weight = pm_percent(best, total(f, ir)),
			.number = pm_report_share(pm_percent(best, total(f, ir)), share),
			.title = pm_overview_text(o, "of all instructions in one function: %s",
						  l->function[f->v->order[rank]].name),
			.text = "Work on anything else can save no more than the rest.",
			.link = f->function_link(f->page, rank, link) });
	else if (pm_percent(best + unknown, total(f, ir)) < FLAT && f->v->norder > 20)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "flat",
			.weight = 20, .number = pm_overview_text(o, "%zu", half),
			.title = "functions make half of the instructions: none stands out",
			.text = "Look at objects, call paths and the instruction mix rather "
			"than at "
				"single functions.",
			.link = "#functions" });
	if (pm_percent(unknown, total(f, ir)) >= UNKNOWN_SHARE)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_CAUTION,
			.id = "no-symbols", .weight = pm_percent(unknown, total(f, ir)),
			.number = pm_report_share(pm_percent(unknown, total(f, ir)), share),
			.title = "of all instructions in code without symbols",
			.text = "Stripped or generated code is summed by object, as [name]. "
				"Unstripped files or debug packages give it function names.",
			.link = "#functions" });
	if (pm_percent(lineless, total(f, ir)) >= LINELESS_SHARE)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_CAUTION,
			.id = "no-lines", .weight = pm_percent(lineless, total(f, ir)) / 2,
			.number = pm_report_share(pm_percent(lineless, total(f, ir)), share),
			.title = "of all instructions in functions without source lines",
			.text = "Compile with -g, or install the debug packages, and the source "
				"stands beside the instructions.",
			.link = "#code" });
}

static const char *line_name(struct pm_overview *o, const struct pm_findings_listing *f,
			     const struct pm_listing_line *n)
{
	return pm_overview_text(o, "%s:%u", pm_view_base_name(f->l->file[n->file]), n->line);
}

static void hot_line(struct pm_overview *o, const struct pm_findings_listing *f, int ir)
{
	const struct pm_listing_line *best = NULL;
	char share[16], link[64];
	double percent;

	for (size_t i = 0; i < f->nline; i++)
		if (!best || f->line[i].v[ir] > best->v[ir])
			best = f->line + i;
	percent = best ? pm_percent(best->v[ir], total(f, ir)) : 0;
	if (percent >= HOT_LINE)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "hot-line",
			.weight = percent - 1,
			.number = pm_report_share(percent, share),
			.title = pm_overview_text(o, "of all instructions in one source line: %s",
						  line_name(o, f, best)),
			.text = "A loop of a line or two: what the compiler made of it stands "
			"beside "
				"it.",
			.link = f->line_link(f->page, best->file, best->line, link) });
}

/* What is counted, in words that stand alone. */
static const char *event_words(struct pm_overview *o, const struct pm_costs_column *c)
{
	static const struct { const char *name, *words; } known[] = {
		{ "I1mr", "instruction fetches that miss the first cache" },
		{ "ILmr", "instruction fetches from memory" },
		{ "D1mr", "data reads that miss the first cache" },
		{ "DLmr", "data reads from memory" },
		{ "D1mw", "data writes that miss the first cache" },
		{ "DLmw", "data writes to memory" },
	};

	for (size_t i = 0; i < NR(known); i++)
		if (!strcmp(known[i].name, c->name))
			return pm_overview_text(o, "%s (%s)", known[i].words, c->name);
	return pm_overview_text(o, "%s (%s)", c->about, c->name);
}

/* Branches have findings of their own. */
static bool is_miss(const struct pm_costs_column *c)
{
	return c->trouble && c->name[0] != 'B' && !strstr(c->about, "predictor");
}

/* Lines that have much of an event that happens often: each once, with the event it has most of. */
static void missing_lines(struct pm_overview *o, const struct pm_findings_listing *f, int ir)
{
	const struct pm_costs *c = f->l->costs;

	for (size_t i = 0; i < f->nline; i++) {
		const struct pm_listing_line *at = f->line + i;
		unsigned best = 0;
		double most = 0;
		char share[16], link[64], insns[16];

		for (unsigned k = 0; k < c->ncolumn; k++) {
			const double rate = per_1000(f->v->total[k], total(f, ir)),
				     percent = pm_percent(at->v[k], f->v->total[k]);
			const double least = c->column[k].name[1] == 'L' ?
				FAR_MISS_RATE : MISS_RATE;

			if (is_miss(c->column + k) && f->v->total[k] >= PM_FINDINGS_LEAST &&
			    percent >= MISS_SHARE && rate >= least &&
			    percent > most) {
				most = percent;
				best = k;
			}
		}
		if (!most)
			continue;
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD,
			.id = "misses-in-one-line",
			.weight = 10 + most, .number = pm_report_share(most, share),
			.title = pm_overview_text(o, "of all %s: %s", event_words(o,
			c->column + best),
						  line_name(o, f, at)),
			.text = pm_overview_text(o, "The line has %s of all instructions. The "
			"event "
				"happens %.3g times per 1,000 of them.",
				pm_report_share(pm_percent(at->v[ir], total(f, ir)), insns),
				per_1000(f->v->total[best], total(f, ir))),
			.link = f->line_link(f->page, at->file, at->line, link) });
	}
}

/* The branches of kind @all of which most @missed. */
static void wrong_branch(struct pm_overview *o, const struct pm_findings_listing *f, int ir,
			 const char *all, const char *missed, const char *id, const char *what)
{
	const int k = column(f, all), m = column(f, missed);
	const struct pm_listing *l = f->l;
	size_t best = SIZE_MAX, rank = 0;
	uint64_t n = 0, of;
	char share[16], part[16], link[64];
	const char *where, *to;

	if (k < 0 || m < 0 || total(f, m) < PM_FINDINGS_LEAST ||
	    per_1000(total(f, m), total(f, ir)) < WRONG_MPKI)
		return;
	for (size_t i = 0; i < l->ninsn; i++)
		if (l->costs->v[m][l->insn[i].row] > n) {
			n = l->costs->v[m][l->insn[i].row];
			best = i;
		}
	of = best == SIZE_MAX ? 0 : l->costs->v[k][l->insn[best].row];
	if (pm_percent(n, of) < WRONG_RATE || pm_percent(n, total(f, m)) < WRONG_SHARE)
		return;
	while (rank < f->v->norder && f->v->order[rank] != l->insn[best].function)
		rank++;
	if (l->insn[best].file) {
		where = pm_overview_text(o, "%s:%u", pm_view_base_name(l->file[l->insn[best].file]),
					 l->insn[best].line);
		to = f->line_link(f->page, l->insn[best].file, l->insn[best].line, link);
	} else {
		where = l->function[l->insn[best].function].name;
		to = f->function_link(f->page, rank, link);
	}
	pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = id,
		.weight = 10 + pm_percent(n, total(f, m)), .number = pm_report_share(pm_percent(n,
		of), share),
		.title = pm_overview_text(o, "%s: %s", what, where),
		.text = pm_overview_text(o, "It makes %s of all %s. There are %.3g of them per "
		"1,000 instructions.",
			pm_report_share(pm_percent(n, total(f, m)), part), missed,
			per_1000(total(f, m), total(f, ir))),
		.link = to });
}

void pm_findings_listing(struct pm_overview *o, const struct pm_findings_listing *f)
{
	const int ir = column(f, "Ir");

	if (ir < 0 || !total(f, ir))
		return;
	if (f->v->sort == (unsigned)ir)
		functions(o, f, ir);
	hot_line(o, f, ir);
	missing_lines(o, f, ir);
	wrong_branch(o, f, ir, "Bc", "Bcm", "mispredicted-branch",
		     "of the executions of one conditional branch mispredicted");
	wrong_branch(o, f, ir, "Bi", "Bim", "many-targets",
		     "of the executions of one indirect branch mispredicted: it has many targets");
}
