/* SPDX-License-Identifier: MIT */
/* branch_propeller.c - see branch_propeller.h
 *
 * All blocks of the file lie in one array by address, empty ones in front of the one that begins
 * where they are. Ranges of the profile are added to it as differences: what block i gets and block
 * k takes away all blocks from i to k - 1 have. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "analyse/branch_propeller.h"
#include "analyse/call_order.h"
#include "analyse/ext_tsp.h"
#include "base/bound.h"
#include "base/mix.h"
#include "elf/block_map.h"
#include "elf/link_view.h"

struct propeller_block {				/* a block, by address */
	uint64_t lo, size;
	uint64_t count;			/* executions of its first instruction */
	uint64_t fell;			/* as often after the block before it in the array */
	uint32_t function, id;
	uint32_t local;			/* its number in what is laid out; UINT32_MAX: not */
	bool goes_on;
	bool entry;			/* the first of its function */
	bool ran;			/* some of it was executed */
};

struct propeller_edge { uint32_t function, from, to; uint64_t count; };	/* of blocks in the array */

#define SEVERAL UINT64_MAX

struct propeller_work {
	struct pm_elf *elf;
	struct pm_block_map map;
	struct propeller_block *block;
	size_t n;
	struct propeller_edge *edge;
	size_t nedge, cap_edge;
	struct pm_call_edge *call;	/* of the map's functions */
	size_t ncall, cap_call;
	struct pm_elf_symbol *symbol;
	size_t nsymbol;
	struct pm_map named;		/* hashes of names: the address, or SEVERAL */
	struct pm_map listed;		/* addresses of functions */
	uint32_t *by_function;		/* blocks by function; function f's: part[f]..[f + 1] - 1 */
	size_t *part;
};

/* ---- blocks ---------------------------------------------------------------------------------- */
static int by_place(const void *a, const void *b)
{
	const struct propeller_block *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? 1 : -1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->local < y->local ? -1 : x->local > y->local;
}

static void place_blocks(struct propeller_work *l)
{
	l->block = pm_alloc((l->map.nblock + 1) * sizeof *l->block);
	for (uint32_t f = 0; f < l->map.nfunction; f++) {
		const struct pm_map_function *m = &l->map.function[f];

		for (size_t i = 0; i < m->n; i++) {
			const struct pm_map_block *b = &l->map.block[m->first + i];

			l->block[l->n++] = (struct propeller_block){
				.lo = b->lo, .size = b->size, .function = f, .id = b->id,
				.local = (uint32_t)i, .goes_on = b->goes_on, .entry = !i,
			};
		}
	}
	qsort(l->block, l->n, sizeof *l->block, by_place);
}

/* How many blocks begin at @addr or before. */
static size_t blocks_to(const struct propeller_work *l, uint64_t addr)
{
	return pm_upper_bound(l->block, l->n, .lo, addr);
}

/* The block with @addr in it, or NULL. */
static struct propeller_block *block_at(const struct propeller_work *l, uint64_t addr)
{
	const size_t n = blocks_to(l, addr);

	return n && addr - l->block[n - 1].lo < l->block[n - 1].size ? &l->block[n - 1] : NULL;
}

/* The first block that begins where @b does: empty ones of its function lie in front of it. */
static struct propeller_block *first_there(const struct propeller_work *l,
					   struct propeller_block *b)
{
	while (b > l->block && b[-1].lo == b->lo && b[-1].function == b->function)
		b--;
	return b;
}

/* ---- counts ---------------------------------------------------------------------------------- */
static void add_range(struct propeller_work *l, const struct pm_branch_range *r)
{
	const size_t end = blocks_to(l, r->hi);
	struct propeller_block *b = block_at(l, r->lo);
	size_t first, fell;	/* blocks: it executes from its beginning; falls into */

	if (b && b->lo != r->lo) {
		b->ran = true;
		fell = first = (size_t)(b - l->block) + 1;
	} else {
		b = b ? first_there(l, b) : NULL;
		first = b ? (size_t)(b - l->block) : blocks_to(l, r->lo);
		fell = first + 1;
		/* what was called at the end of the block before it has come back */
		if (b && r->returned && first && b[-1].function == b->function && b[-1].goes_on)
			fell--;
	}
	if (first < end) {
		l->block[first].count += r->count;
		l->block[end].count -= r->count;
	}
	if (fell < end) {
		l->block[fell].fell += r->count;
		l->block[end].fell -= r->count;
	}
}

static void add_edge(struct propeller_work *l, const struct propeller_block *from,
		     const struct propeller_block *to, uint64_t count)
{
	pm_grow(l->edge, l->nedge, l->cap_edge);
	l->edge[l->nedge++] = (struct propeller_edge){
		to->function, (uint32_t)(from - l->block), (uint32_t)(to - l->block), count,
	};
}

static void add_branch(struct propeller_work *l, const struct pm_branch *b)
{
	struct propeller_block *from = block_at(l, b->from), *to = block_at(l, b->to);

	if (!from || !to || b->to != to->lo || b->returns)
		return;
	to = first_there(l, to);
	if (!to->entry) {
		if (from->function == to->function)
			add_edge(l, from, to, b->count);
		return;
	}
	pm_grow(l->call, l->ncall, l->cap_call);
	l->call[l->ncall++] = (struct pm_call_edge){ from->function, to->function, b->count };
}

static int by_edge(const void *a, const void *b)
{
	const struct propeller_edge *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void join_edges(struct propeller_work *l)
{
	size_t n = 0;

	if (l->nedge)
		qsort(l->edge, l->nedge, sizeof *l->edge, by_edge);
	for (size_t i = 0; i < l->nedge; i++)
		if (n && !by_edge(&l->edge[n - 1], &l->edge[i]))
			l->edge[n - 1].count += l->edge[i].count;
		else
			l->edge[n++] = l->edge[i];
	l->nedge = n;
}

static void count(struct propeller_work *l, const struct pm_branch_object *o)
{
	for (size_t i = 0; i < o->nrange; i++)
		add_range(l, &o->range[i]);
	for (size_t i = 0; i < o->nbranch; i++)
		add_branch(l, &o->branch[i]);
	for (size_t i = 0; i < l->n; i++) {
		struct propeller_block *b = &l->block[i];

		b->count += i ? b[-1].count : 0;
		b->fell += i ? b[-1].fell : 0;
		b->ran |= b->count > 0;
	}
	for (size_t i = 1; i < l->n; i++) {
		const struct propeller_block *b = &l->block[i];

		if (b->fell && b->function == b[-1].function)
			add_edge(l, b - 1, b, b->fell);
	}
	join_edges(l);
}

/* ---- names ----------------------------------------------------------------------------------- */
/* Without a version: NAME@@VERSION. */
static size_t name_length(const char *name)
{
	return strcspn(name, "@");
}

static bool read_names(struct propeller_work *l)
{
	l->nsymbol = pm_elf_symbols(l->elf, &l->symbol);
	for (size_t i = 0; i < l->nsymbol; i++) {
		const struct pm_elf_symbol *s = &l->symbol[i];
		bool fresh;
		uint64_t *at;

		if (!s->function || !s->code)
			continue;
		at = pm_map_put(&l->named, pm_mix(s->name, name_length(s->name), 0), &fresh);
		*at = fresh || *at == s->lo ? s->lo : SEVERAL;
	}
	return l->nsymbol;
}

/* The names of the function at @lo, with @between them, behind what is in @to, and its first one
 * into @order. False: it has none of its own. */
static bool put_names(const struct propeller_work *l, uint64_t lo, char between, struct pm_buf *to,
		      struct pm_buf *order)
{
	size_t i = pm_lower_bound(l->symbol, l->nsymbol, .lo, lo), named = 0;

	for (; i < l->nsymbol && l->symbol[i].lo == lo; i++) {
		const struct pm_elf_symbol *s = &l->symbol[i];
		const size_t n = name_length(s->name);

		/* the compiler would take a space for the end of the name */
		if (!s->function || !s->code || !n || strcspn(s->name, " /\n\r\t") < n ||
		    *pm_map_get(&l->named, pm_mix(s->name, n, 0)) == SEVERAL)
			continue;
		if (named++)
			pm_buf_add(to, &between, 1);
		else
			pm_buf_printf(order, "%.*s\n", (int)n, s->name);
		pm_buf_add(to, s->name, n);
	}
	return named;
}

/* ---- a function ------------------------------------------------------------------------------ */
static void sort_by_function(struct propeller_work *l)
{
	size_t *at;

	l->part = pm_alloc((l->map.nfunction + 2) * sizeof *l->part);
	l->by_function = pm_alloc((l->n + 1) * sizeof *l->by_function);
	for (size_t i = 0; i < l->n; i++)
		l->part[l->block[i].function + 1]++;
	for (size_t f = 0; f < l->map.nfunction; f++)
		l->part[f + 1] += l->part[f];
	at = pm_alloc((l->map.nfunction + 1) * sizeof *at);
	memcpy(at, l->part, l->map.nfunction * sizeof *at);
	for (size_t i = 0; i < l->n; i++)
		l->by_function[at[l->block[i].function]++] = (uint32_t)i;
	free(at);
}

/* The blocks of @f that are laid out, the entry first, into @v; their number, or 0 if none ran. */
static size_t blocks_of(struct propeller_work *l, uint32_t f, uint32_t *v)
{
	size_t n = 1;
	bool ran = false;

	for (size_t i = l->part[f]; i < l->part[f + 1]; i++) {
		struct propeller_block *b = &l->block[l->by_function[i]];

		ran |= b->ran && b->size;
		b->local = UINT32_MAX;
		if (!b->entry && !b->ran)
			continue;
		b->local = b->entry ? 0 : (uint32_t)n++;
		v[b->local] = l->by_function[i];
	}
	return ran ? n : 0;
}

/* Lays out function @f, whose blocks are @v, and writes their ids. *@edge: the next edge. */
static void put_blocks(const struct propeller_work *l, uint32_t f, const uint32_t *v, size_t n,
		       size_t *edge, struct pm_buf *to)
{
	struct pm_tsp_block *block = pm_alloc(n * sizeof *block);
	struct pm_tsp_edge *e;
	uint32_t *order = pm_alloc(n * sizeof *order);
	size_t ne = 0, end;

	while (*edge < l->nedge && l->edge[*edge].function < f)
		++*edge;
	for (end = *edge; end < l->nedge && l->edge[end].function == f; )
		end++;
	e = pm_alloc((end - *edge + 1) * sizeof *e);
	for (; *edge < end; ++*edge) {
		const struct propeller_edge *x = &l->edge[*edge];
		const uint32_t a = l->block[x->from].local, b = l->block[x->to].local;

		if (a != UINT32_MAX && b != UINT32_MAX)
			e[ne++] = (struct pm_tsp_edge){ a, b, x->count };
	}
	for (size_t i = 0; i < n; i++)
		block[i] = (struct pm_tsp_block){ l->block[v[i]].size, l->block[v[i]].count };
	pm_ext_tsp(block, n, e, ne, order);
	for (size_t i = 0; i < n; i++)
		pm_buf_printf(to, "%s%u", i ? " " : "", l->block[v[order[i]]].id);
	free(block);
	free(e);
	free(order);
}

/* ---- all of it ------------------------------------------------------------------------------- */
/* Where each function that is listed stands, by call_order.h. */
static void put_order(struct propeller_work *l, const uint32_t *number,
		      const struct pm_call_function *v, const struct pm_buf *names, size_t n,
		      struct pm_buf *to)
{
	uint32_t *order = pm_alloc((n + 1) * sizeof *order);
	const char **name = pm_alloc((n + 1) * sizeof *name), *s = (const char *)names->p;
	size_t nc = 0;

	for (size_t i = 0; i < l->ncall; i++) {
		const uint32_t from = number[l->call[i].from], into = number[l->call[i].to];

		if (from != UINT32_MAX && into != UINT32_MAX)
			l->call[nc++] = (struct pm_call_edge){ from, into, l->call[i].count };
	}
	pm_call_order(v, n, l->call, nc, order);
	for (size_t i = 0; i < n; i++, s += strcspn(s, "\n") + 1)
		name[i] = s;
	for (size_t i = 0; i < n; i++)
		pm_buf_add(to, name[order[i]], strcspn(name[order[i]], "\n") + 1);
	free(order);
	free(name);
}

static void put_all(struct propeller_work *l, struct pm_propeller *p)
{
	const bool old = l->map.version < 2;
	uint32_t *v = pm_alloc((l->n + 1) * sizeof *v);
	uint32_t *number = pm_alloc((l->map.nfunction + 1) * sizeof *number);
	struct pm_call_function *function = pm_alloc((l->map.nfunction + 1) * sizeof *function);
	struct pm_buf names = { 0 };
	size_t edge = 0;

	if (!old)
		pm_buf_printf(&p->clusters, "v1\n");
	for (uint32_t f = 0; f < l->map.nfunction; f++) {
		const size_t n = blocks_of(l, f, v), before = p->clusters.n;
		struct pm_call_function *sum = &function[p->functions];

		number[f] = UINT32_MAX;
		/* a linker that folds equal functions may have left the maps of several */
		if (!n || (*pm_map_put(&l->listed, l->map.function[f].lo, NULL))++)
			continue;
		pm_buf_printf(&p->clusters, old ? "!" : "f ");
		if (!put_names(l, l->map.function[f].lo, old ? '/' : ' ', &p->clusters, &names)) {
			p->clusters.n = before;
			p->unnamed++;
			continue;
		}
		pm_buf_printf(&p->clusters, old ? "\n!!" : "\nc ");
		put_blocks(l, f, v, n, &edge, &p->clusters);
		pm_buf_printf(&p->clusters, "\n");
		for (size_t i = 0; i < n; i++) {
			sum->size += l->block[v[i]].size;
			sum->executed += (double)l->block[v[i]].size *
				(double)l->block[v[i]].count;
		}
		number[f] = (uint32_t)p->functions++;
		p->blocks += n;
	}
	if (names.n)
		put_order(l, number, function, &names, p->functions, &p->order);
	pm_buf_release(&names);
	free(v);
	free(number);
	free(function);
}

static enum pm_status check(struct propeller_work *l, const struct pm_branch_object *o,
			    struct pm_err *err)
{
	if (pm_branch_code_is(o, l->elf, err) != PM_OK)
		return PM_ERR;
	err->file = o->path;
	if (pm_elf_machine_of(l->elf) != EM_X86_64)
		return pm_fail_file(err, "clang's map of basic blocks is read of 64-bit x86 files "
				    "only");
	if (pm_block_map_read(l->elf, &l->map, err) != PM_OK)
		return PM_ERR;
	if (!read_names(l))
		return pm_fail_file(err, "it has no symbols, and Propeller's files name functions; "
				    "do not strip it");
	return PM_OK;
}

enum pm_status pm_propeller_make(const struct pm_branch_object *o, struct pm_propeller *p,
				 struct pm_err *err)
{
	struct propeller_work l = { .elf = pm_elf_open(o->path, o->build_id, err) };

	*p = (struct pm_propeller){ 0 };
	if (!l.elf)
		return PM_ERR;
	if (check(&l, o, err) == PM_OK) {
		place_blocks(&l);
		count(&l, o);
		sort_by_function(&l);
		put_all(&l, p);
		if (!p->functions)
			pm_fail_file(err, "nothing was executed that its map of basic blocks is "
				     "about and that has a name of its own");
	}
	pm_elf_close(l.elf);
	pm_block_map_release(&l.map);
	pm_map_release(&l.named);
	pm_map_release(&l.listed);
	free(l.block);
	free(l.edge);
	free(l.call);
	free(l.symbol);
	free(l.by_function);
	free(l.part);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

bool pm_propeller_can(const struct pm_branch_object *o)
{
	struct pm_err ignored = { 0 };
	struct pm_elf *e = pm_elf_open(o->path, o->build_id, &ignored);
	const bool can = !e || pm_elf_has_block_map(e);

	pm_elf_close(e);
	return can;
}

void pm_propeller_release(struct pm_propeller *p)
{
	pm_buf_release(&p->clusters);
	pm_buf_release(&p->order);
}
