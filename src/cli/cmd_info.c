/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/named_files.h"
#include "cli/progress.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/width.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"

static void put_facts(struct pm_result *r, uint32_t facts)
{
	pm_result_begin_list(r, "contents");
	for (unsigned i = 0; i < 32; i++) {
		char one[64];

		if (!(facts >> i & 1))
			continue;
		pm_fact_names(1u << i, one, sizeof one);
		if (*one)
			pm_result_str(r, NULL, one);
	}
	pm_result_end(r);
}

static bool put_description(struct pm_result *r, const char *s)
{
	bool ns = false;

	pm_result_begin(r, "traced");
	for (; *s; s += strlen(s) + 1) {
		const char *eq = strchr(s, '=');
		char name[64];

		if (!eq || (size_t)(eq - s) >= sizeof name)
			continue;
		memcpy(name, s, (size_t)(eq - s));
		name[eq - s] = 0;
		pm_result_str(r, name, eq + 1);
		ns |= !strcmp(s, "time=ns");
	}
	pm_result_end(r);
	return ns;
}

/* The counts that a whole .pug carries, in the shape that the count sink gives. */
/* @ns: its times are nanoseconds since it began */
static void put_totals(struct pm_result *r, const struct pug_totals *t, bool ns)
{
	if (ns)
		pm_result_f64(r, "duration_s", (double)t->time / 1e9, "s");
	pm_result_begin(r, "count");
	pm_result_u64(r, "instructions", t->tally.insns, "instructions");
	pm_result_u64(r, "events", t->events, "events");
	pm_result_begin(r, "kinds");
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		if (t->tally.kind[k])
			pm_result_u64(r, pm_kind_name(k), t->tally.kind[k], "events");
	pm_result_end(r);
	pm_result_begin_list(r, "streams");
	for (size_t i = 0; i < t->nstream; i++) {
		const struct pm_stream *s = t->stream[i].is;

		pm_result_begin(r, NULL);
		pm_result_u64(r, "stream", t->stream[i].index, NULL);
		if (s && s->pid)
			pm_result_u64(r, "pid", s->pid, NULL);
		if (s && s->tid)
			pm_result_u64(r, "tid", s->tid, NULL);
		if (s && s->space)
			pm_result_hex(r, "space", s->space);
		if (s && s->name)
			pm_result_str(r, "name", s->name);
		pm_result_u64(r, "instructions", t->stream[i].insns, "instructions");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
}

static void show_words(const struct pm_result_node *list, unsigned depth)
{
	struct pm_buf words = { 0 }, lines = { 0 };

	for (const struct pm_result_node *e = list->first; e; e = e->next)
		pm_buf_printf(&words, "%s%s", e == list->first ? "" : ", ", e->str);
	pm_buf_add(&words, "", 1);
	pm_report_wrapped(&lines, (const char *)words.p, 16, 16, pm_report_width(STDOUT_FILENO));
	printf("%*s%-*s %.*s", (int)depth * 2, "", 15 - (int)depth * 2, list->name, (int)lines.n,
	       (const char *)lines.p);
	pm_buf_release(&words);
	pm_buf_release(&lines);
}

static void show_node(const struct pm_result_node *n, unsigned depth)
{
	char num[32];

	for (const struct pm_result_node *c = n->first; c; c = c->next) {
		if (c->kind == PM_RESULT_LIST && c->first && c->first->kind == PM_RESULT_STR) {
			show_words(c, depth);
			continue;
		}
		if (c->kind == PM_RESULT_OBJECT || c->kind == PM_RESULT_LIST) {
			if (!c->first)
				continue;
			if (c->name)
				printf("%*s%s:\n", (int)depth * 2, "", c->name);
			show_node(c, depth + (c->name != NULL));
			continue;
		}
		printf("%*s%-*s ", (int)depth * 2, "", 15 - (int)depth * 2, c->name ? c->name : "");
		switch (c->kind) {
		case PM_RESULT_U64:
			if (c->name && (!strcmp(c->name, "pid") || !strcmp(c->name, "tid")))
				printf("%" PRIu64 "\n", c->u64);	/* as others write it */
			else
				printf("%s\n", pm_report_number(c->u64, num));
			break;
		case PM_RESULT_F64:
			printf("%.3f\n", c->f64);
			break;
		case PM_RESULT_HEX:
			printf("0x%" PRIx64 "\n", c->u64);
			break;
		case PM_RESULT_BOOL:
			printf("%s\n", c->u64 ? "yes" : "no");
			break;
		default: {
			struct pm_buf text = { 0 };

			if (c->kind == PM_RESULT_STR)
				pm_report_text_of(&text, c->str, 400, 0);
			printf("%.*s\n", (int)text.n, (const char *)text.p);
			pm_buf_release(&text);
			break;
		}
		}
	}
}

int cmd_info(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark info [options] TRACE",
		"Says what a trace is: its format, its contents, what was traced, and how many "
		"events of each kind\n"
		"there are. A complete .pug file has these counts at its end; any other trace is "
		"read as a whole.",
		NULL
	};
	const char *from = NULL, *json = NULL;
	bool count = false;
	const struct pm_opt opts[] = {
		OPT_STR('f', "from", &from, "FORMAT", "input format (default: guess)"),
		OPT_FLAG('c', "count", &count,
			"read and count even if the trace says its counts itself"),
		OPT_STR(0, "json", &json, "FILE", "write it as JSON (-: standard output)"),
		OPT_END
	};
	const struct pm_format *which;
	const struct pm_result_node *c;
	struct pug_totals totals = { 0 };
	struct pm_err err = { 0 };
	struct pm_result *r;
	struct pm_source src;
	struct stat st;
	bool pug, have_size, ns = false;
	int status = 0;

	if (pm_opt_parse(argc, argv, opts, &help, false) != 1)
		pm_opt_usage(&help, *argv ? "only one TRACE" : "missing TRACE");
	NAMED_FILES_CHECK(&help, { "TRACE", argv[0], false }, { "--json", json, true });
	status = traces_open(argv[0], from, &src, &which);
	if (status)
		return status;
	pug = !strcmp(which->name, "pug");
	r = pm_result_for("info");
	pm_result_str(r, "file", argv[0]);
	pm_result_str(r, "format", which->name);
	have_size = strcmp(argv[0], "-") && !stat(argv[0], &st) && S_ISREG(st.st_mode);
	if (have_size)
		pm_result_u64(r, "bytes", (uint64_t)st.st_size, "bytes");
	put_facts(r, src.facts);
	if (pug) {
		ns = put_description(r, pug_read_info(pm_trace_reader(&src)));
		if (!count && pug_read_totals(pm_trace_reader(&src), &totals, &err) != PM_OK) {
			err.file = argv[0];
			status = traces_fail(&err);
			goto out;
		}
	}
	if (totals.whole) {
		put_totals(r, &totals, ns);
	} else {
		struct pm_pipeline *p = pm_pipeline_new();

		pm_pipeline_sink(p, &pm_count_ops.ops, pm_count_ops.ops.create("", &err));
		if (pm_pipeline_start(p, src.facts, which->plural, &err) != PM_OK ||
		    progress_run(p, &src, r, NULL, NULL, &err) != PM_OK)
			status = 1;
		pm_pipeline_free(p);
	}
	if ((pug || status) && !pm_result_find(pm_result_root(r), "complete"))
		pm_result_bool(r, "complete", !status);
	c = pm_result_find(pm_result_root(r), "count");
	c = c ? pm_result_find(c, "instructions") : NULL;
	if (c && c->u64 && have_size)
		pm_result_f64(r, "bits_per_insn", (double)st.st_size * 8 / (double)c->u64, "bits");
	if (json)
		status |= traces_json(r, json);
	else
		show_node(pm_result_root(r), 0);
	if (pm_failed(&err))
		traces_fail(&err);
out:
	src.ops->close(src.self);
	pm_result_free(r);
	return status;
}
