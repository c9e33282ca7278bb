/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/printable.h"
#include "base/utf8.h"

/* A message that fills @size bytes may have been cut within a character. */
static void drop_half(char *msg, size_t size)
{
	size_t n = strlen(msg), back = 0;
	uint32_t code;

	if (n + 1 < size)
		return;
	while (back < 3 && back < n && ((unsigned char)msg[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (n > back && (unsigned char)msg[n - 1 - back] >= 0xc0 &&
	    !pm_utf8_char(msg + n - 1 - back, &code))
		msg[n - 1 - back] = 0;
}

static enum pm_status set(struct pm_err *e, uint64_t off, enum pm_place place, const char *tail,
			  const char *fmt, va_list ap)
{
	size_t n;

	if (e->msg[0])
		return PM_ERR;
	e->off = off;
	e->place = place;
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	if (!e->msg[0])
		strcpy(e->msg, "unknown error");
	n = strlen(e->msg);
	if (tail)
		snprintf(e->msg + n, sizeof e->msg - n, ": %s", tail);
	drop_half(e->msg, sizeof e->msg);
	return PM_ERR;
}

enum pm_status pm_fail(struct pm_err *e, uint64_t off, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(e, off, PM_AT_BYTE, NULL, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

enum pm_status pm_fail_line(struct pm_err *e, uint64_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(e, line, PM_AT_LINE, NULL, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

enum pm_status pm_fail_file(struct pm_err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(e, 0, PM_AT_FILE, NULL, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

enum pm_status pm_fail_request(struct pm_err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(e, 0, PM_AT_REQUEST, NULL, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

enum pm_status pm_fail_errno(struct pm_err *e, const char *fmt, ...)
{
	const char *why = strerror(errno);
	va_list ap;

	va_start(ap, fmt);
	set(e, 0, PM_AT_FILE, why, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

bool pm_err_is_errno(const struct pm_err *e, int errnum)
{
	const char *why = strerror(errnum);
	const size_t n = strlen(e->msg), m = strlen(why);

	return n >= m && !strcmp(e->msg + n - m, why);
}

void pm_err_format(const struct pm_err *e, char *buf, size_t size)
{
	char line[4500];			/* the longest path, and the message */

	if (!e->file || e->place == PM_AT_REQUEST)
		snprintf(line, sizeof line, "%s", e->msg);
	else if (e->place == PM_AT_BYTE)
		snprintf(line, sizeof line, "%s:0x%" PRIx64 ": %s", e->file, e->off, e->msg);
	else if (e->place == PM_AT_LINE)
		snprintf(line, sizeof line, "%s:%" PRIu64 ": %s", e->file, e->off, e->msg);
	else
		snprintf(line, sizeof line, "%s: %s", e->file, e->msg);
	pm_printable(line, buf, size);
}

void pm_err_print(const struct pm_err *e, FILE *to)
{
	char line[6000];

	pm_err_format(e, line, sizeof line);
	fprintf(to, "pugmark: %s\n", line);
}
