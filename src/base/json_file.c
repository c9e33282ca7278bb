/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"

bool pm_json_is(const char *path)
{
	struct stat st;
	FILE *f;
	int c = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(f = fopen(path, "re")))
		return false;
	do
		c = getc(f);
	while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
	fclose(f);
	return c == '{';
}

enum pm_status pm_json_load(const char *path, struct pm_buf *to, struct pm_err *err)
{
	FILE *f = fopen(path, "re");
	char part[65536];
	size_t n;

	err->file = path;
	if (!f)
		return pm_fail_errno(err, "cannot open");
	while ((n = fread(part, 1, sizeof part, f)))
		pm_buf_add(to, part, n);
	if (ferror(f))
		pm_fail_errno(err, "cannot read");
	fclose(f);
	pm_buf_add(to, "", 1);
	return pm_failed(err) ? PM_ERR : PM_OK;
}
