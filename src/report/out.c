/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/utf8.h"
#include "report/out.h"

static enum pm_status to_buf(void *to, const void *p, size_t n, struct pm_err *err)
{
	(void)err;
	pm_buf_add(to, p, n);
	return PM_OK;
}

struct pm_parquet_out pm_report_bytes(struct pm_buf *to)
{
	return (struct pm_parquet_out){ to_buf, to };
}

static enum pm_status can_save(const char *path, struct pm_err *err)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char *dir;
	struct stat s;
	int bad = 0;

	if (!path || !strcmp(path, "-"))
		return PM_OK;
	if (!stat(path, &s) && !S_ISREG(s.st_mode)) {	/* written to as it is */
		if (S_ISDIR(s.st_mode))
			bad = EISDIR;
		else if (access(path, W_OK))
			bad = errno;
	} else {
		dir = pm_strdup(slash == path ? "/" : slash ? path : ".");
		if (slash && slash != path)
			dir[slash - path] = 0;
		if (access(dir, W_OK | X_OK))
			bad = errno;
		free(dir);
	}
	if (!bad)
		return PM_OK;
	err->file = path;
	errno = bad;
	return pm_fail_errno(err, "cannot create");
}

enum pm_status pm_report_can_save(const char *const *path, size_t n, struct pm_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (can_save(path[i], err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

const char *pm_report_number(uint64_t v, char buf[static 32])
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, v), k = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = 0;
	return buf;
}

double pm_percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static const char *share(double percent, int decimals, char *buf)
{
	const double least = decimals > 1 ? 0.01 : 0.1;

	if (percent > 0 && percent < least / 2)
		snprintf(buf, 16, "<%.*f %%", decimals, least);
	else if (percent < 100 && percent > 100 - least / 2)
		snprintf(buf, 16, ">%.*f %%", decimals, 100 - least);
	else
		snprintf(buf, 16, "%.*f %%", decimals, percent);
	return buf;
}

const char *pm_report_share(double percent, char buf[static 16])
{
	return share(percent, 1, buf);
}

const char *pm_report_rate(double percent, char buf[static 16])
{
	return share(percent, 2, buf);
}

size_t pm_report_text_of(struct pm_buf *to, const char *s, size_t max, int tail)
{
	struct pm_buf b = { 0 };
	const char *p, *end;
	size_t n = 0;

	pm_printable_add(&b, s);
	p = (const char *)b.p;
	end = p + b.n;
	for (size_t i = 0; i < b.n; i++)	/* characters */
		n += (p[i] & 0xc0) != 0x80;
	if (n > max && max > 3) {
		if (tail)
			pm_buf_add(to, "...", 3);
		for (size_t skip = tail ? n - (max - 3) : 0; skip; skip--)
			do
				p++;
			while (p < end && (*p & 0xc0) == 0x80);
	}
	for (size_t left = n > max && max > 3 ? max - 3 : max; p < end && left; left--)
		do
			pm_buf_add(to, p++, 1);
		while (p < end && (*p & 0xc0) == 0x80);
	if (n > max && max > 3 && !tail)
		pm_buf_add(to, "...", 3);
	pm_buf_release(&b);
	return n < max ? n : max;
}

void pm_report_csv_field(struct pm_buf *to, const char *s)
{
	struct pm_buf b = { 0 };
	const char *p, *end;
	bool quote = false;

	pm_printable_add(&b, s);
	p = (const char *)b.p;
	end = p + b.n;
	for (size_t i = 0; i < b.n; i++)
		quote |= p[i] == ',' || p[i] == '"';
	if (quote)
		pm_buf_add(to, "\"", 1);
	if (b.n > 1 && strchr("=+-@", *p))
		pm_buf_add(to, "'", 1);
	for (; p < end; p++) {
		if (*p == '"')
			pm_buf_add(to, "\"", 1);
		pm_buf_add(to, p, 1);
	}
	if (quote)
		pm_buf_add(to, "\"", 1);
	pm_buf_release(&b);
}

/* Appends the next character of @*s as a page may show it: from the one that it is, or U+FFFD. */
static uint32_t put_shown(struct pm_buf *to, const char **s)
{
	uint32_t c;
	const unsigned n = pm_utf8_char(*s, &c);

	if (!n || (!pm_is_printable(c) && c != '\n' && c != '\t'))
		pm_buf_add(to, "\xef\xbf\xbd", 3);
	else
		pm_buf_add(to, *s, n);
	*s += n ? n : 1;
	return n ? c : 0xfffd;
}

void pm_report_shown_text(struct pm_buf *to, const char *s)
{
	while (*s)
		put_shown(to, &s);
}

void pm_report_html_text(struct pm_buf *to, const char *s)
{
	static const struct { char c, name[7]; } escape[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" },
		{ '\'', "&#39;" },
	};

	while (*s) {
		const uint32_t c = put_shown(to, &s);

		for (size_t i = 0; i < NR(escape); i++)
			if (c == (uint8_t)escape[i].c) {
				to->n--;
				pm_buf_printf(to, "%s", escape[i].name);
			}
	}
}
