/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"
#include "base/printable.h"
#include "cli/manners.h"
#include "cli/opt.h"
#include "report/width.h"

static bool verbose, quiet, help_wanted;	/* find_option() does what these say */

const struct pm_opt pm_opt_common[] = {
	OPT_HEAD("in every command"),
	OPT_FLAG('q', "quiet", &quiet, "errors only: no notes, no progress"),
	OPT_FLAG('v', "verbose", &verbose, "say what is done, and what it took"),
	OPT_STR(0, "color", &manners.color, "auto|always|never",
		"colours (auto: on a terminal, unless $NO_COLOR is set)"),
	OPT_FLAG('h', "help", &help_wanted, "show this"),
	OPT_END
};

/* The command is the usage up to the first option, operand, or choice of commands. */
static int command_length(const char *usage)
{
	const char *p = usage;

	for (const char *word = usage; *word; word = p + strspn(p, " ")) {
		size_t n = strcspn(word, " ");

		if (strchr("[<-", *word) || isupper((unsigned char)*word) ||
		    memchr(word, '|', n))
			break;
		p = word + n;
	}
	return (int)(p - usage);
}

void pm_opt_usage(const struct pm_opt_help *help, const char *fmt, ...)
{
	char text[4096], line[4096];
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "pugmark: %s", pm_printable(text, line, sizeof line));
	fprintf(stderr, " (see `%.*s --help`)\n", command_length(help->usage), help->usage);
	exit(2);
}

/* @text goes on at column @at, and is as wide as the terminal. */
static void print_wrapped(const char *text, size_t at, size_t indent)
{
	struct pm_buf b = { 0 };

	pm_report_wrapped(&b, text, at, indent, pm_report_width(STDOUT_FILENO));
	fwrite(b.p, 1, b.n, stdout);
	pm_buf_release(&b);
}

/* Several ways to call it are a line each, below the first. */
static void print_usage(const char *usage)
{
	char line[512];

	for (size_t n; *usage; usage += n + (usage[n] != 0)) {
		const size_t indent = strspn(usage, " ");

		n = strcspn(usage, "\n");
		snprintf(line, sizeof line, "%.*s", (int)(n - indent), usage + indent);
		printf("%*s", (int)indent, "");
		print_wrapped(line, 7, 11);
	}
}

#define EXAMPLE_ABOUT 6
#define PROSE_LINE 70		/* columns: the next line may go on with the sentence */

/* A line that begins with spaces: an example stays as it is, to be copied; what it says about it
 * stands below, if there is no room. */
static void print_example(char *line, size_t width)
{
	char *about = strlen(line) > width ? strstr(line + strspn(line, " "), "  ") : NULL;

	if (!about) {
		printf("%s\n", line);
		return;
	}
	*about++ = 0;
	printf("%s\n%*s", line, EXAMPLE_ABOUT, "");
	print_wrapped(about + strspn(about, " "), EXAMPLE_ABOUT, EXAMPLE_ABOUT);
}

/* Prose is as wide as the terminal. */
static void print_prose(const char *text)
{
	const size_t width = pm_report_width(STDOUT_FILENO);
	struct pm_buf b = { 0 };

	while (*text) {
		const size_t n = strcspn(text, "\n");
		const char *next = text + n + (text[n] != 0);

		pm_buf_add(&b, text, n);
		if (width < PM_ANY_WIDTH && *text != ' ' && n > PROSE_LINE && *next &&
		    *next != ' ' && *next != '\n') {
			pm_buf_add(&b, " ", 1);
		} else {
			pm_buf_add(&b, "", 1);
			if (*text == ' ')
				print_example((char *)b.p, width);
			else
				print_wrapped((const char *)b.p, 0, 0);
			b.n = 0;
		}
		text = next;
	}
	pm_buf_release(&b);
}

#define ABOUT_COLUMN 30

static void print_options(const struct pm_opt *opts, const struct pm_opt *but)
{
	for (const struct pm_opt *o = opts; o->kind != PM_OPT_END; o++) {
		const struct pm_opt *own = but;
		char left[64];
		int n;

		while (own && own->kind != PM_OPT_END &&
		       (own->kind == PM_OPT_HEAD || o->kind == PM_OPT_HEAD ||
			strcmp(own->name, o->name)))
			own++;
		if (own && own->kind != PM_OPT_END)
			continue;		/* the command says more about it */
		if (o->kind == PM_OPT_HEAD) {
			printf("%s%s:\n", o == opts && !but ? "" : "\n", o->about);
			continue;
		}
		n = snprintf(left, sizeof left, "  %c%c%c --%s", o->brief ? '-' : ' ',
			     o->brief ? o->brief : ' ', o->brief ? ',' : ' ', o->name);
		if (o->arg && n < (int)sizeof left)
			snprintf(left + n, sizeof left - n,
				 o->kind == PM_OPT_OPTSTR ? "[=%s]" : " %s", o->arg);
		if (strlen(left) > ABOUT_COLUMN - 2)
			printf("%s\n%*s", left, ABOUT_COLUMN, "");
		else
			printf("%-*s", ABOUT_COLUMN, left);
		print_wrapped(o->about, ABOUT_COLUMN, ABOUT_COLUMN);
	}
}

static void print_help(const struct pm_opt *opts, const struct pm_opt_help *help)
{
	printf("usage: ");
	print_usage(help->usage);
	printf("\n");
	print_prose(help->about);
	for (const struct pm_opt_command *c = help->commands; c && c->name; c++) {
		printf("%s  %-14s ", c == help->commands ? "\n" : "", c->name);
		print_wrapped(c->about, 17, 17);
	}
	if (opts->kind != PM_OPT_END)
		printf("\n");
	print_options(opts, NULL);
	print_options(pm_opt_common, opts);
	if (help->tail) {
		printf("\n");
		print_prose(help->tail);
	}
	exit(0);
}

/* ---- values ---------------------------------------------------------------------------------- */

bool pm_opt_is_choice(const struct pm_opt *o)
{
	const char *a = o->arg;

	if (o->kind != PM_OPT_STR || !a || !strchr(a, '|'))
		return false;
	while (islower((unsigned char)*a) || isdigit((unsigned char)*a) || *a == '|' || *a == '-')
		a++;
	return !*a;
}

static void check_choice(const struct pm_opt *o, const char *val, const struct pm_opt_help *help)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT], all[100] = "";
	size_t n = strlen(val), len = 0;

	for (const char *a = o->arg; *a; ) {
		size_t k = strcspn(a, "|");
		char word[40];

		if (k == n && !strncmp(a, val, n))
			return;
		snprintf(word, sizeof word, "%.*s", (int)k, a);
		pm_nearest_try(&near, val, word);
		if (len < sizeof all)
			len += (size_t)snprintf(all + len, sizeof all - len, "%s%s",
						!len ? "" : strchr(a, '|') ? ", " : " or ", word);
		a += k + (a[k] == '|');
	}
	pm_opt_usage(help, "--%s expects %s, not '%s'%s", o->name, all, val,
		     pm_nearest_hint(&near, hint));
}

/* A number as @o writes it: 1048576 bytes are 1M. */
static const char *bound_text(const struct pm_opt *o, double v, char *to, size_t size)
{
	const bool mega = o->kind == PM_OPT_SIZE && v >= 1 << 20;

	snprintf(to, size, "%.15g%s", mega ? v / (1 << 20) : v, mega ? "M" : "");
	return to;
}

__attribute__((noreturn)) static void bad_number(const struct pm_opt *o, const char *val,
						 bool too_long, const struct pm_opt_help *help)
{
	const char *what = o->kind == PM_OPT_SIZE ? "a size in bytes (512, 64k, 16M, 1G)" :
		!strcmp(o->arg, "PERCENT") ? "a percentage" :
		!strcmp(o->arg, "SECONDS") ? "seconds" : "a number";
	char lo[40], hi[40];

	bound_text(o, o->least, lo, sizeof lo);
	bound_text(o, o->most, hi, sizeof hi);
	if (o->most)
		pm_opt_usage(help, "--%s expects %s from %s to %s, not '%s'", o->name, what, lo, hi,
			     val);
	if (o->least && !too_long)
		pm_opt_usage(help, "--%s expects %s, at least %s, not '%s'", o->name, what, lo,
			     val);
	pm_opt_usage(help, "--%s expects %s%s, not '%s'", o->name, what,
		     too_long ? " below 2^64" : "", val);
}

/* strtod() takes more than decimal numbers: spaces, infinity, hexadecimal. */
static bool parse_real(const struct pm_opt *o, const char *val, double *v)
{
	char *end;

	if (strspn(val, "0123456789.") == 0 || strpbrk(val, "xX"))
		return false;
	*v = strtod(val, &end);
	if (!strcmp(o->arg, "PERCENT") && *end == '%')
		end++;
	return !*end && isfinite(*v);
}

/* All numbers of all commands are checked here. */
static void store_number(const struct pm_opt *o, const char *val, const struct pm_opt_help *help)
{
	uint64_t n = 0;
	double v;
	bool is;

	if (o->kind == PM_OPT_REAL) {
		is = parse_real(o, val, &v);
	} else {
		is = (o->kind == PM_OPT_SIZE ? pm_parse_size : pm_parse_u64)(val, &n);
		v = (double)n;
	}
	if (!is || v < o->least || (o->most && v > o->most))
		bad_number(o, val, !is && *val && strspn(val, "0123456789") == strlen(val), help);
	if (o->kind == PM_OPT_REAL)
		*(double *)o->to = v;
	else
		*(uint64_t *)o->to = n;
}

static void store(const struct pm_opt *o, const char *val, const struct pm_opt_help *help)
{
	static struct pm_arena lists;
	const char **v;
	struct pm_opt_list *list;

	switch (o->kind) {
	case PM_OPT_FLAG:
		*(bool *)o->to = true;
		break;
	case PM_OPT_STR:
		if (pm_opt_is_choice(o))
			check_choice(o, val, help);
		/* fall through */
	case PM_OPT_OPTSTR:
		*(const char **)o->to = val ? val : "";
		break;
	case PM_OPT_U64:
	case PM_OPT_SIZE:
	case PM_OPT_REAL:
		store_number(o, val, help);
		break;
	case PM_OPT_LIST:
		list = o->to;
		/* options live as long as the process: nobody frees their lists */
		v = pm_arena_alloc(&lists, (list->n + 1) * sizeof *v);
		if (list->n)
			memcpy(v, list->v, list->n * sizeof *v);
		v[list->n++] = val;
		list->v = v;
		break;
	case PM_OPT_HEAD:
	case PM_OPT_END:
		break;
	}
}

/* ---- the line -------------------------------------------------------------------------------- */

/* Who is asking for the tables; NULL: nobody, the line is parsed. */
static struct asking {
	void (*see)(void *ctx, const struct pm_opt *opts, const struct pm_opt_help *help);
	void *ctx;
	struct asking *outer;		/* one who is asked may ask others */
	jmp_buf back;
} *asking;

void pm_opt_tables(int (*run)(int argc, char **argv), int argc, char **argv,
		   void (*see)(void *ctx, const struct pm_opt *opts,
			       const struct pm_opt_help *help),
		   void *ctx)
{
	struct asking a = { .see = see, .ctx = ctx, .outer = asking };

	asking = &a;
	if (!setjmp(a.back))
		run(argc, argv);
	asking = a.outer;
}

static const struct pm_opt *in_table(const struct pm_opt *opts, const char *name, size_t len,
				     char brief)
{
	for (; opts->kind != PM_OPT_END; opts++)
		if (opts->kind != PM_OPT_HEAD &&
		    (name ? strlen(opts->name) == len && !strncmp(opts->name, name, len)
			  : opts->brief == brief))
			return opts;
	return NULL;
}

/* By its long name if there is one, else by its letter. A command's own option comes first. */
static const struct pm_opt *find_option(const struct pm_opt *opts, const char *name, size_t len,
					char brief, const struct pm_opt_help *help)
{
	const struct pm_opt *o = in_table(opts, name, len, brief);

	if (!o)
		o = in_table(pm_opt_common, name, len, brief);
	if (o && !strcmp(o->name, "help"))
		print_help(opts, help);
	if (o && !strcmp(o->name, "quiet"))
		manners.quiet = true;
	if (o && !strcmp(o->name, "verbose"))
		manners_be_verbose();
	return o;
}

__attribute__((noreturn)) static void unknown_option(const struct pm_opt *opts, const char *typed,
						     const struct pm_opt_help *help)
{
	const struct pm_opt *const tables[] = { opts, pm_opt_common };
	size_t len = strcspn(typed, "=");
	char *name = pm_strndup(typed, len), hint[PM_NEAR_HINT], dashed[80];
	struct pm_nearest near = { 0 };

	for (unsigned i = 0; i < NR(tables); i++)
		for (const struct pm_opt *o = tables[i]; o->kind != PM_OPT_END; o++)
			if (o->kind != PM_OPT_HEAD)
				pm_nearest_try(&near, name, o->name);
	for (unsigned i = 0; i < near.n; i++) {
		snprintf(dashed, sizeof dashed, "--%s", near.v[i].name);
		free(near.v[i].name);
		near.v[i].name = pm_strdup(dashed);
	}
	pm_nearest_hint(&near, hint);
	free(name);
	pm_opt_usage(help, "unknown option '--%s'%s", typed, hint);
}

/* The letters of @letters, @i the place of their word; where the parser has got to. */
static int parse_letters(int argc, char **argv, int i, const struct pm_opt *opts,
			 const struct pm_opt_help *help)
{
	for (char *c = argv[i] + 1; *c; c++) {
		const struct pm_opt *o = find_option(opts, NULL, 0, *c, help);
		const char *val;

		if (!o)
			pm_opt_usage(help, "unknown option '-%c'", *c);
		if (o->kind == PM_OPT_FLAG) {
			store(o, NULL, help);
			continue;
		}
		if (o->kind == PM_OPT_OPTSTR) {
			store(o, c[1] ? c + 1 : NULL, help);
			break;
		}
		val = c[1] ? c + 1 : i + 1 < argc ? argv[++i] : NULL;
		if (!val)
			pm_opt_usage(help, "-%c expects a value (%s)", o->brief, o->arg);
		if (!strcmp(val, "--"))
			pm_opt_usage(help, "-%c expects a value (%s), not '--'", o->brief, o->arg);
		store(o, val, help);
		break;
	}
	return i;
}

static int parse_word(int argc, char **argv, int i, const struct pm_opt *opts,
		      const struct pm_opt_help *help)
{
	const char *name = argv[i] + 2;
	size_t len = strcspn(name, "=");
	const char *val = name[len] ? name + len + 1 : NULL;
	const struct pm_opt *o = find_option(opts, name, len, 0, help);

	if (!o)
		unknown_option(opts, name, help);
	if (o->kind == PM_OPT_FLAG && val)
		pm_opt_usage(help, "--%s takes no value", o->name);
	if (o->kind != PM_OPT_FLAG && o->kind != PM_OPT_OPTSTR && !val) {
		if (i + 1 == argc)
			pm_opt_usage(help, "--%s expects a value (%s)", o->name, o->arg);
		val = argv[++i];
		/* forgotten, rather than a file of that name */
		if (!strcmp(val, "--"))
			pm_opt_usage(help, "--%s expects a value (%s), not '--'", o->name, o->arg);
	}
	store(o, val, help);
	return i;
}

int pm_opt_parse(int argc, char **argv, const struct pm_opt *opts, const struct pm_opt_help *help,
		 bool stop)
{
	int n = 0, i;

	if (asking) {
		asking->see(asking->ctx, opts, help);
		longjmp(asking->back, 1);
	}
	for (i = 1; i < argc; i++) {
		char *a = argv[i];

		if (!strcmp(a, "--")) {
			i++;
			break;
		}
		if (a[0] == '-' && a[1]) {
			i = (a[1] == '-' ? parse_word : parse_letters)(argc, argv, i, opts, help);
			continue;
		}
		if (stop)
			break;
		argv[n++] = a;
	}
	while (i < argc)
		argv[n++] = argv[i++];
	argv[n] = NULL;
	return n;
}

int pm_opt_run(int argc, char **argv, const struct pm_opt_help *help)
{
	static const struct pm_opt none[] = { OPT_END };
	struct pm_nearest near = { 0 };
	struct pm_buf all = { 0 };
	char hint[PM_NEAR_HINT];

	int n;

	for (const struct pm_opt_command *c = help->commands; c->name; c++)
		if (argc >= 2 && !strcmp(argv[1], c->name))
			return c->run(argc - 1, argv + 1);
	n = pm_opt_parse(argc, argv, none, help, true);
	for (const struct pm_opt_command *c = help->commands; c->name; c++)
		pm_buf_printf(&all, "%s%s", !all.n ? "" : c[1].name ? ", " : " or ", c->name);
	pm_buf_add(&all, "", 1);
	if (!n)
		pm_opt_usage(help, "missing command: %s", (const char *)all.p);
	for (const struct pm_opt_command *c = help->commands; c->name; c++)
		pm_nearest_try(&near, argv[0], c->name);
	pm_nearest_hint(&near, hint);
	pm_opt_usage(help, "'%s' is not a command%s expected %s", argv[0], *hint ? hint : ":",
		     (const char *)all.p);
}
