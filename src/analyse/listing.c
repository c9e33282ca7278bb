/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/listing.h"
#include "base/string_table.h"
#include "isa/mips/mips.h"
#include "isa/x86/disasm.h"
#include "trace/expand.h"

/* ---- the code book -------------------------------------------------------------------------- */

static void *book_create(const char *config, struct pm_err *err)
{
	return pm_alloc(sizeof(struct pm_code_book));
}

static enum pm_status book_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pm_code_book *k = self;
	unsigned t = 0;

	pm_names_learn(&k->names, b->code);
	while (t < k->ntable && k->table[t] != b->code)
		t++;
	if (b->code && t == k->ntable && t < NR(k->table))
		k->table[k->ntable++] = b->code;
	return PM_OK;
}

/* Code tables live until now and no longer. */
static enum pm_status book_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct pm_code_book *k = self;

	for (unsigned t = 0; t < k->ntable; t++)
		for (size_t i = 0; i < k->table[t]->ninsn; i++) {
			const struct pm_insn *in = k->table[t]->insn + i;
			bool fresh;
			uint64_t *at = pm_map_put(&k->at, in->pc, &fresh);

			if (!fresh)
				continue;
			*at = k->n;
			pm_grow(k->insn, k->n, k->cap);
			k->insn[k->n++] = *in;
		}
	k->ntable = 0;
	return PM_OK;
}

void pm_code_book_release(struct pm_code_book *k)
{
	pm_names_release(&k->names);
	pm_map_release(&k->at);
	free(k->insn);
}

static void book_destroy(void *self)
{
	if (!self)
		return;
	pm_code_book_release(self);
	free(self);
}

const struct pm_sink_ops pm_sink_code_book = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_LIGHT, .name = "code",
	.about = "the code that ran, for listings",
	.create = book_create, .consume = book_consume, .finish = book_finish,
	.destroy = book_destroy,
};

/* ---- functions ------------------------------------------------------------------------------ */

static uint32_t file_index(struct pm_listing *l, struct pm_string_table *t, size_t *cap,
			   const char *s)
{
	const uint32_t at = pm_string_add(t, s);

	if (at == l->nfile) {
		pm_grow(l->file, l->nfile, *cap);
		l->file[l->nfile++] = pm_arena_strdup(&l->mem, s);
	}
	return at;
}

static int by_pc(const void *a, const void *b)
{
	const struct pm_listing_insn *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Instructions are in order of address; a function is a run of them (and begins anew where another
 * function's code lies between, as with the cold parts that compilers split off). */
static void find_functions(struct pm_listing *l, struct pm_names *names, bool lines)
{
	size_t cap = 0, cap_file = 0;
	struct pm_string_table files = { 0 };
	char other[300];

	file_index(l, &files, &cap_file, "???");
	for (size_t i = 0; i < l->ninsn; i++) {
		struct pm_listing_insn *in = l->insn + i;
		struct pm_listing_function *f = l->nfunction ? l->function + l->nfunction - 1
							     : NULL;
		const char *name, *object;
		struct pm_name n;

		pm_names_at(names, in->pc, lines, &n);
		object = n.object ? n.object : "";
		if (!n.function && *object) {
			const char *slash = strrchr(object, '/');

			snprintf(other, sizeof other, "[%.280s]", slash ? slash + 1 : object);
		}
		name = n.function ? n.function : *object ? other : "???";
		if (!f || strcmp(f->name, name) || strcmp(f->object, object) ||
		    (n.function && f->lo != n.lo)) {
			pm_grow(l->function, l->nfunction, cap);
			f = l->function + l->nfunction++;
			*f = (struct pm_listing_function){ pm_arena_strdup(&l->mem, name),
				pm_arena_strdup(&l->mem, object), n.function ? n.lo : in->pc,
				n.base, i, 0 };
		}
		f->n++;
		in->function = l->nfunction - 1;
		in->file = n.file ? file_index(l, &files, &cap_file, n.file) : 0;
		in->line = n.file ? n.line : 0;
	}
	pm_string_table_release(&files);
}

struct pm_listing *pm_listing_new(const struct pm_costs *c, struct pm_names *names,
				  const struct pm_code_book *book)
{
	struct pm_listing *l = pm_alloc(sizeof *l);

	l->costs = c;
	l->ninsn = c->n;
	l->insn = pm_alloc((c->n + 1) * sizeof *l->insn);
	for (size_t i = 0; i < c->n; i++) {
		uint64_t *at = book ? pm_map_get(&book->at, c->pc[i]) : NULL;

		l->insn[i] = (struct pm_listing_insn){ .pc = c->pc[i],
						       .row = i,
						       .code = at ? book->insn + *at : NULL };
	}
	qsort(l->insn, l->ninsn, sizeof *l->insn, by_pc);
	find_functions(l, names, book);
	return l;
}

void pm_listing_free(struct pm_listing *l)
{
	if (!l)
		return;
	pm_arena_release(&l->mem);
	free(l->insn);
	free(l->function);
	free(l->file);
	free(l);
}

void pm_listing_sum(const struct pm_listing *l, size_t first, size_t n,
		    uint64_t v[static PM_COSTS_MAX])
{
	memset(v, 0, PM_COSTS_MAX * sizeof *v);
	for (unsigned k = 0; k < l->costs->ncolumn; k++)
		for (size_t i = first; i < first + n; i++)
			v[k] += l->costs->v[k][l->insn[i].row];
}

struct listing_rank { uint64_t cost; uint32_t function; };

static int by_cost(const void *a, const void *b)
{
	const struct listing_rank *x = a, *y = b;

	return x->cost != y->cost	   ? (x->cost < y->cost ? 1 : -1)
	       : x->function < y->function ? -1
					   : 1;
}

size_t pm_listing_top(const struct pm_listing *l, unsigned column, uint32_t **order)
{
	struct listing_rank *r = pm_alloc((l->nfunction + 1) * sizeof *r);

	for (size_t f = 0; f < l->nfunction; f++) {
		r[f].function = f;
		for (size_t i = 0; column < l->costs->ncolumn && i < l->function[f].n; i++)
			r[f].cost += l->costs->v[column][l->insn[l->function[f].first + i].row];
	}
	qsort(r, l->nfunction, sizeof *r, by_cost);
	*order = pm_alloc((l->nfunction + 1) * sizeof **order);
	for (size_t f = 0; f < l->nfunction; f++)
		(*order)[f] = r[f].function;
	free(r);
	return l->nfunction;
}

void pm_listing_text(const struct pm_listing_insn *i, bool intel, char *buf, size_t size)
{
	const struct pm_insn *in = i->code;
	uint32_t w;

	buf[0] = 0;
	if (!in || !in->len)
		return;
	if (pm_mips_word(in->isa, in->bytes, in->len, &w)) {
		mips_disasm(w, in->pc, ~0u, buf, size);
	} else if (in->isa <= PM_ISA_X86_32) {
		x86_text(in->bytes, in->len, in->pc, in->isa == PM_ISA_X86_32, intel, buf, size);
	}
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct listing_place { uint32_t file; unsigned line; size_t insn; };

static int by_place(const void *a, const void *b)
{
	const struct listing_place *x = a, *y = b;

	return x->file != y->file  ? (x->file < y->file ? -1 : 1)
	       : x->line < y->line ? -1
				   : x->line > y->line;
}

size_t pm_listing_lines(const struct pm_listing *l, struct pm_listing_line **lines)
{
	struct listing_place *p = pm_alloc((l->ninsn + 1) * sizeof *p);
	struct pm_listing_line *v = NULL;
	size_t n = 0, nv = 0, cap = 0;

	for (size_t i = 0; i < l->ninsn; i++)
		if (l->insn[i].file)
			p[n++] = (struct listing_place){ l->insn[i].file, l->insn[i].line, i };
	qsort(p, n, sizeof *p, by_place);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_place(p + i - 1, p + i)) {
			pm_grow(v, nv, cap);
			v[nv++] = (struct pm_listing_line){ .file = p[i].file, .line = p[i].line };
		}
		for (unsigned k = 0; k < l->costs->ncolumn; k++)
			v[nv - 1].v[k] += l->costs->v[k][l->insn[p[i].insn].row];
	}
	free(p);
	*lines = v;
	return nv;
}
