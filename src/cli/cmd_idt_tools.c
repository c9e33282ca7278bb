/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "analyse/idt_counts.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "elf/elf.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"
#include "trace/text.h"

static bool exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

enum looked_for { BLOCK_TABLE, TRACE };

/* The tools are called alike: the files of the program that is named, or of the one whose file is.
 * False: nothing of its is there, and the error is printed. */
static bool find_bench(int argc, char **argv, const struct pm_opt *opts,
		       const struct pm_opt_help *help, enum looked_for what, struct idt_bench *b)
{
	struct pm_err err = { 0 };

	if (pm_opt_parse(argc, argv, opts, help, false) != 1)
		pm_opt_usage(help, *argv ? "only one PROGRAM" : "missing PROGRAM");
	idt_bench_find(argv[0], b);
	if (b->file || b->wide || exists(what == TRACE ? b->trace : b->blk))
		return true;
	err.file = b->orig;
	if (what == BLOCK_TABLE)
		pm_fail_file(&err, "expected its block table, '%.60s.blk64' or '%.60s.blk', found "
			     "neither", b->orig, b->orig);
	else
		pm_fail_file(&err, "expected its trace, '%.60s.trc64' or '%.60s.trc', or a FIFO "
			     "'%.60s.otr', found none", b->orig, b->orig, b->orig);
	traces_fail(&err);
	idt_bench_release(b);
	return false;
}

/* The trace is the first process's and thread's; whoever named the program may want the others',
 * too. */
static void note_others(const struct idt_bench *b)
{
	const size_t n = b->file ? 0 : idt_numbered_files(b->trc, b->idt);

	if (n && !strcmp(b->trace, b->trc))
		manners_note("'%s' is one trace of several: '%s.NUMBER' beside it are of other "
			     "threads or processes (%zu)", b->trc, b->trc, n);
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

static enum pm_status load_modules(const struct idt_bench *b, struct idt_modules *to,
				   struct pm_err *err)
{
	struct pm_buf raw;
	enum pm_status st = idt_slurp(b->mod, &raw, err);

	if (st != PM_OK)
		return st;
	st = idt_modules_parse((const char *)raw.p, raw.n, to, err);
	pm_buf_release(&raw);
	if (st != PM_OK)
		err->file = b->mod;
	return st;
}

/* Is the file cut off where a counter ends? */
static enum pm_status check_counters(const struct idt_bench *b, const struct idt_blk *blk,
				     const struct idt_cnt *cnt, size_t size, struct pm_err *err)
{
	struct idt_modules m;
	size_t least = b->wide ? 0 : blk->nblock;

	if (exists(b->mod)) {
		if (load_modules(b, &m, err) != PM_OK)
			return PM_ERR;
		least = idt_least_counters(blk, &m);
		idt_modules_release(&m);
	}
	if (cnt->given < least)
		return pm_fail(err, size, "expected %zu counters, found %zu: the file is cut off",
			       least, cnt->given);
	return PM_OK;
}

/* The counters in @raw, of which there may be none. PM_END: they are another program's, and @to has
 * its magic numbers. */
static enum pm_status parse_cnt(const struct idt_bench *b, const struct idt_blk *blk,
				const struct pm_buf *raw, struct idt_cnt *to, struct pm_err *err)
{
	enum pm_status st;

	/* whose they are comes before how many */
	if (raw->n >= 8) {
		to->orig_magic = pm_get32(raw->p);
		to->idt_magic = pm_get32(raw->p + 4);
		if (to->orig_magic != blk->orig_magic || to->idt_magic != blk->idt_magic)
			return PM_END;
	}
	st = idt_cnt_parse(raw->p, raw->n, blk->nblock, b->wide, to, err);
	if (st == PM_OK)
		st = check_counters(b, blk, to, raw->n, err);
	if (st == PM_ERR && !err->file)
		err->file = b->cnt;
	return st;
}

static enum pm_status load_cnt(const struct idt_bench *b, const struct idt_blk *blk,
			       struct idt_cnt *to, struct pm_err *err)
{
	struct pm_buf raw;
	enum pm_status st = idt_slurp(b->cnt, &raw, err);

	if (st != PM_OK)
		return st;
	st = parse_cnt(b, blk, &raw, to, err);
	pm_buf_release(&raw);
	if (st == PM_END) {
		err->file = b->cnt;
		st = pm_fail(err, 0,
			     "these are the counts of another program: expected the magic numbers "
			     "0x%08x 0x%08x of '%.60s', found 0x%08x 0x%08x",
			     blk->orig_magic, blk->idt_magic, b->blk, to->orig_magic,
			     to->idt_magic);
	}
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
		if (pm_file_save(to->csv, &out, &err) != PM_OK)
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
		"Counts of another program are refused by their magic numbers. BENCH may also be a "
		"file of its own,\n"
		"BENCH.cnt64.PID, for the counts of a forked process."
	};
	struct shown to = { .rows = 20 };
	const struct pm_opt opts[] = {
		SHOWN_OPTIONS(to),
		OPT_RANGE(0, "rows", &to.rows, "N", 1, UINT32_MAX,
			  "rows of the mix in the text (default: 20)"),
		OPT_END
	};
	struct idt_blk blk = { 0 };
	struct idt_cnt cnt = { 0 };
	struct pm_err err = { 0 };
	struct idt_bench b;
	int status = 1;

	if (!find_bench(argc, argv, opts, &help, BLOCK_TABLE, &b))
		return 1;
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

/* Drive @ops over BENCH's trace for the command @who; results into @r. @instead: as in
 * pm_pipeline_for(). The exit status. */
static int over_trace(const struct idt_bench *b, const char *format, const char *who,
		      const char *instead, const struct pm_sink_ops *ops, const char *config,
		      struct pm_result *r)
{
	const struct pm_format *which;
	struct pm_pipeline *p;
	struct pm_err err = { 0 };
	struct pm_source src;
	int status = 0;
	void *sink;

	note_others(b);
	status = traces_open(b->trace, format ? format : kind_of(b), &src, &which);
	if (status)
		return status;
	p = pm_pipeline_new();
	pm_pipeline_for(p, who, instead);
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
		"  mkfifo bench.otr; ./bench.idt & vtrace bench\n\n"
		"BENCH may also be a trace, BENCH.trc64.TID, of another thread or process."
	};
	const char *from = NULL, *out = "-";
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "kind of trace (default: guess)"),
		OPT_STR('o', "output", &out, "FILE", "where to (default: standard output)"),
		OPT_END
	};
	struct idt_bench b;
	int status;

	if (!find_bench(argc, argv, opts, &help, TRACE, &b))
		return 1;
	status = over_trace(&b, from, "vtrace", NULL, &pm_vtrace_ops, out, NULL);
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
		"  idt -c -r bench; ./bench.idt; rtrace bench\n\n"
		"BENCH may also be a trace, BENCH.trc64.TID, of another thread or process."
	};
	const char *from = NULL;
	struct shown to = { .rows = 1000 };
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "kind of trace (default: guess)"),
		SHOWN_OPTIONS(to),
		OPT_RANGE(0, "rows", &to.rows, "N", 1, UINT32_MAX,
			  "sizes in the text (default: 1000)"),
		OPT_END
	};
	struct pm_err err = { 0 };
	struct idt_bench b;
	struct pm_result *r;
	int status;

	if (!find_bench(argc, argv, opts, &help, TRACE, &b))
		return 1;
	r = pm_result_for("rtrace");
	status = over_trace(&b, from, "rtrace", " (`pugmark instrument -c -r` traces them)",
			    &pm_reps_ops, "", r);
	if (!status && !pm_result_find(pm_result_root(r), "block_accesses")->u64 &&
	    idt_leaves_reps(b.trace, b.wide)) {
		err.file = b.trace;
		pm_fail_file(&err, "this cache trace was made without -r: it does not tell "
			     "references of rep instructions apart");
		status = traces_fail(&err);
	}
	if (status)
		pm_result_free(r);
	else
		status = show(r, &to);
	idt_bench_release(&b);
	return status;
}

/* ---- are these the files that were instrumented? -------------------------------------------- */

/* The magic number of the file at @path; false: it cannot be read, and who reads it will say so. */
static bool magic_of(const char *path, uint32_t *magic)
{
	struct pm_err ignored = { 0 };
	struct pm_buf raw;

	if (!exists(path) || idt_slurp(path, &raw, &ignored) != PM_OK)
		return false;
	*magic = idt_magic(raw.p, raw.n);
	pm_buf_release(&raw);
	return true;
}

static enum pm_status fail_program(const char *path, uint32_t want, uint32_t found,
				   const struct idt_bench *b, struct pm_err *err)
{
	err->file = path;
	return pm_fail_file(err, "this is another program: expected the magic number 0x%08x of "
			    "'%.60s', found 0x%08x", want, b->blk, found);
}

/* One of the files is the program. */
static enum pm_status check_program(const struct idt_bench *b, const struct idt_modules *m,
				    uint32_t want, struct pm_err *err)
{
	const struct idt_module *first = NULL;
	uint32_t found = 0, magic;

	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].record || (i && !strcmp(m->v[i].path, m->v[i - 1].path)) ||
		    !magic_of(m->v[i].path, &magic))
			continue;
		if (magic == want)
			return PM_OK;
		if (!first) {		/* as they are written the program is the first */
			first = &m->v[i];
			found = magic;
		}
	}
	return first ? fail_program(first->path, want, found, b, err) : PM_OK;
}

static enum pm_status check_libraries(const struct idt_bench *b, const struct idt_modules *m,
				      struct pm_err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct idt_module *lib = &m->v[i];
		struct pm_elf_info info = { 0 };
		struct pm_err ignored = { 0 };

		if (!lib->build_id || !exists(lib->path) ||
		    (i && !strcmp(lib->path, m->v[i - 1].path)))
			continue;
		pm_elf_check(lib->path, &info, &ignored);
		if (strcmp(info.build_id, lib->build_id)) {
			err->file = lib->path;
			pm_fail_file(err, "this is another program or library: expected the build "
				     "id %s of '%.60s', found %s", lib->build_id, b->mod,
				     info.build_id[0] ? info.build_id : "none");
		}
		pm_elf_info_release(&info);
		if (pm_failed(err))
			return PM_ERR;
	}
	return PM_OK;
}

/* Instructions' bytes are taken from these files: they have to be what was instrumented. The
 * error's file may be one of @m's. */
static enum pm_status check_files(const struct idt_bench *b, struct idt_modules *m,
				  struct pm_err *err)
{
	struct idt_blk blk = { 0 };
	uint32_t want, found;
	enum pm_status st = load_blk(b, &blk, err);

	want = blk.orig_magic;
	idt_blk_release(&blk);
	if (st != PM_OK)
		return st;
	if (!exists(b->mod))
		return want && magic_of(b->orig, &found) && found != want ?
			fail_program(b->orig, want, found, b, err) : PM_OK;
	st = load_modules(b, m, err);
	if (st == PM_OK)
		st = check_libraries(b, m, err);
	if (st == PM_OK && want)	/* 0: who wrote the table did not say */
		st = check_program(b, m, want, err);
	return st;
}

/* What `convert` would not say of BENCH. */
static enum pm_status check_idt2kt(const struct idt_bench *b, struct idt_modules *m,
				   struct pm_err *err)
{
	struct stat st;

	if (!exists(b->mod) && !exists(b->orig)) {
		err->file = b->orig;
		return pm_fail_file(err, "the original program is needed for its instructions' "
				    "bytes");
	}
	/* of a profile */
	if (!stat(b->trace, &st) && S_ISREG(st.st_mode) && !st.st_size) {
		err->file = b->trace;
		return pm_fail_file(err, "the input is empty");
	}
	return check_files(b, m, err);
}

int cmd_idt2kt(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark idt2kt [options] BENCH",
		"Converts the execution trace of an instrumented program to the KT format: "
		"BENCH.trc64,\n"
		"BENCH.blk64 and the program (and its libraries: BENCH.mod says where they are) "
		"in, BENCH.kt64\n"
		"out; the 32-bit files likewise. A program or library that has changed since is "
		"refused.",
		"  idt -e bench; ./bench.idt; idt2kt bench\n\n"
		"BENCH may also be a trace, BENCH.trc64.TID, of another thread or process: then "
		"BENCH.kt64.TID is\n"
		"written."
	};
	const char *out = NULL;
	const struct pm_opt opts[] = {
		OPT_STR('o', "output", &out, "FILE",
			"where to (default: BENCH.kt64 or BENCH.kt; - works)"),
		OPT_END
	};
	struct pm_buf from = { 0 };
	char *args[] = { "convert", "-f", NULL, "-t", NULL, NULL, NULL, NULL };
	struct pm_err err = { 0 };
	struct idt_modules m = { 0 };
	struct idt_bench b;
	int status;

	if (!find_bench(argc, argv, opts, &help, BLOCK_TABLE, &b))
		return 1;
	status = check_idt2kt(&b, &m, &err) == PM_OK ? 0 : traces_fail(&err);
	idt_modules_release(&m);
	if (status) {
		idt_bench_release(&b);
		return status;
	}
	note_others(&b);
	pm_buf_printf(&from, "idt-exec%s:blk=%s,%s=%s", b.wide ? "64" : "", b.blk,
		      exists(b.mod) ? "modules" : "binary", exists(b.mod) ? b.mod : b.orig);
	pm_buf_add(&from, "", 1);
	args[2] = (char *)from.p;
	args[4] = b.wide ? "kt64" : "kt";
	args[5] = b.trace;
	args[6] = out ? (char *)out : b.kt;
	status = cmd_convert(7, args);
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
	const enum pm_status st = parse_cnt(b, blk, raw, &cnt, err);

	if (st != PM_ERR)
		file_row(a, b->cnt, raw->n,
			 &(struct claim){ &cnt.orig_magic, &cnt.idt_magic, st == PM_OK });
	idt_cnt_release(&cnt);
	return st == PM_ERR ? st : PM_OK;
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
		"Exit status: 1 if a file belongs to another program, or makes no sense."
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

	if (!find_bench(argc, argv, opts, &help, BLOCK_TABLE, &b))
		return 1;
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
