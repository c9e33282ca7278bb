/* SPDX-License-Identifier: MIT */
/* qmp.h - questions to a QEMU that runs, in its own protocol (QMP): a line of JSON each
 *
 * Ownership  the socket is the caller's. qmp_release().
 * Threads    one */
#ifndef PM_QEMU_QMP_H
#define PM_QEMU_QMP_H

#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct qmp {
	int fd;
	struct pm_buf in;		/* what has come, without the lines that were read */
	bool was_reset;			/* QEMU has told that the guest was */
};

/* The first of all, which needs no answer to be waited for; false: it cannot be sent. */
bool qmp_hello(struct qmp *q);
/* Ask, and wait for the answer: a line, in @answer, which may be NULL. @meanwhile is called often;
 * if it fails, nobody waits any more. PM_ERR: it failed, QEMU is gone, or its answer is an
 * error. */
enum pm_status qmp_ask(struct qmp *q, const char *command, const char *arguments,
		       struct pm_buf *answer, enum pm_status (*meanwhile)(void *, struct pm_err *),
		       void *ctx, struct pm_err *err);
/* A line for its monitor for people; @answer: what it printed, with a 0 behind it. */
enum pm_status qmp_ask_human(struct qmp *q, const char *line, struct pm_buf *answer,
			     enum pm_status (*meanwhile)(void *, struct pm_err *), void *ctx,
			     struct pm_err *err);
/* What has come until now, and is no answer. */
void qmp_listen(struct qmp *q);
void qmp_release(struct qmp *q);

#endif
