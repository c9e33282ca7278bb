/* SPDX-License-Identifier: MIT */
/* flags: -pthread */
/* forks.c - fork, vfork, posix_spawn, clone, exec chains, orphans */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "self_check.h"

extern char **environ;
static int global = 1;

static int tree(int depth)
{
	int sum = 1, status;

	if (!depth)
		return 1;
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(tree(depth - 1));
	}
	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0 && WIFEXITED(status));
		sum += WEXITSTATUS(status);
	}
	return sum;
}

static void *forker(void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* alone here: the other threads are not copied */
		void *p = malloc(100);

		free(p);
		_exit(17);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 17);
	return arg;
}

static int on_clone(void *arg)
{
	*(volatile int *)arg = 4242;
	return 5;
}

/* What posix_spawn() of glibc 2.38 does: a process without the handlers. 0 in the child. */
static long clone_cleared(unsigned long long flags)
{
	unsigned long long args[8] = { flags | 0x100000000ull };	/* CLONE_CLEAR_SIGHAND */

	args[4] = SIGCHLD;
	return syscall(SYS_clone3, args, sizeof args);
}

static volatile int children;
static void on_child(int sig)
{
	children++;
	(void)sig;
}

static void fork_and_exec(void)
{
	int status, fd[2];
	char buf[256];
	ssize_t n;
	pid_t pid;

	CHECK(pipe(fd) == 0);
	pid = fork();
	if (!pid) {
		global = 2;
		dup2(fd[1], 1);
		close(fd[0]);
		execlp("sh", "sh", "-c", "echo from a shell; exit 3", (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	n = read(fd[0], buf, sizeof buf);
	close(fd[0]);
	CHECK(n == 13 && !memcmp(buf, "from a shell\n", 13));
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3 && global == 1);
}

static void with_vfork(void)
{
	int status;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		volatile int here = 0;

		pid = vfork();
		if (!pid) {
			here = 1;			/* in the parent's memory */
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0 && here == 1);
		pid = vfork();
		if (!pid)
			_exit(7);
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	}
	pid = vfork();
	if (!pid) {
		execl("/no/such/file", "x", (char *)NULL);
		_exit(errno == ENOENT ? 8 : 9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 8);
}

static void with_libc(char **chain)
{
	int status;
	char buf[256];
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		char *args[] = { "sh", "-c", "exit 6", NULL };

		CHECK(posix_spawnp(&pid, "sh", NULL, NULL, args, environ) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 6);
	}
	CHECK(posix_spawn(&pid, "/no/such/file", NULL, NULL, chain, environ) == ENOENT);
	CHECK(WEXITSTATUS(system("exit 11")) == 11);
	{
		FILE *f = popen("echo popen | tr a-z A-Z", "r");

		CHECK(fgets(buf, sizeof buf, f) && !strcmp(buf, "POPEN\n") && pclose(f) == 0);
	}
}

/* A clone whose handlers are the default ones. */
static void without_handlers(void)
{
	int status;
	pid_t pid;

	signal(SIGUSR1, on_child);
	signal(SIGSEGV, on_child);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		struct sigaction act;

		pid = clone_cleared(i ? CLONE_VFORK : 0);
		if (pid < 0 && errno == ENOSYS)
			break;
		if (!pid) {
			CHECK(!sigaction(SIGUSR1, NULL, &act) && act.sa_handler == SIG_DFL);
			CHECK(!sigaction(SIGSEGV, NULL, &act) && act.sa_handler == SIG_DFL);
			CHECK(!sigaction(SIGUSR2, NULL, &act) && act.sa_handler == SIG_IGN);
			CHECK(strtol("12", NULL, 10) == 12);	/* runs what has not run yet */
			_exit(21);
		}
		CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 21);
	}
	raise(SIGUSR1);
	CHECK(children == 1);
	children = 0;
	signal(SIGUSR1, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
}

static void with_clone(void)
{
	static char stack[65536];
	volatile int v = 0;
	int *m, status;
	pid_t pid;

	pid = clone(on_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
		    (void *)&v);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5 &&
	      v == 4242);
	v = 0;
	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = clone(on_clone, stack + sizeof stack, SIGCHLD, m);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5 &&
	      *m == 4242);
}

/* It outlives its parent and writes to the pipe. */
static void orphan(void)
{
	int status, fd[2];
	char buf[256];
	ssize_t n;
	pid_t pid;

	CHECK(pipe(fd) == 0);
	pid = fork();
	if (!pid) {
		if (!fork()) {
			close(fd[0]);
			usleep(50000);
			_exit(write(fd[1], "orphan", 6) != 6);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(fd[1]);
	n = read(fd[0], buf, sizeof buf);
	CHECK(n == 6 && !memcmp(buf, "orphan", 6));
	CHECK(read(fd[0], buf, 1) == 0); /* it ends before us, whom nobody waits for after that */
}

static void children_signal(void)
{
	int status;
	pid_t pid;

	signal(SIGCHLD, on_child);
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		while (waitpid(pid, &status, 0) != pid)
			;
	}
	CHECK(children >= 1 && children <= 3);
	CHECK(wait(&status) == -1 && errno == ECHILD);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;
	char *chain[] = { argv[0], "chain", "5", NULL };
	pthread_t t[4];

	if (argc == 3 && !strcmp(argv[1], "chain")) {
		char left[8];
		int k = atoi(argv[2]);

		if (!k) {
			printf("end of the chain in %s\n", getenv("CHAIN") ? getenv("CHAIN") : "?");
			return 33;
		}
		sprintf(left, "%d", k - 1);
		execl("/proc/self/exe", argv[0], "chain", left, (char *)NULL);
		return 1;
	}
	CHECK(tree(4) == 31);
	SECTION("tree of processes: 31");

	fork_and_exec();
	SECTION("fork, exec, pipe: good");

	with_vfork();
	SECTION("vfork: good");

	with_libc(chain);
	without_handlers();
	SECTION("posix_spawn, system, popen, a clone without handlers: good");

	setenv("CHAIN", "a changed environment", 1);
	CHECK(posix_spawn(&pid, argv[0], NULL, NULL, chain, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 33);
	SECTION("a chain of execs of /proc/self/exe: good");

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, forker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	SECTION("forks in threads: good");

	with_clone();
	SECTION("clone: shared memory and not: good");

	orphan();
	SECTION("orphan: good");

	children_signal();
	SECTION("SIGCHLD: good, and no child is left");
	return 0;
}
