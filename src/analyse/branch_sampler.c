/* SPDX-License-Identifier: MIT */
/* branch_sampler.c - branches are drawn backwards from the newest: the range that ends in one, then
 * the branch that led to that range */
#include <elf.h>
#include <stdlib.h>

#include "analyse/branch_sampler.h"
#include "base/bound.h"
#include "base/xorshift.h"
#include "isa/x86/decode.h"

/* The golden ratio's fraction of 2^64: its multiples, modulo 2^64, are spread evenly however many
 * of them are taken (D. E. Knuth, The Art of Computer Programming 3, 6.4). The newest branches are
 * drawn so. Those behind it are not: what is drawn from one place must not depend on how it was
 * come to. */
#define GOLDEN 0x9e3779b97f4a7c15u

/* ---- drawing by counts ----------------------------------------------------------------------- */

static uint64_t part_of(uint64_t fraction, uint64_t of)
{
	return (uint64_t)((unsigned __int128)fraction * of >> 64);
}

static int by_key(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static struct draw_from draw_from(struct drawn *item, size_t n)
{
	struct draw_from d = { .item = item, .n = n };

	qsort(item, n, sizeof *item, by_key);
	d.sum = pm_alloc((n + 1) * sizeof *d.sum);
	for (size_t i = 0; i < n; i++)
		d.sum[i + 1] = d.sum[i] + item[i].count;
	return d;
}

static void draw_from_release(struct draw_from *d)
{
	free(d->item);
	free(d->sum);
}

/* The first element whose key is at least @key. */
static size_t first_at(const struct draw_from *d, uint64_t key)
{
	return pm_lower_bound(d->item, d->n, .key, key);
}

/* The element of @lo .. @hi - 1 that the position @at of the sums falls into. */
static size_t element_at(const struct draw_from *d, size_t lo, size_t hi, uint64_t at)
{
	return lo + pm_upper_bound(d->sum + lo, hi - lo, , at) - 1;
}

/* One of those with @key, by chance; false: there is none. */
static bool draw(const struct draw_from *d, uint64_t key, uint64_t *chance, uint32_t *index)
{
	const size_t lo = first_at(d, key);
	const size_t hi = key == UINT64_MAX ? d->n : first_at(d, key + 1);
	const uint64_t all = d->sum[hi] - d->sum[lo];
	uint64_t at;

	if (!all)
		return false;
	at = pm_random(chance) << 32;
	at |= pm_random(chance);
	*index = d->item[element_at(d, lo, hi, d->sum[lo] + part_of(at, all))].index;
	return true;
}

/* ---- samples --------------------------------------------------------------------------------- */
static bool is_return(struct x86_decoder *dec, struct pm_elf *elf, uint64_t addr)
{
	struct x86_insn in;
	size_t n = 0;
	const uint8_t *p = pm_elf_code_at(elf, addr, &n);

	return p && x86_decode(dec, p, n, &in) && in.kind == X86_RET;
}

/* How often a branch at @from was taken; from the @k-th on, which is raised. */
static uint64_t taken_at(const struct pm_branch_object *o, size_t *k, uint64_t from)
{
	uint64_t n = 0;

	while (*k < o->nbranch && o->branch[*k].from < from)
		++*k;
	for (; *k < o->nbranch && o->branch[*k].from == from; ++*k)
		n += o->branch[*k].count;
	return n;
}

/* Where edges are counted, nobody knows which return it was that came back to a place (there it is
 * a branch from outside), but how often each return ran: it went outside then. */
static void add_returns(struct branch_sampler *s, struct pm_elf *elf)
{
	struct x86_decoder *dec = x86_decoder_new(pm_elf_machine_of(elf) == EM_386 ?
						  X86_MODE_32 : X86_MODE_64);
	const struct draw_from *d = &s->end;
	size_t k = 0;

	for (size_t i = 0, next; i < d->n; i = next) {
		const uint64_t at = d->item[i].key, taken = taken_at(s->o, &k, at);

		for (next = i + 1; next < d->n && d->item[next].key == at; )
			next++;
		if (d->sum[next] - d->sum[i] > taken && is_return(dec, elf, at))
			s->branch[s->nbranch++] = (struct pm_branch){
				.from = at, .count = d->sum[next] - d->sum[i] - taken,
				.returns = true,
			};
	}
	x86_decoder_free(dec);
}

/* A thread's beginning, a signal's handler and what is gone on with behind it: nobody branched
 * there. The kernel came from outside. */
static void add_arrivals(struct branch_sampler *s)
{
	const struct pm_branch_object *o = s->o;
	struct pm_map came = { 0 };
	uint64_t begun, *known;

	for (size_t i = 0; i < o->nbranch; i++)
		*pm_map_put(&came, o->branch[i].to, NULL) += o->branch[i].count;
	for (size_t i = 0, next; i < o->nrange; i = next) {
		begun = 0;
		for (next = i; next < o->nrange && o->range[next].lo == o->range[i].lo; next++)
			begun += o->range[next].count;
		known = pm_map_get(&came, o->range[i].lo);
		if (begun > (known ? *known : 0))
			s->branch[s->nbranch++] = (struct pm_branch){
				.to = o->range[i].lo, .count = begun - (known ? *known : 0),
			};
	}
	pm_map_release(&came);
}

void branch_sampler_begin(struct branch_sampler *s, const struct pm_branch_object *o,
			  struct pm_elf *elf)
{
	const size_t most = o->nbranch + 2 * o->nrange + 1;
	struct drawn *v = pm_alloc((o->nrange + 1) * sizeof *v);

	*s = (struct branch_sampler){ .o = o, .chance = GOLDEN, .nbranch = o->nbranch,
			       .branch = pm_alloc(most * sizeof *s->branch),
			       .drawn = pm_alloc(most * sizeof *s->drawn) };
	for (size_t i = 0; i < o->nrange; i++)
		v[i] = (struct drawn){ o->range[i].hi, o->range[i].count, (uint32_t)i };
	s->end = draw_from(v, o->nrange);
	for (size_t i = 0; i < o->nbranch; i++)
		s->branch[i] = o->branch[i];
	add_returns(s, elf);
	add_arrivals(s);
	v = pm_alloc((s->nbranch + 1) * sizeof *v);
	for (size_t i = 0; i < s->nbranch; i++) {
		v[i] = (struct drawn){ s->branch[i].to, s->branch[i].count, (uint32_t)i };
		s->predicted |= s->branch[i].missed != 0;
	}
	s->to = draw_from(v, s->nbranch);
}

void branch_sampler_end(struct branch_sampler *s)
{
	draw_from_release(&s->to);
	draw_from_release(&s->end);
	free(s->branch);
	free(s->drawn);
}

/* Of @times draws of a branch that was missed @b->missed of @b->count times the last one is missed
 * if the share of all so far grows by a whole one with it. */
static uint64_t branch_flags(const struct branch_sampler *s, const struct pm_branch *b,
			     uint32_t times)
{
	const unsigned __int128 missed = b->missed;
	const bool is = missed * times / b->count != missed * (times - 1) / b->count;

	return !s->predicted ? 0 : is ? 1 : 2;	/* mispred, predicted */
}

static uint64_t in_memory(const struct branch_sampler *s, uint64_t addr)
{
	return addr ? addr + s->load : s->outside;
}

/* The branches of one sample, newest first, of which the newest is @newest; their number. */
static size_t fill_stack(struct branch_sampler *s, uint32_t newest,
			 struct perf_branch_entry entry[static SAMPLER_STACK])
{
	uint32_t k = newest, range;
	size_t n = 0;

	for (;;) {
		const struct pm_branch *b = &s->branch[k];
		const uint64_t flags = branch_flags(s, b, ++s->drawn[k]);

		entry[n++] = (struct perf_branch_entry){
			.from = in_memory(s, b->from), .to = in_memory(s, b->to),
			.mispred = flags & 1, .predicted = flags >> 1,
		};
		if (n == SAMPLER_STACK)
			return n;
		if (b->from) {
			if (!draw(&s->end, b->from, &s->chance, &range) ||
			    !draw(&s->to, s->o->range[range].lo, &s->chance, &k))
				return n;
		} else if (!draw(&s->to, 0, &s->chance, &k)) {
			return n;
		}
	}
}

uint64_t branch_sampler_all(const struct branch_sampler *s)
{
	return s->to.sum[s->to.n];
}

size_t branch_sampler_fill(struct branch_sampler *s, uint64_t i,
			   struct perf_branch_entry entry[static SAMPLER_STACK])
{
	const uint64_t at = part_of(GOLDEN / 2 + i * GOLDEN, branch_sampler_all(s));

	return fill_stack(s, s->to.item[element_at(&s->to, 0, s->to.n, at)].index, entry);
}
