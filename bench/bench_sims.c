/* SPDX-License-Identifier: MIT */
/* bench_sims.c - millions of references, branches, instructions per second, one core, from events
 * in memory: `bench_sims [NAME...]` runs those whose name begins so
 *
 * The references are synthetic, with the locality of ordinary programs (see make_refs): first-level
 * miss ratios are printed beside the speed so that the reader can judge. Each figure is the best of
 * five passes over the same events, after one that warms up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/cachegrind.h"
#include "analyse/coherence.h"
#include "analyse/core.h"
#include "analyse/course.h"
#include "analyse/i486.h"
#include "analyse/reuse.h"
#include "analyse/stack.h"
#include "oracle/branches.h"
#include "oracle/random.h"

#define NREF (4u << 20)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Instructions in loops of some 20, one data reference to two instructions. As in programs, an
 * instruction always has the same size and does the same kind of thing: stack slots, three arrays
 * that are walked, a hot table, and (one in 64) anywhere in 8 MiB. */
static struct pm_event *make_refs(size_t n)
{
	struct pm_event *ev = malloc((n + 1) * sizeof *ev);
	struct o_random r = o_random_init(1);
	uint64_t top = 0x400000, pc = top, walk[3] = { 0x10000000, 0x20000000, 0x30000000 };
	unsigned length = 20, left = 10;

	for (size_t i = 0; i < n; ) {
		struct o_random by_pc = { .s = pc };
		uint64_t what = o_rnd(&by_pc), x = o_rnd(&r);
		unsigned k = (what >> 8) % 64, w = k % 3;

		ev[i] = (struct pm_event){
			.kind = PM_EV_INSN, .size = 1 + what % 7, .id = PM_NONE, .addr = pc
		};
		pc += ev[i++].size;
		if (what >> 40 & 1) {
			ev[i] = (struct pm_event){ .kind = (what >> 16) % 3 ? PM_EV_READ
									    : PM_EV_WRITE,
						   .size = 8,
						   .id = PM_NONE };
			if (k < 24) {
				ev[i].addr = 0x7ffffff00000 + (x >> 24) % 24 * 8;
				ev[i].flags = PM_REF_STACK;
			} else if (k < 48) {
				ev[i].addr = walk[w];
				walk[w] += 8;
				if ((walk[w] & 0x3fff) == 0)
					walk[w] -= 0x4000;
			} else if (k < 63) {
				ev[i].addr = 0x600000 + (x >> 24) % 1024 * 8;
			} else {
				ev[i].addr = 0x8000000 + (x >> 24) % (8u << 20);
			}
			i++;
		}
		if (pc - top > length * 4) {
			pc = top;
			if (left-- == 0) {	/* the next loop, one of a few hundred */
				top = 0x400000 + (x >> 20) % 256 * 96;
				length = 8 + (x >> 40) % 24;
				left = 5 + (x >> 50) % 20;
				pc = top;
			}
		}
	}
	return ev;
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, strlen(argv[i])))
			return true;
	return argc < 2;
}

static void report(const char *name, double best, double n, const char *unit, const char *more)
{
	printf("%-24s %8.1f M %s/s   %s\n", name, n / best / 1e6, unit, more);
	fflush(stdout);
}

#define BEST(best, ...) do {				\
	best = 1e9;					\
	for (int pass_ = 0; pass_ < 6; pass_++) {	\
		double t_ = now();			\
		__VA_ARGS__;				\
		t_ = now() - t_;			\
		if (pass_ && t_ < best)			\
			best = t_;			\
	}						\
} while (0)

static void bench_cache(const char *name, const char *config, const struct pm_event *ev)
{
	struct pm_err err = { 0 };
	struct pm_cache *c = pm_cache_new(config, &err);
	uint64_t a = 0, m = 0;
	char more[80];
	double best;

	if (!c) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	BEST(best, for (size_t i = 0; i < NREF; i += 4096) pm_cache_events(c, ev + i, 4096));
	for (unsigned l = 0; l < 2 && l < pm_cache_config(c)->n; l++)
		for (int op = 0; op < PM_OP_COUNT; op++)
			for (int k = 0; k < 2; k++) {
				a += pm_cache_stats(c, l)->access[op][k];
				m += pm_cache_stats(c, l)->miss[op][k];
			}
	snprintf(more, sizeof more, "first level misses %.2f %%", 100.0 * m / a);
	report(name, best, NREF, "references", more);
	pm_cache_free(c);
}

/* The same references by eight threads in turns: the table at 0x600000 is common, the rest is each
 * thread's own. */
static void bench_coherence(const struct pm_event *ev)
{
	enum { CORES = 8, TURN = 128 };
	struct pm_event *all = malloc(NREF * sizeof *all);
	struct pm_stream stream[CORES] = { 0 };
	struct pm_err err = { 0 };
	struct pm_coherence *c = pm_coherence_new("cores=8", &err);
	uint64_t misses = 0, sharing = 0;
	char more[80];
	double best;

	memcpy(all, ev, NREF * sizeof *all);
	for (unsigned k = 0; k < CORES; k++)
		stream[k].index = k;
	for (size_t i = 0; i < NREF; i++)
		if (all[i].kind != PM_EV_INSN && all[i].addr - 0x600000 > 8192)
			all[i].addr ^= (uint64_t)(i / TURN % CORES) << 40;
	BEST(best, for (size_t i = 0; i + TURN <= NREF; i += TURN) {
		const struct pm_batch b = { .stream = stream + i / TURN % CORES, .ev = all + i,
					    .n = TURN };

		pm_coherence_batch(c, &b, &err);
	});
	for (unsigned k = 0; k < CORES; k++) {
		misses += pm_coherence_core(c, k)->misses;
		sharing += pm_coherence_core(c, k)->invalidations;
	}
	snprintf(more, sizeof more, "%.2f %% missed, %.2f %% invalidated",
		 misses / 6.0 / NREF * 100, sharing / 6.0 / NREF * 100);
	report("coherence", best, NREF, "references", more);
	pm_coherence_free(c);
	free(all);
}

/* Data and instruction references as the simulators of stack distances take them: addresses. */
static uint64_t *make_addresses(const struct pm_event *ev)
{
	uint64_t *a = malloc(NREF * sizeof *a);

	for (size_t i = 0; i < NREF; i++)
		a[i] = ev[i].addr;
	return a;
}

static void bench_stack(const struct pm_event *ev)
{
	uint64_t *a = make_addresses(ev);
	struct pm_stack *s = pm_stack_new(6, 4, 11, 16);
	double best;

	BEST(best, pm_stack_run(s, a, NREF));
	report("allcache", best, NREF, "references", "176 geometries: 16-16384 sets, 1-16 ways");
	pm_stack_free(s);
	free(a);
}

static void bench_reuse(const struct pm_event *ev)
{
	uint64_t *a = make_addresses(ev);
	struct pm_reuse *u = pm_reuse_new();
	char more[80];
	double best;

	for (size_t i = 0; i < NREF; i++)
		a[i] >>= 6;
	BEST(best, pm_reuse_run(u, a, NREF));
	snprintf(more, sizeof more, "%llu lines", (unsigned long long)pm_reuse_cold(u));
	report("reuse", best, NREF, "references", more);
	pm_reuse_free(u);
	free(a);
}

static void bench_bpred(const char *name, uint64_t a0, uint64_t a1)
{
	const size_t n = 1 << 20;
	const struct pm_bp_ops *ops = pm_bp_find(name);
	struct pm_bp_args a = { { a0, a1 }, 2 };
	struct pm_br *b = malloc(n * sizeof *b);
	uint8_t *miss = malloc(n);
	size_t wrong = 0, predicted = 0;
	char more[80];
	double best;
	void *p;

	o_branches(b, n, 7);
	p = ops->create(&a);
	BEST(best, for (size_t i = 0; i < n; i += 4096) ops->run(p, b + i, 4096, miss + i));
	for (size_t i = 0; i < n; i++) {
		wrong += miss[i];
		predicted += (b[i].flags & ops->mask) == ops->want;
	}
	snprintf(more, sizeof more, "%.2f %% wrong", 100.0 * wrong / predicted);
	report(name, best, n, "branches", more);
	ops->destroy(p);
	free(miss);
	free(b);
}

/* Chains of dependent arithmetic, loads, stores and branches over 16 registers. */
static struct pm_uop *make_uops(size_t n)
{
	struct pm_uop *u = calloc(n, sizeof *u);
	struct o_random r = o_random_init(2);

	for (size_t i = 0; i < n; i++) {
		uint64_t x = o_rnd(&r);

		u[i] = (struct pm_uop){ .pc = 0x400000 + i % 5000 * 4, .index = 1, .src1 = x & 15,
			.src2 = x & 16 ? (int)(x >> 8 & 15) : -1, .dest = x >> 16 & 15 };
		if ((x >> 24 & 7) < 2)
			u[i].access = PM_UOP_LOAD;
		else if ((x >> 24 & 7) == 2)
			u[i].access = PM_UOP_STORE, u[i].dest = -1;
		else if ((x >> 24 & 7) == 3)
			u[i].flag_use = PM_UOP_READS_FLAGS,
			u[i].outcome = x >> 32 & 1 ? PM_UOP_TAKEN : PM_UOP_NOT_TAKEN,
			u[i].target = 1, u[i].dest = -1;
		else if ((x >> 24 & 7) == 4)
			u[i].flag_use = PM_UOP_WRITES_FLAGS;
		u[i].mem = 0x1000 + (x >> 40 & 255) * 8;
	}
	return u;
}

static void bench_course(int argc, char **argv)
{
	const size_t n = 1 << 19;
	struct pm_uop *u = make_uops(n);
	struct pm_ooo_conf c = { 8, 128, 4, 7, 3, PM_OOO_PERFECT };
	struct pm_ooo *o = pm_ooo_from(&c);
	struct pm_inorder p;
	char more[80];
	double best;

	pm_inorder_init(&p, 2, 1);
	if (wanted(argc, argv, "inorder")) {
		BEST(best, pm_inorder_run(&p, u, n));
		snprintf(more, sizeof more, "CPI %.2f", (double)pm_inorder_cycles(&p) / p.insns);
		report("inorder", best, n, "micro-ops", more);
	}
	if (wanted(argc, argv, "ooo")) {
		BEST(best, for (size_t i = 0; i < n; i += 4096) pm_ooo_run(o, u + i, 4096));
		snprintf(more, sizeof more, "IPC %.2f",
			 (double)pm_ooo_stats(o)->uops / pm_ooo_stats(o)->cycles);
		report("ooo", best, n, "micro-ops", more);
	}
	pm_ooo_free(o);
	free(u);
}

/* The modern core as `pugmark sim` runs it: caches, predictors, decoding, timing; from events. */
static void bench_sink(const char *name, const struct pm_sink_ops *ops, const char *config,
		       const struct pm_event *ev)
{
	struct pm_err err = { 0 };
	struct pm_event *with = malloc(2 * NREF * sizeof *with);
	void *sink = ops->create(config, &err);
	size_t n = 0, insns = 0;
	double best;

	if (!sink) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	for (size_t i = 0; i < NREF; i++) {
		bool jump = i + 1 < NREF && ev[i].kind == PM_EV_INSN &&
			    ev[i + 1].kind == PM_EV_INSN &&
			    ev[i + 1].addr != ev[i].addr + ev[i].size;

		insns += ev[i].kind == PM_EV_INSN;
		with[n++] = ev[i];
		if (jump || (ev[i].kind == PM_EV_INSN && i % 9 == 0))
			with[n++] = (struct pm_event){
				PM_EV_BRANCH, PM_BR_COND | (jump ? PM_BR_TAKEN : 0),
				ev[i].size,   PM_NONE,
				ev[i].addr,   jump ? ev[i + 1].addr : ev[i].addr + 64
			};
	}
	BEST(best, for (size_t i = 0; i < n; i += 4096) {
		struct pm_batch b = { .ev = with + i, .n = n - i < 4096 ? n - i : 4096 };

		ops->consume(sink, &b, &err);
	});
	report(name, best, insns, "instructions", config);
	ops->destroy(sink);
	free(with);
}

/* cachegrind's work on blocks as a live run delivers them: 6 instructions and 2.4 references
 * each. */
static void bench_blocks(void)
{
	enum { BLOCKS = 4000 };
	static const struct pm_cg_cache caches[] = { { 32768, 8, 64 }, { 32768, 8, 64 },
		{ 8 << 20, 16, 64 } };
	struct pm_insn *insn = calloc(BLOCKS * 6, sizeof *insn);
	struct pm_block *block = calloc(BLOCKS, sizeof *block);
	struct pm_code code = { insn, block, NULL, BLOCKS * 6, BLOCKS, 0 };
	struct pm_stream stream = { .index = 0 };
	struct pm_event *ev = malloc(NREF * sizeof *ev);
	struct pm_cg *g = pm_cg_new(caches);
	struct o_random r = o_random_init(3);
	uint64_t pc = 0x400000, walk = 0x10000000, insns = 0, v[PM_CG_COUNT];
	unsigned at = 0, top = 0, left = 10;
	struct pm_err err = { 0 };
	char more[80];
	double best;
	size_t n = 0;

	for (unsigned b = 0; b < BLOCKS; b++) {
		block[b] = (struct pm_block){ pc, b * 6, 6 };
		for (unsigned i = 0; i < 6; i++, pc += 4)
			insn[b * 6 + i] = (struct pm_insn){ .pc = pc,
							    .len = 4,
							    .flow = i == 5 ? PM_CLASS_COND : 0 };
	}
	while (n < NREF - 8) {
		uint64_t x = o_rnd(&r);

		ev[n++] = (struct pm_event){ PM_EV_BLOCK, 0, 0, at, block[at].pc, 6 };
		insns += 6;
		for (unsigned i = 0; i < 2 + (x % 5 < 2); i++) {
			bool stack = x >> (8 + i) & 1;

			ev[n++] = (struct pm_event){ x >> (20 + i) & 3 ? PM_EV_READ : PM_EV_WRITE,
						     0,
						     8,
						     i * 2,
						     stack ? 0x7ffffff00000 + (x >> 24) % 24 * 8
						     : x >> 40 & 15
							     ? (walk += 8)
							     : 0x8000000 + (x >> 32) % (1u << 20),
						     0 };
		}
		if ((walk & 0x3fff) == 0)
			walk -= 0x4000;
		at++;
		if (at - top == 5) {
			at = top;
			if (left-- == 0) {
				top = at = (x >> 30) % 300 * 8;
				left = 4 + (x >> 50) % 16;
			}
		}
	}
	BEST(best, for (size_t i = 0; i < n; i += 4096) {
		struct pm_batch b = { .stream = &stream, .code = &code, .ev = ev + i,
			.n = n - i < 4096 ? n - i : 4096 };

		pm_cg_batch(g, &b, &err);
	});
	pm_cg_end(g);
	pm_cg_totals(g, v);
	snprintf(more, sizeof more, "I1 %.2f %% D1 %.2f %% Bc %.1f %%",
		 100.0 * v[PM_CG_I1mr] / v[PM_CG_Ir],
		 100.0 * (v[PM_CG_D1mr] + v[PM_CG_D1mw]) / (v[PM_CG_Dr] + v[PM_CG_Dw]),
		 100.0 * v[PM_CG_Bcm] / v[PM_CG_Bc]);
	report("cachegrind", best, insns, "instructions", more);
	pm_cg_free(g);
	free(ev);
	free(block);
	free(insn);
}

#define PF(name) \
	"l1i=32k,8way,64;l1d=32k,8way,64,prefetch=" name ";l2=1m,16way,64;l3=32m,16way,64"

int main(int argc, char **argv)
{
	struct pm_event *ev = make_refs(NREF);
	const struct { const char *name, *config; } caches[] = {
		{ "cache-l1", "l1i=32k,8way,64;l1d=32k,8way,64" },
		{ "cache-l1-l3", "l1i=32k,8way,64;l1d=32k,8way,64;l2=1m,16way,64;l3=32m,16way,64" },
		{ "cache-plru", "l1i=32k,8way,64,plru;l1d=32k,8way,64,plru;l2=1m,16way,64,plru" },
		{ "cache-drrip", "l1i=32k,8way,64;l1d=32k,8way,64;l2=1m,16way,64,drrip" },
		{ "cache-prefetch",
		  "l1i=32k,8way,64,prefetch=next;l1d=32k,8way,64,prefetch=stride;"
		  "l2=1m,16way,64,prefetch=stream" },
		{ "cache-ipstride", PF("ipstride") }, { "cache-ampm", PF("ampm") },
		{ "cache-spp", PF("spp") }, { "cache-berti", PF("berti") },
		{ "cache-pythia", PF("pythia") },
		{ "cache-3c", "l1i=32k,8way,64,3c;l1d=32k,8way,64,3c" },
	};
	const struct { const char *name; uint64_t a0, a1; } predictors[] = {
		{ "bimodal", 14, 0 }, { "gshare", 14, 14 }, { "tournament", 14, 14 },
		{ "local", 10, 10 }, { "perceptron", 10, 32 }, { "tage", 0, 0 },
		{ "tagescl", 0, 0 }, { "btb", 4096, 4 }, { "ras", 16, 0 }, { "ittage", 0, 0 },
	};

	for (size_t i = 0; i < NR(caches); i++)
		if (wanted(argc, argv, caches[i].name))
			bench_cache(caches[i].name, caches[i].config, ev);
	if (wanted(argc, argv, "coherence"))
		bench_coherence(ev);
	if (wanted(argc, argv, "allcache"))
		bench_stack(ev);
	if (wanted(argc, argv, "reuse"))
		bench_reuse(ev);
	for (size_t i = 0; i < NR(predictors); i++)
		if (wanted(argc, argv, predictors[i].name))
			bench_bpred(predictors[i].name, predictors[i].a0, predictors[i].a1);
	bench_course(argc, argv);
	if (wanted(argc, argv, "cachegrind"))
		bench_blocks();
	if (wanted(argc, argv, "core"))
		bench_sink("core", &pm_sim_core, "preset=big", ev);
	if (wanted(argc, argv, "i486"))
		bench_sink("i486", &pm_sim_i486, "", ev);
	free(ev);
	return 0;
}
