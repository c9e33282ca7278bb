/* SPDX-License-Identifier: MIT */
/* bench_parquet.c - how fast a trace becomes a Parquet table
 *
 *   bench_parquet [-r ROUNDS] [-n MILLION_ROWS] [-o OPTIONS] TRACE...
 *
 * Millions of rows per second of processor time, the best of ROUNDS, on one thread: `write` from
 * events in the cache to a file (encoding, compression, and the system's share), `convert` with
 * reading the trace and expanding its blocks. B/row is the file's size. Status 1 if the target, of
 * writing, is missed. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "trace/format.h"

#define TARGET 20e6			/* rows per second */

static uint64_t most = UINT64_MAX;	/* rows */

struct timed {
	const struct pm_format *format;
	struct pm_output *out;
	void *writer;
	uint64_t rows;
	double seconds;
};

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void die(const struct pm_err *err)
{
	pm_err_print(err, stderr);
	exit(2);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct timed *t = self;
	double begun = cpu();
	enum pm_status s = t->format->write->write(t->writer, b, err);

	t->seconds += cpu() - begun;
	t->rows += b->n;
	return s;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct timed *t = self;
	double begun = cpu();
	enum pm_status s = t->format->write->finish(t->writer, err);

	(void)r;
	if (s == PM_OK)
		s = pm_output_finish(t->out, err);
	t->seconds += cpu() - begun;
	return s;
}

static bool enough(const void *arg)
{
	return ((const struct timed *)arg)->rows >= most;
}

/* Seconds of the whole. */
static double convert(const char *path, const char *options, const char *to, struct timed *t)
{
	static const struct pm_sink_ops ops = {
		.abi = PM_ABI, .flags = PM_SINK_EPOCHS, .name = "timed", .consume = consume,
		.finish = finish,
	};
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_write_opts o = { .path = to, .options = options };
	struct pm_err err = { 0 };
	struct pm_source src;
	double begun = cpu();

	*t = (struct timed){ .format = pm_format_find("parquet", &err) };
	if (!t->format || pm_trace_open(path, NULL, &src, NULL, &err) != PM_OK)
		die(&err);
	o.facts = src.facts;
	t->out = pm_output_open(to, &err);
	t->writer = t->out ? t->format->write->open(t->out, &o, &err) : NULL;
	if (!t->writer)
		die(&err);
	pm_pipeline_sink(p, &ops, t);
	if (pm_pipeline_start(p, src.facts, NULL, &err) != PM_OK ||
	    pm_pipeline_run_until(p, &src, NULL, enough, t, &err) != PM_OK)
		die(&err);
	t->format->write->close(t->writer);
	pm_output_close(t->out);
	pm_pipeline_free(p);
	src.ops->close(src.self);
	return cpu() - begun;
}

int main(int argc, char **argv)
{
	const char *options = "";
	unsigned rounds = 3;
	bool missed = false;
	int c;

	while ((c = getopt(argc, argv, "r:n:o:")) > 0)
		switch (c) {
		case 'r': rounds = (unsigned)atoi(optarg); break;
		case 'n': most = (uint64_t)(atof(optarg) * 1e6); break;
		case 'o': options = optarg; break;
		default: return 2;
		}
	printf("%-32s %8s %8s %8s %7s\n", "M rows/s", "M rows", "write", "convert", "B/row");
	for (int i = optind; i < argc; i++) {
		double write = 0, all = 0;
		char to[] = "/tmp/bench_parquet-XXXXXX";
		struct timed t = { 0 };
		struct stat st;
		int fd = mkstemp(to);

		if (fd < 0)
			return 2;
		close(fd);
		for (unsigned r = 0; r < rounds; r++) {
			double s = convert(argv[i], options, to, &t);

			write = !r || t.seconds < write ? t.seconds : write;
			all = !r || s < all ? s : all;
		}
		if (stat(to, &st))
			return 2;
		unlink(to);
		missed |= (double)t.rows / write < TARGET;
		printf("%-32s %8.1f %7.1f%s %8.1f %7.2f\n", argv[i], (double)t.rows / 1e6,
		       (double)t.rows / write / 1e6, (double)t.rows / write < TARGET ? "!" : " ",
		       (double)t.rows / all / 1e6, (double)st.st_size / (double)t.rows);
		fflush(stdout);
	}
	return missed;
}
