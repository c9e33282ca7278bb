/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "report/width.h"

/* 0: there is no such number. */
static unsigned long number_in(const char *variable)
{
	const char *s = getenv(variable);

	return s ? strtoul(s, NULL, 10) : 0;
}

size_t pm_report_width(int fd)
{
	const bool terminal = fd >= 0 && isatty(fd);
	unsigned long n = number_in("PUGMARK_COLUMNS");
	struct winsize w;

	if (!n && terminal)
		n = number_in("COLUMNS");
	if (!n && terminal)
		n = !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
	if (!n || n > PM_ANY_WIDTH)
		return PM_ANY_WIDTH;
	return n < 40 ? 40 : n;
}

size_t pm_report_width_of(const char *path)
{
	return pm_report_width(strcmp(path, "-") ? -1 : STDOUT_FILENO);
}

/* Columns of @n bytes: bytes of a character behind its first have none. */
static size_t columns_of(const char *s, size_t n)
{
	size_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += (s[i] & 0xc0) != 0x80;
	return c;
}

void pm_report_wrapped(struct pm_buf *to, const char *text, size_t at, size_t indent,
		       size_t width)
{
	bool first = true;		/* word of a line */

	while (*text) {
		const size_t n = strcspn(text, " "), c = columns_of(text, n);

		if (!first && at + 1 + c > width) {
			pm_buf_printf(to, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		pm_buf_printf(to, "%s", first ? "" : " ");
		pm_buf_add(to, text, n);
		at += c + !first;
		first = false;
		text += n + (text[n] == ' ');
	}
	pm_buf_printf(to, "\n");
}
