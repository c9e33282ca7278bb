/* SPDX-License-Identifier: MIT */
/* Coherent caches against their twin that asks every core (oracle/coherence_slow.h), and against
 * counts that can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../oracle/coherence_slow.h"
#include "../oracle/random.h"
#include "base/err.h"
#include "trace/expand.h"
#include "trace/format.h"

struct both { struct pm_coherence *fast; struct o_coherence slow; const char *config; };

static void begin(struct both *b, const char *config)
{
	struct pm_err err = { 0 };

	b->config = config;
	b->fast = pm_coherence_new(config, &err);
	if (!b->fast)
		fail_msg("%s: %s", config, err.msg);
	oc_new(&b->slow, pm_coherence_config(b->fast));
}

static void one(struct both *b, unsigned core, enum pm_cache_op op, uint64_t addr, unsigned size,
		uint64_t pc)
{
	pm_coherence_access(b->fast, core, op, 0, addr, size, pc);
	oc_access(&b->slow, core, op, addr, size, pc);
}

static void same_core(const struct both *b, unsigned k)
{
	const struct pm_core_counts *n = pm_coherence_core(b->fast, k), *o = b->slow.n + k;

#define C(name, unit, about)								\
	if (n->name != o->name)								\
		fail_msg("%s: core %u: %s is %llu, the twin has %llu", b->config, k, #name,	\
			 (unsigned long long)n->name, (unsigned long long)o->name);
	PM_CORE_COUNTS(C)
#undef C
}

static void same_pairs(const struct both *b, const struct pm_sharing_line *l,
		       const struct o_line_record *r)
{
	size_t n = 0;

	for (const struct pm_sharing_pair *p = l->pair; p; p = p->next, n++) {
		size_t i = 0;

		while (i < r->npair && (r->pair[i].missed != p->missed ||
					r->pair[i].wrote != p->wrote))
			i++;
		if (i == r->npair || r->pair[i].truly != p->truly ||
		    r->pair[i].falsely != p->falsely)
			fail_msg("%s: line %llx: another pair of places", b->config,
				 (unsigned long long)l->line);
	}
	assert_int_equal(n, r->npair);
}

/* The trace is over: all counters are the same, and those of lines and places. */
static void end(struct both *b)
{
	const struct pm_shared_counts *s = pm_coherence_shared(b->fast);
	const char *wrong = pm_coherence_check(b->fast);
	struct pm_sharing_line *l;
	size_t n, lines = 0;

	if (wrong)
		fail_msg("%s: %s", b->config, wrong);
	pm_coherence_end(b->fast);
	oc_end(&b->slow);
	for (unsigned k = 0; k < b->slow.cc->cores; k++)
		same_core(b, k);
	assert_int_equal(s->requests, b->slow.shared.requests);
	assert_int_equal(s->misses, b->slow.shared.misses);
	assert_int_equal(s->replaced, b->slow.shared.replaced);
	assert_int_equal(s->memory_writes, b->slow.shared.memory_writes);
	l = pm_coherence_lines(b->fast, &n);
	for (unsigned i = 0; i < 4096; i++)
		for (const struct o_line_record *r = b->slow.bucket[i]; r; r = r->next)
			lines += r->truly || r->falsely;
	assert_int_equal(n, lines);
	for (size_t i = 0; i < n; i++) {
		const struct o_line_record *r = oc_record(&b->slow, l[i].line);

		assert_int_equal(l[i].falsely, r->falsely);
		assert_int_equal(l[i].truly, r->truly);
		assert_int_equal(l[i].invalidations, r->invalidations);
		if (r->npair <= 64)
			same_pairs(b, l + i, r);
	}
	free(l);
	oc_free(&b->slow);			/* which has the other one's configuration */
	pm_coherence_free(b->fast);
}

static const char *const configs[] = {
	"cores=4;l1i=512,2way;l1d=512,2way;l2=1k,4way;l3=4k,4way",
	"cores=3;l1i=256,2way,32;l1d=128,4way,32;l2=1k,8way,32;l3=2k,2way,32",
	"cores=4;l1d=256,4way,16;l2=1k,2way,16",
	"cores=8;l1i=512,2way;l1d=512,1way;l2=4k,2way",
	"cores=2;l1i=1k,4way,256;l1d=1k,4way,256;l2=2k,8way,256;l3=64k,16way,256",
	"cores=1;l1d=256,2way;l2=512,2way;l3=1k,4way",
	"cores=64;l1i=256,2way;l1d=256,2way;l2=512,4way;l3=32k,16way",
	"",
};

/* Few lines, most of them shared, some crossed, code that is written to. */
static void random_accesses(void **state)
{
	static const enum pm_cache_op ops[] = { PM_OP_FETCH, PM_OP_READ, PM_OP_READ, PM_OP_WRITE };

	for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
		for (uint64_t seed = 1; seed <= 6; seed++) {
			struct o_random rnd = o_random_init(seed * 77 + i);
			struct both b;

			begin(&b, configs[i]);
			for (unsigned n = 0; n < 30000; n++) {
				const unsigned core = o_rnd(&rnd) % b.slow.cc->cores;
				const uint64_t reach = seed % 3 ? 1 << (6 + o_rnd(&rnd) % 7) : 8192;

				one(&b, core, ops[o_rnd(&rnd) % 4], o_rnd(&rnd) % reach +
				    (o_rnd(&rnd) % 3 ? 0 : core * 8192), 1 + o_rnd(&rnd) % 12,
				    4096 + o_rnd(&rnd) % 6);
				if (n % 1000 == 0 && pm_coherence_check(b.fast))
					fail_msg("%s: %s", configs[i], pm_coherence_check(b.fast));
			}
			end(&b);
		}
}

/* Two cores write a word each, in turns, @apart bytes apart. */
static struct pm_core_counts two_writers(unsigned apart, unsigned turns, bool read_other)
{
	struct pm_core_counts n;
	struct both b;

	begin(&b, "cores=2;l1d=1k,4way;l2=4k,4way;l3=64k,16way");
	for (unsigned i = 0; i < turns; i++)
		for (unsigned k = 0; k < 2; k++) {
			if (read_other)
				one(&b, k, PM_OP_READ, 4096 + (1 - k) * apart, 8, 50);
			one(&b, k, PM_OP_READ, 4096 + k * apart, 8, 100 + k);
			one(&b, k, PM_OP_WRITE, 4096 + k * apart, 8, 200 + k);
		}
	pm_coherence_end(b.fast);
	n = *pm_coherence_core(b.fast, 1);
	end(&b);
	return n;
}

static void counts_as_theory_says(void **state)
{
	struct pm_core_counts n = two_writers(8, 100, false);

	/* its first read is cold; each later one misses, since the other has written beside */
	assert_int_equal(n.cold, 1);
	assert_int_equal(n.false_sharing, 99);
	assert_int_equal(n.true_sharing, 0);
	assert_int_equal(n.misses, 100);
	assert_int_equal(n.upgrades, 100);
	assert_int_equal(n.invalidations, 99);		/* not by its own last write */
	assert_int_equal(n.dirty_interventions, 99);
	n = two_writers(64, 100, false);		/* mended */
	assert_int_equal(n.misses, 1);
	assert_int_equal(n.cold, 1);
	assert_int_equal(n.false_sharing + n.upgrades + n.invalidations, 0);
	n = two_writers(8, 100, true);			/* it wants what the other wrote */
	assert_int_equal(n.false_sharing, 0);
	assert_int_equal(n.true_sharing, 99);
}

/* A miss is judged by its whole lifetime: what the line is good for may show later. */
static void later_access_is_essential(void **state)
{
	struct both b;

	begin(&b, "cores=2;l1d=1k,4way;l2=64k,16way");
	one(&b, 0, PM_OP_READ, 0, 4, 1);
	one(&b, 1, PM_OP_WRITE, 8, 4, 2);
	one(&b, 0, PM_OP_READ, 0, 4, 3);	/* nothing new ... */
	one(&b, 0, PM_OP_READ, 8, 4, 4);	/* ... but here */
	one(&b, 1, PM_OP_WRITE, 8, 4, 5);
	one(&b, 0, PM_OP_READ, 0, 4, 6);
	pm_coherence_end(b.fast);
	assert_int_equal(pm_coherence_core(b.fast, 0)->true_sharing, 1);
	assert_int_equal(pm_coherence_core(b.fast, 0)->false_sharing, 1);
	end(&b);
}

/* ---- real programs -------------------------------------------------------------------------- */

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct both *both = self;
	const unsigned core = b->stream->index % both->slow.cc->cores;
	static uint64_t pc[256];
	uint64_t *at = pc + b->stream->index % 256;

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = b->ev + i;
		const unsigned size = e->size ? e->size : 1;

		if (e->kind == PM_EV_INSN) {
			*at = e->addr;
			oc_access(&both->slow, core, PM_OP_FETCH, e->addr, size, *at);
		}
		if (e->kind == PM_EV_READ || e->kind == PM_EV_MODIFY)
			oc_access(&both->slow, core, PM_OP_READ, e->addr, size, *at);
		if (e->kind == PM_EV_WRITE || e->kind == PM_EV_MODIFY)
			oc_access(&both->slow, core, PM_OP_WRITE, e->addr, size, *at);
	}
	return pm_coherence_batch(both->fast, b, err);
}

/* PM_TRACE, a trace of one process; tests/data/real.pug has one thread only. */
static void a_real_trace(void **state)
{
	static const struct pm_sink_ops ops = { .abi = PM_ABI, .needs = PM_HAS_REFS,
						.name = "both", .consume = consume };
	const char *path = getenv("PM_TRACE"), *tests = getenv("TESTS");
	static const char *const real[] = { "cores=4;spaces=shared",
		"cores=3;l1i=1k,2way;l1d=1k,2way;l2=4k,4way;l3=16k,4way;spaces=shared" };

	for (size_t i = 0; i < 2; i++) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct pm_err err = { 0 };
		struct pm_source src;
		char name[4096];
		struct both b;

		begin(&b, real[i]);
		snprintf(name, sizeof name, "%s/data/real.pug", tests ? tests : "tests");
		pm_pipeline_sink(p, &ops, &b);
		if (pm_trace_open(path ? path : name, NULL, &src, NULL, &err) ||
		    pm_pipeline_run(p, &src, NULL, &err))
			fail_msg("%s", err.msg);
		src.ops->close(src.self);
		pm_pipeline_free(p);
		end(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_accesses), cmocka_unit_test(counts_as_theory_says),
		cmocka_unit_test(later_access_is_essential), cmocka_unit_test(a_real_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
