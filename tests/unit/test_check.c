/* SPDX-License-Identifier: MIT */
/* A broken invariant ends a build that checks, and says which; another build does not look. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef PM_CHECKS
#define PM_CHECKS
#endif
#include "base/check.h"

/* How a process ends that checks @cond, and what it says, in @text. */
static int checked(bool cond, char *text, size_t size)
{
	int fd[2], status = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		dup2(fd[1], 2);
		signal(SIGABRT, SIG_DFL);
		PM_INVARIANT(7, cond);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], text, size - 1);
	text[n > 0 ? n : 0] = 0;
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_says_which(void **state)
{
	char text[512];
	int status;

	assert_int_equal(checked(true, text, sizeof text), 0);
	assert_string_equal(text, "");
	status = checked(false, text, sizeof text);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(text, "test_check.c"));
	assert_non_null(strstr(text, "invariant (7): cond"));
}

#undef PM_CHECKS
#undef PM_BASE_CHECK_H
#undef PM_INVARIANT
#include "base/check.h"

static void test_not_evaluated(void **state)
{
	unsigned n = 0;

	PM_INVARIANT(8, n++ == 1);
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says_which),
		cmocka_unit_test(test_not_evaluated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
