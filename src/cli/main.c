/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/kept_dir.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "collect/control/process.h"

const struct command commands[] = {
	{ "run", cmd_run, "run a program and report what it executed" },
	{ "instrument", cmd_instrument, "write an executable that traces itself" },
	{ "idt", cmd_instrument, "the same, by its old name" },
	{ "machine", cmd_machine, "run programs and systems on a simulated R4400 computer" },
	{ "citcat", cmd_citcat, "instruction traces from what a bus monitor saw" },
	{ "idt2kt", cmd_idt2kt, "write an IDtrace execution trace as KT" },
	{ "vcount", cmd_vcount, "what an instrumented program executed" },
	{ "vtrace", cmd_vtrace, "show the trace of an instrumented program" },
	{ "rtrace", cmd_rtrace, "number and sizes of accesses by rep instructions" },
	{ "idtinfo", cmd_idtinfo, "which files belong to an instrumented program" },
	{ "sim", cmd_sim, "simulate caches, predictors and pipelines on a trace" },
	{ "annotate", cmd_annotate,
	  "show a trace's code with what each instruction and line cost" },
	{ "convert", cmd_convert, "write a trace in another format" },
	{ "merge", cmd_merge, "references and kernel events by canonical pages (Laplace)" },
	{ "slice", cmd_slice, "write a part of a trace" },
	{ "info", cmd_info, "say what a trace is and what it holds" },
	{ "head", cmd_head, "show the beginning of a trace as text" },
	{ "dump", cmd_dump, "show a trace as text" },
	{ "verify", cmd_verify, "check a trace: sums, counts, and whether it is possible" },
	{ "sql", cmd_sql, "ask a trace or a table in SQL, if there is a DuckDB" },
	{ "formats", cmd_formats, "list the trace formats" },
	{ "penn", cmd_penn, "read a micro-op trace as the course's parser does" },
	{ "uops", cmd_uops, "micro-ops per instruction" },
	{ "isize", cmd_uops, "instruction sizes" },
	{ "brdist", cmd_uops, "sizes of branch offsets" },
	{ "mix", cmd_uops, "loads, stores, branches and the rest" },
	{ "fusion", cmd_uops, "flag writers fused with the branch behind them" },
	{ "version", cmd_version, "show the version" },
	{ "help", cmd_help, "list the commands" },
	{ 0 }
};

/* For commands without options: takes --help, refuses everything else. */
static void no_options(int argc, char **argv, const char *usage, const char *about)
{
	static const struct pm_opt none[] = { OPT_END };
	const struct pm_opt_help help = { usage, about, NULL };

	if (pm_opt_parse(argc, argv, none, &help, false))
		pm_opt_usage(&help, "unexpected operand '%s'", argv[0]);
}

int cmd_version(int argc, char **argv)
{
	no_options(argc, argv, "pugmark version", "Shows the version.");
	puts("pugmark " PM_VERSION);
	return 0;
}

static int list_commands(void)
{
	puts("usage: pugmark COMMAND [options]\n\ncommands, in the order in which data flows:");
	for (const struct command *c = commands; c->name; c++)
		printf("  %-12s %s\n", c->name, c->about);
	puts("\n`pugmark COMMAND --help` describes one; `man pugmark` has the whole story");
	return 0;
}

int cmd_help(int argc, char **argv)
{
	no_options(argc, argv, "pugmark help", "Lists the commands.");
	return list_commands();
}

/* A file that grows beyond its limit is an error of write(), which says which file. Not SIG_IGN:
 * that would be inherited by traced programs. */
static void too_large(int sig)
{
}

/* Letters to insert, delete, replace, or exchange with their neighbour. */
static unsigned distance(const char *a, const char *b)
{
	enum { MOST = 16 };
	unsigned d[MOST + 1][MOST + 1], n = (unsigned)strlen(a), m = (unsigned)strlen(b);

	if (n > MOST || m > MOST)
		return MOST;
	for (unsigned i = 0; i <= n; i++)
		for (unsigned k = 0; k <= m; k++) {
			unsigned *v = &d[i][k];

			*v = i + k;
			if (!i || !k)
				continue;
			if (*v > d[i - 1][k] + 1)
				*v = d[i - 1][k] + 1;
			if (*v > d[i][k - 1] + 1)
				*v = d[i][k - 1] + 1;
			if (*v > d[i - 1][k - 1] + (a[i - 1] != b[k - 1]))
				*v = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    *v > d[i - 2][k - 2] + 1)
				*v = d[i - 2][k - 2] + 1;
		}
	return d[n][m];
}

static int unknown(const char *name)
{
	const struct pm_sink_ops *sim = pm_sim_of(name);
	unsigned least = strlen(name) < 4 ? 2 : 3;
	const char *near = NULL;
	char path[4096];

	if (sim) {
		fprintf(stderr,
			"pugmark: '%s' is a simulator: `pugmark sim --sim %s TRACE`, or `pugmark "
			"run --sim %s -- "
			"PROGRAM`\n",
			sim->name, sim->name, sim->name);
		return 2;
	}
	if (pm_run_find(name, path, sizeof path)) {
		fprintf(stderr,
			"pugmark: '%s' is not a command; to trace the program: `pugmark run -- "
			"%s`\n",
			name, name);
		return 2;
	}
	for (const struct command *c = commands; c->name; c++)
		if (distance(name, c->name) < least) {
			near = c->name;
			least = distance(name, near);
		}
	fprintf(stderr, "pugmark: '%s' is not a command%s%s%s (see `pugmark help`)\n",
		pm_printable(name, path, sizeof path),
		near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
	return 2;
}

static void no_memory(size_t n)
{
	fprintf(stderr, "pugmark: out of memory (%zu bytes needed)\n", n);
	abort();
}

static void dropped(const char *dir, const char *name, const char *why)
{
	fprintf(stderr, "pugmark: %s/%s: removed from the cache: %s\n", dir, name, why);
}

/* Whatever a command has printed has to arrive, or it has failed. */
static void flush_output(int status, void *arg)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	if (!status)			/* else it has been said */
		fprintf(stderr, "pugmark: standard output: cannot write: %s\n", strerror(errno));
	_exit(status ? status : 1);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	on_exit(flush_output, NULL);
	signal(SIGXFSZ, too_large);
	pm_tell_no_memory(no_memory);
	pm_open_heap();
	pm_kept_on_drop(dropped);
	/* links named after a command run it: idt, vcount, vtrace... */
	name = name ? name + 1 : argv[0];
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c->run(argc, argv);
	if (argc < 2) {
		list_commands();
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return list_commands();
	if (!strcmp(argv[1], "--version"))
		return cmd_version(1, argv);
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, argv[1]))
			return c->run(argc - 1, argv + 1);
	return unknown(argv[1]);
}
