/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/counts_text.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/whole_file.h"
#include "isa/x86/form.h"
#include "pugmark/pugmark.h"

struct at {
	uint64_t pc, count;
};

static int by_pc(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void add_piece(struct pm_forms *forms, const struct pm_counts_process *p, size_t i,
		      struct pm_map *sum)
{
	const struct pm_piece *x = &p->piece[i];
	uint64_t entries = 0;
	uint32_t off = 0;

	for (size_t t = 0; t < p->nthread; t++)
		entries += p->thread[t].count[i];
	for (uint32_t k = 0; k < x->n && off < x->size && x->bytes; k++) {
		uint64_t n = entries;

		for (size_t t = 0; t < p->nthread; t++)
			for (size_t j = 0; j < p->thread[t].ncut; j++) {
				const struct pm_cut *c = &p->thread[t].cut[j];

				if (c->piece == i && c->done <= k)
					n -= c->times;
			}
		if (n)
			*pm_map_put(sum, x->pc + off, NULL) += n;
		off += pm_form_at(forms, x->bytes + off, x->size - off)->len;
	}
}

/* What ran in process @c, and how often. */
static void write_process(const struct pm_counts_process *c, struct pm_forms *forms,
			  struct pm_buf *to)
{
	struct pm_map sum = { 0 };
	struct at *v;
	char name[4096];
	uint64_t key, val;
	size_t n = 0;

	for (size_t j = 0; j < c->npiece; j++)
		add_piece(forms, c, j, &sum);
	for (size_t j = 0; j < c->nunknown; j++)
		if (c->unknown_at[j].count)
			*pm_map_put(&sum, c->unknown_at[j].pc, NULL) += c->unknown_at[j].count;
	v = pm_alloc((sum.n + 1) * sizeof *v);
	for (size_t j = 0; pm_map_next(&sum, &j, &key, &val); )
		v[n++] = (struct at){ key, val };
	qsort(v, n, sizeof *v, by_pc);
	for (size_t j = 0; j < c->nobject; j++) {
		const struct pm_counts_object *o = c->object + j;

		pm_buf_printf(to, "# object 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %s %s\n",
			o->bias, o->lo, o->hi, o->build_id ? o->build_id : "-",
			pm_printable(o->path, name, sizeof name));
	}
	for (size_t j = 0; j < n; j++)
		pm_buf_printf(to, "0x%" PRIx64 " %" PRIu64 "\n", v[j].pc, v[j].count);
	free(v);
	pm_map_release(&sum);
}

/* A stored profile that was cut would look like a shorter run: the file is whole, or there is none.
 */
enum pm_status pm_counts_write(const struct pm_counts *c, const char *prefix, struct pm_err *err)
{
	struct pm_forms *forms[2] = { pm_forms_new(false), pm_forms_new(true) };
	struct pm_buf path = { 0 }, text = { 0 };
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < c->nprocess && st == PM_OK; i++) {
		path.n = text.n = 0;
		pm_buf_printf(&path, "%s.%zu", prefix, i + 1);
		pm_buf_add(&path, "", 1);
		write_process(&c->process[i], forms[c->process[i].isa == PM_ISA_X86_32], &text);
		st = pm_file_save((const char *)path.p, &text, err);
	}
	if (st != PM_OK)
		err->file = prefix;
	pm_buf_release(&text);
	pm_buf_release(&path);
	pm_forms_free(forms[0]);
	pm_forms_free(forms[1]);
	return st;
}
