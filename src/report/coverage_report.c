/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/whole_file.h"
#include "report/coverage_report.h"
#include "report/out.h"

/* ---- lcov: a section for each file, as geninfo writes it --------------------------------------
 *
 *	TN:
 *	SF:/src/deflate.c
 *	FN:110,deflate			line, name
 *	FNDA:3,deflate			calls
 *	FNF:1				functions, and those that ran
 *	FNH:1
 *	BRDA:112,0,0,3			line, block, edge, how often; "-": the jump never ran
 *	BRDA:112,0,1,0			edge 0 is what follows in the code, edge 1 where it jumps
 *	BRF:2
 *	BRH:1
 *	DA:110,3			line, executions
 *	LF:1
 *	LH:1
 *	end_of_record */

/* Of each line, jumps are numbered from 0. */
static void lcov_branches(const struct pm_cover_file *f, struct pm_buf *to)
{
	unsigned hit = 0, number = 0;

	for (size_t i = 0; i < f->nbranch; i++) {
		const struct pm_cover_branch *b = f->branch + i;
		const uint64_t edge[2] = { b->fell, b->taken };

		number = i && b[-1].line == b->line ? number + 1 : 0;
		for (unsigned e = 0; e < 2; e++) {
			pm_buf_printf(to, "BRDA:%u,0,%u,", b->line, 2 * number + e);
			if (b->fell + b->taken)
				pm_buf_printf(to, "%" PRIu64 "\n", edge[e]);
			else
				pm_buf_printf(to, "-\n");
			hit += edge[e] > 0;
		}
	}
	pm_buf_printf(to, "BRF:%zu\nBRH:%u\n", 2 * f->nbranch, hit);
}

/* A record ends at the end of its line. */
static void lcov_name(struct pm_buf *to, const char *s)
{
	pm_report_text_of(to, s, SIZE_MAX, 0);
	pm_buf_add(to, "\n", 1);
}

enum pm_status pm_cover_lcov(const struct pm_cover_files *c, const char *path, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	enum pm_status st;

	for (size_t i = 0; i < c->n; i++) {
		const struct pm_cover_file *f = c->v + i;
		unsigned hit = 0;

		if (!f->nline)
			continue;
		pm_buf_printf(&b, "TN:\nSF:");
		lcov_name(&b, f->path);
		for (size_t k = 0; k < f->nfunction; k++) {
			pm_buf_printf(&b, "FN:%u,", f->function[k].line);
			lcov_name(&b, f->function[k].name);
		}
		for (size_t k = 0; k < f->nfunction; k++) {
			pm_buf_printf(&b, "FNDA:%" PRIu64 ",", f->function[k].count);
			lcov_name(&b, f->function[k].name);
			hit += f->function[k].count > 0;
		}
		pm_buf_printf(&b, "FNF:%zu\nFNH:%u\n", f->nfunction, hit);
		if (f->nbranch)
			lcov_branches(f, &b);
		hit = 0;
		for (size_t k = 0; k < f->nline; k++) {
			pm_buf_printf(&b, "DA:%u,%" PRIu64 "\n", f->line[k].line, f->line[k].count);
			hit += f->line[k].count > 0;
		}
		pm_buf_printf(&b, "LF:%zu\nLH:%u\nend_of_record\n", f->nline, hit);
	}
	st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}

/* ---- cobertura ----------------------------------------------------------------------------- */

struct cover_rate { uint64_t lines, hit, branches, taken; };

static struct cover_rate rate_of(const struct pm_cover_file *f)
{
	struct cover_rate r = { .lines = f->nline, .branches = 2 * f->nbranch };

	for (size_t i = 0; i < f->nline; i++)
		r.hit += f->line[i].count > 0;
	for (size_t i = 0; i < f->nbranch; i++)
		r.taken += (f->branch[i].fell > 0) + (f->branch[i].taken > 0);
	return r;
}

static void add_rate(struct cover_rate *to, struct cover_rate r)
{
	to->lines += r.lines;
	to->hit += r.hit;
	to->branches += r.branches;
	to->taken += r.taken;
}

static void put_rates(struct pm_buf *b, struct cover_rate r)
{
	pm_buf_printf(b, " line-rate=\"%.4f\" branch-rate=\"%.4f\"",
		      r.lines ? (double)r.hit / (double)r.lines : 1.0,
		      r.branches ? (double)r.taken / (double)r.branches : 1.0);
}

/* The length of the part of @path up to its last slash. */
static size_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool same_folder(const char *a, const char *b)
{
	const size_t n = folder_of(a);

	return n == folder_of(b) && !memcmp(a, b, n);
}

static const char *below(const char *path, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	if (!n || strncmp(path, dir, n))
		return path;
	return path[n] == '/' ? path + n + 1 : path[n] ? path : ".";
}

static void put_line(struct pm_buf *b, const struct pm_cover_file *f, size_t i, size_t *branch)
{
	const uint32_t line = f->line[i].line;
	size_t first, n;
	unsigned taken = 0;

	while (*branch < f->nbranch && f->branch[*branch].line < line)
		++*branch;
	for (first = *branch; *branch < f->nbranch && f->branch[*branch].line == line; ++*branch)
		taken += (f->branch[*branch].fell > 0) + (f->branch[*branch].taken > 0);
	n = *branch - first;
	pm_buf_printf(b, "<line number=\"%u\" hits=\"%" PRIu64 "\"", line, f->line[i].count);
	if (!n) {
		pm_buf_printf(b, " branch=\"false\"/>\n");
		return;
	}
	pm_buf_printf(b, " branch=\"true\" condition-coverage=\"%u%% (%u/%zu)\"><conditions>",
		      (unsigned)(100 * taken / (2 * n)), taken, 2 * n);
	for (size_t k = 0; k < n; k++) {
		const struct pm_cover_branch *x = f->branch + first + k;

		pm_buf_printf(b, "<condition number=\"%zu\" type=\"jump\" coverage=\"%u%%\"/>", k,
			      50u * ((x->fell > 0) + (x->taken > 0)));
	}
	pm_buf_printf(b, "</conditions></line>\n");
}

static void put_class(struct pm_buf *b, const struct pm_cover_file *f, const char *dir)
{
	const char *name = strrchr(f->path, '/');
	size_t branch = 0;

	pm_buf_printf(b, "<class name=\"");
	pm_report_html_text(b, name ? name + 1 : f->path);
	pm_buf_printf(b, "\" filename=\"");
	pm_report_html_text(b, below(f->path, dir));
	pm_buf_printf(b, "\"");
	put_rates(b, rate_of(f));
	pm_buf_printf(b, " complexity=\"0\">\n<methods>\n");
	for (size_t i = 0; i < f->nfunction; i++) {
		const struct pm_cover_function *x = f->function + i;

		pm_buf_printf(b, "<method name=\"");
		pm_report_html_text(b, x->name);
		pm_buf_printf(b, "\" signature=\"\" line-rate=\"%u.0\" branch-rate=\"%u.0\" "
				 "complexity=\"0\"><lines><line number=\"%u\" hits=\"%" PRIu64
				 "\" branch=\"false\"/></lines></method>\n",
			      x->count > 0, x->count > 0, x->line, x->count);
	}
	pm_buf_printf(b, "</methods>\n<lines>\n");
	for (size_t i = 0; i < f->nline; i++)
		put_line(b, f, i, &branch);
	pm_buf_printf(b, "</lines>\n</class>\n");
}

/* The files of @first's folder, unless an earlier file has begun it. */
static void put_package(struct pm_buf *b, const struct pm_cover_files *c, size_t first,
			const char *dir)
{
	const char *path = c->v[first].path;
	struct cover_rate sum = { 0 };
	char *folder;

	for (size_t i = 0; i < c->n; i++) {
		if (!c->v[i].nline || !same_folder(path, c->v[i].path))
			continue;
		if (i < first)
			return;
		add_rate(&sum, rate_of(c->v + i));
	}
	folder = pm_strndup(path, folder_of(path));
	pm_buf_printf(b, "<package name=\"");
	pm_report_html_text(b, below(folder, dir));
	free(folder);
	pm_buf_printf(b, "\"");
	put_rates(b, sum);
	pm_buf_printf(b, " complexity=\"0\">\n<classes>\n");
	for (size_t i = first; i < c->n; i++)
		if (c->v[i].nline && same_folder(path, c->v[i].path))
			put_class(b, c->v + i, dir);
	pm_buf_printf(b, "</classes>\n</package>\n");
}

enum pm_status pm_cover_cobertura(const struct pm_cover_files *c, const char *dir,
				  const char *path, struct pm_err *err)
{
	struct cover_rate all = { 0 };
	struct pm_buf b = { 0 };
	enum pm_status st;

	for (size_t i = 0; i < c->n; i++)
		add_rate(&all, rate_of(c->v + i));
	pm_buf_printf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE coverage SYSTEM "
			  "\"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage");
	put_rates(&b, all);
	pm_buf_printf(&b, " lines-covered=\"%" PRIu64 "\" lines-valid=\"%" PRIu64
			  "\" branches-covered=\"%" PRIu64 "\" branches-valid=\"%" PRIu64
			  "\" complexity=\"0\" version=\"pugmark %s\" timestamp=\"0\">\n<sources>\n"
			  "<source>", all.hit, all.lines, all.taken, all.branches, PM_VERSION);
	pm_report_html_text(&b, dir ? dir : "/");
	pm_buf_printf(&b, "</source>\n</sources>\n<packages>\n");
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].nline)
			put_package(&b, c, i, dir);
	pm_buf_printf(&b, "</packages>\n</coverage>\n");
	st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}

/* ---- drcov -----------------------------------------------------------------------------------
 *
 *	DRCOV VERSION: 2
 *	DRCOV FLAVOR: drcov
 *	Module Table: version 2, count 1
 *	Columns: id, base, end, entry, path
 *	0, 0x555555554000, 0x55555556a000, 0x0000000000000000, /usr/bin/gzip
 *	BB Table: 1 bbs
 *	OFFSET  SIZE  FIELD		of each block, little-endian
 *	     0     4  address, from the module's base
 *	     4     2  bytes
 *	     6     2  module */

enum pm_status pm_cover_drcov(const struct pm_cover *c, const char *path, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	size_t blocks = 0;
	enum pm_status st;

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->object[i].nblock; k++)
			blocks += c->object[i].block[k].addr <= UINT32_MAX;
	pm_buf_printf(&b, "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\nModule Table: version 2, count "
			  "%zu\nColumns: id, base, end, entry, path\n", c->n);
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_cover_object *o = c->object + i;

		pm_buf_printf(&b, "%zu, 0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016x, ", i, o->base,
			      o->hi, 0);
		lcov_name(&b, o->path);
	}
	pm_buf_printf(&b, "BB Table: %zu bbs\n", blocks);
	for (size_t i = 0; i < c->n && i < UINT16_MAX; i++)
		for (size_t k = 0; k < c->object[i].nblock; k++) {
			const struct pm_cover_block *x = c->object[i].block + k;
			uint8_t entry[8];

			if (x->addr > UINT32_MAX)
				continue;
			for (unsigned j = 0; j < 4; j++)
				entry[j] = (uint8_t)(x->addr >> 8 * j);
			entry[4] = (uint8_t)x->size;
			entry[5] = (uint8_t)(x->size >> 8);
			entry[6] = (uint8_t)i;
			entry[7] = (uint8_t)(i >> 8);
			pm_buf_add(&b, entry, sizeof entry);
		}
	st = pm_file_save(path, &b, err);
	pm_buf_release(&b);
	return st;
}
