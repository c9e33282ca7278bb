/* SPDX-License-Identifier: MIT */
/* Plans of sweeps: lists of values, products of parameters, numbers of jobs; keys against sha256sum
 * of what they are said to be made of. */
#include "alone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sweep/sweep_dir.h"
#include "sweep/sweep_plan.h"

static enum pm_status read_text(struct sweep_plan *p, const char *lines, struct pm_err *err)
{
	static int fd = -1;
	static char path[40];			/* errors name it */

	if (fd < 0)
		fd = memfd_create("plan", 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, lines, strlen(lines), 0), strlen(lines));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	*err = (struct pm_err){ 0 };
	return sweep_plan_read(p, path, err);
}

static void test_values(void **state)
{
	static const struct { const char *text, *values; } t[] = {
		{ "8", "8" }, { "lru|fifo", "lru fifo" }, { "1..4", "1 2 3 4" },
		{ "256k..2m*2", "256k 512k 1m 2m" }, { "2..8+2", "2 4 6 8" },
		{ "2|4..6|32k", "2 4 5 6 32k" }, { "8|16way", "8way 16way" },
		{ "3..10*3", "3 9" }, { "0..1", "0 1" },
	};
	static const char *const wrong[] = { "5..1", "1..8*1", "1..8*0", "1..200000", "0..9*2",
					     "16k..64k*2256k..4m*2" };

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		struct pm_arena mem = { 0 };
		struct pm_values v = { 0 };
		struct pm_err err = { 0 };
		char all[200] = "";

		assert_int_equal(pm_values_parse(&v, &mem, t[i].text, &err), PM_OK);
		for (size_t k = 0; k < v.n; k++)
			snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", k ? " " : "",
				 v.v[k]);
		assert_string_equal(all, t[i].values);
		pm_values_release(&v);
		pm_arena_release(&mem);
	}
	for (size_t i = 0; i < NR(wrong); i++) {
		struct pm_arena mem = { 0 };
		struct pm_values v = { 0 };
		struct pm_err err = { 0 };

		if (pm_values_parse(&v, &mem, wrong[i], &err) == PM_OK)
			fail_msg("'%s' was taken", wrong[i]);
		assert_true(pm_failed(&err));
		pm_values_release(&v);
		pm_arena_release(&mem);
	}
}

/* Every configuration of a plan, against loops that are written out here. */
static void test_products(void **state)
{
	static const char *const size[] = { "16k", "32k", "64k" }, *const l2[] = { "1m", "2m" },
				 *const way[] = { "8way", "16way" };
	struct sweep_plan p;
	struct pm_buf spec = { 0 };
	struct pm_err err;
	char want[100];
	uint64_t c = 0;

	(void)state;
	assert_int_equal(read_text(&p, "trace t = /t\ntrace u = /u\n"
				   "region a = 0..5\nregion b = all\n"
				   "let size = 16k..64k*2\nlet unused = 1..1000\n"
				   "sim one = cache:l1d=$size,8way;l2=1m|2m,8|16way;l3=$size\n"
				   "sim two = bpred:gshare=1..3\n", &err), PM_OK);
	assert_int_equal(p.nconfig, 3 * 2 * 2 + 3);
	assert_int_equal(p.njob, 2 * 2 * p.nconfig);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 2; j++)
			for (int k = 0; k < 2; k++) {
				snprintf(want, sizeof want, "cache:l1d=%s,8way;l2=%s,%s;l3=%s",
					 size[i], l2[j], way[k], size[i]);
				sweep_plan_spec(&p, c, &spec);
				assert_string_equal((char *)spec.p, want);
				assert_string_equal(sweep_plan_sim(&p, c++)->name, "one");
			}
	for (int i = 1; i <= 3; i++) {
		snprintf(want, sizeof want, "bpred:gshare=%d", i);
		sweep_plan_spec(&p, c++, &spec);
		assert_string_equal((char *)spec.p, want);
	}
	c = 0;
	for (size_t t = 0; t < 2; t++)
		for (size_t r = 0; r < 2; r++)
			for (uint64_t k = 0; k < p.nconfig; k++, c++) {
				const struct sweep_job j = sweep_plan_job(&p, c);

				assert_true(j.trace == t && j.region == r && j.config == k);
				assert_int_equal(sweep_plan_number(&p, &j), c);
			}
	pm_buf_release(&spec);
	sweep_plan_release(&p);
}

/* A plan that makes no sense is refused, with its line. */
static void test_refused(void **state)
{
	static const struct { const char *text, *says; } t[] = {
		{ "", "no trace" }, { "trace t = /t\n", "no simulator" },
		{ "trace t = /t\nsim a = cache\nsim a = cache\n", "line 3" },
		{ "trace t = /t\nhello\nsim a = cache\n", "line 2" },
		{ "trace t = /t\n\n# x\nregion r = 5..2\nsim a = cache\n", "line 4" },
		{ "trace t = /t\nsim a = cache:l1d=$size\n", "line 2" },
		{ "trace t = /t\ntrace t = /u\nsim a = cache\n", "both called" },
		{ "trace t = /t\nsim = cache\n", "line 2" },
		{ "trace t = /t\nsim a = cache:l1d=1..100000,l2=1..100000\n", "line 2" },
	};

	(void)state;
	for (size_t i = 0; i < NR(t); i++) {
		struct sweep_plan p;
		struct pm_err err = { 0 };
		FILE *f = tmpfile();
		char said[400] = "";

		if (read_text(&p, t[i].text, &err) == PM_OK)
			fail_msg("'%s' was taken", t[i].text);
		pm_err_print(&err, f);
		rewind(f);
		assert_non_null(fgets(said, sizeof said, f));
		fclose(f);
		if (!strstr(said, t[i].says) && !strstr(said, strchr(t[i].says, ' ') + 1))
			fail_msg("'%s' says '%s', not '%s'", t[i].text, said, t[i].says);
		sweep_plan_release(&p);
	}
}

static void key_of(const struct sweep_trace_id *id, const struct sweep_region *g, const char *spec,
		   char key[static SWEEP_KEY + 1])
{
	struct pm_buf canonical = { 0 };
	struct pm_err err = { 0 };

	assert_int_equal(sweep_key(id, g, spec, &canonical, key, &err), PM_OK);
	pm_buf_release(&canonical);
}

/* A key is what sha256sum says of the parts; it differs if one of them does, and not if a
 * configuration is only written in another way. */
static void test_keys(void **state)
{
	const struct sweep_trace_id a = { .sum = { 1, 2, 3 } }, b = { .sum = { 1, 2, 4 } };
	const struct sweep_region all = { "all", 0, UINT64_MAX }, part = { "p", 5, 9 };
	char key[6][SWEEP_KEY + 1], path[] = "/tmp/keyXXXXXX", command[100], sum[80];
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	(void)state;
	key_of(&a, &all, "bpred:gshare=10", key[0]);
	key_of(&b, &all, "bpred:gshare=10", key[1]);
	key_of(&a, &part, "bpred:gshare=10", key[2]);
	key_of(&a, &all, "bpred:gshare=11", key[3]);
	for (int i = 1; i < 4; i++)
		assert_string_not_equal(key[0], key[i]);
	key_of(&a, &all, "cache:l1d=32k,8way", key[4]);
	key_of(&a, &all, "cache:l1d=32768,8way,64,lru", key[5]);
	assert_string_equal(key[4], key[5]);

	fwrite("pugmark sweep 1", 1, 16, f);
	fwrite(a.sum, 1, sizeof a.sum, f);
	fprintf(f, "all\nbpred 1\n");
	fwrite("gshare=10", 1, 10, f);
	fclose(f);
	snprintf(command, sizeof command, "sha256sum %s", path);
	f = popen(command, "r");
	assert_non_null(fgets(sum, sizeof sum, f));
	pclose(f);
	unlink(path);
	sum[SWEEP_KEY] = 0;
	assert_string_equal(key[0], sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_products),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
