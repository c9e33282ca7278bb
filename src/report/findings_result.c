/* SPDX-License-Identifier: MIT */
/* findings_result.c - see docs/report.md for what each one means */
#include <string.h>

#include "report/findings.h"
#include "report/out.h"
#include "report/result_facts.h"

#define L1D_MPKI	20.0		/* misses per 1,000 instructions of a first data cache */
#define L1I_MPKI	5.0		/* ... of a first instruction cache */
#define LAST_MPKI	1.0		/* ... of the last cache: accesses to memory */
#define BRANCH_MPKI	5.0		/* mispredictions of the best predictor, likewise */
#define INDIRECT_MPKI	1.0		/* ... of the best for indirect branches... */
#define INDIRECT_WRONG	10.0		/* ... if it is wrong so often, in percent */
#define OBJECT_SHARE	50.0		/* percent of first-level misses in one data object */

static double number_at(const struct pm_result_node *o, const char *name)
{
	const struct pm_result_node *n = o ? pm_result_find(o, name) : NULL;

	return n && pm_result_numeric(n) ? pm_result_number(n) : 0;
}

/* The view of the result @name: result_html.c counts alike. */
static const char *view_of(struct pm_overview *o, const struct pm_result_node *root,
			   const char *name)
{
	unsigned number = 0;

	for (const struct pm_result_node *c = root->first; c; c = c->next) {
		number++;
		if (c->name && !strcmp(c->name, name))
			return pm_overview_text(o, "#result-%u", number);
	}
	return NULL;
}

static void one_cache(struct pm_overview *o, const struct pm_result_node *root,
		      const struct pm_result_node *level, const char *id, const char *why)
{
	const double mpki = number_at(level, "mpki");
	char rate[16];

	pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = id,
		.weight = mpki > 60 ? 60 : mpki,
		.number = pm_overview_text(o, "%.1f", mpki),
		.title = pm_overview_text(o, "misses of %s per 1,000 instructions", level->name),
		.text = pm_overview_text(o, "%s of what reaches it misses. %s",
			pm_report_rate(100 * number_at(level, "miss_ratio"), rate), why),
		.link = view_of(o, root, "cache") });
}

static void caches(struct pm_overview *o, const struct pm_result_node *root)
{
	const struct pm_result_node *cache = pm_result_find(root, "cache"), *last = NULL;

	for (const struct pm_result_node *l = cache ? cache->first : NULL; l; l = l->next) {
		if (pm_result_scalar(l) || !pm_result_find(l, "mpki") ||
		    number_at(l, "misses") < PM_FINDINGS_LEAST)
			continue;
		if (!strcmp(l->name, "l1d") && number_at(l, "mpki") >= L1D_MPKI)
			one_cache(o, root, l, "l1d-misses",
				  "Smaller or better ordered data would stay in it.");
		if (!strcmp(l->name, "l1i") && number_at(l, "mpki") >= L1I_MPKI)
			one_cache(o, root, l, "l1i-misses",
				  "The code that runs together does not fit, or is spread out.");
		last = l;
	}
	if (last && strncmp(last->name, "l1", 2) && number_at(last, "mpki") >= LAST_MPKI)
		one_cache(o, root, last, "memory-accesses",
			  "It is the last cache: each of them waits for memory.");
}

/* Of those that predict the branches that @first does, the one with the fewest mispredictions. */
static const struct pm_result_node *best_like(const struct pm_result_node *first)
{
	const struct pm_result_node *best = first;

	for (const struct pm_result_node *p = first; p; p = p->next)
		if (number_at(p, "branches") == number_at(first, "branches") &&
		    number_at(p, "mispredictions") < number_at(best, "mispredictions"))
			best = p;
	return best;
}

static void predictors(struct pm_overview *o, const struct pm_result_node *root)
{
	const struct pm_result_node *bpred = pm_result_find(root, "bpred");
	const struct pm_result_node *first = bpred ? bpred->first : NULL, *best;
	char rate[16];

	if (!first || pm_result_scalar(first))
		return;
	best = best_like(first);
	if (number_at(best, "mpki") >= BRANCH_MPKI &&
	    number_at(best, "mispredictions") >= PM_FINDINGS_LEAST)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "hard-branches",
			.weight = 30 + number_at(best, "mpki"),
			.number = pm_overview_text(o, "%.1f", number_at(best, "mpki")),
			.title = "mispredictions per 1,000 instructions, with the best predictor",
			.text = pm_overview_text(o, "%s still gets %s of the branches wrong: they "
				"depend on data rather than on history.", best->name,
				pm_report_rate(100 - 100 * number_at(best, "accuracy"), rate)),
			.link = view_of(o, root, "bpred") });
	for (size_t i = 0; i < o->nfinding; i++)	/* said already, with its place */
		if (!strcmp(o->finding[i].id, "many-targets"))
			return;
	for (const struct pm_result_node *p = first; p; p = p->next) {
		const double wrong = 100 - 100 * number_at(p, "accuracy");

		/* of the same branches, said once */
		if (number_at(p, "branches") == number_at(first, "branches") || best_like(p) != p ||
		    number_at(p, "mispredictions") < PM_FINDINGS_LEAST ||
		    number_at(p, "mpki") < INDIRECT_MPKI || wrong < INDIRECT_WRONG)
			continue;
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "hard-targets",
			.weight = 25 + number_at(p, "mpki"), .number = pm_report_rate(wrong, rate),
			.title = pm_overview_text(o, "of targets that %s gets wrong", p->name),
			.text = pm_overview_text(o, "%.3g times per 1,000 instructions. "
			"Indirect jumps and "
				"calls go to many places in no order that it sees.", number_at(p,
				"mpki")),
			.link = view_of(o, root, "bpred") });
	}
}

/* A variable or an allocation: not the stack, nor what a file has without symbols. */
static bool is_one_object(const struct pm_result_node *row)
{
	const struct pm_result_node *kind = pm_result_find(row, "kind"),
				    *name = pm_result_find(row, "object");

	return kind && kind->kind == PM_RESULT_STR && name && name->kind == PM_RESULT_STR &&
	       (!strcmp(kind->str, "variable") || !strcmp(kind->str, "heap"));
}

static void data_objects(struct pm_overview *o, const struct pm_result_node *root)
{
	const struct pm_result_node *objects = pm_result_find(root, "objects"), *best = NULL;
	const struct pm_result_node *list = objects ? pm_result_find(objects, "by_object") : NULL;
	double sum = 0;
	char share[16];

	for (const struct pm_result_node *row = list ? list->first : NULL; row; row = row->next) {
		sum += number_at(row, "l1_misses");
		if (is_one_object(row) &&
		    (!best || number_at(row, "l1_misses") > number_at(best, "l1_misses")))
			best = row;
	}
	if (sum < PM_FINDINGS_LEAST || 100 * number_at(best, "l1_misses") < OBJECT_SHARE * sum)
		return;
	pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "misses-in-one-object",
		.weight = 100 * number_at(best, "l1_misses") / sum,
		.number = pm_report_share(100 * number_at(best, "l1_misses") / sum, share),
		.title = pm_overview_text(o, "of first-level misses in one data object: %s",
					  pm_result_find(best, "object")->str),
		.text = "Of the misses of all objects that are listed. Its layout decides.",
		.link = view_of(o, root, "objects") });
}

static void few_words(struct pm_overview *o, const struct pm_result_node *root)
{
	const struct pm_result_node *phases = pm_result_find(root, "phases"),
				    *memory = pm_result_find(root, "memory"),
				    *insns = pm_result_find(root, "insns");
	char n[32];

	if (number_at(phases, "clusters") > 1)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "phases",
			.weight = 5,
			.number = pm_overview_text(o, "%.0f", number_at(phases, "clusters")),
			.title = "phases: the program does different things in turn",
			.text = "Totals mix them. The table names an interval that stands for "
			"each, "
				"and what it weighs.",
			.link = view_of(o, root, "phases") });
	if (number_at(memory, "falsely_shared_lines") > 0)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_ODD, .id = "false-sharing",
			.weight = 55,
			.number = pm_overview_text(o, "%.0f", number_at(memory,
			"falsely_shared_lines")),
			.title = "cache lines that threads share without sharing data",
			.text = "Each write takes the line away from the other threads' caches.",
			.link = view_of(o, root, "memory") });
	if (number_at(insns, "unknown") > 0)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_CAUTION,
			.id = "unknown-instructions", .weight = 10,
			.number = pm_report_number((uint64_t)number_at(insns, "unknown"), n),
			.title = "instructions that the decoder does not know",
			.text = "They ran, but their references to memory are missing.",
			.link = view_of(o, root, "insns") });
}

static void part_only(struct pm_overview *o, const struct pm_result_node *root)
{
	const struct pm_result_node *complete = pm_result_find(root, "complete");
	const char *why = pm_result_find_text(root, "reason");

	if (complete && complete->kind == PM_RESULT_BOOL && !complete->u64)
		pm_overview_find(o, (struct pm_finding){ .kind = PM_FIND_CAUTION, .weight = 100,
			.id = "incomplete", .number = "",
			.title = "of a part of the trace: what stands before an error",
			.text = pm_overview_text(o, "All numbers are of that part: %s.",
						 why ? why : "its end is missing") });
}

void pm_findings_result(struct pm_overview *o, const struct pm_result_node *root)
{
	part_only(o, root);
	caches(o, root);
	predictors(o, root);
	data_objects(o, root);
	few_words(o, root);
}
