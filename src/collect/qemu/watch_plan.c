/* SPDX-License-Identifier: MIT */
#include "collect/qemu/watch_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define EARLY		"x86_64_start_kernel"
#define MEMORY		0xffff888000000000ull	/* of a kernel that does not move it */
#define WORD		96

struct plan_maker {
	struct qs_plan *p;
	const struct linux_image *k;
	unsigned nvalue;
	struct pm_err *err;
};

static bool starts(const char *s, const char *with, const char **behind)
{
	const size_t n = strlen(with);

	if (strncmp(s, with, n))
		return false;
	*behind = s + n;
	return true;
}

/* A place: the sum of the members' offsets. */
static const char *parse_place(struct plan_maker *m, const char *s, int32_t *at)
{
	char word[WORD], *dot;
	uint32_t off;
	size_t n;

	*at = 0;
	do {
		n = strcspn(s, " >+/$#@");
		if (n >= sizeof word)
			return NULL;
		memcpy(word, s, n);
		word[n] = 0;
		dot = strchr(word, '.');
		if (!dot) {
			*at += atoi(word);
		} else {
			*dot = 0;
			if (!linux_image_member(m->k, word, dot + 1, &off) || off > INT32_MAX / 8) {
				pm_fail(m->err, 0, "the kernel's types (BTF) have no member %s of "
					"struct %s", dot + 1, word);
				return NULL;
			}
			*at += (int32_t)off;
		}
		s += n;
	} while (*s++ == '+');
	return s - 1;
}

static const char *parse_symbol(const struct plan_maker *m, const char *s, uint64_t *addr)
{
	const size_t n = strcspn(s, " >/$#@");
	char word[WORD];

	snprintf(word, sizeof word, "%.*s", (int)n, s);
	*addr = linux_image_symbol(m->k, word);
	return s + n;
}

static const char *parse_value(struct plan_maker *m, const char *s, struct qs_value *v)
{
	static const char *const name[QS_ARGUMENTS] = {
		"rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax",
	};
	char *end;

	*v = (struct qs_value){ .size = 8 };
	if (*s == '=') {
		v->from = QS_SAVED;
		v->start = strtoull(s + 1, &end, 10);
		s = end;
	} else if (*s == '&') {
		v->from = QS_SYMBOL;
		s = parse_symbol(m, s + 1, &v->start);
	} else {
		for (unsigned i = 0; i < QS_ARGUMENTS; i++)
			if (starts(s, name[i], &s)) {
				v->from = (uint8_t)i;
				break;
			}
	}
	while (s && *s == '>' && v->steps < QS_STEPS)
		s = parse_place(m, s + 1, &v->step[v->steps++]);
	if (s && *s == '/') {
		v->size = (uint8_t)strtoul(s + 1, &end, 10);
		s = end;
	}
	if (s && *s == '@') {
		v->kind = QS_PAGE;
		v->address = (uint8_t)strtoul(s + 1, &end, 10);
		s = end;
	} else if (s && *s == '$') {
		v->kind = QS_STRING;
		s++;
	} else if (s && *s == '#') {
		v->kind = QS_FRAME;
		s++;
	}
	return s;
}

/* How many values; the error is set if one cannot be had. */
static uint16_t parse_values(struct plan_maker *m, const char *s)
{
	uint16_t n = 0;

	while (s && *s && m->nvalue < QS_VALUES) {
		s = parse_value(m, s, &m->p->value[m->nvalue]);
		if (!s || (*s && *s != ' ')) {
			pm_fail(m->err, 0, "a value of the table of functions makes no sense");
			return 0;
		}
		s += *s == ' ';
		m->nvalue++;
		n++;
	}
	return n;
}

/* The first of them that there is; 0: none. */
static uint64_t function(const struct linux_image *k, const char *names)
{
	char word[WORD];
	uint64_t at = 0;

	while (*names && !at) {
		size_t n = strcspn(names, "|");

		snprintf(word, sizeof word, "%.*s", (int)n, names);
		at = linux_image_symbol(k, word);
		names += n;
		names += *names == '|';
	}
	return at;
}

enum pm_status watch_plan_make(struct qs_plan *p, const struct watch_row *row, unsigned n,
			       const struct linux_image *k, struct pm_err *err)
{
	struct plan_maker m = { p, k, 0, err };
	const uint8_t *mark = linux_image_mark(k, &p->mark_at, QS_MARK);

	p->magic = QS_MAGIC;
	p->early = linux_image_symbol(k, EARLY);
	if (!p->early || !mark)
		return pm_fail(err, 0, "the kernel has no function " EARLY ": is it for x86_64?");
	memcpy(p->mark, mark, QS_MARK);
	p->memory_at = linux_image_symbol(k, "page_offset_base");
	p->memory = MEMORY;
	if (!p->memory_at && !linux_image_symbol(k, "init_task"))
		return pm_fail(err, 0, "the kernel's symbols are its functions alone: it was built "
			       "without CONFIG_KALLSYMS_ALL");
	p->nwatch = n;
	for (unsigned i = 0; i < n && !pm_failed(err); i++) {
		struct qs_watch *w = &p->watch[i];

		w->at = function(k, row[i].function);
		w->first = (uint16_t)m.nvalue;
		if (!w->at) {
			if (!row[i].optional)
				return pm_fail(err, 0, "the kernel has no function %s, which is "
					       "needed for its events", row[i].function);
			continue;
		}
		w->enter = parse_values(&m, row[i].call);
		w->returns = !!row[i].ret;
		w->leave = row[i].ret ? parse_values(&m, row[i].ret) : 0;
	}
	if (!pm_failed(err) && m.nvalue == QS_VALUES)
		return pm_fail(err, 0, "too many values are wanted");
	return pm_failed(err) ? PM_ERR : PM_OK;
}
