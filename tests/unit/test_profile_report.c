/* SPDX-License-Identifier: MIT */
/* test_profile_report.c - what the reports say about this very program's own code with made-up
 * counts: the sums agree in every form, widths hold, and other tools open the files */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/result.h"
#include "pugmark/pugmark.h"
#include "report/html.h"
#include "report/profile_report.h"
#include "report/result_view.h"
#include "synthetic.h"

static char self[4096], scratch[64];
static struct pm_counts *counts;
static struct pm_profile *profile;
static char *argv[] = { "prog", "an argument with, comma and \"quotes\"", "\033[31mred", NULL };
static const struct pm_report_opts opts;

static char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", scratch, name);
	return path;
}

static char *slurp(const char *path)
{
	struct pm_buf b = { 0 };
	char chunk[65536];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	while ((n = fread(chunk, 1, sizeof chunk, f)))
		pm_buf_add(&b, chunk, n);
	pm_buf_add(&b, "", 1);
	fclose(f);
	return (char *)b.p;
}

static void text_fits(void **state)
{
	struct pm_err err = { 0 };
	char *s, *line, *save;
	bool colour = false;

	(void)state;
	setenv("PUGMARK_COLUMNS", "80", 1);
	assert_int_equal(pm_report_text_file(profile, &opts, path_of("t.txt"), &err), PM_OK);
	s = slurp(path_of("t.txt"));
	assert_non_null(strstr(s, "Instruction mix"));
	assert_non_null(strstr(s, "Functions"));
	assert_non_null(strstr(s, "Hottest blocks"));
	/* no escape sequence of others gets through */
	assert_non_null(strstr(s, "\\e[31mred"));
	for (line = strtok_r(s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strlen(line) > 80)
			fail_msg("%zu characters: %s", strlen(line), line);
		colour |= strchr(line, 033) != NULL;
	}
	assert_false(colour);
	free(s);
}

static void json_adds_up(void **state)
{
	struct pm_result *r = pm_result_new();
	const struct pm_result_node *root, *n;
	static const char *const must[] = {
		"pugmark",	   "program",	      "exit",	 "instructions", "blocks",
		"blocks_distinct", "blocks_cover_90", "reads",	 "writes",	 "mix",
		"functions",	   "processes",	      "threads", "wall_s",	 "user_s",
		"translations",
	};
	uint64_t sum = 0, total;

	(void)state;
	pm_report_result(profile, &opts, r);
	root = pm_result_root(r);
	for (size_t i = 0; i < NR(must); i++)
		assert_non_null(pm_result_find(root, must[i]));
	total = pm_result_find(root, "instructions")->u64;
	assert_int_equal(total, profile->sum.insns);
	assert_true(total > 0);
	for (n = pm_result_find(root, "mix")->first; n; n = n->next)
		sum += pm_result_find(n, "count")->u64;
	assert_int_equal(sum, total);
	sum = 0;
	for (n = pm_result_find(root, "classes")->first; n; n = n->next)
		sum += pm_result_find(n, "count")->u64;
	assert_int_equal(sum, total);
	sum = 0;
	for (n = pm_result_find(root, "functions")->first; n; n = n->next)
		sum += pm_result_find(n, "instructions")->u64;
	assert_int_equal(sum, total);
	sum = 0;
	for (n = pm_result_find(root, "objects")->first; n; n = n->next)
		sum += pm_result_find(n, "instructions")->u64;
	assert_int_equal(sum, total);
	assert_int_equal(pm_result_find(pm_result_find(root, "processes")->first, "instructions")
				 ->u64,
			 total);
	assert_int_equal(pm_result_find(pm_result_find(root, "threads")->first, "instructions")
				 ->u64,
			 total);
	assert_int_equal(pm_result_find(pm_result_find(root, "exit"), "status")->u64, 0);
	assert_int_equal(pm_result_find(pm_result_find(root, "exit"), "signal")->kind,
			 PM_RESULT_NULL);
	pm_result_free(r);
}

static void csv_adds_up(void **state)
{
	struct pm_err err = { 0 };
	char *s, *line, *save;
	uint64_t sum = 0;
	size_t rows = 0;

	(void)state;
	assert_int_equal(pm_report_csv(profile, &opts, path_of("t.csv"), &err), PM_OK);
	s = slurp(path_of("t.csv"));
	line = strtok_r(s, "\n", &save);
	assert_string_equal(line, "object,function,address,instructions,percent");
	while ((line = strtok_r(NULL, "\n", &save))) {
		char *percent = strrchr(line, ','), *insns;

		*percent = 0;
		insns = strrchr(line, ',');
		sum += strtoull(insns + 1, NULL, 10);
		rows++;
	}
	assert_int_equal(sum, profile->sum.insns);
	assert_int_equal(rows, profile->nfunction);
	free(s);
}

static void callgrind_opens(void **state)
{
	struct pm_err err = { 0 };
	char cmd[4600], line[4096], total[64], number[32], want[32];
	bool found = false;
	uint32_t *order;
	FILE *f;

	(void)state;
	assert_int_equal(pm_report_callgrind(profile, &opts, path_of("t.cg"), &err), PM_OK);
	if (system("command -v callgrind_annotate >/dev/null 2>&1")) {
		print_message("callgrind_annotate is not there: skipped\n");
		skip();
	}
	snprintf(cmd, sizeof cmd, "callgrind_annotate --auto=no %s", path_of("t.cg"));
	f = popen(cmd, "r");
	/* thousands as callgrind_annotate prints them */
	snprintf(number, sizeof number, "%llu", (unsigned long long)profile->sum.insns);
	want[0] = 0;
	for (size_t i = 0, n = strlen(number); i < n; i++)
		snprintf(want + strlen(want), sizeof want - strlen(want), "%s%c",
			 i && (n - i) % 3 == 0 ? "," : "", number[i]);
	pm_profile_top_functions(profile, 1, &order);
	total[0] = 0;
	while (fgets(line, sizeof line, f)) {
		if (strstr(line, "PROGRAM TOTALS"))
			sscanf(line, "%63s", total);
		found |= strstr(line, pm_profile_name(profile, order[0])) != NULL;
	}
	assert_int_equal(pclose(f), 0);
	assert_string_equal(total, want);
	assert_true(found);
	free(order);
}

/* Elements close in the order in which they opened, and nothing is fetched from anywhere. */
static void html_is_sound(const char *path)
{
	static const char *const empty[] = { "meta", "input", "br", "!doctype" };
	char open[64][16];
	unsigned depth = 0, tables = 0;
	char *s = slurp(path), *at = s;

	while ((at = strchr(at, '<'))) {
		bool close = at[1] == '/', skip = false;
		char name[16] = "";
		size_t n = 0;

		at += 1 + close;
		while (n < sizeof name - 1 && strcspn(at + n, " >\n"))
			name[n] = (char)(at[n] | 0x20), n++;
		for (size_t i = 0; i < NR(empty); i++)
			skip |= !strcmp(name, empty[i]);
		if (name[0] == '!')
			skip = true;
		assert_string_not_equal(name, "link");
		assert_null(memmem(at, strcspn(at, ">"), " src=", 5));
		if (skip)
			continue;
		if (close) {
			assert_true(depth > 0);
			assert_string_equal(open[--depth], name);
			continue;
		}
		assert_true(depth < NR(open));
		strcpy(open[depth++], name);
		tables += !strcmp(name, "table");
		if (!strcmp(name, "script") || !strcmp(name, "style")) {	/* raw text */
			char end[20];

			snprintf(end, sizeof end, "</%s>", name);
			at = strstr(at, end);
			assert_non_null(at);
		}
	}
	assert_int_equal(depth, 0);
	assert_true(tables > 0);
	free(s);
}

static void html_pages(void **state)
{
	struct pm_err err = { 0 };
	struct pm_result *r = pm_result_new();
	char *s;

	(void)state;
	assert_int_equal(pm_report_html(profile, &opts, path_of("t.html"), &err), PM_OK);
	html_is_sound(path_of("t.html"));
	s = slurp(path_of("t.html"));
	assert_non_null(strstr(s, "comma and &quot;quotes&quot;"));
	assert_non_null(strstr(s, "script-src 'sha256-"));
	free(s);

	pm_report_result(profile, &opts, r);
	pm_result_begin(r, "hostile");
	pm_result_begin_list(r, "names");
	pm_result_str(r, NULL, "</script><script>alert(1)</script>");
	pm_result_str(r, NULL, "\033[31m \377\300\200 \355\240\200 \342\200\256rtl");
	pm_result_end(r);
	pm_result_end(r);
	assert_int_equal(pm_result_html(r, "Any <result>", NULL, path_of("r.html"), &err), PM_OK);
	html_is_sound(path_of("r.html"));
	s = slurp(path_of("r.html"));
	assert_null(strstr(s, "<script>alert"));
	/* control characters, what is no UTF-8, and a change of direction: U+FFFD each */
	assert_non_null(strstr(s, "\357\277\275[31m \357\277\275\357\277\275\357\277\275 "
				  "\357\277\275\357\277\275\357\277\275 \357\277\275rtl<"));
	free(s);
	pm_result_free(r);
}

/* Everything that cannot be written is an error and leaves nothing. */
static void bad_places(void **state)
{
	struct pm_err err = { 0 };

	(void)state;
	assert_int_equal(pm_report_json(profile, &opts, "/nowhere/x.json", &err), PM_ERR);
	assert_string_equal(err.file, "/nowhere/x.json");
	assert_string_equal(err.msg, "cannot create: No such file or directory");
	memset(&err, 0, sizeof err);
	assert_int_equal(pm_report_csv(profile, &opts, "/dev/full", &err), PM_ERR);
	assert_string_equal(err.msg, "cannot write: No space left on device");
	memset(&err, 0, sizeof err);
	mkdir(path_of("d"), 0700);
	assert_int_equal(pm_report_html(profile, &opts, path_of("d"), &err), PM_ERR);
	assert_true(err.msg[0]);
	rmdir(path_of("d"));
}

static void disassembly_in_both_syntaxes(void **state)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x45, 0xf8, 0xe9, 0x00, 0x00, 0x00, 0x00 };
	struct pm_counts *c = pm_counts_new();
	struct pm_counts_process *pr = pm_counts_add_process(c, 1, 0, "/bin/x");
	struct pm_profile_block b;
	struct pm_profile *p;
	char s[128];

	(void)state;
	pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0, UINT64_MAX);
	pm_counts_add_piece(pr, (struct pm_piece){ 0x1000, code, sizeof code, 2, 0, false });
	*pm_counts_add_thread(pr, 1)->count = 3;
	p = pm_profile_new(c);
	b = pm_profile_block(p, 0);
	assert_int_equal(pm_profile_disasm(p, &b, 0, PM_SYNTAX_ATT, s, sizeof s), 4);
	assert_string_equal(s, "mov -0x8(%rbp), %rax");
	pm_profile_disasm(p, &b, 0, PM_SYNTAX_INTEL, s, sizeof s);
	assert_string_equal(s, "mov rax, [rbp-0x8]");
	assert_int_equal(pm_profile_disasm(p, &b, 4, PM_SYNTAX_ATT, s, sizeof s), 5);
	assert_string_equal(s, "jmp 0x1009");
	pm_profile_free(p);
	pm_counts_free(c);
}

static int set_up(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	(void)state;
	strcpy(scratch, "/tmp/test_report.XXXXXX");
	if (n <= 0 || !mkdtemp(scratch))
		return -1;
	counts = synthetic_counts(self, 3000, 1);
	if (!counts)
		return -1;
	counts->argv = argv;
	profile = pm_profile_new(counts);
	pm_profile_functions(profile);
	return 0;
}

static int tear_down(void **state)
{
	char cmd[128];

	(void)state;
	pm_profile_free(profile);
	pm_counts_free(counts);
	snprintf(cmd, sizeof cmd, "rm -r %s", scratch);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_fits),
		cmocka_unit_test(json_adds_up),
		cmocka_unit_test(csv_adds_up),
		cmocka_unit_test(callgrind_opens),
		cmocka_unit_test(html_pages),
		cmocka_unit_test(bad_places),
		cmocka_unit_test(disassembly_in_both_syntaxes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
