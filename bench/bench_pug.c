/* SPDX-License-Identifier: MIT */
/* bench_pug.c - how fast .pug is written and read, from and to events in memory
 *
 *   bench_pug [-n INSTRUCTIONS] [-r ROUNDS] [-k fast|default|dense|sinks] TRACE...
 *
 * Each trace is loaded, at most INSTRUCTIONS of it, and written at every level to memory, read
 * back, and pushed through the pipeline to the counting and to a hashing sink. Batches are handed
 * over from one buffer, as a tracer does: they are in the cache, and copying them there is not
 * counted. Figures are millions of instructions per second of processor time, the best of ROUNDS:
 * `front` is the thread that calls, `all` the sum over all threads. With two idle processors, what
 * one sees is the lower of front and twice all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"

struct held {	/* a trace in memory: one code table, batches as they came */
	struct pm_batch *batch;
	size_t n, cap;
	uint64_t insns, events;
	uint32_t facts;
	struct pm_source src;		/* its code and streams stay until it is closed */
	struct pm_event *hot;		/* room for the largest batch */
};

struct times { double front, all; };

static double cpu(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* The calling thread's time runs between start() and stop(), the other threads' always. */
static struct times spent;
static double started, others;

static void start(void)
{
	started = cpu(CLOCK_THREAD_CPUTIME_ID);
}

static void stop(void)
{
	spent.front += cpu(CLOCK_THREAD_CPUTIME_ID) - started;
}

static double others_now(void)
{
	return cpu(CLOCK_PROCESS_CPUTIME_ID) - cpu(CLOCK_THREAD_CPUTIME_ID);
}

static void begin(void)
{
	spent = (struct times){ 0 };
	others = others_now();
	start();
}

static void end(struct times *best)
{
	stop();
	spent.all = spent.front + others_now() - others;
	if (!best->all || spent.front < best->front)
		best->front = spent.front;
	if (!best->all || spent.all < best->all)
		best->all = spent.all;
}

static void die(const struct pm_err *err)
{
	pm_err_print(err, stderr);
	exit(1);
}

static void *copy(const void *p, size_t n)
{
	void *v = pm_alloc(n ? n : 1);

	if (n)
		memcpy(v, p, n);
	return v;
}

static void load(struct held *h, const char *path, uint64_t limit)
{
	struct pm_err err = { 0 };
	const struct pm_format *which;
	const struct pm_batch *b;
	enum pm_status s = PM_END;
	size_t most = 0;

	if (pm_trace_open(path, NULL, &h->src, &which, &err) != PM_OK)
		die(&err);
	h->facts = h->src.facts;
	while (h->insns < limit && (s = h->src.ops->next(h->src.self, &b, &err)) == PM_OK) {
		struct pm_batch *to;
		struct pm_rare *rare;

		pm_grow(h->batch, h->n, h->cap);
		to = h->batch + h->n++;
		*to = *b;
		to->ev = copy(b->ev, b->n * sizeof *b->ev);
		to->uop = copy(b->uop, b->nuop * sizeof *b->uop);
		to->bus = copy(b->bus, b->nbus * sizeof *b->bus);
		to->arena = copy(b->arena, b->narena);
		to->rare = rare = copy(b->rare, b->nrare * sizeof *b->rare);
		for (size_t i = 0; i < b->nrare; i++)
			if (rare[i].name)
				rare[i].name = (const char *)to->arena +
					       ((const uint8_t *)rare[i].name - b->arena);
		for (size_t i = 0; i < b->n; i++)
			h->insns += b->ev[i].kind == PM_EV_BLOCK ? b->ev[i].value
								 : b->ev[i].kind == PM_EV_INSN;
		h->events += b->n;
		most = b->n > most ? b->n : most;
	}
	h->hot = pm_alloc((most + 1) * sizeof *h->hot);
	if (s == PM_ERR)
		die(&err);
	if (!h->insns) {
		fprintf(stderr, "bench_pug: %s holds no instructions\n", path);
		exit(1);
	}
}

static void release(struct held *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free((void *)h->batch[i].ev);
		free((void *)h->batch[i].uop);
		free((void *)h->batch[i].bus);
		free((void *)h->batch[i].arena);
		free((void *)h->batch[i].rare);
	}
	free(h->batch);
	free(h->hot);
	h->src.ops->close(h->src.self);
}

/* Batch @i as if it had just been made. The clock stands still meanwhile. */
static const struct pm_batch *fresh(const struct held *h, size_t i, struct pm_batch *b)
{
	stop();
	*b = h->batch[i];
	memcpy(h->hot, b->ev, b->n * sizeof *b->ev);
	b->ev = h->hot;
	start();
	return b;
}

static struct pm_output *write_once(const struct held *h, const char *level, struct times *best)
{
	struct pm_output *out = pm_output_memory();
	struct pm_write_opts o = { .options = level, .facts = h->facts };
	struct pm_err err = { 0 };
	struct pm_batch b;
	void *w;

	begin();
	w = pug_write_open(out, &o, &err);
	for (size_t i = 0; i < h->n; i++)
		if (pug_write(w, fresh(h, i, &b), &err) != PM_OK)
			die(&err);
	if (pug_write_finish(w, &err) != PM_OK)
		die(&err);
	pug_write_close(w);
	end(best);
	return out;
}

static void read_once(const void *p, size_t n, uint64_t events, struct times *best)
{
	struct pm_input *in = pm_input_memory(p, n, "bench");
	struct pm_read_opts o = { 0 };
	struct pm_err err = { 0 };
	const struct pm_batch *b;
	uint32_t facts;
	uint64_t got = 0;
	void *r;

	begin();
	r = pug_read_open(in, &o, &facts, &err);

	while (r && pug_read_next(r, &b, &err) == PM_OK)
		got += b->n;
	if (pm_failed(&err) || got != events)
		die(&err);
	pug_read_close(r);
	end(best);
	pm_input_close(in);
}

/* Every field of every event. */
static enum pm_status hash_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	uint64_t h = *(uint64_t *)self;

	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++) {
		uint64_t head;

		memcpy(&head, ev, 8);
		h = (h ^ head ^ ev->addr) * 0x9e3779b97f4a7c15u + (ev->addr >> 7 ^ ev->value);
	}
	*(uint64_t *)self = h;
	return PM_OK;
}

static const struct pm_sink_ops hash_blocks = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS, .name = "hash", .consume = hash_consume,
	.destroy = free,
}, hash_expanded = {
	.abi = PM_ABI, .name = "hash", .consume = hash_consume, .destroy = free,
};

static void push_once(const struct held *h, const struct pm_sink_ops *ops, struct times *best)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	struct pm_batch b;

	begin();
	pm_pipeline_sink(p, ops, ops->create ? ops->create("", &err) : pm_alloc(8));
	if (pm_pipeline_start(p, h->facts, "bench", &err) != PM_OK)
		die(&err);
	for (size_t i = 0; i < h->n; i++)
		if (pm_pipeline_push(p, fresh(h, i, &b), &err) != PM_OK)
			die(&err);
	if (pm_pipeline_finish(p, NULL, &err) != PM_OK)
		die(&err);
	pm_pipeline_free(p);
	end(best);
}

static void row(const struct held *h, const char *name, const struct times *t, double bits)
{
	printf("  %-18s %7.0f %7.0f", name, h->insns / t->front * 1e-6, h->insns / t->all * 1e-6);
	if (bits > 0)
		printf(" %8.3f", bits);
	printf("\n");
	fflush(stdout);
}

static void measure(const char *path, uint64_t limit, int rounds, const char *only)
{
	static const char *const level[] = { "fast", "default", "dense" };
	static const struct { const char *name; const struct pm_sink_ops *ops; } sink[] = {
		{ "sink count", &pm_count_ops.ops }, { "sink hash, blocks", &hash_blocks },
		{ "sink hash, insns", &hash_expanded },
	};
	struct held h = { 0 };

	load(&h, path, limit);
	printf("%s: %.1f M instructions, %.2f events each\n", path, h.insns * 1e-6,
	       (double)h.events / h.insns);
	printf("  %-18s %7s %7s %8s\n", "M instructions/s", "front", "all", "bits");
	for (unsigned k = 0; k < NR(level); k++) {
		struct times w = { 0 }, r = { 0 };
		const uint8_t *p = NULL;
		size_t n = 0;
		char name[32];

		if (only && strcmp(only, level[k]))
			continue;
		for (int i = 0; i < rounds; i++) {
			struct pm_output *out = write_once(&h, level[k], &w);

			p = pm_output_bytes(out, &n);
			read_once(p, n, h.events, &r);
			pm_output_close(out);
		}
		snprintf(name, sizeof name, "write %s", level[k]);
		row(&h, name, &w, n * 8.0 / h.insns);
		snprintf(name, sizeof name, "read %s", level[k]);
		row(&h, name, &r, 0);
	}
	for (unsigned k = 0; k < NR(sink) && (!only || !strcmp(only, "sinks")); k++) {
		struct times t = { 0 };

		for (int i = 0; i < rounds; i++)
			push_once(&h, sink[k].ops, &t);
		row(&h, sink[k].name, &t, 0);
	}
	release(&h);
}

int main(int argc, char **argv)
{
	uint64_t limit = 50000000;
	const char *only = NULL;
	int rounds = 5, c;

	while ((c = getopt(argc, argv, "n:r:k:")) != -1)
		switch (c) {
		case 'n':
			limit = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'k':
			only = optarg;
			break;
		default:
			fprintf(stderr, "usage: bench_pug [-n INSTRUCTIONS] [-r ROUNDS] [-k WHAT] "
					"TRACE...\n");
			return 2;
		}
	for (int i = optind; i < argc; i++)
		measure(argv[i], limit, rounds > 0 ? rounds : 1, only);
	return 0;
}
