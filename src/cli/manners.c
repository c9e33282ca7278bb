/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "cli/manners.h"

struct manners manners;

static void print(const char *what, const char *fmt, va_list ap)
{
	struct pm_buf line = { 0 };
	char *text = NULL;

	fflush(stdout);
	if (vasprintf(&text, fmt, ap) < 0)
		return;
	pm_printable_add(&line, text);
	fprintf(stderr, "pugmark: %s%.*s\n", what, (int)line.n, (const char *)line.p);
	pm_buf_release(&line);
	free(text);
}

void manners_note(const char *fmt, ...)
{
	va_list ap;

	if (manners.quiet)
		return;
	va_start(ap, fmt);
	print("note: ", fmt, ap);
	va_end(ap);
}

void manners_tell(const char *fmt, ...)
{
	va_list ap;

	if (!manners.verbose)
		return;
	va_start(ap, fmt);
	print("", fmt, ap);
	va_end(ap);
}

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

bool manners_color(FILE *to)
{
	const char *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (manners.color && strcmp(manners.color, "auto"))
		return manners.color[1] == 'l';
	if (is_set("NO_COLOR"))
		return false;
	if (force && *force && strcmp(force, "0"))
		return true;
	return term && *term && strcmp(term, "dumb") && isatty(fileno(to));
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void tell_cost(void)
{
	struct rusage u;

	if (!getrusage(RUSAGE_SELF, &u))
		manners_tell("took %.2f s of CPU in user mode, %.2f s in the kernel; %ld MiB of "
			     "memory at most",
			     seconds(&u.ru_utime), seconds(&u.ru_stime), u.ru_maxrss >> 10);
}

void manners_be_verbose(void)
{
	if (!manners.verbose)
		atexit(tell_cost);
	manners.verbose = true;
}
