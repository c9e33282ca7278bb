/* SPDX-License-Identifier: MIT */
/* test_library.c - libpugmark's calls: wrong handles, wrong batches, and that what goes in by
 * batches comes out as what goes in by files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pugmark/library.h"

static char dir[] = "/tmp/test_library.XXXXXX";
static char path[400];

static const char *data(const char *name)
{
	const char *top = getenv("TOP");

	snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
	return path;
}

static const char *in_dir(const char *name)
{
	static char p[400];

	snprintf(p, sizeof p, "%s/%s", dir, name);
	return p;
}

static void said(const struct pm_err *err, const char *what)
{
	if (!strstr(err->msg, what))
		fail_msg("expected '%s' in '%s'", what, err->msg);
}

/* ---- handles -------------------------------------------------------------------------------- */

static void test_handles(void **state)
{
	struct pm_reader *r = pm_reader_open(data("blocks.pug"), NULL, NULL);
	const uintptr_t made_up[] = { 1, 2, 3, 8, 4096, (uintptr_t)r ^ 2, (uintptr_t)r ^ 1,
		(uintptr_t)r + (1ull << 30), UINTPTR_MAX, UINTPTR_MAX - 1, (uintptr_t)&path };
	const struct pm_batch *b;
	struct pm_err err;

	(void)state;
	assert_non_null(r);
	for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++) {
		assert_int_equal(pm_reader_next((struct pm_reader *)made_up[i], &b, &err), PM_ERR);
		said(&err, "this is no reader");
	}
	assert_int_equal(pm_reader_next(NULL, &b, &err), PM_ERR);
	said(&err, "the reader is NULL");
	assert_null(pm_results_root((struct pm_results *)(void *)r, &err));
	said(&err, "this is a reader, not a set of results");
	assert_int_equal(pm_writer_push((struct pm_writer *)(void *)r, NULL, &err), PM_ERR);
	assert_null(pm_simulation_finish((struct pm_simulation *)(void *)r, &err));
	assert_int_equal(pm_reader_next(r, NULL, &err), PM_ERR);
	said(&err, "the place for the batch is NULL");
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	assert_int_equal(pm_reader_next(r, &b, &err), PM_ERR);
	said(&err, "the reader is closed");
	assert_null(b);
	for (int i = 0; i < 1000; i++) {
		struct pm_simulation *s = pm_simulation_new(&err);

		assert_ptr_not_equal(s, r);
		assert_int_equal(pm_reader_close(r, &err), PM_ERR);
		assert_int_equal(pm_simulation_close(s, &err), PM_OK);
	}
	assert_int_equal(pm_reader_close(NULL, &err), PM_OK);
	assert_int_equal(pm_reader_close(r, NULL), PM_ERR);
}

static struct pm_simulation *busy;

static int from_inside(void *reader, uint64_t events, double part)
{
	struct pm_err err;

	(void)events;
	(void)part;
	assert_int_equal(pm_reader_close(reader, &err), PM_ERR);
	said(&err, "the reader is in use by another call");
	assert_int_equal(pm_simulation_close(busy, &err), PM_ERR);
	return 1;
}

static void test_progress(void **state)
{
	struct pm_reader *r = pm_reader_open(data("real.pug"), NULL, NULL);
	struct pm_results *results;
	struct pm_err err;

	(void)state;
	busy = pm_simulation_new(NULL);
	assert_int_equal(pm_simulation_run(busy, r, from_inside, r, &results, &err), PM_ERR);
	said(&err, "no simulators");
	assert_int_equal(pm_simulation_add(busy, "count", &err), PM_OK);
	assert_int_equal(pm_simulation_run(busy, r, from_inside, r, &results, &err), PM_ERR);
	said(&err, "stopped by the caller");
	assert_non_null(results);
	assert_int_equal(pm_results_close(results, &err), PM_OK);
	assert_int_equal(pm_simulation_close(busy, &err), PM_OK);
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
}

/* ---- structs of callers --------------------------------------------------------------------- */

static void test_sizes(void **state)
{
	struct { struct pm_format_about a; uint64_t later[2]; } large;
	struct pm_format_about a = { 0 };
	struct pm_err err;
	size_t n = 0;

	(void)state;
	assert_int_equal(pm_format_get(0, &a, &err), PM_ERR);
	said(&err, "set its size");
	assert_int_equal(pm_format_get(0, NULL, &err), PM_ERR);
	memset(&a, 0xa5, sizeof a);
	a.size = offsetof(struct pm_format_about, name);
	assert_int_equal(pm_format_get(0, &a, &err), PM_OK);
	assert_int_equal(a.size, offsetof(struct pm_format_about, name));
	assert_int_equal((uintptr_t)a.name, 0xa5a5a5a5a5a5a5a5);
	memset(&large, 0xa5, sizeof large);
	large.a.size = sizeof large;
	assert_int_equal(pm_format_get(0, &large.a, &err), PM_OK);
	assert_string_equal(large.a.name, "pug");
	assert_int_equal(large.later[1], 0);
	a.size = sizeof a;
	while (pm_format_get(n, &a, &err) == PM_OK)
		n++;
	assert_true(n > 30);
	assert_int_equal(pm_format_get(n, &a, &err), PM_END);
	assert_int_equal(pm_format_get(SIZE_MAX, &a, &err), PM_END);
	assert_int_equal(pm_simulator_get(SIZE_MAX, NULL, &err), PM_END);
}

/* ---- batches -------------------------------------------------------------------------------- */

static char *digest_of(struct pm_results *r)
{
	char *text = strdup(pm_results_json(r, NULL));

	pm_results_close(r, NULL);
	return text;
}

static char *digest_file(const char *file)
{
	struct pm_reader *r = pm_reader_open(file, NULL, NULL);
	struct pm_simulation *s = pm_simulation_new(NULL);
	struct pm_results *results;
	struct pm_err err;

	assert_int_equal(pm_simulation_add(s, "digest", NULL), PM_OK);
	if (pm_simulation_run(s, r, NULL, NULL, &results, &err) != PM_OK)
		fail_msg("%s: %s", file, err.msg);
	pm_simulation_close(s, NULL);
	pm_reader_close(r, NULL);
	return digest_of(results);
}

/* As a header with larger structs has it; kept until the end. */
static const void *grow(const void *from, size_t n, size_t size)
{
	char *to = test_malloc(n * (size + 8) + 1);

	memset(to, 0xa5, n * (size + 8));
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * (size + 8), (const char *)from + i * size, size);
	return to;
}

/* @file by batches, copied or not, to a .pug; its digest. */
static char *digest_batches(const char *file, bool blocks, bool grown)
{
	struct pm_reader *r = pm_reader_open(file, NULL, NULL);
	struct pm_reader_about about = { .size = sizeof about };
	struct pm_sizes sizes = pm_sizes_here;
	const struct pm_batch *b;
	struct pm_writer *w;
	struct pm_err err;
	enum pm_status s;

	if (blocks)
		assert_int_equal(pm_reader_blocks(r, NULL), PM_OK);
	assert_int_equal(pm_reader_about(r, &about, NULL), PM_OK);
	w = pm_writer_create(in_dir("batches.pug"), NULL, about.facts, NULL, &err);
	assert_non_null(w);
	sizes.event += 8;
	sizes.rare += 8;
	sizes.uop += 8;
	while ((s = pm_reader_next(r, &b, &err)) == PM_OK) {
		struct pm_batch copy = *b;

		if (grown) {
			copy.sizes = &sizes;
			copy.ev = grow(b->ev, b->n, sizeof *b->ev);
			copy.rare = grow(b->rare, b->nrare, sizeof *b->rare);
			copy.uop = grow(b->uop, b->nuop, sizeof *b->uop);
		}
		if (pm_writer_push(w, &copy, &err) != PM_OK)
			fail_msg("%s: %s", file, err.msg);
		if (grown) {
			test_free((void *)(uintptr_t)copy.ev);
			test_free((void *)(uintptr_t)copy.rare);
			test_free((void *)(uintptr_t)copy.uop);
		}
	}
	assert_int_equal(s, PM_END);
	assert_int_equal(pm_reader_next(r, &b, &err), PM_END);
	assert_int_equal(pm_writer_commit(w, NULL, &err), PM_OK);
	assert_int_equal(pm_writer_commit(w, NULL, &err), PM_ERR);
	assert_int_equal(pm_writer_push(w, NULL, &err), PM_ERR);
	said(&err, "ended");
	pm_writer_close(w, NULL);
	pm_reader_close(r, NULL);
	return digest_file(in_dir("batches.pug"));
}

static void test_copy(void **state)
{
	static const char *const files[] = { "blocks.pug", "real.pug", "formats/din.din",
		"formats/laplace.ref", "formats/ex-champsim.bin", "formats/kvmtrace05.kev",
		"formats/ex-byu12.tr", "formats/penn-sjeng-60.trace", "formats/spike.spike",
		"formats/lackey-34.txt", "formats/ex-drmemtrace.trace", "formats/ex-cvp1.bin",
		"formats/ex-idt-exec.trc", "formats/pinatrace.out", "formats/ex-sample.kt" };

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char *file = strdup(data(files[i])), *want, *got;
		struct pm_err err;

		if (pm_convert(file, in_dir("whole.pug"), NULL, NULL, &err) != PM_OK)
			fail_msg("%s: %s", file, err.msg);
		want = digest_file(in_dir("whole.pug"));
		for (int k = 0; k < 2; k++) {
			got = digest_batches(file, true, k);
			assert_string_equal(got, want);
			free(got);
			unlink(in_dir("batches.pug"));
		}
		got = digest_batches(file, false, false);
		if (i > 1 && strcmp(files[i], "formats/ex-idt-exec.trc") &&
		    strcmp(files[i], "formats/ex-drmemtrace.trace"))
			assert_string_equal(got, want);
		free(got);
		unlink(in_dir("batches.pug"));
		free(want);
		free(file);
	}
	unlink(in_dir("whole.pug"));
}

/* A name comes with the commit. */
static void test_commit(void **state)
{
	const struct pm_event ev = { .kind = PM_EV_READ, .size = 4, .id = PM_NONE, .addr = 64 };
	const struct pm_stream stream = { 0 };
	const struct pm_batch b = { .stream = &stream, .ev = &ev, .n = 1 };
	const char *const notes[] = { "program", "hand-made", "odd", NULL };
	struct pm_results *results;
	struct pm_reader *r;
	struct pm_writer *w;
	struct pm_err err;
	FILE *f;
	char text[40] = "";

	(void)state;
	for (int commit = 0; commit < 2; commit++) {
		w = pm_writer_create(in_dir("one.din"), NULL, PM_HAS_REFS | PM_HAS_SIZES, NULL,
				     &err);
		assert_non_null(w);
		assert_int_equal(pm_writer_push(w, &b, &err), PM_OK);
		assert_int_equal(access(in_dir("one.din"), F_OK), -1);
		if (commit) {
			assert_int_equal(pm_writer_commit(w, &results, &err), PM_OK);
			assert_non_null(strstr(pm_results_json(results, NULL),
					       "\"format\": \"din\""));
			pm_results_close(results, NULL);
		}
		assert_int_equal(pm_writer_close(w, &err), PM_OK);
	}
	f = fopen(in_dir("one.din"), "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	assert_string_equal(text, "0 40\n");
	fclose(f);
	unlink(in_dir("one.din"));

	assert_null(pm_writer_create(in_dir("n.pug"), NULL, PM_HAS_REFS, notes, &err));
	said(&err, "'odd' has no value");
	w = pm_writer_create(in_dir("n.pug"), NULL, PM_HAS_REFS, (const char *[]){ "program",
			     "hand-made", NULL }, &err);
	assert_int_equal(pm_writer_push(w, &b, &err), PM_OK);
	assert_int_equal(pm_writer_commit(w, NULL, &err), PM_OK);
	pm_writer_close(w, NULL);
	r = pm_reader_open(in_dir("n.pug"), NULL, &err);
	assert_string_equal(pm_reader_note(r, "program", &err), "hand-made");
	assert_null(pm_reader_note(r, "prog", &err));
	assert_false(pm_failed(&err));
	assert_null(pm_reader_note(r, NULL, &err));
	assert_true(pm_failed(&err));
	pm_reader_close(r, NULL);
	unlink(in_dir("n.pug"));
}

/* What is wrong with a batch is said; each in a simulation of its own. */
static void test_wrong_batches(void **state)
{
	struct pm_event ev = { .kind = PM_EV_BLOCK, .id = 0, .value = 1 };
	struct pm_insn insn = { .len = 1, .object = PM_NONE };
	struct pm_block block = { 0, 0, 1 };
	struct pm_code code = { &insn, &block, NULL, 1, 1, 0, 0 };
	struct pm_rare rare = { .name = "not in the arena" };
	struct pm_sizes small = pm_sizes_here;
	struct pm_stream stream = { 0 }, far_off = { .index = 1u << 31 }, other = { 0 };
	const struct pm_batch good = { .sizes = &pm_sizes_here, .stream = &stream, .code = &code,
		.ev = &ev, .n = 1 };
	struct pm_batch bad[16];
	struct pm_event wrong[5] = { { .kind = PM_EV_BLOCK, .id = 1 },
		{ .kind = PM_EV_BLOCK, .value = 2 }, { .kind = PM_EV_READ, .id = 1 },
		{ .kind = PM_EV_UOP }, { .kind = PM_EV_SYSCALL } };
	static const char *const why[] = { "no stream", "sizes", "NULL", "stream 2147483648",
		"leads to nothing", "leads to nothing", "leads to nothing", "leads to nothing",
		"leads to nothing", "not in the arena" };
	struct pm_err err;

	(void)state;
	small.event = 8;
	for (unsigned i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].stream = NULL;
	bad[1].sizes = &small;
	bad[2].ev = NULL;
	bad[3].stream = &far_off;
	for (unsigned i = 0; i < 5; i++)
		bad[4 + i].ev = wrong + i;
	bad[9].rare = &rare;
	bad[9].nrare = 1;
	for (unsigned i = 0; i < 12; i++) {
		struct pm_simulation *s = pm_simulation_new(NULL);

		assert_int_equal(pm_simulation_push(s, &good, &err), PM_ERR);
		said(&err, "has not begun");
		assert_int_equal(pm_simulation_add(s, "count", &err), PM_OK);
		assert_int_equal(pm_simulation_begin(s, PM_HAS_BLOCKS | PM_HAS_INSNS, &err),
				 PM_OK);
		assert_int_equal(pm_simulation_add(s, "count", &err), PM_ERR);
		assert_int_equal(pm_simulation_push(s, &good, &err), PM_OK);
		if (i < 10) {
			assert_int_equal(pm_simulation_push(s, bad + i, &err), PM_ERR);
			said(&err, why[i]);
		} else if (i == 10) {
			struct pm_batch moved = good;

			moved.stream = &other;
			assert_int_equal(pm_simulation_push(s, &moved, &err), PM_ERR);
			said(&err, "moved");
		} else {
			code.ninsn = 0;
			assert_int_equal(pm_simulation_push(s, &good, &err), PM_ERR);
			said(&err, "shrunk");
			code.ninsn = 1;
		}
		assert_null(pm_simulation_finish(s, &err));
		assert_int_equal(pm_simulation_push(s, &good, &err), PM_ERR);
		pm_simulation_close(s, NULL);
	}
}

/* ---- files ---------------------------------------------------------------------------------- */

static void test_errors(void **state)
{
	const struct pm_batch *b;
	struct pm_reader *r;
	struct pm_err err;
	char text[300], cut[4000];
	size_t n;
	FILE *f;

	(void)state;
	assert_null(pm_reader_open(NULL, NULL, &err));
	assert_null(pm_reader_open("/nonexistent", NULL, &err));
	pm_err_format(&err, text, sizeof text);
	assert_string_equal(text, "/nonexistent: cannot open: No such file or directory");
	assert_null(pm_reader_open(data("blocks.pug"), "nosuch", &err));
	said(&err, "'nosuch' is not a format");
	assert_null(pm_writer_create(in_dir("x.unheard"), NULL, 0, NULL, &err));
	assert_null(pm_writer_create(in_dir("x.champsim"), NULL, PM_HAS_REFS, NULL, &err));
	said(&err, "needs register numbers");
	assert_int_equal(pm_convert(data("blocks.pug"), NULL, NULL, NULL, &err), PM_ERR);
	assert_int_equal(pm_verify(data("blocks.pug"), NULL, NULL, &err), PM_OK);
	assert_int_equal(pm_verify(NULL, NULL, NULL, &err), PM_ERR);

	/* what came before the damage, then the error, as often as one asks */
	f = fopen(data("formats/laplace.ref"), "rb");
	n = fread(cut, 1, sizeof cut, f) - 1;
	fclose(f);
	f = fopen(in_dir("cut.ref"), "wb");
	fwrite(cut, 1, n, f);
	fclose(f);
	r = pm_reader_open(in_dir("cut.ref"), "laplace", &err);
	assert_non_null(r);
	while (pm_reader_next(r, &b, &err) == PM_OK)
		assert_true(b->n);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pm_reader_next(r, &b, &err), PM_ERR);
		said(&err, "expected");
	}
	pm_reader_close(r, NULL);
	assert_string_equal(err.file, in_dir("cut.ref"));
	unlink(in_dir("cut.ref"));
}

static void test_transforms(void **state)
{
	struct pm_reader *r = pm_reader_open(data("blocks.pug"), NULL, NULL);
	const char *const slice[] = { "slice:from=100,count=50", NULL };
	struct pm_convert_options o = { .size = sizeof o, .transforms = slice };
	struct pm_reader_about about = { .size = sizeof about };
	const struct pm_batch *b;
	uint64_t insns = 0;
	struct pm_err err;

	(void)state;
	assert_int_equal(pm_reader_transform(r, "nosuch", &err), PM_ERR);
	assert_int_equal(pm_reader_transform(r, "slice:from=x", &err), PM_ERR);
	said(&err, "not 'from=x'");
	assert_int_equal(pm_reader_transform(r, "lines:65", &err), PM_ERR);
	assert_int_equal(pm_reader_transform(r, "filter:l1=nonsense", &err), PM_ERR);
	assert_int_equal(pm_reader_transform(r, slice[0], &err), PM_OK);
	assert_int_equal(pm_reader_about(r, &about, &err), PM_OK);
	assert_true(about.facts & PM_HAS_INSNS);
	assert_false(about.facts & PM_HAS_BLOCKS);
	while (pm_reader_next(r, &b, &err) == PM_OK)
		for (size_t i = 0; i < b->n; i++)
			insns += pm_event_at(b, i)->kind == PM_EV_INSN;
	assert_int_equal(insns, 50);
	assert_int_equal(pm_reader_transform(r, slice[0], &err), PM_ERR);
	said(&err, "too late");
	pm_reader_close(r, NULL);
	assert_int_equal(pm_convert(data("blocks.pug"), in_dir("s.pug"), &o, NULL, &err), PM_OK);
	unlink(in_dir("s.pug"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles), cmocka_unit_test(test_progress),
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_copy),
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_wrong_batches), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_transforms),
	};
	int status;

	if (!mkdtemp(dir))
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	status = cmocka_run_group_tests_name("library", tests, NULL, NULL);
	rmdir(dir);
	return status;
}
