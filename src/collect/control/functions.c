/* SPDX-License-Identifier: MIT */
/* functions.c - whose code an address is, where trees grow: rows of each text in the last block of
 * the data file, at which traced processes look
 *
 * They can also write there. The translator is told what the controller keeps for itself, for
 * translations are kept for other programs. */
#include <stdlib.h>
#include <string.h>

#include "collect/control/requests.h"
#include "collect/control/session.h"

#define LAST(s) ((s)->data + (uint64_t)(RT_BLOCKS - 1) * RT_BLOCK_SIZE)
#define MAX_FUNCTIONS	(RT_TREE_ROWS / sizeof(struct rt_function_info))
#define MAX_ROWS	((RT_BLOCK_SIZE - RT_TREE_ROWS) / sizeof(struct rt_function))

static bool is_generated(const struct module *m)
{
	return m->generated.may_change || !m->text.path || !strcmp(m->text.path, "[anon]");
}

/* Contexts of large functions have more slots, for they have more calls: one in 30 to 60 bytes. But
 * a context makes two of them on average, and what lies further apart is in fewer caches: only
 * interpreters' loops, which make all their calls in few contexts, have slots for each. */
static uint32_t cells_for(uint64_t bytes)
{
	return bytes <= 192 ? 1 : bytes <= 24576 ? 2 : RT_TREE_MOST_CELLS;
}

/* ... of @function. Once it is known that stays, for there are contexts, and code that relies on
 * it. */
static uint32_t cells_of(struct session *s, uint32_t function, uint64_t bytes)
{
	if (function >= s->ncells) {
		const size_t n = 2 * (size_t)function + 1024;

		s->cells = pm_realloc(s->cells, n);
		memset(s->cells + s->ncells, 0, n - s->ncells);
		s->ncells = n;
	}
	if (!s->cells[function])
		s->cells[function] = (uint8_t)cells_for(bytes);
	return s->cells[function];
}

/* The rows of @m's text; its numbers count from where that begins. */
static const struct functions *functions_of(struct session *s, const struct module *m)
{
	const struct pm_growing *g = s->opts->grow;
	const uint64_t lo = m->text.lo - m->text.bias, hi = m->text.hi - m->text.bias;
	struct rt_function_info *info = (void *)LAST(s);
	struct pm_growing_row *v = NULL;
	struct functions *f;
	size_t n;

	for (size_t i = 0; i < s->nfunctions; i++) {
		f = s->functions + i;
		if (f->lo == lo && f->hi == hi && !strcmp(f->path, m->text.path))
			return f;
	}
	pm_grow(s->functions, s->nfunctions, s->cap_functions);
	f = s->functions + s->nfunctions++;
	*f = (struct functions){ .path = pm_strdup(m->text.path), .lo = lo, .hi = hi };
	n = g->rows(g->self, m->text.path, lo, hi, &v);
	if (n > MAX_ROWS - s->nrows)
		n = 0;
	f->shared = (struct rt_function *)(void *)(LAST(s) + RT_TREE_ROWS) + s->nrows;
	f->row = pm_alloc((n + 1) * sizeof *f->row);
	for (size_t i = 0; i < n; i++) {
		struct pm_growing_about a = { 0 };
		uint32_t cells;

		if (v[i].function >= MAX_FUNCTIONS)
			continue;
		g->about(g->self, v[i].function, &a);
		cells = cells_of(s, v[i].function, (i + 1 < n ? v[i + 1].at : hi) - v[i].at);
		info[v[i].function] = (struct rt_function_info){ a.flags, a.name, a.part, cells };
		f->row[f->n] = (struct function_row){
			.at = (uint32_t)(v[i].at - lo), .lo = (uint32_t)(v[i].lo - lo),
			.function = v[i].function, .slots = RT_TREE_SLOTS_OF(cells),
			.stub = a.flags & RT_TREE_STUB };
		f->shared[f->n] = (struct rt_function){ f->row[f->n].at, v[i].function,
							f->row[f->n].lo, 0 };
		f->n++;
		f->hash = (f->hash ^ (uint32_t)(v[i].at - lo) ^ a.flags << 24 ^ cells << 16) *
			0x01000193u +
			(uint32_t)(v[i].lo - lo);
	}
	s->nrows += f->n;
	free(v);
	return f;
}

void functions_segment(struct spaces *sp, const struct module *m, uint64_t pc,
		       struct xl_segment *out)
{
	struct session *s = session_of(sp);
	const struct functions *f;
	const struct function_row *row;
	uint32_t lo = 0, hi;

	*out = (struct xl_segment){ m->text.lo, m->text.hi, 0, RT_TREE_GENERATED,
				    RT_TREE_SLOTS_OF(1), false };
	if (is_generated(m))
		return;
	f = functions_of(s, m);
	hi = f->n;
	if (!hi)
		return;
	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (f->row[mid].at <= (uint32_t)(pc - m->text.lo))
			lo = mid;
		else
			hi = mid;
	}
	row = f->row + lo;
	out->lo = m->text.lo + row->at;
	if (lo + 1 < f->n)
		out->hi = m->text.lo + row[1].at;
	out->begin = m->text.lo + row->lo;
	out->function = row->function;
	out->slots = row->slots;
	out->stub = row->stub;
}

uint32_t functions_hash(struct spaces *sp, const struct module *m)
{
	return is_generated(m) ? 0 : functions_of(session_of(sp), m)->hash;
}

void request_functions(struct session *s, struct request *q)
{
	const uint64_t pc = q->m.a[0];
	const struct module *m;
	const struct functions *f;

	if (!s->opts->grow)
		return;
	m = space_module(&s->spaces, q->user, pc, &q->m);
	memset(q->m.r, 0, sizeof q->m.r);
	if (!m)
		return;
	q->m.r[0] = m->text.lo;
	q->m.r[1] = m->text.hi;
	if (is_generated(m))
		return;
	f = functions_of(s, m);
	q->m.r[2] = RT_DATA_VAULT + (uint64_t)((const uint8_t *)f->shared - s->data);
	q->m.r[3] = f->n;
}

void functions_close(struct session *s)
{
	for (size_t i = 0; i < s->nfunctions; i++) {
		free(s->functions[i].path);
		free(s->functions[i].row);
	}
	free(s->functions);
	free(s->cells);
}
