/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/width.h"

size_t pm_report_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize w;

	if (!n && fd >= 0 && isatty(fd))
		n = !ioctl(fd, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
	if (!n || n > PM_ANY_WIDTH)
		return PM_ANY_WIDTH;
	return n < 40 ? 40 : n;
}
