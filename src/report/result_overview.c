/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "report/findings.h"
#include "report/out.h"
#include "report/overview.h"
#include "report/result_facts.h"
#include "report/result_view.h"

static const struct pm_result_node *at(const struct pm_result_node *o, const char *first,
				       const char *second)
{
	const struct pm_result_node *n = o ? pm_result_find(o, first) : NULL;

	return n && second ? pm_result_find(n, second) : n;
}

static void number(struct pm_overview *o, const char *label, const struct pm_result_node *n)
{
	char num[32];

	if (n && n->kind == PM_RESULT_U64)
		pm_overview_fact(o, label, pm_report_number(n->u64, num), NULL);
}

static const char *seconds(struct pm_overview *o, const struct pm_result_node *n)
{
	return n && n->kind == PM_RESULT_F64 ? pm_overview_text(o, "%.2f s", n->f64) : NULL;
}

static void when(struct pm_overview *o, const struct pm_result_node *root, const char *file)
{
	const struct pm_result_node *wall = at(root, "wall_s", NULL);
	struct stat s;

	if (wall && wall->kind == PM_RESULT_F64)
		pm_overview_when(o, "started", time(NULL) - (time_t)wall->f64);
	else if (file && !stat(file, &s) && S_ISREG(s.st_mode))
		pm_overview_when(o, "trace written", s.st_mtime);
}

static void facts(struct pm_overview *o, const struct pm_result_node *root, const char *file)
{
	const struct pm_result_node *end = at(root, "exit", NULL);
	const struct pm_result_node *signal = at(end, "signal", NULL),
				    *status = at(end, "status", NULL);
	const char *user = seconds(o, at(root, "user_s", NULL)),
		   *system = seconds(o, at(root, "sys_s", NULL)),
		   *wall = seconds(o, at(root, "wall_s", NULL));

	when(o, root, file);
	if (wall)
		pm_overview_fact(o, "time", wall, user && system ?
				 pm_overview_text(o, "%s user, %s system", user, system) : NULL);
	if (at(root, "instructions", NULL))
		number(o, "instructions", at(root, "instructions", NULL));
	else if (at(root, "insns", "instructions"))
		number(o, "instructions", at(root, "insns", "instructions"));
	else
		number(o, "instructions", at(root, "cachegrind", "Ir"));
	if (o->processes)
		pm_overview_fact(o, "processes", pm_overview_text(o, "%zu", o->processes), NULL);
	if (o->threads)
		pm_overview_fact(o, "threads", pm_overview_text(o, "%zu", o->threads), NULL);
	number(o, "reads", at(root, "insns", "reads"));
	number(o, "writes", at(root, "insns", "writes"));
	if (signal && signal->kind == PM_RESULT_U64)
		pm_overview_fact(o, "ended by", pm_overview_text(o, "signal %u",
			(unsigned)signal->u64),
				 NULL);
	else if (status && status->kind == PM_RESULT_U64)
		pm_overview_fact(o, "exit status", pm_overview_text(o, "%u", (unsigned)status->u64),
				 NULL);
}

/* What ran, for a shell; NULL: results do not say. */
static const char *command_of(struct pm_overview *o, const struct pm_result_node *program)
{
	char *argv[256];
	size_t n = 0;

	for (const struct pm_result_node *a = program ? program->first : NULL; a; a = a->next)
		if (a->kind == PM_RESULT_STR && n + 1 < NR(argv))
			argv[n++] = (char *)(uintptr_t)a->str;
	argv[n] = NULL;
	return n ? pm_overview_command(o, argv) : NULL;
}

/* `pugmark run -q OPTIONS -- PROGRAM`, or `pugmark sim OPTIONS TRACE`: another look at it. */
static void ask(struct pm_overview *o, const char *question, const char *program,
		const char *trace, const char *options)
{
	pm_overview_try(o, question, program ?
		pm_overview_text(o, "pugmark run -q %s -- %s", options, program) :
		pm_overview_text(o, "pugmark sim %s %s", options, trace));
}

static bool is_identifier(const char *s)
{
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return *s && !isdigit((unsigned char)*s);
}

void pm_overview_asks(struct pm_overview *o, const struct pm_result_node *root, const char *program,
		      const char *trace)
{
	const char *function = o->ntop[PM_TOP_FUNCTIONS] ? o->top[PM_TOP_FUNCTIONS][0].name : "";

	if (!program && !root->first) {		/* a stored profile: there are no events any more */
		pm_overview_try(o, "What does each source line cost, as text?",
				pm_overview_text(o, "pugmark annotate --lines %s", trace));
		return;
	}
	if (!pm_result_find(root, "cachegrind"))
		ask(o, "Which lines miss the caches, and which branches mispredict?", program,
			trace,
		    "--sim cachegrind --html lines.html");
	if (!pm_result_find(root, "calls"))
		ask(o, "Who calls whom?", program, trace, "--sim calls --html calls.html");
	if (!pm_result_find(root, "core"))
		ask(o, "Which instructions would stall a modern core?", program, trace,
		    "--sim core:byinsn --html core.html");
	if (!pm_result_find(root, "reuse") && o->nfinding)
		ask(o, "How large would a cache have to be?", program, trace,
		    "--sim reuse --html reuse.html");
	if (program && is_identifier(function) && o->top[PM_TOP_FUNCTIONS][0].percent >= 20)
		ask(o, pm_overview_text(o, "What do the first million instructions from %s on do?",
					function), program, trace,
		    pm_overview_text(o, "--start-at %s --for 1000000 --usual --html part.html",
				     function));
	if (program)
		pm_overview_try(o, "More questions to the same run, without running it again?",
				pm_overview_text(o, "pugmark run -q --exec -o run.pug -- %s",
					program));
	else
		pm_overview_try(o, "What does each source line cost, as text?",
				pm_overview_text(o, "pugmark annotate --lines %s", trace));
}

void pm_result_overview(const struct pm_result *r, const char *file, struct pm_overview *o)
{
	const struct pm_result_node *root = pm_result_root(r);
	const char *program = command_of(o, pm_result_find(root, "program")), *trace = NULL;

	if (!program && file) {
		char *argv[] = { (char *)(uintptr_t)file, NULL };

		trace = pm_overview_command(o, argv);
	}
	o->command = program ? program : trace;
	o->what = program ? "Program" : root->first ? "Trace" : "Profile";
	facts(o, root, file);
	pm_findings_result(o, root);
	if (o->command && (program || strcmp(trace, "-")))
		pm_overview_asks(o, root, program, trace);
}
