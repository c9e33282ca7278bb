/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/values.h"

/* "256k" at @s: the number, and where it ends; false: none. */
static bool number_at(const char *s, const char **end, uint64_t *v)
{
	char text[32];
	size_t n = strspn(s, "0123456789");

	if (!n || n > 20)
		return false;
	/* of "4kway" the number is 4: that is no size */
	if (s[n] && strchr("kKmMgG", s[n]) && !isalpha((unsigned char)s[n + 1]))
		n++;
	memcpy(text, s, n);
	text[n] = 0;
	*end = s + n;
	return pm_parse_size(text, v);
}

/* Where "A..B" has its dots; NULL: it is no range. */
static const char *dots_of(const char *s)
{
	const char *end;
	uint64_t v;

	return number_at(s, &end, &v) && !strncmp(end, "..", 2) &&
	       isdigit((unsigned char)end[2]) ? end : NULL;
}

bool pm_is_list(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p == '|')
			return true;
	return dots_of(text);
}

static void add(struct pm_values *to, struct pm_arena *mem, const char *text)
{
	pm_grow(to->v, to->n, to->cap);
	to->v[to->n++] = pm_arena_strdup(mem, text);
}

/* With the largest suffix that leaves no rest, if the user wrote one. */
static void add_number(struct pm_values *to, struct pm_arena *mem, uint64_t v, bool sizes,
		       const char *behind)
{
	static const char *const unit[] = { "", "k", "m", "g" };
	unsigned k = 0;
	char text[64];

	for (; sizes && k < 3 && v && v % 1024 == 0; k++)
		v /= 1024;
	snprintf(text, sizeof text, "%" PRIu64 "%s%s", v, unit[k], behind);
	add(to, mem, text);
}

static enum pm_status add_range(struct pm_values *to, struct pm_arena *mem, const char *text,
				struct pm_err *err)
{
	const char *end, *from = text;
	uint64_t lo, hi, step = 1;
	bool sizes, times = false;

	number_at(text, &end, &lo);
	if (!number_at(end + 2, &end, &hi))
		return pm_fail_request(err, "'%s' is no range A..B", text);
	sizes = false;
	for (const char *p = from; p < end; p++)
		sizes |= isalpha((unsigned char)*p) != 0;
	if (*end == '*' || *end == '+') {
		times = *end == '*';
		if (!number_at(end + 1, &end, &step))
			return pm_fail_request(err, "'%s': a step is a number", text);
	} else if (sizes) {
		return pm_fail_request(err, "'%s' needs a step: *2, or +64k", text);
	}
	if (step < 1u + times || (times && !lo))
		return pm_fail_request(err, "'%s' would never end: the step is too small", text);
	if (lo > hi)
		return pm_fail_request(err, "'%s' goes down: the smaller end comes first", text);
	if (strstr(end, ".."))		/* each value would be a range again */
		return pm_fail_request(err, "'%s': what is behind the range looks like another "
				       "one", text);
	if (strlen(end) > 15)
		return pm_fail_request(err, "'%s': what is behind the range is too long", text);
	for (;;) {
		if (to->n >= PM_VALUES)
			return pm_fail_request(err, "'%s': more than %u values", text,
					       PM_VALUES);
		add_number(to, mem, lo, sizes, end);
		if (times ? lo > hi / step : hi - lo < step)
			return PM_OK;
		lo = times ? lo * step : lo + step;
	}
}

/* 8|16way: 8way. */
static void share_unit(struct pm_values *to, struct pm_arena *mem)
{
	const char *last = to->n ? to->v[to->n - 1] : "", *end;
	uint64_t v;

	if (!number_at(last, &end, &v) || !isalpha((unsigned char)*end))
		return;
	for (size_t i = 0; i + 1 < to->n; i++)
		if (strspn(to->v[i], "0123456789") == strlen(to->v[i])) {
			struct pm_buf b = { 0 };

			pm_buf_printf(&b, "%s%s", to->v[i], end);
			pm_buf_add(&b, "", 1);
			to->v[i] = pm_arena_strdup(mem, (const char *)b.p);
			pm_buf_release(&b);
		}
}

enum pm_status pm_values_parse(struct pm_values *to, struct pm_arena *mem, const char *text,
				  struct pm_err *err)
{
	char *copy = pm_strdup(text), *at = copy, *one;
	enum pm_status s = PM_OK;

	while (!s && (one = strsep(&at, "|"))) {
		char *end = one + strlen(one);

		while (*one == ' ')
			one++;
		while (end > one && end[-1] == ' ')
			*--end = 0;
		if (to->n >= PM_VALUES)
			s = pm_fail_request(err, "more than %u values", PM_VALUES);
		else if (dots_of(one))
			s = add_range(to, mem, one, err);
		else
			add(to, mem, one);
	}
	if (!s)
		share_unit(to, mem);
	for (size_t i = 0; !s && i < to->n && to->n < 1000; i++)
		for (size_t k = 0; !s && k < i; k++)
			if (!strcmp(to->v[i], to->v[k]))
				s = pm_fail_request(err, "'%s' is given twice in '%s'", to->v[i],
						    text);
	free(copy);
	return s;
}

void pm_values_unit(const struct pm_values *v, char to[static 16])
{
	to[0] = 0;
	for (size_t i = 0; i < v->n; i++) {
		size_t n = strspn(v->v[i], "0123456789");
		const char *unit = v->v[i] + n;

		if (!n || !isalpha((unsigned char)*unit) || !unit[1] || strlen(unit) > 15 ||
		    (i && strcmp(unit, to))) {
			to[0] = 0;
			return;
		}
		strcpy(to, unit);
	}
}

void pm_values_release(struct pm_values *v)
{
	free(v->v);
	*v = (struct pm_values){ 0 };
}
