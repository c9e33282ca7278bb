/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "base/printable.h"
#include "base/result.h"
#include "cli/cli.h"
#include "cli/run_ends.h"
#include "cli/traces.h"
#include "collect/query/query.h"
#include "collect/query/trace_parts.h"

static const struct pm_opt_help help = {
	"pugmark query [options] RECORDING QUESTION...",
	"Answers questions about any moment of a recorded run: from replays of it, exactly. A "
	"QUESTION is\n"
	"  'value REGISTER at POSITION'          rax, eflags, xmm3...; \"all\": the general ones\n"
	"  'memory RANGE at POSITION'            what memory held\n"
	"  'calls FUNCTION'                      each call, with the registers of its arguments\n"
	"  'writes RANGE'                        each store there, old value and new\n"
	"  'last-write RANGE before POSITION'    the last of these before that\n"
	"FUNCTION is a name, also a C++ one as \"shape::area(int, char)\", or an address. RANGE is "
	"LO..HI\n"
	"without HI, LO+BYTES, or one address. A POSITION is written "
	"THREAD@CLOCK+N:\n"
	"when the thread had passed CLOCK safepoints, and N instructions behind that; answers have "
	"them to be\n"
	"pasted.",
	"  pugmark query r.pugrec 'calls malloc'\n"
	"  pugmark query r.pugrec 'last-write 0x404040+4 before 4711@57+12'\n"
	"  pugmark query --json r.pugrec 'writes 0x404040..0x404048' | jq .at\n\n"
	"Exit status: 1 if the recording cannot be replayed, 2 if a question makes no sense or "
	"asks for what is\n"
	"not there.",
};

struct answers {
	const char *question;
	bool json;
	uint64_t limit, n;
	int failed;			/* errno: standard output cannot be written */
};

/* ---- text ------------------------------------------------------------------------------------ */
/* Its least byte is first. */
static void print_number(const uint8_t *p, size_t n)
{
	bool begun = false;

	fputs("0x", stdout);
	while (n--)
		if (begun || p[n] || !n) {
			printf(begun ? "%02x" : "%x", p[n]);
			begun = true;
		}
}

static bool is_number(size_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8;
}

static void print_bytes(const uint8_t *p, size_t n)
{
	if (is_number(n)) {
		print_number(p, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		printf(i ? " %02x" : "%02x", p[i]);
}

static void print_text(const char *s)
{
	char text[4096];

	fputs(pm_printable(s, text, sizeof text), stdout);
}

static void print_code(const struct query_answer *a)
{
	printf("0x%" PRIx64, a->pc);
	if (a->function) {
		putchar(' ');
		print_text(a->function);
		if (a->offset)
			printf("+0x%" PRIx64, a->offset);
	}
	if (a->file) {
		putchar(' ');
		print_text(a->file);
		printf(":%u", a->line);
	}
	if (a->call)
		printf(" %s()", a->call);
}

static void print_memory(const struct query_answer *a)
{
	for (size_t at = 0; at < a->n; at += 16) {
		const size_t n = a->n - at < 16 ? a->n - at : 16;

		printf("0x%" PRIx64 ":", a->lo + at);
		for (size_t i = 0; i < n; i++)
			printf(" %02x", a->now[at + i]);
		putchar('\n');
	}
}

static void print_answer(const struct query_answer *a)
{
	char text[PM_POSITION_TEXT];

	switch (a->kind) {
	case QUERY_VALUE:
		for (size_t i = 0; i < a->nreg; i++) {
			printf("%s ", a->reg[i].name);
			print_number(a->reg[i].value, a->reg[i].n);
			putchar('\n');
		}
		return;
	case QUERY_MEMORY:
		print_memory(a);
		return;
	case QUERY_CALLS:
		printf("%s ", pm_position_text(&a->at, text));
		print_code(a);
		for (size_t i = 0; i < a->nreg; i++) {
			printf(" %s=", a->reg[i].name);
			print_number(a->reg[i].value, a->reg[i].n);
		}
		putchar('\n');
		return;
	case QUERY_WRITES:
	case QUERY_LAST_WRITE:
		printf("%s ", pm_position_text(&a->at, text));
		print_code(a);
		printf(" 0x%" PRIx64 ": ", a->lo);
		if (a->old)
			print_bytes(a->old, a->n);
		else
			putchar('-');
		fputs(" -> ", stdout);
		print_bytes(a->now, a->n);
		putchar('\n');
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */
static void put_hex(struct pm_buf *to, const char *name, const uint8_t *p, size_t n)
{
	pm_buf_printf(to, ", \"%s\": \"", name);
	for (size_t i = 0; i < n; i++)
		pm_buf_printf(to, "%02x", p[i]);
	pm_buf_printf(to, "\"");
}

static void put_number(struct pm_buf *to, const char *name, const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n < sizeof v ? n : sizeof v);
	pm_buf_printf(to, ", \"%s\": \"0x%" PRIx64 "\"", name, v);
}

static void put_code(struct pm_buf *to, const struct query_answer *a)
{
	pm_buf_printf(to, ", \"pc\": \"0x%" PRIx64 "\"", a->pc);
	if (a->function) {
		pm_buf_printf(to, ", \"function\": ");
		pm_json_string(to, a->function);
		pm_buf_printf(to, ", \"offset\": %" PRIu64, a->offset);
	}
	if (a->file) {
		pm_buf_printf(to, ", \"file\": ");
		pm_json_string(to, a->file);
		pm_buf_printf(to, ", \"line\": %u", a->line);
	}
	if (a->call)
		pm_buf_printf(to, ", \"call\": \"%s\"", a->call);
}

static void put_registers(struct pm_buf *to, const struct query_answer *a)
{
	pm_buf_printf(to, ", \"registers\": {");
	for (size_t i = 0; i < a->nreg; i++) {
		const struct query_register *r = &a->reg[i];

		pm_buf_printf(to, "%s\"%s\": \"0x", i ? ", " : "", r->name);
		for (size_t k = r->n; k-- > 0; )
			pm_buf_printf(to, "%02x", r->value[k]);
		pm_buf_printf(to, "\"");
	}
	pm_buf_printf(to, "}");
}

static void put_memory(struct pm_buf *to, const struct query_answer *a)
{
	pm_buf_printf(to, ", \"address\": \"0x%" PRIx64 "\", \"size\": %zu", a->lo, a->n);
	if (a->kind == QUERY_MEMORY) {
		put_hex(to, "bytes", a->now, a->n);
		return;
	}
	if (a->old)
		put_hex(to, "old", a->old, a->n);
	put_hex(to, "new", a->now, a->n);
	if (!is_number(a->n))
		return;
	if (a->old)
		put_number(to, "old_value", a->old, a->n);
	put_number(to, "new_value", a->now, a->n);
}

static void json_answer(const struct answers *to, const struct query_answer *a)
{
	struct pm_buf b = { 0 };
	char text[PM_POSITION_TEXT];

	pm_buf_printf(&b, "{\"schema\": {\"name\": \"pugmark.query\", \"version\": %d}, "
		      "\"question\": ", PM_SCHEMA_VERSION);
	pm_json_string(&b, to->question);
	pm_buf_printf(&b, ", \"at\": \"%s\", \"tid\": %u", pm_position_text(&a->at, text),
		      a->at.tid);
	if (a->pid)
		pm_buf_printf(&b, ", \"pid\": %u", a->pid);
	put_code(&b, a);
	if (a->nreg)
		put_registers(&b, a);
	if (a->n)
		put_memory(&b, a);
	pm_buf_printf(&b, "}\n");
	fwrite(b.p, 1, b.n, stdout);
	pm_buf_release(&b);
}

static bool print(void *self, const struct query_answer *a)
{
	struct answers *to = self;

	if (to->json)
		json_answer(to, a);
	else
		print_answer(a);
	if (fflush(stdout))
		to->failed = errno;
	return !to->failed && ++to->n != to->limit;
}

int cmd_query(int argc, char **argv)
{
	struct pm_run_opts o = { RUN_DEFAULTS };
	struct answers to = { 0 };
	struct pm_err err = { 0 };
	struct query q;
	uint64_t jobs = 1;
	int status = 0;
	const struct pm_opt opts[] = {
		OPT_FLAG(0, "json", &to.json, "a JSON object on a line for each answer"),
		OPT_COUNT('n', "limit", &to.limit, "N", "the first N answers of each question"),
		OPT_RANGE('j', "jobs", &jobs, "N", 1, PARTS_WORKERS,
			"N replays at once find calls or writes, and look at them (1)"),
		OPT_STR(0, "cache-dir", &o.cache_dir, "DIR",
			"keep translations in DIR ($XDG_CACHE_HOME/pugmark)"),
		OPT_FLAG(0, "no-cache", &o.no_cache, "neither use nor keep translations"),
		OPT_END
	};

	pm_guard_last(PM_GUARD_COMMAND, run_say_death, NULL);
	argc = pm_opt_parse(argc, argv, opts, &help, false);
	if (argc < 2)
		pm_opt_usage(&help, argc ? "missing QUESTION" : "missing RECORDING");
	for (int i = 1; i < argc; i++)			/* all of them, before anything runs */
		if (query_parse(argv[i], &q, &err) != PM_OK)
			return traces_fail(&err);
	for (int i = 1; i < argc; i++) {
		const struct query_asker who = { &to, print, to.limit, (unsigned)jobs };

		to.question = argv[i];
		to.n = 0;
		query_parse(argv[i], &q, &err);
		if (query_ask(argv[0], &q, &o, &who, &err) != PM_OK)
			status = traces_fail(&err);
		err = (struct pm_err){ 0 };
		if (!to.failed)
			continue;
		errno = to.failed;
		err.file = "standard output";
		pm_fail_errno(&err, "cannot write");
		return traces_fail(&err);
	}
	return status;
}
