/* SPDX-License-Identifier: MIT */
/* Whatever goes out by a suffix comes back in by its magic; damage is an error, never silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sanitizer.h"
#include "trace/io.h"

static char dir[] = "/tmp/pm-test-io-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[200];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void fill(uint8_t *p, size_t n)
{
	uint32_t x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = i % 3 ? (uint8_t)(x >> 28) : (uint8_t)i;
	}
}

static size_t read_all(struct pm_input *in, size_t step, uint8_t *to, size_t room,
		       struct pm_err *err)
{
	size_t n = 0, got;
	const uint8_t *p;

	while ((p = pm_input_peek(in, step, &got, err)) && got) {
		size_t use = got < step ? got : step;

		assert_true(n + use <= room);
		assert_int_equal(pm_input_offset(in), n);
		memcpy(to + n, p, use);
		n += use;
		pm_input_skip(in, use);
	}
	return n;
}

static void round_trip(const char *name, size_t n)
{
	struct pm_err err = { 0 };
	uint8_t *data = pm_alloc(n + 1), *back = pm_alloc(n + 1);
	const char *path = in_dir(name);
	static const size_t steps[] = { 1000, 7, 70000, 300000, 3000000 };
	struct pm_output *o;

	fill(data, n);
	o = pm_output_open(path, &err);
	assert_non_null(o);
	for (size_t at = 0; at < n; ) {
		size_t part = at % 70001 + 1;

		if (part > n - at)
			part = n - at;
		assert_int_equal(pm_output_write(o, data + at, part, &err), PM_OK);
		at += part;
	}
	assert_int_equal(pm_output_offset(o), n);
	assert_int_equal(access(path, F_OK), -1);	/* not there before it is whole */
	assert_int_equal(pm_output_finish(o, &err), PM_OK);
	pm_output_close(o);
	for (size_t i = 0; i < NR(steps); i++) {
		struct pm_input *in = pm_input_open(path, &err);

		assert_non_null(in);
		assert_int_equal(read_all(in, steps[i], back, n, &err), n);
		assert_memory_equal(data, back, n);
		assert_false(pm_failed(&err));
		pm_input_close(in);
	}
	unlink(path);
	free(data);
	free(back);
}

static void test_round_trips(void **state)
{
	static const size_t sizes[] = { 0, 1, 5, 4096, 262144, 262145, 2000003 };

	for (size_t i = 0; i < NR(sizes); i++) {
		round_trip("a", sizes[i]);
		round_trip("a.gz", sizes[i]);
		round_trip("a.zst", sizes[i]);
		round_trip("a.xz", sizes[i]);
		round_trip("a.bz2", sizes[i]);
	}
	/* large enough for the second thread, and for every way in which its blocks become the
	 * window */
	round_trip("a.gz", 4000003);
	round_trip("a.zst", 4000003);
}

#define FLIP_STEP (PM_SANITIZED ? 5 : 1)	/* each takes 10 times as long */

/* Every cut of a packed stream gives a true prefix and then an error, never a quiet end. */
static void cut_everywhere(const char *name)
{
	static uint8_t back[4 << 20];	/* damage may unpack to more */
	uint8_t data[3000], *packed;
	struct pm_err err = { 0 };
	struct pm_output *o;
	const char *path = in_dir(name);
	struct stat st;
	FILE *f;

	fill(data, sizeof data);
	o = pm_output_open(path, &err);
	assert_int_equal(pm_output_write(o, data, sizeof data, &err), PM_OK);
	assert_int_equal(pm_output_finish(o, &err), PM_OK);
	pm_output_close(o);
	stat(path, &st);
	packed = pm_alloc((size_t)st.st_size);
	f = fopen(path, "rb");
	assert_int_equal(fread(packed, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	unlink(path);
	for (size_t cut = 10; cut < (size_t)st.st_size; cut++) {
		struct pm_input *in = pm_input_memory(packed, cut, "cut");
		size_t n = read_all(in, 100, back, sizeof back, &err);

		assert_true(n <= sizeof data);
		assert_memory_equal(data, back, n);
		assert_true(pm_failed(&err));
		assert_non_null(strstr(err.msg, "data is cut here"));
		err = (struct pm_err){ 0 };
		pm_input_close(in);
	}
	/* and every flipped bit either changes nothing that matters or is noticed */
	for (size_t i = 0; i < (size_t)st.st_size * 8; i += FLIP_STEP) {
		struct pm_input *in;
		size_t n;

		packed[i / 8] ^= 1 << i % 8;
		in = pm_input_memory(packed, (size_t)st.st_size, "flipped");
		if (pm_input_map(in, &n)) {	/* the magic itself: now it is some other file */
			packed[i / 8] ^= 1 << i % 8;
			pm_input_close(in);
			continue;
		}
		n = read_all(in, 4096, back, sizeof back, &err);
		if (!pm_failed(&err)) {
			assert_int_equal(n, sizeof data);
			assert_memory_equal(data, back, n);
		}
		err = (struct pm_err){ 0 };
		packed[i / 8] ^= 1 << i % 8;
		pm_input_close(in);
	}
	free(packed);
}

static void test_damage(void **state)
{
	cut_everywhere("b.gz");
	cut_everywhere("b.zst");
	cut_everywhere("b.xz");
	cut_everywhere("b.bz2");
}

/* Members one behind the other, as `cat a.gz b.gz` makes them, are one stream. */
static void test_members(void **state)
{
	static const char *const names[] = { "m.gz", "m.zst", "m.xz", "m.bz2" };

	for (size_t i = 0; i < NR(names); i++) {
		struct pm_err err = { 0 };
		struct pm_buf two = { 0 };
		uint8_t back[64];
		struct pm_input *in;

		for (int k = 0; k < 2; k++) {
			struct pm_output *o = pm_output_open(in_dir(names[i]), &err);
			char buf[4096];
			FILE *f;

			assert_int_equal(pm_output_write(o, k ? "world" : "hello ", k ? 5 : 6,
							 &err),
					 PM_OK);
			assert_int_equal(pm_output_finish(o, &err), PM_OK);
			pm_output_close(o);
			f = fopen(in_dir(names[i]), "rb");
			pm_buf_add(&two, buf, fread(buf, 1, sizeof buf, f));
			fclose(f);
		}
		unlink(in_dir(names[i]));
		in = pm_input_memory(two.p, two.n, "two");
		assert_int_equal(read_all(in, 64, back, sizeof back, &err), 11);
		assert_memory_equal(back, "hello world", 11);
		assert_false(pm_failed(&err));
		pm_input_close(in);
		pm_buf_release(&two);
	}
}

/* A pipe gives bytes in small portions; the magic may come in two of them. */
static void test_pipe(void **state)
{
	int fd[2], old = dup(0);
	struct pm_err err = { 0 };
	uint8_t back[64];
	struct pm_input *in;

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "plain bytes", 11), 11);
	close(fd[1]);
	dup2(fd[0], 0);
	in = pm_input_open("-", &err);
	assert_non_null(in);
	assert_int_equal(read_all(in, 3, back, sizeof back, &err), 11);
	assert_memory_equal(back, "plain bytes", 11);
	assert_null(pm_input_map(in, &(size_t){ 0 }));
	pm_input_close(in);
	dup2(old, 0);
	close(old);
	close(fd[0]);
}

static long resident_kib(void)
{
	long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &pages, &resident), 2);
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A file that is read through does not stay in memory, plain or packed. */
static void test_constant_memory(void **state)
{
	static const char *const names[] = { "big", "big.gz", "big.zst" };
	const size_t n = 96 << 20, part = 1 << 20;
	uint8_t *data;

	if (PM_THREAD_SANITIZER)
		skip();			/* what it notes about each byte counts, and stays */
	data = pm_alloc(part);
	fill(data, part);
	for (size_t i = 0; i < NR(names); i++) {
		struct pm_err err = { 0 };
		struct pm_output *o = pm_output_open(in_dir(names[i]), &err);
		struct pm_input *in;
		size_t got, total = 0;
		long before, most = 0;

		for (size_t at = 0; at < n; at += part)
			assert_int_equal(pm_output_write(o, data, part, &err), PM_OK);
		assert_int_equal(pm_output_finish(o, &err), PM_OK);
		pm_output_close(o);
		before = resident_kib();
		in = pm_input_open(in_dir(names[i]), &err);
		for (const uint8_t *p; (p = pm_input_peek(in, 65536, &got, &err)) && got;
		     total += got) {
			uint64_t sum = 0;

			for (size_t at = 0; at < got; at += 4096)
				sum += p[at];
			assert_true(sum < UINT64_MAX);
			if (resident_kib() - before > most)
				most = resident_kib() - before;
			pm_input_skip(in, got);
		}
		assert_int_equal(total, n);
		assert_in_range(most, 0, 16 << 10);
		pm_input_close(in);
		unlink(in_dir(names[i]));
	}
	free(data);
}

static void test_unfinished(void **state)
{
	struct pm_err err = { 0 };
	const char *path = in_dir("u");
	struct pm_output *o = pm_output_open(path, &err);

	assert_int_equal(pm_output_write(o, "x", 1, &err), PM_OK);
	pm_output_close(o);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(dir), 0);	/* nothing is left behind */
	assert_int_equal(mkdir(dir, 0700), 0);
	o = pm_output_open(in_dir("none/u"), &err);
	assert_null(o);
	assert_non_null(strstr(err.msg, "cannot open for writing: No such file"));
}

static void test_full_disk(void **state)
{
	struct pm_err err = { 0 };
	struct pm_output *o;
	static uint8_t big[1 << 20];

	if (access("/dev/full", W_OK))
		skip();
	o = pm_output_open("/dev/full", &err);
	assert_non_null(o);
	assert_int_equal(pm_output_write(o, "x", 1, &err), PM_OK);
	assert_int_equal(pm_output_finish(o, &err), PM_ERR);
	assert_non_null(strstr(err.msg, "cannot write: No space left"));
	pm_output_close(o);
	err = (struct pm_err){ 0 };
	o = pm_output_open("/dev/full", &err);
	assert_int_equal(pm_output_write(o, big, sizeof big, &err), PM_ERR);
	pm_output_close(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_members), cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_constant_memory),
		cmocka_unit_test(test_unfinished), cmocka_unit_test(test_full_disk),
	};
	int r;

	if (!mkdtemp(dir))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return r;
}
