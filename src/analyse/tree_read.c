/* SPDX-License-Identifier: MIT */
/* tree_read.c - folded stacks ("main;parse;hash 4711", a line for each) as a tree, and as tables */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/diff.h"
#include "analyse/tree_read.h"
#include "base/number.h"
#include "base/string_table.h"

/* Where the count begins; NULL: it is no such line. */
static char *count_of(char *line, uint64_t *v)
{
	char *space = strrchr(line, ' ');

	return space && space != line && *line != ';' && space[1] >= '0' && space[1] <= '9' &&
	       pm_parse_u64(space + 1, v) ? space : NULL;
}

bool pm_tree_is_folded(const char *path)
{
	char *line = NULL;
	size_t cap = 0, lines = 0;
	bool folded = false;
	struct stat st;
	uint64_t v;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(f = fopen(path, "re")))
		return false;
	for (ssize_t n; lines < 100 && (n = getline(&line, &cap, f)) > 0; lines++) {
		line[strcspn(line, "\n")] = 0;
		if (strlen(line) + 1 < (size_t)n || !count_of(line, &v))
			break;
		folded |= strchr(line, ';') != NULL;
	}
	folded &= lines == 100 || feof(f);
	free(line);
	fclose(f);
	return folded;
}

/* The function called @name, found or made; @first: the number of that with the first name. */
static uint32_t function_of(struct pm_tree *t, struct pm_string_table *names, uint32_t first,
			    const char *name)
{
	const uint32_t at = pm_string_add(names, name);
	const char *copy;

	if (first + at == t->nfunction) {
		copy = pm_arena_strdup(&t->mem, name);
		pm_tree_add_function(t, &(struct pm_tree_function){ .name = copy,
								    .linkage = copy });
	}
	return first + at;
}

enum pm_status pm_tree_read_folded(struct pm_tree *t, const char *path, struct pm_err *err)
{
	const uint32_t first = (uint32_t)t->nfunction;
	struct pm_string_table names = { 0 };
	enum pm_status s = PM_OK;
	char *line = NULL;
	size_t cap = 0;
	uint64_t number = 0, sum = 0, v;
	FILE *f = fopen(path, "re");

	err->file = path;
	if (!f)
		return pm_fail_errno(err, "cannot open");
	while (!s && getline(&line, &cap, f) > 0) {
		uint32_t node = 0;
		char *end;

		number++;
		line[strcspn(line, "\n")] = 0;
		if (!*line)
			continue;
		end = count_of(line, &v);
		if (!end || sum + v < sum) {
			s = end ? pm_fail_line(err, number, "counts sum up to more than 2^64") :
				pm_fail_line(err, number, "expected FUNCTION;FUNCTION... COUNT, "
					     "found '%.60s'", line);
			break;
		}
		*end = 0;
		for (char *at = line, *next; at; at = next) {
			next = strchr(at, ';');
			if (next)
				*next++ = 0;
			node = pm_tree_child(t, node, function_of(t, &names, first, at));
		}
		t->node[node].self += v;
		sum += v;
	}
	if (!s && ferror(f))
		s = pm_fail_errno(err, "cannot read");
	free(line);
	fclose(f);
	pm_string_table_release(&names);
	return s;
}

void pm_diff_add_tree(struct pm_diff_side *s, const struct pm_tree *t)
{
	struct pm_diff_table *table = pm_diff_table(s, "functions", true);
	const unsigned inclusive = pm_diff_column(s, table, "inclusive"),
		self = pm_diff_column(s, table, "self");
	struct pm_tree_sum *sum = pm_tree_functions(t);
	uint64_t total = 0;

	for (size_t i = 1; i < t->nfunction; i++) {
		size_t row;

		if (!sum[i].inclusive)
			continue;
		row = pm_diff_add_row(s, table, t->function[i].name, NULL, 0);
		pm_diff_set_u64(table, row, inclusive, sum[i].inclusive);
		pm_diff_set_u64(table, row, self, sum[i].self);
		total += sum[i].self;
	}
	pm_diff_total(s, "count", total);
	pm_diff_total(s, "contexts", t->n - 1);
	free(sum);
}
