/* SPDX-License-Identifier: MIT */
/* err.h - how a failure travels from the place that noticed it to the line that the user reads
 *
 * Library code and plug-ins never print and never exit. They fill a pm_err and return PM_ERR. The
 * command prints it as one line, `pugmark: FILE:PLACE: MESSAGE`, and exits with status 1.
 *
 * Ownership  the caller owns the pm_err, and sets all of it to 0 before the first use. The message
 *            is copied: @fmt and its arguments are not needed after the call. `file` is not copied.
 * Errors     none: reporting cannot fail.
 * Threads    a pm_err belongs to one thread at a time.
 * Stability  struct pm_err does not change while PM_ABI stays (pugmark.h). A plug-in may therefore
 *            have a pm_err of its own. */
#ifndef PUGMARK_ERR_H
#define PUGMARK_ERR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

enum pm_status {
	PM_OK = 0,
	PM_END = 1,		/* no more data; not an error */
	PM_ERR = -1		/* the pm_err says where and why */
};

/* What `off` counts, and thereby how the place is printed. */
enum pm_place {
	PM_AT_BYTE,		/* FILE:0x1f40 */
	PM_AT_LINE,		/* FILE:17, lines count from 1 */
	PM_AT_FILE,		/* FILE: the whole file, no place in it */
	PM_AT_REQUEST		/* no file: what was asked for is wrong, a name or an option */
};

struct pm_err {
	const char *file;	/* borrowed from whoever opened it; NULL: no file is involved */
	uint64_t off;		/* first byte (from 0) or line (from 1) that was not accepted */
	enum pm_place place;	/* what `off` counts */
	char msg[240];		/* "": no error yet. The size is fixed, so reporting cannot fail */
};

/* Report an error: at byte @off of the file, at line @line, or about the file as a whole. @fmt is
 * that of printf(). Messages are lower case and have no full stop; the user's own words are in
 * quotes.
 *
 * If @e has an error already, it keeps that one: later errors usually follow from the first. A
 * message that is too long is cut. All of these return PM_ERR, so a function can end with
 * `return pm_fail(...)`. */
__attribute__((format(printf, 3, 4)))
enum pm_status pm_fail(struct pm_err *e, uint64_t off, const char *fmt, ...);
__attribute__((format(printf, 3, 4)))
enum pm_status pm_fail_line(struct pm_err *e, uint64_t line, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
enum pm_status pm_fail_file(struct pm_err *e, const char *fmt, ...);

/* The same as pm_fail_file(), with ": " and the text for errno behind the message. */
__attribute__((format(printf, 2, 3)))
enum pm_status pm_fail_errno(struct pm_err *e, const char *fmt, ...);

/* Not 0 if @e holds an error. */
static inline int pm_failed(const struct pm_err *e)
{
	return e->msg[0] != 0;
}

/* Write "FILE:PLACE: MESSAGE" to @buf, cut to @size bytes. The text ends with a zero byte unless
 * @size is 0. It is one line of valid UTF-8: control characters, bytes that are not UTF-8 and what
 * changes the direction of text are escape sequences such as \n, \xff and \u202e. */
void pm_err_format(const struct pm_err *e, char *buf, size_t size);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
