/* SPDX-License-Identifier: MIT */
/* Caches of objects against their twin that searches an array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../oracle/random.h"
#include "../oracle/requests_slow.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/result.h"

static uint64_t number(const struct pm_result_node *n, const char *name)
{
	n = pm_result_find(n, name);
	assert_non_null(n);
	return n->u64;
}

static void same(const char *config, const struct o_objects *o, size_t n, struct pm_result *r)
{
	const struct pm_result_node *c = pm_result_find(
		pm_result_find(pm_result_root(r), "requests"), "caches")->first;

	for (size_t i = 0; i < n; i++, c = c->next) {
		assert_non_null(c);
		if (number(c, "misses") != o[i].miss || number(c, "missed_bytes") !=
		    o[i].miss_bytes || number(c, "evicted") != o[i].evicted ||
		    number(c, "objects") != o[i].n)
			fail_msg("%s: cache %zu: %llu misses, %llu expected", config, i,
				 (unsigned long long)number(c, "misses"),
				 (unsigned long long)o[i].miss);
	}
}

/* Few objects are asked for often, as on the net; sizes change now and then. */
static void compare(const char *config, bool each, uint64_t seed, size_t n, uint64_t objects)
{
	static const uint64_t sizes[] = { 1, 3000, 40000, 300000 };
	const size_t ncache = 4 * NR(sizes);
	struct o_objects *o = calloc(ncache, sizeof *o);
	struct pm_result *r = pm_result_new();
	struct pm_err err = { 0 };
	void *self = pm_sim_requests.create(config, &err);
	struct o_random rnd = o_random_init(seed);
	const struct pm_stream stream = { 0 };

	assert_non_null(self);
	for (size_t k = 0; k < ncache; k++)
		o[k] = (struct o_objects){ .policy = (enum pm_object_policy)(k / NR(sizes)),
					   .size = each ? sizes[k % NR(sizes)] / 100 + 1 :
					   sizes[k % NR(sizes)], .hand = -1 };
	for (size_t i = 0; i < n; i++) {
		const uint64_t id = o_rnd(&rnd) % (1 + o_rnd(&rnd) % objects) * 0x100000001u,
			       size = 1 + (id ^ id >> 7) % 2000 + (o_rnd(&rnd) % 50 ? 0 : 17);
		const struct pm_event e = { .kind = PM_EV_READ, .addr = id, .value = size };
		const struct pm_batch b = { .stream = &stream, .ev = &e, .n = 1 };

		assert_int_equal(pm_sim_requests.consume(self, &b, &err), PM_OK);
		for (size_t k = 0; k < ncache; k++)
			o_request(o + k, id, each ? 1 : size, size);
	}
	assert_int_equal(pm_sim_requests.finish(self, r, &err), PM_OK);
	same(config, o, ncache, r);
	pm_sim_requests.destroy(self);
	pm_result_free(r);
	free(o);
}

static void random_requests(void **state)
{
	const char *bytes = "lru=1,3000,40000,300000;fifo=1,3000,40000,300000;"
			    "clock=1,3000,40000,300000;sieve=1,3000,40000,300000",
		   *each = "lru=1,31,401,3001;fifo=1,31,401,3001;clock=1,31,401,3001;"
			   "sieve=1,31,401,3001;each";

	for (uint64_t seed = 1; seed <= 4; seed++) {
		compare(bytes, false, seed, 20000, seed * 300);
		compare(each, true, seed, 20000, seed * 300);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_requests) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
