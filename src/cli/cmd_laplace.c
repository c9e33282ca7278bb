/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/laplace_counts.h"
#include "base/result.h"
#include "cli/merged.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "report/out.h"
#include "report/result_view.h"

/* The counts that only the merge knows. */
static void put_merge(struct pm_result *r, const struct pm_source *src)
{
	const struct pm_laplace_counts *c = pm_laplace_counts(src);

	pm_result_begin(r, "merge");
	pm_result_u64(r, "user_addresses", c->user, "references");
	pm_result_u64(r, "unmapped", c->unmapped, "references");
	pm_result_end(r);
}

static enum pm_status analyse(struct pm_source *src, const char *config, struct pm_result *r,
			      struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	void *sim = pm_sim_laplace.create(config, err);
	enum pm_status st = PM_ERR;

	if (sim) {
		pm_pipeline_sink(p, &pm_sim_laplace, sim);
		st = pm_pipeline_start(p, src->facts, "these traces", err);
	}
	if (st == PM_OK)
		st = progress_run(p, src, r, NULL, NULL, err);
	pm_pipeline_free(p);
	return st;
}

int cmd_laplace(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark laplace [options] REFERENCES [EVENTS]",
		"Analyse every reference of a system: by process and kernel; pages that processes "
		"share; working\n"
		"sets; who displaces whom from the caches; what a context switch costs.",
		"REFERENCES and EVENTS are what `pugmark machine run --refs R --kernel-events E` "
		"writes. REFERENCES\n"
		"may hold the events, too: --exec-trace R.pug --kernel-events E.\n"
		"  pugmark laplace --kernel 80000000 boot.pug\n"
		"  pugmark laplace --kernel 80000000 --l1d 32k,4way,64 --json r.json "
		"boot.ref boot.kev"
	};
	const char *from = NULL, *kernel = NULL, *l1i = NULL, *l1d = NULL, *windows = NULL;
	const char *json = NULL;
	uint64_t rows = 20, base;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "format of REFERENCES (default: guess)"),
		OPT_STR(0, "kernel", &kernel, "HEX",
			"where kernel addresses begin (c0000000; an R4400's: 80000000; x86_64's: "
			"100000000)"),
		OPT_STR(0, "l1i", &l1i, "CACHE", "instruction cache (16k,1way,32)"),
		OPT_STR(0, "l1d", &l1d, "CACHE", "data cache (16k,1way,32)"),
		OPT_STR(0, "windows", &windows, "N,N...",
			"working sets: window sizes in references (10000,100000,1000000)"),
		OPT_STR(0, "json", &json, "FILE", "results as JSON; '-' is standard output"),
		OPT_ROWS(rows),
		OPT_END
	};
	struct pm_buf config = { 0 };
	struct pm_err err = { 0 };
	struct pm_source src;
	struct pm_result *r;
	int status;

	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc != 1 && argc != 2)
		pm_opt_usage(&help, argc ? "only REFERENCES and EVENTS" : "missing REFERENCES");
	if (!merged_kernel(kernel, &base))
		pm_opt_usage(&help, "'%s' is not a hexadecimal address", kernel);
	NAMED_FILES_CHECK(&help, { "REFERENCES", argv[0], false },
			  { "EVENTS", argc == 2 ? argv[1] : NULL, false },
			  { "--json", json, true });
	status = merged_open(argv[0], argc == 2 ? argv[1] : NULL, from, base, &src);
	if (status)
		return status;
	pm_buf_printf(&config, "kernel=%llx", (unsigned long long)base);
	if (l1i)
		pm_buf_printf(&config, ";l1i=%s", l1i);
	if (l1d)
		pm_buf_printf(&config, ";l1d=%s", l1d);
	if (windows)
		pm_buf_printf(&config, ";windows=%s", windows);
	pm_buf_add(&config, "", 1);
	r = pm_result_for("laplace");
	if (analyse(&src, (const char *)config.p, r, &err) != PM_OK) {
		status = traces_fail(&err);
	} else {
		put_merge(r, &src);
		merged_note(&src);
		if (json)
			status = traces_json(r, json);
		else if (pm_result_print(r, (unsigned)rows, &err) != PM_OK)
			status = traces_fail(&err);
	}
	pm_buf_release(&config);
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
