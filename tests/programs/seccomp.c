/* SPDX-License-Identifier: MIT */
/* seccomp.c - a program that forbids itself most system calls, and one that traps them */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include "self_check.h"

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
		  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
	ALLOW(SYS_rt_sigreturn), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static volatile int trapped;
static void on_sys(int sig, siginfo_t *si, void *context)
{
	trapped = si->si_syscall;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 1234;
	(void)sig;
}

static unsigned work(unsigned n)
{
	return n < 2 ? n : work(n - 1) + work(n - 2);
}

int main(void)
{
	struct sock_fprog prog = { sizeof filter / sizeof *filter, filter };
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	int status;
	pid_t pid;

	sigaction(SIGSYS, &sa, NULL);
	pid = fork();
	if (!pid) {
		CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
		/* code that did not run before: translating it must need no forbidden call */
		CHECK(work(15) == 610);
		CHECK(syscall(SYS_getuid) == -1 && errno == 77);
		CHECK(syscall(SYS_getppid) == 1234 && trapped == SYS_getppid);
		CHECK(write(1, "filtered: good\n", 15) == 15);
		syscall(SYS_getpid);		/* kills */
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	pid = fork();
	if (!pid) {
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		CHECK(work(16) == 987);
		CHECK(write(1, "strict: good\n", 13) == 13);
		syscall(SYS_exit, 5);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
	SECTION("killed and exited as it must");
	return 0;
}
