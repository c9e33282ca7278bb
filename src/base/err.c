/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/err.h"

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

enum pm_status pm_fail_errno(struct pm_err *e, const char *fmt, ...)
{
	const char *why = strerror(errno);
	va_list ap;

	va_start(ap, fmt);
	set(e, 0, PM_AT_FILE, why, fmt, ap);
	va_end(ap);
	return PM_ERR;
}

void pm_err_format(const struct pm_err *e, char *buf, size_t size)
{
	if (!e->file)
		snprintf(buf, size, "%s", e->msg);
	else if (e->place == PM_AT_BYTE)
		snprintf(buf, size, "%s:0x%" PRIx64 ": %s", e->file, e->off, e->msg);
	else if (e->place == PM_AT_LINE)
		snprintf(buf, size, "%s:%" PRIu64 ": %s", e->file, e->off, e->msg);
	else
		snprintf(buf, size, "%s: %s", e->file, e->msg);
}

void pm_err_print(const struct pm_err *e, FILE *to)
{
	char line[4500];

	pm_err_format(e, line, sizeof line);
	fprintf(to, "pugmark: %s\n", line);
}
