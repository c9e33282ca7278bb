/* SPDX-License-Identifier: MIT */
/* findings_profile.c - see docs/report.md for what each one means */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pugmark/pugmark.h"
#include "report/findings.h"
#include "report/out.h"

#define HOT_BLOCK	25.0		/* percent of instructions in one block */
#define LIBRARY		50.0		/* ... in one object that is not the program */
#define GENERATED	1.0		/* ... in code that the program made */
#define CALL_EVERY	25.0		/* instructions per call */
#define BRANCH_EVERY	4.0		/* instructions per block */
#define INDIRECT	1.0		/* percent of indirect jumps and calls */
#define DIVISIONS	0.5		/* percent of divisions and square roots */
#define SCALAR_FP	5.0		/* percent of floating point that is not vectors... */
#define SCALAR_OF_FP	90.0		/* ... and so much of all floating point */
#define REPS		0.1		/* percent of rep instructions */
#define SYSTEM_TIME	30.0		/* percent of processor time in the kernel */
#define WAITING		50.0		/* percent of the time in which no processor works for it */
#define LONG_ENOUGH	0.5		/* seconds: less of them says nothing */
#define ONE_THREAD	80.0		/* percent of instructions in one of several threads */

__attribute__((format(printf, 8, 9)))
static void find(struct pm_overview *o, enum pm_finding_kind kind, const char *id, double weight,
		 const char *number, const char *link, const char *title, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	pm_overview_find(o, (struct pm_finding){ .kind = kind, .id = id, .weight = weight,
		.number = number, .title = title, .text = text, .link = link });
}

static uint64_t of_mnemonics(const struct pm_profile *p, const char *const *name)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->nmnemonic; i++)
		for (size_t k = 0; name[k]; k++)
			if (!strcmp(p->mnemonic[i].name, name[k]))
				n += p->mnemonic[i].count;
	return n;
}

/* Floating-point arithmetic of SSE and AVX: on single values, or on vectors. */
static void fp_of(const struct pm_profile *p, uint64_t *scalar, uint64_t *vector)
{
	static const char *const stem[] = { "add", "sub", "mul", "div", "sqrt", "min", "max" };

	*scalar = *vector = 0;
	for (size_t i = 0; i < p->nmnemonic; i++) {
		const char *name = p->mnemonic[i].name;
		bool fused;

		name += name[0] == 'v';
		fused = !strncmp(name, "fmadd", 5) || !strncmp(name, "fmsub", 5) ||
			!strncmp(name, "fnmadd", 6) || !strncmp(name, "fnmsub", 6);
		for (size_t k = 0; k < NR(stem) + fused; k++) {
			const size_t n = strlen(name), m = k < NR(stem) ? strlen(stem[k]) : n - 2;

			if (n != m + 2 || (k < NR(stem) && strncmp(name, stem[k], m)) ||
			    (name[m + 1] != 's' && name[m + 1] != 'd'))
				continue;
			*scalar += name[m] == 's' ? p->mnemonic[i].count : 0;
			*vector += name[m] == 'p' ? p->mnemonic[i].count : 0;
			break;
		}
	}
}

static void mix(struct pm_overview *o, const struct pm_profile *p)
{
	static const char *const call[] = { "call", NULL },
		*const division[] = { "div", "idiv", "divss", "divsd", "divps", "divpd", "vdivss",
				      "vdivsd", "vdivps", "vdivpd", "sqrtss", "sqrtsd", "sqrtps",
				      "sqrtpd", "fdiv", "fsqrt", NULL };
	const uint64_t all = p->sum.insns, calls = of_mnemonics(p, call),
		       divisions = of_mnemonics(p, division);
	uint64_t scalar, vector;
	double percent;
	char share[16];

	if (calls && (double)all / (double)calls < CALL_EVERY)
		find(o, PM_FIND_ODD, "many-calls", 15,
		     pm_overview_text(o, "%.1f", (double)all / (double)calls), "#mix",
		     "instructions between calls", "Short functions: calling, saving registers and "
		     "returning are a large part of the work. Inlining would remove it.");
	if (p->sum.blocks && (double)all / (double)p->sum.blocks < BRANCH_EVERY)
		find(o, PM_FIND_ODD, "short-blocks", 8,
		     pm_overview_text(o, "%.1f", (double)all / (double)p->sum.blocks), "#blocks",
		     "instructions between branches", "Blocks are short: how well branches are "
		     "predicted decides the speed.");
	percent = pm_percent(divisions, all);
	if (percent >= DIVISIONS)
		find(o, PM_FIND_ODD, "divisions", 20 + percent, pm_report_share(percent, share),
			"#mix",
		     "of all instructions are divisions and square roots", "Each takes 10 to 40 "
		"cycles, as long as dozens of "
		     "other instructions.");
	fp_of(p, &scalar, &vector);
	percent = pm_percent(scalar, all);
	if (percent >= SCALAR_FP && pm_percent(scalar, scalar + vector) >= SCALAR_OF_FP)
		find(o, PM_FIND_ODD, "scalar-floating-point", 12 + percent,
		     pm_report_share(percent, share), "#mix",
		     "of all instructions are floating-point arithmetic on single values",
		"%.0f %% of the floating-point "
		     "arithmetic is scalar: loops of it are not vectorised.",
		     pm_percent(scalar, scalar + vector));
}

static void indirect(struct pm_overview *o, struct pm_profile *p)
{
	struct pm_profile_insn *v = NULL;
	uint64_t jumps = 0;
	size_t cap = 0;
	double percent;
	char share[16];

	for (size_t i = 0; i < p->nblock; i++) {
		const struct pm_profile_block b = pm_profile_block(p, i);

		if (b.n > cap) {
			cap = b.n;
			v = pm_realloc(v, cap * sizeof *v);
		}
		pm_profile_insns(p, (uint32_t)i, v);
		for (uint32_t k = 0; k < b.n; k++)
			if (v[k].flow == PM_CLASS_JUMP_IND || v[k].flow == PM_CLASS_CALL_IND)
				jumps += v[k].count;
	}
	free(v);
	percent = pm_percent(jumps, p->sum.insns);
	if (percent >= INDIRECT)
		find(o, PM_FIND_ODD, "indirect-branches", 15 + percent, pm_report_share(percent,
			share),
		     "#mix", "of all instructions are indirect jumps and calls",
		"Interpreters, virtual functions and function "
		     "pointers, calls of libraries. One that goes to many places is hard to "
		"predict.");
}

static void code(struct pm_overview *o, struct pm_profile *p)
{
	uint64_t most = 0, generated = 0, versions = 0;
	struct pm_profile_block before = { .object = UINT32_MAX };
	uint32_t hot = 0;
	char share[16], n[32];
	double percent;

	for (size_t i = 0; i < p->nblock; i++) {
		const struct pm_profile_block b = pm_profile_block(p, i);

		if (b.insns > most) {
			most = b.insns;
			hot = (uint32_t)i;
		}
		versions += b.object == before.object && b.addr == before.addr;
		before = b;
	}
	percent = pm_percent(most, p->sum.insns);
	if (percent >= HOT_BLOCK)
		find(o, PM_FIND_ODD, "hot-block", percent - 2, pm_report_share(percent, share),
			"#blocks",
		     pm_overview_text(o, "of all instructions in one block of %s",
				      pm_profile_name(p, pm_profile_function_of(p, hot, 0))),
		     "%u instructions in a row, executed %s times.", pm_profile_block(p, hot).n,
		     pm_report_number(pm_profile_block(p, hot).entries, n));
	for (size_t i = 0; i < p->nobject; i++)
		if (!strcmp(p->object[i].path, "[anon]"))
			generated += p->object[i].insns;
	percent = pm_percent(generated, p->sum.insns);
	if (percent >= GENERATED)
		find(o, PM_FIND_CAUTION, "generated-code", percent, pm_report_share(percent, share),
		     "#objects", "of all instructions in code that the program made",
		"A compiler at run time, "
		     "or trampolines: there are no symbols or lines for it.");
	if (versions)
		find(o, PM_FIND_CAUTION, "self-modifying-code", 20,
		     pm_overview_text(o, "%llu", (unsigned long long)versions), "#blocks",
		     "blocks that changed", "At one address different instructions ran: "
		     "self-modifying code, or memory that was used again for other code.");
}

static void objects(struct pm_overview *o, const struct pm_profile *p)
{
	const char *program = p->nprocess ? p->process[0].from->program : NULL;
	uint32_t *order;
	const size_t n = pm_profile_top_objects(p, &order);
	const struct pm_profile_object *first = n ? p->object + order[0] : NULL;
	const double percent = first ? pm_percent(first->insns, p->sum.insns) : 0;
	const char *base = first && strrchr(first->path, '/') ? strrchr(first->path, '/') + 1 : "";
	char share[16];

	free(order);
	if (p->nprocess == 1 && program && *base && percent >= LIBRARY && strcmp(first->path,
		program))
		find(o, PM_FIND_ODD, "library", percent - 3, pm_report_share(percent, share),
			"#objects",
		     pm_overview_text(o, "of all instructions in %s, not in the program", base),
		     "What the program asks of it matters more than the program's own code.");
}

static void times(struct pm_overview *o, const struct pm_profile *p)
{
	const struct pm_counts *c = p->counts;
	const double cpu = c->user_s + c->sys_s;
	/* pugmark's own work is no waiting */
	const double idle = c->wall_s > 0 ? 100 - 100 * (cpu + c->own_s) / c->wall_s : 0;
	char share[16];

	if (cpu >= LONG_ENOUGH && 100 * c->sys_s / cpu >= SYSTEM_TIME)
		find(o, PM_FIND_CAUTION, "system-time", 100 * c->sys_s / cpu,
		     pm_report_share(100 * c->sys_s / cpu, share), NULL,
		     "of the processor time in the kernel", "Instructions of the kernel are not "
		"counted here.");
	if (c->wall_s >= LONG_ENOUGH && idle >= WAITING)
		find(o, PM_FIND_CAUTION, "waiting", 30, pm_report_share(idle, share),
		     NULL, "of the time, the program waited",
		     "For input, for other processes, for locks. No count of instructions shows "
		"it.");
	for (size_t i = 0; i < p->nprocess; i++) {
		const struct pm_profile_process *pr = p->process + i;
		uint64_t most = 0;

		for (size_t t = 0; t < pr->nthread; t++)
			if (pr->thread[t].sum.insns > most)
				most = pr->thread[t].sum.insns;
		if (pr->nthread < 2 || pm_percent(most, pr->sum.insns) < ONE_THREAD)
			continue;
		find(o, PM_FIND_ODD, "one-thread", 18,
		     pm_report_share(pm_percent(most, pr->sum.insns), share), "#processes",
		     pm_overview_text(o, "of all instructions in one thread of %zu", pr->nthread),
		     "The others cannot make the whole faster. It is process %u.", pr->from->pid);
		break;
	}
}

void pm_findings_profile(struct pm_overview *o, struct pm_profile *p)
{
	const struct pm_profile_sum *s = &p->sum;
	const struct pm_counts *c = p->counts;
	char n[32];

	if (c->cut)
		find(o, PM_FIND_CAUTION, "incomplete", 100, "", "#processes",
		     "The replay ended before the program", "What was executed until then is "
		     "counted: %s.", c->cut);
	else if (p->incomplete)
		find(o, PM_FIND_CAUTION, "incomplete", 100, "", "#processes",
		     "A process was killed", "What it had executed until then is counted; the "
		"block in "
		     "which it was may be missing.");
	if (c->signal > 0)
		find(o, PM_FIND_CAUTION, "signal", 90, pm_overview_text(o, "%d", c->signal),
			"#processes",
		     "is the signal that ended the program", "The profile is of a run that did "
		"not finish.");
	if (s->unknown)
		find(o, PM_FIND_CAUTION, "unknown-instructions", 50, pm_report_number(s->unknown,
			n),
		     NULL, "instructions that the decoder does not know",
		     "They ran and are counted, but are in no block, and their references are "
		"missing.");
	if (pm_percent(s->reps, s->insns) >= REPS)
		find(o, PM_FIND_CAUTION, "rep-instructions", 10, pm_report_number(s->reps, n),
			"#mix",
		     "rep instructions, each counted once",
		     "A profile does not know how often each repeats: it has more references "
		"than shown.");
	if (!s->insns)
		return;
	code(o, p);
	objects(o, p);
	mix(o, p);
	indirect(o, p);
	times(o, p);
}
