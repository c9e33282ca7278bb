/* SPDX-License-Identifier: MIT */
/* profile.c - the pieces that a program executed to canonical blocks, and what is summed over
 * them */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile_work.h"
#include "elf/symbols.h"

static int by_count(const void *a, const void *b)
{
	const struct pm_profile_mix *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void do_mix(struct pm_profile *p)
{
	const uint64_t *count = p->work->mnemonic;
	size_t n = 0;

	for (unsigned m = 0; m < PM_FORM_MNEMONICS; m++)
		n += count[m] > 0;
	p->mnemonic = pm_arena_alloc(&p->mem, n * sizeof *p->mnemonic);
	p->class = pm_arena_alloc(&p->mem, n * sizeof *p->class);
	for (unsigned m = 0; m < PM_FORM_MNEMONICS; m++) {
		const char *class;
		size_t k = 0;

		if (!count[m])
			continue;
		p->mnemonic[p->nmnemonic++] = (struct pm_profile_mix){ pm_form_mnemonic(m),
								       count[m] };
		class = pm_form_class(m);
		while (k < p->nclass && strcmp(p->class[k].name, class))
			k++;
		if (k == p->nclass)
			p->class[p->nclass++] = (struct pm_profile_mix){ class, 0 };
		p->class[k].count += count[m];
	}
	qsort(p->mnemonic, p->nmnemonic, sizeof *p->mnemonic, by_count);
	qsort(p->class, p->nclass, sizeof *p->class, by_count);
}

struct pm_profile *pm_profile_new(const struct pm_counts *c)
{
	struct pm_profile *p = pm_alloc(sizeof *p);
	struct pm_profile_work *w = pm_alloc(sizeof *w);

	p->counts = c;
	p->work = w;
	pm_profile_sort_cuts(p);
	pm_profile_number_pieces(p);
	pm_profile_sort_units(p);
	/* most pieces are a block and a segment */
	w->cap_brief = w->nunit + w->nunit / 4 + 16;
	w->brief = pm_alloc_unset(w->cap_brief * sizeof *w->brief);
	if (pm_profile_has_views(c)) {
		w->cap_seg = w->cap_brief;
		w->seg = pm_alloc_unset(w->cap_seg * sizeof *w->seg);
		w->cover = pm_alloc(w->first_piece[c->nprocess] * sizeof *w->cover);
	}
	pm_profile_regions(p);
	p->sum.blocks_distinct = p->nblock;
	pm_profile_views(p);
	do_mix(p);
	for (unsigned i = 0; i < NR(w->forms); i++)
		if (w->forms[i].f)
			pm_kept_forms_save(&w->forms[i]);
	return p;
}

void pm_profile_free(struct pm_profile *p)
{
	struct pm_profile_work *w;

	if (!p)
		return;
	w = p->work;
	for (size_t i = 0; i < w->ncuts; i++)
		free(w->cuts[i].v);
	free(w->cuts);
	free(w->first_cuts);
	pm_kept_forms_close(&w->forms[0]);
	pm_kept_forms_close(&w->forms[1]);
	free(w->isa);
	free(w->unit);
	free(w->seg);
	free(w->drop);
	free(w->run);
	free(w->tried);
	free(w->first_piece);
	free(w->object);
	free(w->first_object);
	free(w->brief);
	free(w->full);
	free(w->cover);
	free(w->entries);
	free(w->insns);
	free(w->touched);
	free(w->node);
	free(w->slot);
	free(w->walk);
	free(w->flow);
	free(w);
	for (size_t i = 0; i < p->nobject; i++)
		pm_elf_close(p->object[i].elf);
	for (size_t i = 0; i < p->nprocess; i++)
		free(p->process[i].share);
	free(p->process);
	free(p->object);
	free(p->function);
	pm_arena_release(&p->mem);
	free(p);
}
