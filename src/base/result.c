/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"
#include "base/result.h"
#include "pugmark/pugmark.h"

struct pm_result {
	struct pm_arena mem;
	struct pm_result_node root;
	struct pm_result_node *open;	/* where the next value goes */
	const char *schema;		/* NULL: of no document */
};

struct pm_result *pm_result_new(void)
{
	struct pm_result *r = pm_alloc(sizeof *r);

	r->root.kind = PM_RESULT_OBJECT;
	r->open = &r->root;
	return r;
}

struct pm_result *pm_result_for(const char *schema)
{
	struct pm_result *r = pm_result_new();

	r->schema = schema;
	return r;
}

void pm_result_free(struct pm_result *r)
{
	if (!r)
		return;
	pm_arena_release(&r->mem);
	free(r);
}

const struct pm_result_node *pm_result_root(const struct pm_result *r)
{
	return &r->root;
}

const struct pm_result_node *pm_result_find(const struct pm_result_node *of, const char *name)
{
	for (const struct pm_result_node *n = of->first; n; n = n->next)
		if (n->name && !strcmp(n->name, name))
			return n;
	return NULL;
}

const char *pm_result_find_text(const struct pm_result_node *of, const char *name)
{
	const struct pm_result_node *n = pm_result_find(of, name);

	return n && n->kind == PM_RESULT_STR ? n->str : NULL;
}

static struct pm_result_node *add(struct pm_result *r, enum pm_result_kind kind, const char *name,
				  const char *unit)
{
	struct pm_result_node *n = pm_arena_alloc(&r->mem, sizeof *n);
	struct pm_result_node *in = r->open;

	n->kind = kind;
	n->parent = in;
	n->name = name && in->kind == PM_RESULT_OBJECT ? pm_arena_strdup(&r->mem, name) : NULL;
	n->unit = unit ? pm_arena_strdup(&r->mem, unit) : NULL;
	*(in->last ? &in->last->next : &in->first) = n;
	in->last = n;
	return n;
}

/* What several add to the document, such as a simulator that is there twice, is told apart by a
 * number: "cache", "cache-2". */
static void begin(struct pm_result *r, enum pm_result_kind kind, const char *name)
{
	struct pm_buf numbered = { 0 };
	const char *is = name;

	for (unsigned i = 2; r->open == &r->root && is && pm_result_find(&r->root, is); i++) {
		numbered.n = 0;
		pm_buf_printf(&numbered, "%s-%u", name, i);
		pm_buf_add(&numbered, "", 1);
		is = (const char *)numbered.p;
	}
	r->open = add(r, kind, is, NULL);
	pm_buf_release(&numbered);
}

void pm_result_begin(struct pm_result *r, const char *name)
{
	begin(r, PM_RESULT_OBJECT, name);
}

void pm_result_begin_list(struct pm_result *r, const char *name)
{
	begin(r, PM_RESULT_LIST, name);
}

void pm_result_end(struct pm_result *r)
{
	assert(r->open->parent);
	r->open = r->open->parent;
}

void pm_result_u64(struct pm_result *r, const char *name, uint64_t v, const char *unit)
{
	add(r, PM_RESULT_U64, name, unit)->u64 = v;
}

void pm_result_f64(struct pm_result *r, const char *name, double v, const char *unit)
{
	add(r, PM_RESULT_F64, name, unit)->f64 = v;
}

void pm_result_str(struct pm_result *r, const char *name, const char *v)
{
	add(r, PM_RESULT_STR, name, NULL)->str = pm_arena_strdup(&r->mem, v);
}

void pm_result_hex(struct pm_result *r, const char *name, uint64_t v)
{
	add(r, PM_RESULT_HEX, name, NULL)->u64 = v;
}

void pm_result_null(struct pm_result *r, const char *name)
{
	add(r, PM_RESULT_NULL, name, NULL);
}

void pm_result_bool(struct pm_result *r, const char *name, int v)
{
	add(r, PM_RESULT_BOOL, name, NULL)->u64 = v != 0;
}

void pm_json_string(struct pm_buf *to, const char *s)
{
	pm_buf_add(to, "\"", 1);
	while (*s) {
		uint32_t code;
		unsigned n = pm_utf8_char(s, &code);

		if (!n)
			pm_buf_printf(to, "\\\\x%02x", (unsigned char)*s);
		else if (*s == '"' || *s == '\\')
			pm_buf_printf(to, "\\%c", *s);
		else if (*s == '\n')
			pm_buf_add(to, "\\n", 2);
		else if (*s == '\t')
			pm_buf_add(to, "\\t", 2);
		else if (!pm_is_printable(code))
			pm_buf_printf(to, "\\u%04x", code);
		else
			pm_buf_add(to, s, n);
		s += n ? n : 1;
	}
	pm_buf_add(to, "\"", 1);
}

static void json_f64(struct pm_buf *to, double v)
{
	char text[40];

	if (!isfinite(v)) {
		pm_buf_add(to, "null", 4);
		return;
	}
	/* the shortest form that reads back as the same number */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	pm_buf_printf(to, "%s", text);
}

static bool is_scalar(const struct pm_result_node *n)
{
	return n->kind != PM_RESULT_OBJECT && n->kind != PM_RESULT_LIST;
}

void pm_result_json_node(const struct pm_result_node *n, struct pm_buf *to, unsigned depth)
{
	bool flat = true;	/* a list of plain values goes on one line */

	switch (n->kind) {
	case PM_RESULT_U64:
		pm_buf_printf(to, "%" PRIu64, n->u64);
		return;
	case PM_RESULT_F64:
		json_f64(to, n->f64);
		return;
	case PM_RESULT_STR:
		pm_json_string(to, n->str);
		return;
	case PM_RESULT_HEX:
		pm_buf_printf(to, "\"0x%" PRIx64 "\"", n->u64);
		return;
	case PM_RESULT_NULL:
		pm_buf_add(to, "null", 4);
		return;
	case PM_RESULT_BOOL:
		pm_buf_printf(to, "%s", n->u64 ? "true" : "false");
		return;
	case PM_RESULT_OBJECT:
	case PM_RESULT_LIST:
		break;
	}
	if (n->kind == PM_RESULT_OBJECT)
		flat = !n->first;
	for (const struct pm_result_node *c = n->first; c; c = c->next)
		flat = flat && is_scalar(c);
	pm_buf_add(to, n->kind == PM_RESULT_OBJECT ? "{" : "[", 1);
	for (const struct pm_result_node *c = n->first; c; c = c->next) {
		if (!flat)
			pm_buf_printf(to, "\n%*s", (int)(depth + 1) * 2, "");
		if (n->kind == PM_RESULT_OBJECT) {
			pm_json_string(to, c->name ? c->name : "");
			pm_buf_add(to, ": ", 2);
		}
		pm_result_json_node(c, to, depth + 1);
		if (c->next)
			pm_buf_add(to, flat ? ", " : ",", flat ? 2 : 1);
	}
	if (!flat)
		pm_buf_printf(to, "\n%*s", (int)depth * 2, "");
	pm_buf_add(to, n->kind == PM_RESULT_OBJECT ? "}" : "]", 1);
}

void pm_result_json(const struct pm_result *r, struct pm_buf *to)
{
	size_t begin = to->n;

	pm_result_json_node(&r->root, to, 0);
	pm_buf_add(to, "\n", 1);
	if (r->schema) {
		struct pm_buf rest = { 0 };

		pm_buf_add(&rest, to->p + begin + 1, to->n - begin - 1);
		to->n = begin;
		pm_buf_printf(to, "{\n  \"schema\": {\"name\": \"pugmark.%s\", \"version\": %d}%s",
			      r->schema, PM_SCHEMA_VERSION, r->root.first ? "," : "\n");
		pm_buf_add(to, rest.p, rest.n);
		pm_buf_release(&rest);
	}
}
