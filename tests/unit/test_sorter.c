/* SPDX-License-Identifier: MIT */
/* What does not fit into memory comes out in order; requests find their next one wherever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sanitizer.h"
#include "base/sorter.h"
#include "trace/format.h"
#include "trace/text.h"

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* All records are there, in order, those of one key in the order in which they came. */
static void sorted(size_t n, uint64_t mask)
{
	struct pm_sorter *s = pm_sorter_new();
	struct pm_err err = { 0 };
	struct pm_sort_rec r, was = { 0, 0, 0 };
	uint64_t in = 0, out = 0;
	size_t got = 0;
	enum pm_status st;

	for (size_t i = 0; i < n; i++) {
		r = (struct pm_sort_rec){ draw() & mask, i, ~i };
		in += r.key * (2 * i + 1);
		assert_int_equal(pm_sorter_add(s, r, &err), PM_OK);
	}
	while ((st = pm_sorter_next(s, &r, &err)) == PM_OK) {
		assert_true(!got || was.key < r.key || (was.key == r.key && was.a < r.a));
		assert_true(r.b == ~r.a);
		out += r.key * (2 * r.a + 1);
		was = r;
		got++;
	}
	assert_int_equal(st, PM_END);
	assert_int_equal(got, n);
	assert_true(in == out);
	pm_sorter_free(s);
}

static void test_sorted(void **unused)
{
	(void)unused;
	sorted(0, ~0ull);
	sorted(1, ~0ull);
	sorted(1000, 0xff);
	sorted(1u << 17, ~0ull);		/* exactly one run */
	sorted((1u << 17) + 1, 0xffff00ff0000);
	sorted(3u << 20, 0xfffff);		/* 24 runs */
	sorted(5u << 20, 0);	/* 40 runs, of which 32 become one: order is all there is */
	sorted(9u << 20, 0xffffff);
}

/* A temporary directory that is not there is an error, as long as nothing is lost without a
 * word. */
static void test_no_room(void **unused)
{
	struct pm_sorter *s = pm_sorter_new();
	struct pm_err err = { 0 };
	enum pm_status st = PM_OK;

	(void)unused;
	setenv("TMPDIR", "/nonexistent", 1);
	for (uint64_t i = 0; i < 1u << 18 && st == PM_OK; i++)
		st = pm_sorter_add(s, (struct pm_sort_rec){ i, 0, 0 }, &err);
	unsetenv("TMPDIR");
	assert_int_equal(st, PM_ERR);
	assert_non_null(strstr(err.msg, "/nonexistent/pugmark-"));
	pm_sorter_free(s);
}

/* ---- next requests -------------------------------------------------------------------------- */

/* Requests of @n blocks that @block names, written as @format into @out. */
static void write_requests(const char *format, size_t n, uint64_t (*block)(uint64_t i),
			   struct pm_output *out)
{
	static struct pm_event ev[4096];
	static const struct pm_stream stream;
	struct pm_err err = { 0 };
	const struct pm_format *f = pm_format_find(format, &err);
	void *w = f->write->open(out, &(struct pm_write_opts){ NULL, "", PM_HAS_REFS }, &err);

	assert_non_null(w);
	for (size_t i = 0; i < n; ) {
		struct pm_batch b = { .stream = &stream, .ev = ev };

		for (; b.n < NR(ev) && i < n; i++)
			ev[b.n++] = (struct pm_event){
				PM_EV_READ, 0, 4, PM_NONE, block(i) * 64 + i % 64, 0
			};
		assert_int_equal(f->write->write(w, &b, &err), PM_OK);
	}
	assert_int_equal(f->write->finish(w, &err), PM_OK);
	f->write->close(w);
}

/* Each request's next one, by looking from the end. */
static void check(const char *format, size_t n, uint64_t (*block)(uint64_t i))
{
	struct pm_output *out = pm_output_memory();
	struct pm_map next = { 0 };
	const bool lcs = !strcmp(format, "lcs");
	const uint8_t *p;
	size_t size;

	write_requests(format, n, block, out);
	p = pm_output_bytes(out, &size);
	assert_int_equal(size, 24 * n + (lcs ? 1024 : 0));
	for (size_t i = n; i--; ) {
		const uint8_t *r = p + (lcs ? 1024 : 0) + 24 * i;
		bool fresh;
		uint64_t *at = pm_map_put(&next, block(i), &fresh);

		if (pm_get32(r) != i || pm_get64(r + 4) != block(i) || pm_get32(r + 12) != 64 ||
		    pm_get64(r + 16) != (fresh ? UINT64_MAX : *at))
			fail_msg("request %zu: time %u, object %llu, size %u, next %llu; expected "
				 "object %llu, next %llu",
				 i, pm_get32(r), (unsigned long long)pm_get64(r + 4),
				 pm_get32(r + 12), (unsigned long long)pm_get64(r + 16),
				 (unsigned long long)block(i),
				 (unsigned long long)(fresh ? UINT64_MAX : *at));
		*at = i;
	}
	if (lcs) {
		assert_int_equal(pm_get64(p + 488), n);
		assert_int_equal(pm_get64(p + 496), next.n);
		assert_int_equal(pm_get64(p + 504), 64 * n);
		assert_int_equal(pm_get64(p + 512), 64 * next.n);
	}
	pm_map_release(&next);
	pm_output_close(out);
}

static uint64_t hashed(uint64_t i)
{
	i = (i ^ i >> 31) * 0x9e3779b97f4a7c15u;
	return i ^ i >> 29;
}

static uint64_t few(uint64_t i) { return hashed(i) % 1000; }
static uint64_t loop(uint64_t i) { return i % 700000; }		/* more than the table holds */
static uint64_t wide(uint64_t i) { return hashed(i) % 900000; }
static uint64_t mixed(uint64_t i) { return i & 1 ? hashed(i) % 50 : hashed(i) % 2000000; }
static uint64_t once(uint64_t i) { return i; }
static uint64_t one(uint64_t i) { (void)i; return 0; }

static void test_next(void **unused)
{
	(void)unused;
	check("oraclegeneral", 0, once);
	check("oraclegeneral", 5, once);
	check("lcs", 0, once);
	check("lcs", 300000, few);		/* just beyond the ring */
	check("oraclegeneral", 300000, one);
	check("oraclegeneral", 1500000, loop);
	check("lcs", 2500000, wide);
	check("oraclegeneral", 2000000, mixed);
	check("lcs", 1000000, once);
}

/* What the kernel says that this process has had in memory at most, in KiB; 0: it does not. */
static long most_resident(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* This program again, as `test_sorter resident N BLOCK`. A fork would begin with what the tests
 * before have left. */
static int resident_main(const char *n, const char *block)
{
	struct pm_err err = { 0 };
	struct pm_output *out = pm_output_open("/dev/null", &err);

	write_requests("lcs", strtoul(n, NULL, 10), !strcmp(block, "wide") ? wide : once, out);
	printf("%ld\n", most_resident());
	return 0;
}

/* In MiB. */
static long resident(const char *n, const char *block)
{
	char command[256];
	long kib = 0;
	FILE *f;

	snprintf(command, sizeof command, "/proc/%d/exe resident %s %s", (int)getpid(), n, block);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld", &kib), 1);
	assert_int_equal(pclose(f), 0);
	assert_true(kib > 0);
	return kib / 1024;
}

/* However many objects there are: 64 MiB above what a process without requests takes. */
static void test_memory(void **unused)
{
	(void)unused;
	if (PM_SANITIZED)
		skip();				/* its own memory counts */
	const long none = resident("0", "once");

	assert_in_range(resident("8000000", "once") - none, 1, 64);
	assert_in_range(resident("6000000", "wide") - none, 1, 64);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_memory),
	};

	if (argc == 4 && !strcmp(argv[1], "resident"))
		return resident_main(argv[2], argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
