/* SPDX-License-Identifier: MIT */
/* Converting takes the same memory however long the trace is: every format that is read and written, once
 * and eight times as long. What grows with a program's code, and with nothing else, does not here. */
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

#include "base/mem.h"
#include "trace/format.h"

#define SHORT_BYTES	(1 << 20)	/* of the shorter file; all buffers are full by then */
#define GROWTH_KIB	1024		/* allowed from the shorter to the longer; a byte per record would be more */
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
			rare[i].name = (const char *)k->arena + ((const uint8_t *)rare[i].name - b->arena);
}

static void write_times(const char *path, const char *format, uint32_t facts, const struct held *h, uint64_t bytes)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	struct stat st = { 0 };

	assert_int_equal(pm_trace_create(p, path, format, facts, &err), PM_OK);
	assert_int_equal(pm_pipeline_start(p, facts, NULL, &err), PM_OK);
	/* events take about as much room as records: what counts is that the second file is eight times the first */
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

static long convert(const char *in, const char *format, const char *out)
{
	struct rusage u;
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct pm_source src;
		struct pm_err err = { 0 };

		if (*out && (pm_trace_open(in, format, &src, NULL, &err) != PM_OK ||
			     pm_trace_create(p, out, format, src.facts, &err) != PM_OK ||
			     pm_pipeline_start(p, src.facts, format, &err) != PM_OK ||
			     pm_pipeline_run(p, &src, NULL, &err) != PM_OK)) {
			pm_err_print(&err, stderr);
			_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(wait4(pid, &status, 0, &u), pid);
	assert_int_equal(status, 0);
	return u.ru_maxrss;
}

static unsigned one_format(const char *sample, const char *format)
{
	char in[200], out[200], command[300];
	struct held h = { 0 };
	struct pm_source src;
	struct pm_err err = { 0 };
	const struct pm_batch *b;
	enum pm_status st;
	long kib[2], none;

	snprintf(in, sizeof in, "%s/in", dir);
	snprintf(out, sizeof out, "%s/out", dir);
	assert_int_equal(pm_trace_open(sample, format, &src, NULL, &err), PM_OK);
	while ((st = src.ops->next(src.self, &b, &err)) == PM_OK)
		hold(&h, b);
	assert_int_equal(st, PM_END);
	for (int k = 0; k < 2; k++) {
		write_times(in, format, src.facts, &h, k ? 8 * SHORT_BYTES : SHORT_BYTES);
		kib[k] = convert(in, format, out);
	}
	none = convert(in, format, "");
	src.ops->close(src.self);
	for (size_t i = 0; i < h.n; i++) {
		free((void *)h.v[i].ev);
		free((void *)h.v[i].uop);
		free((void *)h.v[i].bus);
		free((void *)h.v[i].rare);
		free((void *)h.v[i].arena);
	}
	free(h.v);
	snprintf(command, sizeof command, "rm -rf %s/*", dir);
	assert_int_equal(system(command), 0);
	if (kib[1] - kib[0] <= GROWTH_KIB && kib[1] - none <= MOST_KIB)
		return 0;
	print_error("%s (%s): %ld KiB, eight times as long %ld, nothing %ld\n", format, sample, kib[0], kib[1], none);
	return 1;
}

static void test_constant(void **state)
{
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	char path[300], line[128], name[64], format[32];
	unsigned wrong = 0, n = 0;
	FILE *f;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_constant) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
