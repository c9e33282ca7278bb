/* SPDX-License-Identifier: MIT */
/* question.c - questions as people write them */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "collect/query/registers.h"
#include "collect/query/query_work.h"

#define WORDS 5				/* of a question, at most; one more says that there are too
					 * many */

static size_t split(char *text, char *word[WORDS + 1])
{
	size_t n = 0;

	for (char *p = strtok(text, " \t\n"); p && n <= WORDS; p = strtok(NULL, " \t\n"))
		word[n++] = p;
	return n;
}

static bool parse_range(char *text, struct query *q)
{
	char *const dots = strstr(text, ".."), *const plus = strchr(text, '+');

	q->hi = 0;
	if (dots) {
		*dots = 0;
		if (!pm_parse_u64(dots + 2, &q->hi))
			return false;
	} else if (plus) {
		*plus = 0;
		if (!pm_parse_u64(plus + 1, &q->hi) || !q->hi)
			return false;
	}
	if (!pm_parse_u64(text, &q->lo))
		return false;
	if (!dots)
		q->hi = q->lo + (plus ? q->hi : 1);
	return q->lo < q->hi;
}

static enum pm_status at_position(const char *text, struct query *q, struct pm_err *err)
{
	if (pm_position_parse(text, &q->at))
		return PM_OK;
	return pm_fail_request(err, "'%s' is no position: THREAD@CLOCK+INSTRUCTIONS, such as "
			       "4711@57+12", text);
}

static enum pm_status with_range(char *text, struct query *q, struct pm_err *err)
{
	char was[128];

	snprintf(was, sizeof was, "%s", text);
	if (!parse_range(text, q))
		return pm_fail_request(err, "'%s' are no addresses: LO..HI, LO+BYTES or one", was);
	if (q->hi - q->lo > QUERY_BYTES)
		return pm_fail_request(err, "'%s' are %llu bytes: at most %u", was,
				       (unsigned long long)(q->hi - q->lo), QUERY_BYTES);
	return PM_OK;
}

/* The rest of a question behind its first word, in quotes or not: names may have blanks. */
static void put_name(const char *text, char *to, size_t n)
{
	const char *at = text + strspn(text, " \t\n"), *end;

	at += strcspn(at, " \t\n");
	at += strspn(at, " \t\n");
	for (end = at + strlen(at); end > at && strchr(" \t\n", end[-1]); end--)
		;
	if (end - at > 2 && strchr("'\"", *at) && end[-1] == *at) {
		at++;
		end--;
	}
	snprintf(to, n, "%.*s", (int)(end - at), at);
}

enum pm_status query_parse(const char *text, struct query *q, struct pm_err *err)
{
	static const struct {
		const char *word, *joint;	/* joint: in front of a position */
		enum query_kind kind;
		bool range;
	} kinds[] = {
		{ "value", "at", QUERY_VALUE, false },
		{ "memory", "at", QUERY_MEMORY, true },
		{ "calls", NULL, QUERY_CALLS, false },
		{ "writes", NULL, QUERY_WRITES, true },
		{ "last-write", "before", QUERY_LAST_WRITE, true },
	};
	char copy[512], *word[WORDS + 1];
	size_t n, k;

	*q = (struct query){ 0 };
	snprintf(copy, sizeof copy, "%s", text);
	n = split(copy, word);
	for (k = 0; n && k < NR(kinds) && strcmp(kinds[k].word, word[0]); k++)
		;
	if (!n || k == NR(kinds))
		return pm_fail_request(err, "'%s' is no question: value, memory, calls, writes or "
				       "last-write", text);
	if (n < 2 || (kinds[k].kind != QUERY_CALLS && n != (kinds[k].joint ? 4 : 2)) ||
	    (kinds[k].joint && strcmp(word[2], kinds[k].joint)))
		return pm_fail_request(err, "expected '%s %s%s%s%s', found '%s'", word[0],
				       kinds[k].range ? "LO..HI" : k ? "FUNCTION" : "REGISTER",
				       kinds[k].joint ? " " : "",
				       kinds[k].joint ? kinds[k].joint : "",
				       kinds[k].joint ? " POSITION" : "", text);
	q->kind = kinds[k].kind;
	if (kinds[k].joint && at_position(word[3], q, err) != PM_OK)
		return PM_ERR;
	if (kinds[k].range)
		return with_range(word[1], q, err);
	if (q->kind == QUERY_CALLS && n == 2 && pm_parse_u64(word[1], &q->pc))
		return PM_OK;
	if (q->kind == QUERY_CALLS) {
		put_name(text, q->name, sizeof q->name);
		return PM_OK;
	}
	snprintf(q->name, sizeof q->name, "%s", word[1]);
	if (q->kind == QUERY_VALUE && !query_is_register(q->name))
		return pm_fail_request(err, "there is no register '%s'", q->name);
	return PM_OK;
}
