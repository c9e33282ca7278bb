/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/result.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/machine_guest.h"
#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "collect/citcat/citcat.h"
#include "collect/machine/idle.h"
#include "collect/machine/tracer.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"

#define NO_END	"; the trace has no end"

static int fail(const struct pm_err *err)
{
	return traces_fail(err);
}

/* Is it an x86 guest's? What cannot be read is told by who reads it. */
static bool is_x86(const char *path)
{
	uint8_t head[8];

	return pm_file_head(path, head, sizeof head) && catx_is(head, sizeof head);
}

/* "x.cat" -> "x.ims" */
static char *beside(const char *cat, const char *suffix)
{
	size_t n = strlen(cat);
	char *s = pm_alloc(n + 8);

	if (n > 4 && !strcmp(cat + n - 4, ".cat"))
		n -= 4;
	memcpy(s, cat, n);
	strcpy(s + n, suffix);
	return s;
}

static int extract_json(const struct citcat *c, const char *path)
{
	struct pm_result *r = pm_result_for("citcat-extract");
	int ret;

	pm_result_u64(r, "memory", c->nmem, "words");
	pm_result_u64(r, "interrupts", c->nintr, NULL);
	pm_result_u64(r, "count_reads", c->ncnt, NULL);
	pm_result_u64(r, "cause_reads", c->cause_reads, NULL);
	pm_result_u64(r, "cause_runs", c->ncaus, NULL);
	pm_result_u64(r, "io", c->nio, "words");
	pm_result_u64(r, "dma", c->ndma, "records");
	pm_result_bool(r, "cut", c->cut);
	ret = traces_json(r, path);
	pm_result_free(r);
	return ret;
}

static enum pm_status write_packed(const struct citcat *c, const char *out, struct pm_err *err)
{
	struct pm_buf cit = { 0 };

	err->file = out;
	if (citcat_pack(c, &cit, err) == PM_OK)
		return citcat_write(out, &cit, err);
	pm_buf_release(&cit);
	return PM_ERR;
}

static enum pm_status write_both(const struct citcat *c, const char *ims, const char *aes,
				 struct pm_err *err)
{
	struct pm_buf state = citcat_ims(c), schedule = citcat_aes(c);
	enum pm_status st = citcat_write(ims, &state, err);

	if (st == PM_OK)
		return citcat_write(aes, &schedule, err);
	pm_buf_release(&schedule);
	return st;
}

static int extract_x86(const char *cat, const char *out, const char *json)
{
	struct pm_result *r = pm_result_for("citcat-extract");
	struct pm_err err = { 0 };
	int ret = 0;

	if (guest_cat_extract(cat, out, r, &err) != PM_OK)
		ret = fail(&err);
	else if (json)
		ret = traces_json(r, json);
	pm_result_free(r);
	return ret;
}

/* What `extract` writes. */
struct extracted { const char *out, *ims, *aes, *json; };

/* Names for what has none: those of @cat. *@to_stdout: one of them goes there. */
static void name_extracted(const struct pm_opt_help *help, const char *cat, bool x86,
			   struct extracted *to, bool *to_stdout)
{
	if (to->out && (to->ims || to->aes))
		pm_opt_usage(help, "-o has both in one file: it excludes --ims and --aes");
	if (x86 && (to->ims || to->aes))
		pm_opt_usage(help, "an x86 guest's state and schedule are one file: -o");
	if (!to->out && !(to->ims && to->aes) && !strcmp(cat, "-"))
		pm_opt_usage(help, "standard input has no name that the files could have: give "
			     "-o, or --ims and --aes");
	if (x86 && !to->out)
		pm_keep(to->out = beside(cat, ".cit"));
	if (!to->out && !to->ims)
		pm_keep(to->ims = beside(cat, ".ims"));
	if (!to->out && !to->aes)
		pm_keep(to->aes = beside(cat, ".aes"));
	{
		const struct named_file files[] = {
			{ "FILE.cat", cat, false }, { "--output", to->out, true },
			{ "--ims", to->ims, true }, { "--aes", to->aes, true },
			{ "--json", to->json, true },
		};

		named_files_check(help, files, NR(files));
		*to_stdout = named_files_stdout(files, NR(files));
	}
}

static void say_extracted(const struct citcat *c, FILE *to)
{
	fprintf(to, "%zu words of memory; %zu interrupts, %zu Count reads, %" PRIu64
		" Cause reads in %zu runs, %zu I/O words, %zu DMA records%s\n",
		c->nmem, c->nintr, c->ncnt, c->cause_reads, c->ncaus, c->nio, c->ndma,
		c->cut ? NO_END : "");
}

static int extract(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark citcat extract [options] FILE.cat",
		"Extract the initial machine state (FILE.ims) and the event schedule (FILE.aes) "
		"from a bus trace, or both into one packed file (-o FILE.cit), which is read "
		"wherever a trace is.",
		"Of an x86 guest's bus trace both are always one file (default: FILE.cit)."
	};
	struct extracted to = { 0 };
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &to.out, "FILE.cit", "both in one, packed"),
		OPT_STR(0, "ims", &to.ims, "FILE", "the state (default: FILE.ims)"),
		OPT_STR(0, "aes", &to.aes, "FILE", "the schedule (default: FILE.aes)"),
		OPT_STR(0, "json", &to.json, "FILE",
			"what was found as JSON; '-' is standard output"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), ret = 0;
	bool x86, to_stdout = false;
	struct pm_err err = { 0 };
	struct citcat c;

	if (n != 1)
		pm_opt_usage(&help, "expected one .cat file, found %d operands", n);
	x86 = is_x86(argv[0]);
	name_extracted(&help, argv[0], x86, &to, &to_stdout);
	if (x86)
		return extract_x86(argv[0], to.out, to.json);
	if (citcat_extract(argv[0], &c, &err) != PM_OK ||
	    (to.out ? write_packed(&c, to.out, &err)
		    : write_both(&c, to.ims, to.aes, &err)) != PM_OK)
		ret = fail(&err);
	else if (to.json)
		ret = extract_json(&c, to.json);
	else if (!(to_stdout && manners.quiet))
		say_extracted(&c, to_stdout ? stderr : stdout);
	citcat_release(&c);
	return ret;
}

/* Where a regenerated instruction trace goes. */
struct to {
	const char *out, *format;
	struct pm_opt_list sims;
	bool no_idle;
	uint64_t warmup;
};

/* NULL: nowhere. */
static const char *trace_of(const struct to *to)
{
	return to->out ? to->out : to->format ? "-" : NULL;
}

/* *@p: NULL if nobody wants it. */
static enum pm_status open_trace(const struct to *to, bool big_endian, struct pm_pipeline **p,
				 struct pm_err *err)
{
	struct idle_config idle = { .big_endian = big_endian, .keep = !to->no_idle,
		.warmup = to->warmup };

	*p = NULL;
	err->file = NULL;
	if (!trace_of(to) && !to->sims.n)
		return PM_OK;
	*p = pm_pipeline_new();
	if (to->no_idle || to->warmup)
		pm_pipeline_transform(*p, &idle_ops, idle_new(&idle));
	for (unsigned i = 0; i < to->sims.n; i++)
		if (pm_sink_add(*p, to->sims.v[i], pm_sims, err) != PM_OK)
			return PM_ERR;
	if (trace_of(to) &&
	    pm_trace_create(*p, trace_of(to), to->format, TRACER_FACTS, err) != PM_OK)
		return PM_ERR;
	return pm_pipeline_start(*p, TRACER_FACTS, "replayed traces", err);
}

struct x86 { const char *qemu, *disk; bool frames; };

/* Is something said that is for x86 guests alone, or of a trace that nobody wants? */
static void check_x86(const struct pm_opt_help *help, const struct x86 *x, const struct to *to,
		      bool is)
{
	if (!is && (x->qemu || x->disk || x->frames))
		pm_opt_usage(help, "%s is for x86 guests", x->qemu ? "--qemu" : x->disk ? "--disk"
			     : "--frames");
	if (x->frames && !trace_of(to) && !to->sims.n)
		pm_opt_usage(help, "--frames needs --output or --sim");
}

/* An x86 guest's file replays in QEMU. */
static int again_x86(const struct pm_opt_help *help, const char *path, const struct to *to,
		     const struct x86 *x, uint64_t limit, const char *json, bool verify)
{
	const struct named_file files[] = {
		{ "FILE", path, false }, { "--disk", x->disk, false },
		{ "--output", trace_of(to), true }, { "--json", json, true },
	};
	struct machine_guest g = {
		.files = files, .nfiles = NR(files),
		.qemu = { .qemu = x->qemu, .disk = x->disk, .limit = limit },
		.trace = trace_of(to), .trace_format = to->format,
		.sims = &to->sims, .frames = x->frames, .json = json,
		.stats = !verify && !json && !manners.quiet,
	};

	named_files_check(help, files, NR(files));
	return machine_guest_again(&g, path, verify);
}

/* "x.ims" -> "x.aes" */
static char *aes_of(const char *ims)
{
	size_t n = strlen(ims);
	char *s = pm_alloc(n + 8);

	if (n > 4 && !strcmp(ims + n - 4, ".ims"))
		n -= 4;
	memcpy(s, ims, n);
	strcpy(s + n, ".aes");
	return s;
}

static void put_replay(struct pm_result *r, const struct citcat_result *res)
{
	pm_result_begin(r, "replay");
	pm_result_u64(r, "instructions", res->instructions, "instructions");
	pm_result_u64(r, "exceptions", res->exceptions, NULL);
	pm_result_u64(r, "interrupts", res->interrupts, NULL);
	pm_result_u64(r, "branches", res->branches, NULL);
	pm_result_u64(r, "transactions", res->transactions, NULL);
	pm_result_f64(r, "cpu_seconds", res->seconds, "s");
	pm_result_f64(r, "mips", (double)res->instructions / res->seconds / 1e6, NULL);
	pm_result_end(r);
}

static int show(const struct pm_result *r, bool to_stderr)
{
	struct pm_err err = { 0 };

	return traces_show(r, to_stderr, &err) == PM_OK ? 0 : fail(&err);
}

/* An R4400's: replayed from @ims and @aes, or what is beside it. *@to_stdout: an output goes
 * there. */
static void check_files(const struct pm_opt_help *help, const char *path, const char *ims,
			const char *aes, const struct to *to, const char *json, bool *to_stdout)
{
	const struct named_file files[] = {
		{ "FILE", path, false }, { "--ims", ims, false }, { "FILE.aes", aes, false },
		{ "--output", trace_of(to), true }, { "--json", json, true },
	};

	named_files_check(help, files, NR(files));
	*to_stdout = named_files_stdout(files, NR(files));
}

struct replaying {
	struct progress progress;
	uint64_t total;			/* instructions; 0: not known */
};

static void on_replayed(void *ctx, uint64_t insns)
{
	struct replaying *r = ctx;

	progress_count(&r->progress, insns, r->total ? (double)insns / (double)r->total : 0);
}

static int replay(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark citcat replay [options] FILE.cit | FILE.ims [FILE.aes]",
		"Regenerate the instruction trace from an initial machine state and an event "
		"schedule.",
		"A .cat of the R4400 needs `pugmark citcat extract` first. An x86 guest's file "
		"(.cit or .cat)\n"
		"replays in QEMU, the same version."
	};
	struct citcat_replay_opts o = { .limit = UINT64_MAX };
	struct to to = { 0 };
	struct x86 x86 = { 0 };
	const char *json = NULL;
	uint64_t limit = 0;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &to.out, "FILE", "the instruction trace"),
		OPT_STR('t', "to", &to.format, "FORMAT", "its format (default: by the name)"),
		OPT_LIST('s', "sim", &to.sims, "NAME:CONFIG",
			"a simulator or sink on the trace, as `pugmark sim` has them"),
		OPT_FLAG(0, "no-idle", &to.no_idle, "leave out loops that provably only wait"),
		OPT_U64(0, "warmup", &to.warmup, "N", "leave out the first N instructions"),
		OPT_U64('n', "limit", &limit, "N", "stop after N instructions (0: no limit)"),
		OPT_STR(0, "qemu", &x86.qemu, "FILE", "x86 guests: QEMU (default: as recorded)"),
		OPT_STR(0, "disk", &x86.disk, "FILE", "x86 guests: where the disk image is now"),
		OPT_FLAG(0, "frames", &x86.frames,
			 "x86 guests: the frame that each page is in, in the trace"),
		OPT_STR(0, "json", &json, "FILE",
			"counts and results as JSON; '-' is standard output"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), ret = 1;
	struct pm_result *r;
	struct citcat_result res = { 0 };
	struct pm_err err = { 0 };
	struct citcat c = { 0 };
	struct replaying p = { 0 };
	bool to_stdout = false;
	enum pm_status st;
	char *aes;

	if (n != 1 && n != 2)
		pm_opt_usage(&help, "expected FILE.cit, or FILE.ims and .aes, found %d operands",
			     n);
	if (is_x86(argv[0])) {
		if (n != 1 || to.no_idle || to.warmup)
			pm_opt_usage(&help, "a second file, --no-idle and --warmup are for the "
				     "R4400's");
		check_x86(&help, &x86, &to, true);
		return again_x86(&help, argv[0], &to, &x86, limit, json, false);
	}
	check_x86(&help, &x86, &to, false);
	r = pm_result_for("citcat-replay");
	aes = n == 2 ? pm_strdup(argv[1]) : aes_of(argv[0]);
	check_files(&help, argv[0], NULL, aes, &to, json, &to_stdout);
	if (limit)
		o.limit = limit;
	if (citcat_read(argv[0], aes, &c, &err) != PM_OK ||
	    open_trace(&to, c.hdr.big_endian, &o.trace, &err) != PM_OK)
		goto out;
	err.file = argv[0];
	progress_begin_count(&p.progress, "instructions");
	p.total = c.end_insns < o.limit ? c.end_insns : o.limit;
	o.progress = on_replayed;
	o.ctx = &p;
	o.every = 1000000;
	st = citcat_replay(&c, &o, &res, &err);
	progress_end(&p.progress);
	if (st != PM_OK)
		goto out;
	put_replay(r, &res);
	if (o.trace && pm_pipeline_finish(o.trace, r, &err) != PM_OK)
		goto out;
	ret = 0;
	if (json) {
		ret = traces_json(r, json);
	} else {
		if (!manners.quiet)
			fprintf(stderr,
				"%" PRIu64 " instructions, %" PRIu64 " interrupts, %" PRIu64
				" bus transactions, %.3f s of CPU, %.1f MIPS\n",
				res.instructions, res.interrupts, res.transactions, res.seconds,
				(double)res.instructions / res.seconds / 1e6);
		if (to.sims.n)
			ret = show(r, to_stdout);
	}
out:
	if (pm_failed(&err))
		ret = fail(&err);
	pm_result_free(r);
	pm_pipeline_free(o.trace);
	tracer_free(res.tracer);
	citcat_release(&c);
	free(aes);
	return ret;
}

/* Where the replay stood when something did not agree: the other side's state is the trace's own
 * record. */
static void where(const struct citcat_result *res)
{
	if (res->instructions)
		fprintf(stderr, "replay stood at instruction %" PRIu64 ", branch %" PRIu64 ":\n%s",
			res->instructions, res->branches, res->state);
}

static int verify(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark citcat verify [options] FILE.cat",
		"Extract, replay, and compare the regenerated bus trace with the original, record "
		"for record.", NULL
	};
	const char *ims = NULL, *aes = NULL, *json = NULL;
	struct to to = { 0 };
	struct x86 x86 = { 0 };
	bool state = false, to_stdout = false;
	const struct pm_opt opts[] = {
		OPT_FLAG(0, "state", &state,
			"at a difference, also show the processor's registers"),
		OPT_STR(0, "ims", &ims, "FILE", "replay this state instead of extracting it"),
		OPT_STR(0, "aes", &aes, "FILE", "replay this schedule"),
		OPT_STR('o', "output", &to.out, "FILE", "also write the instruction trace"),
		OPT_STR('t', "to", &to.format, "FORMAT", "its format (default: by the name)"),
		OPT_LIST('s', "sim", &to.sims, "NAME:CONFIG",
			"a simulator or sink on it, as `pugmark sim` has them"),
		OPT_STR(0, "qemu", &x86.qemu, "FILE", "x86 guests: QEMU (default: as recorded)"),
		OPT_STR(0, "disk", &x86.disk, "FILE", "x86 guests: where the disk image is now"),
		OPT_FLAG(0, "frames", &x86.frames,
			 "x86 guests: the frame that each page is in, in the trace"),
		OPT_STR(0, "json", &json, "FILE", "counts as JSON; '-' is standard output"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), ret = 0;
	struct pm_pipeline *p = NULL;
	struct pm_err err = { 0 };
	struct pm_result *r;
	struct citcat_verify v = { 0 };

	if (n != 1)
		pm_opt_usage(&help, "expected one .cat file, found %d operands", n);
	if (!ims != !aes)
		pm_opt_usage(&help, "--ims and --aes belong together");
	if (is_x86(argv[0])) {
		if (ims || state)
			pm_opt_usage(&help, "%s is for the R4400", ims ? "--ims" : "--state");
		check_x86(&help, &x86, &to, true);
		return again_x86(&help, argv[0], &to, &x86, 0, json, true);
	}
	check_x86(&help, &x86, &to, false);
	check_files(&help, argv[0], ims, aes, &to, json, &to_stdout);
	r = pm_result_for("citcat-verify");
	if (open_trace(&to, false, &p, &err) != PM_OK ||
	    citcat_verify(argv[0], ims, aes, p, &v, &err) != PM_OK)
		goto out;
	pm_result_u64(r, "differences", 0, NULL);
	pm_result_u64(r, "compared", v.compared, "records");
	pm_result_bool(r, "cut", v.cut);
	put_replay(r, &v.replay);
	if (p && pm_pipeline_finish(p, r, &err) != PM_OK)
		goto out;
	if (json) {
		ret = traces_json(r, json);
	} else {
		if (!(to_stdout && manners.quiet))
			fprintf(to_stdout ? stderr : stdout, "0 differences in %" PRIu64
				" bus records; %" PRIu64 " instructions, %" PRIu64
				" interrupts%s\n", v.compared, v.replay.instructions,
				v.replay.interrupts, v.cut ? NO_END : "");
		if (to.sims.n)
			ret = show(r, to_stdout);
	}
out:
	if (pm_failed(&err)) {
		ret = fail(&err);
		if (state)
			where(&v.replay);
	}
	pm_result_free(r);
	pm_pipeline_free(p);
	tracer_free(v.replay.tracer);
	return ret;
}

static int stat_(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark citcat stat [options] FILE.cat",
		"What a trace costs: sizes of state and schedule, bus bytes per instruction, "
		"dilation.",
		"Idle loops (loops that provably do nothing but wait) are left out of every ratio."
	};
	const char *json = NULL, *csv = NULL, *parquet = NULL, *html = NULL;
	uint64_t rows = 20;
	const struct pm_opt opts[] = {
		OPT_STR(0, "json", &json, "FILE", "results as JSON; '-' is standard output"),
		OPT_STR(0, "csv", &csv, "FILE", "results as CSV: path,value,unit"),
		OPT_STR(0, "parquet", &parquet, "FILE", "the same as a Parquet table"),
		OPT_STR(0, "html", &html, "FILE", "results as one HTML page, with charts"),
		OPT_ROWS(rows),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false);
	struct pm_result *r = pm_result_for("citcat-stat");
	struct pm_buf out = { 0 };
	struct pm_err err = { 0 };
	enum pm_status st;

	if (n != 1)
		pm_opt_usage(&help, "expected one .cat file, found %d operands", n);
	named_files_check(&help, (struct named_file []){
		{ "FILE.cat", argv[0], false }, { "--json", json, true }, { "--csv", csv, true },
		{ "--parquet", parquet, true }, { "--html", html, true },
	}, 5);
	st = is_x86(argv[0]) ? guest_cat_stat(argv[0], r, &err) : citcat_stat(argv[0], r, &err);
	if (st == PM_OK && json) {
		pm_result_json(r, &out);
		st = pm_file_save(json, &out, &err);
		out.n = 0;
	}
	if (st == PM_OK && csv) {
		pm_result_csv(r, &out);
		st = pm_file_save(csv, &out, &err);
		out.n = 0;
	}
	if (st == PM_OK && parquet) {
		st = pm_result_parquet(r, &out, &err);
		if (st == PM_OK)
			st = pm_file_save(parquet, &out, &err);
		out.n = 0;
	}
	if (st == PM_OK && html)
		st = pm_result_html(r, "pugmark citcat stat", argv[0], html, &err);
	if (st == PM_OK && !(json && !strcmp(json, "-")) && !(csv && !strcmp(csv, "-")) &&
	    !(parquet && !strcmp(parquet, "-")))
		st = pm_result_print(r, (unsigned)rows, &err);
	pm_buf_release(&out);
	pm_result_free(r);
	return st == PM_OK ? 0 : fail(&err);
}

int cmd_citcat(int argc, char **argv)
{
	static const struct pm_opt_command all[] = {
		{ "extract", extract, "a bus trace into machine state and event schedule" },
		{ "replay", replay, "the instruction trace from these" },
		{ "verify", verify, "both, and compare with the bus trace" },
		{ "stat", stat_, "what a trace costs" },
		{ 0 }
	};
	static const struct pm_opt_help help = {
		"pugmark citcat extract|replay|verify|stat [options] FILE",
		"Instruction traces from cache-filtered address traces: what a bus monitor saw "
		"(FILE.cat, by\n"
		"`pugmark machine run --cat`) becomes an initial machine state and an event "
		"schedule; from these\n"
		"alone the processor runs again and gives every instruction.",
		"`pugmark citcat extract --help` and so on list the options.", all
	};

	return pm_opt_run(argc, argv, &help);
}
