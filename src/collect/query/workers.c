/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/query/workers.h"

enum pm_status worker_fork(pid_t *pid, struct pm_err *err)
{
	fflush(NULL);
	*pid = fork();
	if (*pid < 0) {
		*pid = 0;
		return pm_fail_errno(err, "cannot fork");
	}
	if (!*pid)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	return PM_OK;
}

void worker_end(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

void worker_put_text(struct pm_buf *b, const char *s)
{
	pm_buf_add(b, s ? s : "", s ? strlen(s) + 1 : 1);
}
