/* SPDX-License-Identifier: MIT */
#include "cli/machine_guest.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyse/sims.h"
#include "base/elapsed.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"

static volatile int interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static enum pm_status set_up(const struct machine_guest *g, struct pm_pipeline *p,
			     struct pm_err *err)
{
	const char *refs_format = g->refs_format;

	pm_pipeline_info(p, "source", "QEMU");
	pm_pipeline_info(p, "isa", g->qemu.guest);
	pm_pipeline_info(p, "program", g->qemu.kernel);
	for (unsigned i = 0; i < g->sims->n; i++)
		if (pm_sink_add(p, g->sims->v[i], pm_sims, err) != PM_OK)
			return PM_ERR;
	if (g->trace &&
	    pm_trace_create(p, g->trace, g->trace_format, QS_FACTS, err) != PM_OK)
		return PM_ERR;
	if (g->refs && !refs_format) {
		const struct pm_format *f = pm_format_by_name(g->refs);

		refs_format = f && strcmp(f->name, "laplace") ? f->name
			      : strcmp(g->qemu.guest, "i386") ? "laplace64" : "laplace";
	}
	if (g->refs && pm_trace_create(p, g->refs, refs_format, QS_FACTS, err) != PM_OK)
		return PM_ERR;
	return pm_pipeline_start(p, QS_FACTS, "traces of x86 guests", err);
}

static void put_run(struct pm_result *r, const struct qs_totals *t, enum qemu_end how,
		    double seconds)
{
	static const char *const name[] = {
		[QEMU_POWERED_OFF] = "power-off", [QEMU_RESET] = "reset", [QEMU_LIMIT] = "limit",
		[QEMU_INTERRUPTED] = "interrupted",
	};

	pm_result_begin(r, "guest");
	pm_result_str(r, "ended", name[how]);
	pm_result_u64(r, "instructions", t->instructions, "instructions");
	pm_result_u64(r, "reads", t->reads, "references");
	pm_result_u64(r, "writes", t->writes, "references");
	pm_result_u64(r, "interrupts", t->interrupts, NULL);
	pm_result_u64(r, "switches", t->switches, NULL);
	pm_result_u64(r, "cut_blocks", t->cut, "blocks");
	pm_result_u64(r, "attempts", t->attempts, "instructions");
	pm_result_u64(r, "further_goes", t->goes, NULL);
	pm_result_u64(r, "unexplained", t->unexplained, "blocks");
	pm_result_f64(r, "seconds", seconds, "s");
	pm_result_f64(r, "mips", (double)t->instructions / seconds / 1e6, NULL);
	pm_result_end(r);
}

/* What is to be printed and written once it has ended. */
static enum pm_status report(const struct machine_guest *g, const struct pm_result *r,
			     const struct qs_totals *t, double seconds, struct pm_err *err)
{
	if (g->stats)
		fprintf(stderr, "%" PRIu64 " instructions, %" PRIu64 " references, %" PRIu64
			" interrupts, %" PRIu64 " switches, %.3f s, %.1f MIPS\n", t->instructions,
			t->reads + t->writes, t->interrupts, t->switches, seconds,
			(double)t->instructions / seconds / 1e6);
	if (g->json)
		return traces_json(r, g->json) ? PM_ERR : PM_OK;
	return g->sims->n ? pm_result_print(r, 20, err) : PM_OK;
}

int machine_guest(struct machine_guest *g)
{
	struct pm_err err = { 0 }, ended = { 0 };
	enum qemu_end how = QEMU_POWERED_OFF;
	struct qs_reader *r = NULL;
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_result *result = pm_result_for("machine-guest");
	const struct qs_totals *t;
	double seconds = pm_now();
	enum pm_status st = qemu_check(&g->qemu, &err);

	g->qemu.interrupted = &interrupted;
	if (st == PM_OK)
		st = set_up(g, p, &err);
	if (st == PM_OK) {
		signal(SIGINT, on_signal);
		signal(SIGTERM, on_signal);
		r = qs_reader_new(p, g->qemu.limit);
		st = qemu_run(&g->qemu, r, p, &how, &ended, &err);
		seconds = pm_now() - seconds;
		t = qs_reader_totals(r);
		if (st == PM_OK && !t->instructions) {
			if (!pm_failed(&ended))
				pm_fail_file(&ended, "the guest ended before it had turned on "
					     "paging: there is nothing to trace");
			err = ended;
			st = PM_ERR;
		}
		if (st == PM_OK)
			st = qs_reader_finish(r, &err);
		if (st == PM_OK)
			put_run(result, t, how, seconds);
		if (st == PM_OK)
			st = pm_pipeline_finish(p, result, &err);
		if (st == PM_OK)
			st = report(g, result, t, seconds, &err);
		if (st == PM_OK && pm_failed(&ended)) {
			err = ended;
			st = PM_ERR;
		}
	}
	if (pm_failed(&err))
		traces_fail(&err);
	pm_pipeline_free(p);
	qs_reader_free(r);	/* behind the pipeline, which refers to its code table */
	pm_result_free(result);
	return st == PM_OK && how != QEMU_RESET ? 0 : 1;
}
