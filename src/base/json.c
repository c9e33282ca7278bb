/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/result.h"
#include "pugmark/pugmark.h"

#define DEEPEST	64

struct json {
	const char *p, *end;
	uint64_t line;
	unsigned depth;
	struct pm_result *r;
	struct pm_buf *schema;		/* its name goes there; NULL: nobody asks */
	struct pm_err *err;
};

static enum pm_status value(struct json *j, const char *name);

static enum pm_status wrong(struct json *j, const char *what)
{
	return pm_fail_line(j->err, j->line, "expected %s", what);
}

static void pass_blanks(struct json *j)
{
	for (; j->p < j->end && *j->p && strchr(" \t\r\n", *j->p); j->p++)
		j->line += *j->p == '\n';
}

static bool is_next(struct json *j, char c)
{
	pass_blanks(j);
	if (j->p == j->end || *j->p != c)
		return false;
	j->p++;
	return true;
}

static void add_utf8(struct pm_buf *to, unsigned c)
{
	if (c < 0x80)
		pm_buf_printf(to, "%c", c);
	else if (c < 0x800)
		pm_buf_printf(to, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
	else
		pm_buf_printf(to, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
}

static bool escape(struct json *j, struct pm_buf *to)
{
	static const char from[] = "\"\\/bfnrt", is[] = "\"\\/\b\f\n\r\t";
	const char *at;
	char hex[5] = "", *end;
	unsigned c;

	if (j->p == j->end || !*j->p)
		return false;
	if (*j->p != 'u') {
		at = strchr(from, *j->p++);
		if (at)
			pm_buf_add(to, is + (at - from), 1);
		return at;
	}
	if (j->end - j->p < 5)
		return false;
	memcpy(hex, j->p + 1, 4);
	c = (unsigned)strtoul(hex, &end, 16);
	/* a text ends at a zero byte: there is none in it */
	if (end != hex + 4 || hex[0] == '-' || hex[0] == '+' || hex[0] == ' ' || !c)
		return false;
	add_utf8(to, c);
	j->p += 5;
	return true;
}

/* The text behind a quote, with a zero at its end. */
static enum pm_status text(struct json *j, struct pm_buf *to)
{
	for (;;) {
		const char *from = j->p;

		while (j->p < j->end && *j->p != '"' && *j->p != '\\' && (unsigned char)*j->p >= 32)
			j->p++;
		pm_buf_add(to, from, (size_t)(j->p - from));
		if (j->p == j->end || (unsigned char)*j->p < 32)
			return wrong(j, "the end of a text");
		if (*j->p++ == '"')
			break;
		if (!escape(j, to))
			return wrong(j, "an escape");
	}
	pm_buf_add(to, "", 1);
	return PM_OK;
}

static enum pm_status number(struct json *j, const char *name)
{
	size_t n = strspn(j->p, "0123456789");
	char *end;

	if (n && j->p + n <= j->end && !strchr(".eE", j->p[n] ? j->p[n] : ' ')) {
		uint64_t v;

		errno = 0;
		v = strtoull(j->p, &end, 10);
		if (!errno) {
			j->p = end;
			pm_result_u64(j->r, name, v, NULL);
			return PM_OK;
		}
	}
	n = strspn(j->p, "+-.eE0123456789");
	if (!n || (*j->p != '-' && (*j->p < '0' || *j->p > '9')))
		return wrong(j, "a value");
	pm_result_f64(j->r, name, strtod(j->p, &end), NULL);
	if (end != j->p + n)
		return wrong(j, "a number");
	j->p = end;
	return PM_OK;
}

static void note_schema(const struct pm_result *said, struct pm_buf *to)
{
	const struct pm_result_node *n = pm_result_find(pm_result_root(said), "schema");

	n = n ? pm_result_find(n, "name") : NULL;
	if (!n || n->kind != PM_RESULT_STR || to->n)
		return;
	pm_buf_add(to, n->str, strlen(n->str) + 1);
}

/* What a document says about its own schema is no part of the tree. */
static enum pm_status member(struct json *j, const char *name)
{
	struct pm_result *to = j->r;
	enum pm_status s;

	if (j->depth || strcmp(name, "schema"))
		return value(j, name);
	j->r = pm_result_new();
	s = value(j, name);
	if (!s && j->schema)
		note_schema(j->r, j->schema);
	pm_result_free(j->r);
	j->r = to;
	return s;
}

static enum pm_status members(struct json *j)
{
	if (is_next(j, '}'))
		return PM_OK;
	do {
		struct pm_buf name = { 0 };
		enum pm_status s = PM_ERR;

		if (!is_next(j, '"'))
			wrong(j, "a name");
		else if (!text(j, &name))
			s = is_next(j, ':') ? member(j, (const char *)name.p) : wrong(j, "':'");
		pm_buf_release(&name);
		if (s)
			return PM_ERR;
	} while (is_next(j, ','));
	return is_next(j, '}') ? PM_OK : wrong(j, "',' or '}'");
}

static enum pm_status elements(struct json *j)
{
	if (is_next(j, ']'))
		return PM_OK;
	do
		if (value(j, NULL))
			return PM_ERR;
	while (is_next(j, ','));
	return is_next(j, ']') ? PM_OK : wrong(j, "',' or ']'");
}

static enum pm_status nested(struct json *j, const char *name, bool list)
{
	enum pm_status s;

	if (j->depth == DEEPEST)
		return wrong(j, "less than 64 levels");
	j->depth++;
	(list ? pm_result_begin_list : pm_result_begin)(j->r, name);
	s = list ? elements(j) : members(j);
	pm_result_end(j->r);
	j->depth--;
	return s;
}

static bool word(struct json *j, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(j->end - j->p) < n || memcmp(j->p, w, n))
		return false;
	j->p += n;
	return true;
}

static enum pm_status value(struct json *j, const char *name)
{
	struct pm_buf buf = { 0 };
	enum pm_status s = PM_OK;

	if (is_next(j, '{'))
		return nested(j, name, false);
	if (is_next(j, '['))
		return nested(j, name, true);
	if (is_next(j, '"')) {
		s = text(j, &buf);
		if (!s)
			pm_result_str(j->r, name, (const char *)buf.p);
		pm_buf_release(&buf);
		return s;
	}
	if (word(j, "true"))
		pm_result_bool(j->r, name, 1);
	else if (word(j, "false"))
		pm_result_bool(j->r, name, 0);
	else if (word(j, "null"))
		pm_result_null(j->r, name);
	else
		s = j->p < j->end ? number(j, name) : wrong(j, "a value");
	return s;
}

enum pm_status pm_json_read(const char *s, size_t n, struct pm_result *r, struct pm_err *err)
{
	return pm_json_read_named(s, n, r, NULL, err);
}

enum pm_status pm_json_read_named(const char *s, size_t n, struct pm_result *r,
				  struct pm_buf *schema, struct pm_err *err)
{
	struct json j = { .p = s, .end = s + n, .line = 1, .r = r, .schema = schema, .err = err };

	if (!is_next(&j, '{'))
		return wrong(&j, "a JSON object");
	if (members(&j))
		return PM_ERR;
	pass_blanks(&j);
	return j.p == j.end ? PM_OK : wrong(&j, "nothing behind the object");
}
