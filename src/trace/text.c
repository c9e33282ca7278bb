/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/near.h"
#include "base/number.h"
#include "trace/text.h"

const int8_t pm_hexval[256] = {
#define N16 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
#define LETTERS -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1
	N16, N16, N16,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1, -1, -1, -1,
	LETTERS, N16, LETTERS, N16,
	N16, N16, N16, N16, N16, N16, N16, N16,
#undef N16
#undef LETTERS
};

enum pm_status pm_lines_fill(struct pm_lines *l, struct pm_err *err)
{
	size_t want = PM_WINDOW, got;

	pm_input_skip(l->in, (size_t)(l->p - l->base));
	l->base = l->p = l->end = NULL;
	for (;;) {
		const uint8_t *w = pm_input_peek(l->in, want, &got, err);

		if (!w)
			return pm_failed(err) ? PM_ERR : PM_END;
		if (!got)
			return PM_END;
		l->base = l->p = w;
		l->end = w + got;
		if (got < want || memchr(w, '\n', got))
			break;
		if (want > PM_LINE_MAX) {
			l->end = l->p;
			return pm_fail_line(err, l->line + 1, "line longer than %d bytes",
					    PM_LINE_MAX);
		}
		want = PM_LINE_MAX + 2;
	}
	return PM_OK;
}

bool pm_hex(const char *s, size_t n, uint64_t *v)
{
	uint64_t x = 0;

	if (n > 2 && s[0] == '0' && (s[1] | 32) == 'x') {
		s += 2;
		n -= 2;
	}
	if (!n)
		return false;
	while (n > 16 && *s == '0') {
		s++;
		n--;
	}
	if (n > 16)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = pm_hexval[(uint8_t)s[i]];

		if (d < 0)
			return false;
		x = x << 4 | (unsigned)d;
	}
	*v = x;
	return true;
}

bool pm_dec(const char *s, size_t n, uint64_t *v)
{
	uint64_t x = 0;

	if (!n)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned d = (uint8_t)s[i] - '0';

		if (d > 9 || __builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, d, &x))
			return false;
	}
	*v = x;
	return true;
}

bool pm_sdec(const char *s, size_t n, int64_t *v)
{
	bool neg = n && *s == '-';
	uint64_t x;

	if (!pm_dec(s + neg, n - neg, &x) || x > (uint64_t)INT64_MAX + neg)
		return false;
	*v = (int64_t)(neg ? -x : x);
	return true;
}

bool pm_num(const char *s, size_t n, uint64_t *v)
{
	if (n > 2 && s[0] == '0' && (s[1] | 32) == 'x')
		return pm_hex(s, n, v);
	return pm_dec(s, n, v);
}

char *pm_put_dec_wide(char *p, uint64_t v)
{
	char tmp[20], *t = tmp + sizeof tmp;

	do
		*--t = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(p, t, (size_t)(tmp + sizeof tmp - t));
	return p + (tmp + sizeof tmp - t);
}

void pm_opaque_header(struct pm_builder *b, const char *format, const void *detail, size_t n)
{
	size_t len = strlen(format) + 1;
	uint64_t at = pm_builder_bytes(b, format, len);

	pm_builder_bytes(b, detail, n);
	/* the size is 16 bits wide; a longer detail (a whole block table) has its length in
	 * value */
	pm_ev_add(b, PM_EV_OPAQUE, PM_OPAQUE_HEADER,
		  len + n > UINT16_MAX ? UINT16_MAX : (unsigned)(len + n), at, len + n);
}

const uint8_t *pm_opaque_is(const struct pm_batch *b, const struct pm_event *e, const char *format,
			    size_t *n)
{
	size_t len;

	if (e->kind != PM_EV_OPAQUE || e->flags != PM_OPAQUE_HEADER)
		return NULL;
	len = strlen(format) + 1;
	if (!e->size || e->value < len || e->addr > b->narena ||
	    b->narena - e->addr < e->value || memcmp(b->arena + e->addr, format, len))
		return NULL;
	*n = e->value - len;
	return b->arena + e->addr + len;
}

enum pm_status pm_copy_records(struct pm_output *out, const struct pm_batch *b, size_t i,
			       struct pm_err *err)
{
	uint64_t from = 0, some = 0;

	for (; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind != PM_EV_OPAQUE || e->flags != 2 || e->addr > b->narena ||
		    b->narena - e->addr < e->value)
			continue;
		if (e->addr != from + some) {
			if (some && pm_output_write(out, b->arena + from, some, err) == PM_ERR)
				return PM_ERR;
			from = e->addr;
			some = 0;
		}
		some += e->value;
	}
	return some ? pm_output_write(out, b->arena + from, some, err) : PM_OK;
}

enum pm_status pm_plain_write(struct pm_plain *w, const char *format, const struct pm_batch *b,
			      size_t max, pm_put_event *put, struct pm_err *err)
{
	size_t i = 0, len;

	while (i < b->n) {
		size_t room = b->n - i < 512 ? b->n - i : 512;
		char *start = (char *)pm_output_reserve(w->out, room * max, err), *p = start;

		if (!start)
			return PM_ERR;
		for (size_t stop = i + room; i < stop; i++) {
			const struct pm_event *e = &b->ev[i];

			if (e->kind == PM_EV_OPAQUE && !w->native &&
			    pm_opaque_is(b, e, format, &len))
				w->native = true;
			p = put(w, p, b, e, err);
			if (!p)
				return PM_ERR;
		}
		if (pm_output_commit(w->out, (size_t)(p - start), err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

const uint64_t *pm_plain_dropped(void *self)
{
	return ((struct pm_plain *)self)->dropped;
}

enum pm_status pm_plain_finish(void *self, struct pm_err *err)
{
	return PM_OK;
}

enum pm_status pm_fail_wide(struct pm_err *err, uint64_t addr, const char *instead)
{
	return pm_fail_file(err, "address 0x%llx needs more than 32 bits; %s",
			    (unsigned long long)addr, instead);
}

enum pm_status pm_fail_text(struct pm_err *err, uint64_t line, const char *want, const char *s,
			    size_t n)
{
	char found[44];
	size_t len = n < 40 ? n : 40;

	for (size_t i = 0; i < len; i++)
		found[i] = s[i] < ' ' || s[i] > '~' ? '?' : s[i];
	found[len] = 0;
	return pm_fail_line(err, line, "expected %s, found '%s%s'", want, found,
			    len < n ? "..." : "");
}

enum pm_status pm_window_fill(struct pm_window *w, size_t want, struct pm_err *err)
{
	size_t got = 0;

	pm_input_skip(w->in, (size_t)(w->p - w->base));
	w->base = w->p = pm_input_peek(w->in, want, &got, err);
	w->end = w->p + got;
	if (!w->p)
		w->end = NULL;
	if (pm_failed(err))
		return PM_ERR;
	return got ? PM_OK : PM_END;
}

bool pm_looks_text(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < n && i < 512; i++)
		if (head[i] > '~' ||
		    (head[i] < ' ' && head[i] != '\n' && head[i] != '\t' && head[i] != '\r'))
			return false;
	return true;
}

const char *pm_fmt_option(const char *options, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	for (const char *o = options; o && *o; ) {
		size_t n = strcspn(o, ",");

		if (n >= len && !strncmp(o, key, len) && (n == len || o[len] == '=')) {
			size_t skip = n == len ? len : len + 1;

			snprintf(buf, size, "%.*s", (int)(n - skip), o + skip);
			return buf;
		}
		o += n + (o[n] == ',');
	}
	return NULL;
}

enum pm_status pm_fmt_option_insns(const char *options, const char *key, uint64_t least,
				   uint64_t *n, struct pm_err *err)
{
	char buf[24];
	const char *v = pm_fmt_option(options, key, buf, sizeof buf);

	if (!v || (pm_parse_u64(v, n) && *n >= least))
		return PM_OK;
	return pm_fail_request(err, "%s=%s: expected a number of instructions", key, v);
}

static enum pm_status unknown_option(const char *option, size_t n, const char *known,
				     struct pm_err *err)
{
	struct pm_nearest near = { 0 };
	char *typed = pm_strndup(option, n), hint[PM_NEAR_HINT];

	for (const char *k = known; *k; k += strcspn(k, " "), k += *k == ' ') {
		char *name = pm_strndup(k, strcspn(k, " "));

		pm_nearest_try(&near, typed, name);
		free(name);
	}
	pm_fail_request(err, "unknown format option '%s', expected %s%s", typed,
			*known ? known : "none", pm_nearest_hint(&near, hint));
	free(typed);
	return PM_ERR;
}

enum pm_status pm_fmt_options_check(const char *options, const char *known, struct pm_err *err)
{
	for (const char *o = options; o && *o; ) {
		size_t n = strcspn(o, ","), key = strcspn(o, ",=");
		const char *k = known;
		bool found = false;

		while (*k && !found) {
			size_t len = strcspn(k, " ");

			found = len == key && !strncmp(k, o, key);
			k += len + (k[len] == ' ');
		}
		if (!found)
			return unknown_option(o, key, known, err);
		o += n + (o[n] == ',');
	}
	return PM_OK;
}
