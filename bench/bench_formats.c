/* SPDX-License-Identifier: MIT */
/* bench_formats.c - how fast each format is read, written and converted, one core, files in the
 * page cache, next to the parser that one would write first
 *
 *   bench_formats [-n RECORDS] [-r ROUNDS] [-d DIRECTORY] [-s SAMPLES] [-j FILE] [FORMAT...]
 *
 * The traces are the project's samples, repeated: of x86-64 formats the 1200 instructions of a real
 * program, single-stepped (steps.drmemtrace), with addresses cut to 32 bits for formats that have
 * no more; of what cannot come from those, the format's own sample.
 *
 *   read      file -> events, that nobody looks at
 *   write     events in memory -> file
 *   convert   file -> file of the same format, through the pipeline and with everything checked
 *   naive     text: fscanf of the fields of each line; binary: fread of each record
 *
 *   copied    of records of 64 bytes and more: the file read into a buffer and each of its cache
 *             lines looked at, by nobody who would make anything of it: what no reader can surpass
 *
 * A record is a line of a text format, the fixed-size record of a binary one, or, where records
 * vary (bytes per record 0), an instruction or reference. Best of ROUNDS. MiB is how much the
 * resident memory of a process that only converts exceeds that of one that does nothing, for the
 * whole file and, in brackets, for a quarter of it. Status 1 if a target is missed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mem.h"
#include "trace/format.h"
#include "transform/to_uops.h"

#define BINARY_READ	100e6	/* records per second */
#define BINARY_CONVERT	40e6	/* records per second, or */
#define BINARY_BYTES	1e9	/* bytes of output per second */
#define PENN_READ	12e6	/* lines per second */
#define PENN_WRITE	8e6
#define PACKED		1.25	/* times as long as unpacking or reading, whichever takes longer */
#define MEMORY_MIB	64.0

struct row {
	const char *format, *sample;
	unsigned record;		/* bytes; 0: they vary; TEXT */
	bool narrow;			/* addresses are cut to 32 bits */
	const char *scan;		/* of a line, for fscanf */
};
#define TEXT	UINT32_MAX
#define STEPS	"steps.drmemtrace"
#define U	"%llx"

static const struct row rows[] = {
	{ "penn", STEPS, TEXT, false,
	  "%d %llx %d %d %d  %c  %c  %c %lld %llx %llx %llx %11s %22s" },
	{ "din", STEPS, TEXT, false, "%x %llx" },
	{ "xdin", STEPS, TEXT, false, " %c %llx %x" },
	{ "lackey", STEPS, TEXT, false, " %c %llx,%u" },
	{ "pinatrace", STEPS, TEXT, false, "%llx: %c %llx" },
	{ "laplace-text", STEPS, TEXT, false, " %c %llx %x %llx %llx" },
	{ "laplace-events", "laplace.kev", TEXT, false, "%*[^\n]" },
	{ "laplace-basic", "laplace.bm", TEXT, false, " %c %llx" },
	{ "laplace-process", "laplace.pp", TEXT, false, "%*[^\n]" },
	{ "byu-text", STEPS, TEXT, true, "%llx %x %31s" },
	{ "simpoint", STEPS, TEXT, false, "%*[^\n]" },
	{ "ramulator", STEPS, TEXT, false, "%llx %c" },
	{ "ramulator2", STEPS, TEXT, false, "%2s %llx" },
	{ "dramsim3", STEPS, TEXT, false, "%llx %7s %lld" },
	{ "spike", "spike.spike", TEXT, false, "%*[^\n]" },
	{ "chrome", STEPS, TEXT, false, NULL },
	{ "idt-branch", "ex-sample.kt", 0, false, NULL },
	{ "idt-cache", STEPS, 5, true, NULL },
	{ "idt-exec", "ex-sample.kt", 5, false, NULL },
	{ "idt-branch64", STEPS, 0, false, NULL },
	{ "idt-cache64", STEPS, 9, false, NULL },
	{ "idt-exec64", STEPS, 9, false, NULL },
	{ "kt", "ex-sample.kt", 0, false, NULL },
	{ "kt64", STEPS, 0, false, NULL },
	{ "pixie", "ex-pixie32.bin", 4, false, NULL },
	{ "byu", STEPS, 6, true, NULL },
	{ "byu12", STEPS, 12, true, NULL },
	{ "laplace", STEPS, 18, true, NULL },
	{ "laplace64", STEPS, 26, false, NULL },
	{ "dinero-binary", STEPS, 8, true, NULL },
	{ "champsim", STEPS, 64, false, NULL },
	{ "cloudsuite", STEPS, 96, false, NULL },
	{ "cvp1", "ex-cvp1.bin", 0, false, NULL },
	{ "drmemtrace", STEPS, 12, false, NULL },
	{ "gem5", STEPS, 0, false, NULL },
	{ "oraclegeneral", STEPS, 24, false, NULL },
	{ "lcs", STEPS, 24, false, NULL },
	{ "pug", STEPS, 0, false, NULL },
};

/* Conversions that people wait for; the rest is reading plus writing. */
static const char *const pairs[][2] = {
	{ "penn", "champsim" }, { "penn", "lackey" }, { "drmemtrace", "penn" },
	{ "drmemtrace", "champsim" }, { "drmemtrace", "lackey" }, { "drmemtrace", "pug" },
	{ "pug", "penn" }, { "pug", "champsim" }, { "pug", "drmemtrace" },
	{ "lackey", "drmemtrace" }, { "lackey", "xdin" }, { "xdin", "lackey" },
	{ "champsim", "drmemtrace" }, { "byu", "dinero-binary" }, { "dinero-binary", "laplace" },
	{ "laplace", "dinero-binary" }, { "laplace", "laplace64" }, { "byu12", "byu" },
	{ "idt-cache", "dinero-binary" }, { "idt-cache64", "oraclegeneral" },
	{ "kt64", "champsim" },
	{ "oraclegeneral", "lcs" },
};

static const char *directory = "build/bench/formats", *samples = "tests/data/formats";
static double want = 4e6;
static int rounds = 3;
static bool missed;

static void die(const struct pm_err *err)
{
	pm_err_print(err, stderr);
	exit(2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* ---- a sample's batches, kept in memory ----------------------------------------------------- */

struct held {
	struct pm_source src;
	struct pm_batch *batch;
	size_t n, cap;
	uint32_t facts;
	uint64_t events;		/* instructions and references */
	bool vary;			/* memory addresses of micro-ops change each time */
};

static void *copy(const void *p, size_t n)
{
	void *q = pm_realloc(NULL, n ? n : 1);

	return n ? memcpy(q, p, n) : q;
}

static enum pm_status hold(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct held *h = self;
	struct pm_batch *k;
	struct pm_rare *rare;

	(void)err;
	pm_grow(h->batch, h->n, h->cap);
	k = &h->batch[h->n++];
	*k = *b;
	k->ev = copy(b->ev, b->n * sizeof *b->ev);
	k->uop = copy(b->uop, b->nuop * sizeof *b->uop);
	k->bus = copy(b->bus, b->nbus * sizeof *b->bus);
	k->rare = rare = copy(b->rare, b->nrare * sizeof *b->rare);
	k->arena = copy(b->arena, b->narena);
	for (size_t i = 0; i < b->nrare; i++)
		if (rare[i].name)
			rare[i].name = (const char *)k->arena +
				       ((const uint8_t *)rare[i].name - b->arena);
	for (size_t i = 0; i < b->n; i++)
		h->events += b->ev[i].kind >= PM_EV_INSN && b->ev[i].kind <= PM_EV_MODIFY;
	return PM_OK;
}

static void narrow(struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < h->batch[i].n; k++)
			((struct pm_event *)h->batch[i].ev)[k].addr &= UINT32_MAX;
}

/* As `pugmark convert` does: micro-ops are cracked, blocks expanded where the writer wants that. */
static void load(struct held *h, const char *path, const char *format, const struct pm_format *to)
{
	static struct pm_sink_ops ops;
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };

	*h = (struct held){ 0 };
	if (pm_trace_open(path, format, &h->src, NULL, &err) != PM_OK)
		die(&err);
	h->facts = h->src.facts;
	if (to->needs & ~h->facts & PM_HAS_UOPS) {
		pm_pipeline_transform(p, &pm_crack_ops, pm_crack_new());
		h->facts = (h->facts | pm_crack_ops.adds) & ~PM_HAS_BLOCKS;
	}
	ops = (struct pm_sink_ops){
		.abi = PM_ABI, .flags = PM_SINK_BLOCKS, .name = "held", .consume = hold
	};
	pm_pipeline_sink(p, &ops, h);
	if (pm_pipeline_start(p, h->src.facts, NULL, &err) != PM_OK)
		die(&err);
	for (;;) {
		const struct pm_batch *b;
		enum pm_status s = h->src.ops->next(h->src.self, &b, &err);

		if (s == PM_ERR || (s == PM_OK && pm_pipeline_push(p, b, &err) != PM_OK))
			die(&err);
		if (s == PM_END)
			break;
	}
	/* the transforms' streams live as long as the pipeline, which is therefore kept */
	if (pm_pipeline_finish(p, NULL, &err) != PM_OK)
		die(&err);
}

/* ---- what is measured ----------------------------------------------------------------------- */

static double put(struct held *h, const char *path, const char *format, uint64_t times)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	uint64_t insns = 0;
	double begun;

	unlink(path);
	begun = cpu();
	if (pm_trace_create(p, path, format, h->facts, &err) != PM_OK ||
	    pm_pipeline_start(p, h->facts, NULL, &err) != PM_OK)
		die(&err);
	for (uint64_t k = 0; k < times; k++)
		for (size_t i = 0; i < h->n; i++) {
			for (size_t u = 0; h->vary && u < h->batch[i].nuop; u++)
				if (h->batch[i].uop[u].mem)
					((struct pm_uop *)h->batch[i].uop)[u].mem += u % 3 * 8;
			h->batch[i].first_insn = insns;
			insns += h->events;
			if (pm_pipeline_push(p, &h->batch[i], &err) != PM_OK)
				die(&err);
		}
	if (pm_pipeline_finish(p, NULL, &err) != PM_OK)
		die(&err);
	pm_pipeline_free(p);
	return cpu() - begun;
}

struct got {
	double cpu, wall;
	uint64_t events;
};

static struct got get(const char *path, const char *format)
{
	struct pm_source src;
	struct pm_err err = { 0 };
	double c = cpu(), w = now();
	uint64_t n = 0;

	if (pm_trace_open(path, format, &src, NULL, &err) != PM_OK)
		die(&err);
	for (;;) {
		const struct pm_batch *b;
		enum pm_status s = src.ops->next(src.self, &b, &err);

		if (s == PM_ERR)
			die(&err);
		if (s == PM_END)
			break;
		n += b->n;
	}
	src.ops->close(src.self);
	return (struct got){ cpu() - c, now() - w, n };
}

static double convert(const char *in, const char *from, const char *out, const char *to)
{
	struct pm_pipeline *p = pm_pipeline_new();
	const struct pm_format *f;
	struct pm_source src;
	struct pm_err err = { 0 };
	double begun;
	uint32_t facts;

	unlink(out);
	begun = cpu();
	f = pm_format_find(to, &err);
	if (!f || pm_trace_open(in, from, &src, NULL, &err) != PM_OK)
		die(&err);
	facts = src.facts;
	if (f->needs & ~facts & PM_HAS_UOPS) {
		pm_pipeline_transform(p, &pm_crack_ops, pm_crack_new());
		facts = (facts | pm_crack_ops.adds) & ~PM_HAS_BLOCKS;
	}
	if (pm_trace_create(p, out, to, facts, &err) != PM_OK ||
	    pm_pipeline_start(p, src.facts, from, &err) != PM_OK ||
	    pm_pipeline_run(p, &src, NULL, &err) != PM_OK)
		die(&err);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	return cpu() - begun;
}

/* Resident memory of a process that does one conversion, MiB above one that does none. */
static double memory(const char *in, const char *from, const char *out, const char *to)
{
	double kib[2] = { 0 };

	for (int k = 0; k < 2; k++) {
		struct rusage u;
		pid_t pid;
		int status;

		fflush(NULL);
		pid = fork();
		if (!pid) {
			if (k)
				convert(in, from, out, to);
			_exit(0);
		}
		if (wait4(pid, &status, 0, &u) == pid && !status)
			kib[k] = u.ru_maxrss;
	}
	return (kib[1] - kib[0]) / 1024;
}

static uint64_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static uint64_t count_lines(const char *path)
{
	static char buf[1 << 16];
	FILE *f = fopen(path, "r");
	uint64_t n = 0;
	size_t got;

	while (f && (got = fread(buf, 1, sizeof buf, f)))
		for (char *p = buf; (p = memchr(p, '\n', (size_t)(buf + got - p))); p++)
			n++;
	if (f)
		fclose(f);
	return n;
}

/* The obvious parser: seconds. */
static double naive(const struct row *r, const char *path)
{
	union { char c[32]; unsigned long long v; } a[14];
	unsigned long long sum = 0;
	FILE *f = fopen(path, "r");
	double begun = cpu();

	if (!f)
		return 0;
	if (r->record == TEXT) {
		int n;

		while ((n = fscanf(f, r->scan, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6],
				   &a[7], &a[8], &a[9], &a[10], &a[11], &a[12], &a[13])) != EOF) {
			int c;

			sum += a[1].v;
			while ((c = getc(f)) != EOF && c != '\n')
				;
			if (c == EOF)
				break;
		}
	} else {
		unsigned char b[128] = { 0 };

		while (fread(b, r->record, 1, f))
			sum += b[1];
	}
	fclose(f);
	return sum == 1 ? 0 : cpu() - begun;
}

/* The file through a buffer that stays in the cache: seconds. */
static double copied(const char *path)
{
	static uint64_t buf[32768];
	FILE *f = fopen(path, "r");
	double begun = cpu();
	uint64_t sum = 0;
	ssize_t n;

	while (f && (n = read(fileno(f), buf, sizeof buf)) > 0)
		for (size_t i = 0; i < (size_t)n / 8; i += 8)
			sum += buf[i] ^ buf[i + 1] ^ buf[i + 2] ^ buf[i + 3] ^ buf[i + 4] ^
			       buf[i + 5] ^ buf[i + 6] ^ buf[i + 7];
	begun = cpu() - begun;
	if (f)
		fclose(f);
	return sum == 1 ? 0 : begun;
}

static const char *path_of(const char *format, const char *suffix)
{
	static char path[4][400];
	static int k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof path[k], "%s/%s%s", directory, format, suffix);
	return path[k];
}

static FILE *json;
static bool json_any;

static void report(const char *what, const char *from, const char *to, double records,
		   double seconds, double bytes, double target, double byte_target)
{
	bool ok = !(target || byte_target) || (target && records / seconds >= target) ||
		  (byte_target && bytes / seconds >= byte_target);

	missed |= !ok;
	if (!json)
		return;
	fprintf(json,
		"%s\n "
		"{\"what\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"records_per_s\":%.0f,\"bytes_per_"
		"s\":%.0f,"
		"\"target_records_per_s\":%.0f,\"met\":%s}",
		json_any ? "," : "", what, from, to, records / seconds, bytes / seconds, target,
		ok ? "true" : "false");
	json_any = true;
}

static double best(double a, double b)
{
	return !a || b < a ? b : a;
}

static void cell(double records, double bytes, double s, double target, double byte_target)
{
	bool bad = target && records / s < target && !(byte_target && bytes / s >= byte_target);

	printf(" %7.1f%5.2f%c", records / s / 1e6, bytes / s / 1e9, bad ? '!' : ' ');
}

/* The file that stands for the format; its records. */
static double make(const struct row *r, uint64_t *times, struct held *h, bool *held)
{
	const char *path = path_of(r->format, ".trace");
	char sample[400];
	struct pm_err err = { 0 };
	const struct pm_format *f = pm_format_find(r->format, &err);

	if (!f)
		die(&err);
	snprintf(sample, sizeof sample, "%s/%s", samples, r->sample);
	*held = f->write && !f->own_files;
	if (!*held) {
		/* read only, or written as a directory: the sample's bytes, again and again */
		struct stat st;
		FILE *in = fopen(sample, "r"), *out = fopen(path, "w");
		static char buf[1 << 16];
		size_t n = in ? fread(buf, 1, sizeof buf, in) : 0;

		if (!n || !out || fstat(fileno(in), &st))
			exit(2);
		for (double k = 0; k < want; k += (double)n / (r->record == TEXT ? 20 : r->record))
			fwrite(buf, 1, n, out);
		fclose(in);
		fclose(out);
		*h = (struct held){ 0 };
	} else {
		load(h, sample, NULL, f);
		if (r->narrow)
			narrow(h);
		*times = (uint64_t)(want / (h->events ? (double)h->events : 8)) + 1;
		put(h, path, r->format, *times);
	}
	return r->record == TEXT ? (double)count_lines(path) :
	       r->record ? (double)(file_size(path) / r->record) : (double)(h->events * *times);
}

/* What only unpacking costs: all of in[0..n), through a buffer that stays in the cache. */
static void only_gzip(uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	struct inflate_state *z = pm_alloc(sizeof *z);

	isal_inflate_init(z);
	z->crc_flag = ISAL_GZIP;
	z->next_in = in;
	z->avail_in = (uint32_t)n;
	do {
		z->next_out = out;
		z->avail_out = (uint32_t)room;
	} while (isal_inflate(z) == COMP_OK && z->block_state != ISAL_BLOCK_FINISH);
	free(z);
}

static void only_zstd(uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();
	ZSTD_inBuffer from = { in, n, 0 };

	for (;;) {
		ZSTD_outBuffer to = { out, room, 0 };

		if (!ZSTD_decompressStream(z, &to, &from) || (from.pos == n && !to.pos))
			break;
	}
	ZSTD_freeDCtx(z);
}

static void only_xz(uint8_t *in, size_t n, uint8_t *out, size_t room)
{
	lzma_stream z = LZMA_STREAM_INIT;

	if (lzma_stream_decoder(&z, UINT64_MAX, 0) != LZMA_OK)
		return;
	z.next_in = in;
	z.avail_in = n;
	do {
		z.next_out = out;
		z.avail_out = room;
	} while (lzma_code(&z, LZMA_FINISH) == LZMA_OK);
	lzma_end(&z);
}

static const struct {
	const char *name, *command, *suffix;
	void (*only)(uint8_t *in, size_t n, uint8_t *out, size_t room);
} packers[] = {
	{ "gzip", "gzip -1", ".gz", only_gzip },
	{ "zstd", "zstd -q -3", ".zst", only_zstd },
	{ "xz", "xz -0", ".xz", only_xz },
};

/* A compressed Penn trace: is reading it, with a second processor, as fast as only unpacking it, or
 * as reading it unpacked, whichever takes longer? In a trace that packs as real ones do, addresses
 * change. */
static void packed_penn(struct held *h, uint64_t times)
{
	const char *plain = path_of("penn", ".vary");
	const size_t room = 256 << 10;
	uint8_t *out = pm_alloc(room);
	double n, read = 0;

	h->vary = true;
	put(h, plain, "penn", times);
	n = (double)count_lines(plain);
	for (int i = 0; i < rounds; i++)
		read = best(read, get(plain, "penn").wall);
	printf("\npenn, addresses changing: millions of lines per second in wall time, and only "
	       "unpacked\n"
	       "%-16s %6.0f %6.1f\n",
	       "plain", (double)file_size(plain) / 1e6, n / read / 1e6);
	for (size_t k = 0; k < NR(packers); k++) {
		const char *packed = path_of("penn.vary", packers[k].suffix);
		double unpack = 0, wall = 0, size, limit;
		char command[1000];
		uint8_t *in;
		FILE *f;

		snprintf(command, sizeof command, "%s -c '%s' >'%s'", packers[k].command, plain,
			 packed);
		if (system(command)) {
			printf("%-16s not here\n", packers[k].name);
			unlink(packed);
			continue;
		}
		size = (double)file_size(packed);
		in = pm_alloc((size_t)size);
		f = fopen(packed, "r");
		if (!f || fread(in, 1, (size_t)size, f) != (size_t)size)
			exit(2);
		fclose(f);
		for (int i = 0; i < rounds; i++) {
			double begun = now();

			packers[k].only(in, (size_t)size, out, room);
			unpack = best(unpack, now() - begun);
			wall = best(wall, get(packed, "penn").wall);
		}
		limit = unpack > read ? unpack : read;
		printf("%-16s %6.0f %6.1f %6.1f: %.2f x%s\n", packers[k].name, size / 1e6,
		       n / wall / 1e6, n / unpack / 1e6, wall / limit,
		       wall > PACKED * limit ? " !" : "");
		report("read-packed", packers[k].name, "", n, wall, size, n / limit / PACKED, 0);
		free(in);
		unlink(packed);
	}
	free(out);
	unlink(plain);
}

static void measure(const struct row *r)
{
	const char *path = path_of(r->format, ".trace"), *again = path_of(r->format, ".again");
	bool text = r->record == TEXT, penn = !strcmp(r->format, "penn"), held;
	double rd = 0, wr = 0, cv = 0, nv = 0, cp = 0, n, size;
	double read_target = penn ? PENN_READ : text || !strcmp(r->format, "pug") ? 0 : BINARY_READ;
	double write_target = penn ? PENN_WRITE : 0;
	double conv_target = text || !strcmp(r->format, "pug") ? 0 : BINARY_CONVERT;
	struct pm_err err = { 0 };
	const struct pm_format *f = pm_format_find(r->format, &err);
	uint64_t times = 0;
	struct held h;

	n = make(r, &times, &h, &held);
	size = (double)file_size(path);
	for (int i = 0; i < rounds; i++) {
		if (held)
			wr = best(wr, put(&h, again, r->format, times));
		if (f->read)
			rd = best(rd, get(path, r->format).cpu);
		if (f->read && held)
			cv = best(cv, convert(path, r->format, again, r->format));
		if (!text && r->record >= 64)
			cp = best(cp, copied(path));
		if (i < 1 && (r->scan || (!text && r->record)))
			nv = best(nv, naive(r, path));
	}
	printf("%-16s %6.0f", r->format, size / 1e6);
	if (rd)
		cell(n, size, rd, read_target, 0);
	else
		printf(" %12s ", "-");
	if (wr)
		cell(n, size, wr, write_target, 0);
	else
		printf(" %12s ", "-");
	if (cv)
		cell(n, size, cv, conv_target, BINARY_BYTES);
	else
		printf(" %12s ", "-");
	if (nv)
		cell(n, size, nv, 0, 0);
	else
		printf(" %12s ", "-");
	if (rd)
		report("read", r->format, "", n, rd, size, read_target, 0);
	if (wr)
		report("write", "", r->format, n, wr, size, write_target, 0);
	if (cv)
		report("convert", r->format, r->format, n, cv, size, conv_target,
		       conv_target ? BINARY_BYTES : 0);
	if (cv) {
		double mib = memory(path, r->format, again, r->format);

		put(&h, again, r->format, times / 4 + 1);
		printf("  %5.1f (%.1f)", mib,
		       memory(again, r->format, path_of(r->format, ".third"), r->format));
		if (mib > MEMORY_MIB) {
			printf(" !");
			missed = true;
		}
	}
	if (cp)
		printf("  copied %.1f M/s", n / cp / 1e6);
	printf("\n");
	fflush(stdout);
	unlink(again);
	unlink(path_of(r->format, ".third"));
	if (penn)
		packed_penn(&h, times);
}

static const struct row *row_of(const char *format)
{
	for (size_t i = 0; i < NR(rows); i++)
		if (!strcmp(rows[i].format, format))
			return &rows[i];
	return NULL;
}

static bool wanted(char **names, int n, const char *format)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], format))
			return true;
	return !n;
}

int main(int argc, char **argv)
{
	char command[600];
	int c;

	while ((c = getopt(argc, argv, "n:r:d:s:j:")) > 0)
		switch (c) {
		case 'n': want = atof(optarg); break;
		case 'r': rounds = atoi(optarg); break;
		case 'd': directory = optarg; break;
		case 's': samples = optarg; break;
		case 'j': json = fopen(optarg, "w"); break;
		default: return 2;
		}
	argc -= optind;
	argv += optind;
	snprintf(command, sizeof command, "mkdir -p '%s'", directory);
	if (system(command))
		return 2;
	if (json)
		fprintf(json, "[");
	printf("millions of records per second, and gigabytes of the file per second (! misses its "
	       "target)\n");
	printf("%-16s %6s %13s %13s %13s %13s  %s\n", "", "MB", "read", "write", "convert", "naive",
	       "MiB (a quarter)");
	for (size_t i = 0; i < NR(rows); i++)
		if (wanted(argv, argc, rows[i].format))
			measure(&rows[i]);
	printf("\nconversions: records of the input and bytes of the output\n");
	for (size_t i = 0; i < NR(pairs); i++) {
		const char *from = pairs[i][0], *to = pairs[i][1], *in = path_of(from, ".trace");
		const char *out = path_of(to, ".out");
		const struct row *r = row_of(from), *t = row_of(to);
		double s = 0, n, size;
		bool binary = r->record != TEXT && t->record != TEXT;

		if (access(in, R_OK) || !wanted(argv, argc, from))
			continue;
		for (int k = 0; k < rounds; k++)
			s = best(s, convert(in, from, out, to));
		n = r->record == TEXT ? (double)count_lines(in) : r->record ?
			(double)(file_size(in) / r->record) : want;
		size = (double)file_size(out);
		printf("%-16s %-14s", from, to);
		cell(n, size, s, binary ? BINARY_CONVERT : 0, BINARY_BYTES);
		printf("\n");
		report("convert", from, to, n, s, size, binary ? BINARY_CONVERT : 0,
		       binary ? BINARY_BYTES : 0);
		fflush(stdout);
		unlink(out);
	}
	for (size_t i = 0; i < NR(rows); i++)
		if (wanted(argv, argc, rows[i].format))
			unlink(path_of(rows[i].format, ".trace"));
	if (json) {
		fprintf(json, "\n]\n");
		fclose(json);
	}
	return missed;
}
