/* SPDX-License-Identifier: MIT */
#include "collect/qemu/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TICK		10		/* milliseconds */
#define MAX_LINE	(1u << 20)

bool qmp_hello(struct qmp *q)
{
	static const char hello[] = "{\"execute\":\"qmp_capabilities\",\"id\":0}\n";

	return send(q->fd, hello, sizeof hello - 1, MSG_NOSIGNAL) == sizeof hello - 1;
}

void qmp_release(struct qmp *q)
{
	pm_buf_release(&q->in);
}

/* What is there. False: it is the last, or makes no sense. */
static bool receive_lines(struct qmp *q)
{
	ssize_t n;

	do {
		n = recv(q->fd, pm_buf_room(&q->in, 4096), 4096, MSG_DONTWAIT);
		q->in.n += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && q->in.n < MAX_LINE) || (n < 0 && errno == EINTR));
	return n < 0 && errno == EAGAIN;
}

/* The line that was read goes. */
static void forget(struct qmp *q, size_t *used)
{
	if (!*used)
		return;
	memmove(q->in.p, q->in.p + *used, q->in.n - *used);
	q->in.n -= *used;
	*used = 0;
}

/* The next line, terminated; it goes with the next call. NULL: there is none. */
static const char *next_line(struct qmp *q, size_t *used)
{
	char *p, *end;

	forget(q, used);
	p = (char *)q->in.p;
	end = q->in.n ? memchr(p, '\n', q->in.n) : NULL;
	if (!end)
		return NULL;
	*end = 0;
	*used = (size_t)(end - p) + 1;
	if (strstr(p, "\"guest-reset\""))
		q->was_reset = true;
	return p;
}

void qmp_listen(struct qmp *q)
{
	size_t used = 0;

	receive_lines(q);
	while (next_line(q, &used))
		;
}

/* The answer to question 1, if it is there. */
static const char *find_answer(struct qmp *q, size_t *used)
{
	const char *line;

	while ((line = next_line(q, used)))
		if (strstr(line, "\"id\": 1"))
			return line;
	return NULL;
}

static enum pm_status send_all(struct qmp *q, const struct pm_buf *b, struct pm_err *err)
{
	if (send(q->fd, b->p, b->n, MSG_NOSIGNAL) != (ssize_t)b->n)
		return pm_fail_file(err, "ended while it was asked something");
	return PM_OK;
}

enum pm_status qmp_ask(struct qmp *q, const char *command, const char *arguments,
		       struct pm_buf *answer, enum pm_status (*meanwhile)(void *, struct pm_err *),
		       void *ctx, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	const char *line = NULL;
	enum pm_status st;
	size_t used = 0;

	pm_buf_printf(&b, "{\"execute\":\"%s\",\"id\":1%s%s}\n", command,
		      arguments ? ",\"arguments\":" : "", arguments ? arguments : "");
	st = send_all(q, &b, err);
	pm_buf_release(&b);
	while (st == PM_OK) {
		struct pollfd p = { .fd = q->fd, .events = POLLIN };
		bool more;

		poll(&p, 1, TICK);
		more = receive_lines(q);
		line = find_answer(q, &used);
		if (line)
			break;
		st = more ? meanwhile(ctx, err)
			  : pm_fail_file(err, "ended while it was asked something");
	}
	if (st == PM_OK && strstr(line, "\"error\": {"))
		st = pm_fail_file(err, "refuses %s: %.120s", command, line);
	if (st == PM_OK && answer)
		pm_buf_add(answer, line, strlen(line) + 1);
	forget(q, &used);
	return st;
}

/* What a string of JSON says, from behind its quotation mark on; only what QEMU's text has. */
static void unquote(const char *p, struct pm_buf *to)
{
	for (; *p && *p != '"'; p++) {
		char c = *p;

		if (c == '\\' && p[1]) {
			p++;
			c = *p == 'n' ? '\n' : *p == 'r' || *p == 'u' ? ' ' : *p;
		}
		pm_buf_add(to, &c, 1);
	}
	pm_buf_add(to, "", 1);
}

enum pm_status qmp_ask_human(struct qmp *q, const char *line, struct pm_buf *answer,
			     enum pm_status (*meanwhile)(void *, struct pm_err *), void *ctx,
			     struct pm_err *err)
{
	struct pm_buf said = { 0 };
	char arguments[128];
	enum pm_status st;
	const char *text;

	snprintf(arguments, sizeof arguments, "{\"command-line\":\"%s\"}", line);
	st = qmp_ask(q, "human-monitor-command", arguments, &said, meanwhile, ctx, err);
	if (st == PM_OK) {
		text = strstr((char *)said.p, "\"return\": \"");
		unquote(text ? text + 11 : "", answer);
	}
	pm_buf_release(&said);
	return st;
}
