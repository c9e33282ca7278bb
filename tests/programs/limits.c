/* SPDX-License-Identifier: MIT */
/* limits.c [inside] - a program that limits its own addresses, and its children's */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "self_check.h"

#define MIB (1ul << 20)

static void see(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit r;

	CHECK(!getrlimit(resource, &r) && r.rlim_cur == soft && r.rlim_max == hard);
	CHECK(!prlimit(getpid(), resource, NULL, &r) && r.rlim_cur == soft && r.rlim_max == hard);
}

int main(int argc, char **argv)
{
	const struct rlimit as = { 1024 * MIB, 2048 * MIB }, less = { 768 * MIB, 2048 * MIB },
			    wrong = { 2, 1 };
	int status;
	pid_t pid;
	char *p;

	if (argc > 1) {
		see(RLIMIT_AS, as.rlim_cur, as.rlim_max);
		p = malloc(100 * MIB);
		CHECK(p);
		memset(p, 1, 100 * MIB);
		free(p);
		return 7;
	}
	CHECK(!setrlimit(RLIMIT_AS, &as));
	see(RLIMIT_AS, as.rlim_cur, as.rlim_max);
	CHECK(setrlimit(RLIMIT_AS, &wrong) < 0 && errno == EINVAL);
	CHECK(!prlimit(0, RLIMIT_AS, &less, NULL));
	see(RLIMIT_AS, less.rlim_cur, less.rlim_max);
	CHECK(!setrlimit(RLIMIT_AS, &as));
	p = mmap(NULL, 200 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	SECTION("mapped");
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "limits", "inside", NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	SECTION("executed");
	return 0;
}
