/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/source.h"

#define MAX_SOURCE (64u << 20)		/* bytes: more is not a source file */
#define TAB 8

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

/* The line at @from with its tabs as blanks, behind what is in @to. */
static void add_line(struct pm_buf *to, const char *from)
{
	const size_t begin = to->n;

	for (; *from; from++)
		if (*from == '\t')
			do
				pm_buf_add(to, " ", 1);
			while ((to->n - begin) % TAB);
		else if (*from != '\r')
			pm_buf_add(to, from, 1);
	pm_buf_add(to, "", 1);
}

static void split(struct pm_source_file *f, char *text)
{
	size_t cap = 0, *begin = NULL;
	struct pm_buf all = { 0 };

	for (char *at = text, *line; (line = strsep(&at, "\n")); ) {
		pm_grow(begin, f->n, cap);
		begin[f->n++] = all.n;
		add_line(&all, line);
	}
	f->text = (char *)all.p;
	f->line = pm_alloc((f->n + 1) * sizeof *f->line);
	for (size_t i = 0; i < f->n; i++)
		f->line[i] = f->text + begin[i];
	free(begin);
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
		char *text = pm_alloc((size_t)st.st_size + 1);

		text[fread(text, 1, (size_t)st.st_size, in)] = 0;
		split(f, text);
		free(text);
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
