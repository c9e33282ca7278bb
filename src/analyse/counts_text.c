/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/counts_text.h"
#include "base/printable.h"
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

enum pm_status pm_counts_write(const struct pm_counts *c, const char *prefix, struct pm_err *err)
{
	struct pm_forms *forms[2] = { pm_forms_new(false), pm_forms_new(true) };
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < c->nprocess && st == PM_OK; i++) {
		struct pm_map sum = { 0 };
		struct at *v;
		char path[4096], name[4096];
		uint64_t key, val;
		size_t n = 0;
		FILE *f;

		for (size_t j = 0; j < c->process[i].npiece; j++)
			add_piece(forms[c->process[i].isa == PM_ISA_X86_32], &c->process[i], j,
				  &sum);
		for (size_t j = 0; j < c->process[i].nunknown; j++)
			if (c->process[i].unknown_at[j].count)
				*pm_map_put(&sum, c->process[i].unknown_at[j].pc,
					    NULL) += c->process[i].unknown_at[j].count;
		v = pm_alloc((sum.n + 1) * sizeof *v);
		for (size_t j = 0; pm_map_next(&sum, &j, &key, &val); )
			v[n++] = (struct at){ key, val };
		qsort(v, n, sizeof *v, by_pc);
		snprintf(path, sizeof path, "%s.%zu", prefix, i + 1);
		f = fopen(path, "we");
		for (size_t j = 0; f && j < c->process[i].nobject; j++) {
			const struct pm_counts_object *o = c->process[i].object + j;

			fprintf(f, "# object 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %s %s\n",
				o->bias, o->lo, o->hi, o->build_id ? o->build_id : "-",
				pm_printable(o->path, name, sizeof name));
		}
		for (size_t j = 0; f && j < n; j++)
			fprintf(f, "0x%" PRIx64 " %" PRIu64 "\n", v[j].pc, v[j].count);
		if (!f || fclose(f)) {
			err->file = prefix;
			st = pm_fail_errno(err, "cannot write counts");
		}
		free(v);
		pm_map_release(&sum);
	}
	pm_forms_free(forms[0]);
	pm_forms_free(forms[1]);
	return st;
}
