/* SPDX-License-Identifier: MIT */
/* save_code.c - the code of a file of translations, its links and relocations */
#include <stdlib.h>
#include <string.h>

#include "collect/cache/save.h"

/* Is link @i patched, or would be if its code were ours? *@rel: what its rel32 is then. */
static bool is_resolved(const struct saving *v, uint32_t i, uint32_t *rel)
{
	const struct link *l = &v->sp->link[i];
	const uint64_t *shortcut =
		l->site < v->m->stored.code_from_file ? space_shortcut(v->s, v->sp, i) : NULL;

	if (l->done) {
		*rel = save_field(v, l->site);
		return true;
	}
	if (!shortcut || !*shortcut)
		return false;
	*rel = (uint32_t)(*shortcut - (v->m->code.at + l->site + 4));
	return true;
}

/* Links within the module that have been resolved are part of its code and done with; in the
 * file's own list they keep their place. Those to other modules are made anew. */
void save_links(struct saving *v)
{
	const struct saved_link *old = v->was->nlink ? AT(v->was, links) : NULL;
	const struct space *sp = v->sp;
	const struct module *m = v->m;

	v->link0 = pm_alloc((sp->nlink + 1) * sizeof *v->link0);
	memset(v->link0, 255, sp->nlink * sizeof *v->link0);
	v->f->links = out_begin(&v->out, 8);
	for (uint32_t i = 0; i < v->was->nlink; i++) {
		const struct link *l = &sp->link[m->stored.first_link + i];
		struct saved_link x = old[i];
		uint32_t rel;

		if (x.site != XL_NONE && m->text.lo <= l->target && l->target < m->text.hi &&
		    is_resolved(v, m->stored.first_link + i, &rel)) {
			save_set(v, SET_LINKS, x.site, rel);
			x.site = XL_NONE;
		}
		v->link0[m->stored.first_link + i] = i;
		out_write(&v->out, &x, sizeof x);
	}
	v->f->nlink = v->was->nlink;
	for (size_t i = 0; i < sp->nlink; i++) {
		const struct link *l = &sp->link[i];
		const struct saved_link x = { l->target - m->text.lo, l->site,
					      l->stub | (l->counting ? COUNTING_LINK : 0) |
						      (l->stale ? STALE_LINK : 0) };

		if (l->module != v->mi || l->site == XL_NONE ||
		    i - m->stored.first_link < v->was->nlink ||
		    (l->done && m->text.lo <= l->target && l->target < m->text.hi))
			continue;
		save_set(v, SET_LINKS, l->site, l->stub - (l->site + 4));
		v->link0[i] = v->f->nlink++;
		out_write(&v->out, &x, sizeof x);
	}
}

/* Relocations of the old code and of the new, which lies behind it. */
uint64_t save_places(struct saving *v, uint64_t old, uint32_t nold, struct pm_buf *new, uint32_t *n)
{
	const uint64_t at = out_begin(&v->out, 8);

	save_sort(new->p, new->n / 4, 1);
	save_copy_old(v, old, nold * 4ull);
	out_write(&v->out, new->p, new->n);
	*n = nold + (uint32_t)(new->n / 4);
	return at;
}

struct pm_buf save_new_stubs(struct saving *v)
{
	const uint32_t *at = (const uint32_t *)v->m->code.rel_link.p;
	struct pm_buf kept = { 0 };

	for (size_t i = 0; i < v->m->code.rel_link.n / 4; i++) {
		const uint32_t link = save_field(v, at[i]),
			       no = link < v->sp->nlink ? v->link0[link] : XL_NONE;

		if (no == XL_NONE)
			continue;
		save_set(v, SET_STUBS, at[i], v->f->link0 + no);
		pm_buf_add(&kept, &at[i], 4);
	}
	return kept;
}

/* Fields of the code, ascending, that are to become something else: by @by more than they are,
 * with @set what stands there, with @now another counter, @was and @is being the first ones. */
struct change {
	const uint32_t *at;
	const struct set *set;		/* instead */
	const uint32_t *now;
	uint32_t was, is, each, nnow;
	uint32_t n, by, next;
};

static void renumber(const struct change *x, uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	if ((v - x->was) / x->each >= x->nnow)
		return;			/* not as it was written; see file.h (3) */
	v = x->is + x->each * x->now[(v - x->was) / x->each];
	memcpy(p, &v, sizeof v);
}

/* Of the code's [lo, hi), which is at @p, up to @end: what may be cut off by that comes again. */
static void change(struct change *x, uint8_t *p, uint32_t lo, uint32_t hi, uint32_t end)
{
	uint32_t i = x->next, at;

	for (; i < x->n && (at = x->set ? x->set[i].at : x->at[i]) < hi; i++) {
		if (at < lo || at + 4 > hi)
			continue;
		if (x->set)
			memcpy(p + (at - lo), &x->set[i].v, 4);
		else if (x->now)
			renumber(x, p + (at - lo));
		else
			cache_add32(p + (at - lo), &(uint32_t){ 0 }, 1, x->by);
	}
	while (i > x->next && (x->set ? x->set[i - 1].at : x->at[i - 1]) + 4 >= end)
		i--;
	x->next = i;
}

/* Old code is as it was in the file, but for what depends on where things are now. */
void save_code(struct saving *v)
{
	const struct cache_file *was = v->was, *f = v->f;
	const uint32_t each = xl_counter_size(v->sp->i386);
	uint32_t *now = v->s->records ? NULL : save_counters_now(v);
	static uint8_t win[CACHE_PIECE + 8];
	struct change c[4 + SETS];
	unsigned nc = 0;

	if (was->ncode && now)
		c[nc++] = (struct change){ .at = AT(was, rel_counter),
					   .n = was->nrel_counter,
					   .now = now,
					   .nnow = was->nblock,
					   .each = each,
					   .was = RT_COUNTERS + each * was->block0,
					   .is = RT_COUNTERS + each * f->block0 };
	if (was->ncode && f->link0 != was->link0)
		c[nc++] = (struct change){ .at = AT(was, rel_link),
					   .n = was->nrel_link,
					   .by = f->link0 - was->link0 };
	if (was->ncode && (v->sp->i386 ? f->lo != was->lo : f->distance != was->distance))
		c[nc++] = (struct change){
			.at = AT(was, rel_pc),
			.n = was->nrel_pc,
			.by = (uint32_t)(v->sp->i386 ? f->lo - was->lo :
						       (uint64_t)(was->distance - f->distance))
		};
	if (was->ncode && f->distance != was->distance)
		c[nc++] = (struct change){ .at = AT(was, rel_place),
					   .n = was->nrel_place,
					   .by = (uint32_t)(f->distance - was->distance) };
	for (unsigned k = 0; k < SETS; k++)
		c[nc++] = (struct change){ .set = (const struct set *)v->sets[k].p,
					   .n = (uint32_t)(v->sets[k].n / sizeof(struct set)) };
	v->f->code = out_begin(&v->out, 4096);
	for (uint32_t a = 0, n; a < f->ncode; a += n) {
		/* fields may lie across the ends: a little more, on both sides */
		const uint32_t end = (n = f->ncode - a < CACHE_PIECE ? f->ncode - a : CACHE_PIECE) +
				     a;
		const uint32_t lo = a ? a - 4 : 0, hi = f->ncode - end < 4 ? f->ncode : end + 4;
		const uint32_t old = was->ncode < lo ? 0 : (was->ncode < hi ? was->ncode : hi) - lo;

		if (old)
			save_read_old(v, was->code + lo, win, old);
		memcpy(win + old, v->s->code + v->m->code.off + lo + old, hi - lo - old);
		for (unsigned k = 0; k < nc; k++)
			change(&c[k], win, lo, hi, end);
		out_write(&v->out, win + (a - lo), n);
	}
	free(now);
}
