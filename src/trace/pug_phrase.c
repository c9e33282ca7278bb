/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/pug_phrase.h"

static void *aligned(void *old, size_t n, size_t cap)
{
	void *v = pm_alloc_lines(cap * 64);

	if (n)
		memcpy(v, old, n * 64);
	free(old);
	return v;
}

void pug_model_reset(struct pug_model *m, unsigned path_bits, unsigned seen_bits)
{
	if (m->path_bits < path_bits)
		m->expect = pm_realloc(m->expect, sizeof *m->expect << path_bits);
	if (m->seen_bits < seen_bits)
		m->seen = pm_realloc(m->seen, sizeof *m->seen << seen_bits);
	m->path_bits = path_bits;
	m->seen_bits = seen_bits;
	memset(m->expect, 0, sizeof *m->expect << path_bits);
	if (seen_bits)
		memset(m->seen, 0, sizeof *m->seen << seen_bits);
	m->n = m->nelem = 0;
	m->new_id = 0;
	m->new_addr = 0;
	pug_model_phrase(m);
	m->phrase->sig = UINT64_MAX;	/* the root is nobody's head */
}

uint32_t pug_model_phrase(struct pug_model *m)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 1024;
		m->phrase = aligned(m->phrase, m->n, m->cap);
	}
	m->phrase[m->n] = (struct pug_phrase){ .elem = m->nelem };
	return m->n++;
}

struct pug_elem *pug_model_elem(struct pug_model *m)
{
	if (m->nelem == m->cap_elem) {
		m->cap_elem = m->cap_elem ? m->cap_elem * 2 : 4096;
		m->elem = aligned(m->elem, m->nelem, m->cap_elem);
	}
	m->elem[m->nelem] = (struct pug_elem){ 0 };
	return m->elem + m->nelem++;
}

void pug_model_tally(const struct pug_model *m, uint64_t kind[PM_EV_COUNT])
{
	for (uint32_t i = 1; i < m->n; i++) {
		const struct pug_phrase *p = m->phrase + i;

		if (p->sig)
			kind[(uint8_t)p->sig] += p->uses;
		for (unsigned j = 0; j < p->n; j++)
			kind[m->elem[p->elem + j].sig & 0x7f] += p->uses;
	}
}

void pug_model_release(struct pug_model *m)
{
	free(m->phrase);
	free(m->elem);
	free(m->expect);
	free(m->seen);
	*m = (struct pug_model){ 0 };
}
