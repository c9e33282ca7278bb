/* SPDX-License-Identifier: MIT */
/* save_parts.c - what the files that save a module share */
#include <stdlib.h>
#include <string.h>

#include "base/temp.h"
#include "collect/cache/save.h"

/* @n bytes at @at of the file that was loaded. Read, not looked at where it is mapped: that
 * costs more, and the memory is ours as long as it is. */
void save_read_old(const struct saving *v, uint64_t at, void *to, size_t n)
{
	struct pm_err err = { 0 };

	if (v->m->stored.fd < 0 || pm_temp_read(v->m->stored.fd, to, n, at, &err) != PM_OK)
		memcpy(to, (const uint8_t *)v->was + at, n);
}

void save_copy_old(struct saving *v, uint64_t at, uint64_t n)
{
	struct out *o = &v->out;

	for (size_t k; n; at += k, n -= k) {
		k = out_room(o, n);
		save_read_old(v, at, o->piece + o->n, k);
		out_filled(o, k);
	}
}

/* The number in the file of block @i of the space; XL_NONE: it is not in it. */
uint32_t save_file_block(const struct saving *v, uint32_t i)
{
	const struct unit *u;

	if (i - v->m->stored.first_block < v->m->stored.nblock)
		return i - v->m->stored.first_block;
	u = unit_of(v->sp, i);
	if (i - u->block >= u->nblock || v->unit0[u - v->sp->unit] == XL_NONE)
		return XL_NONE;
	return v->unit0[u - v->sp->unit] + (i - u->block);
}

/* The block of @sp that has number @trace in traces; it belongs to @m, whose units ascend by
 * number. */
uint32_t save_traced_block(const struct space *sp, const struct module *m, uint32_t trace)
{
	size_t a = 0, z = m->nunit;

	while (z - a > 1) {
		size_t mid = (a + z) / 2;

		if (sp->unit[m->unit[mid]].number <= trace)
			a = mid;
		else
			z = mid;
	}
	return sp->unit[m->unit[a]].block + (trace - sp->unit[m->unit[a]].number);
}

static int by_first(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* @n elements of @words u32 by the first of them. They mostly are in order. */
void save_sort(void *p, size_t n, size_t words)
{
	const uint32_t *v = p;

	for (size_t i = 1; i < n; i++)
		if (v[i * words] < v[(i - 1) * words]) {
			qsort(p, n, words * sizeof *v, by_first);
			return;
		}
}

/* ---- units and blocks -------------------------------------------------------------------- */
const struct unit *save_new_unit(const struct saving *v, size_t i)
{
	const struct unit *u = &v->sp->unit[v->m->unit[v->was->nunit + i]];

	return u->once ? NULL : u;
}

size_t save_new_units(const struct saving *v)
{
	return v->m->nunit - v->was->nunit;
}

void save_set(struct saving *v, unsigned which, uint32_t at, uint32_t value)
{
	pm_buf_add(&v->sets[which], &(struct set){ at, value }, sizeof(struct set));
}

uint32_t save_field(const struct saving *v, uint32_t at)
{
	uint32_t value;

	memcpy(&value, v->s->code + v->m->code.off + at, 4);
	return value;
}

