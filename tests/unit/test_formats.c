/* SPDX-License-Identifier: MIT */
/* test_formats.c - every format's worked example: recognised, read, written back byte for byte, and
 * damaged in every way that one byte allows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sanitizer.h"
#include "formats_util.h"

struct sample {
	char file[64], format[32], path[360];
	struct pm_buf data;
};
static struct sample sample[64];
static unsigned nsample;
static char scratch[] = "/tmp/pm-formats-XXXXXX";

static int load(void **state)
{
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	char path[256], line[128];
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/data/formats/LIST", tests);
	f = fopen(path, "r");
	if (!f || !mkdtemp(scratch))
		return -1;
	while (fgets(line, sizeof line, f)) {
		struct sample *s = &sample[nsample];

		char name[64];

		if (line[0] == '#' || sscanf(line, "%63s %31s", name, s->format) != 2)
			continue;
		strcpy(s->file, name);
		snprintf(s->path, sizeof s->path, "%s/data/formats/%s", tests, name);
		fmt_load(s->path, &s->data);
		nsample++;
	}
	fclose(f);
	return nsample ? 0 : -1;
}

static int unload(void **state)
{
	char path[64];

	(void)state;
	for (unsigned i = 0; i < nsample; i++)
		pm_buf_release(&sample[i].data);
	snprintf(path, sizeof path, "%s/out.blk", scratch);
	unlink(path);
	snprintf(path, sizeof path, "%s/out.blk64", scratch);
	unlink(path);
	rmdir(scratch);
	return 0;
}

/* Every sample is recognised as what it is, and no other format bids as much. */
static void test_probe(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < nsample; i++) {
		const struct sample *s = &sample[i];
		int own = 0, other = 0;
		const char *who = "nothing";

		for (const struct pm_format *const *f = pm_formats; *f; f++) {
			int bid = (*f)->probe ? (*f)->probe(s->data.p, s->data.n) : 0;

			if (!strcmp((*f)->name, s->format)) {
				own = bid;
			} else if (bid > other) {
				other = bid;
				who = (*f)->name;
			}
		}
		if (own <= other) {
			print_error("%s: %s bids %d, %s bids %d\n", s->file, s->format, own, who,
				    other);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static const char *write_name(const struct sample *s, char *buf, size_t size)
{
	bool wide = strstr(s->format, "64");

	if (!strncmp(s->format, "idt-exec", 8))
		snprintf(buf, size, "%s:blk=%s/out.blk%s", s->format, scratch, wide ? "64" : "");
	else
		/* samples are shorter than an interval */
		snprintf(buf, size, "%s%s", s->format,
			 strcmp(s->format, "simpoint") ? "" : ":keep");
	return buf;
}

static void test_round_trip(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < nsample; i++) {
		const struct sample *s = &sample[i];
		const struct pm_format *f;
		struct pm_err err = { 0 };
		struct pm_buf out = { 0 };
		char name[128];

		f = pm_format_find(s->format, &err);
		assert_non_null(f);
		if (!f->write || !f->read) {
			if (f->read)
				assert_int_equal(fmt_convert(s->data.p, s->data.n, s->path,
							     s->format, NULL, NULL, &err),
						 PM_OK);
			continue;
		}
		if (fmt_convert(s->data.p, s->data.n, s->path, s->format,
				write_name(s, name, sizeof name), &out, &err) != PM_OK) {
			pm_err_print(&err, stderr);
			print_error("%s: not converted\n", s->file);
			wrong++;
		} else if (out.n != s->data.n || memcmp(out.p, s->data.p, out.n)) {
			print_error("%s: %zu bytes became %zu\n", s->file, s->data.n, out.n);
			if (getenv("DUMP"))
				fwrite(out.p, 1, out.n, stderr);
			wrong++;
		}
		pm_buf_release(&out);
	}
	assert_int_equal(wrong, 0);
}

/* A reading, or one error with its place. A second reading of what was written must agree with the
 * first: what a reader lets through, its writer can hold. */
static unsigned reads_or_fails(const struct sample *s, const void *p, size_t n, const char *what,
			       size_t at)
{
	struct pm_err err = { 0 };
	enum pm_status st = fmt_convert(p, n, s->path, s->format, NULL, NULL, &err);

	if (st == PM_OK && !pm_failed(&err))
		return 0;
	if (st == PM_ERR && pm_failed(&err) && strlen(err.msg) < sizeof err.msg - 1 &&
	    !strchr(err.msg, '\n') && (err.place != PM_AT_FILE || strstr(err.msg, "block table")))
		return 0;
	print_error("%s: %s %zu: status %d, '%s'\n", s->file, what, at, st, err.msg);
	return 1;
}

/* Large samples are many records of few kinds: of what lies behind the first bytes a cut is tried
 * at each byte and each byte takes some values, of the first bytes all. DAMAGE=all tries all of
 * them for all samples but the longest, which repeats itself; minutes. With a sanitizer each takes
 * 10 times as long: there are fewer, and each byte takes an eighth of the values, in turn. */
#define WHOLE	(PM_SANITIZED ? 60 : 600)
#define LONGEST	(PM_SANITIZED ? 1500u : 6000u)

/* The @k-th value to try for a byte that was @was; 256: no more. Each bit alone, then the list. */
static unsigned some_value(unsigned k, unsigned was)
{
	static const uint8_t some[] = { 0, 0xff, '\n', ' ', '-', '0', 'x' };

	return k < 8 ? was ^ 1u << k : k < 8 + sizeof some ? some[k - 8] : 256;
}

static size_t memory_in_use(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_damage(void **state)
{
	bool everything = getenv("DAMAGE") != NULL;
	struct rlimit was, little;
	unsigned wrong = 0;

	(void)state;
	/* a length in the file is never taken at its word: what a reader may use is little */
	getrlimit(RLIMIT_AS, &was);
	little = was;
	if (!PM_SANITIZED)
		little.rlim_cur = memory_in_use() + (32 << 20);
	setrlimit(RLIMIT_AS, &little);
	for (unsigned i = 0; i < nsample; i++) {
		const struct sample *s = &sample[i];
		size_t n = s->data.n <= LONGEST ? s->data.n : LONGEST;
		uint8_t *copy = malloc(s->data.n + 1);

		for (size_t cut = 0; cut <= n; cut++) {
			/* an exact copy: reading behind the end is seen by the sanitizer */
			uint8_t *exact = malloc(cut ? cut : 1);

			memcpy(exact, s->data.p, cut);
			wrong += reads_or_fails(s, exact, cut, "cut at", cut);
			free(exact);
		}
		memcpy(copy, s->data.p, s->data.n);
		for (size_t at = 0; at < n; at++) {
			bool all = at < WHOLE / 4 || n <= WHOLE || (everything && n < LONGEST);

			for (unsigned k = PM_SANITIZED ? at % 8 : 0; ; k += PM_SANITIZED ? 8 : 1) {
				unsigned v = all ? k : some_value(k, s->data.p[at]);

				if (v > 255)
					break;
				copy[at] = (uint8_t)v;
				wrong += reads_or_fails(s, copy, n, "damaged at", at);
			}
			copy[at] = s->data.p[at];
		}
		free(copy);
	}
	setrlimit(RLIMIT_AS, &was);
	assert_int_equal(wrong, 0);
}

/* Every sample written in every format that takes it: the result is recognised as that format and
 * as nothing else, and read and written again it stays the same. */
static void test_pairs(void **state)
{
	unsigned wrong = 0, yes = 0, no = 0;

	(void)state;
	for (unsigned i = 0; i < nsample; i++)
		for (const struct pm_format *const *f = pm_formats; *f; f++) {
			const struct sample *s = &sample[i];
			struct pm_buf one = { 0 }, two = { 0 };
			struct pm_err err = { 0 };
			const struct pm_format *as;
			struct sample to = { 0 };
			const char *from;
			char name[128];

			/* .pug has tests of its own; ctf makes a directory */
			if (!(*f)->write || !strcmp((*f)->name, "pug") ||
			    !strcmp((*f)->name, "ctf"))
				continue;
			snprintf(to.format, sizeof to.format, "%s", (*f)->name);
			write_name(&to, name, sizeof name);
			if (fmt_convert(s->data.p, s->data.n, s->path, s->format, name, &one,
					&err) != PM_OK) {
				/* a refusal says what is missing or what would do */
				if (!strstr(err.msg, "need") && !strstr(err.msg, "hold")) {
					print_error("%s as %s: %s\n", s->file, name, err.msg);
					wrong++;
				}
				no++;
				continue;
			}
			yes++;
			if (!one.n || !(*f)->read) {
				pm_buf_release(&one);
				continue;
			}
			as = pm_format_probe(one.p, one.n, &err);
			if (as != *f) {
				print_error("%s as %s is taken for %s: %s\n", s->file, name,
					    as ? as->name : "nothing", err.msg);
				wrong++;
			}
			memset(&err, 0, sizeof err);
			/* the .blk that was written is the one that is read, and the next goes
			 * elsewhere */
			from = strstr(name, "blk=") ? name : to.format;
			if (fmt_convert(one.p, one.n, NULL, from, name, &two, &err) != PM_OK ||
			    one.n != two.n || memcmp(one.p, two.p, one.n)) {
				print_error("%s as %s changes when read again: %zu, %zu bytes; "
					    "%s\n",
					    s->file, name, one.n, two.n, err.msg);
				wrong++;
			}
			pm_buf_release(&one);
			pm_buf_release(&two);
		}
	print_message("%u pairs convert, %u refuse\n", yes, no);
	assert_int_equal(wrong, 0);
}

/* The last sample of the format: where there are several, that is the one with wide addresses. */
static const struct sample *sample_of(const char *format, size_t n)
{
	for (unsigned i = nsample; i--; )
		if (strlen(sample[i].format) == n && !memcmp(sample[i].format, format, n))
			return &sample[i];
	return NULL;
}

/* One line of the list in docs/formats/conversions.md: does each pair do what it says? *@n counts
 * them. */
static unsigned check_row(const struct sample *s, char *formats, bool yes, unsigned *n)
{
	unsigned wrong = 0;

	for (char *f = strtok(formats, " \n"); f; f = strtok(NULL, " \n")) {
		struct sample to = { 0 };
		struct pm_err err = { 0 };
		char name[128];
		enum pm_status st;

		if (!strcmp(f, "none"))
			continue;
		++*n;
		snprintf(to.format, sizeof to.format, "%s", f);
		st = fmt_convert(s->data.p, s->data.n, s->path, s->format,
				 write_name(&to, name, sizeof name), NULL, &err);
		if ((st == PM_OK) != yes) {
			print_error("%s to %s: the manual says %s; %s\n", s->format, f,
				    yes ? "yes" : "no", err.msg);
			wrong++;
		}
	}
	return wrong;
}

/* A Penn line that was seen before is compared, not parsed: one that differs from it in one byte
 * has to come out, or fail, as if nothing had been before it. */
static void test_penn_again(void **state)
{
	unsigned good = 0, bad = 0;

	(void)state;
	for (unsigned i = 0; i < nsample; i++) {
		const struct pm_buf *d = &sample[i].data;

		if (strcmp(sample[i].format, "penn"))
			continue;
		for (size_t at = 0; at < d->n; at += 41) {
			static const char to[] = "0aF9x -\tTLR\n";
			const uint8_t *nl = memrchr(d->p, '\n', at);
			const size_t line = nl ? (size_t)(nl + 1 - d->p) : 0;

			for (size_t k = 0; to[k]; k++) {
				struct pm_buf alone = { 0 }, after = { 0 }, one = { 0 },
				both = { 0 };
				struct pm_err e1 = { 0 }, e2 = { 0 };
				enum pm_status s1, s2;

				/* the damaged line and all that follow, then enough not to be at
				 * the end */
				pm_buf_add(&alone, d->p + line, d->n - line);
				alone.p[at - line] = (uint8_t)to[k];
				pm_buf_add(&alone, d->p, d->n);
				pm_buf_add(&after, d->p, d->n);
				pm_buf_add(&after, alone.p, alone.n);
				s1 = fmt_convert(alone.p, alone.n, NULL, "penn", "penn:compact",
						 &one, &e1);
				s2 = fmt_convert(after.p, after.n, NULL, "penn", "penn:compact",
						 &both, &e2);
				assert_int_equal(s1, s2);
				assert_string_equal(e1.msg, e2.msg);
				if (s1 == PM_OK) {
					assert_true(both.n > one.n);
					assert_memory_equal(both.p + both.n - one.n, one.p, one.n);
					good++;
				} else {
					bad++;
				}
				pm_buf_release(&alone);
				pm_buf_release(&after);
				pm_buf_release(&one);
				pm_buf_release(&both);
			}
		}
	}
	assert_true(good > 300 && bad > 300);
}

/* One rep instruction, for longer than any buffer: what it does stays in its place in both
 * directions. */
static void test_long_rep(void **state)
{
	/* as in ex-sample.kt */
	enum { ITERATIONS = 200000, HEAD = 28, RECORD = 16 };
	struct pm_buf kt = { 0 }, exec = { 0 }, again = { 0 }, back[2] = { { 0 }, { 0 } };
	const struct pm_buf *d = NULL;
	struct pm_err err = { 0 };
	char path[64], to[96];
	uint8_t rec[RECORD];

	(void)state;
	for (unsigned i = 0; i < nsample; i++)
		if (!strcmp(sample[i].format, "kt"))
			d = &sample[i].data;
	assert_non_null(d);
	snprintf(path, sizeof path, "%s/out.trc", scratch);
	pm_buf_add(&kt, d->p, HEAD);
	memcpy(rec, d->p + HEAD, RECORD);
	for (uint32_t i = 0; i < ITERATIONS; i++) {
		const uint32_t from = htole32(0x9000000 + i), into = htole32(0xa000000 + 7 * i);

		memcpy(rec + 8, &from, 4);
		memcpy(rec + 12, &into, 4);
		pm_buf_add(&kt, rec, RECORD);
	}
	pm_buf_add(&kt, d->p + HEAD + RECORD, d->n - HEAD - RECORD);
	assert_int_equal(fmt_convert_to(kt.p, kt.n, NULL, "kt", "idt-exec", path, &exec, &err),
			 PM_OK);
	assert_true(exec.n > 10 * ITERATIONS);
	snprintf(to, sizeof to, "idt-exec:blk=%s/out.blk", scratch);
	assert_int_equal(fmt_convert(exec.p, exec.n, path, "idt-exec", to, &again, &err), PM_OK);
	assert_int_equal(again.n, exec.n);
	assert_memory_equal(again.p, exec.p, exec.n);
	assert_int_equal(fmt_convert(kt.p, kt.n, NULL, "kt", "din", &back[0], &err), PM_OK);
	assert_int_equal(fmt_convert(exec.p, exec.n, path, "idt-exec", "din", &back[1], &err),
			 PM_OK);
	assert_int_equal(back[0].n, back[1].n);
	assert_memory_equal(back[0].p, back[1].p, back[0].n);
	pm_buf_release(&kt);
	pm_buf_release(&exec);
	pm_buf_release(&again);
	pm_buf_release(&back[0]);
	pm_buf_release(&back[1]);
}

/* xsaveopt of a state with 8 KiB of tiles has more entries than a record counts; one that it stands
 * at the end of, too. */
static void test_many_entries(void **state)
{
	static const struct pm_insn insn[] = {
		{ .pc = 0x1000, .bytes = { 0x8b, 0x06 }, .len = 2, .nref = 1, .object = PM_NONE },
		{ .pc = 0x1002, .bytes = { 0x0f, 0xae, 0x37 }, .len = 3, .nref = 1,
		  .object = PM_NONE },
		{ .pc = 0x1005, .bytes = { 0x89, 0x06 }, .len = 2, .nref = 1, .object = PM_NONE },
	};
	static const struct pm_code code = { insn, NULL, NULL, NR(insn), 0, 0 };
	static const struct pm_stream stream = { 0, 10, 10, 0, NULL };
	static const char *const formats[] = { "idt-exec64", "idt-exec" };
	struct pm_event ev[12];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const struct pm_insn *in = &insn[i % 3];

		ev[n++] = (struct pm_event){
			.kind = PM_EV_INSN, .size = in->len, .id = i % 3, .addr = in->pc
		};
		ev[n++] = (struct pm_event){ .kind = i % 3 == 0	  ? PM_EV_READ
						     : i % 3 == 1 ? PM_EV_MODIFY
								  : PM_EV_WRITE,
					     .size = i % 3 == 1 ? 11008 : 4,
					     .id = i % 3,
					     .addr = 0x20000 + 0x10000 * i };
	}
	for (unsigned i = 0; i < NR(formats); i++) {
		const struct pm_batch b = { .stream = &stream, .code = &code, .ev = ev, .n = n };
		const struct pm_format *f = pm_format_find(formats[i], NULL);
		struct pm_output *mem = pm_output_memory();
		struct pm_buf back = { 0 };
		struct pm_err err = { 0 };
		unsigned refs[3] = { 0 }, insns = 0;
		const uint8_t *bytes;
		char path[64];
		size_t len;
		void *w;

		snprintf(path, sizeof path, "%s/many.trc", scratch);
		w = f->write->open(mem, &(struct pm_write_opts){ path, "", f->needs }, &err);
		if (!w || f->write->write(w, &b, &err) != PM_OK ||
		    f->write->finish(w, &err) != PM_OK)
			fail_msg("%s", err.msg);
		f->write->close(w);
		bytes = pm_output_bytes(mem, &len);
		if (fmt_convert(bytes, len, path, formats[i], "din", &back, &err) != PM_OK)
			fail_msg("%s", err.msg);
		pm_buf_add(&back, "", 1);
		for (const char *l = (const char *)back.p; *l; l = strchr(l, '\n') + 1) {
			const unsigned long a = strtoul(l + 2, NULL, 16);

			insns += *l == '2' && a >= 0x1000 && a < 0x1007;
			if (*l != '2')
				refs[a / 0x10000 % 3] += 1;
		}
		assert_int_equal(insns, 6);
		/* din reads and writes what is modified */
		assert_int_equal(refs[0], 2 * 2 * 11008 / (i ? 8 : 64));
		assert_int_equal(refs[1], 2);
		assert_int_equal(refs[2], 2);
		pm_buf_release(&back);
		pm_output_close(mem);
	}
}

static void test_manual(void **state)
{
	const char *tests = getenv("TESTS") ? getenv("TESTS") : "tests";
	const struct sample *s = NULL;
	char path[256], line[1024];
	unsigned wrong = 0, rows = 0, readers = 0, writers = 0, n = 0;
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/../docs/formats/conversions.md", tests);
	f = fopen(path, "r");
	assert_non_null(f);
	/* all but those that hold everything, which are in tests of their own */
	for (const struct pm_format *const *k = pm_formats; *k; k++) {
		readers += (*k)->read && strcmp((*k)->name, "pug");
		writers += (*k)->write && strcmp((*k)->name, "pug") &&
			strcmp((*k)->name, "ctf") && strcmp((*k)->name, "parquet");
	}
	while (fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		if (!strncmp(line, "* `", 3) && strstr(line, "` to:")) {
			s = sample_of(line + 3, strcspn(line + 3, "`"));
			if (!s)
				print_error("no sample for %s", line);
			assert_non_null(s);
			n = 0;
			wrong += check_row(s, colon + 1, true, &n);
			rows++;
		} else if (s && !strncmp(line, "  - refused:", 12)) {
			wrong += check_row(s, colon + 1, false, &n);
			if (n != writers) {
				print_error("%s: %u formats of %u in the manual\n", s->format, n,
					    writers);
				wrong++;
			}
			s = NULL;
		}
	}
	fclose(f);
	assert_int_equal(rows, readers);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_penn_again),
		cmocka_unit_test(test_long_rep),
		cmocka_unit_test(test_many_entries),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
