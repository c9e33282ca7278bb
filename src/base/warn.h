/* SPDX-License-Identifier: MIT */
/* warn.h - what a user should know although all goes on: told to whoever called the library
 *
 * A warning is one line as in err.h: lower case, no full stop, no line feed, no name of the
 * program.
 *
 * Ownership  the text is the library's: it lasts as long as the call.
 * Threads    a warning comes in the thread that works; who is told does not call back. */
#ifndef PM_BASE_WARN_H
#define PM_BASE_WARN_H

struct pm_warn {			/* all zero: nobody wants to know */
	void (*fn)(void *ctx, const char *text);
	void *ctx;
};

__attribute__((format(printf, 2, 3)))
void pm_warn(const struct pm_warn *w, const char *fmt, ...);

#endif
