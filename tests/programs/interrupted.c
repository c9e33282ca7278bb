/* SPDX-License-Identifier: MIT */
/* interrupted.c - three timers whose handlers interrupt each other, use a stack of their own, are
 * long, or jump out; processes that are made meanwhile. What it prints depends on where each signal
 * came */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile int got, may_jump;
static unsigned long hash = 1, progress;

static void on_own_stack(int sig)
{
	char text[1000];

	memset(text, sig, sizeof text);
	hash = hash * 31 + progress + text[progress % sizeof text];
	got++;
}

static void jumps_out(int sig)
{
	hash = hash * 37 + progress;
	got++;
	if (may_jump)
		siglongjmp(out, sig);
}

static void is_long(int sig)
{
	for (int i = 0; i < 20000; i++) {
		progress++;
		hash += hash >> 3;
	}
	got += sig > 0;
}

static void start_timers(void)
{
	struct itimerval t = { { 0, 1300 }, { 0, 1300 } };

	setitimer(ITIMER_REAL, &t, 0);
	t.it_interval.tv_usec = 3100;
	setitimer(ITIMER_VIRTUAL, &t, 0);
	t.it_interval.tv_usec = 4700;
	setitimer(ITIMER_PROF, &t, 0);
}

static void work(int until)
{
	char text[64];

	sigsetjmp(out, 1);
	may_jump = 1;
	while (got < until) {
		progress++;
		snprintf(text, sizeof text, "%lu %f", progress, progress * 0.5);
		hash ^= strlen(text);
		if (progress % 5000 == 0)
			close(dup(1));
	}
	may_jump = 0;
}

int main(void)
{
	static char stack[4 << 20];	/* a slow machine has many handlers on it at once */
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction sa = { .sa_handler = on_own_stack, .sa_flags = SA_ONSTACK | SA_NODEFER };
	int status;

	sigaltstack(&ss, 0);
	sigaction(SIGALRM, &sa, 0);
	sigaction(SIGVTALRM, &(struct sigaction){ .sa_handler = jumps_out }, 0);
	sigaction(SIGPROF, &(struct sigaction){ .sa_handler = is_long, .sa_flags = SA_RESTART }, 0);
	start_timers();
	for (int k = 0; k < 3; k++) {
		const pid_t pid = fork();

		if (!pid)
			start_timers();
		work(got + 60);
		if (!pid) {
			printf("child %d: %lx\n", k, hash);
			fflush(stdout);
			_exit(k);
		}
		while (waitpid(pid, &status, 0) < 0 && errno != ECHILD)
			;
	}
	printf("%lx %lu\n", hash, progress);
	return 0;
}
