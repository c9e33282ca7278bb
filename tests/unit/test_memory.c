/* SPDX-License-Identifier: MIT */
/* Converting takes the same memory however long the trace is: every format that is read and
 * written, once and eight times as long; and where records are instructions, also with nothing but
 * new ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sanitizer.h"
#include "trace/format.h"
#include "transform/to_uops.h"

#define SHORT_BYTES	(1 << 20)	/* of the shorter file; all buffers are full by then */
#define LONG_BYTES	(160 << 20)	/* of one that fills several chunks of a .pug */

#define GROWTH_KIB	1024		/* allowed from the shorter to the longer; a byte per
					 * record would be more */
#define MOST_KIB	(64 << 10)

static char dir[] = "/tmp/pm-memory-XXXXXX";

struct held {
	struct pm_batch *v;
	size_t n, cap;
};

static const void *copy(const void *p, size_t n)
{
	return n ? memcpy(pm_alloc(n), p, n) : NULL;
}

/* The batch stays as it is; names in its arena with it. */
static void hold(struct held *h, const struct pm_batch *b)
{
	struct pm_batch *k;
	struct pm_rare *rare;

	pm_grow(h->v, h->n, h->cap);
	k = &h->v[h->n++];
	*k = *b;
	k->ev = copy(b->ev, b->n * sizeof *b->ev);
	k->uop = copy(b->uop, b->nuop * sizeof *b->uop);
	k->bus = copy(b->bus, b->nbus * sizeof *b->bus);
	k->arena = copy(b->arena, b->narena);
	k->rare = rare = (struct pm_rare *)copy(b->rare, b->nrare * sizeof *b->rare);
	for (size_t i = 0; i < b->nrare; i++)
		if (rare[i].name)
			rare[i].name = (const char *)k->arena +
				       ((const uint8_t *)rare[i].name - b->arena);
}

static void write_times(const char *path, const char *format, uint32_t facts, const struct held *h,
			uint64_t bytes)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	struct stat st = { 0 };

	assert_int_equal(pm_trace_create(p, path, format, facts, &err), PM_OK);
	assert_int_equal(pm_pipeline_start(p, facts, NULL, &err), PM_OK);
	/* events take about as much room as records: what counts is that the second file is eight
	 * times the first */
	for (uint64_t done = 0; done < bytes; )
		for (size_t i = 0; i < h->n; i++) {
			assert_int_equal(pm_pipeline_push(p, &h->v[i], &err), PM_OK);
			done += 8 * h->v[i].n + h->v[i].narena + 40 * h->v[i].nuop;
		}
	if (pm_pipeline_finish(p, NULL, &err) != PM_OK)
		fail_msg("%s: %s", format, err.msg);
	pm_pipeline_free(p);
	assert_int_equal(stat(path, &st), 0);
}

/* KiB of a process that converts @in to format @to; of one that does not if @out is "". */
static long convert(const char *in, const char *format, const char *out, const char *to)
{
	struct rusage u;
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct pm_source src;
		struct pm_err err = { 0 };
		bool ok = !*out || pm_trace_open(in, format, &src, NULL, &err) == PM_OK;

		if (ok && *out) {
			uint32_t facts = src.facts;

			if (!strcmp(to, "penn") && strcmp(format, "penn")) {
				pm_pipeline_transform(p, &pm_crack_ops, pm_crack_new());
				facts |= pm_crack_ops.adds;
			}
			ok = pm_trace_create(p, out, to, facts, &err) == PM_OK &&
			     pm_pipeline_start(p, src.facts, format, &err) == PM_OK &&
			     pm_pipeline_run(p, &src, NULL, &err) == PM_OK;
		}
		if (!ok)
			pm_err_print(&err, stderr);
		_exit(!ok);
	}
	assert_int_equal(wait4(pid, &status, 0, &u), pid);
	assert_int_equal(status, 0);
	return u.ru_maxrss;
}

/* The sample again and again, until that is about @bytes in @path; by a process of its own, which
 * leaves us no memory that has been used already. */
static void write_sample(const char *sample, const char *format, const char *path, uint64_t bytes)
{
	struct held h = { 0 };
	struct pm_source src;
	struct pm_err err = { 0 };
	const struct pm_batch *b;
	enum pm_status st;
	int status;
	pid_t pid = fork();

	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		return;
	}
	assert_int_equal(pm_trace_open(sample, format, &src, NULL, &err), PM_OK);
	while ((st = src.ops->next(src.self, &b, &err)) == PM_OK)
		hold(&h, b);
	assert_int_equal(st, PM_END);
	write_times(path, format, src.facts, &h, bytes);
	_exit(0);
}

static unsigned one_format(const char *sample, const char *format)
{
	char in[200], out[200], command[300];
	long kib[2];

	snprintf(in, sizeof in, "%s/in", dir);
	snprintf(out, sizeof out, "%s/out", dir);
	for (int k = 0; k < 2; k++) {
		write_sample(sample, format, in, k ? 8 * SHORT_BYTES : SHORT_BYTES);
		kib[k] = convert(in, format, out, format) - convert(in, format, "", format);
	}
	snprintf(command, sizeof command, "rm -rf %s/*", dir);
	assert_int_equal(system(command), 0);
	if (kib[1] - kib[0] <= GROWTH_KIB && kib[1] <= MOST_KIB)
		return 0;
	print_error("%s (%s): %ld KiB, eight times as long %ld\n", format, sample, kib[0], kib[1]);
	return 1;
}

/* What the thread sanitizer notes about each byte counts, and stays. */
static void skip_if_notes_count(void)
{
	if (PM_THREAD_SANITIZER)
		skip();
}

static void test_constant(void **state)
{
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	char path[300], line[128], name[64], format[32];
	unsigned wrong = 0, n = 0;
	FILE *f;

	(void)state;
	skip_if_notes_count();
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/data/formats/LIST", tests);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		struct pm_err err = { 0 };
		const struct pm_format *k;

		if (line[0] == '#' || sscanf(line, "%63s %31s", name, format) != 2)
			continue;
		k = pm_format_find(format, &err);
		assert_non_null(k);
		if (!k->read || !k->write || k->own_files)
			continue;
		snprintf(path, sizeof path, "%s/data/formats/%s", tests, name);
		wrong += one_format(path, format);
		n++;
	}
	fclose(f);
	rmdir(dir);
	assert_true(n > 30);
	assert_int_equal(wrong, 0);
}

/* Chunks of a .pug are several in memory at once. Of these traces hardly anything comes again:
 * times, messages that are kept whole. */
static void test_large_pug(void **state)
{
	static const char *const samples[][2] = {
		{ "ex-byu12.tr", "byu12" }, { "sample.kt64", "kt64" },
	};
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	char path[300], in[200], out[200], command[300];
	unsigned wrong = 0;

	(void)state;
	skip_if_notes_count();
	memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	snprintf(in, sizeof in, "%s/in", dir);
	snprintf(out, sizeof out, "%s/out", dir);
	for (size_t i = 0; i < NR(samples); i++) {
		long kib;

		snprintf(path, sizeof path, "%s/data/formats/%s", tests, samples[i][0]);
		write_sample(path, samples[i][1], in, LONG_BYTES);
		kib = convert(in, samples[i][1], out, "pug") -
		      convert(in, samples[i][1], "", "pug");
		if (kib > MOST_KIB) {
			print_error("%s to pug: %ld KiB\n", samples[i][1], kib);
			wrong++;
		}
	}
	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(wrong, 0);
}

/* A drmemtrace of @n instructions, each executed once, then the first of them again: of those, the
 * bytes are in the file only once. */
static void write_code(const char *path, unsigned n)
{
	static const uint8_t code[][8] = { "\x89\xc8", "\x48\x8b\x07", "\x0f\xb6\xc1",
		"\x48\x83\xc0\x01",
					   "\x48\x89\x44\x24\x08" };
	/* read, write */
	static const uint8_t len[] = { 2, 3, 3, 4, 5 }, data[] = { 0xff, 0, 0xff, 0xff, 1 };
	const struct { uint16_t type, size; uint64_t addr; } head[] = {
		{ 25, 0, 6 }, { 28, 12, 6 }, { 28, 9, 0x240 }, { 22, 4, 1 }, { 24, 4, 1 },
		{ 28, 2, 1 },
	};
	FILE *f = fopen(path, "w");
	uint64_t pc = 0x400000;

	assert_non_null(f);
#define ENTRY(t, s, a) (fwrite(&(uint16_t[]){ t, s }, 4, 1, f), fwrite(&(uint64_t){ a }, 8, 1, f))
	for (unsigned i = 0; i < NR(head); i++)
		ENTRY(head[i].type, head[i].size, head[i].addr);
	for (unsigned i = 0; i < n + n / 8; i++) {
		unsigned k = i % n % NR(code);
		uint64_t bytes;

		memcpy(&bytes, code[k], 8);
		if (i == n)
			pc = 0x400000;
		if (i < n)
			ENTRY(47, len[k], bytes);
		ENTRY(10, len[k], pc);
		if (data[k] != 0xff)
			ENTRY(data[k], 8, 0x7fff0000 + i % 512 * 8);
		pc += len[k];
	}
	ENTRY(23, 4, 1);
	ENTRY(26, 0, 0);
#undef ENTRY
	assert_int_equal(fclose(f), 0);
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Several times as many instructions as a code table holds: no more memory than for not quite twice
 * as many, and every one of them as it was, also when it comes again long after. */
static void test_new_code(void **state)
{
	static const char *const pairs[][2] = {
		{ "drmemtrace", "kt64" }, { "drmemtrace", "drmemtrace" },
		{ "drmemtrace", "champsim" }, { "drmemtrace", "penn" }, { "drmemtrace", "gem5" },
		{ "kt64", "kt64" }, { "kt64", "drmemtrace" }, { "kt64", "penn" },
		{ "gem5", "gem5" }, { "gem5", "champsim" },
	};
	char in[2][200], out[200], command[500];
	unsigned wrong = 0;
	long none;

	(void)state;
	memcpy(dir + sizeof dir - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	snprintf(out, sizeof out, "%s/out", dir);
	none = convert("", "penn", "", "penn");
	for (size_t i = 0; i < NR(pairs); i++) {
		long kib[2];

		for (int k = 0; k < 2; k++) {
			snprintf(in[k], sizeof in[k], "%s/%s.%d", dir, pairs[i][0], k);
			if (!i)
				write_code(in[k], k ? 600000 : 200000);
			kib[k] = convert(in[k], pairs[i][0], out, pairs[i][1]);
			/* what is written may be the input of another pair */
			snprintf(command, sizeof command, "%s/%s.%d", dir, pairs[i][1], k);
			if (!size_of(command))
				assert_int_equal(rename(out, command), 0);
		}
		if (!strcmp(pairs[i][0], pairs[i][1])) {
			snprintf(command, sizeof command, "cmp %s %s", in[1], out);
			assert_int_equal(system(command), 0);
		}
		if (!PM_SANITIZED && (kib[1] - kib[0] > GROWTH_KIB || kib[1] - none > MOST_KIB)) {
			print_error("%s to %s: %ld KiB, three times as much code %ld, nothing "
				    "%ld\n",
				    pairs[i][0], pairs[i][1], kib[0], kib[1], none);
			wrong++;
		}
	}
	/* with the bytes of all instructions, those that came again among them */
	snprintf(command, sizeof command, "%s/kt64.1", dir);
	assert_int_equal(size_of(command), (600000 + 75000) / 5 * (3 * 16 + 2 * 24));
	snprintf(command, sizeof command, "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_constant),
		cmocka_unit_test(test_large_pug),
					     cmocka_unit_test(test_new_code) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
