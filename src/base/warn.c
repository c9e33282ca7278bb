/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/warn.h"

void pm_warn(const struct pm_warn *w, const char *fmt, ...)
{
	const int e = errno;
	char text[8192];			/* the longest path, and some words */
	va_list ap;

	if (!w->fn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	w->fn(w->ctx, text);
	errno = e;
}
