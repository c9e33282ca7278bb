/* SPDX-License-Identifier: MIT */
/* err.h - how a failure travels from the place that noticed it to the line that the user reads
 *
 * Library code never prints and never exits. It fills a pm_err and returns PM_ERR; cli/ turns the
 * pm_err into one line, `pugmark: FILE:OFFSET: MESSAGE`, and exit status 1. */
#ifndef PUGMARK_ERR_H
#define PUGMARK_ERR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum pm_status {
	PM_OK = 0,
	PM_END = 1,		/* no more data; not an error */
	PM_ERR = -1,		/* the pm_err says where and why */
};

/* What `off` counts, and thereby how the place is printed. */
enum pm_place {
	PM_AT_BYTE,		/* FILE:0x1f40 */
	PM_AT_LINE,		/* FILE:17, lines count from 1 */
	PM_AT_FILE,		/* FILE: the whole file, no place in it */
};

struct pm_err {
	const char *file;	/* borrowed from whoever opened it; NULL: no file is involved */
	uint64_t off;		/* first byte (or line) that could not be accepted */
	enum pm_place place;
	char msg[240];		/* "" = no error yet; fixed size, so that reporting cannot fail */
};

/* Each keeps the first error only: later ones are its echoes. Always returns PM_ERR.
 * Lower case, no full stop, the user's own words in quotes. */
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

/* "FILE:PLACE: MESSAGE" into @buf, always terminated. */
void pm_err_format(const struct pm_err *e, char *buf, size_t size);

/* "pugmark: FILE:PLACE: MESSAGE\n" to @to; only cli/ calls it. */
void pm_err_print(const struct pm_err *e, FILE *to);

#endif
