/* SPDX-License-Identifier: MIT */
/* manners.h - what every command says, and how: --quiet, --verbose and --color mean one thing in
 * all
 *
 * --quiet    errors, and nothing else that nobody has asked a file for: no notes, no progress, no
 *            report on standard error
 * --verbose  also what is done meanwhile, and in the end how long it took and how much memory
 * --color    auto: where the output is a terminal that can, unless $NO_COLOR is there; also into
 *            pipes if $CLICOLOR_FORCE is. never, always: whatever the environment says. */
#ifndef PM_CLI_MANNERS_H
#define PM_CLI_MANNERS_H

#include <stdbool.h>
#include <stdio.h>

extern struct manners {
	bool quiet, verbose;
	const char *color;		/* auto, always, never; NULL: auto */
} manners;

/* "pugmark: note: ...", unless --quiet. */
__attribute__((format(printf, 1, 2)))
void manners_note(const char *fmt, ...);
/* "pugmark: ...", only if --verbose. */
__attribute__((format(printf, 1, 2)))
void manners_tell(const char *fmt, ...);
/* Are there colours in what goes @to? */
bool manners_color(FILE *to);
/* From now on; the last line, at the end of the process, says what it took. */
void manners_be_verbose(void);

#endif
