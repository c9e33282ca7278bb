/* SPDX-License-Identifier: MIT */
#include "cli/named_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/whole_file.h"

static bool is_dash(const char *path)
{
	return !strcmp(path, "-");
}

/* Two names of what is not there yet: the same in the same directory? */
static bool same_place(const char *a, const char *b)
{
	const char *base_a = strrchr(a, '/'), *base_b = strrchr(b, '/');
	char *dir_a, *dir_b;
	bool same;

	base_a = base_a ? base_a + 1 : a;
	base_b = base_b ? base_b + 1 : b;
	if (strcmp(base_a, base_b))
		return false;
	dir_a = pm_strdup(a);
	dir_b = pm_strdup(b);
	dir_a[base_a - a] = dir_b[base_b - b] = 0;
	same = pm_same_file(*dir_a ? dir_a : ".", *dir_b ? dir_b : ".");
	free(dir_a);
	free(dir_b);
	return same;
}

/* Would writing to one be writing to the other? */
static bool is_same(const char *a, const char *b)
{
	struct stat x, y;
	const bool is_a = !stat(a, &x), is_b = !stat(b, &y);

	if (is_dash(a) || is_dash(b))
		return is_dash(a) && is_dash(b);
	if (is_a && is_b)
		return !S_ISCHR(x.st_mode) && pm_same_file(a, b);
	return !is_a && !is_b && (!strcmp(a, b) || same_place(a, b));
}

/* @out is an output. */
static void check_pair(const struct pm_opt_help *help, const struct named_file *out,
		       const struct named_file *other)
{
	if (!other->path || (is_dash(out->path) && !other->output) ||
	    !is_same(out->path, other->path))
		return;
	if (!other->output)
		pm_opt_usage(help, "'%s' is also the input: %s and %s", out->path, other->option,
			     out->option);
	if (is_dash(out->path))
		pm_opt_usage(help, "standard output is given twice: %s and %s", other->option,
			     out->option);
	pm_opt_usage(help, "'%s' is given twice: %s and %s", out->path, other->option,
		     out->option);
}

void named_files_check(const struct pm_opt_help *help, const struct named_file *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; f[i].output && f[i].path && k < n; k++)
			if (!f[k].output || k < i)
				check_pair(help, &f[i], &f[k]);
}

bool named_files_stdout(const struct named_file *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].output && f[i].path && is_dash(f[i].path))
			return true;
	return false;
}

void named_files_put(struct pm_result *r, const struct named_file *f, size_t n)
{
	bool any = false;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		if (!f[i].output || !f[i].path || !strcmp(f[i].option, "--json"))
			continue;
		if (!any)
			pm_result_begin_list(r, "files");
		any = true;
		pm_result_begin(r, NULL);
		pm_result_str(r, "option", f[i].option);
		pm_result_str(r, "file", f[i].path);
		if (!is_dash(f[i].path) && !stat(f[i].path, &st) && S_ISREG(st.st_mode))
			pm_result_u64(r, "bytes", (uint64_t)st.st_size, "bytes");
		pm_result_end(r);
	}
	if (any)
		pm_result_end(r);
}
