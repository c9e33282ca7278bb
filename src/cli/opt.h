/* SPDX-License-Identifier: MIT */
/* opt.h - command-line options as a table; parsing, `--help` and completion all come from it
 *
 * Usage errors print one line and the hint `see COMMAND --help` to stderr and exit with 2. What
 * every command takes besides (--quiet, --verbose, --color, --help) is in no command's table,
 * unless the command wants to know itself. */
#ifndef PM_CLI_OPT_H
#define PM_CLI_OPT_H

#include <stdbool.h>
#include <stdint.h>

enum pm_opt_kind {
	PM_OPT_END, PM_OPT_FLAG, PM_OPT_STR, PM_OPT_U64, PM_OPT_SIZE, PM_OPT_REAL, PM_OPT_LIST,
	PM_OPT_OPTSTR, PM_OPT_HEAD,
};

struct pm_opt_list {		/* values of an option that may be given several times */
	const char **v;
	unsigned n;
};

struct pm_opt {
	enum pm_opt_kind kind;
	char brief;		/* 0: long form only */
	const char *name;
	void *to;		/* bool, const char *, uint64_t, double, pm_opt_list: by kind */
	/* What --help calls the value, and so what completion offers: FILE, DIR, FORMAT, COMMAND,
	 * NAME:CONFIG (simulators)... Words as in "att|intel" are all that there are: nothing else
	 * is accepted. */
	const char *arg;
	const char *about;	/* one line, lower case */
	double least, most;	/* numbers: what is accepted; @most 0: no limit */
};

#define OPT_FLAG(b, n, t, d)		{ PM_OPT_FLAG, b, n, t, 0, d, 0, 0 }
#define OPT_STR(b, n, t, a, d)		{ PM_OPT_STR, b, n, t, a, d, 0, 0 }
#define OPT_LIST(b, n, t, a, d)		{ PM_OPT_LIST, b, n, t, a, d, 0, 0 }
/* Any number, if 0 has a meaning that @d or the manual says: an offset, or no limit. */
#define OPT_U64(b, n, t, a, d)		{ PM_OPT_U64, b, n, t, a, d, 0, 0 }
/* 1 at least; from @lo to @hi. What is not given leaves *@t as it is, so 0 may stand for that. */
#define OPT_COUNT(b, n, t, a, d)	{ PM_OPT_U64, b, n, t, a, d, 1, 0 }
#define OPT_RANGE(b, n, t, a, lo, hi, d) { PM_OPT_U64, b, n, t, a, d, lo, hi }
#define OPT_ROWS(rows) \
	OPT_RANGE(0, "rows", &(rows), "N", 1, UINT32_MAX, \
		  "rows of long lists in the text (20)")
/* Bytes: k, M and G are powers of 1024. */
#define OPT_SIZE(b, n, t, a, lo, d)	{ PM_OPT_SIZE, b, n, t, a, d, lo, 0 }
/* A double, decimal; of PERCENT a % may stand behind it. */
#define OPT_REAL(b, n, t, a, lo, hi, d)	{ PM_OPT_REAL, b, n, t, a, d, lo, hi }
/* the value is optional and only ever joined: --cache or --cache=64; "" when absent */
#define OPT_OPTSTR(b, n, t, a, d)	{ PM_OPT_OPTSTR, b, n, t, a, d, 0, 0 }
#define OPT_HEAD(d)	{ PM_OPT_HEAD, 0, 0, 0, 0, d, 0, 0 }	/* a heading in --help */
#define OPT_END				{ PM_OPT_END, 0, 0, 0, 0, 0, 0, 0 }

struct pm_opt_command {		/* a command of a command: `pugmark machine run` */
	const char *name;
	int (*run)(int argc, char **argv);
	const char *about;	/* one line */
};

struct pm_opt_help {
	const char *usage;	/* "pugmark run [options] -- PROGRAM [ARG...]" */
	const char *about;	/* a paragraph under it */
	const char *tail;	/* examples and notes after the options; may be NULL */
	const struct pm_opt_command *commands;	/* NULL: none; else ended by one without a name */
};

/* What every command takes. */
extern const struct pm_opt pm_opt_common[];

/* Parse argv[1..]; operands move to the front of argv (argv[0] on) and their number is returned.
 * Everything behind "--" is an operand. If @stop, so is everything from the first operand on.
 * --help prints and exits 0. Numbers: decimal, 0x hex, suffix k M G (powers of 1000). */
int pm_opt_parse(int argc, char **argv, const struct pm_opt *opts, const struct pm_opt_help *help,
		 bool stop);
/* Run the one of @help's commands that argv[1] names; its status. */
int pm_opt_run(int argc, char **argv, const struct pm_opt_help *help);
/* "pugmark: MESSAGE (see `... --help`)" and exit 2. */
__attribute__((noreturn, format(printf, 2, 3)))
void pm_opt_usage(const struct pm_opt_help *help, const char *fmt, ...);

/* What the command @run, called with @argc words, would parse with: @see is given it, and the
 * command does nothing. */
void pm_opt_tables(int (*run)(int argc, char **argv), int argc, char **argv,
		   void (*see)(void *ctx, const struct pm_opt *opts,
			       const struct pm_opt_help *help),
		   void *ctx);
/* Are values of @o words of a fixed set, as in "att|intel"? */
bool pm_opt_is_choice(const struct pm_opt *o);

#endif
