/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/printable.h"
#include "cli/opt.h"

static int command_length(const char *usage)
{
	const char *p = strpbrk(usage, "[<-");
	const char *q = usage;

	/* the command is the usage up to the first option or capital operand */
	while (*q && !(q > usage && q[-1] == ' ' && isupper((unsigned char)*q)))
		q++;
	if (!p || q < p)
		p = q;
	while (p > usage && p[-1] == ' ')
		p--;
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

static void print_help(const struct pm_opt *opts, const struct pm_opt_help *help)
{
	printf("usage: %s\n\n%s\n", help->usage, help->about);
	if (opts->kind != PM_OPT_END)
		printf("\n");
	for (const struct pm_opt *o = opts; o->kind != PM_OPT_END; o++) {
		char left[64];
		int n;

		if (o->kind == PM_OPT_HEAD) {
			printf("%s%s:\n", o == opts ? "" : "\n", o->about);
			continue;
		}
		n = snprintf(left, sizeof left, "  %c%c%c --%s", o->brief ? '-' : ' ',
			     o->brief ? o->brief : ' ', o->brief ? ',' : ' ', o->name);
		if (o->arg && n < (int)sizeof left)
			snprintf(left + n, sizeof left - n,
				 o->kind == PM_OPT_OPTSTR ? "[=%s]" : " %s", o->arg);
		if (strlen(left) > 28)
			printf("%s\n%-30s%s\n", left, "", o->about);
		else
			printf("%-30s%s\n", left, o->about);
	}
	printf("      --help                  show this\n");
	if (help->tail)
		printf("\n%s\n", help->tail);
	exit(0);
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
	case PM_OPT_OPTSTR:
		*(const char **)o->to = val ? val : "";
		break;
	case PM_OPT_U64:
		if (!pm_parse_u64(val, o->to))
			pm_opt_usage(help, "--%s expects a number, not '%s'", o->name, val);
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

int pm_opt_parse(int argc, char **argv, const struct pm_opt *opts, const struct pm_opt_help *help,
		 bool stop)
{
	int n = 0, i;

	for (i = 1; i < argc; i++) {
		char *a = argv[i];
		const struct pm_opt *o;

		if (!strcmp(a, "--")) {
			i++;
			break;
		}
		if (a[0] != '-' || !a[1]) {
			if (stop)
				break;
			argv[n++] = a;
			continue;
		}
		if (a[1] == '-') {
			size_t len = strcspn(a + 2, "=");
			const char *val = a[2 + len] ? a + 3 + len : NULL;

			if (len == 4 && !strncmp(a + 2, "help", 4))
				print_help(opts, help);
			for (o = opts; o->kind != PM_OPT_END; o++)
				if (o->name && strlen(o->name) == len &&
				    !strncmp(o->name, a + 2, len))
					break;
			if (o->kind == PM_OPT_END)
				pm_opt_usage(help, "unknown option '%s'", a);
			if (o->kind == PM_OPT_FLAG && val)
				pm_opt_usage(help, "--%s takes no value", o->name);
			if (o->kind != PM_OPT_FLAG && o->kind != PM_OPT_OPTSTR && !val) {
				if (i + 1 == argc)
					pm_opt_usage(help, "--%s expects a value (%s)", o->name,
						     o->arg);
				val = argv[++i];
				/* forgotten, rather than a file of that name */
				if (!strcmp(val, "--"))
					pm_opt_usage(help, "--%s expects a value (%s), not '--'",
						     o->name, o->arg);
			}
			store(o, val, help);
			continue;
		}
		for (char *c = a + 1; *c; c++) {
			const char *val = NULL;

			for (o = opts; o->kind != PM_OPT_END; o++)
				if (o->brief == *c && o->kind != PM_OPT_HEAD)
					break;
			if (o->kind == PM_OPT_END)
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
				pm_opt_usage(help, "-%c expects a value (%s), not '--'", o->brief,
					     o->arg);
			store(o, val, help);
			break;
		}
	}
	while (i < argc)
		argv[n++] = argv[i++];
	argv[n] = NULL;
	return n;
}
