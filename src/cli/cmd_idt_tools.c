/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "analyse/idt_counts.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"

static bool exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

/* The tools are called alike: the files of the program that is named. */
static void find_bench(int argc, char **argv, const struct pm_opt *opts,
		       const struct pm_opt_help *help, struct idt_bench *b)
{
	if (pm_opt_parse(argc, argv, opts, help, false) != 1)
		pm_opt_usage(help, *argv ? "only one PROGRAM" : "missing PROGRAM");
	idt_bench_find(argv[0], b);
}

/* ---- what the tools load -------------------------------------------------------------------- */
static enum pm_status load_blk(const struct idt_bench *b, struct idt_blk *to, struct pm_err *err)
{
	struct pm_buf raw;
	enum pm_status st = idt_slurp(b->blk, &raw, err);

	if (st != PM_OK)
		return st;
	st = idt_blk_parse(raw.p, raw.n, b->wide, to, err);
	if (st == PM_ERR && !err->file)
		err->file = b->blk;
	pm_buf_release(&raw);
	return st;
}

/* Is the file cut off where a counter ends? */
static enum pm_status check_counters(const struct idt_bench *b, const struct idt_blk *blk,
				     const struct idt_cnt *cnt, size_t size, struct pm_err *err)
{
	struct idt_modules m;
	struct pm_buf raw;
	enum pm_status st;
	size_t least = b->wide ? 0 : blk->nblock;

	if (!exists(b->mod))
		goto check;
	st = idt_slurp(b->mod, &raw, err);
	if (st != PM_OK)
		return st;
	st = idt_modules_parse((const char *)raw.p, raw.n, &m, err);
	pm_buf_release(&raw);
	if (st != PM_OK) {
		err->file = b->mod;
		return st;
	}
	least = idt_least_counters(blk, &m);
	idt_modules_release(&m);
check:
	if (cnt->given < least)
		return pm_fail(err, size, "expected %zu counters, found %zu: the file is cut off",
			       least, cnt->given);
	return PM_OK;
}

static enum pm_status load_cnt(const struct idt_bench *b, const struct idt_blk *blk,
			       struct idt_cnt *to, struct pm_err *err)
{
	struct pm_buf raw;
	uint32_t magic[2] = { 0 };
	enum pm_status st = idt_slurp(b->cnt, &raw, err);

	if (st != PM_OK)
		return st;
	/* whose they are comes before how many */
	if (raw.n >= 8)
		memcpy(magic, raw.p, 8);
	if (raw.n >= 8 && (magic[0] != blk->orig_magic || magic[1] != blk->idt_magic))
		st = pm_fail(err, 0,
			     "these are the counts of another program: expected the magic numbers "
			     "0x%08x 0x%08x of '%.60s', found 0x%08x 0x%08x",
			     blk->orig_magic, blk->idt_magic, b->blk, magic[0], magic[1]);
	else
		st = idt_cnt_parse(raw.p, raw.n, blk->nblock, b->wide, to, err);
	if (st == PM_OK)
		st = check_counters(b, blk, to, raw.n, err);
	pm_buf_release(&raw);
	if (st == PM_ERR && !err->file)
		err->file = b->cnt;
	return st;
}

/* Where results go. */
struct shown {
	const char *json, *csv;
	uint64_t rows;			/* of each table in the text */
};

#define SHOWN_OPTIONS(S)                                                          \
	OPT_STR(0, "json", &(S).json, "FILE", "all of it as JSON; '-' is standard output"), \
		OPT_STR(0, "csv", &(S).csv, "FILE", "all of it as CSV: path,value,unit")

static int show(struct pm_result *r, const struct shown *to)
{
	const bool taken = (to->json && !strcmp(to->json, "-")) ||
			   (to->csv && !strcmp(to->csv, "-"));
	struct pm_err err = { 0 };
	struct pm_buf out = { 0 };
	int status = to->json ? traces_json(r, to->json) : 0;

	if (!status && to->csv) {
		pm_result_csv(r, &out);
		if (pm_report_save(to->csv, &out, &err) != PM_OK)
			status = traces_fail(&err);
		out.n = 0;
	}
	if (!status && !taken && pm_result_print(r, (unsigned)to->rows, &err) != PM_OK)
		status = traces_fail(&err);
	pm_buf_release(&out);
	pm_result_free(r);
	return status;
}

int cmd_vcount(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark vcount [options] BENCH",
		"Lists what an instrumented program executed, from its block table and its "
		"counters (BENCH.blk64\n"
		"and BENCH.cnt64, or .blk and .cnt): instructions, blocks, and the mix of "
		"instructions.",
		"  idt bench; ./bench.idt; vcount bench\n\n"
		"Counts of another program are refused by their magic numbers."
	};
	struct shown to = { .rows = 20 };
	const struct pm_opt opts[] = {
		SHOWN_OPTIONS(to),
		OPT_U64(0, "rows", &to.rows, "N", "rows of the mix in the text (default: 20)"),
		OPT_END
	};
	struct idt_blk blk = { 0 };
	struct idt_cnt cnt = { 0 };
	struct pm_err err = { 0 };
	struct idt_bench b;
	int status = 1;

	find_bench(argc, argv, opts, &help, &b);
	if (load_blk(&b, &blk, &err) != PM_OK || load_cnt(&b, &blk, &cnt, &err) != PM_OK) {
		traces_fail(&err);
	} else {
		struct pm_result *r = pm_result_for("vcount");

		pm_idt_counts(&blk, &cnt, r);
		status = show(r, &to);
	}
	idt_blk_release(&blk);
	idt_cnt_release(&cnt);
	idt_bench_release(&b);
	return status;
}

/* ---- traces --------------------------------------------------------------------------------- */
/* The kind of BENCH's trace by its first tag: a short or damaged trace has one, too. A FIFO is not
 * looked at. */
static const char *kind_of(const struct idt_bench *b)
{
	static const char *const names[2][3] = {
		{ "idt-branch", "idt-cache", "idt-exec" },
		{ "idt-branch64", "idt-cache64", "idt-exec64" },
	};
	FILE *f = NULL;
	struct stat st;
	int tag = EOF;

	if (!stat(b->trace, &st) && S_ISREG(st.st_mode))
		f = fopen(b->trace, "re");
	if (f) {
		tag = getc(f);
		fclose(f);
	}
	switch (tag & 0xf0) {
	case IDT_BBAD: case IDT_OP1: case IDT_OP2: return names[b->wide][0];
	case IDT_BBFP: return names[b->wide][2];
	case IDT_LINE: case IDT_RD: case IDT_WR: return names[b->wide][1];
	}
	return NULL;
}

/* Drive @ops over BENCH's trace; results into @r. The exit status. */
static int over_trace(const struct idt_bench *b, const char *format, const struct pm_sink_ops *ops,
		      const char *config, struct pm_result *r)
{
	const struct pm_format *which;
	struct pm_pipeline *p;
	struct pm_err err = { 0 };
	struct pm_source src;
	int status = 0;
	void *sink;

	status = traces_open(b->trace, format ? format : kind_of(b), &src, &which);
	if (status)
		return status;
	p = pm_pipeline_new();
	sink = ops->create(config, &err);
	if (sink)
		pm_pipeline_sink(p, ops, sink);
	if (!sink || pm_pipeline_start(p, src.facts, which->plural, &err) != PM_OK ||
	    progress_run(p, &src, r, NULL, NULL, &err) != PM_OK)
		status = traces_fail(&err);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	return status;
}

int cmd_vtrace(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark vtrace [options] BENCH",
		"Shows the trace of an instrumented program as text: BENCH.trc64 or BENCH.trc, or "
		"what comes\n"
		"through the FIFO BENCH.otr. A line for each entry, as `pugmark dump --blocks` "
		"writes them; targets\n"
		"of control instructions stand behind their block.",
		"  mkfifo bench.otr; ./bench.idt & vtrace bench"
	};
	const char *from = NULL, *out = "-";
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "kind of trace (default: guess)"),
		OPT_STR('o', "output", &out, "FILE", "where to (default: standard output)"),
		OPT_END
	};
	struct idt_bench b;
	int status;

	find_bench(argc, argv, opts, &help, &b);
	status = over_trace(&b, from, &pm_vtrace_ops, out, NULL);
	idt_bench_release(&b);
	return status;
}

int cmd_rtrace(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark rtrace [options] BENCH",
		"Lists how often rep instructions accessed blocks of memory, and of how many "
		"bytes: from a cache\n"
		"trace made with -r, or an execution trace.",
		"  idt -c -r bench; ./bench.idt; rtrace bench"
	};
	const char *from = NULL;
	struct shown to = { .rows = 1000 };
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "kind of trace (default: guess)"),
		SHOWN_OPTIONS(to),
		OPT_U64(0, "rows", &to.rows, "N", "sizes in the text (default: 1000)"),
		OPT_END
	};
	struct idt_bench b;
	struct pm_result *r;
	int status;

	find_bench(argc, argv, opts, &help, &b);
	r = pm_result_for("rtrace");
	status = over_trace(&b, from, &pm_reps_ops, "", r);
	if (status)
		pm_result_free(r);
	else
		status = show(r, &to);
	idt_bench_release(&b);
	return status;
}

int cmd_idt2kt(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark idt2kt [options] BENCH",
		"Converts the execution trace of an instrumented program to the KT format: "
		"BENCH.trc64,\n"
		"BENCH.blk64 and the program (and its libraries: BENCH.mod says where they are) "
		"in, BENCH.kt64\n"
		"out; the 32-bit files likewise.",
		"  idt -e bench; ./bench.idt; idt2kt bench"
	};
	const char *out = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &out, "FILE",
			"where to (default: BENCH.kt64 or BENCH.kt; - works)"),
		OPT_END
	};
	struct pm_buf from = { 0 };
	char *args[] = { "convert", "-q", "-f", NULL, "-t", NULL, NULL, NULL, NULL };
	struct pm_err err = { 0 };
	struct idt_bench b;
	int status;

	find_bench(argc, argv, opts, &help, &b);
	if (!exists(b.mod) && !exists(b.orig)) {
		err.file = b.orig;
		pm_fail_file(&err, "the original program is needed for its instructions' bytes");
		traces_fail(&err);
		idt_bench_release(&b);
		return 1;
	}
	pm_buf_printf(&from, "idt-exec%s:blk=%s,%s=%s", b.wide ? "64" : "", b.blk,
		      exists(b.mod) ? "modules" : "binary", exists(b.mod) ? b.mod : b.orig);
	pm_buf_add(&from, "", 1);
	args[3] = (char *)from.p;
	args[5] = b.wide ? "kt64" : "kt";
	args[6] = b.trace;
	args[7] = out ? (char *)out : b.kt;
	status = cmd_convert(8, args);
	pm_buf_release(&from);
	idt_bench_release(&b);
	return status;
}

/* ---- which files belong together ------------------------------------------------------------ */
struct about {
	struct pm_result *r;
	bool bad;
};

/* What a file says of the program that it belongs to; NULL: it says nothing. */
struct claim {
	const uint32_t *orig, *idt;
	bool good;
};

static void file_row(struct about *a, const char *path, uint64_t size, const struct claim *c)
{
	const uint32_t *magic[2] = { c ? c->orig : NULL, c ? c->idt : NULL };
	static const char *const name[2] = { "original", "instrumented" };
	char text[16];

	pm_result_begin(a->r, NULL);
	pm_result_str(a->r, "file", path);
	pm_result_str(a->r, "is", !c ? "not there" : c->good ? "good" : "of another program");
	if (c)
		pm_result_u64(a->r, "bytes", size, "bytes");
	else
		pm_result_null(a->r, "bytes");
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text, "0x%08x", magic[i] ? *magic[i] : 0);
		if (c)
			pm_result_str(a->r, name[i], magic[i] ? text : "-");
		else
			pm_result_null(a->r, name[i]);
	}
	a->bad |= c && !c->good;
	pm_result_end(a->r);
}

/* PM_END: it is not there, and its row says so. */
static enum pm_status slurp_if(struct about *a, const char *path, struct pm_buf *raw,
			       struct pm_err *err)
{
	if (exists(path))
		return idt_slurp(path, raw, err);
	file_row(a, path, 0, NULL);
	return PM_END;
}

static void describe_idt(struct about *a, const struct idt_bench *b, const struct idt_blk *blk,
				   const struct pm_buf *raw)
{
	uint32_t magic = idt_magic(raw->p, raw->n);
	struct idt_trailer t = { 0 };

	idt_trailer_find(raw->p, raw->n, &t);
	file_row(a, b->idt, raw->n,
		 &(struct claim){ t.tag[0] ? &t.orig_magic : NULL, &magic,
				  magic == blk->idt_magic });
}

static void describe_orig(struct about *a, const struct idt_bench *b, const struct idt_blk *blk,
				    const struct pm_buf *raw)
{
	uint32_t magic = idt_magic(raw->p, raw->n);

	file_row(a, b->orig, raw->n, &(struct claim){ &magic, NULL, magic == blk->orig_magic });
}

static enum pm_status describe_cnt(struct about *a, const struct idt_bench *b,
				   const struct idt_blk *blk, const struct pm_buf *raw,
				   struct pm_err *err)
{
	struct idt_cnt cnt = { 0 };

	if (idt_cnt_parse(raw->p, raw->n, blk->nblock, b->wide, &cnt, err) != PM_OK) {
		if (raw->n < 8)
			return PM_ERR;
		/* counts of a program with other blocks: the magic numbers will say so */
		*err = (struct pm_err){ 0 };
		memcpy(&cnt.orig_magic, raw->p, 4);
		memcpy(&cnt.idt_magic, raw->p + 4, 4);
	}
	file_row(a, b->cnt, raw->n, &(struct claim){ &cnt.orig_magic, &cnt.idt_magic,
		 cnt.orig_magic == blk->orig_magic && cnt.idt_magic == blk->idt_magic });
	idt_cnt_release(&cnt);
	return PM_OK;
}

/* False, with @err, only if a file that is there makes no sense. */
static bool describe(struct about *a, const struct idt_bench *b, struct pm_err *err)
{
	struct pm_buf idt = { 0 }, raw = { 0 };
	struct idt_trailer t;
	struct idt_blk blk = { 0 };
	struct stat st;
	bool good = false;

	if (load_blk(b, &blk, err) != PM_OK)
		return false;
	if (exists(b->idt) && idt_slurp(b->idt, &idt, err) != PM_OK)
		goto out;
	if (idt.n && idt_trailer_find(idt.p, idt.n, &t))
		pm_result_str(a->r, "options", t.options[0] ? t.options : "-p");
	pm_result_u64(a->r, "blocks", blk.nblock, "blocks");
	pm_result_begin_list(a->r, "files");
	if (idt.n)
		describe_idt(a, b, &blk, &idt);
	else
		file_row(a, b->idt, 0, NULL);
	switch (slurp_if(a, b->orig, &raw, err)) {
	case PM_OK:
		describe_orig(a, b, &blk, &raw);
		pm_buf_release(&raw);
		break;
	case PM_END:
		break;
	default:
		goto out;
	}
	file_row(a, b->blk, stat(b->blk, &st) ? 0 : (uint64_t)st.st_size,
		 &(struct claim){ &blk.orig_magic, &blk.idt_magic, true });
	switch (slurp_if(a, b->cnt, &raw, err)) {
	case PM_OK:
		good = describe_cnt(a, b, &blk, &raw, err) == PM_OK;
		pm_buf_release(&raw);
		break;
	case PM_END:
		good = true;
		break;
	default:
		break;
	}
	pm_result_end(a->r);
out:
	pm_buf_release(&idt);
	idt_blk_release(&blk);
	return good;
}

int cmd_idtinfo(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark idtinfo [options] BENCH",
		"Looks for the files that belong to an instrumented program, tells the options "
		"with which it was\n"
		"made, and checks by their magic numbers that they belong together.",
		"Exit status: 1 if a file belongs to another program."
	};
	struct shown to = { .rows = 20 };
	const struct pm_opt opts[] = {
		SHOWN_OPTIONS(to),
		OPT_END
	};
	struct about a = { 0 };
	struct pm_err err = { 0 };
	struct idt_bench b;
	int status;

	find_bench(argc, argv, opts, &help, &b);
	a.r = pm_result_for("idtinfo");
	if (describe(&a, &b, &err)) {
		status = show(a.r, &to);
		status = status ? status : a.bad;
	} else {
		status = traces_fail(&err);
		pm_result_free(a.r);
	}
	idt_bench_release(&b);
	return status;
}
