/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/diff.h"
#include "base/near.h"

/* ---- making a side ------------------------------------------------------------------------- */

struct pm_diff_table *pm_diff_table(struct pm_diff_side *s, const char *name, bool complete)
{
	struct pm_diff_table *t;

	for (size_t i = 0; i < s->ntable; i++)
		if (!strcmp(s->table[i]->name, name))
			return s->table[i];
	t = pm_alloc(sizeof *t);
	t->name = pm_arena_strdup(&s->mem, name);
	t->complete = complete;
	pm_grow(s->table, s->ntable, s->cap_table);
	s->table[s->ntable++] = t;
	return t;
}

size_t pm_diff_add_row(struct pm_diff_side *s, struct pm_diff_table *t, const char *key,
		       const char *place, uint64_t order)
{
	pm_grow(t->row, t->n, t->cap);
	t->row[t->n] = (struct pm_diff_row){
		.key = pm_arena_strdup(&s->mem, key),
		.place = place ? pm_arena_strdup(&s->mem, place) : NULL,
		.order = order,
	};
	return t->n++;
}

unsigned pm_diff_column(struct pm_diff_side *s, struct pm_diff_table *t, const char *name)
{
	for (unsigned i = 0; i < t->ncolumn; i++)
		if (!strcmp(t->column[i], name))
			return i;
	pm_grow(t->column, t->ncolumn, t->cap_column);
	t->column[t->ncolumn] = pm_arena_strdup(&s->mem, name);
	return t->ncolumn++;
}

static void set(struct pm_diff_table *t, size_t row, unsigned column, struct pm_diff_value v)
{
	struct pm_diff_row *r = t->row + row;

	while (r->nv <= column) {
		pm_grow(r->v, r->nv, r->cap_v);
		r->v[r->nv++] = (struct pm_diff_value){ 0 };
	}
	r->v[column] = v;
}

void pm_diff_set_u64(struct pm_diff_table *t, size_t row, unsigned column, uint64_t v)
{
	set(t, row, column, (struct pm_diff_value){ true, true, v, (double)v });
}

void pm_diff_set_f64(struct pm_diff_table *t, size_t row, unsigned column, double v)
{
	set(t, row, column, (struct pm_diff_value){ .there = true, .f64 = v });
}

void pm_diff_total(struct pm_diff_side *s, const char *name, uint64_t v)
{
	struct pm_diff_table *t = pm_diff_table(s, PM_DIFF_TOTALS, false);
	size_t row = pm_diff_add_row(s, t, name, NULL, 0);

	pm_diff_set_u64(t, row, pm_diff_column(s, t, PM_DIFF_VALUE), v);
}

void pm_diff_fact(struct pm_diff_side *s, const char *name, const char *value, bool result)
{
	pm_grow(s->fact, s->nfact, s->cap_fact);
	s->fact[s->nfact++] = (struct pm_diff_fact){ pm_arena_strdup(&s->mem, name),
						     pm_arena_strdup(&s->mem, value), result };
}

void pm_diff_side_release(struct pm_diff_side *s)
{
	for (size_t i = 0; i < s->ntable; i++) {
		struct pm_diff_table *t = s->table[i];

		for (size_t k = 0; k < t->n; k++)
			free(t->row[k].v);
		free(t->row);
		free(t->column);
		free(t);
	}
	free(s->table);
	free(s->fact);
	pm_arena_release(&s->mem);
	*s = (struct pm_diff_side){ 0 };
}

/* ---- objects and files: rule (2) ----------------------------------------------------------- */

struct diff_places {
	const char **v, **other;	/* other: what it is called on the other side, or NULL */
	size_t n, cap;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Those of all tables of a shape, each once, sorted. */
static struct diff_places places_of(const struct pm_diff_side *s, enum pm_diff_shape shape)
{
	struct diff_places p = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->ntable; i++) {
		const struct pm_diff_table *t = s->table[i];
		const char *last = NULL;

		for (size_t k = 0; k < t->n && t->shape == shape; k++)
			if (t->row[k].place && t->row[k].place != last &&
			    (!last || strcmp(t->row[k].place, last))) {
				pm_grow(p.v, p.n, p.cap);
				last = p.v[p.n++] = t->row[k].place;
			}
	}
	if (p.n)
		qsort(p.v, p.n, sizeof *p.v, by_text);
	for (size_t i = 0; i < p.n; i++)
		if (!n || strcmp(p.v[n - 1], p.v[i]))
			p.v[n++] = p.v[i];
	p.n = n;
	p.other = pm_alloc((n + 1) * sizeof *p.other);
	return p;
}

static size_t find_place(const struct diff_places *p, const char *name)
{
	const char **at = p->n ? bsearch(&name, p->v, p->n, sizeof *p->v, by_text) : NULL;

	return at ? (size_t)(at - p->v) : SIZE_MAX;
}

/* The only one that nobody has matched and that has this last component; SIZE_MAX: there is none,
 * or there are several. @base NULL: any last component. */
static size_t only_one(const struct diff_places *p, const char *base)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < p->n; i++) {
		if (p->other[i] || (base && strcmp(base_of(p->v[i]), base)))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

static void match_places(struct diff_places *a, struct diff_places *b, enum pm_diff_shape shape)
{
	size_t x, y;

	for (x = 0; x < a->n; x++)
		if ((y = find_place(b, a->v[x])) != SIZE_MAX) {
			a->other[x] = b->v[y];
			b->other[y] = a->v[x];
		}
	for (x = 0; x < a->n; x++) {
		const char *base = base_of(a->v[x]);

		if (a->other[x] || only_one(a, base) != x || (y = only_one(b, base)) == SIZE_MAX)
			continue;
		a->other[x] = b->v[y];
		b->other[y] = a->v[x];
	}
	x = only_one(a, NULL);
	y = only_one(b, NULL);
	if (shape == PM_DIFF_NAMES && x != SIZE_MAX && y != SIZE_MAX) {
		a->other[x] = b->v[y];
		b->other[y] = a->v[x];
	}
}

/* B's objects get the names that A has for them. */
static void rename_places(struct pm_diff_side *a, struct pm_diff_side *b, enum pm_diff_shape shape)
{
	struct diff_places x = places_of(a, shape), y = places_of(b, shape);

	match_places(&x, &y, shape);
	for (size_t i = 0; i < x.n; i++)
		if (x.other[i] && strcmp(x.v[i], x.other[i]) && shape == PM_DIFF_NAMES) {
			char name[64];

			snprintf(name, sizeof name, "object %.50s", base_of(x.v[i]));
			pm_diff_fact(a, name, x.v[i], false);
			pm_diff_fact(b, name, x.other[i], false);
		}
	for (size_t i = 0; i < b->ntable; i++) {
		struct pm_diff_table *t = b->table[i];

		for (size_t k = 0; k < t->n && t->shape == shape; k++) {
			size_t at = t->row[k].place ? find_place(&y, t->row[k].place) : SIZE_MAX;

			if (at == SIZE_MAX || !y.other[at] || !strcmp(y.v[at], y.other[at]))
				continue;
			/* a table of objects names them in its keys */
			if (!strcmp(t->row[k].key, t->row[k].place))
				t->row[k].key = y.other[at];
			t->row[k].place = y.other[at];
		}
	}
	free(x.v);
	free(x.other);
	free(y.v);
	free(y.other);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int compare_names(const struct pm_diff_row *x, const struct pm_diff_row *y)
{
	int c = strcmp(x->place ? x->place : "", y->place ? y->place : "");

	return c ? c : strcmp(x->key, y->key);
}

static int by_name(const void *a, const void *b)
{
	const struct pm_diff_row *x = a, *y = b;
	int c = compare_names(x, y);

	return c ? c : x->order < y->order ? -1 : x->order > y->order;
}

bool pm_diff_same(struct pm_diff_value a, struct pm_diff_value b)
{
	if (a.there != b.there)
		return false;
	return a.whole && b.whole ? a.u64 == b.u64 : a.f64 == b.f64;
}

struct pm_diff_value pm_diff_get(const struct pm_diff_both *t, const struct pm_diff_pair *p,
				 unsigned column, unsigned side)
{
	const struct pm_diff_row *r = p->row[side];
	const unsigned k = t->of[side][column];

	if (r && k < r->nv && r->v[k].there)
		return r->v[k];
	return (struct pm_diff_value){ .there = t->complete, .whole = t->complete };
}

/* Can both be compared? One that is missing where a table is not complete cannot. */
static bool comparable(const struct pm_diff_both *t, const struct pm_diff_pair *p, unsigned k)
{
	return pm_diff_get(t, p, k, 0).there && pm_diff_get(t, p, k, 1).there;
}

static void match_columns(struct pm_diff *d, struct pm_diff_both *t, const struct pm_diff_table *a,
			  const struct pm_diff_table *b)
{
	t->column = pm_arena_alloc(&d->mem, (a->ncolumn + 1) * sizeof *t->column);
	for (unsigned s = 0; s < 2; s++)
		t->of[s] = pm_arena_alloc(&d->mem, (a->ncolumn + 1) * sizeof *t->of[s]);
	for (unsigned i = 0; i < a->ncolumn; i++)
		for (unsigned k = 0; k < b->ncolumn; k++)
			if (!strcmp(a->column[i], b->column[k])) {
				t->column[t->ncolumn] = a->column[i];
				t->of[0][t->ncolumn] = i;
				t->of[1][t->ncolumn++] = k;
			}
}

static void add_pair(struct pm_diff *d, struct pm_diff_both *t, const struct pm_diff_row *a,
		     const struct pm_diff_row *b)
{
	const struct pm_diff_row *r = a ? a : b;
	struct pm_diff_pair *p = t->pair + t->n++, *before = p - 1;

	*p = (struct pm_diff_pair){ .key = r->key, .place = r->place, .row = { a, b } };
	if (t->n > 1 && !compare_names(before->row[0] ? before->row[0] : before->row[1], r)) {
		if (!before->nth)
			before->nth = 1;
		p->nth = before->nth + 1;
	}
	for (unsigned k = 0; k < t->ncolumn; k++) {
		bool differs;

		if (!comparable(t, p, k))
			continue;
		differs = !pm_diff_same(pm_diff_get(t, p, k, 0), pm_diff_get(t, p, k, 1));
		p->differs |= differs;
		if (!t->noise) {
			d->compared++;
			d->differing += differs;
		}
	}
	t->ndiffer += p->differs;
}

static void match_tables(struct pm_diff *d, struct pm_diff_table *a, struct pm_diff_table *b)
{
	struct pm_diff_both *t = pm_arena_alloc(&d->mem, sizeof *t);
	size_t i = 0, k = 0;

	*t = (struct pm_diff_both){ .name = a->name, .shape = a->shape,
		.complete = a->complete && b->complete, .noise = a->noise };
	match_columns(d, t, a, b);
	if (a->n)
		qsort(a->row, a->n, sizeof *a->row, by_name);
	if (b->n)
		qsort(b->row, b->n, sizeof *b->row, by_name);
	t->pair = pm_alloc((a->n + b->n + 1) * sizeof *t->pair);
	while (i < a->n || k < b->n) {
		int c = i == a->n ? 1 : k == b->n ? -1 : compare_names(a->row + i, b->row + k);

		add_pair(d, t, c <= 0 ? a->row + i : NULL, c >= 0 ? b->row + k : NULL);
		i += c <= 0;
		k += c >= 0;
	}
	pm_grow(d->both, d->nboth, d->cap_both);
	d->both[d->nboth++] = t;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static const char *fact_of(const struct pm_diff_side *s, const char *name)
{
	for (size_t i = 0; i < s->nfact; i++)
		if (!strcmp(s->fact[i].name, name))
			return s->fact[i].value;
	return NULL;
}

static void add_other(struct pm_diff *d, const char *name, const char *a, const char *b,
		      bool result)
{
	pm_grow(d->other, d->nother, d->cap_other);
	d->other[d->nother++] = (struct pm_diff_other){ name, a, b, result };
	d->differing += result;
}

static void compare_facts(struct pm_diff *d)
{
	const struct pm_diff_side *a = d->side[0], *b = d->side[1];

	for (size_t i = 0; i < a->nfact; i++) {
		const char *v = fact_of(b, a->fact[i].name);

		d->compared += a->fact[i].result && v;
		if (!v || strcmp(v, a->fact[i].value))
			add_other(d, a->fact[i].name, a->fact[i].value, v,
				  a->fact[i].result && v);
	}
	for (size_t i = 0; i < b->nfact; i++)
		if (!fact_of(a, b->fact[i].name))
			add_other(d, b->fact[i].name, NULL, b->fact[i].value, false);
}

/* What only one side measured. */
static void note_columns(struct pm_diff *d, const struct pm_diff_table *a,
			 const struct pm_diff_table *b, bool swapped)
{
	for (unsigned i = 0; i < a->ncolumn; i++) {
		bool found = false;
		char *name;

		for (unsigned k = 0; k < b->ncolumn && !found; k++)
			found = !strcmp(a->column[i], b->column[k]);
		if (found || !a->n || !b->n)
			continue;
		name = pm_arena_alloc(&d->mem, strlen(a->name) + strlen(a->column[i]) + 2);
		sprintf(name, "%s %s", a->name, a->column[i]);
		add_other(d, name, swapped ? NULL : "measured", swapped ? "measured" : NULL,
			  false);
	}
}

enum pm_status pm_diff_new(struct pm_diff *d, struct pm_diff_side *a, struct pm_diff_side *b,
			   struct pm_err *err)
{
	*d = (struct pm_diff){ .side = { a, b } };
	if (strcmp(a->kind, b->kind))
		return pm_fail_file(err, "cannot be compared: %s is a %s, this is a %s",
				    a->file, a->kind, b->kind);
	rename_places(a, b, PM_DIFF_NAMES);
	rename_places(a, b, PM_DIFF_LINES);
	for (size_t i = 0; i < a->ntable; i++)
		for (size_t k = 0; k < b->ntable; k++)
			if (!strcmp(a->table[i]->name, b->table[k]->name)) {
				match_tables(d, a->table[i], b->table[k]);
				note_columns(d, a->table[i], b->table[k], false);
				note_columns(d, b->table[k], a->table[i], true);
			}
	compare_facts(d);
	if (!d->compared)
		return pm_fail_file(err, "has no number that %s has, too", a->file);
	return PM_OK;
}

void pm_diff_release(struct pm_diff *d)
{
	for (size_t i = 0; i < d->nboth; i++)
		free(d->both[i]->pair);
	free(d->both);
	free(d->other);
	pm_arena_release(&d->mem);
}

/* ---- what is shown ------------------------------------------------------------------------- */

int pm_diff_measure(const struct pm_diff_both *t, const char *name)
{
	for (unsigned k = 0; k < t->ncolumn; k++) {
		if (name && !strcmp(t->column[k], name))
			return (int)k;
		for (size_t i = 0; i < t->n && !name; i++)
			if (t->pair[i].differs && comparable(t, t->pair + i, k) &&
			    !pm_diff_same(pm_diff_get(t, t->pair + i, k, 0),
					  pm_diff_get(t, t->pair + i, k, 1)))
				return (int)k;
	}
	return -1;
}

enum pm_status pm_diff_has_measure(const struct pm_diff *d, const char *name, struct pm_err *err)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];
	bool has = false;

	for (size_t i = 0; i < d->nboth && !has; i++) {
		has = pm_diff_measure(d->both[i], name) >= 0;
		for (unsigned k = 0; k < d->both[i]->ncolumn; k++)
			pm_nearest_try(&near, name, d->both[i]->column[k]);
	}
	if (has) {
		pm_nearest_release(&near);
		return PM_OK;
	}
	return pm_fail_request(err, "--measure: no table has '%.40s' on both sides%s", name,
			       pm_nearest_hint(&near, hint));
}

struct ranked {
	uint32_t pair;
	long double change;		/* absolute; exact for counts */
};

static int by_change(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->change != y->change)
		return x->change < y->change ? 1 : -1;
	return x->pair < y->pair ? -1 : x->pair > y->pair;
}

size_t pm_diff_order(const struct pm_diff_both *t, unsigned column, uint32_t **order)
{
	struct ranked *v = pm_alloc((t->n + 1) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct pm_diff_value a, b;

		if (!t->pair[i].differs || !comparable(t, t->pair + i, column))
			continue;
		a = pm_diff_get(t, t->pair + i, column, 0);
		b = pm_diff_get(t, t->pair + i, column, 1);
		if (pm_diff_same(a, b))
			continue;
		v[n++] = (struct ranked){ (uint32_t)i, fabsl(a.whole && b.whole ?
			(long double)b.u64 - (long double)a.u64 :
			(long double)b.f64 - (long double)a.f64) };
	}
	qsort(v, n, sizeof *v, by_change);
	*order = pm_alloc((n + 1) * sizeof **order);
	for (size_t i = 0; i < n; i++)
		(*order)[i] = v[i].pair;
	free(v);
	return n;
}

void pm_diff_name(const struct pm_diff_both *t, const struct pm_diff_pair *p, struct pm_buf *to)
{
	if (t->shape == PM_DIFF_LINES)
		pm_buf_printf(to, "%s:%s", base_of(p->place ? p->place : "???"), p->key);
	else
		pm_buf_printf(to, "%s", p->place && !strcmp(p->place, p->key) ? base_of(p->key) :
			p->key);
	if (p->nth)
		pm_buf_printf(to, " (%u)", p->nth);
}

const char *pm_diff_last(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}
