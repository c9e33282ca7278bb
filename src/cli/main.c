/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/guard.h"
#include "base/kept_dir.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/printable.h"
#include "base/temp.h"
#include "cli/replayed.h"
#include "cli/cli.h"
#include "collect/control/process.h"

#define STACK_LEAST (1u << 20)		/* bytes, of a thread */

static const struct command table[] = {
	{ "run", cmd_run, "run a program and report what it executed", "everyday commands" },
	{ "record", cmd_record, "run a program so that it can be run again, exactly" },
	{ "replay", cmd_replay, "run a recording again, and report or trace it" },
	{ "query", cmd_query, "ask a recording about any moment: values, calls, stores" },
	{ "gdb", cmd_gdb, "let gdb look at a recording, forwards and back" },
	{ "report", cmd_report, "make a page of a profile, trace or result, and open it" },
	{ "annotate", cmd_annotate,
	  "show a trace's code with what each instruction and line cost" },
	{ "mix", cmd_mix, "instructions by class and mnemonic" },
	{ "info", cmd_info, "say what a trace is and what it holds" },
	{ "head", cmd_head, "show the beginning of a trace as text" },
	{ "dump", cmd_dump, "show a trace as text" },
	{ "slice", cmd_slice, "write a part of a trace" },
	{ "convert", cmd_convert, "write a trace in another format" },
	{ "verify", cmd_verify, "check a trace: sums, counts, and whether it is possible" },
	{ "profile", cmd_profile, "branch profiles for BOLT, gcc and clang" },
	{ "diff", cmd_diff, "compare two profiles, results or traces; a gate for CI" },
	{ "sql", cmd_sql, "ask a trace or a table in SQL, if there is a DuckDB" },
	{ "doctor", cmd_doctor, "what this machine allows pugmark to do" },
	{ "sim", cmd_sim, "simulate caches, predictors and pipelines on a trace",
	  "simulation and formats" },
	{ "simpoint", cmd_simpoint, "short parts that stand for a whole trace: cut, simulate" },
	{ "sample", cmd_sample, "the time of a core on a long trace, from short windows" },
	{ "sweep", cmd_sweep, "simulate many configurations of many traces, also on a cluster" },
	{ "formats", cmd_formats, "list the trace formats" },
	{ "merge", cmd_merge, "references and kernel events by canonical pages (Laplace)" },
	{ "laplace", cmd_laplace, "what a system's processes and kernel reference" },
	{ "machine", cmd_machine, "run programs and systems on a simulated R4400 computer" },
	{ "citcat", cmd_citcat, "instruction traces from what a bus monitor saw" },
	{ "instrument", cmd_instrument, "write an executable that traces itself",
	  "executables that trace themselves" },
	{ "idt", cmd_instrument, "the same, by its old name" },
	{ "vcount", cmd_vcount, "what an instrumented program executed" },
	{ "vtrace", cmd_vtrace, "show the trace of an instrumented program" },
	{ "rtrace", cmd_rtrace, "number and sizes of accesses by rep instructions" },
	{ "idtinfo", cmd_idtinfo, "which files belong to an instrumented program" },
	{ "idt2kt", cmd_idt2kt, "write an IDtrace execution trace as KT" },
	{ "penn", cmd_penn, "read a micro-op trace as the course's parser does",
	  "micro-ops, for courses" },
	{ "uops", cmd_uops, "micro-ops per instruction" },
	{ "isize", cmd_uops, "instruction sizes" },
	{ "brdist", cmd_uops, "sizes of branch offsets" },
	{ "uop-mix", cmd_uops, "loads, stores, branches and other micro-ops" },
	{ "fusion", cmd_uops, "flag writers fused with the branch behind them" },
	{ "completion", cmd_completion, "completion of commands and options for a shell",
	  "pugmark itself" },
	{ "schema", cmd_schema, "what a command's JSON holds, as a JSON schema" },
	{ "version", cmd_version, "show the version" },
	{ "help", cmd_help, "list the commands, or describe one" },
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
	puts("usage: pugmark COMMAND [options]");
	for (const struct command *c = commands; c->name; c++) {
		if (c->part)
			printf("\n%s:\n", c->part);
		printf("  %-12s %s\n", c->name, c->about);
	}
	puts("\n`pugmark help COMMAND` describes one; `man pugmark` has the whole story");
	return 0;
}

static int unknown(const char *name)
{
	const struct pm_sink_ops *sim = pm_sim_of(name);
	struct pm_nearest near = { 0 };
	char path[4096], hint[PM_NEAR_HINT];

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
		pm_nearest_try(&near, name, c->name);
	fprintf(stderr, "pugmark: '%s' is not a command%s (see `pugmark help`)\n",
		pm_printable(name, path, sizeof path), pm_nearest_hint(&near, hint));
	return 2;
}

int cmd_help(int argc, char **argv)
{
	static const struct pm_opt none[] = { OPT_END };
	static const struct pm_opt_help help = {
		"pugmark help [COMMAND...]",
		"Lists the commands, or describes one: `pugmark help run`, `pugmark help machine "
		"run`.",
		NULL
	};
	int n = pm_opt_parse(argc, argv, none, &help, false);
	const struct command *c = n ? command_find(argv[0]) : NULL;
	char *words[8] = { 0 };

	if (!n)
		return list_commands();
	if (!c)
		return unknown(argv[0]);
	for (int i = 0; i < n && i < (int)NR(words) - 2; i++)
		words[i] = argv[i];
	words[n < (int)NR(words) - 2 ? n : (int)NR(words) - 2] = "--help";
	return c->run(n < (int)NR(words) - 2 ? n + 1 : (int)NR(words) - 1, words);
}

/* A file that grows beyond its limit is an error of write(), which says which file. Not SIG_IGN:
 * that would be inherited by traced programs. */
static void too_large(int sig)
{
}

/* Who waits for us is told, and no file that is not finished keeps a name. */
static void no_memory(size_t n)
{
	pm_guard_let_go();
	pm_beside_abandon();
	if (n)
		fprintf(stderr, "pugmark: out of memory (%zu bytes needed)\n", n);
	else
		fputs("pugmark: out of memory (for debugging information)\n", stderr);
	_exit(1);
}

/* The same, in a signal handler. */
static void no_stack(void)
{
	static const char text[] = "pugmark: out of memory (the stack cannot grow)\n";

	pm_guard_let_go();
	pm_beside_abandon();
	(void)!write(2, text, sizeof text - 1);
	_exit(1);
}

/* A thread's stack is as large as RLIMIT_STACK says, and cannot grow. */
static void widen_thread_stacks(void)
{
	pthread_attr_t a;
	size_t n;

	if (pthread_getattr_default_np(&a))
		return;
	if (!pthread_attr_getstacksize(&a, &n) && n < STACK_LEAST &&
	    !pthread_attr_setstacksize(&a, STACK_LEAST))
		pthread_setattr_default_np(&a);
	pthread_attr_destroy(&a);
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

static int run_command(const struct command *c, int argc, char **argv)
{
	/* a page of a heap like that takes as long to clear as all of help does */
	if (c->run != cmd_help && c->run != cmd_version && c->run != cmd_schema)
		pm_open_heap();
	return replayed_status(c->run(argc, argv));
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	const struct command *c;

	on_exit(flush_output, NULL);
	commands = table;
	signal(SIGXFSZ, too_large);
	pm_tell_no_memory(no_memory);
	pm_guard_stack(no_stack);
	widen_thread_stacks();
	pm_kept_on_drop(dropped);
	/* links named after a command run it: idt, vcount, vtrace... */
	name = name ? name + 1 : argv[0];
	c = command_find(name);
	if (c)
		return run_command(c, argc, argv);
	if (argc < 2) {
		list_commands();
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return list_commands();
	if (!strcmp(argv[1], "--version"))
		return cmd_version(1, argv);
	c = command_find(argv[1]);
	return c ? run_command(c, argc - 1, argv + 1) : unknown(argv[1]);
}
