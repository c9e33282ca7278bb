/* SPDX-License-Identifier: MIT */
/* run_ends.c - what commands that run programs have in common: warnings, and how they end */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "cli/run_ends.h"

/* End as the program ended, without a second core file. */
int run_end_like(int status, int sig)
{
	struct rlimit no = { 0, 0 };

	if (sig <= 0)
		return status;
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no);
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
	return 128 + sig;
}

/* A fault of ours: not to be taken for one of the program, whose end by a signal ends us the same
 * way. */
void run_say_death(void *ctx, int sig, unsigned removed)
{
	const char number[] = { (char)('0' + sig / 10), (char)('0' + sig % 10), 0 };
	const char *const text[] = {
		"pugmark: died of signal ", sig < 10 ? number + 1 : number,
		": a fault of pugmark, not of the program, which goes on untraced if it has not "
		"ended",
		removed ? "; the files of the cache that it used have been removed\n" : "\n",
	};

	(void)ctx;
	for (size_t i = 0; i < NR(text); i++)
		(void)!write(2, text[i], strlen(text[i]));
	_exit(1);
}

void run_print_stat(const char *name, uint64_t n)
{
	fprintf(stderr, "%s: %llu\n", name, (unsigned long long)n);
}

void run_print_warning(void *ctx, const char *text)
{
	char line[8192];

	(void)ctx;
	fprintf(stderr, "pugmark: %s\n", pm_printable(text, line, sizeof line));
}
