/* SPDX-License-Identifier: MIT */
/* tree_pprof.c - pprof's profile.proto (github.com/google/pprof/blob/main/proto/profile.proto)
 *
 * A message is fields, each a tag (number << 3 | kind) and a value: kind 0 is a varint, kind 2 a
 * length and so many bytes. Numbers used here:
 *
 *   Profile   1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table
 *             13 comment  14 default_sample_type
 *   ValueType 1 type  2 unit
 *   Sample    1 location_id, packed, the innermost first  2 value, packed, one for each type
 *   Mapping   1 id  2 memory_start  3 memory_limit  5 filename  6 build_id  7 has_functions
 *   Location  1 id  2 mapping_id  3 address  4 line
 *   Line      1 function_id  2 line
 *   Function  1 id  2 name  3 system_name  4 filename  5 start_line
 *
 * Strings are indices into string_table, whose first is "". A function has one location, at its
 * entry. Addresses are those in the file, so a mapping begins at 0. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/string_table.h"
#include "report/tree_files.h"

static void put_varint(struct pm_buf *to, uint64_t v)
{
	uint8_t byte[10];
	size_t n = 0;

	for (; v > 127; v >>= 7)
		byte[n++] = (uint8_t)v | 128;
	byte[n++] = (uint8_t)v;
	pm_buf_add(to, byte, n);
}

static void put_number(struct pm_buf *to, unsigned field, uint64_t v)
{
	if (!v)
		return;
	put_varint(to, field << 3);
	put_varint(to, v);
}

/* @from becomes a field of @to, and is empty again. */
static void put_message(struct pm_buf *to, unsigned field, struct pm_buf *from)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, from->n);
	pm_buf_add(to, from->p, from->n);
	from->n = 0;
}

static void put_strings(struct pm_buf *to, const struct pm_string_table *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const size_t n = strlen(s->v[i]);

		put_varint(to, 6 << 3 | 2);
		put_varint(to, n);
		pm_buf_add(to, s->v[i], n);
	}
}

static bool same_object(const struct pm_tree_function *a, const struct pm_tree_function *b)
{
	return !strcmp(a->object, b->object) &&
	       !strcmp(a->build_id ? a->build_id : "", b->build_id ? b->build_id : "");
}

/* Of each function the number of its object, 0: none; the objects are written. */
static uint64_t *number_objects(const struct pm_tree *t, struct pm_string_table *s,
				struct pm_buf *to)
{
	uint64_t *of = pm_alloc(t->nfunction * sizeof *of), n = 0;
	const struct pm_tree_function **first = NULL;	/* of each object */
	struct pm_buf m = { 0 };
	size_t cap = 0;

	for (size_t i = 1; i < t->nfunction; i++) {
		const struct pm_tree_function *f = t->function + i;
		uint64_t k = 0;

		if (!f->object)
			continue;
		while (k < n && !same_object(first[k], f))
			k++;
		of[i] = k + 1;
		if (k < n)
			continue;
		pm_grow(first, n, cap);
		first[n++] = f;
		put_number(&m, 1, n);
		put_number(&m, 3, UINT64_MAX >> 1);
		put_number(&m, 5, pm_string_add(s, f->object));
		put_number(&m, 6, pm_string_add(s, f->build_id ? f->build_id : ""));
		put_number(&m, 7, 1);
		put_message(to, 3, &m);
	}
	pm_buf_release(&m);
	free(first);
	return of;
}

static void put_functions(const struct pm_tree *t, struct pm_string_table *s, struct pm_buf *to)
{
	uint64_t *object = number_objects(t, s, to);
	struct pm_buf m = { 0 }, line = { 0 };

	for (size_t i = 1; i < t->nfunction; i++) {
		const struct pm_tree_function *f = t->function + i;

		put_number(&line, 1, i);
		put_number(&line, 2, f->file ? f->line : 0);
		put_number(&m, 1, i);
		put_number(&m, 2, object[i]);
		put_number(&m, 3, f->lo);
		put_message(&m, 4, &line);
		put_message(to, 4, &m);
		put_number(&m, 1, i);
		put_number(&m, 2, pm_string_add(s, f->name));
		put_number(&m, 3, pm_string_add(s, f->linkage));
		put_number(&m, 4, pm_string_add(s, f->file ? f->file : ""));
		put_number(&m, 5, f->file ? f->line : 0);
		put_message(to, 5, &m);
	}
	pm_buf_release(&m);
	pm_buf_release(&line);
	free(object);
}

static void put_samples(const struct pm_tree *t, unsigned event, bool only, struct pm_buf *to)
{
	struct pm_buf m = { 0 }, list = { 0 };

	for (size_t i = 1; i < t->n; i++) {
		bool any = false;

		for (unsigned k = 0; k < t->nevent; k++)
			any |= (!only || k == event) && pm_tree_self(t, i, k);
		if (!any)
			continue;
		for (size_t k = i; k; k = t->node[k].parent)
			put_varint(&list, t->node[k].function);
		put_message(&m, 1, &list);
		for (unsigned k = 0; k < t->nevent; k++)
			if (!only || k == event)
				put_varint(&list, pm_tree_self(t, i, k));
		put_message(&m, 2, &list);
		put_message(to, 2, &m);
	}
	pm_buf_release(&m);
	pm_buf_release(&list);
}

/* With gzip's header and trailer, and no time in it. */
static enum pm_status compress_into(const struct pm_buf *from, struct pm_buf *to,
				    struct pm_err *err)
{
	z_stream z = { 0 };
	uint8_t out[65536];
	int st;

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return pm_fail_file(err, "zlib refused to start");
	z.next_in = from->p;
	for (size_t left = from->n; ; ) {
		if (!z.avail_in) {
			z.avail_in = left < 1u << 30 ? (uInt)left : 1u << 30;
			left -= z.avail_in;
		}
		z.next_out = out;
		z.avail_out = sizeof out;
		st = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		pm_buf_add(to, out, sizeof out - z.avail_out);
		if (st == Z_STREAM_END || (st != Z_OK && st != Z_BUF_ERROR))
			break;
	}
	deflateEnd(&z);
	return st == Z_STREAM_END ? PM_OK : pm_fail_file(err, "zlib: error %d", st);
}

enum pm_status pm_tree_pprof(const struct pm_tree *t, unsigned event, bool only,
			     const char *title, struct pm_buf *to, struct pm_err *err)
{
	struct pm_buf p = { 0 }, m = { 0 };
	struct pm_string_table s = { 0 };
	enum pm_status st;

	pm_string_add(&s, "");
	for (unsigned k = 0; k < t->nevent; k++)
		if (!only || k == event) {
			put_number(&m, 1, pm_string_add(&s, t->event[k].name));
			put_number(&m, 2, pm_string_add(&s, "count"));
			put_message(&p, 1, &m);
		}
	put_samples(t, event, only, &p);
	put_functions(t, &s, &p);
	put_number(&p, 14, pm_string_add(&s, t->event[event].name));
	put_number(&p, 13, pm_string_add(&s, title));
	put_strings(&p, &s);
	st = compress_into(&p, to, err);
	pm_buf_release(&p);
	pm_buf_release(&m);
	pm_string_table_release(&s);
	return st;
}
