/* SPDX-License-Identifier: MIT */
/* err.h - how a failure travels from the place that noticed it to the line that the user reads
 *
 * Library code and plug-ins never print and never exit. They fill a pm_err and return PM_ERR; the
 * command prints it as one line, `pugmark: FILE:PLACE: MESSAGE`, and exits with status 1.
 *
 * Ownership  the caller owns the pm_err. @fmt and what it refers to are not needed after the call.
 * Threads    a pm_err belongs to one thread.
 * Stability  struct pm_err stays as it is while PM_ABI does (pugmark.h): plug-ins may have their
 *            own. */
#ifndef PUGMARK_ERR_H
#define PUGMARK_ERR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
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
	PM_AT_FILE		/* FILE: the whole file, no place in it */
};

struct pm_err {
	const char *file;	/* borrowed from whoever opened it; NULL: no file is involved */
	uint64_t off;		/* first byte (or line) that could not be accepted */
	enum pm_place place;
	char msg[240];		/* "" = no error yet; fixed size, so that reporting cannot fail */
};

/* Each keeps the first error only: later ones are its echoes. Longer messages are cut. Always
 * returns PM_ERR. Lower case, no full stop, the user's own words in quotes. */
__attribute__((format(printf, 3, 4)))
enum pm_status pm_fail(struct pm_err *e, uint64_t off, const char *fmt, ...);
__attribute__((format(printf, 3, 4)))
enum pm_status pm_fail_line(struct pm_err *e, uint64_t line, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
enum pm_status pm_fail_file(struct pm_err *e, const char *fmt, ...);

/* pm_fail_file() with ": " and strerror(errno) behind the message. */
__attribute__((format(printf, 2, 3)))
enum pm_status pm_fail_errno(struct pm_err *e, const char *fmt, ...);

static inline int pm_failed(const struct pm_err *e)
{
	return e->msg[0] != 0;
}

/* "FILE:PLACE: MESSAGE" into @buf, cut to @size, always terminated if @size is not 0. */
void pm_err_format(const struct pm_err *e, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
