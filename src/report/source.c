/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/source.h"

#define MAX_SOURCE (64u << 20)		/* bytes: more is not a source file */

static FILE *open_source(const struct pm_source_files *s, const char *path)
{
	FILE *f = NULL;

	if (s->folder)
		for (const char *p = path; p && !f; p = strchr(p, '/')) {
			struct pm_buf b = { 0 };

			p += *p == '/';
			pm_buf_printf(&b, "%s/%s", s->folder, p);
			pm_buf_add(&b, "", 1);
			f = fopen((const char *)b.p, "re");
			pm_buf_release(&b);
		}
	return f ? f : fopen(path, "re");
}

static void split(struct pm_source_file *f)
{
	size_t cap = 0;

	for (char *at = f->text, *line; (line = strsep(&at, "\n")); ) {
		line += strspn(line, " \t");
		for (char *p = line; *p; p++)
			if (*p == '\t' || *p == '\r')
				*p = ' ';
		pm_grow(f->line, f->n, cap);
		f->line[f->n++] = line;
	}
}

static struct pm_source_file *file_of(struct pm_source_files *s, const char *path)
{
	struct pm_source_file *f;
	struct stat st;
	FILE *in;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->file[i].path, path))
			return s->file + i;
	pm_grow(s->file, s->n, s->cap);
	f = s->file + s->n++;
	*f = (struct pm_source_file){ .path = pm_strdup(path) };
	in = open_source(s, path);
	if (in && !fstat(fileno(in), &st) && S_ISREG(st.st_mode) && st.st_size < MAX_SOURCE) {
		f->text = pm_alloc((size_t)st.st_size + 1);
		f->text[fread(f->text, 1, (size_t)st.st_size, in)] = 0;
		split(f);
	}
	if (in)
		fclose(in);
	return f;
}

const char *pm_source_line(struct pm_source_files *s, const char *path, unsigned line)
{
	const struct pm_source_file *f = file_of(s, path);

	return line && line <= f->n ? f->line[line - 1] : NULL;
}

void pm_source_release(struct pm_source_files *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->file[i].path);
		free(s->file[i].text);
		free(s->file[i].line);
	}
	free(s->file);
	*s = (struct pm_source_files){ 0 };
}
