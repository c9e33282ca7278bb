/* flags: -pthread */
/* widths.c - a chain of programs, which may have different widths: each does what its argument says
 * and executes the next one with what follows
 *
 *   widths LETTERS [PROGRAM LETTERS]...
 *
 * f  the next one is executed by a child, which is waited for
 * v  likewise, made by vfork()
 * t  ... by a second thread, while the first one waits
 * o  standard output is left at descriptor 9, and nobody sees what is written to 1 from here on
 * b  ... and is back
 * s  SIGUSR1 is ignored, SIGUSR2 blocked and pending
 * c  ... is it?
 * a  an alarm comes while it computes
 * m  memory is mapped, and a file, as far as there is room
 *
 * Exit status: 10 more than that of the child, or how many letters there were. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t rung;
static char **next;

static void ring(int sig)
{
	rung = 1;
}

static void execute(void)
{
	fflush(stdout);
	execv(next[0], next);
	perror(next[0]);
	_exit(99);
}

static void *from_thread(void *unused)
{
	execute();
	return NULL;
}

static int wait_for(pid_t pid)
{
	int st = 0;

	if (waitpid(pid, &st, 0) != pid)
		return 98;
	printf("%zu bits: the child's status %d\n", 8 * sizeof(long), WEXITSTATUS(st));
	return WEXITSTATUS(st) + 10;
}

static void alarm_comes(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };
	unsigned long n = 0;

	signal(SIGALRM, ring);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!rung)
		n = n * 3 + 1;
	printf("%lu after the alarm\n", n % 1000003);
}

static void check_signals(void)
{
	struct sigaction act;
	sigset_t mask, pending;

	sigaction(SIGUSR1, NULL, &act);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigpending(&pending);
	printf("ignored %d, blocked %d, pending %d\n", act.sa_handler == SIG_IGN,
	       sigismember(&mask, SIGUSR2), sigismember(&pending, SIGUSR2));
}

static void map_memory(const char *file)
{
	const int fd = open(file, O_RDONLY);
	unsigned char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	char *big = malloc(8 << 20);
	unsigned sum = 0;

	memset(big, 7, 8 << 20);
	for (int i = 0; i < 4096; i++)
		sum = sum * 31 + p[i];
	printf("sum %u, %d, %d bits\n", sum, big[5 << 20], p[4] == 1 ? 32 : 64);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *letters = argc > 1 ? argv[1] : "";
	struct timespec now;
	pthread_t thread;
	pid_t pid;

	clock_gettime(CLOCK_REALTIME, &now);
	printf("%zu bits, %s, %d arguments, process %d at %ld.%09ld\n", 8 * sizeof(long), letters,
	       argc, (int)getpid(), (long)now.tv_sec, now.tv_nsec);
	next = argv + 2;
	for (const char *c = letters; *c; c++)
		switch (*c) {
		case 'f':
			fflush(stdout);
			pid = fork();
			if (!pid)
				execute();
			return wait_for(pid);
		case 'v':
			fflush(stdout);
			pid = vfork();
			if (!pid) {
				execv(next[0], next);
				_exit(99);
			}
			return wait_for(pid);
		case 't':
			pthread_create(&thread, NULL, from_thread, NULL);
			pthread_join(thread, NULL);
			return 97;
		case 'o':
			fflush(stdout);
			dup2(1, 9);
			dup2(open("/dev/null", O_WRONLY), 1);
			break;
		case 'b':
			fflush(stdout);
			dup2(9, 1);
			break;
		case 's':
			signal(SIGUSR1, SIG_IGN);
			sigprocmask(SIG_BLOCK, &(sigset_t){ { 1ul << (SIGUSR2 - 1) } }, NULL);
			raise(SIGUSR2);
			break;
		case 'c':
			check_signals();
			break;
		case 'a':
			alarm_comes();
			break;
		case 'm':
			map_memory(argv[0]);
			break;
		}
	if (argc > 2)
		execute();
	return (int)strlen(letters);
}
