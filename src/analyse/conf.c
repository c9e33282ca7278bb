/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/number.h"

enum pm_status pm_conf_fail(const struct pm_conf *c, const struct pm_conf_item *it,
			    struct pm_err *err, const char *fmt, ...)
{
	char msg[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return pm_fail_request(err, "%s: %s%s%s", c->what, it ? it->name : "", it ? ": " : "", msg);
}

enum pm_status pm_conf_unknown(const struct pm_conf *c, const struct pm_conf_item *it,
			       struct pm_err *err, const char *word, const char *is_not,
			       const char *allowed)
{
	struct pm_nearest near = { 0 };
	char hint[PM_NEAR_HINT];

	pm_nearest_try_list(&near, word, allowed);
	pm_nearest_hint(&near, hint);
	/* all that there are, too, if a line has room for them */
	if (*hint && strlen(word) + strlen(hint) + strlen(allowed) > 160)
		return pm_conf_fail(c, it, err, "'%s' %s%s", word, is_not, hint);
	return pm_conf_fail(c, it, err, "'%s' %s%s allowed: %s", word, is_not,
			    *hint ? hint : ";", allowed);
}

static size_t count(const char *s, char sep)
{
	size_t n = 1;

	for (; *s; s++)
		n += *s == sep;
	return n;
}

enum pm_status pm_conf_list(struct pm_conf *c, const char *what, const char *text,
			    struct pm_err *err)
{
	size_t nfield = count(text, ',') + count(text, ';');
	struct pm_conf_field *f;
	char *at, *item, *word;

	*c = (struct pm_conf){ .what = what };
	c->text = pm_strdup(text);
	c->item = pm_alloc(count(text, ';') * sizeof *c->item);
	/* the fields of all items lie in one array, which the first item owns */
	f = pm_alloc(nfield * sizeof *f);
	c->item[0].field = f;
	if (!*text)
		return PM_OK;
	for (at = c->text; (item = strsep(&at, ";")); ) {
		struct pm_conf_item *it = c->item + c->n;
		char *eq = strchr(item, '=');

		if (!*item)
			return pm_conf_fail(c, NULL, err, "an item is empty in '%s'", text);
		if (eq)
			*eq = 0;
		*it = (struct pm_conf_item){ item, f, 0 };
		c->n++;
		if (!*item)
			return pm_conf_fail(c, NULL, err, "a name is missing before '=' in '%s'",
					    text);
		if (!eq)
			continue;
		for (char *p = eq + 1; (word = strsep(&p, ",")); ) {
			char *val = strchr(word, '=');

			if (!*word)
				return pm_conf_fail(c, it, err, "an empty field in '%s'", text);
			if (val)
				*val++ = 0;
			f[it->n++] = (struct pm_conf_field){ word, val };
		}
		f += it->n;
	}
	return PM_OK;
}

enum pm_status pm_conf_parse(struct pm_conf *c, const char *what, const char *text,
			     struct pm_err *err)
{
	if (pm_conf_list(c, what, text, err))
		return PM_ERR;
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(c->item[i].name, c->item[k].name))
				return pm_conf_fail(c, c->item + i, err, "given twice in '%s'",
						    text);
	return PM_OK;
}

void pm_conf_release(struct pm_conf *c)
{
	if (c->item)
		free(c->item[0].field);
	free(c->item);
	free(c->text);
	*c = (struct pm_conf){ 0 };
}

enum pm_status pm_conf_u64(const struct pm_conf *c, const struct pm_conf_item *it, const char *text,
			   const char *meaning, uint64_t lo, uint64_t hi, uint64_t *v,
			   struct pm_err *err)
{
	if (!text || !pm_parse_size(text, v))
		return pm_conf_fail(c, it, err,
				    "%s: '%s' is not a number; allowed: %llu..%llu, with k, M or G "
				    "behind",
				    meaning, text ? text : "", (unsigned long long)lo,
				    (unsigned long long)hi);
	if (*v < lo || *v > hi)
		return pm_conf_fail(c, it, err, "%s: %s is outside %llu..%llu", meaning, text,
				    (unsigned long long)lo, (unsigned long long)hi);
	return PM_OK;
}

enum pm_status pm_conf_pow2(const struct pm_conf *c, const struct pm_conf_item *it,
			    const char *text, const char *meaning, uint64_t lo, uint64_t hi,
			    uint64_t *v, struct pm_err *err)
{
	if (pm_conf_u64(c, it, text, meaning, lo, hi, v, err))
		return PM_ERR;
	if (!*v || (*v & (*v - 1)))
		return pm_conf_fail(c, it, err, "%s: %s is not a power of two", meaning, text);
	return PM_OK;
}

int pm_conf_word(const char *word, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(word, names[i]))
			return i;
	return -1;
}

const char *pm_conf_names(const char *const *names, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = 0;
	for (; *names && n < size; names++)
		n += snprintf(buf + n, size - n, "%s%s", n ? ", " : "", *names);
	return buf;
}

void pm_conf_put(const struct pm_conf_item *it, struct pm_buf *to)
{
	pm_buf_printf(to, "%s%s%s", to->n ? ";" : "", it->name, it->n ? "=" : "");
	for (size_t k = 0; k < it->n; k++)
		pm_buf_printf(to, "%s%s%s%s", k ? "," : "", it->field[k].key,
			      it->field[k].val ? "=" : "",
			      it->field[k].val ? it->field[k].val : "");
}

enum pm_status pm_conf_keys(const char *what, const char *text, const struct pm_conf_key *keys,
			    struct pm_err *err)
{
	struct pm_conf c;
	enum pm_status s = pm_conf_parse(&c, what, text, err);

	for (size_t i = 0; !s && i < c.n; i++) {
		const struct pm_conf_item *it = c.item + i;
		const struct pm_conf_key *k = keys;

		while (k->name && strcmp(k->name, it->name))
			k++;
		if (!k->name) {
			char all[160];
			size_t n = 0;

			all[0] = 0;
			for (k = keys; k->name && n < sizeof all; k++)
				n += snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "",
					      k->name);
			s = pm_conf_unknown(&c, NULL, err, it->name, "is not a setting", all);
			break;
		}
		if (it->n != 1 || it->field[0].val)
			s = pm_conf_fail(&c, it, err, "expected one number: %s=N (%s)", k->name,
					 k->about);
		else
			s = (k->pow2 ? pm_conf_pow2 : pm_conf_u64)(&c, it, it->field[0].key,
								   k->about, k->lo, k->hi, k->to,
								   err);
	}
	pm_conf_release(&c);
	return s;
}
